// Which of a query's terms are worth showing to a person.

// Han characters in pairs and one by one are indexed so that any two characters find their note;
// shown beside the words they come from they are noise.
const HAN = /^\p{Script=Han}+$/u;

/** The terms that are words: each once, without the character pairs and parts of longer words. */
export function wordsOf(terms: readonly string[], text: string): string[] {
  const distinct = [...new Set(terms)];
  const segments = new Set(
    [...new Intl.Segmenter("zh", { granularity: "word" }).segment(text)].map(
      (part) => part.segment,
    ),
  );
  const words = distinct.filter(
    (term) => !HAN.test(term) || [...term].length > 2 || segments.has(term),
  );
  const isLong = (term: string): boolean => [...term].length > 1;
  const whole = withoutParts(words.some(isLong) ? words : distinct);
  return whole.some(isLong) ? whole.filter(isLong) : whole;
}

/** Without the terms that another term contains. */
export function withoutParts(terms: readonly string[]): string[] {
  return terms.filter((term) => !terms.some((other) => other !== term && other.includes(term)));
}

// Missing links: which link a mention becomes, and where it stands in the text of now.
import type { MentionItem } from "../bridge/protocol";

/** A place in one line; line from 0, characters in UTF-16 units, end exclusive. */
export interface MentionPlace {
  line: number;
  from: number;
  to: number;
}

/**
 * Where the mention stands in the lines of now: where it was seen, else the nearest line that
 * holds the same text in running text; null if there is none. Nothing else is ever replaced.
 */
export function placeOfMention(
  mention: Pick<MentionItem, "line" | "columns" | "text">,
  lines: readonly string[],
): MentionPlace | null {
  const seen = mention.line - 1;
  const [from = 0, to = 0] = mention.columns;
  const open = runningText(lines);
  const there = lines[seen] ?? "";
  if (
    open[seen] &&
    there.slice(from, to) === mention.text &&
    spanAt(linkSpans(there), from) === null
  )
    return { line: seen, from, to };
  const found = lines.flatMap((text, line) => {
    const at = open[line] ? firstFree(text, mention.text) : null;
    return at === null ? [] : [{ line, from: at, to: at + mention.text.length }];
  });
  const distance = ({ line }: MentionPlace): number => Math.abs(line - seen);
  return found.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
}

/** The lines with a link in place of the mention, joined as they were. */
export function withLink(data: string, place: MentionPlace, link: string): string {
  const parts = data.split(/(\r\n|\n|\r)/); // lines and their endings in turn
  const line = parts[place.line * 2] ?? "";
  parts[place.line * 2] = line.slice(0, place.from) + link + line.slice(place.to);
  return parts.join("");
}

const FENCE = /^[\s>]*(`{3,}|~{3,}|\$\$|%%)/;

// For each line whether a link may be written there: not in properties, code, formulas, comments,
// headings and tables, which it would break.
function runningText(lines: readonly string[]): boolean[] {
  const hasProperties = lines[0]?.trimEnd() === "---";
  const body = hasProperties ? lines.findIndex((line, n) => n > 0 && /^---\s*$/.test(line)) + 1 : 0;
  let end = "";
  return lines.map((line, n) => {
    if (n < body) return false;
    if (end !== "") {
      const isFence = /[`~]/.test(end);
      if (isFence ? line.replace(/^[\s>]+/, "").startsWith(end) : line.includes(end)) end = "";
      return false;
    }
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (mark === "") return !/^[\s>]*(#{1,6}\s|\|)/.test(line);
    if (!line.slice(line.indexOf(mark) + mark.length).includes(mark)) end = mark;
    return false;
  });
}

function firstFree(line: string, text: string): number | null {
  let at = line.indexOf(text);
  if (at < 0) return null;
  const spans = linkSpans(line);
  while (at >= 0) {
    const end = spanAt(spans, at);
    if (end === null && isWhole(line, at, at + text.length)) return at;
    at = line.indexOf(text, end ?? at + 1);
  }
  return null;
}

// Letters of alphabets may not go on at either end; Chinese has no such ends.
function isWhole(line: string, from: number, to: number): boolean {
  const goesOn = (a: string, b: string): boolean =>
    /[\p{L}\p{N}]/u.test(a) && /[\p{L}\p{N}]/u.test(b) && !/\p{Script=Han}/u.test(a + b);
  const before = goesOn(line.slice(0, from).at(-1) ?? "", line[from] ?? "");
  return !before && !goesOn(line[to - 1] ?? "", line[to] ?? "");
}

type Span = readonly [from: number, to: number];

// Links and code that were written since, in order. Looks at each character a few times at most,
// however long the line is and whatever stands in it.
function linkSpans(line: string): Span[] {
  const known = new Map<string, number>();
  const next = (mark: string, from: number): number => {
    let at = known.get(mark) ?? -1;
    if (at < from) {
      at = line.indexOf(mark, from);
      if (at < 0) at = Infinity;
      known.set(mark, at);
    }
    return at;
  };
  const endOf = (at: number): number => {
    if (line[at] === "`") return next("`", at + 1) + 1;
    if (line.startsWith("[[", at)) return next("]]", at + 2) + 2;
    const text = next("]", at + 1);
    return line[text + 1] === "(" ? next(")", text + 2) + 1 : Infinity;
  };
  const spans: Span[] = [];
  let at = Math.min(next("[", 0), next("`", 0));
  while (at < line.length) {
    const end = endOf(at);
    if (end <= line.length) spans.push([at, end]);
    const from = end <= line.length ? end : at + 1;
    at = Math.min(next("[", from), next("`", from));
  }
  return spans;
}

// The end of the span around a place, by halving; null if it is in none.
function spanAt(spans: readonly Span[], at: number): number | null {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const [from = Infinity, to = 0] = spans[low] ?? [];
  return from <= at ? to : null;
}

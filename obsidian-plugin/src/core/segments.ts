// Cuts a snippet into marked and unmarked text. Offsets are UTF-16 units, as on the wire.

export type Range = readonly [start: number, end: number];

export interface Segment {
  text: string;
  marked: boolean;
}

/** The snippet as consecutive segments; hostile or overlapping ranges are put in order first. */
export function segmentsOf(text: string, highlights: readonly Range[]): Segment[] {
  const segments: Segment[] = [];
  let position = 0;
  for (const [start, end] of ordered(text, highlights)) {
    if (start > position) segments.push({ text: text.slice(position, start), marked: false });
    segments.push({ text: text.slice(start, end), marked: true });
    position = end;
  }
  if (position < text.length) segments.push({ text: text.slice(position), marked: false });
  return segments;
}

/**
 * Where the words that the snippet marks stand in a longer text (the whole passage).
 * Compared without regard to case.
 */
export function sameWordsIn(text: string, snippet: string, highlights: readonly Range[]): Range[] {
  const words = new Set(
    ordered(snippet, highlights)
      .map(([start, end]) => snippet.slice(start, end).trim())
      .filter((word) => word !== ""),
  );
  if (words.size === 0) return [];
  const alternatives = [...words].sort((a, b) => b.length - a.length).map(escaped);
  const pattern = new RegExp(alternatives.join("|"), "giu");
  return [...text.matchAll(pattern)].map((hit) => [hit.index, hit.index + hit[0].length] as const);
}

function ordered(text: string, highlights: readonly Range[]): Range[] {
  const inside = highlights
    .map(([start, end]) => [toBoundary(text, start), toBoundary(text, end)] as const)
    .filter(([start, end]) => start < end)
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const merged: [number, number][] = [];
  for (const [start, end] of inside) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

// Half of a surrogate pair shows as a replacement character: move to the pair's start.
function toBoundary(text: string, offset: number): number {
  const clamped = Math.min(Math.max(Math.trunc(offset) || 0, 0), text.length);
  const low = text.charCodeAt(clamped);
  const high = text.charCodeAt(clamped - 1);
  const splitsPair = low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
  return splitsPair ? clamped - 1 : clamped;
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");
}

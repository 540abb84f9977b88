// Takes Markdown's scaffolding out of a snippet before it is shown: the heading that stands
// above it anyway, the bars and rules of tables, the stars of bold text. The marked ranges move
// along. The passage itself is never changed, and what is copied keeps its Markdown.
import type { Snippet } from "../bridge/protocol";
import type { Range } from "./segments";

interface Replacement {
  start: number;
  end: number;
  text: string;
}

export interface TidyHints {
  heading: string; // the last of the heading path, "" for none
  isTable: boolean;
}

/** The snippet as shown. */
export function tidied(snippet: Snippet, { heading, isTable }: TidyHints): Snippet {
  const { text } = snippet;
  const found = [...leadingHeading(text, heading), ...bold(text)];
  if (isTable) found.push(...table(text));
  return replaced(snippet, inOrder(found));
}

/** Whether a passage has a table, so that its bars are no text. */
export function hasTable(text: string): boolean {
  return /^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*\|/m.test(text);
}

function* leadingHeading(text: string, heading: string): Generator<Replacement> {
  const opening = /^#{1,6} +/.exec(text);
  if (opening === null) return;
  const rest = text.slice(opening[0].length);
  if (heading !== "" && rest.startsWith(heading)) {
    const end = opening[0].length + heading.length;
    const gap = /^[ #]*(?= |$)\s*/.exec(text.slice(end));
    if (gap !== null && end + gap[0].length < text.length)
      yield { start: 0, end: end + gap[0].length, text: "" };
    else yield { start: 0, end: opening[0].length, text: "" };
  } else yield { start: 0, end: opening[0].length, text: "" };
}

// Stars count as bold only where a word begins: `2**3` stays.
function* bold(text: string): Generator<Replacement> {
  for (const match of text.matchAll(/(^|[\s（(「“：，。、:|-])\*\*([^*\s](?:[^*]*[^*\s])?)\*\*/g)) {
    const start = match.index + (match[1]?.length ?? 0);
    const end = match.index + match[0].length;
    yield { start, end: start + 2, text: "" };
    yield { start: end - 2, end, text: "" };
  }
}

function* table(text: string): Generator<Replacement> {
  // A rule row with the bars around it, or a run of bars between cells.
  const bars = /\s*\|(?:\s*:?-{2,}:?\s*\||\s*\|)*\s*/g;
  for (const match of text.matchAll(bars)) {
    const start = match.index;
    const end = start + match[0].length;
    const atEdge = start === 0 || end === text.length || text.slice(0, start) === "…";
    yield { start, end, text: atEdge ? "" : " · " };
  }
}

function inOrder(replacements: Replacement[]): Replacement[] {
  const sorted = replacements.sort((a, b) => a.start - b.start || b.end - a.end);
  const kept: Replacement[] = [];
  for (const one of sorted) if (one.start >= (kept.at(-1)?.end ?? 0)) kept.push(one);
  return kept;
}

function replaced({ text, highlights }: Snippet, replacements: readonly Replacement[]): Snippet {
  let shown = "";
  let position = 0;
  for (const { start, end, text: instead } of replacements) {
    shown += text.slice(position, start) + instead;
    position = end;
  }
  shown += text.slice(position);
  const moved = highlights
    .map(([start, end]): Range => [movedTo(start, replacements), movedTo(end, replacements)])
    .filter(([start, end]) => start < end);
  return { text: shown, highlights: moved.map(([start, end]) => [start, end]) };
}

// A position inside what was taken out moves to the end of what stands there instead.
function movedTo(offset: number, replacements: readonly Replacement[]): number {
  let shift = 0;
  for (const { start, end, text } of replacements) {
    if (offset <= start) break;
    if (offset < end) return start + shift + text.length;
    shift += text.length - (end - start);
  }
  return offset + shift;
}

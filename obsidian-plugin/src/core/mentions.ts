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
 * holds the same text outside of a link; null if there is none. Nothing else is ever replaced.
 */
export function placeOfMention(
  mention: Pick<MentionItem, "line" | "columns" | "text">,
  lines: readonly string[],
): MentionPlace | null {
  const seen = mention.line - 1;
  const [from = 0, to = 0] = mention.columns;
  if (lines[seen]?.slice(from, to) === mention.text && isFree(lines[seen], from))
    return { line: seen, from, to };
  const found = lines.flatMap((text, line) => {
    const at = firstFree(text, mention.text);
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

function firstFree(line: string, text: string): number | null {
  for (let at = line.indexOf(text); at >= 0; at = line.indexOf(text, at + 1))
    if (isWhole(line, at, at + text.length) && isFree(line, at)) return at;
  return null;
}

// Letters of alphabets may not go on at either end; Chinese has no such ends.
function isWhole(line: string, from: number, to: number): boolean {
  const goesOn = (a: string, b: string): boolean =>
    /[\p{L}\p{N}]/u.test(a) && /[\p{L}\p{N}]/u.test(b) && !/\p{Script=Han}/u.test(a + b);
  const before = goesOn(line.slice(0, from).at(-1) ?? "", line[from] ?? "");
  return !before && !goesOn(line[to - 1] ?? "", line[to] ?? "");
}

// Not inside a link or code that was written since.
function isFree(line: string, at: number): boolean {
  const spans = line.matchAll(/\[\[.*?\]\]|\[[^\]]*\]\([^)]*\)|`[^`]*`/g);
  return ![...spans].some((span) => at >= span.index && at < span.index + span[0].length);
}

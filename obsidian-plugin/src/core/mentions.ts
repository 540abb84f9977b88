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
  if (open[seen] && there.slice(from, to) === mention.text && isFree(there, from))
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

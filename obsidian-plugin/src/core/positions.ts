// The one place that turns a citation into editor positions.
//
// A citation counts lines from 1 and includes both ends; its columns are UTF-16 units from 0.
// The editor counts lines from 0; its columns are UTF-16 units too, so emoji and combining
// marks need no conversion. CodeMirror splits lines at \r\n, \n and \r, as the index does.
import type { Citation } from "../bridge/protocol";

export interface Position {
  line: number;
  ch: number;
}

export interface Place {
  from: Position;
  to: Position;
}

/** The part of Obsidian's editor that positions need. */
export interface Lines {
  lineCount(): number;
  getLine(line: number): string;
}

export type Cited = Pick<Citation, "kind" | "start_line" | "end_line" | "columns">;

const BYTE_ORDER_MARK = 0xfeff;

/** The selection of a citation; null if it has no lines or the note is shorter than it says. */
export function placeOf(citation: Cited, lines: Lines): Place | null {
  const { start_line: start, end_line: end } = citation;
  if (start === null || end === null) return null;
  if (start < 1 || end < start || end > lines.lineCount()) return null;
  const first = lines.getLine(start - 1);
  const last = lines.getLine(end - 1);
  const lead = start === 1 && first.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  if (citation.columns === null) {
    return { from: { line: start - 1, ch: lead }, to: { line: end - 1, ch: last.length } };
  }
  const [from, to] = citation.columns;
  if (from < 0 || to < from || to + lead > last.length) return null;
  return { from: { line: start - 1, ch: from + lead }, to: { line: end - 1, ch: to + lead } };
}

/** The text of a place, lines joined by a line feed. */
export function textAt(place: Place, lines: Lines): string {
  const { from, to } = place;
  if (from.line === to.line) return lines.getLine(from.line).slice(from.ch, to.ch);
  const parts = [lines.getLine(from.line).slice(from.ch)];
  for (let line = from.line + 1; line < to.line; line++) parts.push(lines.getLine(line));
  parts.push(lines.getLine(to.line).slice(0, to.ch));
  return parts.join("\n");
}

/** A text as the lines an editor would show. */
export function linesOf(text: string): Lines {
  const lines = text.split(/\r\n|\n|\r/);
  return { lineCount: () => lines.length, getLine: (line) => lines[line] ?? "" };
}

/**
 * The line a text starts on (both from 1): the expected one if the text is there, else the only
 * one it is on; null if there is none or it could be any of several.
 */
export function lineHolding(text: string, expected: number | null, lines: Lines): number | null {
  const all = Array.from({ length: lines.lineCount() }, (_, line) => lines.getLine(line));
  const joined = all.join("\n");
  const wanted = plain(text).trim();
  const found: number[] = [];
  let start = 0;
  let at = joined.indexOf(wanted);
  for (let line = 0; line < all.length && at >= 0 && wanted !== ""; line++) {
    const next = start + (all[line] ?? "").length + 1;
    if (at < next) {
      found.push(line + 1);
      at = joined.indexOf(wanted, next);
    }
    start = next;
  }
  if (expected !== null && found.includes(expected)) return expected;
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Whether two texts differ only in line endings and a leading byte order mark. */
export function sameLines(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function plain(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n|\r/g, "\n");
}

// Which section the cursor is in, and which related notes are news.
import type { Result } from "../bridge/protocol";
import type { KnownHeading } from "./links";

/** The line by which the daemon knows the section around `cursor`; null before any heading. */
export function sectionLine(
  headings: readonly KnownHeading[],
  cursor: number,
): { line: number | null; text: string } {
  const heading = headings.findLast((known) => known.line <= cursor);
  return heading === undefined ? { line: null, text: "" } : heading;
}

/** Whether the note of a result is not linked yet from the note whose links are given. */
export function isUnlinked(
  result: Pick<Result, "path">,
  links: Readonly<Record<string, number>>,
): boolean {
  return !Object.hasOwn(links, result.path);
}

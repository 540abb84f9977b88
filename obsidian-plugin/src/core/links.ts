// Makes links and quotations that point at a passage.
import type { Citation, Result } from "../bridge/protocol";
import { t } from "./i18n";
import { titleOf } from "./grouping";

export interface KnownBlock {
  id: string;
  startLine: number; // from 1
  endLine: number;
}

export interface KnownHeading {
  text: string;
  line: number; // from 1
}

/**
 * The subpath (`#Heading`, `#Parent#Heading`, `#^id`) under which a link finds the passage, or ""
 * for the note itself. A block id is used if one lies inside the cited lines; none is ever made.
 */
export function subpathFor(
  citation: Pick<Citation, "start_line" | "end_line">,
  headingPath: readonly string[],
  blocks: readonly KnownBlock[],
  headings: readonly KnownHeading[],
): string {
  const { start_line: start, end_line: end } = citation;
  if (start !== null && end !== null) {
    const block = blocks.find((known) => known.startLine >= start && known.endLine <= end);
    if (block !== undefined) return `#^${block.id}`;
  }
  const parts = headingPath.map(headingForLink).filter((part) => part !== "");
  const last = parts.at(-1);
  if (last === undefined) return "";
  const twins = headings.filter((known) => headingForLink(known.text) === last);
  return twins.length > 1 ? `#${parts.join("#")}` : `#${last}`;
}

/** A heading as Obsidian writes it into a link: without the characters that end or split one. */
export function headingForLink(heading: string): string {
  return heading
    .replace(/[#|^\\:]|%%|\[\[|\]\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** A query as the name of a new note: without what file systems and links do not take. */
export function noteName(query: string): string {
  return query
    .replace(/[\\/:*?"<>|#^[\]]/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 80)
    .trim();
}

/** "lines 3-7", "line 3", "" where a citation has none. */
export function lineRange(citation: Pick<Citation, "start_line" | "end_line">): string {
  const { start_line: start, end_line: end } = citation;
  if (start === null || end === null) return "";
  return start === end
    ? t("lines.one", { line: String(start) })
    : t("lines.many", { start: String(start), end: String(end) });
}

/** A quotation with link, lines and status, as Markdown. */
export function asQuotation(result: Result, link: string): string {
  const quote = result.text.split("\n").map((line) => (line === "" ? ">" : `> ${line}`));
  const status = t(result.citation.status === "fresh" ? "badge.fresh" : "badge.changed");
  const source = [link, lineRange(result.citation), status].filter((part) => part !== "");
  return `${quote.join("\n")}\n>\n> ${source.join(" · ")}\n`;
}

/** All results as a Markdown list, one passage a line. */
export function asList(
  query: string,
  results: readonly Result[],
  linkTo: (result: Result) => string,
): string {
  const lines = results.map((result) => {
    const place = [linkTo(result), lineRange(result.citation)].filter((part) => part !== "");
    return `- ${place.join(" · ")}: ${oneLine(result.snippet.text)}`;
  });
  return `${t("copy.heading", { query: oneLine(query) })}\n\n${lines.join("\n")}\n`;
}

/** A wikilink by path, for places where Obsidian's own link writer does not know the file. */
export function plainWikilink(path: string, subpath: string): string {
  const target = path.replace(/\.md$/i, "");
  const shown = titleOf(path);
  return shown === target ? `[[${target}${subpath}]]` : `[[${target}${subpath}|${shown}]]`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

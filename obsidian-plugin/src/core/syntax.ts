// The query language as the sidebar explains it; the examples are in the dictionaries, so that
// each language has its own.
import type { Key } from "./i18n";

export interface SyntaxLine {
  example: Key;
  meaning: Key;
}

export const SYNTAX: readonly SyntaxLine[] = [
  { example: "syntax.words", meaning: "syntax.words.means" },
  { example: "syntax.phrase", meaning: "syntax.phrase.means" },
  { example: "syntax.not", meaning: "syntax.not.means" },
  { example: "syntax.or", meaning: "syntax.or.means" },
  { example: "syntax.regex", meaning: "syntax.regex.means" },
  { example: "syntax.path", meaning: "syntax.path.means" },
  { example: "syntax.file", meaning: "syntax.file.means" },
  { example: "syntax.tag", meaning: "syntax.tag.means" },
  { example: "syntax.property", meaning: "syntax.property.means" },
  { example: "syntax.section", meaning: "syntax.section.means" },
  { example: "syntax.line", meaning: "syntax.line.means" },
  { example: "syntax.after", meaning: "syntax.after.means" },
];

// Puts the results of one answer into the groups that the sidebar shows.
import type { Result } from "../bridge/protocol";
import { isOwn, OWN } from "./sources";

export type Sort = "relevance" | "modified" | "name";

export interface NoteGroup {
  key: string; // apart from every other group's
  source: string; // the knowledge base it is from
  path: string;
  title: string;
  folder: string;
  passages: Result[];
}

export interface Groups {
  direct: NoteGroup[];
  linked: NoteGroup[];
  /** Direct passages with little evidence; shown on request, below everything else. */
  weaker: NoteGroup[];
  /** What came after someone began to read the list, in the order it came. */
  late: NoteGroup[];
}

// Evidence is calibrated on one absolute scale: below this, four of five such passages do not
// answer their query. They stay within reach but do not crowd the list.
export const WEAK_EVIDENCE = 0.2;

export const NO_GROUPS: Groups = { direct: [], linked: [], weaker: [], late: [] };

/**
 * Groups by note in the order of first appearance, or as `sort` says; passages of one note keep
 * the order of the answer. `modifiedAt` gives a note's modification time in milliseconds.
 */
export function groupResults(
  results: readonly Result[],
  sort: Sort,
  modifiedAt: (path: string) => number,
  lateRefs: ReadonlySet<string> = new Set(),
): Groups {
  const early = results.filter(({ ref }) => !lateRefs.has(ref));
  const direct = early.filter((result) => result.origin === "direct");
  const linked = early.filter((result) => result.origin === "linked");
  const late = byNote(results.filter(({ ref }) => lateRefs.has(ref)));
  const strong = direct.filter((result) => sureness(result) >= WEAK_EVIDENCE);
  const weak = direct.filter((result) => sureness(result) < WEAK_EVIDENCE);
  const grouped = (part: readonly Result[]): NoteGroup[] => sorted(byNote(part), sort, modifiedAt);
  // Where nothing is strong (a list by filters alone, a gate turned off) there is nothing to hide.
  return strong.length === 0
    ? { direct: grouped(weak), linked: grouped(linked), weaker: [], late }
    : { direct: grouped(strong), linked: grouped(linked), weaker: grouped(weak), late };
}

// A chain has a score on the same scale, and says itself why its passage is here.
function sureness({ evidence, channels }: Result): number {
  return Math.max(evidence, channels.graph?.score ?? 0);
}

export function byNote(results: readonly Result[]): NoteGroup[] {
  const groups = new Map<string, NoteGroup>();
  for (const result of results) {
    const key = keyOf(result);
    const group = groups.get(key);
    if (group !== undefined) group.passages.push(result);
    else
      groups.set(key, {
        key,
        source: result.source,
        path: result.path,
        title: result.title || titleOf(result.path),
        folder: isOwn(result) || result.entry?.kind !== "command" ? folderOf(result.path) : "",
        passages: [result],
      });
  }
  return [...groups.values()];
}

// A file of the vault is named by its path; entries of a table share one, so their title counts.
function keyOf(result: Result): string {
  if (isOwn(result)) return result.path;
  const entry = result.entry?.kind === "records" || result.entry?.kind === "command";
  return [result.source, result.path, entry ? result.title : ""].join("\n");
}

function sorted(groups: NoteGroup[], sort: Sort, modifiedAt: (path: string) => number) {
  if (sort === "modified")
    return groups.toSorted((a, b) => modified(b, modifiedAt) - modified(a, modifiedAt));
  if (sort === "name")
    return groups.toSorted((a, b) => a.title.localeCompare(b.title, undefined, { numeric: true }));
  return groups;
}

function modified({ source, path }: NoteGroup, modifiedAt: (path: string) => number): number {
  return source === OWN ? modifiedAt(path) : 0; // nobody knows when others changed
}

/** File name without folder and without the extension of a note. */
export function titleOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/i, "");
}

/** Folder of a path, "" for the top of the vault. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** The heading path without a leading heading that only repeats the note's title. */
export function shownHeadings(result: Pick<Result, "heading_path" | "title">): string[] {
  const [first, ...rest] = result.heading_path;
  if (first === undefined) return [];
  return first === result.title ? rest : result.heading_path;
}

// Other knowledge bases in the sidebar: which are asked, how they stand, and how a fuller answer
// joins what someone is already reading.
import type {
  FeedbackParams,
  Result,
  SearchResult,
  SourceReport,
  SourceState,
} from "../bridge/protocol";
import { language, lookUp, t } from "./i18n";
import { inReadersWords } from "./said";

export const OWN = "vault";
/** How `degraded` begins the name of a source. */
export const SOURCE_CHANNEL = "source:";

export type Verdict = "helpful" | "unhelpful";

/** Whether a result is from the vault that is open. */
export function isOwn(result: Pick<Result, "source">): boolean {
  return result.source === OWN;
}

/** A results list with those that came after someone began to read at its end. */
export interface Joined {
  results: Result[];
  late: ReadonlySet<string>; // references
}

/**
 * Joins a fuller answer to the list that is shown. While someone points at the list or moves
 * through it (`held`), nothing that is shown moves: what is new comes after it. Else the fuller
 * answer takes its place.
 */
export function joined(shown: Joined, fuller: readonly Result[], held: boolean): Joined {
  if (!held && shown.late.size === 0) return { results: [...fuller], late: new Set() };
  const now = new Map(fuller.map((result) => [result.ref, result]));
  const stay = shown.results.map((result) => now.get(result.ref) ?? result);
  const known = new Set(stay.map(({ ref }) => ref));
  const added = fuller.filter(({ ref }) => !known.has(ref));
  return {
    results: [...stay, ...added],
    late: new Set([...shown.late, ...added.map(({ ref }) => ref)]),
  };
}

/** Sources whose answer is still on its way. */
export function waitingFor(result: SearchResult): string[] {
  return result.sources.filter(({ state }) => state === "late").map(({ name }) => name);
}

/** The name of a source for people. */
export function sourceName(name: string): string {
  return name === OWN ? t("source.own") : name;
}

/** A line of the menu of sources: its name, how many results it has, how it stands. */
export function sourceLine({ name, state, shown }: SourceState): string {
  const told = state === "answered" ? t("source.shown", { n: shown }) : "";
  return [sourceName(name), told || (lookUp(`source.${state}`) ?? state)].join(" · ");
}

/** How a source is, for the settings: reachable, typical time, errors, pause, and why. */
export function reportText(report: SourceReport): string {
  const { reachable, typical_ms: typical, error_rate: errors, last_success: last } = report;
  const state = reachable === null ? "unknown" : reachable ? "reachable" : "unreachable";
  const facts = [
    `${lookUp(`source.kind.${report.kind}`) ?? report.kind}: ${report.place}`,
    t(`report.${state}`),
  ];
  if (last !== null)
    facts.push(t("report.last", { when: new Date(last * 1_000).toLocaleString(language()) }));
  if (typical !== null) facts.push(t("report.typical", { ms: Math.round(typical) }));
  if (errors !== null && errors > 0)
    facts.push(t("report.errors", { percent: Math.round(errors * 100) }));
  if (report.paused_s > 0) facts.push(t("report.paused", { n: Math.ceil(report.paused_s) }));
  if (report.reason !== "") facts.push(inReadersWords(`${report.reason} ${report.remedy}`.trim()));
  if (report.dead_cards.length > 0)
    facts.push(t("report.cards", { cards: report.dead_cards.join(t("list.comma")) }));
  return facts.join(" · ");
}

/** What a click on a verdict says: a second one on the same takes it back. */
export function nextVerdict(
  current: Verdict | undefined,
  clicked: Verdict,
): FeedbackParams["verdict"] {
  return current === clicked ? "withdrawn" : clicked;
}

/** What is kept of a verdict. */
export function feedbackOf(
  query: string,
  snapshot: string,
  result: Result,
  verdict: FeedbackParams["verdict"],
): FeedbackParams {
  const channels: Record<string, number> = {};
  for (const [name, hit] of Object.entries(result.channels))
    if (hit) channels[name] = (hit as { rank: number }).rank;
  return {
    query,
    ref: result.ref,
    verdict,
    source: result.source,
    path: result.path,
    title: result.title,
    rank: result.rank,
    channels,
    snapshot,
  };
}

/** A link that may be opened in the browser: an address of the web, nothing else. */
export function webLink(result: Pick<Result, "entry">): string | null {
  const link = result.entry?.link ?? "";
  return /^https?:\/\/[^\s]+$/i.test(link) ? link : null;
}

/** Whether a file may be handed to the system's own program for it: text that runs nothing. */
export function isPlainText(path: string): boolean {
  return /\.(?:md|markdown|txt)$/i.test(path);
}

// What the sidebar says about the connection and the index: one banner, one line in the status bar.
import type { Connection } from "../bridge/client";
import type { Degraded, IndexStatus, Progress } from "../bridge/protocol";
import { lookUp, t } from "./i18n";
import { inReadersWords } from "./said";
import { SOURCE_CHANNEL } from "./sources";

export type BannerAction =
  | "start"
  | "set-command"
  | "copy-command"
  | "retry"
  | "pause"
  | "resume"
  | "show-failed"
  | "show-model-help"
  | "settings";

export interface Banner {
  id: string; // stable name of the state, also for tests
  tone: "info" | "warning" | "error";
  title: string;
  detail: string;
  progress: number | null; // 0..1
  actions: BannerAction[];
  details: string[]; // shown on demand, one a line
  note?: string; // why it is being done; below the detail
}

export interface Situation {
  connection: Connection;
  index: IndexStatus | null;
  progress: Progress | null;
  degraded: readonly Degraded[];
  hasStartCommand: boolean;
}

// Two reasons of a missing channel that no person has to do anything about; as the service says.
const LOADING = "the model is being loaded";
const AS_ASKED = "words only, as asked";
const WORKING = ["scan", "words", "vectors", "compact", "cleanup"];

/** The banners to show, the most important first; none when everything is well. */
export function bannersFor(situation: Situation): Banner[] {
  const { connection } = situation;
  if (connection.kind === "offline") return [offline(connection.why, situation, connection.detail)];
  if (connection.kind === "mismatch") return [mismatch(connection.older, connection.message)];
  if (connection.kind !== "ready") return [];
  const all = [indexing, nothing, degraded, failed];
  const banners = all.map((banner) => banner(situation));
  return banners.filter((banner) => banner !== null);
}

/** The text of the status-bar item and its longer explanation. */
export function statusLine(situation: Situation): { text: string; tooltip: string; busy: boolean } {
  const { connection, index, progress } = situation;
  if (connection.kind === "ready") {
    const notes = index?.index.notes ?? connection.hello.index.index.notes;
    const tooltip = t("status.ready", { n: notes });
    if (progress !== null && isWorking(progress))
      return { text: percent(progress), tooltip: phaseOf(progress), busy: true };
    if (progress?.phase === "paused")
      return { text: t("status.paused"), tooltip: t("banner.paused.title"), busy: false };
    return { text: "", tooltip, busy: false };
  }
  if (connection.kind === "connecting")
    return { text: "", tooltip: t("status.connecting"), busy: true };
  if (connection.kind === "mismatch")
    return { text: t("status.mismatch"), tooltip: t("banner.mismatch.title"), busy: false };
  return { text: t("status.offline"), tooltip: t("banner.offline.title"), busy: false };
}

export function isWorking(progress: Progress): boolean {
  return WORKING.includes(progress.phase);
}

/** The share done, 0..1; 0 while the total is unknown. */
export function shareDone(progress: Progress): number {
  return progress.total > 0 ? Math.min(progress.done / progress.total, 1) : 0;
}

/** "about 3 minutes left", "" where nobody knows. */
export function timeLeft(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds) || seconds < 1) return "";
  if (seconds < 60) return t("time.seconds", { n: Math.round(seconds) });
  if (seconds < 3_600) return t("time.minutes", { n: Math.round(seconds / 60) });
  return t("time.hours", { n: Math.round(seconds / 3_600) });
}

function offline(why: string, { hasStartCommand }: Situation, detail: string): Banner {
  const start: BannerAction[] = hasStartCommand ? ["start"] : ["copy-command", "set-command"];
  const fixable = why === "not_running" || why === "stale" || why === "lost";
  return {
    id: `offline-${why.replace("_", "-")}`,
    tone: "warning",
    title: t("banner.offline.title"),
    detail: lookUp(`banner.offline.${why}`) ?? t("banner.offline.not_running"),
    progress: null,
    actions: fixable ? [...start, "retry"] : ["retry", "settings"],
    details: detail === "" ? [] : detail.split("\n").map(inReadersWords),
  };
}

function mismatch(older: "plugin" | "daemon", message: string): Banner {
  return {
    id: `mismatch-${older}`,
    tone: "error",
    title: t("banner.mismatch.title"),
    detail: t(older === "plugin" ? "banner.mismatch.plugin" : "banner.mismatch.daemon"),
    progress: null,
    actions: ["retry"],
    details: message === "" ? [] : [inReadersWords(message)],
  };
}

function quiet(
  id: string,
  title: string,
  detail: string,
  actions: BannerAction[],
  details: string[] = [],
): Banner {
  return { id, tone: "info", title, detail, progress: null, actions, details };
}

function indexing({ progress }: Situation): Banner | null {
  if (progress?.phase === "paused")
    return quiet("paused", t("banner.paused.title"), t("banner.paused.detail"), ["resume"]);
  if (progress?.phase === "waiting") {
    const why = progress.reason ?? "";
    const details = why === "" ? [] : [inReadersWords(why)];
    return quiet("waiting", t("banner.waiting.title"), t("banner.waiting.detail"), [], details);
  }
  if (progress === null || !isWorking(progress)) return null;
  const counted = t("banner.indexing.count", { done: progress.done, total: progress.total });
  const parts = [progress.total > 0 ? counted : "", timeLeft(progress.seconds_left)];
  const reason = progress.reason ?? "";
  return {
    ...quiet("indexing", phaseOf(progress), "", ["pause"]),
    detail: parts.filter((part) => part !== "").join(" · "),
    progress: shareDone(progress),
    note: reason === "" ? "" : t("banner.anew", { reason: inReadersWords(reason) }),
  };
}

function nothing({ index, progress }: Situation): Banner | null {
  const isDone = progress?.phase === "idle" && index?.index.pending === 0;
  if (!isDone || index.index.notes > 0) return null;
  return quiet("nothing", t("banner.nothing.title"), t("banner.nothing.detail"), ["settings"]);
}

function degraded({ degraded: all }: Situation): Banner | null {
  // How other knowledge bases stand is shown where they are chosen.
  const channels = all.filter(({ channel }) => !channel.startsWith(SOURCE_CHANNEL));
  if (channels.length === 0) return null;
  const details = channels.map(({ channel, reason }) =>
    t("banner.part", { channel: channelName(channel), reason: inReadersWords(reason) }),
  );
  const missing = channels.find(({ channel, partial }) => channel === "vector" && !partial);
  if (missing?.reason === LOADING)
    return quiet("loading", t("banner.loading.title"), t("banner.loading.detail"), []);
  const id = missing === undefined ? "degraded" : "words-only";
  const [title, detail] =
    missing === undefined
      ? [t("banner.degraded.title"), t("banner.degraded.detail")]
      : [t("banner.wordsOnly.title"), t("banner.wordsOnly.detail")];
  const helps = missing !== undefined && missing.reason !== AS_ASKED;
  const actions: BannerAction[] = helps ? ["show-model-help"] : [];
  return { ...quiet(id, title, detail, actions, details), tone: "warning" };
}

function failed({ index }: Situation): Banner | null {
  const count = index?.failed.length ?? 0;
  if (count === 0) return null;
  return quiet("failed-notes", t("banner.failed.title", { n: count }), "", ["show-failed"]);
}

export function channelName(channel: string): string {
  return lookUp(`channel.${channel}`) ?? channel;
}

function phaseOf(progress: Progress): string {
  return lookUp(`phase.${progress.phase}`) ?? t("phase.words");
}

function percent(progress: Progress): string {
  return progress.total > 0 ? `${Math.floor(shareDone(progress) * 100)}%` : t("status.indexing");
}

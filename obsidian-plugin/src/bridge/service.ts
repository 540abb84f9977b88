// The daemon as the interface sees it: typed questions, and one picture of the situation that
// changes by notification alone. Nothing here polls the daemon or knows Obsidian.
import { type More, type Question, scopeFilter } from "../core/search";
import type { Situation } from "../core/status";
import { isWorking } from "../core/status";
import type { BridgeClient } from "./client";
import {
  type AskResult,
  type ChangedParams,
  type Degraded,
  type FeedbackParams,
  type FeedbackResult,
  type DoctorResult,
  type IndexedPassage,
  type IndexStatus,
  type LinksResult,
  type MentionsParams,
  type MentionsResult,
  type Methods,
  type NoteStatus,
  type Progress,
  type RelatedParams,
  type ResolveParams,
  type ResolveResult,
  type SearchParams,
  type SearchResult,
  type SetResult,
  type Settings,
  type SettingsResult,
  type SourceReport,
  MAX_QUERY_CHARS,
} from "./protocol";

const RESOLVE_TIMEOUT_MS = 4_000; // someone waits with the mouse button up
const ASK_TIMEOUT_MS = 3_700_000; // the daemon keeps its own limit, at most an hour
const LONG_TIMEOUT_MS = 60_000; // doctor, settings that start a rebuild

export class Service {
  private index: IndexStatus | null = null;
  private progress: Progress | null = null;
  private degraded: readonly Degraded[] = [];
  private more: { stream: string; take: More } | null = null;
  private asking: { stream: string; take: (result: AskResult) => void } | null = null;
  private streams = 0;
  private readonly watchers = new Set<() => void>();
  private readonly changeWatchers = new Set<(change: ChangedParams) => void>();

  constructor(
    readonly client: BridgeClient,
    private readonly hasStartCommand: () => boolean,
  ) {
    client.watch((connection) => {
      if (connection.kind === "ready") this.takeStatus(connection.hello.index);
      else this.degraded = [];
      this.announce();
    });
    client.listen("query/more", ({ stream, result }) => {
      if (stream === this.more?.stream) this.more.take(result);
    });
    client.listen("ask/more", ({ stream, result }) => {
      if (stream === this.asking?.stream) this.asking.take(result);
    });
    client.listen("index/progress", (progress) => this.takeProgress(progress));
    client.listen("index/changed", (change) => {
      for (const watcher of this.changeWatchers) watcher(change);
      void this.refreshStatus();
    });
  }

  get situation(): Situation {
    return {
      connection: this.client.state,
      index: this.index,
      progress: this.progress,
      degraded: this.degraded,
      hasStartCommand: this.hasStartCommand(),
    };
  }

  get ready(): boolean {
    return this.client.state.kind === "ready";
  }

  /** Calls `watcher` whenever the situation changes; returns how to stop. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  /** Calls `watcher` when notes of the index changed; returns how to stop. */
  watchNotes(watcher: (change: ChangedParams) => void): () => void {
    this.changeWatchers.add(watcher);
    return () => this.changeWatchers.delete(watcher);
  }

  /** One search; `more` is told each fuller answer that comes after it. */
  async search(
    question: Question,
    typing: boolean,
    signal?: AbortSignal,
    more?: More,
  ): Promise<SearchResult> {
    const params = paramsOf(question, typing);
    if (more !== undefined) {
      params.stream = `s${++this.streams}`;
      this.more = { stream: params.stream, take: more };
    }
    const result = await this.ask("query/search", params, signal);
    const changed = JSON.stringify(this.degraded) !== JSON.stringify(result.degraded);
    this.degraded = result.degraded;
    if (changed) this.announce();
    return result;
  }

  /** A question answered in words; `more` is told how far it is. */
  answer(
    text: string,
    more: (result: AskResult) => void,
    signal?: AbortSignal,
  ): Promise<AskResult> {
    const stream = `a${++this.streams}`;
    this.asking = { stream, take: more };
    return this.ask("ask/question", { text: asTaken(text), stream }, signal, ASK_TIMEOUT_MS);
  }

  feedback(params: FeedbackParams): Promise<FeedbackResult> {
    return this.ask("feedback/record", { ...params, query: asTaken(params.query) });
  }

  /** The other knowledge bases; `check` looks whether each can be asked. */
  async sources(check: boolean): Promise<SourceReport[]> {
    const method = check ? "sources/check" : "sources/list";
    return (await this.ask(method, {}, undefined, LONG_TIMEOUT_MS)).sources;
  }

  explain(question: Question): Promise<SearchResult> {
    return this.ask("query/search", { ...paramsOf(question, false), explain: true });
  }

  related(params: RelatedParams, signal?: AbortSignal): Promise<SearchResult> {
    return this.ask("query/related", params, signal);
  }

  resolve(params: ResolveParams): Promise<ResolveResult> {
    return this.ask("citation/resolve", params, undefined, RESOLVE_TIMEOUT_MS);
  }

  indexed(ref: string): Promise<IndexedPassage> {
    return this.ask("citation/indexed", { ref });
  }

  links(path: string): Promise<LinksResult> {
    return this.ask("note/links", { path, direction: "out" });
  }

  /** Links that are missing in a note and to it. */
  mentions(params: MentionsParams, signal?: AbortSignal): Promise<MentionsResult> {
    return this.ask("note/mentions", params, signal);
  }

  settings(): Promise<SettingsResult> {
    return this.ask("settings/get", {});
  }

  changeSettings(values: Partial<Settings>): Promise<SetResult> {
    return this.ask("settings/set", { values }, undefined, LONG_TIMEOUT_MS);
  }

  doctor(): Promise<DoctorResult> {
    return this.ask("doctor/run", {}, undefined, LONG_TIMEOUT_MS);
  }

  async rebuild(): Promise<void> {
    await this.ask("index/rebuild", {}, undefined, LONG_TIMEOUT_MS);
  }

  async pause(): Promise<void> {
    await this.ask("index/pause", {});
    await this.refreshStatus();
  }

  async resume(): Promise<void> {
    await this.ask("index/resume", {});
    await this.refreshStatus();
  }

  async refreshStatus(): Promise<void> {
    if (!this.ready) return;
    try {
      this.takeStatus(await this.ask("index/status", {}));
    } catch (error) {
      // The connection went away meanwhile; its own change tells that.
      console.debug("Sidelight: no index status", error);
      return;
    }
    this.announce();
  }

  /** What the index knows of one note. */
  async noteStatus(path: string): Promise<NoteStatus | null> {
    return (await this.ask("index/status", { path })).note;
  }

  private ask<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    signal?: AbortSignal,
    timeoutMs?: number,
  ): Promise<Methods[M]["result"]> {
    return this.client.request(method, params, { signal, timeoutMs });
  }

  private takeStatus(status: IndexStatus): void {
    this.index = status;
    this.progress = status.progress;
  }

  private takeProgress(progress: Progress): void {
    const finished = this.progress !== null && isWorking(this.progress) && !isWorking(progress);
    this.progress = progress;
    this.announce();
    if (finished) void this.refreshStatus();
  }

  private announce(): void {
    for (const watcher of this.watchers) watcher();
  }
}

// The service takes so much of a text, however much was pasted; half a character is left out.
function asTaken(text: string): string {
  return text.slice(0, MAX_QUERY_CHARS).replace(/[\ud800-\udbff]$/, "");
}

/** A question as the daemon wants it. */
export function paramsOf(question: Question, typing: boolean): SearchParams {
  const { text, mode, limit, rerank, scope, source, dig } = question;
  const params: SearchParams = { text: asTaken(text), mode, limit };
  const filter = scopeFilter(scope);
  if (filter !== "") params.filters = { query: filter };
  if (rerank) params.rerank = true;
  if (source !== "") params.sources = [source];
  if (dig) params.dig = true;
  if (typing) params.typing = true;
  return params;
}

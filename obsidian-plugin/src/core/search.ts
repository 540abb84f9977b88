// The state of one search box: what is typed, what is running, which answer stands.
//
// Knows nothing of the DOM, of sockets or of Obsidian. Rules it keeps:
//   a search starts DEBOUNCE_MS after the last key, or at once when submitted;
//   a newer search aborts the older one, and an older answer never replaces a newer one;
//   the previous answer stays until the new one is there.
import type { SearchParams, SearchResult } from "../bridge/protocol";
import { type Failure, failureOf } from "./failure";
import { joined, waitingFor } from "./sources";

export type Mode = NonNullable<SearchParams["mode"]>;
export type Scope = { kind: "vault" } | { kind: "folder" | "note"; path: string };

/** Whether something that was stored is a scope. */
export function isScope(value: unknown): value is Scope {
  const scope = value as { kind?: unknown; path?: unknown } | null | undefined;
  if (scope?.kind === "vault") return true;
  return (scope?.kind === "folder" || scope?.kind === "note") && typeof scope.path === "string";
}

export interface Question {
  text: string;
  mode: Mode;
  scope: Scope;
  limit: number;
  rerank: boolean;
  source: string; // the one knowledge base that is asked; "" for all
  dig: boolean; // follow index cards whatever is found first
}

export interface Answer {
  question: Question;
  result: SearchResult;
  late: ReadonlySet<string>; // references of results that came after the list was shown
}

export type Phase = "empty" | "searching" | "answered" | "failed";

export interface SearchState {
  question: Question;
  phase: Phase;
  answer: Answer | null;
  failure: Failure | null;
}

export interface Timers {
  set(callback: () => void, milliseconds: number): number;
  clear(timer: number): void;
}

/** Takes a fuller answer to a search that was answered before. */
export type More = (result: SearchResult) => void;

/** Runs one search; rejects when `signal` aborts. `more` may be called after it is answered. */
export type Ask = (
  question: Question,
  typing: boolean,
  signal: AbortSignal,
  more: More,
) => Promise<SearchResult>;

// Between two keys of a fast typist lie about 100 ms; more than 120 ms is felt as a delay.
export const DEBOUNCE_MS = 100;

/**
 * The scope in Obsidian's query syntax, "" for the whole vault. An expression, since `path:` with
 * plain text would also find folders whose name only ends that way.
 */
export function scopeFilter(scope: Scope): string {
  if (scope.kind === "vault") return "";
  const path = scope.path.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return scope.kind === "folder" ? `path:/^${path}\\//` : `path:/^${path}$/`;
}

export class SearchSession {
  #current: SearchState;
  #timer: number | null = null;
  #running: AbortController | null = null;
  #early: Answer | null = null; // without evidence so far, and not shown yet
  #newest: AbortController | null = null; // of the search whose answer stands

  constructor(
    private readonly ask: Ask,
    private readonly timers: Timers,
    private readonly changed: (state: SearchState) => void,
    question: Omit<Question, "text">,
    private readonly isHeld: () => boolean = () => false, // someone is at the list
  ) {
    this.#current = {
      question: { ...question, text: "" },
      phase: "empty",
      answer: null,
      failure: null,
    };
  }

  get state(): SearchState {
    return this.#current;
  }

  /** A key was pressed: search after the pause. */
  type(text: string): void {
    if (text === this.#current.question.text) return;
    this.#current = { ...this.#current, question: { ...this.#current.question, text, dig: false } };
    if (text.trim() === "") return this.clear();
    this.#stopTimer();
    this.#timer = this.timers.set(() => {
      this.#timer = null;
      void this.run(true);
    }, DEBOUNCE_MS);
  }

  /** The query is finished: search now. */
  async submit(text = this.#current.question.text): Promise<void> {
    this.#current = { ...this.#current, question: { ...this.#current.question, text } };
    if (text.trim() === "") return this.clear();
    await this.run(false);
  }

  /** Mode, scope, limit or reranking changed: search now with the same words. */
  async change(changes: Partial<Omit<Question, "text">>): Promise<void> {
    this.#current = { ...this.#current, question: { ...this.#current.question, ...changes } };
    if (this.#current.question.text.trim() === "") this.changed(this.#current);
    else await this.run(false);
  }

  /** The notes or the connection changed: ask the same again, unless a search is on its way. */
  async refresh(): Promise<void> {
    const waiting = this.#timer !== null || this.#running !== null;
    if (!waiting && this.#current.question.text.trim() !== "") await this.run(false);
  }

  clear(): void {
    this.stop();
    const question = { ...this.#current.question, text: "" };
    this.#update({ question, phase: "empty", answer: null, failure: null });
  }

  /** Ends every timer and request. */
  stop(): void {
    this.#stopTimer();
    this.#running?.abort();
    this.#running = null;
    this.#newest = null;
    this.#early = null;
  }

  private async run(typing: boolean): Promise<void> {
    this.stop();
    const { question } = this.#current;
    const controller = new AbortController();
    this.#running = this.#newest = controller;
    this.#update({ ...this.#current, phase: "searching" });
    let fuller: SearchResult | null = null;
    const more: More = (result) => {
      if (this.#newest !== controller) return;
      if (this.#running === controller) fuller = result;
      else this.#join(result);
    };
    try {
      const result = await this.ask(question, typing, controller.signal, more);
      if (this.#running !== controller) return;
      this.#running = null;
      const answer = { question, result: fuller ?? result, late: new Set<string>() };
      // "No evidence" is not said in the moment in which others are still being asked.
      const isEarly = fuller === null && result.status === "no_evidence";
      if (isEarly && waitingFor(result).length > 0) {
        this.#early = answer;
        return;
      }
      this.#update({ ...this.#current, phase: "answered", answer, failure: null });
    } catch (error) {
      if (this.#running !== controller) return;
      this.#running = null;
      this.#update({ ...this.#current, phase: "failed", failure: failureOf(error) });
    }
  }

  /** A fuller answer arrived: it joins what is shown without moving what someone looks at. */
  #join(result: SearchResult): void {
    const answer = this.#early ?? this.#current.answer;
    this.#early = null;
    if (answer === null) return;
    const shown = { results: answer.result.results, late: answer.late };
    const { results, late } = joined(shown, result.results, this.isHeld());
    const fuller = { ...answer, result: { ...result, results }, late };
    this.#update({ ...this.#current, phase: "answered", answer: fuller, failure: null });
  }

  #stopTimer(): void {
    if (this.#timer !== null) this.timers.clear(this.#timer);
    this.#timer = null;
  }

  #update(state: SearchState): void {
    this.#current = state;
    this.changed(state);
  }
}

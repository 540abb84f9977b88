// The state of one question that is answered in words: what runs, what stands, what it cost.
//
// Knows nothing of the DOM, of sockets or of Obsidian. A newer question stops the older one, and
// a late report of an older one never replaces what is shown.
import type { AskResult, Piece } from "../bridge/protocol";
import { type Failure, failureOf } from "./failure";
import { t } from "./i18n";

export type AskPhase = "empty" | "running" | "answered" | "failed";

export interface AskState {
  phase: AskPhase;
  question: string;
  result: AskResult | null;
  failure: Failure | null;
}

/** Asks one question; `more` is told how far it is. Rejects when `signal` aborts. */
export type AskInWords = (
  text: string,
  more: (result: AskResult) => void,
  signal: AbortSignal,
) => Promise<AskResult>;

const EMPTY: AskState = { phase: "empty", question: "", result: null, failure: null };

export class AskSession {
  #current: AskState = EMPTY;
  #running: AbortController | null = null;

  constructor(
    private readonly ask: AskInWords,
    private readonly changed: (state: AskState) => void,
  ) {}

  get state(): AskState {
    return this.#current;
  }

  async submit(text: string): Promise<void> {
    const question = text.trim();
    this.#running?.abort();
    this.#running = null;
    if (question === "") return this.#update(EMPTY);
    const controller = new AbortController();
    this.#running = controller;
    this.#update({ phase: "running", question, result: null, failure: null });
    const more = (result: AskResult): void => {
      if (this.#running === controller) this.#update({ ...this.#current, result });
    };
    try {
      const result = await this.ask(question, more, controller.signal);
      if (this.#running !== controller) return;
      this.#running = null;
      this.#update({ phase: "answered", question, result, failure: null });
    } catch (error) {
      if (this.#running !== controller) return;
      this.#running = null;
      this.#update({ ...this.#current, phase: "failed", failure: failureOf(error) });
    }
  }

  /** Gives the running question up; what was answered so far stays. */
  stop(): void {
    if (this.#running === null) return;
    this.#running.abort();
    this.#running = null;
    this.#update({ ...this.#current, phase: this.#current.result === null ? "empty" : "answered" });
  }

  #update(state: AskState): void {
    this.#current = state;
    this.changed(state);
  }
}

/** The pieces that the answer cites, by number. */
export function citedPieces(result: AskResult): Piece[] {
  const cited = new Set(result.sentences.flatMap((sentence) => sentence.citations));
  return result.evidence.filter((piece) => cited.has(piece.number));
}

/** What is going on, or what came of it, in a line. */
export function askLine(state: AskState): string {
  const { result } = state;
  if (state.phase === "running") return t(`ask.phase.${result?.phase ?? "searching"}`);
  if (result === null) return "";
  if (result.status === "no_evidence") return t("ask.noEvidence");
  if (result.status === "failed") return t("ask.failed");
  const { calls, tokens, seconds } = result.spent;
  return t("ask.spent", { calls, tokens, seconds: Math.round(seconds) });
}

/** Where a piece stands, for people. */
export function pieceLabel(piece: Piece): string {
  const { start_line: start, end_line: end } = piece.citation;
  if (start === null) return piece.path;
  return start === end ? `${piece.path}:${start}` : `${piece.path}:${start}-${end ?? start}`;
}

/** Host and port of an endpoint's address, "" for none or for what is no address. */
export function endpointPlace(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

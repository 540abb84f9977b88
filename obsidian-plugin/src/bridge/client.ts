// Talks to the daemon: JSON-RPC 2.0 over one loopback WebSocket.
//
// Never imports Obsidian and opens no socket by itself: `connect` is given. Every request has a
// time limit and can be cancelled; a lost connection is made again with growing pauses, and
// what listens for notifications keeps listening across connections.
import { BridgeFailure } from "../core/failure";
import type { Timers } from "../core/search";
import type { Discovery, Endpoint } from "./discovery";
import {
  type HelloParams,
  type HelloResult,
  type Methods,
  PROTOCOL,
  type ServerNotifications,
} from "./protocol";

/** The part of a WebSocket that the client uses. */
export interface Socket {
  send(data: string): void;
  close(): void;
}

export interface SocketEvents {
  opened(): void;
  received(data: unknown): void;
  closed(reason: string): void;
}

export type Connection =
  | { kind: "stopped" }
  | { kind: "connecting" }
  | { kind: "offline"; why: OfflineReason; detail: string }
  | { kind: "mismatch"; older: "plugin" | "daemon"; message: string }
  | { kind: "ready"; hello: HelloResult };

export type OfflineReason =
  | "not_running" // no discovery file
  | "stale" // a discovery file, but nobody answers there
  | "unsafe" // the discovery file can be written by others
  | "damaged" // the discovery file is no JSON of the right form
  | "refused" // the daemon answered and sent us away
  | "lost"; // there was a connection

export interface ClientOptions {
  discover: () => Promise<Discovery>;
  connect: (url: string, events: SocketEvents) => Socket;
  timers: Timers;
  version: string;
  /** Pause before the n-th try again (from 0), in milliseconds. */
  backOff?: (attempt: number) => number;
}

export interface RequestOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: BridgeFailure) => void;
  release: () => void;
}

type Listener = (params: unknown) => void;

const HELLO_TIMEOUT_MS = 5_000; // the daemon itself waits 5 s for the first message
const REQUEST_TIMEOUT_MS = 15_000;

/** 0.4 s, 0.8 s, 1.6 s ... at most 5 s: reading one small file that often costs nothing. */
export function backOff(attempt: number): number {
  return Math.min(400 * 2 ** attempt, 5_000);
}

export class BridgeClient {
  #connection: Connection = { kind: "stopped" };
  #socket: Socket | null = null;
  #nextId = 1;
  #attempt = 0;
  #retry: number | null = null;
  #generation = 0; // of the connection; answers of an older one are ignored
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #watchers = new Set<(connection: Connection) => void>();

  constructor(private readonly options: ClientOptions) {}

  get state(): Connection {
    return this.#connection;
  }

  start(): void {
    if (this.#connection.kind === "stopped") void this.#open();
  }

  /** Tries again now instead of after the pause. */
  retryNow(): void {
    if (this.#connection.kind === "ready" || this.#connection.kind === "connecting") return;
    this.#attempt = 0;
    void this.#open();
  }

  stop(): void {
    this.#clearRetry();
    this.#dropSocket();
    this.#rejectAll("BRIDGE_UNAVAILABLE", "The connection was closed.");
    this.#enter({ kind: "stopped" });
  }

  /** Calls `watcher` at every change of the connection; returns how to stop. */
  watch(watcher: (connection: Connection) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Calls `listener` for every notification of that method, over all connections. */
  listen<N extends keyof ServerNotifications>(
    method: N,
    listener: (params: ServerNotifications[N]) => void,
  ): () => void {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener as Listener));
    return () => listeners.delete(listener as Listener);
  }

  /**
   * One request.
   *
   * Rejects with a `BridgeFailure`: the daemon's own code, or BRIDGE_UNAVAILABLE, TIMEOUT,
   * CANCELLED, BAD_ANSWER.
   */
  request<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options: RequestOptions = {},
  ): Promise<Methods[M]["result"]> {
    if (this.#connection.kind !== "ready")
      return Promise.reject(
        new BridgeFailure("BRIDGE_UNAVAILABLE", "The search service is not connected."),
      );
    return this.#send(method, params, options);
  }

  #send<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options: RequestOptions,
  ): Promise<Methods[M]["result"]> {
    const { signal, timeoutMs = REQUEST_TIMEOUT_MS } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(cancelled());
        return;
      }
      const id = this.#nextId++;
      const giveUp = (failure: BridgeFailure): void => {
        if (!this.#pending.has(id)) return;
        this.settle(id).reject(failure);
        this.write({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
      };
      const timer = this.options.timers.set(
        () => giveUp(new BridgeFailure("TIMEOUT", `No answer to ${method} in ${timeoutMs} ms.`)),
        timeoutMs,
      );
      const abort = (): void => giveUp(cancelled());
      signal?.addEventListener("abort", abort, { once: true });
      const release = (): void => {
        this.options.timers.clear(timer);
        signal?.removeEventListener("abort", abort);
      };
      // What the daemon sends is what `protocol.ts`, generated from its source, says.
      const accept = resolve as (value: unknown) => void;
      this.#pending.set(id, { resolve: accept, reject, release });
      this.write({ jsonrpc: "2.0", id, method, params });
    });
  }

  private settle(id: number): Pending {
    const pending = this.#pending.get(id);
    if (pending === undefined) throw new Error(`request ${id} is not pending`);
    this.#pending.delete(id);
    pending.release();
    return pending;
  }

  private write(message: object): void {
    try {
      this.#socket?.send(JSON.stringify(message));
    } catch (error) {
      // A socket that closes while we write: its onclose follows and rejects what is pending.
      console.debug("Sidelight: the connection closed while writing", error);
    }
  }

  async #open(): Promise<void> {
    this.#clearRetry();
    this.#dropSocket();
    const generation = this.#generation;
    if (this.#connection.kind === "stopped") this.#enter({ kind: "connecting" });
    const found = await this.options.discover().catch((error: unknown): Discovery => ({
      kind: "damaged",
      detail: error instanceof Error ? error.message : String(error),
    }));
    if (generation !== this.#generation) return;
    if (found.kind !== "found") return this.#fail(found.kind, found.detail);
    this.#greet(found.endpoint, generation);
  }

  #greet(endpoint: Endpoint, generation: number): void {
    let answered = false;
    const { timers } = this.options;
    const current = (): boolean => generation === this.#generation;
    const events: SocketEvents = {
      opened: () => {
        if (current()) void this.#hello(endpoint, generation);
      },
      received: (data) => {
        answered = true;
        timers.clear(timer);
        if (current()) this.receive(data);
      },
      closed: (reason) => {
        timers.clear(timer);
        if (current()) this.#lost(answered, reason);
      },
    };
    // Nobody there, or somebody who takes the call and says nothing.
    const timer = timers.set(() => {
      if (!current()) return;
      this.#dropSocket();
      this.#lost(answered, "");
    }, HELLO_TIMEOUT_MS);
    this.#socket = this.options.connect(`ws://127.0.0.1:${endpoint.port}/rpc`, events);
  }

  #lost(answered: boolean, reason: string): void {
    this.#generation++; // whatever else this socket says is of no interest
    this.#socket = null;
    const was = this.#connection.kind;
    this.#fail(was === "ready" ? "lost" : answered ? "refused" : "stale", reason);
    this.#rejectAll("BRIDGE_UNAVAILABLE", "The connection was lost.");
  }

  async #hello(endpoint: Endpoint, generation: number): Promise<void> {
    const params: HelloParams = {
      token: endpoint.token,
      client: { name: "obsidian-plugin", version: this.options.version },
      protocol: PROTOCOL,
    };
    try {
      const hello = await this.#send("session/hello", params, { timeoutMs: HELLO_TIMEOUT_MS });
      if (generation !== this.#generation) return;
      this.#attempt = 0;
      this.#enter({ kind: "ready", hello });
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#dropSocket();
      const failure = error instanceof BridgeFailure ? error : null;
      if (failure?.code === "PROTOCOL_MISMATCH") {
        const older = failure.data.older === "client" ? "plugin" : "daemon";
        this.#enter({ kind: "mismatch", older, message: failure.message });
        this.#scheduleRetry();
      } else this.#fail("refused", failure?.message ?? String(error));
    }
  }

  private receive(data: unknown): void {
    const message = parsed(data);
    if (message === null) {
      // Whoever answers in no JSON is not our daemon: start over.
      this.#dropSocket();
      this.#lost(true, "The answer is not JSON-RPC.");
      return;
    }
    if (typeof message.method === "string") {
      for (const listener of this.#listeners.get(message.method) ?? []) listener(message.params);
      return;
    }
    const id = message.id;
    if (typeof id !== "number" || !this.#pending.has(id)) return; // late: cancelled or timed out
    const { resolve, reject } = this.settle(id);
    if (message.error !== undefined && message.error !== null) reject(failureFrom(message.error));
    else if ("result" in message) resolve(message.result);
    else reject(new BridgeFailure("BAD_ANSWER", "The answer has neither a result nor an error."));
  }

  #fail(why: OfflineReason, detail: string): void {
    this.#enter({ kind: "offline", why, detail });
    this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    this.#clearRetry();
    const pause = (this.options.backOff ?? backOff)(this.#attempt++);
    this.#retry = this.options.timers.set(() => void this.#open(), pause);
  }

  #clearRetry(): void {
    if (this.#retry !== null) this.options.timers.clear(this.#retry);
    this.#retry = null;
  }

  // Every event of the old socket carries an old generation and is ignored.
  #dropSocket(): void {
    this.#generation++;
    this.#socket?.close();
    this.#socket = null;
  }

  #rejectAll(code: string, message: string): void {
    for (const id of [...this.#pending.keys()])
      this.settle(id).reject(new BridgeFailure(code, message));
  }

  #enter(connection: Connection): void {
    this.#connection = connection;
    for (const watcher of this.#watchers) watcher(connection);
  }
}

function cancelled(): BridgeFailure {
  return new BridgeFailure("CANCELLED", "The request was cancelled.");
}

function parsed(data: unknown): Record<string, unknown> | null {
  if (typeof data !== "string") return null;
  try {
    const message: unknown = JSON.parse(data);
    return isRecord(message) ? message : null;
  } catch {
    return null;
  }
}

function failureFrom(error: unknown): BridgeFailure {
  if (!isRecord(error)) return new BridgeFailure("BAD_ANSWER", "The error has no form.");
  const data = isRecord(error.data) ? error.data : {};
  const text = (value: unknown, otherwise: string): string =>
    typeof value === "string" ? value : otherwise;
  return new BridgeFailure(
    text(data.code, "INTERNAL"),
    text(error.message, "Unknown error."),
    text(data.remedy, ""),
    data,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Remembers what was searched for. Kept on this device only.

const MAX_ENTRIES = 50;

/** The newest query first; a repeated query moves to the front. */
export function remember(history: readonly string[], query: string): string[] {
  const trimmed = query.trim();
  if (trimmed === "") return [...history];
  return [trimmed, ...history.filter((entry) => entry !== trimmed)].slice(0, MAX_ENTRIES);
}

/** Walks through the history as a shell does: up for older, down for newer, back to the draft. */
export class HistoryWalk {
  #index = -1;
  #draft = "";

  constructor(private readonly entries: () => readonly string[]) {}

  get active(): boolean {
    return this.#index >= 0;
  }

  older(current: string): string | null {
    const entries = this.entries();
    if (this.#index < 0) this.#draft = current;
    let next = this.#index + 1;
    while (entries[next] !== undefined && entries[next] === current) next++;
    const entry = entries[next];
    if (entry === undefined) return null;
    this.#index = next;
    return entry;
  }

  newer(): string | null {
    if (this.#index < 0) return null;
    this.#index--;
    return this.#index < 0 ? this.#draft : (this.entries()[this.#index] ?? this.#draft);
  }

  reset(): void {
    this.#index = -1;
  }
}

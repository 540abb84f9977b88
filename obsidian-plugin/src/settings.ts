// What the plugin remembers, and where.
//
// `data.json` is synced and can be written by others: it holds taste only (how many results,
// which mode). What names a program or a file of this machine, and what was searched for, lies
// in Obsidian's device-local storage. The daemon's own settings stay with the daemon.
import type { App } from "obsidian";
import type { Sort } from "./core/grouping";
import type { Mode } from "./core/search";

export interface SavedSearch {
  name: string;
  query: string;
}

export interface PluginSettings {
  limit: number;
  mode: Mode;
  sort: Sort;
  rerank: boolean;
  fullPassages: boolean;
  showChannels: boolean;
  relatedHideLinked: boolean;
  suggestLinks: boolean;
  language: "auto" | "en" | "zh";
  saved: SavedSearch[];
}

export const DEFAULT_SETTINGS: PluginSettings = {
  limit: 20,
  mode: "hybrid",
  sort: "relevance",
  rerank: false,
  fullPassages: false,
  showChannels: true,
  relatedHideLinked: true,
  suggestLinks: true,
  language: "auto",
  saved: [],
};

export const MODES: readonly Mode[] = ["hybrid", "lexical", "semantic"];
export const SORTS: readonly Sort[] = ["relevance", "modified", "name"];
export const MAX_LIMIT = 200;

/** Settings from whatever stands in `data.json`; what has the wrong form is left out. */
export function settingsFrom(data: unknown): PluginSettings {
  const raw = (typeof data === "object" && data !== null ? data : {}) as Record<string, unknown>;
  const chosen = <T>(value: unknown, allowed: readonly T[], otherwise: T): T =>
    allowed.includes(value as T) ? (value as T) : otherwise;
  const flag = (value: unknown, otherwise: boolean): boolean =>
    typeof value === "boolean" ? value : otherwise;
  return {
    limit: limitFrom(raw.limit),
    mode: chosen(raw.mode, [...MODES, "coverage"], DEFAULT_SETTINGS.mode),
    sort: chosen(raw.sort, SORTS, DEFAULT_SETTINGS.sort),
    rerank: flag(raw.rerank, DEFAULT_SETTINGS.rerank),
    fullPassages: flag(raw.fullPassages, DEFAULT_SETTINGS.fullPassages),
    showChannels: flag(raw.showChannels, DEFAULT_SETTINGS.showChannels),
    relatedHideLinked: flag(raw.relatedHideLinked, DEFAULT_SETTINGS.relatedHideLinked),
    suggestLinks: flag(raw.suggestLinks, DEFAULT_SETTINGS.suggestLinks),
    language: chosen(raw.language, ["auto", "en", "zh"], DEFAULT_SETTINGS.language),
    saved: Array.isArray(raw.saved) ? raw.saved.filter(isSavedSearch).map(onlySaved) : [],
  };
}

function limitFrom(value: unknown): number {
  const isLimit = typeof value === "number" && Number.isInteger(value);
  return isLimit ? Math.min(Math.max(value, 1), MAX_LIMIT) : DEFAULT_SETTINGS.limit;
}

function isSavedSearch(value: unknown): value is SavedSearch {
  const entry = value as Partial<Record<keyof SavedSearch, unknown>> | null;
  return typeof entry?.name === "string" && typeof entry.query === "string";
}

function onlySaved({ name, query }: SavedSearch): SavedSearch {
  return { name, query };
}

const START_COMMAND = "sidelight-start-command";
const DISCOVERY_FILE = "sidelight-discovery-file";
const HISTORY = "sidelight-history";

/** What is kept for this vault on this device, never synced. */
export class DeviceSettings {
  constructor(private readonly app: App) {}

  get startCommand(): string {
    return this.#text(START_COMMAND);
  }

  set startCommand(command: string) {
    this.app.saveLocalStorage(START_COMMAND, command.trim() || null);
  }

  get discoveryFile(): string {
    return this.#text(DISCOVERY_FILE);
  }

  set discoveryFile(path: string) {
    this.app.saveLocalStorage(DISCOVERY_FILE, path.trim() || null);
  }

  get history(): string[] {
    const stored: unknown = this.app.loadLocalStorage(HISTORY);
    return Array.isArray(stored) ? stored.filter((entry) => typeof entry === "string") : [];
  }

  set history(entries: readonly string[]) {
    this.app.saveLocalStorage(HISTORY, [...entries]);
  }

  #text(key: string): string {
    const stored: unknown = this.app.loadLocalStorage(key);
    return typeof stored === "string" ? stored : "";
  }
}

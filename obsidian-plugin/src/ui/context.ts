// What every part of the interface is given.
import type { App } from "obsidian";
import type { Service } from "../bridge/service";
import type { DeviceSettings, PluginSettings } from "../settings";

export interface Context {
  readonly app: App;
  readonly service: Service;
  readonly device: DeviceSettings;
  readonly settings: PluginSettings;
  saveSettings(): Promise<void>;
  openSettings(): void;
  startDaemon(): Promise<void>;
  /** The command that starts the daemon for this vault, to copy. */
  suggestedCommand(): string;
  search(query: string): Promise<void>;
}

export const SEARCH_VIEW = "sidelight-search";
export const RELATED_VIEW = "sidelight-related";
export const ASK_VIEW = "sidelight-ask";
export const ICON = "flashlight";

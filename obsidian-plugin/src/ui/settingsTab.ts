// The settings, declared: Obsidian draws them and finds them in its own search.
//
// Keys that begin with "daemon." are the daemon's settings, asked from it and changed there;
// "device." keys lie in device-local storage; the others are the plugin's own.
import {
  type App,
  Notice,
  type Plugin,
  PluginSettingTab,
  type SettingDefinition,
  type SettingDefinitionItem,
} from "obsidian";
import type { Settings, SourceReport } from "../bridge/protocol";
import { failureOf, inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import { inReadersWords } from "../core/said";
import { reportText } from "../core/sources";
import { MAX_LIMIT, MODES, type PluginSettings, settingsFrom } from "../settings";
import type { Context } from "./context";

const LISTS = ["user_words", "excluded", "credibility"];
const FUSIONS = ["evidence", "rrf_confident", "rrf_fixed", "rrf_plain"] as const;
const NUMBERS = ["results_per_note", "linked_limit", "linked_per_seed"];

export class SidelightSettingTab extends PluginSettingTab {
  private daemon: Partial<Settings> = {};
  #sources: readonly SourceReport[] = [];

  constructor(
    app: App,
    plugin: Plugin,
    private readonly context: Context,
  ) {
    super(app, plugin);
    this.icon = "flashlight";
  }

  /** Asks the daemon for its settings and draws again when they are there. */
  async ask(): Promise<void> {
    if (!this.context.service.ready) return;
    try {
      this.daemon = (await this.context.service.settings()).settings;
      this.#sources = await this.context.service.sources(false);
      this.update();
    } catch (error) {
      // The connection went away meanwhile; its own banner tells that.
      console.debug("Sidelight: no settings", error);
    }
  }

  override getSettingDefinitions(): SettingDefinitionItem[] {
    return [
      ...this.#searchSettings(),
      { type: "group", heading: t("settings.connection"), items: this.#connectionSettings() },
      { type: "group", heading: t("settings.index"), items: this.#daemonSettings() },
      { type: "group", heading: t("settings.sources"), items: this.#sourceSettings() },
    ];
  }

  override getControlValue(key: string): unknown {
    const [place, name = ""] = split(key);
    if (place === "plugin") return this.context.settings[name as keyof PluginSettings];
    if (place === "device") return this.context.device[name as "startCommand" | "discoveryFile"];
    const value = this.daemon[name as keyof Settings];
    return LISTS.includes(name) && Array.isArray(value) ? (value as string[]).join("\n") : value;
  }

  override async setControlValue(key: string, value: unknown): Promise<void> {
    const [place, name = ""] = split(key);
    if (place === "plugin") {
      Object.assign(
        this.context.settings,
        settingsFrom({ ...this.context.settings, [name]: value }),
      );
      await this.context.saveSettings();
    } else if (place === "device") {
      this.context.device[name as "startCommand" | "discoveryFile"] = String(value);
      this.context.service.client.retryNow(); // and the banner says what can be done now
    } else await this.#changeDaemon(name, value);
  }

  async #changeDaemon(name: string, value: unknown): Promise<void> {
    const wanted = LISTS.includes(name) ? listFrom(String(value)) : value;
    try {
      const { settings, rebuilds } = await this.context.service.changeSettings({ [name]: wanted });
      this.daemon = settings;
      const what = rebuilds.map(inReadersWords).join(t("list.comma"));
      if (what !== "") new Notice(t("settings.rebuilds", { what }));
    } catch (error) {
      new Notice(inOneLine(failureOf(error)));
      await this.ask();
    }
  }

  #searchSettings(): SettingDefinition[] {
    return [
      {
        name: t("settings.limit"),
        desc: t("settings.limit.desc"),
        control: { type: "slider", key: "limit", min: 5, max: MAX_LIMIT, step: 5 },
      },
      {
        name: t("settings.mode"),
        desc: t("settings.mode.desc"),
        control: {
          type: "dropdown",
          key: "mode",
          options: Object.fromEntries(MODES.map((mode) => [mode, t(`mode.${mode}`)])),
        },
      },
      {
        name: t("settings.fullPassages"),
        desc: t("settings.fullPassages.desc"),
        control: { type: "toggle", key: "fullPassages" },
      },
      {
        name: t("settings.showChannels"),
        desc: t("settings.showChannels.desc"),
        control: { type: "toggle", key: "showChannels" },
      },
      {
        name: t("settings.rerank"),
        desc: t("settings.rerank.desc"),
        control: { type: "toggle", key: "rerank" },
      },
      {
        name: t("settings.language"),
        desc: t("settings.language.desc"),
        control: {
          type: "dropdown",
          key: "language",
          options: { auto: t("settings.language.auto"), en: "English", zh: "中文" },
        },
      },
    ];
  }

  #connectionSettings(): SettingDefinition[] {
    return [
      {
        name: t("settings.startCommand"),
        desc: t("settings.startCommand.desc"),
        control: {
          type: "text",
          key: "device.startCommand",
          placeholder: this.context.suggestedCommand(),
        },
      },
      {
        name: t("settings.discoveryFile"),
        desc: t("settings.discoveryFile.desc"),
        control: { type: "text", key: "device.discoveryFile" },
      },
    ];
  }

  /** How each other knowledge base is; they are added from the command line. */
  #sourceSettings(): SettingDefinition[] {
    const disabled = (): boolean => !this.context.service.ready;
    return [
      {
        name: t("settings.sources.check"),
        desc: t("settings.sources.desc"),
        disabled,
        action: () => void this.#checkSources(),
      },
      ...this.#sources.map((source) => ({
        name: source.name,
        desc: reportText(source),
        aliases: [source.kind, source.place],
      })),
      {
        name: t("settings.keep_feedback"),
        desc: t("settings.keep_feedback.desc"),
        control: { type: "toggle", key: "daemon.keep_feedback", disabled },
      },
    ];
  }

  async #checkSources(): Promise<void> {
    try {
      this.#sources = await this.context.service.sources(true);
      this.update();
    } catch (error) {
      new Notice(inOneLine(failureOf(error)));
    }
  }

  #daemonSettings(): SettingDefinition[] {
    const disabled = (): boolean => !this.context.service.ready;
    const number = (name: string, min: number, max: number): SettingDefinition => ({
      name: t(`settings.${name}` as "settings.results_per_note"),
      desc: t(`settings.${name}.desc` as "settings.results_per_note.desc"),
      control: { type: "number", key: `daemon.${name}`, min, max, step: 1, disabled },
    });
    const list = (name: string): SettingDefinition => ({
      name: t(`settings.${name}` as "settings.user_words"),
      desc: t(`settings.${name}.desc` as "settings.user_words.desc"),
      control: { type: "textarea", key: `daemon.${name}`, rows: 4, disabled },
    });
    return [
      {
        name: t("settings.gate"),
        desc: t("settings.gate.desc"),
        control: {
          type: "dropdown",
          key: "daemon.gate_strictness",
          disabled,
          options: {
            lenient: t("settings.gate.lenient"),
            balanced: t("settings.gate.balanced"),
            strict: t("settings.gate.strict"),
            off: t("settings.gate.off"),
          },
        },
      },
      {
        name: t("settings.fusion"),
        desc: t("settings.fusion.desc"),
        control: {
          type: "dropdown",
          key: "daemon.fusion",
          disabled,
          options: Object.fromEntries(FUSIONS.map((name) => [name, t(`settings.fusion.${name}`)])),
        },
      },
      {
        name: t("settings.graph"),
        desc: t("settings.graph.desc"),
        control: { type: "toggle", key: "daemon.graph", disabled },
      },
      ...LISTS.map(list),
      ...NUMBERS.map((name) => number(name, name === "results_per_note" ? 1 : 0, 10)),
      {
        name: t("settings.model"),
        desc: t("settings.model.desc"),
        control: { type: "text", key: "daemon.embedding_model", disabled },
      },
      {
        name: t("settings.reranker"),
        desc: t("settings.reranker.desc"),
        control: { type: "text", key: "daemon.reranker_model", disabled },
      },
      {
        name: t("settings.askEndpoint"),
        desc: t("settings.askEndpoint.desc"),
        control: { type: "text", key: "daemon.ask_endpoint", disabled },
      },
      {
        name: t("settings.askModel"),
        desc: t("settings.askModel.desc"),
        control: { type: "text", key: "daemon.ask_model", disabled },
      },
    ];
  }
}

function split(key: string): [place: string, name: string | undefined] {
  const [place, name] = key.split(".", 2);
  return name === undefined ? ["plugin", place] : [place ?? "", name];
}

function listFrom(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

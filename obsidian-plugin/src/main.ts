// The plugin: connects to the daemon of this vault and registers views, commands, settings.
import {
  FileSystemAdapter,
  getLanguage,
  Notice,
  Plugin,
  setTooltip,
  type WorkspaceLeaf,
} from "obsidian";
import { BridgeClient } from "./bridge/client";
import { discover } from "./bridge/discovery";
import { Service } from "./bridge/service";
import { addCommands } from "./commands";
import { t, useLanguage } from "./core/i18n";
import { statusLine } from "./core/status";
import { desktop, startProgram } from "./desktop";
import { DEFAULT_SETTINGS, DeviceSettings, type PluginSettings, settingsFrom } from "./settings";
import { run } from "./ui/run";
import { AskView } from "./ui/askView";
import { ASK_VIEW, type Context, ICON, RELATED_VIEW, SEARCH_VIEW } from "./ui/context";
import { RelatedView } from "./ui/relatedView";
import { SearchView } from "./ui/searchView";
import { SidelightSettingTab } from "./ui/settingsTab";

declare const SIDELIGHT_VERSION: string; // from manifest.json, by esbuild

// A daemon that was just started answers after its imports: a few seconds.
const START_WAIT_MS = 1_000;

export default class SidelightPlugin extends Plugin implements Context {
  override settings: PluginSettings = { ...DEFAULT_SETTINGS };
  device!: DeviceSettings;
  service!: Service;
  #tab!: SidelightSettingTab;
  #statusEl!: HTMLElement;

  override async onload(): Promise<void> {
    this.settings = settingsFrom(await this.loadData());
    this.#chooseLanguage();
    this.device = new DeviceSettings(this.app);
    this.service = new Service(this.#client(), () => this.device.startCommand !== "");
    this.registerView(SEARCH_VIEW, (leaf) => new SearchView(leaf, this));
    this.registerView(RELATED_VIEW, (leaf) => new RelatedView(leaf, this));
    this.registerView(ASK_VIEW, (leaf) => new AskView(leaf, this));
    for (const [view, name] of [
      [SEARCH_VIEW, t("view.search")],
      [RELATED_VIEW, t("view.related")],
    ] as const)
      this.registerHoverLinkSource(view, { display: name, defaultMod: true });
    this.addRibbonIcon(ICON, t("view.search"), () => run(this.showView(SEARCH_VIEW)));
    this.#tab = new SidelightSettingTab(this.app, this, this);
    this.addSettingTab(this.#tab);
    this.#addStatusBar();
    addCommands(this);
    // obsidian://sidelight?query=...
    this.registerObsidianProtocolHandler("sidelight", ({ query }) =>
      run(query === undefined ? this.showView(SEARCH_VIEW) : this.search(query)),
    );
    this.app.workspace.onLayoutReady(() => this.service.client.start());
    this.register(() => this.service.client.stop());
  }

  override async onExternalSettingsChange(): Promise<void> {
    this.settings = settingsFrom(await this.loadData());
    this.#settingsChanged();
  }

  async saveSettings(): Promise<void> {
    await this.saveData(this.settings);
    this.#settingsChanged();
  }

  openSettings(): void {
    // The settings window has no public way to be opened at a tab.
    const { setting } = this.app as unknown as {
      setting?: { open(): void; openTabById(id: string): void };
    };
    setting?.open();
    setting?.openTabById(this.manifest.id);
  }

  async startDaemon(): Promise<void> {
    const command = this.device.startCommand;
    if (command === "") return this.openSettings();
    new Notice(t("start.begun"));
    const problem = await startProgram(command);
    if (problem !== "") new Notice(t("start.failed", { problem }));
    window.setTimeout(() => this.service.client.retryNow(), START_WAIT_MS);
  }

  suggestedCommand(): string {
    return `sidelight serve "${this.#vaultPath()}"`;
  }

  async search(query: string): Promise<void> {
    const leaf = await this.showView(SEARCH_VIEW);
    if (leaf.view instanceof SearchView) leaf.view.search(query);
  }

  /** Shows a view where it is open already, else in the right sidebar. */
  async showView(type: string): Promise<WorkspaceLeaf> {
    const leaf = await this.app.workspace.ensureSideLeaf(type, "right", {
      active: true,
      reveal: true,
    });
    if (leaf.view instanceof SearchView) leaf.view.focusBox();
    return leaf;
  }

  #client(): BridgeClient {
    return new BridgeClient({
      discover: () => discover(desktop(), this.#vaultPath(), this.device.discoveryFile),
      connect: (url, events) => {
        const socket = new WebSocket(url);
        socket.onopen = () => events.opened();
        socket.onmessage = ({ data }) => events.received(data);
        socket.onclose = ({ reason }) => events.closed(reason);
        return socket;
      },
      timers: {
        set: (callback, ms) => window.setTimeout(callback, ms),
        clear: (timer) => window.clearTimeout(timer),
      },
      version: SIDELIGHT_VERSION,
    });
  }

  #vaultPath(): string {
    const { adapter } = this.app.vault;
    return adapter instanceof FileSystemAdapter ? adapter.getBasePath() : "";
  }

  #chooseLanguage(): boolean {
    const { language } = this.settings;
    const before = t("view.search");
    useLanguage(language === "auto" ? getLanguage() : language);
    return t("view.search") !== before;
  }

  #settingsChanged(): void {
    const otherLanguage = this.#chooseLanguage();
    for (const type of [SEARCH_VIEW, RELATED_VIEW, ASK_VIEW])
      for (const { view } of this.app.workspace.getLeavesOfType(type)) {
        const ours =
          view instanceof SearchView || view instanceof RelatedView || view instanceof AskView;
        if (!ours) continue;
        if (otherLanguage) view.languageChanged();
        else view.settingsChanged();
      }
    if (otherLanguage) this.#tab.update();
  }

  #addStatusBar(): void {
    this.#statusEl = this.addStatusBarItem();
    this.#statusEl.addClass("mod-clickable", "sidelight-status");
    this.registerDomEvent(this.#statusEl, "click", () => run(this.showView(SEARCH_VIEW)));
    let wasReady = false;
    const show = (): void => {
      const { text, tooltip, busy } = statusLine(this.service.situation);
      this.#statusEl.setText(text === "" ? "Sidelight" : `Sidelight: ${text}`);
      this.#statusEl.toggleClass("is-busy", busy);
      setTooltip(this.#statusEl, tooltip, { placement: "top" });
      if (this.service.ready && !wasReady) void this.#tab.ask();
      wasReady = this.service.ready;
    };
    this.register(this.service.watch(show));
    show();
  }
}

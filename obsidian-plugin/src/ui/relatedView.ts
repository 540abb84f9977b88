// Passages related to the active note or to the section under the cursor, following the editor,
// and the links that are missing in that note and to it.
import { ItemView, MarkdownView, setIcon, type TFile, type WorkspaceLeaf } from "obsidian";
import type { Result, SearchResult } from "../bridge/protocol";
import { failureOf, inOneLine } from "../core/failure";
import { groupResults, NO_GROUPS, titleOf } from "../core/grouping";
import { t } from "../core/i18n";
import { isUnlinked, sectionLine } from "../core/related";
import { inReadersWords } from "../core/said";
import { bannersFor } from "../core/status";
import { actionsFor } from "./actions";
import { reasonText } from "./answers";
import { performBannerAction } from "./bannerActions";
import { Banners } from "./banners";
import { type Context, ICON, RELATED_VIEW } from "./context";
import { ResultList } from "./resultList";
import { run } from "./run";
import { Suggestions } from "./suggestions";

// The cursor rests this long in a section before its neighbours are looked up.
const FOLLOW_MS = 400;
const LIMIT = 15;

interface Target {
  file: TFile;
  line: number | null;
  section: string;
}

export class RelatedView extends ItemView {
  #list: ResultList | null = null;
  #suggestions: Suggestions | null = null;
  #banners: Banners | null = null;
  #heading: HTMLElement | null = null;
  #message: HTMLElement | null = null;
  #timer: number | null = null;
  #asked = "";
  #bySection = true;
  #wasReady = false;
  #running: AbortController | null = null;

  constructor(
    leaf: WorkspaceLeaf,
    private readonly context: Context,
  ) {
    super(leaf);
    this.icon = ICON;
    this.navigation = false;
  }

  override getViewType(): string {
    return RELATED_VIEW;
  }

  override getDisplayText(): string {
    return t("view.related");
  }

  override async onOpen(): Promise<void> {
    this.#draw();
    const { workspace } = this.app;
    this.registerEvent(workspace.on("active-leaf-change", () => this.#follow()));
    this.registerEvent(workspace.on("file-open", () => this.#follow()));
    this.registerEvent(
      workspace.on("editor-change", (_, { file }) => {
        this.#follow();
        if (file !== null && this.contentEl.isShown()) this.#suggestions?.edited(file.path);
      }),
    );
    // The editor tells nobody that its cursor moved: keys and clicks in it do.
    // Each window has a document of its own.
    this.registerDomEvent(activeDocument, "selectionchange", () => this.#follow());
    const opened = workspace.on("window-open", (_, { document }) =>
      this.registerDomEvent(document, "selectionchange", () => this.#follow()),
    );
    this.registerEvent(opened);
    this.register(
      this.context.service.watch(() => {
        const { service } = this.context;
        this.#banners?.render(bannersFor(service.situation));
        if (service.ready && !this.#wasReady) this.#asked = ""; // connected again: what failed may work
        this.#wasReady = service.ready;
        if (service.ready) this.#follow();
      }),
    );
    this.register(
      this.context.service.watchNotes(() => {
        this.#asked = "";
        this.#follow();
      }),
    );
    this.#banners?.render(bannersFor(this.context.service.situation));
    this.#follow();
  }

  override async onClose(): Promise<void> {
    this.#running?.abort();
    this.#suggestions?.stop();
    if (this.#timer !== null) window.clearTimeout(this.#timer);
    this.contentEl.empty();
  }

  settingsChanged(): void {
    this.#asked = "";
    this.#follow();
  }

  languageChanged(): void {
    this.#draw();
    this.settingsChanged();
  }

  #draw(): void {
    const { contentEl, context } = this;
    contentEl.empty();
    contentEl.addClass("sidelight-view");
    const bar = contentEl
      .createDiv({ cls: "nav-header" })
      .createDiv({ cls: "nav-buttons-container" });
    const toggle = (icon: string, label: string, active: boolean, set: (on: boolean) => void) => {
      const el = bar.createEl("button", { cls: "clickable-icon nav-action-button" });
      setIcon(el, icon);
      el.setAttribute("aria-label", label);
      el.setAttribute("aria-pressed", String(active));
      el.toggleClass("is-active", active);
      el.addEventListener("click", () => {
        const on = !el.hasClass("is-active");
        el.toggleClass("is-active", on);
        el.setAttribute("aria-pressed", String(on));
        set(on);
        this.#asked = "";
        this.#follow();
      });
    };
    toggle("heading", t("related.bySection"), this.#bySection, (on) => (this.#bySection = on));
    toggle("unlink", t("related.hideLinked"), context.settings.relatedHideLinked, (on) => {
      context.settings.relatedHideLinked = on;
      run(context.saveSettings());
    });
    toggle("link", t("related.suggestLinks"), context.settings.suggestLinks, (on) => {
      context.settings.suggestLinks = on;
      run(context.saveSettings());
    });
    this.#banners = new Banners(contentEl.createDiv(), (action) =>
      performBannerAction(context, action),
    );
    this.#heading = contentEl.createDiv({ cls: "sidelight-info" });
    const answer = contentEl.createDiv({ cls: "search-result-container sidelight-answer" });
    this.#message = answer.createDiv({ cls: "sidelight-note" });
    const actions = actionsFor(context, {
      source: RELATED_VIEW,
      owner: this,
      gone: (result) => this.#list?.markGone(result.ref),
      leave: () => undefined,
    });
    this.#list = new ResultList(answer.createDiv(), actions, this);
    this.#suggestions?.stop();
    this.#suggestions = new Suggestions(answer.createDiv(), context);
  }

  #follow(): void {
    if (this.#timer !== null) window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.#timer = null;
      void this.#update();
    }, FOLLOW_MS);
  }

  async #update(): Promise<void> {
    const target = this.#target();
    if (target === null) return this.#say(t("related.noNote"), "");
    if (!this.context.service.ready || !this.contentEl.isShown()) return;
    const { file, line, section } = target;
    const key = `${file.path}:${line ?? ""}`;
    if (key === this.#asked) return;
    this.#asked = key;
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    try {
      const params = { path: file.path, limit: LIMIT, ...(line === null ? {} : { line }) };
      const result = await this.context.service.related(params, controller.signal);
      if (this.#running !== controller) return;
      this.#show(result, file, section);
      await this.#suggestions?.show(file);
    } catch (error) {
      if (this.#running !== controller) return;
      this.#asked = "";
      this.#say(await this.#explained(error, file), titleOf(file.path));
    }
  }

  // Why there is nothing for a note that the index does not hold.
  async #explained(error: unknown, file: TFile): Promise<string> {
    const failure = failureOf(error);
    if (!["NOT_FOUND", "PATH_REFUSED"].includes(failure.code)) return inOneLine(failure);
    const status = await this.context.service.noteStatus(file.path).catch(() => null);
    const reason = status?.error ?? "";
    if (reason === "") return t("related.notIndexed");
    return t("related.leftOut", { reason: inReadersWords(reason) });
  }

  // The note that is being read or written, and the section under its cursor.
  #target(): Target | null {
    const view = this.app.workspace.getMostRecentLeaf()?.view;
    const file = view instanceof MarkdownView ? view.file : this.app.workspace.getActiveFile();
    if (file === null || file.extension !== "md") return null;
    if (!(view instanceof MarkdownView) || !this.#bySection)
      return { file, line: null, section: "" };
    const headings = (this.app.metadataCache.getFileCache(file)?.headings ?? []).map((entry) => ({
      text: entry.heading,
      line: entry.position.start.line + 1,
    }));
    const cursor = view.getMode() === "source" ? view.editor.getCursor().line + 1 : 1;
    const { line, text } = sectionLine(headings, cursor);
    return { file, line, section: text };
  }

  #show(result: SearchResult, file: TFile, section: string): void {
    const shown = this.#wanted(result.results, file);
    const title = section === "" ? titleOf(file.path) : `${titleOf(file.path)} › ${section}`;
    const nothing = result.reasons.map(reasonText).join(" ") || t("related.nothing");
    this.#say(shown.length === 0 ? nothing : "", title);
    const groups = groupResults(shown, "relevance", () => 0);
    this.#list?.render(groups, this.context.settings);
  }

  #wanted(results: readonly Result[], file: TFile): Result[] {
    if (!this.context.settings.relatedHideLinked) return [...results];
    const linked = this.app.metadataCache.resolvedLinks[file.path] ?? {};
    return results.filter((result) => isUnlinked(result, linked));
  }

  #say(message: string, title: string): void {
    this.#heading?.setText(title === "" ? "" : t("related.to", { note: title }));
    this.#message?.setText(message);
    this.#message?.toggle(message !== "");
    if (message === "") return;
    this.#list?.render(NO_GROUPS, this.context.settings);
    this.#suggestions?.clear();
  }
}

// The search sidebar: field, chips, banners, results. State lives in core/search.ts.
import { ItemView, Notice, type ViewStateResult, type WorkspaceLeaf } from "obsidian";
import { inOneLine } from "../core/failure";
import { byNote, groupResults, NO_GROUPS } from "../core/grouping";
import { remember } from "../core/history";
import { t } from "../core/i18n";
import { isScope, type Mode, type SearchState, SearchSession } from "../core/search";
import { waitingFor } from "../core/sources";
import { bannersFor } from "../core/status";
import { MODES, type PluginSettings } from "../settings";
import { actionsFor } from "./actions";
import { run } from "./run";
import { drawEmpty, drawNoEvidence, drawSyntax } from "./answers";
import { performBannerAction } from "./bannerActions";
import { Banners } from "./banners";
import { drawChips } from "./chips";
import { type Context, ICON, SEARCH_VIEW } from "./context";
import { createNote } from "./createNote";
import { copyList, insertLink } from "./linking";
import { openResult } from "./openPassage";
import { ResultList } from "./resultList";
import { SearchBox } from "./searchBox";
import { SearchToolbar } from "./searchToolbar";

// Notes change while someone reads: the list is asked for again at most this often.
const REFRESH_MS = 1_500;

interface ViewState {
  query?: unknown;
  mode?: unknown;
  scope?: unknown;
  scroll?: unknown;
}

export class SearchView extends ItemView {
  private readonly session: SearchSession;
  #box: SearchBox | null = null;
  private list: ResultList | null = null;
  #banners: Banners | null = null;
  #chips: HTMLElement | null = null;
  #info: HTMLElement | null = null;
  #answerEl: HTMLElement | null = null;
  #toolbar: SearchToolbar | null = null;
  #showNear = false;
  #showHelp = false;
  #scrollOnce: number | null = null;
  private refreshTimer: number | null = null;
  #wasReady = false;
  #applied: Pick<PluginSettings, "limit" | "mode" | "rerank">; // settings as last seen
  #shown = ""; // what the list shows
  #judgedText = ""; // the query whose results verdicts are about

  constructor(
    leaf: WorkspaceLeaf,
    private readonly context: Context,
  ) {
    super(leaf);
    this.icon = ICON;
    this.navigation = false;
    const { service, settings } = context;
    this.#applied = { ...settings };
    this.session = new SearchSession(
      (question, typing, signal, more) => service.search(question, typing, signal, more),
      {
        set: (callback, ms) => window.setTimeout(callback, ms),
        clear: (timer) => window.clearTimeout(timer),
      },
      (state) => this.show(state),
      {
        mode: settings.mode,
        scope: { kind: "vault" },
        limit: settings.limit,
        rerank: settings.rerank,
        source: "",
        dig: false,
      },
      () => this.list?.isHeld ?? false,
    );
  }

  override getViewType(): string {
    return SEARCH_VIEW;
  }

  override getDisplayText(): string {
    return t("view.search");
  }

  override async onOpen(): Promise<void> {
    this.#draw();
    const { service } = this.context;
    this.#wasReady = service.ready;
    this.register(service.watch(() => this.#situationChanged()));
    this.register(service.watchNotes(() => this.refreshSoon()));
    this.#situationChanged();
    this.show(this.session.state);
  }

  override async onClose(): Promise<void> {
    this.session.stop();
    if (this.refreshTimer !== null) window.clearTimeout(this.refreshTimer);
    this.contentEl.empty();
  }

  override getState(): Record<string, unknown> {
    const { text, mode, scope } = this.session.state.question;
    return { query: text, mode, scope, scroll: this.#answerEl?.scrollTop ?? 0 };
  }

  override async setState(state: unknown, result: ViewStateResult): Promise<void> {
    const { query, mode, scope, scroll } = (state ?? {}) as ViewState;
    await this.session.change({
      ...(MODES.includes(mode as Mode) ? { mode: mode as Mode } : {}),
      ...(isScope(scope) ? { scope } : {}),
    });
    if (typeof scroll === "number") this.#scrollOnce = scroll;
    if (typeof query === "string" && query !== "") this.search(query);
    else this.show(this.session.state);
    await super.setState(state, result);
  }

  /** Puts a query into the field and runs it. */
  search(query: string): void {
    this.#box?.set(query);
    this.#showHelp = false;
    if (query.trim() !== "") this.#keep(query);
    run(this.session.submit(query));
  }

  focusBox(): void {
    this.#box?.focus(true);
  }

  /** Settings changed: draw again with them. What was chosen for this search alone stays. */
  settingsChanged(): void {
    const { limit, mode, rerank } = this.context.settings;
    const applied = this.#applied;
    const changes = {
      ...(limit === applied.limit ? {} : { limit }),
      ...(mode === applied.mode ? {} : { mode }),
      ...(rerank === applied.rerank ? {} : { rerank }),
    };
    this.#applied = { limit, mode, rerank };
    if (Object.keys(changes).length > 0) run(this.session.change(changes));
    else this.show(this.session.state);
  }

  /** Another language: everything is drawn anew. */
  languageChanged(): void {
    this.#draw();
    this.#situationChanged();
    this.show(this.session.state);
  }

  #draw(): void {
    const { contentEl } = this;
    contentEl.empty();
    contentEl.addClass("sidelight-view");
    this.#drawToolbar(contentEl.createDiv({ cls: "nav-header" }));
    const row = contentEl.createDiv({ cls: "search-row sidelight-search-row" });
    this.#box = new SearchBox(
      row,
      {
        typed: (text) => this.#typed(text),
        submitted: (text) => this.#submitted(text),
        down: () => this.list?.focusFirst() ?? false,
        acted: (event) => this.#actOnFirst(event),
        history: () => this.context.device.history,
      },
      this,
    );
    this.#box.set(this.session.state.question.text);
    this.#chips = contentEl.createDiv({ cls: "sidelight-chips" });
    this.#banners = new Banners(contentEl.createDiv(), (action) =>
      performBannerAction(this.context, action),
    );
    this.#info = contentEl.createDiv({ cls: "sidelight-info" });
    this.#info.setAttribute("aria-live", "polite");
    this.#answerEl = contentEl.createDiv({ cls: "search-result-container sidelight-answer" });
    const results = this.#answerEl.createDiv();
    const actions = actionsFor(this.context, {
      source: SEARCH_VIEW,
      owner: this,
      gone: (result) => this.list?.markGone(result.ref),
      leave: () => this.#box?.focus(),
      opened: () => this.#keep(this.session.state.question.text),
      moreOfNote: (path) => run(this.session.change({ scope: { kind: "note", path } })),
      asked: () => {
        const { answer, question } = this.session.state;
        return {
          query: answer?.question.text ?? question.text,
          snapshot: answer?.result.index.snapshot ?? "",
        };
      },
    });
    this.list = new ResultList(results, actions, this);
    this.#shown = "";
  }

  #drawToolbar(header: HTMLElement): void {
    this.#toolbar = new SearchToolbar(header, this.context, {
      toggleCollapsed: () => {
        this.list?.setAllCollapsed(!this.list.allCollapsed);
        this.#toolbar?.show(this.list?.allCollapsed ?? false);
      },
      saveSearch: () => this.#saveSearch(),
      copyResults: () => this.#copyResults(),
      toggleHelp: () => {
        this.#showHelp = !this.#showHelp;
        this.show(this.session.state);
      },
    });
  }

  #typed(text: string): void {
    this.#showHelp = false;
    this.session.type(text);
  }

  #submitted(text: string): void {
    const { question, phase, answer } = this.session.state;
    this.#keep(text);
    const unchanged = phase === "answered" && answer?.question.text === text;
    // A second Enter on the same query goes to the first result, as in a browser's address bar.
    if (unchanged && question.text === text && this.list?.focusFirst()) return;
    run(this.session.submit(text));
  }

  #actOnFirst(event: KeyboardEvent): boolean {
    const result = this.list?.firstResult();
    if (result === null || result === undefined) return false;
    if (event.altKey) insertLink(this.app, result);
    else run(openResult(this.app, this.context.service, result, "tab"));
    return true;
  }

  #keep(query: string): void {
    if (query.trim() !== "")
      this.context.device.history = remember(this.context.device.history, query);
    this.app.workspace.requestSaveLayout();
  }

  #situationChanged(): void {
    const { service } = this.context;
    this.#banners?.render(bannersFor(service.situation));
    const { ready } = service;
    const reconnected = ready && !this.#wasReady;
    this.#wasReady = ready;
    if (reconnected) run(this.session.refresh());
  }

  private refreshSoon(): void {
    if (this.refreshTimer !== null || !this.contentEl.isShown()) return;
    this.refreshTimer = window.setTimeout(() => {
      this.refreshTimer = null;
      run(this.session.refresh());
    }, REFRESH_MS);
  }

  private show(state: SearchState): void {
    const [answerEl, list, info] = [this.#answerEl, this.list, this.#info];
    if (answerEl === null || list === null || info === null) return;
    this.contentEl.toggleClass("is-searching", state.phase === "searching");
    if (this.#chips !== null)
      drawChips(
        this.#chips,
        state,
        () => this.app.workspace.getActiveFile(),
        (changes) => run(this.session.change(changes)),
      );
    if (state.phase === "searching" && state.answer !== null) return; // the old list stays
    if (state.answer?.question.text !== this.#judgedText) list.forgetVerdicts();
    this.#judgedText = state.answer?.question.text ?? "";
    info.setText(infoText(state));
    info.toggle(info.textContent !== "");
    info.toggleClass("sidelight-error", state.phase === "failed");
    for (const extra of answerEl.findAll(":scope > .sidelight-extra")) extra.remove();
    this.#showList(state);
    this.#showExtra(state, answerEl.createDiv({ cls: "sidelight-extra" }));
    this.#toolbar?.show(list.allCollapsed);
    if (this.#scrollOnce !== null && state.phase === "answered") {
      answerEl.scrollTop = this.#scrollOnce;
      this.#scrollOnce = null;
    }
  }

  #showList(state: SearchState): void {
    const { settings } = this.context;
    const result = state.phase === "empty" || this.#showHelp ? null : state.answer?.result;
    const groups =
      result?.status === "no_evidence"
        ? { ...NO_GROUPS, direct: this.#showNear ? byNote(result.near_misses) : [] }
        : groupResults(
            result?.results ?? [],
            settings.sort,
            (path) => {
              return this.app.vault.getFileByPath(path)?.stat.mtime ?? 0;
            },
            state.answer?.late,
          );
    // The same answer again, as after a change elsewhere: nothing moves under the mouse, and
    // selected text stays selected.
    const { fullPassages, showChannels } = settings;
    const shown = JSON.stringify([this.#judgedText, groups, fullPassages, showChannels]);
    if (shown !== this.#shown) this.list?.render(groups, settings);
    this.#shown = shown;
  }

  #showExtra(state: SearchState, extra: HTMLElement): void {
    const answerEl = this.#answerEl;
    if (this.#showHelp) {
      drawSyntax(extra, (query) => this.search(query));
      return;
    }
    if (state.phase === "empty") {
      this.#showNear = false;
      drawEmpty(extra, this.context.device.history, this.context.settings.saved, {
        search: (query) => this.search(query),
        forgetHistory: () => {
          this.context.device.history = [];
          this.show(this.session.state);
        },
        removeSaved: (saved) => {
          const { settings } = this.context;
          settings.saved = settings.saved.filter((entry) => entry !== saved);
          run(this.context.saveSettings());
        },
      });
      return;
    }
    const result = state.answer?.result;
    if (result?.status !== "no_evidence") return;
    answerEl?.prepend(extra);
    if (this.#showNear) {
      extra.createDiv({ cls: "sidelight-part", text: t("noEvidence.nearTitle") });
      extra.createDiv({ cls: "sidelight-note", text: t("noEvidence.nearNote") });
      return;
    }
    const { scope, text } = state.question;
    drawNoEvidence(extra, result, {
      showNearMisses: () => {
        this.#showNear = true;
        this.show(this.session.state);
      },
      createNote: () => run(createNote(this.app, text)),
      widen:
        scope.kind === "vault"
          ? null
          : () => run(this.session.change({ scope: { kind: "vault" } })),
    });
  }

  #copyResults(): void {
    const { answer } = this.session.state;
    if (answer === null || answer.result.results.length === 0) new Notice(t("copy.nothing"));
    else run(copyList(this.app, answer.question.text, answer.result.results));
  }

  #saveSearch(): void {
    const query = this.session.state.question.text.trim();
    const { settings } = this.context;
    if (query === "") {
      new Notice(t("save.nothing"));
      return;
    }
    if (!settings.saved.some((entry) => entry.query === query))
      settings.saved = [...settings.saved, { name: query, query }];
    run(this.context.saveSettings());
    new Notice(t("save.done", { query }));
  }
}

function infoText({ phase, failure, answer }: SearchState): string {
  if (phase === "failed" && failure !== null) return inOneLine(failure);
  if (phase === "searching") return t("info.searching");
  if (phase !== "answered" || answer === null || answer.result.status !== "ok") return "";
  const { results } = answer.result;
  const notes = new Set(results.map(({ source, path }) => `${source}\n${path}`)).size;
  const count = t("info.count", { n: results.length, notes });
  const waiting = waitingFor(answer.result);
  if (waiting.length === 0) return count;
  return `${count} · ${t("info.waiting", { sources: waiting.join(t("list.comma")) })}`;
}

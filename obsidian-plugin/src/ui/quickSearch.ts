// A switcher that takes a query and shows cited passages right there.
import { Keymap, Platform, setIcon, SuggestModal } from "obsidian";
import type { Result } from "../bridge/protocol";
import { BridgeFailure, failureOf, inOneLine } from "../core/failure";
import { groupResults, shownHeadings } from "../core/grouping";
import { t } from "../core/i18n";
import { lineRange } from "../core/links";
import { DEBOUNCE_MS } from "../core/search";
import { OWN } from "../core/sources";
import { segmentsOf } from "../core/segments";
import { hasTable, tidied } from "../core/tidy";
import { run } from "./run";
import type { Context } from "./context";
import { insertLink } from "./linking";
import { openResult } from "./openPassage";

const LIMIT = 12;

export class QuickSearchModal extends SuggestModal<Result> {
  #running: AbortController | null = null;

  /** @param inserts whether Enter inserts a link instead of opening the passage. */
  constructor(
    private readonly context: Context,
    private readonly inserts = false,
  ) {
    super(context.app);
    this.limit = LIMIT;
    this.modalEl.addClass("sidelight-quick");
    this.setPlaceholder(t("search.placeholder"));
    this.setInstructions([
      { command: "↑↓", purpose: t("quick.move") },
      { command: "↵", purpose: t(inserts ? "quick.insert" : "quick.open") },
      { command: Platform.isMacOS ? "⌘ ↵" : "ctrl ↵", purpose: t("quick.openTab") },
      ...(inserts ? [] : [{ command: "alt ↵", purpose: t("quick.insert") }]),
    ]);
    this.scope.register(["Mod"], "Enter", (event) => this.#choose(event));
    this.scope.register(["Alt"], "Enter", (event) => this.#choose(event));
  }

  override async getSuggestions(query: string): Promise<Result[]> {
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    if (query.trim() === "") return [];
    await new Promise((resolve) => window.setTimeout(resolve, DEBOUNCE_MS));
    if (controller.signal.aborted) return [];
    const { settings, service } = this.context;
    const question = {
      text: query,
      mode: settings.mode,
      scope: { kind: "vault" } as const,
      limit: LIMIT,
      rerank: settings.rerank,
      source: OWN, // it is for going to a note
      dig: false,
    };
    try {
      const { results } = await service.search(question, true, controller.signal);
      this.emptyStateText = t("noEvidence.title");
      const { direct, linked } = groupResults(results, "relevance", () => 0);
      return [...direct, ...linked].flatMap((group) => group.passages);
    } catch (error) {
      if (!(error instanceof BridgeFailure && error.code === "CANCELLED"))
        this.emptyStateText = inOneLine(failureOf(error));
      return [];
    }
  }

  override renderSuggestion(result: Result, el: HTMLElement): void {
    el.addClass("mod-complex");
    const content = el.createDiv({ cls: "suggestion-content" });
    const title = content.createDiv({ cls: "suggestion-title" });
    title.createSpan({ text: result.title });
    const headings = shownHeadings(result);
    if (headings.length > 0)
      title.createSpan({ cls: "sidelight-folder", text: headings.join(" › ") });
    const note = content.createDiv({ cls: "suggestion-note" });
    const shown = tidied(result.snippet, {
      heading: result.heading_path.at(-1) ?? "",
      isTable: hasTable(result.text),
    });
    for (const { text, marked } of segmentsOf(shown.text, shown.highlights))
      if (marked) note.createSpan({ cls: "suggestion-highlight", text });
      else note.appendText(text);
    const aux = el.createDiv({ cls: "suggestion-aux" });
    aux.createSpan({ cls: "suggestion-flair", text: lineRange(result.citation) });
    if (result.citation.status !== "fresh") setIcon(aux.createSpan(), "pencil-line");
  }

  override onChooseSuggestion(result: Result, event: MouseEvent | KeyboardEvent): void {
    const pane = Keymap.isModEvent(event);
    if (pane === false && (event.altKey || this.inserts)) {
      insertLink(this.app, result);
      return;
    }
    run(openResult(this.app, this.context.service, result, pane === true ? "tab" : pane));
  }

  override onClose(): void {
    this.#running?.abort();
    super.onClose();
  }

  #choose(event: KeyboardEvent): boolean {
    if (!event.isComposing) this.selectActiveSuggestion(event);
    return false;
  }
}

// Answers in words, by a model that the user named; every citation opens its live lines.
import { ItemView, type WorkspaceLeaf } from "obsidian";
import type { AskResult, Piece } from "../bridge/protocol";
import {
  askLine,
  AskSession,
  type AskState,
  citedPieces,
  endpointPlace,
  pieceLabel,
} from "../core/ask";
import { inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import { inReadersWords } from "../core/said";
import { bannersFor } from "../core/status";
import { run } from "./run";
import { reasonText } from "./answers";
import { performBannerAction } from "./bannerActions";
import { Banners } from "./banners";
import { ASK_VIEW, type Context, ICON } from "./context";
import { openNote, openResult } from "./openPassage";

export class AskView extends ItemView {
  readonly #session: AskSession;
  #banners: Banners | null = null;
  #box: HTMLTextAreaElement | null = null;
  #button: HTMLButtonElement | null = null;
  #where: HTMLElement | null = null;
  #line: HTMLElement | null = null;
  #answer: HTMLElement | null = null;
  #place = "";

  constructor(
    leaf: WorkspaceLeaf,
    private readonly context: Context,
  ) {
    super(leaf);
    this.icon = ICON;
    this.navigation = false;
    this.#session = new AskSession(
      (text, more, signal) => context.service.answer(text, more, signal),
      (state) => this.#show(state),
    );
  }

  override getViewType(): string {
    return ASK_VIEW;
  }

  override getDisplayText(): string {
    return t("view.ask");
  }

  override async onOpen(): Promise<void> {
    this.#draw();
    let wasReady = false;
    const follow = (): void => {
      this.#banners?.render(bannersFor(this.context.service.situation));
      const { ready } = this.context.service;
      if (ready && !wasReady) void this.#lookWhere();
      wasReady = ready;
    };
    this.register(this.context.service.watch(follow));
    follow();
  }

  override async onClose(): Promise<void> {
    this.#session.stop();
    this.contentEl.empty();
  }

  settingsChanged(): void {
    if (this.context.service.ready) void this.#lookWhere();
  }

  languageChanged(): void {
    this.#draw();
    this.#show(this.#session.state);
    this.settingsChanged();
  }

  #draw(): void {
    const { contentEl, context } = this;
    const typed = this.#box?.value ?? "";
    contentEl.empty();
    contentEl.addClass("sidelight-view", "sidelight-ask");
    this.#banners = new Banners(contentEl.createDiv(), (action) =>
      performBannerAction(context, action),
    );
    const form = contentEl.createDiv({ cls: "sidelight-ask-form" });
    this.#box = form.createEl("textarea", {
      attr: { rows: "3", placeholder: t("ask.placeholder"), "aria-label": t("view.ask") },
    });
    this.#box.value = typed;
    this.#box.addEventListener("keydown", (event) => {
      if (event.isComposing || event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      this.#submit();
    });
    this.#button = form.createEl("button", { cls: "mod-cta" });
    this.#button.addEventListener("click", () =>
      this.#session.state.phase === "running" ? this.#session.stop() : this.#submit(),
    );
    this.#where = contentEl.createDiv({ cls: "sidelight-info" });
    this.#line = contentEl.createDiv({ cls: "sidelight-info", attr: { role: "status" } });
    this.#answer = contentEl.createDiv({ cls: "sidelight-answer sidelight-ask-answer" });
    this.#sayWhere();
    this.#show(this.#session.state);
  }

  // Where text would go: told before anything is asked.
  async #lookWhere(): Promise<void> {
    try {
      const { settings } = await this.context.service.settings();
      this.#place = endpointPlace(settings.ask_endpoint);
    } catch (error) {
      // The connection went away meanwhile; its own banner tells that.
      console.debug("Sidelight: no settings", error);
      return;
    }
    this.#sayWhere();
  }

  #sayWhere(): void {
    const off = this.#place === "";
    this.#where?.setText(off ? t("ask.off") : t("ask.goesTo", { place: this.#place }));
    if (this.#box !== null) this.#box.disabled = off;
    if (this.#button !== null) this.#button.disabled = off;
  }

  #submit(): void {
    if (this.#place !== "" && this.#box !== null) run(this.#session.submit(this.#box.value));
  }

  #show(state: AskState): void {
    this.#button?.setText(t(state.phase === "running" ? "ask.stop" : "ask.submit"));
    this.#line?.setText(askLine(state));
    const answer = this.#answer;
    if (answer === null) return;
    answer.empty();
    if (state.failure !== null) answer.createDiv({ text: inOneLine(state.failure) });
    if (state.result !== null) this.#showResult(answer, state.result);
  }

  #showResult(parent: HTMLElement, result: AskResult): void {
    if (result.steps.length > 1) {
      const steps = parent.createEl("ul", { cls: "sidelight-ask-steps" });
      for (const { tool, asked, found } of result.steps)
        steps.createEl("li", {
          text: t("ask.step", { tool: t(`ask.tool.${tool}`), asked, found }),
        });
    }
    for (const sentence of result.sentences) {
      const line = parent.createEl("p", { text: `${sentence.text} ` });
      for (const number of sentence.citations) this.#citation(line, result, number);
      if (sentence.supported) continue;
      line.addClass("is-unsupported");
      line.createSpan({
        cls: "sidelight-ask-doubt",
        text: t("ask.unsupported"),
        attr: { title: t("ask.unsupported.tip") },
      });
    }
    for (const reason of result.reasons) parent.createDiv({ text: reasonText(reason) });
    if (result.missing !== "")
      parent.createDiv({ text: t("ask.missing", { what: result.missing }) });
    if (result.stopped !== "") parent.createDiv({ text: inReadersWords(result.stopped) });
    const cited = citedPieces(result);
    if (cited.length === 0) return;
    parent.createEl("h6", { text: t("ask.evidence") });
    const list = parent.createEl("ul", { cls: "sidelight-ask-evidence" });
    for (const piece of cited) {
      const button = list.createEl("li").createEl("button", { cls: "sidelight-ask-source" });
      button.setText(`[${piece.number}] ${pieceLabel(piece)}`);
      button.addEventListener("click", () => this.#open(piece));
    }
  }

  #citation(line: HTMLElement, result: AskResult, number: number): void {
    const piece = result.evidence[number - 1];
    if (piece === undefined) return;
    const button = line.createEl("button", {
      cls: "sidelight-ask-citation",
      text: `[${number}]`,
      attr: { "aria-label": pieceLabel(piece), title: pieceLabel(piece) },
    });
    button.addEventListener("click", () => this.#open(piece));
  }

  #open(piece: Piece): void {
    const { app } = this;
    if (piece.ref !== "" && piece.scope === "passage")
      run(openResult(app, this.context.service, piece));
    else {
      const { start_line: line } = piece.citation;
      run(openNote(app, piece.path, line === null ? null : { text: piece.text, line }));
    }
  }
}

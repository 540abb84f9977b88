// Dialogs: what was indexed, why a result, notes that could not be read, how to get a model.
import { Modal } from "obsidian";
import type { Result } from "../bridge/protocol";
import { diffText } from "../core/diff";
import { explain, percentOf } from "../core/explain";
import { failureOf, inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import { lineRange } from "../core/links";
import { inReadersWords } from "../core/said";
import type { Context } from "./context";
import { copy } from "./linking";
import { openNote } from "./openPassage";
import { run } from "./run";

/** The passage as it was indexed beside how it stands now. */
export class IndexedModal extends Modal {
  constructor(
    private readonly context: Context,
    private readonly result: Result,
  ) {
    super(context.app);
  }

  override onOpen(): void {
    this.setTitle(t("indexed.title"));
    this.modalEl.addClass("sidelight-modal");
    void this.#fill();
  }

  override onClose(): void {
    this.contentEl.empty();
  }

  async #fill(): Promise<void> {
    const { contentEl, result } = this;
    contentEl.createDiv({ cls: "sidelight-quiet", text: result.path });
    try {
      const [before, now] = await Promise.all([
        this.context.service.indexed(result.ref),
        this.context.service.resolve({ ref: result.ref }),
      ]);
      const gone = now.citation.status === "unresolvable";
      const then = lineRange(before) || t("lines.none");
      const here = gone ? t("indexed.gone") : lineRange(now.citation) || t("lines.none");
      contentEl.createDiv({
        cls: "sidelight-quiet",
        text: t("indexed.lines", { before: then, now: here }),
      });
      this.#drawDiff(before.text, gone ? "" : now.text);
    } catch (error) {
      contentEl.createDiv({ cls: "sidelight-error", text: inOneLine(failureOf(error)) });
    }
  }

  #drawDiff(before: string, now: string): void {
    const parts = diffText(before, now);
    const same = parts.every((part) => part.change === "same");
    if (same) this.contentEl.createDiv({ cls: "sidelight-note", text: t("indexed.same") });
    else {
      const legend = this.contentEl.createDiv({ cls: "sidelight-legend" });
      legend.createEl("del", { text: t("indexed.before") });
      legend.createEl("ins", { text: t("indexed.now") });
    }
    const box = this.contentEl.createDiv({ cls: "sidelight-diff" });
    for (const { change, text } of parts)
      if (change === "same") box.appendText(text);
      else box.createEl(change === "added" ? "ins" : "del", { text });
  }
}

/** Why a result is in the list, in words. */
export class WhyModal extends Modal {
  constructor(
    context: Context,
    private readonly result: Result,
  ) {
    super(context.app);
  }

  override onOpen(): void {
    const { contentEl, result } = this;
    this.setTitle(t("why.title"));
    this.modalEl.addClass("sidelight-modal");
    contentEl.createDiv({ cls: "sidelight-quiet", text: result.path });
    const list = contentEl.createEl("ul", { cls: "sidelight-why" });
    for (const sentence of explain(result)) list.createEl("li", { text: sentence });
    if (result.origin !== "direct") return;
    const share = `${percentOf(result)}%`;
    const meter = contentEl.createDiv({ cls: "sidelight-progress" });
    meter.setAttribute("role", "meter");
    meter.setAttribute("aria-label", t("why.meter", { percent: percentOf(result) }));
    meter.createDiv({ cls: "sidelight-progress-bar" }).setCssProps({ "--sidelight-share": share });
  }

  override onClose(): void {
    this.contentEl.empty();
  }
}

/** The notes that could not be indexed, and why. */
export class FailedNotesModal extends Modal {
  constructor(private readonly context: Context) {
    super(context.app);
  }

  override onOpen(): void {
    this.setTitle(t("failed.title"));
    this.modalEl.addClass("sidelight-modal");
    const notes = this.context.service.situation.index?.failed ?? [];
    this.contentEl.createEl("p", {
      text: notes.length === 0 ? t("failed.none") : t("failed.intro"),
    });
    for (const note of notes) {
      const row = this.contentEl.createDiv({ cls: "sidelight-failed" });
      const name = row.createEl("a", { text: note.path, attr: { tabindex: "0" } });
      name.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.isComposing) name.click();
      });
      name.addEventListener("click", () => {
        this.close();
        void openNote(this.app, note.path, null);
      });
      row.createDiv({ cls: "sidelight-quiet", text: inReadersWords(note.error ?? "") });
    }
  }

  override onClose(): void {
    this.contentEl.empty();
  }
}

/** A short text with a command to copy before its last paragraph. */
export class HelpModal extends Modal {
  constructor(
    context: Context,
    private readonly heading: string,
    private readonly paragraphs: readonly string[],
    private readonly command: string,
  ) {
    super(context.app);
  }

  override onOpen(): void {
    this.setTitle(this.heading);
    this.modalEl.addClass("sidelight-modal");
    const [last = "", ...first] = [...this.paragraphs].reverse();
    for (const text of first.reverse()) this.contentEl.createEl("p", { text });
    this.#drawCommand();
    this.contentEl.createEl("p", { text: last });
  }

  #drawCommand(): void {
    const row = this.contentEl.createDiv({ cls: "sidelight-command" });
    row.createEl("code", { text: this.command });
    const button = row.createEl("button", { text: t("action.copy") });
    button.addEventListener("click", () => run(copy(this.command)));
  }

  override onClose(): void {
    this.contentEl.empty();
  }
}

/** Asks before something that takes long or cannot be undone. */
export class ConfirmModal extends Modal {
  constructor(
    context: Context,
    private readonly heading: string,
    private readonly text: string,
    private readonly yes: string,
    private readonly confirmed: () => void,
  ) {
    super(context.app);
  }

  override onOpen(): void {
    this.setTitle(this.heading);
    this.contentEl.createEl("p", { text: this.text });
    const buttons = this.contentEl.createDiv({ cls: "modal-button-container" });
    const yes = buttons.createEl("button", { cls: "mod-cta", text: this.yes });
    yes.addEventListener("click", () => {
      this.close();
      this.confirmed();
    });
    const no = buttons.createEl("button", { text: t("action.cancel") });
    no.addEventListener("click", () => this.close());
  }

  override onClose(): void {
    this.contentEl.empty();
  }
}

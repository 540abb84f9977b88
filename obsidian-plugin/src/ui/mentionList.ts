// Draws missing links: names of other notes in this one, and of this one in others.
import { Keymap, setIcon, setTooltip } from "obsidian";
import type { MentionItem, MentionsResult } from "../bridge/protocol";
import { titleOf } from "../core/grouping";
import { t } from "../core/i18n";
import { segmentsOf } from "../core/segments";
import { run } from "./run";
import type { Context } from "./context";
import { linkMention } from "./mentionLinks";
import { openNote } from "./openPassage";

// More than this of one kind is a flood; the rest comes when these are linked.
export const MENTION_LIMIT = 20;

export class MentionList {
  #shown = "";

  constructor(
    private readonly container: HTMLElement,
    private readonly context: Context,
    private readonly linked: () => void,
  ) {
    container.addClass("sidelight-mentions");
  }

  clear(): void {
    this.#shown = "";
    this.container.empty();
  }

  fail(message: string): void {
    this.clear();
    this.container.createDiv({ cls: "sidelight-note sidelight-error", text: message });
  }

  /**
   * Replaces what is shown; nothing at all where no link is missing. The same again changes
   * nothing; else the focus stays on the same mention. The scroll position stays too, as nothing
   * here asks the browser for a layout while the list is empty.
   */
  render(found: MentionsResult, note: string): void {
    const shown = JSON.stringify([found, note]);
    if (shown === this.#shown) return;
    const focused = this.container.querySelector<HTMLElement>(":focus")?.dataset.mention;
    this.clear();
    this.#shown = shown;
    this.#part("inside", found.inside);
    this.#part("outside", found.outside);
    if (note !== "") this.container.createDiv({ cls: "sidelight-note", text: note });
    if (focused === undefined) return;
    const again = this.container.querySelector<HTMLElement>(
      `[data-mention="${CSS.escape(focused)}"]`,
    );
    again?.focus({ preventScroll: true });
  }

  #part(kind: "inside" | "outside", mentions: readonly MentionItem[]): void {
    if (mentions.length === 0) return;
    const title = this.container.createDiv({ cls: "sidelight-part", text: t(`mention.${kind}`) });
    setTooltip(title, t(`mention.${kind}.tip`));
    const list = this.container.createDiv({ cls: "sidelight-mention-list" });
    list.setAttribute("role", "list");
    list.setAttribute("aria-label", t(`mention.${kind}`));
    for (const mention of mentions) this.#row(list, kind, mention);
  }

  #row(list: HTMLElement, kind: "inside" | "outside", mention: MentionItem): void {
    const el = list.createDiv({ cls: "sidelight-mention" });
    el.setAttribute("role", "listitem");
    const path = kind === "inside" ? mention.target_path : mention.source_path;
    const open = el.createEl("button", { cls: "sidelight-plain sidelight-mention-open" });
    const head = open.createDiv({ cls: "sidelight-mention-head" });
    head.createSpan({ cls: "sidelight-title", text: titleOf(path) });
    const line = t("lines.one", { line: String(mention.line) });
    head.createSpan({ cls: "sidelight-lines", text: line });
    const snippet = open.createDiv({ cls: "sidelight-snippet" });
    snippet.setAttribute("dir", "auto");
    for (const { text, marked } of segmentsOf(mention.snippet.text, mention.snippet.highlights))
      if (marked) snippet.createSpan({ cls: "search-result-file-matched-text", text });
      else snippet.appendText(text);
    const key = `${mention.source_path} ${mention.target_path}`;
    open.dataset.mention = `open ${key}`;
    setTooltip(open, t("mention.open", { path: mention.source_path }));
    open.addEventListener("click", (event) => this.#open(mention, event));
    const link = el.createEl("button", { cls: "clickable-icon sidelight-mention-link" });
    link.dataset.mention = `link ${key}`;
    setIcon(link, "link");
    link.setAttribute("aria-label", t("mention.link", { note: titleOf(mention.target_path) }));
    link.addEventListener("click", () => run(this.#link(mention, el)));
  }

  #open(mention: MentionItem, event: MouseEvent): void {
    const pane = Keymap.isModEvent(event);
    const place = { text: mention.text, line: mention.line };
    run(openNote(this.context.app, mention.source_path, place, pane === true ? "tab" : pane));
  }

  // The row goes, and the list is asked for again.
  async #link(mention: MentionItem, el: HTMLElement): Promise<void> {
    const written = await linkMention(this.context.app, mention);
    this.linked();
    if (!written) return;
    this.#shown = "";
    const list = el.parentElement;
    const next = (el.nextElementSibling ?? el.previousElementSibling)?.lastElementChild;
    el.remove();
    (next as HTMLElement | null | undefined)?.focus();
    if (list?.childElementCount === 0) {
      list.previousElementSibling?.remove();
      list.remove();
    }
  }
}

// Draws groups of passages and carries the keyboard through them.
//
// Uses the class names of Obsidian's own search results, so that every theme fits; what is ours
// has the prefix `sidelight-`. All note text enters the page as text, never as markup.
import { type Component, Keymap, setIcon, setTooltip, type UserEvent } from "obsidian";
import type { FeedbackParams, Result } from "../bridge/protocol";
import { type Groups, NO_GROUPS, type NoteGroup } from "../core/grouping";
import { t } from "../core/i18n";
import { isOwn, nextVerdict, type Verdict } from "../core/sources";
import { drawPassageBody, type PassageHost, type PassageOptions } from "./passage";

export interface ResultListHost extends Omit<PassageHost, "judge"> {
  /** Opens a passage; `event` says in which pane. */
  open(result: Result, event: UserEvent): void;
  openNote(path: string, event: UserEvent): void;
  /** Keeps what someone says of a passage; null where nothing is asked. */
  judge: ((result: Result, verdict: FeedbackParams["verdict"]) => void) | null;
  insert(result: Result): void;
  copy(result: Result): void;
  preview(result: Result, target: HTMLElement, event: MouseEvent): void;
  dragText(result: Result): string;
  /** The keyboard leaves the list at its top. */
  leave(): void;
}

export type ListOptions = Omit<PassageOptions, "isGone" | "verdict">;

interface Row {
  el: HTMLElement;
  key: string;
  group: string;
  result: Result | null; // null: the header of a note, or of the weaker passages
}

// Takes the place of a path in the header of the weaker passages; no path looks like this.
const WEAKER = "/weaker/";

export class ResultList {
  #rows: Row[] = [];
  #groups: Groups = NO_GROUPS;
  #showWeaker = false;
  #options: ListOptions = { fullPassages: false, showChannels: true };
  readonly #collapsed = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #verdicts = new Map<string, Verdict>();

  constructor(
    private readonly container: HTMLElement,
    private readonly host: ResultListHost,
    owner: Component,
  ) {
    container.addClass("sidelight-results");
    container.setAttribute("role", "tree");
    container.setAttribute("aria-label", t("results.label"));
    owner.registerDomEvent(container, "keydown", (event) => this.#onKey(event));
  }

  /** Whether someone is at the list: what they look at must not move. */
  get isHeld(): boolean {
    return this.container.matches(":hover") || this.#focusedRow() !== null;
  }

  /** Another question: what was said of results was said to the one before. */
  forgetVerdicts(): void {
    this.#verdicts.clear();
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /**
   * Draws the groups; focus and collapsed notes stay as they were. So does the scroll position,
   * as nothing here asks the browser for a layout while the list is empty.
   */
  render(groups: Groups, options: ListOptions): void {
    const focused = this.#focusedRow()?.key;
    this.#groups = groups;
    this.#options = options;
    this.#rows = [];
    this.container.empty();
    for (const group of groups.direct) this.#drawGroup(this.container, group, "direct");
    if (groups.linked.length > 0) {
      const title = this.container.createDiv({ cls: "sidelight-part" });
      title.createSpan({ text: t("results.linked") });
      setTooltip(title, t("results.linked.tip"));
      for (const group of groups.linked) this.#drawGroup(this.container, group, "linked");
    }
    this.#drawWeaker(groups.weaker);
    if (groups.late.length > 0) {
      const title = this.container.createDiv({ cls: "sidelight-part" });
      title.createSpan({ text: t("results.late") });
      setTooltip(title, t("results.late.tip"));
      for (const group of groups.late) this.#drawGroup(this.container, group, "late");
    }
    const again = this.#rows.find((row) => row.key === focused);
    if (again !== undefined) again.el.focus({ preventScroll: true });
    this.#setTabStop(again ?? this.#rows[0]);
  }

  /** Puts the keyboard on the first row; false if there is none. */
  focusFirst(): boolean {
    const first = this.#visibleRows().find((row) => row.result !== null) ?? this.#rows[0];
    if (first === undefined) return false;
    this.#focus(first);
    return true;
  }

  firstResult(): Result | null {
    return this.#rows.find((row) => row.result !== null)?.result ?? null;
  }

  get allCollapsed(): boolean {
    const groups = this.#allGroups();
    return groups.length > 0 && groups.every((group) => this.#collapsed.has(group.key));
  }

  setAllCollapsed(collapsed: boolean): void {
    this.#collapsed.clear();
    if (collapsed) for (const group of this.#allGroups()) this.#collapsed.add(group.key);
    this.render(this.#groups, this.#options);
  }

  /** Shows that a passage was not found any more when it was opened. */
  markGone(ref: string): void {
    this.#gone.add(ref);
    this.render(this.#groups, this.#options);
  }

  #allGroups(): NoteGroup[] {
    const { direct, linked, weaker, late } = this.#groups;
    return [...direct, ...linked, ...(this.#showWeaker ? weaker : []), ...late];
  }

  #drawWeaker(groups: readonly NoteGroup[]): void {
    if (groups.length === 0) return;
    const count = groups.reduce((sum, group) => sum + group.passages.length, 0);
    const self = this.container.createDiv({
      cls: "tree-item-self is-clickable sidelight-weaker",
    });
    self.setAttribute("role", "treeitem");
    self.setAttribute("aria-level", "1");
    self.setAttribute("aria-expanded", String(this.#showWeaker));
    self.tabIndex = -1;
    drawArrow(self, !this.#showWeaker);
    self.createDiv({ cls: "tree-item-inner", text: t("results.weaker", { n: count }) });
    setTooltip(self, t("results.weaker.tip"));
    self.addEventListener("click", () => this.#toggle(WEAKER));
    this.#rows.push({ el: self, key: WEAKER, group: WEAKER, result: null });
    if (!this.#showWeaker) return;
    for (const group of groups) this.#drawGroup(this.container, group, "weaker");
  }

  #drawGroup(parent: HTMLElement, group: NoteGroup, part: string): void {
    const key = `${part}:${group.key}`;
    const isCollapsed = this.#collapsed.has(group.key);
    const item = parent.createDiv({ cls: "tree-item search-result" });
    item.toggleClass("is-collapsed", isCollapsed);
    const self = item.createDiv({ cls: "tree-item-self search-result-file-title is-clickable" });
    self.setAttribute("role", "treeitem");
    self.setAttribute("aria-level", "1");
    self.setAttribute("aria-expanded", String(!isCollapsed));
    self.tabIndex = -1;
    drawArrow(self, isCollapsed);
    const name = self.createDiv({ cls: "tree-item-inner" });
    name.createSpan({ cls: "sidelight-title", text: group.title });
    if (group.folder !== "") name.createSpan({ cls: "sidelight-folder", text: group.folder });
    if (!isOwn(group)) name.createSpan({ cls: "sidelight-source", text: group.source });
    setTooltip(name, group.path);
    const outer = self.createDiv({ cls: "tree-item-flair-outer" });
    outer.createSpan({ cls: "tree-item-flair", text: String(group.passages.length) });
    self.addEventListener("click", (event) => {
      if (Keymap.isModEvent(event) !== false) this.#openGroup(group, event);
      else this.#toggle(group.key);
    });
    this.#rows.push({ el: self, key, group: group.key, result: null });
    if (isCollapsed) return;
    const matches = item.createDiv({ cls: "search-result-file-matches" });
    matches.setAttribute("role", "group");
    for (const result of group.passages) this.#drawPassage(matches, group, result, key);
  }

  #drawPassage(parent: HTMLElement, group: NoteGroup, result: Result, key: string): void {
    const el = parent.createDiv({ cls: "search-result-file-match sidelight-passage" });
    el.setAttribute("role", "treeitem");
    el.setAttribute("aria-level", "2");
    el.dataset.ref = result.ref;
    el.tabIndex = -1;
    el.draggable = true;
    const judged = this.host.judge !== null;
    const judge = judged ? (said: Verdict): void => this.judge(result, said) : null;
    drawPassageBody(
      el,
      result,
      { ...this.host, judge },
      {
        ...this.#options,
        isGone: this.#gone.has(result.ref),
        verdict: this.#verdicts.get(result.ref),
      },
    );
    this.#listen(el, result);
    this.#rows.push({ el, key: `${key}#${result.ref}`, group: group.key, result });
  }

  #openGroup(group: NoteGroup, event: UserEvent): void {
    const [first] = group.passages;
    if (isOwn(group)) this.host.openNote(group.path, event);
    else if (first !== undefined) this.host.open(first, event);
  }

  /** Says whether a passage helped; a second time takes it back. */
  judge(result: Result, clicked: Verdict): void {
    if (this.host.judge === null) return;
    const verdict = nextVerdict(this.#verdicts.get(result.ref), clicked);
    if (verdict === "withdrawn") this.#verdicts.delete(result.ref);
    else this.#verdicts.set(result.ref, verdict);
    this.host.judge(result, verdict);
    this.render(this.#groups, this.#options);
  }

  #listen(el: HTMLElement, result: Result): void {
    el.addEventListener("click", (event) => this.host.open(result, event));
    el.addEventListener("auxclick", (event) => {
      if (event.button === 1) this.host.open(result, event);
    });
    el.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      this.host.menu(result, event);
    });
    el.addEventListener("mouseover", (event) => this.host.preview(result, el, event));
    el.addEventListener("focus", () => this.#setTabStop(this.#rows.find((row) => row.el === el)));
    el.addEventListener("dragstart", (event) => {
      event.dataTransfer?.setData("text/plain", this.host.dragText(result));
    });
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing || event.key === "Process") return;
    const row = this.#focusedRow();
    if (row === null) return;
    if (this.#perform(event, row)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #perform(event: KeyboardEvent, row: Row): boolean {
    const rows = this.#visibleRows();
    const index = rows.indexOf(row);
    const go = (target: Row | undefined): boolean => {
      if (target !== undefined) this.#focus(target);
      return true;
    };
    switch (event.key) {
      case "ArrowDown":
        return go(rows[index + 1]);
      case "ArrowUp":
        if (index <= 0) this.host.leave();
        return go(rows[index - 1]);
      case "Home":
        return go(rows[0]);
      case "End":
        return go(rows.at(-1));
      case "ArrowLeft":
        if (row.result !== null) return go(rows.find((r) => r.group === row.group && !r.result));
        if (!this.#isClosed(row.group)) this.#toggle(row.group);
        return true;
      case "ArrowRight":
        if (row.result === null && this.#isClosed(row.group)) this.#toggle(row.group);
        else if (row.result === null) return go(rows[index + 1]);
        return true;
      case "Enter":
        return this.#enter(event, row);
      case "Escape":
        this.host.leave();
        return true;
      case "ContextMenu":
        if (row.result !== null) this.host.menu(row.result, row.el);
        return true;
      case "F10":
        if (!event.shiftKey || row.result === null) return false;
        this.host.menu(row.result, row.el);
        return true;
      case "+":
      case "-":
        if (row.result === null || this.host.judge === null) return false;
        this.judge(row.result, event.key === "+" ? "helpful" : "unhelpful");
        return true;
      case "c":
        if (!Keymap.isModifier(event, "Mod") || row.result === null) return false;
        this.host.copy(row.result);
        return true;
      default:
        return false;
    }
  }

  #enter(event: KeyboardEvent, row: Row): boolean {
    if (row.result === null) {
      if (Keymap.isModEvent(event) === false || row.group === WEAKER) this.#toggle(row.group);
      else {
        const group = this.#allGroups().find(({ key }) => key === row.group);
        if (group !== undefined) this.#openGroup(group, event);
      }
    } else if (event.altKey && !event.ctrlKey && !event.metaKey) this.host.insert(row.result);
    else this.host.open(row.result, event);
    return true;
  }

  #isClosed(group: string): boolean {
    return group === WEAKER ? !this.#showWeaker : this.#collapsed.has(group);
  }

  #toggle(path: string): void {
    if (path === WEAKER) this.#showWeaker = !this.#showWeaker;
    else if (!this.#collapsed.delete(path)) this.#collapsed.add(path);
    this.render(this.#groups, this.#options);
  }

  #visibleRows(): Row[] {
    return this.#rows;
  }

  #focusedRow(): Row | null {
    const active = this.container.ownerDocument.activeElement;
    return this.#rows.find((row) => row.el === active) ?? null;
  }

  #focus(row: Row): void {
    this.#setTabStop(row);
    row.el.focus({ preventScroll: true });
    row.el.scrollIntoView({ block: "nearest" });
  }

  // One row is in the tab order: Tab enters the list where it was left.
  #setTabStop(row: Row | undefined): void {
    for (const other of this.#rows) other.el.tabIndex = other === row ? 0 : -1;
  }
}

function drawArrow(self: HTMLElement, isCollapsed: boolean): void {
  const arrow = self.createDiv({ cls: "tree-item-icon collapse-icon" });
  arrow.toggleClass("is-collapsed", isCollapsed);
  setIcon(arrow, "right-triangle");
}

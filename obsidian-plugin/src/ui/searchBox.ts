// The search field: typing, composing Chinese, history, paste.
import { type Component, SearchComponent } from "obsidian";
import { HistoryWalk } from "../core/history";
import { t } from "../core/i18n";

export interface SearchBoxHost {
  typed(text: string): void;
  submitted(text: string): void;
  /** The keyboard goes down into the results; false if there is nothing below. */
  down(): boolean;
  /** Alt+Enter and Mod+Enter act on the first result. */
  acted(event: KeyboardEvent): boolean;
  history(): readonly string[];
}

export class SearchBox {
  readonly input: HTMLInputElement;
  readonly #search: SearchComponent;
  readonly #walk: HistoryWalk;
  #composing = false;
  #setting = false; // the text changes by our own hand

  constructor(
    container: HTMLElement,
    private readonly host: SearchBoxHost,
    owner: Component,
  ) {
    this.#search = new SearchComponent(container);
    this.#search.setPlaceholder(t("search.placeholder"));
    this.input = this.#search.inputEl;
    this.input.setAttribute("aria-label", t("search.placeholder"));
    this.input.setAttribute("enterkeyhint", "search");
    this.input.spellcheck = false;
    this.#walk = new HistoryWalk(() => host.history());
    this.#search.onChange(() => this.#changed());
    owner.registerDomEvent(this.input, "compositionstart", () => (this.#composing = true));
    owner.registerDomEvent(this.input, "compositionend", () => {
      this.#composing = false;
      this.#changed();
    });
    owner.registerDomEvent(this.input, "keydown", (event) => this.#onKey(event));
  }

  get value(): string {
    return this.input.value;
  }

  /** Sets the text without telling the host. */
  set(text: string): void {
    this.#write(text);
    this.#walk.reset();
  }

  focus(select = false): void {
    this.input.focus();
    if (select) this.input.select();
  }

  #changed(): void {
    // While a pinyin candidate is being composed the field holds letters nobody searches for.
    if (this.#composing || this.#setting) return;
    this.#walk.reset();
    this.host.typed(this.input.value);
  }

  #onKey(event: KeyboardEvent): void {
    // "Process": the key belongs to the input method, also where `isComposing` is already false.
    if (event.isComposing || this.#composing || event.key === "Process") return;
    if (this.#perform(event)) event.preventDefault();
  }

  #write(text: string): void {
    this.#setting = true;
    this.#search.setValue(text);
    this.#setting = false;
  }

  #perform(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "Enter":
        if (event.altKey || event.ctrlKey || event.metaKey) return this.host.acted(event);
        this.host.submitted(this.input.value);
        return true;
      case "ArrowDown":
        return this.#walk.active ? this.#show(this.#walk.newer()) : this.host.down();
      case "ArrowUp":
        return this.#show(this.#walk.older(this.input.value));
      case "Escape":
        if (this.input.value === "") return false;
        this.set("");
        this.host.typed("");
        return true;
      default:
        return false;
    }
  }

  #show(entry: string | null): boolean {
    if (entry === null) return false;
    this.#write(entry);
    this.input.setSelectionRange(entry.length, entry.length);
    this.host.typed(entry);
    return true;
  }
}

// Obsidian's widgets as far as the plugin uses them: menus, dialogs, notices, fields, settings.
import { setIcon } from "./dom.js";

export const notices = [];

export class Notice {
  constructor(message) {
    this.message = String(message);
    notices.push(this.message);
    const host =
      document.querySelector(".notice-container") ?? document.body.createDiv("notice-container");
    const el = host.createDiv({ cls: "notice", text: this.message });
    setTimeout(() => el.remove(), 4000);
  }
}

class MenuItem {
  constructor(el) {
    this.el = el;
    this.icon = el.createDiv("menu-item-icon");
    this.title = el.createDiv("menu-item-title");
  }
  setTitle(title) {
    this.title.setText(title);
    return this;
  }
  setIcon(name) {
    setIcon(this.icon, name);
    return this;
  }
  setChecked(checked) {
    if (checked) setIcon(this.el.createDiv("menu-item-icon mod-checked"), "check");
    this.el.toggleClass("is-checked", checked === true);
    return this;
  }
  onClick(callback) {
    this.callback = callback;
    return this;
  }
}

export class Menu {
  constructor() {
    this.dom = document.createElement("div");
    this.dom.className = "menu";
    this.dom.setAttribute("role", "menu");
  }
  addItem(build) {
    const el = this.dom.createDiv({ cls: "menu-item", attr: { role: "menuitem", tabindex: "-1" } });
    const item = new MenuItem(el);
    build(item);
    el.addEventListener("click", (event) => {
      this.hide();
      item.callback?.(event);
    });
    return this;
  }
  addSeparator() {
    this.dom.createDiv("menu-separator");
    return this;
  }
  showAtMouseEvent(event) {
    return this.showAtPosition({ x: event.clientX, y: event.clientY });
  }
  showAtPosition({ x, y }) {
    document.querySelector(".menu")?.remove();
    document.body.append(this.dom);
    const { width, height } = this.dom.getBoundingClientRect();
    this.dom.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    this.dom.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    setTimeout(() => document.addEventListener("click", () => this.hide(), { once: true }));
    return this;
  }
  hide() {
    this.dom.remove();
  }
}

export class Scope {
  keys = [];
  register(modifiers, key, callback) {
    this.keys.push({ modifiers, key, callback });
  }
  handle(event) {
    const mod = event.ctrlKey || event.metaKey;
    const hit = this.keys.find(
      ({ modifiers, key }) =>
        key === event.key &&
        modifiers.includes("Mod") === mod &&
        modifiers.includes("Alt") === event.altKey,
    );
    if (hit === undefined) return false;
    if (hit.callback(event) === false) event.preventDefault();
    return true;
  }
}

export class Modal {
  constructor(app) {
    this.app = app;
    this.scope = new Scope();
    this.containerEl = document.createElement("div");
    this.containerEl.className = "modal-container";
    this.containerEl.createDiv("modal-bg").addEventListener("click", () => this.close());
    this.modalEl = this.containerEl.createDiv({ cls: "modal", attr: { role: "dialog" } });
    const close = this.modalEl.createDiv("modal-close-button");
    close.addEventListener("click", () => this.close());
    this.titleEl = this.modalEl.createDiv("modal-title");
    this.contentEl = this.modalEl.createDiv("modal-content");
  }
  setTitle(title) {
    this.titleEl.setText(title);
    return this;
  }
  open() {
    document.body.append(this.containerEl);
    this.onKey = (event) => {
      if (event.key === "Escape") this.close();
    };
    document.addEventListener("keydown", this.onKey);
    this.onOpen();
  }
  close() {
    document.removeEventListener("keydown", this.onKey);
    this.containerEl.remove();
    this.onClose();
  }
  onOpen() {}
  onClose() {}
}

export class SuggestModal extends Modal {
  limit = 100;
  emptyStateText = "No results found.";
  values = [];
  chosen = 0;
  asked = 0;

  constructor(app) {
    super(app);
    this.modalEl.className = "prompt";
    this.modalEl.replaceChildren();
    this.inputEl = this.modalEl
      .createDiv("prompt-input-container")
      .createEl("input", { cls: "prompt-input", type: "text" });
    this.resultContainerEl = this.modalEl.createDiv("prompt-results");
    this.instructionsEl = this.modalEl.createDiv("prompt-instructions");
    this.inputEl.addEventListener("input", () => this.ask());
    this.inputEl.addEventListener("keydown", (event) => this.key(event));
  }
  setPlaceholder(text) {
    this.inputEl.placeholder = text;
  }
  setInstructions(instructions) {
    for (const { command, purpose } of instructions) {
      const el = this.instructionsEl.createDiv("prompt-instruction");
      el.createSpan({ cls: "prompt-instruction-command", text: command });
      el.createSpan({ text: purpose });
    }
  }
  open() {
    super.open();
    this.inputEl.focus();
    this.ask();
  }
  async ask() {
    const asked = ++this.asked;
    const values = await this.getSuggestions(this.inputEl.value);
    if (asked !== this.asked) return;
    this.values = values.slice(0, this.limit);
    this.chosen = 0;
    this.resultContainerEl.replaceChildren();
    for (const value of this.values) {
      const el = this.resultContainerEl.createDiv("suggestion-item");
      this.renderSuggestion(value, el);
      el.addEventListener("click", (event) => this.selectSuggestion(value, event));
    }
    if (values.length === 0 && this.inputEl.value !== "")
      this.resultContainerEl.createDiv({ cls: "suggestion-empty", text: this.emptyStateText });
    this.mark();
  }
  mark() {
    this.resultContainerEl
      .findAll(".suggestion-item")
      .forEach((el, index) => el.toggleClass("is-selected", index === this.chosen));
  }
  key(event) {
    if (event.isComposing || this.scope.handle(event)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      this.chosen = Math.min(Math.max(this.chosen + step, 0), this.values.length - 1);
      this.mark();
    } else if (event.key === "Enter") this.selectActiveSuggestion(event);
  }
  selectActiveSuggestion(event) {
    const value = this.values[this.chosen];
    if (value !== undefined) this.selectSuggestion(value, event);
  }
  selectSuggestion(value, event) {
    this.close();
    this.onChooseSuggestion(value, event);
  }
}

export class SearchComponent {
  constructor(container) {
    this.containerEl = container.createDiv("search-input-container");
    this.inputEl = this.containerEl.createEl("input", { type: "search" });
    this.clearButtonEl = this.containerEl.createDiv("search-input-clear-button");
    this.inputEl.addEventListener("input", () => this.onChanged());
    this.clearButtonEl.addEventListener("click", () => {
      this.setValue("");
      this.onChanged();
      this.inputEl.focus();
    });
  }
  setPlaceholder(text) {
    this.inputEl.placeholder = text;
    return this;
  }
  setValue(text) {
    this.inputEl.value = text;
    return this;
  }
  onChange(callback) {
    this.changed = callback;
    return this;
  }
  onChanged() {
    this.changed?.(this.inputEl.value);
  }
}

export class PluginSettingTab {
  constructor(app, plugin) {
    this.app = app;
    this.plugin = plugin;
    this.settingItems = [];
  }
  update() {
    this.settingItems = this.getSettingDefinitions();
    if (this.modal?.containerEl.isConnected) this.draw();
  }
  show() {
    this.modal = new Modal(this.app);
    this.modal.modalEl.addClass("mod-settings");
    this.modal.open();
    this.update();
  }
  draw() {
    const { contentEl } = this.modal;
    contentEl.empty();
    for (const item of this.settingItems) this.drawItem(contentEl, item);
  }
  drawItem(parent, item) {
    if (item.type === "group") {
      parent.createDiv({ cls: "setting-item setting-item-heading", text: item.heading });
      for (const child of item.items) this.drawItem(parent, child);
      return;
    }
    const row = parent.createDiv({ cls: "setting-item" });
    if (item.control) row.dataset.key = item.control.key;
    const info = row.createDiv("setting-item-info");
    info.createDiv({ cls: "setting-item-name", text: item.name });
    info.createDiv({ cls: "setting-item-description", text: item.desc ?? "" });
    if (item.control) this.drawControl(row.createDiv("setting-item-control"), item.control);
    if (item.action && !isDisabled(item)) {
      row.addClass("mod-action");
      row.addEventListener("click", () => item.action(row, parent.children.length));
    }
  }
  drawControl(el, control) {
    const value = this.getControlValue(control.key);
    const set = (next) => this.setControlValue(control.key, next);
    let input;
    if (control.type === "dropdown") {
      input = el.createEl("select", "dropdown");
      for (const [name, text] of Object.entries(control.options))
        input.createEl("option", { value: name, text });
      input.value = value ?? "";
      input.addEventListener("change", () => set(input.value));
    } else if (control.type === "toggle") {
      input = el.createEl("input", { type: "checkbox" });
      input.checked = value === true;
      input.addEventListener("change", () => set(input.checked));
    } else if (control.type === "textarea") {
      input = el.createEl("textarea", { attr: { rows: String(control.rows) } });
      input.value = value ?? "";
      input.addEventListener("change", () => set(input.value));
    } else {
      const isNumber = control.type !== "text";
      input = el.createEl("input", {
        type: { slider: "range", number: "number" }[control.type] ?? "text",
      });
      for (const name of ["min", "max", "step", "placeholder"])
        if (control[name] !== undefined) input.setAttribute(name, control[name]);
      input.value = value ?? "";
      input.addEventListener("change", () => set(isNumber ? Number(input.value) : input.value));
    }
    input.disabled = isDisabled(control);
  }
}

function isDisabled({ disabled }) {
  return typeof disabled === "function" ? disabled() : disabled === true;
}

// Obsidian's workspace as far as the plugin uses it: leaves, views, an editor, the vault.
import { Notice } from "./components.js";
import { install } from "./dom.js";

export class Events {
  handlers = new Map();
  on(name, callback) {
    const list = this.handlers.get(name) ?? [];
    this.handlers.set(name, [...list, callback]);
    return { name, callback, owner: this };
  }
  offref({ name, callback }) {
    this.handlers.set(
      name,
      (this.handlers.get(name) ?? []).filter((one) => one !== callback),
    );
  }
  trigger(name, ...values) {
    for (const callback of this.handlers.get(name) ?? []) callback(...values);
  }
}

export class Component {
  cleanups = [];
  register(cleanup) {
    this.cleanups.push(cleanup);
  }
  registerEvent(ref) {
    this.register(() => ref.owner.offref(ref));
  }
  registerDomEvent(el, name, callback, options) {
    el.addEventListener(name, callback, options);
    this.register(() => el.removeEventListener(name, callback, options));
  }
  unload() {
    for (const cleanup of this.cleanups.splice(0)) cleanup();
  }
}

export class TFile {
  constructor(path, mtime) {
    this.path = path;
    this.name = path.slice(path.lastIndexOf("/") + 1);
    this.extension = this.name.slice(this.name.lastIndexOf(".") + 1);
    this.basename = this.name.slice(0, -this.extension.length - 1);
    this.stat = { mtime, ctime: mtime, size: 0 };
  }
}

export class FileSystemAdapter {
  constructor(basePath) {
    this.basePath = basePath;
  }
  getBasePath() {
    return this.basePath;
  }
}

/** The vault: names are known at once, contents are read from disk through Node. */
export class Vault {
  files = new Map();
  configDir = ".obsidian";

  constructor(basePath, node) {
    this.node = node;
    this.adapter = new FileSystemAdapter(basePath);
  }
  async rescan() {
    const listing = await this.node("listVault");
    this.files = new Map(listing.map(([path, mtime]) => [path, new TFile(path, mtime)]));
  }
  getFileByPath(path) {
    return this.files.get(path) ?? null;
  }
  getAbstractFileByPath(path) {
    return this.getFileByPath(path);
  }
  read(file) {
    return this.node("readVault", file.path);
  }
  async process(file, change) {
    const text = change(await this.read(file));
    await this.node("writeVault", file.path, text);
    return text;
  }
  async create(path, content) {
    await this.node("writeVault", path, content);
    const file = new TFile(path, Date.now());
    this.files.set(path, file);
    return file;
  }
}

/** A text editor with lines and one selection, drawn plainly. */
export class Editor {
  lines = [""];
  from = { line: 0, ch: 0 };
  to = { line: 0, ch: 0 };
  scrolledTo = null;

  constructor(el, changed) {
    this.el = el;
    this.changed = changed;
  }
  load(text) {
    this.lines = text.split(/\r\n|\n|\r/);
    this.from = this.to = { line: 0, ch: 0 };
    this.draw();
  }
  setValue(text) {
    this.load(text);
    this.changed();
  }
  getValue() {
    return this.lines.join("\n");
  }
  lineCount() {
    return this.lines.length;
  }
  getLine(line) {
    return this.lines[line] ?? "";
  }
  getCursor() {
    return this.to;
  }
  setSelection(from, to) {
    [this.from, this.to] = [from, to];
    this.draw();
  }
  getSelection() {
    const { from, to, lines } = this;
    if (from.line === to.line) return lines[from.line].slice(from.ch, to.ch);
    const inner = lines.slice(from.line + 1, to.line);
    return [lines[from.line].slice(from.ch), ...inner, lines[to.line].slice(0, to.ch)].join("\n");
  }
  replaceRange(text, from, to) {
    this.setSelection(from, to);
    this.replaceSelection(text);
  }
  replaceSelection(text) {
    const { from, to, lines } = this;
    const joined = lines[from.line].slice(0, from.ch) + text + lines[to.line].slice(to.ch);
    lines.splice(from.line, to.line - from.line + 1, ...joined.split("\n"));
    const end = { line: from.line, ch: from.ch + text.length };
    this.setSelection(end, end);
    this.changed();
  }
  scrollIntoView({ from }) {
    this.scrolledTo = from.line;
    this.el.children[from.line]?.scrollIntoView({ block: "center" });
  }
  focus() {
    this.el.focus();
  }
  draw() {
    const { from, to } = this;
    const empty = from.line === to.line && from.ch === to.ch;
    this.el.replaceChildren();
    this.lines.forEach((text, line) => {
      const row = this.el.createDiv("cm-line");
      row.toggleClass("mod-heading", /^#{1,6} /.test(text));
      if (empty || line < from.line || line > to.line) return row.setText(text || "\u200b");
      const start = line === from.line ? from.ch : 0;
      const end = line === to.line ? to.ch : text.length;
      row.createSpan({ text: text.slice(0, start) });
      row.createSpan({ cls: "cm-selected", text: text.slice(start, end) || "\u200b" });
      row.createSpan({ text: text.slice(end) });
      return row;
    });
  }
}

export class View extends Component {
  constructor(leaf) {
    super();
    this.leaf = leaf;
    this.app = leaf.app;
    this.containerEl = document.createElement("div");
    this.containerEl.className = "workspace-leaf-content";
  }
  getState() {
    return {};
  }
  async setState() {}
  async onOpen() {}
  async onClose() {}
}

export class ItemView extends View {
  constructor(leaf) {
    super(leaf);
    this.contentEl = this.containerEl.createDiv("view-content");
  }
}

export class MarkdownView extends View {
  file = null;
  mode = "source";
  ephemeral = [];

  constructor(leaf) {
    super(leaf);
    this.containerEl.dataset.type = "markdown";
    this.titleEl = this.containerEl.createDiv("view-header-title");
    this.contentEl = this.containerEl.createDiv({ cls: "cm-content", attr: { tabindex: "0" } });
    const changed = () => this.app.workspace.trigger("editor-change", this.editor, this);
    this.editor = new Editor(this.contentEl, changed);
  }
  getViewType() {
    return "markdown";
  }
  getMode() {
    return this.mode;
  }
  getViewData() {
    return this.editor.getValue();
  }
  setEphemeralState(state) {
    this.ephemeral.push(state);
    if (state.line !== undefined) this.editor.scrollIntoView({ from: { line: state.line } });
  }
  async load(file) {
    const text = await this.app.vault.read(file);
    this.file = file;
    this.titleEl.setText(file.basename);
    this.editor.load(text.replace(/^\ufeff/, ""));
  }
  async save() {
    await this.app.vault.node("writeVault", this.file.path, this.getViewData());
  }
}

class EmptyView extends View {
  getViewType() {
    return "empty";
  }
}

export class WorkspaceLeaf {
  isDeferred = false;

  constructor(app, host) {
    this.app = app;
    this.host = host;
    this.view = new EmptyView(this);
  }
  async openView(view) {
    this.view.containerEl.remove();
    await this.view.onClose();
    this.view.unload();
    this.view = view;
    view.containerEl.dataset.type = view.getViewType();
    this.host.append(view.containerEl);
    await view.onOpen();
  }
  async openFile(file) {
    if (!(this.view instanceof MarkdownView)) await this.openView(new MarkdownView(this));
    await this.view.load(file);
    this.app.workspace.setActiveLeaf(this);
    this.app.workspace.trigger("file-open", file);
  }
  getViewState() {
    const file = this.view.file?.path;
    return { type: this.view.getViewType(), state: file === undefined ? {} : { file } };
  }
  async loadIfDeferred() {}
}

/** The last active leaf of the main area counts as recent; the sidebar never does. */
export class Workspace extends Events {
  leaves = [];
  factories = new Map();
  recent = null;
  active = null;

  constructor(app) {
    super();
    this.app = app;
  }
  newLeaf(host) {
    const leaf = new WorkspaceLeaf(this.app, host);
    this.leaves.push(leaf);
    return leaf;
  }
  getLeaf(pane) {
    const open = this.recent?.view.navigation === false ? null : this.recent;
    if (pane === false && open !== null) return open;
    const main = document.querySelector(".mod-root");
    return this.newLeaf(main.createDiv("workspace-leaf"));
  }
  async ensureSideLeaf(type, side, { active } = {}) {
    let leaf = this.leaves.find((one) => one.view.getViewType() === type);
    if (leaf === undefined) {
      leaf = this.newLeaf(document.querySelector(`.mod-${side}-split`).createDiv("workspace-leaf"));
      await leaf.openView(this.factories.get(type)(leaf));
    }
    this.revealLeaf(leaf);
    if (active) this.setActiveLeaf(leaf);
    return leaf;
  }
  /** A window of its own for a leaf, as Obsidian's pop-out windows. */
  async moveLeafToPopout(leaf) {
    const popout = window.open("about:blank", "_blank", "width=420,height=700");
    install(popout);
    for (const style of document.querySelectorAll("link[rel=stylesheet]")) {
      const copy = popout.document.createElement("link");
      Object.assign(copy, { rel: "stylesheet", href: style.href });
      popout.document.head.append(copy);
    }
    popout.document.body.className = `${document.body.className} is-popout-window`;
    popout.document.body.append(leaf.host);
    [window.activeWindow, window.activeDocument] = [popout, popout.document];
    this.trigger("window-open", {}, popout);
  }
  /** Moves a leaf into another area: "left", "right" or "root". */
  moveLeaf(leaf, area) {
    const host = document.querySelector(area === "root" ? ".mod-root" : `.mod-${area}-split`);
    host.append(leaf.host);
  }
  async revealLeaf(leaf) {
    for (const other of this.leaves)
      if (other !== leaf && other.host.parentElement === leaf.host.parentElement) other.host.hide();
    leaf.host.show();
  }
  setActiveLeaf(leaf) {
    this.active = leaf;
    if (leaf.host.closest(".mod-root")) this.recent = leaf;
    this.trigger("active-leaf-change", leaf);
  }
  getMostRecentLeaf() {
    return this.recent;
  }
  getActiveFile() {
    return this.recent?.view.file ?? null;
  }
  getActiveViewOfType(type) {
    return this.active?.view instanceof type ? this.active.view : null;
  }
  getLeavesOfType(type) {
    return this.leaves.filter((leaf) => leaf.view.getViewType() === type);
  }
  iterateAllLeaves(callback) {
    this.leaves.forEach(callback);
  }
  onLayoutReady(callback) {
    queueMicrotask(callback);
  }
  requestSaveLayout() {}
}

const HEADING = /^(#{1,6}) +(.+?)\s*#*$/;
const BLOCK_ID = /(?:^|\s)\^([A-Za-z0-9-]+)$/;

/** Headings, block ids and links of a note, from its text by plain patterns. */
export class MetadataCache {
  texts = new Map();
  resolvedLinks = {};

  getCache(path) {
    const text = this.texts.get(path);
    if (text === undefined) return null;
    const headings = [];
    const blocks = {};
    text.split(/\r\n|\n|\r/).forEach((content, line) => {
      const position = { start: { line }, end: { line } };
      const heading = HEADING.exec(content);
      if (heading) headings.push({ heading: heading[2], level: heading[1].length, position });
      const block = BLOCK_ID.exec(content);
      if (block) blocks[block[1]] = { id: block[1], position };
    });
    return { headings, blocks };
  }
  getFileCache(file) {
    return this.getCache(file.path);
  }
}

export class App {
  constructor(basePath, node) {
    this.vault = new Vault(basePath, node);
    this.metadataCache = new MetadataCache();
    this.workspace = new Workspace(this);
    this.fileManager = {
      generateMarkdownLink: (file, _source, subpath = "", alias = "") =>
        `[[${file.basename}${subpath}${alias && `|${alias}`}]]`,
      getNewFileParent: () => ({ path: "/" }),
    };
    this.setting = {
      open: () => undefined,
      openTabById: () => this.plugin.tabs[0].show(),
    };
    this.storage = new Map();
  }
  loadLocalStorage(key) {
    return this.storage.get(key) ?? null;
  }
  saveLocalStorage(key, value) {
    if (value === null) this.storage.delete(key);
    else this.storage.set(key, value);
  }
}

export class Plugin extends Component {
  commands = [];
  tabs = [];
  protocols = new Map();
  hoverSources = new Map();

  constructor(app, manifest) {
    super();
    this.app = app;
    this.manifest = manifest;
    app.plugin = this;
  }
  async loadData() {
    return this.data ?? null;
  }
  async saveData(data) {
    this.data = structuredClone(data);
  }
  addCommand(command) {
    this.commands.push(command);
    return command;
  }
  addRibbonIcon(icon, title, callback) {
    this.ribbon = { icon, title, callback };
  }
  addStatusBarItem() {
    return document.querySelector(".status-bar").createDiv("status-bar-item");
  }
  addSettingTab(tab) {
    this.tabs.push(tab);
    tab.update();
  }
  registerView(type, factory) {
    this.app.workspace.factories.set(type, factory);
  }
  registerHoverLinkSource(id, info) {
    this.hoverSources.set(id, info);
  }
  registerObsidianProtocolHandler(name, handler) {
    this.protocols.set(name, handler);
  }
  notify(text) {
    return new Notice(text);
  }
}

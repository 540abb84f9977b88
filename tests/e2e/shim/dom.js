// The helpers that Obsidian adds to the page's own classes, and its icons.

function fill(el, options) {
  if (typeof options === "string") options = { cls: options };
  const { cls, text, attr, title, type, value, placeholder, href } = options ?? {};
  if (cls) el.classList.add(...[cls].flat().join(" ").split(/\s+/).filter(Boolean));
  if (text !== undefined) el.textContent = text;
  if (title !== undefined) el.title = title;
  if (type !== undefined) el.type = type;
  if (value !== undefined) el.value = value;
  if (placeholder !== undefined) el.placeholder = placeholder;
  if (href !== undefined) el.href = href;
  for (const [name, content] of Object.entries(attr ?? {})) el.setAttribute(name, content);
  return el;
}

/** Gives the elements of a window the helpers; every window has classes of its own. */
export function install(realm) {
  Object.assign(realm.Node.prototype, {
    createEl(tag, options, callback) {
      const el = fill(this.ownerDocument.createElement(tag), options);
      if (options?.prepend) this.prepend(el);
      else this.append(el);
      callback?.(el);
      return el;
    },
    createDiv(options, callback) {
      return this.createEl("div", options, callback);
    },
    createSpan(options, callback) {
      return this.createEl("span", options, callback);
    },
    empty() {
      this.replaceChildren();
    },
    detach() {
      this.remove();
    },
    appendText(text) {
      this.append(text);
    },
    instanceOf(type) {
      return this instanceof type;
    },
  });

  Object.assign(realm.Element.prototype, {
    setText(text) {
      this.textContent = text;
    },
    getText() {
      return this.textContent;
    },
    addClass(...names) {
      this.classList.add(...names);
    },
    removeClass(...names) {
      this.classList.remove(...names);
    },
    toggleClass(names, on) {
      for (const name of [names].flat()) this.classList.toggle(name, on);
    },
    hasClass(name) {
      return this.classList.contains(name);
    },
    setAttr(name, value) {
      this.setAttribute(name, value);
    },
    find(selector) {
      return this.querySelector(selector);
    },
    findAll(selector) {
      return [...this.querySelectorAll(selector)];
    },
  });

  Object.assign(realm.HTMLElement.prototype, {
    toggle(on) {
      this.style.display = on ? "" : "none";
    },
    show() {
      this.toggle(true);
    },
    hide() {
      this.toggle(false);
    },
    isShown() {
      return this.offsetParent !== null;
    },
    setCssProps(properties) {
      for (const [name, value] of Object.entries(properties)) this.style.setProperty(name, value);
    },
    setCssStyles(styles) {
      Object.assign(this.style, styles);
    },
  });
}

install(window);
window.activeDocument = document;
window.activeWindow = window;

const ICONS = window.__lucide;
const parsedIcons = new Map();

/** As Obsidian's `setIcon`: a Lucide icon by name; an unknown name is an error here. */
export function setIcon(el, name) {
  el.replaceChildren();
  const markup = name === "right-triangle" ? RIGHT_TRIANGLE : ICONS[name];
  if (markup === undefined) throw new Error(`there is no icon named ${name}`);
  if (!parsedIcons.has(name)) {
    const svg = new DOMParser().parseFromString(markup, "image/svg+xml").documentElement;
    svg.setAttribute("class", `svg-icon ${name === "right-triangle" ? "" : "lucide-"}${name}`);
    parsedIcons.set(name, svg);
  }
  el.append(el.ownerDocument.importNode(parsedIcons.get(name), true));
}

// Obsidian's own arrow of collapsible items.
const RIGHT_TRIANGLE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24" fill="currentColor"><path d="M8 5l9 7-9 7z"/></svg>';

export function setTooltip(el, text) {
  if (text === "") el.removeAttribute("aria-label");
  else el.setAttribute("aria-label", text);
}

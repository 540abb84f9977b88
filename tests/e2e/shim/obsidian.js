// The module "obsidian" for the browser test: our own writing, only what the plugin uses.
import * as components from "./components.js";
import { setIcon, setTooltip } from "./dom.js";
import * as workspace from "./workspace.js";

const Keymap = {
  isModifier: (event, modifier) =>
    ({ Mod: event.ctrlKey || event.metaKey, Alt: event.altKey, Shift: event.shiftKey })[modifier],
  isModEvent(event) {
    if (!event) return false;
    const mod = event.ctrlKey || event.metaKey || event.button === 1;
    if (!mod) return false;
    if (event.altKey) return event.shiftKey ? "window" : "split";
    return "tab";
  },
};

export const obsidian = {
  ...components,
  ...workspace,
  Keymap,
  Platform: { isDesktop: true, isMacOS: false, isWin: false },
  getLanguage: () => window.__setup.language,
  setIcon,
  setTooltip,
};

// The buttons above the search field: collapse, order, context, save, copy, help.
import { Menu, setIcon } from "obsidian";
import { t } from "../core/i18n";
import { type PluginSettings, SORTS } from "../settings";
import { run } from "./run";
import { showMenuAt } from "./showMenu";
import type { Context } from "./context";

export interface ToolbarHost {
  toggleCollapsed(): void;
  saveSearch(): void;
  copyResults(): void;
  toggleHelp(): void;
}

export class SearchToolbar {
  readonly #collapse: HTMLElement;
  readonly #full: HTMLElement;

  constructor(
    header: HTMLElement,
    private readonly context: Context,
    host: ToolbarHost,
  ) {
    const bar = header.createDiv({ cls: "nav-buttons-container" });
    this.#collapse = toolButton(bar, "chevrons-down-up", t("tool.collapse"), () =>
      host.toggleCollapsed(),
    );
    toolButton(bar, "arrow-up-narrow-wide", t("tool.sort"), (event) =>
      showMenuAt(sortMenu(context), event),
    );
    this.#full = toolButton(bar, "text", t("tool.context"), () => {
      change(context, { fullPassages: !context.settings.fullPassages });
    });
    toolButton(bar, "star", t("tool.save"), () => host.saveSearch());
    toolButton(bar, "copy", t("tool.copy"), () => host.copyResults());
    toolButton(bar, "help-circle", t("tool.help"), () => host.toggleHelp());
  }

  /** Shows what the two switches stand at. */
  show(allCollapsed: boolean): void {
    const { fullPassages } = this.context.settings;
    this.#full.toggleClass("is-active", fullPassages);
    this.#full.setAttribute("aria-pressed", String(fullPassages));
    setIcon(this.#collapse, allCollapsed ? "chevrons-up-down" : "chevrons-down-up");
    this.#collapse.setAttribute("aria-label", t(allCollapsed ? "tool.expand" : "tool.collapse"));
  }
}

function sortMenu(context: Context): Menu {
  const menu = new Menu();
  for (const sort of SORTS)
    menu.addItem((item) =>
      item
        .setTitle(t(`sort.${sort}`))
        .setChecked(context.settings.sort === sort)
        .onClick(() => change(context, { sort })),
    );
  return menu;
}

function change(context: Context, values: Partial<PluginSettings>): void {
  Object.assign(context.settings, values);
  run(context.saveSettings());
}

export function toolButton(
  bar: HTMLElement,
  icon: string,
  label: string,
  clicked: (event: MouseEvent) => void,
): HTMLElement {
  const el = bar.createEl("button", { cls: "clickable-icon nav-action-button" });
  setIcon(el, icon);
  el.setAttribute("aria-label", label);
  el.addEventListener("click", (event) => clicked(event));
  return el;
}

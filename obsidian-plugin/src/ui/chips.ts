// The chips below the search field: how and where is searched, and which filters the query has.
import { Menu, setIcon, setTooltip, type TFile } from "obsidian";
import type { SourceState } from "../bridge/protocol";
import { folderOf, titleOf } from "../core/grouping";
import { t } from "../core/i18n";
import { type Question, type Scope, scopeFilter, type SearchState } from "../core/search";
import { sourceLine, sourceName } from "../core/sources";
import { MODES } from "../settings";
import { showMenuAt } from "./showMenu";

type Change = (changes: Partial<Pick<Question, "mode" | "scope" | "source" | "dig">>) => void;

const SCOPE_ICONS = { vault: "vault", folder: "folder", note: "file-text" } as const;

// What was drawn last: the same again changes nothing, so that typing draws no chip twice.
const drawn = new WeakMap<HTMLElement, string>();

/**
 * Shows the chips; `active` tells, at click time, which note is open. The keyboard stays on the
 * chip where it is.
 */
export function drawChips(
  chips: HTMLElement,
  { question, answer, phase }: SearchState,
  active: () => TFile | null,
  change: Change,
): void {
  const { mode, scope } = question;
  const filters = phase === "empty" ? {} : (answer?.result.query.filters ?? {});
  const text = filterText(filters, scope);
  const sources = answer?.result.sources ?? [];
  const waiting = phase === "answered" && sources.some(({ state }) => state === "late");
  const signature = JSON.stringify([mode, scope, question.source, sources, waiting, text]);
  if (drawn.get(chips) === signature) return;
  drawn.set(chips, signature);
  const focused = [...chips.children].indexOf(chips.ownerDocument.activeElement as Element);
  chips.empty();
  chip(chips, "layers", t(`mode.${mode}`), t("chip.mode"), (event) =>
    showMenuAt(modeMenu(mode, change), event),
  );
  chip(chips, SCOPE_ICONS[scope.kind], scopeName(scope), t("chip.scope"), (event) =>
    showMenuAt(scopeMenu(scope, active(), change), event),
  );
  if (sources.length > 0 || question.source !== "") {
    const name = question.source === "" ? t("source.all") : sourceName(question.source);
    chip(chips, "library", waiting ? `${name} …` : name, t("chip.source"), (event) =>
      showMenuAt(sourceMenu(sources, question.source, change), event),
    );
  }
  if (text !== "") drawFilter(chips, text);
  (chips.children[focused] as HTMLElement | undefined)?.focus({ preventScroll: true });
}

function drawFilter(chips: HTMLElement, text: string): void {
  const el = chips.createSpan({ cls: "sidelight-chip mod-filter" });
  setIcon(el.createSpan({ cls: "sidelight-icon" }), "filter");
  el.createSpan({ text });
  setTooltip(el, t("chip.filter"));
}

function modeMenu(current: Question["mode"], change: Change): Menu {
  const menu = new Menu();
  for (const mode of MODES)
    menu.addItem((item) =>
      item
        .setTitle(`${t(`mode.${mode}`)} · ${t(`mode.${mode}.means`)}`)
        .setChecked(current === mode)
        .onClick(() => change({ mode })),
    );
  return menu;
}

function sourceMenu(sources: readonly SourceState[], current: string, change: Change): Menu {
  const menu = new Menu();
  menu.addItem((item) =>
    item
      .setTitle(t("source.all"))
      .setChecked(current === "")
      .onClick(() => change({ source: "" })),
  );
  for (const source of sources)
    menu.addItem((item) =>
      item
        .setTitle(sourceLine(source))
        .setChecked(current === source.name)
        .onClick(() => change({ source: source.name })),
    );
  menu.addSeparator();
  menu.addItem((item) =>
    item
      .setTitle(t("source.dig"))
      .setIcon("pickaxe")
      .onClick(() => change({ dig: true })),
  );
  return menu;
}

function scopeMenu(current: Scope, active: TFile | null, change: Change): Menu {
  const menu = new Menu();
  const scopes: Scope[] = [{ kind: "vault" }];
  if (active !== null) {
    const folder = folderOf(active.path);
    if (folder !== "") scopes.push({ kind: "folder", path: folder });
    scopes.push({ kind: "note", path: active.path });
  }
  for (const scope of scopes)
    menu.addItem((item) =>
      item
        .setTitle(scopeName(scope))
        .setIcon(SCOPE_ICONS[scope.kind])
        .setChecked(JSON.stringify(scope) === JSON.stringify(current))
        .onClick(() => change({ scope })),
    );
  return menu;
}

function scopeName(scope: Scope): string {
  if (scope.kind === "vault") return t("scope.vault");
  if (scope.kind === "folder") return t("scope.folder", { folder: scope.path });
  return t("scope.note", { note: titleOf(scope.path) });
}

// The filter as the daemon understood it; the scope's own part has its chip already.
function filterText(filters: Record<string, unknown>, scope: Scope): string {
  const { expression } = filters;
  if (typeof expression !== "string") return "";
  return expression.replace(scopeFilter(scope), "").trim();
}

function chip(
  parent: HTMLElement,
  icon: string,
  text: string,
  label: string,
  clicked: (event: MouseEvent) => void,
): void {
  const el = parent.createEl("button", { cls: "sidelight-chip" });
  setIcon(el.createSpan({ cls: "sidelight-icon" }), icon);
  el.createSpan({ cls: "sidelight-chip-text", text });
  setIcon(el.createSpan({ cls: "sidelight-icon" }), "chevron-down");
  el.setAttribute("aria-label", `${label}: ${text}`);
  el.setAttribute("aria-haspopup", "menu");
  el.addEventListener("click", clicked);
}

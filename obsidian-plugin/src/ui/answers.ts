// What stands below the search field when there is no list: help, and "no evidence".
import { setIcon } from "obsidian";
import type { Reason, SearchResult } from "../bridge/protocol";
import { withoutParts, wordsOf } from "../core/terms";
import { SYNTAX } from "../core/syntax";
import { lookUp, t } from "../core/i18n";
import type { SavedSearch } from "../settings";

export interface EmptyHost {
  search(query: string): void;
  forgetHistory(): void;
  removeSaved(saved: SavedSearch): void;
}

/** Recent and saved searches and the query syntax with working examples. */
export function drawEmpty(
  container: HTMLElement,
  recent: readonly string[],
  saved: readonly SavedSearch[],
  host: EmptyHost,
): void {
  if (saved.length > 0) {
    const part = section(container, t("empty.saved"));
    for (const entry of saved) {
      const row = chooser(part, "star", entry.name, () => host.search(entry.query));
      iconButton(row, "x", t("empty.removeSaved"), () => host.removeSaved(entry));
    }
  }
  if (recent.length > 0) {
    const part = section(container, t("empty.recent"));
    for (const query of recent.slice(0, 5))
      chooser(part, "history", query, () => host.search(query));
    const forget = part.createEl("button", { cls: "sidelight-plain", text: t("empty.forget") });
    forget.addEventListener("click", () => host.forgetHistory());
  }
  drawSyntax(section(container, t("empty.syntax")), (query) => host.search(query));
}

/** The operators of the query language, each an example that can be tried. */
export function drawSyntax(container: HTMLElement, search: (query: string) => void): void {
  const list = container.createDiv({ cls: "sidelight-syntax" });
  for (const { example, meaning } of SYNTAX) {
    const query = t(example);
    const button = list.createEl("button", { cls: "sidelight-plain" });
    button.createEl("code", { text: query });
    button.setAttribute("aria-label", t("empty.try", { query }));
    button.addEventListener("click", () => search(query));
    list.createDiv({ text: t(meaning) });
  }
}

export interface NoEvidenceHost {
  showNearMisses(): void;
  createNote(): void;
  widen: (() => void) | null; // null: the whole vault is searched already
}

/** "There is no evidence" as an answer: what was looked for, what the vault does not know. */
export function drawNoEvidence(
  container: HTMLElement,
  result: SearchResult,
  host: NoEvidenceHost,
): void {
  const el = container.createDiv({ cls: "sidelight-noevidence" });
  setIcon(el.createDiv({ cls: "sidelight-icon mod-large" }), "search-x");
  el.createDiv({ cls: "sidelight-noevidence-title", text: t("noEvidence.title") });
  const reasons = el.createEl("ul", { cls: "sidelight-reasons" });
  // Words that the vault does not know have their own line below.
  for (const reason of result.reasons.filter(({ kind }) => kind !== "unknown_words")) {
    const item = reasons.createEl("li", { text: reasonText(reason) });
    item.dataset.kind = reason.kind;
  }
  const { terms: searched, unknown_terms: unknown, text } = result.query;
  terms(el, t("noEvidence.looked"), wordsOf(searched, text), "");
  terms(el, t("noEvidence.unknown"), withoutParts(unknown), "mod-unknown");
  const actions = el.createDiv({ cls: "sidelight-banner-actions" });
  const count = result.near_misses.length;
  if (count > 0)
    button(actions, t("noEvidence.near", { n: count }), "near-misses", () => host.showNearMisses());
  if (host.widen !== null) button(actions, t("noEvidence.widen"), "widen", host.widen);
  button(actions, t("noEvidence.create"), "create-note", () => host.createNote());
}

/** A reason in the reader's language. */
export function reasonText(reason: Reason): string {
  const n = Number(/\d+/.exec(reason.message)?.[0] ?? 0);
  return lookUp(`reason.${reason.kind}`, { n }) ?? reason.message;
}

function terms(el: HTMLElement, label: string, words: readonly string[], cls: string): void {
  if (words.length === 0) return;
  const line = el.createDiv({ cls: "sidelight-terms" });
  line.createSpan({ cls: "sidelight-quiet", text: label });
  for (const word of words) line.createSpan({ cls: `sidelight-term ${cls}`.trim(), text: word });
}

function section(container: HTMLElement, title: string): HTMLElement {
  const part = container.createDiv({ cls: "sidelight-section" });
  part.createDiv({ cls: "sidelight-part", text: title });
  return part;
}

function chooser(part: HTMLElement, icon: string, text: string, chosen: () => void): HTMLElement {
  const row = part.createDiv({ cls: "sidelight-choice" });
  const choose = row.createEl("button", { cls: "sidelight-plain" });
  setIcon(choose.createSpan({ cls: "sidelight-icon" }), icon);
  choose.createSpan({ cls: "sidelight-choice-text", text });
  choose.addEventListener("click", chosen);
  return row;
}

function iconButton(parent: HTMLElement, icon: string, label: string, clicked: () => void): void {
  const el = parent.createEl("button", { cls: "clickable-icon" });
  setIcon(el, icon);
  el.setAttribute("aria-label", label);
  el.addEventListener("click", clicked);
}

function button(parent: HTMLElement, text: string, action: string, clicked: () => void): void {
  const el = parent.createEl("button", { text });
  el.dataset.action = action;
  el.addEventListener("click", clicked);
}

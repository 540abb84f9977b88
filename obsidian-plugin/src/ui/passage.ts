// Draws one passage: the link that brought it, headings, snippet, lines, badge, how it was found.
// Keeps no state; every text of a note enters the page as text.
import { setIcon, setTooltip, type UserEvent } from "obsidian";
import type { Result } from "../bridge/protocol";
import { chainOf, channelsOf, citationInWords, matchedNames } from "../core/explain";
import { shownHeadings, titleOf } from "../core/grouping";
import { t } from "../core/i18n";
import { lineRange } from "../core/links";
import { type Range, sameWordsIn, segmentsOf } from "../core/segments";
import { sourceName, type Verdict } from "../core/sources";
import { hasTable, tidied } from "../core/tidy";

export interface PassageHost {
  openSeed(result: Result, event: UserEvent): void;
  showIndexed(result: Result): void;
  menu(result: Result, event: MouseEvent | HTMLElement): void;
  /** Someone says whether the passage helped; null where nothing is asked. */
  judge: ((clicked: Verdict) => void) | null;
}

export interface PassageOptions {
  fullPassages: boolean;
  showChannels: boolean;
  isGone: boolean; // it was not found any more when it was to be opened
  verdict: Verdict | undefined; // what was said of it
}

/** Fills the row of a passage. */
export function drawPassageBody(
  el: HTMLElement,
  result: Result,
  host: PassageHost,
  options: PassageOptions,
): void {
  if (result.graph_provenance !== null) drawProvenance(el, result, host);
  drawCard(el, result);
  drawHeadings(el, result);
  drawText(el, result, options);
  drawFooter(el, result, host, options);
  drawActionsOnDemand(el, result, host, options.verdict);
}

function drawProvenance(el: HTMLElement, result: Result, host: PassageHost): void {
  const link = result.graph_provenance;
  if (link === null) return;
  const line = el.createDiv({ cls: "sidelight-provenance" });
  setIcon(line.createSpan({ cls: "sidelight-icon" }), "link");
  const words = line.createSpan();
  words.createSpan({ text: `${t("via.before")} ` });
  words.createSpan({ cls: "sidelight-link", text: link.link });
  words.createSpan({ text: ` ${t("via.in")} ` });
  const seed = words.createEl("a", { cls: "sidelight-seed", text: titleOf(link.seed_path) });
  seed.setAttribute("role", "link");
  if (link.link_line !== null)
    words.createSpan({ text: t("via.line", { line: String(link.link_line) }) });
  setTooltip(seed, t("via.open", { path: link.seed_path }));
  seed.addEventListener("click", (event) => {
    event.stopPropagation();
    host.openSeed(result, event);
  });
}

// What was run for a card is shown where it led.
function drawCard(el: HTMLElement, { via_card: card }: Result): void {
  if (card === null) return;
  const line = el.createDiv({ cls: "sidelight-provenance" });
  setIcon(line.createSpan({ cls: "sidelight-icon" }), "pickaxe");
  line.createSpan({ text: t("card.via", { card: card.title, source: card.source }) });
  const ran = card.ran.length > 0 ? card.ran : Object.values(card.arguments);
  if (ran.length > 0) setTooltip(line, t("card.ran", { what: ran.join(" ") }));
}

function drawText(el: HTMLElement, result: Result, options: PassageOptions): void {
  const { text, highlights } = tidied(result.snippet, {
    heading: result.heading_path.at(-1) ?? "",
    isTable: hasTable(result.text),
  });
  const full = options.fullPassages && result.text !== "";
  const shown = full ? result.text : text;
  const marks = full ? sameWordsIn(result.text, text, highlights) : highlights;
  const snippet = el.createDiv({ cls: "sidelight-snippet" });
  snippet.setAttribute("dir", "auto");
  if (shown.trim() === "") {
    snippet.createSpan({ cls: "sidelight-quiet", text: t("result.noText") });
    return;
  }
  drawMarked(snippet, shown, marks);
}

function drawFooter(
  el: HTMLElement,
  result: Result,
  host: PassageHost,
  options: PassageOptions,
): void {
  const footer = el.createDiv({ cls: "sidelight-footer" });
  const lines = lineRange(result.citation);
  if (lines !== "") footer.createSpan({ cls: "sidelight-lines", text: lines });
  drawBadge(footer, result, host, options.isGone);
  drawOrigin(footer, result);
  if (result.conflict_of)
    footer.createSpan({
      cls: "sidelight-conflict",
      text: t("result.conflict", { note: titleOf(result.conflict_of) }),
    });
  const matched = matchedNames(result);
  if (matched.length > 0) {
    const names = footer.createSpan({ cls: "sidelight-matched", text: matched.join(" · ") });
    setTooltip(names, t("result.matched", { names: matched.join(t("list.comma")) }));
  }
  const chain = chainOf(result);
  if (chain !== "") {
    const way = footer.createSpan({ cls: "sidelight-chain", text: chain });
    way.setAttribute("dir", "auto");
    setTooltip(way, t("result.chain", { chain }));
  }
  if (options.showChannels) {
    const channels = channelsOf(result)
      .filter(({ channel }) => channel !== "metadata" || matched.length === 0)
      .map(({ label }) => label);
    if (channels.length > 0) {
      const found = footer.createSpan({
        cls: "sidelight-channels",
        text: channels.join(" · "),
      });
      setTooltip(found, t("result.channels", { channels: channels.join(t("list.comma")) }));
    }
  }
}

// Three buttons that nobody sees until the mouse or the keyboard is there: drawn by then, since
// drawing them for every passage of an answer would take as long as all the rest.
function drawActionsOnDemand(
  el: HTMLElement,
  result: Result,
  host: PassageHost,
  verdict: Verdict | undefined,
): void {
  let isDrawn = false;
  const draw = (): void => {
    if (!isDrawn) drawActions(el, result, host, verdict);
    isDrawn = true;
  };
  if (verdict !== undefined) return draw();
  el.addEventListener("mouseenter", draw);
  el.addEventListener("focusin", draw);
}

function drawActions(
  el: HTMLElement,
  result: Result,
  host: PassageHost,
  verdict: Verdict | undefined,
): void {
  const actions = el.createDiv({ cls: "sidelight-actions" });
  drawVerdict(actions, host, verdict, "helpful");
  drawVerdict(actions, host, verdict, "unhelpful");
  const more = actions.createDiv({ cls: "clickable-icon sidelight-more" });
  setIcon(more, "more-horizontal");
  more.setAttribute("role", "button");
  more.setAttribute("aria-label", t("result.more"));
  more.addEventListener("click", (event) => {
    event.stopPropagation();
    host.menu(result, event);
  });
}

// Which record it is, and which other knowledge bases hold the same text.
function drawOrigin(footer: HTMLElement, result: Result): void {
  const id = result.entry?.id ?? "";
  if (id !== "") footer.createSpan({ cls: "sidelight-quiet", text: `#${id}` });
  if (result.also_in.length === 0) return;
  const others = result.also_in.map(sourceName).join(t("list.comma"));
  footer.createSpan({ cls: "sidelight-source", text: t("source.also", { others }) });
}

function drawVerdict(
  actions: HTMLElement,
  host: PassageHost,
  said: Verdict | undefined,
  verdict: Verdict,
): void {
  const { judge } = host;
  if (judge === null) return;
  const button = actions.createDiv({ cls: "clickable-icon sidelight-verdict" });
  setIcon(button, verdict === "helpful" ? "thumbs-up" : "thumbs-down");
  button.setAttribute("role", "button");
  button.setAttribute("aria-label", t(`verdict.${verdict}`));
  button.setAttribute("aria-pressed", String(said === verdict));
  button.toggleClass("is-active", said === verdict);
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    judge(verdict);
  });
}

function drawBadge(footer: HTMLElement, result: Result, host: PassageHost, isGone: boolean): void {
  const { status, match } = result.citation;
  const kind = isGone
    ? "gone"
    : status === "fresh"
      ? "fresh"
      : match === "similar"
        ? "similar"
        : "changed";
  const badge = footer.createSpan({ cls: `sidelight-badge mod-${kind}` });
  setIcon(badge.createSpan({ cls: "sidelight-icon" }), BADGE_ICONS[kind]);
  badge.createSpan({ text: t(`badge.${kind}`) });
  const meaning = isGone ? t("badge.gone.tip") : citationInWords(result);
  badge.setAttribute("aria-label", meaning);
  if (kind === "fresh") return;
  badge.addClass("is-clickable");
  badge.setAttribute("aria-label", `${meaning} ${t("badge.click")}`);
  badge.addEventListener("click", (event) => {
    event.stopPropagation();
    host.showIndexed(result);
  });
}

const BADGE_ICONS = {
  fresh: "check",
  changed: "pencil-line",
  similar: "pencil-line",
  gone: "circle-slash",
} as const;

function drawHeadings(el: HTMLElement, result: Result): void {
  const headings = shownHeadings(result);
  if (headings.length === 0) return;
  const { text, highlights } = result.snippet;
  const line = el.createDiv({ cls: "sidelight-headings" });
  headings.forEach((heading, index) => {
    if (index > 0) setIcon(line.createSpan({ cls: "sidelight-icon" }), "chevron-right");
    drawMarked(line.createSpan(), heading, sameWordsIn(heading, text, highlights));
  });
}

function drawMarked(el: HTMLElement, text: string, marks: readonly Range[]): void {
  for (const segment of segmentsOf(text, marks))
    if (segment.marked)
      el.createSpan({ cls: "search-result-file-matched-text", text: segment.text });
    else el.appendText(segment.text);
}

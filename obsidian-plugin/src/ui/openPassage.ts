// From a result to the live lines in an editor: resolve again, open, select, scroll.
//
// The citation of an answer is as old as the answer. At click time the daemon is asked again,
// with the editor's unsaved text where the note is open, and nothing is selected whose text
// is not the passage: a doubtful line is worse than none.
import { type App, MarkdownView, Notice, type PaneType, TFile, type WorkspaceLeaf } from "obsidian";
import type { Citation, ResolveResult, Result } from "../bridge/protocol";
import type { Service } from "../bridge/service";
import { BridgeFailure, failureOf, inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import {
  type Lines,
  lineHolding,
  linesOf,
  type Place,
  placeOf,
  sameLines,
  textAt,
} from "../core/positions";

export type Opened = "selected" | "opened" | "gone" | "failed";

export interface OpenOutcome {
  opened: Opened;
  citation: Citation | null;
  path: string;
}

// The bridge takes frames of 1 MiB; what JSON adds by escaping is unknown beforehand.
const MAX_BUFFER_BYTES = 900_000;

/** Opens a result at its live lines. `pane` asks for a new tab, split or window. */
export async function openResult(
  app: App,
  service: Service,
  result: Pick<Result, "ref" | "path" | "text" | "citation">,
  pane: PaneType | false = false,
): Promise<OpenOutcome> {
  const resolved = await resolveNow(app, service, result);
  if (resolved === null) return { opened: "failed", citation: null, path: result.path };
  const { citation, path, text } = resolved;
  const file = app.vault.getFileByPath(path);
  if (citation.status === "unresolvable") {
    new Notice(t("open.gone"));
    return { opened: "gone", citation, path };
  }
  if (file === null) {
    new Notice(t("open.missing", { path }));
    return { opened: "failed", citation, path };
  }
  const shown = await showFile(app, file, pane);
  const selected = shown !== null && (await select(shown, citation, text));
  return { opened: selected ? "selected" : "opened", citation, path };
}

/** Opens a note without a citation, at the line that holds a text if one is given. */
export async function openNote(
  app: App,
  path: string,
  sought: { text: string; line: number | null } | null,
  pane: PaneType | false = false,
): Promise<void> {
  const file = app.vault.getFileByPath(path);
  if (file === null) {
    new Notice(t("open.missing", { path }));
    return;
  }
  const leaf = await showFile(app, file, pane);
  if (leaf === null || sought === null) return;
  if (leaf.isDeferred) await leaf.loadIfDeferred();
  const { view } = leaf;
  if (!(view instanceof MarkdownView)) return;
  const lines = shownLines(view);
  const line = lineHolding(sought.text, sought.line, lines);
  const whole = { kind: "lines", start_line: line, end_line: line, columns: null } as const;
  const place = placeOf(whole, lines);
  if (place === null) new Notice(t("open.unchecked"));
  else showPlace(view, place);
}

/** The unsaved text of an open note, or null if every editor shows what is on disk. */
export async function unsavedText(app: App, file: TFile): Promise<string | null> {
  const onDisk = await app.vault.read(file);
  for (const view of viewsOf(app, file.path)) {
    const shown = view.getViewData();
    if (!sameLines(shown, onDisk)) return shown;
  }
  return null;
}

async function resolveNow(
  app: App,
  service: Service,
  result: Pick<Result, "ref" | "path" | "text" | "citation">,
): Promise<ResolveResult | null> {
  const file = app.vault.getFileByPath(result.path);
  try {
    const found = await resolveAt(app, service, result.ref, result.path);
    // Renamed since the answer: what counts is the editor's text under the new path.
    if (found.path === result.path) return found;
    return await resolveAt(app, service, result.ref, found.path);
  } catch (error) {
    const failure = failureOf(error);
    // The index has moved on and knows the passage no more: it is gone, like an unresolvable one.
    if (failure.code === "NOT_FOUND") return gone(result);
    const unreachable = ["BRIDGE_UNAVAILABLE", "TIMEOUT"].includes(failure.code);
    if (error instanceof BridgeFailure && unreachable && file !== null)
      return checkedHere(app, file, result);
    new Notice(inOneLine(failure));
    return null;
  }
}

async function resolveAt(
  app: App,
  service: Service,
  ref: string,
  path: string,
): Promise<ResolveResult> {
  const file = app.vault.getFileByPath(path);
  const buffer = file === null ? null : await unsavedText(app, file);
  return service.resolve(buffer === null || !canSend(buffer) ? { ref } : { ref, buffer });
}

function gone({ path, citation }: Pick<Result, "path" | "citation">): ResolveResult {
  const nowhere = {
    status: "unresolvable",
    match: null,
    start_line: null,
    end_line: null,
  } as const;
  return { path, citation: { ...citation, ...nowhere }, text: "", why: "", location: null };
}

/** Whether the bridge takes the unsaved text of a note; else the saved one has to do. */
export function canSend(buffer: string): boolean {
  return new TextEncoder().encode(JSON.stringify(buffer)).length <= MAX_BUFFER_BYTES;
}

// Without the daemon only one thing is certain: whether the passage's own text still stands
// where the answer saw it.
async function checkedHere(
  app: App,
  file: TFile,
  { path, text, citation }: Pick<Result, "path" | "text" | "citation">,
): Promise<ResolveResult | null> {
  const lines = linesOf((await unsavedText(app, file)) ?? (await app.vault.read(file)));
  const place = placeOf(citation, lines);
  const holds = place === null || sameLines(textAt(place, lines), text);
  if (!holds) new Notice(t("open.unchecked"));
  const where = holds ? citation : { ...citation, start_line: null, end_line: null };
  return { path, citation: where, text, why: "", location: null };
}

function viewsOf(app: App, path: string): MarkdownView[] {
  const views: MarkdownView[] = [];
  app.workspace.iterateAllLeaves(({ view }) => {
    if (view instanceof MarkdownView && view.file?.path === path) views.push(view);
  });
  return views;
}

// An open note is shown where it is, also in another window; else in the last active pane.
async function showFile(
  app: App,
  file: TFile,
  pane: PaneType | false,
): Promise<WorkspaceLeaf | null> {
  const open = pane === false ? leafOf(app, file.path) : null;
  const leaf = open ?? app.workspace.getLeaf(pane);
  if (open === null) await leaf.openFile(file, { active: true });
  app.workspace.setActiveLeaf(leaf, { focus: true });
  await app.workspace.revealLeaf(leaf);
  return leaf;
}

function leafOf(app: App, path: string): WorkspaceLeaf | null {
  const recent = app.workspace.getMostRecentLeaf();
  if (recent !== null && pathOf(recent) === path) return recent;
  let found: WorkspaceLeaf | null = null;
  app.workspace.iterateAllLeaves((leaf) => {
    if (found === null && pathOf(leaf) === path && leaf.view.getViewType() !== "outline")
      found = leaf;
  });
  return found;
}

function pathOf(leaf: WorkspaceLeaf): string | null {
  const { view } = leaf;
  if (view instanceof MarkdownView) return view.file?.path ?? null;
  const state = leaf.getViewState();
  // A canvas, or a note whose tab was not yet opened since the start.
  const opensFile = state.type === "canvas" || state.type === "markdown";
  return opensFile && typeof state.state?.file === "string" ? state.state.file : null;
}

async function select(leaf: WorkspaceLeaf, citation: Citation, text: string): Promise<boolean> {
  if (leaf.isDeferred) await leaf.loadIfDeferred();
  const { view } = leaf;
  if (!(view instanceof MarkdownView))
    return citation.kind === "canvas" && selectNode(view, citation);
  const place = passagePlace(citation, text, shownLines(view));
  if (place === null) {
    if (citation.start_line !== null) new Notice(t("open.unchecked"));
    return false;
  }
  showPlace(view, place);
  return true;
}

function shownLines(view: MarkdownView): Lines {
  return view.getMode() === "preview" ? linesOf(view.getViewData()) : view.editor;
}

function showPlace(view: MarkdownView, place: Place): void {
  if (view.getMode() === "preview") {
    // Obsidian's own way of reaching a line in reading view; it also flashes it.
    view.setEphemeralState({ line: place.from.line });
    return;
  }
  view.editor.setSelection(place.from, place.to);
  view.editor.scrollIntoView(place, true);
  view.editor.focus();
}

// Where the cited lines stand in the editor, else where the only copy of them does: the daemon
// did not see unsaved text that was too long to send, or that was typed after it was asked.
function passagePlace(citation: Citation, text: string, lines: Lines): Place | null {
  const { start_line: start, end_line: end } = citation;
  const holds = (place: Place | null): place is Place =>
    place !== null && isPassage(textAt(place, lines), text, citation);
  const cited = placeOf(citation, lines);
  if (holds(cited)) return cited;
  if (start === null || end === null || citation.columns !== null || text === "") return null;
  const line = lineHolding(text, start, lines);
  const moved = { ...citation, start_line: line, end_line: line && line + end - start };
  const place = placeOf(moved, lines);
  return holds(place) ? place : null;
}

// The text the daemon found and the text the editor shows at those lines must be the same.
function isPassage(shown: string, text: string, citation: Citation): boolean {
  return text === "" || citation.kind === "property" || sameLines(shown.trim(), text.trim());
}

// Canvas has no public way to select a node; where its inner form is not as known, the canvas
// is open and that is all.
function selectNode(view: unknown, citation: Citation): boolean {
  const canvas = (view as { canvas?: CanvasLike }).canvas;
  const node = citation.node === null ? undefined : canvas?.nodes?.get(citation.node);
  if (canvas === undefined || node === undefined) return false;
  canvas.selectOnly?.(node);
  canvas.zoomToSelection?.();
  return true;
}

interface CanvasLike {
  nodes?: Map<string, unknown>;
  selectOnly?(node: unknown): void;
  zoomToSelection?(): void;
}

// Links to passages in the user's own notes; only ever written on request.
import { type App, type Editor, MarkdownView, Notice, TFile } from "obsidian";
import type { Result } from "../bridge/protocol";
import { t } from "../core/i18n";
import { isOwn, webLink } from "../core/sources";
import { asList, asQuotation, plainWikilink, subpathFor } from "../core/links";

type Linked = Pick<Result, "path" | "heading_path" | "citation"> &
  Partial<Pick<Result, "source" | "title" | "entry">>;

/** A link to a passage as the user's settings want links, seen from the note `sourcePath`. */
export function linkTo(app: App, result: Linked, sourcePath: string): string {
  if (result.source !== undefined && !isOwn({ source: result.source })) return outsideLink(result);
  const file = app.vault.getAbstractFileByPath(result.path);
  if (!(file instanceof TFile)) return plainWikilink(result.path, "");
  const cache = app.metadataCache.getFileCache(file);
  const blocks = Object.values(cache?.blocks ?? {}).map(({ id, position }) => ({
    id,
    startLine: position.start.line + 1,
    endLine: position.end.line + 1,
  }));
  const headings = (cache?.headings ?? []).map(({ heading, position }) => ({
    text: heading,
    line: position.start.line + 1,
  }));
  const subpath = subpathFor(result.citation, result.heading_path, blocks, headings);
  return app.fileManager.generateMarkdownLink(file, sourcePath, subpath);
}

// A note cannot link into another knowledge base: its address on the web, else where it stands.
function outsideLink({ title = "", source, path, entry, citation }: Linked): string {
  const link = webLink({ entry: entry ?? null });
  if (link !== null) return `[${title.replace(/[[\]]/g, "")}](${link})`;
  const lines = citation.start_line === null ? "" : `:${citation.start_line}`;
  return `${title} (${source ?? ""}: ${path}${lines})`;
}

/** Inserts a link at the cursor of the last active editor; says so where there is none. */
export function insertLink(app: App, result: Linked): boolean {
  const target = lastEditor(app);
  if (target === null) {
    new Notice(t("insert.noEditor"));
    return false;
  }
  const link = linkTo(app, result, target.path);
  target.editor.replaceSelection(link);
  new Notice(t("insert.done", { link }));
  return true;
}

// The note that was last active; where our own view is that (in the main area), a note in sight.
function lastEditor(app: App): { editor: Editor; path: string } | null {
  const last = app.workspace.getMostRecentLeaf()?.view;
  if (last instanceof MarkdownView) return editorIn(last);
  for (const { view } of app.workspace.getLeavesOfType("markdown")) {
    const editor = view instanceof MarkdownView && view.contentEl.isShown() && editorIn(view);
    if (editor) return editor;
  }
  return null;
}

function editorIn(view: MarkdownView): { editor: Editor; path: string } | null {
  if (view.file === null || view.getMode() !== "source") return null;
  return { editor: view.editor, path: view.file.path };
}

export async function copyQuotation(app: App, result: Result): Promise<void> {
  await copy(asQuotation(result, linkTo(app, result, "")));
}

export async function copyList(app: App, query: string, results: readonly Result[]): Promise<void> {
  await copy(asList(query, results, (result) => linkTo(app, result, "")));
}

export async function copy(text: string): Promise<void> {
  // The clipboard answers only the window that has the focus, which may be a pop-out.
  await activeWindow.navigator.clipboard.writeText(text);
  new Notice(t("copy.done"));
}

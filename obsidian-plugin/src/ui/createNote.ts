// A new, empty note named after a query that found nothing.
import type { App } from "obsidian";
import { t } from "../core/i18n";
import { noteName } from "../core/links";

/** Creates the note where Obsidian puts new ones, under a free name, and opens it. */
export async function createNote(app: App, query: string): Promise<void> {
  const name = noteName(query) || t("noEvidence.untitled");
  const active = app.workspace.getActiveFile()?.path ?? "";
  const folder = app.fileManager.getNewFileParent(active).path;
  const base = folder === "/" || folder === "" ? "" : `${folder}/`;
  let path = `${base}${name}.md`;
  for (let n = 1; app.vault.getAbstractFileByPath(path) !== null; n++)
    path = `${base}${name} ${n}.md`;
  const file = await app.vault.create(path, "");
  await app.workspace.getLeaf(false).openFile(file);
}

// Writes a suggested link into a note, when someone asks for it and never by itself.
import { type App, MarkdownView, Notice } from "obsidian";
import type { MentionItem } from "../bridge/protocol";
import { titleOf } from "../core/grouping";
import { t } from "../core/i18n";
import { type MentionPlace, placeOfMention, withLink } from "../core/mentions";

/** Puts the link in place of the mention; false, with a notice, where it is not there any more. */
export async function linkMention(app: App, mention: MentionItem): Promise<boolean> {
  const link = linkFor(app, mention);
  const source = app.vault.getFileByPath(mention.source_path);
  if (link === null || source === null) {
    const path = source === null ? mention.source_path : mention.target_path;
    new Notice(t("open.missing", { path }));
    return false;
  }
  const editor = editorOf(app, mention.source_path);
  let written = false;
  if (editor !== null) {
    const place = placeOfMention(mention, editor.getValue().split("\n"));
    if (place !== null) editor.replaceRange(link, ...ends(place));
    written = place !== null;
  } else
    await app.vault.process(source, (data) => {
      const place = placeOfMention(mention, data.split(/\r\n|\n|\r/));
      written = place !== null;
      return place === null ? data : withLink(data, place, link);
    });
  new Notice(written ? t("mention.done", { link }) : t("mention.gone", { text: mention.text }));
  return written;
}

function linkFor(app: App, { source_path, target_path, text }: MentionItem): string | null {
  const file = app.vault.getFileByPath(target_path);
  if (file === null) return null;
  const alias = text === titleOf(target_path) ? undefined : text;
  return app.fileManager.generateMarkdownLink(file, source_path, "", alias);
}

// The unsaved text of an open note is the truth; in reading view the file is what is shown.
function editorOf(app: App, path: string) {
  let found: MarkdownView | null = null;
  app.workspace.iterateAllLeaves(({ view }) => {
    const fits = view instanceof MarkdownView && view.file?.path === path;
    if (fits && view.getMode() === "source") found ??= view;
  });
  return (found as MarkdownView | null)?.editor ?? null;
}

function ends({ line, from, to }: MentionPlace) {
  return [
    { line, ch: from },
    { line, ch: to },
  ] as const;
}

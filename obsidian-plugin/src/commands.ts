// The command palette. No default hotkeys: which keys are free is for each person to say.
import { type Editor, Notice, Platform } from "obsidian";
import { failureOf, inOneLine } from "./core/failure";
import { t } from "./core/i18n";
import { headingForLink } from "./core/links";
import type SidelightPlugin from "./main";
import { run } from "./ui/run";
import { ASK_VIEW, RELATED_VIEW, SEARCH_VIEW } from "./ui/context";
import { copy } from "./ui/linking";
import { ConfirmModal, FailedNotesModal } from "./ui/modals";
import { QuickSearchModal } from "./ui/quickSearch";

export function addCommands(plugin: SidelightPlugin): void {
  const { service } = plugin;
  plugin.addCommand({
    id: "open",
    name: t("command.open"),
    callback: () => run(plugin.showView(SEARCH_VIEW)),
  });
  plugin.addCommand({
    id: "search-selection",
    name: t("command.selection"),
    editorCallback: (editor) => searchOr(plugin, selectedText(editor), t("command.noSelection")),
  });
  plugin.addCommand({
    id: "search-heading",
    name: t("command.heading"),
    editorCallback: (editor, view) => {
      const heading = view.file === null ? "" : headingAt(plugin, view.file.path, editor);
      searchOr(plugin, heading, t("command.noHeading"));
    },
  });
  plugin.addCommand({
    id: "quick",
    name: t("command.quick"),
    callback: () => new QuickSearchModal(plugin).open(),
  });
  plugin.addCommand({
    id: "insert-link",
    name: t("command.insertLink"),
    editorCallback: () => new QuickSearchModal(plugin, true).open(),
  });
  plugin.addCommand({
    id: "related",
    name: t("command.related"),
    callback: () => run(plugin.showView(RELATED_VIEW)),
  });
  plugin.addCommand({
    id: "ask",
    name: t("command.ask"),
    callback: () => run(plugin.showView(ASK_VIEW)),
  });
  plugin.addCommand({
    id: "last-results",
    name: t("command.last"),
    callback: () => {
      const [last] = plugin.device.history;
      run(last === undefined ? plugin.showView(SEARCH_VIEW) : plugin.search(last));
    },
  });
  plugin.addCommand({
    id: "index-status",
    name: t("command.status"),
    callback: () => run(showStatus(plugin)),
  });
  plugin.addCommand({
    id: "failed-notes",
    name: t("command.failed"),
    callback: () => new FailedNotesModal(plugin).open(),
  });
  plugin.addCommand({
    id: "pause",
    name: t("command.pause"),
    checkCallback: (checking) => {
      const paused = service.situation.progress?.phase === "paused";
      if (!service.ready || paused) return false;
      if (!checking) run(service.pause());
      return true;
    },
  });
  plugin.addCommand({
    id: "resume",
    name: t("command.resume"),
    checkCallback: (checking) => {
      if (!service.ready || service.situation.progress?.phase !== "paused") return false;
      if (!checking) run(service.resume());
      return true;
    },
  });
  plugin.addCommand({
    id: "rebuild",
    name: t("command.rebuild"),
    callback: () => {
      const rebuild = (): void => run(service.rebuild().then(() => new Notice(t("rebuild.begun"))));
      new ConfirmModal(
        plugin,
        t("rebuild.title"),
        t("rebuild.text"),
        t("rebuild.yes"),
        rebuild,
      ).open();
    },
  });
  plugin.addCommand({
    id: "copy-diagnostics",
    name: t("command.diagnostics"),
    callback: () => run(copyDiagnostics(plugin)),
  });
  plugin.addCommand({
    id: "start",
    name: t("command.start"),
    checkCallback: (checking) => {
      if (service.ready || plugin.device.startCommand === "") return false;
      if (!checking) run(plugin.startDaemon());
      return true;
    },
  });
}

function searchOr(plugin: SidelightPlugin, query: string, otherwise: string): void {
  if (query === "") new Notice(otherwise);
  else run(plugin.search(query));
}

function selectedText(editor: Editor): string {
  return editor.getSelection().replace(/\s+/g, " ").trim();
}

function headingAt(plugin: SidelightPlugin, path: string, editor: Editor): string {
  const line = editor.getCursor().line;
  const headings = plugin.app.metadataCache.getCache(path)?.headings ?? [];
  const heading = headings.findLast((entry) => entry.position.start.line <= line);
  return heading === undefined ? "" : headingForLink(heading.heading);
}

async function showStatus(plugin: SidelightPlugin): Promise<void> {
  await plugin.service.refreshStatus();
  const { index, connection } = plugin.service.situation;
  if (connection.kind !== "ready" || index === null) {
    new Notice(t("banner.offline.title"));
    return;
  }
  const { notes, chunks, embedded_chunks: embedded, pending } = index.index;
  const said = t("status.long", { notes, chunks, embedded, pending, failed: index.failed.length });
  const waits = Math.round(index.oldest_pending_s ?? 0);
  new Notice(waits > 0 ? `${said} ${t("status.oldest", { seconds: waits })}` : said);
}

// What helps to find a fault, in the language of those who look for it; no note text, no paths of notes, no token.
async function copyDiagnostics(plugin: SidelightPlugin): Promise<void> {
  const { connection, index, progress, degraded } = plugin.service.situation;
  const lines = [
    `plugin ${plugin.manifest.version}`,
    `system ${Platform.isMacOS ? "macOS" : Platform.isWin ? "Windows" : "Linux"}`,
    `connection ${connection.kind}${connection.kind === "offline" ? ` (${connection.why})` : ""}`,
  ];
  if (connection.kind === "ready")
    lines.push(
      `daemon ${connection.hello.server.version}, protocol ${connection.hello.protocol}`,
      `index ${JSON.stringify(index?.index)}`,
      `progress ${JSON.stringify(progress)}`,
      `oldest change waits ${Math.round(index?.oldest_pending_s ?? 0)} s`,
      `failed notes ${index?.failed.length ?? 0}`,
      `degraded ${JSON.stringify(degraded)}`,
    );
  if (plugin.service.ready)
    try {
      const { findings } = await plugin.service.doctor();
      for (const { check, severity, finding } of findings)
        lines.push(`${severity} ${check}: ${finding}`);
    } catch (error) {
      lines.push(`doctor: ${inOneLine(failureOf(error))}`);
    }
  await copy(lines.join("\n"));
}

// What a person can do with a passage, the same in every list: one host for all views.
import { type Component, Keymap, Menu, type UserEvent } from "obsidian";
import type { Result } from "../bridge/protocol";
import { t } from "../core/i18n";
import { feedbackOf, isOwn } from "../core/sources";
import { openOutside } from "./openOutside";
import { openNote, openResult } from "./openPassage";
import { copyQuotation, insertLink, linkTo } from "./linking";
import { IndexedModal, WhyModal } from "./modals";
import type { Context } from "./context";
import type { ResultListHost } from "./resultList";
import { run } from "./run";
import { showMenuAt } from "./showMenu";

export interface ActionOptions {
  /** Name under which the core plugin "Page preview" knows the view. */
  source: string;
  owner: Component;
  gone: (result: Result) => void;
  leave: () => void;
  opened?: () => void;
  moreOfNote?: (path: string) => void;
  /** The query that is answered and the state of the index, for keeping verdicts. */
  asked?: () => { query: string; snapshot: string };
}

/** The actions of a result list. */
export function actionsFor(context: Context, options: ActionOptions): ResultListHost {
  const { app, service } = context;
  const open = async (result: Result, event: UserEvent): Promise<void> => {
    options.opened?.();
    const pane = Keymap.isModEvent(event);
    const outcome = isOwn(result)
      ? await openResult(app, service, result, pane === true ? "tab" : pane)
      : await openOutside(context, result);
    if (outcome.opened === "gone") options.gone(result);
  };
  const host: ResultListHost = {
    open: (result, event) => run(open(result, event)),
    openSeed: (result, event) => {
      const link = result.graph_provenance;
      if (link === null) return;
      const pane = Keymap.isModEvent(event);
      const place = { text: link.link, line: link.link_line };
      run(openNote(app, link.seed_path, place, pane === true ? "tab" : pane));
    },
    openNote: (path, event) => {
      const pane = Keymap.isModEvent(event);
      run(openNote(app, path, null, pane === true ? "tab" : pane));
    },
    insert: (result) => void insertLink(app, result),
    copy: (result) => run(copyQuotation(app, result)),
    showIndexed: (result) => new IndexedModal(context, result).open(),
    menu: (result, at) => showMenu(context, options, host, result, at),
    preview: (result, target, event) => {
      if (!isOwn(result)) return; // Obsidian previews its own notes
      const { start_line: line } = result.citation;
      app.workspace.trigger("hover-link", {
        event,
        source: options.source,
        hoverParent: options.owner,
        targetEl: target,
        linktext: result.path,
        sourcePath: "",
        state: line === null ? undefined : { scroll: line - 1 },
      });
    },
    dragText: (result) => linkTo(app, result, ""),
    leave: options.leave,
    judge: judgeWith(context, options.asked),
  };
  return host;
}

function judgeWith(context: Context, asked: ActionOptions["asked"]): ResultListHost["judge"] {
  if (asked === undefined) return null;
  return (result, verdict) => {
    const { query, snapshot } = asked();
    run(context.service.feedback(feedbackOf(query, snapshot, result, verdict)));
  };
}

function showMenu(
  context: Context,
  options: ActionOptions,
  host: ResultListHost,
  result: Result,
  at: MouseEvent | HTMLElement,
): void {
  const menu = new Menu();
  const { app, service } = context;
  const own = isOwn(result);
  if (own) {
    menu.addItem((item) =>
      item
        .setTitle(t("menu.openTab"))
        .setIcon("file-plus")
        .onClick(() => run(openResult(app, service, result, "tab"))),
    );
    menu.addItem((item) =>
      item
        .setTitle(t("menu.openSplit"))
        .setIcon("separator-vertical")
        .onClick(() => run(openResult(app, service, result, "split"))),
    );
    const link = result.graph_provenance;
    if (link !== null)
      menu.addItem((item) =>
        item
          .setTitle(t("via.open", { path: link.seed_path }))
          .setIcon("corner-left-up")
          .onClick((event) => host.openSeed(result, event)),
      );
    menu.addSeparator();
  }
  menu.addItem((item) =>
    item
      .setTitle(t("menu.insertLink"))
      .setIcon("link")
      .onClick(() => host.insert(result)),
  );
  menu.addItem((item) =>
    item
      .setTitle(t("menu.copyCitation"))
      .setIcon("quote")
      .onClick(() => host.copy(result)),
  );
  menu.addSeparator();
  menu.addItem((item) =>
    item
      .setTitle(t("menu.why"))
      .setIcon("help-circle")
      .onClick(() => new WhyModal(context, result).open()),
  );
  if (own)
    menu.addItem((item) =>
      item
        .setTitle(t("menu.indexed"))
        .setIcon("file-diff")
        .onClick(() => host.showIndexed(result)),
    );
  const { moreOfNote } = options;
  if (own && moreOfNote !== undefined)
    menu.addItem((item) =>
      item
        .setTitle(t("menu.thisNote"))
        .setIcon("file-search")
        .onClick(() => moreOfNote(result.path)),
    );
  showMenuAt(menu, at);
}

// Asks which links are missing in the note that is read or written, and again once typing rests.
import type { TFile } from "obsidian";
import { failureOf, inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import type { Context } from "./context";
import { MENTION_LIMIT, MentionList } from "./mentionList";
import { canSend, unsavedText } from "./openPassage";

// Names are looked for when nothing was typed for so long: while someone writes, nothing moves.
const QUIET_MS = 1_000;

export class Suggestions {
  readonly #list: MentionList;
  #file: TFile | null = null;
  #running: AbortController | null = null;
  #timer: number | null = null;

  constructor(
    container: HTMLElement,
    private readonly context: Context,
  ) {
    this.#list = new MentionList(container, context, () => this.#again());
  }

  /** Shows what is missing in a note and to it; another note's suggestions go at once. */
  async show(file: TFile): Promise<void> {
    if (file.path !== this.#file?.path) this.#list.clear();
    this.stop();
    this.#file = file;
    if (!this.context.settings.suggestLinks) return this.#list.clear();
    const controller = new AbortController();
    this.#running = controller;
    try {
      const unsaved = await unsavedText(this.context.app, file);
      const fits = unsaved === null || canSend(unsaved);
      const found = await this.context.service.mentions(
        {
          path: file.path,
          limit: MENTION_LIMIT,
          ...(unsaved !== null && fits ? { buffer: unsaved } : {}),
        },
        controller.signal,
      );
      if (this.#running === controller) this.#list.render(found, fits ? "" : t("mention.saved"));
    } catch (error) {
      if (this.#running === controller) this.#list.fail(inOneLine(failureOf(error)));
    }
  }

  /** A note is being edited: if it is the one shown, asks again after a pause. */
  edited(path: string): void {
    if (path === this.#file?.path) this.#again();
  }

  clear(): void {
    this.stop();
    this.#file = null;
    this.#list.clear();
  }

  /** Ends what is asked for and waited for. */
  stop(): void {
    this.#running?.abort();
    this.#running = null;
    if (this.#timer !== null) window.clearTimeout(this.#timer);
    this.#timer = null;
  }

  // What is on its way says what stood there before: it would bring back what was just linked.
  #again(): void {
    this.stop();
    this.#timer = window.setTimeout(() => {
      this.#timer = null;
      if (this.#file !== null && this.context.service.ready) void this.show(this.#file);
    }, QUIET_MS);
  }
}

// Draws the banners of the situation: connection, indexing, what is missing.
import { setIcon } from "obsidian";
import type { Banner, BannerAction } from "../core/status";
import { t } from "../core/i18n";

export type OnAction = (action: BannerAction) => void;

const ICONS = { info: "info", warning: "alert-triangle", error: "alert-circle" } as const;

/** Replaces the content of `container` by the banners; a progress bar only moves on. */
export class Banners {
  #shown = "";
  #bar: HTMLElement | null = null;
  #detail: HTMLElement | null = null;

  constructor(
    private readonly container: HTMLElement,
    private readonly onAction: OnAction,
  ) {
    container.addClass("sidelight-banners");
    container.setAttribute("role", "status");
  }

  render(banners: readonly Banner[]): void {
    const signature = JSON.stringify(
      banners.map(({ progress, detail, ...rest }) => {
        return progress === null ? { ...rest, detail } : rest;
      }),
    );
    if (signature !== this.#shown) {
      this.#shown = signature;
      this.container.empty();
      this.#bar = this.#detail = null;
      for (const banner of banners) this.#draw(banner);
    }
    for (const banner of banners) if (banner.progress !== null) this.#move(banner);
  }

  #draw(banner: Banner): void {
    const el = this.container.createDiv({ cls: `sidelight-banner mod-${banner.tone}` });
    el.dataset.state = banner.id;
    el.toggleClass("is-compact", banner.detail === "" && banner.progress === null);
    const icon = banner.progress === null ? ICONS[banner.tone] : "loader";
    setIcon(el.createDiv({ cls: "sidelight-icon" }), icon);
    const body = el.createDiv({ cls: "sidelight-banner-body" });
    body.createDiv({ cls: "sidelight-banner-title", text: banner.title });
    if (banner.detail !== "" || banner.progress !== null) {
      const detail = body.createDiv({ cls: "sidelight-banner-detail", text: banner.detail });
      if (banner.progress !== null) this.#detail = detail;
    }
    if (banner.note) body.createDiv({ cls: "sidelight-banner-detail", text: banner.note });
    if (banner.progress !== null) {
      const track = body.createDiv({ cls: "sidelight-progress" });
      track.setAttribute("role", "progressbar");
      track.setAttribute("aria-valuemin", "0");
      track.setAttribute("aria-valuemax", "100");
      this.#bar = track.createDiv({ cls: "sidelight-progress-bar" });
    }
    if (banner.details.length > 0) drawDetails(body, banner.details);
    if (banner.actions.length === 0) return;
    const actions = body.createDiv({ cls: "sidelight-banner-actions" });
    banner.actions.forEach((action, index) => {
      const button = actions.createEl("button", { text: t(`action.${action}`) });
      button.toggleClass("mod-cta", index === 0 && action === "start");
      button.dataset.action = action;
      button.addEventListener("click", () => this.onAction(action));
    });
  }

  #move(banner: Banner): void {
    const share = Math.round((banner.progress ?? 0) * 1000) / 10;
    this.#detail?.setText(banner.detail);
    this.#bar?.setCssProps({ "--sidelight-share": `${share}%` });
    this.#bar?.parentElement?.setAttribute("aria-valuenow", String(Math.round(share)));
  }
}

function drawDetails(body: HTMLElement, details: readonly string[]): void {
  const more = body.createEl("details", { cls: "sidelight-details" });
  more.createEl("summary", { text: t("banner.details") });
  for (const line of details) more.createDiv({ text: line });
}

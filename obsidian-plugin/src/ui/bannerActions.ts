// What the buttons of a banner do.
import type { BannerAction } from "../core/status";
import { t } from "../core/i18n";
import { run } from "./run";
import type { Context } from "./context";
import { copy } from "./linking";
import { FailedNotesModal, HelpModal } from "./modals";

export function performBannerAction(context: Context, action: BannerAction): void {
  const { service } = context;
  switch (action) {
    case "start":
      return run(context.startDaemon());
    case "set-command":
    case "settings":
      return context.openSettings();
    case "copy-command":
      return run(copy(context.suggestedCommand()));
    case "retry":
      return service.client.retryNow();
    case "pause":
      return run(service.pause());
    case "resume":
      return run(service.resume());
    case "show-failed":
      return new FailedNotesModal(context).open();
    case "show-model-help":
      return new HelpModal(
        context,
        t("model.title"),
        [t("model.what"), t("model.how"), t("model.then")],
        "sidelight model build",
      ).open();
  }
}

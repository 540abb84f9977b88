// Opens a result of another knowledge base. The daemon is asked where it stands now; an address
// goes to the browser, a text file to the system's program for it, and anything else is only
// shown. Nothing is opened without a click.
import { Notice } from "obsidian";
import type { Result } from "../bridge/protocol";
import { failureOf, inOneLine } from "../core/failure";
import { t } from "../core/i18n";
import { webLink } from "../core/sources";
import { showOutside } from "../desktop";
import type { Context } from "./context";
import type { OpenOutcome } from "./openPassage";

export async function openOutside(context: Context, result: Result): Promise<OpenOutcome> {
  const link = webLink(result);
  if (link !== null) {
    window.open(link);
    return { opened: "opened", citation: result.citation, path: result.path };
  }
  try {
    const { citation, path, location } = await context.service.resolve({ ref: result.ref });
    if (citation.status === "unresolvable") {
      new Notice(t("open.gone"));
      return { opened: "gone", citation, path };
    }
    const problem = location === null ? t("open.noFile") : await showOutside(location);
    if (problem !== "") new Notice(t("open.outside", { path: location ?? path, problem }));
    return { opened: problem === "" ? "opened" : "failed", citation, path };
  } catch (error) {
    new Notice(inOneLine(failureOf(error)));
    return { opened: "failed", citation: null, path: result.path };
  }
}

// Starts work that nobody waits for.
import { Notice } from "obsidian";
import { failureOf, inOneLine } from "../core/failure";

/** Runs something that a click began; what goes wrong is told, never swallowed. */
export function run(work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    console.error("Sidelight:", error);
    new Notice(inOneLine(failureOf(error)));
  });
}

// The one door to Node's modules: files, environment, starting a program. Everything else of
// the plugin runs in a browser too, which is how it is tested.
import { spawn } from "node:child_process";
import { readFile, realpath, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import type { System } from "./bridge/discovery";
import { isPlainText } from "./core/sources";

/** The machine that Obsidian runs on. */
export function desktop(): System {
  return {
    platform: process.platform,
    env: process.env,
    home: homedir(),
    temporary: tmpdir(),
    uid: process.getuid?.() ?? null,
    realPath: (path) => realpath(path),
    facts: async (path) => {
      try {
        const { dev, ino, uid, mode } = await stat(path);
        return { dev, ino, uid, mode };
      } catch {
        return null; // no such file, or a folder we may not look into
      }
    },
    readText: (path) => readFile(path, "utf8"),
    sha256,
  };
}

/**
 * Starts the command that the user set on this device, in a shell, and leaves it running.
 * Resolves with "" once the program runs, else with the reason why it does not.
 */
export function startProgram(command: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      detached: true,
      stdio: "ignore",
      windowsHide: true,
    });
    // A shell that cannot find the program ends within moments; a daemon stays.
    const timer = window.setTimeout(() => resolve(""), 1_500);
    child.once("error", (error) => {
      window.clearTimeout(timer);
      resolve(error.message);
    });
    child.once("exit", (code) => {
      window.clearTimeout(timer);
      resolve(code === 0 ? "" : `exit code ${code ?? "?"}`);
    });
    child.unref();
  });
}

interface Shell {
  openPath(path: string): Promise<string>;
  showItemInFolder(path: string): void;
}

/**
 * Shows a file outside the vault: text in the system's own program for it, everything else in
 * its folder. Resolves with "" or with the reason why it cannot be shown.
 */
export async function showOutside(path: string): Promise<string> {
  const electron = (window as { require?: (name: string) => { shell?: Shell } }).require;
  const shell = electron?.("electron").shell;
  if (shell === undefined) return "no desktop";
  if (isPlainText(path)) return shell.openPath(path);
  shell.showItemInFolder(path);
  return "";
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

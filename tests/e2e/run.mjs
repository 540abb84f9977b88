// Builds the plugin and runs the browser tests; says so where there is no Chromium.
//
//   node tests/e2e/run.mjs [--update] [NAME...]
//
// A NAME is part of a test file's name; --update writes what is stored of the states anew.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium } from "./lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));

if (findChromium() === "") {
  console.log(
    "The sidebar was NOT tested: no Chromium was found. Install one, or name it in CHROMIUM.",
  );
  process.exit(process.env.CI === "true" ? 1 : 0);
}

const only = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
if (process.argv.includes("--update")) process.env.SIDELIGHT_E2E_UPDATE = "1";
const files = readdirSync(here)
  .filter((name) => name.endsWith(".test.mjs"))
  .filter((name) => only.length === 0 || only.some((part) => name.includes(part)))
  .map((name) => join(here, name));
const build = join(dirname(dirname(here)), "obsidian-plugin", "esbuild.config.mjs");
for (const args of [
  [build, "--production"],
  ["--test", "--test-concurrency=1", "--test-reporter=spec", ...files],
]) {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

// Takes the frames of the README's animated picture: the sample vault, light, both languages.
//
//   node tests/e2e/picture.mjs FOLDER
//
// Writes them into the folder with `frames.json`, a list of how long each stands;
// scripts/picture.py builds the plugin, calls this and joins them.
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  launchBrowser,
  makeWorld,
  openSidebar,
  sampleVault,
  servePages,
  startDaemon,
} from "./lib.mjs";

const [frames] = process.argv.slice(2);
if (frames === undefined) throw new Error("name the folder for the frames");

const TYPING_MS = 90;
const LOOKING_MS = 1_800;
const READING_MS = 2_600;

const browser = await launchBrowser();
const pages = await servePages();
const world = await makeWorld();
await cp(sampleVault, world.vault, { recursive: true });
const daemon = await startDaemon(world, pages.origin);
const shown = []; // [file, milliseconds]

/** One more frame that stands for so long. */
async function frame(page, milliseconds) {
  const name = `${String(shown.length).padStart(3, "0")}.png`;
  await page.screenshot({ path: join(frames, name), caret: "hide" });
  shown.push([name, milliseconds]);
}

const answered = (page, query) =>
  page.waitForFunction((text) => {
    const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
    const { phase, answer } = leaf.view.session.state;
    return phase === "answered" && answer.question.text === text;
  }, query);

/** Types a query letter by letter, the list following as it does for a person. */
async function type(page, query) {
  const input = page.locator(".sidelight-search-row input");
  await input.fill("");
  for (const letter of query) {
    await input.pressSequentially(letter);
    await answered(page, await input.inputValue());
    await frame(page, TYPING_MS);
  }
}

const openedLines = (page) =>
  page.waitForFunction(() => window.app.workspace.recent?.view.editor.getSelection());

try {
  await daemon.settled();
  const { page } = await openSidebar(browser, pages, world, { width: 380, data: { limit: 8 } });
  await page.waitForFunction(() => window.sidelight.service.ready);
  await page.setViewportSize({ width: 1120, height: 640 });
  await frame(page, LOOKING_MS / 2);
  await type(page, "积分饱和 integral windup");
  await frame(page, LOOKING_MS);
  await page.keyboard.press("ArrowDown");
  await frame(page, LOOKING_MS / 2);
  await page.keyboard.press("Enter");
  await openedLines(page);
  await page.locator(".sidelight-search-row input").focus();
  await frame(page, READING_MS);
  await type(page, "拿铁");
  await frame(page, LOOKING_MS);
  await page.locator(".sidelight-passage").first().click();
  await page.waitForFunction(() =>
    window.app.workspace.recent?.view.editor.getSelection().includes("拿铁"),
  );
  await page.mouse.move(300, 620);
  await frame(page, READING_MS);
  await type(page, "polar bears");
  await frame(page, READING_MS);
  await writeFile(join(frames, "frames.json"), JSON.stringify(shown), "utf8");
} finally {
  await daemon.stop();
  await browser.close();
  await pages.close();
  await world.close();
}

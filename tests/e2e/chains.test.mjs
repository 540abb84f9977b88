// A result that only a chain of mentions leads to shows the chain, once a person turned chains on.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { ask, launchBrowser, makeWorld, openSidebar, servePages, startDaemon } from "./lib.mjs";

const NOTES = {
  "读书/图谱.md": `# 读书

## 一

[[知识图谱]]的边用 PMI 衡量。

## 二

又读[[知识图谱]]，还是 PMI。

## 三

PMI 的分子来自[[共现统计]]。

## 四

换个语料，PMI 仍靠[[共现统计]]。
`,
  "读书/共现统计.md": "# 共现统计\n\n窗口取五个词，低频的先去掉。\n",
  "Boat/Log.md": `# Log

## May

Hauled Heron out; we asked Okafor about the keel.

## June

Varnish on Heron, with planks from Okafor.
`,
  "Boat/Okafor.md": "# Okafor\n\nTakes no milk. Deaf in the left ear.\n",
  ...Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`filler/${i}.md`, `# ${i}\n\n窗外第${i}阵风吹过。\n`]),
  ),
};

let browser, pages, world, daemon, sidebar, page;

before(async () => {
  browser = await launchBrowser();
  pages = await servePages();
  world = await makeWorld(NOTES);
  daemon = await startDaemon(world, pages.origin);
  await daemon.settled();
  await daemon.call("settings/set", {
    values: { graph: false, graph_least_passages: 20, gate_strictness: "off" },
  });
});

after(async () => {
  await daemon?.stop();
  await browser?.close();
  await pages?.close();
  await world?.close();
});

beforeEach(async () => {
  sidebar = await openSidebar(browser, pages, world);
  ({ page } = sidebar);
  await page.waitForFunction(() => window.sidelight.service.ready);
});

afterEach(async () => {
  const { problems } = sidebar;
  await sidebar.close();
  assert.deepEqual(problems, []);
});

/** The chain that stands on each shown passage of a note, "" where none does. */
const chainsOn = (title) =>
  page.evaluate(
    (name) =>
      [...document.querySelectorAll(".sidelight-passage")]
        .filter((el) => el.dataset.ref?.includes(name) || el.textContent.includes(name))
        .map((el) => el.querySelector(".sidelight-chain")?.textContent ?? ""),
    title,
  );

const CASES = [
  ["知识图谱", "窗口取五个词", "知识图谱 → PMI → 共现统计"],
  ["Heron", "Takes no milk", "Heron → Okafor"],
];

describe("chains of mentions", () => {
  it("are off until the setting is turned on, and then shown with what they lead to", async () => {
    for (const [query, text] of CASES) {
      await ask(page, query);
      assert.deepEqual(await chainsOn(text), [], query);
    }
    await page.waitForFunction(() => window.sidelight.tabs[0].daemon.gate_strictness);
    await page.evaluate(() => window.sidelight.tabs[0].setControlValue("daemon.graph", true));
    assert.equal((await daemon.call("settings/get")).settings.graph, true);
    for (const [query] of CASES) {
      const reached = async () =>
        (await daemon.call("query/search", { text: query })).results.some((r) => r.channels.graph);
      for (let left = 300; left > 0 && !(await reached()); left--)
        await new Promise((resolve) => setTimeout(resolve, 100)); // notes are read again
    }
    for (const [query, text, chain] of CASES) {
      await ask(page, "窗外第3阵风");
      await ask(page, query);
      assert.deepEqual(await chainsOn(text), [chain], query);
    }
  });
});

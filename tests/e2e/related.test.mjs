// Related passages and missing links in a real browser, against the real daemon.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  launchBrowser,
  makeWorld,
  openNote,
  openSidebar,
  opened,
  runCommand,
  servePages,
  startDaemon,
} from "./lib.mjs";

const NOTES = {
  "Control/Loop.md":
    "# Loop\n\nA Kalman filter feeds the closed loop, see [[Bode plot]].\n\n## 中文\n\n这里也讲拉普拉斯變換的用法。\n",
  "Control/Kalman filter.md": "# Kalman filter\n\nIt blends a prediction and a measurement.\n",
  "Control/Bode plot.md": "# Bode plot\n\nGain and phase over frequency.\n",
  "Control/拉普拉斯变换.md": "# 拉普拉斯变换\n\n把微分方程变成代数方程。\n",
  "Diary/Monday.md": "# Monday\r\n\r\nThe loop and the Kalman filter again.\r\n",
  "Secret/Hidden.md": "# Hidden\n\nThe Kalman filter, but nobody may know.\n",
  ".sidelightignore": "Secret/\n",
};

let browser, pages, world, daemon, sidebar, page;

before(async () => {
  browser = await launchBrowser();
  pages = await servePages();
  world = await makeWorld(NOTES);
  daemon = await startDaemon(world, pages.origin);
  await daemon.settled();
});

after(async () => {
  await daemon?.stop();
  await browser?.close();
  await pages?.close();
  await world?.close();
});

const restored = async () => {
  for (const [path, text] of Object.entries(NOTES)) await world.write(path, text);
};

async function show(path, setup = {}) {
  sidebar = await openSidebar(browser, pages, world, setup);
  ({ page } = sidebar);
  await page.waitForFunction(() => window.sidelight.service.ready);
  await openNote(page, path);
  await runCommand(page, "related");
}

beforeEach(restored);

afterEach(async () => {
  const { problems } = sidebar;
  await sidebar.close();
  assert.deepEqual(problems, []);
});

const related = () => page.locator('[data-type="sidelight-related"]');
const mentions = () => related().locator(".sidelight-mention");
const titles = () => mentions().locator(".sidelight-title").allTextContents();

describe("related passages", () => {
  it("leave out the note itself and what it links to, unless asked for", async () => {
    await show("Control/Loop.md");
    const notes = related().locator(".sidelight-results .sidelight-title");
    await notes.first().waitFor();
    assert.ok(!(await notes.allTextContents()).includes("Loop"));
    // The stand-in for Obsidian resolves no links: what it would say, by hand.
    await page.evaluate(() => {
      window.app.metadataCache.resolvedLinks["Control/Loop.md"] = { "Control/Bode plot.md": 1 };
      const [leaf] = window.app.workspace.getLeavesOfType("sidelight-related");
      leaf.view.settingsChanged();
    });
    const hasBode = (wanted) =>
      page.waitForFunction(
        (expected) =>
          [...document.querySelectorAll(".sidelight-results .sidelight-title")].some(
            (el) => el.textContent === "Bode plot",
          ) === expected,
        wanted,
      );
    await hasBode(false);
    await related().getByLabel("Hide notes that are linked already").click();
    await hasBode(true);
  });

  it("says that a note is excluded, in the reader's language", async () => {
    await show("Secret/Hidden.md", { language: "zh" });
    const said = related().locator(".sidelight-note", { hasText: "不参与搜索" });
    await said.waitFor();
    assert.equal(await said.textContent(), "这篇笔记不参与搜索。它被排除了。");
    assert.equal(await mentions().count(), 0);
  });
});

describe("missing links", () => {
  it("are suggested in both directions and both languages, the line beside them", async () => {
    await show("Control/Loop.md");
    await mentions().first().waitFor();
    assert.deepEqual(await titles(), ["Kalman filter", "拉普拉斯变换", "Monday"]);
    assert.deepEqual(await mentions().locator(".sidelight-lines").allTextContents(), [
      "Line 3",
      "Line 7",
      "Line 3",
    ]);
    const marked = mentions().locator(".search-result-file-matched-text");
    assert.deepEqual(await marked.allTextContents(), ["Kalman filter", "拉普拉斯變換", "loop"]);
  });

  it("change nothing until asked, then the unsaved text of the open note", async () => {
    await show("Control/Loop.md");
    await mentions().first().waitFor();
    assert.equal((await opened(page)).text, NOTES["Control/Loop.md"]);
    await page.evaluate(() => {
      const { editor } = window.app.workspace.recent.view;
      editor.setValue(`unsaved\n${editor.getValue()}`);
    });
    await mentions().nth(1).locator(".sidelight-mention-link").click();
    await page.waitForFunction(() => window.notices.some((text) => text.includes("Linked")));
    const { text } = await opened(page);
    const expected = NOTES["Control/Loop.md"].replace(
      "拉普拉斯變換",
      "[[拉普拉斯变换|拉普拉斯變換]]",
    );
    assert.equal(text, `unsaved\n${expected}`);
    assert.equal(await world.read("Control/Loop.md"), NOTES["Control/Loop.md"]);
    assert.deepEqual(await titles(), ["Kalman filter", "Monday"]);
  });

  it("in another note are written into its file, whose line endings stay", async () => {
    await show("Control/Loop.md", { language: "zh" });
    await mentions().first().waitFor();
    await mentions().nth(2).locator(".sidelight-mention-link").click();
    await page.waitForFunction(() => window.notices.some((text) => text.includes("已加上链接")));
    assert.equal(
      await world.read("Diary/Monday.md"),
      "# Monday\r\n\r\nThe [[Loop|loop]] and the Kalman filter again.\r\n",
    );
    await page.waitForFunction(
      () => document.querySelectorAll(".sidelight-mention").length === 2,
      null,
    );
  });

  it("are not written where the text has gone", async () => {
    await show("Control/Loop.md");
    await mentions().first().waitFor();
    await page.evaluate(() => {
      window.app.workspace.recent.view.editor.setValue("Something else.\n");
    });
    await mentions().first().locator(".sidelight-mention-link").click();
    await page.waitForFunction(() => window.notices.some((text) => text.includes("no longer")));
    assert.equal((await opened(page)).text, "Something else.\n");
  });

  for (const [language, said] of [
    ["en", "when it was saved"],
    ["zh", "上次保存"],
  ])
    it(`of a note too long to be sent are those of the saved text (${language}); following saves nothing`, async () => {
      await show("Control/Loop.md", { language });
      await mentions().first().waitFor();
      await page.evaluate(() => {
        const { editor } = window.app.workspace.recent.view;
        editor.setValue(`${"unsaved words ".repeat(70_000)}\n${editor.getValue()}`);
      });
      await related().locator(".sidelight-mentions .sidelight-note").waitFor();
      const note = await related().locator(".sidelight-mentions .sidelight-note").textContent();
      assert.match(note, new RegExp(said));
      assert.deepEqual(await titles(), ["Kalman filter", "拉普拉斯变换", "Monday"]);
      assert.equal(await world.read("Control/Loop.md"), NOTES["Control/Loop.md"]);
    });

  it("follow what is typed once it rests, and keep scroll, focus and what was linked", async () => {
    await show("Control/Loop.md");
    await mentions().first().waitFor();
    await mentions().nth(1).locator(".sidelight-mention-link").click(); // 拉普拉斯变换
    await mentions().nth(1).locator(".sidelight-mention-open").focus(); // Monday
    await page.setViewportSize({ width: 1100, height: 300 });
    const scroll = await related()
      .locator(".sidelight-answer")
      .evaluate((el) => {
        el.scrollTop = el.scrollHeight;
        return el.scrollTop;
      });
    assert.ok(scroll > 50, `${scroll}`);
    await page.evaluate(() => {
      const { editor } = window.app.workspace.recent.view;
      editor.setValue(editor.getValue().replace("# Loop\n", "# Loop\n\nAs on Monday.\n"));
    });
    await page.waitForFunction(() => document.querySelectorAll(".sidelight-mention").length === 3);
    assert.deepEqual(await titles(), ["Monday", "Kalman filter", "Monday"]);
    const kept = await related()
      .locator(".sidelight-answer")
      .evaluate((el) => [
        el.scrollTop,
        document.activeElement.closest(".sidelight-mention")?.textContent ?? "",
      ]);
    assert.equal(kept[0], scroll);
    assert.match(kept[1], /Monday.*The loop/);
    await page.evaluate(() => window.app.workspace.recent.view.editor.setValue("Nothing.\n"));
    await page.waitForFunction(() => document.querySelectorAll(".sidelight-mention").length === 1);
    assert.deepEqual(await titles(), ["Monday"]);
  });

  it("open at their place, are reached by keyboard, and can be turned off", async () => {
    await show("Control/Loop.md");
    await mentions().first().waitFor();
    await mentions().nth(2).locator(".sidelight-mention-open").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      () => window.app.workspace.recent?.view.file?.path === "Diary/Monday.md",
    );
    await page.waitForFunction(() => window.app.workspace.recent.view.editor.from.line === 2);
    await related().getByLabel("Suggest missing links").click();
    await page.waitForFunction(() => document.querySelectorAll(".sidelight-mention").length === 0);
    assert.equal(await page.evaluate(() => window.sidelight.data.suggestLinks), false);
  });
});

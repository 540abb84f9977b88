// The sidebar in every area and in a window of its own, over restarts, and by keyboard alone.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  ask,
  launchBrowser,
  listed,
  makeWorld,
  openNote,
  openSidebar,
  opened,
  runCommand,
  servePages,
  startDaemon,
  touch,
} from "./lib.mjs";
import { NOTES } from "./notes.mjs";

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

const passages = () => page.locator(".sidelight-passage");
const searchLeaf = () => window.app.workspace.getLeavesOfType("sidelight-search")[0];
const opens = (path) =>
  page.waitForFunction((name) => window.app.workspace.recent?.view.file?.path === name, path);

describe("areas", () => {
  for (const area of ["left", "root"])
    it(`works in the ${area === "root" ? "main" : area} area`, async () => {
      await openNote(page, "Ops/Twins.md");
      await page.evaluate((name) => {
        const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
        window.app.workspace.moveLeaf(leaf, name);
        window.app.workspace.setActiveLeaf(leaf);
      }, area);
      await ask(page, "终值定理");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Alt+Enter"); // into the note beside it
      const text = await page.evaluate(() =>
        window.app.workspace
          .getLeavesOfType("markdown")
          .map(({ view }) => view.getViewData())
          .join(),
      );
      assert.match(text, /\[\[拉普拉斯变换(#终值定理)?\]\]/);
      await page.keyboard.press("Enter");
      await opens("Control/拉普拉斯变换.md");
      // The view itself stays what it is: no note is opened in its place.
      assert.equal(await page.evaluate(`(${searchLeaf})().view.getViewType()`), "sidelight-search");
    });

  it("works in a window of its own: typing, keyboard, opening, copying, preview", async () => {
    await ask(page, "quokka");
    const [popout] = await Promise.all([
      page.context().waitForEvent("page"),
      page.evaluate(() => {
        const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
        return window.app.workspace.moveLeafToPopout(leaf);
      }),
    ]);
    const input = popout.locator(".sidelight-search-row input");
    await input.fill("");
    await input.pressSequentially("marmalade", { delay: 20 });
    const first = popout.locator(".sidelight-passage").first();
    await first.filter({ hasText: "marmalade" }).waitFor();
    await input.press("ArrowDown");
    const focused = await popout.evaluate(() => document.activeElement?.dataset.ref ?? "");
    assert.equal(focused, await first.getAttribute("data-ref"));
    await popout.keyboard.press("Control+c");
    await page.waitForFunction(() => window.notices.length > 0);
    assert.match(await popout.evaluate(() => navigator.clipboard.readText()), /marmalade/);
    await first.hover();
    assert.ok((await page.evaluate(() => window.hovered.length)) > 0);
    await first.click();
    await opens("Ops/Long.md");
    assert.match((await opened(page)).selected, /marmalade/);
    await popout.getByLabel("Query syntax").click();
    await popout.locator(".sidelight-syntax").waitFor();
  });
});

describe("over a restart", () => {
  it("keeps query, mode, scope and scroll", async () => {
    await page.evaluate(() => {
      window.sidelight.settings.limit = 100;
      return window.sidelight.saveSettings();
    });
    await openNote(page, "Many/Lighthouse 1.md");
    await page.locator(".sidelight-chip").nth(1).click();
    await page.locator(".menu-item", { hasText: "Folder" }).click();
    await page.locator(".sidelight-chip").first().click();
    await page.locator(".menu-item", { hasText: "for names, codes" }).click();
    await ask(page, "lighthouse lamp");
    await page.evaluate(() => (document.querySelector(".sidelight-answer").scrollTop = 700));
    const state = await page.evaluate(`(${searchLeaf})().view.getState()`);
    assert.deepEqual(state, {
      query: "lighthouse lamp",
      mode: "lexical",
      scope: { kind: "folder", path: "Many" },
      scroll: 700,
    });
    await page.evaluate(async (saved) => {
      const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
      await leaf.openView(window.app.workspace.factories.get("sidelight-search")(leaf));
      await leaf.view.setState(saved, {});
    }, state);
    await passages().first().waitFor();
    const chips = await page.locator(".sidelight-chip-text").allTextContents();
    assert.deepEqual(chips.slice(0, 2), ["Words", "Folder Many"]);
    await page.waitForFunction(() => document.querySelector(".sidelight-answer").scrollTop === 700);
  });

  it("takes a state that something else wrote for what it is", async () => {
    await page.evaluate(async () => {
      const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
      await leaf.view.setState(
        { query: 7, mode: "rm -rf", scope: { kind: "note" }, scroll: "x" },
        {},
      );
    });
    await page.locator(".sidelight-syntax").waitFor();
    const chips = await page.locator(".sidelight-chip-text").allTextContents();
    assert.deepEqual(chips, ["Words and meaning", "Whole vault"]);
  });

  it("keeps saved searches, and removes them on request", async () => {
    await ask(page, "散步");
    await page.getByLabel("Save this search").click();
    const data = await page.evaluate(() => window.sidelight.data);
    assert.deepEqual(data.saved, [{ name: "散步", query: "散步" }]);
    await sidebar.close();
    sidebar = await openSidebar(browser, pages, world, { data });
    ({ page } = sidebar);
    await page.waitForFunction(() => window.sidelight.service.ready);
    await page.locator(".sidelight-choice", { hasText: "散步" }).locator("button").first().click();
    await passages().first().waitFor();
    assert.equal((await listed(page))[0].note, "2024-10-03");
    await page.locator(".sidelight-search-row input").fill("");
    await page.getByLabel("Remove this saved search").click();
    assert.equal(await page.locator(".sidelight-choice", { hasText: "散步" }).count(), 1); // recent
    assert.deepEqual(await page.evaluate(() => window.sidelight.data.saved), []);
  });
});

describe("order, scope and copies", () => {
  const sortBy = async (text) => {
    await page.getByLabel("Change sort order").click();
    await page.locator(".menu-item", { hasText: text }).click();
  };
  const order = async () => [...new Set((await listed(page)).map(({ note }) => note))];

  it("sorts by name and by modification, and remembers it", async () => {
    await touch(world, "Diary/2024-10-03.md", 1_500_000_000);
    await touch(world, "Control/Closed loop.md", 1_900_000_000);
    await page.evaluate(() => window.app.vault.rescan());
    await ask(page, "path:Control/ OR path:Diary/");
    await sortBy("By name");
    const named = await order();
    assert.deepEqual(
      named,
      [...named].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })),
    );
    await sortBy("Last modified first");
    const modified = await order();
    assert.equal(modified[0], "Closed loop");
    assert.equal(modified.at(-1), "2024-10-03");
    assert.equal(await page.evaluate(() => window.sidelight.data.sort), "modified");
  });

  it("keeps what was chosen for this search when another setting changes", async () => {
    await page.locator(".sidelight-chip").first().click();
    await page.locator(".menu-item", { hasText: "for names, codes" }).click();
    await ask(page, "gain");
    await sortBy("By name");
    await page.getByLabel("Save this search").click();
    await page.getByLabel("Show whole passages").click();
    const mode = () => page.locator(".sidelight-chip-text").first().textContent();
    assert.equal(await mode(), "Words");
    await page.evaluate(() => window.sidelight.tabs[0].setControlValue("mode", "semantic"));
    await page.waitForFunction(() =>
      document.querySelector(".sidelight-chip-text").textContent.startsWith("Meaning"),
    );
  });

  it("draws nothing anew when the same answer comes again", async () => {
    await ask(page, "marmalade");
    const asked = await page.evaluate(async () => {
      const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
      await leaf.view.session.refresh(); // the last word is taken for a whole one now
      window.before = document.querySelector(".sidelight-passage");
      const { answer } = leaf.view.session.state;
      await leaf.view.session.refresh();
      return leaf.view.session.state.answer !== answer;
    });
    assert.ok(asked, "it was asked again");
    assert.ok(
      await page.evaluate(() => window.before === document.querySelector(".sidelight-passage")),
    );
  });

  it("shows all matches of one note on demand, and the whole vault again", async () => {
    await ask(page, "filler");
    await passages().first().click({ button: "right" });
    await page.locator(".menu-item", { hasText: "All matches in this note" }).click();
    await page.waitForFunction(() =>
      document.querySelector(".sidelight-chips").textContent.includes("Note "),
    );
    await page.waitForFunction(
      () => document.querySelectorAll(".sidelight-results .search-result").length === 1,
    );
    await page.locator(".sidelight-chip").nth(1).click();
    await page.locator(".menu-item", { hasText: "Whole vault" }).click();
    await page.waitForFunction(() =>
      document.querySelector(".sidelight-chips").textContent.includes("Whole vault"),
    );
  });

  it("shows more context and less", async () => {
    await ask(page, "marmalade");
    const [{ snippet: short }] = await listed(page);
    await page.getByLabel("Show whole passages").click();
    await page.waitForFunction(
      (length) => document.querySelector(".sidelight-snippet").textContent.length > length * 2,
      short.length,
    );
    await page.getByLabel("Show whole passages").click();
    await page.waitForFunction(
      (text) => document.querySelector(".sidelight-snippet").textContent === text,
      short,
    );
  });

  it("copies all results as a list of links with lines", async () => {
    await ask(page, "终值定理");
    await page.getByLabel("Copy all results").click();
    await page.waitForFunction(() => window.notices.length > 0);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(copied, /^Results for “终值定理”:\n\n- \[\[/);
    assert.match(copied, /- \[\[拉普拉斯变换#终值定理\]\] · Lines? [\d–]+: /);
  });

  it("gives a link to whatever a passage is dragged to", async () => {
    await ask(page, "终值定理");
    const dragged = await passages()
      .filter({ hasText: "极点都在左半平面" })
      .first()
      .evaluate((el) => {
        const dataTransfer = new DataTransfer();
        el.dispatchEvent(new DragEvent("dragstart", { dataTransfer, bubbles: true }));
        return dataTransfer.getData("text/plain");
      });
    assert.match(dragged, /^\[\[拉普拉斯变换(#终值定理)?\]\]$/);
  });

  it("inserts a link to a result that is chosen in the switcher", async () => {
    await openNote(page, "Ops/Twins.md");
    await runCommand(page, "insert-link");
    await page.locator(".prompt-input").fill("marmalade");
    await page.locator(".suggestion-item").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => window.notices.some((text) => text.includes("Inserted")));
    const { path, text } = await opened(page);
    assert.equal(path, "Ops/Twins.md");
    assert.match(text, /^\[\[Long(#Long)?\]\]# Twins/);
  });
});

describe("without a mouse, without motion", () => {
  it("shows where the keyboard is, in the list and on every button", async () => {
    await ask(page, "quokka");
    const ring = () =>
      page.evaluate(() => {
        const { boxShadow, outlineStyle } = getComputedStyle(document.activeElement);
        return boxShadow !== "none" || outlineStyle !== "none";
      });
    await page.keyboard.press("ArrowDown");
    assert.ok(await ring(), "a passage");
    await page.keyboard.press("Shift+Tab");
    let seen = 0;
    for (; seen < 8; seen++) {
      const at = await page.evaluate(() => ({
        inside: document.activeElement.closest(".sidelight-view") !== null,
        name: document.activeElement.getAttribute("aria-label"),
      }));
      if (!at.inside) break; // everything above the list was passed
      assert.ok(await ring(), at.name ?? "something without a name");
      assert.ok(at.name, "what has the focus has a name");
      await page.keyboard.press("Shift+Tab");
    }
    assert.ok(seen >= 5, `${seen} places have the focus above the list`);
  });

  it("reaches everything by Tab: buttons, field, chips, one row of the list", async () => {
    await ask(page, "quokka");
    await page.locator(".nav-action-button").first().focus();
    const seen = [];
    for (let n = 0; n < 10; n++) {
      seen.push(
        await page.evaluate(() => {
          const el = document.activeElement;
          return el.getAttribute("role") ?? (el.getAttribute("aria-label") || el.tagName);
        }),
      );
      await page.keyboard.press("Tab");
    }
    assert.ok(seen.includes("Search your notes…"), seen.join());
    assert.ok(
      seen.some((name) => name.startsWith("Search by:")),
      seen.join(),
    );
    assert.equal(seen.filter((name) => name === "treeitem").length, 1, seen.join());
  });

  it("keeps the keyboard on a chip while answers come and when its menu changes it", async () => {
    await page.locator(".sidelight-chip").first().focus();
    const chip = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    await page.evaluate(() =>
      window.app.workspace.getLeavesOfType("sidelight-search")[0].view.search("path:Ops/ quokka"),
    );
    await passages().first().waitFor();
    await page.locator(".sidelight-chip.mod-filter").waitFor();
    assert.equal(await chip(), "Search by: Words and meaning");
    await page.keyboard.press("Enter");
    const menu = await page.locator(".menu").boundingBox();
    const below = await page.locator(".sidelight-chip").first().boundingBox();
    assert.ok(Math.abs(menu.y - below.y - below.height) < 20, "the menu opens at the chip");
    await page.locator(".menu-item", { hasText: "for names, codes" }).evaluate((el) => el.click());
    await page.waitForFunction(() =>
      document.querySelector(".sidelight-chip-text").textContent.startsWith("Words"),
    );
    await page.waitForFunction(
      () => document.activeElement.getAttribute("aria-label") === "Search by: Words",
    );
  });

  it("moves nothing for those who want no motion", async () => {
    const moving = () =>
      page.evaluate(() => {
        const bar = document.body.createDiv({ cls: "sidelight-progress-bar" });
        const { transitionDuration } = getComputedStyle(bar);
        bar.remove();
        return transitionDuration;
      });
    assert.equal(await moving(), "0.2s");
    await page.emulateMedia({ reducedMotion: "reduce" });
    assert.equal(await moving(), "0s");
    await ask(page, "quokka");
    const animated = await page.evaluate(() => document.getAnimations().length);
    assert.equal(animated, 0);
  });
});

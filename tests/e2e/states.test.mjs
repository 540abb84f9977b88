// Every state of the sidebar in light and dark, narrow and wide, English and Chinese, with the
// real daemon; a screenshot of each goes to artifacts/screenshots to be looked at.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  ask,
  launchBrowser,
  listed,
  makeWorld,
  openSidebar,
  opened,
  root,
  runCommand,
  sampleVault,
  servePages,
  speakProtocol,
  startDaemon,
} from "./lib.mjs";

const shots = join(root, "artifacts", "screenshots");

let browser, pages, world, daemon;

before(async () => {
  await mkdir(shots, { recursive: true });
  browser = await launchBrowser();
  pages = await servePages();
  world = await makeWorld();
  await cp(sampleVault, world.vault, { recursive: true });
});

after(async () => {
  await daemon?.stop();
  await browser?.close();
  await pages?.close();
  await world?.close();
});

/** Runs `work` on a fresh page and takes care that nothing went wrong in it. */
async function onPage(setup, work) {
  const sidebar = await openSidebar(browser, pages, world, setup);
  try {
    await work(sidebar.page, sidebar);
    assert.deepEqual(sidebar.problems, []);
  } finally {
    await sidebar.close();
  }
}

const ready = (page) => page.waitForFunction(() => window.sidelight.service.ready);
const banner = (page, state) => page.locator(`.sidelight-banner[data-state="${state}"]`);

async function shoot(page, name) {
  await page.waitForTimeout(150);
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** No text may be cut off sideways or hang out of the sidebar. */
async function fits(page) {
  const wide = await page.evaluate(() => {
    const view = document.querySelector('[data-type="sidelight-search"] .view-content');
    const { right } = view.getBoundingClientRect();
    return [...view.querySelectorAll("*")]
      .filter((el) => el.getBoundingClientRect().right > right + 1)
      .map((el) => el.className);
  });
  assert.deepEqual(wide, []);
}

const LOOKS = [
  { name: "light-en", theme: "light", language: "en" },
  { name: "dark-zh", theme: "dark", language: "zh" },
  { name: "light-zh-narrow", theme: "light", language: "zh", width: 250 },
  { name: "dark-en-narrow", theme: "dark", language: "en", width: 250 },
];

/** No English in the Chinese interface, apart from names. */
async function speaks(page, language) {
  if (language !== "zh") return;
  const texts = await page.evaluate(() =>
    [
      ".sidelight-banner-title",
      ".sidelight-banner-detail",
      ".sidelight-view button",
      ".sidelight-badge",
      ".sidelight-lines",
      ".sidelight-channels",
      ".sidelight-info",
      ".sidelight-part",
      ".sidelight-reasons li",
      ".sidelight-noevidence-title",
    ].flatMap((selector) =>
      [...document.querySelectorAll(selector)].map((el) => el.textContent.trim()),
    ),
  );
  const foreign = texts.filter(
    (text) => /[A-Za-z]{3}/.test(text) && !/\p{Script=Han}/u.test(text) && !/[:"/[]/.test(text),
  );
  assert.deepEqual(foreign, []);
}

describe("without a daemon", () => {
  for (const look of LOOKS)
    it(`says what to do (${look.name})`, () =>
      onPage(look, async (page) => {
        await banner(page, "offline-not-running").waitFor();
        await fits(page);
        await speaks(page, look.language);
        await shoot(page, `offline-${look.name}`);
        await page.locator('[data-action="copy-command"]').click();
        await page.waitForFunction(() => window.notices.length > 0);
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(copied, `sidelight serve "${world.vault}"`);
      }));

  it("starts the command set on this device, never one from data.json", () =>
    onPage(
      {
        storage: { "sidelight-start-command": "sidelight serve mine" },
        data: { startCommand: "evil", "sidelight-start-command": "evil" },
      },
      async (page, { started }) => {
        await page.locator('[data-action="start"]').click();
        await page.waitForFunction(() => window.notices.length > 0);
        assert.deepEqual(started, ["sidelight serve mine"]);
      },
    ));

  it("offers no start while none is set, and writes none to data.json", () =>
    onPage({ data: { startCommand: "evil" } }, async (page) => {
      await banner(page, "offline-not-running").waitFor();
      assert.equal(await page.locator('[data-action="start"]').count(), 0);
      await page.evaluate(() => window.sidelight.saveSettings());
      const saved = await page.evaluate(() => Object.keys(window.sidelight.data));
      assert.ok(!saved.some((key) => /command|token|discovery|history/i.test(key)), saved.join());
    }));

  it("a search fails with the reason and works once the daemon runs", () =>
    onPage({}, async (page) => {
      await banner(page, "offline-not-running").waitFor();
      await ask(page, "Kalman");
      assert.match(await page.locator(".sidelight-info").textContent(), /not connected/);
      daemon = await startDaemon(world, pages.origin);
      await page.locator(".sidelight-passage").first().waitFor({ timeout: 60_000 });
      assert.equal(await page.locator(".sidelight-banner[data-state^=offline]").count(), 0);
      await daemon.settled();
    }));
});

describe("when something is missing", () => {
  for (const [protocol, older, language, said] of [
    [99, "daemon", "en", /protocol \d+, the plugin 99/],
    [0, "plugin", "zh", /服务的协议版本是 \d+，插件的是 0/],
  ])
    it(`tells that plugin and service do not fit, and which one is older (${older})`, () =>
      onPage({ language }, async (page) => {
        await ready(page);
        await speakProtocol(page, protocol);
        await banner(page, `mismatch-${older}`).waitFor();
        await page.locator(".sidelight-details summary").click();
        assert.match(await page.locator(".sidelight-details").textContent(), said);
        await fits(page);
        await speaks(page, language);
      }));

  it("says in the reader's language that the vault's folder is away, and goes on by itself", () =>
    onPage({ language: "zh" }, async (page) => {
      await ready(page);
      await rename(world.vault, `${world.vault} away`);
      try {
        await daemon.call("index/resume"); // looks at the vault now
        await banner(page, "waiting").waitFor({ timeout: 60_000 });
        await page.locator(".sidelight-details summary").click();
        assert.equal(
          await page.locator(".sidelight-details div").textContent(),
          `找不到仓库 ${world.vault}。请重新连接磁盘或检查路径；索引会保留并等待。`,
        );
        await speaks(page, "zh");
        await shoot(page, "waiting-light-zh");
      } finally {
        await rename(`${world.vault} away`, world.vault);
      }
      await banner(page, "waiting").waitFor({ state: "detached", timeout: 60_000 });
      await daemon.settled();
    }));

  it("searches by words alone without a model, and says so", async () => {
    const small = await makeWorld({
      "Note.md": "# Note\n\nThe narwhal swims under the ice. 独角鲸在冰下游泳。\n",
    });
    const key = createHash("sha256").update(small.vault).digest("hex").slice(0, 16);
    const config = join(small.env.XDG_CONFIG_HOME, "sidelight", "vaults");
    await mkdir(config, { recursive: true });
    const settings = { embedding_model: join(small.folder, "no-model-here") };
    await writeFile(join(config, `${key}.json`), JSON.stringify(settings));
    const wordsOnly = await startDaemon(small, pages.origin);
    await wordsOnly.settled();
    const sidebar = await openSidebar(browser, pages, small, { language: "zh" });
    try {
      await ready(sidebar.page);
      await ask(sidebar.page, "独角鲸");
      assert.equal((await listed(sidebar.page))[0].note, "Note");
      await banner(sidebar.page, "words-only").waitFor();
      await speaks(sidebar.page, "zh");
      await sidebar.page.locator('[data-action="show-model-help"]').click();
      await sidebar.page.locator(".sidelight-command code").waitFor();
      await shoot(sidebar.page, "words-only-light-zh");
      assert.deepEqual(sidebar.problems, []);
    } finally {
      await sidebar.close();
      await wordsOnly.stop();
      await small.close();
    }
  });
});

describe("with the sample vault", () => {
  for (const look of LOOKS) {
    it(`shows help before anything is typed (${look.name})`, () =>
      onPage(look, async (page) => {
        await ready(page);
        await page.locator(".sidelight-syntax").waitFor();
        await fits(page);
        await speaks(page, look.language);
        await shoot(page, `empty-${look.name}`);
      }));

    it(`shows results (${look.name})`, () =>
      onPage({ ...look, data: { limit: 10 } }, async (page) => {
        await ready(page);
        await ask(
          page,
          look.language === "zh"
            ? "怎样消除稳态误差"
            : "I kept dreading that somebody was about to call with bad news",
        );
        assert.ok((await listed(page)).length > 3);
        await fits(page);
        await speaks(page, look.language);
        await shoot(page, `results-${look.name}`);
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await page.waitForFunction(
          () => (window.app.workspace.recent?.view.editor.getSelection() ?? "") !== "",
        );
        await shoot(page, `opened-${look.name}`);
      }));

    it(`shows no evidence (${look.name})`, () =>
      onPage(look, async (page) => {
        await ready(page);
        await ask(
          page,
          look.language === "zh" ? "北极熊的冬眠习性 qwzzk" : "hibernation of polar bears qwzzk",
        );
        await page.locator(".sidelight-noevidence").waitFor();
        await fits(page);
        await speaks(page, look.language);
        await shoot(page, `no-evidence-${look.name}`);
        const near = page.locator('[data-action="near-misses"]');
        if ((await near.count()) > 0) {
          await near.click();
          await fits(page);
          await shoot(page, `near-misses-${look.name}`);
        }
      }));

    it(`shows dialogs, menu, switcher and settings (${look.name})`, () =>
      onPage(look, async (page) => {
        await ready(page);
        await ask(page, "拿铁");
        const first = page.locator(".sidelight-passage").first();
        await first.click({ button: "right" });
        await page.locator(".menu").waitFor();
        await shoot(page, `menu-${look.name}`);
        await page.locator(".menu-item").nth(4).click();
        await page.locator(".sidelight-why li").first().waitFor();
        await speaks(page, look.language);
        await shoot(page, `why-${look.name}`);
        await page.keyboard.press("Escape");
        await runCommand(page, "quick");
        await page.locator(".prompt-input").fill("拿铁");
        await page.locator(".suggestion-item").first().waitFor();
        await shoot(page, `quick-${look.name}`);
        await page.keyboard.press("Escape");
        await page.waitForFunction(() => window.sidelight.tabs[0].daemon.gate_strictness);
        await page.evaluate(() => window.sidelight.openSettings());
        await page.locator(".setting-item").first().waitFor();
        await page.evaluate(() =>
          document.querySelector(".modal").setCssStyles({ maxHeight: "none" }),
        );
        await page.setViewportSize({ width: 1100, height: 1700 });
        await shoot(page, `settings-${look.name}`);
      }));

    it(`shows a changed source and what was indexed (${look.name})`, async () => {
      const path = "Control/Kalman filter.md";
      const text = await world.read(path);
      await daemon.call("index/pause");
      try {
        await onPage(look, async (page) => {
          await ready(page);
          await banner(page, "paused").waitFor();
          await world.write(
            path,
            text.replace(/^(---\n[\s\S]*?\n---\n)?/, (front) => `${front}A line on top.\n\n`),
          );
          await ask(page, "file:Kalman filter noise");
          const [passage] = await listed(page);
          assert.equal(passage.badge, look.language === "zh" ? "笔记有改动" : "Note changed");
          assert.match(
            passage.tip,
            look.language === "zh" ? /索引之后笔记有改动/ : /changed since it was indexed/,
          );
          await fits(page);
          await speaks(page, look.language);
          await shoot(page, `changed-${look.name}`);
          await page.locator(".sidelight-badge.mod-changed").first().click();
          await page.locator(".sidelight-diff").waitFor();
          await shoot(page, `indexed-${look.name}`);
        });
      } finally {
        await world.write(path, text);
        await daemon.call("index/resume");
        await daemon.settled();
      }
    });
  }

  it("shows an edited passage and the words that changed", async () => {
    const path = "Control/Kalman filter.md";
    const text = await world.read(path);
    await daemon.call("index/pause");
    try {
      await onPage({}, async (page) => {
        await ready(page);
        await ask(page, "file:Kalman filter noise");
        const [{ lines }] = await listed(page);
        const [from] = lines.match(/\d+/g).map(Number);
        const edited = text.split("\n");
        edited[from + 1] = `${edited[from + 1]} (measured)`;
        await world.write(path, edited.join("\n"));
        await ask(page, "file:Kalman filter noise ");
        const [again] = await listed(page);
        assert.equal(again.badge, "Passage edited");
        await page.locator(".sidelight-badge.mod-similar").first().click();
        await page.locator(".sidelight-diff ins").first().waitFor();
        assert.match(await page.locator(".sidelight-diff").textContent(), /measured/);
        await shoot(page, "indexed-edited");
      });
    } finally {
      await world.write(path, text);
      await daemon.call("index/resume");
      await daemon.settled();
    }
  });

  it("finds the Chinese receipt first and opens it at its lines", () =>
    onPage({ language: "zh" }, async (page) => {
      await ready(page);
      await ask(page, "桂花乌龙生椰拿铁");
      const [first] = await listed(page);
      await page.locator(".sidelight-passage").first().click();
      await page.waitForFunction(
        () => (window.app.workspace.recent?.view.editor.getSelection() ?? "") !== "",
      );
      const { selected, lines } = await opened(page);
      assert.match(selected, /拿铁/);
      assert.equal(
        first.lines,
        lines[0] === lines[1] ? `第 ${lines[0]} 行` : `第 ${lines[0]}–${lines[1]} 行`,
      );
    }));

  it("keeps what was asked over a restart of the view", () =>
    onPage({}, async (page) => {
      await ready(page);
      await ask(page, "Kalman");
      const state = await page.evaluate(() =>
        window.app.workspace.getLeavesOfType("sidelight-search")[0].view.getState(),
      );
      assert.equal(state.query, "Kalman");
      await page.evaluate(async (saved) => {
        const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
        await leaf.openView(window.app.workspace.factories.get("sidelight-search")(leaf));
        await leaf.view.setState({ ...saved, mode: "lexical" }, {});
      }, state);
      await page.locator(".sidelight-passage").first().waitFor();
      assert.equal(await page.locator(".sidelight-search-row input").inputValue(), "Kalman");
      assert.match(await page.locator(".sidelight-chip").first().textContent(), /Words/);
    }));

  it("speaks the other language at once when it is chosen", () =>
    onPage({}, async (page) => {
      await ready(page);
      await ask(page, "Kalman");
      await page.evaluate(() => window.sidelight.tabs[0].setControlValue("language", "zh"));
      await page.waitForFunction(() =>
        document.querySelector(".sidelight-badge").textContent.includes("最新"),
      );
      await speaks(page, "zh");
    }));

  it("changes the daemon's settings at once, and shows its refusal", () =>
    onPage({}, async (page) => {
      await ready(page);
      await page.waitForFunction(() => window.sidelight.tabs[0].daemon.gate_strictness);
      const set = (key, value) =>
        page.evaluate(
          ([name, wanted]) => window.sidelight.tabs[0].setControlValue(name, wanted),
          [key, value],
        );
      await set("daemon.results_per_note", 3);
      assert.equal((await daemon.call("settings/get")).settings.results_per_note, 3);
      await set("daemon.user_words", "知识图谱\n\n  终值定理 ");
      assert.deepEqual((await daemon.call("settings/get")).settings.user_words, [
        "知识图谱",
        "终值定理",
      ]);
      await set("daemon.credibility", "剪藏/ = 论坛\nsource:Team wiki = 0.8");
      assert.deepEqual((await daemon.call("settings/get")).settings.credibility, [
        "剪藏/ = 论坛",
        "source:Team wiki = 0.8",
      ]);
      await set("daemon.fusion", "rrf_confident");
      assert.equal((await daemon.call("settings/get")).settings.fusion, "rrf_confident");
      await set("daemon.fusion", "evidence");
      await set("daemon.credibility", "");
      await set("daemon.results_per_note", 0);
      assert.ok((await page.evaluate(() => window.notices.length)) > 0);
      await set("daemon.user_words", "");
      await set("daemon.results_per_note", 2);
      await daemon.settled();
    }));

  it("shows that it is indexing, and new notes without a key pressed", () =>
    onPage({}, async (page) => {
      await ready(page);
      await ask(page, "zeppelin hangar");
      const long = Array.from(
        { length: 400 },
        (_, i) => `## Part ${i}\n\nThe zeppelin hangar has door number ${i}.\n`,
      );
      await world.write("Zeppelin.md", `# Zeppelin\n\n${long.join("\n")}`);
      await page.waitForFunction(
        () => document.querySelector(".sidelight-answer").textContent.includes("Zeppelin"),
        null,
        { timeout: 60_000 },
      );
      await world.remove("Zeppelin.md");
    }));

  it("survives that the daemon is killed and comes back on another port", () =>
    onPage({}, async (page) => {
      await ready(page);
      await ask(page, "Kalman");
      const before = (await listed(page)).map((one) => one.ref);
      await daemon.stop("SIGKILL");
      await page.locator(".sidelight-banner[data-state^=offline]").waitFor();
      assert.deepEqual(
        (await listed(page)).map((one) => one.ref),
        before,
        "the list stays",
      );
      await shoot(page, "lost-light-en");
      await page.locator(".sidelight-passage").first().click();
      await page.waitForFunction(
        () => (window.app.workspace.recent?.view.editor.getSelection() ?? "") !== "",
      );
      daemon = await startDaemon(world, pages.origin);
      await ready(page);
      await ask(page, "拿铁");
      assert.ok((await listed(page)).length > 0);
    }));

  it("shows progress, a pause and time left", () =>
    onPage({ language: "zh", theme: "dark" }, async (page) => {
      await ready(page);
      // The daemon is done with so small a vault before anyone can look: its notification, by
      // hand, and again where one of the daemon's own (its model has just loaded) came after it.
      const shown = /1,234 \/ 5,000 · 还需约 2 分钟/;
      let text = "";
      let percent = "";
      for (let tries = 0; tries < 60 && !(shown.test(text) && percent === "25"); tries++) {
        await page.evaluate(() =>
          window.sidelight.service.client.receive(
            JSON.stringify({
              jsonrpc: "2.0",
              method: "index/progress",
              params: { phase: "vectors", done: 1234, total: 5000, rate: 40, seconds_left: 94 },
            }),
          ),
        );
        await page.waitForTimeout(100);
        text = (await banner(page, "indexing").textContent()) ?? "";
        percent = (await page.locator("[role=progressbar]").getAttribute("aria-valuenow")) ?? "";
      }
      assert.match(text, shown);
      assert.equal(percent, "25");
      await shoot(page, "indexing-dark-zh");
    }));
});

// Every state of the sidebar against what is stored of it in stored/: light and dark, narrow and
// wide, English and Chinese. `npm run e2e -- --update stored` writes the files anew.
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  ask,
  launchBrowser,
  makeWorld,
  openNote,
  openSidebar,
  root,
  runCommand,
  servePages,
  speakProtocol,
  startDaemon,
} from "./lib.mjs";
import { coarsePicture, differences, renderingOf } from "./rendering.mjs";

const stored = join(root, "tests", "e2e", "stored");
const shots = join(root, "artifacts", "screenshots");
const updates = process.env.SIDELIGHT_E2E_UPDATE === "1";

const LOOKS = [
  { name: "light-en", theme: "light", language: "en", width: 340 },
  { name: "dark-zh", theme: "dark", language: "zh", width: 340 },
  { name: "light-zh-narrow", theme: "light", language: "zh", width: 250 },
  { name: "dark-en-narrow", theme: "dark", language: "en", width: 250 },
];

// Few notes, far from one another: no change of the ranking shall change a picture.
const NOTES = {
  "Control/Closed loop.md":
    "# Closed loop\n\n## Steady state error\n\nA higher loop gain makes the steady state error smaller, see [[拉普拉斯变换#终值定理]]. The Kalman filter is another matter.\n",
  "Control/拉普拉斯变换.md":
    "# 拉普拉斯变换\n\n## 终值定理\n\n终值定理给出时间趋于无穷时的稳态值。\n",
  "Control/Kalman filter.md": "# Kalman filter\n\nIt blends a prediction and a measurement.\n",
  "Diary/2024-10-03.md": "# 2024-10-03\n\n## 收据\n\n桂花乌龙生椰拿铁 大杯 28元\n",
  "Diary/Monday.md": "# Monday\n\nThe closed loop was on the blackboard.\n",
};

let browser, pages, world, daemon;

before(async () => {
  await mkdir(shots, { recursive: true });
  await mkdir(stored, { recursive: true });
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

const SEARCH = '[data-type="sidelight-search"] .view-content';
const RELATED = '[data-type="sidelight-related"] .view-content';
const ready = (page) => page.waitForFunction(() => window.sidelight.service.ready);

/** What the plugin would show if the service said so; its own notifications are held back. */
function told(page, changes) {
  return page.evaluate((values) => {
    const { service } = window.sidelight;
    service.client.receive = () => undefined;
    const index = { ...service.index, ...values.index };
    Object.assign(service, { ...values, index });
    service.announce();
  }, changes);
}

const PROGRESS = { done: 0, total: 0, rate: 0, seconds_left: null };
const degraded = (reason, partial) => [{ channel: "vector", reason, partial }];

// How each state is reached, and what of the page it is. All but `needs: "nobody"` have the daemon.
const STATES = {
  empty: { go: async () => undefined },
  // One direct passage: the one that it links to comes along.
  results: { data: { limit: 1 }, go: (page) => found(page, "steady state error gain") },
  chinese: { go: (page) => found(page, "拿铁") },
  filtered: { go: (page) => found(page, "path:Diary/ 2024") },
  "no-evidence": {
    go: async (page) => {
      await ask(page, "qwzzkx flurbolog");
      await page.locator(".sidelight-noevidence").waitFor();
    },
  },
  changed: {
    go: async (page) => {
      await found(page, "prediction measurement");
      await patch(page, { status: "source_changed", match: "exact", start_line: 7, end_line: 9 });
    },
  },
  edited: {
    go: async (page) => {
      await found(page, "prediction measurement");
      await patch(page, { status: "source_changed", match: "similar" });
    },
  },
  gone: {
    go: async (page) => {
      await found(page, "prediction measurement");
      await page.evaluate(() => {
        const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
        leaf.view.list.markGone(leaf.view.session.state.answer.result.results[0].ref);
      });
    },
  },
  indexing: {
    go: (page) =>
      told(page, {
        progress: {
          ...{ phase: "vectors", done: 1234, total: 5000, rate: 40, seconds_left: 94 },
          reason: "the embedding model changed",
        },
      }),
  },
  paused: {
    go: async (page) => {
      await daemon.call("index/pause");
      await page.locator('[data-state="paused"]').waitFor();
    },
    leave: () => daemon.call("index/resume"),
  },
  waiting: { go: (page) => told(page, { progress: { ...PROGRESS, phase: "waiting" } }) },
  loading: { go: (page) => told(page, { degraded: degraded("the model is being loaded", false) }) },
  "words-only": {
    go: async (page) => {
      await told(page, {
        degraded: degraded("The default embedding model is not built yet. Run it.", false),
      });
      await page.locator(".sidelight-details summary").click();
    },
  },
  degraded: {
    go: async (page) => {
      await told(page, { degraded: degraded("12 of 30 passages are embedded so far", true) });
      await page.locator(".sidelight-details summary").click();
    },
  },
  nothing: {
    go: async (page) => {
      await daemon.call("settings/set", { values: { excluded: ["*"] } });
      await page.locator('[data-state="nothing"]').waitFor({ timeout: 60_000 });
    },
    leave: async () => {
      await daemon.call("settings/set", { values: { excluded: [] } });
      await daemon.settled();
    },
  },
  failed: {
    part: ".modal",
    go: async (page) => {
      const error = "larger than 10 MB (setting max_note_bytes)";
      await told(page, { index: { failed: [{ path: "Huge.md", error, problems: [] }] } });
      await page.locator('[data-action="show-failed"]').click();
    },
  },
  mismatch: {
    go: async (page) => {
      await speakProtocol(page, 99);
      await page.locator('[data-state="mismatch-daemon"]').waitFor();
    },
  },
  related: {
    part: RELATED,
    data: { showChannels: false }, // places among all passages, which any ranking may change
    go: async (page) => {
      await openNote(page, "Control/Closed loop.md");
      await runCommand(page, "related");
      await page.locator(".sidelight-mention").first().waitFor();
    },
  },
  menu: {
    part: ".menu",
    go: async (page) => {
      await ask(page, "拿铁");
      await page.locator(".sidelight-passage").first().click({ button: "right" });
      await page.locator(".menu").waitFor();
    },
  },
  help: {
    go: async (page) => {
      await ask(page, "拿铁");
      await page.locator(".nav-action-button").last().click();
      await page.locator(".sidelight-syntax").waitFor();
    },
  },
  switcher: {
    part: ".prompt",
    go: async (page) => {
      await runCommand(page, "quick");
      await page.locator(".prompt-input").fill("拿铁");
      await page.locator(".suggestion-item").first().waitFor();
    },
  },
  settings: {
    part: ".modal",
    go: async (page) => {
      await page.waitForFunction(() => window.sidelight.tabs[0].daemon.gate_strictness);
      await page.setViewportSize({ width: 1100, height: 2000 });
      await page.evaluate(() => window.sidelight.openSettings());
      await page.addStyleTag({ content: ".modal { max-height: none !important }" });
      await page.locator(".setting-item").first().waitFor();
    },
  },
  offline: {
    needs: "nobody",
    go: (page) => page.locator('.sidelight-banner[data-state="offline-not-running"]').waitFor(),
  },
};

/**
 * Asks, and shows of the answer what holds the words or is linked, each at the first place: what
 * else comes near, and how near, is for the ranking to say and not for a picture.
 */
async function found(page, query) {
  await ask(page, query);
  await told(page, { progress: { ...PROGRESS, phase: "idle" } }); // nor is it tidying up
  await page.evaluate(() => {
    const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
    const { state } = leaf.view.session;
    const { result } = state.answer;
    result.results = result.results.filter(
      ({ origin, channels }) => origin === "linked" || channels.bm25 !== null,
    );
    for (const one of result.results) {
      one.evidence = 0.9;
      const { bm25, vector } = one.channels;
      for (const channel of [bm25, vector]) if (channel !== null) channel.rank = 1;
      one.channels.graph = null;
    }
    leaf.view.show(state);
  });
}

/** Shows the first answer as if its citation had been this one. */
function patch(page, citation) {
  return page.evaluate((changes) => {
    const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
    const { state } = leaf.view.session;
    Object.assign(state.answer.result.results[0].citation, changes);
    leaf.view.show(state);
  }, citation);
}

async function see(page, { part = SEARCH }) {
  await page.mouse.move(300, 700);
  await page.waitForTimeout(100);
  const lines = await renderingOf(page, part, { [world.vault]: "/vault" });
  const { x, y, width, height } = await page.locator(part).first().boundingBox();
  const clip = { x, y, width: Math.floor(width), height: Math.floor(Math.min(height, 800)) };
  return { lines, picture: await coarsePicture(page, clip) };
}

const fileOf = (state, look) => join(stored, `${state}-${look.name}.txt`);
const written = ({ lines, picture }) => `${lines.join("\n")}\n\n${picture.join("\n")}\n`;

function read(text) {
  const [lines, picture] = text.trimEnd().split("\n\n");
  return { lines: lines.split("\n"), picture: picture.split("\n") };
}

async function onState(state, look, work) {
  const data = { limit: 3, ...STATES[state].data };
  const sidebar = await openSidebar(browser, pages, world, { ...look, data });
  const { page, problems } = sidebar;
  try {
    if (STATES[state].needs !== "nobody") await ready(page);
    await STATES[state].go(page);
    await work(page);
    assert.deepEqual(problems, []);
  } finally {
    await sidebar.close();
    await STATES[state].leave?.();
  }
}

async function check(state, look) {
  await onState(state, look, async (page) => {
    const now = await see(page, STATES[state]);
    await page.screenshot({ path: join(shots, `state-${state}-${look.name}.png`) });
    const file = fileOf(state, look);
    if (updates) return writeFile(file, written(now));
    const text = await readFile(file, "utf8").catch(() => "");
    assert.notEqual(text, "", `nothing is stored for ${state}: npm run e2e -- --update stored`);
    assert.deepEqual(differences(read(text), now), []);
  });
}

describe("every state is as it is stored", () => {
  for (const [state, { needs }] of Object.entries(STATES))
    if (needs !== "nobody")
      for (const look of LOOKS) it(`${state} (${look.name})`, () => check(state, look));

  it("nothing is stored of states that are no more", async () => {
    const known = Object.keys(STATES).flatMap((state) =>
      LOOKS.map((look) => `${state}-${look.name}.txt`),
    );
    const files = await readdir(stored);
    assert.deepEqual(
      files.filter((name) => !known.includes(name)),
      [],
    );
  });

  for (const name of ["sidebar.md", "sidebar.zh.md"])
    it(`docs/${name} names every state, and no other`, async () => {
      const text = await readFile(join(root, "docs", name), "utf8");
      const named = [...text.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
      assert.deepEqual(named.sort(), Object.keys(STATES).sort());
    });
});

describe("the measure", () => {
  const [light, , narrow] = LOOKS;

  async function broken(look, work) {
    let found = [];
    await onState("results", look, async (page) => {
      const whole = await see(page, STATES.results);
      assert.deepEqual(differences(whole, await see(page, STATES.results)), []);
      await page.evaluate(work);
      found = differences(whole, await see(page, STATES.results));
    });
    return found.join("\n");
  }

  it("fails on a missing badge", async () => {
    const found = await broken(light, () => document.querySelector(".sidelight-badge").remove());
    assert.match(found, /missing: .*mod-fresh/);
  });

  it("fails on a badge of another colour", async () => {
    const found = await broken(light, () =>
      document.querySelector(".sidelight-badge").setCssStyles({ color: "red" }),
    );
    assert.match(found, /new: .*rgb\(255,0,0\)/);
  });

  it("fails on a line number that is off by one", async () => {
    const found = await broken(light, () => {
      const el = document.querySelector(".sidelight-lines");
      el.setText(el.textContent.replace(/\d+(?!.*\d)/, (line) => String(Number(line) + 1)));
    });
    assert.match(found, /new: .*Lines? 3–6/);
  });

  it("fails on one string that is not translated, also where only a reader hears it", async () => {
    const text = await broken(narrow, () =>
      document.querySelector(".sidelight-chip-text").setText("Words and meaning"),
    );
    assert.match(text, /new: .*Words and meaning/);
    const name = await broken(narrow, () =>
      document.querySelector(".nav-action-button").setAttribute("aria-label", "Collapse all"),
    );
    assert.match(name, /new: .*Collapse all/);
  });

  it("fails on a result that is missing, and on two that changed places", async () => {
    assert.notEqual(
      await broken(light, () => document.querySelector(".sidelight-passage").remove()),
      "",
    );
    const swapped = await broken(light, () => {
      const [first, second] = document.querySelectorAll(".sidelight-passage");
      first.before(second);
    });
    assert.match(swapped, /order|moved/);
  });

  it("fails on something that lies on top, which no text tells", async () => {
    const found = await broken(light, () => {
      const cover = document.body.createDiv();
      cover.setCssStyles({ position: "fixed", inset: "200px 0 100px 0", background: "black" });
    });
    assert.match(found, /of the picture differs/);
  });

  it("lets another font pass, larger by a little", async () => {
    const found = await broken(light, () =>
      document.body.setCssStyles({ fontFamily: "serif", fontSize: "103%" }),
    );
    assert.equal(found, "");
  });
});

describe("without the daemon", () => {
  before(async () => {
    await daemon.stop();
    daemon = null;
  });

  for (const look of LOOKS) it(`offline (${look.name})`, () => check("offline", look));
});

// How long does a reader wait after the pause in typing, and for what? `npm run latency`.
//
// Measured inside the page, so that the driver of the browser takes no part: from the end of the
// debounce to the frame in which the list stands, and of that the daemon's own time, the way to
// it and back, and the plugin's drawing. The sample vault, warm; `npm run latency -- 60` for
// another number of queries.
import { cp } from "node:fs/promises";
import {
  launchBrowser,
  makeWorld,
  openSidebar,
  sampleVault,
  servePages,
  startDaemon,
} from "./lib.mjs";

const QUERIES = [
  ...["integral windup", "拿铁", "怎样消除稳态误差", "backup restore", "ERR_CONN_RESET_104"],
  ...["kalman", "釉料配方", "night train", "tag:#项目", "where did the gateway restart"],
];
const WARM_UP = 5;

/** Milliseconds of each part of `count` searches, typed into the field one after another. */
export async function timesOf(page, queries, count) {
  return page.evaluate(typeAll, [queries, count + WARM_UP, WARM_UP]);
}

// Runs in the page.
async function typeAll([queries, count, warmUp]) {
  const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
  const { view } = leaf;
  const { service } = window.sidelight;
  const input = document.querySelector(".sidelight-search-row input");
  const search = service.search.bind(service);
  const times = [];
  for (let n = 0; n < count; n++) {
    const mark = {};
    service.search = async (...values) => {
      mark.asked = performance.now();
      const result = await search(...values);
      mark.answered = performance.now();
      mark.daemon = result.timing_ms.total;
      return result;
    };
    const show = view.show.bind(view);
    const drawn = new Promise((resolve) => {
      view.show = (state) => {
        const begun = performance.now();
        show(state);
        if (state.phase !== "answered") return;
        mark.drawing = performance.now() - begun;
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      };
    });
    input.value = `${queries[n % queries.length]} ${n}`;
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const shown = await drawn;
    delete view.show;
    if (n >= warmUp)
      times.push({
        all: shown - mark.asked,
        daemon: mark.daemon,
        way: mark.answered - mark.asked - mark.daemon,
        drawing: mark.drawing,
        frame: shown - mark.answered - mark.drawing,
      });
  }
  service.search = search;
  return times;
}

/** Median and 95th percentile of each part, as one line of text each. */
export function summary(times) {
  return Object.keys(times[0]).map((part) => {
    const sorted = times.map((one) => one[part]).toSorted((a, b) => a - b);
    const at = (share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(1);
    return `${part.padEnd(8)} median ${at(0.5).padStart(7)} ms   p95 ${at(0.95).padStart(7)} ms`;
  });
}

async function main() {
  const count = Number(process.argv[2] ?? 100);
  const browser = await launchBrowser();
  const pages = await servePages();
  const world = await makeWorld();
  await cp(sampleVault, world.vault, { recursive: true });
  const daemon = await startDaemon(world, pages.origin);
  try {
    await daemon.settled();
    const { page } = await openSidebar(browser, pages, world, {});
    await page.waitForFunction(() => window.sidelight.service.ready);
    console.log(`${count} searches, from the end of the debounce to the frame with the list:`);
    for (const line of summary(await timesOf(page, QUERIES, count))) console.log(line);
  } finally {
    await daemon.stop();
    await browser.close();
    await pages.close();
    await world.close();
  }
}

if (process.argv[1]?.endsWith("latency.mjs")) await main();

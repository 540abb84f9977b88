// How long does a reader wait after the pause in typing, and for what? `npm run latency`.
//
// Measured inside the page, so that the driver of the browser takes no part: from the end of the
// debounce to the frame in which the list stands, and where the time goes: the daemon and its
// stages, the way to it and back, the plugin's drawing, the browser. The sample vault, warm; `npm run latency -- 60` for
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

// Runs in the page. Each part ends where the next begins; `daemon` is what the service itself
// counted, and `way` what is left of the time until its answer arrived: writing and reading JSON,
// the socket, waiting for a thread. Layout is asked for right after drawing, so that it is a part
// of its own and not of the frame.
async function typeAll([queries, count, warmUp]) {
  const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
  const { view } = leaf;
  const { session } = view;
  const { client } = window.sidelight.service;
  const input = document.querySelector(".sidelight-search-row input");
  const now = () => performance.now();
  let mark = {};
  const run = session.run.bind(session);
  session.run = (typing) => {
    mark.begun = now();
    return run(typing);
  };
  const write = client.write.bind(client);
  client.write = (message) => {
    if (message.method === "query/search") [mark.id, mark.asked] = [message.id, now()];
    write(message);
  };
  const settle = client.settle.bind(client);
  client.settle = (id) => {
    if (id === mark.id) mark.parsed = now();
    return settle(id);
  };
  const receive = client.receive.bind(client);
  client.receive = (data) => {
    mark.arrived = now();
    receive(data);
  };
  const times = [];
  for (let n = 0; n < count; n++) {
    mark = {};
    const show = view.show.bind(view);
    const drawn = new Promise((resolve) => {
      view.show = (state) => {
        const begun = now();
        show(state);
        if (state.phase !== "answered") return;
        const end = now();
        leaf.view.contentEl.querySelector(".sidelight-answer").getBoundingClientRect();
        Object.assign(mark, {
          show: begun,
          drawn: end,
          laidOut: now(),
          result: state.answer.result,
        });
        requestAnimationFrame(() => setTimeout(() => resolve(now())));
      };
    });
    input.value = `${queries[n % queries.length]} ${n}`;
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const shown = await drawn;
    delete view.show;
    if (n < warmUp) continue;
    const { recall, total, ...stages } = mark.result.timing_ms;
    const channels = Object.entries(recall).map(([name, ms]) => [`  recall ${name}`, ms]);
    const others = Object.entries(stages).map(([name, ms]) => [`  ${name}`, ms]);
    times.push({
      all: shown - mark.begun,
      asking: mark.asked - mark.begun,
      way: mark.arrived - mark.asked - total,
      daemon: total,
      ...Object.fromEntries([...channels, ...others]),
      reading: mark.parsed - mark.arrived,
      waking: mark.show - mark.parsed,
      drawing: mark.drawn - mark.show,
      layout: mark.laidOut - mark.drawn,
      frame: shown - mark.laidOut,
    });
  }
  for (const name of ["write", "settle", "receive"]) delete client[name];
  delete session.run;
  return times;
}

/** Median and 95th percentile of each part, as one line of text each. */
export function summary(times) {
  return Object.keys(times[0]).map((part) => {
    const sorted = times.map((one) => one[part] ?? 0).toSorted((a, b) => a - b);
    const at = (share) => sorted[Math.floor((sorted.length - 1) * share)].toFixed(1);
    return `${part.padEnd(18)} median ${at(0.5).padStart(7)} ms   p95 ${at(0.95).padStart(7)} ms`;
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

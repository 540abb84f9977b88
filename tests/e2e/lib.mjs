// What the browser test needs: a vault, the real daemon, a page with the built plugin.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const sampleVault = join(root, "python", "sidelight", "sample", "vault");
const shim = join(root, "tests", "e2e", "shim");
const dist = join(root, "obsidian-plugin", "dist");
const isWindows = process.platform === "win32";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PLACES = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** The path of a Chromium, or "" where there is none; the variable CHROMIUM names one. */
export function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = [
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
    ...PLACES,
  ];
  return candidates.find((path) => existsSync(path)) ?? "";
}

export function launchBrowser() {
  return chromium.launch({
    executablePath: findChromium(),
    chromiumSandbox: false,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--force-color-profile=srgb",
      "--font-render-hinting=none",
    ],
  });
}

/** A world of its own: vault, runtime and data folders, removed by `close`. */
export async function makeWorld(files = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sidelight-e2e-")));
  const vault = join(folder, "vault");
  const runtime = join(folder, "run");
  await mkdir(vault);
  await mkdir(runtime, { mode: 0o700 });
  const env = {
    ...process.env,
    XDG_RUNTIME_DIR: runtime,
    XDG_DATA_HOME: join(folder, "data"),
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  const world = {
    folder,
    vault,
    env,
    write: (path, content) => writeNote(vault, path, content),
    read: (path) => readFile(join(vault, path), "utf8"),
    remove: (path) => rm(join(vault, path)),
    close: () => rm(folder, { recursive: true, force: true }),
  };
  for (const [path, content] of Object.entries(files)) await world.write(path, content);
  return world;
}

async function writeNote(vault, path, content) {
  const full = join(vault, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, content);
}

/** Starts the real daemon on a vault and waits until it answers and has nothing left to do. */
export async function startDaemon({ vault, env }, origin, { lexicalOnly = false } = {}) {
  const program = join(
    root,
    ".venv",
    isWindows ? "Scripts" : "bin",
    isWindows ? "sidelight.exe" : "sidelight",
  );
  const options = lexicalOnly ? ["--lexical-only"] : [];
  const child = spawn(program, ["serve", vault, "--json", "--allow-origin", origin, ...options], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const ready = await new Promise((resolve, reject) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      const line = output.split("\n").find((one) => one.includes('"ready"'));
      if (line !== undefined) resolve(JSON.parse(line));
    });
    child.once("exit", (code) => reject(new Error(`the daemon ended (${code}): ${errors}`)));
  });
  const discovery = JSON.parse(await readFile(ready.discovery, "utf8"));
  const daemon = {
    ...ready,
    pid: child.pid,
    call: (method, params = {}) => call(discovery, method, params),
    settled: () => settled(daemon),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
    },
  };
  return daemon;
}

async function call({ port, token }, method, params) {
  const response = await fetch(`http://127.0.0.1:${port}/rpc`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function settled(daemon) {
  for (let tries = 0; tries < 600; tries++) {
    const { index, progress } = await daemon.call("index/status");
    const working = ["scan", "words", "vectors", "compact"].includes(progress.phase);
    if (index.notes > 0 && index.pending === 0 && !working) return index;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the index did not settle within a minute");
}

/** Serves the page on one origin for the whole run; each page takes its own set-up. */
export async function servePages() {
  const icons = await iconScript();
  const setups = new Map();
  let nextSetup = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1");
    answer(pathname, setups.get(searchParams.get("setup")), icons).then(
      ([type, body]) => response.writeHead(200, { "Content-Type": type }).end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    add(setup) {
      const name = String(nextSetup++);
      setups.set(name, setup);
      return `${origin}/?setup=${name}`;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

async function answer(pathname, setup, icons) {
  const script = "text/javascript; charset=utf-8";
  if (pathname === "/") {
    const page = await readFile(join(shim, "index.html"), "utf8");
    const inline = `<script>window.__setup = ${JSON.stringify(setup).replaceAll("<", "\\u003c")}</script>`;
    return ["text/html; charset=utf-8", page.replace('<script src="/setup.js"></script>', inline)];
  }
  if (pathname === "/favicon.ico") return ["image/x-icon", ""];
  if (pathname === "/icons.js") return [script, icons];
  if (pathname === "/styles.css") return ["text/css", await readFile(join(dist, "styles.css"))];
  if (pathname === "/plugin.js") {
    const main = await readFile(join(dist, "main.js"), "utf8");
    return [script, `export default function (require, module, exports) {\n${main}\n}`];
  }
  const file = join(shim, pathname.replace("/shim/", ""));
  if (dirname(file) !== shim) throw new Error("outside the shim");
  return [file.endsWith(".css") ? "text/css" : script, await readFile(file)];
}

// The icons whose names stand in the built plugin or in the stand-in for Obsidian.
async function iconScript() {
  const folder = join(root, "node_modules", "lucide-static", "icons");
  const main = await readFile(join(dist, "main.js"), "utf8");
  const icons = {};
  for (const file of await readdir(folder))
    if (file === "check.svg" || main.includes(`"${file.slice(0, -4)}"`))
      icons[file.slice(0, -4)] = (await readFile(join(folder, file), "utf8")).replace(
        /<!--.*?-->\s*/s,
        "",
      );
  return `window.__lucide = ${JSON.stringify(icons)};`;
}

/**
 * A page with the plugin loaded and its sidebar open.
 *
 * @param setup language, theme, width of the sidebar, data.json, device-local storage.
 */
export async function openSidebar(browser, pages, world, setup = {}) {
  const { language = "en", theme = "light", width = 340, data = null, storage = {} } = setup;
  const manifest = JSON.parse(await readFile(join(root, "manifest.json"), "utf8"));
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  page.on("console", (message) => {
    const isNetwork = message.text().includes("WebSocket connection");
    if (message.type() === "error" && !isNetwork) problems.push(message.text());
  });
  const started = [];
  await page.exposeFunction("__node", (name, values) => nodeCall(world, started, name, values));
  const system = {
    platform: process.platform,
    env: pick(world.env, ["XDG_RUNTIME_DIR", "LOCALAPPDATA"]),
    uid: process.getuid?.() ?? null,
    home: homedir(),
    temporary: tmpdir(),
  };
  await page.goto(pages.add({ vault: world.vault, manifest, language, data, storage, system }));
  await page.waitForFunction(() => window.ready === true);
  await page.evaluate(
    ([name, pixels]) => {
      document.body.className = `theme-${name}`;
      document.body.style.setProperty("--sidebar-width", `${pixels}px`);
    },
    [theme, width],
  );
  await runCommand(page, "open");
  return { page, problems, started, close: () => context.close() };
}

export function runCommand(page, id) {
  return page.evaluate((name) => {
    const command = window.sidelight.commands.find((one) => one.id === name);
    if (command === undefined) throw new Error(`no command ${name}`);
    if (command.checkCallback) return command.checkCallback(false);
    if (command.callback) return command.callback();
    const { view } = window.app.workspace.recent;
    return command.editorCallback(view.editor, view);
  }, id);
}

/** Opens a note in the main area, as a click in the file list does. */
export function openNote(page, path) {
  return page.evaluate(async (name) => {
    const { vault, workspace } = window.app;
    await workspace.getLeaf(false).openFile(vault.getFileByPath(name));
  }, path);
}

function pick(values, names) {
  return Object.fromEntries(
    names.filter((name) => values[name]).map((name) => [name, values[name]]),
  );
}

// The calls of the shim's Node modules and vault, answered by this process.
async function nodeCall(world, started, name, values) {
  const [first, second] = values;
  switch (name) {
    case "readFile":
      return readFile(first, "utf8");
    case "realpath":
      return realpath(first);
    case "stat":
      return stat(first).then(
        ({ dev, ino, uid, mode }) => ({ dev, ino, uid, mode }),
        () => null,
      );
    case "spawn":
      started.push(first);
      return new Promise(() => undefined);
    case "listVault":
      return listVault(world.vault);
    case "readVault":
      return readFile(join(world.vault, first), "utf8");
    case "writeVault":
      return writeNote(world.vault, first, second);
    default:
      throw new Error(`unknown call ${name}`);
  }
}

async function listVault(vault) {
  const entries = await readdir(vault, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  return Promise.all(
    files.map(async (entry) => {
      const full = join(entry.parentPath ?? entry.path, entry.name);
      return [relative(vault, full).split(sep).join("/"), (await stat(full)).mtimeMs];
    }),
  );
}

/** Gives a note the modification time of a moment, for tests of the order. */
export async function touch(world, path, seconds) {
  await utimes(join(world.vault, path), seconds, seconds);
}

/** Has the plugin name another protocol in its hello, to which the real daemon says what it says. */
export function speakProtocol(page, protocol) {
  return page.evaluate((number) => {
    const { client } = window.sidelight.service;
    const { connect } = client.options;
    client.options.connect = (url, events) => {
      const socket = connect(url, events);
      const send = socket.send.bind(socket);
      return {
        send: (text) => send(text.replace(/"protocol":\d+/, `"protocol":${number}`)),
        close: () => socket.close(),
      };
    };
    client.stop();
    client.start();
  }, protocol);
}

/** What the open editor shows: path, selected text and 1-based lines. */
export function opened(page) {
  return page.evaluate(() => {
    const { view } = window.app.workspace.recent ?? {};
    if (!view?.file) return null;
    const { editor } = view;
    return {
      path: view.file.path,
      selected: editor.getSelection(),
      lines: [editor.from.line + 1, editor.to.line + 1],
      mode: view.mode,
      ephemeral: view.ephemeral,
      text: editor.getValue(),
    };
  });
}

/** What the list shows, read from the page. */
export function listed(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll(".sidelight-passage")].map((el) => ({
      ref: el.dataset.ref,
      note: el.closest(".search-result").querySelector(".sidelight-title").textContent,
      headings: el.querySelector(".sidelight-headings")?.textContent ?? "",
      snippet: el.querySelector(".sidelight-snippet").textContent,
      marked: [...el.querySelectorAll(".search-result-file-matched-text")].map(
        (m) => m.textContent,
      ),
      lines: el.querySelector(".sidelight-lines")?.textContent ?? "",
      badge: el.querySelector(".sidelight-badge").textContent.trim(),
      tip: el.querySelector(".sidelight-badge").getAttribute("aria-label"),
      via: el.querySelector(".sidelight-provenance")?.textContent.trim() ?? "",
    })),
  );
}

/** Types a query and waits until its answer is shown. */
export async function ask(page, query) {
  const input = page.locator(".sidelight-search-row input");
  await input.fill(query);
  await page.waitForFunction((text) => {
    const [leaf] = window.app.workspace.getLeavesOfType("sidelight-search");
    const { phase, answer } = leaf.view.session.state;
    return phase === "failed" || (phase === "answered" && answer.question.text === text);
  }, query);
}

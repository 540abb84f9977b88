// Puts the plugin into the page as Obsidian would: modules by `require`, one vault, one workspace.
import "./dom.js";
import { notices } from "./components.js";
import { obsidian } from "./obsidian.js";
import load from "/plugin.js";

const { vault, manifest, system } = window.__setup;
const node = (call, ...values) => window.__node(call, values);

window.process = {
  platform: system.platform,
  env: system.env,
  getuid: system.uid === null ? undefined : () => system.uid,
};

const modules = {
  obsidian,
  "node:os": { homedir: () => system.home, tmpdir: () => system.temporary },
  "node:fs/promises": {
    readFile: (path) => node("readFile", path),
    realpath: (path) => node("realpath", path),
    stat: async (path) => {
      const facts = await node("stat", path);
      if (facts === null) throw new Error(`ENOENT: ${path}`);
      return facts;
    },
  },
  "node:child_process": {
    spawn: (command) => {
      const handlers = {};
      void node("spawn", command).then((code) => handlers.exit?.(code));
      return { once: (name, handler) => (handlers[name] = handler), unref: () => undefined };
    },
  },
};

const module = { exports: {} };
load((name) => modules[name], module, module.exports);

const app = new obsidian.App(vault, node);
await app.vault.rescan();
const plugin = new module.exports.default(app, manifest);
plugin.data = window.__setup.data ?? null;
for (const [key, value] of Object.entries(window.__setup.storage ?? {}))
  app.storage.set(key, value);

window.app = app;
window.sidelight = plugin;
window.notices = notices;
window.hovered = [];
app.workspace.on("hover-link", (event) => window.hovered.push(event));

await plugin.onload();
window.ready = true;

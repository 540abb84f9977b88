// Builds the folder that Obsidian loads: main.js, styles.css and manifest.json in obsidian-plugin/dist.
// The version number comes from manifest.json at the root, the only place where it stands.
import { context, build, transform } from "esbuild";
import { copyFile, mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const out = join(here, "dist");
// Review of community plugins reads main.js; the limit keeps it readable and start-up instant.
const MAX_MAIN_BYTES = 150_000;

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

const manifest = JSON.parse(await readFile(join(root, "manifest.json"), "utf8"));

// The dictionaries have the same keys (a test and the types see to it): the bundle holds them once,
// which is 10 kB less.
const dictionaries = {
  name: "dictionaries",
  setup({ onLoad }) {
    onLoad({ filter: /core[\\/]zh\.ts$/ }, async ({ path }) => {
      const [en, zh] = [await entries(join(dirname(path), "en.ts")), await entries(path)];
      const texts = JSON.stringify(Object.keys(en).map((key) => zh[key]));
      const contents = `import { en } from "./en";
        const texts = ${texts};
        export const zh = Object.fromEntries(Object.keys(en).map((key, n) => [key, texts[n]]));`;
      return { contents, loader: "js", watchFiles: [path] };
    });
  },
};

async function entries(path) {
  const options = { loader: "ts", format: "cjs" };
  const { code } = await transform(await readFile(path, "utf8"), options);
  const module = { exports: {} };
  runInNewContext(code, { module });
  return module.exports.en ?? module.exports.zh;
}

/** @type {import("esbuild").BuildOptions} */
const options = {
  entryPoints: [join(here, "src", "main.ts")],
  bundle: true,
  format: "cjs",
  target: "es2022",
  platform: "browser",
  external: ["obsidian", "electron", "node:*", "@codemirror/*"],
  define: { SIDELIGHT_VERSION: JSON.stringify(manifest.version) },
  charset: "utf8",
  minify: production,
  sourcemap: production ? false : "inline",
  treeShaking: true,
  outfile: join(out, "main.js"),
  plugins: [dictionaries],
  logLevel: "info",
};

await mkdir(out, { recursive: true });
await copyFile(join(here, "styles.css"), join(out, "styles.css"));
await copyFile(join(root, "manifest.json"), join(out, "manifest.json"));

if (watch) {
  const running = await context(options);
  await running.watch();
} else {
  await build(options);
  const { size } = await stat(join(out, "main.js"));
  if (production && size > MAX_MAIN_BYTES) {
    console.error(`main.js has ${size} bytes; the limit is ${MAX_MAIN_BYTES}.`);
    process.exit(1);
  }
}

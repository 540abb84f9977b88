// Builds the folder that Obsidian loads: main.js, styles.css and manifest.json in obsidian-plugin/dist.
// The version number comes from manifest.json at the root, the only place where it stands.
import { context, build } from "esbuild";
import { copyFile, mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const out = join(here, "dist");
// Review of community plugins reads main.js; the limit keeps it readable and start-up instant.
const MAX_MAIN_BYTES = 150_000;

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

const manifest = JSON.parse(await readFile(join(root, "manifest.json"), "utf8"));

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

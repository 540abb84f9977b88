import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const manifest = JSON.parse(readFileSync(new URL("../manifest.json", import.meta.url), "utf8")) as {
  version: string;
};

export default defineConfig({
  define: { SIDELIGHT_VERSION: JSON.stringify(manifest.version) },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});

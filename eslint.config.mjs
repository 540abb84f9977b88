// Runs from the repository root, where the rules of eslint-plugin-obsidianmd find manifest.json.
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import obsidianmd from "eslint-plugin-obsidianmd";

const IMPORT_OBSIDIAN = {
  name: "obsidian",
  message: "core/ and bridge/ run in plain Node: nothing of Obsidian, not even its types.",
};
const IMPORT_NODE = {
  group: ["node:*", "fs", "os", "path", "child_process", "crypto", "electron"],
  message: "Node's modules are reached through src/desktop.ts alone.",
};

export default defineConfig([
  globalIgnores([
    "**/node_modules/**",
    "**/dist/**",
    "main.js",
    ".venv/**",
    "artifacts/**",
    "python/**",
    "docs/**",
    "tests/fixtures/**",
  ]),
  ...obsidianmd.configs.recommendedWithLocalesEn,
  {
    files: ["**/*.ts"],
    languageOptions: { parserOptions: { projectService: true } },
  },
  {
    files: ["**/en.ts"],
    rules: {
      "obsidianmd/ui/sentence-case-locale-module": [
        "warn",
        {
          brands: ["Sidelight", "Obsidian", "Flatpak", "Snap", "Chinese"],
          acronyms: ["MB"],
          // Parts of sentences ("about 3 min left"), and queries and commands to be typed.
          ignoreRegex: ["^[^A-Z]", "ERR_|OR |#|:|“|\\{"],
        },
      ],
    },
  },
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: globals.node },
  },
  {
    // Run in Node or stand in for Obsidian itself; never shipped.
    files: ["obsidian-plugin/test/**", "tests/e2e/**", "**/*.config.mjs"],
    rules: {
      "obsidianmd/prefer-window-timers": "off",
      "obsidianmd/rule-custom-message": "off",
      "obsidianmd/hardcoded-config-path": "off",
      "no-restricted-globals": "off",
    },
  },
  {
    files: ["obsidian-plugin/src/**/*.ts"],
    ignores: ["obsidian-plugin/src/desktop.ts"],
    rules: { "no-restricted-imports": ["error", { patterns: [IMPORT_NODE] }] },
  },
  {
    files: ["obsidian-plugin/src/core/**/*.ts", "obsidian-plugin/src/bridge/**/*.ts"],
    rules: {
      "no-restricted-imports": ["error", { paths: [IMPORT_OBSIDIAN], patterns: [IMPORT_NODE] }],
    },
  },
]);

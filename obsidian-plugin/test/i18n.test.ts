import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DICTIONARIES, fill, lookUp, t, useLanguage } from "../src/core/i18n";
import { SYNTAX } from "../src/core/syntax";

const { en, zh } = DICTIONARIES;
const keys = Object.keys(en) as (keyof typeof en)[];

// Equal in both languages on purpose: queries in no language, and formats.
const SAME = [
  "channel.rank",
  "syntax.regex",
  "syntax.property",
  "remedy.BRIDGE_UNAVAILABLE",
  "remedy.CANCELLED",
  "remedy.PATH_REFUSED",
];

const placeholders = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{(\w+)/g)].map((match) => match[1] ?? ""))].sort();

describe("the two dictionaries", () => {
  it("have the same keys", () => {
    expect(Object.keys(zh).sort()).toEqual([...keys].sort());
  });

  it("leave no string untranslated", () => {
    const untranslated = keys.filter((key) => en[key] === zh[key] && !SAME.includes(key));
    expect(untranslated).toEqual([]);
    const notChinese = keys.filter(
      (key) => en[key] !== zh[key] && !/\p{Script=Han}|[、：]/u.test(zh[key]),
    );
    expect(notChinese.filter((key) => key !== "banner.indexing.count")).toEqual([]);
  });

  it("fill the same placeholders", () => {
    for (const key of keys)
      expect([key, placeholders(zh[key])]).toEqual([key, placeholders(en[key])]);
  });

  it("hold every string the source asks for by a computed key", () => {
    const families: Record<string, string[]> = {
      "badge.": ["fresh", "changed", "similar", "gone"],
      "mode.": ["hybrid", "lexical", "semantic", "coverage"],
      "sort.": ["relevance", "modified", "name"],
      "phase.": ["scan", "words", "vectors", "compact"],
      "channel.": ["metadata", "bm25", "vector"],
      "reason.": ["no_hits", "below_threshold", "unresolvable", "index_incomplete"],
      "banner.offline.": ["not_running", "stale", "unsafe", "damaged", "refused", "lost"],
    };
    for (const [prefix, names] of Object.entries(families))
      for (const name of names) expect(lookUp(prefix + name), prefix + name).toBeDefined();
  });
});

it("no text for people stands in the interface's source outside the dictionaries", () => {
  const folder = new URL("../src/ui/", import.meta.url);
  const literal =
    /(?:text|title|placeholder): "[^"]*[A-Za-z]{3}|setText\("|Notice\("|aria-label", "/;
  for (const file of readdirSync(folder))
    expect([file, literal.exec(readFileSync(new URL(file, folder), "utf8"))?.[0]]).toEqual([
      file,
      undefined,
    ]);
});

describe("t", () => {
  it("follows Obsidian's language", () => {
    expect(useLanguage("zh-TW")).toBe("zh");
    expect(t("action.start")).toBe("启动");
    expect(useLanguage("de")).toBe("en");
    expect(t("action.start")).toBe("Start");
  });

  it("chooses singular and plural and groups digits", () => {
    expect(fill("{n} {n|note|notes}", { n: 1 }, "en")).toBe("1 note");
    expect(fill("{n} {n|note|notes}", { n: 2009 }, "en")).toBe("2,009 notes");
  });

  it("never reads a replaced text again as a template", () => {
    expect(fill("“{query}”", { query: "{n} $& {query}" }, "en")).toBe("“{n} $& {query}”");
  });

  it("finds nothing under names that every object has", () => {
    expect(lookUp("constructor")).toBeUndefined();
  });
});

it("every example of the query syntax is unlike the others", () => {
  for (const dictionary of [en, zh]) {
    const examples = SYNTAX.map(({ example }) => dictionary[example]);
    expect(new Set(examples).size).toBe(examples.length);
  }
});

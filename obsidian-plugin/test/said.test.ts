import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { useLanguage } from "../src/core/i18n";
import { inReadersWords } from "../src/core/said";

afterEach(() => {
  useLanguage("en");
});

// Where the service has sentences without a code that reach the sidebar.
const SOURCES: readonly [file: string, sentence: RegExp][] = [
  ...readdirSync(python("query"))
    .filter((name) => name.endsWith(".py"))
    .map((name) => [`query/${name}`, /Degraded\([\w"]+, f?"([^"]+)"/g] as [string, RegExp])
    .filter(([file, pattern]) => sentences(file, pattern).length > 0),
  ["indexing/models_in_use.py", /(?:LOADING|self\.following) = "([^"]+)"/g],
  ["indexing/facts.py", /^ {4}"\w+": "([^"]+)",$/gm],
  ["engine.py", /(?:damaged|_anew) = "([^"]+)"|no_vectors = "([^"]+)"/g],
  ["engine.py", /todo\.append\("([^"]+)"\)/g],
  ["indexing/coverage.py", /reason = "([^"]+)"|error=f"([^"]+)"|None, "([^"]+)", \(\)/g],
  ["indexing/pipeline.py", /_failed\(entry, f"([^"]+)"\)/g],
];

function python(path: string): URL {
  return new URL(`../../python/sidelight/${path}`, import.meta.url);
}

function sentences(file: string, pattern: RegExp): string[] {
  return [...readFileSync(python(file), "utf8").matchAll(pattern)].map((match) =>
    (match.slice(1).find((group) => group !== undefined) ?? "").replace(/\{[^{}]*\}/g, "7"),
  );
}

describe("inReadersWords", () => {
  for (const [file, pattern] of SOURCES)
    it(`knows every sentence of ${file}`, () => {
      const found = sentences(file, pattern);
      expect(found.length).toBeGreaterThan(0);
      useLanguage("zh");
      for (const sentence of found)
        expect([sentence, inReadersWords(sentence)]).toEqual([
          sentence,
          expect.stringMatching(/\p{Script=Han}/u),
        ]);
    });

  it("knows what a scan of the vault leaves out", () => {
    const found = [
      ...readFileSync(python("vault/files.py"), "utf8").matchAll(/Problem\("[\w-]+", "([^"]+)"\)/g),
    ];
    expect(found.length).toBe(5);
    useLanguage("zh");
    for (const [, sentence = ""] of found)
      expect(inReadersWords(`${sentence} Remove it.`)).toMatch(/\p{Script=Han}/u);
  });

  it("is asked about all that can be missing from a search", () => {
    const files = SOURCES.map(([file]) => file).filter((file) => file.startsWith("query/"));
    expect(files.length).toBeGreaterThanOrEqual(3);
  });

  it("keeps the figures and joins several reasons", () => {
    useLanguage("zh");
    expect(inReadersWords("12 of 30 passages are embedded so far")).toBe(
      "目前 30 个段落中有 12 个可按语义搜索。",
    );
    expect(inReadersWords("the form of the index changed and the embedding model changed")).toBe(
      "索引的格式变了，并且语言模型换了",
    );
  });

  it("speaks English, too, and shows what it does not know as it came", () => {
    expect(inReadersWords("failed (OSError)")).toBe("It failed (OSError).");
    useLanguage("zh");
    expect(inReadersWords("something new and strange")).toBe("something new and strange");
    expect(inReadersWords("")).toBe("");
  });
});

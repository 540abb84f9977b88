import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { useLanguage } from "../src/core/i18n";
import { inReadersWords } from "../src/core/said";

afterEach(() => {
  useLanguage("en");
});

// Where the service has sentences without a code that reach the sidebar.
const SOURCES: readonly [file: string, sentence: RegExp][] = [
  ["query/recall.py", /Degraded\(\w+, f?"([^"]+)"/g],
  ["query/answer.py", /Degraded\("\w+", f?"([^"]+)"/g],
  ["query/rerank.py", /Degraded\("\w+", f?"([^"]+)"/g],
  ["query/pipeline.py", /Degraded\("\w+", f?"([^"]+)"/g],
  ["indexing/models_in_use.py", /(?:LOADING|self\.following) = "([^"]+)"/g],
  ["indexing/facts.py", /^ {4}"\w+": "([^"]+)",$/gm],
  ["engine.py", /damaged = "([^"]+)"|no_vectors = "([^"]+)"/g],
  ["indexing/coverage.py", /reason = "([^"]+)"|error=f"([^"]+)"|None, "([^"]+)", \(\)/g],
  ["indexing/pipeline.py", /failed_note\(entry, f"([^"]+)"\)/g],
];

function sentences(file: string, pattern: RegExp): string[] {
  const url = new URL(`../../python/sidelight/${file}`, import.meta.url);
  return [...readFileSync(url, "utf8").matchAll(pattern)].map((match) =>
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
    const url = new URL("../../python/sidelight/vault/files.py", import.meta.url);
    const found = [...readFileSync(url, "utf8").matchAll(/Problem\("[\w-]+", "([^"]+)"\)/g)];
    expect(found.length).toBe(5);
    useLanguage("zh");
    for (const [, sentence = ""] of found)
      expect(inReadersWords(`${sentence} Remove it.`)).toMatch(/\p{Script=Han}/u);
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

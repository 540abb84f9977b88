import { beforeEach, describe, expect, it } from "vitest";
import { diffText } from "../src/core/diff";
import { chainOf, channelsOf, citationInWords, explain, matchedNames } from "../src/core/explain";
import {
  folderOf,
  groupResults,
  WEAK_EVIDENCE,
  shownHeadings,
  titleOf,
} from "../src/core/grouping";
import { HistoryWalk, remember } from "../src/core/history";
import { useLanguage } from "../src/core/i18n";
import { asList, asQuotation, lineRange, plainWikilink, subpathFor } from "../src/core/links";
import { isUnlinked, sectionLine } from "../src/core/related";
import { sameWordsIn, segmentsOf } from "../src/core/segments";
import { wordsOf } from "../src/core/terms";
import { hasTable, tidied, type TidyHints } from "../src/core/tidy";
import { DEFAULT_SETTINGS, settingsFrom } from "../src/settings";
import { citation, result } from "./answers";

beforeEach(() => {
  useLanguage("en");
});

const marked = (text: string, ranges: [number, number][]): string =>
  segmentsOf(text, ranges)
    .map((segment) => (segment.marked ? `[${segment.text}]` : segment.text))
    .join("");

describe("segmentsOf", () => {
  it("marks words, Chinese included", () => {
    expect(marked("the closed loop", [[4, 10]])).toBe("the [closed] loop");
    expect(marked("开环增益与稳态误差", [[5, 9]])).toBe("开环增益与[稳态误差]");
  });

  it("counts UTF-16 units and never cuts an emoji in two", () => {
    expect(marked("🍵 茶 tea", [[3, 4]])).toBe("🍵 [茶] tea");
    expect(marked("🍵茶", [[1, 3]])).toBe("[🍵茶]");
    expect(marked("a🍵", [[0, 2]])).toBe("[a]🍵");
  });

  it("puts overlapping, reversed and endless ranges in order", () => {
    expect(
      marked("abcdef", [
        [3, 5],
        [0, 2],
        [1, 4],
      ]),
    ).toBe("[abcde]f");
    expect(
      marked("abc", [
        [2, 1],
        [-5, 1],
        [2, 99],
        [Number.NaN, 0],
      ]),
    ).toBe("[a]b[c]");
  });

  it("loses no text", () => {
    const text = "行一\n line two 🍵 end";
    expect(
      segmentsOf(text, [
        [0, 1],
        [5, 9],
      ])
        .map((part) => part.text)
        .join(""),
    ).toBe(text);
  });
});

describe("sameWordsIn", () => {
  it("finds the marked words of the snippet in the whole passage", () => {
    const text = "Loop. A loop (closed LOOP).";
    const hits = sameWordsIn(text, "A loop", [[2, 6]]);
    expect(hits.map(([start, end]) => text.slice(start, end))).toEqual(["Loop", "loop", "LOOP"]);
  });

  it("takes words literally", () => {
    expect(sameWordsIn("C++ and C", "C++", [[0, 3]])).toEqual([[0, 3]]);
    expect(sameWordsIn("a/b-c", "a/b-c", [[0, 5]])).toEqual([[0, 5]]);
    expect(sameWordsIn("anything", "…", [])).toEqual([]);
  });
});

describe("groupResults", () => {
  const results = [
    result({ ref: "a1", path: "B.md", title: "B" }),
    result({ ref: "b1", path: "A.md", title: "A" }),
    result({ ref: "a2", path: "B.md", title: "B" }),
    result({ ref: "l1", path: "C.md", title: "C", origin: "linked" }),
  ];

  it("keeps the order of the answer and of the passages of one note", () => {
    const { direct, linked } = groupResults(results, "relevance", () => 0);
    expect(direct.map((group) => [group.path, ...group.passages.map((one) => one.ref)])).toEqual([
      ["B.md", "a1", "a2"],
      ["A.md", "b1"],
    ]);
    expect(linked.map((group) => group.path)).toEqual(["C.md"]);
  });

  it("keeps weak passages apart, unless nothing is strong", () => {
    const found = [0.9, 0.2, 0.19, 0].map((evidence, i) =>
      result({ ref: String(i), path: `${i}.md`, evidence }),
    );
    const { direct, weaker } = groupResults(found, "relevance", () => 0);
    expect([direct.length, weaker.length]).toEqual([2, 2]);
    const chain = { rank: 1, score: WEAK_EVIDENCE, chain: ["知识图谱", "PMI", "共现统计"] };
    const led = found.map((one) => ({ ...one, channels: { ...one.channels, graph: chain } }));
    expect(groupResults(led, "relevance", () => 0).weaker).toEqual([]);
    const all = groupResults(found.slice(2), "relevance", () => 0);
    expect([all.direct.length, all.weaker.length]).toEqual([2, 0]);
  });

  it("sorts by name and by modification", () => {
    expect(groupResults(results, "name", () => 0).direct.map((group) => group.path)).toEqual([
      "A.md",
      "B.md",
    ]);
    const modified = (path: string): number => (path === "A.md" ? 2 : 1);
    expect(groupResults(results, "modified", modified).direct[0]?.path).toBe("A.md");
  });

  it("reads paths", () => {
    expect([
      titleOf("a/b.MD"),
      titleOf("x.canvas"),
      folderOf("a/b/c.md"),
      folderOf("c.md"),
    ]).toEqual(["b", "x.canvas", "a/b", ""]);
  });

  it("does not repeat a title as a heading", () => {
    expect(shownHeadings({ title: "T", heading_path: ["T", "H"] })).toEqual(["H"]);
    expect(shownHeadings({ title: "T", heading_path: ["G", "H"] })).toEqual(["G", "H"]);
  });
});

describe("diffText", () => {
  const applied = (before: string, after: string): [string, string] => {
    const parts = diffText(before, after);
    const side = (skip: string): string =>
      parts
        .filter((part) => part.change !== skip)
        .map((part) => part.text)
        .join("");
    return [side("added"), side("removed")];
  };

  it("gives both texts back, whatever they are", () => {
    let seed = 7;
    const random = (n: number): number => (seed = (seed * 48271) % 2147483647) % n;
    const alphabet = ["稳态", "误差 ", "loop", " ", "\n", "🍵", ",", "x1"];
    for (let round = 0; round < 200; round++) {
      const text = (): string =>
        Array.from({ length: random(30) }, () => alphabet[random(8)]).join("");
      const [before, after] = [text(), text()];
      expect(applied(before, after)).toEqual([before, after]);
    }
    const long = "word ".repeat(4000);
    expect(applied(long, `${long}end`)).toEqual([long, `${long}end`]);
  });

  it("shows one changed Chinese character alone", () => {
    expect(diffText("稳态误差大", "稳态误差小").filter((part) => part.change !== "same")).toEqual([
      { change: "removed", text: "大" },
      { change: "added", text: "小" },
    ]);
  });
});

describe("links", () => {
  const cite = { start_line: 3, end_line: 5 };

  it("prefers a block id inside the cited lines, else the heading", () => {
    expect(subpathFor(cite, ["H"], [{ id: "abc", startLine: 4, endLine: 5 }], [])).toBe("#^abc");
    expect(subpathFor(cite, ["H"], [{ id: "abc", startLine: 5, endLine: 9 }], [])).toBe("#H");
    expect(subpathFor(cite, [], [], [])).toBe("");
  });

  it("names the parents of a heading that stands twice", () => {
    const headings = [
      { text: "定义", line: 1 },
      { text: "定义", line: 9 },
    ];
    expect(subpathFor(cite, ["积分", "定义"], [], headings)).toBe("#积分#定义");
    expect(subpathFor(cite, ["积分", "定义"], [], headings.slice(1))).toBe("#定义");
  });

  it("drops what would end or split the link", () => {
    expect(subpathFor(cite, ["A [[b]] | c # d ^e"], [], [])).toBe("#A b c d e");
  });

  it("tells lines in both languages", () => {
    expect([lineRange(cite), lineRange({ start_line: 7, end_line: 7 })]).toEqual([
      "Lines 3–5",
      "Line 7",
    ]);
    useLanguage("zh");
    expect([
      lineRange({ start_line: 1234, end_line: 1250 }),
      lineRange({ start_line: null, end_line: null }),
    ]).toEqual(["第 1234–1250 行", ""]);
  });

  it("quotes with link, lines and status", () => {
    expect(asQuotation(result({ text: "one\n\ntwo" }), "[[N]]")).toBe(
      "> one\n>\n> two\n>\n> [[N]] · Lines 3–5 · Current\n",
    );
  });

  it("lists all results", () => {
    expect(asList("a\nb", [result()], () => "[[N]]")).toBe(
      "Results for “a b”:\n\n- [[N]] · Lines 3–5: 开环增益越大，稳态误差越小。\n",
    );
  });

  it("writes a wikilink by path", () => {
    expect([plainWikilink("A.md", ""), plainWikilink("f/A.md", "#H")]).toEqual([
      "[[A]]",
      "[[f/A#H|A]]",
    ]);
  });
});

describe("explain", () => {
  it("says which channels found a passage and what matched", () => {
    const metadata = { rank: 1, score: 1, matched: ["title", "alias: Final value: theorem"] };
    const found = result({ channels: { metadata, bm25: { rank: 3, score: 1 }, vector: null } });
    expect(channelsOf(found).map((line) => line.label)).toEqual(["Name 1", "Words 3"]);
    expect(matchedNames(found)).toEqual(["Title", "Alias: Final value: theorem"]);
    expect(explain(found).join(" ")).toContain("place 3 by words");
    expect(explain(found).join(" ")).toContain("83%");
  });

  it("shows the chain of mentions that led to a passage", () => {
    const graph = { rank: 2, score: 0.4, chain: ["知识图谱", "PMI", "共现统计"] };
    const found = result({ channels: { metadata: null, bm25: null, vector: null, graph } });
    expect(chainOf(found)).toBe("知识图谱 → PMI → 共现统计");
    expect(explain(found).join(" ")).toContain("知识图谱 → PMI → 共现统计 (place 2 by mentions)");
    expect(channelsOf(found).map((line) => line.label)).toEqual(["Mentions 2"]);
    expect(chainOf(result({}))).toBe("");
  });

  it("tells the link that brought a linked passage", () => {
    const graph_provenance = {
      seed_ref: "r",
      seed_path: "Control/闭环.md",
      seed_heading_path: [],
      seed_rank: 2,
      seed_lines: [1, 2] as [number, number],
      link: "[[拉普拉斯变换#终值定理]]",
      link_line: 9,
      anchor: "heading" as const,
    };
    const sentences = explain(result({ origin: "linked", graph_provenance }));
    expect(sentences[0]).toContain("[[拉普拉斯变换#终值定理]]");
    expect(sentences.join(" ")).not.toContain("%");
  });

  it("explains each badge with its lines, in both languages", () => {
    const moved = { path: "a/N.md", citation: citation({ status: "source_changed" }) };
    expect(citationInWords(moved)).toContain("Lines 3–5 of a/N.md");
    const similar = {
      ...moved,
      citation: citation({ status: "source_changed", match: "similar" }),
    };
    expect(citationInWords(similar)).not.toBe(citationInWords(moved));
    useLanguage("zh");
    expect(citationInWords(moved)).toContain("第 3–5 行");
  });
});

describe("history", () => {
  it("remembers the newest first, once, and nothing blank", () => {
    expect(remember(["a", "b"], " b ")).toEqual(["b", "a"]);
    expect(remember(["a"], "  ")).toEqual(["a"]);
    const many = Array.from({ length: 80 }, (_, i) => `q${i}`);
    expect(remember(many, "x")).toHaveLength(50);
  });

  it("walks up to older, down to newer and back to the draft", () => {
    const walk = new HistoryWalk(() => ["b", "a"]);
    expect(walk.newer()).toBeNull();
    expect([walk.older("dra"), walk.older("b"), walk.older("a")]).toEqual(["b", "a", null]);
    expect([walk.newer(), walk.newer(), walk.active]).toEqual(["b", "dra", false]);
  });
});

describe("related", () => {
  it("knows the section around the cursor", () => {
    const headings = [
      { text: "一", line: 3 },
      { text: "Two", line: 9 },
    ];
    expect(sectionLine(headings, 2)).toEqual({ line: null, text: "" });
    expect(sectionLine(headings, 9).text).toBe("Two");
  });

  it("leaves out what is linked already", () => {
    expect(isUnlinked({ path: "A.md" }, { "A.md": 2 })).toBe(false);
    expect(isUnlinked({ path: "toString" }, {})).toBe(true);
  });
});

describe("settingsFrom", () => {
  it("takes nothing of the wrong form from a synced file", () => {
    const hostile = {
      limit: 1e9,
      mode: "__proto__",
      sort: ["name"],
      rerank: "yes",
      saved: [{ name: "n", query: "q", run: "rm -rf" }, { name: 1 }, null],
      startCommand: "rm -rf /",
    };
    expect(settingsFrom(hostile)).toEqual({
      ...DEFAULT_SETTINGS,
      limit: 200,
      saved: [{ name: "n", query: "q" }],
    });
    for (const nonsense of [null, 7, "x", [], undefined])
      expect(settingsFrom(nonsense)).toEqual(DEFAULT_SETTINGS);
  });
});

describe("tidied", () => {
  const shown = (
    text: string,
    marks: [number, number][],
    hints: Partial<TidyHints> = {},
  ): string => {
    const snippet = tidied({ text, highlights: marks }, { heading: "", isTable: false, ...hints });
    return marked(snippet.text, snippet.highlights);
  };

  it("leaves out the heading that stands above the snippet anyway", () => {
    expect(
      shown(
        "## 稳不稳 稳，看极点。",
        [
          [3, 5],
          [9, 10],
        ],
        { heading: "稳不稳" },
      ),
    ).toBe("稳，[看]极点。");
    expect(shown("# Loop # rest", [[2, 6]], { heading: "Loop" })).toBe("rest");
    expect(shown("## Only", [[3, 7]], { heading: "Only" })).toBe("[Only]");
    expect(shown("## Loops are", [[3, 8]], { heading: "Loop" })).toBe("[Loops] are");
  });

  it("turns table bars into dots and drops rule rows", () => {
    const text = "| 单价 | 金额 | | --- | ---: | | 拿铁 | 26 |";
    expect(shown(text, [[text.indexOf("拿铁"), text.indexOf("拿铁") + 2]], { isTable: true })).toBe(
      "单价 · 金额 · [拿铁] · 26",
    );
    expect(shown("a | b", [], {})).toBe("a | b");
    expect([
      hasTable("| a | b |\n| --- | :-: |"),
      hasTable("a | b\n-"),
      hasTable("cmd a | cmd b"),
    ]).toEqual([true, false, false]);
  });

  it("drops the stars of bold text, and of nothing else", () => {
    expect(shown("- **Predict**: push", [[4, 11]])).toBe("- [Predict]: push");
    expect(shown("2**3 and 4**5, *args **kwargs", [])).toBe("2**3 and 4**5, *args **kwargs");
  });
});

describe("wordsOf", () => {
  it("shows words, not the character pairs that are searched beside them", () => {
    const terms = ["北极熊", "北极", "北", "极熊", "熊的", "的冬", "冬眠", "眠", "qwzzk"];
    expect(wordsOf(terms, "北极熊的冬眠 qwzzk")).toEqual(["北极熊", "冬眠", "qwzzk"]);
    expect(wordsOf(["拿"], "拿")).toEqual(["拿"]);
    expect(wordsOf(["拿铁", "拿", "铁"], "拿铁")).toEqual(["拿铁"]);
  });
});

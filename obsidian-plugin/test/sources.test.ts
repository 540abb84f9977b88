import { describe, expect, it } from "vitest";
import type { SourceReport } from "../src/bridge/protocol";
import { byNote, groupResults } from "../src/core/grouping";
import { useLanguage } from "../src/core/i18n";
import {
  feedbackOf,
  isPlainText,
  joined,
  nextVerdict,
  reportText,
  sourceLine,
  waitingFor,
  webLink,
} from "../src/core/sources";
import { answer, result } from "./answers";

const own = result({ ref: "own", evidence: 0.6 });
const tea = result({ ref: "tea", source: "茶书", path: "茶.md", evidence: 0.6 });
const late = result({ ref: "late", source: "Mail", path: "mail", evidence: 0.9 });
const refs = (results: readonly { ref: string }[]): string[] => results.map(({ ref }) => ref);

describe("a fuller answer", () => {
  const shown = { results: [own, tea], late: new Set<string>() };

  it("takes the place of the list while nobody is at it", () => {
    const next = joined(shown, [late, own, tea], false);
    expect(refs(next.results)).toEqual(["late", "own", "tea"]);
    expect(next.late.size).toBe(0);
  });

  it("moves nothing under the cursor: what is new comes at the end", () => {
    const next = joined(shown, [late, own, tea], true);
    expect(refs(next.results)).toEqual(["own", "tea", "late"]);
    expect([...next.late]).toEqual(["late"]);
    const groups = groupResults(next.results, "relevance", () => 0, next.late);
    expect(groups.direct.map(({ source }) => source)).toEqual(["vault", "茶书"]);
    expect(groups.late.map(({ source }) => source)).toEqual(["Mail"]);
  });

  it("stays so when the cursor has left meanwhile, and nothing shown disappears", () => {
    const once = joined(shown, [late, own, tea], true);
    const more = result({ ref: "more", source: "Shop" });
    const twice = joined(once, [more, late, tea], false);
    expect(refs(twice.results)).toEqual(["own", "tea", "late", "more"]);
    expect([...twice.late]).toEqual(["late", "more"]);
  });

  it("brings what has changed about a result that is shown", () => {
    const both = { ...own, also_in: ["Mail"] };
    expect(joined(shown, [both, tea], true).results[0]?.also_in).toEqual(["Mail"]);
  });
});

it("notes of two sources with the same path are two groups", () => {
  const other = { ...own, ref: "other", source: "Work" };
  expect(byNote([own, other]).map(({ source }) => source)).toEqual(["vault", "Work"]);
  const entry = { kind: "records", id: "1", link: "" };
  const first = result({ source: "Things", path: "t.csv", title: "壶", entry });
  expect(byNote([first, { ...first, title: "Kettle" }])).toHaveLength(2);
});

it("tells which sources are still asked, in both languages", () => {
  const sources = [
    { name: "vault", kind: "vault", state: "answered", shown: 2, reason: "" },
    { name: "Mail", kind: "command", state: "late", shown: 0, reason: "" },
  ] as const;
  expect(waitingFor(answer({ sources: [...sources] }))).toEqual(["Mail"]);
  useLanguage("en");
  expect(sources.map(sourceLine)).toEqual(["This vault · 2 results", "Mail · still answering"]);
  useLanguage("zh");
  expect(sources.map(sourceLine)).toEqual(["本仓库 · 2 条结果", "Mail · 还在回答"]);
});

it("a second click on a verdict takes it back", () => {
  expect(nextVerdict(undefined, "helpful")).toBe("helpful");
  expect(nextVerdict("helpful", "unhelpful")).toBe("unhelpful");
  expect(nextVerdict("helpful", "helpful")).toBe("withdrawn");
});

it("a verdict keeps the ranks, and no text of the note", () => {
  const kept = feedbackOf("除垢", "s1", own, "helpful");
  expect(kept.channels).toEqual({ bm25: 2, vector: 1 });
  expect(JSON.stringify(kept)).not.toContain(own.text);
});

it("only addresses of the web are opened, and only text files", () => {
  const linked = (link: string) => webLink({ entry: { kind: "command", id: "", link } });
  expect(linked("https://example.org/a?b=c")).toBe("https://example.org/a?b=c");
  for (const link of ["", "javascript:alert(1)", "file:///etc/passwd", "smb://x", "https://a b"])
    expect(linked(link)).toBeNull();
  expect(webLink(own)).toBeNull();
  expect(["/a/b.md", "C:\\x\\笔记.TXT"].map(isPlainText)).toEqual([true, true]);
  expect(["/a/b.exe", "/a/md", "/a/b.md.sh", "/a/t.csv"].map(isPlainText)).toEqual(
    Array(4).fill(false),
  );
});

it("the settings say how a source is and why it fails", () => {
  const report: SourceReport = {
    name: "手册",
    kind: "markdown",
    description: "",
    place: "/手册",
    reachable: false,
    last_success: null,
    typical_ms: 12.4,
    error_rate: 0.25,
    paused_s: 29.2,
    reason: "There is no folder.",
    remedy: "Correct it.",
    dead_cards: ["壶"],
  };
  useLanguage("en");
  const text = reportText(report);
  for (const part of ["not reachable", "12 ms", "25%", "30 s", "There is no folder. Correct it."])
    expect(text).toContain(part);
  useLanguage("zh");
  expect(reportText(report)).toContain("不可用 · 通常 12 毫秒 · 出错 25% · 暂停 30 秒");
});

// Values of the wire for tests: valid by default, changed where a test says so.
import type { Citation, Result, SearchResult } from "../src/bridge/protocol";

export function citation(changes: Partial<Citation> = {}): Citation {
  return {
    kind: "lines",
    status: "fresh",
    match: "exact",
    start_line: 3,
    end_line: 5,
    columns: null,
    node: null,
    file_hash: "00",
    ...changes,
  };
}

export function result(changes: Partial<Result> = {}): Result {
  return {
    rank: 1,
    ref: "ref-1",
    source: "vault",
    also_in: [],
    path: "Control/闭环控制系统.md",
    title: "闭环控制系统",
    heading_path: ["稳态误差"],
    text: "开环增益越大，稳态误差越小。",
    snippet: { text: "开环增益越大，稳态误差越小。", highlights: [[7, 11]] },
    origin: "direct",
    graph_provenance: null,
    channels: { metadata: null, bm25: { rank: 2, score: 7.1 }, vector: { rank: 1, score: 0.5 } },
    rrf_score: 0.03,
    rerank_score: null,
    evidence: 0.83,
    citation: citation(),
    conflict_of: null,
    entry: null,
    via_card: null,
    ...changes,
  };
}

export function answer(changes: Partial<SearchResult> = {}): SearchResult {
  return {
    status: "ok",
    code: null,
    reasons: [],
    query: {
      text: "稳态误差",
      terms: ["稳态误差"],
      unknown_terms: [],
      filters: {},
      language: "zh",
    },
    results: [result()],
    near_misses: [],
    degraded: [],
    index: { snapshot: "s", notes: 60, chunks: 300, embedded_chunks: 300, pending: 0 },
    timing_ms: { total: 12 },
    trace: null,
    sources: [],
    cards: [],
    ...changes,
  };
}

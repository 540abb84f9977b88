import { beforeEach, expect, it } from "vitest";
import type { AskResult, Piece } from "../src/bridge/protocol";
import {
  askLine,
  AskSession,
  type AskState,
  citedPieces,
  endpointPlace,
  pieceLabel,
} from "../src/core/ask";
import { BridgeFailure } from "../src/core/failure";
import { useLanguage } from "../src/core/i18n";

interface Asked {
  text: string;
  signal: AbortSignal;
  more: (result: AskResult) => void;
  answer: (result: AskResult) => void;
  fail: (error: unknown) => void;
}

let asked: Asked[];
let states: AskState[];
let session: AskSession;

beforeEach(() => {
  useLanguage("en");
  asked = [];
  states = [];
  session = new AskSession(
    (text, more, signal) =>
      new Promise((resolve, reject) => {
        asked.push({ text, signal, more, answer: resolve, fail: reject });
      }),
    (state) => states.push(state),
  );
});

function piece(number: number, start: number | null, end: number | null): Piece {
  const citation = { kind: "lines", status: "fresh", match: "exact", start_line: start,
    end_line: end, columns: null, node: null, file_hash: null } as const; // prettier-ignore
  return { number, ref: "r", path: "窑炉.md", title: "窑炉", heading_path: [], citation, text: "",
    tokens: 1, scope: "passage", origin: "direct", evidence: 1, queries: [] }; // prettier-ignore
}

function report(changes: Partial<AskResult>): AskResult {
  return { question: "q", endpoint: "127.0.0.1:1", phase: "answering", status: "", code: null,
    reasons: [], known: "", missing: "", steps: [], evidence: [], sentences: [],
    spent: { rounds: 0, calls: 2, tokens: 1200, seconds: 3.4 }, stopped: "", ...changes }; // prettier-ignore
}

it("shows reports as they come and then the answer", async () => {
  const done = session.submit("  when is it lit?  ");
  expect(asked[0]?.text).toBe("when is it lit?");
  expect(askLine(session.state)).toBe("Looking in your notes…");
  asked[0]?.more(report({ phase: "judging" }));
  expect(askLine(session.state)).toBe("The model reads what was found…");
  asked[0]?.answer(report({ phase: "done", status: "ok" }));
  await done;
  expect(session.state.phase).toBe("answered");
  expect(askLine(session.state)).toBe("2 calls of the model, 1,200 tokens, 3 seconds");
});

it("lets a newer question stop the older one, whose reports change nothing", async () => {
  const first = session.submit("first");
  const second = session.submit("第二个");
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[0]?.more(report({ question: "first" }));
  asked[0]?.answer(report({ question: "first" }));
  await first;
  expect(session.state).toMatchObject({ phase: "running", question: "第二个", result: null });
  asked[1]?.answer(report({ question: "第二个", status: "ok", phase: "done" }));
  await second;
  expect(session.state.result?.question).toBe("第二个");
});

it("keeps what was answered when it is stopped", () => {
  void session.submit("q");
  asked[0]?.more(report({}));
  session.stop();
  expect(asked[0]?.signal.aborted).toBe(true);
  expect(session.state.phase).toBe("answered");
  session.stop();
  expect(session.state.phase).toBe("answered");
});

it("names a failure, and asks nothing for an empty question", async () => {
  const done = session.submit("q");
  asked[0]?.fail(new BridgeFailure("ASK_OFF", "off", "name one"));
  await done;
  expect(session.state).toMatchObject({ phase: "failed", failure: { code: "ASK_OFF" } });
  await session.submit("   ");
  expect(asked).toHaveLength(1);
  expect(session.state.phase).toBe("empty");
});

it("says in both languages that no model was asked without evidence", async () => {
  const done = session.submit("q");
  asked[0]?.answer(report({ phase: "done", status: "no_evidence" }));
  await done;
  expect(askLine(session.state)).toBe("No evidence in this vault. No model was asked.");
  useLanguage("zh");
  expect(askLine(session.state)).toBe("仓库里没有证据，因此没有问模型。");
});

it("lists the cited pieces alone, each with its lines", () => {
  const sentence = { text: "x", citations: [2], supported: true, removed: [] };
  const result = report({ evidence: [piece(1, 1, 2), piece(2, 3, 5)], sentences: [sentence] });
  expect(citedPieces(result).map(pieceLabel)).toEqual(["窑炉.md:3-5"]);
  expect(pieceLabel(piece(1, 4, 4))).toBe("窑炉.md:4");
  expect(pieceLabel(piece(1, null, null))).toBe("窑炉.md");
});

it("tells host and port of an address", () => {
  expect(endpointPlace("http://127.0.0.1:11434/v1")).toBe("127.0.0.1:11434");
  expect(endpointPlace("")).toBe("");
  expect(endpointPlace("no address")).toBe("");
});

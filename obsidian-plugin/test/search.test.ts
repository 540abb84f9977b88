import { beforeEach, expect, it } from "vitest";
import type { SearchResult } from "../src/bridge/protocol";
import { paramsOf } from "../src/bridge/service";
import { BridgeFailure } from "../src/core/failure";
import {
  DEBOUNCE_MS,
  type Question,
  scopeFilter,
  SearchSession,
  type SearchState,
} from "../src/core/search";
import { answer, result } from "./answers";

interface Asked {
  question: Question;
  typing: boolean;
  signal: AbortSignal;
  answer: (result: SearchResult) => void;
  fail: (error: unknown) => void;
  more: (result: SearchResult) => void;
}

let asked: Asked[];
let states: SearchState[];
let due: Map<number, () => void>;
let session: SearchSession;
let held = false;

beforeEach(() => {
  asked = [];
  states = [];
  due = new Map();
  held = false;
  let next = 0;
  session = new SearchSession(
    (question, typing, signal, more) =>
      new Promise((resolve, reject) => {
        asked.push({ question, typing, signal, answer: resolve, fail: reject, more });
      }),
    {
      set: (callback, milliseconds) => {
        expect(milliseconds).toBe(DEBOUNCE_MS);
        due.set(++next, callback);
        return next;
      },
      clear: (timer) => due.delete(timer),
    },
    (state) => states.push(state),
    { mode: "hybrid", scope: { kind: "vault" }, limit: 20, rerank: false, source: "", dig: false },
    () => held,
  );
});

function pause(): void {
  for (const [timer, callback] of [...due]) {
    due.delete(timer);
    callback();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

it("waits for a pause in typing, at most 120 ms", () => {
  expect(DEBOUNCE_MS).toBeLessThanOrEqual(120);
  session.type("拿");
  session.type("拿铁");
  expect(asked).toHaveLength(0);
  pause();
  expect(asked.map((one) => [one.question.text, one.typing])).toEqual([["拿铁", true]]);
});

it("a newer query aborts the older, whose late answer changes nothing", async () => {
  session.type("a");
  pause();
  session.type("ab");
  pause();
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[1]?.answer(answer({ status: "ok" }));
  await settled();
  asked[0]?.answer(answer({ status: "no_evidence" }));
  await settled();
  expect(session.state.answer?.question.text).toBe("ab");
  expect(session.state.answer?.result.status).toBe("ok");
});

it("keeps the previous answer until the new one is there, also when that fails", async () => {
  void session.submit("a");
  asked[0]?.answer(answer());
  await settled();
  session.type("ab");
  pause();
  expect(session.state.phase).toBe("searching");
  expect(session.state.answer?.question.text).toBe("a");
  asked[1]?.fail(new BridgeFailure("INDEX_UNAVAILABLE", "locked"));
  await settled();
  expect(session.state.phase).toBe("failed");
  expect(session.state.failure?.code).toBe("INDEX_UNAVAILABLE");
  expect(session.state.answer?.question.text).toBe("a");
});

it.each(["xylophone", "木琴"])(
  "asks for the unfinished %s once, whatever the answer",
  async (word) => {
    session.type(word);
    pause();
    asked[0]?.answer(answer({ status: "no_evidence" }));
    await settled();
    expect(asked.map((one) => one.typing)).toEqual([true]);
    expect(session.state.answer?.result.status).toBe("no_evidence");
  },
);

it("Enter searches at once and tells that the last word is finished", () => {
  session.type("lat");
  void session.submit("latte");
  pause();
  expect(asked.map((one) => [one.question.text, one.typing])).toEqual([["latte", false]]);
});

it("an emptied field ends the search and forgets the answer", async () => {
  void session.submit("a");
  session.type("");
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[0]?.answer(answer());
  await settled();
  expect(session.state.phase).toBe("empty");
  expect(session.state.answer).toBeNull();
});

it("another mode or scope searches the same words again", () => {
  void session.submit("咖啡");
  void session.change({ mode: "lexical", scope: { kind: "folder", path: "Diary" } });
  expect(asked[1]?.question).toMatchObject({ text: "咖啡", mode: "lexical" });
  expect(asked[0]?.signal.aborted).toBe(true);
});

it("refreshes quietly, but never across a search on its way", async () => {
  void session.submit("a");
  await session.refresh();
  expect(asked).toHaveLength(1);
  asked[0]?.answer(answer());
  await settled();
  void session.refresh();
  expect(asked).toHaveLength(2);
  session.clear();
  await session.refresh();
  expect(asked).toHaveLength(2);
});

it("stop ends timers and requests", () => {
  session.type("a");
  session.stop();
  expect(due.size).toBe(0);
  void session.submit("a");
  session.stop();
  expect(asked[0]?.signal.aborted).toBe(true);
});

it("puts the scope beside the query as an exact path expression", () => {
  expect(scopeFilter({ kind: "vault" })).toBe("");
  expect(scopeFilter({ kind: "note", path: "a (1)/C++.md" })).toBe(
    "path:/^a \\(1\\)\\/C\\+\\+\\.md$/",
  );
  const question = {
    text: "咖啡 OR 茶",
    mode: "hybrid",
    limit: 20,
    rerank: false,
    source: "",
    dig: false,
  } as const;
  const folder = { kind: "folder", path: "日记/2024" } as const;
  expect(paramsOf({ ...question, scope: folder }, true)).toEqual({
    text: "咖啡 OR 茶",
    mode: "hybrid",
    limit: 20,
    typing: true,
    filters: { query: "path:/^日记\\/2024\\//" },
  });
  // However much is pasted, so much is taken, and no half of a character.
  const long = `茶${"🍵".repeat(6_000)}`;
  const pasted = paramsOf({ ...question, scope: folder, text: long }, false);
  expect(pasted.text).toBe(`茶${"🍵".repeat(4_999)}`);
  expect(paramsOf({ ...question, scope: { kind: "vault" } }, false)).toEqual({
    text: "咖啡 OR 茶",
    mode: "hybrid",
    limit: 20,
  });
});

it("a fuller answer joins, and one to an older query changes nothing", async () => {
  session.type("a");
  pause();
  asked[0]?.answer(answer({ status: "ok" }));
  await settled();
  const late = result({ ref: "late", source: "Mail" });
  asked[0]?.more(answer({ results: [late, result()] }));
  expect(session.state.answer?.result.results.map(({ ref }) => ref)).toEqual(["late", "ref-1"]);
  held = true;
  const later = result({ ref: "later", source: "Shop" });
  asked[0]?.more(answer({ results: [later, late, result()] }));
  const shown = session.state.answer?.result.results.map(({ ref }) => ref);
  expect(shown).toEqual(["late", "ref-1", "later"]);
  session.type("ab");
  pause();
  asked[0]?.more(answer({ results: [] }));
  expect(session.state.answer?.result.results).toHaveLength(3);
});

it("one knowledge base is asked by its name, and digging ends with the next query", async () => {
  await Promise.race([session.submit("a"), settled()]);
  void session.change({ source: "茶书", dig: true });
  const question = asked.at(-1)?.question;
  expect(question && paramsOf(question, false)).toMatchObject({ sources: ["茶书"], dig: true });
  session.type("ab");
  expect(session.state.question).toMatchObject({ source: "茶书", dig: false });
});

it("says no evidence only once others had a moment to answer", async () => {
  const late = { name: "Mail", kind: "command", state: "late", shown: 0, reason: "" } as const;
  void session.submit("a");
  asked[0]?.answer(answer({ status: "no_evidence", results: [], sources: [late] }));
  await settled();
  expect(session.state.phase).toBe("searching");
  asked[0]?.more(answer({ status: "no_evidence", results: [], sources: [late] }));
  expect(session.state.phase).toBe("answered");
  expect(session.state.answer?.result.status).toBe("no_evidence");
  asked[0]?.more(answer({ results: [result({ source: "Mail" })] }));
  expect(session.state.answer?.result.results).toHaveLength(1);
});

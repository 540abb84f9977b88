import { beforeEach, describe, expect, it } from "vitest";
import type { Connection } from "../src/bridge/client";
import type { HelloResult, IndexStatus, Progress } from "../src/bridge/protocol";
import { useLanguage } from "../src/core/i18n";
import { bannersFor, type Situation, statusLine, timeLeft } from "../src/core/status";

beforeEach(() => {
  useLanguage("en");
});

const idle: Progress = { phase: "idle", done: 0, total: 0, rate: 0, seconds_left: null };
const index: IndexStatus = {
  index: { snapshot: "s", notes: 2009, chunks: 9000, embedded_chunks: 9000, pending: 0 },
  progress: idle,
  note: null,
  oldest_pending_s: null,
  failed: [],
};
const hello: HelloResult = {
  server: { name: "sidelight", version: "0.1.0", pid: 1 },
  protocol: 1,
  vault: "/v",
  capabilities: { methods: [], notifications: [], max_frame_bytes: 1, max_result_bytes: 1 },
  index,
};

function situation(changes: Partial<Situation> = {}): Situation {
  const connection: Connection = { kind: "ready", hello };
  return { connection, index, progress: idle, degraded: [], hasStartCommand: false, ...changes };
}

const vectorless = (reason: string): Partial<Situation> => ({
  degraded: [{ channel: "vector", reason, partial: false }],
});

describe("bannersFor", () => {
  it("says why everything is done again, in the reader's language", () => {
    const progress = { ...idle, phase: "words", total: 9, reason: "the form of the index changed" };
    expect(bannersFor(situation({ progress }))[0]?.note).toBe(
      "All of it is done again: the form of the index changed.",
    );
    useLanguage("zh");
    expect(bannersFor(situation({ progress }))[0]?.note).toBe("全部重新进行：索引的格式变了。");
  });

  it("asks for no model while it is being loaded or is not wanted", () => {
    const [loading] = bannersFor(situation(vectorless("the model is being loaded")));
    expect(loading).toMatchObject({ id: "loading", tone: "info", actions: [] });
    const [asked] = bannersFor(situation(vectorless("words only, as asked")));
    expect(asked).toMatchObject({ id: "words-only", actions: [] });
    const [missing] = bannersFor(situation(vectorless("something else")));
    expect(missing).toMatchObject({ id: "words-only", actions: ["show-model-help"] });
  });

  it("says that there is nothing to search, and that indexing waits", () => {
    const empty = { ...index, index: { ...index.index, notes: 0 } };
    expect(bannersFor(situation({ index: empty }))[0]?.id).toBe("nothing");
    const scanning = { ...idle, phase: "scan" };
    expect(bannersFor(situation({ index: empty, progress: scanning }))[0]?.id).toBe("indexing");
    const waiting = { ...idle, phase: "waiting" };
    expect(bannersFor(situation({ progress: waiting }))[0]?.id).toBe("waiting");
    const full = { ...waiting, reason: "No space left on device" };
    expect(bannersFor(situation({ progress: full }))[0]?.details).toEqual([full.reason]);
  });

  it("is silent when everything is well", () => {
    expect(bannersFor(situation())).toEqual([]);
  });

  it("says what to do when the service is not running", () => {
    const connection: Connection = { kind: "offline", why: "not_running", detail: "/run/a.json" };
    const [banner] = bannersFor(situation({ connection }));
    expect(banner).toMatchObject({ id: "offline-not-running", details: ["/run/a.json"] });
    expect(banner?.actions).toEqual(["copy-command", "set-command", "retry"]);
    const [withCommand] = bannersFor(situation({ connection, hasStartCommand: true }));
    expect(withCommand?.actions).toEqual(["start", "retry"]);
  });

  it("offers no start where starting would not help", () => {
    const connection: Connection = { kind: "offline", why: "unsafe", detail: "/tmp/x" };
    expect(bannersFor(situation({ connection }))[0]?.actions).toEqual(["retry", "settings"]);
  });

  it("tells which side is older", () => {
    for (const older of ["plugin", "daemon"] as const) {
      const connection: Connection = { kind: "mismatch", older, message: "" };
      expect(bannersFor(situation({ connection }))[0]?.id).toBe(`mismatch-${older}`);
    }
  });

  it("shows phase, count, share and time while indexing, and a pause", () => {
    const progress = { phase: "vectors", done: 500, total: 2000, rate: 40, seconds_left: 130 };
    const [banner] = bannersFor(situation({ progress }));
    expect(banner).toMatchObject({ title: "Indexing meaning", progress: 0.25, actions: ["pause"] });
    expect(banner?.detail).toBe("500 of 2,000 · about 2 min left");
    expect(bannersFor(situation({ progress: { ...progress, phase: "paused" } }))[0]?.id).toBe(
      "paused",
    );
  });

  it("tells words only from a channel that was merely late", () => {
    const gone = [{ channel: "vector", reason: "no model", partial: false }];
    expect(bannersFor(situation({ degraded: gone }))[0]?.id).toBe("words-only");
    const late = [{ channel: "bm25", reason: "no answer within 5000 ms", partial: true }];
    expect(bannersFor(situation({ degraded: late }))[0]).toMatchObject({
      id: "degraded",
      details: ["Words: There was no answer within 5000 ms."],
    });
  });

  it("counts the notes that could not be indexed", () => {
    const note = {
      path: "a",
      indexed: false,
      chunks: 0,
      embedded: 0,
      hash: null,
      error: "e",
      problems: [],
      when: null,
    };
    expect(bannersFor(situation({ index: { ...index, failed: [note] } }))[0]?.title).toBe(
      "1 note could not be indexed",
    );
  });

  it("speaks Chinese", () => {
    useLanguage("zh");
    const connection: Connection = { kind: "offline", why: "lost", detail: "" };
    expect(bannersFor(situation({ connection }))[0]?.title).toBe("搜索服务没有运行");
  });
});

it("the status bar says little", () => {
  expect(statusLine(situation())).toEqual({
    text: "",
    tooltip: "2,009 notes indexed",
    busy: false,
  });
  const progress = { phase: "words", done: 1, total: 3, rate: 1, seconds_left: null };
  expect(statusLine(situation({ progress }))).toMatchObject({ text: "33%", busy: true });
});

it("rounds the time left and says nothing where nobody knows", () => {
  expect([59, 61, 7300].map((seconds) => timeLeft(seconds))).toEqual([
    "about 59 s left",
    "about 1 min left",
    "about 2 h left",
  ]);
  expect([null, 0, Number.POSITIVE_INFINITY].map((seconds) => timeLeft(seconds))).toEqual([
    "",
    "",
    "",
  ]);
});

// The client against a daemon that answers well, late, wrongly, partially and not at all.
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { backOff, BridgeClient, type Connection } from "../src/bridge/client";
import type { Discovery } from "../src/bridge/discovery";

type Message = { id?: number; method: string; params: Record<string, unknown> };
type Behaviour = (message: Message, socket: WebSocket) => void;

let server: WebSocketServer;
let client: BridgeClient;
let received: Message[];
let behave: Behaviour;
let found: Discovery;
let connections: Connection[];

const hello = {
  server: { name: "sidelight", version: "0", pid: 1 },
  protocol: 1,
  vault: "/v",
  index: {},
};

const reply = (socket: WebSocket, message: object): void =>
  socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));

/** Answers hello and leaves the rest to `then`. */
const friendly =
  (then: Behaviour = () => undefined): Behaviour =>
  (message, socket) => {
    if (message.method === "session/hello") reply(socket, { id: message.id, result: hello });
    else then(message, socket);
  };

async function listen(port = 0): Promise<number> {
  server = new WebSocketServer({ host: "127.0.0.1", port, path: "/rpc" });
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse((data as Buffer).toString()) as Message;
      received.push(message);
      behave(message, socket);
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

function endpoint(port: number): Discovery {
  return {
    kind: "found",
    path: "/d.json",
    endpoint: { port, token: "secret", pid: 1, protocol: 1, version: "0" },
  };
}

beforeEach(async () => {
  received = [];
  connections = [];
  behave = friendly();
  found = endpoint(await listen());
  client = new BridgeClient({
    discover: () => Promise.resolve(found),
    connect: (url, events) => {
      const socket = new WebSocket(url);
      socket.on("open", () => events.opened());
      socket.on("message", (data) => events.received((data as Buffer).toString()));
      socket.on("close", (_code, reason) => events.closed(reason.toString()));
      socket.on("error", () => undefined);
      return socket;
    },
    timers: {
      set: (callback, ms) => setTimeout(callback, ms) as unknown as number,
      clear: (timer) => clearTimeout(timer),
    },
    version: "0.1.0",
    backOff: () => 20,
  });
  client.watch((connection) => connections.push(connection));
});

afterEach(async () => {
  client.stop();
  for (const socket of server.clients) socket.terminate();
  await new Promise((resolve) => server.close(resolve));
});

const until = (check: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(check()).toBe(true), { timeout: 4_000, interval: 5 });
const ready = (): Promise<void> => until(() => client.state.kind === "ready");

async function started(): Promise<void> {
  client.start();
  await ready();
}

describe("connecting", () => {
  it("greets first, with token, version and protocol", async () => {
    await started();
    expect(received[0]).toMatchObject({
      method: "session/hello",
      params: { token: "secret", protocol: 1, client: { version: "0.1.0" } },
    });
  });

  it("says that no daemon runs, keeps looking and connects when it appears", async () => {
    const there = found;
    found = { kind: "not_running", detail: "/run/x.json" };
    client.start();
    await until(() => client.state.kind === "offline");
    expect(client.state).toEqual({ kind: "offline", why: "not_running", detail: "/run/x.json" });
    found = there;
    await ready();
  });

  it("tells a dead daemon's file from a daemon", async () => {
    found = endpoint(1);
    client.start();
    await until(() => client.state.kind === "offline");
    expect(client.state).toMatchObject({ why: "stale" });
  });

  it("tells which side is older", async () => {
    behave = (message, socket) => {
      const data = { code: "PROTOCOL_MISMATCH", remedy: "Update.", older: "client" };
      reply(socket, { id: message.id, error: { code: -32003, message: "Too old.", data } });
    };
    client.start();
    await until(() => client.state.kind === "mismatch");
    expect(client.state).toEqual({ kind: "mismatch", older: "plugin", message: "Too old." });
  });

  it("tells that it was refused", async () => {
    behave = (message, socket) => {
      const data = { code: "TOKEN_REFUSED", remedy: "" };
      reply(socket, { id: message.id, error: { code: -32002, message: "Wrong token.", data } });
    };
    client.start();
    await until(() => client.state.kind === "offline");
    expect(client.state).toMatchObject({ why: "refused", detail: "Wrong token." });
  });

  it("leaves somebody who answers in no JSON", async () => {
    behave = (_message, socket) => socket.send("HTTP/1.1 200 OK");
    client.start();
    await until(() => client.state.kind === "offline");
    expect(client.state).toMatchObject({ why: "refused" });
  });

  it("connects again after the connection is lost, and the pauses grow to 5 s", async () => {
    await started();
    for (const socket of server.clients) socket.terminate();
    await until(() => client.state.kind === "offline");
    await ready();
    expect([0, 1, 2, 9].map(backOff)).toEqual([400, 800, 1600, 5000]);
  });

  it("stops for good", async () => {
    await started();
    client.stop();
    const seen = received.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(client.state.kind).toBe("stopped");
    expect(received).toHaveLength(seen);
  });
});

describe("requests", () => {
  it("match answers by id, in whatever order they come", async () => {
    const held: Message[] = [];
    behave = friendly((message, socket) => {
      held.push(message);
      if (held.length < 2) return;
      for (const { id, params } of held.reverse()) reply(socket, { id, result: params.path });
    });
    await started();
    const answers = [
      client.request("index/status", { path: "a" }),
      client.request("index/status", { path: "b" }),
    ];
    expect(await Promise.all(answers)).toEqual(["a", "b"]);
  });

  it("fail at once while there is no connection", async () => {
    await expect(client.request("doctor/run", {})).rejects.toMatchObject({
      code: "BRIDGE_UNAVAILABLE",
    });
  });

  it("carry the daemon's code, message and remedy", async () => {
    behave = friendly((message, socket) => {
      const data = { code: "INDEX_UNAVAILABLE", remedy: "Wait." };
      reply(socket, { id: message.id, error: { code: -32012, message: "Locked.", data } });
    });
    await started();
    await expect(client.request("doctor/run", {})).rejects.toMatchObject({
      code: "INDEX_UNAVAILABLE",
      message: "Locked.",
      remedy: "Wait.",
    });
  });

  it("give up after their time, tell the daemon, and ignore the late answer", async () => {
    let late: (() => void) | null = null;
    behave = friendly((message, socket) => {
      if (message.method === "doctor/run")
        late = () => reply(socket, { id: message.id, result: {} });
    });
    await started();
    await expect(client.request("doctor/run", {}, { timeoutMs: 30 })).rejects.toMatchObject({
      code: "TIMEOUT",
    });
    await until(() => received.some((message) => message.method === "$/cancelRequest"));
    expect(received.at(-1)?.params).toEqual({ id: received.at(-2)?.id });
    (late as (() => void) | null)?.();
    behave = friendly((message, socket) => reply(socket, { id: message.id, result: { ok: true } }));
    expect(await client.request("index/pause", {})).toEqual({ ok: true });
  });

  it("are cancelled by their signal, here and at the daemon", async () => {
    await started();
    const controller = new AbortController();
    const request = client.request("query/search", { text: "a" }, { signal: controller.signal });
    await until(() => received.length === 2);
    controller.abort();
    await expect(request).rejects.toMatchObject({ code: "CANCELLED" });
    await until(() => received.length === 3);
    expect(received[2]).toMatchObject({
      method: "$/cancelRequest",
      params: { id: received[1]?.id },
    });
    await expect(
      client.request("doctor/run", {}, { signal: controller.signal }),
    ).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("fail when the connection breaks before the answer", async () => {
    behave = friendly((_message, socket) => {
      socket.send('{"jsonrpc": "2.0", "id": 2, "res', { fin: false }, () => socket.terminate());
    });
    await started();
    await expect(client.request("doctor/run", {})).rejects.toMatchObject({
      code: "BRIDGE_UNAVAILABLE",
    });
  });

  it.each([
    ["neither result nor error", {}],
    ["an error without form", { error: 7 }],
  ])("refuse an answer with %s", async (_name, body) => {
    behave = friendly((message, socket) => reply(socket, { id: message.id, ...body }));
    await started();
    await expect(client.request("doctor/run", {})).rejects.toMatchObject({ code: "BAD_ANSWER" });
  });

  it("ignore answers to nobody", async () => {
    behave = friendly((message, socket) => {
      reply(socket, { id: 999, result: "wrong" });
      reply(socket, { id: "x", result: "wrong" });
      reply(socket, { id: message.id, result: "right" });
      reply(socket, { id: message.id, result: "twice" });
    });
    await started();
    expect(await client.request("doctor/run", {})).toBe("right");
  });
});

it("notifications reach their listeners over every connection", async () => {
  const phases: string[] = [];
  client.listen("index/progress", ({ phase }) => phases.push(phase));
  behave = (message, socket) => {
    friendly()(message, socket);
    reply(socket, { method: "index/progress", params: { phase: `words ${received.length}` } });
  };
  await started();
  await until(() => phases.length === 1);
  for (const socket of server.clients) socket.terminate();
  await until(() => phases.length === 2);
  expect(phases).toEqual(["words 1", "words 2"]);
});

it("finds the daemon again on another port after a restart", async () => {
  await started();
  for (const socket of server.clients) socket.terminate();
  await new Promise((resolve) => server.close(resolve));
  found = { kind: "not_running", detail: "" };
  await until(() => client.state.kind === "offline");
  found = endpoint(await listen());
  await ready();
  expect(connections.map((connection) => connection.kind)).not.toContain("stopped");
});

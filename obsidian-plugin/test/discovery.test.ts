import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import {
  caseFold,
  discover,
  discoveryFiles,
  runtimeFolders,
  type System,
  vaultKey,
} from "../src/bridge/discovery";
import { desktop } from "../src/desktop";

const here = desktop();
let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sidelight-")));
});

const good = {
  port: 5000,
  token: "t",
  pid: 1,
  protocol: 1,
  version: "0.1.0",
  vault: "/v",
  started_at: 0,
};

function system(changes: Partial<System> = {}): System {
  return { ...here, env: { XDG_RUNTIME_DIR: folder }, platform: "linux", ...changes };
}

async function written(content: string, mode = 0o600): Promise<string> {
  const [path = ""] = await discoveryFiles(system(), folder);
  mkdirSync(join(folder, "sidelight"), { mode: 0o700, recursive: true });
  writeFileSync(path, content, { mode });
  chmodSync(path, mode);
  return path;
}

describe("discover", () => {
  it("finds the daemon of the vault", async () => {
    const path = await written(JSON.stringify(good));
    expect(await discover(system(), folder, "")).toEqual({
      kind: "found",
      path,
      endpoint: { port: 5000, token: "t", pid: 1, protocol: 1, version: "0.1.0" },
    });
  });

  it("says where it looked when nothing is there", async () => {
    const found = await discover(system(), folder, "");
    expect(found.kind).toBe("not_running");
    expect(found).toHaveProperty("detail", expect.stringContaining(folder));
  });

  it("takes the path set on this device instead", async () => {
    const path = join(folder, "own.json");
    writeFileSync(path, JSON.stringify({ ...good, port: 6000 }), { mode: 0o600 });
    const found = await discover(system(), folder, path);
    expect(found).toMatchObject({ kind: "found", endpoint: { port: 6000 } });
  });

  it("does not trust a file that others can read or that another user wrote", async () => {
    const path = await written(JSON.stringify(good), 0o644);
    expect(await discover(system(), folder, "")).toEqual({ kind: "unsafe", detail: path });
    chmodSync(path, 0o600);
    const stranger = system({ uid: (here.uid ?? 0) + 1 });
    expect((await discover(stranger, folder, "")).kind).toBe("unsafe");
  });

  it.each([
    "",
    "{",
    "[]",
    "null",
    '{"port": 0, "token": "t"}',
    '{"port": "1", "token": "t"}',
    '{"port": 5, "token": ""}',
  ])("tells a damaged file: %s", async (content) => {
    await written(content);
    expect((await discover(system(), folder, "")).kind).toBe("damaged");
  });
});

describe("vaultKey", () => {
  it("is the same for a link to the vault and for a name in another Unicode form", async () => {
    const vault = join(folder, "Caf\u00e9 笔记");
    mkdirSync(vault);
    const link = join(folder, "link");
    symlinkSync(vault, link);
    expect(await vaultKey(system(), link)).toBe(await vaultKey(system(), vault));
    const composed = await vaultKey(system({ realPath: async () => "/v/Caf\u00e9" }), "");
    const decomposed = await vaultKey(system({ realPath: async () => "/v/Cafe\u0301" }), "");
    expect(composed).toBe(decomposed);
    expect(composed).toMatch(/^[0-9a-f]{16}$/);
  });

  it("folds case only where the file system does", async () => {
    const facts = { dev: 1, ino: 2, uid: 0, mode: 0o700 };
    const folds = system({ realPath: async (path) => path, facts: async () => facts });
    expect(await vaultKey(folds, "/V/Notes")).toBe(await vaultKey(folds, "/v/NOTES"));
    const exact = system({
      realPath: async (path) => path,
      facts: async (path) => (path === "/V/Notes" ? facts : null),
    });
    expect(await vaultKey(exact, "/V/Notes")).not.toBe(await vaultKey(folds, "/V/Notes"));
  });

  const python = new URL("../../.venv/bin/python", import.meta.url).pathname;
  it.skipIf(!existsSync(python))("is what the daemon computes (needs .venv)", async () => {
    for (const name of ["vault", "笔记 vault", "Cafe\u0301", "ẞtraße-İ"]) {
      const vault = join(folder, name);
      mkdirSync(vault);
      const code =
        "import sys; from pathlib import Path; from sidelight.config import open_vault, places_for; p = places_for(open_vault(sys.argv[1])); print(p.key, p.discovery)";
      const [key, path] = execFileSync(python, ["-W", "ignore", "-c", code, vault], {
        encoding: "utf8",
      })
        .trim()
        .split(" ");
      expect(await vaultKey(here, vault)).toBe(key);
      expect(await discoveryFiles(here, vault)).toContain(path);
    }
  });
});

it("folds case as Unicode says, not as lower case", () => {
  expect(caseFold("Straße ΑΣ ς I İ ı ẞ Ꭰ ꭰ ﬁ")).toBe("strasse ασ σ i i̇ ı ss Ꭰ Ꭰ fi");
});

it("knows the runtime folders of the three systems", () => {
  const uid = 501;
  const mac = system({ platform: "darwin", env: {}, home: "/Users/a", uid });
  expect(runtimeFolders(mac)).toEqual(["/Users/a/Library/Caches/TemporaryItems"]);
  const windows = system({ platform: "win32", env: { LOCALAPPDATA: "C:\\L" }, uid: null });
  expect(runtimeFolders(windows)).toEqual(["C:\\L\\Temp"]);
  const linux = system({ env: { XDG_RUNTIME_DIR: "/run/user/501/" }, temporary: "/tmp", uid });
  expect(runtimeFolders(linux)).toEqual(["/run/user/501", "/tmp/runtime-501"]);
  expect(runtimeFolders({ ...linux, env: { XDG_RUNTIME_DIR: "relative" } })).toEqual([
    "/run/user/501",
    "/tmp/runtime-501",
  ]);
});

// Finds the daemon of a vault: where its discovery file lies and what stands in it.
//
// The same rules as python/sidelight/config.py (`vault_key`, `runtime_dir`), which takes the
// folder from platformdirs. The places are tried in that library's order; a file that another
// user could have written is refused, since whoever writes it would receive the queries.

export interface Endpoint {
  port: number;
  token: string;
  pid: number | null;
  protocol: number | null;
  version: string;
}

export type Discovery =
  | { kind: "found"; endpoint: Endpoint; path: string }
  | { kind: "not_running" | "unsafe" | "damaged"; detail: string };

export interface FileFacts {
  dev: number;
  ino: number;
  uid: number;
  mode: number;
}

/** What discovery needs of the system; `desktop.ts` has the real one. */
export interface System {
  platform: string; // as process.platform
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  temporary: string;
  uid: number | null; // null where there are no user ids
  realPath(path: string): Promise<string>;
  facts(path: string): Promise<FileFacts | null>; // null if there is no such file
  readText(path: string): Promise<string>;
  sha256(text: string): Promise<string>; // hex, of the UTF-8 bytes
}

/**
 * Reads the discovery file of a vault.
 *
 * @param vaultPath the folder of the vault on this machine.
 * @param override a path set by the user for this device; "" for the usual places.
 */
export async function discover(
  system: System,
  vaultPath: string,
  override: string,
): Promise<Discovery> {
  const paths = override === "" ? await discoveryFiles(system, vaultPath) : [override];
  for (const path of paths) {
    const facts = await system.facts(path);
    if (facts === null) continue;
    if (!isPrivate(system, facts)) return { kind: "unsafe", detail: path };
    return readDiscovery(await system.readText(path), path);
  }
  return { kind: "not_running", detail: paths.join("\n") };
}

/** Where the discovery file of a vault can lie, the likeliest place first. */
export async function discoveryFiles(system: System, vaultPath: string): Promise<string[]> {
  const key = await vaultKey(system, vaultPath);
  const separator = system.platform === "win32" ? "\\" : "/";
  return runtimeFolders(system).map((folder) =>
    [folder, "sidelight", `${key}.json`].join(separator),
  );
}

/** 16 hex digits: hash of the vault's real path, NFC, case-folded where the file system is. */
export async function vaultKey(system: System, vaultPath: string): Promise<string> {
  const real = (await system.realPath(vaultPath)).replace(/^\\\\\?\\(?!UNC\\)/, "");
  const name = real.normalize("NFC");
  const folded = (await ignoresCase(system, real)) ? caseFold(name) : name;
  return (await system.sha256(folded)).slice(0, 16);
}

/** The folders that platformdirs' `user_runtime_dir` chooses from, in its order. */
export function runtimeFolders(system: System): string[] {
  const { env, uid } = system;
  if (system.platform === "win32") {
    const local = env.LOCALAPPDATA ?? `${system.home}\\AppData\\Local`;
    return [`${local}\\Temp`];
  }
  const xdg = env.XDG_RUNTIME_DIR?.startsWith("/") ? [trimSlash(env.XDG_RUNTIME_DIR)] : [];
  if (system.platform === "darwin") return [...xdg, `${system.home}/Library/Caches/TemporaryItems`];
  const own = system.platform.endsWith("bsd") ? `/var/run/user/${uid}` : `/run/user/${uid}`;
  const folders = [...xdg, own, `${trimSlash(system.temporary)}/runtime-${uid}`];
  return [...new Set(folders)];
}

async function ignoresCase(system: System, path: string): Promise<boolean> {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1;
  const name = path.slice(cut);
  const swapped = swapCase(name);
  if (swapped === name) return system.platform === "win32";
  const [one, other] = await Promise.all([
    system.facts(path),
    system.facts(path.slice(0, cut) + swapped),
  ]);
  return one !== null && other !== null && one.dev === other.dev && one.ino === other.ino;
}

function swapCase(text: string): string {
  return [...text]
    .map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()))
    .join("");
}

/** Unicode's full case folding, as Python's `str.casefold`. */
export function caseFold(text: string): string {
  return [...text].map((char) => UNFOLDED.get(char) ?? char.toUpperCase().toLowerCase()).join("");
}

// The characters whose case folding is not the lower case of their upper case:
// dotless i keeps its form, the capital sharp s is two letters, Cherokee folds to its upper-case letters.
const UNFOLDED: ReadonlyMap<string, string> = new Map([
  ["ı", "ı"],
  ["ẞ", "ss"],
  ...cherokee(0x13a0, 0x13f5, (code) => code),
  ...cherokee(0x13f8, 0x13fd, (code) => code - 8),
  ...cherokee(0xab70, 0xabbf, (code) => code - 0xab70 + 0x13a0),
]);

function cherokee(
  first: number,
  last: number,
  folded: (code: number) => number,
): [string, string][] {
  return Array.from({ length: last - first + 1 }, (_, i) => [
    String.fromCodePoint(first + i),
    String.fromCodePoint(folded(first + i)),
  ]);
}

function isPrivate(system: System, facts: FileFacts): boolean {
  // Windows keeps the folder of the user's own local data closed to other users.
  if (system.platform === "win32" || system.uid === null) return true;
  return facts.uid === system.uid && (facts.mode & 0o077) === 0;
}

function readDiscovery(text: string, path: string): Discovery {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "damaged", detail: path };
  }
  const fields = (value ?? {}) as Record<string, unknown>;
  const { port, token } = fields;
  const isPort = typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65536;
  if (!isPort || typeof token !== "string" || token === "")
    return { kind: "damaged", detail: path };
  return {
    kind: "found",
    path,
    endpoint: {
      port,
      token,
      pid: typeof fields.pid === "number" ? fields.pid : null,
      protocol: typeof fields.protocol === "number" ? fields.protocol : null,
      version: typeof fields.version === "string" ? fields.version : "",
    },
  };
}

function trimSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, "") : path;
}

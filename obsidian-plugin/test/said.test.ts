import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { BridgeFailure, failureOf, inOneLine } from "../src/core/failure";
import { lookUp, useLanguage } from "../src/core/i18n";
import { inReadersWords } from "../src/core/said";

afterEach(() => {
  useLanguage("en");
});

// Where the service has sentences without a code that reach the sidebar.
const SOURCES: readonly [file: string, sentence: RegExp][] = [
  ...readdirSync(python("query"))
    .filter((name) => name.endsWith(".py"))
    .map((name) => [`query/${name}`, /Degraded\([\w"]+, f?"([^"]+)"/g] as [string, RegExp])
    .filter(([file, pattern]) => sentences(file, pattern).length > 0),
  ["indexing/models_in_use.py", /(?:LOADING|self\.following) = "([^"]+)"/g],
  ["indexing/facts.py", /^ {4}"\w+": "([^"]+)",$/gm],
  ["engine.py", /(?:damaged|_anew) = "([^"]+)"|no_vectors = "([^"]+)"/g],
  ["engine.py", /todo\.append\("([^"]+)"\)/g],
  ["indexing/coverage.py", /reason = "([^"]+)"|error=f"([^"]+)"|None, "([^"]+)", \(\)/g],
  ["indexing/pipeline.py", /_failed\(entry, f"([^"]+)"\)/g],
];

function python(path: string): URL {
  return new URL(`../../python/sidelight/${path}`, import.meta.url);
}

function sentences(file: string, pattern: RegExp): string[] {
  return [...readFileSync(python(file), "utf8").matchAll(pattern)].map((match) =>
    (match.slice(1).find((group) => group !== undefined) ?? "").replace(/\{[^{}]*\}/g, "7"),
  );
}

// Errors whose sentences are shown as they are: their code says too little.
const ERRORS: readonly [file: string, name: string, least: number][] = [
  ...readdirSync(python("sources"))
    .filter((name) => name.endsWith(".py"))
    .map((name) => [`sources/${name}`, "SourceError", 0] as [string, string, number]),
  ["sources/command.py", "SourceError", 6],
  ["sources/records.py", "SourceError", 6],
  ["config.py", "VaultError", 3], // of another vault
  ["ask/endpoint.py", "EndpointError", 6],
  ["ask/endpoint.py", "UsageError", 1],
  ["indexing/pipeline.py", "VaultError", 3],
  ["store/statements.py", "IndexUnavailableError", 1],
  ["store/tables.py", "IndexUnavailableError", 1],
  ["store/folder.py", "IndexUnavailableError", 1],
  ["store/writer.py", "IndexUnavailableError", 2],
];

/** Message and remedy of every error of a name that a file of the service makes. */
function errors(file: string, name: string): string[] {
  const source = readFileSync(python(file), "utf8");
  return [...source.matchAll(new RegExp(`\\b${name}\\(`, "g"))].flatMap(({ index }) => {
    let rest = source.slice(index + name.length + 1);
    const read = (): string => {
      let text = "";
      for (;;) {
        const literal = /^\s*f?(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')/.exec(rest);
        if (literal === null) return text.replace(/\\(.)/g, "$1").replace(/\{[^{}]*\}/g, "7");
        text += literal[1] ?? literal[2] ?? "";
        rest = rest.slice(literal[0].length);
      }
    };
    const messages = [read()];
    const otherwise = /^\s*if [^,]*? else(?=\s*f?")/.exec(rest);
    if (otherwise !== null) {
      rest = rest.slice(otherwise[0].length);
      messages.push(read());
    }
    rest = rest.replace(/^\s*,/, "");
    const remedy = read();
    return messages
      .filter((text) => text !== "")
      .map((text) => inOneLine({ message: text, remedy }));
  });
}

const CHINESE = /\p{Script=Han}/u;
const ENGLISH = /[A-Za-z']+ [a-z']+ [a-z']+/;

describe("errors of the service", () => {
  for (const [file, name, least] of ERRORS)
    it(`are known in Chinese: ${name} of ${file}`, () => {
      // Asking while it is off has a code of its own.
      const found = errors(file, name).filter((said) => !said.startsWith("No model is named"));
      expect(found.length).toBeGreaterThanOrEqual(least);
      useLanguage("zh");
      for (const said of found) {
        const told = inReadersWords(said);
        expect([said, told]).toEqual([said, expect.stringMatching(CHINESE)]);
        expect(told).not.toMatch(ENGLISH);
      }
      useLanguage("en");
      for (const said of found) expect(inReadersWords(said)).toBe(said);
    });

  it("say in Chinese what is wrong with a setting", () => {
    const found = ["config.py", "credibility.py"]
      .flatMap((file) => errors(file, "UsageError"))
      .filter((said) => said.startsWith("Setting"));
    expect(found.length).toBeGreaterThanOrEqual(8);
    useLanguage("zh");
    for (const said of found) expect([said, inReadersWords(said)[0]]).toEqual([said, "设"]);
    const refused = new BridgeFailure(
      "INVALID_PARAMS",
      "Setting 'results_per_note' must lie between 1 and 100.",
    );
    expect(inOneLine(failureOf(refused))).toBe("设置项 results_per_note 必须在 1 和 100 之间。");
  });

  it("say in Chinese why a connection ended, and which protocols there are", () => {
    const reasons = sentences("bridge/peer.py", /CloseCode\.\w+: "([^"]+)",/g);
    expect(reasons.length).toBeGreaterThanOrEqual(7);
    useLanguage("zh");
    for (const said of [...reasons, "The token is wrong.", "The answer is not JSON-RPC."])
      expect([said, inReadersWords(said)]).toEqual([said, expect.stringMatching(CHINESE)]);
    const [mismatch = ""] = sentences("bridge/methods.py", /f"(The daemon speaks [^"]+)"/g);
    expect(inReadersWords(mismatch)).toBe("服务的协议版本是 7，插件的是 7。");
  });

  it("say in Chinese why an answer in words ended early", () => {
    const found = sentences("ask/loop.py", /stopped = f?"([^"]+)"/g);
    expect(found.length).toBeGreaterThanOrEqual(4);
    useLanguage("zh");
    for (const said of found)
      expect([said, inReadersWords(said)]).toEqual([said, expect.stringMatching(CHINESE)]);
  });

  it("take the place of message and remedy, and keep the id of what was unexpected", () => {
    useLanguage("zh");
    const error = new BridgeFailure(
      "ENDPOINT",
      "The model failed: no memory.",
      "See the endpoint's own log.",
    );
    expect(inOneLine(failureOf(error))).toBe("模型出错：no memory。请查看模型服务自己的日志。");
    const [remedy = ""] = sentences("bridge/dispatch.py", /f"(Look for [^"]+)"/g);
    const internal = new BridgeFailure("INTERNAL", "x", remedy.replace("7", "ab12cd34"));
    expect(inOneLine(failureOf(internal))).toMatch(
      /^\p{Script=Han}+。请在服务的日志中查找 ab12cd34。$/u,
    );
    useLanguage("en");
    const { code, message } = error;
    expect(failureOf(error)).toEqual({ code, message, remedy: error.remedy });
  });

  // Codes that no request of this plugin can bring, each with its reason.
  const ELSEWHERE: Readonly<Record<string, string>> = {
    ALREADY_RUNNING: "of the command that starts a second daemon",
    QUERIES: "of files of judged queries",
    SETTINGS: "of a settings file, before there is a daemon",
    HELLO_REQUIRED: "the client says hello first",
    INVALID_REQUEST: "the client counts its requests",
    USAGE: "its sentence is shown",
    INVALID_PARAMS: "its sentence is shown",
    ENDPOINT: "its sentence is shown",
    SOURCE_UNAVAILABLE: "its sentence is shown",
    SOURCE_BUSY: "its sentence is shown",
    SOURCE_TIMEOUT: "its sentence is shown",
    SOURCE_CYCLE: "its sentence is shown",
  };

  it("have each a code that is known here, or cannot come here", () => {
    const files = readdirSync(python("."), { recursive: true, encoding: "utf8" });
    const codes = files
      .filter((name) => name.endsWith(".py"))
      .flatMap((name) => sentences(name, /\bcode ?= ?"([A-Z_]+)"/g));
    expect(codes.length).toBeGreaterThan(25);
    for (const lang of ["en", "zh"]) {
      useLanguage(lang);
      for (const code of codes)
        if (!Object.hasOwn(ELSEWHERE, code))
          expect([code, lookUp(`error.${code}`)]).toEqual([code, expect.any(String)]);
    }
    expect(Object.keys(ELSEWHERE).filter((code) => !codes.includes(code))).toEqual([]);
  });
});

it("every kind of reason has its sentence", () => {
  const files = ["query", "sources", "ask"].flatMap((folder) =>
    readdirSync(python(folder))
      .filter((name) => name.endsWith(".py"))
      .map((name) => `${folder}/${name}`),
  );
  const kinds = files.flatMap((file) =>
    sentences(file, /\bReason\(\s*"(\w+)"|^UNCOVERED = "(\w+)"/gm),
  );
  expect(new Set(kinds).size).toBeGreaterThanOrEqual(10);
  for (const lang of ["en", "zh"]) {
    useLanguage(lang);
    for (const kind of kinds)
      expect([kind, lookUp(`reason.${kind}`)]).toEqual([kind, expect.any(String)]);
  }
});

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
    const found = [
      ...readFileSync(python("vault/files.py"), "utf8").matchAll(/Problem\("[\w-]+", "([^"]+)"\)/g),
    ];
    expect(found.length).toBe(5);
    useLanguage("zh");
    for (const [, sentence = ""] of found)
      expect(inReadersWords(`${sentence} Remove it.`)).toMatch(/\p{Script=Han}/u);
  });

  it("is asked about all that can be missing from a search", () => {
    const files = SOURCES.map(([file]) => file).filter((file) => file.startsWith("query/"));
    expect(files.length).toBeGreaterThanOrEqual(3);
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

// A click on a result: which editor, which lines, which text counts.
import { beforeEach, expect, it, vi } from "vitest";
import type { App } from "obsidian";
import type { Citation, ResolveParams, ResolveResult } from "../src/bridge/protocol";
import type { Service } from "../src/bridge/service";
import { useLanguage } from "../src/core/i18n";
import { actionsFor, type ActionOptions } from "../src/ui/actions";
import type { Context } from "../src/ui/context";
import { openNote, openResult } from "../src/ui/openPassage";
import { citation, result } from "./answers";

const said = vi.hoisted(() => [] as string[]);

vi.mock("obsidian", () => ({
  MarkdownView: class {},
  Modal: class {},
  Keymap: { isModEvent: () => false },
  Notice: class {
    constructor(text: string) {
      said.push(text);
    }
  },
}));

const { MarkdownView } = await import("obsidian");

interface Selection {
  from: { line: number; ch: number };
  to: { line: number; ch: number };
}

/** A note open in some pane: what its editor shows need not be what is on disk. */
class Pane extends (MarkdownView as unknown as new () => object) {
  file: { path: string };
  selected: Selection | null = null;
  scrolled: unknown[] = [];
  mode = "source";
  isDeferred = false;

  constructor(
    path: string,
    public shown: string,
  ) {
    super();
    this.file = { path };
  }

  get view(): this {
    return this;
  }

  get editor() {
    const lines = this.shown.split(/\r\n|\n|\r/);
    return {
      lineCount: () => lines.length,
      getLine: (line: number) => lines[line] ?? "",
      setSelection: (from: Selection["from"], to: Selection["to"]) => {
        this.selected = { from, to };
      },
      scrollIntoView: (place: unknown) => this.scrolled.push(place),
      focus: () => undefined,
    };
  }

  getViewData = () => this.shown;
  getMode = () => this.mode;
  getViewType = () => "markdown";
  getViewState = () => ({ type: "markdown", state: { file: this.file.path } });
  setEphemeralState = (state: unknown) => this.scrolled.push(state);
  openFile = (file: { path: string }) => {
    this.file = { path: file.path };
    this.shown = disk.get(file.path) ?? "";
    return Promise.resolve();
  };

  /** The text between the ends of the selection. */
  get selection(): string {
    const { from, to } = this.selected!;
    const lines = this.shown.split(/\r\n|\n|\r/).slice(from.line, to.line + 1);
    lines[lines.length - 1] = lines.at(-1)!.slice(0, to.ch);
    lines[0] = lines[0]!.slice(from.ch);
    return lines.join("\n");
  }
}

let disk: Map<string, string>;
let panes: Pane[];
let opened: Pane[];
let active: unknown;
let asked: ResolveParams[];
let answers: (params: ResolveParams) => ResolveResult;

beforeEach(() => {
  said.length = 0;
  disk = new Map();
  panes = [];
  opened = [];
  asked = [];
  useLanguage("en");
});

const fileAt = (path: string) => (disk.has(path) ? { path } : null);

const app = {
  vault: {
    getFileByPath: fileAt,
    read: (file: { path: string }) => Promise.resolve(disk.get(file.path)),
  },
  workspace: {
    // Leaves of other panes and of pop-out windows are among them.
    iterateAllLeaves: (visit: (leaf: unknown) => void) => panes.forEach(visit),
    getMostRecentLeaf: () => null,
    getLeaf: () => {
      const pane = new Pane("", "");
      opened.push(pane);
      return pane;
    },
    setActiveLeaf: (leaf: unknown) => {
      active = leaf;
    },
    revealLeaf: () => Promise.resolve(),
  },
} as unknown as App;

const service = {
  resolve: (params: ResolveParams) => {
    asked.push(params);
    return Promise.resolve(answers(params));
  },
} as unknown as Service;

function found(path: string, text: string, changes: Partial<Citation>): ResolveResult {
  return { path, text, why: "", location: null, citation: citation(changes) };
}

it("selects the lines in the pane that shows the note, also in another window", async () => {
  disk.set("Tea.md", "# Tea\n\nGreen tea.\n");
  panes = [new Pane("Other.md", "x"), new Pane("Tea.md", "# Tea\n\nGreen tea.\n")];
  answers = () => found("Tea.md", "Green tea.", { start_line: 3, end_line: 3 });
  const outcome = await openResult(app, service, result({ path: "Tea.md" }));
  expect(outcome.opened).toBe("selected");
  expect(panes[1]!.selection).toBe("Green tea.");
  expect(active).toBe(panes[1]);
  expect(opened).toEqual([]);
  expect(asked).toEqual([{ ref: "ref-1" }]);
});

it("never saves a note that is too long to send, and selects the only copy of the passage", async () => {
  const long = "x".repeat(1_000_000);
  disk.set("Tea.md", `# Tea\n\nGreen tea.\n${long}`);
  panes = [new Pane("Tea.md", `unsaved\n# Tea\n\nGreen tea.\n${long}`)];
  answers = () => found("Tea.md", "Green tea.", { start_line: 3, end_line: 3 });
  const outcome = await openResult(app, service, result({ path: "Tea.md" }));
  expect(asked).toEqual([{ ref: "ref-1" }]); // a pane has no `save`: calling it would have thrown
  expect(outcome.opened).toBe("selected");
  expect(panes[0]!.selected!.from.line).toBe(3);
  panes[0]!.shown += "\nGreen tea.";
  const doubtful = await openResult(app, service, result({ path: "Tea.md" }));
  expect(doubtful.opened).toBe("opened");
  expect(said.at(-1)).toMatch(/could not be verified/);
});

it.each([
  ["CRLF", "# 茶\r\n\r\n白茶 🍵 八十度。\r\n二\r\n", "白茶 🍵 八十度。\n二", 3, 4, null],
  ["an emoji before the part", "🎉🎉 One. Two e\u0301. Three.", "Two e\u0301.", 1, 1, [10, 17]],
  ["a byte order mark", "\ufeffFirst line\nSecond", "First line", 1, 1, null],
] as const)("selects exactly the passage with %s", async (_, shown, text, start, end, columns) => {
  disk.set("Tea.md", shown);
  panes = [new Pane("Tea.md", shown)];
  const place = { start_line: start, end_line: end, columns: columns && [...columns] };
  answers = () => found("Tea.md", text, place as Partial<Citation>);
  await openResult(app, service, result({ path: "Tea.md" }));
  expect(panes[0]!.selection).toBe(text);
});

it("sends the unsaved text and selects in it", async () => {
  disk.set("Tea.md", "Green tea.\n");
  panes = [new Pane("Tea.md", "unsaved\n\nGreen tea.\n")];
  answers = ({ buffer }) =>
    found(
      "Tea.md",
      "Green tea.",
      buffer ? { start_line: 3, end_line: 3 } : { start_line: 1, end_line: 1 },
    );
  await openResult(app, service, result({ path: "Tea.md" }));
  expect(asked).toEqual([{ ref: "ref-1", buffer: "unsaved\n\nGreen tea.\n" }]);
  expect(panes[0]!.selected!.from).toEqual({ line: 2, ch: 0 });
});

it("sends the unsaved text of the note's new path after a rename", async () => {
  disk.set("Old.md", "another note now\n");
  disk.set("新/New.md", "Green tea.\n");
  panes = [
    new Pane("Old.md", "not saved either\n"),
    new Pane("新/New.md", "unsaved\nGreen tea.\n"),
  ];
  answers = ({ buffer }) => {
    const at = (buffer ?? "").split("\n").indexOf("Green tea.") + 1;
    return found("新/New.md", "Green tea.", { start_line: at, end_line: at });
  };
  const outcome = await openResult(app, service, result({ path: "Old.md" }));
  expect(asked.map((params) => params.buffer)).toEqual([
    "not saved either\n",
    "unsaved\nGreen tea.\n",
  ]);
  expect(outcome).toMatchObject({ opened: "selected", path: "新/New.md" });
  expect(panes[1]!.selection).toBe("Green tea.");
});

it("scrolls in reading view, and selects nothing", async () => {
  disk.set("Tea.md", "# Tea\n\nGreen tea.\n");
  panes = [new Pane("Tea.md", "# Tea\n\nGreen tea.\n")];
  panes[0]!.mode = "preview";
  answers = () => found("Tea.md", "Green tea.", { start_line: 3, end_line: 3 });
  await openResult(app, service, result({ path: "Tea.md" }));
  expect(panes[0]!.scrolled).toEqual([{ line: 2 }]);
  expect(panes[0]!.selected).toBeNull();
});

const unverified = [
  ["en", /could not be verified/],
  ["zh", /无法确认这个段落的位置/],
] as const;

it.each(
  unverified.flatMap(([language, words]) =>
    ["source", "preview"].map((mode) => [language, mode, words] as const),
  ),
)(
  "selects nothing whose text is not the passage, and says so (%s, %s)",
  async (language, mode, words) => {
    useLanguage(language);
    disk.set("Tea.md", "Black tea.\n");
    panes = [new Pane("Tea.md", "Black tea.\n")];
    panes[0]!.mode = mode;
    answers = () => found("Tea.md", "Green tea.", { start_line: 1, end_line: 1 });
    const outcome = await openResult(app, service, result({ path: "Tea.md" }));
    expect(outcome.opened).toBe("opened");
    expect(panes[0]!.selected).toBeNull();
    expect(panes[0]!.scrolled).toEqual([]);
    expect(said).toHaveLength(1);
    expect(said.join()).toMatch(words);
  },
);

/** Clicks the link that brought a result, in a note that shows `shown`. */
async function clickSeed(shown: string, mode: string, link: string, line: number | null) {
  disk.set("Pier.md", "as on disk\n");
  panes = [new Pane("Pier.md", shown)];
  panes[0]!.mode = mode;
  const provenance = {
    seed_ref: "ref-0",
    seed_path: "Pier.md",
    seed_heading_path: [],
    seed_rank: 1,
    seed_lines: null,
    link,
    link_line: line,
    anchor: "note",
  } as const;
  const context = { app, service } as unknown as Context;
  const host = actionsFor(context, {} as ActionOptions);
  host.openSeed(result({ graph_provenance: { ...provenance, seed_heading_path: [] } }), null!);
  await vi.waitFor(() => expect(active).toBe(panes[0]));
  await new Promise((resolve) => setTimeout(resolve));
  return panes[0]!;
}

it.each([
  ["at its line", "# Pier\n\nSee [[Boats]].\n", "[[Boats]]", 3, 2],
  ["where unsaved text moved it", "new\nnew\n# Pier\n\nSee [[Boats]].\n", "[[Boats]]", 3, 4],
  ["at its line though others hold it", "[[小船]]\r\n见 [[小船]]\r\n", "[[小船]]", 2, 1],
  ["twice on its only line", "甲\n[[小船]] 和 [[小船]]", "[[小船]]", null, 1],
  ["after a byte order mark", "\ufeff[[Boats]] 🍵\nno", "[[Boats]]", 2, 0],
] as const)("shows the link that brought a result %s", async (_, shown, link, line, at) => {
  const text = shown.split(/\r?\n/)[at]!.replace("\ufeff", "");
  const source = await clickSeed(shown, "source", link, line);
  expect(source.selected!.from.line).toBe(at);
  expect(source.selection).toBe(text);
  const reading = await clickSeed(shown, "preview", link, line);
  expect(reading.scrolled).toEqual([{ line: at }]);
  expect(reading.selected).toBeNull();
  expect(said).toEqual([]);
});

it.each(
  unverified.flatMap(([language, words]) => [
    [language, "source", "no link at all\n", words] as const,
    [language, "preview", "no link at all\n", words] as const,
    [language, "source", "[[小船]]\n\n[[小船]]\n", words] as const,
    [language, "preview", "[[小船]]\n\n[[小船]]\n", words] as const,
  ]),
)(
  "selects nothing where the link is gone or could be any of several (%s, %s)",
  async (language, mode, shown, words) => {
    useLanguage(language);
    const pane = await clickSeed(shown, mode, "[[小船]]", 2);
    expect(pane.selected).toBeNull();
    expect(pane.scrolled).toEqual([]);
    expect(said).toHaveLength(1);
    expect(said.join()).toMatch(words);
  },
);

it("opens a note at the first line of a piece of several", async () => {
  disk.set("Tea.md", "a\n\n# Tea\n\nGreen tea.\n");
  panes = [new Pane("Tea.md", "a\n\n# Tea\n\nGreen tea.\n")];
  await openNote(app, "Tea.md", { text: "# Tea\n\nGreen tea.", line: 2 });
  expect(panes[0]!.selection).toBe("# Tea");
});

it("opens a note without a place, selects nothing and says nothing", async () => {
  disk.set("Tea.md", "Green tea.\n");
  panes = [new Pane("Tea.md", "Green tea.\n")];
  await openNote(app, "Tea.md", null);
  expect(active).toBe(panes[0]);
  expect([panes[0]!.selected, panes[0]!.scrolled, said]).toEqual([null, [], []]);
});

it.each([["plan"], ["计划"]])("selects the card of a canvas (%s)", async (id) => {
  const card = { id };
  const did: unknown[] = [];
  const canvas = {
    nodes: new Map([["other", { id: "other" }]]).set(id, card),
    selectOnly: (node: unknown) => did.push(node),
    zoomToSelection: () => did.push("zoom"),
  };
  const view = { canvas, getViewType: () => "canvas" };
  const getViewState = () => ({ type: "canvas", state: { file: "Board.canvas" } });
  disk.set("Board.canvas", "{}");
  panes = [{ view, getViewState, isDeferred: false } as unknown as Pane];
  const nowhere = { kind: "canvas", start_line: null, end_line: null } as const;
  answers = () => found("Board.canvas", "tea", { ...nowhere, node: id });
  const outcome = await openResult(app, service, result({ path: "Board.canvas" }));
  expect(outcome.opened).toBe("selected");
  expect(did).toEqual([card, "zoom"]);
  did.length = 0;
  answers = () => found("Board.canvas", "tea", { ...nowhere, node: "gone" });
  const missed = await openResult(app, service, result({ path: "Board.canvas" }));
  expect([missed.opened, did]).toEqual(["opened", []]);
});

it("opens nothing where the passage is gone", async () => {
  disk.set("Tea.md", "Black tea.\n");
  answers = () => found("Tea.md", "", { status: "unresolvable", start_line: null, end_line: null });
  const outcome = await openResult(app, service, result({ path: "Tea.md" }));
  expect(outcome.opened).toBe("gone");
  expect(opened).toEqual([]);
  expect(said).toHaveLength(1);
});

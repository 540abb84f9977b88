import { describe, expect, it } from "vitest";
import { linesOf, placeOf, sameLines, textAt } from "../src/core/positions";
import { citation } from "./answers";

const at = (text: string, start: number, end: number, columns: [number, number] | null = null) => {
  const lines = linesOf(text);
  const place = placeOf(citation({ start_line: start, end_line: end, columns }), lines);
  return place === null ? null : textAt(place, lines);
};

describe("placeOf", () => {
  it("selects whole lines, both ends included", () => {
    expect(at("a\nb\nc\nd", 2, 3)).toBe("b\nc");
    expect(at("标题\n第一段\n第二段", 2, 2)).toBe("第一段");
  });

  it("counts the same lines with every line ending", () => {
    expect(at("a\r\nb\r\nc", 2, 2)).toBe("b");
    expect(at("a\rb\rc", 3, 3)).toBe("c");
    expect(at("a\u2028b\fc\nd", 2, 2)).toBe("d");
  });

  it("takes columns as UTF-16 units, after emoji and combining marks", () => {
    expect(at("🍵🍵 tea。e\u0301nd", 1, 1, [5, 8])).toBe("tea");
    expect(at("x\n长行。第二句。", 2, 2, [3, 7])).toBe("第二句。");
  });

  it("does not count a byte order mark", () => {
    expect(at("\ufeffabc", 1, 1)).toBe("abc");
    expect(at("\ufeffabc", 1, 1, [0, 2])).toBe("ab");
  });

  it("refuses what the note does not have", () => {
    expect(at("a\nb", 2, 3)).toBeNull();
    expect(at("a", 0, 1)).toBeNull();
    expect(at("abc", 1, 1, [1, 9])).toBeNull();
    expect(placeOf(citation({ start_line: null, end_line: null }), linesOf("a"))).toBeNull();
  });

  it("gives positions from 0", () => {
    expect(placeOf(citation({ start_line: 2, end_line: 3 }), linesOf("a\nbb\nccc"))).toEqual({
      from: { line: 1, ch: 0 },
      to: { line: 2, ch: 3 },
    });
  });
});

it("texts that differ only in line endings and byte order mark are the same lines", () => {
  expect(sameLines("\ufeffa\r\nb", "a\nb")).toBe(true);
  expect(sameLines("a\nb", "a\nb ")).toBe(false);
});

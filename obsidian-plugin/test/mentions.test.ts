import { describe, expect, it } from "vitest";
import { placeOfMention, withLink } from "../src/core/mentions";

const mention = { line: 2, columns: [4, 10], text: "Kalman" };

describe("placeOfMention", () => {
  it("is where it was seen", () => {
    expect(placeOfMention(mention, ["x", "the Kalman filter"])).toEqual({
      line: 1,
      from: 4,
      to: 10,
    });
  });

  it("follows the text to the nearest line after an edit", () => {
    expect(placeOfMention(mention, ["Kalman", "x", "x", "a Kalman b"])).toMatchObject({ line: 0 });
    expect(placeOfMention(mention, ["x", "new", "the Kalman filter"])).toMatchObject({ line: 2 });
  });

  it("finds Chinese names inside a sentence, and counts UTF-16 units", () => {
    const chinese = { line: 1, columns: [0, 3], text: "卡尔曼" };
    expect(placeOfMention(chinese, ["🍵这里讲卡尔曼滤波"])).toEqual({ line: 0, from: 5, to: 8 });
  });

  it("is nowhere when the text went, grew into another word or became a link", () => {
    expect(placeOfMention(mention, ["x", "gone"])).toBeNull();
    expect(placeOfMention(mention, ["x", "Kalmans"])).toBeNull();
    expect(placeOfMention(mention, ["x", "the [[Kalman]] filter"])).toBeNull();
    expect(placeOfMention({ ...mention, columns: [2, 8] }, ["x", "[[Kalman]]"])).toBeNull();
    expect(placeOfMention(mention, ["`Kalman`", "[Kalman](a.md)"])).toBeNull();
  });

  it.each([
    ["properties", ["---", "title: Kalman", "---", "x"]],
    ["code", ["x", "```js", "the Kalman filter", "```"]],
    ["code in a quotation", ["> ~~~~", "> ~~~ Kalman", "> ~~~~", "x"]],
    ["a formula", ["x", "$$", "Kalman", "x$$"]],
    ["a comment", ["%%", "the Kalman filter", "%%", "x"]],
    ["a comment of one line", ["%%the Kalman%% filter", "x"]],
    ["a heading", ["x", "## Kalman"]],
    ["a table", ["x", "| Kalman | y |"]],
  ])("is never in %s", (_, lines) => {
    expect(placeOfMention(mention, lines)).toBeNull();
    const chinese = lines.map((line) => line.replace("Kalman", "卡尔曼"));
    expect(placeOfMention({ line: 2, columns: [4, 7], text: "卡尔曼" }, chinese)).toBeNull();
  });

  it("is found after what no link may be written into, and below a mere line", () => {
    const lines = ["---", "a: Kalman", "---", "```", "Kalman", "```", "$$x$$", "Kalman"];
    expect(placeOfMention(mention, lines)).toMatchObject({ line: 7 });
    expect(placeOfMention(mention, ["---", "Kalman"])).toMatchObject({ line: 1 });
  });
});

describe("a line of megabytes", () => {
  // The same twice as long must not take four times as long: the quickest of three runs each.
  const quickest = (line: string): number => {
    const times = Array.from({ length: 3 }, () => {
      const begun = performance.now();
      placeOfMention(mention, ["x", line]);
      return performance.now() - begun;
    });
    return Math.min(...times);
  };

  it.each(["[", "[[", "[x", "[x](", "`a`", "Kalman[", "Kalmans ", "[[Kalman]]", "`卡"])(
    "of %s takes a time that grows with its length only",
    (unit) => {
      const line = unit.repeat(200_000 / unit.length);
      const [once, more] = [quickest(line), quickest(line.repeat(8))];
      expect(more / Math.max(once, 1)).toBeLessThan(40);
      expect(placeOfMention(mention, ["x", `${line} Kalman`])?.from ?? -1).toBe(
        unit === "Kalman[" ? 0 : line.length + 1,
      );
    },
  );
});

describe("withLink", () => {
  it("changes nothing but the mention, whatever ends the lines", () => {
    const place = { line: 1, from: 4, to: 10 };
    expect(withLink("a\r\nthe Kalman filter\r\n", place, "[[Kalman]]")).toBe(
      "a\r\nthe [[Kalman]] filter\r\n",
    );
    expect(withLink("一\n二三四五\n", { line: 1, from: 1, to: 3 }, "[[三四]]")).toBe(
      "一\n二[[三四]]五\n",
    );
  });
});

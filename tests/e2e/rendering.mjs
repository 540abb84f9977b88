// What a part of the page shows, as lines of text that can be stored, read and compared.
//
// One line for every visible text, icon, field and named element, in the order of the page: its
// box, role, classes, colour, accessible name and text. Fonts may move and stretch boxes a
// little; words, names, classes, colours and their order may not change at all. Beside them a
// coarse picture: the brightness of each square, which tells what no element says (a background
// that is missing, something that lies on top).
import { isDeepStrictEqual } from "node:util";

const SQUARE = 20; // pixels of one square of the coarse picture
const SHADES = 16; // one hexadecimal digit
// What other fonts do to a box: a share of its distance or size, and some pixels.
const SHARE = 0.2;
const PIXELS = 24;
// Of all squares, how many may differ by how many shades: lines of text that broke elsewhere.
const MAX_SHADES = 2;
const MAX_OTHERS = 0.12;

/**
 * The lines of everything that the elements of a selector show.
 *
 * @param hide texts that differ from run to run, each with what stands for it.
 */
export async function renderingOf(page, selector, hide = {}) {
  const lines = await page.evaluate(linesIn, selector);
  return lines.map((line) =>
    Object.entries(hide).reduce((text, [from, to]) => text.replaceAll(from, to), line),
  );
}

// Runs in the page.
function linesIn(selector) {
  const lines = [];
  const ours = (name) => /^(sidelight-|mod-|is-)/.test(name) && name !== "sidelight-view";

  function isHidden(el) {
    const { display, visibility, opacity } = getComputedStyle(el);
    return display === "none" || visibility === "hidden" || Number(opacity) === 0;
  }

  function describe(el, origin) {
    const own = [...el.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const text = own.map((node) => node.textContent).join("");
    const isIcon = el.localName === "svg";
    const field = el.matches("input, textarea, select") ? el.value : "";
    const name = el.getAttribute("aria-label") ?? el.getAttribute("placeholder") ?? "";
    const shown = (text.trim() || field).replace(/\s+/g, " ").trim();
    if (shown === "" && !isIcon && name === "" && !el.hasAttribute("role")) return;
    const { left, top, width, height } = el.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    const box = [left - origin.left, top - origin.top, width, height].map(Math.round).join(" ");
    const classes = [...el.classList].filter((one) => isIcon || ours(one));
    const { color } = getComputedStyle(el);
    const role = el.getAttribute("role") ?? el.localName;
    const states = ["aria-expanded", "aria-pressed", "aria-valuenow"]
      .filter((one) => el.hasAttribute(one))
      .map((one) => `${one.slice(5)}=${el.getAttribute(one)}`);
    const colour = shown === "" && !isIcon ? "" : color.replaceAll(" ", "");
    lines.push(
      [box, [role, ...states].join(" "), classes.join(" "), colour, name, shown].join("\t"),
    );
  }

  function walk(el, origin) {
    if (isHidden(el)) return;
    describe(el, origin);
    if (el.localName === "svg") return;
    if (el.localName === "details" && !el.open) return walk(el.firstElementChild, origin);
    for (const child of el.children) walk(child, origin);
  }

  for (const root of document.querySelectorAll(selector)) walk(root, root.getBoundingClientRect());
  return lines;
}

/** The coarse picture of a screenshot: one line of hexadecimal digits for a row of squares. */
export async function coarsePicture(page, clip) {
  const png = await page.screenshot({ clip, animations: "disabled", caret: "hide" });
  return page.evaluate(shadesOf, [png.toString("base64"), SQUARE, SHADES]);
}

// Runs in the page: the browser reads its own picture.
async function shadesOf([png, square, shades]) {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const width = Math.floor(image.width / square);
  const height = Math.floor(image.height / square);
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const rows = [];
  for (let y = 0; y < height; y++) {
    let row = "";
    for (let x = 0; x < width; x++) {
      const { data } = context.getImageData(x * square, y * square, square, square);
      let sum = 0;
      for (let at = 0; at < data.length; at += 4)
        sum += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
      row += Math.min(shades - 1, Math.floor((sum / (data.length / 4) / 256) * shades)).toString(
        16,
      );
    }
    rows.push(row);
  }
  return rows;
}

/** What differs between two renderings, in sentences; none if they are the same but for fonts. */
export function differences(stored, now) {
  const found = [...lineDifferences(stored.lines, now.lines)];
  if (stored.picture.length !== now.picture.length) found.push("the picture has another size");
  else {
    const others = shareOfOthers(stored.picture, now.picture);
    if (others > MAX_OTHERS) found.push(`${Math.round(others * 100)}% of the picture differs`);
  }
  return found;
}

function* lineDifferences(stored, now) {
  const before = stored.map(parsed);
  const after = now.map(parsed);
  const missing = before.filter(({ said }) => !after.some((one) => one.said === said));
  const added = after.filter(({ said }) => !before.some((one) => one.said === said));
  for (const { said } of missing) yield `missing: ${said}`;
  for (const { said } of added) yield `new: ${said}`;
  if (missing.length > 0 || added.length > 0) return;
  const order = (lines) => lines.map(({ said }) => said);
  if (!isDeepStrictEqual(order(before), order(after))) yield "the order or number of lines differs";
  else
    for (const [index, { said, box }] of before.entries())
      if (!isNear(box, after[index].box)) yield `moved: ${said} (${box} to ${after[index].box})`;
}

function parsed(line) {
  const [box, ...rest] = line.split("\t");
  return { box: box.split(" ").map(Number), said: rest.join(" | ") };
}

function isNear(before, after) {
  return before.every((size, n) => Math.abs(size - after[n]) <= Math.abs(size) * SHARE + PIXELS);
}

function shareOfOthers(before, after) {
  const digits = [...before.join("")];
  const others = [...after.join("")];
  const far = digits.filter(
    (digit, n) => Math.abs(parseInt(digit, 16) - parseInt(others[n] ?? "0", 16)) > MAX_SHADES,
  );
  return far.length / digits.length;
}

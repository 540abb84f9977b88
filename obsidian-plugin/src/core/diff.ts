// What changed between the indexed and the current text, word by word.

export type Change = "same" | "removed" | "added";

export interface DiffPart {
  change: Change;
  text: string;
}

// Beyond this many tokens a side the quadratic table would be felt; whole lines are compared then.
const MAX_TOKENS = 1_500;

/** A minimal edit from `before` to `after`: words, single Han characters, runs of white space. */
export function diffText(before: string, after: string): DiffPart[] {
  let old = wordsOf(before);
  let now = wordsOf(after);
  if (old.length > MAX_TOKENS || now.length > MAX_TOKENS) {
    old = linesWithEnds(before);
    now = linesWithEnds(after);
  }
  return merged(edit(old, now));
}

function wordsOf(text: string): string[] {
  return text.match(/\p{Script=Han}|[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function linesWithEnds(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

// Longest common subsequence by dynamic programming on what is left between the common ends.
function edit(old: string[], now: string[]): DiffPart[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail++;
  const a = old.slice(head, old.length - tail);
  const b = now.slice(head, now.length - tail);
  return [
    ...old.slice(0, head).map((text) => part("same", text)),
    ...middle(a.slice(0, MAX_TOKENS), b.slice(0, MAX_TOKENS)),
    ...a.slice(MAX_TOKENS).map((text) => part("removed", text)),
    ...b.slice(MAX_TOKENS).map((text) => part("added", text)),
    ...old.slice(old.length - tail).map((text) => part("same", text)),
  ];
}

function middle(a: string[], b: string[]): DiffPart[] {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => table[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const parts: DiffPart[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const left = a[i];
    const right = b[j];
    if (left !== undefined && left === right) {
      parts.push(part("same", left));
      i++;
      j++;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      parts.push(part("removed", left));
      i++;
    } else if (right !== undefined) {
      parts.push(part("added", right));
      j++;
    }
  }
  return parts;
}

function merged(parts: DiffPart[]): DiffPart[] {
  const joined: DiffPart[] = [];
  for (const { change, text } of parts) {
    const last = joined.at(-1);
    if (last?.change === change) last.text += text;
    else joined.push({ change, text });
  }
  return joined;
}

function part(change: Change, text: string): DiffPart {
  return { change, text };
}

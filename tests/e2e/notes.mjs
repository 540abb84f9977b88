// A small vault for what needs control: twins, hostile text, line endings, one long note.

const filler = (word, n) => Array.from({ length: n }, (_, i) => `${word} ${i + 1}.`).join("\n");

export const NOTES = {
  "Control/Closed loop.md": `# Closed loop control

## Steady state error

A higher loop gain makes the steady state error smaller, see [[拉普拉斯变换#终值定理]].

## Stability

Too much gain makes the closed loop oscillate.
`,
  "Control/拉普拉斯变换.md": `# 拉普拉斯变换

## 定义

拉普拉斯变换把微分方程变成代数方程。

## 终值定理

终值定理给出时间趋于无穷时的稳态值，前提是极点都在左半平面。
`,
  "Diary/2024-10-03.md": `# 2024-10-03

## 收据

桂花乌龙生椰拿铁 大杯 28元

## 散步

晚上在桂花树下散步，风很轻。
`,
  "Ops/Out of memory.md": `# Out of memory

The kernel logged \`ERR_OOM_KILL_001\` and killed the worker. 🍵 Raising \`vm.overcommit_ratio\` helped.
`,
  "Ops/Windows lines.md":
    "# Windows lines\r\n\r\nfirst filler line\r\n\r\nzebrafish aquarium on a CRLF line\r\n",
  "Ops/Twins.md": `# Twins

## One

The quokka smiles at every visitor of the island.

## Two

The quokka smiles at every visitor of the island.
`,
  "Ops/Hostile.md": `# Hostile <img src=x onerror="window.pwned=1">

<script>window.pwned = 2</script> xylophone <b onmouseover="window.pwned=3">bold</b> &lt;tag&gt; [[x|<i>y</i>]]
`,
  "Ops/Long.md": `# Long\n\n${filler("Filler about nothing in particular", 80)}\n\nThe marmalade recipe stands far below.\n\n${filler("More filler", 40)}\n`,
  "Ops/Edits.md":
    "# Edits\n\n## Plan\n\nThe platypus census takes place every autumn near the river bank.\n",
  ...Object.fromEntries(
    Array.from({ length: 120 }, (_, i) => [
      `Many/Lighthouse ${i + 1}.md`,
      `# Lighthouse ${i + 1}\n\n## Beam\n\nLighthouse keeper log number ${i + 1}: the lamp was lit.\n\n## Fog\n\nLighthouse fog horn entry ${i + 1}.\n`,
    ]),
  ),
};

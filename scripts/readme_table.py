#!/usr/bin/env python3
"""The tables of speed in README.md and docs/README.zh.md, from the stored baseline.

Usage: python scripts/readme_table.py

`scripts/bench.py --store` measures; this only writes what it kept between the two marks of both
files. A test holds that they are equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
READMES = (ROOT / "README.md", ROOT / "docs" / "README.zh.md")  # English, Chinese
BASELINE = ROOT / "scripts" / "bench_baseline.json"
BEGIN, END = "<!-- speed: scripts/readme_table.py -->", "<!-- end of speed -->"

Names = Mapping[str, tuple[str, str]]
# How a figure of the baseline is called for readers; those that were not measured are left out.
AGAINST: Names = {
    "query: hybrid against the SQLite recipe": (
        "a whole query, against SQLite FTS5 with sqlite-vec and plain RRF",
        "一次完整的搜索，相比 SQLite FTS5 加 sqlite-vec 加普通 RRF",
    ),
    "query: full text against tantivy": ("by words, against tantivy-py", "按词语，相比 tantivy-py"),
    "query: full text against FTS5": (
        "by words, against SQLite FTS5",
        "按词语，相比 SQLite FTS5",
    ),
    "query: meaning against the matrix product": (
        "by meaning, against one exact matrix product",
        "按语义，相比一次精确的矩阵乘法",
    ),
    "query: meaning against sqlite-vec": (
        "by meaning, against sqlite-vec",
        "按语义，相比 sqlite-vec",
    ),
}
OWN: Names = {
    "query: hybrid through the bridge, median": ("a whole query, median", "一次搜索，中位数"),
    "query: hybrid through the bridge, p95": (
        "a whole query, slowest of twenty",
        "一次搜索，二十次里最慢的",
    ),
    "query: recall@150 of exact cosines": (
        "of the 150 nearest passages, found",
        "最近的 150 个片段里找到的",
    ),
    "query: start, answers by words": (
        "start of the daemon until words answer",
        "后台启动到能按词语回答",
    ),
    "query: start, answers by meaning": (
        "start of the daemon until meaning answers",
        "后台启动到能按语义回答",
    ),
    "query: resident": ("memory of the daemon", "后台占用的内存"),
    "query: resident over imports, model and tokenizer": (
        "of that, over imports, model and tokenizer",
        "其中导入的库、模型和分词器以外的部分",
    ),
    "query: the same without mapped files": (
        "the same without mapped files, which the system may take back",
        "同上，不计映射的文件（系统随时可以收回）",
    ),
}
ONCE: Names = {
    "person: sidelight --help, median": ("help of the command line", "命令行的帮助"),
    "person: sidelight search, beside a daemon, median": (
        "a search from the command line, beside a daemon",
        "后台运行时，从命令行搜索一次",
    ),
    "person: saved note, found by words, median": (
        "a saved note is found, after the debounce",
        "保存的笔记能搜到（去抖之后）",
    ),
    "index: first index by words": (
        "first index by words, processor time",
        "第一次按词语建索引，处理器时间",
    ),
    "index: first index by words against jieba alone": (
        "the same, against jieba alone",
        "同上，相比只用 jieba 切词",
    ),
    "grep: times ripgrep's own": (
        "lines of 15,000 notes, against ripgrep alone",
        "在 15,000 篇笔记里找行，相比 ripgrep",
    ),
    "person: packages that Sidelight needs": ("packages on disk", "依赖包的大小"),
    "person: default model": ("default model on disk", "默认模型的大小"),
}
_HEADS = (("times as long as", "是几倍"), ("Sidelight itself", "Sidelight 自身"), ("and", "还有"))
_PASSAGES = ("passages", "个片段")


def block(baseline: Mapping[str, Any], language: int) -> str:
    """What stands between the marks: tables, and where they were measured.

    Args:
        baseline: as `scripts/bench.py` keeps it.
        language: 0 for English, 1 for Chinese.
    """
    figures = baseline["figures"]
    sizes = sorted({f["at"] for f in figures if f["name"] in AGAINST}, key=_number)
    heads = [f"{size} {_PASSAGES[language]}" for size in sizes]
    tables = []
    columns = ((sizes, heads), (sizes, heads), ([""], [""]))
    for head, names, (places, titles) in zip(_HEADS, (AGAINST, OWN, ONCE), columns, strict=True):
        rows = _rows(figures, names, places, language)
        if rows:
            first = f"| {' | '.join([head[language], *titles])} |"
            tables.append("\n".join([first, "| --- " * (len(titles) + 1) + "|", *rows]))
    return "\n\n".join([*tables, _measured(baseline)[language]])


def written(readme: str, baseline: Mapping[str, Any], language: int) -> str:
    """The README with the block of this baseline.

    Raises:
        ValueError: it lacks the marks.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"a README lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n\n{block(baseline, language)}\n\n{END}{after}"


def _rows(
    figures: Sequence[Mapping[str, Any]], names: Names, places: Sequence[str], language: int
) -> list[str]:
    known = {(f["name"], f["at"]): f for f in figures}
    rows = []
    for name, said in names.items():
        cells = [_shown(known.get((name, place))) for place in places]
        if any(cells):
            rows.append(f"| {said[language]} | {' | '.join(cells)} |")
    return rows


def _shown(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return ""
    value, unit = figure["value"], figure["unit"]
    if unit == "x":
        return f"{value:.2f}"
    return f"{value:,.0f} {unit}" if value >= 20 else f"{value:.1f} {unit}"


def _measured(baseline: Mapping[str, Any]) -> tuple[str, str]:
    machine, versions = baseline["machine"], baseline["versions"]
    cores, processor, load = machine["cores"], machine["processor"], machine["load"]
    made = (baseline["commit"], baseline["measured_at"][:10])
    rivals = [f"{name} {versions[name]}" for name in ("lancedb", "tantivy", "sqlite-vec")]
    return (
        f"Measured on {cores} cores ({processor}, load {load}) at commit {made[0]}, {made[1]}: "
        + ", ".join(rivals)
        + ".",
        f"测量：{cores} 个核心（{processor}，负载 {load}），提交 {made[0]}，{made[1]}："
        + "，".join(rivals)
        + "。",
    )


def _number(size: str) -> int:
    return int(size.replace(",", "") or 0)


def main() -> None:
    baseline = json.loads(BASELINE.read_text("utf-8"))
    for language, readme in enumerate(READMES):
        text = written(readme.read_text("utf-8"), baseline, language)
        readme.write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    main()

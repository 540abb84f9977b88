"""Columns of a part of a long line, from the file to the wire, in UTF-16 units."""

from __future__ import annotations

import hashlib
import json

from sidelight.bridge.wire import citation_json
from sidelight.query.cite import LiveFile, cite
from sidelight.types import CitationStatus, Passage, PassageKind

SENTENCE = "𠮷野家的咖啡豆子 😀 来自埃塞俄比亚的高原，用九十三度的水慢慢冲。"
LINE = "😀开头的句子很长很长。" * 40 + SENTENCE + "后面还有一句😀。" * 40


def check_columns(before: str, after: str, status: CitationStatus, start_line: int) -> None:
    """Cites the sentence, indexed in `before`, in `after`; the wire's columns must cut it out."""
    start = LINE.index(SENTENCE)
    passage = Passage(PassageKind.LINES, (), 1, 1, (start, start + len(SENTENCE)), None, SENTENCE)
    indexed = hashlib.sha256(before.encode()).hexdigest()
    citation = cite(passage, indexed, before.encode, LiveFile("长.md", after.encode()))
    assert citation.status is status
    wire = citation_json(citation)
    assert wire["start_line"] == start_line
    assert wire["columns"] is not None
    low, high = wire["columns"]
    units = after.split("\n")[start_line - 1].encode("utf-16-le")
    assert units[2 * low : 2 * high].decode("utf-16-le") == SENTENCE


def test_columns_of_an_unchanged_file() -> None:
    check_columns(LINE, LINE, CitationStatus.FRESH, 1)


def test_columns_of_a_line_that_moved_and_grew() -> None:
    after = "新的第一行 😀\n\n😀😀" + LINE
    check_columns(LINE, after, CitationStatus.SOURCE_CHANGED, 3)


def test_columns_of_a_canvas_card_count_from_its_start() -> None:
    def canvas(text: str) -> bytes:
        node = {"id": "n1", "type": "text", "text": text, "x": 0, "y": 0, "width": 1, "height": 1}
        return json.dumps({"nodes": [node], "edges": []}, ensure_ascii=False).encode()

    card = "😀 first line\n" + LINE
    start = card.index(SENTENCE)
    columns = (start, start + len(SENTENCE))
    passage = Passage(PassageKind.CANVAS, (), None, None, columns, "n1", SENTENCE)
    data = canvas(card)
    indexed = hashlib.sha256(data).hexdigest()
    wire = citation_json(cite(passage, indexed, lambda: data, LiveFile("板.canvas", data)))
    assert wire["columns"] is not None
    low, high = wire["columns"]
    assert card.encode("utf-16-le")[2 * low : 2 * high].decode("utf-16-le") == SENTENCE

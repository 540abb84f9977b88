"""Which passages does a note consist of? Runs of whole blocks under one heading.

Boundaries depend on the text alone, never on a model. Every character of the body that is
not blank lies in exactly one chunk; no chunk crosses a heading; a block is cut only where it
alone is too large, at the places its kind allows. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sidelight.types import Block, BlockKind, Chunk, Note, NoteKind, PassageKind, Property
from sidelight.vault.cuts import Piece, cut_block, cut_text
from sidelight.vault.noise import (
    LONG_LINE,
    data_kind,
    has_words,
    is_data_line,
    is_data_part,
    is_drawing,
    is_drawing_note,
)
from sidelight.vault.sizes import LIMIT, TINY, WHOLE, size

# Properties Obsidian gives a meaning of their own: metadata, not prose.
_METADATA = frozenset(("tags", "aliases", "cssclasses", "tag", "alias", "cssclass"))
# A property of fewer letters (a Chinese character counting two) is a value, not prose.
_MIN_PROSE = 40
_KEY = re.compile(r"[ \t-]*[\w-]+:(?:[ \t]|$)|[ \t]*[-\[{]")
_HAN = re.compile("[\u3400-\u9fff]")
_MAYBE_DATA = (BlockKind.CODE, BlockKind.COMMENT, BlockKind.HTML)
# So much is borrowed for a tiny section, in characters of the lender.
_BORROWED = 240


@dataclass(slots=True)
class _Draft:
    """A chunk before it has its ids."""

    kind: PassageKind
    heading_path: tuple[str, ...]
    section_index: int
    start_line: int | None
    end_line: int | None
    text: str
    columns: tuple[int, int] | None = None
    node: str | None = None
    context: str = ""
    searchable: bool = True
    size: float = 0.0


def chunk_note(note: Note) -> list[Chunk]:
    """All chunks of a note in order: properties first, then the body from top to bottom.

    A block of frontmatter that is not valid YAML gives one chunk of kind `property` without a
    key; it is searched only if it is prose between two rules rather than broken properties. A
    note without text gives one chunk of kind `note` without lines.
    """
    if note.kind is NoteKind.CANVAS:
        drafts = list(_canvas_drafts(note))
        body = drafts
    else:
        body = list(_body_drafts(note))
        drafts = [*_property_drafts(note), *body]
        _borrow(body)
    if not body:
        drafts.append(_Draft(PassageKind.NOTE, (), 0, None, None, "", searchable=False))
    return _numbered(note.path, drafts)


# --------------------------------------------------------------------------- body


def _body_drafts(note: Note) -> Iterator[_Draft]:
    drawing = is_drawing_note(note.path, note.frontmatter.data)
    section = -1
    pieces: list[Piece] = []
    for block in note.blocks:
        if block.kind is BlockKind.YAML:
            continue
        if block.kind is BlockKind.HEADING or section < 0:
            yield from _section_drafts(note, pieces, section)
            section += 1
            pieces = []
        pieces += _pieces(note, block, drawing)
    yield from _section_drafts(note, pieces, section)


def _pieces(note: Note, block: Block, drawing: bool) -> list[Piece]:
    """The block whole, or cut where it is too large or partly data."""
    lines = note.lines[block.start_line - 1 : block.end_line]
    text = lines[0] if len(lines) == 1 else "\n".join(lines)
    total = size(text)
    if block.kind in _MAYBE_DATA and (drawing or is_drawing(text)):
        pieces = cut_block(block, lines) if total > WHOLE else [Piece.whole(block, total)]
        return [replace(piece, noise=True) for piece in pieces]
    if total <= WHOLE and not (len(text) > LONG_LINE and any(map(is_data_line, lines))):
        return [Piece.whole(block, total)]
    return cut_block(block, lines)


def _section_drafts(note: Note, pieces: Sequence[Piece], section: int) -> Iterator[_Draft]:
    """Neighbouring pieces of one section, together as long as they stay within the limit.

    Parts of a line, and data, stand alone. A heading stays with what follows it.
    """
    if not pieces:
        return
    run: list[Piece] = []
    spent = 0.0
    limit = WHOLE if sum([piece.size for piece in pieces]) <= WHOLE else LIMIT
    for piece in pieces:
        if run:
            only_heading = len(run) == 1 and run[0].block.kind is BlockKind.HEADING
            fits = spent + piece.size <= limit or (only_heading and spent < LIMIT / 4)
            if not fits or piece.alone or run[-1].alone:
                yield _draft_of(note, run, section, spent)
                run, spent = [], 0.0
        run.append(piece)
        spent += piece.size
    yield _draft_of(note, run, section, spent)


def _draft_of(note: Note, run: Sequence[Piece], section: int, spent: float) -> _Draft:
    first, last = run[0], run[-1]
    lines = note.lines
    if first.columns is not None:
        start, end = first.columns
        text = lines[first.first - 1][start:end]
    elif first.first == last.last:
        text = lines[first.first - 1]
    else:
        text = "\n".join(lines[first.first - 1 : last.last])
    return _Draft(
        PassageKind.LINES,
        first.block.heading_path,
        section,
        first.first,
        last.last,
        text,
        first.columns,
        None,
        first.context,
        not first.noise and has_words(text),
        spent,
    )


def _borrow(drafts: Sequence[_Draft]) -> None:
    """Gives tiny sections some words of their parent section, else of a neighbour."""
    parents: dict[tuple[str, ...], _Draft] = {}  # the latest fit to lend, by heading path
    for index, draft in enumerate(drafts):
        if not draft.searchable:
            continue
        if draft.size < TINY and not draft.context:
            lender = parents.get(draft.heading_path[:-1]) if draft.heading_path else None
            lender = lender or _neighbour(drafts, index)
            if lender is not None:
                draft.context = lender.text[:_BORROWED].rsplit("\n", 1)[0].strip()
        if draft.size >= TINY / 2:
            parents[draft.heading_path] = draft


def _neighbour(drafts: Sequence[_Draft], index: int) -> _Draft | None:
    for at in (index - 1, index + 1):
        if 0 <= at < len(drafts) and drafts[at].searchable:
            return drafts[at]
    return None


# ---------------------------------------------------------- properties and canvases


def _property_drafts(note: Note) -> Iterator[_Draft]:
    if note.frontmatter.valid is False:
        yield from _invalid_block_draft(note)
    for entry in note.frontmatter.properties:
        if entry.value in (None, "", [], {}):
            continue
        yield _Draft(
            PassageKind.PROPERTY,
            (),
            0,
            entry.start_line,
            entry.end_line,
            "\n".join(note.lines[entry.start_line - 1 : entry.end_line]),
            node=entry.key,
            searchable=_is_prose(entry),
        )


def _invalid_block_draft(note: Note) -> Iterator[_Draft]:
    first, end = 2, note.frontmatter.body_start_line - 2
    while first <= end and not note.lines[first - 1].strip():
        first += 1
    while end >= first and not note.lines[end - 1].strip():
        end -= 1
    if first <= end:
        lines = note.lines[first - 1 : end]
        prose = not any(_KEY.match(line) for line in lines)
        yield _Draft(
            PassageKind.PROPERTY, (), 0, first, end, "\n".join(lines), node="", searchable=prose
        )


def _is_prose(entry: Property) -> bool:
    if entry.key.lower() in _METADATA:
        return False
    values = entry.value if isinstance(entry.value, list) else [entry.value]
    prose = "".join(v for v in values if isinstance(v, str) and not _is_reference(v))
    return len(prose) + len(_HAN.findall(prose)) >= _MIN_PROSE


def _is_reference(value: str) -> bool:
    value = value.strip()
    return "://" in value.split(" ", 1)[0] or (value.startswith("[[") and value.endswith("]]"))


def _canvas_drafts(note: Note) -> Iterator[_Draft]:
    for number, node in enumerate(note.canvas_nodes):
        if not node.text.strip():
            continue
        whole = size(node.text) <= WHOLE
        parts = [(0, len(node.text))] if whole else cut_text(node.text)
        for start, end in parts:
            text = node.text[start:end]
            yield _Draft(
                PassageKind.CANVAS,
                (),
                number,
                None,
                None,
                text,
                columns=None if whole else (start, end),
                node=node.id,
                searchable=has_words(text) and not is_data_part(text, data_kind(text)),
            )


# ------------------------------------------------------------------------- identity


def _numbered(path: str, drafts: Sequence[_Draft]) -> list[Chunk]:
    seen: dict[tuple[tuple[str, ...], bytes], int] = {}
    chunks = []
    for index, draft in enumerate(drafts):
        text_hash = hashlib.sha256(draft.text.encode("utf-8", "surrogatepass")).digest()
        key = (draft.heading_path, text_hash)
        ordinal = seen[key] = seen.get(key, -1) + 1
        chunks.append(
            Chunk(
                _chunk_id(path, draft, ordinal, text_hash),
                path,
                draft.kind,
                draft.heading_path,
                draft.section_index,
                index,
                draft.start_line,
                draft.end_line,
                draft.columns,
                draft.node,
                draft.text,
                draft.context,
                draft.searchable,
            )
        )
    return chunks


def _chunk_id(path: str, draft: _Draft, ordinal: int, text_hash: bytes) -> str:
    place = "\0".join((path, draft.kind, *draft.heading_path, "", str(ordinal)))
    data = place.encode("utf-8", "surrogatepass") + text_hash
    return hashlib.sha256(data).hexdigest()[:32]

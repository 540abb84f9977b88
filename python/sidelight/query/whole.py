"""How long is the whole vault, and does it fit a long context? Every note, as it is on disk now.

For a model that reads everything at once; nothing is searched or ranked.
"""

from __future__ import annotations

from dataclasses import dataclass

from sidelight.models.tokens import TokenCounter
from sidelight.query.cite import LiveFiles
from sidelight.query.context import SEPARATOR, render_piece
from sidelight.query.index import Index
from sidelight.types import Citation, CitationStatus, Match, NoteKind, PassageKind

LONG_CONTEXT = 200_000  # tokens that today's large models take in one go


@dataclass(frozen=True, slots=True)
class WholeVault:
    """The vault as one text.

    Attributes:
        text: the notes in the order of their paths; never over the budget.
        tokens: of `text`.
        notes: how many are in it.
        total_tokens: of the whole vault.
        left_out: paths that did not fit.
    """

    text: str
    tokens: int
    budget: int
    tokenizer: str
    notes: int
    total_tokens: int
    left_out: tuple[str, ...]


def whole_vault(index: Index, budget: int, counter: TokenCounter) -> WholeVault:
    """Reads and counts every Markdown note and canvas.

    Args:
        index: the open vault.
        budget: tokens; notes that do not fit are named.
        counter: counts them.
    """
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    with index.catalog.lock:
        paths = sorted(index.catalog.notes)
    blocks: list[tuple[str, str, int]] = []
    left_out: list[str] = []
    used = total = 0
    for path in paths:
        block = _block(files, path, len(blocks) + 1)
        if block is None:
            continue
        cost = counter.count(block + SEPARATOR) + 1
        total += cost
        if used + cost > budget:
            left_out.append(path)
        else:
            used += cost
            blocks.append((path, block, cost))
    text = SEPARATOR.join(block for _, block, _ in blocks)
    while blocks and counter.count(text) > budget:
        left_out.append(blocks.pop()[0])
        text = SEPARATOR.join(block for _, block, _ in blocks)
    tokens = counter.count(text) if blocks else 0
    return WholeVault(
        text, tokens, budget, counter.name, len(blocks), total, tuple(sorted(left_out))
    )


def _block(files: LiveFiles, path: str, number: int) -> str | None:
    live = files.get(path)
    if live is None or live.content_hash is None:
        return None
    note = live.note
    if note.kind is NoteKind.CANVAS:
        text = "\n\n".join(node.text for node in note.canvas_nodes)
        where = Citation(PassageKind.NOTE, CitationStatus.FRESH, Match.EXACT, None, None)
    else:
        text = "\n".join(note.lines)
        where = Citation(
            PassageKind.LINES, CitationStatus.FRESH, Match.EXACT, 1, max(1, len(note.lines))
        )
    return render_piece(number, path, (), where, text) if text.strip() else None

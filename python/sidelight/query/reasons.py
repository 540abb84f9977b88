"""What does an answer say about itself? The query as understood, and why there is no evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sidelight.language.terms import QueryTerm
from sidelight.query.asked import Asked
from sidelight.query.candidates import Candidate
from sidelight.query.gate import Decision
from sidelight.types import IndexState, QueryView, Reason, TermKind

_UNKNOWN_SHOWN = 8
_WHOLE_WORD = 0.5  # a term of this weight counts as a word for people


def no_evidence_reasons(
    vault: Path,
    asked: Asked,
    ordered: Sequence[Candidate],
    decision: Decision,
    nearest: str | None,
    lost: int,
    state: IndexState,
) -> list[Reason]:
    """Why nothing is shown, most telling first.

    Args:
        vault: its folder.
        asked: the query.
        ordered: all candidates.
        decision: of the gate.
        nearest: path of the best passage that stands on disk; None if none does.
        lost: passages that no longer stand there.
        state: of the index.
    """
    reasons = []
    if not vault.is_dir():
        reasons.append(Reason("vault_missing", f"The vault {vault} is not there."))
    if state.pending:
        waits = "1 item is" if state.pending == 1 else f"{state.pending} items are"
        reasons.append(
            Reason(
                "index_incomplete",
                f"The index is not complete yet: {waits} still to be done, "
                "so an answer may be missing.",
            )
        )
    gone = lost_reason(lost)
    if not asked.has_content and not asked.filters_only:
        reasons.append(Reason("no_content", "The query holds no word that says what it is about."))
    elif not ordered:
        reasons.append(Reason("no_hits", "Nothing in the vault matches the query."))
    elif nearest is None:
        reasons.append(gone or Reason("unresolvable", "No passage stands on disk any more."))
        gone = None
    else:
        reasons.append(
            Reason(
                "below_threshold",
                f"The nearest passage is in “{nearest}”, but it is too unlikely to answer "
                f"({decision.confidence:.2f} of the needed {decision.threshold:.2f}).",
            )
        )
    unknown = _unknown_words(asked)
    if unknown:
        words = ", ".join(unknown[:_UNKNOWN_SHOWN])
        reasons.append(Reason("unknown_words", f"The vault does not know: {words}."))
    if gone:
        reasons.append(gone)
    return reasons


def lost_reason(lost: int) -> Reason | None:
    """What to say where `lost` passages no longer stand on disk; None where none is lost."""
    if not lost:
        return None
    what = "1 passage was" if lost == 1 else f"{lost} passages were"
    return Reason("unresolvable", f"{what} left out: no longer found in the files.")


def _unknown_words(asked: Asked) -> list[str]:
    """What the query names that the vault has never seen, in the query's own spelling."""
    if asked.lexical is None:
        return []
    unknown = [t.query for t in asked.lexical.unknown() if t.query.weight >= _WHOLE_WORD]
    return list(dict.fromkeys(term.source for term in _for_people(unknown, asked)))


def _for_people(terms: Sequence[QueryTerm], asked: Asked) -> list[QueryTerm]:
    """Without pairs that the query tears out of its words: 识图 of 知识图谱 means nothing."""
    words = {t.source for t in asked.terms if t.kind is TermKind.WORD and len(t.source) > 1}

    def torn(pair: str) -> bool:
        before = any(w[-1] == pair[0] and w + pair[1:] in asked.text for w in words)
        return before or any(w[0] == pair[-1] and pair[:-1] + w in asked.text for w in words)

    return [t for t in terms if t.kind is not TermKind.BIGRAM or not torn(t.source)]


def _words(asked: Asked) -> tuple[str, ...]:
    """The words of a query as typed; pairs and characters where no dictionary knows a word."""
    terms = _for_people(asked.terms, asked)
    words = [t for t in terms if t.kind not in (TermKind.BIGRAM, TermKind.CHAR)]
    pairs = [t for t in terms if t.kind is TermKind.BIGRAM and t.weight >= _WHOLE_WORD]
    shown = [t for t in terms if t in words or t in pairs] or terms
    return tuple(dict.fromkeys(term.source for term in shown))


def query_view(asked: Asked) -> QueryView:
    """The query as an answer shows it."""
    return QueryView(
        text=asked.shown_text,
        terms=_words(asked),
        unknown_terms=tuple(_unknown_words(asked)),
        filters=asked.filters,
        language=asked.language,
    )

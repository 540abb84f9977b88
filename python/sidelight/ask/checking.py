"""Does a sentence say what it cites? Invented citations go, unsupported sentences are marked.

Plain rules that hold in every language: a sentence must cite a piece that exists, and every number
and name written in Latin letters and digits that it states must stand in a piece it cites or in the
question. They find invented figures and references, not a wrong conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sidelight.ask.state import Sentence

_CITED = re.compile(r"\s*[\[【](?:\s*(?:n\s*=?\s*)?\d+\s*[,，、;]?)+[\]】]")
_END = re.compile(
    r"(?:[.!?](?=\s|$|[\[【])|[。！？]|\n)+(?:\s*[\[【](?:\s*\d+\s*[,，、;]?)+[\]】])*[”」\"]?"
)
_FACT = re.compile(r"\d[\d.,:/%-]*\d|\d+|[A-Za-z][\w./-]*[_\d][\w./-]*")
_ITEM = re.compile(r"^\d{1,3}[.)、](?!\d)")  # the number of an item in a list
_WORDS = re.compile(r"\w")
_REPEATS = 3  # of one sentence until the model is taken to run in a circle


class Sentences:
    """Takes a stream of words apart into checked sentences.

    Args:
        pieces: text of each piece by its number.
        question: whose numbers and names need no evidence.

    Attributes:
        looping: the same sentence came too often; nothing more should be read.
    """

    def __init__(self, pieces: Mapping[int, str], question: str) -> None:
        self._pieces = pieces
        self._question = _folded(question)
        self._waiting = ""
        self._seen: dict[str, int] = {}
        self.looping = False

    def feed(self, words: str) -> Iterator[Sentence]:
        """The sentences that are complete with these words."""
        self._waiting += words
        while not self.looping:
            end = _end(self._waiting)
            # A citation may follow the full stop: the sentence ends where something else begins.
            if end is None or end.end() >= len(self._waiting.rstrip(" ")):
                return
            if _may_cite(self._waiting[end.end() :]):
                return
            sentence, self._waiting = self._waiting[: end.end()], self._waiting[end.end() :]
            yield from self._checked(sentence)

    def rest(self) -> Iterator[Sentence]:
        """What was left unfinished."""
        sentence, self._waiting = self._waiting, ""
        if not self.looping:
            yield from self._checked(sentence)

    def _checked(self, raw: str) -> Iterator[Sentence]:
        if not _WORDS.search(raw):
            return
        named = [int(n) for group in _CITED.findall(raw) for n in re.findall(r"\d+", group)]
        known = tuple(dict.fromkeys(n for n in named if n in self._pieces))
        removed = tuple(dict.fromkeys(n for n in named if n not in self._pieces))
        text = " ".join(_CITED.sub("", raw).split())
        if not text:
            return
        self._seen[text] = self._seen.get(text, 0) + 1
        if self._seen[text] >= _REPEATS:
            self.looping = True
            return
        yield Sentence(text, known, bool(known) and self._stands(text, known), removed)

    def _stands(self, text: str, cited: tuple[int, ...]) -> bool:
        held = "\n".join(_folded(self._pieces[n]) for n in cited)
        said = f"{held}\n{self._question}"
        return all(_states(said, _folded(fact)) for fact in _FACT.findall(_ITEM.sub("", text)))


def _end(text: str) -> re.Match[str] | None:
    """The first end of a sentence; the full stop of a list's number is none."""
    for end in _END.finditer(text):
        line = text[text.rfind("\n", 0, end.start()) + 1 : end.start()]
        if not line.strip().isdecimal():
            return end
    return None


def _may_cite(rest: str) -> bool:
    """Whether what follows a full stop could still become its citation."""
    return re.fullmatch(r"\s*[\[【]?[\d\s,，、;]*", rest) is not None


def _states(text: str, fact: str) -> bool:
    """Whether a fact stands there on its own: 30 is not in 1300, nor 5 in 0.5; 3 is in 03."""
    whole = rf"(?<![\d.])0*{re.escape(fact)}(?!\d|\.\d)"
    return re.search(whole, text) is not None


def _folded(text: str) -> str:
    return re.sub(r"(?<=\d)[,\u2009\u202f ](?=\d{3}(?!\d))", "", text).casefold()

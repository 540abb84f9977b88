"""Which words does a run of Han characters consist of?

jieba's algorithm and dictionary; `rjieba` (the same in Rust) where it can be imported, jieba
itself where not: a test proves that both give the same words. Only runs of Han characters
come here, already folded; on other text the two differ.
"""

from __future__ import annotations

import threading
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

from sidelight.errors import SidelightError

# Names the dictionary in an index's signature. rjieba carries jieba's own dictionary.
DICTIONARY = "jieba-0.42.1"


class Segmenter(Protocol):
    """Search-mode segmentation: the shorter words of a long word, then the word."""

    def words(self, text: str) -> list[str]:
        """Words of Han runs that are separated by spaces, the spaces among them."""
        ...

    def places(self, run: str) -> list[tuple[str, int, int]]:
        """Words of one run with their places in it."""
        ...

    def knows(self, word: str) -> bool:
        """Whether the dictionary has `word`; else the algorithm guessed it."""
        ...

    def tags(self, run: str) -> list[tuple[str, str]]:
        """Words of one run, none inside another, with jieba's parts of speech (n, nr, v, ...)."""
        ...


_LOADING = threading.Lock()  # loading it twice would cost its time and 40 MB again


def segmenter() -> Segmenter:
    """The segmenter of this process; its dictionary is loaded at the first call (0.3 s to 1 s)."""
    with _LOADING:
        return _segmenter()


@cache
def _segmenter() -> Segmenter:
    return RustSegmenter() if find_spec("rjieba") is not None else PythonSegmenter()


class RustSegmenter:
    """Segmentation by rjieba."""

    def __init__(self) -> None:
        import rjieba

        self._jieba = rjieba.Jieba()  # not the module's shared one, which others can add to

    def words(self, text: str) -> list[str]:
        """See `Segmenter`."""
        words: list[str] = self._jieba.cut_for_search(text)
        return words

    def places(self, run: str) -> list[tuple[str, int, int]]:
        """See `Segmenter`."""
        places: list[tuple[str, int, int]] = self._jieba.tokenize(run, "search")
        return places

    def knows(self, word: str) -> bool:
        """See `Segmenter`."""
        return bool(self._jieba.has_word(word))

    def tags(self, run: str) -> list[tuple[str, str]]:
        """See `Segmenter`."""
        tags: list[tuple[str, str]] = self._jieba.tag(run)
        return tags


class PythonSegmenter:
    """Segmentation by jieba itself.

    Raises:
        SidelightError: jieba's dictionary file is missing.
    """

    def __init__(self) -> None:
        import jieba

        jieba.setLogLevel(60)
        self._jieba = jieba.Tokenizer()
        try:
            self._jieba.initialize()
        except OSError as error:
            raise SidelightError(
                "The dictionary of Chinese words cannot be read.",
                f"Install it again: pip install --force-reinstall jieba=={version('jieba')}",
                code="DICTIONARY_MISSING",
            ) from error

    def words(self, text: str) -> list[str]:
        """See `Segmenter`."""
        return list(self._jieba.cut_for_search(text))

    def places(self, run: str) -> list[tuple[str, int, int]]:
        """See `Segmenter`."""
        return list(self._jieba.tokenize(run, mode="search"))

    def knows(self, word: str) -> bool:
        """See `Segmenter`."""
        return bool(self._jieba.FREQ.get(word))

    def tags(self, run: str) -> list[tuple[str, str]]:
        """See `Segmenter`."""
        return [(pair.word, pair.flag) for pair in self._tagger.cut(run)]

    @cached_property
    def _tagger(self) -> Any:
        from jieba.posseg import POSTokenizer

        return POSTokenizer(self._jieba)

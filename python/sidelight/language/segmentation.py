"""Which words does a run of Han characters consist of?

jieba's algorithm and dictionary; `rjieba` (the same in Rust) where it can be imported, jieba
itself where not: a test proves that both give the same words. Only runs of Han characters
come here, already folded; on other text the two differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec

from sidelight.errors import SidelightError

Cutter = Callable[[str], list[tuple[str, int, int]]]

# Names the dictionary in an index's signature. rjieba carries jieba's own dictionary.
DICTIONARY = "jieba-0.42.1"


def cut(run: str) -> list[tuple[str, int, int]]:
    """Words of `run` in search mode (shorter words of a long word before it), with places.

    Args:
        run: characters of U+4E00 to U+9FD5 only, what jieba takes for Han.
    """
    return list(_cut_short(run)) if len(run) <= _SHORT else _cutter()(run)


_SHORT = 6  # most runs between two punctuation marks are short and come again


@lru_cache(maxsize=50_000)
def _cut_short(run: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_cutter()(run))


@cache
def _cutter() -> Cutter:
    return rust_cutter() if find_spec("rjieba") is not None else python_cutter()


def rust_cutter() -> Cutter:
    """Segmentation by rjieba."""
    import rjieba

    own = rjieba.Jieba()  # not the module's shared one, which others could add words to

    def cut_run(run: str) -> list[tuple[str, int, int]]:
        words: list[tuple[str, int, int]] = own.tokenize(run, "search")
        return words

    return cut_run


def python_cutter() -> Cutter:
    """Segmentation by jieba itself.

    Raises:
        SidelightError: jieba's dictionary file is missing.
    """
    import jieba

    jieba.setLogLevel(60)
    own = jieba.Tokenizer()
    try:
        own.initialize()
    except OSError as error:
        raise SidelightError(
            "The dictionary of Chinese words cannot be read.",
            f"Install it again: pip install --force-reinstall jieba=={version('jieba')}",
            code="DICTIONARY_MISSING",
        ) from error
    return lambda run: list(own.tokenize(run, mode="search"))

"""How many tokens has a text for the model that will read it? Exact where its tokenizer is here.

Four ways, by name:

    model      the embedding model's own tokenizer, exact for it
    bytes      UTF-8 bytes: never fewer than the tokens of any byte-level tokenizer (GPT, Llama 3,
               Qwen, DeepSeek), so nothing counted this way is ever too long for one of those
    estimate   a quick guess for the same family: one for a character of Chinese, Japanese or
               Korean, one for every four letters of a word, one for any other mark
    FILE       a path to a `tokenizer.json`, exact for the model it belongs to

Knows no budget and downloads nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sidelight.errors import ModelError, UsageError
from sidelight.models.embedder import Embedder
from sidelight.models.manifest import TOKENIZER
from sidelight.models.registry import resolve_folder
from sidelight.models.tokenizer import load_tokenizer

MODEL, BYTES, ESTIMATE = "model", "bytes", "estimate"
NAMES = (MODEL, BYTES, ESTIMATE)
_WORD_OR_MARK = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]+|[0-9]{1,3}|\S")
_LETTERS_A_TOKEN = 4  # English prose under GPT's tokenizers has about 4 characters a token


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A way of counting.

    Attributes:
        name: what an answer says it was counted by.
        count: tokens of a text, without special tokens; never negative, 0 for "".
    """

    name: str
    count: Callable[[str], int]


def token_counter(name: str, embedder: Embedder | None, model: str = "") -> TokenCounter:
    """The counter of a name.

    Args:
        name: see the module; "" is `model` where there is one, else `bytes`.
        embedder: the loaded model, whose tokenizer then need not be read again.
        model: the setting `embedding_model`, for where none is loaded.

    Raises:
        UsageError: there is no such counter or file.
        ModelError: the file is no tokenizer, or the model is not built.
    """
    if name in ("", MODEL):
        if embedder is not None:
            return TokenCounter(MODEL, embedder.count_words_tokens)
        file = resolve_folder(model) / TOKENIZER
        if file.is_file():
            return TokenCounter(MODEL, _counting(file))
        if name == MODEL:
            raise ModelError(
                "The embedding model, whose tokens are to be counted, is not built.",
                "Run `sidelight model build`, or count with `bytes` or `estimate`.",
            )
        return TokenCounter(BYTES, count_bytes)
    if name == BYTES:
        return TokenCounter(BYTES, count_bytes)
    if name == ESTIMATE:
        return TokenCounter(ESTIMATE, estimate)
    path = Path(os.path.expanduser(name))
    if not path.is_file():
        raise UsageError(
            f"There is no tokenizer named '{name}', and no such file.",
            f"Name one of {', '.join(NAMES)}, or the path of a tokenizer.json.",
        )
    return TokenCounter(path.name, _counting(path))


def count_bytes(text: str) -> int:
    """UTF-8 bytes: an upper bound for every byte-level tokenizer."""
    return len(text.encode("utf-8", "surrogatepass"))


def estimate(text: str) -> int:
    """About as many tokens as a large model's tokenizer makes; may be too few."""
    return sum(-(-len(m[0]) // _LETTERS_A_TOKEN) for m in _WORD_OR_MARK.finditer(text))


def _counting(file: Path) -> Callable[[str], int]:
    stat = file.stat()
    return _load(file, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _load(file: Path, _changed: int) -> Callable[[str], int]:
    tokenizer = load_tokenizer(file)

    def count(text: str) -> int:
        return len(tokenizer.rows([text])[0])

    return count

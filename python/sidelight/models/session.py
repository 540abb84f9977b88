"""How is a model folder run?

One ONNX Runtime session and one tokenizer, shared by embedders and rerankers: texts become rows
of token ids, rows become arrays. Knows nothing of vectors' meaning, prefixes or pooling.

The processor is left alone while nothing runs (no spinning threads), and memory goes back to the
system after each run (no arena), which is why rows must come in small batches.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

from sidelight.errors import ModelError
from sidelight.models.manifest import (
    GRAPH,
    TOKENIZER,
    Manifest,
    damaged_file,
    file_hashes,
)

Array = npt.NDArray[np.float32]
Row = list[int]

# A run's memory and the longest wait behind it grow with its tokens; throughput stays the same
# from 8 rows on (measured, scripts/bench.py embed).
BATCH_ROWS = 16
BATCH_TOKENS = 2_048  # with padding
QUERY_GAP_SECONDS = 0.5  # bulk work waits this long for queries, then goes on all the same

_KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


@dataclass(frozen=True, slots=True)
class Frame:
    """How many special tokens a tokenizer puts before and after one text."""

    before: Row
    after: Row


class Session:
    """A loaded model folder; safe to use from several threads at once."""

    def __init__(
        self, folder: Path, manifest: Manifest, hashes: dict[str, str], tokenizer: Any, runtime: Any
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.hashes = hashes
        self._tokenizer = tokenizer
        self._runtime = runtime
        self._inputs = [i.name for i in runtime.get_inputs()]
        self._pad = _pad_id(tokenizer)
        self.frame = _frame(tokenizer)
        self._turn = Turn()

    @classmethod
    def load(cls, folder: Path, manifest: Manifest, threads: int = 0) -> Session:
        """Loads and checks a folder; about 2 s for the default model, mostly its tokenizer.

        Args:
            folder: the model folder.
            manifest: what `read_manifest` said of it.
            threads: processor threads a run may use; 0 means the physical cores.

        Raises:
            ModelError: a file is damaged, or is not a model that can be run.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="model-hash") as pool:
            # hashing lets the interpreter go on, so it costs no time beside the tokenizer
            hashing = pool.submit(file_hashes, folder, manifest)
            tokenizer_error: ModelError | None = None
            try:
                tokenizer = _load_tokenizer(folder)
            except ModelError as error:
                tokenizer_error = error
            hashes = hashing.result()
        damaged = damaged_file(manifest, hashes)
        if damaged:
            raise ModelError(
                f"The model file {folder / damaged} is damaged: its checksum is not the one "
                "it was made with.",
                "Run `sidelight model build --force` to make the default model again, or replace "
                "the file.",
            )
        if tokenizer_error:
            raise tokenizer_error
        return cls(folder, manifest, hashes, tokenizer, _load_runtime(folder, threads))

    @property
    def outputs(self) -> list[tuple[str, int]]:
        """Name and rank of the graph's outputs."""
        return [(o.name, len(o.shape)) for o in self._runtime.get_outputs()]

    def tokenize(self, texts: Sequence[str]) -> list[Any]:
        """Encodings without special tokens and without any cut."""
        clean = [t if t.isascii() else t.encode("utf-8", "replace").decode() for t in texts]
        return list(self._tokenizer.encode_batch(clean, add_special_tokens=False))

    def pair_rows(self, first: Row, second: Row) -> tuple[Row, Row]:
        """One row of two texts with its token types, framed as the tokenizer frames pairs."""
        before, middle, after = self._pair_frame
        row = [*before, *first, *middle, *second, *after]
        types = [0] * (len(before) + len(first) + len(middle))
        return row, types + [1] * (len(second) + len(after))

    @cached_property
    def _pair_frame(self) -> tuple[Row, Row, Row]:
        return _pair_frame(self._tokenizer)

    def run(
        self, output: str, rows: Sequence[Row], types: Sequence[Row] | None = None
    ) -> npt.NDArray[Any]:
        """One pass over a batch of rows, padded on the right to the longest.

        Raises:
            ModelError: the runtime failed; its own words are in the message.
        """
        longest = max(len(row) for row in rows)
        ids = np.full((len(rows), longest), self._pad, np.int64)
        mask = np.zeros((len(rows), longest), np.int64)
        kinds = np.zeros((len(rows), longest), np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
            if types is not None:
                kinds[at, : len(row)] = types[at]
        places = np.broadcast_to(np.arange(longest, dtype=np.int64), ids.shape)
        values = dict(zip(_KNOWN_INPUTS, (ids, mask, kinds, places), strict=True))
        try:
            (result,) = self._runtime.run([output], {n: values[n] for n in self._inputs})
        except Exception as error:
            raise ModelError(
                f"The model {self.manifest.name} failed on a text ({_first_line(error)}).",
                "Run `sidelight model verify`; words still find notes meanwhile.",
            ) from error
        return np.asarray(result)

    @contextlib.contextmanager
    def query_turn(self) -> Iterator[None]:
        """While held, bulk work makes no new batch: a query waits for one batch at most."""
        with self._turn.query():
            yield

    @contextlib.contextmanager
    def bulk_turn(self) -> Iterator[None]:
        """One batch of bulk work, when no query is running."""
        with self._turn.bulk():
            yield


class Turn:
    """Queries run at once; bulk batches run one at a time and only between queries."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._queries = 0
        self._bulk = threading.Lock()

    @contextlib.contextmanager
    def query(self) -> Iterator[None]:
        """Announces a query; never waits."""
        with self._condition:
            self._queries += 1
        try:
            yield
        finally:
            with self._condition:
                self._queries -= 1
                self._condition.notify_all()

    @contextlib.contextmanager
    def bulk(self) -> Iterator[None]:
        """Waits until no query runs, at most `QUERY_GAP_SECONDS`, so that it cannot starve."""
        with self._bulk:
            with self._condition:
                self._condition.wait_for(lambda: self._queries == 0, QUERY_GAP_SECONDS)
            yield


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions grouped into small batches of similar length, longest first.

    A batch has at most `BATCH_ROWS` rows and, unless one row alone is longer, `BATCH_TOKENS`
    tokens with padding. Ties keep their order, so the same texts make the same batches.
    """
    order = sorted(range(len(lengths)), key=lambda at: (-lengths[at], at))
    batch: list[int] = []
    for at in order:
        longest = lengths[batch[0]] if batch else lengths[at]
        if batch and (len(batch) == BATCH_ROWS or (len(batch) + 1) * longest > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _load_tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer  # 0.1 s, and only needed once a model runs

    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:
        raise ModelError(
            f"{folder / TOKENIZER} is not a tokenizer ({_first_line(error)}).",
            "Replace it with the tokenizer.json that belongs to the model.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # a note that contains "</s>" means those letters
    tokenizer.encode_special_tokens = True
    return tokenizer


def _load_runtime(folder: Path, threads: int) -> Any:
    import onnxruntime  # 0.3 s and 40 MB, and only needed once a model runs

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # failures arrive as exceptions; nothing else is for people
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        runtime = onnxruntime.InferenceSession(
            str(folder / GRAPH), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise ModelError(
            f"{folder / GRAPH} cannot be run by ONNX Runtime ({_first_line(error)}).",
            "Run `sidelight model build --force` to make the default model again, or export the "
            "model anew.",
        ) from error
    unknown = [i.name for i in runtime.get_inputs() if i.name not in _KNOWN_INPUTS]
    if unknown:
        raise ModelError(
            f"{folder / GRAPH} wants the input '{unknown[0]}', which no text model needs.",
            "Export it with input_ids, attention_mask and, if used, token_type_ids.",
        )
    return runtime


def usable_cores() -> int:
    """Physical cores this process may use; two threads on one core only slow a model down."""
    physical = psutil.cpu_count(logical=False) or 1
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(physical, len(os.sched_getaffinity(0))))
    return physical


def _pad_id(tokenizer: Any) -> int:
    for piece in ("<pad>", "[PAD]", "<|endoftext|>", "</s>"):
        number = tokenizer.token_to_id(piece)
        if number is not None:
            return int(number)
    return 0  # masked out anyway


def _frame(tokenizer: Any) -> Frame:
    encoding = tokenizer.encode("a")
    inner = [at for at, special in enumerate(encoding.special_tokens_mask) if not special]
    return Frame(encoding.ids[: inner[0]], encoding.ids[inner[-1] + 1 :])


def _pair_frame(tokenizer: Any) -> tuple[Row, Row, Row]:
    encoding = tokenizer.encode("a", "a")
    ids, kinds = encoding.ids, encoding.sequence_ids
    first = [at for at, kind in enumerate(kinds) if kind == 0]
    second = [at for at, kind in enumerate(kinds) if kind == 1]
    return ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :]


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]

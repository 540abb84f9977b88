"""How is a model folder run?

One ONNX Runtime session and one tokenizer, shared by embedders and rerankers: texts become rows
of token ids, rows become arrays. Knows nothing of vectors' meaning, prefixes or pooling.

Every row runs alone. An int8 graph scales a whole batch by its largest number, so in a batch a
text's vector depends on its neighbours (cosine 0.997); alone it depends on nothing else, and a
rebuilt index has the same vectors to the bit. Batches of any size were no faster on two cores
(tokens per second of one core, rows x tokens: 1x64 2007, 8x64 2256, 1x256 1709, 8x256 1576), cost
memory and padding, and let a query wait longer.

The processor is left alone while nothing runs (no spinning threads), and memory goes back to the
system after each run (no arena; it gained nothing in speed).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from sidelight.models.tokenizer import Row, Tokenizer, load_tokenizer

Array = npt.NDArray[np.float32]

# Bulk work waits this long for running queries, then goes on all the same: nothing starves.
QUERY_GAP_SECONDS = 0.5

_KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


class Session:
    """A loaded model folder; safe to use from several threads at once."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        hashes: dict[str, str],
        tokenizer: Tokenizer,
        runtime: Any,
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.hashes = hashes
        self._tokenizer = tokenizer
        self._runtime = runtime
        self._inputs = [i.name for i in runtime.get_inputs()]
        self.frame = tokenizer.frame
        self._turn = Turn()

    @classmethod
    def load(cls, folder: Path, manifest: Manifest, threads: int = 0) -> Session:
        """Loads and checks a folder; about 1.2 s for the default model, mostly its tokenizer.

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
                tokenizer = load_tokenizer(folder / TOKENIZER)
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

    def tokenize(self, texts: Sequence[str]) -> list[Row]:
        """Each text's ids, without special tokens and without any cut."""
        return self._tokenizer.rows(texts)

    @property
    def unknown(self) -> int | None:
        """The id of a token that the vocabulary does not know, if there is one."""
        return self._tokenizer.unknown

    def pair_rows(self, first: Row, second: Row) -> tuple[Row, Row]:
        """One row of two texts with its token types, framed as the tokenizer frames pairs."""
        before, middle, after = self._tokenizer.pair_frame
        row = [*before, *first, *middle, *second, *after]
        types = [0] * (len(before) + len(first) + len(middle))
        return row, types + [1] * (len(second) + len(after))

    def run(self, output: str, row: Row, types: Row | None = None) -> npt.NDArray[Any]:
        """One text's output, shape (tokens, d), (d,) or (1,) as the graph has it.

        Raises:
            ModelError: the runtime failed; its own words are in the message.
        """
        ids = np.array([row], np.int64)
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([types], np.int64) if types else np.zeros_like(ids),
            "position_ids": np.arange(len(row), dtype=np.int64)[None],
        }
        try:
            (result,) = self._runtime.run([output], {name: values[name] for name in self._inputs})
        except Exception as error:
            raise ModelError(
                f"The model {self.manifest.name} failed on a text ({_first_line(error)}).",
                "Run `sidelight model verify`; words still find notes meanwhile.",
            ) from error
        return np.asarray(np.asarray(result)[0])

    @contextlib.contextmanager
    def query_turn(self) -> Iterator[None]:
        """While held, bulk work starts no further row: a query shares the processor with one."""
        with self._turn.query():
            yield

    @contextlib.contextmanager
    def bulk_turn(self) -> Iterator[None]:
        """One row of bulk work, when no query is running."""
        with self._turn.bulk():
            yield


class Turn:
    """Queries run at once; rows of bulk work run one at a time and only between queries."""

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


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]

"""What does a model folder say about itself?

A folder holds `model.onnx`, `tokenizer.json` and `manifest.json`. The smallest manifest of a
user's own model is `{"dimension": 384, "pooling": "mean"}`; every key has a default but these:

    name        shown to people; default: the folder's name
    kind        "embedder" (default) or "reranker"
    dimension   width of a vector; an embedder must have it
    max_tokens  the model's window, special tokens included; default 512
    prefixes    {"query": "", "passage": ""}: put before every text
    pooling     "mean" or "cls" over token outputs; "none" (default) where the graph pools itself
    output      name of the graph output to read; default: the first of the right rank
    activation  reranker: "sigmoid" (default) if the graph returns logits, else "none"
    files       {"model.onnx": SHA-256, ...}: checked whenever the model is loaded
    made_by     who wrote the folder

This module reads and checks files; it loads no model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidelight.errors import ModelError

MANIFEST = "manifest.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"

_KINDS = ("embedder", "reranker")
_POOLING = ("none", "mean", "cls")
_ACTIVATIONS = ("sigmoid", "none")
_REMEDY = "Correct it; README tells what a model folder needs."


@dataclass(frozen=True, slots=True)
class Manifest:
    """The checked content of `manifest.json`."""

    name: str
    kind: str = "embedder"
    dimension: int = 0
    max_tokens: int = 512
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = "none"
    output: str = ""
    activation: str = "sigmoid"
    files: Mapping[str, str] = field(default_factory=dict)
    made_by: str = ""

    def as_json(self) -> dict[str, Any]:
        """The form in which it is stored."""
        return {
            "name": self.name,
            "kind": self.kind,
            "dimension": self.dimension,
            "max_tokens": self.max_tokens,
            "prefixes": {"query": self.query_prefix, "passage": self.passage_prefix},
            "pooling": self.pooling,
            "output": self.output,
            "activation": self.activation,
            "files": dict(self.files),
            "made_by": self.made_by,
        }


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model folder.

    Raises:
        ModelError: the folder or a file is missing, or the manifest is wrong; says which and why.
    """
    if not folder.is_dir():
        raise ModelError(
            f"There is no model at {folder}.",
            "Name a folder with model.onnx, tokenizer.json and manifest.json, or leave the "
            "setting empty for the default model.",
        )
    for name in (MANIFEST, GRAPH, TOKENIZER):
        if not (folder / name).is_file():
            raise ModelError(f"The model folder {folder} has no {name}.", "Add the missing file.")
    try:
        raw = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / MANIFEST} cannot be read ({error}).", _REMEDY) from error
    if not isinstance(raw, dict):
        raise ModelError(f"{folder / MANIFEST} is not a JSON object.", _REMEDY)
    return _checked(folder, raw)


def _checked(folder: Path, raw: Mapping[str, Any]) -> Manifest:
    read = _Reader(folder, raw)
    prefixes = read.texts("prefixes")
    manifest = Manifest(
        name=read.text("name", folder.name),
        kind=read.choice("kind", _KINDS),
        dimension=read.number("dimension", 0, 0, 16_384),
        max_tokens=read.number("max_tokens", 512, 16, 1_000_000),
        query_prefix=prefixes.get("query", ""),
        passage_prefix=prefixes.get("passage", ""),
        pooling=read.choice("pooling", _POOLING),
        output=read.text("output", ""),
        activation=read.choice("activation", _ACTIVATIONS),
        files=read.texts("files"),
        made_by=read.text("made_by", ""),
    )
    if manifest.kind == "embedder" and manifest.dimension == 0:
        raise read.wrong("dimension", "the width of a vector")
    if any(Path(name).name != name for name in manifest.files):
        raise read.wrong("files", "names inside the folder with their SHA-256")
    return manifest


class _Reader:
    """Reads one manifest's keys, each with its own complaint."""

    def __init__(self, folder: Path, raw: Mapping[str, Any]) -> None:
        self._folder = folder
        self._raw = raw

    def wrong(self, key: str, expected: str) -> ModelError:
        return ModelError(f"{self._folder / MANIFEST}: '{key}' must be {expected}.", _REMEDY)

    def text(self, key: str, default: str) -> str:
        value = self._raw.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self._raw.get(key, choices[0])
        if value not in choices:
            raise self.wrong(key, "one of " + ", ".join(choices))
        return str(value)

    def number(self, key: str, default: int, low: int, high: int) -> int:
        value = self._raw.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return value

    def texts(self, key: str) -> dict[str, str]:
        value = self._raw.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.wrong(key, "an object of texts")
        return value


def file_hashes(folder: Path, manifest: Manifest) -> dict[str, str]:
    """SHA-256 of the graph, the tokenizer and whatever else the manifest lists."""
    names = dict.fromkeys((GRAPH, TOKENIZER, *manifest.files))
    return {name: sha256(folder / name) for name in names}


def damaged_file(manifest: Manifest, hashes: Mapping[str, str]) -> str | None:
    """The first listed file whose bytes are not those the manifest promises."""
    return next((n for n, promised in manifest.files.items() if hashes.get(n) != promised), None)


def sha256(path: Path) -> str:
    """Hash of a file's bytes, hex.

    Raises:
        ModelError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(
            f"The model file {path} cannot be read ({error.strerror}).",
            "Check that it exists and its permissions; `sidelight model build` makes the default "
            "model again.",
        ) from error

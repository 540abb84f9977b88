"""What every test runs in: a home of its own, the shared material where it is there, `--soak`.

No test reads or writes the user's own data, settings or log: before anything of Sidelight is
imported, HOME and the platform's folders point into a temporary folder. Only the built models are
shared with the user's cache, as building one takes minutes.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import platformdirs
import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
REAL_MODELS = platformdirs.user_cache_path("sidelight", False) / "models"


def _variables(home: Path) -> dict[str, str]:
    """The variables that send every platform folder below `home`, on any system."""
    folders = {
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
        "XDG_STATE_HOME": "state",
        "XDG_RUNTIME_DIR": "run",
        "WIN_PD_OVERRIDE_LOCAL_APPDATA": "local",  # platformdirs' own override on Windows
        "WIN_PD_OVERRIDE_APPDATA": "roaming",
        "LOCALAPPDATA": "local",
        "APPDATA": "roaming",
    }
    variables = {name: str(home / folder) for name, folder in folders.items()}
    return {"HOME": str(home), "USERPROFILE": str(home), **variables}


def _move_home(home: Path) -> None:
    for name, folder in _variables(home).items():
        os.environ[name] = folder
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)


def _share_models() -> None:
    """Links the isolated cache's models to the real ones; Windows without links copies them."""
    ours = platformdirs.user_cache_path("sidelight", False) / "models"
    if ours == REAL_MODELS:
        raise RuntimeError("The tests' home is not apart from the user's own: refusing to run.")
    REAL_MODELS.mkdir(parents=True, exist_ok=True)
    ours.parent.mkdir(parents=True, exist_ok=True)
    try:
        ours.symlink_to(REAL_MODELS, target_is_directory=True)
    except OSError:
        shutil.copytree(REAL_MODELS, ours)


_home = Path(tempfile.mkdtemp(prefix="sidelight-tests-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
_move_home(_home)
_share_models()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak` runs the long tests too."""
    parser.addoption("--soak", action="store_true", help="with the long runs that prove a figure")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Says at the start what this run cannot or does not cover."""
    header = []
    if not SHARED.is_dir():
        header.append(f"shared material: missing at {SHARED}; tests that need it are skipped")
    if not config.getoption("--soak"):
        header.append("soak tests: skipped without --soak")
    return header


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips soak tests, with the reason, unless they were asked for."""
    if config.getoption("--soak"):
        return
    for item in items:
        if "soak" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="a long run; ask for it with --soak"))


@pytest.fixture
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for one test alone, without any model in its cache."""
    home = tmp_path / "home"
    for name, folder in _variables(home).items():
        monkeypatch.setenv(name, folder)
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material; the test is skipped, with the reason, where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the shared material, and {SHARED} is missing")
    return SHARED


@pytest.fixture(scope="session")
def sample_vault() -> Path:
    """The sample vault of the package; never written to."""
    return ROOT / "python" / "sidelight" / "sample" / "vault"


@pytest.fixture
def script_environment() -> dict[str, str]:
    """The variables for a child process of the environment the tests run in."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    return {**os.environ, "PATH": path, "PYTHONUTF8": "1"}

"""Is there a Chromium for the sidebar's test, and can one be installed?

Standard library only. Installs on Debian as root (the system's own package, with a font that
has Chinese); anywhere else it only looks for a browser that is there already.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = {
    "darwin": (
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ),
    "win32": (
        r"%ProgramFiles%\Google\Chrome\Application\chrome.exe",
        r"%ProgramFiles(x86)%\Google\Chrome\Application\chrome.exe",
        r"%LocalAppData%\Chromium\Application\chrome.exe",
    ),
}


@cache
def find() -> str:
    """The path of a browser that starts, or ""; the variable CHROMIUM names one outright."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else [shutil.which(name) for name in NAMES]
    if not named:
        candidates += [os.path.expandvars(place) for place in PLACES.get(sys.platform, ())]
    for candidate in candidates:
        if candidate and Path(candidate).exists() and _starts(candidate):
            return candidate
    return ""


def left_out() -> str:
    """Why the sidebar cannot be tested; "" if it can."""
    if find():
        return ""
    return "no Chromium was found or could be installed; name one in the variable CHROMIUM"


def install() -> None:
    """Installs what is missing of Chromium and a Chinese font, where this may be done."""
    missing = ([] if find() else ["chromium"]) + ([] if _has_chinese_font() else ["fonts-noto-cjk"])
    if not missing or not _may_install():
        return
    print(f"Installing {' and '.join(missing)} with apt-get", flush=True)
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install_command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    for command in (["apt-get", "update", "-qq"], install_command):
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode != 0:
            print(f"{' '.join(command)} failed: {done.stderr.strip()[-400:]}", flush=True)
            break
    find.cache_clear()


def _starts(browser: str) -> bool:
    if sys.platform == "win32":
        return True  # chrome.exe --version opens a window there
    try:
        answer = subprocess.run(
            [browser, "--version"], capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def _has_chinese_font() -> bool:
    lister = shutil.which("fc-list")
    if sys.platform in ("win32", "darwin"):
        return True  # both bring one
    if not lister:
        return False
    answer = subprocess.run([lister, ":lang=zh"], capture_output=True, check=False)
    return bool(answer.stdout.strip())


def _may_install() -> bool:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return is_root and Path("/etc/debian_version").exists() and bool(shutil.which("apt-get"))

#!/usr/bin/env python3
"""Makes a release ready: checks it, sets its version, builds its files. Publishes nothing.

    python3 scripts/release.py                 check what is here, and build it
    python3 scripts/release.py --set 0.2.0     first write the version where it stands
    python3 scripts/release.py --check         check alone, without building

The files for the community directory come to `dist/release/VERSION`: main.js, manifest.json and
styles.css, each by itself as the directory downloads them, and one archive of the three for
people who install by hand. What is left to a person is printed at the end. Standard library
only; building needs the npm packages.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import environment
from environment import ROOT, OneLineParser

FILES = ("main.js", "manifest.json", "styles.css")
DIST = ROOT / "obsidian-plugin" / "dist"
MAX_MAIN_BYTES = 150_000  # as in obsidian-plugin/esbuild.config.mjs
MAX_STYLES_BYTES = 50_000  # ours has a third of it; more would be another plugin's

# What the directory asks of a manifest (Obsidian's developer docs, "Submission requirements").
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
ID = re.compile(r"[a-z]+(?:-[a-z]+)*")
REQUIRED = ("id", "name", "version", "minAppVersion", "description", "author", "isDesktopOnly")
OPTIONAL = ("authorUrl", "fundingUrl", "helpUrl")
DESCRIPTION_CHARS = range(10, 251)
# Neither name may hold them, nor may the description.
RESERVED = ("obsidian", "plugin")
# Reviewers refuse code that makes code, and what a release must not carry.
FORBIDDEN_CODE = (r"\beval\(", r"\bnew Function\(", r"sourceMappingURL", r"\.innerHTML\s*=")


def main() -> int:
    """Runs the command line; 0 if everything is ready, 1 if something is wrong."""
    environment.prepare_console()
    parser = OneLineParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--set", metavar="VERSION", dest="version", help="write this version")
    parser.add_argument("--check", action="store_true", help="build nothing")
    arguments = parser.parse_args()
    if arguments.version is not None:
        problem = set_version(ROOT, arguments.version, datetime.date.today())
        if problem:
            print(problem, file=sys.stderr)
            return 1
    if not arguments.check and not _built():
        return 1
    problems = [*source_problems(ROOT)]
    if not arguments.check:
        problems += file_problems(DIST, ROOT)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{len(problems)} to put right; nothing was made.", file=sys.stderr)
        return 1
    version = _json(ROOT / "manifest.json")["version"]
    if arguments.check:
        print(f"Version {version} is consistent.")
        return 0
    folder = collect(DIST, ROOT / "dist" / "release" / version)
    _say_what_is_left(version, folder)
    return 0


# --------------------------------------------------------------------------- checks


def source_problems(root: Path) -> Iterator[str]:
    """What is wrong with the files of a checkout, in sentences with a remedy."""
    manifest = _json(root / "manifest.json")
    yield from manifest_problems(manifest)
    version = str(manifest.get("version", ""))
    yield from versions_problems(_json(root / "versions.json"), manifest)
    for name in ("LICENSE", "README.md"):
        if not (root / name).is_file():
            yield f"{name} is missing: the directory asks for it."
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## [{version}]" not in changelog and "## [Unreleased]" not in changelog:
        yield f"CHANGELOG.md says nothing of {version}: add a section."
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    if not re.search(r'^path = "manifest\.json"$', project, re.MULTILINE):
        yield "pyproject.toml must take its version from manifest.json (tool.hatch.version)."
    if "version" in _json(root / "package.json"):
        yield "package.json must not have a version of its own: it stands in manifest.json."


def manifest_problems(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What the community directory would refuse in a manifest."""
    for key in REQUIRED:
        if key not in manifest:
            yield f"manifest.json has no '{key}'."
    for key in manifest:
        if key not in REQUIRED + OPTIONAL:
            yield f"manifest.json has '{key}', which Obsidian does not know."
    for key in ("version", "minAppVersion"):
        if not SEMVER.fullmatch(str(manifest.get(key, ""))):
            yield f"manifest.json: '{key}' must have the form 1.2.3, without a v or a suffix."
    if not ID.fullmatch(str(manifest.get("id", ""))):
        yield "manifest.json: 'id' must be lower-case letters and hyphens."
    for key in ("id", "name", "description"):
        for word in RESERVED:
            if word in str(manifest.get(key, "")).lower():
                yield f"manifest.json: '{key}' must not hold the word '{word}'."
    description = str(manifest.get("description", ""))
    if len(description) not in DESCRIPTION_CHARS:
        yield "manifest.json: 'description' must have 10 to 250 characters."
    if not description.endswith((".", "!", "?")):
        yield "manifest.json: 'description' must end with a full stop."
    if not description.isascii():
        yield "manifest.json: 'description' must be plain text without emoji."
    if manifest.get("isDesktopOnly") is not True:
        yield "manifest.json: 'isDesktopOnly' must be true, as Node's modules are used."


def versions_problems(versions: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    """What does not fit between versions.json and the manifest."""
    version, oldest = manifest.get("version"), manifest.get("minAppVersion")
    if versions.get(str(version)) != oldest:
        yield f"versions.json must map {version} to {oldest}: python3 scripts/release.py --set {version}"
    for name, needed in versions.items():
        if not SEMVER.fullmatch(name) or not SEMVER.fullmatch(str(needed)):
            yield f"versions.json: {name}: {needed} is not a pair of versions."
    newest = max((v for v in versions if SEMVER.fullmatch(v)), key=_parts, default="")
    if newest and newest != version:
        yield f"versions.json knows {newest}, which is newer than the manifest's {version}."


def file_problems(dist: Path, root: Path) -> Iterator[str]:
    """What is wrong with the built files."""
    for name in FILES:
        if not (dist / name).is_file():
            yield f"{name} was not built."
            return
    main_js = (dist / "main.js").read_text(encoding="utf-8")
    for name, limit in (("main.js", MAX_MAIN_BYTES), ("styles.css", MAX_STYLES_BYTES)):
        size = (dist / name).stat().st_size
        if not 0 < size <= limit:
            yield f"{name} has {size} bytes; the limit is {limit}."
    for pattern in FORBIDDEN_CODE:
        if found := re.search(pattern, main_js):
            yield f"main.js holds '{found.group()}', which a review refuses."
    if (dist / "manifest.json").read_bytes() != (root / "manifest.json").read_bytes():
        yield "The built manifest.json is not the one at the top of the repository."
    if str(_json(root / "manifest.json")["version"]) not in main_js:
        yield "main.js was built for another version."


# --------------------------------------------------------------------------- changes


def set_version(root: Path, version: str, day: datetime.date) -> str:
    """Writes a version into manifest.json, versions.json and CHANGELOG.md.

    Returns:
        Why it cannot be, in one line; "" if it is done.
    """
    manifest = _json(root / "manifest.json")
    if not SEMVER.fullmatch(version):
        return f"'{version}' is no version: it must have the form 1.2.3."
    if _parts(version) < _parts(str(manifest["version"])):
        return f"{version} is older than {manifest['version']}, which is here."
    manifest["version"] = version
    versions = {**_json(root / "versions.json"), version: manifest["minAppVersion"]}
    _write_json(root / "manifest.json", manifest)
    _write_json(root / "versions.json", dict(sorted(versions.items(), key=lambda v: _parts(v[0]))))
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if f"## [{version}]" not in text:
        heading = f"## [Unreleased]\n\n## [{version}] - {day.isoformat()}"
        text = text.replace("## [Unreleased]", heading, 1)
        changelog.write_text(text, encoding="utf-8", newline="\n")
    return ""


def collect(dist: Path, folder: Path) -> Path:
    """Copies the built files and makes the archive; its bytes depend on the files alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = str(_json(dist / "manifest.json")["id"])
    version = str(_json(dist / "manifest.json")["version"])
    with zipfile.ZipFile(folder / f"{name}-{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in FILES:
            shutil.copyfile(dist / file, folder / file)
            entry = zipfile.ZipInfo(f"{name}/{file}")  # of 1980, whenever it is made
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (dist / file).read_bytes())
    return folder


def _built() -> bool:
    npm = shutil.which("npm")
    if npm is None:
        print("Building needs Node with npm. Or check alone: --check.", file=sys.stderr)
        return False
    return subprocess.run([npm, "run", "--silent", "build"], cwd=ROOT, check=False).returncode == 0


def _say_what_is_left(version: str, folder: Path) -> None:
    print(f"\n{folder.relative_to(ROOT).as_posix()}:")
    for file in sorted(folder.iterdir()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        print(f"  {file.name:<22} {file.stat().st_size:>8} bytes  {digest[:16]}")
    for line in _unclean():
        print(f"Not committed: {line}")
    print(
        "\nLeft to you:\n"
        "  1. python3 scripts/test.py\n"
        f"  2. commit, then: git tag -a {version} -m {version}   (the tag is the version, no v)\n"
        f"  3. push the tag and make a release named {version} with the files above\n"
        "  4. once only: submit the repository to the community directory"
    )


def _unclean() -> list[str]:
    git = shutil.which("git")
    if git is None:
        return []
    command = [git, "status", "--porcelain"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.stdout.splitlines()


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())

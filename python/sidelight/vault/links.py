"""Where does a link lead? Obsidian's order over the whole vault, and subpaths in a note.

Order: the note itself; `./` and `../` against the source's folder only; the exact vault
path; then every file whose path ends with the target: those under the source's folder
first, then the shortest path, then the smallest. Case and Unicode composition never matter.
Aliases never resolve a link.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import lru_cache

from sidelight.types import Heading, Note

_SPECIAL = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\r\n]+")


def name_key(name: str) -> str:
    """What names are compared by: NFC, plain spaces, lower case (not case-folded: ß is ß)."""
    if name.isascii():
        return name.lower()
    name = name.replace("\u00a0", " ").replace("\u202f", " ")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).lower())


def path_key(path: str) -> str:
    """Key of the links that may lead to `path`: its file name without `.md`."""
    return name_key(path.rpartition("/")[2]).removesuffix(".md")


def target_keys(target: str) -> tuple[str, ...]:
    """Keys of the paths a target may lead to; a change of any of them re-resolves the link.

    `path_key(p)` is among `target_keys(t)` for every path `p` that `t` can resolve to.
    """
    name = name_key(target.strip().rpartition("/")[2])
    bare = name.removesuffix(".md")
    return (bare,) if bare == name else (bare, name)


class LinkResolver:
    """The names of a vault's files, for resolving links. Not thread-safe while changing."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._paths: dict[str, list[str]] = {}  # key of the whole path: paths, sorted
        self._names: dict[str, list[str]] = {}  # key of the file name: keys of paths, sorted
        for path in paths:
            if not _is_hidden(path):
                self._paths.setdefault(name_key(path), []).append(path)
        for key, same in self._paths.items():
            if len(same) > 1:
                same[:] = sorted(set(same))
            self._names.setdefault(key.rpartition("/")[2], []).append(key)
        for keys in self._names.values():
            keys.sort()

    def add(self, path: str) -> None:
        """Makes a file a possible target; names that start with a dot never are."""
        if _is_hidden(path):
            return
        key = name_key(path)
        same = self._paths.get(key)
        if same is None:
            self._paths[key] = [path]
            insort(self._names.setdefault(key.rpartition("/")[2], []), key)
        elif path not in same:
            insort(same, path)

    def remove(self, path: str) -> None:
        """Forgets a file; unknown paths are ignored."""
        key = name_key(path)
        same = self._paths.get(key)
        if same is None or path not in same:
            return
        same.remove(path)
        if not same:
            del self._paths[key]
            name = key.rpartition("/")[2]
            self._names[name].remove(key)
            if not self._names[name]:
                del self._names[name]

    def resolve(self, target: str, source: str) -> str | None:
        """The path a target leads to from the note `source`, spelled as on disk, or None.

        Args:
            target: path part of a link, as in `Link.target`; empty for the note itself.
        """
        target = target.strip()
        if not target:
            return source
        folder = name_key(source).rpartition("/")[0]
        key = name_key(target)
        if key.startswith(("./", "../")):
            relative = _relative(folder, key)
            return (
                None if relative is None else self._exact(relative) or self._exact(relative + ".md")
            )
        key = key.lstrip("/")
        return self._find(key, folder) or self._find(key + ".md", folder)

    def _exact(self, key: str) -> str | None:
        same = self._paths.get(key)
        return same[0] if same else None

    def _find(self, key: str, folder: str) -> str | None:
        exact = self._exact(key)
        if exact is not None:
            return exact
        keys = self._names.get(key.rpartition("/")[2])
        if not keys:
            return None
        if folder:
            own = self._exact(f"{folder}/{key}")
            if own is not None:
                return own
            low, high = bisect_left(keys, folder + "/"), bisect_left(keys, folder + "0")
            below = self._shortest(keys[low:high], key)
            if below is not None:
                return below
        return self._shortest(keys, key)

    def _shortest(self, keys: list[str], suffix: str) -> str | None:
        if "/" in suffix:
            ending = "/" + suffix
            keys = [key for key in keys if key.endswith(ending)]
        paths = (self._paths[key][0] for key in keys)
        return min(paths, key=lambda path: (len(path), path), default=None)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _relative(folder: str, target: str) -> str | None:
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)


# ------------------------------------------------------------------------ subpaths


def subpath_line(note: Note, subpath: str) -> int | None:
    """First line of the heading or block that `#A#B` or `#^id` names, or None."""
    lines = subpath_lines(note, subpath)
    return lines[0] if lines else None


def subpath_lines(note: Note, subpath: str) -> tuple[int, int] | None:
    """Lines of what a subpath names: a block, or a heading with all that stands under it."""
    parts = [part for part in subpath.split("#") if part]
    if not parts:
        return None
    if parts[-1].startswith("^"):
        wanted = parts[-1][1:].strip().lower()
        for block in note.block_ids:
            if block.id.lower() == wanted:
                return block.start_line, block.end_line
        return None
    keys = [heading_key(part) for part in parts]
    index = _find_heading(note.headings, [heading_key(h.text) for h in note.headings], keys)
    return None if index is None else (note.headings[index].line, section_end(note, index))


@lru_cache(maxsize=16_384)
def heading_key(text: str) -> str:
    """What headings are compared by: special characters and runs of blanks are one space."""
    return " ".join(_SPECIAL.sub(" ", unicodedata.normalize("NFC", text)).split()).lower()


def section_end(note: Note, index: int) -> int:
    """Last line under a heading: up to the next heading of its level or above."""
    level = note.headings[index].level
    for heading in note.headings[index + 1 :]:
        if heading.level <= level:
            return heading.line - 1
    return len(note.lines)


def _find_heading(headings: tuple[Heading, ...], keys: list[str], wanted: list[str]) -> int | None:
    """Index of the heading that ends the first chain of ever deeper, matching headings."""
    dead: set[tuple[int, int]] = set()  # places from which no chain goes on

    def search(start: int, part: int, level: int) -> int | None:
        if (start, part) in dead:
            return None
        for index in range(start, len(headings)):
            if headings[index].level > level and keys[index] == wanted[part]:
                if part + 1 == len(wanted):
                    return index
                found = search(index + 1, part + 1, headings[index].level)
                if found is not None:
                    return found
        if level == 0:
            dead.add((start, part))
        return None

    return search(0, 0, 0)

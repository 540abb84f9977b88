"""How is a link written? Wikilinks, Markdown destinations and their parts.

Works on text alone: where links count (not in code, mathematics, HTML) is decided by
`inline`; where they lead is decided by `links`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from sidelight.types import Link, LinkKind

# Extensions Obsidian opens, other than notes (Obsidian help, "Accepted file formats").
ASSET_EXTENSIONS = frozenset(
    (
        *("base", "canvas", "pdf"),
        *("avif", "bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"),
        *("flac", "m4a", "mp3", "ogg", "wav", "webm", "3gp"),
        *("mkv", "mov", "mp4", "ogv"),
    )
)

# Ends at the first "]]", holds no "[[" (nested brackets give the inner link) and no line ending.
_WIKILINK = r"\[\[(?!\[|\]\])([^\[\]\n\r]*+(?:(?:\[(?!\[)|\](?!\]))[^\[\]\n\r]*+)*+)\]\]"
WIKILINK_BYTES = re.compile(_WIKILINK.encode())
WIKILINK = re.compile(_WIKILINK)

# Longer labels are not parsed, only cut at the last "](".
_LONG_LABEL = 2_000
_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:|//)")


def is_asset(target: str) -> bool:
    """True for a target with one of Obsidian's accepted extensions other than `md`."""
    _, dot, extension = target.rpartition(".")
    return bool(dot) and extension.lower() in ASSET_EXTENSIONS


def split_target(text: str) -> tuple[str, str]:
    """Path part and subpath (with its `#`), both trimmed; they part at the first `#`."""
    at = text.find("#")
    return (text.strip(), "") if at < 0 else (text[:at].strip(), text[at:].strip())


def wikilink(
    source_text: str,
    inner: str,
    *,
    embed: bool,
    line: int | None,
    kind: LinkKind = LinkKind.WIKILINK,
    node: str | None = None,
) -> Link | None:
    """The link that `[[inner]]` is, or None where it names nothing.

    The first bar splits off the display text unless it comes first. `\\|`, which table
    cells need, counts as a bar everywhere.
    """
    if "\\" in inner:
        inner = inner.replace("\\|", "|")
    bar = inner.find("|")
    display: str | None = None
    if bar > 0:
        inner, display = inner[:bar], inner[bar + 1 :].strip() or None
    target, subpath = split_target(inner)
    if not target and not subpath:
        return None
    return Link(source_text, target, subpath, display, embed, is_asset(target), kind, line, node)


def whole_wikilink(value: str) -> str | None:
    """What stands between the brackets of a string that is one whole wikilink, else None."""
    match = WIKILINK.fullmatch(value)
    return match.group(1) if match else None


def markdown_link(
    source_text: str, destination: str, *, embed: bool, line: int | None, node: str | None = None
) -> Link | None:
    """The internal link of `[text](destination)`; None for an external or empty one.

    Args:
        source_text: the link as written, from its first bracket (or `!`) on.
        destination: without angle brackets and title, escapes resolved, not yet decoded.
    """
    if not destination or _SCHEME.match(destination):
        return None
    path, hash_, subpath = destination.partition("#")
    target = _decoded(path).strip()
    subpath = _decoded(hash_ + subpath).strip()
    if not target and not subpath:
        return None
    start = 2 if embed else 1
    if len(source_text) <= _LONG_LABEL:
        end = label_end(source_text, start)
    else:
        end = source_text.rfind("](")
    label = source_text[start:end]
    display = " ".join(label.split()) or None
    asset = is_asset(target)
    return Link(source_text, target, subpath, display, embed, asset, LinkKind.MARKDOWN, line, node)


def label_end(text: str, start: int) -> int:
    """Index of the bracket that closes the label opened just before `start`.

    Skips escapes, code spans and balanced brackets, as CommonMark does.
    """
    depth, at, end = 0, start, len(text)
    while at < end:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "`":
            run = len(text) - at - len(text[at:].lstrip("`"))
            close = re.compile(rf"(?<!`){'`' * run}(?!`)").search(text, at + run)
            at = close.end() if close else at + run
            continue
        if char == "[":
            depth += 1
        elif char == "]":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return end


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text  # as written, like the app's own decodeURI failing

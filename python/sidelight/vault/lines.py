"""How do bytes become lines? Decoding and splitting, exactly once, for everybody.

A line ends at `\\r\\n`, `\\n` or `\\r` only; a leading byte order mark belongs to no line.
Knows nothing of Markdown.
"""

from __future__ import annotations

import codecs
import re

from sidelight.types import Problem

REPLACEMENT = "\ufffd"  # for what cannot be read
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def decode(data: bytes) -> tuple[str, tuple[Problem, ...]]:
    """Text of a file without its byte order mark; what could not be read is reported.

    Undecodable bytes become U+FFFD, as in Obsidian, and so do NUL characters, as in CommonMark:
    one bad byte never hides a note, joins no words and moves no column. UTF-16 is read only
    with its byte order mark.
    """
    problems: list[Problem] = []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problems.append(Problem("encoding-utf16", "The file is UTF-16; Obsidian expects UTF-8."))
        text = data.decode("utf-16", "replace")
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text = data.decode("utf-8", "replace")
            line = len(split_lines(data[: error.start].decode("utf-8", "replace") + "x"))
            problems.append(Problem("bytes-undecodable", _undecodable(data, text), line))
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = len(split_lines(text[: text.index("\0")] + "x"))
        message = f"{text.count(chr(0))} NUL characters stand as {REPLACEMENT} (U+FFFD)."
        problems.append(Problem("bytes-nul", message, line))
        text = text.replace("\0", REPLACEMENT)
    return text, tuple(problems)


def readable(text: str) -> str:
    """Text that stood in escapes of JSON or YAML, as `decode` gives it.

    Escapes can write what no file can: lone surrogates, which no encoder takes. Each of them,
    and NUL, becomes U+FFFD; no column moves.
    """
    return _NO_TEXT.sub(REPLACEMENT, text)


def _undecodable(data: bytes, text: str) -> str:
    marks = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
    return (
        f"{marks} places are not UTF-8 and stand as {REPLACEMENT}; words they belong to are not "
        "found. Save the note as UTF-8."
    )


def split_lines(text: str) -> list[str]:
    """Lines without their endings; a final ending opens no further line."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines

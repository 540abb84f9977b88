"""Does the parser agree with Obsidian, and the citation resolver with its rules?

    python scripts/conformance.py PATH...

PATH is a file of cases (`format` is `vault-conformance/parsing` or `.../citations`), one
capture of Obsidian's own metadata, or a folder of such files. Prints every failing case in
one line and ends with `N passed, N failed`. Cases of `confidence: low` are run and listed
apart; they never fail. Exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from sidelight.query.cite import LiveFile, cite
from sidelight.types import CitationStatus, Link, LinkKind, Note, Passage, PassageKind
from sidelight.vault.links import LinkResolver, subpath_line
from sidelight.vault.markdown import parse_note

Json = Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case run."""

    case_id: str
    asked: str
    expected: Json
    got: Json
    low: bool = False

    @property
    def passed(self) -> bool:
        """What was got is what was expected, types included."""
        return same(self.expected, self.got)

    def line(self) -> str:
        """The case in one line."""
        expected, got = (
            json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
            for value in (self.expected, self.got)
        )
        return f"{self.case_id}: {self.asked}: expected {expected} got {got}"


def same(left: Json, right: Json) -> bool:
    """Equality of JSON values: 1, 1.0 and true are three values only where JSON says so."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


# ------------------------------------------------------------------------- parsing


def note_of(files: Mapping[str, str], path: str) -> Note:
    """The named file, parsed."""
    return parse_note(path, files[path].encode("utf-8", "surrogatepass"))


def link_view(link: Link) -> Json:
    """A link in the form of the set."""
    return {
        "target": link.target,
        "subpath": link.subpath,
        "display": link.display,
        "embed": link.embed,
        "line": link.line,
        "is_asset": link.is_asset,
    }


def ask_links(files: Mapping[str, str], path: str) -> Json:
    return [link_view(link) for link in note_of(files, path).links]


def ask_resolve(files: Mapping[str, str], path: str) -> Json:
    resolver = LinkResolver(files)
    return [_resolved(files, resolver, link, path) for link in note_of(files, path).links]


def _resolved(files: Mapping[str, str], resolver: LinkResolver, link: Link, source: str) -> Json:
    found = resolver.resolve(link.target, source)
    answer: dict[str, Json] = {"link": link.source_text, "path": found}
    if found is not None and link.subpath and found.lower().endswith(".md"):
        answer["line"] = subpath_line(note_of(files, found), link.subpath)
    return answer


def ask_headings(files: Mapping[str, str], path: str) -> Json:
    headings = note_of(files, path).headings
    return [{"level": h.level, "text": h.text, "line": h.line} for h in headings]


def ask_blocks(files: Mapping[str, str], path: str) -> Json:
    ids = note_of(files, path).block_ids
    return [{"id": b.id, "start_line": b.start_line, "end_line": b.end_line} for b in ids]


def ask_tags(files: Mapping[str, str], path: str) -> Json:
    note = note_of(files, path)
    body = [{"tag": tag.tag, "line": tag.line} for tag in note.body_tags]
    return {"frontmatter": list(note.frontmatter_tags), "body": body}


def ask_frontmatter(files: Mapping[str, str], path: str) -> Json:
    head = note_of(files, path).frontmatter
    return {
        "exists": head.exists,
        "valid": head.valid,
        "data": head.data,
        "body_start_line": head.body_start_line,
    }


def ask_chunk_boundaries(files: Mapping[str, str], path: str) -> Json:
    return [
        {
            "kind": block.kind.value,
            "start_line": block.start_line,
            "end_line": block.end_line,
            "heading_path": list(block.heading_path),
        }
        for block in note_of(files, path).blocks
    ]


ASKS: dict[str, Callable[[Mapping[str, str], str], Json]] = {
    "links": ask_links,
    "resolve": ask_resolve,
    "headings": ask_headings,
    "blocks": ask_blocks,
    "tags": ask_tags,
    "frontmatter": ask_frontmatter,
    "aliases": lambda files, path: list(note_of(files, path).aliases),
    "chunk_boundaries": ask_chunk_boundaries,
}


def run_parsing(case: Json) -> Outcome:
    """One case of `parsing.json`."""
    ask = case["ask"]
    expected = case["expect"]
    got = ASKS[ask](case["files"], case["from"]) if ask in ASKS else f"unknown ask '{ask}'"
    return Outcome(case["id"], str(ask), expected, got, case["confidence"] == "low")


# ----------------------------------------------------------------------- citations


def run_citation(case: Json) -> Outcome:
    """One case of `citations.json`, with the resolver that answers searches."""
    path, before, select, edit = (case[key] for key in ("path", "before", "select", "edit"))
    passage = Passage(
        PassageKind.LINES,
        tuple(select["heading_path"]),
        select["start_line"],
        select["end_line"],
        None,
        None,
        select["text"],
    )
    if isinstance(edit, dict):
        path, edit = edit["moved_to"], edit["text"]
    old = before.encode("utf-8", "surrogatepass")
    live = None if edit is None else LiveFile(path, edit.encode("utf-8", "surrogatepass"))
    citation = cite(passage, hashlib.sha256(old).hexdigest(), lambda: old, live)
    lost = citation.status is CitationStatus.UNRESOLVABLE
    got = {
        "status": citation.status.value,
        "path": None if lost else path,
        "start_line": citation.start_line,
        "end_line": citation.end_line,
    }
    if "match" in case["expect"]:
        fresh = citation.status is CitationStatus.FRESH
        match = None if lost else "exact" if fresh or citation.match is None else citation.match
        got["match"] = match and str(match)
    return Outcome(case["id"], "citation", case["expect"], got)


# ------------------------------------------------------------------------ captures


def run_capture(name: str, capture: Json) -> Outcome:
    """One capture of Obsidian's metadata cache: all that it says and we read."""
    metadata, path = capture["cachedMetadata"], capture["filePath"]
    note = parse_note(path, capture["fileContents"].encode("utf-8", "surrogatepass"))
    expected = capture_view(metadata, capture.get("parseFrontMatterTags"))
    got = note_view(note)
    differing = [key for key in expected if not same(expected[key], got[key])]
    return Outcome(
        name,
        "capture " + (", ".join(differing) or path),
        {key: expected[key] for key in differing},
        {key: got[key] for key in differing},
    )


def capture_view(metadata: Json, tags: Json) -> dict[str, Json]:
    """What a capture says, with our line numbers."""
    return {
        "headings": [
            {"level": h["level"], "text": h["heading"], "line": _first(h)}
            for h in metadata.get("headings", ())
        ],
        "links": [_captured_link(link) for link in metadata.get("links", ())],
        "embeds": [_captured_link(link) for link in metadata.get("embeds", ())],
        "frontmatter_links": [
            {"link": link["link"], "original": link["original"]}
            for link in metadata.get("frontmatterLinks", ())
        ],
        "tags": [{"tag": t["tag"], "line": _first(t)} for t in metadata.get("tags", ())],
        "frontmatter_tags": list(tags or ()),
        "sections": [
            {"kind": s["type"], "start_line": _first(s), "end_line": _last(s)}
            for s in metadata.get("sections", ())
        ],
        "frontmatter": metadata.get("frontmatter") or {},
        "frontmatter_end": _last({"position": metadata["frontmatterPosition"]})
        if "frontmatterPosition" in metadata
        else None,
        "blocks": sorted(
            (
                {"id": key.lower(), "start_line": _first(block), "end_line": _last(block)}
                for key, block in metadata.get("blocks", {}).items()
            ),
            key=lambda block: str(block["id"]),
        ),
    }


def note_view(note: Note) -> dict[str, Json]:
    """The same of our own note."""
    body = [link for link in note.links if link.kind is not LinkKind.FRONTMATTER]
    blocks = {block.id.lower(): block for block in reversed(note.block_ids)}
    return {
        "headings": [{"level": h.level, "text": h.text, "line": h.line} for h in note.headings],
        "links": [_our_link(link) for link in body if not link.embed],
        "embeds": [_our_link(link) for link in body if link.embed],
        "frontmatter_links": [
            {"link": link.target + link.subpath, "original": link.source_text}
            for link in note.links
            if link.kind is LinkKind.FRONTMATTER
        ],
        "tags": [{"tag": "#" + tag.tag, "line": tag.line} for tag in note.body_tags],
        "frontmatter_tags": ["#" + tag for tag in note.frontmatter_tags],
        "sections": [
            {"kind": b.kind.value, "start_line": b.start_line, "end_line": b.end_line}
            for b in note.blocks
        ],
        "frontmatter": dict(note.frontmatter.data or {}),
        # Obsidian gives an empty block a section but no position.
        "frontmatter_end": note.frontmatter.body_start_line - 1 if note.frontmatter.data else None,
        "blocks": sorted(
            (
                {"id": key, "start_line": block.start_line, "end_line": block.end_line}
                for key, block in blocks.items()
            ),
            key=lambda block: str(block["id"]),
        ),
    }


def _first(item: Json) -> int:
    return int(item["position"]["start"]["line"]) + 1


def _last(item: Json) -> int:
    end, start = item["position"]["end"], item["position"]["start"]
    # A position that ends in column 0 ends with the line before it.
    return int(end["line"]) + (0 if end["col"] == 0 and end["line"] > start["line"] else 1)


def _captured_link(link: Json) -> Json:
    original = link["original"]
    written = link.get("displayText") if _has_display(original) else None
    return {
        "link": unquote(link["link"]),
        "original": original,
        "display": written,
        "line": _first(link),
    }


def _our_link(link: Link) -> Json:
    return {
        "link": unquote(link.target + link.subpath),  # captures hold either spelling
        "original": link.source_text,
        "display": link.display,
        "line": link.line,
    }


def _has_display(original: str) -> bool:
    """False where Obsidian's display text is one it made up."""
    if original.startswith(("[[", "![[")):
        return "|" in original.lstrip("![")[1:]
    return "[]" not in original


# ------------------------------------------------------------------------- running


def outcomes(path: Path) -> Iterator[Outcome]:
    """Every case of a file, or of all JSON files of a folder."""
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            yield _failure(str(path), "a folder of cases", "no JSON file")
        for file in files:
            yield from outcomes(file)
        return
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        yield _failure(str(path), "a file of cases", str(error))
        return
    form = content.get("format") if isinstance(content, dict) else None
    if form == "vault-conformance/parsing":
        yield from _guarded(content, run_parsing)
    elif form == "vault-conformance/citations":
        yield from _guarded(content, run_citation)
    elif isinstance(content, dict) and "cachedMetadata" in content:
        yield from _one(path.stem, partial(run_capture, path.stem, content))
    else:
        yield _failure(str(path), "a known format", f"format {form!r}")


def _guarded(content: Json, run: Callable[[Json], Outcome]) -> Iterator[Outcome]:
    cases = content.get("cases")
    if not isinstance(cases, list):
        yield _failure(str(content.get("format")), "a list of cases", "none")
        return
    for number, case in enumerate(cases):
        name = case.get("id", f"case {number}") if isinstance(case, dict) else f"case {number}"
        yield from _one(str(name), partial(run, case))


def _one(name: str, run: Callable[[], Outcome]) -> Iterator[Outcome]:
    """The case; a missing key or a crash is a failure of that case, never of the run."""
    try:
        yield run()
    except KeyError as error:
        yield _failure(name, "a complete case", f"no key {error}")
    except Exception as error:  # noqa: BLE001 - the tool must go on to the next case
        yield _failure(name, "an answer", f"{type(error).__name__}: {error}")


def _failure(name: str, expected: str, got: str) -> Outcome:
    return Outcome(name, "form", expected, got)


def main(arguments: list[str] | None = None) -> int:
    """Runs all; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    passed = failed = 0
    low: list[Outcome] = []
    for path in options.paths:
        for outcome in outcomes(path):
            if outcome.low:
                low.append(outcome)
            elif outcome.passed:
                passed += 1
            else:
                failed += 1
                print(outcome.line())
    for outcome in low:
        verdict = "agrees" if outcome.passed else "differs, not counted"
        print(f"low confidence, {verdict}: {outcome.line()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""`sidelight inspect`: what the parser, the link resolver and the chunker see of one note."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from sidelight.config import Settings, load_settings, open_vault, places_for
from sidelight.errors import AccessError
from sidelight.types import Chunk, Note
from sidelight.vault.chunker import chunk_note
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import read_note_bytes, scan
from sidelight.vault.left_out import why_left_out
from sidelight.vault.links import LinkResolver, subpath_line
from sidelight.vault.markdown import parse_note


def inspect_note(vault: Path, path: str) -> dict[str, Any]:
    """Everything that is known of a note, as JSON values; needs no index.

    Raises:
        VaultError, AccessError, NotFoundError: the note cannot be read.
    """
    root = open_vault(vault)
    settings = load_settings(places_for(root))
    exclusions = Exclusions.load(root, settings)
    path = path.replace("\\", "/") if "\\" in path and not (root / path).exists() else path
    note = parse_note(path, _bytes(root, path, exclusions, settings))
    resolver = LinkResolver(entry.path for entry in scan(root, exclusions, settings))
    return {
        "path": note.path,
        "title": note.title,
        "kind": note.kind.value,
        "content_hash": note.content_hash,
        "size": note.size,
        "lines": len(note.lines),
        "problems": [asdict(p) for p in note.problems],
        "frontmatter": {
            "exists": note.frontmatter.exists,
            "valid": note.frontmatter.valid,
            "body_start_line": note.frontmatter.body_start_line,
        },
        "properties": [asdict(p) for p in note.frontmatter.properties],
        "aliases": list(note.aliases),
        "tags": {
            "frontmatter": list(note.frontmatter_tags),
            "body": [asdict(t) for t in note.body_tags],
        },
        "headings": [asdict(h) for h in note.headings],
        "sections": _sections(note),
        "blocks": [asdict(b) for b in note.blocks],
        "block_ids": [asdict(b) for b in note.block_ids],
        "links": [
            _link(note, link, resolver, root, settings.max_note_bytes) for link in note.links
        ],
        "chunks": [_chunk(chunk) for chunk in chunk_note(note)],
    }


def _bytes(root: Path, path: str, exclusions: Exclusions, settings: Settings) -> bytes:
    """The note's bytes; a refusal says why, for it is the owner who asks."""
    inside = ".." not in path.split("/") and not path.startswith("/")
    reason = why_left_out(root, path, exclusions, settings) if inside else None
    if reason is not None:
        raise AccessError(*reason)
    try:
        return read_note_bytes(root, path, settings.max_note_bytes, settings.followed_links)
    except OSError as error:
        why = error.strerror or str(error)
        raise AccessError(
            f"{path} cannot be read: {why}.", "Give yourself the permission to read it."
        ) from error


def _sections(note: Note) -> list[dict[str, Any]]:
    """Runs of root-level blocks under one heading, with their lines."""
    found: list[dict[str, Any]] = []
    for block in note.blocks:
        heading = block.kind.value == "heading"
        if found and not heading and found[-1]["heading_path"] == list(block.heading_path):
            found[-1]["end_line"] = block.end_line
        elif block.kind.value != "yaml":
            found.append(
                {
                    "heading_path": list(block.heading_path),
                    "start_line": block.start_line,
                    "end_line": block.end_line,
                }
            )
    return found


def _link(note: Note, link: Any, resolver: LinkResolver, root: Path, limit: int) -> dict[str, Any]:
    target = resolver.resolve(link.target, note.path)
    line = None
    if target is not None and link.subpath and target.lower().endswith(".md"):
        other = note
        if target != note.path:
            place = root / target
            other = parse_note(target, place.read_bytes()[:limit]) if place.is_file() else note
        line = subpath_line(other, link.subpath)
    return {**asdict(link), "resolved_path": target, "resolved_line": line}


def _chunk(chunk: Chunk) -> dict[str, Any]:
    values = asdict(chunk)
    values.pop("path")
    return values


def render_inspection(seen: dict[str, Any]) -> str:
    """The same for people."""
    path = seen["path"].replace("\r", "\\r").replace("\n", "\\n")
    lines = [f"{path}  ({seen['kind']}, {seen['lines']} lines, {seen['size']} bytes)"]
    lines += [f"! {p['code']}: {p['message']}" + _at(p["line"]) for p in seen["problems"]]
    if seen["aliases"]:
        lines.append(f"aliases: {', '.join(seen['aliases'])}")
    tags = [*seen["tags"]["frontmatter"], *(t["tag"] for t in seen["tags"]["body"])]
    if tags:
        lines.append(f"tags: {', '.join('#' + tag for tag in tags)}")
    lines += [
        f"property {p['key']}: {p['value']}" + _at(p["start_line"]) for p in seen["properties"]
    ]
    lines += [f"{'#' * h['level']} {h['text']}" + _at(h["line"]) for h in seen["headings"]]
    for link in seen["links"]:
        leads = link["resolved_path"] or "(nothing)"
        lines.append(f"link {link['source_text']} -> {leads}" + _at(link["line"]))
    for chunk in seen["chunks"]:
        where = "" if chunk["start_line"] is None else f"{chunk['start_line']}-{chunk['end_line']}"
        path = " > ".join(chunk["heading_path"])
        first = chunk["text"].strip().split("\n", 1)[0][:60]
        lines.append(f"chunk {chunk['kind']} {where} [{path}] {first}")
    return "\n".join(lines)


def _at(line: int | None) -> str:
    return f" (line {line})" if line is not None else ""

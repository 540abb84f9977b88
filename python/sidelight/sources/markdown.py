"""A folder of Markdown: searched live by ripgrep (or RE2), without an index.

Matching files are parsed and cut by our own parser, so a passage has the same lines here as
in an indexed vault, and its citation is found again in a changed file by the same rules.
Remembers the files it cited, to find passages again; never writes.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidelight.config import Settings
from sidelight.errors import CancelledError, SidelightError
from sidelight.language.terms import Terms
from sidelight.query.answer import passage_of
from sidelight.query.cite import LiveFile, LiveFiles, cite
from sidelight.source_settings import SourceSettings
from sidelight.sources.asking import PER_ANSWER, Answer, Ask, Found, SourceError, cut, hash_of
from sidelight.sources.judging import fulfils, place_fits
from sidelight.sources.patterns import pattern_of
from sidelight.sources.scoring import Collection
from sidelight.types import Chunk, Citation, CitationStatus, Match, Passage, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import scan
from sidelight.vault.grep import grep
from sidelight.vault.markdown import parse_note
from sidelight.vault.markup import without_marks
from sidelight.vault.reading import read_inside

MAX_FILES = 50_000  # listed in 0.5 s; beyond it a folder wants an index
MAX_LINES = 20_000  # matching ones that are counted
MAX_PARSED = 40  # files that are read closer, those with most of the query first
PER_FILE = 2  # passages of one file, as in the vault
MAX_REMEMBERED_BYTES = 32_000_000  # of files that were cited

_SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class _Passage:
    chunk: Chunk
    live: LiveFile


class MarkdownFolder:
    """A folder of Markdown files."""

    def __init__(self, settings: SourceSettings, terms: Terms, *, ripgrep: bool = True) -> None:
        self._terms = terms
        self._ripgrep = ripgrep
        self.given = Path(settings.path).expanduser()
        self._remembered: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """Its real path."""
        return Path(os.path.realpath(self.given))

    def ask(self, ask: Ask) -> Answer:
        """See `Adapter`."""
        exclusions = self._exclusions()
        wanted = ask.arguments.get("path")
        if wanted is not None:
            return Answer(list(self._found(self._file(wanted, exclusions, strict=True))))
        problems: list[str] = []
        paths = [p for p in self._paths(exclusions, problems) if place_fits(p, ask.filter)]
        if not paths and not problems:
            return Answer([])
        best = self._matching(paths, ask, problems)
        passages = self._read(best, ask, exclusions, problems)
        if not self.given.is_dir():
            raise self._gone()
        return Answer(list(self._found(self._ranked(passages, ask))), problems)

    def check(self, ask: Ask) -> None:
        """See `Adapter`."""
        problems: list[str] = []
        if not self._paths(self._exclusions(), problems):
            raise SourceError(
                f"There are no Markdown files in {self.given}.", "Name the folder that holds them."
            )
        if problems:
            raise SourceError(f"Not all of it can be read: {problems[0]}.", "Check permissions.")

    def has_target(self, arguments: Mapping[str, str], ask: Ask) -> bool:
        """See `Adapter`."""
        wanted = arguments.get("path")
        return wanted is None or bool(self._file(wanted, self._exclusions()))

    def close(self) -> None:
        """See `Adapter`."""
        with self._lock:
            self._remembered.clear()

    def place_of(self, path: str) -> Path | None:
        """The full path of a file inside the folder; None if it is not (or no longer) there."""
        try:
            read_inside(self.folder, path, self._exclusions(), _SETTINGS.max_note_bytes)
        except SidelightError:
            return None
        return self.folder / path

    def locate(
        self, path: str, content_hash: str, chunk_index: int, text_hash: str
    ) -> tuple[Passage | None, Citation | None]:
        """A passage that was cited, and where it stands now.

        Returns:
            The passage as cited (None if the file changed and its old text is not remembered)
            and its citation (None if it cannot be found again).
        """
        live = LiveFiles(self.folder, _SETTINGS.max_note_bytes).get(path)
        if self._exclusions().excluded(path) or live is None or live.content_hash is None:
            return None, None
        with self._lock:
            old = next((d for h, d in self._remembered.items() if h.startswith(content_hash)), None)
        if live.content_hash.startswith(content_hash):
            chunks = chunk_note(live.note)
            if chunk_index >= len(chunks):
                return None, None
            chunk = chunks[chunk_index]
            passage = passage_of(chunk, chunk.text)
            return passage, cite(passage, live.content_hash, lambda: live.note, live)
        if old is not None:
            note = parse_note(path, old)
            chunk = chunk_note(note)[chunk_index]
            passage = passage_of(chunk, chunk.text)
            return passage, cite(passage, note.content_hash, lambda: note, live)
        return None, _same_text(live, text_hash)

    # ------------------------------------------------------------------ inside

    def _exclusions(self) -> Exclusions:
        if not self.given.is_dir():
            raise self._gone()
        return Exclusions.load(self.folder, _SETTINGS)

    def _gone(self) -> SourceError:
        return SourceError(
            f"There is no folder at {self.given}.", "It may have moved: correct its 'path'."
        )

    def _paths(self, exclusions: Exclusions, problems: list[str]) -> list[str]:
        paths: list[str] = []

        def report(path: str, problem: object) -> None:
            if not problems:
                problems.append(f"the folder '{path or '.'}' cannot be listed")

        for entry in scan(self.folder, exclusions, _SETTINGS, report):
            if not entry.path.lower().endswith(".md") or exclusions.excluded(entry.path):
                continue
            if len(paths) == MAX_FILES:
                problems.append(f"only its first {MAX_FILES:,} files were searched")
                break
            paths.append(entry.path)
        if not paths and not os.access(self.given, os.R_OK):
            raise SourceError(f"The folder {self.given} may not be read.", "Check its permissions.")
        return paths

    def _matching(self, paths: Sequence[str], ask: Ask, problems: list[str]) -> list[str]:
        """Files with something of the query, those whose matching lines hold most of it first."""
        pattern = pattern_of(ask.terms)
        if pattern is None:
            return []
        try:
            lines, more = grep(
                self.folder, paths, pattern, True, MAX_LINES, ask.cancelled,
                time_limit_s=ask.seconds_left, ripgrep=self._ripgrep,
            )  # fmt: skip
        except CancelledError:
            return []
        if more:
            problems.append("it has more matching lines than were looked at")
        texts: dict[str, list[str]] = {}
        for path, _, text in lines:
            texts.setdefault(path, []).append(text)
        score = {p: self._share(p, "\n".join(t), ask) for p, t in texts.items()}
        return sorted(texts, key=lambda path: (-score[path], path))

    def _read(
        self, paths: Sequence[str], ask: Ask, exclusions: Exclusions, problems: list[str]
    ) -> list[_Passage]:
        """The passages that fulfil the filter, of the first `MAX_PARSED` files with any."""
        passages: list[_Passage] = []
        files = 0
        for path in paths:
            if files == MAX_PARSED:
                break
            if ask.must_stop():
                problems.append("time ran out before every matching file was read")
                break
            there = self._file(path, exclusions)
            if ask.filter is not None:
                given = zip(there, self._each(there), strict=True)
                there = [one for one, found in given if fulfils(found, ask.filter)]
            passages += there
            files += bool(there)
        return passages

    def _share(self, path: str, text: str, ask: Ask) -> float:
        held = set(self._terms.index_terms(cut(f"{path}\n{text}", 20_000)))
        return sum(ask.mass.get(term.term, 0.0) for term in ask.terms if term.term in held)

    def _file(self, path: str, exclusions: Exclusions, *, strict: bool = False) -> list[_Passage]:
        """Every passage of a file; none of one that has gone meanwhile, unless `strict`."""
        try:
            data = read_inside(self.folder, path, exclusions, _SETTINGS.max_note_bytes)
        except SidelightError as error:
            if strict:
                raise SourceError(error.message, error.remedy) from error
            return []
        live = LiveFile(path, data)
        self._remember(live.note.content_hash, data)
        return [_Passage(chunk, live) for chunk in chunk_note(live.note) if chunk.text]

    def _ranked(self, passages: Sequence[_Passage], ask: Ask) -> list[_Passage]:
        collection = Collection(self._terms)
        for passage in passages:
            collection.add(_searched(passage))
        chosen: list[_Passage] = []
        per_file: dict[str, int] = {}
        for number in collection.search(ask.terms, len(passages)):
            path = passages[number].chunk.path
            per_file[path] = per_file.get(path, 0) + 1
            if per_file[path] <= PER_FILE:
                chosen.append(passages[number])
        return chosen

    def _found(self, passages: Sequence[_Passage]) -> Iterator[Found]:
        return self._each(passages[:PER_ANSWER])

    def _each(self, passages: Sequence[_Passage]) -> Iterator[Found]:
        for chunk, live in ((p.chunk, p.live) for p in passages):
            note = live.note
            yield Found(
                text=chunk.text,
                title=note.title,
                path=chunk.path,
                citation=cite(passage_of(chunk, chunk.text), note.content_hash, _never_asked, live),
                heading_path=chunk.heading_path,
                chunk_index=chunk.chunk_index,
            )

    def _remember(self, content_hash: str, data: bytes) -> None:
        with self._lock:
            self._remembered[content_hash] = data
            self._remembered.move_to_end(content_hash)
            size = sum(map(len, self._remembered.values()))
            while size > MAX_REMEMBERED_BYTES and len(self._remembered) > 1:
                size -= len(self._remembered.popitem(last=False)[1])


def _never_asked() -> bytes:
    raise AssertionError("the passage was cut from the very file it is cited in")


def _searched(passage: _Passage) -> str:
    chunk = passage.chunk
    return "\n".join(
        [passage.live.note.title, *chunk.heading_path, chunk.context, without_marks(chunk.text)]
    )


def _same_text(live: LiveFile, text_hash: str) -> Citation | None:
    """A passage with exactly this text, if the changed file holds just one."""
    same = [c for c in chunk_note(live.note) if hash_of(c.text) == text_hash]
    if len(same) != 1 or same[0].kind is not PassageKind.LINES:
        return None
    chunk = same[0]
    return Citation(
        kind=chunk.kind,
        status=CitationStatus.SOURCE_CHANGED,
        match=Match.EXACT,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        columns=chunk.columns,
        file_hash=live.content_hash,
        text=chunk.text,
        why="the same text stands once in the changed file",
    )

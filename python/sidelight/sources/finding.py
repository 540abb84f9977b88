"""Where does a passage of another source stand now, and in which file of this computer?"""

from __future__ import annotations

import time
from pathlib import Path

from sidelight.errors import NotFoundError
from sidelight.source_settings import SourceSettings
from sidelight.sources.asking import Adapter, Ask, SourceError, hash_of, whole
from sidelight.sources.markdown import MarkdownFolder
from sidelight.sources.other_vault import OtherVault
from sidelight.sources.records import Records
from sidelight.sources.refs import OutsideRef
from sidelight.types import Citation, Match, Passage, PassageKind, SearchRequest
from sidelight.vault.relocate import unresolvable


def find_again(adapter: Adapter, ref: OutsideRef, source: SourceSettings) -> tuple[str, Citation]:
    """Path inside the source and citation as of now; perhaps `unresolvable`.

    Raises:
        NotFoundError: the source cannot say.
    """
    try:
        if isinstance(adapter, OtherVault):
            return adapter.resolve(ref.inner)
        if isinstance(adapter, MarkdownFolder):
            passage, citation = adapter.locate(
                ref.path, ref.content_hash, ref.chunk_index, ref.text_hash
            )
            return ref.path, citation or unresolvable(passage or _nowhere(), "it is gone")
        if isinstance(adapter, Records):
            return ref.path, _record(adapter, ref, source)
    except SourceError as error:
        raise NotFoundError(error.message, error.remedy) from error
    return ref.path, whole("")  # a program's result: there is nothing to look at again


def find_place(adapter: Adapter, ref: OutsideRef) -> str | None:
    """The full path of the file a passage stands in, if it is one of this computer's."""
    place: Path | None = None
    try:
        if isinstance(adapter, MarkdownFolder):
            place = adapter.place_of(ref.path)
        elif isinstance(adapter, OtherVault):
            place = adapter.place_of(adapter.resolve(ref.inner)[0])
        elif isinstance(adapter, Records):
            place = adapter.path if adapter.path.is_file() else None
    except (SourceError, NotFoundError):
        return None
    return None if place is None else str(place)


def _record(adapter: Records, ref: OutsideRef, source: SourceSettings) -> Citation:
    ask = Ask("", (), {}, SearchRequest(""), time.monotonic() + source.timeout_s, lambda: False)
    record = adapter.find_again(ask, ref.id, ref.line, ref.text_hash)
    if record is None:
        return unresolvable(_nowhere(), "the entry is gone")
    same = hash_of(record.text) == ref.text_hash
    return adapter.cite(record, adapter.digest(ask), Match.EXACT if same else Match.SIMILAR)


def _nowhere() -> Passage:
    return Passage(PassageKind.NOTE, (), None, None, None, None, "")

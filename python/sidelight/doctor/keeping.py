"""Does the index keep up, what was it made with, and who writes it?"""

from __future__ import annotations

import os

from sidelight.doctor.visit import Visit, counted, error, info, named, ok, warning
from sidelight.indexing import facts
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.store.folder import facts_of, holds_index
from sidelight.store.writer import writer_of
from sidelight.types import Finding

# What each fact is called, and what another value of it leads to.
_REREAD = "every note is read again, no passage is embedded again"
_MADE_WITH = {
    "schema": ("schema", f"the tables are begun anew: {_REREAD}"),
    "drafts": ("chunker", "every note is read again, and passages cut otherwise are embedded"),
    "entities": ("recognition of things", _REREAD),
    "terms": ("tokenizer with your own words", _REREAD),
}


def check_index(visit: Visit) -> list[Finding]:
    """Is there an index that this version reads, and is it up to date?"""
    if visit.index_error is not None:
        return [error("index", visit.index_error.message, visit.index_error.remedy)]
    if visit.index is None and visit.vault_error is not None:
        kept = f"The index is kept in {visit.places.data} and waits for the vault."
        none = f"There is no index of it in {visit.places.data}."
        return [info("index", kept if holds_index(visit.places.data) else none)]
    if visit.index is None:
        remedy = "Run `sidelight index VAULT`, or start `sidelight serve VAULT`."
        return [warning("index", "The vault is not indexed yet.", remedy)]
    state, progress = visit.index.status()
    finding = (
        f"{counted(state.notes, 'note')} and {counted(state.chunks, 'passage')} are indexed, "
        f"{state.embedded_chunks:,} of them by meaning too."
    )
    if visit.index.problem and progress.phase == "waiting":
        said = f"{finding} Nothing can be added now: {visit.index.problem}"
        return [error("index", said, "It goes on by itself as soon as that is mended.")]
    if visit.places.paused.exists():
        said = f"{finding} Indexing is paused: changed notes are not taken in."
        remedy = "Resume it in Obsidian (“Resume indexing”), or run `sidelight index VAULT`."
        return [info("index", said, remedy)]
    if not state.pending:
        return [ok("index", finding)]
    remedy = "`sidelight serve` takes them in by itself, `sidelight index` once."
    why = "changed since" if progress.phase == "idle" else progress.phase
    return [info("index", f"{finding} {state.pending} wait ({why}).", remedy)]


def check_failed_notes(visit: Visit) -> list[Finding]:
    """Which notes could not be indexed, and why?"""
    if visit.index is None:
        return []
    failed = [note for note in visit.index.failed_notes() if note.error]
    if not failed:
        return [ok("failed-notes", "Every note could be indexed.")]
    reasons = [f"{note.path} ({note.error})" for note in failed]
    finding = f"{counted(len(failed), 'note', 'is')} not indexed: {named(reasons)}."
    return [
        warning(
            "failed-notes", finding, "They are tried again when they change and at every start."
        )
    ]


def check_made_with(visit: Visit) -> list[Finding]:
    """Was the index made with another schema, chunker, tokenizer or model than there is now?"""
    if not holds_index(visit.places.data):
        return []
    stored = facts_of(visit.places.data)
    current = facts.current_facts(Terms(visit.settings.user_words))
    names = facts.differing(stored, current, graph=visit.settings.graph)
    told = [
        f"{_MADE_WITH[name][0]} {stored.get(name) or 'unknown'} instead of {current[name]} "
        f"({_MADE_WITH[name][1]})"
        for name in names
    ]
    vectors = stored.get("vectors")
    if vectors and isinstance(visit.model, Embedder) and vectors != visit.model.vectors_id:
        model = "every passage is embedded again; the model before answers until then"
        told.append(f"model {vectors} instead of {visit.model.vectors_id} ({model})")
    if not told:
        made = [f"{_MADE_WITH[name][0]} {current[name]}" for name in current if name in stored]
        return [ok("made-with", ", ".join([*made, f"model {vectors or 'none'}"]) + ".")]
    finding = f"The index was made with {'; '.join(told)}."
    remedy = (
        "`sidelight serve` does it by itself, `sidelight index` once; what is indexed answers "
        "meanwhile."
    )
    return [info("made-with", finding, remedy)]


def check_writer(visit: Visit) -> list[Finding]:
    """Is the data folder shared with another vault, daemon or computer?"""
    writer, places = writer_of(visit.places.data), visit.places
    if writer is None or writer.pid == os.getpid():
        return []
    if writer.is_elsewhere:
        finding = (
            f"The data folder was last written on another computer, {writer.computer}, which did "
            "not take leave: two computers that write one index damage it."
        )
        remedy = "Give each computer a data folder of its own, on a disk of its own (--data-dir)."
        return [warning("writer", finding, remedy)]
    if not writer.runs:
        return []
    if writer.vault != str(places.vault):
        finding = f"Process {writer.pid} keeps the index of {writer.vault} in this data folder."
        remedy = "Give each vault a data folder of its own (--data-dir)."
        return [error("writer", finding, remedy)]
    if writer.pid != visit.daemon_pid:
        finding = f"Process {writer.pid} writes this index, and is no daemon that can be asked."
        remedy = (
            "If it is `sidelight index`, let it finish; a daemon of another session (another "
            "XDG_RUNTIME_DIR) is to be ended, since only one can run."
        )
        return [warning("writer", finding, remedy)]
    return [ok("writer", f"Process {writer.pid} alone writes this index.")]

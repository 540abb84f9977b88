"""Is all of the vault read? Checks of notes, exclusions and settings."""

from __future__ import annotations

from collections import Counter

from sidelight.doctor.visit import Visit, counted, error, info, named, ok, warning
from sidelight.errors import SidelightError
from sidelight.models.tokens import estimate
from sidelight.query.whole import LONG_CONTEXT
from sidelight.types import Finding
from sidelight.vault.files import read_note_bytes, sync_conflict_original
from sidelight.vault.left_out import REMEDIES
from sidelight.vault.lines import decode
from sidelight.vault.links import LinkResolver
from sidelight.vault.markdown import parse_note


def check_vault(visit: Visit) -> list[Finding]:
    """Can the vault be listed, and are there notes in it?"""
    if visit.vault_error is not None:
        said = f"{visit.vault_error.message} What needs its notes is not checked."
        return [error("vault", said, visit.vault_error.remedy)]
    listing, vault = visit.listing, visit.places.vault
    by_code: dict[str, list[str]] = {}
    for path, problem in listing.problems:
        named_as = f"{path or 'the vault'} ({problem.message.rstrip('.')})"
        by_code.setdefault(problem.code, []).append(named_as)
    if by_code:
        return [
            warning(
                "vault",
                f"{counted(len(places), 'place')} in the vault cannot be listed: {named(places)}.",
                REMEDIES[code],
            )
            for code, places in by_code.items()
        ]
    if not listing.notes:
        remedy = "Check that this is the vault's folder, and what is excluded."
        return [warning("vault", f"There are no notes to read in {vault}.", remedy)]
    return [ok("vault", f"{counted(len(listing.notes), 'note')} in {vault}.")]


def check_size(visit: Visit) -> list[Finding]:
    """How long is the vault for a model that reads all of it?"""
    tokens = 0
    for path in visit.listing.notes:
        try:
            data = read_note_bytes(
                visit.places.vault,
                path,
                visit.settings.max_note_bytes,
                visit.settings.followed_links,
            )
        except (OSError, SidelightError):
            continue  # check_notes names it
        tokens += estimate(decode(data)[0])
    said = f"All notes together have about {tokens:,} tokens"
    if tokens < LONG_CONTEXT:
        return [
            info(
                "size",
                f"{said}: fewer than {LONG_CONTEXT:,}, so a model with a long context can read "
                "the whole vault.",
                "`sidelight pack VAULT --all` gives it.",
            )
        ]
    return [ok("size", f"{said}; too many for one context, so `sidelight pack` chooses.")]


def check_settings(visit: Visit) -> list[Finding]:
    """Is the settings file valid?"""
    if visit.settings_error is not None:
        return [error("settings", visit.settings_error.message, visit.settings_error.remedy)]
    place = visit.places.settings
    where = f"from {place}" if place.exists() else "all at their defaults"
    return [ok("settings", f"Settings are {where}.")]


def check_exclusions(visit: Visit) -> list[Finding]:
    """What is never read, and is every rule understood?"""
    remedy = "Correct the rule; until then it excludes nothing."
    found = [
        warning("exclusions", f"{place}: {problem.message}", remedy)
        for place, problem in visit.exclusions.faults
    ]
    count = len(visit.listing.excluded)
    if count:
        found.append(info("exclusions", f"{counted(count, 'note', 'is')} excluded and never read."))
    return found or [ok("exclusions", "No note is excluded.")]


def check_unread_files(visit: Visit) -> list[Finding]:
    """Are there notes that are too large, or in the cloud only?"""
    found = []
    large, clouds = visit.listing.too_large, visit.listing.placeholders
    if large:
        limit = f"{visit.settings.max_note_bytes / 1e6:g} MB"
        finding = f"{counted(len(large), 'note', 'is')} larger than {limit} and not indexed: {named(large)}."
        remedy = "Split them, or raise the setting max_note_bytes."
        found.append(warning("large-notes", finding, remedy))
    if clouds:
        finding = f"{counted(len(clouds), 'note', 'lies')} in the cloud only, never read: {named(clouds)}."
        remedy = "Let your sync service keep the vault's files on this computer."
        found.append(warning("cloud-files", finding, remedy))
    return found


def check_clock(visit: Visit) -> list[Finding]:
    """Are there files from the future, so that the clock jumped here or where they were written?"""
    future = visit.listing.from_the_future
    if not future:
        return []
    finding = (
        f"{counted(len(future), 'file', 'is')} from the future by this clock: {named(future)}."
    )
    remedy = (
        "Check the computer's date. Every change is found all the same, but dates of notes and "
        "their order by age are wrong until these files are saved again."
    )
    return [warning("clock", finding, remedy)]


def check_note_problems(visit: Visit) -> list[Finding]:
    """What is wrong inside notes that are read all the same, and which links lead nowhere?"""
    counts: Counter[str] = Counter()
    example: dict[str, str] = {}
    unreadable: list[str] = []
    resolver = LinkResolver(visit.listing.files)
    lost: dict[str, str] = {}  # target of an unresolved link: the first note with it
    limit, followed = visit.settings.max_note_bytes, visit.settings.followed_links
    for path in visit.listing.notes:
        try:
            data = read_note_bytes(visit.places.vault, path, limit, followed)
        except (OSError, SidelightError) as failure:
            unreadable.append(f"{path} ({getattr(failure, 'strerror', None) or failure})")
            continue
        note = parse_note(path, data)
        for code in {problem.code for problem in note.problems}:
            counts[code] += 1
            example.setdefault(code, path)
        for link in note.links:
            if link.target not in lost and resolver.resolve(link.target, path) is None:
                lost[link.target] = path
    found = []
    if unreadable:
        finding = f"{counted(len(unreadable), 'note')} cannot be read: {named(unreadable)}."
        remedy = "Check their permissions; they are indexed as soon as they can be read."
        found.append(warning("unreadable-notes", finding, remedy))
    if counts:
        kinds = [f"{code} in {n} (such as {example[code]})" for code, n in counts.most_common()]
        finding = f"Some notes are read only as far as they can be: {named(kinds)}."
        remedy = "`sidelight inspect VAULT NOTE` shows a note's problems with their lines."
        found.append(info("note-problems", finding, remedy))
    found = found or [ok("note-problems", "Every note reads cleanly.")]
    if lost:
        places = [f"{target} (in {path})" for target, path in lost.items()]
        finding = f"{counted(len(places), 'link target')} cannot be found: {named(places)}."
        remedy = "Create these notes or correct the links, if they are not meant to be written yet."
        found.append(info("unresolved-links", finding, remedy))
    return found


def check_sync_conflicts(visit: Visit) -> list[Finding]:
    """Did a sync service leave copies of notes?"""
    notes = set(visit.listing.notes)
    copies = [p for p in visit.listing.notes if sync_conflict_original(p, notes.__contains__)]
    if not copies:
        return []
    finding = (
        f"{counted(len(copies), 'note', 'looks')} like a sync conflict's copy: {named(copies)}."
    )
    return [info("sync-conflicts", finding, "Merge them into their originals in Obsidian.")]

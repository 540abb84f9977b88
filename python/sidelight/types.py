"""The values that flow through Sidelight, from a note on disk to a cited result.

All are frozen; none does I/O or knows JSON (wire forms live in `bridge/protocol.py`).

Conventions, everywhere in the code:
    path: vault path with `/`, no leading slash, spelled as on disk.
    line: counts from 1; a line ends at `\\r\\n`, `\\n` or `\\r` only; ranges include both ends.
    column: code points, 0-based, end exclusive; only the bridge converts to UTF-16 units.
    score: higher is better. rank: counts from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as plentiful
else:

    def plentiful(*, frozen: bool, slots: bool):
        """A dataclass frozen to the type checker alone, for what a note has dozens of.

        Python takes four times as long to make one that is frozen at run time too (measured:
        a sixth of all parsing and chunking).
        """
        return dataclass(slots=slots, unsafe_hash=frozen)

# --------------------------------------------------------------------------- notes


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a note that did not stop it from being read."""

    code: str  # kebab-case: "yaml-invalid", "fence-unclosed", "bytes-undecodable", ...
    message: str
    line: int | None = None


class LinkKind(StrEnum):
    """Where a link was written."""

    WIKILINK = "wikilink"
    MARKDOWN = "markdown"
    FRONTMATTER = "frontmatter"
    CANVAS = "canvas"


@plentiful(frozen=True, slots=True)
class Link:
    """One internal link as written; fields as in Obsidian's metadata cache."""

    source_text: str  # "[[Note#H|x]]", "![[a.png]]", "[x](Note.md)"
    target: str  # path part, trimmed, percent-decoded for Markdown links; "" = same note
    subpath: str  # "#A#B", "#^id" or ""
    display: str | None
    embed: bool
    is_asset: bool
    kind: LinkKind
    line: int | None  # None in a canvas
    node: str | None = None  # canvas node id


@plentiful(frozen=True, slots=True)
class Heading:
    """A root-level heading; `text` is its raw source without hashes."""

    level: int
    text: str
    line: int


class BlockKind(StrEnum):
    """Obsidian's section types."""

    YAML = "yaml"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    CODE = "code"
    TABLE = "table"
    BLOCKQUOTE = "blockquote"
    CALLOUT = "callout"
    MATH = "math"
    HTML = "html"
    COMMENT = "comment"
    THEMATIC_BREAK = "thematicBreak"
    FOOTNOTE_DEFINITION = "footnoteDefinition"


@plentiful(frozen=True, slots=True)
class Block:
    """A root-level block; a heading's own path ends with itself."""

    kind: BlockKind
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]


@plentiful(frozen=True, slots=True)
class BlockId:
    """`^id` and the lines of the block it names."""

    id: str
    start_line: int
    end_line: int


@plentiful(frozen=True, slots=True)
class BodyTag:
    """A tag in the body, in its own spelling, without `#`."""

    tag: str
    line: int


@plentiful(frozen=True, slots=True)
class Property:
    """A top-level frontmatter property with the lines it stands on."""

    key: str
    value: Any  # YAML 1.2 core value
    start_line: int
    end_line: int


@plentiful(frozen=True, slots=True)
class Frontmatter:
    """The YAML block at the start of a note."""

    exists: bool = False
    valid: bool | None = None
    data: Mapping[str, Any] | None = None
    body_start_line: int = 1
    properties: tuple[Property, ...] = ()


class NoteKind(StrEnum):
    """What kind of file a note came from."""

    MARKDOWN = "markdown"
    CANVAS = "canvas"


@dataclass(frozen=True, slots=True)
class CanvasNode:
    """A text node of a canvas."""

    id: str  # no other node of the canvas has it
    text: str
    named: bool = True  # False: the id is made from its place; the file gives none of its own


@plentiful(frozen=True, slots=True)
class Note:
    """One parsed note. Parsing never fails: what is wrong stands in `problems`."""

    path: str
    kind: NoteKind
    title: str  # file name without extension, as in Obsidian
    content_hash: str  # SHA-256 of the raw bytes, hex
    size: int  # bytes
    lines: tuple[str, ...]  # without line endings and byte order mark
    frontmatter: Frontmatter = field(default_factory=Frontmatter)
    aliases: tuple[str, ...] = ()
    frontmatter_tags: tuple[str, ...] = ()
    body_tags: tuple[BodyTag, ...] = ()
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    block_ids: tuple[BlockId, ...] = ()
    links: tuple[Link, ...] = ()
    canvas_nodes: tuple[CanvasNode, ...] = ()
    problems: tuple[Problem, ...] = ()


class PassageKind(StrEnum):
    """What a passage's citation points at."""

    LINES = "lines"
    PROPERTY = "property"
    CANVAS = "canvas"
    NOTE = "note"  # an empty note or an attachment, found by its name: no lines


@plentiful(frozen=True, slots=True)
class Chunk:
    """The stored unit: a run of whole blocks under one heading path (or part of a long line).

    `text` is the chunk's lines joined by a line feed (or the part of its one line that
    `columns` names). `context` is borrowed for retrieval and never cited.
    """

    chunk_id: str  # hex, from path, heading path, ordinal and text hash
    path: str
    kind: PassageKind
    heading_path: tuple[str, ...]
    section_index: int  # 0-based position of its section in the note
    chunk_index: int  # 0-based position in the note
    start_line: int | None
    end_line: int | None
    columns: tuple[int, int] | None  # only when it is part of one long line
    node: str | None  # canvas node id, or the property's key
    text: str
    context: str = ""
    searchable: bool = True  # its words and meaning are searched, not only its metadata


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the vault as the directory listing shows it."""

    path: str
    size: int
    mtime_ns: int
    placeholder: bool = False  # a cloud file whose content is not on this disk


# --------------------------------------------------------------------------- citations


class CitationStatus(StrEnum):
    """Whether a passage stands where and as it was indexed."""

    FRESH = "fresh"
    SOURCE_CHANGED = "source_changed"
    UNRESOLVABLE = "unresolvable"


class Match(StrEnum):
    """How the passage was found again."""

    EXACT = "exact"
    SIMILAR = "similar"


@dataclass(frozen=True, slots=True)
class Passage:
    """What the index kept of a cited passage: enough to find it again in a changed file."""

    kind: PassageKind
    heading_path: tuple[str, ...]
    start_line: int | None
    end_line: int | None
    columns: tuple[int, int] | None
    node: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a passage stands now."""

    kind: PassageKind
    status: CitationStatus
    match: Match | None
    start_line: int | None
    end_line: int | None
    columns: tuple[int, int] | None = None  # code points
    node: str | None = None
    file_hash: str | None = None
    text: str = ""  # the passage as it stands now
    why: str = ""  # the rule that decided, in words
    wide_before: int = 0  # characters beyond U+FFFF in the line before `columns` (for UTF-16)


# --------------------------------------------------------------------------- terms


class TermKind(StrEnum):
    """What a term is; decides its weight."""

    WORD = "word"  # a word of any script, an identifier whole
    PART = "part"  # part of an identifier or of a longer word
    BIGRAM = "bigram"  # two adjacent Han characters
    CHAR = "char"  # one Han character
    USER = "user"  # a word of the user's own dictionary, whole


@plentiful(frozen=True, slots=True)
class Token:
    """A term with the place in the original text it came from."""

    term: str  # folded, without white space; bigrams and characters carry a kind prefix
    start: int
    end: int
    kind: TermKind


# --------------------------------------------------------------------------- queries


class Mode(StrEnum):
    """Which channels a search uses."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    COVERAGE = "coverage"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search as asked."""

    text: str
    mode: Mode = Mode.HYBRID
    limit: int = 10  # direct passages
    filters: Mapping[str, Any] = field(default_factory=dict)
    rerank: bool = False
    explain: bool = False
    typing: bool = False  # the last word may be unfinished
    gate: bool = True  # False: ranking is returned even where the gate refuses (evaluation)
    queries: tuple[str, ...] = ()  # sub-queries, asked beside the text (mode coverage)
    per_note: int | None = None  # passages of one note; None: as the settings say
    sources: tuple[str, ...] | None = None  # knowledge bases to ask; None: the likely ones
    dig: bool = False  # follow index cards whatever the first results are


class Origin(StrEnum):
    """How a result came into the list."""

    DIRECT = "direct"
    LINKED = "linked"


@plentiful(frozen=True, slots=True)
class ChannelHit:
    """A passage's place in one channel."""

    rank: int
    score: float
    matched: tuple[str, ...] = ()  # metadata: "title", "alias: X", ...; graph: the chain


@dataclass(frozen=True, slots=True)
class GraphProvenance:
    """The link that brought a linked result in."""

    seed_ref: str
    seed_path: str
    seed_heading_path: tuple[str, ...]
    seed_rank: int
    seed_lines: tuple[int, int] | None
    link: str
    link_line: int | None
    anchor: str  # "heading" | "block" | "note"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A short part of the passage with the matched words marked."""

    text: str
    highlights: tuple[tuple[int, int], ...]  # code points of `text`, end exclusive


@dataclass(frozen=True, slots=True)
class Result:
    """One cited passage of an answer."""

    rank: int
    ref: str
    source: str
    also_in: tuple[str, ...]
    path: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    snippet: Snippet
    origin: Origin
    graph_provenance: GraphProvenance | None
    channels: Mapping[str, ChannelHit | None]  # "metadata", "bm25", "vector", "graph"
    rrf_score: float
    rerank_score: float | None
    evidence: float
    citation: Citation
    conflict_of: str | None = None  # the note of which this one is a sync-conflict copy
    queries: tuple[str, ...] = ()  # with sub-queries: those that found it
    entry: Entry | None = None  # what a source other than a vault says of it
    via_card: FollowedCard | None = None  # the index card that led here
    credibility: float | None = None  # how far its note is to be believed; None: not asked


@dataclass(frozen=True, slots=True)
class Entry:
    """A result of another knowledge base, as that one names it."""

    kind: str  # "vault" | "markdown" | "records" | "command"
    id: str  # of a record; "" for none
    link: str  # an address; "" for none


@dataclass(frozen=True, slots=True)
class FollowedCard:
    """An index card that was followed, and what was run for it."""

    ref: str
    title: str
    source: str  # that it names
    arguments: Mapping[str, str]
    ran: tuple[str, ...]  # program and arguments; () where none was run
    found: int  # passages that count as evidence
    problem: str = ""  # why nothing was run


@dataclass(frozen=True, slots=True)
class SourceState:
    """How one knowledge base took part in an answer."""

    name: str
    kind: str
    state: str  # "answered" | "late" | "failed" | "paused" | "not_asked"
    shown: int  # results in the answer
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an answer is as it is, for people."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Degraded:
    """A channel that did not fully take part."""

    channel: str
    reason: str
    partial: bool


@dataclass(frozen=True, slots=True)
class IndexState:
    """What the index covers; `pending` counts passages and changed notes."""

    snapshot: str
    notes: int
    chunks: int  # that can be found: not those without a letter
    embedded_chunks: int
    pending: int


@dataclass(frozen=True, slots=True)
class QueryView:
    """The query as understood."""

    text: str
    terms: tuple[str, ...]
    unknown_terms: tuple[str, ...]
    filters: Mapping[str, Any]
    language: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to one search: cited results, or no evidence with its reasons."""

    ok: bool  # False: RAG_NO_EVIDENCE
    reasons: tuple[Reason, ...]
    query: QueryView
    results: tuple[Result, ...]
    near_misses: tuple[Result, ...]
    degraded: tuple[Degraded, ...]
    index: IndexState
    timing_ms: Mapping[str, Any]
    trace: Mapping[str, Any] | None = None
    confidence: float = 0.0  # what the gate compared with its threshold
    sources: tuple[SourceState, ...] = ()  # empty where the vault alone is asked
    cards: tuple[FollowedCard, ...] = ()  # index cards that were followed


# --------------------------------------------------------------------------- packs


@dataclass(frozen=True, slots=True)
class PackRequest:
    """A context as asked for."""

    text: str
    queries: tuple[str, ...] = ()  # sub-queries, searched beside the text
    budget: int = 4_000  # tokens of the whole context
    tokenizer: str = ""  # see models/tokens.py; "" is the embedding model's
    mode: Mode = Mode.HYBRID
    pieces: int = 20  # at most
    per_note: int = 2  # passages a note
    widen: bool = True  # from passage to section where the budget allows
    diversity: float = 0.0  # 0: by evidence alone; up to 1: what differs from what is in (MMR)
    filters: Mapping[str, Any] = field(default_factory=dict)
    rerank: bool = False
    gate: bool = True  # False: packs also what the gate refuses (evaluation)


@dataclass(frozen=True, slots=True)
class Piece:
    """One numbered piece of a context, as its lines stand on disk now."""

    number: int  # from 1, as in the context's text
    ref: str  # of the passage it grew from
    path: str
    title: str
    heading_path: tuple[str, ...]
    citation: Citation  # of the whole piece
    text: str
    tokens: int  # of the piece with its heading in the context
    scope: str  # "passage" | "section" | "part"
    origin: Origin
    evidence: float
    queries: tuple[str, ...] = ()  # the sub-queries that found it


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A passage that was found and is not in the context."""

    ref: str
    path: str
    heading_path: tuple[str, ...]
    start_line: int | None
    end_line: int | None
    why: str  # "budget" | "pieces" | "note" (it has its share) | "duplicate"


@dataclass(frozen=True, slots=True)
class Pack:
    """A context for a model: numbered pieces within a budget, or no evidence with its reasons."""

    ok: bool  # False: RAG_NO_EVIDENCE
    reasons: tuple[Reason, ...]
    text: str  # what to hand to the model; never over the budget
    tokens: int  # of `text`
    budget: int
    tokenizer: str
    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]
    query: QueryView
    queries: tuple[str, ...]
    near_misses: tuple[Result, ...]
    degraded: tuple[Degraded, ...]
    index: IndexState
    timing_ms: Mapping[str, Any]


# --------------------------------------------------------------------------- state


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long job is."""

    phase: (
        str  # "scan" | "words" | "vectors" | "compact" | "cleanup" | "idle" | "paused" | "waiting"
    )
    done: int
    total: int
    rate: float = 0.0  # items a second
    seconds_left: float | None = None
    reason: str = ""  # why it waits or does all of it anew, for people; "" otherwise


@dataclass(frozen=True, slots=True)
class NoteState:
    """What the index knows of one note."""

    path: str
    indexed: bool
    chunks: int
    embedded: int
    content_hash: str | None
    error: str | None
    problems: tuple[Problem, ...]
    indexed_at: float | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One named check of `doctor`."""

    check: str
    severity: str  # "ok" | "info" | "warning" | "error"
    finding: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """How another knowledge base is and has been; moments are seconds since 1970."""

    name: str
    kind: str
    description: str
    place: str  # its folder, file or program
    reachable: bool | None  # None: never asked
    last_success: float | None
    typical_ms: float | None  # median of its last answers
    error_rate: float | None  # of the last asks, 0..1
    paused_s: float  # seconds for which it is still left alone
    reason: str = ""  # why it failed
    remedy: str = ""
    dead_cards: tuple[str, ...] = ()  # titles of index cards that lead nowhere


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link with where it leads."""

    link: Link
    source_path: str
    path: str | None  # the file it resolves to
    line: int | None = None  # of the heading or block, where there is a subpath


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of a note where it stands in another without a link to it."""

    source_path: str  # the note in which it stands
    target_path: str  # the note that it names
    name: str  # the title or alias, as that note spells it
    line: int
    columns: tuple[int, int]  # code points of the line, end exclusive
    line_text: str  # the whole line


@dataclass(frozen=True, slots=True)
class Mentions:
    """Links that a note could have, and links that others could have to it."""

    inside: tuple[Mention, ...]
    outside: tuple[Mention, ...]


def heading_path_at(blocks: Sequence[Block], line: int) -> tuple[str, ...]:
    """Heading path of the last block that starts at or before `line`."""
    path: tuple[str, ...] = ()
    for block in blocks:
        if block.start_line > line:
            break
        path = block.heading_path
    return path

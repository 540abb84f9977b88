"""What goes over the wire? Every message of the bridge, defined once.

The plugin's TypeScript (`obsidian-plugin/src/bridge/protocol.ts`) and the reference page
(`docs/protocol.md`) are generated from this file by `scripts/generate_protocol.py`. It knows
no sockets, runs no method and reads nothing; the conversions from the inner types are in
`bridge/wire.py`, of which the one that the command line needs, too, is offered here.

The second element of an `Annotated` field is its meaning for people; a `Range` or `Length`
beside it is checked on every request (`bridge/params.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from sidelight.bridge.wire import search_result_json as search_result_json
from sidelight.config import PROTOCOL, Settings

JSONRPC = "2.0"
SERVER_NAME = "sidelight"
OBSIDIAN_ORIGIN = "app://obsidian.md"  # what Obsidian's desktop app sends

# --------------------------------------------------------------------------- limits

MAX_FRAME_BYTES = 1_048_576  # contract: frames over 1 MiB are refused
MAX_RESULT_BYTES = 4 * 1_048_576  # one answer; a whole note above it is read by line ranges
MAX_QUERY_CHARS = 10_000  # a pasted page; the parser and the model see no more
MAX_SUB_QUERIES = 8  # of one search
TOKENIZERS = ("model", "bytes", "estimate")  # of models/tokens.py, without files
MAX_PATTERN_CHARS = 1_000
MAX_PATH_CHARS = 4_096  # PATH_MAX on Linux
MAX_ID_CHARS = 256
MAX_DEPTH = 32  # nesting of a request; ours never pass 6
MAX_IN_FLIGHT = 8  # requests of one connection that run at the same time
MAX_BULK_IN_FLIGHT = 2  # of which long ones, so that a query never waits for them
MAX_QUEUED = 256  # queries, and as many bulk requests, that wait; more are answered BUSY
MAX_CHANGED_PATHS = 1_000  # of one `index/changed`
MAX_NAMED_SOURCES = 100  # of one search
HELLO_TIMEOUT_MS = 5_000  # contract

# --------------------------------------------------------------------------- annotations


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Length:
    """Bounds of a string's length in characters, both included."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a dataclass stand here; `partial`: any of them may be missing."""

    of: type
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Spelled:
    """How TypeScript spells this type more exactly than Python."""

    typescript: str


# --------------------------------------------------------------------------- errors


class ErrorNumber(IntEnum):
    """The `code` of a JSON-RPC error object."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    CANCELLED = -32800  # as in the Language Server Protocol
    FAILED = -32000  # any expected failure that has no number of its own
    HELLO_REQUIRED = -32001
    TOKEN_REFUSED = -32002
    PROTOCOL_MISMATCH = -32003
    BUSY = -32004
    RESULT_TOO_LARGE = -32005
    PATH_REFUSED = -32010
    NOT_FOUND = -32011
    INDEX_UNAVAILABLE = -32012
    MODEL_UNAVAILABLE = -32013
    VAULT_UNAVAILABLE = -32014
    BRIDGE_UNAVAILABLE = -32015


class ErrorData(TypedDict):
    """`data` of every error: what programs match on and people can do."""

    code: Annotated[str, "Stable identifier, UPPER_SNAKE."]
    remedy: Annotated[str, "What the person can do about it; may be empty."]
    error_id: NotRequired[Annotated[str, "Of an internal error: stands in the log, too."]]
    older: NotRequired[
        Annotated[Literal["client", "server"], "Of PROTOCOL_MISMATCH: the side to update."]
    ]
    server_protocol: NotRequired[Annotated[int, "Of PROTOCOL_MISMATCH."]]


class ErrorObject(TypedDict):
    """The `error` member of a response."""

    code: int
    message: Annotated[str, "One sentence for people."]
    data: ErrorData


class CloseCode(IntEnum):
    """Why the server closed a WebSocket."""

    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    INVALID_TEXT = 1007
    TOO_BIG = 1009
    HELLO_REQUIRED = 4401
    TOKEN_REFUSED = 4403
    PROTOCOL_MISMATCH = 4406
    HELLO_TIMEOUT = 4408
    TOO_SLOW = 4429


# --------------------------------------------------------------------------- shared parts

Pair = Annotated[list[int], Spelled("[number, number]")]
Lines = Annotated[Pair, "First and last line, both included."]
Path = Annotated[str, "Vault path with `/`, spelled as on disk.", Length(1, MAX_PATH_CHARS)]
Ref = Annotated[str, "Opaque reference of a passage, from a result.", Length(1, 4_096)]
Json = dict[str, Any]


class Snippet(TypedDict):
    """A short part of the passage with the matched words marked. Plain text, never markup."""

    text: str
    highlights: Annotated[list[Pair], "UTF-16 positions in `text`, end exclusive, in order."]


class GraphProvenance(TypedDict):
    """The link that brought a linked result in."""

    seed_ref: str
    seed_path: str
    seed_heading_path: list[str]
    seed_rank: int
    seed_lines: Lines | None
    link: Annotated[str, "As written in the seed note."]
    link_line: int | None
    anchor: Literal["heading", "block", "note"]


class MetadataHit(TypedDict):
    """A place in the metadata channel."""

    rank: int
    score: float
    matched: Annotated[list[str], 'What matched: "title", "alias: X", ...']


class ChannelHit(TypedDict):
    """A place in one channel; the score compares only within it."""

    rank: int
    score: float


class GraphHit(TypedDict):
    """A passage's place in the graph channel."""

    rank: int
    score: float
    chain: Annotated[
        list[str], "What the notes mention together, from the question to the passage."
    ]


class Channels(TypedDict):
    """Where the passage stood in each channel."""

    metadata: MetadataHit | None
    bm25: ChannelHit | None
    vector: ChannelHit | None
    graph: NotRequired[GraphHit | None]


class Citation(TypedDict):
    """Where the passage stands now."""

    kind: Literal["lines", "property", "canvas", "note"]
    status: Literal["fresh", "source_changed", "unresolvable"]
    match: Literal["exact", "similar"] | None
    start_line: int | None
    end_line: int | None
    columns: Annotated[
        Pair | None, "UTF-16, 0-based, end exclusive; only for a part of one long line."
    ]
    node: Annotated[str | None, "Canvas node id, or the property's key."]
    file_hash: Annotated[str | None, "SHA-256 of the file now."]


class Entry(TypedDict):
    """What another knowledge base says of a result."""

    kind: Annotated[str, '"vault", "markdown", "records" or "command".']
    id: Annotated[str, "Of a record; empty for none."]
    link: Annotated[str, "An address; empty for none. Never open it without asking."]


class FollowedCard(TypedDict):
    """An index card that was followed, and what was run for it."""

    ref: Annotated[str, "Of the card."]
    title: str
    source: Annotated[str, "That the card names."]
    arguments: dict[str, str]
    ran: Annotated[list[str], "Program and arguments; empty where none was run."]
    found: Annotated[int, "Passages that count as evidence."]
    problem: Annotated[str, "Why nothing was found; may be empty."]


class SourceState(TypedDict):
    """How one knowledge base took part."""

    name: str
    kind: str
    state: Literal["answered", "late", "failed", "paused", "not_asked"]
    shown: Annotated[int, "Its results in this answer."]
    reason: str


class Result(TypedDict):
    """One cited passage."""

    rank: Annotated[int, "From 1; direct results first, then linked ones."]
    ref: str
    source: Annotated[str, "The knowledge base it came from."]
    also_in: Annotated[list[str], "Others that hold the same text."]
    path: str
    title: str
    heading_path: list[str]
    text: Annotated[str, "The passage as it stands on disk now."]
    snippet: Snippet
    origin: Literal["direct", "linked"]
    graph_provenance: GraphProvenance | None
    channels: Channels
    rrf_score: float
    rerank_score: float | None
    evidence: Annotated[float, "Calibrated confidence in 0..1 on one absolute scale."]
    citation: Citation
    conflict_of: Annotated[str | None, "The note of which this one is a sync-conflict copy."]
    queries: NotRequired[Annotated[list[str], "With sub-queries: those that found it."]]
    entry: Annotated[Entry | None, "Of a result that is not from the vault itself."]
    via_card: Annotated[FollowedCard | None, "The index card that led here."]
    credibility: NotRequired[
        Annotated[float | None, "With rerank: how far its note is to be believed, 0..1."]
    ]


class Reason(TypedDict):
    """Why an answer is as it is, for people."""

    kind: Annotated[str, '"no_hits", "below_threshold", "unresolvable", "index_incomplete", ...']
    message: str


class QueryView(TypedDict):
    """The query as understood."""

    text: str
    terms: list[str]
    unknown_terms: Annotated[list[str], "Terms that the vault has never seen."]
    filters: Json
    language: str


class Degraded(TypedDict):
    """A channel that did not fully take part."""

    channel: str
    reason: str
    partial: bool


class IndexState(TypedDict):
    """What the index covers."""

    snapshot: Annotated[str, "Names the committed content."]
    notes: int
    chunks: Annotated[int, "Passages that hold words."]
    embedded_chunks: Annotated[int, "Those whose meaning is searched too."]
    pending: Annotated[int, "Passages to be embedded and changed notes to be read."]


class SearchResult(TypedDict):
    """The answer to one search."""

    status: Literal["ok", "no_evidence"]
    code: Literal["RAG_NO_EVIDENCE"] | None
    reasons: list[Reason]
    query: QueryView
    results: list[Result]
    near_misses: Annotated[list[Result], "With no_evidence: what the gate held back, at most 5."]
    degraded: list[Degraded]
    index: IndexState
    timing_ms: dict[str, float | dict[str, float]]
    trace: Annotated[Json | None, "With `explain`: every candidate and contribution."]
    sources: Annotated[list[SourceState], "Empty where the vault alone was asked."]
    cards: Annotated[list[FollowedCard], "Index cards that were followed."]


class Progress(TypedDict):
    """How far a long job is."""

    phase: Annotated[
        str, '"scan", "words", "vectors", "compact", "cleanup", "idle", "paused" or "waiting".'
    ]
    done: int
    total: int
    rate: Annotated[float, "Items a second."]
    seconds_left: float | None
    reason: NotRequired[
        Annotated[str, "Why it waits, scans instead of watching, or does all of it anew, if so."]
    ]


class Problem(TypedDict):
    """Something wrong in a note that did not stop it from being read."""

    code: str
    message: str
    line: int | None


class NoteStatus(TypedDict):
    """What the index knows of one note."""

    path: str
    indexed: bool
    chunks: int
    embedded: Annotated[int, "Chunks whose meaning is searched."]
    hash: Annotated[str | None, "SHA-256 of the bytes that were indexed."]
    error: Annotated[str | None, "Why it could not be indexed."]
    problems: list[Problem]
    when: Annotated[float | None, "Seconds since 1970, UTC."]


class IndexStatus(TypedDict):
    """The whole index and, if asked for, one note."""

    index: IndexState
    progress: Progress
    oldest_pending_s: Annotated[
        float | None,
        "Seconds since the daemon noticed the change that waits longest; null if none waits.",
    ]
    note: Annotated[NoteStatus | None, "Of the `path` asked for; null without one."]
    failed: Annotated[list[NoteStatus], "Notes that could not be indexed, at most 100."]


# --------------------------------------------------------------------------- methods


class ClientInfo(TypedDict):
    """Who connects."""

    name: str
    version: NotRequired[str]


class HelloParams(TypedDict):
    """First message of a WebSocket."""

    token: Annotated[str, "Token of the discovery file."]
    protocol: Annotated[int, "Protocol number that the client speaks."]
    client: NotRequired[Annotated[ClientInfo | str, "For the log of the daemon."]]


class ServerInfo(TypedDict):
    """Who answers."""

    name: str
    version: str
    pid: int


class Capabilities(TypedDict):
    """What this daemon offers."""

    methods: list[str]
    notifications: list[str]
    max_frame_bytes: int
    max_result_bytes: int


class HelloResult(TypedDict):
    """The session is open; notifications follow from now on."""

    server: ServerInfo
    protocol: int
    vault: Annotated[str, "Real path of the vault."]
    capabilities: Capabilities
    index: IndexStatus


class SearchParams(TypedDict):
    """One search."""

    text: Annotated[str, "Query in Obsidian's syntax.", Length(0, MAX_QUERY_CHARS)]
    mode: NotRequired[Literal["hybrid", "lexical", "semantic", "coverage"]]
    limit: NotRequired[Annotated[int, "Direct passages; 10 if not given.", Range(1, 1_000)]]
    filters: NotRequired[Annotated[Json, "As in the `query.filters` of an answer."]]
    rerank: NotRequired[Annotated[bool, "Use the reranker of the settings."]]
    explain: NotRequired[Annotated[bool, "Fill `trace`."]]
    typing: NotRequired[Annotated[bool, "The last word may be unfinished."]]
    gate: NotRequired[Annotated[bool, "false: keep the ranking where the gate refuses."]]
    queries: NotRequired[
        Annotated[list[str], "Sub-queries, asked beside the text, at most 8; for coverage."]
    ]
    sources: NotRequired[
        Annotated[
            list[Annotated[str, Length(1, 60)]],
            "Knowledge bases to ask, by name; `vault` is the vault itself, an empty list means "
            "it alone. Without it: all, or the ten likeliest.",
            Length(0, MAX_NAMED_SOURCES),
        ]
    ]
    dig: NotRequired[Annotated[bool, "Follow index cards whatever the first results are."]]
    stream: NotRequired[
        Annotated[
            str,
            "A name for `query/more`: then the first answer waits for no other source. "
            "Of a WebSocket only.",
            Length(1, 64),
        ]
    ]


class PackParams(TypedDict):
    """A context for a model."""

    text: Annotated[str, "Query in Obsidian's syntax.", Length(0, MAX_QUERY_CHARS)]
    budget: NotRequired[Annotated[int, "Tokens; 4,000 if not given.", Range(0, 1_000_000)]]
    tokenizer: NotRequired[
        Annotated[str, '"model" (the embedding model\'s), "bytes" or "estimate".', Length(0, 100)]
    ]
    mode: NotRequired[Literal["hybrid", "lexical", "semantic", "coverage"]]
    queries: NotRequired[Annotated[list[str], "Sub-queries, asked beside the text, at most 8."]]
    pieces: NotRequired[Annotated[int, "At most; 20 if not given.", Range(1, 100)]]
    per_note: NotRequired[Annotated[int, "Passages a note; 2 if not given.", Range(1, 20)]]
    widen: NotRequired[Annotated[bool, "false: passages stay as they are."]]
    diversity: NotRequired[
        Annotated[float, "0: by evidence alone; up to 1: what differs (MMR).", Range(0, 1)]
    ]
    filters: NotRequired[Annotated[Json, "As in the `query.filters` of an answer."]]
    rerank: NotRequired[Annotated[bool, "Use the reranker of the settings."]]
    gate: NotRequired[Annotated[bool, "false: pack also what the gate refuses."]]


class Piece(TypedDict):
    """One numbered piece of a context, as its lines stand on disk now."""

    number: Annotated[int, "From 1, as in the text."]
    ref: str
    path: str
    title: str
    heading_path: list[str]
    citation: Citation
    text: str
    tokens: Annotated[int, "With its place in the context."]
    scope: Annotated[Literal["passage", "section", "part"], "What of the note it is."]
    origin: Literal["direct", "linked"]
    evidence: float
    queries: Annotated[list[str], "The sub-queries that found it."]


class LeftOut(TypedDict):
    """A passage that was found and is not in the context."""

    ref: str
    path: str
    heading_path: list[str]
    start_line: int | None
    end_line: int | None
    why: Annotated[
        Literal["budget", "pieces", "note", "duplicate"],
        "No tokens left, enough pieces, enough of its note, or said already.",
    ]


class PackResult(TypedDict):
    """A context within its budget, or no evidence with its reasons."""

    status: Literal["ok", "no_evidence"]
    code: Literal["RAG_NO_EVIDENCE"] | None
    reasons: list[Reason]
    text: Annotated[str, "What to hand to the model."]
    tokens: Annotated[int, "Of the text; never over the budget."]
    budget: int
    tokenizer: Annotated[str, "What counted the tokens."]
    pieces: list[Piece]
    left_out: list[LeftOut]
    query: QueryView
    queries: Annotated[list[str], "The sub-queries that were asked."]
    near_misses: list[Result]
    degraded: list[Degraded]
    index: IndexState
    timing_ms: dict[str, float | dict[str, float]]


class AskParams(TypedDict):
    """A question to be answered in words by the model of the settings."""

    text: Annotated[str, "The question.", Length(1, MAX_QUERY_CHARS)]
    stream: NotRequired[Annotated[str, "`ask/more` names it.", Length(1, MAX_ID_CHARS)]]


class AskStep(TypedDict):
    """One thing that was done to find evidence."""

    round: Annotated[int, "0 for the first retrieval."]
    tool: Literal["pack", "grep", "read", "links"]
    asked: str
    found: Annotated[int, "New pieces that came of it."]


class AskSentence(TypedDict):
    """A sentence of the answer."""

    text: Annotated[str, "Without citations."]
    citations: Annotated[list[int], "Numbers of the evidence; all exist."]
    supported: Annotated[bool, "It cites, and its figures and names stand in what it cites."]
    removed: Annotated[list[int], "Citations of evidence that does not exist, taken out."]


class AskSpent(TypedDict):
    """What an answer has cost so far."""

    rounds: int
    calls: int
    tokens: int
    seconds: float


class AskResult(TypedDict):
    """One question, answered or on its way."""

    question: str
    endpoint: Annotated[str, "Host and port to which text goes."]
    phase: Literal["searching", "judging", "answering", "done"]
    status: Annotated[Literal["", "ok", "no_evidence", "failed"], "Empty until it is done."]
    code: Literal["RAG_NO_EVIDENCE"] | None
    reasons: list[Reason]
    known: Annotated[str, "What the evidence says, in the model's words, of the last round."]
    missing: Annotated[str, "What it does not."]
    steps: list[AskStep]
    evidence: Annotated[list[Piece], "All pieces, by number."]
    sentences: list[AskSentence]
    spent: AskSpent
    stopped: Annotated[str, "Why it ended before its time."]


class AskMoreParams(TypedDict):
    """How far a question is; it takes the place of the report before."""

    stream: str
    result: AskResult


class RelatedParams(TypedDict):
    """The active note, or the section around a line of it."""

    path: Path
    line: NotRequired[Annotated[int, "From 1.", Range(1, 2**31)]]
    limit: NotRequired[Annotated[int, "Passages; 10 if not given.", Range(1, 100)]]


class ResolveParams(TypedDict):
    """A passage to find again."""

    ref: Ref
    buffer: NotRequired[Annotated[str, "The open editor's text; counts instead of the file."]]


class ResolveResult(TypedDict):
    """Where the passage stands now; `unresolvable` is possible."""

    path: str
    citation: Citation
    text: Annotated[str, "The passage as it stands now; empty if unresolvable."]
    why: Annotated[str, "The rule that decided, in words."]
    location: Annotated[
        str | None, "Full path of the file, of a passage that is not in the vault itself."
    ]


class MoreParams(TypedDict):
    """A fuller answer to a search that named a stream; it takes the place of the one before."""

    stream: str
    result: SearchResult
    done: Annotated[bool, "Nothing more will come."]


class SourceReport(TypedDict):
    """How another knowledge base is and has been; moments are seconds since 1970."""

    name: str
    kind: str
    description: str
    place: Annotated[str, "Its folder, file or program."]
    reachable: Annotated[bool | None, "null: never asked."]
    last_success: float | None
    typical_ms: Annotated[float | None, "Median of its last answers."]
    error_rate: Annotated[float | None, "Of the last asks, 0 to 1."]
    paused_s: Annotated[float, "Seconds for which it is still left alone after failures."]
    reason: Annotated[str, "Why it failed."]
    remedy: str
    dead_cards: Annotated[list[str], "Titles of index cards that lead nowhere."]


class SourcesResult(TypedDict):
    """The other knowledge bases, in the order of the settings."""

    sources: list[SourceReport]


class FeedbackParams(TypedDict):
    """What a person says of one result; kept in a local log."""

    query: Annotated[str, "As it was asked.", Length(1, MAX_QUERY_CHARS)]
    ref: Ref
    verdict: Literal["helpful", "unhelpful", "withdrawn"]
    source: NotRequired[Annotated[str, "Of the result.", Length(1, 60)]]
    path: NotRequired[Annotated[str, Length(0, MAX_PATH_CHARS)]]
    title: NotRequired[Annotated[str, Length(0, 1_000)]]
    rank: NotRequired[Annotated[int, Range(0, 10_000)]]
    channels: NotRequired[Annotated[Json, "Its ranks in the channels."]]
    snapshot: NotRequired[Annotated[str, "Of the index.", Length(0, 200)]]


class FeedbackResult(TypedDict):
    """Whether it was kept: the settings may forbid it."""

    kept: bool


class RefParams(TypedDict):
    """A passage."""

    ref: Ref


class IndexedPassage(TypedDict):
    """The passage as it was indexed."""

    path: str
    kind: Literal["lines", "property", "canvas", "note"]
    heading_path: list[str]
    start_line: int | None
    end_line: int | None
    node: str | None
    text: str


class ReadParams(TypedDict):
    """A note or some of its lines."""

    path: Path
    start_line: NotRequired[Annotated[int, "From 1.", Range(1, 2**31)]]
    end_line: NotRequired[Annotated[int, "Included.", Range(1, 2**31)]]


class ReadResult(TypedDict):
    """The text as it is on disk."""

    path: str
    text: str
    content_hash: Annotated[str, "SHA-256 of the file's bytes."]
    line_count: int


class LinksParams(TypedDict):
    """Links of a note."""

    path: Path
    direction: NotRequired[Annotated[Literal["out", "in", "both"], '"out" if not given.']]


class LinkItem(TypedDict):
    """A link with where it leads."""

    source_path: str
    source_text: Annotated[str, "As written."]
    line: Annotated[int | None, "Where it is written; null in a canvas."]
    kind: Literal["wikilink", "markdown", "frontmatter", "canvas"]
    embed: bool
    target: str
    subpath: str
    display: str | None
    path: Annotated[str | None, "The file it resolves to; null if there is none."]
    target_line: Annotated[int | None, "Of the heading or block it names."]


class LinksResult(TypedDict):
    """Links in the order they are written."""

    links: list[LinkItem]


class MentionsParams(TypedDict):
    """A note whose missing links are looked for."""

    path: Path
    buffer: NotRequired[Annotated[str, "The open editor's text; counts instead of the file."]]
    limit: NotRequired[Annotated[int, "Of each list; 50 if not given.", Range(1, 500)]]


class MentionItem(TypedDict):
    """A title or alias of a note that stands in another one which does not link to it."""

    source_path: Annotated[str, "The note in which it stands."]
    target_path: Annotated[str, "The note that it names."]
    name: Annotated[str, "The title or alias."]
    line: Annotated[int, "Where it stands, from 1."]
    columns: Annotated[list[int], "Start and end in the line, in UTF-16 units, end exclusive."]
    text: Annotated[str, "As it stands there."]
    snippet: Annotated[Snippet, "The line, or the part of it around the mention."]


class MentionsResult(TypedDict):
    """One suggestion for each pair of notes, at the first place; nothing is ever written."""

    inside: Annotated[list[MentionItem], "Other notes that this one names, by line."]
    outside: Annotated[list[MentionItem], "Other notes that name this one, by path."]


class GrepParams(TypedDict):
    """Lines to look for; case matters."""

    pattern: Annotated[str, "A text or, with `regex`, an expression.", Length(1, MAX_PATTERN_CHARS)]
    regex: NotRequired[Annotated[bool, "Rust or RE2 syntax: no look-around, no backreferences."]]
    path_glob: NotRequired[
        Annotated[str, "`*`, `**`, `?`; without `/` it matches file names.", Length(1, 1_000)]
    ]
    limit: NotRequired[Annotated[int, "Lines; 200 if not given.", Range(1, 10_000)]]


class GrepMatch(TypedDict):
    """A line that matches."""

    path: str
    line: int
    text: Annotated[str, "The line; only the part around the match if it is very long."]


class GrepResult(TypedDict):
    """Matching lines by path and line."""

    matches: list[GrepMatch]
    truncated: Annotated[bool, "There are more, or time ran out."]


class SettingsResult(TypedDict):
    """The daemon's settings."""

    settings: Annotated[Json, "Every setting with its value.", Shape(Settings)]
    defaults: Annotated[Json, "What they are where nothing is set.", Shape(Settings)]


class SetParams(TypedDict):
    """Settings to change; the others stay."""

    values: Annotated[Json, "Names and new values.", Shape(Settings, partial=True)]


class SetResult(TypedDict):
    """The settings are valid and saved."""

    settings: Annotated[Json, "Every setting with its value.", Shape(Settings)]
    rebuilds: Annotated[list[str], "What will be rebuilt, in words."]


class FindingItem(TypedDict):
    """One check of `sidelight doctor`."""

    check: str
    severity: Literal["ok", "info", "warning", "error"]
    finding: str
    remedy: str


class DoctorResult(TypedDict):
    """All checks, in order."""

    findings: list[FindingItem]


class StatusParams(TypedDict):
    """One note, or nothing for the whole index."""

    path: NotRequired[Path]


class NoParams(TypedDict):
    """Nothing."""


class Done(TypedDict):
    """It is done, or has begun."""

    ok: Literal[True]


class CancelParams(TypedDict):
    """The request to give up."""

    id: Annotated[int | str, "Its id."]


class ChangedParams(TypedDict):
    """Which notes changed, moved or went, or are now indexed."""

    paths: list[str]
    more: Annotated[bool, "Too many to list: take every note as changed."]


class Lane(StrEnum):
    """How a method is carried out."""

    LOOP = "loop"  # at once, no work
    QUERY = "query"  # someone waits for it, and it is short
    SEARCH = "search"  # someone waits for it, and it computes
    BULK = "bulk"  # may take long; queries go first


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """One line of the method table."""

    name: str
    params: type
    result: type | None  # None: a notification
    lane: Lane
    doc: str
    newest_only: bool = False  # a newer call of the same connection cancels the older


METHODS: tuple[MethodSpec, ...] = (
    MethodSpec(
        "session/hello",
        HelloParams,
        HelloResult,
        Lane.QUERY,
        "Opens the session; the first message of a WebSocket.",
    ),
    MethodSpec(
        "query/search",
        SearchParams,
        SearchResult,
        Lane.SEARCH,
        "Searches. A newer search of the same connection cancels the older one.",
        newest_only=True,
    ),
    MethodSpec(
        "query/pack",
        PackParams,
        PackResult,
        Lane.SEARCH,
        "A context for a model: numbered pieces within a token budget.",
    ),
    MethodSpec(
        "ask/question",
        AskParams,
        AskResult,
        Lane.BULK,
        "Answers in words by the model named in the settings; a newer question cancels the older.",
        newest_only=True,
    ),
    MethodSpec(
        "query/related",
        RelatedParams,
        SearchResult,
        Lane.SEARCH,
        "Passages related to the active note or section, itself left out.",
    ),
    MethodSpec(
        "citation/resolve",
        ResolveParams,
        ResolveResult,
        Lane.QUERY,
        "Where a passage stands now.",
    ),
    MethodSpec(
        "citation/indexed",
        RefParams,
        IndexedPassage,
        Lane.QUERY,
        "A passage as it was indexed, for a diff.",
    ),
    MethodSpec(
        "sources/list", NoParams, SourcesResult, Lane.QUERY, "Other knowledge bases; asks none."
    ),
    MethodSpec(
        "sources/check", NoParams, SourcesResult, Lane.BULK, "Looks whether each can be asked."
    ),
    MethodSpec(
        "feedback/record",
        FeedbackParams,
        FeedbackResult,
        Lane.QUERY,
        "Keeps whether a result was helpful, in a local log.",
    ),
    MethodSpec("note/read", ReadParams, ReadResult, Lane.QUERY, "A note's text from disk."),
    MethodSpec("note/links", LinksParams, LinksResult, Lane.QUERY, "A note's links, resolved."),
    MethodSpec(
        "note/mentions",
        MentionsParams,
        MentionsResult,
        Lane.BULK,
        "Links that are missing in a note and to it; a newer call cancels the older.",
        newest_only=True,
    ),
    MethodSpec("note/grep", GrepParams, GrepResult, Lane.BULK, "Lines of notes that match."),
    MethodSpec("settings/get", NoParams, SettingsResult, Lane.QUERY, "The daemon's settings."),
    MethodSpec(
        "settings/set",
        SetParams,
        SetResult,
        Lane.BULK,
        "Checks and saves settings and says what will be rebuilt.",
    ),
    MethodSpec(
        "doctor/run", NoParams, DoctorResult, Lane.BULK, "The checks of `sidelight doctor`."
    ),
    MethodSpec(
        "index/status", StatusParams, IndexStatus, Lane.QUERY, "The whole index, or one note."
    ),
    MethodSpec(
        "index/rebuild",
        NoParams,
        Done,
        Lane.BULK,
        "Reads every note anew; the old index answers until then.",
    ),
    MethodSpec(
        "index/pause",
        NoParams,
        Done,
        Lane.QUERY,
        "Stops indexing until resumed, also over a restart.",
    ),
    MethodSpec("index/resume", NoParams, Done, Lane.QUERY, "Goes on with indexing."),
    MethodSpec(
        "daemon/stop",
        NoParams,
        Done,
        Lane.LOOP,
        "Asks the daemon to leave, for example after an update.",
    ),
    MethodSpec(
        "$/cancelRequest",
        CancelParams,
        None,
        Lane.LOOP,
        "Gives up a request, which then answers with CANCELLED.",
    ),
)

# What the server sends without being asked.
NOTIFICATIONS: tuple[MethodSpec, ...] = (
    MethodSpec("index/progress", Progress, None, Lane.LOOP, "How far indexing is."),
    MethodSpec("index/changed", ChangedParams, None, Lane.LOOP, "Which notes changed."),
    MethodSpec("ask/more", AskMoreParams, None, Lane.LOOP, "How far a question with a stream is."),
    MethodSpec(
        "query/more", MoreParams, None, Lane.LOOP, "A fuller answer to a search with a stream."
    ),
)


class Discovery(TypedDict):
    """The discovery file: how a client finds the daemon of a vault."""

    pid: int
    port: int
    token: Annotated[str, "New at each start; readable by its owner alone."]
    protocol: int
    version: str
    vault: Annotated[str, "Real path of the vault."]
    started_at: Annotated[float, "Seconds since 1970, UTC."]


class Health(TypedDict):
    """`GET /health`, without token."""

    name: str
    protocol: int


HEALTH: Health = {"name": SERVER_NAME, "protocol": PROTOCOL}

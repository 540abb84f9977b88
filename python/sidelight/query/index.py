"""What a search reads: the open resources of one vault, handed to the stages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sidelight.config import Settings
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.models.reranker import Reranker
from sidelight.query.gate import Gate
from sidelight.query.metadata import MetadataIndex
from sidelight.store.catalog import Catalog
from sidelight.store.renames import Renames
from sidelight.store.tables import Tables
from sidelight.types import IndexState
from sidelight.vault.links import LinkResolver


@dataclass(frozen=True, slots=True)
class Index:
    """One vault, open for queries. Resources are shared; the stages change none of them."""

    vault: Path
    settings: Settings
    catalog: Catalog
    tables: Tables
    terms: Terms
    metadata: MetadataIndex
    resolver: LinkResolver
    gate: Gate
    embedder: Embedder | None
    no_vectors: str  # why there is no embedder, for people
    reranker: Reranker | None
    workers: ThreadPoolExecutor
    encoders: ThreadPoolExecutor  # apart: a model that hangs must not take those of the words
    state: Callable[[], IndexState]
    renames: Renames  # that were seen

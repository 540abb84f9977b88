"""Where do the bilingual sample vault and its golden questions lie?

About a hundred and twenty notes of one invented person and forty questions about them, shipped
with the package: what `scripts/run.py` indexes when no vault is named, and what the quality floors
are measured on. Thirty-three more questions can only be answered over a chain of things that notes
mention together. This module only knows the paths; it reads nothing.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def sample_vault() -> Path:
    """The folder of the sample vault.

    Treat it as read-only: it lies inside the installed package.

    Raises:
        FileNotFoundError: the package lies in an archive, where a vault cannot be watched.
    """
    return _on_disk("vault")


def sample_queries() -> Path:
    """The sample vault's golden questions, one JSON object a line.

    Raises:
        FileNotFoundError: the package lies in an archive.
    """
    return _on_disk("queries.jsonl")


def sample_multi_hop() -> Path:
    """Questions that share no word, no meaning and no link with their answer, in the same form.

    `chain` names what the notes mention together on the way, from the question's own word on.

    Raises:
        FileNotFoundError: the package lies in an archive.
    """
    return _on_disk("multi_hop.jsonl")


def _on_disk(name: str) -> Path:
    path = Path(str(files(__package__).joinpath(name)))
    if not path.exists():
        raise FileNotFoundError(f"The sample data is not on disk at {path}.")
    return path

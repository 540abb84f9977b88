"""Which endpoint and which limits do the settings name?"""

from __future__ import annotations

from sidelight.ask.endpoint import Endpoint
from sidelight.ask.state import Limits
from sidelight.config import Settings


def endpoint_of(settings: Settings) -> Endpoint:
    """The model that the user named; its `check` says if there is none."""
    return Endpoint(settings.ask_endpoint, settings.ask_model, settings.ask_key_variable)


def limits_of(settings: Settings) -> Limits:
    """Where an answer ends at the latest."""
    return Limits(
        rounds=settings.ask_rounds,
        tokens=settings.ask_tokens,
        seconds=float(settings.ask_seconds),
        evidence_tokens=settings.ask_evidence_tokens,
    )

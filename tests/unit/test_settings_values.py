"""Which values of settings are refused, and in which words."""

from __future__ import annotations

import pytest

from sidelight.config import settings_from
from sidelight.errors import UsageError


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 2.5])
@pytest.mark.parametrize("name", ["graph_least_passages", "rrf_k"])
def test_what_is_no_whole_number_is_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"^Setting '{name}' must be a whole number"):
        settings_from({name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("graph_least_passages", 0, "must lie between 1 and 1,000,000."),
        ("max_note_bytes", 10**400, "must lie between 1,000 and 200,000,000."),
        ("graph_worth", float("nan"), "must lie between 0 and 1."),
        ("graph", "on", "must be true or false."),
        ("rerank", 1, "must be true or false."),
        ("ask_model", None, "must be a string."),
    ],
)
def test_a_refusal_says_what_is_allowed_in_plain_words(name: str, value: object, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        settings_from({name: value})
    assert refused.value.message == f"Setting '{name}' {said}"


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert settings_from({"graph_least_passages": 20.0}).graph_least_passages == 20

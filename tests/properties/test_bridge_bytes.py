"""Whatever bytes come in, one valid answer goes out, or silence where JSON-RPC asks for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import FakeEngine
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.bridge.dispatch import Dispatcher
from sidelight.bridge.door import Door
from sidelight.bridge.methods import Methods
from sidelight.bridge.params import whole_characters
from sidelight.bridge.protocol import METHODS, ErrorNumber
from sidelight.bridge.session import Session
from sidelight.bridge.wire import utf16_ranges
from sidelight.vault.grep import glob_expression

NUMBERS = {int(number) for number in ErrorNumber}
FAST = settings(max_examples=250, deadline=None, derandomize=True)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
names = st.sampled_from([spec.name for spec in METHODS if spec.name != "daemon/stop"])
members = st.sampled_from(
    ["text", "path", "ref", "pattern", "regex", "limit", "line", "mode", "filters", "id", "token",
     "values", "buffer", "path_glob", "direction", "start_line", "end_line", "protocol", "client"]
)  # fmt: skip
paths = st.sampled_from(
    ["Coffee.md", "咖啡.md", "../x", "/etc/passwd", "folder", "\x00", "C:\\x", "\ud800", ""]
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | scalars,
        "id": scalars | values,
        "method": names | scalars,
        "params": st.dictionaries(members, values | paths, max_size=5) | values,
    },
)


class Bench:
    """A dispatcher over the in-memory engine."""

    def __init__(self, vault: Path) -> None:
        vault.mkdir(exist_ok=True)
        engine = FakeEngine(vault)
        engine.release.set()
        methods = Methods(engine, Door("t"), tuple, lambda: None)
        self.dispatcher = Dispatcher(methods.table())
        self.loop = asyncio.new_event_loop()

    def ask(self, message: str | bytes, *, opened: bool = True) -> str | None:
        return self.loop.run_until_complete(self.dispatcher.handle(message, Session(opened=opened)))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench") / "vault")
    yield made
    made.loop.close()


def check_answer(said: str | None, message: str | bytes) -> None:
    """One valid response object, or none for a valid notification."""
    if said is None:
        request = json.loads(message)
        assert "id" not in request
        assert request["jsonrpc"] == "2.0"
        assert isinstance(request["method"], str)
        return
    said.encode("utf-8")
    answer = json.loads(said, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    assert set(answer) == {"jsonrpc", "id", "result" if "result" in answer else "error"}
    if "error" in answer:
        error = answer["error"]
        assert error["code"] in NUMBERS
        assert error["message"]
        assert error["data"]["code"].isupper()
        assert "Traceback" not in said


@FAST
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_answered(bench: Bench, message: bytes) -> None:
    said = bench.ask(message)
    assert said is not None or json.loads(message)
    check_answer(said, message)


@FAST
@given(st.text(max_size=200))
def test_arbitrary_texts_are_answered(bench: Bench, message: str) -> None:
    check_answer(bench.ask(message), message)


@FAST
@given(values)
def test_arbitrary_json_is_answered(bench: Bench, value: Any) -> None:
    message = json.dumps(value)
    check_answer(bench.ask(message), message)


@settings(FAST, max_examples=600)
@given(requests)
def test_almost_requests_are_answered_and_echo_their_id(bench: Bench, request: Any) -> None:
    message = json.dumps(request)
    said = bench.ask(message)
    check_answer(said, message)
    if said is None:
        return
    answer = json.loads(said)
    if "result" in answer:
        assert answer["id"] == request.get("id")
    else:  # null where the id could not be read
        assert answer["id"] in (request.get("id"), None)


@FAST
@given(requests, st.data())
def test_damaged_requests_are_answered(bench: Bench, request: Any, data: st.DataObject) -> None:
    raw = bytearray(json.dumps(request).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] = data.draw(st.integers(0, 255))
    check_answer(bench.ask(bytes(raw)), bytes(raw))


@FAST
@given(requests)
def test_nothing_but_hello_runs_before_hello(bench: Bench, request: Any) -> None:
    said = bench.ask(json.dumps(request), opened=False)
    assert said is None or "error" in json.loads(said)


@FAST
@given(st.text(), st.data())
def test_utf16_ranges_name_the_same_characters(text: str, data: st.DataObject) -> None:
    text = whole_characters(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    ((low, high),) = utf16_ranges(text, ((start, end),))
    units = text.encode("utf-16-le")
    assert units[2 * low : 2 * high].decode("utf-16-le") == text[start:end]


@FAST
@given(st.text(st.sampled_from("a/*?.[]\\中{}()^$"), max_size=12), st.text("ab/.中", max_size=12))
def test_any_glob_is_a_glob(glob: str, path: str) -> None:
    fits = glob_expression(glob or "*")
    assert fits.fullmatch(path) is None or isinstance(path, str)
    if not set(glob) & set("*?/") and glob:
        assert fits.fullmatch(f"folder/{glob}")
        assert not fits.fullmatch(f"{glob}x")

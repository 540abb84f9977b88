"""JSON-RPC 2.0 on strings: the examples of the specification and what it leaves open."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from bridge_fakes import call

from sidelight.bridge import dispatch
from sidelight.bridge import lanes as lanes_module
from sidelight.bridge.dispatch import Answer, Dispatcher, Method
from sidelight.bridge.messages import NUMBERS, error_from, error_object
from sidelight.bridge.protocol import (
    MAX_BULK_IN_FLIGHT,
    MAX_IN_FLIGHT,
    CancelParams,
    ErrorNumber,
    Json,
    Lane,
    MethodSpec,
    NoParams,
    ReadParams,
    SearchParams,
)
from sidelight.bridge.session import Call, Session
from sidelight.errors import (
    AccessError,
    BridgeError,
    CancelledError,
    IndexUnavailableError,
    ModelError,
    NotFoundError,
    SidelightError,
    UsageError,
    VaultError,
)


def fail(params: Json, call: Call) -> Any:
    raise {"key": KeyError("秘密 secret"), "path": AccessError("refused", "remedy")}[params["text"]]


def table(**more: Any) -> dict[str, Method]:
    methods = [
        (MethodSpec("read", ReadParams, Json, Lane.LOOP, ""), lambda p, c: {"path": p["path"]}),
        (MethodSpec("fail", SearchParams, Json, Lane.LOOP, ""), fail),
        (MethodSpec("none", NoParams, None, Lane.LOOP, ""), lambda p, c: None),
        (
            MethodSpec("$/cancelRequest", CancelParams, None, Lane.LOOP, ""),
            lambda p, c: c.session.cancel(p["id"]),
        ),
    ]
    return {spec.name: Method(spec, answer) for spec, answer in methods} | more


async def check(message: Any, expected: Any) -> None:
    """One message against its answer; an error is given by number and id."""
    text = message if isinstance(message, str | bytes) else json.dumps(message)
    said = await Dispatcher(table()).handle(text, Session(opened=True))
    answer = None if said is None else json.loads(said)
    if isinstance(expected, tuple):
        number, request_id = expected
        assert answer["jsonrpc"] == "2.0"
        assert (answer["error"]["code"], answer["id"]) == (number, request_id)
        assert set(answer) == {"jsonrpc", "id", "error"}
    else:
        assert answer == expected


async def test_a_request_is_answered_with_its_id() -> None:
    for request_id in (1, "一", None, 0.5):
        await check(
            call("read", {"path": "笔记.md"}, request_id),
            {"jsonrpc": "2.0", "id": request_id, "result": {"path": "笔记.md"}},
        )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        # the specification's own examples
        ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', (-32601, "1")),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', (-32700, None)),
        ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', (-32600, None)),
        ("[]", (-32600, None)),
        ("[1]", (-32600, None)),
        ('[{"jsonrpc": "2.0", "method": "read", "id": 1}]', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
        ('{"jsonrpc": "2.0", "method": "foobar"}', None),
        # what it says in words
        ('{"jsonrpc": "1.0", "method": "read", "id": 5}', (-32600, 5)),
        ('{"method": "read", "id": 5}', (-32600, 5)),
        ('{"jsonrpc": "2.0", "id": 5}', (-32600, 5)),
        ('{"jsonrpc": "2.0", "method": null, "id": "五"}', (-32600, "五")),
        ('{"jsonrpc": "2.0", "method": "read", "params": null, "id": 5}', (-32600, 5)),
        ('{"jsonrpc": "2.0", "method": "read", "params": 7}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "read", "id": true}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "read", "id": [1]}', (-32600, None)),
        ('{"jsonrpc": "2.0", "method": "rpc.discover", "id": 5}', (-32601, 5)),
        ('{"jsonrpc": "2.0", "method": "READ", "id": 5}', (-32601, 5)),
        ('{"jsonrpc": "2.0", "method": "read", "params": ["x"], "id": 5}', (-32602, 5)),
        ('{"jsonrpc": "2.0", "method": "read", "params": {}, "id": 5}', (-32602, 5)),
        ('{"jsonrpc": "2.0", "method": "read", "params": {"path": 1}, "id": 5}', (-32602, 5)),
        ('{"jsonrpc": "2.0", "method": "read", "params": {"path": 1}}', None),
        ('{"jsonrpc": "2.0", "result": 1, "id": 5}', (-32600, 5)),
        ('"text"', (-32600, None)),
        ("null", (-32600, None)),
        ("{}{}", (-32700, None)),
        (b"\xff", (-32700, None)),
        ("", (-32700, None)),
    ],
)
async def test_json_rpc_to_the_letter(message: str | bytes, expected: Any) -> None:
    await check(message, expected)


async def test_a_null_id_is_no_notification() -> None:
    await check(
        '{"jsonrpc": "2.0", "method": "none", "id": null}',
        {"jsonrpc": "2.0", "id": None, "result": None},
    )


async def test_unknown_failures_become_one_internal_error_whose_id_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "sidelight.bridge")
    said = await Dispatcher(table()).handle(
        json.dumps(call("fail", {"text": "key"})), Session(opened=True)
    )
    error = json.loads(said or "")["error"]
    assert error["code"] == ErrorNumber.INTERNAL
    assert error["data"]["error_id"] in caplog.text
    assert "type=KeyError" in caplog.text
    assert "test_bridge_dispatch.py" in caplog.text
    for private in ("秘密", "secret"):
        assert private not in said + caplog.text


async def test_expected_failures_keep_code_and_remedy() -> None:
    said = await Dispatcher(table()).handle(
        json.dumps(call("fail", {"text": "path"})), Session(opened=True)
    )
    error = json.loads(said or "")["error"]
    assert error == {
        "code": ErrorNumber.PATH_REFUSED,
        "message": "refused",
        "data": {"code": "PATH_REFUSED", "remedy": "remedy"},
    }


@pytest.mark.parametrize(
    "error",
    [
        AccessError("a", "b"),
        BridgeError("a", "b"),
        CancelledError("a", "b"),
        IndexUnavailableError("a", "b"),
        ModelError("a", "b"),
        NotFoundError("一", "二"),
        UsageError("a", "b"),
        VaultError("a", "b"),
        UsageError("a", "b", code="INVALID_PARAMS"),
        SidelightError("a", "b", code="RESULT_TOO_LARGE"),
    ],
)
def test_errors_are_the_same_on_both_sides(error: SidelightError) -> None:
    back = error_from(json.loads(json.dumps(error_object(error))))
    assert type(back) is type(error)
    assert (back.code, back.message, back.remedy) == (error.code, error.message, error.remedy)
    assert error.code in NUMBERS


@pytest.mark.parametrize("answer", [{}, {"data": 1}, {"message": 3, "data": {}}, {"data": None}])
def test_an_error_that_says_nothing_is_still_an_error(answer: Any) -> None:
    assert isinstance(error_from(answer), SidelightError)


# --------------------------------------------------------------------------- order


class Held:
    """A way to run work that only runs it when told."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Lane, asyncio.Future[None]]] = []

    async def run(self, lane: Lane, work: Any) -> Answer:
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append((lane, turn))
        await turn
        return work()

    def release(self, index: int = 0) -> None:
        self.waiting.pop(index)[1].set_result(None)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def held_dispatcher() -> tuple[Dispatcher, Held, Session]:
    held = Held()
    more = {
        "query": Method(
            MethodSpec("query", NoParams, Json, Lane.QUERY, ""), lambda p, c: {"query": True}
        ),
        "bulk": Method(
            MethodSpec("bulk", NoParams, Json, Lane.BULK, ""), lambda p, c: {"bulk": True}
        ),
        "newest": Method(
            MethodSpec("newest", NoParams, Json, Lane.QUERY, "", newest_only=True),
            lambda p, c: {"newest": True},
        ),
    }
    return Dispatcher(table(**more), held.run), held, Session(opened=True)


async def test_bulk_work_takes_few_slots_and_queries_the_rest() -> None:
    dispatcher, held, session = held_dispatcher()
    tasks = [
        asyncio.create_task(dispatcher.handle(json.dumps(call("bulk", {}, n)), session))
        for n in range(5)
    ] + [
        asyncio.create_task(dispatcher.handle(json.dumps(call("query", {}, 10 + n)), session))
        for n in range(10)
    ]
    await settle()
    lanes = [lane for lane, _ in held.waiting]
    assert lanes.count(Lane.BULK) == MAX_BULK_IN_FLIGHT
    assert len(lanes) == MAX_IN_FLIGHT
    held.release()  # a bulk one: the free slot goes to a query
    await settle()
    assert [lane for lane, _ in held.waiting].count(Lane.BULK) == MAX_BULK_IN_FLIGHT - 1
    while held.waiting:
        held.release()
        await settle()
    answers = [json.loads(text or "") for text in await asyncio.gather(*tasks)]
    assert all("result" in answer for answer in answers)


async def test_a_newer_call_gives_the_older_up_at_once_and_keeps_its_slot() -> None:
    dispatcher, held, session = held_dispatcher()
    first = asyncio.create_task(dispatcher.handle(json.dumps(call("newest", {}, 1)), session))
    await settle()
    second = asyncio.create_task(dispatcher.handle(json.dumps(call("newest", {}, 2)), session))
    await settle()
    assert len(held.waiting) == 2  # the older one's thread still runs
    held.release()
    held.release()
    assert json.loads(await first or "")["error"]["code"] == ErrorNumber.CANCELLED
    assert json.loads(await second or "")["result"] == {"newest": True}


async def test_a_waiting_request_can_be_cancelled() -> None:
    dispatcher, held, session = held_dispatcher()
    tasks = [
        asyncio.create_task(dispatcher.handle(json.dumps(call("query", {}, n)), session))
        for n in range(MAX_IN_FLIGHT + 1)
    ]
    await settle()
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": MAX_IN_FLIGHT}}
    assert await dispatcher.handle(json.dumps(cancel), session) is None
    assert json.loads(await tasks[-1] or "")["error"]["code"] == ErrorNumber.CANCELLED
    while held.waiting:
        held.release()
        await settle()
    await asyncio.gather(*tasks)
    assert session.slots.waiting(Lane.QUERY) == 0


async def test_cancelling_nothing_is_no_error() -> None:
    dispatcher, _, session = held_dispatcher()
    for request_id in (99, "没有"):
        cancel = call("$/cancelRequest", {"id": request_id})
        said = json.loads(await dispatcher.handle(json.dumps(cancel), session) or "")
        assert said["result"] is None


async def test_an_id_that_is_still_in_use_is_refused() -> None:
    dispatcher, held, session = held_dispatcher()
    first = asyncio.create_task(dispatcher.handle(json.dumps(call("query", {}, 1)), session))
    await settle()
    again = json.loads(await dispatcher.handle(json.dumps(call("query", {}, 1.0)), session) or "")
    assert again["error"]["code"] == ErrorNumber.INVALID_REQUEST
    text = asyncio.create_task(dispatcher.handle(json.dumps(call("query", {}, "1")), session))
    await settle()
    held.release()
    held.release()
    assert "result" in json.loads(await first or "")
    assert "result" in json.loads(await text or "")


async def test_slow_requests_log_their_stages(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dispatch, "SLOW_MS", 0.0)
    caplog.set_level(logging.INFO, "sidelight.bridge")
    timing = {"total": 1500.0, "recall": {"bm25": 4.0, "vector": 9.5}, "gate": 0.2}
    slow = Method(
        MethodSpec("slow", NoParams, Json, Lane.LOOP, ""), lambda p, c: {"timing_ms": timing}
    )
    await Dispatcher({"slow": slow}).handle(json.dumps(call("slow")), Session(opened=True))
    assert "total=1500.0ms recall(bm25=4.0ms vector=9.5ms) gate=0.2ms" in caplog.text


@pytest.mark.parametrize("written", ["1.5", "-0.25", "1e3", "123456789012345678901234567890"])
async def test_a_number_comes_back_as_the_id_it_was(written: str) -> None:
    message = f'{{"jsonrpc":"2.0","id":{written},"method":"none"}}'
    said = await Dispatcher(table()).handle(message, Session(opened=True))
    assert said is not None
    assert json.loads(said) == {"jsonrpc": "2.0", "id": json.loads(written), "result": None}


@pytest.mark.parametrize(
    "written", ["12345678901234567890.125", "0.1234567890123456789012345", "1e-400"]
)
async def test_a_number_that_would_come_back_changed_is_refused(written: str) -> None:
    message = f'{{"jsonrpc":"2.0","id":{written},"method":"none"}}'
    said = await Dispatcher(table()).handle(message, Session(opened=True))
    assert said is not None
    answer = json.loads(said)
    assert answer["id"] is None
    assert answer["error"]["code"] == ErrorNumber.INVALID_REQUEST


def test_a_thread_that_is_stuck_does_not_keep_the_daemon_from_leaving(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes_module, "CLOSE_S", 0.2)
    stuck, left = threading.Event(), threading.Event()

    async def live() -> None:
        lanes = lanes_module.Lanes()
        work = asyncio.ensure_future(lanes.run(Lane.QUERY, stuck.wait))
        assert await lanes.run(Lane.SEARCH, lambda: "豆子") == "豆子"
        await lanes.close()
        work.cancel()

    def run() -> None:
        asyncio.run(live())
        left.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert left.wait(10)
    finally:
        stuck.set()
        thread.join()

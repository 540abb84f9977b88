"""A vault and five other knowledge bases of every kind, asked as one."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import Raw, call, opened, outside
from source_fakes import program

from sidelight.bridge.server import BridgeServer
from sidelight.config import open_vault, places_for, settings_from
from sidelight.engine import Engine
from sidelight.errors import CancelledError, UsageError
from sidelight.sources.checking import findings
from sidelight.sources.federation import Federation
from sidelight.sources.health import FAILURES_TO_PAUSE
from sidelight.types import CitationStatus, Result, SearchRequest, SearchResult

OWN = {
    "Coffee.md": "# Coffee\n\nBeans from Ethiopia taste of bergamot.\n",
    "磨豆机.md": "# 磨豆机\n\n刀盘每周清洁一次。\n",
    "Shared.md": "# Kettle\n\nDescale the kettle with citric acid every month.\n",
}
WORK = {
    "Kettles.md": "# Office kettle\n\nDescale the office kettle with citric acid on Fridays.\n",
    "水壶.md": "# 办公室水壶\n\n每周五用柠檬酸除垢。\n",
}
MANUALS = {
    "kettle.md": "# Kettle\n\nDescale the kettle with citric acid every month.\n",
    "boiler.md": "# Boiler\n\nBleed the boiler valve before winter.\n\n锅炉入冬前要排气。\n",
}
CSV = (
    "id,title,text,deep_search\n"
    "k1,Kettle,\"Citric acid, to descale the kettle, is on shelf three\",\n"
    "b1,锅炉,关于锅炉阀门的一切 boiler valve,"
    "\"{\"\"source\"\": \"\"Manuals\"\", \"\"arguments\"\": {\"\"path\"\": \"\"boiler.md\"\"}}\"\n"
    "d1,Old,dead card,\"{\"\"source\"\": \"\"Gone\"\", \"\"arguments\"\": {}}\"\n"
)  # fmt: skip
Sources = list[dict[str, Any]]


def write(root: Path, notes: dict[str, str]) -> Path:
    root.mkdir(parents=True)
    for name, text in notes.items():
        (root / name).write_text(text, "utf-8")
    return root


class World:
    """Folders on disk, and the vault opened with the sources a test wants."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = write(root / "vault", OWN)
        self.manuals = write(root / "manuals", MANUALS)
        self.work = write(root / "work", WORK)
        (root / "things.csv").write_text(CSV, "utf-8")
        with sqlite3.connect(root / "shop.db") as database:
            database.execute("CREATE TABLE items (id, title, text)")
            rows = [
                (9, "Descaler", "Citric acid for the kettle"),
                (8, "除垢剂", "水壶除垢用柠檬酸"),
            ]
            database.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
        database.close()
        self._opened: list[Any] = []

    def five(self) -> Sources:
        return [
            {"name": "Work", "kind": "vault", "path": str(self.work)},
            {"name": "Manuals", "kind": "markdown", "path": str(self.manuals)},
            {"name": "Things", "kind": "records", "path": str(self.root / "things.csv")},
            {"name": "Shop", "kind": "records", "path": str(self.root / "shop.db"), "table": "items"},
            self.command("Mail", "say('Mail: descale the kettle, 除垢', title='Re: ' + 'kettle')"),
        ]  # fmt: skip

    def command(self, name: str, body: str, timeout_s: float = 20.0) -> dict[str, Any]:
        line = [*program(self.root, body, f"{name}.py"), "{query}"]
        return {"name": name, "kind": "command", "command": line, "timeout_s": timeout_s}

    def open(self, sources: Sources, **settings: Any) -> Federation:
        chosen = settings_from({"sources": sources, **settings})
        self.engine = Engine.open(
            self.vault, data_dir=self.root / "data", lexical_only=True, settings=chosen
        )
        federation = Federation(self.engine)
        self._opened += [self.engine, federation]
        self.engine.sync(lexical_only=True)
        return federation

    def index_work(self) -> None:
        with_index = Engine.open(self.work, lexical_only=True)
        with_index.sync(lexical_only=True)
        with_index.close()

    def close(self) -> None:
        for one in reversed(self._opened):
            one.close()


@pytest.fixture
def world(tmp_path: Path, isolated_home: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def search(federation: Federation, text: str, **more: Any) -> SearchResult:
    return federation.search(SearchRequest(text, **more))


def states(result: SearchResult) -> dict[str, str]:
    return {one.name: one.state for one in result.sources}


def of(result: SearchResult, source: str) -> list[Result]:
    return [one for one in result.results if source in (one.source, *one.also_in)]


# --------------------------------------------------------------------------- all at once


@pytest.mark.parametrize("query", ["descale the kettle", "柠檬酸除垢"])
def test_five_sources_of_all_kinds_answer_as_one(world: World, query: str) -> None:
    world.index_work()
    federation = world.open(world.five())
    result = search(federation, query, limit=20)
    assert result.ok
    assert set(states(result).values()) == {"answered"}
    found = {one.source for one in result.results} | {s for r in result.results for s in r.also_in}
    expected = {"Work", "Shop", "Mail"} | (
        set() if "柠" in query else {"vault", "Manuals", "Things"}
    )
    if "柠" in query:
        expected -= {"Mail"}  # it holds 除垢 alone, less than half of the query
    assert expected <= found
    assert [one.rank for one in result.results] == list(range(1, len(result.results) + 1))
    for one in result.results:
        path, citation = federation.resolve(one.ref)
        assert (path, citation.status) == (one.path, CitationStatus.FRESH)
    again = search(federation, query, limit=20)
    assert [one.ref for one in again.results] == [one.ref for one in result.results]


def test_one_that_hangs_and_one_that_is_broken_cost_the_others_nothing(world: World) -> None:
    world.index_work()
    five = world.five()
    five[4] = world.command("Hangs", "time.sleep(600)", timeout_s=1.5)
    (world.root / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    five[3] |= {"name": "Broken", "path": str(world.root / "broken.db")}
    federation = world.open(five)
    result = search(federation, "descale the kettle", limit=20)
    assert result.ok
    got = states(result)
    assert (got["Hangs"], got["Broken"]) == ("failed", "failed")
    assert {got[name] for name in ("vault", "Work", "Manuals", "Things")} == {"answered"}
    told = {d.channel: d.reason for d in result.degraded}
    assert "did not end within 1.5 s" in told["source:Hangs"]
    assert "damaged" in told["source:Broken"]
    assert of(result, "Work")
    assert of(result, "Things")


def test_the_same_text_is_one_result_that_names_its_sources(world: World) -> None:
    federation = world.open(world.five()[1:2])
    [kettle] = search(federation, "descale kettle citric acid").results
    assert (kettle.source, kettle.also_in, kettle.path) == ("vault", ("Manuals",), "Shared.md")


@pytest.mark.parametrize(
    ("query", "official", "forum", "names"),
    [
        (
            "descale kettle citric",
            "Descale the kettle with citric acid.",
            "How I descale the kettle with citric acid: vinegar!",
            ("Manual", "Chat"),
        ),
        (
            "水壶除垢柠檬酸",
            "水壶除垢用柠檬酸。",
            "转帖：水壶除垢用柠檬酸，我加醋。",
            ("官方手册", "论坛转帖"),
        ),
    ],
)
def test_a_forum_that_imitates_the_manual_stands_below_it_by_its_source(
    world: World, query: str, official: str, forum: str, names: tuple[str, str]
) -> None:
    # the forum comes first in the settings, which decides between equal ranks and evidence
    sources = [
        world.command(names[1], f"say({forum!r}, title={query!r})"),
        world.command(names[0], f"say({official!r}, title={query!r})"),
    ]
    rules = [f"source:{names[0]} = official-docs", f"来源：{names[1]} = 论坛"]
    federation = world.open(sources, credibility=rules)
    for rerank, first in ((False, names[1]), (True, names[0])):
        found = federation.search(SearchRequest(query, rerank=rerank)).results
        assert next(r.source for r in found if r.source != "vault") == first


def test_no_other_source_has_more_than_five_results(world: World) -> None:
    body = "for n in range(100): say(f'descale the kettle, way {n}')"
    result = search(world.open([world.command("Chatty", body)]), "descale the kettle", limit=50)
    assert len(of(result, "Chatty")) == 5
    assert result.results[0].source in ("vault", "Chatty")
    limited = world.engine  # the limit bounds them all
    assert (
        len(Federation(limited).search(SearchRequest("descale the kettle", limit=3)).results) == 3
    )


@pytest.mark.parametrize("query", ["zxqv blorfing", "量子纠缠望远镜"])
def test_a_chatty_source_cannot_turn_nonsense_into_evidence(world: World, query: str) -> None:
    chatty = world.command(
        "Chatty", "say('Here is something about kettles')\nsay('Nothing for ' + sys.argv[1])"
    )
    result = search(world.open([chatty, world.five()[1]]), query)
    assert not result.ok
    assert result.results == ()
    assert "sources_below_threshold" in [reason.kind for reason in result.reasons]


def test_filters_hold_for_other_sources_too(world: World) -> None:
    federation = world.open(world.five()[1:2])
    assert of(search(federation, 'boiler "bleed the boiler"'), "Manuals")
    assert not search(federation, "boiler valve -winter").ok
    assert not search(federation, "boiler valve tag:#a").ok
    assert of(search(federation, "锅炉 排气"), "Manuals")


def test_only_the_sources_that_are_named_are_asked(world: World) -> None:
    federation = world.open(world.five()[1:3])
    only = search(federation, "descale the kettle", sources=("things",))
    assert {one.source for one in only.results} == {"Things"}
    assert states(only) == {"vault": "not_asked", "Things": "answered", "Manuals": "not_asked"}
    alone = search(federation, "descale the kettle", sources=())
    assert (alone.sources, {one.source for one in alone.results}) == ((), {"vault"})
    with pytest.raises(UsageError, match="no source named 'Nope'") as caught:
        search(federation, "kettle", sources=("Nope",))
    assert "Manuals" in caught.value.remedy


def test_above_ten_sources_the_likely_ones_are_asked_and_the_rest_on_request(world: World) -> None:
    many: Sources = [
        {"name": f"G{n}", "kind": "markdown", "path": str(world.manuals), "description": "garden"}
        for n in range(12)
    ]
    many[11]["description"] = "boiler manuals, 锅炉"
    federation = world.open(many)
    result = search(federation, "boiler valve")
    asked = [name for name, state in states(result).items() if state == "answered"]
    assert len(asked) == 11
    assert "G11" in asked
    left = next(name for name, state in states(result).items() if state == "not_asked")
    assert of(search(federation, "boiler valve", sources=(left,)), left)


# --------------------------------------------------------------------------- late ones


class Arrivals:
    """The fuller answers of one search."""

    def __init__(self) -> None:
        self.answers: list[tuple[float, SearchResult, bool]] = []
        self.done = threading.Event()

    def __call__(self, result: SearchResult, done: bool) -> None:
        self.answers.append((time.monotonic(), result, done))
        if done:
            self.done.set()


def test_a_hung_source_delays_the_first_results_not_at_all(world: World) -> None:
    slow = world.command("Slow", "time.sleep(1.2)\nsay('descale the kettle slowly')", timeout_s=60)
    hangs = world.command("Hangs", "time.sleep(600)", timeout_s=15)
    federation = world.open([world.five()[1], slow, hangs])
    search(federation, "descale", sources=())  # the dictionaries are read once
    arrivals = Arrivals()
    first = federation.search(SearchRequest("descale the kettle"), more=arrivals)
    assert of(first, "vault")
    assert {states(first)[name] for name in ("Slow", "Hangs")} == {"late"}
    assert {d.channel for d in first.degraded} >= {"source:Slow", "source:Hangs"}
    assert arrivals.done.wait(120)
    last = arrivals.answers[-1][1]
    assert states(last) == {
        "vault": "answered",
        "Manuals": "answered",
        "Slow": "answered",
        "Hangs": "failed",
    }
    assert of(last, "Slow")
    assert any(of(result, "Slow") and not done for _, result, done in arrivals.answers)


def test_what_comes_late_is_the_whole_answer(world: World) -> None:
    federation = world.open(world.five()[2:3])
    arrivals = Arrivals()
    first = federation.search(SearchRequest("锅炉阀门"), more=arrivals)
    assert states(first)["Things"] in ("late", "answered")
    assert states(first)["Things"] == "answered" or arrivals.done.wait(60)
    whole = search(federation, "锅炉阀门")
    last = arrivals.answers[-1][1] if arrivals.answers else first
    assert [one.ref for one in last.results] == [one.ref for one in whole.results]
    assert of(whole, "Things")


def test_a_search_that_is_given_up_ends_its_sources(world: World) -> None:
    federation = world.open([world.command("Hangs", "time.sleep(600)")])
    given_up = threading.Event()
    threading.Timer(0.3, given_up.set).start()
    begun = time.monotonic()
    with pytest.raises(CancelledError):
        federation.search(SearchRequest("descale the kettle"), given_up.is_set)
    assert time.monotonic() - begun < 5
    assert federation.health.of("Hangs").outcomes == []


def test_a_source_that_keeps_failing_is_paused_and_said_so(world: World) -> None:
    federation = world.open(world.five()[1:2])
    shutil.rmtree(world.manuals)
    for _ in range(FAILURES_TO_PAUSE):
        assert states(search(federation, "boiler"))["Manuals"] == "failed"
    result = search(federation, "boiler")
    assert states(result)["Manuals"] == "paused"
    [told] = [d.reason for d in result.degraded if d.channel == "source:Manuals"]
    assert "paused for" in told
    assert "no folder" in told
    write(world.manuals, MANUALS)
    [report] = federation.check()
    assert (report.reachable, report.paused_s) == (True, 0.0)
    assert states(search(federation, "boiler"))["Manuals"] == "answered"


def test_a_check_that_runs_no_program_calls_none_well(world: World) -> None:
    program = world.command("坏掉的", "sys.exit('no such profile: 没有配置')")
    federation = world.open([program])
    for _ in range(FAILURES_TO_PAUSE):
        assert states(search(federation, "boiler"))["坏掉的"] == "failed"
    [report] = federation.check()
    assert (report.reachable, report.paused_s) == (True, 0.0)  # it is there, and is asked again
    assert "没有配置" in report.reason
    assert (report.last_success, report.typical_ms, report.error_rate) == (None, None, 1.0)
    assert [one.severity for one in findings([report])] == ["warning"]


# --------------------------------------------------------------------------- cards


@pytest.mark.parametrize("query", ["boiler valve", "锅炉阀门"])
def test_a_card_is_followed_and_what_was_run_is_shown(world: World, query: str) -> None:
    federation = world.open(world.five()[1:3])
    result = search(federation, query, dig=True)
    [card] = result.cards
    assert (card.title, card.source, dict(card.arguments)) == (
        "锅炉",
        "Manuals",
        {"path": "boiler.md"},
    )
    assert of(result, "Things")
    if query == "boiler valve":
        led = [one for one in result.results if one.via_card is not None or one.path == "boiler.md"]
        assert led
        assert card.found >= 1


def test_a_card_to_a_program_shows_what_ran(world: World) -> None:
    card = {"source": "Runner", "arguments": {"query": "boiler valve spare"}}
    line = {"text": "Everything about the boiler valve", "title": "Card", "deep_search": card}
    (world.root / "cards.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    cards = {"name": "Cards", "kind": "records", "path": str(world.root / "cards.jsonl")}
    body = "say('The boiler valve spare is in box ' + str(len(sys.argv)))\n"
    federation = world.open([cards, world.command("Runner", body)])
    result = search(federation, "boiler valve", dig=True)
    [shown] = result.cards
    assert shown.ran[-1] == "boiler valve spare"


def test_cards_that_lead_nowhere_are_listed_by_the_check(world: World) -> None:
    federation = world.open(world.five()[1:3])
    manuals, things = federation.check()
    assert (manuals.dead_cards, things.dead_cards) == ((), ("Old",))
    (world.manuals / "boiler.md").unlink()
    assert federation.check()[1].dead_cards == ("锅炉", "Old")


# --------------------------------------------------------------------------- the outside


def test_what_found_nothing_is_kept_unless_the_settings_forbid_it(world: World) -> None:
    federation = world.open(world.five()[1:2])
    search(federation, "zxqv blorfing")
    search(federation, "zxqv typed", typing=True)
    search(federation, "zxqv of another vault", sources=())
    assert [entry["query"] for entry in federation.feedback.entries()] == ["zxqv blorfing"]
    world.engine.update_settings({"keep_feedback": False})
    search(federation, "zxqv again")
    assert len(federation.feedback.entries()) == 1


def command_line(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "sidelight", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONUTF8": "1", **environment},
    )  # fmt: skip


def test_sources_are_managed_from_the_command_line(world: World) -> None:
    vault = world.vault
    added = command_line("sources", "add", vault, "手册", "markdown", "--path", world.manuals)
    assert (added.returncode, added.stderr) == (0, "")
    twice = command_line("sources", "add", vault, "手册", "markdown", "--path", world.manuals)
    assert (twice.returncode, "Two sources are named" in twice.stderr) == (2, True)
    gone = command_line("sources", "add", vault, "B", "markdown", "--path", world.root / "gone")
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    assert command_line("index", vault, "--lexical-only").returncode == 0
    found = command_line("search", vault, "锅炉排气", "--mode", "lexical", "--json")
    [one] = json.loads(found.stdout)["results"]
    assert (one["source"], one["path"], one["entry"]["kind"]) == ("手册", "boiler.md", "markdown")
    shutil.rmtree(world.manuals)
    check = command_line("sources", "check", vault, "--json")
    assert check.returncode == 1
    assert "no folder" in json.loads(check.stdout)["sources"][0]["reason"]
    assert command_line("sources", "remove", vault, "手册").returncode == 0
    assert json.loads(command_line("sources", "list", vault, "--json").stdout) == {"sources": []}


def test_a_cycle_ends_at_once_and_is_told(world: World) -> None:
    line = [sys.executable, "-m", "sidelight", "search", str(world.vault), "{query}", "--json"]
    federation = world.open(
        [{"name": "Myself", "kind": "command", "command": line, "timeout_s": 120}]
    )
    result = search(federation, "descale the kettle")
    assert of(result, "vault")
    [told] = [d.reason for d in result.degraded if d.channel == "source:Myself"]
    assert "a cycle" in told
    itself = [{"name": "Same", "kind": "vault", "path": str(world.vault)}]
    world.engine.update_settings({"sources": itself})
    [told] = [d.reason for d in search(federation, "kettle").degraded if d.channel == "source:Same"]
    assert "this vault itself" in told


def test_two_vaults_that_name_each_other_end(world: World) -> None:
    world.index_work()
    back = [{"name": "Home", "kind": "vault", "path": str(world.vault)}]
    places = places_for(open_vault(world.work))
    places.settings.parent.mkdir(parents=True, exist_ok=True)
    places.settings.write_text(json.dumps({"sources": back}), "utf-8")
    result = search(world.open(world.five()[:1]), "descale the kettle", limit=20)
    assert states(result) == {"vault": "answered", "Work": "answered"}
    assert of(result, "Work")


async def test_late_answers_come_by_notification(world: World) -> None:
    slow = world.command("Slow", "time.sleep(0.8)\nsay('descale the kettle slowly')")
    federation = world.open([slow])
    search(federation, "x", sources=())
    server = BridgeServer(world.engine, sources=federation)
    await server.start()

    def talk() -> tuple[Any, list[Any], Any]:
        raw: Raw = opened(server)
        raw.socket.settimeout(120)
        params = {"text": "descale the kettle", "stream": "one"}
        raw.frame(json.dumps(call("query/search", params, 5)))
        first = raw.message()
        while first.get("id") != 5:
            first = raw.message()
        more = []
        while not more or not more[-1]["params"]["done"]:
            message = raw.message()
            assert "closed" not in message
            if message.get("method") == "query/more":
                more.append(message)
        ref = next(
            r["ref"] for r in more[-1]["params"]["result"]["results"] if r["source"] == "Slow"
        )
        verdict = {
            "query": "descale the kettle",
            "ref": ref,
            "verdict": "helpful",
            "source": "Slow",
        }
        raw.frame(json.dumps(call("feedback/record", verdict, 6)))
        kept = raw.message()
        raw.frame(json.dumps(call("sources/list", {}, 7)))
        listed = raw.message()
        raw.close()
        return first, [more[-1], kept], listed

    first, (last, kept), listed = await outside(talk)
    await server.stop()
    assert [s["state"] for s in first["result"]["sources"]] == ["answered", "late"]
    assert [s["state"] for s in last["params"]["result"]["sources"]] == ["answered", "answered"]
    assert kept["result"] == {"kept": True}
    assert federation.feedback.entries()[-1]["verdict"] == "helpful"
    [report] = listed["result"]["sources"]
    assert (report["name"], report["reachable"]) == ("Slow", True)
    assert report["typical_ms"] > 700


def test_settings_with_a_missing_folder_are_refused(world: World) -> None:
    federation = world.open([])
    with pytest.raises(UsageError, match="no folder"):
        federation.refuse_missing({"sources": [{**world.five()[1], "path": "/gone/away"}]})
    federation.refuse_missing({"sources": world.five()[1:2]})

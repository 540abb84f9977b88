"""Programs as sources: what they say, and what they may not do to anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from source_fakes import ask, program, source

from sidelight.source_settings import ASKING
from sidelight.sources import command as command_module
from sidelight.sources.asking import Answer, SourceError
from sidelight.sources.command import Command
from sidelight.sources.process import MARK


def run(
    folder: Path, body: str, query: str = "kettle", *, seconds: float = 20.0, json_input: bool = False,
    arguments: dict[str, str] | None = None, parts: tuple[str, ...] = ("{query}",), **values: Any,
) -> Answer:  # fmt: skip
    line = program(folder, body)
    given = {"input": "json"} if json_input else {}
    line += [] if json_input else parts
    settings = source(kind="command", command=line, timeout_s=max(0.1, seconds), **given, **values)
    return Command(settings, "key").ask(ask(query, seconds, arguments))


def test_results_are_json_lines_and_the_query_is_one_argument(tmp_path: Path) -> None:
    answer = run(
        tmp_path,
        "say(sys.argv[1], title='壶', id=7, link='https://example.org')",
        "$(ls) 'a b'; 除垢",
    )
    [one] = answer.found
    assert (one.text, one.title, one.id) == ("$(ls) 'a b'; 除垢", "壶", "7")
    assert one.citation.start_line is None


def test_the_query_comes_as_json_on_standard_input(tmp_path: Path) -> None:
    body = "asked = json.load(sys.stdin)\nsay(asked['query'] + str(asked['limit']))"
    assert run(tmp_path, body, "拿铁 ☕", json_input=True).found[0].text == "拿铁 ☕25"


def test_a_query_never_becomes_an_option(tmp_path: Path) -> None:
    body = "say(json.dumps(sys.argv[1:]))"
    assert run(tmp_path, body, "--delete everything").found[0].text == '["delete everything"]'
    parts = ("--find={query}", "{path}")
    answer = run(tmp_path, body, "-x", arguments={"path": "--rm"}, parts=parts)
    assert answer.found[0].text == '["--find=-x", "rm"]'


def test_output_is_utf8_whatever_the_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    assert (
        run(tmp_path, "print(json.dumps({'text': '除垢'}, ensure_ascii=False))").found[0].text
        == "除垢"
    )
    assert (
        run(tmp_path, 'sys.stdout.buffer.write(b\'{"text": "a\\xff"}\\n\')').found[0].text
        == "a\ufffd"
    )


def marked(word: str) -> list[int]:
    alive = []
    for process in psutil.process_iter():
        try:
            if word in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process.pid)
        except psutil.Error:
            continue
    return alive


FORKS = """
sleeper = [sys.executable, "-c", "import time; time.sleep(600)  # {word}"]
subprocess.Popen(sleeper)
subprocess.Popen(sleeper, start_new_session=True)
os.environ["X"] = "1"
inner = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)"
subprocess.run([sys.executable, "-c", inner, *sleeper])  # its parent ends: an orphan
open({started!r}, "w").close()
{rest}
"""


@pytest.mark.parametrize("rest", ["time.sleep(600)", "while True: pass"])
def test_a_command_that_forks_and_hangs_goes_with_all_its_children(
    tmp_path: Path, rest: str
) -> None:
    word, started = f"sleeper-{os.getpid()}-{len(rest)}", tmp_path / "started"
    body = FORKS.format(word=word, started=str(started), rest=rest)
    begun = time.monotonic()
    with pytest.raises(SourceError, match="did not end within") as caught:
        run(tmp_path, body, seconds=3.0)
    assert caught.value.code == "SOURCE_TIMEOUT"
    assert started.exists(), "the program had no time to fork: the test proves nothing"
    assert time.monotonic() - begun < 10
    assert marked(word) == []


def test_what_a_killed_daemon_had_running_is_ended(tmp_path: Path) -> None:
    child = "[sys.executable, '-c', 'import time; time.sleep(99)']"
    body = f"subprocess.Popen({child}, start_new_session=True)\n"
    line = program(tmp_path, f"{body}open({str(tmp_path / '壶')!r}, 'w').close()\ntime.sleep(99)")
    asking = (
        "import sys\nfrom sidelight.sources.process import run\n"
        "run(sys.argv[1:], b'', {'OF_THE_KILLED': '1'}, 99.0, lambda: False)\n"
    )
    daemon = subprocess.Popen([sys.executable, "-c", asking, *line])
    assert within(20.0, (tmp_path / "壶").exists)
    running = [p for p in psutil.process_iter() if has_variable(p, "OF_THE_KILLED")]
    assert len(running) == 2
    daemon.kill()
    daemon.wait()
    assert within(20.0, lambda: not any(alive(p) for p in running))


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def has_variable(process: psutil.Process, name: str) -> bool:
    try:
        return name in process.environ()
    except psutil.Error:
        return False


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_child_that_holds_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    word = f"holder-{os.getpid()}"
    sleeper = f'[sys.executable, "-c", "import time; time.sleep(600)  # {word}"]'
    begun = time.monotonic()
    answer = run(tmp_path, f"say('descale the kettle')\nsubprocess.Popen({sleeper})")
    assert [one.text for one in answer.found] == ["descale the kettle"]
    assert time.monotonic() - begun < 10
    assert marked(word) == []


def test_a_flood_of_standard_error_costs_nothing(tmp_path: Path) -> None:
    answer = run(tmp_path, "sys.stderr.write('x' * 50_000_000)\nsay('descale')")
    assert [one.text for one in answer.found] == ["descale"]
    with pytest.raises(SourceError, match=r"code 3: .*the end") as caught:
        run(tmp_path, "sys.stderr.write('x' * 5_000_000 + ' the end')\nsys.exit(3)")
    assert len(caught.value.message) < 400


def test_a_gigabyte_of_output_is_cut_off(tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    body = "say('descale the kettle')\nfor _ in range(1000): sys.stdout.write('y' * 1_000_000)"
    answer = run(tmp_path, body)
    assert [one.text for one in answer.found] == ["descale the kettle"]
    assert "more than 4 MB" in answer.problems[0]
    assert psutil.Process().memory_info().rss - before < 100_000_000


def test_invalid_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not JSON lines"):
        run(tmp_path, "print('<html>')\nprint('{')")
    answer = run(tmp_path, "print('garbage')\nprint('[1]')\nsay('除垢')\nprint('{\"text\": 5}')")
    assert [one.text for one in answer.found] == ["除垢"]
    assert list(answer.problems) == ["3 lines are no results"]


def test_deeply_nested_json_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not JSON lines"):
        run(tmp_path, "print('[' * 100_000)")


def test_a_missing_program_is_told() -> None:
    settings = source(kind="command", command=["no-such-program-here", "{query}"])
    for call in (Command(settings, "key").ask, Command(settings, "key").check):
        with pytest.raises(SourceError, match="no program 'no-such-program-here'") as caught:
            call(ask("kettle"))
        assert caught.value.remedy


def test_a_cancelled_search_ends_the_program(tmp_path: Path) -> None:
    settings = source(kind="command", command=[*program(tmp_path, "time.sleep(600)"), "{query}"])
    until = time.monotonic() + 0.3
    stopping = replace(ask("kettle"), cancelled=lambda: time.monotonic() > until)
    begun = time.monotonic()
    assert Command(settings, "key").ask(stopping).found == []
    assert time.monotonic() - begun < 5
    assert marked(str(tmp_path / "program.py")) == []


def test_the_environment_names_the_vaults_that_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ASKING, "outer")
    body = f"say(os.environ[{ASKING!r}] + ' ' + str(len(os.environ[{MARK!r}])))"
    assert run(tmp_path, body).found[0].text == "outer key 32"


def test_a_cycle_is_told_as_one(tmp_path: Path) -> None:
    said = "sidelight: This search was started by a source of the same vault. Let that"
    with pytest.raises(SourceError, match="a cycle") as caught:
        run(tmp_path, f"print({said!r}, file=sys.stderr)\nsys.exit(1)")
    assert caught.value.code == "SOURCE_CYCLE"


def test_a_program_that_calls_itself_through_the_bridge_is_bounded(tmp_path: Path) -> None:
    settings = source(kind="command", command=[*program(tmp_path, "time.sleep(30)"), "{query}"])
    one = Command(settings, "key")
    for _ in range(command_module.MAX_AT_ONCE):
        assert one._slots.acquire(blocking=False)
    with pytest.raises(SourceError, match="already running"):
        one.ask(ask("kettle"))


def test_what_repeats_every_question_is_found_out(tmp_path: Path) -> None:
    assert run(tmp_path, "say('Nothing found for ' + sys.argv[1])", "zxq 除垢").echo == "zxq 除垢"
    assert run(tmp_path, "say('Descale the kettle')").echo == ""


def test_nothing_is_started_for_every_key(tmp_path: Path) -> None:
    settings = source(kind="command", command=[*program(tmp_path, "say('x')"), "{query}"])
    question = ask("kettle")
    typing = replace(question, request=replace(question.request, typing=True))
    newer = time.monotonic() + 0.1
    given_up = replace(typing, cancelled=lambda: time.monotonic() > newer)
    assert Command(settings, "key").ask(given_up).found == []
    assert [one.text for one in Command(settings, "key").ask(typing).found] == ["x"]

"""A daemon that is killed at any moment of a busy run: the next start ends in a fresh index's rows.

The activity is read from the daemon's own log (`--log-level debug`): the last line before the kill
says inside what it fell. The short run kills a dozen times; `--soak` 200 times, in eight parts.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import psutil
import pytest
from index_rows import check_nothing_half_written, check_same, fresh_rows, rows_on_disk
from tiny_models import write_model

from sidelight.config import Places, Settings, open_vault, places_for, save_settings
from sidelight.engine import Engine
from sidelight.store import upkeep

ACTIVITIES = ("embedding", "merging", "compacting", "cleaning up")
_LINE = re.compile(r"(done )?(embedding|merging|compacting|cleaning up)\b")
# Imports once, then makes a daemon of itself for every line it reads: what is killed is the work.
# Without fork (Windows) each daemon is a process of its own from the start.
_DAEMONS = """
import os, sys, sidelight.daemon, sidelight.cli.commands
from sidelight.cli import main
for line in sys.stdin:
    pid = os.fork() if hasattr(os, "fork") else 0
    if pid == 0:
        if not hasattr(os, "fork"):
            print(os.getpid(), flush=True)
        os.dup2(2, 1)  # what the daemon says is not for this pipe
        sys.exit(main())
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("gone", flush=True)
"""
NOTES = 40
WAIT_S = 30.0  # for an activity; a loaded machine starts slowly
WORDS = ("cat", "dog", "猫", "狗", "拿铁", "marzipan", "终值定理", "ERR_OOM_KILL_001", "a")


class Writer(threading.Thread):
    """A person and their programs: edits, atomic saves, new notes, renames, deletions, moves."""

    def __init__(self, vault: Path, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self.vault, self.dice = vault, dice
        self.ending = threading.Event()

    def run(self) -> None:
        while not self.ending.wait(self.dice.uniform(0.05, 0.3)):
            for _ in range(self.dice.randint(1, 12)):  # a burst, then a moment to embed in
                self.step()

    def step(self) -> None:
        notes = sorted(self.vault.rglob("*.md"))
        path = self.dice.choice(notes) if notes else self.vault / "笔记0.md"
        kind = self.dice.random()
        if kind < 0.5:
            path.write_text(text(self.dice), "utf-8")
        elif kind < 0.7:
            temporary = path.with_name(f".{path.name}.tmp")
            temporary.write_text(text(self.dice), "utf-8")
            os.replace(temporary, path)
        elif kind < 0.8 or len(notes) < NOTES // 2:
            (self.vault / f"笔记{self.dice.randrange(NOTES)}.md").write_text(
                text(self.dice), "utf-8"
            )
        elif kind < 0.9:
            folder = self.vault / self.dice.choice(["日记", "Ops"])
            folder.mkdir(exist_ok=True)
            os.replace(path, folder / path.name)
        elif len(notes) > NOTES // 2:
            path.unlink()


def text(dice: random.Random) -> str:
    sections = [f"## {dice.choice(WORDS)} {n}\n\n{line(dice)}\n" for n in range(dice.randint(0, 4))]
    return f"# {dice.choice(WORDS)}\n\n{line(dice)}\n\n" + "\n".join(sections)


def line(dice: random.Random) -> str:
    return " ".join([*dice.choices(WORDS, k=12), str(dice.randrange(10_000))])


class Victims:
    """Daemons of one vault, one after the other, to be killed."""

    def __init__(self, places: Places) -> None:
        self.log = places.log
        self._said = places.data.with_name("said.txt")
        self._command = [
            sys.executable, "-c", _DAEMONS, "serve", str(places.vault),
            "--data-dir", str(places.data), "--log-level", "debug",
        ]  # fmt: skip
        self._makers: list[subprocess.Popen[str]] = []
        self._pid = 0

    def begin(self) -> None:
        """Starts one."""
        self.log.unlink(missing_ok=True)
        if not self._makers or not hasattr(os, "fork"):
            with self._said.open("ab") as errors:
                maker = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                    text=True,
                )  # fmt: skip
            self._makers.append(maker)
        stdin, stdout = self._makers[-1].stdin, self._makers[-1].stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("go\n")
        stdin.flush()
        self._pid = int(stdout.readline())

    def said(self) -> str:
        """The end of what the daemons said on standard error."""
        return self._said.read_text("utf-8")[-2000:]

    def alive(self) -> bool:
        """Whether the daemon runs."""
        return psutil.pid_exists(self._pid)

    def close(self) -> None:
        """Leaves no process behind."""
        if self._pid and self.alive():
            psutil.Process(self._pid).kill()
        for maker in self._makers:
            maker.kill()
            maker.communicate(timeout=30)

    def activities(self) -> list[tuple[bool, str]]:
        """(over, activity) of every line about one, oldest first."""
        try:
            said = self.log.read_text("utf-8")
        except FileNotFoundError:
            return []
        return [(bool(m[1]), m[2]) for m in _LINE.finditer(said)]

    def wait_for(self, activity: str) -> bool:
        """Whether it was seen to begin, by a reader that looks every other millisecond."""
        end, size = time.monotonic() + WAIT_S, 0
        while time.monotonic() < end:
            time.sleep(0.002)
            try:
                now = os.stat(self.log).st_size
            except FileNotFoundError:
                continue
            if now != size:
                size = now
                if any(name == activity for _, name in self.activities()):
                    return True
        return False

    def kill(self) -> str:
        """Kills it; inside which activity it was."""
        assert self.alive(), self.said()
        psutil.Process(self._pid).kill()  # SIGKILL, or TerminateProcess
        self._pid = 0
        if hasattr(os, "fork"):
            stdout = self._makers[-1].stdout
            assert stdout is not None
            assert stdout.readline() == "gone\n"
        else:
            self._makers[-1].wait(timeout=30)
        seen = self.activities()
        return "between" if not seen or seen[-1][0] else seen[-1][1]


class Kills:
    """Kills daemons of one vault and compares what the next start makes of it."""

    def __init__(self, vault: Path, data: Path, settings: Settings, seed: int) -> None:
        self.places = places_for(open_vault(vault), data)
        save_settings(self.places, settings)
        self.settings = settings
        self.dice = random.Random(seed)
        self.histogram: Counter[str] = Counter()
        self.lasted: dict[str, list[float]] = defaultdict(lambda: [0.004])
        for n in range(NOTES):
            (vault / f"笔记{n}.md").write_text(text(self.dice), "utf-8")

    def run(self, times: int, least: int) -> None:
        """Kills so many times; afterwards at least `least` kills fell inside each activity."""
        victims = Victims(self.places)
        try:
            for n in range(times):
                wanted = self._rarest() if n % 6 else ""
                self._write_while_off()
                victims.begin()
                self._kill(victims, wanted)
                self._check_next_start(n)
                if n % 10 == 9:
                    print(f"\n{n + 1} kills, inside: {dict(self.histogram)}", flush=True)
        finally:
            victims.close()
        print(f"\nkills inside: {dict(self.histogram)}")
        assert sum(self.histogram.values()) == times
        assert all(self.histogram[activity] >= least for activity in ACTIVITIES), self.histogram

    def _rarest(self) -> str:
        return min(ACTIVITIES, key=lambda activity: (self.histogram[activity], activity))

    def _write_while_off(self) -> None:
        writer = Writer(self.places.vault, self.dice)
        for _ in range(12):
            writer.step()

    def _kill(self, victims: Victims, wanted: str) -> None:
        writer = Writer(self.places.vault, self.dice)
        writer.start()
        try:
            victims.wait_for(
                wanted or "merging"
            )  # on a slow machine it may not come: then as it is
            typical = statistics.median(self.lasted[wanted]) if wanted else 1.0
            delay = self.dice.uniform(0, typical)
            time.sleep(delay)
            inside = victims.kill()
        finally:
            writer.ending.set()
            writer.join()
        self.histogram[inside] += 1
        if wanted:  # learns how long the activity lasts here: longer if the kill still fell inside
            self.lasted[wanted].append(delay * 1.5 + 0.001 if inside == wanted else delay * 0.7)

    def _check_next_start(self, n: int) -> None:
        try:
            engine = Engine.open(self.places.vault, data_dir=self.places.data)
            try:
                assert engine.no_vectors == ""
                engine.sync()
                followed = engine._catalog.graph.counts()
                # What a daemon does a minute later (`clean_up` says why).
                upkeep.clean_up(engine._tables._open_tables(), 0.001)
            finally:
                engine.close()
            vault, data = self.places.vault, self.places.data
            found = rows_on_disk(vault, data, self.settings)
            check_same(found, fresh_rows(vault, self.settings))
            assert followed == found["things"] != {}
            assert len(found["notes"]) == len(list(vault.rglob("*.md")))
            check_nothing_half_written(data)
        except BaseException:
            print(f"\nafter kill {n}: {dict(self.histogram)}")
            raise


@pytest.fixture
def vault(tmp_path: Path, isolated_home: Path) -> Path:
    del isolated_home  # settings and log of its own
    folder = tmp_path / "忙 vault"
    folder.mkdir()
    return folder


def quick_settings(model: str) -> Settings:
    return Settings(embedding_model=model, debounce_ms=10, debounce_ceiling_ms=50, graph=True)


def test_killed_a_dozen_times_it_equals_a_fresh_index(vault: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "tiny", pooling="mean")
    kills = Kills(vault, tmp_path / "data", quick_settings(str(model)), seed=5)
    kills.run(12, least=1)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_killed_200_times_it_equals_a_fresh_index(vault: Path, tmp_path: Path, part: int) -> None:
    """Eight times 25, each on its own: what was interrupted goes on with the next part."""
    model = write_model(tmp_path / "tiny", pooling="mean")
    kills = Kills(vault, tmp_path / "data", quick_settings(str(model)), seed=6 + part)
    kills.run(25, least=3)

"""`sidelight tune` on the sample vault: orders offline as the engine would, and writes when told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidelight.cli.commands import commands
from sidelight.config import FUSIONS, Settings, load_settings, save_settings
from sidelight.engine import Engine
from sidelight.evaluation.laboratory import chosen
from sidelight.evaluation.metrics import note_ranking
from sidelight.evaluation.recollection import recollect
from sidelight.evaluation.topics import Topic, read_topics
from sidelight.evaluation.tuning import DEEPEST
from sidelight.types import Origin, SearchRequest


@pytest.fixture
def engine(tmp_path: Path, isolated_home: Path, sample_vault: Path) -> Iterator[Engine]:
    opened = Engine.open(sample_vault, data_dir=tmp_path / "index", lexical_only=True)
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


@pytest.fixture
def queries(sample_vault: Path) -> Path:
    return sample_vault.parent / "queries.jsonl"


def as_shown(engine: Engine, topic: Topic, settings: Settings) -> list[str]:
    engine.settings = settings
    asked = SearchRequest(text=topic.query, limit=1_000, per_note=1, gate=False)
    shown = engine.search(asked).results
    return note_ranking((r.path for r in shown if r.origin is Origin.DIRECT), topic.also)


@pytest.mark.parametrize(
    "settings",
    [Settings(), Settings(rrf_k=10), Settings(words_worth=0.2), Settings(pool=10)],
    ids=["defaults", "k", "words", "pool"],
)
def test_what_is_ordered_offline_is_what_the_engine_shows(
    engine: Engine, queries: Path, settings: Settings
) -> None:
    topics = [topic for topic in read_topics(queries) if topic.answerable]
    assert {topic.language for topic in topics} >= {"zh", "en"}
    engine.settings = replace(Settings(), pool=DEEPEST)
    found = recollect(engine, topics)
    assert len(found) == len(topics)
    for recollection in found:
        shown = as_shown(engine, recollection.topic, settings)
        ordered = [p for p in recollection.notes(settings) if "sync-conflict" not in p]
        shown = [p for p in shown if "sync-conflict" not in p]  # moved behind their originals
        assert ordered[:10] == shown[:10], recollection.topic.query


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_recipe_of_the_laboratory_orders_as_the_engine_does_when_it_is_set(
    engine: Engine, queries: Path, fusion: str
) -> None:
    topics = [topic for topic in read_topics(queries) if topic.answerable]
    (recipe,) = chosen([fusion])
    differs = 0
    for recollection in recollect(engine, topics):
        shown, default = (
            [p for p in as_shown(engine, recollection.topic, one) if "sync-conflict" not in p]
            for one in (Settings(fusion=fusion), Settings())
        )  # copies are moved behind their originals
        ordered = [p for p in recipe.notes(recollection) if "sync-conflict" not in p]
        assert ordered[:10] == shown[:10], recollection.topic.query
        differs += shown[:10] != default[:10]
    assert (differs > 0) == (fusion != Settings().fusion)


def test_eval_compares_recipes_beside_the_default(engine: Engine, queries: Path) -> None:
    engine.close()
    arguments = ["eval", str(engine.vault), str(queries), "--data-dir", str(engine.places.data)]
    run = CliRunner().invoke
    asked = [*arguments, "--recipe", "rrf_plain", "--recipe", "min_max=0.5"]
    document = json.loads(run(commands, [*asked, "--json"]).stdout)
    assert list(document["recipes"]) == ["evidence", "rrf_plain=60", "min_max=0.5"]
    assert "sum of 1 / (k + rank)" in run(commands, asked).stdout
    refused = run(commands, [*arguments, "--recipe", "borda"])
    assert "There is no recipe named 'borda'" in str(refused.exception)


def test_the_command_writes_only_when_told_and_only_what_changes(
    engine: Engine, queries: Path
) -> None:
    places = engine.places
    save_settings(places, Settings(rrf_k=30, bm25_b=0.5))
    engine.close()
    arguments = ["tune", str(engine.vault), str(queries), "--data-dir", str(places.data)]
    run = CliRunner().invoke
    document = json.loads(run(commands, [*arguments, "--json"]).stdout)
    assert document["questions"] == 32
    assert document["now"]["rrf_k"] == 30
    assert document["keeps_defaults"] is True
    assert document["changes"] == {"rrf_k": 60}
    plain = run(commands, arguments)
    assert plain.exit_code == 0, plain.output
    assert "Nothing was written; --apply would set rrf_k 60." in plain.stdout
    assert load_settings(places) == Settings(rrf_k=30, bm25_b=0.5)
    assert "Set: rrf_k 60." in run(commands, [*arguments, "--apply"]).stdout
    assert load_settings(places) == Settings(bm25_b=0.5)
    assert "already so" in run(commands, [*arguments, "--apply"]).stdout


def test_too_few_questions_leave_with_one_line(
    engine: Engine, queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from sidelight.cli.commands import main

    few = tmp_path / "few.jsonl"
    few.write_text("\n".join(queries.read_text("utf-8").split("\n")[:8]), encoding="utf-8")
    arguments = ["tune", str(engine.vault), str(few), "--data-dir", str(engine.places.data)]
    monkeypatch.setattr("sys.argv", ["sidelight", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    said = capsys.readouterr().err.strip().split("\n")[-1]
    assert "too few" in said
    assert "Traceback" not in said

"""A context out of a vault on disk: pieces, budget, sections, refusals; in both languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidelight.bridge.wire import pack_json
from sidelight.cli.commands import commands
from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import ModelError, UsageError
from sidelight.models.tokens import count_bytes, estimate, token_counter
from sidelight.types import CitationStatus, Pack, PackRequest

SECTION = "\n\n".join(
    f"Step {n} of the glaze firing: hold the kiln for {n} hours." for n in range(9)
)
NOTES = {
    "Kiln.md": f"# Kiln\n\nThe kiln stands in the yard.\n\n## Glaze firing\n\n{SECTION}\n\n## Shelves\n\nThree.\n",
    "Copy.md": "# Copy\n\nThe kiln stands in the yard.\n",
    "窑炉.md": "# 窑炉\n\n釉烧要慢：窑炉升温三小时。\n\n## 保温\n\n保温两小时，再关火。\n",
    "陶土.md": "# 陶土\n\n陶土要陈腐半年，釉烧前先素烧。\n",
    "Long.md": "# Long\n\n" + "\n".join(f"line {n} about bisque ware and cones" for n in range(80)) + "\n",
    "Empty kiln.md": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pack") / "vault"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode("utf-8"))
    return root


@pytest.fixture(scope="module")
def engine(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = Engine.open(
        vault,
        data_dir=tmp_path_factory.mktemp("data"),
        lexical_only=True,
        settings=Settings(gate_strictness="lenient"),
    )
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def pack(engine: Engine, text: str, **options: object) -> Pack:
    options.setdefault("tokenizer", "estimate")
    return engine.pack(PackRequest(text, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "path", "holds"),
    [("glaze firing kiln", "Kiln.md", "hold the kiln"), ("釉烧 窑炉 升温", "窑炉.md", "三小时")],
)
def test_pieces_are_numbered_with_their_lines(
    engine: Engine, query: str, path: str, holds: str
) -> None:
    result = pack(engine, query)
    assert result.ok
    first = result.pieces[0]
    assert (first.number, first.path, first.citation.status) == (1, path, CitationStatus.FRESH)
    assert holds in result.text
    lines = NOTES[path].split("\n")
    assert first.citation.start_line is not None
    assert "\n".join(lines[first.citation.start_line - 1 : first.citation.end_line]) == first.text
    assert f'<note n="1" at="{path}:{first.citation.start_line}-' in result.text


def test_a_passage_grows_to_its_section_where_there_is_room(engine: Engine) -> None:
    wide = pack(engine, "bisque ware cones", budget=4_000)
    narrow = pack(engine, "bisque ware cones", budget=4_000, widen=False)
    assert [p.scope for p in wide.pieces if p.path == "Long.md"] == ["section"]
    assert all(p.scope == "passage" for p in narrow.pieces)
    assert wide.pieces[0].text == NOTES["Long.md"].rstrip("\n")


def test_what_another_passage_says_is_left_out_and_named(engine: Engine) -> None:
    result = pack(engine, "kiln stands in the yard")
    paths = [p.path for p in result.pieces]
    assert ("Copy.md" in paths) != (
        "Kiln.md" in [p.path for p in result.pieces if "yard" in p.text]
    )
    assert [one.why for one in result.left_out if one.path in ("Copy.md", "Kiln.md")] == [
        "duplicate"
    ]


@pytest.mark.parametrize("query", ["bisque ware cones", "釉烧 陶土"])
@pytest.mark.parametrize("budget", [0, 1, 50, 300, 1_000_000])
def test_budgets_of_any_size_hold(engine: Engine, query: str, budget: int) -> None:
    result = pack(engine, query, budget=budget)
    assert result.ok
    assert result.tokens == estimate(result.text) <= budget
    if budget == 0:
        assert result.text == ""
        assert {one.why for one in result.left_out} == {"budget"}
    if budget == 50:
        assert result.pieces  # a part of a passage, where none fits whole


def test_too_long_a_passage_gives_the_lines_around_its_best_one(engine: Engine) -> None:
    (piece,) = pack(engine, "bisque cones", budget=60).pieces
    assert piece.scope == "part"
    assert "bisque ware" in piece.text


@pytest.mark.parametrize("query", ["quantum chromodynamics lattice", "量子色动力学"])
def test_no_evidence_makes_no_context(engine: Engine, query: str) -> None:
    result = pack(engine, query)
    assert (result.ok, result.text, result.pieces) == (False, "", ())
    assert result.reasons
    assert pack_json(result)["code"] == "RAG_NO_EVIDENCE"


def test_a_note_written_since_the_search_is_not_widened(engine: Engine, vault: Path) -> None:
    note = vault / "陶土.md"
    try:
        note.write_text("新的第一行\n\n" + NOTES["陶土.md"], "utf-8")
        (piece,) = [p for p in pack(engine, "陶土 陈腐").pieces if p.path == "陶土.md"]
        assert piece.citation.status is CitationStatus.SOURCE_CHANGED
        lines = note.read_text("utf-8").split("\n")
        start, end = piece.citation.start_line, piece.citation.end_line
        assert start is not None
        assert "\n".join(lines[start - 1 : end]) == piece.text
        assert 'status="source_changed"' in pack(engine, "陶土 陈腐").text
    finally:
        note.write_text(NOTES["陶土.md"], "utf-8")


@pytest.mark.parametrize(
    "wrong", [{"budget": -1}, {"pieces": 0}, {"per_note": 0}, {"diversity": 2}]
)
def test_wrong_numbers_are_refused(engine: Engine, wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        pack(engine, "kiln", **wrong)


def test_tokenizers_have_names(tmp_path: Path) -> None:
    assert token_counter("bytes", None).count("窑a") == 4
    assert estimate("窑炉 kilns, ERR_1") == 2 + 2 + 1 + 1 + 1 + 1
    assert count_bytes("") == estimate("") == 0
    with pytest.raises(UsageError, match="no such file"):
        token_counter(str(tmp_path / "none.json"), None)
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError):
        token_counter(str(tmp_path / "tokenizer.json"), None)


def test_without_a_model_bytes_count_and_it_is_said(isolated_home: Path) -> None:
    assert token_counter("", None).name == "bytes"
    with pytest.raises(ModelError, match="not built"):
        token_counter("model", None)


def test_the_whole_vault_is_given_in_order_and_within_the_budget(engine: Engine) -> None:
    whole = engine.pack_all(100_000, "estimate")
    assert whole.left_out == ()
    assert whole.notes == len([text for text in NOTES.values() if text])
    assert whole.tokens == estimate(whole.text)
    for text in NOTES.values():
        assert text.rstrip("\n") in whole.text
    small = engine.pack_all(400, "estimate")
    assert small.tokens <= 400
    assert "Long.md" in small.left_out
    assert small.total_tokens > 400


def test_the_command_prints_the_context_and_remarks_apart(engine: Engine, vault: Path) -> None:
    data = str(engine.places.data)
    run = CliRunner().invoke
    plain = run(
        commands, ["pack", str(vault), "釉烧 窑炉", "--data-dir", data, "--tokenizer", "bytes"]
    )
    assert plain.exit_code == 0, plain.output
    assert plain.stdout.startswith('<note n="1"')
    assert "tokens (bytes)" in plain.stderr
    arguments = ["pack", str(vault), "kiln", "--data-dir", data, "--json", "--budget", "120"]
    answer = json.loads(run(commands, arguments).stdout)
    assert answer["tokens"] <= answer["budget"] == 120
    everything = run(commands, ["pack", str(vault), "--all", "--data-dir", data])
    assert "Three." in everything.stdout
    assert run(commands, ["pack", str(vault), "--data-dir", data]).exit_code == 2


BEST = {
    "Raku.md": "# Raku\n\nRaku ware raku ware.\n" + "Raku ware is smoked in sawdust for an hour.\n" * 12,
    "Tag.md": "# Tag\n\nraku\n",
    "乐烧.md": "# 乐烧\n\n乐烧乐烧。\n" + "乐烧出窑以后放进木屑里熏一个小时。\n" * 12,
    "签.md": "# 签\n\n乐烧\n",
}  # fmt: skip


@pytest.mark.parametrize(("query", "path"), [("raku ware", "Raku.md"), ("乐烧 木屑", "乐烧.md")])
def test_a_best_passage_that_is_too_long_is_cut_before_a_weak_one_takes_its_place(
    tmp_path: Path, query: str, path: str
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in BEST.items():
        (vault / name).write_text(text, "utf-8")
    settings = Settings(gate_strictness="off")
    opened = Engine.open(
        vault, data_dir=tmp_path / "data", lexical_only=True, settings=settings
    )  # fmt: skip
    opened.sync(lexical_only=True)
    try:
        whole = pack(opened, query, budget=4_000)
        assert whole.pieces[0].path == path
        small = pack(opened, query, budget=70)
    finally:
        opened.close()
    assert (small.pieces[0].path, small.pieces[0].scope) == (path, "part")
    assert estimate(small.text) == small.tokens <= 70


@pytest.mark.parametrize("part", ["quantum chromodynamics lattice", "量子色动力学 格点"])
def test_the_command_names_a_part_without_evidence(vault: Path, tmp_path: Path, part: str) -> None:
    data = tmp_path / "data"
    index = ["index", str(vault), "--data-dir", str(data), "--lexical-only"]
    assert CliRunner().invoke(commands, index).exit_code == 0
    asked = ["pack", str(vault), "kiln yard 窑炉 升温", "--mode", "coverage", "--sub-query", part]
    done = CliRunner().invoke(commands, [*asked, "--data-dir", str(data), "--tokenizer", "bytes"])
    assert done.exit_code == 0, done.output
    assert f"(Nothing in the vault answers: {part})" in done.stderr
    assert "Nothing in the vault" not in done.stdout

"""The documentation agrees with the code, with itself, and in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import platformdirs.macos
import platformdirs.unix
import pytest

from sidelight.cli.commands import commands
from sidelight.config import Settings, settings_from
from sidelight.errors import UsageError
from sidelight.query import evidence

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
PAIRS = [
    ("README.md", "docs/README.zh.md"),
    ("docs/search.md", "docs/search.zh.md"),
    ("docs/sidebar.md", "docs/sidebar.zh.md"),
    ("docs/graph.md", "docs/graph.zh.md"),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = ("sidelight ", "python3 ", "npm ", "pipx ", "uv ", "docs/", "scripts/", "obsidian-")


def read(name: str | Path) -> str:
    return (ROOT / name).read_text("utf-8")


def prose(text: str) -> str:
    return FENCE.sub("", text)


def headings(text: str) -> list[tuple[int, str]]:
    found = re.finditer(r"^(#+) (.+)$", prose(text), re.MULTILINE)
    return [(len(m[1]), m[2].strip()) for m in found]


def inline_code(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(text))


def code_lines(text: str) -> list[str]:
    return [line.strip() for _, code in FENCE.findall(text) for line in code.split("\n")]


def rows(text: str) -> list[list[str]]:
    """Cells of every table row, without the rulers."""
    lines = [line for line in prose(text).split("\n") if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in lines
        if not line.startswith("| ---")
    ]


def anchor(heading: str) -> str:
    """The fragment that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def relative_links(page: Path) -> Iterator[tuple[str, str]]:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text("utf-8"))):
        if not re.match(r"[a-z]+:", target):
            path, _, fragment = unquote(target).partition("#")
            yield path, fragment


# --------------------------------------------------------------------------- links


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    for path, fragment in relative_links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if fragment:
            anchors = {anchor(text) for _, text in headings(target.read_text("utf-8"))}
            assert fragment in anchors, f"{page.name} links to {path}#{fragment}"


# --------------------------------------------------------------------------- two languages


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_chinese_page_has_the_same_parts(english: str, chinese: str) -> None:
    one, other = read(english), read(chinese)
    assert [level for level, _ in headings(one)] == [level for level, _ in headings(other)]
    assert FENCE.findall(one) == FENCE.findall(other)
    assert [len(row) for row in rows(one)] == [len(row) for row in rows(other)]
    assert len(re.findall(r"^- ", one, re.M)) == len(re.findall(r"^- ", other, re.M))


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_chinese_page_names_the_same_commands(english: str, chinese: str) -> None:
    def commands(text: str) -> set[str]:
        return {code for code in inline_code(text) if code.startswith(COMMANDS)}

    assert commands(read(english)) == commands(read(chinese))


def test_search_pages_show_the_same_operators() -> None:
    def operators(text: str) -> list[str]:
        found = [re.findall(r"-?[a-z]+:|OR|\[\"|/ERR|^`-?\"|^`-", row[0]) for row in rows(text)]
        return [operator for row in found for operator in row]

    assert operators(read("docs/search.md")) == operators(read("docs/search.zh.md"))
    assert {"path:", "file:", "tag:", "line:", "section:", "after:", "before:", "OR"} <= set(
        operators(read("docs/search.md"))
    )


@pytest.mark.parametrize("chinese", [pair[1] for pair in PAIRS])
def test_chinese_prose_is_chinese(chinese: str) -> None:
    text = "".join(re.sub(r"`[^`]*`|\([^)]*\)", "", prose(read(chinese))).split())
    assert len(re.findall(r"[\u4e00-\u9fff，。：；、（）“”]", text)) > 0.55 * len(text)


# --------------------------------------------------------------------------- settings


def settings_table() -> dict[str, list[str]]:
    table = rows(read("docs/settings.md"))
    return {row[0].strip("`"): row[1:] for row in table if row[0].startswith("`")}


def test_settings_page_lists_every_setting_in_order_with_its_default() -> None:
    table = settings_table()
    assert list(table) == [field.name for field in fields(Settings)]
    for name, (default, _, meaning) in table.items():
        value = getattr(Settings(), name)
        value = list(value) if isinstance(value, tuple) else value
        assert json.loads(default.strip("`")) == value, name
        assert meaning


def test_settings_page_tells_the_allowed_values() -> None:
    for name, (_, allowed, _) in settings_table().items():
        numbers = re.fullmatch(r"([\d,.]+) to ([\d,.]+)", allowed)
        default = getattr(Settings(), name)
        if numbers is None:
            assert not isinstance(default, int | float) or isinstance(default, bool), name
            continue
        low, high = (float(number.replace(",", "")) for number in numbers.groups())
        for value in (low, high):
            assert getattr(settings_from({name: value}), name) == value
        for value in (low - 1, high + 1):
            with pytest.raises(UsageError):
                settings_from({name: value})


def test_settings_page_tells_the_choices() -> None:
    allowed = settings_table()["gate_strictness"][1]
    for choice in re.findall(r"`(\w+)`", allowed):
        assert settings_from({"gate_strictness": choice}).gate_strictness == choice
    with pytest.raises(UsageError, match=", ".join(re.findall(r"`(\w+)`", allowed))):
        settings_from({"gate_strictness": "sometimes"})


def test_settings_example_is_accepted() -> None:
    examples = [text for kind, text in FENCE.findall(read("docs/settings.md")) if kind == "json"]
    assert [settings_from(json.loads(text)) for text in examples] != [Settings()]


# --------------------------------------------------------------------------- files and messages


def test_readme_names_the_folders_of_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA_HOME", "CONFIG_HOME", "CACHE_HOME", "STATE_HOME", "RUNTIME_DIR"):
        monkeypatch.delenv(f"XDG_{name}", raising=False)
    table = {row[0]: row[1:3] for row in rows(read("README.md"))}
    systems = (
        platformdirs.unix.Unix("sidelight", False),
        platformdirs.macos.MacOS("sidelight", False),
    )
    for column, dirs in enumerate(systems):
        expected = {
            "index": f"{dirs.user_data_dir}/vaults",
            "settings": f"{dirs.user_config_dir}/vaults",
            "models": f"{dirs.user_cache_dir}/models",
            "log": dirs.user_log_dir,
        }
        for what, folder in expected.items():
            named = Path(table[what][column].strip("`")).expanduser()
            assert named == Path(folder), what
    mac = table["discovery file (address and token)"][1].strip("`")
    assert Path(mac).expanduser() == Path(systems[1].user_runtime_dir)


def test_readme_lists_every_command() -> None:
    table = [row[0] for row in rows(read("README.md")) if row[0].startswith("`sidelight ")]
    listed = {cell.strip("`").split()[1] for cell in table}
    assert listed == set(commands.commands)


def test_commands_in_the_pages_exist() -> None:
    for page in PAGES:
        spans = [*inline_code(page.read_text("utf-8")), *code_lines(page.read_text("utf-8"))]
        for words in (span.split() for span in spans if re.match(r"sidelight [a-z]", span)):
            command: Any = commands.commands.get(words[1])
            assert command is not None, words
            if isinstance(command, click.Group) and len(words) > 2:
                command = command.commands.get(words[2])
                assert command is not None, words
            options = {name for parameter in command.params for name in parameter.opts}
            own = words[: words.index("--")] if "--" in words else words
            assert {word for word in own if word.startswith("--")} <= {*options, "--help"}, words


def test_quoted_messages_are_those_of_the_program() -> None:
    sources = [
        path.read_text("utf-8")
        for folder, pattern in (
            ("python/sidelight", "*.py"),
            ("scripts", "*.py"),
            ("obsidian-plugin/src", "*.ts"),
        )
        for path in (ROOT / folder).rglob(pattern)
    ]
    quoted = [
        text.strip('"“”')
        for page in ("README.md", "docs/README.zh.md")
        for _, text in headings(read(page))
        if text.startswith(('"', "“"))
    ]
    assert len(quoted) > 10
    for message in quoted:
        parts = [part.strip() for part in message.split("…") if part.strip()]
        assert any(all(part in source for part in parts) for source in sources), message


def test_ranking_page_gives_the_constants_of_the_code() -> None:
    page = read("docs/ranking.md")
    middle = re.search(r"middle\s+= ([\d.]+) \+ ([\d.]+) b$", page, re.MULTILINE)
    across = re.search(r"raised by ([\d.]+) where the two are in different languages", page)
    formula = re.search(
        r"sigmoid\(\(g - middle\) / ([\d.]+)\)\) \* \(1 - ([\d.]+) \* sigmoid\(\(t - ([\d.]+)\) / "
        r"([\d.]+)\)\) \* \(1 - ([\d.]+) \* c²\) \* \(1 - ([\d.]+) \* n²\)",
        page,
    )
    assert middle is not None
    assert formula is not None
    assert across is not None
    assert float(across[1]) == evidence.ACROSS
    assert tuple(map(float, middle.groups())) == (evidence.MIDDLE_START, evidence.MIDDLE_SHARE)
    assert tuple(map(float, formula.groups())) == (
        evidence.COSINE_SCALE,
        Settings().titles_worth,
        evidence.TITLE_MIDDLE,
        evidence.COSINE_SCALE,
        Settings().words_worth,
        evidence.NAME_WORTH,
    )


def test_architecture_is_short_and_names_only_what_exists() -> None:
    text = read("ARCHITECTURE.md")
    assert text.count("\n") < 150
    for name in inline_code(text):
        if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:py|ts|toml|md|json)|\w+/", name):
            places = (ROOT, ROOT / "python" / "sidelight", ROOT / "obsidian-plugin" / "src")
            assert any((place / name).exists() for place in places), name


def test_changelog_has_the_form_of_keep_a_changelog() -> None:
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    found = headings(read("CHANGELOG.md"))
    assert found[:2] == [(1, "Changelog"), (2, "[Unreleased]")]
    assert {text for level, text in found if level == 3} <= allowed
    for level, text in found[2:]:
        assert level == 3 or re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", text)

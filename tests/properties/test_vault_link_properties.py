"""Links that are written are found as written, and lead where a plain reading of the rules says."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.vault.links import LinkResolver, name_key, path_key, target_keys
from sidelight.vault.markdown import parse_note

# A busy machine is no fault of the code.
UNHURRIED = settings(deadline=None)
# Characters that no part of a link gives a meaning to, in several scripts.
WORD = st.text(
    st.sampled_from("abcXYZ 0129-_.,;'ß éü中文笔记日本語한국🎉"), min_size=1, max_size=10
).map(lambda text: text.strip() or "x")


@dataclass(frozen=True, slots=True)
class Written:
    """A link and what it must be read as."""

    text: str
    target: str
    subpath: str
    display: str | None
    embed: bool


@st.composite
def wikilinks(draw: st.DrawFn) -> Written:
    target, embed = draw(WORD), draw(st.booleans())
    subpath = draw(st.sampled_from(["", "#标题", "#A#B", "#^id-1"]))
    display = draw(st.one_of(st.none(), WORD))
    bar = "" if display is None else f"|{display}"
    return Written(f"{'!' * embed}[[{target}{subpath}{bar}]]", target, subpath, display, embed)


@st.composite
def markdown_links(draw: st.DrawFn) -> Written:
    target, embed = draw(WORD), draw(st.booleans())
    subpath = draw(st.sampled_from(["", "#标题", "#A b"]))
    display = draw(WORD)
    if draw(st.booleans()):
        destination = f"<{target}{subpath}>"
    else:
        destination = quote(target) + quote(subpath, safe="#")
    return Written(f"{'!' * embed}[{display}]({destination})", target, subpath, display, embed)


PLACES = (
    "{}",
    "text {} text",
    "# heading {}",
    "- item {}",
    "\t\n- [ ] 任务\n  继续 {}",
    "> [!note] 标注 {}",
    "> quote\n> {}",
    "%%\n注释 {}\n%%",
    "%% inline {} %%",
    "| a | {} |\n|---|---|",
    "[^1]: {}",
    "**{}**",
    "key:: {}",
)


@given(st.lists(st.tuples(st.one_of(wikilinks(), markdown_links()), st.sampled_from(PLACES))))
@settings(UNHURRIED, max_examples=300)
def test_links_found_are_the_links_rendered(parts: list[tuple[Written, str]]) -> None:
    text = "\n\n".join(place.format(_in_place(link, place)) for link, place in parts)
    found = parse_note("N.md", text.encode()).links
    assert [(f.target, f.subpath, f.display, f.embed) for f in found] == [
        (link.target, link.subpath, _shown(link), link.embed) for link, _ in parts
    ]
    for link in found:
        assert link.source_text in text
        assert link.source_text.replace("\\|", "|") in {written.text for written, _ in parts}


def _in_place(link: Written, place: str) -> str:
    return link.text.replace("|", "\\|") if place.startswith("|") else link.text


def _shown(link: Written) -> str | None:
    if link.display is None or link.text.lstrip("!").startswith("[["):
        return link.display
    return " ".join(link.display.split())


# ------------------------------------------------------------------------ resolution

NAME = st.sampled_from(
    ["a", "A", "b", "é", unicodedata.normalize("NFD", "é"), "笔记", "v1.2", "a.md"]
)
FOLDER = st.lists(st.sampled_from(["f", "F", "g", "日记", "long folder"]), max_size=3)
EXTENSION = st.sampled_from([".md", ".md", ".md", ".MD", ".canvas", ".png", ""])


@st.composite
def paths(draw: st.DrawFn) -> str:
    return "/".join([*draw(FOLDER), draw(NAME) + draw(EXTENSION)])


@st.composite
def targets(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["", "", "", "./", "../", "../../"]))
    return prefix + "/".join([*draw(FOLDER)[:2], draw(NAME) + draw(EXTENSION)])


def resolve_naively(files: list[str], target: str, source: str) -> str | None:
    """The rules of the conformance set, word by word, over all files."""
    folder = source.rpartition("/")[0]
    for name in (target, target + ".md"):
        if target.startswith(("./", "../")):
            parts = folder.split("/") if folder else []
            for part in name.split("/"):
                if part == ".." and not parts:
                    return None
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            exact = [f for f in files if name_key(f) == name_key("/".join(parts))]
            if exact:
                return min(exact)
            continue
        exact = [f for f in files if name_key(f) == name_key(name)]
        if exact:
            return min(exact)
        ending = [f for f in files if name_key(f).endswith("/" + name_key(name))]
        own = [f for f in ending if folder and name_key(f).startswith(name_key(folder) + "/")]
        if own or ending:
            shortest = min(own or ending, key=lambda f: (len(f), f))
            same = [f for f in own or ending if name_key(f) == name_key(shortest)]
            return min(same)
    return None


@given(st.lists(paths(), unique=True, max_size=12), targets(), paths(), st.randoms())
@settings(UNHURRIED, max_examples=500)
def test_resolver_follows_the_rules_after_any_order_of_changes(
    files: list[str], target: str, source: str, random: object
) -> None:
    resolver = LinkResolver(["gone/a.md", *reversed(files), "f/b.md"])
    for path in ("gone/a.md", "f/b.md", "never/there.md"):
        if path not in files:
            resolver.remove(path)
    found = resolver.resolve(target, source)
    assert _same_place(found) == _same_place(resolve_naively(files, target, source))
    if found is not None:
        assert found in files
        assert path_key(found) in target_keys(target)


def _same_place(path: str | None) -> str | None:
    return None if path is None else name_key(path)

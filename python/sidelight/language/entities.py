"""Which things does a passage speak of? The nodes of the graph of what notes mention together.

Names a person chose (link targets, tags, words of the user's own dictionary), identifiers,
Chinese nouns and runs of them by jieba's parts of speech, English names and the noun phrases that
an article announces. One note is looked at as a whole: a capital that stands in the middle of one
sentence makes the word a name in all of them. Knows no other note, so what a note speaks of never
depends on what was indexed before it. Counts nothing (`store/graph.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile, groupby, pairwise, takewhile

from sidelight.language.canonical import is_canonical_date
from sidelight.language.folding import fold, fold_case
from sidelight.language.generic_words import GENERIC, NO_NOUNS, NO_PART, NOT_NAMES
from sidelight.language.scripts import HAN_RUN, IDENTIFIER, KATAKANA_RUN
from sidelight.language.segmentation import segmenter
from sidelight.language.stemming import singular
from sidelight.language.stop_words import STOP_WORDS
from sidelight.language.user_words import UserWords

VERSION = 4  # a change asks for every note to be read again

MOST_WORDS = 4  # of an English name or phrase; longer ones are sentences
LONGEST = 30  # characters of a name that can stand for a thing
_MOST_HAN_WORDS = 3  # of a compound: 闭环 控制 系统
_LONGEST_HAN = 8
_ONE_CHARACTER = frozenset({"nr", "ng", "n", "k"})  # 潘(老师), (梧桐)巷: part of a compound only

_LINK = re.compile(r"!?\[\[([^\]|#\n]*)[^\]|\n]*(?:\|([^\]\n]*))?\]\]")
_TAG = re.compile(r"(?<!\S)#([^\s#,.;:!?，。；：！？、()（）\[\]]+)")
# What is no prose: fenced code, addresses, targets of Markdown links, HTML tags, comments, ids.
_CODE = re.compile(r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1|\Z)", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(
    r"\]\([^)\n]*\)|<[^>\n]{1,200}>|\b(?:https?|file|obsidian)://\S+|%%.*?%%"
    r"|(?<!\S)\^[A-Za-z0-9-]+(?=\s|$)|[🆔⛔]\ufe0f?[ ]*[\w,-]+",  # block ids, ids of tasks
    re.S,
)
_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?:*_>\"]+(?=\s|$|\W)|[\n|。！？：；“”()\[\]{}]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|[^\sA-Za-z]+")
_DETERMINERS = frozenset(("the", "a", "an", "this", "that", "your", "my", "our", "each", "every"))
# What may follow a noun phrase: a verb would leave it open where the phrase ends.
_AFTER_NOUN = frozenset(
    ("of", "in", "on", "for", "with", "and", "or", "to", "at", "from", "by", "as", "is", "are")
)
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = re.compile(r"[\d\W_]+")
_UNIT = re.compile(r"\d+[a-z]{1,2}", re.IGNORECASE)  # 2nd, 20px
_HASH = re.compile(r"(?=[a-z]*\d)[0-9a-f]{6,}")  # also a colour
_FILE = re.compile(r"\.(?:md|png|jpe?g|gif|svg|webp|pdf)$", re.IGNORECASE)
# A word that the dictionary does not know and that begins or ends like this was cut wrongly:
# 刚|入局, 要花|点, 上课|时.
_CUT_BEFORE = frozenset(
    "刚更要发开买很不再就都还又只会能可想去来到把被给让做看说没有多我你他她它这那并而或与和之"
)
_CUT_AFTER = frozenset("时会里都了着得地也是的用加")


@lru_cache(maxsize=200_000)
def entity_key(label: str) -> str:
    """The form under which spellings of one thing meet; `label` is folded, in its own case."""
    words = fold_case(label).split()
    if words and words[-1].isascii() and words[-1].isalpha() and len(words[-1]) > 3:
        words[-1] = singular(words[-1])
    return " ".join(words)


def chosen_name(name: str) -> str:
    """A title, alias or tag as an entity; "" if it names no thing (a date, a sentence, "and")."""
    folded = " ".join(fold(name).text.split()).strip(" `'\"\\")
    plain = _NUMBER.sub("", folded)
    key = entity_key(folded)
    if len(folded) > LONGEST or len(plain) < 2 or key in GENERIC:
        return ""
    return "" if all(word in STOP_WORDS for word in key.split()) else folded


def entities_of(
    title: str, names: Sequence[str], texts: Sequence[str], user_words: UserWords
) -> list[tuple[str, ...]]:
    """The things each passage of one note speaks of: folded, in their own case, each once, sorted.

    Args:
        title: of the note; every passage speaks of it.
        names: its aliases and tags; its first passage speaks of them.
        texts: its passages, with their Markdown.
        user_words: the user's own dictionary.
    """
    prose, heads = [_Prose(text) for text in texts], _Prose(title)
    known = {word for one in prose for word in one.names()} | heads.title_names(prose)
    han = frozenset(heads.new_words())
    of_title = [chosen_name(title), *heads.chinese(han), *heads.identifiers()]
    found = []
    for at, one in enumerate(prose):
        labels = [*of_title, *one.chosen, *one.identifiers(), *one.chinese(han)]
        labels += [*one.english(known), *(map(chosen_name, names) if at == 0 else ())]
        labels += [term.replace("\u2423", " ") for term, _, _ in user_words.find(one.text)]
        by_key = {entity_key(label): label for label in sorted(labels, reverse=True)}
        found.append(tuple(sorted(label for key, label in by_key.items() if key)))
    return found


class _Prose:
    """One passage without its markup, and the names its links and tags already give."""

    def __init__(self, markdown: str) -> None:
        folded = fold(_NOT_PROSE.sub(" ", markdown)).text
        chosen = [m[1].rpartition("/")[2].removesuffix(".md") for m in _LINK.finditer(folded)]
        chosen += [m[1].rpartition("/")[2] for m in _TAG.finditer(folded)]
        self.chosen = [name for one in chosen if (name := chosen_name(one))]
        self.text = _LINK.sub(lambda m: f" {m[2] or m[1]} ", _TAG.sub(" ", folded))
        self._plain = _CODE.sub("\n", self.text)
        self._body = _HEADING.sub("\n", self._plain)
        self._sentences = [
            words for part in _SENTENCE.split(self._body) if (words := _WORD.findall(part))
        ]

    def names(self) -> Iterator[str]:
        """Words with a capital in the middle of a sentence, where the one before has none."""
        for words in self._sentences:
            for before, word in pairwise(words):
                if word[0].isupper() and _goes_on(before) and _is_name(word):
                    yield word

    def title_names(self, body: Sequence[_Prose]) -> set[str]:
        """Of a title: words with a capital that stand in the text, and never without it."""
        words = {word for one in body for words in one._sentences for word in words}
        own = {word for words in self._sentences for word in words if word[0].isupper()}
        return {w for w in own & words if _is_name(w) and w.lower() not in words}

    def new_words(self) -> Iterator[str]:
        """Han words that the dictionary does not know: names and terms that were made up."""
        for match in HAN_RUN.finditer(self._plain):
            for word, flag in segmenter().tags(match.group()):
                coined = len(word) > 1 and not segmenter().knows(word)
                if coined and flag[0] in "nv" and not _cut_wrongly(word):
                    yield word

    def english(self, names: set[str]) -> Iterator[str]:
        """Names, and noun phrases between an article and a preposition."""
        if not any(c.isascii() and c.isalpha() for c in self._body):
            return
        for words in self._sentences:
            yield from _capitalised(words, names)
            yield from _announced(words)

    def identifiers(self) -> Iterator[str]:
        """Names of programs and parts: with digits, underscores, inner capitals, or all capitals."""
        for match in IDENTIFIER.finditer(self._plain):
            word = match.group().strip("_.-")
            word = _FILE.sub("", word)
            if _is_identifier(word):
                yield word

    def chinese(self, new: frozenset[str]) -> Iterator[str]:
        """Nouns and runs of nouns; `new` are words that the note's title makes one."""
        for match in HAN_RUN.finditer(self._plain):
            yield from _han_nouns(match.group(), new)
        for match in KATAKANA_RUN.finditer(self._plain):
            if len(match.group()) > 2:
                yield match.group()


def _han_nouns(run: str, new: frozenset[str]) -> Iterator[str]:
    tagged = segmenter().tags(run)
    for is_noun, group in groupby(tagged, key=lambda pair: pair[0] in new or _may_compound(*pair)):
        if not is_noun:
            continue
        words = [word for word, _ in group]
        whole = "".join(words)
        compound = 1 < len(words) <= _MOST_HAN_WORDS and 2 < len(whole) <= _LONGEST_HAN
        if compound and whole not in GENERIC and not all(word in GENERIC for word in words):
            yield whole
        yield from (word for word in words if len(word) > 1 and word not in GENERIC)


def _may_compound(word: str, flag: str) -> bool:
    if len(word) == 1:
        return flag in _ONE_CHARACTER and word not in GENERIC and not word.isascii()
    if word in NO_NOUNS or _cut_wrongly(word):
        return False
    return flag[0] == "n" or flag in ("vn", "j")


def _cut_wrongly(word: str) -> bool:
    odd = word[0] in _CUT_BEFORE or word[-1] in _CUT_AFTER
    return odd and not segmenter().knows(word)


def _capitalised(words: Sequence[str], names: set[str]) -> Iterator[str]:
    """Runs of words that are names; the first word of a sentence only if it is one elsewhere."""
    run: list[str] = []
    for word in [*words, "."]:
        named = word[0].isupper() and _is_name(word)
        if named and (word in names or bool(run)):
            run.append(word)
            continue
        if 0 < len(run) <= MOST_WORDS:
            yield " ".join(run)
        run = []


def _announced(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word.lower() not in _DETERMINERS:
            continue
        following = words[index + 1 : index + 6]
        phrase = list(takewhile(lambda w: w.isalpha() and w.lower() not in STOP_WORDS, following))
        after = words[index + 1 + len(phrase) :][:1]
        closed = not after or after[0].lower() in _AFTER_NOUN or not after[0][0].isalnum()
        phrase = list(dropwhile(lambda w: w.lower() in NO_PART, phrase))
        if closed and len(phrase) in (2, 3) and all(map(_may_be_part, phrase)):
            yield " ".join(phrase)


def _may_be_part(word: str) -> bool:
    lower = word.lower()
    part = word.isascii() and len(word) > 2 and lower not in NO_PART and lower not in NOT_NAMES
    return part and not word.endswith(("ly", "ing", "ed"))


def _goes_on(before: str) -> bool:
    """Whether a sentence is under way after this word or mark: a capital then makes a name."""
    return before in (",", ";") or (before[0].isalpha() and not before[0].isupper())


def _is_name(word: str) -> bool:
    lower = word.lower()
    plain = len(word) > 2 and "'" not in word and "’" not in word and word[1:].islower()
    return plain and lower not in STOP_WORDS and lower not in NOT_NAMES


def _is_identifier(word: str) -> bool:
    if not 2 <= len(word) <= LONGEST or "/" in word or "'" in word or "," in word:
        return False
    letters = sum(c.isalpha() for c in word)
    lower = word.lower()
    if letters < 2 or is_canonical_date(word) or lower in NOT_NAMES or _HASH.fullmatch(word):
        return False
    if word[0].isdigit() and (_UNIT.fullmatch(word) or 2 * letters < len(word)):
        return False  # 20px, 120g-200g
    if word.isalpha():
        return (word.isupper() and lower not in STOP_WORDS) or bool(_CAMEL.search(word))
    return any(c.isdigit() for c in word) or "_" in word or bool(_CAMEL.search(word))


def spans_of(text: str) -> Iterable[str]:
    """Every piece of a question that could be an entity's key, longer ones first.

    Up to `MOST_WORDS` words of an alphabet, identifiers among them, and 2 to 8 characters of Han.
    """
    folded = fold(text).text
    words = IDENTIFIER.findall(folded)
    pieces = [
        entity_key(" ".join(words[start:end]))
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + MOST_WORDS) + 1)
    ]
    for match in HAN_RUN.finditer(folded):
        run = match.group()
        pieces += [
            run[start : start + size]
            for size in range(2, _LONGEST_HAN + 1)
            for start in range(len(run) - size + 1)
        ]
    pieces += KATAKANA_RUN.findall(folded)
    return sorted(dict.fromkeys(p for p in pieces if p), key=lambda piece: (-len(piece), piece))

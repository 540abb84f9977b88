"""Which language is a text written in?

Scripts decide where they can; texts in Latin letters are told apart by their commonest words
and letters. Markdown and code are looked through: code and addresses count only where there
is no prose. Needs no model; an uncertain Latin text is English.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

UNKNOWN = "und"  # ISO 639: undetermined

# Letters of one script, with the weight of one in a mixed text: a Han character says about as
# much as two to three Latin letters.
_HAN_WEIGHT = 2.5
_SCRIPTS: dict[str, tuple[re.Pattern[str], float]] = {
    "han": (re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"), _HAN_WEIGHT),
    "kana": (re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]"), _HAN_WEIGHT),
    "ko": (re.compile("[\uac00-\ud7a3\u1100-\u11ff]"), _HAN_WEIGHT),
    "cyrillic": (re.compile("[\u0400-\u04ff]"), 1.0),
    "arabic": (re.compile("[\u0620-\u064a\u0671-\u06d3]"), 1.2),
    "el": (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), 1.0),
    "hi": (re.compile("[\u0900-\u097f]"), 1.0),
    "th": (re.compile("[\u0e01-\u0e4e]"), 1.0),
    "he": (re.compile("[\u05d0-\u05ea]"), 1.2),
    "hy": (re.compile("[\u0531-\u0587]"), 1.0),
    "ka": (re.compile("[\u10a0-\u10ff]"), 1.0),
    "bn": (re.compile("[\u0980-\u09ff]"), 1.0),
    "ta": (re.compile("[\u0b80-\u0bff]"), 1.0),
    "te": (re.compile("[\u0c00-\u0c7f]"), 1.0),
    "km": (re.compile("[\u1780-\u17ff]"), 1.0),
    "my": (re.compile("[\u1000-\u109f]"), 1.0),
    "lo": (re.compile("[\u0e81-\u0edf]"), 1.0),
    "latin": (re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]"), 1.0),
}  # fmt: skip
# Japanese is seldom without a kana in seven letters; Chinese quotes single Japanese words.
_KANA_SHARE = 0.15
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_PERSIAN = re.compile("[پچژگ]")

# Names, terms and commands inside a text of another script say little about its language:
# `导入 Pydantic 的 BaseModel` is Chinese. Sentences have a common word in ten.
_NAMES_WEIGHT = 0.35
_COMMON_SHARE = 0.1

# Commonest words, without those that several of these languages share, and letters that only
# one of them writes; a letter counts as half a word.
_WORDS = {
    "en": "the of and to is that for it with as was on are this by not be have from or you how what which where when does did who in at an can",
    "de": "der und ist das nicht ein eine einer zu den mit dem sich auf für von des auch wird bei oder wurde wie welche welcher welches wer war waren wann was wo im in als aus nach wurden hat viele warum ich kann",
    "es": "el los las una por con del para que como más pero sus este fue son cuál qué cómo quién cuándo dónde cuántos es en al",
    "fr": "le les et des une est du dans que pour qui pas sur plus par avec ce cette sont au ou quel quelle comment où en quand",
    "it": "il che di è della per una non del con sono gli nel alla più anche come questo quale chi in quando",
    "pt": "os um uma não do em para com que por mais dos como são foi ao pela quem qual onde quando",
    "nl": "het een van en dat niet zijn op voor met aan ook wordt bij naar deze welke hoe wie wat in is",
    "ro": "și în este cu pe din că mai care fost pentru sau prin după unde cine cum ce ale lui când cât câte câți fi ai un au",
    "tr": "ve bir bu için ile olarak olan daha gibi kadar sonra çok ne nasıl hangi kim nedir kaç neden nerede zaman tarafından oldu en",
    "vi": "và của là có được trong cho những các không với người này một đã khi gì nào",
    "pl": "na jest nie się do to jak od przez są który czy jakie kto oraz dla gdzie kiedy",
    "sv": "och att det som är på för av med den till inte har ett vad vem hur när",
    "id": "yang dan dengan untuk dari ini itu tidak pada adalah dalam akan oleh apa siapa",
}
_LETTERS = {
    "de": "äß",
    "es": "ñ¿¡",
    "fr": "çèêœàù",
    "pt": "ãõ",
    "ro": "șțăşţ",
    "tr": "ğışİ",
    "vi": "ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "pl": "łąęśżźćń",
    "sv": "å",
}
_LANGUAGES_OF = {
    word: tuple(code for code, words in _WORDS.items() if word in words.split())
    for words in _WORDS.values()
    for word in words.split()
}
_LANGUAGE_OF_LETTER = {letter: code for code, letters in _LETTERS.items() for letter in letters}
_SPECIAL_LETTER = re.compile(f"[{''.join(_LANGUAGE_OF_LETTER)}]")
_LATIN_WORD = re.compile("[a-z\u00c0-\u024f\u1e00-\u1eff]+")
# Another language than English needs this much evidence, this many times what
# English has, and two different words or letters.
_MIN_EVIDENCE = 1.0
_LEAD = 1.5
_SAMPLE = 20_000  # characters of a long text that are looked at

_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\$\$.*?\$\$|<[^<>\n]{1,200}>|%%.*?%%"
    r"|\bhttps?://[^\s<>()\[\]]+|(?<=\]\()[^()\s]*(?=\))|\A---\n.*?\n---(?=\n|\Z)"
    r"|(?<![!-~])[!-~]*[/\\_@][!-~]*",
    re.DOTALL | re.ASCII,
)
# Each of its alternatives has one of these; prose often has none, and then need not be scanned.
_MARKS_OF_NO_PROSE = ("`", "~~~", "$$", "<", "%%", "](", "---", "/", "\\", "_", "@")


def detect(text: str) -> str:
    """ISO 639-1 code of the language that carries the content of `text`.

    Returns:
        A code; "und" where there is no letter. Chinese is "zh" in either script.
    """
    sample = text[:_SAMPLE]
    prose = _prose(sample)
    counts = _count(prose)
    if sum(counts.values()) < 2:
        prose, counts = sample, _count(sample)
    if not counts and len(text) > _SAMPLE:
        prose, counts = text, _count(text)
    if not counts:
        return UNKNOWN
    return _language(prose, counts)


def _prose(text: str) -> str:
    """The text without code, addresses and the like, where it has some."""
    some = any(mark in text for mark in _MARKS_OF_NO_PROSE)
    return _NOT_PROSE.sub(" ", text) if some else text


def _count(text: str) -> dict[str, float]:
    """Weighted number of letters of each script that occurs."""
    rest = text if text.isascii() else _MOST_HAN.sub("", text)  # by runs: quicker than by letters
    han = len(text) - len(rest)
    if rest.isascii():
        numbers = {"han": han, "latin": len(rest.encode("ascii").translate(None, _NO_LETTERS))}
    else:
        marked = rest.translate(_MARKS)
        present = set(marked)
        numbers = {
            name: marked.count(mark) if mark in present else 0 for name, mark in _MARK_OF.items()
        }
        numbers["han"] += han
    return {name: number * _SCRIPTS[name][1] for name, number in numbers.items() if number}


_MOST_HAN = re.compile("[\u4e00-\u9fff]+")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


class _ScriptMarks(dict[int, str]):
    """For `str.translate`: a letter's script as one mark, learnt as letters are met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        marks = (_MARK_OF[name] for name, (p, _) in _SCRIPTS.items() if p.match(letter))
        mark = self[code] = next(marks, " ")
        return mark


_MARK_OF = {name: chr(ord("a") + number) for number, name in enumerate(_SCRIPTS)}
_MARKS = _ScriptMarks()


def _language(prose: str, counts: dict[str, float]) -> str:
    kana = counts.pop("kana", 0.0)
    if kana:
        counts["han"] = counts.get("han", 0.0) + kana
    if len(counts) > 1 and "latin" in counts and not _has_latin_prose(prose):
        counts["latin"] *= _NAMES_WEIGHT
    script = max(counts, key=lambda name: counts[name])
    match script:
        case "han":
            return "ja" if kana >= _KANA_SHARE * counts["han"] else "zh"
        case "cyrillic":
            return "uk" if _UKRAINIAN.search(prose) else "ru"
        case "arabic":
            return "fa" if len(_PERSIAN.findall(prose)) > 0.02 * counts["arabic"] else "ar"
        case "latin":
            return _latin_language(prose.lower())
        case _:
            return script


def _has_latin_prose(prose: str) -> bool:
    """Whether the Latin words are sentences, not names in a text of another script."""
    words = _LATIN_WORD.findall(prose.lower())
    common = sum(map(_LANGUAGES_OF.__contains__, words))
    return common > max(1, _COMMON_SHARE * len(words))


def _latin_language(prose: str) -> str:
    """The best of the known languages, or English where none is clearly better."""
    scores: defaultdict[str, float] = defaultdict(float)
    distinct: Counter[str] = Counter()
    common = filter(_LANGUAGES_OF.__contains__, _LATIN_WORD.findall(prose))
    for word, times in Counter(common).items():
        languages = _LANGUAGES_OF[word]
        share = times / len(languages)
        for code in languages:
            scores[code] += share
            distinct[code] += 1
    if not prose.isascii():
        for letter, times in Counter(_SPECIAL_LETTER.findall(prose)).items():
            scores[_LANGUAGE_OF_LETTER[letter]] += times / 2
            distinct[_LANGUAGE_OF_LETTER[letter]] += 1
    best = max(_WORDS, key=lambda code: scores[code])
    sure = scores[best] >= max(_MIN_EVIDENCE, _LEAD * scores["en"]) and distinct[best] > 1
    return best if sure else "en"

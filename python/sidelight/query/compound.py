"""Is this several questions in one, and about which time? Plain rules, Chinese and English.

Rules that fire wrongly cost more than rules that do not fire: only whole questions, semicolons,
explicit "and also", and comparisons of two named things are split.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

MOST_PARTS = 8  # of one question
_ENDS = re.compile(r"(?<=[?？;；])\s*|\n+")
_ALSO = re.compile(
    r"\s*(?:[,，;；]?\s*(?:以及|还有|另外|此外)|,?\s+(?:and also|as well as|and then)\s)\s*",
    re.IGNORECASE,
)
_NAME = r"(?P<{}>[^,，。?？]{{1,40}}?)"
_A, _B = _NAME.format("a"), _NAME.format("b")
_COMPARISONS = [
    re.compile(rf"^(?:请|帮我)?(?:对比|比较)(?:一下)?\s*{_A}\s*(?:和|与|跟|同|及|、)\s*{_B}\s*(?:的.*)?$"),
    re.compile(
        rf"^{_A}\s*(?:和|与|跟|同)\s*{_B}\s*(?:有什么|有哪些|有何|之间的?|的)?\s*"
        r"(?:区别|不同|差别|差异|异同|对比|比较|优缺点)(?:是什么|在哪里?)?$"
    ),
    re.compile(rf"^(?:where (?:do I|did we|are)\s+)?compare\s+{_A}\s+(?:and|with|to|against)\s+{_B}$", re.I),
    re.compile(
        rf"^(?:what(?:'s| is| are) )?the (?:differences?|comparison) between\s+{_A}\s+and\s+{_B}$", re.I
    ),
    re.compile(rf"^(?:where (?:are|is)\s+)?{_A}\s+and\s+{_B}\s+(?:are )?compared$", re.I),
    re.compile(rf"^{_A}\s+(?:vs\.?|versus)\s+{_B}$", re.I),
]  # fmt: skip
_OPERATORS = re.compile(
    r"[\"/()\[\]]|\bOR\b|(?:^|\s)-\w|\b(?:path|file|tag|line|section|after|before):"
)

_NUMBERS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
            "十": 10, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
            "eight": 8, "nine": 9, "ten": 10, "a": 1, "": 1, "几": 3, "few": 3, "couple of": 2}  # fmt: skip
_DAYS = {"天": 1, "日": 1, "周": 7, "星期": 7, "月": 30, "年": 365,
         "day": 1, "week": 7, "month": 30, "year": 365}  # fmt: skip
_SINCE_ZH = re.compile(
    r"(?:在|于)?(?:最近|过去|近)(?:的)?\s*(半|几|\d+|[一两二三四五六七八九十])?\s*个?(天|日|周|星期|月|年)(?:里|内|以来|来|之内|中)?的?"
)
_SINCE_EN = re.compile(
    r"\b(?:in|over|during|within|from)?\s*the\s+(?:last|past)\s+"
    r"(half(?:\s+a)?|\d+|couple of|few|[a-z]+)?\s*(day|week|month|year)s?\b",
    re.IGNORECASE,
)


def parts_of(text: str) -> tuple[str, ...]:
    """The questions in a question; empty where it is one. A query with operators is never split."""
    if _OPERATORS.search(text):
        return ()
    sentences = [part for line in _ENDS.split(text) if (part := line.strip(" ?？;；。"))]
    parts: list[str] = []
    for sentence in sentences:
        for part in _ALSO.split(sentence):
            parts += _compared(part.strip()) or [part.strip()]
    parts = [part for part in dict.fromkeys(parts) if len(part) > 1]
    return tuple(parts[:MOST_PARTS]) if len(parts) > 1 else ()


def _compared(sentence: str) -> list[str]:
    for rule in _COMPARISONS:
        match = rule.match(sentence)
        if match:
            return [sentence, match["a"].strip(), match["b"].strip()]
    return []


def since(text: str, today: Callable[[], date] = date.today) -> tuple[str, date | None]:
    """The question without "in the last half year", and the day that this means.

    A month is 30 days, a year 365. A query with operators is left as it is.
    """
    if _OPERATORS.search(text):
        return text, None
    for rule in (_SINCE_ZH, _SINCE_EN):
        match = rule.search(text)
        days = _days(match[1] or "", match[2].lower()) if match else None
        if match and days:
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            rest = " ".join(rest.split())
            if rest:
                return rest, today() - timedelta(days=days)
    return text, None


def _days(number: str, unit: str) -> int | None:
    number = " ".join(number.lower().split())
    if number.startswith("half") or number == "半":
        return max(1, _DAYS[unit] // 2)
    if number.isdecimal():
        return min(int(number), 36_500) * _DAYS[unit]
    return _NUMBERS[number] * _DAYS[unit] if number in _NUMBERS else None

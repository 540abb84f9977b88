"""Under which one spelling do the ways to write a date or an amount meet?

`2024年10月3日`, `2024/10/3`, `Oct 3, 2024` and `20241003` are all `2024-10-03`; `50元` and `¥50`
are both `¥50`. Given as additional terms with their places. Knows no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

Found = tuple[str, int, int]

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
_MONTH = r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_HAN_DIGITS = {digit: value for value, digits in enumerate(("〇零", "一", "二", "三", "四", "五", "六", "七", "八", "九")) for digit in digits}  # fmt: skip
_HAN_NUMBER = "一二三四五六七八九十"
_LONGEST_BEFORE = 24  # characters before a year in `the 3rd of September, 2024`

# Eight digits in a row are a date only if they begin like one of these days.
_LIKELY_YEARS = frozenset(map(str, range(1900, 2100)))
_DIGITS = re.compile("[0-9]+")
_AFTER_YEAR = re.compile(r"([-/._])(\d{1,2})\1(\d{1,2})(?!\d)|[-/](\d{1,2})(?![\d/-])")
_BEFORE_YEAR = re.compile(
    rf"(?:{_MONTH}\s+{_DAY}|\b{_DAY}\s+(?:of\s+)?{_MONTH}),?\s+\Z", re.IGNORECASE
)
_HAN_MONTH = re.compile(rf"([0-9{_HAN_NUMBER}]{{1,2}})\s?月")
_HAN_DAY = re.compile(rf"\s?([0-9]{{1,2}}|[{_HAN_NUMBER}]{{1,3}})\s?[日号]")
_HAN_YEAR = re.compile(r"([0-9]{4}|[〇零一二三四五六七八九]{4})\s?年\s?\Z")

_UNITS = {"百": 100, "千": 1_000, "k": 1_000, "万": 10_000, "百万": 1_000_000, "m": 1_000_000, "千万": 10_000_000, "亿": 100_000_000}  # fmt: skip
_CURRENCIES = {
    "¥": ("¥", "元", "块", "块钱", "圆", "人民币", "rmb", "cny", "yuan"),
    "$": ("$", "美元", "美金", "刀", "usd", "dollar", "dollars"),
    "€": ("€", "欧元", "eur", "euro", "euros"),
    "£": ("£", "英镑", "gbp", "pound", "pounds"),
}
_SIGN_OF = {name: sign for sign, names in _CURRENCIES.items() for name in names}
_NUMBER = re.compile(
    r"([0-9]{1,15}(?:,[0-9]{3})*(?:\.[0-9]{1,6})?)\s?"
    r"(?:(百万|千万|百|千|万|亿)|([kKmM](?![A-Za-z])))?"
)
_BEFORE_NUMBER = re.compile(r"(?:([¥$€£])|\b(rmb|cny|usd|eur|gbp))\s?\Z", re.IGNORECASE)
# One of these stands in every name of a currency: most texts with a number have none.
_OF_CURRENCIES = (
    *("¥", "$", "€", "£", "元", "块", "圆", "刀", "美金", "英镑", "人民币"),
    *("rmb", "cny", "yuan", "usd", "dollar", "eur", "gbp", "pound"),
)
_AFTER_NUMBER = re.compile(
    r"\s?(元|块钱|块|圆|人民币|美元|美金|刀|欧元|英镑"
    r"|(?:rmb|cny|yuan|usd|dollars?|eur|euros?|gbp|pounds?)\b)",
    re.IGNORECASE,
)


def canonical_terms(text: str) -> Iterator[Found]:
    """Canonical dates and amounts of a folded text with their places, overlapping ones too."""
    number_end, money = 0, None
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        if end - start == 4:
            yield from _from_year(text, match)
        elif end - start == 8 and match.group()[:4] in _LIKELY_YEARS:
            year, month, day = match.group()[:4], match.group()[4:6], match.group()[6:]
            yield from _day(year, month, day, (start, end))
        if money is None:
            money = _speaks_of_money(text)
        if money and start >= number_end and (number := _NUMBER.match(text, start)) is not None:
            number_end = number.end()
            yield from _amounts(text, number)
    if "月" in text:
        for match in _HAN_MONTH.finditer(text):
            yield from _han_date(text, match)


def _speaks_of_money(text: str) -> bool:
    lower = text.lower()
    return any(name in lower for name in _OF_CURRENCIES)


def _from_year(text: str, match: re.Match[str]) -> Iterator[Found]:
    """Dates around four digits, which need not be a year."""
    start, end = match.span()
    after = _AFTER_YEAR.match(text, end)
    if after is not None:
        place = (start, after.end())
        if after[3]:
            yield from _day(match.group(), after[2], after[3], place)
        elif len(after[4]) < 2 or after.group()[0] == "/":  # else it is a term as it stands
            yield from _month(match.group(), after[4], place)
        return
    if not text[start - 1 : start].isspace():
        return
    earlier = max(0, start - _LONGEST_BEFORE)
    before = _BEFORE_YEAR.search(text[earlier:start])
    if before is not None:
        name, day = before[1] or before[4], before[2] or before[3]
        place = (earlier + before.start(), end)
        yield from _day(match.group(), str(_MONTHS[name.lower()]), day, place)


def _day(year: str, month: str, day: str, place: tuple[int, int]) -> Iterator[Found]:
    """A full date, its month, and its day without the year."""
    for term in _day_terms(year, month, day):
        yield term, *place


@lru_cache(maxsize=4096)  # a journal names the same days again and again
def _day_terms(year: str, month: str, day: str) -> tuple[str, ...]:
    try:
        whole = date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ()
    return whole, whole[:7], whole[5:]


def _month(year: str, month: str, place: tuple[int, int]) -> Iterator[Found]:
    term = f"{year}-{int(month):02}"
    if 1 <= int(month) <= 12 and int(year) >= 1000:
        yield term, *place


def is_canonical_date(text: str) -> bool:
    """Whether a whole identifier is a date that `canonical_terms` gives in this very form."""
    if len(text) != 10 or text[4] != "-" or not text[:4].isdecimal():
        return False
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _han_date(text: str, match: re.Match[str]) -> Iterator[Found]:
    """The date around `10月`, with what stands of year before and day after it."""
    start, end = match.span()
    month = _number(match[1])
    if not 1 <= month <= 12 or text[start - 1 : start].isdecimal():
        return
    earlier = max(0, start - 8)  # `2024 年 `
    before = _HAN_YEAR.search(text[earlier:start])
    after = _HAN_DAY.match(text, end)
    if before is not None:
        start = earlier + before.start()
    if after is not None:
        end = after.end()
    day = _number(after[1]) if after is not None else 0
    if before is not None and day:
        yield from _day(str(_number(before[1])), str(month), str(day), (start, end))
    elif before is not None:
        yield from _month(str(_number(before[1])), str(month), (start, end))
    elif 1 <= day <= 31:
        yield f"{month:02}-{day:02}", start, end


def _number(text: str) -> int:
    """A number in digits, Han digits one by one (二〇二四) or up to ninety-nine (二十三); else 0."""
    if text.isdecimal():
        return int(text)
    if "十" not in text:
        digits = [_HAN_DIGITS.get(digit) for digit in text]
        return 0 if None in digits else int("".join(map(str, digits)))
    tens, _, ones = text.partition("十")
    if len(tens) > 1 or len(ones) > 1 or not {*tens, *ones} <= _HAN_DIGITS.keys():
        return 0
    return (_HAN_DIGITS[tens] if tens else 1) * 10 + (_HAN_DIGITS[ones] if ones else 0)


def _amounts(text: str, match: re.Match[str]) -> Iterator[Found]:
    """The amount of money that a number is, if a currency stands before or after it."""
    start, end = match.span()
    before = _BEFORE_NUMBER.search(text[max(0, start - 4) : start])
    if before is not None:
        start -= len(before.group())
        currency = before.group().strip()
    else:
        after = _AFTER_NUMBER.match(text, end)
        if after is None:
            return
        currency, end = after[1], after.end()
    yield _amount(currency, match[1], match[2] or match[3]), start, len(text[:end].rstrip())


def _amount(currency: str, number: str, unit: str | None) -> str:
    value = float(number.replace(",", "")) * _UNITS.get((unit or "").lower(), 1)
    return f"{_SIGN_OF[currency.lower()]}{value:.2f}".removesuffix(".00")

"""Which language is a text written in?"""

from __future__ import annotations

import re

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")


def detect(text: str) -> str:
    """ISO 639-1 code, or "und" where there is no letter."""
    han = len(_HAN.findall(text))
    latin = len(_LATIN.findall(text))
    if not han and not latin:
        return "und"
    return "zh" if han * 2.5 >= latin else "en"

"""When is a note about? A date property, else a date in its name."""

from __future__ import annotations

import re
from datetime import date

from sidelight.types import Note

# Property names, first match wins; lower case. The Chinese ones mean date and creation.
DATE_PROPERTIES = ("date", "日期", "created", "creation date", "created_at", "创建时间", "创建日期")
_DATE = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d{2})(?:(?P<sep>[-._/年])(?P<m>\d{1,2})(?:(?P=sep)|月)(?P<d>\d{1,2})"
    r"|(?P<m2>\d{2})(?P<d2>\d{2}))(?!\d)"
)


def note_dates(note: Note) -> date | None:
    """The day a note is about, or None; the file's own time is the caller's last resort."""
    values = {key.lower(): value for key, value in (note.frontmatter.data or {}).items()}
    for name in DATE_PROPERTIES:
        value = values.get(name)
        found = date_in(value) if isinstance(value, str) else None
        if found is not None:
            return found
    return date_in(note.title)


def date_in(text: str) -> date | None:
    """The first full date in a text: 2024-01-31, 2024.1.31, 20240131, 2024年1月31日."""
    for match in _DATE.finditer(text):
        month, day = match["m"] or match["m2"], match["d"] or match["d2"]
        try:
            return date(int(match["y"]), int(month), int(day))
        except ValueError:
            continue  # no such day: look further
    return None

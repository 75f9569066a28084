"""Queries that say by themselves that they change something. What says nothing of the kind is left to other witnesses.

There are many languages of queries, and most have no parser here: this never proves that a query reads.
"""

import re
from typing import Final

_THINGS: Final = (
    r"(?:table|tables|database|schema|index|view|materialized\s+view|sequence|trigger|function|procedure|user|role"
    r"|type|domain|extension|keyspace|bucket|measurement|series|retention\s+policy|continuous\s+query)\b"
)
_CHANGES: Final = re.compile(
    r"(?:^|[;({])\s*(?:"
    r"(?P<insert>insert\s+(?:\w+\s+){0,2}into)\b|(?P<replace>replace\s+into)\b|(?P<update>update\s+[^;]{1,200}?\sset)\b"
    r"|(?P<delete>delete\s+(?:\w+\s+){0,2}from)\b|(?P<merge>merge\s+into)\b|(?P<truncate>truncate\s+table)\b"
    rf"|(?P<create>create\s+(?:\w+\s+){{0,3}}?{_THINGS})|(?P<drop>drop\s+(?:\w+\s+){{0,2}}?{_THINGS})"
    rf"|(?P<alter>alter\s+(?:\w+\s+){{0,2}}?{_THINGS})|(?P<grant>(?:grant|revoke)\s+[^;]{{1,200}}?\s(?:to|from))\b"
    r"|(?P<mutation>mutation\b\s*\w*\s*[({]))",
    re.IGNORECASE,
)
_COMMENTS: Final = re.compile(r"/\*.*?\*/|--[^\n]*|#[^\n]*", re.DOTALL)
_FILES: Final = re.compile(r"\binto\s+(?:outfile|dumpfile)\b|\bto\s+program\b", re.IGNORECASE)


def find_change(query: str) -> str | None:
    """What it says it does: `insert`, `drop`, `mutation` and so on."""
    for text in (query, _COMMENTS.sub(" ", query)):
        if (found := _CHANGES.search(text)) is not None:
            return found.lastgroup
    return "file" if _FILES.search(query) else None

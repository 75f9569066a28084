"""The markers around what others wrote in a prompt, and how text that imitates them is made harmless.

They are written as comments, `<!-- ALERT_DATA_END word -->`. What a careless reader would take for the beginning of one
counts: characters that look alike, and any that are not seen in between.
"""

import re

_ANGLES = "<\u02c2\u1438\u16b2\u2039\u227a\u2329\u276c\u276e\u2770\u27e8\u29fc\u3008\ufe64\uff1c\U0001d236"
_EXCLAMATIONS = "!\u00a1\u01c3\u203c\u2755\u2757\u2762\u2d51\ufe15\ufe57\uff01"
_DASHES = (
    "\\-\u00ad\u02d7\u058a\u05be\u1400\u1806\u2010-\u2015\u2043\u2053\u207b\u208b\u2212\u23bc\u23bd\u2500\u2501\u2796"
    "\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u30a0\u30fc\u4e00\ufe31\ufe32\ufe58\ufe63\uff0d\uff70"
)
_UNSEEN = (
    "\\s\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20f0"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_BEGINS = f"[{_UNSEEN}]*[{_EXCLAMATIONS}][{_UNSEEN}]*[{_DASHES}]"
_OPENER = re.compile(f"[{_ANGLES}](?={_BEGINS})")
_JOINERS = "_\u203f\u2040\ufe4d-\ufe4f\uff3f"
_MARKER = re.compile(
    # No step may be tried twice: a server could answer with ten megabytes of beginnings.
    rf"[{_ANGLES}](?={_BEGINS}(?:[{_DASHES}{_UNSEEN}]*+\w{{0,40}}?[{_JOINERS}]|[^<>\n]{{0,80}}?(?:START|END)))",
    re.IGNORECASE,
)
_HARMLESS = "&lt;"


def escape_markers(text: str) -> str:
    """For text within markers: without anything that begins a comment, whatever stands in it."""
    return _OPENER.sub(_HARMLESS, text)


def escape_forged_markers(text: str) -> str:
    """For text that stands by itself, such as a tool's answer: comments stay, unless they could be markers."""
    return _MARKER.sub(_HARMLESS, text)

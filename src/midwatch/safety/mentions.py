"""The names in a person's own words: `@name`. Only what an authenticated person wrote may be read with this."""

import re
from typing import Final

# An address such as me@host is no mention, and a full stop ends a sentence.
_MENTION: Final = re.compile(r"(?<![\w.@/:%-])@([A-Za-z0-9_](?:[\w.:/-]{0,254}[A-Za-z0-9_])?)")


def find_mentions(text: str) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(_MENTION.findall(text)))

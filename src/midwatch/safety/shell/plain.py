"""Plain and simply quoted words, joined by `|`, `&&`, `||` or `;`, which mean the same with and without a tree.

Whatever could mean more (expansions, escapes, braces, brackets, keywords, assignments, other redirections) is left to
the parser.
"""

import re
from collections.abc import Iterator

from midwatch.safety.shell.words import Word, names

# Possessive throughout: a text that does not fit is found out in one pass.
_QUOTED = r"'[^'\n]*+'|\"[^\"$`\\\n]*+\""
_WORD = rf"(?:[A-Za-z0-9_./:=@%+,*?~^-]++|{_QUOTED})++"
_ALONE = r"(?:\{\}|\\;|[12&]?>/dev/null|2>&1)(?=[ |;]|$)"
_COMMAND = rf"{_WORD}(?: ++(?:{_ALONE}|{_WORD}))*+"
_PLAIN = re.compile(rf" *+{_COMMAND}(?: *+(?:\|\||&&|\||;) *+{_COMMAND})*+ *+;?+ *+")
_TOKEN = re.compile(rf"{_ALONE}|{_WORD}|(\|\||&&|\||;)")
_QUOTES = re.compile(_QUOTED)
_ESCAPED_END = "\\;"
_OTHERS = names(
    "if then elif else fi for while until do done case esac in function select time coproc declare typeset export"
    " readonly local unset unsetenv"
)
"""Words that begin something else than a plain command."""


def read_plain(command: str) -> list[list[Word]] | None:
    """The commands with their words, or None when the text needs a real parser."""
    if _PLAIN.fullmatch(command) is None or not command.isascii():
        return None
    found: list[list[Word]] = []
    for words in _split(command):
        first = words[0].text
        if first in _OTHERS or "=" in first or not first:
            return None
        found.append(words)
    return found


def _split(command: str) -> Iterator[list[Word]]:
    words: list[Word] = []
    for match in _TOKEN.finditer(command):
        text, (start, end) = match[0], match.span()
        if match[1]:
            yield words
            words = []
        elif "'" in text or '"' in text:
            bare = _QUOTES.sub("", text)
            words.append(Word(_QUOTES.sub(_unquote, text), False, "*" in bare or "?" in bare, start, end))  # noqa: FBT003
        elif ">" not in text:
            text = ";" if text == _ESCAPED_END else text
            words.append(Word(text, False, "*" in text or "?" in text, start, end))  # noqa: FBT003 -- it stays one word
    if words:
        yield words


def _unquote(match: re.Match[str]) -> str:
    return match[0][1:-1]

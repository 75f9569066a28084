"""Shows a passage of a long result, by lines or by characters. Pure."""

from midwatch.tools.results.bounds import MOST_CHARACTERS

_LINES = 100
_ROOM = MOST_CHARACTERS - 200
"""What is left beside the words about the passage."""


def show_lines(content: str, *, from_line: int = 1, lines: int = _LINES) -> str:
    """Counted from one; from the end when negative."""
    every = content.split("\n")
    first = max(len(every) + from_line, 0) if from_line < 0 else max(from_line, 1) - 1
    chosen = every[first : first + lines]
    if not chosen:
        return f"There are only {len(every):,} lines."
    passage = "\n".join(chosen)
    told = f"lines {first + 1:,} to {first + len(chosen):,} of {len(every):,}"
    if len(passage) <= _ROOM:
        return f"{told}:\n{passage}"
    begin = sum(len(line) + 1 for line in every[:first])
    return f"{told}, as far as they fit (go on with from_character={begin + _ROOM + 1}):\n{passage[:_ROOM]}"


def show_characters(content: str, *, from_character: int = 1, characters: int = _ROOM) -> str:
    """Counted from one; from the end when negative."""
    size = len(content)
    first = max(size + from_character, 0) if from_character < 0 else max(from_character, 1) - 1
    passage = content[first : first + min(characters, _ROOM)]
    if not passage:
        return f"There are only {size:,} characters."
    last = first + len(passage)
    more = f" (go on with from_character={last + 1})" if last < size else ""
    return f"characters {first + 1:,} to {last:,} of {size:,}{more}:\n{passage}"

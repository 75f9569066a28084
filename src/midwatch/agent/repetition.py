"""Notices a model that has begun to say the same thing over and over."""

_EVERY = 2_000
_SHORTEST = 30
_LONGEST = 500
_TIMES = 5
_DISTINCT = 4
_KEPT = _LONGEST * _TIMES


class RepetitionWatch:
    """Fed with a text as it comes; looks at its end now and then, since a look costs more than a piece of text."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def feed(self, text: str) -> bool:
        """Whether the text has got stuck."""
        self._tail += text
        self._unseen += len(text)
        if self._unseen < _EVERY:
            return False
        self._unseen = 0
        self._tail = self._tail[-_KEPT:]
        return ends_in_repetition(self._tail)


def ends_in_repetition(text: str) -> bool:
    """A unit of some length that stands at the end several times in a row. Rules and rows of dashes do not count."""
    return any(
        text.endswith(unit * _TIMES) and _says_something(unit)
        for length in range(_SHORTEST, min(_LONGEST, len(text) // _TIMES) + 1)
        if (unit := text[-length:]) == text[-2 * length : -length]
    )


def _says_something(unit: str) -> bool:
    return len({character for character in unit if character.isalnum()}) >= _DISTINCT

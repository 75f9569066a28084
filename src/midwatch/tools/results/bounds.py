"""How much of a result can be asked for at once, and what is said when something cannot be answered."""

MOST_CHARACTERS = 16_000
"""Of one answer: well below what is summed up again."""
MOST_SECONDS = 3
"""Of a processor, for one question."""
LONGEST_WAIT = 10.0
"""Seconds by the clock, on a machine that has other things to do."""
MOST_BYTES = 1 << 30
"""Of memory, for one question."""


class Unanswerable(Exception):
    """The question makes no sense of this result; the message is for the model."""

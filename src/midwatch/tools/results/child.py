"""Looks into one result in a process of its own, `python -m midwatch.tools.results.child`, which may be killed.

A pattern or an expression comes from a model and may ask for more time or memory than anybody has. The question is the
first line of the input, the result the rest.
"""

import json
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from midwatch.tools.results.bounds import MOST_BYTES, MOST_SECONDS, Unanswerable

REFUSED = 3


def _search(content: str, **arguments: object) -> str:
    from midwatch.tools.results.search import search  # noqa: PLC0415 -- each question pays for its own

    return search(content, **arguments)  # pyright: ignore[reportArgumentType] -- checked against the tool's schema


def _query(content: str, **arguments: object) -> str:
    from midwatch.tools.results.query import query  # noqa: PLC0415 -- each question pays for its own

    return query(content, **arguments)  # pyright: ignore[reportArgumentType] -- checked against the tool's schema


_QUESTIONS: Mapping[str, Callable[..., str]] = MappingProxyType({"search": _search, "query": _query})


def main() -> None:
    _limit(resource.RLIMIT_CPU, MOST_SECONDS)
    _limit(resource.RLIMIT_AS, MOST_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    head, _, content = sys.stdin.buffer.read().partition(b"\n")
    question = json.loads(head)
    try:
        answer = _QUESTIONS[question["name"]](content.decode(), **question["arguments"])
    except Unanswerable as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(REFUSED)
    sys.stdout.buffer.write(answer.encode(errors="replace"))


def _limit(what: int, amount: int) -> None:
    # Not every system has every limit; whoever started this process has an eye on the time as well.
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (amount, amount))


if __name__ == "__main__":
    main()

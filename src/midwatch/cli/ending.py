"""How a command ends: a sentence for each problem, and an exit status that says who must act."""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import cast

import click

from midwatch.domain.errors import MidwatchError, Misconfigured, Rejected

DONE, FAILED, MISCONFIGURED = 0, 1, 2


def run_to_status(work: Callable[[], int | None]) -> int:
    """The status that the work returns, or that of the error it ends with. Bugs stay bugs."""
    try:
        return work() or DONE
    except BrokenPipeError:
        return leave_closed_pipe()
    except (MidwatchError, OSError) as error:
        return explain(error)
    except ExceptionGroup as errors:
        known, bugs = errors.split((MidwatchError, OSError))
        if known is None or bugs is not None:
            raise
        return explain(first_of(known))
    except asyncio.CancelledError:
        return FAILED


def first_of(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


def explain(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        return leave_closed_pipe()
    misconfigured = isinstance(error, Misconfigured)
    for problem in error.problems if misconfigured else [str(error)]:
        click.echo(f"error: {problem}", err=True)
    return MISCONFIGURED if misconfigured or isinstance(error, Rejected) else FAILED


def leave_closed_pipe() -> int:
    """Nobody reads our output any more. What is left of it must not be tried again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED

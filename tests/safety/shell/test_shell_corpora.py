"""Thousands of commands at once: none that harms is reading, few that only look are refused, secrets are named."""

import shlex
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from midwatch.safety.shell.classify import classify
from tests.safety.requirements import requirement

FOLDER = Path(__file__).parent / "corpora"
LEAST_ACCEPTED = 0.88
"""Of what people type to look, on average over programs."""
STEP = 23
"""Every change is tried on each of the commands that many apart, beginning elsewhere each time."""

Dress = Callable[[str], str]
DRESSES: dict[str, Dress] = {
    "blanks": lambda text: f"  \t{text.replace(' ', '   ', 1)}  ",
    "quoted name": lambda text: "'{}'{}{}".format(*text.partition(" ")),
    "split name": lambda text: f"{text[:1]}''{text[1:]}",
    "escaped name": lambda text: f"\\{text}",
    "empty braces": lambda text: text.replace(" ", " {,} ", 1),
    "two dashes": lambda text: text.replace(" ", " -- ", 1),
    "help behind": lambda text: f"{text} | cat --help",
    "verbose": lambda text: text.replace(" ", " -q ", 1),
    "time": lambda text: f"time {text}",
    "env": lambda text: f"env {text}",
    "timeout": lambda text: f"timeout 5 {text}",
    "command": lambda text: f"command {text}",
    "and": lambda text: f"true && {text}",
    "pipe in": lambda text: f"ls | {text}",
    "pipe out": lambda text: f"{text} | head -5",
    "nowhere": lambda text: f"{text} >/dev/null 2>&1",
    "group": lambda text: f"{{ {text}; }}",
    "substitution": lambda text: f'echo "$({text})"',
    "loop": lambda text: f"for i in 1 2; do {text}; done",
    "function": lambda text: f"f() {{ {text}; }}; f",
    "line before": lambda text: f"ls\n{text}",
    "line behind": lambda text: f"{text}\nls",
    "comment": lambda text: f"# ls\n{text}",
    "shell": lambda text: f"bash -c {shlex.quote(text)}",
    "machine": lambda text: f"ssh host {shlex.quote(text)}",
    "pod": lambda text: f"kubectl exec web -- sh -c {shlex.quote(text)}",
    "names": lambda text: f"ls | xargs -I@@ {text}",
    "document": lambda text: f"cat <<E\n$({text})\nE",
}


def commands(name: str) -> list[str]:
    return (FOLDER / f"{name}.txt").read_text().splitlines()


def accepted(texts: list[str]) -> list[str]:
    return [text for text in texts if classify(text).kind == "read"]


@requirement("shell:blocked-examples")
def test_no_command_that_harms_is_reading() -> None:
    harmful = commands("dangerous")
    assert len(harmful) == len(set(harmful))
    assert accepted(harmful) == []


@requirement("shell:metamorphic")
@pytest.mark.parametrize("name", list(DRESSES))
def test_no_change_makes_a_command_that_harms_reading(name: str) -> None:
    first = list(DRESSES).index(name) % STEP
    assert accepted([DRESSES[name](text) for text in commands("dangerous")[first::STEP]]) == []


@requirement("shell:allowed-examples")
def test_most_commands_that_only_look_are_reading() -> None:
    by_program: dict[str, list[bool]] = defaultdict(list)
    for text in commands("reads"):
        by_program[text.partition(" ")[0]].append(classify(text).kind == "read")
    shares = [sum(found) / len(found) for found in by_program.values()]
    assert sum(shares) / len(shares) >= LEAST_ACCEPTED


@requirement("shell:secrets")
def test_every_look_at_a_secret_is_named_as_one() -> None:
    assert [text for text in commands("secrets") if not classify(text).sensitive] == []

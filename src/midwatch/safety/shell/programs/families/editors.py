"""Editors: they wait for someone to type, and what they are told could be anything."""

from midwatch.safety.shell.programs.answers import changes
from midwatch.safety.shell.programs.build import collect
from midwatch.safety.shell.programs.model import Judgement, Rewrite
from midwatch.safety.shell.verdict import Category
from midwatch.safety.shell.words import Word


def _edit(name: str, words: tuple[Word, ...]) -> Judgement:
    """Showing the files instead is what a reader wants."""
    refused = changes("program:writes", name, endless=Category.PAGER)
    files = tuple(word for word in words if not word.text.startswith(("-", "+")))
    return Judgement(refused.finding, rewrite=Rewrite(program="cat"), operands=files)


PROGRAMS = collect(("vim vi nvim view vimdiff rvim nano pico emacs emacsclient ed ex joe mcedit micro", _edit))

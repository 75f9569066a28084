"""Builds models from their short notation."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, TypedDict, Unpack

from midwatch.safety.shell.programs.model import (
    REPEATS,
    Arity,
    Check,
    Meaning,
    Operands,
    Option,
    Program,
    Rewrite,
    Special,
    Style,
)
from midwatch.safety.shell.verdict import Category, Risk


class Notation(TypedDict, total=False):
    """The keywords of `program` and `verb`; the text of `model` says what each means."""

    flags: str
    values: str
    optional: str
    paths: str
    hosts: str
    urls: str
    writes: str
    destroys: str
    foreign: str
    operands: str
    operands_with: Mapping[str, str]
    verbs: "Mapping[str, Program]"
    default_verb: str
    inherit: bool
    style: Style
    digits: bool
    inert: bool
    conditional: bool
    needs: str
    follow: str
    bounds: str
    tty: str
    endless: Category
    interval: bool
    names_only: bool
    sensitive: str
    reveals: Mapping[str, str]
    rewrite: Rewrite
    check: Check
    risk: Risk


_LISTS: tuple[tuple[str, Option], ...] = (
    ("flags", Option(Arity.NONE)),
    ("values", Option(Arity.ONE)),
    ("optional", Option(Arity.ATTACHED)),
    ("paths", Option(Arity.ONE, Meaning.PATH)),
    ("hosts", Option(Arity.ONE, Meaning.HOST)),
    ("urls", Option(Arity.ONE, Meaning.URL)),
    ("writes", Option(Arity.NONE, Meaning.WRITE)),
    ("destroys", Option(Arity.NONE, Meaning.DESTROY)),
    ("foreign", Option(Arity.NONE, Meaning.FOREIGN)),
)
_SETS: tuple[Literal["needs", "follow", "bounds", "tty"], ...] = ("needs", "follow", "bounds", "tty")


def verb(**notation: Unpack[Notation]) -> Program:
    """The model of one verb, or of a whole program."""
    options = _read_options(notation)
    needs, follow, bounds, tty = (frozenset(_read_names(notation, notation.get(name, ""))) for name in _SETS)
    listed = options.keys() | ({"-NUM"} if notation.get("digits") else set[str]())
    _refuse_unlisted(listed, (needs, follow, bounds, tty))
    return Program(
        options=options,
        operands=read_operands(notation.get("operands", "")),
        operands_with=tuple(
            (frozenset(names.split()), read_operands(text)) for names, text in notation.get("operands_with", {}).items()
        ),
        verbs=spread(notation.get("verbs", {})),
        default_verb=notation.get("default_verb"),
        inherit=notation.get("inherit", False),
        style=notation.get("style", "gnu"),
        digits=notation.get("digits", False),
        inert=notation.get("inert", False),
        conditional=notation.get("conditional", False),
        endless=notation.get("endless"),
        interval=notation.get("interval", False),
        names_only=notation.get("names_only", False),
        sensitive=notation.get("sensitive", ""),
        reveals=notation.get("reveals", {}),
        rewrite=notation.get("rewrite"),
        check=notation.get("check"),
        risk=notation.get("risk", Risk.MEDIUM),
        needs=needs,
        follow=follow,
        bounds=bounds,
        tty=tty,
    )


def change(*, risk: Risk = Risk.MEDIUM) -> Program:
    """A verb or program that is known to change something."""
    return Program(operands=read_operands("text*"), writes=True, risk=risk)


def program(names: str, **notation: Unpack[Notation]) -> tuple[str, Program]:
    """One program under all its names."""
    return names, verb(**notation)


def collect(*programs: tuple[str, Program | Special]) -> dict[str, Program | Special]:
    """The programs of a family by name."""
    found: dict[str, Program | Special] = {}
    for names, model in programs:
        for name in names.split():
            if name in found:
                raise ValueError(f"{name} is described twice")
            found[name] = model
    return found


def spread(verbs: Mapping[str, Program]) -> dict[str, Program]:
    return {name: model for names, model in verbs.items() for name in names.split()}


def read_operands(text: str) -> Operands:
    parts = text.split()
    meanings = tuple(Meaning(part.rstrip("?*+")) for part in parts)
    repeats = bool(parts) and (parts[-1].endswith(("*", "+")) or meanings[-1] in {Meaning.ARGV, Meaning.SHELL})
    return Operands(meanings, REPEATS if repeats else len(parts))


def _read_options(notation: Notation) -> dict[str, Option]:
    options: dict[str, Option] = {}
    for key, option in _LISTS:
        for name in _read_names(notation, str(notation.get(key, ""))):
            if name in options:
                raise ValueError(f"{name} is listed twice")
            if not name.startswith(("-", "+")):
                raise ValueError(f"{name} is no option")
            options[name] = option
    return options


def _read_names(notation: Notation, text: str) -> list[str]:
    """Where one dash and two mean the same, one is how they are kept."""
    single = notation.get("style") == "single"
    return ["-" + name.lstrip("-") if single and name.startswith("-") else name for name in text.split()]


def _refuse_unlisted(listed: AbstractSet[str], sets: Iterable[frozenset[str]]) -> None:
    for names in sets:
        if unlisted := names - listed:
            raise ValueError(f"{sorted(unlisted)} are not among the options")

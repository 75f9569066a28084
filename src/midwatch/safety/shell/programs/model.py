"""How a program is described: which options and operands it may have and still only read. Data, not code.

A family file in `families/` holds `PROGRAMS`, made with `collect(program(...), ...)` of `build`. Everything that is
not named in a model makes the command a write: options are an allow-list, verbs are an allow-list, operands have a
number and a meaning.

Options, each keyword a text of names separated by blanks, `-x` or `--long`, every name in one keyword only:

- `flags`     without a value
- `values`    with one value, next word or attached (`-n5`, `--lines=5`), that is harmless: a number, pattern, format,
  name
- `optional`  with a value only when attached (`--color`, `--color=always`, `-w72`)
- `paths`     with one value that is a file or folder read; `hosts`, `urls` with a machine or address it talks to
- `writes`    change something (medium risk); `destroys`: high risk; their values need no description
- `foreign`   name another configuration, server, socket, plug-in or program, which could do anything: a write

Names from these lists may stand again in `needs` (reads only with one of these), `follow` (never ends with one of
these), `bounds` (ends with one of these), `tty` (wants a terminal). `digits` allows `-20`, which such lists call
`-NUM`.

`operands` is a text such as `"text path*"`: the meaning of each operand in order, the last with `*` or `+` if it
repeats. More operands than that are a write. Meanings: text, number, plus (`+FORMAT`), path, host, url,
container, pod, guest, node, argv (the rest is a program and its arguments), shell (the rest is text for a shell).
Without `operands` there may be none. `operands_with={"-e --regexp": "path*"}` gives another text when one of these
options is there.

`verbs` maps names (`"status show"`) to models made with `verb(...)`, or to `change(risk=...)` when they are known to
write. Options before the verb are those of the outer model; with `inherit=True` they may stand behind it too.
`default_verb` is what is meant when none is given.

Claims: `inert` (no option or operand of any version writes, runs or connects; only then may words that the shell
alone knows, `$x` or `*`, stand anywhere), `names_only` (shows names and sizes of files, never what is in them),
`conditional` (reading was shown by looking at content), `sensitive="what"` (every call shows secrets),
`reveals={"-E": "what"}` (an option does). `endless` (never ends unless one of `bounds` is there), `interval`
(operands are `[interval [count]]`), `rewrite` (how to make it end), `risk` (of a call not shown to read). `style`:
`"gnu"` (default), `"stop"` (options end at the first operand), `"single"` (`-name` is one option, one or two dashes
mean the same). `check` is a function for what data cannot say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, NamedTuple

from midwatch.safety.shell.verdict import Category, Finding, Risk
from midwatch.safety.shell.words import Word


class Arity(Enum):
    NONE = auto()
    ONE = auto()
    ATTACHED = auto()


class Meaning(Enum):
    TEXT = "text"
    NUMBER = "number"
    PLUS = "plus"
    PATH = "path"
    HOST = "host"
    URL = "url"
    CONTAINER = "container"
    POD = "pod"
    GUEST = "guest"
    NODE = "node"
    ARGV = "argv"
    SHELL = "shell"
    WRITE = "write"
    DESTROY = "destroy"
    FOREIGN = "foreign"


Style = Literal["gnu", "stop", "single"]
REPEATS = 10_000
TARGETS = frozenset({Meaning.CONTAINER, Meaning.POD, Meaning.GUEST, Meaning.NODE})
NESTED = frozenset({Meaning.ARGV, Meaning.SHELL})


@dataclass(frozen=True, slots=True)
class Option:
    arity: Arity
    meaning: Meaning = Meaning.TEXT


@dataclass(frozen=True, slots=True)
class Operands:
    meanings: tuple[Meaning, ...]
    most: int

    def meaning_of(self, position: int) -> Meaning:
        return self.meanings[min(position, len(self.meanings) - 1)]

    @property
    def last(self) -> Meaning | None:
        return self.meanings[-1] if self.meanings else None


@dataclass(frozen=True, slots=True)
class Call:
    """A command read by its model, for `check` functions."""

    program: str
    options: Mapping[str, tuple[Word | None, ...]]
    operands: tuple[Word, ...]

    def has(self, names: str) -> bool:
        return any(name in self.options for name in names.split())

    def values(self, names: str) -> tuple[Word, ...]:
        return tuple(word for name in names.split() for word in self.options.get(name, ()) if word is not None)


Check = Callable[[Call], Finding | None]
"""Says what is special about this call (a finding replaces the model's), or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """How to make an endless call of this program end."""

    add: tuple[str, ...] = ()
    """Stands where the first following option stood; the following options go."""
    whole: str = ""
    """Stands instead of the call."""
    program: str = ""
    """Stands instead of the program's name, its options dropped."""
    pipe: str = ""
    """Appended behind a pipe."""
    inner: bool = False
    """The command it runs again and again stands instead of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    operands: Operands
    operands_with: tuple[tuple[frozenset[str], Operands], ...] = ()
    verbs: Mapping[str, "Program"] = field(default_factory=dict[str, "Program"])
    default_verb: str | None = None
    inherit: bool = False
    style: Style = "gnu"
    digits: bool = False
    inert: bool = False
    conditional: bool = False
    needs: frozenset[str] = frozenset()
    follow: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()
    tty: frozenset[str] = frozenset()
    endless: Category | None = None
    interval: bool = False
    names_only: bool = False
    sensitive: str = ""
    """What every call of it shows that is secret."""
    reveals: Mapping[str, str] = field(default_factory=dict[str, str])
    """What an option shows that is secret."""
    rewrite: Rewrite | None = None
    check: Check | None = None
    writes: bool = False
    risk: Risk = Risk.MEDIUM


@dataclass(frozen=True, slots=True)
class Nested:
    """A command that a command runs."""

    words: tuple[Word, ...]
    text: bool = False
    """The words, joined by blanks, are text for a shell; otherwise they are program and arguments."""
    targets: tuple[str, ...] = ()
    """Where it runs, as `kind:name`, when that is somewhere else."""
    conditional: bool = False
    """What runs there is not known for certain to be what it is called."""
    more: bool = False
    """Further words, not known here, are appended when it runs."""
    timed: bool = False
    """Something ends it."""
    bash: bool = True
    """The shell that reads the text is bash."""


class Judgement(NamedTuple):
    finding: Finding
    nested: tuple[Nested, ...] = ()
    rewrite: Rewrite | None = None
    endless: tuple[tuple[str, Word], ...] = ()
    """The options that make it endless, each with the word it stands in."""
    operands: tuple[Word, ...] = ()
    names_only: bool = False
    """It shows nothing of what is in the files it is given."""


Special = Callable[[str, tuple[Word, ...]], Judgement]
"""A program with a small model of its own: gets its name and words, says what it does."""

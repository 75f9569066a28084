"""What others told: results, alert, runbook, earlier analyses; asked whether it says that something happened."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from midwatch.safety.claims.actions import Action, Family
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import Names, may_be_same, stems_of
from midwatch.safety.claims.quantities import KnownQuantities, Quantity

_BEFORE: Final = 60
_AROUND: Final = 240
_MOST_HITS: Final = 60
WITHHELD: Final = "[Withheld:"
"""What stands where a claim stood begins like this."""
MARKED: Final = ("[Not confirmed", "[Not found")
"""What stands behind an unsupported statement."""
OURS: Final = re.compile(r"\[(?:Withheld:|Not confirmed|Not found)[^\]\n]{0,400}\]")
_LONGEST_MARKED: Final = 400
_NAME: Final = re.compile(r"\w(?:[\w.-]*\w)?")

_TRACES: Final[Mapping[str, tuple[str, ...]]] = {
    "restart": ("started container", "back-off restarting", "restart counter is at", "scheduled restart"),
    "kill": ("oomkilled", "killing", "sigkill", "sigterm", "exit code 137", "oom-kill"),
    "terminate": ("oomkilled", "killing", "sigkill", "sigterm", "exit code 137", "oom-kill", "killed"),
    "stop": ("deactivated",),
    "start": ("successfulcreate",),
    "create": ("successfulcreate",),
    "delete": ("successfuldelete",),
    "scale": ("successfulrescale",),
}
"""What logs and events write instead of the verb."""
_FAMILY_TRACES: Final[Mapping[Family, tuple[str, ...]]] = {
    Family.DEPLOY: ("deployed", "rolled out", "released", "synced", "upgraded"),
    Family.DELETE: ("deleted", "removed", "purged"),
    Family.START: ("enabled", "turned on", "switched on", "to on", "to true"),
    Family.STOP: ("disabled", "turned off", "switched off", "to off", "to false"),
}
_ENDS: Final = ("completed", "complete", "succeeded", "finished", "started", "triggered", "initiated")
"""What they write behind the name of an action: `failover completed`."""


class Evidence:
    def __init__(self, texts: Sequence[str], lexicon: Lexicon) -> None:
        self._texts = [_leave_ours_out(text) for text in texts]
        self._lexicon = lexicon
        self._told: dict[tuple[object, ...], bool] = {}
        self._numbers: dict[str, bool] = {}
        self._quantities: KnownQuantities | None = None

    @cached_property
    def low(self) -> str:
        return "\n\n".join(self._texts).lower()

    def has(self, text: str) -> bool:
        return text in self.low

    def has_quantity(self, quantity: Quantity) -> bool:
        """As it is written, or rounded or in another unit. Once one is not found as written, all are gathered."""
        if self._quantities is None:
            if self.has_number(quantity.digits):
                return True
            self._quantities = KnownQuantities(self.low)
        return self._quantities.has(quantity) or self.has_number(quantity.digits)

    def has_number(self, number: str) -> bool:
        """As it is written, with or without a fraction of zeros."""
        if number not in self._numbers:
            self._numbers[number] = any(_stands_alone(self.low, at, at + len(number)) for at in self._find(number))
        return self._numbers[number]

    def tells(self, action: Action, names: Names, *, figures: Sequence[str] = ()) -> bool:
        """Whether the action is told there as something that happened to what is named, or to such a thing."""
        key = (action, names, *figures)
        if key not in self._told:
            self._told[key] = self._find_told(action, names, figures)
        return self._told[key]

    def _find_told(self, action: Action, names: Names, figures: Sequence[str]) -> bool:
        wanted = names.all() or self._nouns_of(names.kinds) or names.nouns
        if not self._may_speak_of(wanted) or not all(self.has_number(figure) for figure in figures):
            return False
        named = (f"{noun} {end}" for noun in action.nouns for end in _ENDS)
        traces = (*action.spellings, *_TRACES.get(action.lemma, ()), *_FAMILY_TRACES.get(action.family, ()), *named)
        return any(self._is_about(at, wanted) for trace in traces for at in self._find(trace))

    def mentions(self, names: Iterable[str], words: Iterable[str]) -> bool:
        """Whether one of the words stands near one of the names, or at all when nothing is named."""
        wanted = frozenset(names)
        if not self._may_speak_of(wanted):
            return False
        return any(self._is_about(at, wanted, is_told=True) for word in words for at in self._find(word))

    def _may_speak_of(self, names: frozenset[str]) -> bool:
        return not names or any(part in self.low for name in names for part in stems_of(name))

    def _lines_around(self, at: int) -> tuple[int, int]:
        """The line, and its neighbours in the same text, as far as they are near."""
        begin, end = max(at - _AROUND, 0), at + _AROUND
        text = self.low.rfind("\n\n", begin, at)
        above = self.low.rfind("\n", begin, max(self.low.rfind("\n", begin, at), begin))
        below = self.low.find("\n", self.low.find("\n", at, end) + 1 or end, end)
        next_text = self.low.find("\n\n", at, end)
        ends = [place for place in (below, next_text) if place >= 0]
        return max(begin, text, above), min([end, *ends])

    def _nouns_of(self, kinds: frozenset[str]) -> frozenset[str]:
        return frozenset(noun for noun, kind in self._lexicon.kinds.items() if kind in kinds)

    def _find(self, trace: str) -> Iterator[int]:
        at = self.low.find(trace)
        for _ in range(_MOST_HITS):
            if at < 0:
                return
            yield at
            at = self.low.find(trace, at + len(trace))

    def _is_about(self, at: int, names: frozenset[str], *, is_told: bool = False) -> bool:
        line = self.low.rfind("\n", max(at - _BEFORE, 0), at) + 1 or max(at - _BEFORE, 0)
        if not is_told and self._lexicon.refuted.search(self.low, line, at):
            return False
        if not names:
            return True
        around = self.low[slice(*self._lines_around(at))]
        if not any(part in around for name in names for part in stems_of(name)):
            return False
        others = set(_NAME.findall(around))
        return any(may_be_same(name, other) for name in names for other in others)


def _stands_alone(text: str, begin: int, end: int) -> bool:
    """Neither digits around it, nor a fraction behind it that is not zero."""
    if text[end : end + 1].isdigit() or text[max(begin - 1, 0) : begin].isdigit():
        return False
    before, after = text[max(begin - 2, 0) : begin], text[end : end + 4]
    if before[-1:] in (".", ",") and before[:1].isdigit():
        return False
    fraction = after[1:2].isdigit() and after[:1] == "."
    return not fraction or after[1:].rstrip(" \n,;%").strip("0") == ""


def _leave_ours_out(text: str) -> str:
    """What we wrote ourselves, with the sentence it is about, is no evidence."""
    if WITHHELD not in text and not any(mark in text for mark in MARKED):
        return text
    pieces: list[str] = []
    at = 0
    for match in OURS.finditer(text):
        begin = match.start()
        if not match.group().startswith(WITHHELD):
            before = text[max(begin - _LONGEST_MARKED, at) : begin].rstrip(" .!?")
            begin -= len(text[max(begin - _LONGEST_MARKED, at) : begin]) - 1 - max(before.rfind(end) for end in ".!?\n")
        pieces.append(text[at : max(begin, at)])
        at = match.end()
    return "".join([*pieces, text[at:]])

"""What others told: results, alert, runbook, earlier analyses. Asked whether something is said there to have happened."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from midwatch.safety.claims.lexicon import Action, Family, Lexicon
from midwatch.safety.claims.names import Names, may_be_same
from midwatch.safety.claims.quantities import Quantity, find_quantities

_BEFORE: Final = 60
_AROUND: Final = 240
_MOST_HITS: Final = 200
_MOST_NUMBERS: Final = 20_000
_OURS: Final = re.compile(r"\[Withheld:[^\]]*\]|[^\n.!?]*[.!?]?[ \t]*\[(?:Not confirmed|Not found)[^\]]*\]")
"""What we wrote ourselves, with the sentence it is about, is no evidence."""
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
_FAMILY_TRACES: Final[Mapping[Family, tuple[str, ...]]] = {Family.DEPLOY: ("deployed", "rolled out", "released")}


class Evidence:
    def __init__(self, texts: Sequence[str], lexicon: Lexicon) -> None:
        self._texts = [_OURS.sub("", text) if "[" in text else text for text in texts]
        self._lexicon = lexicon

    @cached_property
    def low(self) -> str:
        return "\n\n".join(self._texts).lower()

    @cached_property
    def quantities(self) -> Sequence[Quantity]:
        return list(islice(find_quantities(self.low, is_evidence=True), _MOST_NUMBERS))

    def has(self, text: str) -> bool:
        return text in self.low

    def has_number(self, number: str) -> bool:
        """As it is written, with or without a fraction of zeros."""
        return re.search(rf"(?<![\d.]){re.escape(number)}(?:\.0+)?(?![\d]|\.\d)", self.low) is not None

    def tells(self, action: Action, names: Names, *, figures: Sequence[str] = ()) -> bool:
        """Whether the action is told there as something that happened to what is named, or to such a thing."""
        wanted = names.all() or self._nouns_of(names.kinds) or names.nouns
        if not all(self.has_number(figure) for figure in figures):
            return False
        traces = (*action.spellings, *_TRACES.get(action.lemma, ()), *_FAMILY_TRACES.get(action.family, ()))
        return any(self._is_about(at, wanted) for trace in traces for at in self._find(trace))

    def mentions(self, names: Iterable[str], words: Iterable[str]) -> bool:
        """Whether one of the words stands near one of the names, or at all when nothing is named."""
        wanted = frozenset(names)
        return any(self._is_about(at, wanted, is_told=True) for word in words for at in self._find(word))

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
        around = set(_NAME.findall(self.low, *self._lines_around(at)))
        return any(may_be_same(name, other) for name in names for other in around)

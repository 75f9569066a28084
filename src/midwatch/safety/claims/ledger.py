"""Whether an action that is claimed stands among the deeds: its sort, its target, and what came of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from midwatch.domain.tools import ToolKind
from midwatch.safety.claims.actions import Action, Family, word_set
from midwatch.safety.claims.acts import Act, read_deed
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import Names, may_be_same
from midwatch.safety.machine import Outcome

_SATISFIED_BY: Final[Mapping[Family, frozenset[Family]]] = {
    Family.RESTART: frozenset({Family.RESTART, Family.START, Family.DEPLOY}),
    Family.START: frozenset({Family.START, Family.RESTART, Family.SCALE, Family.DEPLOY}),
    Family.STOP: frozenset({Family.STOP, Family.DELETE, Family.SCALE}),
    Family.DELETE: frozenset({Family.DELETE}),
    Family.SCALE: frozenset({Family.SCALE, Family.CHANGE}),
    Family.ROLLBACK: frozenset({Family.ROLLBACK, Family.DEPLOY}),
    Family.DEPLOY: frozenset({Family.DEPLOY, Family.CHANGE}),
    Family.CHANGE: frozenset({Family.CHANGE, Family.DEPLOY, Family.SCALE, Family.ACCESS, Family.MOVE}),
    Family.MOVE: frozenset({Family.MOVE, Family.CHANGE, Family.SCALE}),
    Family.ACCESS: frozenset({Family.ACCESS, Family.CHANGE}),
    Family.NOTIFY: frozenset({Family.NOTIFY}),
    Family.SILENCE: frozenset({Family.SILENCE, Family.CHANGE}),
}
"""Families that are not named are satisfied by any change."""
_ONLY_BY: Final[Mapping[str, frozenset[str]]] = {
    lemma: word_set(f"{words} patch apply set edit update put")
    for lemma, words in {
        "drain": "drain evict",
        "cordon": "cordon drain taint",
        "uncordon": "uncordon untaint",
        "fail": "failover promote switch switchover",
        "promote": "promote failover switch switchover",
        "grant": "grant allow",
    }.items()
}
"""What no other deed of the same family amounts to: who has cordoned has not drained."""
_OPPOSITES: Final = tuple(
    word_set(pair)
    for pair in (
        "block unblock",
        "lock unlock",
        "grant revoke",
        "mount unmount",
        "attach detach",
        "cordon uncordon",
        "increase decrease",
        "promote demote",
        "mute unmute",
        "open close",
    )
)
_UNLIKE_OTHERS: Final = frozenset({"database", "cache", "queue", "certificate", "volume"})
"""Who says "the database" means no deed that speaks of something else."""
_ENDING: Final = word_set("kill pkill killall terminate cancel abort")
_TAKING_OUT: Final = word_set("take cut pull")
_BY_FIGURES: Final = (Family.SCALE, Family.ROLLBACK)
_NO_CHANGE: Final = "no change was made"
_HOST: Final = "host"
_HOSTS: Final = frozenset({_HOST})
_OF_MACHINES: Final = ("reboot", "powercycle", "boot")
_UNDONE: Final[Mapping[Outcome, str]] = {
    Outcome.NOT_SENT: "the call was turned down and never sent",
    Outcome.FAILED: "the call failed",
    Outcome.UNKNOWN: "the outcome of the call is unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is said to have been done, and to what."""

    action: Action
    names: Names
    places: Names
    scopes: Sequence[tuple[str, str]] = ()
    """What it is said to lie in: `namespace`, `shop`."""
    goals: Sequence[str] = ()
    """Names and versions it is said to have been changed to."""
    figures: Sequence[str] = ()


class Ledger:
    """The changes among the deeds, ready to be asked."""

    def __init__(self, deeds: Sequence[Deed], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._acts = [read_deed(deed, lexicon) for deed in deeds if deed.kind is ToolKind.WRITE]

    def find_flaw(self, claim: Claim) -> str | None:
        """Why the action is not on record; None when it is."""
        if not self._acts:
            return _NO_CHANGE
        fitting = [act for act in self._acts if _fits_action(act, claim.action)]
        here = [act for act in fitting if self._is_there(act, claim) and _fits_goals(act, claim)]
        for group in claim.names.groups or (frozenset[str](),):
            meant = [act for act in here if _fits_names(act, group) and self._fits_sort(act, claim, group)]
            if flaw := self._find_flaw(fitting, meant):
                return flaw
        return None

    def _fits_sort(self, act: Act, claim: Claim, group: frozenset[str]) -> bool:
        """Who names nothing in particular, but says "the host" or "the database", means something of that sort."""
        kinds = claim.names.kinds
        if claim.action.lemma in _OF_MACHINES or (not group and kinds == _HOSTS):
            return _may_be_host(act, self._lexicon)
        meant = frozenset[str]() if group else kinds & _UNLIKE_OTHERS
        return not meant or not act.sorts or not act.sorts.isdisjoint(meant)

    def _is_there(self, act: Act, claim: Claim) -> bool:
        """A place that is on record must be the deed's; web-2 is not web-1; any other place may go without saying."""
        for scope, name in claim.scopes:
            given = act.deed.arguments.get(scope)
            if isinstance(given, str) and not may_be_same(name, given.lower()):
                return False
        for place in claim.places.all():
            if _fits_name(act, place):
                continue
            if any(_fits_name(other, place) for other in self._acts) or _is_sibling(act, place):
                return False
        return True

    def _find_flaw(self, fitting: Sequence[Act], meant: Sequence[Act]) -> str | None:
        if any(act.deed.is_done for act in meant):
            return None
        if meant:
            return f"{_UNDONE[meant[-1].deed.outcome]} ({meant[-1].deed.tool})"
        if any(act.deed.is_done for act in fitting):
            return "what was changed is another target"
        if any(act.deed.is_done for act in self._acts):
            return "what was done is another action"
        return _NO_CHANGE


def _fits_action(act: Act, action: Action) -> bool:
    """A deed that does not say what it does may have done anything."""
    if not act.families:
        return True
    wanted = _SATISFIED_BY.get(action.family)
    if wanted is not None and wanted.isdisjoint(act.families) and not _amounts_to(act, action):
        return False
    only_by = _ONLY_BY.get(action.lemma)
    if only_by is not None and only_by.isdisjoint(act.words):
        return False
    return not any(action.lemma in pair and act.words & pair == pair - {action.lemma} for pair in _OPPOSITES)


def _amounts_to(act: Act, action: Action) -> bool:
    """Who kills a process has removed it; what is drained is taken out."""
    if action.family is Family.DELETE:
        return bool(act.words & _ENDING)
    return action.lemma in _TAKING_OUT and Family.MOVE in act.families


def _fits_names(act: Act, names: frozenset[str]) -> bool:
    return not names or any(_fits_name(act, name) for name in names)


def _fits_name(act: Act, name: str) -> bool:
    if not act.has_target or name in act.names:
        return True
    if _is_sibling(act, name):
        return False
    if any(may_be_same(name, other) for other in act.names):
        return True
    return any(_may_be_meant(name, other) for other in act.tool_names)


def _may_be_meant(name: str, tool: str) -> bool:
    """By the name of a tool: flush_cache says nothing of cache-2."""
    return name == tool or (may_be_same(name, tool) and not any(character.isdigit() for character in name))


def _fits_goals(act: Act, claim: Claim) -> bool:
    """Set to relay-3, when relay-2 was asked for, or scaled to 6 instead of 5, is another deed."""
    if any(goal not in act.names and _is_sibling(act, goal) for goal in claim.goals):
        return False
    if claim.action.family not in _BY_FIGURES or not claim.figures:
        return True
    known = {text for text in act.deed.texts() if text.isdigit()}
    return not known or not known.isdisjoint(claim.figures)


def _may_be_host(act: Act, lexicon: Lexicon) -> bool:
    """A machine is said to be meant: a deed to a service is another one."""
    kinds = {lexicon.kinds.get(target.partition(":")[0]) for target in act.deed.targets}
    return _HOST in kinds or None in kinds or not kinds


def _is_sibling(act: Act, place: str) -> bool:
    """The claim says web-2 and the deed web-1: numbered like each other."""
    skeleton = _skeleton(place)
    return "#" in skeleton and any(_skeleton(name) == skeleton for name in act.names)


def _skeleton(name: str) -> str:
    return re.sub(r"\d+", "#", name)

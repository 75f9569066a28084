"""Whether an action that is claimed stands among the deeds: its sort, its target, and what came of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from midwatch.domain.tools import ToolKind
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.lexicon import Family, Lexicon
from midwatch.safety.claims.names import Names, cut_names, find_names, may_be_same
from midwatch.safety.claims.paraphrases import Assertion
from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.machine import Outcome

_WORD: Final = re.compile(r"[a-z][a-z0-9]*")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_TOOL_WORDS: Final[Mapping[Family, str]] = {
    Family.RESTART: "restart reboot reload bounce recycle reset powercycle cycle relaunch",
    Family.START: "start boot launch resume unpause enable activate run up",
    Family.STOP: "stop shutdown halt kill pkill killall terminate pause suspend disable poweroff down cancel abort",
    Family.DELETE: "delete remove rm purge prune clear clean cleanup wipe flush flushall flushdb truncate drop evict "
    "free "
    "vacuum uninstall revoke destroy unlink trim del erase expire invalidate logrotate compress gzip archive",
    Family.SCALE: "scale resize replicas autoscale rescale increase decrease expand extend lvextend resize2fs grow add "
    "allocate provision",
    Family.ROLLBACK: "rollback undo revert restore downgrade backout",
    Family.DEPLOY: "deploy redeploy rollout install upgrade update patch apply create push publish release sync merge "
    "build "
    "rebuild recreate provision helm",
    Family.CHANGE: "set edit modify change configure config write append replace patch update apply tune adjust put "
    "sed "
    "rename swap mount umount label annotate toggle copy insert alter sysctl reindex",
    Family.MOVE: "drain cordon uncordon taint failover promote demote migrate move rebalance reroute switch evict "
    "reschedule isolate shift redirect rerun requeue replay",
    Family.ACCESS: "rotate renew revoke grant block unblock ban allow lock unlock regenerate reissue chmod chown "
    "iptables ufw "
    "certbot whitelist",
    Family.NOTIFY: "notify page escalate email message send post comment slack ticket issue incident ping alert "
    "create open",
    Family.SILENCE: "ack acknowledge silence mute snooze close dismiss suppress resolve",
}
_BY_WORD: Final[dict[str, set[Family]]] = {}
for _family, _tool_words in _TOOL_WORDS.items():
    for _tool_word in _tool_words.split():
        _BY_WORD.setdefault(_tool_word, set()).add(_family)

_SATISFIED_BY: Final[Mapping[Family, frozenset[Family]]] = {
    Family.RESTART: frozenset({Family.RESTART, Family.START, Family.DEPLOY}),
    Family.START: frozenset({Family.START, Family.RESTART, Family.SCALE, Family.DEPLOY}),
    Family.STOP: frozenset({Family.STOP, Family.DELETE, Family.SCALE, Family.MOVE}),
    Family.DELETE: frozenset({Family.DELETE, Family.STOP, Family.MOVE}),
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
_COMES_BACK: Final = {"pod", "pods", "container", "task"}
"""What is started anew when it is deleted."""
_NO_CHANGE: Final = "no change was made"
_HOST: Final = "host"
_HOSTS: Final = frozenset({_HOST})
_OF_MACHINES: Final = ("reboot", "powercycle", "boot")
_UNDONE: Final[Mapping[Outcome, str]] = {
    Outcome.NOT_SENT: "the call was turned down and never sent",
    Outcome.FAILED: "the call failed",
    Outcome.UNKNOWN: "the outcome of the call is unknown",
}


@dataclass(frozen=True, slots=True)
class _Entry:
    deed: Deed
    families: frozenset[Family]
    names: frozenset[str]
    has_target: bool


class Ledger:
    """The changes among the deeds, ready to be asked."""

    def __init__(self, deeds: Sequence[Deed], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._entries = [_read_deed(deed) for deed in deeds if deed.kind is ToolKind.WRITE]

    def find_flaw(self, assertion: Assertion, names: Names, *, figures: Sequence[str]) -> str | None:
        """Why the action is not on record; None when it is. `figures` are what it is said to have been changed to."""
        if not self._entries:
            return _NO_CHANGE
        places = find_names(assertion.places, lexicon=self._lexicon)
        fitting = [entry for entry in self._entries if _fits_action(entry, assertion.action.family)]
        here = [entry for entry in fitting if self._is_there(entry, places)]
        for group in names.groups or (frozenset[str](),):
            meant = [entry for entry in here if _fits_names(entry, group) and _fits_figures(entry, assertion, figures)]
            if assertion.action.lemma in _OF_MACHINES or (not group and names.kinds == _HOSTS):
                meant = [entry for entry in meant if _may_be_host(entry, self._lexicon)]
            if flaw := self._find_flaw(fitting, meant):
                return flaw
        return None

    def _is_there(self, entry: _Entry, places: Names) -> bool:
        """A place that is on record must be the deed's; web-2 is not web-1; any other place may go without saying."""
        for place in places.all():
            if _fits_names(entry, frozenset({place})):
                continue
            if any(_fits_names(other, frozenset({place})) for other in self._entries) or _is_sibling(entry, place):
                return False
        return True

    def _find_flaw(self, fitting: Sequence[_Entry], meant: Sequence[_Entry]) -> str | None:
        if any(entry.deed.is_done for entry in meant):
            return None
        if meant:
            return f"{_UNDONE[meant[-1].deed.outcome]} ({meant[-1].deed.tool})"
        if any(entry.deed.is_done for entry in fitting):
            return "what was changed is another target"
        if any(entry.deed.is_done for entry in self._entries):
            return "what was done is another action"
        return _NO_CHANGE


def _read_deed(deed: Deed) -> _Entry:
    texts = [*deed.targets, *deed.texts()]
    said = _HUMP.sub(" ", f"{deed.tool.rpartition('.')[2]} {' '.join(deed.texts())}").lower()
    words = set(_WORD.findall(said))
    families = {family for word in words for family in _BY_WORD.get(word, ())}
    if Family.DELETE in families and words & _COMES_BACK:
        families.add(Family.RESTART)
    named = [target for target in deed.targets if not target.startswith(SERVER_PREFIX)]
    has_target = bool(named) or any(text and not text.isdigit() for text in deed.texts())
    return _Entry(deed, frozenset(families), cut_names([*texts, deed.tool, deed.tool.replace("_", " ")]), has_target)


def _fits_action(entry: _Entry, family: Family) -> bool:
    """A deed that does not say what it does may have done anything."""
    wanted = _SATISFIED_BY.get(family)
    return wanted is None or not entry.families or bool(wanted & entry.families)


def _fits_names(entry: _Entry, names: frozenset[str]) -> bool:
    if not names or not entry.has_target:
        return True
    return any(may_be_same(name, other) for name in names for other in entry.names)


def _fits_figures(entry: _Entry, assertion: Assertion, figures: Sequence[str]) -> bool:
    """Scaled to 6, when 5 were asked for, is another deed."""
    if assertion.action.family is not Family.SCALE or not figures:
        return True
    known = {text for text in entry.deed.texts() if text.isdigit()}
    return not known or bool(known.intersection(figures))


def _may_be_host(entry: _Entry, lexicon: Lexicon) -> bool:
    """A machine is said to be meant: a deed to a service is another one."""
    kinds = {lexicon.kinds.get(target.partition(":")[0]) for target in entry.deed.targets}
    return _HOST in kinds or None in kinds or not kinds


def _is_sibling(entry: _Entry, place: str) -> bool:
    """The claim says web-2 and the deed web-1: numbered like each other."""
    skeleton = _skeleton(place)
    return "#" in skeleton and any(_skeleton(name) == skeleton for name in entry.names)


def _skeleton(name: str) -> str:
    return re.sub(r"\d+", "#", name)

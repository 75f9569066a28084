"""What to ask next: from the symptom and from what was found so far. Never the same call twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from midwatch.llm.demo.case import Case, Problem, Topic, Wish
from midwatch.llm.demo.lines import find_hints
from midwatch.llm.demo.needs import PROFILES, Need
from midwatch.llm.demo.observations import Exchange, sign
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import CALLS_AT_ONCE, ROUNDS_OF_CALLS
from midwatch.llm.demo.toolbox import Chosen, Toolbox
from midwatch.llm.demo.topics import container, cpu, daemon, disk, kernel, log, memory, port

TOPICS: Mapping[Symptom, Topic] = {
    module.TOPIC.symptom: module.TOPIC for module in (port, disk, memory, container, daemon, cpu, log, kernel)
}
_LOOK_AROUND = "So I look around for whatever is out of bounds."
_GENERAL = (
    Wish(need=Need.DISKS, why=_LOOK_AROUND),
    Wish(need=Need.MEMORY, why=_LOOK_AROUND),
    Wish(need=Need.LOAD, why=_LOOK_AROUND),
    Wish(need=Need.SERVICES, arguments={"state": "failed"}, why=_LOOK_AROUND),
    Wish(need=Need.KERNEL_MESSAGES, arguments={"lines": 50}, why=_LOOK_AROUND),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    calls: tuple[Chosen, ...] = ()
    reasons: tuple[str, ...] = ()
    untold: tuple[Wish, ...] = ()
    """For which there is no tool."""
    unreached: tuple[Wish, ...] = ()
    """For which there is no turn left."""


def plan_calls(case: Case, exchanges: Sequence[Exchange], *, toolbox: Toolbox) -> Plan:
    """Empty when nothing is left to ask."""
    asked = {exchange.signature for exchange in exchanges}
    wishes = list(_wish_by_symptom(case))
    plan = _choose(case, wishes, toolbox=toolbox, asked=asked)
    if not (plan.calls or plan.unreached or is_confirmed(case)):
        plan = _choose(case, [*wishes, *_wish_around(case)], toolbox=toolbox, asked=asked)
    return replace(plan, untold=tuple(wish for wish in plan.untold if not _was_asked(wish, exchanges)))


def find_problems(case: Case) -> list[Problem]:
    """Those the alert speaks of first, and among them those whose cause is known."""
    order = (*case.symptoms, *(symptom for symptom in TOPICS if symptom not in case.symptoms))
    found = [problem for topic in TOPICS.values() for problem in topic.find(case)]
    return sorted(found, key=lambda problem: (order.index(problem.symptom), not problem.explained))


def is_confirmed(case: Case) -> bool:
    return any(problem.symptom in case.symptoms for problem in find_problems(case))


def _wish_by_symptom(case: Case) -> Iterator[Wish]:
    yield Wish(need=Need.OVERVIEW, why="First a look at the machine as a whole.")
    hinted = [hint.symptom for hint in find_hints(case.facts) if hint.symptom]
    for symptom in dict.fromkeys((*case.symptoms, *hinted)):
        if symptom in TOPICS:
            yield from TOPICS[symptom].wish(case)
    if Symptom.UNKNOWN in case.symptoms:
        yield from _GENERAL


def _wish_around(case: Case) -> Iterator[Wish]:
    yield from _GENERAL
    for symptom in dict.fromkeys(problem.symptom for problem in find_problems(case)):
        yield from TOPICS[symptom].wish(case)


def _choose(case: Case, wishes: Sequence[Wish], *, toolbox: Toolbox, asked: set[tuple[str, str]]) -> Plan:
    possible: dict[tuple[str, str], tuple[Chosen, Wish]] = {}
    untold: list[Wish] = []
    for wish in wishes:
        chosen = toolbox.choose(wish.need, wish.arguments)
        if chosen is None:
            untold.append(wish)
        elif (signature := sign(chosen.name, chosen.arguments)) not in asked:
            possible.setdefault(signature, (chosen, wish))
    picked = list(possible.values())
    if case.rounds >= ROUNDS_OF_CALLS:
        return Plan(untold=tuple(untold), unreached=tuple(wish for _, wish in picked))
    return Plan(
        calls=tuple(chosen for chosen, _ in picked[:CALLS_AT_ONCE]),
        reasons=tuple(dict.fromkeys(wish.why for _, wish in picked[:CALLS_AT_ONCE])),
        untold=tuple(untold),
    )


def _was_asked(wish: Wish, exchanges: Sequence[Exchange]) -> bool:
    """By the names of the calls: whoever is told to conclude has no tools to compare with any more."""
    profile = PROFILES[wish.need]
    subjects = {str(wish.arguments.get(name)) for name in profile.essential}
    return any(
        exchange.name.partition(".")[2] in {wish.need.value, *profile.aliases}
        and subjects <= set(map(str, exchange.arguments.values()))
        for exchange in exchanges
    )

"""Containers that are not well, and what they said last."""

import re
from collections.abc import Iterator

from midwatch.llm.demo.answers import Container, Containers
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.lines import find_hints, find_trouble
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import CONTAINER_RESTARTS, SUSPECTS
from midwatch.llm.demo.topics.daemon import say_line
from midwatch.llm.demo.wording import build_command, show

_BROKEN = frozenset({"restarting", "dead", "paused", "removing"})
_EXITED_BADLY = re.compile(r"exited \((?!0\))\d+\)", re.IGNORECASE)


def wish(case: Case) -> Iterator[Wish]:
    why = "The alert concerns a container, so I list them, the stopped ones too."
    yield Wish(need=Need.CONTAINERS, arguments={"all": True, "limit": 50}, why=why)
    for container, _ in _broken(case) or _named(case):
        why = f"{show(container.name)} is {show(container.status or container.state or 'not well')}: what did it say?"
        yield Wish(need=Need.CONTAINER_LOGS, arguments={"name": container.name, "lines": 50}, why=why)


def find(case: Case) -> Iterator[Problem]:
    for container, source in _broken(case):
        trouble = [line for line in find_trouble(case.facts) if line.origin == container.name]
        hints = [hint for hint in find_hints(case.facts) if hint.line.origin == container.name]
        told = [_state(container)]
        if hints:
            told.append(f"Its log says why, it seems: {hints[0].meaning} ({show(hints[0].line.text)}).")
        elif trouble:
            told.append(f"The last it said about trouble: {show(trouble[-1].text)}.")
        yield Problem(
            symptom=Symptom.CONTAINER,
            headline=" ".join(told),
            evidence=(Point(source=source, text=_state(container)), *map(say_line, trouble)),
            advice=tuple(_advise(container)),
            explained=bool(hints or trouble),
        )


def read(case: Case) -> Iterator[Point]:
    for container, source in _named(case):
        yield Point(source=source, text=_state(container))
    for seen in case.facts.of(Containers):
        yield Point(source=seen.source, text=f"{len(seen.answer.containers)} containers listed.")


def _all(case: Case) -> list[tuple[Container, str]]:
    return [(container, seen.source) for seen in case.facts.of(Containers) for container in seen.answer.containers]


def _named(case: Case) -> list[tuple[Container, str]]:
    names = [name.lower() for name in (*case.clues.containers, *case.clues.programs)]
    return [pair for pair in _all(case) if any(name in pair[0].name.lower() for name in names)][:SUSPECTS]


def _broken(case: Case) -> list[tuple[Container, str]]:
    """The named ones first. One that was stopped in good order is only broken when the alert names it."""
    named = [pair[0].name for pair in _named(case)]
    found = [pair for pair in _all(case) if _is_broken(pair[0], named=pair[0].name in named)]
    return sorted(found, key=lambda pair: pair[0].name not in named)[:SUSPECTS]


def _is_broken(container: Container, *, named: bool) -> bool:
    state, status = (container.state or "").lower(), (container.status or "").lower()
    if state in _BROKEN or "unhealthy" in status or _EXITED_BADLY.search(status):
        return True
    return (container.restarts or 0) >= CONTAINER_RESTARTS or (named and state in {"exited", "created", "stopped"})


def _state(container: Container) -> str:
    told = f"Container {show(container.name)} is {show(container.state or 'in an unknown state')}"
    if container.status:
        told += f" ({show(container.status)})"
    if container.restarts:
        told += f", restarted {container.restarts:.0f} times"
    return f"{told}."


def _advise(container: Container) -> Iterator[Advice]:
    yield Advice(text="Read its log", command=build_command("docker", "logs", "--tail", "100", container.name))
    yield Advice(text="See how it ended", command=build_command("docker", "inspect", container.name))
    restart = build_command("docker", "restart", container.name)
    yield Advice(
        text="Once the cause is gone, start it again", command=restart, destroys="what it keeps in memory is lost"
    )


TOPIC = Topic(symptom=Symptom.CONTAINER, wish=wish, find=find, read=read)

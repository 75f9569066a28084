"""Services that are down: which, since when, and what their last words were."""

import re
from collections.abc import Iterator

from midwatch.llm.demo.answers import Logs, Overview, Processes, Service, Services
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.lines import Hint, Line, find_hints, find_trouble, list_lines
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import SUSPECTS
from midwatch.llm.demo.topics.port import find_holders, say_holder
from midwatch.llm.demo.wording import build_command, say_details, show

_BROKEN = frozenset({"failed", "stopped", "dead", "inactive", "exited", "crashed", "error", "activating"})
_ALWAYS_BROKEN = frozenset({"failed", "crashed", "error"})
_GENERAL_LOGS = ("syslog", "messages", "daemon.log")
_A_DAY = 24 * 60


def wish(case: Case) -> Iterator[Wish]:
    names = _names(case)
    for name in names:
        why = f"The alert concerns {show(name)}: is it running?"
        yield Wish(need=Need.SERVICES, arguments={"name_contains": name}, why=why)
    if not names:
        why = "Something is said to be down; I ask which services have failed."
        yield Wish(need=Need.SERVICES, arguments={"state": "failed"}, why=why)
    if case.has_looked:
        for name in _broken_names(case) or _missing_names(case):
            yield from _wish_last_words(case, name)


def find(case: Case) -> Iterator[Problem]:
    for service, source in _broken(case):
        yield _describe(case, service.name, state=say_state(service), source=source)
    if not _broken(case) and not _names(case):
        for name, source in _broken_by_overview(case):
            yield _describe(case, name, state=f"{show(name)} has failed.", source=source)
    if Symptom.SERVICE in case.symptoms:
        yield from _find_missing(case)


def read(case: Case) -> Iterator[Point]:
    for seen in case.facts.of(Services):
        rows = [row for row in seen.answer.services if not _is_broken(row, named=False)]
        asked = seen.argument("name_contains")
        if asked and not seen.answer.services:
            yield Point(source=seen.source, text=f"No service whose name contains {show(asked)} was listed.")
        elif asked:
            yield from (Point(source=seen.source, text=say_state(row)) for row in rows[:SUSPECTS])
        elif not seen.answer.services:
            yield Point(source=seen.source, text="No failed service was listed.")


def say_state(service: Service) -> str:
    parts = [
        *([f"pid {service.pid}"] if service.pid is not None else []),
        *([f"exit code {service.exit_code}"] if service.exit_code is not None else []),
        *([f"since {show(service.since)}"] if service.since else []),
        *([show(service.detail)] if service.detail else []),
    ]
    return f"{show(service.name)} is {show(service.state)}{say_details(parts)}."


def _names(case: Case) -> tuple[str, ...]:
    concerned = {Symptom.SERVICE, Symptom.PORT, Symptom.LOG, Symptom.CONTAINER}
    return case.clues.programs[:SUSPECTS] if concerned.intersection(case.symptoms) else ()


def _wish_last_words(case: Case, name: str) -> Iterator[Wish]:
    stem = _stem(name)
    why = f"{show(name)} is not running, so I look for its last words."
    yield Wish(need=Need.JOURNAL, arguments={"unit": name, "since_minutes": _A_DAY, "lines": 50}, why=why)
    yield Wish(need=Need.LOGS, arguments={"contains": stem}, why=why)
    yield Wish(need=Need.PROCESSES, arguments={"name_contains": stem, "limit": 5}, why=why)
    if any(_is_about(line, stem) and line.is_trouble for line in list_lines(case.facts)):
        return
    for path, contains in _log_files(case, stem):
        why = f"{show(path)} may hold the last words of {show(name)}."
        arguments = {"path": path, "lines": 100} | ({"contains": contains} if contains else {})
        yield Wish(need=Need.READ_LOG, arguments=arguments, why=why)
    if _asked_for_logs(case, stem) and not _log_files(case, stem):
        yield Wish(need=Need.LOGS, why=f"No log file bears the name of {show(name)}; I see which there are.")


def _log_files(case: Case, stem: str) -> list[tuple[str, str]]:
    """Paths and what to look for in them: a file of the service's own, else the general ones."""
    paths = [file.path for seen in case.facts.of(Logs) for file in seen.answer.files if file.size_bytes != 0]
    own = [path for path in dict.fromkeys(paths) if stem.lower() in path.lower() and not _is_packed(path)]
    own.sort(key=lambda path: "err" not in path.rpartition("/")[2])
    if own:
        return [(path, "") for path in own[:SUSPECTS]]
    return [(path, stem) for path in dict.fromkeys(paths) if path.endswith(_GENERAL_LOGS)][:1]


def _is_packed(path: str) -> bool:
    return re.search(r"\.(?:gz|xz|bz2|zst|\d{1,2})$", path) is not None


def _asked_for_logs(case: Case, stem: str) -> bool:
    return any(seen.argument("contains") == stem for seen in case.facts.of(Logs))


def _stem(name: str) -> str:
    return re.split(r"[@.]", name, maxsplit=1)[0] or name


def _broken(case: Case) -> list[tuple[Service, str]]:
    names = [name.lower() for name in _names(case)]
    found: dict[str, tuple[Service, str]] = {}
    for seen in case.facts.of(Services):
        for row in seen.answer.services:
            named = any(_stem(name) in row.name.lower() for name in names)
            if _is_broken(row, named=named) and (named or not names):
                found.setdefault(row.name, (row, seen.source))
    return list(found.values())[:SUSPECTS]


def _is_broken(service: Service, *, named: bool) -> bool:
    """A service that nobody asked about may be stopped on purpose."""
    return service.state.lower() in (_BROKEN if named else _ALWAYS_BROKEN)


def _broken_by_overview(case: Case) -> list[tuple[str, str]]:
    found = [(name, seen.source) for seen in case.facts.of(Overview) for name in seen.answer.failed_services]
    return found[:SUSPECTS]


def _broken_names(case: Case) -> list[str]:
    listed = [service.name for service, _ in _broken(case)]
    if listed or _names(case):
        return listed
    return [name for name, _ in _broken_by_overview(case)]


def _missing_names(case: Case) -> list[str]:
    """Named by the alert, asked for, and not among the services."""
    answered = {str(seen.argument("name_contains")): seen.answer.services for seen in case.facts.of(Services)}
    return [name for name in _names(case) if name in answered and not answered[name]]


def _is_about(line: Line, stem: str) -> bool:
    return stem.lower() in f"{line.origin} {line.text}".lower()


def _find_missing(case: Case) -> Iterator[Problem]:
    for name in _missing_names(case):
        looked = [seen for seen in case.facts.of(Processes) if seen.argument("name_contains") == _stem(name)]
        if looked and not any(seen.answer.processes for seen in looked):
            state = f"Neither a service nor a process whose name contains {show(_stem(name))} was listed."
            yield _describe(case, name, state=state, source=looked[-1].source)


def _describe(case: Case, name: str, *, state: str, source: str) -> Problem:
    stem = _stem(name)
    trouble = [line for line in find_trouble(case.facts) if _is_about(line, stem)]
    hints = [hint for hint in find_hints(case.facts) if _is_about(hint.line, stem)]
    return Problem(
        symptom=Symptom.SERVICE,
        headline=" ".join((state, *_say_last_words(case, trouble, hints))),
        evidence=(Point(source=source, text=state), *map(say_line, trouble), *_holders(case, hints)),
        advice=tuple(_advise(name)),
        explained=bool(trouble or hints),
    )


def say_line(line: Line) -> Point:
    origin = f"{show(line.origin)}: " if line.origin else ""
    return Point(source=line.source, text=f"{origin}{show(line.text)}")


def _say_last_words(case: Case, trouble: list[Line], hints: list[Hint]) -> Iterator[str]:
    if hints:
        yield f"Its log says why, it seems: {hints[0].meaning} ({show(hints[0].line.text)})."
        yield from (point.text for point in _holders(case, hints))
    elif trouble:
        yield f"The last it said about trouble: {show(trouble[-1].text)}."


def _holders(case: Case, hints: list[Hint]) -> Iterator[Point]:
    if any(hint.symptom is Symptom.PORT for hint in hints):
        yield from (Point(source=source, text=say_holder(holder)) for holder, source in find_holders(case))


def _advise(name: str) -> Iterator[Advice]:
    yield Advice(text="Read its state and its last lines", command=build_command("systemctl", "status", name))
    yield Advice(text="Read its log", command=build_command("journalctl", "-u", name, "-n", "100", "--no-pager"))
    yield Advice(
        text="Once the cause is gone, start it again",
        command=build_command("systemctl", "restart", name),
        destroys="connections it may still have are cut",
    )


TOPIC = Topic(symptom=Symptom.SERVICE, wish=wish, find=find, read=read)

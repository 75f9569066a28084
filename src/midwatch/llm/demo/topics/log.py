"""Errors in logs: finds the log that is meant, and quotes what it says. Only files that a tool listed are read."""

from collections.abc import Iterator

from midwatch.llm.demo.answers import Journal, Logs
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.lines import find_hints, find_trouble, list_lines
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import SUSPECTS
from midwatch.llm.demo.topics.daemon import say_line
from midwatch.llm.demo.wording import build_command, show


def wish(case: Case) -> Iterator[Wish]:
    for name in _names(case) or ("",):
        why = f"The alert speaks of errors in a log{f' of {show(name)}' if name else ''}; I see which logs there are."
        yield Wish(need=Need.LOGS, arguments={"contains": name} if name else {}, why=why)
    unit = {"unit": case.clues.services[0]} if case.clues.services else {}
    why = "I also ask the journal for errors."
    yield Wish(need=Need.JOURNAL, arguments={**unit, "priority": "err", "lines": 50}, why=why)
    for path in _paths(case):
        yield Wish(need=Need.READ_LOG, arguments={"path": path, "lines": 100}, why=f"{show(path)} looks like the log.")


def find(case: Case) -> Iterator[Problem]:
    trouble = find_trouble(case.facts)
    if not trouble or Symptom.LOG not in case.symptoms:
        return
    hints = find_hints(case.facts)
    last = hints[0].line if hints else trouble[-1]
    told = f"{show(last.origin or last.source)} says: {show(last.text)}."
    yield Problem(
        symptom=Symptom.LOG,
        headline=f"{told} It seems that {hints[0].meaning}." if hints else told,
        evidence=tuple(map(say_line, trouble)),
        advice=tuple(_advise(last.origin)),
        explained=bool(hints),
    )


def read(case: Case) -> Iterator[Point]:
    sources = {line.source for line in list_lines(case.facts) if not line.is_trouble}
    if not find_trouble(case.facts):
        yield from (Point(source=source, text="No line that speaks of trouble.") for source in sorted(sources))
    for seen in case.facts.of(Journal):
        if not seen.answer.entries:
            yield Point(source=seen.source, text="No entry was listed.")


def _names(case: Case) -> tuple[str, ...]:
    files = (path.rpartition("/")[2] for path in case.clues.paths if ".log" in path or "/log/" in path)
    return tuple(name for name in (*files, *case.clues.programs) if name)[:SUSPECTS]


def _paths(case: Case) -> list[str]:
    """Those the alert names, then those that bear a name from it, then the newest; all from the list of the tool."""
    listed = list(dict.fromkeys(file.path for seen in case.facts.of(Logs) for file in seen.answer.files))
    names = [name.lower() for name in _names(case)]
    fitting = [path for path in listed if any(name in path.lower() for name in names)]
    return sorted(fitting or listed, key=lambda path: path not in case.clues.paths)[:SUSPECTS]


def _advise(origin: str) -> Iterator[Advice]:
    if origin.startswith("/"):
        yield Advice(text="Watch the log", command=build_command("tail", "-n", "50", "-f", origin))
    else:
        yield Advice(text="Read the errors of the last hour", command='journalctl -p err --since "-1h" --no-pager')


TOPIC = Topic(symptom=Symptom.LOG, wish=wish, find=find, read=read)

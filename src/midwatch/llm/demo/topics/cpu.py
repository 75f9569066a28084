"""Load: how high for this many processors, and who causes it."""

from collections.abc import Iterator
from dataclasses import dataclass

from midwatch.llm.demo.answers import Load, Overview, Process, Processes, ProcessRow
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.observations import Seen
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import BUSY_PROCESS_PERCENT, CPU_BUSY_PERCENT, IOWAIT_PERCENT, LOAD_PER_PROCESSOR
from midwatch.llm.demo.wording import say_number, say_percent, show


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    source: str
    one_minute: float
    processors: float | None
    busy: float | None
    iowait: float | None = None

    @property
    def is_high(self) -> bool:
        return bool(self.processors) and self.one_minute >= LOAD_PER_PROCESSOR * (self.processors or 0)

    @property
    def is_waiting(self) -> bool:
        return (self.iowait or 0) >= IOWAIT_PERCENT


def wish(case: Case) -> Iterator[Wish]:
    yield Wish(need=Need.LOAD, why="The alert concerns the load, so I measure it.")
    if not case.has_looked:
        return
    why = "The load is high: who causes it?" if _high(case) else "The load is not high now; I look at who is busiest."
    yield Wish(need=Need.PROCESSES, arguments={"sort": "cpu", "limit": 10}, why=why)
    yield from _wish_named(case)
    busy = _busy(case)
    if busy:
        why = f"{show(busy.name)} is the busiest, so I look at it more closely."
        yield Wish(need=Need.PROCESS, arguments={"pid": busy.pid}, why=why)


def find(case: Case) -> Iterator[Problem]:
    high, busy = _high(case), _busy(case)
    if high is None and not (busy and Symptom.CPU in case.symptoms):
        return
    yield Problem(
        symptom=Symptom.CPU,
        headline=" ".join((*_say_load(high), *_say_busy(case, busy))),
        evidence=(
            *([Point(source=high.source, text=_state(high))] if high else []),
            *_evidence_top(case),
            *_evidence_close(case, busy),
        ),
        advice=tuple(_advise(busy, waiting=high is not None and high.is_waiting)),
        explained=busy is not None,
    )


def read(case: Case) -> Iterator[Point]:
    yield from (Point(source=reading.source, text=_state(reading)) for reading in _readings(case)[-1:])
    yield from _evidence_top(case)


def _wish_named(case: Case) -> Iterator[Wish]:
    for name in case.clues.processes[:1]:
        why = f"The alert names {show(name)}."
        yield Wish(need=Need.PROCESSES, arguments={"name_contains": name, "sort": "cpu"}, why=why)


def _readings(case: Case) -> list[_Reading]:
    overviews = [
        _Reading(
            source=seen.source,
            one_minute=seen.answer.load.one_minute,
            processors=seen.answer.processors,
            busy=seen.answer.cpu_busy_percent,
        )
        for seen in case.facts.of(Overview)
        if seen.answer.load
    ]
    return [*overviews, *map(_measured, case.facts.of(Load))]


def _measured(seen: Seen[Load]) -> _Reading:
    load = seen.answer
    return _Reading(
        source=seen.source,
        one_minute=load.one_minute,
        processors=load.processors,
        busy=load.cpu_busy_percent,
        iowait=load.iowait_percent,
    )


def _high(case: Case) -> _Reading | None:
    return next((reading for reading in reversed(_readings(case)) if _stands_out(case, reading)), None)


def _stands_out(case: Case, reading: _Reading) -> bool:
    """Who did not complain about the load is not bothered by one that has passed already."""
    if reading.is_waiting or (reading.busy or 0) >= CPU_BUSY_PERCENT:
        return True
    return reading.is_high and (Symptom.CPU in case.symptoms or reading.busy is None)


def _by_cpu(case: Case) -> Seen[Processes] | None:
    asked = [
        seen
        for seen in case.facts.of(Processes)
        if "mem" not in str(seen.argument("sort")) and any(row.cpu_percent for row in seen.answer.processes)
    ]
    return max(asked, key=_busiest_percent, default=None)


def _busiest_percent(seen: Seen[Processes]) -> float:
    return max((row.cpu_percent or 0 for row in seen.answer.processes), default=0)


def _busy(case: Case) -> ProcessRow | None:
    seen = _by_cpu(case)
    top = max(seen.answer.processes, key=lambda row: row.cpu_percent or 0, default=None) if seen else None
    return top if top and (top.cpu_percent or 0) >= BUSY_PROCESS_PERCENT else None


def _state(reading: _Reading) -> str:
    told = f"The load is {say_number(reading.one_minute)}"
    if reading.processors:
        told += f" on {say_number(reading.processors)} processors"
    if reading.busy is not None:
        told += f"; they are {say_percent(reading.busy)} busy"
    if reading.iowait is not None:
        told += f" and {say_percent(reading.iowait)} of their time waits for disks"
    return f"{told}."


def _say_load(high: _Reading | None) -> Iterator[str]:
    if high:
        yield _state(high)
        if high.is_waiting:
            yield "Much of that is waiting for disks, not computing."


def _say_busy(case: Case, busy: ProcessRow | None) -> Iterator[str]:
    if busy:
        percent = say_percent(busy.cpu_percent or 0)
        yield f"The busiest process is {show(busy.name)} (pid {busy.pid}) with {percent} of one processor."
    elif _by_cpu(case):
        yield "No single process stands out."


def _evidence_top(case: Case) -> Iterator[Point]:
    seen = _by_cpu(case)
    if seen:
        rows = sorted(seen.answer.processes, key=lambda row: -(row.cpu_percent or 0))[:3]
        listed = ", ".join(f"{show(row.name)} (pid {row.pid}) {say_percent(row.cpu_percent or 0)}" for row in rows)
        yield Point(source=seen.source, text=f"Busiest: {listed} of one processor.")


def _evidence_close(case: Case, busy: ProcessRow | None) -> Iterator[Point]:
    for seen in case.facts.of(Process):
        process = seen.answer
        if busy and process.pid == busy.pid:
            since = f", started {show(process.started_at)}" if process.started_at else ""
            whose = f", user {show(process.user)}" if process.user else ""
            yield Point(
                source=seen.source, text=f"pid {process.pid}: {show(process.command or process.name)}{whose}{since}."
            )


def _advise(busy: ProcessRow | None, *, waiting: bool) -> Iterator[Advice]:
    if waiting:
        yield Advice(text="See which disk is busy", command="iostat -x 1 5")
    if busy:
        yield Advice(text=f"See what {show(busy.name)} is doing", command=f"top -H -b -n 1 -p {busy.pid}")
        text = "If it can be spared, end it"
        yield Advice(text=text, command=f"kill {busy.pid}", destroys="what the process is doing is lost")
    else:
        yield Advice(text="Watch the load for a while", command="vmstat 1 10")


TOPIC = Topic(symptom=Symptom.CPU, wish=wish, find=find, read=read)

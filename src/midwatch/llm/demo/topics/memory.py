"""Memory that runs out: how much is left, who has it, and whether the kernel killed somebody for it."""

import re
from collections.abc import Iterator

from midwatch.llm.demo.answers import KernelMessage, KernelMessages, Memory, Overview, Processes, ProcessRow
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.observations import Seen
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import GREEDY_PROCESS_PERCENT, MEMORY_USED_PERCENT, SWAP_USED_PERCENT
from midwatch.llm.demo.wording import say_percent, say_size, show

_OOM = re.compile(r"out of memory|\boom\b|oom-kill|oom_reaper|killed process", re.IGNORECASE)
_VICTIM = re.compile(r"killed process \d{1,8} \(([^)]{1,60})\)", re.IGNORECASE)


def wish(case: Case) -> Iterator[Wish]:
    yield Wish(need=Need.MEMORY, why="The alert concerns memory, so I measure what is left of it.")
    if not case.has_looked:
        return
    low = _low(case)
    why = "Memory is short: who has most of it?" if low else "Memory is not short now; I look at who has most of it."
    yield Wish(need=Need.PROCESSES, arguments={"sort": "memory", "limit": 10}, why=why)
    why = "When memory runs out, the kernel says whom it killed."
    yield Wish(need=Need.KERNEL_MESSAGES, arguments={"contains": "oom", "lines": 30}, why=why)
    top = _top(case)
    if low and top:
        why = f"{show(top.name)} has the most memory, so I look at it more closely."
        yield Wish(need=Need.PROCESS, arguments={"pid": top.pid}, why=why)


def find(case: Case) -> Iterator[Problem]:
    low, deaths = _low(case), _deaths(case)
    if low is None and not deaths:
        return
    greedy = _greedy(case)
    told = [*([_state(low[0])] if low else []), *_say_deaths(deaths), *_say_top(greedy)]
    yield Problem(
        symptom=Symptom.MEMORY,
        headline=" ".join(told),
        evidence=(
            *([Point(source=low[1], text=_state(low[0]))] if low else []),
            *deaths[-2:],
            *_evidence_top(case),
        ),
        advice=tuple(_advise(greedy)),
        explained=bool(greedy or _victims(deaths)),
    )


def read(case: Case) -> Iterator[Point]:
    yield from (Point(source=source, text=_state(memory)) for memory, source in _readings(case)[-1:])
    yield from _evidence_top(case)
    for seen in case.facts.of(KernelMessages):
        if seen.argument("contains") and not _deaths(case):
            yield Point(source=seen.source, text="No message of the kernel about running out of memory was listed.")


def _readings(case: Case) -> list[tuple[Memory, str]]:
    overviews = [(seen.answer.memory, seen.source) for seen in case.facts.of(Overview)]
    detailed = [(seen.answer, seen.source) for seen in case.facts.of(Memory)]
    return [(memory, source) for memory, source in (*overviews, *detailed) if memory is not None]


def _low(case: Case) -> tuple[Memory, str] | None:
    return next((pair for pair in reversed(_readings(case)) if _is_low(pair[0])), None)


def _is_low(memory: Memory) -> bool:
    used, limited, swapped = (share(memory) or 0 for share in (_used_percent, _limit_percent, _swap_percent))
    return max(used, limited) >= MEMORY_USED_PERCENT or min(swapped, used) >= SWAP_USED_PERCENT


def _used_percent(memory: Memory) -> float | None:
    if memory.used_percent is not None:
        return memory.used_percent
    return None if memory.available_bytes is None else _share(memory.total_bytes - memory.available_bytes, memory)


def _share(part: float, memory: Memory) -> float | None:
    return 100 * part / memory.total_bytes if memory.total_bytes and part >= 0 else None


def _limit_percent(memory: Memory) -> float | None:
    if not memory.limit_bytes or memory.limit_used_bytes is None:
        return None
    return 100 * memory.limit_used_bytes / memory.limit_bytes


def _swap_percent(memory: Memory) -> float | None:
    if not memory.swap_total_bytes or memory.swap_used_bytes is None:
        return None
    return 100 * memory.swap_used_bytes / memory.swap_total_bytes


def _deaths(case: Case) -> list[Point]:
    """Where somebody was killed for want of memory."""
    counted = [
        Point(source=seen.source, text=f"The kernel has killed {seen.answer.oom_kills:.0f} times for want of memory.")
        for seen in case.facts.of(Memory)
        if seen.answer.oom_kills
    ]
    said = [
        Point(source=seen.source, text=f"{_when(message)}: {show(message.text)}")
        for seen in case.facts.of(KernelMessages)
        for message in seen.answer.messages
        if _OOM.search(message.text[:2000])
    ]
    return [*counted, *said]


def _when(message: KernelMessage) -> str:
    return f"The kernel said at {show(message.time)}" if message.time else "The kernel says"


def _victims(deaths: list[Point]) -> list[str]:
    return list(dict.fromkeys(name for point in deaths for name in _VICTIM.findall(point.text)))


def _by_memory(case: Case) -> Seen[Processes] | None:
    asked = [seen for seen in case.facts.of(Processes) if "mem" in str(seen.argument("sort"))]
    return asked[-1] if asked else None


def _top(case: Case) -> ProcessRow | None:
    seen = _by_memory(case)
    return max(seen.answer.processes, key=lambda row: row.rss_bytes or 0, default=None) if seen else None


def _greedy(case: Case) -> ProcessRow | None:
    top = _top(case)
    return top if top and (top.memory_percent or 0) >= GREEDY_PROCESS_PERCENT else None


def _state(memory: Memory) -> str:
    used = _used_percent(memory)
    told = f"Memory is {say_percent(used)} used" if used is not None else "Memory"
    if memory.available_bytes is not None:
        told += f"; {say_size(memory.available_bytes)} of {say_size(memory.total_bytes)} are available"
    limited, swapped = _limit_percent(memory), _swap_percent(memory)
    if limited is not None:
        told += f"; the limit of {say_size(memory.limit_bytes or 0)} is {say_percent(limited)} used"
    if swapped is not None:
        told += f"; swap is {say_percent(swapped)} used"
    return f"{told}."


def _say_deaths(deaths: list[Point]) -> Iterator[str]:
    victims = _victims(deaths)
    if victims:
        yield f"The kernel killed {', '.join(map(show, victims))} for want of memory."
    elif deaths:
        yield "The kernel has killed processes for want of memory."


def _say_top(top: ProcessRow | None) -> Iterator[str]:
    if top:
        yield f"Most of it is in {show(top.name)} (pid {top.pid}, {_weight(top)})."


def _weight(row: ProcessRow) -> str:
    size = say_size(row.rss_bytes or 0)
    return size if row.memory_percent is None else f"{size}, {say_percent(row.memory_percent)}"


def _evidence_top(case: Case) -> Iterator[Point]:
    seen = _by_memory(case)
    if seen and seen.answer.processes:
        rows = sorted(seen.answer.processes, key=lambda row: -(row.rss_bytes or 0))[:3]
        listed = ", ".join(f"{show(row.name)} (pid {row.pid}) {_weight(row)}" for row in rows)
        yield Point(source=seen.source, text=f"Most memory: {listed}.")


def _advise(greedy: ProcessRow | None) -> Iterator[Advice]:
    if greedy:
        yield Advice(
            text=f"Watch whether {show(greedy.name)} keeps growing", command=f"ps -o pid,rss,etime -p {greedy.pid}"
        )
        text = "If it does and can be spared for a moment, restart it; to end it"
        yield Advice(text=text, command=f"kill {greedy.pid}", destroys="what the process is doing is lost")
    yield Advice(text="See who uses memory over time", command="ps -eo pid,rss,comm --sort=-rss")


TOPIC = Topic(symptom=Symptom.MEMORY, wish=wish, find=find, read=read)

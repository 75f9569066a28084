"""Ports that are taken: who holds them."""

from collections.abc import Iterator

from midwatch.llm.demo.answers import Listener, Ports, Process
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.lines import find_hints
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import SUSPECTS
from midwatch.llm.demo.wording import say_details, show


def wish(case: Case) -> Iterator[Wish]:
    ports = contested_ports(case)
    for port in ports:
        yield Wish(
            need=Need.PORTS, arguments={"port": port}, why=f"Port {port} is said to be taken: who listens on it?"
        )
    if not ports:
        yield Wish(need=Need.PORTS, why="A port is said to be taken; I see who listens on which.")
    for holder, _ in find_holders(case):
        if holder.pid is not None:
            why = f"Port {holder.port} is held by pid {holder.pid}, so I look at that process."
            yield Wish(need=Need.PROCESS, arguments={"pid": holder.pid}, why=why)


def find(case: Case) -> Iterator[Problem]:
    if Symptom.PORT not in case.symptoms:
        return
    for holder, source in find_holders(case):
        close = _look_closer(case, holder)
        yield Problem(
            symptom=Symptom.PORT,
            headline=f"{say_holder(holder)} Whatever else wants this port cannot start.{_say_again(case, holder)}",
            evidence=(Point(source=source, text=say_holder(holder)), *close),
            advice=tuple(_advise(holder)),
            explained=holder.pid is not None or holder.process is not None,
        )


def read(case: Case) -> Iterator[Point]:
    held = {holder.port for holder, _ in find_holders(case)}
    for seen in case.facts.of(Ports):
        asked = seen.argument("port")
        if asked is not None and asked not in held:
            yield Point(source=seen.source, text=f"No listener on port {asked} was listed.")
        elif asked is None and not contested_ports(case):
            yield Point(
                source=seen.source, text=f"{len(seen.answer.ports)} listening sockets; the alert names no port."
            )


def contested_ports(case: Case) -> list[int]:
    """Those the alert names, or those that a log says are taken."""
    hinted = [port for hint in find_hints(case.facts) for port in hint.ports]
    named = case.clues.ports if Symptom.PORT in case.symptoms else ()
    return list(dict.fromkeys((*named, *hinted)))[:SUSPECTS]


def find_holders(case: Case) -> list[tuple[Listener, str]]:
    contested = contested_ports(case)
    found: dict[tuple[int, int | None], tuple[Listener, str]] = {}
    for seen in case.facts.of(Ports):
        for listener in seen.answer.ports:
            if listener.port in contested:
                found.setdefault((listener.port, listener.pid), (listener, seen.source))
    return list(found.values())[:SUSPECTS]


def say_holder(holder: Listener) -> str:
    who = show(holder.process) if holder.process else "a process that I may not see"
    details = [
        *([f"pid {holder.pid}"] if holder.pid is not None else []),
        *([f"user {show(holder.user)}"] if holder.user else []),
        *([f"on {show(holder.address)}"] if holder.address else []),
    ]
    return f"Port {holder.port} is held by {who}{say_details(details)}."


def _say_again(case: Case, holder: Listener) -> str:
    name = (holder.process or "").lower()
    twins = [
        program for program in case.clues.programs if name and (name in program.lower() or program.lower() in name)
    ]
    return f" It looks like {show(twins[0])} itself: perhaps it was started twice." if twins else ""


def _look_closer(case: Case, holder: Listener) -> Iterator[Point]:
    for seen in case.facts.of(Process):
        process = seen.answer
        if holder.pid == process.pid:
            since = f", started {show(process.started_at)}" if process.started_at else ""
            yield Point(source=seen.source, text=f"pid {process.pid}: {show(process.command or process.name)}{since}.")


def _advise(holder: Listener) -> Iterator[Advice]:
    yield Advice(text="Confirm who listens", command=f"ss -ltnp 'sport = :{holder.port}'")
    if holder.pid is not None:
        yield Advice(text="Find the service it belongs to", command=f"systemctl status {holder.pid}")
        text = "If it should not be there, end it and start the other one"
        yield Advice(text=text, command=f"kill {holder.pid}", destroys="what the process is doing is lost")
    else:
        yield Advice(text="Give one of the two another port in its configuration")


TOPIC = Topic(symptom=Symptom.PORT, wish=wish, find=find, read=read)

"""What systemd says about its services, read from the output of `systemctl show`."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from midwatch.bundled.host.answers import tell_time
from midwatch.bundled.host.service_facts import ServiceFacts, ServiceState

_EXITED = "1"
_BY_SIGNAL = frozenset({"2", "3"})


def parse_services(text: str) -> list[ServiceFacts]:
    """One block of lines `Property=value` per unit. Units that exist only as a name are left out."""
    return [_describe(unit) for unit in _read_blocks(text) if "Id" in unit and unit.get("LoadState") != "not-found"]


def _read_blocks(text: str) -> Iterator[Mapping[str, str]]:
    for block in text.split("\n\n"):
        pairs = (line.partition("=") for line in block.splitlines() if "=" in line)
        properties = {name: value for name, _, value in pairs}
        if properties:
            yield properties


def _describe(unit: Mapping[str, str]) -> ServiceFacts:
    pid = _read_number(unit.get("MainPID"))
    exited = unit.get("ExecMainCode") == _EXITED
    return ServiceFacts(
        name=unit["Id"],
        state=_judge(unit),
        detail=", ".join(_tell(unit)),
        pid=pid or None,
        since=_read_time(unit.get("StateChangeTimestamp", "")),
        exit_code=_read_number(unit.get("ExecMainStatus")) if exited else None,
        source=unit.get("FragmentPath") or "systemd",
    )


def _judge(unit: Mapping[str, str]) -> ServiceState:
    match unit.get("ActiveState"), unit.get("SubState"):
        case ("failed", _) | (_, "auto-restart" | "auto-restart-queued"):
            return "failed"
        case ("inactive", _) | (_, "exited"):
            return "stopped"
        case _:
            return "running"


def _tell(unit: Mapping[str, str]) -> Iterator[str]:
    yield f"{unit.get('ActiveState', 'unknown')} ({unit.get('SubState', 'unknown')})"
    if unit.get("Result", "success") != "success":
        yield f"result {unit['Result']}"
    if unit.get("ExecMainCode") in _BY_SIGNAL:
        yield f"ended by signal {unit.get('ExecMainStatus')}"
    if restarts := _read_number(unit.get("NRestarts")):
        yield f"{restarts} restarts"
    if unit.get("LoadState", "loaded") != "loaded":
        yield unit["LoadState"]
    if unit.get("Description"):
        yield unit["Description"]


def _read_number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _read_time(text: str) -> str | None:
    """As in `Fri 2025-11-14 08:54:10 UTC`: systemctl is asked in that time zone."""
    try:
        moment = datetime.strptime(text, "%a %Y-%m-%d %H:%M:%S %Z").replace(tzinfo=UTC)
    except ValueError:
        return None
    return tell_time(moment.timestamp())

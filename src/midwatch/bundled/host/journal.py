"""Entries of the systemd journal."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from midwatch.bundled.host.answers import Line, Name, Shape, Tail, Word, tell_time
from midwatch.bundled.host.arguments import LEVELS, Priority, Text
from midwatch.bundled.host.programs import Output, Programs

_FOLDERS = (Path("/var/log/journal"), Path("/run/log/journal"))
_SEARCHED = 5_000
_INSTEAD = "`logs` lists log files and `read_log` reads them"


class JournalEntry(Shape):
    time: Word
    unit: Name | None = Field(description="The unit, or else the name the program gave itself")
    priority: Word
    message: Line


class JournalEntries(Tail):
    entries: list[JournalEntry] = Field(description="Oldest first")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalReader:
    programs: Programs = field(default_factory=Programs)
    folders: tuple[Path, ...] = _FOLDERS

    def journal(
        self,
        *,
        unit: Annotated[Text, Field(description="Only this unit, such as nginx.service")] = "",
        since_minutes: Annotated[int, Field(ge=1, le=43_200, description="How far to look back")] = 60,
        priority: Annotated[Priority, Field(description="Only this and more urgent ones")] = None,
        contains: Annotated[Text, Field(description="Only messages with this in them, in any case")] = "",
        lines: Annotated[int, Field(ge=1, le=400, description="How many of the newest")] = 50,
    ) -> JournalEntries:
        """The newest entries of the systemd journal, oldest first: what services and the system wrote.

        Use it to learn why a service failed (`unit`), or what went wrong lately (`priority: err`). Takes up to a few
        seconds on a large journal; with `contains` it searches the newest 5000 entries that match the rest. Programs
        that write files of their own are not in it: see `logs`.
        """
        if not self._has_journal():
            return JournalEntries(entries=[], notes=[f"there is no systemd journal here; {_INSTEAD}"])
        options = {"--lines": str(_SEARCHED if contains else lines + 1), "--since": f"@{_look_back(since_minutes)}"}
        options |= {"--unit": unit} if unit else {}
        options |= {"--priority": priority} if priority else {}
        output = self.programs.run("read_journal", {name: value.replace("\0", "") for name, value in options.items()})
        if output is None:
            return JournalEntries(entries=[], notes=[f"journalctl is not installed; {_INSTEAD}"])
        return _choose(output, count=lines, contains=contains.casefold())

    def _has_journal(self) -> bool:
        return any(True for folder in self.folders for _ in _glob(folder))


def parse_entries(text: str) -> Iterator[JournalEntry]:
    """One JSON object per line; what is not one, such as a line that was cut, is left out."""
    for line in text.splitlines():
        try:
            fields = json.loads(line)
            yield _read_entry(fields)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


def _choose(output: Output, *, count: int, contains: str) -> JournalEntries:
    parsed = list(parse_entries(output.text))
    matching = [entry for entry in parsed if contains in entry.message.casefold()]
    notes = [f"journalctl says: {output.complaint}"] if output.complaint else []
    if not output.complete:
        notes.append("journalctl took too long or said too much; ask for less time or one unit")
    if contains and len(parsed) >= _SEARCHED:
        notes.append(f"only the newest {_SEARCHED} entries were searched")
    if not matching:
        notes.append(f"no entries match; look further back with since_minutes, or in files: {_INSTEAD}")
    return JournalEntries(entries=matching[:count][::-1], truncated=len(matching) > count, notes=notes)


def _read_entry(fields: dict[str, Any]) -> JournalEntry:
    unit = fields.get("_SYSTEMD_UNIT") or fields.get("UNIT") or fields.get("SYSLOG_IDENTIFIER")
    priority = _read_value(fields.get("PRIORITY")) or "6"
    return JournalEntry(
        time=tell_time(int(fields["__REALTIME_TIMESTAMP"]) / 1_000_000),
        unit=_read_value(unit),
        priority=LEVELS[int(priority) & 7],
        message=_read_value(fields.get("MESSAGE")) or "(empty, or too long for journalctl to tell)",
    )


def _read_value(value: Any) -> str | None:
    """A text; as a list of numbers when it is not UTF-8; as a list of texts when the field was given twice."""
    if not isinstance(value, list):
        return None if value is None else str(value)
    items = cast("list[Any]", value)
    if all(isinstance(item, int) for item in items):
        return bytes(item & 255 for item in items).decode(errors="replace")
    return _read_value(items[-1])


def _look_back(minutes: int) -> int:
    return int(time.time()) - 60 * minutes


def _glob(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.glob("*/*.journal")
        yield from folder.glob("*.journal")
    except OSError:
        return

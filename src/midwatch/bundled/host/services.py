"""Which services run, and which have failed: as systemd says, or else as pid files tell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from midwatch.bundled.host.answers import Listing
from midwatch.bundled.host.arguments import Text
from midwatch.bundled.host.pidfiles import read_pid_files
from midwatch.bundled.host.programs import Programs
from midwatch.bundled.host.service_facts import ServiceFacts
from midwatch.bundled.host.systemd import parse_services

_DEFAULT_ROOTS = ("/run", "/var/run")
_SYSTEMD_IS_HERE = Path("/run/systemd/system")
_ORDER = ("failed", "running", "stopped")

Manager = Literal["systemd", "pidfiles"]


class Services(Listing):
    manager: Manager = Field(description="Who says so: systemd, or pid files where there is no systemd")
    services: list[ServiceFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceBook:
    """Looks services up. Run roots that were named are looked at even where systemd could be asked."""

    run_roots: Sequence[str] = ()
    programs: Programs = field(default_factory=Programs)
    systemd_mark: Path = _SYSTEMD_IS_HERE

    def services(
        self,
        *,
        state: Annotated[
            Literal["all", "running", "failed", "stopped"], Field(description="Only services in this state")
        ] = "all",
        name_contains: Annotated[Text, Field(description="Only services with this in their name")] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="How many to show")] = 30,
    ) -> Services:
        """Services of this machine, the failed ones first, with pid, exit code and since when.

        Use it to see whether a service runs, crashed or keeps being restarted; then `journal` with its name as `unit`
        says why. Costs little. Containers are not services here: see `containers`. Without systemd only services that
        leave a pid file are known.
        """
        manager, known, notes = self.look_up()
        part = name_contains.casefold()
        found = [each for each in known if state in {"all", each.state} and part in each.name.casefold()]
        found.sort(key=lambda each: (_ORDER.index(each.state), each.name))
        return Services(
            manager=manager,
            services=found[:limit],
            total=len(found),
            truncated=len(found) > limit,
            notes=notes,
        )

    def look_up(self) -> tuple[Manager, list[ServiceFacts], list[str]]:
        if self.run_roots:
            return self._read_pid_files(f"read from pid files below {', '.join(self.run_roots)}")
        if not self.systemd_mark.is_dir():
            return self._read_pid_files("systemd does not run here: only services with a pid file are known")
        output = self.programs.run("list_services")
        if output is None or not output.succeeded:
            reason = output.complaint if output and output.complaint else "systemctl does not answer"
            return self._read_pid_files(f"systemd could not be asked ({reason}): these are from pid files")
        return "systemd", parse_services(output.text), []

    def _read_pid_files(self, reason: str) -> tuple[Manager, list[ServiceFacts], list[str]]:
        found, notes = read_pid_files(self.run_roots or _DEFAULT_ROOTS)
        return "pidfiles", found, [reason, *notes]

"""Containers of this machine, and what they write, over the runtime's socket."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field

from midwatch.bundled.host.answers import Line, Listing, Name, Tail, Unanswerable
from midwatch.bundled.host.container_facts import Container, name_runtime, parse_container, parse_restarts
from midwatch.bundled.host.container_output import split_output
from midwatch.bundled.host.runtime_socket import NotThere, RuntimeSilent, find_socket

if TYPE_CHECKING:
    from midwatch.bundled.host.runtime import Runtime

NO_RUNTIME = "there is no socket of Docker or Podman here; `processes` and `services` show what runs without them"
_NAME = r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$"
_STATES_FIRST = ("restarting", "dead", "removing", "running", "paused", "created", "exited")


class Containers(Listing):
    runtime: Name | None
    containers: list[Container]


class ContainerLines(Tail):
    name: Name
    lines: list[Line] = Field(description="Oldest first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dock:
    """Where the runtime is looked for is decided by `environ`."""

    environ: Mapping[str, str]

    def containers(
        self,
        *,
        all: Annotated[bool, Field(description="Also those that do not run")] = False,  # noqa: A002 - so it is called
        limit: Annotated[int, Field(ge=1, le=100, description="How many to show")] = 30,
    ) -> Containers:
        """Containers of Docker or Podman on this machine: image, state, restarts and published ports.

        Use it to see what runs in containers, and with `all` what has stopped or keeps restarting; `container_logs`
        says why. Takes a second with many containers. Other runtimes, such as those of Kubernetes nodes, are not
        asked.
        """
        socket = find_socket(self.environ)
        if socket is None:
            return Containers(runtime=None, containers=[], total=0, notes=[NO_RUNTIME])
        try:
            with _open(socket) as runtime:
                return _list(runtime, all_states=all, limit=limit)
        except (RuntimeSilent, NotThere) as error:
            note = f"the runtime behind {socket} tells nothing: {error or 'it knows no containers'}"
            return Containers(runtime=None, containers=[], total=0, notes=[note])

    def container_logs(
        self,
        *,
        name: Annotated[str, Field(pattern=_NAME, max_length=200, description="Name or id, as `containers` tells it")],
        lines: Annotated[int, Field(ge=1, le=400, description="How many from the end")] = 50,
    ) -> ContainerLines:
        """The last lines a container wrote to its output, oldest first, also of one that has stopped.

        Use it after `containers` has named one that restarts or exited. Costs little. What a program writes to files
        inside the container is not in it, and nothing where the container's logging driver keeps nothing.
        """
        socket = find_socket(self.environ)
        if socket is None:
            return ContainerLines(name=name, lines=[], notes=[NO_RUNTIME])
        query = {"stdout": "1", "stderr": "1", "tail": str(lines + 1)}
        try:
            with _open(socket) as runtime:
                body, complete = runtime.get_bytes(f"/containers/{name}/logs", query)
        except NotThere as error:
            raise Unanswerable(f"there is no container {name!r}; `containers` with all=true lists them") from error
        except RuntimeSilent as error:
            return ContainerLines(name=name, lines=[], notes=[f"its output cannot be read: {error}"])
        written = split_output(body, count=lines + 1)
        notes = [] if complete else ["its output is very long: the newest lines may be missing"]
        return ContainerLines(name=name, lines=written[-lines:], truncated=len(written) > lines, notes=notes)


def _open(socket: str) -> "AbstractContextManager[Runtime]":
    # The HTTP client is loaded only where there is somebody to ask: the server should start quickly.
    from midwatch.bundled.host.runtime import open_runtime  # noqa: PLC0415

    return open_runtime(socket)


def _list(runtime: "Runtime", *, all_states: bool, limit: int) -> Containers:
    rows = runtime.get_json("/containers/json", {"all": "1" if all_states else "0"})
    found, strange = _parse(rows)
    found.sort(key=_rank)
    shown = [_with_restarts(each, runtime) for each in found[:limit]]
    notes = [f"{strange} containers are described in a way that is not understood here"] if strange else []
    if any(each.restarts is None for each in shown):
        notes.append("the runtime was too slow to tell all restarts")
    return Containers(
        runtime=name_runtime(runtime.get_json("/version")),
        containers=shown,
        total=len(found),
        truncated=len(found) > len(shown),
        notes=notes,
    )


def _parse(rows: Any) -> tuple[list[Container], int]:
    found: list[Container] = []
    strange = 0
    for row in cast("list[Any]", rows) if isinstance(rows, list) else []:
        try:
            found.append(parse_container(row))
        except ValueError:
            strange += 1
    return found, strange


def _with_restarts(container: Container, runtime: "Runtime") -> Container:
    if not runtime.has_time:
        return container
    try:
        restarts = parse_restarts(runtime.get_json(f"/containers/{container.id}/json"))
    except (RuntimeSilent, NotThere):
        return container
    return container.model_copy(update={"restarts": restarts})


def _rank(container: Container) -> tuple[int, str]:
    place = _STATES_FIRST.index(container.state) if container.state in _STATES_FIRST else len(_STATES_FIRST)
    return place, container.name

"""Who listens on which port, and who is connected with whom."""

import socket
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Listing, Name, Shape, Word
from midwatch.bundled.host.arguments import Port, SocketState
from midwatch.bundled.host.processes import name_owner, name_process
from midwatch.bundled.host.procfs import note_hidden_processes, note_other_users

_STATES_FIRST = ("SYN_SENT", "CLOSE_WAIT", "SYN_RECV", "ESTABLISHED")
"""Where a problem shows first; the rest follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    protocol: str
    local: Address
    remote: Address | None
    state: str
    pid: int | None

    @property
    def is_listening(self) -> bool:
        return self.state == psutil.CONN_LISTEN or (self.protocol == "udp" and self.remote is None)

    def touches(self, port: int | None) -> bool:
        return port in {None, self.local.port, self.remote.port if self.remote else None}


class ListeningPort(Shape):
    protocol: Word
    address: Name = Field(description="0.0.0.0 and :: mean every address of the machine")
    port: int
    pid: int | None
    process: Name | None
    user: Name | None


class Ports(Listing):
    ports: list[ListeningPort]


class Connection(Shape):
    protocol: Word
    local: Name
    remote: Name
    state: Word
    pid: int | None
    process: Name | None


class Connections(Listing):
    by_state: dict[Word, int] = Field(description="How many sockets are in each state, listening ones included")
    connections: list[Connection]


def ports(
    *,
    port: Annotated[Port, Field(description="Only this port")] = None,
    limit: Annotated[int, Field(ge=1, le=100, description="How many to show")] = 50,
) -> Ports:
    """Sockets that wait for others to connect (TCP) or to send (UDP), with the process behind each.

    Use it to see whether a server listens at all, on which address, and who occupies a port. Takes up to a second on a
    machine with many open files. Containers with a network of their own are not shown: see `containers`.
    """
    sockets, notes = _read_sockets()
    listening = [each for each in sockets if each.is_listening and port in {None, each.local.port}]
    listening.sort(key=lambda each: (each.local.port, each.protocol, each.local.host))
    shown = [
        ListeningPort(
            protocol=each.protocol,
            address=each.local.host,
            port=each.local.port,
            pid=each.pid,
            process=name_process(each.pid),
            user=name_owner(each.pid),
        )
        for each in listening[:limit]
    ]
    return Ports(ports=shown, total=len(listening), truncated=len(listening) > len(shown), notes=notes)


def connections(
    *,
    port: Annotated[Port, Field(description="Only connections with this port on either side")] = None,
    state: Annotated[SocketState, Field(description="Only connections in this state")] = None,
    limit: Annotated[int, Field(ge=1, le=100, description="How many to show")] = 30,
) -> Connections:
    """Open connections and how many there are in each state.

    Use it for timeouts and refused or leaking connections: many CLOSE_WAIT mean that a program here does not close,
    many SYN_SENT that a peer does not answer. Takes up to a second. Says nothing about traffic or delay. Containers
    with a network of their own are not shown.
    """
    sockets, notes = _read_sockets()
    on_port = [each for each in sockets if each.touches(port)]
    connected = [each for each in on_port if not each.is_listening and state in {None, each.state}]
    connected.sort(key=_rank)
    shown = [
        Connection(
            protocol=each.protocol,
            local=str(each.local),
            remote=str(each.remote or ""),
            state=each.state,
            pid=each.pid,
            process=name_process(each.pid),
        )
        for each in connected[:limit]
    ]
    return Connections(
        by_state=dict(Counter(each.state for each in on_port if each.protocol == "tcp").most_common()),
        connections=shown,
        total=len(connected),
        truncated=len(connected) > len(shown),
        notes=notes,
    )


def _read_sockets() -> tuple[list[Socket], list[str]]:
    try:
        found = psutil.net_connections(kind="inet")
    except (psutil.Error, OSError):
        return [], ["the sockets of this machine may only be listed by root"]
    sockets = [
        Socket(
            protocol="tcp" if each.type == socket.SOCK_STREAM else "udp",
            local=Address(host=each.laddr.ip, port=each.laddr.port),
            remote=Address(host=each.raddr.ip, port=each.raddr.port) if each.raddr else None,
            state=each.status,
            pid=each.pid,
        )
        for each in found
        if each.laddr
    ]
    return sockets, [
        *_note_unknown(sockets),
        *note_other_users("the pid is missing where the process is another user's"),
        *note_hidden_processes(),
    ]


def _note_unknown(sockets: list[Socket]) -> list[str]:
    if all(each.pid is not None for each in sockets if each.is_listening):
        return []
    return ["a listening socket without pid belongs to the kernel, a container, or a process that is closed to us"]


def _rank(each: Socket) -> tuple[int, str, int]:
    place = _STATES_FIRST.index(each.state) if each.state in _STATES_FIRST else len(_STATES_FIRST)
    return place, each.state, each.local.port

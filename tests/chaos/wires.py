"""The network between a replica and its database, which can be cut for one replica alone.

With root and `ip` each replica has a network namespace of its own and a link to the database that can be taken down, so
that packets vanish without a word. Elsewhere a relay stands in, which holds every byte back.
"""

import asyncio
import os
import random
import shutil
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

from tests.fakes.cable import Cable, open_cable

LOOPBACK = "127.0.0.1"
_PREFIX = "mwc"


class Wire(Protocol):
    """What a replica is connected by."""

    @property
    def host(self) -> str:
        """Where the replica listens."""
        ...

    @property
    def database_host(self) -> str:
        """Where the database listens for it."""
        ...

    @property
    def space(self) -> str | None:
        """The network namespace in which it ends, if it ends in another."""
        ...

    async def reach(self, dsn: str) -> str:
        """The database as it is reached through the wire."""
        ...

    async def cut(self) -> None: ...
    async def heal(self) -> None: ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two links into a namespace: one leads to the database and can be cut, the other to everything else."""

    name: str
    network: str
    """The first three bytes of its addresses."""
    offset: int
    """Where in the network its addresses begin."""

    @property
    def host(self) -> str:
        return self._address(2)

    @property
    def near(self) -> str:
        return self._address(1)

    @property
    def database_host(self) -> str:
        return self._address(5)

    @property
    def space(self) -> str:
        return f"/run/netns/{self.name}"

    async def reach(self, dsn: str) -> str:
        return dsn.replace(LOOPBACK, self.database_host)

    async def cut(self) -> None:
        await _ip(f"link set dev {self.name}d down")

    async def heal(self) -> None:
        await _ip(f"link set dev {self.name}d up")

    async def lay(self, servers: str) -> None:
        """`servers` is the address at which the model and the tools are."""
        name = self.name
        await _ip(
            f"netns add {name}",
            f"link add {name}n type veth peer name n netns {name}",
            f"link add {name}d type veth peer name d netns {name}",
            f"addr add {self.near}/30 dev {name}n",
            f"addr add {self.database_host}/30 dev {name}d",
            f"link set dev {name}n up",
            f"link set dev {name}d up",
            # While the link is down its packets must not leave by another way.
            f"route add blackhole {self._address(4)}/30 metric 4000",
        )
        await _ip(
            "link set dev lo up",
            f"addr add {self.host}/30 dev n",
            f"addr add {self._address(6)}/30 dev d",
            "link set dev n up",
            "link set dev d up",
            *([] if servers == self.near else [f"route add {servers}/32 via {self.near}"]),
            space=name,
        )

    async def take_away(self) -> None:
        await _ip(f"netns del {self.name}", f"route del blackhole {self._address(4)}/30 metric 4000", force=True)

    def _address(self, number: int) -> str:
        return f"{self.network}.{self.offset + number}"


@final
@dataclass(slots=True, kw_only=True)
class Relay:
    """A wire for those who may not make namespaces."""

    stack: AsyncExitStack
    host: str = LOOPBACK
    database_host: str = LOOPBACK
    space: None = None
    cable: Cable | None = None

    async def reach(self, dsn: str) -> str:
        if self.cable is None:
            self.cable = await self.stack.enter_async_context(open_cable(dsn))
        return dsn.replace(f"{LOOPBACK}:{self.cable.far_port}", self.cable.dsn.partition("@")[2].partition("/")[0])

    async def cut(self) -> None:
        if self.cable is not None:
            self.cable.hold_still()

    async def heal(self) -> None:
        if self.cable is not None:
            self.cable.flowing.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    wires: dict[str, Wire]
    servers: str
    """Where the model and the tools have to listen."""
    are_real: bool


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why there can be no namespaces here."""

    reason: str
    is_removable: bool
    """Whoever runs this could do something about it."""


async def find_obstacle() -> Obstacle | None:
    if os.geteuid() != 0:
        return Obstacle("only root may make network namespaces", is_removable=True)
    if shutil.which("ip") is None:
        return Obstacle("there is no `ip` program", is_removable=True)
    probe = f"{_PREFIX}{os.getpid()}p"
    try:
        await _ip(f"netns add {probe}", f"link add {probe}n type veth peer name n netns {probe}", f"netns del {probe}")
    except OSError as error:
        return Obstacle(f"this machine refuses network namespaces: {error}", is_removable=False)
    return None


@asynccontextmanager
async def open_wires(*names: str) -> AsyncGenerator[Wires]:
    if await find_obstacle() is not None:
        async with AsyncExitStack() as stack:
            wires: dict[str, Wire] = {name: Relay(stack=stack) for name in names}
            yield Wires(wires=wires, servers=LOOPBACK, are_real=False)
        return
    async with _laid(names) as links:
        yield Wires(wires=dict(links), servers=links[names[0]].near, are_real=True)


@asynccontextmanager
async def _laid(names: tuple[str, ...]) -> AsyncGenerator[dict[str, Link]]:
    await _sweep()
    chance = random.SystemRandom()
    network = f"10.{chance.randint(64, 254)}.{chance.randint(0, 254)}"
    links = {
        name: Link(name=f"{_PREFIX}{os.getpid()}{name}", network=network, offset=8 * number)
        for number, name in enumerate(names)
    }
    try:
        for link in links.values():
            await link.lay(links[names[0]].near)
        yield links
    finally:
        for link in links.values():
            await link.take_away()


async def _sweep() -> None:
    """Namespaces of runs that were killed."""
    for left in Path("/run/netns").glob(f"{_PREFIX}*"):
        pid = "".join(filter(str.isdigit, left.name))
        if not Path("/proc", pid).exists():
            await _ip(f"netns del {left.name}", force=True)


async def _ip(*commands: str, space: str | None = None, force: bool = False) -> None:
    """Raises OSError with what `ip` says."""
    where = [] if space is None else ["-n", space]
    process = await asyncio.create_subprocess_exec(
        *("ip", *where, *(["-force"] if force else []), "-batch", "-"), stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await process.communicate("\n".join([*commands, ""]).encode())
    if process.returncode and not force:
        raise OSError(said.decode().strip())

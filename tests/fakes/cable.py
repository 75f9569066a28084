"""A real wire to the database that a test can cut or hold still."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit


@dataclass(slots=True, kw_only=True)
class Cable:
    dsn: str
    """The database as it is reached through the cable."""
    far_host: str
    far_port: int
    listener: asyncio.Server | None = None
    open_ends: set[StreamWriter] = field(default_factory=set[StreamWriter])
    flowing: asyncio.Event = field(default_factory=asyncio.Event)

    def cut(self) -> None:
        """Whoever is connected is thrown out, and nobody is let in."""
        assert self.listener is not None
        self.listener.close()
        for end in list(self.open_ends):
            end.transport.abort()

    def hold_still(self) -> None:
        """Connections stand, and nothing moves in them."""
        self.flowing.clear()

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self.far_host, self.far_port)
        except OSError:
            # Nobody is there at the moment: whoever called hears as much.
            writer.transport.abort()
            return
        self.open_ends |= {writer, far_writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, far_writer))
                group.create_task(self._pump(far_reader, writer))
        finally:
            self.open_ends -= {writer, far_writer}

    async def _pump(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self.flowing.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def open_cable(dsn: str) -> AsyncGenerator[Cable]:
    parts = urlsplit(dsn)
    assert parts.hostname
    assert parts.port
    cable = Cable(dsn="", far_host=parts.hostname, far_port=parts.port)
    cable.flowing.set()
    cable.listener = await asyncio.start_server(cable.carry, "127.0.0.1", 0)
    port = cable.listener.sockets[0].getsockname()[1]
    cable.dsn = urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}"))
    try:
        yield cable
    finally:
        cable.flowing.set()
        cable.cut()
        await cable.listener.wait_closed()

"""Containers as the runtime's JSON describes them."""

from collections.abc import Iterable
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from midwatch.bundled.host.answers import Name, PathText, Shape, Word

_MAX_PORTS = 20


class Container(Shape):
    id: Word
    name: Name
    image: PathText
    state: Word
    status: Name = Field(description="In the runtime's words, with exit code or health")
    restarts: int | None = Field(description="By the runtime's restart policy; null when it was not asked")
    ports: list[Word] = Field(description="Published ones, host to container")


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Port(_Wire):
    address: str | None = Field(default=None, alias="IP")
    inner: int = Field(alias="PrivatePort")
    outer: int | None = Field(default=None, alias="PublicPort")
    protocol: str = Field(default="tcp", alias="Type")


class _Row(_Wire):
    id: str = Field(alias="Id")
    names: list[str] | None = Field(default=None, alias="Names")
    image: str = Field(default="", alias="Image")
    state: str = Field(default="unknown", alias="State")
    status: str = Field(default="", alias="Status")
    ports: list[_Port] | None = Field(default=None, alias="Ports")


def parse_container(row: Any) -> Container:
    """One element of /containers/json. Raises ValueError when it is none."""
    wire = _Row.model_validate(row)
    published = sorted({_tell_port(port) for port in wire.ports or () if port.outer is not None})
    return Container(
        id=wire.id[:12],
        name=(wire.names or [wire.id[:12]])[0].lstrip("/"),
        image=wire.image,
        state=wire.state,
        status=wire.status or wire.state,
        restarts=None,
        ports=published[:_MAX_PORTS],
    )


def parse_restarts(details: Any) -> int | None:
    """Of /containers/ID/json."""
    count = cast("dict[str, Any]", details).get("RestartCount") if isinstance(details, dict) else None
    return count if isinstance(count, int) else None


def name_runtime(version: Any) -> str:
    """Of /version: Podman answers in Docker's place and says so among its components."""
    facts = cast("dict[str, Any]", version) if isinstance(version, dict) else {}
    components = cast("Iterable[Any]", facts.get("Components") or ())
    names = [str(cast("dict[str, Any]", part).get("Name", "")) for part in components if isinstance(part, dict)]
    product = "podman" if any("podman" in name.casefold() for name in names) else "docker"
    return f"{product} {facts.get('Version', '')}".strip()


def _tell_port(port: _Port) -> str:
    host = f"[{port.address}]" if port.address and ":" in port.address else port.address or "*"
    return f"{host}:{port.outer}->{port.inner}/{port.protocol}"

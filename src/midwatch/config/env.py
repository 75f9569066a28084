"""What the process is told by its environment. Our own names win over TARSy's; an empty variable counts as unset."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import platformdirs

from midwatch.config.sentences import suggest
from midwatch.domain.errors import Misconfigured

_LEVELS = ("debug", "info", "warning", "error", "critical")
_LEVEL_ALIASES = {"warn": "warning"}
_FORMATS = ("text", "json")
_LAST_PORT = 65535

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    home: Path
    """Where everything Midwatch writes goes."""
    database_url: str | None = field(repr=False)
    """None: Midwatch runs a PostgreSQL of its own."""
    host: str
    port: int
    """0 takes any free port."""
    pod_id: str
    log_level: str
    log_format: str | None
    """None: JSON unless a person watches."""
    config_dir: Path | None
    trusted_proxies: tuple[Network, ...] = ()
    """Peers that may say who sends a request; programs on this machine always may."""


def read_env(environ: Mapping[str, str]) -> Env:
    """Raises Misconfigured with all problems at once."""
    reading = _Reading(environ)
    env = Env(
        home=Path(reading.text("MIDWATCH_HOME") or default_home(root=os.geteuid() == 0)).expanduser().absolute(),
        database_url=reading.text("DATABASE_URL") or _compose_database_url(reading),
        host=reading.text("MIDWATCH_HOST") or "127.0.0.1",
        port=reading.port("MIDWATCH_PORT", "HTTP_PORT", default=8080),
        pod_id=reading.text("POD_ID", "HOSTNAME") or "local",
        log_level=reading.choice("LOG_LEVEL", _LEVELS, aliases=_LEVEL_ALIASES) or "info",
        log_format=reading.choice("LOG_FORMAT", _FORMATS),
        config_dir=Path(given).expanduser() if (given := reading.text("CONFIG_DIR")) else None,
        trusted_proxies=reading.networks("MIDWATCH_TRUSTED_PROXIES"),
    )
    if reading.problems:
        raise Misconfigured(reading.problems)
    return env


def read_port(environ: Mapping[str, str], name: str, *, default: int) -> int:
    """Raises Misconfigured."""
    reading = _Reading(environ)
    port = reading.port(name, default=default)
    if reading.problems:
        raise Misconfigured(reading.problems)
    return port


def default_home(*, root: bool) -> Path:
    return Path("/var/lib/midwatch") if root else platformdirs.user_data_path("midwatch")


class _Reading:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def text(self, *names: str) -> str | None:
        """The first of the names that has a value."""
        return next((self._environ[name] for name in names if self._environ.get(name)), None)

    def port(self, *names: str, default: int) -> int:
        for name in names:
            if value := self.text(name):
                if value.isascii() and value.isdigit() and int(value) <= _LAST_PORT:
                    return int(value)
                self.problems.append(f"{name}: expected a port number up to {_LAST_PORT}")
                return default
        return default

    def networks(self, name: str) -> tuple[Network, ...]:
        given = [part.strip() for part in (self.text(name) or "").split(",")]
        try:
            return tuple(ipaddress.ip_network(part) for part in given if part)
        except ValueError:
            self.problems.append(f"{name}: expected networks such as 10.0.0.0/8, separated by commas")
            return ()

    def choice(
        self, name: str, choices: tuple[str, ...], *, aliases: Mapping[str, str] = MappingProxyType({})
    ) -> str | None:
        value = (self.text(name) or "").lower()
        value = aliases.get(value, value)
        if value and value not in choices:
            self.problems.append(f"{name}: expected {', '.join(choices)}{suggest(value, choices)}")
        return value or None


def _compose_database_url(reading: _Reading) -> str | None:
    host = reading.text("DB_HOST")
    if host is None:
        return None
    user = quote(reading.text("DB_USER") or "tarsy", safe="")
    password = reading.text("DB_PASSWORD")
    login = f"{user}:{quote(password, safe='')}" if password else user
    address = f"[{host}]" if ":" in host else host
    port = reading.port("DB_PORT", default=5432)
    name = quote(reading.text("DB_NAME") or "tarsy", safe="")
    return f"postgresql://{login}@{address}:{port}/{name}?sslmode={quote(reading.text('DB_SSLMODE') or 'disable')}"

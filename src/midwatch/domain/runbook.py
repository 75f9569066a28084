"""The runbook of an alert: where it may come from, and what an investigation is given of it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from midwatch.domain.errors import Invalid

LONGEST_URL = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
_PLAIN = re.compile(r"[!-\[\]-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runbook:
    text: str
    """Masked; empty where there is none."""
    url: str | None = None
    """Where it stands, as it may be shown; None of the general one."""
    missed: str | None = None
    """The address that was named and could not be read, as it may be shown. The text is then the general one."""
    warning: str | None = None
    """What people should know about it."""


def check_runbook_url(url: str, *, domains: Collection[str]) -> None:
    """Raises Invalid unless it may be fetched."""
    if len(url) > LONGEST_URL:
        raise Invalid(f"runbook may have {LONGEST_URL} characters", field="runbook")
    if not is_allowed(url, domains=domains):
        raise Invalid(
            "runbook must be an http or https URL of an allowed domain", field="runbook", allowed=sorted(domains)
        )


def is_allowed(url: str, *, domains: Collection[str]) -> bool:
    """Plain http or https to one of the domains, without a login, at the usual port or at the one the domain names."""
    if len(url) > LONGEST_URL or not _PLAIN.fullmatch(url):
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    usual = DEFAULT_PORTS.get(parts.scheme)
    if usual is None or not parts.hostname or "@" in parts.netloc:
        return False
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    allowed = {domain.lower() for domain in domains}
    return f"{host}:{port or usual}" in allowed or (port in (None, usual) and host in allowed)


def without_query(url: str) -> str:
    """As it may be shown to a model: what follows the path of a private file is a credential."""
    return urlsplit(url)._replace(query="", fragment="").geturl()

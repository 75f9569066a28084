"""Where a runbook may come from. Only its address is known here."""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from midwatch.domain.errors import Invalid

LONGEST_URL = 2048
_HTTPS = 443
_PLAIN = re.compile(r"[!-\[\]-~]+")


def check_runbook_url(url: str, *, domains: Collection[str]) -> None:
    """Raises Invalid unless it is plain https to one of the domains, with neither a login nor another port."""
    if len(url) > LONGEST_URL:
        raise Invalid(f"runbook may have {LONGEST_URL} characters", field="runbook")
    if not _PLAIN.fullmatch(url) or not _leads_to(url, {domain.lower() for domain in domains}):
        raise Invalid("runbook must be an https URL of an allowed domain", field="runbook", allowed=sorted(domains))


def _leads_to(url: str, domains: Collection[str]) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme == "https" and parts.hostname in domains and "@" not in parts.netloc and port in (None, _HTTPS)


def without_query(url: str) -> str:
    """As it may be shown to a model: what follows the path of a private file is a credential."""
    return urlsplit(url)._replace(query="", fragment="").geturl()

"""What a call would show or reach by its arguments alone: files that hold secrets, and addresses."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from midwatch.safety.shell.programs.destinations import host_of, is_metadata
from midwatch.safety.shell.secrets import find_secret
from midwatch.tools.places import Place, list_texts
from midwatch.tools.subjects import Subject, subjects_of

_FILE_SCHEME: Final = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_NETWORK_SCHEME: Final = re.compile(
    r"https?:[/\\]*|(?:wss?|s?ftps?|gopher|ldaps?|ssh|git|telnet|smb|nfs)://+", re.IGNORECASE
)
_BARE_HOST: Final = re.compile(r"//|(?:\[[0-9A-Fa-f:.]+\]|[\w-]+(?:\.[\w-]+)+)(?:[:/?#]|\Z)")
_AUTHORITY: Final = re.compile(r"(?:[\w.~!$&'()*+,;=%:-]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]*)?")
_DRIVE: Final = re.compile(r"\A[A-Za-z]:(?=[/\\])")
UNREADABLE: Final = "an address that cannot be read"
_CREDENTIALS: Final = "cloud credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    secrets: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    """Hosts."""


def find_exposure(places: Sequence[Place], *, apart_from: Collection[Subject] = ()) -> Exposure:
    """`apart_from` has what was judged in another way."""
    passed_over = (Subject.SEARCH, *apart_from)
    opened = [place for place in places if place.subjects.isdisjoint(passed_over)]
    found = [_judge(text.strip(), place.subjects) for place in opened for text in list_texts(place.value)]
    return Exposure(
        secrets=tuple(dict.fromkeys(secret for secret, _ in found if secret is not None)),
        egress=tuple(dict.fromkeys(host for _, host in found if host is not None)),
    )


def opens_files(places: Sequence[Place], properties: Iterable[str]) -> bool:
    """Whether a name in the arguments, or among the tool's own, speaks of a file."""
    spoken_of = (*(place.subjects for place in places), *map(subjects_of, properties))
    return any(Subject.FILE in subjects for subjects in spoken_of)


def find_host(text: str, *, is_address: bool) -> str | None:
    """The host that a text leads to when it is opened. What programs read in different ways is read in none."""
    scheme = _NETWORK_SCHEME.match(text)
    if scheme is None and not (is_address and _BARE_HOST.match(text)):
        return None
    rest = text[scheme.end() :] if scheme else text.lstrip("/")
    authority = re.split(r"[/?#]", rest)[0]
    return host_of(f"any://{authority}") if _AUTHORITY.fullmatch(authority) else UNREADABLE


def _judge(text: str, subjects: Collection[Subject]) -> tuple[str | None, str | None]:
    """The secret it would show, and the host it would reach."""
    host = find_host(text, is_address=Subject.ADDRESS in subjects)
    if host is None:
        return _find_secret(text, is_file=Subject.FILE in subjects), None
    return _CREDENTIALS if is_metadata(host) else None, host


def _find_secret(text: str, *, is_file: bool) -> str | None:
    scheme = _FILE_SCHEME.match(text)
    if scheme is not None:
        text, is_file = unquote(text[scheme.end() :]), True
    path = _DRIVE.sub("", text).replace("\\", "/")
    return find_secret(path) if is_file or path.startswith(("/", "~")) else None

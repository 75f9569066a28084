"""What a call would show or reach by its arguments alone: files that hold secrets, and addresses."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from midwatch.safety.shell.programs.destinations import host_of, is_metadata
from midwatch.safety.shell.secrets import find_secret
from midwatch.tools.places import list_named_texts, plain_name

_FILES: Final = frozenset(("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"))
_ADDRESSES: Final = frozenset(("url", "urls", "uri", "uris", "endpoint", "endpoints", "webhook", "href", "link"))
_SEARCHES: Final = frozenset(
    ("query", "q", "search", "text", "filter", "pattern", "expression", "expr", "message", "content", "regex")
)
"""What is looked for is not what is opened."""
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_FILE_SCHEME: Final = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_NETWORK_SCHEME: Final = re.compile(
    r"https?:[/\\]*|(?:wss?|s?ftps?|gopher|ldaps?|ssh|git|telnet|smb|nfs)://+", re.IGNORECASE
)
_BARE_HOST: Final = re.compile(r"//|(?:\[[0-9A-Fa-f:.]+\]|[\w-]+(?:\.[\w-]+)+)(?:[:/?#]|\Z)")
_AUTHORITY: Final = re.compile(r"(?:[\w.~!$&'()*+,;=%:-]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]*)?")
UNREADABLE: Final = "an address that cannot be read"
_CREDENTIALS: Final = "cloud credentials"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    secrets: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    """Hosts."""


def find_exposure(arguments: Mapping[str, Any], *, apart_from: Collection[str] = ()) -> Exposure:
    """`apart_from` has plain names of what was judged in another way."""
    secrets: dict[str, None] = {}
    egress: dict[str, None] = {}
    for name, text in list_named_texts(arguments):
        subjects = _read_subjects(name)
        if subjects & _SEARCHES or plain_name(name) in apart_from:
            continue
        host = find_host(text.strip(), is_address=bool(subjects & _ADDRESSES))
        secret = (
            _find_secret(text.strip(), is_file=bool(subjects & _FILES)) if host is None else _find_credentials(host)
        )
        secrets |= {} if secret is None else {secret: None}
        egress |= {} if host is None else {host: None}
    return Exposure(secrets=tuple(secrets), egress=tuple(egress))


def opens_files(arguments: Mapping[str, Any], properties: Iterable[str]) -> bool:
    """Whether a name in the arguments, or among the tool's own, speaks of a file."""
    names = (*properties, *(name for name, _ in list_named_texts(arguments)))
    return any(_read_subjects(name) & _FILES for name in names)


def find_host(text: str, *, is_address: bool) -> str | None:
    """The host that a text leads to when it is opened. What programs read in different ways is read in none."""
    scheme = _NETWORK_SCHEME.match(text)
    if scheme is None and not (is_address and _BARE_HOST.match(text)):
        return None
    rest = text[scheme.end() :] if scheme else text.lstrip("/")
    authority = re.split(r"[/?#]", rest)[0]
    return host_of(f"any://{authority}") if _AUTHORITY.fullmatch(authority) else UNREADABLE


@lru_cache(maxsize=1024)
def _read_subjects(name: str) -> frozenset[str]:
    """`logFilePath` and `log_file_path` speak of a path, and of a file path."""
    words = [word.lower() for word in _WORD.findall(name)]
    return frozenset((words[-1], "".join(words[-2:]))) if words else frozenset()


def _find_secret(text: str, *, is_file: bool) -> str | None:
    scheme = _FILE_SCHEME.match(text)
    if scheme is not None:
        return find_secret(unquote(text[scheme.end() :]))
    return find_secret(text) if is_file or text.startswith(("/", "~")) else None


def _find_credentials(host: str) -> str | None:
    return _CREDENTIALS if is_metadata(host) else None

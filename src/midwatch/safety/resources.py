"""What a target is: the parts of its id, what else it is called, and what it runs on."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote

Value = TypeVar("Value")

LONGEST_PART: Final = 256
UNSTATED: Final = "resource"
"""The kind of what was found without saying what it is."""
_PLAIN: Final = re.compile(rf"(?=.{{1,{LONGEST_PART}}}\Z)[A-Za-z0-9_:-]+(?:\.[A-Za-z0-9_:-]+)*")
"""Most names are such, and nothing is wrong with them."""
_HIDDEN: Final = ("C", "Z")
"""Unicode's control, format and separator characters: none of them belongs in the name of a thing."""


class Family(StrEnum):
    """What many kinds have in common: what they can run, and what they can run on."""

    NODE = "node"
    HOST = "host"
    GUEST = "guest"
    CONTAINER = "container"
    POD = "pod"


_KINDS: Final[Mapping[Family, str]] = {
    Family.NODE: "node proxmox_node pve_node k8s_node kubernetes_node",
    Family.HOST: "host docker_host podman_host container_host machine server agent",
    Family.GUEST: "guest vm qemu virtual_machine lxc ct system_container",
    Family.CONTAINER: "container docker_container podman_container app_container",
    Family.POD: "pod k8s_pod kubernetes_pod",
}
_FAMILIES: Final = {kind: family for family, kinds in _KINDS.items() for kind in kinds.split()}


class Parts(NamedTuple):
    kind: str
    host: str | None
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The call that found something, so that code can look again."""

    tool: str
    """`server.tool`"""
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    kind: str
    uid: str
    """The provider's own, stable name of it."""
    host: str | None = None
    """What it runs on or lies in, where `uid` means something only there."""
    name: str = ""
    aliases: tuple[str, ...] = ()
    parent: str | None = None
    """The id of what it runs on, when that is known."""
    actions: frozenset[str] | None = None
    """What may be done to it, when whoever found it says so. None of it when empty."""
    origin: Origin | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        return build_id(self.kind, self.uid, host=self.host)

    @property
    def shown_as(self) -> str:
        return self.name or self.uid

    def names(self) -> Iterator[str]:
        """Everything it answers to, as names are compared."""
        for name in (self.id, self.uid, self.name, *self.aliases):
            if name:
                yield fold_name(name)
        if family_of(self.kind) in (Family.NODE, Family.HOST):
            yield from {short_name(name) for name in (self.uid, self.name) if name}


def family_of(kind: str) -> Family | None:
    return _FAMILIES.get(fold_name(kind).replace("-", "_"))


def is_kind_of(kind: str, wanted: str) -> bool:
    """The name of a family stands for every kind in it."""
    word = fold_name(wanted)
    return fold_name(kind) == word or (word in set(Family) and family_of(kind) == Family(word))


def build_id(kind: str, uid: str, *, host: str | None = None) -> str:
    """`{kind}:{host}:{uid}` or `{kind}:{uid}`. No part can pass for two, whatever is written in it."""
    if host is None:
        return f"{escape_part(kind)}:{escape_part(uid)}"
    return f"{escape_part(kind)}:{escape_part(host)}:{escape_part(uid)}"


def split_id(text: str) -> Parts | None:
    match [unquote(part) for part in text.split(":")]:
        case [kind, uid] if kind and uid:
            return Parts(kind, None, uid)
        case [kind, host, uid] if kind and host and uid:
            return Parts(kind, host, uid)
        case _:
            return None


def read_id(text: str) -> Resource | None:
    """What an id says of the thing it names."""
    parts = split_id(text)
    return None if parts is None else Resource(kind=parts.kind, host=parts.host, uid=parts.uid)


def escape_part(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A") if "%" in part or ":" in part else part


@lru_cache(maxsize=4096)
def fold_name(name: str) -> str:
    """How names are compared: people and providers do not agree on case, width and blanks."""
    return (name if name.isascii() else unicodedata.normalize("NFKC", name)).strip().casefold()


def short_name(name: str) -> str:
    """A host's name without its domain."""
    return fold_name(name).partition(".")[0]


def find_flaw(part: str) -> str | None:
    """Why a text cannot be part of an id."""
    return None if _PLAIN.fullmatch(part) else _find_flaw(part)


def _find_flaw(part: str) -> str | None:
    if not part:
        return "is empty"
    if len(part) > LONGEST_PART:
        return f"is longer than {LONGEST_PART} characters"
    if part != part.strip() or _has_hidden(part):
        return "has blanks at its ends, or characters that cannot be seen"
    if "*" in part or "?" in part:
        return "has wildcards in it"
    if ".." in part.split("/"):
        return "leads upwards with .."
    return None


def as_part(value: Any) -> str | None:
    """Texts and whole numbers name things; nothing else does."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def first_match(tool: str, globs: Mapping[str, Value]) -> Value | None:
    return next((value for glob, value in globs.items() if fnmatchcase(tool, glob)), None)


def _has_hidden(part: str) -> bool:
    is_plain = part.isascii() and part.isprintable()
    return not is_plain and any(_is_hidden(character) for character in part)


def _is_hidden(character: str) -> bool:
    return character != " " and unicodedata.category(character).startswith(_HIDDEN)

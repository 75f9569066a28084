"""The resolved context: what a session has found, and what somebody in it has meant. In memory only, per session.

Being found and being meant are two things. Whatever a discovery lists is found. Meant is only what an authenticated
person names or selects, or what is got by itself; never what a search, a prefetch, an alert or a tool's words bring up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.kit.clock import Clock, boottime
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import UNSTATED, Parts, Resource, fold_name, is_kind_of, read_id, short_name, split_id

TTL_SECONDS: Final = 45 * 60.0
MOST_ENTRIES: Final = 500
_MOST_CANDIDATES: Final = 10
SERVER_PREFIX: Final = "mcp:"
"""Of targets that are a tool server as a whole. The operator has named those, so nobody has to find them."""


class Source(StrEnum):
    """Who meant a resource."""

    MENTION = "mention"
    SELECTION = "selection"
    GET = "get"

    @property
    def is_person(self) -> bool:
        return self is not Source.GET


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    candidates: tuple[Resource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A resource somebody has meant, and when: later orders are later."""

    resource: Resource
    order: int
    by_person: int | None = None
    """When a person did, last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A name that a person wrote."""

    name: str
    order: int
    is_resolved: bool


@dataclass(slots=True)
class _Entry:
    resource: Resource
    used_at: float
    pins: set[str] = field(default_factory=set[str])


@dataclass(slots=True, kw_only=True)
class ResolvedContext:
    clock: Clock = boottime
    ttl: float = TTL_SECONDS
    most: int = MOST_ENTRIES
    _entries: dict[str, _Entry] = field(default_factory=dict[str, _Entry])
    """The least recently used first."""
    _by_name: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    _meant: dict[str, Meant] = field(default_factory=dict[str, Meant])
    _mentions: dict[str, Mention] = field(default_factory=dict[str, Mention])
    _awaited: dict[str, None] = field(default_factory=dict[str, None])
    """Ids that a person has selected and nobody has found since."""
    _order: int = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, resources: Iterable[Resource]) -> None:
        """Found by a discovery. What a person had named before is meant from now on."""
        for resource in resources:
            self._redeem_mentions(self._put(resource))
        self._evict()

    def mean(self, resource: Resource) -> None:
        """One resource that was got by itself, and so is found, too."""
        self._mark(self._put(resource), order=self._next_order(), source=Source.GET)
        self._evict()

    def mention(self, names: Sequence[str]) -> None:
        """The names in one message of an authenticated person."""
        self.hear(names)

    def select(self, ids: Sequence[str]) -> None:
        """What an authenticated person has picked: these very ids, and nothing that only bears their names."""
        self.hear((), selected=ids)

    def hear(self, names: Sequence[str], *, selected: Sequence[str] = ()) -> None:
        """One message of an authenticated person: all that it names or comes with is meant at once.

        What nothing is known of yet waits for a discovery, and counts until then. It is not found by being meant.
        """
        order = self._next_order()
        for name in names:
            self._mention(name, order=order)
        for resource_id in selected:
            self._select(resource_id, order=order)

    def find(self, text: str) -> Resource | Ambiguous | None:
        """By id, name or alias. What is looked up lives longer, but is not meant for it."""
        self._evict()
        candidates = self._candidates(text)
        for resource in candidates:
            self._touch(resource.id)
        match candidates:
            case []:
                return None
            case [resource]:
                return resource
            case _:
                return Ambiguous(candidates=tuple(candidates))

    def has(self, resource_id: str) -> bool:
        """Whether the very id is known."""
        self._evict()
        return resource_id in self._entries

    def pin(self, resource_id: str, *, why: str) -> None:
        """Keeps an entry until every reason is gone. What is not there is not pinned."""
        if resource_id in self._entries:
            self._entries[resource_id].pins.add(why)

    def unpin(self, resource_id: str, *, why: str) -> None:
        if resource_id in self._entries:
            self._entries[resource_id].pins.discard(why)

    @property
    def pinned(self) -> frozenset[str]:
        return frozenset(resource_id for resource_id, entry in self._entries.items() if entry.pins)

    @property
    def ids(self) -> frozenset[str]:
        self._evict()
        return frozenset(self._entries)

    @property
    def meant(self) -> Mapping[str, Meant]:
        """By id. Holds for the session, also for what the cache has let go of."""
        return dict(self._meant)

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """What persons have named, whether anything is known of it or not."""
        return tuple(self._mentions.values())

    @property
    def awaited(self) -> tuple[Meant, ...]:
        """What persons have selected and nobody has found since: no more is known of it than its id says."""
        return tuple(self._meant[resource_id] for resource_id in self._awaited)

    def refuse_unresolved(
        self, target: str, *, kind: ToolKind, action: str, runs_command: bool = False
    ) -> Refusal | None:
        """A change needs a target that was found; a reading command, that anything was found at all."""
        if target.startswith(SERVER_PREFIX):
            return None
        if kind is ToolKind.WRITE:
            return self._refuse_change(target, action=action)
        needs_context = kind is ToolKind.READ and runs_command and not self.ids
        return _refuse_not_found(target, action=action) if needs_context else None

    def reset(self, *, keep: Collection[str] = ()) -> None:
        """Forgets all but `keep`, with what was meant of it. Only `SessionSafety.reset` may call this."""
        for resource_id in [known for known in self._entries if known not in keep]:
            self._drop(resource_id)
        self._meant = {resource_id: meant for resource_id, meant in self._meant.items() if resource_id in keep}
        self._mentions.clear()
        self._awaited.clear()

    def _refuse_change(self, target: str, *, action: str) -> Refusal | None:
        match self.find(target):
            case None:
                return _refuse_not_found(target, action=action)
            case Ambiguous(candidates=candidates):
                return _refuse_ambiguous(target, candidates)
            case Resource(actions=actions) as resource if actions is not None and action not in actions:
                return _refuse_action(resource, actions, action=action)
            case _:
                return None

    def _candidates(self, text: str) -> list[Resource]:
        """The very id, or else all that answer to the text; never one of several by chance."""
        if text in self._entries:
            return [self._entries[text].resource]
        named = self._named(text)
        parts = split_id(text)
        if named or parts is None:
            return named
        return [resource for resource in self._named(parts.uid) if _may_be(resource, parts)]

    def _named(self, name: str) -> list[Resource]:
        return [self._entries[resource_id].resource for resource_id in self._by_name.get(fold_name(name), ())]

    def _put(self, resource: Resource) -> Resource:
        """As it is known from now on."""
        resource_id = resource.id
        former = self._entries.pop(resource_id, None)
        if former is not None:
            resource = _fill_in(resource, former.resource)
        self._entries[resource_id] = _Entry(resource, self.clock(), former.pins if former else set())
        if former is None or former.resource != resource:
            self._rename(resource, former.resource if former else None)
        if resource_id in self._meant:
            self._meant[resource_id] = replace(self._meant[resource_id], resource=resource)
        self._awaited.pop(resource_id, None)
        return resource

    def _rename(self, resource: Resource, former: Resource | None) -> None:
        if former is not None:
            self._unname(former)
        for name in resource.names():
            self._by_name.setdefault(name, {})[resource.id] = None

    def _mention(self, name: str, *, order: int) -> None:
        candidates = self._candidates(name)
        for resource in candidates:
            self._mark(resource, order=order, source=Source.MENTION)
        self._mentions[fold_name(name)] = Mention(name=name, order=order, is_resolved=bool(candidates))

    def _select(self, resource_id: str, *, order: int) -> None:
        entry, meant = self._entries.get(resource_id), self._meant.get(resource_id)
        resource = entry.resource if entry else meant.resource if meant else read_id(resource_id)
        assert resource is not None  # noqa: S101 -- ids were checked before they were taken in
        self._mark(resource, order=order, source=Source.SELECTION)
        if entry is None:
            self._awaited[resource.id] = None

    def _redeem_mentions(self, resource: Resource) -> None:
        for name in resource.names() if self._mentions else ():
            mention = self._mentions.get(name)
            if mention is not None:
                self._mentions[name] = replace(mention, is_resolved=True)
                self._mark(resource, order=mention.order, source=Source.MENTION)

    def _mark(self, resource: Resource, *, order: int, source: Source) -> None:
        former = self._meant.get(resource.id, Meant(resource=resource, order=order))
        by_person = max(order, former.by_person or 0) if source.is_person else former.by_person
        self._meant[resource.id] = Meant(resource=resource, order=max(order, former.order), by_person=by_person)

    def _touch(self, resource_id: str) -> None:
        entry = self._entries.pop(resource_id)
        entry.used_at = self.clock()
        self._entries[resource_id] = entry

    def _evict(self) -> None:
        oldest = self.clock() - self.ttl
        spare = len(self._entries) - self.most
        doomed: list[str] = []
        for resource_id, entry in self._entries.items():
            if entry.pins:
                continue
            if len(doomed) >= spare and entry.used_at > oldest:
                break
            doomed.append(resource_id)
        for resource_id in doomed:
            self._drop(resource_id)

    def _drop(self, resource_id: str) -> None:
        self._unname(self._entries.pop(resource_id).resource)

    def _unname(self, resource: Resource) -> None:
        resource_id = resource.id
        for name in set(resource.names()):
            named = self._by_name[name]
            named.pop(resource_id)
            if not named:
                del self._by_name[name]

    def _next_order(self) -> int:
        self._order += 1
        return self._order


def _fill_in(resource: Resource, former: Resource) -> Resource:
    """Who finds a thing again and says less of it takes nothing back: neither its name nor what may be done to it."""
    if resource == former:
        return resource
    named = resource if resource.name or resource.aliases else former
    return replace(
        resource,
        name=named.name,
        aliases=named.aliases,
        parent=resource.parent or former.parent,
        actions=former.actions if resource.actions is None else resource.actions,
    )


def _may_be(resource: Resource, wanted: Parts) -> bool:
    """Whether something of that name is what an id of other parts speaks of."""
    is_kind = resource.kind == UNSTATED or is_kind_of(resource.kind, wanted.kind)
    if wanted.host is None:
        return is_kind
    # Two things of one name on two hosts must never pass for one another.
    return is_kind and resource.host is not None and short_name(resource.host) == short_name(wanted.host)


def _refuse_not_found(target: str, *, action: str) -> Refusal:
    return build_refusal(
        Code.STRICT_RESOLUTION,
        f"nothing in this session has found {target}",
        details={"resource_id": target, "action": action},
    )


def _refuse_ambiguous(target: str, candidates: Sequence[Resource]) -> Refusal:
    ids = [resource.id for resource in candidates[:_MOST_CANDIDATES]]
    return build_refusal(
        Code.AMBIGUOUS_TARGET,
        f"{target} may be any of {len(candidates)} things",
        details={"resource_id": target, "candidates": ids},
    )


def _refuse_action(resource: Resource, actions: Collection[str], *, action: str) -> Refusal:
    return build_refusal(
        Code.ACTION_NOT_ALLOWED,
        f"{resource.shown_as} does not offer {action}",
        details={"resource_id": resource.id, "action": action, "allowed_actions": sorted(actions)},
    )

"""Where a call must go: never to the host of what was meant, even when the same path exists there, too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.context import Meant, ResolvedContext
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import Family, Resource, family_of, fold_name, short_name, split_id

_MORE_SPECIFIC: Final[Mapping[Family, frozenset[Family]]] = {
    Family.NODE: frozenset({Family.GUEST, Family.CONTAINER, Family.POD}),
    Family.HOST: frozenset({Family.GUEST, Family.CONTAINER, Family.POD}),
    Family.GUEST: frozenset({Family.CONTAINER}),
}
_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A possible host of others."""

    shown_as: str
    id: str
    family: Family | None
    names: frozenset[str]

    def can_run(self, family: Family | None) -> bool:
        # A bare name may be anything; that something runs on it shows that it is a host.
        if self.family is None:
            return family is not None
        return family in _MORE_SPECIFIC.get(self.family, ())


def refuse_host(
    target: str, context: ResolvedContext, *, kind: ToolKind, parent: str | None = None, enters: bool = False
) -> Refusal | None:
    """Why a call that changes its target, or that runs a command or reads files there (`enters`), goes astray.

    A file or a service has no family of its own: it is where its `parent`, or the host in its id, is.
    """
    if kind is not ToolKind.WRITE and not (enters and kind is ToolKind.READ):
        return None
    for place in _places_of(target, parent, context):
        children = _find_children(place, context)
        if children:
            return _refuse(place, [meant.resource for meant in children])
        if kind is ToolKind.WRITE and (missing := _find_missing(place, context)):
            return _refuse_unfound(place, missing)
    return None


def _places_of(target: str, parent: str | None, context: ResolvedContext) -> list[_Place]:
    place = _place_of(target, context)
    if place.family is not None:
        return [place]
    parts = split_id(place.id)
    around = {each for each in (parent, parts and parts.host) if each}
    return [place, *(_place_of(each, context) for each in sorted(around))]


def _place_of(target: str, context: ResolvedContext) -> _Place:
    found = context.find(target)
    if isinstance(found, Resource):
        return _Place(
            shown_as=found.shown_as, id=found.id, family=family_of(found.kind), names=frozenset(found.names())
        )
    parts = split_id(target)
    uid = target if parts is None else parts.uid
    return _Place(
        shown_as=uid,
        id=target,
        family=None if parts is None else family_of(parts.kind),
        names=frozenset({fold_name(target), fold_name(uid), short_name(uid)}),
    )


def _find_children(place: _Place, context: ResolvedContext) -> list[Meant]:
    """What was meant and runs there, the latest first, unless a person has meant the place itself since then."""
    since = _meant_by_person(place, context)
    found = [
        meant
        for meant in context.meant.values()
        if meant.order >= since and meant.resource.id != place.id and _runs_on(meant.resource, place, context)
    ]
    return sorted(found, key=lambda meant: meant.order, reverse=True)


def _find_missing(place: _Place, context: ResolvedContext) -> list[str]:
    """What a person has named or selected and nobody has found: it may well run on any host that can run it."""
    if place.family not in _MORE_SPECIFIC:
        return []
    since = _meant_by_person(place, context)
    named = [
        mention.name
        for mention in context.mentions
        if not mention.is_resolved and mention.order >= since and fold_name(mention.name) not in place.names
    ]
    selected = [
        meant.resource.id
        for meant in context.awaited
        if meant.order >= since and place.can_run(family_of(meant.resource.kind))
    ]
    return named + selected


def _meant_by_person(place: _Place, context: ResolvedContext) -> int:
    meant = context.meant.get(place.id)
    orders = [mention.order for mention in context.mentions if fold_name(mention.name) in place.names]
    orders += [meant.by_person] if meant is not None and meant.by_person is not None else []
    # Both named in one message: the more specific one counts.
    return max(orders, default=0)


def _runs_on(child: Resource, place: _Place, context: ResolvedContext) -> bool:
    if not place.can_run(family_of(child.kind)):
        return False
    for _ in range(_DEEPEST):
        above = child.parent or child.host
        if above is None:
            return False
        if _is_directly_on(child, place):
            return True
        found = context.find(above)
        if not isinstance(found, Resource):
            return False
        child = found
    return False


def _is_directly_on(child: Resource, place: _Place) -> bool:
    if child.parent is not None and fold_name(child.parent) in place.names:
        return True
    return child.host is not None and not place.names.isdisjoint({fold_name(child.host), short_name(child.host)})


def _refuse(place: _Place, children: Sequence[Resource]) -> Refusal:
    first = children[0]
    names = [child.shown_as for child in children]
    return build_refusal(
        Code.ROUTING_MISMATCH,
        f"{place.shown_as} is a host, and what was meant runs on it: {', '.join(names)}",
        hint=f"Make the call on {first.id} ({first.shown_as}) instead of {place.shown_as}.",
        details={
            "target_host": place.shown_as,
            "target_kind": place.family,
            "more_specific_resources": names,
            "more_specific_resource_ids": [child.id for child in children],
            "target_resource_id": first.id,
        },
    )


def _refuse_unfound(place: _Place, names: Sequence[str]) -> Refusal:
    return build_refusal(
        Code.ROUTING_MISMATCH,
        f"{place.shown_as} is a host, and what was meant has not been found yet: {', '.join(names)}",
        hint=f"Find {', '.join(names)} first, and make the call there.",
        details={
            "target_host": place.shown_as,
            "target_kind": place.family,
            "more_specific_resources": list(names),
            "more_specific_resource_ids": [],
            "target_resource_id": None,
        },
    )

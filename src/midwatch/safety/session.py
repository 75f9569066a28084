"""All that safety remembers of one session: its machine and its resolved context, moved and reset together."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from midwatch.domain.tools import Refusal, Ticket, ToolKind
from midwatch.safety.context import SERVER_PREFIX, ResolvedContext
from midwatch.safety.machine import Machine, Outcome
from midwatch.safety.resources import Resource
from midwatch.safety.routing import refuse_host
from midwatch.safety.targets import Target

_OWED: Final = "unverified"


@dataclass(slots=True, kw_only=True)
class SessionSafety:
    machine: Machine = field(default_factory=Machine)
    context: ResolvedContext = field(default_factory=ResolvedContext)
    is_strict: bool = True
    """Changes need targets that were found before."""

    def identify(self, target: Target) -> Target:
        """The target under its one id. What is left to verify keeps the name it was changed under."""
        if target.id in self.machine.unverified_targets:
            return target
        found = self.context.find(target.id)
        return Target(id=found.id, parent=target.parent or found.parent) if isinstance(found, Resource) else target

    def refuse(
        self, targets: Collection[Target], *, kind: ToolKind, action: str, enters: bool = False
    ) -> Refusal | None:
        """Routing, then resolution, then what happened before. Asked again after every wait, since the world moves."""
        for target in targets:
            refusal = self._refuse_target(target, kind=kind, action=action, enters=enters)
            if refusal is not None:
                return refusal
        ids = [target.id for target in targets]
        return self.machine.refuse(kind, ids, found=self._found(ids))

    def begin(
        self,
        targets: Collection[Target],
        *,
        kind: ToolKind,
        action: str,
        enters: bool = False,
        owner: UUID | None = None,
    ) -> Ticket | Refusal:
        """Everything that has to hold, and the entry into WRITING, with no await between."""
        refusal = self.refuse(targets, kind=kind, action=action, enters=enters)
        if refusal is not None:
            return refusal
        ids = [target.id for target in targets]
        return self._keep(self.machine.begin(kind, ids, found=self._found(ids), owner=owner))

    def observe(self, targets: Collection[Target], *, kind: ToolKind, owner: UUID | None = None) -> Ticket | Refusal:
        """Enters although something stands against it, so that what follows is told as it would have been."""
        return self._keep(self.machine.observe(kind, [target.id for target in targets], owner=owner))

    def end(self, ticket: Ticket, outcome: Outcome, *, held_for: float = 0.0) -> tuple[str, ...]:
        """The targets that were verified by this call."""
        verified = self.machine.end(ticket, outcome, held_for=held_for)
        for target in set(ticket.targets).difference(self.machine.unverified_targets):
            self.context.unpin(target, why=_OWED)
        return verified

    def learn(self, found: Iterable[Resource], *, got: Resource | None = None) -> None:
        """From the results of a discovery: all it lists are found; one that was got by itself is meant, too."""
        self.context.add(found)
        if got is not None:
            self.context.mean(got)

    def reset(self, *, keep_pinned: bool) -> None:
        """Forgets what was found, meant and looked at. What is left to verify survives."""
        owed = set(self.machine.unverified_targets)
        kept = owed | self.context.pinned if keep_pinned else owed
        self.context.reset(keep=kept)
        self.machine.reset(keep=self.context.ids)

    def _keep(self, entered: Ticket | Refusal) -> Ticket | Refusal:
        """What is being changed is not forgotten before somebody has looked at it."""
        if isinstance(entered, Ticket) and entered.kind is ToolKind.WRITE:
            for target in entered.targets:
                self.context.pin(target, why=_OWED)
        return entered

    def _found(self, ids: Collection[str]) -> set[str]:
        """A tool server that answers is there, and the operator has named it."""
        return {target for target in ids if target.startswith(SERVER_PREFIX) or self.context.has(target)}

    def _refuse_target(self, target: Target, *, kind: ToolKind, action: str, enters: bool) -> Refusal | None:
        astray = refuse_host(target.id, self.context, kind=kind, parent=target.parent, enters=enters)
        if astray is not None or not self.is_strict:
            return astray
        return self.context.refuse_unresolved(target.id, kind=kind, action=action, runs_command=enters)

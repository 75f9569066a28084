"""What one execution sent to its models, gathered until it is committed, each body told in terms of the one before."""

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from midwatch.kit.clock import boottime
from midwatch.kit.delta import Delta, RunningDigest, make_delta
from midwatch.kit.ids import new_id
from midwatch.store.journal import OutboundRequest


class SentRequest(Protocol):
    """The parts of what was sent that are recorded."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def sent_at(self) -> float: ...


@dataclass(slots=True)
class Ledger:
    _waiting: list[SentRequest] = field(default_factory=list[SentRequest])
    _digest: RunningDigest = field(default_factory=RunningDigest)
    _last_id: UUID | None = None
    _last_body: bytes = b""

    def note(self, sent: SentRequest) -> None:
        self._waiting.append(sent)

    def take(self, interaction_id: UUID | None) -> list[OutboundRequest]:
        """All that was sent since the last time. Whoever takes it commits it: what comes next is told in its terms."""
        waiting, self._waiting = self._waiting, []
        return [self._tell(sent, interaction_id) for sent in waiting]

    def _tell(self, sent: SentRequest, interaction_id: UUID | None) -> OutboundRequest:
        delta = make_delta(self._last_body, sent.body)
        request_id, base_id = new_id(), self._last_id
        self._last_id, self._last_body = request_id, sent.body
        return OutboundRequest(
            request_id=request_id,
            base_id=base_id,
            interaction_id=interaction_id,
            provider=sent.provider,
            model=sent.model,
            host=sent.host,
            path=sent.path,
            age=boottime() - sent.sent_at,
            size=len(sent.body),
            sha256=self._digest.digest(sent.body, shared=delta.shared_start).hex(),
            heads=_flatten(delta),
            literal=b64encode(delta.literal).decode(),
            tail=delta.tail,
        )


def _flatten(delta: Delta) -> list[int]:
    return [place for head in delta.heads for place in head]

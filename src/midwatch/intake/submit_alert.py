"""An alert becomes a pending session: checked, masked and stored in one statement, and only then accepted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.domain.errors import Conflict, Invalid, StoreUnavailable, TooLarge
from midwatch.domain.runbook import check_runbook_url
from midwatch.domain.selection import McpSelection
from midwatch.domain.session import SessionStatus
from midwatch.intake.repeated import check_key, digest_request
from midwatch.intake.selected_resources import read_selected
from midwatch.intake.wake import Waker
from midwatch.kit.ids import new_id
from midwatch.kit.json import clean_text
from midwatch.masking.mask import MaskedAlert, compile_mask, mask_alert
from midwatch.store.driver import Tx
from midwatch.store.engine import Store
from midwatch.store.sessions import NewSession, find_repeated, insert_session
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.telemetry.series import SUBMITTED
from midwatch.timeline.announce import announce_status
from midwatch.timeline.flush import Flusher

ALERT_LIMIT = 1024 * 1024
LOOK_BACK = 200
"""Sessions before a new one that are counted while it is taken in, unless more are said to be few."""
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    data: str
    alert_type: str | None
    author: str
    runbook: str | None = None
    selection: McpSelection | None = None
    selection_field: str = "mcp"
    """What the sender called the selection."""
    selected_resources: tuple[str, ...] = ()
    """What an authenticated person has picked; nobody else may fill this."""
    slack_message_fingerprint: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    session_id: UUID
    is_repeat: bool = False
    """The same request was accepted before, under the same key."""
    ahead: int | None = None
    """Sessions that wait before it; None when they were not counted, or not to the end."""
    warning: str | None = None
    """What a sender that can hold back should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    store: Store
    flusher: Flusher
    config: Config
    mask: Callable[[str], MaskedAlert]
    waker: Waker = field(default_factory=Waker)
    meters: Meters = UNMETERED

    async def submit(self, alert: Alert) -> UUID:
        """The id of the session. Raises as `accept` does."""
        return (await self.accept(alert)).session_id

    async def accept(self, alert: Alert) -> Acceptance:
        """Raises Invalid, TooLarge, Conflict, and StoreUnavailable when storing was not confirmed."""
        self._check(alert)
        new = self._prepare(alert)
        async with self.store.connect() as tx:
            acceptance = await _store(tx, new, self.config.queue.warn_depth)
        if not acceptance.is_repeat:
            self.meters.count(SUBMITTED, (new.alert_type,))
            announce_status(self.flusher, new.session_id, SessionStatus.PENDING)
            self.waker.wake()
        return acceptance

    def _check(self, alert: Alert) -> None:
        _check_data(alert.data)
        if alert.runbook:
            check_runbook_url(alert.runbook, domains=self.config.system.runbooks.allowed_domains)
        if alert.selection is not None:
            _check_selection(alert.selection, field=alert.selection_field, known=self.config.mcp_servers)
        if alert.idempotency_key is not None:
            check_key(alert.idempotency_key)

    def _prepare(self, alert: Alert) -> NewSession:
        alert_type, chain_id, chain = _pick_chain(self.config, alert.alert_type)
        masked = self.mask(alert.data)
        return NewSession(
            session_id=new_id(),
            alert_type=alert_type,
            alert_data=masked.text,
            chain_id=chain_id,
            chain=chain.model_dump(mode="json"),
            author=clean_text(alert.author),
            warnings=[f"masking pattern {name} failed and was skipped" for name in masked.skipped],
            mcp_selection=None if alert.selection is None else alert.selection.as_json(),
            selected_resources=read_selected(alert.selected_resources, mask=self.mask),
            runbook_url=alert.runbook or None,
            slack_message_fingerprint=alert.slack_message_fingerprint or None,
            idempotency_key=alert.idempotency_key,
            request_digest=None if alert.idempotency_key is None else _digest(alert),
        )


async def _store(tx: Tx, new: NewSession, warn_depth: int) -> Acceptance:
    look_back = max(LOOK_BACK, warn_depth)
    for _ in range(_ATTEMPTS):
        ahead = await insert_session(tx, new, look_back=look_back)
        if ahead is not None:
            return _accept(new, ahead, look_back=look_back, warn_depth=warn_depth)
        earlier = await find_repeated(tx, author=new.author, key=new.idempotency_key)
        # None when it was purged since: then the key is free again.
        if earlier is not None and earlier.request_digest != new.request_digest:
            raise Conflict("this Idempotency-Key was used for another request", field="Idempotency-Key")
        if earlier is not None:
            return Acceptance(session_id=earlier.session_id, is_repeat=True)
    raise StoreUnavailable("a session under the same key comes and goes")


def _accept(new: NewSession, ahead: int, *, look_back: int, warn_depth: int) -> Acceptance:
    is_counted = ahead <= look_back
    many = str(ahead) if is_counted else f"more than {look_back}"
    deep = f"{many} sessions wait before this one; nothing is lost, but hold back what can wait"
    return Acceptance(
        session_id=new.session_id,
        ahead=ahead if is_counted else None,
        warning=deep if ahead >= warn_depth else None,
    )


def alert_mask(config: Config) -> Callable[[str], MaskedAlert]:
    masking = config.defaults.alert_masking
    if not masking.enabled:
        return lambda text: MaskedAlert(text=text, skipped=())
    return partial(mask_alert, compile_mask(groups=[masking.pattern_group]))


def _digest(alert: Alert) -> bytes:
    """As it was sent: neither a default nor a mask that changed since makes it another request."""
    return digest_request(
        {
            "data": alert.data,
            "alert_type": alert.alert_type or None,
            "runbook": alert.runbook or None,
            "mcp": None if alert.selection is None else alert.selection.as_json(),
            "slack_message_fingerprint": alert.slack_message_fingerprint or None,
            "selected_resources": alert.selected_resources or None,
        }
    )


def _check_data(data: str) -> None:
    if not data.strip():
        raise Invalid("data must hold the alert's text", field="data")
    size = len(data.encode("utf-8", "surrogatepass"))
    if size > ALERT_LIMIT:
        raise TooLarge(f"data has {size} bytes and may have {ALERT_LIMIT}", field="data")


def _check_selection(selection: McpSelection, *, field: str, known: Mapping[str, object]) -> None:
    if selection.is_empty:
        raise Invalid("the selection is empty: name servers or native tools, or leave it out", field=field)
    names = [server.name for server in selection.servers]
    for index, name in enumerate(names):
        if name not in known:
            where = f"{field}.servers.{index}.name"
            raise Invalid("there is no such MCP server", field=where, allowed=sorted(known))
        if name in names[:index]:
            raise Invalid("the server is selected twice", field=f"{field}.servers.{index}.name")


def _pick_chain(config: Config, wanted: str | None) -> tuple[str, str, Chain]:
    chains = {alert_type: name for name, chain in config.chains.items() for alert_type in chain.alert_types}
    alert_type = wanted or config.defaults.alert_type
    if alert_type is None:
        raise Invalid("alert_type is missing and no default is configured", field="alert_type", allowed=sorted(chains))
    if alert_type not in chains:
        raise Invalid("no chain takes this alert_type", field="alert_type", allowed=sorted(chains))
    return alert_type, chains[alert_type], config.chains[chains[alert_type]]

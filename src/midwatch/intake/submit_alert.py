"""An alert becomes a pending session: checked, masked and stored in one transaction, and only then accepted."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.domain.errors import Invalid, StoreUnavailable, TooLarge
from midwatch.kit.ids import new_id
from midwatch.masking.mask import MaskedAlert, compile_mask, mask_alert
from midwatch.store.engine import Store
from midwatch.store.sessions import NewSession, insert_session, wake_workers

ALERT_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    data: str
    alert_type: str | None
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    store: Store
    config: Config
    mask: Callable[[str], MaskedAlert]

    async def submit(self, alert: Alert) -> UUID:
        """The id of the new session. Raises Invalid, TooLarge, and StoreUnavailable when storing was not confirmed."""
        _check_data(alert.data)
        alert_type, chain_id, chain = _pick_chain(self.config, alert.alert_type)
        masked = self.mask(alert.data)
        new = NewSession(
            session_id=new_id(),
            alert_type=alert_type,
            alert_data=masked.text,
            chain_id=chain_id,
            chain=chain.model_dump(mode="json"),
            author=alert.author,
            warnings=[f"masking pattern {name} failed and was skipped" for name in masked.skipped],
        )
        async with self.store.connect() as tx:
            await insert_session(tx, new)
        await _wake(self.store)
        return new.session_id


async def _wake(store: Store) -> None:
    """The alert is stored: a wake-up that fails only delays it until the next poll."""
    with suppress(StoreUnavailable):
        async with store.connect() as tx:
            await wake_workers(tx)


def alert_mask(config: Config) -> Callable[[str], MaskedAlert]:
    masking = config.defaults.alert_masking
    if not masking.enabled:
        return lambda text: MaskedAlert(text=text, skipped=())
    return partial(mask_alert, compile_mask(groups=[masking.pattern_group]))


def _check_data(data: str) -> None:
    if not data.strip():
        raise Invalid("data must hold the alert's text", field="data")
    size = len(data.encode("utf-8", "surrogatepass"))
    if size > ALERT_LIMIT:
        raise TooLarge(f"data has {size} bytes and may have {ALERT_LIMIT}", field="data")


def _pick_chain(config: Config, wanted: str | None) -> tuple[str, str, Chain]:
    chains = {alert_type: name for name, chain in config.chains.items() for alert_type in chain.alert_types}
    alert_type = wanted or config.defaults.alert_type
    if alert_type is None:
        raise Invalid("alert_type is missing and no default is configured", field="alert_type", allowed=sorted(chains))
    if alert_type not in chains:
        raise Invalid("no chain takes this alert_type", field="alert_type", allowed=sorted(chains))
    return alert_type, chains[alert_type], config.chains[chains[alert_type]]

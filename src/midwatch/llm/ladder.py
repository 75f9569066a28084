"""The model in use and those that stand in for it, in order."""

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.llm.model import Model

Price = Callable[[Usage], float | None]
"""US dollars; None is unknown."""

log = structlog.get_logger()


def unknown_price(_: Usage) -> float | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A model that can be opened when it is needed."""

    provider: str
    backend: str
    kind: str = ""
    """What sort of provider it is, such as `openai`."""
    open: Callable[[], Model]
    """Raises ModelUnavailable."""
    window: int | None = None
    """Tokens that fit into a conversation; unknown is None."""
    price: Price = unknown_price
    unpriced: str | None = None
    """Why nobody knows what it costs; None: it is known."""


@dataclass(slots=True)
class Ladder:
    current: Model
    backend: str = ""
    kind: str = ""
    window: int | None = None
    price: Price = unknown_price
    unpriced: str | None = None
    standbys: list[Rung] = field(default_factory=list[Rung])

    def step(self) -> Model | None:
        """The next model that can be opened and is another provider's; it is the current one from then on."""
        while self.standbys:
            rung = self.standbys.pop(0)
            if rung.provider == self.current.provider:
                continue
            try:
                self.current = rung.open()
            except ModelUnavailable as error:
                log.warning("standby_unavailable", provider=rung.provider, code=error.code)
                continue
            self.backend, self.kind, self.window = rung.backend, rung.kind, rung.window
            self.price, self.unpriced = rung.price, rung.unpriced
            return self.current
        return None

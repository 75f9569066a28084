"""What an investigation may use up: money, tokens, time. One purse for all agents of a session."""

from collections.abc import Callable
from dataclasses import dataclass, field

from midwatch.domain.messages import Usage
from midwatch.kit.clock import boottime

_CENT = 0.01
_WARN_AT = (0.5, 0.8)
"""Shares of the purse after which the agent is told how much is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(slots=True, kw_only=True)
class Purse:
    allowance: Allowance = field(default_factory=Allowance)
    usd: float = 0.0
    tokens: int = 0
    seconds_before: float = 0.0
    """Running time of former owners."""
    clock: Callable[[], float] = boottime
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def spend(self, usage: Usage, *, usd: float | None) -> None:
        """A call whose price nobody knows costs nothing here: whoever set a limit is warned that it is not kept."""
        self.tokens += usage.total_tokens
        self.usd += usd or 0.0

    @property
    def seconds(self) -> float:
        return self.seconds_before + self.clock() - self._since

    @property
    def used(self) -> float:
        """The share of the tightest limit that is gone; 1 and more is all of it."""
        return max((spent / limit for _, spent, limit in self._list_limits()), default=0.0)

    @property
    def is_empty(self) -> bool:
        return self.used >= 1

    def describe_left(self) -> str:
        return ", ".join(_describe(unit, max(limit - spent, 0.0)) for unit, spent, limit in self._list_limits())

    def describe_used_up(self) -> str:
        return " and ".join(_describe(unit, limit) for unit, spent, limit in self._list_limits() if spent >= limit)

    def warn_of_unpriced(self, why: str) -> str | None:
        """None where no money was limited."""
        usd = self.allowance.usd
        return None if usd is None else f"the budget of {_describe('usd', usd)} cannot be kept: {why}"

    def warn_of_uncounted(self, provider: str) -> str | None:
        """None where neither money nor tokens were limited."""
        allowance = self.allowance
        limits = [("usd", allowance.usd), ("tokens", allowance.tokens)]
        told = " and ".join(_describe(unit, limit) for unit, limit in limits if limit is not None)
        return f"the budget of {told} cannot be kept: {provider} does not say how many tokens it used" if told else None

    def _list_limits(self) -> list[tuple[str, float, float]]:
        allowance = self.allowance
        limits = (
            ("usd", self.usd, allowance.usd),
            ("tokens", self.tokens, allowance.tokens),
            ("seconds", self.seconds, allowance.seconds),
        )
        return [(unit, spent, limit) for unit, spent, limit in limits if limit is not None]


@dataclass(slots=True)
class PurseWatch:
    """Tells one agent how much is left, once at each mark."""

    purse: Purse
    _told: int = 0

    def next_notice(self) -> str | None:
        passed = sum(self.purse.used >= mark for mark in _WARN_AT)
        if passed <= self._told:
            return None
        self._told = passed
        return self.purse.describe_left()


def _describe(unit: str, amount: float) -> str:
    match unit:
        case "usd":
            return f"{amount:.{2 if amount >= _CENT or not amount else 5}f} US dollars"
        case "tokens":
            return f"{amount:,.0f} tokens"
        case _:
            return f"{amount:.0f} seconds"

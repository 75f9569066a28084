"""The `system.cost_estimation` block: what models cost, and when they cost less."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from midwatch.config.strict import Name, Strict

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXPECTED = "expected a day such as 2026-01-31, or a time with its zone such as 2026-01-31T08:00:00Z"
_ALWAYS = datetime.min.replace(tzinfo=UTC)


def _parse_instant(value: Any) -> datetime:
    """A day begins at midnight UTC. The message never repeats the value."""
    if isinstance(value, datetime):
        return value
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(_EXPECTED) from None
    if _DAY.fullmatch(value):
        return instant.replace(tzinfo=UTC)
    if instant.tzinfo is None:
        raise ValueError(_EXPECTED)
    return instant


Instant = Annotated[datetime, BeforeValidator(_parse_instant)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Rates(Strict):
    input_per_million: Price = Field(description="US dollars for a million tokens sent")
    output_per_million: Price = Field(description="US dollars for a million tokens received")


class Promotion(Rates):
    id: Name | None = Field(default=None, description="Names the promotion where its price was used")
    model: Name = Field(description="The model's name at the provider")
    start: Instant | None = Field(default=None, description="From then on; unset: always until the end")
    end: Instant = Field(description="Until just before then")

    @field_validator("end")
    @classmethod
    def _ends_after_its_start(cls, end: datetime, info: ValidationInfo) -> datetime:
        start = info.data.get("start")
        if start is not None and end <= start:
            raise ValueError("must be later than start")
        return end


class CostEstimation(Strict):
    enabled: bool = Field(default=True, description="Estimate what each call to a model costs")
    model_rates: dict[Name, Rates] = Field(default_factory=dict, description="Prices by model, instead of known ones")
    promotions: tuple[Promotion, ...] = Field(default=(), description="Prices for a time, before all others")


def find_conflicts(promotions: Sequence[Promotion]) -> Iterator[tuple[int, str]]:
    """The places of promotions that cannot stand beside an earlier one, and why."""
    for index, later in enumerate(promotions):
        for number, earlier in enumerate(promotions[:index]):
            if later.id is not None and later.id == earlier.id:
                yield index, f"has the same id as promotions[{number}]"
            if later.model == earlier.model and _overlap(earlier, later):
                yield index, f"overlaps promotions[{number}], which is for the same model"


def _overlap(one: Promotion, other: Promotion) -> bool:
    return (one.start or _ALWAYS) < other.end and (other.start or _ALWAYS) < one.end

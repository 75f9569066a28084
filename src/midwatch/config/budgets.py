"""The `budgets` block of the defaults and of a chain: what an investigation may use up before it must conclude."""

from pydantic import Field

from midwatch.config.strict import Strict


class Budgets(Strict):
    usd: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Estimated cost in US dollars")
    tokens: int | None = Field(default=None, ge=1, description="Tokens sent and received")
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Running time")

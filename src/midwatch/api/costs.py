"""What work has cost, as far as anybody knows: fields that sessions, executions and interactions share."""

from typing import Annotated, Literal

from pydantic import Field

CostEstimationEnabled = Annotated[
    bool, Field(description="Calls of models are priced here; false where `system.cost_estimation` is switched off")
]
EstimatedCost = Annotated[
    float | None,
    Field(description="US dollars for the calls of models whose price is known; null when it is of none"),
]
CostCompleteness = Annotated[
    Literal["complete", "partial", "none"],
    Field(description="Whether the cost is of all calls of models, of some, or nothing is known of it"),
]
UnpricedCount = Annotated[int, Field(description="Calls of models whose price nobody knows")]

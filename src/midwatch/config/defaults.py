"""The `defaults` block: what holds where nothing nearer says otherwise."""

from pydantic import Field

from midwatch.config.agents import BACKEND, IterationStrategy, LlmBackend
from midwatch.config.strict import Strict


class AlertMasking(Strict):
    enabled: bool = Field(default=True, description="Hide secrets in an alert before it is stored")
    pattern_group: str = Field(default="security", min_length=1, description="Which patterns to hide")


class Defaults(Strict):
    llm_provider: str | None = Field(default=None, description="A name from `llm_providers`")
    max_iterations: int = Field(default=20, ge=1, description="Then the agent is made to conclude")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    alert_type: str | None = Field(default=None, description="Taken for alerts that come without a type")
    runbook: str = Field(default="", description="Followed when an alert brings no runbook of its own")
    alert_masking: AlertMasking = Field(default=AlertMasking(), description="What to hide in alerts")

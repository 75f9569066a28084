"""The `agent_chains` block: which alerts are investigated by which agents, in which order.

A session keeps its chain as JSON, so every shape here must survive the way there and back.
"""

from pydantic import Field

from midwatch.config.agents import BACKEND, ITERATIONS, IterationStrategy, LlmBackend
from midwatch.config.strict import Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.session import SuccessPolicy


class StageAgent(Strict):
    name: str = Field(min_length=1, description="A name from `agents`")
    llm_provider: str | None = Field(default=None, description="A name from `llm_providers`")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="Instead of the agent's own; [] means none")
    control_level: ControlLevel | None = Field(default=None, description="The strictest level that is set counts")


class Stage(Strict):
    name: str = Field(min_length=1, description="Shown to people and to later stages")
    agents: tuple[StageAgent, ...] = Field(min_length=1, description="One, in this version")
    replicas: int = Field(default=1, ge=0, description="One, in this version")
    success_policy: SuccessPolicy | None = Field(default=None, description="Matters with several agents; not used yet")
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="Instead of the agent's own; [] means none")


class Chain(Strict):
    alert_types: tuple[str, ...] = Field(min_length=1, description="Alerts of these types come here")
    description: str = Field(default="", description="What the chain is for")
    stages: tuple[Stage, ...] = Field(min_length=1, description="In order; a failed one ends the chain")
    llm_provider: str | None = Field(default=None, description="A name from `llm_providers`")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="Instead of the agent's own; [] means none")
    control_level: ControlLevel | None = Field(default=None, description="The strictest level that is set counts")

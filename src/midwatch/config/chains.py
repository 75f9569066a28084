"""The `agent_chains` block: which alerts are investigated by which agents, in which order.

A session keeps its chain as JSON, so every shape here must survive the way there and back.
"""

from pydantic import Field

from midwatch.config.agents import IterationStrategy, LlmBackend
from midwatch.config.strict import Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.session import SuccessPolicy


class StageAgent(Strict):
    name: str = Field(min_length=1, description="A name from `agents`")
    llm_provider: str | None = None
    llm_backend: LlmBackend | None = None
    iteration_strategy: IterationStrategy | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="Instead of the agent's own; [] means none")
    control_level: ControlLevel | None = None


class Stage(Strict):
    name: str = Field(min_length=1)
    agents: tuple[StageAgent, ...] = Field(min_length=1)
    replicas: int = Field(default=1, ge=0)
    success_policy: SuccessPolicy | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    mcp_servers: tuple[str, ...] | None = None


class Chain(Strict):
    alert_types: tuple[str, ...] = Field(min_length=1, description="Alerts of these types come here")
    description: str = ""
    stages: tuple[Stage, ...] = Field(min_length=1)
    llm_provider: str | None = None
    llm_backend: LlmBackend | None = None
    iteration_strategy: IterationStrategy | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    mcp_servers: tuple[str, ...] | None = None
    control_level: ControlLevel | None = Field(default=None, description="The strictest level that is set counts")

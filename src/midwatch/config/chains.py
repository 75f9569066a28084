"""The `agent_chains` block: which alerts are investigated by which agents, in which order.

A session keeps its chain as JSON, so every shape here must survive the way there and back.
"""

from pydantic import Field

from midwatch.config.agents import (
    AGENT_TYPE,
    BACKEND,
    ITERATIONS,
    MORE_REQUIRED_SKILLS,
    MORE_SKILLS,
    PROVIDER,
    SERVERS,
    AgentType,
    FallbackProvider,
    IterationStrategy,
    LlmBackend,
    SubAgents,
)
from midwatch.config.budgets import Budgets
from midwatch.config.scoring import Scoring
from midwatch.config.strict import DistinctNames, Name, Strict
from midwatch.domain.safety import ControlLevel
from midwatch.domain.session import SuccessPolicy

_LEVEL = "The strictest level that is set counts"
_FALLBACKS = "Asked in order when the provider fails; [] means none"
_SUB_AGENTS = "Agents that may be sent for help: names, or blocks with settings of their own"


class StageAgent(Strict):
    name: Name = Field(description="A name from `agents`")
    type: AgentType | None = Field(default=None, description=AGENT_TYPE)
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description=SERVERS)
    sub_agents: SubAgents | None = Field(default=None, description=_SUB_AGENTS)
    fallback_providers: tuple[FallbackProvider, ...] | None = Field(default=None, description=_FALLBACKS)
    required_skills: DistinctNames = Field(default=(), description=MORE_REQUIRED_SKILLS)
    skills: DistinctNames = Field(default=(), description=MORE_SKILLS)
    control_level: ControlLevel | None = Field(default=None, description=_LEVEL)


class Synthesis(Strict):
    """Who makes one analysis of several."""

    agent: str | None = Field(default=None, min_length=1, description="Instead of `SynthesisAgent`")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    llm_provider: str | None = Field(default=None, description=PROVIDER)


class Stage(Strict):
    name: Name = Field(description="Shown to people and to later stages")
    agents: tuple[StageAgent, ...] = Field(min_length=1, description="Work side by side; a synthesis follows several")
    replicas: int = Field(default=1, ge=0, description="The same agent several times, side by side; 0 counts as 1")
    success_policy: SuccessPolicy | None = Field(default=None, description="Must `all` agents succeed, or `any`?")
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description=SERVERS)
    fallback_providers: tuple[FallbackProvider, ...] | None = Field(default=None, description=_FALLBACKS)
    sub_agents: SubAgents | None = Field(default=None, description=_SUB_AGENTS)
    synthesis: Synthesis | None = Field(default=None, description="Who makes one analysis of several")


class Chat(Strict):
    enabled: bool = Field(default=False, description="Must be said: a block without it switches chat off")
    agent: str | None = Field(default=None, min_length=1, description="Who answers; required when chat is on")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    mcp_servers: tuple[str, ...] | None = Field(
        default=None, description="Instead of the chain's, or of all its stages' servers together"
    )
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    sub_agents: SubAgents | None = Field(default=None, description=_SUB_AGENTS)
    control_level: ControlLevel | None = Field(default=None, description=_LEVEL)


class Chain(Strict):
    alert_types: tuple[Name, ...] = Field(min_length=1, description="Alerts of these types come here")
    description: str = Field(default="", description="What the chain is for")
    stages: tuple[Stage, ...] = Field(min_length=1, description="In order; a failed one ends the chain")
    chat: Chat | None = Field(default=None, description="Follow-up questions; without the block they are on")
    scoring: Scoring | None = Field(default=None, description="Instead of `defaults.scoring`")
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    executive_summary_provider: str | None = Field(default=None, description="Instead, for the short summary")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    fallback_providers: tuple[FallbackProvider, ...] | None = Field(default=None, description=_FALLBACKS)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description=SERVERS)
    sub_agents: SubAgents | None = Field(default=None, description=_SUB_AGENTS)
    control_level: ControlLevel | None = Field(default=None, description=_LEVEL)
    budgets: Budgets = Field(default=Budgets(), description="What is unset comes from `defaults.budgets`")

"""The `agents` block: what each agent is told, which tool servers it may use, and whom it may send for help."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from midwatch.config.duration import Duration
from midwatch.config.strict import DistinctNames, Name, Strict

LlmBackend = Literal["google-native", "langchain"]
IterationStrategy = Literal["native-thinking", "langchain", "react", "synthesis", "synthesis-native-thinking"]
"""The older spelling of the backend. Both are accepted; where both are written, the backend counts."""
AgentType = Literal["", "action", "synthesis", "exec_summary", "scoring"]

BACKEND = "Accepted for TARSy's sake; the provider's type decides"
ITERATIONS = "Turns before the agent is made to conclude"
PROVIDER = "A name from `llm_providers`"
SERVERS = "Instead of the agent's own; [] means none"
AGENT_TYPE = "How it works: unset investigates, `action` may act, the others answer once"
MORE_SKILLS = "Skills it may load, beside the agent's own"
MORE_REQUIRED_SKILLS = "Skills it always has, beside the agent's own"


class NativeTools(Strict):
    """Tools that a Google model runs itself. Unset leaves the word to whoever spoke before."""

    google_search: bool | None = Field(default=None, description="Search the web")
    code_execution: bool | None = Field(default=None, description="Run Python in the provider's sandbox")
    url_context: bool | None = Field(default=None, description="Read pages by their address")


class Orchestrator(Strict):
    """Limits on sub-agents; what is unset comes from `defaults.orchestrator`."""

    max_concurrent_agents: int | None = Field(default=None, ge=1, description="Sub-agents at work at once")
    agent_timeout: Duration | None = Field(default=None, description="Time one sub-agent may take")
    max_budget: Duration | None = Field(default=None, description="Time all sub-agents together may take")


class FallbackProvider(Strict):
    provider: Name = Field(description=PROVIDER)
    backend: LlmBackend = Field(description=BACKEND)


class Agent(Strict):
    type: AgentType = Field(default="", description=AGENT_TYPE)
    mcp_servers: tuple[str, ...] = Field(default=(), description="Tool servers the agent may use")
    custom_instructions: str = Field(default="", description="Told to the agent beside its usual instructions")
    description: str = Field(default="", description="What the agent is for; a sub-agent needs one")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    native_tools: NativeTools = Field(default=NativeTools(), description="Over what the provider says")
    orchestrator: Orchestrator = Field(default=Orchestrator(), description="Limits on its sub-agents")
    skills: DistinctNames | None = Field(default=None, description="Skills it may load; unset: all, []: none")
    required_skills: DistinctNames = Field(default=(), description="Skills it always has")


class SubAgent(Strict):
    """An agent that another may send for help. May be written as its name alone."""

    name: Name = Field(description="A name from `agents`; that agent needs a description")
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description=SERVERS)
    required_skills: DistinctNames = Field(default=(), description=MORE_REQUIRED_SKILLS)
    skills: DistinctNames = Field(default=(), description=MORE_SKILLS)


def _from_name(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


SubAgents = tuple[Annotated[SubAgent, BeforeValidator(_from_name)], ...]

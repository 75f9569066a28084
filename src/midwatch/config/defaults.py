"""The `defaults` block: what holds where nothing nearer says otherwise."""

from datetime import timedelta
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from midwatch.config.agents import BACKEND, PROVIDER, FallbackProvider, IterationStrategy, LlmBackend
from midwatch.config.budgets import Budgets
from midwatch.config.duration import Duration
from midwatch.config.scoring import Scoring
from midwatch.config.strict import Name, Strict, WebUrl
from midwatch.domain.session import SuccessPolicy


class AlertMasking(Strict):
    enabled: bool = Field(default=True, description="Hide secrets in an alert before it is stored")
    pattern_group: str = Field(default="security", min_length=1, description="Which patterns to hide")


class DefaultSummarization(Strict):
    """Which model shortens long tool results, unless a server names another."""

    llm_provider: str | None = Field(default=None, description="Instead of the agent's own model")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)

    @field_validator("llm_backend")
    @classmethod
    def _backend_has_a_provider(cls, backend: LlmBackend | None, info: ValidationInfo) -> LlmBackend | None:
        if backend is not None and info.data.get("llm_provider") is None:
            raise ValueError("needs llm_provider beside it")
        return backend


class DefaultOrchestrator(Strict):
    max_concurrent_agents: int = Field(default=5, ge=1, description="Sub-agents at work at once")
    agent_timeout: Duration = Field(default=timedelta(seconds=420), description="Time one sub-agent may take")
    max_budget: Duration = Field(default=timedelta(seconds=900), description="Time all sub-agents together may take")


class Embedding(Strict):
    provider: Literal["google", "openai"] = Field(default="google", description="Who turns text into vectors")
    model: Name = Field(default="gemini-embedding-2-preview", description="Its model")
    api_key_env: Name = Field(default="GOOGLE_API_KEY", description="Variable that holds the key")
    dimensions: int = Field(default=768, ge=1, description="Length of a vector")
    base_url: WebUrl | None = Field(default=None, repr=False, description="Instead of the provider's own address")


class Memory(Strict):
    enabled: bool = Field(default=False, description="Learn from investigations that were scored")
    max_inject: int = Field(default=5, ge=0, description="Lessons told to an agent at its start")
    reflector_memory_limit: int = Field(default=20, ge=0, description="Lessons shown to whoever draws new ones")
    embedding: Embedding = Field(default=Embedding(), description="How lessons are found again")


class Defaults(Strict):
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    max_iterations: int = Field(default=20, ge=1, description="Then the agent is made to conclude")
    llm_backend: LlmBackend | None = Field(default=None, description=f"{BACKEND}; unset counts as langchain")
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    fallback_providers: tuple[FallbackProvider, ...] = Field(
        default=(), description="Asked in order when the provider fails"
    )
    success_policy: SuccessPolicy = Field(default=SuccessPolicy.ANY, description="For stages of several agents")
    alert_type: str | None = Field(
        default=None, description="Taken for alerts that come without a type; unset: `kubernetes` if it can be used"
    )
    runbook: str = Field(default="", description="Followed when an alert brings no runbook of its own")
    alert_masking: AlertMasking = Field(default=AlertMasking(), description="What to hide in alerts")
    scoring: Scoring = Field(default=Scoring(), description="For chains without a `scoring` block of their own")
    summarization: DefaultSummarization = Field(
        default=DefaultSummarization(), description="Which model shortens long tool results"
    )
    orchestrator: DefaultOrchestrator = Field(default=DefaultOrchestrator(), description="Limits on sub-agents")
    memory: Memory = Field(default=Memory(), description="Lessons from past investigations")
    budgets: Budgets = Field(default=Budgets(), description="What one investigation may use up")

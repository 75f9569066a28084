"""The `scoring` block of the defaults and of a chain: who judges an investigation once it is over."""

from pydantic import Field

from midwatch.config.agents import BACKEND, ITERATIONS, PROVIDER, LlmBackend
from midwatch.config.strict import Strict


class Scoring(Strict):
    enabled: bool = Field(default=False, description="Must be said: a block without it scores nothing")
    agent: str | None = Field(default=None, min_length=1, description="Instead of `ScoringAgent`")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    llm_provider: str | None = Field(default=None, description=PROVIDER)
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="Tool servers the judge may use")
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)

"""The `agents` block: what each agent is told and which tool servers it may use."""

from typing import Literal

from pydantic import Field

from midwatch.config.strict import Strict

LlmBackend = Literal["google-native", "langchain"]
IterationStrategy = Literal["native-thinking", "langchain", "react", "synthesis", "synthesis-native-thinking"]
"""The older spelling of the backend. Both are accepted; the provider's type decides which protocol is spoken."""


BACKEND = "Accepted for TARSy's sake; the provider's type decides"
ITERATIONS = "Turns before the agent is made to conclude"


class Agent(Strict):
    mcp_servers: tuple[str, ...] = Field(default=(), description="Tool servers the agent may use")
    custom_instructions: str = Field(default="", description="Told to the agent beside its usual instructions")
    description: str = Field(default="", description="What the agent is for")
    llm_backend: LlmBackend | None = Field(default=None, description=BACKEND)
    iteration_strategy: IterationStrategy | None = Field(default=None, description=BACKEND)
    max_iterations: int | None = Field(default=None, ge=1, description=ITERATIONS)

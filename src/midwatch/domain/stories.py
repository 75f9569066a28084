"""What agents did, as other agents and people are told of it: the words of synthesis, summary and chat."""

from dataclasses import dataclass

from midwatch.domain.session import WorkStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    tool: str
    """Full name."""
    arguments: str
    """As shown: JSON, masked."""
    result: str
    is_summary: bool = False
    """The result is told by its summary."""
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    text: str


Deed = Thought | Said | Called | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStory:
    agent: str
    status: WorkStatus
    deeds: tuple[Deed, ...]
    """In order, without the final analysis."""
    analysis: str | None
    error: str | None
    provider: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStory:
    name: str
    status: WorkStatus
    agents: tuple[AgentStory, ...]
    synthesis: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One question of a chat and what came of it."""

    question: str
    author: str
    deeds: tuple[Deed, ...]
    answer: str | None
    """None: it was cancelled or failed."""
    selected: tuple[str, ...] = ()
    """Ids that came picked with the question."""

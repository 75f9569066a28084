"""Stories cut to what a model can read: the longest texts give way first, and say that they did."""

from dataclasses import replace

from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.stories import Called, Deed, Failed, Said, StageStory, Thought
from midwatch.investigation.means import Means

_LIMITS = (64_000, 16_000, 4_000, 1_000, 200)
"""Characters that one text may have, tried in this order until the whole fits."""
_USUAL_WINDOW = 128_000
"""Tokens, of a model that nobody knows the window of."""
_SHARE = 0.6
"""Of the window: the alert, the runbook and the answer need room too."""
_CHARACTERS_PER_TOKEN = 3


def measure_room(settings: ExecutionSettings, means: Means) -> int:
    """Characters that a model can be told of what others did."""
    window = settings.provider.context_window or means.prices.find_window(settings.provider) or _USUAL_WINDOW
    return int(window * _SHARE * _CHARACTERS_PER_TOKEN)


def fit_stories(stages: tuple[StageStory, ...], *, characters: int) -> tuple[StageStory, ...]:
    """Analyses and errors stay whole. What does not fit at the lowest limit is left to the model to refuse."""
    fitting = stages
    for limit in _LIMITS:
        fitting = tuple(_cut_stage(stage, limit) for stage in stages)
        if sum(map(_measure_stage, fitting)) <= characters:
            break
    return fitting


def _cut_stage(stage: StageStory, limit: int) -> StageStory:
    agents = tuple(
        replace(agent, deeds=tuple(_cut_deed(deed, limit) for deed in agent.deeds)) for agent in stage.agents
    )
    return replace(stage, agents=agents)


def _cut_deed(deed: Deed, limit: int) -> Deed:
    match deed:
        case Called():
            return replace(deed, arguments=_cut(deed.arguments, limit), result=_cut(deed.result, limit))
        case Thought() | Said() | Failed():
            return replace(deed, text=_cut(deed.text, limit))


def _cut(text: str, limit: int) -> str:
    """The beginning and the end: errors tend to stand last."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def _measure_stage(stage: StageStory) -> int:
    return sum(
        len(agent.analysis or "") + len(agent.error or "") + sum(map(_measure_deed, agent.deeds))
        for agent in stage.agents
    )


def _measure_deed(deed: Deed) -> int:
    match deed:
        case Called():
            return len(deed.arguments) + len(deed.result)
        case Thought() | Said() | Failed():
            return len(deed.text)

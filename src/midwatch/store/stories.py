"""What agents did, read back in the words of `domain.stories`, for synthesis and chat alike.

A call is told once, with what its agent has read of it: the result, or the summary that took the result's place. Texts
that broke off and were asked for again are left out, and so is the analysis among what was said.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from midwatch.domain.session import StageType, WorkStatus
from midwatch.domain.stories import AgentStory, Called, Deed, Failed, Said, StageStory, Thought
from midwatch.domain.timeline import TimelineStatus, TimelineType
from midwatch.masking.mask import mask_shown
from midwatch.store.driver import Row, Tx

_TOLD = (
    TimelineType.LLM_THINKING,
    TimelineType.LLM_RESPONSE,
    TimelineType.LLM_TOOL_CALL,
    TimelineType.ERROR,
    TimelineType.CODE_EXECUTION,
    TimelineType.GOOGLE_SEARCH_RESULT,
    TimelineType.URL_CONTEXT_RESULT,
)
_NO_RESULT = "(no result: the agent ended before one came)"


async def load_stories(tx: Tx, session_id: UUID) -> tuple[StageStory, ...]:
    """Of all stages that investigated, in order; with each, what its agents' analyses were made into."""
    stages = await tx.fetch(
        """
        SELECT s.stage_id, s.stage_name, s.status, x.content AS synthesis
        FROM stages s
        LEFT JOIN stages y ON y.session_id = s.session_id AND y.referenced_stage_id = s.stage_id
            AND y.stage_type = 'synthesis'
        LEFT JOIN agent_executions e ON e.stage_id = y.stage_id AND e.status = 'completed'
        LEFT JOIN texts x ON x.session_id = s.session_id AND x.text_id = e.final_text_id
        WHERE s.session_id = $1 AND s.stage_type = ANY($2) ORDER BY s.stage_index
        """,
        session_id,
        [StageType.INVESTIGATION, StageType.ACTION],
    )
    agents = await _load_agents(tx, session_id, [row["stage_id"] for row in stages])
    return tuple(
        StageStory(
            name=row["stage_name"],
            status=WorkStatus(row["status"]),
            agents=agents.get(row["stage_id"], ()),
            synthesis=row["synthesis"],
        )
        for row in stages
    )


async def load_stage_story(tx: Tx, session_id: UUID, stage_id: UUID) -> StageStory:
    stage = await tx.fetchrow(
        "SELECT stage_name, status FROM stages WHERE session_id = $1 AND stage_id = $2", session_id, stage_id
    )
    assert stage is not None  # noqa: S101 -- whoever asks has begun it
    agents = await _load_agents(tx, session_id, [stage_id])
    return StageStory(name=stage["stage_name"], status=WorkStatus(stage["status"]), agents=agents.get(stage_id, ()))


async def load_deeds(tx: Tx, session_id: UUID, executions: Iterable[UUID]) -> Mapping[UUID, tuple[Deed, ...]]:
    """By execution, in order. One that did nothing is missing."""
    rows = await tx.fetch(
        """
        SELECT t.execution_id, t.event_type, x.content, t.text_id, e.final_text_id, e.error_message, c.tool_name,
               c.arguments, c.error_code, r.content AS read, m.text_id <> c.result_text_id AS is_summary
        FROM timeline_events t
        JOIN agent_executions e ON e.execution_id = t.execution_id
        LEFT JOIN texts x ON x.session_id = t.session_id AND x.text_id = t.text_id
        LEFT JOIN tool_calls c ON c.call_id = t.call_id
        LEFT JOIN messages m ON m.execution_id = c.execution_id
            AND m.sequence_number = c.message_sequence + 1 + c.call_index
        LEFT JOIN texts r ON r.session_id = m.session_id AND r.text_id = m.text_id
        WHERE t.session_id = $1 AND t.execution_id = ANY($2) AND t.event_type = ANY($3::text[]::timeline_word[])
          AND (t.status = $4::text::timeline_state OR t.call_id IS NOT NULL)
        ORDER BY t.sequence_number
        """,
        session_id,
        list(executions),
        list(_TOLD),
        TimelineStatus.COMPLETED,
    )
    deeds: defaultdict[UUID, list[Deed]] = defaultdict(list)
    for row in rows:
        if not _is_told_elsewhere(row):
            deeds[row["execution_id"]].append(_read_deed(row))
    return {execution_id: tuple(done) for execution_id, done in deeds.items()}


def _is_told_elsewhere(row: Row) -> bool:
    """As the analysis, or as the reason why the agent failed."""
    match TimelineType(row["event_type"]):
        case TimelineType.LLM_RESPONSE:
            return row["text_id"] == row["final_text_id"]
        case TimelineType.ERROR:
            return row["content"] == row["error_message"]
        case _:
            return False


def _read_deed(row: Row) -> Deed:
    text = row["content"] or ""
    match kind := TimelineType(row["event_type"]):
        case TimelineType.LLM_THINKING:
            return Thought(text=text)
        case TimelineType.LLM_RESPONSE:
            return Said(text=text)
        case TimelineType.ERROR:
            return Failed(text=text)
        case TimelineType.LLM_TOOL_CALL:
            return Called(
                tool=row["tool_name"],
                arguments=mask_shown(row["arguments"]),
                result=_NO_RESULT if row["read"] is None else row["read"],
                is_summary=bool(row["is_summary"]),
                is_error=row["error_code"] is not None,
            )
        case _:
            # What the provider ran or looked up itself is one text, question and answer together.
            return Called(tool=kind, arguments="", result=text)


async def _load_agents(tx: Tx, session_id: UUID, stages: Sequence[UUID]) -> Mapping[UUID, tuple[AgentStory, ...]]:
    rows = await tx.fetch(
        """
        SELECT e.execution_id, e.stage_id, e.agent_name, e.status, e.error_message, e.llm_provider, e.model_name,
               t.content AS analysis
        FROM agent_executions e LEFT JOIN texts t ON t.session_id = e.session_id AND t.text_id = e.final_text_id
        WHERE e.session_id = $1 AND e.stage_id = ANY($2) AND e.parent_execution_id IS NULL ORDER BY e.agent_index
        """,
        session_id,
        list(stages),
    )
    deeds = await load_deeds(tx, session_id, [row["execution_id"] for row in rows])
    agents: defaultdict[UUID, list[AgentStory]] = defaultdict(list)
    for row in rows:
        agents[row["stage_id"]].append(
            AgentStory(
                agent=row["agent_name"],
                status=WorkStatus(row["status"]),
                deeds=deeds.get(row["execution_id"], ()),
                analysis=row["analysis"],
                error=row["error_message"],
                provider=row["llm_provider"],
                model=row["model_name"],
            )
        )
    return {stage_id: tuple(told) for stage_id, told in agents.items()}

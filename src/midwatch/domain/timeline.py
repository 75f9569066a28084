"""The words of the timeline: what kinds of things happen, and the states they are shown in."""

from enum import StrEnum


class TimelineType(StrEnum):
    LLM_THINKING = "llm_thinking"
    LLM_RESPONSE = "llm_response"
    LLM_TOOL_CALL = "llm_tool_call"
    MCP_TOOL_SUMMARY = "mcp_tool_summary"
    ERROR = "error"
    USER_QUESTION = "user_question"
    EXECUTIVE_SUMMARY = "executive_summary"
    FINAL_ANALYSIS = "final_analysis"
    CODE_EXECUTION = "code_execution"
    GOOGLE_SEARCH_RESULT = "google_search_result"
    URL_CONTEXT_RESULT = "url_context_result"
    TASK_ASSIGNED = "task_assigned"
    PROVIDER_FALLBACK = "provider_fallback"
    SKILL_LOADED = "skill_loaded"
    MEMORY_INJECTED = "memory_injected"
    TOOL_REFUSED = "tool_refused"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_DECIDED = "approval_decided"
    SESSION_RESUMED = "session_resumed"
    PROVIDER_RETRY = "provider_retry"


class TimelineStatus(StrEnum):
    STREAMING = "streaming"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    WITHDRAWN = "withdrawn"


class InteractionType(StrEnum):
    ITERATION = "iteration"
    FINAL_ANALYSIS = "final_analysis"
    EXECUTIVE_SUMMARY = "executive_summary"
    CHAT_RESPONSE = "chat_response"
    SUMMARIZATION = "summarization"
    SYNTHESIS = "synthesis"
    FORCED_CONCLUSION = "forced_conclusion"


class Phase(StrEnum):
    """What an execution is busy with."""

    INVESTIGATING = "investigating"
    REMEDIATING = "remediating"
    GATHERING_INFO = "gathering_info"
    DISTILLING = "distilling"
    CONCLUDING = "concluding"
    SYNTHESIZING = "synthesizing"
    FINALIZING = "finalizing"


class EventType(StrEnum):
    """What a subscriber of the feed is told."""

    TIMELINE_CREATED = "timeline_event.created"
    TIMELINE_COMPLETED = "timeline_event.completed"
    STREAM_CHUNK = "stream.chunk"
    SESSION_STATUS = "session.status"
    SESSION_RESUMED = "session.resumed"
    SESSION_PROGRESS = "session.progress"
    STAGE_STATUS = "stage.status"
    EXECUTION_STATUS = "execution.status"
    EXECUTION_PROGRESS = "execution.progress"
    CALL_PROGRESS = "call.progress"
    INTERACTION_CREATED = "interaction.created"
    CHAT_CREATED = "chat.created"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_DECIDED = "approval.decided"
    EMERGENCY_STOP = "emergency_stop"

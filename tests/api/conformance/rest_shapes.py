"""The fields of every REST answer, as clients of the wire know them."""

from tests.api.conformance.shapes import (
    AMOUNT,
    ANYTHING,
    COUNTED,
    FLAG,
    ID,
    MOMENT,
    NUMBER,
    TEXT,
    WORD,
    Absent,
    Kind,
    having,
    maybe,
    one_of,
    some,
)

STATUSES = ("pending", "in_progress", "cancelling", "completed", "failed", "cancelled", "timed_out")
WORK = ("pending", "active", "completed", "failed", "timed_out", "cancelled")
ENTRY_TYPES = (
    *("llm_thinking", "llm_response", "llm_tool_call", "mcp_tool_summary", "error", "user_question"),
    *("executive_summary", "final_analysis", "code_execution", "google_search_result", "url_context_result"),
)
TOKENS: dict[str, Kind] = {"input_tokens": NUMBER, "output_tokens": NUMBER, "total_tokens": NUMBER}
TIMES: dict[str, Kind] = {"started_at": maybe(MOMENT), "completed_at": maybe(MOMENT)}
PLACE: dict[str, Kind] = {"current_stage_index": maybe(COUNTED), "current_stage_id": maybe(ID)}
WHAT: dict[str, Kind] = {
    "id": ID,
    "alert_type": WORD,
    "chain_id": WORD,
    "status": one_of(*STATUSES),
    "author": maybe(TEXT),
    "created_at": MOMENT,
}
COUNTS: dict[str, Kind] = {
    **TOKENS,
    "llm_interaction_count": NUMBER,
    "mcp_interaction_count": NUMBER,
    "chat_message_count": NUMBER,
    "total_stages": NUMBER,
    "completed_stages": NUMBER,
    "has_parallel_stages": FLAG,
}
COST: dict[str, Kind] = {
    "estimated_cost_usd": Absent(AMOUNT),
    "cost_completeness": one_of("complete", "partial", "none"),
    "unpriced_interaction_count": Absent(NUMBER),
}
TOOL = having(name=WORD, description=TEXT)

EXECUTION = having(
    execution_id=ID,
    agent_name=WORD,
    agent_index=COUNTED,
    status=one_of(*WORK),
    llm_provider=maybe(WORD),
    llm_backend=one_of("google-native", "langchain"),
    **TIMES,
    duration_ms=maybe(NUMBER),
    error_message=maybe(TEXT),
    **TOKENS,
    **COST,
    model_name=WORD,
    original_llm_provider=Absent(WORD),
    original_llm_backend=Absent(WORD),
    original_model_name=Absent(WORD),
    fallback_reason=Absent(TEXT),
    fallback_error_code=Absent(WORD),
    fallback_attempt=Absent(COUNTED),
)
STAGE = having(
    id=ID,
    stage_name=WORD,
    stage_index=COUNTED,
    status=one_of(*WORK),
    stage_type=one_of("investigation", "exec_summary"),
    referenced_stage_id=Absent(ID),
    parallel_type=maybe(one_of("multi_agent", "replica")),
    expected_agent_count=COUNTED,
    **TIMES,
    executions=some(EXECUTION),
)
SESSION = having(
    **WHAT,
    alert_data=TEXT,
    error_message=maybe(TEXT),
    final_analysis=maybe(TEXT),
    executive_summary=maybe(TEXT),
    executive_summary_error=maybe(TEXT),
    runbook_url=maybe(TEXT),
    slack_message_fingerprint=Absent(TEXT),
    mcp_selection=Absent(having(servers=some(having(name=WORD)))),
    **TIMES,
    duration_ms=maybe(NUMBER),
    chat_enabled=FLAG,
    chat_id=maybe(ID),
    failed_stages=NUMBER,
    cost_estimation_enabled=FLAG,
    **COST,
    **COUNTS,
    **PLACE,
    stages=some(STAGE),
)
ITEM = having(
    **WHAT,
    **TIMES,
    **COUNTS,
    **COST,
    **PLACE,
    provider_fallback_count=NUMBER,
    duration_ms=maybe(NUMBER),
    error_message=maybe(TEXT),
    executive_summary=maybe(TEXT),
    matched_in_content=FLAG,
)
LISTING = having(
    sessions=some(ITEM, least=1),
    pagination=having(page=COUNTED, page_size=COUNTED, total_pages=NUMBER, total_items=NUMBER),
    cost_estimation_enabled=FLAG,
)
ACTIVE = having(
    active=some(having(**WHAT, started_at=MOMENT, **PLACE), least=1),
    queued=some(having(**WHAT, queue_position=COUNTED), least=1),
)
SUMMARY = having(
    session_id=ID,
    total_interactions=NUMBER,
    llm_interactions=NUMBER,
    mcp_interactions=NUMBER,
    **TOKENS,
    cost_estimation_enabled=FLAG,
    **COST,
    total_duration_ms=maybe(NUMBER),
    chain_statistics=having(
        total_stages=NUMBER, completed_stages=NUMBER, failed_stages=NUMBER, current_stage_index=maybe(COUNTED)
    ),
)
ENTRY = having(
    id=ID,
    session_id=ID,
    stage_id=Absent(ID),
    execution_id=Absent(ID),
    sequence_number=NUMBER,
    event_type=one_of(*ENTRY_TYPES),
    status=one_of("streaming", "completed", "failed", "cancelled", "timed_out"),
    content=TEXT,
    metadata=Absent(having()),
    llm_interaction_id=Absent(ID),
    mcp_interaction_id=Absent(ID),
    created_at=MOMENT,
    updated_at=MOMENT,
)
LLM_ITEM: dict[str, Kind] = {
    "id": ID,
    "interaction_type": one_of("iteration", "final_analysis", "forced_conclusion", "executive_summary"),
    "model_name": WORD,
    "input_tokens": Absent(NUMBER),
    "output_tokens": Absent(NUMBER),
    "total_tokens": Absent(NUMBER),
    "estimated_cost_usd": Absent(AMOUNT),
    "duration_ms": Absent(NUMBER),
    "error_message": Absent(TEXT),
    "created_at": MOMENT,
}
MCP_ITEM: dict[str, Kind] = {
    "id": ID,
    "interaction_type": one_of("tool_call", "tool_list"),
    "server_name": WORD,
    "tool_name": Absent(WORD),
    "duration_ms": Absent(NUMBER),
    "error_message": Absent(TEXT),
    "created_at": MOMENT,
}
TRACE = having(
    stages=some(
        having(
            stage_id=ID,
            stage_name=WORD,
            stage_type=one_of("investigation", "exec_summary"),
            executions=some(
                having(
                    execution_id=ID,
                    agent_name=WORD,
                    llm_interactions=some(having(**LLM_ITEM), least=1),
                    mcp_interactions=some(having(**MCP_ITEM)),
                ),
                least=1,
            ),
        ),
        least=1,
    ),
    session_interactions=some(having(**LLM_ITEM)),
)
MESSAGE = having(
    role=one_of("system", "user", "assistant", "tool"),
    content=TEXT,
    tool_calls=Absent(some(having(id=WORD, name=WORD, arguments=TEXT))),
    tool_call_id=Absent(WORD),
    tool_name=Absent(WORD),
)
LLM = having(
    **LLM_ITEM,
    thinking_content=Absent(TEXT),
    llm_request=having(iteration=NUMBER, messages_count=NUMBER),
    llm_response=having(),
    response_metadata=Absent(having()),
    conversation=some(MESSAGE, least=2),
)
MCP = having(
    **MCP_ITEM,
    tool_arguments=Absent(having()),
    tool_result=Absent(having(content=ANYTHING, is_error=FLAG)),
    available_tools=Absent(some(TOOL)),
)
HEALTH = having(
    status=one_of("healthy", "degraded", "unhealthy"),
    version=WORD,
    checks=having(
        database=having(status=one_of("healthy", "unhealthy"), message=Absent(TEXT)), worker_pool=having(status=WORD)
    ),
)
SERVER = having(
    id=WORD,
    healthy=maybe(FLAG),
    last_check=maybe(MOMENT),
    tool_count=NUMBER,
    tools=some(TOOL),
    error=maybe(TEXT),
)
WARNING = having(id=WORD, category=WORD, message=WORD, details=TEXT, server_id=Absent(WORD), created_at=MOMENT)
DEFAULT_TOOLS = having(
    alert_type=Absent(WORD),
    mcp_servers=some(WORD, least=1),
    native_tools=having(google_search=FLAG, code_execution=FLAG, url_context=FLAG),
)
ALERT_TYPES = having(
    alert_types=some(having(type=WORD, chain_id=WORD, description=TEXT), least=1),
    default_chain_id=WORD,
    default_alert_type=WORD,
)
OPTIONS = having(
    alert_types=some(WORD, least=1), chain_ids=some(WORD, least=1), statuses=some(one_of(*STATUSES), least=7)
)

-- Words that stand in every row of the journal are enumerations: four bytes each, and readable.
CREATE TYPE event_word AS ENUM (
    'timeline_event.created', 'timeline_event.completed', 'session.status', 'session.resumed', 'stage.status',
    'interaction.created', 'chat.created'
);
CREATE TYPE timeline_word AS ENUM (
    'llm_thinking', 'llm_response', 'llm_tool_call', 'mcp_tool_summary', 'error', 'user_question',
    'executive_summary', 'final_analysis', 'code_execution', 'google_search_result', 'url_context_result',
    'task_assigned', 'provider_fallback', 'skill_loaded', 'memory_injected', 'tool_refused', 'approval_requested',
    'approval_decided', 'session_resumed', 'provider_retry'
);
CREATE TYPE timeline_state AS ENUM (
    'streaming', 'completed', 'failed', 'cancelled', 'timed_out', 'interrupted', 'withdrawn'
);
CREATE TYPE message_role AS ENUM ('system', 'user', 'assistant', 'tool');
CREATE TYPE call_state AS ENUM ('requested', 'waiting_approval', 'started', 'finished', 'refused', 'unknown');

-- Sessions and their work. Names are those of the wire; a text is stored once, in `texts`, and referenced from
-- everywhere else. The journal tables carry no foreign keys: they are written only under the fence, in one statement.

CREATE TABLE alert_sessions (
    session_id uuid PRIMARY KEY,
    alert_type text NOT NULL,
    agent_type text NOT NULL,
    alert_data text NOT NULL,
    status text NOT NULL CHECK (status IN
        ('pending', 'in_progress', 'cancelling', 'completed', 'failed', 'cancelled', 'timed_out')),
    chain_id text NOT NULL,
    chain jsonb NOT NULL,
    author text,
    runbook_url text,
    mcp_selection jsonb,
    session_metadata jsonb,
    slack_message_fingerprint text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    completed_at timestamptz,
    error_message text,
    final_analysis_text_id uuid,
    executive_summary_text_id uuid,
    executive_summary_error text,
    warnings jsonb NOT NULL DEFAULT '[]',
    waiting_for text CHECK (waiting_for IN ('approval')),
    unverified_targets jsonb NOT NULL DEFAULT '[]',
    current_stage_index integer,
    current_stage_id uuid,
    pod_id text,
    last_interaction_at timestamptz,
    deleted_at timestamptz
);
CREATE INDEX alert_sessions_pending ON alert_sessions (created_at) WHERE status = 'pending';
CREATE INDEX alert_sessions_created ON alert_sessions (created_at);

-- Who runs a session. Only claims, heartbeats and releases touch this row.
CREATE TABLE session_leases (
    session_id uuid PRIMARY KEY REFERENCES alert_sessions ON DELETE CASCADE,
    run_kind text NOT NULL CHECK (run_kind IN ('alert', 'chat')),
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    claimed_at timestamptz,
    expires_at timestamptz,
    released boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    ran_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX session_leases_held ON session_leases (expires_at) WHERE expires_at IS NOT NULL;

-- The fence and the order of events. Every transaction of a run ends on this row.
CREATE TABLE session_feeds (
    session_id uuid PRIMARY KEY REFERENCES alert_sessions ON DELETE CASCADE,
    epoch bigint NOT NULL DEFAULT 0,
    seq bigint NOT NULL DEFAULT 0,
    progressed boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE chats (
    chat_id uuid PRIMARY KEY,
    session_id uuid NOT NULL UNIQUE REFERENCES alert_sessions ON DELETE CASCADE,
    created_by text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    pod_id text,
    last_interaction_at timestamptz
);

CREATE TABLE chat_user_messages (
    message_id uuid PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats ON DELETE CASCADE,
    content text NOT NULL,
    author text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX chat_user_messages_chat ON chat_user_messages (chat_id);

CREATE TABLE stages (
    stage_id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES alert_sessions ON DELETE CASCADE,
    stage_name text NOT NULL,
    stage_index integer NOT NULL,
    stage_type text NOT NULL CHECK (stage_type IN
        ('investigation', 'synthesis', 'chat', 'exec_summary', 'scoring', 'action')),
    status text NOT NULL CHECK (status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')),
    expected_agent_count integer NOT NULL,
    parallel_type text CHECK (parallel_type IN ('multi_agent', 'replica')),
    success_policy text CHECK (success_policy IN ('all', 'any')),
    started_at timestamptz,
    completed_at timestamptz,
    duration_ms bigint,
    error_message text,
    chat_id uuid REFERENCES chats ON DELETE CASCADE,
    chat_user_message_id uuid,
    referenced_stage_id uuid,
    actions_executed boolean,
    UNIQUE (session_id, stage_index)
);

CREATE TABLE agent_executions (
    execution_id uuid PRIMARY KEY,
    stage_id uuid NOT NULL REFERENCES stages ON DELETE CASCADE,
    session_id uuid NOT NULL,
    agent_name text NOT NULL,
    agent_index integer NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'active', 'completed', 'failed', 'timed_out', 'cancelled')),
    started_at timestamptz,
    completed_at timestamptz,
    duration_ms bigint,
    error_message text,
    llm_backend text,
    llm_provider text NOT NULL,
    model_name text NOT NULL,
    final_text_id uuid,
    parent_execution_id uuid,
    task text
);
CREATE UNIQUE INDEX agent_executions_of_stage ON agent_executions (stage_id, agent_index)
    WHERE parent_execution_id IS NULL;
CREATE UNIQUE INDEX agent_executions_of_parent ON agent_executions (parent_execution_id, agent_index)
    WHERE parent_execution_id IS NOT NULL;
CREATE INDEX agent_executions_session ON agent_executions (session_id);

CREATE TABLE texts (
    session_id uuid NOT NULL,
    text_id uuid NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (session_id, text_id)
);

CREATE TABLE messages (
    sequence_number integer NOT NULL,
    role message_role NOT NULL,
    format smallint NOT NULL DEFAULT 1,
    is_error boolean,
    message_id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    text_id uuid,
    tool_call_id text,
    tool_name text,
    provider_state bytea,
    PRIMARY KEY (execution_id, sequence_number)
);

-- No index may mention `state`: its updates must stay on the page.
CREATE TABLE tool_calls (
    deadline timestamptz,
    epoch bigint,
    message_sequence integer NOT NULL,
    state call_state NOT NULL,
    call_index smallint NOT NULL,
    format smallint NOT NULL DEFAULT 1,
    call_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    event_id uuid NOT NULL,
    result_text_id uuid,
    provider_call_id text NOT NULL,
    tool_name text NOT NULL,
    arguments text NOT NULL,
    error_code text,
    verdict jsonb,
    targets text[],
    UNIQUE (execution_id, message_sequence, call_index)
) WITH (fillfactor = 80);

CREATE TABLE llm_interactions (
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_message_sequence integer,
    input_tokens integer,
    output_tokens integer,
    thinking_tokens integer,
    cache_read_tokens integer,
    cache_write_tokens integer,
    duration_ms integer,
    interaction_id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    response_text_id uuid,
    thinking_text_id uuid,
    interaction_type text NOT NULL,
    llm_provider text NOT NULL,
    model_name text NOT NULL,
    llm_request jsonb NOT NULL,
    response_metadata jsonb,
    error_message text,
    PRIMARY KEY (session_id, interaction_id)
);

CREATE TABLE mcp_interactions (
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    duration_ms integer,
    interaction_id uuid NOT NULL,
    session_id uuid NOT NULL,
    stage_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    call_id uuid,
    interaction_type text NOT NULL CHECK (interaction_type IN ('tool_call', 'tool_list')),
    server_name text NOT NULL,
    tool_name text,
    available_tools jsonb,
    error_message text,
    PRIMARY KEY (session_id, interaction_id)
);

CREATE TABLE timeline_events (
    sequence_number bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz,
    event_type timeline_word NOT NULL,
    status timeline_state NOT NULL,
    event_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    stage_id uuid,
    execution_id uuid,
    parent_execution_id uuid,
    text_id uuid,
    call_id uuid,
    llm_interaction_id uuid,
    mcp_interaction_id uuid,
    metadata jsonb,
    UNIQUE (session_id, sequence_number)
) WITH (fillfactor = 90);

-- What subscribers are told, in order. Rows name what they are about; it is joined when they are read.
CREATE TABLE events (
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    type event_word NOT NULL,
    session_id uuid NOT NULL,
    ref uuid,
    payload jsonb,
    PRIMARY KEY (session_id, seq)
);
CREATE INDEX events_created ON events USING brin (created_at);

-- Text of streams that are still running, for readers that join late. Losing it in a crash loses nothing.
CREATE UNLOGGED TABLE live_texts (
    event_id uuid PRIMARY KEY,
    session_id uuid NOT NULL,
    stage_id uuid,
    execution_id uuid,
    event_type timeline_word NOT NULL,
    content text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
CREATE INDEX live_texts_session ON live_texts (session_id);

-- Targets that are being changed, or whose change has an unknown outcome. One row per target over all sessions:
-- never two hands on one thing.
CREATE TABLE open_changes (
    target text PRIMARY KEY,
    session_id uuid NOT NULL,
    call_id uuid NOT NULL,
    epoch bigint NOT NULL,
    deadline timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX open_changes_call ON open_changes (call_id);

CREATE TABLE approvals (
    approval_id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES alert_sessions ON DELETE CASCADE,
    call_id uuid NOT NULL UNIQUE,
    state text NOT NULL CHECK (state IN ('waiting', 'approved', 'denied', 'expired', 'cancelled')),
    digest bytea NOT NULL,
    targets jsonb NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    decided_at timestamptz,
    decided_by text,
    reason text,
    consumed_at timestamptz
);
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';

CREATE TABLE outbox (
    outbox_id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES alert_sessions ON DELETE CASCADE,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0,
    sent_at timestamptz,
    last_error text,
    UNIQUE (session_id, kind)
);
CREATE INDEX outbox_due ON outbox (next_attempt_at) WHERE sent_at IS NULL;

CREATE TABLE emergency_stops (
    stop_id uuid PRIMARY KEY,
    reason text NOT NULL,
    declared_by text,
    declared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lifted_at timestamptz,
    lifted_by text
);
CREATE INDEX emergency_stops_active ON emergency_stops (declared_at) WHERE lifted_at IS NULL;

-- Chat: questions about a session that has ended, and what people have asked to be stopped.

-- A question waits in the lease itself, expired and without an owner, so that one path serves new and orphaned ones.
-- The lease forgets the investigation's attempts then; they are kept beside it.
ALTER TABLE session_leases ADD COLUMN alert_attempts integer;

-- One question at a time, whoever asks.
CREATE UNIQUE INDEX stages_open_chat ON stages (session_id)
    WHERE stage_type = 'chat' AND status IN ('pending', 'active');

-- The text of a question stands in `texts`, as every text does.
ALTER TABLE chat_user_messages ADD COLUMN text_id uuid, ALTER COLUMN content DROP NOT NULL;

-- Executions, calls and chats that a person wants to end. Every heartbeat reads those of its session, so that a call
-- that nobody hears is not lost.
CREATE TABLE cancel_requests (
    session_id uuid NOT NULL REFERENCES alert_sessions ON DELETE CASCADE,
    target_id uuid NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (session_id, target_id)
);

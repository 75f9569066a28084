-- The borders: alerts that may be sent twice, and sessions that can be listed, filtered and found again.

ALTER TABLE alert_sessions ADD COLUMN idempotency_key text, ADD COLUMN request_digest bytea;
CREATE UNIQUE INDEX alert_sessions_idempotency ON alert_sessions (author, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- One index for each order a list can have, and for each filter in the usual order. All keys run the same way, so that
-- each serves both directions.
DROP INDEX alert_sessions_created;
CREATE INDEX alert_sessions_created ON alert_sessions (created_at, session_id) WHERE deleted_at IS NULL;
CREATE INDEX alert_sessions_status ON alert_sessions (status, created_at, session_id) WHERE deleted_at IS NULL;
CREATE INDEX alert_sessions_type ON alert_sessions (alert_type, created_at, session_id) WHERE deleted_at IS NULL;
CREATE INDEX alert_sessions_chain ON alert_sessions (chain_id, created_at, session_id) WHERE deleted_at IS NULL;
CREATE INDEX alert_sessions_author ON alert_sessions (author, created_at, session_id) WHERE deleted_at IS NULL;
CREATE INDEX alert_sessions_duration ON alert_sessions ((completed_at - started_at), created_at, session_id)
    WHERE deleted_at IS NULL;

-- What a session can be found by. Written after the fact, off the run path: losing a row loses a search hit, no more.
-- `content` holds the words of `headline` as well, so that one condition finds words spread over both.
CREATE TABLE session_documents (
    session_id uuid PRIMARY KEY REFERENCES alert_sessions ON DELETE CASCADE,
    headline tsvector NOT NULL,
    content tsvector NOT NULL
);
CREATE INDEX session_documents_content ON session_documents USING gin (content);

-- Sessions whose document is missing or old. Only inserted into and taken from: marking one waits for nobody.
CREATE TABLE unindexed_sessions (
    mark_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id uuid NOT NULL
);
-- What stands already is made findable by the first chore that comes along.
INSERT INTO unindexed_sessions (session_id) SELECT session_id FROM alert_sessions ORDER BY session_id;

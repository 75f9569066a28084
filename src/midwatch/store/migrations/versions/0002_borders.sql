-- The borders: alerts that may be sent twice, and sessions that can be found again.

ALTER TABLE alert_sessions ADD COLUMN idempotency_key text, ADD COLUMN request_digest bytea;
CREATE UNIQUE INDEX alert_sessions_idempotency ON alert_sessions (author, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- What a session can be found by. Written after the fact, off the run path: losing a row loses a search hit, no more.
CREATE TABLE session_documents (
    session_id uuid PRIMARY KEY REFERENCES alert_sessions ON DELETE CASCADE,
    stale boolean NOT NULL DEFAULT true,
    headline tsvector NOT NULL DEFAULT '',
    content tsvector NOT NULL DEFAULT ''
);
CREATE INDEX session_documents_stale ON session_documents (session_id) WHERE stale;
CREATE INDEX session_documents_headline ON session_documents USING gin (headline);
CREATE INDEX session_documents_content ON session_documents USING gin (content);

-- Results: the whole of what a tool answered, where that is more than the journal's texts hold. Compressed by whoever
-- writes it, so PostgreSQL does not try again. When the time to keep it is over, its size stays.
CREATE TABLE tool_results (
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    characters integer NOT NULL,
    session_id uuid NOT NULL,
    call_id uuid NOT NULL,
    content bytea,
    PRIMARY KEY (session_id, call_id)
);
ALTER TABLE tool_results ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX tool_results_stored ON tool_results USING brin (stored_at);

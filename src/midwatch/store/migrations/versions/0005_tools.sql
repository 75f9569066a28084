-- Tools: what each was when somebody vouched for it.

CREATE TABLE tool_pins (
    server_id text NOT NULL,
    tool_name text NOT NULL,
    fingerprint text NOT NULL,
    -- What the fingerprint was taken of, to show what has changed.
    definition jsonb NOT NULL,
    pinned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (server_id, tool_name)
);

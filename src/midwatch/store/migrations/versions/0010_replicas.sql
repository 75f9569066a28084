-- Replicas: who is there, how much each takes on, and until when its word holds. Nothing is decided by these rows; they
-- tell people why a session waits.
CREATE TABLE replicas (
    owner text PRIMARY KEY,
    pod_id text NOT NULL,
    version text NOT NULL,
    journal_format smallint NOT NULL,
    slots integer NOT NULL,
    chat_slots integer NOT NULL,
    is_draining boolean NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
);

-- A lease says when it was last renewed, and how new a replica must be to go on with what was written under it.
ALTER TABLE session_leases
    ADD COLUMN renewed_at timestamptz,
    ADD COLUMN journal_format smallint NOT NULL DEFAULT 1;

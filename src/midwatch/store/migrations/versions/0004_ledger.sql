-- The ledger: what left for a model, byte for byte. A body is told in terms of the one before it in the same execution:
-- ranges of the old bytes, the new ones, and how many of the last old bytes follow. So it grows with the conversation,
-- and not with its square. Keys are headers and no part of it.
CREATE TABLE outbound_requests (
    sent_at timestamptz NOT NULL,
    size integer NOT NULL,
    tail integer NOT NULL,
    session_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    request_id uuid NOT NULL,
    base_id uuid,
    interaction_id uuid,
    sha256 bytea NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    host text NOT NULL,
    path text NOT NULL,
    heads integer[] NOT NULL,
    literal bytea NOT NULL,
    PRIMARY KEY (session_id, request_id)
);
CREATE INDEX outbound_requests_sent ON outbound_requests USING brin (sent_at);

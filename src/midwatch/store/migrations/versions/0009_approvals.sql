-- Approvals: what a person is asked, what was decided, and sessions that wait for it.

ALTER TYPE event_word ADD VALUE IF NOT EXISTS 'approval.requested';
ALTER TYPE event_word ADD VALUE IF NOT EXISTS 'approval.decided';

-- `parts` tells what was hashed, piece by piece; `request` is what the person is shown.
ALTER TABLE approvals
    ADD COLUMN parts jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN request jsonb NOT NULL DEFAULT '{}';
CREATE INDEX approvals_session ON approvals (session_id);
CREATE INDEX approvals_state ON approvals (state, requested_at);

-- A run that waits for a person has no lease and no slot. The lease itself says so: whoever looks for a free one, or for
-- one that was left behind, sees it in the same row.
ALTER TABLE session_leases ADD COLUMN parked boolean NOT NULL DEFAULT false;

-- What became of each question, and of each yes. Only added to, and outlives the session.
CREATE TABLE approval_decisions (
    decision_id uuid PRIMARY KEY,
    approval_id uuid NOT NULL,
    session_id uuid NOT NULL,
    call_id uuid NOT NULL,
    decision text NOT NULL CHECK (decision IN ('approved', 'denied', 'expired', 'cancelled', 'consumed')),
    decided_by text NOT NULL,
    reason text,
    digest bytea NOT NULL,
    request jsonb NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX approval_decisions_approval ON approval_decisions (approval_id);

CREATE FUNCTION refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE restrict_violation USING MESSAGE = TG_TABLE_NAME || ' is only added to'; END $$;
CREATE TRIGGER approval_decisions_kept BEFORE UPDATE OR DELETE ON approval_decisions
    FOR EACH ROW EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER approval_decisions_all_kept BEFORE TRUNCATE ON approval_decisions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();

ALTER TABLE emergency_stops ADD COLUMN lift_reason text;

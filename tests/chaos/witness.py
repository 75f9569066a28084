"""Triggers in the database of a run: some hold a statement where a fault is due, some write down who did what when.

Every replica has a database role of its own, so a waiting statement and a row tell whose they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from midwatch.store.driver import Tx
from tests.chaos.plan import Place, Plan

_SPACE = 77_002

PLACES = {
    Place.CLAIM: "TRIGGER {name} BEFORE UPDATE ON session_leases FOR EACH ROW WHEN (new.epoch <> old.epoch)",
    Place.HEARTBEAT: (
        "TRIGGER {name} BEFORE UPDATE ON session_leases FOR EACH ROW "
        "WHEN (new.epoch = old.epoch AND new.owner = old.owner AND new.expires_at > old.expires_at)"
    ),
    Place.STAGE: "TRIGGER {name} BEFORE INSERT ON stages FOR EACH ROW",
    Place.EXECUTION: "TRIGGER {name} BEFORE INSERT ON agent_executions FOR EACH ROW",
    Place.REPLY: "TRIGGER {name} BEFORE INSERT ON messages FOR EACH ROW WHEN (new.role = 'assistant')",
    Place.REPLIED: (
        "CONSTRAINT TRIGGER {name} AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (new.role = 'assistant')"
    ),
    Place.STARTING: "TRIGGER {name} BEFORE UPDATE ON tool_calls FOR EACH ROW WHEN (new.state = 'started')",
    Place.STARTED: (
        "CONSTRAINT TRIGGER {name} AFTER UPDATE ON tool_calls DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (new.state = 'started')"
    ),
    Place.FINISHING: "TRIGGER {name} BEFORE UPDATE ON tool_calls FOR EACH ROW WHEN (new.state = 'finished')",
    Place.FINISHED: (
        "CONSTRAINT TRIGGER {name} AFTER UPDATE ON tool_calls DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (new.state = 'finished')"
    ),
    Place.FENCE: "TRIGGER {name} BEFORE UPDATE ON session_feeds FOR EACH ROW WHEN (new.epoch = old.epoch)",
    Place.STAGE_END: (
        "TRIGGER {name} BEFORE UPDATE ON stages FOR EACH ROW WHEN (new.status NOT IN ('pending', 'active'))"
    ),
    Place.ENDING: (
        "TRIGGER {name} BEFORE UPDATE ON session_leases FOR EACH ROW "
        "WHEN (old.expires_at IS NOT NULL AND new.expires_at IS NULL)"
    ),
    Place.ENDED: (
        "CONSTRAINT TRIGGER {name} AFTER UPDATE ON session_leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (old.expires_at IS NOT NULL AND new.expires_at IS NULL)"
    ),
}

_HOLD = f"""
CREATE TABLE chaos_faults (fault int PRIMARY KEY, place text, tag text, run text, nth int, fired boolean DEFAULT false);
CREATE FUNCTION chaos_hold() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE due record;
BEGIN
    FOR due IN
        SELECT f.fault, f.nth FROM chaos_faults f
        JOIN alert_sessions s ON s.session_id = new.session_id
        JOIN session_leases l ON l.session_id = new.session_id
        WHERE f.place = tg_argv[0] AND NOT f.fired AND f.run = l.run_kind AND s.alert_data LIKE '%' || f.tag || '%'
    LOOP
        IF nextval(('chaos_seen_' || due.fault)::regclass) >= due.nth THEN
            PERFORM pg_advisory_xact_lock_shared({_SPACE}, due.fault);
        END IF;
    END LOOP;
    RETURN new;
END $$;
"""

_NOTES = """
CREATE TABLE chaos_claims (
    session_id uuid, epoch bigint, run text, replica text, resumed boolean, released boolean, progressed boolean,
    cancelled boolean, attempts int, at timestamptz
);
CREATE FUNCTION chaos_note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_claims SELECT new.session_id, new.epoch, new.run_kind, session_user, old.owner IS NOT NULL,
        old.released, f.progressed, s.status = 'cancelling' OR EXISTS (
            SELECT FROM cancel_requests c JOIN stages st ON st.stage_id = c.target_id WHERE c.session_id = s.session_id
        ), new.attempts, clock_timestamp()
    FROM session_feeds f JOIN alert_sessions s USING (session_id) WHERE f.session_id = new.session_id;
    RETURN new;
END $$;
CREATE TRIGGER chaos_z_claims BEFORE UPDATE ON session_leases FOR EACH ROW WHEN (new.epoch <> old.epoch)
    EXECUTE FUNCTION chaos_note_claim();

CREATE TABLE chaos_passes (session_id uuid, epoch bigint, seq bigint, replica text, at timestamptz);
CREATE FUNCTION chaos_note_pass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_passes VALUES (new.session_id, new.epoch, new.seq, session_user, clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_passes AFTER UPDATE ON session_feeds FOR EACH ROW WHEN (new.epoch = old.epoch)
    EXECUTE FUNCTION chaos_note_pass();
"""


async def install_witness(tx: Tx, plan: Plan) -> None:
    await tx.execute(_HOLD)
    await tx.execute(_NOTES)
    for fault in plan.faults:
        await tx.execute(f"CREATE SEQUENCE chaos_seen_{fault.number}")
        await tx.execute(
            "INSERT INTO chaos_faults (fault, place, tag, run, nth) VALUES ($1, $2, $3, $4, $5)",
            fault.number,
            fault.place.name,
            plan.sessions[fault.session].tag,
            fault.run,
            fault.nth,
        )
    for place in {fault.place for fault in plan.faults} & PLACES.keys():
        trigger = PLACES[place].format(name=f"chaos_{place.name.lower()}")
        await tx.execute(f"CREATE {trigger} EXECUTE FUNCTION chaos_hold('{place.name}')")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """A statement that waits where a fault is due."""

    fault: int
    role: str


async def hold_faults(tx: Tx, faults: Sequence[int]) -> None:
    """From here on whoever comes to one of them waits, for as long as the connection lives."""
    for fault in faults:
        await tx.execute(f"SELECT pg_advisory_lock({_SPACE}, {fault})")


async def let_go(tx: Tx, fault: int) -> None:
    await tx.execute("UPDATE chaos_faults SET fired = true WHERE fault = $1", fault)
    await tx.execute(f"SELECT pg_advisory_unlock({_SPACE}, {fault})")


async def list_caught(tx: Tx) -> list[Caught]:
    rows = await tx.fetch(
        "SELECT l.objid::int AS fault, a.usename FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE l.locktype = 'advisory' AND l.classid = $1 AND NOT l.granted AND a.datname = current_database()",
        _SPACE,
    )
    return [Caught(fault=row["fault"], role=row["usename"]) for row in rows]

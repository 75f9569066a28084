"""The checker's rules on leases: what a session says of its take-overs, held against those that happened."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.chaos.history import Entry, History

MOST_ATTEMPTS = 3


def find_miscounted_resumes(history: History) -> Iterator[str]:
    entries: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in history.timeline:
        if entry["event_type"] == "session_resumed":
            entries[entry["session_id"]].append(entry["metadata"])
    claims: defaultdict[str, list[Entry]] = defaultdict(list)
    for claim in history.claims:
        claims[claim["session_id"]].append(claim)
    for session_id in claims.keys() | entries.keys():
        yield from _compare_resumes(history, session_id, claims=claims[session_id], entries=entries[session_id])


def _compare_resumes(
    history: History, session_id: str, *, claims: Sequence[Entry], entries: Sequence[Entry]
) -> Iterator[str]:
    by_epoch = {claim["epoch"]: claim for claim in claims}
    if len(by_epoch) != len(claims):
        yield f"session {session_id} was claimed twice under one epoch"
    told = Counter(entry["epoch"] for entry in entries)
    yield from (f"session {session_id} tells of epoch {epoch} {n} times" for epoch, n in told.items() if n > 1)
    for entry in entries:
        claim = by_epoch.get(entry["epoch"])
        expected = claim and {
            "epoch": claim["epoch"],
            "attempts": claim["attempts"],
            "taken_over": not claim["released"],
        }
        if entry != expected or not (claim and claim["resumed"]):
            yield f"session {session_id} says it was resumed as {dict(entry)}, and the claim was {claim}"
    worked = {claim["epoch"] for claim in claims if list_passes(history, claim)}
    silent = _list_silent(history, session_id, claims)
    for claim in claims:
        if claim["resumed"] and claim["epoch"] in worked - told.keys() - silent:
            yield f"session {session_id} was taken up under epoch {claim['epoch']}, and its timeline does not say so"
    yield from _check_attempts(session_id, claims)


def _list_silent(history: History, session_id: str, claims: Sequence[Entry]) -> set[int]:
    """Epochs that only put an end to a run, or meant to: cancelled before they began, or given up."""
    cancelled = any(row["status"] == "cancelled" for row in history.sessions if row["session_id"] == session_id) or any(
        row["status"] == "cancelled" for row in history.stages if row["session_id"] == session_id
    )
    last = {run: max(claim["epoch"] for claim in claims if claim["run"] == run) for run in {c["run"] for c in claims}}
    given_up = {claim["epoch"] for claim in claims if claim["cancelled"] or claim["attempts"] > MOST_ATTEMPTS}
    return given_up | (set(last.values()) if cancelled else set())


def _check_attempts(session_id: str, claims: Sequence[Entry]) -> Iterator[str]:
    """Only a take-over counts, and a committed turn makes the count begin again."""
    before = 0
    for claim in sorted(claims, key=lambda claim: claim["epoch"]):
        if not claim["resumed"]:
            before = 0
            expected = 0
        else:
            expected = (0 if claim["progressed"] else before) + (0 if claim["released"] else 1)
        if claim["attempts"] != expected:
            yield f"session {session_id} counts {claim['attempts']} attempts in epoch {claim['epoch']}, not {expected}"
        before = claim["attempts"]


def list_passes(history: History, claim: Entry) -> list[Entry]:
    """What its owner committed under this claim. Others tell the feed of questions and cancels under the same epoch."""
    return [
        row
        for row in history.passes
        if (row["session_id"], row["epoch"], row["replica"]) == (claim["session_id"], claim["epoch"], claim["replica"])
    ]

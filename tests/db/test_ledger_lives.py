"""The ledger under harm: whoever dies, and whichever commit is struck, what is listed is true and listed once."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from midwatch.store.ledger import Outbound, read_outbound, rebuild, rebuild_one
from tests.fakes.cutting_pool import Harm
from tests.fakes.openai_server import by_turn
from tests.lives import open_world
from tests.safety.requirements import requirement

TURNS = [
    *(ScriptedTurn(calls=(ScriptedCall(name="deck.echo", arguments={"text": str(number)}),)) for number in range(3)),
    ScriptedTurn(text="The pump ran dry."),
]
COMMITS = 12
"""More than such a session has before its last question."""


@requirement("outbound:as-it-left")
@pytest.mark.parametrize("harm", Harm)
async def test_what_is_listed_was_sent_and_each_owner_starts_anew(store: Store, tmp_path: Path, harm: Harm) -> None:
    async with open_world(store, tmp_path / "effects", by_turn(TURNS)) as world:
        for cut in range(1, COMMITS):
            world.model.requests.clear()
            world.model.summaries.clear()
            session_id = await world.submit()
            await world.live_on(session_id, [{cut: harm}])
            async with store.connect() as tx:
                rows = await read_outbound(tx, session_id)
            listed = rebuild(rows)
            received = Counter(request.data for request in (*world.model.requests, *world.model.summaries))
            assert None not in {each.body for each in listed}, cut
            missing = received - Counter(each.body for each in listed if each.body is not None)
            # Only an owner that died before it could say what it had sent leaves a gap, of that one request.
            assert missing.total() <= (1 if harm in (Harm.DIE_BEFORE, Harm.DIE_AFTER) else 0), cut
            assert len(listed) == received.total() - missing.total(), cut
            assert [_alone(rows, each) for each in listed] == listed, cut


def _alone(rows: Sequence[Row], outbound: Outbound) -> Outbound | None:
    return rebuild_one(rows, outbound.request_id)

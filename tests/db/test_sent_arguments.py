"""What was sent stands in the journal, also when the model had written it in another way."""

from datetime import timedelta

import pytest

from midwatch.domain.tools import CallState
from midwatch.store.calls import start_call
from midwatch.store.engine import Store
from midwatch.store.journal import Batch, SettledCall, commit_batch
from tests.safety.requirements import requirement
from tests.stored import add_execution, add_running, request_call


@requirement("gate:same-arguments")
@pytest.mark.parametrize("sent", ['{"name":"web"}', None])
@pytest.mark.parametrize("starts", [True, False])
async def test_arguments_are_kept_as_they_were_sent(clean_store: Store, sent: str | None, *, starts: bool) -> None:
    fence = await add_running(clean_store)
    call = await request_call(clean_store, fence, await add_execution(clean_store, fence))
    if starts:
        async with clean_store.begin() as tx:
            await start_call(
                tx,
                fence,
                call_id=call.call_id,
                verdict={},
                targets=(),
                within=timedelta(seconds=9),
                arguments=sent,
            )
    else:
        settled = SettledCall(
            call_id=call.call_id,
            state=CallState.FINISHED,
            result_text_id=None,
            error_code=None,
            verdict=None,
            arguments=sent,
        )
        async with clean_store.connect() as tx:
            await commit_batch(tx, fence, Batch(settled=[settled]), stage_id=None, execution_id=None)
    async with clean_store.connect() as tx:
        kept = await tx.fetchval("SELECT arguments FROM tool_calls WHERE call_id = $1", call.call_id)
    assert kept == (sent or call.arguments)

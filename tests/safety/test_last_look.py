"""The last look before a call's bytes leave: is the session still ours, and is there still time?"""

from collections.abc import Callable

import pytest

from midwatch.domain.errors import DispatchTooLate, LeaseLost
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.timeline.flush import Flusher
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog
from tests.fakes.cleared_calls import cleared_write
from tests.safety.requirements import requirement


def open_recorder(store: Store, check_lease: Callable[[], None]) -> ExecutionRecorder:
    run = RunLog(
        store=store,
        flusher=Flusher(store),
        fence=Fence(session_id=new_id(), epoch=1),
        check_lease=check_lease,
        checkpoint=lambda: None,
    )
    return ExecutionRecorder(run=run, stage_id=new_id(), execution_id=new_id())


def adopt(recorder: ExecutionRecorder, call: ToolCall) -> None:
    recorder.adopt_call(call, sequence_number=1, event_id=new_id())


@requirement("journal:dispatch-guarded")
async def test_nothing_is_sent_once_the_lease_may_have_expired(store: Store) -> None:
    def lost() -> None:
        raise LeaseLost("gone")

    recorder = open_recorder(store, lost)
    cleared = cleared_write("s.restart")
    adopt(recorder, cleared.call)
    with pytest.raises(LeaseLost):
        recorder.check_dispatch(cleared)


@requirement("journal:dispatch-guarded")
async def test_nothing_is_sent_after_the_deadline_of_the_call(store: Store) -> None:
    recorder = open_recorder(store, lambda: None)
    cleared = cleared_write("s.restart", timeout=0)
    adopt(recorder, cleared.call)
    recorder.check_dispatch(cleared)
    # The session does not exist, so nothing is started; but its time has been set, and is over.
    with pytest.raises(LeaseLost):
        await recorder.start(cleared)
    with pytest.raises(DispatchTooLate):
        recorder.check_dispatch(cleared)

"""A step that has happened is committed, however often the database has to be asked."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from midwatch.domain.errors import LeaseLost, StoreUnavailable
from midwatch.kit.ids import new_id
from midwatch.store.driver import Tx, UniqueViolation
from midwatch.store.engine import Store
from midwatch.store.fence import Fence
from midwatch.timeline.flush import Flusher
from midwatch.timeline.run import RunLog
from tests.safety.requirements import requirement


@dataclass
class Commits:
    """Fails with the given errors, one after the other, and then goes through."""

    errors: list[Exception]
    tried: int = 0

    async def __call__(self, tx: Tx) -> int:
        assert tx
        self.tried += 1
        if self.errors:
            raise self.errors.pop(0)
        return 7


def open_run(store: Store, check_lease: Callable[[], None]) -> RunLog:
    return RunLog(
        store=store,
        flusher=Flusher(store),
        fence=Fence(session_id=new_id(), epoch=1),
        check_lease=check_lease,
        checkpoint=lambda: None,
    )


@requirement("journal:finish-retried")
async def test_a_commit_the_store_cannot_take_is_tried_again(store: Store) -> None:
    commits = Commits([StoreUnavailable(), StoreUnavailable()])
    await open_run(store, lambda: None).transact(commits)
    assert commits.tried == 3


@requirement("journal:finish-retried")
async def test_a_lost_lease_ends_the_retries(store: Store) -> None:
    def lost() -> None:
        raise LeaseLost("gone")

    commits = Commits([StoreUnavailable()])
    with pytest.raises(LeaseLost):
        await open_run(store, lost).transact(commits)
    assert commits.tried == 1


@requirement("journal:finish-retried")
async def test_rows_found_after_a_lost_answer_mean_that_it_had_gone_through(store: Store) -> None:
    commits = Commits([StoreUnavailable(), UniqueViolation("there already")])
    await open_run(store, lambda: None).transact(commits)
    assert commits.tried == 2


async def test_rows_found_at_the_first_attempt_are_a_bug_and_not_a_success(store: Store) -> None:
    with pytest.raises(UniqueViolation):
        await open_run(store, lambda: None).transact(Commits([UniqueViolation("who was that")]))

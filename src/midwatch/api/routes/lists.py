"""Sessions in lists. Its paths are fixed words, and stand before those that hold an id."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from midwatch.api.description import refusals
from midwatch.api.list_bodies import ActiveOut, FilterOptionsOut, SessionsOut
from midwatch.api.list_query import SessionQuery, refuse_repeats
from midwatch.api.state import TheConfig, TheStore
from midwatch.store.lists import list_sessions, read_active, read_filter_options
from midwatch.store.queues import list_leases

router = APIRouter(prefix="/api/v1/sessions", responses=refusals(503))


@router.get(
    "",
    summary="List sessions",
    operation_id="list_sessions",
    responses=refusals(400),
    dependencies=[Depends(refuse_repeats)],
)
async def show_sessions(query: Annotated[SessionQuery, Query()], store: TheStore, config: TheConfig) -> SessionsOut:
    """Sessions that were not deleted, newest first unless another order is asked for.

    Not all can be paged through: where `total_is_capped` is true there are more, and a narrower list shows them.
    """
    listing = query.as_listing()
    async with store.begin() as tx:
        page = await list_sessions(tx, listing)
    return SessionsOut.from_page(page, listing, priced=config.system.cost_estimation.enabled)


@router.get("/active", summary="List active sessions")
async def list_active_sessions(store: TheStore) -> ActiveOut:
    """What runs now, and what waits to be run, first come first."""
    async with store.connect() as tx:
        return ActiveOut.from_rows(await read_active(tx), await list_leases(tx))


@router.get("/filter-options", summary="Show filter options")
async def show_filter_options(store: TheStore) -> FilterOptionsOut:
    """By what sessions can be filtered: the values that some session has."""
    async with store.connect() as tx:
        return FilterOptionsOut.model_validate(await read_filter_options(tx))

"""Sessions in lists. Its paths are fixed words, and stand before those that hold an id."""

from typing import Annotated

from fastapi import APIRouter, Query

from midwatch.api.list_bodies import ActiveOut, FilterOptionsOut, SessionsOut
from midwatch.api.list_query import SessionQuery
from midwatch.api.state import TheStore
from midwatch.store.lists import list_sessions, read_active, read_filter_options

router = APIRouter(prefix="/api/v1/sessions")


@router.get("")
async def show_sessions(query: Annotated[SessionQuery, Query()], store: TheStore) -> SessionsOut:
    """Sessions that were not deleted, newest first unless another order is asked for."""
    listing = query.as_listing()
    async with store.begin() as tx:
        page = await list_sessions(tx, listing)
    return SessionsOut.from_page(page, listing)


@router.get("/active")
async def show_active(store: TheStore) -> ActiveOut:
    """What runs now, and what waits to be run."""
    async with store.connect() as tx:
        return ActiveOut.from_rows(await read_active(tx))


@router.get("/filter-options")
async def show_filter_options(store: TheStore) -> FilterOptionsOut:
    """By what sessions can be filtered: the values that some session has."""
    async with store.connect() as tx:
        return FilterOptionsOut.model_validate(await read_filter_options(tx))

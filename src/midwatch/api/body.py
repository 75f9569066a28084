"""Bodies are read as JSON in its strict sense: UTF-8, no key twice, no words that JSON does not have."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

KEY_TWICE = "a key occurs twice in one object of the body"


class StrictJsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        return parse_strictly(await self.body())


def parse_strictly(body: bytes) -> Any:
    """Raises ValueError, and RecursionError for what is nested too deep to be meant."""
    return json.loads(body.decode("utf-8-sig"), object_pairs_hook=_build_object, parse_constant=_refuse_constant)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise json.JSONDecodeError(KEY_TWICE, "", 0)
    return built


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not JSON", "", 0)

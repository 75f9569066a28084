"""gRPC's own health service, with types: what probes of Kubernetes and load balancers ask."""

from typing import Any, cast, final

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

_STATUS = health_pb2.HealthCheckResponse
# The package has no types for its asynchronous half.
_untyped = cast("Any", health)
_add = cast("Any", health_pb2_grpc).add_HealthServicer_to_server


@final
class Probe:
    """Says of the whole process and of each service that it is not serving, until it is told otherwise."""

    def __init__(self, *services: str) -> None:
        self._names = ("", *services)
        self._servicer = _untyped.aio.HealthServicer()

    async def attach(self, server: grpc.aio.Server) -> None:
        for name in self._names:
            await self._servicer.set(name, _STATUS.NOT_SERVING)
        _add(self._servicer, server)

    async def open(self) -> None:
        for name in self._names:
            await self._servicer.set(name, _STATUS.SERVING)

    async def close(self) -> None:
        """For good."""
        await self._servicer.enter_graceful_shutdown()

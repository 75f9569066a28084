"""The LLM service that the operator named, if there is one."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from midwatch.config.llm import LlmService
from midwatch.llm.gateway import Remote

_SETTINGS = {"GRPC_VERBOSITY": "ERROR", "GRPC_ENABLE_FORK_SUPPORT": "0"}
"""Read when gRPC is loaded. What else it says is no log of ours; what we start is another program at once, so that gRPC
has nothing to save over a fork."""


@asynccontextmanager
async def open_remote(llm: LlmService, *, environ: Mapping[str, str]) -> AsyncGenerator[Remote | None]:
    """One channel, closed with the block. Nobody is called before the first question."""
    if llm.service_addr is None:
        yield None
        return
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    from midwatch.llm.grpc.client import connect  # noqa: PLC0415 - only those who use it pay

    token = environ.get(llm.service_token_env) or None
    roots = None if llm.service_ca is None else llm.service_ca.read_bytes()
    async with connect(llm.service_addr, environ=environ, token=token, roots=roots) as service:
        yield service

"""The models in use: is there a key, can we speak to them and, when asked to, do they answer?"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing

from midwatch.cli.checks.finding import Finding, fine, wrong
from midwatch.config.llm import SERVED_ELSEWHERE, Provider, required_variables
from midwatch.config.load import Config
from midwatch.domain.errors import MidwatchError, Misconfigured
from midwatch.domain.messages import UserMessage
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.model import Model, ModelRequest, NoticeChunk
from midwatch.llm.remote import open_remote

_WITHOUT_NETWORK = frozenset({"scripted", "demo"})
_QUESTION = ModelRequest(messages=(UserMessage(text="Answer with the word ok."),), tools=(), agent="doctor")


async def check_models(
    config: Config, providers: Mapping[str, Provider], *, probe: bool, patience: float
) -> list[Finding]:
    """In the order given, asked side by side."""
    async with new_http_client() as http, open_remote(config.llm, environ=config.environ) as remote:
        gateway = Gateway(http=http, environ=config.environ, folder=config.folder, remote=remote)
        async with gateway.closing, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    _check(
                        gateway,
                        name,
                        provider=provider,
                        probe=probe,
                        patience=patience,
                        service=config.llm.service_addr,
                    )
                )
                for name, provider in providers.items()
            ]
    return [finding for task in tasks for finding in task.result()]


async def _check(
    gateway: Gateway, name: str, *, provider: Provider, probe: bool, patience: float, service: str | None
) -> list[Finding]:
    subject = f"model {name}"
    is_elsewhere = service is not None and provider.type in SERVED_ELSEWHERE
    variables = [] if is_elsewhere else [variable for _, variable in required_variables(provider)]
    missing = [variable for variable in variables if not gateway.environ.get(variable)]
    if missing:
        return wrong(subject, Misconfigured([f"variable {variable} is not set" for variable in missing]))
    described = f"{provider.type}, {provider.model}" + "".join(f", key in {variable}" for variable in variables)
    if is_elsewhere:
        described = f"{described}, through the LLM service at {service}"
    try:
        model = gateway.open(name, provider)
        if provider.type in _WITHOUT_NETWORK:
            return [fine(subject, f"{described}; asks nobody")]
        if not probe:
            return [fine(subject, f"{described}; not asked, --probe does that")]
        async with asyncio.timeout(patience):
            seconds = await _ask(model)
    except TimeoutError:
        return wrong(subject, f"{described}; no answer within {patience:g} s")
    except MidwatchError as error:
        return wrong(subject, error if isinstance(error, Misconfigured) else f"{described}; {error}")
    return [fine(subject, f"{described}; began to answer after {seconds:.1f} s")]


async def _ask(model: Model) -> float:
    """Seconds to the first piece of an answer. Nobody waits for, or pays for, the rest."""
    began = time.monotonic()
    async with aclosing(model.stream(_QUESTION)) as chunks:
        async for chunk in chunks:
            if not isinstance(chunk, NoticeChunk):
                break
    return time.monotonic() - began

"""A provider nobody here can speak to is refused when it is opened, not silently replaced."""

from pathlib import Path

import pytest

from midwatch.config.llm import AnthropicProvider, GoogleProvider, Provider, VertexAiProvider, XaiProvider
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client


@pytest.mark.parametrize(
    "provider",
    [
        GoogleProvider(type="google", model="m"),
        AnthropicProvider(type="anthropic", model="m"),
        XaiProvider(type="xai", model="m"),
        VertexAiProvider(type="vertexai", model="m"),
    ],
)
async def test_a_type_that_is_not_spoken_yet_is_refused(provider: Provider) -> None:
    async with new_http_client() as http:
        gateway = Gateway(http=http, environ={}, folder=Path())
        with pytest.raises(ModelUnavailable) as caught:
            gateway.open("big", provider)
    assert str(caught.value) == f"this version does not speak to providers of type {provider.type} yet"
    assert (caught.value.code, caught.value.retryable) == ("invalid_backend", False)

"""Where tokens come from when no key is named, and what becomes of a fetch that fails."""

from pathlib import Path

import httpx
import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json
from midwatch.llm.providers.vertexai.accounts import MetadataCredentials, choose_account
from midwatch.llm.providers.vertexai.tokens import TokenSource, TokenSources
from midwatch.llm.providers.vertexai.transport import TokenTransport
from tests.fakes.token_server import new_key, serve_tokens

NOWHERE = "127.0.0.1:9"


def leave_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, metadata_host: str) -> None:
    """No key anywhere; google-auth's own look at the metadata server, which needs another library, is off."""
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("GCE_METADATA_HOST", metadata_host)


async def test_without_a_key_the_credentials_of_the_environment_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve_tokens() as tokens:
        (tmp_path / "key.json").write_text(tokens.key_file, encoding="utf-8")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
        monkeypatch.setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer")
        credentials = await TokenSource(choose_account(None)).authorise()
    assert credentials.headers == {"Authorization": "Bearer token-1", "x-goog-user-project": "payer"}
    assert credentials.secret == "token-1"
    assert "token-1" not in repr(credentials)


async def test_a_machine_of_google_cloud_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_tokens() as tokens:
        leave_nothing(monkeypatch, tmp_path, metadata_host=httpx.URL(tokens.url).netloc.decode())
        credentials = await TokenSource(choose_account(None)).authorise()
    assert credentials.headers == {"Authorization": "Bearer token-1"}


async def test_where_there_are_none_that_is_a_matter_of_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_nothing(monkeypatch, tmp_path, metadata_host=NOWHERE)
    with pytest.raises(ModelUnavailable) as caught:
        await TokenSource(choose_account(None)).authorise()
    assert (caught.value.code, caught.value.retryable) == ("credentials", False)
    assert "default credentials were not found" in str(caught.value)


async def test_a_token_server_that_cannot_be_reached_may_be_asked_again() -> None:
    async with serve_tokens() as tokens:
        account = {**json.decode(tokens.key_file), "token_uri": f"http://{NOWHERE}/token"}
        source = TokenSource(choose_account(json.encode_text(account)))
        with pytest.raises(ModelUnavailable) as caught:
            await source.authorise()
    assert (caught.value.code, caught.value.retryable) == ("provider_error", True)
    assert "ConnectError" in str(caught.value)


async def test_a_key_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    async with serve_tokens() as tokens:
        path = tmp_path / "key.json"
        path.write_text(tokens.key_file, encoding="utf-8")
        source = TokenSource(choose_account(str(path)))
        tokens.key = new_key()
        with pytest.raises(ModelUnavailable):
            await source.authorise()
        path.write_text(tokens.key_file, encoding="utf-8")
        assert (await source.authorise()).secret == "token-1"


def test_an_account_has_one_source() -> None:
    sources = TokenSources()
    first = sources.find("a", load=choose_account("a"))
    assert sources.find("a", load=choose_account("a")) is first
    assert sources.find(None, load=choose_account(None)) is not first


def refresh(response: httpx.Response, seen: list[httpx.Request]) -> MetadataCredentials:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return response

    credentials = MetadataCredentials()
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        credentials.refresh(TokenTransport(http))
    return credentials


@pytest.mark.parametrize(("lifetime", "is_valid"), [(3600, True), (60, False)])
def test_a_machine_of_google_cloud_has_an_account_of_its_own(
    monkeypatch: pytest.MonkeyPatch, lifetime: int, *, is_valid: bool
) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "metadata.example")
    seen: list[httpx.Request] = []
    answer = {"access_token": "t", "expires_in": lifetime, "token_type": "Bearer"}
    credentials = refresh(httpx.Response(200, json=answer), seen)
    assert (credentials.token, credentials.valid) == ("t", is_valid)
    url = "http://metadata.example/computeMetadata/v1/instance/service-accounts/default/token"
    assert [(str(request.url), request.headers["metadata-flavor"]) for request in seen] == [(url, "Google")]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"access_token": "t"}'])
def test_a_metadata_server_without_a_token_is_no_account(body: bytes) -> None:
    with pytest.raises(Exception, match="answered 404 without a token"):
        refresh(httpx.Response(404, content=body), [])

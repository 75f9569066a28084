"""Who we are at Google Cloud: a key file, or whatever the machine we run on says. google-auth is imported only here.

Everything here may block and runs in a thread.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, cast, final

from midwatch.kit import json
from midwatch.llm.providers.vertexai.tokens import GoogleCredentials, Load
from midwatch.llm.providers.vertexai.transport import TokenTransport

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_EARLY = timedelta(minutes=4)
_TOKEN_PATH = "computeMetadata/v1/instance/service-accounts/default/token"  # noqa: S105 - an address, no secret


def choose_account(key: str | None) -> Load:
    """`key` is the path of a key file or the JSON of one; without it, Application Default Credentials."""
    return _load_default if key is None else lambda _request: _load_key(key)


def _load_key(key: str) -> GoogleCredentials:
    info = _read_key(key)
    load = _LOADERS.get(str(info.get("type")))
    if load is None:
        raise _unusable(f"a key of type {info.get('type')!r}, which is not supported here")
    try:
        return load(info)
    except ValueError as error:
        # The library's words name the missing fields and none of their values.
        raise _unusable(str(error)) from error


def _read_key(key: str) -> Mapping[str, Any]:
    try:
        value = json.decode(key if key.lstrip().startswith("{") else Path(key).read_bytes())
    except OSError as error:
        raise _unusable(f"the key file cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _unusable("the key file is not JSON") from error
    if not isinstance(value, dict):
        raise _unusable("the key file is not a JSON object")
    return cast("dict[str, Any]", value)


def _load_service_account(info: Mapping[str, Any]) -> GoogleCredentials:
    module: Any = import_module("google.oauth2.service_account")
    return module.Credentials.from_service_account_info(info, scopes=_SCOPES)


def _load_user(info: Mapping[str, Any]) -> GoogleCredentials:
    module: Any = import_module("google.oauth2.credentials")
    return module.Credentials.from_authorized_user_info(info, scopes=_SCOPES)


_LOADERS: Mapping[str, Callable[[Mapping[str, Any]], GoogleCredentials]] = {
    "service_account": _load_service_account,
    "authorized_user": _load_user,
}


def _load_default(request: TokenTransport) -> GoogleCredentials:
    auth: Any = import_module("google.auth")
    exceptions: Any = import_module("google.auth.exceptions")
    try:
        credentials, _project = auth.default(scopes=_SCOPES, request=request)
    except exceptions.DefaultCredentialsError as error:
        try:
            return _ask_metadata_server(request)
        except exceptions.TransportError:
            raise error from None
    return credentials


def _ask_metadata_server(request: TokenTransport) -> GoogleCredentials:
    credentials = MetadataCredentials()
    credentials.refresh(request)
    return credentials


@final
class MetadataCredentials:
    """The account of the machine or pod on Google Cloud. google-auth has it only together with the requests library."""

    quota_project_id: str | None = None

    def __init__(self) -> None:
        host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
        self._url = f"http://{host}/{_TOKEN_PATH}"
        self._expiry = datetime.min.replace(tzinfo=UTC)
        self.token: str | None = None

    @property
    def valid(self) -> bool:
        return self.token is not None and datetime.now(UTC) + _EARLY < self._expiry

    def refresh(self, request: TokenTransport) -> None:
        """Raises google-auth's TransportError."""
        response = request(self._url, headers={"Metadata-Flavor": "Google"}, timeout=3.0)
        try:
            answer = json.decode(response.data)
            self.token, lifetime = str(answer["access_token"]), float(answer["expires_in"])
        except (ValueError, TypeError, KeyError) as error:
            exceptions: Any = import_module("google.auth.exceptions")
            told = f"the metadata server answered {response.status} without a token"
            raise exceptions.TransportError(told) from error
        self._expiry = datetime.now(UTC) + timedelta(seconds=lifetime)


def _unusable(told: str) -> Exception:
    exceptions: Any = import_module("google.auth.exceptions")
    return exceptions.DefaultCredentialsError(told)

"""Which provider a caller means, both ways: our configuration entry as an `LLMConfig`, and what is opened for one.

A caller names variables and never sees their values, so it must not choose where a key is sent either: an address is
taken only if the operator of the service has named it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from midwatch.config.agents import NativeTools
from midwatch.config.llm import (
    LOCATION_VARIABLE,
    PROJECT_VARIABLE,
    PROVIDER_SHAPES,
    SERVED_ELSEWHERE,
    GoogleProvider,
    Provider,
    VertexAiProvider,
)
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.translation import Untranslatable

LANGCHAIN, GOOGLE_NATIVE = "langchain", "google-native"
_BACKENDS = frozenset({"", LANGCHAIN, GOOGLE_NATIVE})
_NATIVE_TOOLS = frozenset(NativeTools.model_fields)
_FILLED = ("api_key_env", "credentials_env", "project_env", "location_env")
_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    """What the caller calls it, for messages."""
    provider: Provider
    native_tools: frozenset[str]
    extra: tuple[tuple[str, str], ...] = ()
    """Variables that the caller gave values for: the project and the location, which are no secrets."""

    @property
    def door(self) -> tuple[Any, ...]:
        """The same for all models behind the same address and key."""
        dumped = self.provider.model_dump(exclude={"model", "native_tools", "context_window", "max_tool_result_tokens"})
        return (*dumped.items(), *self.extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What the service knows of providers by itself."""

    providers: Mapping[str, Provider]
    environ: Mapping[str, str] = field(repr=False)
    addresses: frozenset[str] = frozenset()
    """Where any key may be sent."""

    def find(self, config: wire.LLMConfig) -> Target:
        """Raises ModelUnavailable."""
        _check_backend(config)
        own = self._find_own(config)
        fields: dict[str, Any] = {"type": config.provider, "model": config.model}
        fields |= _read_named(config) or _take_over(config, own)
        fields |= {"base_url": config.base_url} if config.base_url else _read_address(fields, own)
        if config.provider == "vertexai":
            fields |= self._read_places(config, fields)
        provider = _validate(fields)
        self._check_address(provider)
        native = frozenset(name for name, is_on in config.native_tools.items() if is_on) & _NATIVE_TOOLS
        name = config.entry[:_NAME_LENGTH] or config.provider
        return Target(name=name, provider=provider, native_tools=native, extra=_read_extra(config))

    def _find_own(self, config: wire.LLMConfig) -> Provider | None:
        same = [provider for provider in self.providers.values() if provider.type == config.provider]
        named = self.providers.get(config.entry)
        if named in same:
            return named
        return next((provider for provider in same if provider.model == config.model), next(iter(same), None))

    def _read_places(self, config: wire.LLMConfig, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A variable that the caller names counts if it is set here; else the value that the caller sent."""
        named = {"project_env": config.project_env, "location_env": config.location_env}
        known = {key: variable for key, variable in named.items() if self.environ.get(variable)}
        given = {"project_env": config.project, "location_env": config.location}
        return {key: known.get(key) or (None if value else fields.get(key)) for key, value in given.items()}

    def _check_address(self, provider: Provider) -> None:
        address = _address_of(provider)
        is_own = address == _address_of(type(provider).model_construct())
        is_paired = (address, _key_of(provider)) in {(_address_of(p), _key_of(p)) for p in self.providers.values()}
        if address is None or is_own or is_paired or address in self.addresses:
            return
        told = f"the LLM service sends nothing to {address} with this key"
        raise Untranslatable(f"{told}: start it with --allow-address, or name both in its llm-providers.yaml")


def encode_config(
    name: str, provider: Provider, *, native_tools: frozenset[str], environ: Mapping[str, str]
) -> wire.LLMConfig:
    is_own = _address_of(provider) == _address_of(type(provider).model_construct())
    base_url = None if is_own else getattr(provider, "base_url", None)
    config = wire.LLMConfig(
        provider=provider.type,
        model=provider.model,
        api_key_env=provider.api_key_env or "",
        base_url=base_url or "",
        native_tools=dict.fromkeys(sorted(native_tools), True),
        backend=GOOGLE_NATIVE if isinstance(provider, GoogleProvider) else LANGCHAIN,
        entry=name,
    )
    if isinstance(provider, VertexAiProvider):
        config.credentials_env = provider.credentials_env or ""
        config.project_env = provider.project_env or ""
        config.location_env = provider.location_env or ""
        config.project = environ.get(provider.project_env or PROJECT_VARIABLE, "")
        config.location = environ.get(provider.location_env or LOCATION_VARIABLE, "")
    return config


def normalise_addresses(addresses: Iterable[str]) -> frozenset[str]:
    return frozenset(address.rstrip("/") for address in addresses)


def _check_backend(config: wire.LLMConfig) -> None:
    if config.backend not in _BACKENDS:
        told = f"there is no backend {config.backend[:_NAME_LENGTH]!r}; {LANGCHAIN} and {GOOGLE_NATIVE} are known"
        raise ModelUnavailable(told, code="invalid_backend", retryable=False)
    if config.provider not in SERVED_ELSEWHERE:
        told = (
            f"there is no provider {config.provider[:_NAME_LENGTH]!r}; {', '.join(sorted(SERVED_ELSEWHERE))} are served"
        )
        raise Untranslatable(told)
    if config.backend == GOOGLE_NATIVE and config.provider not in {"google", "vertexai"}:
        told = f"{GOOGLE_NATIVE} speaks to google and vertexai, not to {config.provider}"
        raise ModelUnavailable(told, code="invalid_backend", retryable=False)


def _read_named(config: wire.LLMConfig) -> dict[str, Any]:
    """The variables that the caller names for keys."""
    named = {"api_key_env": config.api_key_env}
    if config.provider == "vertexai":
        named["credentials_env"] = config.credentials_env
    return {key: variable for key, variable in named.items() if variable}


def _take_over(config: wire.LLMConfig, own: Provider | None) -> dict[str, Any]:
    """What the service knows by itself, unless the caller means another address."""
    if own is None or (config.base_url and config.base_url.rstrip("/") != _address_of(own)):
        return {}
    return {key: getattr(own, key) for key in _FILLED if getattr(own, key, None)}


def _read_address(fields: Mapping[str, Any], own: Provider | None) -> dict[str, Any]:
    """The service's own address for the key that is to be sent there."""
    if own is None or _address_of(own) is None:
        return {}
    key = fields.get("api_key_env") or fields.get("credentials_env")
    return {"base_url": _address_of(own)} if key == _key_of(own) else {}


def _read_extra(config: wire.LLMConfig) -> tuple[tuple[str, str], ...]:
    if config.provider != "vertexai":
        return ()
    given = ((PROJECT_VARIABLE, config.project), (LOCATION_VARIABLE, config.location))
    return tuple((variable, value) for variable, value in given if value)


def _validate(fields: Mapping[str, Any]) -> Provider:
    try:
        return PROVIDER_SHAPES[fields["type"]].model_validate(dict(fields))
    except ValidationError as error:
        [first, *_] = error.errors()
        where = ".".join(str(part) for part in first["loc"])
        raise Untranslatable(f"llm_config.{where}: {first['msg']}") from error


def _address_of(provider: Provider) -> str | None:
    address = getattr(provider, "base_url", None)
    return None if address is None else str(address).rstrip("/")


def _key_of(provider: Provider) -> str | None:
    return provider.api_key_env or getattr(provider, "credentials_env", None)

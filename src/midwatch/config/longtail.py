"""Whether pydantic-ai can serve an entry: is it installed, does it know the provider, is that one's own library there?

It is imported only for those who have such an entry.
"""

import importlib.util
import inspect
import re
from typing import Any

from midwatch.config.llm import PydanticAiProvider

KEY = ("api_key", "token")
ADDRESS = ("base_url", "azure_endpoint", "api_base")
"""What the library's providers call what we call so; the usual name first."""
_PACKAGE = "pydantic_ai"
_ADVICE = re.compile(r'pip install "[^"]+"')


def find_problem(entry: PydanticAiProvider) -> tuple[str, str] | None:
    """The key that is wrong, and what is wrong with it."""
    if importlib.util.find_spec(_PACKAGE) is None:
        return "type", "needs packages that are not installed; pip install 'midwatch[longtail]'"
    kind, colon, name = entry.model.partition(":")
    if not (kind and colon and name):
        return "model", "expected provider:model, such as bedrock:amazon.nova-pro-v1:0"
    return _ask_library(entry, kind)


def find_argument(build: type[Any], names: tuple[str, ...]) -> str | None:
    """Which of the names the provider takes, if any."""
    taken = inspect.signature(build).parameters
    return next((name for name in names if name in taken), None)


def _ask_library(entry: PydanticAiProvider, kind: str) -> tuple[str, str] | None:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - heavy, and only these entries need it

    try:
        build = infer_provider_class(kind)
    except ImportError as error:
        advice = _ADVICE.search(str(error))
        return "model", f"{kind} needs packages that are not installed; {advice[0] if advice else error}"
    except ValueError:
        return "model", f'pydantic-ai knows no provider "{kind}"'
    for key, value, names in (("api_key_env", entry.api_key_env, KEY), ("base_url", entry.base_url, ADDRESS)):
        if value and find_argument(build, names) is None:
            return key, f"pydantic-ai takes none for {kind}"
    return None

"""Entries for pydantic-ai and for the adapters of other packages are checked while loading."""

import subprocess
import sys
from pathlib import Path

import pytest

from midwatch.config.llm import InstalledProvider, PydanticAiProvider
from tests.unit.config.folder import Folder

_WITHOUT = """
import sys
sys.modules["pydantic_ai"] = None
from pathlib import Path
from midwatch.config.load import load_config
from midwatch.domain.errors import Misconfigured
try:
    load_config(Path(sys.argv[1]), environ={})
except Misconfigured as error:
    print(error)
"""


def write_provider(folder: Folder, fields: str) -> None:
    folder.write("llm-providers.yaml", f"llm_providers:\n  local: {{{fields}}}\n")


@pytest.mark.parametrize(
    "fields",
    [
        'type: pydantic-ai, model: "openai:gpt-9"',
        'type: pydantic-ai, model: "openai-chat:small", base_url: "http://localhost:1/v1", api_key_env: KEY',
        'type: pydantic-ai, model: "together:org/model", api_key_env: KEY, context_window: 32000',
        'type: pydantic-ai, model: "azure:small", base_url: "https://mine.example", api_key_env: KEY',
    ],
)
def test_an_entry_for_pydantic_ai_is_read(folder: Folder, fields: str) -> None:
    write_provider(folder, fields)
    assert isinstance(folder.load(KEY="k").providers["local"], PydanticAiProvider)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ('model: "gpt-9"', "model: expected provider:model, such as bedrock:amazon.nova-pro-v1:0"),
        ('model: "openai:"', "model: expected provider:model, such as bedrock:amazon.nova-pro-v1:0"),
        ('model: "opanai:gpt-9"', 'model: pydantic-ai knows no provider "opanai"'),
        ('model: "together:m", base_url: "http://x"', "base_url: pydantic-ai takes none for together"),
    ],
)
def test_what_pydantic_ai_cannot_do_is_told_on_its_line(folder: Folder, fields: str, told: str) -> None:
    write_provider(folder, f"type: pydantic-ai, {fields}")
    assert folder.problems() == (f"llm-providers.yaml:2: llm_providers.local.{told}",)


def test_the_library_of_a_provider_that_is_missing_is_named(folder: Folder) -> None:
    write_provider(folder, 'type: pydantic-ai, model: "cohere:command"')
    (told,) = folder.problems()
    where, _, what = told.partition(" cohere ")
    assert where == "llm-providers.yaml:2: llm_providers.local.model:"
    assert what == 'needs packages that are not installed; pip install "pydantic-ai-slim[cohere]"'


def test_without_the_extra_it_is_said_how_to_install_it(folder: Folder) -> None:
    write_provider(folder, 'type: pydantic-ai, model: "bedrock:m"')
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, str(folder.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        "llm-providers.yaml:2: llm_providers.local.type: "
        "needs packages that are not installed; pip install 'midwatch[longtail]'"
    )


def install(site: Path, *entries: str) -> None:
    """What an installer leaves behind for a package with adapters."""
    info = site / "midwatch_extra-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: midwatch-extra\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[midwatch.providers]", *entries]) + "\n")


def test_the_adapter_of_an_installed_package_can_be_named(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site, "mine = no_such_module:open", "openai = no_such_module:open")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    write_provider(folder, 'type: mine, model: m, options: {depth: 3, greeting: "hi"}')
    provider = folder.load().providers["local"]
    assert isinstance(provider, InstalledProvider)
    assert provider.options == {"depth": "3", "greeting": "hi"}
    write_provider(folder, "type: openai, model: m")
    assert not isinstance(folder.load().providers["local"], InstalledProvider)
    write_provider(folder, "type: mein, model: m")
    (told,) = folder.problems()
    assert 'did you mean "mine"?' in told


def test_a_path_to_code_is_no_type(folder: Folder) -> None:
    write_provider(folder, "type: os:system, model: m")
    (told,) = folder.problems()
    assert ".type: expected one of openai" in told

"""Where the LLM service is, and that whoever has one needs no keys."""

from pathlib import Path

import pytest

from midwatch.config.load import load_config, load_providers
from midwatch.domain.errors import Misconfigured
from tests.unit.config.folder import Folder

ADDRESS = "models.example:50051"


def need_a_key(folder: Folder) -> None:
    folder.change("model: small", "model: small\n    api_key_env: KEY", name="llm-providers.yaml")


def test_the_variable_that_tarsy_reads_counts_and_ours_wins(folder: Folder) -> None:
    assert folder.load().llm.service_addr is None
    assert folder.load(LLM_SERVICE_ADDR="").llm.service_addr is None
    assert folder.load(LLM_SERVICE_ADDR=ADDRESS).llm.service_addr == ADDRESS
    folder.add("llm: {service_addr: 'ours:1'}\n")
    assert folder.load(LLM_SERVICE_ADDR=ADDRESS).llm.service_addr == "ours:1"


def test_without_a_folder_the_variable_counts_too() -> None:
    assert load_config(None, environ={"LLM_SERVICE_ADDR": ADDRESS}).llm.service_addr == ADDRESS


def test_keys_are_missed_unless_a_service_has_them(folder: Folder) -> None:
    need_a_key(folder)
    assert "variable KEY is not set" in folder.problems()[0]
    assert folder.load(LLM_SERVICE_ADDR=ADDRESS).llm.service_addr == ADDRESS


def test_nothing_is_said_of_an_address_being_without_effect(folder: Folder) -> None:
    folder.add(f"llm: {{service_addr: '{ADDRESS}'}}\n")
    assert folder.load().warnings == ()


def test_certificates_are_found_beside_the_configuration(folder: Folder) -> None:
    line = folder.add(f"llm: {{service_addr: '{ADDRESS}', service_ca: ca.pem}}\n")
    assert folder.problems() == (f"midwatch.yaml:{line}: llm.service_ca: there is no such file",)
    folder.write("ca.pem", "")
    assert folder.load().llm.service_ca == folder.path / "ca.pem"


def test_a_service_reads_the_providers_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("llm-providers.yaml", "llm_providers: {a: {type: openai, model: m, api_key_env: KEY}}\n")
    folder.write(".env", "KEY=from-file\nPORT=1\n")
    providers, environ = load_providers(tmp_path, environ={"PORT": "2"})
    assert {name: provider.model for name, provider in providers.items()} == {"a": "m"}
    assert (environ["KEY"], environ["PORT"]) == ("from-file", "2")


def test_what_is_wrong_with_the_providers_is_said(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("llm-providers.yaml", "llm_providers: {a: {type: openai}}\n")
    with pytest.raises(Misconfigured, match="model"):
        load_providers(tmp_path, environ={})

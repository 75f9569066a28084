"""Every key there is can be written, and is read as what it is."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.config.mcp import RemoteTransport
from midwatch.config.reference import render_reference
from midwatch.domain.session import SuccessPolicy
from midwatch.kit.json import encode_text
from tests.unit.config import whole
from tests.unit.config.folder import Folder

_MAPS = {"targets", "model_rates"}


@pytest.fixture
def filled(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("midwatch.yaml", encode_text(whole.MAIN))
    folder.write("llm-providers.yaml", encode_text({"llm_providers": whole.PROVIDERS}))
    folder.write("talk.json", "[]")
    (tmp_path / "skills" / "calm").mkdir(parents=True)
    folder.write("skills/calm/SKILL.md", "---\nname: calm\ndescription: d\n---\n")
    folder.write("skills/swift.md", "---\nname: swift\ndescription: d\n---\n")
    return folder


def written_keys(value: Any, key: str = "") -> Iterator[str]:
    yield key
    match value:
        case dict():
            for name, inner in cast("dict[str, Any]", value).items():
                part = "<name>" if key.rpartition(".")[2] in _MAPS else name
                yield from written_keys(inner, f"{key}.{part}" if key else part)
        case list():
            for inner in cast("list[Any]", value):
                yield from written_keys(inner, f"{key}[]")
        case _:
            pass


def documented_keys() -> dict[str, set[str]]:
    """The keys of the reference by section."""
    sections = re.split(r"^## `(.+?)` in .+$", render_reference(), flags=re.MULTILINE)[1:]
    return {
        name: set(re.findall(r"^\| `(.+?)` \|", text, flags=re.MULTILINE))
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }


def entries(section: str) -> list[Any]:
    if section.startswith("llm_providers"):
        kind = section.rpartition(" ")[2]
        return [entry for entry in whole.PROVIDERS.values() if entry["type"] == kind]
    block = whole.MAIN[section.partition(".")[0]]
    return list(block.values()) if "<" in section else [block]


def test_the_whole_configuration_writes_every_key_of_the_reference() -> None:
    documented = documented_keys()
    assert {name.partition(".")[0] for name in documented} == {*whole.MAIN, "llm_providers"}
    for section, keys in documented.items():
        written = {key for entry in entries(section) for key in written_keys(entry)}
        assert keys - written == set(), section


def test_it_loads(filled: Folder) -> None:
    config = filled.load(**whole.ENVIRON)
    assert [warning for warning in config.warnings if "unknown" in warning or "ignored" in warning] == []
    check_values(config)


def test_it_loads_in_a_tarsy_folder_too(filled: Folder) -> None:
    filled.become_tarsy()
    config = filled.load(**whole.ENVIRON)
    assert [warning for warning in config.warnings if "unknown" in warning or "ignored" in warning] == []
    check_values(config)


def check_values(config: Config) -> None:
    chain = config.chains["web"]
    assert [sub.name for sub in chain.stages[0].agents[0].sub_agents or ()] == ["Helper", "Helper"]
    assert chain.stages[0].success_policy is SuccessPolicy.ALL
    assert chain.chat is not None
    assert chain.chat.agent == "Helper"
    assert config.mcp_servers["logs"].targets["get_*"].target == "host:{host}"
    assert config.mcp_servers["logs"].targets["set_*"].parent == "host:{host}"
    assert config.system.dashboard_url == "https://watch.example"
    assert [day.date for day in config.system.holidays] == ["02-29"]
    assert config.approvals.expire_after == timedelta(minutes=5)
    assert config.llm.service_addr == "localhost:50051"
    assert config.safety.rules[0].targets == ("host:*",)
    assert config.safety.rules[0].risk == ("high",)
    first, second = config.system.cost_estimation.promotions
    assert first.end == second.start == datetime(2026, 1, 1, tzinfo=UTC)
    assert second.end == datetime(2026, 2, 1, 11, tzinfo=UTC)


def test_what_belongs_to_each_tool_session_is_left_for_it(filled: Folder) -> None:
    transport = filled.load(**whole.ENVIRON).mcp_servers["far"].transport
    assert isinstance(transport, RemoteTransport)
    assert transport.url == "https://far.example/mcp/"
    assert transport.custom_headers == {"X-Session": "{{.SESSION_ID}}"}
    assert transport.session_cleanup_url == "https://far.example/{{.SESSION_ID}}"
    assert transport.timeout == timedelta(seconds=30)


def test_a_whole_chain_survives_the_way_to_json_and_back(filled: Folder) -> None:
    chain = filled.load(**whole.ENVIRON).chains["web"]
    assert Chain.model_validate(chain.model_dump(mode="json")) == chain
    assert Chain.model_validate_json(chain.model_dump_json()) == chain


def test_secrets_of_a_remote_server_do_not_show_when_printed(filled: Folder) -> None:
    filled.change('"bearer_token":"b"', '"bearer_token":"hunter2"')
    assert "hunter2" not in repr(filled.load(**whole.ENVIRON))


@pytest.mark.parametrize("key", ["auth", "ingest", "notify", "infra"])
def test_blocks_of_later_features_are_not_known_yet(folder: Folder, key: str) -> None:
    line = folder.add(f"{key}: {{}}\n")
    (told,) = folder.problems()
    assert told.startswith(f'midwatch.yaml:{line}: unknown key "{key}"')


def test_what_is_not_acted_on_yet_is_said_once(filled: Folder) -> None:
    told = [warning for warning in filled.load(**whole.ENVIRON).warnings if "does not act on it yet" in warning]
    assert sum(".sub_agents: " in line for line in told) == 1
    assert sum("slack.enabled" in line for line in told) == 1
    used = ("budgets", "fallback_providers", "safety.rules", "safety.egress_allow", ".targets", ".discovers")
    assert not [line for line in told if any(key in line for key in used)]

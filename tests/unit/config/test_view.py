"""The configuration as people may see it holds no secret, wherever one was written."""

from pathlib import Path
from typing import Any

import pytest

from midwatch.config.load import load_config
from midwatch.config.view import describe_config
from midwatch.kit.json import encode_text
from tests.unit.config import whole
from tests.unit.config.folder import Folder

SECRET = "hunter2-very-secret-0123456789"


def describe(tmp_path: Path, main: dict[str, Any], providers: dict[str, Any] | None = None) -> dict[str, Any]:
    folder = Folder(tmp_path)
    base = {"defaults": {"llm_provider": "p"}, **main}
    folder.write("midwatch.yaml", encode_text(base))
    folder.write(
        "llm-providers.yaml",
        encode_text({"llm_providers": {"p": {"type": "openai", "model": "m"}, **(providers or {})}}),
    )
    return describe_config(load_config(tmp_path, environ={"KEY": SECRET}))


def server(**transport: Any) -> dict[str, Any]:
    return {"mcp_servers": {"s": {"transport": transport}}}


@pytest.mark.parametrize(
    "main",
    [
        server(type="stdio", command="x", env={"TOKEN": SECRET}),
        server(type="stdio", command="x", args=["--token", SECRET]),
        server(type="http", url="http://h", bearer_token=SECRET),
        server(type="http", url="http://h", custom_headers={"Authorization": SECRET}),
        server(type="http", url=f"https://user:{SECRET}@h/mcp?key={SECRET}#{SECRET}"),
        server(type="http", url="http://h", session_cleanup_url=f"https://{SECRET}@h/x?key={SECRET}"),
        {"system": {"runbooks": {"repo_url": f"https://{SECRET}@github.com/o/r"}}},
        {"system": {"dashboard_url": f"https://u:{SECRET}@watch.example"}},
        {"defaults": {"llm_provider": "p", "memory": {"embedding": {"base_url": f"https://u:{SECRET}@h"}}}},
        {"agents": {"A": {"custom_instructions": f"the api_key={SECRET} opens it"}}},
        {"defaults": {"llm_provider": "p", "runbook": f"password: {SECRET}"}},
    ],
)
def test_no_secret_is_shown(tmp_path: Path, main: dict[str, Any]) -> None:
    assert SECRET not in encode_text(describe(tmp_path, main))


def test_no_key_of_a_provider_is_shown(tmp_path: Path) -> None:
    url = f"https://u:{SECRET}@proxy.example:8443/v1?key={SECRET}"
    described = describe(tmp_path, {}, {"q": {"type": "openai", "model": "m", "api_key_env": "KEY", "base_url": url}})
    assert SECRET not in encode_text(described)
    assert described["llm_providers"]["q"]["base_url"] == "https://proxy.example:8443/v1"
    assert described["llm_providers"]["q"]["api_key_env"] == "KEY"


def test_what_an_operator_looks_for_is_shown(tmp_path: Path) -> None:
    described = describe(
        tmp_path,
        {
            **server(type="stdio", command="serve-logs", args=["a", "b"], env={"B": "1", "A": "2"}),
            "agents": {"A": {"mcp_servers": ["s"]}},
            "queue": {"session_timeout": "1h"},
        },
    )
    assert list(described) == [
        *("defaults", "queue", "system", "agents", "chains", "mcp_servers", "llm_providers", "skills")
    ]
    assert described["mcp_servers"]["s"]["transport"] == {
        "type": "stdio",
        "command": "serve-logs",
        "args_count": 2,
        "env_names": ["A", "B"],
    }
    assert described["queue"]["session_timeout"] == 3600
    assert described["defaults"]["llm_provider"] == "p"
    assert described["agents"]["A"]["mcp_servers"] == ["s"]
    assert described["chains"]["kubernetes"]["alert_types"] == ["kubernetes"]


def test_the_whole_configuration_can_be_shown(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("midwatch.yaml", encode_text(whole.MAIN))
    folder.write("llm-providers.yaml", encode_text({"llm_providers": whole.PROVIDERS}))
    folder.write("talk.json", "[]")
    (tmp_path / "skills").mkdir()
    for name in ("calm", "swift"):
        folder.write(f"skills/{name}.md", f"---\nname: {name}\ndescription: about {name}\n---\nbody")
    described = describe_config(folder.load(**whole.ENVIRON))
    assert encode_text(described)
    assert described["skills"] == {"calm": {"description": "about calm"}, "swift": {"description": "about swift"}}
    far = described["mcp_servers"]["far"]["transport"]
    assert (far["url"], far["has_bearer_token"], far["header_names"]) == (
        "https://far.example/mcp/",
        True,
        ["X-Session"],
    )
    assert "talk.json" not in encode_text(described)
    assert [entry["context_window"] for entry in described["llm_providers"].values()].count(1000) == len(
        whole.PROVIDERS
    )
    rates = described["system"]["cost_estimation"]
    assert (rates["enabled"], list(rates["model_rates"]), len(rates["promotions"])) == (False, ["big"], 2)

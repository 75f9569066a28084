"""Whatever the rules and the dashboard ask for is there once a service has really worked."""

from pathlib import Path
from typing import Any

from midwatch.kit import json
from tests.api.edge import CONCLUSION, call, open_edge, running, write_config
from tests.deployed import list_named, needs_promtool, promtool
from tests.scraping import read_samples
from tests.waiting import eventually

ASTRAY = frozenset({"midwatch_ai_routing_mismatch_block_total"})
"""What is counted only where a person has meant something: no alert does."""
FALSE = {"text": "I deleted the old backups."}


def write_troubled(folder: Path) -> None:
    """The first model has nothing to say. The second acts twice, or blindly, or not at all, and is put right."""
    look, change, blind = call("echo", text="up"), call("restart", name="web"), call("slow_write", name="nowhere")
    turns = [look, change, change, look, change, blind, CONCLUSION, look, call("fail"), FALSE, CONCLUSION]
    write_config(folder, turns=turns)
    main: dict[str, Any] = json.decode((folder / "midwatch.yaml").read_bytes())
    main["mcp_servers"]["deck"] |= {
        "kinds": {"read": ["echo", "fail"], "write": ["restart", "slow_write"]},
        "targets": {"slow_write": {"target": "pump:{name}"}},
    }
    main["safety"] = {"control_level": "autonomous"}
    main["defaults"] |= {
        "llm_provider": "mute",
        "fallback_providers": [{"provider": "script", "backend": "langchain"}],
    }
    providers: dict[str, Any] = json.decode((folder / "llm-providers.yaml").read_bytes())
    providers["llm_providers"]["mute"] = {"type": "scripted", "script": "mute.yaml"}
    mute: dict[str, Any] = {"agents": {"Nobody": []}}
    files = {"midwatch.yaml": main, "llm-providers.yaml": providers, "mute.yaml": mute}
    for name, content in files.items():
        (folder / name).write_text(json.encode_text(content), encoding="utf-8")


async def scrape_after_work(folder: Path, dsn: str) -> str:
    write_troubled(folder)
    async with open_edge(folder, dsn) as edge, running(edge):
        session_id = await edge.submit()

        async def has_ended() -> bool:
            return (await edge.show(session_id))["status"] == "completed"

        await eventually(has_ended)
        return (await edge.http.get("/metrics")).text


async def test_what_rules_and_dashboard_ask_for_is_there_after_a_run_with_refusals(tmp_path: Path, dsn: str) -> None:
    seen = read_samples(await scrape_after_work(tmp_path, dsn)).names
    assert list_named() - seen == ASTRAY


@needs_promtool
async def test_prometheus_finds_no_fault_with_what_a_working_service_shows(tmp_path: Path, dsn: str) -> None:
    promtool("check", "metrics", stdin=await scrape_after_work(tmp_path, dsn))

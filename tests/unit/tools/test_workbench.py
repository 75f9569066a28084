"""The workbench with real tool servers: what is opened, what a call passes on its way, what is closed."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from midwatch.config.mcp import DataMasking, Kinds, McpServer, StdioTransport
from midwatch.config.safety import Safety
from midwatch.domain.errors import LeaseLost
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.mcp_process import fake_mcp_server, read_effects, running_fakes
from tests.safety.requirements import requirement
from tests.settled import settle

READ_ONLY = Safety()
AUTONOMOUS = Safety(control_level=ControlLevel.AUTONOMOUS)
KINDS = Kinds(read=("echo", "secret", "environ", "fail", "slow_read"), write=("restart",))
ENVIRONMENT = {"PATH": os.environ["PATH"], "MODEL_KEY": "not for children", "EXTRA": "asked for"}


def deck(*options: str, **changes: object) -> McpServer:
    return fake_mcp_server(*options).model_copy(update={"kinds": KINDS, **changes})


def missing() -> McpServer:
    return McpServer(transport=StdioTransport(type="stdio", command="/nonexistent/server"))


def call(name: str, arguments: Mapping[str, object] | None = None) -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id="p", name=name, arguments=json.dumps(arguments or {}))


@pytest.fixture
def journal() -> FakeCallJournal:
    return FakeCallJournal()


@requirement("mask:results-and-errors")
async def test_a_read_passes_gate_journal_and_mask(journal: FakeCallJournal) -> None:
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers={"deck": deck()}, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ) as workbench,
    ):
        result = await settle(workbench.gate, call("deck.secret"))
        failed = await settle(workbench.gate, call("deck.fail", {"message": "password=hunter22"}))
    assert result.content == "user=deck\npassword=[MASKED_PASSWORD]\n"
    assert (failed.content, failed.error) == ("password=[MASKED_PASSWORD]", "TOOL_ERROR")
    assert journal.log == ["dispatch deck.secret", "finish deck.secret", "dispatch deck.fail", "finish deck.fail"]
    assert journal.finished[0][1] == result


@requirement("policy:read-only-refuses-writes", "journal:write-started-first")
async def test_a_write_has_no_effect_until_it_is_allowed(journal: FakeCallJournal, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    codes: list[str | None] = []
    for safety in (READ_ONLY, AUTONOMOUS):
        async with (
            asyncio.timeout(60),
            open_workbench(
                Fittings(
                    servers={"deck": deck("--effects", str(effects))},
                    safety=safety,
                    journal=journal,
                    environment=ENVIRONMENT,
                )
            ) as workbench,
        ):
            codes.append((await settle(workbench.gate, call("deck.restart", {"name": "web"}))).error)
        assert len(read_effects(effects)) == (safety is AUTONOMOUS)
    assert codes == ["READ_ONLY_VIOLATION", None]
    assert journal.log == [
        "refuse deck.restart READ_ONLY_VIOLATION",
        "start deck.restart",
        "dispatch deck.restart",
        "finish deck.restart",
    ]


@requirement("gate:level-per-server")
async def test_a_servers_own_level_can_only_be_stricter(journal: FakeCallJournal) -> None:
    servers = {
        "strict": deck(control_level=ControlLevel.CONTROLLED),
        "plain": deck(),
    }
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers=servers, safety=AUTONOMOUS, journal=journal, environment=ENVIRONMENT)
        ) as workbench,
    ):
        strict = await settle(workbench.gate, call("strict.restart", {"name": "web"}))
        plain = await settle(workbench.gate, call("plain.restart", {"name": "web"}))
    assert (strict.error, plain.error) == ("APPROVAL_REQUIRED", None)
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers={"lax": deck(control_level=ControlLevel.AUTONOMOUS)},
                safety=READ_ONLY,
                journal=journal,
                environment=ENVIRONMENT,
            )
        ) as workbench,
    ):
        lax = await settle(workbench.gate, call("lax.restart", {"name": "web"}))
    assert lax.error == "READ_ONLY_VIOLATION"


@requirement("policy:observe-unasked-refuses-proven-writes", "policy:observe-records")
async def test_observe_and_its_limit_reach_the_gate(journal: FakeCallJournal) -> None:
    servers = {"deck": deck()}
    for unasked, code in ((True, "POLICY_BLOCKED"), (False, None)):
        async with (
            asyncio.timeout(60),
            open_workbench(
                Fittings(
                    servers=servers,
                    safety=Safety(mode=SafetyMode.OBSERVE),
                    journal=journal,
                    environment=ENVIRONMENT,
                    refuse_proven_writes=unasked,
                )
            ) as workbench,
        ):
            assert (await settle(workbench.gate, call("deck.restart", {"name": "web"}))).error == code
    assert journal.started[0].clearance.observed == "READ_ONLY_VIOLATION"


async def test_a_trusted_servers_annotations_allow_its_reads(journal: FakeCallJournal) -> None:
    servers = {
        "trusted": deck(kinds=None, trust_annotations=True),
        "plain": deck(kinds=None),
    }
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers=servers, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ) as workbench,
    ):
        trusted = await settle(workbench.gate, call("trusted.echo", {"text": "x"}))
        plain = await settle(workbench.gate, call("plain.echo", {"text": "x"}))
    assert (trusted.content, plain.error) == ("x", "READ_ONLY_VIOLATION")


@requirement("mask:on-unless-written")
async def test_masking_follows_each_servers_own_settings(journal: FakeCallJournal) -> None:
    servers = {"open": deck(data_masking=DataMasking(enabled=False)), "plain": deck()}
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers=servers, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ) as workbench,
    ):
        contents = [
            (await settle(workbench.gate, call(f"{server}.echo", {"text": "password=hunter22"}))).content
            for server in servers
        ]
    assert contents == ["password=hunter22", "password=[MASKED_PASSWORD]"]


async def test_a_server_that_does_not_come_up_is_named_and_the_others_work(journal: FakeCallJournal) -> None:
    servers = {"gone": missing(), "mute": deck("--silent"), "deck": deck()}
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers=servers, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT, init_timeout=1.0)
        ) as workbench,
    ):
        assert set(workbench.unavailable) == {"gone", "mute"}
        assert all("tool server" in reason for reason in workbench.unavailable.values())
        assert {tool.server for tool in await workbench.gate.list_tools()} == {"deck"}
        assert (await settle(workbench.gate, call("deck.echo", {"text": "x"}))).content == "x"
        assert (await settle(workbench.gate, call("gone.echo"))).error == "TOOL_NOT_FOUND"


async def test_a_call_that_takes_too_long_is_a_failure_the_model_reads(journal: FakeCallJournal) -> None:
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers={"deck": deck()}, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT, call_timeout=0.1
            )
        ) as workbench,
    ):
        result = await settle(workbench.gate, call("deck.slow_read", {"seconds": 60}))
    assert result.error == "TIMEOUT"
    assert journal.finished[0][1] == result


async def test_children_get_only_what_they_may_inherit(journal: FakeCallJournal) -> None:
    server = deck(inherit_env=("EXTRA", "MODEL_KEY"), data_masking=DataMasking(enabled=False))
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(
                servers={"deck": server},
                safety=READ_ONLY,
                journal=journal,
                environment=ENVIRONMENT,
                secret_names=("MODEL_KEY",),
            )
        ) as workbench,
    ):
        seen = json.loads((await settle(workbench.gate, call("deck.environ"))).content)
    assert seen["EXTRA"] == "asked for"
    assert "MODEL_KEY" not in seen


async def test_an_error_inside_leaves_as_itself_and_every_server_is_closed(journal: FakeCallJournal) -> None:
    before = len(running_fakes())

    async def lose_lease() -> None:
        async with open_workbench(
            Fittings(servers={"one": deck(), "two": deck()}, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ):
            assert len(running_fakes()) == before + 2
            raise LeaseLost

    async with asyncio.timeout(60):
        with pytest.raises(LeaseLost):
            await lose_lease()
    assert len(running_fakes()) == before


async def test_servers_are_started_side_by_side_and_a_cancelled_opening_leaves_none(journal: FakeCallJournal) -> None:
    before = len(running_fakes())
    servers = {name: deck("--silent") for name in ("one", "two", "three")}

    async def open_all() -> None:
        async with open_workbench(
            Fittings(servers=servers, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ):
            pytest.fail("silent servers cannot be opened")

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        opening = group.create_task(open_all())
        while len(running_fakes()) < before + 3:  # noqa: ASYNC110 - a process that starts sets no event here
            await asyncio.sleep(0)
        opening.cancel()
    assert opening.cancelled()
    assert len(running_fakes()) == before


async def test_a_cancelled_execution_closes_every_server(journal: FakeCallJournal) -> None:
    opened = asyncio.Event()
    before = len(running_fakes())

    async def hold() -> None:
        async with open_workbench(
            Fittings(servers={"one": deck(), "two": deck()}, safety=READ_ONLY, journal=journal, environment=ENVIRONMENT)
        ):
            opened.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        holding = group.create_task(hold())
        await opened.wait()
        holding.cancel()
    assert holding.cancelled()
    assert len(running_fakes()) == before


async def test_no_servers_make_an_empty_workbench(journal: FakeCallJournal) -> None:
    async with open_workbench(Fittings(servers={}, safety=READ_ONLY, journal=journal, environment={})) as workbench:
        assert list(await workbench.gate.list_tools()) == []
        assert (await settle(workbench.gate, call("deck.echo"))).error == "TOOL_NOT_FOUND"

"""The server as Midwatch starts it, on a machine where something was staged for it to find."""

import asyncio
import gzip
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from midwatch.config.builtins import HOST_TOOLS, build_host_servers
from midwatch.config.mcp import StdioTransport
from tests.fakes.container_runtime import running_runtime
from tests.fakes.host_server import MODULE, HostTools, running_host

MEGABYTE = 1024 * 1024
DOCS = Path(__file__).parents[3] / "docs" / "host-tools.md"


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    staged = tmp_path_factory.mktemp("staged")
    (staged / "log").mkdir()
    (staged / "run").mkdir()
    (staged / "secret.log").write_text("hunter2\n")
    return staged


@pytest.fixture
def logs(staged: Path) -> Path:
    return make_empty(staged / "log")


@pytest.fixture
def run(staged: Path) -> Path:
    return make_empty(staged / "run")


@pytest.fixture(scope="module")
async def host(staged: Path) -> AsyncGenerator[HostTools]:
    async with running_host("--log-root", str(staged / "log"), "--run-root", str(staged / "run")) as host:
        yield host


def make_empty(folder: Path) -> Path:
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


@pytest.fixture
def busy() -> Generator[int]:
    code = "import sys\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code, "midwatch-busy-child"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child.pid
        finally:
            child.kill()


async def test_the_tools_are_those_that_are_vouched_for_and_no_others(host: HostTools) -> None:
    tools = await host.list()
    assert tuple(tools) == HOST_TOOLS
    assert all(tool.read_only_hint for tool in tools.values())


async def test_every_tool_and_argument_says_what_it_is_for(host: HostTools) -> None:
    for tool in (await host.list()).values():
        assert len(tool.description) > 100, tool.name
        assert not any(line.startswith(" ") for line in tool.description.splitlines()), tool.name
        for name, schema in tool.schema.get("properties", {}).items():
            assert schema.get("description"), f"{tool.name}.{name}"


def test_the_documentation_names_every_tool() -> None:
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    assert tuple(row.split("`")[1] for row in rows) == HOST_TOOLS


def test_it_is_started_as_before() -> None:
    transport = build_host_servers()["midwatch-host"].transport
    assert isinstance(transport, StdioTransport)
    assert (transport.command, transport.args) == (sys.executable, MODULE)


async def test_the_machine_is_told_at_a_glance(host: HostTools, run: Path) -> None:
    (run / "crashed.pid").write_text(str(2**22 + 1))
    told = await host.ask("overview")
    assert told["hostname"] == socket.gethostname()
    assert told["processors"] == os.cpu_count()
    assert told["failed_services"] == ["crashed"]
    assert 0 <= told["cpu_busy_percent"] <= 100
    assert told["memory"]["total_bytes"] > told["memory"]["available_bytes"] > 0
    assert set(told["load"]) == {"one_minute", "five_minutes", "fifteen_minutes"}


async def test_load_and_memory_are_told(host: HostTools) -> None:
    load, memory = await host.ask("load"), await host.ask("memory")
    assert load["processors"] == os.cpu_count()
    assert 0 <= load["cpu_busy_percent"] <= 100
    assert load["pressure"] is None or set(load["pressure"]) == {
        "cpu_some_avg10",
        "memory_some_avg10",
        "io_some_avg10",
    }
    assert memory["used_bytes"] + memory["available_bytes"] == memory["total_bytes"]
    assert {"limit_bytes", "limit_used_bytes", "oom_kills", "swap_used_percent", "cached_bytes"} <= set(memory)


async def test_a_busy_process_is_on_top(host: HostTools, busy: int) -> None:
    told = await host.ask("processes", name_contains="midwatch-busy-child", limit=1)
    (top,) = told["processes"]
    assert top["pid"] == busy
    assert top["parent_pid"] == os.getpid()
    assert top["cpu_percent"] > 1
    assert (told["total"], told["truncated"]) == (1, False)
    everyone = await host.ask("processes", limit=50)
    shares = [process["cpu_percent"] for process in everyone["processes"]]
    assert shares == sorted(shares, reverse=True)
    assert busy in [process["pid"] for process in everyone["processes"]]
    assert everyone["total"] >= len(shares)


async def test_processes_can_be_put_in_other_orders(host: HostTools, busy: int) -> None:
    big = await host.ask("processes", sort="memory", limit=5)
    sizes = [process["rss_bytes"] for process in big["processes"]]
    assert sizes == sorted(sizes, reverse=True)
    new = await host.ask("processes", sort="started", limit=50)
    starts = [process["started_at"] for process in new["processes"]]
    assert starts == sorted(starts, reverse=True)
    (named,) = (await host.ask("processes", sort="started", name_contains="midwatch-busy-child"))["processes"]
    assert named["pid"] == busy
    nobody = await host.ask("processes", user="nobody-of-that-name")
    assert (nobody["processes"], nobody["total"]) == ([], 0)


async def test_one_process_is_told_closely(host: HostTools, busy: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = await host.ask("process", pid=os.getpid())
        assert server.getsockname()[1] in told["listening_ports"]
    assert told["cwd"] == str(Path.cwd())
    assert 0 < told["open_files"] < told["open_files_limit"]
    assert busy in [child["pid"] for child in told["children"]]
    assert "there is no process" in await host.refusal("process", pid=2**31 - 1)


@pytest.fixture
def wordy() -> Generator[int]:
    arguments = ["midwatch-long-child", "\x1b[31m\n\u202e", b"\xff\xfe", *["x" * 50_000] * 2]
    code = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid
        child.communicate(b"")


async def test_a_process_with_an_endless_command_line_is_clipped(host: HostTools, wordy: int) -> None:
    (told,) = (await host.ask("processes", name_contains="midwatch-long-child"))["processes"]
    assert told["pid"] == wordy
    assert len(told["command"]) == 200
    assert not set(told["command"]) & set("\x1b\n\u202e")


async def test_disks_and_mounts_are_told_fullest_first(host: HostTools) -> None:
    disks = (await host.ask("disks"))["disks"]
    fullness = [max(disk["used_percent"], disk["inodes_used_percent"] or 0) for disk in disks]
    assert fullness == sorted(fullness, reverse=True)
    assert all(disk["used_bytes"] <= disk["total_bytes"] for disk in disks)
    mounts = await host.ask("mounts", contains="proc")
    assert "/proc" in [mount["mounted_on"] for mount in mounts["mounts"]]
    assert all("proc" in " ".join(map(str, mount.values())) for mount in mounts["mounts"])


async def test_what_fills_a_folder_is_on_top(host: HostTools, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "big.bin").write_bytes(os.urandom(3 * MEGABYTE))
    os.link(tree / "deep" / "er" / "big.bin", tree / "deep" / "same.bin")
    (tree / "small.bin").write_bytes(os.urandom(MEGABYTE))
    (tree / "hollow.bin").touch()
    os.truncate(tree / "hollow.bin", 100 * MEGABYTE)
    (tree / "outside").symlink_to("/")
    os.mkfifo(tree / "pipe")
    told = await host.ask("largest", path=str(tree), limit=2)
    assert [entry["name"] for entry in told["entries"]] == ["deep", "small.bin"]
    assert [entry["is_folder"] for entry in told["entries"]] == [True, False]
    assert [Path(file["path"]).name for file in told["largest_files"]][1] == "small.bin"
    assert 4 * MEGABYTE <= told["total_bytes"] < 5 * MEGABYTE
    assert (told["complete"], told["total"], told["truncated"]) == (True, 5, True)


@pytest.mark.skipif(not Path("/dev/shm").is_mount(), reason="needs one file system below another")
async def test_other_file_systems_below_a_folder_are_left_out(host: HostTools) -> None:
    told = await host.ask("largest", path="/dev", limit=50)
    assert "shm" not in [entry["name"] for entry in told["entries"]]
    assert "other file systems below were left out" in " ".join(told["notes"])


@pytest.mark.parametrize("path", ["relative", "/no/such/folder", "/etc/hostname"])
async def test_what_is_no_folder_is_refused(host: HostTools, path: str) -> None:
    assert "largest" in await host.refusal("largest", path=path)


async def test_names_that_are_no_text_can_be_told(host: HostTools, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    for name in (b"\xff\xfe", b"new\nline", b"\x1b[2J", b"n" * 255):
        (tmp_path / "odd" / os.fsdecode(name)).write_bytes(b"x" * 5000)
    told = await host.ask("largest", path=str(tmp_path / "odd"))
    assert len(told["entries"]) == 4
    assert not any(set(entry["name"]) & set("\n\x1b") for entry in told["entries"])


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
async def test_a_deleted_file_that_is_still_open_shows_up(host: HostTools, tmp_path: Path) -> None:
    path = tmp_path / "removed.log"
    kept = tmp_path / "kept.log (deleted)"
    with path.open("wb") as file, kept.open("wb") as other:
        other.write(os.urandom(MEGABYTE))
        file.write(os.urandom(64 * MEGABYTE))
        file.flush()
        path.unlink()
        told = await host.ask("deleted_files", limit=50)
        ours = [each for each in told["files"] if each["path"] == str(path)]
        assert [(each["pid"], each["size_bytes"] >= 64 * MEGABYTE) for each in ours] == [(os.getpid(), True)]
        assert told["total_bytes"] >= 64 * MEGABYTE
        assert "kept.log" not in str(told)
    assert str(path) not in str((await host.ask("deleted_files", limit=50))["files"])


async def test_a_listening_socket_shows_with_its_process(host: HostTools) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (told,) = (await host.ask("ports", port=port))["ports"]
        assert (told["protocol"], told["address"], told["port"], told["pid"]) == ("tcp", "127.0.0.1", port, os.getpid())
        with socket.create_connection(("127.0.0.1", port)):
            connected = await host.ask("connections", port=port, state="established")
            assert connected["by_state"]["LISTEN"] == 1
            assert {each["remote"] for each in connected["connections"]} & {f"127.0.0.1:{port}"}
            assert all(each["state"] == "ESTABLISHED" for each in connected["connections"])
    assert (await host.ask("ports", port=port))["ports"] == []


async def test_a_stale_pid_file_is_a_failed_service(host: HostTools, run: Path) -> None:
    (run / "payments.pid").write_text(str(2**22 + 1))
    (run / "web.pid").write_text(str(os.getpid()))
    told = await host.ask("services", state="failed")
    assert told["manager"] == "pidfiles"
    assert [(each["name"], each["state"]) for each in told["services"]] == [("payments", "failed")]
    assert [each["name"] for each in (await host.ask("services", state="running"))["services"]] == ["web"]


async def test_log_files_are_listed_newest_first_and_read_from_their_end(host: HostTools, logs: Path) -> None:
    (logs / "app").mkdir()
    (logs / "app" / "new.log").write_text("".join(f"line {n}\n" for n in range(100)) + "ERROR at last\n")
    (logs / "old.log").write_text("old\n")
    os.utime(logs / "old.log", (1, 1))
    with gzip.open(logs / "older.log.gz", "wb") as file:
        file.write(b"squeezed")
    os.utime(logs / "older.log.gz", (0, 0))
    os.mkfifo(logs / "pipe")
    told = await host.ask("logs")
    assert told["roots"] == [str(logs)]
    assert [(Path(file["path"]).name, file["compressed"]) for file in told["files"]] == [
        ("new.log", False),
        ("old.log", False),
        ("older.log.gz", True),
    ]
    end = await host.ask("read_log", path=str(logs / "app" / "new.log"), lines=2)
    assert (end["lines"], end["truncated"]) == (["line 99", "ERROR at last"], True)
    found = await host.ask("read_log", path=str(logs / "app" / "new.log"), contains="error")
    assert (found["lines"], found["truncated"]) == (["ERROR at last"], False)
    squeezed = await host.ask("read_log", path=str(logs / "older.log.gz"))
    assert squeezed["lines"] == []
    assert "compressed" in squeezed["notes"][0]


async def test_a_log_of_endless_lines_is_clipped(host: HostTools, logs: Path) -> None:
    (logs / "wild.log").write_bytes(b"".join(b"%d \x00\x1b[31m\xff" % n + b"\\" * MEGABYTE + b"\n" for n in range(6)))
    told = await host.ask("read_log", path=str(logs / "wild.log"), lines=400)
    assert told["truncated"] is False
    assert [line[:2] for line in told["lines"]] == [f"{n} " for n in range(6)]
    assert all(len(line) <= 500 for line in told["lines"])


@pytest.mark.parametrize("path", ["../secret.log", "link.log", "folder/secret.log", "pipe", "."])
async def test_nothing_outside_the_log_roots_is_read(host: HostTools, logs: Path, path: str) -> None:
    (logs / "link.log").symlink_to(logs.parent / "secret.log")
    (logs / "folder").symlink_to(logs.parent)
    os.mkfifo(logs / "pipe")
    refusal = await host.refusal("read_log", path=f"{logs}/{path}")
    assert str(logs) in refusal
    assert "hunter2" not in refusal
    assert "hunter2" not in str(await host.ask("logs"))


async def test_a_missing_log_is_said(host: HostTools, logs: Path) -> None:
    assert "`logs` lists" in await host.refusal("read_log", path=str(logs / "missing.log"))


async def test_kernel_messages_are_told_or_it_is_said_why_not(host: HostTools) -> None:
    told = await host.ask("kernel_messages", lines=3)
    assert len(told["messages"]) <= 3
    assert told["messages"] or "may not be read" in told["notes"][0]


async def test_without_journal_and_runtime_the_notes_name_what_to_use(host: HostTools) -> None:
    journal, containers = await host.ask("journal"), await host.ask("containers")
    assert journal["entries"] or "`read_log`" in " ".join(journal["notes"])
    assert containers["runtime"] or containers["notes"]


async def test_a_call_that_waits_holds_no_other_up() -> None:
    with tempfile.TemporaryDirectory(prefix="mw-") as folder, running_runtime(Path(folder) / "s", {}) as runtime:
        runtime.may_answer.clear()
        environment = {"DOCKER_HOST": f"unix://{folder}/s"}
        async with running_host(environment=environment) as host, asyncio.TaskGroup() as group:
            waiting = group.create_task(host.ask("containers"))
            assert (await host.ask("mounts"))["mounts"]
            assert not waiting.done()
            runtime.may_answer.set()
        assert waiting.result()["containers"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("processes", {"limit": 0}),
        ("processes", {"sort": "size"}),
        ("process", {}),
        ("ports", {"port": 70_000}),
        ("read_log", {"path": "/x", "lines": 401}),
        ("container_logs", {"name": "../../images/json"}),
        ("journal", {"priority": "loud"}),
    ],
)
async def test_arguments_out_of_bounds_are_refused(host: HostTools, tool: str, arguments: dict[str, object]) -> None:
    assert "validation error" in await host.refusal(tool, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("processes", {"limit": "3", "name_contains": None, "user": None}),
        ("journal", {"priority": "Error", "unit": None}),
        ("journal", {"priority": 3, "contains": "[]"}),
        ("connections", {"state": "time-wait", "port": None}),
    ],
)
async def test_arguments_are_read_with_patience(host: HostTools, tool: str, arguments: dict[str, object]) -> None:
    assert "notes" in await host.ask(tool, **arguments)

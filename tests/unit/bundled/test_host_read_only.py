"""The server cannot change the machine: its code has no way to, and it works where nothing can be written."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import midwatch.bundled.host.__main__ as program
from midwatch.config.builtins import HOST_TOOLS
from tests.fakes.host_server import HostTools, running_host

PACKAGE = Path(program.__file__).parent
MODULES = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.glob("*.py"))}

LIBRARIES = {
    *("argparse", "collections", "collections.abc", "contextlib", "dataclasses", "datetime", "functools", "heapq"),
    *("http", "inspect", "json", "pathlib", "platform", "queue", "re", "selectors", "stat", "threading", "time"),
    *("typing", "os", "shutil", "socket", "subprocess"),
    *("httpx", "mcp.server.mcpserver", "mcp.server.mcpserver.exceptions", "mcp_types", "psutil", "pydantic"),
    *("pydantic_core", "midwatch"),
}
READING: dict[str, set[str]] = {
    "os": {
        *("DirEntry", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_RDONLY", "close", "cpu_count", "environ", "fsdecode"),
        *("fstat", "geteuid", "getloadavg", "open", "path", "pread", "read", "scandir", "stat_result", "statvfs"),
        *("statvfs_result", "uname"),
    },
    "shutil": {"which"},
    "socket": {"SOCK_STREAM"},
    "subprocess": {"DEVNULL", "PIPE", "Popen", "TimeoutExpired"},
    "httpx": {"Client", "HTTPError", "HTTPTransport"},
    "platform": {"freedesktop_os_release", "node", "release", "system"},
}
"""Of libraries that could do harm: all that is used, and none of it does."""
ONLY_IN = {"subprocess": "programs.py", "httpx": "runtime.py"}
HARMFUL_METHODS = {
    *(
        "write",
        "writelines",
        "write_text",
        "write_bytes",
        "touch",
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "replace_file",
    ),
    *("symlink_to", "hardlink_to", "chmod", "lchmod", "truncate", "ftruncate", "utime", "chown", "mkfifo", "mknod"),
    *("post", "put", "patch", "delete", "request", "send_signal", "terminate", "kill", "suspend", "resume"),
    *("nice", "ionice", "rlimit", "cpu_affinity", "system", "popen", "execv", "fork", "connect", "sendall", "bind"),
}
HARMLESS = {
    ("programs.py", "kill"),  # of a child of our own that has said enough
    ("disks.py", "put"),  # into a queue
    ("overview.py", "system"),  # the name of the operating system
}
CODE_FROM_TEXT = {"exec", "eval", "compile", "__import__", "import_module", "globals", "setattr"}


def find(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    return ((name, node) for name, tree in MODULES.items() for node in ast.walk(tree) if isinstance(node, kind))


def find_imports() -> Iterator[tuple[str, str]]:
    for name, node in find(ast.Import):
        yield from ((name, alias.name) for alias in node.names)
    for name, node in find(ast.ImportFrom):
        yield name, node.module


def test_no_library_is_used_that_was_not_looked_at() -> None:
    imported = {library for _, library in find_imports()}
    assert {each for each in imported if not each.startswith("midwatch.bundled.host.")} <= LIBRARIES


@pytest.mark.parametrize("library", READING)
def test_of_dangerous_libraries_only_what_reads_is_used(library: str) -> None:
    uses = {
        node.attr for _, node in find(ast.Attribute) if isinstance(node.value, ast.Name) and node.value.id == library
    }
    named = {alias.name for _, node in find(ast.ImportFrom) if node.module == library for alias in node.names}
    renamed = [alias for _, node in find(ast.Import) for alias in node.names if alias.asname]
    assert (uses - READING[library], named, renamed) == (set(), set(), [])
    assert uses, "what is not used need not be allowed"


@pytest.mark.parametrize(("library", "module"), ONLY_IN.items())
def test_programs_and_runtimes_are_reached_from_one_place(library: str, module: str) -> None:
    assert {name for name, imported in find_imports() if imported == library} == {module}


def test_one_function_starts_programs_and_takes_them_from_the_table() -> None:
    starts = [ast.unparse(node) for _, node in find(ast.Call) if ast.unparse(node.func).startswith("subprocess.")]
    assert len(starts) == 1
    assert "shell" not in starts[0]
    callers = [ast.unparse(node) for _, node in find(ast.Call) if ast.unparse(node.func) == "_run"]
    assert callers == ["_run([program, *fixed, *values], seconds=self.seconds)"]


def test_nothing_is_opened_for_writing() -> None:
    opened = [(name, node) for name, node in find(ast.Call) if ast.unparse(node.func).split(".")[-1] == "open"]
    by_flags = [ast.unparse(node.args[1]) for _, node in opened if ast.unparse(node.func) == "os.open"]
    by_mode = [ast.unparse(node) for _, node in opened if ast.unparse(node.func) != "os.open"]
    assert by_mode == ["Path(path).open('rb')"]
    assert len(by_flags) == 3
    words = {word for flags in by_flags for word in flags.replace("(", "").replace(")", "").split(" | ")}
    assert words == {"os.O_RDONLY", "os.O_NONBLOCK", "os.O_CLOEXEC", "os.O_NOFOLLOW", "_PATH_ONLY"}


def test_nothing_changes_files_processes_or_runtimes() -> None:
    called = {(name, node.func.attr) for name, node in find(ast.Call) if isinstance(node.func, ast.Attribute)}
    assert {use for use in called if use[1] in HARMFUL_METHODS} == HARMLESS
    streams = [ast.unparse(node.args[0]) for _, node in find(ast.Call) if ast.unparse(node.func).endswith(".stream")]
    assert streams == ["'GET'"]


def test_no_code_is_made_from_text() -> None:
    names = {node.func.id for _, node in find(ast.Call) if isinstance(node.func, ast.Name)}
    assert names & CODE_FROM_TEXT == set()


async def ask_everything(host: HostTools, *, folder: Path) -> None:
    needed: dict[str, dict[str, Any]] = {
        "process": {"pid": os.getpid()},
        "largest": {"path": str(folder)},
        "read_log": {"path": str(folder / "log" / "a.log")},
        "container_logs": {"name": "web"},
    }
    for tool in HOST_TOOLS:
        told = await host.ask(tool, **needed.get(tool, {}))
        assert "Read-only file system" not in str(told["notes"])


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    for name in ("log", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "log" / "a.log").write_text("line\n")
    (tmp_path / "run" / "a.pid").write_text("1\n")
    return tmp_path


def flags(staged: Path) -> list[str]:
    return ["--log-root", str(staged / "log"), "--run-root", str(staged / "run")]


def photograph(folder: Path) -> dict[str, tuple[int, int, int, int, bytes]]:
    states = {path: path.lstat() for path in [folder, *folder.rglob("*")]}
    return {
        str(path): (
            state.st_ino,
            state.st_mode,
            state.st_mtime_ns,
            state.st_ctime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path, state in states.items()
    }


async def test_everything_is_left_as_it_was_found(staged: Path) -> None:
    before = photograph(staged)
    async with running_host(*flags(staged)) as host:
        await ask_everything(host, folder=staged)
    assert photograph(staged) == before


MAKE_ALL_READ_ONLY = """
mount --make-rprivate /
cut -d ' ' -f 2 /proc/self/mounts | sort -r | while read -r folder; do
    mount -o remount,ro,bind "$folder" 2>/dev/null
done
if (: > "$1/written") 2>/dev/null || (: > /dev/shm/written) 2>/dev/null; then exit 9; fi
shift
exec "$@"
"""
IN_A_WORLD_OF_GLASS = ("unshare", "--mount", "sh", "-c", MAKE_ALL_READ_ONLY, "sh")


def can_make_all_read_only() -> bool:
    if os.geteuid() != 0 or sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    return subprocess.run([*IN_A_WORLD_OF_GLASS, "/tmp", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_make_all_read_only(), reason="needs root and mount namespaces")
async def test_all_tools_work_where_nothing_can_be_written(staged: Path) -> None:
    path = {"PATH": os.environ["PATH"]}
    async with running_host(*flags(staged), wrapper=[*IN_A_WORLD_OF_GLASS, str(staged)], environment=path) as host:
        await ask_everything(host, folder=staged)
        assert all(disk["read_only"] for disk in (await host.ask("disks"))["disks"])

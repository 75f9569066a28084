"""Containers over the runtime's socket, asked with GET alone."""

import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, UnixStreamServer

import pytest

from midwatch.bundled.host.answers import Unanswerable
from midwatch.bundled.host.containers import Dock
from midwatch.bundled.host.runtime_socket import find_socket
from tests.fakes.container_runtime import FakeRuntime, as_json, frame, running_runtime
from tests.unit.bundled.test_host_parsers import ROW

BROKEN = {"Id": "b" * 64, "Names": ["/api"], "Image": "api", "State": "restarting", "Status": "Restarting (1)"}
ANSWERS = {
    "/containers/json": as_json([ROW, BROKEN, {"strange": True}]),
    "/containers/0123456789ab/json": as_json({"RestartCount": 0}),
    "/containers/bbbbbbbbbbbb/json": as_json({"RestartCount": 17}),
    "/version": as_json({"Version": "27.1"}),
    "/containers/api/logs": frame(1, "starting\n") + frame(2, "cannot connect\n") + frame(2, "giving up\n"),
}


@pytest.fixture
def socket() -> Generator[Path]:
    """In a short folder: the path of a socket may not be long."""
    with tempfile.TemporaryDirectory(prefix="mw-") as folder:
        yield Path(folder) / "docker.sock"


@pytest.fixture
def runtime(socket: Path) -> Generator[FakeRuntime]:
    with running_runtime(socket, ANSWERS) as runtime:
        yield runtime


@contextmanager
def hanging_up(socket: Path) -> Generator[None]:
    with UnixStreamServer(str(socket), BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def dock(socket: Path) -> Dock:
    return Dock(environ={"DOCKER_HOST": f"unix://{socket}"})


@pytest.mark.usefixtures("runtime")
def test_containers_are_listed_with_the_troubled_ones_first(socket: Path) -> None:
    answer = dock(socket).containers()
    assert answer.runtime == "docker 27.1"
    assert [(each.name, each.state, each.restarts) for each in answer.containers] == [
        ("api", "restarting", 17),
        ("web", "running", 0),
    ]
    assert (answer.total, answer.truncated) == (2, False)
    assert answer.notes == ["1 containers are described in a way that is not understood here"]


def test_stopped_ones_are_asked_for_only_on_demand(socket: Path, runtime: FakeRuntime) -> None:
    dock(socket).containers()
    few = dock(socket).containers(all=True, limit=1)
    assert (len(few.containers), few.total, few.truncated) == (1, 2, True)
    assert [target for target in runtime.asked if "/containers/json" in target] == [
        "GET /containers/json?all=0",
        "GET /containers/json?all=1",
    ]


def test_the_output_of_a_container_is_told_oldest_first(socket: Path, runtime: FakeRuntime) -> None:
    answer = dock(socket).container_logs(name="api", lines=2)
    assert answer.lines == ["cannot connect", "giving up"]
    assert answer.truncated
    assert runtime.asked == ["GET /containers/api/logs?stdout=1&stderr=1&tail=3"]


def test_the_runtime_is_asked_with_get_alone(socket: Path, runtime: FakeRuntime) -> None:
    dock(socket).containers(all=True)
    dock(socket).container_logs(name="api")
    assert len(runtime.asked) == 5
    assert {asked.split()[0] for asked in runtime.asked} == {"GET"}


@pytest.mark.usefixtures("runtime")
def test_a_container_that_is_not_there_is_said(socket: Path) -> None:
    with pytest.raises(Unanswerable, match="no container 'missing'"):
        dock(socket).container_logs(name="missing")


@pytest.mark.parametrize("body", [b"", b"[", b"null", b"{}", as_json(["text", None])])
def test_a_strange_answer_is_no_crash(socket: Path, body: bytes) -> None:
    with running_runtime(socket, {"/containers/json": body, "/version": b"{}"}):
        answer = dock(socket).containers()
    assert answer.containers == []


def test_a_runtime_that_hangs_up_is_said(socket: Path) -> None:
    with hanging_up(socket):
        answer = dock(socket).containers()
        lines = dock(socket).container_logs(name="api")
    assert (answer.runtime, answer.containers, lines.lines) == (None, [], [])
    assert "it does not answer" in answer.notes[0]
    assert "cannot be read" in lines.notes[0]


@pytest.mark.usefixtures("runtime")
def test_the_socket_is_found_where_the_environment_says(socket: Path) -> None:
    assert find_socket({"DOCKER_HOST": f"unix://{socket}"}) == str(socket)
    assert find_socket({"DOCKER_HOST": f"unix://{socket}x"}) != f"{socket}x"
    assert find_socket({"DOCKER_HOST": "tcp://127.0.0.1:2375"}) != "tcp://127.0.0.1:2375"
    podman = socket.parent / "podman"
    podman.mkdir()
    (podman / "podman.sock").symlink_to(socket)
    assert find_socket({"XDG_RUNTIME_DIR": str(socket.parent)}) in {
        str(podman / "podman.sock"),
        "/var/run/docker.sock",
        "/run/podman/podman.sock",
    }

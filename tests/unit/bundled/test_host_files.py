"""Only regular files below the roots are opened, whoever plays tricks with links."""

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from midwatch.bundled.host.files import OutOfBounds, is_below, open_again, open_below

SECRET = b"secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "log"
    (root / "app").mkdir(parents=True)
    (root / "app" / "a.log").write_bytes(b"open")
    (tmp_path / "secret.log").write_bytes(SECRET)
    (tmp_path / "logs-of-others").mkdir()
    (tmp_path / "logs-of-others" / "a.log").write_bytes(SECRET)
    return root


def read(path: Path | str, root: Path) -> bytes:
    with open_below(str(path), [str(root)]) as file:
        return os.read(file.descriptor, 100)


def test_a_file_below_a_root_is_read(root: Path) -> None:
    assert read(root / "app" / "a.log", root) == b"open"


def test_a_link_that_stays_below_the_root_is_followed(root: Path) -> None:
    (root / "current").symlink_to(root / "app" / "a.log")
    assert read(root / "current", root) == b"open"


def test_the_root_may_be_a_link_itself(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert read(tmp_path / "alias" / "app" / "a.log", tmp_path / "alias") == b"open"


@pytest.mark.parametrize(
    "path",
    ["../secret.log", "app/../../secret.log", "link.log", "folder/secret.log", "../logs-of-others/a.log", "", "."],
)
def test_nothing_outside_is_opened(root: Path, tmp_path: Path, path: str) -> None:
    (root / "link.log").symlink_to(tmp_path / "secret.log")
    (root / "folder").symlink_to(tmp_path)
    with pytest.raises(OutOfBounds):
        read(f"{root}/{path}", root)


def test_a_root_does_not_open_its_neighbour_with_a_longer_name() -> None:
    assert is_below("/var/log/a", ["/var/log"])
    assert not is_below("/var/log-of-others/a", ["/var/log"])
    assert not is_below("/var/log", ["/var/log"])
    assert is_below("/etc/a", ["/"])


def test_what_is_no_regular_file_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for path in (root / "pipe", root / "app"):
        with pytest.raises(OutOfBounds, match="regular"):
            read(path, root)
    with pytest.raises(OutOfBounds, match="regular"):
        read("/dev/null", Path("/dev"))


def test_a_missing_file_is_told_apart(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(root / "missing.log", root)
    with pytest.raises(ValueError, match="null"):
        read(f"{root}/a\0b", root)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can open a file again without its name")
def test_the_file_that_was_checked_is_the_one_that_is_read(root: Path, tmp_path: Path) -> None:
    path = root / "app" / "a.log"
    handle = os.open(path, os.O_RDONLY)
    (tmp_path / "secret.log").rename(path)
    descriptor = open_again(handle, str(path))
    try:
        assert os.read(descriptor, 100) == b"open"
    finally:
        os.close(descriptor)
        os.close(handle)


@contextmanager
def swapping(folder: Path, *, decoy: Path) -> Generator[None]:
    """A folder that is now itself and now a link to `decoy`, as fast as another thread can change it."""
    stop = threading.Event()
    hidden, link = folder.with_name("hidden"), folder.with_name("link")

    def swap() -> None:
        while not stop.is_set():
            folder.rename(hidden)
            link.symlink_to(decoy)
            link.rename(folder)
            folder.unlink()
            hidden.rename(folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_folder_that_turns_into_a_link_meanwhile_leads_nowhere(root: Path, tmp_path: Path) -> None:
    seen: set[bytes] = set()
    with swapping(root / "app", decoy=tmp_path / "logs-of-others"):
        for _ in range(3000):
            try:
                seen.add(read(root / "app" / "a.log", root))
            except OSError:
                continue
    assert SECRET not in seen

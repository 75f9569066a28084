"""What the kernel is asked to do for us, tried on real processes."""

import signal
import subprocess
import sys

import psutil
import pytest

from midwatch.kit.process import die_with_parent, hold_descendants, kill_held
from tests.fakes.processes import is_dead_soon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these are requests to a Linux kernel")

# Root may look anywhere, so root first becomes nobody. That alone forbids dumping: it is allowed again to see the
# difference.
KEEP_A_SECRET = """
import ctypes, os, subprocess, sys
from midwatch.kit.process import forbid_dumping
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
if sys.argv[1] == "forbid":
    forbid_dumping()
look = subprocess.run(["/bin/sh", "-c", "cat /proc/$PPID/environ"], env={}, capture_output=True)
print(look.stdout.count(b"hunter2"))
"""

START_AND_DIE = """
import os, signal, subprocess
from midwatch.kit.process import die_with_parent
child = subprocess.Popen(["sleep", "600"], preexec_fn=die_with_parent(signal.SIGTERM))
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


# Each generation leaves the group of the one before.
THREE_GENERATIONS = """
import os, subprocess, sys
if sys.argv[1] == "0":
    print("all are there", flush=True)
    sys.stdin.read()
else:
    subprocess.run([sys.executable, *sys.orig_argv[1:-1], str(int(sys.argv[1]) - 1)], start_new_session=True)
"""


def count_leaks(mode: str) -> int:
    command = [sys.executable, "-c", KEEP_A_SECRET, mode]
    environment = {"KEY": "hunter2", "PATH": "/usr/bin:/bin"}
    return int(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, timeout=20).stdout)


def test_a_child_of_the_same_user_cannot_read_our_environment_once_dumping_is_forbidden() -> None:
    assert count_leaks("allow") == 1
    assert count_leaks("forbid") == 0


def test_a_child_dies_with_the_parent_that_was_killed() -> None:
    command = [sys.executable, "-c", START_AND_DIE]
    parent = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=20)
    assert parent.returncode == -signal.SIGKILL
    assert is_dead_soon(int(parent.stdout))


def test_a_child_whose_parent_is_gone_already_does_not_start() -> None:
    """The parent is taken for gone when another process than the one that prepared is found above the child."""
    program = (
        "import os, signal, sys\n"
        "from midwatch.kit.process import die_with_parent\n"
        "prepare = die_with_parent(signal.SIGTERM)\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        prepare()\n"
        "        print('started', flush=True)\n"
        "    else:\n"
        "        os.wait()\n"
        "else:\n"
        "    os.wait()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, timeout=20)
    assert result.stdout == b""


def test_a_child_of_a_living_parent_runs_to_its_end() -> None:
    prepare = die_with_parent(signal.SIGTERM)
    assert subprocess.run(["true"], preexec_fn=prepare, check=False, timeout=20).returncode == 0


def test_all_that_a_process_has_started_can_be_killed_whichever_group_it_is_in() -> None:
    command = [sys.executable, "-c", THREE_GENERATIONS, "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as eldest:
        assert eldest.stdout is not None
        assert eldest.stdout.readline() == "all are there\n"
        descendants = psutil.Process(eldest.pid).children(recursive=True)
        files = psutil.Process().num_fds()
        held = hold_descendants(eldest.pid)
        assert (len(descendants), len(held)) == (2, 2)
        kill_held(held)
        assert all(is_dead_soon(process.pid) for process in descendants)
        assert psutil.Process().num_fds() == files
        assert eldest.wait(timeout=20) == 0
    assert hold_descendants(eldest.pid) == []

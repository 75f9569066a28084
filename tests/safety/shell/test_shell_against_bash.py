"""What bash really runs: whatever is taken for reading starts no other program and makes no file."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from midwatch.safety.shell.classify import classify
from tests.safety.requirements import requirement

ATOMS = [
    "ls", "cat", "sort", "echo", "evil", "f", "-l", "x", "$x", "${x}", '"', "'", "\\", "`", "$(", ")", "(", "{", "}",
    ";", "&", "|", "&&", "\n", " ", " ", "<<EOF\n", "\nEOF\n", "#", "!", "[", "[[", "]", "]]", "=", "-eq", "0", ">",
    "<", "/dev/null", "2>&1", "$'", "\\x72", "${", "${x:-", "${x/", "}", "*", "$((", "))", "x=1", "if", "then", "fi",
    "for i in", "do", "done", "case", "in", "esac", "f()", "time", "<(", "<<<", "\\\n", "-o", "{a,b}", "$(evil)",
    "`evil`", "; evil", "\nevil\n", "| evil", "&evil", "test", "-v", "'a[$(evil)]'", "printf", "read", "command",
    "env", "timeout 5", "a=(", "declare", "let", "\t", "xargs", ",", "%", "/", ":", "-n",
]  # fmt: skip
PLACES = [
    "ls {} f", "cat {}", "echo {}", "ls\n{}", "cat <<EOF\n{}\nEOF\n", "cat <<-EOF\n\t{}\n\tEOF\n",
    "cat <<'EOF'\n{}\nEOF\n", "ls {} | cat", "[[ {} ]]", "[ {} ]", "for i in a {}; do ls; done",
    "case a in {}) ls;; esac", 'echo "{}"', "echo $'{}'", "echo ${{x:-{}}}", "echo ${{x/{}/b}}", "ls #{}", "ls # {}",
    "x={}; ls", "ls {} 2>/dev/null", "{}", "if true; then ls {}; fi", "while read x; do ls {}; done",
    "g() {{ ls {}; }}; g", "( ls {} )", "ls `{}`", 'ls "$(cat {})"', "echo $(({}))", 'bash -c "{}"', "bash -c '{}'",
    "sort {}", "cat <<< {}", "ls <({})", "a=({}); ls", "! ls {}", "ls & {}", "x=a; sort $x {}", "echo '{}'",
    "cat <<EOF | {}\na\nEOF\n", "[ a = {} ]", "[[ a == {} ]]", "echo {{a,{}}}", "env {} ls", "timeout 5 ls {}",
]  # fmt: skip


@dataclass(frozen=True)
class Room:
    """A folder where the only programs are ours: some do nothing, and `evil` leaves a trace."""

    programs: Path
    folder: Path
    trace: Path

    def run(self, command: str) -> list[str]:
        """The traces that bash left behind."""
        self.trace.unlink(missing_ok=True)
        try:
            subprocess.run(
                ["/bin/bash", "--norc", "--noprofile", "-c", command],
                env={"PATH": str(self.programs), "HOME": str(self.folder)},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=5,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return []
        made = [path.name for path in self.folder.iterdir() if path.name != "f"]
        return [*made, *(["evil ran"] if self.trace.exists() else [])]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Room:
    base = tmp_path_factory.mktemp("room")
    place = Room(base / "programs", base / "folder", base / "trace")
    place.programs.mkdir()
    place.folder.mkdir()
    (place.folder / "f").write_text("text\n")
    for name in ("ls", "cat", "sort"):
        write_program(place.programs / name, "exit 0")
    write_program(place.programs / "evil", f": > {place.trace}")
    (place.programs / "bash").symlink_to("/bin/bash")
    return place


def write_program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/bash\n{line}\n")
    path.chmod(0o755)


@requirement("shell:blind-spots", "shell:every-command")
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
@given(
    place=st.sampled_from(PLACES),
    atoms=st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6),
    gap=st.sampled_from(["", " "]),
)
@example(place="[ a = {} ]", atoms=["\nevil\n"], gap="")
@example(place="ls {}", atoms=["\nevil"], gap="")
@example(place="cat <<EOF\n{}\nEOF\n", atoms=["EOF\nevil"], gap="")
def test_what_is_taken_for_reading_leaves_no_trace_in_bash(room: Room, place: str, atoms: list[str], gap: str) -> None:
    command = place.format(gap.join(atoms))
    assume("evil" in command or ">" in command)
    if classify(command).reads:
        assert room.run(command) == []


def test_the_room_notices_what_it_should(room: Room) -> None:
    assert room.run("evil") == ["evil ran"]
    assert room.run("ls $(evil)") == ["evil ran"]
    assert room.run("ls") == []

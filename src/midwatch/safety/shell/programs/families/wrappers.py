"""Programs that run another command: each with its own options, then the command is judged by itself."""

import re

from midwatch.safety.shell.assignments import sets_environment_safely
from midwatch.safety.shell.programs.answers import changes, reads
from midwatch.safety.shell.programs.arguments import read_arguments
from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.judge import judge
from midwatch.safety.shell.programs.model import Judgement, Nested, Rewrite
from midwatch.safety.shell.verdict import Category
from midwatch.safety.shell.words import HOLE, Word, show

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[smhd]?")
_ENV = verb(
    flags="-i --ignore-environment -0 --null -v --debug --help --version",
    values="-u --unset",
    foreign="-S --split-string -C --chdir -P",
    style="stop",
    operands="argv",
)
_TIMEOUT = verb(
    flags="-v --verbose --foreground --preserve-status -f -p --help --version",
    values="-s --signal -k --kill-after",
    style="stop",
    operands="text argv",
)
_XARGS = verb(
    flags="-0 --null -r --no-run-if-empty -t --verbose -x --exit --help --version",
    values="-n --max-args -L -P --max-procs -s --max-chars -d --delimiter -E -I",
    optional="-i --replace -l --max-lines -e --eof",
    paths="-a --arg-file",
    writes="-p --interactive -o --open-tty --process-slot-var",
    style="stop",
    operands="argv",
)
_COMMAND = verb(flags="-p -v -V", style="stop", operands="argv")
_NICE = verb(values="-n --adjustment", flags="--help --version", digits=True, style="stop", operands="argv")
_IONICE = verb(values="-c --class -n --classdata", flags="-t --ignore -h -V", style="stop", operands="argv")
_IONICE_PID = verb(values="-p --pid", operands="number*")
_EXEC = verb(flags="-c -l", values="-a", style="stop", operands="argv")
_WATCH = verb(
    flags="-b --beep -c --color -C --no-color -e --errexit -g --chgexit -t --no-title -w --no-wrap -x"
    " --exec -p --precise -r --no-rerun -f --follow -h -v --help --version",
    values="-n --interval -q --equexit",
    optional="-d --differences",
    style="stop",
    operands="shell",
)
_NSENTER = verb(
    flags="-a --all -F --no-fork -Z --follow-context --preserve-credentials",
    values="-t --target -S --setuid -G --setgid",
    optional="-m --mount -u --uts -i --ipc -n --net -p --pid -C --cgroup -U --user -T --time -r --root -w --wd",
    style="stop",
    operands="argv",
)


def _env(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _ENV, words)
    rest = list(reading.operands)
    while rest and (match := _ASSIGNMENT.fullmatch(rest[0].text)):
        if not sets_environment_safely(match[1], match[2] if rest[0].known else None):
            return changes("assignment:changes-what-runs", f"env {match[1]}")
        rest.pop(0)
    if not rest:
        hidden = "-i" in reading.options or "--ignore-environment" in reading.options
        return reads(name, sensitive=() if hidden else ("an environment",))
    return reads(name, nested=(Nested(tuple(rest)),))


def _timeout(name: str, words: tuple[Word, ...]) -> Judgement:
    operands = read_arguments(name, _TIMEOUT, words).operands
    if len(operands) < 2:  # noqa: PLR2004 -- a duration and a command
        return reads(name)
    duration = _DURATION.fullmatch(operands[0].text) if operands[0].known else None
    timed = duration is not None and float(duration[1]) > 0
    return reads(name, nested=(Nested(tuple(operands[1:]), timed=timed),))


def _xargs(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _XARGS, words)
    command = tuple(reading.operands) or (Word("echo"),)
    marks = [
        value.text if value else "{}" for key in ("-I", "-i", "--replace") for value in reading.options.get(key, ())
    ]
    if not marks:
        return reads(name, nested=(Nested(command, more=True),))
    replaced = tuple(_replace_mark(word, marks[-1]) for word in command)
    return reads(name, nested=(Nested(replaced),))


def _replace_mark(word: Word, mark: str) -> Word:
    if not mark:
        return Word(HOLE, splits=True)
    return Word(word.text.replace(mark, HOLE), word.splits, word.glob) if mark in word.text else word


def _command(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _COMMAND, words)
    if "-v" in reading.options or "-V" in reading.options or not reading.operands:
        return reads(name)
    return reads(name, nested=(Nested(tuple(reading.operands)),))


def _exec(name: str, words: tuple[Word, ...]) -> Judgement:
    """Without a command only its redirections count."""
    operands = read_arguments(name, _EXEC, words).operands
    return reads(name, nested=(Nested(tuple(operands)),) if operands else ())


def _nice(name: str, words: tuple[Word, ...]) -> Judgement:
    operands = read_arguments(name, _NICE, words).operands
    return reads(name, nested=(Nested(tuple(operands)),) if operands else ())


def _ionice(name: str, words: tuple[Word, ...]) -> Judgement:
    if any(word.text.startswith(("-p", "--pid")) for word in words):
        return judge(name, _IONICE_PID, words)
    operands = read_arguments(name, _IONICE, words).operands
    return reads(name, nested=(Nested(tuple(operands)),) if operands else ())


def _watch(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _WATCH, words)
    if not reading.operands:
        return reads(name)
    text = "-x" not in reading.options and "--exec" not in reading.options
    nested = Nested(tuple(reading.operands), text=text, bash=False)
    return reads(name, nested=(nested,), endless=Category.STREAM, rewrite=Rewrite(inner=True))


def _nsenter(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _NSENTER, words)
    if not reading.operands:
        return changes("operands:no-command", name, endless=Category.REPL)
    process = [value.text for key in ("-t", "--target") for value in reading.options.get(key, ()) if value]
    targets = tuple(f"process:{show(text)}" for text in process) or ("namespace:other",)
    return reads(name, conditional=True, nested=(Nested(tuple(reading.operands), targets=targets, conditional=True),))


PROGRAMS = collect(
    ("env", _env),
    ("timeout", _timeout),
    ("xargs", _xargs),
    ("command", _command),
    ("exec", _exec),
    ("nice", _nice),
    ("ionice", _ionice),
    ("watch", _watch),
    ("nsenter", _nsenter),
    program("builtin", style="stop", operands="argv"),
    program("nohup", flags="--help --version", style="stop", operands="argv"),
    program(
        "stdbuf", values="-i --input -o --output -e --error", flags="--help --version", style="stop", operands="argv"
    ),
    program("setsid", flags="-c --ctty -f --fork -w --wait -h -V", style="stop", operands="argv"),
    program(
        "time",
        flags="-p --portability -v --verbose -q --quiet",
        values="-f --format",
        writes="-o --output -a --append",
        style="stop",
        operands="argv",
    ),
    program(
        "taskset",
        flags="-a --all-tasks -c --cpu-list -p --pid -h -V",
        style="stop",
        operands="text argv",
        operands_with={"-p --pid": "number"},
    ),
    program(
        "chroot",
        flags="--skip-chdir",
        values="--userspec --groups",
        style="stop",
        operands="path argv",
        conditional=True,
        names_only=True,
    ),
    program("busybox", flags="--list --list-full --help", style="stop", operands="argv", conditional=True),
    program("unbuffer", style="stop", operands="argv"),
)

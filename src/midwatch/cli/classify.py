"""`midwatch classify`: what Midwatch thinks of a shell command or a tool call, before anybody runs it."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from midwatch.cli.ending import DONE, FAILED, run_to_status
from midwatch.cli.flags import config_dir_flag

if TYPE_CHECKING:
    from midwatch.safety.shell.verdict import Verdict


@click.command(short_help="Say whether a command only looks, or a call may run.")
@click.argument("commands", nargs=-1, metavar="[COMMAND]...")
@click.option("--explain", "in_words", is_flag=True, help="Say it in words, part by part, with the syntax tree.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line. This is the default.")
@click.option(
    "--shell", type=click.Choice(["bash", "sh"]), default="bash", show_default=True, help="Which shell would run it."
)
@config_dir_flag
def classify(commands: tuple[str, ...], *, in_words: bool, as_json: bool, shell: str, config_dir: Path | None) -> None:
    """Say of each COMMAND whether it provably only looks. Nothing is run.

    A COMMAND may also be a tool call: {"server": "...", "tool": "...", "arguments": {...}}. It is judged by the
    configuration, as the gate would judge it before it looks at what was done in the session: kind, risk, targets and
    decision, each with the rule that made it. No server is opened, so what a server says of its tool is not known.

    Without COMMAND, JSON lines are read from standard input: {"command": "..."}, or calls. One verdict a line comes
    out, in the same order. What is not shown to read counts as a write.

    \b
    midwatch classify 'journalctl -u nginx -n 50'
    midwatch classify --explain 'find / -name core -delete'
    midwatch classify '{"server": "k8s", "tool": "scale", "arguments": {"name": "web"}}'

    Exit status: 0, whatever the verdicts; 1 when a line of input was no command; 2 when a call's configuration is
    wrong.
    """  # noqa: D301 -- click's mark for lines that stay as they are
    if in_words and as_json:
        raise click.UsageError("choose one of --explain and --json")
    render = _in_words if in_words else _as_json
    calls = _Calls(config_dir, in_words=in_words)
    sys.exit(run_to_status(lambda: _answer(commands, render=render, shell=shell, judge_call=calls.judge)))


_Call = dict[str, Any]


def _answer(
    commands: tuple[str, ...],
    *,
    render: Callable[["Verdict"], bytes],
    shell: str,
    judge_call: Callable[[_Call], bytes],
) -> int:
    from midwatch.safety.shell.classify import classify as judge

    def answer(asked: "str | _Call") -> bytes:
        return render(judge(asked, shell=shell)) if isinstance(asked, str) else judge_call(asked)

    given: Iterable[str | _Call] = (_read_call(command) or command for command in commands)
    return _write_all(given if commands else map(_read_line, sys.stdin.buffer), answer=answer)


def _write_all(asked: Iterable["str | _Call | None"], *, answer: Callable[["str | _Call"], bytes]) -> int:
    status = DONE
    write = sys.stdout.buffer.write
    for number, each in enumerate(asked, start=1):
        if each is None:
            click.echo(f'error: line {number} is not {{"command": "..."}}', err=True)
            status = FAILED
        write(_NO_COMMAND if each is None else answer(each))
        write(b"\n")
    sys.stdout.buffer.flush()
    return status


_NO_COMMAND = (
    b'{"command":null,"kind":"write","intent":"write_or_unknown","risk":"medium","bounded":true,"sensitive":false,'
    b'"egress":[],"rule":"input:no-command","rewrite":null}'
)


def _read_line(line: bytes) -> "str | _Call | None":
    found = _read_object(line)
    if found is None or _is_call(found):
        return found
    command = found.get("command")
    return command if isinstance(command, str) else None


def _read_call(text: str) -> "_Call | None":
    """A shell command may begin with a brace, too; it is no JSON then."""
    found = _read_object(text.encode(errors="replace")) if text.lstrip().startswith("{") else None
    return found if found is not None and _is_call(found) else None


def _is_call(found: "_Call") -> bool:
    return isinstance(found.get("tool"), str)


def _read_object(line: bytes) -> "_Call | None":
    from midwatch.kit.json import decode

    try:
        found = decode(line)
    except ValueError:
        return None
    return cast("_Call", found) if isinstance(found, dict) else None


class _Calls:
    """Reads the configuration once, and only if there is a call to judge."""

    def __init__(self, folder: Path | None, *, in_words: bool) -> None:
        self.folder = folder
        self.in_words = in_words
        self.judge_call: Callable[[_Call], _Call] | None = None

    def judge(self, call: "_Call") -> bytes:
        from midwatch.cli.imagined_calls import CallJudge
        from midwatch.cli.terminal import clean
        from midwatch.kit.json import encode

        self.judge_call = self.judge_call or CallJudge(self.folder).judge
        judged = self.judge_call(call)
        if not self.in_words:
            return encode(judged)
        return "\n".join(f"{name}: {clean(str(fact))}" for name, fact in judged.items() if fact is not None).encode()


def _as_json(verdict: "Verdict") -> bytes:
    from midwatch.kit.json import encode

    return encode(
        {
            "command": verdict.command,
            "kind": verdict.kind,
            "intent": verdict.intent,
            "risk": verdict.risk,
            "bounded": verdict.bounded,
            "sensitive": verdict.sensitive,
            "egress": verdict.egress,
            "rule": verdict.rule,
            "rewrite": verdict.rewrite,
        }
    )


def _in_words(verdict: "Verdict") -> bytes:
    from midwatch.cli.terminal import clean
    from midwatch.safety.shell.explain import explain

    return (clean(explain(verdict)) + "\n").encode()

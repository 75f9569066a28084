"""`midwatch classify`: what Midwatch thinks of a shell command, before anybody runs it."""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from midwatch.cli.ending import DONE, FAILED, run_to_status

if TYPE_CHECKING:
    from midwatch.safety.shell.verdict import Verdict


@click.command(short_help="Say whether a shell command only looks.")
@click.argument("commands", nargs=-1, metavar="[COMMAND]...")
@click.option("--explain", "in_words", is_flag=True, help="Say it in words, part by part, with the syntax tree.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line. This is the default.")
@click.option(
    "--shell", type=click.Choice(["bash", "sh"]), default="bash", show_default=True, help="Which shell would run it."
)
def classify(commands: tuple[str, ...], *, in_words: bool, as_json: bool, shell: str) -> None:
    """Say of each COMMAND whether it provably only looks. Nothing is run.

    Without COMMAND, JSON lines are read from standard input: {"command": "..."}. One verdict a line comes out, in the
    same order. What is not shown to read counts as a write.

    \b
    midwatch classify 'journalctl -u nginx -n 50'
    midwatch classify --explain 'find / -name core -delete'

    Exit status: 0, whatever the verdicts; 1 when a line of input was no command.
    """  # noqa: D301 -- click's mark for lines that stay as they are
    if in_words and as_json:
        raise click.UsageError("choose one of --explain and --json")
    sys.exit(run_to_status(lambda: _answer(commands, in_words=in_words, shell=shell)))


def _answer(commands: tuple[str, ...], *, in_words: bool, shell: str) -> int:
    from midwatch.safety.shell.classify import classify as judge

    render = _in_words if in_words else _as_json
    lines: Iterable[str | None] = commands or map(_read_command, sys.stdin.buffer)
    return _write_all(lines, judge=lambda command: render(judge(command, shell=shell)))


def _write_all(commands: Iterable[str | None], *, judge: Callable[[str], bytes]) -> int:
    status = DONE
    write = sys.stdout.buffer.write
    for number, command in enumerate(commands, start=1):
        if command is None:
            click.echo(f'error: line {number} is not {{"command": "..."}}', err=True)
            status = FAILED
        write(_NO_COMMAND if command is None else judge(command))
        write(b"\n")
    sys.stdout.buffer.flush()
    return status


_NO_COMMAND = (
    b'{"command":null,"kind":"write","intent":"write_or_unknown","risk":"medium","bounded":true,"sensitive":false,'
    b'"egress":[],"rule":"input:no-command","rewrite":null}'
)


def _read_command(line: bytes) -> str | None:
    from midwatch.kit.json import decode

    try:
        found = decode(line)
    except ValueError:
        return None
    command = found.get("command") if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- JSON
    return command if isinstance(command, str) else None


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

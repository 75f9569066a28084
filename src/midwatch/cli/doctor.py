"""`midwatch doctor`: tries out what was configured, and says what to do next."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from midwatch.cli.ending import run_to_status
from midwatch.cli.flags import config_dir_flag, json_flag

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from midwatch.cli.checkup import Checkup, Orders
    from midwatch.tools.workbench import ServerReport

_MARKS = {"ok": "✓", "warning": "!", "failed": "✗"}
_PLAIN_MARKS = {"ok": "ok", "warning": "!", "failed": "x"}
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


@click.command(short_help="Try out what you configured, and say what to do next.")
@config_dir_flag
@click.option("--probe", is_flag=True, help="Ask each model in use for one word, which costs about a token.")
@click.option(
    "--timeout",
    "patience",
    type=click.FloatRange(0.1, 600),
    default=30,
    metavar="SECONDS",
    help="Wait so long for each server and each model. Default: 30.",
)
@json_flag
def doctor(*, config_dir: Path | None, probe: bool, patience: float, as_json: bool) -> None:
    """Try out what the configuration names: the database, the models, the tool servers with their tools.

    Tool servers are started as an investigation would start them, asked for their tools, and stopped. No tool is
    called, nothing is changed, and models are only asked with --probe. What is built in and not used is left alone.

    Exit status: 0 all is well, 1 something does not work, 2 misconfigured.
    """
    from midwatch.cli.checkup import Orders

    orders = Orders(config_dir=config_dir, environ=os.environ, probe=probe, patience=patience)
    sys.exit(run_to_status(lambda: _run(orders, as_json=as_json)))


def _run(orders: "Orders", *, as_json: bool) -> int:
    from midwatch.cli.checkup import run_checkup
    from midwatch.cli.terminal import make_console
    from midwatch.telemetry.logs import configure_logs

    # What goes wrong is in the findings; a log between them would say it twice.
    configure_logs("critical", "text")
    checkup = asyncio.run(run_checkup(orders))
    if as_json:
        click.echo(_render_json(checkup))
    else:
        _print(checkup, make_console())
    return checkup.status


def _print(checkup: "Checkup", console: "Console") -> None:
    from rich.padding import Padding

    from midwatch.cli.terminal import clean

    console.print(_tabulate_findings(checkup, unicode=console.encoding.startswith("utf")))
    for name, report in checkup.servers.items():
        if report.tools:
            console.print(f"\n{clean(name)}", style="bold")
            console.print(Padding(_tabulate_tools(report), (0, 0, 0, 2)))
    for name, block in checkup.blocks.items():
        console.print(f"\nNobody vouches for some tools of {clean(name)}. If what their server says is true:\n")
        console.print(clean(block), soft_wrap=True)
    console.print("\nNext:", style="bold", end="  ")
    console.print(clean(checkup.next), soft_wrap=True)


def _tabulate_findings(checkup: "Checkup", *, unicode: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from midwatch.cli.terminal import clean

    marks = _MARKS if unicode else _PLAIN_MARKS
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in checkup.findings:
        mark = Text(marks[finding.grade], style=_STYLES[finding.grade])
        table.add_row(mark, Text(clean(finding.subject)), Text(clean(finding.text), overflow="fold"))
    return table


def _tabulate_tools(report: "ServerReport") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from midwatch.cli.terminal import clean

    table = Table("tool", "kind", "decided by", box=None, pad_edge=False)
    for tool in report.tools:
        verdict = tool.verdict
        table.add_row(*(Text(clean(word)) for word in (tool.definition.name, verdict.kind, verdict.rule)))
    return table


def _render_json(checkup: "Checkup") -> str:
    from midwatch.kit.json import encode_text

    findings = [{"subject": f.subject, "grade": f.grade, "text": f.text} for f in checkup.findings]
    return encode_text(
        {
            "ok": checkup.status == 0,
            "findings": findings,
            "servers": {name: list(_describe_tools(report)) for name, report in checkup.servers.items()},
            "kinds": dict(checkup.blocks),
            "next": checkup.next,
        }
    )


def _describe_tools(report: "ServerReport") -> Iterator[dict[str, Any]]:
    for tool in report.tools:
        yield {
            "name": tool.definition.name,
            "kind": tool.verdict.kind,
            "rule": tool.verdict.rule,
            "proven": tool.verdict.proven,
            "server_says_read_only": tool.definition.read_only_hint,
        }

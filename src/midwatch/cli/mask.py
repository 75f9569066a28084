"""`midwatch mask`: what would be hidden in a text, and by which rule, before anybody sends it anywhere."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from midwatch.cli.ending import run_to_status
from midwatch.cli.flags import config_dir_flag, json_flag

if TYPE_CHECKING:
    from midwatch.config.load import Config
    from midwatch.masking.mask import NoMask, RuleMask
    from midwatch.masking.report import MaskReport


@click.command(short_help="Show what would be masked in a text.")
@click.argument("file", type=click.File("rb"))
@config_dir_flag
@click.option("--server", metavar="NAME", help="Take the rules for this tool server's results. Default: for alerts.")
@click.option("--text", "as_text", is_flag=True, help="Print the masked text instead of the findings.")
@json_flag
def mask(file: BinaryIO, *, config_dir: Path | None, server: str | None, as_text: bool, as_json: bool) -> None:
    """Show what Midwatch would hide in FILE (or `-`, standard input): the line, the rule, what stands there instead.

    The secrets themselves are never shown. Without a configuration the built-in rules for alerts apply.

    \b
    kubectl describe pod web | midwatch mask -
    midwatch mask --text alert.txt > alert-to-share.txt

    Exit status: 0, whatever was found; 2 misconfigured.
    """  # noqa: D301 -- click's mark for lines that stay as they are
    if as_text and as_json:
        raise click.UsageError("choose one of --text and --json")
    text = file.read().decode("utf-8", "replace")
    sys.exit(run_to_status(lambda: _show(text, config_dir=config_dir, server=server, as_text=as_text, as_json=as_json)))


def _show(text: str, *, config_dir: Path | None, server: str | None, as_text: bool, as_json: bool) -> None:
    rules = _choose_rules(config_dir, server=server)
    report = _report(rules, text)
    if as_text:
        _print_text(report.text)
    elif as_json:
        click.echo(_render_json(report))
    else:
        _print_table(report)


def _choose_rules(config_dir: Path | None, *, server: str | None) -> "RuleMask | NoMask":
    from midwatch.masking.mask import compile_mask

    folder = config_dir or (Path(given).expanduser() if (given := os.environ.get("CONFIG_DIR")) else None)
    if folder is None and server is None:
        return compile_mask()
    from midwatch.config.load import load_config

    config = load_config(folder, environ=os.environ)
    return _rules_for_alerts(config) if server is None else _rules_of_server(config, server)


def _rules_for_alerts(config: "Config") -> "RuleMask | NoMask":
    from midwatch.masking.mask import NoMask, compile_mask

    masking = config.defaults.alert_masking
    return compile_mask(groups=[masking.pattern_group]) if masking.enabled else NoMask()


def _rules_of_server(config: "Config", name: str) -> "RuleMask | NoMask":
    from midwatch.config.sentences import suggest
    from midwatch.domain.errors import Misconfigured
    from midwatch.tools.workbench import build_mask

    if name not in config.mcp_servers:
        known = ", ".join(config.mcp_servers)
        raise Misconfigured([f'there is no tool server "{name}"{suggest(name, config.mcp_servers)} (known: {known})'])
    return build_mask(config.mcp_servers[name].data_masking)


def _report(rules: "RuleMask | NoMask", text: str) -> "MaskReport":
    from midwatch.masking.mask import NoMask
    from midwatch.masking.report import MaskReport, report_masking

    if isinstance(rules, NoMask):
        click.echo("warning: the configuration switches masking off here", err=True)
        return MaskReport(text=text, findings=())
    return report_masking(rules, text)


def _print_text(text: str) -> None:
    """As it is into a file or a pipe; a terminal is spared what could steer it."""
    from midwatch.cli.terminal import clean

    # Click takes colours out of text for a pipe, and leaves bytes alone.
    click.echo(clean(text) if sys.stdout.isatty() else text.encode(), nl=False)


def _render_json(report: "MaskReport") -> str:
    from midwatch.kit.json import encode_text

    return encode_text({"findings": report.findings, "count": _count(report)})


def _print_table(report: "MaskReport") -> None:
    from rich.table import Table

    from midwatch.cli.terminal import clean, make_console

    console = make_console()
    if not report.findings:
        console.print("Nothing would be masked.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("line", "rule", "shown as", "count"):
        table.add_column(heading, justify="right" if heading in {"line", "count"} else "left")
    for found in report.findings:
        table.add_row(str(found.line), clean(found.rule), clean(found.placeholder), str(found.count))
    console.print(table)
    console.print(f"{_count(report)} would be masked.")


def _count(report: "MaskReport") -> int:
    return sum(found.count for found in report.findings)

"""Flags that several commands share. Light: a command's help must not load what the command needs."""

from pathlib import Path

import click

config_dir_flag = click.option(
    "--config-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with llm-providers.yaml and midwatch.yaml (or tarsy.yaml). Default: the variable CONFIG_DIR.",
)
json_flag = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
server_flag = click.option(
    "--server",
    metavar="URL",
    envvar="MIDWATCH_URL",
    help="Ask the Midwatch that serves there. Default: the variable MIDWATCH_URL, else the database itself.",
)
token_file_flag = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Holds the approver's secret, for --server. Default: approver.token in MIDWATCH_HOME.",
)

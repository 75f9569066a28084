"""Flags that several commands share. Light: a command's help must not load what the command needs."""

from pathlib import Path

import click

config_dir_flag = click.option(
    "--config-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with llm-providers.yaml and midwatch.yaml (or tarsy.yaml). Default: the variable CONFIG_DIR.",
)
json_flag = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")

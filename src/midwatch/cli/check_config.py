"""`midwatch check-config`: what `serve` would say about a configuration, without starting anything."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from midwatch.config.load import Config, Examination

_WORDS = {"mcp_servers": "MCP servers", "llm_providers": "LLM providers"}


@click.command(short_help="Say what is wrong with a configuration.")
@click.option(
    "--config-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with llm-providers.yaml and midwatch.yaml (or tarsy.yaml). Default: the variable CONFIG_DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def check_config(*, config_dir: Path | None, as_json: bool) -> None:
    """Read a configuration as `midwatch serve` would, and print every problem and every warning, one per line.

    Nothing is started, connected or written. Variables are checked too: run it where the service will run.

    Exit status: 0 usable, 2 misconfigured.
    """
    from midwatch.config.load import examine_config

    folder = config_dir or (Path(given).expanduser() if (given := os.environ.get("CONFIG_DIR")) else None)
    examination = examine_config(folder, environ=os.environ)
    click.echo(_render_json(examination) if as_json else _render_lines(examination))
    sys.exit(0 if examination.config is not None else 2)


def _render_lines(examination: "Examination") -> str:
    lines = [f"warning: {warning}" for warning in examination.warnings]
    lines += [f"error: {problem}" for problem in examination.problems]
    if examination.config is not None:
        counts = ", ".join(f"{number} {_WORDS.get(key, key)}" for key, number in _count(examination.config).items())
        lines.append(f"ok: {counts}, with the built-in ones")
    return "\n".join(lines)


def _render_json(examination: "Examination") -> str:
    from midwatch.kit.json import encode_text

    config = examination.config
    return encode_text(
        {
            "ok": config is not None,
            "problems": examination.problems,
            "warnings": examination.warnings,
            "counts": None if config is None else _count(config),
        }
    )


def _count(config: "Config") -> dict[str, int]:
    return {
        "agents": len(config.agents),
        "chains": len(config.chains),
        "mcp_servers": len(config.mcp_servers),
        "llm_providers": len(config.providers),
        "skills": len(config.skills),
    }

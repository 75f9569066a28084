"""Starts the server on its standard input and output: `python -m midwatch.bundled.host`."""

import argparse
from pathlib import Path

from midwatch.bundled.host.server import build_server


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m midwatch.bundled.host",
        description="An MCP server over stdio that tells about this machine and changes nothing.",
    )
    parser.add_argument(
        "--log-root",
        action="append",
        default=[],
        type=_absolute,
        metavar="DIR",
        help="a folder whose log files may be read; may be repeated (default: /var/log)",
    )
    parser.add_argument(
        "--run-root",
        action="append",
        default=[],
        type=_absolute,
        metavar="DIR",
        help="a folder with pid files to read instead of asking systemd; may be repeated "
        "(default: systemd, or /run and /var/run where there is none)",
    )
    options = parser.parse_args()
    build_server(log_roots=options.log_root, run_roots=options.run_root).run("stdio")


def _absolute(folder: str) -> str:
    return str(Path(folder).absolute())


if __name__ == "__main__":
    main()

"""The `midwatch` program. The plainest questions are answered at once; everything else goes to the command it names."""

import os
import sys

from midwatch.cli.catalogue import COMPLETION_VARIABLE, PROGRAM, render_help, render_version


def main() -> None:
    # Click takes longer to load than Python itself: nobody who only wants the help should wait for it.
    answer = None if COMPLETION_VARIABLE in os.environ else _answer_at_once(sys.argv[1:])
    if answer is not None:
        sys.stdout.write(answer)
        return
    from midwatch.cli.group import group

    group(prog_name=PROGRAM)


def _answer_at_once(arguments: list[str]) -> str | None:
    match arguments:
        case [] | ["-h"] | ["--help"]:
            return render_help()
        case ["--version"]:
            return render_version()
        case _:
            return None

"""The tools of the chaos runs: every effect leaves a line that says for which replica it was.

A slow tool is at work for as long as a file with its key's name stands in the folder of holds.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fakes.mcp_server import TEXT, Arguments, FakeServer, build_parser

_LONGEST_HOLD = 25.0
_LONG = 12_000


class Deck(FakeServer):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        key = {"key": TEXT}
        self.tools = {
            "look": (self.look, key, True),
            "slow_look": (self.slow_look, key, True),
            "dump": (self.dump, key, True),
            "turn": (self.turn, key, False),
            "slow_turn": (self.slow_turn, key, False),
        }

    def look(self, arguments: Arguments) -> str:
        self.write_line("look", arguments)
        return f"{arguments['key']}: all is well"

    def slow_look(self, arguments: Arguments) -> str:
        self.write_line("slow_look", arguments)
        self.wait(arguments)
        return f"{arguments['key']}: all is well, seen from close by"

    def dump(self, arguments: Arguments) -> str:
        self.write_line("dump", arguments)
        line = f"{arguments['key']}: all is well on deck and the log has nothing to tell\n"
        return line * (_LONG // len(line))

    def turn(self, arguments: Arguments) -> str:
        self.write_line("turn", arguments)
        return f"{arguments['key']} turned"

    def slow_turn(self, arguments: Arguments) -> str:
        self.write_line("slow_turn", arguments)
        self.wait(arguments)
        self.write_line("slow_turn", arguments, state="end")
        return f"{arguments['key']} turned at last"

    def wait(self, arguments: Arguments) -> None:
        hold = Path(self.options.holds) / arguments["key"]
        deadline = time.monotonic() + _LONGEST_HOLD
        time.sleep(0.05)
        while hold.exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    def write_line(self, tool: str, arguments: Arguments, **facts: str) -> None:
        entry = {
            "time": time.time(),
            "tool": tool,
            "arguments": arguments,
            "pid": os.getpid(),
            "replica": self.find_replica(),
            **facts,
        }
        log = os.open(self.options.effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(log, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(log)

    def find_replica(self) -> str:
        return self.options.replica


def build_deck_parser() -> argparse.ArgumentParser:
    parser = build_parser()
    parser.add_argument("--holds", required=True, help="folder with a file for each call that is to be held")
    parser.add_argument("--replica", default="", help="whose child this is")
    return parser


if __name__ == "__main__":
    Deck(build_deck_parser().parse_args()).serve()

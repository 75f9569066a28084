"""The tools of the chaos runs behind streamable HTTP. The first part of a path is the replica that calls."""

import argparse
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.chaos.tool_server import Deck, build_deck_parser
from tests.fakes.mcp_http_server import Handler, HttpFake, Server


class HttpDeck(Deck, HttpFake):
    def find_replica(self) -> str:
        return self.local.replica


class DeckHandler(Handler):
    def do_POST(self) -> None:  # noqa: N802 - its parent's name
        self.fake.local.replica = self.path.split("/")[1]
        super().do_POST()


def serve(options: argparse.Namespace) -> None:
    listener = socket.create_server((options.host, 0), backlog=64)
    server = Server(listener.getsockname(), DeckHandler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    DeckHandler.fake = HttpDeck(options)
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - whoever started this waits for the port
    server.serve_forever(poll_interval=0.05)


def main() -> None:
    parser = build_deck_parser()
    parser.add_argument("--host", required=True, help="address to listen on")
    options = parser.parse_args()
    for name in ("redirect", "status", "events", "cut", "garble", "requests"):
        setattr(options, name, None)
    options.transport = "http"
    serve(options)


if __name__ == "__main__":
    main()

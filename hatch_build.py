"""Build hook: makes the Python stubs of `llm.proto`, for wheels and for editable installations alike."""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from grpc_tools import protoc
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOM = "src/midwatch/llm/grpc"
_SOURCE = "llm/v1/llm.proto"
_CHARTER = '"""The messages of `llm.proto`, generated when the package was built."""\n'


class StubsHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 -- hatchling's signature
        room = Path(self.root, _ROOM)
        for name in write_stubs(room / "proto", room):
            # They are not in git, and hatchling leaves out what git ignores.
            build_data["artifacts"].append(f"/{_ROOM}/{name}")


def write_stubs(protos: Path, target: Path) -> list[str]:
    """The names of the files. A file that would stay the same is not touched."""
    with tempfile.TemporaryDirectory() as scratch:
        status = protoc.main(
            ["protoc", f"--proto_path={protos}", f"--python_out={scratch}", f"--pyi_out={scratch}", _SOURCE]
        )
        if status:
            sys.exit(f"protoc failed on {_SOURCE}")
        made = {path.name: _finish(path) for path in Path(scratch, _SOURCE).parent.iterdir()}
    for name, text in made.items():
        path = target / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return list(made)


def _finish(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pyi":
        # What a type checker would call partly unknown.
        text = re.sub(r"_Mapping(?=\])", "_Mapping[str, object]", text)
    return _CHARTER + text

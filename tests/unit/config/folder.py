"""A configuration folder for a test: sound as it comes, until the test writes something else into it."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from midwatch.config.load import Config, load_config
from midwatch.config.mcp import StdioTransport
from midwatch.domain.errors import Misconfigured

MAIN = """\
mcp_servers:
  logs:
    transport: {type: stdio, command: serve-logs}
agents:
  Reader:
    mcp_servers: [logs]
agent_chains:
  web:
    alert_types: [web-down]
    stages:
      - name: look
        agents:
          - name: Reader
defaults:
  llm_provider: local
"""

PROVIDERS = """\
llm_providers:
  local:
    type: openai
    model: small
    base_url: http://localhost:1/v1
"""


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(dedent(text), encoding="utf-8")

    def add(self, text: str, *, name: str = "midwatch.yaml") -> int:
        """Appends to a file; returns the number of the first line added."""
        path = self.path / name
        before = path.read_text(encoding="utf-8")
        path.write_text(before + text, encoding="utf-8")
        return before.count("\n") + 1

    def change(self, old: str, new: str, *, name: str = "midwatch.yaml") -> int:
        """Replaces text that occurs once; returns the line it began on."""
        path = self.path / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} must occur once"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return text[: text.index(old)].count("\n") + 1

    def become_tarsy(self) -> None:
        (self.path / "midwatch.yaml").rename(self.path / "tarsy.yaml")

    def load(self, **environ: str) -> Config:
        return load_config(self.path, environ=environ)

    def problems(self, **environ: str) -> tuple[str, ...]:
        with pytest.raises(Misconfigured) as caught:
            self.load(**environ)
        return caught.value.problems


def stdio(config: Config, server: str = "logs") -> StdioTransport:
    transport = config.mcp_servers[server].transport
    assert isinstance(transport, StdioTransport)
    return transport

"""What ships for Prometheus and Grafana, as far as tests ask for it."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from midwatch.kit import json

_DEPLOY = Path(__file__).parents[1] / "deploy"
RULES = _DEPLOY / "prometheus" / "rules.yaml"
DASHBOARD = _DEPLOY / "grafana" / "midwatch.json"

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="needs promtool: apt-get install prometheus"
)


def promtool(*arguments: str | Path, stdin: str = "") -> None:
    """Fails with whatever Prometheus finds fault with."""
    done = subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def list_panels() -> list[dict[str, Any]]:
    return json.decode(DASHBOARD.read_bytes())["panels"]


def list_expressions(*files: Path) -> list[str]:
    """Of both files, unless one is named."""
    wanted = files or (RULES, DASHBOARD)
    found: list[str] = []
    if RULES in wanted:
        groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
        found += [rule["expr"] for group in groups for rule in group["rules"]]
    if DASHBOARD in wanted:
        found += [target["expr"] for panel in list_panels() for target in panel.get("targets", ())]
    return found


def list_named() -> frozenset[str]:
    """The names of all samples that anything asks for."""
    return frozenset(name for query in list_expressions() for name in re.findall(r"\bmidwatch_\w+", query))

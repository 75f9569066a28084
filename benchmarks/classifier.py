"""What judging a shell command costs against only parsing it, and how many a second `midwatch classify` judges."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.report import Check
from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.parse import parse

Given = TypeVar("Given", str, bytes)
_MOST_TIMES_PARSE = 8.0
_LEAST_PER_SECOND = 2_000
_PIPED = 20_000
_COMMANDS = (
    "ls -la /var/log",
    "ps aux --sort=-%mem | head -n 10",
    "kubectl get pods -n prod -o wide",
    "find / -name '*.log' -mtime -1 2>/dev/null",
    "journalctl -u nginx --since '1 hour ago' | tail -50",
    "df -h; free -m; uptime",
    "cat /proc/meminfo | awk '/MemFree/ {print $2}'",
    "systemctl status nginx",
    "docker ps -a --format '{{.Names}}'",
    "for i in 1 2 3; do echo $i; done",
    "rm -rf /tmp/x",
    "echo $(date) > /tmp/x",
    "sed -n '1,5p' f",
    "grep -rn error /var/log/syslog | sort | uniq -c",
    "curl -s -o /dev/null -w '%{http_code}' https://example.com",
    "git log --oneline -10",
    "ss -tulpn | grep :80",
    "kubectl logs deploy/web --since=1h --tail=100",
    "du -sh /var/* 2>/dev/null | sort -rh | head -10",
    "awk -F: '$3 >= 1000 {print $1}' /etc/passwd",
    "ssh host 'df -h; free -m'",
    "timeout 10 tail -f /var/log/syslog",
    "if systemctl is-active nginx >/dev/null; then echo up; else echo down; fi",
    "docker exec web cat /etc/resolv.conf",
    "dig @8.8.8.8 example.com MX",
    "jq -r '.items[].metadata.name' f.json",
    "tar -tvf a.tar.gz",
    "lsof -nP -iTCP -sTCP:LISTEN",
    "openssl x509 -enddate -noout -in cert.pem",
    "find . -type f -exec grep -l x {} +",
    'while read -r line; do echo "$line"; done < file.txt',
    "LC_ALL=C sort f | uniq -c",
    "bash -c 'ls; cat f'",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierFigures:
    ratio: float
    """The median over commands of judging against parsing."""
    per_second: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(what="classifier: a command, against only parsing it", measured=self.ratio, target=_MOST_TIMES_PARSE),
            Check(
                what="classifier: commands a second through `midwatch classify`",
                measured=self.per_second,
                target=_LEAST_PER_SECOND,
                at_least=True,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [f"classifier: {self.per_second:.0f} commands a second through a pipe, start included"]


def measure_classifier(*, rounds: int) -> ClassifierFigures:
    judged = _time_each(classify, _COMMANDS, rounds=rounds)
    parsed = _time_each(parse, [command.encode() for command in _COMMANDS], rounds=rounds)
    ratios = [ours / floor for ours, floor in zip(judged, parsed, strict=True)]
    return ClassifierFigures(ratio=median(ratios), per_second=_PIPED / _time_pipe())


def _time_each(work: Callable[[Given], object], given: Sequence[Given], *, rounds: int) -> list[float]:
    """Medians, one for each, over rounds through all of them; the first round is for warmth."""
    times = [[_time(work, each) for each in given] for _ in range(rounds * 40 + 1)]
    return [median(column) for column in zip(*times[1:], strict=True)]


def _time(work: Callable[[Given], object], argument: Given) -> float:
    start = time.perf_counter()
    work(argument)
    return time.perf_counter() - start


def _time_pipe() -> float:
    lines = "".join(json.dumps({"command": _COMMANDS[n % len(_COMMANDS)]}) + "\n" for n in range(_PIPED))
    program = str(Path(sys.executable).with_name("midwatch"))
    start = time.perf_counter()
    subprocess.run([program, "classify"], input=lines, text=True, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 -- our own program
    return time.perf_counter() - start

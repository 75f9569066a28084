"""From the words of an alert to what it complains about. Every rule that speaks adds its weight; the heaviest win."""

import re
from collections.abc import Mapping
from enum import StrEnum

_ENOUGH = 2
"""Weight below which a symptom is not believed."""
_MOST = 2
"""Symptoms that are followed at once."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"""[\s_"'`*()\[\]{},=-]+""")


class Symptom(StrEnum):
    PORT = "a port that is taken"
    DISK = "disk space"
    MEMORY = "memory"
    CONTAINER = "a container"
    SERVICE = "a service that is down"
    CPU = "processor load"
    LOG = "errors in a log"
    KERNEL = "messages of the kernel"
    UNKNOWN = "nothing that my rules know"


_DISKS = r"(?:disks?|file ?systems?|volumes?|partitions?|mount ?points?|storage|inodes?|rootfs)"
_SCARCE = (
    r"(?:full|space|usage|used|fills?|filling|filled|capacity|low|almost|out of|exceed\w*|free|left|above|over|pressure"
    r"|exhaust\w*|running out|utili[sz]ation|threshold)"
)
_MEMORY = r"(?:memory|ram|mem|heap)"
_THING = r"(?:service|daemon|unit|systemd|server|process|app|application|site|website|target|endpoint|probe|instance)"
_DOWN = (
    r"(?:down|dead|failed|stopped|not running|inactive|crash\w*|unavailable|exited|died|unreachable|not responding"
    r"|restarting|not active)"
)
_BOX = r"(?:containers?|docker|podman|pod)"

_RULES: Mapping[Symptom, tuple[tuple[str, int], ...]] = {
    Symptom.PORT: (
        (r"address already in use|eaddrinuse|only one usage of each socket", 8),
        (r"\bport\b.{0,40}\b(?:in use|conflict|taken|occupied|already|busy)", 6),
        (r"\b(?:conflict|already)\b.{0,30}\bport\b", 4),
        (r"\bbind\b.{0,40}\b(?:fail\w*|error|cannot|could not|denied)\b", 3),
        (r"\b(?:fail\w*|error|cannot|could not|unable)\b.{0,25}\bbind\b", 3),
    ),
    Symptom.DISK: (
        (r"no space left|\benospc\b|disk quota exceeded", 6),
        (rf"\b{_DISKS}\b.{{0,60}}\b{_SCARCE}\b", 3),
        (rf"\b{_SCARCE}\b.{{0,30}}\b{_DISKS}\b", 3),
        (r"\binodes?\b", 2),
        (r"\bread ?only file ?system\b|\bremount\w* read ?only\b", 4),
        (r"\bdisk\b", 1),
    ),
    Symptom.MEMORY: (
        (r"\boom\b|\boom ?kill\w*|out of memory|cannot allocate memory", 5),
        (rf"\b{_MEMORY}\b.{{0,60}}\b(?:{_SCARCE}|high|leak\w*|available|critical|limit|consum\w*)\b", 3),
        (rf"\b(?:low|high|available|free|out of|leak\w*|insufficient)\b.{{0,30}}\b{_MEMORY}\b", 3),
        (r"\bswap(?:ping)?\b", 3),
        (r"\bmemory\b", 1),
    ),
    Symptom.CONTAINER: (
        (rf"\b{_BOX}\b.{{0,60}}\b(?:{_DOWN}|unhealthy|restart\w*|killed|loop\w*)\b", 4),
        (rf"\b(?:unhealthy|restart\w*|crash\w*|exited|dead)\b.{{0,30}}\b{_BOX}\b", 3),
        (r"\bcrash ?loop\w*", 3),
        (rf"\b{_BOX}\b", 1),
    ),
    Symptom.SERVICE: (
        (rf"\b{_THING}\b.{{0,60}}\b{_DOWN}\b", 3),
        (rf"\b(?:failed|failure of|stopped|crashed|dead|down)\b.{{0,30}}\b{_THING}\b", 2),
        (r"\bis down\b|\bwent down\b|\b(?:instance|service|target|host|site) ?down\b|\bup ?= ?0\b|\bup 0\b", 3),
        (r"failed to start|main process exited|start request repeated|start limit hit|not running|entered failed", 3),
        (r"connection refused|bad gateway|service unavailable|gateway time ?out|\b50[234]\b", 2),
        (r"\bhealth ?check\b|\bheartbeat\b.{0,20}\b(?:miss\w*|lost)", 2),
        (r"\.service\b|\bservice\b", 1),
    ),
    Symptom.CPU: (
        (r"\bcpu\b.{0,60}\b(?:high|usage|used|load|above|over|throttl\w*|saturat\w*|busy|utili[sz]ation|100)\b", 3),
        (r"\b(?:high|busy|excessive|sustained)\b.{0,20}\b(?:cpu|processor|load)\b", 3),
        (r"\bload ?(?:avg|averages?|high|\d{1,2})\b|\b(?:system|node|host|high) load\b|\boverload\w*", 3),
        (r"\biowait\b|\bio wait\b|\brun ?queue\b", 3),
        (r"\bcpu\b", 1),
        (r"\b(?:slow|sluggish|unresponsive|latency|hangs?|hanging)\b", 2),
    ),
    Symptom.LOG: (
        (r"\b(?:errors?|exceptions?|stack ?traces?)\b.{0,40}\b(?:logs?|rate|spike|journal|logged|per minute)\b", 3),
        (r"\b(?:log|logs|logged|journal)\b.{0,40}\b(?:errors?|exceptions?|warnings?|pattern|match\w*|fatal)\b", 3),
        (r"\btraceback\b|\bexception\b|\bstack ?trace\b|\bpanic\b|\bsegfault\b|\bfatal\b", 2),
        (r"\.log\b", 1),
    ),
}
_COMPILED = {
    symptom: tuple((re.compile(pattern), weight) for pattern, weight in rules) for symptom, rules in _RULES.items()
}


def find_symptoms(text: str) -> tuple[Symptom, ...]:
    """The most likely first; never empty."""
    words = _spell_out(text)
    weights = {symptom: _weigh(symptom, words) for symptom in _COMPILED}
    best = max(weights.values())
    believed = [symptom for symptom, weight in weights.items() if weight >= max(_ENOUGH, best / 2)]
    return tuple(sorted(believed, key=lambda symptom: -weights[symptom])[:_MOST]) or (Symptom.UNKNOWN,)


def _weigh(symptom: Symptom, words: str) -> int:
    return sum(weight for pattern, weight in _COMPILED[symptom] if pattern.search(words))


def _spell_out(text: str) -> str:
    """`NodeFilesystemSpaceFillingUp` and `disk_used_percent` become words."""
    return _JOINTS.sub(" ", _HUMP.sub(" ", _URL.sub(" ", text))).lower()

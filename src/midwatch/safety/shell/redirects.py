"""What a redirection does: only nothing, a copy of a descriptor, or a file that is read."""

import re

from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.secrets import find_secret, normalize
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, read_finding, write_finding
from midwatch.safety.shell.words import Word, show

_OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>"})
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/dev/tty"}) - {"/dev/tty"}
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]*)")


def judge_redirect(operator: str, destination: Word | None) -> Finding:
    """What comes of one redirection; `destination` is None for closed descriptors."""
    if operator in {">&-", "<&-"} and destination is None:
        return read_finding("redirect:close")
    if destination is None:
        raise Beyond("redirect:unknown", operator)
    part = f"{operator} {show(destination.text)}"
    if operator in {">&", "<&"} and destination.known and _DESCRIPTOR.fullmatch(destination.text):
        return read_finding("redirect:descriptor", part=part)
    if operator in _OUTPUT or operator == ">&":
        return _judge_output(destination, part)
    if operator == "<":
        return _judge_input(destination, part)
    raise Beyond("redirect:unknown", part, Risk.HIGH)


def _judge_output(destination: Word, part: str) -> Finding:
    if destination.known and destination.text in _NOWHERE:
        return read_finding("redirect:nowhere", part=part)
    found = write_finding("redirect:write", phase=Phase.GUARD, risk=Risk.HIGH, part=part)
    if match := _SOCKET.match(normalize(destination.text)):
        return Finding(found.intent, "redirect:socket", Phase.GUARD, Risk.HIGH, part, egress=(match[1],))
    return found


def _judge_input(destination: Word, part: str) -> Finding:
    if match := _SOCKET.match(normalize(destination.text)):
        return Finding(Intent.WRITE, "redirect:socket", Phase.GUARD, Risk.HIGH, part, egress=(match[1],))
    if not destination.starts_known or destination.glob or (not destination.known and _may_be_device(destination)):
        # Bash opens a socket for a name under /dev/tcp, also when the name comes from a variable.
        return write_finding("redirect:unknown", phase=Phase.GUARD, part=part)
    secret = find_secret(destination.text)
    return Finding(Intent.CERTAIN, "redirect:read", Phase.READ, part=part, sensitive=(secret,) if secret else ())


def _may_be_device(destination: Word) -> bool:
    prefix = re.split(r"[\ufffb\ufffc]", destination.text, maxsplit=1)[0]
    return "/dev/".startswith(prefix) or prefix.startswith("/dev/") or "//" in prefix or ".." in destination.text

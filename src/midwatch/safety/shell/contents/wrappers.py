"""Programs that run what stands behind them, also those that make a command a change whatever it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from midwatch.safety.shell.contents.carriers import INTERPRETERS, SHELLS, looks_like_path
from midwatch.safety.shell.programs.arguments import Refused
from midwatch.safety.shell.programs.build import collect, program
from midwatch.safety.shell.programs.judge import judge
from midwatch.safety.shell.programs.model import Nested, Program
from midwatch.safety.shell.programs.registry import find_program
from midwatch.safety.shell.words import UNKNOWN_WORDS, Word, names

_OWN: Final = collect(
    program(
        "sudo",
        flags="-A -b -B -E -H -i -K -k -n -P -S -s --askpass --background --set-home --login --non-interactive"
        " --stdin --shell",
        values="-u --user -g --group -p --prompt -C --close-from -T --command-timeout",
        optional="--preserve-env",
        style="stop",
        operands="argv",
    ),
    program("env", flags="-i --ignore-environment -v --debug", values="-u --unset", style="stop", operands="argv"),
    program("doas", flags="-n -s", values="-u -C", style="stop", operands="argv"),
    program("pkexec run0", values="--user", style="stop", operands="argv"),
    program("gosu su-exec", style="stop", operands="text argv"),
    program("systemd-run", flags="--wait --pipe --collect -q", values="-p -u --unit", style="stop", operands="argv"),
    program("strace ltrace", flags="-f", values="-p -e -o", style="stop", operands="argv"),
)
_RUNNING: Final = names(
    "sudo doas su runuser pkexec run0 gosu su-exec setpriv capsh sg env xargs parallel find chroot unshare nsenter"
    " flock script screen tmux strace ltrace gdb perf watch start-stop-daemon systemd-run timeout nice ionice nohup"
    " setsid stdbuf time taskset chrt numactl prlimit cgexec firejail ssh docker podman nerdctl kubectl oc k crictl"
    " ctr lxc lxc-attach incus pct qm virsh machinectl ansible salt busybox exec command builtin unbuffer"
)
_WORDY: Final = names(
    "find docker podman nerdctl kubectl oc k crictl ctr lxc incus pct qm virsh machinectl strace ltrace perf gdb tmux"
    " screen time"
)
"""What stands first is no program (`docker node`), and paths and texts may be their own."""
_CODE_OPTION: Final = re.compile(r"-[a-z]*c|--command")
_MODULE: Final = "-m"
_WITH_VALUE: Final = names("-o +o -O +O -W -X --rcfile --init-file")
_ASSIGNMENT: Final = re.compile(r"(?s)[A-Za-z_][A-Za-z0-9_]*=.*")


@dataclass(frozen=True, slots=True)
class Inner:
    """A command that another one runs."""

    words: tuple[Word, ...]
    is_text: bool = False
    """The words, joined by blanks, are text for a shell."""
    prefix: tuple[Word, ...] | None = ()
    """What leads to where it runs. Nothing when that is where the outer one runs; None when it cannot be told."""


def unwrap(name: str, words: tuple[Word, ...]) -> tuple[Inner, ...]:
    """What a command runs, if that is all it does. `words` begin with the program."""
    if name == "eval":
        return (Inner(words[1:], is_text=True),)
    if name in ("su", "runuser"):
        return _find_code(words)
    if name in SHELLS:
        return _find_code(_cut_options(words))
    if name in INTERPRETERS and _MODULE in [word.text for word in _cut_options(words)[:-1]]:
        return _find_module(words)
    return tuple(_show_inner(name, words, nested) for nested in _find_nested(name, words[1:]))


def list_buried(name: str, words: tuple[Word, ...]) -> Iterator[Inner]:
    """Scripts in a command that runs others in a way that is not known: where they run cannot be told."""
    if name in _RUNNING:
        is_wordy = name in _WORDY
        first = 2 if is_wordy else 1
        for place, word in enumerate(words[first:], start=first):
            if word.text.rpartition("/")[2] in INTERPRETERS:
                yield Inner(words[place:], prefix=None)
            elif " " in word.text and not is_wordy:
                yield Inner((word,), is_text=True, prefix=None)
            elif looks_like_path(word.text) and not is_wordy:
                yield Inner((word, *words[place + 1 :]), prefix=None)


def is_wrapper(name: str) -> bool:
    """All it does is to run another command."""
    return name in _RUNNING and name not in _WORDY


def _find_code(words: tuple[Word, ...]) -> tuple[Inner, ...]:
    places = [place for place, word in enumerate(words[1:-1], start=2) if _CODE_OPTION.fullmatch(word.text)]
    return (Inner((words[places[0]],), is_text=True),) if places else ()


def _cut_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """With the word that follows the last of them: what comes behind a script is the script's own."""
    place = 1
    while place < len(words) and words[place].text.startswith(("-", "+")):
        is_last = _CODE_OPTION.fullmatch(words[place].text) or words[place].text == _MODULE
        place += 2 if words[place].text in _WITH_VALUE and not is_last else 1
        if is_last:
            break
    return words[: place + 1]


def _find_module(words: tuple[Word, ...]) -> tuple[Inner, ...]:
    place = next(place for place, word in enumerate(words) if word.text == _MODULE)
    return (Inner(words[place + 1 :]),)


def _find_nested(name: str, arguments: tuple[Word, ...]) -> tuple[Nested, ...]:
    model = _OWN.get(name) or find_program(name)
    if model is None:
        return ()
    try:
        return (judge(name, model, arguments) if isinstance(model, Program) else model(name, arguments)).nested
    except Refused:
        return ()


def _show_inner(name: str, words: tuple[Word, ...], nested: Nested) -> Inner:
    inner = nested.words
    while name in _OWN and inner and _ASSIGNMENT.fullmatch(inner[0].text):
        inner = inner[1:]
    prefix: tuple[Word, ...] | None = ()
    if nested.targets or name == "chroot":
        lead = words[: len(words) - len(inner)]
        is_behind = words[len(lead) :] == inner and all(word.known for word in lead)
        prefix = lead if is_behind else None
    return Inner((*inner, UNKNOWN_WORDS) if nested.more else inner, is_text=nested.text, prefix=prefix)

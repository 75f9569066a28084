"""Services outside of systemd, access control and audits: their questions."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, write_finding

_HIGH = change(risk=Risk.HIGH)
_TEXTS = verb(operands="text*")
_HELP = " -h --help --version"


def _only_status(call: Call) -> Finding | None:
    """`service NAME status` asks a script of the service; any other word makes the script do something."""
    words = [word.text if word.known else "" for word in call.operands]
    if call.has("--status-all --list --help --version") and not words:
        return None
    if len(words) == 2 and words[1] == "status" and "/" not in words[0]:  # noqa: PLR2004 -- a name and a verb
        return Finding(Intent.CONDITIONAL, f"read:{call.program}", Phase.INSPECT, part=call.program)
    return write_finding("verb:writes", risk=Risk.HIGH, part=call.program)


PROGRAMS = collect(
    program(
        "service rc-service invoke-rc.d",
        flags="--status-all --list --help --version",
        operands="text text",
        check=_only_status,
        risk=Risk.HIGH,
    ),
    program("rc-status", flags="-a --all -l --list -s --servicelist -r --runlevel -C --nocolor", operands="text?"),
    program("chkconfig", flags="--list", needs="--list", operands="text?", risk=Risk.HIGH),
    program("runlevel", flags="--help --version -q --quiet"),
    program(
        "supervisorctl",
        foreign="-c --configuration -s --serverurl -u --username -p --password -i --interactive -r",
        verbs={
            "status avail pid version": _TEXTS,
            "tail": verb(flags="-f", digits=True, operands="text text?", follow="-f"),
            "start stop restart reload reread update signal shutdown clear fg add remove maintail open": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "monit",
        flags="-V",
        verbs={"status summary report": _TEXTS, "start stop restart reload quit": _HIGH},
        risk=Risk.HIGH,
    ),
    program("sv", verbs={"status s": _TEXTS}, risk=Risk.HIGH),
    program("s6-svstat svstat", operands="path*", names_only=True),
    program("getenforce"),
    program("sestatus", flags="-v -b"),
    program("getsebool", flags="-a", operands="text*"),
    program(
        "aa-status apparmor_status", flags="--json --pretty-json --enabled --profiled --enforced --verbose" + _HELP
    ),
    program("auditctl", flags="-l -s -v", needs="-l -s -v", risk=Risk.HIGH),
    program(
        "ausearch",
        flags="-i --interpret -r --raw -w --word --just-one -v",
        values="-m --message -k --key -ui -ts --start -te --end -p --pid -x --executable -c --comm -sv --success -f"
        " --file -a -ua --uid-all -ue -gi -ga -hn --host -sc --syscall -tm --terminal -e --exit -se --session",
        paths="-if --input",
        style="single",
    ),
    program(
        "aureport",
        flags="-a -au -c -e -f -h -i -k -l -m -n -p -s -t -tm -u -v -x --summary --failed --success --auth --login"
        " --executable --file --user --event --key --mods --anomaly --avc --pid --syscall --tty --host",
        values="-ts --start -te --end",
        paths="-if --input",
        style="single",
    ),
    program(
        "fail2ban-client",
        flags="-V --version -h --help",
        verbs={
            "status": _TEXTS,
            "ping version banned": verb(),
            "get": verb(operands="text text*"),
            "start stop reload restart set add unban ban flushlogs": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program("atq", flags="-V", values="-q"),
    program("lpstat", flags="-a -c -d -e -H -l -o -p -r -R -s -t -u -v -W", operands="text*"),
    program("lpq", flags="-a -l", values="-P", operands="text*"),
    program("apcaccess", verbs={"status": verb()}, default_verb="status"),
    program("pmset", flags="-g", needs="-g", operands="text*", risk=Risk.HIGH),
)

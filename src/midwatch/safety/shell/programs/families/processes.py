"""Processes, memory and load: procps, psmisc, sysstat and their like."""

import re

from midwatch.safety.shell.programs.build import change, collect, program
from midwatch.safety.shell.programs.model import Call, Rewrite
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, write_finding
from midwatch.safety.shell.words import HOLE

_HELP = " --help --version"
_BUSY = Rewrite(whole="ps aux --sort=-%cpu | head -20")
_BSD = re.compile(r"[aAcefghHjlLmnOoprSTtuUvVwxXZ]+")
_ENVIRONMENT = re.compile(r"\benv(?:iron)?\b")


def _watch_for_environments(call: Call) -> Finding | None:
    """`ps aux` names its options without a dash, and `e` among them shows what processes were started with."""
    first = call.operands[0].text if call.operands else ""
    shown = call.values("-o -O -F --format")
    bsd = bool(_BSD.fullmatch(first)) and "e" in first
    if bsd or any(_ENVIRONMENT.search(word.text) for word in (*shown, *call.operands)):
        return Finding(Intent.CERTAIN, "read:ps", Phase.READ, part="ps", sensitive=("the environment of processes",))
    return None


def _refuse_unknown_names(call: Call) -> Finding | None:
    """`-i @name` looks the name up, and what is looked up leaves the machine."""
    if any(HOLE in word.text for word in (*call.values("-i"), *call.operands)):
        return write_finding("egress:unknown", phase=Phase.GUARD, part=call.program)
    return None


PROGRAMS = collect(
    program(
        "ps",
        flags="-A -a -d -e -f -F -j -l -L -M -m -N -T -V -w -y -Z -c -H -x -r -S -h --deselect --forest --headers"
        " --no-headers --info --context --cumulative" + _HELP,
        values="-C -G -g -o -O -p -q -s -t -u -U --Group --User --cols --columns --format --group --lines --pid --ppid"
        " --quick-pid --rows --sid --sort --tty --user --width",
        operands="text*",
        inert=True,
        check=_watch_for_environments,
        digits=True,
    ),
    program(
        "top",
        flags="-b -c -h -H -i -s -S -v -V -1 -B",
        values="-d -e -E -n -o -p -u -U -w",
        endless=Category.STREAM,
        bounds="-n",
        rewrite=_BUSY,
    ),
    program(
        "htop",
        flags="-C --no-color -M --no-mouse -t --tree -h" + _HELP,
        values="-d --delay -p --pid -s --sort-key -u --user",
        endless=Category.STREAM,
        rewrite=_BUSY,
    ),
    program("btop", flags="--help --version", endless=Category.STREAM, rewrite=_BUSY),
    program("atop", flags="-V -h --help --version", operands="number number", endless=Category.STREAM, rewrite=_BUSY),
    program("prtstat", flags="-r --raw -V" + _HELP, operands="number*"),
    program("crontab", flags="-l", values="-u", needs="-l", risk=Risk.HIGH),
    program(
        "free",
        flags="-b --bytes --kilo --mega --giga --tera -k --kibi -m --mebi -g --gibi --tebi -h --human --si -l --lohi -L"
        " --line -t --total -v --committed -w --wide -V" + _HELP,
        values="-s --seconds -c --count",
        follow="-s --seconds",
        bounds="-c --count",
        inert=True,
    ),
    program(
        "vmstat",
        flags="-a --active -f --forks -m --slabs -n --one-header -s --stats -d --disk -D --disk-sum -t --timestamp -w"
        " --wide -y --no-first -V -h" + _HELP,
        values="-S --unit -p --partition",
        operands="number*",
        interval=True,
        inert=True,
    ),
    program(
        "iostat mpstat nfsiostat cifsiostat",
        flags="-c -d -h -k -m -N -s -t -V -x -y -z -A -n -u --human --pretty --compact" + _HELP,
        values="-P -I -j -o -g -f --dec",
        optional="-p",
        operands="text*",
        interval=True,
    ),
    program(
        "sar",
        flags="-A -B -b -C -D -d -F -H -h -p -q -r -S -t -u -V -v -W -w -y -z --human --pretty" + _HELP,
        values="-n -P -I -i -j -m -s -e --dec --dev --iface --fs",
        paths="-f",
        writes="-o",
        operands="number*",
        interval=True,
    ),
    program(
        "pidstat",
        flags="-d -H -h -I -l -R -r -s -t -u -V -v -w -U --human" + _HELP,
        values="-C -G -p -T --dec",
        foreign="-e",
        operands="number*",
        interval=True,
    ),
    program(
        "lsof",
        flags="-a -b -C -h -l -n -N -P -R -t -U -v -V -w -X -E -K",
        values="-c -d -p -u",
        optional="-i -F -g -o -s -T -f -r",
        follow="-r",
        foreign="-D -A -k -m",
        operands="text*",
        check=_refuse_unknown_names,
    ),
    program(
        "fuser",
        flags="-a --all -c -f -I --inode -l --list-signals -m --mount -M --ismountpoint -s --silent -u"
        " --user -v --verbose"
        " -V -4 --ipv4 -6 --ipv6" + _HELP,
        values="-n --namespace",
        destroys="-k --kill",
        operands="text*",
    ),
    program(
        "pmap",
        flags="-x --extended -X -d --device -q --quiet -p --show-path -V -h" + _HELP,
        values="-A --range",
        operands="number*",
    ),
    program(
        "pstree",
        flags="-a --arguments -A --ascii -c --compact-not -g --show-pgids -G --vt100 -h --highlight-all -l --long -n"
        " --numeric-sort -p --show-pids -s --show-parents -S --ns-changes -t --thread-names -T --hide-threads -u"
        " --uid-changes -U --unicode -V -Z --security-context" + _HELP,
        values="-H --highlight-pid -N --ns-sort -C --color",
        operands="text?",
    ),
    program(
        "pgrep",
        flags="-l --list-name -a --list-full -c --count -f --full -i --ignore-case -n --newest -o"
        " --oldest -v --inverse -w"
        " --lightweight -x --exact -A --ignore-ancestors -V -h" + _HELP,
        values="-d --delimiter -g --pgroup -G --group -O --older -P --parent -s --session -t --terminal -u --euid -U"
        " --uid -r --runstates --ns --nslist --cgroup",
        paths="-F --pidfile",
        operands="text?",
    ),
    program("pidof", flags="-s -c -q -x -n -w --help", values="-o -S", operands="text*"),
    program("pwdx", flags="-V -h" + _HELP, operands="number*"),
    program(
        "slabtop",
        flags="-o --once -V -h" + _HELP,
        values="-s --sort -d --delay",
        endless=Category.STREAM,
        bounds="-o --once",
    ),
    program(
        "ipcs lsipc", flags="-a -b -c -l -m -M -p -q -Q -s -S -t -u -h -V -g -n -J -e -r -y -z" + _HELP, values="-i -o"
    ),
    program(
        "iotop iotop-c",
        flags="-b --batch -o --only -P --processes -a --accumulated -k --kilobytes -t --time -q --quiet -h" + _HELP,
        values="-n --iter -d --delay -p --pid -u --user",
        endless=Category.STREAM,
        bounds="-n --iter",
        rewrite=Rewrite(whole="iotop -b -n 1"),
    ),
    ("pkill killall killall5 skill snice renice ipcrm systemd-run batch", change(risk=Risk.HIGH)),
    ("tcpkill", change(risk=Risk.HIGH)),
)

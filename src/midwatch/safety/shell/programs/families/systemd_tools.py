"""The smaller tools of systemd: sessions, clocks, names, boots and crashes."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.verdict import Category, Risk

_HIGH = change(risk=Risk.HIGH)
_TEXTS = verb(operands="text*")
_NONE = verb()
_GLOBAL = "--no-pager --no-legend -l --full -a --all --no-ask-password -q --quiet -h --help --version"

PROGRAMS = collect(
    program(
        "loginctl",
        flags=_GLOBAL + " --value",
        values="-p --property -n --lines -o --output",
        foreign="-H --host -M --machine",
        inherit=True,
        default_verb="list-sessions",
        verbs={
            "list-sessions list-users list-seats": _NONE,
            "session-status show-session user-status show-user seat-status show-seat": _TEXTS,
            "activate lock-session unlock-session lock-sessions unlock-sessions terminate-session kill-session": _HIGH,
            "enable-linger disable-linger terminate-user kill-user attach flush-devices terminate-seat": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "timedatectl",
        flags=_GLOBAL + " --value --monitor",
        values="-p --property",
        foreign="-H --host -M --machine",
        follow="--monitor",
        inherit=True,
        default_verb="status",
        verbs={
            "status show list-timezones timesync-status show-timesync": _NONE,
            "set-time set-timezone set-local-rtc set-ntp ntp-servers revert": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "hostnamectl",
        flags=_GLOBAL + " --static --transient --pretty --json -j",
        foreign="-H --host -M --machine",
        inherit=True,
        default_verb="status",
        verbs={
            "status": _NONE,  # the others set when they have an operand
            "hostname icon-name chassis deployment location": _NONE,
            "set-hostname set-icon-name set-chassis set-deployment set-location": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "localectl",
        flags=_GLOBAL,
        foreign="-H --host -M --machine",
        inherit=True,
        default_verb="status",
        verbs={"status list-locales list-keymaps": _NONE, "set-locale set-keymap set-x11-keymap": _HIGH},
        risk=Risk.HIGH,
    ),
    program(
        "resolvectl",
        flags=_GLOBAL + " -4 -6 --raw --legend",
        values="-i --interface -p --protocol -t --type -c --class",
        inherit=True,
        default_verb="status",
        verbs={
            "status statistics show-cache show-server-state": _TEXTS,
            "query": verb(operands="host*"),
            "dns domain llmnr mdns dnssec nta default-route dnsovertls": verb(operands="text?"),
            "flush-caches reset-statistics reset-server-features revert log-level": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "networkctl",
        flags=_GLOBAL + " -s --stats",
        values="-n --lines --json",
        inherit=True,
        default_verb="list",
        verbs={"list status lldp label": _TEXTS, "up down renew forcerenew reconfigure reload delete": _HIGH},
        risk=Risk.HIGH,
    ),
    program(
        "systemd-analyze",
        flags=_GLOBAL + " --user --system --order --require",
        values="--from-pattern --to-pattern --fuzz",
        inherit=True,
        default_verb="time",
        verbs={
            "time blame critical-chain plot dot unit-paths exit-status capability syscall-filter": _TEXTS,
            "calendar timestamp timespan security cat-config": _TEXTS,
        },
    ),
    program(
        "systemd-cgls systemd-delta systemd-detect-virt systemd-path systemd-id128",
        flags=_GLOBAL + " -k --kernel -c --container -v --vm --list",
        values="-u --unit --user-unit -t --type --diff",
        operands="text*",
    ),
    program(
        "systemd-cgtop",
        flags="-p -t -c -m -i -P -k -b --batch -1 --raw -r",
        values="-n --iterations -d --delay --depth --order",
        endless=Category.STREAM,
        bounds="-n --iterations -1",
        operands="text?",
    ),
    program(
        "systemd-resolve",
        flags=_GLOBAL + " -4 -6 --status --statistics",
        operands="host*",
    ),
    program(
        "coredumpctl",
        flags=_GLOBAL + " -r --reverse -1",
        values="-S --since -U --until -F --field -n",
        foreign="-D --directory --root --image --file --debugger -A --debugger-arguments",
        writes="-o --output",
        inherit=True,
        default_verb="list",
        verbs={"list info": _TEXTS, "dump debug gdb": _HIGH},
    ),
    program(
        "busctl",
        flags=_GLOBAL + " --user --system --unique --acquired --activatable --list --verbose -j",
        values="--json --timeout",
        foreign="-H --host -M --machine --address",
        inherit=True,
        default_verb="list",
        verbs={
            "list status tree introspect get-property": _TEXTS,
            "monitor capture": verb(operands="text*", endless=Category.STREAM),
            "call emit set-property": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "machinectl",
        flags=_GLOBAL,
        values="-n --lines -o --output",
        foreign="-H --host -M --machine",
        inherit=True,
        default_verb="list",
        verbs={"list list-images status show": _TEXTS},
        risk=Risk.HIGH,
    ),
    program(
        "udevadm",
        flags="-h --help --version",
        verbs={
            "info": verb(
                flags="-a --attribute-walk -r --root -e --export-db -x --export",
                values="-q --query -p --path -n --name",
                operands="path*",
            ),
            "monitor": verb(
                flags="-k --kernel -u --udev -p --property -e --environment",
                values="-s --subsystem-match",
                endless=Category.STREAM,
            ),
            "trigger settle control test": _HIGH,
        },
        risk=Risk.HIGH,
    ),
)

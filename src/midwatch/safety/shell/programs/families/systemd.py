"""systemd: units and the journal."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Rewrite
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk

_HIGH = change(risk=Risk.HIGH)


def _watch_for_environments(call: Call) -> Finding | None:
    if not any("environ" in word.text.lower() for word in call.values("-p --property -P")):
        return None
    return Finding(
        Intent.CERTAIN, "read:systemctl show", Phase.READ, part="systemctl show", sensitive=("an environment",)
    )


PROGRAMS = collect(
    program(
        "systemctl",
        flags="-a --all -l --full -q --quiet --no-pager --no-legend --plain --failed -r --recursive --reverse --after"
        " --before --user --system --value --show-types --no-ask-password --with-dependencies --help --version -h",
        values="-t --type --state -p --property -P -n --lines -o --output --timestamp",
        optional="--legend",
        foreign="-H --host -M --machine --root --image",
        writes="--now --runtime --force -f --global --wait --no-block --job-mode -s --signal --kill-who --kill-whom",
        inherit=True,
        risk=Risk.HIGH,
        default_verb="list-units",
        verbs={
            "list-units list-unit-files list-sockets list-timers list-jobs": verb(operands="text*"),
            "list-machines list-automounts list-paths": verb(operands="text*"),
            "show": verb(operands="text*", check=_watch_for_environments),
            "status cat help is-active is-failed is-enabled list-dependencies": verb(operands="text*"),
            "show-environment": verb(sensitive="an environment"),
            "get-default is-system-running": verb(),
            "start stop reload restart try-restart reload-or-restart isolate kill": _HIGH,
            "clean freeze thaw set-property bind": _HIGH,
            "enable disable reenable preset preset-all mask unmask link revert add-wants add-requires edit": _HIGH,
            "set-default daemon-reload daemon-reexec reset-failed set-environment unset-environment": _HIGH,
            "import-environment cancel log-level log-target service-log-level service-log-target": _HIGH,
            "default rescue emergency halt poweroff reboot kexec soft-reboot exit switch-root suspend hibernate": _HIGH,
            "hybrid-sleep suspend-then-hibernate mount-image": _HIGH,
        },
    ),
    program(
        "journalctl",
        flags="-a --all -f --follow -e --pager-end -k --dmesg -l --full --no-full --no-hostname --no-pager --no-tail"
        " -q --quiet -r --reverse -x --catalog --utc -m --merge --list-boots -N --fields --list-catalog --disk-usage"
        " --verify --header --system --user -h --help --version --truncate-newline --dump-catalog --show-cursor",
        values="-u --unit --user-unit -n --lines -o --output --output-fields -S --since -U --until -p --priority -t"
        " --identifier -g --grep --case-sensitive -c --cursor --after-cursor -F --field --facility --namespace"
        " --invocation -T --exclude-identifier",
        optional="-b --boot",
        paths="-D --directory --file",
        writes="--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --relinquish-var"
        " --smart-relinquish-var --setup-keys --update-catalog --cursor-file",
        foreign="-M --machine --root --image --interval --verify-key",
        digits=True,  # `-b -1`
        operands="text*",
        follow="-f --follow",
        bounds="-n --lines -S --since -U --until",
        rewrite=Rewrite(add=("-n", "200", "--since", "10 min ago")),
    ),
)

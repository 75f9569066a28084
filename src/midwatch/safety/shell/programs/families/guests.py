"""Virtual machines and what runs them: their state, and a command inside of one."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.phrases import say
from midwatch.safety.shell.verdict import Risk

_HIGH = change(risk=Risk.HIGH)
_HELP = " --help --version"
_PVE_LIST = verb(flags="--full --verbose --current --enabled", values="--content --vmid --storage", operands="text*")
_QEMU_AGENT = verb(
    operands="text text",
    check=say(r"[0-9]+ (?:ping|info|get-(?:osinfo|host-name|time|vcpus|users|fsinfo)|network-get-interfaces)"),
)

PROGRAMS = collect(
    program(
        "virsh",
        flags="-r --readonly -q --quiet -v -V" + _HELP,
        foreign="-c --connect",
        verbs={
            "list": verb(flags="--all --inactive --running --name --uuid --title --state-running --state-shutoff"),
            "dominfo domstate domid domblklist domiflist domblkinfo domifaddr vcpuinfo dommemstat": verb(
                flags="--details --reason", values="--domain --source", operands="text*"
            ),
            "dumpxml": verb(flags="--inactive", operands="text"),
            "nodeinfo version uri hostname capabilities nodememstats": verb(),
            "net-info net-dhcp-leases pool-info vol-info domblkstat domifstat snapshot-info domjobinfo": verb(
                operands="text*"
            ),
            "net-list pool-list vol-list iface-list snapshot-list": verb(flags="--all --details", operands="text?"),
            "domstats": verb(flags="--state --cpu-total --balloon --vcpu --interface --block --raw", operands="text*"),
            "start shutdown reboot destroy undefine suspend"
            " resume create define edit migrate save restore reset": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "pct",
        verbs={
            "list": verb(),
            "status config df cpusets listsnapshot pending": verb(flags="--verbose --current", operands="number"),
            "exec": verb(operands="guest argv"),
            "start stop shutdown reboot suspend resume create destroy restore set enter clone migrate rollback snapshot"
            " push pull mount unmount resize template unlock": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "qm",
        verbs={
            "list": verb(flags="--full"),
            "status config listsnapshot pending showcmd": verb(flags="--verbose --current --pretty", operands="number"),
            "guest": verb(verbs={"exec": verb(operands="guest argv"), "cmd": _QEMU_AGENT}),
            "agent": _QEMU_AGENT,
            "start stop shutdown reboot reset suspend resume create destroy set clone migrate rollback snapshot monitor"
            " terminal importdisk unlock sendkey resize template": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "pvesh",
        verbs={
            "get ls": verb(flags="--human-readable --noborder --noheader", values="--output-format", operands="text")
        },
        risk=Risk.HIGH,
    ),
    program("pvecm", verbs={"status nodes": verb()}, risk=Risk.HIGH),
    program("pvesm", verbs={"status list": _PVE_LIST, "alloc free add set remove": _HIGH}, risk=Risk.HIGH),
    program("pveversion", flags="-v --verbose"),
    program("ha-manager", verbs={"status config": verb(flags="--verbose", values="--type")}, risk=Risk.HIGH),
    program("pvesr", verbs={"list status": verb(values="--guest")}, risk=Risk.HIGH),
    program(
        "xl",
        flags="-l -v -n",
        operands="text*",
        check=say(
            r"(?:list|vcpu-list|uptime)(?: [\w.-]+)*|info|dmesg|top|(?:network|block)-list [\w.-]+|sched-credit2?",
        ),
        risk=Risk.HIGH,
    ),
    program(
        "xe",
        operands="text*",
        check=say(
            r"(?!secret)[a-z]+(?:-param)?-list(?: [a-z-]+=[\w,.-]+)*",
        ),
        risk=Risk.HIGH,
    ),
    program(
        "VBoxManage vboxmanage",
        flags="-v" + _HELP,
        operands="text*",
        check=say(
            r"list [a-z]+|showvminfo [\w.-]+|guestproperty (?:enumerate|get) [\w.-]+(?: [\w/.-]+)?",
        ),
        risk=Risk.HIGH,
    ),
    program(
        "govc",
        style="single",
        verbs={
            "about version": verb(style="single", flags="-json -l"),
            "ls find": verb(style="single", flags="-l -i -L", values="-type -name -t", operands="text*"),
            "vm.info host.info datastore.info datastore.ls pool.info cluster.usage network.info": verb(
                style="single", flags="-json -e -r -g", operands="text*"
            ),
        },
        risk=Risk.HIGH,
    ),
    program("pveum", operands="text*", check=say(r"(?:user|role|group|acl|realm|pool) list"), risk=Risk.HIGH),
    ("pveceph vzdump qmrestore pvenode", _HIGH),
)

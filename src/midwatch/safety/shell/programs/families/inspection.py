"""Looking into running programs: virtual machines of languages, kernels' programs, sessions and limits."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.phrases import keep_operands, keep_values, say
from midwatch.safety.shell.verdict import Risk

_TEXTS = verb(operands="text*")

PROGRAMS = collect(
    program("jps", flags="-l -m -v -q -V -help"),
    program(
        "jstat",
        flags="-gc -gcutil -gccause -gccapacity -gcnew -gcold -gcmetacapacity -class -compiler -options -t",
        style="single",
        operands="number text number",
        check=keep_operands(r"[0-9]+(?:ms|s)?"),
    ),
    # To be looked into, a process is sent a signal, which ends one that is no Java machine.
    program("jcmd", flags="-l -h", risk=Risk.HIGH),
    ("jstack jmap jinfo", change(risk=Risk.HIGH)),
    program("py-spy", flags="-V --version -h --help", needs="-V --version -h --help", risk=Risk.HIGH),
    program(
        "bpftool",
        flags="-j --json -p --pretty -V --version -h --help",
        operands="text*",
        check=say(
            r"(?:prog|map|link|btf|net|perf|struct_ops)(?: (?:show|list)(?: (?:id|name) [\w.-]+)?)?",
            r"cgroup (?:tree|show|list)(?: [\w./-]+)?|version",
        ),
        risk=Risk.HIGH,
    ),
    program(
        "bpftrace",
        flags="-l -V --version -h --help",
        needs="-l -V --version -h --help",
        operands="text",
        risk=Risk.HIGH,
    ),
    program("perf", flags="--version -v -h --help", verbs={"list": _TEXTS, "version": verb()}, risk=Risk.HIGH),
    program("strace ltrace gdb", flags="-V --version --help", needs="-V --version --help", risk=Risk.HIGH),
    program(
        "addr2line",
        flags="-a -f -C -i -p -s -h -v --addresses --functions --demangle --inlines --pretty-print --help --version",
        values="-j",
        paths="-e --exe",
        operands="text*",
        check=keep_operands(r"[^@].*"),
    ),
    program(
        "screen",
        flags="-ls -list -v --version",
        needs="-ls -list -v --version",
        style="single",
        operands_with={"-ls -list": "text"},
    ),
    program(
        "tmux",
        flags="-V",
        verbs={
            "ls list-sessions list-clients lsc": verb(),
            "list-windows lsw": verb(flags="-a", values="-t", check=keep_values("-t", r"[\w.:$@%+-]+")),
            "list-panes lsp": verb(flags="-a -s", values="-t", check=keep_values("-t", r"[\w.:$@%+-]+")),
        },
        risk=Risk.MEDIUM,
    ),
    program("tput", operands="text", check=keep_operands("cols|lines|colors|longname|it"), risk=Risk.LOW),
    program(
        "prlimit",
        flags="-c --core -d --data -e --nice -f --fsize -i --sigpending -l --memlock -m --rss -n --nofile -q --msgqueue"
        " -r --rtprio -s --stack -t --cpu -u --nproc -v --as -x --locks -y --rttime --noheadings --raw --verbose -h -V",
        values="-p --pid -o --output",
        risk=Risk.HIGH,
    ),
    program(
        "chrt",
        flags="-p --pid -m --max -a --all-tasks -v --verbose -h -V",
        needs="-p --pid -m --max -h -V",
        operands="number",
        risk=Risk.HIGH,
    ),
    program(
        "at",
        flags="-l -V",
        values="-q -c",
        needs="-l -c -V",
        operands="number*",
        reveals={"-c": "an environment"},
        risk=Risk.HIGH,
    ),
    program(
        "chage", flags="-l --list -i --iso8601 -h --help", needs="-l --list -h --help", operands="text", risk=Risk.HIGH
    ),
    program(
        "passwd", flags="-S --status -a --all -h --help", needs="-S --status -h --help", operands="text", risk=Risk.HIGH
    ),
    program(
        "visudo",
        flags="-c --check -q --quiet -V --version -h --help",
        needs="-c --check -V --version -h --help",
        risk=Risk.HIGH,
    ),
    program("faillock", values="--user", risk=Risk.HIGH),
    program(
        "semanage",
        verbs={
            "port fcontext boolean login user interface module node permissive": verb(
                flags="-l --list -n --noheading -C --locallist", needs="-l --list"
            ),
            "export": verb(),
        },
        risk=Risk.HIGH,
    ),
    program("semodule", optional="-l --list", flags="-v -h --help", needs="-l --list", risk=Risk.HIGH),
    program(
        "bootctl",
        flags="--no-pager -h --help --version",
        inherit=True,
        default_verb="status",
        verbs={"status list is-installed": verb()},
        risk=Risk.HIGH,
    ),
    program(
        "systemd-tmpfiles",
        flags="--cat-config --no-pager --version -h --help",
        needs="--cat-config --version -h --help",
        operands="text*",
        risk=Risk.HIGH,
    ),
    program(
        "systemd-inhibit", flags="--list --no-pager --no-legend --version", needs="--list --version", risk=Risk.HIGH
    ),
    program("sshd", flags="-T -t -V", needs="-T -t -V", values="-C", conditional=True, risk=Risk.HIGH),
    program(
        "ssh-keyscan",
        flags="-4 -6 -c -H -q -v",
        values="-p -t -T -O",
        operands="host*",
    ),
    program(
        "tailscale",
        flags="--version",
        verbs={
            "status": verb(flags="--json --active --self", optional="--peers"),
            "ip": verb(flags="-4 -6 -1", operands="text"),
            "netcheck version": verb(),
        },
        style="single",
        risk=Risk.HIGH,
    ),
)

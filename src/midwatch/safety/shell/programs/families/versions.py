"""Where code and packages come from: forges, other version control, package indexes, brokers' and databases' tools."""

from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.programs.phrases import keep_operands, say
from midwatch.safety.shell.verdict import Category, Finding, Risk, write_finding

_TEXTS = verb(operands="text*")
_LISTING = (
    "-L --limit -s --state -l --label -a --author -A --assignee -R --repo --json -q --jq -t --template -S --search"
)
_LOCAL = r"[^:]*"
_MYSQL = frozenset(
    {"status", "extended-status", "processlist", "proc", "stat", "ping", "version", "variables", "extended", "var"}
)


def _only_questions(call: Call) -> Finding | None:
    if call.operands and all(word.known and word.text in _MYSQL for word in call.operands):
        return None
    return write_finding("verb:writes", risk=Risk.HIGH, part=call.program)


PROGRAMS = collect(
    program(
        "gh",
        flags="--version -h --help",
        verbs={
            "pr": verb(
                verbs={
                    "list ls": verb(flags="-d --draft", values=_LISTING + " -B --base -H --head"),
                    "view status": verb(
                        flags="-c --comments", values="-R --repo --json -q --jq -t --template", operands="text"
                    ),
                    "diff": verb(flags="--name-only --patch", values="-R --repo --color", operands="text"),
                    "checks": verb(flags="--required", values="-R --repo --json -q --jq", operands="text"),
                }
            ),
            "issue": verb(
                verbs={
                    "list ls": verb(values=_LISTING + " -m --milestone"),
                    "view status": verb(
                        flags="-c --comments", values="-R --repo --json -q --jq -t --template", operands="text"
                    ),
                }
            ),
            "run": verb(
                verbs={
                    "list ls": verb(values="-L --limit -R --repo -w --workflow -b --branch -s --status --json -q --jq"),
                    "view": verb(
                        flags="-v --verbose --log --log-failed --exit-status",
                        values="-R --repo -j --job --json -q --jq -a --attempt",
                        operands="text",
                    ),
                }
            ),
            "repo release workflow": verb(
                verbs={
                    "list ls": verb(values="-L --limit -R --repo --json -q --jq", flags="-a --all", operands="text"),
                    "view": verb(values="-R --repo --json -q --jq -b --branch", flags="-y --yaml", operands="text"),
                }
            ),
            "auth": verb(verbs={"status": verb()}),
            "search": verb(
                verbs={"repos issues prs commits code": verb(values="-L --limit --repo --owner", operands="text*")}
            ),
            "version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "glab",
        flags="-v --version -h --help",
        verbs={
            "mr issue": verb(verbs={"list ls view": verb(values="-R --repo -P --per-page", operands="text")}),
            "ci": verb(verbs={"status list": verb(values="-R --repo -b --branch")}),
            "repo": verb(verbs={"view": verb(operands="text")}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "svn",
        flags="--version -h --help",
        verbs={
            "log": verb(
                flags="-v -q --stop-on-copy", values="-r -l --limit", operands="path*", check=keep_operands(_LOCAL)
            ),
            "status st stat info": verb(flags="-v -q", operands="path*", check=keep_operands(_LOCAL)),
            "diff di": verb(flags="--summarize", values="-r -c", operands="path*", check=keep_operands(_LOCAL)),
            "list ls blame praise cat": verb(flags="-v -R", values="-r", operands="path*", check=keep_operands(_LOCAL)),
        },
        risk=Risk.MEDIUM,
    ),
    program(
        "hg",
        flags="--version -h --help",
        verbs={
            "log history": verb(flags="-p -v -q -G --graph --stat", values="-r -l --limit -u -b -k", operands="path*"),
            "status st": verb(flags="-m -a -r -d -u -q -n", operands="path*"),
            "branches tags heads summary sum tip parents identify id": verb(flags="-v -q"),
            "annotate blame": verb(flags="-u -n -d -l", values="-r", operands="path*"),
        },
        risk=Risk.MEDIUM,
    ),
    program(
        "apt-file", flags="-x -F -l -i", verbs={"search find list show": verb(flags="-x -F -l -i", operands="text*")}
    ),
    program(
        "aptitude",
        flags="--version -h --help",
        verbs={"search show why why-not versions": verb(flags="-v", operands="text*")},
        risk=Risk.HIGH,
    ),
    program(
        "zypper",
        flags="--no-refresh -q --quiet --version -h --help",
        verbs={
            "lr repos": verb(flags="-u -d -p -P -E --uri --details --priority"),
            "ps": verb(flags="-s"),
            "ll locks targetos": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "conda mamba",
        flags="-V --version -h --help",
        verbs={
            "list": verb(values="-n --name", flags="--json -e --export --explicit", operands="text"),
            "info": verb(flags="-e --envs -a --all --json"),
            "env": verb(verbs={"list": verb(flags="--json")}),
            "config": verb(flags="--show --show-sources", needs="--show --show-sources", sensitive="a configuration"),
        },
        risk=Risk.HIGH,
    ),
    program("alternatives", flags="--list", values="--display", needs="--list --display", risk=Risk.HIGH),
    program(
        "nix-env",
        flags="-q --query --installed --list-generations --version",
        needs="-q --query --list-generations --version",
        operands="text*",
        risk=Risk.HIGH,
    ),
    program(
        "pkg",
        verbs={
            "info": verb(flags="-a -l -d -r -f -x -o -q", operands="text*"),
            "version which": verb(flags="-v -q", operands="text*"),
            "audit": verb(operands="text*"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "bq",
        values="--format --project_id",
        verbs={
            "ls": verb(flags="-j -a -d", values="-n --max_results", operands="text"),
            "show head": verb(flags="--schema", values="-n --max_rows --format", operands="text"),
            "version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "linode-cli",
        flags="--json --text --pretty --no-headers --version",
        values="--format",
        operands="text*",
        check=say(r"[a-z-]+ (?:list|ls|view)(?: [\w.-]+)*"),
        risk=Risk.HIGH,
    ),
    program(
        "openstack",
        flags="--all-projects --long --version",
        values="-f --format -c --column --project --host --status --name --limit",
        operands="text*",
        check=say(
            r"(?:server|network|subnet|port|router|image|flavor|volume(?: snapshot)?|hypervisor|project|user|role"
            r"|endpoint|security group(?: rule)?|floating ip|availability zone|compute service|network agent|quota"
            r"|domain|region|host|aggregate|stack|loadbalancer) (?:list|show)(?: [\w.-]+)*",
        ),
        risk=Risk.HIGH,
    ),
    program(
        "heroku",
        flags="-t --tail --json --version",
        values="-a --app -n --num",
        operands="text",
        follow="-t --tail",
        check=say(r"apps|ps|releases|info|addons|domains|logs|status|regions"),
        risk=Risk.HIGH,
    ),
    program(
        "pg_isready", flags="-q --quiet -V --version", values="-p --port -t --timeout -U --username", hosts="-h --host"
    ),
    program("pg_lsclusters", flags="-h --no-header -j --json -s --start-conf"),
    program("pg_controldata", paths="-D --pgdata", flags="-V --version", operands="path", names_only=True),
    program(
        "pg_config",
        flags="--bindir --docdir --includedir --libdir --pkglibdir --localedir --mandir --sharedir --sysconfdir --pgxs"
        " --configure --cc --cflags --ldflags --libs --version --help",
    ),
    program(
        "mysqladmin mariadb-admin",
        flags="-r --relative -s --silent -v --verbose -E --vertical --no-defaults -V --version",
        values="-u --user -P --port -i --sleep -c --count --connect-timeout",
        optional="-p --password",
        hosts="-h --host",
        operands="text*",
        check=_only_questions,
        follow="-i --sleep",
        bounds="-c --count",
        risk=Risk.HIGH,
    ),
    program(
        "mysqlshow mariadb-show",
        flags="-k --keys -i --status -v --verbose --count --no-defaults -V --version",
        values="-u --user -P --port",
        optional="-p --password",
        hosts="-h --host",
        operands="text text text",
    ),
    program(
        "mongostat mongotop",
        flags="--discover --json --noheaders --version",
        values="-n --rowcount --port -u --username --authenticationDatabase",
        optional="-p --password",
        hosts="-h --host",
        operands="number",
        endless=Category.STREAM,
        bounds="-n --rowcount --version",
    ),
    program(
        "nodetool",
        values="-p --port -u --username",
        hosts="-h --host",
        verbs={
            "status info tpstats compactionstats ring netstats describecluster version gossipinfo": verb(
                flags="-r -H --human-readable", operands="text*"
            ),
            "cfstats tablestats cfhistograms tablehistograms proxyhistograms describering getendpoints listsnapshots"
            " failuredetector statusgossip statusbinary getlogginglevels getcompactionthroughput": verb(
                flags="-H --human-readable", operands="text*"
            ),
        },
        risk=Risk.HIGH,
    ),
    program(
        "cockroach",
        verbs={
            "node": verb(
                verbs={
                    "status ls": verb(
                        flags="--insecure --all --ranges --stats", values="--format", hosts="--host", operands="text*"
                    )
                }
            ),
            "version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "kafka-configs kafka-configs.sh",
        flags="--describe --all --version --help",
        values="--entity-type --entity-name",
        hosts="--bootstrap-server",
        foreign="--command-config",
        destroys="--alter",
        needs="--describe --version --help",
        risk=Risk.HIGH,
    ),
    program(
        "kafka-broker-api-versions kafka-broker-api-versions.sh", hosts="--bootstrap-server", flags="--version --help"
    ),
    program(
        "kcat kafkacat",
        flags="-L -J -C -e -q -u -V",
        hosts="-b",
        values="-t -o -c -p -f",
        needs="-L -C -V",
        endless=Category.STREAM,
        bounds="-L -e -c -V",
    ),
    program("rabbitmq-plugins", verbs={"list": verb(flags="-e -E -v -m -q -s", operands="text?")}, risk=Risk.HIGH),
    program(
        "rabbitmqadmin",
        flags="--version --help",
        values="-V --vhost -f --format -S --sort -d --depth",
        verbs={"list show": verb(operands="text*")},
        risk=Risk.HIGH,
    ),
    program(
        "nats",
        verbs={
            "server": verb(verbs={"info list ls ping": verb(operands="text?")}),
            "stream consumer": verb(
                verbs={"ls list info report": verb(flags="-a --all -n --names -j --json", operands="text*")}
            ),
            "account": verb(verbs={"info": verb()}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "pulumi",
        verbs={
            "version whoami about": verb(),
            "stack": verb(
                verbs={
                    "ls history": verb(flags="-a --all -j --json"),
                    "output": verb(flags="-j --json", operands="text", sensitive="infrastructure state"),
                }
            ),
        },
        risk=Risk.HIGH,
    ),
)

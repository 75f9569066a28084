"""What runs on machines: monitoring, web and mail servers, brokers, stores of settings, virtual machines."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Rewrite
from midwatch.safety.shell.secrets import normalize
from midwatch.safety.shell.verdict import Finding, Risk, write_finding

_HIGH = change(risk=Risk.HIGH)
_HELP = " --help --version"


def _refuse_settings(call: Call) -> Finding | None:
    if any("=" in word.text or not word.known for word in call.operands):
        return write_finding("operands:sets", risk=Risk.HIGH, part=call.program)
    return None


def _keep_to_own_folder(call: Call) -> Finding | None:
    """A configuration may load code, so only the one that the service itself uses is checked."""
    own = f"/etc/{call.program.partition(' ')[0]}/"
    if all(word.known and normalize(word.text).startswith(own) for word in call.values("-f -c --config")):
        return None
    return write_finding("option:foreign", risk=Risk.HIGH, part=call.program)


def _keep_to_system(call: Call) -> Finding | None:
    """Reading elsewhere may make new credentials."""
    if all(word.known and word.text.startswith("sys/") for word in call.operands):
        return None
    return write_finding("operands:makes-credentials", risk=Risk.HIGH, part=call.program)


_TEXTS = verb(operands="text*")

PROGRAMS = collect(
    program(
        "promtool",
        flags="-h" + _HELP,
        verbs={
            "check": verb(
                verbs={
                    "config rules web-config": verb(
                        flags="--syntax-only --lint-fatal", values="--lint", operands="path*"
                    ),
                    "metrics": verb(),
                    "healthy ready": verb(urls="--url"),
                }
            ),
            "test": verb(verbs={"rules": verb(flags="--diff --debug", values="--run", operands="path*")}),
            "query": verb(
                verbs={
                    "instant range labels series analyze": verb(
                        values="--time --start --end --step --match -o --format",
                        foreign="--http.config.file --header",
                        operands="url text*",
                    )
                }
            ),
            "tsdb": verb(
                verbs={
                    "list": verb(flags="-r --human-readable", operands="path"),
                    "analyze": verb(flags="--extended", values="--limit --match", operands="path text"),
                }
            ),
            "debug push": _HIGH,
        },
    ),
    program(
        "amtool",
        flags="-v --verbose" + _HELP,
        values="-o --output --date.format --timeout",
        foreign="--alertmanager.url --config.file --http.config.file",
        inherit=True,
        verbs={
            "alert": verb(
                verbs={
                    "query": verb(
                        flags="-i --inhibited -s --silenced -a --active -u --unprocessed",
                        values="-r --receiver",
                        operands="text*",
                    ),
                    "add": _HIGH,
                },
                default_verb="query",
            ),
            "silence": verb(
                verbs={
                    "query": verb(flags="-q --quiet --expired", values="--within --created-by --id", operands="text*"),
                    "add expire import update": _HIGH,
                },
                default_verb="query",
            ),
            "check-config": verb(operands="path*"),
            "config": verb(
                verbs={
                    "show": verb(sensitive="a configuration"),
                    "routes": verb(verbs={"show test": _TEXTS}, default_verb="show"),
                },
                default_verb="show",
            ),
            "cluster": verb(verbs={"show": verb()}, default_verb="show"),
        },
    ),
    program(
        "logcli",
        flags="-q --quiet --stdin" + _HELP,
        values="-o --output -z --timezone --org-id",
        foreign="--addr --username --password --bearer-token --bearer-token-file --ca-cert --cert --key --config"
        " --cpuprofile --memprofile --tls-skip-verify",
        inherit=True,
        verbs={
            "query instant-query": verb(
                flags="-t --tail -f --follow --forward --no-labels --include-common-labels --colored-output",
                values="--limit --since --from --to --step --interval --batch --now --delay-for --include-label"
                " --exclude-label --labels-length",
                operands="text",
                follow="-t --tail -f --follow",
            ),
            "labels series stats volume volume_range": verb(
                flags="--analyze-labels", values="--since --from --to --limit --step", operands="text*"
            ),
        },
    ),
    program(
        "nginx openresty",
        flags="-t -T -v -V -q -h",
        needs="-t -T -v -V -h",
        foreign="-c -p -g -e",
        destroys="-s",
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "apachectl apache2ctl httpd apache2",
        flags="-t -S -M -v -V -l -L -h",
        needs="-t -S -M -v -V -l -L -h",
        verbs={"configtest": verb(), "start stop restart graceful graceful-stop": _HIGH},
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "haproxy",
        flags="-c -q -V -v",
        paths="-f",
        needs="-c -v",
        conditional=True,
        check=_keep_to_own_folder,
        risk=Risk.HIGH,
    ),
    program(
        "caddy",
        verbs={
            "version list-modules build-info": verb(flags="--packages --versions"),
            "validate": verb(paths="-c --config", values="-a --adapter", check=_keep_to_own_folder),
            "run start stop reload": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program("mailq", flags="-v"),
    program("postqueue", flags="-p -j", needs="-p -j", risk=Risk.HIGH),
    program(
        "postconf",
        flags="-d -h -n -x -H -f -M -P -a -A -l -m",
        operands="text*",
        check=_refuse_settings,
        risk=Risk.HIGH,
    ),
    program(
        "exim exim4",
        flags="-bp -bpc -bpr -bV -Mvh -Mvb -Mvl",
        style="single",
        needs="-bp -bpc -bpr -bV -Mvh -Mvb -Mvl",
        operands="",
        operands_with={"-Mvh -Mvb -Mvl": "text"},
        reveals={"-Mvh": "mail", "-Mvb": "mail"},
        risk=Risk.HIGH,
    ),
    program(
        "rabbitmqctl rabbitmq-diagnostics",
        flags="-q --quiet -s --silent",
        values="-t --timeout -p --vhost --formatter",
        foreign="-n --node -l --longnames --erlang-cookie",
        inherit=True,
        verbs={
            "status cluster_status version ping alarms memory_breakdown": verb(
                flags="--online --offline", values="--unit"
            ),
            "listeners check_running check_local_alarms check_alarms check_port_connectivity node_health_check": verb(),
            "list_queues list_exchanges list_bindings"
            " list_connections list_channels list_consumers list_vhosts": _TEXTS,
            "list_users list_permissions list_policies list_user_permissions list_feature_flags": _TEXTS,
            "list_parameters environment report": verb(operands="text*", sensitive="a configuration"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh",
        flags="--list --describe --under-replicated-partitions --unavailable-partitions --all-groups"
        " --members --verbose"
        " --state --offsets --exclude-internal --help --version",
        values="--topic --group --timeout",
        hosts="--bootstrap-server",
        foreign="--command-config",
        destroys="--create --delete --alter --reset-offsets --execute --delete-offsets",
        needs="--list --describe --help --version",
        risk=Risk.HIGH,
    ),
    program(
        "terraform tofu",
        flags="-version -help",
        style="single",
        foreign="-chdir",
        verbs={
            "version": verb(style="single", flags="-json"),
            "show": verb(style="single", flags="-json -no-color", operands="path?", sensitive="infrastructure state"),
            "output": verb(
                style="single", flags="-json -raw -no-color", operands="text?", sensitive="infrastructure state"
            ),
            "state": verb(
                verbs={
                    "list": verb(style="single", values="-id", operands="text*"),
                    "show": verb(
                        style="single", flags="-json -no-color", operands="text", sensitive="infrastructure state"
                    ),
                    "mv rm push pull replace-provider": _HIGH,
                }
            ),
            "providers workspace": verb(verbs={"list show": verb()}, default_verb="show"),
            "apply destroy import init taint untaint refresh plan console login": _HIGH,
            "fmt": verb(style="single", flags="-check -diff -recursive -no-color", needs="-check", operands="path"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "vault bao",
        flags="-version -help -h",
        style="single",
        foreign="-address -agent-address -ca-cert -namespace -tls-skip-verify",
        verbs={
            "status version": verb(style="single", values="-format"),
            "kv": verb(
                verbs={
                    "list": verb(style="single", values="-mount -format", operands="text*"),
                    "metadata": verb(
                        verbs={
                            "get": verb(style="single", values="-mount -format", operands="text"),
                            "put patch delete": _HIGH,
                        }
                    ),
                    "get": verb(
                        style="single",
                        values="-mount -field -format -version",
                        operands="text",
                        sensitive="vault secrets",
                    ),
                    "put delete destroy undelete patch rollback": _HIGH,
                }
            ),
            "read": verb(
                style="single",
                values="-field -format",
                operands="text",
                sensitive="vault secrets",
                check=_keep_to_system,
            ),
            "list": verb(style="single", values="-format", operands="text"),
            "policy": verb(
                verbs={"list": verb(style="single", values="-format"), "read": verb(style="single", operands="text")}
            ),
            "secrets auth audit": verb(
                verbs={"list": verb(style="single", flags="-detailed", values="-format")}, risk=Risk.HIGH
            ),
            "operator": verb(verbs={"raft": verb(verbs={"list-peers": verb(style="single", values="-format")})}),
            "token": verb(verbs={"lookup": verb(style="single", values="-format", sensitive="an access token")}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "consul",
        verbs={
            "members info version": verb(style="single", flags="-detailed -wan", values="-status -segment -filter"),
            "catalog": verb(
                verbs={
                    "services nodes datacenters": verb(
                        style="single", flags="-detailed -tags", values="-service -node -filter -near"
                    )
                }
            ),
            "kv": verb(
                verbs={
                    "get": verb(
                        style="single", flags="-recurse -keys -detailed", operands="text?", sensitive="stored settings"
                    ),
                    "put delete import": _HIGH,
                }
            ),
            "operator": verb(verbs={"raft": verb(verbs={"list-peers": verb()})}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "nomad",
        verbs={
            "status version": verb(style="single", flags="-verbose -json", operands="text?"),
            "job node alloc deployment eval": verb(
                verbs={
                    "status": verb(
                        style="single",
                        flags="-verbose -json -short -evals -allocs -stats -self -all-allocs",
                        operands="text?",
                    ),
                    "logs": verb(
                        style="single",
                        flags="-f -stderr -tail -verbose",
                        values="-n -c -job -task",
                        operands="text*",
                        follow="-f",
                        bounds="-tail -n",
                        rewrite=Rewrite(add=("-tail",)),
                    ),
                    "history list": verb(style="single", flags="-json -p -full", operands="text?"),
                    "inspect": verb(style="single", flags="-json", operands="text", sensitive="a configuration"),
                    "run stop restart exec drain eligibility promote purge": _HIGH,
                }
            ),
            "server": verb(verbs={"members": verb(style="single", flags="-detailed -verbose -json")}),
            "operator": verb(verbs={"raft": verb(verbs={"list-peers": verb()})}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "etcdctl",
        flags="-h" + _HELP,
        values="-w --write-out --command-timeout --dial-timeout",
        foreign="--endpoints --cacert --cert --key --user --password --insecure-transport --insecure-skip-tls-verify",
        inherit=True,
        verbs={
            "get": verb(
                flags="--prefix --keys-only --count-only --print-value-only --from-key --hex",
                values="--limit --rev --sort-by --order --consistency",
                operands="text text?",
                sensitive="stored settings",
            ),
            "member alarm": verb(verbs={"list": verb()}),
            "endpoint": verb(verbs={"health status hashkv": verb(flags="--cluster")}),
            "version": verb(),
            "put del txn compact defrag snapshot move-leader lease lock elect auth role user watch": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "ceph",
        needs="-s --status",
        flags="-s --status -v -h" + _HELP,
        values="-f --format",
        foreign="-c --conf --cluster -n --name --id -k --keyring -m --mon-host -i -o",
        inherit=True,
        verbs={
            "status health df fsid version versions quorum_status": verb(operands="text?"),
            "orch": verb(verbs={"ps ls status": _TEXTS, "host device": verb(verbs={"ls": _TEXTS})}),
            "crash": verb(verbs={"ls ls-new": verb(), "info": verb(operands="text")}),
            "config": verb(verbs={"dump": verb(sensitive="a configuration"), "get": _TEXTS}),
            "auth": verb(verbs={"ls list get": verb(operands="text*", sensitive="cluster credentials")}),
            "device": verb(verbs={"ls": verb(), "info": verb(operands="text")}),
            "osd": verb(
                verbs={
                    "tree df stat status perf dump ls": verb(),
                    "pool": verb(verbs={"ls stats": verb(operands="text?")}),
                }
            ),
            "mon mgr mds fs": verb(verbs={"stat status ls dump": verb()}),
            "pg": verb(verbs={"stat dump ls": verb(operands="text?"), "dump_stuck": _TEXTS}),
        },
        risk=Risk.HIGH,
    ),
    ("chef-client salt salt-call", _HIGH),
)

"""Around clusters and images: deployment tools, meshes, backups and registries, by the questions they answer."""

from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.phrases import keep_operands, say
from midwatch.safety.shell.verdict import Category, Risk

_TEXTS = verb(operands="text*")
_LISTS = verb(verbs={"list get": _TEXTS})
_SCOPE = "-n --namespace -o --output -l --selector"
_NAMES = r"(?:docker://)?[\w./@-]+(?::\w[\w.-]*)?(?:@sha256:[0-9a-f]+)?"

PROGRAMS = collect(
    program(
        "argocd",
        flags="-h --help",
        values="-o --output",
        inherit=True,
        verbs={
            "app": verb(
                values="-p --project -l --selector --revision --kind --name --namespace --tail -c --container",
                inherit=True,
                verbs={"list get history resources manifests logs": _TEXTS},
            ),
            "cluster repo proj appset": _LISTS,
            "account": verb(verbs={"list get get-user-info can-i": _TEXTS}),
            "version": verb(flags="--client --short"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "flux",
        flags="-A --all-namespaces -h --help -v --version",
        values="-n --namespace --timeout",
        inherit=True,
        verbs={
            "get": verb(flags="--no-header -w --watch", values="--status-selector", follow="-w", operands="text*"),
            "logs": verb(
                flags="-f --follow", values="--level --kind --name --since --tail", follow="-f --follow", operands=""
            ),
            "check events stats version": verb(
                flags="--pre --client -w --watch", values="--for -o", follow="-w --watch"
            ),
            "tree": _TEXTS,
        },
        risk=Risk.HIGH,
    ),
    program(
        "istioctl",
        flags="-h --help",
        values="-n --namespace -i --istioNamespace -o --output",
        inherit=True,
        verbs={
            "version": verb(flags="--short", optional="--remote"),
            "proxy-status ps": verb(operands="text?"),
            "analyze": verb(flags="-A --all-namespaces", operands="path*"),
            "proxy-config pc": verb(
                verbs={
                    "route routes r cluster clusters c listener listeners l endpoint endpoints ep bootstrap all": verb(
                        values="--port --address --fqdn --subset --direction --name --status --type", operands="text"
                    ),
                    "secret secrets s": verb(operands="text", sensitive="network keys"),
                }
            ),
            "profile": verb(verbs={"list": verb()}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "linkerd",
        flags="-h --help",
        values="-n --namespace -o --output",
        inherit=True,
        verbs={
            "version": verb(flags="--short --client --proxy"),
            "check": verb(flags="--pre --proxy --short"),
            "viz": verb(
                verbs={
                    "stat edges routes": verb(flags="-A --all-namespaces", values="--to --from -t", operands="text*")
                }
            ),
        },
        risk=Risk.HIGH,
    ),
    program(
        "cilium",
        flags="-h --help",
        values="-o --output -n --namespace",
        inherit=True,
        verbs={
            "status": verb(flags="--verbose --brief --all-addresses --all-controllers --all-health --all-nodes"),
            "version": verb(flags="--client"),
            "endpoint service identity node": verb(verbs={"list get": _TEXTS}),
            "policy": verb(verbs={"get selectors": _TEXTS}),
            "monitor": verb(values="-t --type --related-to --from --to", endless=Category.STREAM),
        },
        risk=Risk.HIGH,
    ),
    program(
        "calicoctl",
        flags="-h --help",
        verbs={
            "get": verb(flags="-a -A --all-namespaces", values=_SCOPE, operands="text*"),
            "node": verb(verbs={"status": verb()}),
            "ipam": verb(verbs={"show": verb(flags="--show-blocks", optional="--ip")}),
            "version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "kubeadm",
        flags="-h --help",
        verbs={
            "version": verb(values="-o --output"),
            "token": verb(verbs={"list": verb(values="-o --output", sensitive="cluster credentials")}),
            "certs": verb(verbs={"check-expiration": verb()}),
            "config": verb(
                verbs={
                    "images": verb(verbs={"list": verb(values="--kubernetes-version")}),
                    "print": verb(verbs={"init-defaults join-defaults": verb()}),
                }
            ),
        },
        risk=Risk.HIGH,
    ),
    program(
        "minikube",
        flags="-h --help",
        values="-p --profile",
        inherit=True,
        verbs={
            "status ip version": verb(values="-o --output -f --format", flags="--short"),
            "profile addons service node": verb(verbs={"list": verb(values="-o --output")}),
            "logs": verb(flags="-f --follow --problems", values="-n --length", follow="-f --follow"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "kind",
        flags="-h --help --version",
        verbs={
            "get": verb(
                verbs={
                    "clusters nodes": verb(flags="-A --all-clusters", values="-n --name"),
                    "kubeconfig": verb(values="-n --name", sensitive="cluster credentials"),
                }
            ),
            "version": verb(flags="-q"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "velero",
        flags="-h --help",
        values=_SCOPE,
        inherit=True,
        verbs={
            # Details and logs are asked for by an object that is made in the cluster.
            "backup restore schedule backup-location snapshot-location": verb(verbs={"get describe": _TEXTS}),
            "get describe": _TEXTS,
            "version": verb(flags="--client-only"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "stern",
        flags="-A --all-namespaces -t --timestamps --no-follow --only-log-lines -h --help -v --version",
        values="-n --namespace -s --since --tail -l --selector -c --container -E --exclude-container -e --exclude -i"
        " --include -o --output --color --container-state --field-selector --template",
        operands="text?",
        endless=Category.STREAM,
        bounds="--no-follow -v --version -h --help",
    ),
    program(
        "skopeo",
        flags="-v --version -h --help",
        verbs={
            "inspect": verb(
                flags="--raw --config --no-tags -n", values="--format", operands="url", check=keep_operands(_NAMES)
            ),
            "list-tags": verb(operands="url", check=keep_operands(_NAMES)),
        },
        risk=Risk.HIGH,
    ),
    program(
        "crane",
        verbs={
            "ls manifest digest config catalog": verb(
                flags="--full-ref", values="--platform", operands="url", check=keep_operands(_NAMES)
            ),
            "version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "buildah",
        flags="-v --version -h --help",
        verbs={
            "images containers": verb(flags="-a --all -q --quiet --json --no-trunc", values="--format -f --filter"),
            "inspect": verb(values="-t --type -f --format", operands="text"),
            "version info": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "runc crun",
        flags="-v --version -h --help",
        verbs={
            "list": verb(flags="-q --quiet", values="-f --format"),
            "state": verb(operands="text"),
            "ps": verb(values="-f --format", operands="text"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "lxc incus",
        flags="-h --help --version -q --quiet",
        values="-f --format -c --columns --project",
        inherit=True,
        verbs={
            "list ls info version": _TEXTS,
            "image network storage": verb(verbs={"list ls info show": _TEXTS}),
            "profile": verb(verbs={"list ls show": _TEXTS}),
            "config": verb(verbs={"show": verb(flags="-e --expanded", operands="text?", sensitive="a configuration")}),
            "remote cluster project operation": verb(verbs={"list ls": _TEXTS}),
        },
        risk=Risk.HIGH,
    ),
    program("lxc-ls", flags="-1 -f --fancy -l --active --running --stopped --frozen --defined -h --help --version"),
    program("lxc-info", flags="-i --ips -p --pid -S --stats -s --state -H --no-humanize -h --help", values="-n --name"),
    program(
        "gluster",
        operands="text*",
        check=say(
            r"volume (?:info|status)(?: [\w-]+)?(?: (?:detail|clients|mem|inode|fd|tasks))?",
            r"volume (?:list|heal [\w-]+ info(?: summary| split-brain)?|rebalance [\w-]+ status|quota [\w-]+ list)",
            r"(?:peer status|pool list|snapshot list)",
        ),
    ),
    program("drbdadm", flags="-h --help", operands="text*", check=say(r"(?:status|cstate|dstate|role)(?: [\w.-]+)?")),
    program(
        "pcs",
        flags="--full",
        operands="text*",
        check=say(
            r"status(?: (?:resources|nodes|cluster|quorum|corosync|pcsd|groups|xml))?",
            r"(?:resource|stonith)(?: (?:status|config|show)(?: [\w-]+)?)?",
            r"(?:cluster|quorum) status|constraint(?: (?:list|config|show))?|property(?: (?:list|config|show))?|config",
        ),
    ),
    program(
        "crm",
        operands="text*",
        check=say(
            r"status|configure show(?: [\w-]+)*|resource (?:list|status|show)(?: [\w-]+)?|node (?:show|list|status)",
        ),
    ),
    program(
        "crm_mon",
        flags="-1 --one-shot -r --inactive -f --failcounts -A --show-node-attributes -n --group-by-node -R"
        " --show-detail -t --timing-details -o --operations -c --tickets -D --hide-headers -V --version",
        endless=Category.STREAM,
        bounds="-1 --one-shot -V --version",
    ),
    program("corosync-cfgtool", flags="-s -b -n", needs="-s -n", risk=Risk.HIGH),
    program("corosync-quorumtool", flags="-s -l -i -p -V", risk=Risk.HIGH),
)

"""Clusters: kubectl and oc by their reading verbs, helm by what it stores, and the small switches beside them."""

import re

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Program, Rewrite
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, write_finding

_HIGH = change(risk=Risk.HIGH)
_SECRETS = re.compile(r"(?:^|,)secrets?(?=$|[/.,])", re.IGNORECASE)
_ABOUT = re.compile(r"/(?:healthz|readyz|livez|metrics|version)(?:/[\w-]+)*(?:\?verbose)?")
_FOREIGN = (
    "--context --cluster --user --kubeconfig -s --server --token --as --as-group --as-uid --certificate-authority"
    " --client-certificate --client-key --tls-server-name --insecure-skip-tls-verify --username --password"
    " --cache-dir --profile --profile-output --kuberc"
)


def _watch_for_secrets(call: Call) -> Finding | None:
    if any(not (word.known and _ABOUT.fullmatch(word.text)) for word in call.values("--raw")):
        return write_finding("option:foreign", risk=Risk.HIGH, part=f"{call.program} --raw")
    if any(_SECRETS.search(word.text) for word in call.operands):
        return Finding(
            Intent.CERTAIN, f"read:{call.program}", Phase.READ, part=call.program, sensitive=("Kubernetes secrets",)
        )
    return None


def _keep_to_files(call: Call) -> Finding | None:
    """A chart that is not a folder here is fetched and kept."""
    local = all(word.known and "://" not in word.text for word in call.values("-f --values"))
    if local and call.operands and call.operands[-1].known and call.operands[-1].text.startswith((".", "/")):
        return None
    return write_finding("operands:fetches", risk=Risk.HIGH, part=call.program)


_WAITS = Rewrite(add=("--watch=false",))
_GET = verb(
    flags="-A --all-namespaces -w --watch-only --no-headers --ignore-not-found --show-kind --show-labels"
    " --allow-missing-template-keys --help -h",
    optional="--watch --server-print --show-managed-fields",
    values="-l --selector -L --label-columns --field-selector -o --output --sort-by --chunk-size --template"
    " --subresource --raw",
    operands="text*",
    follow="-w --watch --watch-only",
    check=_watch_for_secrets,
)
_DESCRIBE = verb(
    flags="-A --all-namespaces --help -h",
    optional="--show-events",
    values="-l --selector --chunk-size",
    operands="text*",
    check=_watch_for_secrets,
)
_LOGS = verb(
    flags="-f -p --previous --timestamps --prefix --ignore-errors --all-pods --help -h",
    optional="--follow --all-containers",
    values="-c --container --tail --since --since-time --limit-bytes -l --selector --max-log-requests"
    " --pod-running-timeout",
    operands="text*",
    follow="-f --follow",
    bounds="--tail --since --since-time --limit-bytes",
    rewrite=Rewrite(add=("--tail=200", "--since=10m")),
)
_EXEC = verb(
    flags="-i -t -q --quiet",
    optional="--stdin --tty",
    values="-c --container --pod-running-timeout",
    tty="-i -t --stdin --tty",
    operands="pod argv",
)
_TOP_ROWS = verb(
    flags="-A --all-namespaces --containers --no-headers --sum --show-capacity --help -h",
    optional="--use-protocol-buffers",
    values="-l --selector --field-selector --sort-by",
    operands="text?",
)
_TOP = verb(verbs={"pod pods po node nodes no": _TOP_ROWS}, flags="--help -h")
_ROLLOUT = verb(
    verbs={
        "status": verb(
            flags="-w",
            optional="--watch",
            values="--timeout --revision -l --selector",
            operands="text*",
            bounds="--timeout",
        ),
        "history": verb(values="--revision -o --output -l --selector", operands="text*"),
        "restart undo pause resume": _HIGH,
    }
)
_AUTH = verb(
    verbs={
        "can-i": verb(
            flags="-A --all-namespaces --list --no-headers -q --quiet", values="--subresource", operands="text*"
        ),
        "whoami": verb(values="-o --output"),
        "reconcile": _HIGH,
    }
)
_CONFIG = verb(
    verbs={
        "view": verb(
            flags="--minify --flatten --raw",
            optional="--merge",
            values="-o --output --template",
            reveals={"--raw": "cluster credentials", "--flatten": "cluster credentials"},
        ),
        "get-contexts": verb(flags="--no-headers", values="-o --output", operands="text*"),
        "current-context get-clusters get-users": verb(),
        "set set-context set-cluster set-credentials use-context unset rename-context": _HIGH,
        "delete-context delete-cluster delete-user": _HIGH,
    }
)
_VERBS: dict[str, Program] = {
    "get": _GET,
    "describe": _DESCRIBE,
    "logs log": _LOGS,
    "exec": _EXEC,
    "top": _TOP,
    "explain": verb(flags="--recursive", values="--api-version -o --output", operands="text*"),
    "api-resources": verb(
        flags="--no-headers",
        optional="--namespaced --cached",
        values="--api-group --verbs -o --output --sort-by --categories",
    ),
    "api-versions": verb(),
    "version": verb(flags="--short", optional="--client", values="-o --output"),
    "cluster-info options": verb(),
    "auth": _AUTH,
    "config": _CONFIG,
    "rollout": _ROLLOUT,
    "events": verb(
        flags="-A --all-namespaces -w --no-headers",
        optional="--watch",
        values="--for --types -o --output --chunk-size",
        follow="-w --watch",
        rewrite=_WAITS,
    ),
    "wait": verb(
        flags="-A --all-namespaces --all",
        values="--for --timeout -l --selector --field-selector -o --output",
        operands="text*",
    ),
    "apply create delete edit patch replace scale autoscale label annotate set expose run attach debug cp": _HIGH,
    "cordon uncordon drain taint certificate port-forward proxy": _HIGH,
}
_OPENSHIFT_VERBS: dict[str, Program] = {
    "whoami": verb(
        flags="--show-console --show-context --show-server -c -t --show-token",
        reveals={"-t": "an access token", "--show-token": "an access token"},
    ),
    "projects": verb(flags="-q --short"),
    "project": verb(flags="-q --short"),  # with a name it switches
    "status": verb(flags="-A --all-namespaces --suggest", values="-o --output"),
    "adm": verb(
        verbs={
            "top": verb(verbs={"pods pod node nodes images imagestreams": _TOP_ROWS}),
            "policy prune drain cordon uncordon taint upgrade must-gather certificate": _HIGH,
        }
    ),
    "new-app new-project new-build start-build cancel-build import-image rsh rsync process tag login logout": _HIGH,
}
_KUBECTL = verb(
    flags="--match-server-version --warnings-as-errors --help -h",
    values="-n --namespace --request-timeout",
    foreign=_FOREIGN,
    inherit=True,
    risk=Risk.HIGH,
    verbs=_VERBS,
)
_HELM_FOREIGN = (
    "--kube-context --kubeconfig --kube-apiserver --kube-token --kube-ca-file --kube-as-user --kube-as-group"
    " --kube-tls-server-name --kube-insecure-skip-tls-verify --registry-config --repository-config"
    " --repository-cache --content-cache"
)

PROGRAMS = collect(
    ("kubectl k k3s-kubectl", _KUBECTL),
    program(
        "oc",
        flags="--match-server-version --warnings-as-errors --help -h",
        values="-n --namespace --request-timeout",
        foreign=_FOREIGN,
        inherit=True,
        risk=Risk.HIGH,
        verbs={**_VERBS, **_OPENSHIFT_VERBS},
    ),
    program(
        "helm",
        flags="--debug --help -h",
        values="-n --namespace --burst-limit --qps",
        foreign=_HELM_FOREIGN,
        inherit=True,
        risk=Risk.HIGH,
        verbs={
            "list ls": verb(
                flags="-a --all -A --all-namespaces -d --date --deployed --failed --no-headers --pending -r --reverse"
                " -q --short --superseded --uninstalled --uninstalling",
                values="-f --filter -m --max --offset -o --output -l --selector --time-format",
            ),
            "status": verb(flags="--show-desc --show-resources", values="-o --output --revision", operands="text"),
            "history hist": verb(values="--max -o --output", operands="text"),
            "get": verb(
                verbs={
                    "notes hooks metadata": verb(values="-o --output --revision", operands="text"),
                    "values manifest all": verb(
                        flags="-a --all",
                        values="-o --output --revision --template",
                        operands="text",
                        sensitive="release values",
                    ),
                }
            ),
            "version": verb(flags="--short", values="--template"),
            "env": verb(operands="text?", sensitive="an environment"),
            "repo": verb(
                verbs={
                    "list ls": verb(flags="--no-headers", values="-o --output"),
                    "add remove rm update up index": _HIGH,
                }
            ),
            "plugin": verb(verbs={"list ls": verb(), "install uninstall update": _HIGH}),
            "search": verb(
                verbs={
                    "repo": verb(
                        flags="-l --versions -r --regexp --devel --fail-on-no-result",
                        values="-o --output --version --max-col-width",
                        operands="text*",
                    ),
                    "hub": verb(flags="--list-repo-url", values="-o --output --max-col-width", operands="text*"),
                }
            ),
            "lint template": verb(
                flags="--strict --quiet --include-crds --skip-tests",
                values="--set --set-string -s --show-only --kube-version -a --api-versions",
                paths="-f --values",
                operands="text text",
                conditional=True,
                check=_keep_to_files,
            ),
            "show inspect": verb(
                verbs={"chart values readme all crds": verb(operands="text", conditional=True, check=_keep_to_files)}
            ),
            "install upgrade uninstall delete del rollback test create package push pull dependency": _HIGH,
        },
    ),
    program(
        "k3s microk8s",
        flags="--version -h --help",
        verbs={"kubectl": _KUBECTL, "check-config": verb(), "status": verb()},
        risk=Risk.HIGH,
    ),
    program("kubectx kubens", flags="-c --current -h --help"),  # with a name they switch
)

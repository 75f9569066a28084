"""Containers on one machine: docker and those that copy its words, and the tools of the runtimes below."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Program, Rewrite
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk

_HIGH = change(risk=Risk.HIGH)
_CHANGES = (
    "run create start stop restart kill rm pause unpause rename update attach commit cp build push pull load import"
    " save export tag rmi login logout prune wait swarm plugin trust checkpoint init"
)

_LIST = verb(
    flags="-a --all -q --quiet -s --size --no-trunc -l --latest --help",
    values="-f --filter --format -n --last",
)
_IMAGES = verb(
    flags="-a --all -q --quiet --no-trunc --digests --tree --help", values="-f --filter --format", operands="text?"
)


def _watch_for_environments(call: Call) -> Finding | None:
    if not any("Env" in word.text for word in call.values("-f --format")):
        return None
    return Finding(Intent.CERTAIN, f"read:{call.program}", Phase.READ, part=call.program, sensitive=("an environment",))


_INSPECT = verb(flags="-s --size --help", values="-f --format --type", operands="text*", check=_watch_for_environments)
_LOGS = verb(
    flags="-f --follow -t --timestamps --details --help",
    values="-n --tail --since --until",
    operands="text",
    follow="-f --follow",
    bounds="-n --tail --since --until",
    rewrite=Rewrite(add=("--tail=200",)),
)
_STATS = verb(
    flags="-a --all --no-stream --no-trunc --help",
    values="--format",
    operands="text*",
    endless=Category.STREAM,
    bounds="--no-stream",
    rewrite=Rewrite(add=("--no-stream",)),
)
_EVENTS = verb(values="-f --filter --format --since --until", flags="--help", endless=Category.STREAM, bounds="--until")
_EXEC = verb(
    style="stop",
    flags="-i --interactive -t --tty --help",
    values="-u --user -w --workdir --detach-keys",
    tty="-i --interactive -t --tty",
    operands="container argv",
)
_TOP = verb(style="stop", operands="text text*")
_HISTORY = verb(flags="-H --human --no-trunc -q --quiet --help", values="--format", operands="text")
_ABOUT = verb(flags="--help", values="-f --format")
_NAMES = verb(flags="-q --quiet --no-trunc --no-resolve --help", values="-f --filter --format", operands="text*")
_DETAILS = verb(flags="--pretty --help", values="-f --format", operands="text*")
_PLAIN = verb(flags="--help", operands="text*")

_CONTAINER_VERBS: dict[str, Program] = {
    "ls list ps": _LIST,
    "inspect": _INSPECT,
    "logs": _LOGS,
    "stats": _STATS,
    "top": _TOP,
    "port diff": _PLAIN,
    "exec": _EXEC,
    "run create start stop restart kill rm pause unpause rename update attach commit cp export prune wait": _HIGH,
}
_IMAGE_VERBS: dict[str, Program] = {
    "ls list": _IMAGES,
    "inspect": _INSPECT,
    "history": _HISTORY,
    "rm build pull push prune load save import tag": _HIGH,
}
_SYSTEM_VERBS: dict[str, Program] = {
    "df": verb(flags="-v --verbose --help", values="--format"),
    "info": _ABOUT,
    "events": _EVENTS,
    "prune": _HIGH,
}
_STORED_VERBS: dict[str, Program] = {
    "ls list": _NAMES,
    "inspect": _DETAILS,
    "create rm remove prune connect disconnect update": _HIGH,
}
_COMPOSE = verb(
    flags="--help --compatibility",
    values="-p --project-name --profile --progress --ansi",
    foreign="-f --file --project-directory --env-file --parallel",
    verbs={
        "ps": verb(
            flags="-a --all -q --quiet --services --no-trunc --orphans --help",
            values="--filter --format --status",
            operands="text*",
        ),
        "ls": verb(flags="-a --all -q --quiet --help", values="--filter --format"),
        "logs": verb(
            flags="-f --follow -t --timestamps --no-color --no-log-prefix --help",
            values="-n --tail --since --until --index",
            operands="text*",
            follow="-f --follow",
            bounds="-n --tail --since --until",
            rewrite=Rewrite(add=("--tail=200",)),
        ),
        "images": verb(flags="-q --quiet --help", values="--format", operands="text*"),
        "top port version": verb(flags="--short --help", values="-f --format --protocol --index", operands="text*"),
        "config convert": verb(
            flags="-q --quiet --services --volumes --images --profiles --no-interpolate --no-normalize --help",
            values="--format --hash",
            operands="text*",
            sensitive="an environment",
        ),
        "up down start stop restart kill rm run create build pull push pause unpause scale cp watch exec": _HIGH,
    },
)
_VERBS: dict[str, Program] = {
    "ps": _LIST,
    "images": _IMAGES,
    "inspect": _INSPECT,
    "logs": _LOGS,
    "stats": _STATS,
    "top": _TOP,
    "port diff": _PLAIN,
    "history": _HISTORY,
    "events": _EVENTS,
    "exec": _EXEC,
    "version info": _ABOUT,
    "container": verb(verbs=_CONTAINER_VERBS, flags="--help"),
    "image": verb(verbs=_IMAGE_VERBS, flags="--help"),
    "system": verb(verbs=_SYSTEM_VERBS, flags="--help"),
    "volume network": verb(verbs=_STORED_VERBS, flags="--help"),
    "compose": _COMPOSE,
    _CHANGES: _HIGH,
}
_SWARM_VERBS: dict[str, Program] = {
    "node": verb(verbs={"ls list ps": _NAMES, "inspect": _DETAILS, "update rm promote demote": _HIGH}, flags="--help"),
    "service": verb(
        verbs={
            "ls list ps": _NAMES,
            "inspect": _DETAILS,
            "logs": verb(
                flags="-f --follow -t --timestamps --details --no-resolve --no-task-ids --no-trunc --raw --help",
                values="-n --tail --since",
                operands="text",
                follow="-f --follow",
                bounds="-n --tail --since",
                rewrite=Rewrite(add=("--tail=200",)),
            ),
            "create update rm scale rollback": _HIGH,
        },
        flags="--help",
    ),
    "stack": verb(verbs={"ls list ps services": _NAMES, "deploy rm up down config": _HIGH}, flags="--help"),
    "secret": verb(verbs={"ls list": _NAMES, "inspect": _DETAILS, "create rm": _HIGH}, flags="--help"),
    "context": verb(verbs={"ls list show": _NAMES, "create use rm update import export": _HIGH}, flags="--help"),
}
_POD_VERBS: dict[str, Program] = {
    "pod": verb(
        verbs={
            "ls list ps": verb(
                flags="-q --quiet --no-trunc --ctr-names --ctr-ids --ctr-status --ns --help",
                values="-f --filter --format --sort",
            ),
            "inspect": _DETAILS,
            "logs": _LOGS,
            "stats": _STATS,
            "top": _TOP,
            "create start stop restart kill rm pause unpause prune": _HIGH,
        },
        flags="--help",
    ),
}
_GLOBAL_VALUES = "-l --log-level"
_RUNTIME_LIST = verb(
    flags="-a --all -q --quiet --no-trunc -v --verbose -l --latest -r --resolve-image-path",
    values="--id --name --namespace --pod --label --state --image -o --output -n --last",
    operands="text*",
)
_RUNTIME_DETAILS = verb(flags="-q --quiet", values="-o --output --template", operands="text*")

PROGRAMS = collect(
    program(
        "docker",
        flags="-D --debug -v --version --help",
        values=_GLOBAL_VALUES,
        foreign="-H --host -c --context --config --tls --tlscacert --tlscert --tlskey --tlsverify",
        risk=Risk.HIGH,
        verbs={**_VERBS, **_SWARM_VERBS},
    ),
    program(
        "podman",
        flags="-v --version --help",
        values="--log-level",
        foreign="-r --remote --url -c --connection --root --runroot --runtime --config --module --hooks-dir --identity",
        risk=Risk.HIGH,
        verbs={**_VERBS, **_POD_VERBS},
    ),
    program(
        "nerdctl",
        flags="--debug -v --version --help",
        values="-n --namespace",
        foreign="-a --address -H --host --data-root --cni-path --cni-netconfpath --hosts-dir --snapshotter",
        risk=Risk.HIGH,
        verbs=_VERBS,
    ),
    (
        "docker-compose podman-compose",
        _COMPOSE,
    ),
    program(
        "crictl",
        flags="-D --debug --help -h -v --version",
        values="-t --timeout",
        foreign="-r --runtime-endpoint -i --image-endpoint -c --config",
        risk=Risk.HIGH,
        verbs={
            "ps pods images image img": _RUNTIME_LIST,
            "inspect inspecti inspectp": _RUNTIME_DETAILS,
            "info version imagefsinfo runtime-config": _RUNTIME_DETAILS,
            "logs": verb(
                flags="-f --follow -p --previous -t --timestamps",
                values="--tail --since --limit-bytes",
                operands="text",
                follow="-f --follow",
                bounds="--tail --since --limit-bytes",
                rewrite=Rewrite(add=("--tail=200",)),
            ),
            "stats statsp": verb(
                flags="-a --all -w --watch",
                values="--id --label -o --output -s --seconds --name",
                operands="text*",
                follow="-w --watch",
            ),
            "exec": verb(
                style="stop",
                flags="-i --interactive -t --tty -s --sync",
                values="--timeout",
                tty="-i --interactive -t --tty",
                operands="container argv",
            ),
            "run runp create start stop stopp rm rmp rmi pull update attach port-forward checkpoint config": _HIGH,
        },
    ),
    program(
        "ctr",
        flags="--debug -v --version -h --help",
        values="-n --namespace --timeout --connect-timeout",
        foreign="-a --address",
        risk=Risk.HIGH,
        verbs={
            "containers container c": verb(
                verbs={"ls list info": verb(flags="-q --quiet", operands="text*"), "create rm delete": _HIGH}
            ),
            "images image i": verb(verbs={"ls list check": verb(flags="-q --quiet", operands="text*")}),
            "tasks task t": verb(
                verbs={"ls list ps metrics": verb(flags="-q --quiet", values="--format", operands="text*")}
            ),
            "namespaces namespace ns": verb(verbs={"ls list": verb(flags="-q --quiet")}),
            "plugins plugin snapshots snapshot content leases": verb(verbs={"ls list": verb(flags="-q --quiet")}),
            "version info": verb(),
        },
    ),
)

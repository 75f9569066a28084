"""Clouds: their tools have thousands of verbs, so a verb reads if its name says so and its path is a known one."""

import re

from midwatch.safety.shell.programs.answers import changes, reads
from midwatch.safety.shell.programs.build import collect
from midwatch.safety.shell.programs.model import Judgement
from midwatch.safety.shell.verdict import Category
from midwatch.safety.shell.words import Word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_AWS_VALUES = frozenset({"--region", "--output", "--query", "--color", "--cli-read-timeout", "--cli-connect-timeout"})
_AWS_FLAGS = frozenset({"--no-paginate", "--no-cli-pager", "--version"})
_AWS_FOREIGN = _words(
    "--endpoint-url --profile --no-verify-ssl --ca-bundle --cli-input-json --cli-input-yaml --no-sign-request --debug"
    " --cli-auto-prompt --outfile --cli-binary-format"
)
_AWS_READS = re.compile(r"(?:describe|list|get|batch-get|lookup|filter|search)-[a-z0-9-]+")
_AWS_FILES = re.compile(
    r"get-(?:object|job-output|media|snapshot-block|export|sdk|clip|tape|image|map-|tile|sprites|glyphs|static-map"
    r"|style-descriptor|thing-shadow|configuration|latest-configuration|profile|raw-message|code-binding|read-set"
    r"|reference|work-unit-results|package-version-asset|id$|open-id-token|registration-code|stream|content|asset"
    r"|document|file|blob|session$|data$|session-token|federation-token|cluster-credentials|cluster-session-credentials"
    r"|instance-access|credentials-for-identity|workload-access-token|access-grants-instance-for|data-access).*"
)
"""These write what they fetch into a file that is an operand, or make what they fetch."""
_AWS_SECRETS = re.compile(
    r"get-(?:secret-value|random-password|password-data|login.*|authorization-token|token"
    r"|parameters?.*|function.*|role-credentials|credentials.*|access-token.*|key-pair|certificate|bucket-policy)"
    r"|batch-get-secret-value|describe-instance-attribute|describe-task-definition|get-relational-database.*"
)
_LOCAL = ("file://", "fileb://", "http://", "https://")

_GOOGLE_GROUPS = _words(
    "compute instances instance-groups instance-templates managed disks snapshots images networks subnets"
    " firewall-rules"
    " addresses forwarding-rules backend-services url-maps health-checks operations zones regions"
    " machine-types container"
    " clusters node-pools projects iam service-accounts roles logging logs sinks sql databases run"
    " services revisions jobs"
    " functions pubsub topics subscriptions dns managed-zones record-sets storage buckets auth config configurations"
    " monitoring dashboards redis builds artifacts repositories secrets versions routers routes"
    " vpn-tunnels app organizations"
    " folders quotas deployments components alpha beta"
)
_GOOGLE_READS = frozenset({"list", "describe", "get-value", "info", "get-iam-policy", "read", "version", "get-health"})
_AZURE_GROUPS = _words(
    "vm vmss aks group account network vnet subnet nsg rule public-ip lb nic storage container blob share resource"
    " acr repository sql server db webapp functionapp monitor activity-log metrics log-analytics"
    " workspace disk snapshot"
    " image appservice plan dns zone record-set redis cosmosdb postgres mysql role assignment definition policy tag"
    " deployment nodepool keyvault"
)
_AZURE_READS = re.compile(r"(?:list(?:-[a-z-]+)?|show|get-instance-view|exists)")
_AZURE_SECRETS = re.compile(r"list-(?:keys|credentials|connection-strings|sas|publishing-.*)")
_GOOGLE_VALUES = _words(
    "--format --filter --limit --project --zone --zones --region --regions --sort-by --page-size --location --cluster"
    " --freshness --order --instance --service --topic --flatten --verbosity"
)
_AZURE_VALUES = _words(
    "-o --output -g --resource-group -n --name --query --subscription -l --location --vm-name --vnet-name --nsg-name"
    " --server --account-name --container-name --workspace --start-time --end-time --offset --max-events"
)
_OTHER_GROUPS = {
    "doctl": _words(
        "account compute droplet kubernetes cluster node-pool databases apps domain records volume"
        " load-balancer firewall"
        " registry repository image region size snapshot ssh-key tag vpcs projects invoice balance"
    ),
    "hcloud": _words(
        "server volume network firewall load-balancer image server-type location datacenter floating-ip"
        " primary-ip ssh-key"
        " certificate placement-group iso context"
    ),
}
_OTHER_READS = {"doctl": frozenset({"list", "ls", "get"}), "hcloud": frozenset({"list", "describe"})}
_OTHER_VALUES = frozenset({"--format", "-o", "--output", "-l", "--selector", "--sort", "--region", "--tag-name"})


def _aws(name: str, words: tuple[Word, ...]) -> Judgement:
    texts = [word.text for word in words]
    path, rest = _split_path(texts, flags=_AWS_FLAGS, values=_AWS_VALUES, most=2)
    if not all(word.known for word in words):
        return changes("expansion:option", name)
    if path is None or any(_starts_option(text, _AWS_FOREIGN) for text in texts):
        return changes("option:foreign", name)
    if any(value.partition("=")[2].startswith(_LOCAL) or value.startswith(_LOCAL) for value in rest):
        return changes("operands:file", name)
    if path == ["logs", "tail"]:
        return reads(f"{name} logs tail", endless=Category.STREAM if "--follow" in rest else None)
    return _judge_aws(name, path)


def _judge_aws(name: str, path: list[str]) -> Judgement:
    match path:
        case []:
            return reads(name)
        case ["configure", "list" | "list-profiles"]:
            return reads(f"{name} configure list")
        case ["s3", "ls"]:
            return reads(f"{name} s3 ls")
        case [service, verb] if _NAME.fullmatch(service) and _AWS_READS.fullmatch(verb):
            if _AWS_FILES.fullmatch(verb):
                return changes("verb:writes", f"{name} {verb}")
            secret = ("cloud secrets",) if _AWS_SECRETS.fullmatch(verb) else ()
            return reads(f"{name} {service} {verb}", sensitive=secret)
        case _:
            return changes("verb:unknown", name)


def _gcloud(name: str, words: tuple[Word, ...]) -> Judgement:
    path = _read_path(words, values=_GOOGLE_VALUES, flags=frozenset({"--uri", "-q", "--quiet"}))
    if path is None:
        return changes("option:unknown", name)
    for place, word in enumerate(path):
        if word in _GOOGLE_READS:
            is_log = word != "read" or path[:place] == ["logging"]
            return reads(f"{name} {' '.join(path[: place + 1])}") if is_log else changes("verb:unknown", name)
        if word not in _GOOGLE_GROUPS:
            break
    return changes("verb:unknown", name)


def _azure(name: str, words: tuple[Word, ...]) -> Judgement:
    path = _read_path(
        words, values=_AZURE_VALUES, flags=frozenset({"-d", "--show-details", "--only-show-errors", "--version"})
    )
    if path is None:
        return changes("option:unknown", name)
    if [word.text for word in words] in (["--version"], ["version"]):
        return reads(name)
    *groups, verb = path or [""]
    if not groups or not all(group in _AZURE_GROUPS for group in groups) or not _AZURE_READS.fullmatch(verb):
        return changes("verb:unknown", name)
    secret = ("cloud secrets",) if _AZURE_SECRETS.fullmatch(verb) else ()
    return reads(f"{name} {' '.join(path)}", sensitive=secret)


def _other(name: str, words: tuple[Word, ...]) -> Judgement:
    path = _read_path(words, values=_OTHER_VALUES, flags=frozenset({"--no-header"}))
    if path is None:
        return changes("option:unknown", name)
    if path == ["version"]:
        return reads(f"{name} version")
    for place, word in enumerate(path):
        if word in _OTHER_READS[name] and place > 0:
            return reads(f"{name} {' '.join(path[: place + 1])}")
        if word not in _OTHER_GROUPS[name]:
            break
    return changes("verb:unknown", name)


def _split_path(
    texts: list[str], *, flags: frozenset[str], values: frozenset[str], most: int
) -> tuple[list[str] | None, list[str]]:
    """The first words that are no options, and all that follows them; None when an option before them is not known."""
    path: list[str] = []
    at = 0
    while at < len(texts) and len(path) < most:
        text = texts[at]
        name = text.partition("=")[0]
        if not text.startswith("-"):
            path.append(text)
        elif name in values:
            at += 0 if "=" in text else 1
        elif name not in flags:
            return None, []
        at += 1
    return path, texts[at:]


def _read_path(words: tuple[Word, ...], *, values: frozenset[str], flags: frozenset[str]) -> list[str] | None:
    """All words that are no options; None when one is not known."""
    if not all(word.known for word in words):
        return None
    path, _ = _split_path([word.text for word in words], flags=flags, values=values, most=len(words))
    return path


def _starts_option(text: str, names: frozenset[str]) -> bool:
    """Abbreviations count: some tools take them."""
    name = text.partition("=")[0]
    return name.startswith("--") and len(name) > 2 and any(known.startswith(name) for known in names)  # noqa: PLR2004 - two dashes


PROGRAMS = collect(("aws", _aws), ("gcloud", _gcloud), ("az", _azure), ("doctl hcloud", _other))

"""Which paths hold secrets, however they are spelt."""

import re
from functools import lru_cache

from midwatch.safety.shell.words import HOLE, names

_HOME = r"(?:~[^/]*|/root|/home/[^/]+|/Users/[^/]+|/var/lib/[^/]+)"
_SECRETS: tuple[tuple[str, str], ...] = (
    ("password hashes", r"/etc/(?:shadow|gshadow|master\.passwd|security/opasswd)[^/]*|/var/backups/g?shadow.*"),
    ("sudo rules", r"/etc/sudoers(?:\.d(?:/.*)?)?"),
    ("a process environment", r"/proc/(?:[^/]+/)?(?:task/[^/]+/)?environ|/proc/[^/]+/task/[^/]+/environ"),
    ("process memory", r"/proc/[^/]+/(?:mem|cmdline\.secret)|/dev/k?mem|/proc/kcore"),
    (
        "ssh keys",
        _HOME + r"/\.ssh/(?!known_hosts|authorized_keys|config)[^/]*(?<!\.pub)|/etc/ssh/ssh_host_[a-z0-9]+_key",
    ),
    ("ssh keys", _HOME + r"/\.ssh|(?:.*/)?id_(?:rsa|dsa|ecdsa|ed25519)(?:_[^/.]*)?"),
    ("private keys", r"/etc/ssl/private(?:/.*)?|/etc/pki/tls/private(?:/.*)?|.*\.(?:key|p12|pfx|jks|kdbx|ppk|keytab)"),
    (
        "private keys",
        r".*(?:privkey|private|[-_.]key|^key)[^/]*\.pem|/etc/wireguard/.*|/etc/letsencrypt/(?:live|archive|keys)/.*",
    ),
    ("private keys", _HOME + r"/\.gnupg(?:/.*)?|(?:.*/)?secring\.gpg"),
    ("cloud credentials", _HOME + r"/\.(?:aws|azure|config/gcloud|oci|boto|s3cfg)(?:/.*)?|(?:.*/)?credentials\.json"),
    (
        "cluster credentials",
        _HOME + r"/\.kube(?:/.*)?|(?:.*/)?kubeconfig[^/]*|/etc/kubernetes/(?:.*\.conf|pki(?:/.*)?)",
    ),
    (
        "cluster credentials",
        r"/etc/rancher/.*\.yaml|/var/lib/rancher/.*token|/var/lib/kubelet/(?:pki|pods)/.*|/etc/pve/priv(?:/.*)?",
    ),
    ("mounted secrets", r"(?:/var)?/run/secrets(?:/.*)?"),
    (
        "stored passwords",
        r"(?:.*/)?\.(?:netrc|pgpass|my\.cnf|git-credentials|npmrc|pypirc|htpasswd|vault-token|dockercfg)",
    ),
    (
        "stored passwords",
        r"(?:.*/)?(?:\.docker/config\.json|\.m2/settings\.xml|\.mylogin\.cnf|wp-config\.php|tnsnames\.ora)",
    ),
    (
        "stored passwords",
        r"/etc/(?:mysql/debian\.cnf|ppp/(?:chap|pap)-secrets|ipsec\.secrets|krb5\.keytab|cups/.*passwd|fstab\.cred.*)",
    ),
    (
        "stored passwords",
        r"/etc/NetworkManager/system-connections(?:/.*)?|/etc/wpa_supplicant/.*|/etc/shibboleth/.*key.*",
    ),
    ("environment files", r"(?:.*/)?\.env(?:\.(?!example|sample|template|dist)[^/]*)?|/etc/environment"),
    (
        "secrets",
        r"(?:.*/)?(?:secrets?|credentials?|passwords?|vault(?:[-_]pass(?:word)?)?)(?:\.(?:ya?ml|json|txt|env|ini|toml|xml|properties))?",
    ),
    ("secrets", r"(?:.*/)?[^/]*\.tfstate(?:\.backup)?|(?:.*/)?approver\.token"),
    (
        "stored passwords",
        r"(?:.*/)?(?:\.config/(?:gh/hosts\.yml|rclone/rclone\.conf)|\.terraformrc|credentials\.tfrc\.json)",
    ),
    ("stored passwords", r"(?:.*/)?krb5cc_[^/]*|/var/lib/kubelet/config\.json|(?:.*/)?\.password-store(?:/.*)?"),
    ("shell history", r"(?:.*/)?\.(?:bash|zsh|sh|ash|mysql|psql|python|sqlite|rediscli|node_repl)_history"),
)
_PATTERN = re.compile("|".join(f"(?P<s{number}>{text})" for number, (_, text) in enumerate(_SECRETS)))
_SAMPLES = sorted(
    names(
        "/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_rsa_key /etc/ssl/private/server.key"
        " /proc/1/environ /proc/self/environ /root/.ssh/id_rsa /home/u/.ssh/id_rsa ~/.ssh/id_rsa"
        " /root/.aws/credentials /home/u/.aws/credentials ~/.aws/credentials /root/.kube/config"
        " /home/u/.kube/config ~/.kube/config /etc/kubernetes/admin.conf /etc/kubernetes/pki/ca.key"
        " /run/secrets/token /root/.bash_history /var/run/secrets/kubernetes.io/serviceaccount/token"
        " /home/u/.bash_history ~/.bash_history /root/.netrc ~/.netrc /root/.pgpass ~/.pgpass"
        " /etc/wireguard/wg0.conf /etc/pve/priv/authkey.key .env id_rsa /app/.env /proc/1/task/1/environ"
        " /root/.docker/config.json ~/.docker/config.json /root/.git-credentials ~/.git-credentials"
    )
)
_LONGEST = 4096
"""No file's path has more bytes; a pattern may, and would take long to compare."""
_GLOB = re.compile(r"[*?\[" + HOLE + "]")


@lru_cache(maxsize=4096)
def find_secret(path: str, *, folder: str | None = None) -> str | None:
    """What secret a path would show, or None. `folder` is where a relative path starts, if that is known."""
    if not path or path == "-":
        return None
    if len(path) > _LONGEST:
        return "a path too long to be judged"
    normal = normalize(path, folder=folder)
    match = _PATTERN.fullmatch(normal)
    if match is not None and match.lastgroup is not None:
        return _SECRETS[int(match.lastgroup[1:])][0]
    return _find_by_glob(normal) if _GLOB.search(normal) else None


def normalize(path: str, *, folder: str | None = None) -> str:
    """Without `.`, `..` and doubled slashes; absolute where that can be known."""
    if folder and not path.startswith(("/", "~")):
        path = f"{folder}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".." or not path.startswith("/"):
            parts.append(part)
    text = "/".join(parts)
    normal = f"/{text}" if path.startswith("/") else text
    return _ROOT_LINKS.sub("", normal)


_ROOT_LINKS = re.compile(r"^/(?:proc/[^/]+/root|host|rootfs|mnt/host|hostfs)(?=/)")
"""Other names of the root folder, as containers and /proc have them."""


def _find_by_glob(path: str) -> str | None:
    """A pattern shows a secret if it matches one of the well-known ones."""
    if not path.strip("*?/" + HOLE):
        return None
    pattern = re.compile(_translate(path))
    for sample in _SAMPLES:
        if pattern.fullmatch(sample):
            match = _PATTERN.fullmatch(sample)
            return _SECRETS[int(((match and match.lastgroup) or "s0")[1:])][0]
    return None


def _translate(path: str) -> str:
    """Like fnmatch, but `*` stays inside one folder as in a shell."""
    return re.sub(r"\\\*+|\\\?|\\\[[^\]]*\]|" + HOLE, _loosen, re.escape(path))


def _loosen(match: re.Match[str]) -> str:
    return "[^/]" if match[0] == "\\?" or match[0].startswith("\\[") else "[^/]*"

"""What secrets look like, as data. Every pattern is RE2, and only what its capturing groups hold is hidden.

Around the groups stays what keeps the text valid: key names, quotes, separators.
"""

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_GROUP = "security"
KUBERNETES_SECRET = "kubernetes_secret"  # noqa: S105  # the name of a pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    regex: str
    tag: str

    @property
    def placeholder(self) -> str:
        return f"[MASKED_{self.tag}]"


_QUOTE = r"""(?:\\*["'])?"""
_EQUALS = r"[ \t]*(?::=|=>|[:=])[ \t]*"
_LETTER = r"[A-Za-z0-9_\-]"
_SIGN = r"[A-Za-z0-9_\-.+/=~]"
_LONG = rf"{_SIGN}{{20,}}"


def _behind(keys: str) -> str:
    """What stands before a value: `key: `, `key=`, `"key": `, `--key `, `"--key", `."""
    return rf"(?:(?:{keys}){_QUOTE}{_EQUALS}|--[a-z0-9-]*(?:{keys})(?:[ \t]+|{_QUOTE},[ \t]*))"


def _assigned(keys: str, value: str) -> str:
    return rf"(?i){_behind(keys)}{_QUOTE}({value})"


# A password may hold any sign: in escaped, double or single quotes (closed or cut off), or as a bare word up to its
# last sign that is no punctuation.
_ANY_VALUE = (
    r"""(?:\\+"([^"\\\n]{6,})|\\+'([^'\\\n]{6,})"""
    r"""|"((?:[^"\\\n]|\\.){6,})|'([^'\n]{6,})'|'([^'"\\\n]{6,})"""
    r"""|([^\s"'\\]{5,}[^\s"'\\,;(){}\[\]<>]))"""
)
# On a line of its own, as in YAML, a password may hold spaces without any quotes.
_REST_OF_LINE = r"""(?m:^)[ ]*(?:-[ ]+)?[\w.\-]*(?:password|passwd):[ ]+([^\s"'|>&*!{\[\\][^\r\n]{5,})"""
_PRIVATE = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_CUT_OFF_BODY = r"(?:[A-Za-z0-9+/=\s\\]|[A-Za-z-]+: [^\n\\]*)*"

PATTERNS: Mapping[str, Pattern] = {
    # Whole blocks first, so that nothing inside them is taken for something else.
    "private_key_block": Pattern(regex=rf"(-----BEGIN {_PRIVATE}[\s\S]*?-----END {_PRIVATE})", tag="PRIVATE_KEY"),
    "private_key_start": Pattern(regex=rf"(-----BEGIN {_PRIVATE}{_CUT_OFF_BODY})", tag="PRIVATE_KEY"),
    "private_key_end": Pattern(
        regex=rf"((?:[A-Za-z0-9+/=]{{16,}}(?:\s|\\[rn])*)+-----END {_PRIVATE})",
        tag="PRIVATE_KEY",
    ),
    "certificate": Pattern(
        regex=r"(-----BEGIN [A-Z0-9 ]+-----[\s\S]*?-----END [A-Z0-9 ]+-----)",
        tag="CERTIFICATE",
    ),
    "certificate_authority_data": Pattern(
        regex=_assigned("certificate-authority-data", r"[A-Za-z0-9+/=]{20,}"),
        tag="CA_CERTIFICATE",
    ),
    "client_key_data": Pattern(regex=_assigned("client-key-data", r"[A-Za-z0-9+/=]{20,}"), tag="PRIVATE_KEY"),
    # Then secrets that are known by their own shape.
    "jwt": Pattern(regex=rf"\b(eyJ{_LETTER}{{10,}}\.{_LETTER}{{10,}}(?:\.{_LETTER}*)*)", tag="TOKEN"),
    "github_token": Pattern(
        regex=r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
        tag="GITHUB_TOKEN",
    ),
    "slack_token": Pattern(
        regex=r"\b(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})|hooks\.slack\.com/services/([A-Za-z0-9/]{20,})",
        tag="SLACK_TOKEN",
    ),
    "provider_key": Pattern(
        regex=rf"\b(sk-{_LETTER}{{20,}}|[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}})",
        tag="API_KEY",
    ),
    "google_key": Pattern(regex=rf"\b(AIza{_LETTER}{{35,}}|ya29\.{_SIGN}{{20,}})", tag="API_KEY"),
    "aws_key_id": Pattern(regex=r"\b((?:AKIA|ASIA)[A-Z0-9]{16,})", tag="AWS_KEY"),
    "aws_access_key": Pattern(
        regex=_assigned(r"aws[_-]?access[_-]?key[_-]?id", r"(?-i:AKIA|ASIA)[A-Za-z0-9]{12,}"),
        tag="AWS_KEY",
    ),
    "aws_secret_key": Pattern(
        regex=_assigned(r"secret[_-]?access[_-]?key", r"[A-Za-z0-9/+=]{40,}"),
        tag="AWS_SECRET",
    ),
    "url_password": Pattern(
        regex=rf"""://(?:[^\s:/@"'?#\\]*:([^\s"'/?#\\]+)|({_LETTER}{{20,}}))@""",
        tag="PASSWORD",
    ),
    "authorization": Pattern(
        regex=(
            rf"(?i)\bauthorization{_QUOTE}{_EQUALS}{_QUOTE}"
            rf"(?:(?:bearer|basic|token|digest|negotiate|apikey)[ \t]+([^\s\"'\\,;]{{4,}})|({_LONG}))"
            rf"|\bbearer[ \t]+({_LONG})"
        ),
        tag="TOKEN",
    ),
    # Then values that only their key gives away.
    "secret_key": Pattern(regex=_assigned(r"secret[_-]?key|client[_-]?secret", _LONG), tag="SECRET_KEY"),
    "private_key": Pattern(regex=_assigned(r"private[_-]?key", _LONG), tag="PRIVATE_KEY"),
    "api_key": Pattern(
        regex=rf"(?i)(?:{_behind('api[_ -]?key')}{_QUOTE}({_LONG})|{_behind('key')}{_QUOTE}({_LETTER}{{20}}{_SIGN}*))",
        tag="API_KEY",
    ),
    "token": Pattern(regex=_assigned("token|bearer|jwt", _LONG), tag="TOKEN"),
    "password": Pattern(
        regex=rf"(?i)(?:{_REST_OF_LINE}|{_behind('password|passwd|pwd|pass')}{_ANY_VALUE})",
        tag="PASSWORD",
    ),
    # Last what is broad.
    "ssh_key": Pattern(
        regex=r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp[0-9]+)[ \t]+(AAAA[A-Za-z0-9+/=]{16,})",
        tag="SSH_KEY",
    ),
    "email": Pattern(regex=r"\b([A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,})", tag="EMAIL"),
    "base64_secret": Pattern(regex=r"\b([A-Za-z0-9+/]{20,}={0,2})", tag="BASE64_VALUE"),
    "base64_short": Pattern(regex=r"(?m):[ \t]+([A-Za-z0-9+/]{4,19}={0,2})(?:\s|$)", tag="SHORT_BASE64"),
}
"""In the order in which they apply."""

UNMISTAKABLE = (
    "private_key_block",
    "private_key_start",
    "private_key_end",
    "client_key_data",
    "jwt",
    "github_token",
    "slack_token",
    "provider_key",
    "google_key",
    "aws_key_id",
    "aws_secret_key",
    "url_password",
    "authorization",
)
"""Known by their shape alone, hidden whatever else was chosen."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "basic": ("api_key", "password"),
    "secrets": ("api_key", "password", "token", "private_key", "secret_key"),
    "security": (
        "api_key",
        "password",
        "token",
        "certificate",
        "certificate_authority_data",
        "email",
        "ssh_key",
    ),
    "kubernetes": (KUBERNETES_SECRET, "api_key", "password", "certificate_authority_data"),
    "cloud": ("aws_access_key", "aws_secret_key", "api_key", "token"),
    "all": (KUBERNETES_SECRET, *PATTERNS),
}

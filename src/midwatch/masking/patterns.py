"""Every rule there is, by name, in the order in which they apply, and the groups an operator chooses from."""

from collections.abc import Callable, Mapping

from midwatch.masking.assignments import ASSIGNMENTS, ENVIRONMENT
from midwatch.masking.blocks import hide_certificates, hide_private_keys
from midwatch.masking.commands import CLI_FLAG
from midwatch.masking.headers import HEADERS
from midwatch.masking.kubernetes import hide_secrets
from midwatch.masking.pairs import NAMED_VALUE, hide_yaml_blocks
from midwatch.masking.rule import Pattern, Rule, hiding
from midwatch.masking.tokens import TOKENS
from midwatch.masking.values import measure_address

DEFAULT_GROUP = "security"
KUBERNETES_SECRET = "kubernetes_secret"  # noqa: S105  # the name of a pattern

STRUCTURES: Mapping[str, Callable[[str], Rule]] = {
    KUBERNETES_SECRET: hide_secrets,
    "private_key_block": lambda name: hide_private_keys(name, "[MASKED_PRIVATE_KEY]"),
    "certificate": lambda name: hide_certificates(name, "[MASKED_CERTIFICATE]"),
    "yaml_block": lambda name: hide_yaml_blocks(name, "[MASKED_SECRET_VALUE]"),
}
"""What is found by more than a pattern. They apply first, so that nothing inside is taken for something else."""

PATTERNS: Mapping[str, Pattern] = {
    "putty_key": Pattern(
        regex=(
            r"Private-Lines: [0-9]+((?:(?:\r?\n|\\+[rn])+[ \t]*(?:[A-Za-z0-9+/=]{4})+)*)"
            r"(?:\r?\n|\\+[rn]|$)(?:(?:\r?\n|\\+[rn]|[ \t])*Private-MAC: ([0-9a-f]+))?"
        ),
        tag="PRIVATE_KEY",
        gate="Private-Lines: [0-9]",
        spans_lines=True,
    ),
    **TOKENS,
    **ASSIGNMENTS,
    **HEADERS,
    "environment": ENVIRONMENT,
    "cli_flag": CLI_FLAG,
    "named_value": NAMED_VALUE,
    # Last what is broad.
    "ssh_key": Pattern(
        regex=r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp[0-9]+)[ \t]+(AAAA[A-Za-z0-9+/=]{16,})", tag="SSH_KEY"
    ),
    "email": Pattern(
        regex=r"\b([A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,})",
        tag="EMAIL",
        measure=measure_address,
    ),
    "base64_secret": Pattern(regex=r"\b([A-Za-z0-9+/]{20,}={0,2})", tag="BASE64_VALUE"),
    "base64_short": Pattern(regex=r"(?m):[ \t]+([A-Za-z0-9+/]{4,19}={0,2})(?:\s|$)", tag="SHORT_BASE64"),
}
"""What is found by a pattern."""

_OPTIONAL = {
    *("certificate", "certificate_authority_data", "email", "ssh_key", "base64_secret", "base64_short"),
    *("api_key", "password", "token", "secret_key", "private_key", "aws_access_key"),
}

UNMISTAKABLE = tuple(name for name in (*STRUCTURES, *PATTERNS) if name not in _OPTIONAL)
"""Hidden whatever was chosen: known by their own shape, by the document they stand in or by a name that says it all."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "basic": ("api_key", "password"),
    "secrets": ("api_key", "password", "token", "private_key", "secret_key"),
    "security": (
        *("api_key", "password", "token", "private_key", "secret_key"),
        *("certificate", "certificate_authority_data", "email", "ssh_key"),
    ),
    "kubernetes": (
        KUBERNETES_SECRET,
        *("api_key", "password", "token", "private_key", "secret_key", "certificate_authority_data"),
    ),
    "cloud": ("aws_access_key", "aws_secret_key", "api_key", "password", "token", "private_key", "secret_key"),
    "all": (*STRUCTURES, *PATTERNS),
}


def build_rule(name: str) -> Rule:
    """Raises KeyError for a name that is not known."""
    return STRUCTURES[name](name) if name in STRUCTURES else hiding(name, PATTERNS[name])

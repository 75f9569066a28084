"""Secrets that only their key gives away: of a document, of a pair, of a variable."""

from collections.abc import Mapping

from midwatch.masking.rule import Pattern
from midwatch.masking.values import (
    measure_blob,
    measure_key,
    measure_long,
    measure_password,
    measure_secret,
    measure_variable,
)

_QUOTE = r"""(?:\\*["'])?"""
_EQUALS = r"[ \t]*(?::=|=>|[:=])[ \t]*"
_LETTER = r"[A-Za-z0-9_\-]"
_SIGN = r"[A-Za-z0-9_\-.+/=~]"
_LONG = rf"{_SIGN}{{20,}}"


def _behind(keys: str) -> str:
    """What stands before a value: `key: `, `key=`, `"key": `, `--key `, `"--key", `, `<key>`."""
    flag = rf"--[a-z0-9-]*(?:{keys})(?:[ \t]+|{_QUOTE},[ \t]*)"
    return rf"(?:(?:{keys}){_QUOTE}{_EQUALS}|{flag}|<[\w:.\-]*(?:{keys})>)"


def _assigned(keys: str, value: str) -> str:
    return rf"(?i){_behind(keys)}{_QUOTE}({value})"


def _gate(keys: str) -> str:
    return rf"""(?i)(?:{keys})\\*["']?(?:[ \t]*[:=]|[ \t>,])"""


def _any_value(least: int) -> str:
    """Any signs: in escaped, double or single quotes (closed or cut off), or a bare word."""
    return (
        rf"""(?:\\+"([^"\\\n]{{{least},}})|\\+'([^'\\\n]{{{least},}})"""
        rf"""|"((?:[^"\\\n]|\\.){{{least},}})|'((?:[^'\n]|''){{{least},}})'|'([^'"\\\n]{{{least},}})"""
        rf"""|([^\s"'\\\x00]{{{least},}}))"""
    )


_PASSWORDS = r"password|passwd|passphrase|pwd|(?-i:\b[Pp]ass|\bPASS|[_.\-][Pp]ass|_PASS|[a-z]Pass)"
# On a line of its own, as in YAML, a password may hold spaces without any quotes.
_PLAIN_START = r"""(?:[^\s"'|>&*!{\[\\]|\\[^"'\s])"""
_REST_OF_LINE = rf"(?m:^)[ ]*(?:-[ ]+)?[\w.\-]*(?:password|passwd|passphrase):[ ]+({_PLAIN_START}[^\r\n]{{5,}})"

_SURE_WORDS = (
    r"PASSWORD|PASSWD|PASSPHRASE|PASSCODE|SECRET|TOKEN|(?:API|APP|ACCESS|PRIVATE|SIGNING|ENCRYPTION|MASTER|AUTH|DEPLOY"
    r"|LICENSE|ACCOUNT|STORAGE|SECRET|SESSION|SSH|HMAC|CIPHER|SEAL)[_-]?KEY|CREDENTIALS?|CONNECTION[_-]?STRING"
)
_OTHER_WORDS = r"PASS|PWD|SALT|AUTH|COOKIE|DSN|CONN_?STR|WEBHOOK(?:_?URL)?"
_VARIABLE = rf"(?:[A-Z0-9_]*(?:{_SURE_WORDS})|(?:[A-Z0-9_]*_)?(?:{_OTHER_WORDS}))S?(?:_[A-Z0-9_]*|[0-9]+)?"
_AFTER = r"(?i:s)?(?:[_.\-0-9A-Z][\w.\-]*)?"
"""A word is over where a sign or a capital begins the next: a tokenizer is no token."""
TELLING_NAME = rf"(?:{_VARIABLE}|[\w.\-]*(?i:{_SURE_WORDS}){_AFTER}|(?:[\w.\-]*[_.\-])?[Pp]ass)"
_QUOTED = r"""(?:"((?:[^"\\\n]|\\.)+)|'((?:[^'\n]|'')+)|\\+"([^"\\\n]+))"""
_NOT_QUOTED = r"""((?:"[^"\n]*"|'[^'\n]*')[^\s"',;)}\]\x00][^\r\n\x00]*)"""
"""It begins with a quote, and goes on right behind the next."""
_BARE = r"""([^\s"'\\;&|,)\x00](?:[^\s"'\\;&|)\x00]*[^\s"'\\;&|,)\x00])?)"""
_LINE_START = r"(?m:^)[ \t]*(?:export[ \t]+|set[ \t]+|-[ \t]+|[+>][ \t])?"
_ENVIRONMENT = "|".join(
    (
        # A pair in quotes, as Docker and systemd list them.
        rf'"{_VARIABLE}=((?:[^"\\\n]|\\.)+)',
        rf"'{_VARIABLE}=((?:[^'\n]|'')+)",
        rf'\\+"{_VARIABLE}=([^"\\\n]+)',
        # A line of a file, of `env`, of properties or of an INI section.
        rf"{_LINE_START}{TELLING_NAME}[ \t]*(?:=[>=~]|=)[ \t]*(?:{_NOT_QUOTED}|{_QUOTED}|([^\s\"'\x00][^\r\n\x00]*))",
        # A map of variables, and what `kubectl describe` shows of one.
        rf"(?m:^)[ \t]*(?:-[ \t]+)?[\"']?{_VARIABLE}[\"']?:[ \t]+(?:{_QUOTED}|({_PLAIN_START}[^\r\n\x00]*))",
        rf'"{_VARIABLE}"[ \t]*:[ \t]*"((?:[^"\\\n]|\\.)+)',
        rf'\\+"{_VARIABLE}\\+"[ \t]*:[ \t]*\\+"([^"\\\n]+)',
        # Anywhere else, one word.
        rf"(?:\b|_){_VARIABLE}=(?:{_QUOTED}|{_BARE})",
    )
)

ASSIGNMENTS: Mapping[str, Pattern] = {
    "aws_access_key": Pattern(
        regex=_assigned(r"aws[_-]?access[_-]?key[_-]?id", r"(?-i:AKIA|ASIA)[A-Za-z0-9]{12,}"), tag="AWS_KEY"
    ),
    "aws_secret_key": Pattern(
        regex=(
            rf"(?i)(?:{_behind(r'secret[_-]?access[_-]?key')}|aws_secret_access_key[ \t]+){_QUOTE}"
            r"([A-Za-z0-9/+=]{40,})"
            # Next to the id it belongs to.
            r"|(?-i:AKIA|ASIA|MASKED_AWS_KEY\])[A-Z0-9]{0,24}[\"']?[ \t]*[,:;/ \t][ \t]*[\"']?"
            r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"
            r"|\bCREDENTIALS[ \t]+\S+[ \t]+\S+[ \t]+([A-Za-z0-9/+=]{40,})(?:[ \t]+(\S{50,}))?"
        ),
        tag="AWS_SECRET",
        gate=r"(?i:secret[_-]?access[_-]?key)|AKIA|ASIA|MASKED_AWS_KEY|CREDENTIALS[ \t]",
    ),
    "certificate_authority_data": Pattern(
        regex=_assigned("certificate-authority-data|client-certificate-data", r"[A-Za-z0-9+/=]{20,}"),
        tag="CA_CERTIFICATE",
        gate="(?i)(?:authority|certificate)-data",
    ),
    "client_key_data": Pattern(regex=_assigned("client-key-data", r"[A-Za-z0-9+/=]{20,}"), tag="PRIVATE_KEY"),
    "jwk": Pattern(
        regex=r"""(?:\\*")(?:d|p|q|dp|dq|qi|k)(?:\\*")[ \t]*:[ \t]*(?:\\*")([A-Za-z0-9_\-]{40,})""", tag="PRIVATE_KEY"
    ),
    "registry_auth": Pattern(
        regex=(
            r"""(?:\\*")auth(?:\\*")[ \t]*:[ \t]*(?:\\*")([A-Za-z0-9+/=]{8,})"""
            r"""|\b_auth[ \t]*=[ \t]*["']?([A-Za-z0-9+/=]{8,})"""
        ),
        tag="TOKEN",
        measure=measure_blob,
    ),
    "secret_key": Pattern(
        regex=rf"(?i){_behind('secret[_-]?(?:key|value|string|text|token|id)|secret')}{_any_value(6)}",
        tag="SECRET_KEY",
        measure=measure_secret,
        gate=_gate("secret(?:[_-]?(?:key|value|string|text|token|id))?"),
    ),
    "private_key": Pattern(regex=_assigned(r"private[_-]?key", _LONG), tag="PRIVATE_KEY", measure=measure_long),
    "api_key": Pattern(
        regex=rf"(?i)(?:{_behind('api[_ -]?key')}{_QUOTE}({_LONG})|{_behind('key')}{_QUOTE}({_LETTER}{{20}}{_SIGN}*))",
        tag="API_KEY",
        measure=measure_key,
    ),
    "token": Pattern(regex=_assigned("token|bearer|jwt", _LONG), tag="TOKEN", measure=measure_long),
    "password": Pattern(
        regex=rf"(?i)(?:{_REST_OF_LINE}|{_behind(_PASSWORDS)}{_any_value(6)})",
        tag="PASSWORD",
        measure=measure_password,
        gate=_gate("password|passwd|passphrase|pwd|pass"),
    ),
}
"""In the order in which they apply."""

ENVIRONMENT = Pattern(
    regex=_ENVIRONMENT,
    tag="SECRET_VALUE",
    measure=measure_variable,
    gate=rf"""(?:{_SURE_WORDS}|{_OTHER_WORDS})[A-Z0-9_]*\\*["']?[ \t]*[:=]|(?i:{_SURE_WORDS}|pass)[\w.\-]*[ \t]*=""",
)

"""Whether what stands behind a telling key is a secret, and how much of it: references, names and units are none."""

import re
import string

_HARMLESS_WORDS = frozenset(
    b"""null none nil true false yes no on off unset undefined required optional enabled disabled string strings
    stringarray boolean object incorrect invalid wrong expired missing changed updated accepted rejected failed failure
    redacted hidden masked removed filtered sensitive [redacted] [hidden] [masked] [removed] [filtered]""".split()
)
_REFERENCE = re.compile(
    rb"""(?ix)
      \$\{[\w.]+\} | \$\([\w.]+\) | \$?\{\{.*\}\} | %\(\w+\)s | %[a-z_]\w*% | \$(?-i:[A-Z_][A-Z0-9_]*)
    | <(?:[a-z_-]+|[a-z]+[ ][^<>]*)> (?: [ ].*)? | \((?:sensitive|known)(?:[ ].*)? | \*{3,} | \.{3,} | \[MASKED_\w+\]
    | (?:not|is|was|has|for|must|should|cannot|does|authentication)[ ](?-i:[a-z ,.']*)
    | [0-9]+[ ]bytes
    | (?:vault|op|ssm|awssm|gcpsm|sops|ref\+\w+|file|keyring|secretref)://?[^\s@]* | vault:[\w/.\#-]+
    | arn:aws[\w-]*:[\w:/.*-]+ | projects/[\w-]+/secrets/[\w/-]+ | @microsoft\.keyvault\(.*\)
    | (?:secretkeyref|valuefrom)[: ].* | !(?:ref|sub|getatt|importvalue|secret|vault|env|env_var)[ ].*
    """
)
_EXPRESSION = re.compile(
    rb"""(?x)
      (?:var|local|data|module|each|self|secrets|env)\.[a-z_][\w.\[\]*"'-]*
    | (?:os\.environ|os\.getenv|process\.env|System\.getenv)\b.*
    """
)
"""Of code, which stands without quotes."""
_MAY_REFER = re.compile(rb"[$%<({*[!@. :/]")
"""In every reference, and in few secrets."""
_NAME = re.compile(rb"(?:[a-z]{2,20}[0-9]{0,2}[-._/:])+[a-z0-9]{1,12}(?:[-._/][a-z0-9]{1,12}){0,2}")
_UUID = re.compile(rb"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_PATH = re.compile(rb"(?:~|\.{1,2})?(?:/[a-z0-9._-]+){2,}/?|[A-Za-z]:(?:\\{1,2}[\w. -]+){2,}")
_FOLDER = re.compile(rb"(?:/|~/?|[A-Za-z]:\\)[^\s\"']*")
_KEY_LETTERS = (string.ascii_letters + string.digits + "_.-").encode()
_BETWEEN = b" \t\"'\\:=>,[("
_SURE_KEY = re.compile(rb"(?i)(?:api|app|access|auth|signing|encryption|master|license|account|secret)[_. -]?key")
_OTHER_KEY = re.compile(
    rb"(?i).*(?:public|cache|correlation|primary|foreign|sort|partition|routing|object|idempotency|dedup|group|row|lock|shard|range"
    rb"|host|s3|message|topic|index|hash|label|annotation|topology)[_.-]?key"
)
# What follows in a connection string, a query, an element or a list of fields is somebody else's value.
_NEXT_FIELD = re.compile(rb";[ ]?[A-Za-z][\w. ]*=|&(?:amp;)?[A-Za-z_][\w.\-]*=|</")
_ALONE = re.compile(rb"(?:\A|\n)[ ]*(?:-[ ]+)?[\w.\-]+:[ ]+\Z")
"""Before a value that is all that follows on its line, as in YAML."""
_AMONG_FIELDS = re.compile(rb"[;&?][ ]?[\w.\- ]*=[ \t]*\Z|>\Z")
_COMMAND_BEHIND = re.compile(rb"(\S+)[ \t]+[a-z./][\w./\-]*(?:[ \t].*)?[ \t]-{1,2}[A-Za-z]")

_ABOUT_A_SECRET = tuple(
    b"""FILE PATH DIR NAME TTL URL URI ENDPOINT HOST PORT LENGTH LEN EXPIRY EXPIRES EXPIRE EXPIRATION TYPE ENABLE
    ENABLED DISABLE DISABLED COUNT TIMEOUT ARN REF VERSION ALG ALGO ALGORITHM ISSUER AUDIENCE LIFETIME POLICY
    PREFIX HEADER SIZE DAYS HOURS SECONDS INTERVAL AGE ROTATION REQUIRED MODE METHOD PROVIDER SOURCE ROLE
    NAMESPACE REGION USER USERNAME EMAIL SCOPE SCOPES SOCK SOCKET STORE MANAGER BACKEND ENGINE DURATION LIMIT
    BUDGET STRATEGY SERVICE CLASS FORMAT DOMAIN SECURE SAMESITE KEYS COST ROUNDS ITERATIONS ATTEMPTS ID
    PUBLIC_KEY PUBLICKEY AUTHOR""".split()
)
"""How names end that are about a secret, and hold none."""
_NAMELESS = (b"SECRET_ID", b"SECRETID")
"""Vault's, which is a secret in spite of its name."""
_NUMBER_OF_TOKENS = re.compile(rb"(?:.*_)?(?:MAX|MIN|NUM|N)_.*TOKENS?")
_WORKING_FOLDERS = (b"PWD", b"OLDPWD")
_MAYBE_A_SECRET = (b"AUTH", b"COOKIE", b"DSN", b"SALT", b"WEBHOOK", b"WEBHOOK_URL", b"CREDENTIAL", b"CREDENTIALS")
_NO_ADDRESS = re.compile(
    rb"(?i)(?:git|hg|svn|ssh)@.*|.*@.*\.(?:service|socket|target|timer|slice|scope|mount|automount|device|path|swap)"
)
_IN_URL = re.compile(rb"://[^\s/@?#]*\Z")
_COUNT = re.compile(rb"[0-9]{1,7}\s*")
_CROSSED_OUT = 4
_LEAST = 8
"""Bytes behind a key that may mean something else."""


def measure_value(before: bytes, value: bytes) -> int:
    """All of it, or up to the next field if it is one of several; nothing of a reference to what is kept elsewhere."""
    if _is_harmless(value.strip()) or _is_harmless(value.rstrip(b",;")):
        return 0
    if before.endswith((b'"', b"'")):
        return len(value)
    if _EXPRESSION.fullmatch(value):
        return 0
    if _ALONE.search(before):
        return len(value)
    following = _NEXT_FIELD.search(value) if _AMONG_FIELDS.search(before) else None
    word = value[: following.start()] if following else value
    word = word.rstrip(b",;(){}[]<>")
    return 0 if _is_harmless(word) else len(word)


def measure_long(before: bytes, value: bytes) -> int:
    """As `measure_value`, but where a file is as likely as the secret in it."""
    return 0 if _PATH.fullmatch(value) else measure_value(before, value)


def measure_header(before: bytes, value: bytes) -> int:
    """Keys that tell requests apart open nothing."""
    return 0 if _OTHER_KEY.fullmatch(_key_of(before)) else measure_long(before, value)


def measure_password(before: bytes, value: bytes) -> int:
    """`pwd` is a folder as often as a password."""
    if _key_of(before).lower().endswith(b"pwd") and _FOLDER.fullmatch(value):
        return 0
    return measure_value(before, value)


def measure_key(before: bytes, value: bytes) -> int:
    """Behind a mere `key`, names and ids are more likely than secrets."""
    key = _key_of(before)
    if not _SURE_KEY.search(before[-len(key) - 20 :]) and (
        _NAME.fullmatch(value) or _UUID.fullmatch(value) or _OTHER_KEY.fullmatch(key)
    ):
        return 0
    return measure_long(before, value)


def measure_secret(before: bytes, value: bytes) -> int:
    """Behind a mere `secret`, the name of a Secret is as likely as a secret."""
    key = _key_of(before)
    is_part_of_a_name = before[: len(before.rstrip(_BETWEEN)) - len(key)].endswith(b":")
    if is_part_of_a_name or (_NAME.fullmatch(value) and b"_" not in key):
        return 0
    return measure_long(before, value)


def measure_shape(before: bytes, value: bytes) -> int:  # noqa: ARG001 - the shape says it all
    """A beginning that words share is no key."""
    return 0 if _NAME.fullmatch(value) else len(value)


def measure_blob(before: bytes, value: bytes) -> int:  # noqa: ARG001 - the value says it all
    """What is a word is not encoded."""
    return 0 if value.islower() and value.isalpha() else len(value)


def measure_line(before: bytes, value: bytes) -> int:
    """The rest of a line, unless the variable is set for a command."""
    whole = value.rstrip()
    if before.endswith((b'"', b"'")):
        return measure_value(before, value)
    if command := _COMMAND_BEHIND.match(whole):
        whole = command[1]
    return 0 if measure_value(before, whole) == 0 else len(whole)


def measure_variable(before: bytes, value: bytes) -> int:
    """Of a variable with a telling name, whatever it holds; less sure names need more to be convincing."""
    key = _key_of(before).upper()
    if not is_telling(key) or _PATH.fullmatch(value):
        return 0
    is_unsure = key == b"PASS" or key.endswith(_MAYBE_A_SECRET)
    if is_unsure and (len(value) < _LEAST or _NAME.fullmatch(value)):
        return 0
    return 0 if b"TOKEN" in key and _COUNT.fullmatch(value) else measure_line(before, value)


def measure_address(before: bytes, value: bytes) -> int:
    """Units of systemd, the users of version control and whoever stands in a URL look like addresses."""
    return 0 if _NO_ADDRESS.fullmatch(value) or _IN_URL.search(before) else len(value)


def is_telling(key: bytes) -> bool:
    """What it names is the secret, not where it is, how long it lives or whose it is."""
    name = key.upper()
    is_about = name.endswith(_ABOUT_A_SECRET) and not name.endswith(_NAMELESS)
    return not (is_about or name in _WORKING_FOLDERS or _NUMBER_OF_TOKENS.fullmatch(name))


def _is_harmless(value: bytes) -> bool:
    if value.lower() in _HARMLESS_WORDS or (len(value) >= _CROSSED_OUT and not value.strip(b"xX")):
        return True
    return _MAY_REFER.search(value) is not None and _REFERENCE.fullmatch(value) is not None


def _key_of(before: bytes) -> bytes:
    upto = before.rstrip(_BETWEEN)
    return upto[len(upto.rstrip(_KEY_LETTERS)) :]

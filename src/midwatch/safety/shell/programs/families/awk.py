"""awk: its programs are cut into tokens, to find what writes files, runs commands or opens sockets."""

import re

from midwatch.safety.shell.programs.answers import changes, reads, secrets_in
from midwatch.safety.shell.programs.arguments import Refused, read_arguments
from midwatch.safety.shell.programs.build import collect, verb
from midwatch.safety.shell.programs.model import Judgement
from midwatch.safety.shell.words import Word

_AWK = verb(
    flags="--posix --traditional -P -c -S --sandbox -r --re-interval --characters-as-bytes -b --version --help -V",
    values="-F --field-separator -v --assign",
    foreign="-f --file -E --exec -i --include -l --load -e --source -D --debug -o --pretty-print -p --profile -d"
    " --dump-variables -g --gen-pot -L --lint",
    style="stop",
    operands="text path*",
)
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)|(?P<comment>\#[^\n]*)|(?P<string>\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\|\||&&|\|&|>>|[<>=!]=|\+\+|--|[-+*/%^]=|\*\*|!~|.|\n)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:\[:[a-z]+:\]|[^\]\\\n/]|\\.)*\])*/", re.DOTALL)
"""A slash in brackets ends the expression for some and not for others, so it is not read at all."""
_ENDS = frozenset({";", "\n", "}"})
_BEFORE_REGEX = frozenset({"print", "printf", "return", "in", "case", "else", "do", "if", "while"})
_FORBIDDEN = re.compile(r"system\s*\(|/inet")
_NAMED = re.compile(r"<\s*\"([^\"]*)\"")
_CONTINUES = frozenset({",", "{", "&&", "||", "do", "else"})
"""A line that ends in one of these goes on in the next."""
_QUIET = frozenset({'"/dev/stderr"', '"/dev/stdout"', '"/dev/null"'})


def _awk(name: str, words: tuple[Word, ...]) -> Judgement:
    reading = read_arguments(name, _AWK, words)
    if not reading.operands:
        return reads(name)
    code, *files = reading.operands
    if not code.known:
        return changes("expansion:code", "awk")
    refusal = inspect_program(code.text)
    if refusal:
        return changes(refusal, "awk")
    if any(word.text.startswith("/inet") for word in files):
        raise Refused("awk:socket", name)
    if any(word.text.startswith("-") and word.text != "-" for word in files):
        raise Refused("option:unknown", name)  # where options may follow operands, it could be another program
    secret = ("an environment",) if "ENVIRON" in code.text else ()
    named = [Word(text) for text in _NAMED.findall(code.text)]
    return reads(name, sensitive=secrets_in([*files, *named]) + secret)


def inspect_program(code: str) -> str | None:
    """The rule that makes it a write, or None when it only computes and prints."""
    if _FORBIDDEN.search(code):
        return "awk:runs"
    tokens = _cut(code)
    if tokens is None:
        return "awk:unread"
    refusals = (_inspect_at(tokens, index) for index in range(len(tokens)))
    return next((refusal for refusal in refusals if refusal), None)


def _inspect_at(tokens: list[str], index: int) -> str | None:
    match tokens[index]:
        case "|" | "|&":
            return "awk:pipe"
        case "system" | "@":
            return "awk:runs"
        case "print" | "printf":
            return "awk:redirect" if _redirects(tokens, index + 1) else None
        case "getline":
            return None if _reads_plainly(tokens, index + 1) else "awk:getline"
        case _:
            return None


def _reads_plainly(tokens: list[str], at: int) -> bool:
    """Only `<` with a literal name: a computed one may be a socket."""
    for index in range(at, min(at + 6, len(tokens))):
        if tokens[index] in _ENDS or tokens[index] == ")":
            return True
        if tokens[index] == "<":
            return _reads_literal(tokens, index + 1)
    return at >= len(tokens)


def _reads_literal(tokens: list[str], at: int) -> bool:
    return (
        at < len(tokens) and tokens[at].startswith('"') and tokens[at + 1 : at + 2] in ([], [";"], ["\n"], ["}"], [")"])
    )


def _redirects(tokens: list[str], at: int) -> bool:
    """Outside of brackets, `>` behind print is no comparison but a file."""
    depth = 0
    while at < len(tokens):
        sign = tokens[at]
        if depth == 0 and sign in _ENDS and not (sign == "\n" and tokens[at - 1] in _CONTINUES):
            return False
        if sign in _DEPTHS:
            depth += _DEPTHS[sign]
        elif depth <= 0 and sign in {">", ">>"}:
            return not (tokens[at + 1 : at + 2] and tokens[at + 1] in _QUIET and tokens[at + 2 : at + 3] in _STOPS)
        at += 1
    return False


_DEPTHS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_STOPS: tuple[list[str], ...] = ([], [";"], ["\n"], ["}"])


def _cut(code: str) -> list[str] | None:
    """Tokens without blanks and comments; regular expressions become one token. None when it cannot be cut."""
    tokens: list[str] = []
    at = 0
    while at < len(code):
        if code[at] == "/" and _may_begin_regex(tokens):
            match = _REGEX.match(code, at)
            if match is None:
                return None
            tokens.append("/regex/")
            at = match.end()
            continue
        match = _TOKEN.match(code, at)
        if match is None or (match.lastgroup == "sign" and match[0] in '"\\`'):
            return None
        if match.lastgroup not in {"blank", "comment"}:
            tokens.append(match[0])
        at = match.end()
    return tokens


def _may_begin_regex(tokens: list[str]) -> bool:
    """Behind a value, a slash divides. Where that is unclear it is taken for a division, which hides nothing."""
    last = tokens[-1] if tokens else ""
    if not last or last in _BEFORE_REGEX:
        return True
    return not (last[0].isalnum() or last[0] in '_")]$/' or last in {"++", "--"})


PROGRAMS = collect(("awk gawk mawk nawk", _awk))

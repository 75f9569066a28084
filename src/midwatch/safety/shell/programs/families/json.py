"""jq and yq: filters compute and print; only an environment they show, or a file edited in place, matters."""

import re

from midwatch.safety.shell.programs.answers import changes, reads, secrets_in
from midwatch.safety.shell.programs.arguments import Refused
from midwatch.safety.shell.programs.build import collect, program
from midwatch.safety.shell.programs.model import Call, Judgement
from midwatch.safety.shell.verdict import Finding, Intent, Phase
from midwatch.safety.shell.words import Word

_JQ_FLAGS = re.compile(
    r"-[nrcCMaeSsjRbhV]+|--(?:null-input|raw-output|raw-output0|join-output|compact-output|color-output|monochrome-output"
    r"|ascii-output|exit-status|sort-keys|slurp|raw-input|tab|seq|stream|stream-errors|unbuffered|binary|args|jsonargs"
    r"|help|version|build-configuration)"
)
_JQ_ONE = frozenset({"--indent"})
_JQ_TWO = frozenset({"--arg", "--argjson"})
_JQ_FILES = frozenset({"--slurpfile", "--rawfile", "--argfile"})
_ENVIRONMENT = re.compile(r"\$ENV\b|\$__prog_args|\benv\b|\benvsubst\b|\bstrenv\b")


def _jq(name: str, words: tuple[Word, ...]) -> Judgement:
    operands: list[Word] = []
    files: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if word.splits and not operands:
            return changes("expansion:code", name)
        if not text.startswith("-") or text == "-" or not word.starts_known:
            operands.append(word)
        elif text in _JQ_TWO or text in _JQ_FILES:
            files += words[at + 1 : at + 2] if text in _JQ_FILES else ()
            at += 2
        elif text in _JQ_ONE:
            at += 1
        elif not _JQ_FLAGS.fullmatch(text):
            raise Refused("option:unknown", f"jq {text}")
    shows = any(_ENVIRONMENT.search(word.text) or not word.known for word in operands[:1])
    return reads(name, sensitive=secrets_in([*operands[1:], *files]) + (("an environment",) if shows else ()))


def _yq(call: Call) -> Finding | None:
    if any(not word.known for word in call.operands[:1]) or any(
        re.search(r"\bload|\bsystem\b", word.text) for word in call.operands[:2]
    ):
        return Finding(Intent.WRITE, "yq:loads", Phase.WRITE, part="yq")
    if any(_ENVIRONMENT.search(word.text) for word in call.operands):
        return Finding(Intent.CERTAIN, "read:yq", Phase.READ, part="yq", sensitive=("an environment",))
    return None


PROGRAMS = collect(
    ("jq", _jq),
    program(
        "yq",
        flags="-r --unwrapScalar -P --prettyPrint -N --no-doc -e --exit-status -M --no-colors -C --colors -n"
        " --null-input -j --tojson -y --yaml-output -Y --slurp -c --compact-output -S -v --verbose -V --version"
        " -h --help",
        values="-o --output-format -p --input-format -I --indent",
        writes="-i --inplace --in-place -s --split-exp --split-exp-file -f --front-matter --from-file",
        operands="text path*",
        check=_yq,
    ),
)

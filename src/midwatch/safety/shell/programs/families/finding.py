"""find: tests and actions in a language of their own. The commands it runs are judged by themselves."""

from fnmatch import fnmatchcase

from midwatch.safety.shell.programs.answers import changes, reads, secrets_in
from midwatch.safety.shell.programs.arguments import Refused
from midwatch.safety.shell.programs.build import collect
from midwatch.safety.shell.programs.model import Judgement, Nested
from midwatch.safety.shell.verdict import Risk
from midwatch.safety.shell.words import HOLE, STUB, Word, names

_LEADING = frozenset({"-H", "-L", "-P", "-O0", "-O1", "-O2", "-O3", "-E", "-X", "-x", "-s", "-d"})
_ALONE = names(
    "-daystart -depth -d -follow -ignore_readdir_race -noignore_readdir_race -mount -xdev -x -noleaf -warn"
    " -nowarn -empty -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune"
    " -quit -a -and -o -or -not ! ( ) , -help --help -version --version"
)
_VALUED = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime"
    " -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -uid -gid -perm -links -inum -samefile"
    " -fstype -maxdepth -mindepth -regextype -used -printf -context"
)
_RUNS = frozenset({"-exec", "-execdir"})
_WRITES = {
    "-delete": Risk.HIGH,
    "-fprint": Risk.MEDIUM,
    "-fprint0": Risk.MEDIUM,
    "-fprintf": Risk.MEDIUM,
    "-fls": Risk.MEDIUM,
}
_POWERFUL = (*_WRITES, *_RUNS, "-ok", "-okdir", "-files0-from")


def _find(name: str, words: tuple[Word, ...]) -> Judgement:
    nested: list[Nested] = []
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if text in _RUNS and word.known:
            at = _take_command(words, at, nested)
        elif text in _VALUED or text.startswith("-newer"):
            _check_value(name, words[at : at + 1])
            at += 1
        elif text in _WRITES:
            return changes("option:writes", f"find {text}", risk=_WRITES[text])
        elif text not in _ALONE and text not in _LEADING:
            _check_path(name, word)
    return reads(name, nested=tuple(nested), sensitive=_find_secrets(words) if nested else ())


def _find_secrets(words: tuple[Word, ...]) -> tuple[str, ...]:
    """What it looks for may be a secret only where it looks."""
    names = [words[at + 1].text for at, word in enumerate(words[:-1]) if word.text in {"-name", "-iname"}]
    roots = [word.text for word in words if word.text.startswith(("/", "~"))]
    return secrets_in([*words, *(Word(f"{root}/{name}") for root in roots for name in names)])


def _check_path(name: str, word: Word) -> None:
    if word.text.startswith("-"):
        raise Refused("option:unknown", f"{name} {word.text}")
    if not word.starts_known and _may_be_powerful(word):
        raise Refused("expansion:option", f"{name} {word.text}")


def _check_value(name: str, values: tuple[Word, ...]) -> None:
    """A pattern without quotes becomes names of files, and those could be actions. Not all take the value."""
    for word in values:
        if word.splits or word.text in _POWERFUL or (word.glob and _may_be_powerful(word)):
            raise Refused("expansion:option", f"{name} {word.text}")


def _may_be_powerful(word: Word) -> bool:
    if word.splits or HOLE in word.text:
        return True
    return any(fnmatchcase(action, word.text) for action in _POWERFUL)


def _take_command(words: tuple[Word, ...], at: int, nested: list[Nested]) -> int:
    """Up to `;` or `{} +`. A name that is found begins with where it was found, so never with a dash."""
    end = at
    while end < len(words) and words[end].text != ";" and not (words[end].text == "+" and words[end - 1].text == "{}"):
        end += 1
    many = end < len(words) and words[end].text == "+"
    command = tuple(_place_name(word, many=many) for word in words[at:end])
    if not command or end == len(words):
        raise Refused("operands:no-command", "find -exec")
    nested.append(Nested(command))
    return end + 1


def _place_name(word: Word, *, many: bool) -> Word:
    if word.text == "{}":
        return Word(STUB, glob=many)
    return Word(word.text.replace("{}", HOLE), word.splits, word.glob) if "{}" in word.text else word


PROGRAMS = collect(("find", _find))

"""By which of its words a program that changes something is given a file to run, to apply or to put somewhere.

A row is `names | words`, where `program/verb` is a program with this verb. Words: `-x` and `--long` take a file, `-x.`
only if the value looks like one, `-x:` a value that is none. `!-x` says that what is run stands in the call and no
operand is a file, `?-x` that there is a file only with it. What the operands are is said by `first` (the first is a
file), `all`, `sources` (all but the last), `paths` (those that say where they are) or `files` (these, and what is
called like a file). With `old`, options may stand in the first word without a dash.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from midwatch.safety.shell.words import Word, names


class Take(Enum):
    NONE = "none"
    FIRST = "first"
    ALL = "all"
    SOURCES = "sources"
    PATHS = "paths"
    FILES = "files"
    TELLING = "telling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    files: frozenset[str] = frozenset()
    likely: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    operands: Take = Take.NONE
    is_old: bool = False
    """The first word holds options also without a dash."""


SHELLS: Final = names("sh bash dash ash zsh ksh mksh fish rbash")
INTERPRETERS: Final = SHELLS | names(
    "python python2 python3 pypy pypy3 ipython perl ruby node nodejs deno bun php lua luajit tclsh expect Rscript pwsh"
)

_ROWS: Final = """
sh bash dash ash zsh ksh mksh fish rbash source . | first !-c !-s -o: +o: +O: -O: --rcfile --init-file
python python2 python3 pypy pypy3 ipython | first !-c !-m -W: -X:
perl | first !-e !-E
ruby | first !-e -r
node nodejs | first !-e !-p !--eval !--print -r --require --import
deno/run bun/run | all
php | first !-r -f --file -d: -c
lua luajit tclsh Rscript julia groovy jshell swift osascript racket guile | first !-e
expect | first !-c
pwsh powershell | first !-c !-Command -File -f
java | -jar -cp -classpath --class-path -javaagent
go/run | all
mongosh mongo | files -f --file --host: --port: -u: -p:
psql | -f --file -d: -U: -h: -p: -v: -c: -o:
pg_restore mongorestore | all -d: -U: -h: -p: -n: -t: -j: -f: --archive
mysql mariadb | --defaults-file --defaults-extra-file -e: -u: -h: -D: -P:
sqlite3 duckdb | -init
redis-cli valkey-cli | --eval -h: -p: -n: -a:
etcdctl/snapshot | files
kubectl oc k k3s-kubectl | -f --filename -k --kustomize --from-file --from-env-file --patch-file -n: -l: -o: -c: -p:
kubectl/cp oc/cp k/cp | sources -n: -c:
helm | files -f --values --set-file -n: --namespace: --set: --version: --timeout:
kustomize | files
ansible | -i --inventory
docker podman nerdctl | --env-file -H: -c:
docker/compose docker-compose podman/compose podman-compose | -f. --file --env-file -p: --profile:
docker/stack docker/service | -c --compose-file --env-file
docker/build docker/buildx podman/build nerdctl/build | -f --file --secret: --build-arg: -t:
docker/load docker/image podman/load | -i --input
docker/import podman/import | first
docker/cp podman/cp nerdctl/cp | sources
ansible-playbook | all -i --inventory -e: --extra-vars: -l: --limit: -t: --tags: -u: -f: -M --module-path
terraform tofu terragrunt | -var-file -backend-config -var: -target:
terraform/apply tofu/apply terragrunt/apply | all -var-file -var: -target:
puppet/apply | all
chef-client chef-solo | files -c -j
nft | -f --file
iptables-restore ip6tables-restore arptables-restore ebtables-restore | all
ipset | -f -file
sysctl | -p --load
crontab | all -u:
at batch | -f -t: -q:
make gmake | -f --file --makefile -C: -j:
patch | -i --input -p: -d:
git/apply git/am | all
sed gsed | -f --file -e:
awk gawk mawk | -f --file -v: -F:
dpkg | all ?-i ?--install ?--unpack
rpm | all ?-i ?-U ?-F ?--install ?--upgrade ?--reinstall
apt apt-get dnf yum zypper microdnf apk snap flatpak pacman brew | paths
pip pip3 uv pipx | paths -r --requirement -c --constraint -t: -i:
npm yarn pnpm gem cargo | paths
cp install gcp | sources -t: --target-directory: -m: --mode: -o: --owner: -g: --group: -S: --suffix:
rsync | sources -e: --rsh: --exclude: --include: --files-from --exclude-from --include-from
scp sftp | sources -i: -P: -o: -F: -J: -c: -l: -S: -b
tar bsdtar gtar | old -f --file ?-x ?--extract ?--get -C: -X: -T:
unzip | first -d: -x:
7z 7za 7zz | files
cpio | -F --file -I
qmrestore pct/restore | files
curl | -T --upload-file -K --config -o: -H: -X: -u: -A: -e: -m: -w:
wget | -i --input-file --post-file --body-file -O: -o: -P:
nginx | -c -g:
apache2 httpd apachectl | -f -c: -k:
haproxy | -f
logrotate | all -s: -m: -l:
systemctl/link systemctl/enable systemctl/edit | paths
ldapadd ldapmodify ldapdelete | -f
nomad/job nomad/run | files -var-file
xargs parallel | -a --arg-file -I: -n: -P: -L: -d: -s:
tc ip bridge | -batch -b
virsh | files
"""
_ATS: Final = names("curl http https xh vault consul az gh glab ansible ansible-playbook doctl restic mc aws")
"""For these `@name` stands for what is in the file, also behind an equals sign."""
_URIS: Final = ("file://", "fileb://")
_PREFIXES: Final = {"dd": ("if=",)}
_INCLUDING: Final = names("psql mysql mariadb sqlite3 duckdb mongosh mongo")
_INCLUDES: Final = re.compile(
    r"(?:^|[\s;])(?:source|\\\.|\\ir?|\.read|\.import|infile|load(?=\())[\s(]+['\"]?([^\s;'\")]+)"
)
_WRITING_FILES: Final = names(
    "pg_dump pg_dumpall mysqldump mariadb-dump mongodump iptables-save ip6tables-save tcpdump collectl zip gzip gunzip"
    " bzip2 bunzip2 xz unxz zstd unzstd split"
)
"""A file that they are told of is where they write, or what they change."""
_LOADED: Final = re.compile(
    r"(?s)(?:BASH_ENV|ENV|LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|PATH|PYTHON(?:PATH|STARTUP|HOME)|PERL5(?:LIB|DB)|RUBYLIB"
    r"|NODE_PATH|CLASSPATH|GIT_SSH|PAGER|EDITOR|VISUAL|SHELL)=(.+)"
)
"""What a program runs besides, by its environment."""
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_LIKELY: Final = re.compile(r"[./]")
_LONG: Final = re.compile(
    r"--(?!(?:[a-z-]+-)?(?:log|pid|lock|out|output|cookie|cache|trace|dump|backup|key|cert|ca|token|password"
    r"|credentials?|identity|known-hosts|hosts|swap|result|status|report|history|vacuum)-files?)"
    r"(?:[a-z-]+-)?(?:file|filename|files|manifest|playbook|requirement)"
)
_TELLING: Final = re.compile(
    r"(?s).*\.(?:sh|bash|py|pl|rb|js|ts|php|lua|sql|ya?ml|json|toml|tf|tfvars|j2|tmpl|patch|diff|ldif|xml|hcl|nix|cue"
    r"|jar|war|deb|rpm|whl|tgz|tar|zip|7z|gz|xz|bz2|zst|db|dump|bak|img|iso|qcow2)"
)
"""What only a file is called that somebody wrote to be run or applied."""


@cache
def _carriers() -> dict[str, Carrier]:
    rows = (row.partition(" | ") for row in _ROWS.strip().splitlines())
    return {
        name: carrier for known, _, words in rows for carrier in [_read_row(words.split())] for name in known.split()
    }


def _read_row(words: Sequence[str]) -> Carrier:
    takes = {take.value: take for take in Take}
    return Carrier(
        files=frozenset(word for word in words if word[0] == "-" and word[-1] not in ":."),
        likely=frozenset(word[:-1] for word in words if word[-1] == "."),
        values=frozenset(word[:-1] for word in words if word[-1] == ":"),
        inline=frozenset(word[1:] for word in words if word[0] == "!"),
        needs=frozenset(word[1:] for word in words if word[0] == "?"),
        is_old="old" in words,
        operands=next((takes[word] for word in words if word in takes), Take.NONE),
    )


def list_carried(program: str, words: Sequence[Word], *, is_known: bool) -> Iterator[Word]:
    """Words that name files; of a program that nobody knows, all that look like it."""
    table = _carriers()
    if (carrier := table.get(program)) is not None:
        yield from _take(carrier, words)
    for word in words:
        if (carrier := table.get(f"{program}/{word.text}")) is not None:
            yield from _take(carrier, [each for each in words if each is not word])
    if program not in _WRITING_FILES:
        yield from _take(_NOTHING if is_known or program in table else _UNKNOWN, words)
    yield from _list_marked(program, words)


def find_loaded(assignment: str) -> str | None:
    """The file that a variable makes a program run."""
    match = _LOADED.fullmatch(assignment)
    return None if match is None else match[1]


def looks_like_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~"))


def _take(carrier: Carrier, words: Sequence[Word]) -> Iterator[Word]:
    operands: list[Word] = []
    reading = _Reading(carrier, operands, set())
    found = list(reading.read(words))
    if not carrier.needs or carrier.needs & reading.seen:
        yield from found
        if not carrier.inline & reading.seen:
            yield from _choose(carrier.operands, operands, seen=reading.seen)


_NOTHING: Final = Carrier()
_UNKNOWN: Final = Carrier(operands=Take.TELLING)


@dataclass(slots=True)
class _Reading:
    carrier: Carrier
    operands: list[Word]
    seen: set[str]
    """The options that are there."""

    def read(self, words: Sequence[Word]) -> Iterator[Word]:
        """The values of options that take a file; what is no option goes to the operands."""
        rest = iter(words)
        for word in rest:
            text = word.text
            if self.carrier.is_old and word is words[0] and _LETTERS.fullmatch(text):
                yield from self._read_cluster(word._replace(text=f"-{text}"), rest)
            elif text == "--":
                self.operands.extend(rest)
            elif text[:1] not in ("-", "+") or text in ("-", "+"):
                self.operands.append(word)
                if self.carrier.operands is Take.FIRST:
                    # What follows is the script's own.
                    return
            elif text in self.carrier.values:
                self.seen.add(text)
                next(rest, None)
            else:
                yield from self._read_option(word, rest)

    def _read_option(self, word: Word, rest: Iterator[Word]) -> Iterator[Word]:
        name, equals, value = word.text.partition("=")
        self.seen.add(name)
        if self._takes_file(name) or _LONG.fullmatch(name):
            yield from self._read_value(name, word._replace(text=value) if equals else next(rest, None))
        elif not name.startswith("--"):
            yield from self._read_cluster(word, rest)

    def _read_cluster(self, word: Word, rest: Iterator[Word]) -> Iterator[Word]:
        for place, letter in enumerate(word.text[1:], start=2):
            name, behind = f"-{letter}", word.text[place:]
            self.seen.add(name)
            if self._takes_file(name):
                yield from self._read_value(name, word._replace(text=behind) if behind else next(rest, None))
                return
            if name in self.carrier.values:
                next(rest if not behind else iter(()), None)
                return

    def _takes_file(self, name: str) -> bool:
        return name in self.carrier.files or name in self.carrier.likely

    def _read_value(self, name: str, value: Word | None) -> Iterator[Word]:
        if value is None or value.text.startswith(_URIS):
            return
        if name not in self.carrier.likely or not value.known or _LIKELY.search(value.text):
            yield value


def _choose(take: Take, operands: Sequence[Word], *, seen: set[str]) -> Sequence[Word]:
    match take:
        case Take.NONE:
            return ()
        case Take.FIRST:
            return operands[:1]
        case Take.ALL:
            return operands
        case Take.SOURCES:
            return operands if {"-t", "--target-directory"} & seen else operands[:-1]
        case _:
            return [word for word in operands if _is_named(word.text, take)]


def _is_named(text: str, take: Take) -> bool:
    is_path = take is not Take.TELLING and looks_like_path(text)
    return is_path or (take is not Take.PATHS and _TELLING.fullmatch(text) is not None)


def _list_marked(program: str, words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        text = word.text
        for start in _URIS:
            if start in text:
                yield word._replace(text=text.partition(start)[2])
        if program in _ATS and (text.startswith("@") or "=@" in text):
            yield word._replace(text=text.partition("@")[2])
        for start in _PREFIXES.get(program, ()):
            if text.startswith(start):
                yield word._replace(text=text.removeprefix(start))
        if program in _INCLUDING:
            yield from (word._replace(text=match[1]) for match in _INCLUDES.finditer(text))

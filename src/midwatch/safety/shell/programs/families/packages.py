"""What is installed: the questions of package tools. What fetches or fills caches is left out, and so a write."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.programs.phrases import keep_operands
from midwatch.safety.shell.verdict import Finding, Risk, write_finding

_HIGH = change(risk=Risk.HIGH)
_HELP = " --help --version"
_APT_CHANGES = (
    "install reinstall remove purge autoremove autopurge update upgrade full-upgrade dist-upgrade edit-sources clean"
    " autoclean build-dep source download satisfy"
)
_APT_SHOW = verb(
    flags="-a --all-versions --installed --upgradable --upgradeable --manual-installed -v --verbose -n --names-only -f"
    " --full --recurse --important -i --no-pre-depends --no-depends --no-recommends --no-suggests",
    operands="text*",
)
_RPM_VERBS = (
    "-q --query -a --all -i --info -l --list -c --configfiles -d --docfiles -s --state --last --changelog --scripts"
    " --triggers --requires -R --provides --conflicts --obsoletes --whatprovides --whatrequires -V --verify --nofiles"
    " --nodeps --nodigest --nosignature --noscripts --dump -v --showrc"
)


def _refuse_installing(call: Call) -> Finding | None:
    """`-i` asks for information in a query, and installs outside of one."""
    if call.has("-i --info") and not call.has("-q --query"):
        return write_finding("option:writes", risk=Risk.HIGH, part="rpm -i")
    return None


def _only_ask(call: Call) -> Finding | None:
    """`-S` installs, removes or upgrades unless it searches, shows or lists."""
    if not call.has("-S --sync") or (
        call.has("-s --search -i --info -l --list -g --groups")
        and not call.has("-c --changelog -u --upgrades -Q --query")
    ):
        return None
    return write_finding("option:writes", risk=Risk.HIGH, part="pacman -S")


PROGRAMS = collect(
    program(
        "apt",
        flags="-q --quiet -v -h" + _HELP,
        foreign="-o --option -c --config-file -t --target-release",
        verbs={"list show search policy depends rdepends showsrc": _APT_SHOW, _APT_CHANGES: _HIGH},
        risk=Risk.HIGH,
    ),
    program(
        "apt-cache",
        flags="-q --quiet -v -h" + _HELP,
        foreign="-o --option -c --config-file -p --pkg-cache -s --src-cache",
        verbs={
            "policy show search depends rdepends madison"
            " stats pkgnames showpkg showsrc unmet dump dumpavail": _APT_SHOW,
            "gencaches": _HIGH,
        },
    ),
    program(
        "apt-mark",
        verbs={"showauto showmanual showhold": verb(operands="text*"), "auto manual hold unhold": _HIGH},
        risk=Risk.HIGH,
    ),
    program("apt-config", verbs={"dump": verb()}),
    ("apt-get apt-key add-apt-repository apt-add-repository dpkg-reconfigure debconf-set-selections", _HIGH),
    program(
        "dpkg",
        flags="-l --list -L --listfiles -s --status -S --search -p --print-avail --get-selections -V"
        " --verify -C --audit"
        " --print-architecture --print-foreign-architectures -I --info -c --contents --no-pager" + _HELP,
        needs="-l --list -L --listfiles -s --status -S --search -p --print-avail --get-selections -V"
        " --verify -C --audit"
        " --print-architecture --print-foreign-architectures -I --info -c --contents --help --version",
        foreign="--admindir --root --instdir -D --pre-invoke --post-invoke",
        operands="text*",
        risk=Risk.HIGH,
    ),
    program(
        "dpkg-query",
        flags="-l --list -L --listfiles -s --status -S --search -p --print-avail -W --show -c --control-list --no-pager"
        + _HELP,
        values="-f --showformat",
        foreign="--admindir --root",
        operands="text*",
    ),
    program(
        "dpkg-deb",
        flags="-I --info -c --contents -f --field -W --show --help",
        needs="-I --info -c --contents -f --field -W --show",
        operands="path text*",
    ),
    program("debsums", flags="-s --silent -c --changed -l --list-missing -a --all -e --config", operands="text*"),
    program(
        "rpm",
        flags=_RPM_VERBS + _HELP,
        values="--qf --queryformat -g --group",
        paths="-f --file -p --package",
        needs="-q --query -V --verify --showrc --version --help",
        destroys="-e --erase -U --upgrade -F --freshen --install --reinstall --import --initdb --rebuilddb --setperms",
        foreign="--root -r --dbpath --rcfile --define -D --eval -E --macros --load --pipe",
        operands="text*",
        check=_refuse_installing,
        risk=Risk.HIGH,
    ),
    program(
        "dnf yum microdnf",
        flags="-C --cacheonly -q --quiet -v --verbose -h --showduplicates --installed" + _HELP,
        values="--enablerepo --disablerepo --repo --repoid",
        foreign="-c --config --installroot --setopt --releasever",
        inherit=True,
        verbs={
            "list info search provides whatprovides repolist repoquery deplist": verb(
                operands="text*", flags="-C --cacheonly --all --available --updates --extras", needs="-C --cacheonly"
            ),
            "history": verb(
                verbs={"list info": verb(operands="text*"), "undo redo rollback": _HIGH}, default_verb="list"
            ),
            "install remove erase update upgrade downgrade reinstall autoremove clean makecache groupinstall swap"
            " distro-sync module": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "apk",
        flags="-q --quiet -v --verbose" + _HELP,
        foreign="-p --root -X --repository --keys-dir --repositories-file",
        verbs={
            "info list version": verb(
                flags="-a --all -d --description -e --installed -I -L --contents -P --provides -r"
                " --rdepends -R --depends -s"
                " --size -w --webpage -W --who-owns -v -l --limit -O",
                operands="text*",
            ),
            "search": verb(flags="-a --all -d --description -e --exact -v -x", operands="text*"),
            "policy": verb(operands="text*"),
            "stats": verb(),
            "add del update upgrade fix cache fetch": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "pacman",
        flags="-Q --query -S --sync -c --changelog -d --deps -e --explicit -g --groups -i --info -k --check -l"
        " --list -m --foreign -n"
        " --native -o --owns -q --quiet -s --search -t --unrequired -u --upgrades" + _HELP,
        writes="-y --refresh -w --downloadonly",
        needs="-Q --query -S --sync",
        operands="text*",
        check=_only_ask,
        risk=Risk.HIGH,
    ),
    program(
        "snap",
        verbs={
            "list version services changes tasks connections interfaces": verb(
                flags="--all --abs-time --last", operands="text*"
            ),
            "info find": verb(flags="--verbose --color", operands="text*"),
            "logs": verb(flags="-f", values="-n", operands="text*", follow="-f"),
            "install remove refresh revert enable disable start stop restart set connect disconnect": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "flatpak",
        flags="--version --help",
        verbs={
            "info history ps remotes": verb(
                flags="-d --show-details --user --system", values="--columns", operands="text*"
            ),
            "list": verb(flags="--app --runtime -d --show-details --user --system", values="--columns"),
            "install uninstall update run remote-add remote-delete": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "pip pip3",
        flags="-q --quiet -v --verbose -V --disable-pip-version-check --no-color --isolated --no-input -h" + _HELP,
        foreign="--python --proxy --cert --client-cert --trusted-host --log",
        verbs={
            "list freeze": verb(
                flags="-l --local --user -e --editable --all --not-required -q", values="--format --exclude --path"
            ),
            "show check": verb(flags="-f --files", operands="text*"),
            "config": verb(
                verbs={"list get debug": verb(operands="text?", sensitive="a configuration"), "set unset edit": _HIGH}
            ),
            "cache": verb(verbs={"dir info list": verb(operands="text?"), "purge remove": _HIGH}),
            "install uninstall download wheel index hash": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "npm",
        flags="-v --version -h --help",
        verbs={
            "ls list ll la": verb(
                flags="-g --global --json -l --long -p --parseable -a --all --prod --production",
                values="--depth",
                operands="text*",
            ),
            "root prefix bin": verb(flags="-g --global"),
            "view info show v why explain outdated search": verb(
                flags="--json -g --global -l --long", operands="text*", check=keep_operands(r"[^:]*")
            ),
            "config": verb(
                verbs={"list ls get": verb(operands="text*", sensitive="a configuration"), "set delete edit": _HIGH}
            ),
            "install i add uninstall remove rm update ci run exec publish link rebuild audit cache start test": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "gem",
        flags="-v --version -h --help",
        verbs={
            "list environment env info search outdated contents which": verb(
                flags="-l --local -a --all -d --details", operands="text*"
            ),
            "install uninstall update cleanup push": _HIGH,
        },
        risk=Risk.HIGH,
    ),
    program(
        "brew",
        flags="--version --prefix --cellar",
        verbs={
            "list ls leaves info deps desc uses config": verb(
                flags="-1 --versions --formula --cask --installed --tree --json", operands="text*"
            ),
            "services": verb(verbs={"list info": verb(operands="text?")}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "update-alternatives",
        flags="--get-selections",
        values="--list --display --query",
        needs="--list --display --query --get-selections",
        risk=Risk.HIGH,
    ),
    program("ldconfig", flags="-p --print-cache -V" + _HELP, needs="-p --print-cache", risk=Risk.HIGH),
    ("emerge portage pkg_add rpmbuild alien dpkg-divert dpkg-statoverride", _HIGH),
)

"""Shared disks, hardware, binaries, keys, searches and sums: what operators look at now and then."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.judge import judge
from midwatch.safety.shell.programs.model import Call, Judgement
from midwatch.safety.shell.programs.phrases import keep_operands
from midwatch.safety.shell.verdict import Category, Finding, Risk, write_finding
from midwatch.safety.shell.words import Word

_HIGH = change(risk=Risk.HIGH)
_HELP = " --help --version"
_TEXTS = verb(operands="text*")


def _refuse_lists(call: Call) -> Finding | None:
    """`@file` holds further words, and an option among them may load a plug-in."""
    if any(not word.starts_known or word.text.startswith("@") for word in call.operands):
        return write_finding("operands:file", part=call.program)
    return None


_NVIDIA = verb(
    flags="-L --list-gpus -q --query -x --xml-format -h --help",
    values="-i --id -d --display --query-gpu --query-compute-apps --format -l --loop",
    writes="-f --filename -pm -pl -r --gpu-reset -c -e -p -lgc",
    follow="-l --loop",
    style="single",
    risk=Risk.HIGH,
)
_NVIDIA_VIEWS = {
    "topo": verb(flags="-m --matrix -p2p"),
    "dmon pmon": verb(values="-i -d -c -s -o", endless=Category.STREAM, bounds="-c"),
    "nvlink": verb(flags="-s --status -c --capabilities", values="-i"),
}


def _nvidia(name: str, words: tuple[Word, ...]) -> Judgement:
    """Its views have options of their own, some of which set something outside of them."""
    first = words[0].text if words and words[0].known else ""
    for names, view in _NVIDIA_VIEWS.items():
        if first in names.split():
            return judge(f"{name} {first}", view, words[1:])
    return judge(name, _NVIDIA, words)


PROGRAMS = collect(
    program(
        "blkid",
        flags="-D -k -l -p -i -V -h",
        values="-n -o -s -t -u -L -U -O -S",
        writes="-g --garbage-collect -c --cache-file -w",
        operands="path*",
        names_only=True,
    ),
    program("lsscsi", flags="-c -C -d -g -i -k -l -L -p -s -t -u -v -V -w -N -U", operands="text?"),
    program("showmount", flags="-a --all -d --directories -e --exports --no-headers -h -v", operands="host?"),
    program("nfsstat", flags="-c -s -n -r -m -l -o -2 -3 -4 -v --help", digits=True),
    program("rpcinfo", flags="-p -s -m", operands="host?"),
    program("exportfs", flags="-v -s", risk=Risk.HIGH),
    program("smbstatus", flags="-b -B -d -L -n -N -p -P -S -v --shares --locks --processes --brief", values="-u"),
    program("testparm", flags="-s -v --suppress-prompt --verbose", risk=Risk.MEDIUM),
    program("quota", flags="-F -g -l -m -p -q -Q -s -u -v -w", operands="text*"),
    program("repquota", flags="-a -c -C -g -i -n -p -P -q -s -t -u -v", operands="text*"),
    program("multipath", flags="-l -ll -v -v2 -v3", needs="-l -ll", style="single", operands="text?", risk=Risk.HIGH),
    program("iscsiadm", flags="-s", values="-m --mode -P --print", operands="", needs="-m --mode", risk=Risk.HIGH),
    program(
        "ipmitool",
        flags="-v -c",
        values="-I",
        verbs={
            "sensor": verb(verbs={"list get": _TEXTS}, default_verb="list"),
            "sdr": verb(verbs={"list elist type info get": _TEXTS}, default_verb="list"),
            "sel": verb(verbs={"list elist info": _TEXTS}, default_verb="info"),
            "fru": verb(verbs={"print": _TEXTS}, default_verb="print"),
            "chassis": verb(verbs={"status": verb(), "power": verb(verbs={"status": verb()})}),
            "user channel": verb(verbs={"list info summary": _TEXTS}),
            "dcmi": verb(verbs={"power": verb(verbs={"reading": verb()})}),
            "mc": verb(verbs={"info": verb()}),
            "lan": verb(verbs={"print": _TEXTS}),
            "power": verb(verbs={"status": verb(), "on off cycle reset soft": _HIGH}),
        },
        risk=Risk.HIGH,
    ),
    ("nvidia-smi", _nvidia),
    program(
        "rocm-smi",
        flags="-a --showallinfo --showtemp --showuse --showmeminfo --showpower --showid -i -t -u",
        risk=Risk.HIGH,
    ),
    program(
        "dstat",
        flags="-c --cpu -d --disk -g --page -i --int -l --load -m --mem -n --net -p --proc -r --io -s --swap -t"
        " --time -y --sys -a --all -f --full -v --vmstat --tcp --udp --socket --top-cpu --top-mem --top-io"
        " --nocolor --noheaders -T",
        values="-C -D -I -N -S",
        writes="--output",
        operands="number*",
        endless=Category.STREAM,
    ),
    program("glances bpytop gotop", flags="--help --version -v", endless=Category.STREAM),
    program(
        "nethogs",
        flags="-a -b -t -s -l -C -V -h",
        values="-c -d",
        operands="text*",
        endless=Category.STREAM,
        bounds="-c",
    ),
    program(
        "vnstat",
        flags="-h --hours -d --days -m --months -w --weeks -y --years -t --top -s --short -5 --oneline --json -v"
        " --iflist -l --live" + _HELP,
        values="-i --iface",
        follow="-l --live",
    ),
    program(
        "nm size",
        flags="-A -a -C -D -g -l -n -P -p -r -S -s -u -o -x -d -t -B -V" + _HELP,
        operands="path*",
        check=_refuse_lists,
    ),
    program(
        "readelf objdump",
        flags="-a -h -l -S -s -d -r -e -n -V -A -I -W -u -x -D -t -T -p -f -C -g -w -L -H -v --wide --all --headers"
        " --disassemble --syms --dynamic --sections --segments --symbols --private-headers --file-headers" + _HELP,
        operands="path*",
        check=_refuse_lists,
    ),
    program("expr", operands="text*", inert=True, flags=_HELP),
    program("bc", flags="-l --mathlib -q --quiet -s --standard -w --warn -h -v", operands="path*"),
    program(
        "fd fdfind",
        flags="-H --hidden -I --no-ignore -u --unrestricted -s --case-sensitive -i --ignore-case -g --glob -F"
        " --fixed-strings -a --absolute-path -L --follow -p --full-path -0 --print0 -q --quiet -1 -l --list-details"
        " -h -V" + _HELP,
        values="-d --max-depth --min-depth --exact-depth -E --exclude -t --type -e --extension -S --size"
        " --changed-within --changed-before -o --owner -c --color -j --threads --max-results",
        writes="-x --exec -X --exec-batch",
        foreign="--ignore-file --base-directory --search-path",
        operands="text path*",
        names_only=True,
    ),
    program(
        "ag ack",
        flags="-i --ignore-case -v --invert-match -w --word-regexp -l --files-with-matches -L -c --count -n -H -h"
        " -o -s -S -u -Q --literal --hidden --nocolor --nogroup --color --group -a --all-types -f",
        values="-A -B -C -m -G --depth --ignore --ignore-dir",
        foreign="--pager -p --path-to-ignore",
        operands="text path*",
    ),
    program(
        "man", flags="-k --apropos -f --whatis -w --where --path -a --all -K", values="-s --sections", operands="text*"
    ),
    program(
        "ssh-keygen",
        flags="-l -v",
        values="-E -F",
        paths="-f",
        needs="-l -F",
        names_only=True,
        risk=Risk.MEDIUM,
    ),
    program("ssh-add", flags="-l -L", needs="-l -L", risk=Risk.MEDIUM),
    program(
        "gpg gpg2",
        flags="--list-keys -k --list-secret-keys -K --fingerprint --list-sigs --with-colons --with-fingerprint"
        " --version --list-public-keys --no-auto-check-trustdb --verify --list-packets --show-keys",
        values="--keyid-format",
        needs="--list-keys -k --list-secret-keys -K --fingerprint --list-sigs --version --list-public-keys --verify"
        " --list-packets --show-keys",
        operands="text*",
        conditional=True,
    ),
    program("mediainfo", flags="-f --Full --help --version", operands="path*", conditional=True),
    program(
        "keytool",
        flags="-list -v -rfc -printcert -cacerts",
        values="-alias -storetype -storepass",
        paths="-keystore -file",
        hosts="-sslserver",
        needs="-list -printcert",
        style="single",
        names_only=True,
    ),
    program("k9s", verbs={"info version": verb()}),
    program("kustomize", verbs={"version": verb()}),
    program("stty", flags="-a --all -g --save", operands="text", check=keep_operands("size|speed"), risk=Risk.LOW),
    program("lsinitramfs lsinitrd", flags="-l", operands="path*", names_only=True),
    program("pv", flags="-p -t -e -r -b -n -q -f -h -V", values="-s -i -N -w", operands="path*"),
    program("tshark", values="-r", needs="-r", flags="-n -V -q", sensitive="network traffic", conditional=True),
    (
        "gcc g++ cc clang",
        verb(
            style="single",
            flags="--version -v -dumpversion -dumpmachine -print-search-dirs",
            needs="--version -v -dumpversion -dumpmachine -print-search-dirs",
        ),
    ),
    (
        "make cmake ninja mvn gradle cargo rustup yarn pnpm bundle composer ant sbt meson",
        verb(flags="--version", needs="--version"),
    ),
)

"""Stores of blocks, objects and backups: what they hold and how they are."""

from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.programs.phrases import keep_operands, say
from midwatch.safety.shell.verdict import Finding, Risk, write_finding

_TEXTS = verb(operands="text*")
_POOL = "-p --pool --format"
_LOCAL = r"[^:]*"


def _refuse_remote(call: Call) -> Finding | None:
    """A colon in the name of an archive makes cpio log in to another machine."""
    if all(word.known and ":" not in word.text for word in call.values("-F --file")):
        return None
    return write_finding("option:foreign", part=call.program)


PROGRAMS = collect(
    program(
        "rbd",
        values=_POOL + " --image --namespace",
        flags="-h --help --version",
        inherit=True,
        verbs={
            "ls list info du disk-usage status showmapped": verb(flags="-l --long --pretty-format", operands="text*"),
            "snap lock": verb(verbs={"ls list": verb(operands="text")}),
            "device": verb(verbs={"list": verb()}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "rados",
        values=_POOL + " -N --namespace",
        flags="-h --help --version",
        inherit=True,
        verbs={"lspools df ls stat": verb(flags="--all", operands="text*")},
        risk=Risk.HIGH,
    ),
    program(
        "radosgw-admin",
        values="--bucket --uid --tenant --format",
        operands="text*",
        check=say(r"(?:user|bucket|zone|zonegroup|realm) list|bucket stats|sync status|usage show"),
        risk=Risk.HIGH,
    ),
    program(
        "dmsetup",
        verbs={
            "ls": verb(flags="--tree", values="--target -o --options"),
            "status": verb(flags="--noflush", values="--target", operands="text*"),
            "info": verb(flags="-c -C --columns --noheadings", values="-o -O --sort", operands="text*"),
            "table": verb(values="--target", operands="text*"),
            "deps": verb(values="-o", operands="text*"),
            "targets version": verb(),
        },
        risk=Risk.HIGH,
    ),
    program(
        "blockdev",
        flags="--report --getsize64 --getsz --getsize --getra --getfra --getbsz --getss --getpbsz --getro --getiomin"
        " --getioopt --getalignoff --getmaxsect --getdiscardzeroes --getdiskseq --getzonesz -q -v -h -V",
        operands="path*",
        names_only=True,
        risk=Risk.HIGH,
    ),
    program("multipathd", operands="text*", check=say(r"(?:show|list) [a-z]+(?: [a-z]+)*"), risk=Risk.HIGH),
    program("sg_inq", flags="-d -e -h -i -v -V", operands="path", names_only=True, risk=Risk.HIGH),
    program(
        "qemu-img",
        flags="-h --help -V --version",
        verbs={
            "info": verb(
                flags="--backing-chain -U --force-share",
                values="-f --output",
                operands="path",
                check=keep_operands(_LOCAL),
            ),
            "check map": verb(
                flags="-q -U --force-share", values="-f --output", operands="path", check=keep_operands(_LOCAL)
            ),
            "snapshot": verb(flags="-l -q -U", needs="-l", operands="path", check=keep_operands(_LOCAL)),
            "compare": verb(flags="-s -p -q -U", values="-f -F", operands="path path", check=keep_operands(_LOCAL)),
        },
        risk=Risk.HIGH,
    ),
    program(
        "rclone",
        flags="-h --help -V --version",
        verbs={
            "ls lsd lsl lsf size tree about": verb(
                flags="-R --recursive --human-readable --json --fast-list",
                values="--max-depth --include --exclude --min-age --max-age -F --format",
                operands="text",
                check=keep_operands(r"[\w.-]+:[\w./ +@-]*|[\w./+@-]+"),
            ),
            "version": verb(),
            "listremotes": verb(flags="--long"),
        },
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "restic",
        flags="--json --no-lock -q --quiet -v --verbose -h --help",
        inherit=True,
        verbs={
            "snapshots stats": verb(
                flags="-c --compact", values="--host --tag --path --latest --mode", operands="text*"
            ),
            "ls find diff": verb(flags="-l --long --recursive", values="--host --path -s --snapshot", operands="text*"),
            "list": verb(operands="text"),
            "version": verb(),
        },
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "borg",
        flags="-V --version -h --help",
        verbs={
            "list info diff": verb(
                flags="--short --json",
                values="--format --last --first --sort-by -a --glob-archives",
                operands="text*",
                check=keep_operands(r"[^:]*(?:::[^:]*)?"),
            )
        },
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "s3cmd",
        flags="--version -h --help",
        verbs={"ls du info": verb(flags="-H --human-readable-sizes -r --recursive", operands="text*")},
        risk=Risk.HIGH,
    ),
    program(
        "gsutil",
        flags="-m -q --version",
        verbs={
            "ls": verb(flags="-l -h -r -R -a -b -L -d -p", operands="text*"),
            "du": verb(flags="-s -h -c -a", operands="text*"),
            "stat cat": verb(operands="text*"),
            "version": verb(flags="-l"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "cpio",
        flags="-t --list -i --extract -v --verbose -n --numeric-uid-gid --quiet --help --version",
        paths="-F --file",
        needs="-t --list --help --version",
        operands="text*",
        check=_refuse_remote,
    ),
    program("ar", verbs={"t tv vt p pv": verb(operands="path text*", check=keep_operands(r"[^@].*"))}),
    program("rpm2cpio", operands="path", check=keep_operands(_LOCAL)),
    program(
        "rsync",
        flags="-n --dry-run -a --archive -v --verbose -r --recursive -z --compress -h --human-readable -i"
        " --itemize-changes -u --update -c --checksum -l --links -p --perms -t --times -g --group -o --owner -D -H -A"
        " -X -x --one-file-system --stats --progress --delete --list-only --size-only --version",
        values="--exclude --include",
        needs="-n --dry-run --list-only --version",
        operands="path*",
        check=keep_operands(_LOCAL),
        names_only=True,
        risk=Risk.HIGH,
    ),
    program(
        "namei",
        flags="-x --mountpoints -m --modes -o --owners -l --long -n --nosymlinks -v --vertical -Z --context"
        " -h -V --help --version",
        operands="path*",
        inert=True,
        names_only=True,
    ),
)

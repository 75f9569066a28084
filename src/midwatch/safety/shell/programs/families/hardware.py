"""The machine itself: util-linux and others that show processors, disks, mounts, modules and kernel settings."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Rewrite
from midwatch.safety.shell.programs.phrases import say
from midwatch.safety.shell.verdict import Finding, Risk, write_finding

_HELP = " --help --version -h -V"


def _refuse_settings(call: Call) -> Finding | None:
    if any("=" in word.text or not word.known for word in call.operands):
        return write_finding("operands:sets", risk=Risk.HIGH, part=call.program)
    return None


def _refuse_log_settings(call: Call) -> Finding | None:
    """A log named with numbers behind it sets timers or intervals of the disk."""
    if all(word.known and "," not in word.text for word in call.values("-l --log")):
        return None
    return write_finding("option:writes", risk=Risk.HIGH, part="smartctl -l")


_PRINT = say(r"/dev/[\w/-]+(?: unit \w+)? print(?: (?:free|list|all|devices|[0-9]+))?")


def _only_print(call: Call) -> Finding | None:
    return None if call.has("-l --list") and not call.operands else _PRINT(call)


PROGRAMS = collect(
    program(
        "dmesg",
        flags="-d --show-delta -e --reltime -H --human -J --json -k --kernel -L -P --nopager -p"
        " --force-prefix -r --raw -S"
        " --syslog -T --ctime -t --notime -u --userspace -w --follow -W --follow-new -x --decode --noescape" + _HELP,
        values="-f --facility -l --level -s --buffer-size --since --until --time-format",
        optional="--color",
        paths="-F --file -K --kmsg-file",
        writes="-C --clear -c --read-clear -D --console-off -E --console-on -n --console-level",
        follow="-w --follow -W --follow-new",
        rewrite=Rewrite(pipe="tail -200"),
    ),
    program(
        "lsblk",
        flags="-a --all -A --noempty -b --bytes -d --nodeps -D --discard -f --fs -i --ascii -J --json -l"
        " --list -m --perms -n"
        " --noheadings -N --nvme -O --output-all -p --paths -P --pairs -r --raw -s --inverse -S --scsi -t"
        " --topology -T -v"
        " --virtio -y --shell -z --zoned" + _HELP,
        values="-E --dedup -e --exclude -I --include -o --output -x --sort -M --merge -w --width -Q --filter",
        optional="--tree",
        operands="path*",
        names_only=True,
    ),
    program(
        "findmnt",
        flags="-A --all -a --ascii -b --bytes -C --nocanonicalize -D --df -f --first-only -i --invert -J"
        " --json -k --kernel -l"
        " --list -m --mtab -n --noheadings -P --pairs -p --poll -R --submounts -r --raw -s --fstab -u --notruncate -v"
        " --nofsroot -x --verify --verbose --deleted --real --pseudo --shadowed" + _HELP,
        values="-d --direction -M --mountpoint -N --task -O --options -o --output -S --source -T --target -t --types -w"
        " --timeout --tree",
        paths="-F --tab-file",
        operands="text*",
        follow="-p --poll",
        bounds="-w --timeout",
        names_only=True,
    ),
    program(
        "mountpoint", flags="-d --fs-devno -q --quiet -x --devno --nofollow" + _HELP, operands="path", names_only=True
    ),
    program(
        "mount", flags="-l --show-labels" + _HELP, values="-t --types", risk=Risk.HIGH
    ),  # with an operand it mounts
    program(
        "swapon",
        flags="-s --summary --noheadings --raw --bytes" + _HELP,
        optional="--show",
        risk=Risk.HIGH,
    ),
    program(
        "losetup",
        flags="-a --all -l --list -n --noheadings -J --json" + _HELP,
        values="-O --output",
        needs="-a --all -l --list",
        risk=Risk.HIGH,
    ),
    program(
        "lscpu lsmem",
        flags="-a --all -b --online --bytes -B -c --offline -C -e -J --json -n --noheadings -p -P --pairs"
        " -r --raw -x --hex -y"
        " --physical --output-all" + _HELP,
        values="-o --output -S --split --summary",
        optional="--caches --extended --parse",
        inert=True,
    ),
    program(
        "lspci",
        flags="-b -k -m -mm -n -nn -t -v -vv -vvv -D -P -PP -x --version --help",
        values="-d -s",
    ),
    program("lsusb", flags="-t --tree -v --verbose" + _HELP, values="-s -d -D"),
    program("lsmod", flags=_HELP),
    program(
        "modinfo",
        flags="-a --author -d --description -l --license -p --parameters -n --filename -0 --null" + _HELP,
        values="-F --field",
        operands="text*",
    ),
    program(
        "lshw",
        flags="-short -businfo -numeric -json -xml -html -quiet -sanitize",
        values="-class -C -disable -enable",
        style="single",
    ),
    program(
        "dmidecode",
        flags="-q --quiet -u --dump" + _HELP,
        values="-s --string -t --type -H --handle",
        writes="--dump-bin",
        foreign="--from-dump -d --dev-mem",
    ),
    program(
        "lsns lslocks lslogins lsfd lsirq",
        flags="-J --json -l --list -n --noheadings -r --raw -u --notruncate -W -i --noinaccessible -p -a"
        " --all -s --system-accs -o -c --colon-separate -e --export -f --failed -g -G --groups-info -L -z" + _HELP,
        values="-t --type --output",
        operands="text*",
    ),
    program(
        "sysctl",
        flags="-a --all -A -X -b --binary -d -e --ignore -N --names -n --values -q --quiet" + _HELP,
        values="-r --pattern",
        writes="-w --write --system",
        foreign="-p --load -f",
        operands="text*",
        check=_refuse_settings,
        risk=Risk.HIGH,
    ),
    program("sensors", flags="-A -f -j -u --no-adapter --fahrenheit" + _HELP, operands="text*"),
    program("numactl", flags="-H --hardware -s --show", needs="-H --hardware -s --show"),
    program("numastat", flags="-c -m -n -v -z -V", values="-p -s", operands="text*"),
    program("efibootmgr", flags="-v --verbose", risk=Risk.HIGH),
    program(
        "smartctl",
        flags="-a --all -x --xall -i --info -H --health -c --capabilities -A --attributes -j --json --scan --scan-open"
        + _HELP,
        values="-l --log -d --device -q --quietmode -n --nocheck -T --tolerance -f --format -P --presets",
        destroys="-s --smart -o --offlineauto -S --saveauto -t --test -X --abort --set -C --captive",
        operands="path*",
        names_only=True,
        check=_refuse_log_settings,
        risk=Risk.HIGH,
    ),
    program(
        "nvme",
        flags=_HELP,
        verbs={
            "list list-subsys": verb(flags="-v --verbose", values="-o --output-format"),
            "smart-log error-log id-ctrl id-ns fw-log show-regs get-log": verb(
                flags="-H --human-readable",
                values="-o --output-format -n --namespace-id -e --log-entries -i --log-id -l --log-len",
                operands="path",
            ),
            "format sanitize fw-download fw-commit reset set-feature write-zeroes delete-ns create-ns": change(
                risk=Risk.HIGH
            ),
        },
        risk=Risk.HIGH,
    ),
    program(
        "hdparm",
        flags="-I -i -g -v -t -T -C",
        needs="-I -i -g -t -T -C",
        operands="path*",
        names_only=True,
        risk=Risk.HIGH,
    ),
    program(
        "sfdisk",
        flags="-l --list -d --dump -J --json -F --list-free -s --show-size -v" + _HELP,
        needs="-l --list -d --dump -J --json -F --list-free -s --show-size --version --help -h -V -v",
        operands="path*",
        names_only=True,
        risk=Risk.HIGH,
    ),
    program(
        "fdisk gdisk",  # `sgdisk -l` loads a table
        flags="-l --list -x --list-details" + _HELP,
        needs="-l --list -x --list-details",
        operands="path*",
        names_only=True,
        risk=Risk.HIGH,
    ),
    program(
        "parted",
        flags="-l --list -s --script -m --machine",
        operands="text*",
        check=_only_print,
        risk=Risk.HIGH,
    ),
    program(
        "mdadm",
        flags="-D --detail -E --examine -Q --query -s --scan -v --verbose -b --brief" + _HELP,
        needs="-D --detail -E --examine -Q --query",
        operands="path*",
        names_only=True,
        risk=Risk.HIGH,
    ),
    program("tune2fs dumpe2fs", flags="-l -h", needs="-l -h", operands="path", names_only=True, risk=Risk.HIGH),
    program("xfs_info", flags="-V", operands="path", names_only=True),
    program(
        "pvs vgs lvs pvdisplay vgdisplay lvdisplay",
        flags="-a --all -v --verbose --noheadings --segments -s --short -c --colon -m --maps" + _HELP,
        values="-o --options -O --sort -S --select --units --separator --reportformat",
        foreign="--config --profile --cache",
        operands="text*",
        risk=Risk.HIGH,
    ),
    program(
        "zpool",
        verbs={
            "status list": verb(flags="-v -x -L -P -H -p -D -e -s -t -j -g -i", values="-o -T", operands="text*"),
            "iostat": verb(flags="-v -H -p -l -y -q -r -w", operands="text*", interval=True),
            "get history": verb(flags="-v -H -p -l -i -y -q -r -w", values="-o", operands="text*"),
            "create destroy add remove attach detach replace offline online clear scrub import export set upgrade trim"
            " split reopen labelclear initialize": change(risk=Risk.HIGH),
        },
        risk=Risk.HIGH,
    ),
    program(
        "zfs",
        verbs={
            "list get": verb(flags="-H -p -r -S", values="-o -t -s -d", operands="text*"),
            "holds userspace groupspace version": verb(flags="-F -H -t -r -p -n -i", operands="text*"),
            "create destroy set inherit rollback snapshot clone promote rename send receive mount unmount upgrade hold"
            " release load-key unload-key change-key": change(risk=Risk.HIGH),
        },
        risk=Risk.HIGH,
    ),
    program(
        "btrfs",
        verbs={
            "filesystem fi": verb(
                verbs={
                    "df usage show du": verb(flags="-h -H -b -k -m -g -t -T -d -s --raw --si", operands="path*"),
                    "resize defragment sync label balance mkswapfile": change(risk=Risk.HIGH),
                }
            ),
            "device dev": verb(
                verbs={
                    "stats usage": verb(flags="-c --check -b -h -T", operands="path*"),
                    "add remove delete scan": change(risk=Risk.HIGH),
                }
            ),
            "subvolume sub": verb(
                verbs={
                    "list show get-default": verb(flags="-p -a -c -g -o -u -t -s -r -d", operands="path*"),
                    "create delete snapshot set-default": change(risk=Risk.HIGH),
                }
            ),
            "scrub": verb(
                verbs={"status": verb(flags="-d -R", operands="path"), "start cancel resume": change(risk=Risk.HIGH)}
            ),
            "balance send receive check rescue restore replace property quota qgroup": change(risk=Risk.HIGH),
        },
        risk=Risk.HIGH,
    ),
    (
        "umount swapoff modprobe insmod rmmod depmod kexec mkswap mkfs wipefs badblocks fsck e2fsck resize2fs",
        change(risk=Risk.HIGH),
    ),
    ("mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat fstrim dd partprobe cryptsetup hwclock", change(risk=Risk.HIGH)),
    ("reboot shutdown halt poweroff init telinit wall", change(risk=Risk.HIGH)),
    (
        "lvcreate lvremove lvextend lvreduce lvresize lvchange lvrename vgcreate vgremove vgextend vgreduce vgchange",
        change(risk=Risk.HIGH),
    ),
    ("pvcreate pvremove pvresize pvscan vgscan pvmove sgdisk growpart xfs_growfs xfs_repair", change(risk=Risk.HIGH)),
    (
        "useradd userdel usermod groupadd groupdel groupmod chpasswd chsh chfn gpasswd vipw",
        change(risk=Risk.HIGH),
    ),
)

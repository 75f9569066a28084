"""Hardware, power and firmware, on Linux and elsewhere: what they report."""

from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.phrases import keep_operands, keep_values, say
from midwatch.safety.shell.verdict import Category, Risk

_TEXTS = verb(operands="text*")
_HELP = " --help --version"

PROGRAMS = collect(
    program(
        "cpupower",
        verbs={
            "frequency-info": verb(flags="-a -b -c -d -e -f -g -h -l -m -n -o -p -r -s -w -y"),
            "idle-info info": verb(flags="-b -f -s -o"),
        },
        values="-c --cpu",
        flags="-v --version -h --help",
        risk=Risk.HIGH,
    ),
    program(
        "rfkill",
        flags="-J --json -n --noheadings -r --raw -h" + _HELP,
        values="-o --output",
        inherit=True,
        default_verb="list",
        verbs={"list": verb(operands="text?")},
        risk=Risk.HIGH,
    ),
    program("bluetoothctl", operands="text*", check=say(r"show|list|devices|info [0-9A-Fa-f:]+"), risk=Risk.HIGH),
    program(
        "upower",
        flags="-e --enumerate -d --dump -v --version --help -m --monitor",
        values="-i --show-info",
        follow="-m --monitor",
    ),
    program(
        "acpi", flags="-b -a -t -c -V -v -i -f -k -s --battery --thermal --ac-adapter --everything --details" + _HELP
    ),
    program(
        "inxi", flags="-A -B -b -C -D -d -F -f -G -I -J -j -L -l -M -m -N -P -p -R -S -s -u -V -v -x -z", values="-c"
    ),
    program(
        "hwinfo",
        flags="--short --all --disk --cpu --netcard --network --memory --bios --usb --pci --gfxcard --sound --monitor"
        " --partition --storage --version",
    ),
    program("needrestart", flags="-b -k -l -v", values="-r", needs="-r", check=keep_values("-r", "l"), risk=Risk.HIGH),
    program("needs-restarting", flags="-r -s -u -h --help", risk=Risk.MEDIUM),
    program(
        "mokutil",
        flags="--sb-state -l --list-enrolled --list-new --list-delete --pk --kek --db --dbx -h" + _HELP,
        needs="--sb-state -l --list-enrolled --list-new --list-delete --pk --kek --db --dbx -h --help --version",
        risk=Risk.HIGH,
    ),
    program(
        "fwupdmgr",
        flags="--version -h --help --json --no-unreported-check",
        inherit=True,
        verbs={"get-devices get-history get-topology get-plugins": verb()},
        risk=Risk.HIGH,
    ),
    program(
        "tuned-adm",
        verbs={"active list recommend verify": verb(), "profile_info": verb(operands="text")},
        risk=Risk.HIGH,
    ),
    program("brctl", verbs={"show": _TEXTS, "showmacs showstp": verb(operands="text")}, risk=Risk.HIGH),
    program(
        "iw",
        operands="text*",
        check=say(
            r"list|dev|phy|features|reg get|phy[0-9]* info|phy phy[0-9]+ info",
            r"dev [\w.-]+ (?:info|link|station dump|survey dump|scan dump|get power_save)",
        ),
        risk=Risk.HIGH,
    ),
    program("iwconfig", operands="text", risk=Risk.HIGH),
    program("sw_vers", flags="-productName -productVersion -buildVersion", style="single"),
    program(
        "diskutil",
        verbs={
            "list": verb(flags="-plist", style="single", operands="text*"),
            "info": verb(flags="-plist -all", style="single", operands="text"),
            "apfs": verb(verbs={"list": verb(operands="text*")}),
        },
        risk=Risk.HIGH,
    ),
    program("ioreg", flags="-a -b -f -i -l -r -t -x", values="-c -d -k -n -p -w"),
    program("scutil", flags="--dns --proxy --nwi", values="--get", needs="--dns --proxy --nwi --get", risk=Risk.HIGH),
    program(
        "networksetup",
        flags="-listallnetworkservices -listallhardwareports -listnetworkserviceorder -getinfo -getdnsservers"
        " -getsearchdomains -getmacaddress -getwebproxy -getairportnetwork",
        style="single",
        needs="-listallnetworkservices -listallhardwareports -listnetworkserviceorder -getinfo -getdnsservers"
        " -getsearchdomains -getmacaddress -getwebproxy -getairportnetwork",
        operands="text",
        risk=Risk.HIGH,
    ),
    program(
        "system_profiler",
        flags="-listDataTypes -json -xml",
        values="-detailLevel -timeout",
        style="single",
        operands="text*",
    ),
    program("vm_stat", operands="number", interval=True, values="-c"),
    program(
        "launchctl",
        verbs={"list print blame": verb(operands="text"), "print-disabled": verb(operands="text")},
        risk=Risk.HIGH,
    ),
    program(
        "mdfind", flags="-count -0 -literal", values="-name -onlyin", style="single", operands="text*", names_only=True
    ),
    program("mdls", flags="-raw", values="-name", style="single", operands="path*", names_only=True),
    program("kldstat", flags="-v -h -q", values="-i -n -m"),
    program("equery", flags="-q -C -N", verbs={"list belongs files depends uses which size check": _TEXTS}),
    program("zless zmore", operands="path*", endless=Category.PAGER, check=keep_operands(r"[^+].*")),
)

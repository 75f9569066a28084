"""The network: addresses, routes, sockets and what answers. Names and hosts that are asked for leave the machine."""

import re

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Program, Rewrite
from midwatch.safety.shell.programs.phrases import keep_values, say
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, write_finding
from midwatch.safety.shell.words import HOLE

_HELP = " --help --version"
_HIGH = change(risk=Risk.HIGH)
_PLAIN = re.compile(r"[\w./:%*-]+")


def _ask_names(call: Call) -> Finding | None:
    """`dig @server name type +short`: whatever is no switch is sent to a server of names."""
    if not all(word.known for word in call.operands):
        return write_finding("egress:unknown", phase=Phase.GUARD, part=call.program)
    asked = tuple(word.text.lstrip("@") for word in call.operands if not word.text.startswith("+"))
    return Finding(Intent.CERTAIN, f"read:{call.program}", Phase.READ, part=call.program, egress=asked)


def _refuse_unknown_names(call: Call) -> Finding | None:
    """A name in a filter is looked up, and what is looked up leaves the machine."""
    if any(HOLE in word.text for word in call.operands):
        return write_finding("egress:unknown", phase=Phase.GUARD, part=call.program)
    return None


def _refuse_joined(call: Call) -> Finding | None:
    """The words are joined and read again, so that `'ruleset; flush ruleset'` would be two commands."""
    if all(word.known and _PLAIN.fullmatch(word.text) for word in call.operands):
        return None
    return write_finding("operands:joined", risk=Risk.HIGH, part=call.program)


def _wait_for_questions(call: Call) -> Finding | None:
    if call.operands:
        return None
    return Finding(Intent.CERTAIN, f"read:{call.program}", Phase.READ, part=call.program, endless=Category.REPL)


_SHOW = verb(operands="text*")
_KEYS = verb(operands="text*", sensitive="network keys")
_OBJECT = verb(verbs={"show list lst ls sh": _SHOW}, default_verb="show")
_OBJECT_SHORT = verb(verbs={"show list lst ls sh s": _SHOW, "get": _SHOW}, default_verb="show")
_IP_VERBS: dict[str, Program] = {
    "address addr ad a": _OBJECT_SHORT,
    "route ro r": _OBJECT_SHORT,
    "neighbour neighbor neigh n": _OBJECT_SHORT,
    "link l": _OBJECT,  # `s` means set
    "rule ru maddress maddr tunnel tun nexthop vrf netns mroute": _OBJECT,
    "monitor mo": verb(operands="text*", endless=Category.STREAM),
    "xfrm": verb(
        verbs={"state policy": verb(verbs={"list show ls": _KEYS}, default_verb="list")},
    ),
}

PROGRAMS = collect(
    program(
        "ip",
        style="single",
        flags="-4 -6 -0 -B -M -s -statistics -stats -d -details -o -oneline -br -brief -j -json -p"
        " -pretty -r -resolve -h"
        " -human -human-readable -iec -t -timestamp -ts -tshort -a -all -N -Numeric -V -Version",
        optional="-c -color",
        values="-f -family",
        foreign="-b -batch -n -netns -force -rc -rcvbuf",
        risk=Risk.HIGH,
        verbs=_IP_VERBS,
    ),
    program(
        "ss",
        flags="-n --numeric -r --resolve -a --all -l --listening -B --bound-inactive -o --options -e"
        " --extended -m --memory"
        " -p --processes -T --threads -i --info --tos --cgroup -s --summary -E --events -Z --context -z"
        " --contexts -b --bpf"
        " -4 --ipv4 -6 --ipv6 -0 --packet -t --tcp -M --mptcp -S --sctp -u --udp -d --dccp -w --raw -x --unix --tipc"
        " --vsock --xdp -H --no-header -O --oneline -h -V --inet-sockopt" + _HELP,
        values="-f --family -A --query --socket",
        paths="-F --filter",
        writes="-D --diag",
        destroys="-K --kill",
        foreign="-N --net",
        operands="text*",
        follow="-E --events",
        check=_refuse_unknown_names,
    ),
    program(
        "netstat",
        flags="-r --route -g --groups -i --interfaces -s --statistics -v --verbose -W --wide -n --numeric"
        " --numeric-hosts"
        " --numeric-ports -N --symbolic -e --extend -p --program --programs -c --continuous -l --listening -a --all -o"
        " --timers -F --fib -C --cache -Z --context -t --tcp -u --udp -S --sctp -w --raw -x --unix -4 --inet -6 --inet6"
        " -h -V" + _HELP,
        follow="-c --continuous",
    ),
    program("ifconfig", flags="-a -s -v --help --version", operands="text?", risk=Risk.HIGH),
    program(
        "arp",
        flags="-a -n --numeric -v --verbose -e -V" + _HELP,
        values="-i --device -H --hw-type",
        destroys="-d --delete -s --set -f --file",
        operands="host?",
    ),
    program("route", flags="-n --numeric -e -ee -v --verbose -F --fib -C --cache -V -4 -6" + _HELP, risk=Risk.HIGH),
    program(
        "ping ping6",
        flags="-4 -6 -A -a -b -B -D -d -H -h -L -n -O -q -R -r -U -v -V",
        values="-c -i -I -m -M -Q -s -S -t -T -w -W",
        operands="host",
        endless=Category.STREAM,
        bounds="-c -w",
    ),
    program(
        "traceroute traceroute6 tracepath",
        flags="-4 -6 -A -b -d -e -F -I -n -r -T -U -V --help --version",
        values="-f -i -l -m -N -p -q -s -t -w -z",
        operands="host number?",
    ),
    program(
        "mtr",
        flags="-4 -6 -b --show-ips -e --mpls -j --json -l --raw -C --csv -n --no-dns -r --report -T --tcp"
        " -t --curses -u"
        " --udp -w --report-wide -x --xml -z --aslookup -h -v" + _HELP,
        values="-c --report-cycles -i --interval -m --max-ttl -f --first-ttl -P --port -s --psize -G --gracetime -U"
        " --max-unknown -y --ipinfo -I --interface -a --address -o --order",
        operands="host number?",
        endless=Category.STREAM,
        bounds="-c --report-cycles -r --report -w --report-wide",
    ),
    program(
        "dig delv",
        flags="-4 -6 -m -u -i -r -v -h",
        values="-t -c -p -b",
        hosts="-x -q",
        operands="text*",
        check=_ask_names,
    ),
    program("host", flags="-4 -6 -a -C -d -i -r -s -T -U -v -V -w", values="-c -t -W -R -N -m", operands="host host?"),
    program(
        "nslookup",
        style="single",
        flags="-debug -nodebug -recurse -norecurse -vc -novc -version",
        values="-type -query -querytype -q -class -timeout -port -retry",
        operands="host host?",
        check=_wait_for_questions,
    ),
    program("whois", flags="-H -I -a -l -L -m -r" + _HELP, values="-p -i -T -s", hosts="-h --host", operands="host*"),
    program(
        "ethtool",
        flags="-i --driver -k --show-features --show-offload -S --statistics -g --show-ring -c --show-coalesce -a"
        " --show-pause -l --show-channels -m --module-info -P --show-permaddr -T --show-time-stamping -x"
        " --show-rxfh-indir --show-rxfh --show-eee --show-priv-flags --show-fec --json -h" + _HELP,
        operands="text",
        risk=Risk.HIGH,
    ),
    program("mii-tool", flags="-v --verbose -V", operands="text*", risk=Risk.HIGH),
    program(
        "tcpdump",
        flags="-A -b -d -D --list-interfaces -e -f -H -I -K -l -L -n -N -O -p -q -S -t -u -v -x -X -# --number --help"
        " --version -h",
        values="-B -c --count -i --interface -j -s -T -y --immediate-mode",
        paths="-r -F",
        writes="-w -C -G -W",
        foreign="-z -Z -E -V -m -M",
        operands="text*",
        conditional=True,
        sensitive="network traffic",
        check=_refuse_unknown_names,
        endless=Category.STREAM,
        bounds="-c --count -r -D --list-interfaces",
    ),
    program("nc ncat netcat", flags="-z -v -n -u -4 -6", values="-w", needs="-z", operands="host text*"),
    program(
        "openssl",
        verbs={
            "x509": verb(
                style="single",
                flags="-noout -text -dates -startdate -enddate -subject -issuer -serial -fingerprint"
                " -sha256 -sha1 -md5 -hash"
                " -subject_hash -issuer_hash -pubkey -modulus -email -ocsp_uri -purpose -alias",
                values="-inform -nameopt -certopt -checkend -checkhost -checkip -ext -dateopt",
                paths="-in",
            ),
            "req crl": verb(
                style="single",
                flags="-noout -text -subject -issuer -verify -lastupdate -nextupdate -pubkey -modulus",
                needs="-noout",
                values="-inform -nameopt",
                paths="-in",
            ),
            "dgst sha1 sha256 sha512 md5": verb(
                style="single", flags="-sha1 -sha256 -sha384 -sha512 -md5 -r -hex -c", operands="path*"
            ),
            "verify": verb(
                style="single",
                flags="-verbose -show_chain",
                values="-purpose -verify_hostname",
                paths="-CAfile -CApath -untrusted",
                operands="path*",
            ),
            "rsa ec pkey": verb(
                style="single",
                flags="-noout -check -text -modulus -pubin",
                needs="-noout",
                values="-inform",
                paths="-in",
                sensitive="private keys",
            ),
            "version": verb(style="single", flags="-a -v -b -o -f -p -d -e"),
            "ciphers": verb(style="single", flags="-v -V -s -tls1_2 -tls1_3 -stdname", operands="text?"),
            "errstr": verb(operands="text*"),
        },
    ),
    program(
        "iptables ip6tables iptables-legacy iptables-nft",
        flags="-L --list -S --list-rules -n --numeric -v --verbose -x --exact --line-numbers -4 -6",
        values="-t --table",
        needs="-L --list -S --list-rules",
        operands="text number?",
        risk=Risk.HIGH,
    ),
    program("iptables-save ip6tables-save", flags="-c --counters", values="-t --table", risk=Risk.HIGH),
    program(
        "nft",
        flags="-a --handle -n --numeric -s --stateless -j --json -t --terse -y -S -u -N -h -v -V" + _HELP,
        verbs={"list": verb(operands="text*", check=_refuse_joined)},
        risk=Risk.HIGH,
    ),
    program(
        "ufw",
        verbs={
            "status": verb(operands="text?"),
            "version": verb(),
            "app": verb(verbs={"list": verb(), "info": verb(operands="text")}),
            "show": verb(
                operands="text", check=say(r"added|listening|raw|builtins|(?:before|user|after|logging)-rules")
            ),
        },
        risk=Risk.HIGH,
    ),
    program(
        "firewall-cmd",
        flags="--state --list-all --list-all-zones --list-ports --list-services --list-rich-rules --list-interfaces"
        " --list-sources --get-active-zones --get-default-zone --get-zones --get-services --permanent --version --help",
        values="--zone --info-zone --info-service --query-service --query-port --query-interface --query-source",
        needs="--state --list-all --list-all-zones --list-ports --list-services --list-rich-rules --list-interfaces"
        " --list-sources --get-active-zones --get-default-zone --get-zones --get-services --info-zone --info-service"
        " --query-service --query-port --query-interface --query-source --version --help",
        risk=Risk.HIGH,
    ),
    program(
        "ipset",
        verbs={
            "list save": verb(
                flags="-n -name -t -terse -s -sorted", style="single", values="-o -output", operands="text?"
            ),
            "test": verb(operands="text text"),
        },
        risk=Risk.HIGH,
    ),
    program(
        "conntrack",
        flags="-L --dump -S --stats -C --count",
        values="-p --proto -s --src -d --dst --sport --dport --state -f --family -o --output",
        needs="-L --dump -S --stats -C --count",
        operands="text?",
        risk=Risk.HIGH,
    ),
    program(
        "tc bridge",
        style="single",
        flags="-s -statistics -stats -d -details -p -pretty -j -json -o -oneline -n -c -color",
        foreign="-b -batch -netns -force",
        verbs={"qdisc class filter chain action link fdb mdb vlan": _OBJECT},
        risk=Risk.HIGH,
    ),
    program(
        "nmcli",
        default_verb="general",
        flags="-t --terse -p --pretty -v --version -h --help --offline",
        values="-f --fields -g --get-values -m --mode -c --colors -e --escape",
        verbs={
            "general g gen": verb(verbs={"status": verb()}, default_verb="status"),
            "device dev d": verb(verbs={"status show": verb(operands="text*")}, default_verb="status"),
            "connection con c": verb(
                verbs={"show": verb(flags="--active", values="--order", operands="text*")}, default_verb="show"
            ),
        },
        risk=Risk.HIGH,
    ),
    program("wg", verbs={"show": verb(operands="text?")}, default_verb="show", risk=Risk.HIGH),
    program(
        "chronyc",
        flags="-n -v -c -4 -6",
        verbs={
            "tracking sources sourcestats activity ntpdata serverstats clients": verb(flags="-a -v", operands="text?")
        },
        risk=Risk.HIGH,
    ),
    program(
        "ntpq",
        flags="-p --peers -n --numeric -4 -6",
        values="-c --command",
        needs="-p --peers -c --command",
        operands="host?",
        check=keep_values(
            "-c --command", "rv|readvar|pe|peers|lpeers|as|associations|sysinfo|sysstats|kerninfo|iostats"
        ),
    ),
    program("ipcalc sipcalc", flags="-n -b -m -p -h -c -s -4 -6", operands="text*"),
    program("lldpctl", flags="-d", values="-f", operands="text*"),
    program("lft tcptraceroute", flags="-n", values="-m -q -w -f", operands="host number?"),
    program(
        "iftop nload bmon iptraf-ng",
        flags="-n -N -P -h -t",
        values="-i -p -s",
        endless=Category.STREAM,
        rewrite=Rewrite(whole="ss -s"),
    ),
    ("ifup ifdown dhclient dhcpcd wpa_supplicant wg-quick arping nmap hping3 socat telnet", _HIGH),
    ("iptables-restore ip6tables-restore ftp tftp sftp scp", _HIGH),
)

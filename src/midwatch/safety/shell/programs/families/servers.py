"""Servers of names, mail, directories and pages, and what watches them: their state and settings."""

from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.phrases import keep_operands, keep_values, say
from midwatch.safety.shell.verdict import Category, Risk

_TEXTS = verb(operands="text*")
_SNMP = r"[\w.:-]+"

PROGRAMS = collect(
    program(
        "varnishadm",
        operands="text*",
        check=say(
            r"status|ping|banner|(?:backend|vcl|ban|storage|probe)\.list(?: -p)?|param\.show(?: \w+)?|panic\.show"
        ),
        risk=Risk.HIGH,
    ),
    program(
        "varnishstat",
        flags="-1 -j -x -l -V -h",
        values="-f -n",
        endless=Category.STREAM,
        bounds="-1 -j -x -l -V -h",
    ),
    program(
        "varnishlog varnishncsa",
        flags="-d -b -c -C -v -V -h",
        values="-g -q -i -I -x -X -F -L -T",
        endless=Category.STREAM,
        bounds="-d -V -h",
    ),
    program(
        "php-fpm php-fpm7.4 php-fpm8.1 php-fpm8.2 php-fpm8.3 php-fpm8.4",
        flags="-t -tt -v -m -h",
        needs="-t -tt -v -m -h",
        style="single",
        conditional=True,
        risk=Risk.HIGH,
    ),
    program("postcat", flags="-b -d -e -f -h -o -q -r -v", operands="text*", sensitive="mail", risk=Risk.HIGH),
    program(
        "doveadm",
        flags="-A -v",
        values="-u -f",
        operands="text*",
        check=say(
            r"who(?: \S+)?|user \S+|quota get|mailbox (?:list|status)(?: \S+)*"
            r"|service status(?: \S+)?|log (?:find|errors)"
            r"|process status|penalty|proxy list|instance list"
        ),
        risk=Risk.HIGH,
    ),
    program("doveconf", flags="-a -d -n -N -h", operands="text*", check=keep_operands(r"[\w/.-]+")),
    program(
        "ldapsearch",
        flags="-x -L -LL -LLL -Z -ZZ -Q -W -A -C -v -n -V -VV",
        values="-b -s -D -l -z -S -Y -w -p",
        hosts="-H -h",
        style="single",
        operands="text*",
        conditional=True,
    ),
    program("rndc", operands="text*", check=say(r"status|zonestatus [\w.-]+"), risk=Risk.HIGH),
    program(
        "named-checkconf",
        flags="-h -j -l -p -v -x -z",
        operands="path",
        reveals={"-p": "network keys"},
        conditional=True,
    ),
    program(
        "named-checkzone", flags="-d -h -j -q -v", values="-c -i -k -m -n -r -S", operands="text path", conditional=True
    ),
    program(
        "unbound-control",
        operands="text*",
        check=say(
            r"status|stats_noreset|list_(?:local_zones|local_data|forwards|stubs|insecure|auth_zones)|dump_(?:cache|infra"
            r"|requestlist)|(?:lookup|get_option) [\w.-]+"
        ),
        risk=Risk.HIGH,
    ),
    program("unbound-checkconf", flags="-f -h", values="-o", operands="path", conditional=True),
    program(
        "squid", flags="-v -h", values="-k", needs="-v -h -k", check=keep_values("-k", "check|parse"), risk=Risk.HIGH
    ),
    program(
        "squidclient",
        values="-p",
        hosts="-h",
        operands="text",
        check=keep_operands(r"mgr:(?:info|menu|mem|counters|client_list|5min|60min|filedescriptors|server_list|idns)"),
        risk=Risk.HIGH,
    ),
    program(
        "certbot",
        flags="--version -h --help",
        values="-d --domain --cert-name",
        inherit=True,
        verbs={"certificates plugins show_account": verb()},
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "certtool",
        flags="-i --certificate-info --crl-info --crq-info",
        paths="--infile",
        needs="-i --certificate-info --crl-info --crq-info",
        risk=Risk.MEDIUM,
    ),
    program(
        "snmpwalk snmpget snmpbulkwalk snmpgetnext snmpstatus",
        values="-v -c -l -u -a -A -x -X -t -r -O -m",
        operands="host text*",
        check=keep_operands(_SNMP),
    ),
    program("smbclient", flags="-N --no-pass -g --grepable", values="-U --user", hosts="-L --list", needs="-L --list"),
    program(
        "zabbix_get",
        hosts="-s --host",
        values="-p --port -k --key",
        flags="-V --version -h --help",
        check=keep_values(
            "-k --key",
            r"(?:agent\.(?:ping|version|hostname|uptime)|system\.(?:uptime|cpu\.\w+|swap\.\w+|uname|hostname|boottime|users\.num)"
            r"|vm\.memory\.size|vfs\.fs\.(?:size|inode|discovery)|proc\.(?:num|mem)|kernel\.\w+|net\.if\.\w+)"
            r"(?:\[[\w/,. -]*\])?",
        ),
    ),
    program(
        "grafana-cli",
        flags="-v --version -h --help",
        verbs={"plugins": verb(verbs={"ls list-remote": verb(), "list-versions": verb(operands="text")})},
        risk=Risk.HIGH,
    ),
    program(
        "mimirtool cortextool",
        verbs={
            "version": verb(),
            "rules": verb(verbs={"list print get": _TEXTS, "check": verb(operands="path*")}),
            "alertmanager": verb(verbs={"get": verb(sensitive="a configuration")}),
        },
        risk=Risk.HIGH,
    ),
    program(
        "thanos",
        flags="--version -h --help",
        verbs={"tools": verb(verbs={"rules-check": verb(paths="--rules")})},
        risk=Risk.HIGH,
    ),
    program("telegraf", flags="--version --help", verbs={"version": verb()}, risk=Risk.HIGH),
    program(
        "ansible",
        flags="--version -h --help --list-hosts",
        needs="--version -h --help --list-hosts",
        operands="text",
        conditional=True,
        risk=Risk.HIGH,
    ),
    program("ansible-playbook", flags="--version -h --help", needs="--version -h --help", risk=Risk.HIGH),
    program(
        "ansible-inventory",
        flags="--list --graph --vars -y --yaml --toml --version -h --help",
        values="--host -l --limit",
        needs="--list --graph --host --version -h --help",
        operands="text?",
        sensitive="a configuration",
        conditional=True,
    ),
    program(
        "ansible-doc",
        flags="-l --list -s --snippet -j --json -F --list_files --version -h --help",
        values="-t --type",
        operands="text*",
        conditional=True,
    ),
    program(
        "ansible-config",
        flags="--version -h --help",
        verbs={"dump list view": verb(flags="--only-changed", values="-t --type", sensitive="a configuration")},
    ),
    program(
        "ansible-galaxy",
        flags="--version -h --help",
        verbs={"list": verb(operands="text?"), "collection role": verb(verbs={"list": verb(operands="text?")})},
        risk=Risk.HIGH,
    ),
    program("salt-key", flags="-L --list-all", values="-l --list", needs="-L --list-all -l --list", risk=Risk.HIGH),
    program(
        "puppet",
        flags="--version -h --help",
        verbs={
            "config": verb(verbs={"print": verb(values="--section", operands="text*")}),
            "module": verb(verbs={"list": verb(flags="--tree")}),
            "facts": verb(verbs={"show": _TEXTS}, default_verb="show"),
        },
        conditional=True,
        risk=Risk.HIGH,
    ),
    program(
        "facter", flags="-j --json -y --yaml -p --puppet -v --version -h --help", operands="text*", conditional=True
    ),
)

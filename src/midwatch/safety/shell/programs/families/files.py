"""Files, folders and small facts: programs that show names, sizes, kinds and differences."""

import re

from midwatch.safety.shell.programs.answers import secrets_in
from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.model import Call, Rewrite
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, write_finding

_HELP = " --help --version"
_COMPARE = (
    "-q --brief -s --report-identical-files -r --recursive -N --new-file -u -c -y --side-by-side -i --ignore-case -b"
    " --ignore-space-change -w --ignore-all-space -B --ignore-blank-lines -E --ignore-tab-expansion -Z"
    " --ignore-trailing-space -a --text -t --expand-tabs -T --initial-tab -e --ed -n --rcs -p --show-c-function -l"
    " --left-column --suppress-common-lines --no-dereference -d --minimal --speed-large-files -P"
)
_GREP = (
    "-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -i --ignore-case --no-ignore-case -v"
    " --invert-match -w --word-regexp -x --line-regexp -c --count -L --files-without-match -l --files-with-matches -o"
    " --only-matching -q --quiet --silent -s --no-messages -b --byte-offset -H --with-filename -h --no-filename -n"
    " --line-number -T --initial-tab -Z --null -a --text -I -r --recursive -R --dereference-recursive -U --binary -z"
    " --null-data --line-buffered -y -V"
)
_GREP_VALUES = (
    "-m --max-count --label -A --after-context -B --before-context -C --context --binary-files -d --directories -D"
    " --devices --include --exclude --exclude-dir"
)
_NO_PATTERN = {"-e --regexp -f --file": "path*"}


def _refuse_first_command(call: Call) -> Finding | None:
    """`+!command` is typed into the pager as soon as it starts."""
    if any(word.text.startswith("+") and not _FIRST_LINE.fullmatch(word.text) for word in call.operands):
        return write_finding("operands:command", part=call.program)
    return None


def _show_lists(call: Call) -> Finding | None:
    """A list of names is itself read, and shown where a name is not found."""
    secrets = secrets_in(call.values("-f --files-from --files0-from"))
    if not secrets:
        return None
    return Finding(Intent.CERTAIN, f"read:{call.program}", Phase.READ, part=call.program, sensitive=secrets)


_FIRST_LINE = re.compile(r"\+[0-9]*[GF]?")

PROGRAMS = collect(
    program(
        "ls dir vdir",
        flags="-a --all -A --almost-all --author -b --escape -B --ignore-backups -c -C -d --directory -D"
        " --dired -f -F -g"
        " -G --no-group --group-directories-first -h --human-readable --si -H --dereference-command-line -i --inode -k"
        " --kibibytes -l -L --dereference -m -n --numeric-uid-gid -N --literal -o -p -q --hide-control-chars"
        " --show-control-chars -Q --quote-name -r --reverse -R --recursive -s --size -S -t -u -U -v -x -X -Z --context"
        " --zero -1" + _HELP,
        values="-I --ignore -w --width -T --tabsize --block-size --format --hide --indicator-style --quoting-style"
        " --sort --time --time-style",
        optional="--color --classify --hyperlink",
        operands="path*",
        inert=True,
        names_only=True,
    ),
    program(
        "stat",
        flags="-L --dereference -f --file-system -t --terse -x -s -r -n -q" + _HELP,
        values="-c --format --printf --cached",
        operands="path*",
        inert=True,
        names_only=True,
    ),
    program(
        "du",
        flags="-0 --null -a --all --apparent-size -b --bytes -c --total -D --dereference-args -h --human-readable -H"
        " --inodes -k -l --count-links -L --dereference -m -P --no-dereference -s --summarize -S --separate-dirs --si"
        " -x --one-file-system" + _HELP,
        values="-B --block-size -d --max-depth -t --threshold --time-style --exclude",
        optional="--time",
        paths="--files0-from -X --exclude-from",
        operands="path*",
        inert=True,
        names_only=True,
        check=_show_lists,
    ),
    program(
        "df",
        flags="-a --all -h --human-readable -H --si -i --inodes -k -l --local -m --no-sync -P --portability --total -T"
        " --print-type -v" + _HELP,  # not --sync, which flushes
        values="-B --block-size -t --type -x --exclude-type",
        optional="--output",
        operands="path*",
        inert=True,
        names_only=True,
    ),
    program(
        "file",
        flags="-b --brief -c --checking-printout -d -h --no-dereference -i --mime --mime-type --mime-encoding -k"
        " --keep-going -L --dereference -l --list -n --no-buffer -N --no-pad -r --raw -s"
        " --special-files -v -z --uncompress -0 --print0" + _HELP,
        values="-F --separator -P --parameter -e --exclude",
        foreign="-m --magic-file -C --compile -Z",
        paths="-f --files-from",
        operands="path*",
        names_only=True,
        check=_show_lists,
    ),
    program(
        "tree",
        flags="-a -d -l -f -x -q -N -Q -p -u -g -s -h --si -D -F -i -A -S -n -C -v -t -c -U -r -X -J --dirsfirst"
        " --filesfirst --noreport --prune --du --inodes --device --matchdirs --ignore-case --gitignore"
        " --fromfile --help"
        " --version",  # not -o, which writes
        values="-L -P -I --filelimit --timefmt --charset --sort -H -T",
        operands="path*",
        writes="-o -R",
        names_only=True,
    ),
    program(
        "readlink realpath",
        flags="-f --canonicalize -e --canonicalize-existing -m --canonicalize-missing -n --no-newline -q --quiet -s"
        " --silent --strip --no-symlinks -v --verbose -z --zero -L --logical -P --physical" + _HELP,
        values="--relative-to --relative-base",
        operands="path*",
        inert=True,
        names_only=True,
    ),
    program(
        "basename dirname",
        flags="-a --multiple -z --zero" + _HELP,
        values="-s --suffix",
        operands="text*",
        inert=True,
    ),
    program(
        "pathchk nproc arch tty",
        flags="-p -P --portability -s --silent --quiet --all" + _HELP,
        values="--ignore",
        operands="text*",
        inert=True,
    ),
    program(
        "uname",
        flags="-a --all -s --kernel-name -n --nodename -r --kernel-release -v --kernel-version -m --machine -p"
        " --processor -i --hardware-platform -o --operating-system" + _HELP,
        inert=True,
    ),
    program("whoami hostid users groups", flags=_HELP, operands="text*", inert=True),
    program("uptime", flags="-p --pretty -s --since -h -V -r --raw -c --container" + _HELP, inert=True),
    program(
        "id",
        flags="-a -g --group -G --groups -n --name -r --real -u --user -z --zero -Z --context" + _HELP,
        operands="text*",
        inert=True,
    ),
    program(
        "who w",
        flags="-a --all -b --boot -d --dead -H --heading -l --login --lookup -m -p --process -q --count"
        " -r --runlevel -s"
        " --short -t --time -T -w -u --users --message --writable --mesg -h --no-header -f --from -i --ip-addr -o"
        " --old-style -V --pids -c --container" + _HELP,
        operands="text*",
        inert=True,
    ),
    program(
        "last lastb lastlog",
        flags="-a --hostlast -d --dns -F --fulltimes -i --ip -R --nohostname -w --fullnames -x --system -h" + _HELP,
        values="-n --limit -p --present -s --since -t --until --time-format -u --user -b --before",
        paths="-f --file",
        digits=True,
        operands="text*",
        # not -C and -S of lastlog, which clear and set
    ),
    program(
        "date",
        flags="-u --utc --universal -R --rfc-email --debug --resolution -j -n" + _HELP,
        values="-d --date",
        optional="-I --iso-8601 --rfc-3339",
        paths="-f --file -r --reference",
        writes="-s --set",
        operands="plus?",
    ),
    program("cal ncal", flags="-1 -3 -j -m -s -y -w -h -b -C --help", values="-A -B -d -n", operands="number*"),
    program(
        "hostname",
        flags="-a --alias -A --all-fqdns -d --domain -f --fqdn --long -i --ip-address -I"
        " --all-ip-addresses -s --short -y"
        " --yp --nis -V" + _HELP,
        writes="-b --boot -F --file",
    ),
    program("dnsdomainname domainname nisdomainname", flags="-h -V" + _HELP),
    program(
        "locale",
        flags="-a --all-locales -m --charmaps -c --category-name -k --keyword-name" + _HELP,
        operands="text*",
        inert=True,
    ),
    program(
        "getent",
        flags="-i --no-idn" + _HELP,
        values="-s --service",
        operands="text*",
        verbs={
            "passwd group services protocols networks netgroup aliases ethers rpc": verb(operands="text*"),
            "hosts ahosts ahostsv4 ahostsv6": verb(operands="host*"),
            "shadow gshadow": verb(operands="text*", sensitive="password hashes"),
        },
    ),
    program("getconf", flags="-a --help", operands="text*", values="-v"),
    program(
        "which whereis",
        flags="-a --all -b -m -s -u -l --skip-alias --skip-dot --skip-tilde --tty-only" + _HELP,
        operands="text*",
    ),
    program(
        "whatis apropos",
        flags="-e --exact -w --wildcard -a --and -l --long -r --regex -h -V" + _HELP,
        values="-s --sections",
        operands="text*",
    ),
    program(
        "locate plocate mlocate",
        flags="-A --all -b --basename -c --count -e --existing -i --ignore-case -N --literal -q --quiet -r --regexp"
        " --regex -S --statistics -w --wholename -0 --null -h" + _HELP,
        values="-l --limit -n",
        foreign="-d --database",
        operands="text*",
        names_only=True,
    ),
    program(
        "grep egrep fgrep",
        flags=_GREP + _HELP,
        values="-e --regexp " + _GREP_VALUES,
        optional="--color --colour",
        paths="-f --file --exclude-from",
        digits=True,
        operands="text path*",
        operands_with=_NO_PATTERN,
        inert=True,
    ),
    program(
        "zgrep zegrep zfgrep bzgrep xzgrep zstdgrep",
        flags="-E -F -G -i -v -w -x -c -L -l -o -q -s -b -H -h -n -a -z --help --version -V",
        values="-e -m -A -B -C",
        paths="-f",
        operands="text path*",
        operands_with={"-e -f": "path*"},
    ),
    program(
        "rg",
        flags="-F --fixed-strings -i --ignore-case -s --case-sensitive -S --smart-case -v --invert-match"
        " -w --word-regexp"
        " -x --line-regexp -c --count --count-matches -l --files-with-matches --files-without-match -o"
        " --only-matching -q"
        " --quiet -n --line-number -N --no-line-number -H --with-filename -I --no-filename -u --unrestricted -U"
        " --multiline -P --pcre2 -a --text -L --follow -0 --null -p --pretty -. --hidden --no-ignore --no-heading"
        " --heading --json --stats --files --type-list --trim --vimgrep --column --no-messages --sort-files" + _HELP,
        values="-e --regexp -A --after-context -B --before-context -C --context -g --glob --iglob -m --max-count -t"
        " --type -T --type-not -d --max-depth --color --colors -M --max-columns -r --replace --sort --sortr -E"
        " --encoding -j --threads --max-filesize",
        paths="-f --file",
        foreign="--pre --pre-glob --hostname-bin --ignore-file --search-zip -z",
        operands="text path*",
        operands_with={"-e --regexp -f --file": "path*", "--files --type-list": "path*"},
    ),
    program(
        "diff sdiff colordiff",
        flags=_COMPARE + _HELP,
        values="-x --exclude -I --ignore-matching-lines -W --width --label -S --starting-file -D --ifdef --tabsize"
        " --horizon-lines -F --show-function-line --line-format --from-file --to-file -C -U",
        optional="--context --unified --color",
        paths="-X --exclude-from",
        writes="-o --output",
        operands="path path",
    ),
    program(
        "diff3",
        flags="-A -e -E -m -T -x -X -3 -a --text -i" + _HELP,
        foreign="--diff-program",
        operands="path path path",
    ),
    program(
        "cmp",
        flags="-b --print-bytes -l --verbose -s --quiet --silent" + _HELP,
        values="-i --ignore-initial -n --bytes",
        operands="path path number?",
        inert=True,
    ),
    program(
        "zcat gzcat bzcat xzcat lzcat zstdcat lz4cat", flags="-f --force -h -q -v --help --version -V", operands="path*"
    ),
    program("zdiff zcmp xzdiff bzdiff", flags="-u -q -s -i -w -b --help", operands="path path"),
    program(
        "less more most pg",
        flags="-N -S -R -r -n -i -I -F -X -e -E -M -m -s -f -c -d -l -p -u --help",
        digits=True,
        operands="path*",
        endless=Category.PAGER,
        rewrite=Rewrite(program="cat", pipe="head -200"),
        check=_refuse_first_command,
        risk=Risk.MEDIUM,
    ),
    program(
        "bat batcat",
        flags="-n --number -p --plain -A --show-all -u -f --force-colorization -S -L --list-languages -P -d"
        " --diff -s --squeeze-blank -h -V" + _HELP,
        values="-l --language -r --line-range -H --highlight-line --theme --style --paging --color --decorations --tabs"
        " --wrap --terminal-width -m --map-syntax --file-name --italic-text",
        foreign="--pager --config-dir --cache-dir --lessopen",
        operands="path*",
        endless=Category.PAGER,
        bounds="-P --paging",
        rewrite=Rewrite(program="cat", pipe="head -200"),
    ),
    ("cp mv install ln link mkdir mkfifo mknod touch truncate split csplit rename tee", change()),
    ("rm rmdir unlink shred wipe srm", change(risk=Risk.HIGH)),
    ("chmod chown chgrp chattr setfacl setfattr chcon restorecon setcap", change(risk=Risk.HIGH)),
    program("lsattr", flags="-R -a -d -v -l -p -V", operands="path*", inert=True, names_only=True),
    program(
        "getfattr",
        flags="-d --dump -h --no-dereference -L --logical -P --physical -R --recursive --absolute-names --only-values"
        + _HELP,
        values="-n --name -m --match -e --encoding",
        operands="path*",
        names_only=True,
    ),
    program(
        "getfacl getcap",
        flags="-a --access -d --default -c --omit-header -e --all-effective -n --numeric -p"
        " --absolute-names -R --recursive"
        " -t --tabular -L -P -h --no-dereference -r -v" + _HELP,
        operands="path*",
        names_only=True,
    ),
    program("seq", flags="-w --equal-width" + _HELP, values="-f --format -s --separator", operands="text*", inert=True),
    program("yes", flags=_HELP, operands="text*", inert=True, endless=Category.STREAM),
    program(
        "factor numfmt",
        flags="--header --padding -h --exponents" + _HELP,
        values="--from --to --format --field -d --suffix --round --unit --from-unit --to-unit --invalid",
        operands="text*",
        inert=True,
    ),
    program(
        "shuf",
        flags="-e --echo -r --repeat -z --zero-terminated" + _HELP,
        values="-i --input-range -n --head-count",
        paths="--random-source",
        writes="-o --output",
        operands="text*",
    ),
    program("printenv", flags="-0 --null" + _HELP, operands="text*", sensitive="an environment"),
)

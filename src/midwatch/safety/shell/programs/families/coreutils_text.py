"""Text tools of coreutils and their neighbours: they read files or standard input and print."""

from midwatch.safety.shell.programs.build import collect, program
from midwatch.safety.shell.programs.model import Rewrite

PROGRAMS = collect(
    program(
        "cat",
        flags="-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u"
        " -v --show-nonprinting --help --version",
        operands="path*",
        inert=True,
    ),
    program(
        "tac", flags="-b --before -r --regex --help --version", values="-s --separator", operands="path*", inert=True
    ),
    program(
        "head",
        flags="-q --quiet --silent -v --verbose -z --zero-terminated --help --version",
        values="-n --lines -c --bytes",
        digits=True,
        operands="path*",
        inert=True,
    ),
    program(
        "tail",
        flags="-f -F -q --quiet --silent -v --verbose -z --zero-terminated --retry -r --help --version",
        values="-n --lines -c --bytes -s --sleep-interval --pid --max-unchanged-stats",
        optional="--follow",
        digits=True,
        operands="path*",
        inert=True,
        follow="-f -F --follow",
        bounds="-n --lines -NUM",
        rewrite=Rewrite(add=("-n", "200")),
    ),
    program(
        "sort",
        flags="-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g --general-numeric-sort -i"
        " --ignore-nonprinting -M --month-sort -h --human-numeric-sort -n --numeric-sort -R --random-sort -r --reverse"
        " -V --version-sort -m --merge -s --stable -u --unique -z --zero-terminated -c -C --debug --help --version",
        values="-k --key -t --field-separator -S --buffer-size --parallel --batch-size --sort",
        optional="--check",
        paths="--files0-from --random-source",
        writes="-o --output -T --temporary-directory",
        foreign="--compress-program",
        operands="path*",
    ),
    program(
        "uniq",
        flags="-c --count -d --repeated -D -i --ignore-case -u --unique -z --zero-terminated --help --version",
        values="-f --skip-fields -s --skip-chars -w --check-chars",
        optional="--all-repeated --group",
        style="stop",  # where options may not follow, one that does is a file
        operands="path?",  # a second one is written
    ),
    program(
        "wc",
        flags="-c --bytes -m --chars -l --lines -L --max-line-length -w --words --help --version",
        values="--total",
        paths="--files0-from",
        operands="path*",
        inert=True,
    ),
    program(
        "nl",
        flags="-p --no-renumber --help --version",
        values="-b --body-numbering -d --section-delimiter -f --footer-numbering -h --header-numbering -i"
        " --line-increment -l --join-blank-lines -n --number-format -s --number-separator -v --starting-line-number"
        " -w --number-width",
        operands="path*",
        inert=True,
    ),
    program(
        "cut",
        flags="-n --complement -s --only-delimited -z --zero-terminated --help --version",
        values="-b --bytes -c --characters -d --delimiter -f --fields --output-delimiter",
        operands="path*",
        inert=True,
    ),
    program(
        "paste",
        flags="-s --serial -z --zero-terminated --help --version",
        values="-d --delimiters",
        operands="path*",
        inert=True,
    ),
    program(
        "comm",
        flags="-1 -2 -3 --check-order --nocheck-order --total -z --zero-terminated --help --version",
        values="--output-delimiter",
        operands="path*",
        inert=True,
    ),
    program(
        "join",
        flags="-i --ignore-case --check-order --nocheck-order --header -z --zero-terminated --help --version",
        values="-a -e -1 -2 -j -o -t -v",
        operands="path*",
        inert=True,
    ),
    program(
        "tr",
        flags="-c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1 --help --version",
        operands="text*",
        inert=True,
    ),
    program("rev", flags="-0 --zero -h -V --help --version", operands="path*", inert=True),
    program(
        "fold",
        flags="-b --bytes -c --characters -s --spaces --help --version",
        values="-w --width",
        digits=True,
        operands="path*",
        inert=True,
    ),
    program(
        "fmt",
        flags="-c --crown-margin -s --split-only -t --tagged-paragraph -u --uniform-spacing --help --version",
        values="-p --prefix -w --width -g --goal",
        digits=True,
        operands="path*",
        inert=True,
    ),
    program(
        "expand unexpand",
        flags="-i --initial -a --all --first-only --help --version",
        values="-t --tabs",
        operands="path*",
        inert=True,
    ),
    program(
        "column",
        flags="-t --table -J --json -e --table-header-repeat -x --fillrows -L --keep-empty-lines -n -m --table-maxout"
        " -d --table-noheadings -h -V --help --version",
        values="-s --separator -o --output-separator -c --output-width -N --table-columns -R --table-right -H"
        " --table-hide -O --table-order -T --table-truncate -W --table-wrap -E --table-noextreme -l"
        " --table-columns-limit --table-name -r --tree -i --tree-id -p --tree-parent",
        operands="path*",
        inert=True,
    ),
    program(
        "od",
        flags="-a -b -c -d -f -i -l -o -s -x -v --output-duplicates --traditional --help --version",
        values="-A --address-radix -j --skip-bytes -N --read-bytes -t --format --endian",
        optional="-w --width -S --strings",
        operands="path*",
        inert=True,
    ),
    program(
        "hexdump hd",
        flags="-b -c -C -d -o -x -v --one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal"
        " --two-bytes-hex --no-squeezing -h -V --help --version",
        values="-e --format -n --length -s --skip",
        optional="-L --color",
        paths="-f --format-file",
        operands="path*",
        inert=True,
    ),
    program(
        "xxd",
        flags="-a -b -C -e -E -h -i -p -ps -u -v -d",
        values="-c -g -l -n -o -s -seek -R",
        style="single",
        writes="-r",
        operands="path?",  # a second one is written
    ),
    program(
        "strings",
        flags="-a --all -d --data -f --print-file-name -w --include-all-whitespace -v -V --version --help -h",
        values="-n --bytes -t --radix -e --encoding -T --target -s --output-separator -U --unicode",
        digits=True,
        operands="path*",
        inert=True,
    ),
    program(
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum",
        flags="-b --binary -t --text --tag -z --zero --ignore-missing --quiet --status --strict -w --warn -c --check"
        " -r -s --sysv --untagged --raw --base64 --debug --help --version",
        values="-l --length -a --algorithm",
        operands="path*",
        inert=True,
    ),
    program(
        "iconv",
        flags="-l --list -c -s --silent --verbose --help --version",
        values="-f --from-code -t --to-code",
        writes="-o --output",
        operands="path*",
    ),
    program(
        "base64 base32 basenc",
        flags="-d -D --decode -i --ignore-garbage --base64 --base64url --base32 --base32hex --base16 --base2msbf"
        " --base2lsbf --z85 --help --version",
        values="-w --wrap",
        operands="path?",
        inert=True,
    ),
)

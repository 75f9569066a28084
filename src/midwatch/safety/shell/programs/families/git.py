"""git: the verbs that look at a repository, in their looking forms."""

from midwatch.safety.shell.programs.build import change, collect, program, verb
from midwatch.safety.shell.programs.phrases import keep_operands
from midwatch.safety.shell.verdict import Risk

_DIFF = (
    " -p -u --patch -s --no-patch --raw --patch-with-raw --minimal --patience --histogram --numstat --shortstat"
    " --summary --patch-with-stat -z --name-only --name-status --no-color --word-diff --check --full-index --binary"
    " --no-renames -R -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space"
    " --ignore-blank-lines -W --function-context --no-prefix --exit-code --quiet -q --no-ext-diff --no-textconv"
    " --cached --staged --no-index --compact-summary --pickaxe-all --pickaxe-regex --find-copies-harder"
)
_DIFF_VALUES = " -G -S -l --diff-filter --inter-hunk-context --anchored --diff-algorithm --skip-to --rotate-to"
_DIFF_OPTIONAL = (
    " -U --unified --stat --color --color-words --color-moved --abbrev -M --find-renames -C --find-copies -B"
    " --break-rewrites -D --irreversible-delete --dirstat -X --word-diff-regex --relative --submodule"
    " --ws-error-highlight"
)
_LOG = (
    " --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --merges --no-merges"
    " --first-parent --reverse --follow --full-history --simplify-by-decoration --date-order --author-date-order"
    " --topo-order -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P --perl-regexp --invert-grep"
    " --all-match -g --walk-reflogs --cherry-pick --cherry-mark --cherry --left-right --left-only --right-only"
    " --boundary --no-abbrev-commit --abbrev-commit --relative-date --parents --children --source --no-notes"
    " --show-signature -c --cc -m -r -t --dense --sparse --no-walk --stdin --count --objects --ancestry-path"
    " --log-size --full-diff --no-expand-tabs --use-mailmap"
)
_LOG_VALUES = " -n --max-count --skip --author --committer --grep -L --glob --exclude"
_LOG_OPTIONAL = (
    " --since --after --until --before --format --pretty --date --encoding --notes --show-notes --decorate-refs"
    " --decorate-refs-exclude --min-parents --max-parents --expand-tabs"
)
_logs = verb(
    flags=_DIFF + _LOG,
    values=_DIFF_VALUES + _LOG_VALUES,
    optional=_DIFF_OPTIONAL + _LOG_OPTIONAL,
    writes="--output --ext-diff --textconv -O",
    digits=True,
    operands="text*",
)
_refs = verb(
    flags="-a --all -r --remotes -v --verbose --show-current --no-color -i --ignore-case -l --list --no-column",
    values="--points-at",
    optional="--sort --format --contains --no-contains --merged --no-merged --color --column --abbrev -n",
    operands="",
    operands_with={"-l --list --contains --no-contains --merged --no-merged": "text*"},
)
_MEDIUM = change()

PROGRAMS = collect(
    program(
        "git",
        flags="--no-pager --no-optional-locks --no-replace-objects --bare --literal-pathspecs --version --help -v"
        " -h --html-path --man-path --info-path -P",
        paths="-C",
        foreign="-c --config-env --exec-path --git-dir --work-tree --namespace --super-prefix -p --paginate"
        " --attr-source",
        style="stop",
        verbs={
            "log show whatchanged": _logs,
            "diff diff-tree diff-index diff-files range-diff": _logs,
            "rev-list": _logs,
            "shortlog": verb(
                flags="-n --numbered -s --summary -e --email -c --committer --all --no-merges --merges",
                values="--author --max-count",
                optional="--group --since --until --after --before --format -w",
                digits=True,
                operands="text*",
            ),
            "reflog": verb(
                flags=_LOG,
                values=_LOG_VALUES,
                optional=_LOG_OPTIONAL,
                digits=True,
            ),
            "status": verb(
                flags="-s --short -b --branch --show-stash --long -v --verbose -z --ahead-behind --no-ahead-behind"
                " --no-renames --renames",
                optional="--porcelain -u --untracked-files --ignored --ignore-submodules --column --find-renames",
                operands="path*",
            ),
            "branch": _refs,
            "tag": _refs,
            "remote": verb(
                flags="-v --verbose",
                default_verb="list",
                verbs={"list": verb(), "get-url": verb(flags="--all --push", operands="text")},
            ),
            "rev-parse": verb(
                flags="--show-toplevel --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree"
                " --is-bare-repository --is-inside-git-dir --is-shallow-repository --show-prefix --show-cdup"
                " --verify -q --quiet --symbolic --symbolic-full-name --all --branches --tags --remotes --short"
                " --show-superproject-working-tree",
                optional="--abbrev-ref --disambiguate",
                operands="text*",
            ),
            "describe": verb(
                flags="--all --tags --long --always --exact-match --first-parent --contains --debug",
                optional="--dirty --broken --abbrev",
                values="--match --exclude --candidates",
                operands="text*",
            ),
            "ls-files": verb(
                flags="-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -t"
                " -v -f -z --exclude-standard --full-name --error-unmatch --eol --directory --recurse-submodules"
                " --deduplicate",
                values="-x --exclude",
                optional="--format --abbrev",
                operands="path*",
            ),
            "ls-tree": verb(
                flags="-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree",
                optional="--abbrev --format",
                operands="text*",
            ),
            "blame annotate": verb(
                flags="-w -c -t -f -n -s -e -l -p -b -k --show-name --show-number --show-email --porcelain"
                " --line-porcelain --root --incremental --first-parent",
                values="-L --since",
                optional="-M -C --date --abbrev",
                operands="text*",
            ),
            "cat-file": verb(flags="-t -s -e -p", operands="text text"),
            "show-ref": verb(
                flags="--head --heads --branches --tags -d --dereference -s --hash --verify --exists -q --quiet",
                optional="--abbrev",
                operands="text*",
            ),
            "for-each-ref": verb(
                flags="--ignore-case",
                values="--count",
                optional="--sort --format --points-at --merged --no-merged --contains --no-contains --color",
                operands="text*",
            ),
            "symbolic-ref": verb(flags="-q --quiet --short", operands="text"),
            "name-rev": verb(flags="--tags --all --name-only --always", values="--refs", operands="text*"),
            "merge-base": verb(flags="-a --all --octopus --independent --is-ancestor --fork-point", operands="text*"),
            "cherry": verb(flags="-v", operands="text*"),
            "count-objects": verb(flags="-v --verbose -H --human-readable"),
            "check-ignore check-attr": verb(
                flags="-v --verbose -q --quiet -n --non-matching -a --all", operands="path*"
            ),
            "grep": verb(
                flags="-i --ignore-case -v --invert-match -w --word-regexp -n --line-number -l --files-with-matches"
                " -L -c --count -h -H -E -F -G -P --cached --untracked --no-index -I -a --text --heading --break -q"
                " --quiet -o --only-matching -p --show-function -W --function-context --and --or --not --all-match"
                " --full-name",
                values="-e -A -B -C -m --max-count --max-depth --threads --after-context --before-context --context",
                writes="-O --open-files-in-pager --textconv -f",
                operands="text*",
            ),
            "stash": verb(
                verbs={
                    "list": verb(flags=_LOG, values=_LOG_VALUES, optional=_LOG_OPTIONAL, operands="text*"),
                    "show": _logs,
                    "push pop apply drop clear save branch create store": _MEDIUM,
                },
            ),
            "config": verb(
                flags="--global --system --local --worktree -l --list --get --get-all --get-regexp --get-urlmatch"
                " --name-only --show-origin --show-scope --includes --no-includes -z --null --bool --int",
                values="--default",
                optional="--type",
                needs="-l --list --get --get-all --get-regexp",
                operands="text text",
            ),
            "fsck": verb(
                flags="--full --connectivity-only --unreachable --dangling --no-dangling --strict --no-progress"
                " --no-reflogs -v --verbose",
                operands="text*",
            ),
            "ls-remote": verb(
                flags="-h --heads --branches -t --tags --refs -q --quiet --symref --get-url --exit-code",
                operands="text",
                conditional=True,
                check=keep_operands(r"[A-Za-z0-9][\w-]*"),
            ),
            "worktree": verb(verbs={"list": verb(flags="-v --verbose --porcelain -z")}),
            "submodule": verb(
                flags="-q --quiet",
                default_verb="status",
                verbs={"status": verb(flags="--cached --recursive", operands="path*")},
            ),
            "notes": verb(verbs={"list show": verb(operands="text")}),
            "bisect": verb(verbs={"log": verb()}),
            "version": verb(flags="--build-options"),
            "var": verb(operands="text"),
            "push commit reset checkout switch restore merge rebase clean rm": change(risk=Risk.MEDIUM),
            "add fetch pull clone init mv gc prune cherry-pick revert am apply": _MEDIUM,
        },
    ),
)

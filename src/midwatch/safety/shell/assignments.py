"""Which variables may be set without changing what runs."""

import re
from collections.abc import Sequence

_HARMLESS_ENVIRONMENT = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|COLUMNS|LINES|TERM|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|FORCE_COLOR"
    r"|(?:DF_|DU_|LS_)?BLOCK_SIZE|BLOCKSIZE|SYSTEMD_COLORS|SYSTEMD_LESS|TIME_STYLE|DEBIAN_FRONTEND|HISTTIMEFORMAT"
    r"|PGUSER|PGDATABASE|PGPORT|PGPASSWORD|PGCONNECT_TIMEOUT|PGTZ|PGAPPNAME|MYSQL_PWD|REDISCLI_AUTH"
    r"|AWS_(?:DEFAULT_)?REGION|AWS_DEFAULT_OUTPUT|CLOUDSDK_CORE_PROJECT|S_COLORS|S_TIME_FORMAT|GREP_COLORS?|JQ_COLORS"
)
_SECRET = re.compile(r"SECRET|PASSW|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL")
_PAGERS = re.compile(r"(?:GIT_|SYSTEMD_|AWS_|MAN)?PAGER|LESSOPEN")
_POWERFUL = re.compile(
    r"_|PATH|IFS|ENV|HOME|PWD|OLDPWD|SHELL|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|PS[0-4]|PROMPT.*|PAGER|EDITOR|VISUAL|BROWSER|TMPDIR|TEMP"
    r"|TMP|MAIL.*|FCEDIT|FIGNORE|INPUTRC|TERM.*|LANG.*|LOCPATH|NLSPATH|TZ|TZDIR|USER|LOGNAME|DISPLAY|OPT(?:IND|ARG|ERR)"
    r"|HIST.*|SECONDS|RANDOM|LINENO|UID|EUID|PPID|GROUPS|DIRSTACK|REPLY|COMP_.*|READLINE_.*|FUNCN.*|POSIX.*|TIMEFORMAT|EXECIGNORE"
    r"|MAPFILE|COPROC|IGNOREEOF|TMOUT|CHILD_MAX|EMACS|INSIDE_EMACS|SRANDOM|EPOCH.*|HOST.*|MACHTYPE|OSTYPE"
    r"|(?:LC|LD|DYLD|BASH|HIST|GIT|PYTHON|PERL|RUBY|GEM|BUNDLE|NODE|NPM|JAVA|JDK|_JAVA|GO|CARGO|RUST|LUA|PHP|R|TCL|GHC|LESS|MAN"
    r"|KUBE|DOCKER|CONTAINER|COMPOSE|HELM|OC|AWS|AZURE|ARM|GOOGLE|CLOUDSDK|GCLOUD|PG|MYSQL|MARIADB|REDIS|MONGO|SQLITE|ORACLE"
    r"|SSH|SSL|OPENSSL|TLS|CURL|WGET|HTTP|XDG|DBUS|SYSTEMD|MALLOC|GLIBC|GCONV|RES|LOCAL|GREP|SED|AWK|GAWK|TAR|ZIP|GZIP|BZIP"
    r"|XZ|ZSTD|LZ|RSYNC|CVS|SVN|HG|MAKE|CC|CXX|LV|ZFS|TF|TERRAFORM|ANSIBLE|VAULT|CONSUL|NOMAD|ETCDCTL|PROM|SUDO|KRB5|GPG"
    r"|GNUPG|DEB|DPKG|APT|RPM|PIP|VIRTUAL|CONDA|JQ|FZF|RIPGREP|BAT|EXA|LSOF|PROC|PS|TOP|NMAP|TERMINFO|NCURSES|SCREEN|TMUX)"
    r"(?:_.*|[A-Z0-9]*(?:PATH|OPT|OPTS|OPTIONS|CONFIG|HOME|LIB|RC|PWD|HOST|DIR|ROOT|FLAGS))"
    r"|.*(?:PATH|OPTS?|OPTIONS|FLAGS|ARGS|RC|CONFIG|CONF|PROXY|proxy|PAGER|EDITOR|PRELOAD|COMMAND|SHELL|_ENV|SOCK|RCFILE)"
)


def sets_environment_safely(name: str, value: str | None) -> bool:
    """For a variable that programs see. `value` is None when it is not known."""
    if _HARMLESS_ENVIRONMENT.fullmatch(name):
        # A path makes libraries load a locale or a terminal description of the caller's choosing.
        return value is not None and not value.startswith("/") and ".." not in value
    return _PAGERS.fullmatch(name) is not None and value in {"", "cat"}


def sets_variable_safely(name: str) -> bool:
    """For a variable of the shell alone: harmless unless something already looks at a variable of that name."""
    return _POWERFUL.fullmatch(name) is None


def holds_secret(name: str) -> bool:
    """A variable that is set by others and says what it holds."""
    return _SECRET.search(name) is not None


def only_prints(words: Sequence[str]) -> bool:
    """Whether a declaration shows variables: nothing behind the keyword, or `-p` and names."""
    return not words or (words[0] == "-p" and all(word.isidentifier() for word in words[1:]))

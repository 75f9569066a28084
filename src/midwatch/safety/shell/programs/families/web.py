"""curl and wget: only requests that fetch, from addresses that are written out, with the answer on standard output."""

import re

from midwatch.safety.shell.programs.build import collect, program
from midwatch.safety.shell.programs.destinations import host_of
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, write_finding
from midwatch.safety.shell.words import Word

_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NOWHERE = frozenset({"-", "/dev/null", "/dev/stdout"})
_ADDRESS = re.compile(r"(?:https?://)?[A-Za-z0-9\[][^\s'\"<>`\\]*", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:(?://|/)", re.IGNORECASE)


def _refuse(part: str, *, rule: str = "option:writes") -> Finding:
    return write_finding(rule, risk=Risk.MEDIUM, part=part)


def _is_written_out(word: Word) -> bool:
    """A pattern behind the host is what people forget to quote, and changes nothing about who is asked."""
    if "~" in word.text:
        return False  # also how a home folder is written here
    return word.known or (word.glob and word._replace(glob=False).known and _FIXED_HOST.match(word.text) is not None)


_FIXED_HOST = re.compile(
    r"(?:https?://)?(?:[A-Za-z0-9.:@_-]+|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?)(?:[/?]|\Z)", re.IGNORECASE
)


def _inspect_addresses(program: str, words: tuple[Word, ...]) -> Finding:
    for word in words:
        if not _is_written_out(word) or not _ADDRESS.fullmatch(word.text) or _OTHER_SCHEME.match(word.text):
            return _refuse(f"{program} {word.text}", rule="egress:unknown")
    hosts = tuple(host_of(word.text) for word in words)
    return Finding(Intent.CONDITIONAL, f"read:{program}", Phase.INSPECT, part=program, egress=hosts)


def _curl(call: Call) -> Finding | None:
    for word in call.values("-X --request"):
        if not word.known or word.text.upper() not in _METHODS:
            return _refuse(f"curl -X {word.text}")
    for word in call.values("-o --output"):
        if not word.known or word.text not in _NOWHERE:
            return _refuse(f"curl -o {word.text}")
    for word in call.values("-H --header -A --user-agent -e --referer -w --write-out -b --cookie -u --user"):
        if not word.known or word.text.startswith("@") or "%output" in word.text or "%{output" in word.text:
            return _refuse("curl", rule="option:sends-file")
    if any("=" not in word.text for word in call.values("-b --cookie")):
        return _refuse("curl -b", rule="option:sends-file")
    if any(
        re.search(r"X-HTTP-Method|X-Method-Override", word.text, re.IGNORECASE) for word in call.values("-H --header")
    ):
        return _refuse("curl -H")
    return _inspect_addresses("curl", (*call.operands, *call.values("--url")))


def _wget(call: Call) -> Finding | None:
    addresses = call.operands
    outputs = call.values("-O --output-document")
    if not call.has("--spider"):
        if not outputs or any(not word.known or word.text not in _NOWHERE for word in outputs):
            return _refuse("wget")
        if not call.has("--no-hsts") and any(word.text.lower().startswith("https:") for word in addresses):
            return _refuse("wget https without --no-hsts")
    if any(word.text.startswith("@") for word in call.values("--header -U --user-agent")):
        return _refuse("wget", rule="option:sends-file")
    return _inspect_addresses("wget", addresses)


PROGRAMS = collect(
    program(
        "curl",
        flags="-q --disable -s --silent -S --show-error -f --fail --fail-with-body -L --location -I --head -v"
        " --verbose -k --insecure -i --include -g --globoff -4 --ipv4 -6 --ipv6 --compressed -N --no-buffer -#"
        " --progress-bar --no-progress-meter --http1.0 -0 --http1.1 --http2 --http2-prior-knowledge --http3 --tlsv1"
        " --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 -1 --path-as-is --raw --no-keepalive --tcp-nodelay --tcp-fastopen"
        " -V --version -h --help --retry-connrefused --retry-all-errors --anyauth --basic --digest --no-alpn"
        " --ssl-no-revoke --styled-output --no-styled-output",
        values="-H --header -A --user-agent -e --referer -m --max-time --connect-timeout --retry --retry-delay"
        " --retry-max-time --max-redirs -r --range -w --write-out -u --user -X --request -b --cookie -o --output"
        " --limit-rate -y --speed-time -Y --speed-limit --max-filesize --tls-max --ciphers --interface --local-port"
        " --url --oauth2-bearer --keepalive-time --expect100-timeout --proto --proto-default --proto-redir",
        paths="--cacert --capath",
        foreign="-K --config --unix-socket --abstract-unix-socket -x --proxy --socks4 --socks4a --socks5"
        " --socks5-hostname --preproxy --resolve --connect-to --dns-servers --doh-url -E --cert --key --engine -n"
        " --netrc --netrc-file --netrc-optional -: --next --variable --aws-sigv4",
        writes="-d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form --form-string -T"
        " --upload-file -O --remote-name --remote-name-all -J --remote-header-name -D --dump-header -c --cookie-jar"
        " --trace --trace-ascii --stderr --output-dir --create-dirs -G --get --etag-save --hsts --alt-svc -Q"
        " --quote -z --time-cond -R --remote-time -C --continue-at -a --append -t --telnet-option --libcurl -l"
        " --post301 --post302",
        operands="text*",
        conditional=True,
        check=_curl,
    ),
    program(
        "wget",
        flags="-q --quiet -S --server-response --spider -v --verbose -nv --no-verbose --no-check-certificate"
        " --no-hsts -4 -6 --inet4-only --inet6-only --no-cache --no-config --no-proxy --no-cookies -V --version"
        " --no-dns-cache --content-on-error",
        values="-O --output-document -T --timeout -t --tries --connect-timeout --read-timeout --dns-timeout -w --wait"
        " --header -U --user-agent --max-redirect --user --password --waitretry",
        operands="text*",
        conditional=True,
        check=_wget,
    ),
)

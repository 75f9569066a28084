"""The names in an alert that a tool can be asked about. They only fill arguments; they never choose a tool."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from midwatch.llm.demo.labels import read_labels

_T = TypeVar("_T")

_MOST = 5
"""Names of one kind that are kept."""
_HIGHEST_PORT = 65_535
_PATH_KEYS = frozenset({"mountpoint", "mount_point", "mount", "path", "volume", "filesystem", "directory", "folder"})
_LOG_KEYS = frozenset({"log", "logfile", "log_file", "file", "filename"})
_SERVICE_KEYS = frozenset({"service", "service_name", "unit", "systemd_unit", "daemon"})
_PROCESS_KEYS = frozenset({"process", "process_name", "proc", "comm", "program", "groupname", "command", "exe"})
_CONTAINER_KEYS = frozenset({"container", "container_name"})
_HOST_KEYS = frozenset({"host", "hostname", "instance", "node", "nodename", "server", "host_name"})
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)
_PATH = re.compile(r"""(?<![\w./~:$\\-])/(?:[\w.@+-]+(?:/[\w.@+-]+){0,30})?(?=[\s"'`),.:;\]}]|/?$|/[\s"'`),])""")
_PORT = re.compile(
    r"""\bports?[\s:=#"']{1,4}(\d{1,5})\b
    | (?:\b0\.0\.0\.0|\b127\.0\.0\.1|\[::1?\]|\blocalhost|(?<![\w:])\*|:::?):(\d{1,5})\b
    | \b(?:tcp|udp)[/:](\d{1,5})\b
    | (?<![\w:]):(\d{2,5})\b(?!:)""",
    re.IGNORECASE | re.VERBOSE,
)
_PID = re.compile(r"""\bpid["']?[\s:=#]{0,3}["']?(\d{1,8})\b|\bprocess[ #](\d{2,8})\b""", re.IGNORECASE)
_PERCENT = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,3})?)\s?(?:%|percent\b)", re.IGNORECASE)
_UNIT = re.compile(r"(?<![\w@.-])([A-Za-z0-9][\w@:.-]{0,60}?)\.service\b")
_KNOWN = re.compile(
    r"\b(nginx|apache2?|httpd|caddy|haproxy|traefik|postgres(?:ql)?|mysqld?|mariadb|redis(?:-server)?|mongod|mongodb"
    r"|memcached|rabbitmq(?:-server)?|kafka|zookeeper|elasticsearch|opensearch|grafana(?:-server)?|prometheus"
    r"|sshd|crond?|dockerd?|containerd|kubelet|etcd|consul|vault|postfix|dovecot|named|bind9|unbound|dnsmasq|ntpd"
    r"|chronyd|rsyslogd?|tomcat\d?|jenkins|gitlab|php\d?(?:\.\d)?-fpm|gunicorn|uwsgi|celery|sidekiq|puma)\b",
    re.IGNORECASE,
)
_NAME = r"[\"'`]?([A-Za-z][\w@.-]{1,60})[\"'`]?"
_AFTER_SERVICE = re.compile(rf"(?<![\w.])(?:service|unit|daemon)[ :]\s{{0,2}}{_NAME}", re.IGNORECASE)
_BEFORE_SERVICE = re.compile(rf"{_NAME} (?:service|daemon)\b", re.IGNORECASE)
_BEFORE_DOWN = re.compile(
    rf"{_NAME} (?:is |has |was |has been |is currently )?"
    r"(?:down|dead|stopped|crashed|inactive|unreachable|died|exited|not running|not responding|failed to start)\b",
    re.IGNORECASE,
)
_PROCESS = re.compile(r"""\bprocess(?: name)?[ :=]{1,3}["'`(]?([A-Za-z][\w.+-]{1,40})""", re.IGNORECASE)
_KILLED = re.compile(r"\bkilled process \d+ \(([\w.+-]{1,40})\)", re.IGNORECASE)
_CONTAINER = re.compile(rf"\bcontainer {_NAME}", re.IGNORECASE)
_ON_HOST = re.compile(r"\b(?:on|host|server|node) ([a-z][\w-]*(?:[.-]\w+)+|[a-z]+\d+)\b")
_NO_NAMES = frozenset(
    re.findall(
        r"[a-z]+",
        """a about account after alert an and any application are at be been before below but by check container
        critical daemon dead did discovery down entered error exited failed failing failure for from had has have
        health high host in inactive instance is it its job level low machine main manager mesh name new no node not
        of on one or our out please process restarted running server service services site stage state status
        stopped system systemd target that the then there this to unavailable under unhealthy unit unknown was web
        went were when which while will with""",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    paths: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()
    percents: tuple[float, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """What may be running or not, best guess first."""
        return tuple(dict.fromkeys((*self.services, *self.processes)))


def find_clues(text: str) -> Clues:
    labels, words = read_labels(text), _URL.sub(" ", text)
    return Clues(
        paths=_few(_paths(labels, words)),
        services=_few(_services(labels, words)),
        processes=_few(_processes(labels, words)),
        containers=_few(_names((*_labelled(labels, _CONTAINER_KEYS), *_CONTAINER.findall(words)))),
        hosts=_few(_hosts(labels, words)),
        ports=_few(_ports(labels, words)),
        pids=_few(_numbers(_PID, words)),
        percents=_few(float(found) for found in _PERCENT.findall(words)),
    )


def find_ports(text: str) -> list[int]:
    return [number for number in _numbers(_PORT, text) if 0 < number <= _HIGHEST_PORT]


def _paths(labels: Sequence[tuple[str, str]], words: str) -> Iterator[str]:
    yield from (value for value in _labelled(labels, _PATH_KEYS | _LOG_KEYS) if value.startswith("/"))
    yield from (found.rstrip(".") for found in _PATH.findall(words))


def _services(labels: Sequence[tuple[str, str]], words: str) -> Iterator[str]:
    named = _labelled(labels, _SERVICE_KEYS)
    phrases = [found for pattern in (_AFTER_SERVICE, _BEFORE_SERVICE, _BEFORE_DOWN) for found in pattern.findall(words)]
    yield from _names((*named, *_UNIT.findall(words), *_KNOWN.findall(words), *phrases))


def _processes(labels: Sequence[tuple[str, str]], words: str) -> Iterator[str]:
    named = (value.rpartition("/")[2].split(" ")[0] for value in _labelled(labels, _PROCESS_KEYS))
    yield from _names((*named, *_KILLED.findall(words), *_PROCESS.findall(words)))


def _hosts(labels: Sequence[tuple[str, str]], words: str) -> Iterator[str]:
    for value in (*_labelled(labels, _HOST_KEYS), *_ON_HOST.findall(words)):
        host = value.partition(":")[0].lower()
        if re.fullmatch(r"[a-z][a-z0-9.-]{0,80}", host) and host not in _NO_NAMES | {"localhost"}:
            yield host


def _ports(labels: Sequence[tuple[str, str]], words: str) -> Iterator[int]:
    """A scrape address such as `web-1:9100` is no port of interest; `_PORT` does not match it."""
    labelled = (value for value in _labelled(labels, {"port", "listen_port"}) if value.isdecimal())
    numbers = (*(int(value) for value in labelled if len(value) <= len(str(_HIGHEST_PORT))), *find_ports(words))
    yield from (number for number in numbers if 0 < number <= _HIGHEST_PORT)


def _labelled(labels: Sequence[tuple[str, str]], keys: Iterable[str]) -> Iterator[str]:
    wanted = frozenset(keys)
    return (value for key, value in labels if key in wanted)


def _names(found: Iterable[str]) -> Iterator[str]:
    for name in found:
        plain = name.strip(" \"'`.,:;").removesuffix(".service")
        if re.fullmatch(r"[A-Za-z0-9][\w@.+-]{1,60}", plain) and plain.lower() not in _NO_NAMES:
            yield plain


def _numbers(pattern: re.Pattern[str], words: str) -> Iterator[int]:
    for found in pattern.finditer(words):
        yield from (int(group) for group in found.groups() if group)


def _few(found: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(found))[:_MOST]

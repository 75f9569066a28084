"""Changes that were asked for: what each does, and to what sort of thing, by its tool and what that was given."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from midwatch.safety.claims.actions import Family, word_set
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import cut_names
from midwatch.safety.context import SERVER_PREFIX

_WORD: Final = re.compile(r"[a-z][a-z0-9]*")
_LETTERS: Final = re.compile(r"[a-z]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_TOOL_WORDS: Final[Mapping[Family, str]] = {
    Family.RESTART: "restart reboot reload bounce recycle reset powercycle cycle relaunch",
    Family.START: "start boot launch resume unpause enable activate run up",
    Family.STOP: "stop shutdown halt kill pkill killall terminate pause suspend disable poweroff down cancel abort",
    Family.DELETE: "delete remove rm purge prune clear clean cleanup wipe flush flushall flushdb truncate drop evict "
    "free "
    "vacuum uninstall revoke destroy unlink trim del erase expire invalidate logrotate compress gzip archive",
    Family.SCALE: "scale resize replicas autoscale rescale increase decrease expand extend lvextend resize2fs grow add "
    "allocate provision",
    Family.ROLLBACK: "rollback undo revert restore downgrade backout",
    Family.DEPLOY: "deploy redeploy rollout install upgrade update patch apply create push publish release sync merge "
    "build "
    "rebuild recreate provision helm",
    Family.CHANGE: "set edit modify change configure config write append replace patch update apply tune adjust put "
    "sed "
    "rename swap mount umount label annotate toggle copy insert alter sysctl reindex",
    Family.MOVE: "drain cordon uncordon taint failover promote demote migrate move rebalance reroute switch evict "
    "reschedule isolate shift redirect rerun requeue replay",
    Family.ACCESS: "rotate renew revoke grant block unblock ban allow lock unlock regenerate reissue chmod chown "
    "iptables ufw "
    "certbot whitelist",
    Family.NOTIFY: "notify page escalate email mail message send post comment slack ticket issue incident ping "
    "pagerduty opsgenie jira inform contact",
    Family.SILENCE: "ack acknowledge silence mute snooze close dismiss suppress resolve",
}
_BY_WORD: Final[dict[str, set[Family]]] = {}
for _family, _tool_words in _TOOL_WORDS.items():
    for _tool_word in _tool_words.split():
        _BY_WORD.setdefault(_tool_word, set()).add(_family)

_PRODUCTS: Final = {
    product: sort
    for sort, products in {
        "database": "postgres postgresql pg psql mysql mariadb mongo mongodb sql rds aurora oracle cassandra etcd "
        "cockroach cockroachdb clickhouse influxdb elasticsearch opensearch replica",
        "cache": "redis memcached memcache varnish cdn flushall flushdb",
        "queue": "kafka rabbitmq rabbit sqs nats mq amqp broker celery sidekiq pulsar kinesis",
        "certificate": "certs certbot tls ssl acme letsencrypt secrets keys vault",
    }.items()
    for product in products.split()
}
_EXECUTING: Final = word_set("exec execute run shell command cmd script ssh bash sh sql query invoke call playbook job")
"""Tools that do what they are given. Of all others the name says what they do, and prose they are given nothing."""
_MESSAGES: Final = word_set("comment ticket issue incident message notification email mail slack pagerduty")
_BY_MESSAGE: Final = frozenset({Family.NOTIFY, Family.SILENCE})
"""Who adds a comment has scaled nothing."""
_COMES_BACK: Final = {"pod", "pods", "container", "task"}
"""What is started anew when it is deleted."""
_SORT: Final = re.compile(r"\bdeploy(?=/)")
"""Of `deploy/api`, which names a sort of thing."""
_ROLLOUT: Final = word_set("rollout")
_OF_ROLLOUTS: Final = word_set("restart undo pause resume")
"""`rollout restart` deploys nothing."""


@dataclass(frozen=True, slots=True)
class Act:
    """A change that was asked for, as its tool and what it was given tell of it."""

    deed: Deed
    words: frozenset[str]
    """Of the tool's name and of what it was given."""
    families: frozenset[Family]
    names: frozenset[str]
    tool_names: frozenset[str]
    sorts: frozenset[str]
    """What sorts of things it speaks of."""
    has_target: bool


def read_deed(deed: Deed, lexicon: Lexicon) -> Act:
    tool = _cut(deed.tool.rpartition(".")[2])
    texts = list(deed.texts())
    plain = [text for text in texts if " " not in text.strip()]
    if not tool & _EXECUTING and any(_sort_words(tool, lexicon)):
        words, names = tool.union(*map(_cut, plain)), [*plain, *_find_marked(texts)]
    else:
        words, names = tool.union(*map(_cut, texts)), texts
    families = frozenset(_sort_words(words, lexicon))
    named = [target for target in deed.targets if not target.startswith(SERVER_PREFIX)]
    return Act(
        deed,
        words=words,
        families=families & _BY_MESSAGE if tool & _MESSAGES else families,
        names=cut_names([*deed.targets, *names]),
        tool_names=cut_names([deed.tool, deed.tool.replace("_", " ")]),
        sorts=frozenset(_find_sorts([*words, deed.tool, *deed.targets], lexicon)),
        has_target=bool(named) or any(text and not text.isdigit() for text in texts),
    )


def _cut(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_SORT.sub(" ", _HUMP.sub(" ", text).lower())))


def _find_marked(texts: Iterable[str]) -> Iterator[str]:
    """Of prose, what only a particular thing is called."""
    return (word for text in texts for word in text.split() if not word.strip(".,;:!?()").isalpha())


def _find_sorts(texts: Iterable[str], lexicon: Lexicon) -> Iterator[str]:
    for text in texts:
        for word in _LETTERS.findall(text.lower()):
            for sort in (lexicon.kinds.get(word), _PRODUCTS.get(word)):
                if sort is not None:
                    yield sort


def _sort_words(words: frozenset[str], lexicon: Lexicon) -> Iterator[Family]:
    telling = words - _ROLLOUT if words & _OF_ROLLOUTS else words
    for word in telling:
        families = _BY_WORD.get(word) or {each.action.family for each in lexicon.entries.get(word, ()) if each.is_base}
        yield from families
    if words & _COMES_BACK and any(Family.DELETE in _BY_WORD.get(word, ()) for word in telling):
        yield Family.RESTART

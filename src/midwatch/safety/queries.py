"""Queries that say by themselves that they change something. What says nothing of the kind is left to other witnesses.

There are many languages of queries, and most have no parser here: this never proves that a query reads.
"""

import re
from typing import Final

_THINGS: Final = (
    r"(?:table|tables|database|schema|index|view|materialized\s+view|sequence|trigger|function|procedure|user|role"
    r"|type|domain|extension|keyspace|bucket|measurement|series|retention\s+policy|continuous\s+query)\b"
)
_CHANGES: Final = re.compile(
    r"(?:^|[;({])\s*(?:"
    r"(?P<insert>insert\s+(?:\w+\s+){0,2}into)\b|(?P<replace>replace\s+into)\b|(?P<update>update\s+[^;]{1,200}?\sset)\b"
    r"|(?P<delete>delete\s+(?:\w+\s+){0,2}from)\b|(?P<merge>merge\s+into)\b|(?P<truncate>truncate\s+table)\b"
    rf"|(?P<create>create\s+(?:\w+\s+){{0,3}}?{_THINGS})|(?P<drop>drop\s+(?:\w+\s+){{0,2}}?{_THINGS})"
    rf"|(?P<alter>alter\s+(?:\w+\s+){{0,2}}?{_THINGS})|(?P<grant>(?:grant|revoke)\s+[^;]{{1,200}}?\s(?:to|from))\b"
    r"|(?P<mutation>mutation\b\s*\w*\s*[({])"
    r"|(?P<run>call\s+[\w.\"]+\s*\(|exec(?:ute)?\s+(?:\[?\w+\]?\.)*(?:sp|xp)_\w+|execute\s+immediate\b|do\s+(?:language\s+\w+\s+)?\$)"
    r"|(?P<copy>copy\s+[\w.\"]+(?:\s*\([^)]{0,500}\))?\s+(?:from|to)\s+(?:'|stdin|stdout|program)|load\s+data\s+(?:\w+\s+){0,2}infile)"
    r"|(?P<kill>kill\s+(?:hard\s+|soft\s+)?(?:query\s+|connection\s+)?['0-9]|shutdown\s*;?\s*$)"
    r"|(?P<set>set\s+(?:global|session|persist|role|password|@@)|reset\s+(?:master|slave|replica|query\s+cache))\b"
    r"|(?P<lock>lock\s+tables?)\b"
    r"|(?P<upkeep>vacuum\s+(?:full|analyze|freeze|verbose)|vacuum\s*;?\s*$|reindex\s+(?:table|index|schema|database|system)"
    r"|refresh\s+materialized\s+view|optimize\s+(?:\w+\s+)?table|repair\s+(?:\w+\s+)?table"
    r"|flush\s+(?:tables|privileges|logs|hosts|status|query\s+cache)"
    r"|system\s+(?:shutdown|kill|drop|reload|flush|stop|start|restart|sync)\b|checkpoint\s*;?\s*$))",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"\b(?:pg_(?:terminate_backend|cancel_backend|reload_conf|rotate_logfile|switch_wal|promote|notify|sleep(?:_for|_until)?"
    r"|wal_replay_(?:pause|resume)|stat_reset\w*|create_\w+|drop_\w+|copy_\w+|logical_emit_message|advisory_\w*lock\w*"
    r"|read_file|read_binary_file|ls_dir|file_write|import_system_collations)"
    r"|lo_(?:import|export|create|creat|unlink|put|from_bytea|open|truncate\w*)|dblink\w*|setval|nextval|set_config"
    r"|query_to_xml|load_extension|load_file|sys_exec|sys_eval|xp_\w+|sp_(?:configure|oacreate|executesql)|benchmark"
    r"|sleep|writefile)[\"\]]?\s*\(",
    re.IGNORECASE,
)
"""Functions that change something, stop something, or open files. `sleep` holds what it waits in."""
_READS: Final = re.compile(r"\s*\(*\s*(?:select|with)\b", re.IGNORECASE)
_LOCKS: Final = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\s*(?:\Z|[;)]|of\b|nowait\b|skip\b|wait\b)", re.IGNORECASE)
_COMMENTS: Final = re.compile(r"/\*.*?\*/|--[^\n]*|#[^\n]*", re.DOTALL)
_FILES: Final = re.compile(r"\binto\s+(?:outfile|dumpfile)\b|\bto\s+program\b", re.IGNORECASE)


def find_change(query: str) -> str | None:
    """What it says it does: `insert`, `drop`, `mutation` and so on."""
    return _find_in(query) or _find_in(_COMMENTS.sub(" ", query))


def _find_in(text: str) -> str | None:
    if (found := _CHANGES.search(text)) is not None:
        return found.lastgroup
    if _CALLS.search(text):
        return "function"
    if _READS.match(text) and _LOCKS.search(text):
        return "lock"
    return "file" if _FILES.search(text) else None

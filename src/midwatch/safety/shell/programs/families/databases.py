"""Clients of databases: their SQL is parsed, their own commands are allowed one by one."""

import re
from collections.abc import Callable
from functools import partial

from midwatch.safety.shell.programs.build import collect, program
from midwatch.safety.shell.programs.destinations import host_of
from midwatch.safety.shell.programs.model import Call
from midwatch.safety.shell.programs.sql import inspect_psql, inspect_sql
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, write_finding
from midwatch.safety.shell.words import Word, names


def _refuse(name: str, rule: str, *, endless: Category | None = None) -> Finding:
    return Finding(Intent.WRITE, rule, Phase.INSPECT, Risk.MEDIUM, name, endless)


def _read(name: str, *, endless: Category | None = None) -> Finding:
    return Finding(Intent.CONDITIONAL, f"read:{name}", Phase.INSPECT, part=name, endless=endless)


def _inspect_all(name: str, texts: tuple[Word, ...], inspect: Callable[[str], str | None]) -> Finding:
    """Without SQL the client reads it from a terminal or a pipe, which nobody has seen."""
    if not texts:
        return _refuse(name, "sql:unseen", endless=Category.REPL)
    for word in texts:
        if not word.known:
            return _refuse(name, "expansion:code")
        if refusal := inspect(word.text):
            return _refuse(name, refusal)
    hashes = any(_HASHES.search(word.text) for word in texts)
    return _read(name)._replace(sensitive=("password hashes",) if hashes else ())


def _asks_alone(call: Call, names: str, also: str) -> bool:
    """It asks for nothing but a version or a list: what else is given is not looked at, and so not judged."""
    return call.has(names) and not call.has(also)


_HASHES = re.compile(
    r"\bpg_(?:shadow|authid)\b|\bmysql\.user\b|authentication_string|rolpassword|passw(?:or)?d|\bsecrets?\b",
    re.IGNORECASE,
)


def _psql(call: Call) -> Finding | None:
    places = (*call.values("-d --dbname"), *call.operands)
    if any(not word.known for word in places):
        return write_finding("egress:unknown", part="psql -d")
    found = _psql_text(call)
    hosts = tuple(host for word in places if (host := _host_in(word.text)))
    return found if found is None or found.writes else found._replace(egress=hosts)


def _host_in(place: str) -> str:
    """A database may be named by an address or by settings, `host` among them."""
    match = re.search(r"\bhost(?:addr)?\s*=\s*([^\s&]+)", place)
    return host_of(match[1] if match else place) if match or "://" in place else ""


_PSET = re.compile(
    r"pager(?:=(?:on|off|always|0|1))?"
    r"|(?:format|border|null|expanded|tuples_only|footer|numericlocale|linestyle|columns|title|fieldsep|recordsep)(?:=[\w.,;-]*)?"
)


def _psql_text(call: Call) -> Finding | None:
    if _asks_alone(call, "-l --list -V --version", "-c --command"):
        return _read("psql")
    if any(not re.fullmatch(r"ON_ERROR_STOP(?:=\w+)?", word.text) for word in call.values("-v --set --variable")):
        return write_finding("option:foreign", part="psql -v")
    if not all(word.known and _PSET.fullmatch(word.text) for word in call.values("-P --pset")):
        return write_finding("option:foreign", part="psql -P")
    return _inspect_all("psql", call.values("-c --command"), inspect_psql)


def _mysql(call: Call) -> Finding | None:
    if _asks_alone(call, "-V --version", "-e --execute"):
        return None
    return _inspect_all("mysql", call.values("-e --execute"), _inspect_mysql)


def _inspect_mysql(text: str) -> str | None:
    return inspect_sql(re.sub(r"\\G\s*;?\s*\Z", ";", text), dialect="mysql")


def _sqlite(call: Call) -> Finding | None:
    if call.has("-version") and not call.operands:
        return None
    database, *statements = call.operands or (Word(""),)
    if database.text.startswith("file:") and "mode=" in database.text and "mode=ro" not in database.text:
        return write_finding("option:foreign", part="sqlite3")
    return _inspect_all("sqlite3", tuple(statements), _inspect_sqlite)


_SQLITE_COMMAND = re.compile(
    r"\.(?:tables|schema|dump|indexes|indices|databases|dbinfo|show|stats|version|headers? (?:on|off)|mode [a-z]+)"
    r"(?: [\w%.-]+)?"
)


def _inspect_sqlite(text: str) -> str | None:
    if text.lstrip().startswith("."):
        return None if _SQLITE_COMMAND.fullmatch(text.strip()) else "sql:meta-command"
    return inspect_sql(text, dialect="sqlite")


def _clickhouse(call: Call) -> Finding | None:
    if _asks_alone(call, "-V --version", "-q --query"):
        return None
    return _inspect_all("clickhouse-client", call.values("-q --query"), partial(inspect_sql, dialect="clickhouse"))


_REDIS_READS = names(
    "ping echo info dbsize time lastsave role get mget getrange strlen exists type ttl pttl expiretime keys scan"
    " randomkey llen lrange lindex lpos hget hmget hgetall hkeys hvals hlen hexists hscan hstrlen scard smembers"
    " sismember srandmember sscan sinter sunion sdiff zcard zrange zrangebyscore zrevrange zscore zrank zrevrank"
    " zcount zscan xlen xrange xrevrange xinfo bitcount getbit object geopos geodist lolwut"
)
_REDIS_PAIRS = names(
    "config:get client:list client:info client:id client:getname slowlog:get slowlog:len memory:usage memory:stats"
    " memory:doctor latency:latest latency:history latency:doctor cluster:info cluster:nodes cluster:slots"
    " cluster:shards pubsub:channels pubsub:numsub acl:whoami acl:list acl:users module:list script:exists"
    " sentinel:masters sentinel:master sentinel:replicas sentinel:slaves sentinel:get-master-addr-by-name"
    " sentinel:ckquorum"
)
_REDIS_STREAMS = frozenset({"monitor", "subscribe", "psubscribe", "ssubscribe"})


def _redis(call: Call) -> Finding | None:
    if not call.operands and call.has("-v --version --bigkeys --memkeys --hotkeys --scan"):
        return None
    if not call.operands and call.has("--stat --latency --latency-history"):
        return _read("redis-cli", endless=Category.STREAM)
    if not call.operands:
        return _refuse("redis-cli", "sql:unseen", endless=Category.REPL)
    first, second = (*(word.text.lower() if word.known else "" for word in call.operands), "")[:2]
    if first in _REDIS_STREAMS:
        return _read("redis-cli", endless=Category.STREAM)
    if first in _REDIS_READS or f"{first}:{second}" in _REDIS_PAIRS:
        shows = f"{first}:{second}" == "acl:list" or (
            first == "config" and any(re.search(r"pass|auth|\*", word.text.lower()) for word in call.operands[2:])
        )
        return _read("redis-cli")._replace(sensitive=("stored passwords",) if shows else ())
    return _refuse("redis-cli", "sql:writes")


_MONGO = re.compile(
    r"(?:printjson|JSON\.stringify|print)?\(?(?:(?:db|rs|sh)(?:\.[A-Za-z_]\w*)*\.(?:status|stats|serverStatus|isMaster|hello"
    r"|conf|config|printReplicationInfo|printSecondaryReplicationInfo|getCollectionNames|getCollectionInfos|version|hostInfo"
    r"|currentOp|getIndexes|countDocuments|estimatedDocumentCount|dataSize|storageSize|totalSize|getMongo|getName|getReplicationInfo"
    r"|printShardingStatus|getBalancerState|serverBuildInfo|serverCmdLineOpts|getProfilingStatus)\(\s*\)(?:\.[A-Za-z_]\w*)*)\)?;?"
    r"|show (?:dbs|databases|collections|tables|users|roles|profile|logs)"
    r"|db\.(?:adminCommand|runCommand)\(\{\s*(?:listDatabases|ping|serverStatus|replSetGetStatus|buildInfo|hostInfo|dbStats|currentOp"
    r"|connPoolStats)\s*:\s*1\s*\}\)"
    # Without parentheses, backticks and dollars there is neither a call nor an operator that runs code.
    r"|db(?:\.[A-Za-z_]\w*)+\.(?:find|findOne|countDocuments|distinct)\([\w\s:\"',.{}-]*\)"
    r"(?:\.(?:limit|skip)\([0-9]+\)|\.sort\([\w\s:\"',.{}-]*\)|\.(?:count|pretty|toArray|size)\(\))*;?"
)


def _mongo(call: Call) -> Finding | None:
    if _asks_alone(call, "--version", "--eval"):
        return None
    if any(not word.known for word in call.operands):
        return write_finding("egress:unknown", part=call.program)
    return _inspect_all(
        "mongosh", call.values("--eval"), lambda text: None if _MONGO.fullmatch(text.strip()) else "sql:writes"
    )


_MYSQL = program(
    "mysql mariadb",
    flags="-B --batch -N --skip-column-names -s --silent -t --table -v --verbose -r --raw -E --vertical -H --html"
    " -X --xml -C --compress -f --force -n --unbuffered -q --quick -A --no-auto-rehash -V --version -w --wait"
    " --skip-ssl --no-defaults -i",
    values="-u --user -P --port -D --database -e --execute --connect-timeout --default-character-set --protocol"
    " --ssl-mode -R --max-allowed-packet",
    optional="-p --password",
    hosts="-h --host",
    foreign="--defaults-file --defaults-extra-file --defaults-group-suffix --login-path --plugin-dir --init-command"
    " --pager --tee -S --socket --local-infile --delimiter",
    operands="text",
    conditional=True,
    check=_mysql,
)

PROGRAMS = collect(
    program(
        "psql",
        flags="-A --no-align -t --tuples-only -x --expanded -q --quiet -X --no-psqlrc -w --no-password -W -l --list -1"
        " --single-transaction --csv -H --html -e -b -a -E -z -0 -n --no-readline -V --version -S -s",
        values="-U --username -p --port -d --dbname -c --command -F --field-separator -R --record-separator -v --set"
        " --variable -P --pset",
        hosts="-h --host",
        writes="-o --output -L --log-file -f --file",
        operands="text text",
        conditional=True,
        check=_psql,
    ),
    _MYSQL,
    program(
        "sqlite3",
        flags="-readonly -header -noheader -csv -json -line -column -box -table -markdown -list -html -tabs -quote"
        " -ascii -batch -bail -version -safe",
        values="-separator -nullvalue",
        foreign="-init -cmd -interactive -vfs -zip -deserialize -append",
        style="single",
        operands="text*",
        conditional=True,
        check=_sqlite,
    ),
    program(
        "clickhouse-client",
        flags="-m --multiline -n --multiquery -t --time -v --verbose -E --vertical -s --secure -V --version",
        values="-u --user --password -d --database -q --query -f --format --port --max_execution_time"
        " --connect_timeout",
        hosts="-h --host",
        foreign="-C --config-file --config -c --queries-file",
        conditional=True,
        check=_clickhouse,
    ),
    program(
        "redis-cli valkey-cli",
        flags="--raw --no-raw --csv --json --no-auth-warning --tls --insecure --bigkeys --memkeys --hotkeys --stat"
        " --latency --latency-history --scan -c -2 -3 -v --version -e --quoted-input",
        values="-p -a -n --user --pass -r -i -t -d --pattern --count",
        hosts="-h",
        paths="--cacert",
        foreign="-s -u --eval -x -X --pipe --rdb --functions-rdb --replica --slave --ldb --cluster --cert --key"
        " --intrinsic-latency",
        style="stop",
        operands="text*",
        conditional=True,
        check=_redis,
    ),
    program(
        "mongosh mongo",
        flags="--quiet --norc --tls --ssl --version",
        values="--port -u --username -p --password --authenticationDatabase --eval",
        hosts="--host",
        foreign="-f --file --shell --nodb --tlsCertificateKeyFile",
        operands="text",
        conditional=True,
        check=_mongo,
    ),
)

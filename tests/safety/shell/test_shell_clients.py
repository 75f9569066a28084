"""Clients of databases and of the web: what they send and where they put the answer."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.verdict import Intent
from tests.safety.requirements import requirement

SQL_READS = [
    "psql -c 'select 1'", "psql -Atc \"select count(*) from t where a > 'x'\"", "psql -U u -d d -c '\\dt'",
    "psql -c '\\d+ t'", "psql -l", "psql -c 'show max_connections'",
    "psql -c 'with a as (select 1) select * from a'", "psql -c 'explain select * from t'",
    "psql -c 'select now(); select version()'", "mysql -e 'show processlist'", "mysql -uroot -e 'select 1\\G'",
    "mysql -N -e \"show global status like 'Threads%'\"", "mysql -e 'describe t'", "sqlite3 db 'select * from t'",
    "sqlite3 -readonly db .tables", "sqlite3 db '.schema t'", "sqlite3 db 'pragma table_info(t)'", "redis-cli info",
    "redis-cli -n 1 get k", "redis-cli config get maxmemory",
    "clickhouse-client -q 'select count() from system.parts'", "mongosh --quiet --eval 'rs.status()'",
]  # fmt: skip
SQL_WRITES = [
    "psql -c 'drop table t'", "psql -c 'select 1; delete from t'", "psql -c 'DeLeTe from t'",
    "psql -c 'delete/**/from t'", "psql -c 'with a as (delete from t returning *) select * from a'",
    "psql -c 'select pg_terminate_backend(1)'", "psql -c \"select lo_export(1, 'f')\"",
    "psql -c \"copy t to '/tmp/f'\"", "psql -c \"copy t to program 'rm'\"", "psql -c \"copy t from program 'rm'\"",
    "psql -c 'select * into a from t'", "psql -c 'select 1 -- a\n; drop table t'",
    "psql -c 'explain analyze delete from t'", "psql -c 'explain (analyze) select 1'",
    "psql -c \"select nextval('s')\"", "psql -f f", "psql -o f -c 'select 1'", "psql -v a=b -c 'select 1'",
    "psql -c 'select * from t for update'", "psql -c 'truncate t'", "psql -c 'set role x'", "psql -c 'vacuum'",
    "psql -c 'do $$ begin end $$'", "psql -c \"select dblink_exec('x')\"", "psql -c 'begin'",
    "psql -c \"select pg_read_file('f')\"", 'psql -c "$x"', "psql < f", "psql -c 'insert\tinto t values (1)'",
    "psql -c 'create table t(a int)'", "mysql -e \"select * from t into outfile 'f'\"",
    "mysql -e 'select 1 --1; drop table t'", "mysql -e 'select /*!50000 sleep(1) */ 1'",
    "mysql -e 'select sleep(1)'", "mysql -e \"select load_file('f')\"", "mysql -e 'source f'",
    "mysql --defaults-file=f -e 'select 1'", "mysql -e 'select 1; update t set a=1'", "mysql -e 'kill 1'",
    "mysql -e 'flush tables'", "mysql --pager=rm -e 'select 1'", "sqlite3 db 'delete from t'",
    "sqlite3 db \"select writefile('a','b')\"", "sqlite3 db \"select load_extension('a')\"",
    "sqlite3 db 'pragma journal_mode=wal'", "sqlite3 db \"attach 'a' as b\"", "sqlite3 -init f db 'select 1'",
    "sqlite3 db 'vacuum'", "redis-cli set a b", "redis-cli flushall", "redis-cli --eval f",
    "redis-cli config set a b", "redis-cli -x set a", "redis-cli eval 'x' 0", "mongosh --eval 'db.dropDatabase()'",
    "mongosh f.js", "mongosh --eval 'db.a.drop()'", "clickhouse-client -q 'drop table t'",
    "clickhouse-client -q \"select * from url('http://h')\"",
    "clickhouse-client -q \"select * from t into outfile 'f'\"",
]  # fmt: skip
META_WRITES = [
    "psql -c '\\! rm f'",
    "psql -c '\\copy t to f'",
    "psql -c '\\o f'",
    "psql -c '\\i f'",
    "psql -c '\\g f'",
    "psql -c 'select 1 \\g f'",
    "psql -c '\\gexec'",
    "psql -c '\\do'",
    "psql -c '\\setenv A b'",
    "mysql -e 'system rm f'",
    "mysql -e '\\! rm f'",
    "mysql -e 'tee f'",
    "mysql -e 'select 1; \\! rm f'",
    "mysql -e 'pager sh'",
    "sqlite3 db '.shell rm f'",
    "sqlite3 db '.system rm f'",
    "sqlite3 db '.output f'",
    "sqlite3 db '.read f'",
    "sqlite3 db '.import f t'",
    "sqlite3 db '.once f'",
    "sqlite3 db '.backup f'",
    "sqlite3 db .dump\\ t 'select 1' '.shell rm'",
    "sqlite3 db '.save f'",
    "sqlite3 -cmd '.shell rm' db 'select 1'",
]
WEB_READS = [
    "curl http://h",
    "curl -sS https://h/p?a=b",
    "curl -fsSL https://h",
    "curl -I https://h",
    "curl -X GET http://h",
    "curl -s -o /dev/null -w '%{http_code}' http://h",
    "curl -H 'Accept: x' http://h",
    "curl -k -m 5 https://h:8443",
    "curl -u a:b http://h",
    "curl --max-time 5 -s localhost:9090/-/healthy",
    "wget -qO- http://h",
    "wget --spider https://h",
    "wget -q -O /dev/null http://h",
    "wget --no-hsts -qO- https://h",
]
WEB_WRITES = [
    "curl -X POST http://h",
    "curl -XDELETE http://h",
    "curl --request PUT http://h",
    "curl -d a http://h",
    "curl --data=a http://h",
    "curl --data-binary @f http://h",
    "curl -F a=b http://h",
    "curl -T f http://h",
    "curl -o f http://h",
    "curl -O http://h/f",
    "curl -sOL http://h/f",
    "curl -K f",
    "curl --unix-socket s http://h",
    "curl -x p http://h",
    "curl -c f http://h",
    "curl -D f http://h",
    "curl --trace f http://h",
    "curl file:///etc/passwd",
    "curl gopher://h:1/x",
    "curl ftp://h",
    "curl dict://h",
    "curl -H @f http://h",
    "curl -b f http://h",
    "curl -w '%output{f}x' http://h",
    "curl -w @f http://h",
    'curl "http://h/$x"',
    "curl http://h/$(cat f)",
    'curl -H "X: $(cat f)" http://h',
    "curl --json '{}' http://h",
    "curl -G -d a http://h",
    "curl --resolve h:1:a http://h",
    'curl -s -X"POST" http://h',
    "curl --next -d a http://h",
    "curl -H 'X-HTTP-Method-Override: DELETE' http://h",
    "curl telnet://h",
    "curl -T- http://h",
    "wget http://h",
    "wget -O f http://h",
    "wget --post-data=a http://h",
    "wget --post-file=f http://h",
    "wget -r http://h",
    "wget -i f",
    "wget -qO- https://h",
    "wget --use-askpass=x -qO- http://h",
    "wget -e a=b -qO- http://h",
    "wget -qO- -o f http://h",
]


def each(commands: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("command", commands)


@requirement("shell:sql")
@each(SQL_READS)
def test_queries_are_reading_but_never_certain(command: str) -> None:
    assert classify(command).intent is Intent.CONDITIONAL, classify(command).rule


@requirement("shell:sql")
@each(SQL_WRITES)
def test_statements_that_may_change_something_are_writes(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:sql-meta")
@each(META_WRITES)
def test_commands_of_the_clients_themselves_are_writes(command: str) -> None:
    assert classify(command).kind == "write"


@requirement("shell:web")
@each(WEB_READS)
def test_fetching_is_reading(command: str) -> None:
    verdict = classify(command)
    assert verdict.intent is Intent.CONDITIONAL, verdict.rule
    assert verdict.egress


@requirement("shell:web")
@each(WEB_WRITES)
def test_sending_and_storing_are_writes(command: str) -> None:
    assert classify(command).kind == "write"

"""Whether SQL only reads, by a real parser. Whatever the parser or this list does not know is a write."""

import re

import sqlglot
from sqlglot import errors, exp, parser

from midwatch.safety.shell.words import names

# The parser warns of every statement it merely cuts off; those are refused here, and what they say is nobody's log.
parser.logger.setLevel("ERROR")

_STATEMENTS = (exp.Select, exp.SetOperation, exp.Show, exp.Describe, exp.Subquery, exp.Values)
_WRITERS = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Into,
    exp.Lock, exp.Command, exp.Copy, exp.LoadData, exp.Set, exp.Pragma, exp.Attach, exp.Detach, exp.Kill, exp.Use,
    exp.Transaction, exp.Commit, exp.Rollback, exp.Grant, exp.Revoke, exp.Comment, exp.Analyze, exp.Cache, exp.Uncache,
    exp.Export, exp.NextValueFor, exp.Parameter, exp.Placeholder, exp.TableSample, exp.Operator,
)  # fmt: skip
_FUNCTIONS = names(
    "version now current_database current_schema current_schemas current_user session_user user database schema"
    " connection_id inet_server_addr inet_server_port pg_postmaster_start_time pg_conf_load_time"
    " pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp"
    " pg_current_wal_lsn pg_wal_lsn_diff pg_database_size pg_relation_size pg_total_relation_size pg_table_size"
    " pg_indexes_size pg_tablespace_size pg_size_pretty pg_size_bytes pg_get_viewdef pg_get_indexdef"
    " pg_get_constraintdef pg_get_functiondef pg_get_userbyid pg_blocking_pids pg_backend_pid pg_encoding_to_char"
    " pg_table_is_visible current_setting obj_description col_description format_type to_char to_timestamp"
    " to_date age justify_interval date_part has_table_privilege has_database_privilege has_schema_privilege"
    " quote_ident format sqlite_version typeof instr printf hex quote julianday strftime date time datetime"
    " unixepoch total ifnull iif formatreadablesize formatreadablequantity formatreadabletimedelta hostname"
    " uptime todate todatetime tostring toint32 toint64 touint32 touint64 tofloat64 tostartofhour tostartofminute"
    " tostartofday countif sumif avgif uniq uniqexact any anylast argmin argmax grouparray topk quantile"
    " quantiles toyyyymm toyyyymmdd datediff found_rows inet_ntoa inet_aton format_bytes format_pico_time"
    " inet6_ntoa"
)
_STRING = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`", re.DOTALL)
_UNREAD = re.compile(r"['\"`\\$#]|--|/\*|\*/|\binto\s+(?:out|dump)file\b", re.IGNORECASE)
"""Comments, escapes and dollar quotes: clients, servers and the parser do not agree on where they end."""
_EXPLAIN = re.compile(
    r"explain\s+(?:verbose\s+|extended\s+|query\s+plan\s+)?(?=select|with|table|values)", re.IGNORECASE
)
_SHOW = re.compile(r"show\s+[\w\s.,'%=()*`-]+", re.IGNORECASE)
_PRAGMA = re.compile(
    r"pragma\s+(?:(?:table_x?info|index_x?info|index_list|foreign_key_list|integrity_check|quick_check)\s*\(\s*'?\w+'?\s*\)"
    r"|database_list|table_list|integrity_check|quick_check|page_count|page_size|freelist_count|journal_mode|user_version"
    r"|encoding|compile_options|foreign_keys|cache_size|synchronous|schema_version)",
    re.IGNORECASE,
)
_PSQL = re.compile(
    r"\\(?:d(?!o\b)[A-Za-z]{0,4}\+?|l\+?|z|conninfo|encoding|timing|x|sf\+?|sv\+?)(?:[ \t]+[\w.*?\"-]+)*", re.ASCII
)


def inspect_sql(text: str, *, dialect: str) -> str | None:
    """The rule that makes it a write, or None when every statement reads."""
    if _UNREAD.search(_STRING.sub("x", text)) or "\\" in text:
        return "sql:unread"
    statement = text.strip().rstrip(";").rstrip()
    if ";" not in statement:
        if _SHOW.fullmatch(statement) or (dialect == "sqlite" and _PRAGMA.fullmatch(statement)):
            return None
        text = _EXPLAIN.sub("", statement, count=1) if _EXPLAIN.match(statement) else statement
    try:
        statements = sqlglot.parse(text, dialect=dialect, error_level=errors.ErrorLevel.RAISE)
    except Exception:  # noqa: BLE001 -- the parser fails in ways of its own, and what it fails on is not known to read
        return "sql:unread"
    refusals = (_inspect_statement(found) for found in statements if found is not None)
    return next((refusal for refusal in refusals if refusal), None)


def inspect_psql(text: str) -> str | None:
    """A meta-command of psql stands alone in its option."""
    if text.lstrip().startswith("\\"):
        return None if _PSQL.fullmatch(text.strip()) else "sql:meta-command"
    return inspect_sql(text, dialect="postgres")


def _is_known(function: exp.Func) -> bool:
    """Under another schema, a well-known name may be somebody's own function."""
    if _owner_of(function) not in {"", "pg_catalog", "information_schema"}:
        return False
    return not isinstance(function, exp.Anonymous) or function.name.lower() in _FUNCTIONS


def _owner_of(function: exp.Func) -> str:
    parent = function.parent
    if isinstance(parent, exp.Dot) and parent.expression is function:
        return parent.this.name.lower() or "?"
    return parent.db.lower() if isinstance(parent, exp.Table) else ""


def _inspect_statement(statement: exp.Expr) -> str | None:
    if not isinstance(statement, _STATEMENTS):
        return "sql:writes"
    for node in statement.walk():
        if isinstance(node, _WRITERS):
            return "sql:writes"
        if isinstance(node, exp.Func) and not _is_known(node):
            return "sql:function"
    return None

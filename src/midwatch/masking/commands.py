"""Secrets on command lines: behind flags that say so, and where well-known programs take them."""

from midwatch.masking.rule import Pattern
from midwatch.masking.values import measure_long

_BETWEEN = r"""(?:[ \t]+|["'],[ \t]*["'])"""
"""Two words of a command, on a line or in a list."""
_FLAGS = r"password|passwd|passphrase|secret|token|api-?key|access-?key|private-?key|secret-?key|credentials?"
_WORD = r"""["']?([^\s"'\\\-][^\s"'\\]*)"""
_COMMANDS = (
    rf"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlcheck|mariadb|mariadb-dump|mariadb-admin)\b[^\n|;]*?{_BETWEEN}-p['\"]?([^\s\"'\\]{{2,}})",
    rf"\bsshpass\b[^\n|;]*?{_BETWEEN}-p{_BETWEEN}?{_WORD}",
    rf"\b(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|az|oc|argocd|cf|heroku)\b[^\n|;]*?\blogin\b[^\n|;]*?{_BETWEEN}-p{_BETWEEN}{_WORD}",
    rf"\bmongo(?:sh|dump|restore|export|import|stat|top)?\b[^\n|;]*?{_BETWEEN}-p{_BETWEEN}{_WORD}",
    rf"\bredis-cli\b[^\n|;]*?{_BETWEEN}-a{_BETWEEN}{_WORD}",
    rf"\b(?:curl|wget|http|https)\b[^\n|;]*?{_BETWEEN}(?:-u|--user|--proxy-user|-U)(?:{_BETWEEN}|=)?[\"']?[^\s:\"'\\]+:([^\s\"'\\]+)",
    rf"\bldap(?:search|modify|add|delete|whoami|compare|passwd)\b[^\n|;]*?{_BETWEEN}-w{_BETWEEN}{_WORD}",
    rf"\b(?:sqlcmd|bcp|osql|zip)\b[^\n|;]*?{_BETWEEN}-P{_BETWEEN}?{_WORD}",
    rf"\b(?:smbclient|rpcclient|smbmap)\b[^\n|;]*?{_BETWEEN}-U{_BETWEEN}?[\"']?[^\s%\"']+%([^\s\"'\\]+)",
    rf"\brabbitmqctl\b[^\n|;]*?\b(?:add_user|change_password|authenticate_user){_BETWEEN}[^\s\"']+{_BETWEEN}{_WORD}",
    rf"\bhtpasswd\b[^\n|;]*?{_BETWEEN}-[a-zA-Z]*b[a-zA-Z]*{_BETWEEN}(?:[^\s\"']+{_BETWEEN})?[^\s\"']+{_BETWEEN}{_WORD}",
    r"\bpass(?:in|out)?[ \t]+[\"']?pass:([^\s\"'\\]+)",
    rf"\bssh-keygen\b[^\n|;]*?{_BETWEEN}-[NP]{_BETWEEN}{_WORD}",
    r"--from-literal(?:=|[ \t]+)[\"']?[\w.\-]+=([^\s\"'\\]+)",
    rf"\bvault{_BETWEEN}(?:kv{_BETWEEN}put|write)\b[^\n|;]*?{_BETWEEN}[\w\-]*(?:password|secret|token|key)[\w\-]*=([^\s\"'\\@]+)",
    rf"\bvault{_BETWEEN}login{_BETWEEN}{_WORD}",
)
_FLAG = "|".join(
    (
        rf"""(?i)(?:\s|["'\[(=]|^)--?(?:[a-z0-9]+-)*(?:{_FLAGS})(?:=["']?([^\s"'\\]+)|{_BETWEEN}["']?([^\s"'\\\-][^\s"'\\]{{5,}}))""",
        *(f"(?:{command})" for command in _COMMANDS),
    )
)

CLI_FLAG = Pattern(regex=_FLAG, tag="PASSWORD", measure=measure_long)

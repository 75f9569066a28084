"""The environment of a tool server: an allow-list, never a copy of ours, and never a model provider's key."""

import re
from collections.abc import Collection, Mapping

from midwatch.config.mcp import McpServer, StdioTransport

_INHERITED = re.compile(r"PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|SSL_CERT_\w+|\w+_PROXY|\w+_proxy|KUBECONFIG")


def child_environment(
    server: McpServer, *, parent: Mapping[str, str], secret_names: Collection[str] = ()
) -> dict[str, str]:
    """What the server inherits of `parent`, and over it what its own configuration sets.

    `secret_names` are variables that hold keys of ours: they are not inherited, even when the server asks for them.
    """
    inherited = {
        name: value
        for name, value in parent.items()
        if name not in secret_names and (name in server.inherit_env or _INHERITED.fullmatch(name))
    }
    return inherited | server.transport.env if isinstance(server.transport, StdioTransport) else {}

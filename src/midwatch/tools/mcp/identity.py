"""Whom a tool server runs as: a process that only reads a database has no business with root's files."""

from collections.abc import Mapping

from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.domain.errors import ToolServerUnavailable
from midwatch.kit.users import User, find_nobody, find_user, is_root, may_become


def choose_user(server_id: str, config: McpServer) -> User | None:
    """None when the server runs as we do, or nowhere near us. Raises ToolServerUnavailable."""
    if not isinstance(config.transport, StdioTransport) or config.run_as == OURSELVES:
        return None
    if config.run_as is None:
        return find_nobody() if is_root() else None
    user = find_user(config.run_as)
    if user is None:
        raise ToolServerUnavailable(server_id, f'there is no user "{config.run_as}" (see run_as)')
    if not may_become(user):
        raise ToolServerUnavailable(server_id, f"only root may start it as user {user.name} (see run_as)")
    # Whoever is no root may not even say again who they are.
    return user if is_root() else None


def move_in(environment: Mapping[str, str], user: User, *, written: Mapping[str, str]) -> dict[str, str]:
    """Our home is not the child's. What the operator has written stays."""
    own = {"HOME": user.home, "USER": user.name}
    return {**environment, **{name: own[name] for name in own if name in environment}, **written}

"""What a tool server is told of our environment."""

import pytest

from midwatch.config.mcp import McpServer, StdioTransport
from midwatch.tools.environment import child_environment


def server(*, inherit: tuple[str, ...] = (), env: dict[str, str] | None = None) -> McpServer:
    return McpServer(transport=StdioTransport(type="stdio", command="x", env=env or {}), inherit_env=inherit)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "no_proxy", "KUBECONFIG"),
    ],
)
def test_what_any_program_needs_is_inherited(name: str) -> None:
    assert child_environment(server(), parent={name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "DATABASE_URL",
        "PATHS",
        "MY_PATH",
        "AWS_SECRET_ACCESS_KEY",
        "Http_Proxy",
        "LD_PRELOAD",
        "HOME2",
    ],
)
def test_nothing_else_is(name: str) -> None:
    assert child_environment(server(), parent={name: "value"}) == {}


def test_the_operator_may_name_more() -> None:
    parent = {"GITHUB_TOKEN": "t", "OTHER": "o"}
    assert child_environment(server(inherit=("GITHUB_TOKEN", "ABSENT")), parent=parent) == {"GITHUB_TOKEN": "t"}


def test_a_models_key_is_not_inherited_even_when_named() -> None:
    config = server(inherit=("OPENAI_API_KEY", "GITHUB_TOKEN"))
    parent = {"OPENAI_API_KEY": "k", "GITHUB_TOKEN": "t", "CORP_PROXY": "also a key"}
    environment = child_environment(config, parent=parent, secret_names={"OPENAI_API_KEY", "CORP_PROXY"})
    assert environment == {"GITHUB_TOKEN": "t"}


def test_the_servers_own_variables_win() -> None:
    config = server(env={"PATH": "/opt/bin", "MODE": "quiet"})
    assert child_environment(config, parent={"PATH": "/bin"}) == {"PATH": "/opt/bin", "MODE": "quiet"}

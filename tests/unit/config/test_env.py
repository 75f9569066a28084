"""The environment: our names first, TARSy's as aliases, nothing guessed from a bad number."""

from pathlib import Path

import platformdirs
import pytest

from midwatch.config.env import default_home, read_env
from midwatch.domain.errors import Misconfigured


def test_an_empty_environment_has_the_documented_defaults() -> None:
    env = read_env({})
    assert env.database_url is None
    assert (env.host, env.port, env.pod_id) == ("127.0.0.1", 8080, "local")
    assert (env.log_level, env.log_format, env.config_dir) == ("info", None, None)


def test_everything_can_be_set() -> None:
    env = read_env(
        {
            "MIDWATCH_HOME": "/data",
            "DATABASE_URL": "postgresql://u:p@h/d",
            "MIDWATCH_HOST": "0.0.0.0",
            "MIDWATCH_PORT": "9000",
            "POD_ID": "pod-1",
            "LOG_LEVEL": "DEBUG",
            "LOG_FORMAT": "json",
            "CONFIG_DIR": "/etc/midwatch",
        }
    )
    assert env.home == Path("/data")
    assert env.database_url == "postgresql://u:p@h/d"
    assert (env.host, env.port, env.pod_id) == ("0.0.0.0", 9000, "pod-1")
    assert (env.log_level, env.log_format, env.config_dir) == ("debug", "json", Path("/etc/midwatch"))


def test_home_is_the_systems_for_root_and_the_users_otherwise() -> None:
    assert default_home(root=True) == Path("/var/lib/midwatch")
    assert default_home(root=False) == platformdirs.user_data_path("midwatch")


def test_home_does_not_follow_the_working_directory_later() -> None:
    assert read_env({"MIDWATCH_HOME": "data"}).home == Path.cwd() / "data"


@pytest.mark.parametrize(
    ("environ", "port"),
    [
        ({"HTTP_PORT": "9001"}, 9001),
        ({"HTTP_PORT": "9001", "MIDWATCH_PORT": "9000"}, 9000),
        ({"HTTP_PORT": "9001", "MIDWATCH_PORT": ""}, 9001),
        ({"HTTP_PORT": "nonsense", "MIDWATCH_PORT": "9000"}, 9000),
        ({"MIDWATCH_PORT": "0"}, 0),
    ],
)
def test_our_port_wins_over_its_alias(environ: dict[str, str], port: int) -> None:
    assert read_env(environ).port == port


@pytest.mark.parametrize(
    ("environ", "pod_id"),
    [({"HOSTNAME": "box"}, "box"), ({"HOSTNAME": "box", "POD_ID": "pod"}, "pod"), ({"POD_ID": ""}, "local")],
)
def test_a_pod_is_named_by_its_id_or_its_host(environ: dict[str, str], pod_id: str) -> None:
    assert read_env(environ).pod_id == pod_id


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"DB_HOST": "db"}, "postgresql://tarsy@db:5432/tarsy?sslmode=disable"),
        (
            {
                "DB_HOST": "db",
                "DB_PORT": "6432",
                "DB_USER": "u@x",
                "DB_PASSWORD": "p/:@ ?",
                "DB_NAME": "n",
                "DB_SSLMODE": "require",
            },
            "postgresql://u%40x:p%2F%3A%40%20%3F@db:6432/n?sslmode=require",
        ),
        ({"DB_HOST": "::1"}, "postgresql://tarsy@[::1]:5432/tarsy?sslmode=disable"),
        ({"DB_HOST": "db", "DATABASE_URL": "postgresql://ours/x"}, "postgresql://ours/x"),
        ({"DB_USER": "u", "DB_PASSWORD": "p"}, None),
    ],
)
def test_the_database_url_is_ours_or_composed_from_its_parts(environ: dict[str, str], url: str | None) -> None:
    assert read_env(environ).database_url == url


def test_the_database_url_does_not_show_when_printed() -> None:
    assert "hunter2" not in repr(read_env({"DATABASE_URL": "postgresql://u:hunter2@h/d"}))


def test_all_bad_values_are_told_at_once_without_repeating_them() -> None:
    with pytest.raises(Misconfigured) as caught:
        read_env(
            {"MIDWATCH_PORT": "hunter2", "DB_HOST": "db", "DB_PORT": "70000", "LOG_LEVEL": "inf", "LOG_FORMAT": "xml"}
        )
    assert caught.value.problems == (
        "DB_PORT: expected a port number up to 65535",
        "MIDWATCH_PORT: expected a port number up to 65535",
        'LOG_LEVEL: expected debug, info, warning, error, critical; did you mean "info"?',
        "LOG_FORMAT: expected text, json",
    )


@pytest.mark.parametrize("port", ["-1", "65536", "1e3", "²", "80 80"])
def test_a_bad_port_is_refused(port: str) -> None:
    with pytest.raises(Misconfigured, match="MIDWATCH_PORT: expected a port number up to 65535"):
        read_env({"MIDWATCH_PORT": port})


def test_a_level_may_be_spelt_the_short_way() -> None:
    assert read_env({"LOG_LEVEL": "WARN"}).log_level == "warning"


def test_trusted_proxies_are_networks() -> None:
    assert read_env({}).trusted_proxies == ()
    env = read_env({"MIDWATCH_TRUSTED_PROXIES": "10.0.0.0/8, fd00::/64,192.0.2.7,"})
    assert [str(network) for network in env.trusted_proxies] == ["10.0.0.0/8", "fd00::/64", "192.0.2.7/32"]


@pytest.mark.parametrize("given", ["proxy.example", "10.0.0.1/8", "10.0.0.0/40", "*"])
def test_a_trusted_proxy_that_is_no_network_is_a_problem(given: str) -> None:
    with pytest.raises(Misconfigured, match="MIDWATCH_TRUSTED_PROXIES"):
        read_env({"MIDWATCH_TRUSTED_PROXIES": given})

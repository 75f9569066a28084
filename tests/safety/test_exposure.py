"""What a call would show or reach, told by its arguments alone."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.tools import exposure
from midwatch.tools.exposure import UNREADABLE, Exposure, find_host
from midwatch.tools.places import list_places
from midwatch.tools.subjects import Subject
from tests.safety.requirements import requirement


def find_exposure(arguments: dict[str, Any], *, apart_from: tuple[Subject, ...] = ()) -> Exposure:
    return exposure.find_exposure(list_places(arguments), apart_from=apart_from)


@requirement("rules:secrets")
@pytest.mark.parametrize(
    ("arguments", "secret"),
    [
        ({"path": "/etc/shadow"}, "password hashes"),
        ({"path": "/var/log/../../etc//shadow"}, "password hashes"),
        ({"file_path": " /etc/shadow "}, "password hashes"),
        ({"logFilePath": ".env"}, "environment files"),
        ({"FILE_NAME": "id_rsa"}, "ssh keys"),
        ({"log_file_name": "id_rsa"}, "ssh keys"),
        ({"request": {"filename": "id_rsa"}}, "ssh keys"),
        ({"target": "~/.ssh/id_rsa"}, "ssh keys"),
        ({"resource": "file:.env"}, "environment files"),
        ({"paths": ["/etc/hosts", "/root/.ssh/id_rsa"]}, "ssh keys"),
        ({"request": [{"filename": "~/.aws/credentials"}]}, "cloud credentials"),
        ({"uri": "file:///etc/shadow"}, "password hashes"),
        ({"uri": "FILE://localhost/etc/sh%61dow"}, "password hashes"),
        ({"resource": "file:/etc/shadow"}, "password hashes"),
        ({"target": "/proc/1/environ"}, "a process environment"),
        ({"path": "/etc/sh*"}, "password hashes"),
        ({"target": "C:\\Users\\mate\\.ssh\\id_rsa"}, "ssh keys"),
        ({"uri": "file:C:/Users/mate/.ssh/id_rsa"}, "ssh keys"),
        ({"path": "app\\.env"}, "environment files"),
        ({"path": "/etc/sh" + "*" * 5000}, "a path too long to be judged"),
        ({"path": "-key" * 1_000_000}, "a path too long to be judged"),
        ({"path": "secrets.yaml"}, "secrets"),
    ],
)
def test_a_file_that_holds_secrets_is_seen_under_any_name(arguments: dict[str, Any], secret: str) -> None:
    assert find_exposure(arguments) == Exposure(secrets=(secret,))


@requirement("rules:secrets")
@pytest.mark.parametrize(
    "name", ["path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "a_file_names"]
)
def test_some_names_speak_of_files(name: str) -> None:
    assert find_exposure({name: "id_rsa"}) == Exposure(secrets=("ssh keys",))


@requirement("rules:egress")
@pytest.mark.parametrize(
    "name", ["url", "urls", "uri", "uris", "endpoint", "endpoints", "webhook", "href", "link", "siteUrl"]
)
def test_some_names_speak_of_addresses(name: str) -> None:
    assert find_exposure({name: "example.com"}) == Exposure(egress=("example.com",))


@requirement("rules:secrets", "rules:egress")
@pytest.mark.parametrize(
    "name",
    [
        *("query", "q", "search", "text", "filter", "pattern", "expression", "expr", "message", "content", "regex"),
        "logQuery",
    ],
)
def test_some_names_speak_of_what_is_looked_for(name: str) -> None:
    assert find_exposure({name: ["/etc/shadow", "https://example.com/"]}) == Exposure()


@requirement("rules:egress")
@pytest.mark.parametrize(
    ("arguments", "host"),
    [
        ({"url": "https://example.com/x?y=1"}, "example.com"),
        ({"page": "http://user:pw@Example.com:8080/x"}, "example.com"),
        ({"urls": ["HTTPS:example.com"]}, "example.com"),
        ({"url": "http:\\\\example.com"}, "example.com"),
        ({"url": "example.com"}, "example.com"),
        ({"url": "//example.com/x"}, "example.com"),
        ({"callbackUrl": "example.com:8080/x"}, "example.com"),
        ({"endpoint": "[2001:db8::1]:80"}, "2001:db8::1"),
        ({"to": {"webhook": "wss://example.com"}}, "example.com"),
        ({"url": "https://[2001:db8::1]/"}, "2001:db8::1"),
        ({"url": "http://example.com://allowed.example/"}, "example.com"),
        ({"url": "http://allowed.example\\@example.com/"}, UNREADABLE),
        ({"url": "http://a@b@example.com/"}, UNREADABLE),
        ({"url": "http://exam ple.com/"}, UNREADABLE),
        ({"url": "http://"}, UNREADABLE),
    ],
)
def test_an_address_is_seen_wherever_it_leads(arguments: dict[str, Any], host: str) -> None:
    assert find_exposure(arguments) == Exposure(egress=(host,))


@requirement("rules:secrets", "rules:egress")
@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data", "metadata.google.internal/x", "http://0xa9fea9fe/"]
)
def test_what_hands_out_credentials_is_both(url: str) -> None:
    found = find_exposure({"url": url})
    assert found.secrets == ("cloud credentials",)
    assert len(found.egress) == 1


@requirement("rules:secrets", "rules:egress")
@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/var/log/syslog", "name": "secrets", "namespace": "vault"},
        {"query": "https://example.com/x", "search_text": "/etc/shadow", "pattern": "/etc/shadow"},
        {"uri": "pods/default/web", "url": "/api/v1/pods", "link": "grafana://d/x"},
        {"message": "see https://example.com/x", "note": "see https://example.com/x"},
        {"__": "x", "limit": 7, "profile": "credentials", "paths": [7, None], "": "/var"},
    ],
)
def test_other_arguments_show_and_reach_nothing(arguments: dict[str, Any]) -> None:
    assert find_exposure(arguments) == Exposure()


@requirement("rules:egress")
def test_what_was_judged_otherwise_is_left_out() -> None:
    arguments = {"Command": "x", "args": ["http://example.com"], "url": "http://example.org"}
    assert find_exposure(arguments, apart_from=(Subject.COMMAND, Subject.WORDS)) == Exposure(egress=("example.org",))


@requirement("rules:egress")
@given(st.text(alphabet="ahx.:/\\@?#[]%0 é\n", max_size=30))
def test_an_address_is_read_as_others_read_it_or_not_at_all(rest: str) -> None:
    host = find_host(f"http://{rest}", is_address=True)
    assert host is not None
    if host != UNREADABLE:
        assert urlsplit("http://" + rest.lstrip("/\\")).hostname == host

"""Each built-in pattern: what it hides, what it keeps, what it leaves alone."""

import json

import pytest
import yaml

from midwatch.masking.mask import compile_mask
from midwatch.masking.patterns import GROUPS, KUBERNETES_SECRET, PATTERNS, UNMISTAKABLE

WORD = "Zm9vYmFyYmF6cXV4Zm9v"  # 20 letters and digits
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
KEY_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
BEGIN = "-----BEGIN PRIVATE KEY-----"
CA = "certificate-authority-data"
JWT = f"eyJ{WORD}.eyJ{WORD}.{WORD}"
GITHUB = "ghp_" + "a1B2" * 9
SLACK = "xoxb-" + "12345-abcde"
GOOGLE = "AIza" + "b" * 35
STRIPE = "sk_live_" + "9" * 24
AWS_ID = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

HITS = [
    ("api_key", f"api_key={WORD}", "api_key=[MASKED_API_KEY]"),
    ("api_key", f'{{"apiKey": "{WORD}", "n": 1}}', '{"apiKey": "[MASKED_API_KEY]", "n": 1}'),
    ("api_key", f"X-Api-Key: {WORD}.tail/rest", "X-Api-Key: [MASKED_API_KEY]"),
    ("api_key", f"--api-key {WORD} --out x", "--api-key [MASKED_API_KEY] --out x"),
    ("api_key", f"key: '{WORD}'", "key: '[MASKED_API_KEY]'"),
    ("password", "password: hunter22", "password: [MASKED_PASSWORD]"),
    ("password", "DB_PASSWORD=hunter22, next", "DB_PASSWORD=[MASKED_PASSWORD], next"),
    ("password", '{"pwd":"a \\"quoted\\" one"}', '{"pwd":"[MASKED_PASSWORD]"}'),
    ("password", '{"password":12345678,"n":1}', '{"password":"[MASKED_PASSWORD]","n":1}'),
    ("password", '[{"password":12345678},{"n":1}]', '[{"password":"[MASKED_PASSWORD]"},{"n":1}]'),
    ("password", json.dumps('{"password":"it\'s hunter"}'), json.dumps('{"password":"[MASKED_PASSWORD]"}')),
    ("password", "pass = 'two words'", "pass = '[MASKED_PASSWORD]'"),
    ("password", "password = 'cut off", "password = '[MASKED_PASSWORD]"),
    ("password", 'password: "cut off', 'password: "[MASKED_PASSWORD]'),
    ("password", '["mysql", "--password", "hunter22"]', '["mysql", "--password", "[MASKED_PASSWORD]"]'),
    ("password", "password: bare22 words\nn: 1", "password: [MASKED_PASSWORD]\nn: 1"),
    ("password", "- password: three bare words\n  n: 1", "- password: [MASKED_PASSWORD]\n  n: 1"),
    ("password", "passwd => hunter22", "passwd => [MASKED_PASSWORD]"),
    ("password", "пароль password: пароль-секрет конец", "пароль password: [MASKED_PASSWORD] конец"),
    ("certificate", f"a\n{PEM}\nb", "a\n[MASKED_CERTIFICATE]\nb"),
    ("certificate_authority_data", f"{CA}: {WORD}==", f"{CA}: [MASKED_CA_CERTIFICATE]"),
    ("token", f"token={WORD}", "token=[MASKED_TOKEN]"),
    ("token", f'"refresh_token" : "{WORD}"', '"refresh_token" : "[MASKED_TOKEN]"'),
    ("token", f"kubectl --token {WORD} get", "kubectl --token [MASKED_TOKEN] get"),
    ("token", f"--token={WORD}", "--token=[MASKED_TOKEN]"),
    ("email", "ask ops.team+x@mail.example.com.", "ask [MASKED_EMAIL]."),
    ("ssh_key", f"ssh-ed25519 AAAA{WORD} me@host", "ssh-ed25519 [MASKED_SSH_KEY] me@host"),
    ("base64_secret", f"x {WORD}== y", "x [MASKED_BASE64_VALUE] y"),
    ("base64_short", "value: YWRtaW4=\n", "value: [MASKED_SHORT_BASE64]\n"),
    ("private_key", f"private_key: {WORD}", "private_key: [MASKED_PRIVATE_KEY]"),
    ("secret_key", f"secret-key={WORD}", "secret-key=[MASKED_SECRET_KEY]"),
    ("secret_key", f'"client_secret":"{WORD}"', '"client_secret":"[MASKED_SECRET_KEY]"'),
    ("aws_access_key", f"aws_access_key_id={AWS_ID}", "aws_access_key_id=[MASKED_AWS_KEY]"),
    ("aws_access_key", "aws_access_key_id = AKIAshortened1234", "aws_access_key_id = [MASKED_AWS_KEY]"),
    ("aws_secret_key", f'"SecretAccessKey": "{AWS_SECRET}"', '"SecretAccessKey": "[MASKED_AWS_SECRET]"'),
    ("aws_key_id", f"by {AWS_ID}.", "by [MASKED_AWS_KEY]."),
    ("github_token", f"clone {GITHUB} now", "clone [MASKED_GITHUB_TOKEN] now"),
    ("github_token", "github_pat_" + "a" * 22, "[MASKED_GITHUB_TOKEN]"),
    ("slack_token", f"as {SLACK}", "as [MASKED_SLACK_TOKEN]"),
    ("slack_token", "https://hooks.slack.com/services/T000/B000/" + "x" * 24, "https://hooks.slack.com/services/[MASKED_SLACK_TOKEN]"),
    ("provider_key", f"use sk-ant-{WORD}", "use [MASKED_API_KEY]"),
    ("provider_key", f"pay {STRIPE}", "pay [MASKED_API_KEY]"),
    ("google_key", f"?key={GOOGLE}&x", "?key=[MASKED_API_KEY]&x"),
    ("jwt", f"got {JWT} here", "got [MASKED_TOKEN] here"),
    ("private_key_block", f"a\n{KEY_PEM}\nb", "a\n[MASKED_PRIVATE_KEY]\nb"),
    ("private_key_block", json.dumps({"k": KEY_PEM}), '{"k": "[MASKED_PRIVATE_KEY]"}'),
    ("private_key_start", f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{WORD}\n{WORD}", "[MASKED_PRIVATE_KEY]"),
    ("private_key_end", f"{WORD}\n{WORD}\n-----END OPENSSH PRIVATE KEY-----\nrest", "[MASKED_PRIVATE_KEY]\nrest"),
    ("client_key_data", f"client-key-data: {WORD}", "client-key-data: [MASKED_PRIVATE_KEY]"),
    ("url_password", "postgres://app:p@ss@db:5432/x", "postgres://app:[MASKED_PASSWORD]@db:5432/x"),
    ("url_password", "redis://:pw@cache", "redis://:[MASKED_PASSWORD]@cache"),
    ("url_password", f"https://{WORD}@host/repo", "https://[MASKED_PASSWORD]@host/repo"),
    ("authorization", "Authorization: Bearer abc.def", "Authorization: Bearer [MASKED_TOKEN]"),
    ("authorization", '"authorization": "Basic dTpw"', '"authorization": "Basic [MASKED_TOKEN]"'),
    ("authorization", f"-H 'Authorization: {WORD}'", "-H 'Authorization: [MASKED_TOKEN]'"),
    ("authorization", f"sent bearer {WORD}", "sent bearer [MASKED_TOKEN]"),
]  # fmt: skip

MISSES = [
    ("api_key", "key: node.kubernetes.io/unreachable"),
    ("api_key", "api_key=short"),
    ("password", "password:\n  secretKeyRef: db-credentials"),
    ("password", "pass: 3, fail: 1"),
    ("password", '{"password":null,"passwordless":true}'),
    ("password", "the password was changed yesterday"),
    ("certificate", "-----BEGIN CERTIFICATE----- and no end"),
    ("certificate_authority_data", "certificate-authority: /etc/ca.crt"),
    ("token", "token: short"),
    ("token", f"tokens used by {WORD}"),
    ("email", "user@localhost"),
    ("ssh_key", "ssh-rsa is old"),
    ("base64_secret", "short1234"),
    ("base64_short", "a:b"),
    ("private_key", "private_key: /etc/tls.key"),
    ("secret_key", "secretKeyRef: name"),
    ("aws_access_key", "aws_access_key_id=unset"),
    ("aws_secret_key", "secret_access_key=unset"),
    ("aws_key_id", "AKIA is a prefix"),
    ("github_token", "ghp_short"),
    ("slack_token", "xoxb-short"),
    ("provider_key", "task-aaaaaaaaaaaaaaaaaaaaaaaa"),
    ("google_key", "AIzashort"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9"),
    ("private_key_block", "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----"),
    ("private_key_start", "-----BEGIN PUBLIC KEY-----\nMIIE"),
    ("private_key_end", "MIIE\n-----END PUBLIC KEY-----"),
    ("client_key_data", "client-key: /etc/client.key"),
    ("url_password", "http://host:8080/path/a@b"),
    ("url_password", "https://git@example/x"),
    ("authorization", "authorization-mode=Node,RBAC"),
    ("authorization", "authorization: enabled"),
]


def only(name: str) -> list[str]:
    return [rule.name for rule in compile_mask(patterns=(name,)).rules if rule.name not in UNMISTAKABLE]


@pytest.mark.parametrize(("name", "text", "expected"), HITS)
def test_a_secret_is_hidden_and_what_is_around_it_stays(name: str, text: str, expected: str) -> None:
    assert compile_mask(patterns=(name,))(text) == expected


@pytest.mark.parametrize(("name", "text"), MISSES)
def test_what_only_resembles_a_secret_is_left_alone(name: str, text: str) -> None:
    assert compile_mask(patterns=(name,))(text) == text


def test_every_pattern_has_an_example_of_a_hit_and_of_a_miss() -> None:
    assert {name for name, _, _ in HITS} == set(PATTERNS)
    assert {name for name, _ in MISSES} == set(PATTERNS)


@pytest.mark.parametrize(("name", "text", "expected"), HITS)
def test_masking_an_example_twice_changes_nothing_more(name: str, text: str, expected: str) -> None:
    assert compile_mask(patterns=(name,))(expected) == expected
    once = compile_mask(groups=("all",))(text)
    assert compile_mask(groups=("all",))(once) == once


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_names_known_patterns_and_hides_the_unmistakable_ones_too(group: str) -> None:
    assert set(GROUPS[group]) <= {*PATTERNS, KUBERNETES_SECRET}
    assert {rule.name for rule in compile_mask(groups=(group,)).rules} >= {*GROUPS[group], *UNMISTAKABLE}


def test_without_a_choice_the_security_group_applies() -> None:
    assert compile_mask() is compile_mask(groups=("security",))
    assert compile_mask()("mail ops@example.com") == "mail [MASKED_EMAIL]"


def test_a_chosen_pattern_brings_no_other_optional_one() -> None:
    assert only("email") == ["email"]


@pytest.mark.parametrize("name", ["emial", "", "security"])
def test_an_unknown_pattern_is_an_error(name: str) -> None:
    with pytest.raises(KeyError):
        compile_mask(patterns=(name,))


def test_an_unknown_group_is_an_error() -> None:
    with pytest.raises(KeyError):
        compile_mask(groups=("securty",))


SECRETS: list[tuple[str, str | int]] = [
    ("password", "hunter 22, \"x\" 'y' }"),
    ("token", WORD),
    ("api_key", WORD),
    ("pwd", 1234567),
]
DOCUMENTS = [
    {"a": [{name: value}, {"nested": {name: value, "last": "kept"}}], name: value, "n": 7} for name, value in SECRETS
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_json_stays_json_and_keeps_everything_else(
    document: dict[str, object], indent: int | None, separators: tuple[str, str]
) -> None:
    masked = compile_mask()(json.dumps(document, indent=indent, separators=separators))
    assert json.loads(masked)["n"] == 7
    assert json.loads(masked)["a"][1]["nested"]["last"] == "kept"
    for secret in ("hunter", WORD, "1234567"):
        assert secret not in masked


@pytest.mark.parametrize("document", DOCUMENTS)
def test_yaml_stays_yaml_and_keeps_everything_else(document: dict[str, object]) -> None:
    masked = compile_mask()(yaml.safe_dump(document))
    assert yaml.safe_load(masked)["n"] == 7
    for secret in ("hunter", WORD, "1234567"):
        assert secret not in masked

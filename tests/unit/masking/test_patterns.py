"""Each built-in pattern: what it hides, what it keeps, what it leaves alone."""

import json

import pytest
import yaml

from midwatch.masking.mask import compile_mask
from midwatch.masking.patterns import GROUPS, PATTERNS, STRUCTURES, UNMISTAKABLE

WORD = "Zm9vYmFyYmF6cXV4Zm9v"  # 20 letters and digits
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
KEY_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
BEGIN = "-----BEGIN PRIVATE KEY-----"
CA = "certificate-authority-data"
CERT = "client-certificate-data"
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
    ("password", "with DB_PASSWORD=hunter22, next", "with DB_PASSWORD=[MASKED_PASSWORD], next"),
    ("password", "<password>hunter22</password>", "<password>[MASKED_PASSWORD]</password>"),
    ("password", "url?password=hunter22&user=bob", "url?password=[MASKED_PASSWORD]&user=bob"),
    ("password", "Server=db;Password=hunter22;Encrypt=True", "Server=db;Password=[MASKED_PASSWORD];Encrypt=True"),
    ("password", "dbPass: hunter22", "dbPass: [MASKED_PASSWORD]"),
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
    ("private_key_block", f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{WORD}\n{WORD}", "[MASKED_PRIVATE_KEY]"),
    ("private_key_block", f"{WORD}\n{WORD}\n-----END OPENSSH PRIVATE KEY-----\nrest", "[MASKED_PRIVATE_KEY]\nrest"),
    ("client_key_data", f"client-key-data: {WORD}", "client-key-data: [MASKED_PRIVATE_KEY]"),
    ("url_password", "postgres://app:p@ss@db:5432/x", "postgres://app:[MASKED_PASSWORD]@db:5432/x"),
    ("url_password", "redis://:pw@cache", "redis://:[MASKED_PASSWORD]@cache"),
    ("url_password", f"https://{WORD}@host/repo", "https://[MASKED_PASSWORD]@host/repo"),
    ("authorization", "Authorization: Bearer abc.def", "Authorization: Bearer [MASKED_TOKEN]"),
    ("authorization", '"authorization": "Basic dTpw"', '"authorization": "Basic [MASKED_TOKEN]"'),
    ("authorization", f"-H 'Authorization: {WORD}'", "-H 'Authorization: [MASKED_TOKEN]'"),
    ("authorization", f"sent bearer {WORD}", "sent bearer [MASKED_TOKEN]"),
    ("authorization", "Proxy-Authorization: Basic dTpw", "Proxy-Authorization: Basic [MASKED_TOKEN]"),
    ("authorization", 'Authorization: Digest username="u", response="0a1b"', "Authorization: Digest [MASKED_TOKEN]"),
    ("authorization", "x-vault-token: s.12345", "x-vault-token: [MASKED_TOKEN]"),
    ("authorization", '"Authorization": ["Bearer abcd"]', '"Authorization": ["Bearer [MASKED_TOKEN]"]'),
    ("cookie", "Cookie: sid=1; theme=dark", "Cookie: [MASKED_COOKIE]"),
    ("cookie", "Set-Cookie: sid=abc; Path=/; HttpOnly", "Set-Cookie: sid=[MASKED_COOKIE]; Path=/; HttpOnly"),
    ("cookie", '{"set-cookie": ["sid=abc; Path=/"]}', '{"set-cookie": ["sid=[MASKED_COOKIE]; Path=/"]}'),
    ("webhook_url", f"https://discord.com/api/webhooks/1234567/{WORD}", "https://discord.com/api/webhooks/1234567/[MASKED_WEBHOOK]"),
    ("webhook_url", f"https://x.webhook.office.com/webhookb2/{WORD}@a/b", "https://x.webhook.office.com/webhookb2/[MASKED_WEBHOOK]"),
    ("service_token", "np" + "m_" + "a1" * 18, "[MASKED_TOKEN]"),
    ("service_token", "gl" + f"pat-{WORD}", "[MASKED_TOKEN]"),
    ("azure_key", f"AccountName=a;AccountKey={WORD}==;x=y", "AccountName=a;AccountKey=[MASKED_AZURE_KEY];x=y"),
    ("azure_key", "got abc8" + "Q~" + "k" * 34, "got [MASKED_AZURE_KEY]"),
    ("signed_url", f"https://a.example/b?sv=1&sig={WORD}%3D&se=2", "https://a.example/b?sv=1&sig=[MASKED_SIGNATURE]&se=2"),
    ("connection_string", "dsn shop:p@ss@tcp(db:3306)/shop", "dsn shop:[MASKED_PASSWORD]@tcp(db:3306)/shop"),
    ("connection_string", "jdbc:oracle:thin:u/tiger@//db/x", "jdbc:oracle:thin:u/[MASKED_PASSWORD]@//db/x"),
    ("connection_string", "db.example.com:5432:shop:app:pw", "db.example.com:5432:shop:app:[MASKED_PASSWORD]"),
    ("password_hash", "root:$6$salt$" + "a" * 40 + ":19000:", "root:[MASKED_PASSWORD_HASH]:19000:"),
    ("jwk", '{"kty":"EC","d":"' + "a1" * 22 + '"}', '{"kty":"EC","d":"[MASKED_PRIVATE_KEY]"}'),
    ("registry_auth", '{"auths":{"r.io":{"auth":"dXNlcjpwdw=="}}}', '{"auths":{"r.io":{"auth":"[MASKED_TOKEN]"}}}'),
    ("putty_key", f"Private-Lines: 1\n{WORD}\nend", "Private-Lines: 1[MASKED_PRIVATE_KEY]\nend"),
    ("environment", "JWT_SECRET=x", "JWT_SECRET=[MASKED_SECRET_VALUE]"),
    ("environment", "export A_TOKEN='two words'", "export A_TOKEN='[MASKED_SECRET_VALUE]'"),
    ("environment", "a\0A_TOKEN=abc def\0PATH=/bin", "a\0A_TOKEN=[MASKED_SECRET_VALUE] def\0PATH=/bin"),
    ("environment", "app.auth.secret=x y", "app.auth.secret=[MASKED_SECRET_VALUE]"),
    ("environment", '["A=b", "A_TOKEN=x y"]', '["A=b", "A_TOKEN=[MASKED_SECRET_VALUE]"]'),
    ("environment", "docker run -e A_TOKEN=abc shop", "docker run -e A_TOKEN=[MASKED_SECRET_VALUE] shop"),
    ("named_value", "- name: A_TOKEN\n  value: abc", "- name: A_TOKEN\n  value: [MASKED_SECRET_VALUE]"),
    ("named_value", '{"name":"A_TOKEN","value":"abc"}', '{"name":"A_TOKEN","value":"[MASKED_SECRET_VALUE]"}'),
    ("named_value", '"Key": "a_token",\n "Value": "abc"', '"Key": "a_token",\n "Value": "[MASKED_SECRET_VALUE]"'),
    ("yaml_block", "password: |\n  one\n\n  two\nn: 1", "password: |\n  [MASKED_SECRET_VALUE]\nn: 1"),
    ("yaml_block", "- client_secret: >-\n    one\n  n: 1", "- client_secret: >-\n    [MASKED_SECRET_VALUE]\n  n: 1"),
    ("cli_flag", "app --token abc123 -v", "app --token [MASKED_PASSWORD] -v"),
    ("cli_flag", "app --password=x -v", "app --password=[MASKED_PASSWORD] -v"),
    ("cli_flag", '["sshpass", "-p", "abc", "ssh"]', '["sshpass", "-p", "[MASKED_PASSWORD]", "ssh"]'),
    ("cli_flag", "mysql -uroot -pabc db", "mysql -uroot -p[MASKED_PASSWORD] db"),
    ("kubernetes_secret", "kind: Secret\ndata:\n  a: YQ==\n", "kind: Secret\ndata:\n  a: [MASKED_SECRET_DATA]\n"),
    ("secret_key", "oidcClientSecret: abc123", "oidcClientSecret: [MASKED_SECRET_KEY]"),
    ("certificate_authority_data", f"{CERT}: {WORD}", f"{CERT}: [MASKED_CA_CERTIFICATE]"),
]  # fmt: skip

MISSES = [
    ("api_key", "key: node.kubernetes.io/unreachable"),
    ("api_key", "the api_key=short"),
    ("api_key", "the api_key=${API_KEY_OF_THE_SHOP_ABCDEF}"),
    ("api_key", "key: 5a1c7c0e-6d1b-4a0f-9d52-1f6a2f1b8c33"),
    ("api_key", "key: orders-web-7d9f8b6c5d-x2x4z"),
    ("api_key", f"cache_key={WORD}"),
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
    ("private_key_block", "-----BEGIN PUBLIC KEY-----\nMIIE"),
    ("private_key_block", "MIIE\n-----END PUBLIC KEY-----"),
    ("client_key_data", "client-key: /etc/client.key"),
    ("url_password", "http://host:8080/path/a@b"),
    ("url_password", "https://git@example/x"),
    ("authorization", "authorization-mode=Node,RBAC"),
    ("authorization", "authorization: enabled"),
    ("cookie", "cookies: enabled"),
    ("webhook_url", "https://discord.com/api/webhooks/"),
    ("service_token", "npm_config_cache"),
    ("azure_key", "SharedAccessKeyName=RootManageSharedAccessKey"),
    ("signed_url", "sig=short"),
    ("connection_string", "10.0.0.1:8080:a:b:c"),
    ("password_hash", "cost is $5 or $6"),
    ("jwk", '{"d": "short"}'),
    ("registry_auth", '{"auth": "basic"}'),
    ("putty_key", "Private-Lines: 0"),
    ("environment", "PWD=/home/app"),
    ("environment", "TOKEN_TTL=3600"),
    ("environment", "API_TOKEN=${API_TOKEN}"),
    ("environment", "COMPASS=north"),
    ("environment", "TOKENIZERS_PARALLELISM=enabled"),
    ("environment", "GIT_AUTHOR=mate"),
    ("named_value", "- name: A_TOKEN\n  valueFrom:\n    secretKeyRef: x"),
    ("named_value", "- name: TOKEN_FILE\n  value: /run/token"),
    ("yaml_block", "passwordPolicy: |\n  at least twelve signs"),
    ("yaml_block", "description: |\n  the password"),
    ("cli_flag", "app --token-file /run/token"),
    ("cli_flag", "app --password"),
    ("cli_flag", "ps -p 4711"),
    ("kubernetes_secret", "kind: ConfigMap\ndata:\n  a: YQ==\n"),
    ("token", "token: /var/run/secrets/kubernetes.io/serviceaccount/token"),
    ("email", "git@github.com:example/web.git and user@1000.service"),
    ("secret_key", "secret: shop-db-credentials"),
    ("secret_key", "arn:aws:secretsmanager:eu-west-1:1:secret:shop/api-AbCdEf"),
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
    assert {name for name, _, _ in HITS} == {*PATTERNS, *STRUCTURES}
    assert {name for name, _ in MISSES} == {*PATTERNS, *STRUCTURES}


@pytest.mark.parametrize(("name", "text", "expected"), HITS)
def test_masking_an_example_twice_changes_nothing_more(name: str, text: str, expected: str) -> None:
    assert compile_mask(patterns=(name,))(expected) == expected
    once = compile_mask(groups=("all",))(text)
    assert compile_mask(groups=("all",))(once) == once


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_names_known_patterns_and_hides_the_unmistakable_ones_too(group: str) -> None:
    assert set(GROUPS[group]) <= {*PATTERNS, *STRUCTURES}
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

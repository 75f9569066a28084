"""Any secret in any shape, wrapped as tools wrap it, anywhere in a text: it never survives."""

import json
import re
import string
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.masking.mask import compile_mask

LETTERS = string.ascii_letters + string.digits
PRINTABLE = "".join(chr(code) for code in range(33, 127))


def drawn(alphabet: str, length: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=length)


def starting(start: str, alphabet: str, length: int) -> st.SearchStrategy[str]:
    return drawn(alphabet, length).map(lambda rest: start + rest)


SHAPED = st.one_of(
    starting("gh" + "p_", LETTERS, 36),
    starting("github_" + "pat_", LETTERS + "_", 40),
    starting("gl" + "pat-", LETTERS, 20),
    starting("xo" + "xb-", LETTERS, 24),
    starting("sk" + "_live_", LETTERS, 24),
    starting("sk" + "-ant-api03-", LETTERS, 40),
    starting("np" + "m_", LETTERS, 36),
    starting("py" + "pi-", LETTERS, 40),
    starting("AK" + "IA", string.ascii_uppercase + string.digits, 16),
    starting("AI" + "za", LETTERS, 35),
    starting("hv" + "s.", LETTERS, 24),
    starting("do" + "p_v1_", "0123456789abcdef", 64),
    starting("dc" + "kr_pat_", LETTERS, 27),
    st.tuples(drawn(LETTERS, 20), drawn(LETTERS, 200), drawn(LETTERS, 43)).map(
        lambda parts: f"eyJ{parts[0]}.eyJ{parts[1]}.{parts[2]}"
    ),
)
"""Known by themselves."""

FILLERS = st.sampled_from(
    [
        "2026-10-03T10:00:01Z INFO order 5a1c7c0e-6d1b-4a0f-9d52-1f6a2f1b8c33 accepted\n",
        "web-7d9f8b6c5d-x2x4z 1/1 Running 0 3d\n",
        "GET /healthz 200\t",
        "漢字かな ",
        "\n",
    ]
)
BEFORE = st.tuples(FILLERS, st.integers(0, 120)).map(lambda filler: filler[0] * filler[1])


def wrap_in_json(secret: str) -> str:
    return json.dumps({"level": "info", "items": [{"note": f"used {secret} today"}], "n": 7})


def wrap_in_yaml(secret: str) -> str:
    return yaml.safe_dump({"spec": {"args": ["--verbose", f"x={secret}"], "note": secret}, "n": 7})


PLAIN: dict[str, Callable[[str], str]] = {
    "a log": lambda secret: f"pushed with {secret}, done\n",
    "json": wrap_in_json,
    "json in json": lambda secret: json.dumps({"body": wrap_in_json(secret)}),
    "yaml": wrap_in_yaml,
    "a query": lambda secret: f"GET https://example.com/x?a=1&t={secret}&b=2",
    "a list": lambda secret: f'["--flag", "{secret}", "end"]',
    "brackets": lambda secret: f"({secret})<{secret}>",
}


@pytest.mark.parametrize("wrapping", PLAIN)
@settings(max_examples=60, deadline=None)
@given(before=BEFORE, secret=SHAPED, group=st.sampled_from(["basic", "security", "all"]))
def test_what_is_known_by_its_shape_is_hidden_wherever_it_stands(
    wrapping: str, before: str, secret: str, group: str
) -> None:
    mask = compile_mask(groups=[group])
    masked = mask(before + PLAIN[wrapping](secret) + before)
    assert secret not in masked
    assert mask(masked) == masked


@settings(max_examples=100, deadline=None)
@given(secret=SHAPED)
def test_json_and_yaml_around_it_can_still_be_read(secret: str) -> None:
    mask = compile_mask()
    assert json.loads(mask(wrap_in_json(secret)))["n"] == 7
    assert json.loads(json.loads(mask(PLAIN["json in json"](secret)))["body"])["n"] == 7
    assert yaml.safe_load(mask(wrap_in_yaml(secret)))["n"] == 7


ANY_VALUE = st.text(PRINTABLE + " äß漢", min_size=9, max_size=40).filter(
    lambda text: text.strip() == text and " -" not in text
)
"""Whatever people choose for a password."""
WORD = st.tuples(drawn(LETTERS, 2), st.text(LETTERS + "!%^*-_+.~", min_size=9, max_size=40), drawn(LETTERS, 2)).map(
    "".join
)
"""What stands without quotes where several words are expected."""
NAMES = st.sampled_from(["DB_PASSWORD", "API_TOKEN", "JWT_SECRET", "AWS_SECRET_ACCESS_KEY", "SMTP_PASSWD"])


def is_plain(secret: str) -> bool:
    """Not by chance a name, a number of something or a reference, which are no secrets."""
    is_word = any(letter.isupper() for letter in secret) and any(letter.isdigit() for letter in secret)
    return is_word and not secret.startswith(("$", "%", "{{", "!"))


def dump(document: object) -> str:
    """YAML with every value on one line."""
    return yaml.safe_dump(document, width=999)


def without_quotes(secret: str) -> str:
    return re.sub(r"[\"'\\]", "", secret)


QUOTED: dict[str, Callable[[str, str], str]] = {
    "docker inspect": lambda name, secret: json.dumps([{"Env": ["A=b", f"{name}={secret}", "C=d"]}], indent=4),
    "a container's variables in json": lambda name, secret: json.dumps([{"name": name, "value": secret}], indent=2),
    "a container's variables in yaml": lambda name, secret: dump({"env": [{"name": name, "value": secret}]}),
    "compose, as a map": lambda name, secret: dump({"environment": {name: secret, "A": "b"}}),
    "a map in json": lambda name, secret: json.dumps({"variables": {name: secret, "n": 1}}),
    "a kubernetes secret in json": lambda name, secret: json.dumps({"kind": "Secret", "stringData": {name: secret}}),
    "a kubernetes secret in yaml": lambda name, secret: yaml.safe_dump({"kind": "Secret", "data": {name: secret}}),
    "a list of secrets": lambda name, secret: dump({"items": [{"data": {name: secret}, "kind": "Secret"}]}),
    "a secret among others": lambda name, secret: (
        f"a: 1\n---\n{dump({'kind': 'Secret', 'data': {name: secret}})}---\nb: 2"
    ),
    "a line of env": lambda name, secret: f"HOME=/root\n{name}={secret}\nLANG=C\n",
    "a password in json": lambda _, secret: json.dumps({"user": "shop", "password": secret, "n": 7}),
    "a password in yaml": lambda _, secret: dump({"user": "shop", "password": secret, "n": 7}),
    "a password in an ini file": lambda _, secret: f"[db]\npassword = {secret}\nport = 5432\n",
    "a cookie": lambda _, secret: f"> Cookie: sid={without_quotes(secret)}\n",
}


@pytest.mark.parametrize("wrapping", QUOTED)
@settings(max_examples=80, deadline=None)
@given(before=BEFORE, name=NAMES, secret=ANY_VALUE.filter(is_plain))
def test_what_its_name_gives_away_is_hidden_to_its_last_sign(
    wrapping: str, before: str, name: str, secret: str
) -> None:
    text = QUOTED[wrapping](name, secret)
    masked = compile_mask()(f"{before}\n---\n{text}")
    assert leaks(secret, masked, around=before + QUOTED[wrapping](name, "")) is None
    assert compile_mask()(masked) == masked


def leaks(secret: str, masked: str, *, around: str) -> str | None:
    """Five signs of the secret in a row that are still there, and not because they stand around it anyway."""
    shown = re.sub(r"\[MASKED_[A-Z0-9_]+\]", "\n", masked)
    pieces = (secret[at : at + 5] for at in range(len(secret) - 4))
    return next((piece for piece in pieces if piece.strip() and piece in shown and piece not in around), None)


COMMANDS: dict[str, Callable[[str], str]] = {
    "mysql": lambda secret: f"mysql -h db -u shop -p{secret} shop",
    "sshpass": lambda secret: f"sshpass -p {secret} ssh root@10.0.0.1",
    "docker login": lambda secret: f"docker login -u ci -p {secret} registry.example.com",
    "curl": lambda secret: f"curl -u mate:{secret} https://example.com",
    "a flag": lambda secret: f"app --port 80 --password {secret} --verbose",
    "a flag with =": lambda secret: f"app --api-token={secret} --verbose",
    "a variable before": lambda secret: f"PGPASSWORD={secret} psql -h db -U shop",
    "a container's variable": lambda secret: f"docker run -e DB_PASSWORD={secret} --rm shop:1",
    "a url": lambda secret: f"psql postgres://shop:{secret}@db:5432/shop",
    "a header": lambda secret: f"curl -H 'Authorization: Bearer {secret}' https://example.com",
    "systemd": lambda secret: f"Environment=A=b DB_PASSWORD={secret} C=d",
    "a connection string": lambda secret: f"Server=db;User ID=shop;Password={secret};Encrypt=True",
}


@pytest.mark.parametrize("command", COMMANDS)
@settings(max_examples=80, deadline=None)
@given(before=BEFORE, secret=WORD.filter(is_plain))
def test_what_a_command_is_given_is_hidden_and_the_command_stays(command: str, before: str, secret: str) -> None:
    text = COMMANDS[command](secret)
    masked = compile_mask()(f"{before}\n{text}")
    start, end = text.split(secret)
    shown = masked.rsplit("\n", 1)[-1]
    assert shown.startswith(f"{start}[MASKED_")
    assert shown.endswith(f"]{end}")


CLEAN = st.sampled_from(
    [
        "5a1c7c0e-6d1b-4a0f-9d52-1f6a2f1b8c33", "9fceb02d0ae598e95dc970b74767f19372d61af8", "web-7d9f8b6c5d-x2x4z",
        "registry.example.com/shop/web@sha256:" + "9b2c4d1f" * 8, "4bf92f3577b34da6a3ce929d0e0e4736", "10.42.1.17:8080",
        "2026-10-03T10:00:01.123Z", "secret", "token", "password", "key", "the", "of", "kind: Deployment", "name: web",
        "secretName: db", "keys=3", "tokens used", "/var/run/secrets/kubernetes.io/serviceaccount", "https://a.example/x?y=1",
        "200", "exit code 137", "\n", "\n  ", ", ", " - ", "d41d8cd98f00b204e9800998ecf8427e",
        "arn:aws:iam::123456789012:role/x", "passed: 12", "key: node.kubernetes.io/not-ready", "author: mate",
        "tokenizer=bpe", "monkey: yes",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(CLEAN, max_size=40).map(" ".join))
def test_ids_digests_commits_and_names_are_left_alone(text: str) -> None:
    assert compile_mask()(text) == text


@settings(max_examples=60, deadline=None)
@given(length=st.integers(0, 40_000), secret=SHAPED)
def test_in_a_line_without_end_nothing_is_lost_at_the_edge_of_a_window(length: int, secret: str) -> None:
    text = f'{{"blob": "{"ab, " * (length // 4)}", "note": "{secret}", "tail": "{"cd, " * 3000}"}}'
    masked = compile_mask()(text)
    assert secret not in masked
    assert json.loads(masked)["note"].startswith("[MASKED_")


@pytest.mark.parametrize("length", [3_000, 30_000, 300_000])
def test_a_secret_longer_than_any_window_is_hidden_whole(length: int) -> None:
    long = "aB3" * (length // 3)
    mask = compile_mask()
    assert mask(f"sent token={long} again") == "sent token=[MASKED_TOKEN] again"
    assert mask(f"see eyJ{long[:500]}.{long}.{long} there") == "see [MASKED_TOKEN] there"
    assert mask('{"password": "' + long + '", "n": 1}') == '{"password": "[MASKED_PASSWORD]", "n": 1}'

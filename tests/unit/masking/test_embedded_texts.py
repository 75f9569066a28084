"""Texts of many lines as one string of JSON: masked as if they stood alone, and every other sign stays."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.masking.mask import compile_mask
from midwatch.masking.report import report_masking

MASK = compile_mask()
TEXTS = {
    "a secret": ("apiVersion: v1\nkind: Secret\ndata:\n  user: {}\n  note: |\n    {}\nn: 1\n", "[MASKED_SECRET_DATA]"),
    "a secret that begins with its kind": ("kind: Secret\ndata:\n  user: {}\n", "[MASKED_SECRET_DATA]"),
    "a container's variables": ("env:\n- name: A_TOKEN\n  value: {}\n- name: B\n  value: c\n", "[MASKED_SECRET_VALUE]"),
    "env": ("HOME=/root\nA_TOKEN={} and more\nLANG=C\n", "[MASKED_SECRET_VALUE]"),
    "a file of settings": ("[db]\npassword = {} and more\nport = 1\n", "[MASKED_SECRET_VALUE]"),
}  # fmt: skip
SECRET = "YWRtaW4tb2YtdGhlLWRlY2s"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("before", ["", "x" * 5000])
def test_a_text_is_masked_inside_a_string_as_it_is_outside(name: str, depth: int, before: str) -> None:
    text = TEXTS[name][0].replace("{}", SECRET)
    wrapped: object = text
    for _ in range(depth):
        wrapped = json.dumps({"before": before, "output": wrapped, "quoted": 'a "b" \\ c', "n": 7})
    masked = MASK(str(wrapped))
    assert MASK(masked) == masked
    for _ in range(depth):
        read = json.loads(masked)
        assert (read["before"], read["quoted"], read["n"]) == (before, 'a "b" \\ c', 7)
        masked = read["output"]
    assert masked == MASK(text)
    assert SECRET not in masked


@pytest.mark.parametrize("name", TEXTS)
def test_so_it_is_when_the_string_is_cut_off_or_has_no_quotes(name: str) -> None:
    text, placeholder = TEXTS[name]
    line = "answer: " + text.replace("{}", SECRET).replace("\n", "\\n")
    assert SECRET not in MASK(line)
    assert placeholder in MASK(line)
    cut = json.dumps({"output": text.replace("{}", SECRET)})
    assert SECRET not in MASK(cut[: cut.rindex(SECRET) + len(SECRET)])


def test_the_report_names_the_rule_that_found_it() -> None:
    report = report_masking(MASK, "one\n" + json.dumps({"output": TEXTS["a secret"][0].replace("{}", SECRET)}))
    assert [(found.line, found.rule) for found in report.findings] == [(2, "kubernetes_secret")]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "note", "uä", "z"]), st.text(max_size=30), min_size=1))
def test_whatever_else_is_in_the_string_stays(values: dict[str, str]) -> None:
    text = yaml.safe_dump({"kind": "Secret", "stringData": {"key": SECRET}, "other": values}, allow_unicode=True)
    masked = json.loads(MASK(json.dumps({"output": text})))["output"]
    assert masked == MASK(text)

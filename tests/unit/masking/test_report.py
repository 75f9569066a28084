"""Which rule hides what on which line, without a letter of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.masking.mask import CustomRule, compile_mask
from midwatch.masking.report import Finding, MaskReport, report_masking

ALL = compile_mask(groups=["all"])
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghijkl\nMNOPqrstuvwxyz12\n-----END RSA PRIVATE KEY-----"
SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: deck
data:
  cert: |
    c2VjcmV0LW9uZQ==
    c2VjcmV0LXR3bw==

  user: bWF0ZQ==
type: Opaque
"""


def tell(report: MaskReport) -> list[tuple[int, str, str, int]]:
    return [(found.line, found.rule, found.placeholder, found.count) for found in report.findings]


def test_a_text_without_secrets_has_no_findings() -> None:
    assert report_masking(ALL, "all quiet\n") == MaskReport(text="all quiet\n", findings=())
    assert report_masking(ALL, "") == MaskReport(text="", findings=())


def test_each_finding_names_its_line_its_rule_and_what_stands_there_now() -> None:
    report = report_masking(compile_mask(), "one\nuser=deck password=hunter2-deck\nmail mate@ship.example\n")
    assert report.findings == (
        Finding(line=2, rule="password", placeholder="[MASKED_PASSWORD]", count=1),
        Finding(line=3, rule="email", placeholder="[MASKED_EMAIL]", count=1),
    )
    assert report.text == "one\nuser=deck password=[MASKED_PASSWORD]\nmail [MASKED_EMAIL]\n"


def test_several_of_a_kind_on_one_line_are_counted() -> None:
    report = report_masking(compile_mask(), "cc mate@ship.example, cook@ship.example, bosun@ship.example")
    assert tell(report) == [(1, "email", "[MASKED_EMAIL]", 3)]


def test_lines_are_those_of_the_text_as_it_was_given() -> None:
    """A key of four lines becomes one, and whoever follows it must still be found in the file."""
    report = report_masking(compile_mask(), f"start\n{KEY} password=hunter2-deck\nthen\nmate@ship.example")
    assert tell(report) == [
        (2, "private_key_block", "[MASKED_PRIVATE_KEY]", 1),
        (5, "password", "[MASKED_PASSWORD]", 1),
        (7, "email", "[MASKED_EMAIL]", 1),
    ]


def test_values_of_a_kubernetes_secret_are_found_where_they_begin() -> None:
    report = report_masking(compile_mask(groups=["kubernetes"]), f"{SECRET}# mate\npassword: hunter2-deck\n")
    assert tell(report) == [
        (6, "kubernetes_secret", "[MASKED_SECRET_DATA]", 1),
        (10, "kubernetes_secret", "[MASKED_SECRET_DATA]", 1),
        (13, "password", "[MASKED_PASSWORD]", 1),
    ]


def test_two_values_of_a_secret_in_json_share_a_line() -> None:
    text = 'x\n{"kind": "Secret", "data": {"a": "b25l", "b": "dHdv"}}\n'
    assert tell(report_masking(compile_mask(groups=["kubernetes"]), text)) == [
        (2, "kubernetes_secret", "[MASKED_SECRET_DATA]", 2)
    ]


def test_an_operators_replacement_is_shown_as_it_was_written() -> None:
    """What its groups took from the text is not."""
    rule = CustomRule(name="card", pattern=r"card (\d+)\n", replacement="card:\n$1\n")
    report = report_masking(compile_mask(custom=[rule]), "a\ncard 4242\nmate@ship.example\ncard 17\n")
    assert report.text == "a\ncard:\n4242\n[MASKED_EMAIL]\ncard:\n17\n"
    assert tell(report) == [
        (2, "card", "card:\n$1\n", 1),
        (3, "email", "[MASKED_EMAIL]", 1),
        (4, "card", "card:\n$1\n", 1),
    ]


PIECES = st.sampled_from(
    [
        "quiet",
        "\n",
        " ",
        "password=hunter2-deck",
        "mate@ship.example",
        KEY,
        SECRET,
        '{"kind": "Secret", "data": {"a": "b25l"}}',
        "token: abcdefghijklmnopqrstuvwxyz",
        "---\n",
        "\r\n",
    ]
)


@given(st.lists(PIECES).map("".join))
def test_the_report_masks_exactly_as_the_mask_does(text: str) -> None:
    report = report_masking(ALL, text)
    assert report.text == ALL(text)
    assert all(1 <= found.line <= text.count("\n") + 1 for found in report.findings)
    assert bool(report.findings) == (report.text != text)


@pytest.mark.parametrize("secret", ["hunter2-deck", "mate@ship.example", "MIIEabcdefghijkl", "bWF0ZQ=="])
def test_nothing_that_is_hidden_is_in_the_report(secret: str) -> None:
    report = report_masking(ALL, f"password=hunter2-deck mate@ship.example\n{KEY}\n{SECRET}")
    assert report.findings
    assert secret not in repr(report)

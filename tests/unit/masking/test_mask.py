"""The mask as a whole: nothing lost, nothing masked twice, and what happens when a rule fails."""

import json
import random
import re
import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from midwatch.masking.mask import (
    WITHHELD,
    CustomRule,
    NoMask,
    RuleMask,
    check_pattern,
    compile_mask,
    mask_alert,
    mask_result,
)
from midwatch.masking.patterns import GROUPS
from midwatch.masking.regex import RegexError, RegexSet
from midwatch.masking.rule import Edit, Pattern, Rule, hiding
from midwatch.masking.windows import Window

MASK = compile_mask(groups=GROUPS)
WORD = "Zm9vYmFyYmF6cXV4Zm9v"
FRAGMENTS = st.sampled_from(
    [
        "password", "passwd", "token", "api_key", "key", "secret_key", "authorization", "bearer ", "--password", "data",
        "kind: Secret", "\n", "\n  ", "---\n", ": ", "=", ":", '"', '\\"', "'", ",", " ", "{", "}", "[", "]", "@", "://u:",
        "hunter22", WORD, f"eyJ{WORD}.{WORD}", "AKIAIOSFODNN7EXAMPLE", "a@b.co", "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "ssh-rsa AAAA" + WORD,
        "[MASKED_PASSWORD]", "[MASKED_TOKEN]", "é", "漢字", "\u2028", "\x00", "1234567",
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=30).map("".join)


class Undecided:
    """A pre-filter that cannot tell, as RE2's is when it runs out of memory."""

    def hits(self, data: bytes) -> None:
        assert isinstance(data, bytes)


def broken(name: str) -> Rule:
    def fail(data: bytes, windows: Sequence[Window]) -> Sequence[Edit]:
        raise RuntimeError(len(data), windows)

    return Rule(name=name, gate="", find=fail, placeholder="")


def mask_of(*rules: Rule) -> RuleMask:
    return RuleMask(rules, RegexSet([rule.gate for rule in rules]))


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_masking_twice_is_masking_once(text: str) -> None:
    for mask in (MASK, compile_mask()):
        once = mask(text)
        assert mask(once) == once


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("AKIAIOSFODNN7EXAMPLEssh-rsa AAAAZm9vYmFyYmF6cXV4Zm9v")
def test_the_prefilter_never_hides_a_hit(text: str) -> None:
    """Of two secrets glued together the second may get the tag of another rule; hidden they are both."""
    assert _without_tags(MASK(text)) == _without_tags(RuleMask(MASK.rules, Undecided())(text))


def _without_tags(text: str) -> str:
    return re.sub(r"\[MASKED_[A-Z0-9_]+\]", "[MASKED]", text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_alerts_and_results_are_masked_alike(text: str) -> None:
    alert = mask_alert(MASK, text)
    assert (alert.text, alert.skipped) == (mask_result(MASK, text), ())


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="@:=-[", exclude_categories=["Cs"]), max_size=200))
def test_text_without_secrets_is_returned_untouched(text: str) -> None:
    assert compile_mask()(text) == text


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["password", "token", "api_key", "note", "pwd"]),
        st.text(max_size=30) | st.integers() | st.booleans() | st.none() | st.lists(st.text(max_size=8)),
    )
)
def test_any_json_object_stays_json_with_the_same_keys(document: dict[str, object]) -> None:
    masked = compile_mask(groups=("secrets",))(json.dumps(document))
    assert json.loads(masked).keys() == document.keys()


def test_long_values_of_secret_keys_never_survive_json() -> None:
    picker = random.Random(7)
    signs = "".join(map(chr, range(33, 127))) + " äß漢"
    for _ in range(500):
        secret = "".join(picker.choices(signs, k=24))
        masked = compile_mask()(json.dumps({"password": secret, "after": "kept"}))
        assert json.loads(masked) == {"password": "[MASKED_PASSWORD]", "after": "kept"}


@pytest.mark.parametrize("ascii_only", [True, False])
def test_no_secret_is_lost_wherever_in_a_large_text_it_stands(ascii_only: bool) -> None:  # noqa: FBT001 - a parameter
    filler = "x" if ascii_only else "漢"
    for offset in [*range(4000, 4200, 7), 8191, 8192, 65_535, 300_000]:
        text = f"{filler * offset} password=hunter22 {filler * 500}"
        assert compile_mask()(text) == text.replace("hunter22", "[MASKED_PASSWORD]")


def test_a_very_long_private_key_is_hidden_whole() -> None:
    body = "\n".join("QUJD" * 16 for _ in range(3000))
    text = f"before\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nafter"
    assert len(text) > 100_000
    assert compile_mask()(text) == "before\n[MASKED_PRIVATE_KEY]\nafter"


def test_a_very_long_private_key_cut_off_at_either_end_is_hidden_too() -> None:
    body = "\n".join("QUJD" * 16 for _ in range(3000))
    assert compile_mask()(f"a\n-----BEGIN EC PRIVATE KEY-----\n{body}") == "a\n[MASKED_PRIVATE_KEY]"
    assert compile_mask()(f"{body}\n-----END EC PRIVATE KEY-----\nb") == "[MASKED_PRIVATE_KEY]\nb"


def test_hostile_text_takes_time_in_proportion_to_its_length() -> None:
    hostile = (
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "password='", "eyJ" * 9, "a@", "token=", "://u:"),
        *(
            '"data":{"k":"',
            "A_PASSWORD=",
            "name: PASSWORD\n",
            "secret: |\n ",
            "set-cookie: a=",
            "[MASKED_X]",
            '\\"',
            "a.b-",
        ),
    )
    for piece in hostile:
        started = time.process_time()
        MASK(f"kind: Secret {piece * (400_000 // len(piece))}")
        assert time.process_time() - started < 5


def test_half_a_surrogate_pair_does_not_stop_masking() -> None:
    assert compile_mask()("\ud800 password=hunter22") == "\ufffd password=[MASKED_PASSWORD]"


def test_a_result_is_withheld_whole_when_a_rule_fails() -> None:
    mask = mask_of(hiding("word", Pattern(regex="(secret)", tag="WORD")), broken("broken"))
    assert mask_result(mask, "a secret and more") == WITHHELD
    assert WITHHELD.startswith("[REDACTED: data masking failure")


def test_an_alert_loses_only_the_rule_that_fails_and_says_which() -> None:
    mask = mask_of(broken("first"), hiding("word", Pattern(regex="(secret)", tag="WORD")), broken("last"))
    alert = mask_alert(mask, "a secret and more")
    assert alert.text == "a [MASKED_WORD] and more"
    assert alert.skipped == ("first", "last")


def test_a_rule_that_tears_characters_apart_is_skipped_in_an_alert_and_withholds_a_result() -> None:
    torn = Rule(name="torn", gate="", find=lambda data, _: [((1, len(data)), b"")] if data[1:] else [], placeholder="")
    assert mask_alert(mask_of(torn), "é").text == "é"
    assert mask_alert(mask_of(torn), "é").skipped == ("torn",)
    assert mask_result(mask_of(torn), "é") == WITHHELD


def test_a_set_that_ran_out_of_memory_is_not_taken_for_nothing_found() -> None:
    class OutOfMemory:
        def Match(self, data: bytes) -> None:  # noqa: N802 - the library's name
            assert isinstance(data, bytes)

    regexes = RegexSet(["a"])
    assert regexes.hits(b"") == []
    object.__setattr__(regexes, "_set", OutOfMemory())
    assert regexes.hits(b"a") is None


def test_secrets_glued_to_each_other_are_all_hidden() -> None:
    assert compile_mask()(f"AKIAIOSFODNN7EXAMPLEeyJ{WORD}.{WORD}") == "[MASKED_AWS_KEY][MASKED_TOKEN]"


def test_masking_switched_off_changes_nothing() -> None:
    assert NoMask()("password=hunter22") == "password=hunter22"


def test_an_operators_pattern_applies_after_the_built_in_ones() -> None:
    rule = CustomRule(name="ticket", pattern=r"(?P<kind>[A-Z]+)-\d+", replacement="<${kind}:$9:$$>")
    mask = compile_mask(custom=[rule])
    assert mask("OPS-12 password=OPS-1234567") == "<OPS::$> password=[MASKED_PASSWORD]"
    assert compile_mask(custom=[CustomRule(name="n", pattern="(a)|(b)", replacement="$1-")])("b") == "-"


def test_an_operators_pattern_that_matches_its_own_replacement_applies_once() -> None:
    mask = compile_mask(custom=[CustomRule(name="user", pattern=r"user (\w+)", replacement="user ${1}x")])
    assert mask("user bob password=hunter22") == "user bobx password=[MASKED_PASSWORD]"


def test_an_operators_pattern_does_not_reach_into_placeholders() -> None:
    mask = compile_mask(custom=[CustomRule(name="capitals", pattern="[A-Z]{3,}", replacement="***")])
    assert mask("a password=hunter22 LOUD") == "a password=[MASKED_PASSWORD] ***"


def test_a_placeholder_someone_wrote_does_not_shield_what_follows_it() -> None:
    assert compile_mask()("password=[MASKED_X]hunter22") == "password=[MASKED_PASSWORD]"


def test_empty_matches_of_an_operators_pattern_change_nothing() -> None:
    assert compile_mask(custom=[CustomRule(name="maybe", pattern="x*", replacement="-")])("axb") == "a-b"


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "a{1001}", "(", "\ud800", "", "x*"])
def test_a_pattern_that_cannot_be_used_is_explained(pattern: str) -> None:
    assert check_pattern(pattern)


def test_a_pattern_that_can_be_used_needs_no_explanation() -> None:
    assert check_pattern(r"(?i)\bticket-\d+\b") is None


def test_compiling_a_refused_pattern_is_an_error() -> None:
    with pytest.raises(RegexError):
        compile_mask(custom=[CustomRule(name="bad", pattern="(?!a)", replacement="-")])

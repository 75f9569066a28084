"""What may be selected: ids of exactly one thing, in the form resources write their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.safety.resources import build_id, find_flaw
from midwatch.safety.selections import LONGEST_ID, MOST_SELECTED, find_id_flaw, settle_selection
from tests.safety.requirements import requirement

PARTS = st.text(min_size=1, max_size=30).filter(lambda part: find_flaw(part) is None)


@requirement("selection:checked")
@pytest.mark.parametrize(
    "text",
    [
        "lxc:delly:141",
        "node:delly",
        "docker_container:web1:my web",
        "file:delly:/etc/hosts",
        "vm:a%3Ab:9",
        "vm:" + "x" * 49 + ":" + "x" * 247,
    ],
)
def test_the_id_of_one_thing_can_be_selected(text: str) -> None:
    assert find_id_flaw(text) is None


@requirement("selection:checked")
@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is no id"),
        ("homepage", "is no id"),
        ("lxc:", "is no id"),
        ("lxc::141", "is no id"),
        ("a:b:c:d", "is no id"),
        ("vm:" + "x" * 50 + ":" + "x" * 247, "is longer than 300 characters"),
        ("vm:" + "x" * 257, "has a part that is longer than 256 characters"),
        ("pod:web-*", "has a part that has wildcards in it"),
        ("pod:shop:web-?", "has a part that has wildcards in it"),
        ("file:/srv/../etc", "has a part that leads upwards with .."),
        ("vm:%2A", "has a part that has wildcards in it"),
        ("mcp:deck", "stands for a tool server"),
        ("%6Dcp:deck", "stands for a tool server"),
        *(
            (f"vm:we{hidden}b", "has a part that has blanks at its ends, or characters that cannot be seen")
            for hidden in ("\n", "\x00", "\u202e", "\u2066", "\u200b", "%0A", "%E2%80%AE", "\ud800")
        ),
        ("vm: web", "has a part that has blanks at its ends, or characters that cannot be seen"),
    ],
)
def test_what_could_be_nothing_or_several_cannot_be_selected(text: str, flaw: str) -> None:
    assert find_id_flaw(text) == flaw


@requirement("selection:checked")
def test_a_selection_has_its_measure() -> None:
    assert (MOST_SELECTED, LONGEST_ID) == (20, 300)


@requirement("selection:checked")
def test_ids_are_settled_as_resources_write_them_each_once_in_order() -> None:
    assert settle_selection(["vm:b", "lxc:a%20b:1", "vm:b", "lxc:a b:1", "vm:a%3Ab"]) == (
        "vm:b",
        "lxc:a b:1",
        "vm:a%3Ab",
    )


@requirement("selection:checked")
@given(PARTS, st.none() | PARTS, PARTS)
def test_every_resource_can_be_selected_by_its_own_id(kind: str, host: str | None, uid: str) -> None:
    own = build_id(kind, uid, host=host)
    assert find_id_flaw(own) is None or own.startswith("mcp:")
    assert settle_selection([own]) == (own,)

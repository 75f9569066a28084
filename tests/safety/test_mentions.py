"""Names in a person's own words."""

import pytest

from midwatch.safety.mentions import find_mentions
from tests.safety.requirements import requirement


@requirement("context:meant-by-person-or-get")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("add InfluxDB to my @homepage-docker config", ("homepage-docker",)),
        ("is @web.lan. up? and @db, @web.lan?", ("web.lan", "db")),
        ("@lxc:delly:141 and (@pod/shop/web)", ("lxc:delly:141", "pod/shop/web")),
        ("write to me@example.com or git@host:repo", ()),
        ("https://x/@user and a@@b and @ and @-x", ()),
        ("", ()),
    ],
)
def test_a_mention_is_an_at_sign_and_a_name(text: str, names: tuple[str, ...]) -> None:
    assert find_mentions(text) == names


def test_a_very_long_word_is_no_name() -> None:
    assert all(len(name) <= 256 for name in find_mentions(f"@{'a' * 10_000}"))

"""Names and values that somebody wrote down in a way of their own."""

from midwatch.kit.mappings import read_yaml


def test_yaml_that_multiplies_itself_is_not_read() -> None:
    levels = [f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 10)}]" for level in range(1, 12)]
    assert read_yaml("\n".join(["k0: &k0 [x]", *levels])) is None


def test_yaml_without_aliases_is_read() -> None:
    assert read_yaml("name: web\nlines: 5") == {"name": "web", "lines": 5}

"""What comes from outside is shown as text, whatever it holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.cli.terminal import clean, clean_line, make_console


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain\n\ttext, ünïcode ✓ 🙂", "plain\n\ttext, ünïcode ✓ 🙂"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;ZXZpbA==\x1b\\after", "after"),
        ("\x9d0;title\x9cafter", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\after", "after"),
        ("\x1bcreset", "reset"),
        ("\x1b]0;never ends\nbut here is more", "0;never ends\nbut here is more"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u2028b\u2029c\x0bd\x0ce\x85f", "a\nb\nc\nd\ne\nf"),
        ("\u202eevil\u202c \u2066x\u2069 \u200fy\u061c", "evil x y"),
        ("zero\u200bwidth\ufeff \U000e0041", "zerowidth "),
        ("family 👨\u200d👩", "family 👨\u200d👩"),
        ("half \ud800", "half \ufffd"),
        ("bell\x07 back\x08 nul\x00 del\x7f", "bell back nul del"),
        ("\x1b", ""),
    ],
)
def test_commands_to_the_terminal_go_and_words_stay(given_text: str, shown: str) -> None:
    assert clean(given_text) == shown


@given(st.text(alphabet=st.characters(codec=None) | st.sampled_from("\x1b\x9b\x9d[]0;m\x07\\\u202e\r\n")))
def test_nothing_harmful_ever_comes_through(text: str) -> None:
    cleaned = clean(text)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in cleaned)
    assert not set(cleaned) & set("\x7f\x9b\x9c\x9d\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f")
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned


def test_one_line_is_one_line() -> None:
    assert clean_line(" a\n\t b\x1b[2J \r\n") == "a b"


def test_a_pipe_gets_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    make_console().print("[red]x[/red]", style="bold red")
    make_console(stderr=True).print(":smile: 1", style="red")
    assert capsys.readouterr() == ("[red]x[/red]\n", ":smile: 1\n")

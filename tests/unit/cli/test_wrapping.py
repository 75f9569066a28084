"""Lines that are never taken back, whatever the pieces are in which a text comes."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from midwatch.cli.live.wrap import Wrapping


def wrap(pieces: list[str], width: int) -> list[str]:
    wrapping = Wrapping()
    lines = [line for piece in pieces for line in wrapping.feed(piece, width)]
    return lines + wrapping.finish(width)


def test_words_stay_whole_where_they_fit() -> None:
    assert wrap(["The deck is ", "wet and cold."], 11) == ["The deck is", "wet and", "cold."]


def test_a_word_that_fits_nowhere_is_broken() -> None:
    assert wrap(["/a/very/long/path x"], 6) == ["/a/ver", "y/long", "/path", "x"]


def test_lines_of_the_text_stay_lines() -> None:
    assert wrap(["one\n\ntwo\n"], 20) == ["one", "", "two"]


def test_wide_characters_count_twice() -> None:
    assert wrap(["船船船船"], 5) == ["船船", "船船"]


def test_marks_without_width_do_not_make_a_line_that_never_ends() -> None:
    assert len(wrap(["\u0301" * 1000], 10)) == 25


@given(
    st.lists(st.text(alphabet="abc 船\n\u0301", max_size=60), max_size=6),
    st.integers(min_value=2, max_value=12),
)
def test_the_pieces_make_no_difference_and_nothing_is_lost(pieces: list[str], width: int) -> None:
    whole = "".join(pieces)
    lines = wrap(pieces, width)
    assert lines == wrap([whole], width)
    assert "".join("".join(lines).split()) == "".join(whole.split())
    assert all(cell_len(line) <= width for line in lines)

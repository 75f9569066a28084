"""Small numbers as people say them."""

from midwatch.api.pages.words import say_times


def test_one_time_is_once() -> None:
    assert [say_times(number) for number in (0, 1, 2)] == ["0 times", "once", "2 times"]

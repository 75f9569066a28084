"""The approver's secret: made once, kept as it is, and readable by its owner alone."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from midwatch.config.approver import FILE_NAME, open_token
from midwatch.domain.errors import Misconfigured


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = open_token(home)
    assert len(first) >= 43
    assert open_token(home) == first
    assert (home / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == [FILE_NAME]


def test_others_may_still_enter_the_home_that_is_made_for_it(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.mkdir()
    open_token(tmp_path / "home")
    assert (tmp_path / "home").stat().st_mode == usual.stat().st_mode


def test_all_who_start_at_once_have_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(open_token, [tmp_path] * 32))) == 1


@pytest.mark.parametrize("written", ["", "short", "has blanks in the middle of it", "ünlesbar-ünlesbar-ünlesbar"])
def test_what_is_no_secret_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / FILE_NAME).write_text(written, encoding="utf-8")
    with pytest.raises(Misconfigured, match=FILE_NAME):
        open_token(tmp_path)


def test_one_that_somebody_put_there_is_used(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("a-secret-of-the-operators-own\n", encoding="utf-8")
    assert open_token(tmp_path) == "a-secret-of-the-operators-own"

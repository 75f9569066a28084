"""GitHub's addresses."""

from urllib.parse import urlsplit

import pytest

from midwatch.knowledge.github import Folder, is_github, to_raw

RAW = "https://raw.githubusercontent.com/ship/books"


@pytest.mark.parametrize(
    ("url", "raw"),
    [
        ("https://github.com/ship/books/blob/main/disk.md", f"{RAW}/main/disk.md"),
        ("http://github.com/ship/books/blob/main/disk.md", f"{RAW}/main/disk.md"),
        ("https://GitHub.com/ship/books/raw/v1/a/b%20c.md", f"{RAW}/v1/a/b%20c.md"),
        ("https://github.com/ship/books/blob/refs/heads/x/disk.md", f"{RAW}/refs/heads/x/disk.md"),
        ("https://github.com/ship/books/blob/main/disk.md?plain=1#L3", f"{RAW}/main/disk.md"),
        (f"{RAW}/main/disk.md?token=abc#top", f"{RAW}/main/disk.md?token=abc"),
        ("https://wiki.example/ship/books/blob/main/disk.md", "https://wiki.example/ship/books/blob/main/disk.md"),
        ("https://github.com/ship/books", "https://github.com/ship/books"),
    ],
)
def test_a_page_that_shows_a_file_becomes_the_file(url: str, raw: str) -> None:
    assert to_raw(url) == raw


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("https://github.com/ship/books", Folder(owner="ship", repo="books", ref="HEAD", path="")),
        ("https://github.com/ship/books.git", Folder(owner="ship", repo="books", ref="HEAD", path="")),
        ("https://github.com/ship/books/", Folder(owner="ship", repo="books", ref="HEAD", path="")),
        ("https://github.com/ship/books/tree/v1", Folder(owner="ship", repo="books", ref="v1", path="")),
        (
            "https://github.com/ship/books/tree/main/a/b%20c/",
            Folder(owner="ship", repo="books", ref="main", path="a/b c"),
        ),
        ("https://gitlab.example/ship/books", None),
        ("https://github.com/ship", None),
        ("https://github.com/ship/books/issues/1", None),
        ("", None),
    ],
)
def test_a_folder_is_read_off_its_address(url: str, folder: Folder | None) -> None:
    assert Folder.parse(url) == folder


def test_what_stands_in_a_path_stays_in_the_path() -> None:
    folder = Folder(owner="ship", repo="books", ref="a/b?c", path="")
    assert folder.tree_url("a/b?c", recursive=True) == (
        "https://api.github.com/repos/ship/books/git/trees/a%2Fb%3Fc?recursive=1"
    )
    assert folder.page_url("x y/#1.md") == "https://github.com/ship/books/blob/a/b%3Fc/x%20y/%231.md"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://raw.githubusercontent.com/x", True),
        ("https://api.github.com/x", True),
        ("https://api.github.com:443/x", True),
        ("http://api.github.com/x", False),
        ("https://api.github.com:8443/x", False),
        ("https://github.com/x", False),
        ("https://github.com.evil.example/x", False),
        ("https://evil.example/api.github.com", False),
        ("https://gist.githubusercontent.com/x", False),
        ("https://evil.github.io/x", False),
    ],
)
def test_the_token_goes_where_files_and_lists_come_from(url: str, *, expected: bool) -> None:
    assert is_github(urlsplit(url)) is expected

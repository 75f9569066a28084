"""GitHub's addresses: what is a file, where its plain text is, and which folder lists the runbooks."""

import re
from dataclasses import dataclass
from typing import Self, final
from urllib.parse import SplitResult, quote, unquote, urlsplit

API = "https://api.github.com"
_PAGES = frozenset({"github.com", "www.github.com"})
_TOKEN_HOSTS = frozenset({"api.github.com", "raw.githubusercontent.com"})
_HTTPS = 443
_FILE = re.compile(r"/(?P<owner>[^/]+)/(?P<repo>[^/]+)/(?:blob|raw)/(?P<rest>.+)")
_FOLDER = re.compile(r"/(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)(?:/(?:tree|blob)/(?P<ref>[^/]+)(?:/(?P<path>.*))?)?/?")


def is_github(parts: SplitResult) -> bool:
    """Whether the operator's token may go there."""
    return parts.scheme == "https" and parts.hostname in _TOKEN_HOSTS and parts.port in (None, _HTTPS)


def to_raw(url: str) -> str:
    """The plain text of a file that GitHub shows within a page; any other address as it is."""
    parts = urlsplit(url)
    file = _FILE.fullmatch(parts.path) if parts.hostname in _PAGES else None
    if file is None:
        return parts._replace(fragment="").geturl()
    return f"https://raw.githubusercontent.com/{file['owner']}/{file['repo']}/{file['rest']}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of a repository, or all of it."""

    owner: str
    repo: str
    ref: str
    path: str
    """Without slashes at its ends; empty for the whole repository."""

    @classmethod
    def parse(cls, url: str) -> Self | None:
        """None when it is not GitHub's, or not a folder."""
        parts = urlsplit(url)
        found = _FOLDER.fullmatch(parts.path) if parts.hostname in _PAGES else None
        if found is None:
            return None
        return cls(
            owner=found["owner"],
            repo=found["repo"].removesuffix(".git"),
            ref=unquote(found["ref"] or "HEAD"),
            path=unquote(found["path"] or "").strip("/"),
        )

    def tree_url(self, tree: str, *, recursive: bool) -> str:
        """`tree` is a branch, a tag, or the hash of a tree."""
        asked = "?recursive=1" if recursive else ""
        return f"{API}/repos/{quote(self.owner)}/{quote(self.repo)}/git/trees/{quote(tree, safe='')}{asked}"

    def page_url(self, path: str) -> str:
        return f"https://github.com/{quote(self.owner)}/{quote(self.repo)}/blob/{quote(self.ref)}/{quote(path)}"

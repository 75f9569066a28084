"""The Markdown files below a folder on GitHub, found through its API."""

from collections.abc import Awaitable, Callable, Sequence
from typing import final

from pydantic import BaseModel, Field

from midwatch.knowledge.github import Folder
from midwatch.knowledge.pages import PageUnavailable

_MOST_REQUESTS = 50
"""Without a token GitHub grants an address sixty in an hour."""
_SUFFIX = ".md"

ReadJson = Callable[[str], Awaitable[object]]


class _Entry(BaseModel):
    path: str
    type: str
    sha: str


class _Tree(BaseModel):
    tree: list[_Entry] = Field(default_factory=list[_Entry])
    truncated: bool = False


async def list_markdown(folder: Folder, read_json: ReadJson) -> Sequence[str]:
    """Addresses of their pages, in order. Raises what `read_json` does, and ValueError for an answer it is not."""
    walk = _Walk(folder, read_json)
    await walk.visit(folder.ref, below="")
    return [folder.page_url(path) for path in sorted(walk.found)]


@final
class _Walk:
    """Asks for everything at once; where GitHub leaves something out, folder by folder."""

    def __init__(self, folder: Folder, read_json: ReadJson) -> None:
        self._folder = folder
        self._read_json = read_json
        self._requests = 0
        self.found: set[str] = set()

    async def visit(self, tree: str, *, below: str) -> None:
        whole = await self._read(tree, recursive=True)
        if not whole.truncated:
            self._keep(whole, below=below)
            return
        level = await self._read(tree, recursive=False)
        self._keep(level, below=below)
        for entry in level.tree:
            path = _join(below, entry.path)
            if entry.type == "tree" and self._leads_to_folder(path):
                await self.visit(entry.sha, below=path)

    async def _read(self, tree: str, *, recursive: bool) -> _Tree:
        self._requests += 1
        if self._requests > _MOST_REQUESTS:
            raise PageUnavailable("the repository is too large to be listed")
        return _Tree.model_validate(await self._read_json(self._folder.tree_url(tree, recursive=recursive)))

    def _keep(self, tree: _Tree, *, below: str) -> None:
        paths = (_join(below, entry.path) for entry in tree.tree if entry.type == "blob")
        self.found |= {path for path in paths if path.lower().endswith(_SUFFIX) and self._is_inside(path)}

    def _is_inside(self, path: str) -> bool:
        return not self._folder.path or path.startswith(f"{self._folder.path}/")

    def _leads_to_folder(self, path: str) -> bool:
        wanted = self._folder.path
        return not wanted or f"{path}/".startswith(f"{wanted}/") or f"{wanted}/".startswith(f"{path}/")


def _join(below: str, path: str) -> str:
    return f"{below}/{path}" if below else path

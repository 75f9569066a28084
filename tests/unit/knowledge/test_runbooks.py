"""The runbook of an alert, and the list to choose from: fetched once, masked, and never in the way."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from midwatch.domain.runbook import Runbook
from midwatch.kit import json
from midwatch.knowledge.addresses import may_reach
from midwatch.knowledge.github import Folder
from midwatch.knowledge.network import CheckedNetwork
from midwatch.knowledge.pages import PageReader
from midwatch.knowledge.runbooks import Runbooks
from midwatch.knowledge.shelf import Shelf
from midwatch.masking.mask import MaskedAlert
from tests.fakes.page_server import Answer, LoopbackSockets, Web, open_web, page, redirect

RAW = "https://raw.githubusercontent.com/ship/books/main/disk.md"
BLOB = "https://github.com/ship/books/blob/main/disk.md"
TREES = "https://api.github.com/repos/ship/books/git/trees"
TOKEN = "ghp_" + "t" * 36
FOLDER = Folder(owner="ship", repo="books", ref="main", path="ops")


@pytest.fixture
async def web(tmp_path: Path) -> AsyncGenerator[Web]:
    async with open_web(tmp_path, "raw.githubusercontent.com", "api.github.com", "github.com") as opened:
        yield opened


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Desk:
    web: Web
    folder: Folder | None = None
    skipped: Sequence[str] = ()
    clock: Clock = field(default_factory=Clock)
    runbooks: Runbooks = field(init=False)

    def __post_init__(self) -> None:
        network = CheckedNetwork(
            may_reach=partial(may_reach, allows_private=False),
            resolve=self.web.resolve,
            sockets=LoopbackSockets(self.web),
        )
        self.runbooks = Runbooks(
            general="In general: secret",
            mask=lambda text: MaskedAlert(text=text.replace("secret", "[MASKED]"), skipped=tuple(self.skipped)),
            reader=PageReader(network=network, token=TOKEN, tls=self.web.trust),
            domains=("github.com", "raw.githubusercontent.com"),
            folder=self.folder,
            seconds=60.0,
            _pages=Shelf(clock=self.clock),
            _lists=Shelf(clock=self.clock),
        )

    async def resolve(self, url: str | None = BLOB) -> Runbook:
        async with asyncio.timeout(60):
            return await self.runbooks.resolve(url)

    async def list(self) -> Sequence[str]:
        async with asyncio.timeout(60):
            return await self.runbooks.list()


def said(value: Mapping[str, Any]) -> Answer:
    return page(json.encode(value), "application/json; charset=utf-8")


def tree(*entries: tuple[str, str], truncated: bool = False) -> Answer:
    listed = [{"path": path, "type": kind, "sha": f"sha-{path}", "mode": "100644"} for kind, path in entries]
    return said({"sha": "s", "url": "u", "tree": listed, "truncated": truncated})


async def test_an_alert_that_names_none_gets_the_general_one(web: Web) -> None:
    desk = Desk(web)
    assert await desk.resolve(None) == await desk.resolve("") == Runbook(text="In general: [MASKED]")
    assert web.visits == []


async def test_the_one_that_is_named_is_fetched_and_masked(web: Web) -> None:
    web.answers[RAW] = page("# Disk\nsecret")
    assert await Desk(web).resolve(f"{BLOB}?token=x") == Runbook(text="# Disk\n[MASKED]", url=BLOB)
    assert web.visits[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(status=404), "the server answered 404"),
        (redirect("https://evil.example/x"), "it redirects to a place that is not allowed"),
        (page("x", "image/png"), "it is not text"),
    ],
)
async def test_one_that_cannot_be_read_is_missed_and_said_so(web: Web, answer: Answer, why: str) -> None:
    web.answers[RAW] = answer
    assert await Desk(web).resolve(f"{BLOB}?token=hidden") == Runbook(
        text="In general: [MASKED]", missed=BLOB, warning=f"runbook {BLOB} could not be read: {why}"
    )


async def test_a_domain_that_is_no_longer_allowed_is_not_visited(web: Web) -> None:
    runbook = await Desk(web).resolve("https://books.example/disk.md")
    assert runbook.missed == "https://books.example/disk.md"
    assert web.lookups == []


@dataclass
class Broken:
    async def read(self, order: object) -> str:
        raise RuntimeError(f"a bug that repeats {order}")


async def test_even_a_bug_does_not_stop_an_investigation() -> None:
    runbook = await Runbooks(reader=Broken(), domains=("github.com",)).resolve(f"{BLOB}?token=hidden")
    assert runbook == Runbook(
        text="", missed=BLOB, warning=f"runbook {BLOB} could not be read: internal error (RuntimeError)"
    )


async def test_a_replica_that_fetches_nothing_has_the_general_one() -> None:
    runbook = await Runbooks(general="g", domains=("github.com",)).resolve(BLOB)
    assert (runbook.text, runbook.missed) == ("g", BLOB)


async def test_a_long_one_is_cut_and_said_so(web: Web) -> None:
    web.answers[RAW] = page("a" * 300_000)
    runbook = await Desk(web).resolve()
    assert runbook.text == "a" * 100_000 + "\n\n[The rest of the runbook was left out.]"
    assert runbook.warning == f"runbook {BLOB}: only its first 100000 characters were used"


async def test_a_masking_pattern_that_failed_is_named(web: Web) -> None:
    web.answers[RAW] = page("# Disk")
    runbook = await Desk(web, skipped=["token"]).resolve()
    assert runbook.warning == f"runbook {BLOB}: masking pattern token failed and was skipped"


async def test_it_is_fetched_once_for_all_who_ask_at_once(web: Web) -> None:
    gate = asyncio.Event()
    web.answers[RAW] = Answer(body=b"# Disk", headers={"content-type": "text/plain"}, wait=gate)
    desk = Desk(web)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(desk.resolve()) for _ in range(10)]
        await web.visited.wait()
        gate.set()
    assert {task.result().text for task in asked} == {"# Disk"}
    assert web.urls() == [RAW]


async def test_whoever_waited_goes_on_when_the_first_is_cancelled(web: Web) -> None:
    gate = asyncio.Event()
    web.answers[RAW] = Answer(body=b"# Disk", headers={"content-type": "text/plain"}, wait=gate)
    desk = Desk(web)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(desk.resolve())
        second = group.create_task(desk.resolve())
        await web.visited.wait()
        first.cancel()
        gate.set()
    assert second.result().text == "# Disk"
    assert web.urls() == [RAW, RAW]


async def test_it_is_kept_for_a_while_and_then_fetched_anew(web: Web) -> None:
    web.answers[RAW] = page("old")
    desk = Desk(web)
    assert (await desk.resolve()).text == "old"
    web.answers[RAW] = page("new")
    desk.clock.now += 59
    assert (await desk.resolve()).text == "old"
    desk.clock.now += 2
    assert (await desk.resolve()).text == "new"
    assert len(web.visits) == 2


async def test_a_failure_is_kept_too_but_not_for_long(web: Web) -> None:
    desk = Desk(web)
    assert (await desk.resolve()).missed == BLOB
    web.answers[RAW] = page("back")
    assert (await desk.resolve()).missed == BLOB
    desk.clock.now += 16
    assert (await desk.resolve()).text == "back"


async def test_only_so_many_are_kept() -> None:
    shelf: Shelf[int] = Shelf(clock=Clock())
    fetched: list[int] = []

    async def fetch(number: int) -> tuple[int, float]:
        fetched.append(number)
        return number, 60.0

    for number in range(300):
        assert await shelf.get(str(number), partial(fetch, number)) == number
    await shelf.get("299", partial(fetch, 299))
    await shelf.get("0", partial(fetch, 0))
    assert fetched == [*range(300), 0]


async def test_all_markdown_below_the_folder_is_listed(web: Web) -> None:
    web.answers[f"{TREES}/main?recursive=1"] = tree(
        ("blob", "README.md"),
        ("tree", "ops"),
        ("blob", "ops/b.md"),
        ("blob", "ops/a b/DISK.MD"),
        ("blob", "ops/notes.txt"),
        ("commit", "ops/module.md"),
        ("blob", "operations/x.md"),
    )
    desk = Desk(web, folder=FOLDER)
    page_of = "https://github.com/ship/books/blob/main/ops"
    assert await desk.list() == [f"{page_of}/a%20b/DISK.MD", f"{page_of}/b.md"]
    assert await desk.list() == [f"{page_of}/a%20b/DISK.MD", f"{page_of}/b.md"]
    (visit,) = web.visits
    assert visit.headers["authorization"] == f"Bearer {TOKEN}"
    assert visit.headers["accept"] == "application/vnd.github+json"
    assert desk.runbooks.warnings.show() == []


async def test_what_github_leaves_out_is_asked_for_folder_by_folder(web: Web) -> None:
    web.answers |= {
        f"{TREES}/main?recursive=1": tree(("blob", "ops/a.md"), truncated=True),
        f"{TREES}/main": tree(("tree", "ops"), ("tree", "vendor"), ("blob", "README.md")),
        f"{TREES}/sha-ops?recursive=1": tree(truncated=True),
        f"{TREES}/sha-ops": tree(("blob", "a.md"), ("tree", "net"), ("tree", "disk")),
        f"{TREES}/sha-net?recursive=1": tree(("blob", "deep/b.md")),
        f"{TREES}/sha-disk?recursive=1": tree(("blob", "c.md")),
    }
    listed = await Desk(web, folder=FOLDER).list()
    assert [url.partition("/main/")[2] for url in listed] == ["ops/a.md", "ops/disk/c.md", "ops/net/deep/b.md"]
    assert not any("vendor" in url for url in web.urls())


async def test_a_repository_without_end_is_given_up(web: Web) -> None:
    web.answers |= {
        f"{TREES}/main?recursive=1": tree(truncated=True),
        f"{TREES}/main": tree(("tree", "ops")),
        f"{TREES}/sha-ops?recursive=1": tree(truncated=True),
        f"{TREES}/sha-ops": tree(("tree", "ops")),
    }
    desk = Desk(web, folder=Folder(owner="ship", repo="books", ref="main", path=""))
    assert await desk.list() == ()
    assert len(web.visits) == 50


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(status=403), "the server answered 403"),
        (page("not json", "application/json"), "GitHub's answer was not understood"),
        (page("[]", "application/json"), "GitHub's answer was not understood"),
        (redirect("https://github.com/login"), "it redirects to a place that is not allowed"),
    ],
)
async def test_a_list_that_cannot_be_had_is_empty_and_warned_of(web: Web, answer: Answer, why: str) -> None:
    address = f"{TREES}/main?recursive=1"
    web.answers[address] = answer
    desk = Desk(web, folder=FOLDER)
    assert await desk.list() == ()
    (warning,) = desk.runbooks.warnings.show()
    assert (warning.category, warning.message) == ("runbooks", "the list of runbooks could not be read")
    assert warning.details == why
    web.answers[address] = tree(("blob", "ops/a.md"))
    desk.clock.now += 16
    assert len(await desk.list()) == 1
    assert desk.runbooks.warnings.show() == []


async def test_a_renamed_repository_is_followed(web: Web) -> None:
    web.answers[f"{TREES}/main?recursive=1"] = redirect("https://api.github.com/repositories/1/git/trees/main", 301)
    web.answers["https://api.github.com/repositories/1/git/trees/main"] = tree(("blob", "ops/a.md"))
    assert len(await Desk(web, folder=FOLDER).list()) == 1


async def test_without_a_repository_nothing_is_asked(web: Web) -> None:
    assert await Desk(web).list() == ()
    assert web.lookups == []

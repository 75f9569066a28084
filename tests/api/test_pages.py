"""Pages for people: what they say, and that nothing in them can act."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from midwatch import __version__
from midwatch.api.pages.words import say_cost
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import Shelved, shelve, wait_for_end, write_on
from tests.fakes.cable import open_cable

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> \"'><svg/onload=alert(3)> {{ 7 * 7 }} {% raw %}\n"
    "</pre></main><iframe src=//evil.example></iframe>\n"
    "[click](javascript:alert(4)) ![p](http://evil.example/p.png) <http://evil.example> \u202egnp.exe\n"
    "[ref]\n\n[ref]: http://evil.example/\n# Heading\n\n| a | b |\n|---|---|\n| `1` | **2** |\n"
)
INERT_TAGS = {
    *("html", "head", "meta", "title", "link", "body", "header", "nav", "main", "section", "div", "span", "p", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "ol", "ul", "li", "bdi", "time", "pre", "code"),
    *("details", "summary", "strong", "em", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "blockquote"),
}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.tags if name == tag)

    @property
    def refreshes(self) -> bool:
        return any(meta.get("http-equiv") == "refresh" for meta in self.all("meta"))


async def read(edge: Edge, path: str, *, status: int = 200) -> Page:
    answer = await edge.http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert_careful(answer)
    page = Page(answer.text)
    assert_inert(page)
    return page


def assert_careful(answer: httpx.Response) -> None:
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy[:2] == ["default-src 'none'", "style-src 'self'"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in str(policy)
    assert answer.headers["cache-control"] == "no-store"


def assert_inert(page: Page) -> None:
    """Only tags that do nothing, no handlers, no style of its own, and links that stay here."""
    assert {tag for tag, _ in page.tags} <= INERT_TAGS
    attributes = [(name, value or "") for _, attributes in page.tags for name, value in attributes.items()]
    assert not [name for name, _ in attributes if name.startswith("on") or name in {"src", "style", "action"}]
    assert all(value.startswith("/") and not value.startswith("//") for name, value in attributes if name == "href")


async def test_an_empty_watch_says_how_to_begin(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        page = await read(edge, "/")
    assert f"Midwatch {__version__}" in page.text
    assert "No alert yet." in page.text
    assert f"http://127.0.0.1:{edge.port}/api/v1/alerts" in page.text
    assert {link["href"] for link in page.all("a")} >= {"/api/docs", "/health", "/api/v1/sessions"}
    assert not page.refreshes


async def test_the_front_lists_the_latest_sessions_with_what_matters(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        old = await shelve(edge.store, Shelved(alert='{\n  "title": "Fog"\n}', author="Anna", seconds=75))
        new = await shelve(edge.store, Shelved(alert="Pump is hot", minutes=1, status=SessionStatus.FAILED))
        page = await read(edge, "/")
    links = [link["href"] for link in page.all("a") if (link["href"] or "").startswith("/sessions/")]
    assert links == [f"/sessions/{new}", f"/sessions/{old}"]
    assert "Fog Status completed Alert type deck Author Anna Age" in page.text
    assert "days ago Duration 1 min 15 s" in page.text
    assert "Pump is hot Status failed" in page.text
    assert "Sessions in all 2" in page.text
    assert "Failed in 24 hours 0" in page.text
    assert not page.refreshes


async def test_pages_come_anew_only_while_something_runs(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        waiting = await edge.submit()
        front = await read(edge, "/")
        assert front.refreshes
        assert "Waiting 1" in front.text
        assert (await read(edge, f"/sessions/{waiting}")).refreshes
        async with running(edge):
            await wait_for_end(edge, waiting)
        assert not (await read(edge, f"/sessions/{waiting}")).refreshes
        assert not (await read(edge, "/")).refreshes


async def test_a_session_is_told_with_its_stages_and_its_timeline(dsn: str, config_folder: Path) -> None:
    write_config(config_folder, turns=[call("echo", text="<b>dry</b>"), CONCLUSION])
    async with open_edge(config_folder, dsn) as edge, running(edge):
        session_id = await edge.submit("The bilge pump runs hot.\nSince noon.")
        await wait_for_end(edge, session_id)
        page = await read(edge, f"/sessions/{session_id}")
    assert "The bilge pump runs hot. Since noon." in page.text
    assert "Final analysis The deck is dry." in page.text
    assert "watch completed Mate : completed" in page.text
    assert 'deck.echo Arguments {"text":"<b>dry</b>"} Result <b>dry</b>' in page.text
    assert "Thinking" in page.text
    assert len(list(page.all("details"))) >= 2
    assert {f"/api/v1/sessions/{session_id}{part}" for part in ("", "/timeline", "/trace")} <= {
        link["href"] for link in page.all("a")
    }
    assert "demo model" not in page.text


async def test_hostile_words_do_nothing(dsn: str, config_folder: Path) -> None:
    write_config(config_folder, turns=[{**CONCLUSION, "text": HOSTILE}])
    async with open_edge(config_folder, dsn) as edge, running(edge):
        session_id = await edge.submit(HOSTILE)
        await wait_for_end(edge, session_id)
        front = await read(edge, "/")
        session = await read(edge, f"/sessions/{session_id}")
    assert "<script>alert(1)</script>" in front.text
    assert "{{ 7 * 7 }}" in front.text
    assert session.text.count("<script>alert(1)</script>") >= 3
    assert "[click](javascript:alert(4))" in session.text
    assert [tag for tag, _ in session.tags if tag in {"table", "h3"}]


async def test_headings_of_an_analysis_stand_below_ours(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    await write_on(edge.store, session_id, final_analysis="# Cause\n\nThe **pump**.")
    page = await read(edge, f"/sessions/{session_id}")
    assert len(list(page.all("h1"))) == 1
    assert "Cause The pump ." in page.text


async def test_an_analysis_too_long_to_be_laid_out_is_shown_as_it_is(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    await write_on(edge.store, session_id, final_analysis="# Cause <b>\n" + "x" * 200_000)
    assert "# Cause <b>" in (await read(edge, f"/sessions/{session_id}")).text


async def test_without_a_database_the_front_says_so(dsn: str, config_folder: Path) -> None:
    async with open_cable(dsn) as cable, open_edge(config_folder, cable.dsn) as edge:
        cable.cut()
        page = await read(edge, "/", status=503)
    assert "Health unhealthy" in page.text
    assert "Sessions in all unknown" in page.text
    assert "The database: the database did not answer" in page.text


async def test_the_demo_model_is_called_what_it_is(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    providers = {
        "script": {"type": "scripted", "script": "script.yaml", "model": "demo model"},
        "demo": {"type": "demo"},
    }
    (tmp_path / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": providers}))
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        await wait_for_end(edge, session_id)
        assert "it follows rules and is no language model" in (await read(edge, f"/sessions/{session_id}")).text
        assert "language model" not in (await read(edge, "/")).text
    main = json.decode((tmp_path / "midwatch.yaml").read_bytes())
    main["defaults"]["llm_provider"] = "demo"
    (tmp_path / "midwatch.yaml").write_text(json.encode_text(main))
    async with open_edge(tmp_path, dsn) as edge:
        assert "it follows rules and is no language model" in (await read(edge, "/")).text


@pytest.mark.parametrize("session_id", ["x", "00000000-0000-0000-0000-000000000000", "%3Cscript%3E"])
async def test_a_session_that_is_not_there_is_a_page_too(edge: Edge, session_id: str) -> None:
    assert "There is no such session" in (await read(edge, f"/sessions/{session_id}", status=404)).text


async def test_the_style_is_ours_and_knows_the_dark(edge: Edge) -> None:
    answer = await edge.http.get("/style.css")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "prefers-color-scheme: dark" in answer.text
    assert "url(" not in answer.text
    assert "@import" not in answer.text


async def test_pages_are_not_part_of_the_described_api(edge: Edge) -> None:
    paths = (await edge.http.get("/openapi.json")).json()["paths"]
    assert not {"/", "/sessions/{session_id}", "/style.css"} & set(paths)


VISIT = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("path", ["/", "/sessions/x", "/api/docs"])
async def test_a_link_in_a_chat_leads_to_a_page(edge: Edge, path: str) -> None:
    assert (await edge.http.get(path, headers=VISIT)).status_code in {200, 404}
    for headers in (
        {**VISIT, "Sec-Fetch-Dest": "iframe"},
        {**VISIT, "Sec-Fetch-Mode": "no-cors"},
        {**VISIT, "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert (await edge.http.get(path, headers=headers)).status_code == 403


@pytest.mark.parametrize("path", ["/api/v1/sessions", "/health", "/openapi.json", "/style.css", "/sessions/x/y"])
async def test_a_link_in_a_chat_leads_to_nothing_but_pages(edge: Edge, path: str) -> None:
    assert (await edge.http.get(path, headers=VISIT)).status_code == 403


async def test_a_visit_changes_nothing(edge: Edge) -> None:
    session_id = await edge.submit()
    assert (await edge.http.post(f"/sessions/{session_id}", headers=VISIT)).status_code == 403
    assert (await edge.http.post(f"/api/v1/sessions/{session_id}/cancel", headers=VISIT)).status_code == 403


@pytest.mark.parametrize(
    ("usd", "completeness", "shown"),
    [
        (None, "none", "unknown"),
        (0.0, "complete", "$0.00"),
        (0.0123, "complete", "$0.0123"),
        (0.0123, "partial", "at least $0.0123"),
        (1234.5, "complete", "$1,234.50"),
    ],
)
def test_a_cost_is_shown_as_far_as_it_is_known(usd: float | None, completeness: str, shown: str) -> None:
    assert say_cost(usd, completeness) == shown

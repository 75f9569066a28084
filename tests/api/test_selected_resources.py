"""Resources that come selected with an alert or a question: only with the approver's secret, checked, stored, shown."""

from typing import Any

import httpx
import pytest

from tests.api.edge import Edge
from tests.api.shelf import SESSIONS, Shelved, shelve
from tests.safety.requirements import requirement
from tests.stored import read_everything

ALERTS = "/api/v1/alerts"
HOMEPAGE, JELLYFIN = "lxc:delly:141", "lxc:delly:105"
FORM = "expected {kind}:{host}:{uid} or {kind}:{uid}"
UNAUTHENTICATED = {
    "message": "selecting resources needs the approver's secret: send it as Authorization: Bearer <token>",
    "code": "unauthenticated",
}


def secret(edge: Edge) -> dict[str, str]:
    return {"Authorization": f"Bearer {edge.service.approver.token}"}


async def submit(edge: Edge, selected: object, headers: dict[str, str]) -> httpx.Response:
    return await edge.http.post(ALERTS, json={"data": "It is slow.", "selected_resources": selected}, headers=headers)


async def ask(edge: Edge, selected: object, headers: dict[str, str], *, about: str = "") -> httpx.Response:
    session_id = about or await shelve(edge.store, Shelved())
    path = f"{SESSIONS}/{session_id}/chat/messages"
    return await edge.http.post(path, json={"content": "Why?", "selected_resources": selected}, headers=headers)


async def everything(edge: Edge) -> dict[str, Any]:
    async with edge.store.connect() as tx:
        return await read_everything(tx)


async def test_what_comes_selected_with_an_alert_is_stored_and_shown(edge: Edge) -> None:
    answer = await submit(edge, [HOMEPAGE, "vm:a%20b:9", JELLYFIN, HOMEPAGE], secret(edge))
    assert answer.status_code == 202, answer.text
    session = await edge.show(answer.json()["session_id"])
    assert session["selected_resources"] == [HOMEPAGE, "vm:a b:9", JELLYFIN]
    page = (await edge.http.get(f"/sessions/{session['id']}")).text
    assert f"<bdi>{HOMEPAGE}</bdi>" in page


async def test_what_comes_selected_with_a_question_is_stored_and_shown(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    answer = await ask(edge, [HOMEPAGE, HOMEPAGE], secret(edge), about=session_id)
    assert answer.status_code == 202, answer.text
    (message,) = (await edge.http.get(f"{SESSIONS}/{session_id}/chat")).json()["messages"]
    assert message["selected_resources"] == [HOMEPAGE]
    assert (await edge.show(session_id))["selected_resources"] == []


@pytest.mark.parametrize("selected", [None, []])
async def test_who_selects_nothing_needs_no_secret(edge: Edge, selected: object) -> None:
    answer = await submit(edge, selected, {})
    assert answer.status_code == 202, answer.text
    assert (await edge.show(answer.json()["session_id"]))["selected_resources"] == []
    assert (await ask(edge, selected, {})).status_code == 202


@requirement("selection:secret")
@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic eDp5", "{token}"])
async def test_without_the_secret_a_selection_is_refused_and_nothing_of_it_is_taken_in(
    edge: Edge, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header.replace("{token}", edge.service.approver.token or "")}
    session_id = await shelve(edge.store, Shelved())
    before = await everything(edge)
    for answer in (
        await submit(edge, [HOMEPAGE], headers),
        await submit(edge, ["no id"], headers),
        await ask(edge, [HOMEPAGE], headers, about=session_id),
    ):
        assert (answer.status_code, answer.json()) == (401, UNAUTHENTICATED)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert await everything(edge) == before


@requirement("selection:checked")
@pytest.mark.parametrize(
    ("bad", "flaw"),
    [
        ("homepage", "is no id"),
        ("a:b:c:d", "is no id"),
        ("vm:" + "x" * 298, "is longer than 300 characters"),
        ("pod:shop:web-*", "has a part that has wildcards in it"),
        ("vm:we\u202eb", "has a part that has blanks at its ends, or characters that cannot be seen"),
        ("vm:we\u0000b", "has a part that has blanks at its ends, or characters that cannot be seen"),
        ("mcp:deck", "stands for a tool server"),
        ("vm:x:password=hunter2hunter2", "looks like a secret"),
    ],
)
async def test_whoever_selects_what_is_no_id_is_told_which_one_and_nothing_is_taken_in(
    edge: Edge, bad: str, flaw: str
) -> None:
    session_id = await shelve(edge.store, Shelved())
    before = await everything(edge)
    for answer in (
        await submit(edge, [HOMEPAGE, bad], secret(edge)),
        await ask(edge, [HOMEPAGE, bad], secret(edge), about=session_id),
    ):
        told = {"message": f"entry 2 {flaw}: {FORM}", "code": "invalid", "field": "selected_resources.1"}
        assert (answer.status_code, answer.json()) == (400, told)
    assert await everything(edge) == before


@requirement("selection:checked")
@pytest.mark.parametrize(
    ("selected", "field", "words"),
    [
        (HOMEPAGE, "selected_resources", "must be a list"),
        ([HOMEPAGE, 7], "selected_resources.1", "must be text"),
        ([f"vm:{number}" for number in range(21)], "selected_resources", "may have 20 entries"),
    ],
)
async def test_a_selection_is_a_list_of_at_most_twenty_ids(
    edge: Edge, selected: object, field: str, words: str
) -> None:
    for answer in (await submit(edge, selected, secret(edge)), await ask(edge, selected, secret(edge))):
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert words in answer.json()["message"]


async def test_twenty_can_be_selected(edge: Edge) -> None:
    selected = [f"vm:{number}" for number in range(20)]
    answer = await submit(edge, selected, secret(edge))
    assert (await edge.show(answer.json()["session_id"]))["selected_resources"] == selected


async def test_the_same_key_with_another_selection_is_another_request(edge: Edge) -> None:
    headers = {**secret(edge), "Idempotency-Key": "picked"}
    first, again = await submit(edge, [HOMEPAGE], headers), await submit(edge, [HOMEPAGE], headers)
    assert first.json()["session_id"] == again.json()["session_id"]
    assert (await submit(edge, [JELLYFIN], headers)).status_code == 409
    assert (await submit(edge, [], headers)).status_code == 409

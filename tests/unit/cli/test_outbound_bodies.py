"""What a person is shown of a request that left."""

from midwatch.cli.outbound import render_body
from midwatch.kit import json
from midwatch.llm.grpc import messages as wire


def test_json_is_shown_as_it_was_sent() -> None:
    assert render_body(b'{"a": "\xc3\xa9",\n "b":1}') == '{"a": "é",\n "b":1}'


def test_a_message_to_an_llm_service_is_shown_as_json() -> None:
    said = wire.ConversationMessage(role="user", content="The pump is höt.")
    request = wire.GenerateRequest(session_id="s", messages=[said], extended=True)
    assert json.decode(render_body(request.SerializeToString())) == {
        "session_id": "s",
        "messages": [{"role": "user", "content": "The pump is höt."}],
        "extended": True,
    }


def test_what_is_neither_is_shown_as_text() -> None:
    assert render_body(b"\xff\xfe\xfd plain") == "��� plain"

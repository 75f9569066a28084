"""Values of Kubernetes Secrets, in the shapes kubectl prints them."""

import json
from collections.abc import Callable
from functools import partial

import pytest
import yaml

from midwatch.masking.mask import compile_mask

MASK = compile_mask(patterns=("kubernetes_secret",))
SECRET = {
    "apiVersion": "v1",
    "data": {"user": "YWRtaW4=", "tls.key": "c2VjcmV0"},
    "kind": "Secret",
    "metadata": {"name": "db", "annotations": {"note": "kept"}},
    "stringData": {"motd": 'a "quoted"\nline {x}'},
}
CONFIG_MAP = {"apiVersion": "v1", "data": {"mode": "visible"}, "kind": "ConfigMap"}
VALUES = ("YWRtaW4", "c2VjcmV0", "quoted", "line {x}")


def hidden(text: str) -> str:
    masked = MASK(text)
    assert not [value for value in VALUES if value in masked]
    assert MASK(masked) == masked
    return masked


@pytest.mark.parametrize("indent", [None, 2])
def test_json_keeps_its_keys_and_loses_its_values(indent: int | None) -> None:
    document = json.loads(hidden(json.dumps(SECRET, indent=indent)))
    assert document["data"] == {"user": "[MASKED_SECRET_DATA]", "tls.key": "[MASKED_SECRET_DATA]"}
    assert document["stringData"] == {"motd": "[MASKED_SECRET_DATA]"}
    assert document["metadata"] == SECRET["metadata"]


@pytest.mark.parametrize("style", [None, '"'])
def test_yaml_keeps_its_keys_and_loses_its_values(style: str | None) -> None:
    document = yaml.safe_load(hidden(yaml.safe_dump(SECRET, default_style=style)))
    assert set(document["data"]) == {"user", "tls.key"}
    assert document["kind"] == "Secret"
    assert document["metadata"]["name"] == "db"


def test_block_values_are_hidden_down_to_their_last_line() -> None:
    text = "kind: Secret\nstringData:\n  motd: |\n    c2VjcmV0\n\n    quoted\n  user: YWRtaW4=\ntype: Opaque\n"
    assert hidden(text) == (
        "kind: Secret\nstringData:\n  motd: [MASKED_SECRET_DATA]\n  user: [MASKED_SECRET_DATA]\ntype: Opaque\n"
    )


def test_a_list_of_secrets_is_hidden_item_by_item() -> None:
    masked = yaml.safe_load(hidden(yaml.safe_dump({"kind": "List", "items": [SECRET, SECRET]})))
    assert [set(item["data"]) for item in masked["items"]] == [{"user", "tls.key"}] * 2


def test_flow_style_is_hidden() -> None:
    assert "YWRtaW4" not in hidden("kind: Secret\ndata: {user: YWRtaW4=}\n")


def test_a_config_map_in_another_document_is_kept() -> None:
    masked = hidden(yaml.safe_dump_all([SECRET, CONFIG_MAP]))
    assert list(yaml.safe_load_all(masked))[1] == CONFIG_MAP


def test_the_copy_in_the_last_applied_annotation_is_hidden_in_yaml_and_json() -> None:
    copy = json.dumps(SECRET)
    outer = {"kind": "Secret", "metadata": {"annotations": {"last-applied-configuration": copy}}}
    for text in (json.dumps(outer), f"kind: Secret\nmetadata:\n  annotations:\n    last-applied: |\n      {copy}\n"):
        hidden(text)
    assert json.loads(json.loads(hidden(json.dumps(outer)))["metadata"]["annotations"]["last-applied-configuration"])


@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump])
def test_a_cut_off_secret_is_hidden_too(dump: object) -> None:
    assert callable(dump)
    text = str(dump(SECRET | {"data": {"user": "YWRtaW4=", "tls.key": "c2VjcmV0" * 40}}))
    cut = text[: text.index("c2VjcmV0") + 100] + ("" if dump is json.dumps else "\nkind: Secret")
    hidden(f"kind: Secret\n{cut}")


def test_text_that_mentions_no_secret_is_left_alone() -> None:
    text = yaml.safe_dump(CONFIG_MAP) + "kind: SecretStore\n"
    assert MASK(text) == text


@pytest.mark.parametrize("dump", [json.dumps, partial(json.dumps, indent=2), yaml.safe_dump])
def test_a_list_of_several_kinds_loses_only_what_its_secrets_hold(dump: Callable[[object], str]) -> None:
    items = [CONFIG_MAP, SECRET, CONFIG_MAP | {"metadata": {"note": json.dumps(CONFIG_MAP)}}]
    masked = yaml.safe_load(hidden(dump({"apiVersion": "v1", "items": items, "kind": "List"})))
    assert [item["data"] for item in (masked["items"][0], masked["items"][2])] == [CONFIG_MAP["data"]] * 2
    assert set(masked["items"][1]["data"]) == {"user", "tls.key"}


def test_the_copy_of_another_object_is_kept_where_it_has_a_line_of_its_own() -> None:
    other = CONFIG_MAP | {"metadata": {"annotations": {"last-applied": json.dumps(CONFIG_MAP)}}}
    masked = json.loads(hidden(json.dumps({"items": [SECRET, other], "kind": "List"}, indent=2)))
    assert masked["items"][1] == other


@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump])
def test_the_items_of_a_secret_list_need_no_kind_of_their_own(dump: Callable[[object], str]) -> None:
    item = {"data": SECRET["data"], "metadata": {"name": "db"}}
    hidden(dump({"apiVersion": "v1", "items": [item, item], "kind": "SecretList"}))


def test_a_broken_document_does_not_stop_the_others() -> None:
    broken = "kind: [this is : not yaml\n  - at all\n"
    text = "---\n".join([yaml.safe_dump(SECRET), broken, yaml.safe_dump(SECRET), yaml.safe_dump(CONFIG_MAP)])
    masked = hidden(text)
    assert broken in masked
    assert yaml.safe_load(masked.split("---\n")[-1]) == CONFIG_MAP


def test_managed_fields_are_no_values() -> None:
    metadata = {"managedFields": [{"fieldsV1": {"f:data": {"f:user": "kept"}, "f:type": "kept"}}]}
    document = {**SECRET, "metadata": metadata}
    for text in (json.dumps(document), yaml.safe_dump(document)):
        assert yaml.safe_load(hidden(text))["metadata"] == metadata


def test_empty_values_are_left_as_they_are() -> None:
    text = 'kind: Secret\ndata:\n  empty: ""\n  nothing:\n  user: YWRtaW4=\n'
    assert hidden(text) == 'kind: Secret\ndata:\n  empty: ""\n  nothing:\n  user: [MASKED_SECRET_DATA]\n'


def test_braces_nested_without_end_take_no_time() -> None:
    text = 'kind: Secret {"data": ' + '{"data": [' * 50_000
    assert MASK(text) == text


@pytest.mark.parametrize(
    "text", ['{"kind": "Secret"}} {"data": {"user": "YWRtaW4="', 'kind: Secret "data": {"user": "YWRtaW4=']
)
def test_json_that_does_not_add_up_is_hidden(text: str) -> None:
    hidden(text)

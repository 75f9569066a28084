"""What tools really print, with every secret labelled: those go, and everything else stays as it is.

A secret stands between « and ». The sign ¦ is taken out: it keeps made-up keys from looking like real ones to whoever
searches files for keys.
"""

import json
import re
from pathlib import Path
from typing import cast

import pytest
import yaml

from midwatch.masking.mask import compile_mask
from midwatch.masking.patterns import GROUPS

_FOLDER = Path(__file__).parent / "golden"
_FILES = sorted(_FOLDER.iterdir())
_PLACEHOLDER = r'"?\[MASKED_[A-Z0-9_]+\]"?'
_NAMES = [file.name for file in _FILES]


def read_labelled(file: Path) -> tuple[str, list[str]]:
    """The text as a tool prints it, and its pieces: what stays and what goes, in turn."""
    labelled = file.read_text().replace("¦", "")
    return re.sub("[«»]", "", labelled), re.split("«(.*?)»", labelled, flags=re.DOTALL)


@pytest.mark.parametrize("file", _FILES, ids=_NAMES)
def test_every_labelled_secret_goes_and_everything_else_stays(file: Path) -> None:
    text, pieces = read_labelled(file)
    expected = "".join(re.escape(piece) if index % 2 == 0 else _PLACEHOLDER for index, piece in enumerate(pieces))
    masked = compile_mask()(text)
    shown = "".join(piece if index % 2 == 0 else "[MASKED]" for index, piece in enumerate(pieces))
    assert re.fullmatch(expected, masked), (re.sub(_PLACEHOLDER, "[MASKED]", masked).splitlines(), shown.splitlines())


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("file", _FILES, ids=_NAMES)
def test_no_group_changes_its_own_output(file: Path, group: str) -> None:
    once = compile_mask(groups=[group])(read_labelled(file)[0])
    assert compile_mask(groups=[group])(once) == once


@pytest.mark.parametrize("file", [file for file in _FILES if file.suffix == ".json"], ids=lambda file: file.name)
def test_json_is_still_json(file: Path) -> None:
    text = read_labelled(file)[0]
    assert shape_of(json.loads(compile_mask()(text))) == shape_of(json.loads(text))


@pytest.mark.parametrize(
    "file",
    [file for file in _FILES if file.suffix == ".yaml" and "broken" not in file.name and "helm" not in file.name],
    ids=lambda file: file.name,
)
def test_yaml_is_still_yaml(file: Path) -> None:
    text = read_labelled(file)[0]
    before, after = yaml.safe_load_all(text), yaml.safe_load_all(compile_mask()(text))
    assert [keys_of(document) for document in after] == [keys_of(document) for document in before]


def shape_of(value: object) -> object:
    match value:
        case dict():
            return {key: shape_of(item) for key, item in cast("dict[str, object]", value).items()}
        case list():
            return [shape_of(item) for item in cast("list[object]", value)]
        case _:
            return type(value)


def keys_of(value: object) -> object:
    """Of mappings, to the bottom; what is no mapping may have become another thing."""
    match value:
        case dict():
            return {key: keys_of(item) for key, item in cast("dict[str, object]", value).items()}
        case _:
            return None

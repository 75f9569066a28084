"""What a model wrote as the input of an action, as the JSON object that a tool takes."""

from midwatch.kit import json
from midwatch.kit.mappings import read_json, read_pairs, read_yaml


def read_arguments(text: str) -> str | None:
    """JSON text: from JSON, from YAML, or from pairs such as `name=web, lines=5`.

    Plain words are left as they are, for whoever knows what the tool takes. None when it was to be JSON and is not.
    """
    text = text.strip()
    if not text or text.lower() in {"none", "null", "n/a"}:
        return "{}"
    if isinstance(read_json(text), dict):
        return text
    for read in (read_yaml, read_pairs):
        found = read(text)
        if found is not None:
            return json.encode_text(found)
    return None if text.startswith(("{", "[")) else text

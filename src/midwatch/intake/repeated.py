"""Requests that may be sent twice: the key that names one, and the digest that tells it from another."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from midwatch.domain.errors import Invalid
from midwatch.kit import json

_KEY = re.compile(r"[ -~]{1,255}")


def check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        message = "Idempotency-Key must have 1 to 255 printable ASCII characters"
        raise Invalid(message, field="Idempotency-Key")


def digest_request(request: Mapping[str, Any]) -> bytes:
    """Of what was said: a field that was left out does not count, so that fields can be added later."""
    said = {name: request[name] for name in sorted(request) if request[name] is not None}
    return sha256(json.encode(said)).digest()

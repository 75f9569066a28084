"""A refusal as the text a model reads."""

from midwatch.domain.tools import Refusal
from midwatch.kit.json import encode_text


def render_refusal(refusal: Refusal) -> str:
    """Compact JSON. Details stand beside the code but never in its place."""
    stated = {"code": refusal.code, "message": refusal.reason, "hint": refusal.hint}
    return encode_text({"error": stated | {key: refusal.details[key] for key in refusal.details if key not in stated}})

"""Resources that come selected with an alert or a question: checked one by one, and written as the store keeps them."""

from collections.abc import Callable, Sequence

from midwatch.domain.errors import Invalid
from midwatch.masking.mask import MaskedAlert
from midwatch.safety.selections import ID_FORM, find_id_flaw, settle_selection

FIELD = "selected_resources"


def read_selected(ids: Sequence[str], *, mask: Callable[[str], MaskedAlert]) -> tuple[str, ...]:
    """Raises Invalid with the first that cannot be selected. Nothing of what was sent is repeated."""
    for index, text in enumerate(ids):
        flaw = find_id_flaw(text)
        if flaw is None and mask(text).text != text:
            # An id cannot be masked and still be the same one; as it is, neither a prompt nor a log may have it.
            flaw = "looks like a secret"
        if flaw is not None:
            raise Invalid(f"entry {index + 1} {flaw}: expected {ID_FORM}", field=f"{FIELD}.{index}")
    return settle_selection(ids)

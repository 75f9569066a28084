"""How the tables of words are read into a lexicon."""

from collections.abc import Iterable, Iterator, Mapping

from midwatch.safety.claims.actions import Action, Entry, Family, Form
from midwatch.safety.claims.lexicon import LONG_ENOUGH_FOR_SLIPS, shorten

Forms = Mapping[Form, tuple[str, ...]]


def read_actions(table: Mapping[Family, str]) -> Iterator[tuple[Action, Forms]]:
    """Rows of `base past gerund ; nouns`. A base may end in `*` (common) and `~` (moves itself), and name particles
    after `+` and objects after `=`, of which `#` is anything with a name of its own; a past form may be two, with `/`.
    """
    for family, rows in table.items():
        for row in rows.strip().splitlines():
            verbs, _, nouns = row.partition(";")
            base, past, gerund = verbs.split()
            yield _read_row(base, past=past, gerund=gerund, nouns=tuple(nouns.split()), family=family)


def _read_row(base: str, *, past: str, gerund: str, nouns: tuple[str, ...], family: Family) -> tuple[Action, Forms]:
    head, _, objects = base.partition("=")
    head, _, particles = head.partition("+")
    pasts = tuple(past.split("/"))
    lemma = head.rstrip("*~")
    action = Action(
        lemma=lemma,
        family=family,
        particles=frozenset(particles.rstrip("*~").split("/")) if particles else frozenset(),
        is_common="*" in base,
        moves_itself="~" in base,
        objects=frozenset(objects.split("/")) if objects else frozenset(),
        spellings=(*pasts, gerund),
        nouns=nouns,
    )
    forms: dict[Form, tuple[str, ...]] = {Form.PAST: pasts, Form.GERUND: (gerund,), Form.NOUN: nouns}
    return action, forms | {Form.BASE: (lemma,)}


def index_actions(actions: Iterable[tuple[Action, Forms]]) -> dict[str, tuple[Entry, ...]]:
    entries: dict[str, list[Entry]] = {}
    for action, forms in actions:
        for form, words in forms.items():
            for word in words:
                _add(entries.setdefault(word, []), action, form)
    return {word: tuple(found) for word, found in entries.items()}


def _add(found: list[Entry], action: Action, form: Form) -> None:
    """A word that is several forms of one action is one entry: "reset"."""
    entry = next((entry for entry in found if entry.action is action), None)
    if entry is not None:
        found.remove(entry)
    known = entry or Entry(action)
    found.append(
        Entry(
            action,
            is_base=known.is_base or form is Form.BASE,
            is_past=known.is_past or form is Form.PAST,
            is_gerund=known.is_gerund or form is Form.GERUND,
            is_noun=known.is_noun or form is Form.NOUN,
        )
    )


def index_slips(words: Iterable[str], *, known: Mapping[str, str], never: Iterable[str]) -> dict[str, str]:
    """One letter too few, too many, or wrong, in long words; and the slips that are written out.

    `never` are honest words that look like slips.
    """
    slips = dict(known) | dict.fromkeys(never, "")
    for word in words:
        if len(word) >= LONG_ENOUGH_FOR_SLIPS and word.isalpha():
            slips |= {f"~{shorter}": word for shorter in (word, *shorten(word))}
    return slips

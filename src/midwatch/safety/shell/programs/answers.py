"""Short ways for a program's own model to answer."""

from collections.abc import Iterable

from midwatch.safety.shell.programs.model import Judgement, Nested, Rewrite
from midwatch.safety.shell.secrets import find_secret
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk, write_finding
from midwatch.safety.shell.words import Word, show


def reads(
    name: str,
    *,
    conditional: bool = False,
    endless: Category | None = None,
    sensitive: tuple[str, ...] = (),
    egress: tuple[str, ...] = (),
    nested: tuple[Nested, ...] = (),
    rewrite: Rewrite | None = None,
) -> Judgement:
    finding = Finding(
        Intent.CONDITIONAL if conditional else Intent.CERTAIN,
        f"read:{name}",
        Phase.INSPECT if conditional else Phase.READ,
        part=name,
        endless=endless,
        sensitive=sensitive,
        egress=egress,
    )
    return Judgement(finding, nested, rewrite)


def changes(
    rule: str, part: str, *, risk: Risk = Risk.MEDIUM, endless: Category | None = None, phase: Phase = Phase.WRITE
) -> Judgement:
    found = write_finding(rule, phase=phase, risk=risk, part=show(part))
    return Judgement(found if endless is None else Finding(found.intent, rule, phase, risk, found.part, endless))


def secrets_in(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(secret for word in words if (secret := find_secret(word.text)))

"""Judges a command by its program's model: what its words mean for writing, ending, secrets and destinations."""

from collections.abc import Sequence

from midwatch.safety.shell.programs.arguments import Reading, Refused, choose_operands, read_arguments
from midwatch.safety.shell.programs.destinations import host_of
from midwatch.safety.shell.programs.model import (
    NESTED,
    REPEATS,
    TARGETS,
    Call,
    Check,
    Judgement,
    Meaning,
    Nested,
    Operands,
    Program,
)
from midwatch.safety.shell.secrets import find_secret
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, Risk
from midwatch.safety.shell.words import HOLE, Word


def judge(name: str, model: Program, words: Sequence[Word]) -> Judgement:
    try:
        reading = read_arguments(name, model, words)
        return _judge_reading(reading)
    except Refused as refused:
        return Judgement(refuse(refused))


def refuse(refused: Refused) -> Finding:
    phase = Phase.WRITE if refused.known else Phase.UNKNOWN
    return Finding(Intent.WRITE, refused.rule, phase, refused.risk, refused.part)


def _judge_reading(reading: Reading) -> Judgement:
    model, name = reading.model, reading.name
    operands = choose_operands(model, reading.options)
    meanings = _give_meaning(reading, operands)
    if model.needs and model.needs.isdisjoint(reading.options):
        raise Refused("option:needed", name, model.risk)
    secrets, hosts = _look_at_values(reading, meanings)
    intent, phase = _PROOFS[model.conditional]
    finding = Finding(intent, f"read:{name}", phase, _NO_RISK, name, find_endless(reading), secrets, hosts)
    if model.check is not None:
        finding = _apply_check(model.check, reading, finding)
    if finding.egress and any(word.splits or HOLE in word.text for _, word in (*reading.values, *meanings)):
        # What is not known may carry what was read elsewhere.
        raise Refused("egress:unknown", name)
    nests = operands.meanings and operands.meanings[-1] in NESTED
    nested = _find_nested(reading, operands, meanings) if nests else ()
    endless = reading.tty or reading.follow
    return Judgement(finding, nested, model.rewrite, endless, tuple(reading.operands), model.names_only)


_NO_RISK = Risk.READ_ONLY
# Members of enumerations cost a call each time they are named, and these are named for every word.
_PATH, _HOST, _URL, _NUMBER, _PLUS = Meaning.PATH, Meaning.HOST, Meaning.URL, Meaning.NUMBER, Meaning.PLUS
_PROOFS = {True: (Intent.CONDITIONAL, Phase.INSPECT), False: (Intent.CERTAIN, Phase.READ)}


def _give_meaning(reading: Reading, operands: Operands) -> list[tuple[Meaning, Word]]:
    model, words = reading.model, reading.operands
    if not words:
        return []
    if len(words) > operands.most:
        raise Refused("operands:many", _show(reading), model.risk)
    if operands.most != REPEATS and not model.inert and any(word.glob or word.splits for word in words):
        raise Refused("expansion:operand", _show(reading), model.risk)
    meanings = [(operands.meaning_of(position), word) for position, word in enumerate(words)]
    for meaning, word in meanings:
        if meaning is _NUMBER and not word.text.replace(".", "", 1).isdecimal():
            raise Refused("operands:number", _show(reading), model.risk)
        if meaning is _PLUS and not word.text.startswith("+"):
            raise Refused("operands:plus", _show(reading), model.risk)
    return meanings


def _show(reading: Reading) -> str:
    return " ".join((reading.name, *(word.text for word in reading.operands)))


def find_endless(reading: Reading) -> Category | None:
    model = reading.model
    if reading.tty:
        return Category.TTY
    if reading.bounds:
        return None
    if reading.follow:
        return Category.STREAM
    if model.interval and len(reading.operands) == 1:
        return Category.STREAM
    return model.endless


def _look_at_values(
    reading: Reading, meanings: Sequence[tuple[Meaning, Word]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which secrets are shown, and which machines are reached."""
    model = reading.model
    secrets = [model.sensitive] if model.sensitive else []
    if model.reveals:
        secrets += [secret for option, secret in model.reveals.items() if option in reading.options]
    hosts: list[str] = []
    for meaning, word in (*reading.values, *meanings):
        if meaning is _PATH:
            if not model.names_only and (secret := find_secret(word.text)):
                secrets.append(secret)
        elif meaning is _HOST or meaning is _URL:
            if not word.known:
                raise Refused("egress:unknown", _show(reading), Risk.MEDIUM)
            hosts.append(host_of(word.text))
    return tuple(secrets), tuple(hosts)


def _apply_check(check: Check, reading: Reading, finding: Finding) -> Finding:
    options = {name: tuple(values) for name, values in reading.options.items()}
    special = check(Call(reading.name, options, tuple(reading.operands)))
    if special is None:
        return finding
    if special.writes:
        return special
    return special._replace(
        endless=special.endless or finding.endless,
        sensitive=finding.sensitive + special.sensitive,
        egress=finding.egress + special.egress,
    )


def _find_nested(reading: Reading, operands: Operands, meanings: Sequence[tuple[Meaning, Word]]) -> tuple[Nested, ...]:
    words = tuple(word for meaning, word in meanings if meaning in NESTED)
    if not words:
        raise Refused("operands:no-command", reading.name, reading.model.risk)
    targets = tuple(f"{meaning.value}:{word.text}" for meaning, word in meanings if meaning in TARGETS)
    text = operands.meanings[-1] is Meaning.SHELL
    return (Nested(words, text=text, targets=targets, conditional=reading.model.conditional or bool(targets) or text),)

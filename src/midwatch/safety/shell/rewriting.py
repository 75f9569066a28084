"""Makes an endless command end: known templates, applied to the words of the tree and not to the text."""

import shlex
from collections.abc import Sequence

from midwatch.safety.shell.inquiry import Endless
from midwatch.safety.shell.programs.model import Rewrite
from midwatch.safety.shell.verdict import Category
from midwatch.safety.shell.words import Word

Splice = tuple[int, int, str]
_DROP = Rewrite()


def propose(command: str, endless: Sequence[Endless]) -> str | None:
    """The command with every endless call rewritten, or None when one of them has no template."""
    source = command.encode()
    splices: list[Splice] = []
    for call in endless:
        found = _rewrite(source, call)
        if found is None:
            return None
        splices += found
    for start, end, text in sorted(splices, reverse=True):
        source = source[:start] + text.encode() + source[end:]
    return _tidy(source.decode())


def _tidy(text: str) -> str:
    return text.strip()


def _rewrite(source: bytes, call: Endless) -> list[Splice] | None:
    judgement = call.judgement
    template = judgement.rewrite
    if judgement.finding.endless is Category.TTY:
        return _drop_options(source, call, _DROP)
    if template is None:
        return None
    if template.whole:
        return [(call.start, call.end, template.whole)]
    if template.inner:
        return _run_once(source, call)
    if template.program:
        operands = [_slice(source, word) for word in judgement.operands]
        return [(call.start, call.end, " ".join([template.program, *operands]) + _pipe(template))]
    return _drop_options(source, call, template)


def _pipe(template: Rewrite) -> str:
    return f" | {template.pipe}" if template.pipe else ""


def _slice(source: bytes, word: Word) -> str:
    return source[word.start : word.end].decode() if word.end else shlex.quote(word.text)


def _run_once(source: bytes, call: Endless) -> list[Splice]:
    words = [word for nested in call.judgement.nested for word in nested.words]
    text = words[0].text if len(words) == 1 and words[0].known else " ".join(_slice(source, word) for word in words)
    return [(call.start, call.end, text)]


def _drop_options(source: bytes, call: Endless, template: Rewrite) -> list[Splice] | None:
    """The first option that makes it endless gives its place to what bounds it; the others go."""
    added = " ".join(quote(word) for word in template.add)
    splices: list[Splice] = []
    for word, names in _by_word(call.judgement.endless):
        if not word.end:
            return None
        kept = "" if word.text.startswith("--") else "".join(c for c in word.text[1:] if f"-{c}" not in names)
        text = " ".join(part for part in (added, f"-{kept}" if kept else "") if part)
        start = word.start if text else _with_blank(source, word.start)
        splices.append((start, word.end, text))
        added = ""
    if template.pipe:
        splices.append((call.end, call.end, _pipe(template)))
    return splices


def _by_word(options: Sequence[tuple[str, Word]]) -> list[tuple[Word, set[str]]]:
    found: dict[Word, set[str]] = {}
    for name, word in options:
        found.setdefault(word, set()).add(name)
    return sorted(found.items(), key=lambda item: item[0].start)


def _with_blank(source: bytes, start: int) -> int:
    while start and source[start - 1 : start] in {b" ", b"\t"}:
        start -= 1
    return start


def quote(word: str) -> str:
    """With double quotes, which read better."""
    return f'"{word}"' if " " in word else shlex.quote(word)

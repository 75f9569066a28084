"""A verdict in words, for people."""

from midwatch.safety.shell.contents.finding import find_contents
from midwatch.safety.shell.parse import parse
from midwatch.safety.shell.source import guard_text
from midwatch.safety.shell.verdict import Category, Finding, Intent, Verdict
from midwatch.safety.shell.words import show

_INTENTS = {
    Intent.CERTAIN: "reads, whatever it is given",
    Intent.CONDITIONAL: "reads, judging by what it was given",
    Intent.WRITE: "changes something, or nobody can show that it does not",
}
_ENDLESS = {
    Category.TTY: "asks for a terminal",
    Category.PAGER: "waits in a pager or editor",
    Category.STREAM: "may go on for ever",
    Category.REPL: "waits for someone to type",
}
_TREE_LINES = 200


def explain(verdict: Verdict) -> str:
    lines = [
        verdict.command,
        f"  {verdict.kind}: {_INTENTS[verdict.intent]} (risk {verdict.risk}, rule {verdict.rule})",
    ]
    if verdict.endless is not None:
        lines.append(f"  does not end by itself: {_ENDLESS[verdict.endless]} ({verdict.endless})")
    if verdict.rewrite is not None:
        lines.append(f"  ends like this: {verdict.rewrite}")
    lines += [f"  shows {secret}" for secret in verdict.secrets]
    lines += [f"  reaches {host}" for host in verdict.egress]
    lines += [f"  enters {target}" for target in verdict.targets]
    lines += [] if verdict.reads else _explain_contents(verdict.command)
    lines += ["  parts:", *(_explain_part(found) for found in verdict.findings)]
    return "\n".join([*lines, "  tree:", *_draw_tree(verdict.command)])


def _explain_contents(command: str) -> list[str]:
    """What a person's yes would be bound to."""
    found = find_contents(command)
    unclear = [] if found.unclear is None else [f"  cannot be approved: {found.unclear} cannot be followed"]
    return [f"  acts by what is in {file.path}" for file in found.files] + unclear


def _explain_part(found: Finding) -> str:
    mark = "write" if found.writes else "read"
    return f"    {mark:<5}  {found.rule:<32}  {show(found.part)}".rstrip()


def _draw_tree(command: str) -> list[str]:
    if guard_text(command) is not None:
        return ["    (not parsed)"]
    source = command.encode()
    cursor = parse(source).walk()
    lines: list[str] = []
    depth = 0
    while len(lines) < _TREE_LINES:
        node = cursor.node
        if node is not None and node.is_named:
            text = "" if node.named_child_count else " " + source[node.start_byte : node.end_byte].decode()
            lines.append(f"    {'  ' * depth}{node.type}{text}")
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return lines
            depth -= 1
    return lines

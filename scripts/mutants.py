"""What can be changed in a module so that a test should notice: one small change of its syntax tree at a time."""

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import TypeVar, cast

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
_SHOWN = 30
_LONGEST = 110
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}
_T = TypeVar("_T")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    module: str
    function: str
    """Its qualified name; empty outside of functions."""
    first_line: int
    """Of that function, decorators included, to tell it from its namesakes; 0 for what runs on import."""
    line: int
    change: str
    compile: Callable[[], CodeType]

    @property
    def place(self) -> str:
        return f"{locate(self.module).relative_to(ROOT)}:{self.line}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.function, self.change


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a node stands."""

    function: str = ""
    first_line: int = 0
    prefix: str = ""
    returns_bool: bool = False

    def enter(self, node: ast.AST) -> "_Scope":
        if self.function or not isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            return self
        name = f"{self.prefix}{node.name}"
        if isinstance(node, ast.ClassDef):
            return _Scope(prefix=f"{name}.")
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return _Scope(name, first, returns_bool=isinstance(node.returns, ast.Name) and node.returns.id == "bool")


@dataclass(frozen=True, slots=True)
class _Slot:
    """A place in a tree that holds one node."""

    parent: ast.AST
    field: str
    index: int | None = None

    def put(self, node: object) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def locate(module: str) -> Path:
    return SOURCES / Path(*module.split(".")).with_suffix(".py")


def list_mutants(module: str) -> list[Mutant]:
    path = locate(module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = list(_Lister(module, path, tree).list_below(tree, _Scope(), above=()))
    seen = Counter[tuple[str, str]]()
    for at, mutant in enumerate(found):
        same = mutant.function, mutant.change
        seen[same] += 1
        if seen[same] > 1:
            found[at] = replace(mutant, change=f"{mutant.change} ({seen[same]})")
    return found


@dataclass(frozen=True, slots=True)
class _Lister:
    module: str
    path: Path
    tree: ast.Module

    def list_below(self, node: ast.AST, scope: _Scope, *, above: tuple[_Slot, ...]) -> Iterator[Mutant]:
        for slot, child in _children(node):
            inner, slots = scope.enter(child), (*above, slot)
            if isinstance(node, ast.arguments):
                inner = replace(inner, first_line=0)
            is_record = isinstance(node, ast.Tuple | ast.List) and isinstance(child, ast.Tuple)
            for new in () if is_record else _mutate(child, inner):
                yield self._build(child, new, inner, slots=slots)
            yield from self.list_below(child, inner, above=slots)

    def _build(self, old: ast.AST, new: ast.AST, scope: _Scope, *, slots: tuple[_Slot, ...]) -> Mutant:
        ast.fix_missing_locations(ast.copy_location(new, old))
        return Mutant(
            module=self.module,
            function=scope.function,
            first_line=scope.first_line,
            line=getattr(old, "lineno", 0),
            change=_describe(old, new, slots=slots),
            compile=lambda: self._compile(old, new, slots[-1]),
        )

    def _compile(self, old: ast.AST, new: ast.AST, slot: _Slot) -> CodeType:
        slot.put(new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return compile(self.tree, str(self.path), "exec")
        finally:
            slot.put(old)


def _children(node: ast.AST) -> Iterator[tuple[_Slot, ast.AST]]:
    """All but what only speaks to readers and type checkers."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "bases", "ctx", "ops", "op"} or _is_slots(node):
            continue
        if isinstance(value, ast.AST):
            yield _Slot(node, field), value
        elif isinstance(value, list):
            for index, each in enumerate(cast("list[object]", value)):
                if isinstance(each, ast.AST) and not _is_docstring(each):
                    yield _Slot(node, field, index), each


def _is_slots(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__"


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _mutate(node: ast.AST, scope: _Scope) -> Iterator[ast.AST]:
    match node:
        case ast.comprehension():
            for index in range(len(node.ifs)):
                yield ast.comprehension(node.target, node.iter, _without(node.ifs, index), node.is_async)
        case ast.Set() | ast.Tuple() | ast.List() | ast.Dict():
            yield from _drop_elements(node)
        case ast.Call():
            yield from _change_call(node)
        case ast.Constant():
            yield from _change_constant(node)
        case ast.expr():
            yield from _change_operation(node)
        case ast.stmt():
            yield from _change_statement(node, scope)
        case _:
            pass


def _change_operation(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            yield from _change_comparison(node)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for index in range(len(node.values)):
                rest = _without(node.values, index)
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(_deny(node.test), node.body, node.orelse)
        case _:
            pass


def _change_call(node: ast.Call) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), node.args, node.keywords)
        case ast.Call(func=ast.Name(id="frozenset" | "set"), args=[ast.Constant(value=str(letters))]):
            for index in range(len(letters)):
                yield ast.Call(node.func, [ast.Constant(letters[:index] + letters[index + 1 :])], [])
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split"), args=[]):
            words = text.split()
            for index in range(len(words)):
                rest = ast.Constant(" ".join(_without(words, index)))
                yield ast.Call(ast.Attribute(rest, "split", ast.Load()), [], [])
        case _:
            pass


def _change_comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for index, op in enumerate(node.ops):
        ops = list(node.ops)
        ops[index] = _COMPARED[type(op)]()
        yield ast.Compare(node.left, ops, node.comparators)


def _change_constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        if node.value:
            yield ast.Constant(node.value - 1)


def _drop_elements(node: ast.Set | ast.Tuple | ast.List | ast.Dict) -> Iterator[ast.AST]:
    if isinstance(node, ast.Dict):
        for index in range(len(node.keys)):
            yield ast.Dict(_without(node.keys, index), _without(node.values, index))
        return
    if not all(isinstance(each, ast.Constant | ast.Attribute) for each in node.elts):
        return
    for index in range(len(node.elts)):
        rest = _without(node.elts, index)
        if isinstance(node, ast.Set):
            yield ast.Set(rest) if rest else ast.Call(ast.Name("set", ast.Load()), [], [])
        elif isinstance(node.ctx, ast.Load):
            yield type(node)(rest, ast.Load())


def _change_statement(node: ast.stmt, scope: _Scope) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While():
            yield type(node)(_deny(node.test), node.body, node.orelse)
        case ast.Return(value=ast.expr() as value) if scope.returns_bool:
            if not isinstance(value, ast.Constant):
                yield ast.Return(_deny(value))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Expr() | ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case _:
            pass


def _deny(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _without(items: list[_T], index: int) -> list[_T]:
    return items[:index] + items[index + 1 :]


def _describe(old: ast.AST, new: ast.AST, *, slots: tuple[_Slot, ...]) -> str:
    """The change in as much of its expression as tells it from others, on one line."""
    was, node = _write(old), old
    for depth in range(len(slots) - 1, 0, -1):
        parent = slots[depth].parent
        if len(was) >= _SHOWN or not isinstance(
            parent, ast.expr | ast.keyword | ast.comprehension | ast.Return | ast.Assign | ast.AnnAssign
        ):
            break
        was, node = _write(parent), parent
    if node is old:
        return _clip(was, _write(new))
    slots[-1].put(new)
    try:
        return _clip(was, _write(node))
    finally:
        slots[-1].put(old)


def _write(node: ast.AST) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}:"
    return " ".join(ast.unparse(node).split())


def _clip(old: str, new: str) -> str:
    """Of two long texts, what differs and a little around it."""
    if max(len(old), len(new)) <= _LONGEST:
        return f"{old} → {new}"
    start = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    start = max(0, start - _SHOWN)
    return f"…{old[start : start + 2 * _SHOWN]}… → …{new[start : start + 2 * _SHOWN]}…"

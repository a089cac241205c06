"""Mutants of Python source: small changes of one expression or statement, each of which some test should notice.

Comparisons, arithmetic, and/or/not, constants, conditions, returned values, removed statements, min and max, the order
of sorting. Never docstrings, texts and messages, annotations, decorators, assertions or ``__repr__``: they decide no
result.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
TEXTS = (ast.JoinedStr, ast.Raise)
UNCHANGED_FUNCTIONS = {"__repr__", "__str__"}
EMPTY = {ast.List: "[]", ast.ListComp: "[]", ast.Tuple: "()", ast.Dict: "{}", ast.DictComp: "{}", ast.SetComp: "set()"}


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from ``start`` to ``end`` of a file become ``after``; ``lines`` are those that it is on."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    lines: tuple[int, int]
    at_import: bool

    @property
    def change(self) -> str:
        """What was changed, on one line."""
        return f"{_short(self.before)} -> {_short(self.after)}"

    def apply(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def compiles(self, source: bytes) -> bool:
        """Whether the source with the change is Python still."""
        try:
            ast.parse(self.apply(source))
        except SyntaxError:
            return False
        return True


def find_mutants(path: str, source: bytes) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    tree = ast.parse(source)
    conditions = _conditions(tree)
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    mutants = []
    for node, statement, at_import in _reachable(tree):
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        lines = (node.lineno, node.end_lineno or node.lineno) if node is not statement else (statement.lineno,) * 2
        negated = [f"(not ({before}))"] if id(node) in conditions else []
        for after in {*_changes(node), *negated} - {before}:
            mutants.append(Mutant(path, node.lineno, start, end, before, after, lines, at_import))
    return sorted(mutants, key=lambda mutant: (mutant.line, mutant.start, mutant.end, mutant.after))


Position = ast.expr | ast.stmt


def _reachable(tree: ast.Module) -> Iterator[tuple[Position, ast.stmt, bool]]:
    """Every expression and statement that may change, with its simplest statement and whether it runs on import."""
    for statement in tree.body:
        if not _is_declaration(statement):
            yield from _inside(statement, statement, True)


def _inside(node: ast.AST, statement: ast.stmt, at_import: bool) -> Iterator[tuple[Position, ast.stmt, bool]]:
    if isinstance(node, ast.stmt):
        if _is_declaration(node):
            return
        statement = node
    if isinstance(node, ast.stmt | ast.expr):
        yield node, statement, at_import
    if isinstance(node, TEXTS):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name in UNCHANGED_FUNCTIONS:
            return
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            yield from _inside(default, statement, at_import)
        for inner in node.body:
            yield from _inside(inner, inner, False)
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: an assertion about our own lists
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _inside(inner, statement, at_import)


def _is_declaration(node: ast.stmt) -> bool:
    """What decides nothing while a program runs: imports, docstrings, types, what is for type checkers only."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()) | ast.Assert():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.ClassDef(bases=bases):
            return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)
    return False


def _changes(node: Position) -> Iterator[str]:
    """The texts that may stand in the place of a node."""
    if isinstance(node, ast.stmt):
        yield from _changed_statement(node)
        return
    for changed in _changed_expression(node):
        yield f"({ast.unparse(changed)})"


def _changed_statement(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield "pass"
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "pass"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "return None"
            if type(value) in EMPTY:
                yield f"return {EMPTY[type(value)]}"


def _changed_expression(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in COMPARISONS[type(operator)]:
                yield _with(node, ops=[other()])
        case ast.BinOp(op=operator) if type(operator) in ARITHMETIC and not (
            _is_text(node.left) or _is_text(node.right)
        ):
            yield _with(node, op=ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield _with(node, func=ast.Name(CALLS[name]))
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CALLS:
            yield _with(node, func=ast.Attribute(value, CALLS[name]))
        case ast.Call(func=ast.Name(id="sorted"), keywords=keywords):
            yield _with(node, keywords=_reversed_order(keywords))
        case ast.IfExp(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))


def _reversed_order(keywords: list[ast.keyword]) -> list[ast.keyword]:
    others = [keyword for keyword in keywords if keyword.arg != "reverse"]
    return others if len(others) < len(keywords) else [*others, ast.keyword("reverse", ast.Constant(True))]


def _conditions(tree: ast.Module) -> set[int]:
    """What decides an if, a while or a comprehension, where no change of an operator negates it already."""
    tests: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test):
                tests.append(test)
            case ast.comprehension(ifs=ifs):
                tests += ifs
    return {id(test) for test in tests if not isinstance(test, ast.Compare | ast.UnaryOp)}


def _with(node: ast.expr, **fields: object) -> ast.expr:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else f"{line[:60]} ... {line[-25:]}"

"""Mutants: an algorithm's source with one small change, made on its syntax tree.

The changes are those that a tired programmer makes: a comparison off by one, a condition negated or incomplete, a
statement forgotten, a constant or a sign wrong, a queue filled from the wrong end, an attribute not saved.

Left alone is what cannot matter to a run: docstrings, annotations, specs and option builders, `raise` and `assert`
(they refuse what no run contains), `could_enter` (a hint), and how long a timer is set for (the checker has no clock).
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
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
NEGATED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)  # the change above negates these comparisons
SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
HINTS = ("could_enter", "__repr__", "__str__")
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.FunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Mutant:
    """One change. `name` tells it apart from all others of its file, and does not depend on line numbers."""

    path: Path
    line: int
    owner: str  # the class and method, or the function, that is changed
    name: str
    start: int  # the bytes of the file that are replaced
    end: int
    text: str
    lenient: bool = False  # it only accepts what the original refuses with `raise`

    def source(self) -> str:
        data = self.path.read_bytes()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of the source."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    names: Counter[str] = Counter()
    tree = ast.parse(source)
    chains = _refusing_chains(tree)
    for owner, statement, old, new in _changes(tree):
        start = starts[old.lineno - 1] + old.col_offset
        end = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
        text = ast.unparse(new)
        name = f"{owner}: {_told(statement, old, text)}"
        names[name] += 1
        if names[name] > 1:
            name += f" ({names[name]})"
        spliced = f"({text})" if isinstance(old, ast.expr) else text
        lenient = isinstance(statement, ast.If) and old is not statement and _is_lenient(statement, chains, old, new)
        found.append(Mutant(path, old.lineno, owner, name, start, end, spliced, lenient))
    return found


Change = tuple[str, ast.stmt, ast.stmt | ast.expr, ast.AST]
"""Where, the statement, what is replaced in it, and by what."""


def _changes(module: ast.Module) -> Iterator[Change]:
    for item in module.body:
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("build_"):
            yield from _in_function(item.name, item)
        elif isinstance(item, ast.ClassDef):
            for member in item.body:
                owner = f"{item.name}.{_name(member)}"
                if isinstance(member, ast.FunctionDef):
                    if member.name not in HINTS:
                        yield from _in_function(owner, member)
                elif isinstance(member, ast.AnnAssign) and not _is_dataclass(item) and member.value is not None:
                    yield from _in_class_variable(owner, member)


def _name(member: ast.stmt) -> str:
    if isinstance(member, ast.FunctionDef):
        return member.name
    return ast.unparse(member.target) if isinstance(member, ast.AnnAssign) else ""


def _is_dataclass(item: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in item.decorator_list)


def _in_class_variable(owner: str, member: ast.AnnAssign) -> Iterator[Change]:
    """A truth value is turned round; of a tuple of names one is forgotten."""
    value = member.value
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield owner, member, value, ast.Constant(not value.value)
    elif isinstance(value, ast.Tuple) and owner.endswith(".durable"):
        for at in range(len(value.elts)):
            rest: list[ast.expr] = value.elts[:at] + value.elts[at + 1 :]
            yield owner, member, value, ast.Tuple(rest, ast.Load())


def _in_function(owner: str, function: ast.FunctionDef) -> Iterator[Change]:
    gives_bool = isinstance(function.returns, ast.Name) and function.returns.id == "bool"
    sorted_next = _sorted_at_once(function)
    for statement in _statements(function.body):
        if _is_docstring(statement):
            continue
        new = _without(statement, owner)
        if new is not None:
            yield owner, statement, statement, new
        answer = statement.value if isinstance(statement, ast.Return) and gives_bool else None
        if answer is not None and _worth_negating(answer):
            yield owner, statement, answer, _negated(answer)
        if isinstance(statement, (ast.If, ast.While)) and _worth_negating(statement.test):
            yield owner, statement, statement.test, _negated(statement.test)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.Constant):
            continue  # by 0 instead of 1: the same as without the statement
        for expression in _expressions(statement):
            if expression not in sorted_next:
                for replacement in _replacements(expression):
                    yield owner, statement, expression, replacement


def _sorted_at_once(function: ast.FunctionDef) -> set[ast.AST]:
    """`x.append(y)` right before `x.sort()`: at which end makes no difference."""
    found: set[ast.AST] = set()
    for parent in ast.walk(function):
        body = getattr(parent, "body", None)
        for first, second in pairwise(body) if isinstance(body, list) else ():
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Call) and isinstance(second, ast.Expr):
                target = ast.unparse(first.value.func).removesuffix(".append")
                if ast.unparse(second.value).startswith(f"{target}.sort("):
                    found.add(first.value)
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, SKIPPED):
            continue
        yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _without(statement: ast.stmt, owner: str) -> ast.stmt | None:
    """What is there when a statement is forgotten; None where that only makes names undefined."""
    if isinstance(statement, ast.Expr):
        return ast.Pass()
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        fresh = owner.endswith(".__init__") and isinstance(target, ast.Attribute)
        return None if fresh or isinstance(target, (ast.Name, ast.Tuple)) else ast.Pass()
    if isinstance(statement, ast.Return) and (statement.value is None):
        return ast.Pass()
    if isinstance(statement, (ast.Break, ast.Continue, ast.Delete)):
        return ast.Pass()
    return None


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """All expressions of a statement itself, not of those within it, and not of annotations."""
    for field, value in ast.iter_fields(statement):
        if field in ("annotation", "body", "orelse", "finalbody", "handlers"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr):
                yield from _within(child)


def _within(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, SKIPPED):
        return
    yield expression
    children: list[ast.AST] = list(ast.iter_child_nodes(expression))
    if isinstance(expression, ast.Call):
        children = [expression.func, *expression.args]
        children += [keyword.value for keyword in expression.keywords if keyword.arg != "strict"]
        if isinstance(expression.func, ast.Attribute) and expression.func.attr == "set_timer":
            children = [expression.func, *expression.args[:1]]
        elif isinstance(expression.func, ast.Name) and expression.func.id == "cast":
            children = expression.args[1:]
    for child in children:
        if isinstance(child, ast.comprehension):
            for part in (child.target, child.iter, *child.ifs):
                yield from _within(part)
        elif isinstance(child, ast.expr):
            yield from _within(child)


def _worth_negating(test: ast.expr) -> bool:
    """Is the negation a change of its own, not one that turning the comparison or dropping `not` makes anyway?"""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return False
    if isinstance(test, ast.Constant):
        return False
    return not (isinstance(test, ast.Compare) and isinstance(test.ops[0], NEGATED))


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _replacements(old: ast.expr) -> Iterator[ast.expr]:
    if isinstance(old, ast.Compare):
        for at, operator in enumerate(old.ops):
            operators: list[ast.cmpop] = list(old.ops)
            operators[at] = COMPARISONS[type(operator)]()
            yield ast.Compare(old.left, operators, old.comparators)
    elif isinstance(old, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(old.op, ast.And) else ast.And(), old.values)
        for at in range(len(old.values)):
            rest = old.values[:at] + old.values[at + 1 :]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(old.op, rest)
    elif isinstance(old, ast.UnaryOp) and isinstance(old.op, ast.Not):
        yield old.operand
    elif isinstance(old, ast.IfExp):
        yield ast.IfExp(old.test, old.orelse, old.body)
    elif isinstance(old, ast.BinOp) and type(old.op) in SIGNS:
        yield ast.BinOp(old.left, SIGNS[type(old.op)](), old.right)
    elif isinstance(old, ast.Constant) and isinstance(old.value, bool):
        yield ast.Constant(not old.value)
    elif isinstance(old, ast.Constant) and isinstance(old.value, int):
        yield ast.Constant(0 if old.value == 1 else old.value + 1)
    elif isinstance(old, ast.Call):
        yield from _other_calls(old)
    elif isinstance(old, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for at, generator in enumerate(old.generators):
            for condition in range(len(generator.ifs)):
                new = copy.deepcopy(old)
                del new.generators[at].ifs[condition]
                yield new


def _other_calls(old: ast.Call) -> Iterator[ast.expr]:
    if isinstance(old.func, ast.Name) and old.func.id in CALLS:
        yield ast.Call(ast.Name(CALLS[old.func.id], ast.Load()), old.args, old.keywords)
    elif isinstance(old.func, ast.Attribute) and old.func.attr == "append":
        at_front = ast.Attribute(old.func.value, "insert", ast.Load())
        yield ast.Call(at_front, [ast.Constant(0), *old.args], [])


# -- what only refuses less --------------------------------------------------------------------------------


def _refusing_chains(tree: ast.AST) -> dict[ast.If, list[ast.If]]:
    """Every `if` and `elif` of a chain after whose last branch there is only a `raise`: the branches that follow it."""
    found: dict[ast.If, list[ast.If]] = {}
    inner = {id(node.orelse[0]) for node in ast.walk(tree) if isinstance(node, ast.If) and len(node.orelse) == 1}
    for parent in ast.walk(tree):
        for body in (getattr(parent, "body", None), getattr(parent, "orelse", None)):
            for at, statement in enumerate(body if isinstance(body, list) else []):
                if not isinstance(statement, ast.If) or id(statement) in inner:
                    continue
                chain = [statement]
                while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
                    chain.append(chain[-1].orelse[0])
                end = chain[-1].orelse or body[at + 1 : at + 2]
                if end and isinstance(end[0], ast.Raise):
                    found.update({branch: chain[place + 1 :] for place, branch in enumerate(chain)})
    return found


def _is_lenient(branch: ast.If, chains: dict[ast.If, list[ast.If]], old: ast.AST, new: ast.AST) -> bool:
    """Does a change of the condition only have fewer messages refused? No run has any that is refused: that would be an
    illegal step. So it makes no difference to any run."""
    if len(branch.body) == 1 and isinstance(branch.body[0], ast.Raise):
        return _is_weaker(branch.test, new, old, ast.Or)
    if branch not in chains or not _is_weaker(branch.test, new, old, ast.And):
        return False
    followers = chains[branch]
    kind = _message_kind(branch.test)
    if not followers:
        return True
    kept = new if old is branch.test else branch.test
    others = {_message_kind(follower.test) for follower in followers}
    return bool(kind) and _message_kind(kept) == kind and kind not in others and "" not in others


def _is_weaker(test: ast.expr, new: ast.AST, old: ast.AST, operator: type[ast.boolop]) -> bool:
    """With `and`: does the change make the condition hold more often? With `or`: less often? A part of it is left out,
    the operator is exchanged, or a comparison of two numbers now includes (or excludes) that they are equal."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, operator):
        return False
    if old is test:
        if isinstance(new, ast.BoolOp) and len(new.values) == len(test.values):
            return not isinstance(new.op, operator)
        return not isinstance(new, ast.UnaryOp)
    inclusive = (ast.LtE, ast.GtE) if operator is ast.And else (ast.Lt, ast.Gt)
    return (
        old in test.values and isinstance(new, ast.Compare) and len(new.ops) == 1 and isinstance(new.ops[0], inclusive)
    )


def _message_kind(test: ast.AST) -> str:
    """The class in `isinstance(msg, Class)`, alone or first in a chain of `and`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[0]
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance":
        return ast.unparse(test.args[1])
    return ""


def _told(statement: ast.stmt, old: ast.stmt | ast.expr, new: str) -> str:
    """A change in words."""
    if isinstance(statement, (ast.If, ast.While)) and old is statement.test:
        keyword = type(statement).__name__.lower()
        return f"`{keyword} {ast.unparse(old)}` -> `{keyword} {new}`"
    where = "" if old is statement else f"in `{ast.unparse(statement).splitlines()[0]}`: "
    return f"{where}`{ast.unparse(old)}` -> `{new}`"

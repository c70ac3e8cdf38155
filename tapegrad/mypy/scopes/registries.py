"""Dictionaries of classes and functions that decorators fill, such as `MODELS` by `@register("mlp")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ClassDef,
    ComparisonExpr,
    Decorator,
    DelStmt,
    DictionaryComprehension,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    OperatorAssignmentStmt,
    RefExpr,
    StrExpr,
    Var,
)
from mypy.types import CallableType, get_proper_type

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.decorators import returned_function, returns_same_function
from tapegrad.mypy.scopes.frames import ClassOf, FunctionOf, Keywords
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Expression, Node

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value

_READING: Final = frozenset(f"builtins.{name}" for name in ("dict", "enumerate", "len", "list", "sorted", "tuple"))
_METHODS_THAT_READ: Final = frozenset({"format", "get", "items", "join", "keys", "values"})


def registered(dictionary: Expression, written: Value, api: Checker) -> Keywords | None:
    """Return the entries of a dictionary of a file that it fills by decorators alone; None for any other.

    The entries that are written where the dictionary is created come first.
    """
    variable = dictionary.node if isinstance(dictionary, NameExpr) else None
    found = _registries.of(checked_file(api)).get(variable) if isinstance(variable, Var) else None
    if found is None or not isinstance(written, Keywords):
        return None
    return Keywords((*(dict(written.values) | found).items(),))


def _read_registries(file: Node | None) -> dict[Var, dict[str, Value]]:
    """Return the entries that decorators add to each dictionary of a file, which nothing else changes."""
    if not isinstance(file, MypyFile):
        return {}
    functions = {one.name: one for one in file.defs if isinstance(one, FuncDef)}
    stored = {name: _stored_by(function) for name, function in functions.items()}
    found: dict[Var, dict[str, Value]] = {}
    for variable in {one.node for one, _ in filter(None, stored.values())}:
        if isinstance(variable, Var) and _is_only_filled(variable, file, stored):
            found[variable] = {}
    named = [node for node in nodes_in.of(file) if isinstance(node, NameExpr)]
    for definition, decorators, value in _decorated(file):
        for decorator in reversed(decorators):  # the last one is called first
            callee = decorator.callee if isinstance(decorator, CallExpr) else decorator
            called = callee.name if isinstance(callee, NameExpr) else ""
            filled = stored.get(called)
            if filled is None or not isinstance(variable := filled[0].node, Var) or variable not in found:
                continue
            name = _name_given(filled[1], decorator, functions[called], definition)
            if name is None:
                del found[variable]  # there is a key that is not known
            else:
                found[variable][name] = value
                named = [one for one in named if one is not callee]
    # Where a decorator is called in another way, such as `register("x")(MLP)`, it adds more.
    elsewhere = {
        filled[0].node for one in named if (filled := stored.get(one.name)) and one.node is functions[one.name]
    }
    return {variable: entries for variable, entries in found.items() if variable not in elsewhere}


_registries: Final = ScopeCache(_read_registries)


def _decorated(file: MypyFile) -> Iterator[tuple[str, list[Expression], Value]]:
    """Yield the name, the decorators and the value of each class and function of a file that has decorators."""
    for statement in file.defs:
        if isinstance(statement, ClassDef) and statement.decorators:
            yield statement.name, statement.decorators, ClassOf(statement.info)
        elif isinstance(statement, Decorator):
            t = get_proper_type(statement.func.type)
            value = FunctionOf(t, statement.func) if isinstance(t, CallableType) else None
            yield statement.name, statement.original_decorators, value


def _stored_by(function: FuncDef) -> tuple[NameExpr, Expression] | None:
    """Return the dictionary to which a decorator, or one that a function makes, adds its argument, and the key."""
    decorator = function if returns_same_function(function) else returned_function(function)
    if decorator is None or not returns_same_function(decorator):
        return None
    argument = decorator.arguments[0].variable
    for statement in decorator.body.body:
        match statement:
            case AssignmentStmt(
                lvalues=[IndexExpr(base=NameExpr() as base, index=key)], rvalue=NameExpr(node=stored)
            ) if stored is argument:
                return base, key
    return None


def _name_given(key: Expression, decorator: Expression, function: FuncDef, definition: str) -> str | None:
    """Return the key that a decorator gives a class or a function; None if it is not known."""
    match key:
        case NameExpr(node=Var() as parameter) if isinstance(decorator, CallExpr):
            names = [one.variable.name for one in function.arguments]
            position = names.index(parameter.name) if parameter.name in names else len(names)
            for at, (given, name) in enumerate(zip(decorator.args, decorator.arg_names, strict=True)):
                if (name == parameter.name or (name is None and at == position)) and isinstance(given, StrExpr):
                    return given.value
        case MemberExpr(name="__name__"):
            return definition
        case CallExpr(callee=MemberExpr(expr=MemberExpr(name="__name__"), name="lower"), args=[]):
            return definition.lower()
    return None


def _is_only_filled(variable: Var, file: MypyFile, stored: dict[str, tuple[NameExpr, Expression] | None]) -> bool:
    """Return whether a file creates a dictionary, fills it by decorators, and reads it."""
    filled = [one[0] for one in stored.values() if one is not None]
    nodes = nodes_in.of(file)
    targets = [target for node in nodes for target in _targets(node)]
    created = [one for one in targets if isinstance(one, NameExpr) and one.node is variable]
    changed = [
        one.base for one in targets if isinstance(one, IndexExpr) and getattr(one.base, "node", None) is variable
    ]
    read = {one for node in nodes for one in _read_in(node)}
    uses = [node for node in nodes if isinstance(node, NameExpr) and node.node is variable]
    return len(created) == 1 and all(one in filled for one in changed) and read.issuperset(uses)


def _targets(node: Node) -> list[Expression]:
    match node:
        case AssignmentStmt(lvalues=targets):
            return targets
        case OperatorAssignmentStmt(lvalue=target) | DelStmt(expr=target):
            return [target]
    return []


def _read_in(node: Node) -> list[Expression]:
    """Return the expressions whose items or keys a part of a file reads."""
    match node:
        case IndexExpr(base=base):
            return [base]
        case ComparisonExpr(operands=operands):
            return operands
        case ForStmt(expr=sequence):
            return [sequence]
        case GeneratorExpr(sequences=sequences) | DictionaryComprehension(sequences=sequences):
            return sequences
        case CallExpr(callee=MemberExpr(expr=owner, name=name), args=arguments) if name in _METHODS_THAT_READ:
            return [owner, *arguments]
        case CallExpr(callee=RefExpr(fullname=name), args=arguments) if name in _READING:
            return arguments
    return []

"""What the names of a function or a module are bound to, where each is bound once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from mypy.nodes import AssignmentStmt, Expression, FuncItem, ListExpr, NameExpr, Node, StarExpr, TupleExpr, Var

from tapegrad.mypy.internals import enclosing_function, module_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.mypy.internals import Checker

Bindings: TypeAlias = dict[Node | None, list[Expression | None]]

# What binds names besides assignments and parameters, and the attribute that holds them.
_BINDERS = {
    "AsPattern": "name",
    "AssignmentExpr": "target",
    "DelStmt": "expr",
    "ForStmt": "index",
    "MappingPattern": "rest",
    "OperatorAssignmentStmt": "lvalue",
    "StarredPattern": "capture",
    "TryStmt": "vars",
    "WithStmt": "target",
}
# Where the statements and expressions inside others stand; mypy's own visitors cannot be subclassed from a plugin.
_PARTS = (
    *("defs", "func", "body", "else_body", "finally_body", "handlers", "bodies", "guards", "patterns", "subject"),
    *("expr", "rvalue", "items", "args", "callee", "left", "right", "operands", "base", "index", "value", "values"),
    *("begin_index", "end_index", "stride", "if_expr", "cond", "else_expr", "left_expr", "sequences", "condlists"),
    *("pattern", "keys", "positionals", "keyword_values", "from_expr", "msg"),
)

_last: tuple[Node | None, Bindings] = (None, {})  # a scope is asked about again and again, then the next one


def bound_once(variable: Var, api: Checker) -> tuple[Expression | None, bool]:
    """Returns the expression a name stands for, None where a statement computes it, and whether it is the only one."""
    global _last  # noqa: PLW0603  # one scope is kept, not all of a program's
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    if _last[0] is not scope or variable not in _last[1]:  # a tree that is analysed anew has new names
        _last = (scope, _bindings(scope))
    values = _last[1].get(variable, [])
    return (values[0], True) if len(values) == 1 else (None, False)


def inside(scope: Node | None) -> Iterator[Any]:
    """Yields a function or a file, and every statement and expression in it."""
    pending: list[Any] = [scope]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += node
        elif node is not None:
            yield node
            pending += [getattr(node, part, None) for part in _PARTS]


def _bindings(scope: Node | None) -> Bindings:
    """Lists what a function or module binds; a value is None where a statement computes it."""
    found: Bindings = {}
    for node in inside(scope):
        for name, value in _bound_by(node):
            found.setdefault(name, []).append(value)
    return found


def _bound_by(node: Any) -> Iterator[tuple[Node | None, Expression | None]]:
    if isinstance(node, AssignmentStmt):
        for target in node.lvalues:
            yield from ((name.node, node.rvalue if name is target else None) for name in _names(target))
    elif isinstance(node, FuncItem):
        yield from ((argument.variable, None) for argument in node.arguments)
    elif type(node).__name__ in _BINDERS:
        yield from ((name.node, None) for name in _names(getattr(node, _BINDERS[type(node).__name__])))


def _names(target: Any) -> list[NameExpr]:
    if isinstance(target, NameExpr):
        return [target]
    if isinstance(target, TupleExpr | ListExpr):
        return _names(target.items)
    if isinstance(target, StarExpr):
        return _names(target.expr)
    return [name for one in target for name in _names(one)] if isinstance(target, list | tuple) else []

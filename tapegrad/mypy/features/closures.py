"""Functions inside of other functions, and the variables of the outer functions that they read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import CallExpr, ClassDef, FuncDef, GlobalDecl, LambdaExpr, MemberExpr, NameExpr, NonlocalDecl, Var
from mypy.types import Instance, PartialType, get_proper_type

from tapegrad.mypy.conversion import MODULE, has_any, tensor_parts
from tapegrad.mypy.features.body_lists import items_assigned
from tapegrad.mypy.features.partial_types import holds_tensors
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.scopes.collections import Use, use_of_variable
from tapegrad.mypy.scopes.file_contents import is_bound_once
from tapegrad.mypy.scopes.functions import lambda_functions
from tapegrad.mypy.scopes.loop_variables import ADDING
from tapegrad.mypy.scopes.names import ScopeCache, bound_in, inside, nodes_in, parts_of
from tapegrad.mypy.signatures import without_sizes
from tapegrad.mypy.sources import module_of

if TYPE_CHECKING:
    from mypy.nodes import Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


_CHANGING: Final = ADDING | {"clear", "pop", "popitem", "popleft", "remove", "reverse", "sort"}


def _read_inner(file: Node | None) -> dict[FuncDef, str]:
    """Return the functions of a file inside of other functions, with the full name of the function around each.

    One that is not the only one of its name there is left out.
    """
    found: dict[FuncDef, str] = {}
    for outer in nodes_in.of(file):
        if not isinstance(outer, FuncDef) or not (module_of(outer) or outer in found):
            continue
        scope = outer.fullname if module_of(outer) else f"{found[outer]}.{outer.name}"
        inner = _functions_in(outer)
        counts = Counter(one.name for one in inner)
        found |= {one: scope for one in inner if counts[one.name] == 1 and one not in bound_in(outer)}
    return found


inner_functions = ScopeCache(_read_inner)


def _functions_in(outer: FuncDef) -> list[FuncDef]:
    """Return the functions and the lambdas in the statements of a function, without those inside of them."""
    found: list[FuncDef] = []
    pending: list[Any] = [outer.body]
    while pending:
        node = pending.pop()
        if isinstance(node, FuncDef):
            found.append(node)
        elif isinstance(node, LambdaExpr):
            found += [one] if (one := lambda_functions.of(node)) is not None else []
        elif isinstance(node, list | tuple):
            pending += node
        elif not isinstance(node, ClassDef):
            pending += parts_of(node)
    return found


def changes_around(function: FuncDef) -> bool:
    """Return whether a function binds names of an outer one, or changes a list or a dictionary of it with tensors."""
    nodes = [*inside(function)]
    if any(isinstance(node, NonlocalDecl | GlobalDecl) for node in nodes):
        return True
    methods = [node.callee for node in nodes if isinstance(node, CallExpr) and isinstance(node.callee, MemberExpr)]
    named = [one.expr.node for one in methods if one.name in _CHANGING and isinstance(one.expr, NameExpr)]
    changed = {*named, *items_assigned(nodes)}
    outer = (one for one in changed - bound_in(function) if isinstance(one, Var) and one.fullname == one.name)
    return any(_may_hold_tensors(one.type) for one in outer)


def _may_hold_tensors(t: Type | None) -> bool:
    p = get_proper_type(t)
    return p is None or isinstance(p, PartialType) or holds_tensors(p) or has_any(p)


def changed_around(function: FuncDef, api: Checker) -> Var | None:
    """Return a variable of an outer function that a function reads, and whose tensors may be others at other calls."""
    read = (node.node for node in nodes_in.of(function) if isinstance(node, NameExpr))
    outer = dict.fromkeys(one for one in read if isinstance(one, Var) and one.fullname == one.name)
    return next((one for one in outer if one not in bound_in(function) and _may_differ(one, api)), None)


def _may_differ(variable: Var, api: Checker) -> bool:
    if variable.type is None or isinstance(variable.type, PartialType):
        return True
    if not holds_tensors(variable.type) and without_sizes(variable.type) is variable.type:
        return False
    is_changed = not _is_one(variable.type) and use_of_variable(variable, {program_file(api)}) is not Use.READ
    return is_changed or not is_bound_once(variable, api)


def _is_one(t: Type) -> bool:
    """Return whether a type is a tensor or a layer."""
    p = get_proper_type(t)
    return tensor_parts(p) is not None or (isinstance(p, Instance) and p.type.has_base(MODULE))

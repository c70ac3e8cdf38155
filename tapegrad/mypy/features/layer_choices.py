"""Attributes to which a constructor assigns layers of several classes, one in each branch of an `if` statement.

mypy takes the class of the first one for that of all, and would reject the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import AssignmentStmt, CallExpr, FuncDef, MemberExpr, NameExpr, RefExpr, TypeInfo, Var
from mypy.types import Instance, UnionType, get_proper_type

from tapegrad.mypy.conversion import MODULE, unknown
from tapegrad.mypy.mypy_api import attribute_variable, enclosing_function, quiet_type
from tapegrad.mypy.scopes.file_contents import method_of_receiver
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from mypy.nodes import Context, Expression, Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


def with_other_choices(value: Context, result: Type, api: Checker) -> Type:
    """Return the type of a layer that is the first one assigned to an attribute, with those that other branches assign.

    An attribute with an annotation, or to which layers of one class are assigned, stays as it is.
    """
    p = get_proper_type(result)
    if Reading.frame is not None or _judging or not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return result
    function = enclosing_function(api)
    if not isinstance(function, FuncDef) or not function.info:
        return result
    choices = _choices.of(function).get(value, [])
    owner = choices[0].expr if choices and isinstance(choices[0], MemberExpr) else None
    if owner is None or not isinstance(owner, NameExpr) or method_of_receiver(owner.node, api) is None:
        return result
    target, *others = choices
    variable = attribute_variable(target, api) if isinstance(target, MemberExpr) else None
    if not isinstance(variable, Var) or variable.type is not None or not variable.is_inferred:
        return result
    _judging.append(target)
    try:
        types = [_type_of(one, api) for one in others]
    finally:
        _judging.pop()
    return UnionType.make_union([p, *types])


def _type_of(call: Expression, api: Checker) -> Type:
    found = quiet_type(api, call)
    info = _layer_made(call) if isinstance(call, CallExpr) else None
    if found is not None or info is None:
        return unknown() if found is None else found
    return Instance(info, [unknown()] * len(info.type_vars))


_judging: Final[list[Expression]] = []  # the attribute whose other layers are being judged


def _read_choices(scope: Node | None) -> dict[Any, list[Expression]]:
    """Return the first call of each attribute that gets layers of several classes: the attribute and the others."""
    calls: dict[str, list[tuple[MemberExpr, CallExpr]]] = {}
    for node in nodes_in.of(scope):
        match node:
            case AssignmentStmt(lvalues=[MemberExpr() as target], rvalue=CallExpr() as call, type=None) if (
                _layer_made(call) is not None
            ):
                calls.setdefault(target.name, []).append((target, call))
    found: dict[Any, list[Expression]] = {}
    for several in calls.values():
        if len({_layer_made(call) for _, call in several}) > 1:
            (target, first), *others = sorted(several, key=lambda pair: (pair[1].line, pair[1].column))
            found[first] = [target, *(call for _, call in others)]
    return found


def _layer_made(call: CallExpr) -> TypeInfo | None:
    info = call.callee.node if isinstance(call.callee, RefExpr) else None
    return info if isinstance(info, TypeInfo) and info.has_base(MODULE) else None


_choices: Final = ScopeCache(_read_choices)

"""Whether a function computes with tensors, so that a call of it is worth reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, FuncDef, IndexExpr, MemberExpr, NameExpr, RefExpr, TypeInfo, Var
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.conversion import MODULE
from tapegrad.mypy.features.partial_types import holds_tensors
from tapegrad.mypy.scopes.functions import written_with_file
from tapegrad.mypy.scopes.names import ScopeCache, inside
from tapegrad.mypy.sources import module_of

if TYPE_CHECKING:
    from mypy.nodes import Expression, Node
    from mypy.types import ProperType

    from tapegrad.mypy.mypy_api import Checker


def makes_tensors(function: FuncDef, api: Checker) -> bool:
    """Return whether a function calls an op, a layer or a model, also by others of its file that it calls."""
    found, remaining = {function}, [function]
    while remaining:
        one = remaining.pop()
        if _calls_tensors.of(one):
            return True
        called = [written_with_file(each, api)[0] for each in _called_in_file.of(one)]
        new = [each for each in called if each is not None and each not in found]
        found.update(new)
        remaining += new
    return False


def _reads_tensors(function: Node | None) -> bool:
    return any(_is_of_tensors(node.callee) for node in inside(function) if isinstance(node, CallExpr))


def _read_called(function: Node | None) -> list[FuncDef]:
    nodes = inside(function)
    callees = [node.callee for node in nodes if isinstance(node, CallExpr)]
    callees += [MemberExpr(node.base, "__getitem__") for node in nodes if isinstance(node, IndexExpr)]
    called = [_function_called(one, function) for one in callees]
    return [one for one in dict.fromkeys(called) if one is not None]


def _is_of_tensors(callee: Expression) -> bool:
    """Return whether a call is of an op, a layer or a model, or of a function that takes or returns a tensor."""
    if not isinstance(callee, RefExpr):
        return False
    return (
        callee.fullname.startswith("tapegrad.")
        or (isinstance(callee.node, TypeInfo) and callee.node.has_base(MODULE))
        or (isinstance(callee.node, FuncDef) and _takes_tensors(callee.node))
        or (isinstance(callee.node, Var) and is_layer(get_proper_type(callee.node.type)))
    )


def _function_called(callee: Expression, function: Node | None) -> FuncDef | None:
    """Return the function of the same file that a function calls: also a constructor, or a method of a parameter."""
    match callee:
        case RefExpr(node=FuncDef() as called):
            pass
        case RefExpr(node=TypeInfo() as info):
            called = info.get_method("__init__")
        case MemberExpr(expr=NameExpr(node=Var() as variable), name=name) if (
            info := _class_of_parameter(variable, function)
        ) is not None:
            called = info.get_method(name)
        case _:
            return None
    is_here = isinstance(called, FuncDef) and isinstance(function, FuncDef) and module_of(called) == module_of(function)
    return called if isinstance(called, FuncDef) and is_here else None


def _class_of_parameter(variable: Var, function: Node | None) -> TypeInfo | None:
    """Return the declared class of a parameter of a function; None for any other variable."""
    parameters = [one.variable for one in function.arguments] if isinstance(function, FuncDef) else []
    if variable not in parameters or not isinstance(function, FuncDef):
        return None
    if function.info and variable is parameters[0] and not function.is_static:
        return function.info
    t = get_proper_type(variable.type)
    return t.type if isinstance(t, Instance) else None


def _takes_tensors(function: FuncDef) -> bool:
    """Return whether a function is declared to take or return a tensor, or to take a model."""
    declared = function.type
    types = [*declared.arg_types, declared.ret_type] if isinstance(declared, CallableType) else []
    return any(holds_tensors(one) or is_layer(get_proper_type(one)) for one in types)


def is_layer(t: ProperType | None) -> bool:
    """Return whether a type is a layer, of which a parameter such as `model: Student | Teacher` says less."""
    return isinstance(t, Instance) and t.type.has_base(MODULE)


_calls_tensors = ScopeCache(_reads_tensors)
_called_in_file = ScopeCache(_read_called)

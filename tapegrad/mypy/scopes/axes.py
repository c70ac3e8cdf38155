"""Names for the unknown sizes of tensors: `x.shape[0]`, where x is a parameter or is assigned once.

What is computed from them then has sizes that can be compared with each other, as if `x.shape` had been read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import (
    AssertTypeExpr,
    AssignmentStmt,
    CallExpr,
    DictExpr,
    Expression,
    ForStmt,
    IndexExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    SetExpr,
    TupleExpr,
)
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.mypy.conversion import (
    ARRAY,
    Many,
    has_any,
    is_iterator,
    opaque_paths,
    shape_items,
    shape_type,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import enclosing_function, make, outermost_scope
from tapegrad.mypy.scopes.file_contents import steady_name, unpacked_names
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.loop_variables import ADDING
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in, targets_bound_to
from tapegrad.sizes import is_unknown, opaque_name, size_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Context, Node, Var
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


def of_parameters(given: dict[Var, Type], scope: str, api: Checker) -> dict[Var, Type]:
    """Return the types that a call gives to parameters, with names for the unknown sizes of tensors and arrays.

    A name is that of the tensor that the call passes, also where the body binds the parameter again.
    """
    if any(path.endswith(f"@{scope}") for t in given.values() for path in opaque_paths(t)):
        return given  # names of another call of the function, which are those of other tensors
    return {variable: _named(t, variable.name, scope, api) for variable, t in given.items()}


def of_targets(value: Context, result: Type, api: Checker) -> Type:
    """Return the type of a value, with names for the unknown sizes of tensors after the variables it is assigned to.

    A loop assigns the items of a generator. A function that asserts unknown sizes, as in
    `assert_type(x, Tensor[Shape[Any, L[3]]])`, keeps them. So do variables that are put into lists and dictionaries,
    whose types would then exclude tensors of other sizes.
    """
    scope, p = enclosing_function(api) or outermost_scope(api), get_proper_type(result)
    if Reading.is_tried or asserts_unknown_sizes.of(scope):
        return result  # a layer that is tried makes a tensor that no variable is bound to
    if isinstance(p, Instance) and is_iterator(p):
        index = _indices_of_loops.of(scope).get(value)
        items = index.items if isinstance(index, TupleExpr) else [index]
        names = [one.node if isinstance(one, NameExpr) else None for one in items]
        item = _of_variables(p.args[0], names, api)
        return result if item is p.args[0] else p.copy_modified(args=[item, *p.args[1:]])
    if isinstance(p, TupleType):
        return _of_variables(result, unpacked_names(value, api) or [], api)
    targets = targets_bound_to(value, api) if tensor_parts(p) is not None else []
    return _of_variables(result, [one.node for one in targets], api)


_indices_of_loops: ScopeCache[dict[object, Expression]] = ScopeCache(
    lambda scope: {node.expr: node.index for node in nodes_in.of(scope) if isinstance(node, ForStmt)}
)


def _of_variables(t: Type, variables: Sequence[Node | None], api: Checker) -> Type:
    """Return the type of a tensor that is assigned to one variable, or of a tuple that is assigned to several."""
    p = get_proper_type(t)
    if not isinstance(p, TupleType):
        return _of_variable(t, variables[0], api) if len(variables) == 1 else t
    if len(variables) != len(p.items):
        return t
    return p.copy_modified(items=[_of_variable(one, name, api) for one, name in zip(p.items, variables, strict=True)])


def _reads_assertion(scope: Node | None) -> bool:
    analyzed = (node.analyzed for node in nodes_in.of(scope) if isinstance(node, CallExpr))
    return any(isinstance(one, AssertTypeExpr) and has_any(one.type) for one in analyzed)


asserts_unknown_sizes = ScopeCache(_reads_assertion)


def _read_collected(scope: Node | None) -> set[Node | None]:
    """Return the variables in displays and in calls such as `xs.append(x)`; an op only reads a list."""
    collected: list[Expression | None] = []
    read: set[Expression] = set()
    for node in nodes_in.of(scope):
        match node:
            case CallExpr(callee=RefExpr(fullname=name), args=args) if name.startswith("tapegrad."):
                read.update(args)
            case CallExpr(callee=MemberExpr(name=name), args=args) if name in ADDING:
                collected += args
            case AssignmentStmt(lvalues=[IndexExpr()], rvalue=value):
                collected.append(value)
    for node in nodes_in.of(scope):
        match node:
            case ListExpr(items=items) | SetExpr(items=items) if node not in read:
                collected += items
            case DictExpr(items=pairs) if node not in read:
                collected += [value for _, value in pairs]
    return {one.node for item in collected for one in _parts(item) if isinstance(one, NameExpr)}


def _parts(item: Expression | None) -> list[Expression]:
    """Return what is put into a collection: the items of a tuple, or else the item itself; `**options` has none."""
    if isinstance(item, TupleExpr):
        return [part for one in item.items for part in _parts(one)]
    return [] if item is None else [item]


_collected = ScopeCache(_read_collected)


def _of_variable(t: Type, variable: Node | None, api: Checker) -> Type:
    if variable in _collected.of(enclosing_function(api) or outermost_scope(api)):
        return t
    found = steady_name(variable, api, in_turns=True)
    return t if found is None else _named(t, *found, api)


def _named(t: Type, label: str, scope: str, api: Checker) -> Type:
    p = get_proper_type(t)
    is_named = isinstance(p, Instance) and (p.type.fullname == ARRAY or tensor_parts(p) is not None)
    items = shape_items(p.args[0]) if isinstance(p, Instance) and is_named and p.args else None
    if not isinstance(p, Instance) or items is None or any(isinstance(n, Many) for n in items):
        return t
    if not any(is_unknown(n) for n in items if not isinstance(n, Many)):
        return t
    names = [size_of_name(opaque_name(f"{label}.shape[{axis}]", scope)) for axis in range(len(items))]
    sizes = [name if not isinstance(n, Many) and is_unknown(n) else n for n, name in zip(items, names, strict=True)]
    return p.copy_modified(args=[shape_type(sizes, make(api)), *p.args[1:]])

"""Report layers and parameters that `__init__` creates but no method of the class uses.

Only what certainly stays unused is reported. A use is any read of the attribute by a method of the class, of its
bases or of its subclasses in the same file, or by other code of the file that is not a method of an unrelated class.
A class that passes `self` on, or has bases in other files, may use every attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ClassDef,
    ConditionalExpr,
    DictExpr,
    Expression,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    RefExpr,
    TupleExpr,
    TypeInfo,
)
from mypy.types import Instance, Type, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import MODULE, PARAM, TENSOR
from tapegrad.mypy.features.layer_names import layer_text
from tapegrad.mypy.mypy_api import checked_file, enclosing_function
from tapegrad.mypy.reports import UNUSED
from tapegrad.mypy.scopes.names import ScopeCache, inside, targets_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Context, Var
    from mypy.plugin import FunctionContext

_BASES_WITHOUT_USES: Final = frozenset(["abc", "builtins", "typing", "typing_extensions"])


class _Uses(NamedTuple):
    """The attributes that the code of a file reads, by name."""

    classes: list[TypeInfo]
    by_methods: dict[TypeInfo, set[str]]  # read on `self`
    passed_on: set[TypeInfo]  # classes with a method that uses `self` as a whole
    elsewhere: set[str]  # read on anything else


def report_idle(ctx: FunctionContext, result: Type) -> None:
    """Report a layer or a parameter that is assigned to an attribute of `self` here, if no method uses it."""
    made = get_proper_type(result)
    if not isinstance(made, Instance) or made.type.fullname == TENSOR:
        return
    is_layer = made.type.has_base(MODULE)
    if not is_layer and not made.type.has_base(PARAM):
        return
    function = enclosing_function(ctx.api)
    if not isinstance(function, FuncDef) or function.name != "__init__":
        return
    if not function.info or not function.info.has_base(MODULE):
        return
    assigned = _created_in.of(function).get(ctx.context)
    if assigned is None or _may_be_used(assigned.target.name, function.info, checked_file(ctx.api)):
        return
    owner = f"{function.info.name}.{assigned.target.name}"
    name = f"{owner} {layer_text(made)}" if assigned.is_alone and is_layer else owner
    ctx.api.fail(messages.idle(name), assigned.target, code=UNUSED)


class _Assigned(NamedTuple):
    """The attribute of `self` that a call's result is assigned to, and whether it is the whole value."""

    target: MemberExpr
    is_alone: bool


def _found_in(function: Node | None) -> dict[Context, _Assigned]:
    """Return the calls in a function whose results are assigned to attributes of `self`."""
    found: dict[Context, _Assigned] = {}
    variable = _first_parameter(function)
    for statement in inside(function):
        match statement:
            case AssignmentStmt(lvalues=[MemberExpr(expr=NameExpr(node=node)) as target], rvalue=value) if (
                node is variable
            ):
                found |= {call: _Assigned(target, call is value) for call in _parts_of_value(value)}
    return found


_created_in = ScopeCache(_found_in)


def _parts_of_value(value: Expression) -> Iterator[CallExpr]:
    """Yield the calls that make a value, or the items of a display or a comprehension."""
    pending: list[Any] = [value]
    while pending:
        match pending.pop():
            case CallExpr() as call:
                yield call
            case ListExpr(items=items) | TupleExpr(items=items):
                pending += items
            case DictExpr(items=pairs):
                pending += [one for _, one in pairs]
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                pending.append(item)
            case ConditionalExpr(if_expr=first, else_expr=second):
                pending += [first, second]


def _may_be_used(name: str, owner: TypeInfo, file: MypyFile) -> bool:
    """Return whether any code may use an attribute of a class that only `__init__` is known to set."""
    uses = _uses.of(file)
    if owner not in uses.classes:
        uses = _uses.of(file, again=True)
    family = {one for kind in uses.classes if owner in kind.mro for one in kind.mro}
    if name in uses.elsewhere or uses.passed_on & family or any(name in uses.by_methods.get(one, ()) for one in family):
        return True
    outside = [one for one in family if one not in uses.classes and one.fullname != MODULE]
    if any(one.module_name not in _BASES_WITHOUT_USES for one in outside):
        return True
    forward = owner.get("forward")
    if forward is None or getattr(forward.node, "info", None) not in uses.classes:
        return True  # it only holds its layers, for other code to use
    return any("__getattr__" in one.names or "__getattribute__" in one.names for one in family - set(outside))


def _read_uses(file: Node | None) -> _Uses:
    nodes = list(inside(file))
    classes = [node.info for node in nodes if isinstance(node, ClassDef)]
    selves: dict[Var | None, TypeInfo] = {
        _first_parameter(node): node.info for node in nodes if isinstance(node, FuncDef) and node.info
    }
    uses = _Uses(classes, {}, set(), set())
    receivers: set[Node] = set()  # the names `self` of `self.x` and `self(x)`
    for node in [*nodes, *_read_by_targets(nodes)]:
        match node:
            case MemberExpr(expr=NameExpr(node=variable) as receiver, name=name) if variable in selves:
                receivers.add(receiver)
                _add_read(uses, selves[variable], name)
            case MemberExpr(expr=RefExpr(node=MypyFile())):  # such as `tg.norm`, of a module and no object
                pass
            case MemberExpr(name=name):
                uses.elsewhere.add(name)
            case CallExpr(callee=NameExpr() as callee):
                receivers.add(callee)
    uses.passed_on.update(
        selves[node.node]
        for node in nodes
        if isinstance(node, NameExpr) and node.node in selves and node not in receivers
    )
    return uses


_uses = ScopeCache(_read_uses)


def _add_read(uses: _Uses, owner: TypeInfo, name: str) -> None:
    uses.by_methods.setdefault(owner, set()).add(name)
    inherited = owner.get(name)
    definer = getattr(inherited.node, "info", None) if inherited is not None else None
    if definer is not None and definer not in uses.classes:
        uses.passed_on.add(owner)  # `self.parameters()` reaches every layer


def _read_by_targets(nodes: list[Any]) -> Iterator[Node]:
    """Yield what assignments read in their targets: `self.layers` in `self.layers[0] = layer`."""
    for node in nodes:
        if isinstance(node, OperatorAssignmentStmt):
            yield from inside(node.lvalue)
        for target in targets_in(node.lvalues) if isinstance(node, AssignmentStmt) else ():
            if isinstance(target, IndexExpr | MemberExpr):
                yield from inside(target.base if isinstance(target, IndexExpr) else target.expr)


def _first_parameter(function: Node | None) -> Var | None:
    arguments = function.arguments if isinstance(function, FuncDef) else []
    return arguments[0].variable if arguments else None

"""Lists and dictionaries of tensors in a body that is read: their items are known, while all statements run in order.

Such a list has the type of a tuple of its items, with the class of a list behind it for its methods. With the type of
such a dictionary its entries are saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_STAR,
    AssignmentStmt,
    Block,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    RefExpr,
    ReturnStmt,
    RevealExpr,
    SetComprehension,
    SliceExpr,
    StarExpr,
    TupleExpr,
    UnaryExpr,
    Var,
    YieldExpr,
)
from mypy.types import AnyType, Instance, TupleType, Type, get_proper_type

from tapegrad.mypy.conversion import tensor_parts, unknown
from tapegrad.mypy.features.partial_types import join
from tapegrad.mypy.scopes.collections import FUNCTIONS_THAT_READ
from tapegrad.mypy.scopes.names import bound_by, inside, is_short_circuit, parts_of, targets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mypy.nodes import Node, Statement
    from mypy.plugin import MethodContext

_READING: Final = {f"builtins.{name}" for name in ("enumerate", "len", "list", "reversed", "tuple", "zip")}
_LISTS: Final = "builtins.list", "collections.deque"
_METHODS_THAT_READ: Final = {"get", "items", "keys", "values"}
_METHODS_THAT_STORE: Final = {"add", "append", "appendleft", "extend", "insert", "setdefault", "update"}
_BRANCHING: Final = ConditionalExpr, DictionaryComprehension, GeneratorExpr, LambdaExpr, SetComprehension


def listed_variables(statements: list[Statement], given: Iterable[Var]) -> frozenset[Var]:
    """Return the variables of a body that hold lists which only `append`, `insert(0, x)`, `pop` and `reverse` change.

    Each is created by `[]`, `[x, y]` or a comprehension, perhaps by a choice of two, or returned by a call, or is one
    of the parameters that a call has given lists. It is then read at once (by an op, a loop, an index or `len`),
    returned, or passed on to a call, after which its items are unknown. Nothing else can hold the list, so the
    statements say what it has. A deque of any length is such a list too.
    """
    nodes = [node for statement in statements for node in inside(statement)]
    created = [variable for node in nodes for variable in _created(node)]
    return _followed(nodes, created, _used, [*given])


def filled_dictionaries(statements: list[Statement]) -> tuple[frozenset[Var], frozenset[Var]]:
    """Return the variables of a body that hold dictionaries which only `out[key] = value` changes.

    Each is created by `{}`, by a display or by a comprehension, and only its items and its keys are read, until it is
    returned. The second set has also those that calls get, which may change them.
    """
    nodes = [node for statement in statements for node in inside(statement)]
    filled = items_assigned(nodes)
    created = [variable for node in nodes for variable in _created_dictionary(node) if variable in filled]
    stored = {variable for node in nodes if isinstance(node, AssignmentStmt) for variable in _viewed(node.rvalue)}
    followed, passed_on = (_followed(nodes, created, one) for one in (_used_dictionary, _used_or_passed_on))
    return followed - stored, passed_on - stored


def items_assigned(nodes: Iterable[Node]) -> set[Var]:
    """Return the variables to whose items statements assign."""
    targets = [target for node in nodes for target in _targets(node)]
    return {*_named(target.base for target in targets if isinstance(target, IndexExpr))}


def _targets(node: Node) -> list[Expression]:
    match node:
        case AssignmentStmt(lvalues=targets):
            return targets_in(targets)
        case OperatorAssignmentStmt(lvalue=target):
            return [target]
    return []


def _followed(
    nodes: list[Any], created: list[Var], used_in: Callable[[Node], list[Var]], given: Sequence[Var] = ()
) -> frozenset[Var]:
    """Return the variables that are bound only where they are created, and used only in ways that are understood."""
    if not created and not given:
        return frozenset()
    bound = [name for node in nodes for name, _ in bound_by(node)]
    named = [node.node for node in nodes if isinstance(node, NameExpr)]  # without what statements bind
    used = [variable for node in nodes for variable in used_in(node)]
    unclear = {variable for node in nodes if _may_run(node) for variable in popped_from(node)}
    functions = [node for node in nodes if isinstance(node, FuncDef | LambdaExpr)]
    unclear.update(_named(one for function in functions for one in inside(function)))
    for node in nodes:
        if isinstance(node, AssignmentStmt | ExpressionStmt | OperatorAssignmentStmt | ReturnStmt):
            popped = popped_from(node)
            unclear |= {variable for variable in popped if popped.count(variable) > 1}
    return frozenset(
        variable
        for variable in (*created, *given)
        if variable not in unclear
        and (bound.count(variable), named.count(variable)) == (created.count(variable), used.count(variable))
    )


def _may_run(node: Node) -> bool:
    """Return whether parts of an expression may run, and may not, or again and again."""
    return isinstance(node, _BRANCHING) or is_short_circuit(node)


def _created(node: Node) -> list[Var]:
    match node:
        case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=value, type=declared) if (
            variable.is_inferred or _is_list_of_tensors(declared)
        ) and _is_display(value):
            return [variable]
        case AssignmentStmt(lvalues=[TupleExpr(items=targets)], rvalue=TupleExpr(items=values)) if len(targets) == len(
            values
        ):
            created = [one for one, value in zip(targets, values, strict=True) if _is_display(value)]
            return [variable for variable in _named(created) if variable.is_inferred]
        case AssignmentStmt(lvalues=[TupleExpr(items=targets)]):
            rest = [one.expr for one in targets if isinstance(one, StarExpr)]
            return [variable for variable in _named(rest) if variable.is_inferred]
        case AssignmentStmt(
            lvalues=[NameExpr(node=Var() as variable)], rvalue=CallExpr() | IndexExpr(index=SliceExpr()), type=None
        ):
            p = get_proper_type(variable.type)
            is_list = isinstance(p, Instance) and p.type.fullname in _LISTS
            return [variable] if variable.is_inferred and is_list else []
    return []


def _is_list_of_tensors(declared: Type | None) -> bool:
    """Return whether a variable is declared as a list, or a deque, of tensors of any shape, such as `list[Tensor]`."""
    p = get_proper_type(declared)
    is_list = isinstance(p, Instance) and p.type.fullname in _LISTS
    parts = tensor_parts(p.args[0]) if is_list and isinstance(p, Instance) else None
    return parts is not None and isinstance(get_proper_type(parts.shape), AnyType)


def _created_dictionary(node: Node) -> list[Var]:
    match node:
        case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=DictExpr(items=pairs)):
            return [] if any(isinstance(value, DictExpr) for _, value in pairs) else [variable]
        case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)], rvalue=DictionaryComprehension()):
            return [variable]
    return []


def _is_display(value: Expression) -> bool:
    match value:
        case ListExpr(items=items):
            return not any(isinstance(one, StarExpr) for one in items)
        case ListComprehension(generator=GeneratorExpr(condlists=[[]])):
            return True
        case ConditionalExpr(if_expr=one, else_expr=other):
            return _is_display(one) and _is_display(other)
    return display_of_deque(value) is not None


def display_of_deque(value: Expression) -> ListExpr | None:
    """Return the list of the items that a deque of any length is created with, if they are written there."""
    match value:
        case CallExpr(callee=RefExpr(fullname="collections.deque"), args=[]):
            return ListExpr([])
        case CallExpr(callee=RefExpr(fullname="collections.deque"), args=[ListExpr() as items]) if _is_display(items):
            return items
    return None


def _used(node: Node) -> list[Var]:
    """Return the lists that a part of a body reads or changes in a way that is understood."""
    match node:
        case ExpressionStmt(expr=CallExpr() as call) if (appended := appended_to(call)) is not None:
            return [appended]
        case ExpressionStmt(expr=CallExpr() as call) if (turned := reversed_by(call)) is not None:
            return [turned]
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="pop"), args=[]):
            return [variable]
        case CallExpr(callee=callee, args=arguments) if getattr(callee, "name", "") not in _METHODS_THAT_STORE:
            return _named(arguments)
        case ForStmt(expr=read) | StarExpr(expr=read) | AssignmentStmt(lvalues=[TupleExpr()], rvalue=read):
            return _named([read])
        case GeneratorExpr(sequences=sequences):
            return _named(sequences)
        case IndexExpr(base=base):
            return _named([base])
        case ReturnStmt(expr=TupleExpr(items=returned)):
            return _named(returned)
        case ReturnStmt(expr=Expression() as returned):
            return _named([returned])
    return []


def _used_dictionary(node: Node) -> list[Var]:
    """Return the dictionaries of which a part of a body reads items or keys, or that it returns or yields."""
    match node:
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=Var() as variable), name=name)) if (
            name in _METHODS_THAT_READ
        ):
            return [variable]
        case CallExpr(callee=RefExpr(fullname=name), args=arguments) if (
            name.startswith("tapegrad.") or name in FUNCTIONS_THAT_READ
        ):
            return _named(arguments)
        case ForStmt(expr=read) | StarExpr(expr=read) | IndexExpr(base=read) | RevealExpr(expr=Expression() as read):
            return _named([read])
        case GeneratorExpr(sequences=read) | DictionaryComprehension(sequences=read) | ComparisonExpr(operands=read):
            return _named(read)
        case ReturnStmt(expr=TupleExpr(items=returned)):
            return _named(returned)
        case Block(body=[*before, ExpressionStmt(expr=YieldExpr(expr=Expression() as yielded))]):
            made = [variable for statement in before for variable in _created_dictionary(statement)]
            names = _named(yielded.items if isinstance(yielded, TupleExpr) else [yielded])
            return [one for one in names if one in made]  # a new one at each turn
        case ReturnStmt(expr=Expression() as read) | UnaryExpr(expr=read):
            return _named([read])
        case IfStmt(expr=conditions):
            return _named(conditions)
    return []


def _used_or_passed_on(node: Node) -> list[Var]:
    return _named(node.args) if isinstance(node, CallExpr) and _named(node.args) else _used_dictionary(node)


def _viewed(value: Expression) -> list[Var]:
    """Return the variable whose dictionary an expression is a view of, which changes with it."""
    match value:
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="items" | "keys" | "values")):
            return [variable]
    return []


def _named(expressions: Iterable[Node]) -> list[Var]:
    return [one.node for one in expressions if isinstance(one, NameExpr) and isinstance(one.node, Var)]


def appended_to(call: CallExpr) -> Var | None:
    """Return the variable whose list gets an item by `items.append(item)`, or at the front, see `is_at_front`."""
    match call:
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="append" | "appendleft"), args=[_]):
            return variable
        case CallExpr(
            callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="insert"), args=[IntExpr(value=0), _]
        ):
            return variable
    return None


def is_at_front(call: CallExpr) -> bool:
    """Return whether a call adds an item before all others: `items.appendleft(item)` or `items.insert(0, item)`."""
    return getattr(call.callee, "name", "") != "append"


def reversed_by(call: CallExpr) -> Var | None:
    """Return the variable whose list `items.reverse()` reverses."""
    match call:
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="reverse"), args=[]):
            return variable
    return None


def passed_on(value: Expression) -> list[Var]:
    """Return the variables that calls in an expression get as arguments, and may change, since they are not reads."""
    calls = [one for one in inside(value) if isinstance(one, CallExpr)]
    return [variable for call in calls if not _only_reads(call) for variable in _named(call.args)]


def _only_reads(call: CallExpr) -> bool:
    name = getattr(call.callee, "fullname", "")
    return name.startswith("tapegrad.") or name in _READING


def popped_from(node: Node) -> list[Var]:
    """Return the variables whose lists lose their last items in a part of a body."""
    calls = [one for one in inside(node) if isinstance(one, CallExpr)]
    return [
        call.callee.expr.node
        for call in calls
        if isinstance(call.callee, MemberExpr)
        and call.callee.name == "pop"
        and isinstance(call.callee.expr, NameExpr)
        and isinstance(call.callee.expr.node, Var)
    ]


def changed_lists(statements: Iterable[Node]) -> set[Var]:
    """Return the variables whose lists statements change or replace."""
    nodes = [node for statement in statements for node in inside(statement)]
    calls = [node for node in nodes if isinstance(node, CallExpr)]
    changed = [one for call in calls for one in (appended_to(call), reversed_by(call))]
    appended = {variable for variable in changed if variable is not None}
    return appended.union(*map(popped_from, calls), *map(_created, nodes))


def comprehensions_in(value: Expression) -> list[ListComprehension | DictionaryComprehension]:
    """Return the comprehensions of lists and dictionaries that an expression surely evaluates, once."""
    return [node for node in _evaluated_in(value) if isinstance(node, ListComprehension | DictionaryComprehension)]


def starred_in(value: Expression) -> list[GeneratorExpr]:
    """Return the generators in `f(*(x[rows] for x in pair))` that an expression surely runs to their end, once."""
    calls = [node for node in _evaluated_in(value) if isinstance(node, CallExpr)]
    arguments = [pair for call in calls for pair in zip(call.args, call.arg_kinds, strict=True)]
    return [one for one, kind in arguments if isinstance(one, GeneratorExpr) and kind is ARG_STAR]


def _evaluated_in(value: Expression) -> Iterator[Node]:
    """Yield the parts of an expression that it surely evaluates, once."""
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += node
            continue
        yield node
        if not isinstance(node, ListComprehension | DictionaryComprehension) and not _may_run(node):
            pending += parts_of(node)


def list_of(items: list[Type], fallback: Instance) -> TupleType:
    """Return the type of a list, or a deque, with some items; the fallback says what they have in common."""
    return TupleType(items, fallback.copy_modified(args=[join(items) if items else unknown()]))


def listed_items(t: Type | None) -> list[Type] | None:
    """Return the types of the items of a list, where they are known one by one."""
    p = get_proper_type(t)
    return p.items if isinstance(p, TupleType) and p.partial_fallback.type.fullname in _LISTS else None


def plain_list(t: Type) -> Type:
    """Return the type of a list without what is known of its single items."""
    p, items = get_proper_type(t), listed_items(t)
    if not isinstance(p, TupleType) or items is None:
        return t
    return p.partial_fallback


def popped(ctx: MethodContext) -> Type:
    """Return the type of the last item, which `pop` returns."""
    items = listed_items(ctx.type)
    return items[-1] if items and not any(ctx.args) else ctx.default_return_type

"""What a file says of names and attributes: where names get their values, and which loops and calls are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    ClassDef,
    DelStmt,
    DictionaryComprehension,
    ForStmt,
    FuncDef,
    FuncItem,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    RefExpr,
    StarExpr,
    StrExpr,
    TempNode,
    TupleExpr,
    UnaryExpr,
    Var,
    WhileStmt,
)

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.loop_variables import is_of_one_turn
from tapegrad.mypy.scopes.names import BINDERS, ScopeCache, nodes_in, paired, parts_of, targets_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Expression, MypyFile, Node

    from tapegrad.mypy.mypy_api import Checker

ANY_NAME: Final = "*"  # of an attribute of `self` that is set by a name that is computed
_CHANGING: Final = ("clear", "pop", "popitem", "setdefault", "update")  # methods of dicts
_PARSING: Final = ("parse_args", "parse_intermixed_args", "parse_known_args", "parse_known_intermixed_args")


class Origin(NamedTuple):
    """Where a name gets its value: the function, the value if it is written, or the shape that it is unpacked from."""

    scope: str
    is_steady: bool  # a parameter, or an assignment outside of loops
    value: Expression | None = None
    unpacked: tuple[Expression, int] | None = None


class Write(NamedTuple):
    """An assignment to an attribute: the method if it is one of `self`, and the value if it is written."""

    method: FuncDef | None
    value: Expression | None
    is_steady: bool = True  # outside of loops
    unpacked: tuple[Expression, int] | None = None  # the tuple that it is unpacked from, and the position
    is_operator: bool = False  # `self.x += y`


class Loop(NamedTuple):
    """A loop, or one of a comprehension: what it assigns to, what it runs over, and the function that it is in."""

    target: Expression
    sequence: Expression
    scope: str


class Contents(NamedTuple):
    """What a file says of names and attributes, read once."""

    origins: dict[Node | None, list[Origin]]
    writes: dict[str, list[Write]]
    constants: dict[tuple[str, str], list[Expression | None]]  # of classes, by class and name
    receivers: dict[Node, FuncDef]  # the first parameter of each method
    unpackings: dict[Expression, list[Node | None]]  # the names that a tuple is assigned to
    loops: dict[Node, Loop]  # by variable
    axes: dict[Expression, tuple[Node | None, int]]  # of `n = x.shape[0]`, by `x.shape`: the name and the axis
    functions: dict[str, FuncDef | None]  # by full name; None if there are several
    is_dynamic: bool  # some attribute is set by a name that is computed


def unpacked_names(value: Any, api: Checker) -> list[Node | None] | None:
    """Return the variable for each item of a tuple that is assigned to several names; None if it is not."""
    return checked_contents(api).unpackings.get(value)


def steady_name(name: Node | None, api: Checker, *, in_turns: bool = False) -> tuple[str, str] | None:
    """Return the name of a variable that is assigned once, outside of loops, and the function that it is in.

    Args:
        name: The variable.
        api: The checker.
        in_turns: Whether a variable counts too that a loop binds again in each turn, and uses only there.
    """
    origin = origin_of(name, api)
    if not isinstance(name, Var) or origin is None or (name.is_argument and not origin.is_steady):
        return None
    return (name.name, origin.scope) if origin.is_steady or (in_turns and is_of_one_turn(name, api)) else None


def position_of(index: Expression) -> int | None:
    """Return the whole number that an index is written as; None for any other index."""
    match index:
        case IntExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=IntExpr(value=value)):
            return -value
    return None


def method_of_receiver(variable: Node | None, api: Checker) -> FuncDef | None:
    """Return the method whose first parameter a name is; None if it is any other name."""
    return checked_contents(api).receivers.get(variable) if variable is not None else None


def steady_value(variable: Var, api: Checker) -> tuple[Expression | None, str]:
    """Return what a variable is assigned once, outside of loops, if it is, and the function of the variable."""
    origin = origin_of(variable, api)
    if origin is None or not origin.is_steady:
        return None, ""
    return origin.value, origin.scope


def is_bound_once(variable: Var, api: Checker) -> bool:
    """Return whether only one statement, which may be in a loop, or a call binds a variable of the checked file."""
    return origin_of(variable, api) is not None


def made_in_loop(variable: Var, api: Checker) -> CallExpr | IndexExpr | ListComprehension | None:
    """Return the only call, list or item that a variable is assigned, in a loop, where each turn has other objects."""
    origin = origin_of(variable, api)
    if origin is None or origin.is_steady or variable.is_argument:
        return None
    return origin.value if isinstance(origin.value, CallExpr | IndexExpr | ListComprehension) else None


def loop_of(variable: Var, api: Checker) -> Loop | None:
    """Return the loop that binds a variable; None if there is none, or if another statement binds it too."""
    contents = checked_contents(api)
    return contents.loops.get(variable) if len(contents.origins.get(variable, ())) <= 1 else None


def function_named(name: str, api: Checker) -> FuncDef | None:
    """Return the function of the checked file with a full name, if there is only one."""
    return checked_contents(api).functions.get(name)


def is_defined_once(function: FuncDef, file: MypyFile) -> bool:
    """Return whether a file has one function of a name: of several, such as in both branches of an `if`, any may be."""
    return contents_in.of(file).functions.get(function.fullname) is function


def is_of_another_file(variable: Var, api: Checker) -> bool:
    """Return whether a variable, or the class with it, is one of another file than the checked one."""
    module = variable.info.module_name if variable.info else variable.fullname.rpartition(".")[0]
    return module not in ("", checked_file(api).fullname)


def origin_of(variable: Node | None, api: Checker) -> Origin | None:
    """Return the only origin of a name of the file that is checked; None if it has several."""
    known = checked_contents(api).origins.get(variable, [])
    return known[0] if len(known) == 1 else None


def unpacked_from(variable: Var, api: Checker) -> tuple[Expression, int, str] | None:
    """Return what a name is unpacked from, its position and the function, as in `x, y = pair`; None if unclear."""
    origin = origin_of(variable, api)
    if origin is None or origin.unpacked is None or not origin.is_steady:
        return None
    return (*origin.unpacked, origin.scope)


def unpacked_in_loop(variable: Var, api: Checker) -> tuple[Expression, int, str] | None:
    """Return what a name is unpacked from at each turn of a loop, as `unpacked_from` does outside of loops."""
    origin = origin_of(variable, api)
    if origin is None or origin.unpacked is None or origin.is_steady:
        return None
    return (*origin.unpacked, origin.scope)


def checked_contents(api: Checker) -> Contents:
    """Return the contents of the file that is checked."""
    return contents_in.of(checked_file(api))


def _read(file: Node | None) -> Contents:
    contents = Contents({}, {}, {}, {}, {}, {}, {}, {}, is_dynamic=False)
    is_dynamic = _changes_attributes_by_name(file)
    calls: list[CallExpr] = []
    for node in nodes_in.of(file):
        if isinstance(node, FuncDef):
            contents.functions[node.fullname] = node if node.fullname not in contents.functions else None
        if isinstance(node, FuncDef) and node.info and node.arguments and not node.is_static:
            contents.receivers[node.arguments[0].variable] = node
        elif isinstance(node, ClassDef):
            _read_constants(node, contents)
        elif isinstance(node, CallExpr):
            calls.append(node)
    for call in calls:  # with all receivers known
        is_dynamic |= _read_call(call, contents)
    _read_statements(file, contents)
    return contents._replace(is_dynamic=is_dynamic)


def _read_constants(node: ClassDef, contents: Contents) -> None:
    statements = (one for one in node.defs.body if isinstance(one, AssignmentStmt))
    for statement in statements:
        for whole in statement.lvalues:
            for target, value in paired(whole, statement.rvalue):
                if isinstance(target, NameExpr):
                    contents.constants.setdefault((node.fullname, target.name), []).append(value)


def _read_call(call: CallExpr, contents: Contents) -> bool:
    """Note an attribute that `setattr` sets; return whether a call sets attributes whose names are computed."""
    name = getattr(call.callee, "name", "")
    if name in _PARSING and "namespace" in call.arg_names:
        return True
    if name == "exec":
        return True
    if name not in ("setattr", "__setattr__"):
        return False
    literal = next((one.value for one in call.args if isinstance(one, StrExpr)), None)
    owner = call.args[0] if call.args else None
    method = contents.receivers.get(owner.node) if isinstance(owner, NameExpr) and owner.node is not None else None
    if literal is None and method is None:
        return True
    contents.writes.setdefault(literal or ANY_NAME, []).append(Write(method, None, is_steady=False))
    return False


def _changes_attributes_by_name(file: Any) -> bool:
    """Return whether a file may change the dict of an object's attributes, also by a name that it gives the dict."""
    nodes = nodes_in.of(file)
    assignments = [one for one in nodes if isinstance(one, AssignmentStmt)]
    names = {
        target.node
        for one in assignments
        if _is_of_attributes(one.rvalue)
        for target in one.lvalues
        if isinstance(target, NameExpr)
    }

    def holds(expression: Expression) -> bool:
        is_named = isinstance(expression, NameExpr) and expression.node in names
        return is_named or _is_of_attributes(expression)

    changed = [target for one in assignments for target in one.lvalues]
    changed += [one.lvalue for one in nodes if isinstance(one, OperatorAssignmentStmt)]
    changed += [target for one in nodes if isinstance(one, DelStmt) for target in targets_in(one.expr)]
    if any(isinstance(one, IndexExpr) and holds(one.base) for one in changed):
        return True
    for call in nodes:
        if not isinstance(call, CallExpr):
            continue
        callee = call.callee
        if isinstance(callee, MemberExpr) and callee.name in _CHANGING and holds(callee.expr):
            return True
        is_own = isinstance(callee, RefExpr) and callee.fullname.startswith(f"{file.fullname}.")
        if is_own and any(
            kind not in (ARG_STAR, ARG_STAR2) and holds(one)
            for one, kind in zip(call.args, call.arg_kinds, strict=True)
        ):
            return True
    return False


def _is_of_attributes(expression: Expression) -> bool:
    """Return whether an expression is the dict of an object's attributes."""
    match expression:
        case MemberExpr(name="__dict__") | CallExpr(callee=NameExpr(name="vars"), args=[_]):
            return True
        case CallExpr(callee=NameExpr(name="globals"), args=[]):
            return True
    return False


def _read_statements(file: Any, contents: Contents) -> None:
    """Note the origins of names and the assignments to attributes, each with whether it is outside of loops."""
    pending: list[tuple[Any, str, bool]] = [(file, file.fullname, True)]
    while pending:
        node, scope, is_steady = pending.pop()
        if isinstance(node, list | tuple):
            pending += [(one, scope, is_steady) for one in node]
            continue
        if isinstance(node, FuncItem):
            scope, is_steady = _scope_of(node, scope), True
            for argument in node.arguments:
                # A negative default is no size.
                is_size = not isinstance(node, LambdaExpr) and not isinstance(argument.initializer, UnaryExpr)
                _note(argument.variable, Origin(scope, is_size), contents)
        elif isinstance(node, ForStmt | WhileStmt):
            is_steady = False
        if isinstance(node, ForStmt):
            _note_loop(Loop(node.index, node.expr, scope), contents)
        elif isinstance(node, GeneratorExpr | DictionaryComprehension):
            for target, sequence in zip(node.indices, node.sequences, strict=True):
                _note_loop(Loop(target, sequence, scope), contents)
        if isinstance(node, AssignmentStmt):
            _read_assignment(node, scope, contents, is_steady=is_steady)
        elif type(node).__name__ in BINDERS:
            is_operator = isinstance(node, OperatorAssignmentStmt)
            for target, _ in _targets(node):
                _read_target(target, Origin(scope, is_steady=False), contents, is_operator=is_operator)
        pending += [(part, scope, is_steady) for part in parts_of(node)]


def _note_loop(loop: Loop, contents: Contents) -> None:
    for target in targets_in(loop.target):
        if isinstance(target, NameExpr) and target.node is not None:
            contents.loops[target.node] = loop


def _read_assignment(node: AssignmentStmt, scope: str, contents: Contents, *, is_steady: bool) -> None:
    places: dict[Expression, tuple[Expression, int]] = {}
    match node:
        case AssignmentStmt(
            lvalues=[NameExpr(node=name)], rvalue=IndexExpr(base=MemberExpr(name="shape") as shape, index=index)
        ):
            position = position_of(index)
            if position is not None:
                contents.axes[shape] = name, position
    for target in node.lvalues:
        if isinstance(target, TupleExpr) and not any(isinstance(one, StarExpr) for one in target.items):
            contents.unpackings[node.rvalue] = [one.node if isinstance(one, NameExpr) else None for one in target.items]
            places |= {one: (node.rvalue, position) for position, one in enumerate(target.items)}
    for target, value in _targets(node):
        _read_target(target, Origin(scope, is_steady, value, places.get(target) if value is None else None), contents)


def _read_target(target: Expression, origin: Origin, contents: Contents, *, is_operator: bool = False) -> None:
    if isinstance(target, NameExpr):
        _note(target.node, origin, contents)
    elif isinstance(target, MemberExpr):
        owner = target.expr.node if isinstance(target.expr, NameExpr) else None
        method = contents.receivers.get(owner) if owner is not None else None
        write = Write(method, origin.value, origin.is_steady, origin.unpacked, is_operator)
        contents.writes.setdefault(target.name, []).append(write)


def _note(name: Node | None, origin: Origin, contents: Contents) -> None:
    contents.origins.setdefault(name, []).append(origin)


def _targets(node: Any) -> Iterator[tuple[Expression, Expression | None]]:
    """Yield what a statement assigns to, with the value where it is written."""
    if isinstance(node, AssignmentStmt):
        for target in node.lvalues if not isinstance(node.rvalue, TempNode) else ():  # else only declared
            yield from paired(target, node.rvalue)
    elif type(node).__name__ in BINDERS:
        yield from ((target, None) for target in targets_in(getattr(node, BINDERS[type(node).__name__])))


def _scope_of(function: FuncItem, scope: str) -> str:
    name = function.fullname if isinstance(function, FuncDef) else "<lambda>"
    return name if name.startswith(f"{scope}.") else f"{scope}.{name.rpartition('.')[2]}"


contents_in = ScopeCache(_read)

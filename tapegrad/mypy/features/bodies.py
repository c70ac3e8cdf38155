"""Results of functions and methods whose annotations say less than their bodies, such as `forward(self, x: Tensor)`.

At a call with tensors of known sizes, the statements of the body are read again with the types of the arguments in
place of the declared ones. Only functions of the same file are read, and only bodies without branches: assignments to
variables, loops that keep all types, and one `return` at the end. A method is read only if its object is exactly of
its class: a subclass may override the method.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    AssertStmt,
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    MemberExpr,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    ReturnStmt,
    StrExpr,
    TupleExpr,
    Var,
)
from mypy.plugin import MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeVarId,
    TypeVarLikeType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.calls.assertions import forgetting
from tapegrad.mypy.conversion import opaque_paths, tensor_parts, without_opaque
from tapegrad.mypy.mypy_api import BodiesRead, checked_file, enclosing_function, inside_body, narrow
from tapegrad.mypy.scopes.names import ScopeCache, inside
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.signatures import parameter_names
from tapegrad.mypy.unify.arguments import arguments_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.plugin import FunctionContext

    from tapegrad.mypy.mypy_api import Checker

_DEEPEST: Final = 4  # calls inside of bodies that are read
_MOST: Final = 1000  # results; far more than a file has calls of such functions


class _UnreadError(Exception):
    """A body has a statement that is not read."""


def completed(ctx: FunctionContext | MethodContext, declared: CallableType, result: Type) -> Type:
    """Return the result type of a call, with what the body of the function says where the declaration says nothing."""
    if tensor_parts(result) is None or not _is_open(result):
        return result
    function = _function(ctx, declared)
    if function is None:
        return result
    given = _given(ctx, declared, function)
    if given is None:
        return result
    read = _result(ctx.api, function, given)
    if read is None:
        return result
    kept = frozenset().union(*(opaque_paths(t) for t in given.values()))
    if _is_of_self(ctx):
        kept |= frozenset(path for path in opaque_paths(read) if _is_of_class(path, function))
    return _filled(result, without_opaque(read, kept))


def _is_open(t: Type) -> bool:
    """Return whether a tensor type has unknown parts."""
    p = get_proper_type(t)
    if not isinstance(p, Instance) or len(p.args) != 3:
        return False
    shape = get_proper_type(p.args[0])
    parts = [*(shape.items if isinstance(shape, TupleType) else [shape]), *p.args[1:]]
    return any(isinstance(get_proper_type(part), AnyType) for part in parts)


def _function(ctx: FunctionContext | MethodContext, declared: CallableType) -> FuncDef | None:
    """Return the function that a call runs, if its body can be read."""
    function = declared.definition
    if (
        not isinstance(function, FuncDef)
        or BodiesRead.depth >= _DEEPEST
        or function in _active
        or function is enclosing_function(ctx.api)
        or ctx.api.options.fine_grained_incremental  # the daemon would not check the call again when the body changes
        or function.is_decorated
        or function.is_generator
        or function.is_coroutine
        or function.is_property
        or function.is_static
        or function.is_class
        or any(kind in (ARG_STAR, ARG_STAR2) for kind in function.arg_kinds)
    ):
        return None
    tree = checked_file(ctx.api)
    module = function.info.module_name if function.info else function.fullname.rpartition(".")[0]
    if module != tree.fullname or not function.body.body or tree.is_stub:
        return None
    if function.info and not _is_exact(ctx, function):
        return None
    return function


def _is_exact(ctx: FunctionContext | MethodContext, function: FuncDef) -> bool:
    """Return whether a call of a method runs this method: its object has no subclass that overrides the method."""
    call = ctx.context
    callee = call.callee if isinstance(call, CallExpr) else None
    owner = callee.expr if isinstance(callee, MemberExpr) and callee.name == function.name else callee
    if not isinstance(ctx, MethodContext) or not isinstance(owner, NameExpr | MemberExpr):
        return False
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance):
        return False
    if receiver.type.fullname in _extended.of(checked_file(ctx.api)):
        return False
    if _is_of_self(ctx):
        return True
    variable = owner.node if isinstance(owner, NameExpr) else _attribute(owner, ctx.api)
    return isinstance(variable, Var) and variable.is_inferred and not variable.is_argument


def _extended_in(file: Node | None) -> frozenset[str]:
    """Return the full names of the classes that another class of a file extends."""
    infos = [node.info for node in inside(file) if isinstance(node, ClassDef)] if file is not None else []
    return frozenset(base.fullname for info in infos for base in info.mro[1:])


_extended = ScopeCache(_extended_in)


def _attribute(owner: MemberExpr, api: Checker) -> Any:
    p = get_proper_type(api.lookup_type_or_none(owner.expr))
    symbol = p.type.get(owner.name) if isinstance(p, Instance) else None
    return symbol.node if symbol is not None else None


def _is_of_self(ctx: FunctionContext | MethodContext) -> bool:
    """Return whether a method is called on the object of the method that calls it."""
    function, call = enclosing_function(ctx.api), ctx.context
    callee = call.callee if isinstance(call, CallExpr) else None
    owner = callee.expr if isinstance(callee, MemberExpr) else None
    if not isinstance(function, FuncDef) or not function.info or not function.arguments:
        return False
    return isinstance(owner, NameExpr) and owner.node is function.arguments[0].variable


def _is_of_class(path: str, function: FuncDef) -> bool:
    """Return whether an opaque size is that of an attribute, which all methods of an object share."""
    scope = path.partition("@")[2]
    return bool(function.info) and scope.startswith(function.info.fullname) and scope != function.fullname


def _given(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef) -> dict[Var, Type] | None:
    """Return the types of the parameters in a call; None if no tensor among them is known."""
    arguments = arguments_of(ctx, parameter_names(declared))
    given: dict[Var, Type] = {}
    is_known = False
    for argument in function.arguments:
        actuals = arguments.get(argument.variable.name, [])
        if not actuals:
            continue
        if len(actuals) > 1 or actuals[0].starred:
            return None
        tensor = actuals[0].tensor
        if tensor is not None:
            given[argument.variable] = actuals[0].type
            is_known = is_known or not isinstance(get_proper_type(tensor.shape), AnyType)
    if isinstance(ctx, MethodContext) and function.info:
        given[function.arguments[0].variable] = ctx.type
    return given if is_known else None


_active: set[FuncDef] = set()
_read: dict[tuple[Block, tuple[Type, ...]], Type | None] = {}
_read_in: list[object] = [None, -1]  # the checker and its pass in which the results were read


def _result(api: Checker, function: FuncDef, given: dict[Var, Type]) -> Type | None:
    """Return what a function returns for arguments of some types; None if the body is not read or has an error."""
    if _read_in != [api, api.pass_num] or len(_read) >= _MOST:
        _read.clear()
        _read_in[:] = [api, api.pass_num]
    key = function.body, tuple(given.values())
    if key not in _read:
        _read[key] = _newly_read(api, function, given)
    return _read[key]


def _newly_read(api: Checker, function: FuncDef, given: dict[Var, Type]) -> Type | None:
    _active.add(function)
    try:
        with _types_of(given) as types, forgetting(), other_shapes(), inside_body(api, function) as errors:
            result = _run(api, function.body.body, types)
    except _UnreadError:
        return None
    finally:
        _active.discard(function)
    if errors or result is None:
        return None
    own = {variable.id for variable in function.type.variables} if isinstance(function.type, CallableType) else set()
    return None if own & _variables_in(result) else result  # left by a parameter that the call leaves out


def _variables_in(t: Type) -> set[TypeVarId]:
    p = get_proper_type(t)
    if isinstance(p, TypeVarLikeType):
        return {p.id}
    parts = p.args if isinstance(p, Instance) else p.items if isinstance(p, TupleType) else ()
    inner = [p.type] if isinstance(p, UnpackType) else parts
    return set().union(*map(_variables_in, inner))


class _Types:
    """The types of variables while a body is read, and those to restore."""

    def __init__(self) -> None:
        self._before: dict[Var, tuple[Type | None, bool]] = {}

    def set(self, variable: Var, t: Type) -> None:
        self._before.setdefault(variable, (variable.type, variable.is_ready))
        variable.type, variable.is_ready = t, True

    def restore(self) -> None:
        for variable, (t, is_ready) in self._before.items():
            variable.type, variable.is_ready = t, is_ready

    def now(self) -> dict[Var, Type | None]:
        return {variable: variable.type for variable in self._before}

    def is_set(self, variable: Var) -> bool:
        return variable in self._before


@contextmanager
def _types_of(given: dict[Var, Type]) -> Iterator[_Types]:
    types = _Types()
    try:
        for variable, t in given.items():
            types.set(variable, t)
        yield types
    finally:
        types.restore()


def _run(api: Checker, statements: list[Any], types: _Types) -> Type | None:
    """Read statements; return the type of what they return, None if they return nothing."""
    for statement in statements:
        match statement:
            case ReturnStmt(expr=Expression() as value):
                if statement is not statements[-1]:
                    raise _UnreadError
                returned: Type = api.expr_checker.accept(value)
                return returned
            case AssignmentStmt(lvalues=[target], rvalue=value, type=None):
                _bind(api, target, api.expr_checker.accept(value), types)
            case OperatorAssignmentStmt(lvalue=NameExpr() as target, rvalue=value, op=op):
                computed = OpExpr(op, target, value)
                computed.set_line(statement)
                _bind(api, target, api.expr_checker.accept(computed), types)
            case ForStmt(index=NameExpr(node=Var() as variable), expr=value, body=body, else_body=None):
                _loop(api, variable, value, body.body, types)
            case ExpressionStmt(expr=StrExpr()) | AssertStmt() | PassStmt():
                pass
            case ExpressionStmt(expr=value):
                api.expr_checker.accept(value, allow_none_return=True)
            case _:
                raise _UnreadError
    return None


def _bind(api: Checker, target: Any, t: Type, types: _Types) -> None:
    match target:
        case NameExpr(node=Var() as variable) if not variable.is_property and not variable.is_final:
            if not variable.is_inferred and not types.is_set(variable):
                raise _UnreadError  # a global variable, or one with an annotation
            types.set(variable, t)
            narrow(api, target, t)
        case TupleExpr(items=targets):
            p = get_proper_type(t)
            if not isinstance(p, TupleType) or len(p.items) != len(targets):
                raise _UnreadError
            for one, item in zip(targets, p.items, strict=True):
                _bind(api, one, item, types)
        case _:
            raise _UnreadError


def _loop(api: Checker, variable: Var, value: Expression, body: list[Any], types: _Types) -> None:
    """Read a loop once; all variables that exist before must have the same types after it."""
    before = types.now()
    types.set(variable, api.analyze_iterable_item_type(value)[1])
    if _run(api, body, types) is not None:
        raise _UnreadError
    after = types.now()
    if not all(_are_same(after[one], t) for one, t in before.items() if one is not variable):
        raise _UnreadError


def _are_same(one: Type | None, other: Type | None) -> bool:
    """Return whether two types are the same, apart from the class behind a tuple, which shapes have differently."""
    p, q = get_proper_type(one), get_proper_type(other)
    if isinstance(p, Instance) and isinstance(q, Instance):
        return p == q or (p.type is q.type and len(p.args) == len(q.args) and all(map(_are_same, p.args, q.args)))
    if isinstance(p, TupleType) and isinstance(q, TupleType):
        return len(p.items) == len(q.items) and all(map(_are_same, p.items, q.items))
    return p == q


def _filled(declared: Type, read: Type) -> Type:
    """Return a tensor type with what was read in place of its unknown parts."""
    p, q = get_proper_type(declared), get_proper_type(read)
    if not isinstance(p, Instance) or not isinstance(q, Instance) or p.type is not q.type or len(p.args) != len(q.args):
        return declared
    return p.copy_modified(args=[_filled_part(one, other) for one, other in zip(p.args, q.args, strict=True)])


def _filled_part(declared: Type, read: Type) -> Type:
    p, q = get_proper_type(declared), get_proper_type(read)
    if isinstance(p, AnyType):
        return q
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        return p.copy_modified(items=[_filled_part(one, other) for one, other in zip(p.items, q.items, strict=True)])
    return declared

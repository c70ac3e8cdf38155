"""Results of functions and methods whose annotations say less than their bodies, such as `forward(self, x: Tensor)`.

At a call with tensors of known sizes, the statements of the body are read again with the types of the arguments in
place of the declared ones. Only functions of the same file are read, and only bodies without branches: assignments to
variables, loops that keep all types, and one `return` at the end. A method is read only if the file makes its object,
so that no subclass overrides the method. An error in a statement that surely runs is an error of the program.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    AssertStmt,
    AssignmentStmt,
    Block,
    CallExpr,
    ConditionalExpr,
    Context,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    LambdaExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    ReturnStmt,
    Statement,
    StrExpr,
    TryStmt,
    TupleExpr,
    Var,
    WithStmt,
)
from mypy.plugin import MethodContext
from mypy.typeops import get_all_type_vars
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypeVarId,
    TypeVarLikeType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.calls.assertions import forgetting
from tapegrad.mypy.conversion import is_size, opaque_paths, tensor_parts, without_opaque
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    checked_file,
    enclosing_function,
    inside_body,
    is_of_library,
    narrow,
    report_in_body,
)
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.frames import Frame, Made, Reading, Several, Value, is_passed_on, within
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.objects import has_items, object_of, value_of_expression
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.signatures import parameter_names
from tapegrad.mypy.unify.arguments import arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.errorcodes import ErrorCode
    from mypy.errors import ErrorInfo
    from mypy.plugin import FunctionContext

    from tapegrad.mypy.mypy_api import Checker

_DEEPEST: Final = 12  # calls inside of bodies that are read
_MOST: Final = 1000  # results; far more than a file has calls of such functions
_MOST_OF_ONE: Final = 20  # results of one function; a function that is called with more shapes is not read any more


class _UnreadError(Exception):
    """A body has a statement that is not read."""


class _FailedError(Exception):
    """A statement of a body surely fails."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Failure(NamedTuple):
    """An error in a body that is read.

    Attributes:
        lines: Those of the calls that lead to it, innermost first.
    """

    message: str
    code: ErrorCode
    line: int
    column: int
    end_line: int
    end_column: int
    lines: tuple[int, ...] = ()


class Outcome(NamedTuple):
    """What a call returns, and why it fails; both None if unknown."""

    result: Type | None = None
    failure: Failure | None = None


_NOTHING: Final = Outcome()


def completed(ctx: FunctionContext | MethodContext, declared: CallableType, result: Type) -> Type:
    """Return the result type of a call, with what the body of the function says where the declaration says nothing."""
    function = declared.definition
    if not isinstance(function, FuncDef) or is_of_library(declared) or not _is_readable(function, ctx.api):
        return result
    receiver = _receiver(ctx, function)
    if receiver is None and function.info:
        return result
    given = _given(ctx, declared, function)
    if given is None:
        return result
    frame = _frame(ctx, declared, function, receiver)
    outcome = _outcome(ctx.api, function, frame, given)
    if outcome.failure is not None:
        _fail(ctx, outcome.failure, given)
    if outcome.result is None:
        return result
    same = receiver is not None and Reading.frame is not None and receiver == Reading.frame.receiver
    passed = frozenset().union(*map(opaque_paths, given.values()))
    values = [*frame.values.values(), receiver]
    kept = frozenset(
        path
        for path in opaque_paths(outcome.result)
        if path in passed
        or any(is_passed_on(path, value) for value in values)
        or (same and _is_of_class(path, function))
    )
    return _filled(result, without_opaque(outcome.result, kept))


def _is_readable(function: FuncDef, api: Checker) -> bool:
    """Return whether the body of a function can be read, and may say more than its declaration."""
    if (
        BodiesRead.depth >= _DEEPEST
        or function in _active
        or function is enclosing_function(api)
        or api.options.fine_grained_incremental  # the daemon would not check the call again when the body changes
        or function.is_decorated
        or function.is_generator
        or function.is_coroutine
        or function.is_property
        or function.is_static
        or function.is_class
        or any(kind in (ARG_STAR, ARG_STAR2) for kind in function.arg_kinds)
        or not _says_little(function)
    ):
        return False
    tree = checked_file(api)
    module = function.info.module_name if function.info else function.fullname.rpartition(".")[0]
    return module == tree.fullname and bool(function.body.body) and not tree.is_stub


def _says_little(function: FuncDef) -> bool:
    """Return whether a tensor in the declaration of a function has unknown parts."""
    declared = function.type
    known = _open.get(function)
    if known is None or known[0] is not declared:
        types = [*declared.arg_types, declared.ret_type] if isinstance(declared, CallableType) else []
        known = _open[function] = declared, any(map(_is_open, types))
    return known[1]


_open: dict[FuncDef, tuple[object, bool]] = {}


def _is_open(t: Type) -> bool:
    """Return whether a type is a tensor with unknown parts, or has one in it."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return any(map(_is_open, p.items))
    if not isinstance(p, Instance) or tensor_parts(p) is None or len(p.args) != 3:
        return False
    shape = get_proper_type(p.args[0])
    parts = [*(shape.items if isinstance(shape, TupleType) else [shape]), *p.args[1:]]
    return any(isinstance(get_proper_type(part), AnyType) for part in parts)


def _receiver(ctx: FunctionContext | MethodContext, function: FuncDef) -> Made | None:
    """Return the object of a method that is called, if its class is known and has this method."""
    call = ctx.context
    callee = call.callee if isinstance(call, CallExpr) else None
    owner = callee.expr if isinstance(callee, MemberExpr) and callee.name == function.name else callee
    if not function.info or not isinstance(owner, NameExpr | MemberExpr):
        return None
    made = object_of(owner, ctx.api)
    if not isinstance(made, Made):
        return None
    symbol = made.info.get(function.name)
    return made if symbol is not None and symbol.node is function else None


def _is_of_class(path: str, function: FuncDef) -> bool:
    """Return whether an opaque size is that of an attribute, which all methods of an object share."""
    scope = path.partition("@")[2]
    return bool(function.info) and scope.startswith(function.info.fullname) and scope != function.fullname


def _given(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef) -> dict[Var, Type] | None:
    """Return the types of the parameters in a call; None if no tensor among them is known.

    None as well if another parameter, such as a function, is declared with type variables: in the body it would keep
    them, beside tensors that have the sizes of the call.
    """
    arguments = arguments_of(ctx, parameter_names(declared))
    given: dict[Var, Type] = {}
    is_known = False
    for argument in function.arguments:
        actuals = arguments.get(argument.variable.name, [])
        if not actuals:
            if isinstance(argument.initializer, NameExpr) and argument.initializer.name == "None":
                given[argument.variable] = NoneType()
            continue
        if len(actuals) > 1 or actuals[0].starred:
            return None
        tensor = actuals[0].tensor
        if tensor is not None or is_size(argument.variable.type or actuals[0].type):
            given[argument.variable] = actuals[0].type
        is_known = is_known or (tensor is not None and not isinstance(get_proper_type(tensor.shape), AnyType))
    if isinstance(ctx, MethodContext) and function.info:
        given[function.arguments[0].variable] = ctx.type
    others = (argument.variable.type for argument in function.arguments if argument.variable not in given)
    is_open = any(t is not None and get_all_type_vars(t) for t in others)
    return given if is_known and not is_open else None


def _frame(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef, made: Made | None) -> Frame:
    arguments = arguments_of(ctx, parameter_names(declared))
    values: dict[str, Value] = {}
    for argument in function.arguments[1 if function.info else 0 :]:
        name = argument.variable.name
        for actual in arguments.get(name, ()):
            if actual.tensor is None:
                values[name] = None if actual.expression is None else value_of_expression(actual.expression, ctx.api)
        if name not in arguments and argument.initializer is not None:
            with within(None):
                values[name] = value_of_expression(argument.initializer, ctx.api)
    return Frame(function.fullname, values, made, {})


_active: set[FuncDef] = set()
_Key: TypeAlias = "tuple[Block, tuple[Type, ...], tuple[tuple[str, Value], ...], Made | None]"
_read: dict[_Key, Outcome] = {}
_counts: dict[FuncDef, int] = {}
_read_in: list[object] = [None, -1]  # the checker and its pass in which the results were read
_failures: list[list[Failure]] = []  # of the calls in each body that is read


def _outcome(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type]) -> Outcome:
    """Return what a function returns for arguments of some types."""
    if _read_in != [api, api.pass_num] or len(_read) >= _MOST:
        _read.clear()
        _counts.clear()
        _read_in[:] = [api, api.pass_num]
    key = function.body, tuple(given.values()), tuple(frame.values.items()), frame.receiver
    if key not in _read:
        _counts[function] = _counts.get(function, 0) + 1
        if _counts[function] > _MOST_OF_ONE:
            return _NOTHING
        _read[key] = _newly_read(api, function, frame, given)
    return _read[key]


def _newly_read(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type]) -> Outcome:
    _active.add(function)
    _failures.append([])
    try:
        with (
            _types_of(given) as types,
            forgetting(),
            other_shapes(),
            within(frame),
            inside_body(api, function) as errors,
        ):
            result = _Reader(api, frame, types, errors).run(function.body.body)
    except _UnreadError:
        return _NOTHING
    except _FailedError as failed:
        return Outcome(failure=failed.failure)
    finally:
        _failures.pop()
        _active.discard(function)
    if result is None:
        return _NOTHING
    own = {variable.id for variable in function.type.variables} if isinstance(function.type, CallableType) else set()
    return _NOTHING if own & _variables_in(result) else Outcome(result)  # left by a parameter that the call leaves out


def _fail(ctx: FunctionContext | MethodContext, failure: Failure, given: dict[Var, Type]) -> None:
    """Report an error in a body that was read: at its own line, with the lines of the calls."""
    led = failure._replace(lines=(*failure.lines, ctx.context.line))
    if _failures:
        _failures[-1].append(led)
        return
    are_certain = not any(_variables_in(t) or isinstance(get_proper_type(t), UnionType) for t in given.values())
    if not are_certain or _may_expect_error(ctx.context, ctx.api):  # two names may be one size to the caller
        return
    at = Context(led.line, led.column)
    at.end_line, at.end_column = led.end_line, led.end_column
    lines = ", ".join(map(str, led.lines))
    report_in_body(ctx.api, led.message, f"in the call on line {lines}", at, led.code)


def _may_expect_error(call: Context, api: Checker) -> bool:
    """Return whether a call is in a lambda, or in a `try` or a `with` statement."""
    scope = enclosing_function(api) or checked_file(api)
    return isinstance(scope, LambdaExpr) or any(
        isinstance(node, TryStmt | WithStmt) and node.line <= call.line <= (node.end_line or node.line)
        for node in inside(scope)
    )


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


class _Reader:
    """Reads the statements of a body."""

    def __init__(self, api: Checker, frame: Frame, types: _Types, errors: Callable[[], list[ErrorInfo]]) -> None:
        self._api = api
        self._frame = frame
        self._types = types
        self._errors = errors
        self._is_certain = True

    def run(self, statements: list[Statement]) -> Type | None:
        """Read statements; return the type of what they return, None if they return nothing."""
        for statement in statements:
            returned = self._read(statement, is_last=statement is statements[-1])
            if returned is not None:
                return returned
        return None

    def _read(self, statement: Statement, *, is_last: bool) -> Type | None:
        match statement:
            case ReturnStmt(expr=Expression() as value) if is_last:
                return self._type_of(value)
            case AssignmentStmt(lvalues=[target], rvalue=value, type=declared):
                if declared is not None and not _is_open(declared):
                    raise _UnreadError
                t = self._type_of(value)
                self._bind(target, t if declared is None else _filled(declared, t), is_declared=declared is not None)
            case OperatorAssignmentStmt(lvalue=NameExpr() as target, rvalue=value, op=op):
                computed = OpExpr(op, target, value)
                computed.set_line(statement)
                self._bind(target, self._type_of(computed))
            case ForStmt(index=NameExpr(node=Var() as variable), expr=value, body=body, else_body=None):
                self._loop(variable, value, body.body)
            case ExpressionStmt(expr=StrExpr()) | AssertStmt() | PassStmt():
                pass
            case ExpressionStmt(expr=value):
                self._type_of(value, may_be_none=True)
            case _:
                raise _UnreadError
        return None

    def _type_of(self, value: Expression, *, may_be_none: bool = False) -> Type:
        found: Type = self._api.expr_checker.accept(value, allow_none_return=may_be_none)
        failures, errors = _failures[-1], self._errors()
        if not failures and not errors:
            return found
        if not self._is_certain or not _is_evaluated(value):
            raise _UnreadError
        if failures:
            raise _FailedError(failures[0])
        first = errors[0]
        if first.code is None or first.code not in CODES.values():
            raise _UnreadError
        end_line, end_column = first.end_line or first.line, first.end_column or first.column
        raise _FailedError(Failure(first.message, first.code, first.line, first.column, end_line, end_column))

    def _bind(self, target: Expression, t: Type, *, is_declared: bool = False) -> None:
        match target:
            case NameExpr(node=Var() as variable) if not variable.is_property and not variable.is_final:
                if not variable.is_inferred and not is_declared and not self._types.is_set(variable):
                    raise _UnreadError  # a global variable, or one with an annotation
                self._types.set(variable, t)
                narrow(self._api, target, t)
            case TupleExpr(items=targets):
                p = get_proper_type(t)
                if not isinstance(p, TupleType) or len(p.items) != len(targets):
                    raise _UnreadError
                for one, item in zip(targets, p.items, strict=True):
                    self._bind(one, item)
            case _:
                raise _UnreadError

    def _loop(self, variable: Var, value: Expression, body: list[Statement]) -> None:
        """Read a loop once; all variables that exist before must have the same types after it."""
        before, is_certain = self._types.now(), self._is_certain
        several = object_of(value, self._api)
        self._frame.variables[variable] = several.item if isinstance(several, Several) else None
        self._is_certain = is_certain and has_items(value, self._api)
        self._types.set(variable, self._api.analyze_iterable_item_type(value)[1])
        if self.run(body) is not None:
            raise _UnreadError
        self._is_certain = is_certain
        after = self._types.now()
        if not all(_are_same(after[one], t) for one, t in before.items() if one is not variable):
            raise _UnreadError


def _is_evaluated(value: Expression) -> bool:
    """Return whether all parts of an expression are evaluated whenever it is."""
    conditional = ConditionalExpr, LambdaExpr, GeneratorExpr, DictionaryComprehension
    return not any(
        isinstance(node, conditional) or (isinstance(node, OpExpr) and node.op in ("and", "or"))
        for node in inside(value)
    )


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
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        return p.copy_modified(items=[_filled(one, other) for one, other in zip(p.items, q.items, strict=True)])
    if tensor_parts(p) is None:
        return declared
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

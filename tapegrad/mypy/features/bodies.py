"""Results of functions and methods whose annotations say less than their bodies, such as `forward(self, x: Tensor)`.

At a call with tensors of known sizes, the statements of the body are read again with the types of the arguments in
place of the declared ones. Only functions of the same file are read, and only some statements: assignments to
variables, loops that keep all types, `if` statements of which the call decides the condition, `with` statements, and
`return` at the end. A method is read only if the file makes its object, so that no subclass overrides the method. An
error in a statement that surely runs is an error of the program.
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
    IfStmt,
    IndexExpr,
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
    TypeInfo,
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
    can_read_bodies,
    checked_file,
    depend_on_bodies,
    enclosing_function,
    inside_body,
    is_of_library,
    may_suppress,
    narrow,
    narrow_by_condition,
    report_in_body,
    types_in_body,
)
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.frames import Frame, Made, Reading, Several, Value, is_passed_on, within
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.objects import decided, has_items, object_of, value_of_expression
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.scopes.records import BodyReading, is_recorded, record_read, record_unread, recorded_calls
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
    """A body is not read, or has a statement that is not; the message says why, in a clause."""


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
    """What a call returns, or why it fails, or why its body is not read."""

    result: Type | None = None
    failure: Failure | None = None
    unread: str = ""
    reading: BodyReading | None = None  # if a report on the file is wanted


def completed(ctx: FunctionContext | MethodContext, declared: CallableType, result: Type) -> Type:
    """Return the result type of a call, with what the body of the function says where the declaration says nothing."""
    function = declared.definition
    if not isinstance(function, FuncDef) or is_of_library(declared) or not _may_be_read(function, ctx.api):
        return result
    try:
        return _completed(ctx, declared, function, result)
    except _UnreadError as unread:
        if is_recorded(ctx.api) and not _makes_object(ctx.context):  # whose layers are then tried, one after the other
            record_unread(ctx.api, function, str(unread))
        return result


def _completed(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef, result: Type) -> Type:
    depend_on_bodies(ctx.api)
    _require_readable(function, ctx.api)
    receiver = _receiver(ctx, function)
    if receiver is None and function.info:
        raise _UnreadError(f"it is not known which object the method is of in the call on line {ctx.context.line}")
    given = _given(ctx, declared, function)
    frame = _frame(ctx, declared, function, receiver)
    outcome = _outcome(ctx.api, function, frame, given)
    if outcome.failure is not None:
        _fail(ctx, outcome.failure, given)
    if outcome.result is None:
        raise _UnreadError(outcome.unread or f"the call on line {ctx.context.line} is an error")
    if outcome.reading is not None:
        record_read(ctx.api, outcome.reading, ctx.context.line)
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


def _makes_object(call: Context) -> bool:
    callee = call.callee if isinstance(call, CallExpr) else None
    return isinstance(callee, NameExpr | MemberExpr) and isinstance(callee.node, TypeInfo)


def _may_be_read(function: FuncDef, api: Checker) -> bool:
    """Return whether a function is one of the checked file whose body may say more than its declaration."""
    if not says_little(function) or not can_read_bodies(api.options):
        return False
    tree = checked_file(api)
    module = function.info.module_name if function.info else function.fullname.rpartition(".")[0]
    return module == tree.fullname and bool(function.body.body) and not tree.is_stub


def _require_readable(function: FuncDef, api: Checker) -> None:
    """Check that the body of a function can be read.

    Raises:
        _UnreadError: It cannot.
    """
    if BodiesRead.depth >= _DEEPEST:
        raise _UnreadError(f"more than {_DEEPEST} calls lead to it")
    if function in _active or function is enclosing_function(api):
        raise _UnreadError("it calls itself")
    for is_unreadable, reason in (
        (function.is_decorated, "it has a decorator"),
        (function.is_generator, "it is a generator"),
        (function.is_coroutine, "it is asynchronous"),
        (function.is_property, "it is a property"),
        (function.is_static or function.is_class, "it is no method of an object"),
        (ARG_STAR in function.arg_kinds or ARG_STAR2 in function.arg_kinds, "it takes any number of arguments"),
    ):
        if is_unreadable:
            raise _UnreadError(reason)


def says_little(function: FuncDef) -> bool:
    """Return whether a tensor in the declaration of a function has unknown parts."""
    declared = function.type
    known = _open.get(function)
    if known is None or known[0] is not declared:
        types = [*declared.arg_types, declared.ret_type] if isinstance(declared, CallableType) else []
        known = _open[function] = declared, any(map(is_open, types))
    return known[1]


_open: dict[FuncDef, tuple[object, bool]] = {}


def is_open(t: Type) -> bool:
    """Return whether a type is a tensor with unknown parts, or has one in it."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return any(map(is_open, p.items))
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
    if not function.info or not isinstance(owner, NameExpr | MemberExpr | IndexExpr | CallExpr):
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


def _given(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef) -> dict[Var, Type]:
    """Return the types of the parameters in a call.

    Raises:
        _UnreadError: No tensor among them is known, or another parameter, such as a function, is declared with type
            variables: in the body it would keep them, beside tensors that have the sizes of the call.
    """
    line = ctx.context.line
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
            raise _UnreadError(f"the call on line {line} has a starred argument")
        tensor = actuals[0].tensor
        t = get_proper_type(actuals[0].type)
        if tensor is not None or isinstance(t, NoneType) or is_size(argument.variable.type or t):
            given[argument.variable] = t
        is_known = is_known or (tensor is not None and not isinstance(get_proper_type(tensor.shape), AnyType))
    if isinstance(ctx, MethodContext) and function.info:
        given[function.arguments[0].variable] = ctx.type
    others = (argument.variable.type for argument in function.arguments if argument.variable not in given)
    if not is_known:
        raise _UnreadError(f"the call on line {line} passes no tensor of known shape")
    if any(t is not None and get_all_type_vars(t) for t in others):
        raise _UnreadError("a parameter that is no tensor is declared with a type variable")
    return given


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
            return Outcome(unread=f"it is called with more than {_MOST_OF_ONE} combinations of arguments")
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
            recorded_calls() as calls,
        ):
            result = _Reader(api, frame, types, errors).run(function.body.body)
            if result is None:
                return Outcome(unread="it returns nothing")
            if _own_variables(function) & _variables_in(result):
                return Outcome(unread="its result depends on a parameter that a call leaves out")
            if not is_recorded(api):
                return Outcome(result)
            return Outcome(result, reading=BodyReading(function, given, types_in_body(api), result, calls))
    except _UnreadError as unread:
        return Outcome(unread=str(unread))
    except _FailedError as failed:
        return Outcome(failure=failed.failure)
    finally:
        _failures.pop()
        _active.discard(function)


def _own_variables(function: FuncDef) -> set[TypeVarId]:
    return {variable.id for variable in function.type.variables} if isinstance(function.type, CallableType) else set()


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
    report_in_body(ctx.api, led.message, led.lines, at, led.code)


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
                if declared is not None and not is_open(declared):
                    raise _UnreadError(f"line {statement.line} declares a variable")
                t = self._type_of(value)
                self._bind(target, t if declared is None else _filled(declared, t), is_declared=declared is not None)
            case OperatorAssignmentStmt(lvalue=NameExpr() as target, rvalue=value, op=op):
                computed = OpExpr(op, target, value)
                computed.set_line(statement)
                self._bind(target, self._type_of(computed))
            case ForStmt(index=NameExpr(node=Var() as variable), expr=value, body=body, else_body=None):
                self._loop(variable, value, body.body)
            case IfStmt(expr=conditions, body=blocks, else_body=otherwise):
                return self._branch(conditions, blocks, otherwise)
            case WithStmt(expr=managers, target=targets, body=body, is_async=False) if not any(targets):
                if any(may_suppress(self._type_of(manager)) for manager in managers):
                    raise _UnreadError(f"line {statement.line} has a with statement that may suppress exceptions")
                is_certain, self._is_certain = self._is_certain, False  # a generator may suppress some unseen
                returned = self.run(body.body)
                self._is_certain = is_certain
                return returned
            case ExpressionStmt(expr=StrExpr()) | AssertStmt() | PassStmt():
                pass
            case ExpressionStmt(expr=value):
                self._type_of(value, may_be_none=True)
            case _:
                raise _UnreadError(f"line {statement.line} has {_named(statement)}")
        return None

    def _type_of(self, value: Expression, *, may_be_none: bool = False) -> Type:
        found: Type = self._api.expr_checker.accept(value, allow_none_return=may_be_none)
        failures, errors = _failures[-1], self._errors()
        if not failures and not errors:
            return found
        if not self._is_certain or not _is_evaluated(value):
            raise _UnreadError(f"line {value.line} is an error at a call, but may not run then")
        if failures:
            raise _FailedError(failures[0])
        first = errors[0]
        if first.code is None or first.code not in CODES.values():
            raise _UnreadError(f"line {value.line} is an error of mypy at a call")
        end_line, end_column = first.end_line or first.line, first.end_column or first.column
        raise _FailedError(Failure(first.message, first.code, first.line, first.column, end_line, end_column))

    def _bind(self, target: Expression, t: Type, *, is_declared: bool = False) -> None:
        match target:
            case NameExpr(node=Var() as variable) if not variable.is_property and not variable.is_final:
                if not variable.is_inferred and not is_declared and not self._types.is_set(variable):
                    raise _UnreadError(f"line {target.line} binds a global variable, or one with an annotation")
                self._types.set(variable, t)
                narrow(self._api, target, t)
            case TupleExpr(items=targets):
                p = get_proper_type(t)
                if not isinstance(p, TupleType) or len(p.items) != len(targets):
                    raise _UnreadError(f"line {target.line} unpacks a value of unknown length")
                for one, item in zip(targets, p.items, strict=True):
                    self._bind(one, item)
            case _:
                raise _UnreadError(f"line {target.line} binds no plain variable")

    def _branch(self, conditions: list[Expression], blocks: list[Block], otherwise: Block | None) -> Type | None:
        """Read the branch of an `if` statement that the call takes; it must be certain which."""
        for condition, block in zip(conditions, blocks, strict=True):
            self._type_of(condition)
            is_true = decided(condition, self._api)
            if is_true is None:
                raise _UnreadError(f"the call does not decide the condition on line {condition.line}")
            narrow_by_condition(self._api, condition, is_true=is_true)
            if is_true:
                return self.run(block.body)
        return self.run(otherwise.body) if otherwise is not None else None

    def _loop(self, variable: Var, value: Expression, body: list[Statement]) -> None:
        """Read a loop once; all variables that exist before must have the same types after it."""
        before, is_certain = self._types.now(), self._is_certain
        several = object_of(value, self._api)
        self._frame.variables[variable] = several.item if isinstance(several, Several) else None
        self._is_certain = is_certain and has_items(value, self._api)
        self._types.set(variable, self._api.analyze_iterable_item_type(value)[1])
        if self.run(body) is not None:
            raise _UnreadError(f"line {value.line} has a loop that returns")
        self._is_certain = is_certain
        after = self._types.now()
        if not all(_are_same(after[one], t) for one, t in before.items() if one is not variable):
            raise _UnreadError(f"line {value.line} has a loop that changes the type of a variable")


_STATEMENTS: Final = {
    "DelStmt": "a del statement",
    "ForStmt": "a loop with several variables, or an else",
    "FuncDef": "a function",
    "MatchStmt": "a match statement",
    "RaiseStmt": "a raise statement",
    "ReturnStmt": "a return statement before the end",
    "TryStmt": "a try statement",
    "WhileStmt": "a while loop",
    "WithStmt": "a with statement",
}


def _named(statement: Statement) -> str:
    """Return the name of a kind of statement."""
    return _STATEMENTS.get(type(statement).__name__, "a statement that is not read")


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

"""The effects of `assert_divides`, `assert_same`, `assert_shape` and `reveal_shape` in mypy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    Expression,
    ExpressionStmt,
    FuncDef,
    FuncItem,
    IndexExpr,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OpExpr,
    ReturnStmt,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, Type, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.calls.learned import facts_of, mentions, never_same, only_name, with_facts
from tapegrad.mypy.conversion import (
    NONE_TAPE,
    OWNED_TAPE,
    Many,
    TensorParts,
    dtype_name,
    ends_of,
    is_tape,
    joined,
    shape_items,
    shape_type,
    size_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import BodiesRead, enclosing_function, make, narrow, note, outermost_scope
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.names import bound_in, bound_once, inside
from tapegrad.mypy.scopes.rebinding import with_newest
from tapegrad.mypy.scopes.values import ValueUnknownError, size_value, value_of
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Dims,
    Divides,
    Fact,
    Name,
    Same,
    Size,
    UndecidedError,
    UnknownDims,
    assuming,
    is_unknown,
    show,
    simplest,
    surely_divides,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mypy.nodes import Context
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.unify.arguments import Argument


class Known(NamedTuple):
    """A fact, and the lines where it holds: from the assertion to the end of its block."""

    fact: Fact
    first: int
    last: int


_MOST = 100  # functions with assertions; those of one are noted and used before the next is checked
_known: dict[Node, dict[tuple[int, Name | None], Known]] = {}  # by function; by the line, and the name that is learned


@contextmanager
def forgetting() -> Iterator[None]:
    """Know no facts at first, and forget afterwards what was learned."""
    known = dict(_known)
    _known.clear()
    try:
        yield
    finally:
        _known.clear()
        _known.update(known)


def facts_for(ctx: FunctionContext | MethodContext | AttributeContext) -> list[Fact]:
    """Return the asserted facts that hold at a call."""
    return _facts_at(ctx, learned=False) if _known else []


def learned_for(ctx: FunctionContext | MethodContext | AttributeContext) -> list[Fact]:
    """Return the facts that follow from accepted calls."""
    return _facts_at(ctx, learned=True) if _known else []


def _facts_at(ctx: FunctionContext | MethodContext | AttributeContext, *, learned: bool) -> list[Fact]:
    line, facts = ctx.context.line, _known.get(_key(outermost_scope(ctx.api)), {})
    return [
        known.fact
        for (_, name), known in facts.items()
        if known.first < line <= known.last and (name is not None) is learned
    ]


def learn(ctx: FunctionContext | MethodContext, equal: list[tuple[Size, Size]]) -> None:
    """Assume from this statement on that sizes are equal which an accepted call declares to be equal.

    After `self.norm(x)` of `x: Tensor[Shape[B, D]]` and `self.norm = nn.LayerNorm(config.width)`, the width is `D`.
    """
    scope = outermost_scope(ctx.api)
    facts = facts_of(equal)
    if not facts or not isinstance(scope, FuncItem):
        return
    statement, block = _statement_of(scope, ctx.context)
    if statement is None:
        return
    first, last = statement.line - 1, max(node.end_line or 0 for node in block)
    known = _known_in(scope)
    for fact in facts:
        known[first, fact.name] = Known(fact, first, last)


def assert_divides(ctx: FunctionContext) -> Type:
    """Check an asserted divisibility, and assume it from here on."""
    divisor, number = (_size(ctx, position) for position in range(2))
    if isinstance(divisor, int) and isinstance(number, int) and not surely_divides(divisor, number):
        report(ctx.api, messages.not_divided(divisor, number), ctx.context, "shape")
    elif not is_unknown(divisor) and not is_unknown(number) and not surely_divides(divisor, number):
        _believe(ctx, Divides(divisor, number))
    return ctx.default_return_type


def assert_same(ctx: FunctionContext) -> Type:
    """Check an asserted equality, and assume it from here on."""
    n, m = (_size(ctx, position) for position in range(2))
    if never_same(n, m, learned_for(ctx)):
        report(ctx.api, messages.not_same(n, m), ctx.context, "shape")
        return ctx.default_return_type
    for size, other in ((n, m), (m, n)):
        name = only_name(size)
        if name is not None and not is_unknown(other) and not mentions(other, name):
            _believe(ctx, Same(name, other))
            break
    return ctx.default_return_type


def assert_shape(ctx: FunctionContext) -> Type:
    """Narrow a tensor to its asserted shape."""
    ctx = with_newest(ctx)
    parts, asserted = tensor_parts(joined(ctx.arg_types[0][0])) if all(ctx.arg_types) else None, _asserted_shape(ctx)
    result = get_proper_type(ctx.default_return_type)
    if parts is None and all(ctx.arg_types) and isinstance(get_proper_type(ctx.arg_types[0][0]), AnyType):
        parts = TensorParts(unknown(), unknown(), unknown())
    if parts is None or asserted is None or not isinstance(result, Instance):
        return result
    sizes = _sizes(parts.shape)
    learned = learned_for(ctx)
    if sizes is not None and (contradiction := _contradiction(sizes, asserted, learned)):
        report(ctx.api, contradiction, ctx.context, "shape")
        return result
    shape = [known if is_unknown(n) else n for known, n in zip(sizes or asserted, asserted, strict=True)]
    result = result.copy_modified(args=[shape_type(tuple(shape), make(ctx.api)), parts.tape, parts.dtype])
    result = with_facts(result, learned, sizes or (), make(ctx.api))
    if isinstance(ctx.args[0][0], NameExpr | MemberExpr):
        narrow(ctx.api, ctx.args[0][0], result)
    return result


class Note(NamedTuple):
    """What `reveal_shape` says in a body that is read.

    Attributes:
        lines: Those of the calls that lead to it, innermost first.
        origin: Where in another file it comes from, if it is that of a call of a function there.
    """

    text: str
    line: int
    column: int
    lines: tuple[int, ...] = ()
    origin: str = ""


class Notes:
    """The notes in the bodies that are being read, innermost last, each with the depth of its body."""

    of_bodies: ClassVar[list[tuple[int, list[Note]]]] = []


@contextmanager
def noting() -> Iterator[list[Note]]:
    """Collect the notes in a body that is read."""
    notes: list[Note] = []
    Notes.of_bodies.append((BodiesRead.depth + 1, notes))
    try:
        yield notes
    finally:
        Notes.of_bodies.pop()


def reveal_shape(ctx: FunctionContext) -> Type:
    """Report the shape, the dtype and the tape of a tensor as a note; in a body that is read, for its call."""
    ctx = with_newest(ctx)
    parts = tensor_parts(joined(ctx.arg_types[0][0])) if all(ctx.arg_types) else None
    if parts is not None:
        items = ends_of(parts.shape)
        tapes = {NONE_TAPE: False, OWNED_TAPE: True}
        owns = next((owns for tape, owns in tapes.items() if is_tape(parts.tape, tape)), None)
        words = messages.revealed(
            show(UnknownDims()) if items is None else messages.shown(items), dtype_name(parts.dtype), owns_tape=owns
        )
        text = f"Revealed shape is {words}"
        if Notes.of_bodies and Notes.of_bodies[-1][0] == BodiesRead.depth:
            Notes.of_bodies[-1][1].append(Note(text, ctx.context.line, ctx.context.column))
        else:
            note(ctx.api, text, ctx.context)
    return ctx.default_return_type if parts is None else ctx.arg_types[0][0]


def message_of(error: Exception, arguments: Iterable[Argument], ctx: FunctionContext | MethodContext) -> str:
    """Return the message of an error; assertions that it suggests use expressions of the program."""
    if not isinstance(error, UndecidedError):
        return str(error)
    expressions: dict[Name, str] = {}
    for size, expression in (*_variables_above(ctx.context.line, ctx.api), *_sizes_of(arguments)):
        name = only_name(size)
        if name is not None:
            expressions.setdefault(name, expression)
    return error.with_expressions(expressions)


def _variables_above(line: int, api: Checker) -> Iterator[tuple[Size, str]]:
    """Yield the sizes in variables of the current function that are bound once, above a line."""
    function = enclosing_function(api)
    if function is None:
        return
    within = [node for node in inside(function) if isinstance(node, FuncItem) and node is not function]
    bound = bound_in(function).difference(*map(bound_in, within))
    variables = [one for one in bound if isinstance(one, Var) and 0 < one.line < line and one.name != "_"]
    for variable in sorted(variables, key=lambda variable: variable.line):
        if variable.type is not None and bound_once(variable, api)[1]:
            yield size_of(variable.type), variable.name


def _sizes_of(arguments: Iterable[Argument]) -> Iterator[tuple[Size, str]]:
    """Yield the sizes of tensors that are variables, up to the first axis of unknown position."""
    for argument in arguments:
        if argument.tensor is None or not isinstance(argument.expression, NameExpr):
            continue
        for axis, size in enumerate(shape_items(argument.tensor.shape) or ()):
            if isinstance(size, Many):
                break
            yield size, f"{argument.expression.name}.shape[{axis}]"


HOOKS: dict[str, Callable[[FunctionContext], Type]] = {
    "assert_divides": assert_divides,
    "assert_same": assert_same,
    "assert_shape": assert_shape,
    "reveal_shape": reveal_shape,
}


def _size(ctx: FunctionContext, position: int) -> Size:
    types, expressions = ctx.arg_types[position], ctx.args[position]
    with assuming(facts_for(ctx)):
        return simplest(size_value(types[0], expressions[0], ctx.api) + 0) if types else UNKNOWN


def _asserted_shape(ctx: FunctionContext) -> Dims | None:
    try:
        asserted = value_of(ctx.arg_types[1][0], ctx.args[1][0], ctx.api) if all(ctx.arg_types) else None
    except ValueUnknownError:
        return None
    if isinstance(asserted, UnknownDims) or not isinstance(asserted, tuple):
        return None
    return asserted if all(isinstance(n, int | Dim) for n in asserted) else None  # Python rejects anything else


def _sizes(shape: Type) -> Dims | None:
    items = shape_items(shape)
    sizes = tuple(item for item in items or () if not isinstance(item, Many))
    return sizes if items is not None and len(sizes) == len(items) else None


def _contradiction(sizes: Dims, asserted: Dims, learned: list[Fact]) -> str:
    """Return the message for two shapes that no values of the names make equal; empty if some do."""
    if len(sizes) != len(asserted):
        return messages.wrong_rank("assert_shape", "x", sizes, asserted)
    for axis, (n, m) in enumerate(zip(sizes, asserted, strict=True)):
        if never_same(n, m, learned):
            return messages.wrong_size("assert_shape", "x", sizes, asserted, axis)
    return ""


def _believe(ctx: FunctionContext, fact: Fact) -> None:
    scope, first = outermost_scope(ctx.api), ctx.context.end_line or ctx.context.line
    last = max((node.end_line or 0 for node in _block_of(scope, ctx.context)), default=0)
    _known_in(scope)[first, None] = Known(fact, first, last)


def _known_in(scope: Node) -> dict[tuple[int, Name | None], Known]:
    known = _known.setdefault(_key(scope), {})
    if len(_known) > _MOST:
        del _known[next(iter(_known))]
    return known


def _key(scope: Node) -> Node:
    """Return what identifies the text of a function: mypy's daemon keeps the function when its body has changed."""
    return scope.body if isinstance(scope, FuncDef) else scope


def _statement_of(scope: Node, call: Context) -> tuple[Any, list[Any]]:
    """Return the statement that makes a call in any case, and the statements beside it; None if there is none."""
    blocks = [node.body for node in inside(scope) if isinstance(node, Block)]
    for block in blocks:
        for statement in block:
            if not isinstance(statement, AssignmentStmt | ExpressionStmt | ReturnStmt):
                continue
            whole = statement.rvalue if isinstance(statement, AssignmentStmt) else statement.expr
            if whole is None:
                continue
            is_near = statement.line <= call.line <= (statement.end_line or 0)
            if is_near and any(one is call for one in _always_evaluated(whole)):
                return statement, block
    return None, []


def _always_evaluated(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and its parts, without those that a condition, a loop or a lambda may leave out."""
    yield expression
    parts: list[Expression] = []
    match expression:
        case CallExpr(callee=callee, args=args):
            parts = [callee, *args]
        case OpExpr(op=sign, left=left, right=right) if sign not in ("and", "or"):
            parts = [left, right]
        case MemberExpr(expr=part) | UnaryExpr(expr=part):
            parts = [part]
        case IndexExpr(base=base, index=index):
            parts = [base, index]
        case TupleExpr(items=items) | ListExpr(items=items):
            parts = items
    for part in parts:
        yield from _always_evaluated(part)


def _block_of(scope: Node, call: Any) -> list[Any]:
    """Return the statement list that contains a call as a statement; empty if it is part of an expression."""
    for node in inside(scope):
        statements = node.body if isinstance(node, Block) else node.defs if isinstance(node, MypyFile) else []
        if any(isinstance(one, ExpressionStmt) and one.expr is call for one in statements):
            return statements
    return []

"""Functions that take no tensors, such as `main(width=8)`: they are read for the numbers that a call gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    Decorator,
    DictExpr,
    DictionaryComprehension,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    TupleExpr,
    TypeInfo,
    Var,
)
from mypy.plugin import MethodContext
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.calls.arrays import with_sizes
from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.features.body_arguments import (
    arrays_given,
    dictionaries_given,
    is_of_known_rank,
    says_more,
)
from tapegrad.mypy.features.body_outcomes import fail, outcome_of, pass_on_notes, seen_from, with_entries_read
from tapegrad.mypy.features.body_state import UnreadError
from tapegrad.mypy.features.declarations import is_open_result, says_little
from tapegrad.mypy.features.loop_turns import turns_of_call
from tapegrad.mypy.features.partial_types import holds_tensors
from tapegrad.mypy.features.readable_bodies import (
    frame_with,
    is_of_program,
    is_only_one,
    require_readable,
    written_in_file,
)
from tapegrad.mypy.features.tensor_functions import makes_tensors
from tapegrad.mypy.mypy_api import (
    can_read_bodies,
    checked_file,
    depend_on_bodies,
    in_scope_of,
    is_of_library,
    skips_untyped,
    stored_type,
)
from tapegrad.mypy.mypy_files import depend_on_names
from tapegrad.mypy.scopes.called_functions import arguments_of_call, called_function, type_as_array
from tapegrad.mypy.scopes.command_line import PARSE, PARSE_KNOWN
from tapegrad.mypy.scopes.frames import Items, Keywords, binding
from tapegrad.mypy.scopes.names import ScopeCache, bound_once, nodes_in
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.records import PASSES_NOTHING_KNOWN, is_recorded, record_read, record_unread

if TYPE_CHECKING:
    from mypy.nodes import Expression, MypyFile, Node
    from mypy.plugin import FunctionContext
    from mypy.types import Type

    from tapegrad.mypy.features.body_outcomes import Outcome
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import ClassOf, Made


def check_driver(ctx: FunctionContext | MethodContext, result: Type) -> Type:
    """Read the body of a function that takes no tensors, such as `main(width=8)`, for the numbers that a call gives.

    mypy has checked the body, in which each parameter may be any number.

    Returns:
        The result type of the call; a dataclass in it has the tensors that the body gives its fields.
    """
    call = ctx.context
    named = _named_function(ctx)
    if named is None or not isinstance(call, CallExpr) or not _is_driver(named, ctx.api):
        return result
    if not can_read_bodies(ctx.api.options) or not is_of_program(named, ctx.api):
        return result
    results: list[Type] = []
    for values in turns_of_call(call, ctx.api):
        with binding(values):
            results.append(_read_driver(ctx, call, result))
    return results[0] if len(results) == 1 else result


def _read_driver(ctx: FunctionContext | MethodContext, call: CallExpr, result: Type) -> Type:
    """Read the body of a function for a call that stands once, or at one turn of a loop; return the result type."""
    called = called_function(call.callee, ctx.api)
    if called is None:
        return result
    function, of = called
    depend_on_bodies(ctx.api)
    try:
        outcome, file, given = _driven(call, function, of, ctx.api)
    except UnreadError as unread:
        if is_recorded(ctx.api):
            record_unread(ctx.api, function, (str(unread), unread.call_line), ctx.context)
        return result
    if outcome.failure is not None:
        fail(ctx, seen_from(ctx.context, outcome.failure, file, checked_file(ctx.api), ctx.api), given)
    elif outcome.reading is not None:
        record_read(ctx.api, outcome.reading, ctx.context)
    if outcome.result is None or not says_little(function):
        return result
    return with_entries_read(result, outcome.result, frozenset(), call, ctx.api)


def _named_function(ctx: FunctionContext | MethodContext) -> FuncDef | None:
    """Return the function that a call names, or the method of the declared class."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    named = callee.expr.node if isinstance(callee, MemberExpr) and isinstance(callee.expr, RefExpr) else None
    is_method = isinstance(ctx, MethodContext)
    if is_method or isinstance(named, TypeInfo):
        receiver = get_proper_type(ctx.type) if isinstance(ctx, MethodContext) else None
        owner = receiver.type if isinstance(receiver, Instance) else named
        name = callee.name if isinstance(callee, MemberExpr) else "__call__"
        symbol = owner.get(name) if isinstance(owner, TypeInfo) else None
        node = symbol.node if symbol is not None else None
    else:
        node = callee.node if isinstance(callee, RefExpr) else None
    node = node.func if isinstance(node, Decorator) else node
    return node if isinstance(node, FuncDef) else None


def _driven(
    call: CallExpr, function: FuncDef, of: Made | ClassOf | None, api: Checker
) -> tuple[Outcome, MypyFile, dict[Var, Type]]:
    """Return what a call of a function that takes no tensors does, the file of the function, and the arrays it gets.

    Raises:
        UnreadError: The body is not read, or the call says no more than the declaration.
    """
    file, written = written_in_file(function, api)
    require_readable(written, api)
    is_skipped = written.type is None and skips_untyped(api.options)
    concerns_tensors = makes_tensors(written, api) or (says_little(written) and not is_skipped)
    arguments = arguments_of_call(written, call, api) if concerns_tensors else None
    if arguments is None or not is_only_one(written, file):
        raise UnreadError(PASSES_NOTHING_KNOWN, call.line)
    types = [_type_given(one, api) for one in call.args]
    given = arrays_given(written, call, types, api)
    # The name of a model, such as "mlp", chooses one.
    is_known = any(isinstance(one, str) or says_more(one) for one in (*dict(arguments).values(), of))
    is_known = is_known or any(map(is_of_known_rank, given.values()))
    frame = frame_with(written, dict(arguments), of, api)
    dictionaries = dictionaries_given(written, call, frame, file, api)
    is_known = is_known or bool(dictionaries)
    given |= dictionaries
    if not is_known and not _parses.of(written) and not _says_more(written, api):
        raise UnreadError(PASSES_NOTHING_KNOWN, call.line)
    outcome = outcome_of(api, written, frame, given, file)
    pass_on_notes(call, outcome, file, api)
    if outcome.names:
        depend_on_names(outcome.names, api)
    if outcome.unread:
        raise UnreadError(outcome.unread)
    return outcome, file, given


def _type_given(argument: Expression, api: Checker) -> Type:
    """Return the type of an argument, also of an array that mypy takes for Any, as one of an untyped generator."""
    t = stored_type(api, argument) or unknown()
    return type_as_array(argument, t, api) or with_sizes(t, argument, api)


def _is_driver(function: FuncDef, api: Checker) -> bool:
    """Return whether a function takes and returns no tensors, and a call of it says more than its declaration."""
    declared = function.type
    if declared is None:
        return len(function.arguments) > 0
    if not isinstance(declared, CallableType) or is_of_library(declared):
        return False
    if any(map(holds_tensors, [*declared.arg_types, declared.ret_type])):
        return False
    return bool(declared.arg_types) or _says_more(function, api)


def _says_more(function: FuncDef, api: Checker) -> bool:
    """Return whether the body of a function says more than its declaration for any call."""
    declared = function.type
    returns_arrays = isinstance(declared, CallableType) and is_open_result(declared.ret_type)
    return returns_arrays or _unpacks.of(function) or _maps.of(function) or _lists_items(function, api)


def _unpacks_items(function: Node | None) -> bool:
    """Return whether a function unpacks what a generator makes, of which mypy knows only what all items have in common.

    An example is `x, y = (tg.tensor(one) for one in load())`.
    """
    return any(
        isinstance(node, AssignmentStmt)
        and isinstance(node.lvalues[0], TupleExpr)
        and isinstance(node.rvalue, GeneratorExpr | ListComprehension)
        for node in nodes_in.of(function)
    )


def _maps_entries(function: Node | None) -> bool:
    """Return whether a function makes a dictionary of the entries of another, as `{k: x.trace() for k, x in items}`."""
    return any(
        isinstance(node, DictionaryComprehension)
        and isinstance(of := node.sequences[0], CallExpr)
        and isinstance(of.callee, MemberExpr)
        and of.callee.name == "items"
        for node in nodes_in.of(function)
    )


def _lists_items(function: FuncDef, api: Checker) -> bool:
    """Return whether a function loops over items that are written, such as models of several classes.

    mypy knows only what all items have in common.
    """
    with in_scope_of(api, function):
        return any(_is_written(sequence, api) for sequence in _sequences.of(function))


def _is_written(sequence: Expression, api: Checker) -> bool:
    match sequence:
        case CallExpr(
            callee=RefExpr(fullname="builtins.enumerate" | "builtins.zip" | "builtins.reversed"), args=several
        ):
            return any(_is_written(one, api) for one in several)
        case CallExpr(callee=MemberExpr(expr=of, name="items" | "values"), args=[]):
            return _is_written(of, api)
        case NameExpr(node=Var() as variable) if (value := bound_once(variable, api)[0]) is not None and _is_written(
            value, api
        ):
            return True
        case NameExpr() | MemberExpr():
            items = object_of(sequence, api)
            return isinstance(items, Items | Keywords) and len(items.values) > 1
        case DictExpr(items=items) | ListExpr(items=items) | TupleExpr(items=items):
            return len(items) > 1
    return isinstance(sequence, DictionaryComprehension | ListComprehension)


def _read_sequences(function: Node | None) -> list[Expression]:
    loops = [node for node in nodes_in.of(function) if isinstance(node, ForStmt | GeneratorExpr)]
    return [one for loop in loops for one in (loop.sequences if isinstance(loop, GeneratorExpr) else [loop.expr])]


def _parses_given_line(function: Node | None) -> bool:
    """Return whether a function parses a command line that it is given, as by `parser.parse_args(argv)`."""
    return any(
        isinstance(node, CallExpr)
        and isinstance(node.callee, MemberExpr)
        and node.callee.name in (*PARSE, *PARSE_KNOWN)
        and any(isinstance(one, NameExpr) for one in node.args)
        for node in nodes_in.of(function)
    )


_sequences = ScopeCache(_read_sequences)
_parses = ScopeCache(_parses_given_line)
_unpacks = ScopeCache(_unpacks_items)
_maps = ScopeCache(_maps_entries)

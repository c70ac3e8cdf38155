"""Results of functions and methods whose annotations say less than their bodies, such as `forward(self, x: Tensor)`.

At a call with tensors of known sizes, the statements of the body are read again with the types of the arguments in
place of the declared ones. A method is read only if its object is made where the plugin sees it, so that no subclass
overrides the method. An error in a statement that surely runs is an error of the program: at its own line, or, in
another file, at the line of the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, Decorator, FuncDef, MemberExpr, NameExpr, TypeInfo
from mypy.types import Instance, NoneType, get_proper_type

from tapegrad.mypy.calls.array_calls import Bodies
from tapegrad.mypy.conversion import opaque_paths, tensor_parts, unknown, without_opaque
from tapegrad.mypy.features.body_arguments import (
    arguments_given,
    arrays_given,
    dictionaries_given,
    frame_of_call,
    given_types,
    is_rejected,
    receiver_of_call,
)
from tapegrad.mypy.features.body_lists import list_of, listed_items, plain_list
from tapegrad.mypy.features.body_outcomes import (
    Outcome,
    fail,
    outcome_of,
    pass_on_notes,
    seen_from,
    with_entries_read,
)
from tapegrad.mypy.features.body_state import UnreadError
from tapegrad.mypy.features.drivers import check_driver
from tapegrad.mypy.features.loop_turns import turns_of_call
from tapegrad.mypy.features.partial_types import are_same, filled, filled_sequence, is_sequence
from tapegrad.mypy.features.readable_bodies import (
    MOST_CALLS,
    active,
    frame_with,
    is_of_program,
    is_only_one,
    may_be_read,
    require_readable,
    why_unreadable,
    written_in_file,
)
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    any_list,
    can_read_bodies,
    checked_file,
    depend_on_bodies,
    enclosing_function,
    is_of_library,
    tried_method,
)
from tapegrad.mypy.mypy_files import depend_on_names
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.called_functions import arguments_of_call, called_function
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.entries import with_inner_entries
from tapegrad.mypy.scopes.frames import Made, Nothing, Reading, Returned, binding, is_passed_on, key_of, trying
from tapegrad.mypy.scopes.functions import is_method
from tapegrad.mypy.scopes.names import places_of
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.records import IS_OF_UNKNOWN_OBJECT, is_recorded, record_read, record_unread
from tapegrad.mypy.scopes.written_attributes import has_rival_files
from tapegrad.mypy.signatures import lacks_annotations

if TYPE_CHECKING:
    from mypy.nodes import Context, Expression, MypyFile, Var
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext
    from mypy.types import CallableType, Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value


def completed(ctx: FunctionContext | MethodContext, declared: CallableType, result: Type) -> Type:
    """Return the result type of a call, with what the body of the function says where the declaration says nothing."""
    function = declared.definition
    if isinstance(function, Decorator):
        function = function.func
    if not isinstance(function, FuncDef) or is_of_library(declared) or not may_be_read(function, ctx.api):
        return result
    made = _object_with_override(ctx, function)
    if made is not None:
        return _of_override(ctx, made, function.name, result)
    try:
        results: list[Type] = []
        for values in turns_of_call(ctx.context, ctx.api):
            with binding(values):
                results.append(_completed(ctx, declared, function, result))
        return results[0] if all(are_same(results[0], one) for one in results) else result
    except UnreadError as unread:
        if is_recorded(ctx.api) and not _makes_object(ctx.context):  # whose layers are then tried, one after the other
            record_unread(ctx.api, function, (str(unread), unread.call_line), ctx.context)
        return check_driver(ctx, result) if lacks_annotations(declared) else result


def _object_with_override(ctx: FunctionContext | MethodContext, function: FuncDef) -> Made | None:
    """Return the object that is called, if its class overrides the method of the class that is declared."""
    call = ctx.context
    if Reading.is_tried or not function.info or not isinstance(call, CallExpr):
        return None
    callee = call.callee
    owner = callee.expr if isinstance(callee, MemberExpr) and callee.name == function.name else callee
    made = object_of(owner, ctx.api)
    if not isinstance(made, Made) or function.info not in made.info.mro[1:] or is_method(made, function):
        return None
    return made


def _of_override(ctx: FunctionContext | MethodContext, made: Made, name: str, result: Type) -> Type:
    """Return the type of a call of an object of a subclass of the declared class, whose method is called."""
    receiver = Instance(made.info, [unknown()] * len(made.info.type_vars))
    with trying(made):
        trial = tried_method(ctx.api, receiver, name, arguments_given(ctx), ctx.context)
    rejections = [(message, code) for message, code in trial.errors if code in CODES.values()]
    for message, code in rejections:
        ctx.api.fail(message, ctx.context, code=code)
    if rejections:
        return result
    p, q = get_proper_type(result), get_proper_type(trial.result)
    is_same = isinstance(p, Instance) and isinstance(q, Instance) and p.type is q.type and tensor_parts(p) is None
    return q if is_same else filled_sequence(result, q)


def _completed(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef, result: Type) -> Type:
    depend_on_bodies(ctx.api)
    file, written = written_in_file(function, ctx.api)
    require_readable(written, ctx.api)
    if not is_only_one(written, file):
        raise UnreadError("there are several functions of its name")
    receiver = receiver_of_call(ctx, function)
    if receiver is None and function.info:
        raise UnreadError(IS_OF_UNKNOWN_OBJECT, ctx.context.line)
    if isinstance(receiver, Made) and has_rival_files(receiver.info, ctx.api):
        raise UnreadError("classes of its object in several files assign to an attribute")
    frame = frame_of_call(ctx, declared, written, receiver, file)
    if is_rejected(ctx, declared):
        raise UnreadError("is an error", ctx.context.line)
    given = given_types(ctx, declared, written, frame, file)
    made = frame.receiver
    outcome = outcome_of(ctx.api, written, frame, given, file)
    pass_on_notes(ctx.context, outcome, file, ctx.api)
    if outcome.names:
        depend_on_names(outcome.names, ctx.api)
    if outcome.failure is not None:
        fail(ctx, seen_from(ctx.context, outcome.failure, file, checked_file(ctx.api), ctx.api), given)
    if outcome.result is None:
        raise UnreadError(outcome.unread) if outcome.unread else UnreadError("is an error", ctx.context.line)
    if outcome.reading is not None:
        record_read(ctx.api, outcome.reading, ctx.context)
    around = Reading.frame.receiver if Reading.frame is not None else None
    same = made is not None and key_of(made) == key_of(around)
    passed = frozenset().union(*(opaque_paths(t) for one in given.values() for t in with_inner_entries(one)))
    values = [*frame.values.values(), made]
    kept = frozenset(
        path
        for t in with_inner_entries(outcome.result)
        for path in opaque_paths(t)
        if path in passed
        or any(is_passed_on(path, value) for value in values)
        or (same and _is_of_class(path, function))
    )
    is_extended = any(use_of(one, ctx.api) is Use.EXTENDED for one in places_of(ctx.context, ctx.api))
    fill = filled if is_extended else filled_sequence
    items, declared_list = listed_items(outcome.result), get_proper_type(result)
    if items is not None and Reading.frame is not None and is_sequence(declared_list):
        known = [filled(declared_list.args[0], without_opaque(one, kept)) for one in items]
        return list_of(known, any_list(ctx.api))
    whole = fill(result, without_opaque(plain_list(outcome.result), kept))
    return with_entries_read(whole, outcome.result, kept, ctx.context, ctx.api)


def model_returned(returned: Returned, api: Checker) -> Outcome:
    """Return the type of the layer that a call of a function returns, or why the call fails, or is not read."""
    if not can_read_bodies(api.options):
        return Outcome(unread="a daemon of this mypy reads no bodies")
    depend_on_bodies(api)
    function, frame = returned.function, returned.frame
    reason = "it calls itself" if function in active or function is enclosing_function(api) else ""
    reason = reason or (f"more than {MOST_CALLS} calls lead to it" if BodiesRead.depth >= MOST_CALLS else "")
    if reason:
        return Outcome(unread=reason)
    variables = (argument.variable for argument in function.arguments)
    given: dict[Var, Type] = {one: NoneType() for one in variables if isinstance(frame.values.get(one.name), Nothing)}
    outcome = outcome_of(api, function, frame, given, returned.file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    if outcome.result is None:
        return outcome
    values = [*frame.values.values(), frame.receiver]
    kept = (path for path in opaque_paths(outcome.result) if any(is_passed_on(path, value) for value in values))
    return outcome._replace(result=without_opaque(outcome.result, frozenset(kept)))


def check_builder(ctx: FunctionContext | MethodContext) -> None:
    """Read the body of a function that returns a layer for the arguments of a call: it may fail for them."""
    returned = object_of(ctx.context, ctx.api) if isinstance(ctx.context, CallExpr) else None
    if isinstance(returned, Returned):
        outcome = model_returned(returned, ctx.api)
        pass_on_notes(ctx.context, outcome, returned.file, ctx.api)
        if outcome.failure is not None:
            fail(ctx, seen_from(ctx.context, outcome.failure, returned.file, checked_file(ctx.api), ctx.api), {})


def _returned(call: CallExpr, types: list[Type], api: Checker) -> Type | None:
    """Return the type of the array, the tensor or the tuple of both that a call of a function of the program returns.

    mypy gives the call the declared type, so this is read where a tensor is made of an array, and where an attribute is
    read that a constructor has assigned the result to.
    """
    called = called_function(call.callee, api)
    if called is None or not can_read_bodies(api.options) or not is_of_program(called[0], api):
        return None
    function, of = called
    depend_on_bodies(api)
    try:
        file, written = written_in_file(function, api)
        require_readable(written, api)
    except UnreadError:
        return None
    arguments = arguments_of_call(written, call, api)
    if arguments is None or not is_only_one(written, file):
        return None
    frame = frame_with(written, dict(arguments), of, api)
    given = arrays_given(written, call, types, api) | dictionaries_given(written, call, frame, file, api)
    outcome = outcome_of(api, written, frame, given, file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    if outcome.reading is not None:
        record_read(api, outcome.reading, call)
    if outcome.result is None:
        return None
    kept = (path for path in opaque_paths(outcome.result) if path.partition("@")[2] != frame.scope)
    return without_opaque(outcome.result, frozenset(kept))


def _array_of_property(owner: Expression, name: str, api: Checker) -> Type | None:
    """Return the type of the array that a property of an object of the program returns; None if it is not read."""
    outcome, _ = _outcome_of_property(owner, name, api)
    return outcome.result


def of_property(ctx: AttributeContext, attribute: MemberExpr) -> Type | None:
    """Return the type of the tensor that a property of an object of the program returns; None if it is not read."""
    outcome, file = _outcome_of_property(attribute.expr, attribute.name, ctx.api)
    if file is not None:
        pass_on_notes(attribute, outcome, file, ctx.api)
    if outcome.failure is not None and file is not None:
        fail(ctx, seen_from(attribute, outcome.failure, file, checked_file(ctx.api), ctx.api), {})
    if outcome.reading is not None:
        record_read(ctx.api, outcome.reading, attribute)
    return outcome.result


def _outcome_of_property(owner: Expression, name: str, api: Checker) -> tuple[Outcome, MypyFile | None]:
    """Return what the body of a property of an object does, and its file; None if the body is not read."""
    made = object_of(owner, api)
    symbol = made.info.get(name) if isinstance(made, Made) else None
    getter = symbol.node.func if symbol is not None and isinstance(symbol.node, Decorator) else None
    if getter is None or not getter.is_property or not isinstance(made, Made) or not can_read_bodies(api.options):
        return Outcome(), None
    return _outcome_for_object(made, getter, (), api)


def example_of(dataset: Expression, api: Checker) -> Type | None:
    """Return the type of the examples that a dataset of the program gives by number; None if that is not read.

    An error in an example is no error of the call that takes the dataset, which reads no example yet.
    """
    made = object_of(dataset, api)
    symbol = made.info.get("__getitem__") if isinstance(made, Made) else None
    function = symbol.node if symbol is not None else None
    if not isinstance(function, FuncDef) or not isinstance(made, Made) or not may_be_read(function, api):
        return None
    numbers = tuple((argument.variable.name, None) for argument in function.arguments[1:])
    is_plain = len(numbers) == 1 and not why_unreadable(function) and not has_rival_files(made.info, api)
    outcome, _ = _outcome_for_object(made, function, numbers, api) if is_plain else (Outcome(), None)
    if outcome.reading is not None:
        record_read(api, outcome.reading, dataset)
    if outcome.result is None:
        return None
    kept = frozenset(path for path in opaque_paths(outcome.result) if is_passed_on(path, made))
    return without_opaque(outcome.result, kept)


def _outcome_for_object(
    made: Made, function: FuncDef, arguments: tuple[tuple[str, Value], ...], api: Checker
) -> tuple[Outcome, MypyFile | None]:
    """Return what the body of a method of an object does, and its file; None if the body is not read."""
    depend_on_bodies(api)
    try:
        file, written = written_in_file(function, api)
    except UnreadError:
        return Outcome(), None
    if BodiesRead.depth >= MOST_CALLS or written in active or written is enclosing_function(api):
        return Outcome(), None
    if not is_only_one(written, file):
        return Outcome(), None
    outcome = outcome_of(api, written, frame_with(written, dict(arguments), made, api), {}, file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    return outcome, file


def _makes_object(call: Context) -> bool:
    callee = call.callee if isinstance(call, CallExpr) else None
    return isinstance(callee, NameExpr | MemberExpr) and isinstance(callee.node, TypeInfo)


def _is_of_class(path: str, function: FuncDef) -> bool:
    """Return whether an opaque size is that of an attribute, which all methods of an object share."""
    scope = path.partition("@")[2]
    return bool(function.info) and scope.startswith(function.info.fullname) and scope != function.fullname


Bodies.result, Bodies.of_property = _returned, _array_of_property

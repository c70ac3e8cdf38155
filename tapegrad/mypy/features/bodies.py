"""Results of functions and methods whose annotations say less than their bodies, such as `forward(self, x: Tensor)`.

At a call with tensors of known sizes, the statements of the body are read again with the types of the arguments in
place of the declared ones. A method is read only if its object is made where the plugin sees it, so that no subclass
overrides the method. An error in a statement that surely runs is an error of the program: at its own line, or, in
another file, at the line of the call.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    Argument,
    AssignmentStmt,
    Block,
    CallExpr,
    Context,
    Decorator,
    DictExpr,
    Expression,
    ExpressionStmt,
    FloatExpr,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    RefExpr,
    TryStmt,
    TupleExpr,
    TypeInfo,
    Var,
    WithStmt,
    YieldExpr,
    YieldFromExpr,
)
from mypy.plugin import MethodContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarId,
    TypeVarLikeType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.calls.array_calls import Bodies
from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.calls.arrays import with_array_sizes, with_sizes
from tapegrad.mypy.calls.assertions import forgetting
from tapegrad.mypy.conversion import (
    MODULE,
    Many,
    is_iterator,
    is_size,
    joined,
    opaque_paths,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
    without_opaque,
)
from tapegrad.mypy.features.body_lists import list_of
from tapegrad.mypy.features.body_state import FailedError, Failure, Types, UnreadError
from tapegrad.mypy.features.body_statements import Reader
from tapegrad.mypy.features.closures import changed_around, inner_functions
from tapegrad.mypy.features.declarations import may_say_more, says_little
from tapegrad.mypy.features.partial_types import filled, filled_sequence, holds_tensors, join
from tapegrad.mypy.features.replaced_tensors import Replacements
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    any_list,
    any_tuple,
    can_read_bodies,
    checked_file,
    depend_on_bodies,
    depend_on_types_in_body,
    enclosing_function,
    get_all_type_vars,
    inside_body,
    is_of_library,
    make,
    names_in_body,
    pass_of,
    past_trial,
    report_in_body,
    shown_path,
    skips_untyped,
    stored_type,
    types_in_body,
)
from tapegrad.mypy.mypy_files import Program, depend_on_names, in_file, program_file
from tapegrad.mypy.reports import CurrentLayer, with_path
from tapegrad.mypy.scopes import axes
from tapegrad.mypy.scopes.called_functions import arguments_of_call, called_function, object_with_method
from tapegrad.mypy.scopes.collections import Use, use_of, use_of_variable
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.entries import (
    entries_in,
    entries_of,
    is_dictionary,
    is_record,
    key_of_entries,
    only_reads_parameter,
    with_entries,
    with_inner_entries,
)
from tapegrad.mypy.scopes.frames import (
    ClassOf,
    Frame,
    Held,
    Items,
    Keywords,
    Made,
    Nothing,
    Reading,
    Returned,
    Value,
    is_passed_on,
    key_of,
    within,
)
from tapegrad.mypy.scopes.functions import is_method, parameter_default
from tapegrad.mypy.scopes.named_values import object_frame
from tapegrad.mypy.scopes.names import (
    ScopeCache,
    inside,
    nodes_in,
    places_of,
    targets_bound_to,
    values_bound,
)
from tapegrad.mypy.scopes.objects import object_of, value_of_expression
from tapegrad.mypy.scopes.opaque import has_rival_files, is_defined_once, other_shapes
from tapegrad.mypy.scopes.records import (
    IS_OF_UNKNOWN_OBJECT,
    PASSES_NOTHING_KNOWN,
    BodyReading,
    is_recorded,
    record_read,
    record_unread,
    recorded_calls,
)
from tapegrad.mypy.scopes.statements import lets_errors_pass
from tapegrad.mypy.signatures import lacks_annotations, parameter_names
from tapegrad.mypy.sources import is_marked, module_of, source_of, why_unread
from tapegrad.mypy.unify.arguments import Argument as Actual
from tapegrad.mypy.unify.arguments import arguments_of
from tapegrad.sizes import Dim, is_unknown

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mypy.plugin import AttributeContext, FunctionContext

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.entries import Entries
    from tapegrad.sizes import Size

_DEEPEST: Final = 12  # calls inside of bodies that are read
_MOST: Final = 1000  # results; far more than a file has calls of such functions
# Results of one function, or of a method for one object; one that is called with more shapes is not read any more.
_MOST_OF_ONE: Final = 20
_MOST_OF_ALL: Final = 100  # results of a method for all objects


class Outcome(NamedTuple):
    """What a call returns, or why it fails, or why its body is not read."""

    result: Type | None = None
    failure: Failure | None = None
    unread: str = ""
    reading: BodyReading | None = None  # if a report on the file is wanted
    names: frozenset[str] = frozenset()  # what bodies in other files depend on


def completed(ctx: FunctionContext | MethodContext, declared: CallableType, result: Type) -> Type:
    """Return the result type of a call, with what the body of the function says where the declaration says nothing."""
    function = declared.definition
    if isinstance(function, Decorator):
        function = function.func
    if not isinstance(function, FuncDef) or is_of_library(declared) or not _may_be_read(function, ctx.api):
        return result
    try:
        return _completed(ctx, declared, function, result)
    except UnreadError as unread:
        if is_recorded(ctx.api) and not _makes_object(ctx.context):  # whose layers are then tried, one after the other
            record_unread(ctx.api, function, str(unread), unread.call_line)
        return check_driver(ctx, result) if lacks_annotations(declared) else result


def _completed(ctx: FunctionContext | MethodContext, declared: CallableType, function: FuncDef, result: Type) -> Type:
    depend_on_bodies(ctx.api)
    file, written = _written(function, ctx.api)
    _require_readable(written, ctx.api)
    if not _is_defined_once(written, file):
        raise UnreadError("there are several functions of its name")
    receiver = _receiver(ctx, function)
    if receiver is None and function.info:
        raise UnreadError(IS_OF_UNKNOWN_OBJECT, ctx.context.line)
    if isinstance(receiver, Made) and has_rival_files(receiver.info, ctx.api):
        raise UnreadError("classes of its object in several files assign to an attribute")
    frame = _frame(ctx, declared, written, receiver, file)
    if _is_rejected(ctx, declared):
        raise UnreadError("is an error", ctx.context.line)
    given = _given(ctx, declared, written, frame, file)
    made = frame.receiver
    outcome = _outcome(ctx.api, written, frame, given, file)
    if outcome.names:
        depend_on_names(outcome.names, ctx.api)
    if outcome.failure is not None:
        fail(ctx, seen_from(ctx.context, outcome.failure, file, checked_file(ctx.api), ctx.api), given)
    if outcome.result is None:
        raise UnreadError(outcome.unread) if outcome.unread else UnreadError("is an error", ctx.context.line)
    if outcome.reading is not None:
        record_read(ctx.api, outcome.reading, ctx.context.line)
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
    whole = fill(result, without_opaque(outcome.result, kept))
    return _with_entries(whole, outcome.result, kept, ctx.context, ctx.api)


def _with_entries(result: Type, read: Type, kept: frozenset[str], call: Context, api: Checker) -> Type:
    """Return the type of a result with the entries of the dictionaries in it that were read."""
    p, q = get_proper_type(result), get_proper_type(read)
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        items = [_with_entries(one, other, kept, call, api) for one, other in zip(p.items, q.items, strict=True)]
        return p if all(map(operator.is_, items, p.items)) else p.copy_modified(items=items)
    if isinstance(p, Instance) and isinstance(q, Instance) and is_iterator(p) and is_iterator(q):
        item = _with_entries(p.args[0], q.args[0], kept, call, api)
        return p if item is p.args[0] else p.copy_modified(args=[item, *p.args[1:]])
    entries = entries_in(q)
    if entries is None or not isinstance(call, CallExpr):
        return result
    if isinstance(p, AnyType) and p.type_of_any == TypeOfAny.unannotated and _hold_tensors(entries):
        if Reading.frame is None and not _may_be_dictionary(call, api):
            return result
        # mypy would report how a program uses other values, or that it adds some, if it knew what all have in common.
        of_any = make(api)("builtins.dict", [unknown(), unknown()])
        return with_entries(of_any, {key: _entry(p, t, kept, call, api) for key, t in entries.items()}, call)
    if isinstance(p, Instance) and is_record(p):
        return with_entries(p, {name: without_opaque(t, kept) for name, t in entries.items()}, call)
    if not isinstance(p, Instance) or not is_dictionary(p):
        return result
    of_each = {key: _entry(p.args[-1], t, kept, call, api) for key, t in entries.items()}
    return with_entries(p, of_each, call)


def _entry(declared: Type, read: Type, kept: frozenset[str], call: Context, api: Checker) -> Type:
    """Return the type of an entry of a dictionary that was read, which may be a dictionary itself."""
    found = filled(declared, without_opaque(read, kept))
    return found if entries_in(read) is None else _with_entries(found, read, kept, call, api)


def model_returned(returned: Returned, api: Checker) -> Outcome:
    """Return the type of the layer that a call of a function returns, or why the call fails, or is not read."""
    if not can_read_bodies(api.options):
        return Outcome(unread="a daemon of this mypy reads no bodies")
    depend_on_bodies(api)
    function, frame = returned.function, returned.frame
    reason = "it calls itself" if function in _active or function is enclosing_function(api) else ""
    reason = reason or (f"more than {_DEEPEST} calls lead to it" if BodiesRead.depth >= _DEEPEST else "")
    if reason:
        return Outcome(unread=reason)
    variables = (argument.variable for argument in function.arguments)
    given: dict[Var, Type] = {one: NoneType() for one in variables if isinstance(frame.values.get(one.name), Nothing)}
    outcome = _outcome(api, function, frame, given, returned.file)
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
        if outcome.failure is not None:
            fail(ctx, seen_from(ctx.context, outcome.failure, returned.file, checked_file(ctx.api), ctx.api), {})


def check_driver(ctx: FunctionContext | MethodContext, result: Type) -> Type:
    """Read the body of a function that takes no tensors, such as `main(width=8)`, for the numbers that a call gives.

    mypy has checked the body, in which each parameter may be any number.

    Returns:
        The result type of the call; a dataclass in it has the tensors that the body gives its fields.
    """
    call = ctx.context
    named = _named_function(ctx)
    if named is None or not isinstance(call, CallExpr) or not _is_driver(named):
        return result
    if not can_read_bodies(ctx.api.options) or not _is_of_program(named, ctx.api):
        return result
    called = called_function(call.callee, ctx.api)
    if called is None:
        return result
    function, of = called
    depend_on_bodies(ctx.api)
    try:
        outcome, file, given = _driven(call, function, of, ctx.api)
    except UnreadError as unread:
        if is_recorded(ctx.api):
            record_unread(ctx.api, function, str(unread), unread.call_line)
        return result
    if outcome.failure is not None:
        fail(ctx, seen_from(ctx.context, outcome.failure, file, checked_file(ctx.api), ctx.api), given)
    elif outcome.reading is not None:
        record_read(ctx.api, outcome.reading, ctx.context.line)
    if outcome.result is None or not says_little(function):
        return result
    return _with_entries(result, outcome.result, frozenset(), call, ctx.api)


def _named_function(ctx: FunctionContext | MethodContext) -> FuncDef | None:
    """Return the function that a call names, or the method of the declared class."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    if isinstance(ctx, MethodContext) and isinstance(callee, MemberExpr):
        receiver = get_proper_type(ctx.type)
        symbol = receiver.type.get(callee.name) if isinstance(receiver, Instance) else None
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
    file, written = _written(function, api)
    _require_readable(written, api)
    is_skipped = written.type is None and skips_untyped(api.options)
    concerns_tensors = _makes_tensors.of(written) or (says_little(written) and not is_skipped)
    arguments = arguments_of_call(written, call, api) if concerns_tensors else None
    if arguments is None or not _is_defined_once(written, file):
        raise UnreadError(PASSES_NOTHING_KNOWN, call.line)
    types = [with_sizes(stored_type(api, one) or unknown(), one, api) for one in call.args]
    given = _arrays_given(written, call, types)
    says_more = any(map(_says_more, (*dict(arguments).values(), of))) or any(map(_is_of_known_rank, given.values()))
    if not says_more and not _unpacks.of(written):
        raise UnreadError(PASSES_NOTHING_KNOWN, call.line)
    outcome = _outcome(api, written, _frame_with(written, dict(arguments), of, api), given, file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    if outcome.unread:
        raise UnreadError(outcome.unread)
    return outcome, file, given


def _says_more(value: Value) -> bool:
    """Return whether a value that a call gives says more than the name of the parameter, or its class."""
    return value is not None and not isinstance(value, bool | str | float | Dim | Held | Nothing | ClassOf)


def _is_driver(function: FuncDef) -> bool:
    """Return whether a function takes and returns no tensors, and takes something else."""
    declared = function.type
    if declared is None:
        return len(function.arguments) > 0
    if not isinstance(declared, CallableType) or is_of_library(declared):
        return False
    types = [*declared.arg_types, declared.ret_type]
    return (len(types) > 1 or _unpacks.of(function)) and not any(map(holds_tensors, types))


def _calls_tensors(function: Node | None) -> bool:
    """Return whether a function calls an op, a layer or a model, or a function that takes or returns a tensor."""
    callees = [node.callee for node in inside(function) if isinstance(node, CallExpr)]
    return any(
        callee.fullname.startswith("tapegrad.")
        or (isinstance(callee.node, TypeInfo) and callee.node.has_base(MODULE))
        or (isinstance(callee.node, FuncDef) and _takes_tensors(callee.node))
        for callee in callees
        if isinstance(callee, RefExpr)
    )


def _takes_tensors(function: FuncDef) -> bool:
    """Return whether a function is declared to take or return a tensor, or to take a model."""
    declared = function.type
    types = [*declared.arg_types, declared.ret_type] if isinstance(declared, CallableType) else []
    return any(holds_tensors(one) or _is_layer(get_proper_type(one)) for one in types)


_makes_tensors = ScopeCache(_calls_tensors)


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


_unpacks = ScopeCache(_unpacks_items)


def _frame_with(function: FuncDef, values: dict[str, Value], receiver: Made | ClassOf | None, api: Checker) -> Frame:
    """Return the frame of a function, with the values that a call gives it; a number that is not known is opaque."""
    scope, outer, around = _place(function, api)
    numbers = {one.variable.name for one in function.arguments if _is_whole_number(one.variable.type)}
    values = {name: value for name, value in values.items() if value is not None or name not in numbers}
    if around is not None:
        return Frame(scope, values, around.receiver, {**around.variables}, outer=outer, around=around)
    if function.is_class and receiver is not None:
        return Frame(scope, values, None, {function.arguments[0].variable: ClassOf(receiver.info)})
    of = object_frame(receiver if isinstance(receiver, Made) else None, api)
    return of._replace(scope=scope, values=values, outer=outer)


def _is_whole_number(t: Type | None) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == "builtins.int"


def _place(function: FuncDef, api: Checker) -> tuple[str, str, Frame | None]:
    """Return the full names of a function and of that around it, and the frame of the latter if its body is read."""
    if function in Reading.functions:
        around, _ = Reading.functions[function]
        return f"{around.scope}.{function.name}", around.scope, around
    outer = "" if module_of(function) else inner_functions.of(program_file(api)).get(function, "")
    return f"{outer}.{function.name}" if outer else function.fullname, outer, None


def _returned(call: CallExpr, types: list[Type], api: Checker) -> Type | None:
    """Return the type of the array, the tensor or the tuple of both that a call of a function of the program returns.

    mypy gives the call the declared type, so this is read where a tensor is made of an array, and where an attribute is
    read that a constructor has assigned the result to.
    """
    called = called_function(call.callee, api)
    if called is None or not can_read_bodies(api.options) or not _is_of_program(called[0], api):
        return None
    function, of = called
    depend_on_bodies(api)
    try:
        file, written = _written(function, api)
        _require_readable(written, api)
    except UnreadError:
        return None
    arguments = arguments_of_call(written, call, api)
    if arguments is None or not _is_defined_once(written, file):
        return None
    given = _arrays_given(written, call, types)
    frame = _frame_with(written, dict(arguments), of, api)
    outcome = _outcome(api, written, frame, given, file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    if outcome.reading is not None:
        record_read(api, outcome.reading, call.line)
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
    if outcome.failure is not None and file is not None:
        fail(ctx, seen_from(attribute, outcome.failure, file, checked_file(ctx.api), ctx.api), {})
    if outcome.reading is not None:
        record_read(ctx.api, outcome.reading, attribute.line)
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
    if not isinstance(function, FuncDef) or not isinstance(made, Made) or not _may_be_read(function, api):
        return None
    numbers = tuple((argument.variable.name, None) for argument in function.arguments[1:])
    is_plain = len(numbers) == 1 and not why_unreadable(function) and not has_rival_files(made.info, api)
    outcome, _ = _outcome_for_object(made, function, numbers, api) if is_plain else (Outcome(), None)
    if outcome.reading is not None:
        record_read(api, outcome.reading, dataset.line)
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
        file, written = _written(function, api)
    except UnreadError:
        return Outcome(), None
    if BodiesRead.depth >= _DEEPEST or written in _active or written is enclosing_function(api):
        return Outcome(), None
    if not _is_defined_once(written, file):
        return Outcome(), None
    outcome = _outcome(api, written, _frame_with(written, dict(arguments), made, api), {}, file)
    if outcome.names:
        depend_on_names(outcome.names, api)
    return outcome, file


def _arrays_given(function: FuncDef, call: CallExpr, types: list[Type]) -> dict[Var, Type]:
    """Return the types of the parameters that a call gives arrays and tensors; of a starred argument, none is known."""
    if ARG_STAR in call.arg_kinds:
        return {}
    parameters = function.arguments[1 if function.info and not function.is_static else 0 :]
    names = [one.variable.name for one in parameters]
    given: dict[Var, Type] = {}
    for position, (t, name) in enumerate(zip(types, call.arg_names, strict=True)):
        place = position if name is None else names.index(name) if name in names else len(names)
        is_one = place < len(parameters) and parameters[place].kind not in (ARG_STAR, ARG_STAR2)
        if is_one and (is_array(t) or tensor_parts(t) is not None):
            given[parameters[place].variable] = t
    return given


def _makes_object(call: Context) -> bool:
    callee = call.callee if isinstance(call, CallExpr) else None
    return isinstance(callee, NameExpr | MemberExpr) and isinstance(callee.node, TypeInfo)


def _may_be_read(function: FuncDef, api: Checker) -> bool:
    """Return whether a function is one of the program whose body may say more than its declaration."""
    return can_read_bodies(api.options) and _is_of_program(function, api) and may_say_more(function)


def _is_of_program(function: FuncDef, api: Checker) -> bool:
    if function in Reading.functions:
        return True
    tree, module = program_file(api), module_of(function)
    if not module:
        return not tree.is_stub and function in inner_functions.of(tree)
    if module != tree.fullname:
        return is_marked(module, api)
    return bool(function.body.body) and not tree.is_stub


def _written(function: FuncDef, api: Checker) -> tuple[MypyFile, FuncDef]:
    """Return a function with its statements, and its file.

    Raises:
        UnreadError: They cannot be read.
    """
    if function in Reading.functions:
        return Reading.functions[function][1], function
    module, program = module_of(function), program_file(api)
    if module == program.fullname or not module:
        if checked_file(api) is not program:
            raise UnreadError(f"the files {module} and {checked_file(api).fullname} call each other")
        return program, function
    source = source_of(module, api)
    if source is None:
        raise UnreadError(why_unread(module))
    if function.fullname not in source.functions:
        raise UnreadError(f"{module} defines it inside of another statement")
    written = source.functions[function.fullname]
    if any(written.line <= line <= (written.end_line or written.line) for line in source.rejected):
        raise UnreadError("it uses names that are not defined")
    return source.tree, written


def _require_readable(function: FuncDef, api: Checker) -> None:
    """Check that the body of a function can be read.

    Raises:
        UnreadError: It cannot.
    """
    if BodiesRead.depth >= _DEEPEST:
        raise UnreadError(f"more than {_DEEPEST} calls lead to it")
    if function in _active or function is enclosing_function(api):
        raise UnreadError("it calls itself")
    if reason := why_unreadable(function, api) or _why_unknown_around(function, api):
        raise UnreadError(reason)


def _why_unknown_around(function: FuncDef, api: Checker) -> str:
    """Return why the variables around a function inside of another one are not known, as a clause; empty if they are.

    Those of a body that is read have the types that they have at the call.
    """
    if function in Reading.functions or module_of(function):
        return ""
    changed = changed_around(function, api)
    return "" if changed is None else f"it reads {changed.name}, which may have other types at other calls"


def _is_defined_once(function: FuncDef, file: MypyFile) -> bool:
    """Return whether a function is the only one of its name."""
    return function in Reading.functions or not module_of(function) or is_defined_once(function, file)


def why_unreadable(function: FuncDef, api: Checker | None = None) -> str:
    """Return why the body of a function is read for no call, as a clause; empty if it may be read.

    Without mypy's checker, each decorator that is a function of the program is a reason.
    """
    for is_unreadable, reason in (
        (is_changed(function, api), "it has a decorator"),
        (function.is_generator and not _only_yields(function), "it is a generator that uses what is sent to it"),
        (function.is_coroutine, "it is asynchronous"),
        (function.is_property, "it is a property"),
    ):
        if is_unreadable:
            return reason
    return ""


def _only_yields(function: FuncDef) -> bool:
    """Return whether each `yield` of a generator is a statement."""
    nodes = [*inside(function)]
    statements = {node.expr for node in nodes if isinstance(node, ExpressionStmt) and isinstance(node.expr, YieldExpr)}
    return all(node in statements for node in nodes if isinstance(node, YieldExpr | YieldFromExpr))


def _receiver(ctx: FunctionContext | MethodContext, function: FuncDef) -> Made | ClassOf | None:
    """Return the object, or the class, of a method that is called, if its class is known and has this method."""
    call = ctx.context
    if isinstance(call, IndexExpr) and function.name == "__getitem__":
        made = object_of(call.base, ctx.api)
        return made if isinstance(made, Made) and is_method(made, function) else None
    if not function.info or not isinstance(call, CallExpr):
        return None
    if Reading.is_tried:
        made = Reading.layer
        return made if isinstance(made, Made) and is_method(made, function) else None
    return object_with_method(call.callee, function, ctx.api)


def _is_of_class(path: str, function: FuncDef) -> bool:
    """Return whether an opaque size is that of an attribute, which all methods of an object share."""
    scope = path.partition("@")[2]
    return bool(function.info) and scope.startswith(function.info.fullname) and scope != function.fullname


def _given(
    ctx: FunctionContext | MethodContext,
    declared: CallableType,
    function: FuncDef,
    frame: Frame,
    file: MypyFile,
) -> dict[Var, Type]:
    """Return the types of the parameters in a call.

    Raises:
        UnreadError: No tensor, object or number among them is known, or another parameter, such as a function, is
            declared with type variables: in the body it would keep them, beside tensors that have the sizes of the
            call.
    """
    arguments = with_array_sizes(arguments_of(ctx, parameter_names(declared)), ctx)
    given: dict[Var, Type] = {}
    is_known = not any(t is not None and holds_tensors(t) for t in _types_given(function))
    for argument in function.arguments:
        actuals = arguments.get(argument.variable.name, [])
        if argument.kind in (ARG_STAR, ARG_STAR2):
            if any(one.starred for one in actuals):
                raise UnreadError("has a starred argument", ctx.context.line)
            given[argument.variable] = _rest_of_arguments(argument, [one.type for one in actuals], ctx.api)
            is_known = is_known or any(_is_of_known_rank(one.type) for one in actuals)
            continue
        if not actuals:
            if isinstance(argument.initializer, NameExpr) and argument.initializer.name == "None":
                given[argument.variable] = NoneType()
            elif type(argument.initializer) in _WRITTEN_NUMBERS and _has_no_annotation(argument):
                given[argument.variable] = make(ctx.api)(_WRITTEN_NUMBERS[type(argument.initializer)], [])
            continue
        if len(actuals) > 1 or actuals[0].starred:
            raise UnreadError("has a starred argument", ctx.context.line)
        tensor = actuals[0].tensor
        t = get_proper_type(actuals[0].type)
        of_items = _collection_that_is_read(actuals[0], argument.variable, function, frame, file, ctx.api)
        if of_items is not None:
            given[argument.variable] = of_items
            is_known = is_known or any(map(_is_of_known_rank, _items_of(of_items)))
            continue
        if (
            tensor is not None
            or _may_be_none(t)
            or is_array(t)
            or _holds_tensor(t)
            or _is_layer(t)
            or _is_function(t)
            or is_size(argument.variable.type or t)
        ):
            given[argument.variable] = t
        elif _has_no_annotation(argument) and isinstance(t, Instance) and t.type.fullname in _NUMBERS:
            given[argument.variable] = t.copy_modified(last_known_value=None)
        elif (shape := _shape_given(argument, frame.values.get(argument.variable.name), ctx.api)) is not None:
            given[argument.variable] = shape
        is_known = is_known or _is_of_known_rank(t)
    if isinstance(ctx, MethodContext) and _takes_object(function):
        given[function.arguments[0].variable] = ctx.type
    others = (argument.variable.type for argument in function.arguments if argument.variable not in given)
    types = [inner for t in given.values() for inner in with_inner_entries(t)]
    is_of_tensors = not lacks_annotations(declared) or any(map(holds_tensors, types))
    # The layers of a model that is known, or a number, say something of tensors whose shapes are not.
    is_known = is_known or any(map(_says_more, (*frame.values.values(), frame.receiver)))
    if not is_known or not (is_of_tensors or _makes_tensors.of(function)):
        raise UnreadError(PASSES_NOTHING_KNOWN, ctx.context.line)
    if any(t is not None and get_all_type_vars(t) for t in others):
        raise UnreadError("a parameter that is no tensor is declared with a type variable")
    return given


def _is_rejected(ctx: FunctionContext | MethodContext, declared: CallableType) -> bool:
    """Return whether a call gives a tensor of another shape than is declared, so that the call itself is an error."""
    formals = dict(zip(declared.arg_names, declared.arg_types, strict=True))
    arguments = arguments_of(ctx, parameter_names(declared))
    return any(
        _misfits(formals[name], one.type) for name, several in arguments.items() if name in formals for one in several
    )


def _misfits(declared: Type, given: Type) -> bool:
    """Return whether two tensors have different ranks or sizes."""
    expected, sizes = _sizes_of(declared), _sizes_of(given)
    if expected is None or sizes is None:
        return False
    numbers = (pair for pair in zip(expected, sizes, strict=False) if all(isinstance(one, int) for one in pair))
    return len(expected) != len(sizes) or any(one != other for one, other in numbers)


def _sizes_of(t: Type) -> list[Size] | None:
    """Return the sizes of a tensor; None if their number is not known."""
    parts = tensor_parts(t)
    items = shape_items(parts.shape) if parts is not None else None
    sizes = [one for one in items or () if not isinstance(one, Many)]
    return sizes if items is not None and len(sizes) == len(items) else None


def _shape_given(parameter: Argument, value: Value, api: Checker) -> Type | None:
    """Return the type of a parameter such as `shape: tuple[int, ...]`, with the sizes that a call gives it."""
    declared = get_proper_type(parameter.variable.type)
    is_shape = isinstance(declared, Instance) and declared.type.fullname == "builtins.tuple"
    if not is_shape or not isinstance(value, Items):
        return None
    sizes = tuple(one for one in value.values if isinstance(one, int | Dim) and not isinstance(one, bool))
    is_known = len(sizes) == len(value.values) and not any(map(is_unknown, sizes))
    return shape_type(sizes, make(api)) if is_known else None


def _has_no_annotation(parameter: Argument) -> bool:
    declared = get_proper_type(parameter.variable.type)
    return declared is None or (isinstance(declared, AnyType) and declared.type_of_any == TypeOfAny.unannotated)


_NUMBERS: Final = frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.str"})
_WRITTEN_NUMBERS: Final[dict[object, str]] = {FloatExpr: "builtins.float", IntExpr: "builtins.int"}


def _rest_of_arguments(parameter: Argument, types: list[Type], api: Checker) -> Type:
    """Return the type of `*args`, or of `**options`, in a call with arguments of some types."""
    if parameter.kind is ARG_STAR:
        return TupleType(types, any_tuple(api))
    of = make(api)
    return of("builtins.dict", [of("builtins.str", []), join(types) if types else unknown()])


def _collection_that_is_read(
    actual: Actual, parameter: Var, function: FuncDef, frame: Frame, file: MypyFile, api: Checker
) -> TupleType | Instance | None:
    """Return the type of a list or a dictionary of tensors that a body only reads.

    The items of a list that is written in the call are known one by one, and of others what they have in common.
    """
    p = get_proper_type(actual.type)
    if not isinstance(p, Instance) or p.type.fullname not in _COLLECTIONS:
        return None
    entries = entries_of(actual.expression, api) if is_dictionary(p) and actual.expression is not None else None
    if not holds_tensors(p):
        if not isinstance(get_proper_type(p.args[-1]), AnyType) or not _hold_tensors(entries):
            return None
        p = p.copy_modified(args=[*p.args[:-1], unknown()])
    if entries is not None and only_reads_parameter(parameter, entries, function, frame, file, api):
        return with_entries(p.copy_modified(args=[p.args[0], _common(entries, p)]), entries, parameter)
    match actual.expression:
        case ListExpr(items=items):
            written = [stored_type(api, one) for one in items]
        case DictExpr(items=pairs):
            written = [stored_type(api, one) for _, one in pairs]
        case ListComprehension(generator=GeneratorExpr(left_expr=each)):
            written = [stored_type(api, each)]
        case _:
            written = [p.args[-1]]
    types = [one for one in written if one is not None]
    item = get_proper_type(joined(UnionType(types)))
    item = get_proper_type(join(types)) if types and tensor_parts(item) is None else item
    is_of_tensors = tensor_parts(item) is not None or _holds_tensor(item)
    if None in written or not is_of_tensors or use_of_variable(parameter, {file}) is not Use.READ:
        return None
    if isinstance(actual.expression, ListExpr):
        return list_of(types, any_list(api))
    return p.copy_modified(args=[*p.args[:-1], item])


def _may_be_dictionary(call: CallExpr, api: Checker) -> bool:
    """Return whether what gets the result of a call may have the type of a dictionary: it has no other values.

    mypy would report that `out = run(x)` is followed by `out = out["loss"]`.
    """
    values = [value for name in targets_bound_to(call, api) for value in values_bound(name.node, api)]
    is_same = all(isinstance(value, CallExpr) and _are_same(value.callee, call.callee) for value in values)
    return is_same and not any(isinstance(place, MemberExpr) for place in places_of(call, api))


def _are_same(one: Expression, other: Expression) -> bool:
    """Return whether two expressions are the same name, or the same attribute of one."""
    match one, other:
        case NameExpr(node=first), NameExpr(node=second):
            return first is second
        case MemberExpr(expr=first_owner, name=first_name), MemberExpr(expr=second_owner, name=second_name):
            return first_name == second_name and _are_same(first_owner, second_owner)
    return one is other


def _hold_tensors(entries: Entries | None) -> bool:
    return any(tensor_parts(one) is not None or _hold_tensors(entries_in(one)) for one in (entries or {}).values())


def _common(entries: Entries, declared: Instance) -> Type:
    """Return what the tensors of a dictionary have in common."""
    common = joined(UnionType([*entries.values()])) if entries else declared.args[-1]
    return common if tensor_parts(common) is not None else declared.args[-1]


def _items_of(collection: TupleType | Instance) -> Sequence[Type]:
    if isinstance(collection, TupleType):
        return collection.items
    return [*collection.args[-1:], *with_inner_entries(collection)[1:]]


_COLLECTIONS: Final = frozenset(
    [*(f"builtins.{name}" for name in ("dict", "list")), *(f"typing.{name}" for name in ("Mapping", "Sequence"))]
)


def _types_given(function: FuncDef) -> list[Type | None]:
    """Return the declared types of the arguments that a call of a function gives."""
    return [one.variable.type for one in function.arguments[1 if _takes_object(function) else 0 :]]


def _takes_object(function: FuncDef) -> bool:
    return bool(function.info) and not function.is_static and not function.is_class


def _holds_tensor(t: ProperType) -> bool:
    """Return whether a type is a tuple with a tensor in it."""
    return isinstance(t, TupleType) and any(tensor_parts(item) is not None for item in t.items)


def _is_layer(t: ProperType) -> bool:
    """Return whether a type is a layer, of which a parameter such as `model: Student | Teacher` says less."""
    return isinstance(t, Instance) and t.type.has_base(MODULE)


def _is_function(t: ProperType) -> bool:
    """Return whether a type is that of a function, of which a parameter such as `act: Callable` says less."""
    return isinstance(t, CallableType) and t.definition is not None


def _is_of_known_rank(t: Type) -> bool:
    """Return whether a type is a tensor or an array of known rank, or a tuple with one."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and is_array(p):
        return isinstance(get_proper_type(p.args[0]), TupleType)
    if isinstance(p, TupleType):
        return any(map(_is_of_known_rank, p.items))
    parts = tensor_parts(p)
    return parts is not None and not isinstance(get_proper_type(parts.shape), AnyType)


def _may_be_none(t: ProperType) -> bool:
    """Return whether a type is None, or a tensor or None."""
    items = map(get_proper_type, t.items if isinstance(t, UnionType) else [t])
    return all(isinstance(item, NoneType) or tensor_parts(item) is not None for item in items)


def _frame(
    ctx: FunctionContext | MethodContext,
    declared: CallableType,
    function: FuncDef,
    receiver: Made | ClassOf | None,
    file: MypyFile,
) -> Frame:
    arguments = arguments_of(ctx, parameter_names(declared))
    values: dict[str, Value] = {}
    for argument in function.arguments[1 if function.info and not function.is_static else 0 :]:
        name = argument.variable.name
        if argument.kind in (ARG_STAR, ARG_STAR2):
            values[name] = _rest_of_values(argument, arguments.get(name, []), ctx.api)
            continue
        for actual in arguments.get(name, ()):
            if actual.tensor is None and actual.expression is None:
                values[name] = _values_given(function, ctx).get(name)
            elif actual.tensor is None and actual.expression is not None:
                values[name] = value_of_expression(actual.expression, ctx.api)
        if name not in arguments and (default := parameter_default(argument, file)) is not None:
            with in_file(file, ctx.api), within(None):
                values[name] = value_of_expression(default, ctx.api)
    return _frame_with(function, values, receiver, ctx.api)


def _values_given(function: FuncDef, ctx: FunctionContext | MethodContext) -> dict[str, Value]:
    """Return the values that a call gives the parameters of a function, also by `*sizes` and `**options`."""
    call = ctx.context
    return dict((arguments_of_call(function, call, ctx.api) if isinstance(call, CallExpr) else None) or ())


def _rest_of_values(parameter: Argument, actuals: list[Actual], api: Checker) -> Value:
    """Return the values that `*args`, or `**options`, has in a call."""
    values = [None if one.expression is None else value_of_expression(one.expression, api) for one in actuals]
    if parameter.kind is ARG_STAR:
        return Items((*values,))
    names = [one.keyword for one in actuals]
    return Keywords((*((name, value) for name, value in zip(names, values, strict=True) if name is not None),))


_active: set[FuncDef] = set()
_Key: TypeAlias = (
    "tuple[Block, tuple[tuple[Type, Hashable, object], ...], tuple[tuple[str, Hashable], ...], Hashable, int]"
)
_read: dict[_Key, Outcome] = {}
_counts: dict[Hashable, int] = {}  # the results of each function, and of each method for an object
_read_in: list[object] = [None, -1]  # the checker and its pass in which the results were read
_failures: list[list[Failure]] = []  # of the calls in each body that is read


def _outcome(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type], file: MypyFile) -> Outcome:
    """Return what a function returns for arguments of some types."""
    if _read_in != [api, pass_of(api)] or len(_read) >= _MOST:
        _read.clear()
        _counts.clear()
        Replacements.clear()
        _read_in[:] = [api, pass_of(api)]
    values = tuple((name, key_of(value)) for name, value in frame.values.items())
    types = tuple((t, key_of_entries(t), getattr(get_proper_type(t), "definition", None)) for t in given.values())
    receiver = key_of(frame.receiver)
    key = function.body, types, values, receiver, Replacements.changes
    if key not in _read or function in Reading.functions:  # what it returns depends on the variables around it
        most = _most_results(function, receiver)
        if most:
            return Outcome(unread=f"it is called with more than {most} combinations of arguments")
        Program.names.append(set())
        try:
            with in_file(file, api):
                outcome = _newly_read(api, function, frame, given)
        finally:
            names = Program.names.pop()
        _read[key] = outcome._replace(names=frozenset(names))
    return _read[key]


def _most_results(function: FuncDef, receiver: Hashable) -> int:
    """Count a result of a function, or of a method for an object; return how many are read, if that is exceeded."""
    for key, most in ((function, _MOST_OF_ALL), ((function, receiver), _MOST_OF_ONE)):
        _counts[key] = _counts.get(key, 0) + 1
        if _counts[key] > most:
            return most
    return 0


def _newly_read(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type]) -> Outcome:
    _active.add(function)
    _failures.append([])
    functions = {*Reading.functions}
    named = axes.of_parameters(given, frame.scope, api)
    try:
        with (
            _types_of({**_declared(function), **named}) as types,
            forgetting(),
            other_shapes(),
            within(frame),
            with_path(None),
            inside_body(api, function) as errors,
            recorded_calls(api) as calls,
        ):
            try:
                reader, statements = Reader(api, frame, types, errors, _failures[-1]), function.body.body
                result = (
                    _iterator(function, reader.yielded(statements))
                    if function.is_generator
                    else reader.result(statements)
                )
            finally:
                Program.names[-1] |= names_in_body(api, function)
                depend_on_types_in_body(api)
            if any(_own_variables(function) & _variables_in(t) for t in with_inner_entries(result)):
                return Outcome(unread="its result depends on a parameter that a call leaves out")
            if not is_recorded(api):
                return Outcome(result)
            return Outcome(result, reading=BodyReading(function, named, types_in_body(api), result, calls))
    except UnreadError as unread:
        if frame.receiver is not None:
            Replacements.note_unread(function, frame.receiver)
        return Outcome(unread=str(unread))
    except FailedError as failed:
        return Outcome(failure=failed.failure)
    finally:
        _failures.pop()
        _active.discard(function)
        for one in Reading.functions.keys() - functions:
            del Reading.functions[one]


def _iterator(function: FuncDef, item: Type) -> Type:
    """Return the type of a generator whose items have a type."""
    declared = get_proper_type(function.type.ret_type) if isinstance(function.type, CallableType) else None
    if not isinstance(declared, Instance) or not is_iterator(declared):
        message = "it is a generator that is not declared as an Iterator"
        raise UnreadError(message)
    return declared.copy_modified(args=[item, *declared.args[1:]])


def _declared(function: FuncDef) -> dict[Var, Type]:
    variables = (argument.variable for argument in function.arguments)
    if function.type is None:  # mypy gives a parameter its type when it checks the function, which may be later
        return {variable: variable.type or unknown() for variable in variables}
    return {variable: variable.type for variable in variables if variable.type is not None}


def _own_variables(function: FuncDef) -> set[TypeVarId]:
    return {variable.id for variable in function.type.variables} if isinstance(function.type, CallableType) else set()


def fail(ctx: FunctionContext | MethodContext | AttributeContext, led: Failure, given: dict[Var, Type]) -> None:
    """Report an error in a body that was read: at its own line, with the lines of the calls."""
    if _failures:
        _failures[-1].append(led)
        return
    are_certain = not any(_variables_in(t) or isinstance(get_proper_type(t), UnionType) for t in given.values())
    if not are_certain or _may_expect_error(ctx.context, ctx.api):  # two names may be one size to the caller
        return
    message = f"{led.origin}: {led.message}" if led.origin else led.message
    if not led.lines:
        add_path = CurrentLayer.add_path
        shown = message if add_path is None else add_path(f"forward: {message}")  # in whose place it writes the layer
        ctx.api.fail(shown, ctx.context, code=led.code)
        return
    at = Context(led.line, led.column)
    at.end_line, at.end_column = led.end_line, led.end_column
    with past_trial(ctx.api) if Reading.is_tried else nullcontext():
        report_in_body(ctx.api, message, led.lines, at, led.code)


@contextmanager
def hiding_failures() -> Iterator[None]:
    """Report no error in a body that is read for a call which may not run."""
    _failures.append([])
    try:
        yield
    finally:
        _failures.pop()


def seen_from(call: Context, failure: Failure, file: MypyFile, around: MypyFile, api: Checker) -> Failure:
    """Return an error in a body with the line of the call; one in another file as an error of the call itself."""
    if file is around:
        return failure._replace(lines=(*failure.lines, call.line))
    place = f"line {failure.line} of {shown_path(file.path, api)}"
    origin = ", called on ".join([*([failure.origin] if failure.origin else []), place])
    origin += "".join(f", called on line {line}" for line in failure.lines)
    end_line, end_column = call.end_line or call.line, call.end_column or call.column
    return Failure(failure.message, failure.code, call.line, call.column, end_line, end_column, origin=origin)


def _may_expect_error(call: Context, api: Checker) -> bool:
    """Return whether a call is in a lambda, or in a `try` or a `with` statement."""
    scope = enclosing_function(api) or checked_file(api)
    return isinstance(scope, LambdaExpr) or any(
        isinstance(node, TryStmt | WithStmt)
        and node.line <= call.line <= (node.end_line or node.line)
        and not (isinstance(node, WithStmt) and all(map(lets_errors_pass, node.expr)))
        for node in inside(scope)
    )


def _variables_in(t: Type) -> set[TypeVarId]:
    p = get_proper_type(t)
    if isinstance(p, TypeVarLikeType):
        return {p.id}
    parts = p.args if isinstance(p, Instance) else p.items if isinstance(p, TupleType) else ()
    inner = [p.type] if isinstance(p, UnpackType) else parts
    return set().union(*map(_variables_in, inner))


Bodies.result, Bodies.of_property = _returned, _array_of_property


@contextmanager
def _types_of(given: dict[Var, Type]) -> Iterator[Types]:
    types = Types()
    try:
        for variable, t in given.items():
            types.set(variable, t)
        yield types
    finally:
        types.restore()

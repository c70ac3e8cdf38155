"""What calls of functions return by their bodies, or why they fail; the results are cached."""

from __future__ import annotations

import operator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mypy.nodes import CallExpr, Context, LambdaExpr, MemberExpr, TryStmt, WithStmt
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    TypeOfAny,
    TypeVarLikeType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.calls.assertions import Note, Notes, forgetting, noting
from tapegrad.mypy.conversion import is_iterator, tensor_parts, unknown, without_opaque
from tapegrad.mypy.features.body_state import FailedError, Failure, Types, UnreadError
from tapegrad.mypy.features.body_statements import Reader
from tapegrad.mypy.features.partial_types import filled
from tapegrad.mypy.features.readable_bodies import MOST_CALLS, active, frame_with
from tapegrad.mypy.features.replaced_tensors import Replacements
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    checked_file,
    depend_on_types_in_body,
    enclosing_function,
    inside_body,
    make,
    names_in_body,
    note,
    pass_of,
    past_trial,
    report_in_body,
    shown_path,
    types_in_body,
)
from tapegrad.mypy.mypy_files import Program, in_file
from tapegrad.mypy.reports import CurrentLayer, with_path
from tapegrad.mypy.scopes import axes
from tapegrad.mypy.scopes.early_types import EarlyBodies, EarlyTypes
from tapegrad.mypy.scopes.entries import (
    entries_in,
    is_dictionary,
    is_record,
    key_of_entries,
    with_entries,
    with_inner_entries,
)
from tapegrad.mypy.scopes.frames import GivenTensor, Reading, key_of, within
from tapegrad.mypy.scopes.names import inside, name_same, places_of, targets_bound_to, values_bound
from tapegrad.mypy.scopes.opaque import other_shapes
from tapegrad.mypy.scopes.records import BodyReading, is_recorded, recorded_calls
from tapegrad.mypy.scopes.statements import lets_errors_pass

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from contextlib import AbstractContextManager

    from mypy.nodes import Block, FuncDef, MypyFile, Var
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext
    from mypy.types import Type, TypeVarId

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.entries import Entries
    from tapegrad.mypy.scopes.frames import Frame
    from tapegrad.mypy.scopes.records import Calls

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
    notes: tuple[Note, ...] = ()  # of calls of `reveal_shape` in it


def with_entries_read(result: Type, read: Type, kept: frozenset[str], call: Context, api: Checker) -> Type:
    """Return the type of a result with the entries of the dictionaries in it that were read."""
    p, q = get_proper_type(result), get_proper_type(read)
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        items = [with_entries_read(one, other, kept, call, api) for one, other in zip(p.items, q.items, strict=True)]
        p = p if all(map(operator.is_, items, p.items)) else p.copy_modified(items=items)
        arrays = entries_in(q)  # those of a named tuple
        if arrays is None or not isinstance(call, CallExpr):
            return p
        return with_entries(p, {name: without_opaque(t, kept) for name, t in arrays.items()}, call)
    if isinstance(p, Instance) and isinstance(q, Instance) and is_iterator(p) and is_iterator(q):
        item = with_entries_read(p.args[0], q.args[0], kept, call, api)
        return p if item is p.args[0] else p.copy_modified(args=[item, *p.args[1:]])
    entries = entries_in(q)
    if entries is None or not isinstance(call, CallExpr):
        return result
    if isinstance(p, AnyType) and isinstance(q, Instance) and is_record(q):
        return result  # mypy would report how a program changes the dataclass
    if isinstance(p, AnyType) and p.type_of_any == TypeOfAny.unannotated and hold_tensors(entries):
        if Reading.frame is None and not _may_be_dictionary(call, api):
            return result
        # mypy would report how a program uses other values, or that it adds some, if it knew what all have in common.
        of_any = make(api)("builtins.dict", [unknown(), unknown()])
        return with_entries(of_any, {key: _entry(p, t, kept, call, api) for key, t in entries.items()}, call)
    if isinstance(p, Instance) and is_record(p):
        return with_entries(p, {name: _field(t, kept, call, api) for name, t in entries.items()}, call)
    if not isinstance(p, Instance) or not is_dictionary(p):
        return result
    of_each = {key: _entry(p.args[-1], t, kept, call, api) for key, t in entries.items()}
    return with_entries(p, of_each, call)


def _field(read: Type, kept: frozenset[str], call: Context, api: Checker) -> Type:
    """Return the type of a field of a dataclass that was read, which may be a dictionary."""
    is_known = entries_in(read) is not None
    return with_entries_read(read, read, kept, call, api) if is_known else without_opaque(read, kept)


def _entry(declared: Type, read: Type, kept: frozenset[str], call: Context, api: Checker) -> Type:
    """Return the type of an entry of a dictionary that was read, which may be a dictionary itself."""
    found = without_opaque(read, kept) if is_array(declared) else filled(declared, without_opaque(read, kept))
    return found if entries_in(read) is None else with_entries_read(found, read, kept, call, api)


def _may_be_dictionary(call: CallExpr, api: Checker) -> bool:
    """Return whether what gets the result of a call may have the type of a dictionary: it has no other values.

    mypy would report that `out = run(x)` is followed by `out = out["loss"]`.
    """
    values = [value for name in targets_bound_to(call, api) for value in values_bound(name.node, api)]
    is_same = all(isinstance(value, CallExpr) and name_same(value.callee, call.callee) for value in values)
    return is_same and not any(isinstance(place, MemberExpr) for place in places_of(call, api))


def hold_tensors(entries: Entries | None) -> bool:
    """Return whether a dictionary, or one in it, has a tensor as an entry."""
    return any(tensor_parts(one) is not None or hold_tensors(entries_in(one)) for one in (entries or {}).values())


_Key: TypeAlias = (
    "tuple[Block, tuple[tuple[Type, Hashable, object], ...], tuple[tuple[str, Hashable], ...], Hashable, int]"
)
_read: dict[_Key, Outcome] = {}
_counts: dict[Hashable, int] = {}  # the results of each function, and of each method for an object
_read_in: list[object] = [None, None]  # the checker and its pass in which the results were read
_failures: list[list[Failure]] = []  # of the calls in each body that is read


def outcome_of(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type], file: MypyFile) -> Outcome:
    """Return what a function returns for arguments of some types."""
    if _read_in != [api, pass_of(api)] or len(_read) >= _MOST:
        _read.clear()
        _counts.clear()
        Replacements.clear()
        _read_in[:] = [api, pass_of(api)]
    values = tuple((name, key_of(value)) for name, value in frame.values.items())
    functions = [getattr(get_proper_type(t), "definition", None) for t in given.values()]
    types = tuple(zip(given.values(), map(key_of_entries, given.values()), functions, strict=True))
    receiver = key_of(frame.receiver)
    key = function.body, types, values, receiver, Replacements.changes
    # What a function returns that is defined in a body depends on the variables around it.
    if key not in _read or any(one in Reading.functions for one in (function, *functions)):
        most = _most_results(function, receiver)
        if most:
            return Outcome(unread=f"it is called with more than {most} combinations of arguments")
        Program.names.append(set())
        try:
            with in_file(file, api), noting() as notes:
                outcome = _newly_read(api, function, frame, given)
        finally:
            names = Program.names.pop()
        _read[key] = outcome._replace(names=frozenset(names), notes=tuple(dict.fromkeys(notes)))
    return _read[key]


def _most_results(function: FuncDef, receiver: Hashable) -> int:
    """Count a result of a function, or of a method for an object; return how many are read, if that is exceeded."""
    for key, most in ((function, _MOST_OF_ALL), ((function, receiver), _MOST_OF_ONE)):
        _counts[key] = _counts.get(key, 0) + 1
        if _counts[key] > most:
            return most
    return 0


@contextmanager
def _inside(
    api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type], failures: list[Failure]
) -> Iterator[tuple[Reader, Calls]]:
    """Give a reader of the body of a function, and the calls that are recorded; leave everything as it was.

    Args:
        api: The checker.
        function: The function.
        frame: What is known of its parameters.
        given: Their types.
        failures: Those of the calls in the body that the reader shall heed.
    """
    with (
        types_of_parameters(function, given) as types,
        forgetting(),
        other_shapes(),
        within(frame),
        with_path(None),
        inside_body(api, function) as errors,
        recorded_calls(api) as calls,
    ):
        yield Reader(api, frame, types, errors, failures), calls


def _newly_read(api: Checker, function: FuncDef, frame: Frame, given: dict[Var, Type]) -> Outcome:
    active.add(function)
    _failures.append([])
    functions = {*Reading.functions}
    named = axes.of_parameters(given, frame.scope, api)
    arrays = {
        one.name: GivenTensor(t) for one, t in named.items() if isinstance(frame.values.get(one.name), GivenTensor)
    }
    frame = frame._replace(values={**frame.values, **arrays})
    try:
        with _inside(api, function, frame, named, _failures[-1]) as (reader, calls):
            try:
                statements = function.body.body
                result = (
                    _iterator(function, reader.yielded(statements), api)
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
            all_types = {**types_in_body(api), **reader.at_turns}
            return Outcome(result, reading=BodyReading(function, named, all_types, result, calls))
    except UnreadError as unread:
        if frame.receiver is not None:
            Replacements.note_unread(function, frame.receiver)
        return Outcome(unread=str(unread))
    except FailedError as failed:
        return Outcome(failure=failed.failure)
    finally:
        _failures.pop()
        active.discard(function)
        for one in Reading.functions.keys() - functions:
            del Reading.functions[one]


def _early_types(function: FuncDef, file: MypyFile, api: Checker) -> EarlyTypes:
    """Return the types of the expressions in a function for parameters of which only the declaration is known."""
    if function in active or BodiesRead.depth >= MOST_CALLS:
        return EarlyTypes({}, frozenset())
    frame = frame_with(function, {}, None, api)
    active.add(function)
    Program.names.append(set())
    try:
        with (
            in_file(file, api),
            noting(),
            hiding_failures(),
            _inside(api, function, frame, {}, []) as (reader, _),
        ):
            with suppress(FailedError, UnreadError):  # what comes after such a statement stays without types
                reader.result(function.body.body)
            depend_on_types_in_body(api)
            return EarlyTypes(types_in_body(api), frozenset(Program.names[-1] | names_in_body(api, function)))
    finally:
        Program.names.pop()
        active.discard(function)


EarlyBodies.types = _early_types


def _iterator(function: FuncDef, item: Type, api: Checker) -> Type:
    """Return the type of a generator whose items have a type."""
    declared = get_proper_type(function.type.ret_type) if isinstance(function.type, CallableType) else None
    if declared is None or isinstance(declared, AnyType):
        return make(api)("typing.Iterator", [item])
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
        if not isinstance(enclosing_function(ctx.api), LambdaExpr):
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


def pass_on_notes(call: Context, outcome: Outcome, file: MypyFile, api: Checker) -> None:
    """Report what `reveal_shape` says in a body that was read for a call, with the lines of the calls."""
    around = checked_file(api)
    for one in outcome.notes:
        if file is around:
            seen = one._replace(lines=(*one.lines, call.line))
        else:
            origin = _origin(one, file, api)
            seen = Note(one.text, call.line, call.column, origin=origin)
        if Notes.of_bodies:
            Notes.of_bodies[-1][1].append(seen)
            continue
        place = f", in the call on line {', '.join(map(str, seen.lines))}" if seen.lines else ""
        text = f"{seen.origin}: {seen.text}" if seen.origin else seen.text
        with past_trial(api) if Reading.is_tried else nullcontext():
            note(api, f"{text}{place}", Context(seen.line, seen.column))


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
    origin = _origin(failure, file, api)
    end_line, end_column = call.end_line or call.line, call.end_column or call.column
    return Failure(failure.message, failure.code, call.line, call.column, end_line, end_column, origin=origin)


def _origin(of: Failure | Note, file: MypyFile, api: Checker) -> str:
    """Return where in another file an error or a note comes from."""
    place = f"line {of.line} of {shown_path(file.path, api)}"
    origin = ", called on ".join([*([of.origin] if of.origin else []), place])
    return origin + "".join(f", called on line {line}" for line in of.lines)


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


def types_of_parameters(function: FuncDef, given: dict[Var, Type]) -> AbstractContextManager[Types]:
    """Give the parameters of a function the types that they have in a call, and the others their declared ones."""
    return _types_of({**_declared(function), **given})


@contextmanager
def _types_of(given: dict[Var, Type]) -> Iterator[Types]:
    types = Types()
    try:
        for variable, t in given.items():
            types.set(variable, t)
        yield types
    finally:
        types.restore()

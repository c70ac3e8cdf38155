"""Functions of the program that are called: their arguments, and what they return."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    Decorator,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    PassStmt,
    RefExpr,
    StarExpr,
    StrExpr,
    SuperExpr,
    TupleExpr,
    TypeInfo,
    Var,
    YieldExpr,
)
from mypy.types import AnyType, CallableType, Instance, get_proper_type

from tapegrad.mypy.conversion import ARRAY, MODULE, shape_items, tensor_parts
from tapegrad.mypy.mypy_api import BodiesRead, checked_file, in_scope_of, stored_type, with_types
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.early_types import early_types
from tapegrad.mypy.scopes.file_contents import is_defined_once, loop_of
from tapegrad.mypy.scopes.frames import (
    Arrays,
    ClassOf,
    Expressions,
    Frame,
    GivenTensor,
    Held,
    Items,
    Keywords,
    Made,
    Nothing,
    Reading,
    Records,
    Returned,
    Several,
    key_of,
    within,
)
from tapegrad.mypy.scopes.functions import (
    Default,
    is_method,
    may_return_object,
    method_of,
    parameter_default,
    parameter_values,
    returned_class,
    written_with_file,
)
from tapegrad.mypy.scopes.items import MOST_ITEMS
from tapegrad.mypy.scopes.names import bound_once
from tapegrad.mypy.scopes.sequences import has_items, length_of, type_read
from tapegrad.mypy.scopes.statements import Run
from tapegrad.mypy.scopes.turns import is_same_at_each_turn
from tapegrad.mypy.sources import file_of, module_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from mypy.nodes import ArgKind, Expression, Statement
    from mypy.types import ProperType, Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value


def object_with_method(callee: Expression, function: FuncDef, api: Checker) -> Made | ClassOf | None:
    """Return the object or the class, of which a function that is called is a method; None if it is not known."""
    match callee:
        case SuperExpr(name=name, info=TypeInfo() as info):
            made = Reading.frame.receiver if Reading.frame is not None else None
            later = made.info.mro[made.info.mro.index(info) + 1 :] if made is not None and info in made.info.mro else []
            symbol = next((base.names[name] for base in later if name in base.names), None)
            method = symbol.node if symbol is not None else None
            return made if (method.func if isinstance(method, Decorator) else method) is function else None
        case MemberExpr(expr=RefExpr(node=TypeInfo() as info)):
            of: Value = ClassOf(info)
        case MemberExpr(expr=owner, name=name) if name == function.name:
            of = Expressions.object_of(owner, api)
        case _:
            of = Expressions.object_of(callee, api)
    return of if isinstance(of, Made | ClassOf) and is_method(of, function) else None


def called_function(callee: Expression, api: Checker) -> tuple[FuncDef, Made | ClassOf | None] | None:
    """Return the function that a call calls, and the object or the class of which it is a method; None if unknown."""
    match callee:
        case RefExpr(node=FuncDef() as function) if not function.info:
            return function, None
        case MemberExpr(expr=RefExpr(node=TypeInfo() as info), name=name):
            return method_of(ClassOf(info), name)
        case MemberExpr(expr=NameExpr() | MemberExpr() | CallExpr() as owner, name=name):
            of = Expressions.object_of(owner, api)
            method = method_of(of, name) if isinstance(of, Made | ClassOf) else None
            return _method_called(callee, api) if method is None and isinstance(callee, MemberExpr) else method
        case CallExpr():
            return _method_called(callee, api)
        case NameExpr(node=Var()) if (method := _method_called(callee, api)) is not None:
            return method
        case NameExpr(node=Var()) if Reading.frame is not None:  # a parameter that is given a function
            t = get_proper_type(stored_type(api, callee))
            function = t.definition if isinstance(t, CallableType) else None
            return (function, None) if isinstance(function, FuncDef) and not function.info else None
    return None


def _method_called(callee: Expression, api: Checker) -> tuple[FuncDef, Made | ClassOf | None] | None:
    """Return the `__call__` of an object of the program that is called, and the object; a model's is the library's."""
    of = Expressions.object_of(callee, api)
    return method_of(of, "__call__") if isinstance(of, Made) and not of.info.has_base(MODULE) else None


def value_returned(function: FuncDef, of: Made | ClassOf | None, call: CallExpr, api: Checker) -> Value:
    """Return what a call of a function of the program returns, if the call decides it."""
    around = Reading.frame
    # A method of an object that is being made may change it, so it runs once, in the order of the statements.
    is_own = around is not None and around.attributes is not None and isinstance(of, Made) and of is around.receiver
    if function in _called_now or not (is_own or may_return_object(function)):
        return None
    results = around.results if around is not None and around.results is not None else {}
    key = call, *((variable, key_of(value)) for variable, value in Reading.bound.items())
    if key in results:
        return results[key]
    results[key] = _newly_returned(
        function, of, call, api, around.attributes if around is not None and is_own else None
    )
    return results[key]


def _newly_returned(
    function: FuncDef, of: Made | ClassOf | None, call: CallExpr, api: Checker, attributes: dict[str, Value] | None
) -> Value:
    written, file = written_with_file(function, api)
    is_read = (
        written is not None and file is not None and is_defined_once(written, file) and not is_changed(written, api)
    )
    if written is None or file is None or not is_read or written.is_generator or written.is_coroutine:
        arguments = None
    else:
        arguments = arguments_of_call(written, call, api)
    if written is None or file is None or arguments is None:
        # A method of the program may have changed them; those of the library assign no attributes of its classes.
        if attributes is not None and not function.fullname.startswith("tapegrad."):
            attributes.update(dict.fromkeys(attributes))
        return None
    receiver = of if isinstance(of, Made) else None
    before = None if attributes is None else dict(attributes)
    variables, around = parameter_values(written, arguments), Reading.frame
    made = around.made if around is not None else None
    given = tuple((name, key_of(value)) for name, value in arguments)
    key = written, key_of(of), given, frozenset(_called_now)
    results = _Results.in_body() if attributes is None and made is None else {}
    if key in results:
        return results[key]
    frame = Frame(written.fullname, dict(arguments), receiver, variables, attributes, made=made)
    if isinstance(of, ClassOf):
        frame.variables[written.arguments[0].variable] = of
    run = Run(frame, api)
    _called_now.add(function)
    try:
        with in_file(file, api), in_scope_of(api, written), with_types(api, early_types(written, file, api)):
            goes_on = run.run(written.body.body)
    finally:
        _called_now.discard(function)
    values = [*run.returned, *([Nothing()] if goes_on else [])]
    value = values[0] if len({key_of(one) for one in values}) == 1 else None
    is_layer = returned_class(function) is not None and not isinstance(value, Made)
    if not is_layer and isinstance(value, Made | int | float | str | Nothing | None):  # no list, which may grow
        results[key] = value
    fresh = Frame(written.fullname, dict(arguments), receiver, {}, before)
    if isinstance(of, ClassOf):
        fresh.variables[written.arguments[0].variable] = of
    return Returned(written, fresh, file, value) if is_layer else value


def surely_yields(sequence: Expression, api: Checker) -> bool:
    """Return whether a call of a generator of the program yields at least once: in its first loop, which is run."""
    if isinstance(sequence, CallExpr) and getattr(sequence.callee, "fullname", "") == "builtins.enumerate":
        return surely_yields(sequence.args[0], api)
    called = called_function(sequence.callee, api) if isinstance(sequence, CallExpr) else None
    if called is None or not isinstance(sequence, CallExpr):
        return False
    function, of = called
    written, file = written_with_file(function, api)
    arguments = None if written is None or is_changed(written, api) else arguments_of_call(written, sequence, api)
    if written is None or file is None or arguments is None or not written.is_generator or function in _called_now:
        return False
    loop = next((one for one in written.body.body if not _is_plain(one)), None)
    begin = next((one for one in loop.body.body if not _is_plain(one)), None) if isinstance(loop, ForStmt) else None
    if not isinstance(loop, ForStmt) or not isinstance(getattr(begin, "expr", None), YieldExpr):
        return False
    receiver = of if isinstance(of, Made) else None
    frame = Frame(written.fullname, dict(arguments), receiver, parameter_values(written, arguments))
    _called_now.add(function)
    try:
        with in_file(file, api), in_scope_of(api, written), within(frame):
            return has_items(loop.expr, api)
    finally:
        _called_now.discard(function)


def _is_plain(statement: Statement) -> bool:
    """Return whether the next statement runs after this one: an assignment, a call, or a choice between such."""
    if isinstance(statement, IfStmt):
        blocks = [*statement.body, *([] if statement.else_body is None else [statement.else_body])]
        return all(_is_plain(one) for block in blocks for one in block.body)
    if isinstance(statement, ExpressionStmt):
        return isinstance(statement.expr, CallExpr | StrExpr)
    return isinstance(statement, AssignmentStmt | OperatorAssignmentStmt | PassStmt)


_called_now: Final[set[FuncDef]] = set()  # functions whose results are being read: they may call themselves


class _Results:
    """The results of calls in the body that is being read, None of those that are not known.

    The functions are not run again for each expression there that depends on one.
    """

    body: object = None
    of_calls: ClassVar[dict[Hashable, Value]] = {}

    @classmethod
    def in_body(cls) -> dict[Hashable, Value]:
        """Return those of the body that is being read; an empty dictionary, which nothing keeps, if there is none."""
        body = BodiesRead.watchers[-1] if BodiesRead.depth else None
        if body is None:
            return {}
        if body is not cls.body:
            cls.body = body
            cls.of_calls = {}
        return cls.of_calls


def starred_arguments(expression: Expression, kind: ArgKind, api: Checker) -> list[tuple[str | None, Value]] | None:
    """Return the arguments that `*items` or `**options` gives, with their names; None if they are not known."""
    match Expressions.object_of(expression, api):
        case Items(values=values) if kind is ARG_STAR:
            tensors = _tensors_in(expression, len(values), api)
            return [(None, tensor or value) for tensor, value in zip(tensors, values, strict=True)]
        case None | Several(item=None) if (
            kind is ARG_STAR and (count := length_of(expression, api)) is not None and count <= MOST_ITEMS
        ):
            tensors = _tensors_in(expression, count, api)
            return [(None, one) for one in tensors] if any(tensors) else None
        case Keywords() as options if kind is ARG_STAR2 and (named := options.as_arguments()) is not None:
            return [*named]
    return None


def _tensors_in(several: Expression, count: int, api: Checker) -> list[GivenTensor | None]:
    """Return the tensors and the arrays in a display or a comprehension that a call stars; None for other items."""
    match several:
        case ListExpr(items=items) | TupleExpr(items=items) if len(items) == count:
            return [None if isinstance(one, StarExpr) else _given_tensor(one, api) for one in items]
        case ListComprehension(generator=GeneratorExpr(left_expr=item)) | GeneratorExpr(left_expr=item):
            return [_given_tensor(item, api)] * count
    return [None] * count


def arguments_of_call(function: FuncDef, call: CallExpr, api: Checker) -> tuple[tuple[str, Value], ...] | None:
    """Return the value of each parameter of a function in a call; None if it is not known what the call gives."""
    parameters = function.arguments[1 if function.info and not function.is_static else 0 :]
    named = [one for one in parameters if one.kind not in (ARG_STAR, ARG_STAR2)]
    names = [one.variable.name for one in named]
    positional = [one.variable.name for one in named if one.kind not in (ARG_NAMED, ARG_NAMED_OPT)]
    file = file_of(module_of(function), api)
    defaults = {one.variable.name: Default(parameter_default(one, file), file) for one in named}
    rest = {one.kind: one.variable.name for one in parameters if one not in named}
    return values_of_parameters(names, positional, defaults, call, api, rest)


def _given_tensor(argument: Expression, api: Checker) -> GivenTensor | None:
    """Return the tensor that a call gives, if its type is known where the call is written."""
    if Reading.frame is not None:
        value = Expressions.object_of(argument, api) if isinstance(argument, NameExpr | MemberExpr) else None
        if isinstance(value, GivenTensor):
            return value
        t = type_read(argument, api)
    else:
        t = steady_type(argument, api)
    parts = tensor_parts(t) if t is not None else None
    if parts is None:
        is_run = Reading.frame is not None and t is None  # without the types of a body that is read
        array = stored_type(api, argument) if is_run or (t is None and _is_of_object(argument, api)) else t
        return given_array(argument, get_proper_type(array), api)
    return None if t is None or shape_items(parts.shape) is None else GivenTensor(t)


def _is_of_object(argument: Expression, api: Checker) -> bool:
    """Return whether an argument is an attribute of an object of the program, such as `ratings.genres`."""
    if Reading.frame is not None or not isinstance(argument, MemberExpr):
        return False
    return isinstance(Expressions.object_of(argument.expr, api), Made) and is_same_at_each_turn(argument, api)


def given_array(argument: Expression, t: ProperType | None, api: Checker) -> GivenTensor | None:
    """Return the array of NumPy that a call gives, with the sizes that its expression says."""
    computed = type_as_array(argument, t, api)
    if computed is not None:
        return GivenTensor(computed)
    if not isinstance(t, Instance) or t.type.fullname != ARRAY:
        return None
    return None if Arrays.sizes(argument, api) is None else GivenTensor(Arrays.with_sizes(t, argument, api))


def type_as_array(expression: Expression, t: Type | None, api: Checker) -> Type | None:
    """Return the type of an array that mypy takes for Any, as it does `x - x.mean()`; None for any other.

    Of variables, it may be one of a loop, as over an untyped generator: what others have been computed from may be
    something else by now.
    """
    if not isinstance(get_proper_type(t), AnyType):
        return None
    is_of_loop = (
        isinstance(expression, NameExpr)
        and isinstance(expression.node, Var)
        and loop_of(expression.node, api) is not None
    )
    is_computed = is_of_loop or isinstance(expression, CallExpr | IndexExpr | OpExpr)
    return Arrays.type_computed(expression, api) if is_computed else None


def steady_type(expression: Expression, api: Checker) -> Type | None:
    """Return the type of an expression; of a variable that is bound again, mypy may have read an older one.

    At the first turns of a loop mypy does not know yet what the later ones bind.
    """
    if not is_same_at_each_turn(expression, api):
        return None
    if isinstance(expression, MemberExpr) and expression.name not in ("T", "mT"):  # computed as the program reads it
        return None
    if isinstance(expression, NameExpr) and not (
        isinstance(expression.node, Var) and bound_once(expression.node, api)[1]
    ):
        return None
    return stored_type(api, expression)


def _says_nothing(value: Value) -> bool:
    """Return whether nothing is known of a value, or only the keys of a dictionary."""
    is_of_unknown = isinstance(value, Keywords) and all(one is None for _, one in value.values)
    return isinstance(value, Held | None) or is_of_unknown


def values_of_parameters(
    names: list[str],
    positional: list[str],
    defaults: dict[str, Default],
    call: CallExpr,
    api: Checker,
    rest: Mapping[ArgKind, str] = MappingProxyType({}),
    *,
    are_fields: bool = False,
) -> tuple[tuple[str, Value], ...] | None:
    """Return the values of parameters; those that take the rest, by position or by name, have a list or a dict.

    If `are_fields`, they are those of a dataclass, which may hold dictionaries of tensors.
    """
    pairs: list[tuple[str | None, Value]] = []
    for expression, kind, keyword in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        if kind in (ARG_STAR, ARG_STAR2):
            several = starred_arguments(expression, kind, api)
            if several is None:
                return None
            pairs += several
        else:
            value: Value = _given_tensor(expression, api) or Expressions.value_of(expression, api)
            entries = Records.given(expression, api) if are_fields and _says_nothing(value) else None
            pairs.append((keyword, entries or value))
    by_position = [value for keyword, value in pairs if keyword is None]
    by_name = {keyword: value for keyword, value in pairs if keyword is not None}
    given: dict[str, Value] = dict(zip(positional, by_position, strict=False))
    given |= {name: value for name, value in by_name.items() if name in names}
    for name in names:
        if name not in given:
            default = defaults[name]
            with in_file(default.file or checked_file(api), api), within(None):
                given[name] = None if default.value is None else Expressions.value_of(default.value, api)
    found = [(name, given.get(name)) for name in names]
    if ARG_STAR in rest:
        found.append((rest[ARG_STAR], Items((*by_position[len(positional) :],))))
    if ARG_STAR2 in rest:
        others = tuple((name, value) for name, value in by_name.items() if name not in names)
        found.append((rest[ARG_STAR2], Keywords(others)))
    return (*found,)

"""Objects and layers that calls of classes create, such as `MLP(Config(width=8))`, and what the constructors do.

The class of such an object is exactly the one that is called, so that a method which is called on it is no override.
"""

from __future__ import annotations

from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    ExpressionStmt,
    FuncDef,
    MemberExpr,
    NameExpr,
    RefExpr,
    SuperExpr,
    TypeInfo,
    Var,
)
from mypy.types import AnyType, CallableType, TypeVarType, get_proper_type

from tapegrad.mypy.conversion import MODULE, kind_of, unknown
from tapegrad.mypy.mypy_api import checked_file, make, pass_of, stored_type
from tapegrad.mypy.mypy_files import in_file, program_file
from tapegrad.mypy.scopes.called_functions import arguments_of_call, starred_arguments, values_of_parameters
from tapegrad.mypy.scopes.command_line import NAMESPACE, defaults_of
from tapegrad.mypy.scopes.decorators import is_changed
from tapegrad.mypy.scopes.dictionaries import named_entries
from tapegrad.mypy.scopes.frames import (
    Creation,
    Expressions,
    Frame,
    Items,
    Keywords,
    LayerCall,
    Layers,
    Made,
    Reading,
    Returned,
    Several,
    constructor_frame,
    key_of,
    within,
)
from tapegrad.mypy.scopes.functions import (
    LAYERS,
    Default,
    calls_constructor,
    constructor_of,
    field_default,
    parameter_values,
    written_with_file,
)
from tapegrad.mypy.scopes.items import type_of_value
from tapegrad.mypy.scopes.statements import Run
from tapegrad.mypy.scopes.written_attributes import is_unwritten
from tapegrad.mypy.sources import file_of, written_data_class, written_function
from tapegrad.sizes import Dim, names_in

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import ClassVar, Final

    from mypy.nodes import ArgKind, Expression, Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size

_MOST_OBJECTS = 1000  # whose constructors were run; far more than a file makes
_WITHOUT_ARGUMENTS: Final = {MODULE, "builtins.object"}  # whose constructors take none
_CONTAINED: Final = "super()"  # the name of the layers of a container among the attributes of an object
_NAMESPACES: Final = {NAMESPACE, "types.SimpleNamespace"}  # objects with any attributes


def with_fields(record: Made, value: Made | None) -> Made:
    """Return a dataclass with the tensors in its fields, and with the rest of what its call says."""
    others = {} if value is None or value.info is not record.info else dict(value.arguments)
    return record._replace(arguments=(*(others | dict(record.arguments)).items(),))


def created_object(info: TypeInfo, call: CallExpr, api: Checker) -> Value:
    """Return the layer, the object or the dictionary that a call of a class makes."""
    if info.typeddict_type is not None:
        return named_entries(call, api)
    value = _layer(info, call, api) if info.fullname.startswith(LAYERS) else _made(info, call, api)
    if isinstance(value, Made) and key_of(value) in _Constructed.failed:
        return None
    if Reading.frame is not None and Reading.frame.made is not None and isinstance(value, Made | LayerCall):
        Reading.frame.made.append(Creation(value, call, checked_file(api)))
    return value


def fields_as_entries(of: Value) -> Keywords | None:
    """Return the dictionary that `asdict` makes of a data class, with None for a field that may have changed."""
    if not isinstance(of, Made) or of.constructor != of.info.fullname or "dataclass" not in of.info.metadata:
        return None
    known = {name: fields_as_entries(value) if isinstance(value, Made) else value for name, value in of.arguments}
    fields = [one["name"] for one in of.info.metadata["dataclass"]["attributes"] if not one["is_init_var"]]
    return Keywords(tuple((name, known.get(name)) for name in fields))


def replaced_fields(call: CallExpr, api: Checker) -> Made | None:
    """Return the object with other values of some fields that `dataclasses.replace`, or `_replace`, makes."""
    match call:
        case CallExpr(callee=RefExpr(fullname="dataclasses.replace"), args=[of, *given], arg_kinds=[first, *kinds]):
            names = call.arg_names[1:]
            is_plain = first is ARG_POS
        case CallExpr(callee=MemberExpr(expr=of, name="_replace"), args=given, arg_kinds=kinds):
            names, is_plain = call.arg_names, True
        case _:
            return None
    made = Expressions.object_of(of, api) if is_plain and {*kinds} <= {ARG_NAMED} else None
    if not isinstance(made, Made) or made.constructor != made.info.fullname:
        return None
    values = {name: Expressions.value_of(value, api) for name, value in zip(names, given, strict=True)}
    fields = tuple((name, values.get(name, value)) for name, value in made.arguments)
    return _after_init(made._replace(arguments=fields), api)


MODEL_AVERAGE: Final = (
    "tapegrad.nn.average.ModelEMA"  # whose attribute `model` is a copy of the model it is created with
)


class Construction(NamedTuple):
    """What the constructor of an object does.

    Attributes:
        attributes: The values that the attributes have after it.
        created: The layers and objects that it surely makes, one after the other.
        computed: The sizes that it computes, by the names of variables, and of attributes such as `self.width`.
    """

    attributes: Mapping[str, Value] = MappingProxyType({})
    created: Sequence[Creation] = ()
    computed: Mapping[str, Size] = MappingProxyType({})


def construction_of(made: Made, api: Checker) -> Construction:
    """Return what the constructor of an object does; it is run once in each pass of mypy."""
    now = (api, pass_of(api))
    if _Constructed.read_in != now or len(_Constructed.objects) >= _MOST_OBJECTS:
        _Constructed.objects.clear()
        _Constructed.failed.clear()
        _Constructed.read_in = now
    key = key_of(made)
    if key in _Constructed.active or made.constructor == made.info.fullname:  # a dataclass has its arguments
        return Construction()
    if key not in _Constructed.objects:
        _Constructed.active.add(key)
        try:
            _Constructed.objects[key] = _newly_constructed(made, api)
        finally:
            _Constructed.active.discard(key)
    return _Constructed.objects[key]


def _newly_constructed(made: Made, api: Checker) -> Construction:
    attributes: dict[str, Value] = {}
    created: list[Creation | None] = []
    function = constructor_of(made.info)
    variables = None if function is None else _run_constructor(function, made, made.arguments, attributes, created, api)
    if variables is None:
        return Construction()
    values = {one.name: value for one, value in variables.items() if isinstance(one, Var)}
    values |= {f"self.{name}": value for name, value in attributes.items()}
    computed = {name: value for name, value in values.items() if isinstance(value, int | Dim)}
    certain = [one for one in takewhile(bool, created) if one is not None]
    return Construction(attributes, certain, computed)


def created_by(made: Made, api: Checker) -> Sequence[Creation]:
    """Return the layers and objects that the constructor of an object surely makes, one after the other."""
    return construction_of(made, api).created


def computed_by(made: Made, api: Checker) -> Mapping[str, Size]:
    """Return the sizes that the constructor of an object computes, by the names of variables and attributes."""
    return construction_of(made, api).computed


def mark_failed(made: Made) -> None:
    """Make an object unknown whose constructor fails, so that nothing else is said of it."""
    _Constructed.failed.add(key_of(made))


class _Constructed:
    """The objects whose constructors were run."""

    read_in: ClassVar[tuple[object, object]] = (None, None)
    objects: ClassVar[dict[Hashable, Construction]] = {}
    failed: ClassVar[set[Hashable]] = set()
    active: ClassVar[set[Hashable]] = set()


def _run_constructor(
    function: FuncDef,
    made: Made,
    arguments: tuple[tuple[str, Value], ...],
    attributes: dict[str, Value],
    created: list[Creation | None] | None,
    api: Checker,
) -> dict[Node, Value] | None:
    """Run a constructor, which adds to the attributes and to what is made; return its variables, None if not read."""
    written, file = written_with_file(function, api)
    if written is None or file is None or is_changed(written, api):
        return None
    variables = parameter_values(written, arguments)
    frame = Frame(written.fullname, dict(arguments), made, variables, attributes, made=created)
    with in_file(file, api):
        Run(frame, api).run(written.body.body)
    return variables


def run_inherited(call: CallExpr, api: Checker) -> bool:
    """Run the constructor that a call of `super().__init__` in a constructor calls; return whether it can be read."""
    frame = Reading.frame
    if frame is None or frame.receiver is None or frame.attributes is None or not calls_constructor(call):
        return False
    made = frame.receiver
    of = next((base for base in made.info.mro if frame.scope == f"{base.fullname}.__init__"), None)
    later = made.info.mro[made.info.mro.index(of) + 1 :] if of is not None else []
    base = next((one for one in later if "__init__" in one.names), None)
    if base is None or base.fullname in _WITHOUT_ARGUMENTS:
        return base is not None
    if base.fullname.startswith(LAYERS) and base.has_type_var_tuple_type:
        frame.attributes[_CONTAINED] = _layer(base, call, api)
        return True
    function = base.names["__init__"].node
    written = written_with_file(function, api)[0] if isinstance(function, FuncDef) else None
    arguments = None if written is None else arguments_of_call(written, call, api)
    if written is None or arguments is None or not isinstance(function, FuncDef):
        return False
    return _run_constructor(function, made, arguments, frame.attributes, frame.made, api) is not None


def is_own_container(info: TypeInfo) -> bool:
    """Return whether a class of the program is a container that calls its layers one after the other.

    An example is `class MLP(nn.Sequential)`, whose constructor passes them on by `super().__init__(...)`.
    """
    forward = info.get("forward")
    owner = getattr(forward.node, "info", None) if forward is not None else None
    if not isinstance(owner, TypeInfo) or owner is info or info.fullname.startswith(LAYERS):
        return False
    return owner.fullname.startswith(LAYERS) and owner.has_type_var_tuple_type


def contained_by(made: Made, api: Checker) -> Layers | None:
    """Return the layers that the constructor of a subclass of a container passes on; None if they are not known."""
    layers = construction_of(made, api).attributes.get(_CONTAINED)
    return layers if isinstance(layers, Layers) else None


def _layer(info: TypeInfo, call: CallExpr, api: Checker) -> Layers | LayerCall | None:
    """Return a layer of tapegrad: a container with layers as arguments, one by one or as a list, or any other layer."""
    if not any(base.fullname == MODULE for base in info.mro):
        return None
    if info.fullname == MODEL_AVERAGE and call.arg_kinds[:1] == [ARG_POS]:
        model = Expressions.object_of(call.args[0], api)
        return Layers(info, (model,)) if isinstance(model, Made) else None
    if {*call.arg_kinds} <= {ARG_POS, ARG_STAR}:
        items: list[Value] = []
        for argument, kind in zip(call.args, call.arg_kinds, strict=True):
            value = Expressions.object_of(argument, api)
            items += value.values if kind is ARG_STAR and isinstance(value, Items) else [value]
        if any(isinstance(one, Made | Several | Layers | LayerCall | Returned) for one in items):
            return Layers(info, (*items,), has_lists=ARG_STAR in call.arg_kinds)
    arguments: list[tuple[Type, ArgKind, str | None]] = []
    for expression, kind, name in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        if kind in (ARG_STAR, ARG_STAR2):
            several = starred_arguments(expression, kind, api)
            if several is None:
                return None
            plain = ARG_POS if kind is ARG_STAR else ARG_NAMED
            arguments += [(type_of_value(value, api), plain, keyword) for keyword, value in several]
        else:
            is_size = _takes_size(info, name if kind is ARG_NAMED else len(arguments))
            arguments.append((_type_of_argument(expression, api, is_size=is_size), kind, name))
    if any(name == "dtype" and isinstance(get_proper_type(t), AnyType) for t, _, name in arguments):
        return None  # the call would have the dtype that is the default
    types, kinds, names = zip(*arguments, strict=True) if arguments else ((), (), ())
    return LayerCall(info, types, kinds, names)


def _takes_size(info: TypeInfo, parameter: str | int | None) -> bool:
    """Return whether a parameter of a layer, by its name or its position, takes a size and nothing else."""
    constructor = constructor_of(info)
    declared = constructor.type if constructor is not None else None
    if not isinstance(declared, CallableType):
        return False
    position = declared.arg_names.index(parameter) if parameter in declared.arg_names else parameter
    position = position + 1 if position is parameter and isinstance(position, int) else position  # behind `self`
    if not isinstance(position, int) or position >= len(declared.arg_types):
        return False
    takes = get_proper_type(declared.arg_types[position])
    return isinstance(takes, TypeVarType) and kind_of(takes) == "size"


def _type_of_argument(argument: Expression, api: Checker, *, is_size: bool) -> Type:
    """Return the type of what a layer is made with; what is declared as Any is a number if it can only be a size."""
    value = Expressions.value_of(argument, api)
    variable = argument.node if isinstance(argument, RefExpr) else None
    declared = stored_type(api, argument) or (variable.type if isinstance(variable, Var) else None)
    is_any = isinstance(get_proper_type(declared), AnyType)
    # In a body that is read, the size variables of its class stand for what the call gives.
    is_bound = Reading.frame is not None and any(
        not name.is_opaque for name in names_in(value if isinstance(value, Dim) else 0)
    )
    return unknown() if isinstance(value, Dim) and ((is_any and not is_size) or is_bound) else type_of_value(value, api)


def _made(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return the object that a call of a class makes, if the statements of the class can be read."""
    if "__new__" in info.names and not info.is_named_tuple:
        return None
    if "dataclass" in info.metadata or info.is_named_tuple:
        return _made_of_fields(info, call, api)
    if info.fullname in _NAMESPACES:
        return _namespace(info, call, api)
    if file_of(info.module_name, api) is None:
        return None
    constructor = constructor_of(info)
    with_statements = None if constructor is None else written_function(constructor, api)
    if not call.args and constructor is not None and constructor.info.fullname in _WITHOUT_ARGUMENTS:
        return Made(info, f"{info.fullname}.__init__", ())
    if with_statements is None or is_changed(with_statements, api):
        return None
    arguments = arguments_of_call(with_statements, call, api)
    if arguments is None:
        return None
    made = Made(info, with_statements.fullname, arguments)
    return made._replace(inherited=_inherited(made, with_statements, api))


def _namespace(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return an object whose attributes are its keyword arguments, without those that are assigned again."""
    arguments = values_of_parameters([], [], {}, call, api, {ARG_STAR2: "given"})
    given = dict(arguments or ()).get("given")
    if not isinstance(given, Keywords):
        return None
    files = {checked_file(api), program_file(api)}
    return Made(
        info, info.fullname, tuple(one for one in given.as_arguments() or () if is_unwritten(info, one[0], files))
    )


def parsed_options(call: CallExpr, api: Checker) -> Made | None:
    """Return the namespace that `parser.parse_args()` makes without options; None if no default is known."""
    files = {checked_file(api), program_file(api)}
    info = make(api)(NAMESPACE, []).type
    values: list[tuple[str, Value]] = []
    for name, default in defaults_of(call, api).items():
        is_default = default is not None and is_unwritten(info, name, files)
        value = default if isinstance(default, bool) or default is None else Expressions.value_of(default, api)
        values.append((name, value if is_default else None))
    return Made(info, NAMESPACE, tuple(values)) if any(value is not None for _, value in values) else None


def _inherited(made: Made, constructor: FuncDef, api: Checker) -> tuple[tuple[str, tuple[tuple[str, Value], ...]], ...]:
    """Return the constructors that one calls by `super().__init__(...)`, and these in turn, with their arguments."""
    found: dict[str, tuple[tuple[str, Value], ...]] = {}
    while True:
        calls = [
            statement.expr
            for statement in constructor.body.body
            if isinstance(statement, ExpressionStmt)
            and isinstance(statement.expr, CallExpr)
            and isinstance(statement.expr.callee, SuperExpr)
        ]
        bases = made.info.mro[made.info.mro.index(constructor.info) + 1 :]
        symbol = next((base.names["__init__"] for base in bases if "__init__" in base.names), None)
        called = symbol.node if symbol is not None else None
        called = written_function(called, api) if isinstance(called, FuncDef) else None
        home = file_of(constructor.info.module_name, api)
        if len(calls) != 1 or not calls_constructor(calls[0]) or called is None or home is None:
            break
        with (
            in_file(home, api),
            within(constructor_frame(made._replace(inherited=(*found.items(),)), constructor.fullname)),
        ):
            arguments = arguments_of_call(called, calls[0], api)
        if arguments is None or is_changed(called, api):
            break
        found[called.fullname] = arguments
        constructor = called
    return (*found.items(),)


def _made_of_fields(info: TypeInfo, call: CallExpr, api: Checker) -> Made | None:
    """Return an object whose arguments are its fields, if none of them is assigned again."""
    symbol = info.names.get("__init__")
    is_written = symbol is not None and not symbol.plugin_generated and not info.is_named_tuple
    if is_written:
        return None
    fields: dict[str, Default] = {}
    for base in reversed(info.mro):
        if base is not info and "dataclass" not in base.metadata:
            continue
        written = written_data_class(base, api)
        if written is None:
            return None
        for statement in written.definition.defs.body:
            match statement:
                case AssignmentStmt(lvalues=[NameExpr(name=name)], unanalyzed_type=declared) if declared is not None:
                    fields[name] = Default(field_default(statement.rvalue), written.file)
    files = {checked_file(api), program_file(api), *(one.file for one in fields.values())}
    names = [name for name in fields if is_unwritten(info, name, filter(None, files))]
    constructor = None if info.is_named_tuple else constructor_of(info)  # mypy's own, which knows the order
    parameters = [*fields] if constructor is None else constructor.arg_names[1:]
    if any(one is not None and one not in fields for one in parameters):
        return None
    positional = [one for one in parameters if one is not None]
    arguments = values_of_parameters([*fields], positional, fields, call, api, are_fields=True)
    if arguments is None:
        return None
    made = Made(info, info.fullname, tuple((name, value) for name, value in arguments if name in names))
    return _after_init(made, api)


def _after_init(made: Made, api: Checker) -> Made | None:
    """Return an object with the fields that its `__post_init__` assigns; None if the method cannot be read."""
    owner = next((base for base in made.info.mro if "__post_init__" in base.names), None)
    if owner is None:
        return made
    written = written_data_class(owner, api)
    statements = written.definition.defs.body if written is not None else []
    method = next((one for one in statements if isinstance(one, FuncDef) and one.name == "__post_init__"), None)
    if written is None or method is None or len(method.arguments) != 1:
        return None
    fields = dict(made.arguments)
    frame = Frame(method.fullname, {}, made, {}, fields)
    with in_file(written.file, api):
        Run(frame, api).run(method.body.body)
    files = {checked_file(api), program_file(api), written.file}
    known = ((name, value) for name, value in fields.items() if is_unwritten(made.info, name, files))
    return made._replace(arguments=(*known,))

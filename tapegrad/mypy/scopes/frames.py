"""What is known while the body of a function is read for one call: the values of its parameters, and its object."""

from __future__ import annotations

import re
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, TypeAlias

from tapegrad.mypy.conversion import has_opaque, opaque_paths, size_of, size_type, unknown, with_parts
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Same,
    Size,
    assuming,
    call_of,
    is_unknown,
    names_in,
    opaque_name,
    simplest,
    size_of_name,
    surely_same,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from mypy.nodes import ArgKind, CallExpr, Context, Expression, FuncDef, MypyFile, Node, TypeInfo
    from mypy.types import Type

    from tapegrad.mypy.conversion import Make
    from tapegrad.mypy.mypy_api import Checker


class Made(NamedTuple):
    """An object that a call of its class made: of exactly this class, with these arguments.

    Attributes:
        info: The class.
        constructor: The full name of the method that takes the arguments; that of the class if it is a dataclass.
        arguments: The value of each parameter, or of each field.
        inherited: The full names of further constructors that this one calls by `super().__init__(...)`, with the
            value of each parameter.
    """

    info: TypeInfo
    constructor: str
    arguments: tuple[tuple[str, Value], ...]
    inherited: tuple[tuple[str, tuple[tuple[str, Value], ...]], ...] = ()


class Several(NamedTuple):
    """A list of objects that are all alike, or of which only the length is known."""

    item: Value
    is_filled: bool  # whether it has surely an item
    length: Size = UNKNOWN


class Items(NamedTuple):
    """A list or a tuple whose items are known one by one, such as `[8, 16, 32]`."""

    values: tuple[Value, ...]


class Keywords(NamedTuple):
    """The entries of a dictionary whose keys are words or whole numbers, such as those of `**options`."""

    values: tuple[tuple[str | int, Value], ...]

    def as_arguments(self) -> list[tuple[str, Value]] | None:
        """Return the arguments that a call is given by `**options`; None if a key is no name."""
        named = [(name, value) for name, value in self.values if isinstance(name, str)]
        return named if len(named) == len(self.values) else None


class Layers(NamedTuple):
    """A container of tapegrad, such as `Sequential`.

    Attributes:
        info: Its class.
        items: Its layers; one item may stand for a list of several.
        has_lists: Whether the call takes some of them from lists, so that its type does not name all layers.
    """

    info: TypeInfo
    items: tuple[Value, ...]
    has_lists: bool = False


class LayerCall(NamedTuple):
    """A layer of tapegrad, as a call of its class makes it.

    Attributes:
        info: The class.
        types: The types of the arguments, such as a whole number; Any where nothing is known.
        kinds: Whether they are given by position or by name.
        names: Those of the arguments that are given by name.
    """

    info: TypeInfo
    types: tuple[Type, ...]
    kinds: tuple[ArgKind, ...]
    names: tuple[str | None, ...]


class Returned(NamedTuple):
    """What a call of a function of the program returns: a layer, whose sizes are found by reading the body.

    Attributes:
        function: The function, with its statements.
        frame: The values of its parameters.
        file: Its file.
        value: What is known of the layer without its sizes.
    """

    function: FuncDef
    frame: Frame
    file: MypyFile
    value: Value


class ClassOf(NamedTuple):
    """A class, such as the first argument of a class method."""

    info: TypeInfo


class FunctionOf(NamedTuple):
    """A function that is named, such as `tg.relu`, with its type."""

    t: Type
    definition: Node


class Nothing(NamedTuple):
    """The value None, where what is not known is None."""


class GivenTensor(NamedTuple):
    """A tensor that a call gives a constructor, with its type there."""

    t: Type


class GivenEntries(NamedTuple):
    """A dictionary of tensors and arrays that a call gives a field, with the type of each entry there."""

    entries: tuple[tuple[str, Type], ...]


class Held(NamedTuple):
    """An object of which only the name is known, such as a parameter; its attributes are opaque sizes.

    Attributes:
        label: Its name.
        scope: The function that has the name.
        length: That of a collection which nothing changes.
    """

    label: str
    scope: str
    length: Size = UNKNOWN


Value: TypeAlias = (
    "Made | Several | Items | Keywords | Layers | LayerCall | Returned | ClassOf | FunctionOf | GivenTensor"
    " | GivenEntries | Nothing | Held | Size | float | str | None"
)


def key_of(value: Value) -> Hashable:
    """Return what is equal for values that are the same; a `Dim` does not support ==."""
    match value:
        case bool() | float():
            return type(value), value
        case Dim(terms=terms):
            return Dim, terms
        case Made(info=info, constructor=constructor, arguments=arguments):
            return info, constructor, tuple((name, key_of(one)) for name, one in arguments)
        case Several(item=item, is_filled=is_filled, length=length):
            return Several, key_of(item), is_filled, key_of(length)
        case Items(values=values):
            return Items, *map(key_of, values)
        case Keywords(values=pairs):
            return Keywords, *((name, key_of(one)) for name, one in pairs)
        case Layers(info=info, items=items):
            return info, *map(key_of, items)
        case Returned(function=function, frame=frame, value=inner):
            return function, key_of_frame(frame), key_of(inner)
        case Held(label=label, scope=scope, length=length):
            return Held, label, scope, key_of(length)
    return value


def key_of_frame(frame: Frame) -> Hashable:
    """Return what is equal for frames with the same values; loops have bound nothing yet."""
    return tuple((name, key_of(value)) for name, value in frame.values.items()), key_of(frame.receiver)


class Frame(NamedTuple):
    """The function whose body is read.

    Attributes:
        scope: The full name of the function.
        values: The values of its parameters.
        receiver: The object of which it is a method.
        variables: The values of variables that loops bind; of all variables while statements are run.
        attributes: Those of the object that its constructor has assigned so far; None if it is not running.
        results: What calls in the statement that is run have returned.
        made: The layers and objects that the statements which are run have surely made, one after the other; None in
            it where the next ones may not be made.
        computed: The sizes that the constructor of the receiver has computed, by the names of variables, and of
            attributes such as `self.width`.
        computed_value: Returns the value of a property of an object, or of a constant of a class, by its name.
        outer: The full name of the function around it, of which it may read variables; empty if there is none.
        around: The frame of that function; None while mypy checks it.
    """

    scope: str
    values: dict[str, Value]
    receiver: Made | None
    variables: dict[Node, Value]
    attributes: dict[str, Value] | None = None
    results: dict[Hashable, Value] | None = None
    made: list[Creation | None] | None = None
    computed: Mapping[str, Size] = MappingProxyType({})
    computed_value: Callable[[Made | ClassOf, str], Value] | None = None
    outer: str = ""
    around: Frame | None = None


class Creation(NamedTuple):
    """A call of a class in a constructor, or an assertion that fails there.

    Attributes:
        value: The layer or the object that the call makes; None for an assertion.
        at: The call, or the assertion.
        file: The file with it.
        condition: The part of an assertion that does not hold.
        values: Those of what it compares, or of the condition itself.
    """

    value: Made | LayerCall | None
    at: Context
    file: MypyFile
    condition: Expression | None = None
    values: tuple[Value, ...] = ()


class Arrays:
    """How the sizes of NumPy's arrays are read, see `tapegrad.mypy.calls.arrays`.

    Attributes:
        sizes: Returns the sizes of an array by its expression; None if its rank is unknown.
        type_computed: Returns the type of an array that mypy takes for Any; None if it may be a number.
        with_sizes: Returns the type of an array with the sizes, and the type of the elements, that its expression says.
    """

    sizes: ClassVar[Callable[[Expression, Checker], list[Size] | None]]
    type_computed: ClassVar[Callable[[Expression, Checker], Type | None]]
    with_sizes: ClassVar[Callable[[Type, Expression, Checker], Type]]


class Records:
    """How the fields of dataclasses are read, see `tapegrad.mypy.scopes.entries`.

    Attributes:
        returned: Returns the dataclass that a call of a function returns, or the one at a position of a tuple, with the
            tensors in its fields; None if nothing is known of them.
        yielded: Returns the dataclass that a generator yields, with the tensors in its fields; None if not known.
        given: Returns the dictionary of tensors or arrays that a call gives a field; None if nothing is known of it.
    """

    returned: ClassVar[Callable[[CallExpr, int | None, Checker], Made | None]]
    yielded: ClassVar[Callable[[CallExpr, Checker], Made | None]]
    given: ClassVar[Callable[[Expression, Checker], GivenEntries | None]]


class Expressions:
    """How expressions are evaluated; `tapegrad.mypy.scopes.objects` sets these functions.

    The parts of an expression may be of any kind, so each module that evaluates some kinds needs all others.

    Attributes:
        value_of: Returns the object or the number that an expression denotes; None if neither is known.
        object_of: Returns the object that an expression denotes, or the size that a parameter was given.
        size_of: Returns the size that an expression always has where it stands, or unknown.
        decided: Returns whether a condition holds; None if that is not known.
        constructed: Runs the constructor that a call of `super().__init__` calls; returns whether it could be read.
    """

    value_of: ClassVar[Callable[[Expression, Checker], Value]]
    object_of: ClassVar[Callable[[Expression, Checker], Value]]
    size_of: ClassVar[Callable[[Expression, Checker], Size]]
    decided: ClassVar[Callable[[Expression, Checker], bool | None]]
    constructed: ClassVar[Callable[[CallExpr, Checker], bool]]


class Reading:
    """What is being read.

    Attributes:
        frame: The frame of the body; None while mypy checks the program itself.
        is_tried: Whether mypy tries a call that the program does not write, that of a layer in a container.
        layer: This layer, if it is known.
        functions: Those that the bodies which are being read have defined, with the frame and the file of each body.
        bound: The values of variables of comprehensions, for one item.
        turns: The types of the items of comprehensions whose turns were read one by one, with the keys of a dictionary,
            and the frame of the body.
    """

    frame: Frame | None = None
    is_tried = False
    layer: Value = None
    functions: ClassVar[dict[FuncDef, tuple[Frame, MypyFile]]] = {}
    bound: ClassVar[dict[Node, Value]] = {}
    turns: ClassVar[dict[Expression, tuple[object, list[tuple[str | None, Type]]]]] = {}


def note_turns(comprehension: Expression, items: list[tuple[str | None, Type]]) -> None:
    """Note the types of the items of a comprehension in a body that is read, with the keys of a dictionary."""
    if len(Reading.turns) >= _MOST_COMPREHENSIONS:
        Reading.turns.clear()
    Reading.turns[comprehension] = Reading.frame, items


def forget_turns(comprehension: Expression) -> None:
    """Forget what was noted for a comprehension when its body was read before."""
    Reading.turns.pop(comprehension, None)


def turns_noted(comprehension: Expression) -> list[tuple[str | None, Type]] | None:
    """Return the types that were noted for a comprehension; None if there are none in this body."""
    frame, items = Reading.turns.get(comprehension, (None, None))
    return items if frame is not None and frame is Reading.frame else None


_MOST_COMPREHENSIONS: Final = 1000  # far more than the bodies that are read at one time have


@contextmanager
def within(frame: Frame | None) -> Iterator[None]:
    """Read names and attributes as they are in a frame; without one, as they are in the program."""
    before = Reading.frame, Reading.is_tried
    Reading.frame, Reading.is_tried = frame, False
    try:
        yield
    finally:
        Reading.frame, Reading.is_tried = before


@contextmanager
def binding(values: dict[Node, Value]) -> Iterator[None]:
    """Give variables of a comprehension the values that they have for one item."""
    before = dict(Reading.bound)
    Reading.bound.update(values)
    try:
        yield
    finally:
        Reading.bound.clear()
        Reading.bound.update(before)


@contextmanager
def trying(layer: Value) -> Iterator[None]:
    """Try calls of a layer in a container."""
    before = Reading.layer, Reading.is_tried
    Reading.layer, Reading.is_tried = layer, True
    try:
        yield
    finally:
        Reading.layer, Reading.is_tried = before


def constructor_frame(made: Made, name: str = "") -> Frame:
    """Return the frame in which the constructor of an object ran, or one that it called, by its full name."""
    name = name or made.constructor
    arguments = made.arguments if name == made.constructor else dict(made.inherited)[name]
    return Frame(name, dict(arguments), made, {})


def value_of_name(label: str, scope: str) -> Size | None:
    """Return the value that an opaque size has in the current frame; None if the name stands for itself."""
    frame = Reading.frame
    if frame is None:
        return None
    if scope == frame.scope:
        return _value_in(frame.values, label)
    if scope == frame.outer:
        with within(frame.around):
            return value_of_name(label, scope)
    made = frame.receiver
    if made is None:
        return None
    if made.constructor == made.info.fullname and any(scope == base.fullname for base in made.info.mro):
        return _value_in(dict(made.arguments), label.removeprefix("self."))  # fields of a dataclass are attributes
    if scope == made.constructor:
        return _value_in({**frame.computed, **dict(made.arguments)}, label)
    if any(scope == base.fullname for base in made.info.mro) and label in frame.computed:
        return frame.computed[label]
    if scope == made.info.fullname:
        return None
    if (arguments := dict(made.inherited).get(scope)) is not None:
        return _value_in(dict(arguments), label)
    if any(scope == f"{base.fullname}.__init__" for base in made.info.mro):
        return UNKNOWN  # of another constructor, which this one may call with any arguments
    return None


def _value_in(values: dict[str, Value], label: str) -> Size | None:
    is_length = label.startswith("len(")
    root, *rest = re.split(r"\.|(?=\[)", label[len("len(") : -1] if is_length else label)
    if root not in values:
        return None
    value = values[root]
    for name in rest:
        if isinstance(value, Dim) and (held := _variable_of(value)) is not None:
            value = held
        if isinstance(value, Held):
            value = Held(f"{value.label}{name if name[0] == '[' else '.' + name}", value.scope)
        elif isinstance(value, Items) and name[0] == "[":
            value = item_at(value, int(name[1:-1]))
        elif isinstance(value, Keywords):
            value = dict(value.values).get(name[2:-2])
        else:
            value = _attribute_of(value, name) if isinstance(value, Made | ClassOf) else None
    if is_length:
        return value.length if isinstance(value, Held | Several) else UNKNOWN
    if isinstance(value, Held):
        return size_of_name(opaque_name(value.label, value.scope)) if rest else UNKNOWN
    return value if isinstance(value, int | Dim) else UNKNOWN


def _attribute_of(of: Made | ClassOf, name: str) -> Value:
    """Return the value of a field of an object, of a property such as `config.head_width`, or of a class constant."""
    arguments, frame = dict(of.arguments) if isinstance(of, Made) else {}, Reading.frame
    if name in arguments or frame is None or frame.computed_value is None:
        return arguments.get(name)
    return frame.computed_value(of, name)


def _variable_of(size: Dim) -> Held | None:
    """Return the variable that an opaque size is the value of, if that is all: of type Any, it may be an object."""
    names = names_in(size)
    name = names.pop() if len(names) == 1 else None
    is_plain = name is not None and name.is_opaque and surely_same(size, size_of_name(name))
    return Held(name.label, name.scope) if name is not None and is_plain else None


def item_at(items: Items, index: int) -> Value:
    """Return the item with an index; None if there is none."""
    count = len(items.values)
    return items.values[index] if -count <= index < count else None


def in_frame(t: Type, make: Make) -> Type:
    """Return a type with the values that its opaque sizes have in the current frame, unknown where one has none."""
    if Reading.frame is None or not has_opaque(t):
        return t
    return with_parts(t, lambda part: _part_in_frame(part, make))


def _part_in_frame(part: Type, make: Make) -> Type:
    before = size_of(part)
    size = size_in_frame(before)
    return unknown() if is_unknown(size) else part if size is before else size_type(size, make)


def size_in_frame(size: Size) -> Size:
    """Return a size with the values that its opaque sizes have in the current frame, unknown where one has none."""
    facts: list[Same] = []
    for name in names_in(size):
        if not name.is_opaque:
            continue
        call = call_of(name)
        if call is None:
            value = value_of_name(name.label, name.scope)
        else:  # such as the largest of two sizes
            value = call.computed([size_in_frame(one) for one in call.arguments])
        if value is None or surely_same(value, size_of_name(name)):
            continue
        if is_unknown(value):
            return UNKNOWN
        facts.append(Same(name, value))
    if not facts:
        return size
    with assuming(facts):
        return simplest(size + 0)


def is_passed_on(path: str, value: Value) -> bool:
    """Return whether a value has an opaque size, as types mention it, or an object that it is an attribute of."""
    label, _, scope = path.partition("@")
    if isinstance(value, Made):
        return any(is_passed_on(path, one) for _, one in value.arguments)
    if isinstance(value, Several):
        return is_passed_on(path, value.item) or is_passed_on(path, value.length)
    if isinstance(value, Items):
        return any(is_passed_on(path, one) for one in value.values)
    if isinstance(value, Keywords):
        return any(is_passed_on(path, one) for _, one in value.values)
    if isinstance(value, Layers):
        return any(is_passed_on(path, one) for one in value.items)
    if isinstance(value, GivenTensor):
        return path in opaque_paths(value.t)
    if isinstance(value, GivenEntries):
        return any(path in opaque_paths(t) for _, t in value.entries)
    if isinstance(value, LayerCall):
        return any(path in opaque_paths(t) for t in value.types)
    if isinstance(value, Returned):
        return any(is_passed_on(path, one) for one in (*value.frame.values.values(), value.frame.receiver))
    if isinstance(value, Held):
        is_attribute = scope == value.scope and label.startswith((f"{value.label}.", f"{value.label}["))
        return is_attribute or is_passed_on(path, value.length)
    return isinstance(value, Dim) and any((name.label, name.scope) == (label, scope) for name in names_in(value))

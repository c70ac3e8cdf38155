"""Opaque sizes: values of expressions that do not change: a parameter, `config.width`, `sizes["width"]`, `self.heads`.

A name is opaque if it is a parameter or is assigned once, outside of loops. An attribute is opaque if it is frozen, or
if the file that is checked assigns to it at most once, in the constructor; an assignment in another file is not seen.
A variable of another module has the value that the module assigns once, if neither the module nor the file that is
checked assigns another one.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    ClassDef,
    Decorator,
    DelStmt,
    DictionaryComprehension,
    Expression,
    ForStmt,
    FuncDef,
    FuncItem,
    GeneratorExpr,
    Import,
    ImportAll,
    ImportFrom,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    StrExpr,
    TempNode,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
    WhileStmt,
)
from mypy.types import AnyType, CallableType, Instance, TupleType, Type, TypedDictType, TypeType, get_proper_type

from tapegrad.mypy.conversion import Many, size_of
from tapegrad.mypy.mypy_api import checked_file, stored_type
from tapegrad.mypy.mypy_files import Program, in_file, program_file
from tapegrad.mypy.scopes.collections import (
    Use,
    collection_of,
    set_up_methods,
    use_after_set_up,
    use_of,
    use_of_variable,
)
from tapegrad.mypy.scopes.frames import Reading, value_of_name, within
from tapegrad.mypy.scopes.loop_variables import is_of_one_turn
from tapegrad.mypy.scopes.names import BINDERS, ScopeCache, inside, nodes_in, paired, parts_of, targets_in
from tapegrad.mypy.sources import constants_of, file_of
from tapegrad.sizes import UNKNOWN, Dim, Size, is_unknown, opaque_name, power, size_of_name, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.sources import Constants

ARITHMETIC: Final[dict[str, Callable[[Any, Any], Size]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda n, m: UNKNOWN if surely_same(m, 0) else n // m,
    "%": lambda n, m: n % m if isinstance(n, int) and isinstance(m, int) and m else UNKNOWN,
    "**": power,
    "<<": lambda n, m: n * power(2, m),
    ">>": lambda n, m: UNKNOWN if is_unknown(below := power(2, m)) else n // below,
}
_IMMUTABLE: Final = "builtins.str", "builtins.bytes", "builtins.tuple", "builtins.frozenset", "builtins.range"
_SEQUENCES: Final = {"builtins.list", "builtins.tuple", "typing.Sequence"}
_LIBRARIES: Final = ("builtins", "tapegrad.", "typing")
_ANY_NAME: Final = "*"  # of an attribute of `self` that is set by a name that is computed
_CONSTRUCTORS: Final = ("__init__", "__post_init__")
_CHANGING: Final = ("clear", "pop", "popitem", "setdefault", "update")  # methods of dicts
_PARSING: Final = ("parse_args", "parse_intermixed_args", "parse_known_args", "parse_known_intermixed_args")


class Finder(NamedTuple):
    """What returns the size that an expression denotes, and that of an item of a sequence."""

    of_expression: Callable[[Expression, Checker], Size]
    of_item: Callable[[Expression, int, Checker], Size]


class Origin(NamedTuple):
    """Where a name gets its value: the function, the value if it is written, or the shape that it is unpacked from."""

    scope: str
    is_steady: bool  # a parameter, or an assignment outside of loops
    value: Expression | None = None
    unpacked: tuple[Expression, int] | None = None


class Write(NamedTuple):
    """An assignment to an attribute: the method if it is one of `self`, and the value if it is written."""

    method: FuncDef | None
    value: Expression | None
    is_steady: bool = True  # outside of loops
    unpacked: tuple[Expression, int] | None = None  # the tuple that it is unpacked from, and the position
    is_operator: bool = False  # `self.x += y`


class Loop(NamedTuple):
    """A loop, or one of a comprehension: what it assigns to, what it runs over, and the function that it is in."""

    target: Expression
    sequence: Expression
    scope: str


class Contents(NamedTuple):
    """What a file says of names and attributes, read once."""

    origins: dict[Node | None, list[Origin]]
    writes: dict[str, list[Write]]
    constants: dict[tuple[str, str], list[Expression | None]]  # of classes, by class and name
    receivers: dict[Node, FuncDef]  # the first parameter of each method
    unpackings: dict[Expression, list[Node | None]]  # the names that a tuple is assigned to
    loops: dict[Node, Loop]  # by variable
    axes: dict[Expression, tuple[Node | None, int]]  # of `n = x.shape[0]`, by `x.shape`: the name and the axis
    functions: dict[str, FuncDef | None]  # by full name; None if there are several
    is_dynamic: bool  # some attribute is set by a name that is computed


class Path(NamedTuple):
    """An object that an expression denotes: its name, the function in which it has it, and its type."""

    label: str
    scope: str
    type: Type | None


def note_shape(expression: Expression, items: list[Size | Many] | None) -> None:
    """Note the shape that an expression `x.shape` has where it stands, for the names that it is unpacked to."""
    if len(_shapes) >= _MOST:
        _shapes.clear()
    _shapes[expression] = None if items is None else [UNKNOWN if isinstance(n, Many) else n for n in items]


@contextmanager
def other_shapes() -> Iterator[None]:
    """Forget afterwards the shapes that are noted meanwhile."""
    shapes = dict(_shapes)
    try:
        yield
    finally:
        _shapes.clear()
        _shapes.update(shapes)


_MOST = 1000  # far more than the shapes that one function reads
_shapes: dict[object, list[Size] | None] = {}
_active: set[object] = set()  # expressions that are being read: a name may be assigned to itself


def opaque_size(expression: Expression, api: Checker) -> Size:
    """Return the size that an expression always has where it stands, or unknown."""
    if expression in _active:
        return UNKNOWN
    _active.add(expression)
    try:
        return _size(expression, api)
    finally:
        _active.discard(expression)


def _size(expression: Expression, api: Checker) -> Size:
    match expression:
        case IntExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=operand):
            return opaque_size(operand, api) * -1
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](opaque_size(left, api), opaque_size(right, api))
        case NameExpr(node=Var() as variable):
            return _size_of_name(variable, api)
        case MemberExpr():
            return _size_of_attribute(expression, api)
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[NameExpr() | MemberExpr() as operand]):
            return _length(_path(operand, api))
        case IndexExpr(base=MemberExpr(name="shape") as shape, index=index):
            position = position_of(index)
            axis = _axis(shape, position) if position is not None else None
            return UNKNOWN if axis is None else axis
        case IndexExpr(index=StrExpr()):
            return _of_path(_path(expression, api))
        case IndexExpr(base=base, index=index) if (position := position_of(index)) is not None:
            return _opaque_item(base, position, api)
    return UNKNOWN


def _opaque_item(sequence: Expression, index: int, api: Checker) -> Size:
    return size_of_item(sequence, index, api, _OPAQUE)


_OPAQUE: Final = Finder(opaque_size, _opaque_item)


def size_of_item(sequence: Expression, index: int, api: Checker, find: Finder) -> Size:
    """Return the size that is an item of a written list or tuple, or of a comprehension; unknown if it may change.

    A negative index counts from the end.
    """
    match sequence:
        case ListExpr(items=items) | TupleExpr(items=items):
            is_known = -len(items) <= index < len(items) and not any(isinstance(one, StarExpr) for one in items)
            return find.of_expression(items[index], api) if is_known else UNKNOWN
        case ListComprehension(generator=comprehension) | (GeneratorExpr() as comprehension):
            match comprehension:
                case GeneratorExpr(left_expr=item, indices=[target], sequences=[of], condlists=[[]]):
                    with _bound(target, of, index, find):
                        return find.of_expression(item, api)
        case CallExpr(callee=NameExpr(fullname="builtins.list" | "builtins.tuple"), args=[of]):
            return find.of_item(of, index, api)
        case IndexExpr(base=of, index=SliceExpr(begin_index=begin, end_index=end, stride=None)):
            first = 0 if begin is None else position_of(begin)
            if first is not None and first >= 0 and (index >= 0 or (end is None and first == 0)):
                return find.of_item(of, first + index, api)
        case RefExpr(node=Var() as variable) if (known := module_value(variable, api)) is not None:
            with in_module(known, api):
                return find.of_item(known.value, index, api)
        case NameExpr(node=Var() as variable) if is_fixed(sequence, api):
            value, _ = steady_value(variable, api)
            found = UNKNOWN if value is None else find.of_item(value, index, api)
            if not is_unknown(found):
                return found
    return _of_path(_path_of_item(sequence, index, api))


_items: dict[Node, tuple[Expression | int, int, Finder]] = {}  # of comprehensions that are being read, by variable


@contextmanager
def _bound(target: Expression, sequence: Expression, index: int, find: Finder) -> Iterator[None]:
    """Give the variables of a comprehension the values that they have for one item."""
    before = dict(_items)
    _items.update({name: (of, position, find) for name, of, position in _bindings(target, sequence, index)})
    try:
        yield
    finally:
        _items.clear()
        _items.update(before)


def _bindings(target: Expression, sequence: Expression, index: int) -> Iterator[tuple[Node, Expression | int, int]]:
    """Yield each variable of a loop with the sequence of which it is an item and the position, or with its number."""
    match target, sequence:
        case NameExpr(node=Var() as variable), CallExpr(callee=NameExpr(fullname="builtins.range"), args=[_]):
            if index >= 0:
                yield variable, index, index
        case NameExpr(node=Var() as variable), _:
            yield variable, sequence, index
        case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
            for one, of in zip(targets, several, strict=False):
                yield from _bindings(one, of, index)
        case TupleExpr(items=[one, other]), CallExpr(callee=RefExpr(fullname="itertools.pairwise"), args=[of]):
            if index >= 0:
                yield from (*_bindings(one, of, index), *_bindings(other, of, index + 1))
        case TupleExpr(items=[number, one]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
            if isinstance(number, NameExpr) and isinstance(number.node, Var) and index >= 0:
                yield number.node, index, index
            yield from _bindings(one, of, index)


def is_fixed(sequence: Expression, api: Checker) -> bool:
    """Return whether the items of a sequence stay what they are: of a tuple, or of a list that is only read."""
    variable = sequence.node if isinstance(sequence, NameExpr) else None
    p = get_proper_type(variable.type if isinstance(variable, Var) else stored_type(api, sequence))
    p = p.partial_fallback if isinstance(p, TupleType) else p  # in a body that is read it is that of a list for a list
    is_tuple = isinstance(p, Instance) and p.type.has_base("builtins.tuple")
    return is_tuple or use_of(sequence, api) is Use.READ


def unpacked_shape(expression: Expression, api: Checker) -> list[Size] | None:
    """Return the name of each variable that `x.shape` is unpacked to, if assigned once; None if it is not unpacked."""
    names = unpacked_names(expression, api)
    return None if names is None else [_size_named(name, api) for name in names]


def named_axis(expression: MemberExpr, axis: int, rank: int, api: Checker) -> Size:
    """Return a name for an unknown axis of `x.shape`: that of `n = x.shape[0]`, or else `x.shape[0]`."""
    name, position = _contents_of(api).axes.get(expression, (None, 0))
    size = _size_named(name, api) if position % rank == axis else UNKNOWN
    path = _path(expression.expr, api) if is_unknown(size) else None
    return size if path is None else _named(f"{path.label}.shape[{axis}]", path.scope)


def unpacked_names(value: Any, api: Checker) -> list[Node | None] | None:
    """Return the variable for each item of a tuple that is assigned to several names; None if it is not."""
    return _contents_of(api).unpackings.get(value)


def steady_name(name: Node | None, api: Checker, *, in_turns: bool = False) -> tuple[str, str] | None:
    """Return the name of a variable that is assigned once, outside of loops, and the function that it is in.

    Args:
        name: The variable.
        api: The checker.
        in_turns: Whether a variable counts too that a loop binds again in each turn, and uses only there.
    """
    origin = _origin(name, api)
    if not isinstance(name, Var) or origin is None or (name.is_argument and not origin.is_steady):
        return None
    return (name.name, origin.scope) if origin.is_steady or (in_turns and is_of_one_turn(name, api)) else None


def _size_named(name: Node | None, api: Checker) -> Size:
    """Return the size that a variable denotes if it is assigned once, outside of loops."""
    found = steady_name(name, api)
    return UNKNOWN if found is None else _named(*found)


def position_of(index: Expression) -> int | None:
    """Return the whole number that an index is written as; None for any other index."""
    match index:
        case IntExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=IntExpr(value=value)):
            return -value
    return None


def keeps_sizes(expression: Expression, api: Checker) -> bool:
    """Return whether an attribute, read by this expression, was assigned once, in the constructor of its object."""
    if not isinstance(expression, MemberExpr):
        return False
    contents = _contents_of(api)
    method = contents.receivers.get(expression.expr.node) if isinstance(expression.expr, NameExpr) else None  # type: ignore[arg-type]  # None is no key
    return method is not None and _constructed(method.info, expression.name, contents) is not None


def method_of_receiver(variable: Node | None, api: Checker) -> FuncDef | None:
    """Return the method whose first parameter a name is; None if it is any other name."""
    return _contents_of(api).receivers.get(variable) if variable is not None else None


def steady_value(variable: Var, api: Checker) -> tuple[Expression | None, str]:
    """Return what a variable is assigned once, outside of loops, if it is, and the function of the variable."""
    origin = _origin(variable, api)
    if origin is None or not origin.is_steady:
        return None, ""
    return origin.value, origin.scope


def is_bound_once(variable: Var, api: Checker) -> bool:
    """Return whether only one statement, which may be in a loop, or a call binds a variable of the checked file."""
    return _origin(variable, api) is not None


def made_in_loop(variable: Var, api: Checker) -> CallExpr | IndexExpr | ListComprehension | None:
    """Return the only call, list or item that a variable is assigned, in a loop, where each turn has other objects."""
    origin = _origin(variable, api)
    if origin is None or origin.is_steady or variable.is_argument:
        return None
    return origin.value if isinstance(origin.value, CallExpr | IndexExpr | ListComprehension) else None


class ModuleValue(NamedTuple):
    """What a variable of another module is assigned, and the file."""

    value: Expression
    file: MypyFile


def module_value(variable: Var, api: Checker) -> ModuleValue | None:
    """Return what a variable of another module is assigned once; None if it may change, or if it is not read."""
    module, _, name = variable.fullname.rpartition(".")
    if not module or variable.info or module == checked_file(api).fullname:
        return None
    if (constants := constants_of(module, api)) is None or (value := _only_value(variable, constants)) is None:
        return None
    file = constants.file
    if isinstance(get_proper_type(variable.type), AnyType) and not variable.is_inferred:
        return None
    files = {file, checked_file(api), program_file(api)}
    if any(_is_written(name, _contents.of(one)) for one in files) or _is_imported(variable, file):
        return None
    if any(variable in _contents.of(one).origins for one in (*files - {file}, *_packages_of(module, api))):
        return None
    p = get_proper_type(variable.type)
    is_collection = isinstance(p, Instance) and any(map(p.type.has_base, _COLLECTIONS))
    return None if is_collection and use_of_variable(variable, files) is not Use.READ else ModuleValue(value, file)


_COLLECTIONS: Final = "builtins.list", "builtins.dict", "builtins.set"  # which can be changed


def _only_value(variable: Var, constants: Constants) -> Expression | None:
    """Return what a module assigns to a variable once; None if an edit of it might not be noticed."""
    known = _contents.of(constants.file).origins.get(variable, [])
    value = known[0].value if len(known) == 1 and known[0].is_steady else None
    if value is None or constants.values is None:
        return value
    key = variable, "value"
    if value not in constants.values or key in _active:
        return None
    _active.add(key)
    try:
        return value if _reads_only(value, constants) else None
    finally:
        _active.discard(key)


def _reads_only(value: Expression, constants: Constants) -> bool:
    """Return whether a value is computed from nothing in its file but constants that are hashed too."""
    called = {node.callee for node in inside(value) if isinstance(node, CallExpr)}
    for node in inside(value):
        if isinstance(node, MemberExpr) and node not in called and _is_class(node.expr):
            return False
        if not isinstance(node, NameExpr) or not isinstance(node.node, Var):
            continue
        is_own = node.node.fullname == f"{constants.file.fullname}.{node.name}"
        if is_own and _only_value(node.node, constants) is None:
            return False
    return True


def _is_class(expression: Expression) -> bool:
    return isinstance(expression, RefExpr) and isinstance(expression.node, TypeInfo)


def _is_imported(variable: Var, file: MypyFile) -> bool:
    """Return whether a file that assigns to a variable may import another value under its name."""
    for one in file.imports:
        if isinstance(one, ImportAll):
            return True
        names = one.ids if isinstance(one, Import) else one.names if isinstance(one, ImportFrom) else []
        if any(variable.name == (renamed or imported) for imported, renamed in names):
            return True
    return False


def _packages_of(module: str, api: Checker) -> list[MypyFile]:
    """Return the packages around a module that have constants: they may import a name and assign to it."""
    parts = module.split(".")
    around = (constants_of(".".join(parts[:count]), api) for count in range(1, len(parts)))
    return [one.file for one in around if one is not None]


@contextmanager
def in_module(known: ModuleValue, api: Checker) -> Iterator[None]:
    """Read an expression where its module is run."""
    with in_file(known.file, api), within(None):
        yield


def loop_of(variable: Var, api: Checker) -> Loop | None:
    """Return the loop that binds a variable; None if there is none, or if another statement binds it too."""
    contents = _contents_of(api)
    return contents.loops.get(variable) if len(contents.origins.get(variable, ())) <= 1 else None


def constructor_value(info: TypeInfo, name: str, api: Checker) -> tuple[Expression | None, str]:
    """Return what a constructor assigns to an attribute, if nothing else in the file does, and its full name."""
    written = _constructed(info, name, _contents_of(api))
    if written is None or written.method is None:
        return None, ""
    return written.value, written.method.fullname


def writes_by_methods(info: TypeInfo, name: str, api: Checker) -> list[Write] | None:
    """Return the assignments to an attribute of an object, all by methods of its classes; None if there are others."""
    contents = _contents_of(api)
    writes = _related_writes(info, name, contents)
    is_changed = Program.tree is not None and _is_written(name, _contents.of(Program.tree), info)
    if contents.is_dynamic or is_changed or any(write.method is None for write in writes):
        return None
    return (
        None
        if any(name in base.names and isinstance(base.names[name].node, Decorator) for base in info.mro)
        else writes
    )


def function_named(name: str, api: Checker) -> FuncDef | None:
    """Return the function of the checked file with a full name, if there is only one."""
    return _contents_of(api).functions.get(name)


def class_constant(info: TypeInfo, name: str, api: Checker) -> tuple[Expression | None, MypyFile | None]:
    """Return the value of a class constant, if no file that is read assigns to it again, and its file."""
    base = next((one for one in info.mro if name in one.names), None)
    home = file_of(base.module_name, api) if base is not None else None
    files = {program_file(api), checked_file(api), *_files_of(info, api)}
    if base is None or home is None:
        return None, None
    if any(file is None or _related_writes(info, name, _contents.of(file)) for file in files):
        return None, None
    if any(file is not None and _contents.of(file).is_dynamic for file in files):
        return None, None
    values = _contents.of(home).constants.get((base.fullname, name), [])
    return (values[0], home) if len(values) == 1 else (None, None)


def is_set_up(info: TypeInfo, name: str, api: Checker, *, as_list: bool) -> bool:
    """Return whether only constructors of a class, and methods that only they call, assign to an attribute.

    Of a list, only these methods change it, or give it to others that may.
    """
    files = files_with(info, api)
    return all(file is not None and _is_set_up_in(file, info, name, as_list=as_list) for file in files)


def files_with(info: TypeInfo, api: Checker) -> set[MypyFile | None]:
    """Return the files that may change an object of a class; None for one that cannot be read."""
    return {program_file(api), checked_file(api), *_files_of(info, api)}


def _is_set_up_in(file: MypyFile, info: TypeInfo, name: str, *, as_list: bool) -> bool:
    contents = _contents.of(file)
    if contents.is_dynamic:
        return False
    methods = set_up_methods(file)
    writes = _related_writes(info, name, contents)
    if any(write.method is None or write.method not in methods for write in writes):
        return False
    return not as_list or use_after_set_up(file, info, name) is Use.READ


def is_defined_once(function: FuncDef, file: MypyFile) -> bool:
    """Return whether a file has one function of a name: of several, such as in both branches of an `if`, any may be."""
    return _contents.of(file).functions.get(function.fullname) is function


def is_unwritten(info: TypeInfo, name: str, files: Iterable[MypyFile]) -> bool:
    """Return whether none of some files assigns to a field of an object."""
    return _is_frozen(info, name) or not any(_is_written(name, _contents.of(file), info) for file in files)


def is_written_elsewhere(info: TypeInfo, name: str, home: MypyFile, api: Checker) -> bool:
    """Return whether a file that is read may assign to an attribute of an object, beside the file of its constructor.

    These are the file that mypy checks, the one with the statement that is read, and those of the object's classes.
    """
    files = {program_file(api), checked_file(api), *_files_of(info, api)} - {home}
    return any(file is None or _is_written(name, _contents.of(file), info) for file in files)


def is_replaced(info: TypeInfo, name: str, api: Checker) -> bool:
    """Return whether a file that is read may assign to an attribute of an object again, after its constructor."""
    files = {program_file(api), checked_file(api)}
    writes = [one for file in files for one in _related_writes(info, name, _contents.of(file))]
    return len(writes) > 1 and any(one.method is None or one.method.name not in _CONSTRUCTORS for one in writes)


def has_rival_files(info: TypeInfo, api: Checker) -> bool:
    """Return whether the classes of an object are in several files that may assign to the same attribute."""
    files = _files_of(info, api)
    if len(files) < 2:
        return False
    if None in files:
        return True
    written = [
        {
            name
            for name, writes in _contents.of(file).writes.items()
            if any(write.method is not None and _are_related(write.method.info, info) for write in writes)
        }
        for file in files
    ]
    return len(set().union(*written)) < sum(map(len, written))


def _files_of(info: TypeInfo, api: Checker) -> set[MypyFile | None]:
    """Return the files of the program with the classes of an object; None for one that cannot be read."""
    modules = {base.module_name for base in info.mro}
    return {file_of(module, api) for module in modules if not module.startswith(_LIBRARIES)}


def _size_of_name(variable: Var, api: Checker) -> Size:
    known = size_of(variable.type) if variable.type is not None else UNKNOWN
    for values in (Reading.bound, Reading.frame.variables if Reading.frame is not None else {}):
        if variable in values:
            return value if isinstance(value := values[variable], int | Dim) else known
    if variable in _items:
        of, index, find = _items[variable]
        return of if isinstance(of, int) else find.of_item(of, index, api)
    if isinstance(variable.final_value, int):
        return variable.final_value
    if not is_unknown(known):
        return known
    origin = _origin(variable, api)
    if origin is None:
        return _size_elsewhere(variable, api) if _is_of_another_file(variable, api) else UNKNOWN
    is_declared_any = isinstance(get_proper_type(variable.type), AnyType) and not variable.is_inferred
    if not origin.is_steady and variable.is_argument:  # its default is negative: a number, of a call whose body is read
        value = value_of_name(variable.name, origin.scope)
        return value if isinstance(value, int) else UNKNOWN
    if not origin.is_steady or (is_declared_any and not variable.is_argument):
        return UNKNOWN
    if origin.value is not None:
        size = opaque_size(origin.value, api)
        if not is_unknown(size):
            return size
    if origin.unpacked is not None and (axis := _axis(*origin.unpacked)) is not None:
        return axis
    if not _may_be_size(variable.type):
        return UNKNOWN
    return _named(variable.name, origin.scope)


def _size_elsewhere(variable: Var, api: Checker) -> Size:
    """Return the size that a variable of another module has."""
    known = module_value(variable, api)
    if known is not None:
        with in_module(known, api):
            size = opaque_size(known.value, api)
        if not is_unknown(size):
            return size
    return _of_path(_path_of_name(variable, api))


def _axis(shape: Expression, position: int) -> Size | None:
    """Return a size that was unpacked from the shape of a tensor; None if it was not known there."""
    items = _shapes.get(shape) or ()
    return items[position] if -len(items) <= position < len(items) and not is_unknown(items[position]) else None


def _size_of_attribute(expression: MemberExpr, api: Checker) -> Size:
    if isinstance(expression.node, Var) and _is_module(expression.expr):
        return _size_elsewhere(expression.node, api)
    contents = _contents_of(api)
    owner = expression.expr.node if isinstance(expression.expr, NameExpr) else None
    method = contents.receivers.get(owner) if owner is not None else None
    if method is None:
        if isinstance(owner, TypeInfo) and (constant := _constant(owner, expression.name, contents)) is not None:
            size = opaque_size(constant, api)
            if not is_unknown(size):
                return size
        return _of_path(_path(expression, api))
    written = _constructed(method.info, expression.name, contents)
    if written is not None and written.value is not None:
        size = opaque_size(written.value, api)
        if not is_unknown(size):
            return size
    return _of_path(_path(expression, api))


def _length(path: Path | None) -> Size:
    """Return the length of an object that cannot be changed, such as a string."""
    p = get_proper_type(path.type) if path is not None and path.type is not None else None
    if path is None or not isinstance(p, Instance) or not any(map(p.type.has_base, _IMMUTABLE)):
        return UNKNOWN
    return _named(f"len({path.label})", path.scope)


def _of_path(path: Path | None) -> Size:
    if path is None or not _may_be_size(path.type):
        return UNKNOWN
    return _named(path.label, path.scope)


def _named(label: str, scope: str) -> Size:
    """Return the size with a name, or its value in the body that is read."""
    value = value_of_name(label, scope)
    return size_of_name(opaque_name(label, scope)) if value is None else value


def path_of(expression: Expression, api: Checker) -> Path | None:
    """Return the object that an expression denotes; None if it may change."""
    if not isinstance(expression, NameExpr | MemberExpr) or use_of(expression, api) is Use.EXTENDED:
        return None
    return _path(expression, api)


def _path(expression: Expression, api: Checker) -> Path | None:
    """Return the object that an expression denotes; None if it may change."""
    key = expression, "path"
    if key in _active:
        return None
    _active.add(key)
    try:
        return _path_of(expression, api)
    finally:
        _active.discard(key)


def _path_of(expression: Expression, api: Checker) -> Path | None:
    match expression:
        case NameExpr(node=MypyFile() as module):
            return Path(expression.name, module.fullname, None)
        case NameExpr(node=TypeInfo() as info):
            return Path(info.name, info.fullname, Instance(info, []))
        case NameExpr(node=Var() as variable):
            return _path_of_name(variable, api)
        case MemberExpr():
            return _path_of_attribute(expression, api)
        case IndexExpr(base=base, index=StrExpr(value=key)):
            return _path_of_entry(base, key, api)
        case IndexExpr(base=base, index=index) if (position := position_of(index)) is not None:
            return _path_of_item(base, position, api)
    return None


def _path_of_item(sequence: Expression, index: int, api: Checker) -> Path | None:
    whole = _path(sequence, api)
    match get_proper_type(whole.type) if whole is not None and whole.type is not None else None:
        case TupleType(items=items) if -len(items) <= index < len(items):
            item = items[index]
        case Instance(type=info, args=[item]) if info.fullname in _SEQUENCES and is_fixed(sequence, api):
            pass
        case _:
            return None
    return None if whole is None else Path(f"{whole.label}[{index}]", whole.scope, item)


def _path_of_entry(mapping: Expression, key: str, api: Checker) -> Path | None:
    """Return the object that a dictionary has for a key, if the file never changes the dictionary.

    In a body that is read, the dictionary may be a written one: nothing else may change it either.
    """
    whole, most = _path(mapping, api), Use.SHARED if Reading.frame is None else Use.READ
    if whole is None or not key.isidentifier() or use_of(collection_of(mapping), api) > most:
        return None
    match get_proper_type(whole.type) if whole.type is not None else None:
        case TypedDictType(items=items) if key in items:
            item: Type = items[key]
        case Instance(type=info, args=[_, item]) if info.has_base("typing.Mapping"):
            pass
        case AnyType() as item:
            pass
        case _:
            return None
    return Path(f'{whole.label}["{key}"]', whole.scope, item)


def _path_of_name(variable: Var, api: Checker) -> Path | None:
    contents = _contents_of(api)
    if (method := contents.receivers.get(variable)) is not None:
        return Path(variable.name, method.info.fullname, Instance(method.info, []))
    if _is_of_another_file(variable, api):
        module, _, name = variable.fullname.rpartition(".")
        return None if _is_written(name, contents) else Path(name, module, variable.type)
    origin = _origin(variable, api)
    if origin is None or not origin.is_steady:
        return None
    if isinstance(origin.value, NameExpr | MemberExpr | IndexExpr) and (same := _path(origin.value, api)) is not None:
        return same
    return Path(variable.name, origin.scope, variable.type)


def _path_of_attribute(expression: MemberExpr, api: Checker) -> Path | None:
    contents, name = _contents_of(api), expression.name
    if isinstance(expression.node, Var) and _is_module(expression.expr):
        module = expression.node.fullname.rpartition(".")[0]
        return None if _is_written(name, contents) else Path(name, module, expression.node.type)
    base = _path(expression.expr, api)
    if base is None:
        return None
    method = contents.receivers.get(expression.expr.node) if isinstance(expression.expr, NameExpr) else None  # type: ignore[arg-type]  # None is no key
    if method is None:
        attribute = _attribute(base.type, name, contents)
        return None if attribute is None else Path(f"{base.label}.{name}", base.scope, attribute)
    info = method.info
    written = _constructed(info, name, contents)
    if written is None:
        is_constant = (_owner(info, name), name) in contents.constants and not _related_writes(info, name, contents)
        attribute = _declared(info, name) if _is_frozen(info, name) or is_constant else None
        return Path(f"self.{name}", info.fullname, attribute) if attribute is not None else None
    if isinstance(written.value, NameExpr | MemberExpr | IndexExpr):
        same = _path(written.value, api)
        if same is not None:
            return same
    return Path(f"self.{name}", info.fullname, _declared(info, name))


def _is_module(expression: Expression) -> bool:
    return isinstance(expression, RefExpr) and isinstance(expression.node, MypyFile)


def _attribute(owner: Type | None, name: str, contents: Contents) -> Type | None:
    """Return the type of an attribute that does not change; None if it may."""
    p = get_proper_type(owner) if owner is not None else None
    fallback = getattr(p, "partial_fallback", p)  # the class of a named tuple
    if isinstance(p, AnyType):
        return None if _is_written(name, contents) else p
    if isinstance(p, TypeType) and isinstance(p.item, Instance):
        return _of_class(p.item.type, name, contents)
    if not isinstance(fallback, Instance):
        return None
    info = fallback.type
    if not _is_frozen(info, name) and _is_written(name, contents, info):
        return None
    return _declared(info, name)


def _of_class(info: TypeInfo, name: str, contents: Contents) -> Type | None:
    """Return the type of an attribute of a class itself that does not change; None if it may."""
    symbol = info.get(name)
    is_plain = symbol is not None and isinstance(symbol.node, Var) and info.metaclass_type is None
    return _declared(info, name) if is_plain and not _is_written(name, contents, info) else None


def _declared(info: TypeInfo, name: str) -> Type | None:
    """Return the declared type of an attribute; Any where the class answers any name."""
    symbol = info.get(name)
    if symbol is None:
        answers = info.get("__getattr__")
        method = get_proper_type(answers.type) if answers is not None and answers.type is not None else None
        return get_proper_type(method.ret_type) if isinstance(method, CallableType) else None
    node = symbol.node
    if isinstance(node, Decorator):
        is_steady = node.var.is_property and _is_frozen(info, name)
        result = get_proper_type(node.func.type) if is_steady else None
        return result.ret_type if isinstance(result, CallableType) else None
    return node.type if isinstance(node, Var) else None


def _owner(info: TypeInfo, name: str) -> str:
    return next((base.fullname for base in info.mro if name in base.names), "")


def _is_frozen(info: TypeInfo, name: str) -> bool:
    """Return whether no attribute of a class can be assigned to, or not this one."""
    if info.is_named_tuple or any(base.is_named_tuple for base in info.mro):
        return True
    if any(base.metadata.get("dataclass", {}).get("frozen") for base in info.mro):
        return True
    symbol = info.get(name)
    return symbol is not None and isinstance(symbol.node, Var) and (symbol.node.is_final or symbol.node.is_property)


def _is_written(name: str, contents: Contents, info: TypeInfo | None = None) -> bool:
    """Return whether the file may assign to an attribute of an object that it has not made at that moment."""
    return contents.is_dynamic or any(
        write.method is None
        or (info is not None and _are_related(write.method.info, info) and write.method.name not in _CONSTRUCTORS)
        for write in _writes(name, contents)
    )


def _writes(name: str, contents: Contents) -> list[Write]:
    return [*contents.writes.get(name, ()), *contents.writes.get(_ANY_NAME, ())]


def _constructed(info: TypeInfo, name: str, contents: Contents) -> Write | None:
    """Return the only assignment to an attribute, if the constructor makes it; None if there is none, or another."""
    if contents.is_dynamic or (Program.tree is not None and _is_written(name, _contents.of(Program.tree), info)):
        return None
    symbol = info.get(name)
    if symbol is not None and not isinstance(symbol.node, Var):  # a property, whose setter may do anything
        return None
    writes = _related_writes(info, name, contents)
    write, method = (writes[0], writes[0].method) if len(writes) == 1 else (None, None)
    if write is None or method is None or not write.is_steady:
        return None
    return write if method.name == "__init__" and method.info in info.mro else None


def _related_writes(info: TypeInfo, name: str, contents: Contents) -> list[Write]:
    """Return the assignments to an attribute in a file that may be to one of an object of a class."""
    writes = _writes(name, contents)
    return [write for write in writes if write.method is None or _are_related(write.method.info, info)]


def _constant(info: TypeInfo, name: str, contents: Contents) -> Expression | None:
    """Return the value of a class constant that the file assigns once."""
    values = contents.constants.get((info.fullname, name), [])
    return values[0] if len(values) == 1 and not _is_written(name, contents, info) else None


def _are_related(one: TypeInfo, other: TypeInfo) -> bool:
    return one in other.mro or other in one.mro


def _may_be_size(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    if isinstance(p, AnyType):
        return True
    return isinstance(p, Instance) and p.type.fullname != "builtins.bool" and _is_integer(p)


def _is_integer(p: Instance) -> bool:
    return any(map(p.type.has_base, ("builtins.int", "numpy.integer")))


def _is_of_another_file(variable: Var, api: Checker) -> bool:
    module = variable.info.module_name if variable.info else variable.fullname.rpartition(".")[0]
    return module not in ("", checked_file(api).fullname)


def _origin(variable: Node | None, api: Checker) -> Origin | None:
    """Return the only origin of a name of the file that is checked; None if it has several."""
    known = _contents_of(api).origins.get(variable, [])
    return known[0] if len(known) == 1 else None


def unpacked_from(variable: Var, api: Checker) -> tuple[Expression, int, str] | None:
    """Return what a name is unpacked from, its position and the function, as in `x, y = pair`; None if unclear."""
    origin = _origin(variable, api)
    if origin is None or origin.unpacked is None or not origin.is_steady:
        return None
    return (*origin.unpacked, origin.scope)


def unpacked_in_loop(variable: Var, api: Checker) -> tuple[Expression, int, str] | None:
    """Return what a name is unpacked from at each turn of a loop, as `unpacked_from` does outside of loops."""
    origin = _origin(variable, api)
    if origin is None or origin.unpacked is None or origin.is_steady:
        return None
    return (*origin.unpacked, origin.scope)


def _contents_of(api: Checker) -> Contents:
    return _contents.of(checked_file(api))


def _read(file: Node | None) -> Contents:
    contents = Contents({}, {}, {}, {}, {}, {}, {}, {}, is_dynamic=False)
    is_dynamic = _changes_attributes_by_name(file)
    calls: list[CallExpr] = []
    for node in nodes_in.of(file):
        if isinstance(node, FuncDef):
            contents.functions[node.fullname] = node if node.fullname not in contents.functions else None
        if isinstance(node, FuncDef) and node.info and node.arguments and not node.is_static:
            contents.receivers[node.arguments[0].variable] = node
        elif isinstance(node, ClassDef):
            _read_constants(node, contents)
        elif isinstance(node, CallExpr):
            calls.append(node)
    for call in calls:  # with all receivers known
        is_dynamic |= _read_call(call, contents)
    _read_statements(file, contents)
    return contents._replace(is_dynamic=is_dynamic)


def _read_constants(node: ClassDef, contents: Contents) -> None:
    for statement in node.defs.body:
        for target in statement.lvalues if isinstance(statement, AssignmentStmt) else ():
            if isinstance(target, NameExpr) and isinstance(statement, AssignmentStmt):
                contents.constants.setdefault((node.fullname, target.name), []).append(statement.rvalue)


def _read_call(call: CallExpr, contents: Contents) -> bool:
    """Note an attribute that `setattr` sets; return whether a call sets attributes whose names are computed."""
    name = getattr(call.callee, "name", "")
    if name in _PARSING and "namespace" in call.arg_names:
        return True
    if name == "exec":
        return True
    if name not in ("setattr", "__setattr__"):
        return False
    literal = next((one.value for one in call.args if isinstance(one, StrExpr)), None)
    owner = call.args[0] if call.args else None
    method = contents.receivers.get(owner.node) if isinstance(owner, NameExpr) and owner.node is not None else None
    if literal is None and method is None:
        return True
    contents.writes.setdefault(literal or _ANY_NAME, []).append(Write(method, None, is_steady=False))
    return False


def _changes_attributes_by_name(file: Any) -> bool:
    """Return whether a file may change the dict of an object's attributes, also by a name that it gives the dict."""
    nodes = nodes_in.of(file)
    assignments = [one for one in nodes if isinstance(one, AssignmentStmt)]
    names = {
        target.node
        for one in assignments
        if _is_of_attributes(one.rvalue)
        for target in one.lvalues
        if isinstance(target, NameExpr)
    }

    def holds(expression: Expression) -> bool:
        is_named = isinstance(expression, NameExpr) and expression.node in names
        return is_named or _is_of_attributes(expression)

    changed = [target for one in assignments for target in one.lvalues]
    changed += [one.lvalue for one in nodes if isinstance(one, OperatorAssignmentStmt)]
    changed += [target for one in nodes if isinstance(one, DelStmt) for target in targets_in(one.expr)]
    if any(isinstance(one, IndexExpr) and holds(one.base) for one in changed):
        return True
    for call in nodes:
        if not isinstance(call, CallExpr):
            continue
        callee = call.callee
        if isinstance(callee, MemberExpr) and callee.name in _CHANGING and holds(callee.expr):
            return True
        is_own = isinstance(callee, RefExpr) and callee.fullname.startswith(f"{file.fullname}.")
        if is_own and any(
            kind not in (ARG_STAR, ARG_STAR2) and holds(one)
            for one, kind in zip(call.args, call.arg_kinds, strict=True)
        ):
            return True
    return False


def _is_of_attributes(expression: Expression) -> bool:
    """Return whether an expression is the dict of an object's attributes."""
    match expression:
        case MemberExpr(name="__dict__") | CallExpr(callee=NameExpr(name="vars"), args=[_]):
            return True
        case CallExpr(callee=NameExpr(name="globals"), args=[]):
            return True
    return False


def _read_statements(file: Any, contents: Contents) -> None:
    """Note the origins of names and the assignments to attributes, each with whether it is outside of loops."""
    pending: list[tuple[Any, str, bool]] = [(file, file.fullname, True)]
    while pending:
        node, scope, is_steady = pending.pop()
        if isinstance(node, list | tuple):
            pending += [(one, scope, is_steady) for one in node]
            continue
        if isinstance(node, FuncItem):
            scope, is_steady = _scope_of(node, scope), True
            for argument in node.arguments:
                # A negative default is no size.
                is_size = not isinstance(node, LambdaExpr) and not isinstance(argument.initializer, UnaryExpr)
                _note(argument.variable, Origin(scope, is_size), contents)
        elif isinstance(node, ForStmt | WhileStmt):
            is_steady = False
        if isinstance(node, ForStmt):
            _note_loop(Loop(node.index, node.expr, scope), contents)
        elif isinstance(node, GeneratorExpr | DictionaryComprehension):
            for target, sequence in zip(node.indices, node.sequences, strict=True):
                _note_loop(Loop(target, sequence, scope), contents)
        if isinstance(node, AssignmentStmt):
            _read_assignment(node, scope, contents, is_steady=is_steady)
        elif type(node).__name__ in BINDERS:
            is_operator = isinstance(node, OperatorAssignmentStmt)
            for target, _ in _targets(node):
                _read_target(target, Origin(scope, is_steady=False), contents, is_operator=is_operator)
        pending += [(part, scope, is_steady) for part in parts_of(node)]


def _note_loop(loop: Loop, contents: Contents) -> None:
    for target in targets_in(loop.target):
        if isinstance(target, NameExpr) and target.node is not None:
            contents.loops[target.node] = loop


def _read_assignment(node: AssignmentStmt, scope: str, contents: Contents, *, is_steady: bool) -> None:
    places: dict[Expression, tuple[Expression, int]] = {}
    match node:
        case AssignmentStmt(
            lvalues=[NameExpr(node=name)], rvalue=IndexExpr(base=MemberExpr(name="shape") as shape, index=index)
        ):
            position = position_of(index)
            if position is not None:
                contents.axes[shape] = name, position
    for target in node.lvalues:
        if isinstance(target, TupleExpr) and not any(isinstance(one, StarExpr) for one in target.items):
            contents.unpackings[node.rvalue] = [one.node if isinstance(one, NameExpr) else None for one in target.items]
            places |= {one: (node.rvalue, position) for position, one in enumerate(target.items)}
    for target, value in _targets(node):
        _read_target(target, Origin(scope, is_steady, value, places.get(target) if value is None else None), contents)


def _read_target(target: Expression, origin: Origin, contents: Contents, *, is_operator: bool = False) -> None:
    if isinstance(target, NameExpr):
        _note(target.node, origin, contents)
    elif isinstance(target, MemberExpr):
        owner = target.expr.node if isinstance(target.expr, NameExpr) else None
        method = contents.receivers.get(owner) if owner is not None else None
        write = Write(method, origin.value, origin.is_steady, origin.unpacked, is_operator)
        contents.writes.setdefault(target.name, []).append(write)


def _note(name: Node | None, origin: Origin, contents: Contents) -> None:
    contents.origins.setdefault(name, []).append(origin)


def _targets(node: Any) -> Iterator[tuple[Expression, Expression | None]]:
    """Yield what a statement assigns to, with the value where it is written."""
    if isinstance(node, AssignmentStmt):
        for target in node.lvalues if not isinstance(node.rvalue, TempNode) else ():  # else only declared
            yield from paired(target, node.rvalue)
    elif type(node).__name__ in BINDERS:
        yield from ((target, None) for target in targets_in(getattr(node, BINDERS[type(node).__name__])))


def _scope_of(function: FuncItem, scope: str) -> str:
    name = function.fullname if isinstance(function, FuncDef) else "<lambda>"
    return name if name.startswith(f"{scope}.") else f"{scope}.{name.rpartition('.')[2]}"


_contents = ScopeCache(_read)

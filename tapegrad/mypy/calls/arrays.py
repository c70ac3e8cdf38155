"""Sizes of NumPy's arrays, read from the expressions that made them, where an array is an argument of a call.

NumPy's stubs type the rank of some arrays and the sizes of none. mypy keeps their types, so that a program that only
uses NumPy is checked as before; an array that becomes a tensor has the sizes that its expression gives it.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    Expression,
    FloatExpr,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    OpExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    StrExpr,
    TempNode,
    TupleExpr,
    TypeAlias,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, NoneType, ProperType, TupleType, Type, UnionType, get_proper_type

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.numpy_functions import UFUNCS, Call, below_numpy, call_of
from tapegrad.mypy.calls.array_functions import (
    FOURIER,
    FUNCTIONS,
    INDEXED,
    SEVERAL,
    Given,
    Several,
    Sizes,
    UnreadError,
    broadcasted,
    common,
    drawn,
    joined,
    open_grids,
)
from tapegrad.mypy.calls.data_sets import loaded_field, loaded_pair
from tapegrad.mypy.conversion import ARRAY, Many, shape_items, shape_type, tensor_parts, unknown, without_last_values
from tapegrad.mypy.mypy_api import (
    attribute_variable,
    checked_file,
    declared_function,
    depend_on_bodies,
    make,
    scalar_type,
    silenced,
    stored_type,
)
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.rules.calls import is_several, ruled
from tapegrad.mypy.rules.library import op_named
from tapegrad.mypy.scopes.assigned import assigned_by_methods
from tapegrad.mypy.scopes.called_functions import called_function
from tapegrad.mypy.scopes.collections import Use, appended_to, loops_that_fill, use_of
from tapegrad.mypy.scopes.command_line import is_whole_option
from tapegrad.mypy.scopes.frames import Arrays, GivenTensor, key_of, within
from tapegrad.mypy.scopes.items import MOST_ITEMS, bounds_of
from tapegrad.mypy.scopes.names import (
    ScopeCache,
    bound_last,
    bound_once,
    changed_in_place,
    inside,
    nodes_in,
    targets_in,
    unpacked_once,
    values_assigned,
)
from tapegrad.mypy.scopes.objects import object_of, value_of_expression
from tapegrad.mypy.scopes.opaque import class_constant, loop_of, method_of_receiver
from tapegrad.mypy.scopes.sequences import DRAWING, length_of, record_in
from tapegrad.mypy.scopes.values import ValueUnknownError, count_of, size_value, stays, value_of
from tapegrad.mypy.signatures import signature_of
from tapegrad.mypy.unify.arguments import Argument, numbers_in, operand_shape
from tapegrad.mypy.unify.bindings import CallError
from tapegrad.mypy.unify.named_tuples import fields_of
from tapegrad.sizes import UNKNOWN, Dim, Size, UnknownDims, is_unknown, largest, names_in, product, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from mypy.nodes import Node, SymbolNode
    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker

_DEEPEST: Final = 30  # expressions inside each other, each variable with the expression that it is bound to
_MOST_PASSES: Final = 3  # over all values of a variable, until its sizes stay the same
_MOST_AT_ONCE: Final = 3  # variables with several values, one of which mentions the next variable

# Options of NumPy's functions that change no shape.
_HARMLESS: Final = frozenset(
    ["casting", "copy", "device", "dtype", "initial", "kind", "like", "order", "out", "stable", "subok", "where"]
)
_CREATED: Final = frozenset(["zeros", "ones", "empty", "full"])
_COPIED: Final = frozenset(["array", "asanyarray", "asarray", "copy"])
_OTHER_NAMES: Final = {"permute_dims": "transpose"}
# NumPy's ufuncs that compute each element alone, by the names of their types, with the number of their operands.
_UFUNCS: Final = {"_UFunc_Nin1_Nout1": 1, "_UFunc_Nin2_Nout1": 2}
_LISTING: Final = frozenset(["builtins.list", "builtins.sorted", "builtins.tuple"])  # keep the number of items
_ERRORS: Final = (UnreadError, ValueUnknownError, ShapeError, DTypeError, CallError)
_KINDS: Final = {"builtins.int": "i", "builtins.bool": "b"}
_SCALARS: Final = {"b": "numpy.bool", "i": "numpy.integer"}
_SAME_METHODS: Final = frozenset(["astype", "clip", "conj", "conjugate", "copy", "round"])
# Methods of arrays that are NumPy's functions of that name, with the array as the first argument.
_METHODS: Final = frozenset(
    [
        *("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min"),
        *("prod", "ravel", "repeat", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"),
    ]
)
_JOINING: Final = frozenset(["concatenate", "hstack", "stack", "vstack"])
_KEEPING_ELEMENTS: Final = frozenset(
    ["copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "transpose"]
)
_OPERATORS: Final = {
    "@": "matmul",
    **dict.fromkeys(["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"], "add"),
}
_COMPARISONS: Final = frozenset(["==", "!=", "<", "<=", ">", ">="])
_DRAWN_DTYPES: Final = {
    "integers": "int64",
    **dict.fromkeys(("normal", "random", "standard_normal", "uniform"), "float64"),
}
_DTYPE_PLACES: Final = {"integers": 3, "random": 1, "standard_normal": 1}  # of methods that take a dtype
_GENERATORS: Final = ("numpy.random._generator.Generator", "numpy.random.mtrand.RandomState")
_DRAWS: Final = "numpy.random.mtrand."


class Bodies:
    """How the bodies of functions of the program are read, which return arrays and tensors.

    Attributes:
        result: Returns the type of what a call returns, with the types of its arguments; None if it is not known.
        of_property: Returns the type of a property of an object, by its name; None if it is not known.
    """

    result: Callable[[CallExpr, list[Type], Checker], Type | None]
    of_property: Callable[[Expression, str, Checker], Type | None]


def with_array_sizes(
    arguments: dict[str, list[Argument]], ctx: FunctionContext | MethodContext
) -> dict[str, list[Argument]]:
    """Return the arguments of a call; the type of an array has the sizes that its expression gives it."""
    if not any(is_array(one.type) for one in chain.from_iterable(arguments.values())):
        return arguments
    return {name: [_refined(one, ctx) for one in actuals] for name, actuals in arguments.items()}


def turned(t: Type, api: Checker) -> Type:
    """Return the type of an array whose axes have other places, without its sizes."""
    array = _array(t)
    items = None if array is None else _plain(shape_items(array.args[0]))
    if array is None or items is None or all(map(is_unknown, items)):
        return t
    return _with_sizes(array, [UNKNOWN] * len(items), api)


def with_sizes(t: Type, expression: Expression, api: Checker) -> Type:
    """Return the type of an array, or of a tuple with arrays, with the sizes that its expression gives it."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and isinstance(expression, TupleExpr) and len(p.items) == len(expression.items):
        pairs = zip(p.items, expression.items, strict=True)
        return p.copy_modified(items=[with_sizes(one, item, api) for one, item in pairs])
    if isinstance(p, TupleType) and any(map(is_array, p.items)):
        with silenced(api):
            several = _Reader(api).arrays(expression) or []
        if len(several) == len(p.items):
            return p.copy_modified(items=[_with_more(one, of, api) for one, of in zip(p.items, several, strict=True)])
    array = _array(p)
    if array is None or _is_known(array):
        return t
    with silenced(api):
        sizes, scalar = _Reader(api).sizes(expression), _Reader(api).scalar(expression)
    if scalar is not None:
        array = array.copy_modified(args=[array.args[0], make(api)("numpy.dtype", [scalar])])
    return array if sizes is None else _with_sizes(array, sizes, api)


def _with_more(t: Type, sizes: Sizes | None, api: Checker) -> Type:
    """Return the type of an array with its sizes, if it does not say them."""
    array = _array(t)
    return t if array is None or sizes is None or _is_known(array) else _with_sizes(array, sizes, api)


def may_be_array(argument: Argument, api: Checker) -> bool:
    """Return whether an argument is an array, or Any, by its type or by one of the types that it may have."""
    written = None if argument.expression is None else stored_type(api, argument.expression)
    if numbers_in(get_proper_type(argument.type)):
        return isinstance(argument.expression, CallExpr | NameExpr)  # it may be `np.float32(x)` of an array
    return any(_may_be_array(one) for one in (argument.type, written) if one is not None)


def _may_be_array(t: Type) -> bool:
    """Return whether a type is an array or Any, alone or beside others, as that of `x.all(axis=0)`."""
    p = get_proper_type(t)
    items = list(map(get_proper_type, p.items)) if isinstance(p, UnionType) else [p]
    return any(isinstance(one, AnyType) or _array(one) is not None for one in items)


def _may_be_mistyped(call: CallExpr) -> bool:
    """Return whether a call is one of NumPy's functions or a method, which stubs may type as a number."""
    callee = call.callee
    is_method = isinstance(callee, MemberExpr) and not isinstance(getattr(callee.expr, "node", None), MypyFile)
    return is_method or getattr(callee, "fullname", "").startswith("numpy.")


def _receivers(call: CallExpr) -> list[Expression]:
    """Return the receiver of a method; NumPy is none."""
    of = call.callee.expr if isinstance(call.callee, MemberExpr) else None
    return [] if of is None or isinstance(getattr(of, "node", None), MypyFile) else [of]


def _is_converted(call: CallExpr) -> bool:
    """Return whether a call is one such as `np.float32(x)`, whose result is an array if x is one."""
    info = call.callee.node if isinstance(call.callee, RefExpr) else None
    target = get_proper_type(info.target) if isinstance(info, TypeAlias) else None  # np.float32
    info = target.type if isinstance(target, Instance) else info
    return isinstance(info, TypeInfo) and info.has_base("numpy.generic") and len(call.args) == 1


def is_array(t: Type) -> bool:
    """Return whether a type is an array of NumPy."""
    return _array(t) is not None


def _refined(argument: Argument, ctx: FunctionContext | MethodContext) -> Argument:
    array = _array(argument.type)
    if array is None or _is_known(array):
        return argument
    written = argument.expression
    if isinstance(written, TempNode) and isinstance(ctx.context, OpExpr):  # the array of `array * x`
        written = ctx.context.left
        if _array(stored_type(ctx.api, written)) is None:
            return argument
    if written is None:
        return argument
    with silenced(ctx.api):
        sizes = _Reader(ctx.api).sizes(written)
    return argument._replace(type=_with_sizes(array, sizes, ctx.api)) if sizes else argument


def sizes_of_array(argument: Argument, api: Checker) -> list[Size] | None:
    """Return the sizes of an array, which may have the type Any, as `np.exp(x)` has; None if it may be no array."""
    if argument.expression is None:
        return None
    with silenced(api):
        return _Reader(api).sizes(argument.expression)


def scalar_of_array(argument: Argument, api: Checker) -> Type | None:
    """Return the type of the elements of an array by its expression; None if it is not known."""
    if argument.expression is None:
        return None
    with silenced(api):
        return _Reader(api).scalar(argument.expression)


def scalar_type_of(t: Type | None) -> Type | None:
    """Return the type of the elements of an array by its type; None if it is not known."""
    array = _array(t)
    dtype = None if array is None or len(array.args) != 2 else get_proper_type(array.args[1])
    scalar = dtype.args[0] if isinstance(dtype, Instance) and dtype.args else None
    return None if isinstance(get_proper_type(scalar), AnyType) else scalar


def sizes_of_list(data: Argument, api: Checker) -> list[Size] | None:
    """Return the sizes of what NumPy makes of a list of numbers by its type, such as `list[int]`; None if unclear.

    A list of lists may be empty, and is then an array of one axis, unless its items are written.
    """
    if isinstance(data.expression, ListComprehension):
        each = stored_type(api, data.expression.generator.left_expr)
        return [UNKNOWN] if each is not None and numbers_in(each) else None
    match data.expression:
        case CallExpr(callee=RefExpr(fullname=name), args=[of]) if name in _LISTING and _has_numbers(of, api):
            count = length_of(of, api)  # such as 3 of list((0.1, 0.5, 0.9))
            return [UNKNOWN if count is None else count]
    items = data.expression.items if isinstance(data.expression, ListExpr) else []
    several = [stored_type(api, one) for one in items if not isinstance(one, StarExpr)]
    if several and len(several) == len(items) and all(one is not None and _is_of_numbers(one) for one in several):
        return [len(items), UNKNOWN]
    return [UNKNOWN] if _is_of_numbers(data.type) else None


def _has_numbers(sequence: Expression, api: Checker) -> bool:
    """Return whether all items of a list, a tuple or a range are numbers, by its type."""
    p = get_proper_type(stored_type(api, sequence))
    if isinstance(p, TupleType):
        return all(map(numbers_in, p.items))
    is_range = isinstance(p, Instance) and p.type.fullname == "builtins.range"
    is_several = isinstance(p, Instance) and p.type.fullname in ("builtins.list", "builtins.tuple")
    return is_range or (is_several and isinstance(p, Instance) and bool(numbers_in(p.args[0])))


def _is_of_numbers(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == "builtins.list" and bool(numbers_in(p.args[0]))


def _are_whole(data: Expression, api: Checker) -> bool:
    """Return whether data are a list, or lists in a list, of ints."""
    p = get_proper_type(stored_type(api, data))
    while isinstance(p, Instance) and p.type.fullname == "builtins.list":
        p = get_proper_type(p.args[0])
    return isinstance(p, Instance) and p.type.fullname == "builtins.int"


def _array(t: Type | None) -> Instance | None:
    p = None if t is None else get_proper_type(t)
    return without_last_values(p) if isinstance(p, Instance) and p.type.fullname == ARRAY else None


def _is_known(array: Instance) -> bool:
    """Return whether a type says the sizes of an array; NumPy's stubs say `()` where they know nothing of a shape."""
    items = shape_items(array.args[0]) or []
    return len(items) > 0 and not any(is_unknown(one) for one in items if not isinstance(one, Many))


def _with_sizes(array: Instance, sizes: Sizes, api: Checker) -> Instance:
    return array.copy_modified(args=[shape_type(tuple(sizes), make(api)), *array.args[1:]])


def _sizes_of(expression: Expression, api: Checker) -> Sizes | None:
    with silenced(api):
        return _Reader(api).sizes(expression)


Arrays.sizes = _sizes_of


class _Reader:
    """Reads the sizes of arrays from expressions; None stands for an unknown rank."""

    def __init__(self, api: Checker) -> None:
        self._api = api
        self._depth = 0

    def sizes(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array, by its type and by its expression; of a number, none."""
        t = stored_type(self._api, expression)
        if t is None or self._depth > _DEEPEST:
            return None
        p = get_proper_type(t)
        parts = tensor_parts(p)
        if parts is not None:
            return _plain(operand_shape(p, parts))
        if numbers_in(p):
            return self._of_number(expression, p)
        if isinstance(p, AnyType) and self._is_number(p, expression):
            return []
        array = _array(p)
        if array is None and not _may_be_array(p):
            return None
        by_type = None if array is None else _plain(shape_items(array.args[0])) or None
        if array is not None and _is_known(array):
            return by_type
        self._depth += 1
        try:
            found = self._read(expression)
        except _ERRORS:
            found = None  # what NumPy rejects has no sizes either
        finally:
            self._depth -= 1
        if found is None or by_type is None:
            return by_type if found is None else found
        if len(found) != len(by_type):
            return None  # mypy, or NumPy's stubs, are wrong about one of them
        return [one if is_unknown(typed) else typed for one, typed in zip(found, by_type, strict=True)]

    def _is_number(self, t: AnyType, expression: Expression) -> bool:
        """Return whether what mypy takes for Any is a number, as `config["width"]` may be."""
        is_size = not is_unknown(size_value(t, expression, self._api))
        return is_size or isinstance(value_of_expression(expression, self._api), float)

    def _of_number(self, expression: Expression, t: ProperType) -> Sizes | None:
        """Return the sizes of what NumPy's stubs type as a number: those of an array after `y = np.float32(x)`.

        An overloaded function whose argument is Any may also be typed as one, such as `rng.normal(x)`.
        """
        if any(one.type.fullname == "builtins.bool" for one in numbers_in(t)):
            return []
        if isinstance(expression, CallExpr):
            return self._of_mistyped(expression) if _may_be_mistyped(expression) else []
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return []
        value, is_once = bound_once(expression.node, self._api)
        values = [value] if is_once else bound_last(expression, self._api)
        if any(isinstance(one, CallExpr) and _may_be_mistyped(one) for one in values):
            return common([None if one is None else self.sizes(one) for one in values])
        is_of_numpy = any(one.type.has_base("numpy.generic") for one in numbers_in(t))
        return None if is_of_numpy and not values else []

    def _of_mistyped(self, call: CallExpr) -> Sizes | None:
        try:
            found = self.alike(call.args[0]) if _is_converted(call) else self._of_call(call)
        except _ERRORS:
            found = None
        types = [stored_type(self._api, one) for one in (*call.args, *_receivers(call))]
        return [] if found is None and not any(one is None or _may_be_array(one) for one in types) else found

    def scalar(self, expression: Expression) -> Type | None:
        """Return the type of the elements of an array, also of one that keeps those of other arrays."""
        known = scalar_type_of(stored_type(self._api, expression))
        if known is not None or self._depth > _DEEPEST:
            return known
        self._depth += 1
        try:
            return self._scalar(expression)
        except UnreadError:
            return None
        finally:
            self._depth -= 1

    def _scalar(self, expression: Expression) -> Type | None:
        match expression:
            case NameExpr(node=Var() as variable):
                value, is_once = bound_once(variable, self._api)
                if value is not None:
                    return self.scalar(value)
                unpacked = unpacked_once(variable, self._api) if is_once else None
                return None if unpacked is None else self._scalar_of_item(*unpacked)
            case MemberExpr() if (loaded := loaded_field(expression, self._api)) is not None and not _reshapes.of(
                checked_file(self._api)
            ):
                return scalar_type(self._api, loaded.dtype)
            case OpExpr(op="+" | "-" | "*" | "/", left=left, right=FloatExpr() | IntExpr()):
                of = self.scalar(left)  # a number of Python keeps the precision of an array of floats
                return of if isinstance(of, Instance) and of.type.has_base("numpy.inexact") else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _JOINING:
                given = Given(expression).only({"dtype"}).one("arrays", 0)
                items = given.items if isinstance(given, ListExpr | TupleExpr) else []
                scalars = [self.scalar(one) for one in items]
                return scalars[0] if scalars and all(one == scalars[0] for one in scalars) else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _COPIED - {"copy"}:
                given = Given(expression).only({"dtype"}).one("object" if below_numpy(name) == "array" else "a", 0)
                is_whole = given is not None and not Given(expression).has("dtype", 1) and _are_whole(given, self._api)
                return scalar_type(self._api, "int64") if is_whole else None
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _KEEPING_ELEMENTS and is_array(
                stored_type(self._api, of) or unknown()
            ):
                return self.scalar(of)
            case CallExpr(callee=MemberExpr(name="astype", expr=of), args=[RefExpr(fullname=name), *_]) if (
                self.sizes(of) is not None  # an array, and not of another library
            ):
                return scalar_type(self._api, below_numpy(name))
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _DRAWN_DTYPES and self._is_generator(of):
                # With an argument of type Any, such as `options["batch"]`, mypy infers Any.
                is_given = Given(expression).has("dtype", _DTYPE_PLACES.get(name, sys.maxsize))
                return None if is_given else scalar_type(self._api, _DRAWN_DTYPES[name])
            case CallExpr(callee=MemberExpr(name="choice" | "permutation", expr=of), args=[x, *_]) if (
                self._is_generator(of)
            ):
                return scalar_type(self._api, "int64") if self.sizes(x) == [] else self.scalar(x)
            case CallExpr():
                return scalar_type_of(self._returned(expression))
            case ComparisonExpr(operators=["<" | "<=" | ">" | ">=" | "==" | "!="]) if self.sizes(expression):
                return scalar_type(self._api, "bool")  # of an array and a number of type Any
            case IndexExpr(base=of):
                return self.scalar(of)
        return None

    def _scalar_of_item(self, whole: Expression, position: int) -> Type | None:
        """Return the type of the elements of an array that is unpacked from what a call returns."""
        if isinstance(whole, CallExpr) and (loaded := loaded_pair(whole, self._api)) and position < len(loaded):
            return scalar_type(self._api, loaded[position].dtype)
        return scalar_type_of(self._item(whole, position))

    def _is_generator(self, expression: Expression) -> bool:
        of = get_proper_type(stored_type(self._api, expression))
        return isinstance(of, Instance) and of.type.fullname == _GENERATORS[0]

    def _read(self, expression: Expression) -> Sizes | None:
        match expression:
            case NameExpr():
                return self._of_variable(expression)
            case CallExpr():
                return self._of_call(expression)
            case OpExpr(op=sign, left=left, right=right) if sign in _OPERATORS:
                return self.by_op(_OPERATORS[sign], {"x": left, "y": right})
            case ComparisonExpr(operators=[sign], operands=[left, right]) if sign in _COMPARISONS:
                return self.by_op("add", {"x": left, "y": right})
            case UnaryExpr(op="-" | "+" | "~", expr=operand):
                return self.sizes(operand)
            case IndexExpr(base=RefExpr(fullname=name), index=index) if name.startswith(
                "numpy.lib._index_tricks_impl."
            ):
                made = INDEXED.get(name.rpartition(".")[2])
                return None if made is None else made(self, index)
            case IndexExpr(base=base, index=IntExpr(value=index)) if (several := self.arrays(base)) is not None:
                return several[index] if index < len(several) else None
            case IndexExpr(base=base, index=index):
                return self.by_op("getitem", {"x": base, "index": index})
            case MemberExpr(name="T" | "mT" as name, expr=operand):
                return self.by_op("transpose" if name == "T" else "matrix_transpose", {"x": operand})
            case MemberExpr(name="real" | "imag", expr=owner) if (sizes := self.sizes(owner)) is not None:
                return sizes
            case MemberExpr():
                return self._of_attribute(expression)
            case ConditionalExpr(if_expr=one, else_expr=other):
                return common([self.sizes(one), self.sizes(other)])
        return None

    def _of_variable(self, name: NameExpr) -> Sizes | None:
        if not isinstance(name.node, Var) or _reshapes.of(checked_file(self._api)):
            return None
        loop = loop_of(name.node, self._api)
        if loop is not None:
            return self._of_loop(name.node, loop.target, loop.sequence)
        value, is_once = bound_once(name.node, self._api)
        if not is_once and (made := changed_in_place(name.node, self._api)) is not None and (sizes := self.sizes(made)):
            return sizes  # an array, which keeps its shape, and no number
        if is_once and value is None and (unpacked := unpacked_once(name.node, self._api)) is not None:
            whole, position = unpacked
            return self._assigned(whole, position)
        if is_once and value is None and isinstance(given := object_of(name, self._api), GivenTensor):
            array = _array(given.t)
            return None if array is None else _plain(shape_items(array.args[0]))
        values = ([] if value is None else [value]) if is_once else bound_last(name, self._api)
        if values or is_once:
            return common([self.sizes(one) for one in values])
        return self._of_any_binding(name.node)

    def _of_any_binding(self, variable: Var) -> Sizes | None:
        """Return the sizes that all values of a variable have, as in a loop; None if their ranks differ.

        Where a value mentions the variable, as in `x = x + step(x)`, it is taken to have the sizes of the other values,
        which must then be those of this one too.
        """
        if variable in _assumed:
            return _assumed[variable]
        if len(_assumed) >= _MOST_AT_ONCE:
            return None
        return _unchanging(self._values_of(variable, None), partial(self._values_of, variable))

    def _values_of(self, variable: Var, assumed: Sizes | None) -> Several:
        """Return the sizes of each value of a variable, if it has some sizes before."""
        _assumed[variable] = assumed
        try:
            return [self._assigned(*one) for one in values_assigned(variable, self._api)]
        finally:
            del _assumed[variable]

    def _of_loop(self, variable: Var, target: Expression, sequence: Expression) -> Sizes | None:
        """Return the sizes of what a loop gives a variable, also by `enumerate` or `zip`."""
        match target, sequence:
            case NameExpr(), _:
                return self._row(sequence)
            case TupleExpr(items=targets), NameExpr():
                places = [at for at, one in enumerate(targets) if isinstance(one, NameExpr) and one.node is variable]
                is_plain = len(places) == 1 and not any(isinstance(one, StarExpr) for one in targets)
                return self._column(sequence, places[0]) if is_plain else None
            case _, CallExpr(arg_kinds=kinds) if ARG_STAR in kinds:
                return None
            case TupleExpr(items=[_, inner]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of, *_]):
                return self._of_loop(variable, inner, of)
            case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
                for inner, of in zip(targets, several, strict=False):
                    if isinstance(inner, NameExpr) and inner.node is variable:
                        return self._row(of)
        return None

    def _row(self, sequence: Expression) -> Sizes | None:
        """Return the sizes of what a loop over an array, or over a list of arrays, gives its variable."""
        several = self.arrays(sequence)
        if several is not None:
            return common(several)
        if (row := self._of_appended(sequence)) is not None:
            return row
        sizes = self.sizes(sequence)
        return sizes[1:] if sizes else None

    def _of_attribute(self, attribute: MemberExpr) -> Sizes | None:
        """Return the sizes of an array that a property returns, or that methods or a call gave to an attribute."""
        owner, name = attribute.expr, attribute.name
        if _reshapes.of(checked_file(self._api)):
            return None
        if (loaded := loaded_field(attribute, self._api)) is not None:
            return [*loaded.sizes]
        returned = _array(Bodies.of_property(owner, name, self._api))
        given = object_of(attribute, self._api) if returned is None else None
        known = returned or (_array(given.t) if isinstance(given, GivenTensor) else None)
        if known is not None:
            return _plain(shape_items(known.args[0]))
        if isinstance(owner.node if isinstance(owner, RefExpr) else None, TypeInfo):
            return None
        key = attribute_variable(attribute, self._api), key_of(object_of(owner, self._api))
        is_own = isinstance(owner, NameExpr) and method_of_receiver(owner.node, self._api) is not None
        if key in _assumed_attributes:
            return _assumed_attributes[key] if is_own else None
        found = self._assigned_values(owner, name, key, None)
        if not found:
            return self._of_class(owner, name)
        depend_on_bodies(self._api)
        return _unchanging(found, partial(self._assigned_values, owner, name, key))

    def _assigned_values(
        self, owner: Expression, name: str, key: tuple[SymbolNode | None, Hashable], assumed: Sizes | None
    ) -> Several:
        """Return the sizes of each value that methods assign to an attribute, if it has some sizes before.

        Operators such as `self.x += y` keep those of an array, but not those of a number.
        """
        _assumed_attributes[key] = assumed
        try:
            found = assigned_by_methods(owner, name, self._assigned, self._api)
        finally:
            del _assumed_attributes[key]
        several = [_without_names_of(one.scope, one.value) for one in found]
        return [None if one.is_changed and not sizes else sizes for one, sizes in zip(found, several, strict=True)]

    def _assigned(self, value: Expression, position: int | None) -> Sizes | None:
        """Return the sizes of a value, or of that at a position in what is unpacked."""
        if position is None:
            return self.sizes(value)
        several = self.arrays(value)
        if several is None:
            return self._row(value)
        return several[position] if position < len(several) else None

    def _of_class(self, owner: Expression, name: str) -> Sizes | None:
        """Return the sizes of an array that is a constant of the class of an object."""
        p = get_proper_type(stored_type(self._api, owner))
        value, home = class_constant(p.type, name, self._api) if isinstance(p, Instance) else (None, None)
        if value is None or home is None:
            return None
        with in_file(home, self._api), within(None):
            return self.sizes(value)

    def _item(self, whole: Expression, position: int) -> Type | None:
        """Return the type of an item of a tuple that a function of the program returns."""
        t = self._returned(whole) if isinstance(whole, CallExpr) else None
        items = t.items if isinstance(t, TupleType) else []
        return items[position] if position < len(items) else None

    def _returned(self, call: CallExpr) -> ProperType | None:
        """Return the type of what a call of a function of the program returns; None if its body is not read."""
        if called_function(call.callee, self._api) is None:
            return None
        arguments = [one if self._is_steady(one) else TempNode(unknown()) for one in call.args]
        types = [self._given(one) for one in call.args]
        known = CallExpr(call.callee, arguments, call.arg_kinds, call.arg_names)
        known.set_line(call)
        return get_proper_type(Bodies.result(known, types, self._api))

    def _given(self, argument: Expression) -> Type:
        """Return the type of an argument of a function of the program, also of an array that mypy takes for Any."""
        t = stored_type(self._api, argument) or unknown()
        sizes = self.sizes(argument) if isinstance(get_proper_type(t), AnyType) else None
        return self._array_of(sizes) if sizes else with_sizes(t, argument, self._api)

    def _of_call(self, call: CallExpr) -> Sizes | None:
        callee = call.callee
        if isinstance(callee, RefExpr) and callee.fullname.startswith("numpy."):
            name = below_numpy(callee.fullname)
            if name:
                return self._of_function(call, name, is_ufunc=isinstance(callee.node, Var))
            module, _, function = callee.fullname.rpartition(".")
            if module.startswith("numpy.fft") and function in FOURIER:
                return FOURIER[function](self, Given(call))
            if callee.fullname.startswith(_DRAWS):
                return drawn(self, Given(call), callee.fullname.removeprefix(_DRAWS))
        returned = _array(self._returned(call))
        if returned is not None:
            return _plain(shape_items(returned.args[0]))
        if isinstance(callee, RefExpr) and callee.fullname == "builtins.abs" and len(call.args) == 1:
            return self.sizes(call.args[0])
        if not isinstance(callee, MemberExpr):
            return None
        if isinstance(callee.expr, RefExpr) and isinstance(callee.expr.node, Var) and below_numpy(callee.expr.fullname):
            return self._of_ufunc_method(callee.name, Given(call))
        owner = stored_type(self._api, callee.expr)
        p = None if owner is None else get_proper_type(owner)
        if isinstance(p, Instance) and p.type.fullname in _GENERATORS:
            return drawn(self, Given(call), callee.name)
        # Of an expression of type Any, only what is known to be an array has the methods of one.
        if _array(p) is None and self.sizes(callee.expr) is None:
            return None
        return self._of_method(call, callee.name, callee.expr)

    def _of_function(self, call: CallExpr, name: str, *, is_ufunc: bool) -> Sizes | None:
        given = Given(call)
        if name in _CREATED:
            return self.shape(given.one("shape", 0))
        if name == "ascontiguousarray":
            return self.alike(given.one("a", 0)) or [1]
        if name in _COPIED:
            return self._copied(given.only({"ndmin"}).one("object" if name == "array" else "a", 0))
        if name in FUNCTIONS:
            return FUNCTIONS[name](self, given)
        known = call_of(_OTHER_NAMES.get(name, name))
        if known is not None:
            return self._as_op(known, given)
        op = op_named(UFUNCS.get(name, name)) if is_ufunc else None
        if given.names - _HARMLESS:
            return None
        if op is not None:
            return self.by_op(op.name, dict(zip(op.parameters, given.positional, strict=False)))
        t = get_proper_type(stored_type(self._api, call.callee))
        operands = _UFUNCS.get(t.type.name) if isinstance(t, Instance) else None
        return broadcasted(list(map(self.alike, given.positional[:operands]))) if operands else None

    def _of_ufunc_method(self, name: str, given: Given) -> Sizes | None:
        """Return the sizes of `np.add.outer(x, y)`, `np.add.accumulate(x, axis)` and `np.add.reduce(x, axis)`."""
        if given.names - {"axis", "keepdims", "dtype"} or len(given.positional) > 2:
            return None
        sizes = self.alike(given.positional[0]) if given.positional else []
        if name == "outer":
            return [*sizes, *self.alike(given.one("B", 1))]
        if name == "accumulate":
            return sizes
        if name != "reduce" or not sizes:
            return None
        if not given.has("axis", 1):
            return None if "keepdims" in given.names else sizes[1:]
        keepdims = {one: given.named[one] for one in given.names & {"keepdims"}}
        return self.by_op("sum", {"x": given.positional[0], "axis": given.one("axis", 1), **keepdims})

    def _of_method(self, call: CallExpr, name: str, receiver: Expression) -> Sizes | None:
        if name == "reshape" and ARG_STAR in call.arg_kinds:
            return self._reshaped(call, receiver)
        given = Given(call)
        if name in _SAME_METHODS:
            return self.sizes(receiver)
        if name in ("reshape", "transpose"):
            parameter = "shape" if name == "reshape" else "axes"
            if given.names - _HARMLESS or (not given.positional and name == "reshape"):
                return None
            several = given.positional
            value = several[0] if len(several) == 1 and self._is_tuple(several[0]) else TupleExpr(several)
            return self.by_op(name, {"x": receiver, **({parameter: value} if several else {})})
        if name == "flatten":
            return self.by_op("flatten", {"x": receiver}) if not given.names - _HARMLESS else None
        if name in _METHODS and name in FUNCTIONS:
            return FUNCTIONS[name](self, given.after(receiver))
        known = call_of(name) if name in _METHODS else None
        return self._as_op(known, given.after(receiver)) if known is not None else None

    def _reshaped(self, call: CallExpr, receiver: Expression) -> Sizes | None:
        """Return the sizes of `x.reshape(*x.shape[:2], -1)`."""
        pairs = zip(call.args, call.arg_kinds, strict=True)
        shape = self.shape(TupleExpr([StarExpr(one) if kind is ARG_STAR else one for one, kind in pairs]))
        if shape is None or not {*call.arg_kinds} <= {ARG_POS, ARG_STAR}:
            return None
        return self.by_op("reshape", {"x": receiver, "shape": TempNode(shape_type(tuple(shape), make(self._api)))})

    def _is_tuple(self, expression: Expression) -> bool:
        p = self._type_of(expression)
        return isinstance(p, TupleType) or (isinstance(p, Instance) and p.type.fullname == "builtins.tuple")

    def _as_op(self, known: Call, given: Given) -> Sizes | None:
        """Return the sizes of a function that is an op with other names of parameters."""
        arguments = self._arguments_of(known, given)
        return None if arguments is None else self.by_op(known.op, arguments)

    def _arguments_of(self, known: Call, given: Given) -> dict[str, Expression] | None:
        """Return the arguments of an op that a function is; None if the op has not all of them."""
        arguments: dict[str, Expression] = {}
        positions = [one for one in known.parameters if not one.is_keyword]
        if len(given.positional) > len(positions) or any(one.name.startswith("*") for one in known.parameters):
            return None
        by_name = dict(zip((one.name for one in positions), given.positional, strict=False)) | given.named
        for one in known.parameters:
            value = by_name.pop(one.name, None)
            if value is None:
                if one.is_required:
                    return None
            elif one.own and one.name != "constant_values":  # a pair of them changes no size either
                arguments[one.own] = value
            elif not one.own and one.name not in _HARMLESS:
                return None
        return None if by_name else arguments

    def by_op(self, name: str, given: Mapping[str, Expression], *starred: Expression) -> Sizes | None:
        """Return the sizes that the rule of an op computes; None if an argument is not known well enough."""
        return _plain(self._ruled(name, given, *starred))

    def _ruled(self, name: str, given: Mapping[str, Expression], *starred: Expression) -> list[Any] | None:
        op = op_named(name)
        declared = declared_function(self._api, f"{op.function.__module__}.{op.name}") if op is not None else None
        if op is None or declared is None:
            return None
        arguments: dict[str, list[Argument]] = {}
        for parameter, expression in given.items():
            if parameter in op.sequences:
                arguments[parameter] = [Argument(self._listed(expression), None, None)]
            elif parameter in op.operands and isinstance(self._type_of(expression), NoneType):
                continue
            elif parameter in op.operands:
                arguments[parameter] = [Argument(self._array_of(self.alike(expression)), expression, None)]
            elif parameter == "index":
                arguments[parameter] = [self._index(expression)]
            else:
                known = expression if self._is_steady(expression) else None  # else only its type says something
                arguments[parameter] = [Argument(self._type_of(expression), known, None)]
        if starred:
            arguments[op.star] = [Argument(self._array_of(self.alike(one)), None, None) for one in starred]
        return ruled(op, signature_of(declared), arguments, self._api)

    def _index(self, expression: Expression) -> Argument:
        """Return an index, with the sizes and the kinds of the arrays in it.

        Raises:
            UnreadError: The rank of an array, or whether it is a mask, is unknown.
        """
        several = self.arrays(expression) if isinstance(expression, CallExpr) else None  # np.ix_ and np.nonzero
        if several is not None:
            parts: list[Expression] = [TempNode(self._array_of(one, "i")) for one in several]
        elif isinstance(expression, TupleExpr):
            parts = list(map(self._indexed_by, expression.items))
        else:
            one = self._indexed_by(expression)
            return Argument(self._type_of(one), one, None)
        types = TupleType(list(map(self._type_of, parts)), make(self._api)("builtins.tuple", [unknown()]))
        return Argument(types, TupleExpr(parts), None)

    def _indexed_by(self, part: Expression) -> Expression:
        """Return a part of an index, or a node with its type if it is an array or means something else by now."""
        p = self._type_of(part)
        if isinstance(part, ListExpr) or not _may_be_array(p):
            return part if self._is_steady(part, in_loop=True) else TempNode(p)
        return TempNode(self._array_of(self.sizes(part), self._kind(part)))

    def _kind(self, expression: Expression) -> str:
        """Return the kind of the elements of an array, `b` or `i`; "" for any other, or if it is not known."""
        scalar = get_proper_type(self.scalar(expression))
        if isinstance(scalar, Instance):
            return "b" if scalar.type.has_base("numpy.bool") else "i" if scalar.type.has_base("numpy.integer") else ""
        match expression:
            case ComparisonExpr() | CallExpr(callee=MemberExpr(name="all" | "any" | "isin" | "isnan" | "isfinite")):
                return "b"
            case UnaryExpr(op="~" | "-", expr=of) | IndexExpr(base=of):
                return self._kind(of)
            case OpExpr(op="&" | "|" | "^" | "+" | "-" | "*" | "//" | "%" as sign, left=left, right=right):
                kinds = {self._kind(left), self._kind(right)}
                is_bool = kinds == {"b"} and sign not in ("//", "%")
                return "" if "" in kinds else "b" if is_bool else "i"
            case CallExpr(callee=MemberExpr(name="astype"), args=[dtype, *_]):
                return _KINDS.get(getattr(dtype, "fullname", ""), "")
            case NameExpr(node=Var() as variable):
                value, _ = bound_once(variable, self._api)
                return "" if value is None else self._kind(value)
            case CallExpr(callee=RefExpr(fullname=name), args=[data]) if below_numpy(name) in _COPIED:
                return self._kind(data)
            case CallExpr(callee=RefExpr(fullname=name)) as call if below_numpy(name) in _COPIED | _CREATED:
                dtype = Given(call).one("dtype", 2 if below_numpy(name) == "full" else 1)
                return _KINDS.get(getattr(dtype, "fullname", ""), "")
            case ListExpr(items=[_, *_] as items) | TupleExpr(items=[_, *_] as items):
                kinds = set(map(self._kind, items))
                return kinds.pop() if len(kinds) == 1 else ""
        names = {one.type.fullname for one in numbers_in(self._type_of(expression))}
        return _KINDS.get(names.pop(), "") if len(names) == 1 else ""

    def _listed(self, expression: Expression) -> Type:
        """Return the type of a list of arrays.

        Raises:
            UnreadError: The rank of an array is unknown, or nothing is known of the list.
        """
        several, of = self.arrays(expression), make(self._api)
        if several is not None and several:
            return TupleType(list(map(self._array_of, several)), of("builtins.tuple", [unknown()]))
        match self._value_of_list(expression):
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                return of("builtins.list", [self._array_of(self.alike(item))])
        if (row := self._of_appended(expression)) is not None:
            return of("builtins.list", [self._array_of(row)])
        raise UnreadError

    def _of_appended(self, expression: Expression) -> Sizes | None:
        """Return the sizes that all items have which `append` adds to a list, or those of a column of `zip(*rows)`."""
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return None
        items = appended_to(expression, self._api)
        if items is not None:
            return common([self._known(one) for one in items])
        match unpacked_once(expression.node, self._api):
            case (
                CallExpr(callee=RefExpr(fullname="builtins.zip"), args=[rows, *_], arg_kinds=[kind, *others]),
                at,
            ) if kind is ARG_STAR and all(one.is_named() for one in others):
                return self._column(rows, at)
        return None

    def _count_of_appended(self, expression: Expression) -> Size:
        """Return how many items a list has that is empty at first, and that one statement in loops appends to."""
        loops = loops_that_fill(expression, self._api) if isinstance(expression, NameExpr) else None
        return UNKNOWN if loops is None else product([self._turns(loop.expr) for loop in loops])

    def _turns(self, sequence: Expression) -> Size:
        """Return how often a loop over a sequence runs."""
        match sequence:
            case CallExpr(callee=RefExpr(fullname="builtins.range"), args=[start, stop]):
                return largest([self._size_or_unknown(stop) - self._size_or_unknown(start), 0])
            case CallExpr(callee=RefExpr(fullname="builtins.range"), args=[stop]):
                return largest([self._size_or_unknown(stop), 0])
        count = length_of(sequence, self._api)
        return UNKNOWN if count is None else count

    def _column(self, rows: Expression, position: int) -> Sizes | None:
        """Return the sizes of what all tuples in a list, such as named tuples, have at a position."""
        row = record_in(rows, self._api)
        if row is not None and row.info.is_named_tuple:
            names = fields_of(row.info)
            field = dict(row.arguments).get(names[position]) if position < len(names) else None
            array = _array(field.t) if isinstance(field, GivenTensor) else None
            return None if array is None else _plain(shape_items(array.args[0]))
        items = self._rows_written(rows)
        parts = [one.items[position] for one in items if isinstance(one, TupleExpr) and len(one.items) > position]
        is_plain = len(parts) == len(items) and not any(
            isinstance(part, StarExpr) for one in items for part in getattr(one, "items", ())
        )
        return common([self._known(one) for one in parts]) if parts and is_plain else None

    def _rows_written(self, rows: Expression) -> list[Expression]:
        """Return what a list has as items that a display and `append` fill, also in a copy or a sample; else none."""
        match rows:
            case CallExpr(callee=RefExpr(fullname=name), args=[of, *_], arg_kinds=[kind, *_]) if (
                name in DRAWING and name != "random.choice" and kind is ARG_POS
            ):
                return self._rows_written(of)
            case NameExpr(node=Var() as variable):
                if (items := appended_to(rows, self._api)) is not None:
                    return items
                value, _ = bound_once(variable, self._api)
                if value is not None and use_of(rows, self._api) is Use.READ:
                    return value.items if isinstance(value, ListExpr) else self._rows_written(value)
        return []

    def arrays(self, expression: Expression) -> list[Sizes | None] | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""
        match self._value_of_list(expression):
            case ListExpr(items=items) | TupleExpr(items=items) if not any(isinstance(one, StarExpr) for one in items):
                return [self._known(one) for one in items]
            case ListComprehension(generator=GeneratorExpr() as generator) | (GeneratorExpr() as generator):
                return self._comprehended_arrays(generator)
            case CallExpr(callee=RefExpr(fullname=name)) as call if below_numpy(name) in SEVERAL:
                return SEVERAL[below_numpy(name)](self, Given(call))
            case CallExpr(callee=RefExpr(fullname=name)) as call if (known := call_of(below_numpy(name))) is not None:
                return self._results(known, Given(call))
            case CallExpr(callee=MemberExpr(expr=of, name="nonzero"), args=[]):
                return [[UNKNOWN]] * len(self.alike(of))
            case CallExpr(callee=RefExpr(fullname="builtins.list" | "builtins.tuple"), args=[of]):
                return self._listed_rows(of)
            case OpExpr(op="*", left=ListExpr() as one, right=times):
                several, count = self.arrays(one), self.value(times)
                return several * count if several is not None and type(count) is int and count <= MOST_ITEMS else None
            case IndexExpr(base=RefExpr(fullname=name), index=index) if name.endswith(".ogrid"):
                return open_grids(self, index)
            case CallExpr() as call if loaded := loaded_pair(call, self._api):
                return [[*one.sizes] for one in loaded]
            case CallExpr() as call if isinstance(t := self._returned(call), TupleType):
                arrays = list(map(_array, t.items))
                return [None if one is None else _plain(shape_items(one.args[0])) for one in arrays]
        return None

    def _known(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array, or of what NumPy makes one of; None if its rank is unknown."""
        try:
            return self.alike(expression)
        except _ERRORS:
            return None

    def _comprehended_arrays(self, generator: GeneratorExpr) -> Several | None:
        if len(generator.sequences) > 1 or any(generator.condlists):
            return None
        count = self._count(generator.sequences[0])
        item = self._known(generator.left_expr)
        return [item] * count if isinstance(count, int) and count <= MOST_ITEMS else None

    def _listed_rows(self, of: Expression) -> Several | None:
        """Return the sizes of the arrays of `list(of)`, which may be an array."""
        if (several := self.arrays(of)) is not None:
            return several
        count, *row = self.sizes(of) or [UNKNOWN]
        return [row] * count if isinstance(count, int) and count <= MOST_ITEMS else None

    def _results(self, known: Call, given: Given) -> Several | None:
        """Return the sizes of the results of an op that returns several tensors, such as `np.linalg.svd`."""
        arguments = self._arguments_of(known, given)
        answer = None if arguments is None else self._ruled(known.op, arguments)
        if answer is None or not is_several(answer):
            return None
        return [_plain(list(one)) if isinstance(one, tuple) else None for one in answer]

    def _value_of_list(self, expression: Expression) -> Expression:
        """Return the expression of a list or a tuple; of a variable whose list nothing changes, what it is bound to."""
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return expression
        value, _ = bound_once(expression.node, self._api)
        return value if value is not None and use_of(expression, self._api) is Use.READ else expression

    def _array_of(self, sizes: Sizes | None, kind: str = "") -> Type:
        """Return the type of an array.

        Raises:
            UnreadError: Its rank is unknown.
        """
        if sizes is None:
            raise UnreadError
        of = make(self._api)
        scalar = of(_SCALARS[kind], [unknown()]) if kind else unknown()
        return of(ARRAY, [shape_type(tuple(sizes), of), of("numpy.dtype", [scalar])])

    def _type_of(self, expression: Expression) -> ProperType:
        if isinstance(expression, TupleExpr) and expression.line < 0:  # the separate arguments of `x.reshape(2, 3)`
            return TupleType(list(map(self._type_of, expression.items)), make(self._api)("builtins.tuple", [unknown()]))
        t = expression.type if isinstance(expression, TempNode) else stored_type(self._api, expression)
        if t is None:
            raise UnreadError
        return get_proper_type(t)

    def _check_steady(self, expression: Expression) -> None:
        """Check that an expression means the same here as where it was written.

        Raises:
            UnreadError: It may mean something else.
        """
        if not self._is_steady(expression):
            raise UnreadError

    def _is_steady(self, expression: Expression, *, in_loop: bool = False) -> bool:
        """Return whether an expression means the same here as where it was written, or in a loop around both."""
        names = [node for node in inside(expression) if isinstance(node, NameExpr)]
        return all(
            name.fullname.startswith("builtins.")
            or stays(name, self._api)
            or (in_loop and isinstance(name.node, Var) and loop_of(name.node, self._api) is not None)
            for name in names
        )

    def value(self, expression: Expression) -> Any:
        """Return the value of an argument that is no array.

        Raises:
            ValueUnknownError: It is unknown.
        """
        self._check_steady(expression)
        return value_of(self._type_of(expression), expression, self._api)

    def shape(self, expression: Expression) -> Sizes | None:
        """Return the sizes that an argument says, such as `(3, 4)`, `3` or `x.shape`; None for an unknown rank."""
        match expression:
            case MemberExpr(name="shape", expr=of):
                return self.sizes(of)
            case OpExpr(op="+", left=left, right=right) if self._is_tuple(left):
                parts = [self.shape(left), self.shape(right)]
                known = [one for one in parts if one is not None]
                return [*chain.from_iterable(known)] if len(known) == len(parts) else None
            case IndexExpr(base=of, index=SliceExpr() as part) if (bounds := bounds_of(part)) is not None:
                sizes = self.shape(of) if self._is_tuple(of) else None
                return None if sizes is None else sizes[bounds]
            case TupleExpr(items=items) if any(isinstance(one, StarExpr) for one in items):
                starred = [self.shape(one.expr) if isinstance(one, StarExpr) else self.shape(one) for one in items]
                return None if any(one is None for one in starred) else [n for one in starred for n in one or ()]
        if is_whole_option(expression, self._api):
            self._check_steady(expression)
            return [count_of(self._type_of(expression), expression, self._api)]
        try:
            value = self.value(expression)
        except (UnreadError, ValueUnknownError):
            numbers = expression.items if isinstance(expression, TupleExpr) else [expression]
            if not all(map(self._is_whole_number, numbers)):
                raise
            return list(map(self._size_or_unknown, numbers))
        if isinstance(value, UnknownDims):
            return None
        return list(value) if isinstance(value, tuple | list) else [value]

    def _is_whole_number(self, expression: Expression) -> bool:
        numbers = numbers_in(self._type_of(expression))
        return len(numbers) > 0 and all(one.type.fullname == "builtins.int" for one in numbers)

    def _size_or_unknown(self, number: Expression) -> Size:
        try:
            size = self.value(number)
        except (UnreadError, ValueUnknownError):
            return UNKNOWN
        return size if isinstance(size, int | Dim) else UNKNOWN

    def alike(self, expression: Expression) -> Sizes:
        """Return the sizes of an array, or of the array that NumPy makes of lists.

        Raises:
            UnreadError: The rank is unknown.
        """
        found = self._copied(expression)
        if found is None:
            raise UnreadError
        return found

    def _copied(self, expression: Expression) -> Sizes | None:
        """Return the sizes of `np.array(data)` of an array, or of lists that are written out."""
        match self._value_of_list(expression):
            case ListComprehension(generator=generator):
                return self._comprehended(generator)
            case ListExpr(items=items) | TupleExpr(items=items):
                return self._of_items(items)
            case OpExpr(op="*", left=ListExpr() as one, right=times) if sizes := self._copied(one):
                return [sizes[0] * self.value(times), *sizes[1:]]
            case OpExpr(op="+", left=left, right=right) if self._is_list(left):
                return joined([self._copied(left), self._copied(right)], 0)
            case CallExpr(callee=RefExpr(fullname=name), args=[of]) if name in _LISTING:
                return self._copied(of)
            case CallExpr(callee=RefExpr(fullname="builtins.range")) as call:
                return [self._count(call)]
            case MemberExpr(name="shape", expr=of) if (sizes := self.sizes(of)) is not None:
                return [len(sizes)]
            case CallExpr() as call if (several := self.arrays(call)) is not None:
                rows = common(several)
                return None if rows is None else [len(several), *rows]
        if (row := self._of_appended(expression)) is not None:
            return [self._count_of_appended(expression), *row]
        found = self.sizes(expression)
        return self._of_numbers(expression) if found is None else found

    def _of_items(self, items: list[Expression]) -> Sizes | None:
        """Return the sizes of an array of the items that are written in a list."""
        if not items:
            return [0]
        count: Size = 0
        rows: Several = []
        for one in items:
            several, *row = (self._copied(one.expr) if isinstance(one, StarExpr) else [1, *self.alike(one)]) or [
                UNKNOWN
            ]
            count += several
            rows.append(row)
        found = common(rows)
        return None if found is None else [count, *found]

    def _of_numbers(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array of a list whose type says that its items are numbers."""
        p = get_proper_type(stored_type(self._api, expression))
        if not isinstance(p, Instance) or p.type.fullname not in ("builtins.list", "builtins.tuple", "builtins.range"):
            return None
        return [self._count(expression)] if all(map(numbers_in, p.args)) else None

    def _is_list(self, expression: Expression) -> bool:
        p = get_proper_type(stored_type(self._api, expression))
        return isinstance(p, Instance) and p.type.fullname == "builtins.list"

    def _comprehended(self, generator: GeneratorExpr) -> Sizes | None:
        """Return the sizes of `np.array([item for x in items])` of arrays or numbers."""
        sizes = self._copied(generator.left_expr)
        if sizes is None:
            return None
        counts = list(map(self._count, generator.sequences))
        return [UNKNOWN if any(generator.condlists) else product(counts), *sizes]

    def _count(self, sequence: Expression) -> Size:
        """Return how many items a sequence has, which may be an array."""
        match self._value_of_list(sequence):
            case StrExpr(value=text):
                return len(text)
            case CallExpr(callee=RefExpr(fullname="builtins.enumerate" | "builtins.reversed"), args=[of, *_]):
                return self._count(of)
        count = length_of(sequence, self._api)
        sizes = (self.sizes(sequence) or [UNKNOWN]) if count is None else [count]
        return sizes[0]


# What variables and attributes are taken to have while all of their values are read, which may mention them.
_assumed: Final[dict[Var, Sizes | None]] = {}
_assumed_attributes: Final[dict[tuple[SymbolNode | None, Hashable], Sizes | None]] = {}  # by the object as well


def _unchanging(found: Several, read: Callable[[Sizes | None], Several]) -> Sizes | None:
    """Return the sizes that all values have, some of which may be computed from others, as by `x = x + step(x)`.

    Those are taken to have the sizes of the others, which must then come out again.

    Args:
        found: The sizes of each value, as far as they are known without the others.
        read: Returns the sizes of each value, if what it is computed from has some sizes before.
    """
    sizes = common([one for one in found if one is not None])
    if None not in found:
        return sizes
    for _ in range(_MOST_PASSES):
        if sizes is None:
            return None
        before, sizes = sizes, common([sizes, *read(sizes)])
        if sizes is None or _are_same(before, sizes):
            return sizes
    return None


def _are_same(one: Sizes, other: Sizes) -> bool:
    return all((is_unknown(n) and is_unknown(m)) or surely_same(n, m) for n, m in zip(one, other, strict=True))


def _plain(items: list[Any] | None) -> Sizes | None:
    """Return sizes without a star among them; None for an unknown rank, or for several results."""
    if items is None or is_several(items) or any(isinstance(one, Many) for one in items):
        return None
    return items


def _without_names_of(scope: str, sizes: Sizes | None) -> Sizes | None:
    """Return sizes without those that are named after variables of a function, which mean nothing outside of it."""
    if sizes is None or not scope:
        return sizes
    return [UNKNOWN if any(one.scope == scope for one in names_in(n)) else n for n in sizes]


def _reshapes_in_place(file: Node | None) -> bool:
    """Return whether a file may change the shape of an array in place, so that no variable keeps its own."""
    for node in nodes_in.of(file):
        match node:
            case CallExpr(callee=MemberExpr(expr=RefExpr(node=MypyFile()))):
                continue  # np.resize returns another array
            case CallExpr(callee=MemberExpr(name="resize")):
                return True
        for target in targets_in(getattr(node, "lvalues", None) or getattr(node, "lvalue", None)):
            if isinstance(target, MemberExpr) and target.name in ("shape", "strides", "dtype"):
                owner = target.expr
                if not isinstance(owner, NameExpr) or owner.name != "self":  # a class's own attribute
                    return True
    return False


_reshapes = ScopeCache(_reshapes_in_place)

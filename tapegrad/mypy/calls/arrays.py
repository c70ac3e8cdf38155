"""Sizes of NumPy's arrays, read from the expressions that made them, where an array is an argument of a call.

NumPy's stubs type the rank of some arrays and the sizes of none. mypy keeps their types, so that a program that only
uses NumPy is checked as before; an array that becomes a tensor has the sizes that its expression gives it.
"""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    Expression,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    StarExpr,
    TempNode,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, ProperType, TupleType, Type, get_proper_type

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.numpy_functions import UFUNCS, Call, below_numpy, call_of
from tapegrad.mypy.conversion import ARRAY, Many, shape_items, shape_type, tensor_parts, unknown
from tapegrad.mypy.mypy_api import checked_file, declared_function, make, silenced, stored_type
from tapegrad.mypy.rules.calls import is_several, ruled
from tapegrad.mypy.rules.library import op_named
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.command_line import is_whole_option
from tapegrad.mypy.scopes.items import MOST_ITEMS
from tapegrad.mypy.scopes.names import ScopeCache, bound_last, bound_once, inside, nodes_in, targets_in, unpacked_once
from tapegrad.mypy.scopes.objects import assigned_in_constructor, called_function, length_of
from tapegrad.mypy.scopes.opaque import loop_of
from tapegrad.mypy.scopes.values import ValueUnknownError, count_of, stays, value_of
from tapegrad.mypy.signatures import signature_of
from tapegrad.mypy.unify.arguments import Argument, numbers_in, operand_shape
from tapegrad.mypy.unify.bindings import CallError
from tapegrad.sizes import UNKNOWN, Size, UnknownDims, broadcast, is_unknown, product, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy.nodes import Node
    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker

_Sizes = list[Size]

_DEEPEST: Final = 30  # expressions inside each other, each variable with the expression that it is bound to

# Options of NumPy's functions that change no shape.
_HARMLESS: Final = frozenset(
    ["casting", "copy", "device", "dtype", "initial", "kind", "like", "order", "out", "stable", "subok", "where"]
)
_CREATED: Final = frozenset(["zeros", "ones", "empty", "full"])
_COPIED: Final = frozenset(["array", "asanyarray", "asarray", "ascontiguousarray", "copy"])
_SAME_METHODS: Final = frozenset(["astype", "clip", "conj", "conjugate", "copy", "round"])
# Methods of arrays that are NumPy's functions of that name, with the array as the first argument.
_METHODS: Final = frozenset(
    [
        *("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "diagonal", "max", "mean", "min"),
        *("prod", "ravel", "repeat", "squeeze", "std", "sum", "swapaxes", "take", "var"),
    ]
)
_JOINING: Final = frozenset(["concatenate", "hstack", "stack", "vstack"])
_KEEPING_ELEMENTS: Final = frozenset(
    ["copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "transpose"]
)
_OPERATORS: Final = {"@": "matmul", **dict.fromkeys(["+", "-", "*", "/", "//", "%", "**", "&", "|", "^"], "add")}
_COMPARISONS: Final = frozenset(["==", "!=", "<", "<=", ">", ">="])
# Where the size stands among the arguments of a method of a generator.
_DRAWN: Final = {
    "beta": 2,
    "binomial": 2,
    "exponential": 1,
    "gamma": 2,
    "integers": 2,
    "laplace": 2,
    "lognormal": 2,
    "normal": 2,
    "poisson": 1,
    "randint": 2,
    "random": 0,
    "random_sample": 0,
    "standard_exponential": 0,
    "standard_normal": 0,
    "uniform": 2,
}
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


class _UnreadError(Exception):
    """Nothing is known of the sizes of an expression."""


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
    array = _array(p)
    if array is None or _is_known(array):
        return t
    with silenced(api):
        sizes, scalar = _Reader(api).sizes(expression), _Reader(api).scalar(expression)
    if scalar is not None:
        array = array.copy_modified(args=[array.args[0], make(api)("numpy.dtype", [scalar])])
    return array if sizes is None else _with_sizes(array, sizes, api)


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
        return _Reader(api).sizes(argument.expression) or None  # a result of shape () is no array


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


def _array(t: Type | None) -> Instance | None:
    p = None if t is None else get_proper_type(t)
    return p if isinstance(p, Instance) and p.type.fullname == ARRAY else None


def _is_known(array: Instance) -> bool:
    items = shape_items(array.args[0])
    return items is not None and not any(is_unknown(one) for one in items if not isinstance(one, Many))


def _with_sizes(array: Instance, sizes: _Sizes, api: Checker) -> Instance:
    return array.copy_modified(args=[shape_type(tuple(sizes), make(api)), *array.args[1:]])


class _Reader:
    """Reads the sizes of arrays from expressions; None stands for an unknown rank."""

    def __init__(self, api: Checker) -> None:
        self._api = api
        self._depth = 0

    def sizes(self, expression: Expression) -> _Sizes | None:
        """Return the sizes of an array, by its type and by its expression; of a number, none."""
        t = stored_type(self._api, expression)
        if t is None or self._depth > _DEEPEST:
            return None
        p = get_proper_type(t)
        parts = tensor_parts(p)
        if parts is not None or numbers_in(p):
            return _plain(operand_shape(p, parts))
        array = _array(p)
        if array is None and not isinstance(p, AnyType):
            return None
        by_type = None if array is None else _plain(shape_items(array.args[0]))
        if array is not None and _is_known(array):
            return by_type
        self._depth += 1
        try:
            found = self._read(expression)
        except (_UnreadError, ValueUnknownError, ShapeError, DTypeError, CallError):
            found = None  # what NumPy rejects has no sizes either
        finally:
            self._depth -= 1
        if found is None or by_type is None:
            return by_type if found is None else found
        if len(found) != len(by_type):
            return by_type
        return [one if is_unknown(typed) else typed for one, typed in zip(found, by_type, strict=True)]

    def scalar(self, expression: Expression) -> Type | None:
        """Return the type of the elements of an array, also of one that keeps those of other arrays."""
        known = scalar_type_of(stored_type(self._api, expression))
        if known is not None or self._depth > _DEEPEST:
            return known
        self._depth += 1
        try:
            return self._scalar(expression)
        except _UnreadError:
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
                return None if unpacked is None else scalar_type_of(self._item(unpacked[0], unpacked[1]))
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _JOINING:
                given = _Given(expression).only({"dtype"}).one("arrays", 0)
                items = given.items if isinstance(given, ListExpr | TupleExpr) else []
                scalars = [self.scalar(one) for one in items]
                return scalars[0] if scalars and all(one == scalars[0] for one in scalars) else None
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _KEEPING_ELEMENTS and is_array(
                stored_type(self._api, of) or unknown()
            ):
                return self.scalar(of)
            case CallExpr():
                return scalar_type_of(self._returned(expression))
            case IndexExpr(base=of):
                return self.scalar(of)
        return None

    def _read(self, expression: Expression) -> _Sizes | None:
        match expression:
            case NameExpr():
                return self._of_variable(expression)
            case CallExpr():
                return self._of_call(expression)
            case OpExpr(op=sign, left=left, right=right) if sign in _OPERATORS:
                return self._by_op(_OPERATORS[sign], {"x": left, "y": right})
            case ComparisonExpr(operators=[sign], operands=[left, right]) if sign in _COMPARISONS:
                return self._by_op("add", {"x": left, "y": right})
            case UnaryExpr(op="-" | "+" | "~", expr=operand):
                return self.sizes(operand)
            case IndexExpr(base=base, index=IntExpr(value=index)) if (several := self._arrays(base)) is not None:
                return several[index] if index < len(several) else None
            case IndexExpr(base=base, index=index):
                return self._by_op("getitem", {"x": base, "index": index})
            case MemberExpr(name="T" | "mT" as name, expr=operand):
                return self._by_op("transpose" if name == "T" else "matrix_transpose", {"x": operand})
            case MemberExpr(expr=owner, name=name):
                return self._of_attribute(owner, name)
            case ConditionalExpr(if_expr=one, else_expr=other):
                return _common([self.sizes(one), self.sizes(other)])
        return None

    def _of_variable(self, name: NameExpr) -> _Sizes | None:
        if not isinstance(name.node, Var) or _reshapes.of(checked_file(self._api)):
            return None
        value, is_once = bound_once(name.node, self._api)
        if is_once and value is None and (unpacked := unpacked_once(name.node, self._api)) is not None:
            whole, position = unpacked
            several = self._arrays(whole) or []
            return several[position] if position < len(several) else None
        if is_once and value is None and (loop := loop_of(name.node, self._api)) is not None:
            return self._row(loop.sequence) if isinstance(loop.target, NameExpr) else None
        values = ([] if value is None else [value]) if is_once else bound_last(name, self._api)
        return _common([self.sizes(one) for one in values])

    def _row(self, sequence: Expression) -> _Sizes | None:
        """Return the sizes of what a loop over an array, or over a list of arrays, gives its variable."""
        several = self._arrays(sequence)
        if several is not None:
            return _common(several)
        return (self.sizes(sequence) or [])[1:] or None

    def _of_attribute(self, owner: Expression, name: str) -> _Sizes | None:
        """Return the sizes of an array that a property returns, or that only the constructor of an object assigns."""
        if _reshapes.of(checked_file(self._api)):
            return None
        returned = _array(Bodies.of_property(owner, name, self._api))
        if returned is not None:
            return _plain(shape_items(returned.args[0]))
        with assigned_in_constructor(owner, name, self._api) as value:
            return None if value is None else self.sizes(value)

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
        types = [with_sizes(stored_type(self._api, one) or unknown(), one, self._api) for one in arguments]
        known = CallExpr(call.callee, arguments, call.arg_kinds, call.arg_names)
        known.set_line(call)
        return get_proper_type(Bodies.result(known, types, self._api))

    def _of_call(self, call: CallExpr) -> _Sizes | None:
        callee = call.callee
        if isinstance(callee, RefExpr) and callee.fullname.startswith("numpy."):
            name = below_numpy(callee.fullname)
            if name:
                return self._of_function(call, name, is_ufunc=isinstance(callee.node, Var))
            if callee.fullname.startswith(_DRAWS):
                return self._drawn(call, callee.fullname.removeprefix(_DRAWS))
        returned = _array(self._returned(call))
        if returned is not None:
            return _plain(shape_items(returned.args[0]))
        if not isinstance(callee, MemberExpr):
            return None
        owner = stored_type(self._api, callee.expr)
        p = None if owner is None else get_proper_type(owner)
        if isinstance(p, Instance) and p.type.fullname in _GENERATORS:
            return self._drawn(call, callee.name)
        # Of an expression of type Any, only what is known to be an array has the methods of one.
        if _array(p) is None and self.sizes(callee.expr) is None:
            return None
        return self._of_method(call, callee.name, callee.expr)

    def _of_function(self, call: CallExpr, name: str, *, is_ufunc: bool) -> _Sizes | None:
        given = _Given(call)
        if name in _CREATED:
            return self._shape(given.one("shape", 0))
        if name in _COPIED:
            return self._copied(given.only({"ndmin"}).one("object" if name == "array" else "a", 0))
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](self, given)
        known = call_of(name)
        if known is not None:
            return self._as_op(known, given)
        op = op_named(UFUNCS.get(name, name)) if is_ufunc else None
        if op is None or given.names - _HARMLESS:
            return None
        return self._by_op(op.name, dict(zip(op.parameters, given.positional, strict=False)))

    def _of_method(self, call: CallExpr, name: str, receiver: Expression) -> _Sizes | None:
        given = _Given(call)
        if name in _SAME_METHODS:
            return self.sizes(receiver)
        if name in ("reshape", "transpose"):
            parameter = "shape" if name == "reshape" else "axes"
            if given.names - _HARMLESS or (not given.positional and name == "reshape"):
                return None
            several = given.positional
            value = several[0] if len(several) == 1 and self._is_tuple(several[0]) else TupleExpr(several)
            return self._by_op(name, {"x": receiver, **({parameter: value} if several else {})})
        if name == "dot":
            return self.dot(given.after(receiver))
        if name == "flatten":
            return self._by_op("flatten", {"x": receiver}) if not given.names - _HARMLESS else None
        known = call_of(name) if name in _METHODS else None
        return self._as_op(known, given.after(receiver)) if known is not None else None

    def _is_tuple(self, expression: Expression) -> bool:
        p = self._type_of(expression)
        return isinstance(p, TupleType) or (isinstance(p, Instance) and p.type.fullname == "builtins.tuple")

    def _as_op(self, known: Call, given: _Given) -> _Sizes | None:
        """Return the sizes of a function that is an op with other names of parameters."""
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
            elif one.own:
                arguments[one.own] = value
            elif one.name not in _HARMLESS:
                return None
        return None if by_name else self._by_op(known.op, arguments)

    def _by_op(self, name: str, given: Mapping[str, Expression]) -> _Sizes | None:
        """Return the sizes that the rule of an op computes; None if an argument is not known well enough."""
        op = op_named(name)
        declared = declared_function(self._api, f"{op.function.__module__}.{op.name}") if op is not None else None
        if op is None or declared is None:
            return None
        arguments: dict[str, list[Argument]] = {}
        for parameter, expression in given.items():
            if parameter in op.sequences:
                arguments[parameter] = [Argument(self._listed(expression), None, None)]
            elif parameter in op.operands or (parameter == "index" and self._is_array(expression)):
                arguments[parameter] = [Argument(self._operand(expression), expression, None)]
            else:
                known = expression if self._is_steady(expression) else None  # else only its type says something
                arguments[parameter] = [Argument(self._type_of(expression), known, None)]
        return _plain(ruled(op, signature_of(declared), arguments, self._api))

    def _is_array(self, expression: Expression) -> bool:
        return _array(stored_type(self._api, expression)) is not None

    def _operand(self, expression: Expression) -> Type:
        """Return the type of an operand, an array with its sizes.

        Raises:
            _UnreadError: Its rank is unknown.
        """
        sizes = self.sizes(expression)
        if sizes is None:
            raise _UnreadError
        kind = _array(stored_type(self._api, expression))
        dtype = kind.args[1] if kind is not None else unknown()
        if not sizes and kind is None:
            return self._type_of(expression)
        return make(self._api)(ARRAY, [shape_type(tuple(sizes), make(self._api)), dtype])

    def _listed(self, expression: Expression) -> Type:
        """Return the type of a list of arrays.

        Raises:
            _UnreadError: The rank of an array is unknown, or nothing is known of the list.
        """
        several, of = self._arrays(expression), make(self._api)
        if several is not None and several:
            return TupleType(list(map(self._array_of, several)), of("builtins.tuple", [unknown()]))
        match self._value_of_list(expression):
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                return of("builtins.list", [self._array_of(self.sizes(item))])
        raise _UnreadError

    def _arrays(self, expression: Expression) -> list[_Sizes | None] | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""
        match self._value_of_list(expression):
            case ListExpr(items=items) | TupleExpr(items=items) if not any(isinstance(one, StarExpr) for one in items):
                return list(map(self.sizes, items))
            case ListComprehension(generator=GeneratorExpr(left_expr=item, sequences=[of], condlists=[[]])):
                count = self._count(of)
                return [self.sizes(item)] * count if isinstance(count, int) and count <= MOST_ITEMS else None
            case CallExpr(callee=RefExpr(fullname=name)) as call if below_numpy(name) in _SEVERAL:
                return _SEVERAL[below_numpy(name)](self, _Given(call))
            case CallExpr() as call if isinstance(t := self._returned(call), TupleType):
                arrays = list(map(_array, t.items))
                return [None if one is None else _plain(shape_items(one.args[0])) for one in arrays]
        return None

    def _value_of_list(self, expression: Expression) -> Expression:
        """Return the expression of a list or a tuple; of a variable whose list nothing changes, what it is bound to."""
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return expression
        value, _ = bound_once(expression.node, self._api)
        return value if value is not None and use_of(expression, self._api) is Use.READ else expression

    def _array_of(self, sizes: _Sizes | None) -> Type:
        if sizes is None:
            raise _UnreadError
        return make(self._api)(ARRAY, [shape_type(tuple(sizes), make(self._api)), unknown()])

    def _type_of(self, expression: Expression) -> ProperType:
        if isinstance(expression, TupleExpr) and expression.line < 0:  # the separate arguments of `x.reshape(2, 3)`
            return TupleType(list(map(self._type_of, expression.items)), make(self._api)("builtins.tuple", [unknown()]))
        t = stored_type(self._api, expression)
        if t is None:
            raise _UnreadError
        return get_proper_type(t)

    def _check_steady(self, expression: Expression) -> None:
        """Check that an expression means the same here as where it was written.

        Raises:
            _UnreadError: It may mean something else.
        """
        if not self._is_steady(expression):
            raise _UnreadError

    def _is_steady(self, expression: Expression) -> bool:
        names = [node for node in inside(expression) if isinstance(node, NameExpr)]
        return all(name.fullname.startswith("builtins.") or stays(name, self._api) for name in names)

    def value(self, expression: Expression) -> Any:
        """Return the value of an argument that is no array.

        Raises:
            ValueUnknownError: It is unknown.
        """
        self._check_steady(expression)
        return value_of(self._type_of(expression), expression, self._api)

    def _shape(self, expression: Expression) -> _Sizes | None:
        if is_whole_option(expression, self._api):
            self._check_steady(expression)
            return [count_of(self._type_of(expression), expression, self._api)]
        value = self.value(expression)
        if isinstance(value, UnknownDims):
            return None
        return list(value) if isinstance(value, tuple | list) else [value]

    def _copied(self, expression: Expression) -> _Sizes | None:
        """Return the sizes of `np.array(data)` of an array, or of lists that are written out."""
        if isinstance(expression, ListComprehension):
            return self._comprehended(expression.generator)
        if not isinstance(expression, ListExpr | TupleExpr):
            return self.sizes(expression)
        if any(isinstance(item, StarExpr) for item in expression.items):
            return None
        rows = _common([self._copied(item) for item in expression.items])
        return None if rows is None else [len(expression.items), *rows]

    def _comprehended(self, generator: GeneratorExpr) -> _Sizes | None:
        """Return the sizes of `np.array([item for x in items])` of arrays or numbers."""
        item = generator.left_expr
        t = stored_type(self._api, item)
        sizes = [] if t is not None and numbers_in(get_proper_type(t)) else self._copied(item)
        if sizes is None or len(generator.sequences) > 1:
            return None
        count = self._count(generator.sequences[0]) if not any(generator.condlists) else UNKNOWN
        return [count, *sizes]

    def _count(self, sequence: Expression) -> Size:
        """Return how many items a sequence has, which may be an array."""
        count = length_of(sequence, self._api)
        sizes = (self.sizes(sequence) or [UNKNOWN]) if count is None else [count]
        return sizes[0]

    def _drawn(self, call: CallExpr, name: str) -> _Sizes | None:
        given = _Given(call)
        if name in ("rand", "randn"):
            return [self.value(one) for one in given.positional] or None
        if name == "permutation":
            return self.sizes(given.one("x", 0)) or [self.value(given.one("x", 0))]
        return self._shape(given.one("size", _DRAWN[name])) if name in _DRAWN else None

    # Functions that are no ops of tensors

    def eye(self, given: _Given) -> _Sizes:
        """Return the sizes of `np.eye(n, m)`."""
        n = self.value(given.one("N", 0))
        return [n, self.value(given.one("M", 1)) if given.has("M", 1) else n]

    def identity(self, given: _Given) -> _Sizes:
        """Return the sizes of `np.identity(n)`."""
        return [self.value(given.one("n", 0))] * 2

    def arange(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.arange(n)`, and of whole numbers with a start and a step."""
        numbers = [self.value(one) for one in given.only({"start", "stop", "step"}).positional]
        if len(numbers) == 1 and not isinstance(numbers[0], float | str | bool | tuple):
            return numbers
        is_whole = all(type(one) is int for one in numbers)
        return [len(range(*numbers))] if is_whole and 1 < len(numbers) <= 3 and numbers[2:] != [0] else None

    def linspace(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.linspace(start, stop, n)` of two numbers."""
        ends = [self.sizes(given.one("start", 0)), self.sizes(given.one("stop", 1))]
        if ends != [[], []] or given.only({"axis", "retstep"}).has("retstep", 4):
            return None
        return [self.value(given.one("num", 2)) if given.has("num", 2) else 50]

    def dot(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.dot` of vectors and matrices; of arrays of more axes it is no product of matrices."""
        operands = {"x": given.only({"out"}).one("a", 0), "y": given.one("b", 1)}
        ranks = [len(one) for one in map(self.sizes, operands.values()) if one]
        return self._by_op("matmul", operands) if len(ranks) == 2 and max(ranks) <= 2 else None

    def take_along_axis(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.take_along_axis(x, indices, axis)`, which broadcasts all other axes."""
        x, indices = self.sizes(given.one("arr", 0)), self.sizes(given.one("indices", 1))
        axis = self.value(given.one("axis", 2)) if given.has("axis", 2) else -1
        if x is None or indices is None or len(x) != len(indices) or not isinstance(axis, int):
            return None
        axis %= len(x)
        others = [(*sizes[:axis], 1, *sizes[axis + 1 :]) for sizes in (x, indices)]
        joined = broadcast(x=others[0], y=others[1])
        return [*joined[:axis], indices[axis], *joined[axis + 1 :]]

    def meshgrid(self, given: _Given) -> list[_Sizes | None] | None:
        """Return the sizes of the arrays of `np.meshgrid(x, y)`, of which each has one axis for each array."""
        arrays = [self.sizes(one) for one in given.only({"sparse"}).positional]
        whole = [product(one) for one in arrays if one is not None]
        if not given.has("indexing", len(arrays)):
            whole[:2] = whole[1::-1]
        elif self.value(given.one("indexing", len(arrays))) != "ij":
            return None
        if len(whole) < len(arrays):
            return None
        return [whole] * len(whole)

    def tril_indices(self, given: _Given) -> list[_Sizes | None]:
        """Return the sizes of the rows and the columns of `np.tril_indices(n, k)`."""
        n, k, m = self._triangle(given)
        return [[_below(n, k + 1, m)]] * 2

    def triu_indices(self, given: _Given) -> list[_Sizes | None]:
        """Return the sizes of the rows and the columns of `np.triu_indices(n, k)`."""
        n, k, m = self._triangle(given)
        return [[n * m - _below(n, k, m)]] * 2

    def _triangle(self, given: _Given) -> tuple[int, int, int]:
        """Return the rows, the diagonal and the columns of a triangle.

        Raises:
            _UnreadError: One of them is no known number.
        """
        n = self.value(given.one("n", 0))
        k = self.value(given.one("k", 1)) if given.has("k", 1) else 0
        m = self.value(given.one("m", 2)) if given.has("m", 2) else n
        if not isinstance(n, int) or not isinstance(k, int) or not isinstance(m, int):
            raise _UnreadError
        return n, k, m

    def digitize(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.digitize(x, bins)`."""
        return self.sizes(given.one("x", 0))

    def vstack(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.vstack`, which joins along axis 0; vectors are rows."""
        return self._joined(given, lambda sizes: [1, *sizes] if len(sizes) == 1 else sizes, axis=0)

    def hstack(self, given: _Given) -> _Sizes | None:
        """Return the sizes of `np.hstack`, which joins along axis 1, and vectors along their only axis."""
        return self._joined(given, lambda sizes: sizes, axis=1)

    def _joined(self, given: _Given, shaped: Callable[[_Sizes], _Sizes], axis: int) -> _Sizes | None:
        found = self._arrays(given.one("tup", 0)) or []
        known = [shaped(one) for one in found if one]
        if not known or len(known) < len(found) or len({len(one) for one in known}) > 1:
            return None
        axis = min(axis, len(known[0]) - 1)
        total = reduce(lambda n, m: n + m, (one[axis] for one in known))
        others = _common([[*one[:axis], 0, *one[axis + 1 :]] for one in known])
        return None if others is None else [total if place == axis else one for place, one in enumerate(others)]


_SEVERAL: Final[dict[str, Callable[[_Reader, _Given], list[_Sizes | None] | None]]] = {
    "meshgrid": _Reader.meshgrid,
    "tril_indices": _Reader.tril_indices,
    "triu_indices": _Reader.triu_indices,
}
_FUNCTIONS: Final[dict[str, Callable[[_Reader, _Given], _Sizes | None]]] = {
    "arange": _Reader.arange,
    "digitize": _Reader.digitize,
    "dot": _Reader.dot,
    "eye": _Reader.eye,
    "hstack": _Reader.hstack,
    "identity": _Reader.identity,
    "linspace": _Reader.linspace,
    "take_along_axis": _Reader.take_along_axis,
    "vstack": _Reader.vstack,
}


class _Given:
    """The arguments of a call of NumPy, by position and by name.

    Raises:
        _UnreadError: An argument has a star.
    """

    def __init__(self, call: CallExpr) -> None:
        if not {*call.arg_kinds} <= {ARG_POS, ARG_NAMED}:
            raise _UnreadError
        pairs = list(zip(call.arg_names, call.args, strict=True))
        self.positional = [value for name, value in pairs if name is None]
        self.named = {name: value for name, value in pairs if name is not None}

    @property
    def names(self) -> frozenset[str]:
        """The names of the keyword arguments."""
        return frozenset(self.named)

    def has(self, name: str, position: int) -> bool:
        """Return whether a parameter is given."""
        return name in self.named or position < len(self.positional)

    def one(self, name: str, position: int) -> Expression:
        """Return the argument for a parameter.

        Raises:
            _UnreadError: It is left out.
        """
        if not self.has(name, position):
            raise _UnreadError
        return self.named[name] if name in self.named else self.positional[position]

    def only(self, others: set[str]) -> _Given:
        """Return the same arguments.

        Raises:
            _UnreadError: One of the other parameters is given by name.
        """
        if self.names & others:
            raise _UnreadError
        return self

    def after(self, receiver: Expression) -> _Given:
        """Return the arguments of the function that a method is: the receiver comes first."""
        self.positional.insert(0, receiver)
        return self


def _plain(items: list[Any] | None) -> _Sizes | None:
    """Return sizes without a star among them; None for an unknown rank, or for several results."""
    if items is None or is_several(items) or any(isinstance(one, Many) for one in items):
        return None
    return items


def _below(n: int, k: int, m: int) -> int:
    """Return how many elements of a matrix (n, m) are less than k columns behind the diagonal."""
    return sum(min(max(row + k, 0), m) for row in range(n))


def _common(several: list[_Sizes | None]) -> _Sizes | None:
    """Return the sizes that all of several arrays have, unknown where they differ."""
    known = [one for one in several if one is not None]
    if not known or len(known) < len(several) or len({len(one) for one in known}) > 1:
        return None
    return [
        sizes[0] if all(surely_same(one, sizes[0]) for one in sizes) else UNKNOWN for sizes in zip(*known, strict=True)
    ]


def _reshapes_in_place(file: Node | None) -> bool:
    """Return whether a file may change the shape of an array in place, so that no variable keeps its own."""
    for node in nodes_in.of(file):
        if isinstance(node, CallExpr) and isinstance(node.callee, MemberExpr) and node.callee.name == "resize":
            return True
        for target in targets_in(getattr(node, "lvalues", None) or getattr(node, "lvalue", None)):
            if isinstance(target, MemberExpr) and target.name in ("shape", "strides", "dtype"):
                owner = target.expr
                if not isinstance(owner, NameExpr) or owner.name != "self":  # a class's own attribute
                    return True
    return False


_reshapes = ScopeCache(_reshapes_in_place)

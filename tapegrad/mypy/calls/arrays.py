"""Sizes of NumPy's arrays, read from the expressions that made them, where an array is an argument of a call.

NumPy's stubs type the rank of some arrays and the sizes of none. mypy keeps their types, so that a program that only
uses NumPy is checked as before; an array that becomes a tensor has the sizes that its expression gives it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_STAR,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
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
    StrExpr,
    TempNode,
    TupleExpr,
    TypeAlias,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, TupleType, UnionType, get_proper_type

from tapegrad.errors.numpy_functions import below_numpy, call_of
from tapegrad.mypy.calls.array_arguments import DEEPEST, ERRORS
from tapegrad.mypy.calls.array_elements import ElementReader
from tapegrad.mypy.calls.array_sizes import Given, common
from tapegrad.mypy.calls.array_types import (
    array_of_type,
    is_array,
    is_known,
    may_have_array_type,
    plain_sizes,
    sizes_of_type,
    with_given_sizes,
)
from tapegrad.mypy.calls.array_windows import window_length
from tapegrad.mypy.calls.data_sets import loaded_pair
from tapegrad.mypy.calls.several_arrays import INDEXED, SEVERAL, open_grids
from tapegrad.mypy.conversion import ARRAY, shape_items, shape_type, tensor_parts, unknown
from tapegrad.mypy.mypy_api import make, silenced, stored_type
from tapegrad.mypy.scopes.entries import entry_of, is_number
from tapegrad.mypy.scopes.file_contents import loop_of
from tapegrad.mypy.scopes.frames import Arrays
from tapegrad.mypy.scopes.items import MOST_ITEMS
from tapegrad.mypy.scopes.names import bound_last, bound_once
from tapegrad.mypy.scopes.objects import value_of_expression
from tapegrad.mypy.scopes.readings import read_once
from tapegrad.mypy.scopes.values import size_value
from tapegrad.mypy.unify.arguments import numbers_in, operand_shape
from tapegrad.sizes import UNKNOWN, is_unknown

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext
    from mypy.types import ProperType, Type

    from tapegrad.mypy.calls.array_sizes import Sizes
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.unify.arguments import Argument
    from tapegrad.sizes import Size

_OPERATORS: Final = {
    "@": "matmul",
    **dict.fromkeys(["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"], "add"),
}
_COMPARISONS: Final = frozenset(["==", "!=", "<", "<=", ">", ">="])


def with_array_sizes(
    arguments: dict[str, list[Argument]], ctx: FunctionContext | MethodContext
) -> dict[str, list[Argument]]:
    """Return the arguments of a call; the type of an array has the sizes that its expression gives it."""
    if not any(is_array(one.type) for one in chain.from_iterable(arguments.values())):
        return arguments
    return {name: [_refined(one, ctx) for one in actuals] for name, actuals in arguments.items()}


def with_starred_arrays(ctx: FunctionContext | MethodContext) -> FunctionContext | MethodContext:
    """Return the context of a call, where `*pair` gives the arrays in a tuple the sizes that its expression says."""
    if not any(kind is ARG_STAR for kind in chain.from_iterable(ctx.arg_kinds)):
        return ctx
    types = [
        [
            with_sizes(t, one, ctx.api) if kind is ARG_STAR else t
            for t, one, kind in zip(types, several, kinds, strict=True)
        ]
        for types, several, kinds in zip(ctx.arg_types, ctx.args, ctx.arg_kinds, strict=True)
    ]
    return ctx._replace(arg_types=types)


def with_sizes(t: Type, expression: Expression, api: Checker) -> Type:
    """Return the type of an array, or of a tuple with arrays, with the sizes that its expression gives it."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and isinstance(expression, TupleExpr) and len(p.items) == len(expression.items):
        pairs = zip(p.items, expression.items, strict=True)
        return p.copy_modified(items=[with_sizes(one, item, api) for one, item in pairs])
    if isinstance(p, TupleType) and any(map(is_array, p.items)):
        with silenced(api):
            several = ArrayReader(api).arrays(expression) or []
        if len(several) == len(p.items):
            return p.copy_modified(items=[_with_more(one, of, api) for one, of in zip(p.items, several, strict=True)])
    array = array_of_type(p)
    if isinstance(p, UnionType) and any(map(is_array, p.items)):  # also a number or Any, as that of `sum(arrays)`
        with silenced(api):
            sizes = ArrayReader(api).sizes(expression)
        return with_sizes(next(filter(is_array, p.items)), expression, api) if sizes else t
    if array is None or is_known(array):
        return t
    with silenced(api):
        sizes, scalar = ArrayReader(api).sizes(expression), ArrayReader(api).scalar(expression)
    if scalar is not None:
        array = array.copy_modified(args=[array.args[0], make(api)("numpy.dtype", [scalar])])
    return array if sizes is None else with_given_sizes(array, sizes, api)


def rows_of(t: Type, expression: Expression, api: Checker) -> list[Type] | None:
    """Return the types of the rows of an array that is unpacked; None for other types and unknown numbers of rows."""
    array = array_of_type(with_sizes(t, expression, api))
    sizes = sizes_of_type(array) or []
    if array is None or len(sizes) < 2 or not isinstance(sizes[0], int) or sizes[0] > MOST_ITEMS:
        return None
    return [with_given_sizes(array, sizes[1:], api)] * sizes[0]


def _with_more(t: Type, sizes: Sizes | None, api: Checker) -> Type:
    """Return the type of an array with its sizes, if it does not say them."""
    array = array_of_type(t)
    return t if array is None or sizes is None or is_known(array) else with_given_sizes(array, sizes, api)


def attribute_of_scalar(ctx: AttributeContext) -> Type:
    """Return the type of `x.shape`, `x.ndim` or `x.size` after `x = np.float32(y)`, which is an array if `y` is one."""
    attribute = ctx.context
    with silenced(ctx.api):
        is_number = isinstance(attribute, MemberExpr) and ArrayReader(ctx.api).sizes(attribute.expr) == []
    if is_number or not isinstance(attribute, MemberExpr):
        return ctx.default_attr_type
    size = make(ctx.api)("builtins.int", [])
    return make(ctx.api)("builtins.tuple", [size]) if attribute.name == "shape" else size


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


def _refined(argument: Argument, ctx: FunctionContext | MethodContext) -> Argument:
    array = array_of_type(argument.type)
    if array is None or is_known(array):
        return argument
    written = argument.expression
    if isinstance(written, TempNode) and isinstance(ctx.context, OpExpr):  # the array of `array * x`
        written = ctx.context.left
        if array_of_type(stored_type(ctx.api, written)) is None:
            return argument
    if written is None:
        return argument
    with silenced(ctx.api):
        sizes, scalar = ArrayReader(ctx.api).sizes(written), ArrayReader(ctx.api).scalar(written)
    if scalar is not None:
        array = array.copy_modified(args=[array.args[0], make(ctx.api)("numpy.dtype", [scalar])])
    return argument._replace(type=with_given_sizes(array, sizes, ctx.api) if sizes else array)


def sizes_of_array(argument: Argument, api: Checker) -> list[Size] | None:
    """Return the sizes of an array, which may have the type Any, as `np.exp(x)` has; None if it may be no array."""
    if argument.expression is None:
        return None
    with silenced(api):
        return ArrayReader(api).sizes(argument.expression)


def scalar_of_array(argument: Argument, api: Checker) -> Type | None:
    """Return the type of the elements of an array by its expression; None if it is not known."""
    if argument.expression is None:
        return None
    with silenced(api):
        return ArrayReader(api).scalar(argument.expression)


def _sizes_of(expression: Expression, api: Checker) -> Sizes | None:
    with silenced(api):
        return ArrayReader(api).sizes(expression)


def _type_computed(expression: Expression, api: Checker) -> Type | None:
    """Return the type of an array that mypy takes for Any, such as `x.mean(axis=0)`; None if it may be a number."""
    with silenced(api):
        sizes, scalar = ArrayReader(api).sizes(expression), ArrayReader(api).scalar(expression)
    of = make(api)
    dtype = of("numpy.dtype", [scalar if scalar is not None else unknown()])
    return of(ARRAY, [shape_type(tuple(sizes), of), dtype]) if sizes else None


Arrays.sizes = _sizes_of
Arrays.type_computed = _type_computed
Arrays.with_sizes = with_sizes


class ArrayReader(ElementReader):
    """Reads the sizes of arrays from expressions; None stands for an unknown rank."""

    def sizes(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array, by its type and by its expression; of a number, none."""
        t = stored_type(self._api, expression)
        if t is None or self._depth > DEEPEST:
            return None
        p = get_proper_type(t)
        parts = tensor_parts(p)
        if parts is not None:
            return plain_sizes(operand_shape(p, parts))
        if numbers_in(p):
            return self._of_number(expression, p)
        if isinstance(p, AnyType) and self._is_number(p, expression):
            return []
        array = array_of_type(p)
        if array is None and not may_have_array_type(p):
            return None
        by_type = None if array is None else plain_sizes(shape_items(array.args[0])) or None
        if array is not None and is_known(array):
            return by_type
        found = read_once(self._read_deeper, "sizes", expression)
        if found is None or by_type is None:
            return by_type if found is None else found
        if len(found) != len(by_type):
            return None  # mypy, or NumPy's stubs, are wrong about one of them
        return [one if is_unknown(typed) else typed for one, typed in zip(found, by_type, strict=True)]

    def _read_deeper(self, expression: Expression) -> Sizes | None:
        self._depth += 1
        try:
            return self._read(expression)
        except ERRORS:
            return None  # what NumPy rejects has no sizes either
        finally:
            self._depth -= 1

    def with_sizes(self, t: Type, expression: Expression) -> Type:
        """Return the type of an array, or of a tuple with arrays, with the sizes that its expression gives it."""
        return with_sizes(t, expression, self._api)

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
        except ERRORS:
            found = None
        types = [stored_type(self._api, one) for one in (*call.args, *_receivers(call))]
        return [] if found is None and not any(one is None or may_have_array_type(one) for one in types) else found

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
            case IndexExpr(base=base, index=StrExpr() | NameExpr() as key) if entry := entry_of(base, key, self._api):
                return [] if is_number(entry) else sizes_of_type(entry)
            case IndexExpr(base=base, index=SliceExpr() as part) if (of := self.sizes(base)) and (
                length := window_length(base, part, of[0], self._api)
            ) is not None:
                return [length, *of[1:]]
            case IndexExpr(base=base, index=index):
                return self.by_op("getitem", {"x": base, "index": index})
            case MemberExpr(name="T" | "mT" as name, expr=operand):
                return self.by_op("transpose" if name == "T" else "matrix_transpose", {"x": operand})
            case MemberExpr(name="real" | "imag", expr=owner) if (sizes := self.sizes(owner)) is not None:
                return sizes
            case MemberExpr():
                return self._of_attribute(expression)
            case ConditionalExpr():
                return common([self.sizes(one) for one in self._chosen(expression)])
        return None

    def arrays(self, expression: Expression) -> list[Sizes | None] | None:
        """Return the sizes of each array in a list or a tuple; None if it is not known how many there are."""
        match self._value_of_list(expression):
            case ListExpr(items=items) | TupleExpr(items=items):
                return self._written_arrays(items)
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
            case IndexExpr(base=rows, index=index) if not isinstance(index, SliceExpr | StrExpr | TupleExpr):
                return self._parts_of_item(rows)
            case NameExpr(node=Var() as variable) if (loop := loop_of(variable, self._api)) is not None:
                return self._common_parts(loop.sequence) if isinstance(loop.target, NameExpr) else None
            case CallExpr() as call if loaded := loaded_pair(call, self._api):
                return [[*one.sizes] for one in loaded]
            case CallExpr() as call if isinstance(t := self._returned(call), TupleType):
                return list(map(sizes_of_type, t.items))
        return None

"""Operations and calls that return arrays: NumPy's functions, methods of arrays, and functions of the program.

The sizes of most are computed by the rule of an op of tapegrad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    CallExpr,
    ComparisonExpr,
    IndexExpr,
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
from mypy.types import AnyType, Instance, NoneType, TupleType, get_proper_type

from tapegrad.errors.numpy_functions import UFUNCS, below_numpy, call_of
from tapegrad.mypy.calls.array_functions import FOURIER, FUNCTIONS
from tapegrad.mypy.calls.array_lists import ListReader
from tapegrad.mypy.calls.array_sizes import Given, broadcasted, common
from tapegrad.mypy.calls.array_types import array_of_type, may_have_array_type, plain_sizes
from tapegrad.mypy.calls.drawn_arrays import drawn
from tapegrad.mypy.conversion import shape_items, shape_type, unknown
from tapegrad.mypy.mypy_api import declared_function, make, stored_type
from tapegrad.mypy.rules.calls import is_several, ruled
from tapegrad.mypy.rules.library import op_named
from tapegrad.mypy.scopes.called_functions import called_function
from tapegrad.mypy.scopes.names import bound_once
from tapegrad.mypy.scopes.readings import read_once
from tapegrad.mypy.signatures import signature_of
from tapegrad.mypy.unify.arguments import Argument, numbers_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy.nodes import Expression
    from mypy.types import ProperType, Type

    from tapegrad.errors.numpy_functions import Call
    from tapegrad.mypy.calls.array_sizes import Several, Sizes
    from tapegrad.mypy.mypy_api import Checker

# Options of NumPy's functions that change no shape.
_HARMLESS: Final = frozenset(
    ["casting", "copy", "device", "dtype", "initial", "kind", "like", "order", "out", "stable", "subok", "where"]
)
_CREATED: Final = frozenset(["zeros", "ones", "empty", "full"])
COPIED: Final = frozenset(["array", "asanyarray", "asarray", "copy"])
_OTHER_NAMES: Final = {"permute_dims": "transpose"}
# NumPy's ufuncs that compute each element alone, by the names of their types, with the number of their operands.
_UFUNCS: Final = {"_UFunc_Nin1_Nout1": 1, "_UFunc_Nin2_Nout1": 2}
_KINDS: Final = {"builtins.int": "i", "builtins.bool": "b"}
_SAME_METHODS: Final = frozenset(["astype", "clip", "conj", "conjugate", "copy", "round"])
# Methods of arrays that are NumPy's functions of that name, with the array as the first argument.
_METHODS: Final = frozenset(
    [
        *("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min"),
        *("prod", "ravel", "repeat", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"),
    ]
)
GENERATORS: Final = ("numpy.random._generator.Generator", "numpy.random.mtrand.RandomState")
_DRAWS: Final = "numpy.random.mtrand."


class Bodies:
    """How the bodies of functions of the program are read, which return arrays and tensors.

    Attributes:
        result: Returns the type of what a call returns, with the types of its arguments; None if it is not known.
        of_property: Returns the type of a property of an object, by its name; None if it is not known.
    """

    result: Callable[[CallExpr, list[Type], Checker], Type | None]
    of_property: Callable[[Expression, str, Checker], Type | None]


class CallReader(ListReader):
    """Reads operations and calls that return arrays."""

    def by_op(self, name: str, given: Mapping[str, Expression], *starred: Expression) -> Sizes | None:
        """Return the sizes that the rule of an op computes; None if an argument is not known well enough."""
        return plain_sizes(self._ruled(name, given, *starred))

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

    def _results(self, known: Call, given: Given) -> Several | None:
        """Return the sizes of the results of an op that returns several tensors, such as `np.linalg.svd`."""
        arguments = self._arguments_of(known, given)
        answer = None if arguments is None else self._ruled(known.op, arguments)
        if answer is None or not is_several(answer):
            return None
        return [plain_sizes(list(one)) if isinstance(one, tuple) else None for one in answer]

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
        if isinstance(part, ListExpr) or not may_have_array_type(p):
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
            case CallExpr(callee=RefExpr(fullname=name), args=[data]) if below_numpy(name) in COPIED:
                return self._kind(data)
            case CallExpr(callee=RefExpr(fullname=name)) as call if below_numpy(name) in COPIED | _CREATED:
                dtype = Given(call).one("dtype", 2 if below_numpy(name) == "full" else 1)
                return _KINDS.get(getattr(dtype, "fullname", ""), "")
            case ListExpr(items=[_, *_] as items) | TupleExpr(items=[_, *_] as items):
                kinds = set(map(self._kind, items))
                return kinds.pop() if len(kinds) == 1 else ""
        names = {one.type.fullname for one in numbers_in(self._type_of(expression))}
        return _KINDS.get(names.pop(), "") if len(names) == 1 else ""

    def _item(self, whole: Expression, position: int) -> Type | None:
        """Return the type of an item of a tuple that a function of the program returns."""
        t = self._returned(whole) if isinstance(whole, CallExpr) else None
        items = t.items if isinstance(t, TupleType) else []
        return items[position] if position < len(items) else None

    def _returned(self, call: CallExpr) -> ProperType | None:
        """Return the type of what a call of a function of the program returns; None if its body is not read."""
        found: ProperType | None = read_once(self._newly_returned, "returned", call)
        return found

    def _newly_returned(self, call: Expression) -> ProperType | None:
        if not isinstance(call, CallExpr) or called_function(call.callee, self._api) is None:
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
        return self._array_of(sizes) if sizes else self.with_sizes(t, argument)

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
        returned = array_of_type(self._returned(call))
        if returned is not None:
            return plain_sizes(shape_items(returned.args[0]))
        if isinstance(callee, RefExpr) and callee.fullname == "builtins.abs" and len(call.args) == 1:
            return self.sizes(call.args[0])
        if isinstance(callee, RefExpr) and callee.fullname == "builtins.sum" and len(call.args) == 1:
            return self._of_sum(call.args[0])
        if not isinstance(callee, MemberExpr):
            return None
        if isinstance(callee.expr, RefExpr) and isinstance(callee.expr.node, Var) and below_numpy(callee.expr.fullname):
            return self._of_ufunc_method(callee.name, Given(call))
        owner = stored_type(self._api, callee.expr)
        p = None if owner is None else get_proper_type(owner)
        if isinstance(p, Instance) and p.type.fullname in GENERATORS:
            return drawn(self, Given(call), callee.name)
        # Of an expression of type Any, only what is known to be an array has the methods of one.
        if array_of_type(p) is None and self.sizes(callee.expr) is None:
            return None
        return self._of_method(call, callee.name, callee.expr)

    def _of_sum(self, arrays: Expression) -> Sizes | None:
        """Return the sizes of `sum(arrays)`: those that all of them have, which are broadcast together."""
        return common(self.arrays(arrays) or [])

    def _of_function(self, call: CallExpr, name: str, *, is_ufunc: bool) -> Sizes | None:
        given = Given(call)
        if name in _CREATED:
            return self.shape(given.one("shape", 0))
        if name == "ascontiguousarray":
            return self.alike(given.one("a", 0)) or [1]
        if name in COPIED:
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

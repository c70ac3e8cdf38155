"""Types of the elements of arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_POS,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    FloatExpr,
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
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import Instance, get_proper_type

from tapegrad.errors.numpy_functions import below_numpy
from tapegrad.mypy.calls.array_arguments import DEEPEST
from tapegrad.mypy.calls.array_calls import COPIED, GENERATORS
from tapegrad.mypy.calls.array_sizes import Given, UnreadError
from tapegrad.mypy.calls.array_types import are_whole, is_array, is_vague, scalar_type_of
from tapegrad.mypy.calls.array_variables import VariableReader, reshapes
from tapegrad.mypy.calls.data_sets import loaded_field, loaded_pair
from tapegrad.mypy.calls.several_arrays import SPLITTING
from tapegrad.mypy.conversion import unknown
from tapegrad.mypy.mypy_api import attribute_variable, checked_file, depend_on_bodies, scalar_type, stored_type
from tapegrad.mypy.scopes.assigned import assigned_by_methods
from tapegrad.mypy.scopes.collections import Use, use_of
from tapegrad.mypy.scopes.entries import entry_of, is_number
from tapegrad.mypy.scopes.file_contents import loop_of
from tapegrad.mypy.scopes.frames import key_of
from tapegrad.mypy.scopes.names import EACH, bound_last, bound_once, unpacked_once, values_assigned
from tapegrad.mypy.scopes.objects import object_of, value_of_expression
from tapegrad.mypy.scopes.readings import read_once, reading_again

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mypy.nodes import Expression, SymbolNode
    from mypy.types import Type

_JOINING: Final = frozenset(["concatenate", "hstack", "stack", "vstack"])
_FILLED: Final = frozenset(["empty", "ones", "zeros"])  # with a dtype as the second parameter
_KEEPING_ELEMENTS: Final = frozenset(
    ["copy", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "transpose"]
)
# NumPy's functions whose results have the elements of their first argument, by the name of that parameter.
_KEEPING_FUNCTIONS: Final = {
    **dict.fromkeys(["expand_dims", "moveaxis", "repeat", "ravel", "reshape", "roll", "rollaxis", "rot90"], "a"),
    **dict.fromkeys(["sort", "squeeze", "swapaxes", "take", "take_along_axis", "transpose"], "a"),
    **dict.fromkeys(["diagonal", "partition", "resize", "unique"], "a"),
    **dict.fromkeys(["flip", "fliplr", "flipud", "tril", "triu"], "m"),
    **dict.fromkeys(["broadcast_to", "pad"], "array"),
    "tile": "A",
}
_INDICES: Final = frozenset(["argmax", "argmin", "argpartition", "argsort", "bincount", "digitize", "searchsorted"])
_REDUCING: Final = frozenset(["max", "mean", "min", "prod", "std", "sum", "var"])
# NumPy's functions of each element that return floats of the dtype of their arguments.
_FLOATING: Final = frozenset(
    [
        *("abs", "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos"),
        *("cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "fabs", "floor", "log", "log10", "log1p", "log2"),
        *("negative", "positive", "rad2deg", "radians", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt"),
        *("square", "tan", "tanh", "trunc"),
    ]
)
_FLOATING_OF_TWO: Final = frozenset(
    [
        *("add", "arctan2", "copysign", "divide", "floor_divide", "fmax", "fmin", "fmod", "hypot", "logaddexp"),
        *("maximum", "minimum", "mod", "multiply", "power", "remainder", "subtract", "true_divide"),
    ]
)
_COMPUTING: Final = frozenset(["mean", "prod", "std", "sum", "var"])  # those of them that take a dtype
_DRAWN_DTYPES: Final = {
    **dict.fromkeys(("binomial", "geometric", "hypergeometric", "integers", "logseries", "poisson", "zipf"), "int64"),
    **dict.fromkeys(("beta", "chisquare", "dirichlet", "exponential", "f", "gamma", "gumbel", "laplace"), "float64"),
    **dict.fromkeys(("logistic", "lognormal", "multivariate_normal", "normal", "pareto", "power"), "float64"),
    **dict.fromkeys(("random", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma"), "float64"),
    **dict.fromkeys(("standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald"), "float64"),
    "weibull": "float64",
}
_OF_PYTHON: Final = {"builtins.bool": "bool", "builtins.float": "float64", "builtins.int": "int64"}
# Of methods that take a dtype.
_DTYPE_PLACES: Final = {
    **dict.fromkeys(("random", "standard_exponential", "standard_normal"), 1),
    "standard_gamma": 2,
    "integers": 3,
}


class ElementReader(VariableReader):
    """Reads the types of the elements of arrays."""

    def scalar(self, expression: Expression) -> Type | None:
        """Return the type of the elements of an array, also of one that keeps those of other arrays.

        It is Any where NumPy's stubs say more than is known.
        """
        known = scalar_type_of(stored_type(self._api, expression))
        if self._depth > DEEPEST:
            return known
        is_guessed = known is not None and read_once(self._is_guessed, "guessed", expression)
        if not is_guessed and not is_vague(known):
            return known
        return read_once(self._scalar_deeper, "scalar", expression) or (unknown() if is_guessed else known)

    def _is_guessed(self, expression: Expression) -> bool:
        """Return whether NumPy's stubs choose a type of elements although that of an operand is not known.

        They say float64 of `2.0 * np.exp(x)`, whose elements are float32 if those of x are, and of `x / 255`.
        """
        match expression:
            case OpExpr(op="/", left=left, right=right) if self._is_whole(left) != self._is_whole(right):
                return True
            case OpExpr(op="+" | "-" | "*" | "/" | "**" | "//" | "%" | "@", left=left, right=right):
                return any(self._has_unknown_elements(one) or self._is_guessed(one) for one in (left, right))
            case UnaryExpr(expr=of) | IndexExpr(base=of) | MemberExpr(name="T", expr=of):
                return self._is_guessed(of)
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _KEEPING_ELEMENTS:
                return self._is_guessed(of)
            case CallExpr(callee=MemberExpr(name=name, expr=of), args=arguments, arg_names=names) if (
                name in _REDUCING and len(arguments) < 2 and "dtype" not in names
            ):
                return self._is_guessed(of)
            case CallExpr(callee=RefExpr(fullname=name), args=arguments) if below_numpy(name) in _JOINING:
                match arguments[:1]:
                    case [ListExpr(items=items) | TupleExpr(items=items)]:
                        return any(map(self._is_guessed, items))
            case CallExpr(callee=RefExpr(fullname=name), args=arguments) if (
                below_numpy(name) in _FLOATING | _FLOATING_OF_TWO
            ):
                return any(map(self._is_guessed, arguments))
            case NameExpr(node=Var(is_inferred=True) as variable) if self._depth < DEEPEST:
                self._depth += 1
                try:
                    return any(map(self._is_guessed, self._values_of_name(expression, variable)))
                finally:
                    self._depth -= 1
            case MemberExpr(expr=owner, name=name) if self._depth < DEEPEST:
                self._depth += 1
                try:
                    return any(one.value for one in assigned_by_methods(owner, name, self._is_guessed_in, self._api))
                finally:
                    self._depth -= 1
        return False

    def _values_of_name(self, name: NameExpr, variable: Var) -> list[Expression]:
        """Return the values that a variable may have where it stands."""
        value, is_once = bound_once(variable, self._api)
        if value is not None or not is_once:
            return bound_last(name, self._api) if value is None else [value]
        whole, position = unpacked_once(variable, self._api) or (None, 0)
        return [whole.items[position]] if isinstance(whole, TupleExpr) and position < len(whole.items) else []

    def _is_guessed_in(self, value: Expression, position: int | None) -> bool | None:
        return self._is_guessed(value) if position is None else None

    def _is_whole(self, expression: Expression) -> bool:
        """Return whether an expression is a whole number of Python."""
        p = get_proper_type(stored_type(self._api, expression))
        return isinstance(p, Instance) and p.type.fullname in ("builtins.int", "builtins.bool")

    def _has_unknown_elements(self, expression: Expression) -> bool:
        t = get_proper_type(stored_type(self._api, expression))
        return isinstance(t, Instance) and is_array(t) and scalar_type_of(t) is None

    def _scalar_deeper(self, expression: Expression) -> Type | None:
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
                if (loop := loop_of(variable, self._api)) is not None:
                    return self._scalar_of_loop(variable, loop.target, loop.sequence)
                value, is_once = bound_once(variable, self._api)
                if value is not None:
                    return self.scalar(value)
                if not is_once and (values := bound_last(expression, self._api)):
                    return self._common_scalar(values)
                if not is_once:
                    return self._scalar_of_any_binding(variable)
                if (unpacked := unpacked_once(variable, self._api)) is not None:
                    return self._scalar_of_item(*unpacked)
                return scalar_type_of(self._given_to(variable))
            case MemberExpr() if (loaded := loaded_field(expression, self._api)) is not None and not reshapes.of(
                checked_file(self._api)
            ):
                return scalar_type(self._api, loaded.dtype)
            case MemberExpr(name="T" | "mT", expr=of) if self._is_array(of):
                return self.scalar(of)
            case MemberExpr():
                return self._scalar_of_attribute(expression)
            case OpExpr(op="/", left=left, right=right) if self._is_whole(left) != self._is_whole(right):
                whole = scalar_type_of(stored_type(self._api, right if self._is_whole(left) else left))
                is_of_whole = isinstance(p := get_proper_type(whole), Instance) and p.type.has_base("numpy.integer")
                return scalar_type(self._api, "float64") if is_of_whole else self._scalar_of_two(left, right)
            case OpExpr(op="+" | "-" | "*" | "/" | "**" | "//" | "%" | "@" as sign, left=left, right=right):
                found = self._scalar_of_two(left, right)
                return self._scalar_of_whole(sign, left, right) if found is None else found
            case UnaryExpr(op="+" | "-", expr=of):
                return _if_inexact(self.scalar(of))
            case CallExpr(callee=RefExpr(fullname=name), args=[of], arg_kinds=[kind]) if (
                below_numpy(name) in _FLOATING and kind is ARG_POS
            ):
                return _if_floating(self.scalar(of))
            case CallExpr(callee=RefExpr(fullname=name), args=[left, right], arg_kinds=[first, second]) if (
                below_numpy(name) in _FLOATING_OF_TWO and first is second is ARG_POS
            ):
                return _if_floating(self._scalar_of_two(left, right))
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _REDUCING and self._is_array(of):
                given = Given(expression)
                if not given.has("dtype", 1):
                    return _if_inexact(self.scalar(of))
                dtype = given.one("dtype", 1) if name in _COMPUTING else None
                return scalar_type(self._api, below_numpy(getattr(dtype, "fullname", "")))
            case CallExpr(callee=RefExpr(fullname=name), args=[_, left, right]) if below_numpy(name) == "where":
                are_floats = isinstance(left, FloatExpr) and isinstance(right, FloatExpr)
                return scalar_type(self._api, "float64") if are_floats else self._scalar_of_two(left, right)
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _JOINING:
                arrays = Given(expression).only({"dtype"}).one("arrays", 0)
                return self._scalar_of_items(arrays)
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _FILLED:
                given = Given(expression)
                if not given.has("dtype", 1):
                    return scalar_type(self._api, "float64")
                return self._scalar_named(given.one("dtype", 1))
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) == "full":
                given = Given(expression)
                if not given.has("dtype", 2):
                    return self._scalar_of_value(given.one("fill_value", 1))
                return self._scalar_named(given.one("dtype", 2))
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _KEEPING_FUNCTIONS:
                given = Given(expression).only({"return_counts", "return_index", "return_inverse"})
                of = given.one(_KEEPING_FUNCTIONS[below_numpy(name)], 0)
                is_one = below_numpy(name) != "unique" or len(given.positional) < 2  # and not a tuple with indices
                return self.scalar(of) if is_one and self._is_array(of) else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in _INDICES:
                is_weighted = Given(expression).has("weights", 1) and below_numpy(name) == "bincount"
                return scalar_type(self._api, "float64" if is_weighted else "int64")
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) == "arange":
                given = Given(expression)
                if "dtype" in given.names:
                    return self._scalar_named(given.named["dtype"])
                are_all_whole = all(map(self._is_whole, given.positional)) and given.positional and not given.names
                return scalar_type(self._api, "int64") if are_all_whole and len(given.positional) < 4 else None
            case CallExpr(callee=RefExpr(fullname=name)) if below_numpy(name) in COPIED - {"copy"}:
                data = Given(expression).only({"dtype"}).one("object" if below_numpy(name) == "array" else "a", 0)
                return None if Given(expression).has("dtype", 1) else self._scalar_of_data(data)
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _KEEPING_ELEMENTS and self._is_array(of):
                return self.scalar(of)
            case CallExpr(callee=MemberExpr(name="astype", expr=of), args=[RefExpr(fullname=name), *_]) if (
                self.sizes(of) is not None  # an array, and not of another library
            ):
                return scalar_type(self._api, below_numpy(name))
            case CallExpr(callee=MemberExpr(name=name, expr=of)) if name in _DRAWN_DTYPES and self._is_generator(of):
                # With an argument of type Any, such as `options["batch"]`, mypy infers Any.
                is_given = Given(expression).has("dtype", _DTYPE_PLACES.get(name, sys.maxsize))
                return None if is_given else scalar_type(self._api, _DRAWN_DTYPES[name])
            case CallExpr(callee=MemberExpr(name="permuted", expr=of), args=[x, *_]) if self._is_generator(of):
                return self.scalar(x) if self._is_array(x) else None
            case CallExpr(callee=MemberExpr(name="argmax" | "argmin" | "argsort", expr=of)) if self._is_array(of):
                return scalar_type(self._api, "int64")
            case CallExpr(callee=MemberExpr(name="choice" | "permutation", expr=of), args=[x, *_]) if (
                self._is_generator(of)
            ):
                return scalar_type(self._api, "int64") if self.sizes(x) == [] else self._scalar_of_data(x)
            case CallExpr():
                return scalar_type_of(self._returned(expression))
            case ComparisonExpr(operators=["<" | "<=" | ">" | ">=" | "==" | "!="]) if self.sizes(expression):
                return scalar_type(self._api, "bool")  # of an array and a number of type Any
            case ConditionalExpr():
                return self._common_scalar(self._chosen(expression))
            case IndexExpr(base=of, index=StrExpr() | NameExpr() as key) if entry := entry_of(of, key, self._api):
                return scalar_type_of(entry)
            case IndexExpr(base=of):
                return self.scalar(of)
        return None

    def _scalar_named(self, dtype: Expression) -> Type | None:
        """Return the type of elements by a name such as `np.float32` or `bool`."""
        name = getattr(dtype, "fullname", "")
        return scalar_type(self._api, _OF_PYTHON.get(name) or below_numpy(name))

    def _scalar_of_value(self, value: Expression) -> Type | None:
        """Return the type of the elements of an array that NumPy fills with a number.

        A parameter that is declared as a float may be given a whole number.
        """
        p = get_proper_type(self._stored_type(value))
        name = p.type.fullname if isinstance(p, Instance) else ""
        is_written = below_numpy(getattr(value, "fullname", "")) in ("inf", "nan")
        is_float = name == "builtins.float" and (is_written or type(value_of_expression(value, self._api)) is float)
        if name in ("builtins.int", "builtins.bool") or is_float:
            return scalar_type(self._api, _OF_PYTHON[name])
        return self.scalar(value)

    def _scalar_of_any_binding(self, variable: Var) -> Type | None:
        """Return the type of the elements that all values of a variable have, as in a loop; None if they differ.

        Where a value mentions the variable, it is taken to have those of the other values, which must come out again.
        """
        if variable in _assumed or len(_assumed) >= _MOST_AT_ONCE:
            return _assumed.get(variable)
        known = [one for one in self._scalars_assigned(variable, None) if one is not None]
        if not known or any(one != known[0] for one in known):
            return None
        return known[0] if all(one == known[0] for one in self._scalars_assigned(variable, known[0])) else None

    def _scalars_assigned(self, variable: Var, assumed: Type | None) -> list[Type | None]:
        """Return the type of the elements of each value of a variable, if it has one before."""
        given = self._given_to(variable)
        _assumed[variable] = assumed
        try:
            with reading_again():
                several = values_assigned(variable, self._api, is_given=given is not None)
                found = [get_proper_type(self._scalar_assigned(*one)) for one in several]
        finally:
            del _assumed[variable]
        return [*found, *([] if given is None or not found else [scalar_type_of(given)])]

    def _scalar_of_loop(self, variable: Var, target: Expression, sequence: Expression) -> Type | None:
        """Return the type of the elements of the arrays that a loop gives a variable, also by `enumerate` or `zip`."""
        match target, sequence:
            case NameExpr(), _:
                return self._scalar_of_items(sequence)
            case TupleExpr(items=[_, inner]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
                return self._scalar_of_loop(variable, inner, of)
            case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
                for inner, of in zip(targets, several, strict=False):
                    if isinstance(inner, NameExpr) and inner.node is variable:
                        return self._scalar_of_items(of)
            case TupleExpr(items=targets), NameExpr() | MemberExpr() if not any(
                isinstance(one, StarExpr) for one in targets
            ):
                places = [at for at, one in enumerate(targets) if isinstance(one, NameExpr) and one.node is variable]
                return self._scalar_in_rows(sequence, places[0]) if places else None
        return None

    def _scalar_of_items(self, arrays: Expression) -> Type | None:
        """Return the type of the elements of the arrays in a list, or of the rows of an array."""
        match self._value_of_list(arrays):
            case ListExpr(items=items) | TupleExpr(items=items):
                return self._common_scalar(items)
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                return self.scalar(item)
            case CallExpr(callee=RefExpr(fullname=name)) as call if below_numpy(name) in SPLITTING:
                return self.scalar(Given(call).one("ary", 0))
        return self.scalar(arrays) if self._is_array(arrays) else None

    def _scalar_of_two(self, left: Expression, right: Expression) -> Type | None:
        """Return the type of the elements that NumPy computes of two arrays of one dtype, or of an array and a number.

        A number of Python keeps the precision of an array of floats.
        """
        of_each = [_if_inexact(self.scalar(one)) for one in (left, right) if not self._is_number_of_python(one)]
        return of_each[0] if of_each and all(one == of_each[0] for one in of_each) else None

    def _scalar_of_whole(self, sign: str, left: Expression, right: Expression) -> Type | None:
        """Return the type of the elements that NumPy computes of 64-bit whole numbers, and of one of Python."""
        numbers = [one for one in (left, right) if self._is_number_of_python(one)]
        arrays = [get_proper_type(self.scalar(one)) for one in (left, right) if one not in numbers]
        whole = get_proper_type(scalar_type(self._api, "int64"))
        if not arrays or any(one != whole for one in arrays):
            return None
        is_whole = sign != "/" and all(map(self._is_whole, numbers))
        return scalar_type(self._api, "int64" if is_whole else "float64")

    def _is_number_of_python(self, expression: Expression) -> bool:
        match expression:
            case IndexExpr(base=of, index=StrExpr() | NameExpr() as key) if entry := entry_of(of, key, self._api):
                return is_number(entry)
            case OpExpr(left=left, right=right):
                return self._is_number_of_python(left) and self._is_number_of_python(right)
        t = stored_type(self._api, expression)
        return _is_number(expression) or (t is not None and is_number(t) and self.sizes(expression) == [])

    def _common_scalar(self, arrays: list[Expression]) -> Type | None:
        """Return the type of the elements that several arrays have; None if they differ."""
        scalars = [get_proper_type(self.scalar(one)) for one in arrays]
        return scalars[0] if scalars and all(one == scalars[0] for one in scalars) else None

    def _scalar_of_item(self, whole: Expression, position: int) -> Type | None:
        """Return the type of the elements of an array that is unpacked from what a call returns."""
        if isinstance(whole, CallExpr) and (loaded := loaded_pair(whole, self._api)) and position < len(loaded):
            return scalar_type(self._api, loaded[position].dtype)
        if isinstance(whole, IndexExpr) and (found := self._scalar_in_rows(whole.base, position)) is not None:
            return found
        item = scalar_type_of(self._item(whole, position))
        return self.scalar(whole) if item is None and self.sizes(whole) else item  # of the rows of an array

    def _scalar_in_rows(self, rows: Expression, position: int) -> Type | None:
        """Return the type of the elements of the arrays at a position of all tuples in a list, also in an attribute."""
        if not isinstance(rows, MemberExpr):
            written = self._rows_written(rows)
            found = [
                self.scalar(one.items[position])
                if isinstance(one, TupleExpr) and position < len(one.items)
                else self._scalar_of_item(one, position)
                for one in written
            ]
        elif use_of(rows, self._api) is Use.READ:
            several = assigned_by_methods(
                rows.expr, rows.name, lambda value, _: self._scalar_in_rows(value, position), self._api
            )
            found = [None if one.is_changed else one.value for one in several]
        else:
            return None
        first = found[0] if found else None
        return first if first is not None and all(one == first for one in found) else None

    def _scalar_of_data(self, data: Expression) -> Type | None:
        """Return the type of the elements of the array that NumPy makes of an array or of a list."""
        match data:
            case ListComprehension(generator=generator) if (scalar := self.scalar(generator.left_expr)) is not None:
                return scalar
        return scalar_type(self._api, "int64") if are_whole(self._stored_type(data)) else self.scalar(data)

    def _scalar_of_attribute(self, attribute: MemberExpr) -> Type | None:
        """Return the type of the elements of the arrays that methods assign to an attribute, if it is the same."""
        owner, name = attribute.expr, attribute.name
        key = attribute_variable(attribute, self._api), key_of(object_of(owner, self._api))
        if key in _being_read or len(_being_read) >= _MOST_AT_ONCE or reshapes.of(checked_file(self._api)):
            return None
        _being_read.add(key)
        try:
            found = assigned_by_methods(owner, name, self._scalar_assigned, self._api)
        finally:
            _being_read.remove(key)
        scalars = [None if one.is_changed else get_proper_type(one.value) for one in found]
        if not scalars or any(one != scalars[0] for one in scalars):
            return None
        depend_on_bodies(self._api)
        return scalars[0]

    def _scalar_assigned(self, value: Expression, position: int | None) -> Type | None:
        if position == EACH:
            return self._scalar_of_items(value)
        return self.scalar(value) if position is None else self._scalar_of_item(value, position)

    def _is_array(self, expression: Expression) -> bool:
        return is_array(stored_type(self._api, expression) or unknown()) or bool(self.sizes(expression))

    def _is_generator(self, expression: Expression) -> bool:
        of = get_proper_type(stored_type(self._api, expression))
        return isinstance(of, Instance) and of.type.fullname == GENERATORS[0]


def _if_inexact(scalar: Type | None) -> Type | None:
    """Return the type of elements that are no whole numbers, whose results have the same type."""
    p = get_proper_type(scalar)
    return p if isinstance(p, Instance) and p.type.has_base("numpy.inexact") and not is_vague(p) else None


def _if_floating(scalar: Type | None) -> Type | None:
    """Return the type of elements that are floats, of which NumPy's functions return floats."""
    p = get_proper_type(scalar)
    return p if isinstance(p, Instance) and p.type.has_base("numpy.floating") and not is_vague(p) else None


def _is_number(expression: Expression) -> bool:
    """Return whether an expression is a number that is written there."""
    return isinstance(expression, FloatExpr | IntExpr) or (
        isinstance(expression, UnaryExpr) and _is_number(expression.expr)
    )


_MOST_AT_ONCE: Final = 3  # attributes, or variables, whose values mention the next one
_assumed: Final[dict[Var, Type | None]] = {}  # what variables are taken to have while all of their values are read
_being_read: Final[set[tuple[SymbolNode | None, Hashable]]] = set()  # attributes, by the object as well

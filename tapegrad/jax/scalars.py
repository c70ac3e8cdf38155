"""Numbers that a step is given: inputs of its program, unless the step reads their values."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, trunc
from struct import pack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from typing_extensions import override

from tapegrad.engines.interface import HALF
from tapegrad.jax.keys import key_of
from tapegrad.jax.library import jax, jnp
from tapegrad.jax.traced import Number, Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.tensors import Tensor

MOST_INPUTS: Final = 64
"""How many numbers a program may have as inputs; further numbers are compile-time constants."""


class Ref(NamedTuple):
    """The index of a number that is an operand."""

    position: int


class Computed(NamedTuple):
    """How the host computes a number from earlier ones, and its type."""

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    kind: type


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """How a program uses the numbers that it is given.

    Attributes:
        computed: The computations of the host, in order; their results come after the given numbers.
        fixed: The numbers that must have the value that they had when the step was traced, with the key of the value.
        inputs: The numbers with which the program computes.
        layout: How they are packed.
    """

    computed: tuple[Computed, ...]
    fixed: tuple[tuple[int, Any], ...]
    inputs: tuple[int, ...]
    layout: str

    def values(self, given: Sequence[Any]) -> list[Any] | None:
        """Return all numbers, or None if the program is not valid for them."""
        values = [*given]
        for function, operands, kind in self.computed:
            try:
                value = function(*[values[one.position] if type(one) is Ref else one for one in operands])
            except Exception:  # noqa: BLE001  # the step will raise it when it is traced for these numbers
                return None
            if type(value) is not kind:
                return None
            values.append(value)
        if any(key_of(values[position]) != key for position, key in self.fixed):
            return None
        return values if all(is_input(values[position]) for position in self.inputs) else None

    def packed(self, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        """Return the input numbers packed into words, as the program takes them."""
        packed = np.zeros(2 * MOST_INPUTS, np.uint32)
        if self.inputs:
            numbers = [values[position] for position in self.inputs]
            packed[: 2 * len(numbers)] = np.frombuffer(pack(self.layout, *numbers), "<u4")
        return packed


class Numbers:
    """The numbers of a step while it is traced: the given ones, and those computed from them.

    Args:
        given: Their values in the call for which the step is traced.
        packed: The traced value of the packed numbers.
    """

    def __init__(self, given: Sequence[Any], packed: Traced | None) -> None:
        self.values = [*given]
        self.is_open = True
        self._packed = packed
        self._computed: list[Computed] = []
        self._fixed: dict[int, Any] = {}
        self._inputs: dict[int, int] = {}
        self._rounded: dict[tuple[int, np.dtype[Any]], int | None] = {}

    def plan(self) -> NumberPlan:
        """End the tracing, and return how the numbers were used."""
        self.is_open = False
        layout = "".join("q" if is_whole(self.values[position]) else "d" for position in self._inputs)
        return NumberPlan(tuple(self._computed), tuple(self._fixed.items()), tuple(self._inputs), f"<{layout}")

    def fix(self, position: int) -> Any:
        """Return the value of a number, and restrict the program to this value."""
        if self.is_open:
            self._fixed.setdefault(position, key_of(self.values[position]))
        return self.values[position]

    def compute(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Compute with numbers on the host, now and at each call."""
        refs: list[Any] = []
        for one in operands:
            is_own = type(one) is TracedNumber and one.numbers is self
            refs.append(Ref(one.position) if is_own else value_of(one))
        try:
            value = function(*[self.values[one.position] if type(one) is Ref else one for one in refs])
        except Exception:
            for one in refs:
                if type(one) is Ref:
                    self.fix(one.position)  # now, because the step may catch the error
            raise
        if not self.is_open:
            return value
        position = len(self.values)
        self.values.append(value)
        self._computed.append(Computed(function, tuple(refs), type(value)))
        return TracedNumber(self, position) if is_input(value) else self.fix(position)

    def traced(self, position: int, dtype: np.dtype[Any]) -> Traced | None:
        """Return a number, rounded to a dtype by the host, as an input of the program; None if it cannot be one."""
        if self._packed is None or not self.is_open:
            return None
        if (position, dtype) not in self._rounded:
            rounded = self.compute(partial(_rounded, dtype), TracedNumber(self, position))
            self._rounded[position, dtype] = rounded.position if type(rounded) is TracedNumber else None
        at = self._rounded[position, dtype]
        if at is None or (at not in self._inputs and len(self._inputs) == MOST_INPUTS):
            return None
        start = 2 * self._inputs.setdefault(at, len(self._inputs))
        bits = jnp.int64 if is_whole(self.values[at]) else jnp.float64
        number = jax.lax.bitcast_convert_type(self._packed.array[start : start + 2], bits)
        return Traced(number.astype(dtype), self._packed.carries)


class TracedNumber(Number):
    """A placeholder for a number that a step is given, while the step is traced.

    As an operand beside a tensor it is an input of the program. Arithmetic with other numbers is done by the host. Any
    other use needs its value and restricts the program to this value; a comparison restricts it to its answer.
    """

    __slots__ = ("numbers", "position")

    def __init__(self, numbers: Numbers, position: int) -> None:
        self.numbers = numbers
        self.position = position

    @override
    def fix(self) -> Any:
        return self.numbers.fix(self.position)

    @override
    def in_dtype_of(self, x: Traced) -> Any:
        # Beside an array of floats NumPy rounds a Python number to the dtype of the array, but not a NumPy scalar.
        is_rounded = type(self.plain) in (int, float) and x.dtype.kind in "fV"
        traced = self.numbers.traced(self.position, x.dtype) if is_rounded else None
        return self.fix() if traced is None else traced

    @property
    def plain(self) -> Any:
        """The value, for uses that do not depend on it."""
        return self.numbers.values[self.position]

    def beside(self, constant: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        """Return a tensor for an op: of the value, or of an input of the program."""
        traced: Any = self.numbers.traced(self.position, constant.dtype)
        if traced is None:
            self.fix()
        else:
            constant.data = traced
        return constant

    @property  # type: ignore[misc]  # for `isinstance`, and because the step may check the type of a number
    def __class__(self) -> Any:
        return type(self.plain)

    def __getattr__(self, name: str) -> Any:
        held = getattr(self.plain, name)  # the set of attributes depends on the type alone
        return held if name in _OF_TYPE else getattr(self.fix(), name)

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:  # always a copy
        return np.array(self.fix(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options and all(map(_is_number, inputs)):
            return self.numbers.compute(ufunc, *inputs)
        return getattr(ufunc, method)(*map(value_of, inputs), **options)

    def __deepcopy__(self, _: Any) -> Any:
        return self

    @override
    def __reduce__(self) -> Any:
        return value_of, (self.fix(),)

    def __bool__(self) -> bool:
        return bool(self.numbers.compute(operator.truth, self))

    def __rdivmod__(self, x: Any) -> Any:
        return divmod(x, self.fix())

    def __round__(self, digits: int | None = None) -> Any:
        return self.numbers.compute(round, self, digits)


def value_of(number: Any) -> Any:
    """Return the value of a placeholder for a number, and any other value unchanged."""
    return number.fix() if type(number) is TracedNumber else number


def is_input(value: Any) -> bool:
    """Return whether a value can be an input: a float or a 64-bit int. A bool decides what is computed."""
    if type(value) is float:
        return True
    if is_whole(value):
        return bool(-(2**63) <= value < 2**63)
    if not isinstance(value, np.generic):
        return False
    dtype: np.dtype[Any] = value.dtype
    return dtype.char in HALF or (dtype.kind == "f" and dtype.itemsize <= 8)


def is_whole(value: Any) -> bool:
    """Return whether a value is an int, of Python or of NumPy."""
    return type(value) is int or (isinstance(value, np.integer) and value.dtype.kind in "iu")


def _rounded(dtype: np.dtype[Any], value: Any) -> Any:
    """Round a number to a dtype, as an op does for a number beside a tensor."""
    return np.array(value, dtype)[()]


def _is_number(value: Any) -> bool:
    return type(value) is TracedNumber or isinstance(value, bool | int | float | complex | np.generic)


def _install_operators() -> None:
    """Add the operators, which are all alike, to `TracedNumber`."""

    def operators(function: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def of_both(x: TracedNumber, y: Any, *modulus: Any) -> Any:
            if modulus:
                return function(x.fix(), value_of(y), *modulus)
            return x.numbers.compute(function, x, y) if _is_number(y) else NotImplemented

        def reflected(y: TracedNumber, x: Any) -> Any:
            return y.numbers.compute(function, x, y) if _is_number(x) else NotImplemented

        return of_both, reflected

    def unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda x: x.numbers.compute(function, x)

    def of_value(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, *options: function(x.fix(), *options)

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
        plain, reflected = operators(pow if name == "pow" else getattr(operator, f"__{name}__"))
        setattr(TracedNumber, f"__{name}__", plain)
        setattr(TracedNumber, f"__r{name}__", reflected)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(TracedNumber, f"__{name}__", operators(getattr(operator, name))[0])
    for function in (operator.neg, operator.pos, operator.abs, operator.invert, trunc, floor, ceil):
        setattr(TracedNumber, f"__{function.__name__}__", unary(function))
    for value_function in (float, int, complex, operator.index, hash, repr, str, format, divmod):
        setattr(TracedNumber, f"__{value_function.__name__}__", of_value(value_function))


_OF_TYPE: Final = frozenset({"dtype", "itemsize", "nbytes", "ndim", "shape", "size"})
_install_operators()

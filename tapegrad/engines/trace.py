"""The engine that traces an elementwise function, to run it as one program.

A program is run on any part of the arrays, so that intermediate results stay in cache.
"""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.formulas import ELEMENTWISE, PAIRWISE, power, sigmoid
from tapegrad.engines.interface import Backend, Elementwise, Pairwise, Value
from tapegrad.engines.registry import register
from tapegrad.errors import ShapeError, TapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Function: TypeAlias = "Callable[..., Any]"
Number: TypeAlias = "float | np.generic | Array"  # an array of rank 0
Extent: TypeAlias = Literal["element", "row", "column", "number"]  # what a value has one number for, or all

_COMMUTATIVE: Final = frozenset({np.add, np.multiply})


class Ref(int):
    """The index of an instruction of a trace, as an operand; a plain int is a number."""

    __slots__ = ()


class ConstantSlot(NamedTuple):
    """The index of a number of a trace; traces that differ only in the numbers in slots share a program."""

    number: int


class Instruction(NamedTuple):
    """A function and its operands; an argument of the program has no function."""

    function: Function | None
    operands: tuple[Ref | ConstantSlot | Number, ...]  # a number itself is an exponent, which selects the formula
    dtype: np.dtype[Any]
    extent: Extent


class Trace:
    """The trace of a function, instruction by instruction; repeated computations are recorded once.

    A value that is the same for all elements is computed immediately, and a product with 1 is skipped.

    Args:
        shape: Of all values.
    """

    __slots__ = ("_keys", "_numbers", "_refs", "instructions", "numbers", "shape")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.instructions: list[Instruction] = []
        self.numbers: list[Number] = []  # by their slots
        self._refs: dict[Any, Ref] = {}  # by the key of an instruction
        self._keys: list[Any] = []  # the keys of all instructions, without the numbers in slots
        self._numbers: dict[Ref, Array] = {}

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that traces share if they differ only in their numbers."""
        return tuple(self._keys)

    def argument(self, dtype: np.dtype[Any], extent: Extent = "element") -> TracedValue:
        """Return a value that is passed when the program runs."""
        key = None, len(self.instructions), dtype
        return self._append(key, key, Instruction(None, (), dtype, extent))

    def number(self, number: Array) -> TracedValue:
        """Return a float that is the same for all elements, an array of rank 0."""
        value = self._record_once(np.positive, (number,), number.dtype)
        self._numbers[value.ref] = number
        return value

    def record(self, function: Function, *operands: Any) -> TracedValue:
        """Return the value of a function of traced values and numbers.

        Raises:
            ShapeError: An operand is an array with more than one distinct element.
            TapeError: An operand was recorded on another trace.
        """
        found: list[Ref | Number] = []
        refs: list[Ref] = []
        kinds: list[Any] = [function]
        for one in operands:
            operand = self._operand(one)
            found.append(operand)
            if type(operand) is Ref:
                refs.append(operand)
                kinds.append(self.instructions[operand].dtype)
            else:
                kinds.append(getattr(operand, "dtype", None) or type(operand))
        dtype = _DTYPES.get(tuple(kinds)) or _dtype(kinds, function, found)
        if len(refs) < 2 and dtype.kind == "f":
            if not refs:
                return self.number(np.asarray(function(*found)))
            if function is np.multiply and self.instructions[refs[0]].dtype == dtype and _has_one(found):
                return TracedValue(self, refs[0], dtype)
        return self._record_once(function, found, dtype)

    def reduce(self, function: Function, *operands: TracedValue, extent: Extent) -> TracedValue:
        """Return what a function reduces values to, in their dtype."""
        return self._record_once(function, [one.ref for one in operands], operands[0].dtype, extent)

    def _operand(self, value: Any) -> Ref | Number:
        """Return the index of a recorded value, or the number that it is."""
        if type(value) is float:
            return value
        if not isinstance(value, TracedValue):
            return _number(value)
        if value.trace is not self:
            message = "a tensor has left the fused function that it was computed in"
            raise TapeError(message)
        return self._numbers.get(value.ref, value.ref)

    def _record_once(
        self,
        function: Function,
        operands: Sequence[Ref | Number],
        dtype: np.dtype[Any],
        extent: Extent | None = None,
    ) -> TracedValue:
        refs = [one for one in operands if type(one) is Ref]
        if function in _COMMUTATIVE and len(refs) == 2:
            operands = sorted(refs)
        key = (function, *[one if type(one) is Ref else _bits(one) for one in operands])
        ref = self._refs.get(key)
        if ref is not None:
            return TracedValue(self, ref, dtype)
        extent = extent or _extent({self.instructions[one].extent for one in refs})
        if function is power:
            return self._append(key, key, Instruction(function, tuple(operands), dtype, extent))
        slotted = [one if type(one) is Ref else self._slot(one) for one in operands]
        instruction = Instruction(function, tuple(slotted), dtype, extent)
        return self._append(key, instruction, instruction)

    def _slot(self, number: Number) -> ConstantSlot:
        self.numbers.append(number)
        return ConstantSlot(len(self.numbers) - 1)

    def _append(self, key: Any, shared_key: Any, instruction: Instruction) -> TracedValue:
        ref = self._refs[key] = Ref(len(self.instructions))
        self._keys.append(shared_key)
        self.instructions.append(instruction)
        return TracedValue(self, ref, instruction.dtype)


class TracedValue(Value[Any, Any]):
    """A value that will be computed for each element; its operators are recorded."""

    __slots__ = ("dtype", "ref", "trace")

    dtype: Any
    __array_ufunc__ = None  # so that numpy_array * value calls the operator of the value

    def __init__(self, trace: Trace, ref: Ref, dtype: np.dtype[Any]) -> None:
        self.trace = trace
        self.ref = ref
        self.dtype = dtype

    @property
    @override
    def shape(self) -> tuple[int, ...]:
        return self.trace.shape

    @property
    @override
    def ndim(self) -> int:
        return len(self.trace.shape)

    @property
    @override
    def size(self) -> int:
        return prod(self.trace.shape)

    @override
    def __neg__(self) -> TracedValue:
        return self.trace.record(np.negative, self)

    @override
    def __add__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.add, self, y)

    @override
    def __radd__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.add, y, self)

    @override
    def __sub__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.subtract, self, y)

    @override
    def __rsub__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.subtract, y, self)

    @override
    def __mul__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.multiply, self, y)

    @override
    def __rmul__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.multiply, y, self)

    @override
    def __truediv__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.true_divide, self, y)

    @override
    def __rtruediv__(self, y: Any, /) -> TracedValue:
        return self.trace.record(np.true_divide, y, self)

    def __pow__(self, y: Any, /) -> TracedValue:
        if type(y) is float and y == 0.5:  # as NumPy does with arrays; and a square root writes into given memory
            return self.trace.record(np.sqrt, self)
        return self.trace.record(ELEMENTWISE["pow"], self, np.asarray(y))

    def __abs__(self) -> TracedValue:
        return self.trace.record(np.absolute, self)

    def __invert__(self) -> TracedValue:
        return self.trace.record(np.invert, self)

    def __and__(self, y: Any) -> TracedValue:
        return self.trace.record(np.bitwise_and, self, y)

    def __or__(self, y: Any) -> TracedValue:
        return self.trace.record(np.bitwise_or, self, y)

    def __xor__(self, y: Any) -> TracedValue:
        return self.trace.record(np.bitwise_xor, self, y)

    @override
    def __eq__(self, y: object) -> Any:
        return self.trace.record(np.equal, self, y)

    @override
    def __ne__(self, y: object) -> Any:
        return self.trace.record(np.not_equal, self, y)

    def __lt__(self, y: Any) -> TracedValue:
        return self.trace.record(np.less, self, y)

    def __le__(self, y: Any) -> TracedValue:
        return self.trace.record(np.less_equal, self, y)

    def __gt__(self, y: Any) -> TracedValue:
        return self.trace.record(np.greater, self, y)

    def __ge__(self, y: Any) -> TracedValue:
        return self.trace.record(np.greater_equal, self, y)

    __hash__ = object.__hash__
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @property
    @override
    def T(self) -> NoReturn:
        mixed()

    @override
    def __matmul__(self, y: Any, /) -> NoReturn:
        mixed()

    @override
    def reshape(self, shape: Any) -> TracedValue:
        return self if tuple(shape) == self.shape else mixed()

    @override
    def transpose(self, axes: Any) -> NoReturn:
        mixed()

    def __getitem__(self, index: Any) -> NoReturn:
        mixed()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        message = "the numbers of a tensor are needed, which a fused function has only when its program runs"
        raise TapeError(message)

    __bool__ = __float__ = __int__ = __index__ = __array__


def mixed(*_: Any, **__: Any) -> NoReturn:
    """Reject an op whose elements depend on several elements of an operand."""
    message = "mixes elements, and a fused function computes each by itself"
    raise ShapeError(message)


class TracingEngine(Backend[TracedValue]):
    """The primitives over traced values: the elementwise ones are recorded, the others rejected."""

    name = "tracing"

    @override
    def exp(self, x: TracedValue) -> TracedValue:
        return x.trace.record(np.exp, x)

    @override
    def log(self, x: TracedValue) -> TracedValue:
        return x.trace.record(np.log, x)

    @override
    def tanh(self, x: TracedValue) -> TracedValue:
        return x.trace.record(np.tanh, x)

    @override
    def relu(self, x: TracedValue) -> TracedValue:
        return x.trace.record(np.maximum, x, 0)

    @override
    def map(self, name: Elementwise, *operands: TracedValue) -> TracedValue:
        return _trace_of(*operands).record(ELEMENTWISE[name], *operands)

    @override
    def pair(self, name: Pairwise, *operands: TracedValue) -> tuple[TracedValue, TracedValue]:
        first, second = _PARTS[name]
        trace = _trace_of(*operands)
        return trace.record(first, *operands), trace.record(second, *operands)

    @override
    def equal(self, x: TracedValue, y: TracedValue) -> TracedValue:
        return _trace_of(x, y).record(np.equal, x, y)

    @override
    def greater(self, x: TracedValue, y: TracedValue | float) -> TracedValue:
        return _trace_of(x, y).record(np.greater, x, y)

    @override
    def where(self, condition: TracedValue, x: TracedValue, y: TracedValue | float) -> TracedValue:
        return _trace_of(condition, x, y).record(chosen, condition, x, y)

    @override
    def cast(self, x: TracedValue, dtype: Any) -> TracedValue:
        return x.trace.record(converter(np.dtype(dtype)), x)

    @override
    def broadcast_to(self, x: TracedValue, shape: Sequence[int]) -> TracedValue:
        return x.reshape(shape)

    # Strides of zero show that all elements are the same number.
    @override
    def ones(self, shape: Sequence[int], dtype: Any) -> Any:
        return np.broadcast_to(np.ones((), dtype), shape)

    @override
    def zeros(self, shape: Sequence[int], dtype: Any) -> Any:
        return np.broadcast_to(np.zeros((), dtype), shape)

    # Any: mypy compares the signature of `mixed` with the primitive's.
    sum: Any = staticmethod(mixed)
    max: Any = staticmethod(mixed)
    min: Any = staticmethod(mixed)
    prod: Any = staticmethod(mixed)
    argmax: Any = staticmethod(mixed)
    argmin: Any = staticmethod(mixed)
    all: Any = staticmethod(mixed)
    any: Any = staticmethod(mixed)
    cumsum: Any = staticmethod(mixed)
    cumprod: Any = staticmethod(mixed)
    argcummax: Any = staticmethod(mixed)
    argcummin: Any = staticmethod(mixed)
    argsort: Any = staticmethod(mixed)
    concat: Any = staticmethod(mixed)
    pad: Any = staticmethod(mixed)
    getitem: Any = staticmethod(mixed)
    at_set: Any = staticmethod(mixed)
    at_add: Any = staticmethod(mixed)
    reduce_at: Any = staticmethod(mixed)
    place: Any = staticmethod(mixed)
    rowwise: Any = staticmethod(mixed)
    swap_last_axes: Any = staticmethod(mixed)
    einsum: Any = staticmethod(mixed)
    inv: Any = staticmethod(mixed)
    solve: Any = staticmethod(mixed)
    det: Any = staticmethod(mixed)
    decompose: Any = staticmethod(mixed)
    pinv: Any = staticmethod(mixed)
    take: Any = staticmethod(mixed)
    scatter_add: Any = staticmethod(mixed)
    scatter_sum: Any = staticmethod(mixed)
    convolve: Any = staticmethod(mixed)
    one_hot: Any = staticmethod(mixed)


def chosen(condition: Any, x: Any, y: Any) -> Array:
    """Pick from `x` where the condition holds, else from `y`."""
    return np.asarray(np.where(condition, x, y))


def number_of(operand: ConstantSlot | Number, numbers: Sequence[Number]) -> Number:
    """Return the number of an operand, from its slot if it has one."""
    return numbers[operand.number] if isinstance(operand, ConstantSlot) else operand


def can_write(function: Function | None) -> bool:
    """Return whether a function takes `out=`, and may overwrite one of its operands."""
    return isinstance(function, np.ufunc) or function is sigmoid


def converter(dtype: np.dtype[Any]) -> Function:
    """Return the function that converts to a dtype, the same function each time."""
    if dtype not in _CONVERTERS:
        _CONVERTERS[dtype] = operator.methodcaller("astype", dtype)
    return _CONVERTERS[dtype]


def converted_to(function: Function | None) -> np.dtype[Any] | None:
    """Return the dtype that a function converts to, if it is a converter."""
    return next((dtype for dtype, one in _CONVERTERS.items() if one is function), None)


def _trace_of(*operands: Any) -> Trace:
    """Return the trace of the traced values among some operands."""
    return next(one.trace for one in operands if isinstance(one, TracedValue))


def _extent(operands: set[Extent]) -> Extent:
    """Return what a function of values has one number for."""
    if "element" in operands or {"row", "column"} <= operands:
        return "element"
    return next((one for one in operands if one != "number"), "number")


def _number(value: Any) -> Number:
    """Return a value as a single number, also if it is an array that repeats that number."""
    if isinstance(value, np.ndarray) and value.ndim:
        if any(value.strides) and value.size > 1:
            message = f"reads an array of shape {value.shape} that is not among the arguments of the fused function"
            raise ShapeError(message)
        value = value[(0,) * value.ndim]
    number: Number = value
    return number


def _has_one(operands: Sequence[Ref | Number]) -> bool:
    return any(one == 1 for one in operands if not isinstance(one, Ref))


def _bits(number: Number) -> Any:
    """Return a key that distinguishes numbers: 0 differs from -0, and NaN equals itself."""
    if isinstance(number, float | int):
        return type(number), number.hex() if isinstance(number, float) else number
    return number.dtype, number.tobytes()


def _dtype(kinds: Sequence[Any], function: Function, operands: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype of the result of a function of traced values and numbers, as NumPy computes it."""
    known = zip(kinds[1:], operands, strict=True)
    probes = [np.ones((), kind)[()] if type(one) is Ref else one for kind, one in known]
    dtype: np.dtype[Any] = function(*probes).dtype
    _DTYPES[tuple(kinds)] = dtype
    return dtype


def _part(function: Function, position: int) -> Function:
    return lambda *operands: np.asarray(function(*operands)[position])


_DTYPES: Final[dict[tuple[Any, ...], np.dtype[Any]]] = {}
_CONVERTERS: Final[dict[np.dtype[Any], Function]] = {}
_PARTS: Final = {name: (_part(function, 0), _part(function, 1)) for name, function in PAIRWISE.items()}

register(TracingEngine(), TracedValue)

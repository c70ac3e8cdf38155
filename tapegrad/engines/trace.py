"""The engine whose values are the steps of a program: it traces an elementwise function.

A program is run on any part of the arrays, so that intermediate results stay in cache.
"""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

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

_COMMUTATIVE: Final = frozenset({np.add, np.multiply})


class Place(int):
    """The index of a line of a sheet, as an operand; a plain int is a number."""

    __slots__ = ()


class Slot(NamedTuple):
    """The index of a number of a sheet; sheets that differ only in the numbers in slots share a program."""

    number: int


class Line(NamedTuple):
    """A function and its operands; an argument of the program has no function."""

    function: Function | None
    operands: tuple[Place | Slot | Number, ...]  # a number itself is an exponent, which selects the formula
    dtype: np.dtype[Any]


class Trace:
    """The trace of a function, line by line; repeated computations are recorded once.

    A value that is the same for all elements is computed immediately, and a product with 1 is skipped.

    Args:
        shape: Of all values.
    """

    __slots__ = ("_numbers", "_places", "_said", "lines", "numbers", "shape")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.lines: list[Line] = []
        self.numbers: list[Number] = []  # by their slots
        self._places: dict[Any, Place] = {}  # by the key of a line
        self._said: list[Any] = []  # the keys of all lines, without the numbers in slots
        self._numbers: dict[Place, Array] = {}

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that sheets share if they differ only in their numbers."""
        return tuple(self._said)

    def argument(self, dtype: np.dtype[Any]) -> Step:
        """Return a value that is passed when the program runs."""
        key = None, len(self.lines), dtype
        return self._written(key, key, Line(None, (), dtype))

    def number(self, number: Array) -> Step:
        """Return a float that is the same for all elements, an array of rank 0."""
        step = self._noted(np.positive, (number,), number.dtype)
        self._numbers[step.place] = number
        return step

    def note(self, function: Function, *operands: Any) -> Step:
        """Return the value of a function of steps and numbers.

        Raises:
            ShapeError: An operand is an array with more than one distinct element.
            TapeError: An operand was recorded on another sheet.
        """
        found = [self._found(one) for one in operands]
        places = [one for one in found if isinstance(one, Place)]
        dtype = _dtype(function, [self.lines[one].dtype if isinstance(one, Place) else one for one in found])
        if len(places) < 2 and dtype.kind == "f":
            if not places:
                return self.number(np.asarray(function(*found)))
            if function is np.multiply and self.lines[places[0]].dtype == dtype and _has_one(found):
                return Step(self, places[0], dtype)
        return self._noted(function, found, dtype)

    def _found(self, value: Any) -> Place | Number:
        """Return the index of a recorded value, or the number that it is."""
        if not isinstance(value, Step):
            return _number(value)
        if value.sheet is not self:
            message = "a tensor has left the fused function that it was computed in"
            raise TapeError(message)
        return self._numbers.get(value.place, value.place)

    def _noted(self, function: Function, operands: Sequence[Place | Number], dtype: np.dtype[Any]) -> Step:
        places = [one for one in operands if isinstance(one, Place)]
        if function in _COMMUTATIVE and len(places) == 2:
            operands = sorted(places)
        key = (function, *[one if isinstance(one, Place) else _bits(one) for one in operands])
        place = self._places.get(key)
        if place is not None:
            return Step(self, place, dtype)
        if function is power:
            return self._written(key, key, Line(function, tuple(operands), dtype))
        slotted = [one if isinstance(one, Place) else self._slot(one) for one in operands]
        line = Line(function, tuple(slotted), dtype)
        return self._written(key, line, line)

    def _slot(self, number: Number) -> Slot:
        self.numbers.append(number)
        return Slot(len(self.numbers) - 1)

    def _written(self, key: Any, said: Any, line: Line) -> Step:
        place = self._places[key] = Place(len(self.lines))
        self._said.append(said)
        self.lines.append(line)
        return Step(self, place, line.dtype)


class Step(Value[Any, Any]):
    """A value that will be computed for each element; its operators are recorded."""

    __slots__ = ("dtype", "place", "sheet")

    dtype: Any
    __array_ufunc__ = None  # so that numpy_array * step calls the operator of the step

    def __init__(self, sheet: Trace, place: Place, dtype: np.dtype[Any]) -> None:
        self.sheet = sheet
        self.place = place
        self.dtype = dtype

    @property
    @override
    def shape(self) -> tuple[int, ...]:
        return self.sheet.shape

    @property
    @override
    def ndim(self) -> int:
        return len(self.sheet.shape)

    @property
    @override
    def size(self) -> int:
        return prod(self.sheet.shape)

    @override
    def __neg__(self) -> Step:
        return self.sheet.note(np.negative, self)

    @override
    def __add__(self, y: Any, /) -> Step:
        return self.sheet.note(np.add, self, y)

    @override
    def __radd__(self, y: Any, /) -> Step:
        return self.sheet.note(np.add, y, self)

    @override
    def __sub__(self, y: Any, /) -> Step:
        return self.sheet.note(np.subtract, self, y)

    @override
    def __rsub__(self, y: Any, /) -> Step:
        return self.sheet.note(np.subtract, y, self)

    @override
    def __mul__(self, y: Any, /) -> Step:
        return self.sheet.note(np.multiply, self, y)

    @override
    def __rmul__(self, y: Any, /) -> Step:
        return self.sheet.note(np.multiply, y, self)

    @override
    def __truediv__(self, y: Any, /) -> Step:
        return self.sheet.note(np.true_divide, self, y)

    @override
    def __rtruediv__(self, y: Any, /) -> Step:
        return self.sheet.note(np.true_divide, y, self)

    def __pow__(self, y: Any, /) -> Step:
        return self.sheet.note(ELEMENTWISE["pow"], self, np.asarray(y))

    def __abs__(self) -> Step:
        return self.sheet.note(np.absolute, self)

    def __invert__(self) -> Step:
        return self.sheet.note(np.invert, self)

    def __and__(self, y: Any) -> Step:
        return self.sheet.note(np.bitwise_and, self, y)

    def __or__(self, y: Any) -> Step:
        return self.sheet.note(np.bitwise_or, self, y)

    def __xor__(self, y: Any) -> Step:
        return self.sheet.note(np.bitwise_xor, self, y)

    @override
    def __eq__(self, y: object) -> Any:
        return self.sheet.note(np.equal, self, y)

    @override
    def __ne__(self, y: object) -> Any:
        return self.sheet.note(np.not_equal, self, y)

    def __lt__(self, y: Any) -> Step:
        return self.sheet.note(np.less, self, y)

    def __le__(self, y: Any) -> Step:
        return self.sheet.note(np.less_equal, self, y)

    def __gt__(self, y: Any) -> Step:
        return self.sheet.note(np.greater, self, y)

    def __ge__(self, y: Any) -> Step:
        return self.sheet.note(np.greater_equal, self, y)

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
    def reshape(self, shape: Any) -> Step:
        return self if tuple(shape) == self.shape else mixed()

    @override
    def transpose(self, axes: Any) -> NoReturn:
        mixed()

    def __getitem__(self, index: Any) -> NoReturn:
        mixed()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        message = "the numbers of a tensor are asked for, which a fused function has only when its program runs"
        raise TapeError(message)

    __bool__ = __float__ = __int__ = __index__ = __array__


def mixed(*_: Any, **__: Any) -> NoReturn:
    """Reject an op whose elements depend on several elements of an operand."""
    message = "mixes elements, and a fused function computes each by itself"
    raise ShapeError(message)


class Steps(Backend[Step]):
    """The primitives over steps: the elementwise ones are recorded, the others rejected."""

    name = "steps"

    @override
    def exp(self, x: Step) -> Step:
        return x.sheet.note(np.exp, x)

    @override
    def log(self, x: Step) -> Step:
        return x.sheet.note(np.log, x)

    @override
    def tanh(self, x: Step) -> Step:
        return x.sheet.note(np.tanh, x)

    @override
    def relu(self, x: Step) -> Step:
        return x.sheet.note(np.maximum, x, 0)

    @override
    def map(self, name: Elementwise, *operands: Step) -> Step:
        return _sheet(*operands).note(ELEMENTWISE[name], *operands)

    @override
    def pair(self, name: Pairwise, *operands: Step) -> tuple[Step, Step]:
        first, second = _PARTS[name]
        sheet = _sheet(*operands)
        return sheet.note(first, *operands), sheet.note(second, *operands)

    @override
    def equal(self, x: Step, y: Step) -> Step:
        return _sheet(x, y).note(np.equal, x, y)

    @override
    def greater(self, x: Step, y: Step | float) -> Step:
        return _sheet(x, y).note(np.greater, x, y)

    @override
    def where(self, condition: Step, x: Step, y: Step | float) -> Step:
        return _sheet(condition, x, y).note(chosen, condition, x, y)

    @override
    def cast(self, x: Step, dtype: Any) -> Step:
        return x.sheet.note(converter(np.dtype(dtype)), x)

    @override
    def broadcast_to(self, x: Step, shape: Sequence[int]) -> Step:
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
    place: Any = staticmethod(mixed)
    softmax: Any = staticmethod(mixed)
    swap_last_axes: Any = staticmethod(mixed)
    einsum: Any = staticmethod(mixed)
    inv: Any = staticmethod(mixed)
    solve: Any = staticmethod(mixed)
    det: Any = staticmethod(mixed)
    take: Any = staticmethod(mixed)
    scatter_add: Any = staticmethod(mixed)
    scatter_sum: Any = staticmethod(mixed)
    convolve: Any = staticmethod(mixed)
    one_hot: Any = staticmethod(mixed)


def chosen(condition: Any, x: Any, y: Any) -> Array:
    """Pick from `x` where the condition holds, else from `y`."""
    return np.asarray(np.where(condition, x, y))


def number_of(operand: Slot | Number, numbers: Sequence[Number]) -> Number:
    """Return the number of an operand, from its slot if it has one."""
    return numbers[operand.number] if isinstance(operand, Slot) else operand


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


def _sheet(*operands: Any) -> Trace:
    """Return the sheet of the steps among some operands."""
    return next(one.sheet for one in operands if isinstance(one, Step))


def _number(value: Any) -> Number:
    """Return a value as a single number, also if it is an array that repeats that number."""
    if isinstance(value, np.ndarray) and value.ndim:
        if any(value.strides) and value.size > 1:
            message = f"reads an array of shape {value.shape} that is not among the arguments of the fused function"
            raise ShapeError(message)
        value = value[(0,) * value.ndim]
    number: Number = value
    return number


def _has_one(operands: Sequence[Place | Number]) -> bool:
    return any(one == 1 for one in operands if not isinstance(one, Place))


def _bits(number: Number) -> Any:
    """Return a key that distinguishes numbers: 0 differs from -0, and NaN equals itself."""
    if isinstance(number, float | int):
        return type(number), number.hex() if isinstance(number, float) else number
    return number.dtype, number.tobytes()


def _dtype(function: Function, operands: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype of the result of a function of steps and numbers, as NumPy computes it."""
    kinds = (function, *[one if isinstance(one, np.dtype) else getattr(one, "dtype", type(one)) for one in operands])
    if kinds not in _DTYPES:
        probes = [np.ones((), one)[()] if isinstance(one, np.dtype) else one for one in operands]
        dtype: np.dtype[Any] = function(*probes).dtype
        _DTYPES[kinds] = dtype
    return _DTYPES[kinds]


def _part(function: Function, place: int) -> Function:
    return lambda *operands: np.asarray(function(*operands)[place])


_DTYPES: Final[dict[tuple[Any, ...], np.dtype[Any]]] = {}
_CONVERTERS: Final[dict[np.dtype[Any], Function]] = {}
_PARTS: Final = {name: (_part(function, 0), _part(function, 1)) for name, function in PAIRWISE.items()}

register(Steps(), Step)

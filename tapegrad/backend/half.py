"""bfloat16 in NumPy: arrays whose numbers are widened to float32, computed with, and rounded once.

`ml_dtypes` gives NumPy loops for bfloat16 that round at each step: its sum of a thousand ones is 256. So a tensor's
array is a `Halves`, which leaves its own arithmetic to float32, whoever asks for it and however.
"""

from __future__ import annotations

from inspect import isfunction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.backend.engines import engine, register
from tapegrad.backend.formulas import ELEMENTWISE
from tapegrad.backend.numpy import NumPy
from tapegrad.backend.value import Backend, Elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

# Asks for a number of the dtype itself: in float32 it would be another.
_OF_THE_DTYPE: Final = frozenset({np.nextafter, np.spacing})
# Reads or moves elements as they are.
_MOVES: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        np.broadcast_to,
        np.concatenate,
        np.copyto,
        np.empty_like,
        np.may_share_memory,
        np.ndim,
        np.shape,
        np.size,
        np.take,
        np.zeros_like,
    }
)
_MOVED: Final = ("at_set", "broadcast_to", "cast", "concat", "getitem", "ones", "swap_last_axes", "take", "zeros")
KIND: Final = "V"  # what NumPy calls a dtype that is none of its own; tensors have this one alone


class Halves(np.ndarray[Any, np.dtype[Any]]):
    """An array of bfloat16 that computes in float32 and rounds what comes of it."""

    @override
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if ufunc in _OF_THE_DTYPE:
            return halved(getattr(ufunc, method)(*map(_plain, inputs), **kwargs))
        if method == "at":
            wide = widened(inputs[0])
            ufunc.at(wide, *map(widened, inputs[1:]))
            np.copyto(_plain(inputs[0]), wide, casting="unsafe")
            return None
        results = getattr(ufunc, method)(*map(widened, inputs), **widened(kwargs))
        if out is None:
            return halved(results)
        for room, result in zip(out, results if isinstance(results, tuple) else (results,), strict=True):
            np.copyto(_plain(room), result, casting="unsafe")
        return out if len(out) > 1 else out[0]

    @override
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return halves(_plain(self).astype(dtype, *args, **kwargs))  # of another dtype it is NumPy's own

    @override
    def __getitem__(self, index: Any) -> Any:
        # A number too: those of ml_dtypes make float32 beside one of Python's.
        return halves(super().__getitem__(index))

    @override
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _MOVES:
            return halves(func(*_plain(args), **_plain(kwargs)))
        return halved(func(*widened(args), **widened(kwargs)))


def halves(array: Any) -> Any:
    """Returns an array of bfloat16 as one that computes in float32; all else as it is."""
    if isinstance(array, np.ndarray | np.generic) and array.dtype.kind == KIND:
        return np.asarray(array).view(Halves)
    return array


def widened(value: Any) -> Any:
    """Returns what is of bfloat16 or is that dtype, alone or in containers, in float32; all else as it is."""
    if isinstance(value, np.dtype):
        return np.dtype(np.float32) if value.kind == KIND else value
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).astype(np.float32) if value.dtype.kind == KIND else _plain(value)
    return _each(widened, value)


def halved(value: Any) -> Any:
    """Returns floats, alone or several, rounded to bfloat16; all else as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return halves(np.asarray(value).astype("bfloat16") if value.dtype.kind == "f" else value)
    return _each(halved, value)


def _plain(value: Any) -> Any:
    """Returns what is of bfloat16, alone or in containers, as NumPy's own arrays."""
    return value.view(np.ndarray) if isinstance(value, Halves) else _each(_plain, value)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(change, value))
    return {name: change(one) for name, one in value.items()} if type(value) is dict else value


class Half(NumPy):
    """The primitives over `Halves`: those of float32, whose results are rounded."""

    @override
    def grown(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        return values[key] + x  # of all the others nothing is to be widened

    @override
    def map(self, name: Elementwise, *operands: Any) -> Any:
        function = ELEMENTWISE[name]
        if function in _OF_THE_DTYPE:
            return function(*operands)
        return halved(engine(_PROBE).map(name, *map(widened, operands)))


def _moving(name: str) -> Callable[..., Any]:
    def moved(_: Half, *args: Any, **kwargs: Any) -> Any:
        return halves(getattr(_PLAIN, name)(*_plain(args), **_plain(kwargs)))

    return moved


def _rounding(name: str) -> Callable[..., Any]:
    def rounded(_: Half, *args: Any, **kwargs: Any) -> Any:
        return halved(getattr(engine(_PROBE), name)(*widened(args), **widened(kwargs)))

    return rounded


_PLAIN: Final = NumPy()
_PROBE: Final = np.float32(0)
for _name, _primitive in vars(Backend).items():
    if isfunction(_primitive) and _name not in vars(Half):
        setattr(Half, _name, _moving(_name) if _name in _MOVED else _rounding(_name))

register(Half(), Halves)

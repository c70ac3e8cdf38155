"""The engine of half precision in NumPy: values are widened to float32, computed with, and rounded once."""

from __future__ import annotations

from inspect import isfunction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from typing_extensions import override

from tapegrad.engines.formulas import ELEMENTWISE
from tapegrad.engines.interface import Backend, Elementwise
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.half_array import DTYPE_DEPENDENT, Halves, halved, halves, plain, widened
from tapegrad.engines.registry import engine, register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOVING_PRIMITIVES: Final = (
    "at_set",
    "broadcast_to",
    "cast",
    "concat",
    "getitem",
    "ones",
    "swap_last_axes",
    "take",
    "zeros",
)


class Half(NumPy):
    """The primitives over `Halves`: those of float32, with rounded results."""

    @override
    def accumulate(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        return values[key] + x  # only these two are widened

    @override
    def scale_in_place(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        return values[key] * x

    @override
    def map(self, name: Elementwise, *operands: Any) -> Any:
        function = ELEMENTWISE[name]
        if function in DTYPE_DEPENDENT:
            return function(*operands)
        return halved(engine(_PROBE).map(name, *map(widened, operands)), _half_of(operands))


def _move_primitive(name: str) -> Callable[..., Any]:
    def moved(_: Half, *args: Any, **kwargs: Any) -> Any:
        return halves(getattr(_PLAIN, name)(*plain(args), **plain(kwargs)))

    return moved


def _round_primitive(name: str) -> Callable[..., Any]:
    def computed(_: Half, *args: Any, **kwargs: Any) -> Any:
        found = getattr(engine(_PROBE), name)(*widened(args), **widened(kwargs))
        return halved(found, _half_of((*args, *kwargs.values())))

    return computed


def _half_of(values: Iterable[Any]) -> np.dtype[Any] | None:
    """Return the dtype of half precision among some values, alone or in containers; None if there is none."""
    for value in values:
        if isinstance(value, Halves):
            return value.dtype
        found = _half_of(value) if isinstance(value, tuple | list) else None
        if found is not None:
            return found
    return None


_PLAIN: Final = NumPy()
_PROBE: Final = np.float32(0)
for _name, _primitive in vars(Backend).items():
    if isfunction(_primitive) and _name not in vars(Half):
        setattr(Half, _name, _move_primitive(_name) if _name in _MOVING_PRIMITIVES else _round_primitive(_name))

register(Half(), Halves)

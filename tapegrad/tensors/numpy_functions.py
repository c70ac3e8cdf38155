"""NumPy's functions called with tensors: `np.mean(x)` is the op `mean`, which keeps the tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS
from tapegrad.errors import DTypeError
from tapegrad.errors.numpy_functions import OF_SHAPES, OF_VALUES, UFUNCS, Call, call_of, not_an_op, with_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOT_GIVEN: Final = object()
"""In place of the second operand of a ufunc of one."""

_ufunc_ops: Final[dict[Any, Callable[..., Any]]] = {}  # of the ufuncs that have been called
op_of_ufunc: Final = _ufunc_ops.get
_NO_VALUE: Final[Any] = np._NoValue  # what other libraries pass on for an argument that is not given


def call_ufunc(ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
    """Call the op that a ufunc is.

    Raises:
        DTypeError: There is no such op, or it has no such option.
    """
    name = ufunc.__name__
    own = UFUNCS.get(name, name)
    if own not in OPS or not isinstance(getattr(np, name, None), np.ufunc):
        raise DTypeError(not_an_op(name))
    if method != "__call__":
        raise DTypeError(with_option(f"{name}.{method}", f"method {method}"))
    for option, value in options.items():
        if value is not None:
            raise DTypeError(with_option(name, f"argument {option}"))
    op = _ufunc_ops[ufunc] = IMPLEMENTATIONS[own]
    return op(*operands)


def call_function(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call the op that a function of NumPy is.

    Raises:
        DTypeError: There is no such op, or it has no such argument.
        TapeError: A function that reads values is called with a tensor that has a tape.
    """
    module: str = function.__module__ or "numpy"
    name: str = f"{module}.{function.__name__}".removeprefix("numpy.")
    if module == "numpy" and name in OF_SHAPES:
        return function(*map(_as_shape, args), **{key: _as_shape(value) for key, value in kwargs.items()})
    if module == "numpy" and name in OF_VALUES:
        return function(*map(_as_array, args), **{key: _as_array(value) for key, value in kwargs.items()})
    call = call_of(name)
    if call is None:
        raise DTypeError(not_an_op(name))
    given = _arguments(call, args, kwargs)
    operands = next((given.pop(name) for name in [*given] if name.startswith("*")), ())
    subscripts = (given.pop("subscripts"),) if "subscripts" in given else ()
    return IMPLEMENTATIONS[call.op](*subscripts, *operands, **given)


def _arguments(call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by the parameters of the op."""
    given: dict[str, Any] = {}
    for place, parameter in enumerate(call.parameters):
        if parameter.name.startswith("*"):
            given[parameter.own] = args[place:]
            continue
        value = args[place] if place < len(args) and not parameter.is_keyword else kwargs.get(parameter.name, _NO_VALUE)
        if value is _NO_VALUE or (value is None and not parameter.is_required):
            continue
        if parameter.own:
            given[parameter.own] = value
        elif parameter.only == "" or value != parameter.only:
            raise DTypeError(call.unwanted(parameter.name))
    message = call.missing(frozenset(given))
    if message:
        raise DTypeError(message)
    return given


def _as_shape(value: Any) -> Any:
    return np.broadcast_to(np.int8(0), value.shape) if hasattr(value, "tape") else value


def _as_array(value: Any) -> Any:
    return np.asarray(value) if hasattr(value, "tape") else value

"""Models in another dtype."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.autograd.identity import Same
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.guard._memory import StoredSizes
from tapegrad.nn.container import check_module
from tapegrad.nn.module import Module, children
from tapegrad.nn.param import Buffer, Param, State
from tapegrad.nn.quantized import QuantizedParam
from tapegrad.ops.elementwise import scalar_type
from tapegrad.tensors import node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@public_api
def cast(model: Module, dtype: type[np.floating[Any]] | np.dtype[Any]) -> Any:
    """Return a copy of a model with all parameters and float buffers in another dtype.

    Layers accept and return tensors of the dtype of their parameters: the result accepts the dtype that it was
    converted to. mypy infers its type, such as `Linear[L[3], L[2], Any, bfloat16]`; that of a model of your own is
    known if its class has a type variable for the dtype of its layers, and otherwise unknown.

    Args:
        model: Any module; it is not changed.
        dtype: A float dtype of NumPy or `tapegrad.bfloat16`, or its scalar type.

    Returns:
        A model of the same class. Shared parameters are still shared, and frozen ones still frozen.

    Raises:
        DTypeError: `model` is not a module, `dtype` is not a float dtype, or a parameter is quantized.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(3, 8, rng=0), tg.nn.ReLU(), tg.nn.Linear(8, 2, rng=0))
        >>> small = tg.nn.cast(model, np.float16)
        >>> x = tg.tensor([[1.0, 2.0, 3.0]])
        >>> y = small(x.astype(np.float16))
        >>> str(y.dtype), np.allclose(y.numpy(), model(x).numpy(), atol=0.01)
        ('float16', True)
    """
    check_module("cast: model", model)
    dtype = float_dtype("cast", "dtype", dtype)
    memo: Any = {}
    for path, state in {**model.parameters(), **model.buffers()}.items():
        if isinstance(state, QuantizedParam):
            raise DTypeError(messages.quantized_parameter("cast", path))
        if state.is_float:
            memo[id(state)] = _converted_state(state, dtype)
    for module in _modules(model):
        stored = vars(module).get(_STORED)
        if stored is not None:
            memo[id(stored)] = with_dtype(stored, dtype, _is_float)
    return copy.deepcopy(model, memo)  # the memo: deepcopy uses these objects as the copies


def with_dtype(stored: StoredSizes, dtype: np.dtype[Any], replaces: Callable[[np.dtype[Any]], bool]) -> StoredSizes:
    """Return the stored values of type variables of a module with another dtype in place of those to replace."""
    return StoredSizes(
        {
            owner: {name: dtype if isinstance(one, np.dtype) and replaces(one) else one for name, one in values.items()}
            for owner, values in stored.items()
        }
    )


def _modules(model: Module) -> Iterator[Module]:
    """Yield a module and each module in it, once."""
    seen: set[Same] = set()
    waiting = [model]
    while waiting:
        module = waiting.pop()
        if (same := Same(module)) not in seen:
            seen.add(same)
            yield module
            waiting += [child for _, child in children(module) if isinstance(child, Module)]


def _converted_state(state: State[Any, Any], dtype: np.dtype[Any]) -> State[Any, Any]:
    values = node(engine(state.data).cast(state.data, dtype))
    return Param(values, frozen=state.frozen) if isinstance(state, Param) else Buffer(values)


def float_dtype(call: str, place: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype, and reject one that is not a float."""
    try:
        found: np.dtype[Any] = np.dtype(scalar_type(dtype))
    except DTypeError as error:
        raise DTypeError(f"{call}: {error}") from None
    if not _is_float(found):
        raise DTypeError(messages.wrong_dtype(call, place, found.name, "floating"))
    return found


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fV"  # V: bfloat16


_STORED: Final = "_bound_by_init"

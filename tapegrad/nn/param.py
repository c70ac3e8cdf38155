"""The state of modules: parameters, which optimizers update, and buffers, which modules update themselves."""

from __future__ import annotations

from itertools import repeat, starmap
from operator import add, attrgetter, call
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import ref

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.tape import NONE, NoneTape
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_flag
from tapegrad.errors.other_names import attribute_error
from tapegrad.errors.tracebacks import public_api, trim_on_exit
from tapegrad.tensors import D, D_co, S, S_co, Tensor, as_compute_dtype, values_of
from tapegrad.tensors.operands import tensor_only
from tapegrad.transactions import commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.engines import Value

HasBias = TypeVar("HasBias", bound=bool, default=Any, covariant=True)
"""Whether a layer has a bias, so that mypy infers whether `layer.bias` is a parameter or None."""
DType = TypeVar("DType", bound=np.floating[Any], default=np.float32, covariant=True)
"""The dtype of a layer: of its parameters, of its float arguments and of its result."""


class State(Tensor[S_co, NoneTape, D_co]):
    """Base class of `Param` and `Buffer`: a tensor that is saved with a module and can be assigned to.

    An assignment replaces the array and does not write to it, so views and tensors of the old array do not change.
    """

    __slots__ = ("on_device", "placement", "version")

    has_plain_state: ClassVar[bool] = False
    is_of_module: ClassVar[bool] = True
    slot: ClassVar[str] = "data"  # the attribute of the values
    version: int  # type: ignore[misc]  # in the base class it is a class attribute, None
    on_device: Any  # the same values on the device of `jit`, or None
    placement: Any  # the sharding that `tapegrad.jax.place` has given it, which new values get too, or None

    @public_api
    def __init__(self, tensor: Tensor[S_co, NoneTape, D_co]) -> None:
        super().__init__(_owned(tensor, type(self).__name__, "tensor"), NONE)
        self.version = 0
        self.on_device = self.placement = None

    # A shape does not need the values, which may be on devices of other processes.

    @property
    @override
    def shape(self) -> S_co:
        return (self.data if self.on_device is None else self.on_device).shape

    @property
    @override
    def dtype(self) -> np.dtype[D_co]:
        dtype: np.dtype[D_co] = (self.data if self.on_device is None else self.on_device).dtype
        return dtype

    @property
    @override
    def ndim(self) -> int:
        return (self.data if self.on_device is None else self.on_device).ndim

    @property
    @override
    def size(self) -> int:
        return (self.data if self.on_device is None else self.on_device).size

    @public_api
    def assign(self: State[S, D], value: Tensor[S, NoneTape, D]) -> None:
        """Replace the values by a copy of those of another tensor.

        A later `backward` on a tape that has recorded the old values raises an error.

        Args:
            value: A tensor of the same shape and dtype. Infinities and NaN are allowed.

        Raises:
            ShapeError: The shapes differ; nothing is broadcast.
            DTypeError: The dtypes differ, or `value` is not a tensor.
            TapeError: `value` has a tape.
        """
        call = f"{type(self).__name__}.assign"
        data = _owned(value, call, "value")
        self.check(data, call, "value")
        self.replace(data)

    def check(self, data: Any, call: str, place: str) -> None:
        """Reject an array that cannot replace the values of this tensor.

        Args:
            data: An array of any backend.
            call: The name of the calling function, for error messages.
            place: The name of the array there, for error messages.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ.
            TapeError: This tensor is not an argument of the function under `jit`, which would change it only once.
        """
        if not getattr(data, "carries", _always)(self):
            raise TapeError(messages.captured(call, place))
        if data.shape != self.shape:
            raise ShapeError(messages.other_sizes(call, place, data.shape, self.shape))
        if data.dtype != self.dtype:
            raise DTypeError(messages.wrong_dtype(call, place, str(data.dtype), str(self.dtype)))

    def replace(self: State[S, D], data: Value[S, D]) -> None:
        """Replace the array, without a copy and unchecked, for use in optimizers; no other code may write to it."""
        replace_all([self], [as_compute_dtype(data)])

    def held(self, data: Any) -> Any:
        """Return the object that is stored in the slot for an array."""
        return data

    @override
    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()  # attributes of a subclass, and slots
        return state[0], state[1] | {"on_device": None, "placement": None}  # the device may be missing elsewhere

    @override
    def _printed(self, indent: int) -> str:
        return printed_parts(self.on_device) or super()._printed(indent)

    if not TYPE_CHECKING:  # or mypy would accept any name as an attribute

        def __getattr__(self, name: str) -> Any:
            """Fetch `data`, which is missing if a function under `jit` has left new values on a device."""
            if name != "data":
                with trim_on_exit:
                    raise attribute_error("Tensor", name, f"{type(self).__name__!r} object")
            if processes := processes_of(self.on_device):
                with trim_on_exit:
                    raise TapeError(messages.in_parts(self.shape, processes))
            values: Any = np.array(self.on_device, order="C")
            fetched.append(ref(self))  # first, because a state that an interrupt omits here would keep stale values
            self.data = as_compute_dtype(values)
            return self.data


class Param(State[S_co, D_co]):
    """A trainable float tensor of a module; `backward` computes its gradient unless it is frozen.

    Args:
        tensor: The initial values, which are copied.
        frozen: Whether it gets no gradient and no update; an attribute that may be set at any time.

    Attributes:
        version: The number of assignments; the backward pass checks that it has not changed since the forward pass.

    Raises:
        DTypeError: `tensor` is not a tensor, or not of a float dtype; or `frozen` is not a bool.
        TapeError: `tensor` has a tape.

    Examples:
        >>> weight = tg.nn.Param(tg.tensor([1.0, 2.0]))
        >>> x = tg.tensor([3.0, 4.0])
        >>> grads = (x.trace() * weight).sum().backward(wrt=[weight])
        >>> grads[weight].tolist()
        [3.0, 4.0]
        >>> weight.assign(weight - 0.5 * grads[weight])
        >>> weight.tolist()
        [-0.5, 0.0]
    """

    __slots__ = ("frozen",)

    frozen: bool  # type: ignore[misc]  # in the base class it is a class attribute, False

    @public_api
    def __init__(self, tensor: Tensor[S_co, NoneTape, D_co], *, frozen: bool = False) -> None:
        check_flag("Param", "frozen", frozen)
        super().__init__(tensor)
        if not self.is_float:
            message = f"Param: a tensor of dtype {self.dtype} has no gradient"
            raise DTypeError(message)
        self.frozen = frozen

    @override
    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"Param({self._printed(6)}, shape={self.shape}, {self.dtype}{frozen})"


class Buffer(State[S_co, D_co]):
    """A tensor of any dtype that is saved with a module, but gets no gradient and is not updated by optimizers.

    Args:
        tensor: The initial values, which are copied.

    Attributes:
        version: The number of assignments; the backward pass checks that it has not changed since the forward pass.

    Raises:
        DTypeError: `tensor` is not a tensor.
        TapeError: `tensor` has a tape.

    Examples:
        >>> steps = tg.nn.Buffer(tg.tensor(0))
        >>> steps.assign(steps + 1)
        >>> steps.item(), steps.version
        (1, 1)
    """

    __slots__ = ()

    frozen: ClassVar[bool] = True

    @override
    def __repr__(self) -> str:
        return f"Buffer({self._printed(7)}, shape={self.shape}, {self.dtype})"


def replace_all(tensors: Sequence[State[Any, Any]], arrays: Sequence[Any], *others: tuple[Any, ...]) -> None:
    """Replace the arrays of several tensors atomically, as `State.replace` does for one.

    Args:
        tensors: The tensors.
        arrays: The new array of each.
        others: Further calls to make atomically, before the replacements: functions implemented in C, with their
            arguments. If one raises, the calls after it and the replacements are not made.
    """
    slots = [*map(_SLOT, tensors)]
    if slots.count("data") < len(slots):
        arrays = [state.held(array) for state, array in zip(tensors, arrays, strict=True)]
    versions = [*map(add, map(_VERSION, tensors), repeat(1))]
    changes = (
        starmap(call, others),
        map(setattr, tensors, slots, arrays),
        map(setattr, tensors, repeat("version"), versions),
        map(setattr, tensors, repeat("on_device"), repeat(None)),
    )
    commit(*changes)


_SLOT: Final = attrgetter("slot")
_VERSION: Final = attrgetter("version")


def processes_of(array: Any) -> int:
    """Return how many processes have a part of the values of a JAX array that this one has not; 0 if it has them all.

    Args:
        array: The array, or None.
    """
    if array is None or array.is_fully_addressable or array.is_fully_replicated:
        return 0
    return len({device.process_index for device in array.sharding.device_set})


def printed_parts(array: Any) -> str:
    """Return what is printed in place of the values of an array if they cannot be read, else an empty string."""
    processes = processes_of(array)
    return f"parts in {processes} processes" if processes else ""


def _owned(tensor: Any, call: str, place: str) -> Any:
    tensor_only(tensor, f"{call}: {place}")
    if tensor.owns_tape:
        raise TapeError(messages.tape_unwanted(call, place))
    values = values_of(tensor)
    return np.array(values, order="C") if isinstance(values, np.ndarray) else values


def _always(_: object) -> bool:
    return True


fetched: Final[list[ref[State[Any, Any]]]] = []
"""The states that were read since a function under `jit` last ran, whose values are on the device and in `data`."""

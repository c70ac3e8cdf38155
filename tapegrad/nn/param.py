"""What a module holds: parameters, which training changes, and buffers, which the module changes itself."""

from __future__ import annotations

from collections import deque
from itertools import chain, repeat, starmap
from operator import add, attrgetter, call
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import ref

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad import messages
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.operands import tensor_only
from tapegrad.tape import NONE, NoneTape
from tapegrad.tensor import D, D_co, S, S_co, Tensor, as_compute_dtype, values_of
from tapegrad.tracebacks import public_api, trim_on_exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.backend import Value

HasBias = TypeVar("HasBias", bound=bool, default=Any, covariant=True)
"""Whether a layer has a bias, so that mypy knows of `layer.bias` whether it is a parameter or None."""


class State(Tensor[S_co, NoneTape, D_co]):
    """A tensor that a module holds, saves, and may give other values.

    It is no exception to "tensors are immutable": an assignment puts another array in the place of the old one, which
    stays as it was for the views and tensors that were made of it.
    """

    __slots__ = ("on_device", "version")

    has_plain_state: ClassVar[bool] = False
    is_of_parameters: ClassVar[bool] = True
    slot: ClassVar[str] = "data"  # where the values are
    version: int  # type: ignore[misc]  # all other tensors share one None
    on_device: Any  # the same values as `jit` has them, or None

    @public_api
    def __init__(self, tensor: Tensor[S_co, NoneTape, D_co]) -> None:
        super().__init__(_owned(tensor, type(self).__name__, "tensor"), NONE)
        self.version = 0
        self.on_device = None

    @public_api
    def assign(self: State[S, D], value: Tensor[S, NoneTape, D]) -> None:
        """Take over the values of another tensor, by copy.

        A tape that has recorded the values before refuses to run backwards from here on.

        Args:
            value: The shape and the dtype of this tensor. Infinities and NaN are values like any other.

        Raises:
            ShapeError: The shapes differ; nothing is broadcast.
            DTypeError: The dtypes differ, or `value` is no tensor.
            TapeError: `value` has a tape.
        """
        call = f"{type(self).__name__}.assign"
        data = _owned(value, call, "value")
        self.check(data, call, "value")
        self.replace(data)

    def check(self, data: Any, call: str, place: str) -> None:
        """Reject an array that could not stand in the place of this tensor's own.

        Args:
            data: An array of any engine.
            call: The function that was asked to, for the error.
            place: What the array is there.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ.
            TapeError: A step under `jit` was not given this tensor, and would change it but once.
        """
        if not getattr(data, "carries", _always)(self):
            raise TapeError(messages.captured(call, place))
        if data.shape != self.shape:
            raise ShapeError(messages.other_sizes(call, place, data.shape, self.shape))
        if data.dtype != self.data.dtype:
            raise DTypeError(messages.wrong_dtype(call, place, str(data.dtype), str(self.dtype)))

    def replace(self: State[S, D], data: Value[S, D]) -> None:
        """Take over an array that nobody else writes to, as it is and unchecked: for those who write optimizers."""
        replace_all([self], [as_compute_dtype(data)])

    def held(self, data: Any) -> Any:
        """Return what is put into the slot for an array."""
        return data

    @override
    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()  # attributes of a subclass, and slots
        return state[0], state[1] | {"on_device": None}  # where it goes there may be no such device

    def __getattr__(self, name: str) -> Any:
        """Is asked for `data` alone, when a step under `jit` has left new values on a device."""
        if name != "data":
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            with trim_on_exit:
                raise AttributeError(message)
        values: Any = np.array(self.on_device, order="C")
        fetched.append(ref(self))  # first: what an interrupt leaves out here would be read for ever
        self.data = as_compute_dtype(values)
        return self.data


class Param(State[S_co, D_co]):
    """A float tensor with a name in a module; `backward` gives it a gradient unless it is frozen.

    Args:
        tensor: The first values, which are copied.
        frozen: Whether it gets no gradient and no optimizer changes it; an attribute that may be set at any time.

    Attributes:
        version: How many times it was assigned; a tape compares it with what the forward pass saw.

    Raises:
        DTypeError: `tensor` is no tensor, or not of a float dtype.
        TapeError: `tensor` has a tape.
    """

    __slots__ = ("frozen",)

    frozen: bool  # type: ignore[misc]  # all other tensors share one False

    @public_api
    def __init__(self, tensor: Tensor[S_co, NoneTape, D_co], *, frozen: bool = False) -> None:
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
    """A tensor of any dtype that a module keeps beside its parameters: no gradient reaches it, no optimizer knows it.

    Args:
        tensor: The first values, which are copied.

    Attributes:
        version: How many times it was assigned; a tape compares it with what the forward pass saw.

    Raises:
        DTypeError: `tensor` is no tensor.
        TapeError: `tensor` has a tape.
    """

    __slots__ = ()

    frozen: ClassVar[bool] = True

    @override
    def __repr__(self) -> str:
        return f"Buffer({self._printed(7)}, shape={self.shape}, {self.dtype})"


def replace_all(tensors: Sequence[State[Any, Any]], arrays: Sequence[Any], *others: tuple[Any, ...]) -> None:
    """Take over an array for each of several tensors in one moment, whatever interrupts the program.

    An interrupt, or another thread, comes in between two instructions of Python's, and this is one.

    Args:
        tensors: What takes over, as `State.replace` does.
        arrays: The array of each.
        others: What else is to happen in that moment, before the rest: functions that are not written in Python, with
            their arguments. Where one fails, those behind it and the rest do not happen.
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
    deque(chain(*changes), maxlen=0)


_SLOT: Final = attrgetter("slot")
_VERSION: Final = attrgetter("version")


def _owned(tensor: Any, call: str, place: str) -> Any:
    tensor_only(tensor, f"{call}: {place}")
    if tensor.owns_tape:
        raise TapeError(messages.tape_unwanted(call, place))
    values = values_of(tensor)
    return np.array(values, order="C") if isinstance(values, np.ndarray) else values


def _always(_: object) -> bool:
    return True


fetched: Final[list[ref[State[Any, Any]]]] = []
"""What was read since a step under `jit` has last run, and so is on the device and here."""

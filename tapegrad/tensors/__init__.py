"""The tensor class, with its shape, tape and dtype in its type; the operands of ops, and nodes without a tape."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Never, NoReturn, Protocol, TypeAlias, Union, overload

import numpy as np
from typing_extensions import TypeAliasType, TypeVar, TypeVarTuple, deprecated, override

from tapegrad.autograd.op import install_operators
from tapegrad.autograd.parameter_tape import ParameterTape, record_parameters
from tapegrad.autograd.registry import IMPLEMENTATIONS
from tapegrad.autograd.tape import NONE, GradientTape, Merge, NoneTape, OwnedTape, Tape
from tapegrad.engines.interface import HALF
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.missing_names import MissingMethod
from tapegrad.errors.other_names import METHODS
from tapegrad.errors.tracebacks import public_api, trim_on_exit, trim_traceback
from tapegrad.tensors.aliases import N0, N1, N2, N3, N4, N5
from tapegrad.tensors.dlpack_export import CPU, exported
from tapegrad.tensors.einops_backend import register_with_einops
from tapegrad.tensors.methods import D_co as D_co
from tapegrad.tensors.methods import S_co as S_co
from tapegrad.tensors.methods import T_co as T_co
from tapegrad.tensors.methods import TensorMethods
from tapegrad.tensors.numpy_functions import NOT_GIVEN, call_function, call_ufunc, op_of_ufunc
from tapegrad.tensors.subclasses import subclass_defined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import EllipsisType, ModuleType

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Checkpointing, Node, Pullback
    from tapegrad.engines import Axis, Int, Value
    from tapegrad.tensors.merging import MYPY

    if not MYPY:
        from tapegrad.tensors.merging import (
            OpenDType,
            comparison,
            floor_division,
            inverse,
            operator_of_all,
            operator_of_bits,
            operator_of_floats,
            operator_of_ints,
            operator_of_numbers,
            operator_of_tensors,
            sign,
        )

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
S1 = TypeVar("S1", bound=tuple[Any, ...], default=Any)
S2 = TypeVar("S2", bound=tuple[Any, ...], default=Any)
T = TypeVar("T", bound=Tape, default=Any)
T1 = TypeVar("T1", bound=Tape, default=Any)  # inside the class `Tensor`, T is the property of that name
T2 = TypeVar("T2", bound=Tape, default=Any)
D = TypeVar("D", bound=np.generic, default=np.float32)
D1 = TypeVar("D1", bound=np.generic, default=np.float32)
D2 = TypeVar("D2", bound=np.generic, default=np.float32)
Rest = TypeVarTuple("Rest")  # the sizes of a row
G = TypeVar("G", bound=np.generic)
Float = TypeVar("Float", bound=np.floating[Any], default=np.float32)
Real = TypeVar("Real", bound=np.number[Any], default=np.float32)  # all dtypes except bool


class HasParameters(Protocol):
    """A module, or another object with parameters to differentiate with respect to."""

    def parameters(self) -> Mapping[str, Any]:
        """Return each parameter by its path."""


class _Alias(GenericAlias):
    """A generic alias of a tensor type; that of `typing` loses the defaults of type variables in Python 3.13.0."""

    @override
    def __getitem__(self, parameters: Any) -> GenericAlias:
        alias: Any = super().__getitem__(parameters)
        return _Alias(alias.__origin__, alias.__args__)

    # Unlike GenericAlias, it supports `|` with an alias that is still a string.
    @override
    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007  # this method defines `|`

    @override
    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007  # this method defines `|`


@install_operators
class Tensor(TensorMethods[S_co, T_co, D_co]):
    """An immutable array with its shape, gradient tape and dtype in its type.

    `Tensor[tuple[Literal[3], N], OwnedTape]` has three rows, `N` columns, a tape, and dtype float32. Create tensors
    with `tapegrad.tensor`; this constructor, for authors of ops, uses an array without copying or checking it.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> x
        Tensor([1., 2., 3.], shape=(3,), float32, no tape)
        >>> (x * 2.0 + 1.0).tolist()
        [3.0, 5.0, 7.0]
        >>> grads = (x.trace() ** 2).sum().backward()
        >>> grads[x].tolist()
        [2.0, 4.0, 6.0]
    """

    __slots__ = ("__weakref__", "data", "node", "tape")

    data: Value[S_co, D_co]
    tape: T_co
    node: Tensor[S_co, NoneTape, D_co]  # only where the tape holds ops: the same tensor without the tape

    has_plain_state: ClassVar[bool] = True  # False for a parameter, and for a node that may lack its value
    version: ClassVar[Any] = None  # of a parameter: the number of assignments
    frozen: ClassVar[Any] = False
    is_of_module: ClassVar[bool] = False  # True for parameters, buffers, and results computed from frozen ones alone
    is_saved: ClassVar[bool] = True  # False if the value may have been released

    def __init__(self, data: Value[S_co, D_co], tape: T_co = NONE) -> None:  # type: ignore[assignment]  # checkers that do not infer T_co need the default
        if not hasattr(data, "dtype"):
            with trim_on_exit:
                raise DTypeError(messages.no_array_given("Tensor", messages.with_article(type(data).__name__)))
        self.data = data
        self.tape = tape

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        subclass_defined(cls)

    @classmethod
    def __class_getitem__(cls, parameters: Any) -> GenericAlias:
        alias: Any = super().__class_getitem__(parameters)  # type: ignore[misc]  # Generic has it only at run time
        return _Alias(alias.__origin__, alias.__args__)

    @property
    def shape(self) -> S_co:
        """The sizes."""
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[D_co]:
        """The NumPy dtype of an element."""
        dtype: np.dtype[D_co] = self.data.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.data.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.data.size

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def owns_tape(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return self.tape.owns

    @property
    def is_training(self) -> bool:
        """Whether layers train on this tensor: it has a tape, and not one of `trace(training=False)`.

        Dropout then drops elements, and batch normalization uses the statistics of the batch and updates its own.
        """
        return self.tape.is_training

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float, so that the tensor can have a gradient."""
        return self.data.dtype.kind in "fV"

    # Tapes

    def trace(
        self: Untaped[S, D],
        wrt: Wrt | None = None,
        *,
        grads: Gradients | None = None,
        checkpoint: Checkpointing | None = None,
        training: bool = True,
    ) -> Tensor[S, OwnedTape, D]:
        """Return the same tensor with a new tape, which records operations from here on.

        Args:
            wrt: Tensors, or modules, to compute gradients of, unless `backward` names others; by default this tensor,
                if it is a float, and the parameters that are used.
            grads: Gradients to accumulate into; the tape adds its gradients after `backward` has succeeded.
            checkpoint: The checkpointing strategy, such as `BalancedCheckpointing()`; by default all values are saved.
            training: Whether layers train, such as dropout; False computes gradients of a prediction.

        Raises:
            TapeError: The tensor has a tape already.
            DTypeError: `wrt` names an object without a gradient, or another option has the wrong type.
        """
        try:
            if self.tape.owns:
                _reject(TapeError(messages.traced_twice(), op="trace"))
            tape = GradientTape(None if wrt is None else _targets(wrt), grads, checkpoint, training=training)
            plain: Any = self.node if self.tape.holds else self
            # A tensor computed from frozen parameters or detached from others is none itself.
            if wrt is None and plain.is_float and (not plain.frozen or plain.version is None):
                tape.leaves[plain] = None
            return plain.carrying(OwnedTape(tape) if plain is self else self._continuing(OwnedTape(tape)))
        except Exception as error:
            trim_traceback(error)
            raise

    def traced(
        self: Untaped[S, D],
        wrt: Wrt | None = None,
        *,
        grads: Gradients | None = None,
        checkpoint: Checkpointing | None = None,
        training: bool = True,
    ) -> Tensor[S, OwnedTape, D]:
        """Trace the tensor like `trace`, and let mypy report any later use of `x` after `x.traced()`.

        So the program cannot use the tensor without its tape by mistake. At run time `x` is unchanged.

        Args:
            wrt: Tensors, or modules, to compute gradients of, see `trace`.
            grads: Gradients to accumulate into.
            checkpoint: The checkpointing strategy, such as `BalancedCheckpointing()`; by default all values are saved.
            training: Whether layers train, such as dropout; False computes gradients of a prediction.

        Raises:
            TapeError: The tensor has a tape already.
            DTypeError: `wrt` names an object without a gradient, or another option has the wrong type.
        """
        with trim_on_exit:
            return self.trace(wrt, grads=grads, checkpoint=checkpoint, training=training)

    def split_tape(self) -> tuple[Tensor[S_co, NoneTape, D_co], T_co]:
        """Return the same tensor without its tape, and the tape: an op computes with one and records on the other."""
        plain: Any = self._plain()
        plain.save_value()
        return plain, self.tape

    def put_tape(self: Untaped[S, D], tape: T1) -> Tensor[S, T1, D]:
        """Return the same tensor with `tape`, which may be the tape of another tensor; ops use `tape.record` instead.

        Raises:
            TapeError: The tensor has a tape already, or `tape` is not a tape.
        """
        with trim_on_exit:
            if self.owns_tape:
                _reject(TapeError(messages.tape_unwanted("put_tape", "x"), op="put_tape"))
            if not isinstance(tape, Tape):
                message = f"put_tape: tape is {described(tape)}, neither a NoneTape nor an OwnedTape"
                _reject(TapeError(message, op="put_tape"))
            if isinstance(tape, OwnedTape) and isinstance(self.tape, ParameterTape):
                tape.adopt(self.tape)
        carrying: Any = self._plain().carrying(tape) if tape.owns else self
        return carrying

    def with_empty_tape(self) -> Tensor[S_co, T_co, D_co]:
        """Return the same tensor with an empty tape of the same kind, to record a branch of the computation.

        The tapes merge where the branches meet. `backward` of a single branch computes only gradients of parameters by
        default; pass other tensors as `wrt=`.
        """
        kind: Any = OwnedTape if self.owns_tape else NoneTape
        return self.retaped(kind)

    def retaped(self, kind: type[T1]) -> Tensor[S_co, T1, D_co]:
        """Return the same tensor with an empty tape of the given kind: `x.retaped(OwnedTape)`.

        Args:
            kind: `NoneTape` or `OwnedTape`; a function that is generic in the tape passes on its own argument. A tape
                after one of `trace(training=False)` is of that sort too.

        Raises:
            TapeError: `kind` is neither.
        """
        with trim_on_exit:
            if kind not in (NoneTape, OwnedTape):
                message = f"retaped: kind is {getattr(kind, '__name__', kind)}, neither NoneTape nor OwnedTape"
                _reject(TapeError(message, op="retaped"))
        retaped: Any
        if kind.owns:
            tape = OwnedTape(GradientTape(training=self.is_training or not self.owns_tape))
            retaped = self.split_tape()[0].carrying(self._continuing(tape))
        else:
            retaped = self.split_tape()[0] if self.owns_tape else self
        return retaped

    def carrying(self, tape: T1) -> Tensor[S_co, T1, D_co]:
        """Return this node with a tape, unchecked."""
        taped = _new(Tensor)
        taped.data, taped.tape, taped.node = self.data, tape, self
        return taped

    def _plain(self) -> Tensor[S_co, NoneTape, D_co]:
        """Return the node of this tensor, which it is itself if its tape holds no ops."""
        plain: Any = self.node if self.tape.holds else self
        return plain

    def _continuing(self, tape: OwnedTape) -> OwnedTape:
        """Return a new tape with the ops that computed this tensor from parameters, unless they are lost."""
        parameters: Any = self.tape
        return tape.adopt(parameters) if isinstance(parameters, ParameterTape) and not parameters.lost else tape

    def detach(self) -> Tensor[S_co, NoneTape, D_co]:
        """Return a new tensor of the same values without a tape.

        What is detached from parameters alone is a constant part of the model, not data: `(w - w.detach()) ** 2` has a
        gradient where it meets a tape.
        """
        plain: Tensor[S_co, NoneTape, D_co] = Tensor(self.data)
        if belongs_to_module(self):
            plain.mark_frozen()
        return plain

    def mark_frozen(self) -> None:
        """Mark this tensor, which has no tape, as computed from buffers and frozen parameters alone."""
        from tapegrad.tensors import nodes  # not at the top: nodes imports this module

        nodes.mark_frozen(self)

    def discard_value(self, *, for_good: bool) -> None:
        """Release the value if it can be computed again, which a plain tensor's cannot; for good with its operands."""

    def _recorded_on_parameters(
        self: Tensor[S, NoneTape, D], inputs: tuple[Node, ...], backward: Pullback, saved: tuple[Node, ...] | None
    ) -> Tensor[S, NoneTape, D]:
        """Return this result of an op on parameters with a `ParameterTape`; `NoneTape` is its base class."""
        recorded: Tensor[S, NoneTape, D] = record_parameters(self, inputs, backward, saved)
        return recorded

    def release_value(self) -> None:
        """Keep only a weak reference to the value, which stays alive while the taped tensor that shares it does."""
        from tapegrad.tensors import nodes  # not at the top: nodes imports this module

        nodes.release_value(self)

    def save_value(self) -> None:
        """Keep a strong reference to the value again if it was released, because a backward closure will read it."""

    def with_data(self, data: Value[S_co, D_co]) -> Tensor[S_co, NoneTape, D_co]:
        """Return a tensor without a tape that holds another array of the same shape and dtype."""
        with trim_on_exit:
            return Tensor(data)

    @public_api
    def backward(
        self: Taped[S, D],
        wrt: Wrt | None = None,
        *,
        seed: Tensor[S, NoneTape, D] | None = None,
        retain_tape: bool = False,
    ) -> Gradients:
        """Compute gradients by running the tape backwards, and consume the tape.

        Args:
            wrt: Tensors, or modules, to compute gradients of; by default the traced float tensors and parameters.
            seed: The upstream gradient of this tensor (PyTorch's `gradient=`); by default 1 for a scalar.
            retain_tape: Whether the tape can be used again afterwards (PyTorch's `retain_graph=`), for another loss, or
                for the same one with another seed; then it keeps the memory that it would free.

        Returns:
            Gradients, looked up by tensor.

        Raises:
            TapeError: There is no tape, it has been consumed, or a parameter was assigned since.
            ShapeError: The tensor is not a scalar and has no seed, or the seed has another shape.
            DTypeError: The tensor is not a float, or the seed has another dtype.
        """
        data: Any = self.data
        if seed is not None or data.shape != () or not self.tape.owns or data.dtype.kind not in "fV":
            self._check_seed(seed)
        value: Any = as_compute_dtype(data.dtype.type(1)) if seed is None else seed.data
        if hasattr(data, "like"):  # under `jit` the seed is traced, so that all gradients are
            value = data.like(value)
        elif isinstance(data, Tensor) and data.owns_tape and not isinstance(value, Tensor):
            value = node(value).put_tape(data.tape)  # so that the tape below records all of the gradient
        return self.tape.tape.backward(self.node, value, None if wrt is None else _targets(wrt), retain=retain_tape)

    def _check_seed(self, seed: Any) -> None:
        is_alike = isinstance(seed, Tensor) and seed.data.shape == self.data.shape and seed.dtype == self.dtype
        if is_alike and self.owns_tape and self.is_float:
            return
        facts: dict[str, Any] = {"op": "backward", "taped": {"x": self.owns_tape}, "dtypes": {"x": str(self.dtype)}}
        if not self.owns_tape:
            raise TapeError(messages.not_differentiable(), **facts)
        if not self.is_float:
            message = f"backward: x is {self.dtype}, which has no gradient"
            raise DTypeError(message, **facts)
        if seed is not None and not (isinstance(seed, Tensor) and seed.dtype == self.dtype):
            message = f"backward: seed is {described(seed)} but x is {self.dtype}"
            raise DTypeError(message, **facts)
        if seed is None and self.shape != ():
            raise ShapeError(messages.not_scalar(self.shape), shapes={"x": self.shape}, **facts)
        if seed is not None and seed.shape != self.shape:
            facts |= {"shapes": {"x": self.shape, "seed": seed.shape}, "expected": {"seed": self.shape}}
            raise ShapeError(messages.other_sizes("backward", "seed", seed.shape, self.shape), **facts)

    # Conversion to NumPy and Python

    def numpy(self, *, copy: bool = False) -> np.ndarray[S_co, np.dtype[D_co]]:
        """Return the values as a NumPy array: a read-only view, or a writable copy."""
        # For a tensor of tensors, the values of the innermost level.
        data = self.data.numpy() if isinstance(self.data, Tensor) else self.data
        with trim_on_exit:
            array = np.array(data, copy=True) if copy else np.asarray(data).view()
        array.flags.writeable = copy
        return array  # type: ignore[return-value]  # NumPy's stubs lose the shape of a copy

    if not TYPE_CHECKING:  # otherwise checkers infer that numpy_array + x is an array

        @public_api
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  # NumPy's protocol
            if self.owns_tape:
                message = "the tensor has a tape, which a NumPy array would lose; detach it first"
                raise TapeError(message)
            array = self.numpy(copy=bool(copy))
            return array if dtype is None or dtype == array.dtype else array.astype(dtype)

    if TYPE_CHECKING:  # as NumPy's stubs have it, so that other checkers accept `np.exp(x)`

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    else:
        # Most ufuncs have one or two operands, which need no tuple (benchmarks/devices.py, "two operands").
        def __array_ufunc__(
            self, ufunc: np.ufunc, method: str, x: Any, y: Any = NOT_GIVEN, /, *rest: Any, **options: Any
        ) -> Any:
            try:
                op = op_of_ufunc(ufunc)
                if op is None or options or rest or method != "__call__":
                    operands = (x,) if y is NOT_GIVEN else (x, y, *rest)
                    return call_ufunc(ufunc, method, *operands, **options)
                return op(x) if y is NOT_GIVEN else op(x, y)
            except Exception as error:
                trim_traceback(error)
                raise

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
            return NotImplemented
        with trim_on_exit:
            return call_function(function, args, kwargs)

    @public_api
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return `tapegrad.array_api`, the functions of the array API standard.

        Args:
            api_version: The year and month of the standard that the caller was written for, such as "2023.12".

        Raises:
            DTypeError: The version is later than that of `tapegrad.array_api`.
        """
        from tapegrad.tensors.array_namespace import namespace

        return namespace(api_version)

    @public_api
    def __dlpack__(self, **options: Any) -> Any:
        """Return the values as a DLPack capsule, for `torch.from_dlpack(x)` and the like.

        The values are copied, so that the other library may write into them, unless it asks with `copy=False`.

        Args:
            options: `stream`, `max_version`, `dl_device` and `copy` of the array API standard.

        Raises:
            TapeError: The tensor has a tape, which the other library would lose.
            DTypeError: The dtype is bfloat16, which NumPy does not export.
        """
        return exported(self, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device of what `__dlpack__` returns: 1 for the CPU, and 0, its number."""
        return CPU

    @overload
    def item(self: Tensor[Any, Any, Never]) -> Any: ...  # matches only dtype Any, before the float overload does
    @overload
    def item(self: Tensor[Any, Any, np.floating[Any]]) -> float: ...
    @overload
    def item(self: Tensor[Any, Any, np.integer[Any]]) -> int: ...
    @overload
    def item(self: Tensor[Any, Any, np.bool_]) -> bool: ...
    @overload
    def item(self) -> Any: ...
    def item(self) -> Any:
        """Return the only element as a Python number: a float, an int or a bool, according to its dtype."""
        try:
            return self._only("item")
        except Exception as error:
            trim_traceback(error)
            raise

    def tolist(self) -> Any:
        """Return nested lists of Python numbers."""
        return self.numpy().tolist()

    def __float__(self) -> float:
        with trim_on_exit:
            return float(self._only("float"))

    def __int__(self) -> int:
        with trim_on_exit:
            return int(self._only("int"))

    def __bool__(self) -> bool:
        with trim_on_exit:
            return bool(self._only("bool"))

    @override
    def __format__(self, spec: str) -> str:
        with trim_on_exit:
            return format(self._only("format"), spec) if spec else str(self)

    def __len__(self) -> int:
        if not self.shape:
            message = "len: a tensor of shape () has no length"
            with trim_on_exit:
                raise TypeError(message)
        length: int = self.shape[0]
        return length

    def __setitem__(self, index: object, value: Never) -> None:  # not NoReturn: checkers skip code after a NoReturn
        with trim_on_exit:
            raise TypeError(messages.immutable(messages.written_index(index)))

    def __getitem__(self, index: Index[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["getitem"](self, index)

    @overload
    def __iter__(  # pyright: ignore[reportOverlappingOverload]  # mypy reports a tensor of shape ()
        self: Tensor[tuple[Any, *Rest], T_co, D_co],
    ) -> Iterator[Tensor[tuple[*Rest], T_co, D_co]]: ...
    @overload
    def __iter__(self) -> Iterator[Tensor[Any, T_co, D_co]]: ...
    def __iter__(self) -> Iterator[Any]:
        with trim_on_exit:
            for row in range(len(self)):
                yield IMPLEMENTATIONS["getitem"](self, row)

    @override
    def __repr__(self) -> str:
        tape = "owned tape" if self.owns_tape else "no tape"
        return f"Tensor({self._printed(7)}, shape={self.shape}, {self.dtype}, {tape})"

    @override
    def __str__(self) -> str:
        return self._printed(0)

    def _printed(self, indent: int) -> str:
        values = values_of(self)
        if not isinstance(values, np.ndarray):
            return str(values)  # while `jit` traces
        return np.array2string(values, separator=", ", prefix=" " * indent)

    def _only(self, question: str) -> Any:
        values: Any = self.data
        if values.size != 1:
            message = messages.not_one_element(question, self.shape, self.size)
            raise ShapeError(message, op=question, shapes={"x": self.shape})
        return (values if isinstance(values, _ARRAYS) else np.asarray(values_of(values))).item()

    # Operators and methods of numpy.ndarray, looked up in the op table; the plugin infers types from the ops' rules

    def __neg__(self) -> Tensor[S_co, T_co, D_co]:
        return IMPLEMENTATIONS["neg"](self)

    def __pos__(self) -> Tensor[S_co, T_co, D_co]:
        return IMPLEMENTATIONS["positive"](self)

    def __abs__(self) -> Tensor[S_co, T_co, D_co]:
        return IMPLEMENTATIONS["abs"](self)

    def __add__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["add"](self, y)

    def __radd__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["add"](y, self)

    def __sub__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["sub"](self, y)

    def __rsub__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["sub"](y, self)

    def __mul__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["mul"](self, y)

    def __rmul__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["mul"](y, self)

    def __truediv__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["div"](self, y)

    def __rtruediv__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["div"](y, self)

    def __floordiv__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["floor_divide"](self, y)

    def __rfloordiv__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["floor_divide"](y, self)

    def __mod__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["remainder"](self, y)

    def __rmod__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["remainder"](y, self)

    def __divmod__(self, y: Operand[T2]) -> tuple[Tensor[Any, NoneTape, D_co], Tensor[Any, Merge[T_co, T2], D_co]]:
        return IMPLEMENTATIONS["divmod"](self, y)

    def __rdivmod__(self, y: Number) -> tuple[Tensor[Any, NoneTape, D_co], Tensor[Any, T_co, D_co]]:
        return IMPLEMENTATIONS["divmod"](y, self)

    def __pow__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["pow"](self, y)

    def __rpow__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["pow"](y, self)

    def __matmul__(self, y: Operand[T2]) -> Tensor[Any, Merge[T_co, T2], D_co]:
        return IMPLEMENTATIONS["matmul"](self, y)

    def __rmatmul__(self, y: Number) -> Tensor[Any, T_co, D_co]:
        return IMPLEMENTATIONS["matmul"](y, self)

    def __eq__(self, y: object) -> Tensor[Any, NoneTape, np.bool_]:  # type: ignore[override]  # as NumPy's
        return IMPLEMENTATIONS["equal"](self, y)

    def __ne__(self, y: object) -> Tensor[Any, NoneTape, np.bool_]:  # type: ignore[override]  # as NumPy's
        return IMPLEMENTATIONS["not_equal"](self, y)

    def __lt__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, np.bool_]:
        return IMPLEMENTATIONS["less"](self, y)

    def __le__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, np.bool_]:
        return IMPLEMENTATIONS["less_equal"](self, y)

    def __gt__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, np.bool_]:
        return IMPLEMENTATIONS["greater"](self, y)

    def __ge__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, np.bool_]:
        return IMPLEMENTATIONS["greater_equal"](self, y)

    def __and__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_and"](self, y)

    def __rand__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_and"](y, self)

    def __or__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_or"](self, y)

    def __ror__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_or"](y, self)

    def __xor__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_xor"](self, y)

    def __rxor__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_xor"](y, self)

    def __lshift__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_left_shift"](self, y)

    def __rlshift__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_left_shift"](y, self)

    def __rshift__(self, y: Operand[Any]) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_right_shift"](self, y)

    def __rrshift__(self, y: Number) -> Tensor[Any, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_right_shift"](y, self)

    def __invert__(self) -> Tensor[S_co, NoneTape, D_co]:
        return IMPLEMENTATIONS["bitwise_invert"](self)

    if TYPE_CHECKING:  # nested, because pyrefly does not evaluate a condition with `and`
        if not MYPY:
            # An axis of type Any matches Never, and must not match None.
            @overload
            def sum(
                self: Tensor[Any, T1, OpenDType], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Any]: ...
            @overload
            def sum(
                self: Tensor[Any, Any, np.bool_], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.int64]: ...
            @overload
            def sum(self, axis: Never, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...
            @overload
            def sum(self: Tensor[Any, T1, OpenDType], axis: None = None) -> Tensor[tuple[()], T1, Any]: ...
            @overload
            def sum(self: Tensor[Any, Any, np.bool_], axis: None = None) -> Tensor[tuple[()], NoneTape, np.int64]: ...
            @overload
            def sum(self, axis: None = None) -> Tensor[tuple[()], T_co, D_co]: ...
            @overload
            def sum(
                self: Tensor[Any, T1, OpenDType], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Any]: ...
            @overload
            def sum(
                self: Tensor[Any, Any, np.bool_], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.int64]: ...
            @overload
            def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...
            @overload
            def mean(
                self: Tensor[Any, T1, OpenDType], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Any]: ...
            @overload
            def mean(
                self: Tensor[Any, Any, np.bool_], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.float32]: ...
            @overload
            def mean(
                self: Tensor[Any, T1, Float], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Float]: ...
            @overload
            def mean(self: Tensor[Any, T1, OpenDType], axis: None = None) -> Tensor[tuple[()], T1, Any]: ...
            @overload
            def mean(
                self: Tensor[Any, Any, np.bool_], axis: None = None
            ) -> Tensor[tuple[()], NoneTape, np.float32]: ...
            @overload
            def mean(self: Tensor[Any, T1, Float], axis: None = None) -> Tensor[tuple[()], T1, Float]: ...
            @overload
            def mean(
                self: Tensor[Any, T1, OpenDType], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Any]: ...
            @overload
            def mean(
                self: Tensor[Any, Any, np.bool_], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.float32]: ...
            @overload
            def mean(
                self: Tensor[Any, T1, Float], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T1, Float]: ...
            @overload
            def max(self, axis: Never, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...
            @overload
            def max(self, axis: None = None) -> Tensor[tuple[()], T_co, D_co]: ...
            @overload
            def max(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...
            @overload
            def min(self, axis: Never, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...
            @overload
            def min(self, axis: None = None) -> Tensor[tuple[()], T_co, D_co]: ...
            @overload
            def min(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T_co, D_co]: ...

            @operator_of_all
            def __add__(self, y: Any) -> Any: ...

            @operator_of_all
            def __radd__(self, y: Any) -> Any: ...

            @operator_of_all
            def __mul__(self, y: Any) -> Any: ...

            @operator_of_all
            def __rmul__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __sub__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __rsub__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __mod__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __rmod__(self, y: Any) -> Any: ...

            @floor_division
            def __floordiv__(self, y: Any) -> Any: ...

            @floor_division
            def __rfloordiv__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __pow__(self, y: Any) -> Any: ...

            @operator_of_numbers
            def __rpow__(self, y: Any) -> Any: ...

            @operator_of_floats
            def __truediv__(self, y: Any) -> Any: ...

            @operator_of_floats
            def __rtruediv__(self, y: Any) -> Any: ...

            @operator_of_tensors
            def __matmul__(self, y: Any) -> Any: ...

            @operator_of_tensors
            def __rmatmul__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __and__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __rand__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __or__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __ror__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __xor__(self, y: Any) -> Any: ...

            @operator_of_bits
            def __rxor__(self, y: Any) -> Any: ...

            @operator_of_ints
            def __lshift__(self, y: Any) -> Any: ...

            @operator_of_ints
            def __rlshift__(self, y: Any) -> Any: ...

            @operator_of_ints
            def __rshift__(self, y: Any) -> Any: ...

            @operator_of_ints
            def __rrshift__(self, y: Any) -> Any: ...

            @sign
            def __neg__(self) -> Any: ...

            @sign
            def __pos__(self) -> Any: ...

            @inverse
            def __invert__(self) -> Any: ...

            @comparison
            def __lt__(self, y: Any) -> Any: ...

            @comparison
            def __le__(self, y: Any) -> Any: ...

            @comparison
            def __gt__(self, y: Any) -> Any: ...

            @comparison
            def __ge__(self, y: Any) -> Any: ...

    __hash__ = object.__hash__

    @property
    def T(self) -> Tensor[Any, T_co, D_co]:  # noqa: N802  # NumPy's name
        """The transpose: all axes in reverse order."""
        try:
            return IMPLEMENTATIONS["transpose"](self)
        except Exception as error:
            trim_traceback(error)
            raise

    @property
    def mT(self) -> Tensor[Any, T_co, D_co]:  # noqa: N802  # NumPy's name
        """The tensor with its last two axes swapped, see `tapegrad.matrix_transpose`."""
        try:
            return IMPLEMENTATIONS["matrix_transpose"](self)
        except Exception as error:
            trim_traceback(error)
            raise


def node(data: Value[S, D] | np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]:
    """Return a tensor without a tape that holds the result of an op, without checking it.

    Examples:
        >>> x = tg.node(np.float32([1.0, 2.0]))
        >>> x.tolist()
        [1.0, 2.0]
        >>> x.owns_tape
        False
    """
    out = _new(Tensor)
    out.data, out.tape = data, NONE
    return out


@public_api
@deprecated("tapegrad.handle is called tapegrad.node since 0.2.0, and its old name is removed in 0.3.0", category=None)
def handle(data: Value[S, D] | np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]:
    """Return `node(data)`; deprecated: use `node`.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     x = tg.handle(np.float32([1.0, 2.0]))
        >>> x.tolist(), caught[0].category.__name__
        ([1.0, 2.0], 'DeprecationWarning')
    """
    warnings.warn(vars(handle)["__deprecated__"], DeprecationWarning, stacklevel=3)
    return node(data)


def from_array(data: Value[S, D] | np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]:
    """Return a tensor without a tape that holds a new array, possibly of half precision."""
    return node(as_compute_dtype(data))


def as_compute_dtype(data: Any) -> Any:
    """Return a half-precision array as one that computes in float32, and other arrays unchanged."""
    if data.dtype.char not in HALF:
        return data
    from tapegrad.engines.numpy.half_array import halves  # imported on demand: few programs need it

    return halves(data)


def values_of(x: Any) -> Any:
    """Return the values of a tensor or raw value without any tapes: an array, or a traced value under `jit`."""
    while isinstance(x, Tensor):
        x = x.data
    return x if hasattr(x, "__array_function__") else np.asarray(x)


def belongs_to_module(x: Tensor[Any, Any, Any]) -> bool:
    """Return whether a tensor is a parameter, a buffer, or computed from them alone, without an owned tape."""
    return x.is_of_module or (x.tape.holds and not x.tape.owns)


def described(value: Any) -> str:
    """Return the dtype of a tensor, or the type of another value with its article, for messages."""
    return str(value.dtype) if isinstance(value, Tensor) else messages.with_article(type(value).__name__)


def _reject(error: Exception) -> NoReturn:
    raise error


def _targets(wrt: Any) -> list[Tensor[Any, NoneTape, Any]]:
    """Return the tensors in `wrt`, a tensor, a module, or a dict or iterable of these, without their tapes."""
    if isinstance(wrt, Tensor):
        if not wrt.is_float:
            raise DTypeError(messages.target_without_gradient(str(wrt.dtype)))
        return [wrt.split_tape()[0]]
    if hasattr(wrt, "_unfrozen"):  # a module
        unfrozen: list[Tensor[Any, NoneTape, Any]] = wrt._unfrozen()
        return unfrozen
    if hasattr(wrt, "parameters"):
        return [parameter for parameter in wrt.parameters().values() if not parameter.frozen]
    if isinstance(wrt, str | np.ndarray) or not hasattr(wrt, "__iter__"):
        raise DTypeError(messages.wrong_target(described(wrt)))
    return [target for one in (wrt.values() if isinstance(wrt, Mapping) else wrt) for target in _targets(one)]


for _name in METHODS:
    setattr(Tensor, _name, MissingMethod(_name))

_ARRAYS = (np.ndarray, np.generic)  # no union (benchmarks/devices.py, "a tuple of types")
_new: Any = object.__new__  # Any: the caller annotates the result

Sizes: TypeAlias = "tuple[Int, ...]"
SizesOrList: TypeAlias = "tuple[Int, ...] | list[int]"  # as NumPy and PyTorch take the shape to reshape to
Number: TypeAlias = "float | np.ndarray[Any, np.dtype[Any]] | np.generic"
Scalar: TypeAlias = "float | np.floating[Any] | np.integer[Any]"
Operand: TypeAlias = "Tensor[Any, T2, Any] | Number"
IndexItem: TypeAlias = (
    "Int | slice | EllipsisType | Tensor[Any, T2, Any] | np.ndarray[Any, np.dtype[Any]] | list[int]"
    " | tuple[int, ...] | None"
)
Index: TypeAlias = (
    "int | np.integer[Any] | slice | EllipsisType | Tensor[Any, T2, Any] | np.ndarray[Any, np.dtype[Any]]"
    " | list[int] | tuple[IndexItem[T2], ...] | None"
)
Wrt: TypeAlias = "Tensor[Any, Any, Any] | HasParameters | Mapping[str, Wrt] | Iterable[Wrt]"
# Other checkers see the strict form; the plugin accepts any tape here and reports errors with tapegrad's messages.
Untaped = TypeAliasType("Untaped", Tensor[S, NoneTape, D], type_params=(S, D))
Taped = TypeAliasType("Taped", Tensor[S, OwnedTape, D], type_params=(S, D))

Tensor0D: TypeAlias = Tensor[tuple[()], T, D]
Tensor1D: TypeAlias = Tensor[tuple[N0], T, D]
Tensor2D: TypeAlias = Tensor[tuple[N0, N1], T, D]
Tensor3D: TypeAlias = Tensor[tuple[N0, N1, N2], T, D]
Tensor4D: TypeAlias = Tensor[tuple[N0, N1, N2, N3], T, D]
Tensor5D: TypeAlias = Tensor[tuple[N0, N1, N2, N3, N4], T, D]
Tensor6D: TypeAlias = Tensor[tuple[N0, N1, N2, N3, N4, N5], T, D]

register_with_einops(Tensor)

"""Traced values: an array while `jit` traces, with its shape, its dtype, and the computation that JAX records."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from typing_extensions import override

from tapegrad.autograd.explain import NoNumbersError
from tapegrad.engines import Value
from tapegrad.errors import TapeError, messages
from tapegrad.jax.library import jax, jnp
from tapegrad.jax.symbolic import count_of
from tapegrad.sizes.symbols import is_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.autograd.registry import Op


class UntraceableError(TapeError, NoNumbersError):
    """The step read the elements of a tensor while it was traced; they exist only when it runs."""

    @override
    def answer(self, entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        error = TapeError(messages.untraceable(entry.name), op=entry.name)  # see `op`: the message is complete
        raise error from None


class Number(ABC):
    """A placeholder for a number that a step is given; `isinstance` treats it as a number of that type."""

    __slots__ = ()

    @abstractmethod
    def fix(self) -> Any:
        """Return the value, and restrict the program to this value."""

    @abstractmethod
    def in_dtype_of(self, x: Traced) -> Any:
        """Return the operand that an operator uses beside a value: an input of the program, or the number itself."""


class Traced(Value[Any, Any]):
    """A value of a step that is being traced; NumPy functions of it run in JAX.

    So an op that is written with NumPy runs in JAX unchanged, unless it reads elements.
    """

    __slots__ = ("array", "carries")

    def __init__(self, array: Any, carries: Callable[[object], bool]) -> None:
        self.array = array
        self.carries = carries  # returns whether a parameter was given to the step

    @property
    @override
    def shape(self) -> Any:
        return self.array.shape

    @property
    @override
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    @override
    def ndim(self) -> int:
        ndim: int = self.array.ndim
        return ndim

    @property
    @override
    def size(self) -> int:
        size: int = count_of(self.array.size)
        return size

    @property
    @override
    def T(self) -> Traced:
        return self.transpose(None)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        function = getattr(jnp, name, None) if method == "__call__" else _METHODS.get((name, method))
        if function is None or "out" in options:
            return NotImplemented
        return computed(function, *inputs, **options)

    def __array_function__(self, function: Any, _: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        namespace = jnp.linalg if function.__module__ == "numpy.linalg" else jnp
        twin = getattr(namespace, function.__name__, None)
        return NotImplemented if twin is None else computed(twin, *args, **options)

    # Elements, which are not available

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise UntraceableError(messages.untraceable("jit"))

    __bool__ = __float__ = __int__ = __index__ = __array__

    @override
    def __repr__(self) -> str:
        return f"Traced({self.shape}, {self.dtype})"

    # Operators

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Traced]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: Any) -> Traced:
        return computed(operator.getitem, self, index)

    @override
    def __neg__(self) -> Traced:
        return computed(operator.neg, self)

    def __abs__(self) -> Traced:
        return computed(operator.abs, self)

    def __invert__(self) -> Traced:
        return computed(operator.invert, self)

    @override
    def __add__(self, y: Any, /) -> Traced:
        return _binary(operator.add, self, y)

    @override
    def __radd__(self, y: Any, /) -> Traced:
        return _binary(operator.add, y, self)

    @override
    def __sub__(self, y: Any, /) -> Traced:
        return _binary(operator.sub, self, y)

    @override
    def __rsub__(self, y: Any, /) -> Traced:
        return _binary(operator.sub, y, self)

    @override
    def __mul__(self, y: Any, /) -> Traced:
        return _binary(operator.mul, self, y)

    @override
    def __rmul__(self, y: Any, /) -> Traced:
        return _binary(operator.mul, y, self)

    @override
    def __truediv__(self, y: Any, /) -> Traced:
        return _binary(operator.truediv, self, y)

    @override
    def __rtruediv__(self, y: Any, /) -> Traced:
        return _binary(operator.truediv, y, self)

    def __floordiv__(self, y: Any, /) -> Traced:
        return _binary(operator.floordiv, self, y)

    def __mod__(self, y: Any, /) -> Traced:
        return _binary(operator.mod, self, y)

    @override
    def __matmul__(self, y: Any, /) -> Traced:
        return _binary(operator.matmul, self, y)

    def __rmatmul__(self, y: Any, /) -> Traced:
        return _binary(operator.matmul, y, self)

    def __pow__(self, y: Any, /) -> Traced:
        return _binary(operator.pow, self, y)

    def __rpow__(self, y: Any, /) -> Traced:
        return _binary(operator.pow, y, self)

    def __and__(self, y: Any, /) -> Traced:
        return _binary(operator.and_, self, y)

    def __rand__(self, y: Any, /) -> Traced:
        return _binary(operator.and_, y, self)

    def __or__(self, y: Any, /) -> Traced:
        return _binary(operator.or_, self, y)

    def __ror__(self, y: Any, /) -> Traced:
        return _binary(operator.or_, y, self)

    def __xor__(self, y: Any, /) -> Traced:
        return _binary(operator.xor, self, y)

    def __lt__(self, y: Any, /) -> Traced:
        return _binary(operator.lt, self, y)

    def __le__(self, y: Any, /) -> Traced:
        return _binary(operator.le, self, y)

    def __gt__(self, y: Any, /) -> Traced:
        return _binary(operator.gt, self, y)

    def __ge__(self, y: Any, /) -> Traced:
        return _binary(operator.ge, self, y)

    @override
    def __eq__(self, y: object) -> Any:
        return _binary(operator.eq, self, y)

    @override
    def __ne__(self, y: object) -> Any:
        return _binary(operator.ne, self, y)

    __hash__ = object.__hash__

    # The methods of numpy.ndarray that ops use

    @override
    def reshape(self, *shape: Any) -> Traced:
        return computed(jnp.reshape, self, shape[0] if len(shape) == 1 else shape)

    @override
    def transpose(self, *axes: Any) -> Traced:
        return computed(jnp.transpose, self, axes[0] if len(axes) == 1 else axes or None)

    def astype(self, dtype: Any, *, copy: bool = True) -> Traced:
        """Convert to another dtype."""
        return computed(jnp.astype, self, dtype) if copy or self.dtype != dtype else self

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        """Add up along axes."""
        return computed(jnp.sum, self, axis, keepdims=keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        """Average along axes."""
        return computed(jnp.mean, self, axis, keepdims=keepdims)

    def var(self, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Traced:
        """Compute the variance along axes."""
        return computed(jnp.var, self, axis, ddof=ddof, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False, initial: Any = None) -> Traced:
        """Return the maximum along axes."""
        return computed(jnp.max, self, axis, keepdims=keepdims, initial=initial)

    def min(self, axis: Any = None, *, keepdims: bool = False, initial: Any = None) -> Traced:
        """Return the minimum along axes."""
        return computed(jnp.min, self, axis, keepdims=keepdims, initial=initial)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        """Return whether all elements along axes are true."""
        return computed(jnp.all, self, axis, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Traced:
        """Return whether any element along axes is true."""
        return computed(jnp.any, self, axis, keepdims=keepdims)

    def like(self, value: Any) -> Traced:
        """Return a constant as a traced value."""
        return Traced(jnp.asarray(_bare(value, [])), self.carries)

    def clip(self, low: Any, high: Any) -> Traced:
        """Limit each element to an interval."""
        return computed(jnp.clip, self, low, high)


def computed(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Compute with traced values, also in tuples and lists, in JAX, and return traced values.

    Raises:
        TapeError: The function reads elements, such as those of a mask; or a value is from an earlier trace.
    """
    carries: list[Callable[[object], bool]] = []
    try:
        given = [_bare(value, carries) for value in args]
        named = {name: _bare(value, carries) for name, value in options.items()}
        return _wrapped(function(*given, **named), carries[0] if carries else carries_nothing)
    except jax.errors.UnexpectedTracerError:
        raise TapeError(messages.traced_before()) from None
    except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError):
        raise UntraceableError(messages.untraceable("jit")) from None


def bare_of(value: Any) -> Any:
    """Return the array of a traced value, and any other value unchanged."""
    return _bare(value, [])


def _bare(value: Any, carries: list[Callable[[object], bool]]) -> Any:
    if isinstance(value, Traced):
        carries.append(value.carries)
        return value.array
    if isinstance(value, Number):
        return value.fix()
    if is_symbol(value):
        return getattr(value, "plain", value)  # JAX must know which comparisons it cannot decide
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(_bare(one, carries) for one in value)
    return value


def _wrapped(found: Any, carries: Callable[[object], bool]) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(_wrapped(one, carries) for one in found)
    return Traced(found, carries) if isinstance(found, jax.Array) else found


def _binary(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Compute with two operands; an operand that is a tensor handles the operation itself."""
    if hasattr(x, "tape") or hasattr(y, "tape"):
        return NotImplemented
    if isinstance(x, Number):
        x = x.in_dtype_of(y)
    elif isinstance(y, Number):
        y = y.in_dtype_of(x)
    return computed(function, x, y)


def carries_nothing(_: object) -> bool:
    """Return that no parameter is among what a value was computed from: it is a constant."""
    return False


_METHODS = {
    ("add", "reduce"): jnp.sum,
    ("equal", "outer"): lambda x, y: jnp.expand_dims(x, tuple(range(-np.ndim(y), 0))) == y,
    ("maximum", "reduce"): jnp.max,
    ("minimum", "reduce"): jnp.min,
    ("multiply", "reduce"): jnp.prod,
}

"""The interface of arrays of any engine, and the primitives that an engine implements.

A backward closure uses only the operators of `Value` and the primitives of `Backend`, so it works with every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial, reduce
from math import inf, nan
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias

from typing_extensions import TypeVar

from tapegrad.engines.loops import run_steps
from tapegrad.engines.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tapegrad.engines.windows import Windows

S = TypeVar("S", bound=tuple[Any, ...], covariant=True, default=Any)
D = TypeVar("D", covariant=True, default=Any)
V = TypeVar("V", default=Any)
I = TypeVar("I", default=V)
B = TypeVar("B", default=V)
Q = TypeVar("Q", default=Any)

Int: TypeAlias = "int | np.integer[Any]"
Axis: TypeAlias = "Int | tuple[Int, ...] | None"
Elementwise: TypeAlias = Literal[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "heaviside",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "nextafter",
    "pow",
    "remainder",
    "round",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "softplus",
    "spacing",
    "sqrt",
    "tan",
    "trunc",
]
Pairwise: TypeAlias = Literal["divmod", "frexp", "modf"]
Decomposition: TypeAlias = Literal["cholesky", "eigh", "qr", "slogdet", "svd"]
HALF: Final = ("e", "E")  # the letters of float16, and of bfloat16 in ml_dtypes: computed in float32
Combining: TypeAlias = Literal["multiply", "maximum", "minimum"]
Pooling: TypeAlias = Literal["add", "maximum", "minimum"]


class Value(ABC, Generic[S, D]):
    """An array of any engine, with its shape and dtype in its type.

    NumPy's and JAX's arrays are values, and so is a tensor, which allows differentiating a backward pass again.
    An ABC and not a protocol: a type checker would compare the members of each result recursively without end.
    """

    @property
    @abstractmethod
    def shape(self) -> S: ...
    @property
    @abstractmethod
    def dtype(self) -> Any: ...
    @property
    @abstractmethod
    def T(self) -> Value[Any, D]: ...  # noqa: N802  # NumPy's name
    @property
    @abstractmethod
    def ndim(self) -> int: ...
    @property
    @abstractmethod
    def size(self) -> int: ...
    @abstractmethod
    def __neg__(self) -> Value[S, D]: ...
    @abstractmethod
    def __add__(self, y: Any, /) -> Value[Any, D]: ...
    @abstractmethod
    def __radd__(self, y: float, /) -> Value[S, D]: ...
    @abstractmethod
    def __sub__(self, y: Any, /) -> Value[Any, D]: ...
    @abstractmethod
    def __rsub__(self, y: float, /) -> Value[S, D]: ...
    @abstractmethod
    def __mul__(self, y: Any, /) -> Value[Any, D]: ...
    @abstractmethod
    def __rmul__(self, y: float, /) -> Value[S, D]: ...
    @abstractmethod
    def __truediv__(self, y: Any, /) -> Value[Any, D]: ...
    @abstractmethod
    def __rtruediv__(self, y: float, /) -> Value[S, D]: ...
    @abstractmethod
    def __matmul__(self, y: Any, /) -> Value[Any, D]: ...
    @abstractmethod
    def reshape(self, shape: Any) -> Value[Any, D]: ...
    @abstractmethod
    def transpose(self, axes: Any) -> Value[Any, D]: ...


class ConvWindow(NamedTuple):
    """The geometry of a correlation of cells with kernels: a number for each axis.

    `input_dilation` is the dilation of the cells, `dilation` that of the kernels, and `padding_before` the number of
    leading zeros.
    """

    sizes: tuple[int, ...]  # of the result
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    input_dilation: tuple[int, ...]
    padding_before: tuple[int, ...]


class Backend(ABC, Generic[V, I, B, Q]):
    """The primitives of an engine over its own values; operators, `reshape` and `transpose` belong to the values.

    `V` is the type of its float arrays, `I` of integer arrays, `B` of bool arrays and `Q` of quantized tensors; they
    may be the same type. A primitive that takes values of any dtype, for example `concat`, is typed with `V`.
    """

    name: str
    compiles_loops: ClassVar[bool] = False  # whether `scan` runs the step once, for all elements

    @abstractmethod
    def exp(self, x: V) -> V:
        """Compute `e ** x`."""

    @abstractmethod
    def log(self, x: V) -> V:
        """Compute the natural logarithm."""

    @abstractmethod
    def tanh(self, x: V) -> V:
        """Compute the hyperbolic tangent."""

    @abstractmethod
    def relu(self, x: V) -> V:
        """Compute `max(x, 0)`."""

    @abstractmethod
    def map(self, name: Elementwise, *operands: V) -> V:
        """Apply the elementwise function with the name of its op, which is NumPy's if NumPy has it."""

    @abstractmethod
    def pair(self, name: Pairwise, *operands: V) -> tuple[V, V]:
        """Apply the elementwise function of two results with the name of its op, which is NumPy's."""

    @abstractmethod
    def sum(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Add up along axes."""

    @abstractmethod
    def max(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Return the maximum along axes; NaN propagates."""

    @abstractmethod
    def min(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Return the minimum along axes; NaN propagates."""

    @abstractmethod
    def prod(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Multiply along axes."""

    @abstractmethod
    def argmax(self, x: V, axis: Int | None, *, keepdims: bool) -> I:
        """Return the index of the first maximum along an axis, or among all elements."""

    @abstractmethod
    def argmin(self, x: V, axis: Int | None, *, keepdims: bool) -> I:
        """Return the index of the first minimum along an axis, or among all elements."""

    @abstractmethod
    def all(self, x: V, axis: Axis, *, keepdims: bool) -> B:
        """Return whether all elements along axes are true, or not zero."""

    @abstractmethod
    def any(self, x: V, axis: Axis, *, keepdims: bool) -> B:
        """Return whether any element along axes is true, or not zero."""

    @abstractmethod
    def cumsum(self, x: V, axis: Int) -> V:
        """Return the cumulative sum along an axis."""

    @abstractmethod
    def cumprod(self, x: V, axis: Int) -> V:
        """Return the cumulative product along an axis."""

    @abstractmethod
    def argcummax(self, x: V, axis: Int) -> I:
        """Return the index of the last maximum among the elements up to each one along an axis; NaN propagates."""

    @abstractmethod
    def argcummin(self, x: V, axis: Int) -> I:
        """Return the index of the last minimum among the elements up to each one along an axis; NaN propagates."""

    @abstractmethod
    def argsort(self, x: V, axis: Int, *, descending: bool) -> I:
        """Return the indices that sort an axis stably; NaN counts as largest."""

    @abstractmethod
    def concat(self, values: Sequence[V], axis: Int) -> V:
        """Concatenate values along an axis."""

    @abstractmethod
    def pad(self, x: V, pad_width: Sequence[tuple[int, int]], value: float) -> V:
        """Pad `x` with a constant, with the given numbers of elements before and after along each axis."""

    @abstractmethod
    def getitem(self, x: V, index: Any) -> V:
        """Return the elements at an index of numbers, slices and NumPy arrays."""

    @abstractmethod
    def at_set(self, x: V, index: Any, value: V | float, *, is_free: bool = False) -> V:
        """Return a copy of `x` with the elements at an index replaced, or `x` itself if it may be overwritten."""

    @abstractmethod
    def at_add(self, x: V, index: Any, value: V | float) -> V:
        """Return a copy of `x` with values added at an index; repeated indices accumulate."""

    @abstractmethod
    def reduce_at(self, x: V, index: Any, value: V, name: Combining) -> V:
        """Return a copy of `x` with values multiplied in, or the larger or smaller kept, at an index."""

    @abstractmethod
    def place(self, shape: Sequence[int], index: Any, value: V) -> V:
        """Add values to a zero array at an index: the backward pass of `getitem`."""

    @abstractmethod
    def equal(self, x: V, y: V) -> B:
        """Return `x == y`, element by element."""

    @abstractmethod
    def greater(self, x: V, y: V | float) -> B:
        """Return `x > y`, element by element."""

    @abstractmethod
    def where(self, condition: B, x: V, y: V | float) -> V:
        """Choose elements of `x` where the condition is true, else of `y`."""

    @abstractmethod
    def broadcast_to(self, x: V, shape: Sequence[int]) -> V:
        """Repeat `x` along new axes and axes of size one."""

    @abstractmethod
    def swap_last_axes(self, x: V) -> V:
        """Transpose the matrices of a stack; a vector is returned unchanged."""

    @abstractmethod
    def einsum(self, subscripts: str, *values: V) -> V:
        """Sum products over subscripts: one letter for each axis, one size for each letter, and an explicit arrow."""

    @abstractmethod
    def inv(self, x: V) -> V:
        """Invert the matrices of a stack; a singular one raises a `SingularError`."""

    @abstractmethod
    def solve(self, x: V, y: V) -> V:
        """Solve systems of linear equations, whose stacks broadcast; a singular matrix raises a `SingularError`."""

    @abstractmethod
    def det(self, x: V) -> V:
        """Compute the determinants of the matrices of a stack."""

    @abstractmethod
    def decompose(self, name: Decomposition, x: V) -> tuple[V, ...]:
        """Decompose the matrices of a stack: NumPy's function of that name, reduced, of the lower triangle.

        A matrix that has no such decomposition raises a `SingularError`.
        """

    @abstractmethod
    def pinv(self, x: V, rtol: float) -> V:
        """Compute pseudoinverses; singular values up to `rtol` times the largest count as zero."""

    @abstractmethod
    def cast(self, x: V, dtype: Any) -> V:
        """Convert to another dtype."""

    @abstractmethod
    def take(self, x: V, indices: I, axis: Int) -> V:
        """Return slices by index along an axis."""

    @abstractmethod
    def scatter_add(self, shape: Sequence[int], indices: I, updates: V, axis: Int) -> V:
        """Add each update to the slice of a zero array at its index: the backward pass of `take`."""

    @abstractmethod
    def scatter_sum(self, shape: Sequence[int], indices: Sequence[Any], values: Sequence[V]) -> V:
        """Add each value to a zero array at its index of numbers and slices."""

    @abstractmethod
    def convolve(self, x: V, w: V, window: ConvWindow) -> V:
        """Correlate cells `x`, `(N, G, C, *S)`, with kernels `w`, `(G, O, C, *K)`, to `(N, G, O, *window.sizes)`."""

    @abstractmethod
    def one_hot(self, indices: I, size: int, dtype: Any) -> V:
        """Return a one-hot row for each index."""

    @abstractmethod
    def ones(self, shape: Sequence[int], dtype: Any) -> V:
        """Return an array of ones."""

    @abstractmethod
    def zeros(self, shape: Sequence[int], dtype: Any) -> V:
        """Return an array of zeros."""

    # The following are composed of the primitives above; an engine with a faster implementation overrides them.
    # Any: values have operators, which the bound of V does not express.

    def fuse(self, function: Callable[..., Any], *values: Any) -> Any:
        """Compute an elementwise function of values of one shape, fused if they are large.

        Args:
            function: Returns a value or a tuple of several, using only operators and elementwise primitives; a sum, a
                difference, a product or a quotient of two values by its name in `operator`, and these may broadcast.
            values: Its arguments.
        """
        return function(*values)

    def update(self, function: Callable[..., Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Compute an elementwise function, see `fuse`, of many sets of values with the same dtypes."""
        return [function(*values) for values in rows]

    def changes(
        self,
        function: Callable[..., Any],  # noqa: ARG002  # used by engines that overwrite their values
        rows: Sequence[Sequence[Any]],  # noqa: ARG002
        indices: Sequence[int],  # noqa: ARG002
    ) -> list[tuple[Any, ...]] | None:
        """Return calls that run an elementwise function in place, or None if that is not possible.

        Args:
            function: As `update` takes it, with a result for each of `indices`.
            rows: The sets of values.
            indices: The positions in a set of the values that the results overwrite.

        Returns:
            Functions that are not written in Python and keep the GIL, each with its arguments, which hold no reference
            to the values; None where values cannot be changed.
        """
        return None

    def add_to(self, total: Any, x: Any) -> Any:
        """Return `total + x`; may reuse the memory of `total`, which must have no other reference.

        Args:
            total: A value of the result's shape and dtype.
            x: The value to add, broadcast.
        """
        return total + x

    def add_channels(self, y: Any, bias: Any, rank: int) -> Any:
        """Return `y + bias`, with a number for each channel, whose axis comes before the last `rank` axes."""
        return y + bias.reshape((*bias.shape, *(1,) * rank))

    def is_free(self, values: dict[Any, Any], key: Any) -> bool:  # noqa: ARG002  # used by engines that count references
        """Return whether `values[key]` has no other reference, so that its memory may be overwritten."""
        return False

    def accumulate(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        """Return the sum of `values[key]` and `x`, in place if `values[key]` has no other reference."""
        return values[key] + x

    def accumulate_at(self, values: dict[Any, Any], key: Any, index: Any, x: Any) -> Any:
        """Return `values[key]` with `x` added at an index, in place if `values[key]` has no other reference."""
        return values[key] + self.place(values[key].shape, index, x)

    def scale_in_place(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        """Return the product of `values[key]` and `x`, in place if `values[key]` has no other reference."""
        return values[key] * x

    def dot(self, x: Any, y: Any) -> Any:
        """Multiply two matrices."""
        return x @ y

    def relu_back(self, x: Any, dy: Any) -> Any:
        """Compute the gradient of the input `x` of `relu` from that of its result: `[x > 0] dy`."""
        is_above: Any = self.greater(x, 0)
        return self.where(is_above, dy, 0)

    def mean(self, x: Any, axis: Axis) -> Any:
        """Average along axes, which are kept with size one."""
        total: Any = self.sum(x, axis, keepdims=True)
        return total * (total.size / x.size if x.size else nan)

    def rowwise(
        self,
        formula: Callable[..., Any],
        *values: Any,
        axis: Axis,
        is_free: bool = False,  # noqa: ARG002  # as above
        **options: Any,
    ) -> Any:
        """Compute a formula over rows, which span `axis` and have elements.

        Args:
            formula: Takes the operations of `Rows`, the values, and the options; uses only these operations and
                operators, and returns a value or a tuple of several. A function of a module, not a new one each time.
            values: The first has the shape of all rows; others have it too, or with size one along `axis`, or that of
                a row if `axis` are the last axes, or are numbers.
            axis: The axes of a row.
            is_free: Whether the first result may overwrite the last value.
            options: Parameters of the formula that can be hashed.
        """
        return formula(Rows(self, axis), *values, **options)

    def scan(
        self, step: Callable[..., Any], state: Sequence[Any], xs: Sequence[Any], axis: int, *, is_reversed: bool = False
    ) -> Any:
        """Run a step for each element along an axis, with a state that is passed on from step to step.

        Args:
            step: Takes the state and the elements of `xs`, each a tuple of values. Returns the new state, which has the
                same shapes and dtypes; the results of the step; and its backward pass or None. The backward pass takes
                the gradients of the new state and of the results. It returns those of the state, a tuple of values
                that are stacked, such as the gradients of the elements of `xs`, and a tuple of values that are summed
                over all steps. A number stands for a value that has this number everywhere.
            state: The state before the first step.
            xs: At least one value, each with at least one element along the axis.
            axis: The axis of `xs`, of the results, and of what is stacked.
            is_reversed: Whether to begin with the last element.

        Returns:
            The last state, the stacked results, and the backward pass of all steps or None, which takes the gradients
            of the last state and of the stacked results, and returns those of the first state, what it has stacked,
            and the sums.
        """
        return run_steps(step, state, xs, axis, is_reversed=is_reversed)

    def restart_step(self) -> None:
        """Discard what the step that is being recorded has printed, because it is recorded again."""

    def firsts(self, values: Sequence[Any], inside: Sequence[Any], y: Any) -> list[Any]:
        """Return for each of several values where it is the first, of those inside, that equals `y`; NaN equals NaN.

        One of the values inside must equal `y` everywhere.
        """
        found: list[Any] = []
        still_open: Any = None
        for x, may_be in zip(values, inside, strict=True):
            is_equal: Any = self.equal(x, y)
            is_equal = self.map("logical_or", is_equal, self.map("isnan", x))
            is_met: Any = self.map("logical_and", is_equal, may_be)
            is_other: Any = self.map("logical_not", is_met)
            found.append(is_met if still_open is None else self.map("logical_and", is_met, still_open))
            still_open = is_other if still_open is None else self.map("logical_and", is_other, still_open)
        return found

    def pool(self, x: Any, windows: Windows, name: Pooling) -> Any:
        """Reduce each window to the sum, the maximum or the minimum of its cells; NaN propagates."""
        if name == "add":
            return reduce(add, windows.of(x, 0))
        return reduce(partial(self.map, name), windows.of(x, -inf if name == "maximum" else inf))

    def pool_relu(self, x: Any, windows: Windows) -> Any:
        """Return the maximum of each window of `relu(x)`, if each window has a cell of `x`."""
        return self.relu(self.pool(x, windows, "maximum"))

    def pool_relu_back(self, x: Any, y: Any, dy: Any, windows: Windows) -> Any:
        """Return the gradient of `x` from that of `y = pool_relu(x, windows)`."""
        return self.pool_extreme_back(x, y, self.relu_back(y, dy), windows)

    def pool_sum_back(self, dy: Any, windows: Windows) -> Any:
        """Add each gradient to all cells of its window: the backward pass of sums."""
        return windows.back([dy] * len(windows.indices))

    def pool_extreme_back(self, x: Any, y: Any, dy: Any, windows: Windows) -> Any:
        """Add each gradient to the first cell of its window that equals `y`: the backward pass of extremes."""
        cells = windows.of(x, nan)
        firsts = self.firsts(cells, windows.inside(), y)
        return windows.back([self.where(is_first, dy, 0) for is_first in firsts])

"""What an array of any engine can do, and the primitives that an engine adds to it.

A closure computes with the operators of `Value` and the primitives of `Backend` only, so it serves every engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial, reduce
from math import inf, nan
from operator import add
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeAlias

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tapegrad.backend.windows import Windows

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
HALF: Final = ("e", "E")  # the letters of float16, and of bfloat16 in ml_dtypes: computed in float32
Pooling: TypeAlias = Literal["add", "maximum", "minimum"]


class Value(ABC, Generic[S, D]):
    """An array of whichever engine computes, with its shape and dtype in its type.

    NumPy's and JAX's arrays are values, and so is a tensor: that is how a backward pass is differentiated again.
    By name and not by protocol: a checker that compared members would follow each result's own members for ever.
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


class Slide(NamedTuple):
    """How kernels slide over cells: a number for each axis.

    The cells are `spread` apart, those of a kernel `dilation`, and `before` zeros come first; all outside is zero.
    """

    sizes: tuple[int, ...]  # of the result, whatever fits
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    spread: tuple[int, ...]
    before: tuple[int, ...]


class Backend(ABC, Generic[V, I, B, Q]):
    """The primitives of an engine over its own values; operators, `reshape` and `transpose` are the values' own.

    Its floats are of one type, `V`, its whole numbers of another, `I`, its truths `B` and its quantized tensors `Q`;
    an engine that tells them apart by dtype alone names them once. Where a primitive takes values of any dtype, as
    `concat` does, it speaks of `V`.
    """

    name: str

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
        """Apply an elementwise function, which goes by the name of its op, NumPy's where NumPy has it."""

    @abstractmethod
    def pair(self, name: Pairwise, *operands: V) -> tuple[V, V]:
        """Apply an elementwise function of two results, which goes by the name of its op, NumPy's."""

    @abstractmethod
    def sum(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Add up along axes."""

    @abstractmethod
    def max(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Find the largest along axes; NaN wins."""

    @abstractmethod
    def min(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Find the smallest along axes; NaN wins."""

    @abstractmethod
    def prod(self, x: V, axis: Axis, *, keepdims: bool) -> V:
        """Multiply along axes."""

    @abstractmethod
    def argmax(self, x: V, axis: Int | None, *, keepdims: bool) -> I:
        """Find the index of the first largest along an axis, or among all elements."""

    @abstractmethod
    def argmin(self, x: V, axis: Int | None, *, keepdims: bool) -> I:
        """Find the index of the first smallest along an axis, or among all elements."""

    @abstractmethod
    def all(self, x: V, axis: Axis, *, keepdims: bool) -> B:
        """Return whether every element along axes is true, or not zero."""

    @abstractmethod
    def any(self, x: V, axis: Axis, *, keepdims: bool) -> B:
        """Return whether an element along axes is true, or not zero."""

    @abstractmethod
    def cumsum(self, x: V, axis: Int) -> V:
        """Add up all elements to each one along an axis."""

    @abstractmethod
    def cumprod(self, x: V, axis: Int) -> V:
        """Multiply all elements up to each one along an axis."""

    @abstractmethod
    def argcummax(self, x: V, axis: Int) -> I:
        """Find the index of the last largest among the elements up to each one along an axis; NaN wins."""

    @abstractmethod
    def argcummin(self, x: V, axis: Int) -> I:
        """Find the index of the last smallest among the elements up to each one along an axis; NaN wins."""

    @abstractmethod
    def argsort(self, x: V, axis: Int, *, descending: bool) -> I:
        """Find the indices that put an axis in order, equal elements in theirs; NaN counts as largest."""

    @abstractmethod
    def concat(self, values: Sequence[V], axis: Int) -> V:
        """Put values one behind the other along an axis."""

    @abstractmethod
    def pad(self, x: V, pad_width: Sequence[tuple[int, int]], value: float) -> V:
        """Surround `x` with a constant, so many elements before and behind along each axis."""

    @abstractmethod
    def getitem(self, x: V, index: Any) -> V:
        """Pick the elements that an index of numbers, slices and NumPy arrays names."""

    @abstractmethod
    def at_set(self, x: V, index: Any, value: V | float) -> V:
        """Copy `x` with other values at the places that an index names."""

    @abstractmethod
    def at_add(self, x: V, index: Any, value: V | float) -> V:
        """Copy `x` with values added at the places that an index names; places named twice accumulate."""

    @abstractmethod
    def place(self, shape: Sequence[int], index: Any, value: V) -> V:
        """Add values to a zero array at the places that an index names: the way back of `getitem`."""

    @abstractmethod
    def softmax(self, x: V, axis: Int) -> V:
        """Turn scores into probabilities along an axis that has elements."""

    @abstractmethod
    def equal(self, x: V, y: V) -> B:
        """Compare element by element."""

    @abstractmethod
    def greater(self, x: V, y: V | float) -> B:
        """Compare element by element."""

    @abstractmethod
    def where(self, condition: B, x: V, y: V | float) -> V:
        """Pick from `x` where the condition holds, else from `y`."""

    @abstractmethod
    def broadcast_to(self, x: V, shape: Sequence[int]) -> V:
        """Repeat `x` along new axes and axes of size one."""

    @abstractmethod
    def swap_last_axes(self, x: V) -> V:
        """Transpose the matrices of a stack; a vector stays as it is."""

    @abstractmethod
    def einsum(self, subscripts: str, *values: V) -> V:
        """Sum products along axes by letter: a letter for each axis, one size for each letter, and an arrow."""

    @abstractmethod
    def inv(self, x: V) -> V:
        """Invert the matrices of a stack; a singular one is a `SingularError`."""

    @abstractmethod
    def solve(self, x: V, y: V) -> V:
        """Solve systems of linear equations, whose stacks broadcast; a singular matrix is a `SingularError`."""

    @abstractmethod
    def det(self, x: V) -> V:
        """Compute the determinants of the matrices of a stack."""

    @abstractmethod
    def cast(self, x: V, dtype: Any) -> V:
        """Convert to another dtype."""

    @abstractmethod
    def take(self, x: V, indices: I, axis: Int) -> V:
        """Pick slices by index."""

    @abstractmethod
    def scatter_add(self, shape: Sequence[int], indices: I, updates: V, axis: Int) -> V:
        """Add each update to the slice of a zero array that its index names: the way back of `take`."""

    @abstractmethod
    def superpose(self, shape: Sequence[int], places: Sequence[Any], values: Sequence[V]) -> V:
        """Add to a zero array each value, at the elements that its index of numbers and slices names."""

    @abstractmethod
    def convolve(self, x: V, w: V, slide: Slide) -> V:
        """Slide kernels `w`, `(G, O, C, *K)`, over cells `x`, `(N, G, C, *S)`; gives `(N, G, O, *slide.sizes)`."""

    @abstractmethod
    def one_hot(self, indices: I, size: int, dtype: Any) -> V:
        """Return each index a row of zeros with a one at the index."""

    @abstractmethod
    def ones(self, shape: Sequence[int], dtype: Any) -> V:
        """Make an array of ones."""

    @abstractmethod
    def zeros(self, shape: Sequence[int], dtype: Any) -> V:
        """Make an array of zeros."""

    # What follows is made of the primitives above; an engine that has a shorter way overrides it.
    # Any: values have operators, which the bound of V does not say.

    def fuse(self, function: Callable[..., Any], *values: Any) -> Any:
        """Compute an elementwise function of values of one shape, as large arrays are best gone through.

        Args:
            function: Gives a value or a tuple of several, by operators and elementwise primitives alone; a sum, a
                difference, a product or a quotient of two values by its name in `operator`, and these may broadcast.
            values: What it is given.
        """
        return function(*values)

    def update(self, function: Callable[..., Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Compute an elementwise function, see `fuse`, of many sets of values that have their dtypes in common."""
        return [function(*values) for values in rows]

    def changes(
        self,
        function: Callable[..., Any],  # noqa: ARG002  # for engines that write to their values
        rows: Sequence[Sequence[Any]],  # noqa: ARG002
        places: Sequence[int],  # noqa: ARG002
    ) -> list[tuple[Any, ...]] | None:
        """Say how to put what an elementwise function gives into the place of what it is given.

        Args:
            function: As `update` takes it, with a result for each of the places.
            rows: The sets of values.
            places: Which values of a set give place to the results.

        Returns:
            For each set a function that is not written in Python and lets no other thread run, with its arguments,
            which hold one reference to each value of the set; None where values cannot be changed.
        """
        return None

    def add_to(self, total: Any, x: Any) -> Any:
        """Return a sum, which may stand in the memory of `total`: nobody else has seen that.

        Args:
            total: A value of the result's shape and dtype.
            x: What is added to it, broadcast.
        """
        return total + x

    def is_free(self, values: dict[Any, Any], key: Any) -> bool:  # noqa: ARG002  # for engines that count
        """Return whether nobody else sees `values[key]`, so that what becomes of it may stand in its place."""
        return False

    def accumulate(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        """Return the sum of `values[key]` and `x`, in the place of the first if nobody else sees it."""
        return values[key] + x

    def scale_in_place(self, values: dict[Any, Any], key: Any, x: Any) -> Any:
        """Return the product of `values[key]` and `x`, in the place of the first if nobody else sees it."""
        return values[key] * x

    def dot(self, x: Any, y: Any) -> Any:
        """Multiply two matrices."""
        return x @ y

    def relu_back(self, x: Any, dy: Any) -> Any:
        """Turn the gradient of what `relu` gave of `x` into that of `x`: `[x > 0] dy`."""
        is_above: Any = self.greater(x, 0)
        return self.where(is_above, dy, 0)

    def mean(self, x: Any, axis: Axis) -> Any:
        """Average along axes, which stay with size one."""
        total: Any = self.sum(x, axis, keepdims=True)
        return total * (total.size / x.size if x.size else nan)

    def softmax_back(self, y: Any, dy: Any, axis: Int, *, is_free: bool = False) -> Any:  # noqa: ARG002  # as above
        """Turn the gradient of probabilities into that of their scores: `y (dy - sum(y dy))`.

        That may stand in the place of `dy` if `is_free`.
        """
        return (dy - self.sum(dy * y, axis, keepdims=True)) * y

    def log_softmax(self, x: Any, axis: Int) -> Any:
        """Turn scores into logarithms of probabilities along an axis that has elements."""
        # Shift by the max first: exp(89) overflows float32.
        shifted: Any = x - self.max(x, axis, keepdims=True)
        return shifted - self.log(self.sum(self.exp(shifted), axis, keepdims=True))

    def log_softmax_back(self, y: Any, dy: Any, axis: Int, *, is_free: bool = False) -> Any:  # noqa: ARG002  # as above
        """Turn the gradient of logarithms of probabilities into that of their scores: `dy - exp(y) sum(dy)`.

        That may stand in the place of `dy` if `is_free`.
        """
        powers: Any = self.exp(y)
        return dy - powers * self.sum(dy, axis, keepdims=True)

    def standardize(self, x: Any, axis: Axis, eps: Any, *, centred: bool) -> tuple[Any, Any]:
        """Return `x / s` and `1 / s`, where `s = sqrt(mean(x²) + eps)`; `centred` takes the mean of `x` away first."""
        if centred:
            x = x - self.mean(x, axis)
        root: Any = self.map("sqrt", self.mean(x * x, axis) + eps)
        factor = 1 / root
        return x * factor, factor

    def standardize_back(self, y: Any, factor: Any, dy: Any, axis: Axis, *, centred: bool) -> Any:
        """Turn the gradient of what `standardize` gave, `y` and `factor`, into that of what it was given."""
        dx = dy - y * self.mean(dy * y, axis)
        return (dx - self.mean(dy, axis) if centred else dx) * factor

    def firsts(self, values: Sequence[Any], inside: Sequence[Any], y: Any) -> list[Any]:
        """Say of each of several values where it is the first, of those inside, that equals `y`; NaN equals NaN."""
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
        """Leave one number of each window: the sum of its cells, or the largest or smallest; NaN wins."""
        if name == "add":
            return reduce(add, windows.of(x, 0))
        return reduce(partial(self.map, name), windows.of(x, -inf if name == "maximum" else inf))

    def pool_sum_back(self, dy: Any, windows: Windows) -> Any:
        """Return each number to all cells of its window: the way back of sums."""
        return windows.back([dy] * len(windows.places))

    def pool_extreme_back(self, x: Any, y: Any, dy: Any, windows: Windows) -> Any:
        """Return each number to the first cell of its window that equals `y`: the way back of extremes."""
        cells = windows.of(x, nan)
        firsts = self.firsts(cells, windows.inside(), y)
        return windows.back([self.where(is_first, dy, 0) for is_first in firsts])

    def layer_norm(self, x: Any, w: Any, b: Any, eps: Any) -> tuple[Any, Any]:
        """Return `z w + b` and `1 / s`, where `standardize` gives `z` and `1 / s` of rows whose mean is taken away."""
        z, factor = self.standardize(x, -1, eps, centred=True)
        return z * w + b, factor

    def layer_norm_back(self, x: Any, w: Any, dy: Any, eps: Any, wanted: Sequence[bool]) -> tuple[Any, Any, Any, Any]:
        """Turn the gradient of what `layer_norm` gave into those of `x`, `w` and `b`; returns `1 / s` as well.

        In the place of a gradient that nobody wants there is None.
        """
        z, factor = self.standardize(x, -1, eps, centred=True)
        rows = tuple(range(dy.ndim - 1))
        return (
            self.standardize_back(z, factor, dy * w, -1, centred=True) if wanted[0] else None,
            self.sum(dy * z, rows, keepdims=False) if wanted[1] else None,
            self.sum(dy, rows, keepdims=False) if wanted[2] else None,
            factor,
        )

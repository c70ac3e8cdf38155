"""The engine of a step that is being traced: the primitives in JAX."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
from typing_extensions import override

from tapegrad.engines import Axis, Backend, ConvWindow, Decomposition, Elementwise, Int, Pairwise, register
from tapegrad.jax.library import jax, jnp
from tapegrad.jax.loops import restart, scanned
from tapegrad.jax.traced import Traced, carries_nothing, computed
from tapegrad.jax.updates import updated
from tapegrad.sizes.symbols import is_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.interface import Combining


class JAX(Backend[Traced]):
    """The primitives over traced values; constants may be NumPy arrays."""

    name = "jax"
    compiles_loops = True

    @override
    def exp(self, x: Traced) -> Traced:
        return self._of(jnp.exp, x)

    @override
    def log(self, x: Traced) -> Traced:
        return self._of(jnp.log, x)

    @override
    def tanh(self, x: Traced) -> Traced:
        return self._of(jnp.tanh, x)

    @override
    def relu(self, x: Traced) -> Traced:
        return self._of(jnp.maximum, x, 0)

    @override
    def map(self, name: Elementwise, *operands: Traced) -> Traced:
        return self._of(_ELEMENTWISE[name], *operands)

    @override
    def update(self, function: Callable[..., Any], rows: Sequence[Sequence[Traced]]) -> list[Any]:
        return updated(function, rows)

    @override
    def pair(self, name: Pairwise, *operands: Traced) -> tuple[Traced, Traced]:
        first, second = computed(_parted if name == "modf" else getattr(jnp, name), *operands)
        return first, second

    @override
    def sum(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.sum, x, axis, dtype=x.dtype, keepdims=keepdims)

    @override
    def max(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.max, x, axis, keepdims=keepdims)

    @override
    def min(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.min, x, axis, keepdims=keepdims)

    @override
    def prod(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.prod, x, axis, dtype=x.dtype, keepdims=keepdims)

    @override
    def argmax(self, x: Traced, axis: Int | None, *, keepdims: bool) -> Traced:
        return self._of(jnp.argmax, x, axis, keepdims=keepdims)

    @override
    def argmin(self, x: Traced, axis: Int | None, *, keepdims: bool) -> Traced:
        return self._of(jnp.argmin, x, axis, keepdims=keepdims)

    @override
    def all(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.all, x, axis, keepdims=keepdims)

    @override
    def any(self, x: Traced, axis: Axis, *, keepdims: bool) -> Traced:
        return self._of(jnp.any, x, axis, keepdims=keepdims)

    @override
    def cumsum(self, x: Traced, axis: Int) -> Traced:
        return self._of(jnp.cumsum, x, axis, dtype=x.dtype)

    @override
    def cumprod(self, x: Traced, axis: Int) -> Traced:
        return self._of(jnp.cumprod, x, axis, dtype=x.dtype)

    @override
    def argcummax(self, x: Traced, axis: Int) -> Traced:
        return self._of(_last_equal, x, axis, jnp.maximum)

    @override
    def argcummin(self, x: Traced, axis: Int) -> Traced:
        return self._of(_last_equal, x, axis, jnp.minimum)

    @override
    def argsort(self, x: Traced, axis: Int, *, descending: bool) -> Traced:
        return self._of(_ordered, x, axis, descending=descending)

    @override
    def concat(self, values: Sequence[Traced], axis: Int) -> Traced:
        return self._of(jnp.concatenate, list(values), axis)

    @override
    def pad(self, x: Traced, pad_width: Sequence[tuple[int, int]], value: float) -> Traced:
        return self._of(jnp.pad, x, tuple(pad_width), constant_values=value) if pad_width else x

    @override
    def getitem(self, x: Traced, index: Any) -> Traced:
        return self._of(lambda x, index: jnp.asarray(x)[index], x, index)

    @override
    def at_set(self, x: Traced, index: Any, value: Traced | float, *, is_free: bool = False) -> Traced:
        return self._of(lambda x, index, value: jnp.asarray(x).at[index].set(value), x, index, value)

    @override
    def at_add(self, x: Traced, index: Any, value: Traced | float) -> Traced:
        return self._of(lambda x, index, value: jnp.asarray(x).at[index].add(value), x, index, value)

    @override
    def reduce_at(self, x: Traced, index: Any, value: Traced, name: Combining) -> Traced:
        method = {"multiply": "multiply", "maximum": "max", "minimum": "min"}[name]
        return self._of(lambda x, index, value: getattr(jnp.asarray(x).at[index], method)(value), x, index, value)

    @override
    def place(self, shape: Sequence[int], index: Any, value: Traced) -> Traced:
        return self.at_add(self.zeros(shape, value.dtype), index, value)

    @override
    def equal(self, x: Traced, y: Traced | float) -> Traced:
        return self._of(jnp.equal, x, y)

    @override
    def greater(self, x: Traced, y: Traced | float) -> Traced:
        return self._of(jnp.greater, x, y)

    @override
    def where(self, condition: Traced, x: Traced, y: Traced | float) -> Traced:
        return self._of(jnp.where, condition, x, y)

    @override
    def broadcast_to(self, x: Traced, shape: Sequence[int]) -> Traced:
        return self._of(jnp.broadcast_to, x, tuple(shape))

    @override
    def swap_last_axes(self, x: Traced) -> Traced:
        return x if x.ndim < 2 else self._of(jnp.swapaxes, x, -1, -2)

    @override
    def einsum(self, subscripts: str, *values: Traced) -> Traced:
        return self._of(jnp.einsum, subscripts, *values)

    @override
    def inv(self, x: Traced) -> Traced:
        return self._of(jnp.linalg.inv, x)

    @override
    def solve(self, x: Traced, y: Traced) -> Traced:
        return self._of(jnp.linalg.solve, x, y)

    @override
    def det(self, x: Traced) -> Traced:
        return self._of(jnp.linalg.det, x)

    @override
    def decompose(self, name: Decomposition, x: Traced) -> tuple[Traced, ...]:
        found: tuple[Traced, ...] = computed(_DECOMPOSITIONS[name], x)
        return found

    @override
    def pinv(self, x: Traced, rtol: float) -> Traced:
        return self._of(jnp.linalg.pinv, x, rtol=rtol)

    @override
    def cast(self, x: Traced, dtype: Any) -> Traced:
        return x.astype(dtype)

    @override
    def take(self, x: Traced, indices: Traced, axis: Int) -> Traced:
        return self._of(jnp.take, x, indices, axis)

    @override
    def scatter_add(self, shape: Sequence[int], indices: Traced, updates: Traced, axis: Int) -> Traced:
        return self.place(shape, (*(slice(None),) * axis, indices), updates)

    @override
    def scatter_sum(self, shape: Sequence[int], indices: Sequence[Any], values: Sequence[Traced]) -> Traced:
        total = self.zeros(shape, values[0].dtype)
        for index, value in zip(indices, values, strict=True):
            total = self.at_add(total, index, value)
        return total

    @override
    def convolve(self, x: Traced, w: Traced, window: ConvWindow) -> Traced:
        return self._of(_correlate, x, w, window)

    @override
    def one_hot(self, indices: Traced, size: int, dtype: Any) -> Traced:
        return self._of(lambda indices: (indices[..., None] == np.arange(size)).astype(dtype), indices)

    @override
    def scan(
        self, step: Callable[..., Any], state: Sequence[Any], xs: Sequence[Any], axis: int, *, is_reversed: bool = False
    ) -> Any:
        return scanned(step, state, xs, axis, is_reversed=is_reversed)

    @override
    def restart_step(self) -> None:
        restart()

    @override
    def ones(self, shape: Sequence[int], dtype: Any) -> Any:
        return self._filled(1, shape, dtype)

    @override
    def zeros(self, shape: Sequence[int], dtype: Any) -> Any:
        return self._filled(0, shape, dtype)

    def _filled(self, value: int, shape: Sequence[int], dtype: Any) -> Any:
        """Return a constant; if a size of it has no number, a traced value."""
        if any(map(is_symbol, shape)):
            return Traced(jnp.full(tuple(shape), value, dtype), carries_nothing)
        return np.full(shape, value, dtype)

    def _of(self, function: Callable[..., Any], *args: Any, **options: Any) -> Traced:
        found: Traced = computed(function, *args, **options)
        return found


def _last_equal(x: Any, axis: Int, extreme: Any) -> Any:
    """Return for each running extreme the last index where it occurs."""
    met = (x == extreme.accumulate(x, axis)) | jnp.isnan(x)
    indices = jnp.arange(x.shape[axis]).reshape([-1 if position == axis % x.ndim else 1 for position in range(x.ndim)])
    return jax.lax.cummax(jnp.where(met, indices, 0), axis % x.ndim)


def _parted(x: Any) -> tuple[Any, Any]:
    """Return the fractional part with its sign, 0 for an infinity, and the integral part."""
    whole = jnp.trunc(x)
    return jnp.copysign(jnp.where(jnp.isinf(x), 0, x - whole), x), whole


def _ordered(x: Any, axis: Int, *, descending: bool) -> Any:
    if not descending:
        return jnp.argsort(x, axis, stable=True)
    # Flipped before and after, so that equal elements keep their order.
    return x.shape[axis] - 1 - jnp.flip(jnp.argsort(jnp.flip(x, axis), axis, stable=True), axis)


def _correlate(x: Any, w: Any, window: ConvWindow) -> Any:
    (n, g, c, *cells), (_, o, _, *kernel) = x.shape, w.shape
    shape = (n, g, o, *window.sizes)
    if 0 in (*x.shape, *w.shape, *shape):
        return jnp.zeros(shape, x.dtype)
    along = zip(cells, kernel, *window, strict=True)
    padding = [
        (b, (m - 1) * s + (k - 1) * d + 1 - b - ((size - 1) * r + 1))  # padding for the required number of windows
        for size, k, m, s, d, r, b in along
    ]
    y = jax.lax.conv_general_dilated(
        jnp.reshape(x, (n, g * c, *cells)),
        jnp.reshape(w, (g * o, c, *kernel)),
        window.stride,
        padding,
        lhs_dilation=window.input_dilation,
        rhs_dilation=window.dilation,
        feature_group_count=g,
    )
    return y.reshape(shape)


_OWN: Final[dict[str, Callable[..., Any]]] = {
    "erf": import_module("jax.scipy.special").erf,
    "pow": jnp.power,
    "sigmoid": jax.nn.sigmoid,
    "softplus": lambda x: jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x))),
}
_ELEMENTWISE: Final = {name: _OWN.get(name) or getattr(jnp, name) for name in get_args(Elementwise)}
# Of the lower triangle, as NumPy's.
_DECOMPOSITIONS: Final[dict[str, Callable[..., Any]]] = {
    "cholesky": lambda x: (jnp.linalg.cholesky(x, symmetrize_input=False),),
    "eigh": lambda x: tuple(jnp.linalg.eigh(x, symmetrize_input=False)),
    "qr": lambda x: tuple(jnp.linalg.qr(x)),
    "slogdet": lambda x: tuple(jnp.linalg.slogdet(x)),
    "svd": lambda x: tuple(jnp.linalg.svd(x, full_matrices=False)),
}

ENGINE: Final = JAX()
register(ENGINE, Traced)

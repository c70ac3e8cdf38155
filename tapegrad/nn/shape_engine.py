"""The shape-only backend: a program runs on shapes and dtypes, by the shape rules of its ops, without values."""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from typing_extensions import override

from tapegrad.autograd.explain import NoNumbersError
from tapegrad.autograd.registry import OPS, Op
from tapegrad.engines import Backend, ConvWindow, Decomposition, Elementwise, Int, Pairwise, Value, register
from tapegrad.errors import ShapeError
from tapegrad.sizes import Dim, Dims, Size, is_unknown, product, surely_differ, surely_less, surely_same
from tapegrad.tensors import node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ShapesOnlyError(NoNumbersError):
    """The values of a shape-only tensor were requested; the result of an op then follows from its rule."""

    @override
    def answer(self, entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = _shape_values(entry, args, kwargs)
        return tuple(map(node, found)) if isinstance(found, tuple) else node(found)


class NamedSize(Dim):
    """A symbolic size that supports comparisons which hold for all values of its names; others raise an error.

    Programs use it like an int: `n > 0` and `n == n` are true, and `n == 64` is false, as for the type checker.
    """

    __slots__ = ()

    def _equals(self, other: object) -> bool:
        if not isinstance(other, int | Dim):
            return False
        return self is other or self._proven(surely_same(self, other), surely_differ(self, other))

    def _differs(self, other: object) -> bool:
        return not self._equals(other)

    def _is_less(self, other: Size) -> bool:
        return self._proven(surely_less(self, other), surely_less(other, self + 1))

    def _is_more(self, other: Size) -> bool:
        return self._proven(surely_less(other, self), surely_less(self, other + 1))

    def _is_at_most(self, other: Size) -> bool:
        return not self._is_more(other)

    def _is_at_least(self, other: Size) -> bool:
        return not self._is_less(other)

    def _is_not_zero(self) -> bool:
        return self._is_more(0)

    def _proven(self, yes: bool, no: bool) -> bool:  # noqa: FBT001  # the two proofs
        return yes if yes or no else self._reject()

    def _remainder(self, other: Size) -> Size:
        return self - self // other * other

    @override
    def __add__(self, other: Size) -> Size:
        return answering(super().__add__(other))

    @override
    def __mul__(self, other: Size) -> Size:
        return answering(super().__mul__(other))

    @override
    def __sub__(self, other: Size) -> Size:
        return answering(super().__sub__(other))

    @override
    def __rsub__(self, other: int) -> Size:
        return answering(super().__rsub__(other))

    @override
    def __floordiv__(self, other: Size) -> Size:
        return answering(super().__floordiv__(other))

    @override
    def __rfloordiv__(self, other: int) -> Size:
        return answering(super().__rfloordiv__(other))

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        return self // other, self._remainder(other)

    @override
    def _reject(self, *_: object) -> NoReturn:
        message = "a size that no rule knows" if is_unknown(self) else f"the number that {self} stands for"
        raise ShapesOnlyError(message)

    # Any: `Dim` declares these operators, too, but all of them raise.
    __eq__: Any = _equals
    __ne__: Any = _differs
    __lt__: Any = _is_less
    __gt__: Any = _is_more
    __le__: Any = _is_at_most
    __ge__: Any = _is_at_least
    __bool__: Any = _is_not_zero
    __mod__: Any = _remainder
    __hash__ = Dim.__hash__
    __radd__ = __add__
    __rmul__ = __mul__
    __index__ = __int__ = __float__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __rmod__ = _reject


def answering(size: Size) -> Size:
    """Return a size that supports comparisons as an int does."""
    return NamedSize(size.terms) if isinstance(size, Dim) and not isinstance(size, NamedSize) else size


class ShapeValue(Value[Any, Any]):
    """A shape and a dtype instead of an array; its operators apply the shape rules of the corresponding ops."""

    __slots__ = ("dtype", "shape")

    shape: Any
    dtype: Any
    __array_ufunc__ = None  # so that numpy_array * value calls ShapeValue.__rmul__

    def __init__(self, shape: Dims, dtype: Any) -> None:
        self.shape = tuple(map(answering, shape))
        self.dtype = np.dtype(dtype)

    @property
    @override
    def ndim(self) -> int:
        return len(self.shape)

    @property
    @override
    def size(self) -> Any:
        return product(self.shape)

    @property
    @override
    def T(self) -> ShapeValue:
        return self.transpose(None)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        message = "the numbers of a tensor"
        raise ShapesOnlyError(message)

    @override
    def __neg__(self) -> ShapeValue:
        return ruled("neg", self)

    @override
    def __add__(self, y: Any, /) -> ShapeValue:
        return ruled("add", self, y)

    @override
    def __radd__(self, y: Any, /) -> ShapeValue:
        return ruled("add", y, self)

    @override
    def __sub__(self, y: Any, /) -> ShapeValue:
        return ruled("sub", self, y)

    @override
    def __rsub__(self, y: Any, /) -> ShapeValue:
        return ruled("sub", y, self)

    @override
    def __mul__(self, y: Any, /) -> ShapeValue:
        return ruled("mul", self, y)

    @override
    def __rmul__(self, y: Any, /) -> ShapeValue:
        return ruled("mul", y, self)

    @override
    def __truediv__(self, y: Any, /) -> ShapeValue:
        return ruled("div", self, y)

    @override
    def __rtruediv__(self, y: Any, /) -> ShapeValue:
        return ruled("div", y, self)

    @override
    def __matmul__(self, y: Any, /) -> ShapeValue:
        return ruled("matmul", self, y)

    def __rmatmul__(self, y: Any, /) -> ShapeValue:
        return ruled("matmul", y, self)

    @override
    def __eq__(self, y: object) -> Any:
        return ruled("equal", self, y)

    @override
    def __ne__(self, y: object) -> Any:
        return ruled("not_equal", self, y)

    def __lt__(self, y: Any) -> ShapeValue:
        return ruled("less", self, y)

    def __le__(self, y: Any) -> ShapeValue:
        return ruled("less_equal", self, y)

    def __gt__(self, y: Any) -> ShapeValue:
        return ruled("greater", self, y)

    def __ge__(self, y: Any) -> ShapeValue:
        return ruled("greater_equal", self, y)

    __hash__ = object.__hash__

    @override
    def reshape(self, shape: Any) -> ShapeValue:
        return ruled("reshape", self, shape)

    @override
    def transpose(self, axes: Any) -> ShapeValue:
        return ruled("transpose", self, axes)


def ruled(name: str, *args: Any, **kwargs: Any) -> ShapeValue:
    """Return the shape and dtype of an op's result for raw values, by its shape rule.

    Raises:
        ShapeError: The shapes do not match.
    """
    try:
        found: ShapeValue = _shape_values(OPS[name], args, kwargs)
    except ShapeError as error:
        message = f"{name}: {error}"
        raise ShapeError(message) from None
    return found


class ShapeEngine(Backend[ShapeValue]):
    """The primitives of the backend on shapes: each applies the shape rule of the corresponding op."""

    name = "shapes"

    # Any: mypy compares the signature of `ruled` with the primitive's.
    exp: Any = staticmethod(partial(ruled, "exp"))
    log: Any = staticmethod(partial(ruled, "log"))
    tanh: Any = staticmethod(partial(ruled, "tanh"))
    relu: Any = staticmethod(partial(ruled, "relu"))
    sum: Any = staticmethod(partial(ruled, "sum"))
    max: Any = staticmethod(partial(ruled, "max"))
    min: Any = staticmethod(partial(ruled, "min"))
    prod: Any = staticmethod(partial(ruled, "prod"))
    cumsum: Any = staticmethod(partial(ruled, "cumsum"))
    cumprod: Any = staticmethod(partial(ruled, "cumprod"))
    argmax: Any = staticmethod(partial(ruled, "argmax"))
    argmin: Any = staticmethod(partial(ruled, "argmin"))
    argcummax: Any = staticmethod(partial(ruled, "argsort"))  # an index for each element, as for argsort
    argcummin: Any = staticmethod(partial(ruled, "argsort"))
    argsort: Any = staticmethod(partial(ruled, "argsort"))
    all: Any = staticmethod(partial(ruled, "all"))
    any: Any = staticmethod(partial(ruled, "any"))
    equal: Any = staticmethod(partial(ruled, "equal"))
    greater: Any = staticmethod(partial(ruled, "greater"))
    where: Any = staticmethod(partial(ruled, "where"))
    broadcast_to: Any = staticmethod(partial(ruled, "broadcast_to"))
    concat: Any = staticmethod(partial(ruled, "concat"))
    getitem: Any = staticmethod(partial(ruled, "getitem"))
    at_set: Any = staticmethod(partial(ruled, "at_set"))
    at_add: Any = staticmethod(partial(ruled, "at_add"))
    take: Any = staticmethod(partial(ruled, "take"))
    one_hot: Any = staticmethod(partial(ruled, "one_hot"))
    ones: Any = staticmethod(partial(ruled, "ones"))
    zeros: Any = staticmethod(partial(ruled, "zeros"))
    inv: Any = staticmethod(partial(ruled, "inv"))
    det: Any = staticmethod(partial(ruled, "det"))
    solve: Any = staticmethod(partial(ruled, "solve"))
    einsum: Any = staticmethod(partial(ruled, "einsum"))
    cast: Any = staticmethod(partial(ruled, "astype"))

    @override
    def map(self, name: Elementwise, *operands: ShapeValue) -> ShapeValue:
        return ruled(name, *operands)

    @override
    def pair(self, name: Pairwise, *operands: ShapeValue) -> tuple[ShapeValue, ShapeValue]:
        first, second = _shape_values(OPS[name], operands, {})
        return first, second

    @override
    def decompose(self, name: Decomposition, x: ShapeValue) -> tuple[ShapeValue, ...]:
        found = _shape_values(OPS[name], (x,), {})
        return found if isinstance(found, tuple) else (found,)

    @override
    def pinv(self, x: ShapeValue, rtol: float) -> ShapeValue:
        return ruled("pinv", x, rtol=rtol)

    @override
    def pad(self, x: ShapeValue, pad_width: Sequence[tuple[int, int]], value: float) -> ShapeValue:
        return ruled("pad", x, tuple(pad_width), value=value)

    @override
    def swap_last_axes(self, x: ShapeValue) -> ShapeValue:
        axes = tuple(range(x.ndim))
        return x.transpose((*axes[:-2], *axes[-2:][::-1]))

    @override
    def reduce_at(self, x: Any, index: Any, value: Any, name: str) -> Any:  # of any combination
        return ruled("at_add", x, index, value)

    @override
    def place(self, shape: Sequence[int], index: Any, value: ShapeValue) -> ShapeValue:
        return ruled("at_add", ruled("zeros", tuple(shape)), index, value)

    @override
    def scatter_add(self, shape: Sequence[int], indices: ShapeValue, updates: ShapeValue, axis: Int) -> ShapeValue:
        return ruled("scatter_add", updates, indices, tuple(shape), axis)

    @override
    def scatter_sum(self, shape: Sequence[int], indices: Sequence[Any], values: Sequence[ShapeValue]) -> ShapeValue:
        return ShapeValue(tuple(shape), values[0].dtype)

    @override
    def convolve(self, x: ShapeValue, w: ShapeValue, window: ConvWindow) -> ShapeValue:
        return ShapeValue((*x.shape[:2], w.shape[1], *window.sizes), x.dtype)


register(ShapeEngine(), ShapeValue)


def _shape_values(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sizes = entry.sizes(*args, **kwargs)
    result = str(entry.function.__annotations__.get("return"))
    if not result.startswith("tuple["):
        return ShapeValue(sizes, _dtype(result, entry.function, args, kwargs))
    parts = [part.group() for part in _TENSOR.finditer(result)]
    parts *= len(sizes) if len(parts) == 1 else 1
    return tuple(
        ShapeValue(one, _dtype(part, entry.function, args, kwargs)) for one, part in zip(sizes, parts, strict=True)
    )


def _dtype(result: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the dtype of a result: the one in its annotation, or the value of that type variable in a call."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    annotations = {name: str(annotation) for name, annotation in function.__annotations__.items()}
    word = _LAST.search(result)
    if word is not None and word[1].startswith("np."):
        return getattr(np, word[1].removeprefix("np."))
    alike = re.compile(rf"\b{word[1]}\]" if word else "Tensor")
    values = [value for name, value in bound.arguments.items() if alike.search(annotations.get(name, ""))]
    found = [dtype for dtype in map(_dtype_of, [*values, *bound.arguments.values()]) if dtype is not None]
    return found[0] if found else np.float32


_TENSOR = re.compile(r"\bTensor\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]")  # a tape may have brackets: `Merge[T1, T2]`
_LAST = re.compile(r"([\w.]+)\]$")  # the D of `Tensor[Any, T, D]`


def _dtype_of(value: Any) -> Any:
    """Return the dtype of an argument, or the argument if it is a dtype; for a sequence, that of its first element."""
    if isinstance(value, type):
        return value if issubclass(value, np.generic) else None
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, tuple | list):
        return _dtype_of(value[0]) if value else None
    return getattr(value, "dtype", None)

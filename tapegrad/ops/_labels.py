"""Labels of rows, as the losses use them: which number of each row they name, and which rows count."""

from __future__ import annotations

from math import nan, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.engines import engine
from tapegrad.sizes import show
from tapegrad.tensors import Tensor, values_of

if TYPE_CHECKING:
    from typing import Self


class Labels:
    """The label of each row of `x`, of which those that are ignored weigh nothing.

    Known labels index the rows. Those that `jit` does not know yet are compared with all classes instead, which XLA
    does in one pass with the arithmetic around it; and a row whose label is not a class becomes NaN.
    """

    def __init__(self, classes: Any, weights: Any, count: Any, size: int) -> None:
        self._classes = classes  # from 0 to the number of classes; 0 where a label is ignored
        self._weights = weights  # of the rows: None if all are 1
        self.count = count  # of the rows that are not ignored
        self._size = size

    @classmethod
    def of(cls, x: Tensor[Any, Any, Any], target: Tensor[Any, Any, Any], ignore_index: int | None) -> Self:
        """Check labels and return them.

        Raises:
            IndexError: A label that is not ignored is negative, or not below the number of classes.
        """
        labels, classes = values_of(target), x.shape[-1]
        is_counted = None if ignore_index is None else labels != ignore_index
        is_class = (labels >= 0) & (labels < classes)
        if not isinstance(labels, np.ndarray):
            where = engine(labels).where
            weights = where(is_class, np.ones((), x.dtype), nan)
            count = prod(labels.shape)
            if is_counted is not None:
                weights, count = where(is_counted, weights, 0), is_counted.astype(x.dtype).sum()
            return cls(where(is_class, labels, 0), weights, count, classes)
        if is_counted is None:
            is_counted, weights, count = True, None, labels.size
        else:
            weights, count = is_counted.astype(x.dtype), int(is_counted.sum())
            labels = labels * is_counted
        is_outside = ~is_class & is_counted
        if is_outside.any():
            label = values_of(target)[is_outside].flat[0]
            message = f"label {label} is not one of the {classes} classes of x {show(x.shape)}"
            raise IndexError(message)
        return cls(labels, weights, count, classes)

    def pick(self, x: Any) -> Any:
        """Return the number of each row that its label names, with an axis of size 1 in the place of the row."""
        if self._is_known:
            return engine(x).getitem(x, self._index())
        primitives, chosen = engine(x, self._classes), self._one_hot(x.dtype)
        return primitives.sum(primitives.where(engine(chosen).equal(chosen, 0), 0, x), -1, keepdims=True)

    def weighted(self, values: Any) -> Any:
        """Return values of the rows, `(..., 1)` or one for all, with 0 for ignored rows, even if one is not finite."""
        if self._weights is None:
            return values
        weights = self._weights[..., None]
        product = values * weights
        return engine(product).where(engine(weights).equal(weights, 0), 0, product)

    def subtract(self, x: Any, values: Any) -> Any:
        """Subtract values of the rows, `(..., 1)` or one for all, at the labels; the result may overwrite `x`."""
        if not self._is_known:
            return x - self._one_hot(x.dtype) * values
        index, primitives = self._index(), engine(x)
        return primitives.at_set(x, index, primitives.getitem(x, index) - values, is_free=True)

    def place(self, values: Any) -> Any:
        """Return values of the rows, `(..., 1)` or one for all, at the labels, and 0 elsewhere."""
        if not self._is_known:
            return self._one_hot(values.dtype) * values
        shape = self._classes.shape
        return engine(values).place(
            (*shape, self._size), self._index(), engine(values).broadcast_to(values, (*shape, 1))
        )

    @property
    def _is_known(self) -> bool:
        return isinstance(self._classes, np.ndarray)

    def _index(self) -> tuple[Any, ...]:
        """Return the index of the elements that the labels name, `(..., 1)`."""
        shape = self._classes.shape
        rows = [np.arange(n).reshape(-1, *(1,) * (len(shape) - axis)) for axis, n in enumerate(shape)]
        return (*rows, self._classes[..., None])

    def _one_hot(self, dtype: Any) -> Any:
        return engine(self._classes).one_hot(self._classes, self._size, dtype)

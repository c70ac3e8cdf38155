"""The operations of a formula over rows, such as that of softmax: a row is what the axes of a reduction span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapegrad.engines.interface import Axis, Backend


class Rows:
    """The primitives of an engine as a formula over rows uses them, besides operators; see `Backend.rowwise`.

    What each row is reduced to is kept as an axis of size one.
    """

    def __init__(self, primitives: Backend[Any, Any, Any, Any], axis: Axis) -> None:
        self.primitives = primitives
        self.axis = axis

    def exp(self, x: Any) -> Any:
        """Compute `e ** x`."""
        return self.primitives.exp(x)

    def log(self, x: Any) -> Any:
        """Compute the natural logarithm."""
        return self.primitives.log(x)

    def sqrt(self, x: Any) -> Any:
        """Compute the square root."""
        return self.primitives.map("sqrt", x)

    def sum(self, x: Any) -> Any:
        """Add up each row."""
        return self.primitives.sum(x, self.axis, keepdims=True)

    def mean(self, x: Any) -> Any:
        """Average each row."""
        return self.primitives.mean(x, self.axis)

    def max(self, x: Any) -> Any:
        """Return the maximum of each row, as a constant: the formula may not depend on its value."""
        return self.primitives.max(x, self.axis, keepdims=True)

    def scaled_exp(self, x: Any) -> Any:
        """Compute `e ** x`, divided by a constant for each row such that nothing overflows."""
        return self.exp(x - self.max(x))

    def total(self, x: Any) -> Any:
        """Add up all rows."""
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        spanned = {axis % x.ndim for axis in axes if axis is not None}
        return self.primitives.sum(x, tuple(axis for axis in range(x.ndim) if axis not in spanned), keepdims=False)

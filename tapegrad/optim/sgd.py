"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tapegrad.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from tapegrad.backend import Value


class SGD(Optimizer[None]):
    r"""Goes down the gradient.

    $$x \leftarrow x - \eta \, dx$$

    Args:
        parameters: A module, or parameters by path, or parameters.
        lr: The step size η, at least 0.

    Raises:
        DTypeError: One of them is not a parameter.
        ValueError: There are none, or `lr` is negative.
    """

    @override
    def update(self, x: Value[Any, Any], dx: Value[Any, Any], state: None) -> tuple[Value[Any, Any], None]:
        return x - dx * float(self.lr), None

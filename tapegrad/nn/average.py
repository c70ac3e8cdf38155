"""Exponential moving averages of models."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar, override

from tapegrad.errors import ShapeError
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import check_module
from tapegrad.nn.module import Module
from tapegrad.nn.param import replace_all

if TYPE_CHECKING:
    from tapegrad.nn.param import State

Model = TypeVar("Model", bound=Module, default=Any, covariant=True)


@public_api
class ModelEMA(Module, Generic[Model]):
    """Exponential moving average of the parameters of a model, which often predicts better than the model.

        w̄ ← d w̄ + (1 - d) w

    Create `average = ModelEMA(model)`, call `average.update(model)` after each step, and predict with
    `average.model(x)`. A `ModelEMA` is a module with frozen parameters, and is saved and loaded as one.

    Args:
        model: The model; the average starts as a copy of it.
        decay: The decay d, the weight of the old average in each update, from 0 to 1.

    Attributes:
        model: The average, a model of the same class.
        decay: The decay.

    Raises:
        DTypeError: `model` is not a module, or `decay` is not a number.
        ValueError: `decay` is not between 0 and 1.

    Source:
        Polyak & Juditsky, [Acceleration of stochastic approximation by
        averaging](https://doi.org/10.1137/0330046), with exponentially decaying weights, as PyTorch's `AveragedModel`.

    Examples:
        >>> model = tg.nn.PReLU(negative_slope=0.25)
        >>> average = tg.nn.ModelEMA(model, decay=0.75)
        >>> model.weight.assign(tg.tensor(0.75))
        >>> average.update(model)
        >>> average.model.weight.item()
        0.375
    """

    def __init__(self, model: Model, *, decay: float = 0.999) -> None:
        check_module("ModelEMA: model", model)
        check_options("ModelEMA", decay=decay)
        self.decay = decay
        self.model = copy.deepcopy(model)
        for parameter in self.model.parameters().values():
            parameter.frozen = True

    def update(self, model: Module) -> None:
        """Update the average from a model, and copy its buffers; after an error, nothing has changed.

        Args:
            model: The model.

        Raises:
            ShapeError: The names or shapes of parameters or buffers differ from those of the average.
            DTypeError: A dtype differs.
        """
        ours, theirs = _state(self.model), _state(model)
        if ours.keys() != theirs.keys():
            differ = ", ".join(sorted(ours.keys() ^ theirs.keys()))
            message = f"ModelEMA.update: model differs from the average in {differ}"
            raise ShapeError(message)
        for path, state in ours.items():
            state.check(theirs[path].data, "ModelEMA.update", path)
        parameters = self.model.parameters()
        arrays = [
            self._moved(state.data, theirs[path].data) if path in parameters else theirs[path].data
            for path, state in ours.items()
        ]
        replace_all([*ours.values()], arrays)

    def _moved(self, average: Any, towards: Any) -> Any:
        return average * self.decay + towards * (1 - self.decay)

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the `forward` of the average; `average.model(x)` does the same, and is typed."""
        return self.model.forward(*args, **kwargs)

    @override
    def __repr__(self) -> str:
        return f"ModelEMA({self.model!r}, decay={self.decay})"


def _state(model: Module) -> dict[str, State[Any, Any]]:
    return {**model.parameters(), **model.buffers()}

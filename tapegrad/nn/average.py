"""Models that follow another: the average of what it was."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar, override

from tapegrad.errors import ShapeError
from tapegrad.nn.container import check_module
from tapegrad.nn.module import Module
from tapegrad.nn.param import replace_all
from tapegrad.options import check_range
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.nn.param import State

Model = TypeVar("Model", bound=Module, default=Any, covariant=True)


@public_api
class ModelEMA(Module, Generic[Model]):
    r"""Keeps a copy of a model whose parameters follow those of the model slowly: it often predicts better.

    $$\bar w \leftarrow d \, \bar w + (1 - d) \, w$$

    `average = ModelEMA(model)`, then `average.update(model)` behind each step, and `average.model(x)` to predict. It is
    a module: it is saved and loaded as such, and its parameters are frozen.

    Args:
        model: What is followed; a copy of it as it is now is the first average.
        decay: How much of the average stays at each update, d, from 0 to 1.

    Attributes:
        model: The average, of the same class.
        decay: How much of it stays.

    Raises:
        DTypeError: `model` is not a module, or `decay` not a number.
        ValueError: `decay` is not from 0 to 1.

    Source:
        Polyak & Juditsky, [Acceleration of stochastic approximation by
        averaging](https://doi.org/10.1137/0330046), with weights that fade, as PyTorch's `AveragedModel`.
    """

    def __init__(self, model: Model, *, decay: float = 0.999) -> None:
        check_module("ModelEMA: model", model)
        check_range("ModelEMA", "decay", decay, "from 0 to 1", lambda decay: 0 <= decay <= 1)
        self.decay = decay
        self.model = copy.deepcopy(model)
        for parameter in self.model.parameters().values():
            parameter.frozen = True

    def update(self, model: Module) -> None:
        """Move the average towards a model, and take over its buffers as they are; on an error nothing has changed.

        Args:
            model: What is followed.

        Raises:
            ShapeError: It has other parameters or buffers, or of other shapes.
            DTypeError: A dtype differs.
        """
        ours, theirs = _state(self.model), _state(model)
        if ours.keys() != theirs.keys():
            differ = ", ".join(sorted(ours.keys() ^ theirs.keys()))
            message = f"ModelEMA.update: model differs from the average in {differ}"
            raise ShapeError(message)
        for path, state in ours.items():
            state.check(theirs[path].data, "ModelEMA.update", path)
        kept = self.model.parameters()
        arrays = [
            self._moved(state.data, theirs[path].data) if path in kept else theirs[path].data
            for path, state in ours.items()
        ]
        replace_all([*ours.values()], arrays)

    def _moved(self, average: Any, towards: Any) -> Any:
        return average * self.decay + towards * (1 - self.decay)

    @override
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute what the average makes of it; `average.model(x)` is the same, and typed."""
        return self.model.forward(*args, **kwargs)

    @override
    def __repr__(self) -> str:
        return f"ModelEMA({self.model!r}, decay={self.decay})"


def _state(model: Module) -> dict[str, State[Any, Any]]:
    return {**model.parameters(), **model.buffers()}

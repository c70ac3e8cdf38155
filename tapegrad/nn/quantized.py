"""Quantized models: int8 weights, in a quarter of the memory of float32."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import TypeVar, override

from tapegrad.errors import TapeError
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.container import check_module
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.quantized import BlockSymmetric, Quantized, Steps, quantize
from tapegrad.tensors import D_co, S_co, node

if TYPE_CHECKING:
    from tapegrad.quantized import Scheme

M = TypeVar("M", bound=Module)


class QuantizedParam(Quantized[S_co, D_co], Param[S_co, D_co]):
    """A parameter stored as int8 values and scales, always frozen because updates are smaller than its resolution.

    Values that are assigned to it are quantized by the same scheme.

    Raises:
        TapeError: `frozen` is set to False.
    """

    __slots__ = ()

    slot: ClassVar[str] = "node"

    def __init__(self, steps: Steps, version: int = 0) -> None:
        super().__init__(steps)
        self.version = version
        self.on_device = self.placement = None

    @property
    def frozen(self) -> bool:
        """Whether it gets no gradient, which is always true."""
        return True

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        if not frozen:
            message = "a quantized parameter stays frozen"
            raise TapeError(message)

    @override
    def held(self, data: Any) -> Steps:
        return data if isinstance(data, Steps) else quantize(node(data), self.steps.scheme).steps

    @override
    def __reduce__(self) -> Any:
        return QuantizedParam, (self.steps, self.version)


@public_api
def quantized(model: M, scheme: Scheme | None = None) -> M:
    """Return a copy of a model with int8 weights: all parameters with at least two axes are quantized.

    Biases and the weights of norms stay floats and can be trained, as can layers added to the model.

    Args:
        model: Any module; it is not changed.
        scheme: The quantization scheme; `BlockSymmetric()` by default.

    Returns:
        A model of the same class. Shared parameters are still shared.

    Raises:
        ValueError: A weight is infinite or NaN.

    Source:
        Dettmers et al., [LLM.int8()](https://arxiv.org/abs/2208.07339), §2, for weights only.

    Examples:
        >>> model = tg.nn.Sequential(tg.nn.Linear(64, 48, rng=0), tg.nn.ReLU(), tg.nn.Linear(48, 10, rng=0))
        >>> small = tg.nn.quantized(model)
        >>> x = tg.uniform((2, 64), rng=0)
        >>> np.allclose(small(x).numpy(), model(x).numpy(), atol=0.05)
        True
        >>> small[0].weight.frozen, small[0].bias.frozen
        (True, False)
    """
    check_module("quantized: model", model)
    scheme = BlockSymmetric() if scheme is None else scheme
    weights = [parameter for parameter in model.parameters().values() if parameter.ndim >= 2]
    memo: Any = {id(weight): QuantizedParam(quantize(weight, scheme).steps) for weight in weights}
    return copy.deepcopy(model, memo)  # the memo: deepcopy uses these objects as the copies of the weights

"""Quantized models: the weights of a trained one, in a quarter of the memory."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import TypeVar, override

from tapegrad.errors import TapeError
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.quantized import BlockSymmetric, Quantized, Steps, quantize
from tapegrad.tensor import D_co, S_co, node

if TYPE_CHECKING:
    from tapegrad.quantized import Scheme

M = TypeVar("M", bound=Module)


class QuantizedParam(Quantized[S_co, D_co], Param[S_co, D_co]):
    """A parameter held as int8 and scales: frozen for good, since a step of training is less than one of its own.

    What is assigned to it is quantized as it was itself.

    Raises:
        TapeError: It is to be unfrozen.
    """

    __slots__ = ()

    slot: ClassVar[str] = "node"

    def __init__(self, steps: Steps, version: int = 0) -> None:
        super().__init__(steps)
        self.version = version
        self.on_device = None

    @property
    def frozen(self) -> bool:
        """Whether it gets no gradient: always."""
        return True

    @frozen.setter
    def frozen(self, frozen: bool) -> None:
        if not frozen:
            message = "a quantized parameter stays frozen"
            raise TapeError(message)

    @override
    def held(self, data: Any) -> Steps:
        return quantize(node(data), self.steps.scheme).steps

    @override
    def __reduce__(self) -> Any:
        return QuantizedParam, (self.steps, self.version)


def quantized(model: M, scheme: Scheme | None = None) -> M:
    """Copy a model with its weights as whole numbers of 8 bits: its parameters of two axes or more.

    Biases and what norms scale by stay floats, and may be trained; so may whatever is built on top.

    Args:
        model: Any module; it stays as it is.
        scheme: How the weights are rounded; `BlockSymmetric()` by default.

    Returns:
        A model of the same class. A parameter in two places is still one.

    Raises:
        ValueError: A weight is infinite or NaN.

    Source:
        Dettmers et al., [LLM.int8()](https://arxiv.org/abs/2208.07339), §2, for weights alone.
    """
    scheme = BlockSymmetric() if scheme is None else scheme
    weights = [parameter for parameter in model.parameters().values() if parameter.ndim >= 2]
    made: Any = {id(weight): QuantizedParam(quantize(weight, scheme).steps) for weight in weights}
    return copy.deepcopy(model, made)  # its memo: what it finds there it takes for the copy

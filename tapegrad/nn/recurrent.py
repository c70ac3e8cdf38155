"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any, Generic, TypeAlias
from typing import Literal as L

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, HasBias, Param
from tapegrad.ops import gru, lstm, rnn, uniform, zeros
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape
from tapegrad.tensors.operands import fixed

if TYPE_CHECKING:
    from tapegrad.sizes import Mul

In = TypeVar("In", bound=int, default=Any, covariant=True)
Hidden = TypeVar("Hidden", bound=int, default=Any, covariant=True)
Steps = TypeVar("Steps", bound=int)
Batch = TypeVarTuple("Batch")
Recurrent: TypeAlias = "RNN[Any, Any, Any, Any] | GRU[Any, Any, Any, Any] | LSTM[Any, Any, Any, Any]"


class RNN(Module, Generic[In, Hidden, HasBias, DType]):
    """Recurrent layer (Elman RNN) with a tanh activation.

        h[t] = tanh(x[t] W + b + h[t-1] U + c)
        W, U, b, c ~ U[-1/√n, 1/√n)

    A call takes `x`, `(..., Steps, In)`, and optionally `h`, `(..., Hidden)`, the state before the first step, which is
    zero by default. It returns the state after each step, `(..., Steps, Hidden)`, and the last one, `(..., Hidden)`.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size n of the hidden state.
        bias: Whether there are biases.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; drawn in the order of the attributes.

    Attributes:
        weight_x: W, `(In, Hidden)`; PyTorch's is the transpose.
        weight_h: U, `(Hidden, Hidden)`; PyTorch's is the transpose.
        bias_x: b, `(Hidden,)`, or None.
        bias_h: c, `(Hidden,)`, or None.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.RNN` with `batch_first=True`; see `tapegrad.rnn`.

    Examples:
        >>> rnn = tg.nn.RNN(3, 8, rng=0)
        >>> sequences = tg.normal((2, 5, 3), rng=0)
        >>> y, h = rnn(sequences)
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))
    """

    weight_x: Param[Shape[In, Hidden], DType]
    weight_h: Param[Shape[Hidden, Hidden], DType]
    bias_x: Param[Shape[Hidden], DType] | None
    bias_h: Param[Shape[Hidden], DType] | None

    @guarded
    def __init__(
        self: RNN[Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        *,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.weight_x, self.weight_h, self.bias_x, self.bias_h = _drawn(in_features, hidden_features, 1, rng, bias=bias)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, Steps, In], T, DType], h: Tensor[Shape[*Batch, Hidden], T, DType] | None = None
    ) -> tuple[Tensor[Shape[*Batch, Steps, Hidden], T, DType], Tensor[Shape[*Batch, Hidden], T, DType]]:
        """Process `x`, `(..., Steps, In)`, from an initial state `(..., Hidden)`, zero by default.

        The result is the state after each step, `(..., Steps, Hidden)`, and the last state.
        """
        h = _nothing(x, self.weight_h) if h is None else h
        return rnn(x, h, self.weight_x, self.weight_h, *_biases(self))

    @override
    def __repr__(self) -> str:
        return _shown(self)


class GRU(Module, Generic[In, Hidden, HasBias, DType]):
    """Gated recurrent unit (GRU) layer.

        r = σ(x[t] W_r + b_r + h U_r + c_r)
        z = σ(x[t] W_z + b_z + h U_z + c_z)

        n = tanh(x[t] W_n + b_n + r (h U_n + c_n))
        h[t] = (1 - z) n + z h
        W, U, b, c ~ U[-1/√n, 1/√n)

    A call takes `x`, `(..., Steps, In)`, and optionally `h`, `(..., Hidden)`, the state before the first step, which is
    zero by default. It returns the state after each step, `(..., Steps, Hidden)`, and the last one, `(..., Hidden)`.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size n of the hidden state.
        bias: Whether there are biases.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; drawn in the order of the attributes.

    Attributes:
        weight_x: W of r, z and n concatenated, `(In, 3 Hidden)`; PyTorch's is the transpose.
        weight_h: U of r, z and n concatenated, `(Hidden, 3 Hidden)`; PyTorch's is the transpose.
        bias_x: b of r, z and n, `(3 Hidden,)`, or None.
        bias_h: c of r, z and n, `(3 Hidden,)`, or None.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.GRU` with `batch_first=True`; see `tapegrad.gru`.

    Examples:
        >>> gru = tg.nn.GRU(3, 8, rng=0)
        >>> sequences = tg.normal((2, 5, 3), rng=0)
        >>> y, h = gru(sequences)
        >>> y.shape, h.shape
        ((2, 5, 8), (2, 8))
        >>> y, h = gru(sequences, h)  # from the last state
    """

    weight_x: Param[Shape[In, Mul[L[3], Hidden]], DType]
    weight_h: Param[Shape[Hidden, Mul[L[3], Hidden]], DType]
    bias_x: Param[Shape[Mul[L[3], Hidden]], DType] | None
    bias_h: Param[Shape[Mul[L[3], Hidden]], DType] | None

    @guarded
    def __init__(
        self: GRU[Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        *,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.weight_x, self.weight_h, self.bias_x, self.bias_h = _drawn(in_features, hidden_features, 3, rng, bias=bias)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, Steps, In], T, DType], h: Tensor[Shape[*Batch, Hidden], T, DType] | None = None
    ) -> tuple[Tensor[Shape[*Batch, Steps, Hidden], T, DType], Tensor[Shape[*Batch, Hidden], T, DType]]:
        """Process `x`, `(..., Steps, In)`, from an initial state `(..., Hidden)`, zero by default.

        The result is the state after each step, `(..., Steps, Hidden)`, and the last state.
        """
        h = _nothing(x, self.weight_h) if h is None else h
        return gru(x, h, self.weight_x, self.weight_h, *_biases(self))

    @override
    def __repr__(self) -> str:
        return _shown(self)


class LSTM(Module, Generic[In, Hidden, HasBias, DType]):
    """Long short-term memory (LSTM) layer.

        i, f, o = σ(x[t] W_(i,f,o) + b_(i,f,o) + h U_(i,f,o) + d_(i,f,o))
        g = tanh(x[t] W_g + b_g + h U_g + d_g)

        c[t] = f c[t-1] + i g
        h[t] = o tanh c[t]
        W, U, b, d ~ U[-1/√n, 1/√n)

    A call takes `x`, `(..., Steps, In)`, and optionally `h` and `c`, `(..., Hidden)` each, the states before the first
    step, which are zero by default. It returns three tensors: h after each step, `(..., Steps, Hidden)`, the last h and
    the last c.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size n of the hidden state h and of the cell state c.
        bias: Whether there are biases.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; drawn in the order of the attributes.

    Attributes:
        weight_x: W of i, f, g and o concatenated, `(In, 4 Hidden)`; PyTorch's is the transpose.
        weight_h: U of i, f, g and o concatenated, `(Hidden, 4 Hidden)`; PyTorch's is the transpose.
        bias_x: b of i, f, g and o, `(4 Hidden,)`, or None.
        bias_h: d of i, f, g and o, `(4 Hidden,)`, or None.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.LSTM` with `batch_first=True`; see `tapegrad.lstm`.

    Examples:
        >>> lstm = tg.nn.LSTM(3, 8, rng=0)
        >>> sequences = tg.normal((2, 5, 3), rng=0)
        >>> y, h, c = lstm(sequences)
        >>> y.shape, h.shape, c.shape
        ((2, 5, 8), (2, 8), (2, 8))
    """

    weight_x: Param[Shape[In, Mul[L[4], Hidden]], DType]
    weight_h: Param[Shape[Hidden, Mul[L[4], Hidden]], DType]
    bias_x: Param[Shape[Mul[L[4], Hidden]], DType] | None
    bias_h: Param[Shape[Mul[L[4], Hidden]], DType] | None

    @guarded
    def __init__(
        self: LSTM[Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        *,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.weight_x, self.weight_h, self.bias_x, self.bias_h = _drawn(in_features, hidden_features, 4, rng, bias=bias)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, Steps, In], T, DType],
        h: Tensor[Shape[*Batch, Hidden], T, DType] | None = None,
        c: Tensor[Shape[*Batch, Hidden], T, DType] | None = None,
    ) -> tuple[
        Tensor[Shape[*Batch, Steps, Hidden], T, DType],
        Tensor[Shape[*Batch, Hidden], T, DType],
        Tensor[Shape[*Batch, Hidden], T, DType],
    ]:
        """Process `x`, `(..., Steps, In)`, from a hidden and a cell state, `(..., Hidden)`, zero by default.

        The result is the hidden state after each step, `(..., Steps, Hidden)`, the last hidden state and the last cell
        state.
        """
        h = _nothing(x, self.weight_h) if h is None else h
        c = _nothing(x, self.weight_h) if c is None else c
        return lstm(x, h, c, self.weight_x, self.weight_h, *_biases(self))

    @override
    def __repr__(self) -> str:
        return _shown(self)


def _drawn(
    inner: int, hidden: int, gates: int, rng: RNG, *, bias: bool
) -> tuple[Param[Any], Param[Any], Param[Any] | None, Param[Any] | None]:
    """Return the weights and biases of all gates, concatenated."""
    rng = generator(rng)
    bound = 1 / sqrt(hidden)

    def param(*shape: int) -> Param[Any]:
        return Param(uniform(shape, low=-bound, high=bound, rng=rng))

    width = gates * hidden
    weights = param(inner, width), param(hidden, width)
    return (*weights, param(width), param(width)) if bias else (*weights, None, None)


def _biases(layer: Recurrent) -> tuple[Any, Any]:
    if layer.bias_x is not None and layer.bias_h is not None:
        return layer.bias_x, layer.bias_h
    nothing = fixed(zeros(layer.weight_h.shape[1:], layer.weight_h.dtype.type).data)
    return nothing, nothing


def _nothing(x: Tensor[Any, Any, Any], weight: Param[Any, Any]) -> Any:
    """Return the initial state, which is zero."""
    return fixed(zeros((*x.shape[:-2], weight.shape[0]), weight.dtype.type).data)


def _shown(layer: Recurrent) -> str:
    plain = ", bias=False" if layer.bias_x is None else ""
    return f"{type(layer).__name__}({layer.weight_x.shape[0]}, {layer.weight_h.shape[0]}{plain})"

"""Stacked recurrent layers, optionally bidirectional."""

from __future__ import annotations

from typing import Any, Generic, Literal

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.errors.ranges import RANGES, check_options
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.dropout import Dropout
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType
from tapegrad.nn.recurrent import GRU, LSTM, RNN
from tapegrad.ops import concat, flip, stack, zeros_like
from tapegrad.sizes import Mul
from tapegrad.sizes.arithmetic import Given
from tapegrad.sizes.constraints import check_directions
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape

In = TypeVar("In", bound=int, default=Any, covariant=True)
Hidden = TypeVar("Hidden", bound=int, default=Any, covariant=True)
Layers = TypeVar("Layers", bound=int, default=Any, covariant=True)
Directions = TypeVar("Directions", bound=int, default=Literal[1], covariant=True)
Steps = TypeVar("Steps", bound=int)
Batch = TypeVarTuple("Batch")


class Stacked(Module):
    """Base class of `StackedRNN`, `StackedGRU` and `StackedLSTM`."""

    layers: tuple[Any, ...]
    directions: Any
    dropout: Dropout

    def _build(
        self,
        kind: type[RNN | GRU | LSTM],
        sizes: tuple[int, int, int, int],
        *,
        bias: bool,
        dropout: float,
        rng: RNG,
    ) -> None:
        in_features, hidden_features, layers, self.directions = sizes
        check_directions(type(self).__name__, self.directions)
        check_options(type(self).__name__, RANGES["StackedRNN"], dropout=dropout)
        rng = generator(rng)
        widths = [in_features, *(self.directions * hidden_features,) * (layers - 1)]
        self.layers = tuple(
            kind(width, hidden_features, bias=bias, rng=rng) for width in widths for _ in range(self.directions)
        )
        self.dropout = Dropout(dropout, rng=rng)

    def _read(self, x: Any, *states: Any) -> Any:
        """Return the result of the top layer at each step, and the final states of all layers."""
        left = []
        for first in range(0, len(self.layers), self.directions):
            below, rows = self.dropout(x) if first else x, []
            for place, layer in enumerate(self.layers[first : first + self.directions], first):
                is_reversed = place > first
                y, *last = layer(flip(below, -2) if is_reversed else below, *(state[place] for state in states))
                rows.append(flip(y, -2) if is_reversed else y)
                left.append(last)
            x = concat(rows, -1)
        return (x, *(stack(one) for one in zip(*left, strict=True)))

    @override
    def __repr__(self) -> str:
        first, count = self.layers[0], len(self.layers) // self.directions
        sizes = [first.weight_x.shape[0], first.weight_h.shape[0], count]
        options = [f"directions={self.directions}"] if self.directions > 1 else []
        options += ["bias=False"] if first.bias_x is None else []
        options += [f"dropout={self.dropout.p}"] if self.dropout.p else []
        return f"{type(self).__name__}({', '.join([*map(str, sizes), *options])})"


class StackedRNN(Stacked, Generic[In, Hidden, Layers, Directions, DType]):
    """Stacked `RNN` layers, optionally bidirectional.

    The second direction reads the sequence from the end. The results of both directions are concatenated.

    A call takes `x`, `(..., Steps, In)`, and optionally `h`, `(Layers Directions, ..., Hidden)`, the states before the
    first step, which are zero by default. It returns the states of the last layer after each step,
    `(..., Steps, Directions Hidden)`, and the last state of each layer and direction, of the shape of `h`.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size of each state.
        layers: The number of stacked layers.
        directions: 1, or 2 for a bidirectional layer.
        bias: Whether there are biases.
        dropout: The probability of dropout between layers under a tape, from 0 to 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the first layer is drawn first.

    Attributes:
        layers: The layers in order; with two directions, forward and backward alternate.
        directions: The number of directions.
        dropout: `Dropout`.

    Raises:
        ShapeError: A size is below 1, or there are more than 2 directions.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        PyTorch 2.13, `torch.nn.RNN` with `num_layers` and `bidirectional`.

    Examples:
        >>> rnn = tg.nn.StackedRNN(3, 8, 2, rng=0)
        >>> sequences = tg.normal((4, 5, 3), rng=0)
        >>> y, h = rnn(sequences)
        >>> y.shape, h.shape
        ((4, 5, 8), (2, 4, 8))
    """

    layers: tuple[RNN[Any, Hidden, Any, DType], ...]

    @guarded
    def __init__(
        self: StackedRNN[Any, Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        layers: Given[Layers],
        *,
        directions: Given[Directions] = 1,
        bias: bool = True,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        self._build(RNN, (in_features, hidden_features, layers, directions), bias=bias, dropout=dropout, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, Steps, In], T, DType],
        h: Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType] | None = None,
    ) -> tuple[
        Tensor[Shape[*Batch, Steps, Mul[Directions, Hidden]], T, DType],
        Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType],
    ]:
        """Process `x`, `(..., Steps, In)`, from a state for each layer and direction, zero by default.

        The result is that of the last layer at each step, `(..., Steps, Directions Hidden)`, and the final states,
        `(Layers Directions, ..., Hidden)`.
        """
        y, h = self._read(x) if h is None else self._read(x, h)
        return y, h


class StackedGRU(Stacked, Generic[In, Hidden, Layers, Directions, DType]):
    """Stacked `GRU` layers, optionally bidirectional.

    The second direction reads the sequence from the end. The results of both directions are concatenated.

    A call takes `x`, `(..., Steps, In)`, and optionally `h`, `(Layers Directions, ..., Hidden)`, the states before the
    first step, which are zero by default. It returns the states of the last layer after each step,
    `(..., Steps, Directions Hidden)`, and the last state of each layer and direction, of the shape of `h`.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size of each state.
        layers: The number of stacked layers.
        directions: 1, or 2 for a bidirectional layer.
        bias: Whether there are biases.
        dropout: The probability of dropout between layers under a tape, from 0 to 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the first layer is drawn first.

    Attributes:
        layers: The layers in order; with two directions, forward and backward alternate.
        directions: The number of directions.
        dropout: `Dropout`.

    Raises:
        ShapeError: A size is below 1, or there are more than 2 directions.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        PyTorch 2.13, `torch.nn.GRU` with `num_layers` and `bidirectional`.

    Examples:
        >>> gru = tg.nn.StackedGRU(3, 8, 2, directions=2, rng=0)
        >>> sequences = tg.normal((4, 5, 3), rng=0)
        >>> y, h = gru(sequences)
        >>> y.shape, h.shape
        ((4, 5, 16), (4, 4, 8))
    """

    layers: tuple[GRU[Any, Hidden, Any, DType], ...]

    @guarded
    def __init__(
        self: StackedGRU[Any, Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        layers: Given[Layers],
        *,
        directions: Given[Directions] = 1,
        bias: bool = True,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        self._build(GRU, (in_features, hidden_features, layers, directions), bias=bias, dropout=dropout, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, Steps, In], T, DType],
        h: Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType] | None = None,
    ) -> tuple[
        Tensor[Shape[*Batch, Steps, Mul[Directions, Hidden]], T, DType],
        Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType],
    ]:
        """Process `x`, `(..., Steps, In)`, from a state for each layer and direction, zero by default.

        The result is that of the last layer at each step, `(..., Steps, Directions Hidden)`, and the final states,
        `(Layers Directions, ..., Hidden)`.
        """
        y, h = self._read(x) if h is None else self._read(x, h)
        return y, h


class StackedLSTM(Stacked, Generic[In, Hidden, Layers, Directions, DType]):
    """Stacked `LSTM` layers, optionally bidirectional.

    The second direction reads the sequence from the end. The results of both directions are concatenated.

    A call takes `x`, `(..., Steps, In)`, and optionally `h` and `c`, `(Layers Directions, ..., Hidden)` each, the
    states before the first step, which are zero by default. It returns three tensors: h of the last layer after each
    step, `(..., Steps, Directions Hidden)`, and the last h and c of each layer and direction.

    Args:
        in_features: The size of the last axis of the input.
        hidden_features: The size of each hidden state and of each cell state.
        layers: The number of stacked layers.
        directions: 1, or 2 for a bidirectional layer.
        bias: Whether there are biases.
        dropout: The probability of dropout between layers under a tape, from 0 to 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the first layer is drawn first.

    Attributes:
        layers: The layers in order; with two directions, forward and backward alternate.
        directions: The number of directions.
        dropout: `Dropout`.

    Raises:
        ShapeError: A size is below 1, or there are more than 2 directions.
        DTypeError: A size is not an int.
        ValueError: `dropout` is out of range.

    Source:
        PyTorch 2.13, `torch.nn.LSTM` with `num_layers` and `bidirectional`.

    Examples:
        >>> lstm = tg.nn.StackedLSTM(3, 8, 2, dropout=0.1, rng=0)
        >>> sequences = tg.normal((4, 5, 3), rng=0)
        >>> y, h, c = lstm(sequences)
        >>> y.shape, h.shape, c.shape
        ((4, 5, 8), (2, 4, 8), (2, 4, 8))
    """

    layers: tuple[LSTM[Any, Hidden, Any, DType], ...]

    @guarded
    def __init__(
        self: StackedLSTM[Any, Any, Any, Any],
        in_features: Given[In],
        hidden_features: Given[Hidden],
        layers: Given[Layers],
        *,
        directions: Given[Directions] = 1,
        bias: bool = True,
        dropout: float = 0.0,
        rng: RNG = None,
    ) -> None:
        self._build(LSTM, (in_features, hidden_features, layers, directions), bias=bias, dropout=dropout, rng=rng)

    @override
    @guarded
    def forward(
        self,
        x: Tensor[Shape[*Batch, Steps, In], T, DType],
        h: Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType] | None = None,
        c: Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType] | None = None,
    ) -> tuple[
        Tensor[Shape[*Batch, Steps, Mul[Directions, Hidden]], T, DType],
        Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType],
        Tensor[Shape[Mul[Layers, Directions], *Batch, Hidden], T, DType],
    ]:
        """Process `x`, `(..., Steps, In)`, from hidden and cell states for each layer and direction.

        They are zero by default. The result is that of the last layer at each step, `(..., Steps, Directions Hidden)`,
        and the final hidden states and cell states, `(Layers Directions, ..., Hidden)` each.
        """
        given = h if h is not None else c
        nothing = None if given is None else zeros_like(given)
        states = () if given is None else (nothing if h is None else h, nothing if c is None else c)
        y, h, c = self._read(x, *states)
        return y, h, c

"""Recurrent networks: RNN, GRU and LSTM, each as a cell (one step) and over a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tapegrad.autograd.op import op, rematerializable
from tapegrad.engines import engine
from tapegrad.errors import ShapeError
from tapegrad.ops._mapped import apply
from tapegrad.ops.arithmetic import add
from tapegrad.ops.axes import expand_dims
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.matmul import matmul
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import Dims, at_least, show, surely_differ, surely_less
from tapegrad.tensors import Float, T, Tensor, node
from tapegrad.tensors.operands import on_one_tape, same_dtype, tensor_only, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.gradients import Gradients

# Maps the projected input, the projected hidden state and the old states to new states and a backward function.
Step: TypeAlias = "Callable[..., tuple[tuple[Any, ...], Callable[..., tuple[Any, Any, tuple[Any, ...]]]]]"


def rnn_cell_shape(x: Dims, h: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims) -> Dims:
    """Return the shape of the state, `(..., Hidden)`."""
    at_least(1, x=x)
    _check_sizes(1, x, x[:-1], {"h": h}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1])


def gru_cell_shape(x: Dims, h: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims) -> Dims:
    """Return the shape of the state, `(..., Hidden)`."""
    at_least(1, x=x)
    _check_sizes(3, x, x[:-1], {"h": h}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1])


def lstm_cell_shape(
    x: Dims, h: Dims, c: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims
) -> tuple[Dims, Dims]:
    """Return the shapes of the hidden state and the cell state, `(..., Hidden)` each."""
    at_least(1, x=x)
    _check_sizes(4, x, x[:-1], {"h": h, "c": c}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1]), (*x[:-1], h[-1])


def rnn_shape(x: Dims, h: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims) -> tuple[Dims, Dims]:
    """Return the shapes of the states of all steps, `(..., Steps, Hidden)`, and of the last state."""
    _check_steps(x)
    _check_sizes(1, x, x[:-2], {"h": h}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1]), (*x[:-2], h[-1])


def gru_shape(x: Dims, h: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims) -> tuple[Dims, Dims]:
    """Return the shapes of the states of all steps, `(..., Steps, Hidden)`, and of the last state."""
    _check_steps(x)
    _check_sizes(3, x, x[:-2], {"h": h}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1]), (*x[:-2], h[-1])


def lstm_shape(
    x: Dims, h: Dims, c: Dims, weight_x: Dims, weight_h: Dims, bias_x: Dims, bias_h: Dims
) -> tuple[Dims, Dims, Dims]:
    """Return the shapes of the states of all steps, `(..., Steps, Hidden)`, and of the last hidden and cell state."""
    _check_steps(x)
    _check_sizes(4, x, x[:-2], {"h": h, "c": c}, weight_x, weight_h, bias_x, bias_h)
    return (*x[:-1], h[-1]), (*x[:-2], h[-1]), (*x[:-2], h[-1])


@op(rnn_cell_shape)
def rnn_cell(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> Tensor[Any, T, Float]:
    """Compute one step of an Elman RNN, see `rnn`.

        h' = tanh(x W + b + h U + c)

    Args:
        x: The input, `(..., In)`, a float dtype.
        h: The hidden state before the step, `(..., Hidden)`.
        weight_x: W, `(In, Hidden)`, the transpose of PyTorch's.
        weight_h: U, `(Hidden, Hidden)`, the transpose of PyTorch's.
        bias_x: b, `(Hidden,)`.
        bias_h: c, `(Hidden,)`.

    Returns:
        The hidden state after the step, `(..., Hidden)`.

    Raises:
        ShapeError: The sizes do not match; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        PyTorch 2.13, `torch.nn.RNNCell`.

    Examples:
        >>> x, h = tg.uniform((8, 5, 3), rng=0), tg.zeros((8, 4))
        >>> weight_x, weight_h = tg.normal((3, 4), rng=1), tg.normal((4, 4), rng=2)
        >>> bias = tg.zeros((4,))
        >>> for step in range(5):
        ...     h = tg.rnn_cell(x[:, step], h, weight_x, weight_h, bias, bias)
        >>> h.shape
        (8, 4)
    """
    _check_dtypes(x, h=h, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    rnn_cell_shape(x.shape, h.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, *others = on_one_tape(x, h, weight_x, weight_h, bias_x, bias_h)
    return rnn(expand_dims(x, -2), *others)[1]


@op(gru_cell_shape)
def gru_cell(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> Tensor[Any, T, Float]:
    """Compute one step of a gated recurrent unit, see `gru`.

        r = σ(x W_r + b_r + h U_r + c_r)
        z = σ(x W_z + b_z + h U_z + c_z)

        n = tanh(x W_n + b_n + r (h U_n + c_n))
        h' = (1 - z) n + z h

    Args:
        x: The input, `(..., In)`, a float dtype.
        h: The hidden state before the step, `(..., Hidden)`.
        weight_x: W of r, z and n concatenated, `(In, 3 Hidden)`, the transpose of PyTorch's.
        weight_h: U of r, z and n concatenated, `(Hidden, 3 Hidden)`, the transpose of PyTorch's.
        bias_x: b of r, z and n, `(3 Hidden,)`.
        bias_h: c of r, z and n, `(3 Hidden,)`.

    Returns:
        The hidden state after the step, `(..., Hidden)`.

    Raises:
        ShapeError: The sizes do not match; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        PyTorch 2.13, `torch.nn.GRUCell`.

    Examples:
        >>> x, h = tg.uniform((8, 5, 3), rng=0), tg.zeros((8, 4))
        >>> weight_x, weight_h = tg.normal((3, 12), rng=1), tg.normal((4, 12), rng=2)
        >>> bias = tg.zeros((12,))
        >>> for step in range(5):
        ...     h = tg.gru_cell(x[:, step], h, weight_x, weight_h, bias, bias)
        >>> h.shape
        (8, 4)
    """
    _check_dtypes(x, h=h, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    gru_cell_shape(x.shape, h.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, *others = on_one_tape(x, h, weight_x, weight_h, bias_x, bias_h)
    return gru(expand_dims(x, -2), *others)[1]


@op(lstm_cell_shape)
def lstm_cell(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    c: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Compute one step of a long short-term memory, see `lstm`.

        i, f, o = σ(x W_(i,f,o) + b_(i,f,o) + h U_(i,f,o) + d_(i,f,o))
        g = tanh(x W_g + b_g + h U_g + d_g)

        c' = f c + i g
        h' = o tanh c'

    Args:
        x: The input, `(..., In)`, a float dtype.
        h: The hidden state before the step, `(..., Hidden)`.
        c: The cell state before the step, `(..., Hidden)`.
        weight_x: W of i, f, g and o concatenated, `(In, 4 Hidden)`, the transpose of PyTorch's.
        weight_h: U of i, f, g and o concatenated, `(Hidden, 4 Hidden)`, the transpose of PyTorch's.
        bias_x: b of i, f, g and o, `(4 Hidden,)`.
        bias_h: d of i, f, g and o, `(4 Hidden,)`.

    Returns:
        The hidden state and the cell state after the step, `(..., Hidden)` each.

    Raises:
        ShapeError: The sizes do not match; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        PyTorch 2.13, `torch.nn.LSTMCell`.

    Examples:
        >>> x, h, c = tg.uniform((8, 5, 3), rng=0), tg.zeros((8, 4)), tg.zeros((8, 4))
        >>> weight_x, weight_h = tg.normal((3, 16), rng=1), tg.normal((4, 16), rng=2)
        >>> bias = tg.zeros((16,))
        >>> for step in range(5):
        ...     h, c = tg.lstm_cell(x[:, step], h, c, weight_x, weight_h, bias, bias)
        >>> h.shape, c.shape
        ((8, 4), (8, 4))
    """
    _check_dtypes(x, h=h, c=c, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    lstm_cell_shape(x.shape, h.shape, c.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, *others = on_one_tape(x, h, c, weight_x, weight_h, bias_x, bias_h)
    _, h, c = lstm(expand_dims(x, -2), *others)
    return h, c


@op(rnn_shape)
def rnn(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Apply an Elman RNN with tanh activation to a sequence.

        h[t] = tanh(x[t] W + b + h[t-1] U + c)

    Args:
        x: The sequence, `(..., Steps, In)`, at least one step, a float dtype.
        h: The hidden state before the first step, `(..., Hidden)`.
        weight_x: W, `(In, Hidden)`, the transpose of PyTorch's.
        weight_h: U, `(Hidden, Hidden)`, the transpose of PyTorch's.
        bias_x: b, `(Hidden,)`.
        bias_h: c, `(Hidden,)`.

    Returns:
        The hidden state after each step, `(..., Steps, Hidden)`, and the last one, `(..., Hidden)`.

    Raises:
        ShapeError: The sizes do not match, or there is no step; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Elman, [Finding structure in time](https://doi.org/10.1207/s15516709cog1402_1); PyTorch 2.13, `torch.nn.RNN`.

    Examples:
        >>> x, h, bias = tg.tensor([[1.0], [0.0], [0.0]]), tg.zeros((1,)), tg.zeros((1,))
        >>> weight_x, weight_h = tg.tensor([[1.0]]), tg.tensor([[0.5]])
        >>> states, last = tg.rnn(x, h, weight_x, weight_h, bias, bias)
        >>> np.round(states.numpy().astype(float), 3).tolist()
        [[0.762], [0.363], [0.18]]
        >>> states.shape, last.shape
        ((3, 1), (1,))
    """
    _check_dtypes(x, h=h, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    rnn_shape(x.shape, h.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, h, weight_x, weight_h, bias_x, bias_h = on_one_tape(x, h, weight_x, weight_h, bias_x, bias_h)
    states = _states(_rnn_step, add(matmul(x, weight_x), bias_x), h, weight_h, bias_h)
    return states, _row(states, -1)


@op(gru_shape)
def gru(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Apply a gated recurrent unit (GRU) to a sequence.

        r = σ(x[t] W_r + b_r + h U_r + c_r)
        z = σ(x[t] W_z + b_z + h U_z + c_z)

        n = tanh(x[t] W_n + b_n + r (h U_n + c_n))
        h[t] = (1 - z) n + z h
        h = h[t-1]

    Args:
        x: The sequence, `(..., Steps, In)`, at least one step, a float dtype.
        h: The hidden state before the first step, `(..., Hidden)`.
        weight_x: W of r, z and n concatenated, `(In, 3 Hidden)`, the transpose of PyTorch's.
        weight_h: U of r, z and n concatenated, `(Hidden, 3 Hidden)`, the transpose of PyTorch's.
        bias_x: b of r, z and n, `(3 Hidden,)`.
        bias_h: c of r, z and n, `(3 Hidden,)`.

    Returns:
        The hidden state after each step, `(..., Steps, Hidden)`, and the last one, `(..., Hidden)`.

    Raises:
        ShapeError: The sizes do not match, or there is no step; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Cho et al., [Learning phrase representations](https://arxiv.org/abs/1406.1078), §2.3, with r after the product
        as in PyTorch 2.13, `torch.nn.GRU`, and in cuDNN.

    Examples:
        >>> x, h = tg.uniform((8, 5, 3), rng=0), tg.zeros((8, 4))
        >>> weight_x, weight_h = tg.normal((3, 12), rng=1), tg.normal((4, 12), rng=2)
        >>> bias = tg.zeros((12,))
        >>> states, last = tg.gru(x, h, weight_x, weight_h, bias, bias)
        >>> states.shape, last.shape
        ((8, 5, 4), (8, 4))
    """
    _check_dtypes(x, h=h, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    gru_shape(x.shape, h.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, h, weight_x, weight_h, bias_x, bias_h = on_one_tape(x, h, weight_x, weight_h, bias_x, bias_h)
    states = _states(_gru_step, add(matmul(x, weight_x), bias_x), h, weight_h, bias_h)
    return states, _row(states, -1)


@op(lstm_shape)
def lstm(
    x: Tensor[Any, T, Float],
    h: Tensor[Any, T, Float],
    c: Tensor[Any, T, Float],
    weight_x: Tensor[Any, T, Float],
    weight_h: Tensor[Any, T, Float],
    bias_x: Tensor[Any, T, Float],
    bias_h: Tensor[Any, T, Float],
) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Apply a long short-term memory (LSTM) to a sequence.

        i, f, o = σ(x[t] W_(i,f,o) + b_(i,f,o) + h U_(i,f,o) + d_(i,f,o))
        g = tanh(x[t] W_g + b_g + h U_g + d_g)

        c[t] = f c[t-1] + i g
        h[t] = o tanh c[t]
        h = h[t-1]

    Args:
        x: The sequence, `(..., Steps, In)`, at least one step, a float dtype.
        h: The hidden state before the first step, `(..., Hidden)`.
        c: The cell state before the first step, `(..., Hidden)`.
        weight_x: W of i, f, g and o concatenated, `(In, 4 Hidden)`, the transpose of PyTorch's.
        weight_h: U of i, f, g and o concatenated, `(Hidden, 4 Hidden)`, the transpose of PyTorch's.
        bias_x: b of i, f, g and o, `(4 Hidden,)`.
        bias_h: d of i, f, g and o, `(4 Hidden,)`.

    Returns:
        The hidden state after each step, `(..., Steps, Hidden)`; the last one and the last cell state, `(..., Hidden)`
        each.

    Raises:
        ShapeError: The sizes do not match, or there is no step; nothing is broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Gers et al., [Learning to forget](https://doi.org/10.1162/089976600300015015), eq. 2.1-2.8; gates in the order
        of PyTorch 2.13, `torch.nn.LSTM`.

    Examples:
        >>> x, h, c = tg.uniform((8, 5, 3), rng=0), tg.zeros((8, 4)), tg.zeros((8, 4))
        >>> weight_x, weight_h = tg.normal((3, 16), rng=1), tg.normal((4, 16), rng=2)
        >>> bias = tg.zeros((16,))
        >>> states, h, c = tg.lstm(x, h, c, weight_x, weight_h, bias, bias)
        >>> states.shape, h.shape, c.shape
        ((8, 5, 4), (8, 4), (8, 4))
    """
    _check_dtypes(x, h=h, c=c, weight_x=weight_x, weight_h=weight_h, bias_x=bias_x, bias_h=bias_h)
    lstm_shape(x.shape, h.shape, c.shape, weight_x.shape, weight_h.shape, bias_x.shape, bias_h.shape)
    x, h, c, weight_x, weight_h, bias_x, bias_h = on_one_tape(x, h, c, weight_x, weight_h, bias_x, bias_h)
    states = _states(_lstm_step, add(matmul(x, weight_x), bias_x), h, c, weight_h, bias_h)
    return getitem(states, (..., slice(-1), slice(None))), _row(states, -2), _row(states, -1)


def _rnn_step(x: Any, u: Any, _: Any) -> Any:
    h = engine(x, u).tanh(x + u)

    def backward(dh: Any) -> Any:
        dx = dh * (1 - h * h)
        return dx, dx, (0.0,)

    return (h,), backward


def _gru_step(x: Any, u: Any, h: Any) -> Any:
    x_r, x_z, x_n = _parts(x, 3)
    u_r, u_z, u_n = _parts(u, 3)
    r, z = apply("sigmoid", x_r + u_r), apply("sigmoid", x_z + u_z)
    n = engine(x, u).tanh(x_n + r * u_n)

    def backward(dh: Any) -> Any:
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (h - n) * z * (1 - z)
        dr = dn * u_n * r * (1 - r)
        return _joined(dr, dz, dn), _joined(dr, dz, dn * r), (dh * z,)

    return ((1 - z) * n + z * h,), backward


def _lstm_step(x: Any, u: Any, _: Any, c: Any) -> Any:
    i, f, g, o = _parts(x + u, 4)
    i, f, o = apply("sigmoid", i), apply("sigmoid", f), apply("sigmoid", o)
    g = engine(g).tanh(g)
    memory = f * c + i * g
    shown = engine(memory).tanh(memory)

    def backward(dh: Any, dc: Any) -> Any:
        dc = dc + dh * o * (1 - shown * shown)
        di, df, dg, do = dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * shown * o * (1 - o)
        dx = _joined(di, df, dg, do)
        return dx, dx, (0.0, dc * f)

    return (o * shown, memory), backward


@rematerializable()
def _states(step: Step, *operands: Tensor[Any, T, Float]) -> Tensor[Any, T, Float]:
    """Return the hidden state after each step, then the other last states, as further steps of the same tensor."""
    # One tape entry for all steps. With an op per step, backward would allocate a zero gradient of the whole sequence
    # for each step, and compute the gradient of the weight as one product per step instead of one in all.
    nodes, tape = unwrap_all(operands, "operands")
    x, *first, weight, bias = nodes
    axis = len(x.shape) - 2
    primitives = engine(*(one.data for one in nodes))

    def one_step(state: tuple[Any, ...], rows: tuple[Any, ...]) -> Any:
        state, backward_cell = step(*rows, state[0] @ weight.data + bias.data, *state)

        def backward_step(dstate: tuple[Any, ...], dys: tuple[Any, ...]) -> Any:
            dx, du, (dh, *others) = backward_cell(dys[0] + dstate[0], *dstate[1:])
            return (dh + du @ engine(weight.data).swap_last_axes(weight.data), *others), (dx, du), ()

        return state, state[:1], backward_step

    last, (hidden,), backward_steps = primitives.scan(one_step, [one.data for one in first], [x.data], axis)
    out = node(primitives.concat([hidden, *(_as_steps(one) for one in last[1:])], -2) if last[1:] else hidden)

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        steps = x.shape[-2]
        dlast = [0.0, *(_steps_of(dy, steps + index) for index in range(len(first) - 1))]
        dstate, (dx, du), _ = backward_steps(dlast, [_steps_of(dy, slice(steps))])
        for one, gradient in zip(first, dstate, strict=True):
            grads.add(one, gradient)
        grads.add(x, dx)
        columns = _flat(du)
        if grads.wants(weight):
            before = [_as_steps(first[0].data), _steps_of(out.data, slice(steps - 1))]
            grads.add(weight, _flat(engine(*before).concat(before, -2)).T @ columns)
        if grads.wants(bias):
            grads.add(bias, engine(columns).sum(columns, 0, keepdims=False))

    return tape.record(out, tuple(nodes), backward)


def _row(states: Tensor[Any, T, Float], index: int) -> Tensor[Any, T, Float]:
    return getitem(states, (..., index, slice(None)))


def _steps_of(x: Any, index: int | slice) -> Any:
    return engine(x).getitem(x, (..., index, slice(None)))


def _as_steps(x: Any) -> Any:
    """Return the value of a step, `(..., N)`, as a sequence of one step."""
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def _flat(x: Any) -> Any:
    return x.reshape((x.size // x.shape[-1] if x.size else 0, x.shape[-1]))


def _parts(x: Any, count: int) -> list[Any]:
    width = x.shape[-1] // count
    return [engine(x).getitem(x, (..., slice(width * part, width * (part + 1)))) for part in range(count)]


def _joined(*parts: Any) -> Any:
    return engine(*parts).concat(parts, -1)


def _check_steps(x: Dims) -> None:
    *_, steps, _ = at_least(2, x=x)
    if surely_less(steps, 1):
        message = f"x {show(x)} has no steps"
        raise ShapeError(message)


def _check_sizes(
    gates: int,
    x: Dims,
    batch: Dims,
    states: dict[str, Dims],
    weight_x: Dims,
    weight_h: Dims,
    bias_x: Dims,
    bias_h: Dims,
) -> None:
    """Raise a ShapeError if a size does not match `x` and the hidden size."""
    h = states["h"]
    hidden = at_least(1, h=h)[-1]
    of_x = {name: ((*batch, hidden), state) for name, state in states.items()}
    of_gates = {
        "weight_x": ((x[-1], hidden * gates), weight_x),
        "weight_h": ((hidden, hidden * gates), weight_h),
        "bias_x": ((hidden * gates,), bias_x),
        "bias_h": ((hidden * gates,), bias_h),
    }
    for name, (wanted, given) in (of_x | of_gates).items():
        if len(given) != len(wanted) or any(map(surely_differ, given, wanted)):
            operands = f"x {show(x)}" if name == "h" else f"x {show(x)} and h {show(h)}"
            message = f"{name} is {show(given)} but {show(wanted)} is expected for {operands}"
            raise ShapeError(message)


def _check_dtypes(x: Tensor[Any, Any, Any], **others: Tensor[Any, Any, Any]) -> None:
    tensor_only(x, "x")
    for name, other in others.items():
        tensor_only(other, name)
        same_dtype(x, other, name)
    float_only(x)

"""rnn, gru and lstm, sequences and single cells: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import concat, gru, gru_cell, lstm, lstm_cell, normal, rnn, rnn_cell, tensor, zeros
from tapegrad.ops.recurrent import (
    gru_cell_shape,
    gru_shape,
    lstm_cell_shape,
    lstm_shape,
    rnn_cell_shape,
    rnn_shape,
)
from tapegrad.testing import check_gradients, check_shape_rule

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
NAMES = [*GATES, *(f"{name}_cell" for name in GATES)]
EDGES = [0.0, -0.0, 1.0, 1.0, 300.0, -300.0, np.inf, -np.inf, np.nan]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def operands(name: str, *batch: int, steps: int = 4, inner: int = 2, hidden: int = 3) -> list[Any]:
    """Return what an op of this name takes, with random numbers."""
    width = GATES[name.removesuffix("_cell")] * hidden
    x = (*batch, inner) if name.endswith("_cell") else (*batch, steps, inner)
    states = [(*batch, hidden)] * (2 if name.startswith("lstm") else 1)
    shapes = [x, *states, (inner, width), (hidden, width), (width,), (width,)]
    return [real(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def numbers(*values: float) -> Any:
    """Return a column of numbers, each a batch of its own."""
    return tensor([[value] for value in values], np.float64)


def joined(results: Any) -> Any:
    """Return all numbers of a result in one vector, so that each is differentiated."""
    return concat([part.reshape((-1,)) for part in (results if isinstance(results, tuple) else (results,))])


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# The formulas of the docstrings, for one step of one batch of one number with these weights and biases.

W, U, B, C = [0.5, -1.5, 2.0, 0.75], [0.25, 1.25, -0.5, 1.0], [0.1, -0.2, 0.3, 0.4], [-0.3, 0.6, 0.2, -0.1]


def weights(gates: int) -> list[Any]:
    return [
        tensor([W[:gates]], np.float64),
        tensor([U[:gates]], np.float64),
        *(tensor(b[:gates], np.float64) for b in (B, C)),
    ]


def by_hand(name: str, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    a, u = [x * w + b for w, b in zip(W, B, strict=True)], [h * v + b for v, b in zip(U, C, strict=True)]
    if name == "rnn":
        return np.tanh(a[0] + u[0]), c
    if name == "gru":
        r, z = sigmoid(a[0] + u[0]), sigmoid(a[1] + u[1])
        return (1 - z) * np.tanh(a[2] + r * u[2]) + z * h, c
    i, f, o = (sigmoid(a[gate] + u[gate]) for gate in (0, 1, 3))
    c = f * c + i * np.tanh(a[2] + u[2])
    return o * np.tanh(c), c


def called(name: str, x: Any, h: Any, c: Any) -> tuple[Any, ...]:
    states = (h, c) if name.startswith("lstm") else (h,)
    result = getattr(ops, name)(x, *states, *weights(GATES[name.removesuffix("_cell")]))
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.filterwarnings("ignore:overflow")  # of the arithmetic here
@pytest.mark.filterwarnings("ignore:invalid value")  # an infinity times a gate that is shut has no value
def test_values_equal_the_formula_in_edge_cases(name: str) -> None:
    x = np.array(EDGES)
    h, c = np.linspace(-1, 1, len(x)), np.linspace(2, -2, len(x))
    first = by_hand(name, x, h, c)
    second = by_hand(name, x[::-1], *first)

    column = numbers(*EDGES)
    cell = called(f"{name}_cell", column, numbers(*h), numbers(*c))
    steps = concat([column, numbers(*EDGES[::-1])], axis=1).reshape((len(x), 2, 1))
    y, *last = called(name, steps, numbers(*h), numbers(*c))

    for ours, theirs in zip(cell, first, strict=False):
        np.testing.assert_allclose(ours.numpy()[:, 0], theirs, rtol=1e-12)
    np.testing.assert_allclose(y.numpy()[:, :, 0], np.stack([first[0], second[0]], axis=1), rtol=1e-12)
    for ours, theirs in zip(last, second, strict=False):
        np.testing.assert_allclose(ours.numpy()[:, 0], theirs, rtol=1e-12)


def test_values_equal_torch() -> None:
    x = tensor([[[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]]], np.float64)
    h, c = tensor([[0.1, -0.2]], np.float64), tensor([[0.3, 0.4]], np.float64)

    def filled(gates: int) -> list[Any]:
        width = 2 * gates
        w = tensor((np.arange(4.0 * width).reshape(4, width) - 2 * width) / (4 * width), np.float64)
        return [w[:2], w[2:], w[0], w[3]]

    # torch 2.13: nn.RNN, nn.GRU and nn.LSTM(2, 2, batch_first=True) with the transposes of these weights
    simple, _ = rnn(x, h, *filled(1))
    gated, _ = gru(x, h, *filled(3))
    long, _, memory = lstm(x, h, c, *filled(4))
    of_rnn = [
        [-0.291312612452, -0.124353001772],
        [-0.872531409114, -0.698464697612],
        [-0.400812170656, -0.270349356059],
    ]
    of_gru = [[-0.097274386018, -0.21149604487], [-0.574043762588, -0.53323919503], [-0.345410838384, -0.294847732736]]
    of_lstm = [[0.03975290179, 0.073593126088], [-0.043871393896, -0.036217807468], [-0.012530052741, 0.016296711229]]
    np.testing.assert_allclose(simple.numpy(), [of_rnn], atol=1e-12)
    np.testing.assert_allclose(gated.numpy(), [of_gru], atol=1e-12)
    np.testing.assert_allclose(long.numpy(), [of_lstm], atol=1e-12)
    np.testing.assert_allclose(memory.numpy(), [[-0.022374971166, 0.028079043013]], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [(), (1,), (2,), (2, 3)], ids=str)
def test_gradients_reach_all_operands(name: str, batch: tuple[int, ...]) -> None:
    taken = operands(name, *batch, steps=2, inner=2, hidden=1) if batch == (2, 3) else operands(name, *batch, steps=3)

    check_gradients(lambda *inputs: joined(getattr(ops, name)(*inputs)), *taken)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_can_be_differentiated(name: str) -> None:
    check_gradients(lambda *all: joined(getattr(ops, name)(*all)), *operands(name, 2, steps=2, hidden=2), order=2)


@pytest.mark.parametrize("name", GATES)
def test_each_result_alone_has_a_gradient(name: str) -> None:
    taken = operands(name, 2, steps=3)

    for place in range(3 if name == "lstm" else 2):
        check_gradients(lambda *inputs, place=place: getattr(ops, name)(*inputs)[place], *taken)


@pytest.mark.parametrize("name", GATES)
def test_a_sequence_equals_its_cell_step_by_step(name: str) -> None:
    x, *states, weight_x, weight_h, bias_x, bias_h = operands(name, 5, steps=4)

    y, *last = getattr(ops, name)(x, *states, weight_x, weight_h, bias_x, bias_h)
    for t in range(4):
        stepped = getattr(ops, f"{name}_cell")(x[:, t], *states, weight_x, weight_h, bias_x, bias_h)
        states = list(stepped) if isinstance(stepped, tuple) else [stepped]
        np.testing.assert_allclose(y[:, t].numpy(), states[0].numpy(), rtol=1e-13)

    for ours, theirs in zip(last, states, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_batch_has_gradients_of_zero(name: str) -> None:
    x, *others = operands(name, 0)
    weight = others[-4]

    result = joined(getattr(ops, name)(x.trace(), *others[:-4], weight.trace(), *others[-3:]))
    grads = result.sum().backward()

    assert result.shape == (0,)
    assert grads[x].shape == x.shape
    np.testing.assert_array_equal(grads[weight].numpy(), np.zeros(weight.shape))


@pytest.mark.parametrize("name", NAMES)
def test_any_operand_may_have_the_tape(name: str) -> None:
    taken = operands(name, 2)

    for place, leaf in enumerate(taken):
        y = joined(getattr(ops, name)(*taken[:place], leaf.trace(), *taken[place + 1 :]))
        assert y.sum().backward()[leaf].shape == leaf.shape
    assert not joined(getattr(ops, name)(*taken)).owns_tape


def test_float32_stays_float32() -> None:
    for name in NAMES:
        assert joined(getattr(ops, name)(*(x.astype(np.float32) for x in operands(name, 2)))).dtype == np.float32


def test_a_long_sequence_is_recorded_in_four_entries() -> None:
    taken = operands("gru", 1, steps=500)

    y, _ = gru(taken[0].trace(), *taken[1:])

    assert len(y.tape.tape) == 4  # a product, a sum, all steps, the last of them


def test_results_match_the_shape_rules() -> None:
    vectors = {"rnn": (5,), "gru": (15,), "lstm": (20,)}
    rules: dict[str, Callable[..., Any]] = {
        "rnn": rnn_shape,
        "gru": gru_shape,
        "lstm": lstm_shape,
        "rnn_cell": rnn_cell_shape,
        "gru_cell": gru_cell_shape,
        "lstm_cell": lstm_cell_shape,
    }
    for name, rule in rules.items():
        (width,) = vectors[name.removesuffix("_cell")]
        states = [(2, 5)] * (2 if name.startswith("lstm") else 1)
        x = (2, 3) if name.endswith("_cell") else (2, 7, 3)
        rest = [(3, width), (5, width), (width,), (width,)]
        check_shape_rule(
            rule, (x, *states, *rest), (x, *states[:-1], (1, 5), *rest), (x[1:], *[(5,)] * len(states), *rest)
        )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: rnn(real(2, 7, 3), real(1, 5), real(3, 5), real(5, 5), real(5), real(5)),
            ShapeError,
            r"rnn: h is \(1, 5\) but \(2, 5\) is expected for x \(2, 7, 3\)",
        ),
        (
            lambda: rnn(real(2, 0, 3), real(2, 5), real(3, 5), real(5, 5), real(5), real(5)),
            ShapeError,
            r"rnn: x \(2, 0, 3\) has no steps",
        ),
        (
            lambda: gru(real(3), real(5), real(3, 15), real(5, 15), real(15), real(15)),
            ShapeError,
            r"gru: x \(3,\) has rank 1 but needs at least 2",
        ),
        (
            lambda: gru_cell(real(2, 3), real(2, 5), real(3, 5), real(5, 15), real(15), real(15)),
            ShapeError,
            r"gru_cell: weight_x is \(3, 5\) but \(3, 15\) is expected for x \(2, 3\) and h \(2, 5\)",
        ),
        (
            lambda: gru_cell(real(), real(5), real(3, 15), real(5, 15), real(15), real(15)),
            ShapeError,
            r"gru_cell: x \(\) has rank 0 but needs at least 1",
        ),
        (
            lambda: lstm(*[real(2, 7, 3), real(2, 5), real(5), *[real(20)] * 4]),
            ShapeError,
            r"lstm: c is \(5,\) but \(2, 5\) is expected for x \(2, 7, 3\) and h \(2, 5\)",
        ),
        (
            lambda: lstm_cell(real(3), real(5), real(5), real(3, 20), real(5, 20), real(20), real(1)),
            ShapeError,
            r"lstm_cell: bias_h is \(1,\) but \(20,\) is expected for x \(3,\) and h \(5,\)",
        ),
        (
            lambda: rnn_cell(real(2, 3), real(), real(3, 5), real(5, 5), real(5), real(5)),
            ShapeError,
            r"rnn_cell: h \(\) has rank 0 but needs at least 1",
        ),
    ],
)
def test_invalid_arguments_are_rejected(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        call()


@pytest.mark.parametrize("name", NAMES)
def test_mixed_dtypes_are_rejected(name: str) -> None:
    x, h, *others = operands(name, 2)

    with pytest.raises(DTypeError, match=f"^{name}: x is float64 but h is float32$"):
        getattr(ops, name)(x, h.astype(np.float32), *others)
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        getattr(ops, name)(*(one.astype(np.int64) for one in (x, h, *others)))
    with pytest.raises(ShapeError, match=f"^{name}: weight_h is "):
        getattr(ops, name)(x, h, *others[:-3], zeros((1, 1), np.float64), *others[-2:])


def test_a_cell_state_of_a_wrong_width_is_named() -> None:
    rule = OPS["lstm_cell"].rule

    with pytest.raises(ShapeError, match=r"^c is \(2, 4\) but \(2, 5\) is expected for x \(2, 3\) and h \(2, 5\)$"):
        rule((2, 3), (2, 5), (2, 4), (3, 20), (5, 20), (20,), (20,))

"""NumPy's error state: underflow is silently 0, and overflow is reported to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tapegrad as tg
from tapegrad import optim
from tapegrad.nn import Param

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad import OwnedTape, Tensor

    Scores = Tensor[Any, OwnedTape]

WIDE: Final = np.array([[-1e4, -100.0, -88.5, 0.0, 3.0], [7.0, 1e4, -90.0, 1e-30, -1e-40]], np.float32)
ONES: Final = tg.ones((5,))

ACTIVATIONS: Final = (tg.sigmoid, tg.log_sigmoid, tg.softplus, tg.silu, tg.gelu, tg.elu, tg.mish, tg.tanh, tg.erf)
FUNCTIONS: Final[dict[str, Callable[[Scores], Scores]]] = {f.__name__: f for f in ACTIVATIONS} | {
    "attention": lambda x: tg.scaled_dot_product_attention(x, x, x),
    "cross_entropy": lambda x: tg.cross_entropy(x, tg.tensor([3, 1])),
    "fused": tg.fused(lambda x: tg.sigmoid(x) * 1e-30 * 1e-30),
    "exp": lambda x: tg.exp(tg.minimum(x, 0.0)),
    "gelu by tanh": lambda x: tg.gelu(tg.maximum(x, -1e3), approximate="tanh"),
    "layer_norm": lambda x: tg.layer_norm(x, ONES, ONES),
    "log_softmax": tg.log_softmax,
    "logsumexp": lambda x: tg.logsumexp(x, axis=1),
    "product": lambda x: x * 1e-30 * 1e-30,
    "rms_norm": lambda x: tg.rms_norm(x, ONES),
    "smooth_max_pool1d": lambda x: tg.smooth_max_pool1d(x.reshape((1, 2, 5)), 2),
    "softmax": tg.softmax,
}


@pytest.fixture
def strict() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_underflow_gives_zero_for_every_error_state(name: str) -> None:
    value, gradient = on_the_way(name)

    with np.errstate(all="raise"):
        strict_value, strict_gradient = on_the_way(name)

    assert_array_equal(strict_value, value)
    assert_array_equal(strict_gradient, gradient)


def on_the_way(name: str) -> tuple[Any, Any]:
    x = tg.tensor(WIDE)
    y = FUNCTIONS[name](x.trace())
    value = y.numpy(copy=True)
    return value, y.backward(seed=tg.ones(y.shape))[x].numpy()


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adadelta])
@pytest.mark.usefixtures("strict")
def test_a_step_with_a_gradient_whose_square_underflows_succeeds(kind: type[optim.Optimizer[Any]]) -> None:
    w = Param(tg.ones((3,)))
    opt = kind([w], lr=0.125)

    opt.step((w.trace() * tg.full((3,), 1e-30)).sum().backward(wrt=[w]))

    assert np.isfinite(w.numpy()).all()


@pytest.mark.usefixtures("strict")
def test_operators_underflow_silently() -> None:
    half = tg.tensor(np.full(3, 1e-40, np.float32))

    assert_array_equal((half * 1e-30).numpy(), np.zeros(3))
    assert_array_equal((1e-30 * half).numpy(), np.zeros(3))


DRAWS: Final[dict[str, Callable[[np.random.Generator], Any]]] = {
    "dropout": lambda rng: tg.dropout(tg.tensor(np.full(7, 1.1e-40, np.float32)).trace(), rate=0.3, rng=rng),
    "normal": lambda rng: tg.normal((5,), std=1e-40, rng=rng),
    "normal_like": lambda rng: tg.normal_like(tg.ones((5,), np.float16), std=1e-6, rng=rng),
    "uniform": lambda rng: tg.uniform((5,), high=1e-40, rng=rng),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_drawn_once_for_every_error_state(name: str) -> None:
    rng, strict_rng = np.random.default_rng(3), np.random.default_rng(3)
    drawn = DRAWS[name](rng).numpy()

    with np.errstate(all="raise"):
        strictly_drawn = DRAWS[name](strict_rng).numpy()

    assert_array_equal(strictly_drawn, drawn)
    assert strict_rng.bit_generator.state == rng.bit_generator.state


def test_errstate_with_under_warn_gives_numpys_warning() -> None:
    x = tg.tensor(np.full(3, 1e-40, np.float32))

    with np.errstate(under="warn"), pytest.warns(RuntimeWarning, match=r"^underflow encountered in multiply$"):
        assert (x * 1e-30).tolist() == [0, 0, 0]


@pytest.mark.usefixtures("strict")
def test_overflow_raises_as_in_numpy() -> None:
    with pytest.raises(FloatingPointError, match=r"^overflow encountered in exp$") as caught:
        tg.exp(tg.tensor([-1e4, 1e4]))

    assert caught.value.__suppress_context__
    assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")


@pytest.mark.usefixtures("strict")
def test_division_by_zero_raises_as_in_numpy() -> None:
    with pytest.raises(FloatingPointError, match=r"^divide by zero encountered in divide$"):
        tg.tensor([1.0]) / 0.0


@pytest.mark.usefixtures("strict")
def test_an_op_that_is_called_again_is_registered_with_a_checkpointing_tape() -> None:
    x = tg.tensor(WIDE[1])
    y = tg.softmax(x.trace(checkpoint=tg.BalancedCheckpointing()))

    grads = (y * y).sum().backward()

    assert np.isfinite(grads[x].numpy()).all()

"""Every op under `jit`: the values and gradients of the op without `jit`, or an error that says why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import ops
from tapegrad.autodiff import Autodiff
from tapegrad.errors import TapeError
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import unwrap
from tests.op_coverage import NAMES
from tests.oracle.calls import CALLS, INTEGERS, ONE, WHOLE, call, converted, direction, op_of, real, replaced
from tests.slow import SLOW

REJECTED = {
    "masked_select": "how many elements it gives hangs on the mask",
    "unique": "how many elements it gives hangs on the numbers",
    "nonzero": "how many indices it gives hangs on the numbers",
}
DRAWN = {"normal", "uniform", "bernoulli", "normal_like", "uniform_like", "bernoulli_like", "dropout"}
NOT_COMPARED = DRAWN | {"empty", "empty_like", "tensor"}  # their numbers are unspecified; the last creates operands
OWN = {
    "bitwise_count": [call(WHOLE)],
    "cbrt": ONE,
    "ssm_scan": [call(np.abs(real(2, 5, 3)) / 4, real(2, 5, 3, seed=1), real(2, 5, 3, seed=2), 1)],
}
# Where an operand is such, an ordinary number is compared.
DIFFERENCES = dict.fromkeys(
    ["max", "min", "norm"], np.isnan
)  # XLA takes 0 times infinity for 0, where that 0 is a bool
# A third of their calls are compiled: they are products of operands with options, or those of `max_pool1d` and
# `max_pool2d`. `make slow` compiles all.
THINNED = {"avg_pool2d", "cross_entropy", "huber", "min_pool1d", "min_pool2d", "norm", "smooth_l1"}
THINNED |= {"smooth_max_pool1d", "smooth_max_pool2d"}


@pytest.fixture(autouse=True, scope="module")
def unoptimized() -> Iterator[None]:
    """Let XLA compile the programs of these tests, which run once, without its costly optimizations."""
    import jax  # an extra

    config: Any = jax.config  # its methods are not typed
    config.update("jax_disable_most_optimizations", True)  # noqa: FBT003  # JAX's signature
    yield
    config.update("jax_disable_most_optimizations", False)  # noqa: FBT003  # JAX's signature


def test_there_are_calls_of_every_other_op() -> None:
    assert {*NAMES} - NOT_COMPARED == {*CALLS, *OWN}


def calls(name: str) -> list[Any]:
    lines = OWN.get(name) or CALLS[name] + INTEGERS.get(name, [])
    if name in THINNED and not SLOW:
        lines = [one for number, one in enumerate(lines) if number % 3 == number // 3 % 3]
    return [converted(one, np.float32, DIFFERENCES.get(name, np.zeros_like)) for one in lines]


def operands(lines: list[Any]) -> list[Tensor[Any, Any, Any]]:
    found: list[Any] = []
    for one in lines:
        replaced([*one.args, one.options], lambda array: found.append(node(array)))
    return found


def computed(name: str, lines: list[Any], tensors: list[Any]) -> list[list[Any]]:
    """Return what all calls of an op give for these operands, and the gradients along a direction."""
    rest, found = iter(tensors), []
    for one in lines:
        leaves: list[Any] = []

        def made(array: Any, *, leaves: list[Any] = leaves) -> Any:
            x = next(rest)
            if array.dtype.kind != "f":
                return x
            leaves.append(x)
            return x.trace()

        result = op_of(name)(*replaced(one.args, made), **replaced(one.options, made))
        several = list(result) if isinstance(result, tuple | list) else [result]
        values = [y.detach() for y in several]
        taped = [y for y in several if y.owns_tape]
        if taped:
            total = sum((y * direction(np.zeros(y.shape, y.dtype))).sum() for y in taped)
            grads = total.backward(wrt=leaves)
            values += [grads[x] for x in leaves if x in grads]
        found.append(values)
    return found


@pytest.mark.parametrize("name", sorted({*NAMES} - NOT_COMPARED - {*REJECTED}))
@pytest.mark.filterwarnings("ignore")  # NumPy warns of edges
def test_an_op_under_jit_equals_eager_results(name: str) -> None:
    lines = calls(name)
    tensors = operands(lines)

    without = computed(name, lines, tensors)
    under = tg.jit(lambda tensors: computed(name, lines, tensors))(tensors)

    for one, ours, theirs in zip(lines, under, without, strict=True):
        for x, y in zip(ours, theirs, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), one
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5, err_msg=str(one))


@pytest.mark.parametrize("name", sorted(REJECTED))
def test_an_op_whose_shape_depends_on_values_is_rejected_by_name(name: str) -> None:
    lines = calls(name)
    tensors = operands(lines)

    words = rf"^{name}: the numbers of a tensor are needed, which a step under jit has only when it runs$"
    with pytest.raises(TapeError, match=words):
        tg.jit(lambda tensors: computed(name, lines, tensors))(tensors)


@pytest.mark.parametrize("name", sorted(DRAWN))
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
def test_random_numbers_under_jit_differ_per_call_and_repeat_with_a_seed(name: str, dtype: Any) -> None:
    x = tg.ones((200, 300), dtype)

    @tg.jit
    def drawn(x: Any, rng: Any) -> Any:
        if name == "dropout":
            return ops.dropout(x.trace(), rate=0.25, rng=rng).sum().backward()[x]
        options = {"std": 2.0} if "normal" in name else {"low": -1.0} if "uniform" in name else {"p": 0.25}
        operand = x if name.endswith("_like") else x.shape
        dtypes = {} if name.endswith("_like") else {"dtype": dtype}
        return getattr(ops, name)(operand, rng=rng, **options, **dtypes)

    rng = np.random.default_rng(0)
    first, second = drawn(x, rng), drawn(x, rng)
    again = drawn(x, np.random.default_rng(0))

    assert (first.shape, first.dtype) == (x.shape, dtype)
    assert (first.numpy() != second.numpy()).any()
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    mean, deviation = {"normal": (0, 2), "uniform": (0, 3**-0.5), "bernoulli": (0.25, 0.1875**0.5)}.get(
        name.removesuffix("_like"), (1, 3**-0.5)
    )
    np.testing.assert_allclose((first.numpy().mean(), first.numpy().std()), (mean, deviation), atol=0.02)


# Each asks for the engine of its gradient and of something else, of which but one may be JAX's.
MIXED: dict[str, Any] = {
    "gelu": lambda x: ops.gelu(x, approximate="tanh"),
    "leaky_relu": ops.leaky_relu,
    "where": lambda x: ops.where(x > 0.1, x * x, x),
    "take": lambda x: ops.take(x * x, x[0].argsort(), axis=1),
    "scatter_add": lambda x: ops.scatter_add(x[1] * x[1], x[0].argsort(), (3,)),
    "nan_to_num": ops.nan_to_num,
    "sqrt": lambda x: ops.sqrt(ops.relu(x), safe=True),
    "clamp": lambda x: ops.clamp(x, min=-0.5, max=1.0),
    "maximum": lambda x: ops.maximum(x * x, x),
    "heaviside": lambda x: ops.heaviside(ops.relu(x), x * x),
    "std": lambda x: ops.std(x, axis=1),
    "large": lambda x: ops.gelu(ops.broadcast_to(x, (50_000, 2, 3)), approximate="tanh"),
    "matmul": lambda x: x @ tg.normal((3, 4), rng=2),
    "linear": lambda x: ops.linear(tg.normal((5, 2), rng=2), x, x[0]),
    "max_pool": lambda x: ops.max_pool1d(x, 2),
}


def is_near(found: Any, expected: Any) -> None:
    """Compare sums of many terms too, which are as exact as the largest of them."""
    largest = abs(expected.numpy()).max()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5 * largest)


@pytest.mark.parametrize("name", MIXED)
def test_the_gradient_and_the_operands_may_be_of_two_engines(name: str) -> None:
    x, f = tg.normal((2, 3), rng=0), MIXED[name]
    seed = tg.normal(f(x).shape, rng=1)

    def gradient(x: Any, seed: Any) -> Any:
        return f(x.trace()).backward(wrt=x, seed=seed)[x]

    expected = gradient(x, seed)
    plain_seed: Any = tg.jit(lambda x: gradient(x, seed))
    plain_operands: Any = tg.jit(lambda seed: gradient(node(x.numpy()), seed))  # made inside, it stays as it is
    is_near(plain_seed(x), expected)
    is_near(plain_operands(seed), expected)


# A backward pass whose derivative is a NumPy value from elsewhere, where all else is JAX's.
def with_derivative(x: Any) -> Any:
    operand, tape = unwrap(x)
    out = node(operand.data * 2.0)

    def backward(grads: Any) -> None:
        grads.pop_output(out)
        grads.add(operand, np.arange(1, out.size + 1, dtype=np.float32).reshape(out.shape))

    return tape.record(out, (operand,), backward)


def derivative_of(f: Any, x: Any) -> Any:
    """Return the derivative at a level above `x`, on the tape of `x`."""
    level: Any = Autodiff()
    leaf = level.from_inner(x)
    return level.inner(f(leaf.trace()).backward(wrt=leaf)[leaf])


@pytest.mark.parametrize("name", MIXED)
def test_a_numpy_gradient_with_operands_of_another_level_and_of_jax(name: str) -> None:
    x, f = tg.normal((2, 3), rng=0), MIXED[name]

    def derivative(x: Any) -> Any:
        return derivative_of(lambda x: with_derivative(f(x)).sum(), x)

    is_near(tg.jit(derivative)(x), derivative(x))


@pytest.mark.parametrize("multiply", [ops.matmul, lambda x, w: ops.linear(x, w, w[0])], ids=["matmul", "linear"])
def test_numpy_gradients_pass_through_weights_of_jax(multiply: Any) -> None:
    x, weight = tg.normal((2, 3), rng=0), tg.normal((3, 4), rng=1)

    def derivative(weight: Any) -> Any:
        return with_derivative(multiply(x.trace(), weight)).sum().backward(wrt=x)[x]

    is_near(tg.jit(derivative)(weight), derivative(weight))


@pytest.mark.parametrize("name", MIXED)
def test_a_gradient_of_a_higher_level_with_operands_of_lower_levels(name: str) -> None:
    x, f = tg.normal((2, 3), rng=0), MIXED[name]
    seed = tg.normal(f(x).shape, rng=1)

    def gradient(seed: Any) -> Any:
        return f(x.trace()).backward(wrt=x, seed=seed)[x]

    level: Any = Autodiff()
    derivative = level.inner(gradient(level.from_inner(seed.trace())))
    towards = tg.normal((2, 3), rng=2)
    back = (derivative * towards).sum().backward(wrt=seed)[seed]

    expected = gradient(seed)
    is_near(derivative, expected)
    # A gradient is linear in its seed, and so is what comes back from it the seed's own derivative.
    np.testing.assert_allclose((back * seed).sum().item(), (expected * towards).sum().item(), rtol=1e-4)


# Each takes whole numbers or bools beside what is differentiated.
SELECTED: dict[str, Any] = {
    "where": lambda x, indices, mask: ops.where(mask, x * x, x),  # noqa: ARG005
    "take": lambda x, indices, mask: ops.take(x * x, indices, axis=1),  # noqa: ARG005
    "gather": lambda x, indices, mask: ops.gather(x * x, ops.stack([indices, indices]), axis=1),  # noqa: ARG005
    "getitem": lambda x, indices, mask: (x * x)[:, indices],  # noqa: ARG005
    "at_set": lambda x, indices, mask: ops.at_set(x * x, (0, indices), x[1]),  # noqa: ARG005
    "at_add": lambda x, indices, mask: ops.at_add(x * x, (0, indices), x[1]),  # noqa: ARG005
    "scatter_add": lambda x, indices, mask: ops.scatter_add(x[1] * x[1], indices, (4,)),  # noqa: ARG005
    "cross_entropy": lambda x, indices, mask: ops.cross_entropy(x * x, indices[:2]),  # noqa: ARG005
}


@pytest.mark.parametrize("name", SELECTED)
def test_indices_and_masks_may_have_another_engine_than_the_tensor(name: str) -> None:
    x, f = tg.normal((2, 3), rng=0), SELECTED[name]
    indices, mask = tg.tensor([0, 2, 1]), tg.tensor([True, False, True])

    def value(x: Any, indices: Any, mask: Any) -> Any:
        return f(x, indices, mask)

    def derivative(x: Any, indices: Any, mask: Any) -> Any:
        return with_derivative(f(x.trace(), indices, mask)).sum().backward(wrt=x)[x]

    def second(x: Any, indices: Any, mask: Any) -> Any:
        derivative = derivative_of(lambda x: (f(x, indices, mask) ** 2).sum(), x.trace())
        return (derivative * derivative).sum().backward(wrt=x)[x]

    for compute in (value, derivative, second):
        expected = compute(x, indices, mask)
        all_given = tg.jit(compute)(x, indices, mask)
        selection_given = tg.jit(lambda indices, mask: compute(x, indices, mask))(indices, mask)  # noqa: B023  # it runs here
        is_near(all_given, expected)
        is_near(selection_given, expected)

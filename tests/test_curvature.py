"""Hessians and Hessian-vector products against differences of gradients."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from tapegrad import nn
from tapegrad.autograd.gradients import Gradients
from tapegrad.curvature import hessian, hvp
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import cross_entropy, exp, normal, ones, softmax, tanh, tensor, zeros
from tapegrad.tensors import node
from tapegrad.tensors.operands import split_tape


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def energy(x: Any) -> Any:
    return (softmax(tanh(x) @ real(x.shape[-1], 4, seed=9)) * exp(x[..., :1])).sum()


def difference(f: Any, x: Any, v: Any, eps: float = 1e-5) -> Any:
    """Return how the gradient changes along `v`."""
    near = [node(x.numpy() + step * v.numpy()) for step in (eps, -eps)]
    high, low = (f(point.trace()).backward()[point].numpy() for point in near)
    return (high - low) / (2 * eps)


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 5), (2, 1, 3)])
def test_hessian_vector_products_equal_differences_of_gradients(shape: tuple[int, ...]) -> None:
    x, v = real(*shape), real(*shape, seed=1)

    product = hvp(energy, x, v)

    assert not product.owns_tape
    np.testing.assert_allclose(product.numpy(), difference(energy, x, v), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 3), (2, 1, 3), (1, 2, 1, 2)])
def test_hessians_equal_differences_of_gradients(shape: tuple[int, ...]) -> None:
    x = real(*shape)

    found = hessian(energy, x).numpy()

    assert found.shape == (*shape, *shape)
    for index in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[index] = 1
        np.testing.assert_allclose(found[index], difference(energy, x, node(unit)), rtol=1e-6, atol=1e-8)


def test_the_hessian_of_a_quadratic_form_is_its_symmetric_part_twice() -> None:
    a = np.array([[2.0, 1.0], [5.0, 3.0]])

    found = hessian(lambda x: (x * (x @ a)).sum(), tensor([5.0, 7.0], np.float64))

    assert found.tolist() == [[4, 6], [6, 6]]


def test_a_scalar_has_a_hessian_of_no_axes() -> None:
    x = tensor(3.0)

    second = hessian(lambda x: x * x * x, x)

    assert second.item() == 18
    assert second.dtype == np.float32
    assert hvp(lambda x: x * x * x, x, tensor(2.0)).item() == 36


def test_an_empty_tensor_has_an_empty_hessian() -> None:
    assert hessian(lambda x: (x * x).sum(), zeros((0, 3))).shape == (0, 3, 0, 3)
    assert hvp(lambda x: (x * x).sum(), zeros((0,)), zeros((0,))).shape == (0,)


def test_the_hessian_of_a_linear_or_constant_function_is_zero() -> None:
    x = real(3)

    for f in (lambda x: x.sum(), lambda x: (x * 2).sum(), lambda _: ones(()), lambda x: x.detach().sum()):
        assert hvp(f, x, x).tolist() == [0, 0, 0]
        assert hessian(f, x).tolist() == [[0, 0, 0]] * 3


def test_hessians_by_an_input_and_by_a_parameter_of_a_model() -> None:
    model = nn.Sequential(nn.Linear(5, 4, rng=0), nn.Tanh(), nn.Linear(4, 3, rng=1))
    x, labels = normal((2, 5), rng=0), tensor([2, 0])
    weight: Any = model[0].weight

    by_input = hvp(lambda x: cross_entropy(model(x), labels), x, ones((2, 5)))
    by_weight = hvp(lambda w: cross_entropy(tanh(x @ w) @ ones((4, 3)), labels), weight, weight)

    assert by_input.shape == (2, 5)
    assert np.abs(by_input.numpy()).max() > 1e-3
    assert by_weight.shape == (5, 4)
    assert weight.version == 0


def cubed_by_numpy(x: Any) -> Any:
    """An op whose closure leaves for NumPy."""
    x, tape = split_tape(x)
    out = node(x.data * x.data * x.data)

    def backward(grads: Gradients) -> None:
        array: Any = x.data
        grads.add(x, grads.pop_output(out) * 3 * np.square(array))

    return tape.record(out, (x,), backward)


def cubed_beside_its_median(x: Any) -> Any:
    """An op whose closure calls a function of NumPy that is no op."""
    x, tape = split_tape(x)
    out = node(x.data * x.data * x.data)

    def backward(grads: Gradients) -> None:
        array: Any = x.data
        grads.add(x, grads.pop_output(out) * (3 * array * array + 0.0 * np.median(array)))

    return tape.record(out, (x,), backward)


def clipped_by_numpy(x: Any) -> Any:
    """An op whose forward does."""
    x, tape = split_tape(x)
    out = node(np.asarray(x.data).clip(0))
    return tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out)))


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (
            cubed_beside_its_median,
            r"backward of cubed_beside_its_median: np\.median takes no tensor: use tg\.sort and an index",
        ),
        (clipped_by_numpy, r"the tensor has a tape, which a NumPy array would lose; detach it first"),
    ],
)
def test_an_op_that_cannot_be_differentiated_twice_is_named(op: Any, reason: str) -> None:
    def f(x: Any) -> Any:
        return op(x * 2).sum()

    for call, name in ((lambda: hvp(f, real(3), real(3)), "hvp"), (lambda: hessian(f, real(3)), "hessian")):
        with pytest.raises(TapeError, match=rf"^{name}: {op.__name__} cannot be differentiated twice: {reason}$"):
            call()


def test_an_op_whose_closure_calls_numpy_can_be_differentiated_twice() -> None:
    x, v = real(3), real(3, seed=1)

    found = hvp(lambda x: cubed_by_numpy(x).sum(), x, v)

    np.testing.assert_allclose(found.numpy(), 6 * x.numpy() * v.numpy())


def test_an_error_of_the_function_is_unchanged() -> None:
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'sums'$"):
        hvp(operator.methodcaller("sums"), real(3), real(3))
    with pytest.raises(ShapeError, match=r"^matmul: inner sizes differ"):
        hvp(lambda x: (x @ real(2, 3)).sum(), real(3), real(3))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((energy, real(3), real(2)), ShapeError, r"hvp: S is \(3,\) in x but \(2,\) in v"),
        ((energy, real(3), ones((3,))), DTypeError, r"hvp: x is float64 but v is float32"),
        ((energy, real(3).trace(), real(3)), TapeError, r"hvp: x has a tape but must have none"),
        ((energy, real(3), real(3).trace()), TapeError, r"hvp: v has a tape but must have none"),
        ((tanh, real(3), real(3)), ShapeError, r"hvp: f gives \(3,\), not a scalar"),
        ((energy, tensor([1]), tensor([1])), DTypeError, r"hvp: x is int64 but float is expected"),
    ],
)
def test_hvp_rejects_invalid_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}$"):
        hvp(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((energy, real(3).trace()), TapeError, r"hessian: x has a tape but must have none"),
        ((tanh, real(3)), ShapeError, r"hessian: f gives \(3,\), not a scalar"),
        ((lambda x: float(x.sum()), real(3)), DTypeError, r"hessian: f gives a float, not a tensor"),
        ((energy, tensor([1])), DTypeError, r"hessian: x is int64 but float is expected"),
    ],
)
def test_hessian_rejects_invalid_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^{message}$"):
        hessian(*arguments)

"""Ops on nodes: values, gradients and errors equal those of the library's ops."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from tapegrad import ops, tapem
from tapegrad.autograd.registry import OPS
from tapegrad.nn import Param
from tapegrad.tapem import Err, Node, Ok, Tape, TapeM
from tapegrad.tapem.lift import Lifted
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import unwrap
from tapegrad.testing import check_gradients

EMPTY = Tape.empty()


def real(*shape: int, seed: int = 0) -> Any:
    return ops.normal(shape, dtype=np.float64, rng=seed)


def positive(*shape: int, seed: int = 0) -> Any:
    return ops.exp(real(*shape, seed=seed))


X, Y, SQUARE = real(2, 3), real(2, 3, seed=1), real(3, 5, seed=2)
IMAGES, FILTERS = real(2, 2, 5, 4), real(3, 2, 3, 2, seed=3)
CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "abs": ((X,), {}),
    "add": ((X, Y), {}),
    "avg_pool1d": ((real(2, 3, 7),), {"kernel": 3, "stride": 2}),
    "avg_pool2d": ((IMAGES,), {"kernel": (3, 2)}),
    "avg_pool2d_pad": ((IMAGES,), {"kernel": 3, "padding": 1}),
    "batchnorm_channel_first": ((IMAGES, real(2), real(2, seed=1)), {}),
    "clamp": ((X,), {"min": -0.5, "max": 0.5}),
    "conv1d": ((real(2, 3, 7), real(5, 3, 2, seed=1)), {"stride": 2}),
    "conv2d": ((IMAGES, FILTERS), {"padding": 1}),
    "conv3d": ((real(2, 1, 3, 4, 2), real(3, 1, 2, 3, 2, seed=1)), {}),
    "conv_transpose": ((real(2, 3, 2), real(3, 2, 2, seed=1)), {"stride": 3}),
    "conv_transpose1d": ((real(2, 3, 4), real(3, 2, 2, seed=1)), {"stride": 3}),
    "conv_transpose2d": ((real(2, 3, 3, 2), FILTERS), {}),
    "conv_transpose3d": ((real(2, 1, 2, 3, 2), real(1, 2, 2, 1, 2, seed=1)), {}),
    "cos": ((X,), {}),
    "cross_entropy": ((X, ops.tensor([2, 0])), {}),
    "div": ((X, positive(2, 3)), {}),
    "exp": ((X,), {}),
    "gelu": ((X,), {"approximate": "tanh"}),
    "inv": ((positive(2, 3),), {}),
    "layer_norm": ((X, real(3), real(3, seed=1)), {"eps": 1e-3}),
    "linear": ((X, SQUARE, real(5)), {}),
    "log": ((positive(2, 3),), {}),
    "log_softmax": ((X,), {"axis": 0}),
    "matmul": ((X, SQUARE), {}),
    "max": ((X,), {"axis": 1}),
    "max_pool1d": ((real(2, 3, 7),), {"kernel": 3}),
    "max_pool2d": ((IMAGES,), {"kernel": (3, 2), "stride": 1}),
    "max_pool2d_pad": ((IMAGES,), {"kernel": 3, "padding": 1}),
    "maximum": ((X, Y), {}),
    "mean": ((X,), {"axis": 0, "keepdims": True}),
    "min": ((X,), {}),
    "minimum": ((X, Y), {}),
    "mul": ((X, real(3)), {}),
    "multi_head_attention": ((real(5, 4), real(3, 4, seed=1), real(3, 6, seed=2)), {"heads": 2}),
    "neg": ((X,), {}),
    "relu": ((X,), {}),
    "reshape": ((X,), {"shape": (3, -1)}),
    "safe_log": ((X,), {"eps": 0.5}),
    "scale": ((X,), {"factor": 3.0}),
    "sigmoid": ((X,), {}),
    "silu": ((X,), {}),
    "sin": ((X,), {}),
    "smooth_max_pool1d": ((real(2, 3, 7),), {"kernel": 3, "beta": 2.0}),
    "smooth_max_pool2d": ((IMAGES,), {"kernel": 2, "beta": 0.5, "padding": 1}),
    "softmax": ((X,), {}),
    "softplus": ((X,), {}),
    "sqrt": ((positive(2, 3),), {}),
    "ssm_scan": ((X, Y, X), {"axis": 1}),
    "sub": ((X, Y), {}),
    "sum": ((X,), {"axis": (0, 1)}),
    "tanh": ((X,), {}),
    "transpose": ((X,), {}),
}
APART = {"concat", "concat_vectors", "mse_loss"}  # tested below: two take a list, of one an operand gets no gradient
LIFTED = {name: value for name, value in vars(tapem).items() if isinstance(value, Lifted)}


def test_every_wrapper_has_a_case() -> None:
    assert CASES.keys() | APART == LIFTED.keys()


@tapem.do
def summed(name: str, operands: tuple[Any, ...], settings: dict[str, Any]) -> tapem.Do[Any]:
    """Run an op, weighs its result, and return all that a test may ask for."""
    nodes = []
    for operand in operands:
        nodes.append((yield from tapem.leaf(operand)))  # noqa: PERF401  # no comprehension can yield
    y = yield from LIFTED[name](*nodes, **settings)
    weights = yield from tapem.leaf(real(*y.shape, seed=7), requires_grad=False)
    weighted = yield from tapem.mul(y, weights)
    loss = yield from tapem.sum(weighted)
    grads = yield from tapem.backward(loss)
    return nodes, y, grads


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_equal_those_of_the_library(name: str) -> None:
    operands, settings = CASES[name]

    nodes, y, grads = summed(name, operands, settings).eval(EMPTY).unwrap()

    tensors = [x.detach() for x in operands]
    expected: Any = LIFTED[name].op(*(x.trace() if x.is_float else x for x in tensors), **settings)
    found = (expected * real(*expected.shape, seed=7)).sum().backward()
    np.testing.assert_array_equal(y.value.numpy(), expected.numpy())
    for one, x in zip(nodes, tensors, strict=True):
        assert one.requires_grad == x.is_float
        if x.is_float:
            np.testing.assert_array_equal(grads.of(one).numpy(), found[x].numpy())


@pytest.mark.parametrize("name", CASES)
def test_a_node_has_the_name_of_its_op_and_its_parents(name: str) -> None:
    nodes, y, _ = summed(name, *CASES[name]).eval(EMPTY).unwrap()

    assert y.op == LIFTED[name].op.__name__
    assert y.op in OPS
    assert list(y.parents) == nodes
    assert LIFTED[name].__doc__ == LIFTED[name].op.__doc__


def test_gradients_equal_finite_differences() -> None:
    def loss(x: Tensor[Any, Any, Any], w: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        """Run the pure tape as an op of its own."""
        operand, other, tape = unwrap(x, w)
        scalar, longer = network(operand, other).run(EMPTY).unwrap()
        out = node(scalar.value.data)
        grads = tapem.backward(scalar).eval(longer).unwrap()

        def backward(given: Any) -> None:
            dy = given.pop_output(out)
            given.add(operand, dy * grads.of(longer[0]).data)
            given.add(other, dy * grads.of(longer[1]).data)

        recorded: Tensor[Any, Any, Any] = tape.record(out, (operand, other), backward)
        return recorded

    check_gradients(loss, X, SQUARE)


@tapem.do
def network(x: Any, w: Any) -> tapem.Do[Node[tuple[()], Any]]:
    inputs = yield from tapem.leaf(x)
    weights = yield from tapem.leaf(w)
    hidden = yield from tapem.matmul(inputs, weights)
    active = yield from tapem.softplus(hidden)
    scores = yield from tapem.softmax(active)
    logs = yield from tapem.log(scores)
    return (yield from tapem.mean(logs))


def ran(program: TapeM[Any]) -> Any:
    return program.eval(EMPTY).unwrap()


def test_concat_takes_a_list_of_nodes() -> None:
    @tapem.do
    def joined() -> tapem.Do[Any]:
        x = yield from tapem.leaf(real(2, 3))
        y = yield from tapem.leaf(real(2, 1))
        z = yield from tapem.concat([x, y, x], axis=1)
        loss = yield from tapem.sum(z)
        return z, (yield from tapem.backward(loss)).of(x), [x, y, x]

    z, dx, parents = ran(joined())
    assert z.shape == (2, 7)
    assert list(z.parents) == parents
    assert dx.tolist() == [[2] * 3] * 2


def test_mse_loss_differentiates_its_target_if_that_requires_a_gradient() -> None:
    @tapem.do
    def compared(*, requires_grad: bool) -> tapem.Do[Any]:
        x = yield from tapem.leaf(real(2, 3))
        target = yield from tapem.leaf(ops.zeros((2, 3), np.float64), requires_grad)
        loss = yield from tapem.mse_loss(x, target)
        grads = yield from tapem.backward(loss)
        return loss.value.item(), grads.of(x).numpy(), grads.of(target).numpy() if requires_grad else None

    value, dx, _ = ran(compared(requires_grad=False))
    np.testing.assert_allclose(value, (X.numpy() ** 2).mean(), rtol=1e-14)
    np.testing.assert_allclose(dx, X.numpy() / 3, rtol=1e-14)
    *_, dtarget = ran(compared(requires_grad=True))
    np.testing.assert_allclose(dtarget, -X.numpy() / 3, rtol=1e-14)


@tapem.do
def of_two(program: Any, x: Any, y: Any = None) -> tapem.Do[Any]:
    first = yield from tapem.leaf(x)
    if y is None:
        return (yield from program(first))
    second = yield from tapem.leaf(y)
    return (yield from program(first, second))


def test_concat_vectors_joins_vectors() -> None:
    joined = ran(of_two(lambda x, y: tapem.concat_vectors([x, y]), ops.ones((2,)), ops.zeros((1,))))

    assert joined.value.tolist() == [1, 1, 0]
    assert joined.op == "concat_vectors"


def test_a_mask_may_be_a_node() -> None:
    @tapem.do
    def attended() -> tapem.Do[Any]:
        x = yield from tapem.leaf(real(2, 4))
        mask = yield from tapem.leaf(ops.tensor([[True, False], [True, True]]))
        y = yield from tapem.multi_head_attention(x, x, x, heads=2, mask=mask)
        loss = yield from tapem.sum(y)
        return y, mask, (yield from tapem.backward(loss)).of(x)

    y, mask, dx = ran(attended())
    np.testing.assert_array_equal(y.value.numpy()[0], real(2, 4).numpy()[0])
    assert mask in y.parents
    assert dx.shape == (2, 4)


def test_safe_log_is_one_step_and_needs_eps() -> None:
    logs = ran(of_two(lambda x: tapem.safe_log(x, eps=0.5), ops.tensor([0.0, -1e4, 1e4])))
    rejected = of_two(lambda x: tapem.safe_log(x, eps=0.0), ops.ones((1,))).eval(EMPTY)

    np.testing.assert_allclose(logs.value.tolist(), np.log([math.log(2) + 0.5, 0.5, 1e4 + 0.5]), rtol=1e-6)
    assert logs.id == 1
    assert rejected == Err("domain", "safe_log", "must be above 0", "eps is 0.0")


def test_the_logarithm_of_a_non_positive_number_fails() -> None:
    assert of_two(tapem.log, ops.tensor([1.0, 0.0, -2.0])).eval(EMPTY) == Err(
        "domain", "log", "it must be above 0", "the least of x is -2"
    )
    assert isinstance(of_two(tapem.log, ops.tensor([1.0, np.nan])).eval(EMPTY), Ok)
    assert isinstance(of_two(tapem.log, ops.tensor(0.0)).eval(EMPTY), Err)
    with pytest.raises(ValueError, match=r"^log: the least of x is -1 but it must be above 0$"):
        of_two(tapem.log, ops.tensor(-1.0)).eval(EMPTY).unwrap()


def test_errors_are_values_with_the_messages_of_the_library() -> None:
    assert of_two(tapem.matmul, ops.ones((2, 3)), ops.ones((2, 3))).eval(EMPTY) == Err(
        "shape", "matmul", "y (2, 3) has 2 rows", "inner sizes differ: x (2, 3) has 3 columns"
    )
    assert of_two(tapem.tanh, ops.tensor([1])).eval(EMPTY) == Err("dtype", "tanh", "floating is expected", "x is int64")
    outcome = of_two(tapem.cross_entropy, ops.ones((1, 3)), ops.tensor([7])).eval(EMPTY)
    assert isinstance(outcome, Err)
    assert (outcome.code, outcome.op) == ("index", "cross_entropy")


def test_a_rejected_step_leaves_the_tape_unchanged() -> None:
    value: Any = ops.ones((2, 3))
    x, tape = tapem.leaf(value).run(EMPTY).unwrap()
    before = list(tape)

    assert isinstance(tapem.exp(x).bind(lambda y: tapem.matmul(y, y)).run(tape), Err)
    assert list(tape) == before
    assert x in tape


class TestWhoseNodes:
    def test_a_node_of_another_tape_is_rejected(self) -> None:
        (x, tape), (y, _) = (tapem.leaf(ops.ones((2,))).run(EMPTY).unwrap() for _ in range(2))
        expected = Err("tape", "add", "one of this tape of 1 nodes is expected", "node 0 is of another tape")

        assert tapem.add(x, y).eval(tape) == expected
        assert tapem.add(y, x).eval(tape) == expected

    def test_a_node_of_a_fork_is_rejected_and_one_from_before_it_is_not(self) -> None:
        x, tape = tapem.leaf(ops.ones((2,))).run(EMPTY).unwrap()
        left, line = tapem.exp(x).run(tape).unwrap()
        right, fork = tapem.tanh(x).run(tape).unwrap()

        assert isinstance(tapem.add(left, right).eval(line), Err)
        assert isinstance(tapem.add(left, right).eval(fork), Err)
        assert tapem.add(left, x).eval(line).unwrap().parents == (left, x)
        assert tapem.add(right, x).eval(fork).unwrap().parents == (right, x)

    def test_a_node_of_a_longer_tape_is_rejected_on_the_old_one(self) -> None:
        x, tape = tapem.leaf(ops.ones((2,))).run(EMPTY).unwrap()
        y, longer = tapem.exp(x).run(tape).unwrap()

        assert isinstance(tapem.exp(y).eval(tape), Err)
        assert isinstance(tapem.exp(y).eval(longer), Ok)

    def test_a_tensor_is_rejected_in_place_of_a_node(self) -> None:
        tensor: Any = ops.ones((2,))

        assert str(tapem.exp(tensor).eval(EMPTY)) == "exp: a tensor (2,) is on no tape but a node is expected"

    def test_a_program_is_rejected_in_place_of_its_node(self) -> None:
        program: Any = tapem.leaf(ops.ones((2,)))

        assert (
            str(tapem.log(program).eval(EMPTY))
            == "log: TapeM(leaf) is a program but the node that it gives is expected"
        )


class TestLeaves:
    def test_a_leaf_has_its_value_and_options(self) -> None:
        node = tapem.leaf(ops.ones((2, 3)), requires_grad=False, name="x").eval(EMPTY).unwrap()

        assert (node.id, node.op, node.parents, node.name, node.requires_grad) == (0, "leaf", (), "x", False)

    def test_ints_have_no_gradient(self) -> None:
        assert not tapem.leaf(ops.tensor([1, 2])).eval(EMPTY).unwrap().requires_grad

    def test_an_array_is_copied(self) -> None:
        array = np.ones(2)
        node = tapem.leaf(array).eval(EMPTY).unwrap()

        array[0] = 7

        assert node.value.tolist() == [1, 1]

    def test_a_parameter_is_copied(self) -> None:
        parameter = Param(ops.ones((2,)))
        node = tapem.leaf(parameter).eval(EMPTY).unwrap()

        parameter.assign(ops.zeros((2,)))

        assert node.value.tolist() == [1, 1]
        assert node.value.version is None

    def test_a_tensor_is_not_copied(self) -> None:
        x = ops.ones((2,))

        assert tapem.leaf(x).eval(EMPTY).unwrap().value.data is x.data

    def test_a_traced_tensor_is_rejected(self) -> None:
        traced: Any = ops.ones((2,)).trace()

        assert tapem.leaf(traced).eval(EMPTY) == Err("tape", "leaf", "must have none", "value has a tape")

    def test_a_number_or_a_list_is_rejected(self) -> None:
        number: Any = 3.0
        numbers: Any = [3.0]

        assert str(tapem.leaf(numbers).eval(EMPTY)) == "leaf: value is a list but a tensor or an array is expected"
        assert str(tapem.leaf(number).eval(EMPTY)) == "leaf: value is a float but a tensor or an array is expected"


def test_no_gradient_flows_where_none_is_required() -> None:
    @tapem.do
    def constant() -> tapem.Do[Any]:
        x = yield from tapem.leaf(ops.ones((2,)), requires_grad=False)
        return (yield from tapem.exp(x))

    y = ran(constant())
    assert not y.requires_grad
    assert not y.entries


def test_a_user_defined_op_is_lifted_in_one_line() -> None:
    def cubed(x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        return x * x * x

    @tapem.do
    def derivative() -> tapem.Do[Any]:
        x = yield from tapem.leaf(ops.tensor(3.0))
        y = yield from tapem.lift(cubed)(x)
        return y.op, (yield from tapem.backward(y)).of(x).item()

    assert ran(derivative()) == ("cubed", 27)
    assert repr(tapem.lift(cubed)) == "lift(cubed)"


def test_an_error_of_a_nested_op_has_its_own_name() -> None:
    def outer(x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        return x @ x

    outcome = of_two(tapem.lift(outer), ops.ones((2, 3))).eval(EMPTY)

    assert isinstance(outcome, Err)
    assert outcome.op == "matmul"
    assert str(outcome) == "matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows"


def test_changing_an_argument_later_does_not_change_a_program() -> None:
    x, tape = tapem.leaf(ops.ones((2,))).run(EMPTY).unwrap()
    nodes, array = [x], np.ones(2, np.float32)
    programs: list[TapeM[Any]] = [tapem.concat(nodes), tapem.mul(x, array), tapem.leaf(array)]

    nodes.append(x)
    array[:] = 7

    assert [program.eval(tape).unwrap().value.tolist() for program in programs] == [[1, 1]] * 3


def test_an_op_of_several_results_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"^split: an op that is lifted gives one tensor, not a tuple$"):
        of_two(lambda x: tapem.lift(ops.split)(x, 2), ops.ones((4,))).eval(EMPTY)


def test_the_signature_is_that_of_the_op() -> None:
    assert list(inspect.signature(tapem.softmax).parameters) == ["x", "axis"]

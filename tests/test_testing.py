"""`tapegrad.testing`: the checks pass valid ops, and say what is wrong with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import exp, matmul, mean, mul, normal, ones, softmax, sum, tanh, tensor
from tapegrad.sizes import UNKNOWN, Dims, Size, UnknownDims, is_unknown, show, surely_differ
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import unwrap
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def scaled(x: Any, *, forward: float = 3.0, back: float = 3.0) -> Any:
    """Scale there by one number and back by another."""
    x, tape = unwrap(x)
    out = node(x.data * forward)

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out) * back)

    return tape.record(out, (x,), backward)


# check_gradients


@pytest.mark.parametrize("f", [tanh, mean, softmax], ids=lambda f: str(f.__name__))
def test_correct_gradients_pass_at_every_order(f: Any) -> None:
    for order in (1, 2, 3):
        check_gradients(f, real(2, 3), order=order, rtol=1e-4)


def test_a_correct_product_passes_at_second_order() -> None:
    check_gradients(matmul, real(2, 3), real(3, 5, seed=1), order=2)


def test_a_function_of_several_tensors_is_differentiated_by_each() -> None:
    check_gradients(lambda x, y, z: (x * y + exp(z)).sum(0), real(2, 3), real(3, seed=1), real(seed=2), order=2)


def test_one_tensor_may_be_given_twice() -> None:
    x = real(3)

    check_gradients(mul, x, x)


def test_a_wrong_gradient_is_named_with_its_place_and_both_numbers() -> None:
    def doubled(x: Any, y: Any) -> Any:
        return (x * scaled(y, forward=2.0, back=1.0)).sum()

    x, y = tensor([1.0, 5.0, 2.0], np.float64), ones((3,), np.float64)

    with pytest.raises(AssertionError) as wrong:
        check_gradients(doubled, x, y)

    weight = np.random.default_rng(0).normal()
    assert str(wrong.value) == (
        f"doubled: the gradient of input 1 (3,) at (1,) is {5 * weight:.9g} by the tape "
        f"but {10 * weight:.9g} by finite differences"
    )


def test_a_second_order_that_is_wrong_is_named_as_such() -> None:
    def square(x: Any) -> Any:
        x, tape = unwrap(x)
        out = node(x.data * x.data)

        def backward(grads: Gradients) -> None:
            values = x.numpy()  # leaves the tape below
            grads.add(x, grads.pop_output(out) * (2 * values))

        return tape.record(out, (x,), backward)

    check_gradients(square, real(3))
    with pytest.raises(
        AssertionError, match=r"^square, order 2: the gradient of input 0 \(3,\) at \(\d,\) is 0 by the tape"
    ):
        check_gradients(square, real(3), order=2)


@pytest.mark.parametrize(("selected_by", "lifted"), [("dy", "input 0"), ("y", "the direction")])
def test_an_engine_selected_by_only_one_value_is_detected(selected_by: str, lifted: str) -> None:
    check_gradients(lambda x: exponential(x, selected_by), real(3))

    with pytest.raises(TypeError, match=r"np\.add\.reduce: a tensor has no method reduce") as failed:
        check_gradients(lambda x: exponential(x, selected_by), real(3), order=2)

    assert failed.value.__notes__ == [f"<lambda>, where {lifted} alone is lifted"]


def exponential(x: Any, selected_by: str) -> Any:
    """Compute e ** x; its backward pass computes with the engine of one value only."""
    x, tape = unwrap(x)
    out = node(engine(x.data).exp(x.data))

    def backward(grads: Gradients) -> None:
        dy, y = grads.pop_output(out), out.data
        primitives = engine(dy if selected_by == "dy" else y)
        grads.add(x, dy * y + 0.0 * primitives.mean(y, None) * primitives.mean(dy, None))

    return tape.record(out, (x,), backward)


def test_a_gradient_that_differs_between_levels_is_detected() -> None:
    def doubled(x: Any) -> Any:
        x, tape = unwrap(x)
        out = node(x.data * 2.0)

        def backward(grads: Gradients) -> None:
            dy = grads.pop_output(out)
            grads.add(x, dy * (2.0 if isinstance(dy, np.ndarray) else 3.0))

        return tape.record(out, (x,), backward)

    check_gradients(doubled, real(3))
    with pytest.raises(AssertionError) as wrong:
        check_gradients(doubled, real(3), order=2)

    assert str(wrong.value) == "doubled: the gradient of input 0 is another where the direction alone is lifted"


def test_a_function_that_drops_the_tape_has_no_gradient() -> None:
    with pytest.raises(AssertionError, match=r"^dropped: the gradient of input 0 \(3,\) at .* is 0 by the tape but "):
        check_gradients(dropped, real(3))


def dropped(x: Any) -> Any:
    return x.detach() * 2


def test_a_function_that_does_not_use_an_input_passes() -> None:
    check_gradients(lambda x, y: x * 2 + 0 * y.detach(), real(3), real(3, seed=1), order=2)


def test_a_result_that_differs_with_a_tape_is_detected() -> None:
    def louder(x: Any) -> Any:
        return x * 3 if x.owns_tape else x * 2

    def wider(x: Any) -> Any:
        return x.sum() if x.owns_tape else x

    with pytest.raises(AssertionError, match=r"^louder: the result at \(0,\) is 6 with a tape but 4 without$"):
        check_gradients(louder, tensor([2.0], np.float64))
    with pytest.raises(
        AssertionError, match=r"^wider: the result is \(\) float64 with a tape but \(2,\) float64 without$"
    ):
        check_gradients(wider, real(2))


def test_a_gradient_that_is_nan_is_detected() -> None:
    with pytest.raises(AssertionError, match="is nan by the tape but "):
        check_gradients(lambda x: scaled(x, back=np.nan), real(3))


def test_inputs_unsuitable_for_differences_are_rejected() -> None:
    with pytest.raises(
        DTypeError, match=r"^check_gradients: input 1 is float32, but finite differences need float64 tensors$"
    ):
        check_gradients(mul, real(3), ones((3,)))
    with pytest.raises(
        DTypeError, match=r"^check_gradients: input 0 is an ndarray, but finite differences need float64 tensors$"
    ):
        check_gradients(tanh, np.ones(3))  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(TypeError, match=r"^check_gradients: there is no input to differentiate by$"):
        check_gradients(lambda: ones(()))


def test_a_result_that_is_no_tensor_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"^item: the result is a float, not a tensor$"):
        check_gradients(Tensor[Any, Any, Any].item, real(1))


def test_the_inputs_are_unchanged() -> None:
    x = real(3)
    before = x.tolist()

    check_gradients(tanh, x.trace())

    assert x.tolist() == before


# check_shape_rule


def same_shape(x: Dims, y: Dims) -> Dims:
    if len(x) != len(y) or any(surely_differ(n, m) for n, m in zip(x, y, strict=True)):
        message = f"x {show(x)} and y {show(y)} differ"
        raise ShapeError(message)
    return x


def doubled_size(size: Size, *, by: int = 2) -> Size:
    return size * by


def test_a_correct_rule_passes_alone_or_with_its_op() -> None:
    check_shape_rule(same_shape, ((2, 3), (2, 3)), ((), ()), ((0,), (0,)), ((2,), (3,)))
    check_shape_rule(doubled_size, (5,), {"size": 7, "by": 3})
    check_shape_rule(sum, {"x": (2, 3), "axis": 0, "keepdims": True})


def test_a_wrong_shape_is_named_with_the_hidden_sizes() -> None:
    def first_size(x: Dims, y: Dims) -> Dims:
        return tuple(m if is_unknown(n) else n for n, m in zip(x, y, strict=True))

    with pytest.raises(AssertionError) as wrong:
        check_shape_rule(first_size, ((3, 5), (1, 5)))

    assert str(wrong.value) == "first_size(x=(?, 5), y=(1, 5)) gives (1, 5), though (3, 5) is true of numbers"


def test_a_shape_of_a_wrong_rank_is_an_error() -> None:
    def without_names(x: Dims) -> Dims:
        return tuple(n for n in x if isinstance(n, int))

    with pytest.raises(
        AssertionError, match=r"^without_names\(x=\(3, N5\)\) gives \(3,\), though \(3, 5\) is true of numbers$"
    ):
        check_shape_rule(without_names, ((3, 5),))


def test_an_unknown_size_must_not_be_rejected() -> None:
    def filled(x: Dims) -> Dims:
        for n in x:
            if not surely_differ(n, 0):
                message = f"x {show(x)} is empty"
                raise ShapeError(message)
        return x

    with pytest.raises(AssertionError) as wrong:
        check_shape_rule(filled, ((3,),))

    assert str(wrong.value) == "filled(x=(?,)) is rejected, though (3,) is true of numbers: x (?,) is empty"


def test_a_wrong_shape_for_an_unknown_rank_is_an_error() -> None:
    def silent(x: Dims, y: Dims) -> Dims:
        return y if isinstance(x, UnknownDims) else x

    with pytest.raises(
        AssertionError, match=r"^silent\(x=\(\.\.\.\), y=\(1, 5\)\) gives \(1, 5\), though \(3, 5\) is true"
    ):
        check_shape_rule(silent, ((3, 5), (1, 5)))


def test_a_size_that_the_values_decide_must_stay_unknown() -> None:
    def chosen(x: Dims) -> Dims:
        return (UNKNOWN, *x[1:])

    def guessed(x: Dims) -> Dims:
        return (UNKNOWN if isinstance(x[0], int) else 1, *x[1:])

    check_shape_rule(chosen, ((3, 5),))
    with pytest.raises(AssertionError, match=r"gives \(1, 5\), though \(\?, 5\) is true of numbers$"):
        check_shape_rule(guessed, ((3, 5),))


def test_a_rule_may_reject_a_named_size() -> None:
    def five(x: Dims) -> Dims:
        if surely_differ(x[0], 5):
            message = f"x {show(x)} does not start with 5"
            raise ShapeError(message)
        return x

    check_shape_rule(five, ((5, 3),), ((4, 3),))


def test_a_rule_that_tests_the_truth_of_a_size_is_named() -> None:
    def even(x: Dims) -> Dims:
        return x if x[0] == 2 else x[:1]

    with pytest.raises(TypeError, match="a size answers no bool") as wrong:
        check_shape_rule(even, ((2, 3),))

    assert wrong.value.__notes__ == ["even(x=(N2, 3)), where (2, 3) is true of numbers"]


def test_a_rule_without_sizes_is_rejected() -> None:
    def anything(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"^check_shape_rule: anything has no parameter annotated with Dims or Size$"):
        check_shape_rule(anything, ((2, 3),))

"""Fused functions: the numbers of the plain function, one entry on the tape, and an error for ops that mix elements."""

import gc
import inspect
import re
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, fused, nn, tapem
from tapegrad.autograd.registry import OPS
from tapegrad.engines import engine
from tapegrad.engines.numba.engine import use_fast
from tapegrad.engines.trace import Trace
from tapegrad.nn.shape_engine import ShapeValue
from tapegrad.tensors import node
from tapegrad.testing import check_gradients

OF_ELEMENTS = {
    "atan2_shape",
    "broadcast_shape",
    "divmod_shape",
    "elementwise_shape",
    "parts_shape",
    "prelu_shape",
    "where_shape",
}
DTYPES = (np.float32, np.float64, np.int64, np.int8, np.bool_)
OPTIONS: dict[str, dict[str, Any]] = {
    "astype": {"dtype": np.float64},
    "clamp": {"min": -1, "max": 2},
    "scale": {"factor": 3.0},
}


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor[Any]:
    return tg.tensor(np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32))


@pytest.fixture(autouse=True)
def without_kernels() -> Iterator[None]:
    use_fast(is_on=False)
    yield
    use_fast(is_on=True)


@fused
def gate(x: Any, y: Any) -> Any:
    return tg.tanh(x) * tg.sigmoid(y) + x * x


def unfused(x: Any, y: Any) -> Any:
    return tg.tanh(x) * tg.sigmoid(y) + x * x


def operands(name: str, dtype: Any) -> list[Tensor[Any, Any, Any]]:
    rng = np.random.default_rng(0)
    names = [one for one in OPS[name].function.__annotations__ if one in OPS[name].operands]
    drawn = [rng.normal(0, 3, (5,) if place else (2, 3, 5)) for place in range(len(names))]
    first: Any = bool if name == "where" else dtype
    rest: Any = np.int64 if name == "ldexp" else dtype
    return [tg.tensor(array.astype(rest if place else first)) for place, array in enumerate(drawn)]


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if op.rule.__name__ in OF_ELEMENTS))
@np.errstate(all="ignore")
def test_every_elementwise_op_is_bit_identical_in_a_fused_function(name: str) -> None:
    if name == "dropout":
        pytest.skip("draws random numbers, and is rejected")
    ran = 0
    for dtype in DTYPES:
        given = operands(name, dtype)
        for part in range(2 if OPS[name].is_single is False else 1):

            def body(*xs: Any, part: int = part) -> Any:
                result = OPS[name].function(*xs, **OPTIONS.get(name, {}))
                return result[part] if isinstance(result, tuple) else result

            try:
                expected = body(*given)
            except (TypeError, ValueError):  # not for this dtype
                continue
            ran += 1

            result = fused(body)(*given)

            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result.numpy(), expected.numpy())
            leaves = [x for x in given if x.is_float]
            if expected.is_float and leaves:
                gradients = [_gradients_of(f, given, leaves) for f in (body, fused(body))]
                for plain, found in zip(*gradients, strict=True):
                    np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-6)
    assert ran


def _gradients_of(f: Callable[..., Any], given: list[Any], leaves: list[Any]) -> list[Any]:
    y = f(*(x.trace() if x.is_float else x for x in given))
    if not y.owns_tape:
        return []
    grads = y.backward(wrt=leaves, seed=tg.ones(y.shape, y.dtype.type))
    return [grads[x].numpy() for x in leaves if x in grads]


def test_value_equals_the_formula() -> None:
    x, y = tg.tensor([0.0, 1.0]), tg.tensor([5.0, 0.0])

    z = gate(x, y)

    np.testing.assert_allclose(z.numpy(), [0, np.tanh(1) / 2 + 1], rtol=1e-6)


def test_gradients_of_every_order_and_of_operands_that_broadcast() -> None:
    x, y = (tg.tensor(np.random.default_rng(seed).normal(size=shape)) for seed, shape in enumerate([(2, 3, 5), (3, 1)]))

    check_gradients(gate, x, y, order=2)
    check_gradients(fused(lambda x: x**3 / (1 + tg.exp(x))), x, order=3)
    check_gradients(fused(lambda x, y: tg.where(x > y, x * y, tg.gelu(x))), x, y, order=2)


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ((300_001,), (300_001,)),
        ((1_100_003,), (1,)),
        ((3, 100_003), (3, 1)),
        ((70_001, 5), (5,)),
        ((2, 3, 7, 8_001), (7, 1)),
        ((1, 1, 90_001), ()),
        ((), ()),
        ((0, 3), (3,)),
        ((1, 1), (1,)),
    ],
)
@pytest.mark.parametrize("is_fast", [False, True])
def test_tiles_of_any_shape_equal_the_whole(
    shape: tuple[int, ...],
    other: tuple[int, ...],
    is_fast: bool,  # noqa: FBT001  # pytest's parameter
) -> None:
    use_fast(is_on=is_fast)
    x, y = numbers(*shape), numbers(*other, seed=1)
    seed = numbers(*shape, seed=2)

    grads = gate(x.trace(), y.trace()).backward(seed=seed)

    expected = unfused(x.trace(), y.trace()).backward(seed=seed)
    np.testing.assert_allclose(gate(x, y).numpy(), unfused(x, y).numpy(), rtol=1e-5, atol=1e-6)
    for operand in (x, y):
        np.testing.assert_allclose(grads[operand].numpy(), expected[operand].numpy(), rtol=1e-5, atol=1e-3)


def test_non_contiguous_views_are_read_without_a_copy() -> None:
    x, y = numbers(301, 503).T, numbers(503, 1204)[:, ::4]

    np.testing.assert_array_equal(gate(x, y).numpy(), unfused(x, y).numpy())


def test_is_one_tape_entry() -> None:
    x = numbers(3, 5)

    z = gate(x.trace(), x)

    assert repr(z.tape) == "OwnedTape(GradientTape(1 op: gate (3, 5)))"
    assert gate.__name__ == "gate"


def saved_derivatives(z: Any) -> dict[int, Any]:
    _, _, _, backward = z.tape.tape.entries[-1]
    derivatives: dict[int, Any] = inspect.getclosurevars(backward).nonlocals["derivatives"]
    return derivatives


def test_saves_expensive_derivatives_of_taped_arguments() -> None:
    x, y = numbers(3, 5), numbers(3, 5, seed=1)
    cheap: Any = fused(lambda x: x * x / 2)

    assert saved_derivatives(gate(x.trace(), y)).keys() == {0}
    assert saved_derivatives(gate(x.trace(), nn.Param(y))).keys() == {0, 1}
    assert saved_derivatives(gate(x.trace(), y.trace())).keys() == {0, 1}
    assert saved_derivatives(cheap(x.trace())) == {}


def test_saved_and_recomputed_derivatives_give_the_gradients_of_the_ops() -> None:
    x, y, dz = (numbers(300, 1001, seed=seed) for seed in range(3))

    def bent(x: Any, y: Any) -> Any:
        return tg.tanh(x * y) + y

    grads, expected = (f(x.trace(), y).backward(wrt=[x, y], seed=dz) for f in (fused(bent), bent))

    for operand in (x, y):
        np.testing.assert_allclose(grads[operand].numpy(), expected[operand].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [11, 300_000, 1_100_003])
def test_a_derivative_that_is_referenced_elsewhere_is_not_overwritten(size: int) -> None:
    power: Any = fused(tg.exp)
    bent: Any = fused(lambda x, y: tg.tanh(x + y))
    x, y, dz = (numbers(size, seed=seed) for seed in range(3))

    z = power(x.trace())  # is its own derivative
    grads = z.backward(seed=dz)

    np.testing.assert_array_equal(z.numpy(), np.exp(x.numpy()))
    np.testing.assert_array_equal(grads[x].numpy(), dz.numpy() * z.numpy())
    grads = bent(x.trace(), y.trace()).backward(wrt=[x, y], seed=dz)  # both have one derivative
    np.testing.assert_array_equal(grads[x].numpy(), grads[y].numpy())
    np.testing.assert_allclose(grads[x].numpy(), dz.numpy() * (1 - np.tanh(x.numpy() + y.numpy()) ** 2), atol=1e-6)


def test_a_second_backward_gives_the_same_gradients() -> None:
    x, y, w = (numbers(300_000, seed=seed) for seed in range(3))
    lifted, weighted = tapem.lift(gate), tapem.lift(lambda z: (z * w).sum())

    @tapem.do
    def twice() -> tapem.Do[Any]:
        nodes = [(yield from tapem.leaf(x)), (yield from tapem.leaf(y))]
        z = yield from lifted(*nodes)
        loss = yield from weighted(z)
        first = yield from tapem.backward(loss)
        second = yield from tapem.backward(loss)
        return [[grads.of(node).numpy() for node in nodes] for grads in (first, second)]

    first, second = twice().eval(tapem.Tape.empty()).unwrap()

    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)


def test_result_is_freed_with_its_tensor() -> None:
    x = numbers(300_000).trace()
    z = gate(x, x)
    value, total = weakref.ref(z.data), z.sum()

    del z
    gc.collect()

    assert value() is None
    assert total.backward()[x].shape == (300_000,)


def test_accepts_keyword_and_non_tensor_arguments() -> None:
    @fused
    def bent(x: Any, *, factor: float, y: Any = None, mode: str = "sum") -> Any:
        return x * factor + y if mode == "sum" else x * factor

    x = numbers(3, 5)

    np.testing.assert_array_equal(bent(x, factor=2.0, y=x).numpy(), x.numpy() * 3)
    np.testing.assert_array_equal(bent(y=x, factor=0.5, x=x, mode="product").numpy(), x.numpy() / 2)
    np.testing.assert_array_equal(bent(x, factor=-0.0, mode="product").numpy(), x.numpy() * -0.0)


def test_reads_captured_variables_at_each_call() -> None:
    factor = 2.0
    scaled: Any = fused(lambda x: x * factor)
    before = scaled(tg.ones((3,)))

    factor = 5.0

    assert (before.tolist(), scaled(tg.ones((3,))).tolist()) == ([2, 2, 2], [5, 5, 5])


def test_gradient_of_an_argument_that_is_read_twice_is_summed() -> None:
    x = tg.tensor([1.0, 2.0])

    product: Any = fused(lambda x, y: x * y)

    grads = product(x.trace(), x).sum().backward()

    assert grads[x].tolist() == [2, 4]


def test_result_of_some_arguments_has_their_shape() -> None:
    x, y = numbers(2, 3), numbers(3)
    second: Any = fused(lambda x, y: x.dtype and y * 2)

    z = second(x.trace(), y.trace())
    grads = z.backward(wrt=[x, y], seed=y)

    assert z.shape == (3,)
    assert x not in grads
    np.testing.assert_array_equal(grads[y].numpy(), y.numpy() * 2)


def test_multiplication_by_one_is_removed_and_constants_are_folded() -> None:
    trace = Trace((3,))
    x, one = trace.argument(np.dtype(np.float32)), trace.number(np.ones((), np.float32))

    kept = [(x * one).ref, (one * x).ref, (x * 1.0).ref]
    doubled = x * (one + one)

    assert kept == [x.ref] * 3
    assert [np.asarray(operand).item() for operand in trace.instructions[doubled.ref].operands] == [x.ref, 2]
    assert (x * np.float64(1)).dtype == np.float64


def test_common_subexpressions_are_computed_once_in_either_order() -> None:
    trace = Trace((3,))
    x, y = (trace.argument(np.dtype(np.float32)) for _ in range(2))

    assert (x * y).ref == (y * x).ref
    assert (x + y).ref == (y + x).ref
    assert (x - y).ref != (y - x).ref


@pytest.mark.filterwarnings("error")
def test_a_scaled_half_precision_gradient_stays_scaled() -> None:
    tiny: Any = fused(lambda x: x * 1e-4 * 1e-4)
    x = tg.ones((3,), np.float16)

    grads = tiny(x.trace()).backward(seed=tg.full((3,), 1e4, np.float16))

    np.testing.assert_allclose(grads[x].numpy(), 1e-4, rtol=1e-3)


def test_gradients_through_another_dtype_equal_those_of_the_ops() -> None:
    steep: Any = fused(lambda x: tg.exp(x.astype(np.float64)))
    x = tg.tensor([100.0, 1.0])

    grads = steep(x.trace()).backward(seed=tg.tensor([1e-40, 1.0], dtype=np.float64))

    np.testing.assert_allclose(grads[x].numpy(), [np.exp(100) * 1e-40, np.e], rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (1 << 19,)])
def test_large_arrays_are_read_once_for_several_results(shape: tuple[int, ...]) -> None:
    x, dx, mean = (numbers(*shape, seed=seed).numpy() for seed in range(3))

    def update(x: Any, dx: Any, mean: Any) -> Any:
        mean = mean + (dx - mean) * 0.1
        return x - mean * 0.5, mean

    for is_on in (False, True):
        use_fast(is_on=is_on)
        for found, expected in zip(engine(x).fuse(update, x, dx, mean), update(x, dx, mean), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_returned_argument_is_the_same_object() -> None:
    x = numbers(3, 5)

    grads = fused(lambda x: x)(x.trace()).backward(seed=x)

    np.testing.assert_array_equal(grads[x].numpy(), x.numpy())


def test_non_float_arguments_have_no_tape_and_no_gradient() -> None:
    x, n = numbers(3), tg.tensor([1, 2, 3])
    weighted: Any = fused(lambda x, n: x * n.astype(np.float32))

    positive = fused(lambda x: x > 0)(x.trace())
    z: Any = weighted(x.trace(), n)

    assert not positive.owns_tape
    assert positive.dtype == np.bool_
    np.testing.assert_array_equal(z.backward(seed=x)[x].numpy(), x.numpy() * n.astype(np.float32).numpy())


def test_a_fused_function_may_call_another() -> None:
    double: Any = fused(lambda x: gate(x, x) + gate(x, x))
    x = numbers(3, 5)

    z = double(x.trace())

    np.testing.assert_array_equal(z.numpy(), 2 * unfused(x, x).numpy())
    assert "1 op" in repr(z.tape)


def test_a_parameter_is_an_ordinary_argument() -> None:
    factor, x = nn.Param(tg.tensor(2.0)), numbers(3, 5)

    scaled: Any = fused(lambda x, factor: x * factor)

    grads = scaled(x.trace(), factor).sum().backward()

    np.testing.assert_allclose(grads[factor].item(), x.numpy().sum(), rtol=1e-5)


def test_released_values_are_recomputed() -> None:
    x = numbers(3, 5)

    def twice(x: Any) -> Any:
        return gate(gate(x, x), x)

    for strategy in (tg.NoCheckpointing(), tg.BalancedCheckpointing()):
        grads = twice(x.trace(checkpoint=strategy)).backward(seed=x)
        expected = unfused(unfused(y := x.trace(), y), y).backward(seed=x)
        np.testing.assert_allclose(grads[x].numpy(), expected[x].numpy(), rtol=1e-5)


def test_runs_in_a_summary() -> None:
    assert gate(node(ShapeValue((2, 3), np.float32)), node(ShapeValue((3,), np.float32))).shape == (2, 3)


def test_warns_where_the_ops_would() -> None:
    with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
        fused(lambda x: tg.exp(x))(tg.full((1_200_000,), 100.0))  # noqa: PLW0108  # a function under test


def test_warnings_are_silenced_in_every_thread_as_in_the_first() -> None:
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")

        z = fused(lambda x: tg.exp(x))(tg.full((1_200_000,), 100.0))  # noqa: PLW0108  # a function under test

    assert np.isinf(z.numpy()).all()


outside = tg.tensor([1.0, 2.0, 3.0])
REJECTED: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "sum": (lambda x: x.sum(), tg.ShapeError, "sum: mixes elements, and a fused function computes each by itself"),
    "mean": (lambda x: x - x.mean(), tg.ShapeError, "mean: mixes elements"),
    "softmax": (lambda x: tg.softmax(x), tg.ShapeError, "softmax: mixes elements"),  # noqa: PLW0108  # a function under test
    "cumsum": (lambda x: x.cumsum(0), tg.ShapeError, "cumsum: mixes elements"),
    "flip": (lambda x: tg.flip(x), tg.ShapeError, "flip: mixes elements"),  # noqa: PLW0108  # a function under test
    "sort": (lambda x: tg.sort(x), tg.ShapeError, "sort: mixes elements"),  # noqa: PLW0108  # a function under test
    "layer_norm": (lambda x: tg.normalize(x), tg.ShapeError, "normalize: mixes elements"),  # noqa: PLW0108  # a function under test
    "reshape": (lambda x: x.reshape((-1,)), tg.ShapeError, "reshape: mixes elements"),
    "getitem": (lambda x: x[0], tg.ShapeError, "getitem: mixes elements"),
    "matmul": (lambda x: x @ x, tg.ShapeError, "matmul: mixes elements"),
    "dropout": (lambda x: tg.dropout(x, rng=0), tg.ShapeError, "dropout: reads an array of shape (2, 2)"),
    "array": (
        lambda x: x + outside[:2],
        tg.ShapeError,
        "add: reads an array of shape (2,) that is not among the arguments of the fused function",
    ),
    "numbers": (
        lambda x: tg.tensor(x.numpy()),
        tg.TapeError,
        "the numbers of a tensor are needed, which a fused function has only when its program runs",
    ),
    "branch": (lambda x: x if x.sum() > 0 else -x, tg.ShapeError, "sum: mixes elements"),
    "no tensor": (lambda x: x.shape, tg.DTypeError, "its result is a tuple, not a tensor"),
    "constant": (lambda x: tg.ones(x.shape), tg.ShapeError, "its result is computed from none of its arguments"),
}


@pytest.mark.parametrize("name", REJECTED)
@pytest.mark.parametrize("is_taped", [False, True])
def test_rejects_what_is_not_elementwise(name: str, is_taped: bool) -> None:  # noqa: FBT001  # pytest's parameter
    body, error, message = REJECTED[name]
    body.__name__ = "gate"
    x = numbers(2, 2).trace() if is_taped else numbers(2, 2)
    if name == "dropout" and not is_taped:
        pytest.skip("without a tape nothing is dropped")

    with pytest.raises(error, match=re.escape(f"gate: {message}")):
        fused(body)(x)


def test_errors_of_shapes_name_the_parameters() -> None:
    message = "gate: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"

    with pytest.raises(tg.ShapeError, match=re.escape(message)):
        gate(numbers(2, 3), numbers(4))


def test_rejects_a_call_without_tensors() -> None:
    with pytest.raises(tg.DTypeError, match="gate: no argument is a tensor"):
        gate(2.0, 3.0)


def test_mixed_dtypes_raise_the_message_of_the_op() -> None:
    with pytest.raises(tg.DTypeError, match="gate: mul: x is float32 but y is float64"):
        gate(numbers(3), tg.ones((3,), np.float64))


@pytest.mark.parametrize("other", [nn.Param(tg.tensor(2.0)), tg.tensor(2.0).trace()])
def test_rejects_captured_tensors_that_need_a_gradient(other: Any) -> None:
    message = "gate: its result hangs on a tensor that is traced, or a parameter, and is not among its arguments"

    def body(x: Any) -> Any:
        return x * other

    body.__name__ = "gate"
    with pytest.raises(tg.TapeError, match=message):
        fused(body)(numbers(3).trace())


def test_rejects_a_tensor_leaked_from_another_call() -> None:
    escaped: list[Any] = []

    def leak(x: Any) -> Any:
        escaped.append(x)
        return x * 2 if len(escaped) == 1 else x + escaped[0]

    fused(leak)(numbers(3))
    with pytest.raises(tg.TapeError, match="leak: add: a tensor has left the fused function that it was computed in"):
        fused(leak)(numbers(3))


def test_many_constants_do_not_accumulate_programs() -> None:
    from tapegrad.engines.numpy import program

    scaled: Any = fused(lambda x, factor: x * factor)

    for factor in range(2 * program._MAX_PROGRAMS):
        scaled(tg.ones((2,)), float(factor))

    assert len(program._programs) <= program._MAX_PROGRAMS


def test_tape_type_is_that_of_the_call() -> None:
    assert isinstance(gate(numbers(3), numbers(3).trace()).tape, OwnedTape)
    assert not gate(numbers(3), numbers(3)).owns_tape

"""Checks for ops and shape rules: gradients against finite differences, rules for consistency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from inspect import signature
from itertools import combinations, product
from typing import Any, Final, TypeAlias

import numpy as np

from tapegrad.autodiff import Autodiff
from tapegrad.autograd.registry import IMPLEMENTATIONS, OPS, observers
from tapegrad.checkpoint import BalancedCheckpointing, checkpoint
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.options import check_function
from tapegrad.errors.tracebacks import public_api
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Dims,
    Name,
    RankUnknownError,
    Size,
    UnknownDims,
    is_unknown,
    named,
    show,
    value_of,
)
from tapegrad.tensors import Tensor, node

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Function: TypeAlias = Callable[..., Tensor[Any, Any, Any]]
Case: TypeAlias = tuple[Any, ...] | Mapping[str, Any]

checked_order: Final = ContextVar("checked_order", default=0)
"""The order of the `check_gradients` that is running, 0 outside."""


@public_api
def check_gradients(
    f: Function,
    *inputs: Tensor[Any, Any, Any],
    order: int = 1,
    eps: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> None:
    """Check the gradients of a function against central finite differences.

        ⟨v, ∂_j f(x)⟩
            ≈ ⟨v, (f(x + ε e[j]) - f(x - ε e[j])) / (2 ε)⟩

    The derivative by each element of each input is checked; the direction v is random, so that errors in different
    parts of the result do not cancel. For a second order, gradients of the gradient are compared with finite
    differences of the gradient. The result has to be the same with and without a tape, to the last bit, and so do the
    gradients with and without recomputation, under `BalancedCheckpointing` and with `f` under `checkpoint`. With
    `order` above 1, the gradients also have to be close if only one input, or only the gradient of the result, is a
    value of `Autodiff`.

    Args:
        f: A deterministic function from tensors to one tensor.
        inputs: Float64 tensors of any shape, away from kinks such as that of `relu` at zero.
        order: 1 for gradients, 2 for the gradients of gradients as well, and so on.
        eps: The step on either side, in the units of the inputs.
        rtol: The relative tolerance.
        atol: The absolute tolerance, in the units of the gradient.
        seed: The seed of the random directions.

    Raises:
        AssertionError: A gradient is wrong, the tape changes the result, or checkpointing or `Autodiff` changes a
            gradient; the message names the input, the index and both numbers.
        DTypeError: An input is not a float64 tensor.
        TypeError: There is no input, or the result is not a tensor.

    Examples:
        >>> x = tg.tensor([0.5, -1.5, 2.0], np.float64)
        >>> tg.testing.check_gradients(tg.tanh, x, order=2)
        >>> def square(x):
        ...     return x * x.detach()
        >>> tg.testing.check_gradients(square, tg.tensor(3.0, np.float64))
        Traceback (most recent call last):
            ...
        AssertionError: square: the gradient of input 0 () at () is ... by the tape but ... by finite differences
    """
    name = getattr(f, "__name__", type(f).__name__)
    points = [_point(x, position) for position, x in enumerate(inputs)]
    if not points:
        message = "check_gradients: there is no input to differentiate by"
        raise TypeError(message)
    before = checked_order.set(order)
    try:
        for level in range(1, order + 1):
            label = name if level == 1 else f"{name}, order {level}"
            _compare(f, points, label, eps=eps, rtol=rtol, atol=atol, seed=seed)
            if level == 1 < order:
                _compare_levels(f, points, label, rtol=rtol, atol=atol, seed=seed)
            f = _derivative(f, seed + level)
    finally:
        checked_order.reset(before)


@public_api
def check_shape_rule(rule: Callable[..., Any], *cases: Case) -> None:
    """Check that a shape rule gives consistent results for known, named and unknown sizes.

    In each case all subsets of the sizes are replaced by names, by unknown sizes, and by a mix of both, and whole
    operands by shapes of unknown rank. Equal sizes get the same name; 0 and 1 get none. The result must be consistent
    with the result for known sizes. The rule may reject a valid call with named sizes, because a name is equal only to
    itself, but must accept one with only known and unknown sizes.

    Args:
        rule: A rule, whose arguments annotated with `Dims` or `Size` are replaced; or an op, whose rule is checked.
        cases: Arguments of the rule, a tuple by position or a dictionary by name: a shape for each operand, other
            arguments as the op gets them. Cases that the rule rejects are skipped.

    Raises:
        AssertionError: A result is inconsistent, or a valid call is rejected; the message names the rule, its
            arguments, the result and the expected result.
        TypeError: No parameter is annotated with `Dims` or `Size`.

    Examples:
        >>> tg.testing.check_shape_rule(tg.matmul, ((3, 4), (4, 5)))
        >>> def halved_shape(x: tg.sizes.Dims) -> tg.sizes.Dims:
        ...     if not tg.sizes.surely_divides(2, x[0]):
        ...         raise tg.ShapeError(f"halved: 2 does not divide {x[0]}")
        ...     return (x[0] // 2,)
        >>> tg.testing.check_shape_rule(halved_shape, ((6,),))
        Traceback (most recent call last):
            ...
        AssertionError: halved_shape(x=(?,)) is rejected, though (3,) is true of numbers: halved: 2 does not divide ?
    """
    check_function("check_shape_rule", "rule", rule)
    for observer in observers:
        observer.rule_checked(rule)
    name = getattr(rule, "__name__", type(rule).__name__)
    key = next((key for key, call in IMPLEMENTATIONS.items() if call is rule), None)
    if key is not None:
        rule = OPS[key].rule
    shaped = signature(rule)
    hideable = {key for key, parameter in shaped.parameters.items() if _is_hideable(parameter.annotation)}
    if not hideable:
        message = f"check_shape_rule: {name} has no parameter annotated with Dims or Size"
        raise TypeError(message)
    for case in cases:
        bound = shaped.bind(**case) if isinstance(case, Mapping) else shaped.bind(*case)
        _check_case(name, rule, bound.arguments, hideable)


def _point(x: Any, position: int) -> Array:
    if not isinstance(x, Tensor) or x.dtype != np.float64:
        kind = x.dtype if isinstance(x, Tensor) else messages.with_article(type(x).__name__)
        message = f"check_gradients: input {position} is {kind}, but finite differences need float64 tensors"
        raise DTypeError(message)
    return x.numpy(copy=True)


def _compare(f: Function, points: list[Array], label: str, *, eps: float, rtol: float, atol: float, seed: int) -> None:
    inputs = [node(point.copy()) for point in points]
    plain, taped = f(*inputs), f(*(x.trace() for x in inputs))
    for result in (plain, taped):
        if not isinstance(result, Tensor):
            message = f"{label}: the result is {messages.with_article(type(result).__name__)}, not a tensor"
            raise TypeError(message)
    _compare_results(plain, taped, label)
    weights: Array = np.asarray(np.random.default_rng(seed).normal(size=plain.shape))
    direction = node(np.asarray(weights, plain.dtype))
    retained = _gradients_of(taped, inputs, direction, retain_tape=True)
    grads = _gradients_of(taped, inputs, direction)
    _compare_strategies(retained, grads, inputs, f"{label}, after retain_tape=True")
    for position, x in enumerate(inputs):
        expected = _differences(f, points, position, weights, eps)
        found = grads[x].numpy() if x in grads else np.zeros(x.shape)  # the result does not depend on the input
        wrong = ~np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
        if wrong.any():
            with np.errstate(invalid="ignore"):
                error = np.where(wrong, np.nan_to_num(np.abs(found - expected), nan=np.inf), -1)
            worst = tuple(map(int, np.unravel_index(error.argmax(), error.shape)))
            message = (
                f"{label}: the gradient of input {position} {show(x.shape)} at {worst} is {found[worst]:.9g} "
                f"by the tape but {expected[worst]:.9g} by finite differences"
            )
            raise AssertionError(message)
    for strategy, result in (
        ("BalancedCheckpointing", f(*(x.trace(checkpoint=BalancedCheckpointing()) for x in inputs))),
        ("checkpoint", checkpoint(f)(*(x.trace() for x in inputs))),
    ):
        for retain_tape in (True, False):
            computed = _gradients_of(result, inputs, direction, retain_tape=retain_tape)
            _compare_strategies(grads, computed, inputs, f"{label}, {strategy}")


def _gradients_of(
    y: Tensor[Any, Any, Any],
    inputs: list[Tensor[Any, Any, Any]],
    direction: Tensor[Any, Any, Any],
    *,
    retain_tape: bool = False,
) -> Any:
    return y.backward(wrt=inputs, seed=direction, retain_tape=retain_tape) if y.owns_tape else {}


def _compare_strategies(saved: Any, computed: Any, inputs: list[Tensor[Any, Any, Any]], label: str) -> None:
    """Check that gradients with recomputed values equal those with saved values, to the last bit."""
    for position, x in enumerate(inputs):
        if x not in saved and x not in computed:
            continue
        ours, theirs = saved[x].numpy(), computed[x].numpy()
        differs = ~((ours == theirs) | ((ours != ours) & (theirs != theirs)))  # noqa: PLR0124  # NaN differs from itself
        if differs.any():
            first = tuple(map(int, np.argwhere(differs)[0]))
            message = (
                f"{label}: the gradient of input {position} {show(x.shape)} at {first} is {theirs[first]:.17g} "
                f"but {ours[first]:.17g} where values are saved"
            )
            raise AssertionError(message)


def _compare_levels(f: Function, points: list[Array], label: str, *, rtol: float, atol: float, seed: int) -> None:
    """Check that the gradients stay the same if one input, or the direction, is a value of `Autodiff`."""
    expected = _mixed(f, points, None, seed)
    for lifted in range(len(points) + 1 if expected else 0):
        what = f"input {lifted}" if lifted < len(points) else "the direction"
        try:
            found = _mixed(f, points, lifted, seed)
        except Exception as error:
            error.add_note(f"{label}, where {what} alone is lifted")
            raise
        for position, gradient in expected.items():
            if not np.allclose(found[position], gradient, rtol=rtol, atol=atol, equal_nan=True):
                message = f"{label}: the gradient of input {position} is another where {what} alone is lifted"
                raise AssertionError(message)


def _mixed(f: Function, points: list[Array], lifted: int | None, seed: int) -> dict[int, Array]:
    """Return the gradients by position, with the value at position `lifted` of the `Autodiff` backend."""
    level = Autodiff()
    inputs = [_at(level, node(point.copy()), is_lifted=place == lifted) for place, point in enumerate(points)]
    y = f(*(x.trace() for x in inputs))
    direction = node(np.asarray(np.random.default_rng(seed).normal(size=y.shape), y.dtype))
    grads = _gradients_of(y, inputs, _at(level, direction, is_lifted=lifted == len(points)))
    return {place: grads[x].numpy() for place, x in enumerate(inputs) if x in grads}


def _at(level: Autodiff[Any, Any], x: Tensor[Any, Any, Any], *, is_lifted: bool) -> Tensor[Any, Any, Any]:
    lifted: Tensor[Any, Any, Any] = level.from_inner(x) if is_lifted else x
    return lifted


def _compare_results(plain: Tensor[Any, Any, Any], taped: Tensor[Any, Any, Any], label: str) -> None:
    if (plain.shape, plain.dtype) != (taped.shape, taped.dtype):
        message = (
            f"{label}: the result is {show(taped.shape)} {taped.dtype} with a tape "
            f"but {show(plain.shape)} {plain.dtype} without"
        )
        raise AssertionError(message)
    without, having = plain.numpy(), taped.numpy()
    differs = ~((without == having) | ((without != without) & (having != having)))  # noqa: PLR0124  # NaN differs from itself
    if differs.any():
        first = tuple(map(int, np.argwhere(differs)[0]))
        message = f"{label}: the result at {first} is {having[first]:.9g} with a tape but {without[first]:.9g} without"
        raise AssertionError(message)


def _differences(f: Function, points: list[Array], position: int, weights: Array, eps: float) -> Array:
    """Return the gradient of input `position` by central differences."""
    gradient = np.empty(points[position].shape)
    for index in np.ndindex(gradient.shape):
        near = [[node(point.copy()) for point in points] for _ in range(2)]
        for inputs, step in zip(near, (eps, -eps), strict=True):
            inputs[position].data[index] += step  # type: ignore[index]  # a copy, made above
        high, low = (f(*inputs).numpy().astype(np.float64) for inputs in near)
        distance = near[0][position].numpy()[index] - near[1][position].numpy()[index]
        gradient[index] = np.sum(weights * (high - low)) / distance
    return gradient


def _derivative(f: Function, seed: int) -> Function:
    """Return a function that computes the inner product of the gradient of `f` with random directions."""

    def derivative(*inputs: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        level, rng = Autodiff(), np.random.default_rng(seed)
        lifted = [level.from_inner(x) for x in inputs]
        y = f(*(x.trace() for x in lifted))
        if not y.owns_tape:
            return node(np.zeros(()))
        direction = level.from_inner(node(np.asarray(rng.normal(size=y.shape), y.dtype)))
        grads = y.backward(wrt=lifted, seed=direction)
        total: Tensor[Any, Any, Any] = node(np.zeros(()))
        for x in lifted:
            weights = rng.normal(size=x.shape)
            if x in grads:
                total = total + (level.inner(grads[x]) * weights).sum()
        return total

    return derivative


def _is_hideable(annotation: Any) -> bool:
    return (
        annotation in (Dims, Size)
        or str(annotation) in {"tuple[Dims, ...]", "Dims | Size", "Size | Int"}
        or str(annotation).rpartition(".")[2] in {"Dims", "Size"}
    )


def _check_case(name: str, rule: Callable[..., Any], arguments: dict[str, Any], hideable: set[str]) -> None:
    try:
        truth = rule(**arguments)
    except ShapeError:
        return
    shapes = {key: value for key, value in arguments.items() if key in hideable}
    names = {Name(f"N{n}"): n for value in shapes.values() for n in _sizes(value) if n > 1}
    for hidden in _hidden(shapes):
        call = f"{name}({', '.join(f'{key}={_written(value)}' for key, value in (arguments | hidden).items())})"
        try:
            answer = rule(**arguments | hidden)
        except RankUnknownError:
            continue
        except ShapeError as rejection:
            if any(isinstance(n, Dim) and not is_unknown(n) for value in hidden.values() for n in _sizes(value)):
                continue
            message = f"{call} is rejected, though {_written(truth)} is true of numbers: {rejection}"
            raise AssertionError(message) from rejection
        except Exception as error:
            error.add_note(f"{call}, where {_written(truth)} is true of numbers")
            raise
        if not _fits(answer, truth, names):
            message = f"{call} gives {_written(answer)}, though {_written(truth)} is true of numbers"
            raise AssertionError(message)


def _hidden(shapes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the shapes with sizes known or named, known or unknown, named or unknown; then with unknown ranks."""
    sizes = [n for value in shapes.values() for n in _sizes(value)]
    kinds = (sizes, [named(f"N{n}") if n > 1 else n for n in sizes], [UNKNOWN] * len(sizes))
    for first, second in combinations(kinds, 2):
        for chosen in product(*zip(first, second, strict=True)):
            yield _refilled(shapes, chosen)
    whole = [key for key, value in shapes.items() if isinstance(value, tuple)]
    for count in range(1, len(whole) + 1):
        for gone in combinations(whole, count):
            for kind in kinds:
                unknown = {key: _of_unknown_rank(shapes[key]) for key in gone}
                yield _refilled(shapes, kind) | unknown


def _of_unknown_rank(value: Any) -> Any:
    several = any(isinstance(one, tuple) for one in value)
    return tuple(UnknownDims() for _ in value) if several else UnknownDims()


def _refilled(shapes: dict[str, Any], sizes: Sequence[Size]) -> dict[str, Any]:
    left = iter(sizes)

    def filled(value: Any) -> Any:
        return tuple(map(filled, value)) if isinstance(value, tuple) else next(left)

    return {key: filled(value) for key, value in shapes.items()}


def _fits(answer: Any, truth: Any, names: Mapping[Name, int]) -> bool:
    if isinstance(answer, UnknownDims):
        return True
    if isinstance(truth, tuple) and any(isinstance(one, tuple) for one in truth):
        return len(answer) == len(truth) and all(map(_fits, answer, truth, [names] * len(truth)))
    answers, truths = _sizes(answer), _sizes(truth)
    return len(answers) == len(truths) and all(
        value_of(size, names) in {None, value_of(n, names)} for size, n in zip(answers, truths, strict=True)
    )


def _sizes(value: Any) -> tuple[Any, ...]:
    if isinstance(value, UnknownDims):
        return ()
    return tuple(n for one in value for n in _sizes(one)) if isinstance(value, tuple) else (value,)


def _written(value: Any) -> str:
    if isinstance(value, UnknownDims):
        return show(value)
    parts: Any = map(_written, value) if isinstance(value, tuple) else ()
    return show(parts) if isinstance(value, tuple) else str(value)

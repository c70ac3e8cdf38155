"""Linear recurrences along an axis: each state is computed from the previous one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.sizes import Dims, normal_axis, show, surely_differ
from tapegrad.tensors import T1, T2, Float, T, Tensor, node
from tapegrad.tensors.operands import tensor_only, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge


def ssm_scan_shape(a: Dims, b: Dims, x: Dims, axis: Int = 0) -> Dims:
    """Return the shape that all three operands have."""
    for name, dims in {"b": b, "x": x}.items():
        if len(dims) != len(a) or any(surely_differ(n, m) for n, m in zip(a, dims, strict=True)):
            message = f"a is {show(a)} but {name} is {show(dims)}"
            raise ShapeError(message)
    normal_axis(axis, a, "a")
    return a


@op(ssm_scan_shape, eager=True)
def ssm_scan(
    a: Tensor[Any, T1, Float], b: Tensor[Any, T2, Float], x: Tensor[Any, T, Float], axis: Int = 0
) -> Tensor[Any, Merge[T1, Merge[T2, T]], Float]:
    """Scan a diagonal state space model along an axis, with its own coefficients for each channel and step.

        h[t] = a[t] h[t-1] + b[t] x[t]
        h[-1] = 0

        λ[t] = dh[t] + a[t+1] λ[t+1]
        da[t] = λ[t] h[t-1]
        db[t] = λ[t] x[t]
        dx[t] = λ[t] b[t]

    Args:
        a: The factors of the previous state; the first along the axis is unused. Any shape but a scalar, a float
            dtype.
        b: The factors of the input, the shape of `a`.
        x: The input, the shape of `a`.
        axis: The time axis, one step for each element.

    Returns:
        All states h, the shape of `a`.

    Raises:
        ShapeError: The shapes differ (nothing is broadcast), or the axis is out of range.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Gu & Dao, [Mamba](https://arxiv.org/abs/2312.00752), eq. 2a, with a diagonal A.

    Examples:
        >>> a = tg.full((4,), 0.5)
        >>> b = tg.ones((4,))
        >>> x = tg.tensor([8.0, 0.0, 0.0, 4.0])
        >>> tg.ssm_scan(a, b, x).tolist()
        [8.0, 4.0, 2.0, 5.0]
        >>> grads = tg.ssm_scan(a, b, x.trace()).sum().backward()
        >>> grads[x].tolist()
        [1.875, 1.75, 1.5, 1.0]
    """
    _one_float_dtype(a=a, b=b, x=x)
    (a, b, x), tape = unwrap_all((a, b, x), "operands")
    axis = normal_axis(axis, a.shape, "a")
    out = node(_scan(a.data, b.data * x.data, axis))

    def backward(grads: Gradients) -> None:
        adjoint = _scan(_later(a.data, axis), grads.pop_output(out), axis, back=True)
        if grads.wants(a):
            grads.add(a, adjoint * _earlier(out.data, axis))
        if grads.wants(b):
            grads.add(b, adjoint * x.data)
        if grads.wants(x):
            grads.add(x, adjoint * b.data)

    return tape.record(out, (a, b, x), backward)


def _scan(decay: Any, inputs: Any, axis: int, *, back: bool = False) -> Any:
    """Return the states `h[t] = decay[t] * h[t - 1] + inputs[t]`, or with `h[t + 1]` if `back`."""
    # Sequential: a parallel scan over products of `decay` has fewer steps, but can overflow where no state does.
    count = inputs.shape[axis]
    if count < 2:
        return inputs
    start, rest = (count - 1, slice(count - 1)) if back else (0, slice(1, None))
    first = _at(inputs, axis, start)

    def step(state: tuple[Any, ...], rows: tuple[Any, ...]) -> Any:
        factor, change = rows
        state = (factor * state[0] + change,)
        return state, state, None

    primitives = engine(decay, inputs)
    _, (states,), _ = primitives.scan(
        step, [first], [_at(decay, axis, rest), _at(inputs, axis, rest)], axis, is_reversed=back
    )
    parts = [_at(inputs, axis, slice(start, start + 1)), states]
    return primitives.concat(parts[::-1] if back else parts, axis)


def _at(value: Any, axis: int, index: Any) -> Any:
    return engine(value).getitem(value, (*[slice(None)] * axis, index))


def _later(value: Any, axis: int) -> Any:
    """Shift all steps by one towards the start; the last step becomes zero."""
    return _padded(_steps(value, axis, 1, value.shape[axis]), axis, 0, 1)


def _earlier(value: Any, axis: int) -> Any:
    """Shift all steps by one towards the end; the first step becomes zero."""
    return _padded(_steps(value, axis, 0, value.shape[axis] - 1), axis, 1, 0)


def _steps(value: Any, axis: int, start: int, end: int) -> Any:
    return engine(value).getitem(value, (*[slice(None)] * axis, slice(start, end)))


def _padded(value: Any, axis: int, before: int, after: int) -> Any:
    widths = [(0, 0)] * value.ndim
    widths[axis] = before, after
    return engine(value).pad(value, widths, 0)


def _one_float_dtype(**operands: Tensor[Any, Any, Any]) -> None:
    (first, x), *others = operands.items()
    for name, operand in operands.items():
        tensor_only(operand, name)
    for name, other in others:
        if other.dtype != x.dtype:
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(x.dtype), first, str(other.dtype), name))
    if not x.is_float:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, first, str(x.dtype), "floating"))

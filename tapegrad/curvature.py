"""Second derivatives of scalar functions: the Hessian and Hessian-vector products."""

from __future__ import annotations

from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

import numpy as np

from tapegrad.autodiff import Autodiff
from tapegrad.autograd.tape_repr import op_named
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_function
from tapegrad.errors.tracebacks import public_api
from tapegrad.ops import reshape, stack, zeros, zeros_like
from tapegrad.tensors import Float, S, Tensor, node
from tapegrad.tensors.operands import tensor_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.tensors.aliases import N0, N1, N2

Scalar: TypeAlias = Tensor[tuple[()], Any, Any]


@public_api
def hvp(
    f: Callable[[Tensor[S, OwnedTape, Float]], Scalar], x: Tensor[S, NoneTape, Float], v: Tensor[S, NoneTape, Float]
) -> Tensor[S, NoneTape, Float]:
    """Compute the Hessian-vector product of a scalar function without forming the Hessian.

        (H v)[i] = ∑_j (∂²f / (∂x[i] ∂x[j])) v[j]

    It costs about two backward passes, for any size of `x`.

    Args:
        f: From a tensor to a scalar; all other tensors that it reads, parameters included, are constants.
        x: The point at which the Hessian is taken, of any shape.
        v: The vector, of the shape and the dtype of `x`.

    Returns:
        The shape of `x`; zeros where `f` is linear, or does not depend on `x`.

    Raises:
        ShapeError: `f` does not return a scalar, or the shapes of `v` and `x` differ.
        DTypeError: The dtypes differ, or are not float, an operand is not a tensor, or `f` is not a function or
            does not return a tensor.
        TapeError: `x` or `v` has a tape, or `f` uses an op that cannot be differentiated twice; the message names it.

    Source:
        Pearlmutter, [Fast exact multiplication by the Hessian](https://doi.org/10.1162/neco.1994.6.1.147); here
        computed as the gradient of the product of gradient and vector, not in forward mode as in eq. 1.

    Examples:
        >>> x = tg.tensor([2.0, 3.0])
        >>> v = tg.tensor([1.0, 0.5])
        >>> tg.hvp(lambda x: x[0] * x[0] * x[1], x, v).tolist()
        [8.0, 4.0]
    """
    check_function("hvp", "f", f)
    _check_point("hvp", x)
    tensor_only(v, "hvp: v")
    if v.owns_tape:
        raise TapeError(messages.tape_unwanted("hvp", "v"))
    if v.shape != x.shape:
        raise ShapeError(messages.conflict("hvp", "S", x.shape, "x", v.shape, "v"))
    if v.dtype != x.dtype:
        raise DTypeError(messages.mixed_dtypes("hvp", str(x.dtype), "x", str(v.dtype), "v"))
    product: Tensor[S, NoneTape, Float] = _product("hvp", f, x, v)
    return product


@overload
def hessian(
    f: Callable[[Tensor[tuple[()], OwnedTape, Float]], Scalar], x: Tensor[tuple[()], NoneTape, Float]
) -> Tensor[tuple[()], NoneTape, Float]: ...
@overload
def hessian(
    f: Callable[[Tensor[tuple[N0], OwnedTape, Float]], Scalar], x: Tensor[tuple[N0], NoneTape, Float]
) -> Tensor[tuple[N0, N0], NoneTape, Float]: ...
@overload
def hessian(
    f: Callable[[Tensor[tuple[N0, N1], OwnedTape, Float]], Scalar], x: Tensor[tuple[N0, N1], NoneTape, Float]
) -> Tensor[tuple[N0, N1, N0, N1], NoneTape, Float]: ...
@overload
def hessian(
    f: Callable[[Tensor[tuple[N0, N1, N2], OwnedTape, Float]], Scalar], x: Tensor[tuple[N0, N1, N2], NoneTape, Float]
) -> Tensor[tuple[N0, N1, N2, N0, N1, N2], NoneTape, Float]: ...
@overload
def hessian(
    f: Callable[[Tensor[Any, OwnedTape, Float]], Scalar], x: Tensor[Any, NoneTape, Float]
) -> Tensor[Any, NoneTape, Float]: ...
@public_api
def hessian(f: Callable[[Tensor[Any, OwnedTape, Any]], Scalar], x: Tensor[Any, NoneTape, Any]) -> Any:
    """Compute the Hessian of a scalar function.

        H[i,j] = ∂²f / (∂x[i] ∂x[j])

    It runs `f` once for each element of `x`, and the result has `x.size ** 2` elements; `hvp` avoids both.

    Args:
        f: From a tensor to a scalar, the same each time; all other tensors that it reads, parameters included, are
            constants.
        x: The point at which the derivatives are taken, of any shape.

    Returns:
        The shape of `x` twice, the axes of the first derivative before those of the second.

    Raises:
        ShapeError: `f` does not return a scalar.
        DTypeError: `x` is not a float tensor, or `f` is not a function or does not return a tensor.
        TapeError: `x` has a tape, or `f` uses an op that cannot be differentiated twice; the message names it.

    Examples:
        >>> x = tg.tensor([2.0, 3.0])
        >>> tg.hessian(lambda x: x[0] * x[0] * x[1], x).tolist()
        [[6.0, 4.0], [4.0, 0.0]]
    """
    check_function("hessian", "f", f)
    _check_point("hessian", x)
    units = np.eye(x.size, dtype=x.dtype).reshape((x.size, *x.shape))
    rows = [_product("hessian", f, x, node(unit)) for unit in units]
    return reshape(stack(rows), (*x.shape, *x.shape)) if rows else zeros((*x.shape, *x.shape), x.dtype.type)


def _check_point(call: str, x: Tensor[Any, Any, Any]) -> None:
    tensor_only(x, f"{call}: x")
    if x.owns_tape:
        raise TapeError(messages.tape_unwanted(call, "x"))
    if not x.is_float:
        raise DTypeError(messages.wrong_dtype(call, "x", str(x.dtype), "float"))


def _product(call: str, f: Callable[[Any], Any], x: Any, v: Any) -> Any:
    """Compute the derivative of the gradient, taken on a separate tape, in the direction of `v`."""
    level = Autodiff()
    lifted = level.from_inner(x.trace())
    try:
        y = f(lifted.trace())
        if not isinstance(y, Tensor):
            message = f"{call}: f gives {messages.with_article(type(y).__name__)}, not a tensor"
            raise DTypeError(message)
        if y.shape != ():
            message = f"{call}: f gives {messages.shown(y.shape)}, not a scalar"
            raise ShapeError(message)
        derivative: Any = y.backward(wrt=lifted).get(lifted) if y.owns_tape else None
        derivative = None if derivative is None else level.inner(derivative)
        found = derivative.backward(wrt=x, seed=v).get(x) if derivative is not None and derivative.owns_tape else None
    except (AttributeError, TapeError, TypeError) as error:
        _explain(call, f, x, error)
    return zeros_like(x) if found is None else found


def _explain(call: str, f: Callable[[Any], Any], x: Any, error: Exception) -> NoReturn:
    """Raise a TapeError that names the op if the function can be differentiated once, otherwise the original error."""
    try:
        f(x.trace()).backward(wrt=x)
    except Exception:  # noqa: BLE001  # `f` itself is wrong, and its first error says how
        raise error from None
    message = f"{call}: {_op_of(error)} cannot be differentiated twice: {error}"
    raise TapeError(message) from error


def _op_of(error: BaseException) -> str:
    """Return the name of the user's function that raised an error: an op, or the op of a backward closure."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    own = [frame for frame in frames if frame.f_globals["__name__"].partition(".")[0] not in {"numpy", "tapegrad"}]
    return op_named((own or frames)[-1].f_code.co_qualname)

"""Activation functions; `relu` and `tanh` are in `elementwise.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors.options import check_number, check_word
from tapegrad.errors.ranges import check_options
from tapegrad.ops._broadcast import accumulate_broadcast, accumulate_like
from tapegrad.ops._large import elementwise
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import elementwise_shape, float_only
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensors.operands import same_dtype, tensor_only, unwrap, unwrap_mixed

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge

_CUBIC: Final = 0.044715  # Hendrycks & Gimpel, §2
_SELU_FACTOR: Final = 1.0507009873554805  # Klambauer et al., eq. 14
_SELU_DEPTH: Final = 1.6732632423543772


@op(elementwise_shape, memory_bound=True)
def sigmoid(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the logistic sigmoid of each element.

        y = 1 / (1 + e^(-x))
        dx = y (1 - y) dy

    Args:
        x: Any shape, a float dtype. Exact up to the rounding error of 1; `log_sigmoid` is more precise for small y.

    Returns:
        The shape of `x`, between 0 and 1; finite for any finite input.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> logits = tg.tensor([-2.0, 0.0, 2.0])
        >>> np.round(tg.sigmoid(logits).numpy().astype(float), 3).tolist()
        [0.119, 0.5, 0.881]
        >>> grads = tg.sigmoid(logits.trace()).sum().backward()
        >>> np.round(grads[logits].numpy().astype(float), 3).tolist()
        [0.105, 0.25, 0.105]
    """
    x, tape = unwrap(x)
    float_only(x)
    out = node(elementwise(lambda x: apply("sigmoid", x), x.data))

    def backward(grads: Gradients) -> None:
        # Multiplied from the left: a fused function such as x * sigmoid(x) already has the first product.
        accumulate_like(grads, x, elementwise(lambda dy, y: dy * y * (1 - y), grads.pop_output(out), out.data))

    return tape.record(out, (x,), backward, saved=(out,))


@op(elementwise_shape)
def logit(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the logarithm of the odds of each probability, the inverse of `sigmoid`.

        y = ln(x / (1 - x))
        dx = dy / (x (1 - x))

    Args:
        x: Probabilities, any shape, a float dtype. 0 and 1 give minus infinity and infinity; outside, value and
            derivative are NaN.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        SciPy 1.17, `scipy.special.logit`, for 0 and 1.

    Examples:
        >>> p = tg.tensor([0.25, 0.5, 0.75])
        >>> np.round(tg.logit(p).numpy().astype(float), 3).tolist()
        [-1.099, 0.0, 1.099]
        >>> tg.sigmoid(tg.logit(p)).tolist()
        [0.25, 0.5, 0.75]
        >>> tg.logit(p.trace())[1].backward()[p].tolist()
        [0.0, 4.0, 0.0]
    """
    return mapped(x, lambda x: engine(x).log(x / (1 - x)), _logit_derivative)


@op(elementwise_shape, memory_bound=True)
def log_sigmoid(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the logarithm of the sigmoid of each element, without underflow.

        y = -ln(1 + e^(-x))
        dx = σ(-x) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, in nats, at most 0; finite for any finite input.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> logits = tg.tensor([-1000.0, 0.0, 2.0])
        >>> np.round(tg.log_sigmoid(logits).numpy().astype(float), 3).tolist()
        [-1000.0, -0.693, -0.127]
        >>> tg.sigmoid(logits)[0].item()
        0.0
    """
    return mapped(x, lambda x: -apply("softplus", -x), lambda x, _: apply("sigmoid", -x))


@op(elementwise_shape, memory_bound=True)
def softplus(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the softplus of each element, a smooth approximation of `relu`.

        y = ln(1 + e^x)
        dx = σ(x) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, at least 0; finite for any finite input.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Dugas et al., [Incorporating second-order functional knowledge for better option pricing](
            https://papers.nips.cc/paper/1920).

    Examples:
        >>> x = tg.tensor([-2.0, 0.0, 1000.0])
        >>> np.round(tg.softplus(x).numpy().astype(float), 3).tolist()
        [0.127, 0.693, 1000.0]
        >>> tg.relu(x).tolist()
        [0.0, 0.0, 1000.0]
    """
    return mapped(x, lambda x: apply("softplus", x), lambda x, _: apply("sigmoid", x))


@op(elementwise_shape, memory_bound=True)
def silu(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the SiLU (swish) activation: multiply each element by its sigmoid.

        y = x σ(x)
        dx = (σ(x) + y (1 - σ(x))) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Elfwing et al., [Sigmoid-weighted linear units](https://arxiv.org/abs/1702.03118), §2.

    Examples:
        >>> x = tg.tensor([-2.0, 0.0, 2.0])
        >>> np.round(tg.silu(x).numpy().astype(float), 3).tolist()
        [-0.238, 0.0, 1.762]
        >>> grads = tg.silu(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [-0.091, 0.5, 1.091]
    """
    return mapped(x, lambda x: x * apply("sigmoid", x), _silu_derivative)


def _silu_derivative(x: Any, y: Any) -> Any:
    gate = apply("sigmoid", x)
    return gate + y * (1 - gate)


@op(elementwise_shape, memory_bound=True)
def gelu(x: Tensor[S, T, Float], *, approximate: Literal["none", "tanh"] = "none") -> Tensor[S, T, Float]:
    """Compute the GELU activation: multiply each element by its standard normal CDF.

        y = x Φ(x) = (x/2) (1 + erf(x / √2))
        dx = (Φ(x) + x φ(x)) dy

    Args:
        x: Any shape, a float dtype.
        approximate: `none` for the error function, or `tanh` for
            `Φ(x) ≈ (1/2) (1 + tanh(√(2/π) (x + 0.044715 x³)))`, which is faster
            and changes the result by less than 0.0005.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `approximate` is neither `none` nor `tanh`.

    Source:
        Hendrycks & Gimpel, [Gaussian error linear units](https://arxiv.org/abs/1606.08415), §2.

    Examples:
        >>> x = tg.tensor([-2.0, 0.0, 2.0])
        >>> np.round(tg.gelu(x).numpy().astype(float), 4).tolist()
        [-0.0455, 0.0, 1.9545]
        >>> np.round(tg.gelu(x, approximate="tanh").numpy().astype(float), 4).tolist()
        [-0.0454, 0.0, 1.9546]
    """
    if approximate == "tanh":
        return _gelu_by_tanh(x)
    if approximate != "none":
        check_word("gelu", "approximate", approximate, ("none", "tanh"))
    return mapped(x, lambda x: x * _normal_cdf(x), _gelu_derivative)


def _normal_cdf(x: Any) -> Any:
    return apply("erf", x * math.sqrt(0.5)) / 2 + 0.5


def _gelu_derivative(x: Any, _: Any) -> Any:
    density = engine(x).exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return _normal_cdf(x) + x * density


def _gelu_by_tanh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    x, tape = unwrap(x)
    float_only(x)
    root = math.sqrt(2 / math.pi)

    def share(x: Any) -> Any:
        return engine(x).tanh((x * x * (root * _CUBIC) + root) * x) * 0.5 + 0.5

    def derivative(dy: Any, x: Any) -> Any:
        below = share(x)  # computed again, because saving it takes as much memory as x
        du = x * x * (6 * root * _CUBIC) + 2 * root
        return dy * ((1 - below) * below * x * du + below)

    out = node(engine(x.data).fuse(lambda x: x * share(x), x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, engine(dy, x.data).fuse(derivative, dy, x.data))

    return tape.record(out, (x,), backward, saved=(x,))


@op(elementwise_shape, memory_bound=True)
def elu(x: Tensor[S, T, Float], alpha: float = 1.0) -> Tensor[S, T, Float]:
    """Compute the exponential linear unit (ELU) of each element.

        y = x             if x > 0,
            α (e^x - 1)   if x ≤ 0
        dx = dy           if x > 0,
             α e^x dy     if x ≤ 0

    Args:
        x: Any shape, a float dtype.
        alpha: The lower bound of the result is minus this, in the units of `x`.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float, or `alpha` is not a number.
        ValueError: `alpha` is NaN.

    Source:
        Clevert et al., [Exponential linear units](https://arxiv.org/abs/1511.07289), eq. 15.

    Examples:
        >>> x = tg.tensor([-1000.0, -1.0, 0.0, 2.0])
        >>> np.round(tg.elu(x).numpy().astype(float), 3).tolist()
        [-1.0, -0.632, 0.0, 2.0]
        >>> np.round(tg.elu(x, alpha=0.5).numpy().astype(float), 3).tolist()
        [-0.5, -0.316, 0.0, 2.0]
    """
    if alpha != 1.0 or alpha is True:
        check_number("elu", "alpha", alpha)
    return _exponential_linear("elu", x, factor=1.0, width=1.0, depth=alpha)


@op(elementwise_shape, memory_bound=True)
def celu(x: Tensor[S, T, Float], alpha: float = 1.0) -> Tensor[S, T, Float]:
    """Compute the continuously differentiable exponential linear unit (CELU) of each element.

        y = x                   if x > 0,
            α (e^(x / α) - 1)   if x ≤ 0
        dx = dy                 if x > 0,
             e^(x / α) dy       if x ≤ 0

    Args:
        x: Any shape, a float dtype.
        alpha: The lower bound of the result is minus this, in the units of `x`; above 0.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `alpha` is not above 0.

    Source:
        Barron, [Continuously differentiable exponential linear units](https://arxiv.org/abs/1704.07483), eq. 2.

    Examples:
        >>> x = tg.tensor([-1000.0, -1.0, 0.0, 2.0])
        >>> np.round(tg.celu(x).numpy().astype(float), 3).tolist()
        [-1.0, -0.632, 0.0, 2.0]
        >>> np.round(tg.celu(x, alpha=0.5).numpy().astype(float), 3).tolist()
        [-0.5, -0.432, 0.0, 2.0]
    """
    check_options("celu", alpha=alpha)
    return _exponential_linear("celu", x, factor=1.0, width=alpha, depth=alpha)


@op(elementwise_shape, memory_bound=True)
def selu(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the scaled exponential linear unit (SELU), which keeps zero mean and unit variance from layer to layer.

        y = λ x             if x > 0,
            λ α (e^x - 1)   if x ≤ 0
        dx = λ dy           if x > 0,
             λ α e^x dy     if x ≤ 0

    Here `λ = 1.0507...` and `α = 1.6732...`.

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Klambauer et al., [Self-normalizing neural networks](https://arxiv.org/abs/1706.02515), eq. 2 and 14.

    Examples:
        >>> x = tg.tensor([-1000.0, -1.0, 0.0, 2.0])
        >>> np.round(tg.selu(x).numpy().astype(float), 3).tolist()
        [-1.758, -1.111, 0.0, 2.101]
    """
    return _exponential_linear("selu", x, factor=_SELU_FACTOR, width=1.0, depth=_SELU_DEPTH)


def _exponential_linear(
    name: str, x: Tensor[S, T, Float], *, factor: float, width: float, depth: float
) -> Tensor[S, T, Float]:
    """Compute `factor * x` above 0, and `factor * depth * expm1(x / width)` below."""

    def bent(x: Any) -> Any:
        above = x if factor == 1 else x * factor
        return engine(x).where(engine(x).greater(x, 0), above, apply("expm1", _below(x, width)) * (factor * depth))

    def derivative(x: Any, _: Any) -> Any:
        below = engine(x).exp(_below(x, width)) * (factor * depth / width)
        return engine(x).where(engine(x).greater(x, 0), factor, below)

    bent.__qualname__ = name  # a printed tape shows the op, not this helper
    return mapped(x, bent, derivative)


def _below(x: Any, width: float) -> Any:
    """Compute `x / width` for x below 0, else 0: exp(89) overflows float32, and `where` would not hide the warning."""
    low = engine(x).where(engine(x).greater(x, 0), 0, x)
    return low if width == 1 else low / width


@op(elementwise_shape, memory_bound=True)
def leaky_relu(x: Tensor[S, T, Float], negative_slope: float = 0.01) -> Tensor[S, T, Float]:
    """Compute the leaky ReLU: multiply negative elements by a small factor.

        y = x       if x > 0,
            s x     if x ≤ 0
        dx = dy     if x > 0,
             s dy   if x ≤ 0

    Args:
        x: Any shape, a float dtype.
        negative_slope: The factor s of negative elements, and the derivative at zero.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float, or `negative_slope` is not a number.
        ValueError: `negative_slope` is NaN.

    Source:
        Maas et al., [Rectifier nonlinearities improve neural network acoustic models](
            https://ai.stanford.edu/~amaas/papers/relu_hybrid_icml2013_final.pdf), §2.

    Examples:
        >>> x = tg.tensor([-2.0, 0.0, 3.0])
        >>> tg.leaky_relu(x, negative_slope=0.25).tolist()
        [-0.5, 0.0, 3.0]
        >>> grads = tg.leaky_relu(x.trace(), negative_slope=0.25).sum().backward()
        >>> grads[x].tolist()
        [0.25, 0.25, 1.0]
    """
    x, tape = unwrap(x)
    float_only(x)
    if negative_slope != 0.01:
        check_number("leaky_relu", "negative_slope", negative_slope)
    primitives = engine(x.data)
    out = node(primitives.where(primitives.greater(x.data, 0), x.data, negative_slope * x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        positive = engine(x.data).greater(x.data, 0)
        grads.add(x, engine(dy, positive).where(positive, dy, negative_slope * dy))

    return tape.record(out, (x,), backward)


def prelu_shape(x: Dims, weight: Dims) -> Dims:
    """Return the shape that both operands broadcast to."""
    return broadcast(x=x, weight=weight)


@op(prelu_shape, memory_bound=True)
def prelu(x: Tensor[Any, T1, Float], weight: Tensor[Any, T2, Float]) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the parametric ReLU (PReLU): multiply negative elements by learned factors.

        y = x       if x > 0,
            w x     if x ≤ 0
        dx = dy     if x > 0,
             w dy   if x ≤ 0
        dw = min(x, 0) dy

    Args:
        x: Any shape, a float dtype.
        weight: The factors w, a shape that broadcasts with `x`: `(C, 1, 1)` for one per channel of images.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852), eq. 1.

    Examples:
        >>> images = tg.tensor([[[-4.0, 2.0]], [[-4.0, 8.0]]])  # 2 channels, 1 row, 2 columns
        >>> weight = tg.tensor([0.25, 0.5]).reshape((2, 1, 1))
        >>> tg.prelu(images, weight).tolist()
        [[[-1.0, 2.0]], [[-2.0, 8.0]]]
        >>> grads = tg.prelu(images, weight.trace()).sum().backward()
        >>> grads[weight].flatten().tolist()
        [-4.0, -4.0]
    """
    tensor_only(x, "x")
    tensor_only(weight, "weight")
    x, weight, tape = unwrap_mixed(x, weight)
    same_dtype(x, weight, "weight")
    float_only(x)
    primitives = engine(x.data, weight.data)
    out = node(primitives.where(primitives.greater(x.data, 0), x.data, weight.data * x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        positive = engine(x.data).greater(x.data, 0)
        if grads.wants(x):
            primitives = engine(dy, positive, weight.data)
            accumulate_broadcast(grads, x, primitives.where(positive, dy, weight.data * dy))
        if grads.wants(weight):
            accumulate_broadcast(grads, weight, engine(dy, positive).where(positive, 0, x.data * dy))

    return tape.record(out, (x, weight), backward)


@op(elementwise_shape, memory_bound=True)
def mish(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the Mish activation: multiply each element by the hyperbolic tangent of its `softplus`.

        y = x tanh s
        s = ln(1 + e^x)
        dx = (tanh s + x (1 - tanh² s) σ(x)) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Misra, [Mish](https://arxiv.org/abs/1908.08681), eq. 1.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 1.0])
        >>> np.round(tg.mish(x).numpy().astype(float), 3).tolist()
        [-0.303, 0.0, 0.865]
    """
    return mapped(x, lambda x: x * _mish_gate(x), _mish_derivative)


def _mish_gate(x: Any) -> Any:
    return engine(x).tanh(apply("softplus", x))


def _mish_derivative(x: Any, _: Any) -> Any:
    gate = _mish_gate(x)
    return gate + x * (1 - gate * gate) * apply("sigmoid", x)


def _logit_derivative(x: Any, _: Any) -> Any:
    product, primitives = x * (1 - x), engine(x)
    is_inside = primitives.map("logical_not", primitives.greater(-product, 0))
    return 1 / primitives.where(is_inside, product, math.nan)

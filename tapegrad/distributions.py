"""Probability distributions to sample from: categorical, normal and Bernoulli."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.ops import (
    argmax,
    bce_with_logits,
    clamp,
    cross_entropy,
    exp,
    less,
    log,
    log_softmax,
    normal_like,
    sigmoid,
    square,
    uniform_like,
    where,
)
from tapegrad.sizes import at_least, show
from tapegrad.tensors import T2, Float, S, T, Tensor
from tapegrad.tensors.operands import known, tensor_only

if TYPE_CHECKING:
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.generator import RNG
    from tapegrad.tensors.aliases import Shape

Batch = TypeVarTuple("Batch")
C = TypeVar("C", bound=int)

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Categorical(Generic[S, T, Float]):
    """Distribution over C categories: which of them, as an int from 0 to C - 1.

        p[c] = softmax(x)[c]

    Args:
        logits: Logits in nats, `(..., C)`, a float dtype: one distribution per row. Logarithms of probabilities are
            logits too.

    Attributes:
        logits: The logits, with their tape.

    Raises:
        ShapeError: The logits are a scalar.
        DTypeError: The logits are not floats.

    Examples:
        >>> policy = tg.distributions.Categorical(tg.tensor([[0.0, 0.0], [2.0, -1.0]]))
        >>> actions = policy.sample(rng=1)
        >>> actions.tolist()
        [1, 1]
        >>> np.round(policy.log_prob(actions).numpy().astype(float), 3).tolist()
        [-0.693, -3.049]
        >>> np.round(policy.entropy().numpy().astype(float), 3).tolist()
        [0.693, 0.191]
    """

    logits: Tensor[S, T, Float]

    @public_api
    def __init__(self, logits: Tensor[S, T, Float]) -> None:
        _floats("Categorical", logits=logits)
        try:
            at_least(1, logits=logits.shape)
        except ShapeError as error:
            message = f"Categorical: {error}"
            raise ShapeError(message) from None
        self.logits = logits

    @public_api
    def sample(
        self: Categorical[Shape[*Batch, C], T, Float], *, rng: RNG = None
    ) -> Tensor[Shape[*Batch], NoneTape, np.int64]:
        """Draw one category per row, `(...)`, int64, without a tape.

        Args:
            rng: A seed or a generator; None for that of the innermost `with tapegrad.random(seed)`.

        Source:
            Gumbel, Statistical theory of extreme values, 1954: the category with the largest `logits - ln(-ln u)`.
        """
        given: Any = self.logits.detach()
        # In half precision, u would be rounded to 1, and the category drawn in any case.
        logits = given.astype(np.float32) if given.dtype.itemsize == 2 else given
        u = clamp(uniform_like(logits, rng=rng), min=float(np.finfo(logits.dtype).tiny))
        found: Tensor[Any, NoneTape, np.int64] = argmax(logits - log(-log(u)), -1)
        return found

    @public_api
    def log_prob(
        self: Categorical[Shape[*Batch, C], T, Float], value: Tensor[Shape[*Batch], Any, np.integer[Any]]
    ) -> Tensor[Shape[*Batch], T, Float]:
        """Compute the logarithm of the probability of one category per row, `(...)`.

        Args:
            value: Ints from 0 to C - 1, `(...)`.

        Raises:
            ShapeError: There is not one category per row.
            DTypeError: The categories are not ints.
            IndexError: A category is negative or not below C.
        """
        call = "Categorical.log_prob"
        _tensor(call, "value", value)
        _same_shape(call, "value", value, self.logits.shape[:-1])
        if value.dtype.kind not in "iu":
            raise DTypeError(messages.wrong_dtype(call, "value", str(value.dtype), "integer"))
        _in_range(value, self.logits)
        logarithms: Tensor[Any, T, Float] = -cross_entropy(self.logits, value, reduction="none")
        return logarithms

    @public_api
    def entropy(self: Categorical[Shape[*Batch, C], T, Float]) -> Tensor[Shape[*Batch], T, Float]:
        """Compute the entropy of each distribution, `(...)`, in nats."""
        log_p: Tensor[Any, T, Float] = log_softmax(self.logits)
        total: Tensor[Any, T, Float] = (exp(log_p) * -_finite(log_p)).sum(-1)
        return total

    @public_api
    def kl(
        self: Categorical[Shape[*Batch, C], T, Float], other: Categorical[Shape[*Batch, C], T2, Float]
    ) -> Tensor[Shape[*Batch], Merge[T, T2], Float]:
        """Compute the Kullback-Leibler divergence from `other` to this distribution, `(...)`, in nats.

        It is infinite where a category that `other` excludes is possible here.
        """
        _alike("Categorical.kl", self.logits, other.logits)
        log_p: Any = log_softmax(self.logits)
        p = exp(log_p)
        difference: Any = where(p > 0, _finite(log_p) - log_softmax(other.logits), 0.0)
        return (p * difference).sum(-1)  # type: ignore[no-any-return]  # of Any

    @override
    def __repr__(self) -> str:
        return f"Categorical(logits={show(self.logits.shape)})"


class Bernoulli(Generic[S, T, Float]):
    """Distribution of 0 and 1.

        p = σ(x)

    Args:
        logits: Logits in nats, any shape, a float dtype: one distribution per element.

    Attributes:
        logits: The logits, with their tape.

    Raises:
        DTypeError: The logits are not floats.

    Examples:
        >>> coin = tg.distributions.Bernoulli(tg.tensor([0.0, 3.0]))
        >>> coin.sample(rng=0).tolist()
        [0.0, 1.0]
        >>> np.round(coin.log_prob(tg.tensor([1.0, 1.0])).numpy().astype(float), 3).tolist()
        [-0.693, -0.049]
    """

    logits: Tensor[S, T, Float]

    @public_api
    def __init__(self, logits: Tensor[S, T, Float]) -> None:
        _floats("Bernoulli", logits=logits)
        self.logits = logits

    @public_api
    def sample(self, *, rng: RNG = None) -> Tensor[S, NoneTape, Float]:
        """Draw 0 or 1 for each element, in the dtype of the logits, without a tape.

        Args:
            rng: A seed or a generator; None for that of the innermost `with tapegrad.random(seed)`.
        """
        logits: Any = self.logits.detach()
        drawn: Tensor[S, NoneTape, Float] = less(uniform_like(logits, rng=rng), sigmoid(logits)).astype(logits.dtype)
        return drawn

    @public_api
    def log_prob(self, value: Tensor[S, T2, Float]) -> Tensor[S, Merge[T, T2], Float]:
        """Compute the logarithm of the probability of each element of `value`, which are 0 or 1.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ.
        """
        _alike("Bernoulli.log_prob", self.logits, value, "value")
        losses: Any = bce_with_logits(self.logits, value, reduction="none")
        return -losses  # type: ignore[no-any-return]  # of Any

    @public_api
    def entropy(self) -> Tensor[S, T, Float]:
        """Compute the entropy of each distribution, in nats."""
        losses: Any = bce_with_logits(self.logits, sigmoid(self.logits), reduction="none")
        return losses  # type: ignore[no-any-return]  # of Any

    @public_api
    def kl(self, other: Bernoulli[S, T2, Float]) -> Tensor[S, Merge[T, T2], Float]:
        """Compute the Kullback-Leibler divergence from `other` to this distribution, in nats."""
        _alike("Bernoulli.kl", self.logits, other.logits)
        p: Any = sigmoid(self.logits)
        crossed: Any = bce_with_logits(other.logits, p, reduction="none")
        return crossed - bce_with_logits(self.logits, p, reduction="none")  # type: ignore[no-any-return]  # of Any

    @override
    def __repr__(self) -> str:
        return f"Bernoulli(logits={show(self.logits.shape)})"


class Normal(Generic[S, T, Float]):
    """Normal distribution.

        p(x) = (1 / (σ √(2 π))) e^(-(1/2) ((x - μ) / σ)²)

    Args:
        mean: The mean μ, any shape, a float dtype: one distribution per element.
        std: The standard deviation σ, the same shape and dtype, above 0.

    Attributes:
        mean: The mean, with its tape.
        std: The standard deviation, with its tape.

    Raises:
        ShapeError: The shapes differ.
        DTypeError: The dtypes differ, or are not float.
        ValueError: A standard deviation is not above 0.

    Examples:
        >>> heights = tg.distributions.Normal(tg.tensor([0.0, 1.0]), tg.tensor([1.0, 2.0]))
        >>> np.round(heights.log_prob(tg.tensor([0.0, 3.0])).numpy().astype(float), 3).tolist()
        [-0.919, -2.112]
        >>> np.round(heights.entropy().numpy().astype(float), 3).tolist()
        [1.419, 2.112]
        >>> heights.sample(rng=0).shape
        (2,)
    """

    mean: Tensor[S, T, Float]
    std: Tensor[S, T, Float]

    @public_api
    def __init__(self, mean: Tensor[S, T, Float], std: Tensor[S, T, Float]) -> None:
        _floats("Normal", mean=mean, std=std)
        if mean.shape != std.shape:
            message = f"Normal: S is {show(mean.shape)} in mean but {show(std.shape)} in std"
            raise ShapeError(message)
        if mean.dtype != std.dtype:
            raise DTypeError(messages.mixed_dtypes("Normal", str(mean.dtype), "mean", str(std.dtype), "std"))
        values = known(std.detach())
        if values is not None and not (values > 0).all():
            index = tuple(int(axis[0]) for axis in np.argwhere(~(values > 0)).T)
            at = f" at index {show(index)}" if index else ""
            message = f"Normal: std is {values[index]}{at} but must be above 0"
            raise ValueError(message)
        self.mean, self.std = mean, std

    @public_api
    def sample(self, *, rng: RNG = None) -> Tensor[S, NoneTape, Float]:
        """Draw one number per distribution, without a tape.

        Args:
            rng: A seed or a generator; None for that of the innermost `with tapegrad.random(seed)`.
        """
        mean: Any = self.mean.detach()
        drawn: Tensor[S, NoneTape, Float] = mean + self.std.detach() * normal_like(mean, rng=rng)
        return drawn

    @public_api
    def rsample(self, *, rng: RNG = None) -> Tensor[S, T, Float]:
        """Draw as `sample` does, with the gradient by the mean and the standard deviation (reparametrization).

        Args:
            rng: A seed or a generator; None for that of the innermost `with tapegrad.random(seed)`.
        """
        noise: Any = normal_like(self.mean.detach(), rng=rng)
        drawn: Any = self.mean + self.std * noise
        return drawn  # type: ignore[no-any-return]  # of Any

    @public_api
    def log_prob(self, value: Tensor[S, T2, Float]) -> Tensor[S, Merge[T, T2], Float]:
        """Compute the logarithm of the density at each element of `value`.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ.
        """
        _alike("Normal.log_prob", self.mean, value, "value")
        z: Any = (value - self.mean) / self.std
        return -0.5 * square(z) - log(self.std) - _HALF_LOG_TAU

    @public_api
    def entropy(self) -> Tensor[S, T, Float]:
        """Compute the entropy of each distribution, in nats."""
        total: Any = log(self.std) + (0.5 + _HALF_LOG_TAU)
        return total  # type: ignore[no-any-return]  # of Any

    @public_api
    def kl(self, other: Normal[S, T2, Float]) -> Tensor[S, Merge[T, T2], Float]:
        """Compute the Kullback-Leibler divergence from `other` to this distribution, in nats."""
        _alike("Normal.kl", self.mean, other.mean)
        ratio: Any = square(self.std / other.std)
        distance: Any = square((self.mean - other.mean) / other.std)
        return 0.5 * (ratio + distance - 1.0 - log(ratio))  # type: ignore[no-any-return]  # of Any

    @override
    def __repr__(self) -> str:
        return f"Normal(mean={show(self.mean.shape)})"


def _floats(call: str, **given: Tensor[Any, Any, Any]) -> None:
    for name, x in given.items():
        _tensor(call, name, x)
        if not x.is_float:
            raise DTypeError(messages.wrong_dtype(call, name, str(x.dtype), "floating"))


def _alike(call: str, x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any], name: str = "other") -> None:
    """Reject a tensor of another shape or dtype than `x`."""
    _tensor(call, name, y)
    _same_shape(call, name, y, x.shape)
    if y.dtype != x.dtype:
        raise DTypeError(messages.wrong_dtype(call, name, str(y.dtype), str(x.dtype)))


def _same_shape(call: str, name: str, x: Tensor[Any, Any, Any], shape: tuple[int, ...]) -> None:
    if x.ndim != len(shape):
        raise ShapeError(messages.wrong_rank(call, name, x.shape, shape))
    for axis, (n, m) in enumerate(zip(x.shape, shape, strict=True)):
        if n != m:
            raise ShapeError(messages.wrong_size(call, name, x.shape, shape, axis))


def _tensor(call: str, name: str, x: object) -> None:
    try:
        tensor_only(x, name)
    except DTypeError as error:
        message = f"{call}: {error}"
        raise DTypeError(message) from None


def _in_range(value: Tensor[Any, Any, Any], logits: Tensor[Any, Any, Any]) -> None:
    """Reject an int that is no category, where the numbers are known."""
    values, count = known(value), logits.shape[-1]
    outside = None if values is None else values[(values < 0) | (values >= count)]
    if outside is not None and outside.size:
        shape = show(logits.shape)
        message = (
            f"Categorical.log_prob: value {outside.flat[0]} is not one of the {count} categories of logits {shape}"
        )
        raise IndexError(message)


def _finite(x: Any) -> Any:
    """Return logarithms of which that of 0 is a large negative number, so that times 0 it is 0 and not NaN."""
    return clamp(x, min=float(np.finfo(x.dtype).min))

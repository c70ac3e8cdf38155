"""Distributions: samples and log-probabilities have the shape of the parameters, or of their rows."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn
from tapegrad.distributions import Bernoulli, Categorical, Normal

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 5))


def accept_categories() -> None:
    p = Categorical(x.trace())
    assert_type(p, Categorical[Shape[L[2], L[5]], OwnedTape])
    assert_type(p.sample(rng=0), Tensor[Shape[L[2]], NoneTape, np.int64])
    assert_type(p.log_prob(p.sample(rng=0)), Tensor[Shape[L[2]], OwnedTape])
    assert_type(p.entropy(), Tensor[Shape[L[2]], OwnedTape])
    assert_type(p.kl(Categorical(x)), Tensor[Shape[L[2]], OwnedTape])
    assert_type(Categorical(x).kl(p), Tensor[Shape[L[2]], OwnedTape])
    assert_type(Categorical(tg.ones(5)).sample(rng=0), Tensor[tuple[()], NoneTape, np.int64])


def accept_coins() -> None:
    p = Bernoulli(x.trace())
    assert_type(p.sample(rng=0), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(p.log_prob(x), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(p.entropy().mean(), Tensor[tuple[()], OwnedTape])
    assert_type(p.kl(Bernoulli(x)), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_normal_numbers() -> None:
    p = Normal(x, x)
    assert_type(p.sample(rng=0), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(Normal(x.trace(), x).rsample(rng=0), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(p.log_prob(x.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(p.log_prob(x), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(p.kl(Normal(x, x.trace())), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_named_sizes() -> None:
    def surprise(a: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[N], OwnedTape]:
        policy = Categorical(a)
        return policy.entropy() - policy.log_prob(policy.sample(rng=0))

    assert_type(surprise(x.trace()), Tensor[Shape[L[2]], OwnedTape])


def reject_a_value_for_another_number_of_rows() -> None:
    Categorical(x).log_prob(tg.tensor([1, 2, 3]))  # E: Categorical.log_prob: value is (3,) but (2,) is expected: axis 0 is 3, not 2 [tapegrad-shape]


def reject_a_category_per_column() -> None:
    Categorical(x).log_prob(tg.tensor([[1], [2]]))  # E: Categorical.log_prob: value is (2, 1) but (2,) is expected: rank 2, not 1 [tapegrad-shape]


def reject_categories_that_are_floats() -> None:
    Categorical(x).log_prob(tg.ones(2))  # E: Categorical.log_prob: value is float32 but integer is expected [tapegrad-dtype]


def reject_logits_that_are_ints() -> None:
    Bernoulli(tg.tensor([1, 2]))  # E: Bernoulli: logits is int64 but floating is expected [tapegrad-dtype]


def reject_truths_for_numbers() -> None:
    Bernoulli(x).log_prob(x > 0)  # E: Bernoulli.log_prob: value is bool but float32 is expected [tapegrad-dtype]


def reject_a_deviation_of_another_shape() -> None:
    Normal(x, tg.ones(5))  # E: Normal: S is (2, 5) in mean but (5,) in std [tapegrad-shape]


def reject_a_number_of_another_shape() -> None:
    Normal(x, x).log_prob(tg.ones(5))  # E: Normal.log_prob: value is (5,) but (2, 5) is expected: rank 1, not 2 [tapegrad-shape]


def reject_the_divergence_from_other_categories() -> None:
    Categorical(x).kl(Categorical(tg.ones((2, 3))))  # E: Categorical.kl: other is (2, 3) but (2, 5) is expected: axis 1 is 3, not 5 [tapegrad-shape]


def reject_the_divergence_from_one_distribution_for_all() -> None:
    row = tg.ones((5,))
    Normal(x, x).kl(Normal(row, row))  # E: Normal.kl: other is (5,) but (2, 5) is expected: rank 1, not 2 [tapegrad-shape]


def reject_the_divergence_from_another_dtype() -> None:
    Bernoulli(x).kl(Bernoulli(x.astype(np.float64)))  # E: Bernoulli.kl: other is float64 but float32 is expected [tapegrad-dtype]


def reject_the_divergence_from_distributions_of_other_names() -> None:
    def divergence(p: Bernoulli[Shape[N, M], NoneTape], q: Bernoulli[Shape[M, N], NoneTape]) -> None:
        assert_type(p.kl(p), Tensor[Shape[N, M], NoneTape])
        p.kl(q)  # E(mypy): Bernoulli.kl: other is (M, N) but (N, M) is expected: axis 0 is M, not N [tapegrad-shape]

    divergence(Bernoulli(tg.ones((3, 3))), Bernoulli(tg.ones((3, 3))))


class Actor(nn.Module):
    """A model that returns a distribution, of which the annotation says nothing more."""

    def __init__(self, width: int) -> None:
        self.head = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Categorical:
        return Categorical(self.head(x))


def loss(distribution: Categorical, actions: Tensor[Any, Any, np.int64]) -> Tensor:
    return -distribution.log_prob(actions).mean()


def accept_a_distribution_that_a_model_returns() -> None:
    distribution = Actor(4)(tg.ones((3, 4)).trace())
    assert_type(distribution.logits, Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(loss(distribution, tg.zeros((3,), np.int64)), Tensor[Shape[()], OwnedTape])


def reject_actions_of_another_length() -> None:
    Actor(4)(tg.ones((3, 4))).log_prob(tg.zeros((4,), np.int64))  # E: Categorical.log_prob: value is (4,) but (3,) is expected: axis 0 is 4, not 3


def reject_a_distribution_without_a_tape() -> None:
    loss(Actor(4)(tg.ones((3, 4))), tg.zeros((3,), np.int64)).backward()  # E: backward: the tensor has no tape; trace an input first

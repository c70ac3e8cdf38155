"""Second derivatives against JAX: Hessians and Hessian-vector products, which JAX computes forward over reverse.

`make oracle` installs jax; without it these tests are skipped. A line of FUNCTIONS is one function of a (3, 3) matrix,
in tapegrad and in JAX; the sum of its squares, each with a different weight, is differentiated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.curvature import hessian, hvp
from tapegrad.tensors import node

jax: Any = pytest.importorskip("jax", reason="make oracle installs it")
jnp, jnn, lax = jax.numpy, jax.nn, jax.lax

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
A, COLUMN = RNG.normal(size=(3, 5)), RNG.normal(size=3)
KERNELS: Any = node(RNG.normal(size=(2, 1, 2, 2)))


def normed(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * COLUMN + COLUMN


def attended(x: Any) -> Any:
    return jnn.softmax(x @ x.T / 3**0.5) @ x


def correlated(x: Any) -> Any:
    return lax.conv_general_dilated(x[None, None], KERNELS.numpy(), (1, 1), [(1, 0), (0, 1)])


def cells(x: Any) -> Any:
    h = jnp.zeros(3)
    for t in range(3):
        h = jnp.tanh(x[t] @ X + COLUMN + h @ V + COLUMN)
    return h


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "acosh": (lambda x: ops.acosh(x * x + 1.5), lambda x: jnp.arccosh(x * x + 1.5)),
    "asin": (lambda x: ops.asin(x / 4.0), lambda x: jnp.arcsin(x / 4)),
    "atan": (ops.atan, jnp.arctan),
    "atan2": (lambda x: ops.atan2(x, COLUMN), lambda x: jnp.arctan2(x, COLUMN)),
    "cbrt": (lambda x: ops.cbrt(x * x + 1.0), lambda x: jnp.cbrt(x * x + 1)),
    "conv2d": (lambda x: ops.conv2d(ops.pad(x[None, None], ((0, 0), (0, 0), (1, 0), (0, 1))), KERNELS), correlated),
    "cos": (ops.cos, jnp.cos),
    "cosh": (ops.cosh, jnp.cosh),
    "cumprod": (lambda x: ops.cumprod(x, axis=1), lambda x: jnp.cumprod(x, axis=1)),
    "cumsum": (lambda x: ops.cumsum(x, axis=0), lambda x: jnp.cumsum(x, axis=0)),
    "det": (ops.det, jnp.linalg.det),
    "div": (lambda x: COLUMN / (x * x + 1.0), lambda x: COLUMN / (x * x + 1)),
    "einsum": (lambda x: ops.einsum("ij,jk,li->lk", x, x, x), lambda x: jnp.einsum("ij,jk,li->lk", x, x, x)),
    "elu": (ops.elu, jnn.elu),
    "erf": (ops.erf, jax.scipy.special.erf),
    "exp": (ops.exp, jnp.exp),
    "expm1": (ops.expm1, jnp.expm1),
    "gelu": (ops.gelu, lambda x: jnn.gelu(x, approximate=False)),
    "gelu by tanh": (lambda x: ops.gelu(x, approximate="tanh"), jnn.gelu),
    "getitem": (lambda x: x[1:, ::2], lambda x: x[1:, ::2]),
    "hypot": (lambda x: ops.hypot(x, COLUMN), lambda x: jnp.hypot(x, COLUMN)),
    "inv": (ops.inv, jnp.linalg.inv),
    "layer_norm": (lambda x: ops.layer_norm(x, node(COLUMN), node(COLUMN)), normed),
    "log": (lambda x: ops.log(x * x + 1.0), lambda x: jnp.log(x * x + 1)),
    "log1p": (lambda x: ops.log1p(x * x), lambda x: jnp.log1p(x * x)),
    "log_sigmoid": (ops.log_sigmoid, jnn.log_sigmoid),
    "log_softmax": (ops.log_softmax, jnn.log_softmax),
    "logaddexp": (lambda x: ops.logaddexp(x, COLUMN), lambda x: jnp.logaddexp(x, COLUMN)),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=0), lambda x: jnn.logsumexp(x, axis=0)),
    "matmul": (lambda x: x @ A, lambda x: x @ A),
    "max": (lambda x: ops.max(x, axis=1), lambda x: x.max(1)),
    "mish": (ops.mish, jnn.mish),
    "pow": (lambda x: ops.pow(x * x + 1.0, x), lambda x: (x * x + 1) ** x),
    "prod": (lambda x: ops.prod(x, axis=0), lambda x: x.prod(0)),
    "rnn": (lambda x: ops.rnn(x, *map(node, (np.zeros(3), X, V, COLUMN, COLUMN)))[1], cells),
    "scaled_dot_product_attention": (lambda x: ops.scaled_dot_product_attention(x, x, x), attended),
    "sigmoid": (ops.sigmoid, jnn.sigmoid),
    "silu": (ops.silu, jnn.silu),
    "sin": (ops.sin, jnp.sin),
    "sinh": (ops.sinh, jnp.sinh),
    "softmax": (lambda x: ops.softmax(x, axis=0), lambda x: jnn.softmax(x, axis=0)),
    "softplus": (ops.softplus, jnn.softplus),
    "solve": (lambda x: ops.solve(x, x.T @ x), lambda x: jnp.linalg.solve(x, x.T @ x)),
    "sort": (lambda x: ops.sort(x, axis=0), lambda x: jnp.sort(x, axis=0)),
    "sqrt": (lambda x: ops.sqrt(x * x + 1.0), lambda x: jnp.sqrt(x * x + 1)),
    "std": (lambda x: ops.std(x, axis=1), lambda x: x.std(1)),
    "take": (lambda x: ops.take(x, ops.tensor([2, 0, 2])), lambda x: x[jnp.array([2, 0, 2])]),
    "tan": (ops.tan, jnp.tan),
    "tanh": (ops.tanh, jnp.tanh),
    "var": (lambda x: ops.var(x, axis=0), lambda x: x.var(0)),
    "where": (lambda x: ops.where(x > 0, x * x, ops.exp(x)), lambda x: jnp.where(x > 0, x * x, jnp.exp(x))),
}


def energies(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    ours, theirs = FUNCTIONS[name]
    shape = ours(node(X)).shape
    weights = np.random.default_rng(1).normal(size=shape)
    return lambda x: (ours(x) * ours(x) * weights).sum(), lambda x: (theirs(x) ** 2 * weights).sum()


@pytest.fixture(autouse=True)
def of_64_bits() -> Iterator[None]:
    with jax.enable_x64(True):  # noqa: FBT003  # JAX's own signature
        yield


@cache
def hessian_of_jax(name: str) -> Any:
    _, theirs = energies(name)
    return np.asarray(jax.jit(jax.hessian(theirs))(X))  # compiled once, not primitive by primitive


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians_equal_jax(name: str) -> None:
    ours, _ = energies(name)

    found = hessian(ours, node(X))

    np.testing.assert_allclose(found.numpy(), hessian_of_jax(name), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessian_vector_products_equal_jax(name: str) -> None:
    ours, _ = energies(name)

    found = hvp(ours, node(X), node(V))

    expected = np.einsum("ijkl,kl->ij", hessian_of_jax(name), V)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8, atol=1e-9)

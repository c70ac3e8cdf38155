"""The GPT of `benchmarks.gpt` in equinox and optax, as equinox's own examples write a training step."""

from collections.abc import Callable
from importlib import import_module
from itertools import cycle
from typing import Any

from benchmarks.rivals import gpt_data
from benchmarks.rivals.gpt_data import Size

# Any: the tree's environment has neither equinox nor optax.
jax: Any = import_module("jax")
eqx: Any = import_module("equinox")
optax: Any = import_module("optax")
jnp: Any = jax.numpy


class Block(eqx.Module):  # type: ignore[misc]  # reason: a class of type Any, see above
    """A transformer block with the norms before each branch."""

    attention: Any
    attention_norm: Any
    rise: Any
    fall: Any
    feed_forward_norm: Any

    def __init__(self, size: Size, given: dict[str, Any], path: str) -> None:
        d, key = size.width, jax.random.key(0)
        attention = eqx.nn.MultiheadAttention(
            size.heads,
            d,
            use_query_bias=True,
            use_key_bias=True,
            use_value_bias=True,
            use_output_bias=True,
            key=key,
        )
        for own, its in (("query", "query"), ("key", "key"), ("value", "value"), ("out", "output")):
            layer = _layer(given, f"{path}.attention.{own}")
            attention = eqx.tree_at(lambda one, its=its: getattr(one, f"{its}_proj"), attention, layer)
        self.attention = attention
        self.attention_norm = eqx.nn.LayerNorm(d)
        self.rise = _layer(given, f"{path}.feed_forward.rise")
        self.fall = _layer(given, f"{path}.feed_forward.fall")
        self.feed_forward_norm = eqx.nn.LayerNorm(d)

    def __call__(self, x: Any, mask: Any) -> Any:
        """Compute a block of one text, `(tokens, width)`."""
        h = jax.vmap(self.attention_norm)(x)
        x = x + self.attention(h, h, h, mask)
        h = jax.vmap(self.rise)(jax.vmap(self.feed_forward_norm)(x))
        return x + jax.vmap(self.fall)(jax.nn.relu(h))


class GPT(eqx.Module):  # type: ignore[misc]  # reason: a class of type Any, see above
    """Give each token of a text a score for each token that may come next."""

    tokens: Any
    positions: Any
    blocks: list[Block]
    norm: Any
    scores: Any

    def __init__(self, size: Size, *, is_rounded: bool) -> None:
        given = gpt_data.parameters(size, is_rounded=is_rounded)
        self.tokens = eqx.nn.Embedding(weight=jnp.asarray(given["tokens.weight"]))
        self.positions = eqx.nn.Embedding(weight=jnp.asarray(given["positions.weight"]))
        self.blocks = [Block(size, given, f"blocks.layers.{index}") for index in range(size.layers)]
        self.norm = eqx.nn.LayerNorm(size.width)
        self.scores = _layer(given, "scores")

    def __call__(self, x: Any) -> Any:
        """Return scores, `(tokens, vocabulary)`, for one text."""
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        h = jax.vmap(self.tokens)(x) + self.positions.weight[: x.shape[0]]
        for block in self.blocks:
            h = block(h, mask)
        return jax.vmap(self.scores)(jax.vmap(self.norm)(h))


def _layer(given: dict[str, Any], path: str) -> Any:
    weight, bias = given[f"{path}.weight"], given[f"{path}.bias"]
    layer = eqx.nn.Linear(*weight.shape, key=jax.random.key(0))
    new = (jnp.asarray(weight.T), jnp.asarray(bias))
    return eqx.tree_at(lambda one: (one.weight, one.bias), layer, new)


def program(size: Size, *, is_rounded: bool) -> Callable[[], float]:
    """Return a training step."""
    optimizer = optax.adam(gpt_data.LR)

    @eqx.filter_jit(donate="all-except-first")  # type: ignore[untyped-decorator]  # reason: equinox is Any here
    def step(batch: Any, model: Any, state: Any) -> Any:
        def loss_of(model: Any) -> Any:
            x, y = batch
            return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()

        loss, grads = eqx.filter_value_and_grad(loss_of)(model)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, loss

    batches = cycle([(jnp.asarray(one[:, :-1]), jnp.asarray(one[:, 1:])) for one in gpt_data.texts(size)])
    model = GPT(size, is_rounded=is_rounded)
    held = [model, optimizer.init(eqx.filter(model, eqx.is_array))]

    def run() -> float:
        held[0], held[1], loss = step(next(batches), held[0], held[1])
        return float(loss)

    return run

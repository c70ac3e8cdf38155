"""MultiHeadAttention and the transformers: results, masks, and training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ShapeError
from tapegrad.io import load, save
from tapegrad.nn import (
    Embedding,
    FeedForward,
    Linear,
    Module,
    MultiHeadAttention,
    Repeated,
    Sequential,
    Transformer,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from tapegrad.ops import cross_entropy, multi_head_attention, normal, ones, relu, tensor
from tapegrad.optim import Adam

X, CONTEXT = normal((2, 7, 12), rng=0), normal((2, 5, 12), rng=1)


def seen(model: Any, x: Any, row: int) -> Any:
    """Return which rows of the argument the row of a result depends on."""
    # The sum of a normalized row, or of its squares, would hang on nothing.
    dx = (model(x.trace())[:, row] ** 3).sum().backward(wrt=x)[x].numpy()
    return np.abs(dx).max((0, 2)) > 1e-12


def test_multi_head_attention_is_attention_between_projections() -> None:
    layer, mask = MultiHeadAttention(12, 4, rng=0), tensor(np.random.default_rng(0).random((7, 5)) < 0.5)

    y = layer(X, CONTEXT, mask=mask)

    q, k, v = layer.query(X), layer.key(CONTEXT), layer.value(CONTEXT)
    assert y.tolist() == layer.out(multi_head_attention(q, k, v, heads=4, mask=mask)).tolist()
    assert layer(X, X, causal=True).tolist() != layer(X, X).tolist()
    assert len(MultiHeadAttention(12, 4, bias=False).parameters()) == 4


@pytest.mark.parametrize("taped", ["rows", "context"])
@pytest.mark.parametrize("kind", [MultiHeadAttention, TransformerDecoderBlock, Transformer])
def test_all_parameters_have_gradients_for_each_traced_operand(kind: Any, taped: str) -> None:
    sizes = {MultiHeadAttention: (), TransformerDecoderBlock: (20,), Transformer: (20, 2, 2)}[kind]
    model = kind(12, 4, *sizes, rng=0)
    x, context = (X.trace(), CONTEXT) if taped == "rows" else (X, CONTEXT.trace())

    y = model(context, x) if kind is Transformer else model(x, context)
    grads = (y**3).sum().backward(wrt=model)

    assert all(np.abs(grads[weight].numpy()).max() > 0 for weight in model.parameters().values())


def test_heads_that_do_not_divide_the_width_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^MultiHeadAttention: 5 heads do not divide the width 12$"):
        MultiHeadAttention(12, 5)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"5 heads do not divide the width 12$"):
        TransformerEncoderBlock(12, 5, 48)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"^MultiHeadAttention: Heads is 0 in heads but a named size is at least 1$"):
        MultiHeadAttention(12, 0)  # type: ignore[tapegrad-shape]  # under test


def test_a_mask_of_a_wrong_shape_is_rejected() -> None:
    mask = ones((7, 5), np.bool_)

    with pytest.raises(ShapeError, match=r"mask \(7, 5\) does not broadcast to the scores, \(2, 7, 7\)$"):
        TransformerEncoderBlock(12, 4, 48)(X, mask=mask)  # type: ignore[tapegrad-shape]  # under test


def test_feed_forward_is_two_linear_layers() -> None:
    layer = FeedForward(12, 20, rng=0)

    y = layer.fall(relu(layer.rise(X)))

    assert layer(X).tolist() == y.tolist()
    assert [one.shape for one in layer.parameters().values()] == [(12, 20), (20,), (20, 12), (12,)]


@pytest.mark.parametrize("causal", [False, True])
def test_rows_depend_on_later_rows_unless_causal(causal: bool) -> None:  # noqa: FBT001  # a case
    encoder = TransformerEncoderBlock(12, 4, 48, causal=causal, rng=0)
    decoder = TransformerDecoderBlock(12, 4, 48, causal=causal, rng=0)

    for model in (encoder, lambda x: decoder(x, CONTEXT)):
        assert seen(model, X, 2).tolist() == [True] * 3 + [not causal] * 4
    assert seen(lambda memory: decoder(X, memory), CONTEXT, 2).all()


def test_masks_hide_rows() -> None:
    model = Transformer(12, 4, 20, 2, 2, rng=0)
    first, padding = np.arange(5) < 3, np.ones((2, 1, 5), bool)
    padding[:, :, 3:] = False

    hidden = seen(lambda s: model(s, X, source_mask=tensor(padding), memory_mask=tensor(first)), CONTEXT, 6)

    assert hidden.tolist() == [True, True, True, False, False]
    only_itself = seen(lambda t: model(CONTEXT, t, target_mask=tensor(np.eye(7, dtype=bool))), X, 4)
    assert only_itself.tolist() == [row == 4 for row in range(7)]


def test_a_transformer_is_its_encoder_and_decoder() -> None:
    model = Transformer(12, 4, 20, 1, 2, rng=0)

    assert model(CONTEXT, X).tolist() == model.decode(X, model.encode(CONTEXT)).tolist()
    assert model(CONTEXT[0], X[0]).shape == (7, 12)


@pytest.mark.parametrize(("name", "function"), [("relu", tg.relu), ("gelu", tg.gelu), ("silu", tg.silu)])
def test_the_activation_of_a_feed_forward_network_is_an_option(name: Any, function: Any) -> None:
    layer = FeedForward(12, 20, activation=name, rng=0)
    model = Transformer(12, 4, 20, 1, 1, activation=name, rng=0)

    assert layer(X).tolist() == layer.fall(function(layer.rise(X))).tolist()
    found = [module.activation for module in model.modules().values() if isinstance(module, FeedForward)]
    assert found == [name, name]


def test_the_activation_may_be_a_function() -> None:
    layer = FeedForward(12, 20, activation=tg.mish, rng=0)
    model = Transformer(12, 4, 20, 1, 1, activation=tg.gelu, rng=0)

    assert layer(X).tolist() == layer.fall(tg.mish(layer.rise(X))).tolist()
    assert model(CONTEXT, X).tolist() == Transformer(12, 4, 20, 1, 1, activation="gelu", rng=0)(CONTEXT, X).tolist()
    wrong: Any = FeedForward(12, 20, activation=tg.sum, rng=0)
    with pytest.raises(ShapeError, match=r"^wrong FeedForward\(12, 20\): x is \(\) but \(..., 20\) is expected"):
        wrong(X)


def test_an_unknown_activation_is_rejected() -> None:
    unknown: Any = "tanh"
    message = "activation is 'tanh' but 'relu' or 'gelu' or 'silu' or a Module or a function is expected$"
    with pytest.raises(ValueError, match=f"^FeedForward: {message}"):
        FeedForward(12, 20, activation=unknown)
    with pytest.raises(ValueError, match=f"^Transformer: {message}"):
        Transformer(12, 4, 20, 1, 1, activation=unknown)


def test_norms_are_after_the_sums_on_request() -> None:
    encoder = TransformerEncoderBlock(12, 4, 20, norm_first=False, rng=0)
    decoder = TransformerDecoderBlock(12, 4, 20, norm_first=False, rng=0)
    model = Transformer(12, 4, 20, 1, 1, norm_first=False, rng=0)
    for norm in (encoder.attention_norm, encoder.feed_forward_norm, decoder.lookup_norm, decoder.feed_forward_norm):
        norm.weight.assign(normal((12,), mean=1, std=0.5, rng=2))

    h = encoder.attention_norm(X + encoder.attention(X, X))
    assert encoder(X).tolist() == encoder.feed_forward_norm(h + encoder.feed_forward(h)).tolist()

    g = decoder.attention_norm(X + decoder.attention(X, X, causal=True))
    h = decoder.lookup_norm(g + decoder.lookup(g, CONTEXT))
    assert decoder(X, CONTEXT).tolist() == decoder.feed_forward_norm(h + decoder.feed_forward(h)).tolist()

    assert [layer.norm_first for layer in (model.encoder.layers[0], model.decoder.layers[0])] == [False, False]


def test_dropout_is_applied_with_a_tape_only() -> None:
    block = TransformerEncoderBlock(12, 4, 48, dropout=0.5, rng=0)

    assert block(X).tolist() == block(X).tolist()
    assert block(X.trace()).tolist() != block(X.trace()).tolist()


def test_a_stack_of_blocks_learns_to_copy_earlier_tokens() -> None:
    rng = np.random.default_rng(0)
    blocks = Repeated(lambda: TransformerEncoderBlock(16, 2, 32, causal=True, rng=rng), 2)
    model: Any = Sequential(Embedding(5, 16, rng=rng), blocks, Linear(16, 5, rng=rng))
    tokens = tensor(np.resize([0, 3, 1, 4, 2], (4, 10)))
    opt = Adam(model, lr=1e-2)

    for _ in range(60):
        loss = cross_entropy(model(tokens[:, :-1].trace()), tokens[:, 1:])
        opt.step(loss.backward(wrt=model))

    assert loss.item() < 0.1


def test_they_can_be_saved_and_have_a_repr(tmp_path: Path) -> None:
    model, fresh = Transformer(12, 4, 20, 1, 2, dropout=0.1, rng=0), Transformer(12, 4, 20, 1, 2, dropout=0.1, rng=1)

    save(model, tmp_path / "model.npz")
    load(fresh, tmp_path / "model.npz")

    assert fresh(CONTEXT, X).tolist() == model(CONTEXT, X).tolist()
    assert repr(model.encoder[0].attention) == "MultiHeadAttention(12, 4)"
    assert "decoder.layers.1.lookup.query.weight" in model.parameters()
    table = tg.summary(TransformerEncoderBlock(12, 4, 20), ("B", "N", 12))
    assert table.rows[0].output == "(B, N, 12)"


class Tied(Module):
    """Scores tokens with the table that they are looked up in."""

    def __init__(self) -> None:
        self.embed = Embedding(5, 8, rng=0)
        self.mix = Linear(8, 8, rng=1)
        self.table = self.embed.weight

    def forward(self, x: Any) -> Any:
        return self.mix(self.embed(x)) @ self.table.T


def test_a_tied_weight_is_one_parameter_with_one_gradient(tmp_path: Path) -> None:
    model, tokens = Tied(), tensor([0, 3, 1, 4])

    loss = cross_entropy(model(tokens.trace()), tensor([1, 2, 3, 4]))
    grads = loss.backward(wrt=model)

    assert list(model.parameters()) == ["embed.weight", "mix.weight", "mix.bias"]
    assert [path for path, _ in model.paths()] == ["embed.weight", "mix.weight", "mix.bias", "table"]
    assert np.abs(grads[model.table].numpy()).min(1).all()  # row 2 was never looked up, but scored
    opt = Adam(model, lr=0.1)
    opt.step(grads)
    save(model, tmp_path / "model.npz")
    fresh = Tied()
    load(fresh, tmp_path / "model.npz")
    assert fresh.table is fresh.embed.weight
    assert fresh.table.tolist() == model.embed.weight.tolist()

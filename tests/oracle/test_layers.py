"""Layers beside PyTorch 2.13, with the same weights: results, gradients and running statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import nn
from tapegrad.ops import normal, tensor

torch: Any = pytest.importorskip("torch", reason="make oracle installs it")

X, CONTEXT = normal((2, 7, 12), rng=0), normal((2, 5, 12), rng=1)
HALF = np.random.default_rng(0).random((7, 7)) < 0.5


def theirs(x: Any, *, grad: bool = False) -> Any:
    return torch.tensor(np.array(x.numpy())).requires_grad_(grad)


def put(layer: Any, ours: Any) -> None:
    with torch.no_grad():
        layer.weight.copy_(theirs(ours.weight.T))
        layer.bias.copy_(theirs(ours.bias))


def put_attention(layer: Any, ours: Any) -> None:
    parts = [ours.query, ours.key, ours.value]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([theirs(part.weight.T) for part in parts]))
        layer.in_proj_bias.copy_(torch.cat([theirs(part.bias) for part in parts]))
    put(layer.out_proj, ours.out)


def put_block(layer: Any, ours: Any) -> None:
    put_attention(layer.self_attn, ours.attention)
    if hasattr(ours, "lookup"):
        put_attention(layer.multihead_attn, ours.lookup)
    put(layer.linear1, ours.feed_forward.rise)
    put(layer.linear2, ours.feed_forward.fall)


def compare(ours: Any, operands: list[Any], expected: Any, inputs: list[Any]) -> None:
    y = ours(*(x.trace() for x in operands))
    grads = (y * y * y).sum().backward(wrt=operands)
    (expected**3).sum().backward()

    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    for x, x_of_torch in zip(operands, inputs, strict=True):
        np.testing.assert_allclose(grads[x].numpy(), x_of_torch.grad.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_rows_at_one_another(causal: bool) -> None:  # noqa: FBT001  # a case
    layer, torchs = nn.MultiHeadAttention(12, 4, rng=0), torch.nn.MultiheadAttention(12, 4, batch_first=True)
    put_attention(torchs, layer)
    mask = np.tri(7, dtype=bool) if causal else HALF | np.eye(7, dtype=bool)

    x = theirs(X, grad=True)
    expected, _ = torchs(x, x, x, attn_mask=torch.tensor(~mask))

    options: Any = {"causal": True} if causal else {"mask": tensor(mask)}
    compare(lambda x: layer(x, x, **options), [X], expected, [x])


def test_an_encoder_block() -> None:
    layer = nn.TransformerEncoderBlock(12, 4, 20, rng=0)
    torchs = torch.nn.TransformerEncoderLayer(12, 4, 20, dropout=0.0, batch_first=True, norm_first=True)
    put_block(torchs, layer)

    x = theirs(X, grad=True)

    compare(layer, [X], torchs(x), [x])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_whole_transformer() -> None:
    model = nn.Transformer(12, 4, 20, 2, 3, rng=0)
    torchs = torch.nn.Transformer(12, 4, 2, 3, 20, dropout=0.0, batch_first=True, norm_first=True)
    layers = [*torchs.encoder.layers, *torchs.decoder.layers]
    for layer, block in zip(layers, [*model.encoder, *model.decoder], strict=True):
        put_block(layer, block)

    source, target = theirs(CONTEXT, grad=True), theirs(X, grad=True)
    expected = torchs(source, target, tgt_mask=torch.tensor(~np.tri(7, dtype=bool)))

    compare(model, [CONTEXT, X], expected, [source, target])


def test_running_statistics() -> None:
    layer, torchs, images = nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3), normal((4, 3, 5, 7), mean=3, std=2, rng=0)

    for _ in range(3):
        layer(images.trace())
        torchs(theirs(images))

    np.testing.assert_allclose(layer.running_mean.numpy(), torchs.running_mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), torchs.running_var.numpy(), rtol=1e-5)
    expected = torchs.eval()(theirs(images)).detach().numpy()
    np.testing.assert_allclose(layer(images).numpy(), expected, rtol=1e-4, atol=1e-5)

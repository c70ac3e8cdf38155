"""Layers against PyTorch 2.13 with the same weights: results, gradients and running statistics."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import nn
from tapegrad.io import load, save
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
def test_self_attention(causal: bool) -> None:  # noqa: FBT001  # a case
    layer, torchs = nn.MultiHeadAttention(12, 4, rng=0), torch.nn.MultiheadAttention(12, 4, batch_first=True)
    put_attention(torchs, layer)
    mask = np.tri(7, dtype=bool) if causal else HALF | np.eye(7, dtype=bool)

    x = theirs(X, grad=True)
    expected, _ = torchs(x, x, x, attn_mask=torch.tensor(~mask))

    options: Any = {"causal": True} if causal else {"mask": tensor(mask)}
    compare(lambda x: layer(x, x, **options), [X], expected, [x])


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_blocks(norm_first: bool, activation: Any) -> None:  # noqa: FBT001  # a case
    options: Any = {"norm_first": norm_first, "activation": activation}
    encoder = nn.TransformerEncoderBlock(12, 4, 20, rng=0, **options)
    decoder = nn.TransformerDecoderBlock(12, 4, 20, causal=False, rng=0, **options)
    encoder_of_torch = torch.nn.TransformerEncoderLayer(12, 4, 20, dropout=0.0, batch_first=True, **options)
    decoder_of_torch = torch.nn.TransformerDecoderLayer(12, 4, 20, dropout=0.0, batch_first=True, **options)
    put_block(encoder_of_torch, encoder)
    put_block(decoder_of_torch, decoder)

    x = theirs(X, grad=True)
    compare(encoder, [X], encoder_of_torch(x), [x])

    x, memory = theirs(X, grad=True), theirs(CONTEXT, grad=True)
    compare(decoder, [X, CONTEXT], decoder_of_torch(x, memory), [x, memory])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_whole_transformer() -> None:
    model = nn.Transformer(12, 4, 20, 2, 3, rng=0)
    torchs = torch.nn.Transformer(12, 4, 2, 3, 20, dropout=0.0, batch_first=True, norm_first=True)
    layers = [*torchs.encoder.layers, *torchs.decoder.layers]
    for layer, block in zip(layers, [*model.encoder.layers, *model.decoder.layers], strict=True):
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


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("ours", "make", "operands"),
    [
        (nn.MultiHeadAttention(12, 4), lambda: attending(12, 4), [X, CONTEXT]),
        (nn.MultiHeadAttention(12, 4, bias=False), lambda: attending(12, 4, bias=False), [X, CONTEXT]),
        (nn.TransformerEncoderBlock(12, 4, 20), lambda: block("Encoder"), [X]),
        (nn.TransformerDecoderBlock(12, 4, 20, causal=False), lambda: block("Decoder"), [X, CONTEXT]),
        (nn.RNN(12, 5), lambda: torch.nn.RNN(12, 5, batch_first=True), [X]),
        (nn.GRU(12, 5), lambda: torch.nn.GRU(12, 5, batch_first=True), [X]),
        (nn.LSTM(12, 5), lambda: torch.nn.LSTM(12, 5, batch_first=True), [X]),
        (nn.GRU(12, 5, bias=False), lambda: torch.nn.GRU(12, 5, batch_first=True, bias=False), [X]),
        (nn.StackedRNN(12, 5, 2), lambda: torch.nn.RNN(12, 5, 2, batch_first=True), [X]),
        (
            nn.StackedGRU(12, 5, 3, directions=2),
            lambda: torch.nn.GRU(12, 5, 3, batch_first=True, bidirectional=True),
            [X],
        ),
        (
            nn.StackedLSTM(12, 5, 2, directions=2, bias=False),
            lambda: torch.nn.LSTM(12, 5, 2, batch_first=True, bidirectional=True, bias=False),
            [X],
        ),
        (
            nn.Sequential(
                nn.BatchNorm1d(7), nn.Conv1d(7, 4, 3, padding="same"), nn.PReLU(), nn.ConvTranspose1d(4, 6, 3)
            ),
            lambda: in_turn(
                torch.nn.BatchNorm1d(7),
                torch.nn.Conv1d(7, 4, 3, padding="same"),
                torch.nn.PReLU(),
                torch.nn.ConvTranspose1d(4, 6, 3),
            ),
            [X],
        ),
    ],
    ids=[
        "attention",
        "attention without biases",
        "encoder",
        "decoder",
        "rnn",
        "gru",
        "lstm",
        "gru without biases",
        "rnns",
        "grus",
        "lstms",
        "convolutions",
    ],
)
def test_a_file_of_pytorch_is_loaded(tmp_path: Path, ours: Any, make: Any, operands: list[Any]) -> None:
    torchs = make()
    torchs(*map(theirs, operands))  # which moves what is running
    torchs.eval()
    save_file = importlib.import_module("safetensors.torch").save_file
    save_file(torchs.state_dict(), tmp_path / "model.safetensors", {"format": "pt"})  # as Hugging Face writes it

    load(ours, tmp_path / "model.safetensors")

    y, expected = ours(*operands), torchs(*map(theirs, operands))
    y, expected = (one[0] if isinstance(one, tuple) else one for one in (y, expected))
    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)

    save(ours, tmp_path / "ours.safetensors", layout="torch")
    again = make()
    again.load_state_dict(importlib.import_module("safetensors.torch").load_file(tmp_path / "ours.safetensors"))
    for name, value in again.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            np.testing.assert_array_equal(value.numpy(), torchs.state_dict()[name].numpy())


def attending(*sizes: int, **options: Any) -> Any:
    layer = torch.nn.MultiheadAttention(*sizes, batch_first=True, **options)
    forward = layer.forward
    layer.forward = lambda rows, context: forward(rows, context, context)
    return layer


def block(kind: str) -> Any:
    make = getattr(torch.nn, f"Transformer{kind}Layer")
    return make(12, 4, 20, dropout=0.0, batch_first=True, norm_first=True)


def in_turn(*layers: Any) -> Any:
    return torch.nn.Sequential(*layers)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("directions", [1, 2])
def test_stacked_layers_return_their_states(tmp_path: Path, kind: str, directions: int) -> None:
    ours = getattr(nn, f"Stacked{kind}")(12, 5, 3, directions=directions, rng=0)
    torchs = getattr(torch.nn, kind)(12, 5, 3, batch_first=True, bidirectional=directions == 2)
    importlib.import_module("safetensors.torch").save_file(torchs.state_dict(), tmp_path / "model.safetensors")
    load(ours, tmp_path / "model.safetensors", layout="torch")
    states = [normal((3 * directions, 2, 5), rng=seed) for seed in range(2 if kind == "LSTM" else 1)]

    x, begun = theirs(X, grad=True), [theirs(state, grad=True) for state in states]
    y, left = torchs(x, tuple(begun) if kind == "LSTM" else begun[0])
    expected = [y, *(left if kind == "LSTM" else [left])]
    results = ours(X.trace(), *(state.trace() for state in states))
    grads = (results[0] ** 3).sum().backward(wrt=[X, *states])
    (y**3).sum().backward()

    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
    for one, other in zip([X, *states], [x, *begun], strict=True):
        np.testing.assert_allclose(grads[one].numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm"])
def test_norms_over_several_axes_equal_torch(name: str) -> None:
    layer, torchs, x = getattr(nn, name)((3, 5)), getattr(torch.nn, name)((3, 5), eps=1e-5), normal((2, 3, 5), rng=0)
    dy = normal((2, 3, 5), rng=1)
    leaf = theirs(x, grad=True)
    expected = torchs(leaf)
    (expected * theirs(dy)).sum().backward()

    y = layer(x.trace())
    grads = (y * dy).sum().backward(wrt=[x, layer.weight])

    np.testing.assert_allclose(y.numpy(), expected.detach().numpy(), rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(grads[x].numpy(), leaf.grad.numpy(), rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(grads[layer.weight].numpy(), torchs.weight.grad.numpy(), rtol=2e-5, atol=1e-6)

"""PyTorch's layout of a `state_dict`: parameter names, transposed weights and concatenated projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tapegrad.nn import (
    GRU,
    LSTM,
    RNN,
    Linear,
    Module,
    MultiHeadAttention,
    PReLU,
    Repeated,
    Sequential,
    Transformer,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)
from tapegrad.nn.batch_norm import BatchNorm
from tapegrad.nn.module import children
from tapegrad.nn.param import Buffer, Param
from tapegrad.nn.stacked import Stacked
from tapegrad.nn.transformer import FeedForward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.io.formats import Array

Saved: TypeAlias = Param[Any, Any] | Buffer[Any, Any]

# Names of attributes in PyTorch. An empty name means that PyTorch has the children directly in the parent module.
_NAMES: dict[type[Module], dict[str, str]] = {
    FeedForward: {"rise": "linear1", "fall": "linear2"},
    MultiHeadAttention: {"out": "out_proj"},
    Transformer: {
        "encoder": "encoder.layers",
        "decoder": "decoder.layers",
        "encoder_norm": "encoder.norm",
        "decoder_norm": "decoder.norm",
    },
    TransformerDecoderBlock: {
        "attention": "self_attn",
        "lookup": "multihead_attn",
        "feed_forward": "",
        "attention_norm": "norm1",
        "lookup_norm": "norm2",
        "feed_forward_norm": "norm3",
    },
    TransformerEncoderBlock: {
        "attention": "self_attn",
        "feed_forward": "",
        "attention_norm": "norm1",
        "feed_forward_norm": "norm2",
    },
}
_RECURRENT = {"weight_x": "weight_ih", "weight_h": "weight_hh", "bias_x": "bias_ih", "bias_h": "bias_hh"}


class Entry(NamedTuple):
    """An array in a PyTorch file, and the parameters or buffers that are concatenated in it along axis 0."""

    name: str
    tensors: tuple[Saved, ...]
    is_transposed: bool = False
    is_vector: bool = False  # PyTorch has shape (1,) where tapegrad has shape ()

    def array(self) -> Array:
        """Return the array to write to the file."""
        parts: list[Any] = [tensor.data.T if self.is_transposed else tensor.data for tensor in self.tensors]
        return np.stack(parts) if self.is_vector else np.concatenate(parts) if len(parts) > 1 else np.asarray(*parts)

    def restore(self, array: Array) -> None:
        """Replace the values of the tensors by those of an array from a file."""
        parts = np.split(array, len(self.tensors)) if len(self.tensors) > 1 else [array]
        for tensor, part in zip(self.tensors, parts, strict=True):
            values: Any = np.asarray(part.T if self.is_transposed else part, order="C").reshape(tensor.shape)
            tensor.replace(values)


def entries(module: Module) -> list[Entry]:
    """Return the arrays of a PyTorch `state_dict` of the same architecture, with the tensors that each contains.

    A tied parameter is listed under each of its names. A counter that only PyTorch has is listed without tensors.
    """
    return [*_walk(module)]


def _walk(model: Module) -> Iterator[Entry]:
    waiting: list[Entry | tuple[str, tuple[Module, ...]]] = [("", (model,))]  # a stack; a module follows its ancestors
    while waiting:
        following = waiting.pop()
        if isinstance(following, Entry):
            yield following
        else:
            waiting += reversed(_inside(*following))


def _inside(prefix: str, modules: tuple[Module, ...]) -> list[Entry | tuple[str, tuple[Module, ...]]]:
    """Return the arrays and child modules of the last of `modules`; the modules before it are its ancestors."""
    module = modules[-1]
    if isinstance(module, RNN | GRU | LSTM):
        return [*_recurrent(module, prefix, "_l0")]
    if isinstance(module, Stacked):
        levels = [divmod(index, module.directions) for index in range(len(module.layers))]
        ends = [f"_l{level}_reverse" if is_reversed else f"_l{level}" for level, is_reversed in levels]
        return [
            entry for layer, end in zip(module.layers, ends, strict=True) for entry in _recurrent(layer, prefix, end)
        ]
    found: list[Entry | tuple[str, tuple[Module, ...]]] = []
    joint: tuple[str, ...] = ()
    if isinstance(module, MultiHeadAttention):
        joint = ("query", "key", "value")
        found += _projections(module, prefix)
    if isinstance(module, BatchNorm):
        found.append(Entry(f"{prefix}num_batches_tracked", ()))
    for path, child in children(module):
        name = _name(module, path)
        if isinstance(child, Param | Buffer):
            is_transposed = isinstance(module, Linear) and path == "weight"
            found.append(Entry(prefix + name, (child,), is_transposed, is_vector=isinstance(module, PReLU)))
        elif isinstance(child, Module) and path not in joint and not any(child is one for one in modules):
            found.append((f"{prefix}{name}." if name else prefix, (*modules, child)))
    return found


def _projections(attention: MultiHeadAttention[Any, Any], prefix: str) -> Iterator[Entry]:
    """Yield the weights and biases of queries, keys and values, which PyTorch concatenates."""
    layers = [attention.query, attention.key, attention.value]
    yield Entry(f"{prefix}in_proj_weight", tuple(layer.weight for layer in layers), is_transposed=True)
    biases = tuple(layer.bias for layer in layers if layer.bias is not None)
    if biases:
        yield Entry(f"{prefix}in_proj_bias", biases)


def _recurrent(layer: Module, prefix: str, suffix: str) -> Iterator[Entry]:
    for path, parameter in layer.parameters().items():
        yield Entry(f"{prefix}{_RECURRENT[path]}{suffix}", (parameter,), path.startswith("weight"))


def _name(module: Module, path: str) -> str:
    if isinstance(module, Sequential | Repeated):
        return path.removeprefix("layers.")
    names = next((names for kind, names in _NAMES.items() if isinstance(module, kind)), {})
    return names.get(path, path)

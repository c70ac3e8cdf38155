"""Checks of a layer's arguments by the rule of its op, where the layer's signature says less than the rule."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mypy.nodes import TypeInfo

from tapegrad.errors import ShapeError, messages
from tapegrad.mypy.conversion import Many, shape_items, size_of
from tapegrad.mypy.mypy_api import map_instance_to_supertype
from tapegrad.mypy.rules import windows
from tapegrad.mypy.rules.calls import shaped
from tapegrad.mypy.rules.library import op_named
from tapegrad.mypy.unify.bindings import CallError
from tapegrad.sizes import Size, is_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.types import Instance

Shapes: TypeAlias = "dict[str, list[Size | Many] | None]"  # of the tensors in a call, by parameter; None if unknown
Rule: TypeAlias = "Callable[[Shapes], None]"


class Mask(NamedTuple):
    """A mask of attention: its parameter, and those of the queries and of the keys.

    A method that calls the blocks itself has their attribute and their class, which its messages name.
    """

    name: str
    queries: str
    keys: str
    blocks: str = ""


_ENCODERS, _DECODERS = "encoder[0] TransformerEncoderBlock", "decoder[0] TransformerDecoderBlock"
MASKS: Final = {
    "MultiHeadAttention.forward": (Mask("mask", "x", "context"),),
    "GroupedQueryAttention.forward": (Mask("mask", "x", "x"),),
    "TransformerEncoderBlock.forward": (Mask("mask", "x", "x"),),
    "TransformerDecoderBlock.forward": (Mask("mask", "x", "x"), Mask("memory_mask", "x", "memory")),
    "Transformer.forward": (
        Mask("source_mask", "source", "source"),
        Mask("target_mask", "target", "target"),
        Mask("memory_mask", "target", "source"),
    ),
    "Transformer.encode": (Mask("mask", "source", "source", _ENCODERS),),
    "Transformer.decode": (
        Mask("mask", "target", "target", _DECODERS),
        Mask("memory_mask", "target", "memory", _DECODERS),
    ),
}
_OPS: Final = {
    "Softmax": ("softmax", "axis"),
    "LogSoftmax": ("log_softmax", "axis"),
    "Upsample": ("upsample2d", "scale"),
}


_NORMS: Final = {"LayerNorm": ("layer_norm", ("weight", "bias")), "RMSNorm": ("rms_norm", ("weight",))}


def rule_of(layer: Instance, method: str = "forward") -> Rule | None:
    """Return a function that rejects the arguments of a layer as its op does; None if the signature says it all."""
    symbol = layer.type.get(method)
    owner = getattr(symbol.node, "info", None) if symbol is not None else None
    if not isinstance(owner, TypeInfo) or not owner.module_name.startswith("tapegrad.nn."):
        return None
    if owner.module_name in windows.MODULES:
        return windows.rule_of(layer, owner)
    of_owner = map_instance_to_supertype(layer, owner)
    masks = MASKS.get(f"{owner.name}.{method}")
    if masks is not None:
        return partial(_reject_masks, layer.type.name, of_owner, masks)
    if owner.name in _NORMS:
        return partial(_reject_axes, of_owner)
    if owner.name in ("Reshape", "Unflatten"):
        return partial(_reject_elements, of_owner)
    return partial(_reject_option, of_owner) if owner.name in _OPS else None


def _reject_masks(name: str, layer: Instance, masks: tuple[Mask, ...], shapes: Shapes) -> None:
    """Reject a mask that does not broadcast to the scores.

    Raises:
        CallError: A block that a method calls rejects it.
        ShapeError: The layer itself does.
    """
    variables = layer.type.defn.type_vars
    sizes = {one.name: size_of(argument) for one, argument in zip(variables, layer.args, strict=True)}
    op = op_named("multi_head_attention")
    for one in masks:
        if op is None or not {one.name, one.queries, one.keys} <= shapes.keys():
            continue
        q, k = shapes[one.queries], shapes[one.keys]
        try:
            # The constructor has checked the number of heads.
            shaped(op, {"q": q, "k": k, "v": k, "mask": shapes[one.name]}, {"heads": 1})
        except ShapeError as error:
            if not one.blocks:
                raise
            block = messages.layer(one.blocks, [sizes["Width"], sizes["Heads"], sizes["Hidden"]])
            raise CallError(f"{name}.{block}: {error}") from None


def _reject_elements(layer: Instance, shapes: Shapes) -> None:
    """Reject a tensor with another number of elements than the layer's shape.

    Raises:
        ShapeError: The number differs.
    """
    x, expected, op = shapes.get("x"), shape_items(layer.args[0]), op_named("reshape")
    if x is None or expected is None or op is None or any(isinstance(size, Many) for size in expected):
        return
    if layer.type.name == "Unflatten":
        if not x or isinstance(x[0], Many):
            return
        expected = [x[0], *expected]
    shaped(op, {"x": x}, {"shape": tuple(expected)})


def _reject_axes(layer: Instance, shapes: Shapes) -> None:
    """Reject a tensor whose last axes are not those of a norm over several axes; signatures compare the last one.

    Raises:
        ShapeError: The op rejects it.
    """
    name, parameters = _NORMS[layer.type.name]
    axes, op = shape_items(layer.args[2]), op_named(name)
    if op is not None and axes is not None and len(axes) > 1 and shapes.get("x") is not None:
        shaped(op, {"x": shapes["x"], **dict.fromkeys(parameters, axes)}, {})


def _reject_option(layer: Instance, shapes: Shapes) -> None:
    """Reject a tensor, or an option, as the op with this option does.

    Raises:
        ShapeError: The op rejects it.
    """
    name, option = _OPS[layer.type.name]
    op, value = op_named(name), size_of(layer.args[0])
    if op is not None and "x" in shapes and not is_unknown(value):
        shaped(op, {"x": shapes["x"]}, {option: value})

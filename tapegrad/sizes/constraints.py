"""Checks of numbers given to layers, made by the constructors, and by mypy where the numbers are literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.errors import ShapeError, messages

if TYPE_CHECKING:
    from collections.abc import Callable


def check_heads(width: int, heads: int) -> None:
    """Raise a ShapeError if the number of heads does not divide the width."""
    if width % heads:
        message = f"MultiHeadAttention: {heads} heads do not divide the width {width}"
        raise ShapeError(message)


def check_kv_heads(width: int, heads: int, kv_heads: int) -> None:
    """Raise a ShapeError if the heads do not divide the width, or do not divide into groups for the key heads."""
    if width % heads:
        message = f"GroupedQueryAttention: {heads} heads do not divide the width {width}"
        raise ShapeError(message)
    if heads % kv_heads:
        message = f"GroupedQueryAttention: {heads} heads do not divide into {kv_heads} groups"
        raise ShapeError(message)


def check_rotary_heads(width: int, heads: int, rotary: object) -> None:
    """Raise a ShapeError if the heads have an odd width, whose columns do not form pairs to rotate."""
    if rotary is True and width // heads % 2:
        message = (
            f"GroupedQueryAttention: rotary needs heads of an even width, not {width} // {heads} = {width // heads}"
        )
        raise ShapeError(message)


def check_groups(layer: str, groups: int, *numbers: int) -> None:
    """Raise a ShapeError if the number of groups does not divide the channels of a layer, input or output."""
    for channels in numbers:
        if groups < 1 or channels % groups:
            message = f"{layer}: {groups} groups do not divide {channels} channels"
            raise ShapeError(message)


def check_same(layer: str, padding: object, stride: int | tuple[int, ...]) -> None:
    """Raise a ShapeError for padding 'same', which keeps the sizes, together with a stride above 1."""
    if padding == "same" and any(n > 1 for n in (stride if isinstance(stride, tuple) else (stride,))):
        message = f"{layer}: padding 'same' needs a stride of 1, not {stride}"
        raise ShapeError(message)


def check_shape(layer: str, shape: tuple[int, ...]) -> None:
    """Raise a ShapeError if a size in the shape that a layer gives its results is negative."""
    if any(size < 0 for size in shape):
        message = f"{layer}: shape {messages.shown(shape)} has a negative size"
        raise ShapeError(message)


def check_directions(layer: str, directions: int) -> None:
    """Raise a ShapeError unless a recurrent layer has one or two directions."""
    if directions not in (1, 2):
        message = f"{layer}: directions is {directions} but 1 or 2 is expected"
        raise ShapeError(message)


def _groups_of(layer: str) -> Callable[..., None]:
    def check(in_channels: int, out_channels: int, groups: int) -> None:
        check_groups(layer, groups, in_channels, out_channels)

    return check


def _same_of(layer: str) -> Callable[..., None]:
    def check(padding: object, stride: int | tuple[int, ...]) -> None:
        check_same(layer, padding, stride)

    return check


def _shape_of(layer: str) -> Callable[..., None]:
    def check(shape: tuple[int, ...]) -> None:
        check_shape(layer, shape)

    return check


def _directions_of(layer: str) -> Callable[..., None]:
    def check(directions: int) -> None:
        check_directions(layer, directions)

    return check


def _of_group_norm(groups: int, channels: int) -> None:
    check_groups("GroupNorm", groups, channels)


# By class name; a check has the constructor parameters that it compares.
CHECKS: dict[str, tuple[Callable[..., None], ...]] = {
    **{f"tapegrad.nn.conv.{name}": (_groups_of(name), _same_of(name)) for name in ("Conv1d", "Conv2d", "Conv3d")},
    **{f"tapegrad.nn.conv_transpose.{name}": (_groups_of(name),) for name in ("ConvTranspose1d", "ConvTranspose2d")},
    **{f"tapegrad.nn.move.{name}": (_shape_of(name),) for name in ("Reshape", "Unflatten")},
    **{f"tapegrad.nn.stacked.{name}": (_directions_of(name),) for name in ("StackedRNN", "StackedGRU", "StackedLSTM")},
    "tapegrad.nn.norm.GroupNorm": (_of_group_norm,),
    "tapegrad.nn.attention.MultiHeadAttention": (check_heads,),
    "tapegrad.nn.attention.GroupedQueryAttention": (check_kv_heads, check_rotary_heads),
    **{
        f"tapegrad.nn.transformer.{name}": (check_heads,)
        for name in ("TransformerEncoderBlock", "TransformerDecoderBlock", "Transformer")
    },
}

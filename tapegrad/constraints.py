"""What the numbers of a layer must be to each other: asked when one is made, and by mypy where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable


def check_heads(width: int, heads: int) -> None:
    """Reject heads that leave a rest of the width which they share."""
    if width % heads:
        message = f"MultiHeadAttention: {heads} heads do not divide the width {width}"
        raise ShapeError(message)


def check_groups(layer: str, groups: int, *numbers: int) -> None:
    """Reject groups that leave a rest of the channels of a layer, on either side."""
    for channels in numbers:
        if groups < 1 or channels % groups:
            message = f"{layer}: {groups} groups do not divide {channels} channels"
            raise ShapeError(message)


def check_same(layer: str, padding: object, stride: int | tuple[int, ...]) -> None:
    """Reject a stride, which divides the sizes, beside padding that keeps them."""
    if padding == "same" and any(n > 1 for n in (stride if isinstance(stride, tuple) else (stride,))):
        message = f"{layer}: padding 'same' needs a stride of 1, not {stride}"
        raise ShapeError(message)


def _groups_of(layer: str) -> Callable[..., None]:
    def check(in_channels: int, out_channels: int, groups: int) -> None:
        check_groups(layer, groups, in_channels, out_channels)

    return check


def _same_of(layer: str) -> Callable[..., None]:
    def check(padding: object, stride: int | tuple[int, ...]) -> None:
        check_same(layer, padding, stride)

    return check


def _of_group_norm(groups: int, channels: int) -> None:
    check_groups("GroupNorm", groups, channels)


# By the class, with the parameters of its constructor that are asked about.
CHECKS: dict[str, tuple[Callable[..., None], ...]] = {
    **{f"tapegrad.nn.conv.{name}": (_groups_of(name), _same_of(name)) for name in ("Conv1d", "Conv2d", "Conv3d")},
    **{f"tapegrad.nn.conv_transpose.{name}": (_groups_of(name),) for name in ("ConvTranspose1d", "ConvTranspose2d")},
    "tapegrad.nn.norm.GroupNorm": (_of_group_norm,),
    "tapegrad.nn.attention.MultiHeadAttention": (check_heads,),
    **{
        f"tapegrad.nn.transformer.{name}": (check_heads,)
        for name in ("TransformerEncoderBlock", "TransformerDecoderBlock", "Transformer")
    },
}

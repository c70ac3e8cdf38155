"""Checks of numbers given to layers, made by the constructors, and by mypy where the numbers are literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.kinds import INT, INTS
from tapegrad.errors.options import check_flag, check_whole
from tapegrad.sizes.bounds import surely_less
from tapegrad.sizes.rules import is_int, one_int, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.sizes.terms import Dims


def check_heads(width: int, heads: int) -> None:
    """Raise a ShapeError if the number of heads does not divide the width."""
    one_int(heads, "MultiHeadAttention: heads")
    if width % heads:
        message = f"MultiHeadAttention: {heads} heads do not divide the width {width}"
        raise ShapeError(message)


def check_kv_heads(width: int, heads: int, kv_heads: int) -> None:
    """Raise a ShapeError if the heads do not divide the width, or do not divide into groups for the key heads."""
    one_int(heads, "GroupedQueryAttention: heads")
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
    one_int(groups, f"{layer}: groups")
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
    """Check the shape that a layer gives its results.

    Raises:
        DTypeError: It is not a tuple of ints.
        ShapeError: A size is negative.
    """
    if not isinstance(shape, tuple | list) or not all(map(is_int, shape)):
        message = f"{layer}: shape is {shape!r} but a tuple of ints is expected"
        raise DTypeError(message)
    if any(size < 0 for size in shape):
        message = f"{layer}: shape {messages.shown(shape)} has a negative size"
        raise ShapeError(message)


def check_directions(layer: str, directions: int) -> None:
    """Raise a ShapeError unless a recurrent layer has one or two directions."""
    if directions not in (1, 2):
        message = f"{layer}: directions is {directions} but 1 or 2 is expected"
        raise ShapeError(message)


def check_weight(initializer: str, weight: Dims) -> None:
    """Raise a ShapeError if a weight to initialize has fewer than two axes, and so no fan-in and fan-out."""
    if len(weight) < 2:
        message = f"{initializer}: weight {show(weight)} has rank {len(weight)} but needs at least 2"
        raise ShapeError(message)


def numbers(value: Any, rank: int, name: str, least: int, hint: str = "") -> Dims:
    """Return one number per axis, each at least `least`; a single number applies to all axes.

    The error about a smaller number ends with the hint.
    """
    if not isinstance(value, tuple) and not is_int(value):
        kinds = INT if rank == 1 and not isinstance(value, list) else f"{INT} or {INTS}"
        message = f"{name} is {value!r} but {kinds} is expected"
        raise DTypeError(message)
    given = value if isinstance(value, tuple) else (value,) * rank
    each: Dims = tuple(one_int(number, name) for number in given)
    if len(each) != rank:
        message = f"{name} {show(each)} has {len(each)} numbers, not {rank}"
        raise ShapeError(message)
    for number in each:
        if surely_less(number, least):
            message = f"{name} is {number}, below {least}{hint}"
            raise ShapeError(message)
    return each


def check_windows(
    layer: str, rank: int, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, **flags: object
) -> None:
    """Check the windows of a pooling layer, as `windows_of` does, and its flags.

    Raises:
        ShapeError: A number is too small, or there are more or fewer than one for each axis.
        DTypeError: One is not an int, or a flag is no bool.
    """
    for name, given in flags.items():
        check_flag(layer, name, given)
    try:
        windows_of(rank, kernel, stride, padding, dilation)
    except (ShapeError, DTypeError) as error:
        raise error.with_message(f"{layer}: {error}") from None


def windows_of(rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Dims, Dims, Dims, Dims]:
    """Return the numbers of windows for each axis: kernels, strides, paddings and dilations.

    Raises:
        ShapeError: A number is too small, a padding more than half of a window, which may then be empty, or there are
            more or fewer than one number for each axis.
        DTypeError: A number is not an int.
    """
    kernels, paddings = numbers(kernel, rank, "kernel", 1), numbers(padding, rank, "padding", 0)
    strides = numbers(kernel if stride is None else stride, rank, "stride", 1)
    dilations = numbers(dilation, rank, "dilation", 1)
    for k, p in zip(kernels, paddings, strict=True):
        if surely_less(k, p * 2):
            message = f"padding is {p}, more than half of a window of {k}"
            raise ShapeError(message)
    return kernels, strides, paddings, dilations


def _groups_of(layer: str) -> Callable[..., None]:
    def check(in_channels: int, out_channels: int, groups: int) -> None:
        check_groups(layer, groups, in_channels, out_channels)

    return check


def _same_of(layer: str) -> Callable[..., None]:
    def check(padding: object, stride: int | tuple[int, ...]) -> None:
        check_same(layer, padding, stride)

    return check


def _windows_of(layer: str, rank: int) -> Callable[..., None]:
    def check(kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> None:
        check_windows(layer, rank, kernel, stride, padding, dilation)

    return check


def _shape_of(layer: str) -> Callable[..., None]:
    def check(shape: tuple[int, ...]) -> None:
        check_shape(layer, shape)

    return check


def _check_times(times: int) -> None:
    check_whole("Repeated", "times", times)


def _directions_of(layer: str) -> Callable[..., None]:
    def check(directions: int) -> None:
        check_directions(layer, directions)

    return check


def _of_group_norm(groups: int, channels: int) -> None:
    check_groups("GroupNorm", groups, channels)


INITIALIZERS: Final = ("kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "orthogonal")
POOLS: Final = ("MaxPool", "MinPool", "SmoothMaxPool", "AvgPool")
# By class name; a check has the constructor parameters that it compares, with defaults for those that may be left out.
CHECKS: dict[str, tuple[Callable[..., None], ...]] = {
    **{f"tapegrad.nn.conv.{name}": (_groups_of(name), _same_of(name)) for name in ("Conv1d", "Conv2d", "Conv3d")},
    **{f"tapegrad.nn.conv_transpose.{name}": (_groups_of(name),) for name in ("ConvTranspose1d", "ConvTranspose2d")},
    **{f"tapegrad.nn.move.{name}": (_shape_of(name),) for name in ("Reshape", "Unflatten")},
    **{f"tapegrad.nn.stacked.{name}": (_directions_of(name),) for name in ("StackedRNN", "StackedGRU", "StackedLSTM")},
    **{f"tapegrad.nn.pool.{name}{rank}d": (_windows_of(f"{name}{rank}d", rank),) for name in POOLS for rank in (1, 2)},
    "tapegrad.nn.residual.Repeated": (_check_times,),
    "tapegrad.nn.norm.GroupNorm": (_of_group_norm,),
    "tapegrad.nn.attention.MultiHeadAttention": (check_heads,),
    "tapegrad.nn.attention.GroupedQueryAttention": (check_kv_heads, check_rotary_heads),
    **{
        f"tapegrad.nn.transformer.{name}": (check_heads,)
        for name in ("TransformerEncoderBlock", "TransformerDecoderBlock", "Transformer")
    },
}

"""Constraints among the sizes of a layer, per class."""

from __future__ import annotations

import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.sizes.constraints import CHECKS, check_groups, check_heads, check_kv_heads, check_rotary_heads, check_same


def test_heads_must_divide_the_width() -> None:
    check_heads(12, 3)
    check_heads(3, 3)

    with pytest.raises(ShapeError, match=r"^MultiHeadAttention: 5 heads do not divide the width 12$"):
        check_heads(12, 5)


def test_heads_of_keys_must_divide_the_heads() -> None:
    check_kv_heads(12, 4, 2)
    check_kv_heads(12, 4, 4)

    with pytest.raises(ShapeError, match=r"^GroupedQueryAttention: 5 heads do not divide the width 12$"):
        check_kv_heads(12, 5, 1)
    with pytest.raises(ShapeError, match=r"^GroupedQueryAttention: 4 heads do not divide into 3 groups$"):
        check_kv_heads(12, 4, 3)


def test_rotated_heads_must_have_an_even_width() -> None:
    check_rotary_heads(12, 6, rotary=True)
    check_rotary_heads(12, 4, rotary=False)

    message = r"^GroupedQueryAttention: rotary needs heads of an even width, not 12 // 4 = 3$"
    with pytest.raises(ShapeError, match=message):
        check_rotary_heads(12, 4, rotary=True)


def test_groups_must_divide_the_channels() -> None:
    check_groups("Conv2d", 1, 3, 5)
    check_groups("Conv2d", 2, 4, 6)

    for groups, channels, wrong in ((2, (4, 5), 5), (2, (3, 4), 3), (0, (4, 4), 4), (-2, (4, 4), 4)):
        message = rf"^Conv2d: {groups} groups do not divide {wrong} channels$"
        with pytest.raises(ShapeError, match=message):
            check_groups("Conv2d", groups, *channels)


def test_heads_and_groups_are_ints() -> None:
    with pytest.raises(DTypeError, match=r"^MultiHeadAttention: heads is True but an int is expected$"):
        check_heads(12, heads=True)
    with pytest.raises(DTypeError, match=r"^GroupedQueryAttention: heads is True but an int is expected$"):
        check_kv_heads(12, heads=True, kv_heads=1)
    with pytest.raises(DTypeError, match=r"^Conv2d: groups is True but an int is expected$"):
        check_groups("Conv2d", True, 4)  # noqa: FBT003  # the mistake under test


def test_padding_same_needs_stride_1() -> None:
    for padding, stride in (("same", 1), ("same", (1, 1)), ("valid", 2), (3, (2, 1))):
        check_same("Conv2d", padding, stride)

    with pytest.raises(ShapeError, match=r"^Conv2d: padding 'same' needs a stride of 1, not 2$"):
        check_same("Conv2d", "same", 2)
    with pytest.raises(ShapeError, match=r"^Conv2d: padding 'same' needs a stride of 1, not \(1, 2\)$"):
        check_same("Conv2d", "same", (1, 2))


@pytest.mark.parametrize("name", [name for name in CHECKS if ".conv" in name])
def test_a_convolution_checks_in_and_out_channels(name: str) -> None:
    layer, check = name.rpartition(".")[2], CHECKS[name][0]
    check(in_channels=4, out_channels=6, groups=2)

    for sides, wrong in (((4, 5), 5), ((3, 4), 3)):
        with pytest.raises(ShapeError, match=rf"^{layer}: 2 groups do not divide {wrong} channels$"):
            check(*sides, groups=2)


@pytest.mark.parametrize("name", [name for name in CHECKS if name.startswith("tapegrad.nn.conv.")])
def test_a_convolution_checks_stride_and_padding(name: str) -> None:
    layer, check = name.rpartition(".")[2], CHECKS[name][1]
    check(padding="same", stride=1)

    with pytest.raises(ShapeError, match=rf"^{layer}: padding 'same' needs a stride of 1, not 3$"):
        check(padding="same", stride=3)


def test_a_group_norm_checks_its_channels() -> None:
    (check,) = CHECKS["tapegrad.nn.norm.GroupNorm"]
    check(groups=2, channels=6)

    with pytest.raises(ShapeError, match=r"^GroupNorm: 2 groups do not divide 5 channels$"):
        check(groups=2, channels=5)

"""What divides what in layers, by the class that asks."""

from __future__ import annotations

import pytest

from tapegrad.divisions import CHECKS, check_groups, check_heads
from tapegrad.errors import ShapeError


def test_heads_share_a_width_without_a_rest() -> None:
    check_heads(12, 3)
    check_heads(3, 3)

    with pytest.raises(ShapeError, match=r"^MultiHeadAttention: 5 heads do not divide the width 12$"):
        check_heads(12, 5)


def test_groups_share_all_channels_without_a_rest() -> None:
    check_groups("Conv2d", 1, 3, 5)
    check_groups("Conv2d", 2, 4, 6)

    for groups, channels, wrong in ((2, (4, 5), 5), (2, (3, 4), 3), (0, (4, 4), 4), (-2, (4, 4), 4)):
        message = rf"^Conv2d: {groups} groups do not divide {wrong} channels$"
        with pytest.raises(ShapeError, match=message):
            check_groups("Conv2d", groups, *channels)


@pytest.mark.parametrize("name", [name for name in CHECKS if ".conv" in name])
def test_a_convolution_asks_for_both_of_its_sides(name: str) -> None:
    layer = name.rpartition(".")[2]
    CHECKS[name](in_channels=4, out_channels=6, groups=2)

    for sides, wrong in (((4, 5), 5), ((3, 4), 3)):
        with pytest.raises(ShapeError, match=rf"^{layer}: 2 groups do not divide {wrong} channels$"):
            CHECKS[name](*sides, groups=2)


def test_a_group_norm_asks_for_its_channels() -> None:
    CHECKS["tapegrad.nn.norm.GroupNorm"](groups=2, channels=6)

    with pytest.raises(ShapeError, match=r"^GroupNorm: 2 groups do not divide 5 channels$"):
        CHECKS["tapegrad.nn.norm.GroupNorm"](groups=2, channels=5)

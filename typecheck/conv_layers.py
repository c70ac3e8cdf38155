"""Convolution and pooling layers: exact sizes through a model, and a user-defined layer with size operators."""

from typing import Any, Final, Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Mul, NoneTape, OwnedTape, Shape, Sub, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
T = TypeVar("T", bound=Tape)
C = TypeVar("C", bound=int)
O = TypeVar("O", bound=int)
K = TypeVar("K", bound=int)
S = TypeVar("S", bound=int, default=L[1])
P = TypeVar("P", bound=int, default=L[0])

images = tg.ones((32, 1, 28, 20))


class Conv(nn.Module, Generic[C, O, K, S, P]):
    """A convolution of a user's own: its forward's signature is its rule, which mypy holds against its body."""

    @guarded
    def __init__(self: "Conv[Any, Any, Any, Any, Any]", channels: C, out: O, kernel: K, stride: S, padding: P) -> None:
        self.weight = nn.Param(tg.normal((out, channels, kernel, kernel), rng=0))
        self.stride, self.padding = stride, padding

    @guarded
    def forward(self, x: Tensor[Shape[N, C, H, W], T]) -> Tensor[Shape[N, O, Add[FloorDiv[Sub[Add[H, Mul[P, L[2]]], K], S], L[1]], Add[FloorDiv[Sub[Add[W, Mul[P, L[2]]], K], S], L[1]]], T]:
        return tg.conv2d(x, self.weight, stride=self.stride, padding=self.padding)


class Halved(nn.Module):
    """A pool between convolutions that keep the size."""

    def __init__(self) -> None:
        self.same = Conv(1, 8, 3, 1, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor[Shape[N, L[1], H, W], T]) -> Tensor[Shape[N, L[8], FloorDiv[H, L[2]], FloorDiv[W, L[2]]], T]:
        h = self.same(x)
        assert_type(h, Tensor[Shape[N, L[8], H, W], T])
        return self.pool(h)


def accept_a_layer_of_ones_own() -> None:
    assert_type(Conv(1, 6, 5, 1, 0)(images), Tensor[Shape[L[32], L[6], L[24], L[16]], NoneTape])
    assert_type(Conv(1, 6, 5, 2, 2)(images.trace()), Tensor[Shape[L[32], L[6], L[14], L[10]], OwnedTape])
    assert_type(Halved()(images), Tensor[Shape[L[32], L[8], L[14], L[10]], NoneTape])


def reject_other_channels_in_a_layer_of_ones_own() -> None:
    Conv(3, 6, 5, 1, 0)(images)  # E: Conv(3, 6, 5): x is (32, 1, 28, 20) but (N, 3, H, W) is expected: axis 1 is 1, not 3 [tapegrad-shape]


def reject_a_wrong_size_inside() -> None:
    class Wrong(nn.Module, Generic[C, O, K]):
        def __init__(self, channels: C, out: O, kernel: K) -> None:
            self.weight = nn.Param(tg.ones((out, kernel, channels, kernel)))

        def forward(self, x: Tensor[Shape[N, C, H, W], NoneTape]) -> Tensor[Any, NoneTape]:
            return tg.conv2d(x, self.weight)  # E(mypy): conv2d: axis 1 of x (N, C, H, W) has C channels but w (O, K, C, K) expects K [tapegrad-shape]

    Wrong(1, 2, 3)


def accept_defaults_as_literals() -> None:
    assert_type(nn.Conv2d(1, 16, 3), nn.Conv2d[L[1], L[16], L[3], L[1], L[0], L[1], L[3], L[1], L[0], L[1], L[True]])
    assert_type(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.Conv2d[L[1], L[16], L[3], L[2], L[1], L[1], L[3], L[2], L[1], L[1], L[True]])
    assert_type(nn.Conv2d(1, 16, 3, dilation=2), nn.Conv2d[L[1], L[16], L[3], L[1], L[0], L[2], L[3], L[1], L[0], L[2], L[True]])
    assert_type(nn.ConvTranspose2d(1, 16, 3), nn.ConvTranspose2d[L[1], L[16], L[3], L[1], L[0], L[0], L[1], L[3], L[1], L[0], L[0], L[1], L[True]])
    assert_type(nn.MaxPool2d(2), nn.MaxPool2d[L[2], L[2], L[0]])
    assert_type(nn.MaxPool2d(3, stride=2, padding=1), nn.MaxPool2d[L[3], L[2], L[1]])
    three: nn.Conv2d[L[1], L[16], L[3]] = nn.Conv2d(1, 16, 3)
    two: nn.MaxPool2d[L[2]] = nn.MaxPool2d(2)
    assert_type(two(three(images)), Tensor[Shape[L[32], L[16], L[13], L[9]], NoneTape])


def accept_convolutions() -> None:
    line, volume = tg.ones((3, 28)), tg.ones((2, 3, 5, 6, 7))
    assert_type(nn.Conv1d(3, 8, 5)(line), Tensor[Shape[L[8], L[24]], NoneTape])
    assert_type(nn.Conv2d(1, 8, 5, padding=2)(images), Tensor[Shape[L[32], L[8], L[28], L[20]], NoneTape])
    assert_type(nn.Conv2d(1, 8, 5, bias=False)(images[0]), Tensor[Shape[L[8], L[24], L[16]], NoneTape])
    assert_type(nn.Conv3d(3, 8, 3)(volume), Tensor[Shape[L[2], L[8], L[3], L[4], L[5]], NoneTape])
    assert_type(nn.ConvTranspose1d(3, 8, 4, stride=2, padding=1)(line), Tensor[Shape[L[8], L[56]], NoneTape])
    assert_type(nn.ConvTranspose2d(1, 8, 3, stride=2, output_padding=1)(images), Tensor[Shape[L[32], L[8], L[58], L[42]], NoneTape])


def accept_a_number_for_each_axis() -> None:
    assert_type(nn.Conv2d(1, 8, (3, 5)), nn.Conv2d[L[1], L[8], L[3], L[1], L[0], L[1], L[5], L[1], L[0], L[1], L[True]])
    assert_type(nn.Conv2d(1, 8, (3, 5)).weight.shape, tuple[L[8], Any, L[3], L[5]])
    assert_type(nn.Conv2d(1, 8, (3, 5))(images), Tensor[Shape[L[32], L[8], L[26], L[16]], NoneTape])
    assert_type(nn.Conv2d(1, 8, (3, 1), padding=(1, 0))(images), Tensor[Shape[L[32], L[8], L[28], L[20]], NoneTape])
    assert_type(nn.Conv2d(1, 8, 3, stride=(2, 1), padding=1)(images), Tensor[Shape[L[32], L[8], L[14], L[20]], NoneTape])
    assert_type(nn.Conv2d(1, 8, 3, dilation=(1, 2))(images), Tensor[Shape[L[32], L[8], L[26], L[16]], NoneTape])
    assert_type(nn.Conv2d(1, 8, 3, padding=2, dilation=2, groups=1)(images), Tensor[Shape[L[32], L[8], L[28], L[20]], NoneTape])
    volume = tg.ones((2, 3, 5, 6, 7))
    assert_type(nn.Conv3d(3, 8, (1, 2, 3), stride=(2, 2, 1))(volume), Tensor[Shape[L[2], L[8], L[3], L[3], L[5]], NoneTape])
    assert_type(nn.Conv3d(3, 8, 3, stride=2, padding=(0, 1, 2))(volume), Tensor[Shape[L[2], L[8], L[2], L[3], L[5]], NoneTape])
    assert_type(nn.ConvTranspose2d(1, 8, (3, 4), stride=(2, 1), output_padding=(1, 0))(images), Tensor[Shape[L[32], L[8], L[58], L[23]], NoneTape])
    assert_type(nn.ConvTranspose1d(3, 8, 4, dilation=3)(tg.ones((3, 28))), Tensor[Shape[L[8], L[37]], NoneTape])


def accept_named_numbers_for_each_axis() -> None:
    def shrunk(x: Tensor[Shape[N, L[1], H, W], T]) -> Tensor[Shape[N, L[4], H, FloorDiv[Sub[W, L[1]], L[2]]], T]:
        return nn.Conv2d(1, 4, (3, 5), stride=(1, 2), padding=(1, 1))(x)

    assert_type(shrunk(images), Tensor[Shape[L[32], L[4], L[28], L[9]], NoneTape])


def accept_what_keeps_the_sizes() -> None:
    kept: Tensor[Shape[L[32], L[8], L[28], L[20]], NoneTape] = nn.Conv2d(1, 8, (3, 4), padding="same", dilation=2)(images)
    assert_type(nn.Conv2d(1, 8, 4, padding="same")(images), Tensor[Shape[L[32], L[8], Any, Any], NoneTape])
    assert_type(nn.Conv1d(3, 8, 4, padding="same")(tg.ones((3, 28))), Tensor[Shape[L[8], Any], NoneTape])
    assert_type(kept.shape, tuple[L[32], L[8], L[28], L[20]])


def accept_unknown_numbers() -> None:
    def conv_models(n: int, both: tuple[int, int], anything: Any) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(nn.Conv2d(1, 8, n)(images), Tensor[Shape[L[32], L[8], Any, Any], NoneTape])
        assert_type(nn.Conv2d(1, 8, both)(images), Tensor[Shape[L[32], L[8], Any, Any], NoneTape])
        assert_type(nn.Conv2d(1, 8, (3, n))(images), Tensor[Shape[L[32], L[8], L[26], Any], NoneTape])
        assert_type(nn.Conv2d(1, 8, 3, padding=anything)(images), Tensor[Shape[L[32], L[8], Any, Any], NoneTape])
        assert_type(nn.MaxPool2d(2, stride=anything)(images), Tensor[Shape[L[32], L[1], Any, Any], NoneTape])

    conv_models(3, (3, 5), 1)


def accept_unknown_numbers_of_pools() -> None:
    def pooled(n: int, both: tuple[int, int], maybe: int | None) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(nn.MaxPool2d((2, n)), nn.MaxPool2d[L[2], L[2], L[0], Any, Any])
        assert_type(nn.MaxPool2d((n, 2)), nn.MaxPool2d[Any, Any, L[0], L[2], L[2]])
        assert_type(nn.MaxPool2d(2, stride=n), nn.MaxPool2d[L[2], Any])
        assert_type(nn.MaxPool2d(2, stride=(n, 1)), nn.MaxPool2d[L[2], Any, L[0], L[2], L[1]])
        assert_type(nn.MaxPool2d(2, stride=maybe)(images), Tensor[Shape[L[32], L[1], Any, Any], NoneTape])
        assert_type(nn.MaxPool2d(both)(images), Tensor[Shape[L[32], L[1], Any, Any], NoneTape])
        assert_type(nn.MaxPool2d(2, stride=both)(images), Tensor[Shape[L[32], L[1], Any, Any], NoneTape])
        assert_type(nn.MaxPool1d(2, stride=n)(tg.ones((3, 28))), Tensor[Shape[L[3], Any], NoneTape])

    pooled(3, (3, 5), None)


def accept_pools() -> None:
    line = tg.ones((3, 28))
    assert_type(nn.MaxPool1d(3)(line), Tensor[Shape[L[3], L[9]], NoneTape])
    assert_type(nn.MinPool1d(3)(line), Tensor[Shape[L[3], L[9]], NoneTape])
    assert_type(nn.AvgPool1d(3, padding=1)(line), Tensor[Shape[L[3], L[10]], NoneTape])
    assert_type(nn.SmoothMaxPool1d(3, stride=1)(line), Tensor[Shape[L[3], L[26]], NoneTape])
    assert_type(nn.MinPool2d(2)(images), Tensor[Shape[L[32], L[1], L[14], L[10]], NoneTape])
    assert_type(nn.AvgPool2d(2)(images), Tensor[Shape[L[32], L[1], L[14], L[10]], NoneTape])
    assert_type(nn.SmoothMaxPool2d(2, beta=5.0)(images), Tensor[Shape[L[32], L[1], L[14], L[10]], NoneTape])
    assert_type(nn.AdaptiveAvgPool1d(5)(line), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(nn.AdaptiveAvgPool2d(7)(images), Tensor[Shape[L[32], L[1], L[7], L[7]], NoneTape])
    assert_type(nn.GlobalAvgPool1d()(line), Tensor[Shape[L[3]], NoneTape])
    assert_type(nn.GlobalMaxPool1d()(line), Tensor[Shape[L[3]], NoneTape])
    assert_type(nn.GlobalAvgPool2d()(images), Tensor[Shape[L[32], L[1]], NoneTape])
    assert_type(nn.GlobalMaxPool2d()(images), Tensor[Shape[L[32], L[1]], NoneTape])


def accept_dilated_and_last_windows_of_a_pool() -> None:
    line = tg.ones((3, 28))
    assert_type(nn.MaxPool1d(3, dilation=2)(line), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(nn.MaxPool1d(3, ceil_mode=True)(line), Tensor[Shape[L[3], L[10]], NoneTape])
    assert_type(nn.AvgPool1d(2, stride=29, padding=1, ceil_mode=True)(line), Tensor[Shape[L[3], L[1]], NoneTape])
    assert_type(nn.MinPool2d(2, dilation=(2, 3))(images), Tensor[Shape[L[32], L[1], L[13], L[9]], NoneTape])
    assert_type(nn.AvgPool2d(3, ceil_mode=True, divisor_override=2)(images), Tensor[Shape[L[32], L[1], L[10], L[7]], NoneTape])

    def pooled(x: Tensor[Shape[N, H], T]) -> Tensor[Shape[N, FloorDiv[Add[H, L[1]], L[2]]], T]:
        return nn.SmoothMaxPool1d(2, ceil_mode=True)(x)

    assert_type(pooled(tg.ones((3, 27))), Tensor[Shape[L[3], L[14]], NoneTape])


def reject_a_dilated_window_larger_than_the_input() -> None:
    nn.MaxPool1d(4, dilation=2)(tg.ones((3, 6)))  # E: MaxPool1d: a window of 7 does not fit into 6 cells along axis 1 of x (3, 6) [tapegrad-shape]


def reject_a_pool_of_a_matrix() -> None:
    nn.AvgPool2d(2)(tg.ones((2, 3)))  # E: AvgPool2d: x (2, 3) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_an_adaptive_pool_of_a_matrix() -> None:
    nn.AdaptiveAvgPool2d(3)(tg.ones((2, 3)))  # E: AdaptiveAvgPool2d(3): x (2, 3) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_a_last_window_larger_than_the_input() -> None:
    nn.AvgPool1d(4, stride=1, ceil_mode=True)(tg.ones((3, 2)))  # E: AvgPool1d: a window of 4 does not fit into 2 cells, nor with ceil_mode into 2, along axis 1 of x (3, 2) [tapegrad-shape]


def accept_any_layer_where_its_class_alone_is_declared() -> None:
    class Parts(nn.Module):
        conv: nn.Conv2d
        pool: nn.MaxPool2d
        norm: nn.LayerNorm

        def __init__(self) -> None:
            self.conv = nn.Conv2d(3, 4, (3, 5), stride=2, padding=(1, 2), bias=False)
            self.pool = nn.MaxPool2d((2, 3), dilation=2, ceil_mode=True)
            self.norm = nn.LayerNorm((3, 5))

    def normed(norm: nn.LayerNorm, x: Tensor[Shape[L[2], L[3], L[5]], T]) -> Tensor[Any, T]:
        return norm(x)

    normed(nn.LayerNorm((3, 5)), tg.ones((2, 3, 5)))
    normed(nn.LayerNorm(5), tg.ones((2, 3, 5)))
    Parts()


def accept_a_number_for_each_axis_of_a_pool() -> None:
    three: nn.MaxPool2d[L[2], L[2], L[0], L[3], L[3], L[0]] = nn.MaxPool2d((2, 3))
    assert_type(three(images), Tensor[Shape[L[32], L[1], L[14], L[6]], NoneTape])
    assert_type(nn.MaxPool2d((2, 3), stride=None), nn.MaxPool2d[L[2], L[2], L[0], L[3], L[3]])
    assert_type(nn.MaxPool2d((2, 2)), nn.MaxPool2d[L[2]])
    assert_type(nn.MaxPool2d((2, 3), stride=1)(images), Tensor[Shape[L[32], L[1], L[27], L[18]], NoneTape])
    assert_type(nn.MinPool2d(2, stride=(1, 4))(images), Tensor[Shape[L[32], L[1], L[27], L[5]], NoneTape])
    assert_type(nn.AvgPool2d((2, 3), padding=(1, 0))(images), Tensor[Shape[L[32], L[1], L[15], L[6]], NoneTape])
    assert_type(nn.AvgPool2d((2, 3), padding=1)(images), Tensor[Shape[L[32], L[1], L[15], L[7]], NoneTape])
    assert_type(nn.AvgPool2d(3, padding=(0, 1))(images), Tensor[Shape[L[32], L[1], L[9], L[7]], NoneTape])
    assert_type(nn.SmoothMaxPool2d((2, 3), stride=(3, 1), padding=(1, 0))(images), Tensor[Shape[L[32], L[1], L[10], L[18]], NoneTape])
    assert_type(nn.AdaptiveAvgPool2d((7, 3)), nn.AdaptiveAvgPool2d[L[7], L[3]])
    assert_type(nn.AdaptiveAvgPool2d((7, 3))(images), Tensor[Shape[L[32], L[1], L[7], L[3]], NoneTape])


def accept_a_number_for_each_axis_of_a_pool_in_a_model() -> None:
    def pooled(x: Tensor[Shape[N, L[1], H, W], T]) -> Tensor[Shape[N, L[1], FloorDiv[H, L[2]], FloorDiv[W, L[3]]], T]:
        return nn.Sequential(nn.ReLU(), nn.MaxPool2d((2, 3)))(x)

    assert_type(pooled(images), Tensor[Shape[L[32], L[1], L[14], L[6]], NoneTape])


def accept_exact_sizes_through_a_model() -> None:
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1872, 10))
    assert_type(model(images), Tensor[Shape[L[32], L[10]], NoneTape])
    assert_type(model(images.trace()), Tensor[Shape[L[32], L[10]], OwnedTape])


def accept_named_sizes() -> None:
    def shrunk(x: Tensor[Shape[N, L[1], H, W], T]) -> Tensor[Shape[N, L[4], FloorDiv[H, L[2]], FloorDiv[W, L[2]]], T]:
        return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))(x)

    assert_type(shrunk(images), Tensor[Shape[L[32], L[4], L[14], L[10]], NoneTape])


def reject_a_linear_of_another_width() -> None:
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 10))
    model(images)  # E: model[4] Linear(1600, 10): x is (32, 1872) but (..., 1600) is expected: axis -1 is 1872, not 1600 [tapegrad-shape]


def reject_layers_of_other_channels() -> None:
    nn.Sequential(nn.Conv2d(1, 16, 3), nn.Conv2d(8, 4, 3))  # E(mypy): Sequential[1] Conv2d(8, 4, 3): x is (..., 16, ?, ?) but (..., 8, H, W) is expected: axis -3 is 16, not 8 [tapegrad-shape]


def reject_other_channels() -> None:
    nn.Conv2d(3, 16, 3)(images)  # E: Conv2d(3, 16, 3): x is (32, 1, 28, 20) but (..., 3, H, W) is expected: axis -3 is 1, not 3 [tapegrad-shape]


def reject_channels_beside_a_number_for_each_axis() -> None:
    nn.Conv2d(3, 16, (3, 5))(images)  # E: Conv2d(3, 16, 3, 1, 0, 1, 5): x is (32, 1, 28, 20) but (..., 3, H, W) is expected: axis -3 is 1, not 3 [tapegrad-shape]


def reject_channels_beside_what_keeps_the_sizes() -> None:
    nn.Conv2d(3, 16, 3, padding="same")(images)  # E: Conv2d(3, 16, 3, 1, ?): x is (32, 1, 28, 20) but (..., 3, H, W) is expected: axis -3 is 1, not 3 [tapegrad-shape]


def reject_a_linear_behind_a_number_for_each_axis() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, (3, 5)), nn.Flatten(), nn.Linear(936, 10))
    model(images)  # E: model[2] Linear(936, 10): x is (32, 832) but (..., 936) is expected: axis -1 is 832, not 936 [tapegrad-shape]


def reject_a_kernel_of_three_axes() -> None:
    nn.Conv2d(3, 4, (3, 3, 3))  # E: Conv2d: kernel is (3, 3, 3) but (Kernel, KernelW) is expected: rank 3, not 2 [tapegrad-shape]


def reject_a_kernel_by_its_word() -> None:
    nn.Conv2d(3, 4, "3")  # E: Conv2d: kernel is a str but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_window_of_three_axes() -> None:
    nn.MaxPool2d((2, 2, 2))  # E(mypy): MaxPool2d: kernel is (2, 2, 2) but (Kernel, KernelW) is expected: rank 3, not 2


def reject_a_vector() -> None:
    nn.ConvTranspose1d(3, 16, 3)(tg.ones((3,)))  # E: ConvTranspose1d(3, 16, 3): x is (3,) but (..., 3, W) is expected: rank 1, not at least 2 [tapegrad-shape]


def reject_a_kernel_longer_than_its_image() -> None:
    conv = nn.Conv2d(1, 4, 25)
    conv(images)  # E: conv Conv2d(1, 4, 25): a window of 25 does not fit into 20 cells along axis 3 of x (32, 1, 28, 20) [tapegrad-shape]


def reject_a_window_longer_than_its_line() -> None:
    nn.MaxPool1d(7)(tg.ones((3, 5)))  # E: MaxPool1d: a window of 7 does not fit into 5 cells along axis 1 of x (3, 5) [tapegrad-shape]


def reject_a_window_longer_than_its_image_along_one_axis() -> None:
    nn.MaxPool2d((2, 21))(images)  # E: MaxPool2d: a window of 21 does not fit into 20 cells along axis 3 of x (32, 1, 28, 20) [tapegrad-shape]


def reject_more_padding_than_half_of_a_window_along_one_axis() -> None:
    nn.MinPool2d((4, 2), padding=2)(images)  # E: MinPool2d: padding is 2, more than half of a window of 2 [tapegrad-shape]


def reject_a_linear_behind_a_pool_with_a_number_for_each_axis() -> None:
    model = nn.Sequential(nn.MaxPool2d((2, 3)), nn.Flatten(), nn.Linear(140, 10))
    model(images)  # E: model[2] Linear(140, 10): x is (32, 84) but (..., 140) is expected: axis -1 is 84, not 140 [tapegrad-shape]


def reject_a_model_that_shrinks_too_far() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(4), nn.Conv2d(4, 8, 5))
    model(images)  # E: model[2] Conv2d(4, 8, 5): a window of 5 does not fit into 4 cells along axis 3 of x (32, 4, 6, 4) [tapegrad-shape]


def reject_a_pool_of_no_cells() -> None:
    nn.MaxPool2d((2, 0))  # E: MaxPool2d: kernel is 0, below 1 [tapegrad-shape]


def reject_a_pool_that_stays_where_it_is() -> None:
    nn.AvgPool1d(2, stride=0)  # E: AvgPool1d: stride is 0, below 1 [tapegrad-shape]


def reject_more_padding_than_half_of_a_window_before_a_call() -> None:
    nn.MaxPool1d(2, padding=2)  # E: MaxPool1d: padding is 2, more than half of a window of 2 [tapegrad-shape]


def reject_an_upsampling_to_nothing() -> None:
    nn.Upsample(0)  # E: Upsample: Scale is 0 in scale but a named size is at least 1 [tapegrad-shape]


def reject_a_list_for_the_sizes_of_a_row() -> None:
    nn.LayerNorm([3, 4])  # E: LayerNorm: width is a list but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_weight_without_a_fan() -> None:
    nn.kaiming_uniform(nn.Linear(3, 4).bias)  # E: kaiming_uniform: weight (4,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_more_padding_than_windows_cover() -> None:
    nn.ConvTranspose2d(1, 4, 3, padding=12)(images)  # E: ConvTranspose2d(1, 4, 3, 1, 12): a padding of 12 leaves -2 cells of 22 [tapegrad-shape]


def reject_more_padding_than_half_of_a_window() -> None:
    nn.AvgPool2d(3, padding=2)(images)  # E: AvgPool2d: padding is 2, more than half of a window of 3 [tapegrad-shape]


def accept_windows_in_an_image_of_unknown_sizes() -> None:
    unknown: Any = images
    model = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2))
    assert_type(model(unknown), Tensor[Shape[*tuple[Any, ...], L[4], Any, Any], Any])


def reject_a_kernel_longer_than_its_image_along_one_axis() -> None:
    nn.Conv2d(1, 4, (3, 25))(images)  # E: Conv2d(1, 4, 3, 1, 0, 1, 25): a window of 25 does not fit into 20 cells along axis 3 of x (32, 1, 28, 20) [tapegrad-shape]


def reject_a_dilated_kernel_longer_than_its_image() -> None:
    nn.Conv2d(1, 4, 5, dilation=5)(images)  # E: Conv2d(1, 4, 5, 1, 0, 5): a window of 21 does not fit into 20 cells along axis 3 of x (32, 1, 28, 20) [tapegrad-shape]


def reject_a_grouped_kernel_longer_than_its_image() -> None:
    nn.Conv2d(4, 8, 3, groups=2)(tg.ones((2, 4, 2, 9)))  # E: Conv2d(4, 8, 3): a window of 3 does not fit into 2 cells along axis 2 of x (2, 4, 2, 9) [tapegrad-shape]


def reject_a_kernel_longer_than_the_middle_axis_of_its_volume() -> None:
    nn.Conv3d(1, 4, (3, 9, 3))(tg.ones((2, 1, 5, 6, 7)))  # E: Conv3d(1, 4, 3, 1, 0, 1, 9): a window of 9 does not fit into 6 cells along axis 3 of x (2, 1, 5, 6, 7) [tapegrad-shape]


def reject_output_padding_as_long_as_a_stride_along_one_axis() -> None:
    nn.ConvTranspose2d(1, 4, 3, stride=(2, 3), output_padding=2)(images)  # E: ConvTranspose2d(1, 4, 3, 2, 0, 2, 1, 3, 3): output_padding is 2, not below the stride, 2 [tapegrad-shape]


def reject_groups_that_leave_a_rest_beside_a_kernel_of_two_numbers() -> None:
    nn.ConvTranspose2d(6, 4, (3, 2), groups=4)  # E: ConvTranspose2d: 4 groups do not divide 6 channels [tapegrad-shape]


def reject_a_stride_of_nothing_along_one_axis() -> None:
    nn.Conv2d(3, 4, 3, stride=(0, 1))  # E: Conv2d: Stride is 0 in stride but a named size is at least 1 [tapegrad-shape]


def accept_a_kernel_longer_than_its_image_beside_the_same_padding() -> None:
    nn.Conv2d(1, 4, 25, padding="same")(images)


def accept_a_stride_that_is_none_beside_the_same_padding() -> None:
    nn.Conv2d(1, 4, 3, padding="same", stride=(1, 1))(images)

    def strided(n: int) -> nn.Conv1d[Any, Any, Any]:
        return nn.Conv1d(3, 8, 3, padding="same", stride=n)

    strided(1)(tg.ones((3, 28)))


def reject_a_stride_beside_the_same_padding() -> None:
    nn.Conv1d(3, 8, 3, stride=2, padding="same")  # E: Conv1d: padding 'same' needs a stride of 1, not 2 [tapegrad-shape]


def reject_a_stride_along_one_axis_beside_the_same_padding() -> None:
    nn.Conv2d(1, 4, 3, padding="same", stride=(1, 2))  # E: Conv2d: padding 'same' needs a stride of 1, not (1, 2) [tapegrad-shape]


def reject_a_stride_of_a_volume_beside_the_same_padding() -> None:
    stride: Final = 3
    nn.Conv3d(1, 4, 3, stride=stride, padding="same")  # E: Conv3d: padding 'same' needs a stride of 1, not 3 [tapegrad-shape]

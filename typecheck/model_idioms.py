"""Models as they are often written: options passed on, sizes from fractions, lists of tensors, choices by flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)

row = tg.ones((5, 4))
image = tg.ones((2, 3, 8, 8))
image_shape = (1, 4, 4)


class Block(nn.Module):
    """Passes options on to a layer."""

    def __init__(self, inputs: int, outputs: int, **options: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, bias=False, **options)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.relu(self.norm(self.conv(x)))


class Deeper(Block):
    """Passes all arguments on to the constructor of its base."""

    def __init__(self, width: int, *args: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.head = nn.Linear(width, options.get("classes", 7))

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.head(super().forward(x).mean(axis=(2, 3)))


class Popping(nn.Module):
    """Takes an option out before it passes the rest on."""

    def __init__(self, *sizes: int, **options: Any) -> None:
        width = options.pop("width", 5)
        self.layer = nn.Linear(sizes[0], width, **options)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


def accept_options_that_are_passed_on() -> None:
    assert_type(Block(3, 6, kernel=3, padding=1)(image), Tensor[Shape[L[2], L[6], L[8], L[8]], NoneTape])
    assert_type(Block(3, 6, kernel=2, stride=2)(image), Tensor[Shape[L[2], L[6], L[4], L[4]], NoneTape])
    assert_type(Deeper(6, 3, 6, kernel=3)(image), Tensor[Shape[L[2], L[7]], NoneTape])
    (Popping(4, width=6)(row) + tg.ones((5, 6))).sum()


class Scaled(nn.Module):
    """Computes channels from fractions, as mobile networks do."""

    def __init__(self, width: float, expand: int = 6) -> None:
        super().__init__()
        channels = divisible(16 * width)
        hidden = int(round(channels * expand / 4))  # noqa: RUF046  # the idiom under test
        self.keeps = expand == 4 and channels == 16
        layers: list[nn.Module] = []
        if expand not in (1, 2):
            layers.append(nn.Linear(channels, hidden))
        layers.extend([nn.Linear(hidden, channels), nn.ReLU()])
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        if self.keeps:
            return x + self.layers(x)
        return self.layers(x)


def divisible(value: float, divisor: int = 8) -> int:
    """Return a number of channels near a fraction."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    if rounded < 0.9 * value:
        rounded += divisor
    return rounded


def pair(n: int | tuple[int, int]) -> tuple[int, int]:
    """Return a number twice."""
    return n if isinstance(n, tuple) else (n, n)


class Patches(nn.Module):
    """Has a parameter of as many rows as there are patches."""

    def __init__(self, size: int, patch: int) -> None:
        super().__init__()
        height, width = pair(size)
        self.patch_height, self.patch_width = pair(patch)
        assert height % self.patch_height == 0
        count = (height // self.patch_height) * (width // self.patch_width)
        self.positions = nn.Param(tg.zeros((1, count + 1, 4)))
        self.widths = [8, 6, 4][::-1]
        self.layers = [nn.Linear(n, m) for n, m in zip(self.widths, [4] * 3, strict=True)]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        b, n, _ = x.shape
        x = tg.concat([tg.zeros((b, 1, 4)), x], axis=1)
        return self.layers[0](x + self.positions[:, : n + 1])


def accept_computed_sizes() -> None:
    assert_type(Scaled(1.0)(tg.ones((5, 16))), Tensor[Shape[L[5], L[16]], NoneTape])
    assert_type(Scaled(0.4, expand=4)(tg.ones((5, 8))), Tensor[Shape[L[5], L[8]], NoneTape])
    assert_type(Patches(8, 4)(tg.ones((2, 4, 4))), Tensor[Shape[L[2], L[5], L[4]], NoneTape])


class Encoding(nn.Module):
    """Appends to a list of tensors, which may start with one."""

    def __init__(self, count: int, *, with_input: bool = True) -> None:
        self.count = count
        self.with_input = with_input

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        parts = [x] if self.with_input else []
        for i in range(self.count):
            parts.append(tg.sin(x * 2.0**i))
            parts.append(tg.cos(x * 2.0**i))
        return tg.concat(parts, axis=-1)


class Skips(nn.Module):
    """Takes tensors back in the reverse order."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        self.down = [nn.Linear(n, m) for n, m in zip(widths, widths[1:])]  # noqa: B905, RUF007  # the idiom under test
        self.up = []
        for n, m in zip(widths[:0:-1], widths[-2::-1], strict=True):
            self.up.append(nn.Linear(2 * n, m))

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        skips = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
        for layer in self.up:
            x = layer(tg.concat([x, skips.pop()], axis=1))
        return x


def halves(x: Tensor[Any, Any], count: int, *, is_long: bool) -> Tensor[Any, Any]:
    """Fill a list in branches and turns that may not run."""
    parts = []
    for i in range(count):
        if i == 1:
            continue
        parts.append(x[:, : i + 1])
    last = parts.pop()
    for part in parts:
        last = tg.concat([last, part], axis=1)
    if is_long:
        parts.append(x)
    return tg.concat([last, *parts], axis=1)


def growing(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Append to a list in loops over it."""
    parts = [x]
    for part in parts:
        if len(parts) < 3:
            parts.append(part[:, :1])
    for i, part in enumerate(parts):
        if i < 2:
            parts.append(part[:, :1])
    return tg.concat(parts, axis=1)


def repeated(x: Tensor[Any, Any], n: int) -> Tensor[Any, Any]:
    """Fill a list in a loop of unknown length."""
    parts = []
    while n:
        parts.append(x)
        n -= 1
    return tg.concat(parts, axis=1)


def stacked(x: Tensor[Any, Any], layers: list[nn.Linear[L[4], L[3]]]) -> Tensor[Any, Any]:
    """Stack the results of several layers."""
    return tg.stack([layer(x) for layer in layers], axis=1)


class Experts(nn.Module):
    """Stacks the results of as many layers as it has."""

    def __init__(self, count: int) -> None:
        self.experts = [nn.Linear(4, 3) for _ in range(count)]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.stack([expert(x) for expert in self.experts], axis=1)


def accept_lists_of_tensors() -> None:
    assert_type(Encoding(6)(row), Tensor[Shape[L[5], L[52]], NoneTape])
    assert_type(Encoding(2, with_input=False)(row), Tensor[Shape[L[5], L[16]], NoneTape])
    assert_type(Skips((4, 8, 16))(row), Tensor[Shape[L[5], L[4]], NoneTape])
    assert_type(Experts(3)(row), Tensor[Shape[L[5], L[3], L[3]], NoneTape])
    assert_type(halves(row, 4, is_long=False), Tensor[Shape[L[5], L[12]], NoneTape])
    (growing(row) + tg.ones((5, 8))).sum()
    repeated(row, 3)
    stacked(row, [nn.Linear(4, 3), nn.Linear(4, 3)])


def reject_a_list_of_tensors() -> None:
    (Encoding(6)(row) + tg.ones((5, 48))).sum()  # E: add: x (5, 52) and y (5, 48) do not broadcast: axis -1 is 52 in x but 48 in y [tapegrad-shape]


def reject_as_many_results_as_layers() -> None:
    (Experts(3)(row) + tg.ones((5, 2, 3))).sum()  # E: add: x (5, 3, 3) and y (5, 2, 3) do not broadcast: axis -2 is 3 in x but 2 in y [tapegrad-shape]


def flattened(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Choose by the number of axes."""
    x = x[0] if x.ndim == 3 else x
    return x.reshape((-1,)) if len(x.shape) == 2 else x


def halved(x: Tensor[Any, Any], parts: int) -> Tensor[Any, Any]:
    """Unpack a number of parts."""
    first, second = tg.split(x, parts, axis=1)
    return first + second


def heads(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Unpack a shape and a comprehension."""
    b, t, _ = x.shape
    q, k = [one.reshape((b, t, 2, -1)) for one in tg.split(x, 2, axis=2)]
    return q + k


def columns(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Unpack a shape of which only the last size may be known."""
    b, t, c = x.shape
    return x.reshape((b * t, c))


def any_tensor() -> Tensor[Shape[*tuple[Any, ...], L[4]], NoneTape]:
    """Return a tensor of a number of axes that mypy does not know."""
    return tg.ones((2, 5, 4))


def accept_choices_and_unpacking() -> None:
    columns(any_tensor())
    assert_type(flattened(tg.ones((2, 3, 4))), Tensor[Shape[L[12]], NoneTape])
    assert_type(flattened(tg.ones((3,))), Tensor[Shape[L[3]], NoneTape])
    assert_type(halved(row, 2), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(heads(tg.ones((2, 3, 8))), Tensor[Shape[L[2], L[3], L[2], L[2]], NoneTape])


def block(inputs: int, outputs: int, *, normalize: bool = True) -> list[nn.Module]:
    """Return some layers."""
    layers: list[nn.Module] = [nn.Linear(inputs, outputs)]
    if normalize:
        layers.append(nn.BatchNorm1d(outputs))
    return [*layers, nn.LeakyReLU(negative_slope=0.2)]


class Generator(nn.Module):
    """Takes layers from several lists."""

    def __init__(self, latent: int, width: int) -> None:
        super().__init__()
        self.model = nn.Sequential(
            *block(latent, width, normalize=False), *block(width, 32), nn.Linear(32, int(np.prod(image_shape)))
        )

    def forward(self, z: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.model(z).reshape((-1, *image_shape))


def accept_layers_of_several_lists() -> None:
    assert_type(Generator(6, 8)(tg.ones((5, 6))), Tensor[Shape[L[5], L[1], L[4], L[4]], NoneTape])


class Sized(nn.Module, Generic[M]):
    """Has a size in its type, and another in a parameter."""

    def __init__(self, width: M, *, classes: int = 10) -> None:
        self.fall = nn.Linear(width, classes)

    def forward(self, x: Tensor[Shape[B, M], T]) -> Tensor[Shape[B, Any], T]:
        return self.fall(x)


def any_int(n: int) -> Any:
    """Return a number that mypy does not know."""
    return n


def accept_a_size_of_the_class_that_is_not_known() -> None:
    assert_type(Sized(any_int(4), classes=3)(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Sized(4, classes=3)(row), Tensor[Shape[L[5], L[3]], NoneTape])


@dataclass(frozen=True)
class Config:
    """Sizes of a model."""

    width: int = 32
    heads: int = 4
    groups: int = 4


class Normalized(nn.Module):
    """Makes layers that fit some configurations only."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = nn.MultiHeadAttention(config.width, config.heads)
        self.is_normed = config.groups > 1
        if self.is_normed:
            self.norm = nn.GroupNorm(config.groups, config.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        y = self.attention(x, x)
        return self.norm(y.transpose((0, 2, 1))) if self.is_normed else y


def accept_models_that_can_be_made() -> None:
    assert_type(Normalized(Config())(tg.ones((2, 5, 32))), Tensor[Shape[L[2], L[32], L[5]], NoneTape])
    assert_type(Normalized(Config(groups=1))(tg.ones((2, 5, 32))), Tensor[Shape[L[2], L[5], L[32]], NoneTape])
    try:
        Normalized(Config(heads=5))
    except ValueError:
        Normalized(Config(heads=8))


class Staged(nn.Module):
    """Has a first layer of another kind, and one of two heads."""

    def __init__(self, inputs: int, width: int, count: int, *, is_deep: bool) -> None:
        super().__init__()
        self.stages = [nn.Linear(width, width) if i else nn.Linear(inputs, width) for i in range(count)]
        if is_deep:
            self.head = nn.Linear(5, 3)
        else:
            self.head = nn.Linear(5, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            x = tg.relu(stage(x))
        return self.head(x)


def accept_another_first_layer() -> None:
    assert_type(Staged(4, 5, 3, is_deep=True)(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Staged(4, 5, 3, is_deep=False)(row), Tensor[Shape[L[5], L[2]], NoneTape])
    Staged(4, 5, any_int(2), is_deep=True)(row)
    layers = [nn.Linear(5, 5) if i else nn.Linear(4, 5) for i in range(any_int(2))]
    first = layers[0]
    assert_type(first(row), Tensor[Shape[L[5], L[5]], NoneTape])
    assert_type(layers[1](layers[0](row)), Tensor[Shape[L[5], L[5]], NoneTape])


class Finetuned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x)


def accept_another_layer_in_an_attribute() -> None:
    model = Finetuned()
    model.last = nn.Linear(4, 7)
    model(row) @ tg.ones((7, 2))


def reject_what_the_first_layers_do_not_give() -> None:
    Staged(4, 5, 3, is_deep=True)(row) @ tg.ones((2, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (2, 2) has 2 rows [tapegrad-shape]


def reject_what_all_layers_of_a_list_give() -> None:
    layers = [nn.Linear(5, 5) if i else nn.Linear(4, 5) for i in range(any_int(2))]
    layers[0](row) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


class Masked(nn.Module):
    """Keeps what its own methods return."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.mask = self.lower(count)
        self.mean = self.equal()

    def lower(self, n: int) -> Tensor:
        return tg.tril(tg.ones((n, n)))

    def equal(self) -> Tensor:
        return tg.ones((1, self.count)) / self.count

    def forward(self, x: Tensor) -> Tensor:
        return self.mean @ (self.mask @ x)


class Narrowed(Masked):
    """Has another method for one of the results."""

    def equal(self) -> Tensor:
        return tg.ones((2, self.count))


def accept_what_own_methods_return_to_the_constructor() -> None:
    assert_type(Masked(5)(row), Tensor[Shape[L[1], L[4]], NoneTape])
    assert_type(Narrowed(5)(row), Tensor[Shape[L[2], L[4]], NoneTape])


def reject_what_own_methods_return_to_the_constructor() -> None:
    Narrowed(5)(row) + tg.ones((3, 4))  # E: add: x (2, 4) and y (3, 4) do not broadcast: axis -2 is 2 in x but 3 in y [tapegrad-shape]


ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class Activated(nn.Module):
    """Chooses layers by name."""

    def __init__(self, width: int, first: str = "gelu", second: str = "relu") -> None:
        super().__init__()
        self.up = nn.Linear(width, 6)
        self.first = {"relu": nn.ReLU, "gelu": nn.GELU}[first]()
        self.second = ACTIVATIONS[second]()
        self.down = nn.Linear(6, 3)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.down(self.second(self.first(self.up(x))))


def accept_layers_that_are_chosen_by_name() -> None:
    assert_type(Activated(4)(row), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_a_size_behind_layers_that_are_chosen_by_name() -> None:
    Activated(4)(row) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def double_conv(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU())


class Skipping(nn.Module):
    def __init__(self, features: list[int]) -> None:
        self.downs = []
        self.ups = []
        self.convs = []
        channels = 1
        for feature in features:
            self.downs.append(nn.Conv2d(channels, feature, 3, padding=1))
            channels = feature
        self.bottleneck = double_conv(features[-1], features[-1] * 2)
        for feature in reversed(features):
            self.ups.append(nn.ConvTranspose2d(feature * 2, feature, 2, stride=2))
            self.convs.append(nn.Conv2d(feature * 2, feature, 3, padding=1))
        self.head = nn.Conv2d(features[0], 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = tg.max_pool2d(x, 2)
        x = self.bottleneck(x)
        for up, conv, skip in zip(self.ups, self.convs, reversed(skips), strict=True):
            x = conv(tg.concat([skip, up(x)], axis=1))
        return self.head(x)

    def in_order(self, x: Tensor) -> Tensor:
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        for skip in skips[::-1]:
            x = tg.concat([skip, x], axis=1)
        for index, (skip, other) in enumerate(zip(skips, reversed(skips), strict=True)):
            x = tg.concat([skip, other * float(index), x], axis=1)
        return x


images = tg.ones((2, 1, 16, 16))


def accept_skip_connections_in_a_list() -> None:
    model = Skipping([4, 8])
    assert_type(model(images), Tensor[Shape[L[2], L[2], L[16], L[16]], NoneTape])
    assert_type(model.in_order(images), Tensor[Shape[L[2], L[44], L[16], L[16]], NoneTape])


def reject_channels_behind_skip_connections() -> None:
    Skipping([4, 8])(images) @ tg.ones((15, 3))  # E: matmul: inner sizes differ: x (2, 2, 16, 16) has 16 columns but y (15, 3) has 15 rows [tapegrad-shape]

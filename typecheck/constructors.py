"""Layers whose sizes constructors compute step by step: in loops, in lists that are filled, in other methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

row = tg.ones((5, 4))
image = tg.ones((2, 3, 8, 8))


class Wide(nn.Module):
    """Assigns a parameter again, and makes layers of other sizes in a comprehension."""

    def __init__(self, sizes: list[int], out: int | None = None) -> None:
        out = out or sizes[-1]
        self.layers = nn.Sequential(*[nn.Linear(n, m) for n, m in pairwise(sizes)])
        self.head = nn.Linear(sizes[-1], out)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.head(self.layers(x))


class Listed(nn.Module):
    """Holds layers of other sizes in a list."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.layers = [nn.Linear(n, m) for n, m in zip(sizes[:-1], sizes[1:], strict=True)]  # noqa: RUF007  # the idiom under test

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        for position, layer in enumerate(self.layers):
            x = layer(x)
            if position < len(self.layers) - 1:
                x = tg.relu(x)
        return x


class Funnel(nn.Module):
    """Fills lists in loops that change a number, in a method of its own."""

    def __init__(self, width: int, depth: int) -> None:
        self.width = width
        self._build(depth)
        self.out = nn.Linear(width, 3)

    def _build(self, depth: int) -> None:
        self.downs = []
        self.ups = []
        n = self.width
        for _ in range(depth):
            self.downs.append(nn.Linear(n, 2 * n))
            n *= 2
        for _ in range(depth):
            self.ups.append(nn.Linear(n, n // 2))
            n = n // 2

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        for down in self.downs:
            x = tg.relu(down(x))
        for up in self.ups:
            x = tg.relu(up(x))
        return self.out(x)


class Block(nn.Module):
    """A block whose shortcut is a parameter."""

    expansion = 2

    def __init__(self, inputs: int, planes: int, shortcut: nn.Module | None = None) -> None:
        self.first = nn.Conv2d(inputs, planes, 3, padding=1)
        self.second = nn.Conv2d(planes, planes * self.expansion, 3, padding=1)
        self.shortcut = shortcut

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        y = self.second(tg.relu(self.first(x)))
        rest = x if self.shortcut is None else self.shortcut(x)
        return y + rest


class ResNet(nn.Module):
    """Changes an attribute in a method that its constructor calls."""

    def __init__(self, block: type[Block], counts: list[int], classes: int = 10) -> None:
        self.inputs = 4
        self.stem = nn.Conv2d(3, self.inputs, 3, padding=1)
        self.layer1 = self._stage(block, 4, counts[0])
        self.layer2 = self._stage(block, 8, counts[1])
        self.head = nn.Linear(8 * block.expansion, classes)

    def _stage(self, block: type[Block], planes: int, count: int) -> nn.Sequential:
        shortcut: nn.Module | None = None
        if count < 1 or self.inputs != planes * block.expansion:
            shortcut = nn.Sequential(nn.Conv2d(self.inputs, planes * block.expansion, 1), nn.ReLU())
        layers: list[nn.Module] = [block(self.inputs, planes, shortcut)]
        self.inputs = planes * block.expansion
        for _ in range(1, count):
            layers.append(block(self.inputs, planes))  # noqa: PERF401  # the idiom under test
        return nn.Sequential(*layers)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        x = self.layer2(self.layer1(tg.relu(self.stem(x))))
        return self.head(x.mean(axis=(2, 3)))


@dataclass
class Config:
    """Sizes, and the name of an activation."""

    width: int = 16
    activation: str = "gelu"
    sizes: list[int] = field(default_factory=lambda: [4, 8])


class Stem(nn.Module):
    """Joins lists of sizes, and chooses a size by a name."""

    def __init__(self, config: Config) -> None:
        sizes = config.sizes[1:] + [config.width]  # noqa: RUF005  # the idiom under test
        self.layers = [nn.Linear(n, m) for n, m in zip(config.sizes, sizes, strict=True)]
        self.last = nn.Linear(16, 3 if config.activation == "gelu" else 9)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def vgg(plan: list[int | str]) -> nn.Sequential:
    """Returns layers that a list of numbers and names describes."""
    layers: list[nn.Module] = []
    channels = 3
    for one in plan:
        if one == "pool":
            layers += [nn.MaxPool2d(2)]
        else:
            assert isinstance(one, int)
            layers += [nn.Conv2d(channels, one, 3, padding=1), nn.ReLU()]
            channels = one
    return nn.Sequential(*layers)


def accept_sizes_that_a_constructor_computes() -> None:
    assert_type(Wide([4, 8, 2])(row), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(Wide([4, 8, 2], 7)(row), Tensor[Shape[L[5], L[7]], NoneTape])
    assert_type(Listed((4, 8, 16, 3))(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Funnel(4, 2)(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(ResNet(Block, [1, 2])(image), Tensor[Shape[L[2], L[10]], NoneTape])
    assert_type(Stem(Config())(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Stem(Config(activation="relu"))(row), Tensor[Shape[L[5], L[9]], NoneTape])
    assert_type(vgg([8, "pool", 16])(image), Tensor[Shape[L[2], L[16], L[4], L[4]], NoneTape])


class Changed(nn.Module):
    """Changes a list of layers after it was made, and a number."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.width = 2 * self.width
        self.layers = [nn.Linear(4, width)]
        self.layers += [nn.Linear(width, 4)]

    def drop_last(self) -> None:
        self.layers.pop()
        self.width = 4

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        for layer in self.layers:
            x = layer(x)
        return x


def accept_what_another_method_changes() -> None:
    model = Changed(3)
    model.drop_last()
    (model(row) + tg.ones((5, 3))).sum()
    (row @ tg.ones((model.width, 2))).sum()


class Chosen(nn.Module):
    """Assigns to an attribute on two ways, and breaks out of a loop."""

    def __init__(self, *, is_wide: bool) -> None:
        n = 4
        if is_wide:
            n = 6
        for one in (3, 5, 7):
            if one > n:
                break
            self.width = one
        self.layer = nn.Linear(n, self.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


class Stopped(nn.Module):
    """Leaves a loop over layers, the later of which do not fit."""

    def __init__(self, sizes: list[int]) -> None:
        self.layers = [nn.Linear(4, n) for n in sizes]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        for position, layer in enumerate(self.layers):
            if position == 1:
                break
            x = layer(x)
        return x


def accept_a_break() -> None:
    (Stopped([3, 7, 9])(row) + tg.ones((5, 3))).sum()


def accept_a_choice() -> None:
    assert_type(Chosen(is_wide=False)(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Chosen(is_wide=True)(tg.ones((5, 6))), Tensor[Shape[L[5], L[5]], NoneTape])
    Chosen(is_wide=len(row) > 5)(row)


class Nested(nn.Module):
    """Changes a variable by a function inside, and a list by one outside."""

    def __init__(self) -> None:
        n = 3

        def add() -> None:
            nonlocal n
            n += 1

        n = 4
        add()
        sizes = [4, 8]
        lengthen(sizes)
        self.first = nn.Linear(4, n)
        self.last = nn.Linear(n, sizes[-1])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.last(self.first(x))


def lengthen(sizes: list[int]) -> None:
    """Changes a list."""
    sizes.append(9)


class Doubled(nn.Module):
    """Sets a property, which has another value than it is set to."""

    _half = 0

    def __init__(self, width: int) -> None:
        self.width = width
        self.layer = nn.Linear(4, self.width)

    @property
    def width(self) -> int:
        return self._half * 2

    @width.setter
    def width(self, value: int) -> None:
        self._half = value

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


class Parent(nn.Module):
    """Calls a method that a subclass overrides."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.make()

    def make(self) -> None:
        self.layer = nn.Linear(4, self.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


class Child(Parent):
    """Overrides it."""

    def __init__(self, width: int) -> None:
        width = width + 1
        super().__init__(2 * width)
        self.width = 3

    def make(self) -> None:
        self.layer = nn.Linear(4, self.width + 1)


class Popped(nn.Module):
    """Takes sizes out of a list, and catches an exception."""

    def __init__(self, text: str) -> None:
        sizes = [4, 6, 8]
        last, first = sizes.pop(), sizes.pop(0)
        n = 7
        try:
            n = int(text)
        except ValueError:
            n = 5
        self.layers = nn.Sequential(nn.Linear(first, last), nn.Linear(8, n))

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layers(x)


class Gathered(nn.Module):
    """Has a list as a default, which is one list for all calls."""

    def __init__(self, n: int, sizes: list[int] = []) -> None:  # noqa: B006
        sizes.append(n)
        self.layer = nn.Linear(len(sizes), sizes[0])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


def gathered(n: int, layers: list[nn.Module] = []) -> nn.Sequential:  # noqa: B006
    layers.append(nn.Linear(n, 3))
    return nn.Sequential(*layers)


def accept_a_list_that_all_calls_share() -> None:
    (Gathered(3)(tg.ones((5, 1))) + tg.ones((5, 3))).sum()
    (Gathered(4)(tg.ones((5, 2))) + tg.ones((5, 3))).sum()
    (gathered(4)(tg.ones((5, 4))) + tg.ones((5, 3))).sum()
    (gathered(3)(tg.ones((5, 4))) + tg.ones((5, 3))).sum()


def accept_what_other_statements_change() -> None:
    (Nested()(row) + tg.ones((5, 9))).sum()
    (Doubled(3)(row) + tg.ones((5, 6))).sum()
    assert_type(Parent(2)(row), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(Child(2)(row), Tensor[Shape[L[5], L[7]], NoneTape])
    (Popped("9")(row) + tg.ones((5, 9))).sum()


def reject_sizes_that_a_constructor_computes() -> None:
    vgg([8, 16])(tg.ones((2, 4, 8, 8)))  # E: Sequential[0] Conv2d(3, 8, 3, 1, 1): x is (2, 4, 8, 8) but (..., 3, H, W) is expected: axis -3 is 4, not 3 [tapegrad-shape]

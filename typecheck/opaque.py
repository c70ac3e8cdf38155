"""Sizes that are expressions: parameters, attributes of a configuration and of `self`, unpacked shapes."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import Mul, NoneTape, Shape, Sub, Tensor, nn

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
D = TypeVar("D", bound=int)
Item = TypeVar("Item")

DEPTH = int("2")
x = tg.ones((2, 3, 8))


@dataclass(frozen=True)
class Frozen:
    width: int
    heads: int = 2

    @property
    def head_width(self) -> int:
        return self.width // self.heads


@dataclass
class Plain:
    width: int
    heads: int = 2
    steps: int = 1


class Named(NamedTuple):
    width: int
    heads: int


class Settings:
    """Written as a class, not as an object."""

    width = 8
    depth: Final = 3


class Block(nn.Module):
    HIDDEN = 8

    def __init__(self, config: Frozen, extra: int = 0) -> None:
        self.config = config
        self.heads = config.heads
        self.head_width = config.width // self.heads
        self.wide = config.width + extra
        self.count = 2
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)
        self.short = nn.Linear(3 * config.width, config.width)
        self.constant = nn.Linear(self.HIDDEN, self.count)
        self.replaced = nn.Linear(config.width, config.width)

    def replace(self) -> None:
        self.replaced = nn.Linear(24, 8)
        self.constant(self.replaced(tg.ones((2, 24))))

    def forward(self, x: Tensor[Shape[B, T, Any]]) -> Tensor[Shape[B, T, Any]]:
        b, t, d = x.shape
        h = self.down(tg.relu(self.up(x)))
        split = h.reshape((b, t, self.heads, self.head_width)).swapaxes(1, 2)
        same = h.reshape((b, t, self.config.heads, self.config.width // self.heads)).swapaxes(1, 2)
        joined = (split + same).swapaxes(1, 2).reshape((b, t, d))
        scores = x @ x.mT / d**0.5
        assert_type(scores, Tensor[Shape[B, T, T], NoneTape])
        return scores @ (h + joined)

    def of_another(self, other: "Block", x: Tensor[Shape[B, Any]]) -> Tensor[Shape[B, Any]]:
        return other.short(self.up(x))  # they may have different widths

    def wrong(self, x: Tensor[Shape[B, Any]]) -> Tensor[Shape[B, Any]]:
        h = self.up(x)
        return self.short(h)  # E(mypy): Block.short Linear(3*config.width, config.width): x is (B, 4*config.width) but (..., 3*config.width) is expected: axis -1 is 4*config.width, not 3*config.width [tapegrad-shape]

    def wrong_attention(self, x: Tensor[Shape[B, T, Any]]) -> Tensor[Shape[B, T, Any]]:
        b, t, d = x.shape
        heads = x.reshape((b, t, self.heads, d // self.heads))
        return heads.sum(axis=2) @ tg.ones((d // self.heads + 1, 3))  # E(mypy): matmul: inner sizes differ: x (B, T, d // config.heads) has d // config.heads columns but y (d // config.heads + 1, 3) has d // config.heads + 1 rows [tapegrad-shape]


def accept_attributes_of_self() -> None:
    block = Block(Frozen(8))
    assert_type(block(x), Tensor[Shape[L[2], L[3], Any], NoneTape])
    Block(Frozen(6)).of_another(Block(Frozen(Settings.width)), tg.ones((2, 6)))
    assert_type(block.up, nn.Linear[Any, Any, L[True]])
    block.replaced = nn.Linear(3, 5)


def accept_sizes_of_a_configuration() -> None:
    def made(frozen: Frozen, plain: Plain, named: Named, args: Namespace, anything: Any, width: int, other: int) -> None:
        first = nn.Sequential(nn.Linear(frozen.width, 4 * frozen.width), nn.Linear(4 * frozen.width, 3))
        second = nn.Sequential(nn.Linear(plain.width, 4 * plain.width), nn.Linear(4 * plain.width, 3))
        third = nn.Sequential(nn.Linear(named.width, 4 * named.width), nn.Linear(named.width * 4, 3))
        fourth = nn.Sequential(nn.Linear(args.width, 4 * args.width), nn.Linear(4 * args.width, 3))
        fifth = nn.Sequential(nn.Linear(anything.width, 4 * anything.width), nn.Linear(4 * anything.width, 3))
        sixth = nn.Sequential(nn.Linear(frozen.width, frozen.head_width), nn.Linear(frozen.width // frozen.heads, 3))
        seventh = nn.Sequential(nn.Linear(width, other), nn.Linear(4 * width, 3))  # two names may be equal
        sums = first(x) + second(x) + third(x) + fourth(x) + fifth(x) + sixth(x) + seventh(x)
        assert_type(sums, Tensor[Shape[L[2], L[3], L[3]], NoneTape])
        tg.zeros((width, 5)) + tg.zeros((other // 4, 5))
        assert_type(tg.zeros((width, 3)).T @ tg.zeros((other // 4, 4)), Tensor[Shape[L[3], L[4]], NoneTape])

    made(Frozen(8), Plain(8), Named(8, 2), Namespace(width=8), Namespace(width=8), 8, 32)


def accept_the_sizes_of_objects_that_are_made_with_numbers() -> None:
    def made(width: int) -> None:
        frozen, plain, named = Frozen(8), Plain(8, heads=4), Named(heads=2, width=4)
        assert_type(tg.ones((frozen.width, frozen.heads)), Tensor[Shape[L[8], L[2]], NoneTape])
        assert_type(tg.ones((2 * plain.width, plain.heads)), Tensor[Shape[L[16], L[4]], NoneTape])
        assert_type(tg.ones((named.width // named.heads,)), Tensor[Shape[L[2]], NoneTape])
        assert_type(nn.Linear(frozen.width, named.width), nn.Linear[L[8], L[4], L[True]])
        block = Block(frozen)
        assert_type(tg.ones((block.heads, block.wide)), Tensor[Shape[L[2], L[8]], NoneTape])
        joined = frozen.width + plain.width
        assert_type(tg.ones((joined,)), Tensor[Shape[L[16]], NoneTape])
        same = frozen
        assert_type(tg.ones((same.width,)), Tensor[Shape[L[8]], NoneTape])
        opaque = Frozen(width)
        tg.ones((2, opaque.width)) @ tg.ones((width, 3)) @ tg.ones((3, opaque.heads)) @ tg.ones((2, 1))

    made(7)


@dataclass(frozen=True)
class Wider(Frozen):
    layers: int = field(default=3)
    inner: Frozen = field(default_factory=lambda: Frozen(5))
    settings: Frozen = Frozen(6, heads=3)


@dataclass
class Multiplied(nn.Module):
    """A layer whose size is a field."""

    columns: int

    def forward(self, x: Tensor) -> Tensor:
        return x @ tg.ones((self.columns, 3))


def accept_the_sizes_of_fields_and_properties() -> None:
    def made() -> None:
        wider = Wider(8)
        assert_type(tg.ones((wider.width, wider.heads, wider.layers)), Tensor[Shape[L[8], L[2], L[3]], NoneTape])
        assert_type(tg.ones((wider.head_width, wider.inner.width)), Tensor[Shape[L[4], L[5]], NoneTape])
        assert_type(tg.ones((wider.settings.head_width,)), Tensor[Shape[L[2]], NoneTape])
        assert_type(Multiplied(4)(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])

    made()


def accept_the_sizes_of_a_written_list_and_dict() -> None:
    def made() -> None:
        named, listed = {"width": 8, "heads": 2}, [3, 5]
        assert_type(tg.ones((named["width"] // named["heads"], listed[1])), Tensor[Shape[L[4], L[5]], NoneTape])

    made()


@dataclass(frozen=True)
class Widths:
    base: int = 8
    factors: list[int] = field(default_factory=lambda: [1, 2, 4])
    kernels: tuple[int, ...] = (3, 5)


class Pyramid(nn.Module):
    """Layers whose sizes are items of a list that a comprehension makes."""

    def __init__(self, config: Widths, kernels: list[int]) -> None:
        widths = [config.base * factor for factor in config.factors]
        self.up = nn.Linear(widths[0], widths[1])
        self.head = Head(widths[1], widths[-1] + kernels[1])

    def forward(self, x: Tensor) -> Tensor:
        return self.head(tg.relu(self.up(x)))


class Head(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.out = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


def accept_items_of_lists_of_sizes() -> None:
    def made() -> None:
        config = Widths()
        widths = [config.base * factor for factor in config.factors]
        assert_type(tg.ones((widths[1], widths[-1])), Tensor[Shape[L[16], L[32]], NoneTape])
        pairs = [n + m for n, m in zip(widths[1:], config.kernels)]  # noqa: B905  # the lengths are the same
        assert_type(tg.ones((pairs[0], pairs[1])), Tensor[Shape[L[19], L[37]], NoneTape])
        numbered = [n * i for i, n in enumerate(widths)]
        assert_type(tg.ones((numbered[2],)), Tensor[Shape[L[64]], NoneTape])
        assert_type(Pyramid(config, [1, 2])(tg.ones((2, 8))), Tensor[Shape[L[2], L[34]], NoneTape])
        assert_type(Pyramid(Widths(4, [1, 3]), [1, 2])(tg.ones((2, 4))), Tensor[Shape[L[2], L[14]], NoneTape])

    made()


class Image(NamedTuple):
    channels: int = 1
    rows: int = 8


class Unflattened(nn.Module):
    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape((x.shape[0], *self.shape))


def accept_shapes_in_variables() -> None:
    def made() -> None:
        image = Image()
        shape = (image.channels, image.rows, image.rows)
        count = int(np.prod(shape))
        assert_type(tg.ones((2, count)), Tensor[Shape[L[2], L[64]], NoneTape])
        assert_type(tg.ones((2, 64)).reshape((2, *shape)), Tensor[Shape[L[2], L[1], L[8], L[8]], NoneTape])
        assert_type(tg.ones((2, *shape[1:])), Tensor[Shape[L[2], L[8], L[8]], NoneTape])
        assert_type(Unflattened((4, 16))(tg.ones((2, 64))), Tensor[Shape[L[2], L[4], L[16]], NoneTape])

    made()


def reject_a_shape_in_a_variable() -> None:
    def made(shape: tuple[int, int]) -> None:
        tg.ones(shape) @ tg.ones((2 * shape[1], 3))  # E(mypy): matmul: inner sizes differ: x (shape[0], shape[1]) has shape[1] columns but y (2*shape[1], 3) has 2*shape[1] rows [tapegrad-shape]

    assert callable(made)  # a call would show its sizes


def accept_items_of_lists_that_change() -> None:
    def made(sizes: list[int], config: Widths) -> None:
        changed, sorted_later = [8, 16], [4, 2]
        changed[0] = 3
        sorted_later.sort()
        sizes.reverse()
        tg.ones((2, changed[0])) @ tg.ones((3, 1))
        tg.ones((2, sorted_later[0])) @ tg.ones((2, 1))
        tg.ones((2, sizes[0])) @ tg.ones((sizes[1], 1))
        chosen = [n for n in (8, 16) if n > 8]
        tg.ones((2, chosen[0])) @ tg.ones((16, 1))
        tg.ones((2, config.factors[0])) @ tg.ones((config.factors[1], 1))

    made([1, 1], Widths(factors=[1, 1]))


def reject_items_of_lists_of_sizes() -> None:
    def made(sizes: list[int]) -> None:
        widths = [8 * factor for factor in (1, 2, 4)]
        tg.ones((2, widths[0])) @ tg.ones((widths[1], 3))  # E(mypy): matmul: inner sizes differ: x (2, 8) has 8 columns but y (16, 3) has 16 rows [tapegrad-shape]
        tg.ones((2, sizes[0])) @ tg.ones((2 * sizes[0], 3))  # E(mypy): matmul: inner sizes differ: x (2, sizes[0]) has sizes[0] columns but y (2*sizes[0], 3) has 2*sizes[0] rows [tapegrad-shape]

    made([1, 2])


def reject_items_of_lists_of_a_configuration() -> None:
    Pyramid(Widths(), [1, 2])(tg.ones((2, 8))) @ tg.ones((8, 3))  # E: matmul: inner sizes differ: x (2, 34) has 34 columns but y (8, 3) has 8 rows [tapegrad-shape]


def reject_the_sizes_of_objects_that_are_made_with_numbers() -> None:
    def with_property() -> None:
        config = Wider(8)
        tg.ones((2, config.width)) @ tg.ones((config.head_width, 3))  # E(mypy): matmul: inner sizes differ: x (2, 8) has 8 columns but y (4, 3) has 4 rows [tapegrad-shape]

    def with_items() -> None:
        sizes = {"width": 8}
        tg.ones((2, 3)) @ tg.ones((sizes["width"], 3))  # E(mypy): matmul: inner sizes differ: x (2, 3) has 3 columns but y (8, 3) has 8 rows [tapegrad-shape]

    with_property()


def reject_another_number_of_a_configuration() -> None:
    config = Frozen(8)
    nn.Linear(config.width, 3)(tg.ones((2, 7)))  # E: Linear(8, 3): x is (2, 7) but (..., 8) is expected: axis -1 is 7, not 8 [tapegrad-shape]


def accept_a_size_that_is_assigned_again() -> None:
    def made(config: Plain, n: int, flag: bool) -> None:  # noqa: FBT001  # a condition
        for step in range(2):
            config.steps = 3 * config.steps
            size = step + 1
            row = tg.zeros((size, config.steps))
            if step > 1:
                row @ tg.zeros((3 * size, 1))
        n = 3 * n
        tg.zeros((2, n)) @ tg.zeros((n, 2))
        if flag:
            n = 5
        tg.zeros((2, n)) @ tg.zeros((5, 2))

    made(Plain(8), 1, flag=True)
    again = Plain(2)
    tg.ones((again.width, 3)) + tg.ones((2, 3))
    again = Plain(3)
    tg.ones((again.width, 3)) + tg.ones((3, 3))


def accept_what_takes_any_size_later() -> None:
    class Box(Generic[Item]):
        def __init__(self, item: Item) -> None:
            self.item = item

        def put(self, item: Item) -> None:
            self.item = item

    def made(width: int, flag: bool) -> None:  # noqa: FBT001  # a name that is narrowed
        layers = [nn.Linear(width, width)]
        layers.append(nn.Linear(8, 3))
        layers[0] = nn.Linear(2, 8)
        layers += [nn.Linear(3, 7)]
        named = {"a": nn.Linear(width, width)}
        named["b"] = nn.Linear(3, 3)
        rows = []
        rows.append(tg.ones((width, 3)))
        rows.append(tg.ones((3, 5)))
        box = Box(nn.Linear(width, width))
        box.put(nn.Linear(3, 3))
        box.item = nn.Linear(4, 4)
        one = nn.Linear(width, width) if flag else nn.Linear(3, 3)
        one = nn.Linear(8, 5)
        y = one(layers[1](layers[0](tg.ones((1, 2)))) @ tg.ones((3, 8)))
        assert_type(y, Tensor[Shape[L[1], L[5]], NoneTape])

    call: Callable[..., None] = made  # of which mypy reads no body
    call(8, flag=True)


class Residual(nn.Module):
    """A block whose input has a name: the first layer says that it is the width of the configuration."""

    def __init__(self, config: Plain, flag: bool) -> None:  # noqa: FBT001  # a condition
        self.norm = nn.LayerNorm(config.width)
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)
        self.flag = flag

    def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
        assert_type(self.down(self.up(x)) + x, Tensor[Shape[B, D], NoneTape])
        y = x + self.down(self.up(self.norm(x)))
        assert_type(y, Tensor[Shape[B, D], NoneTape])
        return y

    def once_more(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
        y = self.norm(x)  # the same call as in another method
        assert_type(x + y, Tensor[Shape[B, D], NoneTape])
        return y

    def perhaps(self, x: Tensor[Shape[B, D]]) -> None:
        if self.flag:
            h = self.norm(x)
            assert_type(h + x, Tensor[Shape[B, D], NoneTape])
        z = self.norm(x) if self.flag else x
        either = self.down(tg.ones((1, 4))) if self.flag else z
        tg.reveal_shape(either)
        assert_type(x + self.down(self.up(tg.ones((2, 8))))[:1], Tensor[Shape[B, Any], NoneTape])


    def of_two_names(self, x: Tensor[Shape[B, D]], y: Tensor[Shape[B, T]]) -> Tensor[Shape[B, L[4]]]:
        h = self.norm(x)
        z = self.norm(y)  # D and T are one size then
        return (h + z + x + y) @ tg.ones((y.shape[1], 4))


def accept_a_size_that_a_layer_says() -> None:
    block = Residual(Plain(8), flag=False)
    assert_type(block.once_more(block(tg.ones((2, 8)))), Tensor[Shape[L[2], L[8]], NoneTape])
    block.perhaps(tg.ones((2, 8)))
    block.of_two_names(tg.ones((2, 8)), tg.ones((2, 8)))


class Widened(nn.Module):
    """A block whose first layer takes one feature more than the width of the configuration."""

    def __init__(self, config: Plain) -> None:
        self.config = config
        self.first = nn.Linear(config.width + 1, config.width)
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)
        self.same = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, Sub[D, L[1]]]]:
        y = self.first(x)
        assert_type(y, Tensor[Shape[B, Sub[D, L[1]]], NoneTape])
        assert_type(self.up(y), Tensor[Shape[B, Sub[Mul[L[4], D], L[4]]], NoneTape])
        assert_type(tg.assert_shape(x, (x.shape[0], self.config.width + 1)), Tensor[Shape[B, D], NoneTape])
        return self.down(self.up(y))

    def of_two_names(self, x: Tensor[Shape[B, D]], y: Tensor[Shape[B, T]]) -> Tensor[Shape[B, T]]:
        self.same(x)
        return self.same(self.same(y))  # D and T are one size then

    def of_two_names_again(self, x: Tensor[Shape[B, D]], y: Tensor[Shape[B, T]]) -> Tensor[Shape[B, T]]:
        self.same(x)
        return self.same(y if self.config.steps else self.same(y))

    def may_be_one(self) -> Tensor[Shape[L[3], Any]]:
        return tg.ones((3, self.config.width)) + tg.ones((self.config.width + 1,))


def accept_a_size_that_a_layer_says_of_another() -> None:
    assert_type(Widened(Plain(8))(tg.ones((2, 9))), Tensor[Shape[L[2], L[8]], NoneTape])
    Widened(Plain(8)).of_two_names(tg.ones((2, 8)), tg.ones((2, 8)))
    Widened(Plain(8)).of_two_names_again(tg.ones((2, 8)), tg.ones((2, 8)))
    Widened(Plain(1)).may_be_one()


def reject_an_input_that_an_earlier_layer_rules_out() -> None:
    class Again(nn.Module):
        def __init__(self, config: Plain) -> None:
            self.norm = nn.LayerNorm(config.width)
            self.up = nn.Linear(config.width + 1, 3)

        def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, L[3]]]:
            return self.up(self.norm(x))  # E(mypy): Again.up Linear(config.width + 1, 3): x is (B, D) but (..., D + 1) is expected: axis -1 is D, not D + 1 [tapegrad-shape]

    Again(Plain(8))(tg.ones((2, 8)))


def reject_the_layers_of_an_attribute_once() -> None:
    class Wired(nn.Module):
        def __init__(self, width: int) -> None:
            self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(3, width))  # E(mypy): Sequential[2] Linear(3, width): x is (..., 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

        def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
            return self.layers[1](x)

    Wired(5)


def reject_a_result_that_a_layer_widens() -> None:
    class Wide(nn.Module):
        def __init__(self, config: Plain) -> None:
            self.norm = nn.LayerNorm(config.width)
            self.up = nn.Linear(config.width, 4 * config.width)

        def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
            return self.up(self.norm(x))  # E(mypy): Wide.forward: the result is (B, 4*D) but (B, D) is expected: axis 1 is 4*D, not D [return-value]

    Wide(Plain(8))(tg.ones((2, 8)))


def reject_a_claim_that_a_layer_rules_out() -> None:
    class Claimed(nn.Module):
        def __init__(self, config: Plain) -> None:
            self.config = config
            self.norm = nn.LayerNorm(config.width)

        def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
            x = self.norm(x)
            return tg.assert_shape(x, (x.shape[0], self.config.width + 1))  # E(mypy): assert_shape: x is (B, D) but (B, config.width + 1) is expected: axis 1 is D, not config.width + 1 [tapegrad-shape]

    Claimed(Plain(8))(tg.ones((2, 8)))


def reject_a_claim_that_no_size_fulfils() -> None:
    def claimed(width: int) -> None:
        tg.assert_same(2 * width, 7)  # E(mypy): assert_same: 2*width is not 7 [tapegrad-shape]

    assert callable(claimed)  # a call would show its sizes


def reject_twice_the_size_that_a_layer_says() -> None:
    class Doubled(nn.Module):
        def __init__(self, config: Plain) -> None:
            self.norm = nn.LayerNorm(config.width)
            self.up = nn.Linear(config.width, 2 * config.width)

        def forward(self, x: Tensor[Shape[B, D]]) -> Tensor[Shape[B, D]]:
            y = self.norm(x)
            return y + self.up(y)  # E(mypy): add: x (B, D) and y (B, 2*D) do not broadcast: axis -1 is D in x but 2*D in y [tapegrad-shape]

    Doubled(Plain(8))(tg.ones((2, 8)))


def accept_the_length_of_what_does_not_change() -> None:
    def made(words: str, ids: tuple[int, ...], rows: list[int]) -> None:
        count = len(words)
        table = nn.Sequential(nn.Linear(3, 2 * len(words)), nn.Linear(2 * count, len(ids)))
        assert_type(table(tg.ones((2, 3))) @ tg.ones((len(ids), 5)), Tensor[Shape[L[2], L[5]], NoneTape])
        rows.append(1)
        assert_type(max(len(words), len(ids)), int)
        assert_type(tg.ones((2, len(rows))), Tensor[Shape[L[2], Any], NoneTape])

    def written(words: str) -> None:
        words = words.upper() + "a"
        assert_type(tg.ones((len(words),)), Tensor[Shape[Any], NoneTape])

    made("abc", (1, 2, 3), [3])
    written("b")


def accept_the_length_of_a_list_that_is_only_read() -> None:
    def read(words: list[str], changed: list[str]) -> None:
        letters = sorted({letter for word in words for letter in word})
        index = {letter: number for number, letter in enumerate(letters)}
        table = nn.Sequential(nn.Embedding(len(letters), 3), nn.Linear(3, 2 * len(index)))
        assert_type(table(tg.arange(4)) @ tg.ones((2 * len(index), 5)), Tensor[Shape[L[4], L[5]], NoneTape])
        changed.append("c")
        assert_type(tg.ones((2, len(changed))), Tensor[Shape[L[2], Any], NoneTape])
        assert ", ".join(words)
        assert set(words).union(letters)
        assert_type(tg.ones((2, len(words))) @ tg.ones((len(words), 5)), Tensor[Shape[L[2], L[5]], NoneTape])

    read(["ab", "cd"], ["a"])


TEXT = "hello world"


def accept_the_number_of_letters_of_a_text() -> None:
    letters = sorted(set(TEXT))
    count = len(set(TEXT))
    embed = nn.Embedding(len(letters), 3)
    assert_type(tg.ones((2, len(letters))), Tensor[Shape[L[2], L[8]], NoneTape])
    assert_type(tg.ones((2, count)), Tensor[Shape[L[2], L[8]], NoneTape])
    padded = ["<pad>", *letters]
    assert_type(tg.ones((2, len(padded))), Tensor[Shape[L[2], L[9]], NoneTape])
    assert_type(embed(tg.arange(4)), Tensor[Shape[L[4], L[3]], NoneTape])


def accept_tensors_of_lists_that_are_only_read() -> None:
    def read(numbers: list[float]) -> None:
        assert_type(tg.tensor(numbers) @ tg.ones((len(numbers), 2)), Tensor[Shape[L[2]], NoneTape])
        assert_type(tg.tensor([2.0 * n for n in numbers]) @ tg.ones((len(numbers), 2)), Tensor[Shape[L[2]], NoneTape])

    index = {letter: number for number, letter in enumerate(sorted(set(TEXT)))}
    assert_type(tg.tensor([[index[letter] for letter in "hello"]]), Tensor[Shape[L[1], L[5]], NoneTape, np.int64])
    read([1.0, 2.0, 3.0])


def reject_one_letter_more() -> None:
    index = {letter: number for number, letter in enumerate(sorted(set(TEXT)))}
    tg.tensor([index[letter] for letter in "hello"]) * tg.arange(6)  # E(mypy): mul: x (5,) and y (6,) do not broadcast: axis -1 is 5 in x but 6 in y [tapegrad-shape]


def reject_one_word_more(words: list[str] = ["a", "b"]) -> None:  # noqa: B006  # it is only read
    tg.ones((2, len(words))) @ tg.ones((len(words) + 1, 5))  # E(mypy): matmul: inner sizes differ: x (2, len(words)) has len(words) columns but y (len(words) + 1, 5) has len(words) + 1 rows [tapegrad-shape]


def accept_names_for_an_unknown_shape() -> None:
    def read(x: Tensor[Any], y: Tensor[Shape[Any, L[5]]]) -> None:
        b, n, h, d = x.shape
        rows = x.reshape((b * n, h * d))
        assert_type(tg.ones((7, b * n)) @ rows @ tg.ones((h * d, 5)), Tensor[Shape[L[7], L[5]], NoneTape])
        assert_type(x.reshape((b, n, h // 2, 2, d)).ndim, int)
        count, _ = y.shape
        assert_type(tg.ones((3, count)) @ y / count**0.5, Tensor[Shape[L[3], L[5]], NoneTape])
        rows = y.shape[0]
        assert_type(tg.ones((3, rows)) @ y, Tensor[Shape[L[3], L[5]], NoneTape])
        assert_type(tg.ones((3, y.shape[0])) @ y, Tensor[Shape[L[3], L[5]], NoneTape])
        z = tg.relu(y + tg.ones((1, 5)))
        z = z * 2.0
        n = z.shape[-2]
        assert_type(nn.Linear(n, 3)(z.T), Tensor[Shape[L[5], L[3]], NoneTape])
        sizes = [count, h]
        sizes.append(3)

    read(tg.ones((2, 3, 4, 5)), tg.ones((2, 5)))


def accept_a_size_beside_none() -> None:
    def empty(n: int) -> None:
        tg.zeros((2, n)) @ tg.zeros((0, 3))

    def stepped(n: int) -> None:
        tg.unfold(x, axis=2, size=4, step=-n)

    empty(0)
    stepped(-2)


def reject_a_hidden_width_of_a_configuration() -> None:
    def made(config: Plain) -> None:
        nn.Sequential(nn.Linear(config.width, 4 * config.width), nn.Linear(3 * config.width, 2))  # E(mypy): Sequential[1] Linear(3*config.width, 2): x is (..., 4*config.width) but (..., 3*config.width) is expected: axis -1 is 4*config.width, not 3*config.width [tapegrad-shape]

    assert callable(made)  # a call would show its sizes


def reject_a_hidden_width_of_arguments() -> None:
    def made(args: Namespace) -> None:
        hidden = args.hidden
        h = nn.Linear(8, 2 * hidden)(x)
        nn.Linear(args.hidden, 2)(h)  # E(mypy): Linear(args.hidden, 2): x is (2, 3, 2*args.hidden) but (..., args.hidden) is expected: axis -1 is 2*args.hidden, not args.hidden [tapegrad-shape]

    assert callable(made)  # a call would show its sizes


def reject_a_size_of_an_unknown_shape() -> None:
    def read(x: Tensor[Any]) -> None:
        b, n, h, d = x.shape
        x.reshape((b, n, h, 2, d))  # E(mypy): reshape: x (b, n, h, d) has b*d*h*n elements but shape (b, n, h, 2, d) has 2*b*d*h*n [tapegrad-shape]

    assert callable(read)  # a call would show its sizes


def reject_one_more_than_an_axis_has() -> None:
    def read(x: Tensor[Shape[Any, L[5]]], y: Tensor[Shape[Any, L[5]]]) -> None:
        n = x.shape[0]
        tg.ones((3, n + 1)) @ x  # E(mypy): matmul: inner sizes differ: x (3, n + 1) has n + 1 columns but y (n, 5) has n rows [tapegrad-shape]
        tg.ones((3, 2 * y.shape[0])) @ y  # E(mypy): matmul: inner sizes differ: x (3, 2*y.shape[0]) has 2*y.shape[0] columns but y (y.shape[0], 5) has y.shape[0] rows [tapegrad-shape]

    assert callable(read)  # a call would show its sizes


def reject_a_parameter_and_one_more() -> None:
    def read(width: int) -> None:
        tg.zeros((2, width)) @ tg.zeros((width + 1, 3))  # E(mypy): matmul: inner sizes differ: x (2, width) has width columns but y (width + 1, 3) has width + 1 rows [tapegrad-shape]

    assert callable(read)  # a call would show its sizes


def reject_a_length() -> None:
    def made(words: str) -> None:
        nn.Linear(3, len(words) + 1)(tg.ones((2, 3))) @ tg.ones((len(words), 2))  # E(mypy): matmul: inner sizes differ: x (2, len(words) + 1) has len(words) + 1 columns but y (len(words), 2) has len(words) rows [tapegrad-shape]

    assert callable(made)  # a call would show its sizes


def reject_a_fact_about_a_parameter() -> None:
    def read(width: int, heads: int) -> None:
        tg.assert_divides(heads, width)
        y = tg.zeros((2, heads, width // heads)).reshape((2, width))
        y @ tg.ones((2 * heads * (width // heads), 3))  # E(mypy): matmul: inner sizes differ: x (2, width) has width columns but y (2*width, 3) has 2*width rows [tapegrad-shape]

    assert callable(read)  # a call would show its sizes


def reject_an_opaque_axis() -> None:
    def read(axis: int, k: int) -> None:
        x.sum(axis) @ tg.ones((8, 3))
        tg.tensordot(tg.ones((3, 3)), tg.ones((3, 3)), axis)
        tg.concat([x, x], axis)
        tg.flip(x, (axis, 0))
        x[k], x[:, k:], x[k, :k]
        tg.ones((2, 3)) @ tg.ones((2, 3))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows [tapegrad-shape]

    read(1, 1)


def accept_fewer_columns_than_a_slice_may_have() -> None:
    def window(rows: Tensor[Shape[B, D], NoneTape], start: int) -> None:
        part = rows[:, start : start + 3]
        assert_type(part.reshape((rows.shape[0], 2)), Tensor[Shape[B, L[2]], NoneTape])

    window(tg.ones((2, 8)), 6)


def reject_more_columns_than_a_slice_has() -> None:
    def window(rows: Tensor[Shape[B, D], NoneTape], start: int) -> None:
        rows[:, start : start + 3].reshape((rows.shape[0], 4))  # E(mypy): reshape: x (B, D[slice(start, start + 3)]) has B*D[slice(start, start + 3)] elements but shape (B, 4) has 4*B [tapegrad-shape]

    window(tg.ones((2, 8)), 3)


def accept_sizes_that_a_layer_of_unknown_sizes_keeps(count: Any = 8) -> None:
    rows = tg.ones((3, 8))
    assert_type(nn.LayerNorm(count)(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(nn.Sequential(nn.RMSNorm(count), nn.ReLU())(rows), Tensor[Shape[L[3], L[8]], NoneTape])


def reject_a_size_that_a_layer_of_unknown_sizes_keeps(count: Any = 8) -> None:
    nn.LayerNorm(count)(tg.ones((3, 8))) @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (7, 2) has 7 rows [tapegrad-shape]


Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]


def counted(rows: int) -> Matrix:
    return np.argwhere(np.eye(rows) > 0).astype(np.float32)


def accept_unknown_sizes_of_variables() -> None:
    rows, others = tg.tensor(counted(3)), tg.tensor(counted(3))
    rows.T @ rows
    rows.T @ others
    rows + others


def accept_unknown_sizes_of_a_loop() -> None:
    last = tg.tensor(counted(2))
    for matrix in [counted(3), counted(4)]:
        rows = tg.tensor(matrix)
        tg.pad(last, ((0, 1), (0, 0))).T @ rows
        last = rows


def accept_unknown_sizes_that_a_list_passes_on() -> None:
    kept: list[Tensor] = []
    for matrix in [counted(3), counted(4)]:
        rows = tg.tensor(matrix)
        if kept:
            tg.pad(kept[-1], ((0, 1), (0, 0))).T @ rows
        kept.append(rows)


def accept_unknown_sizes_that_a_dictionary_passes_on() -> None:
    kept = {"rows": tg.tensor(counted(2))}
    for matrix in [counted(3), counted(4)]:
        rows = tg.tensor(matrix)
        tg.pad(kept["rows"], ((0, 1), (0, 0))).T @ rows
        kept["rows"] = rows


def accept_unknown_sizes_that_the_outer_loop_passes_on() -> None:
    last = tg.tensor(counted(1))
    for start in (2, 4):
        for count in (start, start + 1):
            rows = tg.tensor(counted(count))
            if count == start:
                tg.pad(last, ((0, 1), (0, 0))).T @ rows
        last = rows


def accept_unknown_sizes_that_a_branch_passes_on() -> None:
    last = tg.tensor(counted(2))
    for turn, count in enumerate((3, 4)):
        rows = tg.tensor(counted(count))
        if turn == 1:
            tg.pad(last, ((0, 1), (0, 0))).T @ rows
        if turn == 0:
            last = rows


def counted_twice(counts: list[int]) -> Iterator[tuple[Tensor, Tensor]]:
    for count in counts:
        yield tg.tensor(counted(count)), tg.tensor(counted(count + 1))


def accept_unknown_sizes_of_items() -> None:
    for rows, more in counted_twice([3, 4]):
        tg.pad(rows, ((0, 1), (0, 0))).T @ more


def accept_unknown_sizes_of_items_that_are_passed_on() -> None:
    last = tg.tensor(counted(3))
    for rows, more in counted_twice([3, 4]):
        last.T @ rows
        last = more


def reject_one_row_more_of_an_item() -> None:
    for rows, _ in counted_twice([3, 4]):
        rows.T @ tg.pad(rows, ((0, 1), (0, 0)))  # E(mypy): matmul: inner sizes differ: x (2, rows.shape[0]) has rows.shape[0] columns but y (rows.shape[0] + 1, 2) has rows.shape[0] + 1 rows [tapegrad-shape]


def reject_one_row_more_in_a_turn() -> None:
    total, seen = 0.0, 0
    while seen < 2:
        rows = tg.tensor(counted(3))
        seen += 1
        total += rows.sum().item()
        rows.T @ tg.pad(rows, ((0, 1), (0, 0)))  # E(mypy): matmul: inner sizes differ: x (2, rows.shape[0]) has rows.shape[0] columns but y (rows.shape[0] + 1, 2) has rows.shape[0] + 1 rows [tapegrad-shape]


def accept_unknown_sizes_of_a_variable_that_is_assigned_again() -> None:
    rows = tg.tensor(counted(3))
    columns = tg.pad(rows, ((0, 1), (0, 0))).T
    rows = tg.tensor(counted(4))
    columns @ rows


def accept_unknown_sizes_that_are_asserted() -> None:
    rows = tg.tensor(counted(3))
    assert_type(rows, Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_shape_asserted_of_opaque_sizes(width: int = 5) -> None:
    rows = tg.tensor(counted(3))
    tg.assert_shape(rows, (3, 2))
    assert_type(rows + 1.0, Tensor[Shape[L[3], L[2]], NoneTape])
    wide = tg.ones((width, 8))
    tg.assert_shape(wide, (5, 8))
    assert_type(wide.T, Tensor[Shape[L[8], L[5]], NoneTape])


def reject_another_size_than_is_asserted(width: int = 5) -> None:
    wide = tg.ones((2, width))
    tg.assert_shape(wide, (2, 5))
    wide @ tg.ones((6, 1))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (6, 1) has 6 rows [tapegrad-shape]


def reject_one_row_more() -> None:
    rows = tg.tensor(counted(3))
    rows.T @ tg.pad(rows, ((0, 1), (0, 0)))  # E(mypy): matmul: inner sizes differ: x (2, rows.shape[0]) has rows.shape[0] columns but y (rows.shape[0] + 1, 2) has rows.shape[0] + 1 rows [tapegrad-shape]


def with_one_row_more(rows: Tensor) -> Tensor:
    return tg.pad(rows, ((0, 1), (0, 0)))


def accept_unknown_sizes_of_results() -> None:
    rows, others = tg.tensor(counted(4)), tg.tensor(counted(4))
    more = with_one_row_more(rows)
    more_others = with_one_row_more(others)
    more.T @ more_others


def accept_the_only_element_of_some_sizes(width: int = 1) -> None:
    tg.ones((width, 1)).item()
    tg.ones((width, width)).item()


def reject_an_even_number_of_elements(width: int = 3) -> None:
    tg.ones((width, 2)).item()  # E(mypy): item: a tensor of shape (width, 2) has 2*width elements, not one [tapegrad-shape]


def padded(rows: list[list[int]], width: int | None = None) -> np.ndarray:
    table = np.full((len(rows), width or max(map(len, rows))), 0)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


def encoded(words: list[str]) -> Tensor[Any, Any, Any]:
    return tg.tensor(padded([list(map(ord, word)) for word in words], 6))


def with_a_row_for_each(words: list[str]) -> Tensor[Any, Any, Any]:
    return tg.zeros((len(words), 6))


class Encoder:
    def encode(self, words: list[str]) -> Tensor[Any, Any, Any]:
        return encoded(words)


TABLE = counted(3)


def accept_a_list_that_a_function_passes_on(words: list[str] = ["a", "bc"]) -> None:  # noqa: B006 - only read
    rows = encoded(words)
    assert_type(rows.T @ tg.ones((len(words), 3), np.int64), Tensor[Shape[L[6], L[3]], NoneTape, np.int64])
    assert_type(with_a_row_for_each(words).T @ tg.ones((len(words), 2)), Tensor[Shape[L[6], L[2]], NoneTape])


def reject_one_word_less(words: list[str] = ["a", "bc"]) -> None:  # noqa: B006 - only read
    with_a_row_for_each(words).T @ tg.ones((len(words) - 1, 3))  # E(mypy): matmul: inner sizes differ: x (6, len(words)) has len(words) columns but y (len(words) - 1, 3) has len(words) - 1 rows [tapegrad-shape]


def reject_one_of_many_words_less() -> None:
    words = [str(n) for n in range(150)]
    Encoder().encode(words).T @ tg.ones((149, 3), np.int64)  # E(mypy): matmul: inner sizes differ: x (6, 150) has 150 columns but y (149, 3) has 149 rows [tapegrad-shape]


def reject_one_row_more_of_an_array() -> None:
    rows, columns = counted(3).shape
    tg.ones((2, rows)) @ tg.ones((rows + 1, columns))  # E(mypy): matmul: inner sizes differ: x (2, rows) has rows columns but y (rows + 1, columns) has rows + 1 rows [tapegrad-shape]


def reject_another_width_of_an_array(table: np.ndarray = TABLE) -> None:
    rows, columns = table.shape
    tg.tensor(table) @ tg.ones((columns + 1, rows))  # E(mypy): matmul: inner sizes differ: x (rows, columns) has columns columns but y (columns + 1, rows) has columns + 1 rows [tapegrad-shape]


def reject_a_layer_for_other_columns(m: np.ndarray = TABLE) -> None:
    nn.Linear(3, m.shape[1])(tg.ones((2, 3))) @ tg.ones((m.shape[1] + 1, 2))  # E(mypy): matmul: inner sizes differ: x (2, m.shape[1]) has m.shape[1] columns but y (m.shape[1] + 1, 2) has m.shape[1] + 1 rows [tapegrad-shape]


def accept_an_array_of_either_rank(table: np.ndarray = TABLE) -> None:
    if table.ndim == 1:
        assert_type(tg.tensor(table), Tensor[Any, NoneTape, Any])
    else:
        rows, _ = table.shape
        assert_type(tg.tensor(table), Tensor[Any, NoneTape, Any])
        tg.ones((2, rows)) @ tg.ones((len(table), 3))


def drawn(generator: np.random.Generator, count: int = 4) -> Tensor[Any, Any, Any]:
    return with_a_row_for_each([str(generator.integers(10)) for _ in range(count)])


def reject_one_row_less_than_is_drawn() -> None:
    drawn(np.random.default_rng(0)).T @ tg.ones((3, 2))  # E(mypy): matmul: inner sizes differ: x (6, 4) has 4 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_two_rows_for_a_word(word: str = "a") -> None:
    with_a_row_for_each([word]).T @ tg.ones((2, 2))  # E(mypy): matmul: inner sizes differ: x (6, 1) has 1 columns but y (2, 2) has 2 rows [tapegrad-shape]


def centered(rows: np.ndarray) -> Tensor[Any, Any, Any]:
    large = rows[rows[:, 0] > 0]
    return tg.tensor(large) - tg.ones((len(large), 1))


def accept_rows_that_their_values_choose() -> None:
    assert_type(centered(counted(4)).sum(axis=0), Tensor[Shape[L[2]], NoneTape])
    left, right = np.nonzero(counted(4) > 0)
    tg.ones((len(left), 3)).T @ tg.ones((right.shape[0], 2))


def reject_one_row_more_than_is_chosen() -> None:
    table = np.zeros((4, 2), np.float32) + 1
    large = table[table[:, 0] > 0]
    tg.tensor(large).T @ tg.ones((len(large) + 1, 3))  # E(mypy): matmul: inner sizes differ: x (2, large.shape[0]) has large.shape[0] columns but y (large.shape[0] + 1, 3) has large.shape[0] + 1 rows [tapegrad-shape]


@dataclass
class Patched:
    image: int = 12
    patch: int = 3

    @property
    def side(self) -> int:
        """Patches along an axis."""
        return self.image // self.patch

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2


def accept_a_size_that_a_property_computes(config: Patched = Patched()) -> None:  # noqa: B008 - only read
    tg.ones((2, config.patches)) @ tg.ones((config.side * config.side, 3))


def reject_one_patch_more(c: Patched = Patched()) -> None:  # noqa: B008 - only read
    tg.ones((2, c.side + 1)) @ tg.ones((c.side, 3))  # E(mypy): matmul: inner sizes differ: x (2, c.image // c.patch + 1) has c.image // c.patch + 1 columns but y (c.image // c.patch, 3) has c.image // c.patch rows [tapegrad-shape]

"""Functions and methods whose annotations say less than their bodies, which mypy reads if they are in the same file."""

import copy
from argparse import Namespace
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
D = TypeVar("D", bound=int)
T = TypeVar("T", bound=Tape)

rows = tg.ones((3, 8))


@dataclass(frozen=True)
class Config:
    width: int
    hidden: int


def scaled(x: Tensor[Any, Any], factor: float) -> Tensor[Any, Any]:
    """Assigns, and rebinds."""
    y = x * factor
    y += 1.0
    return y


def repeated(x: Tensor[Any, Any], times: int) -> Tensor[Any, Any]:
    for _ in range(times):
        x = scaled(x, 0.5)
    return x


def batches(x: Tensor[Any, Any], y: Tensor[Any, Any], batch: int) -> Iterator[tuple[Tensor[Any, Any], Tensor[Any, Any]]]:
    for start in range(0, len(x), batch):
        yield x[start : start + batch], y[start : start + batch]


def endless(x: Tensor[Any, Any]) -> Generator[Tensor[Any, Any], None, None]:
    while True:
        yield x


def never_run(x: Tensor[Any, Any]) -> Iterator[Tensor[Any, Any]]:
    yield x @ tg.ones((7, 2))


def echoed(x: Tensor[Any, Any]) -> Generator[Tensor[Any, Any], Tensor[Any, Any], None]:
    y = yield x
    yield y


def doubled_rows(x: Tensor[Any, Any], times: int) -> Tensor[Any, Any]:
    for _ in range(times):
        x = tg.concat((x, x), axis=0)
    return x


def widened(x: Tensor[Shape[B, Any], T]) -> Tensor[Shape[B, Any], Any]:
    b, d = x.shape
    return tg.concat((x, tg.ones((b, d + 1))), axis=1)


def one_of_two(x: Tensor[Any, Any], *, rows: bool) -> Tensor[Any, Any]:
    return x.sum(axis=0) if rows else x


def early(x: Tensor[Any, Any], *, summed: bool) -> Tensor[Any, Any]:
    if summed:
        return x.sum()
    return x


def masked(x: Tensor[Any, Any], mask: Tensor[Any, Any] | None = None) -> Tensor[Any, Any]:
    if mask is None:
        return x
    return x * mask


def counted(x: Tensor[Any, Any], count: int) -> Tensor[Any, Any]:
    if count > 3:
        x = x.sum(axis=0)
    return x


def inside_a_context(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    with nullcontext():
        return x.sum(axis=1)


def left_out(x: Tensor[Any, Any], y: Tensor[Any, NoneTape] | None = None) -> Tensor[Any, Any]:
    del x
    return tg.ones(()) if y is None else y


def chosen(x: Tensor[Any, Any], count: int) -> Tensor[Any, Any]:
    if count > 3:
        y = x.sum(axis=0, keepdims=True)
    elif count > 1:
        y = x[1:]
    else:
        raise ValueError(count)
    return y * 2.0


def first_or_none(x: Tensor[Any, Any], count: int) -> Tensor[Any, Any] | None:
    if count > 3:
        return None
    return x[0]


def tried(x: Tensor[Any, Any], path: str) -> Tensor[Any, Any]:
    try:
        y = x @ tg.ones((8, 2))
        Path(path).stat()
    except OSError:
        return x @ tg.ones((8, 4))
    finally:
        x.sum()
    return y


def there(x: Tensor[Any, Any], *, again: bool) -> Tensor[Any, Any]:
    return back(x, again=False) if again else x


def back(x: Tensor[Any, Any], *, again: bool) -> Tensor[Any, Any]:
    return there(x, again=again)


def applied(f: Callable[[Tensor[Shape[B, Any], T]], Tensor[Shape[B, D], T]], x: Tensor[Shape[B, Any], T]) -> Tensor[Any, Any]:
    return f(x)


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)

    def raised(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return tg.relu(self.up(x))

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.down(self.raised(x))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        self.norm = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x: Tensor[Shape[B, D], T]) -> Tensor[Shape[B, D], Any]:
        return x + self.mlp(self.norm(x))


class Deep(nn.Module):
    """Makes a list of layers, and a number from its arguments."""

    def __init__(self, config: Config, count: int) -> None:
        self.width = config.width // 2
        self.blocks = [MLP(config) for _ in range(count)]
        self.head = nn.Linear(2 * self.width, config.hidden)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        b, d = x.shape
        h = x.reshape((b, 2, self.width))
        x = h.reshape((b, d))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Branched(nn.Module):
    def __init__(self, hidden: int, *, is_deep: bool) -> None:
        self.is_deep = is_deep
        self.up = nn.Linear(8, hidden)
        self.downs = [nn.Linear(hidden, 8)]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        x = self.up(x)
        if self.is_deep:
            return self.downs[0](x)
        return x


class Halved(nn.Module):
    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x * 0.5


class Wrapped(nn.Module):
    def __init__(self, body: nn.Sequential[Halved, nn.Linear[L[8], L[2]]]) -> None:
        self.body = body

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.body(x)


class Summed(Halved):
    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x.sum()


def accept_results_that_only_the_body_says() -> None:
    assert_type(scaled(rows, 2.0), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(scaled(rows.trace(), 2.0), Tensor[Shape[L[3], L[8]], OwnedTape])
    assert_type(scaled(rows[0], 2.0), Tensor[Shape[L[8]], NoneTape])
    assert_type(repeated(rows, 2), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(widened(rows), Tensor[Shape[L[3], L[17]], NoneTape])
    assert_type(scaled(widened(rows), 2.0) @ tg.ones((17, 2)), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_results_of_layers_of_the_users() -> None:
    block, mlp = Block(Config(8, 5)), MLP(Config(8, 5))
    assert_type(block(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(block(rows.trace()), Tensor[Shape[L[3], L[8]], OwnedTape])
    assert_type(mlp(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    deep = Deep(Config(hidden=5, width=8), 2)
    assert_type(deep(rows), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_layers_of_the_users_in_a_model() -> None:
    halved = Halved()
    assert_type(halved(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    model = nn.Sequential(MLP(Config(8, 5)), nn.Residual(Branched(5, is_deep=True)), Summed())
    assert_type(model(rows.trace()), Tensor[Shape[()], OwnedTape])
    several = nn.Sequential(*[MLP(Config(8, width)) for width in (5, 5)], Halved())
    assert_type(several(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    split = nn.SplitInto(Halved(), nn.GeneralizedAdd(MLP(Config(8, 5)), nn.Linear(8, 8)))
    assert_type(split(rows)[1], Tensor[Shape[L[3], L[8]], NoneTape])
    wrapped = Wrapped(nn.Sequential(Halved(), nn.Linear(8, 2)))
    assert_type(wrapped(rows), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_branches_that_a_call_decides() -> None:
    assert_type(early(rows, summed=True), Tensor[Shape[()], NoneTape])
    assert_type(early(rows, summed=False), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(masked(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(masked(rows, tg.ones((2, 3, 8))), Tensor[Shape[L[2], L[3], L[8]], NoneTape])
    assert_type(counted(rows, 1), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(counted(rows, 4), Tensor[Shape[L[8]], NoneTape])
    assert_type(inside_a_context(rows), Tensor[Shape[L[3]], NoneTape])
    assert_type(Branched(5, is_deep=True)(rows), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(Branched(5, is_deep=False)(rows), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_branches_that_a_call_does_not_decide(count: int = 4, path: str = ".") -> None:
    assert_type(chosen(rows, count), Tensor[Shape[Any, L[8]], NoneTape])
    assert_type(tried(rows, path), Tensor[Shape[L[3], Any], NoneTape])
    assert_type(tried(rows.trace(), path), Tensor[Shape[L[3], Any], OwnedTape])
    assert_type(doubled_rows(rows, count), Tensor[Shape[Any, L[8]], NoneTape])
    assert_type(left_out(rows), Tensor[Shape[()], NoneTape])
    assert_type(left_out(rows, rows[0]), Tensor[Shape[L[8]], NoneTape])
    assert_type(first_or_none(rows, count), Tensor[Shape[L[8]], NoneTape] | None)
    assert_type(left_out(rows, first_or_none(rows, count)).ndim, int)


def accept_bodies_that_are_not_read() -> None:
    def called(layer: Halved) -> None:
        layer(rows) @ tg.ones((5, 2)) if layer(rows).ndim == 3 else layer(rows)

    one_of_two(rows, rows=True) + tg.ones((8,))
    there(rows, again=True) + tg.ones((8,))
    applied(tg.relu, rows) @ tg.ones((8, 2))
    called(Summed())


class Tree(NamedTuple):
    value: Tensor[Shape[L[3], L[8]], NoneTape]
    left: "Tree | None" = None


def summed(tree: Tree, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Takes a named tuple that may contain another one."""
    return x + tree.value if tree.left is None else x + tree.left.value


def accept_a_tree() -> None:
    assert_type(summed(Tree(rows, Tree(rows)), rows), Tensor[Shape[L[3], L[8]], NoneTape])


def encoded(tree: Tree) -> Tensor[Shape[L[3], L[8]], NoneTape]:
    return tree.value if tree.left is None else encoded(tree.left)


def accept_a_tree_that_is_followed() -> None:
    assert_type(encoded(Tree(rows, Tree(rows))), Tensor[Shape[L[3], L[8]], NoneTape])


def accept_generators() -> None:
    data, labels = tg.ones((12, 8)), tg.ones((12,))
    for x, y in batches(data, labels, 4):
        assert_type(x, Tensor[Shape[L[4], L[8]], NoneTape])
        assert_type(y, Tensor[Shape[L[4]], NoneTape])
    assert_type(next(endless(rows)), Tensor[Shape[L[3], L[8]], NoneTape])
    never_run(rows)
    echoed(rows)


def reject_a_size_that_a_generator_yields() -> None:
    for x, _ in batches(tg.ones((12, 8)), tg.ones((12,)), 4):
        x @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (4, 8) has 8 columns but y (7, 2) has 7 rows [tapegrad-shape]


def reject_a_size_that_only_the_body_says() -> None:
    scaled(rows, 2.0) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_size_that_the_body_computes() -> None:
    widened(rows) + tg.ones((3, 8))  # E: add: x (3, 17) and y (3, 8) do not broadcast: axis -1 is 17 in x but 8 in y [tapegrad-shape]


def reject_a_size_of_a_layer_of_the_users() -> None:
    mlp = MLP(Config(8, 5))
    mlp(rows) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_size_of_a_layer_of_the_users_in_a_model() -> None:
    model = nn.Sequential(MLP(Config(8, 5)), Branched(5, is_deep=False))
    model(rows) @ tg.ones((8, 2))  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (8, 2) has 8 rows [tapegrad-shape]


def reject_a_size_that_all_branches_give(count: int = 4) -> None:
    chosen(rows, count) @ tg.ones((5, 2))  # E(mypy): matmul: inner sizes differ: x (?, 8) has 8 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_size_that_the_body_and_the_handler_give(path: str = ".") -> None:
    tried(rows, path) + tg.ones((4, 1))  # E(mypy): add: x (3, ?) and y (4, 1) do not broadcast: axis -2 is 3 in x but 4 in y [tapegrad-shape]


def reject_a_loss_without_a_tape() -> None:
    scaled(rows, 2.0).sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def mask(n: int) -> Tensor[Any, Any]:
    """Takes no tensor."""
    return tg.tril(tg.ones((n, n)))


class Weights(nn.Module):
    """Has methods that take no tensor."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.weight = nn.Param(tg.ones((width, 2 * width)))
        self.pair = nn.Linear(width, width)

    def product(self) -> Tensor[Any, Any]:
        return self.weight @ self.weight.T

    def start(self, count: int) -> Tensor[Any, Any]:
        return tg.zeros((count, self.width))

    def forward(self, both: tuple[Tensor[Any, Any], Tensor[Any, Any]]) -> tuple[Tensor[Any, Any], Tensor[Any, Any]]:
        """Takes two tensors as a tuple."""
        x, y = both
        return self.pair(x), y


class Timed(nn.Module):
    """A layer whose tensor is the second argument."""

    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width + 1, width)

    def forward(self, t: float, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(tg.concat([x, tg.full((x.shape[0], 1), t)], axis=1))


def step(function: Callable[[float, Tensor[Any, Any]], Tensor[Any, Any]], x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Takes a layer as a function."""
    return x + function(0.5, x)


def either(model: Weights | Timed, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Takes one of two layers."""
    return model((x, x))[0] if isinstance(model, Weights) else model(0.5, x)


def steps(x: Tensor[Any, Any], width: int) -> tuple[Tensor[Any, Any], Tensor[Any, Any]]:
    """Fills two lists, which one statement makes."""
    many, firsts = [], []
    for _ in range(6):
        x = step(Timed(width), x)  # pyright: ignore[reportArgumentType]  # reads no layer as a function
        many.append(x)
        firsts.append(x[:, :1])
    return tg.stack(many), tg.stack(firsts)


def headed(x: Tensor[Any, Any], heads: int) -> Tensor[Any, Any]:
    """Unpacks what `map` makes of each tensor."""
    n, _ = x.shape
    q, k = map(lambda one: one.reshape((n, heads, -1)).transpose((1, 0, 2)), (x, x))  # noqa: C417  # under test
    v, w = map(tg.relu, tg.split(x, 2, axis=1))
    return q @ k.swapaxes(-2, -1) + (v @ w.T)


def accept_functions_without_tensors() -> None:
    assert_type(mask(3), Tensor[Shape[L[3], L[3]], NoneTape])
    weights = Weights(4)
    assert_type(weights.product(), Tensor[Shape[L[4], L[4]], NoneTape])
    assert_type(weights.start(3), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_tuples_and_layers_as_arguments() -> None:
    four = tg.ones((3, 4))
    x, y = Weights(4)((four, tg.ones((3,))))
    assert_type(x, Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(y, Tensor[Shape[L[3]], NoneTape])
    stepped = step(Timed(4), four)  # pyright: ignore[reportArgumentType]  # reads no layer as a function
    assert_type(stepped, Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(either(Timed(4), four), Tensor[Shape[L[3], L[4]], NoneTape])
    assert either(Weights(4), four).shape == (3, 4)
    assert step(lambda _, one: one * 2.0, four).shape == (3, 4)


def accept_two_lists_and_map() -> None:
    many, firsts = steps(tg.ones((3, 4)), 4)
    assert_type(many, Tensor[Shape[L[6], L[3], L[4]], NoneTape])
    assert_type(firsts, Tensor[Shape[L[6], L[3], L[1]], NoneTape])
    assert_type(headed(rows, 2), Tensor[Shape[L[2], L[3], L[3]], NoneTape])


def reject_a_size_of_a_function_without_tensors() -> None:
    mask(3) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (3, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_size_that_a_layer_as_a_function_gives() -> None:
    step(Timed(4), tg.ones((3, 4))) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_size_that_map_gives() -> None:
    headed(rows, 2) + tg.ones((3, 3, 3))  # E: add: x (2, 3, 3) and y (3, 3, 3) do not broadcast: axis -3 is 2 in x but 3 in y [tapegrad-shape]


class Grid(nn.Module):
    """Unpacks two numbers, and joins tensors in loops over them."""

    def __init__(self, counts: tuple[int, int], width: int) -> None:
        rows, columns = counts
        self.counts = counts
        self.parts = [nn.Param(tg.ones((2, width))) for _ in range(rows * columns)]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        rows, columns = self.counts
        lines = []
        for row in range(rows):
            line = []
            for column in range(columns):
                line.append(x + self.parts[row * columns + column])  # noqa: PERF401  # under test
            lines.append(tg.concat(line, axis=1))
        return tg.concat(lines, axis=0)


def trajectory(x: Tensor[Any, Any], times: list[float]) -> Tensor[Any, Any]:
    """Adds to a list as often as the call says."""
    states = [x]
    for _ in times:
        x = x * 2.0
        states.append(x)
    return tg.stack(states, axis=1)


def long(x: Tensor[Any, Any]) -> Tensor[Any, Any]:
    """Adds to a list twenty times."""
    states = []
    for _ in range(20):
        x = x * 2.0
        states.append(x)
    return tg.stack(states)


class Biased(nn.Module):
    """Returns a bias that the next block adds again."""

    def __init__(self, args: Namespace) -> None:
        self.width = args.width
        self.layer = nn.Linear(args.width, args.width)

    def forward(
        self, x: Tensor[Any, Any], bias: Tensor[Any, Any] | None
    ) -> tuple[Tensor[Any, Any], Tensor[Any, Any] | None]:
        if bias is None:
            bias = tg.ones((x.shape[0], 1))
        return self.layer(x + bias) * self.width**-0.5, bias


class Stack(nn.Module):
    """Begins with no bias."""

    def __init__(self, args: Namespace) -> None:
        self.blocks = [Biased(args) for _ in range(2)]

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        bias: Tensor[Any, Any] | None = None
        for block in self.blocks:
            x, bias = block(x, bias)
        return x


def accept_lists_that_loops_fill(count: int = 2) -> None:
    assert_type(Grid((2, 3), 4)(tg.ones((2, 4))), Tensor[Shape[L[4], L[12]], NoneTape])
    times = [0.5] * count
    assert_type(trajectory(rows, times), Tensor[Shape[L[3], Any, L[8]], NoneTape])
    assert_type(long(rows), Tensor[Shape[L[20], L[3], L[8]], NoneTape])
    assert_type(Stack(Namespace(width=8))(rows), Tensor[Shape[L[3], L[8]], NoneTape])


def reject_a_size_of_a_long_list() -> None:
    long(rows) + tg.ones((21, 3, 8))  # E: add: x (20, 3, 8) and y (21, 3, 8) do not broadcast: axis -3 is 20 in x but 21 in y [tapegrad-shape]


def reject_a_size_that_unpacked_numbers_give() -> None:
    Grid((2, 3), 4)(tg.ones((2, 4))) @ tg.ones((8, 2))  # E: matmul: inner sizes differ: x (4, 12) has 12 columns but y (8, 2) has 8 rows [tapegrad-shape]


def reject_a_size_beside_a_number_of_type_any() -> None:
    Stack(Namespace(width=8))(rows) @ tg.ones((7, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (7, 2) has 7 rows [tapegrad-shape]


def longest(x: Tensor[Any, Any], axis: int = -1) -> Tensor[Any, Any]:
    return tg.softmax(x, axis=axis).max(axis)


def accept_a_negative_default() -> None:
    assert_type(longest(rows), Tensor[Shape[L[3]], NoneTape])
    assert_type(longest(rows, 0), Tensor[Shape[L[8]], NoneTape])


def reject_a_size_that_a_negative_default_gives() -> None:
    longest(rows) + tg.ones((8,))  # E: add: x (3,) and y (8,) do not broadcast: axis -1 is 3 in x but 8 in y [tapegrad-shape]


class Recurrent(nn.Module):
    """Keeps its last output."""

    def __init__(self) -> None:
        self.linear = nn.Linear(8, 4)
        self.last: Tensor[Any, Any] | None = None

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        out = self.linear(x)
        self.last = out
        return out


recurrent = Recurrent()


def accept_a_tensor_that_is_saved() -> None:
    assert_type(recurrent(rows), Tensor[Shape[L[3], L[4]], NoneTape])


def reject_a_size_of_a_tensor_that_is_saved() -> None:
    recurrent(rows) @ tg.ones((8, 2))  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (8, 2) has 8 rows [tapegrad-shape]


def noisy(n: int) -> Tensor[Any]:
    """Make rows in arrays, element by element."""
    images = np.zeros((n, 4), np.float32)
    for image, (row, column) in zip(images, np.zeros((n, 2), np.int64), strict=True):
        image[row] += 1.0
        image[column] -= 1.0
    return tg.tensor(images)


def gram(x: Tensor[Any]) -> Tensor[Any]:
    """Multiply two rows of two matrices."""
    q, k = x
    return q @ k.T


def accept_elements_of_arrays_that_change() -> None:
    assert_type(noisy(5), Tensor[Shape[L[5], L[4]], NoneTape])


def accept_rows_that_are_unpacked() -> None:
    assert_type(gram(tg.ones((2, 3, 4))), Tensor[Shape[L[3], L[3]], NoneTape])


def reject_rows_of_an_array_whose_elements_change() -> None:
    noisy(5) @ tg.ones((5, 4))  # E: matmul: inner sizes differ: x (5, 4) has 4 columns but y (5, 4) has 5 rows


class Residual(nn.Module):
    """Adds what it was given, through a convolution if the widths differ."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.conv(x) + (x if self.skip is None else self.skip(x))


images = tg.ones((2, 4, 6, 6))


def accept_a_branch_inside_of_an_expression() -> None:
    assert_type(Residual(4, 4)(images), Tensor[Shape[L[2], L[4], L[6], L[6]], NoneTape])
    assert_type(Residual(4, 5)(images), Tensor[Shape[L[2], L[5], L[6], L[6]], NoneTape])


def reject_a_size_that_the_branch_of_a_call_gives() -> None:
    Residual(4, 5)(images) + tg.ones((4, 6, 6))  # E: add: x (2, 5, 6, 6) and y (4, 6, 6) do not broadcast: axis -3 is 5 in x but 4 in y [tapegrad-shape]


class Table(nn.Module):
    """Has a property that returns a tensor."""

    def __init__(self, count: int, width: int) -> None:
        self.embedding = nn.Embedding(count, width)

    @property
    def unit(self) -> Tensor[Any, Any]:
        w = self.embedding.weight
        return w / tg.norm(w, axis=1, keepdims=True)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x @ self.unit


def accept_a_tensor_of_a_property() -> None:
    assert_type(Table(6, 4).unit, Tensor[Shape[L[6], L[4]], NoneTape])
    assert_type(Table(6, 4)(tg.ones((2, 6))), Tensor[Shape[L[2], L[4]], NoneTape])


def reject_a_size_of_a_tensor_of_a_property() -> None:
    Table(6, 4).unit @ tg.ones((6, 2))  # E: matmul: inner sizes differ: x (6, 4) has 4 columns but y (6, 2) has 6 rows [tapegrad-shape]


def drawn(model: Table, shape: tuple[int, ...]) -> Tensor[Any, Any]:
    return model(tg.normal(shape))


def accept_a_shape_that_a_call_gives() -> None:
    assert_type(drawn(Table(6, 4), (3, 2, 6)), Tensor[Shape[L[3], L[2], L[4]], NoneTape])


def accept_copies_of_models() -> None:
    average = nn.ModelEMA(Table(6, 4), decay=0.5)
    assert_type(average.model(tg.ones((2, 6))), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(copy.deepcopy(average.model)(tg.ones((2, 6))), Tensor[Shape[L[2], L[4]], NoneTape])


def reject_a_shape_that_a_call_gives() -> None:
    drawn(Table(6, 4), (3, 2, 6)) + tg.ones((3, 4, 4))  # E: add: x (3, 2, 4) and y (3, 4, 4) do not broadcast: axis -2 is 2 in x but 4 in y [tapegrad-shape]


def reject_a_size_of_a_copy_of_a_model() -> None:
    copy.deepcopy(Table(6, 4))(tg.ones((2, 6))) @ tg.ones((6, 2))  # E: matmul: inner sizes differ: x (2, 4) has 4 columns but y (6, 2) has 6 rows [tapegrad-shape]


@dataclass(frozen=True)
class Patches:
    image: int = 16
    patch: int = 4
    width: int = 8

    @property
    def count(self) -> int:
        return (self.image // self.patch) ** 2


class Positions(nn.Module):
    def __init__(self, config: Patches) -> None:
        self.table = nn.Param(tg.zeros((1, config.count + 1, config.width)))

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x + self.table


def accept_a_size_that_a_property_computes() -> None:
    assert_type(Positions(Patches())(tg.ones((3, 1, 8))), Tensor[Shape[L[3], L[17], L[8]], NoneTape])


def reject_a_size_that_a_property_computes() -> None:
    Positions(Patches(patch=8))(tg.ones((3, 1, 8))) @ tg.ones((3, 7, 2))  # E: matmul: inner sizes differ: x (3, 5, 8) has 8 columns but y (3, 7, 2) has 7 rows [tapegrad-shape]

"""Bodies that mypy reads for the results of calls: errors in them, where they are reported, and where they are not."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path

import pytest

from tapegrad.errors import TapegradError
from tapegrad.project.reports import Report, run_mypy
from tests.mypy.programs import needs_bodies_of_other_files
from tests.warm_mypy_cache import SETTINGS, write_settings

MODEL = """
from __future__ import annotations
import json
import sys
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from typing_extensions import override

import tapegrad as tg
from tapegrad import Tensor, nn


@dataclass(frozen=True)
class Config:
    width: int = 8
    hidden: int = 5
    layers: int = 2


@dataclass
class Settings:
    width: int = 3


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)

    @override
    def forward(self, x: Tensor) -> Tensor:
        h = tg.relu(self.up(x))
        return self.down(h)


class Model(nn.Module):
    def __init__(self, config: Config) -> None:
        self.blocks = [MLP(config) for _ in range(config.layers)]
        self.head = nn.Linear(config.width, 3)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def squared(x: Tensor, y: Tensor) -> Tensor:
    d = x - y
    return (d * d).mean()

"""
MAIN = """
def main() -> None:
    model = Model(Config())
    print(squared(model(tg.ones((4, 8))), tg.zeros((4, 3))))

main()
"""
ACCEPTED = MODEL + MAIN


CHANGES = [
    ("nn.Linear(config.width, config.hidden)", "nn.Linear(config.hidden, config.hidden)"),
    ("nn.Linear(config.hidden, config.width)", "nn.Linear(config.width, config.width)"),
    ("nn.Linear(config.width, 3)", "nn.Linear(7, 3)"),
    ("width: int = 8", "width: int = 9"),
    ("Config()", "Config(width=6)"),
    ("Config()", "Config(7, 8)"),
    ("tg.ones((4, 8))", "tg.ones((4, 9))"),
    ("tg.zeros((4, 3))", "tg.zeros((5, 3))"),
    ("x - y", "x @ y"),
    ("return self.down(h)", "return self.down(x)"),
]
TWICE = MODEL.replace("x - y", "x - y + tg.ones((2, 5)) @ tg.ones((4, 2))") + "squared(tg.ones((3,)), tg.ones((3,)))\n"
REJECTED = """
from typing import Literal as L
from typing import TypeVar
from tapegrad import NoneTape, Shape

N = TypeVar("N", bound=int)

def mean(model: MLP, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
    return model(x).mean().item()

def mean_and_rows(model: MLP, x: Tensor[Shape[N, L[4]], NoneTape]) -> tuple[Tensor, int]:
    return model(x).mean(), len(x)

mean(MLP(Config(4)), tg.ones((2, 9)))  # here
mean_and_rows(MLP(Config(4)), tg.ones((2, 9)))  # here
"""
ASSIGNED = """y = MLP(Config(6))(tg.ones((4, 9)))

def main() -> None:
    MLP(Config(7))(tg.ones((4, 9)))
"""
FOREIGN = """
import tapegrad as tg
from accepted import MLP, Config, Model
from tapegrad import nn

mlp = MLP(Config())
config = Config(width=6)
tg.reveal_shape(tg.ones((config.width, config.hidden)))
tg.reveal_shape(mlp(tg.ones((4, 8))))
tg.reveal_shape(Model(Config())(tg.ones((4, 8))))


def main() -> None:
    tg.reveal_shape(MLP(Config(width=6))(tg.ones((4, 6))))
    mlp(tg.ones((4, 9)))


def main_of_model() -> None:
    Model(Config())(tg.ones((4, 9)))


nn.Sequential(nn.ReLU(), mlp)(tg.ones((4, 9)))


class Kept(MLP):
    pass


kept = Kept(Config(hidden=4))
tg.reveal_shape(kept(tg.ones((2, 8)))[:, :3])
"""
OTHER_LAYER = """
import tapegrad as tg
from accepted import MLP, Config
from tapegrad import nn

mlp = MLP(Config())
mlp.up = nn.Linear(9, 5)
mlp(tg.ones((4, 9)))
"""
UNCERTAIN = {
    "how often NumPy finds each number": """
import numpy as np

def counted(x: np.ndarray) -> Tensor:
    numbers = np.asarray(x, dtype=np.float32)
    return nn.Embedding(9, 2)(tg.tensor(np.unique(numbers, return_counts=True)[1]))

counted(np.ones(3, np.float32))
""",
    "a dictionary of indices that gets numbers, at each turn of a loop": """
import numpy as np
import numpy.typing as npt

def batches(words: dict[str, npt.NDArray[np.int64]], numbers: npt.NDArray[np.float32]) -> list[dict[str, Tensor]]:
    found: list[dict[str, Tensor]] = []
    for start in range(2):
        batch = {name: tg.tensor(column[start:]) for name, column in words.items()}
        batch["numbers"] = tg.tensor(numbers[start:])
        batch["price"] = tg.tensor(numbers[start:, 0])
        found.append(batch)
    return found

batches({"city": np.zeros(3, np.int64)}, np.zeros((3, 2), np.float32))
""",
    "the sum of arrays of as many rows as an argument says": """
import numpy as np

COUNTS = {"city": 4, "day": 7}

def scores(rows: int, rng: np.random.Generator) -> np.ndarray:
    effect = {name: rng.normal(size=count) for name, count in COUNTS.items()}
    columns = {name: rng.integers(0, count, size=rows) for name, count in COUNTS.items()}
    found = np.ones(rows) + sum(effect[name][columns[name]] for name in COUNTS)
    return found.astype(np.float32)

def main() -> None:
    for rows in [3, 4]:
        print(tg.tensor(scores(rows, np.random.default_rng(0))).shape)

main()
""",
    "the mean of losses of unknown dtype is a float": """
def loss_of(x: Tensor, y: Tensor) -> Tensor:
    d = x - y
    return (d * d).mean() / 2 + tg.mse(x, y)

def mean_loss(model: Model, x: Tensor, y: Tensor) -> float:
    losses = [loss_of(model(x), y).item() for _ in range(2)]
    last = tg.cross_entropy(model(x), tg.arange(2))
    losses.append(last.item())
    return sum(losses) / len(losses)

mean_loss(Model(Config()), tg.ones((2, 8)), tg.ones((2, 3)))
""",
    "numbers of tensors of unknown dtype, added up after the tapes are consumed": """
def train(model: Model, x: Tensor, y: Tensor) -> None:
    opt = tg.optim.SGD(model, lr=0.1)
    losses = []
    for _ in range(3):
        loss = tg.mse(model(x.trace()), y)
        losses.append(loss.item())
        opt.step(loss.backward(wrt=model))
    print(sum(losses), max(losses))

train(Model(Config()), tg.ones((2, 8)), tg.ones((2, 3)))
""",
    "a dictionary of arrays of two dtypes": """
import numpy as np
import numpy.typing as npt

def tensors(x: npt.NDArray[np.float32], y: npt.NDArray[np.int64]) -> None:
    columns = {"x": x, "y": y}
    for column in columns.values():
        print(tg.tensor(column).shape)
    print({name: tg.tensor(column) for name, column in columns.items()}, tg.tensor(columns["y"]))

tensors(np.zeros(3, np.float32), np.zeros(3, np.int64))
""",
    "a size beside one more than what is left of it": """
def shifted(x: Tensor, count: int) -> None:
    start = tg.concat([tg.zeros((1,)), tg.zeros((count,))[:-1]])
    print((start * tg.ones((count,))).shape)

shifted(tg.ones((3,)), 4)
shifted(tg.ones((3,)), 0)
""",
    "floats that are divided by a whole number, of which the stubs of NumPy say float64": """
import numpy as np

class Pixels:
    def __init__(self, images: np.ndarray, largest: int) -> None:
        self.images = images.astype(np.float32) / largest

def main(count: int) -> None:
    images = np.zeros((5, 4), np.float32)
    halved = images / 2
    halved = halved / count
    both, other = images / count, count / (images + 1)
    table = tg.ones((4, 2))
    tg.tensor(images / 255) @ table
    tg.tensor(halved) @ table
    tg.tensor(both - other) @ table
    tg.tensor(np.stack([images / 2, np.sqrt(images / 3)])[0]) @ table
    tg.tensor(Pixels(images, 255).images) @ table
    tg.ones((4,)) * (images / len(images))

main(3)
""",
    "a dataclass that a function without annotations returns": """
@dataclass
class Graphs:
    nodes: Tensor

def collate(n: int):  # type: ignore[no-untyped-def]
    return Graphs(tg.zeros((n, 4)))

collate(3).nodes + tg.ones((3, 4))
""",
    "a registry that a call of the decorator changes": """
from collections.abc import Callable

MODELS: dict[str, type[MLP]] = {}

class Half(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[:, :4]

def register(name: str) -> Callable[[type], type]:
    def wrap(cls: type) -> type:
        MODELS[name] = cls
        return cls
    return wrap

@register("whole")
class Whole(MLP):
    pass

register("whole")(Half)
MODELS["whole"](Config())(tg.ones((4, 8))) + tg.ones((4, 4))
""",
    "a registry that other statements change": """
from collections.abc import Callable

MODELS: dict[str, type[MLP]] = {}

class Half(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[:, :4]

def register(name: str) -> Callable[[type], type]:
    def wrap(cls: type) -> type:
        MODELS[name] = cls
        return cls
    return wrap

@register("whole")
class Whole(MLP):
    pass

MODELS["whole"] = Half
MODELS["whole"](Config())(tg.ones((4, 8))) + tg.ones((4, 4))
""",
    "an object that some turns of a loop create": """
class Wide(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return tg.concat([x, x], axis=1)

def build(wide: int) -> MLP:
    return Wide(Config()) if wide else MLP(Config())

def main() -> None:
    for n in (0, 1):
        if n == 0:
            model = build(n)
        model(tg.ones((4, 8))) + tg.ones((4, 8))

main()
""",
    "a subclass that is chosen while the program runs": """
class Half(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[:, :4]

def build(name: str) -> MLP:
    if name == "half":
        return Half(Config())
    return MLP(Config())

model = build(sys.argv[0])
model(tg.ones((4, 8))) + tg.ones((4, 8))
""",
    "a function in a field that is replaced": """
from collections.abc import Callable

class Net(nn.Module):
    def __init__(self, act: Callable[[Tensor], Tensor] = tg.relu) -> None:
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x) + tg.ones((4, 2))

def halved(x: Tensor) -> Tensor:
    return x[:, :2]

net = Net()
net.act = halved
net(tg.ones((4, 8)))
""",
    "a list whose items another function replaces": """
def wide(parts: list[Tensor]) -> None:
    parts[0] = tg.ones((4, 9))

def first(x: Tensor) -> Tensor:
    parts = [x, x]
    wide(parts)
    return parts[0] + tg.ones((4, 9))

first(tg.ones((4, 8)))
""",
    "a list that an object keeps and changes": """
class Queue:
    def __init__(self, items: list[Tensor]) -> None:
        self.items = items

    def turn(self) -> None:
        self.items.reverse()

def last(x: Tensor) -> Tensor:
    items = [x, x[:2]]
    queue = Queue(items)
    queue.turn()
    return items[0] + tg.ones((2, 8))

last(tg.ones((4, 8)))
""",
    "a method of a list that is passed on in a loop": """
def extended(parts: list[Tensor]) -> Tensor:
    parts.append(tg.concat([parts[-1], parts[-1]], axis=1))
    return parts[-1]

def total(x: Tensor) -> Tensor:
    parts = [x]
    for _ in range(2):
        extended(parts)
    return parts[-1] + tg.ones((4, 32))

total(tg.ones((4, 8)))
""",
    "lambdas that nothing calls, or that others may be called for": """
from collections.abc import Callable

def applied(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return function(x)

def kept(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    later = [function]
    return x if len(later) > 1 else x * 2

def scaled(x: Tensor) -> Tensor:
    head = nn.Linear(3, 8)
    return kept(lambda v: applied(head, tg.ones((2, 7))), x)

def chosen(x: Tensor, function: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    act = function or (lambda v: v @ tg.ones((9, 9)))
    return applied(act, x)

def changed(x: Tensor) -> Tensor:
    weight = tg.ones((7, 3))
    act = lambda v: v @ weight
    weight = tg.ones((8, 3))
    return applied(act, x)

def replaced(x: Tensor, wide: bool) -> Tensor:
    act = lambda v: v @ tg.ones((7, 3))
    if wide:
        act = lambda v: v @ tg.ones((8, 3))
    return applied(act, x)

scaled(tg.ones((4, 8)))
chosen(tg.ones((4, 8)), lambda v: v * 2)
changed(tg.ones((4, 8)))
replaced(tg.ones((4, 8)), True)
""",
    "a generator that may yield nothing": """
import numpy as np
from collections.abc import Iterator

def batches(x: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, len(x), size):
        if start > 100:
            yield x[start : start + size]

def fit(model: Model, x: np.ndarray) -> float:
    total = 0.0
    for part in batches(x, 4):
        total += model(tg.tensor(part, np.float32)).sum().item()
    return total

fit(Model(Config()), np.zeros((9, 7)))
""",
    "an object that iterates over other models than it was made with": """
from collections.abc import Iterator

class Ensemble:
    def __init__(self, members: list[Model]) -> None:
        self.members = members

    def __iter__(self) -> Iterator[Model]:
        return iter(self.members[2:])

    def predict(self, x: Tensor) -> Tensor:
        parts = [member(x) for member in self]
        return x if not parts else tg.stack(parts)

Ensemble([Model(Config())]).predict(tg.ones((8, 7)))
""",
    "values of a variable that an operator changes, and that may not be arrays of one rank": """
import numpy as np

def numbers(kind: str) -> np.ndarray:
    if kind:
        x = 1.0
    else:
        x = np.float64(2.0)
    x += np.zeros(4)
    return x

def ranks(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind:
        x = rng.normal(size=4)
    else:
        x = rng.normal(size=(5, 3))
    x += 1.0
    return x

def rows(kind: str) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(4, 3))
    for one in kind:
        x += len(one)
        x = x[1:]
    x *= 2.0
    return x

for kind in sys.argv:
    tg.tensor(numbers(kind)).reshape((2, 2))
    tg.tensor(ranks(kind)).reshape((2, 2))
    tg.tensor(rows("abc")).reshape((1, 3))
""",
    "numbers of configurations that may be others": """
from collections.abc import Mapping
import numpy as np

CHANGED: dict[str, Any] = {"scale": 0.5}
CHANGED["scale"] = tg.ones((3, 1))
CONFIG: dict[str, Any] = {"scale": 0.5}
ARRAYS: dict[str, Any] = {"scale": np.ones((3, 1), np.float32)}

def scaled(x: Tensor, config: Mapping[str, Any]) -> Any:
    y = config["scale"] * x
    return y + tg.ones((3, 4))

def chosen(x: Tensor, config: dict[str, Any], flag: bool) -> Any:
    if flag:
        config = {"scale": tg.ones((3, 1))}
    y = config["scale"] * x
    return y + tg.ones((3, 5))

def replaced(x: Tensor, config: dict[str, Any]) -> Any:
    config["scale"] = tg.ones((3, 1))
    y = x * config["scale"]
    return y @ tg.ones((5, 3))

def bound(x: Tensor, config: Mapping[str, Any]) -> Any:
    scale = config["scale"]
    if scale > 0:
        scale = tg.ones((3, 1))
    y = scale * x
    return y @ tg.ones((5, 3))

scaled(tg.ones((1, 4)), CHANGED)
scaled(tg.ones((1, 4)), ARRAYS)
scaled(tg.ones((1, 4)), CONFIG)
chosen(tg.ones((1, 5)), {"scale": 0.5}, True)
replaced(tg.ones((5,)), {"scale": 0.5})
bound(tg.ones((5,)), CONFIG)
""",
    "lists and deques that change in other ways": """
from collections import deque

def latest(x: Tensor, n: int) -> Tensor:
    found: deque[Tensor] = deque(maxlen=2)
    for _ in range(n):
        found.appendleft(x)
    return tg.concat(list(found))

def taken(x: Tensor) -> Tensor:
    found: deque[Tensor] = deque([x, x])
    found.appendleft(x)
    found.popleft()
    return tg.concat(list(found))

def shared(x: Tensor) -> Tensor:
    found: deque[Tensor] = deque()
    other = found
    found.append(x)
    other.appendleft(x)
    return tg.concat(list(found))

def sometimes(x: Tensor, flag: bool) -> Tensor:
    found: deque[Tensor] = deque([x])
    if flag:
        found.appendleft(x)
    return tg.concat(tuple(found))

def returned(x: Tensor) -> deque[Tensor]:
    found: deque[Tensor] = deque()
    found.appendleft(x)
    return found

def extended(x: Tensor) -> Tensor:
    found = returned(x)
    found.extendleft([x])
    return tg.concat(list(found))

def inserted(x: Tensor, at: int) -> Tensor:
    found = [tg.ones((2, 2))]
    found.insert(at, x)
    return found[0]

def turned(x: Tensor, y: Tensor, flag: bool) -> Tensor:
    found = [x, y]
    if flag:
        found.reverse()
    return found[0]

def mixed(x: Tensor, y: Tensor) -> Tensor:
    found: deque[Tensor] = deque([y])
    for _ in range(2):
        found.appendleft(x)
        found.reverse()
    return found[0]

for two in (latest(tg.ones((3,)), 3), taken(tg.ones((3,))), shared(tg.ones((3,))), extended(tg.ones((3,)))):
    nn.Linear(6, 2)(two)
nn.Linear(6, 2)(sometimes(tg.ones((3,)), True))
nn.Linear(6, 2)(inserted(tg.ones((6,)), 0))
nn.Linear(6, 2)(turned(tg.ones((3,)), tg.ones((6,)), True))
nn.Linear(6, 2)(mixed(tg.ones((6,)), tg.ones((3,))))
""",
    "copies of lists that change": """
def copied(x: Tensor) -> Tensor:
    xs = [x]
    ys = list(xs)
    ys.append(x)
    return tg.concat(ys)

def turned(x: Tensor) -> Tensor:
    xs = [x]
    ys = xs[::-1]
    ys.append(x)
    return tg.concat(ys)

def consumed(x: Tensor) -> Tensor:
    back = reversed([x, x])
    first = next(back)
    return tg.concat([first, *back])

def chosen(x: Tensor, flag: bool) -> Tensor:
    xs = [x]
    if flag:
        xs.append(x)
    return tg.concat(tuple(xs))

for two in (copied, turned, consumed):
    nn.Linear(6, 2)(two(tg.ones((3,))))
nn.Linear(6, 2)(chosen(tg.ones((3,)), True))
""",
    "arrays of lists in other lists that may have others": """
import numpy as np

def extended() -> Tensor:
    parts = [np.zeros((8, 2))]
    parts.append(np.zeros((8, 3)))
    return tg.tensor(np.concatenate([*parts, np.zeros((8, 1))], axis=1), np.float32)

def shared() -> Tensor:
    parts = [np.zeros((8, 2))]
    other = parts
    other.append(np.zeros((8, 3)))
    return tg.tensor(np.concatenate([*parts, np.zeros((8, 1))], axis=1), np.float32)

def longer() -> Tensor:
    parts = [np.zeros((8, 2))]
    for _ in range(3):
        parts = [*parts, np.zeros((8, 1))]
    return tg.tensor(np.concatenate([*parts, np.zeros((8, 1))], axis=1), np.float32)

def rebound() -> Tensor:
    x = np.zeros((8, 5))
    parts = [x]
    x = np.zeros((8, 2))
    return tg.tensor(np.concatenate([*parts, x[:, :1]], axis=1), np.float32)

for observation in (extended(), shared(), longer(), rebound()):
    nn.Linear(6, 3)(observation)
""",
    "a size variable of a class, for which a call gives an unknown size": """
from typing import Generic

from typing_extensions import TypeVar

N = TypeVar("N", bound=int)

class Shift(nn.Module):
    def __init__(self, width: int) -> None:
        self.shift = nn.Param(tg.zeros((width,)))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.shift

class Heads(nn.Module, Generic[N]):
    def __init__(self, heads: N) -> None:
        self.shift = Shift(2 * heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.shift(x)

def heads(count: int) -> int:
    return count

Heads(heads(3))(tg.ones((2, 6)))
""",
    "a configuration that is a class, whose constants may change": """
class Sizes:
    width = 8
    hidden = 5
    words = 7

    @classmethod
    def widen(cls) -> None:
        cls.hidden = 6

class Meta(type):
    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        cls.words = 8

class Words(Sizes, metaclass=Meta):
    words = 7

class Net(nn.Module):
    def __init__(self, sizes: type[Sizes]) -> None:
        self.up = nn.Linear(sizes.width, sizes.hidden)
        sizes.widen()
        self.down = nn.Linear(6, sizes.width)
        self.bias = nn.Param(tg.zeros((sizes.words,)))

    def forward(self, x: Tensor) -> Tensor:
        return self.down(tg.pad(self.up(x), ((0, 0), (0, 6 - self.up.bias.shape[0])))) + self.bias

class Fixed(nn.Module):
    def __init__(self, words: type[Words]) -> None:
        self.up = nn.Linear(8, words.words)
        self.down = nn.Linear(8, words.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))

Fixed(Words)(tg.ones((2, 8)))
Sizes.words = 8
Net(Sizes)(tg.ones((2, 8)))
""",
    "a configuration that is one of two classes": """
class Small:
    width = 4

class Large(Small):
    width = 8

class Net(nn.Module):
    def __init__(self, sizes: type[Small]) -> None:
        self.up = nn.Linear(sizes.width, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

def run(sizes: type[Small]) -> None:
    x = tg.ones((2, 8))
    Net(sizes)(x)
    chosen = Small if len(sys.argv) > 5 else Large
    Net(chosen)(x)

run(Large)
""",
    "attributes of type Any that are no floats": """
from argparse import ArgumentParser, Namespace

def parse() -> Namespace:
    parser = ArgumentParser(description="Train.")
    parser.add_argument("--balance", type=float, default=0.5)
    parser.add_argument("--factor", type=float, default=0.5)
    return parser.parse_args()

class Scale(nn.Module):
    def __init__(self, args: Namespace) -> None:
        self.balance = args.balance
        self.factor = args.factor

    def set(self) -> None:
        self.balance = tg.ones((4, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.balance * x
        return y + tg.ones((4, 1, 2))

    def second(self, x: Tensor) -> Tensor:
        if self.factor:
            self.factor = tg.ones((4, 1, 1))
        y: Tensor = self.factor * x
        return y + tg.ones((4, 1, 2))

args = parse()
scale = Scale(args)
scale.set()
scale(tg.ones((4, 2)))[:, 0, 0] + tg.ones((4,))
scale.second(tg.ones((4, 2)))[:, 0, 0] + tg.ones((4,))
""",
    "lengths of objects that are others at other times": """
class Rows:
    def __init__(self, count: int) -> None:
        self.rows = tg.ones((count, 3))

    def __len__(self) -> int:
        return len(self.rows)

class Growing(Rows):
    def grow(self) -> None:
        self.rows = tg.ones((7, 3))

class Doubled(Rows):
    def __len__(self) -> int:
        return 2 * len(self.rows)

class Fixed:
    def __init__(self, count: int) -> None:
        self.rows = tg.ones((count, 3))
        if count > 2:
            self.rows = tg.ones((9, 3))

    def __len__(self) -> int:
        return len(self.rows)

class Unsized:
    def __init__(self, rows: list[float]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

def made(count: int) -> Rows:
    return Doubled(count) if count > 2 else Rows(count)

def added(x: Tensor, count: int) -> Tensor:
    return x + tg.ones((count,))

def run(count: int, given: Rows) -> None:
    growing = Growing(3)
    growing.grow()
    added(tg.ones((7,)), len(growing))
    added(tg.ones((6,)), len(Doubled(3)))
    doubled = Doubled(3)
    added(tg.ones((6,)), len(doubled))
    fixed = Fixed(3)
    added(tg.ones((9,)), len(fixed))
    rows = Rows(3)
    rows = Rows(5)
    added(tg.ones((5,)), len(rows))
    added(tg.ones((8,)), len(made(4)))
    of_made = made(4)
    added(tg.ones((8,)), len(of_made))
    added(tg.ones((8,)), len(given))
    of_count = Rows(count)
    added(tg.ones((4,)), len(of_count))
    numbers = [1.0]
    unsized = Unsized(numbers)
    numbers.append(2.0)
    added(tg.ones((2,)), len(unsized))
    either = Rows(3) if count < 3 else Doubled(3)
    added(tg.ones((6,)), len(either))

run(4, Rows(8))
""",
    "lists that some turns of loops leave as they are": """
import numpy as np

Row = np.ndarray[tuple[int], np.dtype[np.float32]]

def row() -> Row:
    return np.ones(2, dtype=np.float32)

def run(flag: bool) -> None:
    chosen = []
    for n in range(3):
        if n > 1:
            chosen.append(row())
    tg.tensor(np.stack(chosen)) + tg.ones((1, 2))
    inner = []
    for n in range(3):
        for _ in range(n):
            inner.append(row())
    tg.tensor(np.stack(inner)) + tg.ones((3, 2))
    ended = []
    for n in range(3):
        ended.append(row())
        if n == 1:
            break
    tg.tensor(np.stack(ended)) + tg.ones((2, 2))
    skipped = []
    for n in range(3):
        if n == 1:
            continue
        skipped.append(row())
    tg.tensor(np.stack(skipped)) + tg.ones((2, 2))
    first = []
    for n in range(3):
        first.append(row())
        if n == 1:
            tg.tensor(np.stack(first)) + tg.ones((2, 2))
    popped = []
    for _ in range(3):
        popped.append(row())
    popped.pop()
    tg.tensor(np.stack(popped)) + tg.ones((2, 2))
    deleted = []
    for _ in range(3):
        deleted.append(row())
    del deleted[0]
    tg.tensor(np.stack(deleted)) + tg.ones((2, 2))
    extended = []
    for _ in range(3):
        extended.append(row())
    extended += [row()]
    tg.tensor(np.stack(extended)) + tg.ones((4, 2))
    other = shared = []
    for _ in range(3):
        shared.append(row())
    other.append(row())
    tg.tensor(np.stack(shared)) + tg.ones((4, 2))
    tried = []
    try:
        for n in range(3):
            tried.append(row() if n < 2 else np.stack([]))
    except ValueError:
        pass
    tg.tensor(np.stack(tried)) + tg.ones((2, 2))
    count = 2
    counted = []
    for _ in range(count):
        counted.append(row())
    count = 5
    tg.tensor(np.stack(counted)) + tg.ones((2, 2))
    given = []
    for _ in range(3):
        given.append(row())
    fill(given)
    tg.tensor(np.stack(given)) + tg.ones((4, 2))
    named: list[Row] = []
    alias = named
    for _ in range(3):
        named.append(row())
    alias.append(row())
    tg.tensor(np.stack(named)) + tg.ones((4, 2))
    held: list[Row] = []
    holder = {"rows": held}
    for _ in range(3):
        held.append(row())
    holder["rows"].append(row())
    tg.tensor(np.stack(held)) + tg.ones((4, 2))
    added: list[Row] = []

    def grow() -> None:
        added.append(row())

    for _ in range(3):
        added.append(row())
    grow()
    tg.tensor(np.stack(added)) + tg.ones((4, 2))
    called: list[Row] = []

    def call() -> None:
        for _ in range(3):
            called.append(row())

    call()
    call()
    tg.tensor(np.stack(called)) + tg.ones((6, 2))
    stepped = []
    for _ in range(0, 9, 4):
        stepped.append(row())
    tg.tensor(np.stack(stepped)) + tg.ones((3, 2))
    looped = []
    for _ in range(3):
        for one in [row()] if flag else [row(), row()]:
            looped.append(one)
    tg.tensor(np.stack(looped)) + tg.ones((3, 2))

def fill(rows: list[Row]) -> None:
    rows.append(row())

def none(n: int) -> None:
    rows = []
    for _ in range(n, 2):
        rows.append(1.0)
    tg.tensor(np.array(rows, dtype=np.float32)) + tg.ones((0,))

run(len(sys.argv) > 0)
none(2)
none(5)
""",
    "indices of other kinds": """
import numpy as np

def picked(flag: bool) -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(4, 5, 2)).astype(np.float32)
    x = rng.normal(size=(4, 6))
    mask = (x[:, 0] > -9) * (x[:, 1] > -9)
    tg.tensor(maps[mask]) + tg.ones((4, 5, 2))
    both = (x[:, 0] > -9) & (x[:, 1] > -9)
    tg.tensor(maps[both]) + tg.ones((4, 5, 2))
    of_bools = (x[:, 0] + 9).astype(bool)
    tg.tensor(maps[of_bools]) + tg.ones((4, 5, 2))
    halves = (x[:, 0] > -9) // (x[:, 1] > -9)
    tg.tensor(maps[halves]) + tg.ones((4, 5, 2))
    kind = int if flag else bool
    either = (x[:, 0] > -9).astype(kind)
    tg.tensor(maps[either]) + tg.ones((4, 5, 2))
    dtype = np.int64 if flag else np.float32
    tg.tensor(x.astype(dtype)) + tg.ones((4, 6), dtype=np.int64)

picked(len(sys.argv) > 0)
""",
    "numbers of a call that are not known": """
import numpy as np

def counted(start: int, stop: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.arange(start, stop).astype(np.float32)

def sliced(x: Tensor, start: int) -> Tensor:
    return x[:, start : start + 4]

def repeated(x: Tensor, times: int) -> Tensor:
    y = tg.ones((3, 5))
    for _ in range(times):
        y = x
    return y

def chosen(x: Tensor, times: int) -> Tensor:
    return x if times else x.T

def filled(start: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = []
    for _ in range(start):
        rows.append(np.ones(2))
    return (np.stack(rows) if rows else np.ones((7, 7))).astype(np.float32)

def doubled(n: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    n = 2 * n
    return np.ones(n).astype(np.float32)

def run(x: Tensor) -> None:
    lengths = []
    for n in range(-2, 3):
        tg.tensor(counted(n, 2)) + tg.ones((2 - n,))
        tg.tensor(counted(3, n)) + tg.ones((0,))
        lengths.append(tg.tensor(counted(n, 7)))
        if n < 1:
            repeated(x, n) + tg.ones((3, 5))
            tg.tensor(filled(n)) @ tg.ones((7, 2))
        else:
            tg.tensor(filled(n)) @ tg.ones((2, 2))
            tg.tensor(doubled(n)) + tg.ones((2 * n,))
        if n == 0:
            chosen(x, n) @ tg.ones((4, 2))
    lengths[0] + tg.ones((9,))
    lengths[1] + tg.ones((8,))
    for n in (2, 3):
        sliced(x, n) @ tg.ones((5 - n, 2))

run(tg.ones((4, 5)))
""",
    "declared methods of models that a program replaces": """
from typing import Literal, TypeVar

from tapegrad import Shape, Tape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)

class Flow(nn.Module):
    def __init__(self, width: int) -> None:
        self.scale = nn.Linear(4, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.scale(x), x.sum(axis=1)

    def log_prob(self, x: Tensor[Shape[N, Literal[4]], T]) -> Tensor[Shape[N], T]:
        z, amount = self(x)
        return z.sum(axis=0) + amount

    def same(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T]:
        z, amount = self(x)
        out: Tensor[Shape[N, M], T] = x * amount.expand_dims(1)
        return z.reshape((x.shape[0], x.shape[1])) if x.shape[0] > 3 else out

class Wide(Flow):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.T, x.sum(axis=1)

def loss(flow: Flow, x: Tensor[Shape[N, Literal[4]], T]) -> Tensor[Shape[()], T]:
    z, amount = flow(x)
    return (z.sum(axis=0) + amount).mean()

def pick(n: int) -> Flow:
    return Wide(4) if n > 2 else Flow(4)

def run(n: int, given: Flow) -> None:
    x = tg.ones((5, 4))
    chosen = Flow(4) if n < 2 else Wide(4)
    chosen.log_prob(x)
    loss(chosen, x)
    loss(given, x)
    loss(pick(n), x)
    Flow(n + 2).log_prob(x)
    Flow(4).same(x)
    flow = Flow(4)
    flow = Wide(4)
    loss(flow, x)
    flow.log_prob(x)

run(3, Wide(4))
""",
    "one of two lists that may be either": """
def joined(x: Tensor, y: Tensor, swap: bool) -> Tensor:
    return tg.concat([x, y] if swap else [x, x], axis=0)

def maybe(x: Tensor, y: Tensor | None) -> Tensor:
    return tg.concat([x, y] if y is not None else [x, x], axis=1)

def run(flag: bool, x: Tensor, y: Tensor) -> None:
    tg.concat([x, x] if flag else [y], axis=1) + tg.ones((5, 4))
    tg.concat([y, x] if flag else [x, y], axis=1) + tg.ones((5, 6))
    tg.concat([x, x] if flag else [x, y], axis=1) + tg.ones((5, 4))
    tg.stack([x, x] if flag else [y, y]) + tg.ones((2, 5, 2))
    joined(x, tg.ones((4, 2)), swap=flag) + tg.ones((9, 2))
    swap = True
    for n in range(2):
        tg.concat([x] if swap else [x, x], axis=1) + tg.ones((5, 2 + 2 * n))
        swap = not swap
    maybe(x, None) + tg.ones((5, 4))
    maybe(x, y) + tg.ones((5, 6))

run(len(sys.argv) > 0, tg.ones((5, 2)), tg.ones((5, 4)))
""",
    "dictionaries of tensors under computed keys": """
from collections import OrderedDict, defaultdict

def by_layer(names: list[str]) -> None:
    features: dict[str, Tensor] = {}
    sizes = {"a": 5, "b": 6}
    for name in names:
        features[name] = nn.Linear(8, sizes[name])(tg.ones((4, 8)))
    features["a"] @ tg.ones((5, 1)) + features["b"] @ tg.ones((6, 1))
    for key in features:
        features[key] @ tg.ones((sizes[key], 1))
    for key, value in features.items():
        value @ tg.ones((sizes[key], 1))

def of_two(names: list[str]) -> None:
    features: dict[str, Tensor] = {"x": tg.ones((4, 3))}
    for name in names:
        features[name] = tg.ones((4, 5))
    features["x"] @ tg.ones((3, 1))
    features[names[0]] @ tg.ones((5, 1))
    for key in sorted(features):
        features[key] @ (tg.ones((3, 1)) if key == "x" else tg.ones((5, 1)))

def longer(names: list[str]) -> None:
    sums: dict[str, Tensor] = {}
    for name in names:
        sums[name] = tg.concat([sums[name], tg.ones((1, 3))]) if name in sums else tg.ones((1, 3))
    for key in sums:
        sums[key] + tg.ones((2, 3))

def turned(names: list[str]) -> None:
    x = tg.ones((4, 8))
    kept: dict[str, Tensor] = {}
    for name in names:
        kept[name] = x
        x = x @ tg.ones((8, 8))
    x = tg.ones((4, 3))
    kept[names[0]] @ tg.ones((8, 1))
    kept["other"] = x
    kept["other"] @ tg.ones((3, 1))

def fill(data: dict[str, Tensor]) -> None:
    data["b"] = tg.ones((2, 9))

def passed_on() -> None:
    data: dict[str, Tensor] = {}
    data["a"] = tg.ones((2, 3))
    fill(data)
    data["b"] @ tg.ones((9, 1))

def aliased(key: str) -> None:
    data: dict[str, Tensor] = {}
    data[key] = tg.ones((2, 3))
    other = data
    other[key] = tg.ones((2, 9))
    data[key] @ tg.ones((9, 1))
    more: dict[str, Tensor] = {}
    more[key] = tg.ones((2, 3))
    more.update({"b": tg.ones((2, 9))})
    more["b"] @ tg.ones((9, 1))
    more |= {"c": tg.ones((2, 7))}
    more["c"] @ tg.ones((7, 1))
    last: dict[str, Tensor] = {}
    last[key] = tg.ones((2, 3))
    last.setdefault("b", tg.ones((2, 9))) @ tg.ones((9, 1))

def rows(count: int) -> None:
    items = [tg.ones((2, 3))]
    for k in range(count):
        items.append(tg.ones((2, 3)))
        items[k] = tg.ones((2, 5))
    items[0] @ tg.ones((5, 1))
    items[-1] @ tg.ones((3, 1))
    items[:1] = [tg.ones((2, 9))]
    items[0] @ tg.ones((9, 1))

def inner() -> None:
    data: dict[str, Tensor] = {}
    def change() -> None:
        data["b"] = tg.ones((2, 9))
    data["a"] = tg.ones((2, 3))
    change()
    data["b"] @ tg.ones((9, 1))

by_layer(["a", "b"])
of_two(["a", "b"])
longer(["a", "a"])
turned(["a", "b"])
passed_on()
aliased("a")
rows(2)
inner()
""",
    "attributes that a constructor computes in several ways": """
class Chosen:
    def __init__(self, x: Tensor, scale: float) -> None:
        last = x.sum(axis=0)
        if scale > 1.0:
            last = x.sum(axis=1)
        self.last = last
        for _ in range(1):
            x = x.T @ tg.ones((4, 7))
        self.turned = x.sum(axis=0)

def total(x: Tensor, scale: float) -> Tensor:
    return Chosen(x, scale).last

total(tg.ones((4, 7)), 2.0) @ tg.ones((4, 1))
total(tg.ones((4, 7)), 0.5) @ tg.ones((7, 1))
Chosen(tg.ones((4, 9)), 0.5).turned @ tg.ones((7, 1))
""",
    "loops over configurations that are not all used": """
CONFIGS = [Config(), Config(width=6), Config(width=7)]

def run(config: Config, x: Tensor) -> Tensor:
    return MLP(config)(x) @ tg.ones((8, 1))

x = tg.ones((4, 8))
for config in CONFIGS:
    if config.width == 8:
        run(config, x)
for config in CONFIGS:
    if config.width != 8:
        continue
    run(config, x)
for config in CONFIGS:
    print(run(config, x).shape if config.width == 8 else "")
for config in CONFIGS:
    config = Config()
    run(config, x)
for config in CONFIGS:
    run(config, x)
    break
for config in CONFIGS:
    try:
        run(config, x)
    except ValueError:
        pass
print([run(config, x).shape for config in CONFIGS if config.width == 8])
""",
    "collections of tensors that functions inside of a function change": """
def entries(count: int) -> None:
    data: dict[str, Tensor] = {}
    def change() -> None:
        data["b"] = tg.ones((2, 9))
    data["a"] = tg.ones((2, 3))
    change()
    data["b"] @ tg.ones((9, 1))

def items(count: int) -> None:
    rows: list[Tensor] = []
    rows.append(tg.ones((2, 3)))
    def change() -> None:
        rows.append(tg.ones((2, 9)))
    change()
    rows[1] @ tg.ones((9, 1))

entries(2)
items(2)
""",
    "functions as arguments": """
from collections.abc import Callable

Act = Callable[[Tensor], Tensor]

def narrow(x: Tensor) -> Tensor:
    return x @ tg.ones((8, 2))

def wide(x: Tensor) -> Tensor:
    return x @ tg.ones((8, 9))

def apply(act: Act, x: Tensor) -> Tensor:
    return act(x)

def optional(x: Tensor, act: Act | None = None) -> Tensor:
    return x if act is None else act(x)

def changed(act: Act, x: Tensor, count: int) -> Tensor:
    if count > 2:
        act = narrow
    return act(x)

def both(act: Act, second: Act, x: Tensor) -> Tensor:
    return second(act(x))

def chosen(act: Act, x: Tensor) -> Tensor:
    if act is narrow:
        return act(x) @ tg.ones((2, 1))
    return act(x) @ tg.ones((9, 1))

def tried(act: Act, x: Tensor) -> Tensor:
    try:
        return act(x)
    except ValueError:
        return x

class Stack(nn.Module):
    def __init__(self, act: Act) -> None:
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x)

def main(width: int) -> None:
    weight = tg.ones((width, 2))

    def inner(x: Tensor) -> Tensor:
        return x @ weight

    apply(inner, tg.ones((2, width)))
    for act in (narrow, wide):
        apply(act, tg.ones((4, 8)))
    apply(lambda x: x @ weight, tg.ones((2, width)))

apply(narrow, tg.ones((4, 8))) @ tg.ones((2, 1))
apply(wide, tg.ones((4, 8))) @ tg.ones((9, 1))
optional(tg.ones((4, 8))) @ tg.ones((8, 1))
optional(tg.ones((4, 8)), narrow) @ tg.ones((2, 1))
changed(wide, tg.ones((4, 8)), int("3")) @ tg.ones((2, 1))
both(narrow, tg.relu, tg.ones((4, 8))) @ tg.ones((2, 1))
both(tg.transpose, wide, tg.ones((8, 4))) @ tg.ones((9, 1))
chosen(narrow, tg.ones((4, 8)))
chosen(wide, tg.ones((4, 8)))
tried(narrow, tg.ones((4, 9)))
Stack(narrow)(tg.ones((4, 8)))
main(3)
""",
    "functions that map calls": """
def scaled(x: Tensor) -> Tensor:
    return x * 2.0

def joined(x: Tensor, y: Tensor) -> Tensor:
    return tg.concat([x, y])

def failing(x: Tensor) -> Tensor:
    return x @ tg.ones((3, 3))

def later() -> None:
    xs = [tg.ones((2, 3))]
    several = map(scaled, xs)
    xs.append(tg.ones((2, 4)))
    xs.reverse()
    for x in several:
        x @ tg.ones((4, 1))
        break

def of_several() -> None:
    xs = [tg.ones((2, 3)), tg.ones((4, 3))]
    for x in map(scaled, xs):
        x @ tg.ones((3, 1))
        x + tg.ones((2, 3)) if x.shape[0] == 2 else x + tg.ones((4, 3))
    first, second = map(scaled, xs)
    first + tg.ones((2, 3))
    second + tg.ones((4, 3))
    for y in map(joined, xs, reversed(xs)):
        y + tg.ones((6, 3))

def of_none(xs: list[Tensor]) -> None:
    map(failing, [tg.ones((2, 5))])
    for x in map(failing, xs):
        x @ tg.ones((3, 1))
    list(map(failing, [tg.ones((2, 5)) for _ in xs]))

def turned(x: Tensor) -> Tensor:
    return x.T if x.shape[0] > 2 else x

def of_rows(rows: list[tuple[Tensor, Tensor]]) -> None:
    x, y = map(tg.stack, zip(*rows))
    x @ tg.ones((5, 1))
    pairs = [(tg.ones((3,)), tg.ones((2,))), (tg.ones((3,)), tg.ones((2,)))]
    z, w = map(tg.stack, zip(*pairs))
    z @ tg.ones((3, 1)) + w @ tg.ones((2, 1))
    one, other = map(turned, [tg.ones((2, 3)), tg.ones((3, 2))])
    one + other

later()
of_several()
of_none([])
of_rows([(tg.ones((5,)), tg.ones((2,)))])
MODELS = [nn.Linear(3, 4), nn.Linear(3, 5)]
for model in MODELS:
    tg.concat(list(map(model, [tg.ones((1, 3)), tg.ones((2, 3))]))) + tg.ones((3, 1))
""",
    "functions that functools makes": """
from functools import cache, lru_cache, partial

def product(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
    return x @ y * scale

def sized(x: Tensor, width: int = 3) -> Tensor:
    return x @ tg.ones((width, 2))

def rebound() -> None:
    f = partial(product, tg.ones((2, 3)))
    f(tg.ones((3, 1)))
    f = partial(product, tg.ones((2, 5)))
    f(tg.ones((5, 1)))

def of_rebound() -> None:
    w = tg.ones((2, 3))
    f = partial(product, w)
    w = tg.ones((2, 7))
    f(tg.ones((3, 1)))

def of_options(count: int) -> None:
    f = partial(sized, width=4)
    f(tg.ones((1, 4)))
    f(tg.ones((1, 5)), width=5)
    g = partial(product, y=tg.ones((3, 1)))
    g(tg.ones((2, 3)), scale=2.0)
    for width in (3, 4):
        h = partial(sized, width=width)
        h(tg.ones((1, width)))

def of_settings() -> None:
    settings = Settings(4)
    linear = partial(nn.Linear, settings.width)
    made = partial(sized, tg.ones((1, 4)))
    linear(2)(tg.ones((1, 4)))
    made(settings.width)
    settings.width = 6
    linear(2)(tg.ones((1, 4)))
    partial(sized, tg.ones((1, 6)))(settings.width)

def given(f: partial[Tensor]) -> Tensor:
    return f(tg.ones((3, 1)))

@lru_cache(maxsize=8)
def table(width: int, *more: int) -> Tensor:
    return tg.ones((3, width))

@cache
def either(wide: bool) -> Tensor:
    if wide:
        return tg.ones((3, 8))
    return tg.ones((3, 4))

class Tables:
    @cache
    def table(self, width: int) -> Tensor:
        return tg.ones((width, width))

    @staticmethod
    @cache
    def plain(width: int) -> Tensor:
        return tg.ones((width, 3))

@cache
def model_of(width: int) -> MLP:
    return MLP(Config(width))

rebound()
of_rebound()
of_options(2)
of_settings()
given(partial(product, tg.ones((2, 3))))
given(partial(product, tg.ones((4, 3))))
table(int("4")) @ tg.ones((4, 1))
table(4, 5) @ tg.ones((4, 1))
either(bool(1)) @ tg.ones((8, 1))
Tables().table(3) @ tg.ones((3, 1))
Tables.plain(4) @ tg.ones((3, 1))
first = model_of(8)
first(tg.ones((2, 8)))
model_of(int("6"))(tg.ones((2, 6)))
""",
    "loops and branches that sizes may decide": """
import random
import numpy as np

def alternating(x: Tensor, times: int) -> Tensor:
    up, down = nn.Linear(8, 5), nn.Linear(5, 8)
    for i in range(times):
        if i % 2 == 0:
            x = up(x)
        else:
            x = down(x)
        if i % 2 == 1:
            tg.relu(x @ tg.ones((8, 2)))
    return x

def first_turn(x: Tensor, times: int) -> None:
    for i in range(times):
        if i == 0:
            h = x
        else:
            h = h @ tg.ones((5, 5))
        if i % 2 == 1:
            h @ tg.ones((5, 1))
        h = x @ tg.ones((8, 5))

def by_size(x: Tensor, times: int) -> None:
    n = x.shape[0]
    for i in range(times):
        if x.shape[-1] == 3 or i < 0:
            x @ tg.ones((3, 3))
        if n > 8 and i % 2 == 0:
            x @ tg.ones((3, 3))
        if i % 2 == 0 and x.ndim == 3:
            x @ tg.ones((3, 3))
        if len(x) > i + 20:
            x @ tg.ones((3, 3))
        i = n
        if i > 5:
            x @ tg.ones((3, 3))

def by_kind(x: Tensor | None, y: Tensor, flag: bool, mode: str, wide: int) -> None:
    for i in range(wide):
        if x is not None and i % 2 == 0:
            y @ x
        if isinstance(x, Tensor) and i == 0:
            y @ x
        if flag:
            y @ tg.ones((3, 3))
        if mode == "narrow":
            y @ tg.ones((3, 3))
        if wide > 2:
            y @ tg.ones((3, 3))
        if i < wide - 2:
            y @ tg.ones((3, 3))

def by_rows(x: Tensor, k: int) -> None:
    for _ in range(x.shape[0] - k):
        x @ tg.ones((3, 3))
    rest = x.shape[0] - k
    for _ in range(rest):
        x @ tg.ones((3, 3))
    for _ in range(len(x) - k):
        x @ tg.ones((3, 3))
    while x.shape[0] > k:
        x @ tg.ones((3, 3))

def ended(x: Tensor, times: int) -> None:
    for i in range(times):
        if i == 0:
            break
        x @ tg.ones((3, 3))
    for i in range(times):
        if x.shape[-1] != 3:
            continue
        x @ tg.ones((3, 3))
    for i in range(times):
        if i % 2 == 0:
            try:
                x @ tg.ones((3, 3))
            except ValueError:
                pass

def kept(x: Tensor, times: int) -> None:
    outs = [x]
    state = {"h": x}
    for i in range(times):
        if i > 0:
            outs[-1] @ tg.ones((5, 1))
            state["h"] @ tg.ones((5, 1))
        outs.append(x @ tg.ones((8, 5)))
        state["h"] = x @ tg.ones((8, 5))

class Width:
    def item(self) -> float:
        return 8.0

def drawn(x: Tensor, wide: bool, width: Width) -> Tensor:
    if wide:
        if random.random() < 2.0:
            x = x @ tg.ones((3, 3))
    if width.item() < 8.0:
        x = x @ tg.ones((3, 3))
    return x

alternating(tg.ones((4, 8)), int("4"))
first_turn(tg.ones((4, 8)), int("3"))
by_size(tg.ones((4, 8)), int("3"))
by_kind(None, tg.ones((4, 8)), bool(int("0")), str(3), int("2"))
by_rows(tg.tensor(np.ones((int("4"), 8), np.float32)), int("4"))
ended(tg.ones((4, 8)), int("3"))
kept(tg.ones((4, 8)), int("3"))
drawn(tg.ones((4, 8)), bool(int("0")), Width())
""",
    "variables of the function around": """
from contextlib import suppress

def rebound(flag: bool) -> None:
    h = tg.ones((3, 4))
    def shifted(x: Tensor) -> Tensor:
        return x @ h
    shifted(tg.ones((2, 3)))
    h = tg.ones((5, 4))
    shifted(tg.ones((2, 5)))

def by_another(flag: bool) -> None:
    model = MLP(Config(6))
    def change() -> None:
        nonlocal model
        model = MLP(Config(7))
    def run(x: Tensor) -> Tensor:
        return model(x)
    run(tg.ones((2, 6)))
    change()
    run(tg.ones((2, 7)))

def by_list(count: int) -> None:
    layers = [nn.Linear(3, 3)]
    parts = [tg.ones((3, 4))]
    def run(x: Tensor) -> Tensor:
        for layer in layers:
            x = layer(x)
        return x
    def last(x: Tensor) -> Tensor:
        return x @ parts[-1]
    run(tg.ones((2, 3))) @ tg.ones((3, 1))
    last(tg.ones((2, 3)))
    layers.append(nn.Linear(3, 5))
    parts.append(tg.ones((5, 4)))
    run(tg.ones((2, 3))) @ tg.ones((5, 1))
    last(tg.ones((2, 5)))

def by_branch(flag: bool) -> Tensor:
    if flag:
        def run(x: Tensor) -> Tensor:
            return x @ tg.ones((3, 1))
    else:
        def run(x: Tensor) -> Tensor:
            return x @ tg.ones((4, 1))
    return run(tg.ones((2, 3 if flag else 4)))

def of_parameter(x: Tensor, width: int) -> Tensor:
    def run(y: Tensor) -> Tensor:
        return y @ x
    def sized(y: Tensor, width: int) -> Tensor:
        return y @ tg.ones((width, 2))
    run(tg.ones((2, 3)))
    sized(tg.ones((2, 3)), 3) + sized(tg.ones((2, width)), width)
    x = tg.ones((5, 1))
    return run(tg.ones((2, 5)))

def of_loop() -> None:
    for width in (3, 4):
        model = nn.Linear(width, width)
        mlp = MLP(Config(width))
        weight = tg.ones((width, 2))
        def run(x: Tensor) -> Tensor:
            return mlp(model(x)) @ weight
        run(tg.ones((2, width)))
    for count in range(1, 3):
        def counted(x: Tensor) -> Tensor:
            return x @ tg.ones((count, 2))
        counted(tg.ones((2, count)))

def optional(mask: Tensor | None = None) -> None:
    def run(x: Tensor) -> Tensor:
        return x if mask is None else x @ mask
    run(tg.ones((2, 3)))
    with suppress(Exception):
        run(tg.ones((2, 4)))
    try:
        run(tg.ones((2, 4)))
    except ValueError:
        pass

def changed(settings: Settings) -> None:
    def run(x: Tensor) -> Tensor:
        return x @ tg.ones((settings.width, 2))
    run(tg.ones((2, settings.width)))
    settings.width = 5
    run(tg.ones((2, 5)))
    local = Settings(4)
    def again(x: Tensor) -> Tensor:
        return x @ tg.ones((local.width, 2))
    again(tg.ones((2, 4)))
    local.width = 6
    again(tg.ones((2, 6)))

def shadowed(x: Tensor) -> Tensor:
    h = tg.ones((3, 4))
    def run(x: Tensor, h: Tensor) -> Tensor:
        return x @ h
    def other(x: Tensor) -> Tensor:
        h = tg.ones((7, 7))
        return x @ h
    def inner(x: Tensor) -> Tensor:
        return tg.concat([h @ x for h in (tg.ones((1, 7)), tg.ones((2, 7)))])
    run(tg.ones((2, 5)), tg.ones((5, 5)))
    other(tg.ones((2, 7)))
    return inner(tg.ones((7, 1)))

def twice(width: int) -> Tensor:
    def run(x: Tensor) -> Tensor:
        return x @ tg.ones((width, 2))
    if width < 5:
        twice(width + 1)
    return run(tg.ones((1, width)))

class Trainer:
    def __init__(self, width: int) -> None:
        self.model = nn.Linear(width, 2)
        self.width = width
    def fit(self, rows: int) -> Tensor:
        def loss(x: Tensor) -> Tensor:
            return self.model(x).sum()
        self.model = nn.Linear(self.width + 1, 2)
        return loss(tg.ones((rows, self.width + 1)))

rebound(True)
by_another(True)
by_list(2)
by_branch(True)
by_branch(False)
of_parameter(tg.ones((3, 1)), 4)
of_loop()
optional()
optional(tg.ones((3, 3)))
changed(Settings(3))
shadowed(tg.ones((2, 2)))
twice(2)
Trainer(3).fit(2)
Trainer(5).fit(2)
""",
    "lists of parameters of several models": """
from tapegrad import optim
from tapegrad.nn import Buffer, Param

def parameters(model: nn.Module) -> list[Param[Any, Any]]:
    return list(model.parameters().values())

def use(states: list[Param[Any, Any] | Buffer[Any, Any]]) -> int:
    return len(states)

def main(others: list[Any]) -> None:
    first, second = nn.Linear(3, 4), nn.BatchNorm1d(4)
    optim.Adam(parameters(first) + parameters(second))
    optim.Adam(list(first.parameters().values()) + [second.weight])
    optim.Adam([first.weight] + [second.weight, second.bias])
    optim.Adam(parameters(second) + others)
    use(parameters(second) + list(second.buffers().values()))

main([])
""",
    "collections of tensors of unknown sizes": """
import numpy as np
from typing import Literal as L
from tapegrad import NoneTape, Shape

def total(tensors: list[Tensor[Shape[L[3], L[2]], NoneTape]]) -> float:
    return sum(one.sum().item() for one in tensors)

def counted(rows: int) -> Tensor:
    return tg.tensor(np.argwhere(np.eye(rows) > 0).astype(np.float32))

rows, others = counted(3), counted(3)
both = [rows, others]
total(both)
more = [tg.ones((3, 2))]
more.append(rows)
total(more)
by_name = {"rows": tg.ones((3, 2))}
by_name["others"] = others
""",
    "dataclasses that change their fields": """
from dataclasses import dataclass

@dataclass
class Cut:
    logits: Tensor[Any]
    def __post_init__(self) -> None:
        self.logits = self.logits[:1]

@dataclass
class Own:
    logits: Tensor[Any]
    def __init__(self, x: Tensor[Any]) -> None:
        self.logits = x[:1]

@dataclass
class Set:
    logits: Tensor[Any]
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value[:1])

@dataclass
class Computed:
    raw: Tensor[Any]
    @property
    def logits(self) -> Tensor[Any]:
        return self.raw[:1]

def cut_of(x: Tensor[Any]) -> Cut:
    return Cut(x * 2.0)

def own_of(x: Tensor[Any]) -> Own:
    return Own(x * 2.0)

def set_of(x: Tensor[Any]) -> Set:
    return Set(x * 2.0)

def computed_of(x: Tensor[Any]) -> Computed:
    return Computed(x * 2.0)

x = tg.ones((3, 4))
cut_of(x).logits + tg.ones((2, 4))
own_of(x).logits + tg.ones((2, 4))
set_of(x).logits + tg.ones((2, 4))
computed_of(x).logits + tg.ones((2, 4))

@dataclass
class Later:
    logits: Tensor[Any]
    def cut(self) -> "Later":
        self.logits = self.logits[:1]
        return self

def later_of(x: Tensor[Any]) -> Later:
    return Later(x * 2.0)

def cut_at_once(x: Tensor[Any]) -> Later:
    return Later(x * 2.0).cut()

def cut_later(x: Tensor[Any]) -> Later:
    later = Later(x * 2.0)
    later.cut()
    return later

later_of(x).cut().logits + tg.ones((2, 4))
cut_at_once(x).logits + tg.ones((2, 4))
cut_later(x).logits + tg.ones((2, 4))
""",
    "a reduction to another shape": """
from functools import reduce

x = tg.ones((2, 3))
reduce(lambda a, b: tg.concat((a, b)), [x, x, x]) + tg.ones((6, 3))
reduce(tg.add, [x, x]) + x
reduce(tg.matmul, [tg.ones((2, 4)), tg.ones((4, 4))]) + tg.ones((2, 4))
reduce(lambda a, layer: layer(a), [nn.Linear(3, 5), nn.Linear(5, 6)], x) + tg.ones((2, 6))
reduce(lambda n, m: n * m, x.shape, 1) + x
""",
    "named tuples and dataclasses of other sizes": """
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

class Step(NamedTuple):
    state: Tensor[Any]
    reward: Tensor[Any] | None = None

@dataclass
class Out:
    logits: Tensor[Any]
    hidden: Tensor[Any] | None = None

def outputs(x: Tensor[Any]) -> Out:
    return Out(x, hidden=x @ tg.ones((4, 6)))

def changed(x: Tensor[Any]) -> Out:
    out = Out(x, hidden=x @ tg.ones((4, 6)))
    out.logits = out.logits[:1]
    return out

def changed_later(x: Tensor[Any]) -> Out:
    out = outputs(x)
    out.logits = out.logits[:1]
    return out

def cut(out: Out) -> None:
    out.logits = out.logits[:1]

x = tg.ones((2, 4))
changed(x).logits + tg.ones((1, 4))
changed_later(x).logits + tg.ones((1, 4))
out = outputs(x)
cut(out)
out.logits + tg.ones((1, 4))
other = outputs(x)
other.logits = tg.ones((3, 4))
other.logits + tg.ones((3, 4))
replace(outputs(x), logits=tg.ones((5, 4))).logits + tg.ones((5, 4))

class First(Step):
    def __new__(cls, state: Tensor[Any], reward: Tensor[Any] | None = None) -> First:
        return super().__new__(cls, state[:1], reward)

First(x).state + tg.ones((1, 4))

def both(x: Tensor[Any]) -> tuple[Tensor[Any], Out]:
    out = outputs(x)
    return x.sum(), out

loss, third = both(x)
third.logits = tg.ones((9,))
third.logits + tg.ones((9,))
loss, fourth = both(x)
cut(fourth)
fourth.logits + tg.ones((1, 4))
for k in range(2):
    loss, fifth = both(tg.ones((k + 1, 4)))
    fifth.logits + tg.ones((k + 1, 4))
fifth.logits + tg.ones((2, 4))

def either(x: Tensor[Any], flag: bool) -> Out:
    if flag:
        return Out(x)
    return Out(x[:1], x)

either(x, False).logits + tg.ones((1, 4))

def collected() -> list[Step]:
    steps = []
    for k in range(3):
        steps.append(Step(tg.ones((2, k + 1)), tg.ones((k + 1,))))
    return steps

steps = [Step(x)]
steps += collected()
steps[0] = Step(tg.ones((7, 7)))
steps.insert(0, Step(tg.ones((3,))))
by_name = {"a": Step(x)}
by_name["b"] = Step(tg.ones((3,)))
by_name.setdefault("c", Step(tg.ones((5,))))
by_name.update({"d": Step(tg.ones((5,)))})
queue = deque([Step(x)])
queue.append(Step(tg.ones((3,))))
lists: defaultdict[str, list[Step]] = defaultdict(list)
lists["a"].append(Step(x))
lists["a"].append(Step(tg.ones((3,))))
rows = [[Step(x)], [Step(tg.ones((3,)))]]
rows[0].append(Step(tg.ones((3,))))
first = Step(tg.ones((2, 3)))
first = first._replace(state=tg.ones((9,)))
first.state + tg.ones((9,))
T = TypeVar("T")

class Box(Generic[T]):
    def __init__(self, one: T) -> None:
        self.one = one

    def set(self, one: T) -> None:
        self.one = one

box = Box(Step(x))
box.set(Step(tg.ones((3,))))

def walk(step: Step) -> Step:
    for _ in range(3):
        step = Step(tg.concat((step.state, step.state)), step.reward)
    return step

walk(Step(x)).state + tg.ones((16, 4))
now = Step(x)
for _ in range(3):
    now = Step(tg.concat((now.state, now.state)))
now.state + tg.ones((16, 4))

class Walk:
    def __init__(self, step: Step) -> None:
        self.step = step
        self.steps = [step]

    def move(self) -> None:
        self.step = Step(self.step.state[:1])
        self.steps.append(self.step)

one_walk = Walk(Step(x))
one_walk.move()
one_walk.step.state + tg.ones((1, 4))

def each(change: Callable[[Step], Step], some: list[Step]) -> list[Step]:
    return [change(one) for one in some]

each(lambda one: Step(one.state[:1]), [Step(x), Step(tg.ones((3,)))])

def stream() -> Iterator[Step]:
    for k in range(3):
        yield Step(tg.ones((k + 1,)))

for one in stream():
    one.state + tg.ones((1,))
""",
    "a loop in a loop that ends early": """
def train(x: Tensor[Any], limit: float) -> Tensor[Any]:
    for _ in range(3):
        for _ in range(2):
            x = x * 2.0
        if x.sum().item() > limit:
            x = tg.concat((x, x))
            break
    return x

train(tg.ones((2, 3)), 7.0) + tg.ones((4, 3))
""",
    "shapes that a program changes before it uses them": """
x = tg.ones((2, 3, 4))
sizes = list(x.shape)
sizes[-1] = 5
print(tg.ones((*sizes,)) + tg.ones((2, 3, 5)), x.reshape(*sizes[:2], -1) + tg.ones((2, 3, 4)))
axes = list(range(x.ndim))
axes[0], axes[1] = axes[1], axes[0]
print(tg.permute(x, tuple(axes)) + tg.ones((3, 2, 4)))
for _ in range(2):
    shape = x.shape
    x = tg.concat((x, x), axis=0)
    print(x + tg.ones((2 * shape[0], *shape[1:])), x.reshape(*x.shape[:1], *[1] * (x.ndim - 1), 12))

def widened(x: Tensor[Any], *more: int) -> Tensor[Any]:
    widths = [1, *more]
    widths.append(4)
    return x + tg.ones(tuple(widths))

widened(tg.ones((3, 4)), 3)
widened(tg.ones((4,)))
""",
    "options of several kinds in one dictionary": """
class Gated(nn.Module):
    def __init__(self, width: int, dropout: float = 0.0, bias: bool = True) -> None:
        self.linear = nn.Linear(width, width, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
        return self.linear(self.drop(x))

common = dict(kernel=3, padding=1)
images = nn.Conv2d(3, 8, **common)(tg.ones((2, 3, 5, 5))) + tg.ones((2, 8, 5, 5))
nn.Conv2d(3, 8, **{"kernel": 3, "bias": False})
nn.LayerNorm(4, **{"eps": 1e-3})
Gated(**{"width": 4})(tg.ones((2, 4)))
Gated(**{"width": 4, "dropout": 0.5})(tg.ones((2, 4)))
tg.ones((2, 3)).mean(**{"axis": 0}) + tg.ones((3,))
tg.sum(tg.ones((2, 3)), **{"axis": 1, "keepdims": True}) + tg.ones((2, 1))

def of_any_keys(options: dict[str, int]) -> None:
    nn.Conv2d(3, 8, **options)(tg.ones((2, 3, 9, 9)))

of_any_keys(common)
""",
    "lists of lists and of dictionaries": """
class Stages(nn.Module):
    def __init__(self) -> None:
        self.stages = [[nn.Linear(4, 8), nn.Linear(8, 8)], [nn.Linear(8, 16), nn.Linear(16, 5)]]
        self.named = [{"up": nn.Linear(5, 6)}, {"up": nn.Linear(6, 7), "down": nn.Linear(7, 2)}]

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            for layer in stage:
                x = layer(x).relu()
        for named in self.named:
            for name in named:
                x = named[name](x)
        return x

    def last(self, x: Tensor) -> Tensor:
        return self.stages[1][1](x)

Stages()(tg.ones((3, 4))) + tg.ones((3, 2))
Stages().last(tg.ones((3, 16))) + tg.ones((3, 5))
layers = [[nn.Linear(4, 8), nn.Linear(8, 8)], [nn.Linear(8, 16), nn.Linear(16, 5)]]
x = tg.ones((3, 4))
for row in layers:
    for layer in row:
        x = layer(x)
x + tg.ones((3, 5))
layers[1][0](tg.ones((3, 8))) + tg.ones((3, 16))
batches = [{"x": tg.ones((4, 3))}, {"x": tg.ones((2, 3))}]
for batch in batches:
    print(batch["x"].shape[0])
batches[1]["x"] + tg.ones((2, 3))
for size, batch in zip((4, 2), batches):
    print(size)
tensors = [[tg.ones((4, 3))], [tg.ones((5,)), tg.ones((6,))]]
tensors[1][1] + tg.ones((6,))
for several in tensors[1:]:
    several[0] + tg.ones((5,))
for several in tensors:
    several[0] = tg.ones((7,))
tensors[0][0] + tg.ones((7,))
""",
    "lists of other lengths": """
popped = [tg.ones((2,)) for _ in range(3)]
popped.pop()
tg.stack(popped) + tg.ones((2, 2))
tg.zeros((len(popped),)) + tg.ones((2,))
deleted = [tg.ones((2,)) for _ in range(3)]
del deleted[0]
tg.stack(deleted) + tg.ones((2, 2))
chosen = [tg.ones((2,)) for n in range(3) if n > 1]
tg.stack(chosen * 2) + tg.ones((2, 2))
tg.zeros((len(chosen), 2)) + tg.ones((2, 2))
count = 3
counted = [tg.ones((2,)) for _ in range(count)]
count += 1
tg.stack(counted) + tg.ones((3, 2))
for turn in range(1, 3):
    of_turn = [tg.ones((2,)) for _ in range(turn)]
    tg.stack(of_turn) + tg.ones((turn, 2))
    tg.zeros((len(of_turn),)) + tg.ones((turn,))
tg.stack(of_turn) + tg.ones((2, 2))
sized = [tg.ones((size, 2)) for size in (3, 4)]
tg.concat(sized) + tg.ones((7, 2))
sized[1] + tg.ones((4, 2))
one, two = sized
two + tg.ones((4, 2))
with_star = [*sized, tg.ones((1, 2))]
tg.zeros((len(with_star),)) + tg.ones((3,))

def halves(x: Tensor, n: int) -> Tensor:
    parts = [x[k] for k in range(n)]
    for m in (1, 2):
        if m == 1:
            taken = [x[k] for k in range(m)]
    return tg.stack(parts) + tg.zeros((len(taken), 1))

halves(tg.ones((4, 3)), 2) + tg.ones((2, 3))

def add_row(items: list[Tensor]) -> None:
    items.append(tg.ones((2,)))

passed = [tg.ones((2,)) for _ in range(3)]
add_row(passed)
tg.stack(passed) + tg.ones((4, 2))
other = [tg.ones((2,)) for _ in range(3)]
alias = other
alias.append(tg.ones((2,)))
tg.stack(other) + tg.ones((4, 2))
""",
    "items of several dtypes": """
from typing import Literal

import numpy as np
from tapegrad import NoneTape, Shape

Ints = Tensor[Shape[Literal[2]], NoneTape, np.int64]
items = [tg.ones((2,)), tg.ones((2,), np.int64)]
first: Tensor[Shape[Literal[2]]] = items[0]
second: Ints = items[1]
ints: list[Ints] = [items[1]]
pair: tuple[Tensor[Shape[Literal[2]]], Ints] = (items[0], items[1])
for item in items[1:]:
    last: Ints = item

def floats() -> Tensor[Shape[Literal[2]]]:
    return items[0]

def default(x: Ints = items[1]) -> Ints:
    return x

floats() + first
default()
""",
    "rows of an unknown number": """
def whole(n: int) -> int:
    return n

def product(x: Tensor) -> Tensor:
    q, k = x
    return q @ k.T

product(tg.ones((whole(2), 3, 4))) + tg.ones((3, 3))
""",
    "items of lists and dictionaries that get another shape": """
# mypy: allow-untyped-defs, allow-untyped-calls
class Heads(nn.Module):
    def __init__(self):
        self.heads = {"mean": nn.Linear(8, 3), "scale": nn.Linear(8, 5)}
        self.narrow, self.wide = nn.Linear(8, 3), nn.Linear(8, 5)

    def filled(self, x):
        out = {}
        for name, head in self.heads.items():
            out[name] = head(x)
        return out["scale"]

    def filled_by_other_keys(self, x):
        out = {"mean": self.narrow(x)}
        for name, head in self.heads.items():
            out[name + "_of_x"] = head(x)
        return out["scale_of_x"]

    def filled_by_number(self, x):
        out = {}
        for number, head in enumerate(self.heads.values()):
            out[number] = head(x)
        return out[1]

    def filled_in_a_branch(self, x, count):
        out = {"mean": self.narrow(x)}
        if count > 3:
            out["mean"] = self.wide(x)
        return out["mean"]

    def filled_while(self, x, count):
        out = {}
        while count > 0:
            out["mean"] = self.wide(x) if count == 1 else self.narrow(x)
            count -= 1
        return out["mean"]

    def filled_under_another_name(self, x):
        out = {"mean": self.narrow(x)}
        other = out
        other["mean"] = self.wide(x)
        return out["mean"]

    def filled_while_it_is_read(self, x):
        out = {"mean": self.narrow(x), "scale": self.narrow(x)}
        for item in out.values():
            out["scale"] = self.wide(x)
        return item

    def filled_behind_a_view(self, x):
        out = {"mean": self.narrow(x)}
        items = out.values()
        out["mean"] = self.wide(x)
        (item,) = items
        return item

    def filled_with_numbers(self, x):
        out: dict[str, Any] = {"mean": self.wide(x)}
        out["scale"] = 2.0
        return out["mean"] * out["scale"]

    def unpacked(self, x):
        out = {"mean": self.narrow(x)}
        out["mean"], out["scale"] = self.wide(x), self.narrow(x)
        return out["mean"]

    def summed(self, x):
        out = {"mean": self.narrow(x)}
        out["mean"] += tg.ones((2, 4, 3))
        return out["mean"]

    def replaced(self, x):
        items = [self.narrow(x), self.narrow(x)]
        items[0] = self.wide(x)
        return items[0]

    def replaced_in_a_loop(self, x):
        items = [self.narrow(x), self.narrow(x)]
        for number in range(2):
            items[number] = self.wide(x)
        return items[1]

    def replaced_while_it_is_read(self, x):
        items = [self.narrow(x), self.narrow(x)]
        for item in items:
            items[1] = self.wide(x)
        return item

    def replaced_part(self, x):
        items = [self.narrow(x), self.narrow(x)]
        items[:1] = [self.wide(x)]
        return items[0]

heads, x = Heads(), tg.ones((4, 8))
heads.filled(x) + tg.ones((4, 5))
heads.filled_by_other_keys(x) + tg.ones((4, 5))
heads.filled_by_number(x) + tg.ones((4, 5))
heads.filled_in_a_branch(x, 4) + tg.ones((4, 5))
heads.filled_while(x, 1) + tg.ones((4, 5))
heads.filled_under_another_name(x) + tg.ones((4, 5))
heads.filled_while_it_is_read(x) + tg.ones((4, 5))
heads.filled_behind_a_view(x) + tg.ones((4, 5))
heads.filled_with_numbers(x) + tg.ones((4, 5))
heads.unpacked(x) + tg.ones((4, 5))
heads.summed(x) + tg.ones((2, 4, 3))
heads.replaced(x) + tg.ones((4, 5))
heads.replaced_in_a_loop(x) + tg.ones((4, 5))
heads.replaced_while_it_is_read(x) + tg.ones((4, 5))
heads.replaced_part(x) + tg.ones((4, 5))
""",
    "lists of dictionaries that change": """
narrow, wide = tg.ones((4, 3)), tg.ones((4, 5))

def replace_item(row: dict[str, Tensor]) -> None:
    row["x"] = wide

def first() -> dict[str, Tensor]:
    for row in returned:
        return row
    return {}

replaced: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))} for _ in range(2)]
for row in replaced:
    replace_item(row)
for row in replaced:
    row["x"] + wide

assigned: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))} for _ in range(2)]
assigned[0]["x"] = wide
assigned[0]["x"] + wide

in_loop: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))} for _ in range(2)]
for one in in_loop:
    one["x"] = wide
for other in in_loop:
    other["x"] + wide

returned: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))} for _ in range(2)]
first()["x"] = wide
for another in returned:
    another["x"] + wide
    break

shared: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))} for _ in range(2)]
also = shared
also[0].update(x=wide)
for same in shared:
    same["x"] + wide
    break

several: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))}, {"x": wide, "y": tg.ones((5,))}]
for each in several[1:]:
    each["x"] + wide

extended: list[dict[str, Tensor]] = [{"x": narrow, "y": tg.ones((4,))}]
extended.append({"x": wide, "y": tg.ones((5,))})
for last in extended[1:]:
    last["x"] + wide
""",
    "columns of rows": """
# mypy: allow-untyped-defs, allow-untyped-calls

def stacked(rows):
    xs, ys = zip(*rows)
    return xs[1], ys[0]

def turned(x):
    for one, other in zip(*[[3, 4, 7], [5, 6, 7]]):
        x = tg.concat([x, x[:1]])
    return x

def filled(rows):
    rows[0] = (tg.ones((3,)), tg.ones((7,)))
    xs, ys = zip(*rows)
    return ys[0]

rows = [(tg.ones((3,)), tg.ones((2,))), (tg.ones((4,)), tg.ones((2,)))]
stacked(rows)[0] + tg.ones((4,))
turned(tg.ones((2, 3))) + tg.ones((5, 3))
stacked([(tg.ones((3,)), tg.ones((2,))), (tg.ones((4,)), tg.ones((2,)))])[0] + tg.ones((4,))
filled(rows) + tg.ones((7,))
for _ in range(2):
    xs, ys = zip(*rows)
    rows.append((tg.ones((5,)), tg.ones((6,))))
ys[-1] + tg.ones((6,))
columns = zip(*rows)
first, second = columns
second[-1] + tg.ones((6,))
*_, last = zip(*rows)
last[-1] + tg.ones((6,))
zs, *_ = zip(*[(tg.ones((3,)), tg.ones((2,)))], *[(tg.ones((5,)), tg.ones((2,)))])
zs[1] + tg.ones((5,))
many: list[tuple[Tensor, ...]] = [(tg.ones((3,)), tg.ones((4,)))]
_, fours = zip(*many)
fours[0] + tg.ones((4,))
""",
    "items of another shape in loops": """
narrow, wide = tg.ones((4, 3)), tg.ones((4, 5))
items = [narrow, narrow]
for number in range(2):
    items[number] = wide
    for row in range(2):
        items.append(wide)
named = {"mean": narrow, "scale": narrow}
for name in ["scale"]:
    named[name] = wide
items[0] + wide
named["scale"] + wide
while len(items) < 3:
    items[0] = wide
""",
    "an empty list that a turn which fails would fill": """
def run(x: Tensor, times: int) -> int:
    for _ in range(2):
        losses = []
        for _ in range(times):
            losses.append((x @ tg.ones((5, 2))).sum().item())
        print(sum(losses), len(losses))
    return times

run(tg.ones((3, 4)), len([]))
""",
    "lists of arrays that change in other ways": """
import numpy as np
from numpy.typing import NDArray

def rows(n: int) -> NDArray[np.float32]:
    found = []
    for i in range(n):
        found.append(np.zeros((i, 3), np.float32))
    return np.concatenate(found)

def mixed(n: int) -> NDArray[np.float32]:
    found = []
    for i in range(n):
        found.append(np.zeros((3,), np.float32))
    found.extend([np.zeros((4,), np.float32)] * n)
    return np.stack(found[n:])

def several(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    x = np.zeros((1, 2), np.float32)
    found = []
    for one in parts:
        x = np.concatenate([x, one[None]], axis=1)
        found.append(x[0, :2])
    x = np.zeros((1, 7), np.float32)
    found.append(x[0])
    return np.stack(found[:-1])

def scalars(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    found = []
    for i, (one, other) in enumerate(zip(ids, ids[::-1])):
        found.append(one + other + i)
    return np.array(found)

def of_rows(table: NDArray[np.float32]) -> NDArray[np.float32]:
    found = []
    for i, row in enumerate(table):
        found.append(row * i)
    return np.array(found)

def crossed(pairs: NDArray[np.float32]) -> NDArray[np.float32]:
    found = []
    for one, other in zip(*pairs):
        found.append(one + other)
    return np.array(found)

tg.tensor(crossed(np.zeros((2, 4), np.float32))) + tg.ones((3, 4))
tg.tensor(rows(3)) @ tg.ones((3, 2))
tg.tensor(mixed(2)) @ tg.ones((4, 2))
tg.tensor(several(np.zeros((3, 2), np.float32))) @ tg.ones((2, 2))
tg.tensor(scalars(np.array([1, 2, 3]))) + tg.ones((3,), np.int64)
tg.tensor(scalars(np.array([[1, 2], [3, 4]]))) + tg.ones((2, 2), np.int64)
tg.tensor(of_rows(np.zeros((3, 4), np.float32))) @ tg.ones((4, 2))
""",
    "numbers of arrays that are not known": """
import math
import numpy as np
from numpy.typing import NDArray

def drawn(table: NDArray[np.int64], angle: Any) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    count = len(table)
    count += 1
    x = rng.normal(0.0, 1.0, (count, len(table)))
    return x[rng.permutation(count)] * math.cos(angle)

def grid(angle: Any) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.zeros((1, 3)) + np.cos(angle)
    return found

tg.tensor(drawn(np.zeros((3, 4), np.int64), 0.5)) @ tg.ones((3, 2), np.float64)
tg.tensor(grid(np.zeros((4, 1)))) @ tg.ones((3, 2), np.float64)
""",
    "what generators unpack": """
import numpy as np
from numpy.typing import NDArray

def load(n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    return np.zeros((n, 4), np.float32), np.zeros((n,), np.int64)

def main() -> None:
    x, y = (tg.tensor(one) for one in load(6))
    print(x @ tg.ones((4, 2)), y + tg.ones((6,), np.int64))
    first, second = [tg.tensor(one).sum(axis=0) for one in load(6)]
    print(first + tg.ones((4,)), second)
    one, other = (tg.tensor(part) for part in load(6) if part.ndim > 0)
    print(one @ tg.ones((4, 2)), other)

main()
""",
    "a loop without a turn": """
def run(x: Tensor, times: int) -> Tensor:
    steps = [tg.ones((3, 2))]
    for _ in range(times):
        steps.append(x @ tg.ones((5, 2)))
    return tg.stack(steps)

def last(x: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = x @ tg.ones((5, 2))
    return x @ tg.ones((4, 2))

run(tg.ones((3, 4)), len([]))
last(tg.ones((3, 4)), len([]))
""",
    "branches inside of expressions that a call does not take": """
import os

class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.first = nn.Linear(inputs, outputs)
        self.skip = nn.Linear(outputs, inputs) if inputs == outputs else None
        self.last = nn.Linear(7, outputs) if os.environ.get("LAST") == "1" else None

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        return h + (tg.zeros((5,)) if self.skip is None else self.skip(x)) + (h if self.last is None else self.last(x))

Block(4, 5)(tg.ones((2, 4)))
""",
    "properties of other classes and of objects that change": """
class Table(nn.Module):
    def __init__(self, count: int, width: int) -> None:
        self.embedding = nn.Embedding(count, width)

    @property
    def unit(self) -> Tensor:
        return self.embedding.weight

class Turned(Table):
    @property
    def unit(self) -> Tensor:
        return self.embedding.weight.T

class Larger(Table):
    def __init__(self, count: int, width: int) -> None:
        super().__init__(count, width)
        self.embedding = nn.Embedding(2 * count, width)

def use(table: Table, x: Tensor) -> Tensor:
    return x @ table.unit

use(Turned(6, 4), tg.ones((2, 4)))
use(Larger(6, 4), tg.ones((2, 12)))
use(Table(6, 4), tg.ones((2, 6)))
tables = [Table(6, 4), Turned(6, 4)]
for table, x in zip(tables, [tg.ones((2, 6)), tg.ones((2, 4))]):
    use(table, x)
""",
    "copies of models that change": """
import copy
from typing import Any

class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.first = nn.Linear(4, width)
        self.last = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x))

    def with_classes(self, count: int) -> "Net":
        other = copy.deepcopy(self)
        other.last = nn.Linear(8, count)
        return other

class Special(Net):
    def __deepcopy__(self, memo: dict[int, Any]) -> "Net":
        return Net(8).with_classes(5)

def changed(net: Net, count: int) -> Net:
    net.last = nn.Linear(8, count)
    return net

net = Net(8)
net.with_classes(5)(tg.ones((2, 4))) @ tg.ones((5, 2))
changed(Net(8), 5)(tg.ones((2, 4))) @ tg.ones((5, 2))
copy.deepcopy(Special(8))(tg.ones((2, 4))) @ tg.ones((5, 2))
average = nn.ModelEMA(net)
changed(average.model, 5)
average.model(tg.ones((2, 4))) @ tg.ones((5, 2))
""",
    "shapes that a body changes": """
def noise(shape: tuple[int, ...], times: int) -> Tensor:
    for _ in range(times):
        shape = (*shape, 3)
    if len(shape) > 3:
        shape = shape[:2]
    return tg.normal(shape)

def rest(*shape: int, first: tuple[int, ...] = ()) -> Tensor:
    return tg.normal((*first, *shape))

noise((3, 4), 1) @ tg.ones((3, 2))
noise((3, 4), 2) @ tg.ones((4, 2))
rest(3, 4) @ tg.ones((4, 2))
rest(4, first=(3,)) @ tg.ones((4, 2))
""",
    "sizes of properties of objects that change": """
@dataclass
class Patches:
    image: int = 16

    @property
    def count(self) -> int:
        return self.image // 4

@dataclass
class Twice(Patches):
    @property
    def count(self) -> int:
        return self.image // 2

class Table(nn.Module):
    def __init__(self, config: Patches) -> None:
        self.table = nn.Param(tg.zeros((config.count, 3)))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.table

Table(Twice())(tg.ones((2, 8)))
config = Patches()
config.image = 20
Table(config)(tg.ones((2, 5)))
""",
    "slices of a tensor of unknown rank in a loop": """
buffer, tables = (tg.tensor(json.loads(text)) for text in ("[[1.0], [2.0], [3.0]]", "[[[1.0]]]"))
for i in range(2):
    buffer = tg.at_set(buffer, slice(i, i + 2), tg.zeros((2, 1)))
    print(buffer[i : i + 2] + tg.ones((2, 3)))
tg.mse(tables * tg.ones((2, 1, 3)), tg.broadcast_to(tables, (2, 1, 3)))
""",
    "statements that change no tensor": """
import numpy as np

class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 8)
        self.count = 0
        self.width = 8
        self.seen: dict[str, int] = {"a": 1}
        self.last = tg.zeros((8,))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.width += 1
        self.seen["b"] = 2
        del self.seen["b"]
        first, *rest = [1, 2, 3]
        return self.linear(x).reshape((-1, self.width - self.count))

    def kept(self, x: Tensor) -> Tensor:
        self.last += x.sum(axis=0)
        return self.last

def noisy(n: int) -> Tensor:
    images, sizes = np.zeros((n, 4), np.float32), [3, 5]
    for image, (row, col) in zip(images, np.zeros((n, 2), np.int64)):
        image[row % 4] += 1.0
        sizes[0] += 1
    del sizes[1]
    images[0], images[1] = images[1], images[0]
    return tg.tensor(images).reshape((sizes[0] - 3, -1))

def product(x: Tensor) -> Tensor:
    q, k = x
    return q @ k

def tensors_in_a_list(x: Tensor) -> Tensor:
    parts = [x, x]
    parts[0] += tg.ones((3, 4, 8))
    return parts[0]

def starred(values: Any) -> Tensor:
    first, *others = values
    return tg.ones((len(others), 4))

counting = Counting()
counting(noisy(5)) + tg.ones((5, 8))
counting.kept(tg.ones((4, 8))) + tg.ones((8,))
product(tg.ones((2, 3))) + tg.ones(())
tensors_in_a_list(tg.ones((4, 8))) + tg.ones((3, 4, 8))
starred([1, 2, 3]) @ tg.ones((4, 2)) + tg.ones((2, 2))
""",
    "slices and lists of sizes that change": """
class Sizes:
    def __init__(self) -> None:
        self.first = 6

    def reshape(self, sizes: list[int]) -> None:
        sizes[0] = 3

def shaped(x: Tensor) -> Tensor:
    sizes = [4, 2]
    Sizes().reshape(sizes)
    return x.reshape(sizes)

def first(x: Tensor, count: int) -> Tensor:
    part = slice(0, count)
    count = 3
    return x[part]

shaped(tg.ones((2, 3)))
first(tg.ones((4, 2)), 2) + tg.ones((2, 2))
first(tg.ones((4, 2)), 1) + tg.ones((1, 2))
""",
    "tensors that are joined with one of unknown rank": """
def joined(x: Any, *others: Any) -> None:
    tg.concat([x, tg.ones((2, 3))], axis=-1) @ tg.ones((7, 2))
    tg.concat([tg.ones((2, 3)), *others]) + tg.ones((5, 3))
    tg.concat([tg.ones((2, 3)), *others[:0]]) + tg.ones((2, 3))

joined(tg.ones((2, 4)), tg.ones((3, 3)))
""",
    "a block of a context manager that takes errors": """
from contextlib import suppress

def run(x: Tensor) -> Tensor:
    return x @ tg.ones((5, 2))

with suppress(ValueError), tg.random(0):
    run(tg.ones((3, 4)))
with suppress(ValueError):
    with tg.random(0):
        run(tg.ones((3, 4)))
""",
    "a dict of attributes that has a name": """
from argparse import Namespace

def run() -> None:
    args = Namespace(columns=4)
    options = vars(args)
    options["columns"] = 5
    tg.ones((2, args.columns)) @ tg.ones((5, 2))

run()
""",
    "a dict of attributes that a function changes": """
from argparse import Namespace

def change(options: dict[str, int]) -> None:
    options["columns"] = 5

def run() -> None:
    args = Namespace(columns=4)
    change(vars(args))
    tg.ones((2, args.columns)) @ tg.ones((5, 2))

run()
""",
    "options of a script that may have other values": """
from argparse import ArgumentParser, Namespace

def linear(args: Namespace) -> Tensor:
    return nn.Linear(args.columns, 3)(tg.ones((2, 5)))

def with_defaults() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--columns", type=int, default=4)
    parser.set_defaults(columns=5)
    return parser.parse_args([])

def added(parser: ArgumentParser) -> None:
    parser.set_defaults(columns=5)

def with_a_function() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--columns", type=int, default=4)
    added(parser)
    return parser.parse_args([])

def with_two_options() -> Namespace:
    parser = ArgumentParser(argument_default=5)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--more", dest="columns", type=int, default=5)
    return parser.parse_args(["--more", "5"])

def with_a_computed_name(name: str) -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--more", dest=name, type=int, default=6, action="store", nargs="?", const=5)
    return parser.parse_args(["--more"])

def with_arguments() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--columns", type=int, default=4)
    return parser.parse_args(["--columns", "5"])

def changed() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--rows", type=int, default=4)
    args = parser.parse_args([])
    args.rows = 5
    return args

linear(with_defaults())
linear(with_a_function())
linear(with_two_options())
linear(with_a_computed_name("columns"))
linear(with_arguments())
nn.Linear(changed().rows, 3)(tg.ones((2, 5)))
""",
    "options on a command line that the file changes": """
import sys
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("--columns", type=int, default=4)
sys.argv += ["--columns", "5"]
args = parser.parse_args()
nn.Linear(args.columns, 3)(tg.ones((2, 5)))
""",
    "options on a command line of which the file assigns a part": """
import sys
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("--columns", type=int, default=4)
sys.argv[1:] = ["--columns", "5"]
args = parser.parse_args()
nn.Linear(args.columns, 3)(tg.ones((2, 5)))
""",
    "options that the user has to give": """
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("rows", type=int)
parser.add_argument("--columns", type=int, default=4, required=True)
parser.add_argument("--counts", type=int, default=4, nargs="+")
parser.add_argument("--depth", type=int)
if "--columns" in str(parser):
    args = parser.parse_args()
    nn.Linear(args.columns, 3)(tg.ones((2, 5)))
    nn.Linear(args.rows, 3)(tg.ones((2, 5)))
    nn.Linear(args.counts[0], 3)(tg.ones((2, 5)))
    nn.Linear(args.depth, 3)(tg.ones((2, 5)))
""",
    "options of which a configuration has other defaults": """
from argparse import ArgumentParser

def run(config: Config) -> Tensor:
    return nn.Linear(config.width, 2)(tg.ones((3, 5)))

def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--hidden", type=int, default=6)
    run(Config(**vars(parser.parse_args())))
""",
    "options that are given together": """
from argparse import ArgumentParser, Namespace

def parse() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--data", default="small")
    parser.add_argument("--is-deep", action="store_true")
    parser.add_argument("--columns", type=int, default=4)
    return parser.parse_args()

def is_large(data: str) -> bool:
    return data == "large"

def run(args: Namespace) -> None:
    if args.is_deep or is_large(args.data):
        nn.Linear(args.columns, 3)(tg.ones((2, 5)))

def main() -> None:
    args = parse()
    large = is_large(args.data)
    x = nn.Linear(args.columns, 3)(tg.ones((2, 5))) if large else tg.ones((2, 3))
    if args.is_deep:
        x = nn.Linear(args.columns, 3)(tg.ones((2, 5)))
    elif args.data == "large":
        pass
    else:
        nn.Linear(args.columns, 3)(tg.ones((2, 4)))
    match args.data:
        case "large":
            nn.Linear(args.columns, 3)(tg.ones((2, 5)))
    assert args.is_deep or nn.Linear(args.columns, 3)(tg.ones((2, 4))).shape == (2, 3)
    run(args)

main()
""",
    "a layer that one of two others replaces": """
class Growing(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(3, 8)

    @override
    def forward(self, x: Tensor) -> Tensor:
        for step in range(2):
            if step == 1:
                x = self.layer(x)
            self.layer = nn.Linear(3, 5) if step == 0 else nn.Linear(3, 8)
        return x

Growing()(tg.ones((2, 3))) @ tg.ones((5, 2))
""",
    "a function and a model that get a tree of values": """
from typing import Literal as L, Union
from tapegrad import NoneTape, Shape

Tree = Union[dict[str, "Tree"], list["Tree"], int]

class Labelled(nn.Module):
    def __init__(self, labels: Tree) -> None:
        self.labels = labels
        self.layer = nn.Linear(2, 2)

    @override
    def forward(self, x: Tensor[Shape[L[3], L[2]], NoneTape]) -> Tensor[Shape[L[3], L[2]], NoneTape]:
        return self.layer(x)

def run(model: Labelled, x: Tensor[Shape[L[3], L[2]], NoneTape], labels: Tree) -> None:
    print(model(x), labels)

run(Labelled({"a": [1]}), tg.ones((3, 2)), {"a": [1]})
""",
    "parts of expressions that may not run": """
def shaped(x: Tensor) -> Tensor:
    return x.reshape(3, 5)

def joined(x: Tensor, is_shaped: bool) -> Tensor:
    return tg.concat([x, x.reshape(3, 5) if is_shaped else x])

def called(x: Tensor, is_shaped: bool) -> Tensor:
    return tg.exp(shaped(x) if is_shaped else x)

def split(x: Tensor, is_shaped: bool) -> Tensor:
    return tg.exp(
        x.reshape(3, 5)
        if is_shaped else x)

rows = [tg.ones((2, 4)) for _ in range(int("1"))]
for row in rows:
    is_shaped = len(rows) > 3
    joined(row, is_shaped)
    called(row, is_shaped)
    split(row, is_shaped)
""",
    "a negative default of a parameter that changes": """
def moved(x: Tensor, axis: int = -1) -> Tensor:
    axis = axis + 1
    return x.sum(axis=axis)

moved(tg.ones((2, 3))) + tg.ones((3,))
moved(tg.ones((2, 3)), 0) + tg.ones((2,))
""",
    "a list of a comprehension that is used in other ways": """
def doubled(x: Tensor, count: int) -> Tensor:
    parts = [x * factor for factor in range(count)]
    parts.extend(parts)
    return tg.concat(parts, axis=1)

def chosen(x: Tensor) -> Tensor:
    parts = [x[:, :n] for n in (1, 2, 3)]
    rest = parts[1:]
    rest.reverse()
    return tg.concat(rest, axis=1) @ tg.ones((5, 2))

doubled(tg.ones((2, 3)), 2) @ tg.ones((12, 2))
chosen(tg.ones((2, 3)))
""",
    "a function that takes only numbers and fails for others": """
def main(width: int = 8) -> None:
    MLP(Config(width))(tg.ones((4, 8)))

main()
try:
    main(9)
except ValueError:
    pass
""",
    "a function that takes a number that is not known": """
def main(width: int) -> None:
    MLP(Config(width))(tg.ones((4, 8)))

main(len(sys.argv) + 8 - len(sys.argv))
""",
    "a method that another object assigns to": """
class Trainer:
    def __init__(self, width: int) -> None:
        self.model = MLP(Config(width))

    def fit(self, steps: int) -> None:
        self.model(tg.ones((steps, 8)))

trainer = Trainer(9)
trainer.model = MLP(Config(8))
trainer.fit(2)
""",
    "arguments that are a list": """
def joined(*parts: Tensor, **options: int) -> Tensor:
    return tg.concat(parts, axis=options.get("axis", 1)) @ tg.ones((7, 2))

parts = [tg.ones((2, 3)), tg.ones((2, 4))]
joined(*parts)
joined(*parts, **{"axis": 1})
joined(tg.ones((2, 7)))
joined(tg.ones((2, 7)), tg.ones((3, 7)), axis=0)
""",
    "an option of a dictionary that may be no number": """
class Net(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        self.norm = nn.LayerNorm(config["width"])
        self.conv = nn.Conv2d(config["in"], 3, config["kernel"])

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.norm(x))

config: dict[str, Any] = json.loads('{"width": [6, 8], "in": 2, "kernel": [2, 3]}')
config["width"], config["kernel"] = tuple(config["width"]), tuple(config["kernel"])
tg.mse(Net(config)(tg.ones((1, 2, 6, 8))), tg.ones((1, 3, 5, 6)))
""",
    "one of several heads": """
class Headed(nn.Module):
    def __init__(self, width: int, name: str) -> None:
        self.head = nn.Linear(7, 2) if name == "two" else nn.Linear(width, 3) if name == "three" else nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)

def read() -> str:
    return "three"

Headed(8, "three")(tg.ones((4, 8))) @ tg.ones((3, 2))
Headed(7, read())(tg.ones((4, 7)))
""",
    "dictionaries of tensors that a program changes or gives another name": """
from collections.abc import Iterator

class Encoder(nn.Module):
    def __init__(self) -> None:
        self.linear = nn.Linear(8, 3)
        self.last: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"mean": self.linear(x), "input": x}

    def keep(self, x: Tensor) -> dict[str, Tensor]:
        out = self(x)
        self.last = out
        return out

    def same(self, outputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return outputs

    def change(self) -> None:
        self.last["mean"] = other

def halved(outputs: dict[str, Tensor]) -> dict[str, Tensor]:
    outputs["mean"] = other
    return outputs

def either(x: Tensor, flag: bool) -> dict[str, Tensor]:
    if flag:
        return {"mean": other}
    return {"mean": x}

def both(x: Tensor) -> dict[str, Tensor]:
    out = {"mean": x}
    out["mean"] = other
    return out

def shared() -> dict[str, Tensor]:
    return of_module

def twice(x: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    out = {"mean": x}
    return out, out

def checked(outputs: dict[str, Tensor]) -> Tensor:
    return outputs["mean"] + other

x, other, keys = tg.ones((4, 8)), tg.ones((9,)), ["mean"]
encoder = Encoder()

assigned = encoder(x)
assigned["mean"] = other
checked(assigned)
assigned["mean"] + other

renamed = encoder(x)
name = renamed
name["mean"] = other
renamed["mean"] + other

walrus = encoder(x)
(second := walrus)["mean"] = other
walrus["mean"] + other

passed = encoder(x)
halved(passed)
passed["mean"] + other

returned = encoder(x)
encoder.same(returned)["mean"] = other
returned["mean"] + other

kept = encoder.keep(x)
encoder.change()
kept["mean"] + other

updated = encoder(x)
updated.update({"mean": other})
updated["mean"] + other

merged = encoder(x)
merged |= {"mean": other}
merged["mean"] + other

absent = encoder(x)
absent.pop("mean")
absent.setdefault("mean", other) + other

first, twin = twice(x)
twin["mean"] = other
first["mean"] + other

by_name = encoder(x)
for key in keys:
    by_name[key] = other
by_name["mean"] + other

in_list = encoder(x)
several = [in_list]
several[0]["mean"] = other
in_list["mean"] + other

in_lambda = encoder(x)
(lambda outputs: outputs.update(mean=other))(in_lambda)
in_lambda["mean"] + other

unpacked = encoder(x)
unpacked["mean"], count = other, 1
unpacked["mean"] + other

target = encoder(x)
for target["mean"] in [other]:
    target["mean"] + other

of_module = encoder(x)
shared()["mean"] = other
of_module["mean"] + other

by_function = encoder(x)

def change_it() -> None:
    by_function["mean"] = other

change_it()
by_function["mean"] + other

again = encoder(x)
again["mean"] + tg.ones((4, 3))
again = {"mean": other, "input": x}
again["mean"] + other

chosen = encoder(x) if int("0") else {"mean": other}
chosen["mean"] + other
either(x, bool(int("1")))["mean"] + other
both(x)["mean"] + other

def outer(x: Tensor) -> Tensor:
    inner = encoder(x)

    def change_inner() -> None:
        inner["mean"] = other

    change_inner()
    return inner["mean"] + other

def of_turns(x: Tensor) -> Tensor:
    outputs = {"mean": x}
    for _ in range(3):
        x = tg.concat([x, x])
        outputs = {"mean": outputs["mean"][:1] + x, "input": x}
    return outputs["mean"] + tg.ones((32, 8))

def of_parameter(outputs: dict[str, Tensor]) -> Tensor:
    if len(outputs) > 1:
        outputs = {"mean": other}
    return outputs["mean"] + other

def of_loop(n: int) -> None:
    x = tg.ones((3, 200))
    for _ in range(3):
        x = x[:, :n]
        first = {"mean": x}
        second = same_input(x)
        checked(first)
        checked(second)
        first["mean"] + second["mean"] + other

def same_input(x: Tensor) -> dict[str, Tensor]:
    return {"mean": x}

def yielded(x: Tensor) -> Iterator[dict[str, Tensor]]:
    out = {"mean": x}
    yield out
    out["mean"] = other
    yield out

def of_two_kinds(x: Tensor) -> Iterator[dict[str, Tensor]]:
    yield {"mean": x}
    yield {"mean": other[:, None]}

for several in yielded(x):
    if several["mean"].ndim == 1:
        several["mean"] + other
for pair in of_two_kinds(x):
    pair["mean"] + tg.ones((1, len(pair["mean"][0])))
    pair["mean"] = other
    pair["mean"] + other
for _, changed_item in enumerate(of_two_kinds(x)):
    checked(halved(changed_item))
    changed_item["mean"] + other
outer(x)
of_loop(9)
of_turns(x)
of_parameter(encoder(x))
for _ in range(2):
    turn = encoder(x)
    turn["mean"] + tg.ones((len(x), 3))
    x = x[:2]
""",
    "tensors in attributes that a program assigns again": """
class Holder:
    def __init__(self, state: Tensor) -> None:
        self.state = state
        self.other = state

    def change(self) -> None:
        self.other = of_nine

    def added(self) -> Tensor:
        return self.other + of_nine

class Mine(Holder):
    def __init__(self, state: Tensor) -> None:
        super().__init__(state[:1])

class Late(Holder):
    def __init__(self, state: Tensor) -> None:
        super().__init__(state)
        self.state = of_nine

class Rebound:
    def __init__(self, state: Tensor) -> None:
        state = state[:1]
        self.state = state

class Perhaps:
    def __init__(self, state: Tensor) -> None:
        if state.ndim == 1:
            state = tg.ones((9,))
        self.state = state

@dataclass
class Fields:
    first: Tensor
    second: Tensor

class Two(NamedTuple):
    first: Tensor
    second: Tensor

class Buffered(nn.Module):
    def __init__(self, state: Tensor) -> None:
        self.state = nn.Buffer(state)
        if state.ndim == 1:
            self.state = nn.Buffer(of_nine)

    def forward(self, x: Tensor) -> Tensor:
        return self.state + x

def fields_of(x: Tensor) -> Fields:
    x = x[:1]
    return Fields(x, x)

def changed(x: Tensor) -> Fields:
    fields = Fields(x, x)
    fields.second = of_nine
    return fields

def either(x: Tensor, flag: bool) -> Two:
    if flag:
        return Two(of_nine, of_nine)
    return Two(x, x)

of_four, of_nine = tg.ones((4,)), tg.ones((9,))
holder = Holder(of_four)
holder.state + tg.ones((4,))
holder.change()
holder.added()
Mine(of_four).state + of_nine
Late(of_four).state + of_nine
Rebound(of_four).state + of_nine
Perhaps(of_four).state + of_nine
Buffered(of_four)(of_nine)
fields_of(of_four).first + of_nine
changed(of_four).second + of_nine
either(of_four, bool(int("1"))).first + of_nine
two = Two(of_four, of_four)
two = two._replace(second=of_nine)
two.second + of_nine

given = of_four
given = of_nine
Holder(given).state + of_nine
for given in [of_four, of_nine]:
    Holder(given).state + given
for _ in range(2):
    of_turn = Holder(given)
    of_turn.state + given
    given = tg.concat([given, given])

outside = Holder(of_four)
outside.state = of_nine
outside.state + of_nine
by_name = Holder(of_four)
setattr(by_name, "state", of_nine)
by_name.state + of_nine
""",
    "variables with one dictionary of tensors after another": """
def loaded(count: int) -> dict[str, Tensor]:
    return {"x": tg.ones((count, 3)), "y": tg.ones((count, 2))}

def turned(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return {"x": batch["x"].T, "y": batch["y"]}

def by_branches(flag: bool) -> None:
    if flag:
        batch = loaded(4)
    else:
        batch = turned(loaded(4))
    batch["x"] @ tg.ones((4, 1))
    for count in range(2):
        batch["x"] @ tg.ones((4 if count == 0 else 9, 1))
        batch = turned(loaded(9))
    while batch["x"].shape[0] == 3:
        batch = turned(batch)
    batch["x"] @ tg.ones((3, 1))

def by_changes() -> None:
    batch = loaded(4)
    batch["x"] = batch["x"].T
    batch["x"] @ tg.ones((4, 1))
    batch = loaded(5)
    batch["x"] @ tg.ones((3, 1))
    batch = {**batch, "y": tg.ones((9, 9))}
    batch["y"] @ tg.ones((9, 1))

    def change() -> None:
        nonlocal batch
        batch = loaded(7)

    change()
    batch["y"].T @ tg.ones((7, 1))

by_branches(bool(int("0")))
by_changes()
""",
    "fields of data classes that are given as options": """
from dataclasses import asdict, dataclass, field

@dataclass
class Widths:
    inputs: int = 4
    outputs: int = 3
    groups: int = field(init=False, default=1)

class Head(nn.Module):
    def __init__(self, inputs: int, outputs: int = 2, groups: int = 5) -> None:
        self.linear = nn.Linear(inputs, outputs * groups)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

options = asdict(Widths())
Head(**options)(tg.ones((2, 4))) @ tg.ones((3, 1))
changed = asdict(Widths())
changed["inputs"] = 9
Head(**changed)(tg.ones((2, 9)))
fewer = asdict(Widths())
fewer.pop("groups")
Head(**fewer)(tg.ones((2, 4))) @ tg.ones((15, 1))
longer = asdict(Widths())
longer.update(inputs=8)
Head(**longer)(tg.ones((2, 8)))
widths = Widths()
widths.outputs = 8
Head(**asdict(widths))(tg.ones((2, 4))) @ tg.ones((8, 1))
""",
    "variables that the getter of a property exchanges": """
class Pair:
    @property
    def swapped(self) -> Tensor:
        a, b = tg.ones((2, 3)), tg.ones((3, 2))
        a, b = b, a
        return a @ tg.ones((2, 5)) + b.T @ tg.ones((2, 5))

    @swapped.setter
    def swapped(self, value: Tensor) -> None:
        self.value = value

Pair().swapped @ tg.ones((5, 1))
""",
    "dictionaries of tensors that functions without annotations return": """
# mypy: allow-untyped-defs, allow-untyped-calls
class Layers(nn.Module):
    def __init__(self, width: int) -> None:
        self.heads = {"mean": nn.Linear(width, 3), "scale": nn.Linear(width, 1)}
        self.other = {"mean": nn.Linear(width, 3), "scale": nn.Linear(width, 1)}
        self.other["mean"] = nn.Linear(width, 5)

    def forward(self, x):
        return {name: head(x) for name, head in self.heads.items()}

    def with_others(self, x: Tensor) -> Tensor:
        return self.other["mean"](x)

def both(x):
    return {"x": x, "y": x + 1.0}

def maybe(x, deep):
    if deep:
        return {"x": x, "y": x @ tg.ones((8, 3))}
    return {"x": x.sum(axis=1), "z": x}

def typed(batch: dict[str, Tensor]) -> Tensor:
    batch["x"] = tg.ones((3, 5))
    return batch["x"]

class Changing(nn.Module):
    def forward(self, batch):
        batch["x"] = tg.ones((2, 5))
        return batch["x"]

class Calling(nn.Module):
    def __init__(self) -> None:
        self.inner = Changing()

    def __call__(self, batch):
        batch["y"] = tg.ones((4, 4))
        return self.inner(batch)

    def forward(self, batch):
        return batch["y"]

def main() -> None:
    x = tg.ones((2, 8))
    out = both(x)
    out["count"] = 3
    out[4] = None
    out["x"] = tg.ones((2, 5))
    out["x"] @ tg.ones((5, 1))
    out = out["y"]
    out + 1.0
    got = both(x)
    got.get("y").sum()
    got.get("y") + 1.0
    given = both(x)
    Changing()(given)
    given["x"] @ tg.ones((5, 1))
    also = both(x)
    Calling()(also)
    also["y"] @ tg.ones((4, 1))
    also["x"] @ tg.ones((5, 1))
    third = both(x)
    typed(third)
    third["x"] @ tg.ones((5, 1))
    for deep in (True, False):
        maybe(x, deep)["x"] + 1.0
    for value in Layers(8)(x).values():
        value + tg.ones((2, 1))
    Layers(8).with_others(x) @ tg.ones((5, 1))

main()
""",
    "dictionaries of tensors in attributes that may change": """
class Replaced:
    def __init__(self, rows: int) -> None:
        self.data: dict[str, Tensor] = {"x": tg.zeros((rows, 3)), "y": tg.zeros((rows,))}
        self.other: dict[str, Tensor] = {"x": tg.zeros((rows, 3)), "y": tg.zeros((rows,))}
        self.alias: dict[str, Tensor] = {"x": tg.zeros((rows, 3))}
        self.given: dict[str, Tensor] = {"x": tg.zeros((rows, 3))}
        self.back: dict[str, Tensor] = {"x": tg.zeros((rows, 3))}
        self.outside: dict[str, Tensor] = {"x": tg.zeros((rows, 3))}
        self.traced: dict[str, Tensor] = {"x": tg.zeros((rows, 3))}
        same = self.alias
        same["x"] = tg.zeros((rows, 7))
        fill(self.given)

    def replace(self) -> None:
        self.data["x"] = self.data["y"].at_set(0, 1.0)
        self.other.update(x=tg.ones((2, 8)))

    def get(self) -> dict[str, Tensor]:
        return self.back

    def first(self) -> Tensor:
        return self.data["x"] + tg.ones((2,))

    def second(self) -> Tensor:
        return self.other["x"] + tg.ones((8,))

    def third(self) -> Tensor:
        return self.alias["x"] + self.given["x"] + self.back["x"] + self.outside["x"] + tg.ones((7,))

    def trace(self, x: Tensor) -> Tensor:
        self.traced["x"] = self.traced["x"].at_set(0, x)
        return self.traced["x"].sum()

def fill(data: dict[str, Tensor]) -> None:
    data["x"] = tg.zeros((2, 7))

class More(Replaced):
    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.other["x"] = tg.ones((2, 8))

for rows in range(2, 4):
    x, made = tg.ones((3,)).trace(), Replaced(2)
    made.replace()
    made.first()
    made.second()
    made.get()["x"] = tg.zeros((2, 7))
    made.outside["x"] = tg.zeros((2, 7))
    made.third()
    made.trace(x).backward(wrt=[x])
    More(2).second()

class Layer(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

def turned(x: Tensor) -> Tensor:
    layer: Layer
    for size in range(3, 6):
        if size > 3:
            x = layer(x)
        layer = Layer(size, size + 1)
    return x

turned(tg.ones((2, 3))) @ tg.ones((5, 1))
""",
    "comprehensions over layers of several sizes": """
class Heads(nn.Module):
    def __init__(self, sizes: list[int]) -> None:
        self.heads = [nn.Linear(3, size) for size in sizes]
        self.named = {f"n{size}": nn.Linear(3, size) for size in sizes}
        self.cache: dict[str, nn.Linear[Any, Any, Any]] = {}

    def forward(self, x: Tensor, wide: bool) -> Tensor:
        parts = [head(x) for head in self.heads if wide or head.weight.shape[1] < 5]
        return tg.concat(parts, axis=1)

    def chosen(self, x: Tensor, wide: bool) -> Tensor:
        return tg.concat([head(x) for head in self.heads] if wide else [head(x) @ tg.ones((4, 2)) for head in
                         self.heads[:1]], axis=1)

    def by_turns(self, x: Tensor, count: int) -> Tensor:
        for _ in range(count):
            x = tg.concat([x, *[head(x[:, :3]) for head in self.heads]], axis=1)
        return x

    def cached(self, x: Tensor) -> Tensor:
        if not self.cache:
            self.cache["a"] = nn.Linear(3, 7)
        return self.cache["a"](x) @ tg.ones((7, 1))

heads = Heads([4, 6])
heads(tg.ones((2, 3)), False) @ tg.ones((4, 1))
heads.chosen(tg.ones((2, 3)), False) @ tg.ones((2, 1))
heads.by_turns(tg.ones((2, 3)), 0) @ tg.ones((3, 1))
heads.by_turns(tg.ones((2, 3)), 2) @ tg.ones((23, 1))
heads.cached(tg.ones((2, 3)))
heads.named["n6"](tg.ones((2, 3))) @ tg.ones((6, 1))
""",
    "dictionaries in dataclasses that may change": """
import numpy as np

def shown(*values: Tensor) -> None:
    assert values

def use_of_fields_1() -> None:
    @dataclass
    class Batch:
        items: dict[str, Tensor]

    d = Batch({"x": tg.zeros((3, 4))})
    d.items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields2:
    items: dict[str, Tensor]

def use_of_fields_2() -> None:
    items = {"x": tg.zeros((3, 4))}
    d = Fields2(items)
    items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields3:
    items: dict[str, Tensor]

def change3(d: Fields3) -> None:
    d.items["x"] = tg.zeros(7)

def use_of_fields_3() -> None:
    d = Fields3({"x": tg.zeros((3, 4))})
    change3(d)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields4:
    items: dict[str, Tensor]

def change4(items: dict[str, Tensor]) -> None:
    items["x"] = tg.zeros(7)

def use_of_fields_4() -> None:
    d = Fields4({"x": tg.zeros((3, 4))})
    change4(d.items)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields5:
    items: dict[str, Tensor]

def use_of_fields_5() -> None:
    d = Fields5({"x": tg.zeros((3, 4))})
    other = d.items
    other["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields6:
    items: dict[str, Tensor]

def use_of_fields_6() -> None:
    d = Fields6({"x": tg.zeros((3, 4))})
    d.items.update(x=tg.zeros(7))
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields7:
    items: dict[str, Tensor]

def use_of_fields_7() -> None:
    d = Fields7({"x": tg.zeros((3, 4))})
    d.items = {"x": tg.zeros(7)}
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields8:
    items: dict[str, Tensor]

def use_of_fields_8() -> None:
    d = Fields8({"x": tg.zeros((3, 7))})
    for name in d.items:
        d.items[name] = d.items[name].sum(axis=1)
    shown(d.items["x"] + tg.zeros(3))

@dataclass
class Fields9:
    items: dict[str, Tensor]

    def __post_init__(self) -> None:
        self.items["x"] = self.items["x"].sum(axis=1)

def use_of_fields_9() -> None:
    items = {"x": tg.zeros((3, 7))}
    d = Fields9(items)
    shown(d.items["x"] + tg.zeros(3))
    shown(items["x"] + tg.zeros(3))

@dataclass
class Fields10:
    items: dict[str, Tensor]

def use_of_fields_10() -> None:
    d = replace(Fields10({"x": tg.zeros((3, 4))}), items={"x": tg.zeros(7)})
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields11:
    items: dict[str, Tensor]

def make11(items: dict[str, Tensor]) -> Fields11:
    return Fields11(items)

def use_of_fields_11() -> None:
    items = {"x": tg.zeros((3, 4))}
    d = make11(items)
    items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields12:
    items: dict[str, Tensor]

    def pooled(self) -> None:
        for name, x in self.items.items():
            self.items[name] = x.sum(axis=1)

def use_of_fields_12() -> None:
    d = Fields12({"x": tg.zeros((3, 4))})
    d.pooled()
    shown(d.items["x"] + tg.zeros(3))

class Fields13(NamedTuple):
    items: dict[str, Tensor]

def use_of_fields_13() -> None:
    d = Fields13({"x": tg.zeros((3, 4))})
    d.items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields14:
    items: dict[str, Tensor]

def rest14(items: dict[str, Tensor]) -> dict[str, Tensor]:
    return items

def use_of_fields_14() -> None:
    d = Fields14({"x": tg.zeros((3, 4))})
    other = rest14(d.items)
    other["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields15:
    items: dict[str, Tensor]

def use_of_fields_15() -> None:
    items = {"x": tg.zeros((3, 4))}
    d = Fields15(items)
    e = Fields15(d.items)
    e.items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))
    shown(items["x"] + tg.zeros(7))

@dataclass
class Fields16:
    items: dict[str, Tensor]

def fill16(b: Fields16) -> Fields16:
    b.items["x"] = tg.zeros(7)
    return b

def make16() -> Fields16:
    return Fields16({"x": tg.zeros((3, 4))})

def use_of_fields_16() -> None:
    d = make16()
    shown(fill16(d).items["x"] + tg.zeros(7))
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields17:
    items: dict[str, Tensor]

class Holder17:
    def __init__(self, items: dict[str, Tensor]) -> None:
        self.things = items

    def change(self) -> None:
        self.things["x"] = tg.zeros(7)

def use_of_fields_17() -> None:
    d = Fields17({"x": tg.zeros((3, 4))})
    h = Holder17(d.items)
    h.change()
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields18:
    items: dict[str, Tensor]

def use_of_fields_18() -> None:
    d = Fields18({"x": tg.zeros((3, 4))})
    several = [d.items, {"x": tg.zeros(2)}]
    several[0]["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields19:
    items: dict[str, Tensor]

def use_of_fields_19() -> None:
    for n in (3, 7):
        d = Fields19({"x": tg.zeros(n)})
        shown(d.items["x"] + tg.zeros(n))
    x = tg.zeros(3)
    e = Fields19({"x": x})
    x = tg.zeros((4, 7))
    shown(e.items["x"] + tg.zeros(3))

@dataclass
class Fields20:
    items: dict[str, Tensor]

def use_of_fields_20() -> None:
    d = Fields20({"x": tg.zeros((3, 4))})

    def change() -> None:
        d.items["x"] = tg.zeros(7)

    change()
    shown(d.items["x"] + tg.zeros(7))

@dataclass
class Fields21:
    items: dict[str, dict[str, Tensor]]

def use_of_fields_21() -> None:
    d = Fields21({"a": {"x": tg.zeros((3, 4))}})
    d.items["a"]["x"] = tg.zeros(7)
    shown(d.items["a"]["x"] + tg.zeros(7))

@dataclass
class Fields22:
    items: dict[str, Tensor]

@dataclass
class Sub22(Fields22):
    def __post_init__(self) -> None:
        self.items["x"] = tg.zeros(7)

def use_of_fields_22() -> None:
    items = {"x": tg.zeros((3, 4))}
    d = Sub22(items)
    shown(d.items["x"] + tg.zeros(7))
    shown(items["x"] + tg.zeros(7))

@dataclass
class Fields23:
    items: dict[str, Tensor] = field(default_factory=dict)

def use_of_fields_23() -> None:
    d = Fields23()
    d.items["x"] = tg.zeros(7)
    shown(d.items["x"] + tg.zeros(7))

def use_of_fields_24() -> None:
    out = {}
    out["x"] = tg.zeros((3, 4))
    out["y"] = tg.zeros(7)
    out["x"] = out["x"].sum(axis=0)
    shown(out["x"] + tg.zeros(4), out["y"] + tg.zeros(7))
    for one in out.values():
        shown(one.sum())
    parts = []
    for n in range(3):
        parts.append(tg.zeros((n + 1, 2)))
    parts.append(tg.zeros(2).trace())
    shown(tg.concat([one.reshape(-1) for one in parts]) + tg.zeros(14))
    layer = nn.Linear(3, 4)
    parameters = [layer.weight]
    parameters.append(layer.bias)
    by_name = {"weight": layer.weight}
    by_name["bias"] = layer.bias
    shown(parameters[1] + by_name["bias"])
    labels = [tg.zeros(3)]
    labels.append(tg.zeros(3, dtype=np.int64))
    labels.insert(0, tg.zeros((2, 3)))
    shown(labels[2] + tg.zeros(3, dtype=np.int64))

use_of_fields_1()
use_of_fields_2()
use_of_fields_3()
use_of_fields_4()
use_of_fields_5()
use_of_fields_6()
use_of_fields_7()
use_of_fields_8()
use_of_fields_9()
use_of_fields_10()
use_of_fields_11()
use_of_fields_12()
use_of_fields_13()
use_of_fields_14()
use_of_fields_15()
use_of_fields_16()
use_of_fields_17()
use_of_fields_18()
use_of_fields_19()
use_of_fields_20()
use_of_fields_21()
use_of_fields_22()
use_of_fields_23()
use_of_fields_24()
""",
    "items that functions inside of others assign": """
def plain() -> Tensor:
    data = {"a": tg.ones((2, 3))}
    rows = [tg.ones((2, 3))]

    def change(key: str) -> None:
        data[key] = tg.ones((2, 9))
        rows[0], other = tg.ones((2, 9)), 3
        assert other

    change("a")
    return data["a"] @ tg.ones((9, 1)) + rows[0] @ tg.ones((9, 1))

def read() -> Tensor:
    data = {"a": tg.ones((2, 3))}

    def total() -> Tensor:
        found = data["a"]
        data["a"].sum()
        return found

    total()
    return data["a"] @ tg.ones((3, 1))

def deleted() -> Tensor:
    rows = [tg.ones((2, 3)), tg.ones((2, 9))]

    def change() -> None:
        del rows[0]

    change()
    return rows[0] @ tg.ones((9, 1))

CACHE = {"x": tg.ones((2, 3))}

def fill() -> None:
    CACHE["x"] = tg.ones((2, 9))

fill()
assert (CACHE["x"] @ tg.ones((9, 1))).shape == (2, 1)
plain()
read()
deleted()


def of_other_rank() -> Tensor:
    data = {"a": tg.ones((2, 3))}
    rows = [tg.ones((2, 3))]

    def change(key: str) -> None:
        data[key] = tg.ones(9)
        rows.append(tg.ones(9).trace())

    change("a")
    return data["a"] @ tg.ones((9, 1)) + rows[1] @ tg.ones((9, 1))

STORE = {"x": tg.ones((2, 3))}

def fill_store() -> None:
    STORE["x"] = tg.ones(9)

fill_store()
assert (STORE["x"] @ tg.ones((9, 1))).shape == (1,)
of_other_rank()
""",
    "arrays in a named tuple that are replaced": """
import numpy as np
from numpy.typing import NDArray

class Photo(NamedTuple):
    image: NDArray[np.float32]
    number: int = 0

def photo(size: int) -> Photo:
    return Photo(np.zeros((3, size), np.float32))

def larger(one: Photo) -> Photo:
    return one._replace(image=np.zeros((3, 9), np.float32))

def chosen(size: int) -> Photo:
    one = photo(size)
    if size > 8:
        one = Photo(np.zeros((3, 2), np.float32))
    return one

def main() -> None:
    one = photo(8)
    other = one._replace(image=np.zeros((3, 9), np.float32))
    assert (tg.tensor(other.image) + tg.zeros((3, 9))).shape == (3, 9)
    assert (tg.tensor(larger(one).image) + tg.zeros((3, 9))).shape == (3, 9)
    assert (tg.tensor(one.image) + tg.zeros((3, 8))).shape == (3, 8)
    assert (tg.tensor(chosen(9).image) + tg.zeros((3, 2))).shape == (3, 2)
    assert (tg.tensor(chosen(7).image) + tg.zeros((3, 7))).shape == (3, 7)
    for size in (4, 5):
        assert (tg.tensor(photo(size).image) + tg.zeros((3, size))).shape == (3, size)
    several = [photo(2), photo(3)]
    assert (tg.tensor(several[1].image) + tg.zeros((3, 3))).shape == (3, 3)
    image, _ = photo(6)
    assert (tg.tensor(image) + tg.zeros((3, 6))).shape == (3, 6)

main()
""",
    "dictionaries of dictionaries that change": """
def nested() -> dict[str, dict[str, Tensor]]:
    return {"a": {"x": tg.ones((2, 3))}, "b": {"x": tg.ones((2, 4))}}

def change(part: dict[str, Tensor]) -> None:
    part["x"] = tg.ones((2, 7))

def change_all(parts: dict[str, dict[str, Tensor]]) -> None:
    for part in parts.values():
        part["x"] = tg.ones((2, 7))

def change_one(parts: dict[str, dict[str, Tensor]]) -> None:
    change(parts["a"])

def first(part: dict[str, Tensor]) -> Tensor:
    return part["x"] @ tg.ones((7, 1))

def main() -> None:
    one = nested()
    one["a"]["x"] = tg.ones((2, 7))
    one["a"]["x"] @ tg.ones((7, 1))
    two = nested()
    part = two["a"]
    part["x"] = tg.ones((2, 7))
    two["a"]["x"] @ tg.ones((7, 1))
    three = nested()
    change(three["a"])
    three["a"]["x"] @ tg.ones((7, 1))
    first(three["a"])
    four = nested()
    change_all(four)
    four["b"]["x"] @ tg.ones((7, 1))
    five = nested()
    change_one(five)
    five["a"]["x"] @ tg.ones((7, 1))
    six = nested()
    for inner in six.values():
        inner["x"] = tg.ones((2, 7))
    six["a"]["x"] @ tg.ones((7, 1))
    seven = nested()
    copied = {**seven}
    copied["a"]["x"] = tg.ones((2, 7))
    seven["a"]["x"] @ tg.ones((7, 1))
    eight = nested()
    eight["a"].update(x=tg.ones((2, 7)))
    eight["a"]["x"] @ tg.ones((7, 1))
    nine = nested()
    (nine.get("a") or {})["x"] = tg.ones((2, 7))
    nine["a"]["x"] @ tg.ones((7, 1))
    ten = nested()
    several = [ten["a"], ten["b"]]
    several[0]["x"] = tg.ones((2, 7))
    ten["a"]["x"] @ tg.ones((7, 1))
    eleven = nested()
    list(eleven.values())[0]["x"] = tg.ones((2, 7))
    eleven["a"]["x"] @ tg.ones((7, 1))
    twelve = nested()
    twelve["a"]["x"] += tg.ones((2, 1))
    twelve["a"] = {"x": tg.ones((2, 7))}
    twelve["a"]["x"] @ tg.ones((7, 1))

main()
""",
    "options that a program may change in another way": """
from collections.abc import Callable

class Head(nn.Module):
    def __init__(self, inputs: int, outputs: int = 2, groups: int = 1) -> None:
        self.linear = nn.Linear(inputs, outputs * groups)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

class Taking(nn.Module):
    def __init__(self, is_wide: bool, names: list[str], **options: Any) -> None:
        self.first = Head(options.pop("inputs"), **options)
        if is_wide:
            options["outputs"] = 9
        self.second = Head(8, **options)
        for name in names:
            options.pop(name)
        self.third = Head(outputs=options.setdefault("outputs", 5), inputs=8)
        self.widths = [4, 8, 16]
        del self.widths[0]
        self.fourth = nn.Linear(8, self.widths[0])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.first(x), self.second(x), self.third(x), self.fourth(x)

def without(options: dict[str, Any]) -> dict[str, Any]:
    options.pop("groups")
    return options

def changed(is_wide: bool, names: list[str]) -> None:
    options = {"inputs": 4, "outputs": 3, "groups": 1}
    if is_wide:
        options.pop("groups")
        options["outputs"] = 7
    Head(**options)(tg.ones((2, 4))) @ tg.ones((7, 1))
    others = {"inputs": 4, "outputs": 3, "groups": 5}
    for name in names:
        others.pop(name)
    Head(**others)(tg.ones((2, 4))) @ tg.ones((2, 1))
    named = {"inputs": 4, "groups": 5}
    same = named
    same["outputs"] = 9
    named.pop("groups")
    Head(**named)(tg.ones((2, 4))) @ tg.ones((9, 1))
    given: dict[str, Any] = {"inputs": 4, "groups": 5}
    given["outputs"] = 6
    without(given)
    Head(**given)(tg.ones((2, 4))) @ tg.ones((6, 1))

def later(calls: list[Callable[[], Head]]) -> None:
    options = {"inputs": 4, "outputs": 3}
    calls.append(lambda: Head(**options))
    Head(**options)(tg.ones((2, 4))) @ tg.ones((3, 1))
    options["outputs"] = 8
    Head(**options)(tg.ones((2, 4))) @ tg.ones((8, 1))
    for _ in range(2):
        Head(**options)(tg.ones((2, 4))) @ tg.ones((8, 1))
        several = {"inputs": 4, "outputs": 3}
        Head(**several)(tg.ones((2, 4))) @ tg.ones((3, 1))
        several["outputs"] = 5
    calls[0]()(tg.ones((2, 4))) @ tg.ones((8, 1))
    nested: dict[str, Any] = {"head": {"inputs": 4, "outputs": 3}, "other": 1}
    inner = nested["head"]
    nested.pop("other")
    inner["outputs"] = 6
    Head(**nested["head"])(tg.ones((2, 4))) @ tg.ones((6, 1))

def once(is_wide: bool) -> None:
    options = {"inputs": 4, "groups": 2, "outputs": 3}
    head = Head(options.pop("inputs"), **options)
    head(tg.ones((2, 4))) @ tg.ones((6, 1))
    width = options.pop("outputs") if is_wide else 8
    Head(4, **options)(tg.ones((2, 4))) @ tg.ones((4, 1))
    print(width)
    several = {"outputs": 3}
    total = several.pop("outputs", 1) + several.pop("outputs", 1)
    Head(4, total)(tg.ones((2, 4))) @ tg.ones((4, 1))

for part in Taking(True, ["outputs"], inputs=8, outputs=8)(tg.ones((2, 8))):
    print(part)
for part, size in zip(Taking(True, [], inputs=8, outputs=8)(tg.ones((2, 8))), (8, 9, 9, 8), strict=True):
    part @ tg.ones((size, 1))
def given_away() -> None:
    options = {"inputs": 4, "outputs": 2}
    options["outputs"] = 3

    def same() -> dict[str, int]:
        return options

    same()["outputs"] = 5
    Head(**options)(tg.ones((2, 4))) @ tg.ones((5, 1))

changed(True, ["outputs", "groups"])
given_away()
later([])
once(True)
""",
    "tensors that bodies keep in attributes": """
class Cell(nn.Module):
    def __init__(self) -> None:
        self.linear = nn.Linear(4, 4)
        self.state: Tensor | None = None
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        out = self.linear(x)
        if self.state is not None:
            out = out + self.state
        self.state = out
        self.last = None
        return out

    def turned(self, x: Tensor) -> Tensor:
        self.last = x
        if self.last is None:
            return x
        return self.last.T

    def both(self, x: Tensor) -> Tensor:
        self.forward(x)
        return x if self.state is None else self.state

class Cache(nn.Module):
    def __init__(self) -> None:
        self.keys: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        keys = x if self.keys is None else tg.concat((self.keys, x), axis=0)
        self.keys = keys
        return keys

    def grow(self, x: Tensor, count: int) -> Tensor:
        for _ in range(count):
            x = x if self.keys is None else tg.concat((self.keys, x), axis=0)
            self.keys = x
        return x

cell, cache, row = Cell(), Cache(), tg.ones((1, 4))
cell(row) @ tg.ones((4, 2))
cell.turned(row) @ row
cell.both(row) @ tg.ones((4, 2))
cell(tg.ones((3, 4))) @ tg.ones((4, 2))
cache(row)
cache(row).T @ tg.ones((2, 2))
cache.grow(row, 2).T @ tg.ones((6, 2))
""",
    "lists and dictionaries of tensors that functions without annotations change": """
def longer(parts):  # type: ignore[no-untyped-def]  # as many programs are written
    parts.append(tg.ones((4, 8)))

def other(parts):  # type: ignore[no-untyped-def]  # as above
    parts["a"] = tg.ones((4, 8))

class Filler:
    def fill(self, parts):  # type: ignore[no-untyped-def]  # as above
        parts.append(tg.ones((4, 8)))

parts = [tg.ones((3, 3))]
longer(parts)  # type: ignore[no-untyped-call]  # as above
parts[-1] @ tg.ones((8, 2))
more = [tg.ones((3, 3))]
Filler().fill(more)  # type: ignore[no-untyped-call]  # as above
more[-1] @ tg.ones((8, 2))
named = {"a": tg.ones((3, 3))}
other(named)  # type: ignore[no-untyped-call]  # as above
named["a"] @ tg.ones((8, 2))
""",
    "lists and dictionaries of tensors that functions change or keep": """
def longer(parts: list[Tensor]) -> Tensor:
    parts.append(tg.ones((4, 8)))
    return parts[-1] @ tg.ones((8, 2))

def other(parts: dict[str, Tensor]) -> Tensor:
    parts["a"] = tg.ones((4, 8))
    return parts["a"] @ tg.ones((8, 2))

def kept(parts: list[Tensor]) -> Tensor:
    holder.parts = parts
    holder.parts.append(tg.ones((4, 8)))
    return parts[-1] @ tg.ones((8, 2))

def of_two_sizes(parts: dict[str, Tensor], several: list[Tensor]) -> Tensor:
    return several[1] @ parts["b"] + several[-1] @ parts["b"]

class Holder:
    parts: list[Tensor]

holder = Holder()
longer([tg.ones((2, 3))])
other({"a": tg.ones((2, 3))})
kept([tg.ones((2, 3))])
of_two_sizes({"a": tg.ones((2, 3)), "b": tg.ones((5, 3))}, [tg.ones((2, 3)), tg.ones((2, 5))])
""",
    "a list that an object of a later function gets": """
class Kept:
    def __init__(self) -> None:
        self.steps = [tg.ones((2, 3))]

steps = [tg.ones((2, 3))]

def keep() -> None:
    kept = Kept()
    kept.steps = steps

steps.append(tg.ones((4, 3)))
""",
    "a list that a subclass fills": """
class Stack(nn.Module):
    def __init__(self) -> None:
        self.blocks = [MLP(Config(8)) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks[0](x)

class Mine(Stack):
    def __init__(self) -> None:
        super().__init__()
        self.blocks[0] = MLP(Config(9))

Mine()(tg.ones((4, 9)))
""",
    "a list that an object of the class gets": """
class Stack(nn.Module):
    def __init__(self) -> None:
        self.blocks = [MLP(Config(8)) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks[0](x)

other = Stack()
other.blocks[0] = MLP(Config(7))
other(tg.ones((4, 7)))
""",
    "a list that a second base class fills": """
class Mixin:
    blocks: list[MLP]

    def grow(self) -> None:
        self.blocks.insert(0, MLP(Config(5)))

class Several(nn.Module):
    def __init__(self) -> None:
        self.blocks = [MLP(Config(8)) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks[0](x)

class Both(Mixin, Several):
    def __init__(self) -> None:
        super().__init__()
        self.grow()

Both()(tg.ones((4, 5)))
""",
    "configurations that methods make and change": """
@dataclass
class Sizes:
    width: int = 8
    heads: int = 2
    hidden: int | None = None
    head: int = field(init=False)

    def __post_init__(self) -> None:
        self.head = self.width // self.heads
        if self.hidden is None:
            self.hidden = 4 * self.width

    @classmethod
    def small(cls) -> Sizes:
        return cls(width=4)

@dataclass
class Changing:
    width: int = 8

    def change(self) -> None:
        self.width = 9

    def __post_init__(self) -> None:
        self.change()

@dataclass
class Changed:
    width: int = 8

    def __post_init__(self) -> None:
        for _ in range(2):
            self.width += 1

class Pair(NamedTuple):
    width: int = 3
    out: int = 4

def summed(first: Sizes) -> Tensor:
    return tg.ones((first.head, first.hidden or 1))

summed(Sizes()) + tg.ones((4, 32))
summed(Sizes.small()) + tg.ones((2, 16))
summed(replace(Sizes.small(), width=6)) + tg.ones((3, 16))
summed(replace(Sizes(hidden=5), heads=1)) + tg.ones((8, 5))
MLP(Config(Changing().width))(tg.ones((4, 9)))
MLP(Config(Changed().width))(tg.ones((4, 10)))
MLP(Config(*Pair()._replace(out=9)))(tg.ones((4, 3)))
MLP(replace(Config(), width=7))(tg.ones((4, 7)))
config = Sizes()
config.head = 5
tg.ones((config.head,)) + tg.ones((5,))
""",
    "functions that return models": """
def mlp(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, out))

def chosen(kind: str) -> nn.Module:
    if kind == "relu":
        return nn.ReLU()
    return nn.Linear(8, 3)

def repeated(width: int, count: int) -> nn.Sequential:
    if count > 1:
        return nn.Sequential(repeated(width, count - 1), mlp(width, width))
    return mlp(width, width)

model = mlp(8, 3)
model(tg.ones((4, 8)))
model = mlp(9, 3)
model(tg.ones((4, 9)))
chosen("relu")(tg.ones((4, 5)))
repeated(8, 3)(tg.ones((4, 8)))
for width in (3, 4):
    other = mlp(width, 3)
    other(tg.ones((2, width)))
models = {"a": mlp(3, 3), "b": mlp(4, 3)}
models["b"](tg.ones((2, 4)))
""",
    "a method that makes a layer, and that another class overrides": """
class Base(nn.Module):
    def __init__(self) -> None:
        self.net = self.made(8)

    def made(self, width: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(width, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)

class Mine(Base):
    def made(self, width: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(5, width))

Base()(tg.ones((4, 8)))
Mine()(tg.ones((4, 5)))
""",
    "a function of which there are two": """
if int("3") > 4:
    def made() -> nn.Sequential:
        return nn.Sequential(nn.Linear(3, 3))
else:
    def made() -> nn.Sequential:
        return nn.Sequential(nn.Linear(8, 3))

made()(tg.ones((4, 8)))
""",
    "methods of classes": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    @staticmethod
    def scaled(x: Tensor) -> Tensor:
        return x @ tg.ones((3, 2))

    @classmethod
    def of(cls, config: Config) -> Net:
        return cls(config.width)

    @classmethod
    def width(cls) -> int:
        return 8

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.up(x))

class Other(Net):
    @staticmethod
    def scaled(x: Tensor) -> Tensor:
        return x @ tg.ones((3, 5))

    @classmethod
    def width(cls) -> int:
        return 9

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + tg.ones((4, 5))

Net.of(Config())(tg.ones((4, 8))) + tg.ones((4, 2))
Other.of(Config())(tg.ones((4, 8)))
tg.ones((Other.width(),)) + tg.ones((9,))
Other.scaled(tg.ones((1, 3))) + tg.ones((5,))
""",
    "the next class of an object with two base classes": """
class Base(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return x @ tg.ones((8, 3))

class Left(Base):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)

class Right(Base):
    def forward(self, x: Tensor) -> Tensor:
        return x @ tg.ones((7, 3))

class Both(Left, Right):
    pass

Both(8)(tg.ones((4, 7)))
""",
    "a base class that is made with another width": """
class Base(nn.Module):
    def __init__(self, width: int, hidden: int = 5) -> None:
        self.mlp = MLP(Config(width, hidden))
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(x).reshape((self.width, -1))

class Wider(Base):
    def __init__(self, width: int) -> None:
        super().__init__(width + 1, hidden=3)

class Widest(Wider):
    def __init__(self) -> None:
        super().__init__(7)

Widest()(tg.ones((4, 8))) @ tg.ones((4, 2))
Wider(8)(tg.ones((4, 9))) @ tg.ones((4, 2))
""",
    "layers of two widths in a dict, and a variable for two lists": """
class Two(nn.Module):
    def __init__(self, config: Config) -> None:
        self.narrow = [MLP(config) for _ in range(2)]
        self.wide = [MLP(Config(9)) for _ in range(2)]
        self.named = {"narrow": MLP(config), "wide": MLP(Config(9))}

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for block in self.narrow:
            x = block(x)
        for block in self.wide:
            y = block(y)
        return self.named["wide"](y).sum() + tg.stack([self.named[name](x) for name in ["narrow"]]).sum()

Two(Config())(tg.ones((4, 8)), tg.ones((4, 9)))
""",
    "a variable with an annotation": """
def stepped(x: Tensor) -> Tensor:
    rows: int = x.shape[0]
    found: list[Tensor] = []
    for k in range(rows):
        found.append(x[k] if k % 2 else x[:2].sum(axis=0))
    scale: float = 0.5
    scale *= 2
    named: dict[str, Tensor] = {"first": x, "second": tg.ones((3, 9))}
    return tg.stack(found) * scale + named["second"][:, :8].sum(axis=0)

stepped(tg.ones((4, 8))) @ tg.ones((8, 2))
""",
    "a decorator that passes another tensor": """
from typing import Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

def narrowed(method: F) -> F:
    def call(self: Any, x: Any) -> Any:
        return method(self, x[:, :3])
    return call  # type: ignore[return-value]

class Head(nn.Module):
    def __init__(self) -> None:
        self.head = nn.Linear(3, 2)

    @override
    @narrowed
    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)

Head()(tg.ones((4, 8)))
""",
    "a case that does not match": """
def chosen(x: Tensor, kind: str) -> Tensor:
    match kind:
        case "narrow":
            return x @ tg.ones((3, 3))
        case "wide" | "wider" as name if len(name) > 3:
            return x @ tg.ones((8, 2))
    return x

def by_shape(x: Tensor) -> Tensor:
    match x.shape:
        case (rows, columns):
            return x @ tg.ones((columns, rows))
        case (_, channels, _, _):
            return x @ tg.ones((channels, 3))
    raise ValueError

chosen(tg.ones((4, 8)), "other")
by_shape(tg.ones((4, 8))) + tg.ones((4, 4))
""",
    "a function that is not called": """
def held(x: Tensor, width: int = 8) -> Tensor:
    def narrow(y: Tensor) -> Tensor:
        return y @ tg.ones((3, width))

    def cut(y: Tensor) -> Tensor:
        return (y + x)[:, :5]

    return cut(x * 2.0) @ tg.ones((5, width))

held(tg.ones((4, 8))) + tg.ones((4, 8))
held(tg.ones((6, 8))) + tg.ones((6, 8))
""",
    "a function that binds a variable outside of it": """
def counted(x: Tensor) -> Tensor:
    y = x.sum(1)
    def change() -> None:
        nonlocal y
        y = tg.ones((4,))

    change()
    return y

counted(tg.ones((3, 8))) + tg.ones((4,))
""",
    "a with statement that binds a name": """
from contextlib import contextmanager
from collections.abc import Iterator

@contextmanager
def doubled(x: Tensor) -> Iterator[Tensor]:
    yield x * 2.0

def opened(x: Tensor) -> Tensor:
    with open("/dev/null") as file, doubled(x) as y:
        print(file.name, y.shape)
        x = x.sum(1)
    return x

opened(tg.ones((3, 8))) + tg.ones((3,))
""",
    "loops over steps that do not run": """
def fitted(x: Tensor, first: int) -> None:
    for start in range(first, len(x), 4):
        x[start : start + 4] @ tg.ones((9, 3))

def further(x: Tensor) -> None:
    sizes = [8, 16]
    for _ in sizes[2:]:
        x @ tg.ones((9, 3))

fitted(tg.ones((12, 8)), 12)
fitted(tg.ones((0, 8)), 0)
further(tg.ones((12, 8)))
""",
    "loops that may not run": """
def repeated(x: Tensor, pairs: list[tuple[int, float]], count: int) -> Tensor:
    found = []
    for n, factor in pairs:
        found.append(x @ tg.ones((n, 3)) * factor)
    for k in range(1, count):
        x = x @ tg.ones((3, 3)) * k
    for _ in enumerate([]):
        x = x @ tg.ones((3, 3))
    return x

repeated(tg.ones((4, 8)), [], int("1"))
""",
    "attributes that a parser sets": """
from argparse import ArgumentParser

class Parsed:
    def __init__(self, width: int = 3) -> None:
        self.width = width

parsed = Parsed()
parser = ArgumentParser()
parser.add_argument("--width", type=int)
parser.parse_args(["--width", "8"], namespace=parsed)
tg.ones((3, 8)) @ tg.ones((parsed.width, 2))
""",
    "attributes that are set through vars": """
config = Settings()
vars(config)["width"] = 8
tg.ones((3, 8)) @ tg.ones((config.width, 2))
""",
    "attributes that are set through an update": """
config = Settings()
config.__dict__.update(width=8)
tg.ones((3, 8)) @ tg.ones((config.width, 2))
""",
    "items that are assigned": """
named, listed, filled = {"width": 3}, [3], [3]
named["width"] = 8
listed[0] = 8
filled.clear()
filled.append(8)
tg.ones((3, 8)) @ tg.ones((named["width"], 2))
tg.ones((3, 8)) @ tg.ones((listed[0], 2))
tg.ones((3, 8)) @ tg.ones((filled[0], 2))
""",
    "fields that are no positional arguments": """
from dataclasses import KW_ONLY, field
from typing import ClassVar

@dataclass(frozen=True, kw_only=True)
class Base:
    heads: int = 2

@dataclass(frozen=True)
class Sub(Base):
    width: int = 8

@dataclass(frozen=True)
class Mixed:
    _: KW_ONLY
    heads: int = 2

@dataclass(frozen=True)
class Late(Mixed):
    width: int = 8

@dataclass(frozen=True)
class Constant:
    kind: ClassVar[int] = 3
    made: int = field(default=4, init=False)
    width: int = 8
    named: int = field(default=9, kw_only=True)

sub, late, constant = Sub(5), Late(6, heads=4), Constant(7, named=1)
tg.ones((sub.heads, sub.width)) + tg.ones((2, 5))
tg.ones((late.heads, late.width)) + tg.ones((4, 6))
tg.ones((constant.kind, constant.made, constant.width, constant.named)) + tg.ones((3, 4, 7, 1))
""",
    "an object that may be another": """
config = Settings()
if config.width:
    config = Settings(8)
tg.ones((3, 8)) @ tg.ones((config.width, 2))
""",
    "a list that is bound again in a loop": """
def listed(x: Tensor) -> list[Tensor]:
    rows = []
    for k in range(2):
        rows.append(x[k] if k else x.sum(0))
        if k:
            rows = []
    return rows

listed(tg.ones((4, 8)))
""",
    "an override in another class": """
class Wide(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return x

def main(mlp: MLP) -> None:
    mlp(tg.ones((4, 9)))

main(Wide(Config()))
""",
    "a method that a subclass overrides": """
class Twice(nn.Module):
    def inner(self, x: Tensor) -> Tensor:
        return x @ tg.ones((3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(tg.ones((4, 9)))

class Same(Twice):
    def inner(self, x: Tensor) -> Tensor:
        return x

same = Same()
same(tg.ones((4, 9))) + tg.ones((4, 9))
""",
    "an attribute that is assigned again": """
mlp = MLP(Config())
mlp.up = nn.Linear(9, 5)
mlp(tg.ones((4, 9)))
""",
    "a list that gets other layers": """
model = Model(Config(layers=1))
model.blocks.clear()
model(tg.ones((4, 8)))
""",
    "a loop that may not run": """
def looped(x: Tensor, count: int) -> Tensor:
    for _ in range(count):
        x = x @ tg.ones((3, 3))
    return x

looped(tg.ones((4, 8)), int("0"))
""",
    "a branch": """
def chosen(x: Tensor) -> Tensor:
    if x.shape[-1] == 3:
        return x @ tg.ones((3, 3))
    return x

chosen(tg.ones((4, 8)))
""",
    "a branch that the call does not decide": """
def chosen(x: Tensor, count: int) -> Tensor:
    if count > 3:
        return x @ tg.ones((3, 3))
    return x

chosen(tg.ones((4, 8)), int("0"))
""",
    "a branch that the call does not take": """
def chosen(x: Tensor, mask: Tensor | None = None, *, wide: bool = False) -> Tensor:
    if mask is not None:
        x = x @ mask
    if wide:
        return x @ tg.ones((3, 3))
    if mask is None and wide:
        x = x.sum()
    elif not wide:
        return x
    raise ValueError

chosen(tg.ones((4, 8))) + tg.ones((4, 8))
""",
    "a branch that fails and one that returns": """
def chosen(x: Tensor, count: int) -> Tensor:
    if count > 3:
        return x
    y = x @ tg.ones((3, 3))
    return y

def guarded(x: Tensor, count: int) -> Tensor:
    if count < 3:
        x = x @ tg.ones((3, 3))
    elif count < 5:
        raise ValueError
    return x

chosen(tg.ones((4, 8)), int("4")) + tg.ones((4, 8))
guarded(tg.ones((4, 8)), int("5")) + tg.ones((4, 8))
""",
    "two calls with one opaque size": """
def scaled(x: Tensor, count: int) -> Tensor:
    return x * count

def called(x: Tensor, count: int) -> None:
    scaled(x, count + 1)
    scaled(tg.ones((4, 8)), count + 1) + tg.ones((4, 8))
    scaled(tg.ones((4, 8)), count + 1) + tg.ones((4, 8))
    one, other = MLP(Config(count)), MLP(Config(count))
    nn.Sequential(*[MLP(Config(count)), MLP(Config(count))])(tg.ones((4, 8)))
    one(tg.ones((4, 8))) + other(tg.ones((4, 8)))

called(tg.ones((4, 8)), 8)
""",
    "a size that two branches give": """
def chosen(x: Tensor, count: int, rows: int = 4) -> Tensor:
    if count > 3:
        rows = 5
        y = x[1:]
    else:
        y = x
    n = 2
    while n < count:
        n += 1
    m = 2
    for _ in range(3):
        m = 3
    return tg.ones((2, rows)) @ y @ tg.ones((8, n)) @ tg.ones((n, m))

chosen(tg.ones((5, 8)), int("3"), 5) @ tg.ones((3, 2))
chosen(tg.ones((6, 8)), int("7")) @ tg.ones((3, 2))
""",
    "a statement that fails and is tried": """
def tried(x: Tensor) -> Tensor:
    try:
        return x @ tg.ones((3, 3))
    except ValueError:
        return x

def tried_first(x: Tensor, other: bool) -> Tensor:
    try:
        y = x.sum(axis=0)
        if other:
            y = y @ tg.ones((9, 2))
        y = x @ tg.ones((7, 2))
    except ValueError as error:
        print(error)
    else:
        y = y @ tg.ones((2, 3))
    finally:
        print(x @ tg.ones((8, 2)))
    return y

def last(x: Tensor, other: bool) -> Tensor:
    y = x
    try:
        if other:
            y = x @ tg.ones((8, 3))
            return y
    finally:
        print(y.sum())
    return y @ tg.ones((7, 3))

tried(tg.ones((4, 8))) + tg.ones((4, 8))
tried_first(tg.ones((4, 8)), bool(0)) + tg.ones((8,))
last(tg.ones((4, 8)), bool(1)) + tg.ones((3,))
""",
    "a handler that knows what the body has bound": """
def tried(x: Tensor, path: str) -> Tensor:
    n = 2
    try:
        n = 3
        y = x.sum(axis=0)
        open(path)
        n = 4
        y = x
    except OSError:
        return y @ tg.ones((8, n))
    return y

tried(tg.ones((4, 8)), "nowhere") + tg.ones((3,))
""",
    "a loop whose turns end in several ways": """
def looped(x: Tensor, count: int) -> Tensor:
    for number in range(count):
        if number == 3:
            break
        if number == 2:
            x = x[1:]
            continue
        if number > 5:
            return x @ tg.ones((3, 3))
        x = tg.concat((x, x), axis=0)
    return x

looped(tg.ones((2, 8)), int("3")) + tg.ones((7, 8))
""",
    "layers in models that are not known": """
class Last(nn.Module):
    def __init__(self, width: int) -> None:
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)

class Same(Last):
    def forward(self, x: Tensor) -> Tensor:
        return x

class Net(nn.Module):
    def __init__(self, config: Config) -> None:
        self.body = nn.Sequential(MLP(config), Last(config.width))
        self.other = nn.Sequential(MLP(config), Last(config.hidden))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) + self.other(x[:, :5]) if x.shape[-1] == 3 else self.body(x)

def applied(model: nn.Sequential[nn.ReLU, Last], x: Tensor) -> Tensor:
    return model(x)

net = Net(Config())
net(tg.ones((4, 8))) + tg.ones((4, 3))
applied(nn.Sequential(nn.ReLU(), Same(9)), tg.ones((4, 8))) + tg.ones((4, 8))
again = nn.Sequential(nn.ReLU(), Last(9))
again = nn.Sequential(nn.ReLU(), Last(8))
again(tg.ones((4, 8)))
wide = [nn.Sequential(Last(width)) for width in (9, 8)]
wide[1](tg.ones((4, 8)))
one = nn.Sequential(Last(int("8")), nn.ReLU())
one(tg.ones((4, 8))) + tg.ones((4, 3))
""",
    "an assertion that Python may leave out": """
def asserted(x: Tensor, mask: Tensor | None = None, other: Tensor | None = None) -> Tensor:
    assert x.shape == (4, 8) or (x @ tg.ones((3, 3))).ndim == 2
    if mask is None:
        mask = tg.ones((1, 8))
    assert other is not None
    return x * mask * other

asserted(tg.ones((4, 8)), other=tg.ones((4, 1))) + tg.ones((4, 8))
""",
    "a flag that is assigned again": """
class Flagged(nn.Module):
    def __init__(self) -> None:
        self.is_wide = True

    def forward(self, x: Tensor) -> Tensor:
        if self.is_wide:
            return x @ tg.ones((3, 3))
        return x

flagged = Flagged()
flagged.is_wide = False
flagged(tg.ones((4, 8)))
""",
    "a context that suppresses an exception": """
from collections.abc import Iterator
from contextlib import contextmanager, suppress

@contextmanager
def quiet() -> Iterator[None]:
    try:
        yield
    except ValueError:
        pass

def tried(x: Tensor) -> Tensor:
    with quiet():
        return x @ tg.ones((3, 3))
    return x

def tried_too(x: Tensor) -> Tensor:
    with suppress(ValueError):
        return x @ tg.ones((3, 3))
    return x

tried(tg.ones((4, 8)))
tried_too(tg.ones((4, 8)))
""",
    "a part that may not be evaluated": """
def chosen(x: Tensor) -> Tensor:
    return x @ tg.ones((3, 3)) if x.shape[-1] == 3 else x

chosen(tg.ones((4, 8)))
""",
    "two names that may be one size": """
from typing import TypeVar

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

def added(x: Tensor, y: Tensor) -> Tensor:
    return x + y

def called(x: Tensor[tuple[N]], y: Tensor[tuple[M]]) -> Tensor:
    return added(x, y)

called(tg.ones((3,)), tg.ones((3,)))
""",
    "a call that may fail": """
try:
    squared(tg.ones((3,)), tg.ones((4,)))
except ValueError:
    pass
""",
    "a size that the program computes": """
mlp = MLP(Config(int("9")))
mlp(tg.ones((4, 9)))
""",
    "a field that is assigned again": """
@dataclass
class Open:
    width: int = 8

class Net(nn.Module):
    def __init__(self, config: Open) -> None:
        self.up = nn.Linear(config.width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

config = Open()
config.width = 9
net = Net(config)
net(tg.ones((4, 9)))
""",
    "a parameter that is assigned again": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        width = width + 1
        self.up = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

net = Net(8)
net(tg.ones((4, 9)))
""",
    "two objects of one class": """
class Two(nn.Module):
    def __init__(self) -> None:
        self.one = MLP(Config(8, 5))
        self.other = MLP(Config(7, 5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.other(x[:, 1:])
        return self.one(x)[:, 1:] + y

two = Two()
two(tg.ones((4, 8)))
""",
    "a constructor that another one calls": """
class Wider(MLP):
    def __init__(self, config: Config) -> None:
        super().__init__(Config(config.width + 1))

wider = Wider(Config())
wider(tg.ones((4, 9)))
""",
    "arrays of a loop that have other shapes at other turns": """
import numpy as np
from numpy.typing import NDArray

def halved(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x[: len(x) // 2]

def main() -> None:
    x, y = np.zeros((8, 3), np.float32), np.zeros((5, 3), np.float32)
    for _ in range(2):
        x, y = y, x
        print(tg.tensor(x) + tg.ones((len(x), 3)))
    while len(x) > 1:
        x = halved(x)
    print(tg.tensor(x) + tg.ones((1, 3)))

main()
""",
    "an environment whose arrays get longer": """
import numpy as np
from numpy.typing import NDArray

class Growing:
    def __init__(self, size: int) -> None:
        self.size = size

    def observe(self) -> NDArray[np.float32]:
        return np.ones((self.size,), np.float32)

    def step(self) -> tuple[NDArray[np.float32], bool]:
        self.size += 1
        return self.observe(), self.size > 6

def main() -> None:
    growing = Growing(3)
    state, done = growing.observe(), False
    while not done:
        state, done = growing.step()
    print(tg.tensor(state) + tg.ones((7,)))

main()
""",
    "a length of a collection that a function extends": """
NAMES = ["a", "b"]
SIZES = {"a": 1}

def register(name: str) -> None:
    NAMES.append(name)
    SIZES[name] = 3

def main() -> None:
    register("c")
    model = nn.Linear(8, len(NAMES))
    print(model(tg.ones((4, 8))) + tg.ones((4, 3)))
    print(nn.Linear(8, len(SIZES))(tg.ones((4, 8))) + tg.ones((4, 2)))

main()
""",
    "a model of an agent, of which a method replaces a layer": """
class Agent:
    def __init__(self, config: Config) -> None:
        self.online = MLP(config)

    def widen(self, width: int) -> None:
        self.online.up = nn.Linear(width, 5)

    def act(self, x: Tensor) -> Tensor:
        return self.online(x)

agent = Agent(Config())
agent.widen(9)
agent.act(tg.tensor(json.loads("[[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]]")))
""",
    "a branch for each rank of a tensor of unknown shape": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim > 2:
            x = x.flatten(1)
        y = self.up(x)
        return y.expand_dims(0) if y.ndim == 1 else y

net = Net(4)
for text in ("[0.5, 0.5, 0.5, 0.5]", "[[0.5, 0.5, 0.5, 0.5]]", "[[[0.5, 0.5], [0.5, 0.5]]]"):
    net(tg.tensor(json.loads(text))) @ tg.ones((3, 2))
""",
    "arrays for a parameter that takes any number": """
import numpy as np
from numpy.typing import NDArray

def each(model: nn.Conv2d[Any, Any, Any], *images: NDArray[np.float32]) -> None:
    for image in images:
        print(model(tg.tensor(image)).shape)

def last(model: nn.Conv2d[Any, Any, Any], name: str, count: int, image: NDArray[np.float32]) -> None:
    print(model(tg.tensor(image)).shape)

def main() -> None:
    model = nn.Conv2d(3, 2, 3)
    image = np.ones((3, 5, 5), np.float32)
    each(model, image, image)
    last(*(model, "a", 2), image)

main()
""",
    "a record of a loop that has other sizes at each turn": """
@dataclass
class Rollout:
    scores: Tensor

def collected(count: int) -> tuple[Rollout, float]:
    return Rollout(tg.ones((count, 3))), 1.0

def main() -> None:
    for count in (3, 4):
        rollout, _reward = collected(count)
        print(rollout.scores + tg.ones((count, 3)))

main()
""",
    "records in lists that get others": """
@dataclass
class Step:
    x: Tensor[Any]

def add(steps: list[Step]) -> None:
    steps.append(Step(tg.ones((4, 5))))

def other_function() -> None:
    steps: list[Step] = []
    steps.append(Step(tg.ones((4, 3))))
    add(steps)
    steps[-1].x @ tg.ones((5, 2))

def other_name() -> None:
    steps: list[Step] = []
    others = steps
    steps.append(Step(tg.ones((4, 3))))
    others.append(Step(tg.ones((4, 5))))
    steps[-1].x @ tg.ones((5, 2))

def inner_function() -> list[Step]:
    steps: list[Step] = []
    steps.append(Step(tg.ones((4, 3))))

    def last() -> Tensor[Any]:
        return steps[-1].x @ tg.ones((5, 2))

    add(steps)
    last()
    return steps

class Half(NamedTuple):
    x: Tensor[Any]

class Whole(Half):
    def __new__(cls, x: Tensor[Any]) -> "Whole":
        return super().__new__(cls, tg.ones((4, 5)))

def subclass() -> None:
    halves = [Half(tg.ones((4, 3)))]
    halves.append(Whole(tg.ones((4, 3))))
    halves[-1].x @ tg.ones((5, 2))

@dataclass
class Cleared:
    x: Tensor[Any]

def written() -> None:
    steps: list[Cleared] = []
    steps.append(Cleared(tg.ones((4, 3))))
    for one in steps:
        one.x = tg.ones((4, 5))
    steps[-1].x @ tg.ones((5, 2))

other_function()
other_name()
inner_function()
subclass()
written()
""",
    "records of tensors that grow in a loop": """
@dataclass
class Step:
    x: Tensor[Any]

def appended() -> None:
    steps: list[Step] = []
    h = tg.ones((4, 1))
    for _ in range(3):
        y = tg.relu(h)
        steps.append(Step(y))
        if len(steps) > 2:
            steps[-1].x @ tg.ones((3, 2))
        h = tg.concat([h, tg.ones((4, 1))], axis=1)
    steps[-1].x @ tg.ones((3, 2))

def made() -> None:
    h = tg.ones((4, 1))
    for k in range(3):
        step = Step(tg.relu(h))
        if k > 1:
            step.x @ tg.ones((3, 2))
        h = tg.concat([h, tg.ones((4, 1))], axis=1)

def listed() -> None:
    xs = [tg.ones((4, 1))]
    steps: list[Step] = []
    for _ in range(3):
        steps.append(Step(tg.relu(xs[-1])))
        if len(steps) > 2:
            steps[-1].x @ tg.ones((3, 2))
        xs.append(tg.concat([xs[-1], tg.ones((4, 1))], axis=1))

appended()
made()
listed()
""",
    "decorators that change what a function gets or returns": """
import functools
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., Tensor[Any]])

def another(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((5, 3))

def cut(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        x = x[:, :4]
        return function(x)
    return cast(F, inner)

def halved(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        return function(x[:, :4])[:, :2]
    return cast(F, inner)

def tried(function: F) -> F:
    @functools.wraps(function)
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        try:
            y = function(x)
        except ValueError:
            return x
        return y
    return cast(F, inner)

def suppressed(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        with suppress(ValueError):
            y = function(x)
        return x
    return cast(F, inner)

def exchanged(function: F) -> F:
    function = cast(F, another)
    return function

def lifted(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        if x.ndim == 1:
            return function(x[:4][None])
        return function(x)
    return cast(F, inner)

def maybe(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        y = x
        if x.shape[1] == 4:
            y = function(x)
        return y
    return cast(F, inner)

def chosen(function: F) -> F:
    if function.__name__ == "chosen_one":
        return cast(F, another)
    return function

def optional(function: F) -> F:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Tensor[Any]:
        kwargs["n"] = 5
        return function(*args, **kwargs)
    return cast(F, inner)

def turned(function: F) -> F:
    def inner(y: Tensor[Any], x: Tensor[Any]) -> Tensor[Any]:
        return function(y, x)
    return cast(F, inner)

def conditional(function: F) -> F:
    def inner(x: Tensor[Any]) -> Tensor[Any]:
        return function(x)
    if function.__name__ == "conditional_one":
        def inner(x: Tensor[Any]) -> Tensor[Any]:
            return function(x[:, :4])
    return cast(F, inner)

@turned
def turned_one(x: Tensor[Any], y: Tensor[Any]) -> Tensor[Any]:
    return x @ y

@conditional
def conditional_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@cut
def cut_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@halved
def halved_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@tried
def tried_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@suppressed
def suppressed_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@exchanged
def exchanged_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@lifted
def lifted_one(x: Tensor[Any]) -> Tensor[Any]:
    n, _ = x.shape
    return x @ tg.ones((4, 3)) * n

@maybe
def maybe_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@chosen
def chosen_one(x: Tensor[Any]) -> Tensor[Any]:
    return x @ tg.ones((4, 3))

@optional
def optional_one(x: Tensor[Any], n: int = 4) -> Tensor[Any]:
    return x @ tg.ones((n, 3))

turned_one(x=tg.ones((4, 3)), y=tg.ones((2, 4)))
conditional_one(tg.ones((2, 5)))
cut_one(tg.ones((2, 5)))
halved_one(tg.ones((2, 5))) @ tg.ones((2, 2))
tried_one(tg.ones((2, 5)))
suppressed_one(tg.ones((2, 5)))
exchanged_one(tg.ones((2, 5)))
lifted_one(tg.ones((5,)))
maybe_one(tg.ones((2, 5)))
chosen_one(tg.ones((2, 5)))
optional_one(tg.ones((2, 5)), n=4)
""",
    "lists that a loop fills with tensors that grow": """
def states() -> None:
    found: list[Tensor[Any]] = []
    others = []
    h = tg.ones((4, 1))
    for _ in range(3):
        y = tg.relu(h)
        found.append(y)
        others.append(h)
        if len(found) > 2:
            found[-1] @ tg.ones((3, 2))
            for one in others[2:]:
                one @ tg.ones((3, 2))
        h = tg.concat([h, tg.ones((4, 1))], axis=1)
    found[-1] @ tg.ones((3, 2))
    others[-1] @ tg.ones((3, 2))

def chained() -> None:
    xs = [tg.ones((4, 1))]
    for _ in range(2):
        xs.append(tg.concat([xs[-1], tg.ones((4, 1))], axis=1))
    xs[-1] @ tg.ones((3, 2))
    xs[0] @ tg.ones((1, 2))

def epochs() -> None:
    w = tg.ones((3, 1))
    for epoch in range(3):
        found = []
        for _ in range(2):
            found.append(w.T)
        if epoch == 2:
            found[0] @ tg.ones((5, 2))
        w = tg.concat([w, tg.ones((1, 1))], axis=0)

def rebound() -> None:
    found = []
    h = tg.ones((4, 3))
    found.append(h)
    h = tg.ones((4, 5))
    found.append(h)
    found[1] @ tg.ones((5, 2))
    found[0] @ tg.ones((3, 2))

def optional() -> None:
    found: list[Tensor[Any] | None] = []
    found.append(None)
    found.append(tg.ones((4, 3)))
    found.append(tg.ones((4, 5)))
    for one in found[1:]:
        if one is not None:
            one @ tg.ones((one.shape[1], 2))

outer = [tg.ones((2, 3))]

def last() -> Tensor[Any]:
    return outer[-1] @ tg.ones((5, 2))

for k in (3, 4, 5):
    outer.append(tg.ones((2, k)))
last()
states()
chained()
epochs()
rebound()
optional()
""",
    "examples of a dataset that are not those of the class": """
class Rows:
    def __init__(self, width: int) -> None:
        self.width = width
    def __len__(self) -> int:
        return 6
    def __getitem__(self, index: int) -> Tensor:
        return tg.ones((3, self.width))

class Narrow(Rows):
    def __getitem__(self, index: int) -> Tensor:
        return tg.ones((2,))

def named(is_narrow: bool) -> Rows:
    return Narrow(4) if is_narrow else Rows(4)

def run(rows: Rows) -> None:
    for x in tg.data.batches(rows, size=2):
        x @ tg.ones((2, 5))

run(Narrow(4))
for x in tg.data.batches(named(True), size=2):
    x @ tg.ones((2, 5))
named(True)[0] @ tg.ones((2, 5))
changed = Rows(4)
changed.width = 2
for x in tg.data.batches(changed, size=2):
    x @ tg.ones((2, 5))
changed[0] @ tg.ones((2, 5))
several = [Rows(4), Narrow(4)]
several[1][0] @ tg.ones((2, 5))
""",
    "examples of a dataset that are of several sizes": """
class Rows:
    def __len__(self) -> int:
        return 6
    def __getitem__(self, index: int) -> Tensor:
        if index == 7:
            return tg.ones((2, 3)) @ tg.ones((3, 4))
        return tg.ones((1 + index % 1, 2) if index < 6 else (3,))

class Growing:
    def __len__(self) -> int:
        return 3
    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return tg.ones((index + 1,)), tg.ones((index, 2))

for x in tg.data.batches(Rows(), size=2):
    x @ tg.ones((2, 5))
Growing()[1][0] @ tg.ones((2, 5))
Growing()[2][1] @ tg.ones((2, 5))
Growing()[2][0] @ tg.ones((3, 5))
for k in range(1, 3):
    Growing()[k][1] @ tg.ones((2, 5))
    Growing()[k][0] + tg.ones((1,))
for first, second in tg.data.batches(Growing(), size=1):
    first + tg.ones((1, 1))
    second @ tg.ones((2, 5))
""",
    "lists of which no length is known": """
def rows(count: int) -> list[list[float]]:
    return [[1.0, 2.0] for _ in range(count)]

empty: list[list[float]] = []
first = tg.tensor(empty)
first.sum(axis=0)
first + tg.ones((2, 1))
tg.tensor(rows(0)) + tg.ones((3, 1))
tg.tensor(rows(3)) @ tg.ones((2, 1))
tg.tensor([*rows(2)]) @ tg.ones((2, 1))
tg.tensor([[*row] for row in rows(2)]) @ tg.ones((2, 1))
nothing: list[float] = []
tg.tensor([nothing, nothing]) @ tg.ones((0, 3))
tg.tensor(nothing) + tg.ones((1,))
for several in (nothing, [1.0], [1.0, 2.0]):
    tg.tensor(several).sum(axis=0)
held = tg.tensor(nothing)
held = tg.ones((2, 3))
held @ tg.ones((3, 1))
tg.cross_entropy(tg.ones((2, 3)), tg.tensor([k % 3 for k in range(2)]))
""",
    "lists that functions return, which change later": """
def halves(x: Tensor) -> list[Tensor]:
    return [x[:, :2], x[:, 2:4]]

def prefixes(x: Tensor) -> list[Tensor]:
    found = []
    for size in (1, 2, 3):
        found.append(x[:, :size])
    return found

class Cache:
    def __init__(self) -> None:
        self.kept: list[Tensor] = []

    def keep(self, x: Tensor) -> list[Tensor]:
        found = [x]
        self.kept = found
        return found

    def all(self) -> list[Tensor]:
        return self.kept

def extend(parts: list[Tensor]) -> None:
    parts.append(tg.ones((7,)))

def same(parts: list[Tensor]) -> list[Tensor]:
    return parts

def either(x: Tensor, is_long: bool) -> list[Tensor]:
    if is_long:
        return [x, x]
    return [x[:1]]

def nothing(x: Tensor) -> list[Tensor]:
    return []

def both(x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    first, second = [x], [x[:, :1]]
    return first, second

def later(x: Tensor) -> list[Tensor]:
    found = [x]
    def add() -> None:
        found.append(tg.ones((7,)))
    add()
    return found

@dataclass
class Parts:
    first: list[Tensor]
    more: list[Tensor]

x = tg.ones((4, 6))
longest = halves(x)
longest.append(tg.ones((3,)))
longest[2] @ tg.ones((3,))
declared: list[Tensor] = halves(x)
declared.append(tg.ones((3,)))
for prefix in prefixes(x):
    prefix @ tg.ones((prefix.shape[1], 2))
cache = Cache()
kept = cache.keep(x)
cache.kept.append(tg.ones((9,)))
kept[1] @ tg.ones((9,))
cache.all()[1] @ tg.ones((9,))
given = halves(x)
extend(given)
given[2] @ tg.ones((7,))
one = halves(x)
other = same(one)
other.append(tg.ones((7,)))
one[2] @ tg.ones((7,))
for several in either(x, len(longest) > 2):
    several @ tg.ones((6, 1))
filled = nothing(x)
filled.append(tg.ones((9,)))
filled[0] @ tg.ones((9,))
parts = Parts(halves(x), halves(x))
parts.first.append(tg.ones((9,)))
left, right = both(x)
left.append(tg.ones((9,)))
left[1] @ tg.ones((9,))
later(x)[1] @ tg.ones((7,))
longer = halves(x) + [tg.ones((9,))]
longer[2] @ tg.ones((9,))
longest = halves(tg.ones((5, 8)))
longest.extend(halves(x))
longest += halves(tg.ones((5, 8)))
longest.insert(0, tg.ones((3,)))
longest[0] @ tg.ones((3,))
nested = [halves(x), halves(tg.ones((5, 8)))]
nested[1][0] @ tg.ones((2, 2))
named = {"a": halves(x)}
named["b"] = halves(tg.ones((5, 8)))
named["b"][0] @ tg.ones((2, 2))
chosen = halves(x) if len(longest) > 90 else halves(tg.ones((5, 8)))
chosen[0] @ tg.ones((2, 2))
first, *rest = halves(x)
rest.append(tg.ones((9,)))
rest[-1] @ tg.ones((9,))
traced = halves(x)
traced.append(x.trace())
""",
    "attributes that a method assigns and reads again": """
class Again:
    def __init__(self) -> None:
        self.mean = tg.zeros((6,))

    def fit(self, x: Tensor, deep: bool = True) -> Tensor:
        self.mean = x.mean(axis=0)
        if deep:
            self.fit(x[:, :3], False)
        return x[:, :3] - self.mean

class Other:
    def __init__(self) -> None:
        self.mean: Tensor = tg.zeros((6,))

    def fit(self, x: Tensor) -> Tensor:
        self.mean = x.mean(axis=0)
        self.change()
        return x[:, :1] - self.mean

    def change(self) -> None:
        self.mean = self.mean[:1]

class Branch:
    def __init__(self) -> None:
        self.mean: Tensor = tg.zeros((6,))

    def fit(self, x: Tensor, wide: bool) -> Tensor:
        if wide:
            self.mean = x.mean(axis=0)
        else:
            self.mean = x[:, :1].mean(axis=0)
        return x[:, :3] - self.mean if not wide else x - self.mean

class Property:
    def __init__(self) -> None:
        self._mean: Tensor = tg.zeros((6,))

    @property
    def mean(self) -> Tensor:
        return self._mean[:1]

    @mean.setter
    def mean(self, value: Tensor) -> None:
        self._mean = value

    def fit(self, x: Tensor) -> Tensor:
        self.mean = x.mean(axis=0)
        return x[:, :2] - self.mean

class Elsewhere:
    def __init__(self) -> None:
        self.mean: Tensor = tg.zeros((6,))

    def fit(self, x: Tensor) -> Tensor:
        self.mean = x.mean(axis=0)
        shrink(self)
        return x[:, :2] - self.mean

def shrink(one: Elsewhere) -> None:
    one.mean = one.mean[:1]

class Loop:
    def __init__(self) -> None:
        self.state: Tensor = tg.zeros((6,))

    def run(self, x: Tensor) -> Tensor:
        self.state = x[0]
        for k in range(2):
            self.state = tg.concat([self.state, x[k]])
        return self.state + tg.ones((18,))

    def once(self, x: Tensor) -> Tensor:
        self.last = x[0]
        for _ in range(2):
            x = x - self.last
        return x

class Set:
    def __init__(self) -> None:
        self.mean: Tensor = tg.zeros((6,))

    def fit(self, x: Tensor) -> Tensor:
        self.mean = x.mean(axis=0)
        setattr(self, "mean", x.mean(axis=0)[:1])
        return x[:, :2] - self.mean

x = tg.ones((4, 6))
Again().fit(x)
Other().fit(x)
Branch().fit(x, False)
Branch().fit(x, True)
Property().fit(x)
Elsewhere().fit(x)
Loop().run(x)
Loop().once(x)
Set().fit(x)
""",
    "objects of one class with other arguments": """
class Wide(nn.Module):
    def __init__(self, inputs: int, width: int, scale: float = 1.0) -> None:
        self.width = width
        self.inputs = inputs
        self.up = nn.Linear(inputs, width)
        self.down = nn.Linear(width, 2 * inputs)
        self.weights = tg.ones((width,))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return self.down(tg.relu(self.up(x))) * self.scale

    def hidden(self, x: Tensor) -> Tensor:
        return self.up(x)

class Base:
    def __init__(self, width: int) -> None:
        self.weights = tg.ones((width, 3))

    def apply(self, x: Tensor) -> Tensor:
        return x @ self.weights

class Small(Base):
    def __init__(self, width: int) -> None:
        super().__init__(width)

class Twice(Base):
    def __init__(self, width: int) -> None:
        super().__init__(2 * width)

models = [Wide(4, 8), Wide(8, 3)]
h = tg.ones((2, 4))
for model in models:
    h = model(h)
    tg.ones((2, model.width)) * model.weights

hidden = [model.hidden(x) for model, x in zip(models, [tg.ones((2, 4)), tg.ones((2, 8))])]
hidden[0] @ tg.ones((8, 1))
hidden[1] @ tg.ones((3, 1))
which = len(models) - 1
chosen = models[which]
chosen(tg.ones((2, 8))) @ tg.ones((16, 1))
chosen.up(tg.ones((2, 8))) @ tg.ones((3, 1))
bases: list[Base] = [Small(4), Twice(2), Base(4)]
for base in bases:
    base.apply(tg.ones((1, 4)))
same = [Small(4), Small(5)]
for one, x in zip(same, [tg.ones((1, 4)), tg.ones((1, 5))]):
    one.apply(x)
k = which
same[k].apply(tg.ones((1, 5)))
mixed = [Base(4), Small(5)]
mixed[k].apply(tg.ones((1, 5)))
scales = [Wide(4, 8, scale) for scale in (0.5, 2.0)]
for wide in scales:
    wide(tg.ones((2, 4))) @ tg.ones((8, 1))
grow = [Wide(4, 8)]
grow.append(Wide(5, 8))
grow[k](tg.ones((2, 5)))
swap = [Wide(4, 8), Wide(4, 9)]
swap[1] = Wide(5, 9)
swap[k](tg.ones((2, 5)))
previous: Wide | None = None
for wide in [Wide(4, 8), Wide(8, 3), Wide(16, 2)]:
    if previous is not None:
        wide(previous(tg.ones((2, previous.inputs))))
    previous = wide
""",
    "objects of one class in lists that loops make": """
class Wide(nn.Module):
    def __init__(self, inputs: int, width: int, scale: float = 1.0) -> None:
        self.up = nn.Linear(inputs, width)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

for epoch in range(3):
    models = [Wide(4, 8, s) for s in (0.1, 0.2)]
    best = models[epoch % 2]
    best(tg.ones((2, 4))) @ tg.ones((8, 1))
    mixed = [Wide(4 + k, 8 + k) for k in range(2)]
    one = mixed[epoch % 2]
    one(tg.ones((2, 4 + epoch % 2)))
    first = mixed[0]
    first(tg.ones((2, 4))) @ tg.ones((8, 1))
    second = mixed[1]
    second(tg.ones((2, 5)))
    models.append(Wide(5, 8))
    last = models[-1]
    last(tg.ones((2, 5)))
    h = tg.ones((2, 4 + epoch))
    w = Wide(4 + epoch, 5 + epoch)
    h = w(h)
    h = Wide(5 + epoch, 2)(h)

def run(sizes: list[int]) -> None:
    x = tg.ones((2, sizes[0]))
    for a, b in zip(sizes, sizes[1:]):
        several = [Wide(a, b, s) for s in (0.1, 0.2)]
        chosen = several[a % 2]
        x = chosen(x)
    for size in sizes:
        pair = [Wide(size, size + 1), Wide(size + 1, 3)]
        pair[1](pair[0](tg.ones((2, size))))
        held = pair[size % 2]
        held(tg.ones((2, size + size % 2)))
run([3, 5, 7])
""",
    "a tensor that each call of a method replaces with a longer one": """
class History:
    def __init__(self, width: int) -> None:
        self.rows = tg.zeros((1, width))

    def add(self, row: Tensor) -> Tensor:
        self.rows = tg.concat([self.rows, row[None]])
        return self.rows

    def weights(self) -> Tensor:
        return self.rows @ tg.ones((self.rows.shape[1], 2))

    def clear(self, width: int) -> None:
        self.rows = tg.zeros((1, width))

def filled(width: int) -> tuple[History, int]:
    history = History(width)
    for _ in range(2):
        history.add(tg.ones((width,)))
    return history, width

history, _ = filled(4)
history.add(tg.ones((4,)))
tg.ones((2, 4)) @ history.weights()
for _ in range(2):
    other, width = filled(3)
    tg.ones((2, 3)) @ other.weights()
    other.clear(5)
    other.add(tg.ones((5,))) @ tg.ones((5, 1))
    tg.ones((2, 2)) @ other.weights()
""",
    "a configuration that one of several functions behind a star changes": """
class Net(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        self.up = nn.Linear(config["width"], 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

def double(x: Tensor, other: Any, config: Any) -> None:
    config["width"] = 2 * config["width"]

def double_any(*several: Any) -> None:
    several[-1]["width"] = 2 * several[-1]["width"]

first = {"width": 4}
double(*(tg.ones((2, 4)), 1), first)
Net(first)(tg.ones((2, 8)))
second = {"width": 4}
double_any(*[tg.ones((2, 4)), 1], second)
Net(second)(tg.ones((2, 8)))
""",
    "attributes that a method replaces whose body is not read to its end": """
class Scaler:
    def __init__(self) -> None:
        self.mean = tg.zeros((6,))

    def fit(self, x: Tensor) -> None:
        global calls
        self.mean = x.mean(axis=0)
        calls = 1
        self.mean = x[0, :1]

    def apply(self, x: Tensor) -> Tensor:
        return x - self.mean

calls = 0
scaler = Scaler()
scaler.fit(tg.ones((4, 6)))
scaler.apply(tg.ones((2, 3)))
""",
    "attributes that a method replaces with a tensor of another shape": """
class Ridge:
    def __init__(self) -> None:
        self.weights = tg.zeros((1, 6))
        self.mean = tg.zeros((1,))

    def fit(self, x: Tensor, y: Tensor) -> None:
        self.mean = x.mean(axis=0)
        self.weights = x.T @ y

    def predict(self, x: Tensor) -> Tensor:
        return (x - self.mean) @ self.weights

    def shift(self, by: Tensor) -> None:
        self.mean = by

class Fixed:
    def __init__(self) -> None:
        self.weights = tg.zeros((1, 6))

    def predict(self, x: Tensor) -> Tensor:
        return x @ self.weights

def prepare(fixed: Fixed, x: Tensor) -> None:
    fixed.weights = x.T

x, y = tg.ones((4, 6)), tg.ones((4, 1))
ridge = Ridge()
ridge.fit(x, y)
ridge.predict(x) @ tg.ones((1, 2))
ridge.fit(x[:, :3], y)
ridge.predict(x[:, :3])
ridge.shift(tg.ones((3,)))
ridge.predict(tg.ones((2, 3)))
fixed = Fixed()
prepare(fixed, tg.ones((2, 6)))
fixed.predict(x)
""",
    "configurations in a text that a program changes, or whose numbers a parser changes": """
TEXT = '{"width": 4, "sizes": [4, 8], "inner": {"width": 3}}'
OTHER = '{"width": 4}'
if len(sys.argv) < 50:
    OTHER = '{"width": 5}'
AGAIN = TEXT
AGAIN = AGAIN.replace("4", "5")

def change(options: Any) -> None:
    options["width"] = 9

def main() -> None:
    first, second, third, fourth = json.loads(TEXT), json.loads(TEXT), json.loads(TEXT), json.loads(TEXT)
    first["width"] = 8
    nn.Linear(first["width"], 2)(tg.ones((3, 8)))
    second["sizes"].append(3)
    second["sizes"][0] = 5
    nn.Linear(second["sizes"][0], 2)(tg.ones((3, 5)))
    inner = third["inner"]
    inner["width"] = 7
    nn.Linear(third["inner"]["width"], 2)(tg.ones((3, 7)))
    change(fourth)
    nn.Linear(fourth["width"], 2)(tg.ones((3, 9)))

options = json.loads(TEXT)
sizes = options["sizes"]
sizes.reverse()
nn.Linear(options["sizes"][0], 2)(tg.ones((3, 8)))
alias = options
alias["width"] = 11
nn.Linear(options["width"], 2)(tg.ones((3, 11)))
nn.Linear(json.loads(OTHER)["width"], 2)(tg.ones((3, 5)))
nn.Linear(json.loads(AGAIN)["width"], 2)(tg.ones((3, 5)))
nn.Linear(json.loads(TEXT, parse_int=lambda digits: 2 * int(digits))["width"], 2)(tg.ones((3, 8)))
main()
""",
    "numbers of a configuration that may be others": """
import numpy as np

config = json.loads('{"count": 7, "rows": 3}')
if len(sys.argv) < 50:
    config["count"] = 5
other = json.loads('{"count": 7}')

def changed(count: Any) -> None:
    count = 2 * count
    tg.tensor(np.ones(count)) @ tg.ones((14,), np.float64)
    for _ in range(2):
        count = count + 1
    tg.tensor(np.ones(count)) @ tg.ones((16,), np.float64)

def main() -> None:
    rng = np.random.default_rng(0)
    tg.tensor(np.ones(config["count"])) @ tg.ones((5,), np.float64)
    tg.one_hot(tg.tensor(rng.permutation(config["count"])), config["count"]) @ tg.ones((5, 2))
    other["count"] = 4
    tg.one_hot(tg.tensor(rng.choice(other["count"], size=other["count"])), 4) @ tg.ones((4, 2))

main()
changed(other["count"] + 3)  # which is 4 now
""",
    "a list for any number of parameters": """
def joined(x: Tensor, *parts: Tensor) -> Tensor:
    return tg.concat((x, *parts), axis=1)

parts = [tg.ones((2, 3)), tg.ones((2, 4))]
joined(*parts) @ tg.ones((7, 2))
joined(tg.ones((2, 1)), *parts, tg.ones((2, 9)), *parts) @ tg.ones((24, 2))
""",
    "functions without tensors that call others for several models": """
def scored(model: MLP, x: Tensor) -> Tensor:
    return model(x)

def report(model: MLP, rows: int) -> float:
    return float(scored(model, tg.ones((rows, 8))).mean())

report(MLP(Config()), 4)
wide = MLP(Config())
wide.up = nn.Linear(8, 5)
report(wide, 3)

def chosen(is_wide: bool) -> None:
    model = MLP(Config(width=9)) if is_wide else MLP(Config())
    if not is_wide:
        report(model, 2)

chosen(False)
""",
    "weights of layers that are replaced": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.table = nn.Embedding(7, width)
        self.other = nn.Linear(width, 3)

    def forward(self, ids: Tensor) -> Tensor:
        return self.other(self.table(ids))

def similar(net: Net, size: int) -> Tensor:
    return net.table.weight @ tg.ones((size, 2))

def widened(net: Net, width: int) -> None:
    net.table = nn.Embedding(7, width)

def chosen(is_wide: bool) -> None:
    net = Net(5) if is_wide else Net(4)
    (net.other.weight.T @ tg.ones((5, 2))).sum()

net = Net(4)
widened(net, 6)
similar(net, 6)
chosen(True)
""",
    "weights that are replaced": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.table = nn.Embedding(7, width)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids)

def similar(net: Net, size: int) -> Tensor:
    return net.table.weight @ tg.ones((size, 2))

def widened(layer: nn.Embedding[Any, Any], width: int) -> None:
    layer.weight = nn.Param(tg.ones((7, width)))

net = Net(4)
widened(net.table, 6)
similar(net, 6)
""",
    "lengths that are no longer those of what they were read from": """
import numpy as np
from numpy.typing import NDArray

def batches(x: NDArray[np.float64], size: int) -> None:
    n = len(x)
    x = x[:6]
    for i in range(0, n, size):
        part = tg.tensor(x[i : i + size])
        if len(part) == size:
            part.T @ tg.ones((size, 1), np.float64)

def halves(x: NDArray[np.float64]) -> None:
    for rows in (x, x[:4]):
        n = len(rows)
        for i in range(0, n, 4):
            tg.tensor(rows[i : i + 4]).T @ tg.ones((4, 1), np.float64)

def longer(sizes: list[int]) -> Tensor:
    n = len(sizes)
    sizes.append(4)
    return tg.ones((n,)) @ tg.ones((len(sizes) - 1,))

x = np.ones((12, 3))
batches(x, 4)
halves(x)
longer([3, 4])
widths = [3, 4]
count = len(widths)
widths.append(5)
tg.ones((count,)) @ tg.ones((2,))
""",
    "methods of named tuples that may be of another class": """
class Rollout(NamedTuple):
    seen: Tensor
    scores: Tensor

    def rows(self, count: int) -> "Rollout":
        return Rollout(*(field[:count] for field in self))

    def known(self) -> "Rollout":
        return Rollout(*(field if field.ndim > 1 else field[:2] for field in self if field is not None))

class Whole(Rollout):
    def rows(self, count: int) -> Rollout:
        return self

def collected(count: int, is_whole: bool) -> Rollout:
    seen = tg.ones((count, 8))
    if is_whole:
        return Whole(seen, seen)
    return Rollout(seen, seen[:, 0])

def joined(x: Tensor, *others: Tensor) -> Tensor:
    return tg.concat((x, *others), axis=0)

def main() -> None:
    whole = collected(5, True)
    whole.rows(2).seen.T @ tg.ones((5, 1))
    part = collected(5, False)
    for count in (4, 3):
        part = part.rows(count)
    part.seen.T @ tg.ones((3, 1))
    part.scores @ tg.ones((3, 1))
    part.known().scores @ tg.ones((2, 1))
    pair = tg.ones((2, 3)), tg.ones((4, 3))
    joined(*(one + 1 for one in pair)).T @ tg.ones((6, 1))
    joined(tg.ones((1, 3)), *(one[:1] for one in pair)).T @ tg.ones((3, 1))

main()
""",
    "a model that a function chooses by a flag": """
class Head(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

def either(x: Tensor, flag: bool) -> Head:
    if flag:
        return Head(4)
    return Head(x.shape[0])

either(tg.ones(3), len(sys.argv) > 0)(tg.ones((2, 4)))
""",
    "lists of tensors of declared sizes that are given lists of sizes that may be equal": """
from typing import Literal as L
from tapegrad import NoneTape, Shape

Row = Tensor[Shape[L[8]], NoneTape]

def given(rows: list[Row], by_name: dict[str, list[Row]]) -> int:
    return len(rows) + len(by_name)

def made(n: int) -> list[Row]:
    out = [tg.ones(n) for _ in range(3)]
    return out

def run(n: int, m: int) -> None:
    rows = [tg.ones(n)]
    named = {"rows": rows}
    steps: list[Row] = []
    steps = rows
    steps.append(tg.ones(m))
    pairs: list[tuple[Row, int]] = [(tg.ones(n), 1)]
    pairs.append((tg.ones(m), 2))
    others = [tg.ones(2 * m)]
    same: list[Row] = others
    given(rows, named)
    print(steps, pairs, same)

run(8, 4) if len(sys.argv) > 50 else made(8)
""",
    "arrays in attributes that are computed from themselves": """
import numpy as np
from numpy.typing import NDArray

class Walk:
    def __init__(self, width: int) -> None:
        self.pair = np.ones(2)
        self.width = width
        self.other = np.ones(2)
        self.seen = np.ones(3)

    def step(self) -> NDArray[np.float64]:
        x, y = self.pair[:2]
        self.pair = np.concatenate([self.pair, np.array([x + y])])
        return self.pair

    def swap(self, other: "Walk") -> NDArray[np.float64]:
        self.other = np.concatenate([other.other, other.seen])
        return self.other

    def look(self) -> NDArray[np.float64]:
        self.seen = self.seen[:-1]
        return self.seen

def main() -> None:
    walk = Walk(3)
    tg.tensor(walk.step()) @ tg.ones((3,), np.float64)
    tg.tensor(walk.step()) @ tg.ones((4,), np.float64)
    tg.tensor(walk.swap(Walk(4))) @ tg.ones((5,), np.float64)
    tg.tensor(walk.look()) @ tg.ones((2,), np.float64)
    tg.tensor(walk.seen) @ tg.ones((2,), np.float64)

main()
""",
    "arrays that change their shape in a loop": """
import numpy as np

def main(is_short: bool) -> None:
    longer, shorter, one, other, reset = np.ones(4), np.ones(4), np.ones(4), np.ones(3), np.ones(4)
    total = 0.0
    for _ in range(3):
        longer = np.concatenate([longer, np.ones(2)])
        shorter = shorter[1:]
        one, other = other, one
        total = total + np.ones(5)
        reset = reset + 1
        if is_short:
            reset = np.ones(3)
    tg.tensor(longer) @ tg.ones((10,), np.float64)
    tg.tensor(shorter) @ tg.ones((1,), np.float64)
    tg.tensor(one) @ tg.ones((3,), np.float64)
    tg.tensor(reset) @ tg.ones((3,), np.float64)
    tg.tensor(total) @ tg.ones((5,), np.float64)

main(True)
""",
    "a model that a block with a seed may make": """
from collections.abc import Iterator
from contextlib import contextmanager, suppress

@contextmanager
def wide(widths: list[int]) -> Iterator[None]:
    yield
    widths.append(7)

def suppressed() -> tuple[MLP, Tensor]:
    model = MLP(Config(7))
    with suppress(ValueError), tg.random(0):
        int("seven")
        model = MLP(Config(4))
    return model, tg.ones((3, 7))

def changed() -> tuple[MLP, Tensor]:
    widths = [4]
    with wide(widths):
        widths.append(5)
    return MLP(Config(widths[-1])), tg.ones((3, 7))

def chosen(is_wide: bool) -> tuple[MLP, Tensor]:
    with tg.random(0):
        model = MLP(Config(4))
        if is_wide:
            model = MLP(Config(7))
    return model, tg.ones((3, 7))

def left(is_wide: bool) -> tuple[MLP, Tensor]:
    for width in [7, 4]:
        with tg.random(0):
            if is_wide:
                break
    return MLP(Config(width)), tg.ones((3, 7))

def of_targets() -> tuple[MLP, Tensor]:
    rng = 4
    with tg.random(0) as rng:
        pass
    return MLP(Config(7 if isinstance(rng, object) else 4)), tg.ones((3, 7))

def main() -> None:
    for model, rows in (suppressed(), changed(), chosen(True), left(True), of_targets()):
        model(rows)
    one, rows = suppressed()
    one(rows)
    two, rows = changed()
    two(rows)
    three, rows = chosen(True)
    three(rows)
    four, rows = left(True)
    four(rows)
    five, rows = of_targets()
    five(rows)

main()
""",
    "a function with known tensors that gets a model": """
from typing import Literal as L
from typing import TypeVar
from tapegrad import NoneTape, Shape

N = TypeVar("N", bound=int)

class Named(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.up(x), x

    def total(self, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
        return self.scores(x)[0].sum().item() if self.up.weight.shape[0] == 4 else 0.0

class Wide(Named):
    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.up(tg.concat([x, x], axis=1)), x

def total(model: Named, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
    return model.scores(x)[0].sum().item()

def rebound(model: Named, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
    model = Named(4)
    return model.scores(x)[0].sum().item()

def replaced(model: Named, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
    model.up = nn.Linear(4, 3)
    return model.scores(x)[0].sum().item()

def chosen(model: Named, x: Tensor[Shape[N, L[4]], NoneTape]) -> float:
    if x.shape[0] == 7:
        return model.scores(x)[0].sum().item()
    return 0.0

def main(is_wide: bool) -> None:
    x = tg.ones((5, 4))
    total(Wide(8), x)
    total(Wide(8) if is_wide else Named(4), x)
    rebound(Named(3), x)
    replaced(Named(3), x)
    chosen(Named(3), x)
    Wide(8).total(x)
    Named(3).total(x)

main(True)
""",
    "collections that functions make and a program changes": """
SHARED = {"width": 4}
COUNT = [3]

def shared() -> dict[str, int]:
    return SHARED

def counted() -> list[int]:
    COUNT[0] += 1
    return [COUNT[0] + 1]

def plain() -> dict[str, int]:
    return {"width": 4}

@dataclass
class Made:
    shared: dict[str, int] = field(default_factory=shared)
    counted: list[int] = field(default_factory=counted)
    plain: dict[str, int] = field(default_factory=plain)

SHARED["width"] = 5

class Head(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

def change(options: dict[str, int]) -> None:
    options["width"] = 5

def main(x: Tensor, is_wide: bool) -> None:
    made = Made()
    Head(made.shared["width"])(x)
    Head(made.counted[0])(x)
    made.plain["width"] = 5
    Head(made.plain["width"])(x)
    other = Made()
    change(other.plain)
    Head(other.plain["width"])(x)
    third = Made()
    options = third.plain
    options["width"] = 5
    Head(third.plain["width"])(x)
    returned = plain()
    if is_wide:
        returned["width"] = 5
    Head(returned["width"])(x)
    first = plain()
    second = first
    change(second)
    Head(first["width"])(x)

main(tg.ones((2, 5)), True)
""",
    "perhaps fewer rows than a batch has": """
from tapegrad import data

class Rows:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        return tg.ones((2,))

def run(flag: bool, n: int) -> None:
    x = tg.ones((2, 3))
    data.batches(x, size=4, drop_last=flag)
    data.batches(x, tg.ones((2,)), size=4, drop_last=False)
    data.batches(tg.ones((n, 3)), size=n)
    data.batches(tg.ones((6, 3))[n:], size=n)
    data.batches(Rows(), size=4)
    size = 4
    if n < 4:
        size = 2
    data.batches(x, size=size)
    for size in (1, 2):
        data.batches(x, size=size)
    rows = x
    for _ in range(n):
        rows = tg.concat([rows, rows])
    data.batches(rows, size=8)
    if n == 3:
        rows = tg.ones((9, 3))
    data.batches(rows, size=9)

run(False, 3)
""",
    "data sets that a program changes": """
from sklearn import datasets  # type: ignore[import-untyped]
from sklearn.datasets import load_iris  # type: ignore[import-untyped]

class Own:
    def __init__(self) -> None:
        self.data = tg.ones((5, 2)).numpy()

def load_wine() -> Own:
    return Own()

def halve(of: Any) -> None:
    of.data = of.data[:75]

def main(is_short: bool) -> None:
    half = tg.ones((1, 75), tg.tensor(load_iris().data).dtype)
    changed = load_iris()
    changed.data = changed.data[:75]
    half @ tg.tensor(changed.data)
    passed = load_iris()
    halve(passed)
    half @ tg.tensor(passed.data)
    first = load_iris()
    second = first
    second.data = second.data[:75]
    half @ tg.tensor(first.data)
    named = load_iris()
    setattr(named, "data", named.data[:75])
    half @ tg.tensor(named.data)
    chosen = load_iris()
    if is_short:
        chosen = Own()
    tg.tensor(chosen.data) @ tg.ones((2, 1), tg.tensor(chosen.data).dtype)
    tg.tensor(load_wine().data) + tg.ones((5, 2))
    few = datasets.load_digits(n_class=3)
    tg.tensor(few.target) + tg.ones((len(few.data),), tg.tensor(few.target).dtype)
    x, y = datasets.load_digits(n_class=2, return_X_y=True)
    tg.tensor(x).sum(axis=1) + tg.ones((360,), tg.tensor(x).dtype)

main(True)
""",
    "the length of a text that may be another one": """
LETTERS = "abc"
LETTERS += "de"
KNOWN = "ab" if len(sys.argv) > 5 else "abcde"
WORD = sys.argv[0][:0] + "abcde"

class Net(nn.Module):
    def __init__(self, words: int) -> None:
        self.table = nn.Linear(words, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x)

def run(text: str = "abc") -> None:
    Net(len(text))(tg.ones((2, 5)))
    for letter in "abcdefghij":
        Net(len(letter))(tg.ones((2, 1)))
        Net(ord(letter))(tg.ones((2, ord(letter))))

for one in LETTERS, KNOWN, WORD:
    Net(len(one))(tg.ones((2, 5)))
Net(len(LETTERS))(tg.ones((2, 5)))
Net(len(KNOWN))(tg.ones((2, 5)))
Net(len(WORD))(tg.ones((2, 5)))
run("abcde")
""",
    "parts of which only some are known": """
from collections.abc import Iterator

class Parts(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor, y: Tensor, several: list[Tensor]) -> Tensor:
        signal, gate = tg.split(y, 2, axis=1)
        head, *tail = [*several, x]
        tail += [signal]
        tail[0] = x
        first, second = several
        second = second.sum(axis=0)
        left, right = pairs(x)
        for one, other in [tg.split(y, 2), tg.split(several[1], 2)]:
            print(one + other)
        print(second + tg.ones((3,)), left.sum(axis=1), right.sum(axis=0), tail[1].sum(axis=1))
        return self.up(x) + head.sum() + first.sum() + gate.sum() + tail[0].sum(axis=1).sum()

def pairs(x: Tensor) -> Iterator[Tensor]:
    yield x
    yield x.sum(axis=0)

y = tg.tensor(json.loads("[[1.0, 2.0], [3.0, 4.0]]"))
Parts(4)(tg.ones((2, 4)), y, [tg.ones(()), tg.ones((2, 3))])
""",
    "arrays of type Any that may be others": """
import numpy as np
from numpy.typing import NDArray

def scaled(x: NDArray[np.float64], scale: float) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (np.sign(x) * scale).astype(np.float32)
    return scaled

def made(count: int, other: Any, flag: bool) -> Tensor:
    wave = 0.6 * np.sin(np.arange(count)[:, None] * np.arange(4) + 1.0)
    if flag:
        wave = other
    rows: Any = np.zeros((count, 3))
    rows.resize((count, 4))
    some = tg.tensor(scaled(other, 2.0)) @ tg.ones((4, 3))
    for _ in range(2):
        last = tg.tensor(scaled(rows[:, :4], 2.0))
        rows = np.concatenate([rows, rows], axis=1)
    return some + last @ tg.ones((4, 3)) + tg.tensor(scaled(wave, 0.5)) @ tg.ones((4, 3))

made(3, np.zeros((3, 4)), len(sys.argv) > 5)
made(3, np.zeros((1, 4)), True)
""",
    "options that a function gets, which may change": """
SIZES = {"points": 4, "width": 6}
LISTS: dict[str, Any] = {"widths": [4, 6], "names": []}

def drawn(points: int, width: int, seed: int = 0) -> Tensor:
    return tg.ones((points, width))

def extended(widths: list[int], names: list[str]) -> Tensor:
    widths.append(5)
    return tg.ones((2, widths[-1]))

def changed() -> None:
    options = {"points": 4, "width": 6}
    options["width"] = 5
    print(drawn(**options) @ tg.ones((5, 3)))
    others = {**SIZES, "width": 5} if len(sys.argv) < 5 else SIZES
    print(drawn(**others) @ tg.ones((5, 3)))
    for width in 4, 5:
        others["width"] = width
    print(drawn(**others, seed=1) @ tg.ones((5, 3)))
    same = options
    same["points"] = 3
    print(drawn(**options).T @ tg.ones((3, 3)))

def main(sizes: list[int]) -> None:
    print(extended(**LISTS) @ tg.ones((5, 3)))
    print(tg.ones((2, LISTS["widths"][-1])) @ tg.ones((5, 3)))
    sizes[1] = 5
    print(drawn(*sizes) @ tg.ones((5, 3)))

SIZES.update(width=5)
print(drawn(**SIZES) @ tg.ones((5, 3)))
changed()
main([4, 6])
""",
    "models of two classes in one variable": """
def run(many: bool) -> None:
    model: nn.Module = nn.Linear(8, 3)
    if many:
        model = nn.Linear(5, 3)
    assert isinstance(model, nn.Linear)
    model(tg.ones((2, 5 if many else 8)))

run(many=True)
run(many=False)
""",
    "a vocabulary that grows": """
class Vocabulary:
    def __init__(self) -> None:
        self.words = ["<pad>"]

    def add(self, word: str) -> None:
        self.words.append(word)

    def __len__(self) -> int:
        return len(self.words)

WORDS = Vocabulary()
WORDS.add("one")
nn.Linear(len(WORDS), 3)(tg.ones((4, 2)))
""",
    "an operation on a tensor and what may be no number": """
NUMBERS = '{"classes": 2, "scale": 0.5, "rows": [[1.0], [2.0], [3.0]]}'

def picked(labels: Tensor, scores: Tensor) -> Tensor:
    return scores + labels

def given(factor: Any, x: Tensor) -> Tensor:
    y = x * factor
    return picked(y, tg.ones((3, 4)))

def main(flag: bool) -> None:
    config = json.loads(NUMBERS)
    config["scale"] = tg.ones((3, 1))
    scaled = tg.ones((4,)) * config["scale"]
    picked(scaled, tg.ones((3, 4)))
    rows = tg.ones((1,)) * tg.tensor(config["rows"])
    picked(rows, tg.ones((3, 4)))
    classes = config["classes"]
    wanted = tg.ones((5,)) * classes
    if flag:
        wanted = tg.ones((4,)) * classes
        picked(wanted, tg.ones((3, 4)))
    x = tg.ones((5,))
    later = x * classes
    for _ in range(2):
        x = tg.ones((3, 4))
        last = x * classes
        x = tg.ones((5,))
        picked(last, tg.ones((3, 4)))
    picked(later, tg.ones((3, 5)))
    factor = config["classes"]
    if flag:
        factor = tg.ones((3, 1))
    either = tg.ones((4,)) * factor
    picked(either, tg.ones((3, 4)))
    several = json.loads("[2, 3]")
    picked(tg.ones((4,)) * several[0], tg.ones((3, 4)))
    given(config["scale"], tg.ones((4,)))
    given(2, tg.ones((3, 1)))

main(len(sys.argv) < 50)
""",
    "tensors of objects that may be others": """
class Schedule:
    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.betas = tg.ones((steps,))
        self.replaced = tg.ones((steps,))
        if steps > 4:
            steps = 4
        self.limited = tg.ones((steps,))

    def cut(self) -> None:
        self.replaced = self.replaced[:1]

class Longer(Schedule):
    def __init__(self, steps: int) -> None:
        super().__init__(2 * steps)
        self.own = tg.ones((steps,))

class Table:
    def __init__(self, rows: int) -> None:
        self.rows = tg.ones((rows, 1))

def added(plan: Schedule, x: Tensor) -> Tensor:
    return x + plan.betas

def limited(plan: Schedule, x: Tensor) -> Tensor:
    return x + plan.limited

def main(flag: bool) -> None:
    plan = Schedule(3) if flag else Schedule(4)
    added(plan, tg.ones((2, 3)))
    for one, x in [(Schedule(5), tg.ones((5,))), (Schedule(6), tg.ones((6,)))]:
        added(one, x)
    added(Longer(3), tg.ones((2, 6)))
    limited(Schedule(6), tg.ones((2, 4)))
    short = Schedule(6)
    short.cut()
    print(short.replaced + tg.ones((2, 4)))
    tables = Table(3), Table(5)
    for table in tables:
        print(table.rows + tg.ones((table.rows.shape[0], 2)))
    table = Table(3)
    table.rows = tg.ones((4, 1))
    print(table.rows + tg.ones((4, 4)))
    last = Schedule(3)
    last = Schedule(5) if flag else last
    print(last.betas + tg.ones((5,)))

main(len(sys.argv) < 50)
""",
    "what is computed from a comparison with a number of type Any": """
import numpy as np

def embedded(layer: nn.Embedding[Any, Any], ids: Tensor) -> Tensor:
    return layer(ids)

def main(flag: bool) -> None:
    config = json.loads('{"share": 0.2, "rows": 3, "several": [0.5, 0.5]}')
    table, rng = nn.Embedding(3, 4), np.random.default_rng(0)
    mask = rng.random((config["rows"], 2)) < config["share"]
    embedded(table, tg.tensor(mask * 1))
    embedded(table, tg.tensor(mask.astype(np.int64)))
    embedded(table, tg.tensor(rng.random(2) < config["several"]).astype(np.int64))
    chosen = mask if not flag else rng.integers(0, 3, 5)
    embedded(table, tg.tensor(chosen))
    if flag:
        mask = rng.integers(0, 3, 5)
    embedded(table, tg.tensor(mask))

main(len(sys.argv) < 50)
""",
    "arrays of tuples that may be fewer": """
import numpy as np

def table(pairs: list[tuple[int, int]], named: dict[str, tuple[int, int]]) -> None:
    tg.tensor(np.array(pairs), np.float32) @ tg.ones((len(pairs), 3))
    found = np.array(list(named.values()), np.float32)
    tg.tensor(found) @ tg.ones((found.shape[-1], 3))
    named["more"] = (5, 6)
    tg.ones((2, len(named))) @ tg.tensor(np.array(list(named.values())), np.float32)

WORDS = {"up": (5, 25), "down": (25, 5)}
ROWS = [(1, 2)]

def grow() -> None:
    WORDS["stop"] = (1, 1)
    ROWS.append((3, 4))

grow()
table([(1, 2), (3, 4)], WORDS)
tg.ones((4, 4)) @ tg.tensor(np.array(list(WORDS.values())), np.float32)
tg.ones((3, 2)) @ tg.tensor(np.array([*ROWS]), np.float32)
tg.ones((3, 2)) @ tg.tensor(np.array(list(ROWS)), np.float32)
tg.ones(0) @ tg.tensor(np.array([pair for pair in {"a": (1, 2)}.values() if pair[0] > 1]), np.float32)
""",
    "tapers of no samples": """
import numpy as np

def taper(n: int) -> Tensor:
    return tg.ones(max(n, 0)) + tg.tensor(np.hanning(n), np.float32)

taper(5)
taper(0)
""",
    "arrays given to constructors that may have another shape": """
from typing import Any
import numpy as np

class Films:
    def __init__(self, films: int) -> None:
        self.genres = np.zeros((films, 5), np.float32)

    def drop(self) -> None:
        self.genres = self.genres[:, 1:]

class Ranking(nn.Module):
    def __init__(self, genres: np.ndarray[Any, np.dtype[np.float32]], width: int) -> None:
        genres = genres[:, :width]
        self.genres = nn.Buffer(tg.tensor(genres))
        self.rows = tg.tensor(genres)

    def replace(self, rows: Tensor) -> None:
        self.rows = rows

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.genres.T

class Table:
    def __init__(self, rows: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        self.rows = tg.tensor(rows)
        self.buffer = nn.Buffer(tg.tensor(rows))

    def replace(self, rows: Tensor) -> None:
        self.rows = rows
        self.buffer = nn.Buffer(rows)

def run(flag: bool) -> None:
    films = Films(4)
    films.drop()
    Ranking(films.genres, 4)(tg.ones((2, 4)))
    ranking = Ranking(np.ones((4, 5), np.float32), 3)
    ranking(tg.ones((2, 3)))
    ranking.replace(tg.ones((6, 7)))
    ranking.rows @ tg.ones((7, 2))
    table = Table(np.ones((4, 5), np.float32))
    table.replace(tg.ones((6, 7)))
    table.rows @ tg.ones((7, 2)) + table.buffer @ tg.ones((7, 2))
    few = Films(4)
    if flag:
        few = Films(3)
    other = Table(few.genres)
    other.rows + tg.ones((len(few.genres), 5))
    tg.ones(len(few.genres)) @ other.buffer

run(flag=True)
run(flag=False)
""",
    "a list of sizes that functions change or pass on": """
from typing import Any
import numpy as np

ALL: list[list[int]] = []

def tower(hidden: list[int]) -> nn.Linear[Any, Any]:
    return nn.Linear(3, hidden[0])

def assigned(hidden: list[int]) -> nn.Linear[Any, Any]:
    hidden[0] = 5
    return nn.Linear(3, hidden[0])

def passed(hidden: list[int]) -> nn.Linear[Any, Any]:
    return assigned(hidden)

def longer(hidden: list[int]) -> nn.Linear[Any, Any]:
    rest = hidden
    rest.insert(0, 5)
    return nn.Linear(3, hidden[0])

def stored(hidden: list[int]) -> nn.Linear[Any, Any]:
    ALL.append(hidden)
    return nn.Linear(3, hidden[0])

def same(hidden: list[int]) -> list[int]:
    return hidden

class Assigned(nn.Module):
    def __init__(self, options: dict[str, Any]) -> None:
        rng = np.random.default_rng(1)
        self.first = assigned(options["hidden"])
        self.second = tower(options["hidden"])

class Passed(nn.Module):
    def __init__(self, hidden: list[int]) -> None:
        rng = np.random.default_rng(1)
        self.first = passed(hidden)
        self.second = tower(hidden)

class Longer(nn.Module):
    def __init__(self, hidden: list[int]) -> None:
        rng = np.random.default_rng(1)
        self.first = longer(hidden)
        self.second = tower(hidden)

class Stored(nn.Module):
    def __init__(self, hidden: list[int]) -> None:
        rng = np.random.default_rng(1)
        self.first = stored(hidden)
        ALL[-1][0] = 5
        self.second = tower(hidden)

class Returned(nn.Module):
    def __init__(self, hidden: list[int]) -> None:
        rng = np.random.default_rng(1)
        other = same(hidden)
        other[0] = 5
        self.first = self.second = tower(hidden)

Assigned({"hidden": [7, 8]}).second(tg.ones((2, 3))) @ tg.ones((5, 2))
Passed([7, 8]).second(tg.ones((2, 3))) @ tg.ones((5, 2))
Longer([7, 8]).second(tg.ones((2, 3))) @ tg.ones((5, 2))
Stored([7, 8]).second(tg.ones((2, 3))) @ tg.ones((5, 2))
Returned([7, 8]).second(tg.ones((2, 3))) @ tg.ones((5, 2))
""",
    "arrays in attributes whose elements may be masks": """
from typing import Any
import numpy as np

class Rows:
    def __init__(self, count: int, flag: bool) -> None:
        self.index: Any = np.arange(count)
        self.part: Any = np.arange(count)
        if flag:
            self.index = np.arange(count) > 1

    def narrow(self) -> None:
        self.part = self.part > 1

def run(flag: bool) -> None:
    table, rows = np.ones((4, 3), np.float32), Rows(4, flag)
    rows.narrow()
    n = 2 if flag else 4
    tg.ones(n) @ tg.tensor(table[rows.index])
    tg.ones(2) @ tg.tensor(table[rows.part])
    rng = np.random.default_rng(0)
    tg.ones((2, 3)) + tg.tensor(rng.choice(table, 2))
    tg.ones((2, 3)) + tg.tensor(rng.choice(table), np.float32)

run(flag=True)
run(flag=False)
""",
    "results declared as arrays that mypy takes for Any, of several sizes": """
import numpy as np

def directions(kind: str, axis: int | None) -> np.ndarray:
    found = np.ones((2, 3)) if axis == 0 else np.ones((3, 2))
    if kind:
        found /= np.linalg.norm(found)
    return found.ravel() if axis is None else found * 2.0

def rows(kind: str, count: int) -> np.ndarray:
    found = np.ones((4, 3))
    if kind:
        found /= np.linalg.norm(found)
    for _ in range(count):
        found = found[1:]
    return found * 2.0

tg.tensor(directions(sys.argv[-1], None if sys.argv else 0)).reshape((6,))
tg.tensor(directions(sys.argv[-1], len(sys.argv))).reshape((3, 2))
tg.tensor(rows(sys.argv[-1], 2)).reshape((2, 3))
""",
    "sizes that functions declare as int, and that may be several": """
from typing import Literal as L
from tapegrad import NoneTape, Shape

def rows(count: int) -> Tensor[Shape[int, L[2]], NoneTape]:
    if len(sys.argv) > 1:
        count += 1
    return tg.ones((count, 2))

def halves(x: Tensor[Shape[int, int], NoneTape], times: int) -> Tensor[Shape[int, int], NoneTape]:
    while len(x) > times:
        x = x[: len(x) // 2]
    return x

def longest(several: list[Tensor[Shape[int], NoneTape]]) -> Tensor[Shape[int], NoneTape]:
    best = several[0]
    for one in several:
        best = one if len(one) > len(best) else best
    return best

def fallen(x: Tensor[Shape[int], NoneTape]) -> Tensor[Shape[int], NoneTape]:
    return x if len(x) < 2 else fallen(x[1:])

rows(3 if len(sys.argv) == 1 else 2).reshape((2, 3))
halves(tg.ones((12, 3)), 5).reshape((9,))
longest([tg.ones((2,)), tg.ones((3,))]) + tg.ones((3,))
fallen(tg.ones((4,))).reshape(())
""",
    "arrays of branches that a call may take": """
import numpy as np

def points(kind: str, count: int, *, is_flat: bool) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "plane":
        found = rng.normal(size=(count, 2))
        if not is_flat:
            found = rng.normal(size=(count, 3))
    else:
        found = rng.normal(size=(count, 4))
    for one in sys.argv:
        if kind == "cube":
            found = rng.normal(size=(count, 5))
            kind = one
    return found + 1.0

tg.tensor(points("plane", 6, is_flat=not sys.argv)).reshape((6, 3))
tg.tensor(points("plane", 6, is_flat=True)).reshape((6, 2))
tg.tensor(points("cube", 6, is_flat=True)).reshape((6, 5))
for kind in ("plane", "cube"):
    tg.tensor(points(kind, 6, is_flat=True)).reshape((6, 2 if kind == "plane" else 5))
""",
}

COMPUTED = """
@dataclass
class Sizes:
    width: int = 8
    hidden: int | None = None
    half: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.width > 0
        self.half = self.width // 2
        if self.hidden is None:
            self.hidden = 3 * self.half

    @classmethod
    def small(cls) -> Sizes:
        return cls(width=4)

class Net(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        self.up = nn.Linear(sizes.half, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

"""
SURE = {
    "a dictionary that a generator fills and yields at each turn": """
from collections.abc import Iterator

import numpy as np

@dataclass
class Table:
    numbers: np.ndarray
    words: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.numbers)

def batches(table: Table, size: int, rng: np.random.Generator) -> Iterator[dict[str, Tensor]]:
    order = rng.permutation(len(table))
    for start in range(0, len(table) - size + 1, size):
        rows = order[start : start + size]
        batch = {name: tg.tensor(column[rows]) for name, column in table.words.items()}
        batch["numbers"] = tg.tensor(table.numbers[rows])
        yield batch

def train(table: Table) -> None:
    for batch in batches(table, 3, np.random.default_rng(0)):
        nn.Linear(4, 2)(batch["numbers"])  # here

def main() -> None:
    rng = np.random.default_rng(0)
    words = {name: rng.integers(0, count, size=9) for name, count in {"city": 4, "day": 7}.items()}
    train(Table(np.zeros((9, 5), np.float32), words))

main()
""",
    "the entries of a batch that a condition chooses, and that are traced": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 2)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return self.up(batch["x"])  # here

def main() -> None:
    model = Net(5)
    batch = {"x": tg.ones((3, 4)), "label": tg.arange(3)}
    traced = {name: x.trace() for name, x in batch.items() if name not in ("label", "weight")}
    model(traced)

main()
""",
    "the dtype of arrays that a loop over pairs unpacks": """
import numpy as np

def pair(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((size, size)).astype(np.float32), np.zeros((size, size), dtype=np.int64)

class Pairs:
    def __init__(self, count: int, size: int) -> None:
        pairs = [pair(size) for _ in range(count)]
        self.images = np.stack([image for image, _ in pairs])
        self.masks = np.stack([mask for _, mask in pairs])

    def mask(self, index: int) -> Tensor:
        return tg.tensor(self.masks[index])

def main(count: int) -> None:
    data = Pairs(count, 4)
    nn.Embedding(3, 2)(data.mask(0)) + tg.ones((4, 3, 2))  # here

main(5)
""",
    "a method that mypy checks after the statements that lead to it": """
import numpy as np

class Columns(NamedTuple):
    x: np.ndarray
    label: np.ndarray

    def rows(self, index: np.ndarray) -> "Columns":
        return Columns(self.x[index], self.label[index])

def train(data: Columns, rng: np.random.Generator | None = None) -> None:
    order = np.arange(len(data.x)) if rng is None else rng.permutation(len(data.x))
    for kind in ["first", "second"]:
        nn.Linear(4, 2)(tg.tensor(data.rows(order).x))  # here

def main() -> None:
    for width in [5, 6]:
        train(Columns(np.zeros((9, width), np.float32), np.zeros(9, np.int64)))

main()
""",
    "an attribute that a method computes by its variables, before mypy checks the method": """
import numpy as np

class Walk:
    def __init__(self) -> None:
        self.state = np.zeros(4)

    def step(self) -> np.ndarray:
        x, v, a, b = self.state
        force = v * 2.0
        self.state = np.array([x + force, v, a, b])
        return self.state.astype(np.float32)

def play(walk: Walk) -> None:
    nn.Linear(3, 2)(tg.tensor(walk.step()))  # here

def main() -> None:
    for walk in [Walk(), Walk()]:
        play(walk)

main()
""",
    "a model that a function initializes": """
def init(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        module.weight.assign(tg.zeros_like(module.weight))

class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

net = Net(5).apply(init)
net(tg.ones((2, 7)))
""",
    "the columns of a named tuple as a dictionary": """
import numpy as np

class Columns(NamedTuple):
    x: np.ndarray
    label: np.ndarray

    def rows(self, index: np.ndarray) -> "Columns":
        return Columns(self.x[index], self.label[index])

def train(data: Columns) -> None:
    batch = {name: tg.tensor(column) for name, column in data.rows(np.arange(3))._asdict().items()}
    nn.Linear(4, 2)(batch["x"])  # here

def main() -> None:
    train(Columns(np.zeros((9, 5), np.float32), np.zeros(9, np.int64)))

main()
""",
    "an array that is unpacked, before the variable is bound again": """
import numpy as np

def load(width: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((8, width), np.float32), np.zeros(8, np.float32)

def main(width: int) -> None:
    x, y = load(width)
    nn.Linear(4, 2)(tg.tensor(x))  # here
    x = (x - x.mean(axis=0)) / 2

main(5)
""",
    "arrays that are appended for the items of a tensor": """
import numpy as np

def main(count: int) -> None:
    rows = []
    for _ in tg.zeros((count, 3)).tolist():
        row, _ = np.zeros(4, np.float32), 1
        rows.append(row)
    tg.ones((3, 4)) + tg.tensor(np.stack(rows))  # here

main(5)
""",
    "the dtype of indices that are sorted and drawn": """
import numpy as np

class Data:
    def __init__(self, count: int, rng: np.random.Generator) -> None:
        order = np.argsort(rng.normal(size=(count, 6)), axis=1)[:, :4]
        order = rng.permuted(order, axis=1)
        self.pairs = np.stack([np.repeat(np.arange(count), 4), order.reshape(-1)], axis=1)

    def columns(self, index: np.ndarray) -> Tensor:
        first, second = self.pairs[index].T
        return tg.tensor(first % 5)

def main(count: int) -> None:
    data = Data(count, np.random.default_rng(0))
    nn.Embedding(5, 2)(data.columns(np.arange(3))) + tg.ones((4, 2))  # here

main(9)
""",
    "rows of a dataset that an array of indices chooses": """
from collections.abc import Iterator

import numpy as np

class Images:
    def __init__(self, count: int, size: int) -> None:
        self.images = np.zeros((count, size), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: np.ndarray) -> Tensor:
        return tg.tensor(self.images[index])

def loader(data: Images, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    order = rng.permutation(len(data))
    for start in range(0, len(data) - size + 1, size):
        yield data[order[start : start + size]]

def main(data: Images) -> None:
    for x in loader(data, 3, np.random.default_rng(0)):
        nn.Linear(5, 2)(x)  # here

main(Images(9, 4))
""",
    "a function that reaches tensors only by the items of a dataset": """
import numpy as np

class Rows:
    def __init__(self, count: int) -> None:
        self.rows = np.zeros((count, 4), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: np.ndarray) -> Tensor:
        return tg.tensor(self.rows[index])

def total(data: Rows) -> np.ndarray:
    rows = data[np.arange(len(data))]
    return np.asarray(rows.T @ tg.ones((7, 2)))  # here

total(Rows(6))
""",
    "dataclasses that a generator yields": """
from collections.abc import Iterator

@dataclass
class Graphs:
    nodes: Tensor
    targets: dict[str, Tensor]

def collate(sizes: list[int]) -> Graphs:
    return Graphs(tg.zeros((len(sizes), max(sizes), 9)), {"size": tg.tensor(sizes)})

def loader(sizes: list[int]) -> Iterator[Graphs]:
    for start in range(0, len(sizes), 4):
        yield collate(sizes[start : start + 4])

def embedded(batch: Graphs) -> Tensor:
    return nn.Linear(8, 3)(batch.nodes)  # here

def main() -> None:
    for batch in loader([5, 3, 6, 2, 7]):
        embedded(batch)

main()
""",
    "an object with a call method in an attribute": """
import numpy as np

class Noise:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def __call__(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        noisy: np.ndarray[Any, Any] = rows + self.rng.normal(size=rows.shape).astype(np.float32)
        return noisy

class Trainer:
    def __init__(self, width: int, noise: Noise) -> None:
        self.model, self.noise = nn.Linear(width, 2), noise

    def run(self, rows: np.ndarray[Any, Any]) -> None:
        self.model(tg.tensor(self.noise(rows)))
        self.model(tg.tensor(Noise(self.noise.rng)(rows).T))  # here

def main() -> None:
    Trainer(8, Noise(np.random.default_rng(0))).run(np.zeros((5, 8), np.float32))

main()
""",
    "a driver that gets objects": """
import numpy as np

class Worker:
    def __init__(self, width: int) -> None:
        self.net = nn.Linear(width, 3)

    def act(self, rows: np.ndarray[Any, Any]) -> int:
        return int(self.net(tg.tensor(rows)).argmax().item())  # here

class Source:
    def __init__(self, width: int) -> None:
        self.width = width

    def draw(self) -> np.ndarray[Any, Any]:
        return np.zeros((2, self.width), np.float32)

def train(source: Source, worker: Worker) -> None:
    for _ in range(3):
        worker.act(source.draw())

def main() -> None:
    for width in (4, 5):
        train(Source(width), Worker(5))

main()
""",
    "arrays in a dictionary in an attribute": """
import numpy as np

class Buffer:
    def __init__(self, capacity: int, width: int) -> None:
        self.storage = {
            "x": np.zeros((capacity, width), np.float32),
            "y": np.zeros(capacity, np.float32),
        }

    def push(self, at: int, **values: Any) -> None:
        for name, value in values.items():
            self.storage[name][at] = value

    def sample(self, rows: np.ndarray[Any, Any]) -> dict[str, Tensor]:
        return {name: tg.tensor(column[rows]) for name, column in self.storage.items()}

def learn(buffer: Buffer, model: nn.Linear[Any, Any]) -> None:
    batch = buffer.sample(np.arange(6))
    model(batch["x"])
    model(batch["y"])  # here

def main() -> None:
    learn(Buffer(20, 8), nn.Linear(8, 2))

main()
""",
    "elements of arrays that a loop gives a variable": """
import numpy as np

class Steps:
    def reset(self) -> np.ndarray[Any, Any]:
        return np.zeros(8, np.float32)

    def step(self) -> tuple[np.ndarray[Any, Any], bool]:
        return np.ones(8, np.float32), True

def run(steps: Steps, model: nn.Linear[Any, Any]) -> None:
    rows, done = steps.reset(), False
    for _ in range(2):
        rows, done = steps.step()
        model(tg.tensor(rows[None]))
        model(tg.tensor(rows[None, :5]))  # here

def main() -> None:
    run(Steps(), nn.Linear(8, 2))

main()
""",
    "a list that two loops make": """
import numpy as np

def row(i: int, j: int) -> np.ndarray[Any, Any]:
    return np.array([i, j] * 4, np.float32)

def run(model: nn.Linear[Any, Any], rows: int, columns: int) -> None:
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    table = tg.tensor(np.stack([row(i, j) for i, j in cells]))
    model(table)
    model(table.T)  # here

def main() -> None:
    run(nn.Linear(8, 2), 3, 4)

main()
""",
    "rows of a generator without annotations": """
import numpy as np

def folds(names, k: int):  # type: ignore[no-untyped-def]
    for held_out in np.array_split(np.unique(names), k):
        test = np.isin(names, held_out)
        yield np.flatnonzero(~test), np.flatnonzero(test)

def run(rows, train, model: nn.Linear[Any, Any]):  # type: ignore[no-untyped-def]
    model(tg.tensor(rows[train]))
    return model(tg.tensor(rows[train][:, 1:]))  # here

def main() -> None:
    rows = np.zeros((20, 8), np.float32)
    for at, (train, _) in enumerate(folds(np.arange(20), 4)):
        run(rows, train, nn.Linear(8, 2))

main()
""",
    "arrays beside numbers in a dictionary": """
import numpy as np

class Signals:
    def __init__(self, channels: int, rng: np.random.Generator) -> None:
        self.channels = channels
        drawn = []
        for _ in range(3):
            profile = {"speed": rng.uniform(9.0, 11.0), "gain": rng.uniform(0.7, 1.4, (channels, 1))}
            drawn.append(self.signal(profile))
        self.x = np.stack(drawn).astype(np.float32)

    def signal(self, profile: dict[str, Any]) -> np.ndarray[Any, Any]:
        t = np.arange(16) / 16
        found: np.ndarray[Any, Any] = np.sin(profile["speed"] * t) * profile["gain"]
        for center in np.zeros(2) + t[-1]:
            found = found + np.exp(-((t - center) ** 2))
        center = 0.5 * t[-1]
        found = found + np.exp(-((t - center) ** 2))
        return found

def main() -> None:
    learn(Signals(5, np.random.default_rng(0)))

def learn(signals: Signals) -> None:
    model = nn.Linear(16, 2)
    model(tg.tensor(signals.x))
    model(tg.tensor(signals.x[:, :, :7]))  # here

main()
""",
    "the best copy of a model so far": """
import copy

def fit(width: int, rows: int) -> Tensor:
    model = MLP(Config(width))
    best, best_model = -1.0, model
    for turn in range(3):
        if turn > best:
            best, best_model = float(turn), copy.deepcopy(model)
    outputs = best_model(tg.ones((rows, width)))
    return outputs @ tg.ones((5, 2))  # here

fit(8, 3)
""",
    "the length of a vocabulary": """
class Vocabulary:
    def __init__(self, words: list[str]) -> None:
        self.words = ["<pad>", "<bos>", *words]

    def __len__(self) -> int:
        return len(self.words)

WORDS = Vocabulary(list("0123456789"))

def scores(model: nn.Embedding[Any, Any]) -> Tensor:
    return model(tg.tensor([1, 2])) @ tg.ones((len(WORDS), 3))  # here

scores(nn.Embedding(len(WORDS), 8))
""",
    "an array of the sizes of one that is bound again": """
import numpy as np

def augmented(x: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    x = np.roll(x, 2, axis=1)
    kept = rng.random((x.shape[0], x.shape[1], 1)) > 0.1
    return (x * kept).astype(np.float32)

def learn(x: np.ndarray[Any, Any], model: nn.Linear[Any, Any]) -> None:
    rows = augmented(x, np.random.default_rng(0))
    model(tg.tensor(rows))
    model(tg.tensor(rows[:, :, 1:]))  # here

learn(np.ones((3, 4, 8)), nn.Linear(8, 2))
""",
    "a function of a table that a call gives": """
from collections.abc import Callable

def absolute(x: Tensor, y: Tensor) -> Tensor:
    return tg.abs(x - y).mean()

def squared_error(x: Tensor, y: Tensor) -> Tensor:
    return tg.square(x - y).mean()  # here

Loss = Callable[[Tensor, Tensor], Tensor]
LOSSES: dict[str, Loss] = {"absolute": absolute, "squared": squared_error}

def train(model: nn.Module, loss: Loss, width: int) -> Tensor:
    return loss(model(tg.ones((4, width))), tg.ones((4, 3)))

for name in ["squared"]:
    train(nn.Linear(8, 2), LOSSES[name], 8)
""",
    "items of an array that an int is declared for": """
import numpy as np

def drawn(digit: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return rng.normal(size=(4, 4)) + digit

def made(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    digits = rng.permutation(np.arange(n) % 10)
    return np.stack([drawn(digit, rng) for digit in digits]).astype(np.float32)

def learn(n: int, model: nn.Linear[Any, Any]) -> None:
    rows = made(n, np.random.default_rng(0))
    model(tg.tensor(rows))
    model(tg.tensor(rows[:, :, 1:]))  # here

learn(6, nn.Linear(4, 2))
""",
    "lists of the name of a number of another class": """
from dataclasses import dataclass

@dataclass
class Count:
    members: int = 3

class Ensemble(nn.Module):
    def __init__(self, count: Count, width: int) -> None:
        self.members = [nn.Linear(width, 2) for _ in range(count.members)]

    def forward(self, x: Tensor) -> Tensor:
        return tg.stack([member(x) for member in self.members])  # here

def shape(count: Count, sizes: list[int]) -> tuple[int, ...]:
    return tuple(sorted((count.members, *sizes)))

def main() -> None:
    count = Count()
    print(shape(count, [2]))
    Ensemble(count, 8)(tg.ones((3, 8)))
    Ensemble(count, 8)(tg.ones((3, 5)))

main()
""",
    "a class that a decorator registers": """
from collections.abc import Callable

ENCODERS: dict[str, type[MLP]] = {}

def register(name: str) -> Callable[[type], type]:
    def wrap(cls: type) -> type:
        ENCODERS[name] = cls
        return cls
    return wrap

@register("plain")
class Plain(MLP):
    pass

@register("double")
class Double(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.up(x)  # here

def build(name: str, **options: Any) -> MLP:
    if name not in ENCODERS:
        raise ValueError(f"choose from {sorted(ENCODERS)}")
    return ENCODERS[name](**options)

def main() -> None:
    for name in ENCODERS:
        model = build(name, config=Config())
        model(tg.ones((4, 8)))

main()
""",
    "a function that a decorator registers": """
from collections.abc import Callable

BUILDERS: dict[str, Callable[[Config], MLP]] = {}

class Short(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return self.down(x)  # here

def register(build: Callable[[Config], MLP]) -> Callable[[Config], MLP]:
    BUILDERS[build.__name__] = build
    return build

@register
def plain(config: Config) -> MLP:
    return MLP(config)

@register
def short(config: Config) -> MLP:
    return Short(config)

def main(name: str) -> None:
    model = BUILDERS[name](Config())
    model(tg.ones((4, 8)))

main("plain")
main("short")
""",
    "a parameter that is bound again to an array": """
import numpy as np

def data(count: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.ones((count, 6))
    return x.astype(np.float32), np.zeros(count)

def augmented(x: np.ndarray, rng: np.random.Generator) -> Tensor:
    shift = rng.integers(0, x.shape[-1])
    x = np.roll(x, shift, axis=-1)
    gain = rng.uniform(0.8, 1.2, (len(x), 1))
    return tg.tensor((x * gain + 0.1 * rng.normal(size=x.shape)).astype(np.float32)) + tg.ones((4, 5))  # here

def main() -> None:
    x, _ = data(4)
    augmented(x, np.random.default_rng(0))

main()
""",
    "models that a loop over options creates": """
import argparse

class Half(MLP):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)[:, :4]

def build(name: str) -> MLP:
    return Half(Config()) if name == "half" else MLP(Config())

def main() -> None:
    args = argparse.Namespace(models=["whole", "half"])
    for name in args.models:
        model = build(name)
        model(tg.ones((4, 8))) + tg.ones((4, 8))  # here

main()
""",
    "an object of a subclass in a field of its base class": """
class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        self.up = nn.Linear(config.width, config.hidden)

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

class Tall(Encoder):
    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

class Trainer:
    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def fit(self, batches: list[tuple[Tensor, Tensor]]) -> float:
        total = 0.0
        for x, y in batches:
            total += squared(self.encoder(x), y).item()
        return total

Trainer(Tall(Config())).fit([(tg.ones((4, 9)), tg.ones((4, 5)))])
""",
    "a method of a subclass that its base class calls": """
class Base(nn.Module):
    def __init__(self, config: Config) -> None:
        self.head = nn.Linear(config.hidden, 3)

    def features(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))  # here

class Doubled(Base):
    def features(self, x: Tensor) -> Tensor:
        return tg.concat([x, x], axis=1)

model: Base = Doubled(Config())
model(tg.ones((4, 3)))
""",
    "an object that a registry of classes makes": """
class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        self.up = nn.Linear(config.width, config.hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

class Double(Encoder):
    def forward(self, x: Tensor) -> Tensor:
        return self.up(self.up(x))  # here

ENCODERS: dict[str, type[Encoder]] = {"single": Encoder, "double": Double}

ENCODERS["double"](Config())(tg.ones((4, 8)))
""",
    "a loss in a field": """
from collections.abc import Callable

@dataclass
class Trainer:
    model: nn.Module
    loss: Callable[[Tensor, Tensor], Tensor] = tg.mse

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        return self.loss(self.model(x), y)  # here

Trainer(MLP(Config())).step(tg.ones((4, 8)), tg.ones((4, 8)))
Trainer(MLP(Config()), tg.cross_entropy).step(tg.ones((4, 8)), tg.ones((5, 8)))
""",
    "an activation that a constructor gets": """
from collections.abc import Callable

def gated(x: Tensor) -> Tensor:
    a, b = tg.chunk(x, 2, axis=-1)
    return a * tg.sigmoid(b)

class Net(nn.Module):
    def __init__(self, act: Callable[[Tensor], Tensor]) -> None:
        self.first, self.second = nn.Linear(8, 6), nn.Linear(6, 2)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.act(self.first(x)))  # here

Net(tg.relu)(tg.ones((4, 8)))
Net(gated)(tg.ones((4, 8)))
""",
    "an item of a list that a method returns": """
class Pyramid(nn.Module):
    def maps(self, x: Tensor) -> list[Tensor]:
        found = [x]
        for _ in range(2):
            x = tg.max_pool2d(x, 2)
            found.append(x)
        return found

    def forward(self, x: Tensor) -> Tensor:
        small, *others = reversed(self.maps(x))
        for one in others:
            small = tg.upsample2d(small, 2) + one  # here
        return small

Pyramid()(tg.ones((1, 2, 8, 8)))
Pyramid()(tg.ones((1, 2, 8, 10)))
""",
    "lists that are passed on and lose items": """
class Decoder(nn.Module):
    def forward(self, skips: list[Tensor]) -> Tensor:
        x = skips.pop()
        for _ in range(2):
            x = tg.concat([tg.upsample2d(x, 2), skips.pop()], axis=1)  # here
        return x

class Net(nn.Module):
    def __init__(self) -> None:
        self.decoder = Decoder()

    def forward(self, x: Tensor) -> Tensor:
        skips = [x]
        for _ in range(2):
            skips.append(tg.max_pool2d(skips[-1], 2))
        return self.decoder(skips)

Net()(tg.ones((1, 2, 8, 8)))
Net()(tg.ones((1, 2, 10, 8)))
""",
    "a model that a constructor gets from a function": """
def two_layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(inputs, outputs))

class Policy(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        self.policy = two_layers(width, hidden, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.policy(x)  # here

Policy(4, 32)(tg.ones((5, 4)))
""",
    "arrays that a star gives": """
import numpy as np

class Tasks:
    def __init__(self, count: int) -> None:
        self.phase = np.linspace(0.0, 1.0, count).reshape(count, 1, 1)

    def sample(self, points: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.zeros((len(self.phase), points, 1))
        return x.astype(np.float32), np.sin(x + self.phase).astype(np.float32)

def as_tensors(x: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
    return tg.tensor(x, np.float32), tg.tensor(y, np.float32)

def difference(x: Tensor, y: Tensor) -> Tensor:
    return x - y  # here

def main() -> None:
    tasks = Tasks(8)
    x, _ = as_tensors(*tasks.sample(10))
    _, y = as_tensors(*tasks.sample(11))
    difference(x, y)

main()
""",
    "batches of the fields of a named tuple": """
import numpy as np

class Rollout(NamedTuple):
    states: Tensor
    actions: Tensor
    rewards: Tensor
    values: Tensor

def collect(steps: int) -> Rollout:
    states = np.zeros((steps, 4), np.float32)
    rewards, values = np.zeros((2, steps), np.float32)
    actions = np.zeros(steps, np.int64)
    return Rollout(tg.tensor(states), *(tg.tensor(x) for x in (actions, rewards, values)))

def loss(batch: Rollout) -> Tensor:
    tg.mse(batch.states @ tg.ones((4, 1)), batch.rewards[:, None])
    return batch.states @ tg.ones((3, 2))  # here

def main() -> None:
    for part in tg.data.batches(*collect(12), size=4):
        loss(Rollout(*part))

main()
""",
    "a text that is shorter than a mask": """
TEXT = "to be or not to be"
LETTERS = sorted(set(TEXT))

class Reader(nn.Module):
    def __init__(self, letters: int, block: int) -> None:
        self.embed = nn.Embedding(letters, 3)
        self.mask = nn.Buffer(tg.zeros((block, block)))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        return x @ x.mT + self.mask  # here

def main() -> None:
    index = {letter: number for number, letter in enumerate(LETTERS)}
    reader = Reader(len(LETTERS), 6)
    reader(tg.tensor([[index[letter] for letter in TEXT[:6]]]))
    reader(tg.tensor([[index[letter] for letter in "to "]]))

main()
""",
    "batches of arrays that a generator yields": """
import numpy as np
from collections.abc import Iterator

def batches(x: np.ndarray, size: int) -> Iterator[np.ndarray]:
    order = np.random.default_rng(0).permutation(len(x))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield x[rows]

def fit(model: Model, x: np.ndarray) -> float:
    total = 0.0
    for part in batches(x, 4):
        total += (model(tg.tensor(part, np.float32)) @ tg.ones((99, 2))).sum().item()  # here
    return total

def main() -> None:
    fit(Model(Config()), np.zeros((9, 8)))

main()
""",
    "what a loop over an object with an iterator calls": """
from collections.abc import Iterator

class Ensemble:
    def __init__(self, members: list[Model]) -> None:
        self.members = members

    @classmethod
    def create(cls, count: int) -> "Ensemble":
        return cls([Model(Config()) for _ in range(count)])

    def __iter__(self) -> Iterator[Model]:
        return iter(self.members)

    def predict(self, x: Tensor) -> Tensor:
        return tg.stack([member(x) for member in self]) @ tg.ones((99, 2))  # here

Ensemble.create(3).predict(tg.ones((8, 8)))
""",
    "batches that a variable holds in a loop": """
from tapegrad import data

def fit(model: Model, x: Tensor, epochs: int) -> float:
    total = 0.0
    for epoch in range(epochs):
        batches = data.batches(x, size=4, rng=epoch)
        for part in batches:
            total += model(part).item()  # here
        total /= len(batches)
    return total

fit(Model(Config()), tg.ones((8, 8)), 2)
""",
    "an array of several values that an operator changes in place": """
import numpy as np

def points(kind: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "sphere":
        found = rng.normal(size=(count, 3))
        found /= 2.0
    elif kind == "cube":
        found = rng.uniform(-1, 1, (count, 3))
        found[0] = 0.0
    else:
        found = np.stack([rng.uniform(-1, 1, count) for _ in range(3)], axis=1)
    return found + 1.0

def cloud(count: int) -> Tensor:
    return tg.tensor(points(sys.argv[-1], count)).reshape((3, 4))  # here

cloud(4)
cloud(5)
""",
    "a sum of losses with weights of a configuration": """
from collections.abc import Mapping

CONFIG: dict[str, Any] = {"width": 4, "value": 0.5}

def losses(x: Tensor) -> dict[str, Tensor]:
    return {"policy": -x, "value": tg.mse(x, 2 * x)}

def train(x: Tensor, config: Mapping[str, Any]) -> None:
    parts = losses(x)
    loss = parts["policy"] + config["value"] * parts["value"]
    loss.backward()  # here

train(tg.ones((8, 10)).trace(), CONFIG)
""",
    "lists and deques that are filled at the front": """
from collections import deque

def discounted(rewards: Tensor, last: Tensor) -> Tensor:
    total = last
    found: deque[Tensor] = deque()
    for step in reversed(range(rewards.shape[0])):
        total = rewards[step] + 0.9 * total
        found.appendleft(total)
    return tg.stack(list(found))

def inserted(rewards: Tensor) -> Tensor:
    found: list[Tensor] = []
    for step in range(rewards.shape[0]):
        found.insert(0, rewards[step])
    return tg.stack(found)

def turned(rewards: Tensor, last: Tensor) -> Tensor:
    total, found = last, []
    for step in reversed(range(rewards.shape[0])):
        total = rewards[step] + 0.9 * total
        found.append(total)
    found.reverse()
    return tg.stack(found)

def loss(rewards: Tensor) -> Tensor:
    last = tg.ones((rewards.shape[1],))
    found = discounted(rewards, last) + inserted(rewards) + turned(rewards, last)
    return found.T - rewards  # here

loss(tg.ones((10, 8)))
""",
    "a copy of a list that a loop fills": """
def backwards(rewards: Tensor, last: Tensor) -> Tensor:
    total = last
    found = []
    for step in reversed(range(rewards.shape[0])):
        total = rewards[step] + 0.9 * total
        found.append(total)
    return tg.stack(list(reversed(found)))

def loss(values: Tensor, rewards: Tensor) -> Tensor:
    return values - backwards(rewards, tg.ones((8,)))  # here

loss(tg.ones((8, 10)), tg.ones((10, 8)))
""",
    "arrays of a list in another list": """
import numpy as np

class World:
    def __init__(self, agents: int) -> None:
        self.places = np.zeros((agents, 2))
        self.keys = np.zeros(agents)

    def observe(self) -> Tensor:
        parts = [self.places, self.places + 1]
        return tg.tensor(np.concatenate([*parts, self.keys[:, None]], axis=1), np.float32)

def run(world: World) -> Tensor:
    return nn.Linear(4, 3)(world.observe())  # here

run(World(7))
""",
    "a size variable of a class, for which a call gives a number": """
from typing import Generic

from typing_extensions import TypeVar

N = TypeVar("N", bound=int)

class Shift(nn.Module):
    def __init__(self, width: int) -> None:
        self.shift = nn.Param(tg.zeros((width,)))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.shift  # here

class Heads(nn.Module, Generic[N]):
    def __init__(self, heads: N) -> None:
        self.shift = Shift(2 * heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.shift(x)

Heads(3)(tg.ones((2, 7)))
""",
    "a configuration that is a class": """
class Sizes:
    width = 8
    hidden = 2 * width
    words = 7

class Large(Sizes):
    words = 8

class Net(nn.Module):
    def __init__(self, sizes: type[Sizes]) -> None:
        self.up = nn.Linear(sizes.width, sizes.hidden)
        self.down = nn.Linear(sizes.hidden, sizes.width)
        self.bias = nn.Param(tg.zeros((sizes.words,)))

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x)) + self.bias  # here

Net(Large)(tg.ones((2, 8)))
Net(Sizes)(tg.ones((2, 8)))
""",
    "an attribute that is an option of type float, beside a tensor": """
from argparse import ArgumentParser, Namespace

def parse() -> Namespace:
    parser = ArgumentParser(description="Train.")
    parser.add_argument("--balance", type=float, default=0.02)
    return parser.parse_args()

class Scale(nn.Module):
    def __init__(self, args: Namespace) -> None:
        self.balance = args.balance

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.balance * x
        return y + tg.ones((3,))  # here

Scale(parse())(tg.ones((4, 2)))
""",
    "the length of an object that is the one of a tensor in it": """
import numpy as np

BATCH = 2

class Rows:
    def __init__(self, count: int) -> None:
        self.rows = tg.ones((2 * count, 3))

    def __len__(self) -> int:
        return len(self.rows)

def sums(x: Tensor) -> Tensor:
    return tg.ones((3,)) + x  # here

train = Rows(3)
order = np.random.default_rng(0).permutation(len(train)).astype(np.float32)
for start in range(0, len(train) - BATCH + 1, BATCH):
    sums(tg.tensor(order[start : start + BATCH]))
""",
    "how many arrays loops append to a list": """
import numpy as np

class Windows:
    def __init__(self, first: int, last: int) -> None:
        names, rows = [], []
        for series in range(4):
            for _ in range(first, last - 3):
                names.append(series)
                rows.append(np.ones((2, 5), dtype=np.float32))
        self.names = tg.tensor(np.array(names, dtype=np.float32))
        self.rows = tg.tensor(np.stack(rows))

    def product(self, y: Tensor) -> Tensor:
        return self.rows.reshape((-1, 5)) @ y + self.names[:, None]  # here

Windows(0, 5).product(tg.ones((5, 3)))
""",
    "the length of a list of a constant": """
QUANTILES = (0.1, 0.5, 0.9)

def pinball(x: Tensor) -> Tensor:
    return x * tg.tensor(list(QUANTILES))  # here

pinball(tg.ones((4, 2)))
""",
    "what einsum and an index that is computed give": """
import numpy as np

def regions(rows: int, inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(4, inputs, outputs)) / 2.0
    x = rng.normal(size=(rows, inputs))
    region = 2 * (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    y = np.einsum("ni,nio->no", x, maps[region]) + 0.05 * rng.normal(size=(rows, outputs))
    return tg.tensor(x.astype(np.float32)), tg.tensor(y.astype(np.float32))

def difference(x: Tensor, y: Tensor) -> Tensor:
    return x - y  # here

x, y = regions(12, 6, 2)
difference(x, y)
""",
    "an index whose dtype astype says": """
import numpy as np

def picked(rows: int) -> Tensor:
    x = np.ones((rows, 4))
    index = np.einsum("ni,mi->nm", x, x).astype(np.int64) - 4
    return tg.tensor(np.ones((2, 5), dtype=np.float32)[index])

def product(x: Tensor) -> Tensor:
    return x @ tg.ones((3, 2))  # here

product(picked(3))
""",
    "what a function gives for each number, in a list that loops fill": """
import numpy as np

HORIZON = 6

def calendar(start: int, steps: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    phase = np.arange(start, start + steps) / 12
    return np.stack([np.sin(phase), np.cos(phase)], axis=1).astype(np.float32)

class Windows:
    def __init__(self, first: int, last: int) -> None:
        dates, ahead = [], []
        for _ in range(2):
            for start in range(first, last):
                middle = start + 24
                dates.append(calendar(start, 24))
                ahead.append(calendar(middle, HORIZON))
        self.dates = tg.tensor(np.stack(dates))
        self.ahead = tg.tensor(np.stack(ahead))

def run(windows: Windows) -> Tensor:
    return tg.concat([windows.dates, windows.ahead], axis=2)  # here

run(Windows(3, 5))
""",
    "methods and functions that are declared, of a model that is not": """
from typing import Literal, TypeVar

from tapegrad import Shape, Tape

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)

class Flow(nn.Module):
    def __init__(self, width: int) -> None:
        self.scale = nn.Linear(4, width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.scale(x), x.sum(axis=1)

    def log_prob(self, x: Tensor[Shape[N, Literal[4]], T]) -> Tensor[Shape[N], T]:
        z, amount = self(x)
        return (z**2.0).sum(axis=1) + amount

def loss(flow: Flow, x: Tensor[Shape[N, Literal[4]], T]) -> Tensor[Shape[()], T]:
    z, amount = flow(x)
    return (z.sum(axis=0) + amount).mean()  # here

flow = Flow(3)
flow.log_prob(tg.ones((5, 4)))
loss(flow, tg.ones((5, 4)))
""",
    "a declared function of a list of layers that are not": """
from typing import Literal, TypeVar

from tapegrad import NoneTape, Shape

N = TypeVar("N", bound=int)

class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        self.scale = nn.Linear(width, width + 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x)

class Net(nn.Module):
    def __init__(self) -> None:
        self.layers = [Layer(4 + n) for n in range(3)]

def start(net: Net, x: Tensor[Shape[N, Literal[4]], NoneTape]) -> None:
    h: Tensor = x
    for layer in net.layers:
        h = layer(h)
    print(h + x)  # here

start(Net(), tg.ones((5, 4)))
""",
    "one of two lists in a call": """
class Coupling(nn.Module):
    def __init__(self, swap: bool) -> None:
        self.swap = swap

    def join(self, kept: Tensor, changed: Tensor) -> Tensor:
        return tg.concat([changed, kept] if self.swap else [kept, changed], axis=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.join(x[:, :2], x[:, 2:4])

def run(x: Tensor) -> Tensor:
    for coupling in [Coupling(swap=n % 2 == 1) for n in range(4)]:
        x = coupling(x)
    return x @ tg.ones((3, 2))  # here

run(tg.ones((5, 4)))
""",
    "one of two lists of different lengths, which a flag chooses": """
def joined(x: Tensor, is_twice: bool) -> Tensor:
    return tg.concat([x, x] if is_twice else [x], axis=1)

def run(x: Tensor) -> Tensor:
    return joined(x, is_twice=True) @ joined(x, is_twice=False)  # here

run(tg.ones((4, 4)))
""",
    "a parameter that a method returns": """
class Norm(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Param(tg.zeros((4,)))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x * tg.exp(self.scale), self.scale

def run(x: Tensor) -> Tensor:
    z, amount = Norm()(x)
    return z.sum(axis=1) + amount  # here

run(tg.ones((5, 4)))
""",
    "options of a script that is run without any": """
from argparse import ArgumentParser, Namespace

def parse() -> Namespace:
    parser = ArgumentParser(description="Train.")
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--columns", type=int, default=4)
    parser.add_argument("--is-flat", action="store_true")
    return parser.parse_args()

def run(args: Namespace) -> Tensor:
    x = tg.ones((args.rows, args.columns))
    return x if args.is_flat else x @ tg.ones((args.rows, 3))  # here

run(parse())
""",
    "options as the fields of a configuration": """
from argparse import ArgumentParser

parser = ArgumentParser()
parser.add_argument("--width", type=int, default=8)
parser.add_argument("--hidden", type=int, default=5)
parser.add_argument("--layers", type=int)
args, _ = parser.parse_known_args()

def run(config: Config) -> Tensor:
    return nn.Linear(config.width, 2)(tg.ones((3, config.hidden)))  # here

run(Config(**vars(args)))
""",
    "a function as an argument": """
from collections.abc import Callable

def projected(x: Tensor) -> Tensor:
    return x @ tg.ones((8, 3))

def applied(function: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    return tg.mse(function(x), y)  # here

applied(projected, tg.ones((4, 8)), tg.ones((4, 8)))
""",
    "a number of a tensor with several elements, in a text": """
def formatted(x: Tensor) -> str:
    return f"loss {x:.3f}"  # here

formatted(tg.ones((4, 8)))
""",
    "a condition of several elements": """
def larger(x: Tensor, y: Tensor) -> Tensor:
    if x == 0:  # here
        return x
    return y

larger(tg.ones((4, 8)), tg.ones((4, 8)))
""",
    "a lambda as an argument": """
from collections.abc import Callable

def applied(function: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    return tg.mse(function(x), y)  # here

def run(x: Tensor) -> Tensor:
    weight = tg.ones((8, 3))
    return applied(lambda v: v @ weight, x, x)

run(tg.ones((4, 8)))
""",
    "a lambda that calls a function that it reads": """
from collections.abc import Callable

def applied(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return function(function(x))

def scaled(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return applied(lambda v: function(v) * 2, x)  # here

scaled(nn.Linear(8, 8), tg.ones((4, 8)))
scaled(nn.Linear(8, 3), tg.ones((4, 8)))
""",
    "a function in a body, with other variables around it at another call": """
from collections.abc import Callable

def applied(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return function(function(x))

def scaled(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    def inner(v: Tensor) -> Tensor:
        return function(v) * 2  # here

    return applied(inner, x)

scaled(nn.Linear(8, 8), tg.ones((4, 8)))
scaled(nn.Linear(8, 3), tg.ones((4, 8)))
""",
    "what map gives and an assignment unpacks": """
def run(x: Tensor) -> Tensor:
    rows = [(x, x[0]), (x, x[0])]
    inputs, targets = map(tg.stack, zip(*rows))
    return inputs @ targets.reshape((7, -1))  # here

run(tg.ones((4, 8)))
""",
    "a list of what map gives": """
def normed(x: Tensor) -> Tensor:
    return x @ tg.ones((8, 3))

def run(x: Tensor) -> Tensor:
    outputs = list(map(normed, [x, x]))
    return tg.stack(outputs) @ tg.ones((4, 2))  # here

run(tg.ones((4, 8)))
""",
    "functions with a cache": """
from functools import cache, lru_cache

@lru_cache(maxsize=None)
def mask(n: int) -> Tensor:
    return tg.ones((n, n))

@cache
def model(width: int) -> MLP:
    return MLP(Config(width))

def attend(x: Tensor) -> Tensor:
    return mask(x.shape[0] + 1) @ model(8)(x)  # here

attend(tg.ones((4, 8)))
""",
    "a class of layers with some of its arguments": """
from functools import partial

class Block(nn.Module):
    def __init__(self, width: int) -> None:
        linear = partial(nn.Linear, width)
        self.up = linear(16)
        self.down = linear(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))  # here

Block(8)(tg.ones((2, 8)))
""",
    "a function with some of its arguments": """
from functools import partial

def loss(model: MLP, x: Tensor, y: Tensor) -> Tensor:
    return tg.mse(model(x), y)  # here

def main() -> None:
    step = partial(loss, MLP(Config()))
    step(tg.ones((4, 8)), y=tg.ones((4, 7)))

main()
""",
    "a branch that a random number decides": """
import random

def augmented(x: Tensor) -> Tensor:
    if random.random() < 2.0:
        x = x @ tg.ones((7, 8))  # here
    return x

augmented(tg.ones((4, 8)))
""",
    "a branch that the number of the turn decides": """
def train(model: MLP, x: Tensor, every: int) -> float:
    best = 9.0
    for step in range(100):
        outputs = model(x)
        loss = (outputs * outputs).mean()
        if loss.item() < best:
            best = loss.item()
        if (step + 1) % every == 0 and not step == 3:
            shifted = outputs + tg.ones((7,))  # here
            print(step, shifted.sum().item())
    return best

train(MLP(Config()), tg.ones((4, 8)), int("2"))
""",
    "a loop of any number of turns": """
def train(model: MLP, x: Tensor, y: Tensor, epochs: int) -> None:
    for epoch in range(epochs):
        loss = tg.mse(model(x), y)  # here
        print(epoch, loss.item())

train(MLP(Config()), tg.ones((4, 8)), tg.ones((4, 7)), int("2"))
""",
    "functions inside a function that call each other": """
def main() -> None:
    model = MLP(Config())
    x = tg.ones((4, 8))

    def outputs(rows: int) -> Tensor:
        return model(x[:rows])

    def check(rows: int) -> None:
        outputs(rows) + tg.ones((2, 7))  # here

    check(2)

main()
""",
    "a tensor of the method around": """
class Trainer:
    def __init__(self, config: Config) -> None:
        self.model = MLP(config)

    def fit(self, rows: int) -> None:
        weight = tg.ones((rows, 2))

        def weighted(x: Tensor) -> Tensor:
            return x @ weight  # here

        weighted(tg.ones((3, rows + 1)))

Trainer(Config()).fit(2)
""",
    "a model of the function around": """
def train(epochs: int) -> None:
    config = Config(width=6)
    model = MLP(config)
    head = nn.Linear(config.width, 3)

    def outputs(x: Tensor) -> Tensor:
        return head(model(x))

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return tg.mse(outputs(x), y)  # here

    for _ in range(epochs):
        loss(tg.ones((4, config.width)), tg.ones((4, 2)))

train(1)
""",
    "a row more than an unknown number of rows": """
import numpy as np

def gram(rows: Tensor) -> Tensor:
    return rows.T @ tg.pad(rows, ((0, 1), (0, 0)))  # here

gram(tg.tensor(np.argwhere(np.eye(3) > 0)))
""",
    "layers of a model that do not fit with the numbers of a call": """
class Net(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.layers = nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(inputs, outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)  # here

Net(4, 4)(tg.ones((2, 4)))
Net(4, 5)(tg.ones((2, 4)))
""",
    "arrays that a generator unpacks": """
import numpy as np
from numpy.typing import NDArray
from tapegrad import data

def load(n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rows = []
    for i in range(n):
        rows.append(np.full((4,), i, np.float32))
    return np.stack(rows), np.zeros((n,), np.int64)

def main() -> None:
    model = nn.Linear(5, 3)
    x, y = (tg.tensor(one) for one in load(20))
    loader = data.batches(x, y, size=4)
    for rows, labels in loader:
        print(tg.cross_entropy(model(rows), labels))  # here

main()
""",
    "the sequence of a loop": """
def run(x: Tensor, count: int) -> float:
    total = 0.0
    for one in x.sum(axis=1).flip(1).tolist():  # here
        total += one
    return total + count

run(tg.ones((3, 4)), 2)
""",
    "rows of an array that are collected": """
from collections.abc import Iterator
import numpy as np
from numpy.typing import NDArray

def pairs(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    left, right = [], []
    for i, one in enumerate(ids):
        if i > 0:
            left.append(one)
            right.append(ids[i - 1])
    return np.array(left), np.array(right)

def batches(ids: NDArray[np.int64], size: int, seed: int) -> Iterator[Tensor]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(ids))
    for start in range(0, len(ids) - size + 1, size):
        yield tg.tensor(ids[order[start : start + size]])

def total(batch: Tensor) -> Tensor:
    return batch.sum(axis=1)  # here

def run(size: int) -> None:
    left, right = pairs(np.array([1, 2, 3, 4, 5]))
    for batch in batches(left, size, 0):
        print(total(batch))

run(2)
""",
    "the first turn of a loop": """
def run(x: Tensor, times: int) -> Tensor:
    steps = []
    for _ in range(times):
        steps.append(x @ tg.ones((5, 2)))  # here
    return tg.stack(steps)

run(tg.ones((3, 4)), len(sys.path))
""",
    "the branch of a call inside of an expression": """
class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(outputs, inputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x) + (x if self.skip is None else self.skip(x))  # here

def run(x: Tensor) -> Tensor:
    return Block(4, 5)(x)

run(tg.ones((2, 4, 6, 6)))
""",
    "a size that the branch of a call gives": """
class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 2) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x) + (x if self.skip is None else self.skip(x))  # here

def run(x: Tensor) -> Tensor:
    return Block(4, 5)(x)

run(tg.ones((2, 4, 6, 6)))
""",
    "the body of a property": """
class Table(nn.Module):
    def __init__(self, count: int, width: int) -> None:
        self.embedding = nn.Embedding(count, width)

    @property
    def cut(self) -> Tensor:
        return self.embedding.weight[:, :3] @ tg.ones((2, 5))  # here

def run(count: int) -> float:
    return Table(count, 4).cut.sum().item()

run(6)
""",
    "a block of a context manager in a body": """
class Table(nn.Module):
    def __init__(self, count: int, width: int) -> None:
        self.embedding = nn.Embedding(count, width)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.embedding.weight  # here

def run(count: int) -> float:
    with tg.random(0):
        model = Table(count, 4)
        return model(tg.ones((2, 7))).sum().item()

run(6)
""",
    "a shape that a call gives": """
def run(shape: tuple[int, ...]) -> Tensor:
    return tg.normal(shape) @ tg.ones((7, 2))  # here

run((3, 4))
""",
    "a block of a context manager that passes on errors": """
def run(x: Tensor) -> Tensor:
    return x @ tg.ones((5, 2))  # here

with tg.random(0):
    run(tg.ones((3, 4)))
""",
    "a call beside a part that may not run": """
def attend(x: Tensor, past: Tensor | None) -> Tensor:
    return x @ tg.ones((5, 2))  # here

def run(x: Tensor, caches: list[Tensor] | None = None) -> Tensor:
    for i in range(2):
        x = attend(x, None if caches is None else caches[i])
    return x

run(tg.ones((3, 4)))
""",
    "a negative default": """
def squash(x: Tensor, axis: int = -1) -> Tensor:
    return x / tg.sqrt((x * x).sum(axis=axis, keepdims=True) + 1e-8)

def run(x: Tensor) -> Tensor:
    return squash(x) @ tg.ones((5, 2))  # here

run(tg.ones((3, 4)))
""",
    "a list of tensors that a comprehension makes": """
class Tables(nn.Module):
    def __init__(self, counts: list[int], tops: list[int]) -> None:
        self.tables = [nn.Linear(1, count) for count in counts]
        self.top = nn.Sequential(*[nn.Linear(n, m) for n, m in zip([sum(counts)] + tops, tops)])

    def forward(self, x: Tensor) -> Tensor:
        parts = [table(x[:, i : i + 1]) for i, table in enumerate(self.tables)]
        joined = tg.concat([x, *parts], axis=1)
        return self.top(joined)  # here

Tables([2, 3], [4])(tg.ones((6, 2)))
""",
    "a function that takes only numbers": """
def main(width: int = 9, hidden: int = 5) -> None:
    model = MLP(Config(width, hidden))
    y = model(tg.ones((4, width)))
    tg.mse(y, tg.ones((4, 8)))  # here

main()
""",
    "a method that takes only numbers": """
class Trainer:
    def __init__(self, config: Config) -> None:
        self.model = MLP(config)

    def fit(self, steps: int) -> float:
        total = 0.0
        for _ in range(steps):
            total += tg.mse(self.model(tg.ones((4, 8))), tg.ones((4, 9))).item()  # here
        return total

Trainer(Config()).fit(2)
""",
    "a list of tensors that a function reads": """
def interacted(dense: Tensor, parts: list[Tensor]) -> Tensor:
    joined = tg.concat([dense, *parts], axis=1)
    return joined @ tg.ones((10, 2))  # here

interacted(tg.ones((6, 2)), [tg.ones((6, 3)), tg.ones((6, 4))])
""",
    "a dictionary of tensors that a function reads": """
def loss(outputs: dict[str, Tensor], target: Tensor) -> Tensor:
    return tg.mse(outputs["mean"], target)  # here

loss({"mean": tg.ones((4, 3)), "scale": tg.ones((4, 3))}, tg.ones((4, 2)))
""",
    "any number of arguments": """
def joined(*parts: Tensor, scale: float = 1.0) -> Tensor:
    return tg.concat(parts, axis=1) * scale @ tg.ones((4, 2))  # here

joined(tg.ones((2, 3)), tg.ones((2, 4)))
""",
    "any number of options": """
def projected(x: Tensor, **sizes: int) -> Tensor:
    return x @ tg.ones((sizes["inner"], sizes["outer"]))  # here

projected(tg.ones((2, 3)), inner=4, outer=5)
""",
    "sizes of a dictionary of anything": """
class Net(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        self.model = MLP(Config(config["width"], config["hidden"]))
        self.down = nn.Conv1d(2 * config["width"], config["hidden"], 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.model(x).expand_dims(2))  # here

config: dict[str, Any] = json.loads('{"width": 8, "hidden": 5}')
Net(config)(tg.ones((4, config["width"])))
""",
    "a field that is computed": f"{COMPUTED}Net(Sizes())(tg.ones((2, 8)))\n",
    "a configuration that a class method makes": f"{COMPUTED}Net(Sizes.small())(tg.ones((2, 4)))\n",
    "a configuration with another field": f"{COMPUTED}Net(replace(Sizes.small(), width=6))(tg.ones((2, 2)))\n",
    "a list of the same name in another class": """
class Stack(nn.Module):
    def __init__(self) -> None:
        self.blocks = [MLP(Config()) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x @ tg.ones((7, 3))  # here

class Growing:
    def __init__(self) -> None:
        self.blocks: list[int] = []

    def grow(self) -> None:
        self.blocks.append(3)

Growing().grow()
Stack()(tg.ones((4, 8)))
""",
    "a function that returns a model": """
def mlp(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, out))

class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.body = mlp(width, 2)
        self.head = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))  # here

def made(width: int) -> nn.Module:
    return Net(width)

made(8)(tg.ones((4, 8)))
""",
    "a model that a function makes wrongly": """
def mlp(width: int) -> nn.Sequential:
    hidden = 4 * width
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(24, 3))  # here

mlp(6)(tg.ones((4, 6)))
net = mlp(7)
net(tg.ones((4, 7)))
""",
    "a method that makes a layer": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.width = width
        self.first = self.made(width, 5)
        self.second = self.made(6, 3)

    def made(self, width: int, out: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(width, out), nn.LayerNorm(out))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))  # here

Net(8)(tg.ones((4, 8)))
""",
    "a method of a base class": """
class Base(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)

class Mine(Base):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) @ tg.ones((4, 2))  # here

Mine(8)(tg.ones((4, 8)))
""",
    "a static method and a class method": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    @staticmethod
    def scaled(x: Tensor) -> Tensor:
        return x @ tg.ones((4, 2))  # here

    @classmethod
    def of(cls, config: Config) -> Net:
        return cls(config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.up(x))

net = Net.of(Config(width=6))
net(tg.ones((4, 6)))
""",
    "a layer of a base class": """
class Base(nn.Module):
    def __init__(self, width: int) -> None:
        self.head = nn.Linear(width, 3)

class Named(Base):
    def __init__(self, width: int, name: str) -> None:
        super().__init__(width)
        self.name = name

class Model2(Named):
    def __init__(self) -> None:
        super().__init__(7, name="two")

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)  # here

Model2()(tg.ones((4, 8)))
""",
    "pairs of layers": """
class Pairs(nn.Module):
    def __init__(self, config: Config) -> None:
        self.mlps = [MLP(config) for _ in range(2)]
        self.heads = {"first": MLP(config), "second": MLP(config)}

    def forward(self, x: Tensor) -> Tensor:
        for (position, mlp), other in zip(enumerate(self.mlps), reversed(self.mlps), strict=True):
            x = (mlp(x) * position + other(x)) @ tg.ones((7, 3))  # here
        for name, head in self.heads.items():
            x = head(x)
        return x

Pairs(Config())(tg.ones((4, 8)))
""",
    "layers in a comprehension": """
class Heads(nn.Module):
    def __init__(self, config: Config) -> None:
        self.heads = [MLP(config) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        parts = [head(x) @ tg.ones((7, 3)) for head in self.heads]  # here
        return tg.concat(parts, axis=1)

Heads(Config())(tg.ones((4, 8)))
""",
    "variables with annotations": """
def shifted(x: Tensor, times: int) -> Tensor:
    y: Tensor = x * 2.0
    count: int = 0
    for _ in range(times):
        count += 1
    return y @ tg.ones((3, 3))  # here

shifted(tg.ones((4, 8)), 2)
""",
    "a guarded method": """
class Head(nn.Module):
    def __init__(self, width: int) -> None:
        self.head = nn.Linear(width, 3)

    @override
    @tg.guarded
    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)  # here

Head(7)(tg.ones((4, 8)))
""",
    "a case of each kind": """
def chosen(x: Tensor, kind: str) -> Tensor:
    match kind:
        case "narrow":
            y = x[1:]
        case _:
            y = x * 2.0
    return y @ tg.ones((3, 3))  # here

chosen(tg.ones((4, 8)), "wide")
""",
    "the case that matches": """
def by_shape(x: Tensor) -> Tensor:
    match x.shape:
        case (rows, _):
            return x @ tg.ones((rows, 3))  # here
        case _:
            return x

by_shape(tg.ones((4, 8)))
""",
    "a function inside": """
def held(x: Tensor) -> Tensor:
    def narrow(y: Tensor) -> Tensor:
        return y @ tg.ones((3, 3))  # here

    return narrow(x)

held(tg.ones((4, 8)))
""",
    "a variable around a function inside": """
def held(x: Tensor) -> Tensor:
    weight = tg.ones((x.shape[0], 3))
    def narrow(y: Tensor) -> Tensor:
        return y @ weight  # here

    return narrow(x)

held(tg.ones((8, 8)))
held(tg.ones((4, 8)))
""",
    "a statement after a with statement": """
def opened(x: Tensor) -> Tensor:
    with open("/dev/null") as file:
        y = x.sum(1)
        print(file.name)
    return y + tg.ones((4,))  # here

opened(tg.ones((3, 8)))
""",
    "both branches": """
def chosen(x: Tensor, count: int) -> Tensor:
    if count > 3:
        y = x @ tg.ones((3, 3))  # here
    else:
        y = x @ tg.ones((5, 3))
    return y

chosen(tg.ones((4, 8)), int("4"))
""",
    "a branch that raises and one that fails": """
def chosen(x: Tensor, count: int) -> Tensor:
    if count < 0:
        raise ValueError(count)
    return x @ tg.ones((3, 3))  # here

chosen(tg.ones((4, 8)), int("4"))
""",
    "what both branches have in common": """
def chosen(x: Tensor, count: int) -> Tensor:
    y = x[1:] if count > 3 else x
    if count > 5:
        y = y[1:]
    return y @ tg.ones((3, 3))  # here

chosen(tg.ones((4, 8)), int("4"))
""",
    "a handler that raises": """
def tried(x: Tensor) -> Tensor:
    try:
        return x @ tg.ones((3, 3))  # here
    except ValueError as error:
        raise RuntimeError("no") from error

tried(tg.ones((4, 8)))
""",
    "a handler and the body": """
def tried(x: Tensor, path: str) -> Tensor:
    try:
        y = x.sum(axis=0)
        open(path)
    except OSError:
        y = x[1]
    return y @ tg.ones((3, 3))  # here

tried(tg.ones((4, 8)), "nowhere")
""",
    "a function that returns nothing": """
def printed(x: Tensor) -> None:
    print(x @ tg.ones((3, 3)))  # here

printed(tg.ones((4, 8)))
""",
    "a layer in a model": """
class Last(nn.Module):
    def __init__(self, width: int) -> None:
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)  # here

model = nn.Sequential(MLP(Config(hidden=4)), nn.Sequential(nn.ReLU(), Last(7)))
model(tg.ones((4, 8)))
""",
    "a loop over batches": """
def train(mlp: MLP, x: Tensor, epochs: int) -> list[float]:
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for step, (rows, _) in enumerate(tg.data.batches(x, x, size=2)):
            total += (mlp(rows) @ tg.ones((3, 3))).sum().item()  # here
        losses.append(total)
    return losses

train(MLP(Config()), tg.ones((4, 8)), 2)
""",
    "a loop over steps": """
def fitted(x: Tensor, size: int) -> None:
    for start in range(0, x.shape[0], size):
        tg.ones((2, 8)) @ x[start : start + size].T

def evaluated(x: Tensor, size: int) -> None:
    for start in range(0, len(x), size):
        x[start : start + size] @ tg.ones((8, 3))  # here

fitted(tg.ones((12, 8)), 4)
evaluated(tg.ones((12, 9)), 4)
""",
    "a loop over pairs": """
def scaled(x: Tensor, factors: list[tuple[int, float]]) -> Tensor:
    for _, factor in factors:
        x = x * factor
    return x @ tg.ones((3, 3))  # here

scaled(tg.ones((4, 8)), [(1, 2.0)])
""",
    "lists and dicts that are empty at first": """
def stacked(x: Tensor) -> Tensor:
    found = []
    named = {}
    for k in range(3):
        found.append(x * k)
        named[k] = x
    return tg.stack(found) + named[1] @ tg.ones((3, 3))  # here

stacked(tg.ones((4, 8)))
""",
    "a configuration from a file": """
import json

class Loaded(nn.Module):
    def __init__(self, config: Any) -> None:
        self.up = nn.Linear(8, config["width"])
        self.down = nn.Linear(2 * config["width"], 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))  # here

config = json.loads('{"width": 5}')
Loaded(config)(tg.ones((4, 8)))
""",
    "a last block": """
def last(x: Tensor) -> Tensor:
    try:
        y = x.sum(axis=0)
    finally:
        print(x @ tg.ones((3, 3)))  # here
    return y

last(tg.ones((4, 8)))
""",
    "a layer that does not fit with the one before, whose input is unknown": """
class Net(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))  # here

Net(4, 5, 3)(tg.tensor(json.loads("[[1.0, 2.0, 3.0, 4.0]]")))
""",
    "an array of an environment that an agent gets in a loop": """
import numpy as np
from numpy.typing import NDArray

class Grid:
    def __init__(self, size: int) -> None:
        self.size = size
        self.steps = 0

    def reset(self) -> NDArray[np.float32]:
        return self.observe()

    def observe(self) -> NDArray[np.float32]:
        return np.zeros((2, self.size), np.float32)

    def step(self, action: int) -> tuple[NDArray[np.float32], bool]:
        self.steps += action
        return self.observe(), self.steps > 3

class Agent:
    def __init__(self, width: int) -> None:
        self.online = nn.Linear(width, 3)

    def act(self, state: NDArray[np.float32]) -> int:
        return int(self.online(tg.tensor(state)).argmax(axis=1)[0].item()) + 1  # here

def main() -> None:
    grid, agent = Grid(5), Agent(4)
    state, done, seen = grid.reset(), False, []
    while not done:
        action = agent.act(state)
        seen.append(action)
        following, done = grid.step(action)
        state = following

main()
""",
    "a method of what a function without tensors returns": """
@dataclass
class Rollout:
    seen: Tensor
    scores: Tensor

    def rows(self, count: int) -> "Rollout":
        return Rollout(self.seen[:count], self.scores[:count])

def collected(count: int, model: MLP) -> tuple[Rollout, float]:
    seen = tg.ones((count, 8))
    return Rollout(seen, model(seen)), 1.0

def loss(model: MLP, batch: Rollout) -> Tensor:
    return (model(batch.seen) - batch.scores[:, :3]).mean()  # here

def main() -> None:
    model = MLP(Config())
    for _ in range(2):
        rollout, _reward = collected(5, model)
        print(loss(model, rollout.rows(2)))

main()
""",
    "an item of a list of objects that a comprehension makes": """
class Ridge:
    def __init__(self, width: int, penalty: float) -> None:
        self.penalty = penalty
        self.weights = tg.zeros((width, 1))

    def predict(self, x: Tensor) -> Tensor:
        return x @ self.weights * self.penalty  # here

for epoch in range(2):
    ridges = [Ridge(4, penalty) for penalty in (0.1, 1.0)]
    best = ridges[epoch % 2]
    best.predict(tg.ones((2, 4)))
    best.predict(tg.ones((2, 5)))
""",
    "objects of one class in a loop": """
class Ridge:
    def __init__(self, width: int, penalty: float) -> None:
        self.penalty = penalty
        self.weights = tg.zeros((width, 1))

    def predict(self, x: Tensor) -> Tensor:
        return x @ self.weights * self.penalty  # here

ridges = [Ridge(4, penalty) for penalty in (0.1, 1.0)]
for ridge in ridges:
    ridge.predict(tg.ones((2, 5)))
""",
    "a configuration that a call gets behind starred tensors": """
TEXT = '{"width": 4, "steps": 2}'

class Net(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        self.up = nn.Linear(config["width"], 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

def pair(count: int) -> tuple[Tensor, Tensor]:
    return tg.ones((count, 5)), tg.zeros((count, 3))

def train(model: Net, x: Tensor, y: Tensor, config: dict[str, Any]) -> None:
    for _ in range(config["steps"]):
        tg.mse(model(x), y)

def main() -> None:
    config = json.loads(TEXT)
    model = Net(config)
    train(model, *pair(2), config)

main()
""",
    "a buffer that a function returns in a tuple, whose method replaces a tensor": """
class Rollout:
    def __init__(self, config: Config, rows: int) -> None:
        self.rewards = tg.zeros((rows, config.width))

    def put(self, t: int, reward: Tensor) -> None:
        self.rewards = self.rewards.at_set(t, reward)

    def returns(self) -> Tensor:
        return self.rewards @ tg.ones((5, 1))  # here

def collect(config: Config) -> tuple[Rollout, Tensor]:
    rollout = Rollout(config, 3)
    for t in range(3):
        rollout.put(t, tg.ones((config.width,)))
    return rollout, tg.ones((3,))

def main() -> None:
    config = Config()
    for _ in range(2):
        rollout, _last = collect(config)
        rollout.returns()

main()
""",
    "attributes that a method assigns before it reads them": """
class Scaler:
    def __init__(self) -> None:
        self.mean = tg.zeros((6,))
        self.scale: Tensor = tg.ones((6,))

    def fit(self, x: Tensor) -> Tensor:
        self.mean, self.scale = x.mean(axis=0), x.max(axis=0)
        for _ in range(2):
            x = (x - self.mean) / self.scale
        return x @ tg.diag(self.scale)[:3]  # here

Scaler().fit(tg.ones((4, 6)))
""",
    "a configuration in a text": """
TEXT = '{"width": 8, "hidden": [5, 6], "out": null}'

class Net(nn.Module):
    def __init__(self, config: Config, hidden: int) -> None:
        self.up = nn.Linear(config.width, hidden)
        self.down = nn.Linear(config.hidden, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))  # here

options = json.loads(TEXT)
width = options["width"]
config = Config(**json.loads('{"width": 8, "hidden": 5}'))

def main() -> None:
    Net(config, options["hidden"][1])(tg.ones((4, width)))

main()
""",
    "a configuration of TOML": """
import tomllib

config = tomllib.loads("[model]\\nwidth = 5\\n")["model"]

def run(x: Tensor) -> Tensor:
    return x @ nn.Linear(config["width"], 3)(tg.ones((8, 6)))  # here

run(tg.ones((4, 8)))
""",
    "numbers of a configuration in calls of NumPy": """
import numpy as np

config = json.loads('{"count": 7, "rows": 3}')

def applied(x: Tensor) -> Tensor:
    return x @ tg.ones((7, 2), np.float64)  # here

def main() -> None:
    rng = np.random.default_rng(0)
    count = 2 * config["count"]
    order = rng.permutation(count)
    table = np.linspace(0, 1, count * config["rows"]).reshape(count, config["rows"])[order]
    applied(tg.tensor(table))

main()
""",
    "a list for any number of parameters, one too few": """
def joined(x: Tensor, *parts: Tensor) -> Tensor:
    return tg.concat((x, *parts), axis=1) @ tg.ones((8, 2))  # here

parts = [tg.ones((2, 3)), tg.ones((2, 4))]
joined(*parts)
""",
    "a function without tensors that calls another one": """
def scored(model: MLP, x: Tensor) -> Tensor:
    return model(x) @ tg.ones((7, 2))  # here

def report(model: MLP, rows: int) -> None:
    result = scored(model, tg.ones((rows, 8)))
    print(result.shape)

report(MLP(Config()), 4)
""",
    "the weight of a layer of a model that a call gives": """
class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.table = nn.Embedding(7, width)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids)

def similar(net: Net, row: int) -> Tensor:
    table = net.table.weight
    return table[row] @ table  # here

similar(Net(4), 2)
""",
    "batches of as many rows as an array has": """
import numpy as np
from numpy.typing import NDArray

def train(x: NDArray[np.float64], size: int) -> None:
    n = len(x)
    order = np.random.default_rng(0).permutation(n)
    for i in range(0, n, size):
        rows = order[i : i + size]
        tg.tensor(x[rows]).T @ tg.ones((5, 1), np.float64)  # here

train(np.ones((12, 3)), 4)
""",
    "the rows of a named tuple that a function returns": """
class Rollout(NamedTuple):
    seen: Tensor
    scores: Tensor

    def rows(self, count: int) -> "Rollout":
        return Rollout(*(field[:count] for field in self))

def collected(count: int) -> Rollout:
    return Rollout(tg.ones((count, 8)), tg.ones((count,)))

def loss(model: MLP, batch: Rollout) -> Tensor:
    return (model(batch.seen).T - batch.scores).mean() + batch.scores @ batch.seen.T  # here

def main() -> None:
    rollout = collected(5)
    for count in range(2, 4):
        print(count, loss(MLP(Config()), rollout.rows(2)))

main()
""",
    "models of several classes in a dictionary": """
class Wide(nn.Module):
    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width, 9)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

class Narrow(nn.Module):
    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

def loss(model: nn.Module, x: Tensor) -> Tensor:
    return model(x) @ tg.ones((9, 1))  # here

def main() -> None:
    models = {"wide": Wide(3), "narrow": Narrow(3)}
    for name, model in models.items():
        print(name, loss(model, tg.ones((4, 3))).shape)

main()
""",
    "any model that a function gets beside tensors of known types": """
from typing import Literal as L
from tapegrad import NoneTape, Shape

class Scorer(nn.Module):
    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width, 9)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

def score(model: nn.Module, x: Tensor[Shape[L[4], L[3]], NoneTape]) -> float:
    y = model(x)
    return float((y @ tg.ones((8, 1))).sum())  # here

def main() -> None:
    score(Scorer(3), tg.ones((4, 3)))

main()
""",
    "any function that a function gets beside tensors of known types": """
from collections.abc import Callable
from typing import Literal as L
from tapegrad import NoneTape, Shape

def narrow(x: Tensor) -> Tensor:
    return x[:, :2]

def applied(f: Callable[[Tensor], Tensor], x: Tensor[Shape[L[4], L[3]], NoneTape]) -> float:
    return float((f(x) @ tg.ones((3, 1))).sum())  # here

applied(narrow, tg.ones((4, 3)))
""",
    "what a call outside of functions reads before mypy does": """
import numpy as np
from numpy.typing import NDArray

class Pole:
    def __init__(self) -> None:
        self.state = np.zeros(4, np.float32)

    def reset(self) -> NDArray[np.float32]:
        self.state = np.random.default_rng(0).normal(size=4).astype(np.float32)
        return self.state

    def step(self, force: float) -> NDArray[np.float32]:
        x, v, angle, w = self.state
        self.state = np.array([x + 0.1 * v, v + force, angle + 0.1 * w, w], np.float32)
        return self.state

def act(x: Tensor) -> Tensor:
    return nn.Linear(3, 2)(x)  # here

def main(count: int) -> None:
    state = Pole().reset()
    act(tg.tensor(state))

main(8)
""",
    "a generator over the rows of data of unknown length": """
from collections.abc import Iterator
import numpy as np
from numpy.typing import NDArray

def load() -> NDArray[np.float32]:
    return np.asarray(json.loads("[[1.0, 2.0], [3.0, 4.0]]"), np.float32)

def iterate(x: NDArray[np.float32], size: int, rng: np.random.Generator | None) -> Iterator[Tensor]:
    order = np.arange(len(x))
    if rng is not None:
        rng.shuffle(order)
    count = len(x)
    for start in range(0, count, size):
        yield tg.tensor(x[order[start : start + size]])

def train(model: MLP, x: NDArray[np.float32]) -> None:
    for batch in iterate(x, 2, None):
        model(batch) @ tg.ones((3, 1))  # here

def main() -> None:
    train(MLP(Config(2)), load())

main()
""",
    "layers that the constructor of a container passes on": """
class Block(nn.Sequential):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.blocks = [Block(width, 4 * width) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)  # here
        return x

Net(8)(tg.ones((2, 9)))
""",
    "a named tuple that a function fills by a generator": """
import numpy as np

class Schedule(NamedTuple):
    signal: Tensor
    noise: Tensor

    @property
    def steps(self) -> int:
        return len(self.signal)

    def noised(self, x: Tensor, t: Tensor) -> Tensor:
        return extract(self.signal, t, x.ndim) * x + extract(self.noise, t, x.ndim)

def extract(values: Tensor, t: Tensor, ndim: int) -> Tensor:
    return values[t].reshape(t.shape[0], *((1,) * (ndim - 1)))

def schedule(steps: int) -> Schedule:
    betas = np.linspace(0.1, 0.9, steps)
    arrays = [np.sqrt(betas), np.sqrt(1.0 - betas)]
    return Schedule(*(tg.tensor(one, np.float32) for one in arrays))

class Trainer:
    def __init__(self, schedule: Schedule, images: Tensor) -> None:
        self.schedule = schedule
        self.images = images

    def loss(self) -> Tensor:
        t = tg.zeros((self.images.shape[0],), np.int64)
        x = self.schedule.noised(self.images, t)
        return x @ tg.ones((self.schedule.steps, 1))  # here

Trainer(schedule(50), tg.ones((8, 1, 4, 4))).loss()
""",
    "an object of tensors that an earlier statement of a body makes": """
class Scaler:
    def __init__(self, x: Tensor) -> None:
        self.mean = x.mean(axis=0, keepdims=True)
        self.deviation = x.std(axis=0, keepdims=True)

    def __call__(self, x: Tensor) -> Tensor:
        return (x - self.mean) / (self.deviation + 1.0)

def scaled(x: Tensor, rows: Tensor) -> Tensor:
    scale = Scaler(x[rows])
    return scale(x[rows]) @ tg.ones((5, 1))  # here

scaled(tg.ones((8, 6)), tg.tensor([1, 2, 3]))
""",
    "the folds of a cross-validation": """
from collections.abc import Iterator
import numpy as np

def folds(n: int, count: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    parts = np.array_split(rng.permutation(n), count)
    for i, held_out in enumerate(parts):
        rest = np.concatenate([part for j, part in enumerate(parts) if j != i])
        yield tg.tensor(rest), tg.tensor(held_out)

def validate(config: Config, x: Tensor) -> float:
    model = nn.Linear(x.shape[1], config.hidden)
    total = 0.0
    for train, test in folds(len(x), 4, np.random.default_rng(0)):
        total += model(x[train]).sum().item()
        total += (model(x[test]) @ tg.ones((6, 1))).sum().item()  # here
    return total

CONFIGS = [Config(hidden=6), Config()]

def main() -> None:
    x = tg.ones((20, 3))
    print([validate(config, x) for config in CONFIGS])

main()
""",
    "arrays in attributes that a generator fills and methods keep": """
import numpy as np
from numpy.typing import NDArray

class Points:
    columns, actions = 2, 5

    def __init__(self, count: int) -> None:
        self.place, self.goal = (np.zeros((count, self.columns), np.float32) for _ in range(2))

    def step(self, limit: float) -> NDArray[np.float32]:
        self.place = np.clip(0.8 * self.place, -limit, limit)
        return np.concatenate([self.place, self.goal - self.place], axis=1)

def act(x: Tensor) -> Tensor:
    return nn.Linear(Points.actions, 2)(x)  # here

points = Points(3)
act(tg.tensor(points.step(1.0)))
""",
    "entries of a dictionary that a comprehension computes": """
import numpy as np
from numpy.typing import NDArray

Features = dict[str, Tensor]

def rows(columns: dict[str, NDArray[np.float32]], count: int) -> Features:
    found: Features = {}
    for name, column in columns.items():
        found[name] = tg.tensor(column[:count])
    return found

def traced(features: Features) -> Features:
    return {name: x.trace() for name, x in features.items()}

def total(features: Features) -> Tensor:
    return features["a"] @ tg.ones((3, 1)) + features["b"] @ tg.ones((3, 1))  # here

columns = {"a": np.ones((8, 3), np.float32), "b": np.ones((8, 4), np.float32)}
total(traced(rows(columns, 5)))
""",
    "dictionaries of arrays in a dataclass that a function returns": """
import numpy as np
from numpy.typing import NDArray

COUNTS = {"user": 40, "country": 12, "device": 4}

@dataclass
class Tables:
    users: dict[str, NDArray[np.int64]]
    numeric: NDArray[np.float32]

def tables(seed: int) -> Tables:
    rng = np.random.default_rng(seed)

    def columns(counts: dict[str, int], key: str) -> dict[str, NDArray[np.int64]]:
        found = {name: rng.integers(0, count, counts[key]) for name, count in counts.items()}
        found[key] = np.arange(counts[key])
        return found

    users = columns(COUNTS, "user")
    return Tables(users, rng.normal(size=(len(users["user"]), 3)).astype(np.float32))

def rows_of(columns: dict[str, NDArray[np.int64]], rows: NDArray[np.int64]) -> dict[str, Tensor]:
    return {name: tg.tensor(column[rows]) for name, column in columns.items()}

def summed(found: Tables, batch: dict[str, Tensor]) -> Tensor:
    first = batch["country"] + batch["user"]
    return first + tg.tensor(found.users["user"])  # here

def main() -> None:
    found = tables(0)
    summed(found, rows_of(found.users, np.arange(40)))
    summed(found, rows_of(found.users, np.arange(7)))

main()
""",
    "a dictionary of tensors in a dataclass": """
@dataclass
class Batch:
    features: dict[str, Tensor]
    target: Tensor

def batch_of(count: int) -> Batch:
    features = {}
    features["image"] = tg.ones((count, 8))
    features["length"] = tg.ones(count)
    return Batch(features, tg.ones((count, 2)))

def loss(batch: Batch, weight: Tensor) -> Tensor:
    return ((batch.features["image"] @ weight) * batch.features["length"] - batch.target).sum()  # here

loss(batch_of(2), tg.ones((8, 2)))
loss(batch_of(5), tg.ones((8, 2)))
""",
    "a dictionary of arrays that a function without parameters returns": """
import numpy as np
from numpy.typing import NDArray

def arrays() -> dict[str, NDArray[np.float32]]:
    return {"x": np.ones((6, 3), np.float32), "y": np.ones(6, np.float32)}

def product(data: dict[str, NDArray[np.float32]]) -> Tensor:
    y = tg.ones((2, 6)) @ tg.tensor(data["x"])
    return y @ tg.tensor(data["y"])  # here

product(arrays())
""",
    "sorted names of layers and dictionaries that a generator yields in pairs": """
from collections.abc import Iterator

class Fields(nn.Module):
    def __init__(self, counts: dict[str, int]) -> None:
        self.names = sorted(counts)
        self.others = [*counts]
        self.tables = {name: nn.Embedding(count, 2 * at + 3) for at, (name, count) in enumerate(counts.items())}

    def forward(self, features: dict[str, Tensor]) -> Tensor:
        first = [self.tables[name](features[name]) for name in self.names]
        second = [self.tables[name](features[name]) for name in self.others]
        return tg.concat(first, axis=-1) + tg.concat(second, axis=-1) @ tg.ones((8, 9))  # here

def pairs(count: int) -> Iterator[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    for _ in range(2):
        yield {"b": tg.arange(count), "a": tg.arange(count), "n": tg.ones((count, 2))}, {"n": tg.ones((count, 2))}

def main() -> None:
    model = Fields({"b": 7, "a": 8})
    for features, _ in pairs(4):
        model(features)

main()
""",
    "a dictionary of arrays that a comprehension makes": """
import numpy as np
from numpy.typing import NDArray

COUNTS = {"rows": 6, "columns": 4}

def product(x: NDArray[np.float32], y: NDArray[np.float32]) -> Tensor:
    return tg.tensor(x) @ tg.tensor(y)  # here

def main() -> None:
    tables = {name: np.full((6, 4), n, np.float32) for name, n in COUNTS.items()}
    product(tables["rows"], tables["columns"].T)
    product(tables["columns"], tables["rows"])

main()
""",
    "columns of a table that functions split, stack and put into a named tuple": """
from dataclasses import field
import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]

@dataclass(frozen=True)
class Columns:
    counts: dict[str, int] = field(default_factory=lambda: {"city": 12, "job": 7})
    numeric: tuple[str, ...] = ("age", "income", "visits")

class Rows(NamedTuple):
    categorical: dict[str, Tensor]
    numeric: Tensor
    labels: Tensor

def made_table(columns: Columns, rows: int, rng: np.random.Generator) -> Table:
    table: Table = {name: rng.integers(0, count, rows) for name, count in columns.counts.items()}
    for_age = rng.uniform(18, 80, rows)
    table["age"] = for_age.astype(np.float32)
    table["income"] = rng.lognormal(10.0, 0.5, rows).astype(np.float32)
    table["visits"] = rng.poisson(4.0, rows).astype(np.float32)
    effects = {name: rng.normal(0, 1, count) for name, count in columns.counts.items()}
    score = sum(effects[name][table[name]] for name in columns.counts)
    table["label"] = np.digitize(score, np.quantile(score, [0.5])).astype(np.int64)
    return table

def split(table: Table, fraction: float, rng: np.random.Generator) -> tuple[Table, Table]:
    order = rng.permutation(len(table["label"]))
    cut = int(len(order) * fraction)
    return {k: v[order[cut:]] for k, v in table.items()}, {k: v[order[:cut]] for k, v in table.items()}

def numeric_columns(table: Table, columns: Columns) -> NDArray[np.float32]:
    return np.stack([table[name] for name in columns.numeric], axis=1).astype(np.float32)

def to_rows(table: Table, columns: Columns) -> Rows:
    return Rows(
        categorical={name: tg.tensor(table[name]) for name in columns.counts},
        numeric=tg.tensor(numeric_columns(table, columns)),
        labels=tg.tensor(table["label"]),
    )

def scored(rows: Rows, weight: Tensor) -> Tensor:
    found = rows.numeric @ weight + rows.categorical["city"].astype(np.float32)[:, None]
    return found[:, 0] * rows.labels.astype(np.float32) - tg.ones(40)  # here

def main() -> None:
    columns = Columns()
    rng = np.random.default_rng(0)
    train, valid = split(made_table(columns, 50, rng), 0.2, rng)
    scored(to_rows(train, columns), tg.ones((3, 1)))
    scored(to_rows(valid, columns), tg.ones((3, 1)))

main()
""",
    "arrays in a named tuple that a function returns": """
import numpy as np
from numpy.typing import NDArray

class Picture(NamedTuple):
    image: NDArray[np.float32]
    boxes: NDArray[np.float32]
    label: int

def drawn(size: int, rng: np.random.Generator) -> Picture:
    image = rng.normal(0, 0.1, (3, size, size)).astype(np.float32)
    return Picture(image, np.zeros((5, 4), np.float32), size)

def stacked(pictures: list[Picture], weight: Tensor) -> Tensor:
    images = tg.tensor(np.stack([picture.image for picture in pictures]))
    return tg.conv2d(images, weight).sum() + (images[:, 0] @ tg.ones((8, 1))).sum()  # here

def main() -> None:
    rng = np.random.default_rng(0)
    small = [drawn(8, rng) for _ in range(2)]
    large = [drawn(9, rng) for _ in range(2)]
    stacked(small, tg.ones((4, 3, 3, 3)))
    stacked(large, tg.ones((4, 3, 3, 3)))

main()
""",
    "configurations of a loop outside of functions": """
def run(config: Config, x: Tensor) -> Tensor:
    return MLP(config)(tg.ones((4, config.width))) @ x  # here

CONFIGS = [Config(), replace(Config(), hidden=3), Config(width=6)]

x = tg.ones((8, 1))
for config in CONFIGS[:2]:
    run(config, x)
for config in CONFIGS:
    print(config.width)
    print(run(config, x).shape)
""",
    "models of a comprehension in a function that nothing calls": """
def score(model: nn.Module, x: Tensor) -> Tensor:
    return model(x) @ tg.ones((8, 1))  # here

def scores() -> list[Tensor]:
    return [score(model, tg.ones((4, 3))) for model in (nn.Linear(3, 8), nn.Linear(3, 9))]

scores()
""",
    "the state of an environment that is computed from the one before": """
import numpy as np
from numpy.typing import NDArray

class Pole:
    def __init__(self) -> None:
        self.state = np.zeros(4, np.float32)

    def reset(self) -> NDArray[np.float32]:
        self.state = np.random.default_rng(0).normal(size=4).astype(np.float32)
        return self.state

    def step(self, force: float) -> NDArray[np.float32]:
        x, v, angle, w = self.state
        self.state = np.array([x + 0.1 * v, v + force, angle + 0.1 * w, w], np.float32)
        return self.state

def act(x: Tensor) -> Tensor:
    return nn.Linear(3, 2)(x)  # here

def main() -> None:
    act(tg.tensor(Pole().reset()))

main()
""",
    "an array that keeps its shape in a loop": """
import numpy as np

def applied(x: Tensor) -> Tensor:
    return x @ tg.ones((3, 2), np.float64)  # here

def main() -> None:
    state = np.zeros(4)
    for _ in range(3):
        state = np.tanh(state @ np.eye(4))
    applied(tg.tensor(state))

main()
""",
    "a model that a block with a seed makes": """
class Seeded(nn.Module):
    def __init__(self, width: int) -> None:
        with tg.random(1), open("/dev/null") as file:
            self.up = nn.Linear(width, 5)
            print(file)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

def make(width: int) -> tuple[Seeded, Tensor]:
    with tg.random(0):
        model = Seeded(width)
        rows = tg.ones((3, 4))
    return model, rows

def main() -> None:
    model, rows = make(4)
    model(tg.ones((3, 7)))

main()
""",
    "a method of a model that a function with known tensors calls": """
from typing import Literal as L
from typing import TypeVar
from tapegrad import NoneTape, Shape

N = TypeVar("N", bound=int)

class Named(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def scores(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.up(x), x

def accuracy(model: Named, x: Tensor[Shape[N, L[4]], NoneTape], count: int) -> float:
    scores, _ = model.scores(x)
    return scores.mean(axis=count).item()  # here

def main() -> None:
    accuracy(Named(4), tg.ones((5, 4)), 2)

main()
""",
    "a field that a function makes": """
def widths() -> list[int]:
    return [4, 5]

@dataclass
class Made:
    widths: list[int] = field(default_factory=widths)
    seeds: list[int] = field(default_factory=lambda: [0, 1])
    names: list[str] = field(default_factory=list)

class Head(nn.Module):
    def __init__(self, made: Made) -> None:
        self.up = nn.Linear(made.widths[0], 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

Head(Made())(tg.ones((2, 5)))
""",
    "a dictionary of numbers that a function returns": """
def sizes(width: int) -> dict[str, int]:
    options = {"width": width}
    options["hidden"] = 2 * width
    return options

class Head(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)  # here

def main() -> None:
    options = sizes(4)
    Head(options["hidden"])(tg.ones((2, 5)))

main()
""",
    "fewer rows than a batch has": """
from tapegrad import data

@dataclass(frozen=True)
class Plan:
    rows: int = 6
    batch: int = 4

def rows_of(plan: Plan) -> tuple[Tensor, Tensor]:
    x = tg.ones((plan.rows, 3))
    return x[: plan.rows // 2], x[plan.rows // 2 :]

def train(plan: Plan) -> None:
    rows, _ = rows_of(plan)
    for x in data.batches(rows, size=plan.batch):  # here
        print(x)

def main() -> None:
    train(Plan())

main()
""",
    "a data set without types": """
import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

def load(rows: int) -> tuple[Tensor, Tensor]:
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))[:rows]
    return tg.tensor(digits.data[order].astype(np.float32) / 16.0), tg.tensor(digits.target[order])

def loss(model: nn.Linear, x: Tensor, y: Tensor) -> Tensor:
    return tg.cross_entropy(model(x), y)  # here

def main() -> None:
    x, y = load(60)
    loss(nn.Linear(64, 10), x[:40], y[40:])

main()
""",
    "the length of a text": """
LETTERS = "abc"

class Sizes:
    words = len(LETTERS) + 2

class Net(nn.Module):
    def __init__(self, sizes: type[Sizes]) -> None:
        self.table = nn.Linear(sizes.words, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x)  # here

Net(Sizes)(tg.ones((2, 5)))
Net(Sizes)(tg.ones((2, 3)))
""",
    "parts of a tensor of unknown shape": """
class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 2 * width)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        signal, gate = tg.split(y, 2, axis=1)
        first, *others = tg.unstack(gate)
        h = self.up(x) * tg.sigmoid(signal.sum() + first.sum() + len(others))
        return h @ tg.ones((5, 3))  # here

Gated(4)(tg.ones((2, 4)), tg.tensor(json.loads("[[1.0, 2.0], [3.0, 4.0]]")))
""",
    "an array of type Any that a function gets": """
import numpy as np
from numpy.typing import NDArray

def law(x: NDArray[np.float64], levels: int) -> NDArray[np.float32]:
    codes: NDArray[np.float32] = np.clip(np.sign(x) * levels, 0, levels).astype(np.float32)
    return codes

def waves(count: int, steps: int) -> Tensor:
    rng = np.random.default_rng(0)
    base = (0.15 + 0.1 * rng.integers(0, 3, count))[:, None]
    wave = 0.6 * np.sin(base * np.arange(steps) + 1.0)
    return tg.tensor(law(wave, 3)) @ tg.ones((3, 3))  # here

waves(2, 4)
""",
    "a method of several objects of one class, for many shapes each": """
class Dilated(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        self.conv = nn.Conv1d(width, width, 2, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)  # here

class Stack(nn.Module):
    def __init__(self, width: int) -> None:
        self.layers = []
        for _ in range(2):
            for power in range(4):
                layer = Dilated(width, 2**power)
                self.layers.append(layer)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

stack = Stack(3)
for x in tg.ones((1, 3, 40)), tg.ones((2, 3, 41)), tg.ones((3, 3, 42)), tg.ones((4, 3, 43)):
    print(stack(x))
stack(tg.ones((5, 3, 44)))
stack(tg.ones((6, 3, 45)))
stack(tg.ones((7, 3, 45)))
stack(tg.ones((8, 3, 46)))
stack(tg.ones((9, 3, 47)))
stack(tg.ones((9, 4, 47)))
""",
    "sizes in a section of a configuration that a function gets as options": """
SETTINGS = '{"data": {"points": 4, "width": 6}}'

def drawn(points: int, width: int, seed: int) -> Tensor:
    return tg.ones((points, width)) @ tg.ones((5, 3))  # here

def main() -> None:
    config = json.loads(SETTINGS)
    print(drawn(**config["data"], seed=0))

main()
""",
    "an operation on a tensor and a number of type Any": """
NUMBERS = '{"classes": 2, "scale": 0.5, "rows": 3}'

def picked(labels: Tensor, scores: Tensor) -> Tensor:
    return scores.astype(labels.dtype) + labels  # here

def main() -> None:
    config = json.loads(NUMBERS)
    classes = config["classes"]
    wanted = tg.arange(5) % classes
    scores = tg.where(tg.zeros((3, 4)) > 0.5, classes, tg.ones((3, 4), tg.arange(3).dtype))
    picked(wanted, scores)

main()
""",
    "a tensor that the constructor of an object has made": """
class Schedule:
    def __init__(self, steps: int, last: float) -> None:
        self.steps = steps
        self.betas = tg.linspace(0.1, last, steps)
        self.alphas = 1.0 - self.betas

def denoised(plan: Schedule, x: Tensor) -> Tensor:
    for step in range(plan.steps):
        x = x * plan.alphas[step] + plan.betas  # here
    return x

denoised(Schedule(4, 0.2), tg.ones((3, 4)))
denoised(Schedule(5, 0.2), tg.ones((3, 4)))
""",
    "an array of the tuples in a dictionary": """
import numpy as np

PITCHES = {"up": (5, 25), "down": (25, 5), "stop": (30, 12)}

def spoken(x: Tensor) -> Tensor:
    table = np.array(list(PITCHES.values()), np.float64)
    return x @ tg.tensor(table, np.float32)  # here

spoken(tg.ones((4, 2)))
spoken(tg.ones((4, 5)))
""",
    "a taper as long as an option": """
import numpy as np

class Spectrum:
    def __init__(self, window: int, bands: int) -> None:
        self.window = window
        waves = np.sin(np.arange(window)[:, None] * np.arange(bands))
        self.sine = tg.tensor(np.hanning(window)[:, None] * waves, np.float32)

    def __call__(self, x: Tensor) -> Tensor:
        return tg.unfold(x, 1, self.window + 1, 2) @ self.sine  # here

Spectrum(6, 3)(tg.ones((2, 20)))
Spectrum(5, 3)(tg.ones((2, 20)))
""",
    "a buffer that a constructor makes of a given array": """
from typing import Any
import numpy as np

class Films:
    def __init__(self, films: int, topics: int) -> None:
        self.genres = np.zeros((films, topics), np.float32)

class Ranking(nn.Module):
    def __init__(self, genres: np.ndarray[Any, np.dtype[np.float32]], width: int) -> None:
        self.genres = nn.Buffer(tg.tensor(genres - genres.mean(axis=0)))
        self.tower = nn.Linear(5, width)

    def forward(self) -> Tensor:
        return self.tower(self.genres)  # here

films, others = Films(4, 5), Films(4, 6)
Ranking(films.genres, 3)()
Ranking(others.genres, 3)()
""",
    "a tensor in an attribute that is made of a given array": """
from typing import Any
import numpy as np

class Table:
    def __init__(self, rows: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        self.rows = tg.tensor(rows, np.float32)

    def times(self, x: Tensor) -> Tensor:
        return x @ self.rows  # here

Table(np.zeros((4, 5), np.float32)).times(tg.ones((2, 4)))
Table(np.zeros((3, 5), np.float32)).times(tg.ones((2, 4)))
""",
    "a list of sizes that a constructor passes to two functions": """
from typing import Any
import numpy as np

def tower(width: int, hidden: list[int], rng: np.random.Generator) -> nn.Sequential[Any]:
    layers: list[Any] = []
    for out in hidden[:-1]:
        layers += [nn.Linear(width, out, rng=rng), nn.ReLU()]
        width = out
    return nn.Sequential(*layers, nn.Linear(width, hidden[-1], rng=rng))

class Towers(nn.Module):
    def __init__(self, options: dict[str, Any]) -> None:
        rng = np.random.default_rng(1)
        self.left = tower(options["left"], options["hidden"], rng)
        self.right = tower(options["right"], options["hidden"], rng)

    def forward(self, x: Tensor) -> Tensor:
        return self.right(self.left(x))  # here

Towers({"left": 3, "right": 8, "hidden": [16, 8]})(tg.ones((2, 3)))
Towers({"left": 3, "right": 4, "hidden": [16, 8]})(tg.ones((2, 3)))
""",
    "arrays in attributes that are drawn by the sizes of a configuration": """
from typing import Any
import numpy as np

class Ratings:
    def __init__(self, settings: dict[str, Any]) -> None:
        rng = np.random.default_rng(0)
        taste = rng.normal(size=(settings["users"], 3))
        self.user = rng.integers(0, settings["users"], settings["ratings"])
        self.value = (taste[self.user].sum(axis=1) + 3.0).clip(1.0, 5.0).astype(np.float32)

    def times(self, x: Tensor) -> Tensor:
        return x * tg.tensor(self.value)  # here

Ratings({"users": 4, "ratings": 6}).times(tg.ones(6))
Ratings({"users": 4, "ratings": 7}).times(tg.ones(6))
""",
    "rows of an array that a sorted set picks": """
import numpy as np

def drawn(liked: dict[int, set[int]], x: Tensor) -> Tensor:
    rng, films = np.random.default_rng(0), np.ones((4, 6), np.float32)
    rows = np.stack([films[sorted(liked[user])].mean(axis=0) for user in range(3)])
    picked = np.array([rng.choice(sorted(liked[user])) for user in range(3)])
    return x @ tg.tensor(rows, np.float32)[tg.tensor(picked)]  # here

liked = {0: {0, 1}, 1: {1}, 2: {2}}
drawn(liked, tg.ones((2, 3)))
drawn(liked, tg.ones((2, 4)))
""",
    "an array that mypy takes for Any where a function returns it": """
import numpy as np

def directions(kind: str, count: int) -> np.ndarray:
    found = np.ones((count, 3))
    if kind:
        found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found * 2.0

def cloud(count: int) -> Tensor:
    return tg.tensor(directions(sys.argv[-1], count)).reshape((3, 4))  # here

cloud(4)
cloud(5)
""",
    "a size that a function declares as int": """
from typing import Literal as L
from tapegrad import NoneTape, Shape

def grid(size: int) -> Tensor[Shape[int, L[2]], NoneTape]:
    x, t = tg.meshgrid(tg.linspace(0, 1, size), tg.linspace(0, 1, size))
    return tg.stack([x.flatten(), t.flatten()], axis=1)

def twice(x: Tensor[Shape[int, L[2]], NoneTape]) -> tuple[Tensor[Shape[int, L[2]], NoneTape], int]:
    both: Tensor[Shape[int, L[2]], NoneTape] = tg.concat([x, x])
    return both.reshape((3, 6)), len(both)  # here

twice(grid(9)[72:])
twice(grid(3))
""",
    "an array of the branch that a call takes": """
import numpy as np

def points(kind: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "plane":
        found = rng.normal(size=(count, 2))
    elif kind == "cube":
        found = rng.uniform(-1, 1, (count, 3))
        found *= 2.0
    else:
        found = rng.normal(size=count)
    return found + 1.0

def cloud(kind: str) -> Tensor:
    return tg.tensor(points(kind, 6)).reshape((6, 2))  # here

cloud("plane")
cloud("cube")
""",
    "a result whose declaration is wrong for the numbers of a call": """
from typing import Literal as L
from tapegrad import NoneTape, Shape

def grid(size: int) -> Tensor[Shape[int, L[2]], NoneTape]:
    x, t = tg.meshgrid(tg.linspace(0, 1, size), tg.linspace(0, 1, size))
    return tg.stack([x.flatten(), t.flatten()])

def total(size: int) -> Tensor:
    return grid(size) @ tg.ones((size * size, 3)) @ tg.ones((2, size))  # here

grid(3) @ tg.ones((9, 3))
total(3)
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all programs, which one run of mypy checks."""
    folder = tmp_path_factory.mktemp("bodies")
    write_settings(folder)
    changed = {f"changed_{n}": ACCEPTED.replace(old, new) for n, (old, new) in enumerate(CHANGES)}
    uncertain = {name.replace(" ", "_"): MODEL + program for name, program in (UNCERTAIN | SURE).items()}
    for name, text in {
        "accepted": ACCEPTED,
        "twice": TWICE,
        "assigned": MODEL + ASSIGNED,
        "rejected": MODEL + REJECTED,
        "foreign": FOREIGN,
        "other": OTHER_LAYER,
        **changed,
        **uncertain,
    }.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, list[Report]]:
    found: dict[str, list[Report]] = {path.stem: [] for path in folder.glob("*.py")}
    for report in run_mypy(["--config-file", "mypy.ini", *(f"{name}.py" for name in found)], folder=folder):
        if report.code != "tapegrad-unused":
            found[Path(report.file).stem].append(report)
    return found


def run(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # for the dataclass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path)])  # some parse options
        spec.loader.exec_module(module)


def test_a_model_that_runs_is_accepted(said: dict[str, list[Report]]) -> None:
    assert said["accepted"] == []


@pytest.mark.parametrize("name", SURE)
def test_a_body_fails_if_all_ways_through_it_do(folder: Path, said: dict[str, list[Report]], name: str) -> None:
    path = folder / f"{name.replace(' ', '_')}.py"
    with pytest.raises((TapegradError, RuntimeError)):
        run(path)

    (error, _) = said[path.stem]

    assert (error.code, "# here" in path.read_text().splitlines()[error.line - 1]) == ("tapegrad-shape", True)


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_an_error_is_at_the_line_that_raises_it(folder: Path, said: dict[str, list[Report]], number: int) -> None:
    path = folder / f"changed_{number}.py"
    with pytest.raises(TapegradError) as caught:
        run(path)
    lines = [frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == str(path)]

    errors = [one for one in said[path.stem] if one.kind == "error"]

    assert [(one.text, one.line, one.code) for one in errors] == [(str(caught.value), lines[-1], "tapegrad-shape")]


def test_a_note_says_which_calls_lead_to_the_error(folder: Path, said: dict[str, list[Report]]) -> None:
    lines = (folder / "changed_1.py").read_text().splitlines()
    at = [lines.index(line) + 1 for line in lines if "block(x)" in line or "model(tg.ones" in line]

    error, note = said["changed_1"]

    assert error.text == "MLP.down Linear(8, 8): x is (4, 5) but (..., 8) is expected: axis -1 is 5, not 8"
    assert (note.kind, note.line, note.text) == ("note", error.line, f"in the call on line {at[0]}, {at[1]}")


def test_the_first_of_several_errors_on_a_line_is_shown_also_if_its_result_is_assigned(
    said: dict[str, list[Report]],
) -> None:
    error, note = said["assigned"]

    assert error.text == "MLP.up Linear(6, 5): x is (4, 9) but (..., 6) is expected: axis -1 is 9, not 6"
    assert note.text == f"in the call on line {len(MODEL.splitlines()) + 1}"


def test_a_body_is_not_read_for_a_tensor_of_another_shape_than_is_declared(said: dict[str, list[Report]]) -> None:
    lines = (MODEL + REJECTED).splitlines()
    places = [line for line, text in enumerate(lines, 1) if text.endswith("# here")]

    assert [one.line for one in said["rejected"]] == places


def test_an_error_of_the_body_itself_is_reported_once(said: dict[str, list[Report]]) -> None:
    (error,) = [one for one in said["twice"] if one.kind == "error"]

    assert error.text == "matmul: inner sizes differ: x (2, 5) has 5 columns but y (4, 2) has 4 rows"


@pytest.mark.parametrize("name", UNCERTAIN)
def test_a_program_that_runs_is_no_error(folder: Path, said: dict[str, list[Report]], name: str) -> None:
    run(folder / f"{name.replace(' ', '_')}.py")

    assert said[name.replace(" ", "_")] == []


@needs_bodies_of_other_files
def test_an_error_in_a_body_of_another_file_is_at_the_call(said: dict[str, list[Report]]) -> None:
    model = [
        number for number, line in enumerate(ACCEPTED.splitlines(), 1) if "self.up(x)" in line or "block(x)" in line
    ]
    calls = [number for number, line in enumerate(FOREIGN.splitlines(), 1) if "4, 9" in line]

    errors = [(one.line, one.text) for one in said["foreign"] if one.kind == "error"]

    reason = "MLP.up Linear(8, 5): x is (4, 9) but (..., 8) is expected: axis -1 is 9, not 8"
    assert errors == [
        (calls[0], f"line {model[0]} of accepted.py: {reason}"),
        (calls[1], f"line {model[0]} of accepted.py, called on line {model[1]}: {reason}"),
        (calls[2], f"Sequential[1] MLP: line {model[0]} of accepted.py: {reason}"),
    ]


@needs_bodies_of_other_files
def test_a_body_of_another_file_gives_the_shape_of_a_result(said: dict[str, list[Report]]) -> None:
    shapes = [one.text for one in said["foreign"] if one.kind == "note"]

    assert shapes == [
        f"Revealed shape is {shape} float32, no tape" for shape in ("(6, 5)", "(4, 8)", "(4, 3)", "(4, 6)", "(2, 3)")
    ]


@needs_bodies_of_other_files
def test_a_shape_that_a_body_reveals_is_that_of_each_call(tmp_path: Path) -> None:
    write_settings(tmp_path)
    (tmp_path / "net.py").write_text(
        "import tapegrad as tg\nfrom tapegrad import Tensor, nn\n\n\nclass Net(nn.Module):\n"
        "    def __init__(self, width: int) -> None:\n        self.up = nn.Linear(width, 5)\n\n"
        "    def forward(self, x: Tensor) -> Tensor:\n"
        "        x = self.up(x)\n        tg.reveal_shape(x)\n        return self.up(x)\n"
    )
    (tmp_path / "train.py").write_text(
        "import tapegrad as tg\nfrom net import Net\nfrom tapegrad import Tensor\n\n\n"
        "def run(x: Tensor) -> Tensor:\n    y = tg.relu(tg.reveal_shape(x))\n    return Net(5)(y)\n\n\n"
        "def twice(x: Tensor) -> Tensor:\n    return run(run(x))\n\n\n"
        "run(tg.ones((2, 5)))\ntwice(tg.ones((3, 4, 5)))\nNet(4)(tg.ones((2, 4)))\n"
    )

    reports = run_mypy(["--config-file", "mypy.ini", "train.py"], folder=tmp_path)

    said = "Revealed shape is ({}) float32, no tape".format
    assert sorted((one.line, one.text) for one in reports if one.kind == "note") == [
        (7, "Revealed shape is (...) ?, any tape"),
        (7, f"{said('2, 5')}, in the call on line 15"),
        (7, f"{said('3, 4, 5')}, in the call on line 12, 16"),
        (8, "line 11 of net.py: Revealed shape is (..., 5) float32, any tape"),
        (8, f"line 11 of net.py: {said('2, 5')}, in the call on line 15"),
        (8, f"line 11 of net.py: {said('3, 4, 5')}, in the call on line 12, 16"),
        (11, "Revealed shape is (..., 5) float32, any tape"),  # of net.py
        (17, f"line 11 of net.py: {said('2, 5')}"),
    ]


@needs_bodies_of_other_files
def test_an_attribute_that_the_file_of_the_call_assigns_is_unknown(
    folder: Path, said: dict[str, list[Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    run(folder / "other.py")

    assert said["other"] == []


@pytest.mark.parametrize("use", ["kept", "kept.append()", "len(kept)", "kept.absent"])
def test_a_list_that_stays_empty_in_a_body_is_no_internal_error(tmp_path: Path, use: str) -> None:
    write_settings(tmp_path)
    (tmp_path / "use.py").write_text(
        "import tapegrad as tg\nfrom tapegrad import Tensor\n\n\n"
        f"def doubled(x: Tensor) -> Tensor:\n    kept = []\n    for _ in range(2):\n        x = x + x\n        {use}\n"
        "    return x\n\n\ndoubled(tg.ones((3,)))\n"
    )

    reports = run_mypy(["--config-file", "mypy.ini", "use.py"], folder=tmp_path)

    assert "Need type annotation" in reports[0].text


@needs_bodies_of_other_files
def test_a_function_of_another_file_reaches_tensors_by_the_objects_that_it_gets(tmp_path: Path) -> None:
    write_settings(tmp_path)
    (tmp_path / "agents.py").write_text(
        "import numpy as np\nimport tapegrad as tg\nfrom tapegrad import Tensor, nn\n\n\n"
        "class Words:\n    def __init__(self, words: list[str]) -> None:\n        self.words = words\n\n"
        "    def __len__(self) -> int:\n        return len(self.words)\n\n\n"
        "class Agent:\n    def __init__(self, width: int) -> None:\n        self.width = width\n"
        "        self.net = nn.Linear(width, 3)\n\n"
        "    def act(self, words: Words) -> None:\n        self.put(tg.ones((2, len(words))))\n\n"
        "    def put(self, x: Tensor) -> None:\n        self.net(x)\n\n\n"
        "def train(agent: Agent, words: Words) -> None:\n    agent.act(words)\n"
    )
    program = 'from agents import Agent, Words, train\n\ntrain(Agent(2), Words(["a", "b"]))\n'

    def said(text: str) -> list[str]:
        (tmp_path / "run.py").write_text(text)
        reports = run_mypy(["--config-file", "mypy.ini", "run.py"], folder=tmp_path)
        return [one.text.partition(": ")[2] for one in reports]

    cold = said(program)
    warm = said(f"{program}\ntrain(Agent(2), Words([]))\n")
    edited = said(f"{program}\ntrain(Agent(12), Words([]))\n")  # mypy sees an edit at once by the length

    wrong = "Agent.net Linear({0}, 3): x is (2, 0) but (..., {0}) is expected: axis -1 is 0, not {0}"
    assert (cold, warm, edited) == ([], [wrong.format(2)], [wrong.format(12)])


@needs_bodies_of_other_files
def test_a_class_of_a_package_is_read_through_its_init_file(tmp_path: Path) -> None:
    write_settings(tmp_path, f"{SETTINGS}\n[mypy-nets.*]\nwarn_unused_ignores = False\n")
    package = tmp_path / "nets"
    package.mkdir()
    (package / "__init__.py").write_text("from .mlp import MLP as MLP\n")
    (package / "blocks.py").write_text(
        "import tapegrad as tg\nfrom tapegrad import Tensor\n\n\n"
        "def squared(x: Tensor) -> Tensor:\n    return x @ tg.ones((5, 5))\n"
    )
    (package / "mlp.py").write_text(
        "from tapegrad import Tensor, nn\n\nfrom . import blocks\n\n\n"
        "class MLP(nn.Module):\n    def __init__(self, width: int) -> None:\n        self.up = nn.Linear(width, 5)\n\n"
        "    def forward(self, x: Tensor) -> Tensor:\n"
        "        blocks.squared(x)  # type: ignore[tapegrad-shape]\n        return blocks.squared(self.up(x))\n"
    )
    (tmp_path / "train.py").write_text(
        "import tapegrad as tg\nfrom nets import MLP\n\n"
        "tg.reveal_shape(MLP(5)(tg.ones((2, 5))))\nMLP(4)(tg.ones((2, 4)))\n"
    )

    def said() -> list[tuple[int, str]]:
        reports = run_mypy(["--config-file", "mypy.ini", "train.py"], folder=tmp_path)
        return [(one.line, one.text) for one in reports]

    cold = said()
    (tmp_path / "train.py").write_text(f"{(tmp_path / 'train.py').read_text()}\n")
    warm = said()
    (package / "blocks.py").write_text((package / "blocks.py").read_text().replace("(5, 5)", "(5, 16)"))
    edited = said()  # mypy does not see an edit of the same length within a second

    assert cold == warm == [(4, "Revealed shape is (2, 5) float32, no tape")]
    assert edited == [(4, "Revealed shape is (2, 16) float32, no tape")]


@needs_bodies_of_other_files
def test_numbers_of_a_configuration_in_other_files_follow_edits_of_them(tmp_path: Path) -> None:
    write_settings(tmp_path)
    (tmp_path / "base.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Base:\n    width: int = 8\n\n"
        "    @property\n    def half(self) -> int:\n        return self.width // 2\n"
    )
    (tmp_path / "config.py").write_text(
        "from dataclasses import dataclass, field\n\nfrom base import Base\n\n\n@dataclass(frozen=True)\n"
        "class Config(Base):\n    heads: int = field(default=2)\n    inner: Base = Base(6)\n"
    )
    (tmp_path / "train.py").write_text(
        "import tapegrad as tg\nfrom config import Config\n\nconfig = Config()\n"
        "tg.reveal_shape(tg.ones((config.width, config.half, config.heads, config.inner.half)))\n"
    )

    def shape_after(file: str = "train.py", old: str = "", new: str = "") -> str:
        path = tmp_path / file
        path.write_text(path.read_text().replace(old, new))
        (report,) = run_mypy(["--config-file", "mypy.ini", "train.py"], folder=tmp_path)
        return report.text.removeprefix("Revealed shape is ").removesuffix(" float32, no tape")

    assert shape_after() == "(8, 4, 2, 3)"
    assert shape_after("base.py", "= 8", "= 12") == "(12, 6, 2, 3)"
    assert shape_after("base.py", "// 2", "// (3)") == "(12, 4, 2, 2)"
    assert shape_after("config.py", "=2", "=10") == "(12, 4, 10, 2)"
    assert shape_after("config.py", "Base(6)", "Base(15)") == "(12, 4, 10, 5)"


@needs_bodies_of_other_files
def test_a_body_is_read_after_the_project_and_its_cache_have_moved(tmp_path: Path) -> None:
    write_settings(tmp_path)
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "halves.py").write_text(
        "from tapegrad import Tensor\n\n\ndef halved(x: Tensor) -> Tensor:\n    return x * 0.5\n"
    )
    program = "import tapegrad as tg\nfrom halves import halved\n\ntg.reveal_shape(halved(tg.ones((2, 5))))\n"

    def said(folder: Path, text: str) -> list[str]:
        (folder / "train.py").write_text(text)
        arguments = ["--config-file", str(tmp_path / "mypy.ini"), str(folder / "train.py")]
        return [one.text for one in run_mypy(arguments, folder=tmp_path)]

    before = said(old, program)
    old.rename(new)
    after = said(new, f"{program}\n")

    assert before == after == ["Revealed shape is (2, 5) float32, no tape"]

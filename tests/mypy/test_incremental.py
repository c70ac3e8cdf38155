"""Incremental mypy: after random edits a warm cache, the daemon and a fresh run report the same.

    python tests/mypy/test_incremental.py [edits] [--seed SEED] [--workers]

Many programs are edited in each step, so that one run of mypy checks one edit of each. The expected reports also come
from a single fresh run, over every state of every program as files with names of their own.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
from collections import defaultdict
from itertools import chain, product
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from mypy.plugin import Plugin

from tests.mypy.programs import RUN_DAEMON, python
from tests.warm_mypy_cache import write_settings

MODULES: Final = r"\b(sizes|layers|use|settings|helpers|models)\b"
STEPS: Final = 10  # edits of one program
AT_ONCE: Final = 400  # edits after which mypy starts with no cache

Choice: TypeAlias = tuple[str, ...]
Program: TypeAlias = dict[str, list[str]]  # by file, what stands in each of its places
Files: TypeAlias = dict[str, str]

HEAD: Final = """from typing import Any, Final, Generic, Literal as L, TypeVar, overload
from typing_extensions import TypeAliasType
import numpy as np
import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, OwnedTape, Shape, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
S = TypeVar("S", bound=tuple[Any, ...])
"""

SIZES: Final[list[Choice]] = [
    (HEAD,),
    ("Eight = L[8]", "Eight = L[7]", "Eight = int", ""),
    (
        "Row = Tensor[Shape[N, L[8]], NoneTape]",
        "Row = Tensor[Shape[N, L[7]], NoneTape]",
        "Row = Tensor[Shape[N, L[8]], OwnedTape]",
        "Row = Tensor[Shape[N, L[8]], NoneTape, np.float64]",
        "Row = Tensor[Shape[N, Eight], NoneTape]",
        'Row = TypeAliasType("Row", Tensor[Shape[N, L[8]], NoneTape], type_params=(N,))',
        'Row = TypeAliasType("Row", Tensor[Shape[N, L[7]], NoneTape], type_params=(N,))',
        'Row = TypeAliasType("Row", Tensor[Shape[N, Add[Eight, L[1]]], NoneTape], type_params=(N,))',
        "Row = list[N]",
        "",
    ),
    ("WIDTH: Final = 8", "WIDTH: Final = 7", "WIDTH = 8", "WIDTH: int = 8", ""),
    ("class Base(nn.Module): pass", "class Base: pass", ""),
]
LAYERS: Final[list[Choice]] = [
    (HEAD,),
    ("from sizes import Base, Eight, Row", "from sizes import Base, Eight\nRow = Tensor[Shape[N, L[8]], NoneTape]"),
    (
        "def row(x: Row[N]) -> int: return 0",
        "def rows(x: Row[N]) -> int: return 0",
        "def row(x: Row[N]) -> Row[N]: return x",
        "@guarded\ndef row(x: Row[N]) -> int: return 0",
        "def row(x: list[Row[N]]) -> int: return 0",
        "def row(x: Any) -> int: return 0",
        (
            "@overload\ndef row(x: Row[N]) -> int: ...\n@overload\ndef row(x: list[int]) -> str: ...\n"
            "def row(x: Any) -> Any: return x"
        ),
    ),
    (
        "def wide(x: Tensor[Shape[N, Eight], T]) -> Tensor[Shape[Eight, N], T]: return x.T",
        "def wide(x: Tensor[Shape[N, M], T]) -> Tensor[Shape[M, N], T]: return x.T",
        "def wide(x: Tensor[Shape[N, Eight], NoneTape]) -> Tensor[Shape[Eight, N], NoneTape]: return x.T",
        "def wide(x: Tensor[S, T]) -> Tensor[S, T]: return x",
        "def wide(x: Tensor[Shape[N, Mul[Eight, L[2]]], T]) -> Tensor[Shape[N], T]: return x[:, 0]",
    ),
    (
        "class Take(Base):\n    def forward(self, x: Row[N]) -> Row[N]: return x",
        "class Take(nn.Module):\n    def forward(self, x: Row[N]) -> Row[N]: return x",
        (
            "class Take(nn.Module):\n    def forward(self, x: Tensor[Shape[N, Eight], T]) -> Tensor[Shape[N], T]:\n"
            "        return x[:, 0]"
        ),
        "class Take(nn.ReLU): pass",
        "class Take(nn.Sequential[nn.Linear[Eight, L[3]]]): pass",
    ),
    (
        (
            "class Block(nn.Module, Generic[M]):\n    def __init__(self, width: M) -> None:\n"
            "        self.fall = nn.Linear(width, 5)\n"
            "    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, L[5]], T]: return self.fall(x)"
        ),
        (
            "class Block(nn.Module, Generic[M]):\n    def __init__(self, width: M, out: int = 5) -> None:\n"
            "        self.fall = nn.Linear(width, 6)\n"
            "    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, L[6]], T]: return self.fall(x)"
        ),
        (
            "class Block(nn.Module, Generic[N, M]):\n    def __init__(self, n: N, width: M) -> None:\n"
            "        self.fall = nn.Linear(n, width)\n"
            "    def forward(self, x: Tensor[Shape[L[2], N], T]) -> Tensor[Shape[L[2], M], T]: return self.fall(x)"
        ),
        (
            "class Block(nn.Module):\n    def __init__(self, width: int) -> None:\n"
            "        self.fall = nn.Linear(width, 5)\n"
            "    def forward(self, x: Tensor) -> Tensor: return self.fall(x)"
        ),
    ),
    (
        (
            "class Held:\n    x: Row[L[2]] = tg.ones((2, 8))\n    def __call__(self, x: Row[N]) -> Row[N]: return x\n"
            "    def __add__(self, x: Row[N]) -> int: return 0\n"
            "    @property\n    def first(self) -> Tensor[Shape[Eight], NoneTape]: return tg.ones((8,))"
        ),
        (
            "class Held:\n    x: Row[L[3]] = tg.ones((3, 8))\n"
            "    def __call__(self, x: Any) -> Row[L[2]]: return self.x\n"
            "    def __add__(self, x: Any) -> int: return 0\n"
            "    first: Tensor[Shape[Eight], NoneTape] = tg.ones((8,))"
        ),
    ),
    tuple(
        "class Plain(nn.Module):\n    def __init__(self, width: int) -> None:\n"
        f"        self.rise = nn.Linear(width, 4 * width)\n        self.sink = nn.Linear({given}, width)\n"
        "    def forward(self, x: Tensor[Shape[N, Any], T]) -> Tensor[Shape[N, Any], T]:\n"
        "        return self.sink(self.rise(x))"
        for given in ("4 * width", "3 * width", "8")
    ),
]
USE: Final[list[Choice]] = [
    (HEAD,),
    ("from layers import *", "import layers"),
    (
        "from layers import Block as Block, Held as Held, Take as Take, row as row, wide as wide",
        "from layers import Block as Block, Held as Held, Take as Take, rows as row, wide as wide",
        "from layers import *",
    ),
    ("from sizes import WIDTH as WIDTH", "WIDTH: Final = 7", "from sizes import *"),
    (
        "from layers import Plain\nPlain(8)(tg.ones((2, 8)))",
        "from layers import Plain\nPlain(8).sink(tg.ones((2, 3)))",
        "from layers import Plain\nPlain(8).sink = nn.Linear(3, 5)",
        "nn.Linear(WIDTH, 4 * WIDTH)(tg.ones((2, 8))) @ tg.ones((3 * WIDTH, 2))",
    ),
    (
        "model = nn.Sequential(nn.ReLU(), Take())",
        "model = nn.Sequential(nn.Linear(8, 8), Take(), nn.Linear(8, 4))",
        "model = Take()",
        "model = nn.Sequential(nn.Sequential(Take()), Block(8))",
        "model = nn.Residual(Take())",
    ),
    ("held = Held()", "held: Held = Held()", "class Kept(Held): pass\nheld = Kept()"),
    (
        "def longer(x: Tensor[Shape[N], T], more: L[1] = 1) -> Tensor[Shape[Add[N, L[1]]], T]: ...",
        "def longer(x: Tensor[Shape[N], T], more: L[2] = 2) -> Tensor[Shape[Add[N, L[2]]], T]: ...",
        "def longer(x: Tensor[Shape[N], T], more: M) -> Tensor[Shape[Add[N, M]], T]: ...",
    ),
    ("from layers import wide as handed", "handed = wide", "from sizes import Base as handed"),
]
TOP: Final[list[Choice]] = [
    ("import tapegrad as tg\nfrom tapegrad import nn\nimport use\nfrom use import WIDTH, held, longer, model",),
    ("from use import row", "from layers import row", "from layers import rows as row"),
    ("row(tg.ones((2, 8)))", "use.row(tg.ones((2, 8)))", "def f() -> None:\n    row(tg.ones((3, 8)))"),
    ("wide = use.wide(tg.ones((2, 8)))\nreveal_type(wide)", "reveal_type(use.handed(tg.ones((2, 8)).trace()))"),
    ("reveal_type(model(tg.ones((2, 8))))", "def g() -> None:\n    model(tg.ones((2, 8)))", "nn.Sequential(model)"),
    ("reveal_type(tg.ones((2, WIDTH)) @ tg.ones((8, 3)))", "reveal_type(tg.ones((2, use.WIDTH)))"),
    ("held(tg.ones((2, 8)))", "held + tg.ones((2, 8))", "def h() -> None:\n    held(tg.ones((2, 8)))"),
    ("held.x @ tg.ones((8, 3))", "reveal_type(held.first)", "def k() -> None:\n    held.x @ tg.ones((8, 3))"),
    ("reveal_type(longer(tg.ones((3,))))", "longer(tg.ones((3,)), 1)"),
    ("reveal_type(use.Block(8)(tg.ones((2, 8))))", "block = use.Block(7)\nblock(tg.ones((2, 7)))"),
    ("class Mine(use.Take): pass\nMine()(tg.ones((2, 8)))", "from sizes import Row\nx: Row[int] = tg.ones((2, 8))"),
    (
        "loss = tg.ones((3,)).trace().sum()\nif held is not None:\n    loss.backward()",
        "loss = tg.ones((3,)).trace().sum()\nif held is not None:\n    loss.backward()\nloss.backward()",
        "",
    ),
]
STUB: Final = ("# not the text of the file beside it, under whose name mypy would have it in its cache",)
# What may stand in each place of each file, first what stands there at first; whether there is a file comes before.
PLACES: Final[dict[str, list[Choice]]] = {
    "sizes.py": [("there", "missing"), *SIZES],
    "sizes.pyi": [("missing", "there"), STUB, *SIZES],
    "layers.py": [("there", "missing"), *LAYERS],
    "layers.pyi": [("missing", "there"), STUB, *LAYERS],
    "use.py": [("there", "missing"), *USE],
    "top.py": [("there",), *TOP],
}

# Programs whose bodies mypy reads at calls, and what these depend on in other files.
SETTINGS_FILE: Final[list[Choice]] = [
    ("from dataclasses import dataclass\nfrom typing import Final, NamedTuple",),
    ("WIDTH: Final = 8", "WIDTH: Final = 7", "WIDTH = 8", ""),
    (
        "@dataclass(frozen=True)\nclass Config:\n    width: int = 8\n    deep: bool = True",
        "@dataclass(frozen=True)\nclass Config:\n    width: int = 7\n    deep: bool = False",
        "@dataclass\nclass Config:\n    width: int = 8\n    deep: bool = True",
        "class Config(NamedTuple):\n    width: int = 8\n    deep: bool = True",
    ),
]
HELPERS: Final[list[Choice]] = [
    (HEAD,),
    (
        "def weight() -> Tensor[Shape[L[8], L[3]]]: return tg.ones((8, 3))",
        "def weight() -> Tensor[Shape[L[7], L[3]]]: return tg.ones((7, 3))",
        "def weight() -> Tensor: return tg.ones((7, 3))",
        "def weight(n: int = 8) -> Any: return tg.ones((n, 3))",
        "",
    ),
    (
        "class Last(nn.Linear[L[3], L[5]]): pass\nlast = nn.Linear(3, 5)",
        "class Last(nn.Linear[L[4], L[5]]): pass\nlast = nn.Linear(4, 5)",
        "class Last(nn.ReLU): pass\nlast = nn.ReLU()",
        "def last(x: Tensor[S, T]) -> Tensor[S, T]: return x",
    ),
    ("scale = 2.0", "scale: Tensor[Shape[L[5]], NoneTape] = tg.ones((5,))", "scale = tg.ones((4,))", ""),
]
MODELS: Final[list[Choice]] = [
    ("import tapegrad as tg\nfrom tapegrad import Tensor, nn\nimport settings\nimport helpers",),
    ("from settings import Config", "from settings import *", "class Config:\n    width = 8\n    deep = True"),
    ("from helpers import *", "from helpers import last"),
    ("def first(x: Tensor) -> Tensor:\n    return x @ helpers.weight()", "def first(x: Tensor) -> Tensor: return x"),
    (
        "def second(x: Tensor) -> Tensor:\n    y = first(x)\n    return last(y)",
        "def second(x: Tensor) -> Tensor:\n    y = last(x)\n    return y + first(x).sum()",
        "def second(x: Tensor) -> Tensor:\n    return first(x) + tg.ones((4, 2)) @ helpers.weight()",
        (
            "def second(x: Tensor) -> Tensor:\n    if len(helpers.__name__) > 3:\n        return first(x)\n"
            "    y = x @ helpers.weight()\n    return y * 2.0"
        ),
        (
            "def second(x: Tensor) -> Tensor:\n    try:\n        y = x @ helpers.weight()\n"
            "    except ValueError:\n        y = first(x)\n    while y.sum().item() > 1.0:\n"
            "        y = tg.concat((y, y))\n    return y"
        ),
    ),
    tuple(
        "class Net(nn.Module):\n    def __init__(self, config: Config) -> None:\n"
        f"        self.up = nn.Linear({width}, 8)\n        self.deep = config.deep\n"
        f"    def forward(self, x: Tensor) -> Tensor:\n        y = self.up(x)\n{body}\n        return y * helpers.scale"
        for width, body in [
            ("config.width", "        if self.deep:\n            y = first(y)"),
            ("settings.WIDTH", "        y = second(y)"),
            ("8", "        for _ in range(2):\n            y = tg.relu(y)"),
            ("config.width + 1", "        if x is not None:\n            return y"),
            ("config.width", '        raise ValueError("no")'),
        ]
    ),
    (
        "def run() -> None:\n    tg.reveal_shape(second(tg.ones((2, 8))))",
        "tg.reveal_shape(second(tg.ones((2, 8))))",
        "def run() -> None:\n    tg.reveal_shape(first(tg.ones((2, 7))))",
    ),
    (
        "def again() -> None:\n    second(tg.ones((3, 7)))\n    first(tg.ones((2, 6)))",
        "def again() -> None:\n    helpers.last(second(tg.ones((3, 8))))",
        "def again() -> None:\n    second(helpers.weight().T)",
    ),
    (
        "def made(width: int) -> nn.Sequential:\n    return nn.Sequential(nn.Linear(width, 8), Net(Config()))",
        "def made(width: int) -> nn.Sequential:\n    return nn.Sequential(nn.Linear(width, 7), Net(Config()))",
        "def made(width: int) -> nn.Module:\n    return nn.Linear(width, 9) if width > 3 else Net(Config())",
        "def made(width: int) -> Net:\n    return Net(Config(width))",
    ),
    ("net = Net(Config())", "net = Net(Config(width=9))", "net = Net(Config(settings.WIDTH, False))"),
    (
        "tg.reveal_shape(net(tg.ones((2, 8))))",
        "def use() -> None:\n    tg.reveal_shape(net(tg.ones((3, 7))))",
        "def use() -> None:\n    tg.reveal_shape(nn.Sequential(Net(Config()), nn.ReLU())(tg.ones((3, 8))))",
        "tg.reveal_shape(nn.Sequential(nn.ReLU(), net)(tg.ones((3, 8))))",
    ),
]
BODIES: Final[dict[str, list[Choice]]] = {
    "settings.py": [("there",), *SETTINGS_FILE],
    "helpers.py": [("there",), *HELPERS],
    "models.py": [("there",), *MODELS],
    "top.py": [
        ("there",),
        ("import tapegrad as tg\nfrom models import first\ntg.reveal_shape(first(tg.ones((2, 8))))",),
        ("import models\nimport settings", "import models, settings"),
        ("net = models.Net(settings.Config())", "net = models.Net(settings.Config(width=7))", "net = models.net"),
        ("tg.reveal_shape(net(tg.ones((2, 8))))", "tg.reveal_shape(models.second(tg.ones((2, 8))))"),
        (
            "made = models.made(5)\ntg.reveal_shape(made(tg.ones((2, 5))))",
            "def use_made() -> None:\n    tg.reveal_shape(models.made(6)(tg.ones((2, 6))))",
        ),
        (
            (
                "def twice(x: tg.Tensor) -> tg.Tensor:\n    return models.first(x) * 2.0\n"
                "def use() -> None:\n    tg.reveal_shape(twice(tg.ones((2, 8))))"
            ),
            (
                "class Mine(models.Net):\n    def forward(self, x: tg.Tensor) -> tg.Tensor:\n        return x * 2.0\n"
                "mine = Mine(settings.Config())\ntg.reveal_shape(mine(tg.ones((2, 8))))"
            ),
        ),
    ],
}

CASES: Final[dict[str, list[Files]]] = {
    "an alias that a function is declared with": [
        {
            "sizes.py": f"{HEAD}Row = Tensor[Shape[N, L[{size}]], NoneTape]\n",
            "use.py": f"{HEAD}from sizes import Row\ndef row(x: Row[N]) -> int: return 0\n",
            "top.py": "import tapegrad as tg\nfrom use import row\nrow(tg.ones((2, 8)))\n",
        }
        for size in (8, 7)
    ],
    "an alias that a layer is declared with": [
        {
            "sizes.py": f"{HEAD}Row = Tensor[Shape[N, L[{size}]], NoneTape]\n",
            "use.py": f"{HEAD}from sizes import Row\n"
            "class Take(nn.Module):\n    def forward(self, x: Row[N]) -> int: return 0\n",
            "top.py": "import tapegrad as tg\nfrom use import Take\nTake()(tg.ones((2, 8)))\n",
        }
        for size in (8, 7)
    ],
    "an alias of a size in a tensor": [
        {
            "sizes.py": f"{HEAD}Eight = L[{size}]\n",
            "top.py": f"{HEAD}from sizes import Eight\ndef f() -> Tensor[Shape[Eight]]: return tg.ones((8,))\n",
        }
        for size in (8, 7)
    ],
    "a layer of a model in another file": [
        {
            "layers.py": f"{HEAD}class Take(nn.Module):\n"
            f"    def forward(self, x: Tensor[Shape[N, L[{size}]], T]) -> Tensor[Shape[N], T]: return x[:, 0]\n",
            "use.py": "from tapegrad import nn\nfrom layers import Take\nmodel = nn.Sequential(nn.ReLU(), Take())\n",
            "top.py": "import tapegrad as tg\nfrom use import model\nmodel(tg.ones((2, 8)))\n",
        }
        for size in (8, 7)
    ],
    "a module that is gone, beside an error in another one": [
        {
            "layers.py": f"{HEAD}def cut(x: Tensor[Shape[L[3]]]) -> Tensor[Shape[L[{rows}]]]:\n"
            "    tg.relu(x)\n    return x\n",
            **({"use.py": "import layers\n"} if is_there else {}),
        }
        for rows, is_there in ((3, True), (2, True), (2, False))
    ],
    "the name of an operand, which no cache holds": [
        {
            "layers.py": f"{HEAD}class Held:\n    def __add__(self, x: Tensor[Shape[L[7]]]) -> int: return 0\n",
            "top.py": f"import tapegrad as tg\nfrom layers import Held\nHeld() + tg.ones(({size},))\n",
        }
        for size in (7, 8)
    ],
}

PLAIN: Final = "import tapegrad as tg\nfrom tapegrad import Tensor, nn\n"
FIRST: Final = f"{PLAIN}def first(x: Tensor) -> Tensor:\n    return x @ tg.ones(({{}}, 3))\n"
NET: Final = (
    f"{PLAIN}class Net(nn.Module):\n    def __init__(self, width: int) -> None:\n"
    "        self.up = nn.Linear(width, 4 * width)\n        self.down = nn.Linear({} * width, 3)\n"
    "    def forward(self, x: Tensor) -> Tensor:\n        return self.down(self.up(x))\n"
)
BODIES_ELSEWHERE: Final[dict[str, list[Files]]] = {
    "a layer of another file, of a model whose method is declared": [
        {
            "layers.py": f"{HEAD}class Inner(nn.Module):\n"
            "    def __init__(self, width: int) -> None: self.width = width\n"
            f"    def forward(self, x: Tensor[Shape[N, L[4]], T]) -> {declared}: return x{body}\n",
            "models.py": f"{HEAD}from layers import Inner\nclass Net(nn.Module):\n"
            "    def __init__(self, width: int) -> None: self.inner = Inner(width)\n"
            "    def outer(self, x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, L[4]], T]:\n"
            "        return x + self.inner(x)\n"
            "def any(x: Tensor) -> Tensor: return x\n",
            "top.py": "import tapegrad as tg\nfrom models import Net\nNet(3).outer(tg.ones((2, 4)))\n",
        }
        for declared, body in (
            ("Tensor[Shape[N, L[4]], T]", ""),
            ("Tensor", " @ tg.ones((4, self.width))"),
        )
    ],
    "a size of a function of another file that is declared as int": [
        {
            "layers.py": f"{HEAD}def rows(n: int) -> Tensor[Shape[int, L[2]], NoneTape]:\n"
            f"    return tg.ones(({times}n, 2))\n",
            "top.py": "import tapegrad as tg\nfrom layers import rows\nrows(4).reshape((8,))\n",
        }
        for times in ("", "1 * ", "3 * ")
    ],
    "a function of another file as an argument, and for map": [
        {
            "layers.py": f"import tapegrad as tg\ndef cut(x: tg.Tensor) -> tg.Tensor: return x[:, :{width}]\n",
            "models.py": "import tapegrad as tg\nfrom collections.abc import Callable\n"
            "def applied(f: Callable[[tg.Tensor], tg.Tensor], x: tg.Tensor) -> tg.Tensor: return f(x)\n",
            "top.py": "import tapegrad as tg\nfrom layers import cut\nfrom models import applied\n"
            "applied(cut, tg.ones((2, 9))) @ tg.ones((8, 2))\n"
            "for one in map(cut, [tg.ones((2, 9))]):\n    one @ tg.ones((8, 2))\n",
        }
        for width in (8, 7, 8, 6)
    ],
    "a function with a cache": [
        {
            "models.py": f"import tapegrad as tg\nfrom functools import cache\n{decorator}\n"
            f"def table(n: int) -> tg.Tensor: return tg.ones((n, {width}))\n",
            "top.py": "import tapegrad as tg\nfrom models import table\ntable(2) @ tg.ones((8, 2))\n",
        }
        for decorator, width in (("@cache", 8), ("@cache", 7), ("", 8), ("", 7), ("@cache", 7))
    ],
    "a body in another file": [
        {
            "models.py": FIRST.format(rows),
            "top.py": "import tapegrad as tg\nfrom models import first\nfirst(tg.ones((2, 8)))\n",
        }
        for rows in (8, 7, 8, 6)
    ],
    "a call of a body in another file": [
        {
            "models.py": FIRST.format(8),
            "top.py": f"import tapegrad as tg\nfrom models import first\nfirst(tg.ones((2, {width})))\n",
        }
        for width in (8, 7, 8, 6)
    ],
    "a line of a body in another file": [
        {
            "models.py": above + FIRST.format(rows),
            "top.py": "import tapegrad as tg\nfrom models import first\n"
            "def run() -> None:\n    first(tg.ones((2, 8)))\n",
        }
        for above, rows in (("", 8), ("", 7), ("# a line more\n", 7))
    ],
    "a body behind two other files": [
        {
            "layers.py": FIRST.format(rows),
            "models.py": f"{PLAIN}import layers\ndef second(x: Tensor) -> Tensor:\n    return layers.first(x) * 2.0\n",
            "top.py": f"import tapegrad as tg\nfrom models import second\nsecond(tg.ones((2, {width})))\n",
        }
        for rows, width in ((8, 8), (7, 8), (7, 7), (7, 6))
    ],
    "a function of the file that calls a body in another one": [
        {
            "models.py": FIRST.format(rows),
            "top.py": f"{PLAIN}import models\ndef twice(x: Tensor) -> Tensor:\n    return models.first(x) * 2.0\n"
            "def run() -> None:\n    twice(tg.ones((2, 8)))\n",
        }
        for rows in (8, 7)
    ],
    "a function without a body that a body in another file calls": [
        {
            "helpers.py": f"{HEAD}def weight() -> Tensor[Shape[L[{rows}], L[3]]]: return tg.ones(({rows}, 3))\n",
            "models.py": f"{PLAIN}import helpers\ndef first(x: Tensor) -> Tensor:\n    return x @ helpers.weight()\n",
            "top.py": "import tapegrad as tg\nfrom models import first\n"
            "def run() -> None:\n    first(tg.ones((2, 8)))\n",
        }
        for rows in (8, 7)
    ],
    "a constant that a constructor in another file reads": [
        {
            "settings.py": f"from typing import Final\nWIDTH: Final = {width}\n",
            "models.py": NET.format("settings.WIDTH // width").replace(", nn\n", ", nn\nimport settings\n"),
            "top.py": "import tapegrad as tg\nfrom models import Net\n"
            "def run() -> None:\n    Net(8)(tg.ones((2, 8)))\n",
        }
        for width in (32, 24)
    ],
    "a layer of a model in another file that is read": [
        {
            "models.py": NET.format(times),
            "top.py": "import tapegrad as tg\nfrom models import Net\nfrom tapegrad import nn\n"
            "model = nn.Sequential(nn.Linear(2, 8), Net(8))\nmodel(tg.ones((3, 2)))\n",
        }
        for times in (4, 3)
    ],
    "a class from a file that only imports it": [
        {
            "models.py": NET.format(times),
            "use.py": "from models import Net as Net\n",
            "top.py": "import tapegrad as tg\nimport use\nuse.Net(8)(tg.ones((3, 8)))\n",
        }
        for times in (4, 3)
    ],
    "a method that a class in another file inherits": [
        {
            "layers.py": NET.format(times),
            "models.py": "from layers import Net\nclass Mine(Net):\n    pass\n",
            "top.py": "import tapegrad as tg\nfrom models import Mine\nMine(8)(tg.ones((3, 8)))\n",
        }
        for times in (4, 3)
    ],
    "a class in another file that has its own layer no more": [
        {
            "layers.py": NET.format(3).replace("3 * width", "24"),
            "models.py": "from layers import Net\nfrom tapegrad import nn\nclass Mine(Net):\n"
            f"    def change(self) -> None:\n        {change}\n",
            "top.py": "import tapegrad as tg\nfrom models import Mine\nMine(8)(tg.ones((3, 8)))\n",
        }
        for change in ("self.down = nn.Linear(32, 3)", "pass")
    ],
    "a default of a configuration in another file": [
        {
            "settings.py": f"from dataclasses import dataclass\n{above}"
            f"@dataclass(frozen=True)\nclass Config:\n    width: int = {width}\n",
            "models.py": f"{PLAIN}from settings import Config\nclass Net(nn.Module):\n"
            "    def __init__(self, config: Config) -> None:\n        self.up = nn.Linear(config.width, 3)\n"
            "    def forward(self, x: Tensor) -> Tensor:\n        return self.up(x)\n",
            "top.py": "import tapegrad as tg\nfrom models import Net\nfrom settings import Config\n"
            "def run() -> None:\n    Net(Config())(tg.ones((3, 8)))\n",
        }
        for above, width in (("", 8), ("# a line more\n", 8), ("", 7))
    ],
    "a flag of a configuration in another file": [
        {
            "settings.py": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config:\n"
            "    is_deep: bool = True\n",
            "models.py": f"{PLAIN}from settings import Config\nclass Net(nn.Module):\n"
            "    def __init__(self, config: Config) -> None:\n        self.is_deep = config.is_deep\n"
            "    def forward(self, x: Tensor) -> Tensor:\n        if self.is_deep:\n            x = x.sum(1)\n"
            "        return x\n",
            "top.py": "import tapegrad as tg\nfrom models import Net\nfrom settings import Config\n"
            f"net = Net(Config())\nnet(tg.ones((3, 8))) + tg.ones(({rows},))\n",
        }
        for rows in (3, 4)
    ],
    "a default of a named tuple in another file": [
        {
            "settings.py": f"from typing import NamedTuple\nclass Config(NamedTuple):\n    width: int = {width}\n",
            "models.py": f"{PLAIN}from settings import Config\nclass Net(nn.Module):\n"
            "    def __init__(self, config: Config) -> None:\n        self.up = nn.Linear(config.width, 3)\n"
            "    def forward(self, x: Tensor) -> Tensor:\n        return self.up(x)\n",
            "top.py": "import tapegrad as tg\nfrom models import Net\nfrom settings import Config\n"
            "def run() -> None:\n    Net(Config())(tg.ones((3, 8)))\n",
        }
        for width in (8, 7)
    ],
    "a function in another file that returns a model": [
        {
            "models.py": "from tapegrad import nn\ndef mlp(width: int) -> nn.Sequential:\n"
            f"    hidden = {times} * width\n"
            f"    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, {columns}))\n",
            "top.py": "import tapegrad as tg\nfrom models import mlp\nmodel = mlp(8)\n"
            "def run() -> None:\n    model(tg.ones((2, 8))) @ tg.ones((3, 2))\n",
        }
        for times, columns in ((3, 3), (14, 3), (14, 40))
    ],
    "a class method in another file that makes a configuration": [
        {
            "settings.py": "from __future__ import annotations\nfrom dataclasses import dataclass, field\n"
            "@dataclass\nclass Config:\n    width: int = 8\n    half: int = field(init=False)\n"
            f"    def __post_init__(self) -> None:\n        self.half = self.width // {parts}\n"
            f"    @classmethod\n    def small(cls) -> Config:\n        return cls(width={width})\n",
            "top.py": f"{PLAIN}from settings import Config\n"
            "def run() -> None:\n    tg.ones((Config.small().half,)) + tg.ones((2,))\n",
        }
        for width, parts in ((4, 2), (26, 13), (300, 13))
    ],
    "an attribute of an object that the file of the call assigns": [
        {
            "models.py": NET.format(3).replace("3 * width", "24"),
            "top.py": "import tapegrad as tg\nfrom models import Net\nfrom tapegrad import nn\n"
            f"net = Net(8)\n{change}\nnet(tg.ones((3, 8)))\n",
        }
        for change in ("net.down = nn.Linear(32, 3)", "")
    ],
    "tensors of unknown rank, and of several dtypes, of another file": [
        {
            "models.py": "import json\nimport numpy as np\nimport tapegrad as tg\nfrom tapegrad import nn\n"
            "both = [tg.ones((3,)), tg.zeros((3,), np.int64)]\n"
            f"hidden = nn.Linear(4, {width})(tg.tensor(json.loads('[[1.0]]')))\n",
            "top.py": "import tapegrad as tg\nfrom models import both, hidden\nfrom tapegrad import nn\n"
            "both[0].trace()\nboth.append(tg.ones((3,)))\nnn.Linear(8, 2)(hidden)\n",
        }
        for width in (8, 6)
    ],
}
CASES.update(BODIES_ELSEWHERE)

CHANGED: Final = "WIDTH = 7\n{0} change() -> None:\n    global WIDTH\n    WIDTH = 9\n"
CONFIGURED: Final = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    width: int = 6\n"
TAKES_8: Final = f"{PLAIN}{{}}\ndef run() -> None:\n    nn.Linear({{}}, 3)(tg.ones((2, 8)))\n"
CONSTANTS_ELSEWHERE: Final[dict[str, list[Files]]] = {
    "a constant of another file": [
        {"settings.py": f"{above}WIDTH = {width}\n", "top.py": TAKES_8.format("from settings import WIDTH", "WIDTH")}
        for above, width in (("", 8), ("", 7), ("# a line more\n", 7), ("", 8), ("", 6))
    ],
    "options of another file": [
        {
            "settings.py": f'OPTIONS = {{"in_features": {width}, "out_features": 3}}\n',
            "top.py": TAKES_8.replace("{}, 3", "**OPTIONS").format("from settings import OPTIONS"),
        }
        for width in (8, 7, 8, 6)
    ],
    "tensors of another file that reduce adds": [
        {
            "settings.py": "import tapegrad as tg\nTERMS = [tg.ones((2, 3)), tg.ones((2, 3))]\n",
            "top.py": "from functools import reduce\nimport tapegrad as tg\nfrom settings import TERMS\n"
            f"TOTAL = reduce(tg.add, TERMS)\nTOTAL.sum(axis={axis})\n",
        }
        for axis in (0, 10, 1, 100)
    ],
    "a class of another file that is the configuration of a model there": [
        {
            "models.py": f"{PLAIN}class Config:\n    width = {width}\n    outputs = 3\n"
            "class Net(nn.Module):\n    def __init__(self, config: type[Config]) -> None:\n"
            "        self.layer = nn.Linear(config.width, config.outputs)\n"
            "    def forward(self, x: Tensor) -> Tensor: return self.layer(x)\n",
            "top.py": f"{PLAIN}from models import Config, Net\nNet(Config)(tg.ones((2, 8)))\n",
        }
        for width in (8, 7, 8, 16)
    ],
    "a tensor that the constructor of an object of another file has made": [
        {
            "models.py": f"{PLAIN}class Schedule:\n    def __init__(self, steps: int) -> None:\n"
            f"        self.betas = tg.ones((steps + {more},))\n"
            "def scaled(x: Tensor) -> Tensor: return x * 2.0\n",
            "top.py": f"{PLAIN}from models import Schedule, scaled\nplan = Schedule(2)\n"
            "scaled(tg.ones((4,)) * plan.betas)\n",
        }
        for more in (2, 3, 2, 11)
    ],
    "a configuration in a text of another file": [
        {
            "settings.py": f"import json\nTEXT = '{{\"width\": {width}}}'\nCONFIG = json.loads(TEXT)\n",
            "top.py": TAKES_8.format("from settings import CONFIG", 'CONFIG["width"]'),
        }
        for width in (8, 7, 8, 6)
    ],
    "a constant that is computed from another one": [
        {
            "settings.py": f"HEADS = {heads}\nWIDTH = 2 * HEADS\n",
            "top.py": TAKES_8.format("import settings", "settings.WIDTH"),
        }
        for heads in (4, 3, 4, 5)
    ],
    "a constant behind two other files": [
        {
            "settings.py": f"WIDTH = {width}\n",
            "helpers.py": "import settings\nHALF = settings.WIDTH // 2\n",
            "top.py": TAKES_8.format("from helpers import HALF", "HALF"),
        }
        for width in (16, 14, 16, 12)
    ],
    "a constant of a file that another one imports": [
        {
            "settings.py": f"WIDTH = {width}\n",
            "helpers.py": "from settings import WIDTH as WIDTH\n",
            "top.py": TAKES_8.format("from helpers import WIDTH", "WIDTH"),
        }
        for width in (8, 7, 8, 6)
    ],
    "a list in another file": [
        {"settings.py": f"SIZES = {sizes}\n", "top.py": TAKES_8.format("from settings import SIZES", "SIZES[-1]")}
        for sizes in ("[16, 8]", "(16, 7)", "[16, 7]\nSIZES.append(8)", "[16, 7]")
    ],
    "a constant that a function assigns no more": [
        {"settings.py": text, "top.py": TAKES_8.format("from settings import WIDTH", "WIDTH")}
        for text in (CHANGED.format("def"), "WIDTH = 7\n", CHANGED.format("async def"), "WIDTH = 7\n")
    ],
    "a variable of a loop that becomes a constant": [
        {"settings.py": text, "top.py": TAKES_8.format("from settings import WIDTH", "WIDTH")}
        for text in ("for WIDTH in range(7, 8):\n    pass\n", "WIDTH = 7\n")
    ],
    "a constant that the file that reads it assigns no more": [
        {"settings.py": "WIDTH = 7\n", "top.py": TAKES_8.format(f"import settings\n{change}", "settings.WIDTH")}
        for change in ("settings.WIDTH = 8", 'setattr(settings, "WIDTH", 8)', "")
    ],
    "a constant that is assigned where it is imported": [
        {"settings.py": "WIDTH = 7\n", "top.py": TAKES_8.format(f"from settings import WIDTH\n{change}", "WIDTH")}
        for change in ("WIDTH = 8", "")
    ],
    "a constant that a body in another file reads": [
        {
            "settings.py": f"WIDTH = {width}\n",
            "models.py": NET.format("WIDTH // width").replace(", nn\n", ", nn\nfrom settings import WIDTH\n"),
            "top.py": "import tapegrad as tg\nfrom models import Net\n"
            "def run() -> None:\n    Net(8)(tg.ones((2, 8)))\n",
        }
        for width in (32, 24)
    ],
    "a configuration object of another file": [
        {
            "settings.py": f"{CONFIGURED}config = Config(width={width}){change}\n",
            "top.py": TAKES_8.format("from settings import config", "config.width"),
        }
        for width, change in ((8, ""), (7, ""), (7, "\nconfig.width = 8"), (7, ""))
    ],
    "a configuration object that a function makes": [
        {
            "settings.py": f"{CONFIGURED}def small() -> Config:\n    return Config(width={width})\nconfig = small()\n",
            "top.py": TAKES_8.format("import settings", "settings.config.width"),
        }
        for width in (8, 7, 8, 5)
    ],
}
CASES.update(CONSTANTS_ELSEWHERE)

USE_OF_STEP: Final = "import tapegrad as tg\nfrom use import step\n"
SCALAR: Final = "Tensor[tuple[()], OwnedTape]"
TAPES: Final[dict[str, list[Files]]] = {
    "a function that begins to consume its argument": [
        {
            "use.py": f"{HEAD}def step(loss: {SCALAR}) -> None:\n    loss.{method}()\n",
            "top.py": f"{USE_OF_STEP}def f() -> None:\n    a = tg.ones(()).trace()\n    step(a)\n    a.backward()\n",
        }
        for method in ("item", "backward")
    ],
    "a function that module code calls": [
        {
            "use.py": f"{HEAD}def step(loss: {SCALAR}) -> None:\n    loss.{method}()\n",
            "top.py": f"{USE_OF_STEP}a = tg.ones(()).trace()\nstep(a)\na.backward()\n",
        }
        for method in ("item", "backward")
    ],
    "a method that begins to consume its argument": [
        {
            "use.py": f"{HEAD}class Trainer:\n    def step(self, loss: {SCALAR}) -> None:\n        loss.{method}()\n",
            "top.py": "import tapegrad as tg\nfrom use import Trainer\n"
            "def f(trainer: Trainer) -> None:\n    a = tg.ones(()).trace()\n    trainer.step(a)\n    a.backward()\n",
        }
        for method in ("item", "backward")
    ],
    "a parameter that is declared as consumed": [
        {
            "use.py": f"{HEAD}from collections.abc import Callable\nfrom tapegrad import Consumed\n"
            f"def step(loss: {declared}, run: Callable[..., Any]) -> None:\n    run(loss)\n",
            "top.py": f"{USE_OF_STEP}def f() -> None:\n    a = tg.ones(()).trace()\n"
            "    step(a, print)\n    a.backward()\n",
        }
        for declared in (SCALAR, f"Consumed[{SCALAR}]")
    ],
    "a function that another function of the file calls": [
        {
            "use.py": f"{HEAD}def step(loss: {SCALAR}) -> None:\n    loss.{method}()\n",
            "top.py": f"{USE_OF_STEP}from tapegrad import OwnedTape, Tensor\n"
            f"def g(loss: {SCALAR}) -> None:\n    step(loss)\n"
            "def f() -> None:\n    a = tg.ones(()).trace()\n    g(a)\n    a.backward()\n",
        }
        for method in ("item", "backward")
    ],
    "a function of the same file": [
        {
            "top.py": f"{HEAD}def g(loss: {SCALAR}) -> None:\n    loss.{method}()\n"
            "def f() -> None:\n    a = tg.ones(()).trace()\n    g(a)\n    a.backward()\n",
        }
        for method in ("item", "backward")
    ],
    "module code, a constructor and a nested class": [
        {
            "top.py": f"{HEAD}a = tg.ones(()).trace()\na.backward()\na.{method}()\n"
            "class Outer:\n    def __init__(self) -> None:\n        self.loss = tg.ones(()).trace()\n"
            f"        self.loss.backward()\n        self.loss.{method}()\n"
            "    class Inner:\n        def run(self) -> None:\n            b = tg.ones(()).trace()\n"
            f"            b.backward()\n            b.{method}()\n",
        }
        for method in ("item", "backward")
    ],
    "a caller that is edited": [
        {
            "use.py": f"{HEAD}def step(loss: {SCALAR}) -> None:\n    loss.backward()\n",
            "top.py": f"{USE_OF_STEP}def f() -> None:\n    a = tg.ones(()).trace()\n    step(a)\n    a.{method}()\n",
        }
        for method in ("item", "backward")
    ],
}
CASES.update(TAPES)


def drawn(dice: random.Random, places: dict[str, list[Choice]], *, stubs: bool) -> list[Files]:
    """Return what a program is before all edits and after each of them."""
    first = {file: [choice[0] for choice in choices] for file, choices in places.items()}
    programs = [first]
    for _ in range(STEPS):
        # Now and then all is as it was.
        programs.append(first if dice.random() < 0.08 else edited(programs[-1], dice, places, stubs=stubs))
    return [
        {file: "\n".join([*parts, ""]) for file, (presence, *parts) in program.items() if presence != "missing"}
        for program in programs
    ]


def edited(program: Program, dice: random.Random, places: dict[str, list[Choice]], *, stubs: bool) -> Program:
    """Return a program with something else in one of its places."""
    while True:
        file = dice.choice([file for file in places if stubs or file.endswith(".py")])
        place = dice.randrange(len(places[file]))
        others = [one for one in places[file][place] if one != program[file][place]]
        if others and (program[file][0] != "missing" if place else dice.random() < 0.5):
            return program | {file: [*program[file][:place], dice.choice(others), *program[file][place + 1 :]]}


def write(files: Files, folder: Path, prefix: str, time: int) -> list[str]:
    """Write a program with a prefix to the names of its modules, each change as of a time that mypy has not seen.

    Returns:
        Its files; of a module that has a stub, the stub.
    """
    for path in folder.glob(f"{prefix}_*.py*"):
        if path.name.removeprefix(f"{prefix}_") not in files:
            path.unlink()
    for file, text in files.items():
        path, renamed = folder / f"{prefix}_{file}", re.sub(MODULES, rf"{prefix}_\1", text)
        if not path.exists() or path.read_text("utf-8") != renamed:
            path.write_text(renamed, "utf-8")
            os.utime(path, ns=(0, time * 10**9))
    return [f"{prefix}_{file}" for file in files if f"{file}i" not in files]


def mypy(folder: Path, *arguments: str) -> dict[str, set[str]]:
    """Run mypy, or its daemon, and return what it says of each program, by the prefix of its files."""
    run = python(folder, "-m", *arguments)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    said: dict[str, set[str]] = defaultdict(set)
    for line in run.stdout.splitlines():
        if re.search(r":\d+: error:|: Revealed (type|shape) is|: in the call on ", line):
            prefix = line.partition("_")[0]
            said[prefix].add(re.sub(rf"\b{prefix}_", "", line))
    return said


def fresh(histories: dict[str, list[Files]], folder: Path) -> dict[str, list[set[str]]]:
    """Return what mypy says of each program at each step when it reads them for the first time."""
    states: list[Files] = []  # each is read once, however often a program comes back to it
    for files in chain(*histories.values()):
        if files not in states:
            states.append(files)
    paths = chain(*(write(files, folder, f"s{number}", 0) for number, files in enumerate(states)))
    said = mypy(folder, "mypy", *paths)
    return {name: [said[f"s{states.index(one)}"] for one in history] for name, history in histories.items()}


def differences(
    histories: dict[str, list[Files]],
    expected: dict[str, list[set[str]]],
    followed: set[str],
    folder: Path,
    *options: str,
) -> list[str]:
    """Return where a warm mypy, or a daemon that follows some of the programs, does not say what is expected.

    Args:
        histories: What each program is, step by step.
        expected: What mypy should say of each, step by step.
        followed: The programs that the daemon checks.
        folder: Where the files are written.
        options: Of the warm runs.
    """
    daemon = ["mypy.dmypy", "--status-file", "daemon.json"]
    found: list[str] = []
    try:
        for step in range(max(map(len, histories.values()))):
            at = {name: min(step, len(history) - 1) for name, history in histories.items()}
            prefixes = {name: f"p{number}" for number, name in enumerate(histories)}
            paths = {name: write(histories[name][at[name]], folder, prefixes[name], step + 1) for name in histories}
            said = {
                "warm": mypy(folder, "mypy", *options, *chain(*paths.values())),
                "daemon": mypy(folder, *daemon, *RUN_DAEMON, *chain(*(paths[name] for name in sorted(followed)))),
            }
            for name, way in product(histories, said):
                answer, right = said[way][prefixes[name]], expected[name][at[name]]
                if answer != right and (way == "warm" or name in followed):
                    before, after = histories[name][max(0, at[name] - 1)], histories[name][at[name]]
                    found.append(f"{name}, step {step}, {way}: {change(before, after)}")
                    found += [f"    only {way}: {line}" for line in sorted(answer - right)]
                    found += [f"    only fresh: {line}" for line in sorted(right - answer)]
    finally:
        mypy(folder, *daemon, "kill")  # `stop` fails while it is busy
    return found


def change(before: Files, after: Files) -> str:
    """Write the lines that an edit took away, and those that it brought."""
    old, new = ([(file, line) for file in files for line in files[file].splitlines()] for files in (before, after))
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    return "; ".join(
        [*(f"{file} lost {line!r}" for file, line in gone), *(f"{file} got {line!r}" for file, line in come)]
    )


def programs(edits: int, seed: int) -> tuple[dict[str, list[Files]], set[str]]:
    """Return programs that are edited so often in all, and those of them that a daemon follows.

    A daemon overlooks a stub that comes or goes, so it follows the half of the programs that get none.
    """
    dice = random.Random(seed)  # noqa: S311  # draws programs, not secrets
    count = max(2, -(-edits // STEPS))  # the second is the first that a daemon follows
    histories = {f"program {number}": drawn(dice, PLACES, stubs=number % 2 == 0) for number in range(count)}
    followed = {name for number, name in enumerate(histories) if number % 2}
    bodies = {f"program with bodies {n}": drawn(dice, BODIES, stubs=False) for n in range(count // 2)}
    return histories | bodies, followed | bodies.keys()


def test_warm_mypy_and_the_daemon_report_what_a_fresh_mypy_reports(tmp_path: Path) -> None:
    histories, followed = programs(40, 0)
    histories |= CASES
    write_settings(tmp_path)

    expected = fresh(histories, tmp_path)
    found = differences(histories, expected, followed | CASES.keys(), tmp_path)

    assert found == []
    reports = {name: [*map(bool, expected[name])] for name in CASES}
    assert {name: (said[0], said[-1]) for name, said in reports.items()} == dict.fromkeys(CASES, (False, True))


@pytest.mark.parametrize(("edits", "count"), [(1, 2), (20, 2), (21, 3), (100, 10)])
def test_a_run_has_programs_for_mypy_and_for_the_daemon_however_few_edits_it_makes(edits: int, count: int) -> None:
    histories, followed = programs(edits, 0)

    names = [name for name in histories if not name.startswith("program with bodies")]
    assert len(names) == count
    assert followed & {*names}
    assert followed - {*names}


@pytest.mark.skipif(
    not hasattr(Plugin, "get_additional_indirect_deps"), reason="before mypy 2.4 no body in another file is read"
)
def test_bodies_in_other_files_are_read_with_two_workers(tmp_path: Path) -> None:
    write_settings(tmp_path)
    written = (write(files[-1], tmp_path, f"p{number}", 0) for number, files in enumerate(BODIES_ELSEWHERE.values()))
    paths = list(chain(*written))

    said = mypy(tmp_path, "mypy", "-n", "2", *paths)

    assert said == mypy(tmp_path, "mypy", "--cache-dir", "other", *paths)
    assert said.keys() == {f"p{number}" for number in range(len(BODIES_ELSEWHERE))}


@pytest.mark.skipif(
    not hasattr(Plugin, "get_additional_indirect_deps"), reason="before mypy 2.4 no constant of another file is read"
)
def test_constants_of_other_files_are_read_with_two_workers(tmp_path: Path) -> None:
    write_settings(tmp_path)
    histories = [CONSTANTS_ELSEWHERE[name] for name in ("a constant of another file", "a list in another file")]
    written = (write(files[-1], tmp_path, f"p{number}", 0) for number, files in enumerate(histories))

    said = mypy(tmp_path, "mypy", "-n", "2", *chain(*written))

    assert {name: len(lines) for name, lines in said.items()} == {"p0": 1, "p1": 1}


def test_a_file_that_is_checked_alone_is_reported_as_with_the_files_that_it_imports(tmp_path: Path) -> None:
    write_settings(tmp_path)
    history = CASES["tensors of another file that reduce adds"]

    # With a warm cache nothing before `reduce` calls the plugin.
    said = [mypy(tmp_path, "mypy", *write(files, tmp_path, "p0", time)) for time, files in enumerate(history)]

    assert [len(one["p0"]) for one in said] == [0, 1, 0, 1]


def test_ownership_analysis_works_with_two_workers(tmp_path: Path) -> None:
    write_settings(tmp_path)
    written = (write(files[-1], tmp_path, f"p{number}", 0) for number, files in enumerate(TAPES.values()))
    paths = list(chain(*written))

    said = mypy(tmp_path, "mypy", "-n", "2", *paths)

    assert said.keys() == {f"p{number}" for number in range(len(TAPES))}
    assert sum(map(len, said.values())) == len(TAPES) + 2  # three in the program of module code


def test_the_daemon_misses_an_edited_stub_also_without_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("width = 8\n", "utf-8")
    (tmp_path / "top.py").write_text("from sizes import width\n\nreveal_type(width)\n", "utf-8")
    check = ("mypy.dmypy", "--status-file", "daemon.json", *RUN_DAEMON, "top.py")
    try:
        mypy(tmp_path, *check)
        (tmp_path / "sizes.pyi").write_text("width: str\n", "utf-8")
        followed, fresh = mypy(tmp_path, *check), mypy(tmp_path, "mypy", "top.py")
    finally:
        mypy(tmp_path, *check[:3], "kill")

    assert 'Revealed type is "int"' in str(followed)
    assert 'Revealed type is "str"' in str(fresh)


def test_the_daemon_knows_arrays_of_methods_after_an_edit_of_another_file(tmp_path: Path) -> None:
    write_settings(tmp_path)
    program = """import numpy as np
import tapegrad as tg
from numpy.typing import NDArray
from tapegrad import Tensor, nn


class Pole:
    def __init__(self) -> None:
        self.state = np.zeros(4, np.float32)

    def reset(self) -> NDArray[np.float32]:
        return self.state

    def step(self, force: float) -> None:
        x, v, angle, w = self.state
        self.state = np.array([x + 0.1 * v, v + force, angle + 0.1 * w, w], np.float32)


def act(x: Tensor) -> Tensor:
    return nn.Linear(3, 2)(x)


def run() -> None:
    act(tg.tensor(Pole().reset()))
"""
    (tmp_path / "poles.py").write_text(program, "utf-8")
    (tmp_path / "other.py").write_text("x = 1\n", "utf-8")
    check = ("mypy.dmypy", "--status-file", "daemon.json", *RUN_DAEMON, "poles.py", "other.py")
    try:
        first = mypy(tmp_path, *check)
        (tmp_path / "other.py").write_text("x = 1\ny = 2\n", "utf-8")
        second = mypy(tmp_path, *check)
    finally:
        mypy(tmp_path, *check[:3], "kill")

    assert "x is (4,) but (..., 3) is expected" in str(first)
    assert second == first


def main() -> None:
    """Print each difference, and how many lines there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("edits", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", action="store_true", help="let the warm runs have two workers")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the daemon too
    found: list[str] = []
    for start in range(0, options.edits, AT_ONCE):
        histories, followed = programs(min(AT_ONCE, options.edits - start), options.seed + start)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write_settings(folder)
            workers = ["-n", "2"] if options.workers else []
            found += differences(histories, fresh(histories, folder), followed, folder, *workers)
    sys.stdout.write("\n".join([*found, f"{len(found)} lines that should not be\n"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

"""Sizes that come from other modules of the program: constants, lists and configuration objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.mypy.programs import needs_bodies_of_other_files, python
from tests.warm_mypy_cache import write_settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_bodies_of_other_files

PACKAGE: Final = {
    "package/__init__.py": "from .config import HIDDEN as HIDDEN, SIZES as SIZES\n",
    "package/config.py": """HIDDEN = 64
HEADS: int = 4
WIDTH = 8 * HEADS
HALF = HIDDEN // 2
SIZES = (8, 16, 32)
DEPTHS = [5, 6, 7]
FIRST = SIZES[0]
""",
    "package/settings.py": """from __future__ import annotations
from dataclasses import dataclass
from .config import WIDTH


@dataclass
class Config:
    width: int = WIDTH
    hidden: int = 3 * WIDTH

    @classmethod
    def small(cls) -> Config:
        return cls(width=8, hidden=24)


def parse() -> Config:
    return Config(width=40)


default = Config(hidden=65)
small = Config.small()
args = parse()
""",
    "package/models.py": """import tapegrad as tg
from tapegrad import Tensor, nn
from package import config as c
from package.settings import Config


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(tg.relu(self.up(x)))


class Attention(nn.Module):
    def __init__(self) -> None:
        self.query = nn.Linear(c.HIDDEN, c.HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        return self.query(x).reshape((b, t, c.HEADS, c.HIDDEN // c.HEADS))


class Block(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Conv2d(c.SIZES[0], c.SIZES[1], 3, padding=1)
        self.second = nn.Conv2d(c.SIZES[1], c.SIZES[2], 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return tg.relu(self.second(tg.relu(self.first(x))))
""",
}
HEAD: Final = "import tapegrad as tg\nfrom tapegrad import nn\n"


def said(folder: Path, files: dict[str, str], program: str) -> list[str]:
    """Return what mypy says of a program beside some files, without the names of its own file and of codes."""
    for name, text in (files | {"program.py": f"{HEAD}{program}"}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    write_settings(folder)
    run = python(folder, "-m", "mypy", "--no-color-output", "--no-pretty", "program.py")
    assert run.returncode in (0, 1), run.stdout + run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith("program.py:")]
    return [
        re.sub(r"^program\.py:(\d+): (error|note): |  \[tapegrad-shape\]| float32, no tape", "", one) for one in lines
    ]


def shape(folder: Path, files: dict[str, str], program: str, sizes: str) -> str:
    """Return the shape of a tensor of some sizes, as mypy reveals it."""
    (line,) = said(folder, files, f"{program}\ntg.reveal_shape(tg.ones(({sizes},)))\n")
    return line.removeprefix("Revealed shape is ")


def test_a_constant_is_known_however_it_is_imported(tmp_path: Path) -> None:
    program = """import package.config
import package.config as c
from package import HIDDEN as reexported
from package import config
from package.config import HIDDEN, WIDTH, HALF
import package
"""
    sizes = "HIDDEN, WIDTH, HALF, c.HIDDEN, config.HEADS, package.config.WIDTH, reexported, package.HIDDEN"

    assert shape(tmp_path, PACKAGE, program, sizes) == "(64, 32, 32, 64, 4, 32, 64, 64)"


def test_items_of_tuples_and_lists_are_known(tmp_path: Path) -> None:
    program = "import package\nfrom package import config\nfrom package.config import DEPTHS, FIRST, SIZES"
    sizes = "SIZES[1], SIZES[-1], DEPTHS[0], FIRST, config.SIZES[0], config.DEPTHS[2], package.SIZES[1]"

    assert shape(tmp_path, PACKAGE, program, sizes) == "(16, 32, 5, 8, 8, 7, 16)"


def test_attributes_of_configuration_objects_are_known(tmp_path: Path) -> None:
    program = "from package import settings\nfrom package.settings import args, default, small"
    sizes = "default.width, default.hidden, small.width, small.hidden, args.width, settings.args.hidden"

    assert shape(tmp_path, PACKAGE, program, sizes) == "(32, 65, 8, 24, 40, 96)"


def test_models_of_other_modules_have_the_sizes_of_other_modules(tmp_path: Path) -> None:
    program = """from package.models import MLP, Attention, Block
from package.settings import default, small

MLP(default)(tg.ones((2, 32)))
MLP(small)(tg.ones((2, 9)))
Attention()(tg.ones((2, 5, 64)))
Attention()(tg.ones((2, 5, 63)))
Block()(tg.ones((2, 8, 5, 5)))
Block()(tg.ones((2, 7, 5, 5)))
"""

    assert said(tmp_path, PACKAGE, program) == [
        "line 13 of package/models.py: MLP.up Linear(8, 24): x is (2, 9) but (..., 8) is expected: axis -1 is 9, not 8",
        (
            "line 22 of package/models.py: Attention.query Linear(64, 64): x is (2, 5, 63) but (..., 64) is expected: "
            "axis -1 is 63, not 64"
        ),
        (
            "line 31 of package/models.py: Block.first Conv2d(8, 16, 3, 1, 1): x is (2, 7, 5, 5) but (..., 8, H, W) is "
            "expected: axis -3 is 7, not 8"
        ),
    ]


def test_a_wrong_number_in_the_other_module_is_reported_where_it_fails(tmp_path: Path) -> None:
    config = PACKAGE["package/config.py"]
    program = "from package.models import Attention\n\n\ndef run() -> None:\n    Attention()(tg.ones((2, 5, 64)))\n"
    wrong_heads = PACKAGE | {"package/config.py": config.replace("HEADS: int = 4", "HEADS: int = 5  # heads")}
    wrong_width = PACKAGE | {"package/config.py": config.replace("HIDDEN = 64", "HIDDEN = 60  # as many")}

    assert said(tmp_path, PACKAGE, program) == []
    assert said(tmp_path, wrong_heads, program) == [
        "line 22 of package/models.py: reshape: x (2, 5, 64) has 640 elements but shape (2, 5, 5, 12) has 600"
    ]
    assert said(tmp_path, wrong_width, program) == [
        (
            "line 22 of package/models.py: Attention.query Linear(60, 60): x is (2, 5, 64) but (..., 60) is expected: "
            "axis -1 is 64, not 60"
        )
    ]


ASSERTING = """from __future__ import annotations

import tapegrad as tg
from tapegrad import Tensor, nn


class Model(nn.Module):
    def __init__(self, width: int, heads: int, kind: str = "a", *, is_deep: bool = True, most: int = 64) -> None:
        assert width % heads == 0
        assert width > 2 and width != 6
        assert width <= most
        assert kind in ("a", "b")
        assert is_deep
        assert 10 / heads < 5.0
        assert len(kind) == 1
        self.norm = nn.GroupNorm(heads, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class Broken(nn.Module):
    def __init__(self, width: int) -> None:
        self.norm = nn.GroupNorm(3, 8)
        self.layers = nn.Sequential(nn.Linear(width, 4), nn.Linear(5, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(self.norm(x))
"""


@pytest.mark.parametrize(
    ("arguments", "line", "reason"),
    [
        ("10, 4", 9, "width % heads is 2, not 0"),
        ("2, 2", 10, "width is 2, not above 2"),
        ("6, 3", 10, "width is 6"),
        ("72, 3", 11, "width is 72 and most is 64"),
        ("9, 3, 'c'", 12, "kind is 'c'"),
        ("9, 3, is_deep=False", 13, "is_deep is False"),
        ("8, 2", 14, "10 / heads is 5.0, not below 5.0"),
    ],
)
def test_an_assertion_of_a_constructor_that_fails_shows_the_numbers(
    tmp_path: Path, arguments: str, line: int, reason: str
) -> None:
    program = f"from models import Model\n\nModel({arguments})\n"

    found = said(tmp_path, {"models.py": ASSERTING}, program)

    assert found == [f"line {line} of models.py: the assertion fails: {reason}"]


def test_an_assertion_of_unknown_values_is_no_error(tmp_path: Path) -> None:
    program = "from models import Model\n\nModel(9, 3)\nModel(int(input()), 3)\n"

    assert said(tmp_path, {"models.py": ASSERTING}, program) == []


def test_a_layer_that_no_call_can_make_is_reported_once(tmp_path: Path) -> None:
    program = "import models\n\nmodels.Broken(4)\n"

    assert said(tmp_path, {"models.py": ASSERTING}, program) == []  # only in models.py

    run = python(tmp_path, "-m", "mypy", "--no-color-output", "--no-pretty", "program.py")
    assert run.stdout.splitlines()[:-1] == [
        "models.py:24: error: GroupNorm: 3 groups do not divide 8 channels  [tapegrad-shape]",
        (
            "models.py:25: error: Sequential[1] Linear(5, 3): x is (..., 4) but (..., 5) is expected: axis -1 is 4, "
            "not 5  [tapegrad-shape]"
        ),
    ]


def test_modules_that_import_each_other_know_the_constants(tmp_path: Path) -> None:
    files = {"config.py": "import program\nWIDTH = 8\n\n\ndef run() -> None:\n    program.f()\n"}
    program = "import config\n\n\ndef f() -> None:\n    tg.reveal_shape(tg.ones((config.WIDTH,)))\n"

    assert said(tmp_path, files, program) == ["Revealed shape is (8,)"]


CHANGING_CONSTANTS: Final = [
    "N = 7\nN = 8",
    "N = 7\nN += 1",
    "N = 7\nfor _ in range(2):\n    N = N + 1",
    "for _ in range(2):\n    N = 7",
    "if __debug__:\n    N = 7\nelse:\n    N = 8",
    "N = 7\ndef f() -> None:\n    global N\n    N = 8",
    "N = 7\nglobals()['N'] = 8",
    "N = 7\nglobals().update(N=8)",
    "N = 7\nexec('N = 8')",
    "from typing import Any\nN: Any = 7",
    "N = 7\nfrom others import N",
    "N = 7\nfrom others import *",
    "if __debug__:\n    M = 7\nN = M",
    "class C:\n    width = 7\nN = C.width",
    "N = (M := 7)",
    "N = int('7')",
    "import others\nN = 7\nothers.N = 8",
    "import others\nN = 7\nsetattr(others, 'N', 8)",
    "N = 7  # mypy: disable-error-code=name-defined",
]
CHANGED_BY_THE_FILE: Final = [
    "module.N = 8",
    "setattr(module, 'N', 8)",
    "vars(module)['N'] = 8",
    "def f(name: str) -> None:\n    setattr(module, name, 8)",
    "def f(other: type[int]) -> None:\n    other.N = 8  # type: ignore[attr-defined]",
]
CHANGING_LISTS: Final = [
    ("N = [7]\nN.append(8)", ""),
    ("N = [7]\nN[0] = 8", ""),
    ("N = [7]\nT = N\nT[0] = 8", ""),
    ("N = [7]\ndef f() -> list[int]:\n    return N", ""),
    ("N = [7]", "module.N[0] = 8"),
    ("N = [7]", "s = module.N\ns[0] = 8"),
    ("T = [7]\nN = T\nN[0] = 8", ""),
]
CHANGING_OBJECTS: Final = [
    ("N.width = 8", ""),
    ("def f(one: Config) -> None:\n    one.width = 8", ""),
    ("N = Config(8)", ""),
    ("", "module.N.width = 8"),
    ("", "setattr(module.N, 'width', 8)"),
    ("def f() -> None:\n    N.__dict__['width'] = 8", ""),
]
CONFIG: Final = "from dataclasses import dataclass\n@dataclass\nclass Config:\n    width: int\nN = Config(7)\n"


def test_what_may_change_is_not_known(tmp_path: Path) -> None:
    programs = [
        *((one, "", "N") for one in CHANGING_CONSTANTS),
        *(("N = 7", one, "N") for one in CHANGED_BY_THE_FILE),
        *((*one, "N[0]") for one in CHANGING_LISTS),
        *((f"{CONFIG}{one}", change, "N.width") for one, change in CHANGING_OBJECTS),
        ("N = 7", "", "N"),
        ("N = [7]", "", "N[0]"),
        (CONFIG, "", "N.width"),
    ]
    for number, (config, change, size) in enumerate(programs):
        (tmp_path / f"config{number}.py").write_text(f"{config}\n", "utf-8")
        lines = (f"import config{number} as module", change, f"tg.reveal_shape(tg.ones((module.{size},)))")
        (tmp_path / f"program{number}.py").write_text("\n".join([HEAD, *lines, ""]), "utf-8")
    (tmp_path / "others.py").write_text("N = 8\n", "utf-8")
    write_settings(tmp_path)

    run = python(tmp_path, "-m", "mypy", *(f"program{number}.py" for number in range(len(programs))))

    found = re.findall(r"program(\d+)\.py:\d+: note: Revealed shape is \((.*?),?\) ", run.stdout)
    known = {int(number) for number, sizes in found if sizes == "7"}
    assert len(found) == len(programs), run.stdout
    assert [programs[number] for number in sorted(known)] == programs[-3:]


def test_a_package_that_assigns_to_what_it_imports_makes_it_unknown(tmp_path: Path) -> None:
    files = {"package/__init__.py": "from .config import N as N\nN = 8\n", "package/config.py": "N = 7\n"}

    assert shape(tmp_path, files, "from package import N", "N") == "(N,)"


def test_an_attribute_that_one_class_sets_by_name_stays_that_of_other_classes(tmp_path: Path) -> None:
    program = """
class Frozen:
    def change(self, name: str) -> None:
        object.__setattr__(self, "width", 3)
        setattr(self, name, 4)


class Config:
    def __init__(self, width: int) -> None:
        self.width = width


def f(frozen: Frozen, config: Config) -> None:
    tg.reveal_shape(tg.ones((Config(5).width, config.width)))
"""

    assert said(tmp_path, {}, program) == ["Revealed shape is (5, config.width)"]


def test_an_attribute_that_its_class_sets_by_name_is_not_known(tmp_path: Path) -> None:
    program = """
class Config:
    def __init__(self, width: int, depth: int) -> None:
        self.width = width
        self.depth = depth

    def change(self) -> None:
        object.__setattr__(self, "width", 3)


class Other(Config):
    def change_all(self, name: str) -> None:
        setattr(self, name, 4)


tg.reveal_shape(tg.ones((Config(5, 6).width, Config(5, 6).depth, Other(5, 6).depth)))
"""

    assert said(tmp_path, {}, program) == ["Revealed shape is (?, ?, ?)"]


UNANNOTATED: Final = """from tapegrad import nn


class Classifier(nn.Module):
    def __init__(self, width: int) -> None:
        self.layer = nn.Linear(width, 3)

    def forward(self, x, bias=None):  # type: ignore[no-untyped-def]
        return self.layer(x)


def flat(x, parts=2):  # type: ignore[no-untyped-def]
    return x.reshape(parts, -1)
"""


def test_bodies_without_annotations_in_another_file_are_read(tmp_path: Path) -> None:
    files = {"package/__init__.py": "", "package/model.py": UNANNOTATED}
    program = """from package import model
x = tg.ones((4, 8))
model.Classifier(8)(x) @ tg.ones((4, 2))
y = model.flat(x)  # type: ignore[no-untyped-call]
y @ tg.ones((4, 2))
model.Classifier(7)(x)
"""

    found = said(tmp_path, files, program)

    assert found == [
        "matmul: inner sizes differ: x (4, 3) has 3 columns but y (4, 2) has 4 rows",
        "matmul: inner sizes differ: x (2, 16) has 16 columns but y (4, 2) has 4 rows",
        (
            "line 9 of package/model.py: Classifier.layer Linear(7, 3): x is (4, 8) but (..., 7) is expected: "
            "axis -1 is 8, not 7"
        ),
    ]


def test_a_file_without_options_for_unannotated_functions_reads_no_body(tmp_path: Path) -> None:
    program = "# mypy: no-check-untyped-defs, allow-untyped-defs, allow-untyped-calls\n" + HEAD
    program += UNANNOTATED.replace("  # type: ignore[no-untyped-def]", "")
    program += "\n\nflat(tg.ones((4, 8)), 3)\n"

    assert said(tmp_path, {}, program) == []

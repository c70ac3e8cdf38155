"""Differential test of mypy against Python: each random call of an op has the same outcome in both.

The calls are generated from the signatures of the ops, so a new op is included automatically. Half of them are wrong,
where the op can be called wrongly at all.

    python tests/mypy/test_differential.py [calls] [--seed SEED] [--hide] [--ends]
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tapegrad as tg
import tapegrad.ops
from tapegrad.autograd.registry import OPS, Op
from tapegrad.project.reports import run_mypy
from tests.warm_mypy_cache import write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

Sizes: TypeAlias = tuple[int, ...]

DRAWS = 60  # for each call that is kept; most ops are seldom right by chance, and some are never wrong
DTYPES = {
    "float32": "numpy.floating[numpy._typing._nbit_base._32Bit]",
    "float64": "numpy.float64",
    "uint8": "numpy.unsignedinteger[numpy._typing._nbit_base._8Bit]",
    "int32": "numpy.signedinteger[numpy._typing._nbit_base._32Bit]",
    "int64": "numpy.signedinteger[numpy._typing._nbit_base._64Bit]",
    "bool": "numpy.bool[bool]",
}
OPERATORS = {
    "add": "+",
    "bitwise_and": "&",
    "bitwise_left_shift": "<<",
    "bitwise_or": "|",
    "bitwise_right_shift": ">>",
    "bitwise_xor": "^",
    "div": "/",
    "floor_divide": "//",
    "matmul": "@",
    "mul": "*",
    "pow": "**",
    "remainder": "%",
    "sub": "-",
}
COUNTING = {"masked_select", "nonzero"}  # how long their results are, the values say and no type
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
HIDING = ("counted", "anything")
HELPERS = """from typing import Any

def counted(n: int) -> int:
    return n

def anything(n: Any) -> Any:
    return n
"""
ENDING = ("of_any_rank", "ending", "ending_in_two", "beginning")  # by how many sizes an operand needs
ENDS = """from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from tapegrad import Shape, Tape, Tensor

B = TypeVarTuple("B")
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
D = TypeVar("D", bound=np.generic)

def of_any_rank(x: Tensor[Shape[*B], T, D]) -> Tensor[Shape[*tuple[Any, ...]], T, D]:
    return x

def ending(x: Tensor[Shape[*B, N], T, D]) -> Tensor[Shape[*tuple[Any, ...], N], T, D]:
    return x

def ending_in_two(x: Tensor[Shape[*B, N, M], T, D]) -> Tensor[Shape[*tuple[Any, ...], N, M], T, D]:
    return x

def beginning(x: Tensor[Shape[N, *B], T, D]) -> Tensor[Shape[N, *tuple[Any, ...]], T, D]:
    return x
"""
LAYERS = [  # and the shape of an argument
    ("AdaptiveAvgPool2d((2, 2))", (2, 3, 8, 8)),
    ("AvgPool2d(2)", (2, 3, 8, 8)),
    ("BatchNorm1d(3)", (5, 3)),
    ("BatchNorm1d(3)", (5, 3, 7)),
    ("BatchNorm2d(3)", (2, 3, 8, 8)),
    ("Conv1d(3, 4, 2)", (2, 3, 7)),
    ("Conv2d(3, 4, 2, stride=2)", (2, 3, 8, 8)),
    ("Conv2d(3, 4, 2, padding=1)", (3, 8, 8)),
    ("Conv3d(3, 4, 2)", (2, 3, 4, 5, 6)),
    ("ConvTranspose1d(3, 4, 2)", (2, 3, 7)),
    ("ConvTranspose2d(3, 4, 2)", (2, 3, 4, 5)),
    ("Dropout(0.5)", (2, 3)),
    ("Flatten()", (2, 3, 4, 5)),
    ("Flatten()", (2, 3)),
    ("GroupNorm(2, 4)", (2, 4, 3, 3)),
    ("GroupNorm(2, 4)", (2, 4)),
    ("GRU(3, 4)", (2, 5, 3)),
    ("LayerNorm(3)", (2, 4, 3)),
    ("LayerNorm((4, 3))", (2, 4, 3)),
    ("Linear(3, 4)", (3,)),
    ("Linear(3, 4)", (2, 5, 3)),
    ("LSTM(3, 4)", (2, 5, 3)),
    ("MaxPool1d(2)", (2, 3, 8)),
    ("MaxPool2d(2)", (2, 3, 8, 8)),
    ("ReLU()", (2, 3)),
    ("Reshape((3, 2))", (6,)),
    ("RMSNorm(3)", (2, 4, 3)),
    ("RNN(3, 4)", (2, 5, 3)),
    ("Sequential(tg.nn.Conv2d(3, 4, 2), tg.nn.ReLU(), tg.nn.MaxPool2d(2), tg.nn.Flatten())", (2, 3, 8, 8)),
    ("Sequential(tg.nn.Linear(3, 4), tg.nn.Tanh(), tg.nn.Linear(4, 2))", (5, 2, 3)),
    ("Softmax()", (2, 3)),
    ("TransformerEncoderBlock(4, 2, 8)", (2, 3, 4)),
    ("Unflatten((2, 3))", (5, 6)),
    ("Upsample(2)", (2, 3, 4, 4)),
]
CODES = {tg.ShapeError: "tapegrad-shape", tg.DTypeError: "tapegrad-dtype", tg.TapeError: "tapegrad-tape"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it is written, and its outcome: the type of its result, or the message of its error."""

    written: str
    outcome: str
    code: str = ""  # of the rejection

    @property
    def valid(self) -> bool:
        """Whether it runs."""
        return not self.code


class Drawn:
    """Draws calls of one op."""

    lengths: Sizes = (0, 1, 2, 3, 5, 7)
    largest_rank = 4

    def __init__(self, op: Op, dice: random.Random) -> None:
        self.op, self.dice = op, dice
        self.like: Sizes = ()  # the first operand's shape, which the other arguments are drawn beside
        self.beside: list[Sizes] = []  # the shapes that subscripts were drawn for

    def expression(self) -> str:
        """Return a call as a function, as a method or as an operator."""
        operands, options = self.arguments()
        if self.op.name in OPERATORS and self.chance(0.3):
            return f"({f' {OPERATORS[self.op.name]} '.join(operands)})"
        if self.op.name == "getitem":
            return f"{operands[0]}[{options[0].removeprefix('index=')}]"
        first = next(iter(signature(self.op.function).parameters))
        is_method = hasattr(tg.Tensor, self.op.name) and first in self.op.operands and first not in self.op.sequences
        if is_method and self.chance(0.4):
            return f"{operands[0]}.{self.op.name}({', '.join([*operands[1:], *options])})"
        return f"tg.{self.op.name}({', '.join([*operands, *options])})"

    def arguments(self) -> tuple[list[str], list[str]]:
        """Return operands by position and all else by name."""
        self.like = self.shape()
        operands: list[str] = []
        options: list[str] = []
        for name, parameter in signature(self.op.function).parameters.items():
            if name == "rng" or (parameter.default is not Parameter.empty and self.chance(0.4)):
                continue
            if name == "subscripts":
                operands.append(repr(self.subscripts()))
            elif name in self.op.operands:
                operand = self.operands(name, parameter.annotation)
                (options or operands).append(f"{name}={operand}" if options else operand)
            else:
                options.append(f"{name}={self.argument(name, parameter.annotation)}")
        return operands, options

    def chance(self, share: float) -> bool:
        """Say yes in that share of the cases."""
        return self.dice.random() < share

    def shape(self) -> Sizes:
        """Return any shape."""
        if self.op.name[-2:] in ("1d", "2d", "3d") and self.chance(0.8):
            return tuple(self.dice.choices(self.lengths, k=int(self.op.name[-2]) + self.dice.randint(1, 2)))
        return tuple(self.dice.choices(self.lengths, k=self.dice.randint(0, self.largest_rank)))

    def relative(self) -> Sizes:
        """Return a shape that may fit beside the first operand's."""
        like, n = self.like, self.dice.choice(self.lengths)
        stretched = tuple(self.dice.choice((1, size)) for size in like)
        other = tuple(n if self.chance(0.3) else size for size in like)
        if self.op.name.startswith("conv"):
            return self.kernels()
        near = (
            like,
            like,
            stretched,
            like[1:],
            like[:-1],
            like[1:2],
            (n, *like),
            (*like, n),
            (*like[:-2], *like[-1:], n),
        )
        return self.dice.choice((*near, like[::-1], like[:1], like[-1:], other, self.shape()))

    def kernels(self) -> Sizes:
        """Return the shape of kernels that may slide over the first operand, with or without a batch."""
        has_rank = self.op.name.endswith("d")
        rank = int(self.op.name[-2]) if has_rank else max(len(self.like) - self.dice.randint(1, 2), 1)
        channels = self.like[-rank - 1] if len(self.like) > rank else 1
        transposed = "transpose" in self.op.name
        others = self.dice.choice(self.lengths)
        sizes = (channels, others) if transposed else (others, channels)
        return (*sizes, *self.dice.choices((1, 2, 3), k=rank))

    def fitting(self, name: str) -> Sizes | None:
        """Return the shape of one of so many operands that chance would hardly ever make them fit."""
        gates = GATES.get(self.op.name.removesuffix("_cell"))
        if gates is None or not self.like:
            return None
        hidden = 1 + len(self.like)
        batch = self.like[: -1 if self.op.name.endswith("_cell") else -2]
        shapes = {"weight_x": (self.like[-1], gates * hidden), "weight_h": (hidden, gates * hidden)}
        state = (*batch, hidden)
        return {**shapes, "h": state, "c": state, "bias_x": (gates * hidden,), "bias_h": (gates * hidden,)}[name]

    def operands(self, name: str, annotation: str) -> str:
        """Return an operand, or as many as the op takes at once."""
        if name == self.op.star:
            if self.op.name != "einsum":  # vectors mostly, of which `meshgrid` takes any number
                count = self.dice.randint(1, 3)
                self.beside = [self.shape()[:1] if self.chance(0.9) else self.relative() for _ in range(count)]
            return ", ".join(self.operand(annotation, shape) for shape in self.beside)
        if name not in self.op.sequences:
            if name == next(iter(self.op.parameters)):
                return self.operand(annotation, self.like)
            fitting = self.fitting(name) if self.chance(0.9) else None
            return self.operand(annotation, self.relative() if fitting is None else fitting)
        parts = [self.operand(annotation, self.like)]
        parts += [self.operand(annotation, self.relative()) for _ in range(self.dice.randint(0, 2))]
        return f"({', '.join(parts)},)" if self.chance(0.5) else f"[{', '.join(parts)}]"

    def subscripts(self) -> str:
        """Return subscripts of `einsum` and draw the shapes they are for; axes of one size mostly share a letter."""
        self.beside = [self.like, *(self.relative() for _ in range(self.dice.randint(0, 2)))]
        dots = "..." if self.chance(0.2) else ""

        def letter(size: int) -> str:
            return self.dice.choice("abcdefgh") if self.chance(0.05) else "zyxwvuts"[size % 8]

        parts = [dots + "".join(map(letter, shape[self.dice.randint(0, 1) if dots else 0 :])) for shape in self.beside]
        known = sorted({*"".join(parts)} - {"."})
        output = dots + "".join(self.dice.sample(known, self.dice.randint(0, len(known))))
        return ",".join(parts) + ("" if self.chance(0.3) else f"->{output}")

    def operand(self, annotation: str, shape: Sizes) -> str:
        """Return a tensor."""
        dtype = self.dtype(annotation)
        trace = ".trace()" if self.chance(0.3) else ""
        return f"tg.zeros({shape}{dtype}){trace}"

    def dtype(self, annotation: str) -> str:
        """Return a dtype that the op takes, now and then one that it does not; nothing is float32."""
        kinds = [", np.bool_"] if "np.bool_" in annotation else [", np.int64"] if "np.integer" in annotation else [""]
        if "Truth" in annotation or "Float | np.integer" in annotation:
            kinds = ["", ", np.int64", ", np.bool_"]
        if "Whole" in annotation or "Bits" in annotation:
            kinds = [", np.int64", ", np.bool_"] if "Bits" in annotation else [", np.int64"]
        if self.chance(0.05):
            kinds = ["", ", np.int64", ", np.bool_", ", np.float64"]
        return self.dice.choice(kinds)

    def argument(self, name: str, annotation: str) -> str:
        """Return a value of one of the kinds that an annotation unites."""
        kind = self.dice.choice(re.split(r" \| (?![^\[]*\])", annotation))
        rank = len(self.like)
        if kind == "Axis":
            return self.argument(name, "Int | tuple[Int, ...] | None")
        if name.startswith("ax") and kind == "Int":
            return self.of_numpy(self.axis())
        if name == "axes" and kind.startswith("tuple"):
            return self.several(self.dice.sample(range(rank), rank))
        if name.startswith("ax") and kind.startswith("tuple"):
            return self.several([self.axis() for _ in range(self.dice.randint(0, 2))])
        if name == "dtype":
            return self.dice.choice(("np.float32", "np.float64", "np.int64", "np.bool_"))
        if kind in ("Sizes", "SizesOrList"):
            sizes = self.sizes()
            return f"[{sizes[1:-1]}]" if kind == "SizesOrList" and self.chance(0.2) else sizes
        if kind == "list[int]":
            return f"[{self.argument(name, 'tuple[int, ...]')[1:-1]}]"
        if kind == "Int":
            return self.of_numpy(self.dice.randint(-1, 7))
        if name == "rtol" and self.op.name == "pinv":  # no gradient where it drops a singular value that is not 0
            return "0.001"
        if kind == "Reduction":
            return self.dice.choice(("'mean'", "'sum'", "'none'"))
        if kind == "Paired":
            count = self.dice.randint(0, 2)
            return self.several([self.several([self.axis() for _ in range(count)]) for _ in range(2)])
        if kind.startswith("Index"):
            return self.index()
        if kind == "Scalar":
            return self.dice.choice(("0.5", "2", "np.float32(0.5)", "np.int64(2)"))
        plain = {"None": "None", "int": str(self.dice.randint(-1, 7)), "float": self.dice.choice(("0.5", "2"))}
        plain |= {"bool": self.dice.choice(("True", "False")), "Any": self.nested()}
        if kind in plain:
            return plain[kind]
        if kind.startswith("Literal["):
            written: str = self.dice.choice(kind[len("Literal[") : -1].split(", "))
            return written
        if kind.startswith("tuple["):
            *parts, last = re.split(r", (?![^\[]*\])", kind[len("tuple[") : -1])
            parts = parts * self.dice.randint(0, max(rank, 2)) if last == "..." else [*parts, last]
            return self.several([self.argument(name, part) for part in parts])
        message = f"{self.op.name}: say here how to draw {name}: {kind}"
        raise NotImplementedError(message)

    def axis(self) -> int:
        """Return an axis that is mostly there."""
        rank = len(self.like)
        return self.dice.randint(-rank - 1, rank) if self.chance(0.3) else self.dice.randrange(-rank, rank or 1)

    def sizes(self) -> str:
        """Return a shape to make or to take on: of as many elements as the first operand, when it can be."""
        sizes = list(self.relative())
        if self.chance(0.5):
            total = math.prod(self.like)
            part = self.dice.choice([n for n in range(1, total + 1) if total % n == 0] or [1])
            sizes = self.dice.choice(([total], [part, total // part], [1, total // part, part], [*self.like]))
        if sizes and self.chance(0.3):
            sizes[self.dice.randrange(len(sizes))] = -1
        return self.several([self.of_numpy(n) for n in sizes])

    def of_numpy(self, n: int) -> str:
        """Write a number, now and then as one of NumPy's."""
        return f"np.int64({n})" if self.chance(0.05) else str(n)

    def index(self) -> str:
        """Return what stands between brackets."""
        end = (None, -8, -3, -2, -1, 0, 1, 2, 4, 9)

        def item() -> str:
            low, high = self.dice.choices(end, k=2)
            step = self.dice.choice((None, None, None, 1, 2, 3, -1, -2))
            number = self.dice.randint(-3, 3)
            part = self.dice.choice((slice(low, high, step), slice(low, high), slice(None), number, number, None, ...))
            if part is number:
                return self.of_numpy(number)
            return self.between_brackets(part) if self.op.name == "getitem" else "..." if part is ... else str(part)

        parts = [item() for _ in range(self.dice.randint(1, 3))]
        return ", ".join(parts) if self.op.name == "getitem" or len(parts) == 1 else f"({', '.join(parts)})"

    @staticmethod
    def between_brackets(part: Any) -> str:
        """Write a part of an index as it stands between brackets."""
        if not isinstance(part, slice):
            return "..." if part is ... else str(part)
        ends = ("" if n is None else str(n) for n in (part.start, part.stop, part.step))
        return ":".join(ends)

    def nested(self) -> str:
        """Return lists of lists of numbers, ragged now and then."""
        sizes = self.dice.choices((1, 2, 3), k=self.dice.randint(0, 3))

        def filled(depth: int) -> str:
            if depth == len(sizes):
                return self.dice.choice(("0.5", "1.5"))
            length = sizes[depth] + (self.chance(0.1))
            return f"[{', '.join(filled(depth + 1) for _ in range(length))}]"

        return filled(0)

    def several(self, parts: list[Any]) -> str:
        """Write a tuple."""
        return f"({', '.join(map(str, parts))}{',' if len(parts) == 1 else ''})"


def drawn(calls: int, seed: int) -> list[Call]:
    """Return about the given number of calls, the same number for each op, valid and invalid ones."""
    dice, ops = random.Random(seed), drawn_ops()  # noqa: S311  # draws programs, not secrets
    return [call for op in ops for call in calls_of_one_op(op, dice, math.ceil(calls / len(ops) / 2))]


def drawn_ops() -> list[Op]:
    return [op for op in OPS.values() if op.function.__module__.startswith("tapegrad.")]  # tests define others


def calls_of_one_op(op: Op, dice: random.Random, share: int) -> Iterator[Call]:
    left = {True: share, False: share}
    seen: set[str] = set()
    draw = Drawn(op, dice)
    for _ in range(DRAWS * share):
        written = draw.expression()
        if written in seen:
            continue
        seen.add(written)
        call = executed(written)
        if call is not None and call.valid and op.name in COUNTING:
            call = replace(call, outcome=re.sub(r"Literal\[\d+\]", "Any", call.outcome))
        if call is not None and left[call.valid]:
            left[call.valid] -= 1
            yield call
        if not any(left.values()):
            return


def executed(written: str) -> Call | None:
    """Run a call; None where it fails because of the values of its arguments, which types do not have."""
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            result = eval(written, {"tg": tg, "np": np})  # noqa: S307  # written above
    except tuple(CODES) as error:
        return Call(written, str(error), next(code for kind, code in CODES.items() if isinstance(error, kind)))
    except (IndexError, ValueError, TypeError):
        return None
    return Call(written, type_of(result))


def type_of(value: Any) -> str:
    """Write the type of a result as mypy reveals it."""
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(type_of, value)) or '()'}]"
    sizes = ", ".join(f"Literal[{n}]" for n in value.shape) or "()"
    tape = "OwnedTape" if value.owns_tape else "NoneTape"
    return f"tapegrad.tensors.Tensor[tuple[{sizes}], tapegrad.autograd.tape.{tape}, {DTYPES[str(value.dtype)]}]"


def checked(calls: list[Call], folder: Path) -> dict[int, str]:
    """Return what mypy says of each call, by its place in the list."""
    program = folder / "calls.py"
    lines = [f"reveal_type({call.written})" for call in calls]
    (folder / "hiding.py").write_text(HELPERS, "utf-8")
    (folder / "ends.py").write_text(ENDS, "utf-8")
    helpers = [f"from hiding import {', '.join(HIDING)}", f"from ends import {', '.join(ENDING)}"]
    head = ["import numpy as np", "import tapegrad as tg", *helpers]
    program.write_text("\n".join([*head, *lines, ""]), "utf-8")
    write_settings(folder)
    said: dict[int, str] = {}
    for report in run_mypy(["--config-file", "mypy.ini", program.name], folder=folder):
        place, revealed = report.line - len(head) - 1, re.fullmatch('Revealed type is "(.*)"', report.text)
        if report.kind == "error":
            said[place] = f"{report.code} / {report.text}"
        elif revealed is not None:
            said.setdefault(place, revealed[1])
    return said


def hidden(call: Call, dice: random.Random) -> Call:
    """Return a call that does the same, some of whose numbers come from where mypy sees none."""
    parts = re.split(r"(\d+\.\d+|[A-Za-z_]\w*|\d+)", call.written)
    hiding = [f"{dice.choice(HIDING)}({part})" if part.isdigit() and dice.random() < 0.35 else part for part in parts]
    return replace(call, written="".join(hiding))


def ending(call: Call, dice: random.Random) -> Call:
    """Return a call that does the same, of some of whose operands mypy does not know the rank."""

    def written(operand: re.Match[str]) -> str:
        rank = len(re.findall(r"\d+", operand[1]))
        fitting = [ENDING[0], *ENDING[1:2] * (rank > 0), *ENDING[2:3] * (rank > 1), *ENDING[3:] * (rank > 0)]
        return f"{dice.choice(fitting)}({operand[0]})" if dice.random() < 0.6 else operand[0]

    return replace(call, written=re.sub(r"tg\.zeros\((\([\d, ]*\))(?:, np\.\w+)?\)", written, call.written))


def judged(call: Call, said: str) -> str:
    """Say how what mypy said of a call compares with what the call did."""
    code, _, words = said.rpartition(" / ")
    if not call.valid:
        if call.outcome in (words, said):
            return "exact"
        if not code:
            return "missed"
        # A call with two mistakes may be rejected for either.
        return "in other words" if code == call.code else "for more" if code in CODES.values() else "in mypy's words"
    if code:
        return "false alarm"
    if said == call.outcome:
        return "exact"
    open_parts = re.sub(r"(, )?\*tuple\[Any, \.\.\.\](, )?", "~", said)
    open_parts = re.sub(r"tuple\[.*, \.\.\.\]|\b(Any|int)\b", "@", open_parts)
    pattern = re.escape(open_parts).replace("@", ".*").replace(r"\~", r"(?:, |\(\)|Literal\[\d+\])*")
    return "unknown" if re.fullmatch(pattern, call.outcome) else "wrong"


def scored(calls: list[Call], folder: Path) -> dict[tuple[bool, str], list[tuple[Call, str]]]:
    """Return the calls and what mypy says of them, by whether they are valid and how both compare."""
    said = checked(calls, folder)
    found: dict[tuple[bool, str], list[tuple[Call, str]]] = {}
    for number, call in enumerate(calls):
        words = said.get(number, "nothing")
        found.setdefault((call.valid, judged(call, words)), []).append((call, words))
    return found


def test_mypy_and_python_agree_on_every_call(tmp_path: Path) -> None:
    calls = drawn(500, seed=0)
    found = scored(calls, tmp_path)
    count = Counter({key: len(pairs) for key, pairs in found.items()})
    valid = sum(call.valid for call in calls)

    for never in ((True, "wrong"), (True, "false alarm"), (False, "in other words")):
        assert found.get(never, []) == []
    assert count[True, "exact"] >= 0.99 * valid
    assert count[False, "missed"] <= 0.01 * (len(calls) - valid)


def test_hidden_numbers_cause_no_false_reports(tmp_path: Path) -> None:
    dice = random.Random(1)  # noqa: S311  # draws programs, not secrets
    calls = [hidden(call, dice) for call in drawn(500, seed=1)]

    found = scored(calls, tmp_path)

    failed = [words for pairs in found.values() for _, words in pairs if "tapegrad-internal" in words]
    assert [failed, found.get((True, "wrong"), []), found.get((True, "false alarm"), [])] == [[], [], []]


def test_unknown_ranks_cause_no_false_reports(tmp_path: Path) -> None:
    dice = random.Random(2)  # noqa: S311  # draws programs, not secrets
    calls = [ending(call, dice) for call in drawn(500, seed=2)]

    found = scored(calls, tmp_path)

    failed = [words for pairs in found.values() for _, words in pairs if "tapegrad-internal" in words]
    assert [failed, found.get((True, "wrong"), []), found.get((True, "false alarm"), [])] == [[], [], []]


def test_layers_of_unknown_ranks_cause_no_false_reports(tmp_path: Path) -> None:
    written = [
        f"tg.nn.{layer}({helper}(tg.zeros({shape})))"
        for layer, shape in LAYERS
        for helper in ENDING
        if helper != "ending_in_two" or len(shape) > 1
    ]
    calls = [outcome_of(one) for one in written]

    found = scored(calls, tmp_path)

    right = {(True, "exact"), (True, "unknown")}
    assert {key: pairs for key, pairs in found.items() if key not in right} == {}


def outcome_of(written: str) -> Call:
    """Run a call of a layer without its helpers."""
    call = executed(re.sub(rf"\b({'|'.join(ENDING)})\b", "", written))
    assert call is not None, written
    assert call.valid, call
    return replace(call, written=written)


def test_every_op_gets_valid_calls() -> None:
    for op in drawn_ops():
        calls = calls_of_one_op(op, random.Random(0), share=12)  # noqa: S311  # draws programs, not secrets

        assert any(call.valid for call in calls), op.name


def main() -> None:
    """Print the scores, and each call that mypy did not see exactly."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("calls", type=int, nargs="?", default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hide", action="store_true", help="hide some of the numbers behind functions")
    parser.add_argument("--ends", action="store_true", help="hide the ranks of some operands")
    options = parser.parse_args()
    calls = drawn(options.calls, options.seed)
    dice = random.Random(options.seed)  # noqa: S311  # draws programs, not secrets
    if options.hide:
        calls = [hidden(call, dice) for call in calls]
    if options.ends:
        calls = [ending(call, dice) for call in calls]
    with tempfile.TemporaryDirectory() as folder:
        found = scored(calls, Path(folder))
    totals = Counter(call.valid for call in calls)
    lines = [
        f"{verdict}: {call.written}\n    does: {call.outcome}\n    mypy: {words}"
        for (_, verdict), pairs in sorted(found.items())
        if verdict != "exact"
        for call, words in pairs
    ]
    for (valid, verdict), pairs in sorted(found.items()):
        kind, share = "valid" if valid else "invalid", len(pairs) / totals[valid]
        lines.append(f"{kind:8} {verdict:15} {len(pairs):6} of {totals[valid]:6}  {share:7.2%}")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()

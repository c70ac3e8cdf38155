"""Compare the published ratios with targets, and show what bounds the workloads that miss theirs.

    python -m benchmarks.targets    writes the table of docs/guide/speed.md from the published numbers

Nothing is measured here. The ratios to eager PyTorch are those of `benchmarks.workloads --publish`, the shares of time
those of `benchmarks.time_split --publish`; from shares on another processor no least ratio is computed.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks import jit, workloads
from benchmarks.contestants import WORKLOADS
from benchmarks.rivals import data
from benchmarks.workloads import Ratio, Times, ratio, results_of
from docs.marks import between_marks

SPLIT: Final = workloads.ROOT / "benchmarks" / "time_split.json"
PAGE: Final = workloads.ROOT / "docs" / "guide" / "speed.md"
BEGIN, END = "<!-- targets: begin -->", "<!-- targets: end -->"
# The largest ratios to eager PyTorch, where its products are as fast as NumPy's.
TARGETS: Final[Mapping[str, Mapping[str, float]]] = {
    "tapegrad": {
        "elementwise-small": 0.55,
        "mlp-tiny": 0.4,
        "mlp-small": 1.0,
        "mlp-wide": 1.0,
        "cnn": 1.2,
        "convolution": 1.2,
        "transformer": 1.1,
        "elementwise-large": 1.1,
        "elementwise-fused": 0.4,
        "normalization": 2.0,
        "matmul": 1.0,
        "cross-entropy": 0.8,
    },
    "tapegrad fast": {
        "mlp-small": 0.95,
        "mlp-wide": 0.95,
        "cnn": 1.0,
        "convolution": 1.1,
        "transformer": 0.95,
        "elementwise-fused": 0.15,
        "normalization": 0.8,
        "pooling": 0.8,
        "cross-entropy": 0.6,
        "adam": 1.3,
    },
}
# Those whose products PyTorch leaves to the BLAS that "matmul" compares; its convolutions do not use it.
OF_PRODUCTS: Final = frozenset({"mlp-small", "mlp-wide", "transformer", "matmul"})
MEMORY: Final = {"tapegrad": 230, "tapegrad fast": 260}  # MiB
HELD: Final = "cannot be met: Numba itself holds more than the difference, see [Limits](#limits)"
CALL: Final = 1.3  # of a call under `jit`, in units of plain JAX
ITEMSIZE: Final = 4
_OTHER_PROCESSOR: Final = (
    "The shares of time are from another processor than the ratios, so *at least* is empty, and the ratios of "
    "products are compared with no target."
)
_NAMES: Final = {"Python": "Python and calls"}


def _of_mlp(sizes: tuple[int, ...]) -> int:
    """Return the numbers that move for each layer: bias, activation and their gradients, and the update."""
    return 3 * _parameters(sizes) + 8 * data.BATCHES[sizes] * sum(sizes[1:])


def _parameters(sizes: tuple[int, ...]) -> int:
    return sum(n * m + m for n, m in pairwise(sizes))


def _of_convolution(images: int, channels: int, positions: int, kernel: int, gathers: int) -> int:
    """Return the numbers that move to gather windows: each is read and written."""
    return 2 * gathers * images * positions * kernel * channels


_ROWS: Final = data.BLOCK_BATCH * data.TOKENS * data.WIDTH
_SCORES: Final = data.BLOCK_BATCH * data.HEADS * data.TOKENS**2
_POOLED: Final = 32 * 32 * 56 * 56
_FIRST, _SECOND = 64 * 16 * 26**2, 64 * 32 * 11**2  # results of the convolutions of the CNN
# Numbers that are read or written if each op reads its operands and writes its result once, forward and backward, and
# products move none. A convolution gathers its windows for a product forward and for each gradient.
MOVED: Final[Mapping[str, int]] = {
    "mlp-small": _of_mlp(data.SMALL),
    "mlp-wide": _of_mlp(data.WIDE),
    # relu 2 and 3, pool 1.25 and 2.5
    "cnn": 35 * (_FIRST + _SECOND) // 4
    + _of_convolution(64, 1, 26**2, 9, gathers=2)
    + _of_convolution(64, 16, 11**2, 9, gathers=2),
    # the images and the gradient of the result to channels last, twice
    "convolution": _of_convolution(8, 64, 56**2, 9, gathers=3) + 8 * 8 * 64 * 56**2,
    # scale 4 and softmax 5 of the scores; two norms 10, biases 27, gelu 20, sums 12, heads 4, loss 7, update 9
    "transformer": 9 * _SCORES + 89 * _ROWS,
    "elementwise-large": 34 * 4_000_000,  # 13 forward; 15 for the derivatives, and 6 to add them up
    "elementwise-fused": 6 * 4_000_000,  # x, the derivative and the result; the sum; two backward
    "normalization": 16 * 4096 * 1024,  # norm 2 and 3, softmax 2 and 3, product 3 and 2, sum 1
    "pooling": 37 * _POOLED // 4,  # maxima 1.25 and 2.5, means 1.25 and 1.25, the sum of the gradients 3
    "cross-entropy": 3 * 1024 * 16384,
    "adam": 7 * _parameters(data.WIDE),
}


class Row(NamedTuple):
    """A workload of one contestant.

    Attributes:
        name: The name of the workload.
        contestant: One of tapegrad's.
        target: The largest ratio.
        default: The ratio with default allocator settings.
        tuned: That where the allocator keeps its pages.
        lowest: The larger of the lower ends of the intervals of both.
        least: The smaller of them, if all but products and the traffic of `MOVED` took no time; None if the shares of
            time are from another processor.
        largest: The part that takes the most time besides products, with its share.
    """

    name: str
    contestant: str
    target: float
    default: float
    tuned: float
    lowest: float
    least: float | None
    largest: str

    @property
    def verdict(self) -> str:
        """Whether the target is met with both settings of the allocator, and what is in the way."""
        if self.least is None and self.name in OF_PRODUCTS:
            return "not comparable"
        if max(self.default, self.tuned) <= self.target:
            return "met"
        if self.lowest <= self.target:
            return "within the noise"
        is_out_of_reach = self.least is not None and self.least > self.target
        return "cannot be met" if is_out_of_reach else f"missed: {self.largest}"


def with_equal_products(relative: float, share: float, product: float) -> float:
    """Return a ratio to PyTorch if its products took as long as NumPy's.

    Args:
        relative: The ratio.
        share: Of NumPy's products in the own time.
        product: The time of a product in NumPy in units of PyTorch's.
    """
    reference = 1 - relative * share * (1 / product - 1)
    return relative / reference if reference > 0 else float("inf")


def are_of_one_processor(published: Mapping[str, Any], split: Mapping[str, Any]) -> bool:
    """Return whether the ratios and the shares of time were measured on the same kind of processor."""
    return bool(published["default"]["machine"]["processor"] == split["machine"]["processor"])


def rows(published: Mapping[str, Any], split: Mapping[str, Any]) -> list[Row]:
    """Return a row for each target."""
    results = {setting: results_of(published[setting]) for setting in ("default", "tuned")}
    is_same, found = are_of_one_processor(published, split), []
    for contestant, targets in TARGETS.items():
        for workload, target in targets.items():
            parts = split["parts"][contestant][workload]
            whole = sum(parts.values())
            ratios, lows = [], []
            for of in results.values():
                share = parts["products"] / whole if is_same and workload in OF_PRODUCTS else 0.0
                product, own = _ratio(of["matmul"], "NumPy by hand").median, _ratio(of[workload], contestant)
                ratios.append(with_equal_products(own.median, share, product))
                lows.append(with_equal_products(own.low, share, product))
            others = {part: ms for part, ms in parts.items() if part != "products"}
            largest = max(others, key=others.__getitem__)
            moved = MOVED.get(workload, 0) * ITEMSIZE / (split["copied"] * split["threads"]) * 1e3
            least = min(ratios) * min(1.0, (parts["products"] + moved) / whole)
            shown = f"{_NAMES.get(largest, largest)} {others[largest] / whole:.0%}"
            bound = least if is_same else None
            found.append(Row(workload, contestant, target, ratios[0], ratios[1], max(lows), bound, shown))
    return found


def _ratio(times: Mapping[str, Times | str], name: str) -> Ratio:
    found = ratio(times, name)
    assert found is not None
    return found


def table(
    published: Mapping[str, Any], split: Mapping[str, Any], calls: Mapping[str, Mapping[str, Mapping[str, list[float]]]]
) -> list[str]:
    """Return the table of all targets."""
    lines = [] if are_of_one_processor(published, split) else [_OTHER_PROCESSOR, ""]
    lines += [
        "| workload | of | target | default | pages kept | at least | |",
        "| --- | --- |" + " ---: |" * 4 + " --- |",
    ]
    for row in rows(published, split):
        figures = (row.target, row.default, row.tuned, row.least)
        numbers = " | ".join("" if number is None else f"{number:.2f}" for number in figures)
        lines.append(f"| {WORKLOADS[row.name]} | {row.contestant} | {numbers} | {row.verdict} |")
    memory = results_of(published["default"])["memory"]
    for contestant, limit in MEMORY.items():
        used = memory[contestant]
        assert isinstance(used, Times)
        verdict = "met" if used.median <= limit else HELD if contestant == "tapegrad fast" else "missed"
        lines.append(f"| {WORKLOADS['memory']} | {contestant} | {limit} | {used.median:.0f} | | | {verdict} |")
    own, plain = (median(calls["call"][name]["call"]) for name in jit.PAIR)
    verdict = "met" if own / plain <= CALL else "missed"
    lines.append(f"| {jit.TITLES['call']}, to plain JAX | tapegrad.jit | {CALL} | {own / plain:.2f} | | | {verdict} |")
    return lines


def page(text: str) -> str:
    """Return the speed page with the table."""
    files = (workloads.NUMBERS, SPLIT, jit.NUMBERS)
    return between_marks(text, BEGIN, END, "\n".join(table(*(json.loads(file.read_text("utf-8")) for file in files))))


def main() -> None:
    """Write the table."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

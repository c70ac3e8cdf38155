"""Write the tables and the plot of docs/guide/speed.md, and the table of docs/guide/jax.md, from published numbers.

    python -m benchmarks.speed_page

The numbers are those of `python -m benchmarks.workloads --publish`; a test compares the pages with them.
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import targets, workloads
from benchmarks.contestants import REFERENCE, WORKLOADS
from benchmarks.workloads import ALONE, TWINS, Ratio, Times, ratio, ratio_of_minima, results_of, with_doubt
from docs.marks import between_marks

PAGE = workloads.ROOT / "docs" / "guide" / "speed.md"
JAX_PAGE = workloads.ROOT / "docs" / "guide" / "jax.md"
PICTURE = workloads.ROOT / "docs" / "images" / "speed.png"
PLOT = (
    "![Each library's median time in units of eager PyTorch's, on a logarithmic axis: points on the left are faster]"
    "(../images/speed.png)"
)
BEGIN, END = "<!-- generated from measurements: begin -->", "<!-- generated from measurements: end -->"


def table(part: Mapping[str, Any], figure: str = "median") -> list[str]:
    """Return a table of ratios to eager PyTorch, and PyTorch's own time in the last column."""
    results = results_of(part)
    names = [name for name in next(iter(results.values())) if name != REFERENCE]
    lines = [f"| workload | {' | '.join(names)} | torch, ms |", f"| --- |{' ---: |' * (len(names) + 1)}"]
    for workload, times in results.items():
        cells = [_ratio_cell(times, name, figure) for name in names]
        reference = times[REFERENCE]
        shown = f"{getattr(reference, figure):.3g}" if isinstance(reference, Times) else reference
        unit = " MiB" if workload == "memory" else ""
        lines.append(f"| {WORKLOADS[workload].removesuffix(', MiB')} | {' | '.join(cells)} | {shown}{unit} |")
    return lines


def _ratio_cell(times: Mapping[str, Times | str], name: str, figure: str) -> str:
    one, relative, minima = times[name], ratio(times, name), ratio_of_minima(times, name)
    if isinstance(one, str):
        return one.partition(":")[0]
    if relative is None or minima is None:
        return "-"
    return with_doubt(relative) if figure == "median" else f"{minima:.2f}"


def jit_table(part: Mapping[str, Any]) -> list[str]:
    """Return the times of `tapegrad.jit` beside those of plain JAX."""
    lines = [
        "| workload | tapegrad.jit, ms | plain JAX, ms | ratio of medians | ratio of minima |",
        f"| --- |{' ---: |' * 4}",
    ]
    for workload, times in results_of(part).items():
        own, plain = times["tapegrad.jit"], times["jax.jit"]
        if isinstance(own, Times) and isinstance(plain, Times) and workload not in {"memory", "elementwise-fused"}:
            ratios = f"{own.median / plain.median:.2f} | {own.minimum / plain.minimum:.2f}"
            lines.append(f"| {WORKLOADS[workload]} | {own.median:.3g} | {plain.median:.3g} | {ratios} |")
    return lines


def speed_lines(numbers: Mapping[str, Any]) -> list[str]:
    """Return what stands between the marks of the speed page."""
    product = ratio(results_of(numbers["default"])["matmul"], "NumPy by hand")
    assert product is not None
    blas = product.median
    same, others = (_largest(numbers, kind) for kind in (TWINS, ALONE))
    return [
        PLOT,
        "",
        *(f"- {name}: {fact}" for name, fact in numbers["default"]["machine"].items() if name != "allocator"),
        f"- matrix product: on this processor NumPy's BLAS takes {blas:.2f} of the time of torch's, in training too",
        f"- fairness: two processes of one program differ by {same}, alone and in turns by {others}",
        "",
        "### Default allocator settings",
        "",
        *table(numbers["default"]),
        "",
        "### Allocator keeps its pages",
        "",
        "Here glibc does not return large arrays to the system, for all contestants.",
        "",
        *table(numbers["tuned"]),
        "",
        "### Leanest programs",
        "",
        "The same without modules and with each library's fastest memory layout; the allocator keeps its pages.",
        "",
        *table(numbers["leanest"]),
        "",
        "tapegrad's convolution is the same program in both tables. Its time changes on this machine from one minute",
        "to the next, between 19 and 45 ms in one process, without other load, with blocks of any size.",
        "",
        '??? note "Ratios of minima"',
        "",
        "    Default allocator settings:",
        "",
        *(f"    {line}" for line in table(numbers["default"], "minimum")),
        "",
        "    Allocator keeps its pages:",
        "",
        *(f"    {line}" for line in table(numbers["tuned"], "minimum")),
    ]


def _largest(numbers: Mapping[str, Any], kind: str) -> str:
    """Return the largest difference between equal programs, and how far each may be off."""
    found = [Ratio(**one) for each in numbers["fairness"].values() for key, one in each.items() if key.endswith(kind)]
    worst = max(found, key=lambda one: abs(one.median - 1))
    return f"at most {abs(worst.median - 1):.1%} (each known to {max(one.doubt for one in found):.0%})"


def written(text: str, lines: list[str]) -> str:
    """Return a page with other lines between its two marks."""
    return between_marks(text, BEGIN, END, "\n".join(lines))


def page(text: str, numbers: Mapping[str, Any]) -> str:
    """Return the speed page with the tables of some numbers."""
    return written(text, speed_lines(numbers))


def jax_page(text: str, numbers: Mapping[str, Any]) -> str:
    """Return the page on JAX with the table of some numbers."""
    return written(text, jit_table(numbers["tuned"]))


def plot(numbers: Mapping[str, Any], path: Path) -> None:
    """Draw each contestant's ratio to eager PyTorch as a point, on a logarithmic axis."""
    pyplot: Any = import_module("matplotlib.pyplot")
    results = {name: times for name, times in results_of(numbers["tuned"]).items() if name != "memory"}
    names = [name for name in next(iter(results.values())) if name != REFERENCE]
    figure, axes = pyplot.subplots(figsize=(11, 7), layout="constrained")
    markers = ["o", "D", "s", "^", "v", "P", "X"]
    for name, marker in zip(names, markers, strict=False):
        points = [(row, ratio(times, name)) for row, times in enumerate(results.values())]
        drawn = [(row, relative.median) for row, relative in points if relative is not None]
        is_own = name.startswith("tapegrad")
        axes.scatter(
            [x for _, x in drawn],
            [row for row, _ in drawn],
            label=name,
            marker=marker,
            s=70 if is_own else 35,
            alpha=0.95 if is_own else 0.6,
            zorder=3 if is_own else 2,
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10], ["0.05", "0.1", "0.2", "0.5", "1 = torch", "2", "5", "10"])
    axes.minorticks_off()
    axes.set_yticks(range(len(results)), [WORKLOADS[workload].replace("`", "") for workload in results])
    axes.invert_yaxis()
    axes.grid(visible=True, alpha=0.3)
    axes.set_xlabel("median time in units of eager PyTorch's, the allocator keeps its pages: lower is better")
    figure.legend(ncols=len(names), loc="outside upper center", frameon=False, columnspacing=1.2, handletextpad=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main() -> None:
    """Write the pages and the plot."""
    numbers = json.loads(workloads.NUMBERS.read_text("utf-8"))
    PAGE.write_text(page(PAGE.read_text("utf-8"), numbers), "utf-8")
    JAX_PAGE.write_text(jax_page(JAX_PAGE.read_text("utf-8"), numbers), "utf-8")
    plot(numbers, PICTURE)
    targets.main()


if __name__ == "__main__":
    main()

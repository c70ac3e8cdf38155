"""Keep the ratios to eager PyTorch of each benchmark run, and show which workloads became slower.

    python -m benchmarks.history            # compares the last two runs on each machine with the same settings
    python -m benchmarks.history FILE ...   # adds the runs that `benchmarks.workloads` wrote to FILE, and compares

`make bench` adds its run to `benchmarks/history.jsonl`. Figures from before 2026-11-23 are not in it, because they were
measured with all libraries in one process, which was unfair. Those of that day are ratios of medians, later ones are
medians of the ratios of turns.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks import workloads
from benchmarks.contestants import WORKLOADS
from benchmarks.workloads import ratio, ratio_of_minima, results_of

FILE = workloads.ROOT / "benchmarks" / "history.jsonl"
PICTURE = workloads.ROOT / "docs" / "images" / "speed-history.png"
TUNED = "keeps its pages"
NOISE = 1.1  # a ratio that rose by less may be noise
OWN = ("tapegrad", "tapegrad fast", "tapegrad.jit")
SAME = ("processor", "Python", "versions", "BLAS of NumPy", "allocator")  # what else the ratios depend on


def entry(found: Mapping[str, Any], commit: str) -> dict[str, Any]:
    """Return what is kept of a run: the ratios of tapegrad's contestants, of turns and of minima, and the settings."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for workload, times in results_of(found).items():
        pairs = {name: (ratio(times, name), ratio_of_minima(times, name)) for name in OWN if name in times}
        kept = {
            name: [round(one.median, 3), round(minima, 3)] for name, (one, minima) in pairs.items() if one and minima
        }
        if kept:
            ratios[workload] = kept
    return {**found["machine"], **found["settings"], "commit": commit, "ratios": ratios}


def append(run: Mapping[str, Any], file: Path = FILE) -> None:
    """Add a run to the history, if torch took part in it: without torch there are no ratios."""
    if run["ratios"]:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{json.dumps(run)}\n")


def runs(file: Path = FILE) -> list[dict[str, Any]]:
    """Return all runs, in order of time."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def key_of(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the settings that are the same in all runs that may be compared."""
    return (*(run[name] for name in SAME), run["idiom"], run["threads"], run["short"])


def slower(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return a line for each workload whose median and minimum both rose by more than noise."""
    lines = []
    for workload, ratios in after["ratios"].items():
        for name, (median, minimum) in ratios.items():
            old = before["ratios"].get(workload, {}).get(name)
            if old and median > NOISE * old[0] and minimum > NOISE * old[1]:
                lines.append(f"{name}: {WORKLOADS[workload]}: {old[0]:.2f} before, {median:.2f} now")
    return lines


def compared(history: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what became slower from the last run but one to the last, for each machine and setting."""
    by_key: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in history:
        by_key.setdefault(key_of(run), []).append(run)
    lines = []
    for several in by_key.values():
        before, after = several[-2:] if len(several) > 1 else (None, several[-1])
        kind = f"{after['processor']}, {after['allocator']}, {after['idiom']}{', short' if after['short'] else ''}"
        if before is None:
            lines.append(f"{kind}: one run, of {after['commit']} on {after['date']}")
            continue
        found = slower(before, after)
        lines.append(f"{kind}: {after['commit']} against {before['commit']}: {len(found)} slower")
        lines += [f"  {line}" for line in found]
    return lines


def commit_here() -> str:
    """Return the commit that is measured, with a plus sign if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+"]
    done = subprocess.run(command, cwd=workloads.ROOT, capture_output=True, text=True, check=False)  # of a constant
    return done.stdout.strip() or "unknown"


def plot(history: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Draw the medians of each workload over the full runs in which the allocator keeps its pages."""
    pyplot: Any = import_module("matplotlib.pyplot")
    shown = [run for run in history if not run["short"] and run["idiom"] == "usual" and TUNED in run["allocator"]]
    names = [name for name in WORKLOADS if any(name in run["ratios"] for run in shown)]
    figure, grid = pyplot.subplots(5, 3, figsize=(11, 11), sharex=True, layout="constrained")
    for axes, workload in zip(grid.flat, names, strict=False):
        for name, marker, color in zip(OWN[:2], "oD", ("C0", "C1"), strict=True):
            for key in dict.fromkeys(map(key_of, shown)):  # only runs on one machine with the same settings are joined
                points = [
                    (at, run["ratios"][workload][name][0])
                    for at, run in enumerate(shown)
                    if key_of(run) == key and workload in run["ratios"]
                ]
                axes.plot(*zip(*points, strict=True), marker=marker, color=color, label=name)
        axes.axhline(1, color="black", linewidth=1)
        axes.margins(y=0.15)
        axes.set_ylim(bottom=0)
        title = WORKLOADS[workload].replace("`", "").removesuffix(", training step")
        axes.set_title(fill(title, 45), fontsize=9)
        axes.set_xticks(
            range(len(shown)),
            [f"{run['date']} {run['commit']}\n{run['processor']}" for run in shown],
            fontsize=7,
            rotation=90,
        )
        axes.margins(x=0.1)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in [*grid.flat][len(names) :]:
        axes.set_axis_off()
    handles, labels = grid.flat[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named, ncols=2, loc="outside upper center", frameon=False)
    figure.supylabel("median time in units of eager PyTorch's: lower is better")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    """Add the runs in the given files, draw the plot, and print what became slower."""
    for name in sys.argv[1:]:
        found = json.loads(Path(name).read_text("utf-8"))
        for run in [found] if "results" in found else [one for one in found.values() if "results" in one]:
            append(entry(run, commit_here()))
    plot(runs(), PICTURE)
    print(*compared(runs()), sep="\n")


if __name__ == "__main__":
    main()

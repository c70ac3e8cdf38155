"""The benchmark is fair: each contestant has its own process, and only one runs at a time."""

import itertools
import json
import re
import shutil
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import devices, gpt, history, jit, speed_page, targets, time_split, workloads
from benchmarks.contestants import CONTESTANTS, IDIOMS, LEANEST_WORKLOADS, WORKLOADS
from benchmarks.rivals import gpt_in_tapegrad
from benchmarks.rivals.gpt_data import BATCHES, SIZES
from benchmarks.workloads import ContestantError, ContestantProcess, Ratio, Times

ENVIRONMENT = workloads.environment_of(tuned=False, avx2=False, threads=1)
OWN_LIBRARIES = {
    "tapegrad": {"numpy", "tapegrad"},
    "tapegrad fast": {"numpy", "tapegrad"},  # numba is loaded when a large array meets a kernel
    "tapegrad.jit": {"jax", "numpy", "tapegrad"},
    "jax.jit": {"jax", "numpy"},
    "NumPy by hand": {"numpy"},
}


@pytest.mark.parametrize("name", OWN_LIBRARIES)
def test_a_contestant_runs_in_a_process_that_loads_only_its_own_libraries(name: str) -> None:
    with workloads.processes("usual", [name], "mlp-tiny", ENVIRONMENT) as started:
        facts = started[name].answer()

    assert set(facts["libraries"]) == OWN_LIBRARIES[name]


def test_contestants_are_timed_and_agree_on_the_first_result() -> None:
    names = ["tapegrad", "NumPy by hand"]

    found = workloads.timed("mlp-tiny", names, ENVIRONMENT, short=True)

    assert list(found) == names
    assert all(isinstance(one, Times) and 0 < one.minimum <= one.median for one in found.values())


def test_a_contestant_sleeps_while_another_is_measured() -> None:
    with workloads.processes("usual", ["tapegrad", "NumPy by hand"], "mlp-small", ENVIRONMENT) as started:
        for process in started.values():
            process.answer()
        started["tapegrad"].measure(1e-3)
        tasks = Path(f"/proc/{started['tapegrad']._process.pid}/task")

        assert not any(workloads._is_running(task) for task in tasks.iterdir())


def test_the_last_output_of_a_failed_process_is_shown() -> None:
    process = ContestantProcess("usual", "tapegrad", "no such workload", ENVIRONMENT)

    with pytest.raises(ContestantError, match="KeyError: 'no such workload'"):
        process.answer()
    process.close()


def test_unequal_first_results_are_an_error() -> None:
    with pytest.raises(AssertionError, match=r"mlp-tiny: tapegrad 1.0, not 2.0"):
        workloads._compare_first_results("mlp-tiny", {"tapegrad": 1.0, "torch": 2.0})


def test_contestants_have_the_same_environment_except_for_their_kernels() -> None:
    own = {key for idiom in IDIOMS.values() for one in idiom.values() for key in one.environment}

    assert own == {"TAPEGRAD_FAST"}
    assert not {name for name in ENVIRONMENT if name.startswith(("MALLOC_", "TAPEGRAD_"))}
    assert ENVIRONMENT["OMP_NUM_THREADS"] == ENVIRONMENT["OPENBLAS_NUM_THREADS"] == ENVIRONMENT["MKL_NUM_THREADS"]


@pytest.mark.parametrize("name", OWN_LIBRARIES)
def test_a_contestant_has_every_workload_or_lists_it_as_missing(name: str) -> None:
    for workload in WORKLOADS:
        CONTESTANTS[name].program(workload)  # a KeyError would be a hole in its table


def test_the_published_figures_come_from_a_fair_run() -> None:
    numbers = json.loads(workloads.NUMBERS.read_text("utf-8"))

    fairness = {name: {key: Ratio(**one) for key, one in each.items()} for name, each in numbers["fairness"].items()}
    assert workloads.is_fair(fairness)
    assert set(numbers["fairness"]) == set(workloads.FAIR_WORKLOADS)
    assert list(numbers["default"]["results"]) == list(WORKLOADS)
    assert list(numbers["leanest"]["results"]) == list(LEANEST_WORKLOADS)


def test_a_difference_between_equal_programs_is_not_fair() -> None:
    def is_fair(twins: Ratio, alone: Ratio) -> bool:
        return workloads.is_fair({"cnn": {f"torch: {workloads.TWINS}": twins, f"torch: {workloads.ALONE}": alone}})

    same = Ratio(1.0, 0.99, 1.01)
    assert is_fair(same, same)
    assert is_fair(Ratio(1.02, 1.0, 1.06), Ratio(0.96, 0.93, 0.98))
    assert not is_fair(Ratio(1.04, 1.0, 1.08), same)
    assert not is_fair(same, Ratio(0.94, 0.93, 0.96))


def test_the_ratio_of_turns_ignores_noise_that_lasts_for_both() -> None:
    slow = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]

    assert workloads.ratio_of([2 * one for one in slow], slow) == Ratio(2.0, 2.0, 2.0)


def test_a_true_ratio_lies_within_the_doubt_in_95_percent_of_all_runs() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.lognormal(0.0, 0.2, (2000, 2, 41))

    found = [workloads.ratio_of(own, other) for own, other in pairs]

    assert 0.93 < np.mean([one.low <= 1 <= one.high for one in found]) < 0.98


def test_a_ratio_that_is_not_well_known_is_shown_with_its_doubt() -> None:
    assert workloads.with_doubt(Ratio(0.8, 0.77, 0.82)) == "0.80"
    assert workloads.with_doubt(Ratio(0.8, 0.7, 0.82)) == "0.80 ± 0.10"


def test_measuring_ends_when_all_ratios_are_known() -> None:
    assert workloads._are_known([Ratio(0.5, 0.495, 0.505)])
    assert not workloads._are_known([Ratio(0.5, 0.495, 0.505), Ratio(0.5, 0.47, 0.505)])


def times_of(own: float, reference: float) -> dict[str, Any]:
    """Return what a contestant took, in ms, and the same of its reference."""
    return {"median": own, "minimum": own, "ratio": dict.fromkeys(("median", "low", "high"), own / reference)}


def test_a_cell_of_the_page_holds_one_number() -> None:
    own = {"median": 3.0, "minimum": 2.0, "ratio": {"median": 0.7, "low": 0.69, "high": 0.71}}
    part = {"results": {"cnn": {"tapegrad": own, "torch": times_of(4.0, 4.0), "autograd": "-"}}}

    assert speed_page.table(part)[-1] == "| CNN 1-16-32, 64 images of 28×28, training step | 0.70 | - | 4 |"
    assert speed_page.table(part, "minimum")[-1].split(" | ")[1] == "0.50"


def test_the_page_of_jit_has_the_measured_figures_of_the_gpt() -> None:
    numbers = json.loads(gpt.NUMBERS.read_text("utf-8"))

    assert "\n".join(gpt.page_lines(numbers)) in gpt.PAGE.read_text("utf-8")


def test_the_page_of_jit_has_the_measured_figures_of_all_calls_loops_and_first_calls() -> None:
    numbers = json.loads(jit.NUMBERS.read_text("utf-8"))

    assert set(numbers) == set(jit.TITLES)
    assert "\n".join(jit.table(numbers)) in jit.PAGE.read_text("utf-8")


def test_a_line_of_jit_has_medians_and_ratios_of_both_contestants() -> None:
    mine, its = {"call": [0.004, 0.002, 0.003], "first": [6.0]}, {"call": [0.002, 0.002, 0.002], "first": [4.0]}

    assert jit.line("mlp", {"tapegrad.jit": mine, "plain JAX": its}).split(" | ")[1:] == [
        *("3", "2", "1.50", "1.00"),
        *("6", "4", "1.50", "1.50 |"),
    ]
    assert jit.line("stack-24", {"tapegrad.jit": mine}).split(" | ")[1:] == [
        *("3", "-", "-", "-"),
        *("6", "-", "-", "- |"),
    ]


@pytest.mark.parametrize("row", ["call", "list", "scan"])
def test_both_contestants_of_jit_compute_the_same(row: str) -> None:
    jax = pytest.importorskip("jax")
    rivals = [import_module(f"benchmarks.rivals.{name}").PROGRAMS[row]() for name in jit.CONTESTANTS.values()]

    results = [[np.asarray(one) for one in jax.tree.leaves(run())] for run in rivals]

    mine, its = (np.concatenate([one.ravel() for one in found]) for found in results)
    np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-6)


def test_the_gpt_learns_the_same_from_parameters_that_differ_by_rounding() -> None:
    pytest.importorskip("jax")
    step, rounded = (gpt_in_tapegrad.program(SIZES["tiny"], is_rounded=is_rounded) for is_rounded in (False, True))

    losses = [step() for _ in range(4 * BATCHES)]

    assert np.mean(losses[-BATCHES:]) < np.mean(losses[:BATCHES]) - 0.1
    np.testing.assert_allclose([rounded() for _ in range(BATCHES)], losses[:BATCHES], rtol=1e-4)


def test_turns_end_with_the_budget_after_a_least_number(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))

    assert list(workloads._turns(3.0, short=True)) == list(range(8))
    assert list(workloads._turns(0.0, short=False)) == list(range(11))


def test_rows_of_devices_py_and_comments_match() -> None:
    files = Path(__file__).parent.parent.joinpath("tapegrad").rglob("*.py")
    text = " ".join(" ".join(file.read_text("utf-8") for file in files).split())

    assert set(re.findall(r'benchmarks/devices\.py`?, "([^"]+)"', text)) == {*devices.ROWS}


CLAIM = (
    r"\b(?:faster|slower|times as (?:long|fast)|takes? (?:half|longer|[\d.]+ (?:ms|µs))|costs? [\d.]+ (?:ms|µs)"
    r"|(?:half|less|more) (?:of )?the overhead|[\d.]+ % of)"
)
# Advice to users, general statements, and lines in which these words are not about time.
NOT_CLAIMS = {
    "engines/interface.py": 1,
    "engines/thresholds.py": 1,
    "fused.py": 1,
    "jax/place.py": 1,
    "nn/activation.py": 1,
    "notebook/waiting.py": 2,
    "ops/activation.py": 1,
    "ops/join.py": 1,
    "ops/linalg.py": 1,
    "optim/adam.py": 1,
    "optim/optimizer.py": 1,
    "slot_tape/pullback.py": 1,
}


def test_a_comment_that_claims_a_speed_names_its_row() -> None:
    package = Path(__file__).parent.parent / "tapegrad"
    found: dict[str, int] = {}
    for file in package.rglob("*.py"):
        lines = file.read_text("utf-8").splitlines()
        claims = [
            number
            for number, line in enumerate(lines)
            if re.search(CLAIM, line) and "benchmarks/" not in " ".join(lines[max(0, number - 1) : number + 3])
        ]
        if claims:
            found[file.relative_to(package).as_posix()] = len(claims)

    assert found == NOT_CLAIMS


@pytest.mark.parametrize("name", devices.ROWS)
def test_both_lines_of_a_row_run(name: str) -> None:
    with np.errstate(all="ignore"):
        line, plain = devices.measured(devices.ROWS[name]._replace(number=1), rounds=1)

    assert min(line) > 0
    assert min(plain) > 0


def run_of(cnn: float, commit: str, **settings: Any) -> dict[str, Any]:
    machine = dict.fromkeys(history.SAME, "the same") | {"date": "2026-11-27"}
    times = {"tapegrad": times_of(cnn, 2.0), "torch": times_of(2.0, 2.0)}
    results = {"cnn": times, "matmul": times | {"tapegrad": times_of(1.0, 2.0)}}
    same: dict[str, Any] = {"idiom": "usual", "threads": 2, "short": False}
    return history.entry({"machine": machine, "settings": same | settings, "results": results}, commit)


def test_a_slower_workload_is_listed_once_its_run_is_added(tmp_path: Path) -> None:
    for cnn, commit in ((1.0, "first"), (1.3, "second")):
        history.append(run_of(cnn, commit), tmp_path / "history.jsonl")

    lines = history.compared(history.runs(tmp_path / "history.jsonl"))

    assert lines == [
        "the same, the same, usual: second against first: 1 slower",
        "  tapegrad: CNN 1-16-32, 64 images of 28×28, training step: 0.50 before, 0.65 now",
    ]


def test_runs_with_other_settings_are_not_compared() -> None:
    lines = history.compared([run_of(1.0, "first"), run_of(9.0, "second", threads=1)])

    assert [line.partition(": ")[2] for line in lines] == [
        "one run, of first on 2026-11-27",
        "one run, of second on 2026-11-27",
    ]


def test_a_run_without_torch_adds_nothing(tmp_path: Path) -> None:
    run = run_of(1.0, "first")
    run["ratios"] = {}

    history.append(run, tmp_path / "history.jsonl")

    assert not (tmp_path / "history.jsonl").exists()


def test_the_history_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    history.plot(history.runs(), tmp_path / "drawn.png")

    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    assert history.PICTURE.exists()


SAMPLES = """\
   4711     7fb9158b97c4 sgemm_kernel_SKYLAKEX (/env/numpy.libs/libscipy_openblas64_-32a4b2a6.so)
   4711     7fb90f7da190 FLOAT_multiply_X86_V3 (/env/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so)
   4711     7fb90f7da191 ufunc_generic_fastcall (/env/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so)
   4711 ffffffff81c0165a exc_page_fault ([kernel.kallsyms])
   4711     7fb9158b97c5 _PyEval_EvalFrameDefault (/usr/lib/libpython3.11.so.1.0)
   4711     7fb9158b97c6 __memmove_avx512_unaligned_erms (/usr/lib/x86_64-linux-gnu/libc.so.6)
   4711     7fb9158b97c7 _int_malloc (/usr/lib/x86_64-linux-gnu/libc.so.6)
   4711     7fb9158b97c8 [unknown] ([unknown])
   4712     7fb9158b97c4 sgemm_kernel_SKYLAKEX (/env/numpy.libs/libscipy_openblas64_-32a4b2a6.so)
"""


def test_samples_of_the_main_thread_count_for_the_code_that_runs() -> None:
    counts = time_split.parts_of(SAMPLES.splitlines(), 4711)
    assert counts == {"products": 1, "passes": 3, "pages": 1, "Python": 3}


def test_a_line_that_is_no_sample_is_an_error() -> None:
    with pytest.raises(time_split.PerfError, match="perf script wrote 'Lost 3 events', which is no sample"):
        time_split.parts_of([*SAMPLES.splitlines(), "Lost 3 events"], 4711)


def test_a_numpy_without_symbols_is_an_error() -> None:
    with pytest.raises(time_split.PerfError, match=r"^_multiarray_umath.+\.so has no symbols"):
        time_split.parts_of([SAMPLES.splitlines()[1].replace("FLOAT_multiply_X86_V3", "[unknown]")], 4711)


def test_an_error_names_the_package_of_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(time_split.PerfError, match="on Debian in the package linux-perf"):
        time_split.measured(["mlp-tiny"], {})


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_the_parts_are_the_whole_time_of_a_step() -> None:
    environment = workloads.environment_of(tuned=False, avx2=False, threads=1)
    with workloads.processes("usual", ["tapegrad"], "mlp-tiny", environment) as started:
        parts = time_split.split(started["tapegrad"])
    assert parts is not None
    assert set(parts) == set(time_split.PARTS)
    assert parts["Python"] > sum(parts.values()) / 2  # of a step on arrays with a few numbers


def test_the_page_has_the_measured_parts() -> None:
    numbers = json.loads(time_split.NUMBERS.read_text("utf-8"))
    text = time_split.PAGE.read_text("utf-8")
    assert time_split.page(text, numbers) == text


def published_of(own: float, processor: str = "one") -> dict[str, Any]:
    """Return ratios that are 1 for all workloads but that of one MLP, and a BLAS of half the time of PyTorch's."""
    times = {name: times_of(1.0, 1.0) for name in ("tapegrad", "tapegrad fast", "torch")}
    results = {workload: {**times, "NumPy by hand": times_of(0.5, 1.0)} for workload in WORKLOADS}
    results["mlp-wide"] = {**times, "tapegrad": times_of(own, 1.0)}
    part = {"machine": {"processor": processor}, "results": results}
    return {"default": part, "tuned": part}


def split_of(products: float, passes: float) -> dict[str, Any]:
    """Return parts in ms, the same for all workloads; a copy takes next to no time."""
    parts = {"products": products, "passes": passes, "pages": 0.0, "Python": 0.1, "waiting": 0.0}
    every = {name: dict.fromkeys(WORKLOADS, parts) for name in ("tapegrad", "tapegrad fast")}
    return {"machine": {"processor": "one"}, "threads": 2, "copied": 1e18, "parts": every}


def row_of_mlp(published: dict[str, Any], split: dict[str, Any]) -> targets.Row:
    (row,) = [one for one in targets.rows(published, split) if (one.name, one.contestant) == ("mlp-wide", "tapegrad")]
    return row


def test_a_ratio_is_what_it_would_be_if_both_libraries_had_the_same_products() -> None:
    # The own step takes 0.6 of PyTorch's, half of it in products, in which PyTorch takes 0.6: 0.3 more than it would.
    assert targets.with_equal_products(0.6, 0.5, 0.5) == pytest.approx(0.6 / 0.7)
    assert targets.with_equal_products(0.6, 0.0, 0.5) == 0.6


def test_a_target_is_out_of_reach_if_products_alone_take_longer() -> None:
    row = row_of_mlp(published_of(0.9), split_of(products=0.5, passes=0.4))
    assert row.default == pytest.approx(0.9 / 0.55)
    assert row.verdict == "missed: passes 40%"
    assert row._replace(least=1.01).verdict == "cannot be met"
    assert row._replace(default=1.0, tuned=1.0).verdict == "met"
    assert row._replace(default=1.0).verdict == "missed: passes 40%"
    assert row._replace(lowest=1.0).verdict == "within the noise"


def test_shares_on_another_processor_change_no_ratio() -> None:
    row = row_of_mlp(published_of(1.2, processor="another"), split_of(products=0.5, passes=0.4))
    assert (row.default, row.least, row.verdict) == (1.2, None, "not comparable")


def test_the_traffic_of_a_workload_is_in_the_time_it_takes_at_least() -> None:
    split = split_of(products=0.5, passes=0.4)
    split["copied"] = targets.MOVED["mlp-wide"] * targets.ITEMSIZE / (2 * 0.25e-3)  # by two threads in 0.25 ms
    assert row_of_mlp(published_of(0.9), split).least == pytest.approx(0.75 * 0.9 / 0.55)


def test_every_workload_that_has_a_target_is_split() -> None:
    split = json.loads(time_split.NUMBERS.read_text("utf-8"))
    for contestant, of in targets.TARGETS.items():
        assert set(of) <= set(split["parts"][contestant])


def test_the_page_has_the_verdicts_on_all_targets() -> None:
    text = targets.PAGE.read_text("utf-8")
    assert targets.page(text) == text

"""Settings of all tests; after the tests of a family of ops, pytest lists what its ops lack (see op_coverage.py).

While tests run, the shape of every op's result is compared with its rule, unless TAPEGRAD_CHECK_RULES is empty.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("TAPEGRAD_CHECK_RULES", "1")
# XLA's older emitters compile faster, and so does LLVM if it optimizes nothing; most steps here run once.
# tests/jax/test_place.py trains without these flags.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0")
# Products this small need no second thread, and OpenBLAS's threads take a core while they wait for work. The processes
# of pytest-xdist and all that tests start inherit this; pytest itself may have loaded NumPy before it reads this file.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tapegrad import errors
from tapegrad.autograd.registry import observers
from tapegrad.project.reports import DROPPED
from tests.op_coverage import TESTS, CoverageOfOps

settings.register_profile("tapegrad", derandomize=True, deadline=None, database=None)
settings.register_profile("fuzz", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile("tapegrad")

for variable in DROPPED:  # many tests compare the text that mypy writes, and CI services ask for colors
    os.environ.pop(variable, None)

errors.diagrams = False  # pytest matches notes as well, and most tests compare a message whole

# The longest files of this folder run before its others, which come last of all: otherwise one process is left with one
# of them while the others have nothing to do. Tests in folders come before, for some fork, and JAX warns of that.
LONGEST = ("test_docs.py", "test_pyright.py", "test_examples.py", "test_typecheck.py", "test_shipping.py")
LONGEST += ("test_half.py", "test_edges.py", "test_sklearn.py", "test_checkpoint.py")

COVERAGE, FAMILIES = pytest.StashKey[CoverageOfOps](), pytest.StashKey[set[str]]()
LACKING, PARTIAL = pytest.StashKey[dict[str, list[str]]](), pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # what collects tests creates a million objects that all stay
    config.stash[COVERAGE], config.stash[FAMILIES] = CoverageOfOps(), set()
    if os.environ["TAPEGRAD_CHECK_RULES"]:
        observers.append(config.stash[COVERAGE])


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash[COVERAGE] in observers:
        observers.remove(config.stash[COVERAGE])


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[COVERAGE].family = item.path.stem.removeprefix("test_") if item.path.parent == TESTS else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    places = {folder / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)) if item.path.parent == folder else -1)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        item.config.stash[PARTIAL] = True


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the families whose tests run as a whole; from here on, only tests create objects."""
    stash = session.config.stash
    if not stash.get(PARTIAL, False) and not any("::" in argument for argument in session.config.args):
        paths = {item.path for item in session.items}
        stash[FAMILIES] |= {path.stem.removeprefix("test_") for path in paths if path.parent == TESTS}
    gc.freeze()  # without a collection before, which takes seconds and finds little
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        freeze()


def freeze() -> None:
    """Exempt the million objects of pytest and of the imported modules from later collections, so that they are fast.

    A test that counts what a collection finds counts what was created since the beginning of its file.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a process of pytest-xdist what it has seen."""
    output, stash = getattr(node, "workeroutput", {}), node.config.stash
    for name, facts in output.get("seen", {}).items():
        stash[COVERAGE].note(name, facts)
    stash[FAMILIES] |= {*output.get("families", [])}


def pytest_sessionfinish(session: pytest.Session) -> None:
    config: Any = session.config
    coverage, families = config.stash[COVERAGE], config.stash[FAMILIES]
    if hasattr(config, "workeroutput"):
        seen = {name: sorted(facts) for name, facts in coverage.seen.items()}
        config.workeroutput.update(seen=seen, families=sorted(families))
    elif coverage in observers and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        config.stash[LACKING] = coverage.lacking(families - failed_families(config))
        if config.stash[LACKING]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def failed_families(config: pytest.Config) -> set[str]:
    """Return the families with a failed test, which did not do all that it does otherwise."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    reports = [report for outcome in ("failed", "error") for report in reporter.stats.get(outcome, ())]
    return {Path(report.fspath).stem.removeprefix("test_") for report in reports}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lacking = config.stash.get(LACKING, {})
    if lacking:
        terminalreporter.section("what the ops of tests/ops lack", red=True)
        for name, facts in lacking.items():
            terminalreporter.line(f"{name}: {', '.join(facts)}")

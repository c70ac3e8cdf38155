"""The notebooks in real kernels: exactly the cells that they show as rejected are rejected, with the messages shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
REJECTED = {
    "attention.ipynb": {
        "tg.cross_entropy(scores.swapaxes(1, 2), digits)": (
            "cross_entropy: target (64, 8) does not fit x (64, 10, 8): expected (64, 10)  [tapegrad-shape]"
        ),
    },
    "digits.ipynb": {
        "wrong(tg.zeros((5, 64)))": (
            "Sequential[2] Linear(32, 10): x is (..., 48) but (..., 32) is expected: axis -1 is 48, not 32"
            "  [tapegrad-shape]"
        ),
    },
    "distillation.ipynb": {
        "tg.kl_div(tg.log_softmax(tg.zeros((32, 10))), tg.softmax(tg.zeros((32, 9))))": (
            "kl_div: target (32, 9) does not fit x (32, 10): expected (32, 10)  [tapegrad-shape]"
        ),
    },
    "finetuning.ipynb": {
        "nn.Sequential(body, nn.Linear(64, 5))": (
            "Sequential[1] Linear(64, 5): x is (..., 48) but (..., 64) is expected: axis -1 is 48, not 64"
            "  [tapegrad-shape]"
        ),
    },
    "gan.ipynb": {
        "critic(larger(tg.zeros((32, 2))))": (
            "critic[0][0] Linear(2, 32): x is (32, 3) but (..., 2) is expected: axis -1 is 3, not 2  [tapegrad-shape]"
        ),
    },
    "jit.ipynb": {
        "nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(47, 10))": (
            "Sequential[2] Linear(47, 10): x is (..., 48) but (..., 47) is expected: axis -1 is 48, not 47"
            "  [tapegrad-shape]"
        ),
    },
    "pinn.ipynb": {
        "tg.tanh(v @ w @ tg.ones((3, 1)))": (
            "matmul: inner sizes differ: x (16, 16) has 16 columns but y (3, 1) has 3 rows  [tapegrad-shape]"
        ),
    },
    "quantization.ipynb": {
        "small(tg.zeros((5, 63)))": (
            "small[0] Linear(64, 256): x is (5, 63) but (..., 64) is expected: axis -1 is 63, not 64  [tapegrad-shape]"
        ),
    },
    "saliency.ipynb": {
        "model(tg.zeros((6, 64))).max(axis=1).sum().backward()": (
            "backward: the tensor has no tape; trace an input first  [tapegrad-tape]"
        ),
    },
    "tape.ipynb": {
        "y.sum().backward()": "backward: the tensor has no tape; trace an input first  [tapegrad-tape]",
        "again = loss.backward()": (
            "loss.backward(): loss was consumed by loss.backward() in an earlier cell; trace again  [tapegrad-tape]"
        ),
    },
}


def errors(notebook: Any) -> dict[str, str]:
    """Return the error under each cell that has one, by the last line of the cell."""
    return {
        cell.source.splitlines()[-1]: "\n".join(output.traceback)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }


def test_all_notebooks_are_tested() -> None:
    assert {path.name for path in FOLDER.glob("*.ipynb")} == REJECTED.keys()


@pytest.mark.parametrize("name", REJECTED)
def test_a_notebook_shows_its_real_outputs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat  # not at the top: each worker of pytest imports this file, and nbformat compiles 38 grammars
    from nbclient import NotebookClient

    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal or a CI service that shows colors
    notebook = nbformat.read(FOLDER / name, as_version=4)  # type: ignore[no-untyped-call]  # it has no annotations
    shown = errors(notebook)
    tagged = {c.source.splitlines()[-1] for c in notebook.cells if "raises-exception" in c.metadata.get("tags", [])}

    NotebookClient(notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": str(FOLDER)}}).execute()

    assert errors(notebook) == shown
    assert {cell: text.splitlines()[-1] for cell, text in shown.items()} == REJECTED[name]
    assert shown.keys() == tagged
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error" or output.ename == "Rejected"  # before it ran
            assert output.get("name") != "stderr", output.text

"""Run notebooks in JupyterLab, in Chromium, and look at what a user sees.

    python -m tests.jupyterlab

`make jupyterlab` installs JupyterLab and playwright and runs this. It opens all notebooks of `notebooks/` and one
with mistakes, runs each cell, compares what appears below it, and writes pictures to `build/jupyterlab`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
PICTURES: Final = ROOT / "build" / "jupyterlab"
NOTEBOOKS: Final = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
LONGEST: Final = 120.0  # seconds for a cell: mypy may read NumPy's types for the first time
FIRST_IMPORT: Final = 5.0  # seconds until a cell with imports has run, or says that mypy is checking it
WAITING: Final = "mypy is checking this cell"
SETTLED: Final = 300  # milliseconds; outputs may arrive after the number of the cell
PORT: Final = 8893
TRAIN: Final = """\
import time
from tapegrad import data, optim, progress
opt = optim.Adam(model)
for epoch in progress.track(data.batches(images, labels, size=32, rng=3), epochs=4):
    for x, y in epoch:
        loss = tg.cross_entropy(model(x.trace()), y)
        opt.step(loss.backward(wrt=model))
        epoch.note(loss=loss)
        time.sleep(0.02)"""


class Planted(NamedTuple):
    """A cell, and the last line that appears below it, as a regular expression; empty if nothing appears."""

    cell: str
    shown: str


PLANTED: Final = (
    Planted("%load_ext tapegrad.notebook", ""),
    Planted("import numpy as np\nimport tapegrad as tg\nfrom tapegrad import nn", ""),
    Planted("model = nn.Sequential(nn.Linear(64, 48, rng=0), nn.ReLU(), nn.Linear(48, 10, rng=1))", ""),
    Planted("images, labels = tg.uniform((960, 64), rng=0), tg.arange(960) % 10", ""),
    Planted("model", r"layers\.2: Linear\(48, 10\), 490 parameters"),
    Planted(
        "model(tg.zeros((5, 63)))",
        r"model\[0\] Linear\(64, 48\): x is \(5, 63\) but \(\.\.\., 64\) is expected: "
        r"axis -1 is 63, not 64  \[tapegrad-shape\]",
    ),
    Planted(
        "loss = tg.cross_entropy(model(images), labels)\nloss.backward(wrt=model)",
        r"backward: the tensor has no tape; trace an input first  \[tapegrad-tape\]",
    ),
    Planted("loss = tg.cross_entropy(model(images.trace()), labels)\ngrads = loss.backward(wrt=model)", ""),
    Planted(
        "loss.backward(wrt=model)",
        r"loss\.backward\(wrt=model\): loss was consumed by loss\.backward\(wrt=model\) in an earlier cell; "
        r"trace again  \[tapegrad-tape\]",
    ),
    Planted(
        "tg.cross_entropy(model(images.trace()), tg.zeros((960,), np.float32))",
        r"cross_entropy: target is float32 but integer is expected  \[tapegrad-dtype\]",
    ),
    Planted(
        "steps: int = 'three'\nprint('ran')",
        r'(?s)ran\n.*Incompatible types in assignment .*variable has type "int"\)  \[assignment\]',
    ),
    Planted("%typecheck all", ""),
    Planted(
        "steps: int = 'four'\nprint('ran')",
        r'(?s)(?!.*ran\n).*Incompatible types in assignment .*variable has type "int"\)  \[assignment\]',
    ),
    Planted("%typecheck warn", ""),
    Planted(
        "model(tg.zeros((5, 62)))",
        r"(?s)axis -1 is 62, not 64  \[tapegrad-shape\]\n.*ShapeError: model\[0\] Linear\(64, 48\): .*\^\^",
    ),
    Planted("%typecheck strict", ""),
    Planted(TRAIN, r"100% epoch 4/4, loss 2\.\d+, [\d,]+ rows/s"),
    Planted("grads", r"model\.layers\.2\.bias\s+\(10,\)\s+0\.\d+"),
    Planted("%shapes images loss", r"loss\s+\(\) float32, owned tape\s+\(\) float32, owned tape"),
)


class Shown(NamedTuple):
    """What appeared below a cell.

    Attributes:
        first: The seconds until something did, or the cell had run.
        texts: Each text that was there, the last one at the end.
    """

    first: float
    texts: list[str]


class Tab:
    """A page of Chromium with one notebook."""

    def __init__(self, page: Any, name: str) -> None:
        self.page = page
        page.goto(f"http://127.0.0.1:{PORT}/lab/workspaces/{name}/tree/{name}.ipynb?token=tests&reset")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
        page.wait_for_timeout(2_000)  # JupyterLab adds the cells one after another
        self.cells = [cell for cell in page.locator(".jp-NotebookPanel .jp-Cell").all() if _is_code(cell)]

    def clear(self) -> None:
        """Remove the outputs that the file has."""
        self.page.get_by_role("menuitem", name="Edit", exact=True).click()
        self.page.get_by_text("Clear Outputs of All Cells", exact=True).click()

    def run(self, number: int) -> Shown:
        """Run a cell, and return what appears below it."""
        cell = self.cells[number]
        cell.locator(".jp-InputPrompt").click()
        start = time.monotonic()
        self.page.keyboard.press("Control+Enter")
        first, texts = 0.0, [""]
        while True:
            has_run = re.fullmatch(r"\[\d+\]:", cell.locator(".jp-InputPrompt").inner_text().strip())
            if has_run:
                self.page.wait_for_timeout(SETTLED)
            text = cell.locator(".jp-Cell-outputWrapper").inner_text().strip()
            text = re.sub(r"\A\[\d+\]:\n", "", text)  # the number of the output
            if text != texts[-1]:
                texts.append(text)
            if not first and (text or has_run):
                first = time.monotonic() - start
            if has_run:
                return Shown(first, texts)
            assert time.monotonic() - start < LONGEST, f"cell {number} still runs: {texts[-1]}"
            time.sleep(0.02)


def _is_code(cell: Any) -> bool:
    return "jp-CodeCell" in cell.get_attribute("class")


def check_planted(page: Any) -> None:
    """Run the cells with mistakes."""
    tab = Tab(page, "planted")
    for number, (source, expected) in enumerate(PLANTED):
        shown = tab.run(number)
        last = shown.texts[-1]
        assert re.search(f"{expected}\\Z", last) if expected else not last, f"{source}\nshows\n{last}"
        if number == 1:
            print(f"first import: {shown.first:.1f} seconds until it has run or says why it waits")
            assert shown.first < FIRST_IMPORT, shown
            assert all(text.startswith(WAITING) for text in shown.texts if text), shown
        if source == TRAIN:
            halfway = [text for text in shown.texts if re.match(r"\d+% epoch [23]/4, loss 2\.\d+, .* left$", text)]
            print(f"progress bar: drawn {len(shown.texts)} times")
            assert len(halfway) > 3, shown.texts
    page.screenshot(path=PICTURES / "planted.png")


def check_notebook(page: Any, name: str) -> None:
    """Run a notebook, and compare the errors that appear with those in the file."""
    cells = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    stored = [cell for cell in cells if cell["cell_type"] == "code"]
    tab = Tab(page, name)
    tab.clear()
    for number, cell in enumerate(stored):
        errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
        last = tab.run(number).texts[-1]
        assert "unchecked" not in last, last
        assert ("[tapegrad-" in last) is bool(errors), last
        for error in errors:
            assert last.endswith(error["traceback"][-1]), (
                f"{last}\nis shown, and expected was\n{error['traceback'][-1]}"
            )
    page.screenshot(path=PICTURES / f"{name}.png")
    print(f"{name}: {len(stored)} cells")


def main() -> None:
    """Start JupyterLab, and run all notebooks in it."""
    playwright = import_module("playwright.sync_api").sync_playwright
    PICTURES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="jupyterlab") as place:
        folder = Path(place, "notebooks")
        folder.mkdir()
        for name in NOTEBOOKS:
            shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", folder)
        (folder / "planted.ipynb").write_text(json.dumps(_notebook([cell for cell, _ in PLANTED])), "utf-8")
        server = subprocess.Popen(
            _command(folder), env=_environment(Path(place)), stderr=subprocess.DEVNULL, cwd=folder
        )
        try:
            _await(server)
            with playwright() as engine:
                browser = engine.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1100, "height": 2800})
                check_planted(page)
                for name in NOTEBOOKS:
                    check_notebook(page, name)
                browser.close()
        finally:
            server.terminate()  # it ends its kernels
            server.wait(timeout=60)
    print(f"pictures: {PICTURES}")


def _await(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens."""
    end = time.monotonic() + LONGEST
    while True:
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
        except ConnectionRefusedError:
            assert server.poll() is None, f"JupyterLab ended with exit code {server.returncode}"
            assert time.monotonic() < end, "JupyterLab does not listen"
            time.sleep(0.2)
        else:
            return


def _notebook(sources: list[str]) -> dict[str, Any]:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for at, source in enumerate(sources)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _command(folder: Path) -> list[str]:
    options = (f"--port={PORT}", "--no-browser", "--allow-root", "--IdentityProvider.token=tests")
    return [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={folder}"]


def _environment(place: Path) -> dict[str, str]:
    """Return an environment without the user's settings, in which all cells of a notebook are in the page."""
    for plugin, settings in (
        ("notebook-extension/tracker", {"windowingMode": "none"}),
        ("apputils-extension/notification", {"fetchNews": "false"}),
    ):
        file = place / "config" / "lab" / "user-settings" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(settings), "utf-8")
    folders = {f"JUPYTER_{name.upper()}_DIR": str(place / name) for name in ("config", "data", "runtime")}
    return os.environ | folders | {"IPYTHONDIR": str(place / "ipython")}


if __name__ == "__main__":
    main()

"""Run the core tests with each supported Python and the oldest and newest dependencies.

Each Python is tested with the oldest versions that pyproject.toml allows and with the newest: once with the required
packages only, where each use of a missing extra must raise the error that names it, once with JAX but without what
another extra adds to it, where exported steps are tested, and once with all extras of users, where mypy also accepts
the package with the newest types.

    python tests/matrix.py [folder [python ...]]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
TOOLS = ("pytest>=9", "hypothesis>=6.130", "einops>=0.8.2")  # programs of typecheck/ use einops, see pyproject.toml
EXTRAS = "demo,editor,half,mypy,notebook"
CORE = (
    "tests/autograd/test_tape.py",
    "tests/tensors/test_tensor.py",
    "tests/guard/test_guard.py",
    "tests/optim/test_adam.py",
)
CORE += tuple(f"tests/ops/test_{family}.py" for family in ("conv", "create", "index", "loss", "matmul", "reduce"))
WITH_JAX = ("tests/jax/test_export.py", "tests/jax/test_pytrees.py")
WITH_EXTRAS = ("tests/io/test_checkpoint.py", "tests/io/test_hostile.py")
WITH_EXTRAS += ("tests/progress/test_curves.py", "tests/progress/test_display.py")
WITH_EXTRAS += ("tests/test_half.py", "tests/test_sklearn.py")
WITH_EXTRAS += ("tests/project/test_check.py", "tests/notebook/test_display.py", "tests/notebook/test_extension.py")
WITH_EXTRAS += ("tests/test_typecheck.py", "-k", "not test_python and not jitted")  # what mypy says, where JAX is not

# What is used without its extra, which the error must name.
MISSING = {
    "editor": ("-m", "tapegrad", "lsp"),
    "mypy": ("-m", "tapegrad", "doctor"),
    "plot": ("-c", "from tapegrad import progress; progress.curves('run.jsonl', 'run.png')"),
    "safetensors": ("-c", "from tapegrad import io, nn; io.save(nn.ReLU(), 'model.safetensors')"),
    "sklearn": ("-c", "import tapegrad; tapegrad.sklearn"),
    "half": ("-c", "import tapegrad; tapegrad.bfloat16"),
    "jax": ("-c", "import tapegrad; tapegrad.jit"),
    "tensorboard": ("-c", "from tapegrad import progress; progress.TensorBoard('run')"),
    "notebook": ("-c", "import tapegrad.notebook as one; one.load_ipython_extension(None)"),
}
MISSING_BESIDE_JAX = {"orbax": ("-c", "import tapegrad as tg; tg.jax.save(tg.nn.ReLU(), 'run', step=0)")}


class Place(NamedTuple):
    """An environment."""

    python: str
    resolution: str
    extras: str

    @property
    def name(self) -> str:
        """How it is called."""
        return f"Python {self.python}, {self.resolution.removesuffix('-direct')}, {self.extras or 'no extra'}"


def ran(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def interpreter(version: str) -> str:
    """Return a Python of this version that runs, or the version, for which uv searches elsewhere.

    On the path, pyenv has a command for each version that it installed, but runs only the versions that it selects.
    """
    name = f"python{version}"
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(name), *map(str, sorted(installed.glob(f"{version}*/bin/{name}")))]
    return next((path for path in found if path and ran(path, "--version").returncode == 0), version)


def failed(place: Place, folder: Path) -> str:
    """Return what goes wrong in an environment, which is made for it."""
    environment = folder / "venv"
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python = str(scripts / "python")
    uv = (sys.executable, "-m", "uv")
    base = interpreter(place.python)
    wanted = f".[{place.extras}]" if place.extras else "."
    for command in (
        (*uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", base, str(environment)),
        (*uv, "pip", "install", "--quiet", "--python", python, "--resolution", place.resolution, wanted, *TOOLS),
    ):
        done = ran(*command)
        if done.returncode:
            return done.stderr
    tests = {"": CORE, "jax": WITH_JAX}.get(place.extras, WITH_EXTRAS)
    pytest = str(scripts / "pytest")  # by its name: `python -m` would find tapegrad in the tree
    done = ran(
        pytest,
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=--import-mode=importlib",
        "-o",
        "filterwarnings=default",
        *tests,
    )
    if done.returncode:
        return done.stdout[-2500:] + done.stderr[-1000:]
    if place.extras in ("", "jax"):
        return unsaid(python, folder, MISSING_BESIDE_JAX if place.extras else MISSING)
    if place.resolution == "lowest-direct":
        return ""  # the oldest types of NumPy need other `type: ignore` comments than the newest
    done = ran(str(scripts / "mypy"), "--cache-dir", str(folder / "mypy_cache"), "tapegrad")
    return done.stdout[-2500:] + done.stderr[-1000:] if done.returncode else ""


def unsaid(python: str, folder: Path, missing: Mapping[str, tuple[str, ...]]) -> str:
    """Return the extras whose absence is not reported in one line that says how to install them."""
    wrong = ""
    (folder / "run.jsonl").write_text('{"epoch": 1, "loss": 0.5}\n', "utf-8")
    for extra, command in missing.items():
        done = ran(python, *command, folder=folder)
        said = (done.stdout + done.stderr).strip().splitlines()
        if done.returncode == 0 or f"tapegrad[{extra}]" not in (said[-1] if command[0] == "-c" else " ".join(said)):
            wrong += f"{extra} is missing, and this is said: {' / '.join(said[-2:])}\n"
    return wrong


def main() -> None:
    """Try every place, and end with an error if one fails."""
    chosen = sys.argv[2:] or PYTHONS
    places = [
        Place(python, resolution, extras)
        for python in chosen
        for resolution in ("lowest-direct", "highest")
        for extras in ("", "jax", EXTRAS)
    ]
    wrong = 0
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        for place in places:
            began = time.monotonic()
            said = failed(place, Path(name))
            wrong += bool(said)
            sys.stdout.write(f"{place.name}: {said or 'passes'} ({time.monotonic() - began:.0f} s)\n")
            sys.stdout.flush()
    sys.exit(wrong)


if __name__ == "__main__":
    main()

"""A cache of mypy that already holds NumPy's stubs and tapegrad, for tests that do not examine a first run.

A first run of mypy takes six seconds of CPU time, one with this cache 0.3. mypy still checks what a test edits: it
compares the hash of each file with the cache's, wherever the file is.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from mypy.version import __version__

import tapegrad

ROOT: Final = Path(__file__).parent.parent
SETTINGS: Final = "[mypy]\nplugins = tapegrad.mypy\nstrict = True\nallow_redefinition = True\n"
PROGRAM: Final = "import tapegrad\nfrom tapegrad import nn\n"


@functools.cache
def _hash_of_tapegrad() -> str:
    files = sorted(Path(tapegrad.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join([__version__.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:16]


def write_settings(folder: Path, settings: str = SETTINGS) -> None:
    """Write `mypy.ini`, and copy the warm cache of these settings to `.mypy_cache`, where mypy looks by itself."""
    (folder / "mypy.ini").write_text(settings, "utf-8")
    if not (folder / ".mypy_cache").exists():
        copy_warm_cache(folder)


def copy_warm_cache(folder: Path, *, name: str = ".mypy_cache", python_path: str = "", settings: str = "") -> None:
    """Copy the cache of a run of mypy with the settings, by default those in `folder`, to `folder / name`.

    The first call with these settings runs mypy.
    """
    in_folder = (folder / file for file in ("mypy.ini", "pyproject.toml"))
    text = settings or next(file for file in in_folder if file.exists()).read_text("utf-8")
    of_all_modules, _, _ = text.partition("\n[mypy-")  # what follows is for a test's programs
    kind = hashlib.sha256(of_all_modules.strip().encode()).hexdigest()[:16]
    kept = ROOT / ".mypy_cache" / "warm" / f"{kind}-{_hash_of_tapegrad()}"
    if not kept.exists():
        for outdated in kept.parent.glob(f"{kind}-*"):
            shutil.rmtree(outdated, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=kept.parent))
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(made), "-c", PROGRAM]
        if settings:
            file = made.with_suffix(".ini")
            file.write_text(settings, "utf-8")
            command += ["--config-file", str(file)]
        environment = os.environ | ({"PYTHONPATH": python_path} if python_path else {})
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        try:
            made.rename(kept)
        except OSError:  # another worker of pytest was faster
            shutil.rmtree(made)
    shutil.copytree(kept, folder / name)

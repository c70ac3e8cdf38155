"""The probe: mypy, as the user's project has it set up, reads three lines and has to say the right thing of two.

Settings can look right and be without effect: a module override, a disabled code, a second file that wins. What mypy
answers cannot.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tapegrad.project.settings import Settings

PROGRAM: Final = """\
import tapegrad as tg

x = tg.zeros((2, 3))
reveal_type(x @ tg.zeros((3, 4)))
x @ x
"""
REVEALED: Final = 'Revealed type is "tapegrad.tensor.Tensor[tuple[Literal[2], Literal[4]], tapegrad.tape.NoneTape,'
CODE: Final = "tapegrad-shape"


class Answer(NamedTuple):
    """What mypy made of the program.

    Attributes:
        revealed: What it says of line 4, the type of a product.
        refused: What it says of line 5, where the sizes do not fit.
        failed: Everything else that it wrote, if it could not be asked at all.
    """

    revealed: str
    refused: str
    failed: str

    @property
    def is_exact(self) -> bool:
        """Whether the sizes of the product were computed."""
        return self.revealed.startswith(REVEALED)


def probe(folder: Path, settings: Settings) -> Answer:
    """Runs mypy in a folder under its own settings, over a file that stands outside of it."""
    with TemporaryDirectory(prefix="tapegrad") as outside:
        file = Path(outside, "tapegrad_probe.py")
        file.write_text(PROGRAM, "utf-8")
        chosen = ["--config-file", str(settings.file)] if settings.file else []
        command = [sys.executable, "-m", "mypy", *chosen, "--output=json", str(file)]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # mypy

    said = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    on_probe = [one for one in said if Path(one["file"]).name == file.name]
    return Answer(
        revealed=next((one["message"] for one in on_probe if one["line"] == 4), ""),
        refused=next((one["message"] for one in on_probe if one["line"] == 5 and one["code"] == CODE), ""),
        failed=_failure(said, ran) if ran.returncode not in (0, 1) else "",
    )


def _failure(said: list[dict[str, str]], ran: subprocess.CompletedProcess[str]) -> str:
    return "; ".join(one["message"] for one in said) or ran.stderr.strip() or f"exit code {ran.returncode}"

"""The probe: mypy, with the user's configuration, checks three lines, and its reports on two must be as expected.

Settings can look right and have no effect: a module override, a disabled code, a second file with precedence. The
reports of mypy show the effect.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from tapegrad.project.reports import MypyError, run_mypy

if TYPE_CHECKING:
    from tapegrad.project.settings import Settings

PROGRAM: Final = """\
import tapegrad as tg

x = tg.zeros((2, 3))
reveal_type(x @ tg.zeros((3, 4)))
x @ x
"""
REVEALED: Final = (
    'Revealed type is "tapegrad.tensors.Tensor[tuple[Literal[2], Literal[4]], tapegrad.autograd.tape.NoneTape,'
)
CODE: Final = "tapegrad-shape"


class Answer(NamedTuple):
    """The reports of mypy on the program.

    Attributes:
        revealed: The report on line 4, the type of a product.
        rejected: The report on line 5, where the sizes do not match.
        failed: All other output, if mypy could not run at all.
    """

    revealed: str
    rejected: str
    failed: str

    @property
    def is_exact(self) -> bool:
        """Whether the sizes of the product were computed."""
        return self.revealed.startswith(REVEALED)


def probe(folder: Path, settings: Settings) -> Answer:
    """Run mypy in a folder with its own settings, on a file outside of it."""
    with TemporaryDirectory(prefix="tapegrad") as outside:
        file = Path(outside, "tapegrad_probe.py")
        file.write_text(PROGRAM, "utf-8")
        chosen = ["--config-file", str(settings.file)] if settings.file else []
        try:
            reports = run_mypy([*chosen, str(file)], folder=folder)
        except MypyError as error:
            return Answer("", "", failed=str(error))

    on_probe = [report for report in reports if Path(report.file).name == file.name]
    return Answer(
        revealed=next((report.text for report in on_probe if report.line == 4), ""),
        rejected=next((report.text for report in on_probe if report.line == 5 and report.code == CODE), ""),
        failed="",
    )

"""Settings: mypy's configuration file in a folder, its content, and the files that mypy ignores because of it."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mypy.config_parser import parse_config_file
from mypy.defaults import CONFIG_NAMES, SHARED_CONFIG_NAMES
from mypy.options import Options

if TYPE_CHECKING:
    from collections.abc import Generator

PLUGIN: Final = "tapegrad.mypy"
OWN: Final = Path(__file__).parent / "mypy.ini"
MISSING: Final = """\
[tool.mypy]
plugins = ["tapegrad.mypy"]
strict = true
allow_redefinition = true
"""


@dataclass(frozen=True)
class Settings:
    """The configuration of mypy in a folder.

    Attributes:
        file: The configuration file; None if nothing is configured.
        passed_over: Files in the same folder that configure mypy as well and that it does not read.
        plugins: In the order in which mypy calls them.
        strict: Whether all options of `--strict` are on.
        allow_redefinition: Whether a name may change its type, as in `x = layer(x)`.
        cache: The folder of mypy's cache.
        complaints: mypy's messages about the file itself, a line each.
    """

    file: Path | None
    passed_over: tuple[Path, ...]
    plugins: tuple[str, ...]
    strict: bool
    allow_redefinition: bool
    cache: Path
    complaints: tuple[str, ...]

    @property
    def has_plugin(self) -> bool:
        """Whether mypy loads tapegrad's plugin."""
        return PLUGIN in self.plugins

    @property
    def lines(self) -> str:
        """The lines to add to the file, in its syntax."""
        if self.file is None or self.file.suffix == ".toml":
            return MISSING
        return OWN.read_text("utf-8").partition("\n")[2]  # below its comment

    @property
    def target(self) -> str:
        """The name of the file to which the lines belong."""
        return "pyproject.toml" if self.file is None else self.file.name


def read_settings(folder: Path) -> Settings:
    """Return the settings that mypy would read if it were started in a folder."""
    options, complaints, strict = Options(), io.StringIO(), []
    with contextlib.chdir(folder), _restored_environment():
        parse_config_file(options, lambda: strict.append(True), None, complaints, complaints)

    file = Path(os.path.normpath(folder / options.config_file)) if options.config_file else None
    return Settings(
        file=file,
        passed_over=_passed_over(file) if file else (),
        plugins=tuple(options.plugins),
        strict=bool(strict),
        allow_redefinition=options.allow_redefinition,
        cache=folder / options.cache_dir,
        complaints=tuple(complaints.getvalue().splitlines()),
    )


@contextlib.contextmanager
def _restored_environment() -> Generator[None]:
    """Restore `os.environ`, which mypy changes for its child processes: this folder may be the first of several."""
    name = "MYPY_CONFIG_FILE_DIR"
    before = os.environ.get(name)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def _passed_over(file: Path) -> tuple[Path, ...]:
    others = (file.parent / name for name in (*CONFIG_NAMES, *SHARED_CONFIG_NAMES) if name != file.name)
    return tuple(other for other in others if other.is_file() and _is_about_mypy(other))


def _is_about_mypy(file: Path) -> bool:
    text = file.read_text("utf-8", errors="replace")
    return ("[tool.mypy" if file.suffix == ".toml" else "[mypy") in text

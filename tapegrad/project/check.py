"""`python -m tapegrad check`: run mypy with the plugin, also in a folder without any configuration."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tapegrad.project.settings import OWN, Settings, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NO_SETTINGS: Final = (
    "mypy finds no settings here: this run has tapegrad's own, but plain `mypy` runs without the plugin and checks no"
    " shapes. `python -m tapegrad doctor` shows what to add.\n"
)


def check(folder: Path, arguments: Sequence[str]) -> int:
    """Run mypy in a folder: with its settings if they name the plugin, with our settings if there are none.

    Settings without the plugin are not changed, because the user chose their other options.

    Args:
        folder: Where mypy is started.
        arguments: mypy's own arguments, including files and folders.

    Returns:
        mypy's exit code, or 2 if the settings lack the plugin.
    """
    file = usable_settings(folder)
    if file is None:
        return 2
    command = [sys.executable, "-m", "mypy", "--config-file", str(file), *arguments]
    return subprocess.run(command, cwd=folder, check=False).returncode  # noqa: S603  # mypy, in this interpreter


def usable_settings(folder: Path) -> Path | None:
    """Return the file of the settings for a run of mypy in a folder, ours if there are none; say so on stderr.

    Returns:
        None if the folder has settings without the plugin, which are the user's to change.
    """
    settings = read_settings(folder)
    if settings.file and not settings.has_plugin:
        sys.stderr.write(f"{settings.file} does not name the plugin. Add to it:\n\n{_plugin_line(settings)}\n")
        return None
    if settings.file is None:
        sys.stderr.write(NO_SETTINGS)
    return settings.file or OWN


def _plugin_line(settings: Settings) -> str:
    return "\n".join(settings.lines.splitlines()[:2])

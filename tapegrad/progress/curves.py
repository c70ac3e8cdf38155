"""Plots of a training log."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapegrad.errors.tracebacks import public_api
from tapegrad.io.atomic import write_atomically
from tapegrad.progress.log import OF_THE_LOG, read

if TYPE_CHECKING:
    import os


@public_api
def curves(log: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Plot the metrics of a log by epoch.

    Metrics whose names end in the same word share a panel: `loss` and `test_loss`. The run may still be in progress.

    Args:
        log: A log written by `track`.
        path: The PNG file to write; it is replaced atomically.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: The log cannot be read, or the PNG file cannot be written.
        ValueError: The suffix of `path` is not `.png`, or the log has no epoch.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log, picture = pathlib.Path(folder, "run.json"), pathlib.Path(folder, "run.png")
        ...     for epoch in tg.progress.track(range(2), epochs=3, log=log, show=False):
        ...         epoch.note(loss=1 / epoch.number)
        ...     tg.progress.curves(log, picture)
        ...     print(picture.read_bytes()[1:4])
        b'PNG'
    """
    path = Path(path)
    if path.suffix != ".png":
        message = f"curves: {path.name} has suffix {path.suffix or 'none'} but .png is expected"
        raise ValueError(message)
    lines = read(log)
    panels: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for line in lines for name in line if name not in OF_THE_LOG):
        panels.setdefault(name.rpartition("_")[2], []).append(name)
    if not panels:
        message = f"curves: {Path(log).name} has no epoch"
        raise ValueError(message)

    figure = _figure(figsize=(5.0 * len(panels), 3.5), layout="constrained")
    for axes, (word, names) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for name in names:
            points = [(line["epoch"], line[name]) for line in lines if line.get(name) is not None]
            axes.plot(*zip(*points, strict=True) if points else ((), ()), label=name.replace("_", " "))
        axes.set(xlabel="epoch", ylabel=word)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend()
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=80))


def _figure(**options: Any) -> Any:
    try:
        # Not pyplot, which looks for a display. Imported by name, so that type checkers do not analyse matplotlib.
        return importlib.import_module("matplotlib.figure").Figure(**options)
    except ImportError:
        message = 'curves: a picture needs the package matplotlib: pip install "tapegrad[plot]"'
        raise ImportError(message) from None

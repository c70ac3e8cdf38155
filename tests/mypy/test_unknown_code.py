"""The error code `tapegrad-unknown` in mypy: per file, from the cache, and in the daemon after edits."""

from __future__ import annotations

import os
from pathlib import Path

from mypy.dmypy_server import Server, process_start_options
from mypy.find_sources import create_source_list

from tapegrad.project.reports import Report, run_mypy
from tests.warm_mypy_cache import SETTINGS, write_settings

FLAGGED = f"""{SETTINGS}
[mypy-strict,strict_too]
enable_error_code = tapegrad-unknown
"""
PROGRAM = """\
import numpy as np
import tapegrad as tg
from sizes import n
from tapegrad import Tensor


def declared(x: Tensor) -> None:
    print(x @ x)


def of_another_file() -> None:
    print(tg.ones((n(), 2)))


def in_a_loop(x: Tensor, m: int) -> None:  # tapegrad: unknown because it takes any
    for _ in range(3):
        x = tg.relu(x)
    m += 1
    print(tg.ones((m,)))


rows = np.loadtxt("rows.csv", np.float32)
x = tg.tensor(rows)  # tapegrad: unknown because the file decides
y = tg.tensor(rows)  # type: ignore[tapegrad-unknown]
z = tg.tensor(rows)  # tapegrad: unknown
known = tg.ones((2, 3))  # tapegrad: unknown because it was


def deferred() -> None:
    print(later.sum())


later = tg.tensor(rows)
"""
BARE = 'the reason is missing: write "# tapegrad: unknown because ..."'
ROWS = "mypy does not know the shape of the array rows: assert it with tg.assert_shape"
OF_BODIES = ", and nothing in this file calls declared: call it there with a tensor of known shape, or"
DECLARED = f"it is declared as Tensor{OF_BODIES} name its sizes, such as Shape[N, L[8]]"
EXPECTED = {
    7: [f"x: the shape, the tape and the dtype are unknown, because {DECLARED}"],
    25: [f"# tapegrad: unknown: {BARE}", f"tg.tensor(rows): the shape is unknown, because {ROWS}"],
    26: ["# tapegrad: unknown: unused: nothing is unknown on this line"],
    33: [f"tg.tensor(rows): the shape is unknown, because {ROWS}"],
}
NUMBER = "mypy does not know the number n(): assert it with tg.assert_shape"
SIZE = f"tg.ones((n(), 2)): the size of axis 0 is unknown, because {NUMBER}"
KNOWN = "from typing import Literal\n\n\ndef n() -> Literal[{0}]:\n    return {0}\n"


def write(folder: Path) -> None:
    write_settings(folder, FLAGGED)
    (folder / "strict.py").write_text(PROGRAM, "utf-8")
    (folder / "strict_too.py").write_text("import tapegrad as tg\n\nprint(tg.ones((len(input()),)))\n", "utf-8")
    (folder / "lax.py").write_text(PROGRAM.replace("  # type: ignore[tapegrad-unknown]", ""), "utf-8")
    (folder / "sizes.py").write_text(KNOWN.format(3), "utf-8")


def by_line(reports: list[Report], file: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for report in reports:
        assert report.code == "tapegrad-unknown"
        if report.file == file:
            found.setdefault(report.line, []).append(report.text)
    return {line: sorted(texts) for line, texts in found.items()}


def test_a_file_that_enables_the_code_is_reported_cold_and_warm(tmp_path: Path) -> None:
    write(tmp_path)
    files = ["strict.py", "strict_too.py", "lax.py"]

    cold = run_mypy(files, folder=tmp_path)
    warm = run_mypy(files, folder=tmp_path)

    assert by_line(cold, "strict.py") == EXPECTED
    assert list(by_line(cold, "strict_too.py")) == [3]
    assert by_line(cold, "lax.py") == {}
    assert warm == cold


def test_the_daemon_reports_what_a_new_run_does(tmp_path: Path) -> None:
    write(tmp_path)
    flags = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", os.devnull]
    options = process_start_options([*flags, "--no-error-summary"], allow_sources=False)
    server = Server(options, os.devnull + ".no_status_file")
    paths = [str(tmp_path / name) for name in ("strict.py", "sizes.py")]
    sources = create_source_list(paths, options, server.fscache)

    def said() -> list[str]:
        answer = server.check(sources, export_types=False, is_tty=False, terminal_width=80)
        lines = [line.partition("strict.py:")[2] for line in answer["out"].splitlines()]
        return [line.partition(":")[0] + line.partition(" error")[2] for line in lines]

    def edit(name: str, text: str) -> None:
        path = tmp_path / name
        later = path.stat().st_mtime + 2  # mypy compares times in whole seconds for files of one size
        path.write_text(text, "utf-8")
        os.utime(path, (later, later))

    first = sorted(said())
    known = sorted(f"{line}: {text}  [tapegrad-unknown]" for line, texts in EXPECTED.items() for text in texts)
    assert first == [one.replace(OF_BODIES, ":") for one in known]  # the daemon reads no bodies
    edit("sizes.py", "def n() -> int:\n    return 3\n")
    assert sorted(said()) == sorted([*first, f"12: {SIZE}  [tapegrad-unknown]"])
    edit("sizes.py", KNOWN.format(4))
    assert sorted(said()) == first
    edit("strict.py", PROGRAM.replace("(x: Tensor) -> None:\n    print(x @ x)", "() -> None:\n    pass"))
    assert sorted(said()) == [line for line in first if not line.startswith("7:")]

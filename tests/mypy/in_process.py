"""mypy checks each program of typecheck/ in this process: `tests/mutants.py` breaks the plugin in memory.

`make test` does not run this file: tests/test_typecheck.py checks the same programs in one run of mypy, in less time.
"""

from __future__ import annotations

import pkgutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from mypy import api

import tapegrad.mypy
from tests.test_typecheck import FILES, ROOT, assert_rejects_the_marked_lines, errors_in
from tests.warm_mypy_cache import SETTINGS, copy_warm_cache, write_settings

OF_TYPECHECK: Final = (
    f"{SETTINGS}enable_error_code = ignore-without-code, truthy-bool, unused-awaitable\n"
    f"mypy_path = {ROOT / 'stubs'}:{ROOT}\nexplicit_package_bases = True\n"
)

for module in pkgutil.walk_packages(tapegrad.mypy.__path__, "tapegrad.mypy."):
    import_module(module.name)  # a mutant replaces the functions that exist
with (
    tempfile.TemporaryDirectory() as name
):  # each mutant is a process of its own, which would fill a cache that is missing
    copy_warm_cache(Path(name), settings=OF_TYPECHECK)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "typecheck")))
def test_mypy_rejects_exactly_the_marked_lines(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, OF_TYPECHECK)

    output, failure, status = api.run([str(path)])

    assert status in (0, 1), output + failure
    assert_rejects_the_marked_lines(path, errors_in(output))

"""What is shown to the user, and the messages where nothing can be checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygls.lsp.server import LanguageServer

from tapegrad.__main__ import main
from tapegrad.lsp.positions import Positions
from tapegrad.lsp.program import Range
from tapegrad.lsp.results import Results, is_shown
from tapegrad.lsp.session import Document, Session
from tapegrad.project.reports import Report


class ShownMessages:
    """An editor that collects the messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def publish(self, path: str, results: Results, version: int | None) -> None:
        raise AssertionError(path, results, version)

    def show(self, message: str) -> None:
        self.messages.append(message)

    def working(self, message: str) -> None:
        raise AssertionError(message)


def test_settings_without_the_plugin_are_shown_once(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n", "utf-8")
    shown = ShownMessages()
    session = Session(tmp_path, shown, all_errors=False)

    for _ in range(2):
        session._check({str(tmp_path / "program.py"): Document("x = 1\n", 1)})

    session.close()
    [message] = shown.messages
    assert message.startswith(f"tapegrad checks nothing: {tmp_path / 'mypy.ini'} does not name the plugin.")
    assert message.endswith("`python -m tapegrad doctor` shows what to add.")


@pytest.mark.parametrize(
    ("kind", "code", "text", "is_about_tensors"),
    [
        ("error", "tapegrad-tape", "loss was consumed by loss.backward() on line 3; trace again", True),
        ("error", "return-value", "f: the result is (3,) but (4,) is expected: axis 0 is 3, not 4", True),
        ("error", "arg-type", "f: x has no tape but needs one", True),
        ("error", "arg-type", 'Argument 1 to "f" has incompatible type "Tensor[Any, Any, Any]"; expected "str"', True),
        ("error", "syntax", "Invalid syntax", True),
        ("error", "assignment", 'Incompatible types in assignment (expression has type "int")', False),
        ("note", "misc", "Revealed shape is (2, 7) float32, no tape", True),
        ("note", "misc", 'Revealed type is "builtins.int"', False),
    ],
)
def test_errors_about_tensors_are_shown_and_by_option_all(
    kind: str, code: str, text: str, *, is_about_tensors: bool
) -> None:
    report = Report("program.py", 1, 1, 1, 2, kind, text, code)

    assert is_shown(report, all_errors=False) is is_about_tensors
    assert is_shown(report, all_errors=True)


def test_an_error_of_our_own_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = ShownMessages()
    session = Session(tmp_path, shown, all_errors=False)
    monkeypatch.setattr("tapegrad.lsp.session.read_settings", lambda _: 1 / 0)

    session.change("program.py", Document("", 1))
    session.start()

    while not shown.messages:
        session._thread.join(0.01)
    session.close()
    assert shown.messages == ["tapegrad checked nothing: ZeroDivisionError: division by zero"]


def test_the_extra_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tapegrad.lsp.find_spec", lambda _: None)

    assert main(["lsp"]) == 2

    message = 'python -m tapegrad lsp needs the package pygls: pip install "tapegrad[editor]"\n'
    assert capsys.readouterr().err == message


def test_the_server_is_one_of_pygls() -> None:
    from tapegrad.lsp.server import make_server

    assert isinstance(make_server(all_errors=False), LanguageServer)


@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", (7, 8)), ("utf-16", (3, 4)), ("utf-32", (2, 3))])
def test_columns_are_converted_to_the_units_that_the_editor_counts(encoding: str, columns: tuple[int, int]) -> None:
    positions = Positions("\n€😀x\n", encoding)
    here = Range(1, 2, 1, 3)

    found = positions.for_editor(here)

    assert (found.start.character, found.end.character) == columns
    assert positions.from_editor(found) == here

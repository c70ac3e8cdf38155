"""The language server, used by a real client over its standard streams; all tests share one server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lsp.client import Client, prepare_cache

PAGE = Path(__file__).parent.parent.parent / "docs" / "guide" / "editors.md"
PROGRAM = """\
from typing import TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

B = TypeVar("B", bound=int)
D = TypeVar("D", bound=int)
layer = nn.Linear(5, 7)
model = nn.Sequential(nn.Linear(5, 7), nn.ReLU())


def scores(x: Tensor[Shape[B, L[5]], NoneTape]) -> Tensor[Shape[B, L[7]], NoneTape]:
    hidden = layer(x)
    return hidden


def halves(x: Tensor[Shape[B, D], NoneTape]) -> None:
    b, d = x.shape
    first, second = x, x.trace()
"""
MISTAKE = "matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows"
REPORTED = f"tg.ones((2, 3)) @ tg.ones((2, 3)): {MISTAKE}"
WRONG = "y = tg.ones((2, 3)) @ tg.ones((2, 3))\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "helper.py").write_text("import tapegrad as tg\n\nx = tg.ones((2, 3))\n", "utf-8")
    prepare_cache(folder)
    opened = Client(folder)
    opened.open("program.py", PROGRAM)
    yield opened
    opened.stop()
    assert opened.server.returncode == 0


@pytest.fixture
def editor(client: Client) -> Client:
    client.edit("program.py", PROGRAM)
    client.await_hint("program.py", "    hidden = layer(x)")
    client.messages.clear()
    return client


def test_an_edit_right_after_the_load_is_checked(client: Client) -> None:
    client.edit("program.py", PROGRAM + WRONG)
    client.edit("program.py", PROGRAM + "\n" + WRONG)

    assert client.errors("program.py") == [REPORTED]
    assert client.progress == ["mypy reads the libraries", "end"]


def test_only_what_the_editors_python_server_lacks_is_offered(client: Client) -> None:
    assert sorted(client.offered) == [
        "codeActionProvider",
        "executeCommandProvider",
        "hoverProvider",
        "inlayHintProvider",
        "positionEncoding",
        "textDocumentSync",
        "workspace",
    ]
    assert client.offered["executeCommandProvider"] == {"commands": []}


def test_hover_shows_tensors_layers_and_sizes(editor: Client) -> None:
    assert editor.hover("program.py", r"x: Tensor\[Shape\[B, L") == "x: (B, 5) float32, no tape"
    assert editor.hover("program.py", r"(?<=layer\()x") == "x: (B, 5) float32, no tape"
    assert editor.hover("program.py", r"\)\n    return hidden") == "layer(x): (B, 7) float32, no tape"
    assert editor.hover("program.py", r"hidden\n") == "hidden: (B, 7) float32, no tape"
    assert editor.hover("program.py", r"second") == "second: (B, D) float32, owned tape"
    assert editor.hover("program.py", r"layer\(x") == "layer: Linear(In=5, Out=7)"
    assert editor.hover("program.py", r"model") == "model: Sequential(Linear(In=5, Out=7), ReLU)"
    assert editor.hover("program.py", r"d = x") == "d: size D"
    assert editor.hover("program.py", r"halves") is None


def test_hints_stand_behind_assignments_of_tensors(editor: Client) -> None:
    assert editor.hints("program.py") == [
        "    hidden = layer(x)  (B, 7) float32, no tape",
        "    first, second = x, x.trace()  first (B, D) float32, no tape; second (B, D) float32, owned tape",
    ]


def test_the_server_asks_for_a_refresh_once_hints_are_known(client: Client) -> None:
    other = Client(client.folder)
    other.open("program.py", PROGRAM)
    while not other.refreshes:
        other.receive()

    assert len(other.hints("program.py")) == 2
    other.stop()


def test_what_is_known_stays_at_its_line_while_the_user_types_elsewhere(editor: Client) -> None:
    editor.edit("program.py", PROGRAM.replace("B = Type", "\n\nz = (\nB = Type"))

    assert editor.hints("program.py")[0] == "    hidden = layer(x)  (B, 7) float32, no tape"
    assert editor.hover("program.py", r"hidden\n") == "hidden: (B, 7) float32, no tape"
    editor.errors("program.py")
    assert editor.codes("program.py") == ["syntax"]
    assert editor.hints("program.py")[0] == "    hidden = layer(x)  (B, 7) float32, no tape"


def test_places_are_right_behind_letters_of_several_bytes(editor: Client) -> None:
    editor.edit("program.py", f"{PROGRAM}s = 'é€😀'; {WRONG}t = '€é😀'; a = tg.zeros((3, 4))\n")

    assert editor.errors("program.py") == [REPORTED]
    assert editor.await_hint("program.py", "t = '€é😀'; a = tg.zeros((3, 4))") == "(3, 4) float32, no tape"
    assert editor.hover("program.py", r"a = tg.zeros") == "a: (3, 4) float32, no tape"


def test_errors_that_are_not_about_tensors_are_left_to_other_checkers(editor: Client) -> None:
    editor.edit("program.py", f"{PROGRAM}s: str = 1\nt: Tensor[Shape[L[3]], NoneTape] = layer(tg.ones((5,)))\n")

    assert editor.errors("program.py") == ["layer(tg.ones((5,))): t is (7,) but (3,) is expected: axis 0 is 7, not 3"]


def test_revealed_shapes_are_shown(editor: Client) -> None:
    editor.edit("program.py", f"{PROGRAM}tg.reveal_shape(layer(tg.ones((2, 5)))).sum()\n")

    assert editor.errors("program.py") == [
        "tg.reveal_shape(layer(tg.ones((2, 5)))): Revealed shape is (2, 7) float32, no tape"
    ]


def test_an_unsaved_edit_of_one_open_file_is_seen_by_another(editor: Client) -> None:
    helper = "import tapegrad as tg\n\nx = tg.ones(({}, 3))\n"
    editor.edit("program.py", f"import helper\n{PROGRAM}y = helper.x @ tg.ones((3, 4))\n")
    assert editor.errors("program.py") == []

    editor.open("helper.py", helper.format(2))
    assert editor.await_hint("helper.py", "x = tg.ones((2, 3))") == "(2, 3) float32, no tape"
    assert editor.hover("program.py", r"y = helper") == "y: (2, 4) float32, no tape"

    editor.edit("helper.py", helper.format("5, 2"))
    message = "matmul: inner sizes differ: x (5, 2, 3) has 3 columns but y (3, 4) has 3 rows"
    assert editor.errors("helper.py") == []
    assert editor.errors("program.py") == [], message
    assert editor.hover("program.py", r"y = helper") == "y: (5, 2, 4) float32, no tape"

    editor.edit("helper.py", "import tapegrad as tg\n\nx = tg.ones((3, 2))\n")
    assert editor.errors("helper.py") == []
    editor.await_errors("program.py", 1)
    editor.close("helper.py")  # without saving
    editor.await_errors("program.py", 0)


def test_assertions_that_a_message_asks_for_are_inserted_above_the_statement(editor: Client) -> None:
    text = PROGRAM + "    if b:\n        x.reshape((b // 3, 3, d // 2, 2))\n"
    editor.edit("program.py", text)
    [error] = editor.errors("program.py")
    assert error.endswith("add tg.assert_divides(3, b) and tg.assert_divides(2, d)")

    actions = editor.actions("program.py", "x.reshape")

    inserted = "        tg.assert_divides(3, b)\n        tg.assert_divides(2, d)\n        x.reshape"
    title = "Insert tg.assert_divides(3, b) and tg.assert_divides(2, d)"
    assert actions == {title: text.replace("        x.reshape", inserted)}
    editor.edit("program.py", actions[title])
    assert editor.errors("program.py") == []


def test_a_missing_tape_is_started_where_the_value_comes_from(editor: Client) -> None:
    text = PROGRAM + "\n\ndef train(x: Tensor[Shape[B, L[5]], NoneTape]) -> None:\n"
    text += "    y = model(x)\n    loss = tg.mse(y, tg.ones_like(y))\n    loss.backward()\n"
    editor.edit("program.py", text)
    [error] = editor.errors("program.py")
    assert error.endswith("the tensor has no tape; trace an input first")

    actions = editor.actions("program.py", r"loss\.backward")

    title = "Trace x on line 24: x.trace()"
    assert actions == {title: text.replace("y = model(x)", "y = model(x.trace())")}
    editor.edit("program.py", actions[title])
    assert editor.errors("program.py") == []


def test_an_annotation_becomes_the_type_of_the_value(editor: Client) -> None:
    text = PROGRAM.replace("-> Tensor[Shape[B, L[7]], NoneTape]:", "-> Tensor[Shape[B, L[9]], NoneTape]:")
    editor.edit("program.py", text)
    assert editor.errors("program.py") == [
        "hidden: scores: the result is (B, 7) but (B, 9) is expected: axis 1 is 7, not 9"
    ]

    actions = editor.actions("program.py", "return hidden")

    assert actions == {"Change the annotation to Tensor[Shape[B, L[7]], NoneTape]": PROGRAM}


def test_a_variable_is_annotated_with_what_is_known(editor: Client) -> None:
    editor.errors("program.py")

    actions = editor.actions("program.py", "hidden = ")

    annotated = "hidden: Tensor[Shape[B, L[7]], NoneTape] = layer(x)"
    assert actions == {
        "Annotate hidden: Tensor[Shape[B, L[7]], NoneTape]": PROGRAM.replace("hidden = layer(x)", annotated)
    }


def test_a_new_import_starts_another_child(editor: Client) -> None:
    editor.edit("program.py", f"import colorsys\n{PROGRAM}h = colorsys.rgb_to_hsv(tg.ones((2, 3)), 0, 0)\n{WRONG}")

    assert REPORTED in editor.errors("program.py")
    editor.edit("program.py", f"import colorsys\n{PROGRAM}")
    assert editor.errors("program.py") == []
    assert editor.messages == []


def test_a_child_that_dies_is_started_again_and_the_user_is_informed(editor: Client) -> None:
    find = [shutil.which("pgrep") or "", "-P", str(editor.server.pid)]
    [child] = subprocess.run(find, capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(child), signal.SIGKILL)

    editor.edit("program.py", f"{PROGRAM}a = (\n")
    editor.errors("program.py")
    assert editor.codes("program.py") == ["syntax"]
    assert editor.messages == ["tapegrad: mypy stopped unexpectedly, and was started again"]
    editor.edit("program.py", f"{PROGRAM}a = tg.ones((4,))\n{WRONG}")

    assert editor.errors("program.py") == [REPORTED]
    assert editor.await_hint("program.py", "a = tg.ones((4,))") == "(4,) float32, no tape"


def test_two_files_of_one_name_cannot_be_checked_together_and_the_user_is_informed(editor: Client) -> None:
    (editor.folder / "other").mkdir()
    editor.open("other/program.py", "x = 1\n")
    while not editor.messages:
        editor.receive()
    editor.close("other/program.py")

    [message] = editor.messages
    assert message.startswith('tapegrad checks nothing: mypy stopped: program.py: Duplicate module named "program"')
    editor.edit("program.py", PROGRAM + WRONG)
    assert editor.errors("program.py") == [REPORTED]


def test_the_page_shows_what_an_editor_shows(editor: Client) -> None:
    blocks = dict(
        re.findall(r'^```(?:py title="(\w+)"|python)\n(.*?)^```$', PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
    editor.edit("program.py", blocks[""])

    editor.await_hint("program.py", "    hidden = tg.relu(encoder(pixels))")

    shown = editor.hints("program.py")
    assert "".join(f"{line}\n" for line in shown[:2]) == blocks["Hints"]
    for line in blocks["Hover"].splitlines():
        *start, last = line.split(": ")[0]  # over its last character, a call is meant as a whole
        assert editor.hover("program.py", f"(?<={re.escape(''.join(start))}){re.escape(last)}") == line

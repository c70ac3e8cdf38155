"""The edits that code actions make, without a server."""

from __future__ import annotations

from tapegrad.lsp.actions import Action, actions
from tapegrad.lsp.program import Range
from tapegrad.lsp.results import Finding, Known

ASKS = "split: axis 0 of x (N,) is N, and it is not known that this divides into 2 parts: add tg.assert_divides(2, {})"


def finding(line: int, text: str, columns: tuple[int, int] = (0, 1)) -> Finding:
    return Finding(Range(line, columns[0], line, columns[1]), text, "tapegrad-shape", is_error=True)


def applied(text: str, action: Action) -> str:
    lines = text.split("\n")
    for edit in sorted(action.edits, reverse=True):
        place = edit.range
        changed = lines[place.line][: place.column] + edit.text + lines[place.end_line][place.end_column :]
        lines[place.line : place.end_line + 1] = changed.split("\n")
    return "\n".join(lines)


def offered(text: str, found: Finding, known: tuple[Known, ...] = ()) -> list[str]:
    return [applied(text, action) for action in actions(text, [found], known, found.range)]


def test_an_assertion_uses_the_files_own_name_of_the_library() -> None:
    text = "import tapegrad\ndef f(n):\n    split(n)\n"

    assert offered(text, finding(2, ASKS.format("n"))) == [
        "import tapegrad\ndef f(n):\n    tapegrad.assert_divides(2, n)\n    split(n)\n"
    ]
    text = "from tapegrad import assert_divides as check\ndef f(n):\n    split(n)\n"
    assert offered(text, finding(2, ASKS.format("n"))) == [text.replace("    split", "    check(2, n)\n    split")]


def test_an_import_that_is_missing_is_added() -> None:
    text = '"""Words."""\nfrom __future__ import annotations\ndef f(n):\n    split(n)\n'

    [changed] = offered(text, finding(3, ASKS.format("n")))
    assert changed == text.replace("def", "import tapegrad as tg\ndef").replace(
        "    s", "    tg.assert_divides(2, n)\n    s"
    )


def test_an_assertion_over_a_name_that_has_no_value_there_is_not_offered() -> None:
    text = "import tapegrad as tg\nN = TypeVar('N')\ndef f(x):\n    split(x)\n    n = 3\n"

    assert offered(text, finding(3, ASKS.format("N"))) == []
    assert offered(text, finding(3, ASKS.format("n"))) == []  # it is bound below


def test_an_assertion_is_never_put_where_no_statement_may_stand() -> None:
    text = "import tapegrad as tg\ndef f(n):\n    if n:\n        pass\n    elif split(n): pass\n"

    [changed] = offered(text, finding(4, ASKS.format("n")))

    assert changed == text.replace("    if n:", "    tg.assert_divides(2, n)\n    if n:")
    compile(changed, "changed.py", "exec")


def test_an_assertion_stands_above_the_decorators() -> None:
    text = "import tapegrad as tg\ndef f(n):\n    @g\n    def h(m=split(n)): pass\n"

    [changed] = offered(text, finding(3, ASKS.format("n")))

    assert changed == text.replace("    @g", "    tg.assert_divides(2, n)\n    @g")


def test_an_annotation_uses_the_files_own_names_and_adds_what_is_missing() -> None:
    text = "import tapegrad as tg\nx = tg.ones((3,))\n"
    known = (Known(Range(1, 0, 1, 1), "(3,) float64, no tape", "Tensor[Shape[L[3]], NoneTape, np.float64]"),)

    [action] = actions(text, [], known, Range(1, 0, 1, 0))

    assert action.finding is None
    assert applied(text, action) == (
        "from typing import Literal as L\nimport numpy as np\nimport tapegrad as tg\n"
        "x: tg.Tensor[tg.Shape[L[3]], tg.NoneTape, np.float64] = tg.ones((3,))\n"
    )


def test_only_float_inputs_are_traced_and_each_is_offered() -> None:
    text = "def f(x, labels):\n    y = g(x, labels)\n    y.sum().backward()\n"
    known = (
        Known(Range(1, 10, 1, 11), "(3,) float32, no tape", ""),
        Known(Range(1, 13, 1, 19), "(3,) int64, no tape", ""),
        Known(Range(2, 4, 2, 5), "(3,) float32, no tape", ""),
    )
    found = finding(2, "the tensor has no tape; trace an input first", (4, 22))

    assert offered(text, found, known) == [text.replace("g(x,", "g(x.trace(),")]


def test_a_text_that_does_not_parse_has_no_actions() -> None:
    assert offered("def f(n:\n", finding(0, ASKS.format("n"))) == []

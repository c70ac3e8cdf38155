"""Errors: their attributes, their diagrams, and the end of their traceback."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar
from typing import Literal as L

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import errors, nn, optim
from tapegrad.autograd.tape import NoneTape
from tapegrad.errors import DTypeError, ShapeError, SingularError, TapeError, TapegradError
from tapegrad.errors.diagram import diagram
from tapegrad.guard import guarded
from tapegrad.tensors import Tensor
from tapegrad.tensors.aliases import Shape

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

unseen: Any = tg  # the mistakes below are meant for Python alone


@pytest.fixture(autouse=True)
def with_diagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "diagrams", True)


def rejected(call: Callable[[], Any]) -> Any:
    with pytest.raises((TapegradError, IndexError)) as caught:
        call()
    return caught.value


def drawn(call: Callable[[], Any]) -> list[str]:
    """Return the diagrams of an error, without their indents."""
    notes: list[str] = getattr(rejected(call), "__notes__", [])
    return ["\n".join(line.removeprefix("    ") for line in note.splitlines()) for note in notes]


def ones(*shape: int) -> Any:
    return tg.ones(shape)


# What it knows


def test_an_error_of_an_op_has_the_arguments_of_the_op() -> None:
    error = rejected(lambda: ones(32, 10) @ ones(5, 2).trace())

    assert (error.op, error.layer, error.path, error.places) == ("matmul", "", "", ())
    assert error.shapes == {"x": (32, 10), "y": (5, 2)}
    assert error.axes == {"x": (1,), "y": (0,)}
    assert error.sizes == {"x": (10,), "y": (5,)}
    assert error.dtypes == {"x": "float32", "y": "float32"}
    assert error.taped == {"x": False, "y": True}


def test_several_tensors_in_one_parameter_are_named_by_position() -> None:
    error = rejected(lambda: tg.concat([ones(2, 3), ones(2, 3), ones(2, 5)]))

    assert error.shapes == {"tensors[0]": (2, 3), "tensors[1]": (2, 3), "tensors[2]": (2, 5)}
    assert error.sizes == {"tensors[0]": (3,), "tensors[2]": (5,)}


def test_a_number_and_an_array_among_the_operands() -> None:
    assert rejected(lambda: ones(2, 3) + np.ones((4,), np.float32)).sizes == {"x": (3,), "y": (4,)}
    assert rejected(lambda: tg.where(ones(2) > 0, 1.0, ones(3))).shapes == {"condition": (2,), "y": (3,)}


def test_errors_of_dtypes_tapes_and_indices_have_attributes_too() -> None:
    dtypes = rejected(lambda: ones(2) + tg.ones((2,), np.float64))
    tape = rejected(lambda: unseen.nll(ones(2, 3), tg.tensor([0, 1]).trace()))
    index = rejected(lambda: ones(2, 3)[5])
    singular = rejected(lambda: tg.inv(tg.zeros((2, 3, 3))))

    assert (type(dtypes), dtypes.op, dtypes.dtypes) == (DTypeError, "add", {"x": "float32", "y": "float64"})
    assert (type(tape), tape.op, tape.taped) == (TapeError, "nll", {"x": False, "target": True})
    assert (index.op, index.shapes) == ("getitem", {"x": (2, 3)})
    assert (type(singular), singular.shapes) == (SingularError, {"x": (2, 3, 3)})


def test_an_error_of_a_gradient_names_its_parameter() -> None:
    grads: Any = tg.Gradients()
    missing = rejected(lambda: grads[ones(2, 3)])
    whole = rejected(lambda: grads[tg.tensor([1, 2])])
    other = rejected(lambda: grads.add(ones(2, 3), np.ones(3)))

    assert (missing.shapes, missing.dtypes) == ({"x": (2, 3)}, {"x": "float32"})
    assert (whole.shapes, whole.dtypes) == ({"x": (2,)}, {"x": "int64"})
    assert (other.op, other.shapes) == ("Gradients.add", {"x": (2, 3), "gradient": (3,)})


def test_an_index_out_of_range_is_named_by_its_axis() -> None:
    error = rejected(lambda: tg.ones((2,)).take(tg.tensor([7])))

    assert isinstance(error, IndexError)
    assert vars(error) == {"op": "take"}


def test_an_error_of_a_consumed_tape_has_the_line() -> None:
    loss: Any = ones(3).trace().sum()
    loss.backward()

    error = rejected(loss.backward)

    assert error.consumed_at.startswith("test_errors.py:")
    assert error.consumed_at in str(error)


def test_an_error_of_a_layer_has_its_path_and_the_expected_shape() -> None:
    model: Any = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))

    error = rejected(lambda: model(ones(2, 3)))

    assert (error.op, error.layer, error.path) == ("Linear.forward", "Linear(5, 6)", "model[1]")
    assert error.shapes == {"x": (2, 4)}
    assert error.expected == {"x": ("...", 5)}
    assert error.sizes == {"x": (4,)}


def test_an_error_lists_the_layers_around_it() -> None:
    class Square(nn.Module):
        def forward(self, x: Any) -> Any:
            return x @ x

    error = rejected(lambda: nn.Sequential(nn.ReLU(), Square())(ones(2, 3)))

    assert error.places == ("Sequential[1] Square",)
    assert error.__notes__[1:] == ["in Sequential[1] Square"]


def test_an_error_of_a_guard_has_the_function_and_its_arguments() -> None:
    @guarded
    def scaled(x: Tensor[Shape[N, M], NoneTape], y: Tensor[Shape[M], NoneTape]) -> Any:
        return x * y

    error = rejected(lambda: scaled(ones(2, 3), ones(4)))

    assert error.op.endswith("scaled")
    assert error.shapes == {"x": (2, 3), "y": (4,)}
    assert error.axes == {"x": (1,), "y": (0,)}


def test_an_error_of_a_guard_has_tensors_in_tuples() -> None:
    @guarded
    def together(xs: tuple[Tensor[Shape[N, M], NoneTape], Tensor[Shape[N, M], NoneTape]]) -> Any:
        return xs

    error = rejected(lambda: together((ones(2, 3), ones(2, 4))))

    assert error.sizes == {"xs[0]": (3,), "xs[1]": (4,)}


def test_an_error_raised_by_a_user_has_no_attributes() -> None:
    error = ShapeError("never", 7)

    assert error.args == ("never", 7)
    assert (error.op, error.shapes, error.axes, error.sizes) == ("", {}, {}, {})


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301  # it was written above
def test_copies_and_pickles_keep_the_attributes(again: Callable[[Any], Any]) -> None:
    model: Any = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))
    for error in (
        rejected(lambda: model(ones(2, 3))),
        rejected(lambda: ones(2) + tg.ones((2,), np.float64)),
        rejected(lambda: ones(3).backward()),
        rejected(lambda: tg.inv(tg.zeros((2, 3, 3)))),
        rejected(lambda: ones(3).trace().sum().backward()[ones(2)]),
    ):
        other = again(error)

        assert type(other) is type(error)
        assert str(other) == str(error)
        assert vars(other) == vars(error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unseen.split("hello", 2), "split: x is a str, not a tensor"),
        (lambda: unseen.moveaxis(None, 0, 1), "moveaxis: x is a NoneType, not a tensor"),
        (lambda: unseen.tile([1.0], 2), "tile: x is a list, not a tensor; tg.tensor(x) makes one"),
        (lambda: unseen.concat(None), "concat: tensors is a NoneType but a sequence of tensors is expected"),
        (lambda: unseen.select(ones(2), ones(2)), "select: index is a Tensor but an int is expected"),
        (lambda: unseen.einsum(ones(2), "i->i"), "einsum: subscripts is a Tensor but a string is expected"),
    ],
)
def test_arguments_of_other_types_are_named(call: Callable[[], Any], message: str) -> None:
    error = rejected(call)

    assert type(error) is DTypeError
    assert str(error) == message


# What it draws


def test_broadcast_shapes_are_aligned_from_the_right() -> None:
    assert drawn(lambda: ones(8, 2, 3) + ones(4, 1)) == ["x  (8, 2, 3)\ny     (4, 1)\n       ^"]


def test_the_diagram_of_a_product_aligns_the_contracted_axes() -> None:
    assert drawn(lambda: ones(32, 10) @ ones(5, 2)) == ["x  (32, 10)\ny      ( 5, 2)\n        ^^"]


def test_the_diagram_of_concat_aligns_the_axis_that_differs() -> None:
    assert drawn(lambda: tg.concat([ones(2, 3, 4), ones(2, 3, 4), ones(2, 5, 4)])) == [
        "tensors[0]  (2, 3, 4)\ntensors[2]  (2, 5, 4)\n                ^"
    ]


def test_a_window_is_drawn_below_its_input() -> None:
    assert drawn(lambda: tg.conv2d(ones(2, 3, 28, 4), ones(6, 3, 5, 5))) == [
        "x  (2, 3, 28, 4)\nw  (6, 3,  5, 5)\n              ^"
    ]
    assert drawn(lambda: tg.max_pool2d(ones(2, 3, 4, 28), 5)) == ["x  (2, 3, 4, 28)\n          ^"]


def test_an_axis_that_does_not_divide_is_marked() -> None:
    assert drawn(lambda: tg.group_norm(ones(2, 7, 4), ones(7), ones(7), groups=3)) == ["x  (2, 7, 4)\n       ^"]


def test_two_axes_of_one_tensor_are_both_marked() -> None:
    assert drawn(lambda: tg.inv(ones(4, 2, 3))) == ["x  (4, 2, 3)\n       ^  ^"]


def test_the_diagram_of_a_guard_has_the_expected_shape() -> None:
    @guarded
    def area(x: Tensor[Shape[N, L[3], M, M], NoneTape]) -> Any:
        return x

    assert drawn(lambda: area(ones(2, 4, 7, 7))) == ["x         (2, 4, 7, 7)\nexpected  (N, 3, M, M)\n              ^"]
    assert drawn(lambda: area(ones(2, 3, 28, 7))) == ["x  (2, 3, 28, 7)\n          ^^  ^"]


def test_after_any_number_of_axes_the_last_ones_are_aligned() -> None:
    assert drawn(lambda: nn.Linear(5, 2)(ones(7, 2, 4))) == [
        "x         (7,   2, 4)\nexpected     (..., 5)\n                   ^"
    ]


def test_the_diagram_of_a_result() -> None:
    @guarded
    def widened(x: Tensor[Shape[N, M], NoneTape]) -> Tensor[Shape[N, L[5]], NoneTape]:
        wide: Tensor[Any, NoneTape] = unseen.concat([x, x], axis=1)
        return wide

    assert drawn(lambda: widened(ones(2, 3))) == ["the result  (2, 6)\nexpected    (N, 5)\n                ^"]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: ones(3) + ones(4), id="two vectors"),
        pytest.param(lambda: ones(2, 3).reshape((7,)), id="no axis is to blame"),
        pytest.param(lambda: ones(2, 3, 4).sum(axis=3), id="no size is"),
        pytest.param(lambda: tg.linear(ones(2, 3), ones(3), ones(5)), id="a rank"),
        pytest.param(lambda: ones(2, 3) + tg.ones((2, 3), np.float64), id="a dtype"),
        pytest.param(lambda: ones(2, 3).backward(), id="a tape"),
        pytest.param(lambda: tg.inv(ones(2, 3)), id="the message shows it all"),
    ],
)
def test_errors_without_a_useful_diagram_have_none(call: Callable[[], Any]) -> None:
    assert drawn(call) == []


def test_the_message_is_one_line() -> None:
    assert "\n" not in str(rejected(lambda: ones(2, 3) @ ones(2, 3)))


def test_diagrams_can_be_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "diagrams", False)

    assert drawn(lambda: ones(2, 3) @ ones(2, 3)) == []


def test_a_diagram_of_long_sizes() -> None:
    said = diagram({"a": (1, 60_000), "longer": (784,)}, {"a": [1], "longer": [0]})

    assert said == "    a       (1, 60000)\n    longer     (  784,)\n                ^^^^^"


# Where it ends


def last_line(call: Callable[[], Any]) -> str | None:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # of any kind
        call()
    trace = traceback.extract_tb(caught.tb)
    assert {frame.filename for frame in trace} == {__file__}
    return trace[-1].line


class Net(nn.Module):
    def __init__(self) -> None:
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x: Any) -> Any:
        return self.layers(x)  # the last line


@guarded
def doubled(x: Tensor[Shape[N, L[3]], NoneTape]) -> Any:
    return unseen.matmul(x, x)  # in the body


def wrong_reflected() -> None:
    1.5 + tg.tensor([1, 2])  # type: ignore[tapegrad-dtype]  # reflected


def twice() -> None:
    loss = ones(3).trace().sum()
    loss.backward()
    loss.backward()  # the second


def of_nothing() -> None:
    gradients = ones(3).trace().sum().backward()
    gradients[ones(2)]  # not there


def unused() -> None:
    layer = nn.Linear(3, 2)
    opt = optim.SGD(layer, 0.1)
    opt.step(ones(3).trace().sum().backward())  # the step


def on_the_way_back() -> None:
    x: Any = ones(3).trace()
    y, tape = x.split_tape()
    out = tg.zeros((3,))

    def backward(grads: Any) -> None:
        grads.add(y, np.ones(2))

    tape.record(out, (y,), backward).sum().backward()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: tg.matmul(ones(2, 3), ones(2, 3)), "tg.matmul"),
        (lambda: tg.outer(ones(2, 3), ones(2)), "tg.outer"),  # whose rule runs first
        (lambda: tg.unstack(ones(2, 3), 5), "tg.unstack"),
        (lambda: tg.sqrt(tg.tensor([1])), "tg.sqrt"),  # type: ignore[tapegrad-dtype]  # the mistake under test
        (lambda: ones(2, 3) + ones(4), "+ ones(4)"),
        (wrong_reflected, "reflected"),
        (lambda: -(ones(2) > 0), "-(ones(2) > 0)"),
        (lambda: ones(2, 3)[5], "[5]"),
        (lambda: ones(2, 3).sum(axis=2), ".sum(axis=2)"),
        (lambda: ones(2, 3).reshape((7,)), ".reshape"),
        (lambda: ones(3).mT, ".mT"),
        (lambda: ones(3).item(), ".item()"),
        (lambda: ones(3).trace().trace(), ".trace().trace()"),
        (lambda: ones(3).backward(), ".backward()"),
        (lambda: ones(3).trace().backward(), ".trace().backward()"),
        (twice, "the second"),
        (of_nothing, "not there"),
        (unused, "the step"),
        (on_the_way_back, ".sum().backward()"),
        (lambda: unseen.Gradients().add(ones(3), np.ones(2)), ".add(ones(3)"),
        (lambda: unseen.Gradients().mut(ones(3)).__iadd__(np.ones(2)), "__iadd__"),
        (lambda: unseen.Gradients().mut(ones(3)).__isub__(np.ones(2)), "__isub__"),
        (lambda: nn.Linear(5, 2)(ones(2, 3)), "nn.Linear"),
        (lambda: unseen.nn.Linear(5, 0), "nn.Linear(5, 0)"),
        (lambda: Net()(ones(2, 3)), "the last line"),
        (lambda: doubled(ones(2, 4)), "doubled(ones(2, 4))"),
        (lambda: doubled(ones(2, 3)), "in the body"),
        (lambda: tg.assert_shape(ones(2, 3), (2, 4)), "tg.assert_shape"),
        (lambda: tg.hvp(lambda x: x, ones(3), ones(2)), "tg.hvp"),
    ],
)
def test_the_traceback_ends_in_the_users_own_line(call: Callable[[], Any], line: str) -> None:
    assert line in (last_line(call) or "")


def test_the_traceback_of_the_first_call_of_a_guard_ends_there_too() -> None:
    @guarded
    def fresh(x: Tensor[Shape[L[3]], NoneTape]) -> Any:
        return x

    assert "fresh(ones(2))" in (last_line(lambda: fresh(ones(2))) or "")


def test_the_traceback_of_the_cause_is_trimmed_too() -> None:
    with pytest.raises(ShapeError, match="backward of") as caught:
        on_the_way_back()

    assert isinstance(caught.value.__cause__, ShapeError)
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)] == [__file__]


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "full_tracebacks", True)

    with pytest.raises(ShapeError) as caught:
        ones(2, 3) @ ones(2, 3)

    assert traceback.extract_tb(caught.tb)[-1].filename.endswith("op.py")


@pytest.mark.parametrize(("setting", "frames"), [("", 1), ("1", 3)])
def test_an_environment_variable_shows_all_frames(setting: str, frames: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import tapegrad as tg\ntg.ones((2, 3)) @ tg.ones((2, 3))"],
        env={"TAPEGRAD_FULL_TRACEBACKS": setting},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stderr.count("  File ") == frames
    assert ran.stderr.endswith(
        "ShapeError: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows\n"
        "    x  (2, 3)\n    y     (2, 3)\n           ^\n"
    )


def test_a_notebook_shows_only_the_frame_of_the_cell() -> None:
    cells = ["import tapegrad as tg", "x = tg.ones((2, 3))\nx @ x"]
    source = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.colors = "NoColor"
[shell.run_cell(cell) for cell in {cells}]
"""
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)

    assert "----> 2 x @ x" in ran.stdout
    assert "tapegrad/" not in ran.stdout
    assert ran.stdout.endswith("    x  (2, 3)\n    y     (2, 3)\n           ^\n")


def test_an_error_of_python_keeps_all_its_frames() -> None:
    with pytest.raises(TypeError) as caught:
        unseen.matmul(ones(2, 3))

    assert traceback.extract_tb(caught.tb)[-1].filename != __file__

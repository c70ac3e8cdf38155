"""`debug.print` without compiling: what it prints, and which calls it rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.autodiff import Autodiff
from tapegrad.errors import DTypeError


def test_it_prints_tensors_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    x = tg.tensor([[1.0, 2.5]])

    tg.debug.print("{x} {n} {k:.2f} {y!r} {{}}", x=x.trace(), n=3, k=0.5, y=np.array([1, 2]))
    tg.debug.print("{x:.2f} {flag} {z:{width}}", x=x, flag=True, z=7, width=4)
    tg.debug.print("{h} {lifted}", h=x.astype(np.float16), lifted=Autodiff().from_inner(x))
    tg.debug.print("no tensor")

    assert capsys.readouterr().out.splitlines() == [
        "[[1.  2.5]] 3 0.50 array([1, 2]) {}",
        "[[1.00 2.50]] True    7",
        "[[1.  2.5]] [[1.  2.5]]",
        "no tensor",
    ]


@pytest.mark.parametrize(
    ("format", "given", "message"),
    [
        ("{}", {"x": 1.0}, "print: format has a field without a name; write {x}, and pass x=x"),
        ("{0}", {"x": 1.0}, "print: format has a field without a name; write {x}, and pass x=x"),
        ("{loss}", {"x": 1.0}, "print: format names loss, which is not given; pass loss="),
        ("{x:{width}}", {"x": 1.0}, "print: format names width, which is not given; pass width="),
        ("loss", {"loss": 1.0}, "print: loss is given but format does not name it"),
        ("{x[0]}", {"x": 1.0}, "print: format has {x[0]}, a part of a tensor; pass it by a name of its own"),
        ("{x.T}", {"x": 1.0}, "print: format has {x.T}, a part of a tensor; pass it by a name of its own"),
        ("{x}", {"x": [1.0]}, "print: x is a list, neither a tensor nor a number"),
    ],
)
def test_a_call_is_rejected(format: str, given: dict[str, Any], message: str) -> None:  # noqa: A002  # as in `str.format`
    with pytest.raises(DTypeError) as caught:
        tg.debug.print(format, **given)

    assert str(caught.value) == message


@pytest.mark.parametrize(("format", "found"), [(3, "an int"), (tg.ones((2,)), "a Tensor"), (b"x", "a bytes")])
def test_a_format_that_is_no_string_is_rejected(format: Any, found: str) -> None:  # noqa: A002  # as in `str.format`
    with pytest.raises(DTypeError) as caught:
        tg.debug.print(format)

    assert str(caught.value) == f'print: format is {found}, not a string; write print("{{x}}", x=x) to print x'


def test_arguments_without_a_name_are_rejected() -> None:
    x: Any = 1.0  # Any: to mypy no argument after the format may be without a name

    for given, found in (((x,), "1 argument given"), ((x, x), "2 arguments given")):
        with pytest.raises(DTypeError) as caught:
            tg.debug.print("x {}", *given)
        assert str(caught.value) == f"print: {found} without a name; write {{x}}, and pass x=x"


@pytest.mark.parametrize("format", ["{x", "x}", "{x:q}", "{x!z}"])
def test_an_invalid_format_is_quoted_with_the_words_of_python(format: str) -> None:  # noqa: A002  # as in `str.format`
    with pytest.raises(ValueError) as of_python:  # noqa: PT011  # its words are what is compared
        format.format(x=1.0)
    with pytest.raises(ValueError, match=r"^print: ") as caught:
        tg.debug.print(format, x=1.0)

    words = str(of_python.value)
    ending = 'write "{x}" or "{x:.3f}", and double a brace that is text'
    assert str(caught.value) == f"print: format {format!r}: {words[0].lower()}{words[1:]}; {ending}"


def test_an_invalid_format_is_reported_while_a_step_is_traced() -> None:
    pytest.importorskip("jax", reason="the extra `jax` brings it")

    for step in (tg.debug.print, tg.jit(lambda _, x: tg.debug.print("{x:q}", x=x))):
        with pytest.raises(ValueError, match="unknown format code 'q'"):
            step("{x:q}", x=tg.ones((2,)))

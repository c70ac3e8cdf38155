"""The kinds of options by their annotations: each op with an option of another kind names what it must be."""

from typing import Any

import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError
from tapegrad.errors.kinds import described, kinds_of

X: Any = tg.ones((2, 3))
IMAGE, KERNEL = tg.ones((1, 1, 5, 5)), tg.ones((1, 1, 3, 3))
OPS: Any = tg


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        ("int", ("an int",)),
        ("Int | None", ("an int",)),
        ("Sizes | Int", ("an int", "a tuple of ints")),
        ("int | tuple[int, int] | tuple[tuple[int, int], ...]", ("an int", "a tuple of ints")),
        ("float | None", ("a number",)),
        ("int | tuple[int] | Literal['same', 'valid']", ("an int", "a tuple of ints", "'same'", "'valid'")),
        ("Reduction", ("'mean'", "'sum'", "'none'")),
        ("Tensor[Any, T, D] | Number", ()),
        ("RNG", ()),
    ],
)
def test_an_annotation_says_what_an_option_may_be(annotation: str, kinds: tuple[str, ...]) -> None:
    assert kinds_of(annotation) == kinds


def test_a_value_is_shown_as_it_is_written_if_it_is_short() -> None:
    assert [described(one) for one in (None, 1.5, "a", (1, "b"), [2])] == ["None", "1.5", "'a'", "(1, 'b')", "[2]"]
    assert [described(one) for one in ("a" * 50, {1: 2}, X, len)] == [
        *("a str", "a dict", "a Tensor", "a builtin_function_or_method"),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OPS.topk(X, "a"), "topk: k is 'a' but an int is expected"),
        (lambda: X.sum(axis=(0, "a")), "sum: axis is (0, 'a') but an int or a tuple of ints is expected"),
        (
            lambda: OPS.conv2d(IMAGE, KERNEL, padding=1.5),
            "conv2d: padding is 1.5 but an int, a tuple of ints, 'same' or 'valid' is expected",
        ),
        (lambda: OPS.gelu(X, approximate=3), "gelu: approximate is 3 but 'none' or 'tanh' is expected"),
    ],
)
def test_an_option_of_another_kind_is_rejected(call: Any, message: str) -> None:
    with pytest.raises(DTypeError) as rejected:
        call()

    assert str(rejected.value) == message


def test_another_word_for_padding_is_a_value_error_as_for_other_options() -> None:
    with pytest.raises(
        ValueError, match=r"^conv2d: padding is 'foo' but an int, .* 'same' or 'valid' is expected$"
    ) as (rejected):
        OPS.conv2d(IMAGE, KERNEL, padding="foo")

    assert not isinstance(rejected.value, tg.errors.TapegradError)

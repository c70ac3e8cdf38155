"""Checks for numeric options, with uniform error messages."""

from __future__ import annotations

import os
from math import isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from tapegrad.errors import DTypeError, messages
from tapegrad.errors.kinds import described, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def check_number(call: str, option: str, number: Any) -> None:
    """Check that an option is a number and not NaN.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is NaN.
    """
    _check_kind(call, option, number)
    if isinstance(number, Real) and isnan(number):
        message = f"{call}: {option} is nan but a number is expected"
        raise ValueError(message)


def check_at_least_zero(call: str, option: str, number: Any) -> None:
    """Check that an option is a number of at least 0.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is negative or NaN.
    """
    check_range(call, option, number, "at least 0", lambda number: number >= 0)


def check_fraction(call: str, option: str, number: Any) -> None:
    """Check that an option is a number from 0 to below 1, such as the decay rate of a moving average.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is negative or NaN, or at least 1.
    """
    check_range(call, option, number, "from 0 to below 1", lambda number: 0 <= number < 1)


def check_probability(call: str, option: str, number: Any) -> None:
    """Check that an option is a number from 0 to 1.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is negative or NaN, or above 1.
    """
    check_range(call, option, number, "from 0 to 1", lambda number: 0 <= number <= 1)


def check_range(call: str, option: str, number: Any, said: str, fits: Callable[[Any], bool]) -> None:
    """Check that an option is a number in a range, which `fits` tests and `said` describes.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is outside the range.
    """
    _check_kind(call, option, number)
    _check_fit(call, option, number, said, fits=fits(number))


def check_count(call: str, option: str, number: Any, least: int = 1) -> None:
    """Check that an option is an integer of at least `least`.

    Raises:
        DTypeError: It is not an integer.
        ValueError: It is too small.
    """
    check_whole(call, option, number)
    _check_fit(call, option, number, f"at least {least}", fits=number >= least)


def check_function(call: str, option: str, given: object) -> None:
    """Check that an argument can be called.

    Raises:
        DTypeError: It cannot.
    """
    if not callable(given):
        message = f"{call}: {option} is {messages.with_article(type(given).__name__)}, not a function"
        raise DTypeError(message)


def check_flag(call: str, option: str, given: object) -> None:
    """Check that an option is a bool.

    Raises:
        DTypeError: It is not.
    """
    try:
        as_flag(given, option)
    except DTypeError as error:
        raise error.with_message(f"{call}: {error}") from None


def as_flag(given: Any, option: str) -> bool:
    """Return an option as a bool; the message does not name the function.

    Raises:
        DTypeError: It is neither a bool nor one of NumPy.
    """
    if given is True or given is False:
        return given
    if str(getattr(given, "dtype", "")) != "bool":
        message = f"{option} is {messages.with_article(type(given).__name__)} but a bool is expected"
        raise DTypeError(message)
    return bool(given)


def check_scalar(call: str, option: str, given: Any) -> None:
    """Check that an option is a number or a bool, as the elements of a tensor are.

    Raises:
        DTypeError: It is not, or it is complex.
    """
    if isinstance(given, Real) or (getattr(given, "shape", None) == () and "complex" not in str(given.dtype)):
        return
    message = f"{call}: {option} is {given!r} but a number is expected"
    raise DTypeError(message)


def check_word(call: str, option: str, given: object, words: Collection[str]) -> None:
    """Check that an option is one of several strings.

    Raises:
        DTypeError: It is not a string.
        ValueError: It is another string.
    """
    if given in words:
        return
    message = f"{call}: {wrong_kind(option, described(given), tuple(map(repr, words)))}"
    raise ValueError(message) if isinstance(given, str) else DTypeError(message)


def check_path(call: str, path: object) -> None:
    """Check that an argument can be the path of a file.

    Raises:
        DTypeError: It cannot.
    """
    if not isinstance(path, str | os.PathLike):
        message = f"{call}: path is {messages.with_article(type(path).__name__)} but a string or a Path is expected"
        raise DTypeError(message)


def check_whole(call: str, option: str, number: Any) -> None:
    """Check that an option is an integer.

    Raises:
        DTypeError: It is not an integer.
    """
    if not isinstance(number, Integral) or isinstance(number, bool):
        message = f"{call}: {option} is {number!r} but an int is expected"
        raise DTypeError(message)


def _check_kind(call: str, option: str, number: Any) -> None:
    # An array or a tensor of shape () is a number, too.
    is_number = isinstance(number, Real) or getattr(number, "shape", None) == ()
    if not is_number or str(getattr(number, "dtype", type(number).__name__)) == "bool":
        shown = f"a {type(number).__name__}" if callable(number) else repr(number)
        message = f"{call}: {option} is {shown} but a number is expected"
        raise DTypeError(message)


def _check_fit(call: str, option: str, number: Any, said: str, *, fits: bool) -> None:
    if not fits:
        message = f"{call}: {option} is {number} but must be {said}"
        raise ValueError(message)

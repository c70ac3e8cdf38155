"""Explain why an op failed: by its shape rule, and by the types of its arguments."""

from __future__ import annotations

import sys
from contextlib import suppress
from math import prod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.registry import IMPLEMENTATIONS, NUMBERS, Op, key_of, shape_of, signature_of
from tapegrad.errors import DTypeError, ShapeError, SingularError, TapeError, TapegradError, messages
from tapegrad.errors.diagram import AxisTracker, annotate_axes
from tapegrad.errors.kinds import INT, INTS, NUMBER, STRING, described, kinds_of, wrong_kind
from tapegrad.errors.other_names import parameters_by_kind, unexpected, unnamed
from tapegrad.sizes import is_int, show
from tapegrad.sizes.symbols import is_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoNumbersError(Exception):
    """The values of a tensor were requested where it has none; for an op, `answer` replaces the result."""

    def answer(self, entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a replacement for the result of an op that could not be computed."""
        raise NotImplementedError


EXPLAINED = (
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    FloatingPointError,
    TapeError,
    NoNumbersError,
)


_LARGEST_SIZE = sys.maxsize // 16  # elements, of any dtype
_OWN_ERRORS = (ShapeError, DTypeError, TapeError, SingularError, IndexError)


def explain(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """Raise the error with the rule's explanation; for missing values or an underflow, return a result instead."""
    if isinstance(error, NoNumbersError):
        return _answered(entry, args, kwargs, error)
    if isinstance(error, FloatingPointError):
        return _without_underflow(entry, args, kwargs, error)
    explained = explained_error(entry, args, kwargs, error)
    try:
        if explained is error:
            raise error
        raise explained from None
    finally:
        del explained, error  # a frame that refers to its own error is a cycle and keeps the operands alive


def _answered(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], missing: NoNumbersError) -> Any:
    try:
        return missing.answer(entry, args, kwargs)
    except ShapeError as error:
        raise _named(entry, error, args, kwargs) from None


def _without_underflow(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: FloatingPointError) -> Any:
    """Call an op again if underflow raised an error: 0 is the intended result.

    So the call itself needs no `errstate` (benchmarks/devices.py, "no errstate").
    """
    if np.geterr()["under"] != "raise":
        raise error from None
    with np.errstate(under="ignore"):
        return IMPLEMENTATIONS[key_of(entry.function)](*args, **kwargs)


def explained_error(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    """Return the error to raise instead of one that NumPy or the rule raised; the same one if it says enough."""
    kinds = _with_kinds(entry, error, args, kwargs)
    if kinds is not error:
        return _named(entry, kinds, args, kwargs)
    call = _with_own_argument(entry, args, kwargs, error)
    if call is not error:
        return call
    if getattr(error, "op", ""):  # raised by an op inside, with sizes that the caller of this op has not passed
        return _rejection(entry, args, kwargs) or error
    if isinstance(error, DTypeError) and _has_no_shape(entry, args, kwargs):
        return _named(entry, error, args, kwargs)
    try:
        sizes = entry.sizes(*args, **kwargs)
    except (ShapeError, DTypeError) as by_rule:
        return _named(entry, by_rule, args, kwargs)
    except (AttributeError, IndexError, TypeError, ValueError):
        return error  # the call does not match the signature
    except OverflowError:
        sizes = ()  # more results than can be counted
    if isinstance(error, _OWN_ERRORS):
        return _named(entry, error, args, kwargs)
    if (shape := _overflowing(sizes)) is not None:
        overflow: Exception = ShapeError(f"the result would be {show(shape)}, more than an array can hold")
        return _named(entry, overflow, args, kwargs)
    if isinstance(error, OverflowError):
        overflow = DTypeError(f"a number is too large for its dtype or its place ({error})")
        return _named(entry, overflow, args, kwargs)
    return error


def _with_own_argument(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    """Return an error that names the parameter for PyTorch's or NumPy's name of it, or for one without a name.

    If neither is the mistake, return the same error.
    """
    parameters = signature_of(entry.function).parameters
    message = unexpected(entry.name, kwargs, parameters)
    kinds = parameters_by_kind(parameters.values())
    if kinds is not None and len(args) > len(kinds[0]):
        message = unnamed(entry.name, *kinds)
    return TypeError(message) if message and isinstance(error, TypeError) else error


def _rejection(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """Return the error of an op's rule for a call, or None if the rule accepts the sizes."""
    with suppress(AttributeError, IndexError, OverflowError, TypeError):  # the call does not match the signature
        try:
            entry.sizes(*args, **kwargs)
        except ShapeError as error:
            return _named(entry, error, args, kwargs)
    return None


def _overflowing(sizes: Any) -> Any:
    """Return the shape of a result that exceeds the largest array size, or None; as in NumPy, sizes of 0 count as 1."""
    shapes = sizes if sizes and isinstance(sizes[0], tuple) else (sizes,)
    numbers = [shape for shape in shapes if not any(map(is_symbol, shape))]
    return next((shape for shape in numbers if prod(max(n, 1) for n in shape) > _LARGEST_SIZE), None)


def _named(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return an error that names the op and has the shapes, dtypes and tapes of its arguments."""
    message = str(error)  # a guard under the op has named it already
    message = message if message.startswith(f"{entry.name}: ") else f"{entry.name}: {message}"
    named = error.with_message(message) if isinstance(error, TapegradError) else type(error)(message)
    vars(named)["op"] = entry.name  # an outer op does not change an error that has an op
    if isinstance(named, TapegradError):
        with suppress(Exception):  # no other error may replace the one to be raised
            _attach_facts(named, entry, signature_of(entry.function).bind(*args, **kwargs).arguments)
    return named


def _with_kinds(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return another error if an argument of the wrong type caused the error, otherwise the error itself."""
    is_of_op_inside = getattr(error, "op", "") not in ("", entry.name)
    if (
        is_of_op_inside
        or isinstance(error, ShapeError)
        or type(error) in (AttributeError, DTypeError, TypeError, ValueError)
    ):
        with suppress(TypeError):  # the call does not match the signature
            for other in _of_other_kinds(entry, signature_of(entry.function).bind(*args, **kwargs).arguments):
                return other
    return error


def _has_no_shape(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an argument has the wrong type, so that the rule must not be called with its length."""
    with suppress(TypeError):  # the call does not match the signature
        return any(_of_other_kinds(entry, signature_of(entry.function).bind(*args, **kwargs).arguments))
    return False


def _of_other_kinds(entry: Op, arguments: dict[str, Any]) -> Iterator[Exception]:
    """Yield an error for each argument that is not of the annotated type: a tensor, int or string."""
    for name, value in arguments.items():
        annotation, parameter = entry.function.__annotations__.get(name), signature_of(entry.function).parameters[name]
        kind = messages.with_article(type(value).__name__)
        if value is parameter.default:
            continue
        if name in entry.sequences:
            if not hasattr(value, "__iter__"):
                yield DTypeError(f"{name} is {kind} but a sequence of tensors is expected")
        elif name in entry.operands:
            if not hasattr(value, "shape") and not isinstance(value, NUMBERS):
                may_be_number = str(annotation).endswith("| Number")
                yield DTypeError(
                    messages.no_operand(messages.UNNAMED, kind)
                    if may_be_number
                    else f"{name} is {kind}, not a tensor{messages.tensor_hint(name, kind)}"
                )
        elif annotation == "bool":
            if not isinstance(value, bool) and not hasattr(value, "shape"):
                yield DTypeError(f"{name} is {kind} but a bool is expected")
        else:
            expected = kinds_of(str(annotation))
            is_nested = "tuple[tuple" in str(annotation)  # a pair for each axis
            may_be_list = "list[" in str(annotation) or annotation == "SizesOrList"
            items = tuple(value) if may_be_list and isinstance(value, list) else value
            if expected and not any(_is_of_kind(items, one, is_nested=is_nested) for one in expected):
                message = wrong_kind(name, described(value), expected)
                is_other_word = isinstance(value, str) and any(one.startswith("'") for one in expected)
                yield ValueError(message) if is_other_word else DTypeError(message)


def _is_of_kind(value: Any, kind: str, *, is_nested: bool) -> bool:
    if kind == INT:
        return is_int(value)
    if kind == INTS:
        return isinstance(value, tuple) and all(
            is_int(one) or (is_nested and _is_of_kind(one, kind, is_nested=False)) for one in value
        )
    if kind == NUMBER:
        return isinstance(value, Real) or hasattr(value, "shape")
    return isinstance(value, str) and kind in (STRING, repr(value))


def _attach_facts(error: TapegradError, entry: Op, arguments: dict[str, Any]) -> None:
    """Set the shapes, dtypes and tapes of an op's arguments on an error, and the axes that do not match."""
    given = _operands(entry, arguments)
    error.shapes = {name: tuple(x.shape) for name, x in given.items()}
    error.dtypes = {name: str(x.dtype) for name, x in given.items()}
    error.taped = {name: x.tape.owns for name, x in given.items() if hasattr(x, "tape")}
    if isinstance(error, ShapeError):
        tracker = AxisTracker()
        tracked = {name: tracker.sizes(name, shape) for name, shape in error.shapes.items()}
        with suppress(ShapeError):
            entry.rule(
                **{
                    name: _tracked(name, value, tracked) if name in entry.operands else value
                    for name, value in arguments.items()
                    if name in entry.parameters and not entry.is_left_out(name, value)
                }
            )
        annotate_axes(error, tracker)


def _operands(entry: Op, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the tensor and array arguments of an op by parameter; those of a sequence by `tensors[1]`."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in entry.sequences:
            found |= {f"{name}[{position}]": one for position, one in enumerate(value) if hasattr(one, "shape")}
        elif name in entry.operands and hasattr(value, "shape"):
            found[name] = value
    return found


def _tracked(name: str, value: Any, tracked: dict[str, Any]) -> Any:
    """Return the tracked sizes of an operand, or those of each tensor in a sequence; a number has the shape ()."""
    if f"{name}[0]" in tracked:
        return tuple(tracked.get(f"{name}[{position}]", ()) for position in range(len(value)))
    return tracked.get(name, shape_of(value))

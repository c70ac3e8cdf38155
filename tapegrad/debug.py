"""Debugging aids that also work inside compiled steps."""

from __future__ import annotations

import builtins
from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Any, Never

import numpy as np
from typing_extensions import override

from tapegrad.autograd.tape_repr import counted
from tapegrad.engines import Value
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import substitutions
from tapegrad.tensors import Tensor, described
from tapegrad.tensors.operands import constant, fixed

if TYPE_CHECKING:
    from typing import TypeAlias

    Printable: TypeAlias = Tensor[Any, Any, Any] | Value[Any, Any] | np.ndarray[Any, Any] | np.generic | complex


@public_api
def print(format: str, /, *unnamed: Never, **tensors: Printable) -> None:  # noqa: A002  # as in `str.format`
    """Print the numbers of tensors, also those that a step under `jit` has only when it runs.

    Under `jit`, inside a loop and in a backward pass, each run of the compiled program prints again, in the order of
    the calls. On several devices the order may differ. A segment of `checkpoint` prints once.

    Args:
        format: A format of `str.format` that names every tensor. A specification such as `{loss:.3f}` applies to each
            element.
        unnamed: None: each tensor is passed by the name that `format` has for it.
        tensors: Tensors with or without a tape, the values and gradients of a backward closure, and numbers.

    Raises:
        DTypeError: `format` is no string; a field of it has no name, or names nothing that is given; it does not name
            a tensor that is given; something is given without a name; or something else than a tensor or a number is
            given.
        ValueError: `format` is no valid format, or none for the dtype of a tensor.

    Source:
        JAX 0.10, `jax.debug.print`.

    Examples:
        >>> @tg.jit
        ... def halved(x):
        ...     y = x / 2.0
        ...     tg.debug.print("{y}, in all {total:.2f}", y=y, total=y.sum())
        ...     return y
        >>> y = halved(tg.tensor([1.0, 2.0]))
        [0.5 1. ], in all 1.50
        >>> y = halved(tg.tensor([3.0, 4.0]))
        [1.5 2. ], in all 3.50
    """
    _check_names(format, [*tensors], len(unnamed))
    values = [_value_of(name, value) for name, value in tensors.items()]
    write = partial(_write, format, [*tensors])
    try:
        _formatted(format, [*tensors], [np.zeros(value.shape, value.dtype) for value in values])
    except ValueError as error:
        raise _invalid(format, error) from None
    traced = substitutions.get()
    if traced is None:
        write(*values)
    else:  # of a step under `jit`; constants too are printed at each of its runs
        traced.call_back(write, *values)


def _value_of(name: str, value: Any) -> Any:
    """Return the value of a tensor or of a number."""
    while isinstance(value, Tensor):  # of `Autodiff` the value is a tensor too
        value = value.data
    if isinstance(value, np.ndarray | np.generic) or (isinstance(value, Value) and hasattr(value, "dtype")):
        return value
    if isinstance(value, bool | complex):
        return np.asarray(value)
    if not isinstance(value, int | float):
        message = f"print: {name} is {described(value)}, neither a tensor nor a number"
        raise DTypeError(message)
    like = fixed(np.zeros((), np.float64 if isinstance(value, float) else np.int64))
    return constant(value, like, name, name).data  # under `jit` an argument that is a number is an input


def _check_names(format: str, given: list[str], unnamed: int) -> None:  # noqa: A002  # see `print`
    if not isinstance(format, str):
        kind = messages.with_article(type(format).__name__)
        message = f'print: format is {kind}, not a string; write print("{{x}}", x=x) to print x'
        raise DTypeError(message)
    try:
        fields = [one for part in Formatter().parse(format) for one in _fields(part)]
    except ValueError as error:
        raise _invalid(format, error) from None
    named = {one.partition(".")[0].partition("[")[0] for one in fields}
    if unnamed or any(not name or name.isdecimal() for name in named):
        found = "format has a field without a name"
        if unnamed:
            found = f"{counted(unnamed, 'argument')} given without a name"
        message = f"print: {found}; write {{x}}, and pass x=x"
        raise DTypeError(message)
    for name in sorted(named.difference(given)):
        message = f"print: format names {name}, which is not given; pass {name}="
        raise DTypeError(message)
    for name in given:
        if name not in named:
            message = f"print: {name} is given but format does not name it"
            raise DTypeError(message)
    for part in set(fields) - named:
        message = f"print: format has {{{part}}}, a part of a tensor; pass it by a name of its own"
        raise DTypeError(message)


def _invalid(format: str, error: ValueError) -> ValueError:  # noqa: A002  # see `print`
    words = str(error)[:1].lower() + str(error)[1:]
    message = f'print: format {format!r}: {words}; write "{{x}}" or "{{x:.3f}}", and double a brace that is text'
    return ValueError(message)


def _fields(part: tuple[str, str | None, str | None, str | None]) -> list[str]:
    _, field, specification, _ = part
    nested = [one for _, one, _, _ in Formatter().parse(specification or "") if one is not None]
    return [*([] if field is None else [field]), *nested]


def _write(format: str, names: list[str], *arrays: Any) -> None:  # noqa: A002  # see `print`
    builtins.print(_formatted(format, names, arrays))  # noqa: T201  # its purpose


def _formatted(format: str, names: list[str], arrays: Any) -> str:  # noqa: A002  # see `print`
    return format.format(**{name: _Shown(np.asarray(array)) for name, array in zip(names, arrays, strict=True)})


class _Shown:
    """The numbers of a tensor, to each of which a format specification applies."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    @override
    def __repr__(self) -> str:
        return repr(self._array)

    @override
    def __str__(self) -> str:
        return str(self._array)

    @override
    def __format__(self, specification: str) -> str:
        if not specification:
            return str(self)
        if self._array.ndim == 0:
            return format(self._array.item(), specification)
        of_each: Any = {"all": lambda one: format(one.item(), specification)}  # Any: NumPy's type of it is private
        return np.array2string(self._array, formatter=of_each)

"""In-place elementwise updates of large arrays: one pass over their memory, without temporaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tapegrad.engines.numba.codegen import kernel
from tapegrad.engines.numpy.buffers import can_overwrite
from tapegrad.engines.numpy.large import is_one, one_number
from tapegrad.engines.numpy.program import program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from tapegrad.engines.numpy.program import Program
    from tapegrad.engines.trace import Number, Ref

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def changes(
    function: Callable[..., Any], rows: Sequence[Sequence[Array]], positions: Sequence[int]
) -> list[tuple[Any, ...]] | None:
    """Return the calls that overwrite the arguments of a function with its results, see `Backend.changes`."""
    if not all(can_overwrite(row[position]) for row in rows for position in positions):
        return None
    program, numbers, _ = program_of(function, rows[0])
    if len(program.values) != len(positions):
        return None
    moves = [(value, position) for value, position in zip(program.values, positions, strict=True) if value != position]
    overwritten = dict(moves)
    if len(overwritten) < len(moves) or not all(
        _can_overwrite(program, value, rows[0][position], position) for value, position in moves
    ):
        return None
    calls = []
    for row in rows:
        one = _call(program, overwritten, [row[position] for position in program.arguments], numbers)
        if one is None:
            return None
        calls.append(one)
    return calls


def _can_overwrite(program: Program, value: Ref, array: Array, position: int) -> bool:
    """Return whether a value of a program can overwrite one of its arguments."""
    return value in program.computed and program.computed[value] == array.dtype and position in program.arguments


def _call(
    program: Program, overwritten: Mapping[Ref, int], arrays: Sequence[Array], numbers: Sequence[Number]
) -> tuple[Any, ...] | None:
    if not all(is_one(array) or array.flags.c_contiguous for array in arrays):
        return None
    given = [one_number(array) if is_one(array) else array.reshape(-1) for array in arrays]
    compiled = kernel(program, given, overwritten)
    if compiled is None:
        return None
    operands = *(array if array.ndim else array[()] for array in given), *compiled.converted_numbers(numbers)
    compiled.function(0, *operands)  # compiles it, if needed, before anything is changed
    return compiled.function, arrays[0].size, *operands

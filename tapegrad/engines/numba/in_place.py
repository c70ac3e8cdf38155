"""In-place elementwise updates of large arrays: one pass over their memory, without temporaries.

The call that overwrites arrays keeps the GIL, so no other Python code runs until it is done. The threads that help it
were started before and need no GIL: each waits in its kernel until the call begins, for a millisecond at most.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.numba.codegen import BLOCK_SIZE, kernel
from tapegrad.engines.numpy.buffers import can_overwrite
from tapegrad.engines.numpy.large import is_one, one_number
from tapegrad.engines.numpy.program import program_of
from tapegrad.engines.numpy.threads import start_helpers, threads
from tapegrad.engines.thresholds import KERNEL_PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    for same in _alike(program, rows):
        one = _call(program, overwritten, same, numbers)
        if one is None:
            return None
        calls.append(one)
    return calls


def _alike(program: Program, rows: Sequence[Sequence[Array]]) -> list[list[list[Array]]]:
    """Return the arguments of a program for each set of arrays, all sets together in which none is a single number."""
    found = [[row[position] for position in program.arguments] for row in rows]
    are_whole = [not any(map(is_one, row)) for row in found]
    alone = [[row] for row, is_whole in zip(found, are_whole, strict=True) if not is_whole]
    whole = [*compress(found, are_whole)]
    return [whole, *alone] if whole else alone


def _can_overwrite(program: Program, value: Ref, array: Array, position: int) -> bool:
    """Return whether a value of a program can overwrite one of its arguments."""
    return value in program.computed and program.computed[value] == array.dtype and position in program.arguments


def _call(
    program: Program, overwritten: Mapping[Ref, int], rows: Sequence[Sequence[Array]], numbers: Sequence[Number]
) -> tuple[Any, ...] | None:
    """Return the call that overwrites some sets of arrays, and start the threads that help it."""
    if not all(is_one(array) or array.flags.c_contiguous for row in rows for array in row):
        return None
    given = [one_number(array) if is_one(array) else array.reshape(-1) for array in rows[0]]
    compiled = kernel(program, given, overwritten)
    if compiled is None:
        return None
    sizes = np.array([row[0].size for row in rows])
    ends = np.add.accumulate(-(-sizes // BLOCK_SIZE))
    addresses = np.array([[array.ctypes.data for array in row if not is_one(array)] for row in rows])
    scalars = *(array[()] for array in given if not array.ndim), *compiled.converted_numbers(numbers)
    compiled.function(_no_progress(), sizes, _NO_BLOCKS, addresses, *scalars)  # compiles it before anything is changed
    progress = _no_progress()
    if sizes.sum() >= KERNEL_PARALLEL_MIN_ELEMENTS and threads() > 1:
        helper = kernel(program, given, overwritten, is_helper=True)
        if helper is not None:
            helper.function(np.ones(3, np.int64), sizes, _NO_BLOCKS, addresses, *scalars)
            start_helpers(helper.function, progress, sizes, ends, addresses, *scalars)
    return compiled.function, progress, sizes, ends, addresses, *scalars


def _no_progress() -> Array:
    """Return whether the caller has begun, and the numbers of blocks that were taken and that are done."""
    return np.zeros(3, np.int64)


_NO_BLOCKS: Final = np.zeros(1, np.int64)

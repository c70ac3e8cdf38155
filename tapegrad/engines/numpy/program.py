"""Programs of elementwise functions, run tile by tile, so that intermediate results stay in cache."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from tapegrad.engines.numpy.buffers import BUFFERS
from tapegrad.engines.numpy.large import is_one, one_number
from tapegrad.engines.numpy.threads import run_in_threads, threads
from tapegrad.engines.thresholds import KERNEL_PARALLEL_MIN_ELEMENTS, PROGRAM_PARALLEL_MIN_ELEMENTS
from tapegrad.engines.trace import Ref, Trace, can_write, chosen, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.numba.codegen import Kernel
    from tapegrad.engines.trace import Instruction, Number, TracedValue

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Tile: TypeAlias = "tuple[int | slice, ...]"
Compiler: TypeAlias = "Callable[[Program, Sequence[Array]], Kernel | None]"

_TILE_BYTES: Final = 1 << 20, 1 << 21  # bytes of a tile of all arrays and buffers, at least and at most
_TILE_COUNT: Final = 16  # tiles of an array, if they are between these sizes
_CACHE_LINE_BYTES: Final = 64  # bytes of a cache line, and of the widest vectors
_MAX_PROGRAMS: Final = 256  # a power whose exponent differs in each call has a new program each time
_CHEAP: Final = frozenset(
    {
        chosen,
        np.absolute,
        np.add,
        np.equal,
        np.greater,
        np.less,
        np.maximum,
        np.minimum,
        np.multiply,
        np.negative,
        np.positive,
        np.square,
        np.subtract,
        np.true_divide,
    }
)
_programs: dict[Any, Program] = {}
_lock = Lock()  # only one thread at a time removes the oldest program


class ScheduledInstruction(NamedTuple):
    """A function of values, by index, or of numbers; its result goes into a buffer or is a result of the program."""

    function: Any  # callable
    operands: tuple[Any, ...]
    ref: Ref
    dtype: np.dtype[Any]
    buffer: int | None


class Call(NamedTuple):
    """A function that writes into its last operand, and a getter of its operands from all arrays of a tile."""

    function: Any  # callable
    operands: Callable[[list[Array]], tuple[Array, ...]]


class Program:
    """The traced instructions that some values need, in order; values whose lifetimes do not overlap share a buffer.

    Its numbers are stored in slots, and passed when it runs.
    """

    __slots__ = (
        "_calls",
        "_constants",
        "_traced",
        "arguments",
        "buffers",
        "computed",
        "instructions",
        "kernels",
        "values",
    )

    def __init__(self, traced: Sequence[Instruction], values: Sequence[Ref]) -> None:
        self.values = values
        self.computed = {one: traced[one].dtype for one in self.values if traced[one].function is not None}
        needed = needed_for(traced, self.values)
        self.arguments = [ref for ref in needed if traced[ref].function is None]
        self.buffers: list[np.dtype[Any]] = []
        self.instructions = self._scheduled(traced, [ref for ref in needed if traced[ref].function is not None])
        self._calls: list[Call] = []
        self._constants: list[tuple[ScheduledInstruction, Any]] = []  # of the numbers: the instruction and the operand
        self._traced = traced
        self.kernels: dict[Any, Kernel | None] = {}  # by the key that `compiler` uses

    @property
    def is_cheap(self) -> bool:
        """Whether recomputing it takes hardly longer than writing its result to memory and reading it."""
        return all(one.function in _CHEAP for one in self.instructions)

    def run(
        self,
        arrays: Sequence[Any],
        numbers: Sequence[Number],
        shape: tuple[int, ...],
        compiler: Compiler | None = None,
    ) -> list[Array]:
        """Return the values for some arguments.

        Args:
            arrays: The arguments of the program, in order; they broadcast to `shape`.
            numbers: Those of the trace.
            shape: Of the values.
            compiler: Returns an equivalent kernel for arrays of rank 1 and 0, or None.
        """
        given = [one_number(array) if is_one(array) else _broadcast_to(array, shape) for array in arrays]
        results = {ref: BUFFERS.empty(shape, dtype) for ref, dtype in self.computed.items()}
        if results:
            self._fill([*results.values()], given, numbers, compiler)
        arguments = dict(zip(self.arguments, arrays, strict=True))
        return [results[ref] if ref in results else _broadcast_to(arguments[ref], shape) for ref in self.values]

    def _fill(
        self, results: list[Array], given: list[Array], numbers: Sequence[Number], compiler: Compiler | None
    ) -> None:
        size, kernel = results[0].size, None
        if all(array.flags.c_contiguous for array in given):
            given = [array.reshape(-1) if array.ndim else array for array in given]
            results = [result.reshape(-1) for result in results]
            kernel = compiler(self, given) if compiler else None
        if kernel is None:
            self._run_tiles(given, results, numbers)
        else:
            work = partial(kernel.run, given, kernel.converted_numbers(numbers), results)
            run_in_threads(work, size, is_worth_it=size >= KERNEL_PARALLEL_MIN_ELEMENTS)

    def _run_tiles(self, given: list[Array], results: list[Array], numbers: Sequence[Number]) -> None:
        self._calls = self._calls or self._resolved()  # not needed by a kernel
        converted_numbers = [
            _as_operand_dtype(number_of(operand, numbers), one, self._traced) for one, operand in self._constants
        ]
        size = results[0].size
        count = self._tile_size([array for array in given if array.ndim], size)
        tiles = tiles_of(results[0].shape, count)

        tile_buffers: list[list[Array]] = []  # at most one for each thread

        def work(first: int, last: int) -> None:
            tile_buffer = (
                tile_buffers.pop()
                if tile_buffers
                else [aligned_buffer(min(count, size), dtype) for dtype in self.buffers]
            )
            for tile in tiles[first:last]:
                parts = [array[tile] if array.ndim else array for array in given]
                self._run_tile(parts, [result[tile] for result in results], tile_buffer, converted_numbers)
            tile_buffers.append(tile_buffer)

        run_in_threads(work, len(tiles), is_worth_it=size >= PROGRAM_PARALLEL_MIN_ELEMENTS)

    def _tile_size(self, given: list[Array], size: int) -> int:
        """Return the number of elements of a tile, which should stay in cache and be worth its calls."""
        dtypes = [*(array.dtype for array in given), *self.computed.values(), *self.buffers]
        each, (least, most) = sum(dtype.itemsize for dtype in dtypes), _TILE_BYTES
        if threads() > 1:
            most *= 2  # so that threads wait for each other more rarely
        return max(1, min(max(least, size * each // _TILE_COUNT), most) // each)

    def _run_tile(self, given: list[Array], results: list[Array], tile_buffer: list[Array], numbers: list[Any]) -> None:
        shape, size = results[0].shape, results[0].size
        if tile_buffer and tile_buffer[0].shape != shape:
            tile_buffer = [buffer[:size].reshape(shape) for buffer in tile_buffer]
        arrays = [*given, *results, *tile_buffer, *numbers]
        for function, operands in self._calls:
            function(*operands(arrays))

    def _scheduled(self, traced: Sequence[Instruction], refs: Sequence[Ref]) -> list[ScheduledInstruction]:
        """Assign each result a buffer, which is free again after its last reader."""
        last_read = {one: ref for ref in refs for one in traced[ref].operands if isinstance(one, Ref)}
        buffers_in_use: dict[Ref, int] = {}
        free: list[int] = []
        arranged = []
        for ref in refs:
            function, operands, dtype, _ = traced[ref]
            read = {one for one in operands if isinstance(one, Ref) and last_read[one] == ref}
            done = [buffers_in_use.pop(one) for one in read & buffers_in_use.keys()]
            can_reuse = can_write(function)
            if can_reuse:
                free += done
            buffer = None if ref in self.computed else self._buffer(dtype, free)
            if not can_reuse:
                free += done
            if buffer is not None:
                buffers_in_use[ref] = buffer
            arranged.append(ScheduledInstruction(function, operands, ref, dtype, buffer))
        return arranged

    def _resolved(self) -> list[Call]:
        """Resolve the operands of each instruction: among arguments, results, buffers and numbers."""
        indices = {ref: index for index, ref in enumerate((*self.arguments, *self.computed))}
        first = len(indices)
        indices |= {one.ref: first + one.buffer for one in self.instructions if one.buffer is not None}
        first += len(self.buffers)
        linked: list[Call] = []
        numbers: list[tuple[ScheduledInstruction, Any]] = []
        for one in self.instructions:
            refs = []
            for operand in one.operands:
                if isinstance(operand, Ref):
                    refs.append(indices[operand])
                else:
                    refs.append(first + len(numbers))
                    numbers.append((one, operand))
            linked.append(Call(_with_out(one.function), itemgetter(*refs, indices[one.ref])))
        self._constants = numbers  # assigned once, and before the calls: another thread may do the same
        return linked

    def _buffer(self, dtype: np.dtype[Any], free: list[int]) -> int:
        for buffer in reversed(free):
            if self.buffers[buffer] == dtype:
                free.remove(buffer)
                return buffer
        self.buffers.append(dtype)
        return len(self.buffers) - 1


def _broadcast_to(array: Array, shape: tuple[int, ...]) -> Array:
    return array if array.shape == shape else np.broadcast_to(array, shape)


def program(values: Sequence[TracedValue]) -> Program:
    """Return the program of some values of one trace; traces that differ only in their numbers share it."""
    trace, refs = values[0].trace, tuple(value.ref for value in values)
    key = (refs, trace.key)
    found = _programs.get(key)
    if found is None:
        with _lock:
            if len(_programs) >= _MAX_PROGRAMS:
                del _programs[next(iter(_programs))]
            found = _programs[key] = Program(trace.instructions, refs)
    return found


def computed(
    function: Callable[..., Any], rows: Sequence[Sequence[Array]], compiler: Compiler | None = None
) -> list[Any]:
    """Return the results of an elementwise function for sets of arrays, each of one shape: one result or a tuple."""
    program, numbers, is_tuple = program_of(function, rows[0])
    each = [
        program.run([values[ref] for ref in program.arguments], numbers, values[0].shape, compiler) for values in rows
    ]
    return [tuple(results) if is_tuple else results[0] for results in each]


def program_of(function: Callable[..., Any], values: Sequence[Array]) -> tuple[Program, list[Number], bool]:
    """Return the program of an elementwise function for such arrays, its numbers, and whether it returns a tuple.

    Its arguments have the order of the arrays.
    """
    trace = Trace(values[0].shape)
    with np.errstate(all="ignore"):  # placeholder numbers may overflow
        found = function(*(trace.argument(value.dtype) for value in values))
        is_tuple = isinstance(found, tuple)
        return program(found if is_tuple else [found]), trace.numbers, is_tuple


def aligned_buffer(size: int, dtype: np.dtype[Any]) -> Array:
    """Return an uninitialized array aligned to a cache line (`benchmarks/devices.py`, "an aligned buffer")."""
    memory = BUFFERS.empty((size * dtype.itemsize + _CACHE_LINE_BYTES,), np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE_BYTES
    return memory[first : first + size * dtype.itemsize].view(dtype)


def needed_for(traced: Sequence[Instruction], refs: Sequence[Ref]) -> list[Ref]:
    """Return in order the instructions that some values depend on."""
    needed = {*refs}
    for ref in range(len(traced) - 1, -1, -1):
        if ref in needed:
            needed.update(one for one in traced[ref].operands if isinstance(one, Ref))
    return sorted(needed)


def _with_out(function: Any) -> Any:
    """Return a function that writes the result of another into its last operand."""
    if not can_write(function):
        return lambda *operands: np.copyto(operands[-1], function(*operands[:-1]))
    if function in (np.maximum, np.minimum):  # which take `out` only by name
        return lambda *operands: function(*operands[:-1], out=operands[-1])
    return function


def _as_operand_dtype(number: Any, one: ScheduledInstruction, traced: Sequence[Instruction]) -> Any:
    """Return a number as an array of the dtype that it has beside floats; NumPy would convert it at each call."""
    kinds = {traced[operand].dtype for operand in one.operands if isinstance(operand, Ref)}
    is_like_them = isinstance(one.function, np.ufunc) and type(number) in (int, float) and len(kinds) == 1
    return np.asarray(number, kinds.pop()) if is_like_them and {*"efdg"} >= {kind.char for kind in kinds} else number


def tiles_of(shape: tuple[int, ...], count: int) -> list[Tile]:
    """Cut an array into tiles of at most `count` elements: rows of the first axis whose rows are small enough."""
    axis = next(axis for axis in range(len(shape)) if prod(shape[axis + 1 :]) <= count)
    rows = max(1, count // max(1, prod(shape[axis + 1 :])))
    return [
        (*index, slice(start, start + rows))
        for index in product(*map(range, shape[:axis]))
        for start in range(0, shape[axis], rows)
    ]

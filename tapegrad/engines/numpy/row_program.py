"""Programs of formulas over rows: the instructions for some rows, and which of them can share memory."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.numpy.large import ones
from tapegrad.engines.numpy.program import needed_for
from tapegrad.engines.rows import Rows
from tapegrad.engines.trace import Ref, Trace, TracedValue, can_write, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tapegrad.engines.trace import Extent

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Signature: TypeAlias = "tuple[tuple[Extent, np.dtype[Any]], ...]"

_BLAS_MAX_SIZE: Final = 1 << 14  # of longer rows NumPy's pairwise sum is more exact than BLAS's sequential one
_SAFE_EXPONENT: Final = 16.0  # an exponent up to which a sum of powers does not overflow

_programs: dict[Any, RowProgram] = {}
_tracing = Lock()


def row_sum(x: Array) -> Any:
    """Add up rows of a matrix."""
    if x.shape[1] <= _BLAS_MAX_SIZE:  # BLAS (benchmarks/devices.py, "rows by BLAS")
        return np.vecdot(x, ones(x.shape[1], x.dtype))[:, None]
    return np.add.reduce(x, axis=1, keepdims=True)


def row_dot(x: Array, y: Array) -> Any:
    """Add up the products of rows of two matrices, or of one with a row."""
    if x.shape[-1] <= _BLAS_MAX_SIZE:
        return np.vecdot(x, y)[:, None]
    return np.add.reduce(x * y, axis=1, keepdims=True)


def row_max(x: Array) -> Any:
    """Return the maximum of each row of a matrix."""
    return np.maximum.reduce(x, axis=1, keepdims=True)


def total(x: Array) -> Any:
    """Add up the rows of a matrix, element by element."""
    return np.add.reduce(x, axis=0)


def scaled_exp(x: Array, out: Array | None = None, axis: Any = 1) -> Array:
    """Compute `e ** x`, divided by a constant for each row if it could overflow or underflow otherwise."""
    if (
        np.maximum.reduce(x, axis=None) <= _SAFE_EXPONENT
        and np.minimum.reduce(x.take(0, axis), axis=None) >= -_SAFE_EXPONENT
    ):
        return np.exp(x, out=out)  # the sum of each row is from e ** -16 to its size times e ** 16
    shifted = np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=out)
    return np.exp(shifted, out=shifted)


class TracedRows(Rows):
    """The operations of a formula over rows, recorded on a trace."""

    def __init__(self, share: TracedValue) -> None:
        self._share = share  # one over the number of elements of a row

    @override
    def exp(self, x: Any) -> Any:
        return x.trace.record(np.exp, x)

    @override
    def log(self, x: Any) -> Any:
        return x.trace.record(np.log, x)

    @override
    def sqrt(self, x: Any) -> Any:
        return x.trace.record(np.sqrt, x)

    @override
    def sum(self, x: Any) -> Any:
        traced = x.trace.instructions
        function, operands, _, _ = traced[x.ref]
        factors = [one for one in operands if isinstance(one, Ref) and traced[one].extent in ("element", "column")]
        if function is np.multiply and len(factors) == 2:
            return x.trace.reduce(row_dot, *(TracedValue(x.trace, one, x.dtype) for one in factors), extent="row")
        return x.trace.reduce(row_sum, x, extent="row")

    @override
    def mean(self, x: Any) -> Any:
        return self.sum(x) * self._share

    @override
    def max(self, x: Any) -> Any:
        return x.trace.reduce(row_max, x, extent="row")

    @override
    def scaled_exp(self, x: Any) -> Any:
        return x.trace.reduce(scaled_exp, x, extent="element")

    @override
    def total(self, x: Any) -> Any:
        return x.trace.reduce(total, x, extent="column")


class _Instruction(NamedTuple):
    """A function of values, by index; its result goes into the result or the buffer with a number, or a new array."""

    function: Any  # callable
    operands: tuple[int, ...]
    ref: Ref
    target: int | None


class Origin(NamedTuple):
    """What a program was traced from: a formula, the extents and dtypes of its values, and its options."""

    formula: Callable[..., Any]
    signature: Signature
    options: Mapping[str, Any]


class RowProgram:
    """The instructions of a formula over rows; intermediate results whose lifetimes do not overlap share memory."""

    def __init__(self, trace: Trace, results: Sequence[TracedValue], *, is_tuple: bool, given: Origin) -> None:
        self.given = given
        self.traced = trace.instructions
        self.results = [one.ref for one in results]
        self.is_tuple = is_tuple
        self.numbers = trace.numbers
        self.order = [ref for ref in needed_for(self.traced, self.results) if self.traced[ref].function is not None]
        self.buffers = 0
        self.constants: list[Any] = []  # the numbers of the formula, by the order in which steps use them
        self.kernels: dict[Any, Any] = {}  # compiled kernels, by whether the last argument is free
        self._last_read = {one: ref for ref in self.order for one in self._operands(ref)}
        self._targets = self._assign_memory()
        self._instructions = [self._instruction(ref) for ref in self.order]

    def can_overwrite(self, argument: int) -> bool:
        """Return whether no instruction reads an argument after one has written to the memory of the first result."""
        first = min((ref for ref, target in self._targets.items() if target == 0), default=Ref(-1))
        last = self._last_read.get(Ref(argument), -1)
        return last < first or (last == first and can_write(self.traced[first].function))

    def run(self, arguments: Sequence[Any], memory: Sequence[Any]) -> list[Any]:
        """Return the results for some rows.

        Args:
            arguments: The values, and one over the number of elements of a row.
            memory: For the results, None for a new array, and the buffers.
        """
        values = [*arguments, *[None] * (len(self.traced) - len(arguments)), *self.constants]
        for function, operands, ref, target in self._instructions:
            given = [values[one] for one in operands]
            values[ref] = function(*given) if target is None else function(*given, out=memory[target])
        return [values[ref] for ref in self.results]

    def _operands(self, ref: Ref) -> list[Ref]:
        return [one for one in self.traced[ref].operands if isinstance(one, Ref)]

    def _instruction(self, ref: Ref) -> _Instruction:
        function, operands, _, _ = self.traced[ref]
        indices: list[int] = []
        for one in operands:
            if isinstance(one, Ref):
                indices.append(one)
            else:
                indices.append(len(self.traced) + len(self.constants))
                self.constants.append(number_of(one, self.numbers))
        return _Instruction(function, tuple(indices), ref, self._targets.get(ref))

    def _assign_memory(self) -> dict[Ref, int]:
        """Return which memory each instruction writes to: results have the first numbers, buffers the next."""
        targets: dict[Ref, int] = {}
        for number, result in enumerate(self.results):
            ref: Ref | None = result
            # The first result may overwrite the last value, so nothing may be written there while that is read.
            first = 0 if number else self._last_read.get(Ref(len(self.given.signature) - 1), 0)
            while ref is not None and ref >= first and self._writes(ref) and ref not in targets:
                targets[ref] = number
                ref = next((one for one in self._overwritable(ref) if one not in self.results), None)
        buffers_in_use: dict[Ref, int] = {}
        free: list[int] = []
        for ref in self.order:
            free += [buffers_in_use.pop(one) for one in self._overwritable(ref) if one in buffers_in_use]
            if self._writes(ref) and ref not in targets:
                if not free:
                    free.append(len(self.results) + self.buffers)
                    self.buffers += 1
                buffers_in_use[ref] = targets[ref] = free.pop()
            free += [
                buffers_in_use.pop(one)
                for one in self._operands(ref)
                if one in buffers_in_use and self._last_read[one] == ref
            ]
        return targets

    def _writes(self, ref: Ref) -> bool:
        """Return whether an instruction writes elements into given memory."""
        one = self.traced[ref]
        return one.extent == "element" and (can_write(one.function) or one.function is scaled_exp)

    def _overwritable(self, ref: Ref) -> list[Ref]:
        """Return the operands whose memory an instruction may overwrite, because it is the last to read them."""
        one = self.traced[ref]
        if not (self._writes(ref) and can_write(one.function)):
            return []
        return [
            operand
            for operand in dict.fromkeys(self._operands(ref))
            if self._last_read[operand] == ref
            and self.traced[operand].function is not None
            and self._writes(operand)
            and self.traced[operand].dtype == one.dtype
        ]


def traced(
    formula: Callable[..., Any],
    signature: Signature,
    options: Mapping[str, Any],
    rows: Callable[[TracedValue], Rows] = TracedRows,
) -> RowProgram:
    """Return the program of a formula for values of some extents and dtypes; it is traced once."""
    key = rows, formula, signature, *options.items()
    program = _programs.get(key)
    if program is None:
        trace = Trace(())
        with np.errstate(all="ignore"):  # placeholder numbers may overflow
            values = [trace.argument(dtype, extent) for extent, dtype in signature]
            found = formula(rows(trace.argument(signature[0][1], "number")), *values, **options)
        results = found if isinstance(found, tuple) else (found,)
        with _tracing:
            program = _programs.setdefault(
                key,
                RowProgram(
                    trace, results, is_tuple=isinstance(found, tuple), given=Origin(formula, signature, options)
                ),
            )
    return program

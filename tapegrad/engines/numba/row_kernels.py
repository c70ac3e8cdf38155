"""Compiled kernels for formulas over rows: a loop over each row for every reduction that waits for another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tapegrad.engines.formulas import erf, sigmoid
from tapegrad.engines.numba.codegen import DTYPE_NAMES, compile_source, convert_number, expression
from tapegrad.engines.numpy.row_program import TracedRows, row_dot, row_max, row_sum, traced
from tapegrad.engines.rows import Rows
from tapegrad.engines.trace import Ref, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.numpy.row_program import RowProgram

_HEADER: Final = """\
import numpy as np

from tapegrad.engines.numba.kernels import add_to_sum, erf32, erf64, exp32, exp64, largest, sigmoid32, sigmoid64
from tapegrad.engines.numba.kernels import tanh32, tanh64, unfused


@unfused
def kernel(rows, columns, {parameters}):
{scratch}    for row in range(rows):
{body}"""
_STORED_FUNCTIONS: Final = frozenset(
    {erf, sigmoid, np.exp, np.tanh}
)  # stored if several loops need them; others are repeated


class RowKernel(NamedTuple):
    """A compiled function that computes a formula for some rows."""

    function: Callable[..., None]
    peaks: list[Ref]  # the arguments whose maxima it computes, from their bits
    constants: list[Any]
    is_in_place: bool  # whether the first result overwrites an argument

    def run(self, arguments: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """Write the results for some rows, and return those that are added up, whose memory is None."""
        columns = arguments[0].shape[1]
        memory = [np.zeros(columns, arguments[0].dtype) if out is None else out for out in outs]
        bits = [arguments[ref].view(f"i{arguments[ref].itemsize}") for ref in self.peaks]
        given = memory[1:] if self.is_in_place else memory
        self.function(len(arguments[0]), columns, *arguments, *bits, *self.constants, *given)
        return [one for one, out in zip(memory, outs, strict=True) if out is None]


class _PlainRows(TracedRows):
    """The operations of a formula over rows, recorded as a kernel computes them."""

    scaled_exp = Rows.scaled_exp


def row_kernel(program: RowProgram, *, is_free: bool) -> RowKernel | None:
    """Return the kernel of a program, whose first result overwrites the last value if that is free.

    Returns None where an instruction has no source text.
    """
    if is_free not in program.kernels:
        overwritten = Ref(len(program.given.signature) - 1) if is_free else None
        source = _Source(traced(*program.given, _PlainRows), overwritten)
        program.kernels[is_free] = source.kernel()
    kernel: RowKernel | None = program.kernels[is_free]
    return kernel


class _Source:
    """The source text of the kernel of a program.

    A row is read in several loops: one for the sums of what the arguments give, one for those that need these sums, and
    so on; the last computes the results. The level of a value is the number of loops that it has to wait for.

    Args:
        program: What to compute.
        overwritten: The argument that the first result overwrites.
    """

    def __init__(self, program: RowProgram, overwritten: Ref | None) -> None:
        self.program = program
        self.traced = program.traced
        self.dtypes: Any = {Ref(number): one.dtype for number, one in enumerate(self.traced)}
        self.overwritten = overwritten
        self.numbers: list[tuple[int, int, Any]] = []  # of the formula: an instruction, an operand and its dtype
        self.sums = [ref for ref in program.order if self.traced[ref].function in (row_sum, row_dot)]
        self.peaks = {
            ref: one for ref in program.order if self.traced[ref].function is row_max for one in self._operands(ref)
        }
        self.levels = {Ref(number): 0 for number in range(len(self.traced))}
        for ref in program.order:
            self.levels[ref] = max(self.levels[one] for one in self._operands(ref)) + (ref in self.sums)
        self.loops = range(max(self.levels.values()) + 1)
        repeated = Counter(ref for level in self.loops for ref in self._elements(level))
        self.stored = [
            ref for ref, count in repeated.items() if count > 1 and self.traced[ref].function in _STORED_FUNCTIONS
        ]

    def kernel(self) -> RowKernel | None:
        """Return the kernel, or None if an instruction has no source text."""
        if not {*self.dtypes.values()} <= DTYPE_NAMES.keys():
            return None
        if any(self.traced[one].function is not None for one in self.peaks.values()):
            return None
        lines = self._lines()
        if None in lines:
            return None
        results = [f"y{number}" for number in range(self.overwritten is not None, len(self.program.results))]
        arguments = [f"x{ref}" for ref, one in enumerate(self.traced) if one.function is None]
        bits = [f"b{ref}" for ref in self.peaks]
        constants = [f"n{number}" for number in range(len(self.numbers))]
        kind = DTYPE_NAMES[self.traced[0].dtype]
        source = _HEADER.format(
            parameters=", ".join([*arguments, *bits, *constants, *results]),
            scratch="".join(f"    s{ref} = np.empty(columns, np.{kind})\n" for ref in self.stored),
            body="".join(f"        {line}\n" for line in lines),
        )
        numbers = [
            convert_number(number_of(self.traced[ref].operands[position], self.program.numbers), dtype)
            for ref, position, dtype in self.numbers
        ]
        return RowKernel(compile_source(source), [*self.peaks.values()], numbers, self.overwritten is not None)

    def _lines(self) -> list[str | None]:
        """Return the lines that compute one row; None is an instruction without source text."""
        kind = DTYPE_NAMES[self.traced[0].dtype]
        lines: list[str | None] = []
        for ref, one in enumerate(self.traced):
            if one.function is None and one.extent in ("row", "number"):
                lines.append(f"v{ref} = x{ref}" + ("[row, 0]" if one.extent == "row" else ""))
        lines += [f"v{ref} = largest(b{ref}, row)" for ref in self.peaks]
        for level in self.loops:
            lines += [
                self._line(ref)
                for ref in self.program.order
                if self.levels[ref] == level
                and self.traced[ref].extent in ("row", "number")
                and ref not in self.sums
                and ref not in self.peaks
            ]
            sums = [ref for ref in self.sums if self.levels[ref] == level + 1]
            lines += [f"v{ref} = np.{kind}(0)" for ref in sums]
            elements = self._elements(level)
            if elements:  # results that have one number for each row need no last loop
                lines.append("for column in range(columns):")
            for ref in elements:
                lines += self._element_lines(ref, level)
            for ref in sums:
                term = " * ".join(f"v{one}" for one in self._operands(ref))
                lines.append(f"    v{ref} = add_to_sum(v{ref}, {term})")
        for number, ref in enumerate(self.program.results):
            out = f"x{self.overwritten}" if number == 0 and self.overwritten is not None else f"y{number}"
            if self.traced[ref].extent == "element":
                lines.append(f"    {out}[row, column] = v{ref}")
            elif self.traced[ref].extent == "column":
                lines.append(f"    {out}[column] += v{self._operands(ref)[0]}")
        lines += [
            f"y{number}[row, 0] = v{ref}"
            for number, ref in enumerate(self.program.results)
            if self.traced[ref].extent == "row"
        ]
        return lines

    def _element_lines(self, ref: Ref, level: int) -> list[str | None]:
        """Return the lines that compute an element of a value in the loop of a level, or read it from memory."""
        one = self.traced[ref]
        if one.function is None:
            return [f"    v{ref} = x{ref}[{'column' if one.extent == 'column' else 'row, column'}]"]
        if ref in self.stored and any(ref in self._elements(before) for before in range(level)):
            return [f"    v{ref} = s{ref}[column]"]
        line = self._line(ref)
        return [line and f"    {line}", *([f"    s{ref}[column] = v{ref}"] if ref in self.stored else [])]

    def _line(self, ref: Ref) -> str | None:
        one = self.traced[ref]
        if one.function is np.log and one.extent == "row":
            return f"v{ref} = np.log(v{self._operands(ref)[0]})"
        text = expression(ref, one, self.dtypes, self.numbers)
        return None if text is None else f"v{ref} = np.{DTYPE_NAMES[one.dtype]}({text})"

    def _operands(self, ref: Ref) -> list[Ref]:
        return [one for one in self.traced[ref].operands if isinstance(one, Ref)]

    def _elements(self, level: int) -> list[Ref]:
        """Return in order the values of which the loop of a level computes or reads an element."""
        ends = [ref for ref in self.sums if self.levels[ref] == level + 1]
        if level == self.loops[-1]:
            ends += [ref for ref in self.program.results if self.traced[ref].extent != "row"]
        needed: set[Ref] = set()
        for ref in ends:
            if self.traced[ref].extent == "element":
                needed.add(ref)
            ends += [one for one in self._operands(ref) if self.traced[one].extent in ("element", "column")]
        return sorted(needed | {ref for ref in ends if self.traced[ref].function is None})

"""Compiled kernels for elementwise programs: one loop over the elements, generated as source text for Numba."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tapegrad.engines.formulas import erf, power, sigmoid
from tapegrad.engines.numba import kernel_cache
from tapegrad.engines.trace import Ref, chosen, converted_to, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tapegrad.engines.numpy.program import Program, ScheduledInstruction
    from tapegrad.engines.trace import Instruction

# A program with any other function runs in NumPy.
_TEMPLATES: Final[dict[Any, str]] = {
    np.absolute: "abs({0})",
    np.add: "{0} + {1}",
    np.equal: "{0} == {1}",
    np.exp: "exp{bits}({0})",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.logical_and: "{0} and {1}",
    np.logical_not: "not {0}",
    np.logical_or: "{0} or {1}",
    np.maximum: "{0} if {0} > {1} or {0} != {0} else {1}",
    np.minimum: "{0} if {0} < {1} or {0} != {0} else {1}",
    np.multiply: "{0} * {1}",
    np.negative: "-{0}",
    np.not_equal: "{0} != {1}",
    np.positive: "{0}",
    np.reciprocal: "{dtype}(1) / {0}",
    np.sqrt: "np.sqrt({0})",
    np.square: "{0} * {0}",
    np.subtract: "{0} - {1}",
    np.tanh: "tanh{bits}({0})",
    np.true_divide: "{0} / {1}",
    chosen: "{1} if {0} else {2}",
    erf: "erf{bits}({0})",
    sigmoid: "sigmoid{bits}({0})",
}
_POWER_TEMPLATES: Final = {-1: "{dtype}(1) / {0}", 0.5: "np.sqrt({0})", 1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}"}
DTYPE_NAMES: Final = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64", np.dtype(np.bool_): "bool_"}
_HEADER: Final = """\
import numpy as np

from tapegrad.engines.numba.kernels import compiled, erf32, erf64, exp32, exp64
from tapegrad.engines.numba.kernels import sigmoid32, sigmoid64, tanh32, tanh64


@{decorator}
def kernel(count, {parameters}):
    for i in range(count):
"""
# Threads share the work: each takes the next block of elements until none is left, and the caller waits for the blocks
# that others have taken. A helper that the caller does not reach in time computes nothing.
_HEADER_IN_PLACE: Final = """\
import numpy as np
from numba import carray

from tapegrad.engines.numba.kernels import added, at_address, compiled, erf32, erf64, exp32, exp64, with_gil
from tapegrad.engines.numba.kernels import sigmoid32, sigmoid64, tanh32, tanh64


@{decorator}
def kernel(progress, sizes, ends, addresses, {parameters}):
    {begin}
    row = 0
    while True:
        block = added(progress, 1, 1)
        if block >= ends[-1]:
            break
        while block >= ends[row]:
            row += 1
        first = (block - (ends[row - 1] if row else 0)) * {block_size}
        size = min({block_size}, sizes[row] - first)
{arrays}
        for i in range(size):
{body}
        added(progress, 2, 1)
    {end}
"""
BLOCK_SIZE: Final = 1 << 15  # elements that a thread takes at a time
_MAX_WAITS: Final = 1 << 17  # reads of the progress after which a helper returns, about a millisecond
_CALLER: Final = {"begin": "added(progress, 0, 1)", "end": "while added(progress, 2, 0) < ends[-1]:\n        pass"}
_HELPER: Final = {
    "begin": f"for _ in range({_MAX_WAITS}):\n        if added(progress, 0, 0):\n            break\n"
    "    else:\n        return",
    "end": "",
}
_kernels: dict[str, Callable[..., None]] = {}
_sources: dict[Any, KernelSource | None] = {}  # of programs that differ only in their numbers


class Kernel(NamedTuple):
    """A function that computes a program in one loop; its numbers are parameters, so that others reuse the kernel."""

    function: Callable[..., None]
    operands: list[tuple[Any, Any]]  # slots, with the dtype to which a Python number is converted

    def converted_numbers(self, numbers: Sequence[Any]) -> list[Any]:
        """Return the numbers of a trace, converted for the function."""
        return [convert_number(number_of(operand, numbers), dtype) for operand, dtype in self.operands]

    def run(
        self, given: Sequence[Any], converted_numbers: Sequence[Any], results: Sequence[Any], first: int, last: int
    ) -> None:
        """Compute some elements; operands of rank 0 are the same for all."""
        arrays = [array[first:last] if array.ndim else array[()] for array in given]
        self.function(last - first, *arrays, *converted_numbers, *(result[first:last] for result in results))


class KernelSource(NamedTuple):
    """The source text of a kernel, and the positions in the program of the numbers that are its parameters."""

    source: str
    numbers: list[tuple[int, int, Any]]  # an instruction, an operand, and the dtype for a Python number


def kernel(
    program: Program, given: Sequence[Any], overwritten: Mapping[Ref, int] | None = None, *, is_helper: bool = False
) -> Kernel | None:
    """Return the kernel of a program, or None if a function or a dtype has no source.

    Args:
        program: What to compute.
        given: Its arguments: arrays of rank 1, or of rank 0.
        overwritten: The argument that each result overwrites; None if results have arrays of their own.
        is_helper: Whether the kernel helps one that overwrites arguments, in another thread.
    """
    key = (*(array.ndim for array in given), is_helper, overwritten and tuple(overwritten.items()))
    if key not in program.kernels:
        program.kernels[key] = _kernel(program, given, overwritten, is_helper=is_helper)
    return program.kernels[key]


def _kernel(
    program: Program, given: Sequence[Any], overwritten: Mapping[Ref, int] | None, *, is_helper: bool
) -> Kernel | None:
    key = (
        is_helper,
        *((ref, array.dtype, array.ndim) for ref, array in zip(program.arguments, given, strict=True)),
        *map(_key_without_numbers, program.instructions),
        overwritten and tuple(overwritten.items()),
        *program.computed,
    )
    if key not in _sources:
        _sources[key] = _source_of(program, given, overwritten, is_helper=is_helper)
    found = _sources[key]
    if found is None:
        return None
    if found.source not in _kernels:
        _kernels[found.source] = compile_source(found.source)
    operands = [(program.instructions[one].operands[position], dtype) for one, position, dtype in found.numbers]
    return Kernel(_kernels[found.source], operands)


def _key_without_numbers(one: ScheduledInstruction) -> tuple[Any, ...]:
    """Return a key of an instruction that does not depend on its numbers."""
    if one.function is power:
        x, exponent = one.operands
        return power, x, exponent if isinstance(exponent, Ref) else (float(exponent),), one.ref, one.dtype
    return one.function, *(isinstance(x, Ref) and (x,) for x in one.operands), one.ref, one.dtype


def _source_of(
    program: Program, given: Sequence[Any], overwritten: Mapping[Ref, int] | None, *, is_helper: bool
) -> KernelSource | None:
    lines: list[str] = []
    numbers: list[tuple[int, int, Any]] = []
    dtypes = {ref: array.dtype for ref, array in zip(program.arguments, given, strict=True)}
    dtypes |= {one.ref: one.dtype for one in program.instructions}
    if not dtypes.keys() or not all(dtype in DTYPE_NAMES for dtype in dtypes.values()):
        return None
    for ref, array in zip(program.arguments, given, strict=True):
        lines.append(f"v{ref} = x{ref}{'[i]' if array.ndim else ''}")
    for number, one in enumerate(program.instructions):
        source = expression(number, one, dtypes, numbers)
        if source is None:
            return None
        lines.append(f"v{one.ref} = np.{DTYPE_NAMES[one.dtype]}({source})")
    targets = [(f"x{overwritten[ref]}" if overwritten else f"y{ref}", ref) for ref in program.computed]
    lines += [f"{array}[i] = v{ref}" for array, ref in targets]
    numbers_and_scalars = [f"n{index}" for index in range(len(numbers))]
    if overwritten is None:
        parameters = [*(f"x{ref}" for ref in program.arguments), *numbers_and_scalars, *(array for array, _ in targets)]
        head = _HEADER.format(decorator="compiled", parameters=", ".join(parameters))
        return KernelSource(head + _indented(lines, 8), numbers)
    arrays = [ref for ref, array in zip(program.arguments, given, strict=True) if array.ndim]
    scalars = [f"x{ref}" for ref in program.arguments if ref not in arrays]
    source = _HEADER_IN_PLACE.format(
        decorator="compiled" if is_helper else "with_gil",
        parameters=", ".join([*scalars, *numbers_and_scalars]),
        block_size=BLOCK_SIZE,
        arrays=_indented(
            [
                f"x{ref} = carray(at_address(addresses[row, {column}] + first * {dtypes[ref].itemsize}), size, "
                f"np.{DTYPE_NAMES[dtypes[ref]]})"
                for column, ref in enumerate(arrays)
            ],
            8,
        ).rstrip(),
        body=_indented(lines, 12).rstrip(),
        **(_HELPER if is_helper else _CALLER),
    )
    return KernelSource(source, numbers)


def _indented(lines: Sequence[str], spaces: int) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in lines)


def expression(
    number: int, one: Instruction | ScheduledInstruction, dtypes: dict[Ref, Any], numbers: list[tuple[int, int, Any]]
) -> str | None:
    """Return the source of what an instruction computes, and append its numbers to `numbers`."""
    dtypes_of_operands = [dtypes[operand] for operand in one.operands if isinstance(operand, Ref)]
    if one.function is power:
        exponent: Any = one.operands[1]
        template = None if isinstance(exponent, Ref) else _POWER_TEMPLATES.get(float(exponent))
        operands = one.operands[:1]
    else:
        template, operands = _TEMPLATES.get(one.function), one.operands
        if converted_to(one.function) is not None:
            template = "{0}"
    if template is None:
        return None
    width = next((dtype for dtype in (one.dtype, *dtypes_of_operands) if dtype.kind == "f"), np.dtype(np.bool_))
    if width.kind != "f" and any(not isinstance(operand, Ref) for operand in operands):
        return None
    names = []
    for position, operand in enumerate(operands):
        if isinstance(operand, Ref):
            names.append(f"v{operand}")
        else:
            names.append(f"n{len(numbers)}")
            numbers.append((number, position, width.type))
    return template.format(*names, bits=8 * width.itemsize, dtype=f"np.{DTYPE_NAMES[width]}")


def convert_number(number: Any, dtype: Any) -> Any:
    """Return a number as a kernel takes it: a Python number gets the dtype of its other operand, as in NumPy."""
    return dtype(number) if isinstance(number, float | int) else np.asarray(number)[()]


def compile_source(source: str) -> Callable[..., None]:
    """Compile the source of a kernel to a function; a file is written because Numba caches kernels beside a file."""
    from tapegrad.engines.numba import kernels  # imported on demand: it imports Numba

    helpers = Path(kernels.__file__).read_bytes()
    name = hashlib.sha256(source.encode() + helpers).hexdigest()[:24]
    folder = kernel_cache.folder()
    path = None if folder is None else folder / f"fused_{name}.py"
    if path is None or not kernel_cache.write(path, source):
        path = Path(f"<tapegrad kernel {name}>")  # no such file: nothing is cached beside it
    # Numba imports the module again when it loads a kernel from the disk, and finds there what the kernel calls.
    found: dict[str, Any] = {"__name__": "tapegrad.engines.numba.kernels"}
    exec(compile(source, path, "exec"), found)  # noqa: S102  # the source generated above, not the content of the file
    function: Callable[..., None] = found["kernel"]
    return function

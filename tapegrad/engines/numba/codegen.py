"""Compiled kernels for elementwise programs: one loop over the elements, generated as source text for Numba."""

from __future__ import annotations

import hashlib
from importlib import import_module
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

# A function that is not here runs in NumPy, whose loops are as fast as Numba's calls of the C library.
_WRITTEN: Final[dict[Any, str]] = {
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
_POWERS: Final = {-1: "{dtype}(1) / {0}", 0.5: "np.sqrt({0})", 1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}"}
KINDS: Final = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64", np.dtype(np.bool_): "bool_"}
_HEAD: Final = """\
import numpy as np

from tapegrad.engines.numba.kernels import compiled, erf32, erf64, exp32, exp64, locked
from tapegrad.engines.numba.kernels import sigmoid32, sigmoid64, tanh32, tanh64


@{decorator}
def kernel(count, {parameters}):
    for i in range(count):
"""
_NOWHERE: Final[Mapping[Ref, int]] = {}
_kernels: dict[str, Callable[..., None]] = {}
_texts: dict[Any, Text | None] = {}  # of programs that differ only in their numbers


class Kernel(NamedTuple):
    """A function that computes a program in one loop; its numbers are parameters, so that others reuse the kernel."""

    function: Callable[..., None]
    operands: list[tuple[Any, Any]]  # slots, with the dtype to which a Python number is converted

    def taken(self, numbers: Sequence[Any]) -> list[Any]:
        """Return the numbers of a trace, converted for the function."""
        return [number_in(number_of(operand, numbers), dtype) for operand, dtype in self.operands]

    def run(self, given: Sequence[Any], taken: Sequence[Any], results: Sequence[Any], first: int, last: int) -> None:
        """Compute some elements; operands of rank 0 are the same for all."""
        arrays = [array[first:last] if array.ndim else array[()] for array in given]
        self.function(last - first, *arrays, *taken, *(result[first:last] for result in results))


class Text(NamedTuple):
    """The source text of a kernel, and the positions in the program of the numbers that are its parameters."""

    source: str
    numbers: list[tuple[int, int, Any]]  # an instruction, an operand, and the dtype for a Python number


def kernel(program: Program, given: Sequence[Any], into: Mapping[Ref, int] = _NOWHERE) -> Kernel | None:
    """Return the kernel of a program, or None where NumPy is as fast.

    Args:
        program: What to compute.
        given: Its arguments: arrays of rank 1, or of rank 0.
        into: The argument that a result overwrites; other results have arrays of their own.
    """
    key = (*(array.ndim for array in given), *into.items())
    if key not in program.kernels:
        program.kernels[key] = _kernel(program, given, into)
    return program.kernels[key]


def _kernel(program: Program, given: Sequence[Any], into: Mapping[Ref, int]) -> Kernel | None:
    key = (
        *((ref, array.dtype, array.ndim) for ref, array in zip(program.arguments, given, strict=True)),
        *map(_meaning, program.instructions),
        *((ref, into.get(ref)) for ref in program.computed),
    )
    if key not in _texts:
        _texts[key] = _text(program, given, into)
    text = _texts[key]
    if text is None:
        return None
    if text.source not in _kernels:
        _kernels[text.source] = loaded(text.source)
    operands = [(program.instructions[one].operands[position], dtype) for one, position, dtype in text.numbers]
    return Kernel(_kernels[text.source], operands)


def _meaning(one: ScheduledInstruction) -> tuple[Any, ...]:
    """Return a key of an instruction that does not depend on its numbers."""
    if one.function is power:
        x, exponent = one.operands
        return power, x, exponent if isinstance(exponent, Ref) else (float(exponent),), one.ref, one.dtype
    return one.function, *(isinstance(x, Ref) and (x,) for x in one.operands), one.ref, one.dtype


def _text(program: Program, given: Sequence[Any], into: Mapping[Ref, int]) -> Text | None:
    lines: list[str] = []
    numbers: list[tuple[int, int, Any]] = []
    dtypes = {ref: array.dtype for ref, array in zip(program.arguments, given, strict=True)}
    dtypes |= {one.ref: one.dtype for one in program.instructions}
    if not dtypes.keys() or not all(dtype in KINDS for dtype in dtypes.values()):
        return None
    for ref, array in zip(program.arguments, given, strict=True):
        lines.append(f"v{ref} = x{ref}{'[i]' if array.ndim else ''}")
    for number, one in enumerate(program.instructions):
        written = expression(number, one, dtypes, numbers)
        if written is None:
            return None
        lines.append(f"v{one.ref} = np.{KINDS[one.dtype]}({written})")
    written = {ref: f"x{into[ref]}" if ref in into else f"y{ref}" for ref in program.computed}
    lines += [f"{array}[i] = v{ref}" for ref, array in written.items()]
    parameters = [f"x{ref}" for ref in program.arguments]
    parameters += [f"n{index}" for index in range(len(numbers))]
    parameters += [array for ref, array in written.items() if ref not in into]
    body = "".join(f"        {line}\n" for line in lines)
    head = _HEAD.format(decorator="locked" if into else "compiled", parameters=", ".join(parameters))
    return Text(head + body, numbers)


def expression(
    number: int, one: Instruction | ScheduledInstruction, dtypes: dict[Ref, Any], numbers: list[tuple[int, int, Any]]
) -> str | None:
    """Return the source of what an instruction computes, and append its numbers to `numbers`."""
    steps = [dtypes[operand] for operand in one.operands if isinstance(operand, Ref)]
    if one.function is power:
        exponent: Any = one.operands[1]
        template = None if isinstance(exponent, Ref) else _POWERS.get(float(exponent))
        operands = one.operands[:1]
    else:
        template, operands = _WRITTEN.get(one.function), one.operands
        if converted_to(one.function) is not None:
            template = "{0}"
    if template is None:
        return None
    width = next((dtype for dtype in (one.dtype, *steps) if dtype.kind == "f"), np.dtype(np.bool_))
    if width.kind != "f" and any(not isinstance(operand, Ref) for operand in operands):
        return None
    names = []
    for position, operand in enumerate(operands):
        if isinstance(operand, Ref):
            names.append(f"v{operand}")
        else:
            names.append(f"n{len(numbers)}")
            numbers.append((number, position, width.type))
    return template.format(*names, bits=8 * width.itemsize, dtype=f"np.{KINDS[width]}")


def number_in(number: Any, dtype: Any) -> Any:
    """Return a number as a kernel takes it: a Python number gets the dtype of its other operand, as in NumPy."""
    return dtype(number) if isinstance(number, float | int) else np.asarray(number)[()]


def loaded(source: str) -> Callable[..., None]:
    """Compile the source of a kernel to a function; a file is written because Numba caches kernels beside a file."""
    helpers = Path(import_module("tapegrad.engines.numba.kernels").__file__ or "").read_bytes()
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

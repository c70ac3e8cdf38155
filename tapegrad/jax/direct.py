"""Calls of steps whose inputs are tensors alone, by a function generated for them.

Such a step stores nothing, so a call needs no lock: it reads each tensor together with its array. A loop over the
arguments instead would take a tenth of the time of a small step in plain JAX (benchmarks/jit.py, "call").
"""

from __future__ import annotations

from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.tape import NONE
from tapegrad.jax.device_tensor import DeviceTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from tapegrad.jax.binding import Binding
    from tapegrad.jax.program import Program


def direct(
    program: Program,
    pairs: Sequence[tuple[Any, Any]],
    positions: Sequence[tuple[int, int]],
    count: int,
    is_unchanged: Callable[[Sequence[Any]], bool],
    *,
    takes_new: bool,
) -> Callable[[Binding, tuple[Any, ...]], Any]:
    """Return a function of a binding and of the arguments of a call that runs the program.

    Args:
        program: Its result contains no tensor that it was given.
        pairs: Each tensor with its array, replaced as a whole.
        positions: The index in `pairs` of each tensor that is an argument, with the position of the argument.
        count: How many arguments there are.
        is_unchanged: Whether all other arguments, and all that the step reads, are unchanged.
        takes_new: Whether a tensor that is not in `pairs` is used if it is the result of a program, with the same shape
            and dtype.

    Returns:
        The function, which calls `Binding.run_with` for all other tensors. It raises a `TypeError` or a `ValueError` if
        the program does not fit, with nothing done. It does not refer to the binding, which refers to it.
    """
    names = {
        "execute": program.call,
        "result": program.result,
        "pairs": pairs,
        "is_unchanged": is_unchanged,
        "DeviceTensor": DeviceTensor,
        "NONE": NONE,
        **{f"s{leaf}": array.aval for leaf, (_, array) in enumerate(pairs)},
    }
    return FunctionType(_code_of(count, len(pairs), tuple(positions), takes_new=takes_new), names)


@lru_cache(maxsize=256)
def _code_of(count: int, size: int, positions: tuple[tuple[int, int], ...], *, takes_new: bool) -> CodeType:
    lines = [
        "try:",
        f"    {''.join(f'x{position}, ' for position in range(count)) or '()'} = args",
        "    if not is_unchanged(args): return binding.run_with(args)",
        # An object is gone, another thread changes it, or there is another number of arguments.
        "except (AttributeError, KeyError, RuntimeError, ValueError): return binding.run_with(args)",
        *(f"t{leaf}, a{leaf} = pairs[{leaf}]" for leaf in range(size)),
    ]
    for leaf, position in positions:
        x = f"x{position}"
        lines.append(f"if {x} is not t{leaf}:")
        if takes_new:
            lines += [
                f"    if type({x}) is not DeviceTensor or {x}.tape is not NONE: return binding.run_with(args)",
                f"    a{leaf}, t{leaf} = {x}.node, {x}",
                f"    if (s := a{leaf}.aval) is not s{leaf} and s != s{leaf}: return binding.run_with(args)",
            ]
        else:
            lines.append("    return binding.run_with(args)")
    if size > 1:  # given twice, a tensor may make the step another program
        are_distinct = f"len({{{', '.join(f't{leaf}' for leaf in range(size))}}}) == {size}"
        lines.append(f"if not {are_distinct}: return binding.run_with(args)")
    lines.append(f"return result(execute({', '.join(f'a{leaf}' for leaf in range(size))}), binding)")
    defined: dict[str, Any] = {}
    exec("def call(binding, args):\n" + "".join(f"    {line}\n" for line in lines), defined)  # noqa: S102  # of numbers
    code: CodeType = defined["call"].__code__
    return code

"""Rows that a program takes out of an array, such as the gradients of equal layers: their indices become inputs.

XLA's CPU compiler compiles equal kernels once. A constant index makes the kernels of equal layers different; an index
that is an input does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tapegrad.jax.library import jax
from tapegrad.jax.loops import Literal, Var, depends_on, evaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

jaxpr_as_fun: Any = import_module("jax.extend.core").jaxpr_as_fun

_FEWEST: Final = 64  # rows of a program; fewer kernels do not take long to compile
_MOST: Final = 256  # indices, because each call passes them all


def indexed(closed: Any) -> tuple[int, Callable[..., Any]]:
    """Return how many indices a traced step takes, and a function of the numbers 0, 1, ... and of its inputs.

    Without effects, whose order would change.
    """
    jaxpr = closed.jaxpr
    starts = [start_of(one) for one in jaxpr.eqns]
    found = [one.outvars[0] for one, start in zip(jaxpr.eqns, starts, strict=True) if start is not None]
    depends = depends_on(jaxpr.eqns, found)
    before, rows, after = [], [], []
    for one, start in zip(jaxpr.eqns, starts, strict=True):
        if depends(one):
            after.append(one)
        elif start is None:
            before.append(one)
        else:
            rows.append((one, start))
    count = 1 + max((start for _, start in rows), default=-1)
    if closed.effects or len(rows) < _FEWEST or count > _MOST:
        return 0, lambda _, *arrays: jaxpr_as_fun(closed)(*arrays)
    read = [var for one in (*(row for row, _ in rows), *after) for var in one.invars]

    def function(indices: Sequence[Any], *arrays: Any) -> list[Any]:
        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arrays), strict=True))
        made = {var for one in before for var in one.outvars}
        wanted = [var for var in (*read, *jaxpr.outvars) if isinstance(var, Var) and var in made]
        values |= evaluated(jaxpr, before, wanted, values)
        for one, start in rows:
            values[one.outvars[0]] = jax.lax.dynamic_slice_in_dim(values[one.invars[0]], indices[start], 1)
        made = {var for one in after for var in one.outvars}
        values |= evaluated(
            jaxpr, after, [var for var in jaxpr.outvars if isinstance(var, Var) and var in made], values
        )
        return [one.val if isinstance(one, Literal) else values[one] for one in jaxpr.outvars]

    return count, function


def start_of(equation: Any) -> int | None:
    """Return the index of the row that an equation takes out of an array, or None if it does something else."""
    if equation.primitive.name != "slice" or not isinstance(equation.invars[0], Var):
        return None
    params, shape = equation.params, equation.invars[0].aval.shape
    starts, ends = params["start_indices"], params["limit_indices"]
    is_row = (
        params["strides"] is None
        and len(shape) > 1
        and ends[0] == starts[0] + 1
        and (*starts[1:], *ends[1:]) == (*(0 for _ in shape[1:]), *shape[1:])
    )
    return starts[0] if is_row else None

"""Updates of optimizers in a step under `jit`: what many parameters share, such as a step count, is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.jax.library import jax, jnp
from tapegrad.jax.loops import Var, depends_on
from tapegrad.jax.quiet import jaxpr_of
from tapegrad.jax.traced import Traced, bare_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def updated(function: Callable[..., Any], rows: Sequence[Sequence[Traced]]) -> list[tuple[Any, ...]]:
    """Compute an elementwise function of many sets of values, see `Backend.update`.

    A result that depends only on values that all sets share is the same object in all sets.
    """
    first = function(*rows[0])
    if len(rows) == 1:
        return [first]
    varying = [at for at, value in enumerate(rows[0]) if any(row[at] is not value for row in rows)]
    is_shared = [not depends for depends in _dependence(function, rows[0], varying)]
    others = [function(*row) for row in rows[1:]]
    return [first, *(_with_shared(first, values, is_shared) for values in others)]


def _with_shared(first: Sequence[Any], values: Sequence[Any], is_shared: Sequence[bool]) -> tuple[Any, ...]:
    pairs = zip(first, values, is_shared, strict=True)
    return tuple(common if shared else value for common, value, shared in pairs)


def _dependence(function: Callable[..., Any], row: Sequence[Traced], positions: Sequence[int]) -> list[bool]:
    """Return whether each result of a function depends on the values at some positions."""
    arrays = [jnp.asarray(bare_of(value)) for value in row]

    def bare(*given: Any) -> list[Any]:
        return [jnp.asarray(bare_of(one)) for one in function(*map(Traced, given, (value.carries for value in row)))]

    structs = [jax.ShapeDtypeStruct(one.shape, one.dtype, weak_type=one.weak_type) for one in arrays]
    jaxpr = jaxpr_of(bare, structs).jaxpr
    inputs = {jaxpr.invars[at] for at in positions}
    depends = depends_on(jaxpr.eqns, inputs)
    found = inputs.union(*(one.outvars for one in jaxpr.eqns if depends(one)))
    return [isinstance(var, Var) and var in found for var in jaxpr.outvars]

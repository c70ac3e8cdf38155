"""Updates of optimizers in a step under `jit`: what many parameters share, such as a step count, is computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tapegrad.jax.library import jax, jnp
from tapegrad.jax.loops import Var, depends_on, evaluated
from tapegrad.jax.quiet import jaxpr_of
from tapegrad.jax.traced import Traced, bare_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEWEST: Final = 64
"""How many updates a step has at least whose updates are calls of functions, see `parts`."""


def updated(function: Callable[..., Any], rows: Sequence[Sequence[Traced]]) -> list[tuple[Any, ...]]:
    """Compute an elementwise function of many sets of values, see `Backend.update`.

    A result that depends only on values that all sets share is the same object in all sets.
    """
    if len(rows) == 1:
        return [function(*rows[0])]
    varying = [at for at, value in enumerate(rows[0]) if any(row[at] is not value for row in rows)]
    if len(rows) >= FEWEST:
        return _called(function, rows, varying)
    found = [function(*row) for row in rows]
    closed, _ = _traced(function, rows[0])
    inputs = {closed.jaxpr.invars[at] for at in varying}
    depends = depends_on(closed.jaxpr.eqns, inputs)
    varied = inputs.union(*(one.outvars for one in closed.jaxpr.eqns if depends(one)))
    is_shared = [not (isinstance(var, Var) and var in varied) for var in closed.jaxpr.outvars]
    return [_with_shared(found[0], values, is_shared) for values in found]


def is_update(equation: Any) -> bool:
    """Return whether an equation calls the update of a parameter."""
    return bool(equation.primitive.name == "jit" and equation.params["name"] == _NAME)


def _with_shared(first: Sequence[Any], values: Sequence[Any], is_shared: Sequence[bool]) -> tuple[Any, ...]:
    pairs = zip(first, values, is_shared, strict=True)
    return tuple(common if shared else value for common, value, shared in pairs)


def _called(
    function: Callable[..., Any], rows: Sequence[Sequence[Traced]], varying: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Compute a function of many sets of values; it is traced once for each combination of shapes and dtypes."""
    calls: dict[Any, _Called] = {}
    found: list[tuple[Any, ...]] = []
    for row in rows:
        kind = tuple((one.shape, one.dtype, one.array.weak_type) for one in row)
        if kind not in calls:
            calls[kind] = _Called(function, row, varying)
        found.append(calls[kind](row))
    is_shared = next(iter(calls.values())).is_shared
    return [_with_shared(found[0], values, is_shared) for values in found]


class _Called:
    """A function of values with certain shapes and dtypes; what all sets of values share is computed outside of it.

    Attributes:
        is_shared: Whether each result is the same for all sets of values.
    """

    def __init__(self, function: Callable[..., Any], row: Sequence[Traced], varying: Sequence[int]) -> None:
        closed, arrays = _traced(function, row)
        jaxpr = closed.jaxpr
        self._varying = varying
        inputs = [jaxpr.invars[at] for at in varying]
        of_arrays = [var for one in jaxpr.eqns for var in one.outvars if var.aval.ndim]  # a number is passed, no array
        depends = depends_on(jaxpr.eqns, [*inputs, *of_arrays])
        inside: list[Any] = []
        outside: list[Any] = []
        for one in jaxpr.eqns:
            (inside if depends(one) or any(var.aval.ndim for var in one.outvars) else outside).append(one)
        made, shared = ({var for one in part for var in one.outvars} for part in (inside, outside))
        self.is_shared = [not (isinstance(var, Var) and (var in made or var in inputs)) for var in jaxpr.outvars]

        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arrays), strict=True))
        read = dict.fromkeys(var for one in inside for var in one.invars if isinstance(var, Var))
        outer = [var for var in (*read, *jaxpr.outvars) if isinstance(var, Var) and var in shared]
        values |= evaluated(jaxpr, outside, outer, values)
        given = [var for var in read if var not in made and var not in inputs]
        self._given = [values[var] for var in given]
        outs = [var for var in jaxpr.outvars if isinstance(var, Var) and var in made]

        def computed(*arrays: Any) -> list[Any]:
            known = dict(zip([*given, *inputs], arrays, strict=True))
            now = evaluated(jaxpr, inside, outs, known)
            return [now[var] for var in outs]

        computed.__name__ = _NAME
        self._call = jax.jit(computed)
        places = {var: at for at, var in enumerate(outs)}
        self._outs: list[tuple[int | None, Any]] = []  # the index of a result of the call, or a value, or an input
        for var in jaxpr.outvars:
            if isinstance(var, Var) and var in made:
                self._outs.append((places[var], None))
            elif isinstance(var, Var) and var in jaxpr.invars:
                self._outs.append((None, jaxpr.invars.index(var)))
            else:
                value = values[var] if isinstance(var, Var) else jnp.asarray(var.val, var.aval.dtype)
                self._outs.append((None, Traced(value, row[0].carries)))

    def __call__(self, row: Sequence[Traced]) -> tuple[Any, ...]:
        found = self._call(*self._given, *(row[at].array for at in self._varying))
        return tuple(
            Traced(found[at], row[0].carries) if at is not None else row[other] if isinstance(other, int) else other
            for at, other in self._outs
        )


def _traced(function: Callable[..., Any], row: Sequence[Traced]) -> tuple[Any, list[Any]]:
    """Return the computation of a function, and the arrays of the values that it was traced for."""
    arrays = [jnp.asarray(bare_of(value)) for value in row]

    def bare(*given: Any) -> list[Any]:
        return [jnp.asarray(bare_of(one)) for one in function(*map(Traced, given, (value.carries for value in row)))]

    structs = [jax.ShapeDtypeStruct(one.shape, one.dtype, weak_type=one.weak_type) for one in arrays]
    return jaxpr_of(bare, structs), arrays


_NAME: Final = "tapegrad_update"

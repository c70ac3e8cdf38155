"""Programs in parts: equal updates of parameters are compiled once, and run after the rest of the step.

XLA takes about as long for each update of a parameter as for the first. A model of equal layers has equal updates: one
program that updates the parameters of a layer, called once for each layer, takes the time of one.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import chain, repeat, starmap
from operator import attrgetter, call, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tapegrad.jax.library import jax
from tapegrad.jax.loops import Var, evaluated, needed
from tapegrad.jax.row_indices import start_of
from tapegrad.jax.updates import FEWEST, is_update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MOST_CALLS: Final = 32
"""The most calls of the second program, each of which takes time in every step (benchmarks/jit.py, "stack-24")."""


class Update(NamedTuple):
    """The update of a parameter.

    Attributes:
        equation: Its call in the step.
        operands: The variables that the second program takes, one for each operand of the call.
        rows: For each operand its index in the first axis of the variable, or None if it is the whole variable.
    """

    equation: Any
    operands: tuple[Any, ...]
    rows: tuple[int | None, ...]

    @property
    def kind(self) -> Any:
        """What updates that run in the same program share."""
        of_rows = tuple(
            None if row is None else var.aval.shape for var, row in zip(self.operands, self.rows, strict=True)
        )
        return self.equation.params["jaxpr"], of_rows


class Parts(NamedTuple):
    """A step in two programs.

    Attributes:
        rest: The equations of the first program.
        groups: The updates of each call of the second program, of the same kinds in the same order.
    """

    rest: list[Any]
    groups: list[list[Update]]


def split_off(jaxpr: Any) -> Parts | None:
    """Return how to compute a step in parts, or None if that gains nothing."""
    updates = _updates(jaxpr)
    if len(updates) < FEWEST:
        return None
    counts = Counter(one.kind for one in updates)

    def compiled(calls: int) -> int:
        """Return how many updates XLA compiles if there are some calls of the second program."""
        return sum(count // calls + count % calls for count in counts.values())

    calls = min(range(1, _MOST_CALLS + 1), key=compiled)
    if len(updates) - compiled(calls) < FEWEST // 2:
        return None
    by_kind: dict[Any, list[Update]] = {kind: [] for kind in counts}
    for one in updates:
        by_kind[one.kind].append(one)
    groups: list[list[Update]] = [[] for _ in range(calls)]
    for found in by_kind.values():
        size = len(found) // calls
        for at, group in enumerate(groups):
            group.extend(found[at * size : (at + 1) * size])
    moved = {var for group in groups for one in group for var in one.equation.outvars}
    return Parts([one for one in jaxpr.eqns if moved.isdisjoint(one.outvars)], groups)


def _updates(jaxpr: Any) -> list[Update]:
    """Return the updates with a gradient that the step computes, and on whose results no other equation depends.

    A step that is given all gradients is nothing but updates, and slower in parts (benchmarks/jit.py, "adam-384").
    """
    read = Counter(var for one in jaxpr.eqns for var in one.invars if isinstance(var, Var))
    made = {var: one for one in jaxpr.eqns for var in one.outvars}
    found = []
    for one in jaxpr.eqns:
        if (
            not is_update(one)
            or any(read[var] for var in one.outvars)
            or not all(isinstance(x, Var) for x in one.invars)
        ):
            continue
        if not any(var in made and var.aval.shape == one.outvars[0].aval.shape for var in one.invars):
            continue
        pairs = [_row_of(var, made) for var in one.invars]
        found.append(Update(one, tuple(var for var, _ in pairs), tuple(row for _, row in pairs)))
    return found


def _row_of(var: Any, made: Mapping[Any, Any]) -> tuple[Any, int | None]:
    """Return the variable of which another one is a row, with its index; or the other one itself."""
    squeeze = made.get(var)
    if squeeze is None or squeeze.primitive.name != "squeeze" or squeeze.params["dimensions"] != (0,):
        return var, None
    row = made.get(squeeze.invars[0])
    start = None if row is None else start_of(row)
    return (var, None) if row is None or start is None else (row.invars[0], start)


def compiled_in_parts(
    closed: Any, parts: Parts, structs: Sequence[Any], known: Mapping[int, Any], reused: Mapping[int, int]
) -> Callable[[Sequence[Any], list[Any]], Iterable[object]]:
    """Compile a step in two programs.

    The second one reuses the memory of its inputs, call by call. So that no call fails after another one has done this,
    all inputs are checked first.

    Args:
        closed: The step.
        parts: Its parts.
        structs: The shape and dtype of each of its inputs but those that are known.
        known: The values of inputs that the step does not use, by position.
        reused: The position of the input whose memory each result reuses, by the position of the result.

    Returns:
        A function of the inputs and of a list to which the results are added. It returns an iterator that runs the
        programs when it is consumed, and calls functions written in C only. It raises a `TypeError` or a `ValueError`
        if an input is missing or was placed explicitly.
    """
    jaxpr = closed.jaxpr
    inputs = [var for at, var in enumerate(jaxpr.invars) if at not in known]
    constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    constants |= {jaxpr.invars[at]: value for at, value in known.items()}
    operands = Counter(var for group in parts.groups for one in group for var in one.operands)
    moved = {var for group in parts.groups for one in group for var in one.equation.outvars}
    is_moved = [isinstance(var, Var) and var in moved for var in jaxpr.outvars]
    kept = [var for var, later in zip(jaxpr.outvars, is_moved, strict=True) if not later]
    passed = [var for var in operands if var not in {*inputs}]
    equations = needed(parts.rest, [*kept, *passed], set(), [one for one in parts.rest if one.effects])
    made = {var for one in equations for var in one.outvars}
    read = {var for one in equations for var in one.invars if isinstance(var, Var)}
    read |= {var for var in kept if isinstance(var, Var)}
    taken = [at for at, var in enumerate(inputs) if var in read]
    others = [at for at, var in enumerate(inputs) if var not in read]
    of_first, of_others = _getter(taken), _getter(others)

    def first(*arrays: Any) -> list[Any]:
        values = constants | dict(zip(map(inputs.__getitem__, taken), arrays, strict=True))
        wanted = [var for var in (*kept, *passed) if isinstance(var, Var) and var in made]
        values |= evaluated(jaxpr, equations, wanted, values)
        return [values[var] if isinstance(var, Var) else var.val for var in (*kept, *passed)]

    memory = {at: jaxpr.invars[position] for at, position in reused.items()}
    free = {memory[at] for at in memory if not is_moved[at]} - {*operands}
    donated = [place for place, at in enumerate(taken) if inputs[at] in free]
    run_first = _compiled(first, [structs[at] for at in taken], donated)
    group = _Group(parts, operands, {jaxpr.outvars[at]: var for at, var in memory.items() if is_moved[at]})

    # What the programs compute is collected in one list: indices, inputs, results of the first, results of the second.
    pool = [*inputs, *([None] * len(kept)), *passed]
    at = {var: place for place, var in enumerate(pool, start=len(group.indices)) if var is not None}
    getters = [itemgetter(*places) for places in group.places(at)]
    at |= {var: place for place, var in enumerate(group.results, start=len(group.indices) + len(pool))}
    places = iter(range(len(group.indices) + len(inputs), len(group.indices) + len(pool)))
    pairs = zip(jaxpr.outvars, is_moved, strict=True)
    results = itemgetter(*[at[var] if later else next(places) for var, later in pairs])

    def run(arrays: Sequence[Any], outs: list[Any]) -> Iterable[object]:
        try:
            is_placed = any(map(_IS_PLACED, of_others(arrays)))
        except AttributeError:
            raise TypeError from None  # None instead of an array
        if is_placed:
            raise ValueError
        found = [*group.indices, *arrays]
        return chain(
            map(found.extend, starmap(run_first, [of_first(arrays)])),
            map(found.extend, starmap(group.run, map(call, getters, repeat(found)))),
            map(outs.extend, map(results, [found])),
        )

    return run


class _Group:
    """The second program, which runs some updates.

    Args:
        parts: The parts of the step.
        operands: How many updates have each operand.
        memory: The input whose memory each result reuses.

    Attributes:
        run: The compiled program.
        indices: The arrays of the indices of rows that it takes.
        results: The variables of its results, of all calls.
    """

    def __init__(self, parts: Parts, operands: Mapping[Any, int], memory: Mapping[Any, Any]) -> None:
        rows = {row: None for group in parts.groups for one in group for row in one.rows if row is not None}
        self.indices = [jax.device_put(np.int32(row)) for row in rows]
        self._index_at = {row: at for at, row in enumerate(rows)}
        self.results = [var for group in parts.groups for one in group for var in one.equation.outvars]
        # An input is a variable, or the index of a row, for each call. Operands that agree in all calls share one.
        self._inputs: dict[tuple[Any, ...], int] = {}
        donated: list[int] = []
        taken: list[list[tuple[int, int | None]]] = []
        for column in zip(*parts.groups, strict=True):
            taken.append([])
            for operand in range(len(column[0].operands)):
                of_rows = tuple(one.rows[operand] for one in column)
                row = None if of_rows[0] is None else self._place(of_rows)
                taken[-1].append((self._place(tuple(one.operands[operand] for one in column)), row))
            for results in zip(*(one.equation.outvars for one in column), strict=True):
                reused = tuple(memory.get(var) for var in results)
                if reused in self._inputs and all(operands[var] == 1 for var in reused):
                    donated.append(self._inputs[reused])
        functions = [_jaxpr_as_fun(one.equation.params["jaxpr"]) for one in parts.groups[0]]

        def updates(*arrays: Any) -> list[Any]:
            def operand(at: int, row: int | None) -> Any:
                if row is None:
                    return arrays[at]
                return jax.lax.dynamic_index_in_dim(arrays[at], arrays[row], 0, keepdims=False)

            return [
                result
                for function, places in zip(functions, taken, strict=True)
                for result in function(*starmap(operand, places))
            ]

        self.run = _compiled(updates, [_struct_of(of_calls[0]) for of_calls in self._inputs], donated)

    def places(self, at: Mapping[Any, int]) -> Iterable[list[int]]:
        """Return for each call the positions of its inputs, given those of variables."""
        found = (
            [self._index_at[one] if type(one) is int else at[one] for one in of_calls] for of_calls in self._inputs
        )
        return map(list, zip(*found, strict=True))

    def _place(self, of_calls: tuple[Any, ...]) -> int:
        return self._inputs.setdefault(of_calls, len(self._inputs))


def _getter(positions: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return a function that returns the elements at some positions."""
    return lambda values: tuple(map(values.__getitem__, positions))


def _struct_of(value: Any) -> Any:
    if type(value) is int:
        return jax.ShapeDtypeStruct((), np.int32)
    return jax.ShapeDtypeStruct(value.aval.shape, value.aval.dtype, weak_type=value.aval.weak_type)


def _compiled(function: Callable[..., Any], structs: Sequence[Any], donated: Sequence[int]) -> Callable[..., Any]:
    jitted = jax.jit(function, donate_argnums=tuple(donated), keep_unused=True)
    return native(jitted.lower(*structs).compile())


def native(compiled: Any) -> Callable[..., Any]:
    """Return the function written in C++ that a compiled program of JAX calls, if it has one, else the program.

    It takes no time in Python (benchmarks/jit.py, "call").
    """
    make = getattr(getattr(compiled, "_executable", None), "create_cpp_call", None)
    parameters = getattr(compiled, "_params", None)
    found = make(parameters) if make is not None and parameters is not None else None
    return compiled if found is None else found  # type: ignore[no-any-return]  # JAX has no types here


_IS_PLACED: Final = attrgetter("committed")
_jaxpr_as_fun: Any = import_module("jax.extend.core").jaxpr_as_fun

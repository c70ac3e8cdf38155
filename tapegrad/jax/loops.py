"""Loops of a step under `jit`: one step is traced with its backward pass, and both run in a `lax.scan` of their own."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.engines.loops import run_steps
from tapegrad.errors import TapeError
from tapegrad.generator import current, substitutions
from tapegrad.jax.library import jax, jnp
from tapegrad.jax.quiet import jaxpr_of
from tapegrad.jax.traced import Traced, bare_of
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tapegrad.jax.draws import Draws


# Any: see `library`.
_core: Any = import_module("jax.extend.core")
Literal: Any = _core.Literal
Var: Any = _core.Var


def scanned(step: Callable[..., Any], state: Sequence[Any], xs: Sequence[Any], axis: int, *, is_reversed: bool) -> Any:
    """Run a step along an axis, see `Backend.scan`."""
    first = [_strong(jnp.asarray(bare_of(value))) for value in state]
    rows = [jnp.moveaxis(jnp.asarray(bare_of(x)), axis, 0) for x in xs]
    count = rows[0].shape[0]
    draws = _draws()
    seeds = [jax.random.split(one.key.array, count + 1) for one in draws]
    around = current()
    drawn: Any = None if around is None else around.bit_generator.state
    one_step = _Step(step, first, rows, [one[1:] for one in seeds], draws)
    if around is not None and around.bit_generator.state != drawn:
        around.bit_generator.state = drawn  # each step draws numbers of its own from NumPy, so each is traced
        return run_steps(step, state, xs, axis, is_reversed=is_reversed)
    for one, seed, is_used in zip(draws, seeds, one_step.uses, strict=True):
        if is_used:
            one.key, one.is_used = Traced(seed[0], _carries), True
    last, ys, saved = one_step.run(first, is_reversed=is_reversed)

    def backward(dlast: Sequence[Any], dys: Sequence[Any]) -> Any:
        if any(isinstance(one, Tensor) for one in (*dlast, *dys)):  # gradients that are to be differentiated again
            return run_steps(step, state, xs, axis, is_reversed=is_reversed)[2](dlast, dys)
        gradients = one_step.run_back(
            [_bare_rows(value, None) for value in dlast],
            [_bare_rows(value, axis) for value in dys],
            saved,
            is_reversed=is_reversed,
        )
        dstate, drows, sums = gradients
        return _wrapped(dstate), _wrapped(jnp.moveaxis(one, 0, axis) for one in drows), _wrapped(sums)

    results = _wrapped(jnp.moveaxis(one, 0, axis) for one in ys)
    return _wrapped(last), results, backward if one_step.has_backward else None


class _Split(NamedTuple):
    """A traced step, split into what runs before the loop, in each forward step, and in each backward step."""

    before: list[Any]
    forward: list[Any]
    backward: list[Any]
    saved: list[Any]  # the variables that a forward step saves for the backward step


class _Step:
    """A step of a loop, traced once together with its backward pass.

    Attributes:
        uses: For each source of random numbers whether the step draws from it.
        has_backward: Whether the step has a backward pass.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        state: Sequence[Any],
        rows: Sequence[Any],
        keys: Sequence[Any],
        draws: Sequence[Draws],
    ) -> None:
        self.uses: list[bool] = []
        self.has_backward = False
        self._rows, self._keys = rows, keys
        groups: list[int] = []

        def joint(*arrays: Any) -> list[Any]:
            inputs = iter(arrays)
            now, row, key = (tuple(next(inputs) for _ in part) for part in (state, rows, keys))
            with _own_draws(draws, _wrapped(key), self.uses), _unchanged_states():
                new, ys, back = step(_wrapped(now), _wrapped(row))
            outs: list[list[Any]] = [[_of_dtype(value, old) for value, old in zip(new, now, strict=True)]]
            outs.append([_strong(jnp.asarray(bare_of(value))) for value in ys])
            self.has_backward = back is not None
            if back is not None:
                seeds = [_SEED.bind(shape=one.shape, dtype=one.dtype) for one in (*outs[0], *outs[1])]
                of_state, of_rows = _wrapped(seeds[: len(new)]), _wrapped(seeds[len(new) :])
                dstate, drows, sums = back(of_state, of_rows)
                outs.append(seeds)
                outs.append([_of_dtype(value, old) for value, old in zip(dstate, now, strict=True)])
                outs += [[_strong(jnp.asarray(bare_of(value))) for value in part] for part in (drows, sums)]
            groups.extend(map(len, outs))
            return [array for part in outs for array in part]

        structs = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in state]
        structs += [jax.ShapeDtypeStruct(value.shape[1:], value.dtype) for value in (*rows, *keys)]
        closed = jaxpr_of(joint, structs)
        jaxpr = closed.jaxpr
        invars, outvars = iter(jaxpr.invars), iter(jaxpr.outvars)
        self._state, self._row, self._key = ([next(invars) for _ in part] for part in (state, rows, keys))
        outs = [[next(outvars) for _ in range(size)] for size in groups]
        self._new, self._ys, *rest = outs
        none: list[Any] = []
        self._seeds, self._dstate, self._drows, self._sums = rest or (none, none, none, none)
        self._split = _split(
            jaxpr,
            self._state,
            [*self._row, *self._key],
            self._seeds,
            [*self._new, *self._ys],
            [*self._dstate, *self._drows, *self._sums],
        )
        self._jaxpr = jaxpr
        self._constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        inside = [*self._split.forward, *self._split.backward]
        read = {var for one in inside for var in one.invars if isinstance(var, Var)} | {
            var for part in outs for var in part if isinstance(var, Var)
        }
        made = [var for one in self._split.before for var in one.outvars if var in read]
        self._constants |= evaluated(jaxpr, self._split.before, made, self._constants)

    def run(self, first: Sequence[Any], *, is_reversed: bool) -> tuple[list[Any], list[Any], list[Any]]:
        """Run the forward steps; return the last state, the results of all steps, and what they save."""

        def body(state: list[Any], given: Any) -> Any:
            values = self._values((self._state, state), (self._row, given[0]), (self._key, given[1]))
            new, ys, saved = self._computed(self._split.forward, (self._new, self._ys, self._split.saved), values)
            return new, (ys, saved)

        last, (ys, saved) = jax.lax.scan(body, list(first), (self._rows, self._keys), reverse=is_reversed)
        return last, ys, saved

    def run_back(
        self, dlast: Sequence[Any], dys: Sequence[Any], saved: Sequence[Any], *, is_reversed: bool
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Run the backward steps; return the gradients of the first state, of the rows, and the sums over all steps."""
        of_state, of_ys = self._seeds[: len(self._new)], self._seeds[len(self._new) :]
        given = {var: dy for var, dy in zip(of_ys, dys, strict=True) if hasattr(dy, "shape")}
        zero = [var for var in of_ys if var not in given]
        start = [_filled(value, var) for value, var in zip(dlast, of_state, strict=True)]
        sums = [jnp.zeros(var.aval.shape, var.aval.dtype) for var in self._sums]

        def body(carried: Any, rows: Any) -> Any:
            dstate, totals = carried
            values = self._values(
                (of_state, dstate),
                (zero, [jnp.zeros(var.aval.shape, var.aval.dtype) for var in zero]),
                *zip((self._row, self._key, self._split.saved, [*given]), rows, strict=True),
            )
            outs = self._dstate, self._drows, self._sums
            dstate, drows, sums = self._computed(self._split.backward, outs, values)
            return (dstate, list(map(add, totals, sums))), drows

        rows = (self._rows, self._keys, list(saved), [*given.values()])
        (dstate, totals), drows = jax.lax.scan(body, (start, sums), rows, reverse=not is_reversed)
        return dstate, drows, totals

    def _computed(self, equations: list[Any], outs: Sequence[list[Any]], values: dict[Any, Any]) -> list[list[Any]]:
        """Return the values of groups of variables, computed by equations."""
        values |= evaluated(self._jaxpr, equations, [var for part in outs for var in part], values)
        return [[one.val if isinstance(one, Literal) else values[one] for one in part] for part in outs]

    def _values(self, *groups: Any) -> dict[Any, Any]:
        values = dict(self._constants)
        for variables, arrays in groups:
            values.update(zip(variables, arrays, strict=True))
        return values


def _split(
    jaxpr: Any, state: list[Any], rows: list[Any], seeds: list[Any], outs: list[Any], gradients: list[Any]
) -> _Split:
    """Split the equations of a step.

    What depends only on values from outside the loop is computed once, before it. A forward step computes what its
    results need; all else belongs to the backward step, which reads what a forward step has saved. What costs no more
    than reading it is computed again instead.
    """
    inputs = {*state, *rows}
    constant, moving, free = {*jaxpr.constvars}, {*inputs, *seeds}, set[Any]()
    before: list[Any] = []
    inside: list[Any] = []
    for equation in _without_discarded(jaxpr.eqns):
        if equation.primitive is _SEED:
            continue
        read = [var for var in equation.invars if isinstance(var, Var)]
        if equation.effects or any(var in moving for var in read):
            moving.update(equation.outvars)
            inside.append(equation)
        elif any(var in constant for var in read):
            constant.update(equation.outvars)
            before.append(equation)
        else:  # numbers alone: computed wherever it is read
            free.update(equation.outvars)
            inside.append(equation)
    of_numbers = needed(inside, [var for one in before for var in one.invars if var in free], set())
    is_backward = depends_on(inside, seeds)
    effects = [one for one in inside if one.effects]
    forward = needed(inside, outs, inputs, [one for one in effects if not is_backward(one)])
    saved = {
        var
        for equation in forward
        for var in equation.outvars
        if var not in free and equation.primitive.name not in _CHEAP
    }
    backward = needed(inside, gradients, {*saved, *inputs, *seeds}, list(filter(is_backward, effects)))
    read = [*gradients, *(var for equation in backward for var in equation.invars)]
    kept = dict.fromkeys(var for var in read if isinstance(var, Var) and (var in saved or var in state))
    return _Split([*of_numbers, *before], forward, backward, [*kept])


def _without_discarded(equations: list[Any]) -> list[Any]:
    """Return the equations of a step without the effects of a run that was repeated, see `restart`."""
    last = max((at for at, one in enumerate(equations) if one.primitive is _RESTART), default=-1)
    return [one for at, one in enumerate(equations) if at > last or not one.effects]


def depends_on(equations: list[Any], inputs: Iterable[Any]) -> Callable[[Any], bool]:
    """Return a function that returns whether an equation depends on some variables."""
    found = {*inputs}

    def depends(equation: Any) -> bool:
        return any(var in found for var in equation.invars if isinstance(var, Var))

    for one in equations:
        if depends(one):
            found.update(one.outvars)
    return depends


def needed(equations: list[Any], outs: Iterable[Any], given: set[Any], effects: Sequence[Any] = ()) -> list[Any]:
    """Return the equations that compute variables from those that are given, and those with an effect, in order."""
    wanted = {var for var in outs if isinstance(var, Var)} - given
    found: list[Any] = []
    for equation in reversed(equations):
        if not wanted.isdisjoint(equation.outvars) or any(one is equation for one in effects):
            found.append(equation)
            wanted.update(var for var in equation.invars if isinstance(var, Var) and var not in given)
    return found[::-1]


def evaluated(jaxpr: Any, equations: list[Any], outs: Sequence[Any], values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the values of variables, computed by equations from the values of others."""
    made = {var for equation in equations for var in equation.outvars}
    wanted = [*dict.fromkeys(one for one in outs if isinstance(one, Var))]
    read = [one for equation in equations for one in equation.invars if isinstance(one, Var)]
    given = [var for var in dict.fromkeys([*read, *wanted]) if var not in made]
    part = jaxpr.replace(constvars=[], invars=given, outvars=wanted, eqns=equations)
    found = _core.jaxpr_as_fun(_core.ClosedJaxpr(part, []))(*[values[var] for var in given])
    return dict(zip(wanted, found, strict=True))


def _draws() -> list[Draws]:
    current = substitutions.get()
    return [] if current is None else [*current.given.values(), current.ambient]


@contextmanager
def _own_draws(draws: Sequence[Draws], keys: Sequence[Any], uses: list[bool]) -> Iterator[None]:
    """Let each source of random numbers draw from a key of the step, and note which are used."""
    before = [(one.key, one.is_used) for one in draws]
    for one, key in zip(draws, keys, strict=True):
        one.key, one.is_used = key, False
    try:
        yield
    finally:
        uses[:] = [one.is_used for one in draws]
        for one, (key, is_used) in zip(draws, before, strict=True):
            one.key, one.is_used = key, is_used


@contextmanager
def _unchanged_states() -> Iterator[None]:
    """Reject a step that changes a parameter or a buffer, which a loop does not carry.

    Raises:
        TapeError: The step has changed one.
    """
    current = substitutions.get()
    states = [] if current is None else [*current.access.tree.states.items()]
    before = [_SLOT.__get__(state) for state, _ in states]
    try:
        yield
    finally:
        changed = [path for (state, path), old in zip(states, before, strict=True) if _SLOT.__get__(state) is not old]
        for (state, _), old in zip(states, before, strict=True):
            _SLOT.__set__(state, old)
    for path in changed:
        message = f"scan: the step changes {path}, which a loop under jit does not carry: make it a part of the state"
        raise TapeError(message)


def _of_dtype(value: Any, like: Any) -> Any:
    """Return a new state, or its gradient, with the shape and the dtype of the old one."""
    array = jnp.asarray(bare_of(value))
    return jnp.broadcast_to(jax.lax.convert_element_type(array, like.dtype), like.shape)


def _strong(array: Any) -> Any:
    """Return an array whose dtype does not depend on the other operand."""
    return jax.lax.convert_element_type(array, array.dtype)


def _bare_rows(value: Any, axis: int | None) -> Any:
    """Return a gradient with the axis of the loop first; a number, such as 0.0 for none, as it is."""
    array = bare_of(value)
    return array if axis is None or not hasattr(array, "shape") else jnp.moveaxis(jnp.asarray(array), axis, 0)


def _filled(value: Any, var: Any) -> Any:
    return jnp.broadcast_to(jnp.asarray(value, var.aval.dtype), var.aval.shape)


def _wrapped(arrays: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(Traced(array, _carries) for array in arrays)


def _carries(state: object) -> bool:
    """Return whether a parameter was given to the step that is being traced."""
    current = substitutions.get()
    return current is not None and state in current.access.tree.states


def restart() -> None:
    """Note that the step that is being traced is run again: what it has printed so far is not part of the loop."""
    _RESTART.bind()


# A gradient that a backward step is given: traced as a value of its own, and an input of the backward steps.
_SEED: Final = _core.Primitive("tapegrad_gradient")
_SEED.def_abstract_eval(lambda *, shape, dtype: jax.core.ShapedArray(shape, dtype))
_RESTART: Final = _core.Primitive("tapegrad_restart")
_RESTART.multiple_results = True
# With an effect, because JAX drops an equation without results.
_RESTART.def_effectful_abstract_eval(lambda: ([], {_RESTART}))
# Computed again by the backward step, because it takes no more time than reading the result from memory.
_CHEAP: Final = frozenset({"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy"})
_SLOT: Final[Any] = vars(Tensor)["data"]

"""The values of type variables in one call: `Bindings` for full checks, and local variables of the short form."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple, get_args

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.messages import conflict, mixed_dtypes, too_small, wrong_dtype
from tapegrad.sizes import Dim, Floor, Name, Size, call_of, is_unknown, names_in, size_of_name
from tapegrad.sizes.terms import REPLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np

    from tapegrad.sizes.terms import Monomial

Waiting: TypeAlias = "tuple[Dim, int, str, Callable[[int | None], ShapeError]]"


def name_of(variable: Any) -> Name:
    """Return the name of a type variable; two variables with the same label have different names.

    Its least value is 1, or 0 if its default is 0, directly or through another variable.
    """
    star = "*" if isinstance(variable, TypeVarTuple) else ""
    default = getattr(variable, "__default__", None)
    least = 0 if get_args(getattr(default, "__default__", default)) == (0,) else 1
    return Name(f"{star}{variable.__name__}", str(id(variable)), least)


def last_of(variable: Any) -> Any:
    """Return the size that a shape ends in: `N`, if its variable has the default `Shape[N]`; None for others."""
    default = get_args(getattr(variable, "__default__", None))
    return default[0] if len(default) == 1 and isinstance(default[0], TypeVar) else None


def substituted(size: Size, values: Mapping[Name, Any]) -> Size:
    """Return a size with the values of its names substituted, an int if all have one."""
    if isinstance(size, int) or size.terms is None or not values:
        return size
    names = _names_of(size.terms)
    given = tuple(map(values.get, names))
    # Facts and symbolic values, which a summary has, are of one call; of ints the result is always the same.
    if REPLACEMENTS.get() or not all(value is None or type(value) is int for value in given):
        return _computed(size.terms, values)
    return _computed_from_ints(size.terms, names, given)


@lru_cache(1024)
def _names_of(terms: frozenset[tuple[Monomial, int]]) -> tuple[Name, ...]:
    return tuple(names_in(Dim(terms)))


@lru_cache(4096)
def _computed_from_ints(
    terms: frozenset[tuple[Monomial, int]], names: tuple[Name, ...], given: tuple[int | None, ...]
) -> Size:
    """Compute a size from the values of its names; None stands for no value."""
    return _computed(terms, {name: value for name, value in zip(names, given, strict=True) if value is not None})


def _computed(terms: frozenset[tuple[Monomial, int]], values: Mapping[Name, Any]) -> Size:
    total: Size = 0
    for monomial, coefficient in terms:
        term: Size = coefficient
        for factor in monomial:
            if isinstance(factor, Floor):
                term = term * (substituted(factor.numerator, values) // substituted(factor.denominator, values))
            elif (call := call_of(factor)) is not None:
                term = term * call.computed([substituted(one, values) for one in call.arguments])
            else:
                term = term * values.get(factor, size_of_name(factor))
        total = total + term
    return total


def only_name(size: Size) -> Name | None:
    """Return the name of a size that consists of a single name, or None for any other size."""
    if isinstance(size, int) or size.terms is None or len(size.terms) != 1:
        return None
    ((monomial, coefficient),) = size.terms
    if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Name) and call_of(monomial[0]) is None:
        return monomial[0]
    return None


def is_open(size: Size, values: Mapping[Name, Any]) -> bool:
    """Return whether a size has a name without a value."""
    if isinstance(size, int):
        return False
    factors = [factor for monomial, _ in size.terms or () for factor in monomial]
    return any(
        factor not in values if not (parts := _parts(factor)) else _any_open(parts, values) for factor in factors
    )


def _any_open(sizes: Iterable[Size], values: Mapping[Name, Any]) -> bool:
    return any(is_open(size, values) for size in sizes)


def _parts(factor: Name | Floor) -> tuple[Size, ...]:
    """Return the sizes that a factor is computed from; a name by itself has none."""
    if isinstance(factor, Floor):
        return factor.numerator, factor.denominator
    call = call_of(factor)
    return () if call is None else call.arguments


class Bindings:
    """The values of names in one call: ints, shapes and dtypes, each with the parameter that first bound it."""

    __slots__ = ("_later", "call", "known", "returning", "tapes", "values")

    def __init__(self, call: str, known: Mapping[Name, Any]) -> None:
        self.call = call
        self.known = known  # the instance's values of its class's variables
        self.values: dict[Name, tuple[Any, str]] = {}
        self.tapes: dict[Name, bool] = {}
        self.returning = False
        self._later: list[Waiting] = []

    def fit(self, size: Size, found: int, place: str, error: Callable[[int | None], ShapeError]) -> None:
        """Compare a number with a declared size; a computed size is compared after all names are bound."""
        if isinstance(size, int):
            if found != size:
                raise error(None)
        elif name := only_name(size):
            self.bind_size(name, found, place)
        elif size.terms is not None:
            self._later.append((size, found, place, error))

    def valued(self, size: Size, values: Mapping[Name, Any]) -> Size:
        """Return a size with the values of its names substituted."""
        try:
            return substituted(size, values)
        except (ShapeError, ZeroDivisionError):
            raise ShapeError(f"{self.call}: {size} divides by zero") from None

    def bind_size(self, name: Name, value: int, place: str) -> None:
        """Bind a name to a number that is at least its least value."""
        if value < name.least and name not in self.values:
            raise ShapeError(too_small(self.call, name.label, value, place, name.least))
        self.bind(name, value, place)

    def bind(self, name: Name, value: Any, place: str) -> None:
        """Bind a name, or compare with the value that it is bound to."""
        first, where = self.values.setdefault(name, (value, place))
        if first != value:
            raise ShapeError(conflict(self.call, name.label, first, where, value, place))

    def bind_dtype(self, name: Name, dtype: np.dtype[Any], place: str) -> None:
        """Bind a name to a dtype, or compare with the dtype that it is bound to."""
        if name in self.known:
            if self.known[name] != dtype:
                raise DTypeError(wrong_dtype(self.call, place, dtype.name, self.known[name].name))
            return
        first, where = self.values.setdefault(name, (dtype, place))
        if first != dtype:
            raise DTypeError(mixed_dtypes(self.call, first.name, where, dtype.name, place))

    def finish(self) -> None:
        """Compare computed sizes; one with a single unbound name is solved for that name."""
        waiting: list[Waiting] = []
        while self._later and len(waiting) != len(self._later):
            waiting, self._later = self._later, []
            for size, found, place, error in waiting:
                self._settle(size, found, place, error)

    def saved(self) -> tuple[Any, ...]:
        """Return a copy of all bindings, for `restore`."""
        return dict(self.values), dict(self.tapes), list(self._later)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo all bindings since `saved`."""
        values, tapes, later = saved
        self.values, self.tapes, self._later = dict(values), dict(tapes), list(later)

    def _settle(self, size: Dim, found: int, place: str, error: Callable[[Any], ShapeError]) -> None:
        values = {name: value for name, (value, _) in self.values.items()} | dict(self.known)
        value = self.valued(size, values)
        if is_unknown(value):
            return
        if isinstance(value, int) or not is_open(size, values):  # in a summary a bound name may have a symbolic value
            if value != found:
                raise error(value)
            return
        terms = dict(value.terms or ())
        constant = terms.pop((), 0)
        if len(terms) == 1 and len(next(iter(terms))) == 1:
            (((name,), coefficient),) = terms.items()
            if isinstance(name, Name) and call_of(name) is None:
                solution, rest = divmod(found - constant, coefficient)
                if rest:
                    raise error(None)
                self.bind_size(name, solution, place)
                return
        self._later.append((size, found, place, error))


class NoShortFormError(Exception):
    """A check needs more than one expression; the wrapper then runs the full check only."""


class Scope:
    """The names of the short form: constants, and a local variable for each type variable."""

    def __init__(self, class_names: frozenset[Name]) -> None:
        self.class_names = class_names  # their locals start with the instance's value, or None
        self.open = set(class_names)  # locals that may be None
        self.constants: dict[str, Any] = {}
        self.locals: dict[Name, str] = {}
        self.bound: set[Name] = set()
        self.returning = False
        self._later: list[tuple[Size, str]] = []
        self._count = 0

    def constant(self, value: object) -> str:
        """Return a new constant's name for a value."""
        name = f"__c{len(self.constants)}"
        self.constants[name] = value
        return name

    def fresh(self) -> str:
        """Return the name of a new local variable."""
        self._count += 1
        return f"__s{self._count}"

    def local(self, name: Name) -> str:
        """Return the name of the local variable of a type variable."""
        return self.locals.setdefault(name, f"__v{len(self.locals)}")

    def bind(self, name: Name, value: str, fits: str, *, equals: str = "==") -> str:
        """Return an expression that binds a name, or compares with it if it is bound already."""
        local = self.local(name)
        if name in self.bound:
            return f"{value} {equals} {local}"
        self.bound.add(name)
        first = f"({local} := {value}) {fits}"
        return f"({value} {equals} {local} if {local} is not None else {first})" if name in self.open else first

    def reopen(self, names: set[Name]) -> None:
        """Mark names as possibly unbound, because the expression that binds them may not run."""
        self.bound -= names
        self.open |= names

    def fit(self, size: Size, found: str) -> list[str]:
        """Return the comparisons of a number with a declared size; none if it is computed or unknown."""
        if isinstance(size, int):
            return [f"{found} == {size}"]
        if name := only_name(size):
            return [self.bind(name, found, f">= {name.least}")]
        if not is_unknown(size):
            self._later.append((size, found))
        return []

    @property
    def waiting(self) -> int:
        """The number of computed sizes that `finish` will compare."""
        return len(self._later)

    def finish(self) -> list[str]:
        """Return the comparisons with computed sizes."""
        later, self._later = self._later, []
        return [f"{found} == {self._computed(size)}" for size, found in later]

    def _computed(self, size: Size) -> str:
        if isinstance(size, int):
            return str(size)
        terms = []
        for monomial, coefficient in size.terms or ():
            factors = [self._floor(f) if isinstance(f, Floor) else self._bound_local(f) for f in monomial]
            terms.append("*".join([str(coefficient), *factors]))
        return " + ".join(terms)

    def _floor(self, factor: Floor) -> str:
        divisor = substituted(factor.denominator, {})
        if not isinstance(divisor, int):
            raise NoShortFormError
        return f"(({self._computed(factor.numerator)}) // {divisor})"

    def _bound_local(self, name: Name) -> str:
        if name not in self.bound:
            raise NoShortFormError
        return self.locals[name]

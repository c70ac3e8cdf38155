"""What accepted calls say about sizes: facts that follow from equal sizes, and how calls of layers use them.

A name of a size, such as `D` in an annotation, is another size than `N` to an op. A layer of one width may be called
with inputs of both names, which says that they are one size. So a call of a layer uses a fact in two ways: the call is
rejected only if it fails for all values of the names, and its result is written with the names of its arguments only if
the call is accepted with the fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.types import TupleType, get_proper_type

from tapegrad.mypy.conversion import has_opaque, settled, tensor_parts
from tapegrad.sizes import (
    Dim,
    Fact,
    Name,
    Same,
    Size,
    assuming,
    call_of,
    names_in,
    simplest,
    size_of_name,
    surely_differ,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mypy.types import Type

    from tapegrad.mypy.conversion import Make


def facts_of(equal: Iterable[tuple[Size, Size]]) -> list[Same]:
    """Return the facts about opaque names that follow from equal sizes.

    From `width + 1` and `D`, which are equal, it follows that `width` is `D - 1`.
    """
    found = [_same(one, other) or _same(other, one) or _solved(one, other) for one, other in equal]
    return [fact for fact in found if fact is not None]


def _same(size: Size, other: Size) -> Same | None:
    name = only_name(size)
    if name is None or not _is_learned(name) or not isinstance(other, Dim) or mentions(other, name):
        return None
    return Same(name, other)


def _solved(size: Size, other: Size) -> Same | None:
    """Solve an equation for the one opaque name in it."""
    difference = size - other
    terms = dict(difference.terms or ()) if isinstance(difference, Dim) else {}
    opaque = [name for name in names_in(difference) if name.is_opaque]
    if len(opaque) != 1 or not _is_learned(opaque[0]):
        return None
    (name,) = opaque
    times = terms.pop((name,), 0)
    if not times or any(n % times for n in terms.values()):
        return None
    value = Dim(frozenset((monomial, n // -times) for monomial, n in terms.items())) + 0
    return Same(name, value) if isinstance(value, Dim) and not mentions(value, name) else None


def _is_learned(name: Name) -> bool:
    return name.is_opaque and call_of(name) is None


def only_name(size: Size) -> Name | None:
    """Return the name that a size is; None if it is anything else."""
    match tuple(size.terms or ()) if isinstance(size, Dim) else ():
        case ((((Name() as name),), 1),):
            return name
    return None


def mentions(size: Size, name: Name) -> bool:
    """Return whether a size is computed from a name."""
    return isinstance(size, Dim) and f"{name!r}" in repr(size)


def for_all_values(facts: Sequence[Fact], *sizes: Size) -> list[Fact]:
    """Return facts with names that may be equal in place of those that are not, such as `D` and `N`."""
    names = _declared_names(facts).union(*(filter(_is_declared, names_in(size)) for size in sizes))
    perhaps_equal = [Same(name, size_of_name(name._replace(is_opaque=True))) for name in sorted(names)]
    return [*perhaps_equal, *facts]


def never_same(one: Size, other: Size, facts: Sequence[Fact]) -> bool:
    """Return whether two sizes differ for all values of their names, as `D` and `D + 1` do, and `D` and `N` do not."""
    with assuming(for_all_values(facts, one, other)):
        return surely_differ(one, other)


def with_facts(result: Type, facts: Sequence[Fact], given: Iterable[Size], make: Make) -> Type:
    """Return the type of one or several tensors with the sizes written as facts say, by names in the `given` sizes."""
    is_result = tensor_parts(result) is not None or isinstance(get_proper_type(result), TupleType)
    if not facts or not is_result or not has_opaque(result) or not _are_consistent(facts):
        return result
    names = {name for size in given for name in names_in(size)}
    with assuming([fact for fact in facts if _declared_names([fact]) <= names]):
        return settled(result, make)


def _are_consistent(facts: Sequence[Fact]) -> bool:
    """Return whether facts leave different names different: else two calls said that two of them are one size."""
    names = _declared_names(facts)
    with assuming(facts):
        return all(only_name(simplest(size_of_name(name))) == name for name in names)


def _declared_names(facts: Sequence[Fact]) -> set[Name]:
    return {name for fact in facts if isinstance(fact, Same) for name in names_in(fact.size) if _is_declared(name)}


def _is_declared(name: Name) -> bool:
    """Return whether a name is a type variable of the program, and no value of an expression."""
    return not name.is_opaque

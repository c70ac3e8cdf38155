"""Sizes of a guard with the values of their names: of ints the result is kept, with facts and symbolic values not."""

from tapegrad.guard._names import substituted
from tapegrad.sizes import Divides, Name, assuming, named

H, K = Name("H"), Name("K")
HALVES = named("H") // 2 * named("K")


def test_a_size_is_computed_from_ints() -> None:
    assert substituted(HALVES, {H: 5, K: 2}) == 4
    assert substituted(HALVES, {H: 7, K: 2}) == 6
    assert str(substituted(HALVES, {K: 2})) == "2*(H // 2)"
    assert str(substituted(HALVES, {H: 5})) == "2*K"


def test_a_size_follows_the_facts_of_each_call() -> None:
    size = named("H") // 2 * named("K") + 1
    with assuming([Divides(2, named("H"))]):
        assert str(substituted(size, {K: 2})) == "H + 1"
    assert str(substituted(size, {K: 2})) == "2*(H // 2) + 1"


def test_a_size_is_computed_from_symbolic_values() -> None:
    for other in "MN":
        assert str(substituted(HALVES, {H: 6, K: named(other)})) == f"3*{other}"

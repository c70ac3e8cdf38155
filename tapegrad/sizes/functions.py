"""Functions of sizes: powers, the largest and the smallest of several sizes.

A result that is not proven to be a polynomial is an opaque name, such as `max(N - 2, 0)`, with the bounds that follow
from its arguments; the same function of the same arguments gives the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tapegrad.sizes.bounds import surely_less, upper_bound
from tapegrad.sizes.comparisons import surely_same
from tapegrad.sizes.terms import UNKNOWN, Name, Size, is_unknown, size_of_name, terms_in
from tapegrad.sizes.values import names_in, value_is_computed_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DEEPEST: Final = 2  # of functions of functions: without a limit, a size that a loop computes never stops growing


class Call(NamedTuple):
    """A function of sizes that is not computed: "max", "min" or "pow", and its arguments.

    Examples:
        >>> call = tg.sizes.Call("max", (tg.sizes.named("N") - 2, 0))
        >>> print(call.computed(call.arguments), call.computed([7, 0]))
        max(N - 2, 0) 7
    """

    function: str
    arguments: tuple[Size, ...]

    def computed(self, arguments: Iterable[Size]) -> Size:
        """Return the function of some arguments."""
        return _FUNCTIONS[self.function](*arguments)


_calls: dict[Name, Call] = {}


def call_of(name: Name) -> Call | None:
    """Return the function and the arguments that a name stands for; None for any other name.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> for name in sorted(tg.sizes.names_in(tg.sizes.largest([n - 2, 0]))):
        ...     print(name, tg.sizes.call_of(name) is None)
        N True
        max(N, 2) False
    """
    return _calls.get(name)


def power(base: Size, exponent: Size) -> Size:
    """Return a size to the power of another; unknown if the exponent may be negative.

    Examples:
        >>> tg.sizes.power(2, 3)
        8
        >>> n = tg.sizes.named("N")
        >>> print(tg.sizes.power(n + 1, 2))
        N*N + 2*N + 1
        >>> print(3 * tg.sizes.power(2, n))
        3*2**N
    """
    if isinstance(exponent, int):
        if not 0 <= exponent < (64 if isinstance(base, int) else 9):
            return UNKNOWN
        whole: Size = 1
        for _ in range(exponent):
            whole = whole * base
        return whole
    if not surely_less(-1, base) or not surely_less(-1, exponent):
        return UNKNOWN
    if surely_same(base, 1):
        return 1
    label = "**".join(_in_parentheses(size) for size in (base, exponent))
    return _named(Call("pow", (base, exponent)), label, least=int(surely_less(0, base)), most=None)


def largest(sizes: Iterable[Size]) -> Size:
    """Return the largest of some sizes; unknown if one of them is.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> print(tg.sizes.largest([n, n + m, 1]))
        M + N
        >>> print(tg.sizes.largest([n, m]))
        max(M, N)
        >>> tg.sizes.is_unknown(tg.sizes.largest([n, tg.sizes.UNKNOWN]))
        True
    """
    return _extreme("max", list(sizes), lambda n, m: surely_less(m, n + 1))


def smallest(sizes: Iterable[Size]) -> Size:
    """Return the smallest of some sizes; unknown if one of them is.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> tg.sizes.smallest([n + 2, 3, 4 * n + 8])
        3
        >>> few = tg.sizes.smallest([n, 8])
        >>> print(few, tg.sizes.surely_less(few, 9))
        min(N, 8) True
    """
    return _extreme("min", list(sizes), lambda n, m: surely_less(n, m + 1))


def sliced(n: Size, start: Size, stop: Size) -> Size:
    """Return how many of `n` elements are between two bounds of which it is unknown whether they are negative.

    Examples:
        >>> s = tg.sizes.size_of_name(tg.sizes.Name("s", least=0, is_opaque=True))
        >>> part = tg.sizes.sliced(tg.sizes.named("N"), s, s + 8)
        >>> print(part, tg.sizes.surely_less(part, 9))
        N[slice(s, s + 8)] True
    """
    if any(map(is_unknown, (n, start, stop))) or max(map(_depth, (n, start, stop))):
        return UNKNOWN
    length, whole = stop - start, upper_bound(n)
    most = min((max(one, 0) for one in (length, whole) if isinstance(one, int)), default=None)
    label = f"{_in_parentheses(n)}[slice({start}, {stop})]"
    name = opaque_name(label, f"<={'' if most is None else most} {(n, start, stop)!r}")
    value_is_computed_by(name, lambda n, start, stop: len(range(n)[start:stop]), (n, start, stop))
    return size_of_name(name)


def opaque_name(label: str, scope: str) -> Name:
    """Return the name of an opaque size: an expression, and where it has this value or what it is computed from.

    Examples:
        >>> tg.sizes.opaque_name("config.width", "encode").least
        0
    """
    bound = scope[2 : scope.index(" ")] if scope.startswith("<=") else ""
    return Name(label, scope, least=0, is_opaque=True, most=int(bound) if bound else None)


def _extreme(function: str, sizes: list[Size], is_beyond: Callable[[Size, Size], bool]) -> Size:
    """Return the size that is proven to be beyond all others, or a name for it."""
    kept: list[Size] = []
    for size in _flattened(function, sizes):
        if not any(is_beyond(other, size) for other in kept):
            kept = [*(other for other in kept if not is_beyond(size, other)), size]
    if len(kept) == 1:
        return kept[0]
    if any(map(is_unknown, kept)) or not kept:
        return UNKNOWN
    kept.sort(key=lambda size: (isinstance(size, int), repr(_split(size)[0])))
    if shift := _shift(kept):
        return _extreme(function, [size - shift for size in kept], is_beyond) + shift
    is_max = function == "max"
    least = [next((n for n in (1, 0) if surely_less(n - 1, size)), -1) for size in kept]
    most = [upper_bound(size) for size in kept]
    known = [n for n in most if n is not None]
    highest = (max(known) if len(known) == len(kept) else None) if is_max else min(known, default=None)
    label = f"{function}({', '.join(map(str, kept))})"
    return _named(Call(function, tuple(kept)), label, least=(max if is_max else min)(least), most=highest)


def _shift(sizes: list[Size]) -> int:
    """Return the number to take from all arguments of max or min: `max(N - 2, 0)` is `max(N, 2) - 2`.

    So that `max(N - 2, 0) + 2` and `max(N, 2)` have the same terms. No number among the arguments gets below 0.
    """
    shift = _split(sizes[0])[1]
    return shift if all(size >= shift for size in sizes if isinstance(size, int)) else 0


def _split(size: Size) -> tuple[Size, int]:
    """Return a size as a sum without a number, and the number."""
    number = 0 if (terms := terms_in(size)) is None else terms.get((), 0)
    return size - number, number


def _flattened(function: str, sizes: list[Size]) -> list[Size]:
    """Return the arguments with those of the same function among them in their place."""
    flat: list[Size] = []
    for size in sizes:
        rest, number = _split(size)
        call = next((_calls[name] for name in names_in(rest) if name in _calls and _is_alone(name, rest)), None)
        is_same = call is not None and call.function == function
        flat += [one + number for one in call.arguments] if call is not None and is_same else [size]
    return flat


def _is_alone(name: Name, size: Size) -> bool:
    return surely_same(size, size_of_name(name))


def _named(call: Call, label: str, least: int, most: int | None) -> Size:
    if max(map(_depth, call.arguments)) >= _DEEPEST:
        return UNKNOWN
    name = Name(label, f"{call.function}{call.arguments!r}", least, is_opaque=True, most=most)
    _calls[name] = call
    value_is_computed_by(name, _FUNCTIONS[call.function], call.arguments)
    return size_of_name(name)


def _depth(size: Size) -> int:
    return max((1 + max(map(_depth, _calls[name].arguments)) for name in names_in(size) if name in _calls), default=0)


def _in_parentheses(size: Size) -> str:
    text = str(size)
    return text if text.replace(".", "").isidentifier() or text.isdecimal() else f"({text})"


_FUNCTIONS: Final[dict[str, Callable[..., Size]]] = {
    "max": lambda *sizes: largest(sizes),
    "min": lambda *sizes: smallest(sizes),
    "pow": power,
}

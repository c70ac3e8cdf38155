"""Arrays that methods of NumPy's generators draw, such as `rng.choice`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tapegrad.mypy.calls.array_sizes import UnreadError, broadcasted, same_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.mypy.calls.array_sizes import Given, Reader, Sizes

DRAWN: Final = {
    # The parameters before the size, which is the last one; without a size they are broadcast.
    "beta": ("a", "b"),
    "binomial": ("n", "p"),
    "chisquare": ("df",),
    "exponential": ("scale",),
    "f": ("dfnum", "dfden"),
    "gamma": ("shape", "scale"),
    "geometric": ("p",),
    "gumbel": ("loc", "scale"),
    "integers": ("low", "high"),
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "lognormal": ("mean", "sigma"),
    "negative_binomial": ("n", "p"),
    "normal": ("loc", "scale"),
    "pareto": ("a",),
    "poisson": ("lam",),
    "power": ("a",),
    "randint": ("low", "high"),
    "random": (),
    "random_integers": ("low", "high"),
    "random_sample": (),
    "rayleigh": ("scale",),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": ("shape",),
    "standard_normal": (),
    "standard_t": ("df",),
    "triangular": ("left", "mode", "right"),
    "uniform": ("low", "high"),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "weibull": ("a",),
    "zipf": ("a",),
}


def drawn(read: Reader, given: Given, name: str) -> Sizes | None:
    """Return the sizes of what a method of a generator draws."""
    if name in ("rand", "randn"):
        return [read.value(one) for one in given.positional] or None
    if name in _DRAWS:
        return _DRAWS[name](read, given)
    if name not in DRAWN:
        return None
    parameters = DRAWN[name]
    size = _size(read, given, len(parameters))
    if size is not None:
        return size
    several = [read.alike(given.one(one, place)) for place, one in enumerate(parameters) if given.has(one, place)]
    return (broadcasted(several) or None) if several else None  # without any size it is a number


def _size(read: Reader, given: Given, place: int) -> Sizes | None:
    """Return the size that a call gives; None if it gives none.

    Raises:
        UnreadError: Its rank is unknown.
    """
    if not given.has("size", place) or getattr(given.one("size", place), "fullname", "") == "builtins.None":
        return None
    sizes = read.shape(given.one("size", place))
    if sizes is None:
        raise UnreadError
    return sizes


def _permutation(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `rng.permutation(x)`, or of `rng.permutation(n)`."""
    return read.alike(given.one("x", 0)) or read.shape(given.one("x", 0))


def _choice(read: Reader, given: Given) -> Sizes | None:
    """Return the sizes of `rng.choice(x, size)`: rows of x, or numbers."""
    size, x = _size(read, given, 1), read.alike(given.one("a", 0))
    return None if given.has("axis", 4) else [*(size or []), *x[1:]]


def _dirichlet(read: Reader, given: Given) -> Sizes | None:
    return [*(_size(read, given, 1) or []), *read.alike(given.one("alpha", 0))]


def _multinomial(read: Reader, given: Given) -> Sizes | None:
    size, n, p = _size(read, given, 2), read.alike(given.one("n", 0)), read.alike(given.one("pvals", 1))
    return [*(size or []), *p] if not n and len(p) == 1 else None


def _multivariate(read: Reader, given: Given) -> Sizes | None:
    mean = read.alike(given.one("mean", 0))
    return [*(_size(read, given, 2) or []), *mean] if len(mean) == 1 else None


_DRAWS: Final[dict[str, Callable[[Reader, Given], Sizes | None]]] = {
    "choice": _choice,
    "dirichlet": _dirichlet,
    "multinomial": _multinomial,
    "multivariate_normal": _multivariate,
    "permutation": _permutation,
    "permuted": same_sizes("x"),
}

"""Numba kernels: each processes some rows of matrices, in one thread and without the GIL.

Exponentials are written out, so that a loop over them calls no function of the C library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.formulas import P, Q, T, U
from tapegrad.engines.numba import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Callable

Decorator: TypeAlias = "Callable[[Callable[..., Any]], Any]"

numba: Final[Any] = import_module("numba")  # Any: mypy has no types for it
F: Final = np.float32

OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy"}


def _compiler(**options: Any) -> Decorator:
    """Return a decorator that compiles functions, and caches the result where a folder can be used."""

    def compile_function(function: Callable[..., Any]) -> Any:
        cacheable = function if numba.config.CACHE_DIR else kernel_cache.with_cache_folder(function)
        if cacheable is not None:
            try:
                return numba.njit(cacheable, cache=True, **options)
            except RuntimeError:  # Numba found no folder either
                pass
        return numba.njit(function, **options)

    return compile_function


# A product may be added without rounding, in one instruction (FMA). The flags are explicit, because a function without
# flags would be compiled with those of its caller.
compiled: Final[Decorator] = _compiler(fastmath={"contract"}, **OPTIONS)
# In-place updates keep the GIL, so that no other thread reads half-updated arrays.
with_gil: Final[Decorator] = _compiler(fastmath={"contract"}, **OPTIONS | {"nogil": False})
# Each product is rounded; an empty set of flags would be replaced by those of the caller.
unfused: Final[Decorator] = _compiler(fastmath={"nsz"}, **OPTIONS)
# Sums may be taken in any order, which lets a row be vectorized; NaN and infinity keep their meaning.
reassociated: Final[Decorator] = _compiler(fastmath={"reassoc", "contract", "nsz"}, **OPTIONS)


@numba.extending.intrinsic
def added(typing, numbers, index, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001  # read by Numba
    """Add to one of some 64-bit integers that threads share, atomically; return what it was before."""

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    i64 = numba.int64
    return i64(numbers, i64, i64), generated


@numba.extending.intrinsic
def at_address(typing, address):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001  # read by Numba
    """Return a pointer to the memory at an address."""

    def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(numba.int64), generated


@compiled
def reduced_exp32(x: Any) -> Any:
    """Return n and q, where `e ** x = 2 ** n * (1 + q)` and n is whole.

    Source:
        Moshier, Cephes 2.8, single/expf.c.
    """
    n = np.floor(x * F(1.44269504088896341) + F(0.5))
    r = x - n * F(0.693359375) - n * F(-2.12194440e-4)
    p = F(1.9875691500e-4)
    p = p * r + F(1.3981999507e-3)
    p = p * r + F(8.3334519073e-3)
    p = p * r + F(4.1665795894e-2)
    p = p * r + F(1.6666665459e-1)
    p = p * r + F(5.0000001201e-1)
    return n, p * (r * r) + r


@compiled
def reduced_exp64(x: Any) -> Any:
    """Return n, p and q, where `e ** x = 2 ** n * (q + p) / (q - p)` and n is whole.

    Source:
        Moshier, Cephes 2.8, double/exp.c.
    """
    n = np.floor(x * 1.4426950408889634073599 + 0.5)
    r = x - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
    z = r * r
    p = r * ((1.26177193074810590878e-4 * z + 3.02994407707441961300e-2) * z + 9.99999999999999999910e-1)
    q = ((3.00198505138664455042e-6 * z + 2.52448340349684104192e-3) * z + 2.27265548208155028766e-1) * z + 2.0
    return n, p, q


@compiled
def power_of_two32(n: Any) -> Any:
    """Return 2 to an integer power, from -126 to 128, where the result is infinite."""
    return np.int32((np.int32(n) + 127) << 23).view(np.float32)


@compiled
def power_of_two64(n: Any) -> Any:
    """Return 2 to an integer power, from -1022 to 1024, where the result is infinite."""
    return np.int64((np.int64(n) + 1023) << 52).view(np.float64)


@compiled
def exp32(x: Any) -> Any:
    """Compute e to the power `x`, to one unit in the last place."""
    # Outside, e ** x is 0 or infinite.
    x = F(-104) if x < F(-104) else x  # noqa: FURB136  # NaN stays one
    x = F(89) if x > F(89) else x  # noqa: FURB136  # NaN stays one
    n, q = reduced_exp32(x)
    # Two factors, because 2 to the power n may overflow where the product does not.
    half = np.floor(n * F(0.5))
    return (F(1) + q) * power_of_two32(half) * power_of_two32(n - half)


@compiled
def exp64(x: Any) -> Any:
    """Compute e to the power `x`, to one unit in the last place."""
    # Outside, e ** x is 0 or infinite.
    x = -746.0 if x < -746.0 else x  # noqa: FURB136  # NaN stays one
    x = 710.0 if x > 710.0 else x  # noqa: FURB136  # NaN stays one
    n, p, q = reduced_exp64(x)
    half = np.floor(n * 0.5)
    return (1.0 + 2.0 * (p / (q - p))) * power_of_two64(half) * power_of_two64(n - half)


@compiled
def sigmoid32(x: Any) -> Any:
    """Compute `1 / (1 + e ** -x)`, to three units in the last place."""
    # Above 87 it rounds to 1, and below -88.4 it is 0 or subnormal.
    x = F(87) if x > F(87) else x  # noqa: FURB136  # NaN stays one
    x = F(-89) if x < F(-89) else x  # noqa: FURB136  # NaN stays one
    n, q = reduced_exp32(-x)
    return F(1) / (F(1) + (F(1) + q) * power_of_two32(n))


@compiled
def sigmoid64(x: Any) -> Any:
    """Compute `1 / (1 + e ** -x)`, to three units in the last place."""
    # Above 708 it rounds to 1, and below -709.4 it is 0 or subnormal.
    x = 708.0 if x > 708.0 else x  # noqa: FURB136  # NaN stays one
    x = -710.0 if x < -710.0 else x  # noqa: FURB136  # NaN stays one
    n, p, q = reduced_exp64(-x)
    return (q - p) / (q - p + power_of_two64(n) * (q + p))


@compiled
def tanh32(x: Any) -> Any:
    """Compute the hyperbolic tangent, `e / (e + 2)` of `e = e ** 2x - 1`, to three units in the last place."""
    a = abs(x) + abs(x)
    n, q = reduced_exp32(F(20) if a > F(20) else a)  # noqa: FURB136  # NaN stays one; tanh(10) rounds to 1
    e = power_of_two32(n) * q + (power_of_two32(n) - F(1))  # near 0, e is q
    y = e / (e + F(2))
    return y if x > F(0) else (-y if x < F(0) else x)  # -0 and NaN stay themselves


@compiled
def tanh64(x: Any) -> Any:
    """Compute the hyperbolic tangent, `(e - 1) / (e + 1)` of `e = e ** 2x`, to four units in the last place."""
    a = abs(x) + abs(x)
    n, p, q = reduced_exp64(40.0 if a > 40.0 else a)  # noqa: FURB136  # NaN stays one; tanh(20) rounds to 1
    less, more = power_of_two64(n) - 1.0, power_of_two64(n) + 1.0
    # Near 1 the difference from 1 is exact; near 0 the result is p / q.
    y = (2.0 * (q - p) if n > 1.0 else q * less + p * more) / (q * more + p * less)
    y = 1.0 - y if n > 1.0 else y
    return y if x > 0.0 else (-y if x < 0.0 else x)  # -0 and NaN stay themselves


@compiled
def erf32(x: Any) -> Any:
    """Compute the error function, see `formulas.erf`."""
    a = min(abs(x), F(6))
    z = a * a
    t, u, p, q = F(0), F(0), F(0), F(0)
    for one in T:
        t = t * z + F(one)
    for one in U:
        u = u * z + F(one)
    for one in P:
        p = p * a + F(one)
    for one in Q:
        q = q * a + F(one)
    above_one = F(1) - exp32(-z) * p / q
    y = a * t / u if a < F(1) else above_one
    return y if x > F(0) else (-y if x < F(0) else x)  # -0 and NaN stay themselves


@compiled
def erf64(x: Any) -> Any:
    """Compute the error function, see `formulas.erf`."""
    a = min(abs(x), 6.0)
    z = a * a
    t, u, p, q = 0.0, 0.0, 0.0, 0.0
    for one in T:
        t = t * z + one
    for one in U:
        u = u * z + one
    for one in P:
        p = p * a + one
    for one in Q:
        q = q * a + one
    above_one = 1.0 - exp64(-z) * p / q
    y = a * t / u if a < 1.0 else above_one
    return y if x > 0.0 else (-y if x < 0.0 else x)  # -0 and NaN stay themselves


@compiled
def largest_bits(bits: Any, row: Any) -> Any:
    """Return the bits of the largest of a row of floats, with a defined order even if there is a NaN.

    The bits as integers are ordered as the floats from 0 up are, and in reverse below 0. If there is a NaN, the result
    is one of the floats, or that NaN.
    """
    most = least = bits[row, 0]
    for column in range(bits.shape[1]):
        most, least = max(most, bits[row, column]), min(least, bits[row, column])
    return most if most >= 0 else least


def largest(bits: Any, row: Any) -> Any:
    """Return the largest of a row of floats, given by their bits."""
    raise NotImplementedError


@numba.extending.overload(largest, jit_options=OPTIONS)
def _largest_of_bits(bits, row):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001  # as above
    if bits.dtype == numba.int32:
        return lambda bits, row: np.int32(largest_bits(bits, row)).view(np.float32)
    return lambda bits, row: np.int64(largest_bits(bits, row)).view(np.float64)


@reassociated
def add_to_sum(x: Any, y: Any) -> Any:
    """Add to a sum, whose terms may be added in any order."""
    return x + y


@compiled
def relu_back(x: Any, dy: Any, dx: Any) -> None:
    """Compute the gradient of `relu` for arrays of rank 1."""
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        dx[i] = dy[i] if x[i] > zero else zero

"""The types of computed sizes: `Add[N, L[1]]` is the size N + 1 in an annotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeAliasType, TypeVar

N0 = TypeVar("N0", bound=int, default=Any)
N1 = TypeVar("N1", bound=int, default=Any)
Content = TypeVar("Content", default=Any, covariant=True)


# Other checkers see Any; the plugin reads the name before the alias expands and replaces it by an `Arithmetic`.
Add = TypeAliasType("Add", Any, type_params=(N0, N1))
"""`Add[N, M]` is the size N + M; each argument is a name, a literal, or another computed size."""
Sub = TypeAliasType("Sub", Any, type_params=(N0, N1))
"""`Sub[N, M]` is the size N - M; each argument is a name, a literal, or another computed size."""
Mul = TypeAliasType("Mul", Any, type_params=(N0, N1))
"""`Mul[N, M]` is the size N * M; each argument is a name, a literal, or another computed size."""
FloorDiv = TypeAliasType("FloorDiv", Any, type_params=(N0, N1))
"""`FloorDiv[N, M]` is the size N // M; each argument is a name, a literal, or another computed size."""

Pow = TypeAliasType("Pow", Any, type_params=(N0, N1))
"""`Pow[N, L[2]]` is the size N ** 2; the exponent too is a name, a literal, or another computed size."""


class _Itself:
    """At run time `Given[In]` is `In`, which the guard reads."""

    def __getitem__(self, variable: Any) -> Any:
        return variable


if TYPE_CHECKING:
    # pyrefly and ty would infer an int for the parameter of the class, which no literal size matches.
    Given = TypeAliasType("Given", int, type_params=(N0,))
    """`Given[In]` is an argument from which the plugin infers the parameter `In` of a layer; others see an int."""
    GivenShape = TypeAliasType("GivenShape", tuple[int, ...], type_params=(Content,))
    """`GivenShape[Axes]` is an argument that is a tuple of sizes, see `Given`."""
else:
    Given = GivenShape = _Itself()


class Arithmetic(int, Generic[N0, N1]):
    """The type by which the plugin represents a computed size; it is never instantiated."""


class Sum(Arithmetic[N0, N1]):
    """The type to which the plugin expands `Add` and `Sub`."""


class Product(Arithmetic[N0, N1]):
    """The type to which the plugin expands `Mul`.

    Examples:
        >>> from typing import TypeVar
        >>> N, M = TypeVar("N", bound=int), TypeVar("M", bound=int)
        >>> Matrix = tg.Tensor[tg.Shape[N, M], tg.NoneTape]
        >>> Vector = tg.Tensor[tg.Shape[tg.sizes.Mul[N, M]], tg.NoneTape]
        >>> def flat(x: Matrix) -> Vector:  # mypy expands Mul[N, M] to Product[N, M]
        ...     return x.reshape(-1)
        >>> flat(tg.zeros((2, 3))).shape
        (6,)
    """


class Quotient(Arithmetic[N0, N1]):
    """The type to which the plugin expands `FloorDiv`."""


class Power(Arithmetic[N0, N1]):
    """The type to which the plugin expands `Pow` of an exponent that is not a number."""


class Largest(Arithmetic[N0, N1]):
    """The type of the larger of two sizes where it is not proven which one that is."""


class Smallest(Arithmetic[N0, N1]):
    """The type of the smaller of two sizes where it is not proven which one that is."""


class Opaque(int, Any, Generic[Content]):  # type: ignore[misc]  # mypy then accepts it wherever another size is declared
    """The type of the value of an expression that does not change, such as `config.width`; it is never instantiated.

    Its argument is a literal string, the expression, `@`, and the function in which it has this value, or the type of
    a size that is computed from such values. It is a subclass of Any because it may be equal to any other size.
    """

"""Shape types: `Shape[N, Literal[3]]` is a tuple of sizes, as in NumPy's type hints."""

from __future__ import annotations

from builtins import tuple as Shape  # noqa: N812  # an alias named after its use
from typing import Any, TypeAlias

from typing_extensions import TypeVar

__all__ = ["Rank0", "Rank1", "Rank2", "Rank3", "Rank4", "Rank5", "Rank6", "Shape"]

N0 = TypeVar("N0", bound=int, default=Any)
N1 = TypeVar("N1", bound=int, default=Any)
N2 = TypeVar("N2", bound=int, default=Any)
N3 = TypeVar("N3", bound=int, default=Any)
N4 = TypeVar("N4", bound=int, default=Any)
N5 = TypeVar("N5", bound=int, default=Any)

Rank0: TypeAlias = Shape[()]
Rank1: TypeAlias = Shape[N0]
Rank2: TypeAlias = Shape[N0, N1]
Rank3: TypeAlias = Shape[N0, N1, N2]
Rank4: TypeAlias = Shape[N0, N1, N2, N3]
Rank5: TypeAlias = Shape[N0, N1, N2, N3, N4]
Rank6: TypeAlias = Shape[N0, N1, N2, N3, N4, N5]

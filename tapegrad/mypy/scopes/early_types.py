"""Types of the expressions in functions that mypy has not checked.

mypy checks the statements outside of functions first, the daemon a function without the others, and no function of
another file that is read for its statements.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from mypy.nodes import Expression

from tapegrad.mypy.mypy_api import stored_type
from tapegrad.mypy.mypy_files import depend_on_names
from tapegrad.mypy.scopes.names import nodes_in
from tapegrad.mypy.scopes.readings import PassCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import FuncDef, MypyFile
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


class EarlyTypes(NamedTuple):
    """What is read of such a function.

    Attributes:
        types: Those of its expressions.
        names: What they depend on.
    """

    types: dict[Expression, Type]
    names: frozenset[str]


class EarlyBodies:
    """How such a function is read.

    Attributes:
        types: Returns the types of the expressions in a function for parameters of which only the declaration is known.
    """

    types: ClassVar[Callable[[FuncDef, MypyFile, Checker], EarlyTypes]]


_types: PassCache[EarlyTypes] = PassCache()
_NONE: Final = EarlyTypes({}, frozenset())


def early_types(function: FuncDef, file: MypyFile, api: Checker) -> dict[Expression, Type]:
    """Return the types of the expressions in a function of a file; none if mypy has checked it."""
    if any(isinstance(one, Expression) and stored_type(api, one) is not None for one in nodes_in.of(function)):
        return {}
    found = _types.of(function, partial(EarlyBodies.types, function, file, api), api, meanwhile=_NONE)
    if found.names:
        depend_on_names(found.names, api)
    return found.types

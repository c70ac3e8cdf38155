"""What is known while a body is read: the types of its variables, the errors in it, and how the ways through it end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mypy.errorcodes import ErrorCode
    from mypy.nodes import Node, Var
    from mypy.types import Type

    from tapegrad.mypy.scopes.frames import Value


class UnreadError(Exception):
    """A body is not read, or has a statement that is not; the message says why, in a clause.

    Args:
        reason: The clause; if a call is the reason, it goes on behind "the call on line 3".
        call_line: The line of that call.
    """

    def __init__(self, reason: str, call_line: int | None = None) -> None:
        super().__init__(reason)
        self.call_line = call_line


class FailedError(Exception):
    """A statement of a body surely fails."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Failure(NamedTuple):
    """An error in a body that is read.

    Attributes:
        lines: Those of the calls that lead to it, innermost first.
        origin: Where in another file it comes from, if it is that of a call of a function there.
    """

    message: str
    code: ErrorCode
    line: int
    column: int
    end_line: int
    end_column: int
    lines: tuple[int, ...] = ()
    origin: str = ""


class Turn(NamedTuple):
    """What the variables of a loop are at one of its turns: their values where they are known, and their type."""

    values: dict[Node, Value]
    type: Type


class End(NamedTuple):
    """How a way through a body ends.

    Attributes:
        types: The types of the variables there; None if the way does not go on.
        failure: Why it does not, if a statement surely fails.
    """

    types: dict[Var, Type] | None
    failure: Failure | None = None


class Types:
    """The types of variables while a body is read, and those to restore.

    Attributes:
        traces: All types that variables get in each `try` statement around the statement that is read.
    """

    def __init__(self) -> None:
        self._before: dict[Var, tuple[Type | None, bool]] = {}
        self.traces: list[dict[Var, list[Type]]] = []

    def set(self, variable: Var, t: Type) -> None:
        """Give a variable a type."""
        self._before.setdefault(variable, (variable.type, variable.is_ready))
        variable.type, variable.is_ready = t, True
        for trace in self.traces:
            trace.setdefault(variable, []).append(t)

    def restore(self) -> None:
        """Give all variables the types that they had at first."""
        self.reset({})

    def now(self) -> dict[Var, Type]:
        """Return the types of the variables that have got one."""
        return {variable: variable.type for variable in self._before if variable.type is not None}

    def reset(self, types: dict[Var, Type]) -> None:
        """Give variables the types that they had before, and all others those that they had at first."""
        for variable, (first, is_ready) in [*self._before.items()]:
            if variable in types:
                variable.type = types[variable]
            else:
                variable.type, variable.is_ready = first, is_ready
                del self._before[variable]

    def is_set(self, variable: Var) -> bool:
        """Return whether a variable has got a type."""
        return variable in self._before


def uncertain(line: int) -> UnreadError:
    """Return that a body is not read because of an error of mypy which the call may not reach."""
    return UnreadError(f"line {line} is an error at a call, but may not run then")

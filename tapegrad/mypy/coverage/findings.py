"""What the analysis of a file finds: its tensor expressions, and the places where something is lost first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import FuncDef

    from tapegrad.mypy.coverage.comments import Comment
    from tapegrad.mypy.coverage.levels import Knowledge


class Span(NamedTuple):
    """A place in a file; lines count from 1, columns from 0 in characters, the end is excluded."""

    line: int
    column: int
    end_line: int
    end_column: int


class Unit(NamedTuple):
    """A function, or the code outside of all functions.

    Attributes:
        name: With the classes and functions around it, `Net.forward`.
        target: The function or method that mypy checks as a whole: the outermost one; None outside of all functions.
    """

    name: str
    line: int
    end_line: int
    target: FuncDef | None


class Seen(NamedTuple):
    """A tensor expression, or a parameter that takes a tensor.

    Attributes:
        unit: The function that it is in.
        left_out: Whether it is not counted: a comment accepts it or what it comes from, or mypy reports that.
        at_calls: Whether it is in a body that mypy reads for each call, and this says more than the annotations.
    """

    span: Span
    unit: Unit
    knowledge: Knowledge
    left_out: bool
    at_calls: bool = False

    @property
    def is_known(self) -> bool:
        """Whether shape, tape and dtype are all known."""
        return not self.knowledge.missing


class Loss(NamedTuple):
    """A place where something becomes unknown although all that it is computed from is known.

    Attributes:
        unit: The function that it is in.
        expression: As the program spells it, short.
        parts: What is unknown: "shape", "tape", "dtype".
        sizes: The names of the unknown sizes, if it is a layer.
        axes: The axes with unknown sizes, if the rank is known.
        reason: A clause.
        fix: What to write instead; empty if that is not certain.
        accepted: The reason that a comment gives; None if there is none.
    """

    span: Span
    unit: Unit
    expression: str
    parts: tuple[str, ...]
    sizes: tuple[str, ...]
    axes: tuple[int, ...]
    reason: str
    fix: str
    accepted: str | None

    @property
    def what(self) -> str:
        """What is unknown, such as "the size of axis 0 and the tape are unknown"."""
        named = [f"the {part}" for part in self.parts]
        if self.sizes:
            named[0] = f"the size{'s' * (len(self.sizes) > 1)} {listed(self.sizes)}"
        elif self.axes and "shape" in self.parts:
            is_one = len(self.axes) == 1
            named[0] = f"the size{'' if is_one else 's'} of ax{'i' if is_one else 'e'}s {listed(self.axes)}"
        return f"{listed(named)} {'are' if len(named) > 1 or named[0].startswith('the sizes') else 'is'} unknown"

    @property
    def message(self) -> str:
        """The message: what is unknown of which expression, why, and how to fix it."""
        fix = f": {self.fix}" if self.fix else ""
        return f"{self.expression}: {self.what}, because {self.reason}{fix}"


class Analysis(NamedTuple):
    """What is known of one file.

    Attributes:
        units: Its functions, with those that have no tensor expression.
        unused: Comments that accept a line on which nothing is unknown.
        bare: Comments without a reason.
        checked: The targets with expressions whose types are known; the daemon checks only some of them again.
    """

    units: list[Unit]
    seen: list[Seen]
    losses: list[Loss]
    unused: list[Comment]
    bare: list[Comment]
    checked: set[FuncDef | None]

    @property
    def mistakes(self) -> list[tuple[Comment, str]]:
        """The comments that are wrong, each with what is wrong with it."""
        unused = [(one, "unused: nothing is unknown on this line") for one in self.unused]
        bare = [(one, 'the reason is missing: write "# tapegrad: unknown because ..."') for one in self.bare]
        return sorted((one, f"# tapegrad: unknown: {words}") for one, words in (*unused, *bare))


def listed(items: Sequence[object]) -> str:
    """Return items with commas and "and": "a, b and c"."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last

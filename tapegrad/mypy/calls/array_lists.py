"""Arrays that NumPy makes of lists, and lists of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    CallExpr,
    ConditionalExpr,
    GeneratorExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    StarExpr,
    StrExpr,
    TupleExpr,
    Var,
)
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.mypy.calls.array_arguments import ERRORS, ArgumentReader
from tapegrad.mypy.calls.array_sizes import UnreadError, common, joined
from tapegrad.mypy.calls.array_types import LISTING, sizes_of_type
from tapegrad.mypy.conversion import fields_of, unknown
from tapegrad.mypy.mypy_api import make, stored_type
from tapegrad.mypy.scopes.assigned import Assigned, assigned_by_methods
from tapegrad.mypy.scopes.collections import Use, appended_to, loops_that_fill, use_of
from tapegrad.mypy.scopes.frames import GivenTensor, binding
from tapegrad.mypy.scopes.items import MOST_ITEMS
from tapegrad.mypy.scopes.names import bound_once, unpacked_once
from tapegrad.mypy.scopes.sequences import DRAWING, length_of, record_in, turns
from tapegrad.mypy.unify.arguments import numbers_in
from tapegrad.sizes import UNKNOWN, is_unknown, largest, product, smallest

if TYPE_CHECKING:
    from mypy.nodes import Expression, Node
    from mypy.types import ProperType, Type

    from tapegrad.mypy.calls.array_sizes import Several, Sizes
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size


_read_now: Final[set[Var]] = set()  # lists whose items are being read


class ListReader(ArgumentReader):
    """Reads lists of numbers and of arrays."""

    def _known(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array, or of what NumPy makes one of; None if its rank is unknown."""
        try:
            return self.alike(expression)
        except ERRORS:
            return None

    def alike(self, expression: Expression) -> Sizes:
        """Return the sizes of an array, or of the array that NumPy makes of lists.

        Raises:
            UnreadError: The rank is unknown.
        """
        found = self._copied(expression)
        if found is None:
            raise UnreadError
        return found

    def _copied(self, expression: Expression) -> Sizes | None:
        """Return the sizes of `np.array(data)` of an array, or of lists that are written out."""
        match self._value_of_list(expression):
            case ListComprehension(generator=generator):
                return self._comprehended(generator)
            case ListExpr(items=items) | TupleExpr(items=items):
                return self._of_items(items)
            case OpExpr(op="*", left=ListExpr() as one, right=times) if sizes := self._copied(one):
                return [sizes[0] * self.value(times), *sizes[1:]]
            case OpExpr(op="+", left=left, right=right) if self._is_list(left):
                return joined([self._copied(left), self._copied(right)], 0)
            case CallExpr(callee=RefExpr(fullname=name), args=[of]) if (
                name in LISTING and (sizes := self._copied(of)) is not None
            ):
                return sizes
            case CallExpr(callee=RefExpr(fullname="builtins.range")) as call:
                return [self._count(call)]
            case MemberExpr(name="shape", expr=of) if (sizes := self.sizes(of)) is not None:
                return [len(sizes)]
            case CallExpr() as call if (several := self.arrays(call)) is not None:
                rows = common(several)
                return None if rows is None else [len(several), *rows]
        if (row := self._of_appended(expression)) is not None:
            return [self._count_of_appended(expression), *row]
        found = self.sizes(expression)
        return self._of_numbers(expression) if found is None else found

    def _of_items(self, items: list[Expression]) -> Sizes | None:
        """Return the sizes of an array of the items that are written in a list."""
        if not items:
            return [0]
        count: Size = 0
        rows: Several = []
        for one in items:
            several, *row = (self._copied(one.expr) if isinstance(one, StarExpr) else [1, *self.alike(one)]) or [
                UNKNOWN
            ]
            count += several
            rows.append(row)
        found = common(rows)
        return None if found is None else [count, *found]

    def _of_numbers(self, expression: Expression) -> Sizes | None:
        """Return the sizes of an array of a list whose type says that its items are numbers, or tuples of numbers."""
        p = get_proper_type(self._stored_type(expression))
        if isinstance(p, TupleType):
            return _row_of(p)
        if not isinstance(p, Instance) or p.type.fullname not in ("builtins.list", "builtins.tuple", "builtins.range"):
            return None
        if all(map(numbers_in, p.args)):
            return [self._count(expression)]
        row, count = _row_of(get_proper_type(p.args[0])), self._count(expression)
        is_filled = isinstance(count, int) and count > 0  # of an empty list it is a vector
        return [count, *row] if row is not None and is_filled else None

    def _is_list(self, expression: Expression) -> bool:
        p = get_proper_type(stored_type(self._api, expression))
        return isinstance(p, Instance) and p.type.fullname == "builtins.list"

    def _comprehended(self, generator: GeneratorExpr) -> Sizes | None:
        """Return the sizes of `np.array([item for x in items])` of arrays or numbers."""
        sizes = self._copied(generator.left_expr)
        if sizes is None:
            return None
        counts = list(map(self._count, generator.sequences))
        return [UNKNOWN if any(generator.condlists) else product(counts), *sizes]

    def _count(self, sequence: Expression) -> Size:
        """Return how many items a sequence has, which may be an array."""
        match self._value_of_list(sequence):
            case StrExpr(value=text):
                return len(text)
            case CallExpr(callee=RefExpr(fullname="builtins.enumerate" | "builtins.reversed"), args=[of, *_]):
                return self._count(of)
            case ListComprehension(generator=GeneratorExpr(sequences=[of], condlists=[[]])):
                return self._count(of)
            case CallExpr(callee=MemberExpr(name="tolist", expr=of), args=[]):
                return self._count(of)
        count = length_of(sequence, self._api)
        sizes = (self.sizes(sequence) or [UNKNOWN]) if count is None else [count]
        return sizes[0]

    def _listed(self, expression: Expression) -> Type:
        """Return the type of a list of arrays.

        Raises:
            UnreadError: The rank of an array is unknown, or nothing is known of the list.
        """
        several, of = self.arrays(expression), make(self._api)
        if several is not None and several:
            return TupleType(list(map(self._array_of, several)), of("builtins.tuple", [unknown()]))
        match self._value_of_list(expression):
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                return of("builtins.list", [self._array_of(self.alike(item))])
        if (row := self._of_appended(expression)) is not None:
            return of("builtins.list", [self._array_of(row)])
        raise UnreadError

    def _of_appended(self, expression: Expression) -> Sizes | None:
        """Return the sizes that all items have which `append` adds to a list, or those of a column of `zip(*rows)`."""
        if not isinstance(expression, NameExpr) or not isinstance(expression.node, Var):
            return None
        items = appended_to(expression, self._api)
        if items is not None:
            if expression.node in _read_now:  # by an item, as by `ys.append(step(ys[-1]))`
                return None
            _read_now.add(expression.node)
            try:
                return common([self._known(one) for one in items])
            finally:
                _read_now.discard(expression.node)
        match unpacked_once(expression.node, self._api):
            case (
                CallExpr(callee=RefExpr(fullname="builtins.zip"), args=[rows, *_], arg_kinds=[kind, *others]),
                at,
            ) if kind is ARG_STAR and all(one.is_named() for one in others):
                return self._column(rows, at)
        return None

    def _count_of_appended(self, expression: Expression) -> Size:
        """Return how many items a list has that one statement in loops appends to."""
        filled = loops_that_fill(expression, self._api) if isinstance(expression, NameExpr) else None
        if filled is None:
            return UNKNOWN
        count, loops = filled
        return count + product([self._turns(loop.expr) for loop in loops])

    def _turns(self, sequence: Expression) -> Size:
        """Return how often a loop over a sequence runs."""
        match sequence:
            case CallExpr(callee=RefExpr(fullname="builtins.range"), args=[start, stop]):
                return largest([self._size_or_unknown(stop) - self._size_or_unknown(start), 0])
            case CallExpr(callee=RefExpr(fullname="builtins.range"), args=[stop]):
                return largest([self._size_or_unknown(stop), 0])
            case CallExpr(callee=RefExpr(fullname="itertools.pairwise"), args=[of]):
                return largest([self._count(of) - 1, 0])
            case CallExpr(callee=RefExpr(fullname="builtins.zip"), args=[_, *_] as several, arg_names=names) if (
                all(name in (None, "strict") for name in names) and ARG_STAR not in sequence.arg_kinds
            ):
                counts = [self._count(one) for one, name in zip(several, names, strict=True) if name is None]
                return UNKNOWN if any(map(is_unknown, counts)) else smallest(counts)
        return self._count(sequence)

    def _column(self, rows: Expression, position: int) -> Sizes | None:
        """Return the sizes of what all tuples in a list, such as named tuples, have at a position."""
        row = record_in(rows, self._api)
        if row is not None and row.info.is_named_tuple:
            names = fields_of(row.info)
            field = dict(row.arguments).get(names[position]) if position < len(names) else None
            return sizes_of_type(field.t) if isinstance(field, GivenTensor) else None
        parts = self._common_parts(rows)
        return None if parts is None or position >= len(parts) else parts[position]

    def _common_parts(self, rows: Expression) -> Several | None:
        """Return what the parts of all tuples in a list have in common."""
        parts = [self._parts(one) for one in self._rows_written(rows)]
        known = [one for one in parts if one is not None]
        if not known or len(known) < len(parts) or len({*map(len, known)}) > 1:
            return None
        return [common(list(several)) for several in zip(*known, strict=True)]

    def _parts_of_item(self, rows: Expression) -> Several | None:
        """Return what the parts of all tuples in a list have in common, also of one in an attribute."""
        if not isinstance(rows, MemberExpr):
            return self._common_parts(rows)
        if use_of(rows, self._api) is not Use.READ:
            return None
        match assigned_by_methods(rows.expr, rows.name, lambda value, _: self._common_parts(value), self._api):
            case [Assigned(value=list(parts), scope="", is_changed=False)]:
                return parts
        return None

    def _parts(self, row: Expression) -> Several | None:
        """Return the sizes of the arrays in a tuple; of one of two, what both have in common."""
        match row:
            case TupleExpr(items=items):
                return None if any(isinstance(one, StarExpr) for one in items) else list(map(self._known, items))
            case ConditionalExpr(if_expr=one, else_expr=other):
                first, second = self._parts(one), self._parts(other)
                if first is None or second is None or len(first) != len(second):
                    return None
                return [common([*pair]) for pair in zip(first, second, strict=True)]
            case CallExpr():
                return self.arrays(row)
        return None

    def _rows_written(self, rows: Expression) -> list[Expression]:
        """Return what a list has as items that a display and `append` fill, also in a copy or a sample; else none."""
        match rows:
            case ListComprehension(generator=GeneratorExpr(left_expr=item)):
                return [item]
            case CallExpr(callee=RefExpr(fullname=name), args=[of, *_], arg_kinds=[kind, *_]) if (
                name in DRAWING and name != "random.choice" and kind is ARG_POS
            ):
                return self._rows_written(of)
            case NameExpr(node=Var() as variable):
                if (items := appended_to(rows, self._api)) is not None:
                    return items
                value, _ = bound_once(variable, self._api)
                if value is not None and use_of(rows, self._api) is Use.READ:
                    return value.items if isinstance(value, ListExpr) else self._rows_written(value)
        return []

    def _written_arrays(self, items: list[Expression]) -> Several | None:
        """Return the sizes of the arrays in a written list, and of those in a list with a star that has none itself."""
        several: Several = []
        for one in items:
            part = self._starred_arrays(one.expr) if isinstance(one, StarExpr) else [self._known(one)]
            if part is None or len(several) + len(part) > max(MOST_ITEMS, len(items)):
                return None
            several += part
        return several

    def _starred_arrays(self, of: Expression) -> Several | None:
        written = self._value_of_list(of)
        has_star = any(isinstance(one, StarExpr) for one in getattr(written, "items", ()))
        return None if has_star else self.arrays(of)

    def _comprehended_arrays(self, generator: GeneratorExpr) -> Several | None:
        if len(generator.sequences) > 1 or any(generator.condlists):
            return None
        sequence, item = generator.sequences[0], self._known(generator.left_expr)
        several = turns(generator.indices[0], sequence, self._api) if item is None else None
        if several:
            return [self._known_at(generator.left_expr, turn) for turn in several]
        count = self._count(sequence)
        return [item] * count if isinstance(count, int) and count <= MOST_ITEMS else None

    def _known_at(self, item: Expression, turn: dict[Node, Value]) -> Sizes | None:
        """Return the sizes of an item of a comprehension at one of its turns, as of `table[name]`."""
        with binding(turn):
            return self._known(item)

    def _listed_rows(self, of: Expression) -> Several | None:
        """Return the sizes of the arrays of `list(of)`, which may be an array."""
        if (several := self.arrays(of)) is not None:
            return several
        count, *row = self.sizes(of) or [UNKNOWN]
        return [row] * count if isinstance(count, int) and count <= MOST_ITEMS else None


def _row_of(t: ProperType) -> Sizes | None:
    """Return the size of a vector that NumPy makes of a tuple of numbers, by its type; None for any other type."""
    return [len(t.items)] if isinstance(t, TupleType) and t.items and all(map(numbers_in, t.items)) else None

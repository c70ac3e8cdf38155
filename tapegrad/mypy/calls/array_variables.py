"""Sizes of the arrays that variables and attributes hold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_STAR,
    AssignmentStmt,
    CallExpr,
    ConditionalExpr,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    RefExpr,
    StarExpr,
    TupleExpr,
    TypeInfo,
    Var,
)
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.errors.numpy_functions import below_numpy
from tapegrad.mypy.calls.array_arguments import ERRORS
from tapegrad.mypy.calls.array_calls import Bodies, CallReader
from tapegrad.mypy.calls.array_sizes import Given, common
from tapegrad.mypy.calls.array_types import array_of_type, plain_sizes, sizes_of_type
from tapegrad.mypy.calls.data_sets import loaded_field
from tapegrad.mypy.calls.several_arrays import SPLITTING, part_of_split
from tapegrad.mypy.conversion import is_iterator, opaque_paths, shape_items
from tapegrad.mypy.mypy_api import (
    BodiesRead,
    attribute_variable,
    checked_file,
    depend_on_bodies,
    enclosing_function,
    outermost_scope,
    stored_type,
    type_in_body,
)
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.assigned import assigned_by_methods
from tapegrad.mypy.scopes.axes import asserts_unknown_sizes
from tapegrad.mypy.scopes.file_contents import loop_of, method_of_receiver
from tapegrad.mypy.scopes.frames import GivenTensor, Made, Reading, key_of, within
from tapegrad.mypy.scopes.names import (
    EACH,
    ScopeCache,
    bound_last,
    bound_once,
    changed_in_place,
    nodes_in,
    targets_in,
    unpacked_last,
    unpacked_once,
    values_assigned,
)
from tapegrad.mypy.scopes.objects import decided, object_of
from tapegrad.mypy.scopes.opaque import named_axis_of, unpacked_shape
from tapegrad.mypy.scopes.readings import reading_again
from tapegrad.mypy.scopes.written_attributes import class_constant
from tapegrad.sizes import UNKNOWN, is_unknown, names_in, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mypy.nodes import Expression, Node, SymbolNode
    from mypy.types import ProperType, Type

    from tapegrad.mypy.calls.array_sizes import Several, Sizes
    from tapegrad.mypy.scopes.frames import Frame

_MOST_PASSES: Final = 3  # over all values of a variable, until its sizes stay the same
_MOST_AT_ONCE: Final = 3  # variables with several values, one of which mentions the next variable


class VariableReader(CallReader):
    """Reads the arrays in variables and attributes."""

    def _of_variable(self, name: NameExpr) -> Sizes | None:
        if not isinstance(name.node, Var) or reshapes.of(checked_file(self._api)):
            return None
        loop = loop_of(name.node, self._api)
        if loop is not None:
            return self._of_loop(name.node, loop.target, loop.sequence)
        sizes = self._of_bound(name, name.node)
        return self._with_names(name, sizes) if sizes is None or any(map(is_unknown, sizes)) else sizes

    def _with_names(self, name: NameExpr, sizes: Sizes | None) -> Sizes | None:
        """Return the sizes of a variable, the unknown ones by the names of `n, m = x.shape`, or as `x.shape[0]`."""
        function, frame = enclosing_function(self._api), Reading.frame
        scope = function or outermost_scope(self._api)
        if asserts_unknown_sizes.of(scope) or (frame is not None and _has_names_of(frame)):
            return sizes
        for statement in function.body.body if isinstance(function, FuncDef) else ():
            match statement:
                case AssignmentStmt(
                    lvalues=[TupleExpr()],
                    rvalue=MemberExpr(expr=NameExpr(node=Var() as variable), name="shape") as shape,
                ) if variable is name.node and statement.line < name.line and bound_once(variable, self._api)[1]:
                    names = unpacked_shape(shape, self._api) or []
                    if names and (sizes is None or len(sizes) == len(names)):
                        known = sizes or names
                        return [named if is_unknown(n) else n for n, named in zip(known, names, strict=True)]
        return [
            named_axis_of(name, axis, self._api) if is_unknown(n) else n for axis, n in enumerate(sizes or ())
        ] or sizes

    def _of_bound(self, name: NameExpr, variable: Var) -> Sizes | None:
        """Return the sizes that the values have which a variable is bound to."""
        value, is_once = bound_once(variable, self._api)
        if not is_once and (made := changed_in_place(variable, self._api)) is not None and (sizes := self.sizes(made)):
            return sizes  # an array, which keeps its shape, and no number
        if is_once and value is None and (unpacked := unpacked_once(variable, self._api)) is not None:
            whole, position = unpacked
            return self._assigned(whole, position)
        if is_once and value is None and isinstance(given := object_of(name, self._api), GivenTensor):
            return sizes_of_type(given.t)
        values = ([] if value is None else [value]) if is_once else self._run_in_body(bound_last(name, self._api))
        if values or is_once:
            return common([self.sizes(one) for one in values])
        if (unpacked := unpacked_last(name, self._api)) is not None:
            return self._assigned(*unpacked)
        changed = self._run_in_body(bound_last(name, self._api, by_operators=False))
        if sizes := common([self.sizes(one) for one in changed]):
            return sizes  # of arrays, which `x += y` changes in place
        return self._of_any_binding(variable)

    def _run_in_body(self, values: list[Expression]) -> list[Expression]:
        """Return the values that the call computes whose body is read; all of them if that is not known.

        A branch that the call does not take is not read, so its expressions have no types.
        """
        if Reading.frame is None or not BodiesRead.depth:
            return values
        return [one for one in values if type_in_body(self._api, one) is not None] or values

    def _chosen(self, choice: ConditionalExpr) -> list[Expression]:
        """Return what `x if condition else y` may be: one of both if that is decided."""
        is_true = decided(choice.cond, self._api) if Reading.frame is not None else None
        if is_true is None:
            return [choice.if_expr, choice.else_expr]
        return [choice.if_expr if is_true else choice.else_expr]

    def _of_any_binding(self, variable: Var) -> Sizes | None:
        """Return the sizes that all values of a variable have, as in a loop; None if their ranks differ.

        Where a value mentions the variable, as in `x = x + step(x)`, it is taken to have the sizes of the other values,
        which must then be those of this one too.
        """
        if variable in _assumed:
            return _assumed[variable]
        if len(_assumed) >= _MOST_AT_ONCE:
            return None
        return _unchanging(self._values_of(variable, None), partial(self._values_of, variable))

    def _values_of(self, variable: Var, assumed: Sizes | None) -> Several:
        """Return the sizes of each value of a variable, if it has some sizes before."""
        given = self._given_to(variable)
        _assumed[variable] = assumed
        try:
            with reading_again():
                several = values_assigned(variable, self._api, is_given=given is not None)
                found = [self._assigned(*one) for one in several]
                return [sizes_of_type(given), *found] if found and given is not None else found
        finally:
            del _assumed[variable]

    def _given_to(self, parameter: Var) -> Type | None:
        """Return the array that a call gives a parameter of the body that is read; None for others."""
        function, frame = enclosing_function(self._api), Reading.frame
        if frame is None or not isinstance(function, FuncDef):
            return None
        is_own = any(one.variable is parameter for one in function.arguments)
        given = frame.values.get(parameter.name) if is_own else None
        return given.t if isinstance(given, GivenTensor) and sizes_of_type(given.t) is not None else None

    def _of_loop(self, variable: Var, target: Expression, sequence: Expression) -> Sizes | None:
        """Return the sizes of what a loop gives a variable, also by `enumerate` or `zip`."""
        match target, sequence:
            case NameExpr(), _:
                return self._row(sequence)
            case TupleExpr(items=targets), NameExpr() if (item := self._item_made(sequence)) is not None:
                return _part_of(item, targets, variable)
            case TupleExpr(items=targets), NameExpr():
                places = [at for at, one in enumerate(targets) if isinstance(one, NameExpr) and one.node is variable]
                is_plain = len(places) == 1 and not any(isinstance(one, StarExpr) for one in targets)
                return self._column(sequence, places[0]) if is_plain else None
            case _, CallExpr(arg_kinds=kinds) if ARG_STAR in kinds:
                return None
            case TupleExpr(items=[_, inner]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of, *_]):
                return self._of_loop(variable, inner, of)
            case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
                for inner, of in zip(targets, several, strict=False):
                    if isinstance(inner, NameExpr) and inner.node is variable:
                        return self._row(of)
            case TupleExpr(items=targets), CallExpr() if (item := self._item_made(sequence)) is not None:
                return _part_of(item, targets, variable)
        return None

    def _item_made(self, sequence: Expression) -> ProperType | None:
        """Return the type of what a generator of the program yields at each turn; None if it is not read."""
        made: Expression | None = sequence
        if isinstance(sequence, NameExpr) and isinstance(sequence.node, Var):
            made, _ = bound_once(sequence.node, self._api)
        if isinstance(made, CallExpr) and isinstance(object_of(made, self._api), Made):  # with an `__iter__`
            made = CallExpr(MemberExpr(sequence if isinstance(sequence, NameExpr) else made, "__iter__"), [], [], [])
        several = self._returned(made) if isinstance(made, CallExpr) else None
        return get_proper_type(several.args[0]) if isinstance(several, Instance) and is_iterator(several) else None

    def _row(self, sequence: Expression) -> Sizes | None:
        """Return the sizes of what a loop over an array, or over a list of arrays, gives its variable."""
        if (part := self._part_of_split(sequence)) is not None:
            return part
        several = self.arrays(sequence)
        if several is not None:
            return common(several)
        if (row := self._of_appended(sequence)) is not None:
            return row
        if (item := self._item_made(sequence)) is not None:
            return sizes_of_type(item)
        sizes = self.sizes(sequence)
        return sizes[1:] if sizes else None

    def _part_of_split(self, parts: Expression) -> Sizes | None:
        """Return the sizes that all parts of an array have, as of `np.array_split(x, count)` for any count."""
        call = self._value_of_list(parts)
        name = (
            below_numpy(call.callee.fullname) if isinstance(call, CallExpr) and isinstance(call.callee, RefExpr) else ""
        )
        if name not in SPLITTING or not isinstance(call, CallExpr):
            return None
        try:
            several = self.arrays(call)
            return part_of_split(self, Given(call), name) if several is None else common(several)
        except ERRORS:
            return part_of_split(self, Given(call), name)

    def _of_attribute(self, attribute: MemberExpr) -> Sizes | None:
        """Return the sizes of an array that a property returns, or that methods or a call gave to an attribute."""
        owner, name = attribute.expr, attribute.name
        if reshapes.of(checked_file(self._api)):
            return None
        if (loaded := loaded_field(attribute, self._api)) is not None:
            return [*loaded.sizes]
        returned = array_of_type(Bodies.of_property(owner, name, self._api))
        given = object_of(attribute, self._api) if returned is None else None
        known = returned or (array_of_type(given.t) if isinstance(given, GivenTensor) else None)
        if known is not None:
            return plain_sizes(shape_items(known.args[0]))
        if isinstance(owner.node if isinstance(owner, RefExpr) else None, TypeInfo):
            return None
        key = attribute_variable(attribute, self._api), key_of(object_of(owner, self._api))
        is_own = isinstance(owner, NameExpr) and method_of_receiver(owner.node, self._api) is not None
        if key in _assumed_attributes:
            return _assumed_attributes[key] if is_own else None
        found = self._assigned_values(owner, name, key, None)
        if not found:
            return self._of_class(owner, name)
        depend_on_bodies(self._api)
        return _unchanging(found, partial(self._assigned_values, owner, name, key))

    def _assigned_values(
        self, owner: Expression, name: str, key: tuple[SymbolNode | None, Hashable], assumed: Sizes | None
    ) -> Several:
        """Return the sizes of each value that methods assign to an attribute, if it has some sizes before.

        Operators such as `self.x += y` keep those of an array, but not those of a number.
        """
        _assumed_attributes[key] = assumed
        try:
            with reading_again():
                found = assigned_by_methods(owner, name, self._assigned, self._api)
        finally:
            del _assumed_attributes[key]
        several = [_without_names_of(one.scope, one.value) for one in found]
        return [None if one.is_changed and not sizes else sizes for one, sizes in zip(found, several, strict=True)]

    def _assigned(self, value: Expression, position: int | None) -> Sizes | None:
        """Return the sizes of a value, or of that at a position in what is unpacked."""
        if position is None:
            return self.sizes(value)
        several = None if position == EACH else self.arrays(value)
        if several is None:
            return self._row(value)
        return several[position] if position < len(several) else None

    def _of_class(self, owner: Expression, name: str) -> Sizes | None:
        """Return the sizes of an array that is a constant of the class of an object."""
        p = get_proper_type(stored_type(self._api, owner))
        value, home = class_constant(p.type, name, self._api) if isinstance(p, Instance) else (None, None)
        if value is None or home is None:
            return None
        with in_file(home, self._api), within(None):
            return self.sizes(value)


# What variables and attributes are taken to have while all of their values are read, which may mention them.
_assumed: Final[dict[Var, Sizes | None]] = {}
_assumed_attributes: Final[dict[tuple[SymbolNode | None, Hashable], Sizes | None]] = {}  # by the object as well


def _has_names_of(frame: Frame) -> bool:
    """Return whether a function gets sizes with names of its own, which are those of another call of it."""
    return any(
        path.endswith(f"@{frame.scope}") and not path.startswith(f"{name}.shape[")
        for name, value in frame.values.items()
        if isinstance(value, GivenTensor)
        for path in opaque_paths(value.t)
    )


def _part_of(item: ProperType, targets: list[Expression], variable: Var) -> Sizes | None:
    """Return the sizes of the array in a tuple that a loop unpacks into a variable."""
    for target, t in zip(targets, item.items if isinstance(item, TupleType) else [], strict=False):
        if isinstance(target, NameExpr) and target.node is variable:
            return sizes_of_type(t)
    return None


def _unchanging(found: Several, read: Callable[[Sizes | None], Several]) -> Sizes | None:
    """Return the sizes that all values have, some of which may be computed from others, as by `x = x + step(x)`.

    Those are taken to have the sizes of the others, which must then come out again.

    Args:
        found: The sizes of each value, as far as they are known without the others.
        read: Returns the sizes of each value, if what it is computed from has some sizes before.
    """
    known = [one for one in found if one is not None]
    whole = [one for one in known if not any(map(is_unknown, one))]
    sizes = common([*(whole or known)])
    if len(whole) == len(found):
        return sizes
    for _ in range(_MOST_PASSES):
        if sizes is None:
            return None
        before, sizes = sizes, common([sizes, *read(sizes)])
        if sizes is None or _are_same(before, sizes):
            return sizes
    return None


def _are_same(one: Sizes, other: Sizes) -> bool:
    return all((is_unknown(n) and is_unknown(m)) or surely_same(n, m) for n, m in zip(one, other, strict=True))


def _without_names_of(scope: str, sizes: Sizes | None) -> Sizes | None:
    """Return sizes without those that are named after variables of a function, which mean nothing outside of it."""
    if sizes is None or not scope:
        return sizes
    return [UNKNOWN if any(one.scope == scope for one in names_in(n)) else n for n in sizes]


def _reshapes_in_place(file: Node | None) -> bool:
    """Return whether a file may change the shape of an array in place, so that no variable keeps its own."""
    for node in nodes_in.of(file):
        match node:
            case CallExpr(callee=MemberExpr(expr=RefExpr(node=MypyFile()))):
                continue  # np.resize returns another array
            case CallExpr(callee=MemberExpr(name="resize")):
                return True
        for target in targets_in(getattr(node, "lvalues", None) or getattr(node, "lvalue", None)):
            if isinstance(target, MemberExpr) and target.name in ("shape", "strides", "dtype"):
                owner = target.expr
                if not isinstance(owner, NameExpr) or owner.name != "self":  # a class's own attribute
                    return True
    return False


reshapes = ScopeCache(_reshapes_in_place)

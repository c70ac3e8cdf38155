"""What a program does with the dictionaries in its variables and attributes: whether it only reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    AssertStmt,
    AssignmentExpr,
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    DelStmt,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncItem,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    ReturnStmt,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
    WhileStmt,
)

from tapegrad.mypy.scopes.collections import FUNCTIONS_THAT_READ, collection_of, may_be_attribute, targets_bound
from tapegrad.mypy.scopes.names import BINDERS, ScopeCache, bound_by, children_of, inside, nodes_in, paired, targets_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import MypyFile, Node, TypeInfo

# Methods that read or remove items.
_READERS: Final = frozenset({"clear", "copy", "get", "items", "keys", "pop", "popitem", "values"})
_READERS_OF_ANY: Final = frozenset({"builtins.bool", "builtins.isinstance", "builtins.type"})


class Changes(NamedTuple):
    """What a file does with the dictionary in a variable.

    Attributes:
        keys: The values that it assigns to single keys; None for one that is not written.
        calls: The calls of functions of the program with the dictionary, with the argument.
        items: The uses of items by which one may change, if it is a dictionary: the key, or None if it is not written,
            the part of the program with the item, or None where an item of the item is assigned, and the item.
    """

    keys: dict[str, list[Expression | None]]
    calls: list[tuple[CallExpr, Expression]]
    items: Sequence[tuple[str | None, Any, Expression]] = ()


def changes_of_variable(variable: Node | None, file: Node | None) -> Changes | None:
    """Return what a file does with the dictionary in a variable; None if that cannot be followed."""
    return _changes.of(file).get(variable, Changes({}, []))


def is_returned(variable: Node | None, file: Node | None) -> bool:
    """Return whether a function of a file returns what a variable has."""
    return variable in _returned.of(file)


def _read_changes(file: Node | None) -> dict[Node | None, Changes | None]:
    """Return the changes of the dictionaries in variables; None for a variable whose changes cannot be followed."""
    found: dict[Node | None, Changes | None] = {}
    nodes = nodes_in.of(file)
    assigned: list[tuple[Expression, Expression | None]] = []
    returned: set[Expression] = set()
    unpacking: set[Node] = set()  # the tuples that loops bind
    for node in nodes:
        if isinstance(node, AssignmentStmt):
            assigned += [pair for target in node.lvalues for pair in paired(target, node.rvalue)]
        elif type(node).__name__ in BINDERS:
            assigned += [(target, None) for target in targets_in(getattr(node, BINDERS[type(node).__name__]))]
        values = _values_returned(node)
        names = [one.node if isinstance(one, NameExpr) else one for one in values]
        returned.update(one for one, name in zip(values, names, strict=True) if names.count(name) == 1)
        if isinstance(node, ForStmt):
            unpacking.update(one for one in inside(node.index) if isinstance(one, TupleExpr))
    for target, value in assigned:
        if isinstance(target, IndexExpr) and isinstance(target.base, NameExpr):
            changes = found.setdefault(target.base.node, Changes({}, []))
            if changes is not None and isinstance(target.index, StrExpr):
                changes.keys.setdefault(target.index.value, []).append(value)
            else:
                found[target.base.node] = None
    inner = _used_in_inner_functions(nodes)
    nodes = [*nodes, *(one for target, _ in assigned for one in inside(target))]
    for node in nodes:
        if node in unpacking:
            continue
        for child in children_of(node, NameExpr):
            changes = found.setdefault(child.node, Changes({}, []))
            if changes is None or (child in returned and child.node not in inner and is_local(child.node)):
                continue
            if isinstance(node, CallExpr) and node.callee is not child and not _reads(node, child):
                changes.calls.append((node, child))
            elif not _leaves(node, child):
                found[child.node] = None
    items = _items_used(nodes, [target for target, _ in assigned])
    return {
        one: None if changes is None else changes._replace(items=items.get(one, ())) for one, changes in found.items()
    }


def _items_used(
    nodes: list[Any], targets: list[Expression]
) -> dict[Node | None, list[tuple[str | None, Any, Expression]]]:
    """Return the uses of items of the collections in variables by which the items may change."""
    found: dict[Node | None, list[tuple[str | None, Any, Expression]]] = {}
    for node in nodes:
        for item in children_of(node, IndexExpr):
            is_read = _is_read(node, item) if isinstance(node, CallExpr) else _leaves(node, item)
            if isinstance(item.base, NameExpr) and not is_read:
                found.setdefault(item.base.node, []).append((_written_key(item), node, item))
        for name in children_of(node, NameExpr) if _gives_items(node) else ():
            found.setdefault(name.node, []).append((None, None, name))
    for target in targets:
        item = target.base if isinstance(target, IndexExpr) else None
        while isinstance(item, IndexExpr) and isinstance(item.base, IndexExpr):
            item = item.base
        if isinstance(item, IndexExpr) and isinstance(item.base, NameExpr):
            found.setdefault(item.base.node, []).append((_written_key(item), None, item))
    return found


def _gives_items(node: Any) -> bool:
    """Return whether a part of a program gives the items of a dictionary in it other names."""
    match node:
        case MemberExpr(name=name):
            return name not in ("clear", "keys")
        case CallExpr():
            return any(_reads(node, one) for one in node.args)
    return isinstance(node, DictExpr | OpExpr)


def _written_key(item: IndexExpr) -> str | None:
    return item.index.value if isinstance(item.index, StrExpr) else None


def _is_read(node: Any, item: IndexExpr) -> bool:
    return isinstance(node, CallExpr) and node.callee is not item and _reads(node, item)


def _values_returned(node: Node) -> list[Expression]:
    """Return what a `return` statement returns, and the items of a tuple that it returns."""
    value = node.expr if isinstance(node, ReturnStmt) else None
    return [] if value is None else [value, *(value.items if isinstance(value, TupleExpr) else ())]


def is_local(variable: Node | None) -> bool:
    """Return whether a variable is one of a function."""
    return isinstance(variable, Var) and variable.fullname == variable.name


def _used_in_inner_functions(nodes: list[Any]) -> set[Node | None]:
    """Return the variables that functions inside of others use, which may run when the outer one has returned."""
    functions = [node for node in nodes if isinstance(node, FuncItem)]
    inner = {one for function in functions for one in inside(function)[1:] if isinstance(one, FuncItem)}
    return {one.node for function in inner for one in inside(function) if isinstance(one, NameExpr)}


def _reads(call: CallExpr, argument: Expression) -> bool:
    """Return whether a call leaves a dictionary as it is: that of a function of Python or tapegrad, or with a star."""
    name = call.callee.fullname if isinstance(call.callee, RefExpr) else ""
    given = zip(call.args, call.arg_kinds, strict=True)
    is_starred = all(kind in (ARG_STAR, ARG_STAR2) for one, kind in given if one is argument)
    return is_starred or name in _READERS_OF_ANY or name in FUNCTIONS_THAT_READ or name.startswith("tapegrad.")


def _leaves(node: Any, child: Expression) -> bool:
    """Return whether a part of a program that has a dictionary in it leaves its items, and gives it no other name."""
    match node:
        case IndexExpr(base=base):
            return base is child
        case MemberExpr(name=name):
            return name in _READERS
        case DictExpr(items=pairs):  # {**child}
            return all(key is None for key, value in pairs if value is child) and all(
                key is not child for key, _ in pairs
            )
        case ForStmt(expr=iterated, index=target):
            return child is iterated or child in targets_in(target)
        case GeneratorExpr(sequences=sequences) | DictionaryComprehension(sequences=sequences):
            return child in sequences
        case ConditionalExpr(cond=condition):
            return condition is child
        case OpExpr(op=sign):
            return bool(sign == "|")
    return isinstance(node, _ONLY_READING)


_ONLY_READING: Final = AssertStmt, CallExpr, ComparisonExpr, DelStmt, ExpressionStmt, IfStmt, UnaryExpr, WhileStmt


class AttributeChanges(NamedTuple):
    """What a file does with the dictionary in an attribute.

    Attributes:
        is_replaced: Whether it replaces entries by others of the same shape and dtype.
        are_items_assigned: Whether it assigns to items of entries, which leaves the shape and dtype of an array.
        calls: The calls of functions of the program with the dictionary, with the argument.
    """

    is_replaced: bool
    are_items_assigned: bool
    calls: list[tuple[CallExpr, Expression]]


def changes_of_attribute(file: MypyFile | None, info: TypeInfo, name: str) -> AttributeChanges | None:
    """Return what a file does with the dictionary in an attribute; None if it may change it otherwise."""
    if file is None:
        return None
    is_replaced = are_items_assigned = False
    calls: list[tuple[CallExpr, Expression]] = []
    aliases = _aliases.of(file)
    for node in nodes_in.of(file):
        parts = [one for one in children_of(node, MemberExpr) if one.name == name]
        targets = [one for one in targets_bound(node) if isinstance(collection_of(one), MemberExpr)]
        changed = [one for one in targets if isinstance(one, IndexExpr) and _is_named(collection_of(one), name)]
        for target in changed:
            if not _may_be_attribute(collection_of(target), name, info, file):
                continue
            if isinstance(target.base, IndexExpr):
                are_items_assigned = True
            elif isinstance(node, AssignmentStmt) and _keeps_type(node):
                is_replaced = True
            else:
                return None
        for one in parts:
            if may_be_attribute(one, name, info, file) and not _leaves_attribute(node, one, aliases):
                if not isinstance(node, CallExpr) or one not in node.args:
                    return None
                calls.append((node, one))
    return AttributeChanges(is_replaced, are_items_assigned, calls)


def _is_named(expression: Expression, name: str) -> bool:
    return isinstance(expression, MemberExpr) and expression.name == name


def _may_be_attribute(expression: Expression, name: str, info: TypeInfo, file: MypyFile) -> bool:
    return isinstance(expression, MemberExpr) and may_be_attribute(expression, name, info, file)


def _leaves_attribute(node: Any, child: MemberExpr, aliases: set[Expression]) -> bool:
    """Return whether a part of a program that has a dictionary in it leaves it as it is; variables may only read it."""
    if isinstance(node, AssignmentStmt | TupleExpr):
        return child in aliases
    if isinstance(node, CallExpr):
        return node.callee is child or _reads(node, child)
    return _leaves(node, child)


def _keeps_type(statement: AssignmentStmt) -> bool:
    """Return whether an assignment such as `x[name] = x[name].at_set(0, y)` keeps the shape and dtype of an item."""
    match statement:
        case AssignmentStmt(
            lvalues=[IndexExpr() as target],
            rvalue=CallExpr(callee=MemberExpr(expr=IndexExpr() as item, name="at_add" | "at_set")) as call,
        ):
            is_plain = not any(isinstance(one, AssignmentExpr) for one in inside(call))
            return is_plain and _is_same(target.base, item.base) and _is_same(target.index, item.index)
    return False


def _is_same(one: Expression, other: Expression) -> bool:
    """Return whether two expressions in one statement have the same value."""
    match one, other:
        case (NameExpr(), NameExpr()):
            return one.node is other.node
        case (StrExpr(), StrExpr()):
            return one.value == other.value
        case (MemberExpr(), MemberExpr()):
            return one.name == other.name and _is_same(one.expr, other.expr)
    return False


def _read_aliases(file: Node | None) -> set[Expression]:
    """Return the attributes that variables are bound to which only read the dictionary in them."""
    changes, returned = _changes.of(file), _returned.of(file)
    found: set[Expression] = set()
    for node in nodes_in.of(file):
        for target in node.lvalues if isinstance(node, AssignmentStmt) else ():
            for one, value in paired(target, node.rvalue):
                if isinstance(one, NameExpr) and isinstance(value, MemberExpr) and one.node not in returned:
                    change = changes.get(one.node, Changes({}, []))
                    if change is not None and not change.keys and not change.calls:
                        found.add(value)
    return found


def variables_for_items(rows: Node, file: Node | None) -> list[Node | None] | None:
    """Return the variables to which loops bind the items of a list; None if it is used for anything else."""
    return _row_variables.of(file).get(rows, [])


def list_of_items(variable: Node, file: Node | None) -> Var | None:
    """Return the list to whose items all loops bind a variable; None if it gets other values."""
    return _rows_bound.of(file).get(variable)


def _read_row_variables(file: Node | None) -> dict[Node | None, list[Node | None] | None]:
    """Return the variables to which loops bind the items of lists; None for a list that is used for anything else."""
    found: dict[Node | None, list[Node | None] | None] = {}
    nodes = nodes_in.of(file)
    understood: set[Expression] = set()
    for node in nodes:
        for variable, of in _loops_in(node):
            several = found.setdefault(of.node, []) if isinstance(of, NameExpr) else None
            if several is not None:
                several.append(variable)
                understood.add(of)
        match node:
            case IndexExpr(base=IndexExpr(base=read)) | CallExpr(callee=RefExpr(fullname="builtins.len"), args=[read]):
                understood.add(read)
    for node in nodes:
        if isinstance(node, NameExpr) and node not in understood:
            found[node.node] = None
        for target in targets_bound(node):
            holder = collection_of(target)
            if isinstance(target, IndexExpr) and isinstance(holder, NameExpr):
                found[holder.node] = None
    return found


def _read_rows_bound(file: Node | None) -> dict[Node | None, Var | None]:
    """Return the list to whose items all loops bind a variable; None if it gets other values."""
    found: dict[Node | None, Var | None] = {}
    for node in nodes_in.of(file):
        loops = dict(_loops_in(node))
        for name, _ in bound_by(node):
            of = loops.get(name)
            rows = of.node if isinstance(of, NameExpr) and isinstance(of.node, Var) else None
            found[name] = rows if found.setdefault(name, rows) is rows else None
    return found


def _loops_in(node: Node) -> list[tuple[Node | None, Expression]]:
    """Return the variables that a loop or a comprehension binds to items, with what it runs over."""
    match node:
        case ForStmt(index=target, expr=sequence):
            return looped(target, sequence)
        case (
            GeneratorExpr(indices=targets, sequences=sequences)
            | DictionaryComprehension(indices=targets, sequences=sequences)
        ):
            return [one for pair in zip(targets, sequences, strict=True) for one in looped(*pair)]
    return []


def looped(target: Expression, sequence: Expression) -> list[tuple[Node | None, Expression]]:
    """Return the variable that a loop binds to each item of a sequence, with the sequence; none if it is another."""
    match target, sequence:
        case TupleExpr(items=[_, NameExpr(node=variable)]), CallExpr(
            callee=RefExpr(fullname="builtins.enumerate"), args=[of, *_]
        ):
            return [(variable, of)]
        case NameExpr(node=variable), _:
            return [(variable, sequence)]
    return []


_changes = ScopeCache(_read_changes)
_aliases = ScopeCache(_read_aliases)
_row_variables = ScopeCache(_read_row_variables)
_rows_bound = ScopeCache(_read_rows_bound)
_returned: ScopeCache[set[Node | None]] = ScopeCache(
    lambda file: {
        value.node for node in nodes_in.of(file) for value in _values_returned(node) if isinstance(value, NameExpr)
    }
)

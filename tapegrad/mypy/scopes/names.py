"""The values that the names of a function or a module are bound to."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias

from mypy.nodes import (
    AssignmentExpr,
    AssignmentStmt,
    Block,
    BytesExpr,
    CallExpr,
    ClassDef,
    ComplexExpr,
    ConditionalExpr,
    DictExpr,
    Expression,
    FloatExpr,
    ForStmt,
    FuncItem,
    IfStmt,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    ReturnStmt,
    SetExpr,
    StarExpr,
    Statement,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from typing_extensions import TypeVar

from tapegrad.mypy.mypy_api import enclosing_function, module_tree, outermost_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mypy.nodes import TypeInfo

    from tapegrad.mypy.mypy_api import Checker

Bindings: TypeAlias = dict[Node | None, list[Expression | None]]
BoundBy: TypeAlias = "Callable[[Any], Iterator[tuple[Node | None, Expression | None]]]"  # what a statement binds
_Blocks: TypeAlias = tuple[tuple[list[Any], int], ...]

# Nodes other than assignments and parameters that bind names, and the attribute with the names.
BINDERS = {
    "AsPattern": "name",
    "AssignmentExpr": "target",
    "DelStmt": "expr",
    "ForStmt": "index",
    "MappingPattern": "rest",
    "OperatorAssignmentStmt": "lvalue",
    "StarredPattern": "capture",
    "TryStmt": "vars",
    "WithStmt": "target",
}
# The attributes with the child nodes of a node. A plugin cannot subclass mypy's visitors.
_PARTS = (
    *(
        "defs",
        "func",
        "impl",
        "body",
        "else_body",
        "finally_body",
        "handlers",
        "bodies",
        "guards",
        "patterns",
        "subject",
    ),
    *("expr", "rvalue", "items", "args", "callee", "left", "right", "operands", "base", "index", "value", "values"),
    *("begin_index", "end_index", "stride", "if_expr", "cond", "else_expr", "left_expr", "sequences", "condlists"),
    *("generator", "pattern", "key", "keys", "positionals", "keyword_values", "from_expr", "msg"),
)
_VALUES = (BytesExpr, ComplexExpr, FloatExpr, IntExpr, StrExpr)

V = TypeVar("V")
Child = TypeVar("Child", bound=Node)


_FILES = 8  # bodies in other files are read while a file is checked
_FUNCTIONS = 256  # more than most files have: those that call each other are read by turns


class ScopeCache(Generic[V]):
    """A cache of a value computed from a scope, for the last files and functions: all are read repeatedly."""

    _all: ClassVar[list[ScopeCache[Any]]] = []

    def __init__(self, read: Callable[[Node | None], V]) -> None:
        self._all.append(self)
        self._read = read
        self._files: dict[Node | None, tuple[object, V]] = {}
        self._functions: dict[Node | None, tuple[object, V]] = {}

    @classmethod
    def clear_all(cls) -> None:
        """Forget the values of all scopes: the daemon gives the same statements new names when it checks them again."""
        for one in cls._all:
            one._files.clear()
            one._functions.clear()

    def of(self, scope: Node | None, *, again: bool = False) -> V:
        """Return the value for a scope, computed again if `again` is set or the scope has changed."""
        is_module = isinstance(scope, MypyFile)
        # After an edit, the daemon keeps the node of a function or file and replaces its statements.
        statements = getattr(scope, "defs" if is_module else "body", None)
        known, most = (self._files, _FILES) if is_module else (self._functions, _FUNCTIONS)
        cached = known.get(scope)
        if cached is None or cached[0] is not statements or again:
            cached = statements, self._read(scope)
            if len(known) >= most:
                known.clear()
            known[scope] = cached
        return cached[1]


def bound_once(variable: Var, api: Checker) -> tuple[Expression | None, bool]:
    """Return the value of a name (None if a statement computes it), and whether it is bound exactly once."""
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    bindings = _bound.of(scope)
    if variable not in bindings:  # a tree that is analysed again has new names
        bindings = _bound.of(scope, again=True)
    values = bindings.get(variable, [])
    return (values[0], True) if len(values) == 1 else (None, False)


def values_bound(variable: Node | None, api: Checker) -> list[Expression | None]:
    """Return the values that a name of the current function, or of the file, is bound to; None for a part of one."""
    return _bound.of(enclosing_function(api) or outermost_scope(api)).get(variable, [])


def changed_in_place(variable: Var, api: Checker) -> Expression | None:
    """Return the value of a name that is bound once, and that operators such as `x += y` change afterwards."""
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    values = _bound_besides_operators.of(scope).get(variable, [])
    return values[0] if len(values) == 1 else None


def unpacked_once(variable: Var, api: Checker) -> tuple[Expression, int] | None:
    """Return what a name is unpacked from, and its position, if only one statement binds it, such as `x, y = pair`."""
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    if bound_once(variable, api) != (None, True):
        return None
    return _unpacked.of(scope).get(variable)


def _read_unpacked(scope: Node | None) -> dict[Node | None, tuple[Expression, int]]:
    return {
        one.node: (node.rvalue, position)
        for node in nodes_in.of(scope)
        if isinstance(node, AssignmentStmt)
        for target in node.lvalues
        if isinstance(target, TupleExpr | ListExpr) and not any(isinstance(one, StarExpr) for one in target.items)
        for position, one in enumerate(target.items)
        if isinstance(one, NameExpr)
    }


_unpacked = ScopeCache(_read_unpacked)


EACH: Final = -1  # the position of what a loop gives its variable: that of each item


def values_assigned(variable: Var, api: Checker, *, is_given: bool = False) -> list[tuple[Expression, int | None]]:
    """Return all values of a name that assignments and loops bind, in any order; an empty list for any other name.

    A value is an expression, and the position in it if it is unpacked, or EACH if a loop runs over it. A parameter is
    also given a value by the call.
    """
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    values = _assigned_in.of(scope).get(variable, [])
    return values if len(values) + is_given == len(_bound.of(scope).get(variable, [])) else []


def _read_assigned(scope: Node | None) -> dict[Node | None, list[tuple[Expression, int | None]]]:
    found: dict[Node | None, list[tuple[Expression, int | None]]] = {}
    for node in nodes_in.of(scope):
        if isinstance(node, ForStmt) and isinstance(node.index, NameExpr):
            found.setdefault(node.index.node, []).append((node.expr, EACH))
        for target in node.lvalues if isinstance(node, AssignmentStmt) else ():
            for one, value in paired(target, node.rvalue):
                if isinstance(one, NameExpr) and value is not None:
                    found.setdefault(one.node, []).append((value, None))
            whole = [*paired(target, node.rvalue)]
            if isinstance(target, TupleExpr | ListExpr) and all(value is None for _, value in whole):
                for position, one in enumerate(target.items[: _starred(target)]):
                    if isinstance(one, NameExpr):
                        found.setdefault(one.node, []).append((node.rvalue, position))
    return found


def _starred(target: TupleExpr | ListExpr) -> int:
    """Return the position of a starred name, from which on no position is known; else the number of names."""
    return next((at for at, one in enumerate(target.items) if isinstance(one, StarExpr)), len(target.items))


_assigned_in = ScopeCache(_read_assigned)


def bound_last(use: NameExpr, api: Checker, *, by_operators: bool = True) -> list[Expression]:
    """Return the possible values, at one use, of a name bound more than once; an empty list if that is unclear.

    Follows statements backwards, and every branch of an `if`; a name that a loop binds again is unclear.

    Args:
        use: The name, where the program reads it.
        api: mypy's checker.
        by_operators: Whether `x += y` binds a name; it changes an array in place.
    """
    scope = enclosing_function(api) or outermost_scope(api)
    blocks = blocks_around(use, scope)
    if not blocks:
        return []
    block, position = blocks[-1]
    known, key = _last_bindings.of(scope), (use.node, use.name, block[position], by_operators)
    if key not in known:
        known[key] = _bound_last(use, blocks, scope, bound_by if by_operators else _bound_besides_operators_by)
    return known[key]


def _bound_last(use: NameExpr, blocks: _Blocks, scope: Node | None, bound_by: BoundBy) -> list[Expression]:
    if _may_be_bound_elsewhere(use, scope, bound_by):
        return []
    for block, position in reversed(blocks):
        if _binds_around(block[position], use.node, bound_by):
            return []
        found, is_settled = _last_in(block[:position], use.node, bound_by)
        if is_settled:
            return found
    return []


def _may_be_bound_elsewhere(use: NameExpr, scope: Node | None, bound_by: BoundBy) -> bool:
    """Return whether a name is of an outer scope, or one that an inner function may bind at any call."""
    if not isinstance(scope, MypyFile) and getattr(use.node, "fullname", "") != use.name:
        return True
    inner = (node for node in nodes_in.of(scope) if isinstance(node, FuncItem) and node is not scope)
    return any(_binds(node, use.node, bound_by) for node in inner)


def unpacked_last(use: NameExpr, api: Checker) -> tuple[Expression, int] | None:
    """Return what a name was unpacked from, and its position, if that is the last statement before a use to bind it."""
    scope = enclosing_function(api) or outermost_scope(api)
    if _may_be_bound_elsewhere(use, scope, bound_by):
        return None
    for block, position in reversed(blocks_around(use, scope)):
        if _binds_around(block[position], use.node, bound_by):
            return None
        statement = next((one for one in reversed(block[:position]) if _binds(one, use.node, bound_by)), None)
        if statement is None:
            continue
        for target in statement.lvalues if isinstance(statement, AssignmentStmt) else ():
            items = target.items if isinstance(target, TupleExpr | ListExpr) else []
            places = [at for at, one in enumerate(items) if isinstance(one, NameExpr) and one.node is use.node]
            if len(places) == 1 and not any(isinstance(one, StarExpr) for one in items):
                return statement.rvalue, places[0]
        return None
    return None


# Of each name, by the statement with the use, and whether operators bind names; filled where they are read.
_last_bindings: ScopeCache[dict[tuple[Node | None, str, Node, bool], list[Expression]]] = ScopeCache(lambda _: {})


def _binds_around(statement: Any, name: Node | None, bound_by: BoundBy) -> bool:
    """Return whether a statement may bind a name before the use inside it, or in another iteration."""
    match statement:
        case IfStmt(expr=conditions):
            return _binds(conditions, name, bound_by)
        case AssignmentStmt(rvalue=value) | OperatorAssignmentStmt(rvalue=value):
            return _binds(value, name, bound_by)
    return _binds(statement, name, bound_by)


def blocks_around(use: Expression, scope: Node | None) -> _Blocks:
    """Return the statement lists around an expression, outermost first, with the index in each."""
    return _all_blocks.of(scope).get(use, ())


def _read_blocks(scope: Node | None) -> dict[Node, _Blocks]:
    """Return the statement lists around each node in a scope."""
    found: dict[Node, _Blocks] = {}
    pending: list[tuple[Any, _Blocks]] = [(scope, ())]
    while pending:
        node, blocks = pending.pop()
        if isinstance(node, list | tuple):
            pending += [(one, blocks) for one in node]
            continue
        found.setdefault(node, blocks)
        if isinstance(node, Block | MypyFile):
            body = node.body if isinstance(node, Block) else node.defs
            pending += [(one, (*blocks, (body, position))) for position, one in enumerate(body)]
        elif node is not None:
            pending += [(one, blocks) for one in parts_of(node)]
    return found


_all_blocks = ScopeCache(_read_blocks)


def _last_in(statements: list[Any], name: Node | None, bound_by: BoundBy) -> tuple[list[Expression], bool]:
    """Return the values from the last statement that binds a name, and whether such a statement exists."""
    for statement in reversed(statements):
        if isinstance(statement, AssignmentStmt):
            for target, value in _assigned(statement):
                if value is not None and target.node is name:
                    return [value], True
        is_bound = _binds(statement, name, bound_by)
        if is_bound and isinstance(statement, IfStmt) and statement.else_body is not None:
            ends = [_last_in(block.body, name, bound_by) for block in (*statement.body, statement.else_body)]
            each = all(values for values, _ in ends)
            return [value for values, _ in ends for value in values] if each else [], True
        if is_bound:
            return [], True
    return [], False


def _binds(statement: Any, name: Node | None, bound_by: BoundBy) -> bool:
    return any(bound is name for node in inside(statement) for bound, _ in bound_by(node))


def inside(scope: Node | None) -> list[Any]:
    """Return a function or a file, then every statement and expression in it."""
    found: list[Any] = []
    pending: list[Any] = [scope]
    while pending:
        node = pending.pop()
        kind: Any = type(node)
        if kind is list or kind is tuple:
            pending += node
        elif node is not None:
            found.append(node)
            read = _readers.get(kind) or _reader(kind)
            if read is not _nothing:
                pending += read(node)
    return found


nodes_in: ScopeCache[list[Any]] = ScopeCache(inside)


def statements_in(scope: Node | None) -> Iterator[Statement]:
    """Yield the statements in a function or a file; a file has ten times as many expressions."""
    pending: list[Any] = parts_of(scope)
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += node
        elif isinstance(node, Statement):
            yield node
            pending += parts_of(node)


def _classes_in(file: Node | None) -> set[TypeInfo]:
    return {one.info for one in nodes_in.of(file) if isinstance(one, ClassDef)}


classes_in = ScopeCache(_classes_in)


def parts_of(node: Any) -> list[Any]:
    """Return the child statements and expressions of a node, or lists of them, roughly in execution order."""
    kind = type(node)
    return [part for part in (_readers.get(kind) or _reader(kind))(node) if part is not None]


def is_short_circuit(node: Node) -> bool:
    """Return whether a node is `x and y` or `x or y`, which may leave y as it is."""
    return isinstance(node, OpExpr) and node.op in ("and", "or")


def children_of(node: Any, kind: type[Child]) -> Iterator[Child]:
    """Yield the child statements and expressions of a node that are of a kind, also those in lists of them."""
    return _of_kind(parts_of(node), kind)


def _of_kind(parts: Sequence[Any], kind: type[Child]) -> Iterator[Child]:
    for part in parts:
        if isinstance(part, list | tuple):
            yield from _of_kind(part, kind)
        elif isinstance(part, kind):
            yield part


def _reader(kind: type) -> Callable[[Any], Sequence[Any]]:
    """Return a function that reads the child nodes of a kind of node; numbers and strings have none."""
    names = [] if issubclass(kind, _VALUES) else [name for name in _PARTS if hasattr(kind, name)]
    reads = _nothing if not names else _one(names[0]) if len(names) == 1 else attrgetter(*names)
    _readers[kind] = reads
    return reads


def _nothing(_: Any) -> tuple[()]:
    return ()


def _one(name: str) -> Callable[[Any], Sequence[Any]]:
    return lambda node: (getattr(node, name),)


_readers: dict[type, Callable[[Any], Sequence[Any]]] = {}


def bound_in(scope: Node) -> frozenset[Node | None]:
    """Return the names that a function or a file binds, including those of inner functions."""
    return _names_bound.of(scope)


def targets_in(target: Any) -> list[Expression]:
    """Return the targets of an assignment: names, attributes and items, also inside tuples and lists."""
    if isinstance(target, TupleExpr | ListExpr):
        return targets_in(target.items)
    if isinstance(target, StarExpr):
        return targets_in(target.expr)
    if isinstance(target, list | tuple):
        return [found for one in target for found in targets_in(one)]
    return [] if target is None else [target]


def receiver_of(call: Any, *, reflected: bool) -> Expression | None:
    """Return the receiver of a method or operator call; for a reflected operator it is the right operand."""
    match call:
        case OpExpr(left=left, right=right):
            return right if reflected else left
        case UnaryExpr(expr=operand) | IndexExpr(base=operand) | CallExpr(callee=MemberExpr(expr=operand)):
            return operand
    return None


def targets_of(value: Expression, api: Checker) -> int | None:
    """Return the number of targets that an assignment unpacks a value to; None if it unpacks none or has `*rest`."""
    return _shared.of(enclosing_function(api) or outermost_scope(api)).get(value)


def _shared_out(scope: Node | None) -> dict[Expression, int]:
    return {
        node.rvalue: len(target.items)
        for node in nodes_in.of(scope)
        if isinstance(node, AssignmentStmt)
        for target in node.lvalues
        if isinstance(target, TupleExpr | ListExpr) and not any(isinstance(one, StarExpr) for one in target.items)
    }


_shared = ScopeCache(_shared_out)


def targets_bound_to(value: Any, api: Checker) -> list[NameExpr]:
    """Return the names that an expression, alone or as a branch of a conditional expression, is assigned to."""
    targets = _targets.of(enclosing_function(api) or outermost_scope(api))
    # For `x += y` mypy makes a new node `x + y`.
    return targets.get(value) or (targets.get(value.left, []) if isinstance(value, OpExpr) else [])


def is_unpacked(value: Any, api: Checker) -> bool:
    """Return whether an expression is assigned to several names or other targets, none of them with a star.

    So is `xs` in `a, b = map(function, xs)`.
    """
    return value in _values_unpacked.of(enclosing_function(api) or outermost_scope(api))


def _with_mapped(value: Expression) -> list[Expression]:
    match value:
        case CallExpr(callee=NameExpr(fullname="builtins.map"), args=[_, *sequences]):
            return [value, *sequences]
    return [value]


_values_unpacked: ScopeCache[set[Expression]] = ScopeCache(
    lambda scope: {
        value
        for node in nodes_in.of(scope)
        if isinstance(node, AssignmentStmt)
        for value in _with_mapped(node.rvalue)
        if all(isinstance(one, TupleExpr | ListExpr) for one in node.lvalues)
        and not any(isinstance(item, StarExpr) for one in node.lvalues for item in getattr(one, "items", ()))
    }
)


def name_same(one: Expression, other: Expression) -> bool:
    """Return whether two expressions are the same variable, or the same attribute of one."""
    match one, other:
        case NameExpr(node=first), NameExpr(node=second):
            return first is second
        case MemberExpr(expr=owner, name=name), MemberExpr(expr=other_owner, name=other_name):
            return name == other_name and name_same(owner, other_owner)
    return one is other


def places_of(value: Any, api: Checker) -> list[Expression]:
    """Return the names, attributes and items that an expression, a branch of it, or what it unpacks, is assigned to."""
    return _places.of(enclosing_function(api) or outermost_scope(api)).get(value, [])


def _places_by_value(scope: Node | None) -> dict[Expression, list[Expression]]:
    found: dict[Expression, list[Expression]] = {}
    for node in nodes_in.of(scope):
        if isinstance(node, AssignmentExpr):
            found.setdefault(node.value, []).append(node.target)
        for target in node.lvalues if isinstance(node, AssignmentStmt) else ():
            for one, value in paired(target, node.rvalue):
                for branch in _alternatives(value or node.rvalue):
                    found.setdefault(branch, []).append(one)
    return found


_places = ScopeCache(_places_by_value)


def _targets_by_value(scope: Node | None) -> dict[Any, list[NameExpr]]:
    found: dict[Any, list[NameExpr]] = {}
    for node in nodes_in.of(scope):
        pairs: Iterable[tuple[NameExpr, Expression | None]] = ()
        kind = type(node)  # mypy has no subclasses of these
        if kind is AssignmentStmt:
            pairs = _assigned(node)
        elif kind is AssignmentExpr:
            pairs = [(node.target, node.value)]
        elif kind is OperatorAssignmentStmt and isinstance(node.lvalue, NameExpr):
            found[node.lvalue] = [node.lvalue]
        for name, assigned in pairs:
            for one in _alternatives(assigned) if assigned is not None else []:
                found.setdefault(one, []).append(name)
    return found


_targets = ScopeCache(_targets_by_value)


def is_given_back(value: Expression, api: Checker) -> bool:
    """Return whether the current function returns a name that is bound once, to this expression."""
    return value in _given_back.of(enclosing_function(api))


def _values_given_back(scope: Node | None) -> set[Expression]:
    given: set[Node | None] = set()
    listed: set[Node | None] = set()  # a list typed with one exact size would reject other numbers
    for node in nodes_in.of(scope):
        if isinstance(node, ReturnStmt):
            given |= {name.node for name in _names(node.expr)}
        elif isinstance(node, ListExpr | SetExpr | DictExpr):
            listed |= {name.node for name in _names(parts_of(node))}
    values = [bound[0] for name, bound in bindings_in(scope).items() if name in given - listed and len(bound) == 1]
    return {one for value in values if value is not None for one in _alternatives(value)}


def _alternatives(value: Expression) -> list[Expression]:
    if isinstance(value, ConditionalExpr):
        return [*_alternatives(value.if_expr), *_alternatives(value.else_expr)]
    return [value]


_given_back = ScopeCache(_values_given_back)


def captured(pattern: Any) -> list[Expression]:
    """Return the names that a pattern of `match` binds."""
    found = [getattr(node, BINDERS[type(node).__name__]) for node in inside(pattern) if type(node).__name__ in BINDERS]
    return [name for name in found if name is not None]


def bindings_in(scope: Node | None) -> Bindings:
    """Return the names that a function or module binds, with their values; None where a statement computes one."""
    found: Bindings = {}
    for node in inside(scope):
        for name, value in bound_by(node):
            found.setdefault(name, []).append(value)
    return found


def _read_besides_operators(scope: Node | None) -> Bindings:
    found: Bindings = {}
    for node in nodes_in.of(scope):
        for name, value in _bound_besides_operators_by(node):
            found.setdefault(name, []).append(value)
    return found


_bound = ScopeCache(bindings_in)
_bound_besides_operators = ScopeCache(_read_besides_operators)
_names_bound: ScopeCache[frozenset[Node | None]] = ScopeCache(
    lambda scope: frozenset(name for node in nodes_in.of(scope) for name, _ in bound_by(node))
)


def bound_by(node: Any) -> Iterator[tuple[Node | None, Expression | None]]:
    """Yield the names that a statement binds, each with its value, or None where the value is a part of another."""
    if isinstance(node, AssignmentStmt):
        yield from ((name.node, value) for name, value in _assigned(node))
    elif isinstance(node, FuncItem):
        # A function that mypy has read from its cache, such as `abs`, has none.
        yield from ((argument.variable, None) for argument in getattr(node, "arguments", ()))
    elif type(node).__name__ in BINDERS:
        yield from ((name.node, None) for name in _names(getattr(node, BINDERS[type(node).__name__])))


def _bound_besides_operators_by(node: Any) -> Iterator[tuple[Node | None, Expression | None]]:
    """Yield the names that a statement binds, other than by an operator such as `x += y`."""
    return iter(()) if isinstance(node, OperatorAssignmentStmt) else bound_by(node)


def _assigned(statement: AssignmentStmt) -> Iterator[tuple[NameExpr, Expression | None]]:
    """Yield each assigned name with its value; None where a value is unpacked."""
    for target in statement.lvalues:
        yield from ((one, value) for one, value in paired(target, statement.rvalue) if isinstance(one, NameExpr))


def paired(target: Expression, value: Expression) -> Iterator[tuple[Expression, Expression | None]]:
    """Yield what an assignment assigns to, with the value where it is written; None where a value is unpacked."""
    ours = target.items if isinstance(target, TupleExpr | ListExpr) else None
    if ours is None:
        yield target, value
        return
    theirs = value.items if isinstance(value, TupleExpr | ListExpr) else []
    if len(ours) != len(theirs) or any(isinstance(one, StarExpr) for one in (*ours, *theirs)):
        yield from ((one, None) for one in targets_in(target))
        return
    for one, other in zip(ours, theirs, strict=True):
        yield from paired(one, other)


def _names(target: Any) -> list[NameExpr]:
    return [one for one in targets_in(target) if isinstance(one, NameExpr)]

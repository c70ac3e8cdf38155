"""Lists, dictionaries and sets: which of them only their display fills, and which grow later."""

from __future__ import annotations

from collections import deque
from enum import IntEnum
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    Argument,
    AssertStmt,
    AssignmentStmt,
    BreakStmt,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    ContinueStmt,
    DelStmt,
    DictExpr,
    DictionaryComprehension,
    Expression,
    ExpressionStmt,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    ReturnStmt,
    SliceExpr,
    StarExpr,
    SuperExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
    WhileStmt,
)
from mypy.types import AnyType, CallableType, Instance, UnionType, get_proper_type

from tapegrad.mypy.mypy_api import checked_file, stored_type
from tapegrad.mypy.mypy_files import program_file
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.names import (
    BINDERS,
    ScopeCache,
    blocks_around,
    bound_by,
    bound_once,
    children_of,
    inside,
    nodes_in,
    paired,
    targets_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker

_READERS: Final = frozenset(
    [
        *("copy", "count", "difference", "get", "index", "intersection", "items", "keys", "most_common", "union"),
        "values",
    ]
)
# Methods that read a list: of tensors, strings, sets and `dict`; a class of the program may have one that changes it.
_READING_METHODS: Final = frozenset(
    {"broadcast_to", "difference", "fromkeys", "intersection", "join", "reshape", "split", "union"}
)
_EXTENDERS: Final = frozenset({"add", "append", "appendleft", "extend", "insert", "setdefault", "update"})
FUNCTIONS_THAT_READ: Final = frozenset(
    [
        *(f"builtins.{name}" for name in ("all", "any", "enumerate", "filter", "iter", "len", "map", "max", "min")),
        *(f"builtins.{name}" for name in ("print", "range", "repr", "reversed", "sorted", "sum", "zip")),
        *(f"builtins.{name}" for name in ("dict", "frozenset", "list", "set", "str", "tuple")),
        *(
            "collections.Counter",
            "copy.copy",
            "itertools.chain",
            "itertools.pairwise",
            "json.dump",
            "json.dumps",
            "math.prod",
        ),
    ]
)

_CHANGEABLE: Final = frozenset(
    [
        *(f"builtins.{name}" for name in ("dict", "list", "set")),
        *(f"collections.{name}" for name in ("OrderedDict", "defaultdict", "deque")),
        *(f"typing.{name}" for name in ("MutableMapping", "MutableSequence", "MutableSet")),
    ]
)


class Use(IntEnum):
    """What a program does with a collection after it was made; the worst use counts."""

    READ = 0  # its items stay what they are
    SHARED = 1  # another name, function or object may change it
    EXTENDED = 2  # it gets other items


Owner: TypeAlias = "Node | str | tuple[TypeInfo, str]"  # a variable; the name of an attribute, with its class if known
Uses: TypeAlias = dict[Owner, Use]


def use_of(collection: Expression, api: Checker) -> Use:
    """Return what the file that is checked does with the collection in a variable or an attribute."""
    files = {checked_file(api), program_file(api)}  # the second may use an attribute of an object of the first
    known = [_uses.of(file) for file in files]
    if isinstance(collection, MemberExpr):
        info = _class_of(collection.expr, api)
        used = [use for uses in known for owner, use in uses.items() if _may_be(owner, collection.name, info)]
        return max(used, default=Use.READ)
    return max((uses.get(owner, Use.READ) for owner in _owners(collection, {}) for uses in known), default=Use.SHARED)


def use_after_set_up(file: MypyFile, info: TypeInfo, name: str) -> Use:
    """Return what a file does with the collection in an attribute, apart from the methods that set up the object."""
    uses = _uses_after_set_up.of(file).items()
    return max((use for owner, use in uses if _may_be(owner, name, info)), default=Use.READ)


def set_up_methods(file: MypyFile) -> set[FuncDef]:
    """Return the constructors of a file, and the methods that only they, and other such methods, call."""
    return _set_up_methods.of(file)


def _read_set_up_methods(file: Node | None) -> set[FuncDef]:
    methods = [node for node in nodes_in.of(file) if isinstance(node, FuncDef) and node.info]
    mentions: dict[str, list[FuncDef | None]] = {}  # the methods in which a name is that of an attribute
    within: dict[Node, FuncDef] = {node: method for method in methods for node in inside(method)}
    for node in nodes_in.of(file):
        if isinstance(node, MemberExpr):
            mentions.setdefault(node.name, []).append(within.get(node))
    constructors = {one for one in methods if one.name == "__init__"}
    found = constructors | {one for one in methods if mentions.get(one.name)}
    while True:
        kept = {one for one in found if one in constructors or found.issuperset(mentions[one.name])}
        if kept == found:
            return found
        found = kept


def _read_after_set_up(file: Node | None) -> Uses:
    methods = _set_up_methods.of(file)
    skipped = {node for method in methods for node in inside(method)}
    return _read([node for node in nodes_in.of(file) if node not in skipped], file)


def use_of_variable(variable: Var, files: set[MypyFile]) -> Use:
    """Return what files do with the collection in a variable of a module, also by `module.variable`."""
    known = [_uses.of(file) for file in files]
    return max(uses.get(owner, Use.READ) for owner in (variable, variable.name) for uses in known)


def changed_outside(function: FuncDef, file: MypyFile | None) -> list[Var]:
    """Return the variables from outside of a function whose collections it may change.

    Args:
        function: A function of the program.
        file: The file with a function that no other function contains; else None.
    """
    return [] if file is not None and not _has_collections.of(file) else _changed_outside.of(function)


def _read_has_collections(file: Node | None) -> bool:
    """Return whether a file has a variable of its own, or an imported one, with a collection that may change."""
    variables = [(name, one.node) for name, one in file.names.items()] if isinstance(file, MypyFile) else []
    return any(
        isinstance(one, Var) and (one.type is None or may_change(one.type))
        for name, one in variables
        if not name.startswith("__")  # `__annotations__`
    )


def _read_changed_outside(function: Node | None) -> list[Var]:
    nodes = nodes_in.of(function)
    holders = [collection_of(target) for node in nodes for target in targets_bound(node)]
    names = {node.node for node in (*nodes, *holders) if isinstance(node, NameExpr)}
    outside = {one for one in names if isinstance(one, Var) and (one.type is None or may_change(one.type))}
    if outside:
        outside.difference_update(name for node in nodes for name, _ in bound_by(node))
    uses = _read(nodes, None) if outside else {}
    return [one for one, use in uses.items() if one in outside and use is not Use.READ]


def may_change(t: Type) -> bool:
    """Return whether a type is that of a collection which can get other items."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return all(map(may_change, p.items))
    return isinstance(p, Instance) and p.type.fullname in _CHANGEABLE


def _class_of(owner: Expression, api: Checker) -> TypeInfo | None:
    """Return the class of an object, or the one that it is declared to have; None if it may be of any."""
    made = Reading.frame.receiver if Reading.frame is not None else None
    info = _receivers.of(checked_file(api)).get(owner.node) if isinstance(owner, NameExpr) else None
    if info is None:
        variable = owner.node if isinstance(owner, NameExpr) else None
        t = get_proper_type(stored_type(api, owner) or (variable.type if isinstance(variable, Var) else None))
        return t.type if isinstance(t, Instance) and not t.type.is_protocol else None
    return made.info if made is not None and info in made.info.mro else info


def _may_be(owner: Owner, name: str, info: TypeInfo | None) -> bool:
    """Return whether an attribute is one of an object of a class, or of any class if it is None."""
    if not isinstance(owner, tuple):
        return owner == name
    return owner[1] == name and (info is None or info in owner[0].mro or owner[0] in info.mro)


def may_be_attribute(expression: MemberExpr, name: str, info: TypeInfo, file: MypyFile) -> bool:
    """Return whether an expression in a file may be an attribute of an object of a class."""
    return any(_may_be(owner, name, info) for owner in _owners(expression, _classes.of(file)))


def _read_receivers(file: Node | None) -> dict[Node | None, TypeInfo]:
    """Return the class of the first parameter of each method of a file."""
    return {
        node.arguments[0].variable: node.info
        for node in nodes_in.of(file)
        if isinstance(node, FuncDef) and node.info and node.arguments and not node.is_static
    }


def _read_classes(file: Node | None) -> dict[Node | None, TypeInfo]:
    """Return the class of the first parameter of each method of a file, and of the parameters that declare one."""
    declared: dict[Node | None, TypeInfo] = {
        argument.variable: p.type
        for node in nodes_in.of(file)
        if isinstance(node, FuncDef) and isinstance(t := get_proper_type(node.type), CallableType)
        for argument, one in zip(node.arguments, t.arg_types, strict=False)
        if isinstance(p := get_proper_type(one), Instance) and not p.type.is_protocol
    }
    return {**declared, **_receivers.of(file)}


def other_names(collection: NameExpr | MemberExpr, api: Checker) -> list[Expression]:
    """Return the variables and attributes that an assignment gives the same collection, and the items that it is."""
    file = checked_file(api)
    receivers, pairs = _classes.of(file), _same.of(file)
    found: list[Expression] = [collection]
    for one in found:  # which grows meanwhile
        owners = _owners(one, receivers)
        for pair in pairs:
            for other, same in (pair, pair[::-1]):
                if same not in found and any(owner in owners for owner in _owners(other, receivers)):
                    found.append(same)
    return found[1:]


def _read_same(file: Node | None) -> list[tuple[Expression, Expression]]:
    return [pair for node in nodes_in.of(file) if isinstance(node, AssignmentStmt) for pair in _same_after(node)]


def _same_after(node: AssignmentStmt) -> Iterator[tuple[Expression, Expression]]:
    """Yield the pairs of variables, attributes and items that are the same object after an assignment."""
    for target in node.lvalues:
        for one, value in paired(target, node.rvalue):
            if isinstance(one, NameExpr | MemberExpr) and isinstance(value, NameExpr | MemberExpr | IndexExpr):
                yield one, value
    yield from pairwise(one for one in node.lvalues if isinstance(one, NameExpr | MemberExpr))


def display_of(name: NameExpr, api: Checker) -> ListExpr | None:
    """Return the list display that a variable is bound to, if nothing else fills the list."""
    value = made_once(name, api)
    return value if isinstance(value, ListExpr) else None


def comprehension_of(name: NameExpr, api: Checker) -> ListComprehension | None:
    """Return the comprehension that a variable is bound to, if nothing else fills the list.

    None in a body that is read, where its numbers may be other ones by now.
    """
    value = made_once(name, api) if Reading.frame is None else None
    return value if isinstance(value, ListComprehension) else None


def made_once(name: NameExpr, api: Checker) -> Expression | None:
    """Return the list that a variable is bound to, if nothing else changes the list."""
    if not isinstance(name.node, Var) or use_of(name, api) is not Use.READ:
        return None
    return bound_once(name.node, api)[0]


def appended_to(name: NameExpr, api: Checker) -> list[Expression] | None:
    """Return what a list or a dictionary may have as items; None if it may have others.

    They are those of its display, and what `append`, or `features[name] = x`, adds.
    """
    if not isinstance(name.node, Var):
        return None
    added = _appended.of(checked_file(api)).get(name.node)
    value, _ = bound_once(name.node, api) if added else (None, None)
    first = None if value is None else _first_items(value)
    return None if not added or first is None else [*first, *added]


def loops_that_fill(name: NameExpr, api: Checker) -> tuple[int, list[ForStmt]] | None:
    """Return how many items a list has at first, and the loops around the one `append` to it, outermost first.

    They are those between the list and its use behind them, such as two of
    `xs = [y]; for i in range(3): for j in range(4): xs.append(f(i, j))`. None if some turn may add no item.
    """
    file, variable = checked_file(api), name.node
    added = _appended.of(file).get(variable) if isinstance(variable, Var) else None
    made, _ = bound_once(variable, api) if added and isinstance(variable, Var) else (None, None)
    if added is None or len(added) != 1 or not isinstance(made, ListExpr):
        return None
    if any(isinstance(one, StarExpr) for one in made.items):
        return None
    created, filled, used = (blocks_around(one, file) for one in (made, added[0], name))
    depth = len(created) - 1
    if min(map(len, (created, filled, used))) <= depth or depth < 0:
        return None
    places = [chain[depth] for chain in (created, filled, used)]
    if any(body is not places[0][0] for body, _ in places) or not places[0][1] < places[1][1] < places[2][1]:
        return None
    statement = places[0][0][places[0][1]]
    if not isinstance(statement, AssignmentStmt) or len(statement.lvalues) > 1:  # it has another name
        return None
    loops = [body[at] for body, at in filled[depth:-1]]
    bodies = [loop.body.body if isinstance(loop, ForStmt) else None for loop in loops]
    is_direct = all(body is inner for body, (inner, _) in zip(bodies, filled[depth + 1 :], strict=True))
    last = filled[-1][0][filled[-1][1]]
    is_append = isinstance(last, ExpressionStmt) and _appends(last.expr, added[0])
    leaves = any(isinstance(node, BreakStmt | ContinueStmt) for loop in loops for node in inside(loop))
    is_counted = is_direct and is_append and not leaves and not _loses_items(variable, file)
    return (len(made.items), loops) if is_counted else None


def _appends(call: Expression, item: Expression) -> bool:
    return isinstance(call, CallExpr) and getattr(call.callee, "name", "") == "append" and call.args == [item]


def _loses_items(variable: Node | None, file: Node) -> bool:
    """Return whether a method or a `del` statement may remove items of a list."""
    for node in nodes_in.of(file):
        match node:
            case MemberExpr(expr=NameExpr(node=of), name=name) if of is variable and name in _REMOVERS:
                return True
            case DelStmt(expr=target) if any(getattr(one, "node", None) is variable for one in inside(target)):
                return True
    return False


def _first_items(made: Expression) -> list[Expression] | None:
    """Return the items that a list or a deque is made with; None if they are not written there."""
    match made:
        case ListExpr(items=items):
            return items
        case DictExpr(items=pairs):
            return [value for key, value in pairs] if all(key is not None for key, _ in pairs) else None
        case CallExpr(callee=RefExpr(fullname="builtins.list" | "builtins.dict"), args=[]):
            return []
        case CallExpr(callee=RefExpr(fullname="collections.deque"), arg_names=names):
            return [] if all(name == "maxlen" for name in names) else None
    return None


def _read_appended(file: Node | None) -> dict[Node, list[Expression]]:
    """Return what is added to the variables of which all other uses only read, or remove items."""
    found: dict[Node, list[Expression]] = {}
    methods: set[Expression] = set()
    filled: set[Expression] = set()
    nodes = nodes_in.of(file)
    for node in nodes:
        match node:
            case CallExpr(
                callee=MemberExpr(expr=NameExpr(node=Var() as variable), name="append" | "appendleft") as method,
                args=[item],
            ):
                found.setdefault(variable, []).append(item)
                methods.add(method)
            case AssignmentStmt(
                lvalues=[IndexExpr(base=NameExpr(node=Var() as variable) as base, index=index)], rvalue=item
            ) if not isinstance(index, SliceExpr):
                found.setdefault(variable, []).append(item)
                filled.add(base)
            case MemberExpr(expr=NameExpr(node=Var()), name=name) if name in _REMOVERS:
                methods.add(node)
    if not found:
        return found
    returned = _returned_once(nodes)
    receivers, functions = _classes.of(file), {node for node in nodes if isinstance(node, FuncDef)}
    for node in nodes:
        written = [target.base for target in targets_bound(node) if isinstance(target, IndexExpr)]
        for child in (*written, *children_of(node, Node)):
            if not isinstance(child, NameExpr) or child.node not in found or node in methods or child in returned:
                continue
            is_bound = isinstance(node, AssignmentStmt) and child in node.lvalues
            is_read = use_in(node, child) is Use.READ or _only_draws(node)
            alike = () if is_read else _alike(node, child, functions, receivers)
            is_read = is_read or (
                bool(alike) and all(_uses.of(file).get(one, Use.READ) is Use.READ for _, one in alike)
            )
            if (child in written and child not in filled) or not (is_bound or is_read or child in filled):
                found.pop(child.node)
    return found


_REMOVERS: Final = frozenset({"clear", "pop", "popleft", "remove", "reverse", "sort"})


def _only_draws(node: Any) -> bool:
    """Return whether a call draws items of a list by chance."""
    name = getattr(node.callee, "fullname", "") if isinstance(node, CallExpr) else ""
    return name in ("random.choice", "random.choices", "random.sample")


def _returned_once(nodes: list[Any]) -> set[Expression]:
    """Return the local variables in `return` statements, alone or in a tuple, that no inner function uses."""
    values = [node.expr for node in nodes if isinstance(node, ReturnStmt)]
    several = [one for value in values for one in (value.items if isinstance(value, TupleExpr) else [value])]
    names = [one for one in several if isinstance(one, NameExpr) and isinstance(one.node, Var)]
    local = [one for one in names if isinstance(one.node, Var) and one.node.fullname == one.node.name]
    if not local:
        return set()
    uses = [{one.node for one in inside(node) if isinstance(one, NameExpr)} for node in nodes if _is_function(node)]
    return {one for one in local if sum(one.node in used for used in uses) == 1}


def is_new_list(value: Expression, function: Node | None, api: Checker) -> bool:
    """Return whether a list, or a list in a tuple, was made by the function that returns it, and nothing else holds it.

    A call of a function of the program returns a new one as well if the items in the type of its result are known.
    """
    match value:
        case ListExpr() | ListComprehension() | IndexExpr(index=SliceExpr()) | OpExpr(op="+" | "*"):
            return True
        case CallExpr(callee=RefExpr(fullname="builtins.list" | "builtins.sorted" | "builtins.tuple")):
            return True
        case CallExpr(callee=RefExpr(node=FuncDef())):
            return True
        case ConditionalExpr(if_expr=one, else_expr=other):
            return is_new_list(one, function, api) and is_new_list(other, function, api)
        case NameExpr(node=Var() as variable):
            values = _local_lists.of(function).get(variable)
            return values is not None and all(is_new_list(one, function, api) for one in values)
    return False


def _read_local_lists(function: Node | None) -> dict[Node | None, list[Expression]]:
    """Return the values of the variables of a function that it only reads, extends, and returns."""
    nodes = nodes_in.of(function)
    values: dict[Node | None, list[Expression]] = {}
    inner = [node for node in nodes if isinstance(node, FuncDef | LambdaExpr) and node is not function]
    others: set[Node | None] = {one.node for node in inner for one in inside(node) if isinstance(one, NameExpr)}
    returned = {node.expr for node in nodes if isinstance(node, ReturnStmt)}
    for node in nodes:
        for name, value in bound_by(node):
            if value is None:
                others.add(name)
            else:
                values.setdefault(name, []).append(value)
        for child in children_of(node, Node):
            is_bound = isinstance(node, AssignmentStmt) and child in node.lvalues
            is_returned = isinstance(node, ReturnStmt) or (isinstance(node, TupleExpr) and node in returned)
            if isinstance(child, NameExpr) and not (is_bound or is_returned or _only_extends(node, child)):
                others.add(child.node)
    return {name: found for name, found in values.items() if name not in others}


def _only_extends(node: Node, child: NameExpr) -> bool:
    """Return whether an expression or a statement reads the list in a variable, or calls a method that changes it."""
    return use_in(node, child) is Use.READ or (isinstance(node, MemberExpr) and node.name in ("append", *_REMOVERS))


def _is_function(node: Any) -> bool:
    return isinstance(node, LambdaExpr) or (isinstance(node, FuncDef) and not node.is_generator)


def _read_file(file: Node | None) -> Uses:
    return _read(nodes_in.of(file), file)


def _read(nodes: Iterable[Node], file: Node | None) -> Uses:
    uses: Uses = {}
    nodes = list(nodes)
    receivers = _classes.of(file)
    functions = {node for node in nodes if isinstance(node, FuncDef)}
    readers = _READING_METHODS - _names_of_functions.of(file)
    indices: set[Expression] = set()  # the tuples of `x[:, rows]`
    given: set[Expression] = set()  # what assignments give other names
    in_tuples: list[tuple[Expression, Expression]] = []
    same: list[tuple[Owner, Owner]] = []
    items: list[tuple[Owner, Owner]] = []  # the second gets an item of the first, which may be a collection
    for node in nodes:
        if isinstance(node, IndexExpr):
            indices.add(node.index)
        for target in targets_bound(node):
            if isinstance(target, IndexExpr):
                _note(collection_of(target), Use.EXTENDED, uses, receivers)
        if isinstance(node, AssignmentStmt):
            for pair in _same_after(node):
                one, other = (_owners(collection_of(part), receivers) for part in pair)
                is_item = isinstance(pair[1], IndexExpr)
                (items if is_item else same).extend([*product(one, other), *product(other, one)])
                given.add(pair[1])
        if isinstance(node, OperatorAssignmentStmt):
            _note(node.lvalue, Use.EXTENDED, uses, receivers)
        if isinstance(node, CallExpr):
            items += _given_by_stars(node, functions, receivers)
        for child in children_of(node, Node):
            if isinstance(child, IndexExpr):
                items += _alike(node, child, functions, receivers)
                if use_in(node, child) is Use.EXTENDED:  # an item is used in any way, and changed as a collection
                    _note(collection_of(child), Use.EXTENDED, uses, receivers)
            elif isinstance(child, NameExpr | MemberExpr) and isinstance(node, TupleExpr):
                in_tuples.append((node, child))
            elif isinstance(child, NameExpr | MemberExpr):
                alike = _alike(node, child, functions, receivers)
                same += alike
                is_followed = alike or (child in given and isinstance(node, AssignmentStmt))
                is_read = isinstance(node, CallExpr) and _is_method(node.callee, readers)
                _note(child, Use.READ if is_followed or is_read else use_in(node, child), uses, receivers)
    for holder, child in in_tuples:
        _note(child, Use.READ if holder in indices or child in given else Use.SHARED, uses, receivers)
    _share(same, items, uses)
    return uses


def _is_method(callee: Expression, names: frozenset[str]) -> bool:
    """Return whether a call calls a method with one of some names, not a function of a module."""
    return isinstance(callee, MemberExpr) and callee.node is None and callee.name in names


def _read_names_of_functions(file: Node | None) -> set[str]:
    return {one.name for one in nodes_in.of(file) if isinstance(one, FuncDef)}


def collection_of(item: Expression) -> Expression:
    """Return the collection that has an item, or the outermost of several."""
    while isinstance(item, IndexExpr):
        item = item.base
    return item


def _share(same: list[tuple[Owner, Owner]], items: list[tuple[Owner, Owner]], uses: Uses) -> None:
    """Give each owner of a collection the worst use of those that get it too."""
    attributes = {owner for pair in same for owner in pair if isinstance(owner, tuple | str)}
    for one in attributes:
        name, info = (one, None) if isinstance(one, str) else (one[1], one[0])
        same = [*same, *((one, other) for other in uses if _may_be(other, name, info))]
    while True:
        before = dict(uses)
        for owner, other in same:
            uses[owner] = max(uses.get(owner, Use.READ), uses.get(other, Use.READ))
        for owner, other in items:
            if uses.get(other) is Use.EXTENDED:
                uses[owner] = Use.EXTENDED
        if uses == before:
            return


def _alike(
    parent: Any, child: Expression, functions: set[FuncDef], receivers: dict[Node | None, TypeInfo]
) -> list[tuple[Owner, Owner]]:
    """Return the owner of a collection with each parameter of a function that gets it too.

    What a caller does with the collection does not concern the function.
    """
    owners = _owners(collection_of(child), receivers)
    match parent:
        case CallExpr(args=arguments) if arguments.count(child) == 1:
            position = arguments.index(child)
            several = [one for one in _called(parent.callee, functions) if one[0] in functions]
            if several and parent.arg_kinds[position] not in (ARG_STAR, ARG_STAR2):
                stars = parent.arg_kinds[:position].count(ARG_STAR)
                name = parent.arg_names[position]
                parameters = [
                    variable
                    for called, skipped in several
                    for variable in _parameters(called, position - stars + skipped, name, or_later=stars > 0)
                ]
                return [(owner, other) for owner in owners for other in parameters]
    return []


def _given_by_stars(
    call: CallExpr, functions: set[FuncDef], receivers: dict[Node | None, TypeInfo]
) -> list[tuple[Owner, Owner]]:
    """Return the owner of a starred argument with each parameter of a function that may get a collection in it."""
    starred = [one for one, kind in zip(call.args, call.arg_kinds, strict=True) if kind in (ARG_STAR, ARG_STAR2)]
    several = _called(call.callee, functions) if starred else []
    owners = [owner for one in starred for owner in _owners(collection_of(one), receivers)]
    variables = [
        one.variable
        for called, skipped in several
        if called in functions
        for one in called.arguments[skipped:]
        if one.kind not in (ARG_STAR, ARG_STAR2)
    ]
    taking = [one for one in variables if isinstance(get_proper_type(one.type), AnyType | None) or may_change(one.type)]
    return list(product(owners, taking))


def _called(callee: Expression, functions: set[FuncDef]) -> list[tuple[Any, int]]:
    """Return the functions that may be called, and how many parameters of each have no arguments in the call.

    Of an object, that is each method of the file with the name, unless collections of Python have such a method.
    """
    match callee:
        case SuperExpr(name=name, info=TypeInfo() as info):
            return [(next((base.names[name].node for base in info.mro[1:] if name in base.names), None), 1)]
        case RefExpr(node=TypeInfo() as info):
            return [(info.get_method("__init__"), 1)]
        case MemberExpr(node=None, name=name) if name not in _METHODS_OF_PYTHON:
            return [(one, 0 if one.is_static else 1) for one in functions if one.info and one.name == name]
        case RefExpr(node=called):
            return [(called, 0)]
    return []


_METHODS_OF_PYTHON: Final = frozenset(name for kind in (dict, list, set, deque) for name in dir(kind))


def _parameters(function: FuncDef, position: int, name: str | None, *, or_later: bool) -> list[Owner]:
    """Return the parameter that an argument is for; behind a star, all that it may be for, but those for tensors.

    The list is empty if a parameter takes several arguments.
    """
    plain = [one for one in function.arguments if one.kind not in (ARG_STAR, ARG_STAR2)]
    if name is not None:
        return [one.variable for one in plain if one.variable.name == name]
    if not or_later:
        return [one.variable for one in plain[position : position + 1]]
    are_all = len(plain) == len(function.arguments)
    return [one.variable for one in plain[position:] if not _takes_tensor(one)] if are_all else []


def _takes_tensor(parameter: Argument) -> bool:
    declared = get_proper_type(parameter.variable.type)
    return isinstance(declared, Instance) and declared.type.fullname == "tapegrad.tensors.Tensor"


def _owners(expression: Any, receivers: dict[Node | None, TypeInfo]) -> list[Owner]:
    match expression:
        case NameExpr(node=Node() as node):
            return [node]
        case MemberExpr(expr=NameExpr(node=node), name=name) if node in receivers:
            return [(receivers[node], name)]
        case MemberExpr(name=name):
            return [name]
    return []


def _note(expression: Any, use: Use, uses: Uses, receivers: dict[Node | None, TypeInfo]) -> None:
    for owner in _owners(expression, receivers):
        uses[owner] = max(use, uses.get(owner, Use.READ))


def targets_bound(node: Any) -> Iterator[Expression]:
    """Yield the names, attributes and items that a statement or an expression assigns to, or deletes."""
    if isinstance(node, AssignmentStmt):
        for target in node.lvalues:
            yield from targets_in(target)
    elif type(node).__name__ in BINDERS:
        yield from targets_in(getattr(node, BINDERS[type(node).__name__]))


def use_in(parent: Any, child: Any) -> Use:
    """Return what an expression or a statement does with a collection that is part of it."""
    match parent:
        case ForStmt(expr=iterated):
            return Use.READ if iterated is child else Use.SHARED
        case MemberExpr(name=name):
            return Use.EXTENDED if name in _EXTENDERS else Use.READ if name in _READERS else Use.SHARED
        case CallExpr(callee=callee, args=arguments, arg_kinds=kinds):
            starred = [one for one, kind in zip(arguments, kinds, strict=True) if kind in (ARG_STAR, ARG_STAR2)]
            is_starred = any(one is child for one in starred)
            name = getattr(callee, "fullname", "") or ""
            is_reader = (
                name in FUNCTIONS_THAT_READ or name.startswith("tapegrad.") or _takes_sequences(callee) or _joins(name)
            )
            return Use.READ if is_starred or is_reader or callee is child else Use.SHARED
        case DictExpr(items=pairs) if all(key is None for key, value in pairs if value is child):
            return Use.READ  # `{**child}` is another dictionary
        case DictionaryComprehension(sequences=sequences):
            return Use.READ if any(one is child for one in sequences) else Use.SHARED
        case GeneratorExpr() | ComparisonExpr() | StarExpr() | UnaryExpr() | IndexExpr():
            return Use.READ
        case IfStmt() | WhileStmt() | AssertStmt() | ExpressionStmt():
            return Use.READ
        case OpExpr(op="+" | "*" | "|"):  # makes another list, or another dictionary
            return Use.READ
    return Use.SHARED


def _joins(name: str) -> bool:
    """Return whether a function is one of NumPy that makes an array of a list of arrays."""
    return name.startswith("numpy.") and name.rpartition(".")[2] in _JOINING


_JOINING: Final = frozenset(["array", "asarray", "column_stack", "concatenate", "hstack", "stack", "vstack"])


def _takes_sequences(callee: Any) -> bool:
    """Return whether a function declares that it only reads its arguments: none of them may be changed."""
    function = getattr(callee, "node", None)
    declared = get_proper_type(function.type) if isinstance(function, FuncDef) and function.type else None
    if not isinstance(declared, CallableType):
        return False
    kinds = map(get_proper_type, declared.arg_types)
    return all(isinstance(one, Instance) and one.type.fullname in _READ_ONLY for one in kinds)


_READ_ONLY: Final = frozenset(
    [
        *(f"builtins.{name}" for name in ("bool", "float", "int", "str", "tuple")),
        *(f"typing.{name}" for name in ("Collection", "Iterable", "Mapping", "Sequence")),
        "tapegrad.tensors.Tensor",
    ]
)
_receivers = ScopeCache(_read_receivers)
_classes = ScopeCache(_read_classes)
_names_of_functions = ScopeCache(_read_names_of_functions)
_uses = ScopeCache(_read_file)
_same = ScopeCache(_read_same)
_set_up_methods = ScopeCache(_read_set_up_methods)
_uses_after_set_up = ScopeCache(_read_after_set_up)
_appended = ScopeCache(_read_appended)
_local_lists = ScopeCache(_read_local_lists)
_changed_outside = ScopeCache(_read_changed_outside)
_has_collections = ScopeCache(_read_has_collections)

"""Classes of the file: constructors, methods, properties and class attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ArgKind,
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    FuncDef,
    FuncItem,
    NameExpr,
    OverloadedFuncDef,
    SuperExpr,
    TypeInfo,
    Var,
)
from mypy.types import CallableType, FunctionLike, Instance, TupleType, TypeType, TypeVarType, get_proper_type

from tapegrad.mypy.ownership import containers, functions
from tapegrad.mypy.ownership.carriers import carries, fresh, new_object
from tapegrad.mypy.ownership.holders import entry
from tapegrad.mypy.ownership.state import EACH, NOTHING, Argument, Function, Ref
from tapegrad.mypy.scopes.names import classes_in

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk

GENERATORS: Final = ("contextlib.contextmanager", "contextlib.asynccontextmanager")
CONTAINERS: Final = frozenset(
    {
        *("builtins.list", "builtins.dict", "builtins.set"),
        *("collections.deque", "collections.OrderedDict", "collections.UserDict", "collections.UserList"),
    }
)
_TRANSPARENT = ("tapegrad.", "functools.wraps", "typing.override", "typing_extensions.override", "abc.abstractmethod")


def functions_of(node: Any) -> list[FuncItem]:
    """Return the functions behind a definition, which may be decorated or overloaded."""
    match node:
        case Decorator(func=function):
            return [function]
        case OverloadedFuncDef(items=items, impl=implementation):
            if implementation is not None:
                return functions_of(implementation)
            return [one for item in items for one in functions_of(item)] if node.is_property else []
        case FuncItem():
            return [node]
    return []


def is_plain(decorator: Decorator) -> bool:
    """Return whether a decorated function does what the function does."""
    return all(map(is_transparent, decorator.decorators))


def is_transparent(decorator: Expression) -> bool:
    """Return whether a decorator leaves a function as it is."""
    return _decorator_name(decorator).startswith(_TRANSPARENT)


def function_named(walk: Walk, target: Any, node: Any, state: State) -> Value:
    """Return the function that a name refers to, as its decorators make it."""
    function = next(iter(functions_of(target)), None)
    if function is None:
        return NOTHING
    if not isinstance(target, Decorator) or is_plain(target):
        return frozenset([Function(function, (), node)])
    names = [_decorator_name(one) for one in target.decorators]
    if all(name in ("functools.cache", "functools.lru_cache") for name in names):
        return frozenset([Function(function, (), functions.CACHED)])
    if names == ["functools.singledispatch"]:
        return frozenset([Function(function, (), functions.DISPATCHING)])
    if all(name in GENERATORS for name in names):
        return frozenset([Function(function, (), functions.MANAGER)])
    holder = ("name", target.var)
    if holder not in state.held:
        held: Value = frozenset([Function(function, (), node)])
        for decorator in reversed(target.decorators):
            if isinstance(decorator, NameExpr) and isinstance(decorator.node, TypeInfo):
                held = _decorated(walk, decorator, decorator.node, held, state)
                continue
            made = walk.value(decorator, state)
            known = frozenset(one for one in made if isinstance(one, Function))
            held = functions.call_all(walk, known, decorator, [functions.positional(held)], state) if known else NOTHING
        state.held[holder] = held
    return state.held[holder]


def _decorated(walk: Walk, decorator: Any, info: TypeInfo, held: Value, state: State) -> Value:
    """Return the object that a class makes of the function that it decorates."""
    if info not in in_file(walk):
        return NOTHING
    return constructed(walk, decorator, info, [functions.positional(held)], state)


def _kind_of(method: Any, owner: Any) -> Any:
    """Return what calls of a decorated method do, or the owner if they do what it does; None for other decorators."""
    names = [_decorator_name(one) for one in getattr(method, "decorators", ()) if not is_transparent(one)]
    if names == ["functools.singledispatchmethod"]:
        return functions.DISPATCHING
    if names in [[name] for name in GENERATORS]:
        return functions.MANAGER
    return None if names else owner


def _decorator_name(decorator: Any) -> str:
    return getattr(decorator, "fullname", None) or getattr(getattr(decorator, "callee", None), "fullname", "") or ""


def info_of(t: Type | None) -> TypeInfo | None:
    """Return the class of a value of a type; None if it is no single class."""
    p = get_proper_type(t) if t is not None else None
    if isinstance(p, TypeVarType):
        p = get_proper_type(p.upper_bound)
    if isinstance(p, TypeType):
        p = get_proper_type(p.item)
    if isinstance(p, TupleType):
        p = p.partial_fallback
    if isinstance(p, FunctionLike) and p.is_type_obj():
        return p.type_object()
    return p.type if isinstance(p, Instance) else None


def member(walk: Walk, owner: Expression, name: str) -> Any:
    """Return the definition of an attribute or a method of an expression's class; None if there is none."""
    info = info_of(walk.type_of(owner))
    symbol = info.get(name) if info is not None else None
    return symbol.node if symbol is not None else None


def bound_or_read(walk: Walk, node: Any, found: Any, owner: Value, state: State) -> Value:
    """Return the method that an attribute is, bound to its object, or what the property holds."""
    function = next(iter(functions_of(found)), None)
    if function is None:
        return NOTHING
    decorator = found if isinstance(found, Decorator) else getattr(found, "items", [None])[0]
    if function.is_property:
        return _property(walk, node, decorator, function, owner, state)
    if isinstance(found, Decorator) and _kind_of(found, node) is None:
        return NOTHING
    return method_of(walk, node.expr, walk.type_of(node.expr), node.name, owner)


def setter_of(walk: Walk, target: Any, objects: Value) -> Function | None:
    """Return the method of a property that runs when an attribute is bound; None if there is none to follow."""
    found = member(walk, target.expr, target.name)
    if not isinstance(found, OverloadedFuncDef) or not found.is_property:
        return None
    for one in found.items[1:]:
        names = [getattr(each, "name", "") for each in getattr(one, "decorators", [])]
        if isinstance(one, Decorator) and "setter" in names and functions.can_follow(walk, one.func):
            return Function(one.func, (objects,), target)
    return None


def _property(walk: Walk, node: Any, decorator: Any, function: FuncItem, owner: Value, state: State) -> Value:
    originals = decorator.original_decorators if isinstance(decorator, Decorator) else []
    is_stored = any(getattr(one, "fullname", "") == "functools.cached_property" for one in originals)
    refs = [one for one in owner if isinstance(one, Ref)]
    if is_stored and refs:
        holder = (*refs[0], node.name)
        held = state.held.get(holder)
        if held is None:
            held = _read(walk, node, function, owner, state)
            state.held[holder] = held
        return held
    return _read(walk, node, function, owner, state)


def _read(walk: Walk, node: Any, function: FuncItem, owner: Value, state: State) -> Value:
    if functions.can_follow(walk, function):
        return functions.call(walk, Function(function, (owner,), node), node, [], state)
    return _made_by(walk, node, state)


def method_of(walk: Walk, owner: Any, t: Type | None, name: str, objects: Value) -> Value:
    """Return the methods that a call may run: that of the class, or of a subclass in the file."""
    info = info_of(t)
    exact = {state_class for one in objects if isinstance(one, Ref) and (state_class := walk.classes.get(one.site))}
    found: set[Function] = set()
    starting = exact or (subclasses(walk, info) if info is not None else set())
    for one in starting:
        symbol = one.get(name)
        node = symbol.node if symbol is not None else None
        kind = _kind_of(node, owner)
        if kind is None:
            return NOTHING
        for function in functions_of(node):
            if function not in functions.in_file.of(walk.file):
                if exact or one is info:
                    return NOTHING
                continue
            if isinstance(function, FuncDef) and function.abstract_status:
                continue
            found.add(Function(function, _receiver(function, objects), kind))
    return frozenset(found)


def container_base(walk: Walk, info: TypeInfo | None) -> str:
    """Return the container of the standard library from which a class of the file is derived; "" if from none."""
    if info is None or info not in in_file(walk):
        return ""
    return next((one.fullname for one in info.mro if one.fullname in CONTAINERS), "")


def is_inherited(walk: Walk, t: Type | None, name: str) -> bool:
    """Return whether a class of the file has a method from a container of the standard library."""
    info = info_of(t)
    if info is None or not container_base(walk, info):
        return False
    symbol = info.get(name)
    return symbol is not None and not any(one in functions.in_file.of(walk.file) for one in functions_of(symbol.node))


def subclasses(walk: Walk, info: TypeInfo) -> set[TypeInfo]:
    """Return a class and its subclasses in the file."""
    if info not in walk.subclasses:
        walk.subclasses[info] = {info, *(one for one in in_file(walk) if one.has_base(info.fullname))}
    return walk.subclasses[info]


def iterator_method(walk: Walk, node: Any, source: Value) -> Value:
    """Return `__next__` of an iterator whose class is in the file."""
    made = [walk.classes.get(one.site) if isinstance(one, Ref) else None for one in source]
    if not made or None in made:
        return NOTHING
    return method_of(walk, node, walk.type_of(node), "__next__", source)


def _receiver(function: FuncItem, objects: Value) -> tuple[Value, ...]:
    if isinstance(function, FuncDef) and function.is_static:
        return ()
    return (NOTHING,) if function.is_class else (objects,)


def in_file(walk: Walk) -> set[TypeInfo]:
    """Return the classes of the file."""
    return classes_in.of(walk.file)


def super_method(walk: Walk, callee: SuperExpr, state: State) -> Value:
    """Return the method that `super().name` is."""
    info = callee.info
    if info is None or not walk.entered:
        return NOTHING
    for base in info.mro[1:]:
        symbol = base.names.get(callee.name)
        if symbol is not None:
            method = next(iter(functions_of(symbol.node)), None)
            if method is None or method not in functions.in_file.of(walk.file):
                return NOTHING
            return frozenset([Function(method, _receiver(method, receiver_of_super(walk, state)), callee)])
    return NOTHING


def receiver_of_super(walk: Walk, state: State) -> Value:
    """Return the object of the method that is being followed."""
    inner = walk.entered[-1] if walk.entered else None
    first = inner.arguments[0].variable if inner is not None and inner.arguments else None
    owner = state.held.get(("name", first))
    if owner is None and first is not None:
        owner = entry(("name", first), first.type, state)
    return owner or NOTHING


def constructed(walk: Walk, node: CallExpr, info: TypeInfo, given: list[Argument], state: State) -> Value:
    """Return the object that a class of the file makes."""
    made = new_object(walk.site(node), state)
    walk.classes[made.site] = info
    value: Value = frozenset([made])
    symbol = info.get("__init__")
    function = next(iter(functions_of(symbol.node)), None) if symbol is not None else None
    base = container_base(walk, info)
    if base:
        state.put((*made, EACH), NOTHING) if info.has_base("typing.Mapping") else containers.fill(made, [], state)
    is_written = symbol is not None and not symbol.plugin_generated
    if is_written and function is not None and functions.can_follow(walk, function) and function.arguments:
        functions.call(walk, Function(function, (value,), node), node, given, state)
        return value
    passed = dict(_fields(walk, node, info, given))
    for name, factory in _factories(info):
        if name not in passed:
            passed[name] = _made_by_factory(walk, factory, state)
    for name, held in passed.items():
        state.put((*made, name), held)
    if "__post_init__" in info.names:
        for after in functions_of(info.names["__post_init__"].node):
            functions.call(walk, Function(after, (value,), node), node, [], state)
    return value


def _fields(walk: Walk, node: CallExpr, info: TypeInfo, given: list[Argument]) -> list[tuple[str, Value]]:
    """Return the attributes of a dataclass or a named tuple, which its constructor takes in order."""
    declared = get_proper_type(walk.type_of(node.callee))
    names = list(declared.arg_names) if isinstance(declared, CallableType) else []
    found = []
    for position, one in enumerate(given):
        if one.kind == ArgKind.ARG_POS and position < len(names):
            found.append((names[position] or "", one.value))
            if info.is_named_tuple:
                found.append((f"[{position}]", one.value))
        elif one.kind == ArgKind.ARG_NAMED and one.name is not None:
            found.append((one.name, one.value))
            if info.is_named_tuple and one.name in names:
                found.append((f"[{names.index(one.name)}]", one.value))
    return found


def _factories(info: TypeInfo) -> list[tuple[str, Expression]]:
    """Return the fields of a dataclass whose values are made by a factory, as in `field(default_factory=list)`."""
    found = []
    for one in reversed(info.mro):
        for statement in getattr(getattr(one, "defn", None), "defs", Block([])).body:
            if not isinstance(statement, AssignmentStmt):
                continue
            call = statement.rvalue
            if isinstance(call, CallExpr) and "default_factory" in call.arg_names:
                factory = call.args[call.arg_names.index("default_factory")]
                found += [(name.name, factory) for name in statement.lvalues if isinstance(name, NameExpr)]
    return found


def _made_by_factory(walk: Walk, factory: Expression, state: State) -> Value:
    if getattr(factory, "fullname", "") in ("builtins.list", "builtins.dict", "builtins.set", "collections.deque"):
        made = new_object(walk.site(factory), state)
        containers.fill(made, [], state)
        return frozenset([made])
    known = frozenset(one for one in walk.value(factory, state) if isinstance(one, Function))
    return functions.call_all(walk, known, factory, [], state) if known else NOTHING


def class_body(walk: Walk, node: ClassDef, state: State) -> None:
    """Follow the statements of a class, which bind its attributes."""
    body = [one for one in node.defs.body if not isinstance(one, FuncItem | Decorator | OverloadedFuncDef)]
    walk.through(body, state)


def class_default(walk: Walk, owner: Any, name: str, state: State) -> Value | None:
    """Return what an attribute of an object's class holds, if the walk has seen the class."""
    info = info_of(walk.type_of(owner)) if owner is not None else None
    symbol = info.get(name) if info is not None else None
    node = symbol.node if symbol is not None else None
    return state.held.get(("name", node)) if isinstance(node, Var) else None


def _made_by(walk: Walk, node: Any, state: State) -> Value:
    """Return what an expression holds that is another tape at each evaluation."""
    return fresh(walk.site(node), state) if carries(walk.type_of(node)) else NOTHING

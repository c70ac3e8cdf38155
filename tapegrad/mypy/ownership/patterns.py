"""What the patterns of a `match` statement bind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.patterns import AsPattern, ClassPattern, MappingPattern, OrPattern, SequencePattern, StarredPattern

from tapegrad.mypy.ownership import containers
from tapegrad.mypy.ownership.attributes import field
from tapegrad.mypy.ownership.carriers import new_object
from tapegrad.mypy.ownership.holders import label
from tapegrad.mypy.ownership.state import Ref, Value, union

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo

    from tapegrad.mypy.ownership.state import State
    from tapegrad.mypy.ownership.walk import Walk


def capture(walk: Walk, pattern: Any, held: Value, state: State) -> None:
    """Bind the names of a pattern to what they capture of a subject."""
    match pattern:
        case AsPattern(pattern=inner, name=name):
            if inner is not None:
                capture(walk, inner, held, state)
            if name is not None:
                walk.bind(name, held, state, None)
        case OrPattern(patterns=choices):
            for choice in choices:
                capture(walk, choice, held, state)
        case SequencePattern(patterns=items):
            for number, item in enumerate(items):
                if isinstance(item, StarredPattern):
                    _capture_rest(walk, item, held, number, len(items) - number - 1, state)
                    break
                capture(walk, item, containers.at(held, f"[{number}]", state), state)
        case MappingPattern(keys=keys, values=values):
            for key, inner in zip(keys, values, strict=True):
                capture(walk, inner, containers.at(held, label(key), state), state)
        case ClassPattern():
            _capture_attributes(walk, pattern, held, state)


def _capture_rest(walk: Walk, item: StarredPattern, held: Value, start: int, after: int, state: State) -> None:
    """Bind `*rest` to the elements between those before and after it."""
    known = containers.elements(held, state)
    if item.capture is None:
        return
    if known is None:
        rest = containers.copied(held, walk.site(item), state)
    else:
        made = new_object(walk.site(item), state)
        containers.fill(made, known[start : len(known) - after], state)
        rest = frozenset([made])
    walk.bind(item.capture, rest, state, None)


def _capture_attributes(walk: Walk, pattern: Any, held: Value, state: State) -> None:
    names = [*_positional(pattern)[: len(pattern.positionals)], *pattern.keyword_keys]
    owners = [one for one in held if isinstance(one, Ref) and _may_be(walk, one, _class_of(pattern))]
    for name, inner in zip(names, [*pattern.positionals, *pattern.keyword_values], strict=False):
        t = _attribute_type(pattern, name)
        capture(walk, inner, union(field(walk, one, name, t, None, state) for one in owners), state)


def _may_be(walk: Walk, one: Ref, info: TypeInfo | None) -> bool:
    """Return whether an object may be an instance of a class: not if its own class is known to be another one."""
    own = walk.classes.get(one.site)
    return own is None or info is None or own.has_base(info.fullname)


def _class_of(pattern: Any) -> Any:
    node = getattr(pattern.class_ref, "node", None)
    return node if hasattr(node, "mro") else None


def _positional(pattern: Any) -> list[str]:
    """Return the attributes that positional patterns match, which dataclasses and named tuples list in order."""
    info = _class_of(pattern)
    if info is None:
        return []
    fields = info.metadata.get("dataclass", {}).get("attributes", [])
    names = [one["name"] for one in fields if isinstance(one, dict)]
    return names or list(info.metadata.get("namedtuple", {}).get("fields", []))


def _attribute_type(pattern: Any, name: str) -> Any:
    info = _class_of(pattern)
    symbol = info.get(name) if info is not None else None
    return getattr(symbol.node, "type", None) if symbol is not None else None

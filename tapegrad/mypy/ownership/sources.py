"""The containers from which the elements come that an expression uses: they are consumed with all of these elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.mypy.ownership.holders import objects_in
from tapegrad.mypy.ownership.state import ELEMENT, NOTHING, OF, SEEN, Held, replaced

if TYPE_CHECKING:
    from tapegrad.mypy.ownership.state import End, Holder, Site, State, Value


def consume_sources(value: Value, end: End, state: State) -> None:
    """Mark what containers hold as consumed where the tapes of all of their elements are, as in `sum(2.0 * loss ...)`.

    These are the last tape and the earlier ones of a loop that uses all elements alike.
    """
    held = {(one.site, one.age) for one in value if isinstance(one, Held) and one.site[-1] == ELEMENT}
    pending = [site for site, age in held if not age and (site, 1) in held]
    while pending:
        site = pending.pop()
        marked: set[tuple[Site, int]] = set()
        for age in (0, 1):
            seen = state.held.get((site, age, SEEN), NOTHING)
            for ref in objects_in(state.held.get((site, age, OF), NOTHING)):
                for name in [name for name, _ in state.fields(ref) if name.startswith("[")]:
                    marked |= mark((*ref, name), end, state, among=seen)
            if (site[:-2], age, SEEN) in state.held:
                for ref in objects_in(state.held.get((site[:-2], age, OF), NOTHING)):
                    marked |= mark((*ref, site[-2]), end, state)
        pending += [one for one, age in marked if not age and (one, 1) in marked and one[-1] == ELEMENT]


def mark(holder: Holder, end: End, state: State, among: Value | None = None) -> set[tuple[Site, int]]:
    """Mark what something holds as consumed, or those of its tapes that are among others; return these tapes."""
    held = state.held.get(holder, NOTHING)
    known = None if among is None else {(one.site, one.age) for one in among if isinstance(one, Held)}
    marked = {(one.site, one.age) for one in held if isinstance(one, Held)}
    marked = marked if known is None else marked & known
    if marked:
        state.held[holder] = replaced(
            held, lambda one: one if (one.site, one.age) not in marked else Held(one.site, one.age, one.end or end)
        )
    return marked

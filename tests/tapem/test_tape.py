"""The pure tape: it is immutable, also when longer tapes share its entries."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule
from typing_extensions import override

from tapegrad import ops, tapem
from tapegrad.tapem import Node, Tape
from tapegrad.tensors import node

Pair: TypeAlias = tuple[Tape, tuple[Node[Any, Any], ...]]  # a tape, and a tuple of what is on it


def pure_node(id: int, value: float = 0.0) -> Node[Any, Any]:  # noqa: A002  # the attribute of a node
    return Node(id, "leaf", (), node(np.array(value)), requires_grad=True)


def pushed(tape: Tape, count: int) -> Tape:
    for _ in range(count):
        tape = tape.push(pure_node(len(tape)))
    return tape


class OneByOne(list[Node[Any, Any]]):
    """Nodes that can be read by position only: a copy or a search would take longer on a longer tape."""

    @override
    def __getitem__(self, index: Any) -> Any:
        assert isinstance(index, int)
        return super().__getitem__(index)

    @override
    def __iter__(self) -> Any:
        pytest.fail("all nodes are read")

    @override
    def __contains__(self, _: object) -> bool:
        pytest.fail("nodes are searched")


def test_push_returns_a_longer_tape_and_leaves_the_old_one_unchanged() -> None:
    empty = Tape.empty()
    first = pure_node(0)

    longer = empty.push(first)

    assert (len(empty), len(longer)) == (0, 1)
    assert first in longer
    assert first not in empty
    assert longer[0] is first


def test_an_old_tape_stays_usable_after_a_longer_one_exists() -> None:
    old = pushed(Tape.empty(), 3)
    longer, other = old.push(pure_node(3, 1.0)), old.push(pure_node(3, 2.0))

    assert [one.value.item() for one in (longer[3], other[3])] == [1, 2]
    assert len(old) == 3
    assert list(longer)[:3] == list(other)[:3] == list(old)


def test_a_node_of_a_fork_is_not_on_the_other_branch() -> None:
    old = pushed(Tape.empty(), 3)
    longer, other = old.push(pure_node(3)), old.push(pure_node(3))

    assert longer[3] not in other
    assert other[3] not in longer
    assert longer[2] in other
    assert longer[3] not in old
    assert longer[3] not in Tape.empty()


def test_forks_are_independent() -> None:
    old = pushed(Tape.empty(), 2)
    line, fork = pushed(old, 3), pushed(old, 3)

    assert (len(line), len(fork)) == (5, 5)
    assert all(one not in fork for one in list(line)[2:])


def test_a_push_reads_no_other_node() -> None:
    tape = Tape(OneByOne(map(pure_node, range(10))), 10)

    assert len(pushed(tape, 5)) == 15


def test_membership_does_not_search() -> None:
    tape = Tape(OneByOne(map(pure_node, range(10))), 10)

    assert tape[9] in tape
    assert pure_node(9) not in tape


def test_a_missing_node_is_an_index_error() -> None:
    tape = pushed(Tape.empty(), 2)

    for id in (2, -1):
        with pytest.raises(IndexError, match=rf"^the tape has 2 nodes but node {id} was requested$"):
            tape[id]


@tapem.do
def squared(value: Any, name: str | None = None, *, requires_grad: bool = True) -> tapem.Do[Node[Any, Any]]:
    x = yield from tapem.leaf(value, requires_grad, name)
    return (yield from tapem.mul(x, x))


def taped(program: tapem.TapeM[Any]) -> Tape:
    return program.exec(Tape.empty()).unwrap()


def test_tapes_are_compared_by_their_entries() -> None:
    tape = taped(squared(np.array([1.0, np.nan])))

    assert tape == taped(squared(np.array([1.0, np.nan])))
    assert tape != taped(squared(np.array([2.0, np.nan])))
    assert tape != taped(squared(np.array([1.0, np.nan], np.float32)))
    assert tape != taped(squared(np.array([1.0, np.nan]), "x"))
    assert tape != taped(squared(np.array([1.0, np.nan]), requires_grad=False))
    assert tape != taped(tapem.leaf(np.array([1.0, np.nan])))
    assert tape != "a tape"


def test_parents_are_compared_too() -> None:
    @tapem.do
    def chosen(first: int) -> tapem.Do[None]:
        leaves = []
        for _ in range(2):
            leaves.append((yield from tapem.leaf(ops.ones((2,)))))  # noqa: PERF401  # no comprehension can yield
        yield from tapem.exp(leaves[first])

    assert taped(chosen(0)) != taped(chosen(1))
    assert taped(chosen(1)) == taped(chosen(1))


def test_a_tape_shows_its_ops_and_shapes() -> None:
    tape = taped(squared(np.ones((2, 3)), "x"))

    assert repr(tape) == "Tape(0: leaf x (2, 3), 1: mul (2, 3))"
    assert repr(tape[1]) == "Node(1: mul (2, 3))"
    assert tape.graph().splitlines() == [
        "graph TD",
        '    n0["0: leaf x (2, 3)"]',
        '    n1["1: mul (2, 3)"]',
        "    n0 --> n1",
        "    n0 --> n1",
    ]
    assert tape._repr_mimebundle_(include=None) == {"text/plain": repr(tape), "text/vnd.mermaid": tape.graph()}
    assert tape[1].dtype == np.float64
    assert tape[1].shape == (2, 3)


def test_the_repr_of_a_long_tape_shows_both_ends() -> None:
    tape = Tape.empty()
    for _ in range(9):
        tape = squared(np.ones(2), "x").exec(tape).unwrap()

    assert repr(tape) == (
        "Tape(0: leaf x (2,), 1: mul (2,), 2: leaf x (2,), ..., 15: mul (2,), 16: leaf x (2,), 17: mul (2,))"
    )


class Line(RuleBasedStateMachine):
    """Pushes onto any tape there is, in any order, beside tuples that do the same."""

    tapes: Bundle[Pair] = Bundle("tapes")

    @initialize(target=tapes)
    def start(self) -> Pair:
        return Tape.empty(), ()

    @rule(target=tapes, pair=tapes)
    def push(self, pair: Pair) -> Pair:
        tape, model = pair
        new = pure_node(len(tape))
        return tape.push(new), (*model, new)

    @rule(pair=tapes, other=tapes)
    def compare(
        self,
        pair: Pair,
        other: Pair,
    ) -> None:
        (tape, model), (_, stranger) = pair, other

        assert len(tape) == len(model)
        assert all(one is another for one, another in zip(tape, model, strict=True))
        assert [one in tape for one in stranger] == [one in model for one in stranger]


TestAnyLine = Line.TestCase

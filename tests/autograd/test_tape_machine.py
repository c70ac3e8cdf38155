"""Model-based tests: random operations on tapes, from several threads, against a plain list of steps.

A node of the model is a value of three numbers; a step says which nodes it was computed from, and which part of the
gradient goes to each. The three tape systems below get only operations that the model can express.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from tapegrad import ops, tapem
from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import NONE, NoneTape, OwnedTape
from tapegrad.errors import TapeError
from tapegrad.slot_tape import SlotTape
from tapegrad.tensors import node

EXACT_LIMIT = 1e6  # whole numbers below it are exact, with their gradients

clock = count().__next__
vectors = st.lists(st.integers(-3, 3), min_size=3, max_size=3).map(lambda numbers: np.array(numbers, float))
places = st.integers(0, 2**10)
binary = st.sampled_from(["add", "mul", "sub"])


@dataclass(eq=False)
class Node:
    """A value, which several tensors may be."""

    value: Any


@dataclass(eq=False)
class Step:
    """What made a node, and what a gradient is multiplied by on its way to each operand; or what is added by hand."""

    out: Node | None
    ways: list[tuple[Node, Any]]
    time: int = field(default_factory=clock)


@dataclass(eq=False)
class Model:
    """A tape: steps, and the nodes that were traced."""

    steps: list[Step] = field(default_factory=list)
    leaves: set[Node] = field(default_factory=set)
    totals: list[Any] = field(default_factory=list)  # gradients that it goes on with
    is_consumed: bool = False
    into: Model | None = None

    def root(self) -> Model:
        return self if self.into is None else self.into.root()

    def take(self, other: Model) -> None:
        """Move all that the other has here."""
        self.steps, self.leaves = self.steps + other.steps, self.leaves | other.leaves
        self.totals += [total for total in other.totals if total not in self.totals]
        other.steps, other.leaves, other.totals = [], set(), []


def way_back(steps: list[Step], node: Node, seed: Any) -> dict[Node, Any]:
    """Return the gradient of each node that is reached, newest step first."""
    found = {node: seed}
    for step in sorted(steps, key=lambda step: -step.time):
        if step.out is None:
            found |= {x: found.get(x, 0) + given for x, given in step.ways}
        elif step.out in found:
            for x, factor in step.ways:
                found[x] = found.get(x, 0) + found[step.out] * factor
    return found


def derivatives(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    one = np.ones(3)
    return {"add": (one, one), "sub": (one, -one), "mul": (y, x)}[name]


def computed(name: str, x: Any, y: Any) -> Any:
    return {"add": x + y, "sub": x - y, "mul": x * y}[name]


@dataclass(eq=False)
class Pair:
    """A tensor, and what it ought to be."""

    tensor: Any
    node: Node
    tape: Model | None = None

    @property
    def is_consumed(self) -> bool:
        return self.tape is not None and self.tape.root().is_consumed


class Typed(RuleBasedStateMachine):
    """Tensors that own a tape or none."""

    tapes: Bundle[tuple[Any, Model | None]] = Bundle("tapes")
    totals: Bundle[Any] = Bundle("totals")

    def __init__(self) -> None:
        super().__init__()
        self.pools = [ThreadPoolExecutor(1) for _ in range(3)]
        self.turn = count()
        self.made: list[Pair] = []

    def teardown(self) -> None:
        for pool in self.pools:
            pool.shutdown()

    def run(self, function: Callable[[], Any], *, is_rejected: bool = False) -> Any:
        """Call a function in the thread whose turn it is; where it has to reject, it has to say so."""
        result = self.pools[next(self.turn) % len(self.pools)].submit(function)
        if is_rejected:
            with pytest.raises(TapeError):
                result.result()
            return None
        return result.result()

    def pick(self, place: int) -> Pair:
        """Return the newest for 0; mostly one whose tape goes on, for of the others there are soon more."""
        alive = [pair for pair in self.made if not pair.is_consumed]
        chosen = self.made if place % 8 == 7 or not alive else alive
        return chosen[-1 - place // 8 % len(chosen)]

    def keep(self, tensor: Any, node: Node, tape: Model | None = None) -> None:
        if tensor is not None:  # but rejected
            self.made.append(Pair(tensor, node, tape))

    @initialize(value=vectors, other=vectors)
    def start(self, value: Any, other: Any) -> None:
        for one in (value, other):
            self.make(one)
            self.trace(0)

    @rule(value=vectors)
    def make(self, value: Any) -> None:
        self.keep(self.run(lambda: node(value)), Node(value))

    @rule(place=places)
    def trace(self, place: int) -> None:
        pair = self.pick(place)
        taped = self.run(pair.tensor.trace, is_rejected=pair.tape is not None)
        self.keep(taped, pair.node, Model(leaves={pair.node}))

    @rule(place=places, total=totals)
    def trace_on(self, place: int, total: Any) -> None:
        pair = self.pick(place)
        taped = self.run(lambda: pair.tensor.trace(grads=total[0]), is_rejected=pair.tape is not None)
        self.keep(taped, pair.node, Model(leaves={pair.node}, totals=[total]))

    @rule(name=binary, first=places, second=places)
    def compute(self, name: str, first: int, second: int) -> None:
        x, y = self.pick(first), self.pick(second)
        value = computed(name, x.node.value, y.node.value)
        if np.abs(value).max() > EXACT_LIMIT:
            return
        is_rejected = x.is_consumed or y.is_consumed
        result = self.run(lambda: getattr(ops, name)(x.tensor, y.tensor), is_rejected=is_rejected)
        if is_rejected:
            return
        node, roots = Node(value), [one.tape.root() for one in (x, y) if one.tape is not None]
        if not roots:
            self.keep(result, node)
            return
        first, last = roots[0], roots[-1]
        if first is not last:
            first.take(last)
            last.into = first
        first.steps.append(
            Step(node, list(zip((x.node, y.node), derivatives(name, x.node.value, y.node.value), strict=True)))
        )
        self.keep(result, node, first)

    @rule(place=places)
    def detach(self, place: int) -> None:
        pair = self.pick(place)
        self.keep(self.run(pair.tensor.detach), Node(pair.node.value))

    @rule(target=tapes, place=places)
    def split(self, place: int) -> Any:
        pair = self.pick(place)
        plain, tape = self.run(pair.tensor.split_tape)
        self.keep(plain, pair.node)
        return tape, pair.tape

    @rule(place=places, tape=tapes)
    def put(self, place: int, tape: tuple[Any, Model | None]) -> None:
        pair = self.pick(place)
        taped = self.run(lambda: pair.tensor.put_tape(tape[0]), is_rejected=pair.tape is not None)
        self.keep(taped, pair.node, tape[1])

    @rule(place=places, kind=st.sampled_from([None, NoneTape, OwnedTape]))
    def empty(self, place: int, kind: Any) -> None:
        pair = self.pick(place)
        tensor = self.run(lambda: pair.tensor.with_empty_tape() if kind is None else pair.tensor.retaped(kind))
        owns = pair.tape is not None if kind is None else kind.owns
        self.keep(tensor, pair.node, Model() if owns else None)

    @rule(first=places, second=places)
    def append(self, first: int, second: int) -> None:
        x, y = self.pick(first), self.pick(second)
        if x.tape is None or y.tape is None:
            return
        ours, theirs = x.tape.root(), y.tape.root()
        is_rejected = ours is not theirs and (ours.is_consumed or theirs.is_consumed)
        self.run(lambda: x.tensor.tape.tape.append(y.tensor.tape.tape), is_rejected=is_rejected)
        if ours is not theirs and not is_rejected:
            ours.take(theirs)

    @rule(first=places, second=places, value=vectors)
    def add_by_hand(self, first: int, second: int, value: Any) -> None:
        x, y = self.pick(first), self.pick(second)
        if x.tape is None:
            return
        node = y.tensor.node if y.tape is not None else y.tensor  # a closure that held the tape would be a cycle

        def closure(grads: Gradients) -> None:
            grads.add(node, value)

        self.run(lambda: x.tensor.tape.tape.add_backward_op(closure), is_rejected=x.is_consumed)
        if not x.is_consumed:
            x.tape.root().steps.append(Step(None, [(y.node, value)]))

    @rule(target=totals, place=places, seed=vectors, wrt=st.none() | st.lists(places, max_size=3))
    def backward(self, place: int, seed: Any, wrt: list[int] | None) -> Any:
        pair, named = self.pick(place), None if wrt is None else [self.pick(one) for one in wrt]
        if pair.tape is None or pair.is_consumed:
            self.run(lambda: pair.tensor.backward(seed=node(seed)), is_rejected=True)
            return multiple()
        tape = pair.tape.root()
        targets = None if named is None else [one.tensor for one in named]
        grads = self.run(lambda: pair.tensor.backward(targets, seed=node(seed)))
        tape.is_consumed = True
        reached = way_back(tape.steps, pair.node, seed)
        wanted = tape.leaves if named is None else {one.node for one in named}
        found = {node: dx for node, dx in reached.items() if node in wanted}
        total: Any = next((one for one in tape.totals if one[0] is grads), (grads, {}))
        assert bool(tape.totals) == any(one is total for one in tape.totals)
        for part in [found, *(one[1] for one in tape.totals if one is not total)]:
            for leaf, dx in part.items():
                total[1][leaf] = total[1].get(leaf, 0) + dx
        self.compare(total)
        return total if tape.totals == [] else multiple()

    @rule(total=totals)
    def compare(self, total: Any) -> None:
        grads, expected = total
        assert len(grads) == len(expected)
        for pair in self.made:
            if pair.node in expected:
                np.testing.assert_allclose(grads[pair.tensor].numpy(), expected[pair.node], 1e-12)

    @rule(place=places)
    def drop(self, place: int) -> None:
        if len(self.made) > 2:
            self.made.remove(self.pick(place))

    @invariant()
    def tensors_are_what_they_ought_to_be(self) -> None:
        for pair in self.made:
            assert pair.tensor.owns_tape == (pair.tape is not None)
            assert pair.tensor.tolist() == pair.node.value.tolist()
            if pair.tape is not None and not pair.is_consumed:
                assert len(pair.tensor.tape.tape) == len(pair.tape.root().steps)
            assert pair.tape is not None or pair.tensor.tape is NONE


class ByNumber(RuleBasedStateMachine):
    """A tape that goes by slot number, which may be run back again and again."""

    slots: Bundle[tuple[int, Node]] = Bundle("slots")

    def __init__(self) -> None:
        super().__init__()
        self.tape, self.nodes, self.steps = SlotTape(), list[Node](), list[Step]()

    def slot(self, number: int, node: Node) -> tuple[int, Node]:
        assert number == len(self.nodes)
        self.nodes.append(node)
        return number, node

    @initialize(target=slots, value=vectors)
    def start(self, value: Any) -> tuple[int, Node]:
        return self.slot(self.tape.leaf(value), Node(value))

    @rule(target=slots, value=vectors)
    def leaf(self, value: Any) -> tuple[int, Node]:
        return self.slot(self.tape.leaf(value), Node(value))

    @rule(target=slots, x=slots, y=slots)
    def add(self, x: tuple[int, Node], y: tuple[int, Node]) -> tuple[int, Node]:
        return self.recorded("add", self.tape.record_add(x[0], y[0]), x[1], y[1])

    @rule(target=slots, x=slots, y=slots)
    def multiply(self, x: tuple[int, Node], y: tuple[int, Node]) -> Any:
        if np.abs(x[1].value * y[1].value).max() > EXACT_LIMIT:
            return multiple()
        return self.recorded("mul", self.tape.record_mul(x[0], x[1].value, y[0], y[1].value), x[1], y[1])

    def recorded(self, name: str, number: int, x: Node, y: Node) -> tuple[int, Node]:
        node = Node(computed(name, x.value, y.value))
        self.steps.append(Step(node, list(zip((x, y), derivatives(name, x.value, y.value), strict=True))))
        return self.slot(number, node)

    @rule(stranger=st.integers(0, 5))
    def ask_for_a_slot_that_is_not_there(self, stranger: int) -> None:
        with pytest.raises(TapeError):
            self.tape.record_add(0, len(self.nodes) + stranger)

    @rule(seed=vectors, times=st.integers(1, 3))
    def backward(self, seed: Any, times: int) -> None:
        buffers = [np.zeros(3) for _ in self.nodes]
        for _ in range(times):
            self.tape.backward(seed, buffers)

        expected = way_back(self.steps, self.nodes[-1], seed)
        for leaf, buffer in zip(self.nodes, buffers, strict=True):
            np.testing.assert_allclose(buffer, times * expected.get(leaf, 0 * buffer), 1e-12)

    @invariant()
    def there_is_a_slot_for_each_node(self) -> None:
        assert self.tape.num_tensors == len(self.nodes)


@dataclass(eq=False)
class Line:
    """A tape as a value, with what is on it."""

    tape: Any
    nodes: list[tuple[Any, Node]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class Threaded(RuleBasedStateMachine):
    """Tapes that are values, of which any may go on, any number of times."""

    lines: Bundle[Line] = Bundle("lines")

    @initialize(target=lines, value=vectors)
    def start(self, value: Any) -> Line:
        return self.longer(Line(tapem.Tape.empty()), tapem.leaf(value), Node(value))

    def longer(self, line: Line, program: Any, node: Node, *steps: Step) -> Line:
        made, tape = program.run(line.tape).unwrap()
        again, same = program.run(line.tape).unwrap()
        assert tape == same
        assert again not in tape
        return Line(tape, [*line.nodes, (made, node)], [*line.steps, *steps])

    @rule(target=lines, line=lines, value=vectors)
    def leaf(self, line: Line, value: Any) -> Line:
        return self.longer(line, tapem.leaf(value), Node(value))

    @rule(target=lines, line=lines, name=binary, first=st.integers(0), second=st.integers(0))
    def compute(self, line: Line, name: str, first: int, second: int) -> Line:
        (x, one), (y, other) = (line.nodes[number % len(line.nodes)] for number in (first, second))
        node = Node(computed(name, one.value, other.value))
        if np.abs(node.value).max() > EXACT_LIMIT:
            return line
        step = Step(node, list(zip((one, other), derivatives(name, one.value, other.value), strict=True)))
        return self.longer(line, getattr(tapem, name)(x, y), node, step)

    @rule(line=lines, other=lines)
    def reject_a_stranger(self, line: Line, other: Line) -> None:
        for stranger, _ in other.nodes:
            is_known = any(stranger is one for one, _ in line.nodes)
            assert (stranger in line.tape) == is_known
            result, tape = tapem.add(stranger, stranger).run(line.tape), line.tape
            assert isinstance(result, tapem.Err) != is_known
            assert len(tape) == len(line.nodes)

    @rule(line=lines, number=st.integers(0), dense=st.booleans())
    def backward(self, line: Line, number: int, dense: bool) -> None:  # noqa: FBT001  # a case
        made, node = line.nodes[number % len(line.nodes)]
        loss, tape = tapem.sum(made).run(line.tape).unwrap()
        grads = tapem.backward(loss, dense=dense).eval(tape).unwrap()

        expected = way_back(line.steps, node, np.ones(3))
        for one, other in line.nodes:
            assert (one in grads) == (dense or other in expected)
            if one in grads:
                np.testing.assert_allclose(grads.of(one).numpy(), expected.get(other, np.zeros(3)), 1e-12)


TestTypedTapes, TestSlotTapes, TestPureTapes = Typed.TestCase, ByNumber.TestCase, Threaded.TestCase
TestSlotTapes.settings = TestPureTapes.settings = settings(max_examples=settings().max_examples // 4)

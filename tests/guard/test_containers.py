"""Containers in annotations of guarded functions: each tensor in them is checked, and messages name its place."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, dataclass, field
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar
from typing import Literal as L

import pytest

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, guarded, nn
from tapegrad.errors import DTypeError, ShapeError, TapeError

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
Vector = Tensor[Shape[N], NoneTape]
Pair = Tensor[Shape[L[2]], NoneTape]

two: Any = tg.ones((2,))
three: Any = tg.ones((3,))


class Batch(TypedDict):
    image: Tensor[Shape[L[3]], NoneTape]
    label: NotRequired[Tensor[Shape[L[2]], NoneTape]]
    name: str


class Sample(NamedTuple):
    image: Tensor[Shape[L[3]], NoneTape]
    weight: float = 1.0


@dataclass
class Example:
    image: Tensor[Shape[L[3]], NoneTape]
    name: str = ""
    parts: list[Tensor[Shape[L[2]], NoneTape]] = field(default_factory=list)


@dataclass
class Sized(Generic[N]):
    x: Tensor[Shape[N], NoneTape]
    y: Tensor[Shape[N], NoneTape]


@dataclass
class Child(Sized[N], Generic[N, M]):
    z: Tensor[Shape[M], NoneTape]


@dataclass
class Tree:
    value: Tensor[Shape[L[3]], NoneTape]
    left: Tree | None = None


@guarded
def of_dict(x: dict[str, Pair]) -> None: ...


@guarded
def of_mapping(x: Mapping[int, Pair]) -> None: ...


@guarded
def of_nested(x: MutableMapping[str, list[Pair]]) -> None: ...


@guarded
def of_ordered(x: OrderedDict[str, Pair]) -> None: ...


@guarded
def of_default(x: defaultdict[str, Pair]) -> None: ...


@guarded
def of_set(x: AbstractSet[Pair]) -> None: ...


@guarded
def of_frozenset(x: frozenset[Pair]) -> None: ...


@guarded
def of_deque(x: deque[Pair]) -> None: ...


@guarded
def of_iterable(x: Iterable[Pair]) -> None: ...


@guarded
def of_collection(x: Collection[Pair]) -> None: ...


@guarded
def of_iterator(x: Iterator[Pair]) -> list[Any]:
    return [*x]


@guarded
def of_iterable_read(x: Iterable[Pair]) -> list[Any]:
    return [*x]


@guarded
def of_batch(batch: Batch) -> None: ...


@guarded
def of_sample(sample: Sample) -> None: ...


@guarded
def of_example(example: Example) -> None: ...


@guarded
def of_sized(sized: Sized[N], x: Vector[N]) -> None: ...


@guarded
def of_unknown(sized: Sized[Any]) -> None: ...


@guarded
def of_child(child: Child[N, N]) -> None: ...


@guarded
def of_tree(tree: Tree) -> None: ...


REJECTED: dict[str, tuple[Any, Any]] = {
    'of_dict: x["a"] is (3,) but (2,) is expected: axis 0 is 3, not 2': (of_dict, {"b": two, "a": three}),
    "of_mapping: x[7] is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_mapping, {7: three}),
    'of_nested: x["a"][1] is (3,) but (2,) is expected: axis 0 is 3, not 2': (of_nested, {"a": [two, three]}),
    'of_ordered: x["a"] is (3,) but (2,) is expected: axis 0 is 3, not 2': (of_ordered, OrderedDict(a=three)),
    'of_default: x["a"] is (3,) but (2,) is expected: axis 0 is 3, not 2': (of_default, defaultdict(list, a=three)),
    "of_set: an item of x is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_set, {three}),
    "of_frozenset: an item of x is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_frozenset, frozenset([three])),
    "of_deque: x[1] is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_deque, deque([two, three])),
    "of_iterable: x[0] is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_iterable, (three,)),
    "of_collection: x[1] is (3,) but (2,) is expected: axis 0 is 3, not 2": (of_collection, [two, three]),
    'of_batch: batch["image"] is (2,) but (3,) is expected: axis 0 is 2, not 3': (of_batch, {"image": two, "name": ""}),
    'of_batch: batch["label"] is (3,) but (2,) is expected: axis 0 is 3, not 2': (
        of_batch,
        {"image": three, "label": three, "name": ""},
    ),
    "of_sample: sample.image is (2,) but (3,) is expected: axis 0 is 2, not 3": (of_sample, Sample(two)),
    "of_example: example.image is (2,) but (3,) is expected: axis 0 is 2, not 3": (of_example, Example(two)),
    "of_example: example.parts[0] is (3,) but (2,) is expected: axis 0 is 3, not 2": (
        of_example,
        Example(three, parts=[three]),
    ),
    "of_unknown: sized.y has a tape but must have none": (of_unknown, Sized(two, two.trace())),
    "of_tree: tree.value is (2,) but (3,) is expected: axis 0 is 2, not 3": (of_tree, Tree(two)),
}


@pytest.mark.parametrize("message", REJECTED)
def test_what_does_not_match_is_rejected_by_its_place(message: str) -> None:
    function, argument = REJECTED[message]
    with pytest.raises((ShapeError, TapeError)) as caught:
        function(argument)
    assert str(caught.value).partition("\n")[0] == message


def test_what_matches_is_accepted() -> None:
    of_dict({"a": two})
    of_mapping({1: two})
    of_nested({"a": [two, two], "b": []})
    of_ordered(OrderedDict(a=two))
    of_default(defaultdict(lambda: two, a=two))
    of_set({two})
    of_frozenset(frozenset([two]))
    of_deque(deque([two]))
    of_iterable([two])
    of_collection((two,))
    of_batch({"image": three, "name": "a"})
    of_batch({"image": three, "label": two, "name": "a"})
    of_sample(Sample(three))
    of_example(Example(three, "a", [two]))
    of_sized(Sized(two, two), two)
    of_unknown(Sized(two, three))
    of_child(Child(two, two, two))
    of_tree(Tree(three, Tree(three)))


def test_another_container_is_rejected() -> None:
    anything: Any = [two]
    with pytest.raises(DTypeError, match=r"^of_dict: x is a list but a dict is expected$"):
        of_dict(anything)
    with pytest.raises(DTypeError, match=r"^of_batch: batch is a dict but a Batch with the keys image is expected$"):
        of_batch({"name": "a"})  # type: ignore[typeddict-item]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^of_example: example is a list but an Example is expected$"):
        of_example(anything)


def test_names_are_bound_over_fields_and_arguments() -> None:
    with pytest.raises(ShapeError, match=r"^of_sized: N is 2 in sized.x but 3 in sized.y"):
        of_sized(Sized(two, three), two)
    with pytest.raises(ShapeError, match=r"^of_sized: N is 2 in sized.x but 3 in x"):
        of_sized(Sized(two, two), three)
    with pytest.raises(ShapeError, match=r"^of_child: N is 2 in child.x but 3 in child.z"):
        of_child(Child(two, two, three))


def test_an_iterator_is_not_read() -> None:
    assert [x.shape for x in of_iterator(iter([two, two]))] == [(2,), (2,)]
    assert [x.shape for x in of_iterable_read(x for x in [two, two])] == [(2,), (2,)]


def test_a_guarded_dataclass_checks_its_fields() -> None:
    @guarded
    @dataclass
    class Checked(Generic[N]):
        """Two vectors of one size."""

        x: Tensor[Shape[N], OwnedTape]
        y: Tensor[Shape[N], NoneTape]
        parts: list[Any] = field(default_factory=list)
        seed: InitVar[int] = 0

    made = Checked(two.trace(), two)

    assert (made.parts, Checked.__doc__) == ([], "Two vectors of one size.")
    with pytest.raises(ShapeError, match=r"^Checked: N is 2 in x but 3 in y"):
        Checked(two.trace(), three)
    with pytest.raises(TapeError, match=r"^Checked: x has no tape but needs one"):
        Checked(two, two)


def test_a_dataclass_that_is_guarded_before_it_is_one_is_rejected() -> None:
    message = r"^guarded: Checked is a class, not a function; of a dataclass, put @guarded above @dataclass$"
    with pytest.raises(TypeError, match=message):

        @dataclass
        @guarded
        class Checked:
            x: Tensor[Shape[L[2]], NoneTape]


def test_a_module_is_no_dataclass_of_tensors() -> None:
    @dataclass(eq=False)
    class Net(nn.Module):
        weight: Tensor[Shape[L[9]], NoneTape]

        def forward(self) -> None: ...

    @guarded
    def of_net(net: Net) -> None: ...

    of_net(Net(two))

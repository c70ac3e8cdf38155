"""Sizes from dictionaries with constant keys: numbers where the entries are written, names of their own elsewhere."""

from __future__ import annotations

import json
from typing import Any, TypedDict, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

row = tg.ones((5, 4))


class Sizes(TypedDict):
    """Sizes of a model."""

    width: int
    classes: int


class Model(nn.Module):
    """Takes its sizes from a dictionary, and keeps it."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        width = config["width"]
        self.config = config
        self.rise = nn.Linear(width, 2 * config["width"])
        self.fall = nn.Linear(2 * width, config["classes"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(self.rise(x)).reshape(-1, self.config["classes"])


class Typed(nn.Module):
    """Takes its sizes from a dictionary with known keys."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.fall = nn.Linear(sizes["width"], sizes["classes"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(x)


class Nested(nn.Module):
    """Passes an entry on to a part."""

    def __init__(self, config: dict[str, dict[str, int]]) -> None:
        super().__init__()
        self.part = Model(config["part"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.part(x)


WRITTEN = {"width": 4, "classes": 3}
TYPED: Sizes = {"width": 4, "classes": 6}


def accept_sizes_from_written_dictionaries() -> None:
    assert_type(Model({"width": 4, "classes": 3})(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Model(dict(width=4, classes=3))(row), Tensor[Shape[L[5], L[3]], NoneTape])  # noqa: C408  # the other way
    assert_type(Model(WRITTEN)(row), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(Typed(TYPED)(row), Tensor[Shape[L[5], L[6]], NoneTape])
    assert_type(Typed(Sizes(width=4, classes=2))(row), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(Nested({"part": {"width": 4, "classes": 3}})(row), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_another_number_of_a_dictionary() -> None:
    Typed({"width": 4, "classes": 2})(row) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (5, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_entries_that_do_not_fit() -> None:
    def made(config: dict[str, int], sizes: Sizes) -> None:
        tg.ones((2, config["width"])) @ tg.ones((config["width"], 3))
        tg.ones((2, sizes["width"])) @ tg.ones((config["width"], 3))  # may be equal
        tg.ones((2, config["width"])) @ tg.ones((2 * config["width"], 3))  # E(mypy): matmul: inner sizes differ: x (2, config["width"]) has config["width"] columns but y (2*config["width"], 3) has 2*config["width"] rows [tapegrad-shape]

    assert callable(made)  # a call would show its sizes


def twice(config: dict[str, int]) -> None:
    """Change an entry."""
    config["classes"] *= 2


class Helped(nn.Module):
    """Lets a function change an entry."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        twice(config)
        self.fall = nn.Linear(4, config["classes"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(x)


class Renamed(nn.Module):
    """Changes an entry by another name."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        other = config
        other["classes"] = 6
        self.fall = nn.Linear(4, config["classes"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(x)


class Deep(nn.Module):
    """Changes an entry of an entry."""

    def __init__(self, config: dict[str, dict[str, int]]) -> None:
        super().__init__()
        config["part"]["classes"] *= 2
        self.fall = nn.Linear(4, config["part"]["classes"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(x)


class Shrinking(nn.Module):
    """Changes an entry after it was made."""

    def __init__(self, config: dict[str, int]) -> None:
        super().__init__()
        self.config = config

    def shrink(self) -> None:
        self.config["width"] = 2

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return x.reshape(-1, self.config["width"])


def accept_entries_that_change() -> None:
    config = {"width": 4, "classes": 3}
    model = Model(config)
    tg.ones((2, config["classes"])) @ tg.ones((3, 2))
    config["classes"] = 8
    tg.ones((2, config["classes"])) @ tg.ones((8, 2))
    model.fall(model.rise(row)) + tg.ones((5, 3))
    changed = {"classes": 3}
    twice(changed)
    tg.ones((2, changed["classes"])) @ tg.ones((6, 2))
    Helped({"classes": 3})(row) + tg.ones((5, 6))
    Renamed({"classes": 3})(row) + tg.ones((5, 6))
    Deep({"part": {"classes": 3}})(row) + tg.ones((5, 6))
    shrinking = Shrinking({"width": 4})
    shrinking.shrink()
    shrinking(row) + tg.ones((10, 2))


class Growing(nn.Module):
    """Adds a layer to a list of any length."""

    def __init__(self, count: int) -> None:
        super().__init__()
        layers = [nn.Linear(4, 4) for _ in range(count)]
        layers.append(nn.Linear(4, 3))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layers(x)


def accept_a_layer_after_a_list_of_layers() -> None:
    Growing(200)(row) + tg.ones((5, 3))


class Loaded(nn.Module):
    """Takes its sizes from what a file contains, and does not fit."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.rise = nn.Linear(4, config["width"])
        self.fall = nn.Linear(config["factor"] * config["width"], 2)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(tg.relu(self.rise(x)))


class Fitting(nn.Module):
    """Takes its sizes from what a file contains."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.rise = nn.Linear(4, config["width"])
        self.fall = nn.Linear(config["width"], 2)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        hidden = tg.relu(self.rise(x))
        return self.fall(hidden)


class Wider(nn.Module):
    """Is called with two configurations."""

    def __init__(self, config: Any, inputs: int) -> None:
        super().__init__()
        self.fall = nn.Linear(config["width"], 2)
        self.rise = nn.Linear(inputs, 6)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.fall(self.rise(x))


def accept_entries_of_a_file() -> None:
    config = json.loads('{"width": 3, "factor": 1}')
    assert_type(Fitting(config)(row), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(Loaded(config)(row), Tensor[Shape[L[5], L[2]], NoneTape])


def accept_entries_of_a_file_that_change() -> None:
    config = json.loads('{"width": 3}')
    first = nn.Linear(4, config["width"])
    config["width"] = 6
    assert_type(Wider(config, 4)(row), Tensor[Shape[L[5], L[2]], NoneTape])
    second = nn.Linear(config["width"] // 2, 2)
    second(first(row))


def accept_tensors_under_computed_keys() -> None:
    features: dict[str, Tensor] = {}
    for name, count in (("a", 3), ("b", 6)):
        features[name] = tg.ones((count, 4))
    for key in ("a", "b"):
        assert_type(features[key], Tensor[Shape[Any, L[4]], NoneTape])
    for one in features.values():
        assert_type(one, Tensor[Shape[Any, L[4]], NoneTape])


def reject_tensors_under_computed_keys() -> None:
    features: dict[str, Tensor] = {}
    for name in ("a", "b"):
        features[name] = nn.Linear(4, 5)(row)
    for key in ("a", "b"):
        features[key] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_tensors_in_all_values() -> None:
    features: dict[str, Tensor] = {}
    for name in ("a", "b"):
        features[name] = row
    for one in features.values():
        one @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (5, 4) has 4 columns but y (5, 2) has 5 rows [tapegrad-shape]


ANIMALS = {0: "cat", 1: "dog", 2: "owl"}
WIDTHS = {1: 8, 2: 16}


def accept_keys_that_are_whole_numbers() -> None:
    widths = dict(WIDTHS)
    widths[3] = 4
    names = [*ANIMALS.values(), "none"]
    assert_type(tg.ones((len(ANIMALS), WIDTHS[2])), Tensor[Shape[L[3], L[16]], NoneTape])
    by_name = {one: key for key, one in ANIMALS.items()}
    assert_type(tg.ones((len(names), widths[1])), Tensor[Shape[L[4], L[8]], NoneTape])
    assert_type(tg.ones((len(by_name), widths[3])), Tensor[Shape[L[3], L[4]], NoneTape])


def reject_one_class_more() -> None:
    nn.Linear(4, len(ANIMALS))(row) @ tg.ones((len(list(ANIMALS.keys())) + 1, 2))  # E(mypy): matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_width_by_a_whole_number() -> None:
    tg.ones((3, WIDTHS[1])) @ tg.ones((WIDTHS[2], 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (16, 2) has 16 rows [tapegrad-shape]

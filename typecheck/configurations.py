"""Models that are made with the configurations of scripts: namespaces, and dicts of options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

PLANS: dict[str, dict[str, Any]] = {"small": {"sizes": (4, 5), "scale": 2}, "large": {"sizes": (8, 9), "scale": 3}}
CHANGED = {"small": {"inputs": 4, "hidden": 6, "outputs": 3}}
LAYERS = {"A": [4, "pool", 8], "B": [4, 4, "pool"]}


class Head(nn.Module):
    """Two layers, by the names of their sizes."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        self.up = nn.Linear(inputs, hidden)
        self.down = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.down(self.up(x))


class Model(nn.Module):
    """Changes options before it passes them on."""

    def __init__(self, sizes: tuple[int, ...], scale: int, **options: Any) -> None:
        options.setdefault("hidden", 6)
        options["outputs"] = scale * sizes[0]
        self.head = Head(sizes[0], **options)
        self.others = {"a": nn.Linear(8, scale), "b": nn.Linear(8, scale + 1)}

    def forward(self, x: Tensor[Any, Any]) -> tuple[Tensor[Any, Any], Tensor[Any, Any]]:
        h = self.head(x)
        parts = []
        for other in self.others.values():
            parts.append(other(h))  # noqa: PERF401  # under test
        for name, other in self.others.items():
            if name == "b":
                parts.append(other(h))
        return self.others["b"](h), tg.concat(parts, axis=1)


class Configured(nn.Module):
    """Made with a namespace."""

    def __init__(self, args: Namespace) -> None:
        self.layer = nn.Linear(args.width, args.heads * args.width)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.layer(x)


def features(name: str) -> nn.Sequential[Any]:
    """Make layers by a plan."""
    layers: list[nn.Module] = []
    channels = 3
    for size in LAYERS[name]:
        if isinstance(size, int):
            layers += [nn.Conv2d(channels, size, 3, padding=1), nn.ReLU()]
            channels = size
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)  # pyright: ignore[reportReturnType]  # Any is no list of layers


def accept_namespaces() -> None:
    args = Namespace(width=4, heads=2, batch=3)
    args.batch = 5
    assert_type(Configured(args)(tg.ones((3, args.width))), Tensor[Shape[L[3], L[8]], NoneTape])
    sizes = {"rows": 6}
    options = SimpleNamespace(**sizes, columns=2)
    assert_type(tg.ones((options.rows, options.columns)), Tensor[Shape[L[6], L[2]], NoneTape])
    assert tg.ones((args.batch, 2)).shape == (5, 2)
    rows = tg.ones((12, 4))
    for start in range(0, 12, args.width):
        assert_type(rows[start : start + args.width], Tensor[Shape[L[4], L[4]], NoneTape])


def parsed() -> Namespace:
    """Parse the options of a script."""
    parser = ArgumentParser(description="Train.")
    parser.add_argument("--width", "-w", type=int, default=4)
    parser.add_argument("--heads", type=int, required=True)
    return parser.parse_args(["--heads", "2"])


def default() -> Namespace:
    """Return the defaults of the options of a script."""
    parser = ArgumentParser()
    sizes = parser.add_argument_group("sizes")
    sizes.add_argument("--width", type=int, default=4)
    sizes.add_argument("--attention-heads", dest="heads", type=int, default=2, help="how many")
    parser.add_argument("--rows", type=int, default=3)
    return parser.parse_args([])


def accept_options_of_a_script() -> None:
    def run() -> None:
        args = parsed()
        rng = np.random.default_rng(0)
        users = tg.tensor(rng.integers(0, 9, args.width * args.heads))
        nn.Embedding(9, args.heads)(users) @ tg.ones((args.heads, 2))
        Configured(args)(tg.ones((3, args.width))) @ tg.ones((args.heads * args.width, 2))

    run()


def accept_the_defaults_of_options() -> None:
    args = default()
    assert_type(Configured(args)(tg.ones((3, args.width))), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(tg.ones((args.width, args.rows)), Tensor[Shape[L[4], L[3]], NoneTape])
    parser = ArgumentParser()
    parser.add_argument("--rows", type=int, default=6)
    assert_type(tg.ones((parser.parse_args(()).rows, 2)), Tensor[Shape[L[6], L[2]], NoneTape])


def accept_options_that_may_have_other_defaults() -> None:
    parser = ArgumentParser()
    parser.add_argument("--columns", type=int, default=4)
    parser.set_defaults(columns=5)
    args = parser.parse_args([])
    tg.ones((2, args.columns)) @ tg.ones((5, 2))
    other = ArgumentParser()
    other.add_argument("--columns", type=int, default=4)
    other.add_argument("--other", dest="columns", type=int, default=5)
    chosen = other.parse_args(["--other", "5"])
    tg.ones((2, chosen.columns)) @ tg.ones((5, 2))


def accept_an_option_that_is_no_number() -> None:
    parser = ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs=2, default=4)
    args = parser.parse_args(["--sizes", "2", "3"])
    array = np.random.default_rng(0).normal(size=args.sizes)
    tg.tensor(array.astype(np.float32)) @ tg.ones((3, 2))


def accept_dicts_of_options() -> None:
    one, both = Model(**PLANS["small"])(tg.ones((3, 4)))
    assert_type(one, Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(both, Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(features("A")(tg.ones((2, 3, 6, 6))), Tensor[Shape[L[2], L[8], L[3], L[3]], NoneTape])
    assert features("B")(tg.ones((2, 3, 6, 6))).shape == (2, 4, 3, 3)


def accept_a_dict_that_is_changed() -> None:
    sizes = {"inputs": 4, "hidden": 6, "outputs": 3}
    sizes["inputs"] = 5
    assert_type(Head(**sizes)(tg.ones((2, 5))), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_part_of_a_dict_that_is_changed() -> None:
    plan = CHANGED["small"]
    plan["hidden"] = 5
    assert Head(**CHANGED["small"]).up.weight.shape == (4, 5)


class Changing(nn.Module):
    """Changes a dict in a dict."""

    def __init__(self) -> None:
        plans = {"head": {"inputs": 4, "hidden": 6, "outputs": 3}}
        plan = plans["head"]
        plan["inputs"] = 5
        self.head = Head(**plans["head"])

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.head(x)


def accept_a_constructor_that_changes_a_dict() -> None:
    assert Changing()(tg.ones((2, 5))).shape == (2, 3)


def reject_a_size_of_a_namespace() -> None:
    Configured(Namespace(width=4, heads=2))(tg.ones((2, 4))) @ tg.ones((9, 2))  # E: matmul: inner sizes differ: x (2, 8) has 8 columns but y (9, 2) has 9 rows [tapegrad-shape]


def reject_a_size_of_an_option() -> None:
    def run() -> None:
        args = parsed()
        ids = tg.tensor(np.random.default_rng(0).integers(0, 9, args.width))
        nn.Embedding(9, 3)(ids) @ tg.ones((2, 2))  # E(mypy): matmul: inner sizes differ: x (args.width, 3) has 3 columns but y (2, 2) has 2 rows [tapegrad-shape]

    run()


def reject_a_layer_behind_one_of_an_option() -> None:
    args = parsed()
    nn.Linear(3, 2)(nn.Linear(args.width, 4)(tg.ones((2, args.width))))  # E(mypy): Linear(3, 2): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_the_default_of_an_option() -> None:
    Configured(default())(tg.ones((2, 4))) @ tg.ones((9, 2))  # E: matmul: inner sizes differ: x (2, 8) has 8 columns but y (9, 2) has 9 rows [tapegrad-shape]


def reject_a_size_of_a_dict() -> None:
    features("A")(tg.ones((2, 3, 6, 6))) + tg.ones((2, 7, 3, 3))  # E: add: x (2, 8, 3, 3) and y (2, 7, 3, 3) do not broadcast: axis -3 is 8 in x but 7 in y [tapegrad-shape]


def reject_a_layer_of_a_dict() -> None:
    Model(**PLANS["small"])(tg.ones((3, 4)))[0] @ tg.ones((2, 2))  # E: matmul: inner sizes differ: x (3, 3) has 3 columns but y (2, 2) has 2 rows [tapegrad-shape]


@dataclass
class Widths:
    """The sizes of a head."""

    inputs: int = 4
    hidden: int = 6
    outputs: int = 3


def accept_fields_as_options() -> None:
    options = asdict(Widths(hidden=9))
    assert_type(Head(**options)(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    changed = asdict(Widths())
    changed["inputs"] = 7
    Head(**changed)(tg.ones((2, 7)))


def accept_fields_without_some() -> None:
    options = asdict(Widths(hidden=9))
    outputs = options.pop("outputs")
    assert_type(Head(**options, outputs=outputs)(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    fewer: dict[str, Any] = {"in_features": 4, "out_features": 5, "rows": 2}
    linear = nn.Linear(fewer.pop("in_features"), fewer["out_features"])
    assert_type(linear(tg.ones((fewer["rows"], 4))), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_options_of_several_dicts() -> None:
    defaults = {"inputs": 4, "hidden": 6, "outputs": 3}
    wider = {**defaults, "outputs": 5}
    assert_type(Head(**wider)(tg.ones((2, 4))), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(Head(**(defaults | {"outputs": 7}))(tg.ones((2, 4))), Tensor[Shape[L[2], L[7]], NoneTape])
    assert_type(Head(**dict(defaults, outputs=8))(tg.ones((2, 4))), Tensor[Shape[L[2], L[8]], NoneTape])
    doubled = {name: 2 * size for name, size in defaults.items()}
    assert_type(Head(**doubled)(tg.ones((2, 8))), Tensor[Shape[L[2], L[6]], NoneTape])
    extended = defaults.copy()
    extended.update(outputs=9)
    extended["inputs"] = 10
    del extended["hidden"]
    assert_type(Head(**extended, hidden=1)(tg.ones((2, 10))), Tensor[Shape[L[2], L[9]], NoneTape])


def accept_options_of_layers_and_ops() -> None:
    options: dict[str, Any] = {"kernel": 3, "padding": 1, "bias": False}
    conv = nn.Conv2d(3, 8, **options)
    assert_type(conv(tg.ones((2, 3, 9, 7))), Tensor[Shape[L[2], L[8], L[9], L[7]], NoneTape])
    assert_type(conv.bias, None)
    along: dict[str, Any] = {"axis": 1, "keepdims": True}
    assert_type(tg.sum(tg.ones((2, 3)), **along), Tensor[Shape[L[2], L[1]], NoneTape])


class Popping(nn.Module):
    """Takes options out of a dict."""

    def __init__(self, config: dict[str, Any]) -> None:
        options = dict(config)
        self.up = nn.Linear(options.pop("inputs"), options["in_features"])
        self.down = nn.Linear(**options)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.down(self.up(x))


def accept_a_constructor_that_pops() -> None:
    config = {"inputs": 4, "in_features": 6, "out_features": 3}
    assert_type(Popping(config)(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_options_without_some() -> None:
    options = asdict(Widths())
    options.pop("outputs")
    Head(**options, outputs=5)(tg.ones((2, 4))) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_options_of_two_dicts() -> None:
    sizes = {"inputs": 4, "hidden": 6, "outputs": 3}
    Head(**{**sizes, "inputs": 7})(tg.ones((2, 7))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_sizes_of_a_layer_with_options() -> None:
    options: dict[str, Any] = {"kernel": 3, "stride": 2}
    nn.Linear(4, 3)(nn.Conv2d(3, 8, **options)(tg.ones((2, 3, 9, 7))))  # E: Linear(4, 3): x is (2, 8, 4, 3) but (..., 4) is expected: axis -1 is 3, not 4 [tapegrad-shape]


def reject_options_of_an_op() -> None:
    along: dict[str, Any] = {"axis": 1, "keepdims": True}
    tg.sum(tg.ones((2, 3)), **along) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (2, 1) has 1 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_a_bool_among_options() -> None:
    options: dict[str, Any] = {"kernel": True}
    nn.Conv2d(3, 8, **options)  # E: Conv2d: kernel is a bool but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_options_after_pop() -> None:
    Popping({"inputs": 4, "in_features": 6, "out_features": 3})(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_size_of_fields_as_options() -> None:
    Head(**asdict(Widths()))(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


SPLIT = 0.8


@dataclass(frozen=True)
class Scaled:
    """Sizes that fractions make of another."""

    width: int = 12
    ratio: float = 2.5
    keep: float = 0.5


class Bottleneck(nn.Module):
    """A layer whose width is a multiple of another."""

    def __init__(self, width: int, args: Namespace) -> None:
        self.up = nn.Linear(width, int(width * args.ratio))
        self.down = nn.Linear(int(width * args.ratio), width // 2)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.down(self.up(x))


def ratio_options() -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--ratio", type=float, default=1.5)
    return parser.parse_args([])


def of_any_size(scaled: Scaled) -> None:
    assert_type(tg.ones((int(scaled.width * scaled.ratio), 3))[0], Tensor[Shape[L[3]], NoneTape])


def accept_sizes_from_fractions() -> None:
    scaled, share = Scaled(), 0.25
    hidden = int(scaled.width * scaled.ratio)
    assert_type(tg.ones((hidden, round(scaled.width * scaled.keep))), Tensor[Shape[L[30], L[6]], NoneTape])
    assert_type(tg.ones((int(scaled.width / share),)), Tensor[Shape[L[48]], NoneTape])
    x = np.zeros((50, 3))
    count = int(len(x) * SPLIT)
    assert_type(tg.tensor(x[:count]), Tensor[Shape[L[40], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor(x[count:]), Tensor[Shape[L[10], L[3]], NoneTape, np.float64])
    of_any_size(scaled)


def accept_ratios_of_options() -> None:
    args = ratio_options()
    assert_type(Bottleneck(args.width, args)(tg.ones((2, 12))), Tensor[Shape[L[2], L[6]], NoneTape])


def reject_a_size_from_a_fraction() -> None:
    scaled = Scaled()
    nn.Linear(int(scaled.width * scaled.ratio), 4)(tg.ones((2, 24)))  # E: Linear(30, 4): x is (2, 24) but (..., 30) is expected: axis -1 is 24, not 30 [tapegrad-shape]


def reject_rows_of_a_split() -> None:
    x = np.zeros((50, 3))
    count = int(len(x) * SPLIT)
    tg.tensor(x[:count]) + tg.tensor(x[count:])  # E: add: x (40, 3) and y (10, 3) do not broadcast: axis -2 is 40 in x but 10 in y [tapegrad-shape]

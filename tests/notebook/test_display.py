"""Display in a notebook: the numbers shown are those of the tensor, and the markup is well formed."""

from __future__ import annotations

import struct
import zlib
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn
from tapegrad.notebook.display import HTML, module_html, norms_of, tape_html, tensor_html
from tapegrad.notebook.drawing import drawing
from tapegrad.notebook.heat import ABOVE, BELOW, NO_NUMBER, ZERO, heat_map


def parsed(html: str | None) -> ET.Element:
    """Read markup as a reader that forgives nothing."""
    assert html is not None
    return ET.fromstring(f"<div>{html}</div>")  # noqa: S314  # ours


def pixels(png: bytes) -> Any:
    """Read a PNG as heat_map writes it: one chunk of lines without a filter."""
    width, height = struct.unpack(">II", png[16:24])
    size = struct.unpack(">I", png[33:37])[0]
    lines = np.frombuffer(zlib.decompress(png[41 : 41 + size]), np.uint8).reshape(height, 1 + 3 * width)
    return lines[:, 1:].reshape(height, width, 3)


def test_a_small_tensor_shows_its_numbers() -> None:
    html = parsed(tensor_html(tg.tensor([[1.5, -2.0, 0.25], [np.nan, np.inf, 3.0]])))

    assert [[cell.text for cell in row] for row in html.iter("tr")] == [["1.5", "-2", "0.25"], ["nan", "inf", "3"]]
    assert "".join(html.itertext()).startswith("Tensor (2, 3) float32, no tape, -2 to 3, 2 not finite")


@pytest.mark.parametrize(
    ("x", "head", "images"),
    [
        (tg.zeros((0, 3)), "Tensor (0, 3) float32, no tape", 0),
        (tg.tensor(3), "Tensor () int64, no tape", 0),
        (tg.tensor([True, False]), "Tensor (2,) bool, no tape", 0),
        (tg.arange(200), "Tensor (200,) int64, no tape, 0 to 199", 1),
        (tg.ones((3, 40)).trace(), "Tensor (3, 40) float32, owned tape, 1 to 1", 1),
        (tg.zeros((5, 3, 9, 11)), "Tensor (5, 3, 9, 11) float32, no tape, 0 to 0", 12),
        (tg.ones((0, 3, 9, 11)), "Tensor (0, 3, 9, 11) float32, no tape", 0),
    ],
)
def test_every_tensor_has_a_heading_and_one_image_per_slice(x: Any, head: str, images: int) -> None:
    html = parsed(tensor_html(x))

    assert html[0] is not None
    assert "".join(html[0].itertext()) == head
    assert len(list(html.iter("img"))) == images


def test_colours_show_sign_and_size() -> None:
    picture = pixels(heat_map(np.array([[-2.0, 0.0, 1.0], [np.nan, np.inf, -np.inf]]), farthest=2.0, width=3))

    assert picture.shape == (2, 3, 3)
    assert picture[0, 0].tolist() == BELOW.tolist()
    assert picture[0, 1].tolist() == ZERO.tolist()
    assert np.abs(picture[0, 2] - (ZERO + ABOVE) / 2).max() <= 0.5
    assert picture[1].tolist() == [NO_NUMBER.tolist(), ABOVE.tolist(), BELOW.tolist()]


def test_a_large_array_is_thinned() -> None:
    assert pixels(heat_map(np.ones((1000, 30)), farthest=1.0)).shape == (250, 30, 3)
    assert pixels(heat_map(np.zeros((2, 5)), farthest=0.0)).shape == (48, 120, 3)


def test_a_module_is_a_tree_with_its_parameters() -> None:
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 3), nn.Tanh()))

    html = parsed(module_html(model))

    titles = ["".join(title.itertext()) for title in html.iter("summary")]
    assert titles[0] == "Sequential, 58 parameters"
    assert "layers.0: Linear(7, 5), 40 parameters" in titles
    assert "layers.2: Sequential, 18 parameters" in titles
    assert "weight: (7, 5) float32" in [item.text for item in html.iter("li")]
    assert "layers.1: ReLU" in ["".join(item.itertext()) for item in html.iter("li")]


def test_a_tape_is_drawn_unless_it_is_consumed() -> None:
    x = tg.ones((2, 3)).trace()
    loss = tg.tanh(x * x).sum()
    tape = loss.tape.tape

    html = parsed(tape_html(tape))
    texts = [text.text for text in html.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["leaf (2, 3)", "mul (2, 3)", "tanh (2, 3)", "sum ()"]
    assert HTML[tg.OwnedTape](loss.tape) == tape_html(tape)

    loss.backward()
    assert tape_html(tape) is None


def test_gradients_are_named_by_the_variable_of_their_tensor() -> None:
    x, layer = tg.tensor([[3.0, 4.0]]), nn.Linear(2, 3, rng=0)
    model = nn.Sequential(layer, nn.Linear(3, 1, rng=1))
    grads = model(x.trace()).sum().backward()

    norms = norms_of(grads, {"layer": layer, "_": x, "x": x, "again": x, "model": model})

    assert [path for path, *_ in norms.rows] == [*(f"model.{path}" for path in model.parameters()), "x"]
    assert [norm for *_, norm in norms.rows[:4]] == [*grads.norms(model).values()]
    assert norms.rows[4][2] == pytest.approx(tg.norm(grads[x]).item())


def test_layers_in_a_list_are_named_by_their_index() -> None:
    layers = [nn.Linear(2, 2, rng=0), nn.Linear(2, 2, rng=1)]
    grads = layers[1](layers[0](tg.ones((3, 2)).trace())).sum().backward(wrt=layers)

    norms = norms_of(grads, {"number": 1, "layers": layers})

    assert [path for path, *_ in norms.rows] == [
        "layers[0].weight",
        "layers[0].bias",
        "layers[1].weight",
        "layers[1].bias",
    ]


def test_gradients_are_listed_with_their_norms() -> None:
    x, y = tg.tensor([3.0, 4.0]), tg.tensor([[0.5]])
    traced = x.trace(wrt=(x, y))
    grads = ((traced * x).sum() + y.put_tape(traced.tape).sum()).backward()

    norms = norms_of(grads, {"traced": traced})
    html = parsed(norms._repr_html_())

    assert [[cell.text for cell in row] for row in html.iter("tr")] == [
        ["path", "shape", "norm", None],
        ["traced", "(2,)", "10", None],
        [None, "(1, 1)", "1", None],
    ]
    assert [bar.get("width") for bar in html.iter("rect")] == ["160.0", "16.0"]
    assert repr(norms) == "Gradients of 2 tensors\npath    shape   norm\ntraced  (2,)    10\n        (1, 1)  1"


def test_gradients_without_a_variable_are_listed_by_shape() -> None:
    x = tg.tensor([3.0, 4.0])

    norms = norms_of((x.trace() * x).sum().backward(), {})

    assert repr(norms) == "Gradients of 1 tensor\nshape  norm\n(2,)   10"


def test_graph_nodes_are_below_their_inputs() -> None:
    root = ET.fromstring(drawing(["a", "b", "a+b", "c<d", "end"], [(0, 2), (1, 2), (2, 4), (3, 4)]))  # noqa: S314  # ours
    tops = [float(box.get("y", "")) for box in root.iter("{http://www.w3.org/2000/svg}rect")]

    assert tops[0] == tops[1] < tops[2] == tops[3] < tops[4]
    assert ET.fromstring(drawing([], [])).tag.endswith("svg")  # noqa: S314  # ours

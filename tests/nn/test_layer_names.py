"""The path of a layer in its error messages."""

from __future__ import annotations

import linecache
import re
import typing
from types import SimpleNamespace
from typing import Any

import pytest

from tapegrad import Tensor, guarded
from tapegrad.errors import ShapeError
from tapegrad.nn import Linear, Module, Sequential
from tapegrad.nn.layer_names import layer_text
from tapegrad.ops import ones

SAID = "Linear(3, 4): x is (2, 5) but (..., 3) is expected: axis -1 is 5, not 3"
layer: Any = Linear(3, 4)
x: Any = ones((2, 5))


class Base(Module):
    """Calls a layer in every way that a method may."""

    def __init__(self) -> None:
        self.fall = layer
        self.layers = [layer, Sequential(layer)]
        self.heads = {"left": layer}

    def plain(self) -> Any:
        return self.fall(x)

    def in_a_function(self) -> Any:
        def called() -> Any:
            return self.layers[0](x)

        return called()

    def over_lines(self) -> Any:
        return "über" and self.layers[
            -1
        ](
            x
        )  # fmt: skip

    def chosen(self) -> Any:
        heads: Any = self.heads
        one = heads["left"]
        return one(x)

    @property
    def made(self) -> Any:
        return Linear(3, 4)


class Derived(Base):
    """Inherits the methods."""


class Own(Linear[Any, Any]):
    """Inherits the guard too."""


def rejected(call: Any) -> str:
    with pytest.raises(ShapeError) as caught:
        call()
    return str(caught.value)


def test_an_attribute_is_named_by_the_class_that_calls_it() -> None:
    assert rejected(Base().plain) == f"Base.fall {SAID}"
    assert rejected(Derived().plain) == f"Base.fall {SAID}"
    assert rejected(Derived().in_a_function) == f"Derived.layers[0] {SAID}"


def test_a_call_may_span_several_lines_and_follow_non_ascii_text() -> None:
    assert rejected(Base().over_lines) == f"Base.layers[-1][0] {SAID}"


def test_a_variable_is_named_by_its_name() -> None:
    local, by_name, key = layer, {"ü": {1: layer}}, 1

    assert rejected(lambda: local(x)) == f"local {SAID}"
    assert rejected(lambda: layer(x)) == f"layer {SAID}"
    assert rejected(lambda: by_name["ü"][key](x)) == f"by_name['ü'][key] {SAID}"
    assert rejected(lambda: SimpleNamespace(fall=layer).fall(x)) == SAID


def test_a_local_alias_of_an_attribute_is_noted_with_its_path() -> None:
    class Net(Module):
        def __init__(self) -> None:
            self.layers = [Linear(5, 5), Linear(5, 3), Linear(4, 5)]

        def forward(self, x: Any) -> Any:
            for one in self.layers:
                x = one(x)
            return x

    def notes(call: Any) -> list[str]:
        with pytest.raises(ShapeError) as caught:
            call()
        return getattr(caught.value, "__notes__", [])

    assert notes(lambda: Net()(x)) == ["in Net.layers[2]"]
    assert notes(lambda: Sequential(Net())(x)) == ["in Net.layers[2]", "in Sequential[0] Net"]
    assert notes(Base().chosen) == ["in Base.layers[0]"]
    assert notes(lambda: layer(x)) == []


def test_a_layer_called_by_other_code_has_no_path() -> None:
    assert rejected(lambda: list(map(layer, [x]))) == SAID
    assert rejected(lambda: max([x], key=layer)) == SAID


def test_a_property_that_creates_a_layer_has_no_path() -> None:
    base = Base()

    assert rejected(lambda: base.made(x)) == SAID


def test_without_source_only_the_class_is_named() -> None:
    def run(written: str, kept: str | None) -> str:
        if kept is not None:
            linecache.cache["<kept>"] = (len(kept), None, [f"{kept}\n"], "<kept>")
        return rejected(lambda: exec(compile(written, "<kept>", "exec"), {"layer": layer, "x": x}))  # noqa: S102  # code of no file

    assert run("layer(x)", None) == SAID
    assert run("layer(x)", "layer(x)") == f"layer {SAID}"
    assert run("layer(x)", "lay   r(") == SAID
    del linecache.cache["<kept>"]


def test_a_direct_call_of_forward_is_named_by_its_class() -> None:
    assert rejected(lambda: layer.forward(x)) == SAID.replace("Linear(3, 4)", "Linear.forward")
    assert rejected(lambda: Sequential(layer).forward(x)) == f"Sequential[0] {SAID}"


def test_a_subclass_is_named_by_its_own_name() -> None:
    own = Own(3, 4)

    assert rejected(lambda: own(x)) == f"own {SAID.replace('Linear(3, 4)', 'Own')}"


def test_an_error_in_a_user_defined_module_names_that_module() -> None:
    class Narrow(Module):
        @guarded
        def forward(self, y: Tensor[tuple[Any, Any, Any], Any]) -> Any:
            return y

    narrow = Narrow()

    assert rejected(lambda: narrow(x)) == "narrow Narrow: y is (2, 5) but (?, ?, ?) is expected: rank 2, not 3"


def test_a_forward_assigned_to_one_object_adds_no_name() -> None:
    module = Module()
    vars(module)["forward"] = lambda y: y @ y

    assert rejected(lambda: module(x)) == "matmul: inner sizes differ: x (2, 5) has 5 columns but y (2, 5) has 2 rows"


def test_an_error_raised_by_the_user_is_unchanged() -> None:
    class Strict(Module):
        def forward(self, _: Any) -> Any:
            raise ShapeError("never", 7)

    with pytest.raises(ShapeError, match=re.escape("('never', 7)")) as caught:
        Strict()(x)

    assert caught.value.args == ("never", 7)


def test_a_layer_may_have_a_typevartuple_of_the_standard_library() -> None:
    rest = typing.TypeVarTuple("rest")  # without `__bound__`, unlike that of typing_extensions

    class Rest(Module, typing.Generic[*rest]):
        """Has any number of sizes."""

    assert layer_text(Rest()) == "Rest"

"""Unused layers and parameters: mypy reports those that `__init__` creates and no method of the class uses."""

from typing import Any, TypeVar, overload
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))


class Named(nn.Module):
    """Uses its layers by their names, also outside `forward`, and gives one away while it is made."""

    def __init__(self) -> None:
        self.first = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.both = nn.Sequential(self.first, self.act)
        self.tied = nn.Linear(3, 3)
        self.gain = nn.Param(tg.ones((3,)))
        self.offset = nn.Param(tg.zeros((3,)))
        self.offset = nn.Param(tg.ones((3,)))
        self.shown = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        def moved(y: Any) -> Any:
            return y + self.offset

        return moved(self.both(x) @ self.tied.weight * self.scale)

    @property
    def scale(self) -> Any:
        return self.gain


class Listed(nn.Module):
    """Uses its layers in a loop, in a comprehension, by a key and behind a target."""

    def __init__(self) -> None:
        self.blocks = [nn.Linear(3, 3) for _ in range(2)]
        self.heads = {"one": nn.Linear(3, 3), "other": nn.Linear(3, 3)}
        self.pair = (nn.Linear(3, 3), nn.ReLU())
        self.slots = [nn.ReLU(), nn.ReLU()]
        self.gains = [nn.Param(tg.ones((3,)))]

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        first, second = self.pair
        self.slots[0] = nn.ReLU()
        return next(self.heads["one"](one) * self.gains[0] for one in [first(x), second(x)])


class Whole(nn.Module):
    """Reaches its layers without their names."""

    def __init__(self) -> None:
        self.left = nn.Linear(3, 3)
        self.right = nn.Linear(3, 3)

    def forward(self, x: Any, side: str) -> Any:
        return getattr(self, side)(x)


class Overloaded(nn.Module):
    """Uses its layer in the body of an overloaded method."""

    def __init__(self) -> None:
        self.first = nn.Linear(3, 3)

    @overload
    def forward(self, x: Tensor[Shape[N, L[3]], NoneTape]) -> Tensor[Shape[N, L[3]], NoneTape]: ...
    @overload
    def forward(self, x: Tensor[Shape[N, L[3]], OwnedTape]) -> Tensor[Shape[()], OwnedTape]: ...
    def forward(self, x: Any) -> Any:
        y = self.first(x)
        return y.sum() if x.owns_tape else y


class Counted(nn.Module):
    """Reaches its parameters as a whole."""

    def __init__(self) -> None:
        self.first = nn.Linear(3, 3)
        self.spare = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.first(x) * float(len(self.parameters()))


class Holder(nn.Module):
    """Only holds its layers."""

    def __init__(self) -> None:
        self.held = nn.Linear(3, 3)


class Frame(nn.Module):
    """Uses a layer that a subclass creates."""

    head: nn.Linear[Any, Any]

    def __init__(self) -> None:
        self.body = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.head(x)


class Framed(Frame):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 3)

    def features(self, x: Any) -> Any:
        return self.body(x)


def accept_layers_that_a_method_uses() -> None:
    assert Named()(x).shape == (2, 3)
    assert Named().shown(x).shape == (2, 3)
    assert Listed()(x).shape == (2, 3)
    assert Whole()(x, "left").shape == (2, 3)
    assert Overloaded()(x).shape == (2, 3)
    assert Counted()(x).shape == (2, 3)
    assert Holder().held(x).shape == (2, 3)
    assert Framed()(x).shape == (2, 3)


def accept_an_idle_layer_with_a_reason() -> None:
    class Saved(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Linear(3, 3)
            self.retired = nn.Linear(3, 3)  # type: ignore[tapegrad-unused]  # files of the first version have it

        def forward(self, x: Any) -> Any:
            return self.first(x)

    assert Saved()(x).shape == (2, 3)


def reject_a_layer_that_no_method_calls() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.rise = nn.Linear(3, 5)
            self.middle = nn.Linear(5, 5)  # E(mypy): Net.middle Linear(5, 5): created in __init__ but used by no method [tapegrad-unused]
            self.fall = nn.Linear(5, 2)

        def forward(self, x: Tensor[Shape[Any, Any]]) -> Tensor[Shape[Any, Any]]:
            return self.fall(tg.relu(self.rise(x)))

    Net()(x)


def reject_idle_layers_in_containers() -> None:
    class Deep(nn.Module):
        def __init__(self, *, smooth: bool) -> None:
            self.blocks = [nn.Linear(3, 3) for _ in range(2)]  # E(mypy): Deep.blocks: created in __init__ but used by no method [tapegrad-unused]
            self.keyed = {"a": nn.Linear(3, 3)}  # E(mypy): Deep.keyed: created in __init__ but used by no method [tapegrad-unused]
            self.act = nn.GELU() if smooth else nn.ReLU()  # E(mypy): Deep.act: created in __init__ but used by no method [tapegrad-unused]
            self.gain = nn.Param(tg.ones((3,)))  # E(mypy): Deep.gain: created in __init__ but used by no method [tapegrad-unused]

        def forward(self, x: Any) -> Any:
            return x

    Deep(smooth=True)(x)


def reject_a_layer_that_only_another_class_has_a_use_for() -> None:
    class One(nn.Module):
        def __init__(self) -> None:
            self.norm = nn.LayerNorm(3)  # E(mypy): One.norm LayerNorm(3): created in __init__ but used by no method [tapegrad-unused]

        def forward(self, x: Any) -> Any:
            return x

    class Other(nn.Module):
        def __init__(self) -> None:
            self.norm = nn.LayerNorm(3)

        def forward(self, x: Any) -> Any:
            return self.norm(x)

    One()(Other()(x))


def reject_a_layer_whose_name_is_that_of_a_function() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            self.clamp = nn.ReLU()  # E(mypy): Named.clamp ReLU: created in __init__ but used by no method [tapegrad-unused]

        def forward(self, x: Any) -> Any:
            return tg.clamp(x, min=0.0)

    Named()(x)


def accept_a_layer_that_other_code_uses_beside_a_function_of_its_name() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            self.softplus = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return tg.softplus(x)

    model = Named()
    model.softplus(model(x))

"""Layers: the path of a layer in its errors, and the results of layers that contain others."""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
H = TypeVar("H", bound=int)
T = TypeVar("T", bound=Tape)
F = TypeVar("F", bound=nn.Module)
A = TypeVar("A", contravariant=True)
B = TypeVar("B", covariant=True)
In = TypeVar("In", bound=int, contravariant=True)
Out = TypeVar("Out", bound=int, covariant=True)
Parts = TypeVarTuple("Parts")

batch = tg.ones((2, 4))
layer = nn.Linear(3, 5)


class From(Protocol[A, B]):
    """Any module from one shape to another."""

    def forward(self, x: A) -> B:
        """Compute the module's result."""
        ...


class Widths(Protocol[In, Out]):
    """Any layer, or anything else with a `forward`, from one width to another."""

    def forward(self, x: Tensor[Shape[N, In], T]) -> Tensor[Shape[N, Out], T]:
        """Compute the result."""
        ...


def forwarded(module: Widths[M, H], x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, H], T]:
    return module.forward(x)


class Net(nn.Module):
    """Layers wherever a module may hold them."""

    def __init__(self) -> None:
        self.head = nn.Linear(4, 5)
        self.body = nn.Sequential(nn.Linear(5, 7), nn.Sequential(nn.Tanh(), nn.Linear(7, 3)))
        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]
        self.heads = {"left": nn.Linear(3, 2), "right": nn.Linear(3, 2)}

    def forward(self, x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, L[2]], T]:
        h = self.body(self.head(x))
        for one in self.layers:
            h = one(h)
        return self.heads["left"](self.layers[-1](h))


class Outer(nn.Module):
    """A module in a module."""

    def __init__(self) -> None:
        self.net = Net()


class Wide(nn.Module, Generic[H]):
    """A guarded module, which stores its size."""

    @guarded
    def __init__(self, hidden: H) -> None:
        self.rise = nn.Linear(4, hidden)

    @guarded
    def forward(self, x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, H], T]:
        return self.rise(x)


class Same(nn.Module):
    """A module for matrices of any shape, which it preserves."""

    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T]:
        return x


class Doubled(nn.Module):
    """Keeps the shape and not the dtype."""

    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T, np.float64]:
        return x.astype(np.float64)


class Row(nn.Module):
    """Keeps the shape of a single row only."""

    def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[L[1], M], T]:
        return x.sum(axis=0, keepdims=True)


@dataclass
class Pair:
    """Layers as the fields of a dataclass."""

    left: nn.Linear[L[4], L[5], L[True]]
    right: nn.Sequential[nn.Tanh, nn.Linear[L[5], L[3]]]


def accept_layers_wherever_they_are() -> None:
    assert_type(Net()(batch), Tensor[Shape[L[2], L[2]], NoneTape])
    assert_type(Net()(batch.trace()), Tensor[Shape[L[2], L[2]], OwnedTape])
    assert_type(Outer().net(batch), Tensor[Shape[L[2], L[2]], NoneTape])
    assert_type(Wide(7)(batch), Tensor[Shape[L[2], L[7]], NoneTape])


def accept_layers_in_fields() -> None:
    pair = Pair(nn.Linear(4, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 3)))
    assert_type(pair.right(pair.left(batch)), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_lists_and_dicts_of_layers_of_several_sizes() -> None:
    layers = [nn.Linear(4, 3), nn.Linear(3, 5)]
    assert_type(layers[0](batch), Tensor[Shape[L[2], L[3]], NoneTape])
    h = batch
    for one in layers:
        h = one(h)
    y: Tensor[Shape[L[2], L[5]], NoneTape] = layers[1](layers[0](batch))
    for block in (nn.Residual(nn.Linear(5, 5)), nn.Repeated(lambda: nn.Linear(5, 5), 2)):
        assert_type(block(y), Tensor[Shape[L[2], L[5]], NoneTape])
    models = [nn.Sequential(nn.Linear(4, 3), nn.Tanh()), nn.Sequential(nn.Linear(4, 5), nn.Tanh())]
    assert_type(models[1](batch), Tensor[Shape[L[2], L[5]], NoneTape])
    named = {"rise": nn.Linear(4, 3), "bend": nn.ReLU(), "both": nn.Sequential(nn.Linear(4, 3), nn.ReLU())}
    named["both"](batch)
    tables = [nn.Embedding(10, 4), nn.Embedding(7, 4)]
    assert_type(tables[0](tg.tensor([1, 2, 3])), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_one_layer_or_another() -> None:
    def either(*, condition: bool) -> None:
        choice = nn.Linear(4, 3) if condition else nn.Tanh()
        choice(batch)
        same = nn.Linear(4, 3) if condition else nn.Sequential(nn.Linear(4, 7), nn.Linear(7, 3))
        assert_type(same(batch), Tensor[Shape[L[2], L[3]], NoneTape])

    either(condition=True)


def accept_functions_over_layers() -> None:
    def applied(f: From[Tensor[Shape[L[2], L[4]], NoneTape], B], x: Tensor[Shape[L[2], L[4]], NoneTape]) -> B:
        return f.forward(x)

    def again(f: F) -> nn.Sequential[F, F]:
        return nn.Sequential(f, f)

    def kept(f: nn.Residual[nn.Linear[M, M]], x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T]:
        return f(x)

    def perceptron(n: N, m: M, h: H) -> nn.Sequential[nn.Linear[N, H], nn.ReLU, nn.Linear[H, M]]:
        return nn.Sequential(nn.Linear(n, h), nn.ReLU(), nn.Linear(h, m))

    assert_type(applied(nn.Linear(4, 3), batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(again(nn.Linear(4, 4))(batch.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])
    assert_type(kept(nn.Residual(nn.Linear(4, 4)), batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(perceptron(4, 3, 7)(batch), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_subclass_of_a_container() -> None:
    class Perceptron(nn.Sequential[nn.Linear[L[4], L[3]], nn.Tanh]):
        def __init__(self) -> None:
            super().__init__(nn.Linear(4, 3), nn.Tanh())

    assert_type(Perceptron()(batch), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_depth_of_ones_own() -> None:
    class Deep(nn.Module, Generic[M, H]):
        def __init__(self, width: M, depth: H) -> None:
            self.blocks = nn.Repeated(lambda: nn.Residual(nn.Linear(width, width)), depth)

        def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, M], T]:
            return self.blocks(x)

    assert_type(Deep(4, 3)(batch), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_layer_by_its_index() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 3)))
    assert_type(model[0], nn.Linear[L[4], L[5], L[True]])
    assert_type(model[-1](model[0](batch)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(model[1][1].weight.shape, tuple[L[5], L[3]])
    assert_type(nn.SplitInto(nn.ReLU(), nn.Linear(4, 3))[1](batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(nn.Repeated(lambda: nn.Linear(4, 4), 2)[1](batch), Tensor[Shape[L[2], L[4]], NoneTape])
    for index in range(2):
        model[index]


def accept_a_module_that_keeps_any_matrix() -> None:
    model = nn.Sequential(nn.Linear(4, 5), Same(), nn.Linear(5, 3))
    assert_type(model(batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(nn.Sequential(Same(), nn.Linear(4, 3))(batch), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_shortcut() -> None:
    block = nn.Residual(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    assert_type(block(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(block(batch.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])
    assert_type(nn.Residual(Row())(tg.ones((1, 3))), Tensor[Shape[L[1], L[3]], NoneTape])


def accept_a_gate() -> None:
    gate = nn.ResidualMul(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()))
    assert_type(gate(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(nn.Sequential(nn.ReLU(), gate)(batch.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])


def accept_a_shortcut_of_named_and_unknown_sizes() -> None:
    def named(x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, L[4]], T]:
        return nn.Residual(nn.Linear(4, 4))(x)

    def unknown(x: Tensor[Shape[Any, Any], NoneTape]) -> None:
        assert_type(nn.Residual(nn.Linear(4, 4))(x), Tensor[Shape[Any, L[4]], NoneTape])

    assert_type(named(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    unknown(batch)


def accept_several_of_a_kind() -> None:
    model = nn.Repeated(lambda: nn.Linear(4, 4), 3)
    assert_type(model(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(model(batch.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])
    assert_type(nn.Repeated(Same, 2)(batch), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_one_of_a_kind_that_changes_the_shape() -> None:
    assert_type(nn.Repeated(lambda: nn.Linear(4, 3), 1)(batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(nn.Repeated(lambda: nn.Linear(7, 3), 0)(batch), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_number_of_layers_that_is_not_known() -> None:
    def repeated(times: int) -> None:
        assert_type(nn.Repeated(lambda: nn.Linear(4, 4), times)(batch), Tensor[Shape[L[2], L[4]], NoneTape])
        nn.Repeated(lambda: nn.Linear(4, 3), times)(batch)

    def none_at_all(x: Tensor[Shape[N, Any], NoneTape], times: int) -> None:
        assert_type(nn.Repeated(lambda: nn.Linear(4, 4), times)(x), Tensor[Shape[N, Any], NoneTape])

    repeated(1)
    none_at_all(tg.ones((2, 7)), 0)


def accept_a_method_of_a_protocol() -> None:
    class Holder(nn.Module, Generic[M, H]):
        def __init__(self, inner: Widths[M, H]) -> None:
            self.inner = inner

        def forward(self, x: Tensor[Shape[N, M], T]) -> Tensor[Shape[N, H], T]:
            return self.inner.forward(x)

    assert_type(forwarded(nn.Linear(4, 3), batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(forwarded(nn.Linear(4, 3), batch.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(Holder(nn.Linear(4, 3))(batch), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_a_method_of_a_protocol_of_another_width() -> None:
    forwarded(layer, batch)  # E(mypy): forwarded: M is 3 in what module.forward takes but 4 in x [tapegrad-shape]


def accept_layers_within_layers() -> None:
    model = nn.Sequential(
        nn.Linear(4, 5),
        nn.Residual(nn.Repeated(lambda: nn.Residual(nn.Linear(5, 5)), 2)),
        nn.Repeated(lambda: nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 5)), 2),
        nn.Linear(5, 3),
    )
    assert_type(model(batch), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(model(batch.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def reject_a_class_among_layers() -> None:
    nn.Sequential(nn.Linear(4, 3), nn.ReLU)  # E: Sequential: layer 1 is the class ReLU, not a module [tapegrad-dtype]


def reject_a_function_among_layers() -> None:
    nn.Sequential(nn.Linear(4, 3), tg.relu)  # E: Sequential: layer 1 is a function, not a module [tapegrad-dtype]


def reject_a_list_of_layers() -> None:
    nn.Sequential([nn.Linear(4, 3), nn.ReLU()])  # E: Sequential: layer 0 is a list, not a module; a star passes its layers: Sequential(*layers) [tapegrad-dtype]


class Sequential(Generic[*Parts]):
    """Goes by the name of a container, and is none."""

    def __init__(self, *parts: *Parts) -> None:
        self.parts = parts


def accept_anything_in_a_class_of_the_same_name() -> None:
    assert_type(Sequential(1, "a").parts, tuple[int, str])


def accept_layers_of_which_little_is_known() -> None:
    def made(layers: list[nn.Module], layer: Any) -> None:
        nn.Sequential(*layers)
        nn.Sequential(layer, nn.ReLU())

    made([nn.ReLU()], nn.ReLU())


def reject_a_variable() -> None:
    layer(batch)  # E: layer Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_layer_without_a_name() -> None:
    nn.Linear(3, 5, bias=False)(batch)  # E: Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_forward_by_name() -> None:
    layer.forward(batch)  # E: Linear.forward: x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_an_attribute() -> None:
    class Narrow(nn.Module):
        def __init__(self) -> None:
            self.fall = nn.Linear(3, 5)

        def forward(self, x: Tensor[Shape[L[2], L[4]], NoneTape]) -> Tensor[Shape[L[2], L[5]], NoneTape]:
            return self.fall(x)  # E: Narrow.fall Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    nn.Sequential(nn.Tanh(), Narrow())(batch)


def reject_an_attribute_of_named_sizes() -> None:
    class Narrow(nn.Module, Generic[H]):
        def __init__(self, hidden: H) -> None:
            self.blocks = (nn.Linear(4, hidden), nn.Sequential(nn.ReLU(), nn.Linear(4, hidden)))

        def forward(self, x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, H], T]:
            return self.blocks[1](self.blocks[0](x))  # E(mypy): Narrow.blocks[1][1] Linear(4, H): x is (N, H) but (..., 4) is expected: axis -1 is H, not 4 [tapegrad-shape]

    Narrow(5)


def reject_an_attribute_inside_a_comprehension() -> None:
    class Heads(nn.Module):
        def __init__(self) -> None:
            self.fall = nn.Linear(3, 5)

        def forward(self, x: Tensor[Shape[L[2], L[4]], OwnedTape]) -> list[Any]:
            return [self.fall(x) for _ in range(2)]  # E: Heads.fall Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    Heads()(batch.trace())


def reject_an_input_of_unknown_sizes() -> None:
    def unknown(x: Tensor[Shape[Any, L[4]], NoneTape]) -> None:
        layer(x)  # E(mypy): layer Linear(3, 5): x is (?, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    assert callable(unknown)


def reject_an_attribute_of_an_attribute() -> None:
    model = Outer()
    model.net.head(tg.ones((2, 3)))  # E: model.net.head Linear(4, 5): x is (2, 3) but (..., 4) is expected: axis -1 is 3, not 4 [tapegrad-shape]


def reject_a_model_in_an_attribute() -> None:
    model = Outer()
    model.net.body(batch)  # E: model.net.body[0] Linear(5, 7): x is (2, 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_an_item_of_a_list() -> None:
    net = Net()
    net.layers[-1](batch)  # E: net.layers[-1] Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_an_item_by_a_variable() -> None:
    net, last = Net(), 1
    net.layers[last](batch)  # E: net.layers[last] Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_an_item_of_a_dict() -> None:
    net = Net()
    net.heads["left"](batch)  # E: net.heads['left'] Linear(3, 2): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_subclass_of_a_container() -> None:
    class Perceptron(nn.Sequential[nn.Linear[L[3], L[5]], nn.Tanh]):
        def __init__(self) -> None:
            super().__init__(nn.Linear(3, 5), nn.Tanh())

    Perceptron()(batch)  # E: Perceptron[0] Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_function_wired_wrongly() -> None:
    def perceptron(n: N, m: M, h: H) -> object:
        return nn.Sequential(nn.Linear(n, h), nn.ReLU(), nn.Linear(n, m))  # E(mypy): Sequential[2] Linear(N, M): x is (..., H) but (..., N) is expected: axis -1 is H, not N [tapegrad-shape]

    perceptron(4, 3, 7)


def reject_a_layer_by_its_index() -> None:
    net = Net()
    net.body[1][-1](batch)  # E: net.body[1][-1] Linear(7, 3): x is (2, 4) but (..., 7) is expected: axis -1 is 4, not 7 [tapegrad-shape]


def reject_a_model_by_its_index() -> None:
    net = Net()
    net.body[1](batch)  # E: net.body[1][1] Linear(7, 3): x is (2, 4) but (..., 7) is expected: axis -1 is 4, not 7 [tapegrad-shape]


def reject_a_layer_by_a_computed_index() -> None:
    net = Net()
    net.layers[len(net.heads) - 1](batch)  # E: Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_each_of_a_list() -> None:
    for one in Net().layers:
        one(batch)  # E: one Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_field() -> None:
    pair = Pair(nn.Linear(4, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 3)))
    pair.right(batch)  # E: pair.right[1] Linear(5, 3): x is (2, 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_a_guarded_module() -> None:
    wide = Wide(7)
    wide(tg.ones((2, 3)))  # E: wide Wide(7): x is (2, 3) but (N, 4) is expected: axis 1 is 3, not 4 [tapegrad-shape]


def reject_an_unguarded_module() -> None:
    net = Net()
    net(tg.ones((2, 3)))  # E(mypy): net Net: x is (2, 3) but (N, 4) is expected: axis 1 is 3, not 4 [tapegrad-shape]


def reject_a_dtype() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Embedding(10, 4))
    model(batch)  # E: model[1] Embedding(10, 4): indices is float32 but integer is expected [tapegrad-dtype]


def reject_a_dtype_that_an_op_rejects() -> None:
    nn.Sequential(nn.ReLU())(batch > 0.0)  # E: Sequential[0] ReLU: x is bool but number is expected [tapegrad-dtype]


def reject_a_shortcut_to_another_shape() -> None:
    nn.Residual(nn.Linear(3, 4))  # E(mypy): Residual.layer Linear(3, 4): the result is (..., 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_gate_of_another_shape() -> None:
    gate = nn.ResidualMul(Row())
    gate(batch)  # E: gate.layer Row: the result is (1, 4) but (2, 4) is expected: axis 0 is 1, not 2 [tapegrad-shape]


def reject_a_shortcut_to_a_shape_that_broadcasts() -> None:
    block = nn.Residual(Row())
    block(batch)  # E: block.layer Row: the result is (1, 4) but (2, 4) is expected: axis 0 is 1, not 2 [tapegrad-shape]


def reject_a_shortcut_to_another_dtype() -> None:
    nn.Residual(Doubled())(batch)  # E: Residual.layer Doubled: the result is float64 but float32 is expected [tapegrad-dtype]


def reject_named_sizes() -> None:
    block = nn.Residual(nn.Sequential(nn.Tanh(), nn.Linear(3, 3)))

    def shortcut(x: Tensor[Shape[N, M], OwnedTape]) -> None:
        block(x)  # E(mypy): block.layer[1] Linear(3, 3): x is (N, M) but (..., 3) is expected: axis -1 is M, not 3 [tapegrad-shape]

    def several(x: Tensor[Shape[N, L[4]], T]) -> None:
        nn.Repeated(lambda: nn.Linear(3, 3), 2)(x)  # E(mypy): Repeated[0] Linear(3, 3): x is (N, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    def branches(x: Tensor[Shape[N, L[4]], NoneTape]) -> None:
        nn.SplitInto(nn.Tanh(), nn.Linear(3, 3))(x)  # E(mypy): SplitInto[1] Linear(3, 3): x is (N, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    def total(x: Tensor[Shape[N, L[3]], NoneTape], y: Tensor[Shape[M, L[3]], OwnedTape]) -> None:
        nn.AddInto(nn.Tanh(), nn.Linear(3, 3))((x, y))  # E(mypy): AddInto[1] Linear(3, 3): the result is (M, 3) but (N, 3) is expected: axis 0 is M, not N [tapegrad-shape]

    shortcut(tg.ones((2, 3)).trace())
    assert callable(several)
    assert callable(branches)
    assert callable(total)


def reject_unknown_sizes() -> None:
    def shortcut(x: Tensor[Shape[Any, L[4]], OwnedTape]) -> None:
        nn.Residual(nn.Sequential(nn.Tanh(), nn.Linear(3, 3)))(x)  # E(mypy): Residual.layer[1] Linear(3, 3): x is (?, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]

    def total(x: Tensor[Shape[Any, L[3]], NoneTape], y: Tensor[Shape[Any, L[4]], NoneTape]) -> None:
        nn.AddInto(nn.ReLU(), nn.ReLU())((x, y))  # E(mypy): AddInto[1] ReLU: the result is (?, 4) but (?, 3) is expected: axis 1 is 4, not 3 [tapegrad-shape]

    assert callable(shortcut)
    assert callable(total)


def reject_a_shortcut_of_named_sizes() -> None:
    def decremented(x: Tensor[Shape[N, M], NoneTape]) -> None:
        nn.Residual(Row())(x)  # E(mypy): Residual.layer Row: the result is (1, M) but (N, M) is expected: axis 0 is 1, not N [tapegrad-shape]

    decremented(tg.ones((1, 3)))


def reject_an_input_of_a_shortcut() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Residual(nn.Sequential(nn.Tanh(), nn.Linear(3, 3))))
    model(batch)  # E: model[1].layer[1] Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_several_that_change_the_shape() -> None:
    nn.Repeated(lambda: nn.Linear(3, 4), 2)  # E(mypy): Repeated[0] Linear(3, 4): the result is (..., 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_an_input_of_several() -> None:
    model = nn.Repeated(lambda: nn.Residual(nn.Linear(3, 3)), 2)
    model(batch.trace())  # E: model[0].layer Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_miswired_model_behind_a_matrix() -> None:
    nn.Sequential(nn.Linear(4, 5), Same(), nn.Linear(6, 3))  # E(mypy): Sequential[2] Linear(6, 3): x is (?, 5) but (..., 6) is expected: axis -1 is 5, not 6 [tapegrad-shape]


def accept_layers_side_by_side() -> None:
    heads = nn.SplitInto(nn.Linear(4, 3), nn.Sequential(nn.ReLU(), nn.Linear(4, 5)))
    left, right = heads(batch)
    assert_type(left, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(right, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(heads(batch.trace())[1], Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(heads(tg.ones((4,)))[0], Tensor[Shape[L[3]], NoneTape])


def accept_a_sum_of_layers() -> None:
    total = nn.AddInto(nn.Linear(4, 7), nn.Linear(5, 7))
    assert_type(total((batch, tg.ones((2, 5)))), Tensor[Shape[L[2], L[7]], NoneTape])
    assert_type(total((batch, tg.ones((2, 5)).trace())), Tensor[Shape[L[2], L[7]], OwnedTape])


def accept_branches_within_layers() -> None:
    deep = nn.SplitInto(nn.SplitInto(nn.Tanh(), nn.Linear(4, 5)), nn.Linear(4, 7))
    total = nn.AddInto(nn.AddInto(nn.Linear(4, 7), nn.Linear(5, 7)), nn.Residual(nn.Linear(7, 7)))
    assert_type(nn.Sequential(deep, total)(batch), Tensor[Shape[L[2], L[7]], NoneTape])
    wide = nn.Sequential(
        nn.SplitInto(nn.Linear(4, 3), nn.Residual(nn.Linear(4, 4))), nn.AddInto(nn.Linear(3, 7), nn.Linear(4, 7))
    )
    assert_type(wide(batch), Tensor[Shape[L[2], L[7]], NoneTape])
    assert_type(wide(batch.trace()), Tensor[Shape[L[2], L[7]], OwnedTape])
    kept = nn.Repeated(lambda: nn.Sequential(nn.SplitInto(nn.Tanh(), nn.ReLU()), nn.AddInto(nn.ReLU(), nn.Tanh())), 3)
    assert_type(kept(batch), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_sum_first() -> None:
    model = nn.Sequential(nn.AddInto(nn.Linear(4, 7), nn.Tanh()), nn.Linear(7, 3))
    assert_type(model((batch, tg.ones((2, 7)))), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_branches_of_named_and_unknown_sizes() -> None:
    def named(x: Tensor[Shape[N, L[4]], T], y: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[7]], T]:
        return nn.AddInto(nn.Linear(4, 7), nn.Linear(5, 7))((x, y))

    def unknown(x: Tensor[Any, NoneTape], y: Tensor[Shape[Any, L[7]], NoneTape], both: tuple[Any, ...]) -> None:
        assert_type(nn.AddInto(nn.Tanh(), nn.Tanh())((x, y)), Tensor[Shape[Any, L[7]], NoneTape])
        nn.AddInto(nn.Tanh(), nn.Tanh())(both)

    assert_type(named(batch, tg.ones((2, 5))), Tensor[Shape[L[2], L[7]], NoneTape])
    unknown(tg.ones((2, 7)), tg.ones((2, 7)), (batch, batch))


def reject_an_input_of_a_branch() -> None:
    model = nn.SplitInto(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Linear(3, 5)))
    model(batch)  # E: model[1][1] Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_branches_of_two_widths() -> None:
    nn.SplitInto(nn.Linear(3, 5), nn.Linear(4, 5))  # E(mypy): SplitInto[1] Linear(4, 5): x is (..., 3) but (..., 4) is expected: axis -1 is 3, not 4 [tapegrad-shape]


def reject_a_sum_of_two_shapes() -> None:
    model = nn.AddInto(nn.ReLU(), nn.Linear(4, 1))
    model((batch, batch))  # E: model[1] Linear(4, 1): the result is (2, 1) but (2, 4) is expected: axis 1 is 1, not 4 [tapegrad-shape]


def reject_layers_that_give_two_shapes() -> None:
    nn.AddInto(nn.Linear(4, 7), nn.Linear(5, 6))  # E(mypy): AddInto[1] Linear(5, 6): the result is (..., 6) but (..., 7) is expected: axis -1 is 6, not 7 [tapegrad-shape]


def reject_an_input_of_a_sum() -> None:
    model = nn.Sequential(nn.SplitInto(nn.ReLU(), nn.Tanh()), nn.AddInto(nn.ReLU(), nn.Residual(nn.Linear(3, 3))))
    model(batch.trace())  # E: model[1][1].layer Linear(3, 3): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_too_few_for_a_sum() -> None:
    model = nn.AddInto(nn.ReLU(), nn.Tanh())
    model((batch,))  # E: model AddInto: inputs is a tuple of 1 but a tuple of 2 is expected [tapegrad-shape]


def reject_one_mistake_once() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Linear(3, 5))
    y = model(batch)  # E: model[1] Linear(3, 5): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]
    nn.Linear(7, 3)(y @ tg.ones((2, 7))).sum().backward()


def reject_one_tensor_for_a_sum() -> None:
    nn.Sequential(nn.Linear(4, 5), nn.AddInto(nn.ReLU(), nn.Tanh()))  # E(mypy): Sequential[1] AddInto: inputs is a Tensor but a tuple of 2 is expected [tapegrad-dtype]


def accept_layers_of_which_nothing_is_known() -> None:
    class Untyped(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2.0

    assert_type(nn.Residual(Untyped())(batch), Tensor[Shape[L[2], L[4]], Any])
    assert_type(nn.Repeated(Untyped, 2)(batch), Tensor[Shape[L[2], L[4]], Any])
    assert_type(nn.AddInto(Untyped(), nn.Tanh())((batch, batch.trace())), Tensor[Shape[L[2], L[4]], OwnedTape])


def accept_a_module_of_many_axes() -> None:
    class Deep(nn.Module):
        def forward(self, x: Tensor[Shape[N, M, H, N, M, L[5]], T]) -> Tensor[Shape[N, M, H, N, M, L[5]], T]:
            return x

    model = nn.Sequential(nn.Linear(3, 5), Deep(), nn.Linear(5, 2))
    assert_type(model(tg.ones((1, 2, 3, 1, 2, 3)))[0, 0, 0, 0], Tensor[Shape[L[2], L[2]], NoneTape])


def accept_recurrent_layers() -> None:
    sequence, state = tg.ones((2, 7, 3)), tg.ones((2, 5))

    assert_type(nn.GRU(3, 5), nn.GRU[L[3], L[5], L[True]])
    y, last = nn.GRU(3, 5)(sequence)
    assert_type(y, Tensor[Shape[L[2], L[7], L[5]], NoneTape])
    assert_type(last, Tensor[Shape[L[2], L[5]], NoneTape])
    z, again = nn.RNN(3, 5)(sequence.trace(), state)
    assert_type(z, Tensor[Shape[L[2], L[7], L[5]], OwnedTape])
    assert_type(again, Tensor[Shape[L[2], L[5]], OwnedTape])
    out, h, c = nn.LSTM(3, 5)(sequence, state, state.trace())
    assert_type(out, Tensor[Shape[L[2], L[7], L[5]], OwnedTape])
    assert_type(h, Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(c, Tensor[Shape[L[2], L[5]], OwnedTape])


def reject_a_sequence_of_other_features() -> None:
    nn.GRU(3, 5)(tg.ones((2, 7, 4)))  # E: GRU(3, 5): x is (2, 7, 4) but (..., Steps, 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_state_of_another_width() -> None:
    nn.RNN(3, 5)(tg.ones((2, 7, 3)), tg.ones((2, 4)))  # E: RNN(3, 5): h is (2, 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_a_layer_of_another_width_in_a_field() -> None:
    Pair(nn.Linear(4, 6), nn.Sequential(nn.Tanh(), nn.Linear(5, 3)))  # E(mypy): Pair: left is Linear(4, 6) but Linear(4, 5) is expected [tapegrad-shape]


def reject_heads_that_do_not_divide_the_width() -> None:
    nn.MultiHeadAttention(10, 3)  # E: MultiHeadAttention: 3 heads do not divide the width 10 [tapegrad-shape]


def reject_heads_of_a_block() -> None:
    nn.TransformerEncoderBlock(heads=3, width=10, hidden=20)  # E: MultiHeadAttention: 3 heads do not divide the width 10 [tapegrad-shape]


def reject_groups_that_do_not_divide_the_channels() -> None:
    nn.Conv2d(4, 3, 5, groups=2)  # E: Conv2d: 2 groups do not divide 3 channels [tapegrad-shape]


def reject_groups_of_a_norm() -> None:
    groups = 3
    nn.GroupNorm(groups, 10)  # E: GroupNorm: 3 groups do not divide 10 channels [tapegrad-shape]


def reject_a_layer_of_no_size() -> None:
    nn.Linear(0, 3)  # E: Linear: In is 0 in in_features but a named size is at least 1 [tapegrad-shape]


def reject_a_padding_below_zero() -> None:
    nn.Conv2d(3, 4, 5, padding=-1)  # E: Conv2d: Padding is -1 in padding but a size of this name is at least 0 [tapegrad-shape]


def accept_heads_that_may_divide() -> None:
    def attending(width: N, heads: M, unknown: int) -> None:
        nn.MultiHeadAttention(width, heads)
        nn.MultiHeadAttention(12, unknown)

    attending(12, 3, 4)


def accept_an_unknown_number_of_repetitions_which_may_be_none() -> None:
    def repeated(times: int) -> None:
        nn.Repeated(lambda: nn.Linear(7, 3), times)(batch)

    repeated(0)


def reject_a_bool_as_a_width() -> None:
    nn.Linear(3, out_features=True)  # E: Linear: out_features is a bool but an int is expected [tapegrad-dtype]


def reject_a_flag_as_a_width() -> None:
    def made(*, bias: bool) -> None:
        nn.Linear(3, bias)  # E: Linear: out_features is a bool but an int is expected [tapegrad-dtype]

    made(bias=True)


def reject_a_bool_as_one_of_several_sizes() -> None:
    nn.LayerNorm(width=True)  # E: LayerNorm: width is a bool but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_bool_as_a_number_of_rows() -> None:
    nn.Embedding(width=3, count=True)  # E: Embedding: count is a bool but an int is expected [tapegrad-dtype]


def reject_a_bool_as_a_scale() -> None:
    nn.Upsample(scale=True)  # E: Upsample: scale is a bool but an int is expected [tapegrad-dtype]


def reject_a_bool_as_a_padding() -> None:
    nn.Conv2d(3, 4, 5, padding=True)  # E: Conv2d: padding is True but an int or a tuple of ints or 'same' is expected [tapegrad-dtype]


def reject_a_bool_as_a_window() -> None:
    nn.MaxPool2d(kernel=True)  # E: MaxPool2d: kernel is True but an int or a tuple of ints is expected [tapegrad-dtype]


def accept_a_bool_as_a_bias() -> None:
    def made(*, bias: bool) -> None:
        nn.Linear(4, 3, bias=bias)(batch)

    made(bias=False)

"""Modules: literals in constructors, layers connected inside and outside, and paths of layers in errors."""

from typing import Any, Generic, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
H = TypeVar("H", bound=int)
T = TypeVar("T", bound=Tape)

image = tg.ones((32, 64))


class Classifier(nn.Module, Generic[H]):
    """A user's module: the hidden size is in its type."""

    def __init__(self, hidden: H) -> None:
        self.rise = nn.Linear(64, hidden)
        self.fall = nn.Linear(hidden, 10)

    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[10]], T]:
        h = tg.relu(self.rise(x))
        assert_type(h, Tensor[Shape[N, H], T])
        return self.fall(h)


class Twice(nn.Module, Generic[H]):
    """A module of modules of one's own."""

    def __init__(self, hidden: H) -> None:
        self.first = Classifier(hidden)
        self.second = nn.Sequential(nn.Linear(10, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, x: Tensor[Shape[N, L[64]], T]) -> Tensor[Shape[N, L[2]], T]:
        return self.second(self.first(x))


def accept_literals_in_constructors() -> None:
    assert_type(nn.Linear(64, 10), nn.Linear[L[64], L[10], L[True]])
    assert_type(Classifier(32), Classifier[L[32]])
    assert_type(nn.Embedding(100, 16), nn.Embedding[L[100], L[16]])


def accept_a_call_is_typed_by_forward() -> None:
    assert_type(Classifier(32)(image), Tensor[Shape[L[32], L[10]], NoneTape])
    assert_type(Classifier(32)(image.trace()), Tensor[Shape[L[32], L[10]], OwnedTape])
    assert_type(Twice(8)(image), Tensor[Shape[L[32], L[2]], NoneTape])


def accept_initialization_by_the_type_of_the_layer() -> None:
    rng = np.random.default_rng(0)

    def initialize(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.orthogonal(module.weight, rng=rng)

    assert_type(Classifier(32).apply(initialize), Classifier[L[32]])
    assert_type(Classifier(32).modules(), dict[str, nn.Module])
    assert Twice(8).modules().keys() >= {"", "first", "first.rise", "second.layers.0"}


def reject_a_function_that_apply_cannot_call() -> None:
    def frozen(path: str) -> str:
        return path

    Classifier(32).apply(frozen)  # E(mypy): Argument 1 to "apply" of "Module" has incompatible type "Callable[[str], str]"; expected "Callable[[Module], object]" [arg-type]


def accept_linear_of_any_rank() -> None:
    layer = nn.Linear(5, 7)
    assert_type(layer(tg.ones((5,))), Tensor[Shape[L[7]], NoneTape])
    assert_type(layer(tg.ones((2, 3, 5))), Tensor[Shape[L[2], L[3], L[7]], NoneTape])


def accept_sequential() -> None:
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    assert_type(model(image), Tensor[Shape[L[32], L[10]], NoneTape])
    nested = nn.Sequential(model, nn.Sequential(nn.Tanh(), nn.Linear(10, 3)))
    assert_type(nested(image.trace()), Tensor[Shape[L[32], L[3]], OwnedTape])


def accept_a_sequential_of_any_layers() -> None:
    def applied(model: nn.Sequential, a: Tensor) -> Tensor:
        result: Tensor = model(a)
        return result

    assert applied(nn.Sequential(nn.Linear(64, 10), nn.ReLU(), nn.Linear(10, 3)), image).shape == (32, 3)


def accept_activations_first() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Hardtanh(), nn.Mish(), nn.PReLU(), nn.SELU(), nn.Linear(64, 3))
    assert_type(model(image), Tensor[Shape[L[32], L[3]], NoneTape])


def accept_residual_and_repeated() -> None:
    block = nn.Residual(nn.Sequential(nn.Linear(64, 64), nn.ReLU()))
    assert_type(block(image.trace()), Tensor[Shape[L[32], L[64]], OwnedTape])
    gate = nn.ResidualMul(nn.Sequential(nn.Linear(64, 64), nn.Sigmoid()))
    assert_type(gate(image.trace()), Tensor[Shape[L[32], L[64]], OwnedTape])
    model = nn.Sequential(block, gate, nn.Dropout(0.5), nn.Linear(64, 3))
    assert_type(model(image), Tensor[Shape[L[32], L[3]], NoneTape])


def accept_norms() -> None:
    assert_type(nn.LayerNorm(64), nn.LayerNorm[L[64]])
    assert_type(nn.LayerNorm(64)(image), Tensor[Shape[L[32], L[64]], NoneTape])
    patches = tg.ones((2, 3, 5))
    assert_type(nn.LayerNorm((3, 5))(patches.trace()), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(nn.RMSNorm((3, 5))(patches), Tensor[Shape[L[2], L[3], L[5]], NoneTape])
    assert_type(nn.LayerNorm((3, 5)).weight.shape, Shape[L[3], L[5]])
    assert_type(nn.RMSNorm(5).weight.shape, Shape[L[5]])
    assert_type(nn.LayerNorm((5,))(patches), Tensor[Shape[L[2], L[3], L[5]], NoneTape])
    assert_type(nn.RMSNorm(5, eps=1e-6)(tg.ones((2, 3, 5)).trace()), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    model = nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48), nn.ReLU(), nn.RMSNorm(48))
    assert_type(model(image.trace()), Tensor[Shape[L[32], L[48]], OwnedTape])


def accept_norms_of_channels() -> None:
    images = tg.ones((2, 6, 5, 7))
    assert_type(nn.BatchNorm2d(6), nn.BatchNorm2d[L[6]])
    assert_type(nn.BatchNorm2d(6)(images), Tensor[Shape[L[2], L[6], L[5], L[7]], NoneTape])
    assert_type(nn.BatchNorm2d(6).train(images.trace()), Tensor[Shape[L[2], L[6], L[5], L[7]], OwnedTape])
    assert_type(nn.BatchNorm1d(64)(image.trace()), Tensor[Shape[L[32], L[64]], OwnedTape])
    assert_type(nn.GroupNorm(3, 6)(images), Tensor[Shape[L[2], L[6], L[5], L[7]], NoneTape])
    assert_type(nn.InstanceNorm(6)(images.trace()), Tensor[Shape[L[2], L[6], L[5], L[7]], OwnedTape])
    model = nn.Sequential(nn.Linear(64, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 10))
    assert_type(model(image.trace()), Tensor[Shape[L[32], L[10]], OwnedTape])


def accept_an_average_of_a_model() -> None:
    average = nn.ModelEMA(Classifier(32), decay=0.99)
    assert_type(average, nn.ModelEMA[Classifier[L[32]]])
    assert_type(average.model(image), Tensor[Shape[L[32], L[10]], NoneTape])
    average.update(Classifier(32))


def accept_first_values() -> None:
    layer = nn.Linear(64, 10)
    nn.kaiming_normal(layer.weight, fan="out", rng=0)
    nn.orthogonal(layer.weight)


def accept_a_norm_of_a_named_width() -> None:
    def normed(layer: nn.LayerNorm[H], x: Tensor[Shape[N, H]]) -> None:
        assert_type(layer(x), Tensor[Shape[N, H], NoneTape])

    normed(nn.LayerNorm(64), image)


def accept_flatten_behind_the_batch() -> None:
    stack = tg.ones((2, 3, 5, 7))
    assert_type(nn.Flatten()(stack), Tensor[Shape[L[2], L[105]], NoneTape])
    assert_type(nn.Flatten()(stack.trace()), Tensor[Shape[L[2], L[105]], OwnedTape])
    assert_type(nn.Flatten()(image), Tensor[Shape[L[32], L[64]], NoneTape])
    model = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(105, 10))
    assert_type(model(stack), Tensor[Shape[L[2], L[10]], NoneTape])


def accept_flatten_with_a_named_batch() -> None:
    def flat(x: Tensor[Shape[N, L[3], L[5]]], y: Tensor[Shape[N, Any, L[5]]], z: Tensor[Any, OwnedTape]) -> None:
        assert_type(nn.Flatten()(x), Tensor[Shape[N, L[15]], NoneTape])
        assert_type(nn.Flatten()(y), Tensor[Shape[N, Any], NoneTape])
        nn.Flatten()(z)

    flat(tg.ones((2, 3, 5)), tg.ones((2, 3, 5)), tg.ones((2, 3, 5)).trace())


def accept_flatten_from_another_axis() -> None:
    def flat(start_axis: int) -> None:
        assert_type(nn.Flatten(start_axis=start_axis)(tg.ones((2, 3, 5, 7))), Tensor[Any, NoneTape])

    flat(2)
    assert_type(nn.Flatten(start_axis=2)(tg.ones((2, 3, 5, 7))), Tensor[Any, NoneTape])


def accept_unflatten() -> None:
    layer = nn.Unflatten((4, 8, 2))
    assert_type(layer(image), Tensor[Shape[L[32], L[4], L[8], L[2]], NoneTape])
    assert_type(nn.Unflatten((64,))(image), Tensor[Any, NoneTape])
    model = nn.Sequential(nn.Linear(64, 12), nn.Unflatten((3, 4)), nn.Flatten(), nn.Linear(12, 5))
    assert_type(model(image.trace()), Tensor[Shape[L[32], L[5]], OwnedTape])


def accept_unflatten_of_unknown_sizes() -> None:
    def split(x: Tensor[Shape[N, L[64]]], y: Tensor[Any, OwnedTape], z: Tensor, rows: int) -> None:
        assert_type(nn.Unflatten((8, 8))(x), Tensor[Shape[N, L[8], L[8]], NoneTape])
        assert_type(nn.Unflatten((8, 8))(y), Tensor[Shape[Any, L[8], L[8]], OwnedTape])
        assert_type(nn.Unflatten((rows, 8))(x), Tensor[Shape[N, Any, L[8]], NoneTape])
        nn.Unflatten((8, 8))(z)

    split(image, image.trace(), image, 8)


def accept_an_untyped_layer_in_the_middle() -> None:
    class Halves(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:, :32]

    # What comes out was once taken for what came out of the layer before.
    model = nn.Sequential(nn.ReLU(), Halves(), nn.Linear(32, 10))
    assert model(image).shape == (32, 10)


def accept_layers_side_by_side() -> None:
    heads = nn.SplitInto(nn.Linear(64, 3), nn.Sequential(nn.ReLU(), nn.Linear(64, 5)))
    assert_type(heads.layers[0], nn.Linear[L[64], L[3], L[True]])
    left, right = heads(image)
    assert (left.shape, right.shape) == ((32, 3), (32, 5))
    joined = nn.Sequential(nn.SplitInto(nn.Linear(64, 3), nn.Tanh()), nn.AddInto(nn.Linear(3, 7), nn.Linear(64, 7)))
    assert joined(image).shape == (32, 7)


def accept_a_summary() -> None:
    table = tg.summary(nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48)), ("N", 64))
    assert [row.output for row in table.rows] == ["(N, 48)"] * 3
    assert tg.summary(nn.AddInto(nn.ReLU(), nn.Tanh()), ((2, 3), image[:2, :3]), dtype=np.float32).rows[0].calls == 1


def accept_embedding_and_linear() -> None:
    model = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 5))
    assert_type(model(tg.tensor([[1, 2, 3], [4, 5, 6]])), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def accept_parameters_have_shapes() -> None:
    layer = nn.Linear(5, 7)
    assert_type(layer.weight.shape, tuple[L[5], L[7]])
    grads = layer(tg.ones((2, 5)).trace()).sum().backward(wrt=layer)
    assert_type(grads[layer.weight], Tensor[Shape[L[5], L[7]], NoneTape])


def accept_layers_known_at_run_time_only() -> None:
    layers: list[Any] = [nn.Linear(64, 10), nn.ReLU()]
    model = nn.Sequential(*layers)
    model(image)


def accept_a_subclass() -> None:
    class Small(Classifier[L[4]]):
        def __init__(self) -> None:
            super().__init__(4)

    assert_type(Small()(image), Tensor[Shape[L[32], L[10]], NoneTape])


def reject_a_users_module() -> None:
    Classifier(32)(tg.ones((32, 63)))  # E(mypy): Classifier: x is (32, 63) but (N, 64) is expected: axis 1 is 63, not 64 [tapegrad-shape]


def reject_a_nested_layer() -> None:
    nn.Sequential(nn.Sequential(nn.Linear(3, 4)), nn.Sequential(nn.ReLU(), nn.Linear(5, 6)))  # E(mypy): Sequential[1][1] Linear(5, 6): x is (..., 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_a_miswired_model_once() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6))  # E(mypy): Sequential[1] Linear(5, 6): x is (..., 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]
    model(tg.ones((2, 3)))


def reject_a_deep_input() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(5, 6)), nn.Tanh())
    model(tg.ones((2, 4)))  # E: model[0][1] Linear(5, 6): x is (2, 4) but (..., 5) is expected: axis -1 is 4, not 5 [tapegrad-shape]


def reject_numbers_to_look_up_that_are_not_whole() -> None:
    nn.Embedding(10, 4)(tg.ones((3,)))  # E: Embedding(10, 4): indices is float32 but integer is expected [tapegrad-dtype]


def reject_a_norm_of_another_width() -> None:
    nn.LayerNorm(63)(image)  # E: LayerNorm(63): x is (32, 64) but (..., 63) is expected: axis -1 is 64, not 63 [tapegrad-shape]


def reject_a_norm_over_axes_of_another_width() -> None:
    nn.LayerNorm((3, 4))(tg.ones((2, 3, 5)))  # E: LayerNorm((3, 4)): x is (2, 3, 5) but (..., 4) is expected: axis -1 is 5, not 4 [tapegrad-shape]


def reject_a_norm_over_other_axes() -> None:
    nn.LayerNorm((2, 5))(tg.ones((2, 3, 5)))  # E: LayerNorm((2, 5)): axis -2 of x (2, 3, 5) is 3 but weight (2, 5) has 2 [tapegrad-shape]


def reject_a_norm_over_too_many_axes() -> None:
    nn.RMSNorm((7, 2, 3, 5))(tg.ones((2, 3, 5)))  # E: RMSNorm((7, 2, 3, 5)): x (2, 3, 5) has rank 3 but needs at least 4 [tapegrad-shape]


def reject_a_norm_over_an_axis_of_no_size() -> None:
    nn.LayerNorm((2, 0))  # E: LayerNorm: Width is 0 in width but a named size is at least 1 [tapegrad-shape]


def reject_a_norm_between_two_layers() -> None:
    model = nn.Sequential(nn.Linear(64, 32), nn.RMSNorm(64))  # E(mypy): Sequential[1] RMSNorm(64): x is (..., 32) but (..., 64) is expected: axis -1 is 32, not 64 [tapegrad-shape]
    model(image)


def reject_a_norm_behind_an_activation() -> None:
    model = nn.Sequential(nn.ReLU(), nn.RMSNorm(63))
    model(image)  # E: model[1] RMSNorm(63): x is (32, 64) but (..., 63) is expected: axis -1 is 64, not 63 [tapegrad-shape]


def reject_a_layer_behind_flatten() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(100, 10))
    model(tg.ones((2, 3, 5, 7)))  # E: model[2] Linear(100, 10): x is (2, 105) but (..., 100) is expected: axis -1 is 105, not 100 [tapegrad-shape]


def reject_a_layer_behind_unflatten() -> None:
    rows = nn.Unflatten((3, 4))(nn.Linear(64, 12)(image))
    nn.Linear(3, 5)(rows)  # E: Linear(3, 5): x is (32, 3, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_other_channels() -> None:
    nn.BatchNorm2d(3)(tg.ones((2, 4, 5, 7)))  # E: BatchNorm2d(3): x is (2, 4, 5, 7) but (N, 3, H, W) is expected: axis 1 is 4, not 3 [tapegrad-shape]


def reject_to_train_without_a_tape() -> None:
    nn.BatchNorm1d(64).train(image)  # E: BatchNorm1d.train: x has no tape but needs one [tapegrad-tape]


def reject_groups_of_other_channels() -> None:
    nn.GroupNorm(3, 6)(image)  # E: GroupNorm(3, 6): x is (32, 64) but (N, 6, ...) is expected: axis 1 is 64, not 6 [tapegrad-shape]


def reject_a_shape_of_another_number_of_elements() -> None:
    nn.Reshape((32, 63))(image)  # E: Reshape: x (32, 64) has 2048 elements but shape (32, 63) has 2016 [tapegrad-shape]


def reject_a_bool_in_a_shape() -> None:
    nn.Reshape((32, True))  # E: Reshape: shape is (32, True) but a tuple of ints is expected [tapegrad-dtype]


def reject_a_bool_as_a_number_of_layers() -> None:
    nn.Repeated(lambda: nn.Linear(64, 64), times=True)  # E: Repeated: times is True but an int is expected [tapegrad-dtype]


def reject_to_unflatten_another_number() -> None:
    nn.Unflatten((8, 7))(image)  # E: Unflatten: x (32, 64) has 2048 elements but shape (32, 8, 7) has 1792 [tapegrad-shape]


def reject_a_size_to_infer_in_a_layer() -> None:
    nn.Unflatten((8, -1))  # E: Unflatten: shape (8, -1) has a negative size [tapegrad-shape]


def reject_a_softmax_along_a_missing_axis() -> None:
    nn.Sequential(nn.Linear(64, 10), nn.Softmax(2))(image)  # E: Sequential[1] Softmax: axis 2 is out of range for x (32, 10) [tapegrad-shape]


def reject_three_directions() -> None:
    nn.StackedGRU(3, 4, 2, directions=3)  # E: StackedGRU: directions is 3 but 1 or 2 is expected [tapegrad-shape]


def reject_a_norm_of_other_channels_behind_a_convolution() -> None:
    nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(7))  # E(mypy): Sequential[1] BatchNorm2d(7): x is (..., 8, ?, ?) but (N, 7, H, W) is expected: axis -3 is 8, not 7 [tapegrad-shape]

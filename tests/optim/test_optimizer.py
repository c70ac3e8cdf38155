"""Properties of all optimizers: a step is complete or changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.nn import Linear, Module, Param, ReLU, Sequential
from tapegrad.ops import mse, ones, tensor, zeros
from tapegrad.optim import SGD, Adadelta, Adam, AdamW, Group, Optimizer, RMSprop

OPTIMIZERS: list[Callable[[Any], Optimizer[Any]]] = [
    lambda model: SGD(model, lr=0.5),
    lambda model: SGD(model, lr=0.5, momentum=0.9, nesterov=True),
    Adam,
    lambda model: AdamW(model, weight_decay=0.0),
    RMSprop,
    lambda model: RMSprop(model, centered=True),
    Adadelta,
]
any_optimizer = pytest.mark.parametrize(
    "make", OPTIMIZERS, ids=["SGD", "momentum", "Adam", "AdamW", "RMSprop", "centered", "Adadelta"]
)


def model() -> Any:
    return Sequential(Linear(3, 4, rng=0), ReLU(), Linear(4, 2, rng=1))


def gradients(of: Any, through: Any = None) -> Gradients:
    y = (of if through is None else through)(ones((5, 3)).trace())
    grads: Gradients = mse(y, zeros(y.shape)).backward(wrt=of)
    return grads


def all_of(optimizer: Optimizer[Any]) -> Any:
    values = [(path, x.version, x.tolist()) for path, x in optimizer.parameters.items()]
    return values, {id(x): repr(state) for x, state in optimizer.state.items()}


@any_optimizer
def test_a_step_changes_every_parameter_once(make: Any) -> None:
    net = model()
    before = {path: x.numpy(copy=True) for path, x in net.parameters().items()}

    make(net).step(gradients(net))

    for path, x in net.parameters().items():
        assert x.version == 1
        assert not np.array_equal(x.numpy(), before[path])
        assert x.dtype == np.float32


@any_optimizer
def test_parameters_may_be_given_by_path_or_in_a_list(make: Any) -> None:
    net, by_path, by_position = model(), model(), model()

    for one, optimizer in (
        (net, make(net)),
        (by_path, make(by_path.parameters())),
        (by_position, make(iter(by_position.parameters().values()))),
    ):
        optimizer.step(gradients(one))

    for path, x in net.parameters().items():
        assert x.tolist() == by_path.parameters()[path].tolist() == by_position.parameters()[path].tolist()


@any_optimizer
def test_a_missing_gradient_is_named_and_nothing_changes(make: Any) -> None:
    net = model()
    optimizer = make(net)
    optimizer.step(gradients(net))
    before = all_of(optimizer)

    with pytest.raises(TapeError) as rejected:
        optimizer.step(gradients(net, through=net[0]))

    name = type(optimizer).__name__
    assert str(rejected.value) == (
        f"{name}.step: no gradient for layers.2.weight, layers.2.bias: "
        "not used, used where it met no tape (as w.T by itself, or a layer of a tensor that is not traced), "
        "or left out of wrt=; allow_unused=True leaves what is not used unchanged"
    )
    assert all_of(optimizer) == before


@any_optimizer
def test_an_unused_parameter_may_be_allowed_and_is_unchanged(make: Any) -> None:
    net = model()

    make(net).step(gradients(net, through=net[0]), allow_unused=True)

    assert [x.version for x in net.parameters().values()] == [1, 1, 0, 0]


@any_optimizer
@pytest.mark.parametrize("allow_unused", [False, True])
def test_the_gradients_of_another_model_are_rejected(make: Any, *, allow_unused: bool) -> None:
    other = Linear(3, 2, rng=0)
    optimizer = make(model())
    before = all_of(optimizer)

    with pytest.raises(TapeError) as rejected:
        optimizer.step(gradients(other), allow_unused=allow_unused)

    assert str(rejected.value) == (
        f"{type(optimizer).__name__}.step: the gradients are of other tensors, (2,), (3, 2), "
        "and none is of layers.0.weight, layers.0.bias, layers.2.weight, layers.2.bias"
    )
    assert all_of(optimizer) == before


@any_optimizer
def test_gradients_of_other_tensors_may_be_among_them(make: Any) -> None:
    net, other = model(), Linear(3, 2, rng=0)
    x = ones((5, 3))

    make(net).step(mse(net(x.trace()) + other(x), zeros((5, 2))).backward())

    assert {parameter.version for parameter in net.parameters().values()} == {1}
    assert other.weight.version == 0


@any_optimizer
def test_a_gradient_of_another_dtype_changes_nothing(make: Any) -> None:
    first, second = Param(ones((3,))), Param(ones((2,)))
    optimizer, grads = make([first, second]), Gradients()
    wrong: Any = np.ones(2, np.float64)
    grads.add(first, zeros((3,)).data)
    grads.add(second, wrong)

    message = f"{type(optimizer).__name__}.step: the gradient of [1] is float64 but float32 is expected"
    with pytest.raises(DTypeError, match=f"^{re.escape(message)}$"):
        optimizer.step(grads)

    assert (first.version, second.version, optimizer.state) == (0, 0, {})


@any_optimizer
@pytest.mark.parametrize("given", [ones(()), None, {}], ids=["loss", "None", "dict"])
def test_arguments_that_are_no_gradients_are_rejected(make: Any, given: Any) -> None:
    net = model()
    before = all_of(optimizer := make(net))

    kind = "a " + type(given).__name__
    message = f"{type(optimizer).__name__}.step: grads is {kind} but Gradients, which backward gives, are expected"
    with pytest.raises(DTypeError, match=f"^{re.escape(message)}$"):
        optimizer.step(given)

    assert all_of(optimizer) == before


class Broken(Optimizer[int]):
    """Gives an update of another shape for all but the first parameter."""

    def start(self, x: Any) -> int:  # noqa: ARG002
        return 0

    def update(self, x: Any, dx: Any, state: int, lr: float) -> tuple[Any, int]:  # noqa: ARG002
        return (x - dx if x.ndim == 2 else (x - dx)[:1]), 1


def test_an_update_of_another_shape_changes_nothing() -> None:
    net = model()
    optimizer = Broken(net, lr=1.0)
    before = all_of(optimizer)

    message = "Broken.step: the update of layers.0.bias is (1,) but (4,) is expected: axis 0 is 1, not 4"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        optimizer.step(gradients(net))

    assert all_of(optimizer) == before


@any_optimizer
def test_an_interrupted_computation_changes_nothing(make: Any) -> None:
    first, second = Param(ones((3,))), Param(ones((2,)))
    optimizer, grads = make([first, second]), Gradients()
    huge: Any = np.full(2, 3e38, np.float32)
    grads.add(first, ones((3,)).data)
    grads.add(second, huge)
    optimizer.lr = 10.0

    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        optimizer.step(grads)

    assert (first.version, second.version, optimizer.state) == (0, 0, {})


@any_optimizer
def test_a_gradient_that_is_a_tensor_gives_a_parameter_with_an_array(make: Any) -> None:
    x, y = Param(ones((2,))), Param(ones((2,)))
    as_tensor, as_array = Gradients(), Gradients()
    dx: Any = ones((2,))
    as_tensor.add(x, dx.trace())
    as_array.add(y, dx.data)

    make([x]).step(as_tensor)
    make([y]).step(as_array)

    data: Any = x.data
    assert type(data) is np.ndarray
    assert x.tolist() == y.tolist()


@any_optimizer
def test_nan_reaches_the_parameter(make: Any) -> None:
    x, grads = Param(ones((2,))), Gradients()
    dx: Any = np.array([np.nan, 0.0], np.float32)
    grads.add(x, dx)

    make([x]).step(grads)

    np.testing.assert_array_equal(x.numpy(), np.array([np.nan, 1.0], np.float32))


@any_optimizer
def test_a_frozen_parameter_is_unchanged(make: Any) -> None:
    net = model()
    net[0].weight.frozen = net[0].bias.frozen = True
    optimizer = make(net)

    optimizer.step(gradients(net))
    versions = [x.version for x in net.parameters().values()]
    net[0].weight.frozen = net[0].bias.frozen = False
    optimizer.step(gradients(net))

    assert versions == [0, 0, 1, 1]
    assert [x.version for x in net.parameters().values()] == [1, 1, 2, 2]


@any_optimizer
def test_the_learning_rate_may_come_from_numpy(make: Any) -> None:
    net = model()
    optimizer = make(net)

    optimizer.lr = np.float64(0.1)
    optimizer.step(gradients(net))

    assert net[0].weight.dtype == np.float32


@any_optimizer
def test_non_parameters_are_rejected(make: Any) -> None:
    name = type(make(model())).__name__

    with pytest.raises(DTypeError, match=re.escape(f"{name}: [1] is a Tensor, not a parameter")):
        make([Param(ones((2,))), ones((2,))])
    with pytest.raises(ValueError, match=f"^{name}: there are no parameters$"):
        make(ReLU())


def test_a_negative_learning_rate_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^SGD: lr is -0.1 but must be at least 0$"):
        SGD(model(), lr=-0.1)  # type: ignore[arg-type]  # out of range


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (SGD, {"lr": "1"}, "SGD: lr is '1' but a number is expected"),
        (SGD, {"lr": None}, "SGD: lr is None but a number is expected"),
        (SGD, {"lr": [0.1]}, "SGD: lr is [0.1] but a number is expected"),
        (SGD, {"lr": 0.1, "momentum": "0.9"}, "SGD: momentum is '0.9' but a number is expected"),
        (SGD, {"lr": 0.1, "weight_decay": None}, "SGD: weight_decay is None but a number is expected"),
        (Adam, {"eps": "1"}, "Adam: eps is '1' but a number is expected"),
        (AdamW, {"betas": (0.9, "1")}, "AdamW: beta 2 is '1' but a number is expected"),
        (Adam, {"betas": (0.9,)}, "Adam: betas is (0.9,) but two numbers are expected"),
        (Adam, {"betas": None}, "Adam: betas is None but two numbers are expected"),
        (RMSprop, {"alpha": "1"}, "RMSprop: alpha is '1' but a number is expected"),
        (RMSprop, {"eps": None}, "RMSprop: eps is None but a number is expected"),
        (Adadelta, {"rho": "0.9"}, "Adadelta: rho is '0.9' but a number is expected"),
        (Adadelta, {"eps": None}, "Adadelta: eps is None but a number is expected"),
    ],
)
def test_a_non_numeric_option_is_rejected(kind: Any, options: Any, message: str) -> None:
    with pytest.raises(DTypeError, match=f"^{re.escape(message)}$"):
        kind(model(), **options)


def test_a_non_numeric_option_of_a_group_is_rejected() -> None:
    lr: Any = "1"

    with pytest.raises(DTypeError, match=r"^SGD: \*: lr is '1' but a number is expected$"):
        SGD(model(), lr=0.1, groups={"*": Group(lr=lr)})


@pytest.mark.parametrize("lr", [np.float32(0.5), np.array(0.5), tensor(0.5), 1], ids=repr)
def test_a_number_of_any_type_is_a_learning_rate(lr: Any) -> None:
    assert SGD(model(), lr=lr).lr is lr


def test_a_shared_parameter_takes_one_step() -> None:
    class Tied(Module):
        def __init__(self) -> None:
            self.first = Param(ones((2,)))
            self.second = self.first

    module, grads = Tied(), Gradients()
    grads.add(module.first, ones((2,)).data)

    SGD(module, lr=0.25).step(grads)

    assert module.second.tolist() == [0.75, 0.75]
    assert module.first.version == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            Linear(3, 2, rng=0).valid(),
            "SGD: parameters is a valid module, which only predicts; give the module that it is made of",
        ),
        (5, "SGD: parameters is an int but a module, or parameters, are expected"),
        ([1.5], "SGD: [0] is a float, not a parameter"),
    ],
)
def test_objects_without_parameters_are_rejected(parameters: Any, message: str) -> None:
    with pytest.raises(DTypeError) as rejected:
        SGD(parameters, 0.1)

    assert str(rejected.value) == message


def test_the_repr_has_the_learning_rate_and_the_number_of_parameters() -> None:
    model = Linear(3, 2, rng=0)

    assert repr(Adam(model, lr=0.01)) == "Adam(lr=0.01, 2 parameters)"
    assert repr(SGD([model.weight], lr=0.1)) == "SGD(lr=0.1, 1 parameter)"

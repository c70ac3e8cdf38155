"""Functions that take layers and functions: their sizes are bound like those of tensors; pyright accepts none."""

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVarTuple, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
B = TypeVar("B", bound=int)
T = TypeVar("T", bound=Tape)
In = TypeVar("In", bound=int, contravariant=True)
Out = TypeVar("Out", bound=int, covariant=True)
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")

x = tg.ones((2, 3))


class Maps(Protocol[In, Out]):
    """Any module from one width to another."""

    def __call__(self, x: Tensor[Shape[B, In], T], /) -> Tensor[Shape[B, Out], T]: ...


def through_linear(layer: nn.Linear[N, M], x: Tensor[Shape[B, N], T]) -> Tensor[Shape[B, M], T]:
    return layer(x)


def through_any(layer: Maps[N, M], x: Tensor[Shape[B, N], T]) -> Tensor[Shape[B, M], T]:
    return layer(x)


def through_function(
    layer: Callable[[Tensor[Shape[L[2], N], NoneTape]], Tensor[Shape[L[2], M], NoneTape]],
    x: Tensor[Shape[L[2], N], NoneTape],
) -> Tensor[Shape[M], NoneTape]:
    return layer(x)[0]


def batched(
    f: Callable[[Tensor[Shape[N], T]], Tensor[Shape[M], T]],
) -> Callable[[Tensor[Shape[B, N], T]], Tensor[Shape[B, M], T]]:
    def all_rows(rows: Tensor[Shape[B, N], T]) -> Tensor[Shape[B, M], T]:
        wide: Any = tg.stack([f(row) for row in rows])
        result: Tensor[Shape[B, M], T] = wide
        return result

    return all_rows


def squared(layer: nn.Linear[N, N]) -> Tensor[Shape[N, N], OwnedTape]:
    wide: Any = layer.weight.trace()
    weight: Tensor[Shape[N, N], OwnedTape] = wide
    return weight


def from_three(layer: nn.Linear[L[3], M], features: M) -> Tensor[Shape[L[2], M], NoneTape]:
    return layer(x)


def halved(layer: nn.Linear[L[3], Mul[L[2], N]]) -> Tensor[Shape[L[2], N], NoneTape]:
    y = layer(x)
    n = y.shape[1] // 2
    wide: Any = y[:, :n]
    half: Tensor[Shape[L[2], N], NoneTape] = wide
    return half


def narrowed(x: Tensor[Shape[L[2], L[3]], NoneTape]) -> Tensor[Shape[L[2], L[1]], NoneTape]:
    return x[:, :1]


def of_three(layer: Callable[[Tensor[Shape[L[3]], NoneTape]], Tensor[Shape[L[4]], NoneTape]]) -> Tensor[Shape[L[4]], NoneTape]:
    return layer(tg.ones((3,)))


def padded(x: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[Add[N, L[1]]], NoneTape]:
    return tg.concat((x, x[:1]))


def first(x: Tensor[Shape[L[3], L[2]], NoneTape]) -> Tensor[Shape[L[4]], NoneTape]:
    return tg.zeros((4,))


def recorded(x: Tensor[Shape[L[3]], OwnedTape]) -> Tensor[Shape[L[4]], OwnedTape]:
    return tg.concat((x, x[:1]))


def accept_a_layer() -> None:
    assert_type(through_linear(nn.Linear(3, 5), x), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(through_linear(nn.Linear(3, 5), x.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(from_three(nn.Linear(3, 5), 5), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(halved(nn.Linear(3, 8)), Tensor[Shape[L[2], L[4]], NoneTape])
    squared(nn.Linear(3, 3))


def accept_any_module() -> None:
    assert_type(through_any(nn.Linear(3, 5), x), Tensor[Shape[L[2], L[5]], NoneTape])
    through_any(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), x)
    through_any(nn.ReLU(), x)


def accept_a_function() -> None:
    assert_type(through_function(narrowed, x), Tensor[Shape[L[1]], NoneTape])
    assert_type(through_function(nn.Linear(3, 5), x), Tensor[Shape[L[5]], NoneTape])
    through_function(tg.exp, x)
    through_function(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), x)


def accept_a_lambda() -> None:
    weight = tg.ones((3, 4))
    assert_type(through_function(lambda a: a @ weight, x), Tensor[Shape[L[4]], NoneTape])


def accept_a_name_of_the_function_around() -> None:
    def around(layer: nn.Linear[N, M], x: Tensor[Shape[L[2], N], NoneTape]) -> Tensor[Shape[M], NoneTape]:
        assert_type(through_linear(layer, x), Tensor[Shape[L[2], M], NoneTape])
        return through_function(layer, x)

    assert_type(around(nn.Linear(3, 5), x), Tensor[Shape[L[5]], NoneTape])


def accept_a_function_of_fixed_sizes() -> None:
    assert_type(of_three(padded), Tensor[Shape[L[4]], NoneTape])
    of_three(nn.Linear(3, 4))
    of_three(lambda a: tg.concat((a, a[:1])))


def reject_a_function_that_takes_another_size() -> None:
    of_three(nn.Linear(4, 4))  # E(mypy): of_three: what layer takes is (4,) but (3,) is expected: axis 0 is 4, not 3 [tapegrad-shape]


def reject_a_function_that_gives_another_size() -> None:
    of_three(nn.Linear(3, 5))  # E(mypy): of_three: what layer gives is (5,) but (4,) is expected: axis 0 is 5, not 4 [tapegrad-shape]


def reject_a_function_that_keeps_the_size() -> None:
    of_three(tg.exp)  # E(mypy): of_three: what layer gives is (3,) but (4,) is expected: axis 0 is 3, not 4 [tapegrad-shape]


def reject_a_function_of_another_rank() -> None:
    of_three(first)  # E(mypy): of_three: what layer takes is (3, 2) but (3,) is expected: rank 2, not 1 [tapegrad-shape]


def reject_a_function_that_needs_a_tape() -> None:
    of_three(recorded)  # E(mypy): of_three: what layer takes has a tape but must have none [tapegrad-tape]


def reject_a_generic_function_of_another_size() -> None:
    through_function(nn.Linear(3, 5), tg.ones((2, 4)))  # E(mypy): through_function: N is 3 in what layer takes but 4 in x [tapegrad-shape]


def accept_a_layer_in_a_function_that_is_returned() -> None:
    assert_type(batched(nn.Linear(3, 5))(x.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])


def times(count: int) -> Callable[[Callable[P, Tensor]], Callable[P, Tensor]]:
    def decorated(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
        def repeated(*args: P.args, **options: P.kwargs) -> Tensor:
            return tg.concat([function(*args, **options)] * count)

        return repeated

    return decorated


def once(name: str) -> Callable[[Callable[[*Ts], Tensor]], Callable[[*Ts], Tensor]]:
    assert name
    return lambda function: function


def accept_a_decorator_with_arguments() -> None:
    @times(3)
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x @ y

    @once("sum")
    def total(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    assert_type(product(x, y=tg.ones((3, 1))), Tensor)
    assert_type(total(x, x), Tensor)


def reject_a_layer_of_another_width() -> None:
    through_linear(nn.Linear(4, 5), x)  # E(mypy): through_linear: N is 4 in layer but 3 in x [tapegrad-shape]


def reject_a_layer_of_two_widths() -> None:
    squared(nn.Linear(3, 4))  # E(mypy): squared: N is both 3 and 4 in layer [tapegrad-shape]


def reject_a_layer_of_another_number() -> None:
    from_three(nn.Linear(4, 5), 5)  # E(mypy): from_three: layer is Linear(4, 5) but Linear(3, M) is expected [tapegrad-shape]


def reject_a_width_with_a_rest() -> None:
    halved(nn.Linear(3, 7))  # E(mypy): halved: layer is 7 but 2*N is expected [tapegrad-shape]


def reject_a_module_of_another_width() -> None:
    through_any(nn.Linear(4, 5), x)  # E(mypy): through_any: N is 4 in what layer takes but 3 in x [tapegrad-shape]


def reject_a_function_of_another_width() -> None:
    through_function(narrowed, tg.ones((2, 4)))  # E(mypy): through_function: N is 3 in what layer takes but 4 in x [tapegrad-shape]


def reject_a_lambda_of_another_width() -> None:
    through_function(lambda a: a @ tg.ones((3, 4)), tg.ones((3, 3)))  # E(mypy): through_function: x is (3, 3) but (2, N) is expected: axis 0 is 3, not 2 [tapegrad-shape]

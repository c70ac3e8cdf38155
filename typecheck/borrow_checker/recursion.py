"""Functions that call themselves with a number, and calls that are many levels deep."""

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def use(loss: Scalar) -> None:
    loss.backward(wrt=model)


def use_at_two(loss: Scalar, n: int) -> None:
    if n > 0:
        use_at_two(loss, n - 1)
    if n == 2:
        use(loss)


def accept_a_level_that_consumes() -> None:
    use_at_two(new_loss(), 3)


def accept_an_unknown_number_of_levels() -> None:
    use_at_two(new_loss(), len(str(model)) % 3 + 2)


def accept_levels_that_stop_earlier() -> None:
    loss = new_loss()
    use_at_two(loss, 1)
    use(loss)


def reject_a_loss_after_a_level_that_consumes() -> None:
    loss = new_loss()
    use_at_two(loss, 3)
    use(loss)  # E(mypy): use(loss): loss was consumed by loss.backward(wrt=model) on line {-27}; trace again [tapegrad-tape]


def reject_a_level_that_is_reached_twice() -> None:
    loss = new_loss()
    use_at_two(loss, 2)
    use_at_two(loss, 4)  # E(mypy): use_at_two(loss, 4): loss was consumed by loss.backward(wrt=model) on line {-33}; trace again [tapegrad-tape]


def use_at_the_last(loss: Scalar, n: int, last: int) -> None:
    if n < last:
        use_at_the_last(loss, n + 1, last)
    if n == last:
        use(loss)


def accept_the_last_of_counted_levels() -> None:
    use_at_the_last(new_loss(), 0, 3)


def reject_a_loss_after_the_last_of_counted_levels() -> None:
    loss = new_loss()
    use_at_the_last(loss, 0, 3)
    use(loss)  # E(mypy): use(loss): loss was consumed by loss.backward(wrt=model) on line {-50}; trace again [tapegrad-tape]


def use_if_even(loss: Scalar, n: int) -> None:
    if n > 0:
        use_if_odd(loss, n - 1)
    if n == 2:
        use(loss)


def use_if_odd(loss: Scalar, n: int) -> None:
    if n > 0:
        use_if_even(loss, n - 1)


def accept_functions_that_call_each_other_with_numbers() -> None:
    use_if_even(new_loss(), 4)


def reject_a_loss_after_functions_that_call_each_other() -> None:
    loss = new_loss()
    use_if_even(loss, 4)
    use(loss)  # E(mypy): use(loss): loss was consumed by loss.backward(wrt=model) on line {-72}; trace again [tapegrad-tape]


def renewed_at_one(loss: Scalar, n: int) -> Scalar:
    if n == 0:
        return loss
    found = renewed_at_one(loss, n - 1)
    if n == 1:
        use(found)
        return new_loss()
    return found


def accept_a_loss_that_a_level_renews() -> None:
    use(renewed_at_one(new_loss(), 3))


def reject_a_loss_that_no_level_renews() -> None:
    loss = new_loss()
    use(renewed_at_one(loss, 0))
    use(loss)  # E(mypy): use(loss): loss was consumed by loss.backward(wrt=model) on line {-92}; trace again [tapegrad-tape]


def level_1(loss: Scalar) -> None:
    use(loss * 0.5)


def level_2(loss: Scalar) -> None:
    level_1(loss)


def level_3(loss: Scalar) -> None:
    level_2(loss)


def level_4(loss: Scalar) -> None:
    level_3(loss)


def level_5(loss: Scalar) -> None:
    level_4(loss)


def level_6(loss: Scalar) -> None:
    level_5(loss)


def level_7(loss: Scalar) -> None:
    level_6(loss)


def level_8(loss: Scalar) -> None:
    level_7(loss)


def reject_a_loss_after_nine_calls_inside_each_other() -> None:
    loss = new_loss()
    level_8(loss)
    use(loss)  # E(mypy): use(loss): loss was consumed by loss.backward(wrt=model) on line {-130}; trace again [tapegrad-tape]


def accept_a_value_after_nine_calls_inside_each_other() -> None:
    loss = new_loss()
    level_8(loss)
    assert loss.item() == loss.item()


def use_at_the_end(losses: list[Scalar], n: int) -> None:
    if n > 0:
        use_at_the_end(losses, n - 1)
        return
    use(losses[0])


def accept_ten_levels() -> None:
    use_at_the_end([new_loss()], 9)


def reject_a_loss_after_ten_levels() -> None:
    losses = [new_loss()]
    use_at_the_end(losses, 9)
    use(losses[0])  # E(mypy): use(losses[0]): losses[0] shares the tape that loss.backward(wrt=model) consumed on line {-153}; trace again [tapegrad-tape]

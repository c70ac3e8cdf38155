"""Features that are computed once with a tape, kept by a key, and used again in the next epoch."""

from typing import Literal as L

import tapegrad as tg
from tapegrad import OwnedTape, Shape, Tensor, nn

Features = Tensor[Shape[L[3], L[5]], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
encoder = nn.Linear(5, 5, rng=1)


def encoded() -> Features:
    return encoder(x.trace())


def use(features: Features) -> None:
    model(features).sum().backward(wrt=model)


class Store:
    """Features by the number of the batch."""

    def __init__(self) -> None:
        self.features: dict[int, Features] = {}

    def of(self, number: int) -> Features:
        if number not in self.features:
            self.features[number] = encoded()
        return self.features[number]

    def found(self, number: int) -> Features:
        found = self.features.get(number)
        if found is None:
            found = self.features[number] = encoded()
        return found

    def computed(self, number: int) -> Features:
        self.features[number] = encoded()
        return self.features[number]


def reject_features_that_are_cached_over_epochs() -> None:
    store = Store()
    for _ in range(2):
        for number in range(5):
            use(store.of(number))  # E(mypy): store.of(number): self.features[number] shares the tape that model(...).sum().backward(...) consumed on line {-29}; trace again [tapegrad-tape]


def accept_features_of_one_epoch() -> None:
    for _ in range(2):
        store = Store()
        for number in range(5):
            use(store.of(number))


def accept_features_that_are_computed_in_each_epoch() -> None:
    store = Store()
    for _ in range(2):
        for number in range(5):
            use(store.computed(number))


def accept_features_by_a_number_over_all_epochs() -> None:
    store = Store()
    for epoch in range(2):
        for number in range(5):
            use(store.of(5 * epoch + number))


def accept_a_store_that_is_cleared() -> None:
    store = Store()
    for _ in range(2):
        store.features.clear()
        for number in range(5):
            use(store.of(number))



def reject_features_by_get() -> None:
    store = Store()
    for _ in range(2):
        for number, _batch in enumerate([x, x, x, x]):
            use(store.found(number))  # E(mypy): store.found(number): found shares the tape that model(...).sum().backward(...) consumed on line {-66}; trace again [tapegrad-tape]


def accept_features_by_get() -> None:
    store = Store()
    for number in range(len(str(model))):
        use(store.found(number))


def reject_two_loops_over_one_store() -> None:
    store = Store()
    for number in range(5):
        use(store.of(number))
    for number in range(5):
        use(store.of(number))  # E(mypy): store.of(number): self.features[number] shares the tape that model(...).sum().backward(...) consumed on line {-80}; trace again [tapegrad-tape]


def accept_loops_over_two_stores() -> None:
    for store in (Store(), Store()):
        for number in range(5):
            use(store.of(number))


def reject_an_epoch_that_is_run_twice() -> None:
    store = Store()

    def epoch() -> None:
        for number in range(5):
            use(store.of(number))

    epoch()
    epoch()  # E(mypy): epoch(): self.features[number] shares the tape that model(...).sum().backward(...) consumed on line {-97}; trace again [tapegrad-tape]


def reject_features_by_name() -> None:
    cache: dict[str, Features] = {}
    names = [f"batch {number}" for number in range(5)]
    for _ in range(2):
        for name in names:
            if name not in cache:
                cache[name] = encoded()
            use(cache[name])  # E(mypy): use(cache[name]): cache[name] shares the tape that model(...).sum().backward(...) consumed on line {-107}; trace again [tapegrad-tape]


def accept_features_by_name() -> None:
    cache: dict[str, Features] = {}
    names = [f"batch {number}" for number in range(5)]
    for name in names:
        if name not in cache:
            cache[name] = encoded()
        use(cache[name])


def reject_a_list_of_the_first_epoch() -> None:
    features: list[Features] = []
    for epoch in range(2):
        for number in range(3):
            if epoch == 0:
                features.append(encoded())
            use(features[number])  # E(mypy): use(features[number]): features[number] shares the tape that model(...).sum().backward(...) consumed on line {-125}; trace again [tapegrad-tape]


def accept_a_list_of_each_epoch() -> None:
    for _ in range(2):
        features: list[Features] = []
        for number in range(3):
            features.append(encoded())
            use(features[number])


def reject_a_cached_encoder_output() -> None:
    class Cache:
        features: Features | None = None

    cache = Cache()
    for _ in range(2):
        if cache.features is None:
            cache.features = encoded()
        use(cache.features)  # E(mypy): use(cache.features): cache.features shares the tape that model(...).sum().backward(...) consumed on line {-144}; trace again [tapegrad-tape]


def accept_features_that_are_popped() -> None:
    cache: dict[int, Features] = {}
    for _ in range(2):
        for number in range(5):
            if number not in cache:
                cache[number] = encoded()
            use(cache.pop(number))

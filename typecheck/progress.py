"""Training runs: a batch keeps its type in the loop over an epoch."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, data, nn, optim, progress

N = TypeVar("N", bound=int)

images, labels = tg.ones((70, 64)), tg.zeros((70,), np.int64)


def accept_batches_with_their_types() -> None:
    run = progress.track(data.batches(images, labels, size=32), epochs=2, show=False)
    for epoch in run:
        assert_type(epoch.number, int)
        for x, y in epoch:
            assert_type(x, Tensor[Shape[L[32], L[64]], NoneTape])
            assert_type(y, Tensor[Shape[L[32]], NoneTape, np.int64])
    for epoch in progress.track(data.batches(images, size=7), show=False):
        for x in epoch:
            assert_type(x, Tensor[Shape[L[7], L[64]], NoneTape])


def accept_batches_of_any_length() -> None:
    for epoch in progress.track(data.batches(images, labels, size=32, drop_last=False), show=False):
        for x, y in epoch:
            assert_type(x, Tensor[Shape[Any, L[64]], NoneTape])
            assert_type(y, Tensor[Shape[Any], NoneTape, np.int64])


def accept_a_whole_loop() -> None:
    def train(images: Tensor[Shape[N, L[64]], NoneTape], labels: Tensor[Shape[N], NoneTape, np.int64]) -> None:
        model = nn.Linear(64, 10)
        opt = optim.Adam(model)
        until = progress.EarlyStopping("loss", patience=2)
        for epoch in progress.track(data.batches(images, labels, size=32), until=until, show=False):
            for x, y in epoch:
                loss = tg.cross_entropy(model(x.trace()), y)
                opt.step(loss.backward(wrt=model))
                epoch.note(loss=loss, rows=len(x), half=0.5, one=np.float32(1.0))

    train(images, labels)


def accept_what_is_no_tensor() -> None:
    for epoch in progress.track(range(3), show=False):
        for step in epoch:
            assert_type(step, int)


def reject_labels_of_another_batch() -> None:
    model = nn.Linear(64, 10)
    for epoch in progress.track(data.batches(images, labels, size=32), show=False):
        for x, _ in epoch:
            tg.cross_entropy(model(x), labels)  # E: cross_entropy: target (70,) does not fit x (32, 10): expected (32,) [tapegrad-shape]


def reject_a_second_backward_in_an_epoch() -> None:
    model = nn.Linear(64, 10)
    for epoch in progress.track(data.batches(images, labels, size=32), show=False):
        for x, y in epoch:
            loss = tg.cross_entropy(model(x.trace()), y)
            loss.backward(wrt=model)
            loss.backward(wrt=model)  # E(mypy): loss.backward(wrt=model): loss was consumed by loss.backward(wrt=model) on line {-1}; trace again [tapegrad-tape]

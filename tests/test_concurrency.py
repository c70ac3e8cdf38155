"""Thread safety: what the guide guarantees of threads, processes and asyncio tasks."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import io, nn, optim, tapem
from tapegrad.engines.numpy import program
from tapegrad.errors import TapeError
from tapegrad.slot_tape import SlotTape
from tapegrad.tapem import Tape

COUNT = 8


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def model() -> Any:
    return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Dropout(0.2), nn.Linear(7, 2))


def bits(net: Any) -> dict[str, bytes]:
    return {path: state.numpy().tobytes() for path, state in (net.parameters() | net.buffers()).items()}


def trained(seed: int) -> dict[str, bytes]:
    with tg.random(seed):
        net = model()
        opt = optim.AdamW(net)
        x, y = tg.normal((16, 5)), tg.normal((16, 2))
        for _ in range(20):
            opt.step(tg.mse(net((x + tg.normal((16, 5))).trace()), y).backward(wrt=net))
    return bits(net)


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """Run one function in all threads at once, and return what each has to say, an error included."""
    gate, said = threading.Barrier(COUNT), [None] * COUNT

    def run(number: int) -> None:
        gate.wait()
        try:
            said[number] = work(number)
        except Exception as error:  # noqa: BLE001  # it is handed on
            said[number] = error  # type: ignore[call-overload]  # the list takes anything

    threads = [threading.Thread(target=run, args=(number,)) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def test_training_in_threads_equals_sequential_training() -> None:
    assert in_threads(trained) == [trained(seed) for seed in range(COUNT)]


def test_threads_that_share_a_model_for_inference_see_it_unchanged() -> None:
    with tg.random(0):
        net = model()
    requests = [tg.normal((4, 5), rng=seed) for seed in range(64)]
    before, expected = bits(net), [net(x).tolist() for x in requests]

    with ThreadPoolExecutor(COUNT) as threads:
        found = list(threads.map(lambda x: net(x).tolist(), requests))

    assert found == expected
    assert bits(net) == before


def test_threads_that_share_an_optimizer_step_one_after_the_other() -> None:
    weight = nn.Param(tg.zeros((3,)))
    opt = optim.SGD([weight], lr=1.0)

    def stepped(_: int) -> int:
        rejected = 0
        for _ in range(50):
            loss = (tg.ones((3,)).trace() * weight).sum()
            try:
                grads = loss.backward(wrt=weight)
            except TapeError:  # another thread was faster
                rejected += 1
            else:
                opt.step(grads)
        return rejected

    rejected = in_threads(stepped)

    assert all(isinstance(count, int) for count in rejected)
    assert weight.version == 50 * COUNT - sum(rejected)
    assert len({*weight.tolist()}) == 1


def test_threads_record_on_one_tape() -> None:
    weight, x = nn.Param(tg.ones((3,))), tg.ones((3,)).trace()

    def branch(number: int) -> Any:
        y = x * float(number)
        for _ in range(20):
            y = y * 1.0
        return (y * weight).sum()

    for _ in range(20):
        x = tg.ones((3,)).trace()
        total = sum(in_threads(branch))
        assert isinstance(total, tg.Tensor)

        grads = total.backward()

        assert grads[x].tolist() == [28, 28, 28]
        assert grads[weight].tolist() == [28, 28, 28]


def test_tapes_of_threads_merge_into_one() -> None:
    for _ in range(20):
        joint = tg.ones((3,)).trace()
        own = [tg.ones((3,)).trace() for _ in range(COUNT)]

        def branch(number: int) -> Any:
            y = own[number] * 2.0 + joint  # noqa: B023  # the threads end before the next round
            return (y * 3.0).sum()

        grads = sum(in_threads(branch)).backward()

        assert grads[joint].tolist() == [24, 24, 24]
        assert [grads[x].tolist() for x in own] == [[6, 6, 6]] * COUNT


def test_only_one_of_several_threads_gets_the_gradients() -> None:
    for _ in range(50):
        x = tg.ones((3,)).trace()
        loss = (x * 2.0).sum()

        # The threads end before the next round. All but one of them consume a consumed tape, which is under test.
        said = in_threads(lambda _: loss.backward()[x].tolist())  # type: ignore[tapegrad-tape]  # noqa: B023

        assert said.count([2, 2, 2]) == 1
        assert sum(isinstance(one, TapeError) for one in said) == COUNT - 1


def test_seeds_are_per_thread_and_inherited_by_tasks() -> None:
    async def drawn() -> Any:
        return tg.normal((2,)).tolist()

    expected = tg.normal((2,), rng=0).tolist()
    with tg.random(0):
        assert expected not in in_threads(lambda _: tg.normal((2,)).tolist())
        assert asyncio.run(drawn()) == expected


def test_each_task_draws_from_its_own_seed() -> None:
    async def drawn(seed: int) -> Any:
        with tg.random(seed):
            first = tg.normal((2,)).tolist()
            await asyncio.sleep(0)
            return first, tg.normal((2,)).tolist()

    async def together() -> Any:
        return await asyncio.gather(*map(drawn, range(COUNT)))

    assert asyncio.run(together()) == [asyncio.run(drawn(seed)) for seed in range(COUNT)]


WORKERS = """\
import multiprocessing
import sys
import warnings

import tapegrad as tg
from tapegrad import nn, optim

warnings.simplefilter("ignore")  # Python warns of any fork beside the threads of BLAS


def train(given):
    seed, net, opt, x = given
    with tg.random(seed):
        for _ in range(5):
            opt.step(tg.mse(net((x + tg.normal((8, 3))).trace()), tg.zeros((8, 2))).backward(wrt=net))
    return net, opt, x.sum()


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(3, 4, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(4, 2, rng=2))
    given = [(seed, net, optim.Adam(net), tg.normal((8, 3), rng=seed)) for seed in range(4)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        found = pool.map(train, given)
    for (seed, _, _, x), (other, opt, total) in zip(given, found):
        import copy
        mine, my_opt = copy.deepcopy((net, optim.Adam(net)))
        my_opt = optim.Adam(mine)
        train((seed, mine, my_opt, x))
        assert [p.tolist() for p in mine.parameters().values()] == [p.tolist() for p in other.parameters().values()]
        assert {p.version for p in other.parameters().values()} == {5}
        assert set(opt.parameters.values()) == set(other.parameters().values())
        assert total.tolist() == x.sum().tolist()
    print("the same")
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_worker_processes_train_the_models_they_get(tmp_path: Path, method: str) -> None:
    (tmp_path / "workers.py").write_text(WORKERS, "utf-8")

    done = subprocess.run(
        [sys.executable, "workers.py", method], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.stdout == "the same\n", done.stderr


class Slow(dict[Any, Any]):
    """Lets another thread come in before anything is dropped."""

    def __delitem__(self, key: Any) -> None:
        time.sleep(0.001)
        super().__delitem__(key)


def test_threads_get_their_own_programs_beyond_the_size_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_programs", Slow())
    monkeypatch.setattr(program, "_MAX_PROGRAMS", 1)
    scaled: Any = tg.fused(lambda x, factor: x * factor)

    def multiplied(number: int) -> list[float]:
        factors = [float(1000 * number + step) for step in range(10)]
        return [factor for factor in factors if scaled(tg.ones((2,)), factor).tolist() != [factor] * 2]

    assert in_threads(multiplied) == [[]] * COUNT


def test_threads_that_save_to_one_path_leave_one_complete_file(tmp_path: Path) -> None:
    nets = [nn.Linear(3, 2, rng=seed) for seed in range(COUNT)]

    said = in_threads(lambda number: io.save(nets[number], tmp_path / "model.npz"))

    found = nn.Linear(3, 2, rng=99)
    io.load(found, tmp_path / "model.npz")
    assert said == [None] * COUNT
    assert bits(found) in [bits(net) for net in nets]
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


# The other tapes


def test_a_slot_tape_is_recorded_by_several_threads_and_run_in_another() -> None:
    for _ in range(10):
        tape, one = SlotTape(), np.ones(3)
        x = tape.leaf(one)

        def branch(_: int) -> int:
            y = x  # noqa: B023  # the threads end before the next round
            for _ in range(20):
                y = tape.record_mul(y, one, tape.leaf(one), one)  # noqa: B023
            return y

        branches = in_threads(branch)
        total = branches[0]
        for other in branches[1:]:
            total = tape.record_add(total, other)

        buffers = [np.zeros(3) for _ in range(tape.num_tensors)]
        said = in_threads(lambda _: tape.backward(one, buffers))  # noqa: B023

        assert len({*branches}) == COUNT
        assert said == [None] * COUNT
        assert buffers[x].tolist() == [COUNT * COUNT] * 3  # a path for each branch, and a run for each thread


def test_several_threads_extend_a_pure_tape() -> None:
    @tapem.do
    def started() -> tapem.Do[Any]:
        return (yield from tapem.leaf(tg.ones((3,))))

    for _ in range(20):
        x, tape = started().run(Tape.empty()).unwrap()

        @tapem.do
        def branch(factor: float) -> tapem.Do[Any]:
            y = x  # noqa: B023  # the threads end before the next round
            for _ in range(5):
                y = yield from tapem.scale(y, factor=factor)
            return (yield from tapem.sum(y))

        runs = in_threads(lambda number: branch(float(number)).run(tape).unwrap())  # noqa: B023

        assert len(tape) == 1
        for factor, (loss, longer) in enumerate(runs):
            assert [node.id for node in longer] == [*range(7)]
            assert all(parent in longer for node in longer for parent in node.parents)
            assert loss in longer
            assert tapem.backward(loss).eval(longer).unwrap().of(x).tolist() == [factor**5] * 3


OTHER_TAPES = """\
import multiprocessing
import sys
import warnings

import numpy as np
import tapegrad as tg
from tapegrad import tapem
from tapegrad.slot_tape import SlotTape
from tapegrad.tapem import Tape

warnings.simplefilter("ignore")  # Python warns of any fork beside the threads of BLAS


@tapem.do
def squared(x):
    x = yield from tapem.leaf(x)
    loss = yield from tapem.sum((yield from tapem.mul(x, x)))
    grads = yield from tapem.backward(loss)
    return grads.of(x)


def by_program(x):
    return squared(x).eval(Tape.empty()).unwrap()


def by_slots(x):
    tape, values = SlotTape(), x.numpy()
    slot = tape.leaf(values)
    tape.record_mul(slot, values, slot, values)
    buffers = [np.zeros(3, np.float32) for _ in range(tape.num_tensors)]
    tape.backward(np.ones(3, np.float32), buffers)
    return tg.tensor(buffers[slot])


if __name__ == "__main__":
    given = [tg.normal((3,), rng=seed) for seed in range(6)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        for work in (by_program, by_slots):
            assert [x.tolist() for x in pool.map(work, given)] == [(x * 2.0).tolist() for x in given]
    print("the same")
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_worker_processes_have_their_own_tapes(tmp_path: Path, method: str) -> None:
    (tmp_path / "workers.py").write_text(OTHER_TAPES, "utf-8")

    done = subprocess.run(
        [sys.executable, "workers.py", method], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.stdout == "the same\n", done.stderr


def test_tapes_cannot_be_pickled_but_can_be_copied() -> None:
    x, pure = tapem.leaf(tg.ones((3,))).run(Tape.empty()).unwrap()
    slots = SlotTape()
    slots.leaf(np.ones(3))

    for one in (x, pure):
        with pytest.raises(TapeError, match=r"^a pure tape cannot be pickled; run the program where it is needed$"):
            pickle.dumps(one)
        assert copy.copy(one) is copy.deepcopy(one) is one
    with pytest.raises(TapeError, match=r"^a tape of slots cannot be pickled; record it where it is needed$"):
        pickle.dumps(slots)
    for other in (copy.copy(slots), copy.deepcopy(slots)):
        assert other.leaf(np.ones(2)) == 1
    assert slots.num_tensors == 1
    assert len(pickle.loads(pickle.dumps(Tape.empty()))) == 0  # noqa: S301  # our own
    assert pickle.loads(pickle.dumps(SlotTape())).num_tensors == 0  # noqa: S301  # our own

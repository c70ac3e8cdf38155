"""Workers that make batches ahead: threads of this process, or processes of their own.

Each of W workers makes one batch, so that W batches are made while the loop computes. The order is that of the plan,
with either kind and any number of workers. Leaving the loop, by `break`, by an error or by Ctrl-C, stops the workers.
"""

from __future__ import annotations

import pickle
import signal
import traceback
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from tapegrad.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_NOTICE: Final = 1.0  # seconds until Ctrl-C is noticed, and until a process that should end is killed

Make: TypeAlias = "Callable[[Any], Any]"  # from the rows of a batch to the batch


class Workers(Protocol):
    """Something that makes the batches of a pass."""

    def batches(self, plan: Sequence[Any]) -> Iterator[Any]:
        """Yield the batch of each entry of a plan, in its order."""


class Threads:
    """Threads of this process; they read one dataset at the same time.

    Args:
        make: The function that makes a batch.
        count: The number of threads.
    """

    def __init__(self, make: Make, count: int) -> None:
        self.make = make
        self.count = count

    def batches(self, plan: Sequence[Any]) -> Iterator[Any]:
        """Yield the batch of each entry of a plan, in its order."""
        executor = ThreadPoolExecutor(self.count, thread_name_prefix="tapegrad.data")
        try:
            rest = iter(plan)
            begun = deque(executor.submit(self.make, rows) for rows in islice(rest, self.count))
            while begun:
                item = begun.popleft().result()
                begun.extend(executor.submit(self.make, rows) for rows in islice(rest, 1))
                yield item
        finally:
            executor.shutdown(cancel_futures=True)


class Processes:
    """Processes that each have a copy of the dataset; they start at the first pass, and serve the following ones.

    They are new interpreters on every platform ("spawn"), because a copy of a process with threads may hang.

    Args:
        make: The function that makes a batch. It is pickled, and the dataset with it.
        count: The number of processes.
    """

    def __init__(self, make: Make, count: int) -> None:
        self.make = make
        self.count = count
        self._idle: list[_Worker] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return Processes, (self.make, self.count)  # a copy starts processes of its own

    def batches(self, plan: Sequence[Any]) -> Iterator[Any]:
        """Yield the batch of each entry of a plan, in its order."""
        workers, self._idle = self._idle, []  # a second pass that begins before this one ends has its own
        is_whole = False
        try:
            for _ in range(self.count - len(workers)):
                workers.append(_started(self.make))
            for number, worker in enumerate(workers):
                with suppress(BrokenPipeError, ConnectionResetError):  # it has ended, which `_received` reports
                    worker.connection.send(plan[number :: self.count])
            for number in range(len(plan)):
                yield _received(workers, number)
            is_whole = True
        finally:
            if is_whole and not self._idle:
                self._idle = workers
            else:
                for worker in workers:
                    _stop(worker)


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection[Any, Any]


def _started(make: Make) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(make, theirs), daemon=True)
    try:
        process.start()
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        ours.close()
        message = (
            f"batches: the dataset cannot be sent to a process: {error}; "
            "define its class at the top of a module, or use threads, with processes=False"
        )
        raise DTypeError(message) from error
    finally:
        theirs.close()  # without a copy here, the connection ends with the process
    return _Worker(process, ours)


def _received(workers: Sequence[_Worker], number: int) -> Any:
    worker = workers[number % len(workers)]
    try:
        while not worker.connection.poll(_NOTICE):  # a signal that comes just before the wait does not end it
            pass
        result = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        message = (
            f"batches: worker {number % len(workers) + 1} of {len(workers)} ended with exit code "
            f"{worker.process.exitcode} before it sent a batch; a script that starts processes needs the line "
            'if __name__ == "__main__"'
        )
        raise RuntimeError(message) from None
    if isinstance(result, _Failure):
        result.error.add_note(f"In the worker process:\n{result.trace}")
        raise result.error
    return result


def _stop(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.terminate()
    worker.process.join(_NOTICE)
    worker.process.kill()  # one that ignores the first signal
    worker.process.join()


class _Failure(NamedTuple):
    """What a process sends instead of a batch."""

    error: Exception
    trace: str


def _serve(make: Make, connection: Connection[Any, Any]) -> None:
    """Make the batches of one plan after the other, until the other end of the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the one with the loop stops the others
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            for rows in connection.recv():
                connection.send(_result(make, rows))


def _result(make: Make, rows: Any) -> Any:
    try:
        return make(rows)
    except Exception as error:  # noqa: BLE001  # raised where the batch is received
        trace = traceback.format_exc().rstrip()
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301  # what was just written
        except Exception:  # noqa: BLE001  # a class of the user's may fail in any way, and would end the connection
            plain = RuntimeError(f"{type(error).__name__}: {error}")
            for note in getattr(error, "__notes__", ()):
                plain.add_note(note)
            return _Failure(plain, trace)
        return _Failure(error, trace)

"""Every error that the library raises has a traceback that ends at the caller; other tracebacks are not trimmed.

Run as a program, it calls every public function with invalid arguments, without the comparison of results with rules.
"""

from __future__ import annotations

import importlib
import inspect
import io
import itertools
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from docs.reference import names
from tapegrad import errors, nn, optim
from tapegrad.data import batches
from tapegrad.errors import TapegradError, tracebacks
from tapegrad.io import FileError, load
from tapegrad.progress import EarlyStopping, track
from tapegrad.slot_tape import SlotTape

unseen: Any = tg  # the mistakes below are meant for Python alone
PACKAGE = Path(tg.__file__).parent
SPECIAL_METHODS = {
    "__call__",
    "__getitem__",
    "__setitem__",
    "__len__",
    "__iter__",
    "__array__",
    "__float__",
    "__iadd__",
}

# Called by rules, optimizers and engines, which are themselves called by what ends the traceback; or the process's own.
NOT_PUBLIC = (
    "tapegrad.sizes.",
    "tapegrad.engines.",
    "tapegrad.autograd.tape.GradientTape",
    "tapegrad.optim.optimizer.State",
)
INNER = {"start", "update", "check"}
GLOBAL = {"install_import_hook", "register", "set_threads", "use_fast"}

RUBBISH: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (-1, 0, 7, 2.5, "nope", None, (2, 3), True)),
    lambda: tg.ones((2, 3)),
    lambda: tg.ones((5, 4)),
    lambda: tg.ones((2, 3)).trace(),
    lambda: tg.tensor([1, 2]),
    lambda: nn.Linear(3, 2),
    lambda: np.ones((2, 3)),
    lambda: lambda x: x,
    list,
    object,
]
MADE: dict[str, Callable[[], Any]] = {
    "Adadelta": lambda: optim.Adadelta(nn.Linear(3, 2)),
    "Adam": lambda: optim.Adam(nn.Linear(3, 2)),
    "AdamW": lambda: optim.AdamW(nn.Linear(3, 2)),
    "Batches": lambda: batches(tg.ones((3, 2)), size=2),
    "Buffer": lambda: nn.Buffer(tg.ones((3,))),
    "EarlyStopping": lambda: EarlyStopping("loss", patience=2),
    "Gradients": lambda: tg.ones((2, 3)).trace().sum().backward(),
    "Linear": lambda: nn.Linear(3, 2),
    "LossScaler": optim.LossScaler,
    "ModelEMA": lambda: nn.ModelEMA(nn.Linear(3, 2)),
    "OwnedTape": lambda: tg.ones((2,)).trace().tape,
    "Param": lambda: nn.Linear(3, 2).weight,
    "Quantized": lambda: tg.quantize(tg.ones((4, 4)), tg.Symmetric()),
    "RMSprop": lambda: optim.RMSprop(nn.Linear(3, 2), 0.1),
    "Run": lambda: track(range(3), show=False),
    "SGD": lambda: optim.SGD(nn.Linear(3, 2), 0.1),
    "Sequential": lambda: nn.Sequential(nn.Linear(3, 2)),
    "SlotTape": SlotTape,
    "Tensor": lambda: tg.ones((2, 3)),
}


OPS: list[tuple[Callable[[], Any], str]] = [
    (lambda: unseen.gelu(tg.ones((2,)), approximate="erf"), "approximate is 'erf'"),
    (lambda: unseen.softmax(tg.ones((2,)), 0, 1, 2), "softmax takes x, axis by position"),
    (unseen.uniform, "missing 1 required"),
    (lambda: unseen.argmax(tg.ones((2, 3)), keepdims=tg.ones((2, 3))), "bool: a tensor of shape (2, 3)"),
    (lambda: nn.Sequential(Approximate())(tg.ones((2,))), "approximate is 'erf'"),
    (lambda: unseen.argclip(tg.ones((2,)), 3), "has no attribute 'argclip'"),
]


def entries() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return every public function and class, and every public method of what can be made here."""
    for name in names():
        if name.short in GLOBAL or name.path.startswith(NOT_PUBLIC):
            continue
        module = importlib.import_module(name.module)
        thing = getattr(module, name.short)
        if callable(thing):
            yield name.path, partial(getattr, module, name.short)
        if isinstance(thing, type) and name.short in MADE:
            for method in sorted(dir(thing)):
                is_public = method in SPECIAL_METHODS or not (method.startswith("_") or method in INNER)
                if is_public and callable(inspect.getattr_static(thing, method)):
                    yield f"{name.path}.{method}", partial(method_of, name.short, method)


def method_of(kind: str, method: str) -> Any:
    return getattr(MADE[kind](), method)


def given(call: Any, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Draw arguments for a call, right in their number and in nothing else."""
    args, kwargs = [], {}
    for one in inspect.signature(call).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            args += [rng.choice(RUBBISH)() for _ in range(rng.randint(0, 2))]
        elif one.kind is one.KEYWORD_ONLY and rng.random() < (0.3 if one.default is not one.empty else 1):
            kwargs[one.name] = rng.choice(RUBBISH)()
        elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            if one.default is not one.empty and rng.random() < 0.5:
                break
            args.append(rng.choice(RUBBISH)())
    return args, kwargs


def tried(call: Any, args: list[Any], kwargs: dict[str, Any]) -> Exception | None:
    """Call, and iterate over the result as a loop would."""
    try:
        with redirect_stdout(io.StringIO()):  # one function prints
            result = call(*args, **kwargs)
        if inspect.isgenerator(result):
            list(itertools.islice(result, 3))
    except Exception as error:  # noqa: BLE001  # of any kind, for the arguments are
        return error
    return None


def frames(error: BaseException) -> list[FrameType]:
    """Return the frames under the one that called."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]


def is_raised_inside(error: BaseException) -> bool:
    last = [*traceback.walk_tb(error.__traceback__)][-1][0]
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    is_own = Path(last.f_code.co_filename).is_relative_to(PACKAGE)
    return is_own and at is not None and tracebacks._raises(last, at.tb_lasti)


def main() -> None:
    """Print every entry that a rejection leaves with frames of the library on it."""
    rng, rejected, long = random.Random(0), set(), {}  # noqa: S311  # no secrets
    for path, get in entries():
        for _ in range(12):
            call = get()
            if not callable(call):
                break
            try:
                args, kwargs = given(call, rng)
            except ValueError:  # one of Python's own, which has no signature
                break
            error = tried(call, args, kwargs)
            if error is not None and (isinstance(error, TapegradError) or is_raised_inside(error)):
                rejected.add(path)
                if frames(error):
                    long[path] = [frame.f_code.co_qualname for frame in frames(error)]
    for call, message in OPS:
        error = tried(call, [], {})
        assert error is not None
        assert message in str(error), error
        if {Path(frame.f_code.co_filename) for frame in frames(error)} - {Path(__file__)}:
            long[message] = [frame.f_code.co_qualname for frame in frames(error)]
    for path, names_of_frames in long.items():
        print(path, *names_of_frames)  # noqa: T201  # the program reports


def test_every_error_of_a_public_function_ends_at_the_caller(tmp_path: Path) -> None:
    environment = os.environ | {"TAPEGRAD_CHECK_RULES": "", "PYTHONPATH": str(PACKAGE.parent)}

    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_a_generator_that_ends_with_the_interpreter_is_quiet() -> None:
    program = "import tapegrad as tg; passed = iter(tg.data.batches(tg.ones((4, 2)), size=2)); next(passed)"

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stderr == ""


def write() -> None:
    tg.ones((3,))[0] = 1.0  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (write, "a tensor is immutable"),
        (lambda: len(tg.tensor(1.0)), "has no length"),
        (lambda: [*tg.tensor(1.0)], r"tensor of shape \(\) has no length"),
        (lambda: unseen.clamp_between, "has no attribute 'clamp_between'"),
        (lambda: unseen.nn.Dropout(7), "from 0 to 1"),
        (lambda: optim.SGD(nn.Linear(3, 2), -0.1), "SGD: lr is -0.1"),  # type: ignore[arg-type]  # out of range
        (lambda: optim.cosine(0.1, steps=0), "steps is 0"),  # type: ignore[arg-type]  # out of range
        (lambda: unseen.data.batches(tg.ones((3, 2))), "missing 1 required"),
        (lambda: load(nn.Linear(3, 2), "model.txt"), "suffix .txt"),
        (lambda: track(range(3), epochs=0), "epochs is 0"),
        (lambda: [[*one] for one in track(range(2), show=False, until=EarlyStopping("x", patience=1))], "watches x"),
        (lambda: SlotTape().record_add(0, 1), "slot 0 but the tape has 0 slots"),
        (lambda: SlotTape().backward(1.0, []), "nothing is recorded"),
        (lambda: tg.testing.check_gradients(tg.sum, tg.ones((2,))), "need float64"),
        (lambda: unseen.guarded(3), "not a function"),
    ],
)
def test_builtin_exceptions_of_the_library_end_at_the_caller_too(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        call()

    assert {Path(frame.f_code.co_filename).name for frame in frames(caught.value)} == {Path(__file__).name}


def test_an_error_of_a_damaged_file_shows_no_frames_of_other_packages(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_text("a letter")

    with pytest.raises(FileError, match="no npz file") as caught:
        load(nn.Linear(3, 2), tmp_path / "model.npz")

    assert frames(caught.value) == []
    assert caught.value.__suppress_context__


def test_errors_of_other_code_keep_their_frames() -> None:
    class Broken:
        def arrays(self) -> dict[str, Any]:
            raise ValueError("no state today")

        def restore(self, arrays: Any) -> None: ...

    with pytest.raises(ZeroDivisionError) as of_the_user:
        nn.Sequential(Divided())(tg.ones((2,)))
    with pytest.raises(ValueError, match="no state today") as of_a_part:
        tg.io.save(Broken(), "model.npz")

    for caught in (of_the_user, of_a_part):
        under = [Path(frame.f_code.co_filename) for frame in frames(caught.value)]
        assert any(path.is_relative_to(PACKAGE) for path in under)
        assert under[-1] == Path(__file__)


class Approximate(nn.Module):
    def forward(self, x: Any) -> Any:
        return unseen.gelu(x, approximate="erf")


class Divided(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * (1 // 0)


def test_an_error_in_a_generator_of_the_library_ends_at_the_loop() -> None:
    @tracebacks.public_api
    def numbers() -> Iterator[int]:
        yield 1
        raise errors.ShapeError("two is too many")

    with pytest.raises(errors.ShapeError) as caught:
        list(numbers())

    assert "walk" not in [frame.f_code.co_name for frame in frames(caught.value)]


if __name__ == "__main__":
    main()

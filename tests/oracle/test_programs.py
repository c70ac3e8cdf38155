"""Random programs against PyTorch: the value of every step, and the gradient of every leaf.

`make oracle` installs torch; without it these tests are skipped.

    python tests/oracle/test_programs.py [programs] [--seed SEED]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from inspect import Parameter, signature
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tapegrad.autograd.registry import OPS
from tests.oracle.differences import OTHERWISE
from tests.oracle.test_torch import COMPARED, function_of, torch
from tests.test_programs import NAMES as DRAWN
from tests.test_programs import Program, composed, direction, flat, gradients, is_fixed, rounded

NAMES = [name for name in DRAWN if name in COMPARED and name not in OTHERWISE]
# What torch has not, or not with the options of a random call.
ERRORS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError, AssertionError)


class Torch:
    """The ops in torch's words: by position what may go by position, by name the rest."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function, known = function_of(name), signature(OPS[name].function)

        def call(*args: Any, **options: Any) -> Any:
            bound = known.bind(*args, **options)
            bound.apply_defaults()
            rest = {key: one for key, one in options.items() if known.parameters[key].kind is Parameter.KEYWORD_ONLY}
            if () in options.values() or (rest.get("keepdims") and bound.arguments["axis"] is None):
                message = "torch takes no axis for all of them, and keeps none where all are meant"
                raise NotImplementedError(message)
            given = list(bound.args)
            while (
                given
                and given[-1] is None
                and bound.signature.parameters[[*bound.arguments][len(given) - 1]].default is None
            ):
                given.pop()
            return function(*given, **rest)

        return call


def of_torch(program: Program) -> tuple[list[Any], dict[str, Any]]:
    """Return what a program gives in torch, and the gradient of each float leaf."""
    leaves = {name: torch.tensor(array) for name, array in program.leaves.items()}
    wanted = {name: x for name, x in leaves.items() if x.is_floating_point() and not is_fixed(name)}
    for x in wanted.values():
        x.requires_grad_()
    made = iter(leaves.values())
    results = flat(program.run(Torch(), lambda _: next(made)), program.steps)
    floats = [(place, y) for place, y in enumerate(results) if y.dtype == torch.float64 and y.requires_grad]
    loss: Any = sum((y * torch.tensor(direction(tuple(y.shape), place))).sum() for place, y in floats)
    found = torch.autograd.grad(loss, [*wanted.values()], allow_unused=True) if floats else [None] * len(wanted)
    zeros = {name: np.zeros(x.shape) for name, x in wanted.items()}
    grads = {name: zeros[name] if one is None else one.numpy() for name, one in zip(wanted, found, strict=True)}
    return [y.detach().numpy() for y in results], grads


def compare(program: Program) -> bool:
    """Hold a program to torch; False where torch does not know one of its calls."""
    try:
        expected, derivatives = of_torch(program)
    except ERRORS:
        return False
    results, grads = gradients(program)
    try:
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, 1e-8, 1e-10)
            assert ours.shape == theirs.shape
        for name, gradient in grads.items():
            np.testing.assert_allclose(gradient, derivatives[name], 1e-6, 1e-8, err_msg=name)
    except AssertionError:
        if is_decided_by_rounding(program, results, grads):
            return False
        raise
    return True


def is_decided_by_rounding(program: Program, results: list[Any], grads: dict[str, Any]) -> bool:
    """Return whether leaves that differ in the last digits give other results, as the qr of a singular matrix does."""
    others, other_grads = gradients(rounded(program))
    pairs = [(one.numpy(), other.numpy()) for one, other in zip(results, others, strict=True)]
    return not all(np.allclose(*pair, 1e-8, 1e-10, equal_nan=True) for pair in pairs) or not all(
        np.allclose(grads[name], other_grads[name], 1e-6, 1e-8, equal_nan=True) for name in grads
    )


def compared(rounds: int, seed: int) -> tuple[int, int]:
    """Compose so many programs that end with each op; counts those that torch knows, and all."""
    dice, known, count = Random(seed), 0, 0  # noqa: S311  # draws programs, not secrets
    for _ in range(rounds):
        for name in NAMES:
            program = composed(dice, [*dice.choices(NAMES, k=dice.randint(0, 3)), name])
            # Of nothing torch often has another shape, or none.
            if program.steps and all(array.size for array in program.leaves.values()):
                count += 1
                known += compare(program)
    return known, count


@pytest.mark.filterwarnings("ignore")  # both warn of edges, in words of their own
def test_programs_equal_torch() -> None:
    with np.errstate(all="ignore"):
        known, count = compared(settings().max_examples // 100, seed=0)

    assert count > len(NAMES) / 2
    assert known > count / 2


def main() -> None:
    """Compare more programs than a test has time for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("programs", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with np.errstate(all="ignore"):
        known, count = compared(-(-options.programs // len(NAMES)), options.seed)
    sys.stdout.write(f"{known} of {count} programs compared\n")


if __name__ == "__main__":
    main()

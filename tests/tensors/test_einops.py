"""einops on tensors: the same values as on arrays, with gradients, and its backend only where it is imported."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tapegrad as tg
from tapegrad.tensors import Tensor

einops: Any = pytest.importorskip("einops")

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
CALLS: list[tuple[str, str, tuple[Any, ...], dict[str, int]]] = [
    ("rearrange", "a b c -> (c a) b", (), {}),
    ("rearrange", "a b (c d) -> d a (b c)", (), {"d": 2}),
    ("rearrange", "... c -> c ...", (), {}),
    ("rearrange", "a b c -> a () (b c)", (), {}),
    ("repeat", "a b c -> a b c r", (), {"r": 3}),
    ("repeat", "a b c -> a (b 2) c", (), {}),
    *(("reduce", "a b c -> b", (name,), {}) for name in ("sum", "mean", "max", "min", "prod")),
    ("reduce", "a (b one) c -> c 1 a", ("sum",), {"one": 1}),
]


@pytest.mark.parametrize(("function", "pattern", "options", "sizes"), CALLS)
def test_values_and_gradients_are_those_of_the_array(
    function: str, pattern: str, options: tuple[Any, ...], sizes: dict[str, int]
) -> None:
    call = getattr(einops, function)
    x = tg.tensor(ARRAY)

    y = call(x.trace(), pattern, *options, **sizes)

    expected = call(ARRAY, pattern, *options, **sizes)
    assert_allclose(y.detach().numpy(), expected, rtol=1e-6)
    grads = y.sum().backward()
    assert grads[x].shape == ARRAY.shape
    if function != "reduce":
        assert_array_equal(grads[x].numpy(), np.full(ARRAY.shape, expected.size / ARRAY.size, np.float32))


def test_lists_einsum_pack_and_bools() -> None:
    x = tg.tensor(ARRAY)

    assert_array_equal(einops.rearrange([x, x], "n a b c -> a (n b) c").numpy(), np.concatenate([ARRAY, ARRAY], 1))
    assert_array_equal(einops.einsum(x, x, "a b c, a d c -> a b d").numpy(), ARRAY @ ARRAY.transpose(0, 2, 1))
    assert einops.pack([x, x], "a * c")[0].shape == (2, 6, 4)
    assert einops.reduce(x > 11.0, "a b c -> a", "any").tolist() == [False, True]


def test_a_parameter_is_rearranged() -> None:
    weight = tg.nn.Param(tg.ones((2, 12)))

    assert einops.rearrange(weight, "b (h d) -> b h d", h=4).shape == (2, 4, 3)


def test_a_wrong_pattern_is_an_error_of_einops() -> None:
    with pytest.raises(einops.EinopsError):
        einops.rearrange(tg.ones((2, 12)), "b (h d) -> b h d", h=5)


@pytest.mark.parametrize(
    "order", ["import einops\nimport tapegrad as tg", "import tapegrad as tg\ntg.ones(1)\nimport einops"]
)
def test_the_backend_is_registered_in_either_order(order: str) -> None:
    lines = [
        *("import sys", order, "print(einops.rearrange(tg.ones((2, 3)), 'a b -> b a').shape)"),
        "print([one for one in sys.meta_path if 'einops' in type(one).__module__], type(einops.__loader__).__name__)",
    ]

    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("(3, 2)\n[] SourceFileLoader\n", "")


def test_einops_is_not_imported_without_need() -> None:
    program = "import sys, tapegrad as tg; tg.ones(3); print('einops' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("False\n", "")
    assert issubclass(tg.nn.Param, Tensor)

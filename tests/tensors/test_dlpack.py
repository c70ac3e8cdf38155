"""DLPack: arrays of other libraries become tensors, and tensors arrays of other libraries, by copying."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, TapeError


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_])
def test_numpy_reads_a_tensor(dtype: Any) -> None:
    x = tg.tensor(np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype))

    array = np.from_dlpack(x)

    assert array.dtype == dtype
    assert array.tolist() == x.tolist()


def test_jax_reads_a_tensor() -> None:
    assert jnp.from_dlpack(tg.tensor([[1.0, 2.0]])).tolist() == [[1.0, 2.0]]


def test_the_reader_may_write_into_its_copy() -> None:
    x = tg.tensor([1.0, 2.0])

    np.from_dlpack(x, copy=True)[0] = 7
    np.from_dlpack(x)[0] = 7

    assert x.tolist() == [1.0, 2.0]


def test_without_a_copy_the_array_is_read_only() -> None:
    x = tg.tensor([1.0, 2.0])

    array = np.from_dlpack(x, copy=False)

    assert np.shares_memory(array, x.numpy())
    assert not array.flags.writeable


def test_a_tensor_is_on_the_cpu() -> None:
    assert tg.tensor(1.0).__dlpack_device__() == np.ones(1).__dlpack_device__()


def test_a_tape_is_not_exported() -> None:
    with pytest.raises(TapeError, match="the tensor has a tape, which another library would lose; detach it first"):
        np.from_dlpack(tg.tensor([1.0]).trace())


def test_bfloat16_is_not_exported() -> None:
    x = tg.tensor([1.0]).astype(tg.bfloat16)

    with pytest.raises(DTypeError, match=r"NumPy exports no bfloat16 by DLPack: convert with x.astype\(np.float32\)"):
        np.from_dlpack(x)


def test_an_array_of_another_library_is_copied() -> None:
    array = np.array([[1, 2], [3, 4]], np.int32)

    x = tg.from_dlpack(array)
    array[0, 0] = 9

    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.dtype == np.int32
    assert tg.from_dlpack(jnp.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert tg.from_dlpack(tg.tensor([1.0])).tolist() == [1.0]


def test_what_has_no_protocol_is_rejected() -> None:
    anything: Any = [1.0]
    message = "from_dlpack: x is a list without __dlpack__; tg.tensor takes lists and arrays"
    with pytest.raises(DTypeError) as caught:
        tg.from_dlpack(anything)
    assert str(caught.value) == message


def test_what_numpy_cannot_read_is_rejected() -> None:
    class OnGpu:
        def __dlpack__(self, **_: Any) -> Any:
            message = "not on the CPU"
            raise BufferError(message)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    with pytest.raises(DTypeError, match=r"^from_dlpack: NumPy cannot read x, an OnGpu: "):
        tg.from_dlpack(OnGpu())


def test_a_tensor_with_a_tape_is_rejected() -> None:
    anything: Any = tg.tensor([1.0]).trace()
    with pytest.raises(TapeError, match="the tensor has a tape"):
        tg.from_dlpack(anything)

"""GroupedQueryAttention: values, generation with a cache, gradients and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import ShapeError
from tapegrad.nn import GroupedQueryAttention, MultiHeadAttention, cast
from tapegrad.ops import concat, multi_head_attention, normal, rotary_embedding, tensor
from tapegrad.testing import check_gradients

X = normal((2, 7, 12), rng=0)


def test_it_is_attention_between_projections() -> None:
    layer, mask = GroupedQueryAttention(12, 4, 2, rng=0), tensor(np.random.default_rng(0).random((7, 7)) < 0.7)

    q, k, v = layer.query(X), layer.key(X), layer.value(X)

    assert k.shape == v.shape == (2, 7, 6)
    attended: Any = multi_head_attention(q, k, v, heads=4, kv_heads=2, mask=mask, causal=True)
    assert layer(X, mask=mask).tolist() == layer.out(attended).tolist()
    assert len(GroupedQueryAttention(12, 4, 2, bias=False).parameters()) == 4
    assert repr(layer) == "GroupedQueryAttention(12, 4, 2)"


def test_with_as_many_heads_of_keys_it_is_multi_head_attention() -> None:
    layer, other = GroupedQueryAttention(12, 4, 4, rng=0), MultiHeadAttention(12, 4, rng=0)

    np.testing.assert_allclose(layer(X).numpy(), other(X, X, causal=True).numpy(), rtol=1e-6)


def test_rotary_rotates_each_head_by_the_position_of_its_row() -> None:
    layer = GroupedQueryAttention(12, 3, 1, rotary=True, rng=0)

    def heads(x: Any, count: int) -> Any:
        turned = [rotary_embedding(x[:, :, 4 * head : 4 * head + 4]) for head in range(count)]
        return concat(turned, axis=2)

    q, k, v = heads(layer.query(X), 3), heads(layer.key(X), 1), layer.value(X)
    expected = layer.out(multi_head_attention(q, k, v, heads=3, kv_heads=1, causal=True))
    np.testing.assert_allclose(layer(X).numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("sections", [(1,) * 7, (7,), (3, 1, 2, 1), (4, 3)], ids=str)
def test_rows_with_a_cache_equal_all_rows_at_once(rotary: bool, sections: tuple[int, ...]) -> None:  # noqa: FBT001  # a case
    layer = cast(GroupedQueryAttention(12, 6, 3, rotary=rotary, rng=0), np.float64)
    x, cache, parts, start = X.astype(np.float64), layer.cache(2, 9), [], 0

    for n in sections:
        y, cache = layer.decode(x[:, start : start + n], cache)
        parts.append(y)
        start += n

    np.testing.assert_allclose(np.concatenate([y.numpy() for y in parts], 1), layer(x).numpy(), rtol=1e-11)
    assert cache.length == 7
    assert cache.keys.shape == cache.values.shape == (2, 9, 6)


def test_two_continuations_start_from_one_cache() -> None:
    layer = GroupedQueryAttention(12, 6, 1, rotary=True, rng=0)
    _, cache = layer.decode(X[:, :5], layer.cache(2, 8))
    before = cache.keys.tolist()

    one, _ = layer.decode(X[:, 5:6], cache)
    other, _ = layer.decode(X[:, 6:7], cache)

    np.testing.assert_allclose(one.numpy(), layer(X)[:, 5:6].numpy(), rtol=1e-4, atol=1e-6)
    skipped: Any = concat([X[:, :5], X[:, 6:7]], axis=1)
    np.testing.assert_allclose(other.numpy(), layer(skipped)[:, 5:].numpy(), rtol=1e-4, atol=1e-6)
    assert cache.keys.tolist() == before


def test_all_parameters_have_gradients() -> None:
    layer = cast(GroupedQueryAttention(4, 2, 1, rotary=True, rng=0), np.float64)
    x = normal((3, 4), dtype=np.float64, rng=1)

    grads = (layer(x.trace()) ** 3).sum().backward(wrt=layer)

    # The bias of the keys shifts all scores of a query by the same amount only without rotation.
    assert all(np.abs(grads[weight].numpy()).max() > 0 for weight in layer.parameters().values())
    check_gradients(layer, x, order=2)


def test_what_does_not_fit_is_rejected() -> None:
    layer = GroupedQueryAttention(12, 4, 2, rng=0)
    _, cache = layer.decode(X, layer.cache(2, 9))

    with pytest.raises(
        ShapeError, match=r"^GroupedQueryAttention\.decode: the cache has 7 of 9 rows, so 3 more do not fit$"
    ):
        layer.decode(X[:, :3], cache)
    with pytest.raises(ShapeError, match=r"^GroupedQueryAttention\.decode: B is 1 in x but 2 in cache\.keys$"):
        layer.decode(X[:1, :1], cache)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(
        ShapeError, match=r"cache\.keys is \(2, 9, 6\) but \(B, M, 3\) is expected: axis 2 is 6, not 3$"
    ):
        GroupedQueryAttention(12, 4, 1).decode(X[:, :1], cache)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(
        ShapeError, match=r"^GroupedQueryAttention: rotary needs heads of an even width, not 12 // 4 = 3$"
    ):
        GroupedQueryAttention(12, 4, 2, rotary=True)  # type: ignore[tapegrad-shape]  # under test

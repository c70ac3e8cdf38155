"""attention and rotary_embedding: values, masks, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Param
from tapegrad.ops import (
    multi_head_attention,
    normal,
    ones,
    rotary_embedding,
    scaled_dot_product_attention,
    tensor,
    zeros,
)
from tapegrad.ops.attention import multi_head_attention_shape, rotary_embedding_shape
from tapegrad.sizes import named, show
from tapegrad.testing import check_gradients, check_shape_rule
from tests.slow import slow

NAN, INF = np.nan, np.inf


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def three(n: int = 2, m: int = 5, e: int = 4, v: int = 6, batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    return real(*batch, n, e), real(*batch, m, e, seed=1), real(*batch, m, v, seed=2)


HOLES: Any = tensor([[True, False, True, True, False], [False, False, False, False, False]])
BOTH = {"mask": HOLES, "causal": True, "scale": -2.0}
WHOLE: Any = tensor([[1, 2]])  # mypy rejects it before it runs


# scaled_dot_product_attention


def test_values_computed_by_hand() -> None:
    q: Any = tensor([[2.0, 0.0], [0.0, 0.0]], np.float64)
    k: Any = tensor([[1.0, 5.0], [0.0, 7.0]], np.float64)
    v: Any = tensor([[10.0], [20.0]], np.float64)

    # The first query fits the keys by 2 and 0, times 1 / √2 or 0.5; the second fits both alike.
    first, scaled = 1 / (1 + math.exp(-math.sqrt(2))), 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(scaled_dot_product_attention(q, k, v).numpy(), [[20 - 10 * first], [15.0]], rtol=1e-14)
    np.testing.assert_allclose(
        scaled_dot_product_attention(q, k, v, scale=0.5).numpy(), [[20 - 10 * scaled], [15.0]], rtol=1e-14
    )
    assert scaled_dot_product_attention(q, k, v, scale=0).tolist() == [[15], [15]]


def test_a_query_attends_to_what_the_mask_allows() -> None:
    q, k, v = three()

    y = scaled_dot_product_attention(q, k, v, mask=HOLES).numpy()

    rows = np.array([0, 2, 3])
    alone = scaled_dot_product_attention(q[:1], tensor(k.numpy()[rows]), tensor(v.numpy()[rows])).numpy()
    np.testing.assert_allclose(y[:1], alone, rtol=1e-14)
    assert y[1].tolist() == [0] * 6


def test_a_causal_query_attends_to_earlier_positions_and_itself() -> None:
    q, k, v = three(n=5)

    y = scaled_dot_product_attention(q, k, v, causal=True).numpy()

    for n in range(1, 6):
        alone = scaled_dot_product_attention(q[n - 1 : n], k[:n], v[:n]).numpy()
        np.testing.assert_allclose(y[n - 1 : n], alone, rtol=1e-13)
    both = scaled_dot_product_attention(q, k, v, causal=True, mask=HOLES[:1]).numpy()
    np.testing.assert_allclose(both[1], v.numpy()[0])  # key 1 is behind the mask


def test_leading_axes_broadcast() -> None:
    q, k, v = real(7, 1, 2, 4), real(3, 5, 4, seed=1), real(5, 6, seed=2)
    mask: Any = tensor(np.random.default_rng(0).random((3, 1, 5)) < 0.5)

    y = scaled_dot_product_attention(q, k, v, mask=mask)

    assert y.shape == (7, 3, 2, 6)
    for i, j in np.ndindex(7, 3):
        alone = scaled_dot_product_attention(q[i, 0], k[j], v, mask=mask[j]).numpy()
        np.testing.assert_allclose(y.numpy()[i, j], alone, rtol=1e-12)


def test_a_batch_of_values_may_have_a_batch_of_masks() -> None:
    q, k, _ = three()
    v, mask = real(3, 5, 6, seed=2), tensor(np.random.default_rng(0).random((3, 2, 5)) < 0.5)

    check_gradients(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask=mask), q, k, v)


@pytest.mark.parametrize(
    "options", [{}, {"mask": HOLES}, {"causal": True}, {"mask": HOLES, "causal": True, "scale": 2}]
)
def test_gradients_can_be_differentiated(options: Any) -> None:
    check_gradients(lambda q, k, v: scaled_dot_product_attention(q, k, v, **options), *three(), order=2)


@pytest.mark.parametrize("options", [{}, {"mask": HOLES}, {"causal": True}])
def test_a_bias_is_added_to_the_scores(options: Any) -> None:
    q, k, v = three(batch=(3,))
    bias: Any = real(3, 1, 5, seed=3)

    y = scaled_dot_product_attention(q, k, v, bias=bias, scale=0.5, **options).numpy()

    # A bias of q k is a product of wider queries and keys: the bias of a key beside a query of 1.
    ones_and_q = np.concatenate([q.numpy(), np.full((3, 2, 1), 2.0)], -1)
    bias_and_k = np.concatenate([k.numpy(), bias.numpy().swapaxes(-1, -2)], -1)
    wider = scaled_dot_product_attention(tensor(ones_and_q), tensor(bias_and_k), v, scale=0.5, **options).numpy()
    np.testing.assert_allclose(y, wider, rtol=1e-13)
    for shape in ((2, 5), (5,), (2, 1), ()):
        check_gradients(
            lambda q, k, v, b: scaled_dot_product_attention(q, k, v, bias=b, **options),
            *(three(e=1, v=1)),
            real(*shape, seed=3),
            order=2,
        )


def test_an_infinite_bias_hides_keys() -> None:
    q, k, v = three()
    hidden: Any = tensor(np.where(HOLES.numpy(), 0.0, -np.inf))

    y = scaled_dot_product_attention(q.trace(), k, v, bias=hidden)

    np.testing.assert_array_equal(y.numpy(), scaled_dot_product_attention(q, k, v, mask=HOLES).numpy())
    assert np.isfinite(y.sum().backward()[q].numpy()).all()


def test_a_bias_beside_products_that_overflow() -> None:
    q: Any = tensor([[1e30], [1e30]])
    k: Any = tensor([[1e30], [1e30], [-1e30]])
    bias: Any = tensor([[0.0, -np.inf, 0.0], [-np.inf, 0.0, 3e38]])

    y = scaled_dot_product_attention(q, k, tensor([[1.0], [2.0], [3.0]]), bias=bias)

    assert y.tolist() == [[1], [2]]


@pytest.mark.parametrize("shape", [(2, 5), (4, 2, 5), (3, 4, 2, 5), (3, 1, 2, 5), (5,)], ids=str)
@pytest.mark.parametrize("kv_heads", [None, 2])
def test_each_head_has_its_bias(kv_heads: int | None, shape: tuple[int, ...]) -> None:
    groups = kv_heads or 4
    q, k, v = real(3, 2, 8), real(3, 5, 2 * groups, seed=1), real(3, 5, groups, seed=2)
    bias: Any = real(*shape, seed=3)

    y = multi_head_attention(q, k, v, heads=4, kv_heads=kv_heads, bias=bias, causal=True).numpy()

    each = np.broadcast_to(bias.numpy(), (3, 4, 2, 5))
    for head in range(4):
        of_q, group = slice(2 * head, 2 * head + 2), head * groups // 4
        of_k, of_v = slice(2 * group, 2 * group + 2), slice(group, group + 1)
        alone = scaled_dot_product_attention(
            q[:, :, of_q], k[:, :, of_k], v[:, :, of_v], bias=tensor(each[:, head]), causal=True
        )
        np.testing.assert_allclose(y[:, :, head : head + 1], alone.numpy(), rtol=1e-13)
    if len(shape) == 3:
        check_gradients(lambda b: multi_head_attention(q, k, v, heads=4, kv_heads=kv_heads, bias=b), bias)


def test_gradients_are_summed_where_operands_broadcast() -> None:
    check_gradients(scaled_dot_product_attention, real(2, 1, 2, 3), real(3, 2, 3, seed=1), real(2, 1, seed=2), order=2)


def test_only_requested_gradients_are_computed() -> None:
    q, k, v = three()

    for position in range(3):
        operands = [x.trace() if one == position else x for one, x in enumerate((q, k, v))]
        grads = scaled_dot_product_attention(*operands).sum().backward()
        assert [x in grads for x in (q, k, v)] == [one == position for one in range(3)]


def test_finite_operands_give_finite_averages() -> None:
    q: Any = tensor([[1e30, -1e30], [1e30, 1e20], [0.0, 0.0]])
    k: Any = tensor([[1e30, 1e30], [1e25, -1e30], [0.0, 0.0]])
    v: Any = tensor([[1.0], [2.0], [3.0]])

    y = scaled_dot_product_attention(q.trace(), k, v)
    dq = y.sum().backward()[q].numpy()

    # The first query fits the first key by 1e60 - 1e60, and the second by 1e55 + 1e60.
    assert y.tolist() == [[2], [1], [2]]
    assert np.isfinite(dq).all()
    hidden = scaled_dot_product_attention(q, k, v, mask=tensor([[True, False, True]] * 2 + [[False] * 3]), scale=-1)
    assert hidden.tolist() == [[2], [3], [0]]


def test_infinities_and_nan_stay_in_their_row() -> None:
    q: Any = tensor([[NAN, 1.0], [INF, 1.0], [1.0, 1.0]])

    y = scaled_dot_product_attention(q, tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[5.0], [7.0]])).numpy()

    assert np.isnan(y[:2]).all()
    assert 5 < y[2, 0] < 7


def test_empty_keys_give_zeros() -> None:
    assert scaled_dot_product_attention(zeros((2, 3)), zeros((0, 3)), zeros((0, 4))).tolist() == [[0] * 4] * 2
    assert scaled_dot_product_attention(zeros((0, 3)), zeros((2, 3)), zeros((2, 4))).shape == (0, 4)
    assert scaled_dot_product_attention(zeros((2, 0)), zeros((2, 0)), ones((2, 1))).tolist() == [[1], [1]]
    assert scaled_dot_product_attention(zeros((1, 1)), zeros((1, 1)), tensor([[7.0]])).tolist() == [[7]]
    check_gradients(scaled_dot_product_attention, real(2, 3), real(0, 3), real(0, 4))


# multi_head_attention


def test_heads_are_independent() -> None:
    q, k, v = three(batch=(3,))
    mask: Any = tensor(np.random.default_rng(0).random((3, 2, 5)) < 0.5)

    y = multi_head_attention(q, k, v, heads=2, mask=mask).numpy()

    for head in range(2):
        e, w = slice(2 * head, 2 * head + 2), slice(3 * head, 3 * head + 3)
        alone = scaled_dot_product_attention(q[:, :, e], k[:, :, e], v[:, :, w], mask=mask).numpy()
        np.testing.assert_allclose(y[:, :, w], alone, rtol=1e-13)


def test_one_head_is_plain_attention() -> None:
    q, k, v = three()

    for options in ({}, {"mask": HOLES}, {"causal": True}, {"mask": tensor([True, True, False, True, False])}):
        y = multi_head_attention(q, k, v, heads=1, **options)
        np.testing.assert_allclose(y.numpy(), scaled_dot_product_attention(q, k, v, **options).numpy(), rtol=1e-14)


@pytest.mark.parametrize("options", [{}, {"mask": HOLES}, {"causal": True}])
def test_gradients_of_heads_can_be_differentiated(options: Any) -> None:
    check_gradients(lambda q, k, v: multi_head_attention(q, k, v, heads=2, **options), *three(), order=2)


@pytest.mark.parametrize("mask", [None, (2, 5), (3, 2, 5), (5,)], ids=str)
def test_a_head_of_keys_serves_adjacent_heads_of_queries(mask: tuple[int, ...] | None) -> None:
    q, k, v = real(3, 2, 12), real(3, 5, 6, seed=1), real(3, 5, 4, seed=2)
    hidden: Any = None if mask is None else tensor(np.random.default_rng(0).random(mask) < 0.5)

    y = multi_head_attention(q, k, v, heads=4, kv_heads=2, mask=hidden)

    # Head 0 of the keys is repeated for heads 0 and 1 of the queries, head 1 for heads 2 and 3.
    keys, values = (tensor(x.numpy().reshape(3, 5, 2, -1).repeat(2, axis=2).reshape(3, 5, -1)) for x in (k, v))
    alone = multi_head_attention(q, keys, values, heads=4, mask=hidden)
    assert y.shape == (3, 2, 8)
    np.testing.assert_allclose(y.numpy(), alone.numpy(), rtol=1e-13)
    check_gradients(lambda q, k, v: multi_head_attention(q, k, v, heads=4, kv_heads=2, mask=hidden), q, k, v)


def test_gradients_of_groups_can_be_differentiated() -> None:
    q, k, v = real(2, 4), real(3, 2, seed=1), real(3, 1, seed=2)

    check_gradients(lambda q, k, v: multi_head_attention(q, k, v, heads=2, kv_heads=1, causal=True), q, k, v, order=2)


def test_heads_in_edge_cases() -> None:
    def attend(*operands: Any) -> Any:
        return multi_head_attention(*operands, heads=2)

    assert attend(zeros((0, 2)), zeros((3, 2)), zeros((3, 4))).shape == (0, 4)
    assert multi_head_attention(zeros((1, 1)), zeros((1, 1)), tensor([[7.0]]), heads=1).tolist() == [[7]]
    large: Any = tensor([[1e20, -1e20], [0.0, 0.0]])
    np.testing.assert_allclose(attend(large, large, large).numpy(), [[1e20, -1e20], [5e19, -5e19]], rtol=1e-6)
    spoiled = attend(tensor([[NAN, INF], [0.0, 0.0]]), tensor([[1.0, 1.0], [1.0, 2.0]]), tensor([[5.0, 6.0]] * 2))
    assert np.isnan(spoiled.numpy()[0]).all()
    assert spoiled.numpy()[1].tolist() == [5, 6]


def test_a_parameter_as_a_query_gets_its_gradient() -> None:
    q, k, v = three()
    query = Param(q)

    grads = multi_head_attention(query, k.trace(), v, heads=2).sum().backward()
    expected = multi_head_attention(q.trace(), k, v, heads=2).sum().backward()

    # Without a tape it was split into heads that were not recorded.
    np.testing.assert_allclose(grads[query].numpy(), expected[q].numpy(), rtol=1e-13)


# rotary_embedding


def test_rotary_embedding_rotates_pairs() -> None:
    x: Any = tensor([[1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 2.0]], np.float64)

    y = rotary_embedding(x, offset=3).numpy()

    # The first pair turns by one radian a row, the second by 1 / √10000 of it.
    expected = [[math.cos(n), math.sin(n), -2 * math.sin(n / 100), 2 * math.cos(n / 100)] for n in (3, 4)]
    np.testing.assert_allclose(y, expected, rtol=1e-14)


def test_rotary_products_depend_on_relative_position_only() -> None:
    q, k = real(2, 4), real(2, 4, seed=1)

    near, far = ((rotary_embedding(q, offset=n) * rotary_embedding(k, offset=n + 7)).sum(-1).numpy() for n in (0, 50))

    np.testing.assert_allclose(near, far, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4), (1, 2)], ids=str)
def test_gradients_of_rotary_embedding_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(lambda x: rotary_embedding(x, offset=2, base=10), real(*shape), order=2)


def test_rotary_embedding_in_edge_cases() -> None:
    assert rotary_embedding(zeros((0, 4))).shape == (0, 4)
    assert rotary_embedding(zeros((3, 0))).shape == (3, 0)
    assert rotary_embedding(zeros((3, 2))).tolist() == [[0, 0]] * 3
    large = rotary_embedding(tensor([[1e38, 0.0], [0.0, 1e38]])).numpy()
    np.testing.assert_allclose(np.hypot(large[:, 0].astype(float), large[:, 1]), 1e38, rtol=1e-6)
    spoiled = rotary_embedding(tensor([[NAN, 1.0, 2.0, 3.0], [INF, 1.0, 2.0, 3.0]])).numpy()
    assert np.isnan(spoiled[0, 0])
    assert not np.isfinite(spoiled[1, :2]).any()
    assert np.isfinite(spoiled[:, 2:]).all()


# Rules and rejections


def test_results_match_the_shape_rules() -> None:
    cases: list[dict[str, Any]] = [
        {"q": (2, 4), "k": (5, 4), "v": (5, 6)},
        {"q": (3, 2, 4), "k": (5, 4), "v": (3, 5, 6), "mask": (2, 5)},
        {"q": (1, 2, 4), "k": (3, 5, 4), "v": (5, 6), "mask": (3, 1, 5)},
        {"q": (3, 2, 4), "k": (5, 4), "v": (3, 5, 6), "bias": (3, 2, 5)},
    ]

    check_shape_rule(scaled_dot_product_attention, *cases)
    check_shape_rule(multi_head_attention, *(case | {"heads": 2} for case in cases[:2]))
    check_shape_rule(
        multi_head_attention,
        {"q": (2, 12), "k": (5, 6), "v": (5, 4), "heads": 4, "kv_heads": 2},
        {"q": (3, 2, 6), "k": (5, 2), "v": (3, 5, 7), "heads": 3, "kv_heads": 1, "mask": (2, 5)},
        {"q": (2, 6), "k": (5, 2), "v": (5, 7), "heads": 3, "kv_heads": 1, "bias": (3, 2, 5)},
    )
    check_shape_rule(rotary_embedding, ((3, 4),), ((2, 3, 2),), ((0, 6),), ((3, 0),))


@slow  # each subset of twelve sizes; scaled_dot_product_attention is checked with these above
def test_results_match_the_shape_rules_with_a_mask_for_each_element() -> None:
    case: dict[str, Any] = {"q": (1, 2, 4), "k": (3, 5, 4), "v": (5, 6), "mask": (3, 1, 5)}

    check_shape_rule(multi_head_attention, case | {"heads": 2})


@slow  # each subset of fourteen sizes
def test_results_match_the_shape_rules_with_a_bias_for_each_element_and_head() -> None:
    case: dict[str, Any] = {"q": (3, 2, 6), "k": (5, 2), "v": (3, 5, 7), "bias": (3, 3, 2, 5)}

    check_shape_rule(multi_head_attention, case | {"heads": 3, "kv_heads": 1})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: scaled_dot_product_attention(real(2, 3), real(5, 4), real(5, 6)),
            ShapeError,
            r"scaled_dot_product_attention: q \(2, 3\) is 3 wide but k \(5, 4\) is 4",
        ),
        (
            lambda: scaled_dot_product_attention(real(2, 4), real(5, 4), real(3, 6)),
            ShapeError,
            r"scaled_dot_product_attention: k \(5, 4\) has 5 rows but v \(3, 6\) has 3",
        ),
        (
            lambda: scaled_dot_product_attention(real(4), real(5, 4), real(5, 6)),
            ShapeError,
            r"scaled_dot_product_attention: q \(4,\) has rank 1 but needs at least 2",
        ),
        (
            lambda: scaled_dot_product_attention(real(7, 2, 4), real(3, 5, 4), real(5, 6)),
            ShapeError,
            r"scaled_dot_product_attention: q \(7, 2, 4\) and k \(3, 5, 4\) do not broadcast: axis -3 is 7 in q .*",
        ),
        (
            lambda: scaled_dot_product_attention(*three(), mask=HOLES.T),
            ShapeError,
            r"scaled_dot_product_attention: mask \(5, 2\) does not broadcast to the scores, \(2, 5\)",
        ),
        (
            lambda: scaled_dot_product_attention(*three(), mask=HOLES.reshape((1, 2, 5))),
            ShapeError,
            r"scaled_dot_product_attention: mask \(1, 2, 5\) does not broadcast to the scores, \(2, 5\)",
        ),
        (
            lambda: scaled_dot_product_attention(*three(), bias=real(5, 2)),
            ShapeError,
            r"scaled_dot_product_attention: bias \(5, 2\) does not broadcast to the scores, \(2, 5\)",
        ),
        (
            lambda: multi_head_attention(*three(), heads=2, bias=real(3, 2, 5)),
            ShapeError,
            r"multi_head_attention: bias \(3, 2, 5\) does not broadcast to the scores, \(2, 2, 5\)",
        ),
        (
            lambda: scaled_dot_product_attention(*three(), bias=ones((2, 5))),
            DTypeError,
            "scaled_dot_product_attention: q is float64 but bias is float32",
        ),
        (
            lambda: multi_head_attention(real(2, 4), real(4), real(5, 6), heads=2),
            ShapeError,
            r"multi_head_attention: k \(4,\) has rank 1 but needs at least 2",
        ),
        (
            lambda: scaled_dot_product_attention(ones((2, 4)), real(5, 4), real(5, 6)),
            DTypeError,
            "scaled_dot_product_attention: q is float32 but k is float64",
        ),
        (
            lambda: scaled_dot_product_attention(WHOLE, WHOLE, WHOLE),
            DTypeError,
            "scaled_dot_product_attention: q is int64 but floating is expected",
        ),
        (
            lambda: scaled_dot_product_attention(*three(), mask=zeros((2, 5))),  # type: ignore[tapegrad-dtype]  # under test
            DTypeError,
            "scaled_dot_product_attention: mask is float32 but bool is expected",
        ),
        (
            lambda: multi_head_attention(*three(), heads=3),
            ShapeError,
            r"multi_head_attention: q \(2, 4\) is 4 wide, which does not divide into 3 heads",
        ),
        (
            lambda: multi_head_attention(*three(v=7), heads=2),
            ShapeError,
            r"multi_head_attention: v \(5, 7\) is 7 wide, which does not divide into 2 heads",
        ),
        (
            lambda: multi_head_attention(*three(), heads=0),
            ShapeError,
            "multi_head_attention: heads is 0 but at least 1 is expected",
        ),
        (
            lambda: multi_head_attention(*three(), heads=4, kv_heads=3),
            ShapeError,
            r"multi_head_attention: k \(5, 4\) is 4 wide, which does not divide into 3 heads",
        ),
        (
            lambda: multi_head_attention(real(2, 4), real(5, 3), real(5, 3), heads=4, kv_heads=3),
            ShapeError,
            "multi_head_attention: heads is 4, which does not divide into 3 groups",
        ),
        (
            lambda: multi_head_attention(ones((2, 3, 8)), ones((2, 5, 8)), ones((2, 5, 6)), heads=4, kv_heads=2),  # type: ignore[tapegrad-shape]  # the mistake under test
            ShapeError,
            r"multi_head_attention: heads of q \(2, 3, 8\) are 2 wide but those of k \(2, 5, 8\) are 4",
        ),
        (
            lambda: multi_head_attention(*three(), heads=4, kv_heads=2),
            ShapeError,
            r"multi_head_attention: heads of q \(2, 4\) are 1 wide but those of k \(5, 4\) are 2",
        ),
        (
            lambda: multi_head_attention(*three(), heads=4, kv_heads=0),
            ShapeError,
            "multi_head_attention: kv_heads is 0 but at least 1 is expected",
        ),
        (
            lambda: multi_head_attention(*three(), heads=2, mask=HOLES.T),
            ShapeError,
            r"multi_head_attention: mask \(5, 2\) does not broadcast to the scores, \(2, 5\)",
        ),
        (
            lambda: multi_head_attention(real(2, 4), real(5, 2), real(5, 3), heads=2, kv_heads=1, mask=HOLES[:, :3]),
            ShapeError,
            r"multi_head_attention: mask \(2, 3\) does not broadcast to the scores, \(2, 5\)",
        ),
        (
            lambda: multi_head_attention(real(2, 4), real(5, 2), real(5, 3), heads=2, kv_heads=1, bias=real(7, 2, 5)),
            ShapeError,
            r"multi_head_attention: bias \(7, 2, 5\) does not broadcast to the scores, \(2, 2, 5\)",
        ),
        (
            lambda: multi_head_attention(real(2, 4), ones((5, 4)), real(5, 6), heads=2),
            DTypeError,
            "multi_head_attention: q is float64 but k is float32",
        ),
        (
            lambda: rotary_embedding(real(2, 3)),
            ShapeError,
            r"rotary_embedding: x \(2, 3\) is 3 wide, which does not divide into pairs",
        ),
        (
            lambda: rotary_embedding(real(1, 1)),
            ShapeError,
            r"rotary_embedding: x \(1, 1\) is 1 wide, which does not divide into pairs",
        ),
        (lambda: rotary_embedding(real(4)), ShapeError, r"rotary_embedding: x \(4,\) has rank 1 but needs at least 2"),
        (lambda: rotary_embedding(WHOLE), DTypeError, "rotary_embedding: x is int64 but floating is expected"),
        (lambda: rotary_embedding(real(2, 4), base=0), ValueError, "rotary_embedding: base is 0 but must be above 0"),  # type: ignore[arg-type]  # out of range
    ],
)
def test_invalid_arguments_are_rejected(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        call()


def test_a_named_width_must_be_known_to_divide() -> None:
    n, groups = named("N"), named("G")

    with pytest.raises(ShapeError) as widths:
        multi_head_attention_shape((5, n), (3, n), (3, 4), heads=2)
    with pytest.raises(ShapeError) as heads:
        multi_head_attention_shape((5, 12), (3, groups), (3, groups), heads=6, kv_heads=groups)
    with pytest.raises(ShapeError) as pairs:
        rotary_embedding_shape((5, n))

    assert str(widths.value) == (
        "q (5, N) is N wide, and it is not known that this divides into 2 heads: add tg.assert_divides(2, N)"
    )
    assert str(heads.value) == (
        "heads is 6, and it is not known that this divides into G groups: add tg.assert_divides(G, 6)"
    )
    assert str(pairs.value) == (
        "x (5, N) is N wide, and it is not known that this divides into pairs: add tg.assert_divides(2, N)"
    )
    assert show(rotary_embedding_shape((5, 2 * n))) == "(5, 2*N)"

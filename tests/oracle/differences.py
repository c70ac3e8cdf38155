"""What is not compared with PyTorch, and why; `python -m docs.oracle` writes it to the page on differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NOT_IN_TORCH = {
    "bitwise_count": "torch counts no bits",
    "cbrt": "torch has no cube root of negative numbers",
    **dict.fromkeys(["empty", "empty_like"], "the contents of the memory are unspecified"),
    **dict.fromkeys(["normal", "uniform", "bernoulli", "dropout"], "NumPy's generator draws other numbers"),
    **dict.fromkeys(["normal_like", "uniform_like", "bernoulli_like"], "NumPy's generator draws other numbers"),
    "ssm_scan": "torch has no scan",
    "tensor": "makes the operands of all comparisons",
}


# Ops that are compared one by one, but not in random programs.
OTHERWISE = {
    "bce": "of a probability of 0 or 1 the gradient of the target is finite; torch's is infinite",
    "ldexp": "torch takes the power of two in float32",
    "prelu": "torch's weight belongs to the second axis, ours broadcasts",
    "rmse": "where it is 0 the gradient is 0; torch's is NaN",
    "searchsorted": "of a vector that is not sorted the answer is unspecified",
    "svd": "the sign of a singular vector is arbitrary",
    "solve": "torch takes some stacks of matrices for stacks of vectors",
    "topk": "torch takes any of those that tie",
}


def all_below(x: Any) -> Any:
    return np.isneginf(x).all(-1, keepdims=True) if x.ndim else np.isneginf(x)


# Differences that torch does not have on every processor.
ON_SOME_PROCESSORS = {"gelu"}

# Where an operand is such, another one is compared; a test holds that there is a difference.
DIFFERENCES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "abs": (np.isnan, "the derivative of a NaN is NaN; torch's is 0"),
    "acosh": (
        lambda x: x < 1,
        "outside its domain the derivative is NaN as the value is; torch goes on with the formula",
    ),
    "celu": (np.isnan, "the derivative of a NaN is NaN; torch's is 1"),
    "clamp": (np.isnan, "a NaN is not outside, so its gradient passes; torch's is 0"),
    "copysign": (np.isinf, "the derivative of an infinity is 1 or -1; torch divides it by itself"),
    "cumprod": (lambda x: ~np.isfinite(x), "a derivative is the product of the others; torch divides by the element"),
    "divmod": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "elu": (np.isnan, "the derivative of a NaN is NaN; torch's is 1 in float32"),
    "fmod": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "gelu": (np.isposinf, "gelu of infinity is infinity; torch's is NaN in float32 on some processors"),
    "hardswish": (
        lambda x: ~(x > -np.inf),
        "of -inf the value is 0; torch multiplies it by 0. The derivative of a NaN is NaN; torch's is 1",
    ),
    "hardtanh": (np.isnan, "the gradient of a NaN is 0; torch passes it, where it computes several elements at once"),
    "heaviside": (np.isnan, "a NaN is on no side of the step and stays NaN, as NumPy's; torch's is 0"),
    "logcumsumexp": (
        lambda x: ~np.isfinite(x),
        "beside an infinity the gradient of other elements exists; torch's is NaN",
    ),
    "logsumexp": (all_below, "of nothing but -inf the gradient is 0; torch's is NaN"),
    "maximum": (np.isnan, "the gradient of a NaN is 0; torch gives it to both operands"),
    "minimum": (np.isnan, "the gradient of a NaN is 0; torch gives it to both operands"),
    "modf": (np.isinf, "of an infinity nothing is left, as in NumPy; torch has NaN"),
    "norm": (np.isnan, "the derivative of a NaN is NaN; torch's is 0 for the powers 1 and infinity"),
    "relu": (np.isnan, "a NaN is not above 0, so its gradient is 0; torch's passes"),
    "relu6": (np.isnan, "a NaN is not above 0, so its gradient is 0; torch's may pass"),
    "remainder": (lambda x: np.abs(x) == 1e-30, "NumPy's remainder is exact; torch's quotient overflows in float32"),
    "rsqrt": (lambda x: (x == 0) & np.signbit(x), "towards -0 the derivative falls to -inf; torch has inf"),
    "selu": (np.isnan, "the derivative of a NaN is NaN; torch's is that of positive numbers"),
    "sign": (np.isnan, "the sign of a NaN is NaN, as NumPy's; torch's is 0"),
}


_IN_PLACE = "tensors are immutable"
_WEIGHTED = 'not implemented; weigh the losses of `reduction="none"`'
_STATISTICS = "the op normalizes by the statistics of `x`"
# Options that a function of PyTorch has and the op has not.
OPTIONS: dict[tuple[str, str], str] = {
    **{(f"max_pool{rank}d", "return_indices"): "not implemented; `unfold` and `argmax` return them" for rank in (1, 2)},
    ("interpolate", "scale_factor"): "pass the sizes of the result: `(2 * x.shape[2], 2 * x.shape[3])`",
    **{(name, "recompute_scale_factor"): "the scale is that of the sizes" for name in ("interpolate", "upsample2d")},
    ("interpolate", "antialias"): "not implemented; blur `x` with `conv2d` first",
    ("upsample2d", "size"): "`interpolate` takes sizes",
    ("upsample2d", "antialias"): "not implemented; blur `x` with `conv2d` first",
    **{(name, "weight"): _WEIGHTED for name in ("bce", "bce_with_logits", "huber", "mae", "mse")},
    ("kl_div", "log_target"): "not implemented; pass `exp(target)`",
    ("batch_norm", "training"): "`nn.BatchNorm2d` keeps the running statistics and normalizes by them",
    **{("batch_norm", f"running_{name}"): _STATISTICS for name in ("mean", "var")},
    **{("instance_norm", f"running_{name}"): _STATISTICS for name in ("mean", "var")},
    **{(name, "momentum"): _STATISTICS for name in ("batch_norm", "instance_norm")},
    ("instance_norm", "use_input_stats"): _STATISTICS,
    **{(name, "normalized_shape"): "the shape of the weight" for name in ("layer_norm", "rms_norm")},
    ("normalize", "p"): "another op: `x / maximum(norm(x, axis, keepdims=True), 1e-12)` divides by a norm",
    ("dropout", "training"): "drops only if the tape of `x` is for training",
    ("sort", "stable"): "always stable",
    ("sum", "dtype"): "convert first, with `astype`",
    ("mean", "dtype"): "convert first, with `astype`",
    **{(name, "inplace"): _IN_PLACE for name in ("celu", "dropout", "elu", "hardswish", "hardtanh", "leaky_relu")},
    **{(name, "inplace"): _IN_PLACE for name in ("mish", "relu", "relu6", "selu", "silu")},
    ("qr", "mode"): "the reduced form only, which has a gradient",
    (
        "scaled_dot_product_attention",
        "enable_gqa",
    ): "`multi_head_attention` has `kv_heads`",
    ("scaled_dot_product_attention", "dropout_p"): "not implemented",
    ("unique", "return_counts"): "the values alone; see the example of `unique` for counts",
}

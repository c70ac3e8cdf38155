"""The library's ops on nodes: one line for each op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad import ops
from tapegrad.tapem.lift import lift

if TYPE_CHECKING:
    from tapegrad.tensors import Tensor


def positive_only(x: Tensor[Any, Any, Any]) -> None:
    """Reject elements that have no logarithm."""
    rejected = x.numpy()[x.numpy() <= 0]
    if rejected.size:
        message = f"the least of x is {rejected.min():.6g} but it must be above 0"
        raise ValueError(message)


abs = lift(ops.abs)
add = lift(ops.add)
avg_pool1d = lift(ops.avg_pool1d)
avg_pool2d = lift(ops.avg_pool2d)
avg_pool2d_pad = avg_pool2d  # the library's pools have a padding argument
batchnorm_channel_first = lift(ops.batch_norm)
clamp = lift(ops.clamp)
concat = lift(ops.concat)
concat_vectors = lift(ops.concat_vectors)
conv1d = lift(ops.conv1d)
conv2d = lift(ops.conv2d)
conv3d = lift(ops.conv3d)
conv_transpose = lift(ops.conv_transpose)
conv_transpose1d = lift(ops.conv_transpose1d)
conv_transpose2d = lift(ops.conv_transpose2d)
conv_transpose3d = lift(ops.conv_transpose3d)
cos = lift(ops.cos)
cross_entropy = lift(ops.cross_entropy)
div = lift(ops.div)
exp = lift(ops.exp)
gelu = lift(ops.gelu)
inv = lift(ops.reciprocal)
layer_norm = lift(ops.layer_norm)
linear = lift(ops.linear)
log = lift(ops.log, positive_only)  # where the op follows IEEE 754, a program fails
log_softmax = lift(ops.log_softmax)
matmul = lift(ops.matmul)
max = lift(ops.max)
max_pool1d = lift(ops.max_pool1d)
max_pool2d = lift(ops.max_pool2d)
max_pool2d_pad = max_pool2d
maximum = lift(ops.maximum)
mean = lift(ops.mean)
min = lift(ops.min)
minimum = lift(ops.minimum)
mse_loss = lift(ops.mse)
mul = lift(ops.mul)
multi_head_attention = lift(ops.multi_head_attention)
neg = lift(ops.neg)
relu = lift(ops.relu)
reshape = lift(ops.reshape)
safe_log = lift(ops.safe_log)
scale = lift(ops.scale)
sigmoid = lift(ops.sigmoid)
silu = lift(ops.silu)
sin = lift(ops.sin)
smooth_max_pool1d = lift(ops.smooth_max_pool1d)
smooth_max_pool2d = lift(ops.smooth_max_pool2d)
softmax = lift(ops.softmax)
softplus = lift(ops.softplus)
sqrt = lift(ops.sqrt)
ssm_scan = lift(ops.ssm_scan)
sub = lift(ops.sub)
sum = lift(ops.sum)
tanh = lift(ops.tanh)
transpose = lift(ops.transpose)

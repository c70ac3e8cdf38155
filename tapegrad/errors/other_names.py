"""Names of PyTorch and NumPy, with what to use in tapegrad: for errors at run time, for mypy, and for the docs.

A value is an expression to use instead, or a note that begins with "not" where nothing replaces the name.
"""

from __future__ import annotations

import sys
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Final, NoReturn

from typing_extensions import override

from tapegrad.errors.tracebacks import trim_on_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from types import FrameType

IMMUTABLE: Final = "not needed: no op changes a tensor"
DEVICES: Final = "not needed: a program runs where JAX or NumPy runs it, see the guide"
MODES: Final = "not needed: model(x.trace()) trains, and model(x) predicts"
NO_GRADIENTS: Final = "not needed: backward returns the gradients, and nothing stores them"
ONLY_TRACED: Final = "not needed: only traced tensors are recorded"
DTYPES: Final = "not needed: new tensors are float32, and dtype= or x.astype(dtype) changes it"
STRUCTURE: Final = "not needed: layers and parameters are found in attributes, such as self.layer = layer"
STATISTICS: Final = "not an option: a norm layer always has its parameters and statistics"
COMPLEX: Final = "not implemented: there are no complex dtypes"
COMPOSED: Final = "not implemented: a function of your own may compute it by other ops, with its gradient"
DENSE: Final = "not needed: tensors are dense arrays"
LIKE_ADAM: Final = "not implemented: optim.Adam and optim.AdamW are the closest"
LINALG: Final = "tg.cholesky, tg.eigh, tg.inv, tg.qr, tg.solve, tg.svd and others"
LP_POOL: Final = "(tg.avg_pool2d(x ** p, k) * k * k) ** (1 / p)"
MESH: Final = "tg.jit with a mesh of devices (guide: jax)"
NO_INDICES: Final = "not implemented: pools return no indices"
OF_STEP: Final = "opt.lr = schedule(step) with any function as schedule"
OF_TWO_AXES: Final = "not implemented: pools have one or two axes"
ONLY_VALUES: Final = "not an option: unique returns the values only"
SHUFFLED: Final = "not needed: data.batches(dataset, size=32, rng=0) chooses the order"
UNCHANGED: Final = "not possible: no op changes a tensor, use the result of an op"

_IN_PLACE: Final = (
    *("abs", "add", "addmm", "bernoulli", "ceil", "clamp", "clamp_max", "clamp_min", "copy", "cos", "div", "exp"),
    *("fill", "floor", "index_add", "index_copy", "index_fill", "index_put", "log", "masked_fill", "masked_scatter"),
    *("mul", "neg", "normal", "pow", "put", "random", "reciprocal", "relu", "resize", "round", "rsqrt", "scatter"),
    *("scatter_add", "scatter_reduce", "sigmoid", "sin", "softmax", "sqrt", "square", "squeeze", "sub", "t", "tanh"),
    *("transpose", "tril", "triu", "trunc", "uniform", "unsqueeze", "zero"),
)
_CHANGING: Final = {f"{name}_": UNCHANGED for name in _IN_PLACE}

FUNCTIONS: Final[Mapping[str, str]] = {
    **_CHANGING,
    "BoolTensor": "tg.tensor",
    "ByteTensor": "tg.tensor",
    "DoubleTensor": "tg.tensor",
    "FloatTensor": "tg.tensor",
    "Generator": "np.random.default_rng(seed)",
    "HalfTensor": "tg.tensor",
    "IntTensor": "tg.tensor",
    "LongTensor": "tg.tensor",
    "Size": "a tuple",
    "absolute": "tg.abs",
    "adaptive_max_pool2d": "tg.max(x, axis=(-2, -1)), for one result for each channel",
    "addcdiv": "x + value * y / z",
    "addcmul": "x + value * y * z",
    "addmm": "x + y @ z",
    "addmv": "x + tg.matvec(y, z)",
    "alpha_dropout": "tg.dropout",
    "amax": "tg.max",
    "amin": "tg.min",
    "aminmax": "tg.min and tg.max",
    "angle": COMPLEX,
    "arccos": "tg.acos",
    "arccosh": "tg.acosh",
    "arcsin": "tg.asin",
    "arcsinh": "tg.asinh",
    "arctan": "tg.atan",
    "arctan2": "tg.atan2",
    "arctanh": "tg.atanh",
    "argwhere": "tg.nonzero",
    "around": "tg.round",
    "array": "tg.tensor",
    "array_equal": "tg.all(x == y)",
    "array_split": "tg.split with the size of each part",
    "as_tensor": "tg.tensor",
    "asarray": "tg.tensor",
    "atleast_1d": "x[None], for a scalar",
    "atleast_2d": "x[None]",
    "autocast": "nn.MixedPrecision",
    "average": "tg.mean, or tg.sum(x * w) / tg.sum(w) with weights",
    "avg_pool3d": OF_TWO_AXES,
    "backends": DEVICES,
    "baddbmm": "x + y @ z",
    "bilinear": "tg.einsum('ni,oij,nj->no', x, w, y)",
    "binary_cross_entropy": "tg.bce",
    "binary_cross_entropy_with_logits": "tg.bce_with_logits",
    "bincount": "tg.sum(tg.one_hot(x, size), 0)",
    "block_diag": "tg.pad of each block with zeros, and their sum",
    "bool": "np.bool_",
    "bool_": "np.bool_",
    "bucketize": "tg.searchsorted(boundaries, x)",
    "cartesian_prod": "tg.meshgrid and tg.stack",
    "cat": "tg.concat",
    "cdist": "tg.norm(x[:, None] - y[None], axis=-1)",
    "chain_matmul": "x @ y @ z",
    "channel_shuffle": "tg.reshape and tg.transpose",
    "clamp_max": "tg.clamp(x, max=limit)",
    "clamp_min": "tg.clamp(x, min=limit)",
    "clip": "tg.clamp",
    "column_stack": "tg.stack with axis=1 for vectors, or tg.concat with axis=1",
    "combinations": "tg.take with the indices of itertools.combinations",
    "compile": "tg.jit",
    "complex128": COMPLEX,
    "complex64": COMPLEX,
    "concatenate": "tg.concat",
    "conj": COMPLEX,
    "convolve": "tg.conv1d with the kernel flipped",
    "corrcoef": "y @ y.T / x.shape[1] with y = tg.normalize(x)",
    "correlate": "tg.conv1d",
    "cosine_similarity": "tg.cosine, which is one minus the similarity",
    "cov": "y @ y.T / (x.shape[1] - 1) with y = x - tg.mean(x, 1, keepdims=True)",
    "ctc_loss": COMPOSED,
    "cuda": DEVICES,
    "default_rng": "np.random.default_rng(seed)",
    "device": DEVICES,
    "diag_embed": "x[..., None] * tg.eye(x.shape[-1])",
    "diagflat": "tg.diag(tg.flatten(x))",
    "digamma": COMPOSED,
    "digitize": "tg.searchsorted(boundaries, x, side='right')",
    "dist": "tg.norm(tg.flatten(x - y))",
    "distributed": MESH,
    "divide": "tg.div",
    "double": "np.float64",
    "dropout1d": "tg.dropout, which drops elements and not channels",
    "dropout2d": "tg.dropout, which drops elements and not channels",
    "dropout3d": "tg.dropout, which drops elements and not channels",
    "dsplit": "tg.split with axis=2",
    "dstack": "tg.concat",
    "ediff1d": "tg.diff(tg.flatten(x))",
    "embedding": "tg.take",
    "enable_grad": ONLY_TRACED,
    "eq": "tg.equal or ==",
    "erfc": "1 - tg.erf(x)",
    "erfinv": COMPOSED,
    "expand_as": "x.broadcast_to(y.shape)",
    "expit": "tg.sigmoid",
    "fabs": "tg.abs",
    "feature_alpha_dropout": "tg.dropout",
    "fft": "not implemented: matrix products compute it, see the page on differences",
    "finfo": "np.finfo",
    "fix": "tg.trunc",
    "flatnonzero": "tg.nonzero(tg.flatten(x))",
    "fliplr": "tg.flip(x, 1)",
    "flipud": "tg.flip(x, 0)",
    "float": "np.float32",
    "float16": "np.float16",
    "float32": "np.float32",
    "float64": "np.float64",
    "frac": "x - tg.trunc(x)",
    "from_numpy": "tg.tensor",
    "func": "tg.hessian, tg.hvp, or loss.backward() which returns the gradients",
    "gaussian_nll_loss": "tg.mean((tg.log(var) + tg.square(x - y) / var) / 2)",
    "ge": "tg.greater_equal or >=",
    "ger": "tg.outer",
    "get_default_device": DEVICES,
    "get_default_dtype": DTYPES,
    "get_num_threads": "tg.threads",
    "glu": "a * tg.sigmoid(b) with a and b = tg.split(x, 2, axis)",
    "grad": "loss.backward() which returns the gradients",
    "grid_sample": COMPOSED,
    "gt": "tg.greater or >",
    "half": "np.float16",
    "hardshrink": "tg.where(tg.abs(x) > 0.5, x, 0.0)",
    "hardsigmoid": "tg.relu6(x + 3) / 6",
    "hinge_embedding_loss": "tg.mean(tg.where(y > 0, x, tg.relu(1.0 - x)))",
    "histc": "tg.tensor(np.histogram(x.numpy(), bins)[0]), without gradients",
    "histogram": "tg.tensor(np.histogram(x.numpy(), bins)[0]), without gradients",
    "hsplit": "tg.split with axis=1",
    "hstack": "tg.concat",
    "huber_loss": "tg.huber",
    "i0": COMPOSED,
    "identity": "tg.eye",
    "iinfo": "np.iinfo",
    "imag": COMPLEX,
    "index_add": "tg.at_add",
    "index_copy": "tg.at_set",
    "index_fill": "tg.at_set",
    "index_put": "tg.at_set",
    "index_select": "tg.take",
    "inf": "np.inf",
    "inference_mode": ONLY_TRACED,
    "inner": "tg.vecdot, or x @ y.T for matrices",
    "int": "np.int32",
    "int16": "np.int16",
    "int32": "np.int32",
    "int64": "np.int64",
    "int8": "np.int8",
    "inverse": "tg.inv",
    "is_floating_point": "np.issubdtype(x.dtype, np.floating)",
    "is_grad_enabled": ONLY_TRACED,
    "is_tensor": "isinstance(x, tg.Tensor)",
    "kthvalue": "tg.sort and an index",
    "l1_loss": "tg.mae",
    "layout": DENSE,
    "le": "tg.less_equal or <=",
    "lgamma": COMPOSED,
    "linalg": LINALG,
    "load": "tg.io.load",
    "local_response_norm": COMPOSED,
    "logsigmoid": "tg.log_sigmoid",
    "logspace": "10 ** tg.linspace(start, stop, num)",
    "long": "np.int64",
    "lp_pool2d": LP_POOL,
    "lt": "tg.less or <",
    "manual_seed": "rng= of the function that samples or `with tg.random(seed):`",
    "margin_ranking_loss": "tg.mean(tg.relu(margin - target * (x - y)))",
    "masked_scatter": "tg.where",
    "matrix_power": "x @ x for each power",
    "max_pool3d": OF_TWO_AXES,
    "median": "tg.sort and an index",
    "mm": "tg.matmul or @",
    "mod": "tg.remainder",
    "movedim": "tg.moveaxis",
    "mps": DEVICES,
    "mse_loss": "tg.mse",
    "msort": "tg.sort(x, axis=0)",
    "multi_dot": "x @ y @ z",
    "multilabel_soft_margin_loss": "tg.bce_with_logits",
    "multinomial": "tg.distributions.Categorical",
    "multiply": "tg.mul",
    "mv": "tg.matvec",
    "nan": "np.nan",
    "nanmax": "tg.max(tg.masked_select(x, ~tg.isnan(x)))",
    "nanmean": "tg.mean(tg.masked_select(x, ~tg.isnan(x)))",
    "nanmedian": "tg.sort and an index",
    "nanmin": "tg.min(tg.masked_select(x, ~tg.isnan(x)))",
    "nanquantile": "tg.sort and an index",
    "nanstd": "tg.std(tg.masked_select(x, ~tg.isnan(x)))",
    "nansum": "tg.sum(tg.masked_select(x, ~tg.isnan(x)))",
    "nanvar": "tg.var(tg.masked_select(x, ~tg.isnan(x)))",
    "narrow": "a slice such as x[start : start + length]",
    "ne": "tg.not_equal or !=",
    "negative": "tg.neg",
    "newaxis": "None in an index or tg.expand_dims",
    "nll_loss": "tg.nll",
    "no_grad": ONLY_TRACED,
    "numel": "x.size",
    "pairwise_distance": "tg.norm(x - y, axis=-1)",
    "percentile": "tg.sort and an index",
    "pi": "np.pi",
    "pixel_shuffle": "tg.reshape and tg.transpose",
    "pixel_unshuffle": "tg.reshape and tg.transpose",
    "poisson_nll_loss": "tg.mean(tg.exp(x) - y * x)",
    "polygamma": COMPOSED,
    "power": "tg.pow",
    "ptp": "tg.max(x) - tg.min(x)",
    "put_along_axis": "tg.scatter",
    "quantile": "tg.sort and an index",
    "rand": "tg.uniform(shape)",
    "rand_like": "tg.uniform_like",
    "randint": "tg.tensor(np.random.default_rng(seed).integers(low, high, shape))",
    "randn": "tg.normal(shape)",
    "randn_like": "tg.normal_like",
    "randperm": "tg.tensor(np.random.default_rng(seed).permutation(n))",
    "ravel": "tg.flatten",
    "real": COMPLEX,
    "repeat_interleave": "tg.repeat",
    "rint": "tg.round",
    "rot90": "tg.flip(x.T, 0)",
    "row_stack": "tg.concat, or tg.stack for vectors",
    "rrelu": "tg.leaky_relu",
    "rsub": "y - x",
    "save": "tg.io.save",
    "seed": "rng= of the function that samples or `with tg.random(seed):`",
    "set_default_device": DEVICES,
    "set_default_dtype": DTYPES,
    "set_grad_enabled": ONLY_TRACED,
    "set_num_threads": "tg.set_threads",
    "sgn": "tg.sign",
    "short": "np.int16",
    "sinc": "tg.sin(np.pi * x) / (np.pi * x), which is 1 at 0",
    "smooth_l1_loss": "tg.smooth_l1",
    "soft_margin_loss": "tg.mean(tg.softplus(-target * x))",
    "softmin": "tg.softmax(-x)",
    "softshrink": "x - tg.clamp(x, -0.5, 0.5)",
    "softsign": "x / (1 + tg.abs(x))",
    "sparse": DENSE,
    "special": "tg.sigmoid for expit, tg.logit, tg.erf and others",
    "std_mean": "tg.std and tg.mean",
    "subtract": "tg.sub",
    "swapdims": "tg.swapaxes",
    "swish": "tg.silu",
    "t": "x.T",
    "take_along_axis": "tg.gather",
    "take_along_dim": "tg.gather",
    "tanhshrink": "x - tg.tanh(x)",
    "tensor_split": "tg.split",
    "threshold": "tg.where(x > threshold, x, value)",
    "trace": "tg.sum(tg.diagonal(x), -1)",
    "trapezoid": "tg.sum((y[1:] + y[:-1]) / 2 * tg.diff(x))",
    "trapz": "tg.sum((y[1:] + y[:-1]) / 2 * tg.diff(x))",
    "tril_indices": "np.tril_indices",
    "triplet_margin_loss": "tg.mean(tg.relu(tg.norm(x - y, axis=-1) - tg.norm(x - z, axis=-1) + margin))",
    "triu_indices": "np.triu_indices",
    "true_divide": "tg.div",
    "uint8": "np.uint8",
    "unbind": "tg.unstack",
    "unsqueeze": "tg.expand_dims",
    "utils": "tg.data.batches for DataLoader and tg.checkpoint for checkpoint",
    "var_mean": "tg.var and tg.mean",
    "vdot": "tg.dot",
    "view": "tg.reshape",
    "vmap": "further axes in front, which most ops take as those of a batch",
    "vsplit": "tg.split",
    "vstack": "tg.concat",
}

_ALSO_METHODS: Final = (
    *("absolute", "addcdiv", "addcmul", "addmm", "amax", "amin", "aminmax", "arccos", "arcsin", "arctan"),
    *("bincount", "corrcoef", "cov", "diag_embed", "dist", "divide", "erfc", "fliplr", "flipud", "histc"),
    *("inner", "inverse", "kthvalue", "masked_scatter", "median", "multinomial", "multiply", "mv", "nanmean"),
    *("nanmedian", "nanquantile", "nansum", "narrow", "negative", "quantile", "rot90", "sinc", "subtract"),
    *("swapdims", "take_along_dim", "tensor_split", "true_divide", "vdot"),
)
METHODS: Final[Mapping[str, str]] = {
    **{name: FUNCTIONS[name] for name in _ALSO_METHODS},
    **_CHANGING,
    "argwhere": "x.nonzero()",
    "bfloat16": "x.astype(tg.bfloat16)",
    "bool": "x.astype(np.bool_)",
    "byte": "x.astype(np.uint8)",
    "char": "x.astype(np.int8)",
    "clamp_max": "x.clamp(max=limit)",
    "clamp_min": "x.clamp(min=limit)",
    "clip": "x.clamp",
    "clone": IMMUTABLE,
    "conj": COMPLEX,
    "contiguous": "not needed: ops take arrays of any layout",
    "copy": IMMUTABLE,
    "cpu": "not needed: x.numpy() returns the array",
    "cuda": DEVICES,
    "data_ptr": "x.numpy()",
    "device": DEVICES,
    "digamma": COMPOSED,
    "dim": "x.ndim",
    "double": "x.astype(np.float64)",
    "element_size": "x.dtype.itemsize",
    "eq": "x == y",
    "erfinv": COMPOSED,
    "expand": "x.broadcast_to(shape)",
    "expand_as": "x.broadcast_to(y.shape)",
    "fill": "tg.full_like(x, value)",
    "fix": "x.trunc()",
    "flat": "x.flatten()",
    "float": "x.astype(np.float32)",
    "frac": "x - x.trunc()",
    "ge": "x >= y",
    "ger": "x.outer(y)",
    "get_device": DEVICES,
    "grad": "grads[x] with grads = loss.backward()",
    "grad_fn": "x.tape",
    "gt": "x > y",
    "half": "x.astype(np.float16)",
    "imag": COMPLEX,
    "index_add": "x.at_add(index, value)",
    "index_copy": "x.at_set(index, value)",
    "index_fill": "x.at_set(index, value)",
    "index_put": "x.at_set(index, value)",
    "index_select": "x.take(indices, axis)",
    "int": "x.astype(np.int32)",
    "is_complex": COMPLEX,
    "is_contiguous": "not needed: ops take arrays of any layout",
    "is_cuda": DEVICES,
    "is_floating_point": "np.issubdtype(x.dtype, np.floating)",
    "is_leaf": "not needed: loss.backward(wrt=[x]) names what to differentiate",
    "is_sparse": DENSE,
    "itemsize": "x.dtype.itemsize",
    "layout": DENSE,
    "le": "x <= y",
    "lgamma": COMPOSED,
    "long": "x.astype(np.int64)",
    "lt": "x < y",
    "mm": "x @ y",
    "movedim": "x.moveaxis(source, destination)",
    "msort": "x.sort(axis=0)",
    "ndimension": "x.ndim",
    "ne": "x != y",
    "nelement": "x.size",
    "new_empty": "tg.empty(shape, x.dtype)",
    "new_full": "tg.full(shape, value, x.dtype)",
    "new_ones": "tg.ones(shape, x.dtype)",
    "new_tensor": "tg.tensor(data, x.dtype)",
    "new_zeros": "tg.zeros(shape, x.dtype)",
    "numel": "x.size",
    "pin_memory": DEVICES,
    "ptp": "x.max() - x.min()",
    "put": "x.at_set(index, value)",
    "ravel": "x.flatten()",
    "real": COMPLEX,
    "register_hook": "a backward closure of your own (guide: tapes)",
    "repeat_interleave": "x.repeat(repeats, axis)",
    "requires_grad": "x.owns_tape",
    "requires_grad_": "x.trace()",
    "reshape_as": "x.reshape(y.shape)",
    "retain_grad": "loss.backward(wrt=[x])",
    "sgn": "x.sign()",
    "short": "x.astype(np.int16)",
    "storage": "x.numpy()",
    "stride": "x.numpy().strides, in bytes",
    "strides": "x.numpy().strides",
    "t": "x.T",
    "to": "x.astype(dtype)",
    "type": "x.astype(dtype)",
    "type_as": "x.astype(y.dtype)",
    "unbind": "x.unstack(axis)",
    "unsqueeze": "x.expand_dims(axis)",
    "untyped_storage": "x.numpy()",
    "view": "x.reshape(shape)",
    "view_as": "x.reshape(y.shape)",
}

LAYERS: Final[Mapping[str, str]] = {
    "AdaptiveAvgPool3d": OF_TWO_AXES,
    "AdaptiveLogSoftmaxWithLoss": COMPOSED,
    "AdaptiveMaxPool1d": "nn.GlobalMaxPool1d, for one result for each channel",
    "AdaptiveMaxPool2d": "nn.GlobalMaxPool2d, for one result for each channel",
    "AdaptiveMaxPool3d": OF_TWO_AXES,
    "AlphaDropout": "nn.Dropout",
    "AvgPool3d": OF_TWO_AXES,
    "BCELoss": "tg.bce",
    "BCEWithLogitsLoss": "tg.bce_with_logits",
    "BatchNorm3d": "nn.GroupNorm, which takes any number of axes",
    "Bilinear": FUNCTIONS["bilinear"],
    "CTCLoss": COMPOSED,
    "ChannelShuffle": "tg.reshape and tg.transpose",
    "CircularPad1d": "tg.pad with mode='wrap'",
    "CircularPad2d": "tg.pad with mode='wrap'",
    "ConstantPad1d": "tg.pad",
    "ConstantPad2d": "tg.pad",
    "ConstantPad3d": "tg.pad",
    "Container": "nn.Sequential",
    "CosineEmbeddingLoss": "tg.cosine, for pairs that match",
    "CosineSimilarity": "tg.cosine, which is one minus the similarity",
    "CrossEntropyLoss": "tg.cross_entropy",
    "DataParallel": MESH,
    "Dropout1d": "nn.Dropout, which drops elements and not channels",
    "Dropout2d": "nn.Dropout, which drops elements and not channels",
    "Dropout3d": "nn.Dropout, which drops elements and not channels",
    "EmbeddingBag": "tg.mean(embedding(indices), axis=1) with nn.Embedding",
    "FeatureAlphaDropout": "nn.Dropout",
    "Fold": COMPOSED,
    "FractionalMaxPool2d": COMPOSED,
    "FractionalMaxPool3d": OF_TWO_AXES,
    "GLU": "a * tg.sigmoid(b) with a and b = tg.split(x, 2, axis)",
    "GRUCell": "tg.gru_cell",
    "GaussianNLLLoss": FUNCTIONS["gaussian_nll_loss"],
    "Hardshrink": FUNCTIONS["hardshrink"],
    "Hardsigmoid": "tg.relu6(x + 3) / 6",
    "HingeEmbeddingLoss": FUNCTIONS["hinge_embedding_loss"],
    "HuberLoss": "tg.huber",
    "Identity": "the argument itself, or nn.Sequential()",
    "InstanceNorm1d": "nn.InstanceNorm",
    "InstanceNorm2d": "nn.InstanceNorm",
    "InstanceNorm3d": "nn.InstanceNorm",
    "KLDivLoss": "tg.kl_div",
    "L1Loss": "tg.mae",
    "LPPool1d": "(tg.avg_pool1d(x ** p, k) * k) ** (1 / p)",
    "LPPool2d": LP_POOL,
    "LSTMCell": "tg.lstm_cell",
    "LazyBatchNorm1d": "nn.BatchNorm1d with the number of channels",
    "LazyBatchNorm2d": "nn.BatchNorm2d with the number of channels",
    "LazyConv1d": "nn.Conv1d with the number of input channels",
    "LazyConv2d": "nn.Conv2d with the number of input channels",
    "LazyConv3d": "nn.Conv3d with the number of input channels",
    "LazyLinear": "nn.Linear with both widths",
    "LocalResponseNorm": COMPOSED,
    "MSELoss": "tg.mse",
    "MarginRankingLoss": FUNCTIONS["margin_ranking_loss"],
    "MaxPool3d": OF_TWO_AXES,
    "MaxUnpool1d": NO_INDICES,
    "MaxUnpool2d": NO_INDICES,
    "MaxUnpool3d": NO_INDICES,
    "ModuleDict": "a dict of layers",
    "ModuleList": "a list of layers",
    "MultiLabelMarginLoss": COMPOSED,
    "MultiLabelSoftMarginLoss": "tg.bce_with_logits",
    "MultiMarginLoss": COMPOSED,
    "MultiheadAttention": "nn.MultiHeadAttention",
    "NLLLoss": "tg.nll",
    "PairwiseDistance": FUNCTIONS["pairwise_distance"],
    "Parameter": "nn.Param",
    "ParameterDict": "a dict of nn.Param",
    "ParameterList": "a list of nn.Param",
    "PixelShuffle": "tg.reshape and tg.transpose",
    "PixelUnshuffle": "tg.reshape and tg.transpose",
    "PoissonNLLLoss": FUNCTIONS["poisson_nll_loss"],
    "RNNCell": "tg.rnn_cell",
    "RReLU": "nn.LeakyReLU",
    "ReflectionPad1d": "tg.pad with mode='reflect'",
    "ReflectionPad2d": "tg.pad with mode='reflect'",
    "ReflectionPad3d": "tg.pad with mode='reflect'",
    "ReplicationPad1d": "tg.pad with mode='edge'",
    "ReplicationPad2d": "tg.pad with mode='edge'",
    "ReplicationPad3d": "tg.pad with mode='edge'",
    "SmoothL1Loss": "tg.smooth_l1",
    "SoftMarginLoss": FUNCTIONS["soft_margin_loss"],
    "Softmax2d": "nn.Softmax(axis=-3)",
    "Softmin": FUNCTIONS["softmin"],
    "Softshrink": FUNCTIONS["softshrink"],
    "Softsign": FUNCTIONS["softsign"],
    "SyncBatchNorm": "nn.BatchNorm2d",
    "Tanhshrink": FUNCTIONS["tanhshrink"],
    "Threshold": FUNCTIONS["threshold"],
    "TransformerDecoder": "a list of nn.TransformerDecoderBlock, or nn.Transformer",
    "TransformerDecoderLayer": "nn.TransformerDecoderBlock",
    "TransformerEncoder": "a list of nn.TransformerEncoderBlock, or nn.Transformer",
    "TransformerEncoderLayer": "nn.TransformerEncoderBlock",
    "TripletMarginLoss": FUNCTIONS["triplet_margin_loss"],
    "Unfold": "tg.unfold along each axis",
    "UpsamplingBilinear2d": "nn.Upsample with mode='bilinear'",
    "UpsamplingNearest2d": "nn.Upsample",
    "ZeroPad1d": "tg.pad",
    "ZeroPad2d": "tg.pad",
    "ZeroPad3d": "tg.pad",
    "functional": "the functions of tapegrad itself, such as tg.relu",
    "init": "nn.kaiming_uniform and the other functions of nn.initialize",
    "parallel": MESH,
    "utils": "grads.clip_norm(limit) for clip_grad_norm_",
}

OPTIMIZERS: Final[Mapping[str, str]] = {
    "ASGD": "optim.SGD, and nn.ModelEMA for the average",
    "Adafactor": LIKE_ADAM,
    "Adagrad": "optim.Adadelta or optim.RMSprop",
    "Adamax": LIKE_ADAM,
    "ConstantLR": OF_STEP,
    "CosineAnnealingLR": "opt.lr = schedule(step) with schedule = optim.cosine(...)",
    "CosineAnnealingWarmRestarts": OF_STEP,
    "CyclicLR": OF_STEP,
    "ExponentialLR": "opt.lr = schedule(step) with schedule = optim.exponential(...)",
    "LBFGS": "not implemented: an optimizer gets gradients, and does not compute the loss again",
    "LRScheduler": OF_STEP,
    "LambdaLR": OF_STEP,
    "LinearLR": "opt.lr = schedule(step) with schedule = optim.warmup(...)",
    "MultiStepLR": OF_STEP,
    "MultiplicativeLR": OF_STEP,
    "Muon": LIKE_ADAM,
    "NAdam": LIKE_ADAM,
    "OneCycleLR": "opt.lr = schedule(step) with schedule = optim.one_cycle(...)",
    "PolynomialLR": OF_STEP,
    "RAdam": LIKE_ADAM,
    "RMSProp": "optim.RMSprop",
    "ReduceLROnPlateau": "opt.lr which may be set between steps",
    "Rprop": "not implemented: optim.RMSprop is the closest",
    "SequentialLR": OF_STEP,
    "SparseAdam": LIKE_ADAM,
    "StepLR": "opt.lr = schedule(step) with schedule = optim.step(...)",
    "lr_scheduler": "opt.lr = schedule(step) with a schedule such as optim.cosine(...)",
    "swa_utils": "nn.ModelEMA",
}

DATA: Final[Mapping[str, str]] = {
    "BatchSampler": SHUFFLED,
    "ConcatDataset": "a list of the examples of both, or tg.concat([x, y])",
    "DataLoader": "data.batches(dataset, size=32)",
    "IterableDataset": "data.from_loader(loader), for batches of an iterable",
    "RandomSampler": SHUFFLED,
    "Sampler": SHUFFLED,
    "SequentialSampler": SHUFFLED,
    "Subset": "[dataset[i] for i in indices], or x[indices]",
    "SubsetRandomSampler": SHUFFLED,
    "TensorDataset": "data.batches(x, y, size=32)",
    "WeightedRandomSampler": "tg.distributions.Categorical, which draws indices",
    "default_collate": "not needed: data.batches stacks the examples",
    "random_split": "tg.split(x, sizes)",
}

OF_MODULES: Final[Mapping[str, str]] = {
    "add_module": STRUCTURE,
    "bfloat16": "nn.cast(model, tg.bfloat16)",
    "children": "model.modules()",
    "compile": "tg.jit",
    "cpu": DEVICES,
    "cuda": DEVICES,
    "double": "nn.cast(model, np.float64)",
    "eval": MODES,
    "float": "nn.cast(model, np.float32)",
    "get_parameter": "an attribute, such as layer.weight",
    "get_submodule": "an attribute, such as self.layer",
    "half": "nn.cast(model, np.float16)",
    "load_state_dict": "tg.io.load(model, path)",
    "named_buffers": "model.buffers()",
    "named_children": "model.modules()",
    "named_modules": "model.modules()",
    "named_parameters": "model.parameters()",
    "register_backward_hook": "not possible: loss.backward(wrt=[h]) has the gradient of any tensor h",
    "register_buffer": "self.name = nn.Buffer(x)",
    "register_forward_hook": "not possible: call the layer in a method of your own, which reads its result",
    "register_full_backward_hook": "not possible: loss.backward(wrt=[h]) has the gradient of any tensor h",
    "register_module": STRUCTURE,
    "register_parameter": "self.name = nn.Param(x)",
    "requires_grad_": "nn.freeze(model)",
    "share_memory": DEVICES,
    "state_dict": "tg.io.save(model, path)",
    "to": DEVICES,
    "train": MODES,
    "training": MODES,
    "type": "nn.cast(model, dtype)",
    "xpu": DEVICES,
    "zero_grad": NO_GRADIENTS,
}

OF_OPTIMIZERS: Final[Mapping[str, str]] = {
    "add_param_group": "groups= of the constructor",
    "load_state_dict": "tg.io.load(opt, path)",
    "param_groups": "opt.groups, or opt.lr which may be set between steps",
    "state_dict": "tg.io.save(opt, path)",
    "zero_grad": NO_GRADIENTS,
}

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "a": ("x",),
    "a_max": ("max",),
    "a_min": ("min",),
    "attn_mask": ("mask",),
    "batch_size": ("size",),
    "bidirectional": ("directions",),
    "d_model": ("width",),
    "ddof": ("correction",),
    "diagonal": ("k",),
    "dim": ("axis", "axes"),
    "dim0": ("axis1",),
    "dim1": ("axis2",),
    "dim_feedforward": ("hidden",),
    "dims": ("axis", "axes"),
    "embed_dim": ("width",),
    "embedding_dim": ("width",),
    "end_dim": ("end_axis",),
    "exponent": ("y",),
    "fill_value": ("value",),
    "generator": ("rng",),
    "hidden_size": ("hidden_features",),
    "high": ("max",),
    "indices_or_sections": ("sections",),
    "input": ("x",),
    "input_size": ("in_features",),
    "is_causal": ("causal",),
    "keepdim": ("keepdims",),
    "kernel_size": ("kernel",),
    "label_smoothing": ("smoothing",),
    "learning_rate": ("lr",),
    "low": ("min",),
    "newshape": ("shape",),
    "nhead": ("heads",),
    "normalized_shape": ("width",),
    "num_channels": ("channels",),
    "num_classes": ("size",),
    "num_decoder_layers": ("decoders",),
    "num_embeddings": ("count",),
    "num_encoder_layers": ("encoders",),
    "num_features": ("channels",),
    "num_groups": ("groups",),
    "num_heads": ("heads",),
    "num_layers": ("layers",),
    "num_workers": ("workers",),
    "other": ("y",),
    "output_size": ("size",),
    "p": ("rate", "ord"),
    "pad": ("pad_width",),
    "params": ("parameters",),
    "reduce": ("reduction",),
    "scale_factor": ("scale", "size"),
    "seed": ("rng",),
    "shifts": ("shift",),
    "size": ("shape", "sizes"),
    "size_average": ("reduction",),
    "split_size_or_sections": ("sections",),
    "start_dim": ("start_axis",),
    "steps": ("num",),
    "unbiased": ("correction",),
    "x1": ("x",),
    "x2": ("y",),
}

WITHOUT: Final[Mapping[str, str]] = {
    "affine": STATISTICS,
    "amsgrad": "not implemented: leave it out",
    "batch_first": "not needed: the first axis is always that of the batch",
    "bias": "not an option: an op adds no bias, and a norm layer always has one",
    "bidirectional": "not an option of one layer: nn.StackedLSTM, nn.StackedGRU and nn.StackedRNN take directions=2",
    "collate_fn": "not needed: data.batches stacks the examples",
    "dampening": "not implemented: leave it out",
    "decimals": "not an option: tg.round(x * 100) / 100 has two decimals",
    "device": DEVICES,
    "dropout": "not an option: nn.Dropout is a layer of its own",
    "dtype": "not an option: x.astype(dtype) converts the result",
    "elementwise_affine": STATISTICS,
    "foreach": "not needed: an optimizer chooses the fastest way",
    "fused": "not needed: an optimizer chooses the fastest way",
    "inplace": IMMUTABLE,
    "key_padding_mask": "not an option: mask= takes a mask of the scores",
    "kind": "not needed: there is one algorithm",
    "max_norm": "not an option: multiply the result by a factor",
    "maximize": "not an option: minimize the negative loss",
    "memory_format": "not needed: ops take arrays of any layout",
    "need_weights": "not an option: attention returns no weights",
    "non_blocking": DEVICES,
    "num_layers": "not an option of one layer: nn.StackedLSTM, nn.StackedGRU and nn.StackedRNN take layers",
    "order": "not needed: ops take arrays of any layout",
    "out": IMMUTABLE,
    "padding_idx": "not an option: multiply the result by a mask",
    "padding_mode": "not an option: tg.pad with mode= comes before the layer",
    "pin_memory": DEVICES,
    "requires_grad": "not needed: x.trace() starts a tape",
    "return_counts": ONLY_VALUES,
    "return_index": ONLY_VALUES,
    "return_indices": "not an option: pools return no indices",
    "return_inverse": ONLY_VALUES,
    "rounding_mode": "not an option: tg.floor_divide or tg.trunc rounds the result",
    "sampler": SHUFFLED,
    "stable": "not needed: equal elements keep their order",
    "track_running_stats": STATISTICS,
    "training": MODES,
    "where": "not an option: tg.where(condition, x, y) comes first",
}

OF_STANDARD: Final[Mapping[str, str]] = {
    "complex64": COMPLEX,
    "complex128": COMPLEX,
    "conj": COMPLEX,
    "imag": COMPLEX,
    "real": COMPLEX,
    "fft": FUNCTIONS["fft"],
    "linalg": LINALG,
}

OWNERS: Final[Mapping[str, Mapping[str, str]]] = {
    "tapegrad": FUNCTIONS,
    "tapegrad.array_api": OF_STANDARD,
    "tapegrad.nn": LAYERS,
    "tapegrad.optim": OPTIMIZERS,
    "tapegrad.data": DATA,
    "Tensor": METHODS,
    "Module": OF_MODULES,
    "Optimizer": OF_OPTIMIZERS,
}


def hint(owner: str, name: str) -> str:
    """Return what to use for a name of PyTorch or NumPy: "use tg.concat"; "" if the name is none of theirs.

    Args:
        owner: The module or the class that lacks the name: "tapegrad.nn", "Tensor".
        name: The name.
    """
    found = OWNERS[owner].get(name, "")
    return found if not found or found.startswith("not ") else f"use {found}"


def missing(owner: str, name: str, subclass: str = "") -> str:
    """Return the message about an attribute of PyTorch or NumPy that tapegrad lacks; "" for any other name.

    Args:
        owner: The module or the class that lacks the name.
        name: The name.
        subclass: The class to name in the place of the owner: "Linear".
    """
    found = hint(owner, name)
    return f"{subclass or owner} has no {name!r}: {found}" if found else ""


def attribute_of_instance(owner: str) -> Callable[[object, str], NoReturn]:
    """Return the `__getattr__` of a class, which says what to use for a name of PyTorch."""

    def reject(instance: object, name: str) -> NoReturn:
        kind = type(instance).__name__
        message = missing(owner, name, kind) or f"{kind!r} object has no attribute {name!r}"
        with trim_on_exit:
            raise AttributeError(message, name=name, obj=instance)

    return reject


def attribute_error(owner: str, name: str, described: str) -> AttributeError:
    """Return the error of an object that lacks a name, which says what to use for a name of PyTorch or NumPy.

    Args:
        owner: The module, or "Tensor".
        name: The name.
        described: The object as Python calls it: "module 'tapegrad'".
    """
    return AttributeError(missing(owner, name) or f"{described} has no attribute {name!r}")


def name_error(module: str, name: str, caller: FrameType) -> AttributeError | ImportError:
    """Return the error of a module that lacks a name, which says what to use for a name of PyTorch or NumPy.

    Args:
        module: The module.
        name: The name.
        caller: The frame that asks. `from tapegrad import cat` asks from `_handle_fromlist`, and replaces the message
            of an AttributeError.
    """
    message = missing(module, name)
    if message and caller.f_code.co_name == "_handle_fromlist":
        return ImportError(message, name=module)
    return attribute_error(module, name, f"module {module!r}")


def attribute_of(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module, which says what to use for a name of PyTorch or NumPy."""

    def reject(name: str) -> NoReturn:
        with trim_on_exit:
            raise name_error(module, name, sys._getframe(1))

    return reject


class MissingMethod:
    """A class attribute that raises an AttributeError which says what to use instead, also where it is assigned to."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, _instance: object, _owner: type) -> NoReturn:
        with trim_on_exit:
            raise AttributeError(missing("Tensor", self.name))

    def __set__(self, _instance: object, _value: object) -> NoReturn:
        with trim_on_exit:
            raise AttributeError(missing("Tensor", self.name))

    @override
    def __repr__(self) -> str:
        return f"<{missing('Tensor', self.name)}>"


def unexpected(function: str, given: Iterable[str], parameters: Collection[str]) -> str:
    """Return the message about the first argument that has another name in tapegrad, or none; "" if all are known.

    Args:
        function: The name of the function or the layer.
        given: The names of the arguments.
        parameters: The names that the function has.
    """
    for name in given:
        found = next((f"use {one}" for one in ARGUMENTS.get(name, ()) if one in parameters), WITHOUT.get(name, ""))
        if found and name not in parameters:
            return f"{function} has no argument {name!r}: {found}"
    return ""


def unnamed(function: str, by_position: Collection[str], by_name: Collection[str]) -> str:
    """Return the message about a call with more arguments by position than the function takes.

    Args:
        function: The name of the function or the layer.
        by_position: The parameters that it takes by position.
        by_name: Those that it takes only by name.
    """
    if not by_position and not by_name:
        return f"{function}() takes no arguments"
    names = [f"{name}=..." for name in by_name]
    others = f"; write names, such as {' and '.join(names[:2])}" if names else ""
    return f"{function} takes {', '.join(by_position) or 'no argument'} by position{others}"


def parameters_by_kind(parameters: Iterable[Parameter]) -> tuple[list[str], list[str]] | None:
    """Return the parameters that a function takes by position, and those only by name; None if it takes any number."""
    kinds = [(one.name, one.kind) for one in parameters]
    if any(kind is Parameter.VAR_POSITIONAL for _, kind in kinds):
        return None
    by_name = [name for name, kind in kinds if kind is Parameter.KEYWORD_ONLY]
    return [name for name, kind in kinds if name not in by_name and kind is not Parameter.VAR_KEYWORD], by_name


def check_arguments(cls: type, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Raise if an argument of a class has the name that PyTorch gives it, or no name where it needs one.

    Raises:
        TypeError: The class has the argument by another name, or by name only, or does without it.
    """
    is_named = ARGUMENTS.keys().isdisjoint(kwargs) and WITHOUT.keys().isdisjoint(kwargs)
    if is_named and not (args and cls.__module__.startswith("tapegrad.")):
        return
    parameters = _parameters_of(cls)
    message = ""
    if not is_named and all(one.kind is not Parameter.VAR_KEYWORD for one in parameters.values()):
        message = unexpected(cls.__name__, kwargs, parameters)
    kinds = parameters_by_kind(parameters.values())
    if kinds is not None and len(args) > len(kinds[0]):
        message = unnamed(cls.__name__, *kinds)
    if message:
        with trim_on_exit:
            raise TypeError(message)


def _parameters_of(cls: type) -> Mapping[str, Parameter]:
    created = cls.__init__  # type: ignore[misc]  # of the class that is instantiated
    if created is object.__init__:
        return {}
    _, *parameters = signature(created).parameters.values()
    return {one.name: one for one in parameters}

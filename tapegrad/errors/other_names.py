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

FUNCTIONS: Final[Mapping[str, str]] = {
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
    "addmm": "x + y @ z",
    "amax": "tg.max",
    "amin": "tg.min",
    "aminmax": "tg.min and tg.max",
    "arccos": "tg.acos",
    "arccosh": "tg.acosh",
    "arcsin": "tg.asin",
    "arcsinh": "tg.asinh",
    "arctan": "tg.atan",
    "arctan2": "tg.atan2",
    "arctanh": "tg.atanh",
    "argwhere": "tg.nonzero",
    "array": "tg.tensor",
    "as_tensor": "tg.tensor",
    "asarray": "tg.tensor",
    "atleast_2d": "x[None]",
    "autocast": "nn.MixedPrecision",
    "baddbmm": "x + y @ z",
    "binary_cross_entropy": "tg.bce",
    "binary_cross_entropy_with_logits": "tg.bce_with_logits",
    "bincount": "tg.sum(tg.one_hot(x, size), 0)",
    "bool": "np.bool_",
    "bool_": "np.bool_",
    "cat": "tg.concat",
    "cdist": "tg.norm(x[:, None] - y[None], axis=-1)",
    "clip": "tg.clamp",
    "compile": "tg.jit",
    "concatenate": "tg.concat",
    "cosine_similarity": "tg.cosine, which is one minus the similarity",
    "cuda": DEVICES,
    "default_rng": "np.random.default_rng(seed)",
    "device": DEVICES,
    "divide": "tg.div",
    "double": "np.float64",
    "dstack": "tg.concat",
    "embedding": "tg.take",
    "enable_grad": ONLY_TRACED,
    "eq": "tg.equal or ==",
    "erfc": "1 - tg.erf(x)",
    "expand_as": "x.broadcast_to(y.shape)",
    "fabs": "tg.abs",
    "fft": "not implemented: matrix products compute it, see the page on differences",
    "finfo": "np.finfo",
    "fliplr": "tg.flip(x, 1)",
    "flipud": "tg.flip(x, 0)",
    "float": "np.float32",
    "float16": "np.float16",
    "float32": "np.float32",
    "float64": "np.float64",
    "from_numpy": "tg.tensor",
    "ge": "tg.greater_equal or >=",
    "get_default_dtype": DTYPES,
    "glu": "a * tg.sigmoid(b) with a and b = tg.split(x, 2, axis)",
    "grad": "loss.backward() which returns the gradients",
    "gt": "tg.greater or >",
    "half": "np.float16",
    "hardsigmoid": "tg.relu6(x + 3) / 6",
    "hstack": "tg.concat",
    "huber_loss": "tg.huber",
    "iinfo": "np.iinfo",
    "index_add": "tg.at_add",
    "index_select": "tg.take",
    "inf": "np.inf",
    "inference_mode": ONLY_TRACED,
    "int": "np.int32",
    "int16": "np.int16",
    "int32": "np.int32",
    "int64": "np.int64",
    "int8": "np.int8",
    "inverse": "tg.inv",
    "is_tensor": "isinstance(x, tg.Tensor)",
    "kthvalue": "tg.sort and an index",
    "l1_loss": "tg.mae",
    "le": "tg.less_equal or <=",
    "load": "tg.io.load",
    "logsigmoid": "tg.log_sigmoid",
    "logspace": "10 ** tg.linspace(start, stop, num)",
    "long": "np.int64",
    "lt": "tg.less or <",
    "manual_seed": "rng= of the function that samples or `with tg.random(seed):`",
    "masked_scatter": "tg.where",
    "median": "tg.sort and an index",
    "mm": "tg.matmul or @",
    "mse_loss": "tg.mse",
    "multinomial": "tg.distributions.Categorical",
    "multiply": "tg.mul",
    "mv": "tg.matvec",
    "nan": "np.nan",
    "nansum": "tg.sum(tg.nan_to_num(x))",
    "narrow": "a slice such as x[start : start + length]",
    "ne": "tg.not_equal or !=",
    "negative": "tg.neg",
    "newaxis": "None in an index or tg.expand_dims",
    "nll_loss": "tg.nll",
    "no_grad": ONLY_TRACED,
    "numel": "x.size",
    "pi": "np.pi",
    "pixel_shuffle": "tg.reshape and tg.transpose",
    "power": "tg.pow",
    "rand": "tg.uniform(shape)",
    "rand_like": "tg.uniform_like",
    "randint": "tg.tensor(np.random.default_rng(seed).integers(low, high, shape))",
    "randn": "tg.normal(shape)",
    "randn_like": "tg.normal_like",
    "randperm": "tg.tensor(np.random.default_rng(seed).permutation(n))",
    "ravel": "tg.flatten",
    "repeat_interleave": "tg.repeat",
    "save": "tg.io.save",
    "seed": "rng= of the function that samples or `with tg.random(seed):`",
    "set_default_device": DEVICES,
    "set_default_dtype": DTYPES,
    "set_grad_enabled": ONLY_TRACED,
    "smooth_l1_loss": "tg.smooth_l1",
    "softmin": "tg.softmax(-x)",
    "softsign": "x / (1 + tg.abs(x))",
    "std_mean": "tg.std and tg.mean",
    "subtract": "tg.sub",
    "swapdims": "tg.swapaxes",
    "swish": "tg.silu",
    "t": "x.T",
    "take_along_axis": "tg.gather",
    "take_along_dim": "tg.gather",
    "tanhshrink": "x - tg.tanh(x)",
    "tensor_split": "tg.split",
    "trace": "tg.sum(tg.diagonal(x), -1)",
    "true_divide": "tg.div",
    "uint8": "np.uint8",
    "unbind": "tg.unstack",
    "unsqueeze": "tg.expand_dims",
    "utils": "tg.data.batches for DataLoader and tg.checkpoint for checkpoint",
    "var_mean": "tg.var and tg.mean",
    "vdot": "tg.dot",
    "view": "tg.reshape",
    "vstack": "tg.concat",
}

_IN_PLACE: Final = (
    *("abs", "add", "clamp", "copy", "div", "exp", "fill", "log", "masked_fill", "mul", "neg", "normal", "pow", "relu"),
    *("resize", "round", "scatter_add", "sigmoid", "softmax", "sqrt", "squeeze", "sub", "tanh", "transpose"),
    *("uniform", "unsqueeze", "zero"),
)
_ALSO_METHODS: Final = (
    *("absolute", "addmm", "amax", "amin", "aminmax", "arccos", "arcsin", "arctan", "bincount", "divide", "erfc"),
    *("fliplr", "flipud", "inverse", "kthvalue", "median", "multinomial", "multiply", "mv", "nansum", "narrow"),
    *("negative", "subtract", "swapdims", "take_along_dim", "tensor_split", "true_divide", "vdot"),
)
METHODS: Final[Mapping[str, str]] = {
    **{name: FUNCTIONS[name] for name in _ALSO_METHODS},
    **{f"{name}_": "not possible: no op changes a tensor, use the result of an op" for name in _IN_PLACE},
    "argwhere": "x.nonzero()",
    "bool": "x.astype(np.bool_)",
    "clip": "x.clamp",
    "clone": IMMUTABLE,
    "contiguous": "not needed: ops take arrays of any layout",
    "copy": IMMUTABLE,
    "cpu": "not needed: x.numpy() returns the array",
    "cuda": DEVICES,
    "device": DEVICES,
    "dim": "x.ndim",
    "double": "x.astype(np.float64)",
    "element_size": "x.dtype.itemsize",
    "eq": "x == y",
    "expand": "x.broadcast_to(shape)",
    "expand_as": "x.broadcast_to(y.shape)",
    "float": "x.astype(np.float32)",
    "ge": "x >= y",
    "get_device": DEVICES,
    "grad": "grads[x] with grads = loss.backward()",
    "grad_fn": "x.tape",
    "gt": "x > y",
    "half": "x.astype(np.float16)",
    "index_add": "x.at_add(index, value)",
    "index_select": "x.take(indices, axis)",
    "int": "x.astype(np.int32)",
    "is_contiguous": "not needed: ops take arrays of any layout",
    "is_cuda": DEVICES,
    "is_leaf": "not needed: loss.backward(wrt=[x]) names what to differentiate",
    "le": "x <= y",
    "long": "x.astype(np.int64)",
    "lt": "x < y",
    "mm": "x @ y",
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
    "ravel": "x.flatten()",
    "register_hook": "a backward closure of your own (guide: tapes)",
    "repeat_interleave": "x.repeat(repeats, axis)",
    "requires_grad": "x.owns_tape",
    "requires_grad_": "x.trace()",
    "reshape_as": "x.reshape(y.shape)",
    "retain_grad": "loss.backward(wrt=[x])",
    "storage": "x.numpy()",
    "t": "x.T",
    "to": "x.astype(dtype)",
    "type": "x.astype(dtype)",
    "unbind": "x.unstack(axis)",
    "unsqueeze": "x.expand_dims(axis)",
    "view": "x.reshape(shape)",
    "view_as": "x.reshape(y.shape)",
}

LAYERS: Final[Mapping[str, str]] = {
    "AdaptiveMaxPool1d": "nn.GlobalMaxPool1d, for one result for each channel",
    "AdaptiveMaxPool2d": "nn.GlobalMaxPool2d, for one result for each channel",
    "AlphaDropout": "nn.Dropout",
    "BCELoss": "tg.bce",
    "BCEWithLogitsLoss": "tg.bce_with_logits",
    "BatchNorm3d": "nn.GroupNorm, which takes any number of axes",
    "ConstantPad2d": "tg.pad",
    "CosineSimilarity": "tg.cosine, which is one minus the similarity",
    "CrossEntropyLoss": "tg.cross_entropy",
    "DataParallel": "tg.jit with a mesh of devices (guide: jax)",
    "Dropout1d": "nn.Dropout, which drops elements and not channels",
    "Dropout2d": "nn.Dropout, which drops elements and not channels",
    "GLU": "a * tg.sigmoid(b) with a and b = tg.split(x, 2, axis)",
    "GRUCell": "tg.gru_cell",
    "Hardsigmoid": "tg.relu6(x + 3) / 6",
    "HuberLoss": "tg.huber",
    "Identity": "the argument itself, or nn.Sequential()",
    "InstanceNorm1d": "nn.InstanceNorm",
    "InstanceNorm2d": "nn.InstanceNorm",
    "KLDivLoss": "tg.kl_div",
    "L1Loss": "tg.mae",
    "LSTMCell": "tg.lstm_cell",
    "LazyConv2d": "nn.Conv2d with the number of input channels",
    "LazyLinear": "nn.Linear with both widths",
    "MSELoss": "tg.mse",
    "ModuleDict": "a dict of layers",
    "ModuleList": "a list of layers",
    "MultiheadAttention": "nn.MultiHeadAttention",
    "NLLLoss": "tg.nll",
    "Parameter": "nn.Param",
    "ParameterDict": "a dict of nn.Param",
    "ParameterList": "a list of nn.Param",
    "PixelShuffle": "tg.reshape and tg.transpose",
    "RNNCell": "tg.rnn_cell",
    "ReflectionPad2d": "tg.pad with mode='reflect'",
    "ReplicationPad2d": "tg.pad with mode='edge'",
    "SmoothL1Loss": "tg.smooth_l1",
    "SyncBatchNorm": "nn.BatchNorm2d",
    "TransformerDecoder": "a list of nn.TransformerDecoderBlock, or nn.Transformer",
    "TransformerDecoderLayer": "nn.TransformerDecoderBlock",
    "TransformerEncoder": "a list of nn.TransformerEncoderBlock, or nn.Transformer",
    "TransformerEncoderLayer": "nn.TransformerEncoderBlock",
    "UpsamplingBilinear2d": "nn.Upsample with mode='bilinear'",
    "UpsamplingNearest2d": "nn.Upsample",
    "ZeroPad2d": "tg.pad",
    "functional": "the functions of tapegrad itself, such as tg.relu",
    "init": "nn.kaiming_uniform and the other functions of nn.initialize",
    "utils": "grads.clip_norm(limit) for clip_grad_norm_",
}

OPTIMIZERS: Final[Mapping[str, str]] = {
    "Adagrad": "optim.Adadelta or optim.RMSprop",
    "CosineAnnealingLR": "lr=optim.cosine(...)",
    "ExponentialLR": "lr=optim.exponential(...)",
    "OneCycleLR": "lr=optim.one_cycle(...)",
    "RMSProp": "optim.RMSprop",
    "StepLR": "lr=optim.step(...)",
    "lr_scheduler": "a schedule as learning rate such as lr=optim.cosine(...)",
}

DATA: Final[Mapping[str, str]] = {
    "DataLoader": "data.batches(dataset, size=32)",
    "TensorDataset": "data.batches(x, y, size=32)",
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
    "half": "nn.cast(model, np.float16)",
    "load_state_dict": "tg.io.load(model, path)",
    "named_buffers": "model.buffers()",
    "named_children": "model.modules()",
    "named_modules": "model.modules()",
    "named_parameters": "model.parameters()",
    "register_buffer": "self.name = nn.Buffer(x)",
    "register_forward_hook": "not possible: call the layer in a method of your own, which reads its result",
    "register_module": STRUCTURE,
    "register_parameter": "self.name = nn.Param(x)",
    "requires_grad_": "nn.freeze(model)",
    "share_memory": DEVICES,
    "state_dict": "tg.io.save(model, path)",
    "to": DEVICES,
    "train": MODES,
    "type": "nn.cast(model, dtype)",
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
    "other": ("y",),
    "output_size": ("size",),
    "p": ("rate", "ord"),
    "pad": ("pad_width",),
    "params": ("parameters",),
    "scale_factor": ("scale", "size"),
    "seed": ("rng",),
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
    "batch_first": "not needed: the first axis is always that of the batch",
    "bidirectional": "not an option of one layer: nn.StackedLSTM, nn.StackedGRU and nn.StackedRNN take directions=2",
    "device": DEVICES,
    "dropout": "not an option: nn.Dropout is a layer of its own",
    "dtype": "not an option: x.astype(dtype) converts the result",
    "elementwise_affine": STATISTICS,
    "foreach": "not needed: an optimizer chooses the fastest way",
    "inplace": IMMUTABLE,
    "key_padding_mask": "not an option: mask= takes a mask of the scores",
    "memory_format": "not needed: ops take arrays of any layout",
    "need_weights": "not an option: attention returns no weights",
    "non_blocking": DEVICES,
    "num_layers": "not an option of one layer: nn.StackedLSTM, nn.StackedGRU and nn.StackedRNN take layers",
    "out": IMMUTABLE,
    "padding_idx": "not an option: multiply the result by a mask",
    "pin_memory": DEVICES,
    "requires_grad": "not needed: x.trace() starts a tape",
    "track_running_stats": STATISTICS,
    "training": MODES,
}

COMPLEX: Final = "not implemented: there are no complex dtypes"
OF_STANDARD: Final[Mapping[str, str]] = {
    "complex64": COMPLEX,
    "complex128": COMPLEX,
    "conj": COMPLEX,
    "imag": COMPLEX,
    "real": COMPLEX,
    "fft": FUNCTIONS["fft"],
    "linalg": "tg.cholesky, tg.eigh, tg.inv, tg.qr, tg.solve, tg.svd and others",
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

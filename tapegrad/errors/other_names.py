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

FUNCTIONS: Final[Mapping[str, str]] = {
    "Generator": "np.random.default_rng(seed)",
    "Size": "a tuple",
    "absolute": "tg.abs",
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
    "grad": "loss.backward() which returns the gradients",
    "gt": "tg.greater or >",
    "half": "np.float16",
    "hardsigmoid": "tg.relu6(x + 3) / 6",
    "hstack": "tg.concat",
    "huber_loss": "tg.huber",
    "iinfo": "np.iinfo",
    "index_add": "tg.at_add",
    "index_select": "tg.take",
    "inference_mode": "not needed: only traced tensors are recorded",
    "int": "np.int32",
    "int16": "np.int16",
    "int32": "np.int32",
    "int64": "np.int64",
    "int8": "np.int8",
    "inverse": "tg.inv",
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
    "nansum": "tg.sum(tg.nan_to_num(x))",
    "narrow": "a slice such as x[start : start + length]",
    "ne": "tg.not_equal or !=",
    "negative": "tg.neg",
    "newaxis": "None in an index or tg.expand_dims",
    "nll_loss": "tg.nll",
    "no_grad": "not needed: only traced tensors are recorded",
    "numel": "x.size",
    "power": "tg.pow",
    "rand": "tg.uniform(shape)",
    "rand_like": "tg.uniform_like",
    "randn": "tg.normal(shape)",
    "randn_like": "tg.normal_like",
    "ravel": "tg.flatten",
    "repeat_interleave": "tg.repeat",
    "save": "tg.io.save",
    "seed": "rng= of the function that samples or `with tg.random(seed):`",
    "set_default_device": DEVICES,
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
METHODS: Final[Mapping[str, str]] = {
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
    "eq": "x == y",
    "expand": "x.broadcast_to(shape)",
    "expand_as": "x.broadcast_to(y.shape)",
    "float": "x.astype(np.float32)",
    "ge": "x >= y",
    "grad": "grads[x] with grads = loss.backward()",
    "grad_fn": "x.tape",
    "gt": "x > y",
    "half": "x.astype(np.float16)",
    "index_add": "x.at_add(index, value)",
    "index_select": "x.take(indices, axis)",
    "int": "x.astype(np.int32)",
    "is_leaf": "not needed: loss.backward(wrt=[x]) names what to differentiate",
    "le": "x <= y",
    "long": "x.astype(np.int64)",
    "lt": "x < y",
    "mm": "x @ y",
    "ne": "x != y",
    "nelement": "x.size",
    "numel": "x.size",
    "ravel": "x.flatten()",
    "register_hook": "a backward closure of your own (guide: tapes)",
    "repeat_interleave": "x.repeat(repeats, axis)",
    "requires_grad": "x.owns_tape",
    "requires_grad_": "x.trace()",
    "reshape_as": "x.reshape(y.shape)",
    "retain_grad": "loss.backward(wrt=[x])",
    "t": "x.T",
    "to": "x.astype(dtype)",
    "type": "x.astype(dtype)",
    "unbind": "x.unstack(axis)",
    "unsqueeze": "x.expand_dims(axis)",
    "view": "x.reshape(shape)",
    "view_as": "x.reshape(y.shape)",
}

LAYERS: Final[Mapping[str, str]] = {
    "AdaptiveMaxPool2d": "nn.GlobalMaxPool2d, for one result for each channel",
    "BCELoss": "tg.bce",
    "BCEWithLogitsLoss": "tg.bce_with_logits",
    "CosineSimilarity": "tg.cosine, which is one minus the similarity",
    "CrossEntropyLoss": "tg.cross_entropy",
    "HuberLoss": "tg.huber",
    "Identity": "the argument itself, or nn.Sequential()",
    "KLDivLoss": "tg.kl_div",
    "L1Loss": "tg.mae",
    "MSELoss": "tg.mse",
    "ModuleDict": "a dict of layers",
    "ModuleList": "a list of layers",
    "MultiheadAttention": "nn.MultiHeadAttention",
    "NLLLoss": "tg.nll",
    "Parameter": "nn.Param",
    "ParameterList": "a list of nn.Param",
    "SmoothL1Loss": "tg.smooth_l1",
    "TransformerDecoderLayer": "nn.TransformerDecoderBlock",
    "TransformerEncoderLayer": "nn.TransformerEncoderBlock",
    "functional": "the functions of tapegrad itself, such as tg.relu",
    "init": "nn.kaiming_uniform and the other functions of nn.initialize",
    "utils": "grads.clip_norm(limit) for clip_grad_norm_",
}

OPTIMIZERS: Final[Mapping[str, str]] = {
    "lr_scheduler": "a schedule as learning rate such as lr=optim.cosine(...)",
}

DATA: Final[Mapping[str, str]] = {
    "DataLoader": "data.batches(dataset, size=32)",
    "TensorDataset": "data.batches(x, y, size=32)",
    "random_split": "tg.split(x, sizes)",
}

OF_MODULES: Final[Mapping[str, str]] = {
    "cpu": DEVICES,
    "cuda": DEVICES,
    "double": "nn.cast(model, np.float64)",
    "eval": MODES,
    "float": "nn.cast(model, np.float32)",
    "half": "nn.cast(model, np.float16)",
    "load_state_dict": "tg.io.load(model, path)",
    "named_modules": "model.modules()",
    "named_parameters": "model.parameters()",
    "requires_grad_": "nn.freeze(model)",
    "state_dict": "tg.io.save(model, path)",
    "to": DEVICES,
    "train": MODES,
    "zero_grad": NO_GRADIENTS,
}

OF_OPTIMIZERS: Final[Mapping[str, str]] = {
    "load_state_dict": "tg.io.load(opt, path)",
    "state_dict": "tg.io.save(opt, path)",
    "zero_grad": NO_GRADIENTS,
}

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "a": ("x",),
    "a_max": ("max",),
    "a_min": ("min",),
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
    "generator": ("rng",),
    "hidden_size": ("hidden_features",),
    "high": ("max",),
    "indices_or_sections": ("sections",),
    "input": ("x",),
    "input_size": ("in_features",),
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
    "num_embeddings": ("count",),
    "num_features": ("channels",),
    "num_groups": ("groups",),
    "num_heads": ("heads",),
    "num_layers": ("layers",),
    "other": ("y",),
    "output_size": ("size",),
    "p": ("rate", "ord"),
    "params": ("parameters",),
    "scale_factor": ("scale", "size"),
    "seed": ("rng",),
    "size": ("shape", "sizes"),
    "split_size_or_sections": ("sections",),
    "start_dim": ("start_axis",),
    "unbiased": ("correction",),
    "x1": ("x",),
    "x2": ("y",),
}

WITHOUT: Final[Mapping[str, str]] = {
    "batch_first": "not needed: the first axis is always that of the batch",
    "device": DEVICES,
    "inplace": IMMUTABLE,
    "out": IMMUTABLE,
    "requires_grad": "not needed: x.trace() starts a tape",
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
    """A class attribute that raises an AttributeError which says what to use instead."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, _instance: object, _owner: type) -> NoReturn:
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


def check_arguments(cls: type, kwargs: Mapping[str, object]) -> None:
    """Raise if an argument of a class has the name that PyTorch gives it.

    Raises:
        TypeError: The class has the argument by another name, or does without it.
    """
    if ARGUMENTS.keys().isdisjoint(kwargs) and WITHOUT.keys().isdisjoint(kwargs):
        return
    created = cls.__init__  # type: ignore[misc]  # of the class that is instantiated
    parameters = {} if created is object.__init__ else signature(created).parameters
    if all(one.kind is not Parameter.VAR_KEYWORD for one in parameters.values()):
        message = unexpected(cls.__name__, kwargs, parameters)
        if message:
            with trim_on_exit:
                raise TypeError(message)

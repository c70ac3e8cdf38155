"""Checkpoints: save modules and training state to a file, and load it after checking it completely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from tapegrad.errors.options import check_path
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import restore as restore_generator
from tapegrad.generator import state_of
from tapegrad.io import torch_layout
from tapegrad.io.formats import Array, FileError, Header, format_of, legible, read, write
from tapegrad.nn import Module
from tapegrad.nn.param import replace_all
from tapegrad.nn.quantized import QuantizedParam
from tapegrad.sizes import show

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from tapegrad.nn.param import State


class HasState(Protocol):
    """An object whose state can be saved as arrays by name, such as an optimizer or `Batches`."""

    def arrays(self) -> dict[str, Any]:
        """Return the state as arrays by name."""

    def restore(self, arrays: Mapping[str, Any], /) -> None:
        """Restore the state from arrays of the same names, shapes and dtypes."""


Layout: TypeAlias = Literal["tapegrad", "torch"]
LAYOUTS: Final[dict[str, Layout]] = {"tapegrad": "tapegrad", "pt": "torch"}  # by `format` in the metadata of a file
FORMATS: Final[dict[Layout, str]] = {layout: name for name, layout in LAYOUTS.items()}
# `object` because mypy infers that for a dict with values of several types.
Saved: TypeAlias = Module | HasState | np.random.Generator | Mapping[str, object]


class Part(NamedTuple):
    """The part of a file that belongs to one object."""

    prefix: str
    arrays: dict[str, Array]
    restore: Callable[[Mapping[str, Any]], None]
    copies: Mapping[str, str] = {}  # aliases of arrays: a file may contain them too, with the same values
    counters: frozenset[str] = frozenset()  # arrays that PyTorch expects and tapegrad does not use
    is_read_alike: bool = True  # whether both layouts read the same values, because nothing is transposed


@public_api
def save(saved: Saved, path: str | os.PathLike[str], *, layout: Layout = "tapegrad") -> None:
    """Save a module, an optimizer, or several such objects by name, to one file.

    The suffix of the path selects the format: `.npz`, or `.safetensors` with the extra of that name. Keys are attribute
    paths, such as `layers.0.weight`. Buffers and random generators, such as that of a `Dropout`, are saved as well.
    A parameter, buffer or generator with several paths is saved once, under the first. The keys of a mapping,
    `{"model": model, "optimizer": optimizer}`, are prefixes: `model.layers.0.weight`. `Batches` and a single random
    generator can be saved too.

    A weight of `tapegrad.nn.quantized` is saved as it is stored: its int8 values, the scale of each block, the zero
    point, and the size of a block, or 0 if there is one scale. Their keys are `layers.0.weight.values`, `.scale`,
    `.zero` and `.block`.

    With `layout="torch"` the file has the names and axes of PyTorch, and `load_state_dict` of a model of the same
    architecture reads it: `model.load_state_dict(safetensors.torch.load_file(path))`. Quantized weights are saved as
    floats. Random generators are omitted.

    The file is replaced atomically: if the process is killed, the old file remains. The metadata contain the layout. A
    file that is replaced keeps its mode.

    Args:
        saved: A module, an optimizer, batches, a generator, or a mapping of these.
        path: The file. Its folder must exist.
        layout: Whether a module's parameters have the names and axes of tapegrad or those of PyTorch.

    Raises:
        DTypeError: `path` is not a path.
        FileError: The suffix is unknown, two parameters would have the same key, the format does not support a name or
            a dtype, or the kind of a generator is not supported. Or `layout` is neither of the two, or is PyTorch's
            for an object that is not a module.
        ImportError: The suffix is `.safetensors` and that package is not installed.
        OSError: The file cannot be written.

    Examples:
        >>> import pathlib, tempfile
        >>> model = tg.nn.Sequential(tg.nn.Linear(3, 4, rng=0), tg.nn.ReLU())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.npz")
        ...     tg.io.save({"model": model, "optimizer": tg.optim.SGD(model, lr=0.5)}, path)
        ...     with np.load(path) as file:
        ...         print(sorted(name for name in file if "." in name))
        ['model.layers.0.bias', 'model.layers.0.weight', 'optimizer.lr']
    """
    _check_layout("save", layout)
    check_path("save", path)
    path = Path(path)
    format_of("save", path)
    parts = _parts("save", saved, layout)
    arrays = _all("save", parts)
    for part in parts:
        arrays |= {part.prefix + name: arrays[part.prefix + first] for name, first in part.copies.items()}
        arrays |= {part.prefix + name: np.zeros((), np.int64) for name in part.counters}
    write("save", path, arrays, {"format": FORMATS[layout]})


@public_api
def load(saved: Saved, path: str | os.PathLike[str], *, layout: Layout | None = None) -> None:
    """Load a file written by `save` into an object of the same structure; after an error, nothing has changed.

    The metadata of a file contain its layout: that of tapegrad, or that of PyTorch, which
    `safetensors.torch.save_file(model.state_dict(), path)` writes for a model of the same architecture. In PyTorch's
    layout:

    - Layers of a `Sequential` or a `Repeated` are named by their index.
    - Weights of a `Linear` and of recurrent layers are transposed.
    - The `query`, `key` and `value` of a `MultiHeadAttention` are one `in_proj_weight` and one `in_proj_bias`, and its
      `out` is `out_proj`.
    - The parts of a transformer have PyTorch's names.
    - The `num_batches_tracked` of a batch norm is ignored.
    - Random generators are not in the file and do not change.
    - The attributes of custom modules have the same names in both layouts.

    A file with the floats of a weight can be loaded into a quantized weight, which quantizes them.

    Args:
        saved: An object with the names, shapes and dtypes of the file.
        path: The file; its suffix selects the format. Nothing in the file is executed.
        layout: The names and axes of a module's parameters in the file. It is required if the metadata do not contain
            the layout and the names and shapes match both.

    Raises:
        DTypeError: `path` is not a path.
        FileError: The file is damaged or of another format, or names, shapes or dtypes differ; all differences are
            listed. Or a saved state is invalid; or the layout is ambiguous; or `layout` is neither of the two, or is
            PyTorch's for an object that is not a module.
        ImportError: The suffix is `.safetensors` and that package is not installed; or the file contains bfloat16 and
            ml_dtypes is not installed.
        OSError: The file does not exist or cannot be read.

    Examples:
        >>> import pathlib, tempfile
        >>> x, model, copy = tg.uniform((2, 3), rng=0), tg.nn.Linear(3, 4, rng=1), tg.nn.Linear(3, 4, rng=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.npz")
        ...     tg.io.save(model, path)
        ...     tg.io.load(copy, path)
        >>> model(x).tolist() == copy(x).tolist()
        True
    """
    if layout is not None:
        _check_layout("load", layout)
    check_path("load", path)
    path = Path(path)
    requested = layout or "tapegrad"
    parts = _parts("load", saved, requested)

    def accept(headers: dict[str, Header], metadata: dict[str, str]) -> list[str]:
        nonlocal parts
        found = layout or LAYOUTS.get(metadata.get("format", ""))
        parts = _parts("load", saved, found or requested, headers)
        if found is None:
            _check_unambiguous(saved, parts, path.name, headers)
        found_differences = differences(parts, headers)
        if found_differences:
            listed = "".join(f"\n  {difference}" for difference in found_differences)
            message = f"load: {path.name} does not fit {kind_of(saved)}, which stays as it is:{listed}"
            raise FileError(message)
        copies = [part.prefix + name for part in parts for name in part.copies]
        return [*_all("load", parts), *(name for name in copies if name in headers)]

    arrays = read("load", path, accept)
    _check_copies(parts, arrays, path.name)
    restore(parts, arrays, f"load: {path.name} does not fit {kind_of(saved)}, which stays as it is:")


def _check_layout(call: str, layout: object) -> None:
    if layout not in FORMATS:
        message = f"{call}: layout is {layout!r} but 'tapegrad' or 'torch' is expected"
        raise FileError(message)


def _check_unambiguous(saved: Any, own: list[Part], file: str, headers: dict[str, Header]) -> None:
    """Check that a file whose metadata contain no layout can be read in tapegrad's layout only, or equally in both.

    Raises:
        FileError: The file fits PyTorch's layout only, or both layouts, which would read different weights.
    """
    if not isinstance(saved, Module):
        return
    torch_part = _part_of_torch("load", "", saved)
    if differences([torch_part], headers):
        return
    if differences(own, headers):
        message = (
            f"load: {file} fits PyTorch's layout but does not say who wrote it: if it was PyTorch, pass layout='torch'"
        )
        raise FileError(message)
    if not torch_part.is_read_alike:
        message = (
            f"load: {file} does not say who wrote it and fits both layouts, of which PyTorch's transposes weights: "
            "pass layout='torch' or layout='tapegrad'"
        )
        raise FileError(message)


def _check_copies(parts: list[Part], arrays: dict[str, Array], file: str) -> None:
    """Check that all names of a shared parameter have the same values in the file."""
    for part in parts:
        for name, first in part.copies.items():
            one, other = part.prefix + first, part.prefix + name
            if other in arrays and arrays[one].tobytes() != arrays[other].tobytes():
                message = f"load: {file} has two values for one parameter: {one} and {other} differ"
                raise FileError(message)


def restore(parts: list[Part], found: dict[str, Array], rejected: str) -> None:
    """Restore each part from its arrays; after an error or an interrupt, all parts have their old values."""
    begun: list[Part] = []
    try:
        for part in parts:
            begun.append(part)
            part.restore({name: found[part.prefix + name] for name in part.arrays})
    except BaseException as error:
        for part in reversed(begun):
            part.restore(part.arrays)
        if not isinstance(error, ValueError | TypeError | OverflowError):
            raise
        message = f"{rejected}\n  {begun[-1].prefix.rstrip('.') or 'the state'}: {error}"
        raise FileError(message) from error


def _parts(call: str, saved: Any, layout: Layout, found: Collection[str] = ()) -> list[Part]:
    named = {f"{name}.": one for name, one in saved.items()} if isinstance(saved, Mapping) else {"": saved}
    return [part_of(call, prefix, one, layout, found) for prefix, one in named.items()]


def part_of(call: str, prefix: str, saved: Any, layout: Layout, found: Collection[str] = ()) -> Part:
    """Return the part of a file that belongs to an object.

    Args:
        call: The name of the calling function, for error messages.
        prefix: That of the names of its arrays.
        saved: The object.
        layout: The names and axes of a module's parameters.
        found: The names in the file, if it is read.

    Raises:
        FileError: It has no state to save.
    """
    if layout == "torch":
        return _part_of_torch(call, prefix, saved)
    if isinstance(saved, Module):
        return _part_of_module(call, prefix, saved, found)
    if isinstance(saved, np.random.Generator):
        return Part(
            prefix,
            {"state": _state(call, prefix[:-1] or "saved", saved)},
            lambda arrays: restore_generator(saved, arrays["state"]),
        )
    if hasattr(saved, "arrays") and hasattr(saved, "restore"):
        return Part(prefix, {name: _plain(array) for name, array in saved.arrays().items()}, saved.restore)
    message = f"{call}: {prefix[:-1] or 'saved'} is {kind_of(saved)}, which has no state to save"
    raise FileError(message)


def _part_of_module(call: str, prefix: str, module: Module, found: Collection[str]) -> Part:
    tensors = tensors_of(call, module)
    quantized = quantized_parts(call, prefix, tensors, found)
    parts = [*quantized.values(), *(generator_part(call, prefix, *one) for one in module.generators().items())]

    def restored(arrays: Mapping[str, Any]) -> None:
        for path, tensor in tensors.items():
            if path not in quantized:
                tensor.replace(arrays[path])
        for part in parts:
            part.restore(arrays)

    values = {path: _plain(tensor.data) for path, tensor in tensors.items() if path not in quantized}
    for part in parts:
        values |= part.arrays
    return Part(prefix, values, restored)


def quantized_parts(
    call: str, prefix: str, tensors: Mapping[str, State[Any, Any]], found: Collection[str]
) -> dict[str, Part]:
    """Return the parts of a file with the int8 values and the scales of quantized tensors, by the path of the tensor.

    Args:
        call: The name of the calling function, for error messages.
        prefix: That of the names of the arrays.
        tensors: The parameters and buffers of a module, by path.
        found: The names in the file, if it is read: those with floats are quantized when they are loaded.

    Raises:
        FileError: A path of a tensor is also the name of an array of a quantized tensor.
    """
    parts = {
        path: _quantized_part(prefix, path, tensor)
        for path, tensor in tensors.items()
        if isinstance(tensor, QuantizedParam) and prefix + path not in found
    }
    for part in parts.values():
        for name in part.arrays:
            if name in tensors and name not in parts:
                message = f"{call}: two tensors go by the path {name}"
                raise FileError(message)
    return parts


def _quantized_part(prefix: str, path: str, tensor: QuantizedParam[Any, Any]) -> Part:
    steps = tensor.steps

    def restored(arrays: Mapping[str, Any]) -> None:
        stored = {name: arrays[f"{path}.{name}"] for name in steps.arrays()}
        replace_all([tensor], [steps.restored(stored, path)])

    return Part(prefix, {f"{path}.{name}": _plain(array) for name, array in steps.arrays().items()}, restored)


def tensors_of(call: str, module: Module) -> dict[str, State[Any, Any]]:
    """Return the parameters and buffers of a module by path.

    Raises:
        FileError: Two of them have the same path.
    """
    parameters, buffers = module.parameters(), module.buffers()
    for path, parameter in module.paths():
        if path in buffers or (path in parameters and parameters[path] is not parameter):
            message = f"{call}: two tensors go by the path {path}"
            raise FileError(message)
    return {**parameters, **buffers}


def generator_part(call: str, prefix: str, path: str, generator: np.random.Generator) -> Part:
    """Return the part of a file with the state of a generator of a module."""
    array = _state(call, prefix + path, generator)
    return Part(prefix, {path: array}, lambda arrays: restore_generator(generator, arrays[path]))


def _state(call: str, path: str, generator: np.random.Generator) -> Array:
    try:
        return state_of(generator)
    except ValueError as error:
        message = f"{call}: {path} is {error}"
        raise FileError(message) from None


def _part_of_torch(call: str, prefix: str, module: Any) -> Part:
    if not isinstance(module, Module):
        message = (
            f"{call}: {prefix[:-1] or 'saved'} is {kind_of(module)}, which is no module, as PyTorch's layout is for"
        )
        raise FileError(message)
    entries = torch_layout.entries(module)
    first: dict[int, torch_layout.Entry] = {}  # by the id of a parameter, which the module keeps alive
    copies: dict[str, str] = {}
    for entry in entries:
        if entry.tensors and first.setdefault(id(entry.tensors[0]), entry) is not entry:
            copies[entry.name] = first[id(entry.tensors[0])].name

    def restored(arrays: Mapping[str, Any]) -> None:
        for entry in first.values():
            entry.restore(arrays[entry.name])

    return Part(
        prefix,
        {entry.name: _plain(entry.array()) for entry in first.values()},
        restored,
        copies,
        frozenset(entry.name for entry in entries if not entry.tensors),
        is_read_alike=not any(entry.is_transposed for entry in entries),
    )


def _all(call: str, parts: list[Part]) -> dict[str, Array]:
    merged: dict[str, Array] = {}
    for part in parts:
        for name, array in part.arrays.items():
            if part.prefix + name in merged:
                message = f"{call}: two arrays go by the name {part.prefix + name}"
                raise FileError(message)
            merged[part.prefix + name] = array
    return merged


def differences(parts: list[Part], headers: dict[str, Header]) -> list[str]:
    """List every name, shape and dtype in a file that differs from the expected one."""
    listed = []
    expected = _all("load", parts)
    optional = {part.prefix + name for part in parts for name in (*part.copies, *part.counters)}
    for name, array in expected.items():
        if name not in headers:
            listed.append(f"{name} {show(array.shape)} is not in the file")
            continue
        there, here = _described(headers[name]), _described(array)
        if there != here:
            listed.append(f"{name} is {there} in the file but {here} is expected")
    listed += [
        f"{legible(name)} {show(header.shape)} is in the file only"
        for name, header in headers.items()
        if name not in expected and name not in optional
    ]
    return listed


def _described(array: Array | Header) -> str:
    return f"{array.dtype} {show(array.shape)}"


def _plain(array: Any) -> Array:
    """Return the values as a C-contiguous NumPy array; unlike `ascontiguousarray`, this keeps rank 0."""
    return np.asarray(array, order="C")


def kind_of(saved: Any) -> str:
    """Return what is loaded, for messages."""
    return "the mapping" if isinstance(saved, Mapping) else type(saved).__name__

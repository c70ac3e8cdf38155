"""Checkpoints: what is trained, in a file that is checked before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from tapegrad.dims import show
from tapegrad.generator import restore as restore_generator
from tapegrad.generator import state_of
from tapegrad.io import torch_layout
from tapegrad.io.formats import Array, FileError, Header, format_of, legible, read, write
from tapegrad.nn import Module
from tapegrad.traces import edge

if TYPE_CHECKING:
    import os


class HasState(Protocol):
    """What an optimizer is to a file, or batches: arrays by name that they give and take."""

    def arrays(self) -> dict[str, Any]:
        """Returns the arrays that are there."""

    def restore(self, arrays: Mapping[str, Any], /) -> None:
        """Takes over arrays of the same names, shapes and dtypes."""


Layout: TypeAlias = Literal["tapegrad", "torch"]
# `object` is what mypy makes of a dict of several kinds.
Saved: TypeAlias = Module | HasState | np.random.Generator | Mapping[str, object]


class Part(NamedTuple):
    """One of the things in a file."""

    prefix: str
    arrays: dict[str, Array]
    restore: Callable[[Mapping[str, Any]], None]
    passed: frozenset[str] = frozenset()  # names that may be in the file as well


@edge
def save(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Writes the tensors of a module, or the state of an optimizer, or several such things by name, to one file.

    The suffix of the path names the format: `.npz`, or `.safetensors` with the extra of that name. Keys are attribute
    paths, `layers.0.weight`; a parameter in two places is saved once, under the first. So is a buffer, and a random
    generator, such as that of a `Dropout`. In a mapping, `{"model": model, "optimizer": optimizer}`, its keys come
    first: `model.layers.0.weight`. Batches have a state too, and so has a random generator by itself.

    The file is replaced at once: a process killed meanwhile leaves the old one.

    Args:
        saved: A module, an optimizer, batches, a generator, or a mapping of these.
        path: Where to. The folder exists.

    Raises:
        FileError: The suffix names no format, two parameters would have one key, the format cannot hold a name or a
            dtype, or a generator is of a rare kind.
        ImportError: The suffix is `.safetensors` and that package is not installed.
        OSError: The file cannot be written.
    """
    path = Path(path)
    format_of("save", path)
    write("save", path, _all("save", _parts("save", saved)))


@edge
def load(saved: Saved, path: str | os.PathLike[str], *, layout: Layout = "tapegrad") -> None:
    """Reads what `save` wrote back into the same kind of thing; on any error, nothing has changed.

    With `layout="torch"` it reads what `safetensors.torch.save_file(model.state_dict(), path)` wrote of a model of the
    same architecture: layers of a `Sequential` or a `Repeated` go by their number; the weights of a `Linear` and of
    recurrent layers are transposed; the `query`, `key` and `value` of a `MultiHeadAttention` are cut out of
    `in_proj_weight` and `in_proj_bias`, and its `out` is `out_proj`; the parts of a transformer go by PyTorch's names;
    the `num_batches_tracked` of a batch norm is passed over; and random generators, which are in no such file, stay as
    they are. Attributes of a model of your own have the same names.

    Args:
        saved: What has the names, shapes and dtypes that are in the file.
        path: Where from; the suffix names the format. Nothing in the file is executed.
        layout: How the file names and turns the parameters of a module: as `save` does, or as PyTorch does.

    Raises:
        FileError: The file is damaged or of another format, or a name, shape or dtype differs; all that do are listed.
            Or a state in it is none; or `layout` is neither of the two, or PyTorch's, which is one of modules, for
            something else.
        ImportError: The suffix is `.safetensors` and that package is not installed; or there is bfloat16 in the file,
            and ml_dtypes is not.
        OSError: There is no such file, or it cannot be read.
    """
    if layout not in ("tapegrad", "torch"):
        message = f"load: layout is {layout!r} but 'tapegrad' or 'torch' is expected"
        raise FileError(message)
    path = Path(path)
    parts = _parts("load", saved, layout)
    passed = {part.prefix + name for part in parts for name in part.passed}
    expected = _all("load", parts)

    def accept(headers: dict[str, Header]) -> dict[str, Array]:
        found = {name: header for name, header in headers.items() if name not in passed}
        differences = _differences(expected, found)
        if differences:
            listed = "".join(f"\n  {difference}" for difference in differences)
            message = f"load: {path.name} does not fit {_kind(saved)}, which stays as it is:{listed}"
            raise FileError(message)
        return expected

    found = read("load", path, accept)
    _restore(parts, found, f"load: {path.name} does not fit {_kind(saved)}, which stays as it is:")


def _restore(parts: list[Part], found: dict[str, Array], refused: str) -> None:
    """Hands each part its arrays; if one refuses, or an interrupt comes in between, all have what they had."""
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
        message = f"{refused}\n  {begun[-1].prefix.rstrip('.') or 'the state'}: {error}"
        raise FileError(message) from error


def _parts(call: str, saved: Any, layout: Layout = "tapegrad") -> list[Part]:
    named = {f"{name}.": one for name, one in saved.items()} if isinstance(saved, Mapping) else {"": saved}
    return [_part(call, prefix, one, layout) for prefix, one in named.items()]


def _part(call: str, prefix: str, saved: Any, layout: Layout) -> Part:
    if layout == "torch":
        return _part_of_torch(call, prefix, saved)
    if isinstance(saved, Module):
        return _part_of_module(call, prefix, saved)
    if isinstance(saved, np.random.Generator):
        return Part(
            prefix,
            {"state": _state(call, prefix[:-1] or "saved", saved)},
            lambda arrays: restore_generator(saved, arrays["state"]),
        )
    if hasattr(saved, "arrays") and hasattr(saved, "restore"):
        return Part(prefix, {name: _plain(array) for name, array in saved.arrays().items()}, saved.restore)
    message = f"{call}: {prefix[:-1] or 'saved'} is {_kind(saved)}, which has no state to save"
    raise FileError(message)


def _part_of_module(call: str, prefix: str, module: Module) -> Part:
    parameters, buffers = module.parameters(), module.buffers()
    for path, parameter in module.paths():
        if path in buffers or (path in parameters and parameters[path] is not parameter):
            message = f"{call}: two tensors go by the path {path}"
            raise FileError(message)

    tensors = parameters | buffers

    def restore(arrays: Mapping[str, Any]) -> None:
        for path, tensor in tensors.items():
            tensor.replace(arrays[path])
        for path, generator in module.generators().items():
            restore_generator(generator, arrays[path])

    values = {path: _plain(tensor.data) for path, tensor in tensors.items()}
    states = {path: _state(call, prefix + path, generator) for path, generator in module.generators().items()}
    return Part(prefix, values | states, restore)


def _state(call: str, path: str, generator: np.random.Generator) -> Array:
    try:
        return state_of(generator)
    except ValueError as error:
        message = f"{call}: {path} is {error}"
        raise FileError(message) from None


def _part_of_torch(call: str, prefix: str, module: Any) -> Part:
    if not isinstance(module, Module):
        message = f"{call}: {prefix[:-1] or 'saved'} is {_kind(module)}, which is no module, as PyTorch's layout is for"
        raise FileError(message)
    places = torch_layout.places(module)
    held = [place for place in places if place.tensors]

    def restore(arrays: Mapping[str, Any]) -> None:
        for place in held:
            place.restore(arrays[place.name])

    passed = frozenset(place.name for place in places if not place.tensors)
    return Part(prefix, {place.name: place.array() for place in held}, restore, passed)


def _all(call: str, parts: list[Part]) -> dict[str, Array]:
    together: dict[str, Array] = {}
    for part in parts:
        for name, array in part.arrays.items():
            if part.prefix + name in together:
                message = f"{call}: two arrays go by the name {part.prefix + name}"
                raise FileError(message)
            together[part.prefix + name] = array
    return together


def _differences(expected: dict[str, Array], found: dict[str, Header]) -> list[str]:
    """Lists what keeps the arrays in a file from standing in the places of those that are there."""
    listed = []
    for name, array in expected.items():
        if name not in found:
            listed.append(f"{name} {show(array.shape)} is not in the file")
            continue
        there, here = _described(found[name]), _described(array)
        if there != here:
            listed.append(f"{name} is {there} in the file but {here} is expected")
    listed += [
        f"{legible(name)} {show(header.shape)} is in the file only"
        for name, header in found.items()
        if name not in expected
    ]
    return listed


def _described(array: Array | Header) -> str:
    return f"{array.dtype} {show(array.shape)}"


def _plain(array: Any) -> Array:
    """Returns the values in NumPy, row by row; unlike `ascontiguousarray`, a scalar stays one."""
    return np.asarray(array, order="C")


def _kind(saved: Any) -> str:
    return "the mapping" if isinstance(saved, Mapping) else type(saved).__name__

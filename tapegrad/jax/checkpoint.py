"""Checkpoints of models that are divided over devices and processes: each process writes and reads its part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad.errors.options import check_count
from tapegrad.errors.tracebacks import public_api
from tapegrad.io.checkpoint import (
    Part,
    differences,
    generator_part,
    kind_of,
    part_of,
    quantized_parts,
    restore,
    tensors_of,
)
from tapegrad.io.formats import FileError, Header, legible
from tapegrad.jax.binding import has_data, sharding_of
from tapegrad.jax.device_tensor import here
from tapegrad.jax.library import exact, jax
from tapegrad.jax.pytrees import started
from tapegrad.nn import Module
from tapegrad.nn.param import replace_all
from tapegrad.nn.quantized import QuantizedParam
from tapegrad.optim import Optimizer
from tapegrad.optim.optimizer import OnDevice
from tapegrad.optim.state_fields import names_of
from tapegrad.tensors import as_compute_dtype

if TYPE_CHECKING:
    import os

    from tapegrad.io import Saved


@public_api
def save(saved: Saved, directory: str | os.PathLike[str], *, step: int, keep: int | None = None) -> None:
    """Save modules, optimizers and other objects as one step of a run; each process writes the parts that it has.

    All processes of `jax.distributed` call it with the same arguments, and the directory is on a disk that all share.
    The step is a folder of the directory. It gets its name when every process has written its part; a process that is
    killed before leaves the earlier steps as they are. The function returns when the step is complete.

    Values that lie on one process only, and those in host memory, such as the states of random generators, are the same
    in all processes, and the first process writes them. A quantized weight is saved as `tapegrad.io.save` saves it: its
    int8 values and scales. For a model on one device, `tapegrad.io.save` writes one file.

    Args:
        saved: What `tapegrad.io.save` takes: a module, an optimizer, or a mapping of these, of batches and generators.
        directory: The folder of the run; it is created.
        step: The number of the step, at least 0.
        keep: How many steps remain in the directory, at least 1; the oldest are deleted when the new one is complete.
            None for all.

    Raises:
        FileError: Two arrays would have the same name, or an object has no state.
        ImportError: The extra `orbax` is not installed.
        OSError: The directory has that step already, or cannot be written.
        DTypeError: `step` or `keep` is not an int.
        ValueError: One is too small.

    Source:
        orbax-checkpoint 0.12.

    Examples:
        >>> import tempfile
        >>> model = tg.nn.Linear(3, 2, rng=0)
        >>> with tempfile.TemporaryDirectory() as run:
        ...     for step in range(3):
        ...         tg.jax.save({"model": model}, run, step=step, keep=2)
        ...     tg.jax.saved_steps(run)
        [1, 2]
    """
    check_count("save", "step", step, 0)
    if keep is not None:
        check_count("save", "keep", keep)
    orbax, plan = _library("save"), _plan("save", saved)
    arrays = {name: leaf.written() for name, leaf in plan.leaves.items() if 0 not in leaf.shape}
    names = {name: [str(leaf.dtype), *leaf.shape] for name, leaf in plan.leaves.items()}
    with exact(), _manager(orbax, directory, max_to_keep=keep, create=True, cleanup_tmp_directories=True) as manager:
        if step in manager.all_steps():
            message = f"save: {directory} has step {step} already"
            raise FileExistsError(message)
        args = orbax.args
        parts = {"names": args.JsonSave(names), **({"arrays": args.StandardSave(arrays)} if arrays else {})}
        manager.save(step, args=args.Composite(**parts), force=True)


@public_api
def load(saved: Saved, directory: str | os.PathLike[str], *, step: int | None = None) -> int:
    """Load a step that `save` has written, also on other devices; after an error nothing has changed.

    The number of processes may be another one than at `save`. Each process reads the parts that its devices need. What
    `tapegrad.jax.place` has placed stays where it lies, and the state of an optimizer follows its parameters. A step
    with the floats of a weight can be loaded into a quantized weight, which quantizes them.

    Args:
        saved: Objects with the names, shapes and dtypes of the step.
        directory: The folder of the run.
        step: The number of the step; None for the last complete one.

    Returns:
        The number of the step.

    Raises:
        FileError: Names, shapes or dtypes differ; all differences are listed. Or the step is damaged.
        FileNotFoundError: The directory has no such step.
        ImportError: The extra `orbax` is not installed.

    Examples:
        >>> import jax, tempfile
        >>> model, other = tg.nn.Linear(3, 2, rng=0), tg.nn.Linear(3, 2, rng=1)
        >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
        >>> other = tg.jax.place(other, mesh, {"weight": (None, "data")})
        >>> with tempfile.TemporaryDirectory() as run:
        ...     tg.jax.save(model, run, step=7)
        ...     tg.jax.load(other, run)
        7
        >>> other.weight.tolist() == model.weight.tolist(), tg.jax.placement(other).rows[0].axes
        (True, (None, 'data'))
    """
    orbax = _library("load")
    with exact(), _manager(orbax, directory, create=False) as manager:
        step = _chosen(manager.all_steps(), directory, step)
        named = f"step {step} in {directory}"
        rejected = f"load: {named} does not fit {kind_of(saved)}, which stays as it is:"
        args = orbax.args
        with _blaming(named):
            names = manager.restore(step, args=args.Composite(names=args.JsonRestore()))["names"]
            headers: dict[str, Any] = {name: Header(dtype, tuple(shape)) for name, (dtype, *shape) in names.items()}
        plan = _plan("load", saved, headers)
        listed = differences([Part("", plan.leaves, _unused)], headers)
        if listed:
            raise FileError("".join([rejected, *(f"\n  {one}" for one in listed)]))
        wanted = {name: leaf.wanted() for name, leaf in plan.leaves.items() if 0 not in leaf.shape}
        empty = {name: np.zeros(leaf.shape, leaf.dtype) for name, leaf in plan.leaves.items() if 0 in leaf.shape}
        with _blaming(named):
            given = args.Composite(arrays=args.StandardRestore(wanted))
            found = empty | (manager.restore(step, args=given)["arrays"] if wanted else {})
        arrays = {name: leaf.placed(found[name]) for name, leaf in plan.leaves.items()}
    restore(plan.parts, arrays, rejected)
    _put(plan, arrays)
    return step


@public_api
def saved_steps(directory: str | os.PathLike[str]) -> list[int]:
    """Return the complete steps in the directory of a run, in order.

    Args:
        directory: The folder that `save` was given; it need not exist.

    Raises:
        ImportError: The extra `orbax` is not installed.

    Examples:
        >>> tg.jax.saved_steps("no/such/folder")
        []
    """
    orbax = _library("saved_steps")
    if not Path(directory).is_dir():
        return []
    with _manager(orbax, directory, create=False) as manager:
        return sorted(manager.all_steps())


class _Leaf(NamedTuple):
    """An array of a module, an optimizer or another object, and where it lies."""

    array: Any
    sharding: Any = None  # None in host memory, and where nothing has placed it
    state: Any = None  # the parameter or buffer that has it

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def is_shared(self) -> bool:
        """Whether the processes write and read it together; else the first process writes it, and all read it."""
        return self.sharding is not None and (jax.process_count() == 1 or not self.sharding.is_fully_addressable)

    def written(self) -> Any:
        """Return the array as orbax writes it."""
        return self.array if self.is_shared and isinstance(self.array, jax.Array) else np.array(here(self.array))

    def wanted(self) -> Any:
        """Return a description of the array that orbax reads."""
        if self.is_shared:
            return jax.ShapeDtypeStruct(self.shape, self.dtype, sharding=self.sharding)
        return np.empty(self.shape, self.dtype)

    def placed(self, array: Any) -> Any:
        """Return an array that was read, where it belongs."""
        return array if self.sharding is None or isinstance(array, jax.Array) else jax.device_put(array, self.sharding)


class _Plan(NamedTuple):
    """What a step has: all arrays by name, optimizers by prefix, and what is restored from host memory."""

    leaves: dict[str, Any]
    optimizers: dict[str, Optimizer[Any]]
    parts: list[Part]


def _plan(call: str, saved: Any, found: Collection[str] = ()) -> _Plan:
    """Return the arrays of all objects; `found` are the names in the step, if it is read.

    Raises:
        FileError: Two arrays have the same name, or an object has no state.
    """
    plan = _Plan({}, {}, [])
    objects = {f"{name}.": one for name, one in saved.items()} if isinstance(saved, Mapping) else {"": saved}
    for prefix, one in objects.items():
        for name, leaf in _leaves_of(call, prefix, one, plan, found).items():
            if prefix + name in plan.leaves:
                message = f"{call}: two arrays go by the name {prefix + name}"
                raise FileError(message)
            plan.leaves[prefix + name] = leaf
    return plan


def _leaves_of(call: str, prefix: str, one: Any, plan: _Plan, found: Collection[str]) -> dict[str, _Leaf]:
    if isinstance(one, Module):
        tensors = tensors_of(call, one)
        quantized = quantized_parts(call, prefix, tensors, found)
        parts = [*quantized.values(), *(generator_part(call, prefix, *held) for held in one.generators().items())]
        plan.parts.extend(parts)
        leaves = {path: _leaf_of(x) for path, x in tensors.items() if path not in quantized}
        return leaves | {name: _Leaf(array) for part in parts for name, array in part.arrays.items()}
    if isinstance(one, Optimizer):
        plan.optimizers[prefix] = one
        return dict(_leaves_of_optimizer(one))
    part = part_of(call, prefix, one, "tapegrad")
    plan.parts.append(part)
    return {name: _Leaf(array) for name, array in part.arrays.items()}


def _leaf_of(x: Any) -> _Leaf:
    if isinstance(x, QuantizedParam):  # to read floats of a step, which are quantized in host memory
        return _Leaf(np.asarray(x.data), None, x)
    if x.on_device is None:
        return _Leaf(np.asarray(x.data), x.placement, x)
    return _Leaf(x.on_device, sharding_of(x.on_device), x)


def _leaves_of_optimizer(opt: Optimizer[Any]) -> Iterator[tuple[str, _Leaf]]:
    for name, rate in _rates_of(opt).items():
        yield name, _Leaf(np.array(float(rate.lr)))
    for path, parameter in opt.parameters.items():
        state = started(opt, parameter)
        beside = _leaf_of(parameter)
        for name in names_of(state):
            part = getattr(state, name)
            if isinstance(part, OnDevice) and part.array.ndim:
                yield f"{path}.{name}", _Leaf(part.array, sharding_of(part.array))
            else:
                is_alike = np.shape(part) == beside.shape
                yield f"{path}.{name}", _Leaf(np.asarray(part), beside.sharding if is_alike else None)


def _rates_of(opt: Optimizer[Any]) -> dict[str, Any]:
    """Return what has a learning rate, by its name."""
    groups = {f"groups.{pattern}.lr": group for pattern, group in opt.groups.items() if group.lr is not None}
    return {"lr": opt, **groups}


def _put(plan: _Plan, arrays: dict[str, Any]) -> None:
    """Store the arrays of modules and optimizers at once."""
    changes: list[tuple[Any, ...]] = []
    states, values = [], []
    for name, leaf in plan.leaves.items():
        if leaf.state is None:
            continue
        if not isinstance(arrays[name], jax.Array):
            states.append(leaf.state)
            values.append(as_compute_dtype(arrays[name]))
            continue
        changes.append((setattr, leaf.state, "on_device", arrays[name]))
        changes.append((setattr, leaf.state, "version", leaf.state.version + 1))
        if has_data(leaf.state):
            changes.append((delattr, leaf.state, "data"))
    for prefix, opt in plan.optimizers.items():
        changes += [(setattr, one, "lr", float(arrays[prefix + name])) for name, one in _rates_of(opt).items()]
        after = {x: _restored(opt, path, x, prefix, arrays) for path, x in opt.parameters.items()}
        changes.append((opt.state.update, {x: state for x, state in after.items() if state is not None}))
    replace_all(states, values, *changes)


def _restored(opt: Optimizer[Any], path: str, parameter: Any, prefix: str, arrays: dict[str, Any]) -> Any:
    """Return the state of an optimizer for a parameter."""
    state = started(opt, parameter)
    if state is None:
        return None
    found: dict[str, Any] = {}
    for name in names_of(state):
        array = arrays[f"{prefix}{path}.{name}"]
        if isinstance(array, jax.Array):
            found[name] = OnDevice(array)
        else:
            found[name] = int(array) if _is_count(getattr(state, name)) else array
    return replace(state, **found)


def _is_count(part: Any) -> bool:
    return isinstance(part.here() if isinstance(part, OnDevice) and not part.array.ndim else part, int)


def _unused(_: Mapping[str, Any]) -> None:
    """Do nothing: the names and shapes of a part are compared, and nothing is restored from it."""


# orbax


def _library(call: str) -> Any:
    try:
        return import_module("orbax.checkpoint")
    except ModuleNotFoundError as error:
        message = f'{call}: this needs the package orbax-checkpoint: pip install "tapegrad[orbax]"'
        raise ModuleNotFoundError(message, name=error.name) from None


@contextmanager
def _manager(orbax: Any, directory: str | os.PathLike[str], **options: Any) -> Iterator[Any]:
    """Open the directory of a run; all processes do so together."""
    path = Path(directory).resolve()
    if not options["create"] and not path.is_dir():
        message = f"load: {directory} is no folder"
        raise FileNotFoundError(message)
    chosen = orbax.CheckpointManagerOptions(enable_async_checkpointing=False, **options)
    with orbax.CheckpointManager(path, options=chosen) as manager:
        yield manager


def _chosen(steps: list[int], directory: object, step: int | None) -> int:
    """Return the number of the step to load.

    Raises:
        FileNotFoundError: There is no such step.
    """
    if not steps:
        message = f"load: {directory} has no complete step"
        raise FileNotFoundError(message)
    if step is not None and step not in steps:
        message = f"load: {directory} has no step {step}; it has {', '.join(map(str, sorted(steps)))}"
        raise FileNotFoundError(message)
    return max(steps) if step is None else step


@contextmanager
def _blaming(step: str) -> Iterator[None]:
    """Raise any error again as a `FileError`, because orbax raises errors of many classes for a damaged step."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # as above; the message is passed on
        reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}" if str(error).strip() else repr(error)
        message = f"load: {step} is damaged ({legible(reason)})"
        raise FileError(message) from None

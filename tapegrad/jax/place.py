"""Placement of tensors on devices: on one device, replicated on many, or sharded over them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from typing_extensions import TypeVar

from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.jax.device_tensor import DeviceTensor
from tapegrad.jax.library import exact, jax
from tapegrad.jax.rules import Axes, Axis, Rules, axes_of, check_axes
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.sizes import show
from tapegrad.tensors import Tensor
from tapegrad.transactions import commit

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape

D = TypeVar("D", bound=np.generic)
M = TypeVar("M", bound=Module)
P = TypeVar("P", bound=Module | Tensor[Any, Any, Any])


@overload
def place(target: M, devices: Any, rules: Rules) -> M: ...
@overload
def place(target: P, devices: Any, *axes: Axis) -> P: ...
@public_api
def place(target: Any, devices: Any, *axes: Any, rules: Rules | None = None) -> Any:
    """Place a tensor, or the parameters and buffers of a module, on devices.

    A step under `jit` computes on the devices of its arguments, and leaves its results there: with parameters
    replicated on a mesh and a batch sharded along one axis of it, each device computes with its part, and JAX adds up
    the gradients. What is not placed explicitly is replicated on every device.

        mesh = jax.make_mesh((8,), ("data",))
        place(model, mesh)
        x = place(x, mesh, "data")

    Rules divide each parameter and buffer of a module by its path:

        place(model, mesh, {"*.bias": (), "layers.0.weight": (None, "model"), "*.weight": ("model", None)})

    Of several rules that fit a path the first one holds; what no rule fits is replicated. `placement` returns what lies
    where. Values that are assigned, loaded or computed outside of `jit` are placed in the same way again.

    Args:
        target: A tensor without a tape; or a module, a parameter or a buffer. The state of an optimizer follows its
            parameter. Every process passes the same values.
        devices: A `jax.sharding.Mesh`, or any other JAX `Sharding` or device.
        axes: For each axis of the target the axis of the mesh that divides it, several, or None; axes that are left out
            are not divided.
        rules: Such a tuple of axes for each path pattern of a module; `*` matches any characters, dots included.

    Returns:
        A tensor with the same elements; for other targets the target itself.

    Raises:
        ShapeError: The mesh does not divide the size of an axis, or a tensor has fewer axes than are named.
        TapeError: The tensor has a tape.
        DTypeError: The target is neither a tensor nor a module; or rules are given for a tensor, or without a mesh.
        ValueError: The mesh has no axis of that name, or has it divide two axes; or a rule holds for no path.
            After an error nothing has been placed.

    Examples:
        >>> import jax
        >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
        >>> model = tg.nn.Sequential(tg.nn.Linear(64, 32, rng=0), tg.nn.Linear(32, 10, rng=0))
        >>> model = tg.jax.place(model, mesh, {"*.weight": ("data", None)})
        >>> images = tg.jax.place(tg.uniform((32, 64), rng=1), mesh, "data")
        >>> model(images).shape
        (32, 10)
    """
    if axes and isinstance(axes[0], Mapping):
        rules, axes = axes[0], ()
    if isinstance(target, Module):
        states = [*target.parameters().items(), *target.buffers().items()]
        divided = {} if rules is None else axes_of(target, devices, rules)
        arrays = [_placed("place", path, x, devices, divided.get(x, axes)) for path, x in states]
        _keep([x for _, x in states], arrays)
        return target
    kind = messages.with_article(type(target).__name__)
    if not isinstance(target, Tensor):
        message = f"place: target is {kind}, neither a tensor nor a module"
        raise DTypeError(message)
    if rules is not None:
        message = f"place: rules are for the paths of a module but target is {kind}"
        raise DTypeError(message)
    if target.owns_tape:
        raise TapeError(messages.tape_unwanted("place", "target"))
    array = _placed("place", "target", target, devices, axes)
    if not isinstance(target, State):
        return DeviceTensor.of(array)
    _keep([target], [array])
    return target


@public_api
def from_local(x: Tensor[Any, NoneTape, D], devices: Any, *axes: Axis) -> Tensor[Any, NoneTape, D]:
    """Combine the parts of all processes, for example their images of a batch, into one tensor.

    Args:
        x: The part of this process; all parts have the same length.
        devices: A `jax.sharding.Mesh` of the devices of all processes, or any other `Sharding`.
        axes: For each axis the axis of the mesh that divides it, see `place`.

    Returns:
        The whole tensor; along the axis that the processes divide it is as many times as long as `x` as there are
        processes.

    Raises:
        ShapeError: The parts cannot be divided in this way.
        TapeError: `x` has a tape.

    Examples:
        >>> import jax
        >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
        >>> images = tg.uniform((32, 64), rng=0)
        >>> batch = tg.jax.from_local(images, mesh, "data")
        >>> batch.shape
        (32, 64)
    """
    if x.owns_tape:
        raise TapeError(messages.tape_unwanted("from_local", "x"))
    with exact():
        try:
            whole: Any = DeviceTensor.of(jax.make_array_from_process_local_data(_sharding(devices, axes), x.numpy()))
        except ValueError as error:
            message = f"from_local: x {show(x.shape)} cannot be divided so: {str(error).splitlines()[0]}"
            raise ShapeError(message) from None
    return whole  # type: ignore[no-any-return]  # the dtype is that of the parts, which the stubs of JAX do not express


def _placed(call: str, name: str, x: Tensor[Any, Any, Any], devices: Any, axes: Axes) -> Any:
    """Return the array of a tensor on devices."""
    if isinstance(devices, jax.sharding.Mesh):
        check_axes(call, name, x.shape, devices, axes)
    if isinstance(x, DeviceTensor):
        source = x.node
    elif isinstance(x, State) and x.on_device is not None:
        source = x.on_device
    else:
        source = x.numpy(copy=isinstance(x, State))
    with exact():
        try:
            return jax.device_put(source, _sharding(devices, axes))
        except ValueError as error:  # a sharding that the caller has made
            message = f"{call}: {name} {show(x.shape)} cannot be divided so: {str(error).splitlines()[0]}"
            raise ShapeError(message) from None


def _keep(states: list[State[Any, Any]], arrays: list[Any]) -> None:
    """Store the arrays of parameters and buffers, and where they lie."""
    shardings = [array.sharding for array in arrays]
    commit(
        map(setattr, states, repeat("on_device"), arrays),
        map(setattr, states, repeat("placement"), shardings),
    )


def _sharding(devices: Any, axes: Axes) -> Any:
    """Return the JAX sharding, with a mesh for which JAX determines the sharding of results."""
    if isinstance(devices, jax.sharding.Mesh):
        devices = jax.sharding.NamedSharding(_with_automatic_axes(devices), jax.sharding.PartitionSpec(*axes))
    elif isinstance(devices, jax.sharding.NamedSharding):
        mesh = _with_automatic_axes(devices.mesh)
        devices = jax.sharding.NamedSharding(mesh, devices.spec, memory_kind=devices.memory_kind)
    return devices


def _with_automatic_axes(mesh: Any) -> Any:
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
    return jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=kinds)

"""Placement of tensors on devices: on one device, replicated on many, or sharded over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from typing_extensions import TypeVar

from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.jax.device_tensor import DeviceTensor
from tapegrad.jax.library import exact, jax
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.tensor import Tensor

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape

Axis: TypeAlias = str | tuple[str, ...] | None
D = TypeVar("D", bound=np.generic)
P = TypeVar("P", bound=Module | Tensor[Any, Any, Any])


@public_api
def place(target: P, devices: Any, *axes: Axis) -> P:
    """Place a tensor, or the parameters and buffers of a module, on devices.

    A step under `jit` computes on the devices of its arguments, and leaves its results there: with parameters
    replicated on a mesh and a batch sharded along one axis of it, each device computes with its part, and JAX adds up
    the gradients. What is not placed explicitly is replicated on every device.

        mesh = jax.make_mesh((8,), ("data",))
        place(model, mesh)
        x = place(x, mesh, "data")

    Args:
        target: A tensor without a tape; or a module, a parameter or a buffer. The state of an optimizer follows its
            parameter. Every process passes the same values.
        devices: A `jax.sharding.Mesh`, or any other JAX `Sharding` or device.
        axes: For each axis of the target the axis of the mesh that divides it, several, or None; axes that are left out
            are not divided.

    Returns:
        A tensor with the same elements; for other targets the target itself.

    Raises:
        ShapeError: An axis cannot be divided among so many devices.
        TapeError: The tensor has a tape.
        DTypeError: The target is neither a tensor nor a module.

    Examples:
        >>> import jax
        >>> mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
        >>> model = tg.jax.place(tg.nn.Linear(64, 10, rng=0), mesh)
        >>> images = tg.jax.place(tg.uniform((32, 64), rng=1), mesh, "data")
        >>> model(images).shape
        (32, 10)
    """
    sharding = _sharding(devices, axes)
    if isinstance(target, Module):
        states = [*target.parameters().items(), *target.buffers().items()]
        arrays = [(state, _placed(state, path, sharding)) for path, state in states]
        for state, array in arrays:
            state.on_device = array
        return target
    if not isinstance(target, Tensor):
        message = f"place: target is {messages.with_article(type(target).__name__)}, neither a tensor nor a module"
        raise DTypeError(message)
    if target.owns_tape:
        raise TapeError(messages.tape_unwanted("place", "target"))
    placed: Any = _placed(target, "target", sharding)
    if not isinstance(target, State):
        return DeviceTensor.of(placed)  # type: ignore[return-value]  # of the same sizes and dtype
    target.on_device = placed
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
            raise ShapeError(_rejected("from_local", "x", x, error)) from None
    return whole  # type: ignore[no-any-return]  # the dtype is that of the parts, which the stubs of JAX do not express


def _placed(x: Tensor[Any, Any, Any], name: str, sharding: Any) -> Any:
    source = x.node if isinstance(x, DeviceTensor) else x.numpy(copy=isinstance(x, State))
    with exact():
        try:
            return jax.device_put(source, sharding)
        except ValueError as error:
            raise ShapeError(_rejected("place", name, x, error)) from None


def _sharding(devices: Any, axes: tuple[Axis, ...]) -> Any:
    """Return the JAX sharding, with a mesh for which JAX determines the sharding of results."""
    if isinstance(devices, jax.sharding.Mesh):
        devices = jax.sharding.NamedSharding(devices, jax.sharding.PartitionSpec(*axes))
    if not isinstance(devices, jax.sharding.NamedSharding):
        return devices
    mesh, kinds = devices.mesh, (jax.sharding.AxisType.Auto,) * len(devices.mesh.axis_names)
    mesh = jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=kinds)
    return jax.sharding.NamedSharding(mesh, devices.spec, memory_kind=devices.memory_kind)


def _rejected(call: str, name: str, x: Tensor[Any, Any, Any], error: Exception) -> str:
    return f"{call}: {name} {x.shape} cannot be divided so: {str(error).splitlines()[0]}"

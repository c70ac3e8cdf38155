"""Export of steps under `jit` as StableHLO, for programs that call them without tapegrad."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.errors import DTypeError, ShapeError, TapeError, TapegradError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.jax import symbolic
from tapegrad.jax.compiled import Programs
from tapegrad.jax.device_tensor import DeviceTensor, DeviceTensorWithTape, here
from tapegrad.jax.draws import NO_SEED
from tapegrad.jax.engine import ENGINE
from tapegrad.jax.jit import tracing
from tapegrad.jax.library import exact, jax, jnp
from tapegrad.jax.program import Call, SharedError, computation
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.optim import Group, Optimizer
from tapegrad.sizes import show
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tapegrad.jax.arguments import ArgumentTree

_export: Any = import_module("jax.export")
_jaxpr_as_fun: Any = import_module("jax.extend.core").jaxpr_as_fun


@public_api
def export(
    step: Callable[..., Any],
    *examples: Any,
    sizes: Mapping[str, Sequence[str | None]] | None = None,
    platforms: Sequence[str] | None = None,
    **named: Any,
) -> Any:
    """Export a step under `jit` as a program in StableHLO, which is saved and called without tapegrad.

        exported = tg.jax.export(predict, model, tg.ones((1, 64)), sizes={"x": ("batch", None)})
        pathlib.Path("predict.bin").write_bytes(exported.serialize())

    Another program needs JAX only:

        predict = jax.export.deserialize(bytearray(pathlib.Path("predict.bin").read_bytes())).call
        scores = predict(images)

    The arguments of the exported program are the tensors among the examples, as arrays. All other arguments become part
    of it, with their current values: modules with their parameters and buffers, numbers, strings. A result is an array
    in the place of each tensor and number; tuples stay tuples, and a dataclass becomes a dictionary.

    With dtypes of 64 bits among its arguments or results, the other program calls it inside `jax.enable_x64(True)`.

    Args:
        step: A function that `jit` has returned.
        examples: The arguments of a call. Of a tensor only the shape and the dtype matter.
        sizes: For tensors whose sizes differ from call to call, by path: for each axis a name, or None for the size of
            the example. A name stands for any size from 1 on, the same at each place; calculations such as `"2*n"` are
            those of `jax.export.symbolic_shape`.
        platforms: The platforms that can run the program, of `cpu`, `cuda`, `rocm` and `tpu`; by default that of this
            process.
        named: Arguments that are passed by name; the exported program takes them by name too.

    Returns:
        A `jax.export.Exported`.

    Raises:
        DTypeError: `step` is not compiled by `jit`; no example is a tensor, or one has tensors beside other objects; or
            `platforms` is a string.
        ShapeError: `sizes` has no name or None for each axis of a tensor; or the step needs the number that a name
            stands for.
        TapeError: The step changes a parameter, a buffer or the state of an optimizer, draws random numbers, or prints;
            or it is rejected by `jit`.
        ValueError: `sizes` has a path of no tensor, or `platforms` a name of no platform.

    Source:
        JAX 0.10, `jax.export`.

    Examples:
        >>> import jax
        >>> @tg.jit
        ... def predict(model, x):
        ...     return model(x).softmax()
        >>> model = tg.nn.Linear(3, 2, rng=0)
        >>> exported = tg.jax.export(predict, model, tg.ones((1, 3)), sizes={"x": ("batch", None)})
        >>> exported.in_avals
        (ShapedArray(float32[batch,3]),)
        >>> loaded = jax.export.deserialize(exported.serialize())
        >>> loaded.call(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """
    programs = getattr(step, "programs", None)
    if not isinstance(programs, Programs):
        message = f"export: step is {messages.with_article(type(step).__name__)} that jit has not compiled"
        raise DTypeError(message)
    _check_platforms(platforms)
    function, first, beside = programs.source
    args = (*first, *map(_fresh, examples))
    kwargs = beside | {name: _fresh(value) for name, value in named.items()}
    with tracing, exact():
        of = Call.of(function, args, kwargs, inspect.signature(function).parameters)
        given = [value for value in args if _holds_tensors(value)]
        by_name = {name: value for name, value in kwargs.items() if _holds_tensors(value)}
        examples = (*given, *by_name.values())
        inputs = [x for value in examples for x in _tensors_in(value, of.tree)]
        if not inputs:
            message = "export: no example is a tensor, so the exported program would always return the same"
            raise DTypeError(message)
        shapes = _shapes([(_path_of(x, of.tree), x) for x in inputs], sizes or {})

        def exported(shapes: Sequence[Any]) -> Any:
            structs = [jax.ShapeDtypeStruct(shape, x.dtype) for shape, x in zip(shapes, inputs, strict=True)]
            program = _program(of, inputs, structs)

            def called(*arrays: Any, **arrays_by_name: Any) -> Any:
                values = (*arrays, *(arrays_by_name[name] for name in by_name))
                return program([one for pair in zip(examples, values, strict=True) for one in _arrays_in(*pair)])

            rest = iter(structs)
            of_args = [_with_structs(value, rest) for value in given]
            of_names = {name: _with_structs(value, rest) for name, value in by_name.items()}
            return _export.export(jax.jit(called), platforms=platforms)(*of_args, **of_names)

        try:
            return exported(shapes)
        except Exception as error:
            if not sizes:
                raise
            exported([x.shape for x in inputs])  # an error that has nothing to do with the names is raised here again
            names = {str(size) for shape in shapes for size in shape if is_symbol(size)}
            reason = "it compares or converts it; give None instead of the name, for the size of the example"
            if isinstance(error, TapegradError):
                reason = str(error).splitlines()[0]
            message = f"export: the step needs the number that {' or '.join(sorted(names))} stands for: {reason}"
            raise ShapeError(message) from None


def _check_platforms(platforms: Sequence[str] | None) -> None:
    """Reject names of no platform, which JAX writes into the program as they are.

    Raises:
        DTypeError: `platforms` is a string.
        ValueError: A name is that of no platform.
    """
    if isinstance(platforms, str):
        message = f"export: platforms is {platforms!r} but a tuple of names is expected, such as ({platforms!r},)"
        raise DTypeError(message)
    known = dict.fromkeys(["cpu", "cuda", "rocm", "tpu", *(device.platform for device in jax.devices())])
    known.pop("gpu", None)  # JAX's devices are named so, and its programs are for one kind of GPU
    for name in platforms or ():
        if name not in known:
            message = f"export: platforms has {name!r} but {', '.join(map(repr, known))} are expected"
            raise ValueError(message)


def _program(of: Call, inputs: Sequence[Any], structs: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    """Trace a step; return a function from the arrays of its inputs to its result."""
    binding = of.binding
    found, _ = binding.structs()
    before = [jax.ShapeDtypeStruct(one.shape, one.dtype, weak_type=one.weak_type) for one in found]
    count = len(before) - len(binding.tensors)
    kinds = _replaced(binding.tensors, inputs, structs, before[count:])
    try:
        noted, outcome, _ = computation(of, [*before[:count], *kinds])
    except SharedError:
        raise TapeError(_CHANGES_OPTIMIZER) from None
    _check(of.tree, noted, outcome)
    # In host memory, because a program with arrays of a mesh would need as many devices.
    fixed = [here(array) for array in binding.carried()]
    seeds = [NO_SEED] * (len(binding.generators) + 1)
    held, others = fixed[: len(fixed) - len(binding.tensors)], fixed[len(fixed) - len(binding.tensors) :]

    def program(arrays: Sequence[Any]) -> Any:
        outs = _jaxpr_as_fun(noted)(*held, *seeds, *_replaced(binding.tensors, inputs, arrays, others))
        return _arrays_of(outcome.result(outs, binding), inputs, arrays)

    return program


def _replaced(tensors: Sequence[Any], inputs: Sequence[Any], values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return for each tensor the value in the place of the input that it is, or the other value if it is none."""
    positions = [next((at for at, one in enumerate(inputs) if one is x), None) for x in tensors]
    return [other if at is None else values[at] for at, other in zip(positions, others, strict=True)]


def _check(tree: ArgumentTree, noted: Any, outcome: Any) -> None:
    """Reject a step that does more than compute a result.

    Raises:
        TapeError: It changes a parameter, a buffer or the state of an optimizer, draws random numbers, or prints.
    """
    if outcome.changed:
        path = [*tree.states.values()][outcome.changed[0]]
        message = f"export: the step changes {path}, but an exported program returns results only"
        raise TapeError(message)
    if outcome.moved:
        raise TapeError(_CHANGES_OPTIMIZER)
    if outcome.seeded:
        message = (
            "export: the step draws random numbers, but an exported program has no generator: pass them as a tensor"
        )
        raise TapeError(message)
    if noted.effects:
        message = "export: the step prints, but an exported program returns results only: remove the debug.print"
        raise TapeError(message)


_CHANGES_OPTIMIZER: Final = (
    "export: the step changes the state of an optimizer, but an exported program returns results only"
)

# The examples


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, State)


def _parts_of(value: Any) -> dict[Any, Any]:
    """Return the elements of a tuple, a list or a dictionary."""
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else {}


def _holds_tensors(value: Any) -> bool:
    return _is_tensor(value) or any(map(_holds_tensors, _parts_of(value).values()))


def _fresh(value: Any) -> Any:
    """Return an argument with new tensors, so that each stands for one input."""
    if not _holds_tensors(value):
        return value
    if _is_tensor(value):
        return value if value.owns_tape else value.detach()
    parts = {key: _fresh(part) for key, part in _parts_of(value).items()}
    if isinstance(value, dict):
        return parts
    kind: Any = type(value)
    return kind(*parts.values()) if hasattr(value, "_fields") else kind(parts.values())


def _path_of(x: Any, tree: ArgumentTree) -> str:
    return tree.tensors[x]


def _tensors_in(value: Any, tree: ArgumentTree) -> Iterator[Any]:
    """Yield the tensors of an argument.

    Raises:
        DTypeError: There are other objects beside them.
    """
    if _is_tensor(value):
        yield value
        return
    parts = _parts_of(value)
    others = [part for part in parts.values() if not _holds_tensors(part)]
    found = [x for part in parts.values() if _holds_tensors(part) for x in _tensors_in(part, tree)]
    if others:
        kind = messages.with_article(type(others[0]).__name__)
        message = f"export: {_path_of(found[0], tree)} is in one argument with {kind}; pass them as two arguments"
        raise DTypeError(message)
    yield from found


def _arrays_in(value: Any, arrays: Any) -> Iterator[Any]:
    """Yield the array of each tensor of an argument, in the order of `_tensors_in`."""
    if _is_tensor(value):
        yield arrays
        return
    for key, part in _parts_of(value).items():
        yield from _arrays_in(part, arrays[key])


def _with_structs(value: Any, structs: Iterator[Any]) -> Any:
    """Return an argument with the next shape and dtype in the place of each tensor."""
    if _is_tensor(value):
        return next(structs)
    parts = {key: _with_structs(part, structs) for key, part in _parts_of(value).items()}
    return (
        parts if isinstance(value, dict) else type(value)(parts.values()) if type(value) is list else (*parts.values(),)
    )


def _shapes(tensors: Sequence[tuple[str, Any]], sizes: Mapping[str, Sequence[str | None]]) -> list[Any]:
    """Return the shape of each input, with names for sizes that differ from call to call.

    Raises:
        ShapeError: `sizes` has no name or None for each axis of a tensor, or a name is none.
        ValueError: It has a path of no tensor.
    """
    scope = _export.SymbolicScope()
    shapes = {path: tuple(x.shape) for path, x in tensors}
    for path, names in sizes.items():
        if path not in shapes:
            message = f"export: sizes has {path!r} but the tensors are {', '.join(map(repr, shapes))}"
            raise ValueError(message)
        shape = shapes[path]
        if isinstance(names, str) or len(names) != len(shape):
            message = f"export: sizes[{path!r}] is {names!r} but {path} {show(shape)} needs a tuple of {len(shape)}"
            raise ShapeError(message)
        written = ", ".join(str(size) if name is None else name for name, size in zip(names, shape, strict=True))
        try:
            shapes[path] = tuple(_export.symbolic_shape(written, scope=scope))
            symbolic.register(shapes[path], ENGINE)
        except ValueError as error:
            message = f"export: sizes[{path!r}] is {names!r}: {str(error).splitlines()[0]}"
            raise ShapeError(message) from None
    return [*shapes.values()]


# The result


def _arrays_of(result: Any, inputs: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """Return a result with arrays in the place of tensors and numbers.

    Raises:
        DTypeError: It has another object.
    """
    given = next((array for x, array in zip(inputs, arrays, strict=True) if x is result), None)
    if given is not None:
        return given
    if isinstance(result, DeviceTensorWithTape):
        result = result.node
    if isinstance(result, DeviceTensor):
        return jnp.asarray(result.node)
    if isinstance(result, State) and result.on_device is not None:
        return jnp.asarray(here(result.on_device))
    if isinstance(result, Tensor):
        return jnp.asarray(result.numpy())
    if isinstance(result, bool | int | float | complex | np.generic | np.ndarray):
        return jnp.asarray(result)
    if isinstance(result, tuple | list):
        parts = [_arrays_of(one, inputs, arrays) for one in result]
        return parts if isinstance(result, list) else tuple(parts)
    held: Any = result if isinstance(result, dict) else None
    if is_dataclass(result) and not isinstance(result, type | Module | Optimizer | Group):
        held = {field.name: getattr(result, field.name) for field in fields(result)}
    elif isinstance(result, SimpleNamespace):
        held = vars(result)
    if held is not None:
        return {key: _arrays_of(one, inputs, arrays) for key, one in held.items()}
    if result is None:
        return None
    kind = messages.with_article(type(result).__name__)
    message = f"export: the step returns {kind}, but tensors, numbers, and tuples, lists and dictionaries are expected"
    raise DTypeError(message)

"""Pass the type of an argument through the layers of a model; errors name the layer that rejects it."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NoReturn

from mypy.nodes import TypeInfo
from mypy.types import AnyType, Instance, TupleType, Type, UnionType, UnpackType, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    MODULE,
    TENSOR,
    Many,
    TensorParts,
    dtype_name,
    joined,
    merged_tape,
    shape_items,
    shape_type,
    size_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.features.layer_names import layer_text
from tapegrad.mypy.features.made_layers import has_listed_layers, inner_value, leaves_sizes_open, type_made
from tapegrad.mypy.mypy_api import Argument, accepts, make, map_instance_to_supertype, needs_others, tried_method
from tapegrad.mypy.reports import CODES, with_path
from tapegrad.mypy.scopes.frames import Layers, Several, trying
from tapegrad.sizes import UNKNOWN, is_unknown, surely_differ, surely_less, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.errorcodes import ErrorCode
    from mypy.nodes import Context

    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.sizes import Size


class RejectedError(Exception):
    """A layer of a model rejects its input; has mypy's errors, and the number of layers passed before."""

    def __init__(self, errors: list[tuple[str, ErrorCode | None]], passed: int) -> None:
        super().__init__()
        self.errors = errors
        self.passed = passed


class ModelPass:
    """Passes the type of an argument through the layers of a model.

    The `others` are further arguments, for each layer of a `Repeated`; None while the model is made, when they are
    unknown.
    """

    def __init__(self, api: Any, context: Context, others: list[Argument] | None = None) -> None:
        self.api = api
        self.others = others
        self.make = make(api)
        self._context = context
        self.values: tuple[Value, ...] = ()  # of the layers in the innermost container
        self._passed = 0

    def through(self, layer: Type, x: Type, path: str, others: Sequence[Argument] = (), value: Value = None) -> Type:
        """Return what a layer returns for `x` and the other arguments; its value is what it was made with, if known.

        Raises:
            RejectedError: The layer rejects them.
        """
        if leaves_sizes_open(layer) or has_listed_layers(layer, value, self.api):
            layer = type_made(layer, value, self.api) or layer
        value = inner_value(value, self.api)
        p, holder = get_proper_type(layer), container(layer)
        if isinstance(p, UnionType):
            return self._through_one_of(p.items, x, path, others)
        if not isinstance(p, Instance) or not p.type.has_base(MODULE):
            return unknown()
        if holder is not None:
            is_taken = not others or holder.type.name in ("Repeated", "MixedPrecision")
            if not is_taken:
                return unknown()
            known = value.items if isinstance(value, Layers) else ()
            around, self.values = self.values, known if len(known) == len(holder.args) else (None,) * len(holder.args)
            try:
                return CONTAINERS[holder.type.name](self, holder, x, path)
            finally:
                self.values = around
        with with_path(partial(messages.of_layer, path, layer_text(p))), trying(value):
            trial = tried_method(self.api, p, "forward", [Argument(x), *others], self._context)
        if trial.errors:
            raise RejectedError(trial.errors, self._passed)
        self._passed += 1
        return trial.result

    def _through_one_of(self, layers: list[Type], x: Type, path: str, others: Sequence[Argument]) -> Type:
        """Return what all layers that accept `x` return; which of them is called is known only at run time.

        Raises:
            RejectedError: None of them accepts it.
        """
        results: list[Type] = []
        rejected: list[RejectedError] = []
        for layer in layers:
            try:
                results.append(self.through(layer, x, path, others))
            except RejectedError as error:
                rejected.append(error)
        if not results:
            raise rejected[0]
        return joined(UnionType.make_union(results))

    def reject(self, path: str, layer: Type, message: str, kind: str) -> NoReturn:
        """Raise an error about the input or output of a layer, with its path in the message.

        Raises:
            RejectedError: Always.
        """
        p = get_proper_type(layer)
        written = layer_text(p) if isinstance(p, Instance) else "?"
        raise RejectedError([(messages.of_layer(path, written, message), CODES[kind])], self._passed)


def container(t: Type) -> Instance | None:
    """Return a layer that calls other layers as the class that defines how; None for any other layer."""
    p = get_proper_type(t)
    symbol = p.type.get("forward") if isinstance(p, Instance) else None
    owner = getattr(symbol.node, "info", None) if symbol is not None else None
    if not isinstance(p, Instance) or not isinstance(owner, TypeInfo) or owner.name not in CONTAINERS:
        return None
    return map_instance_to_supertype(p, owner) if owner.module_name.startswith("tapegrad.nn.") else None


def _sequential(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    for index, (layer, value) in enumerate(zip(model.args, model_pass.values, strict=True)):
        where = f"{path}[{index}]"
        x = (
            _any_number(model_pass, layer, x, where, value.item if isinstance(value, Several) else None)
            if isinstance(layer, UnpackType)
            else model_pass.through(layer, x, where, value=value)
        )
    return x


def _any_number(model_pass: ModelPass, layers: UnpackType, x: Type, path: str, value: Value) -> Type:
    """Return the output of any number of layers, perhaps none: what the outputs of zero, one and two have in common."""
    several = get_proper_type(layers.type)
    if not isinstance(several, Instance) or not several.args:
        return unknown()
    for _ in range(2):
        try:
            y = model_pass.through(several.args[0], x, path, value=value)
        except RejectedError:  # there may be none
            return unknown()
        x = joined(UnionType.make_union([x, y]))
    return x


def _residual(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    y = _shape_preserved(model_pass, model.args[0], x, f"{path}.layer", value=model_pass.values[0])
    return _both(model_pass, x, y)


def _generalized(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    (first, second), (one, other) = model.args, model_pass.values
    y, where = model_pass.through(first, x, f"{path}.first", value=one), f"{path}.second"
    z = model_pass.through(second, x, where, value=other)
    change = change_of(z, y)
    if change is not None:
        model_pass.reject(where, second, *change)
    return _both(model_pass, y, z)


def _repeated(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    layer, times = model.args[0], size_of(model.args[1])
    if model_pass.others is None and needs_others(model_pass.api, layer):
        return unknown()
    others = model_pass.others or ()
    if not isinstance(times, int):
        try:
            y = model_pass.through(layer, x, f"{path}[0]", others)
        except RejectedError:
            if not surely_less(0, times):
                return unknown()
            raise
        return _common(model_pass, y, x)
    if not times:
        return x
    through = partial(_shape_preserved, model_pass) if times > 1 else model_pass.through
    return through(layer, x, f"{path}[0]", others)


def _split_into(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    if any(isinstance(layer, UnpackType) for layer in model.args):
        return unknown()
    layers = enumerate(zip(model.args, model_pass.values, strict=True))
    results = [model_pass.through(layer, x, f"{path}[{index}]", value=value) for index, (layer, value) in layers]
    return TupleType(results, model_pass.make("builtins.tuple", [unknown()]))


def _add_into(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    if any(isinstance(layer, UnpackType) for layer in model.args):
        return unknown()
    results: list[Type] = []
    inputs = _inputs(model_pass, model, x, path)
    for index, (layer, value, one) in enumerate(zip(model.args, model_pass.values, inputs, strict=True)):
        y = model_pass.through(layer, one, f"{path}[{index}]", value=value)
        change = change_of(y, results[0]) if results else None
        if change is not None:
            model_pass.reject(f"{path}[{index}]", layer, *change)
        results.append(y)
    return reduce(partial(_both, model_pass), results)


def _inputs(model_pass: ModelPass, model: Instance, x: Type, path: str) -> list[Type]:
    """Return the input of each layer of an `AddInto`."""
    p, count = get_proper_type(x), len(model.args)
    given, kind = "a Tensor" if tensor_parts(x) is not None else "", "dtype"
    if isinstance(p, TupleType) and not any(isinstance(one, UnpackType) for one in p.items):
        if len(p.items) == count:
            return p.items
        given, kind = f"a tuple of {len(p.items)}", "shape"
    if given:
        message = messages.wrong_number("forward", "inputs", given, f"a tuple of {count}")
        model_pass.reject(path, model, message, kind)
    return [unknown()] * count


def _mixed(model_pass: ModelPass, model: Instance, x: Type, path: str) -> Type:
    if model_pass.others is None and needs_others(model_pass.api, model.args[0]):
        return unknown()
    return model_pass.through(model.args[0], x, f"{path}.model", model_pass.others or (), model_pass.values[0])


CONTAINERS: dict[str, Callable[[ModelPass, Instance, Type, str], Type]] = {
    "Sequential": _sequential,
    "GeneralizedAdd": _generalized,
    "GeneralizedMul": _generalized,
    "Residual": _residual,
    "ResidualMul": _residual,
    "Repeated": _repeated,
    "SplitInto": _split_into,
    "AddInto": _add_into,
    "MixedPrecision": _mixed,
}


def _shape_preserved(
    model_pass: ModelPass, layer: Type, x: Type, path: str, others: Sequence[Argument] = (), value: Value = None
) -> Type:
    """Return the output of a layer that must keep the shape and dtype of `x`."""
    y = model_pass.through(layer, x, path, others, value)
    change = change_of(y, x)
    if change is not None:
        model_pass.reject(path, layer, *change)
    return known_of_either(y, x, model_pass.make)


def change_of(y: Type, x: Type, call: str = "forward", place: str = messages.RESULT) -> tuple[str, str] | None:
    """Return the message and its kind if `y` surely differs from `x` in shape or dtype, else None."""
    given, returned = tensor_parts(x), tensor_parts(y)
    if given is None or returned is None:
        return None
    expected, shape = shape_items(given.shape), shape_items(returned.shape)
    if expected is not None and shape is not None:
        message = _other_sizes(shape, expected, call, place)
        if message:
            return message, "shape"
    ours, theirs = get_proper_type(returned.dtype), get_proper_type(given.dtype)
    if not isinstance(ours, Instance) or not isinstance(theirs, Instance):
        return None
    if accepts(ours, theirs) or accepts(theirs, ours):
        return None
    return messages.wrong_dtype(call, place, dtype_name(ours), dtype_name(theirs)), "dtype"


def _other_sizes(shape: list[Size | Many], expected: list[Size | Many], call: str, place: str) -> str:
    """Return the message for two shapes that surely differ; after a `...`, axes are counted from the end."""
    ours, theirs = _after_ellipsis(shape), _after_ellipsis(expected)
    whole = len(ours) == len(shape) and len(theirs) == len(expected)
    if whole and len(shape) != len(expected):
        return messages.wrong_rank(call, place, shape, expected)
    common = min(len(ours), len(theirs))
    for axis in range(common) if whole else range(-common, 0):
        if surely_differ(ours[axis], theirs[axis]):
            return messages.wrong_size(call, place, shape, expected, axis)
    return ""


def _after_ellipsis(shape: list[Size | Many]) -> list[Size]:
    """Return the sizes after the last `...`, or all sizes if there is none."""
    returned: list[Size] = []
    for n in shape:
        returned = [] if isinstance(n, Many) else [*returned, n]
    return returned


def _both(model_pass: ModelPass, x: Type, y: Type) -> Type:
    """Return the type of the sum or the product of two tensors of one shape."""
    known = known_of_either(x, y, model_pass.make)
    tape = merged_tape([_parts(x).tape, _parts(y).tape], model_pass.make)
    return known.copy_modified(args=[known.args[0], tape, known.args[2]])


def known_of_either(y: Type, x: Type, make: Callable[[str, list[Type]], Instance]) -> Instance:
    """Return `y`, which has the shape and dtype of `x`, with everything known of either."""
    ours, theirs = _parts(y), _parts(x)
    shape, other = shape_items(ours.shape), shape_items(theirs.shape)
    if shape is None or other is None or len(shape) != len(other):
        shape = other if shape is None else shape
    else:
        shape = [m if not isinstance(n, Many) and is_unknown(n) else n for n, m in zip(shape, other, strict=True)]
    dtype = theirs.dtype if isinstance(get_proper_type(ours.dtype), AnyType) else ours.dtype
    return make(TENSOR, [shape_type(shape, make), ours.tape, dtype])


def _common(model_pass: ModelPass, y: Type, x: Type) -> Type:
    """Return the type of a tensor that is either `y` or `x`: the parts that both share."""
    if tensor_parts(y) is None or tensor_parts(x) is None or change_of(y, x) is not None:
        return unknown()
    ours, theirs = _parts(y), _parts(x)
    shape = _common_sizes(shape_items(ours.shape), shape_items(theirs.shape))
    tape, dtype = (
        one if get_proper_type(one) == get_proper_type(other) else unknown()
        for one, other in ((ours.tape, theirs.tape), (ours.dtype, theirs.dtype))
    )
    return model_pass.make(TENSOR, [shape_type(shape, model_pass.make), tape, dtype])


def _common_sizes(shape: list[Size | Many] | None, other: list[Size | Many] | None) -> list[Size | Many] | None:
    if shape is None or other is None or len(shape) != len(other):
        return None
    common: list[Size | Many] = []
    for n, m in zip(shape, other, strict=True):
        if isinstance(n, Many) and isinstance(m, Many) and n == m:
            common.append(n)
        elif isinstance(n, Many) or isinstance(m, Many):
            return None
        else:
            common.append(n if surely_same(n, m) else UNKNOWN)
    return common


def _parts(t: Type) -> TensorParts:
    return tensor_parts(t) or TensorParts(unknown(), unknown(), unknown())

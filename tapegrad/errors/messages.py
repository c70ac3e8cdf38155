"""Error messages for calls that do not match a signature: the guard raises them, mypy prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULT: Final = "the result"
ANY_NUMBER: Final = "..."  # how any `*Ts` is written
SEVERAL_DTYPES: Final = "one of several dtypes"  # of an item of a list of tensors
_ARRAYS: Final = ("an ndarray", "a list")
UNNAMED: Final = ""  # the call inside an op: `@op` adds the name


def callee(qualname: str) -> str:
    """Return the name of a function for messages: `f`, `Linear.forward`, and `Linear` for its `__init__`."""
    return qualname.rpartition("<locals>.")[2].removesuffix(".__init__")


def layer(name: str, sizes: Sequence[object]) -> str:
    """Return the name of a layer's class with the sizes in its type: `Linear(64, 10)`, `ReLU`."""
    return f"{name}({', '.join(map(str, sizes))})" if sizes else name


def trim_defaults(sizes: Sequence[object], defaults: Sequence[object]) -> Sequence[object]:
    """Return the sizes of a layer without those at the end that are equal to their defaults."""
    count = len(sizes)
    while count and str(sizes[count - 1]) == str(defaults[count - 1]):
        count -= 1
    return sizes[:count]


def of_layer(place: str, layer: str, message: str) -> str:
    """Return the message with the call at its start replaced by the layer that raised it and its path.

    Args:
        place: The path to the layer, as its caller writes it; empty if there is none.
        layer: The result of `layer`.
        message: `Linear.forward: x is ...`; one without a call is kept whole.

    Returns:
        `Net.fall Linear(64, 10): x is ...`
    """
    return f"{place} {layer}: {message.partition(': ')[2] or message}".lstrip()


def with_article(noun: str) -> str:
    """Return a noun with its article, `a` or `an`."""
    starts_with_vowel = noun.startswith(("a", "e", "i", "o", "A", "E", "I", "O", "nd"))  # ndarray
    return f"{'an' if starts_with_vowel else 'a'} {noun}"


def shown(shape: Sequence[object]) -> str:
    """Return a shape formatted like a Python tuple, with `...` for any number of sizes."""
    sizes = [str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 and sizes != [ANY_NUMBER] else f"({', '.join(sizes)})"


def wrong_rank(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    """Return the message for a shape of the wrong rank.

    Args:
        call: The function, as named by `callee`.
        place: The parameter, or `RESULT`.
        shape: The actual shape.
        expected: The shape in the annotation, its names unbound.

    Returns:
        `f: x is (3, 4) but (3, 5, N) is expected: rank 2, not 3`
    """
    return f"{_misfit(call, place, shape, expected)}: rank {_rank(shape)}, not {_rank(expected)}"


def _rank(shape: Sequence[object]) -> str:
    """Return how many axes a shape has, which may have any number of further ones."""
    fixed = [size for size in shape if str(size) != ANY_NUMBER]
    return f"{len(fixed)}" if len(fixed) == len(shape) else f"at least {len(fixed)}"


def wrong_size(
    call: str, place: str, shape: Sequence[object], expected: Sequence[object], axis: int, value: object = None
) -> str:
    """Return the message for a size that differs from the annotation.

    Args:
        call: The function, as named by `callee`.
        place: The parameter, or `RESULT`.
        shape: The actual shape.
        expected: The shape in the annotation, its names unbound.
        axis: The axis where they differ; counted from the back after a `...`.
        value: The value of a computed size such as `N + 1`.

    Returns:
        `f: x is (3, 4) but (3, 5) is expected: axis 1 is 4, not 5`, or
        `f: x is (3, 5) but (N, N + 1) is expected: axis 1 is 5, not N + 1 = 4`, or
        `f: x is (3, N) but (3, N) is expected: axis 1 is N, not the N of another class or function`.
    """
    computed = "" if value is None or str(value) == str(expected[axis]) else f" = {value}"
    size, other = str(shape[axis]), str(expected[axis])
    if size == other and value is None:
        other = f"the {other} of another class or function"
    return f"{_misfit(call, place, shape, expected)}: axis {axis} is {size}, not {other}{computed}"


def other_sizes(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    """Return the message for a shape that is not the expected one: that of `wrong_rank` or `wrong_size`."""
    if len(shape) != len(expected):
        return wrong_rank(call, place, shape, expected)
    axis = next(axis for axis, (n, m) in enumerate(zip(shape, expected, strict=True)) if n != m)
    return wrong_size(call, place, shape, expected, axis)


def wrong_number(call: str, place: str, number: object, expected: object, value: object = None) -> str:
    """Return the message for an int that differs from the annotated size: `f: n is 5 but N + 1 = 4 is expected`."""
    computed = "" if value is None or str(value) == str(expected) else f" = {value}"
    return f"{call}: {place} is {number} but {expected}{computed} is expected"


def conflict(call: str, name: str, value: object, place: str, other: object, other_place: str) -> str:
    """Return the message for a type variable with two values: `f: N is 3 in x but 4 in y`.

    A tuple or a list is written as a shape. If both are in one parameter, it is `f: N is both 3 and 4 in x`.
    """
    first, second = _written(value), _written(other)
    if place == other_place:
        return f"{call}: {name} is both {first} and {second} in {place}"
    return f"{call}: {name} is {first} in {place} but {second} in {other_place}"


def too_small(call: str, name: str, value: object, place: str, least: int = 1) -> str:
    """Return the message for a named size that is too small: `f: N is 0 in x but a named size is at least 1`."""
    named = "a named size" if least else "a size of this name"
    return f"{call}: {name} is {value} in {place} but {named} is at least {least}"


def below_zero(call: str, shape: Sequence[object], axis: int) -> str:
    """Return the message for a result of negative size: `f: the result would be (2, -1): axis 1 is below 0`."""
    return f"{call}: {RESULT} would be {shown(shape)}: axis {axis} is below 0"


def other_count(shape: Sequence[object], count: int) -> str:
    """Return the message for unpacking the rows of a tensor into too many names, or too few."""
    return f"iter: x {shown(shape)} has {shape[0]} rows but is unpacked into {count}"


def tape_missing(call: str, place: str) -> str:
    """Return the message for a missing tape: `f: x has no tape but needs one`."""
    return f"{call}: {place} has no tape but needs one"


def of_level_below(call: str, place: str) -> str:
    """Return the message for a tensor with a tape of the level below, in the place of one of this level."""
    return f"{call}: {place} is on a tape of the level below; give this level Autodiff.from_inner of it"


def constant_above(parameter: str, shape: Sequence[object]) -> str:
    """Return the message for the gradient of a parameter that a level of `Autodiff` above took as a constant."""
    return (
        f"{parameter} of shape {shown(shape)} was used one level up, where it is a constant; "
        "give that level Autodiff.from_inner of it"
    )


def tape_unwanted(call: str, place: str) -> str:
    """Return the message for an unexpected tape: `f: x has a tape but must have none`."""
    return _said(call, f"{place} has a tape but must have none")


def wrong_dtype(call: str, place: str, dtype: str, expected: str) -> str:
    """Return the message for a wrong dtype: `f: x is float64 but float32 is expected`.

    For a float where half precision is expected, it says how to convert it:
    `f: x is float32 but bfloat16 is expected; x.astype(tapegrad.bfloat16) converts it`.
    """
    converts = expected in _HALF and dtype in _FLOATS and place.isidentifier()
    hint = f"; {place}.astype({_HALF[expected]}) converts it" if converts else ""
    return _said(call, f"{place} is {dtype} but {expected} is expected{hint}")


_HALF: Final = {"bfloat16": "tapegrad.bfloat16", "float16": "numpy.float16"}
_FLOATS: Final = ("bfloat16", "float16", "float32", "float64")


def _said(call: str, message: str) -> str:
    return message if call == UNNAMED else f"{call}: {message}"


def _misfit(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    return f"{call}: {place} is {shown(shape)} but {shown(expected)} is expected"


def _written(value: object) -> str:
    return shown(value) if isinstance(value, tuple | list) else str(value)


def no_module(place: str, given: str) -> str:
    """Return the message for a layer that is not a module: `Sequential: layer 1 is the class ReLU, not a module`."""
    container, _, index = place.partition(": layer ")
    hint = f"; a star passes its layers: {container}(*layers)" if index and given in ("a list", "a tuple") else ""
    return f"{place} is {given}, not a module{hint}"


def too_long_to_follow(unit: str) -> str:
    """Return the note for code whose tapes are not followed to the end.

    `train: too long to follow all of its tapes; a use of a consumed tape may not be reported here`
    """
    place = f"{unit}: " if unit else ""
    return f"{place}too long to follow all of its tapes; a use of a consumed tape may not be reported here"


def idle(name: str) -> str:
    """Return the message for an unused layer or parameter.

    `Net.spare Linear(3, 5): created in __init__ but used by no method`
    """
    return f"{name}: created in __init__ but used by no method"


def no_dtype(call: str, place: str, given: str, *, follows_shape: bool = False) -> str:
    """Return the message for a value that is not a dtype.

    `f: dtype is a str but a dtype of NumPy, or its scalar type, is expected`, and of an int that follows the shape:
    `zeros: dtype is an int but a dtype of NumPy, or its scalar type, is expected: write the sizes as one tuple, (2, 3)`

    Args:
        call: The function.
        place: The argument.
        given: What it is.
        follows_shape: Whether the argument before it is a shape.
    """
    fix = ": write the sizes as one tuple, (2, 3)" if follows_shape and given == "an int" else ""
    return _said(call, f"{place} is {given} but a dtype of NumPy, or its scalar type, is expected{fix}")


def no_real_dtype(call: str, place: str, dtype: str) -> str:
    """Return the message for an unsupported dtype.

    `zeros: dtype is complex64 but floating, integer or bool is expected`
    """
    return wrong_dtype(call, place, dtype, "floating, integer or bool")


def mixed_dtypes(call: str, dtype: str, place: str, other: str, other_place: str) -> str:
    """Return the message for two dtypes that have to be the same: `f: x is float32 but y is int64`.

    For a number, the message names its class: `f: y is a float but x is int64`.
    """
    return _said(call, f"{place} is {dtype} but {other_place} is {other}")


def no_tensor(call: str, x: str, y: str) -> str:
    """Return the message for two operands that are not tensors: `add: neither a float nor an int is a tensor`."""
    return _said(call, f"neither {x} nor {y} is a tensor")


def no_tensor_given(call: str, place: str, given: str) -> str:
    """Return the message for an argument of the wrong type.

    `f: x is an ndarray but a tensor is expected; tg.tensor(x) makes one`
    """
    return _said(call, f"{place} is {given} but a tensor is expected{tensor_hint(place, given)}")


def no_array_given(call: str, given: str) -> str:
    """Return the message for data without a dtype: `Tensor: data is a list, not an array; ...`."""
    return f"{call}: data is {given}, not an array; tg.tensor(data) makes a tensor of it"


def tensor_hint(place: str, given: str) -> str:
    """Return how to make a tensor of an array or a list, to be added to a message; empty for any other value."""
    return f"; tg.tensor({place if place.isidentifier() else '...'}) makes one" if given in _ARRAYS else ""


def no_operand(call: str, given: str) -> str:
    """Return the message for an invalid operand.

    `equal: a tuple is neither a tensor nor a number nor a NumPy array`
    """
    return _said(call, f"{given} is neither a tensor nor a number nor a NumPy array")


def no_index(call: str, given: str) -> str:
    """Return the message for an invalid index.

    `getitem: a float is neither an int, a slice, ..., None, a list of ints nor a tensor of indices`
    """
    return _said(call, f"{given} is neither an int, a slice, ..., None, a list of ints nor a tensor of indices")


def other_shape(call: str, place: str, shape: object, expected: object) -> str:
    """Return the message for a mismatch of a shape known only by name: `f: x is S but (3, 5) is expected`."""
    return f"{call}: {place} is {shape} but {expected} is expected"


def not_differentiable() -> str:
    """Return the message for `backward` of a tensor without a tape."""
    return "backward: the tensor has no tape; trace an input first"


def not_scalar(shape: Sequence[object]) -> str:
    """Return the message for a non-scalar: `backward: x (2, 3) is not a scalar; reduce it or pass seed=`."""
    return f"backward: x {shown(shape)} is not a scalar; reduce it or pass seed="


def not_one_element(call: str, shape: Sequence[object], size: object) -> str:
    """Return the message for several elements: `item: a tensor of shape (2, 5) has 10 elements, not one`."""
    return f"{call}: a tensor of shape {shown(shape)} has {size} elements, not one"


def gradients_of_others(call: str, shapes: Sequence[str], missing: str) -> str:
    """Return the message for a step with gradients of none of the parameters, given their shapes and its parameters."""
    return f"{call}: the gradients are of other tensors, {', '.join(shapes)}, and none is of {missing}"


def quantized_parameter(call: str, path: str) -> str:
    """Return the message for a quantized parameter that has to be float: `cast: layers.0.weight is quantized; ...`."""
    return f"{call}: {path} is quantized; convert the model first and quantize the result"


def without_gradient(dtype: str) -> str:
    """Return the message for a dtype that has no gradients: `a tensor of dtype int64 has no gradient`."""
    return f"a tensor of dtype {dtype} has no gradient"


def target_without_gradient(dtype: str) -> str:
    """Return the message for `wrt=` a tensor that has no gradient."""
    return f"wrt names a tensor of dtype {dtype}, which has no gradient"


def wrong_target(kind: str) -> str:
    """Return the message for `wrt=` something else than a tensor or a module, given its kind with an article."""
    return f"wrt names {kind}, which is neither a tensor nor a module"


def immutable(index: str) -> str:
    """Return the message for an assignment `x[0] = ...`, given the index as formatted by `written_index`."""
    return f"a tensor is immutable: x[{index}] = ... has no effect; at_set gives another tensor"


def written_index(index: object) -> str:
    """Return an index formatted as it is written between brackets."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(written_index, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        parts = ["" if part is None else str(part) for part in (index.start, index.stop, index.step)]
        return ":".join(parts[: 2 if index.step is None else 3])
    return "..." if index is ... else repr(index)


def traced_twice() -> str:
    """Return the message for tracing a tensor that has a tape already."""
    return "trace: the tensor has a tape already"


def consumed(use: str, name: str, call: str, consumed_name: str, line: int, *, in_earlier_iteration: bool) -> str:
    """Return the message for the use of a consumed tape.

    `model(a): a shares the tape that loss.backward() consumed on line 7; trace again`
    """
    where = f"on line {line}{', in an earlier iteration' * in_earlier_iteration}; trace again"
    if name == consumed_name:
        return f"{use}: {name} was consumed by {call} {where}"
    return f"{use}: {name} shares the tape that {call} consumed {where}"


def consumed_by_traced(use: str, name: str, call: str, line: int) -> str:
    """Return the message for the use of a tensor after `traced`, such as `x * 2.0` after `x.traced()`."""
    return f"{use}: {name} was consumed by {call} on line {line}; use the tensor that it returned"


def untraceable(call: str) -> str:
    """Return the message for an op that needs values under `jit`: `nonzero: the numbers of a tensor are ...`."""
    return f"{call}: the numbers of a tensor are needed, which a step under jit has only when it runs"


def traced_before() -> str:
    """Return the message for the use of a traced tensor outside the step that it was traced in."""
    return "jit: a tensor is used that a step left behind when it was traced; let the step return it"


def in_parts(shape: Sequence[object], processes: int) -> str:
    """Return the message for reading values of which other processes have a part."""
    return (
        f"a tensor of shape {shown(shape)} has parts in {processes} processes; "
        "replicate it with tapegrad.jax.place before its numbers are read"
    )


def in_transformation() -> str:
    """Return the message for reading values that a transformation of JAX is tracing."""
    return (
        "a transformation such as jax.jit or jax.grad traces a tensor, which has no numbers there; "
        "tapegrad.jit compiles functions of tensors"
    )


def captured(call: str, place: str) -> str:
    """Return the message for a step that changes an object that is not its argument: `Param.assign: value ...`."""
    return f"{call}: {place} would change what is no argument of the step under jit"


OUTSIDE_STEP: Final = "they ran outside the step under jit; compute it inside the step, or detach it"


def outside_step(call: str, place: str) -> str:
    """Return the message for a step that reads what was computed from parameters outside it: `step: head was ...`."""
    return f"{call}: {place} was computed from parameters outside the step; compute it inside the step, or detach it"


def not_given(call: str, what: str, fix: str) -> str:
    """Return the message for a step that reads an array that is not its argument: `predict: the parameter ...`."""
    return f"{call}: {what} is read but is no argument, so its values would stay as they are now; {fix}"


def not_divided(divisor: object, number: object) -> str:
    """Return the message for a size that does not divide another: `assert_divides: 3 does not divide 8`."""
    return f"assert_divides: {divisor} does not divide {number}"


def failed_assertion(sides: Sequence[tuple[str, str]], sign: str) -> str:
    """Return that an assertion fails; the sides are what it compares as written, with the values that are known."""
    if not sides:
        return "the assertion fails"
    text = f"the assertion fails: {' is '.join(sides[0])}"
    if len(sides) == 1 or sign == "!=":
        return text
    limit = {"==": "not", "<": "not below", "<=": "above", ">": "not above", ">=": "below"}.get(sign)
    right, m = sides[1]
    return f"{text}, {limit} {right}" if limit and right == m else f"{text} and {right} is {m}"


def not_same(n: object, m: object) -> str:
    """Return the message for two sizes that differ: `assert_same: 3 is not 4`."""
    return f"assert_same: {n} is not {m}"


def revealed(shape: str, dtype: str, *, owns_tape: bool | None) -> str:
    """Return the shape, dtype and tape of a tensor, formatted: `(N, 2*M) float32, owned tape`."""
    tape = {True: "owned tape", False: "no tape", None: "any tape"}[owns_tape]
    return f"{shape} {dtype}, {tape}"
